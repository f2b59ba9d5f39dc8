"""The probe: files, folds, and a toy world whose labels can be read off the vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from siamese_cbow.cli import group
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.probe import Labelled, most_frequent_share, probe, read_labelled
from siamese_cbow.model.model import Model
from siamese_cbow.words.vocabulary import Vocabulary

pytest.importorskip("sklearn")


def world() -> tuple[Model, Labelled]:
    """Animals and tools: 60 distinct words, two of one kind per text; no word is frequent enough for tf-idf."""
    rng = np.random.default_rng(1)
    words = [f"{kind}{i}" for kind in ("animal", "tool") for i in range(30)]
    rows = rng.normal(0, 0.3, (60, 4))
    rows[:30, 0] += 1
    rows[30:, 0] -= 1
    chosen = [(int(rng.integers(2)), *rng.choice(30, 2, replace=False)) for _ in range(60)]
    texts = [" ".join(words[30 * kind + i] for i in both) for kind, *both in chosen]
    labels = [("animal", "tool")[kind] for kind, *_ in chosen]
    return Model(Vocabulary.of_words(words), rows.astype(np.float32)), Labelled("toy", texts, labels)


def test_labels_are_read_off_the_vectors() -> None:
    model, data = world()
    found, counted = probe(model, data, folds=5), probe(None, data, folds=5)
    assert found.mean > 0.95
    assert counted.mean < found.mean
    assert len(found.accuracies) == 5
    assert found == probe(model, data, folds=5)
    assert 0.5 <= most_frequent_share(data) < 0.7
    shuffled = Labelled("noise", data.texts, list(np.random.default_rng(3).permutation(data.labels)))
    assert probe(model, shuffled, folds=5).mean < 0.75


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a, b\tx\nc\ty\n")
    (tmp_path / "a.csv").write_text('label,text\nx,"a, b"\ny,c\n')
    (tmp_path / "a.jsonl").write_text('{"text": "a, b", "label": "x"}\n{"text": "c", "label": "y"}\n')
    for name in ("a.tsv", "a.csv", "a.jsonl"):
        data = read_labelled(tmp_path / name)
        assert (data.texts, data.labels) == (["a, b", "c"], ["x", "y"])
    for name, content, said in (
        ("b.tsv", "no tab\n", "line 1 has no tab"),
        ("b.csv", "text,kind\na,b\n", "expected text and label"),
        ("b.jsonl", '{"text": "a"}\n', "no column 'label'; it has 'text'; expected text and label"),
        ("c.jsonl", '{"text": 1, "label": "x"}\n', "column 'text' .* contains int in line 1"),
        ("c.csv", "text,label\na,x\nb,\n", "'b' .number 2. has no label"),
        ("c.tsv", "", "is empty"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=said):
            read_labelled(tmp_path / name)


def test_what_it_needs() -> None:
    model, data = world()
    with pytest.raises(SettingsError, match="use fewer folds or more examples"):
        probe(model, data, folds=50)
    with pytest.raises(InputError, match="at least two"):
        probe(model, Labelled("one", ["a", "b"], ["x", "x"]))


def test_command(tmp_path: Path) -> None:
    model, data = world()
    model.save(tmp_path / "m")
    lines = [f"{text}\t{label}" for text, label in zip(data.texts, data.labels, strict=True)]
    (tmp_path / "toy.tsv").write_text("\n".join(lines) + "\n")
    base = ["evaluate", str(tmp_path / "m"), "--probe", str(tmp_path / "toy.tsv"), "--folds", "5"]
    result = CliRunner().invoke(group, base)
    assert result.exit_code == 0, result.output
    for part in ("accuracy", "tf-idf", "majority class", "±"):
        assert part in result.output
    rows = [json.loads(line) for line in CliRunner().invoke(group, [*base, "--json"]).output.splitlines()]
    assert [row["name"] for row in rows] == ["m", "tf-idf"]
    assert rows[0]["accuracy"] == probe(model, data, folds=5).mean


def test_labels_before_the_texts_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{i % 2}\ta film of {i} hours\n" for i in range(20)))
    with pytest.raises(InputError, match=r"a\.tsv has 2 different texts .* but 20 labels .*; expected the text first"):
        read_labelled(tmp_path / "a.tsv")
    (tmp_path / "b.tsv").write_text("".join(f"{i % 2}\tfilm {'ab'[i % 2]}\n" for i in range(20)))
    with pytest.raises(InputError, match=r"b\.tsv: empty vocabulary; .*; expected texts, got '0'"):
        probe(None, read_labelled(tmp_path / "b.tsv"))
