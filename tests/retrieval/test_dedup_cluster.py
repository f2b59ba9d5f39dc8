"""Near-duplicates and clusters, in the library and as commands."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import siamese_cbow as sc
from search_world import TOPICS, topic_lines, topic_model, write_lines
from siamese_cbow import InputError, Model, SettingsError, Texts
from siamese_cbow.cli import main
from siamese_cbow.retrieval import agreement as agreement_module
from siamese_cbow.retrieval import duplicates as module
from siamese_cbow.retrieval.agreement import Agreement, one_letter_apart

LINES = topic_lines(600)


@pytest.fixture(scope="module")
def model() -> Model:
    return topic_model()


def kept_plainly(model: Model, lines: list[str], threshold: float) -> list[bool]:
    """The definition: keep a row unless an earlier kept row within the threshold agrees with it."""
    agreement, vectors = Agreement(model), model.encode(lines, normalize_embeddings=True)
    words = [agreement.words(line) for line in lines]
    kept: list[int] = []
    answers = []
    for i, vector in enumerate(vectors):
        same = any(words[i] and [w.folded for w in words[i]] == [w.folded for w in words[j]] for j in kept)
        near = [j for j in kept if vector.any() and vectors[j] @ vector >= threshold - 1e-6]
        is_kept = not same and not any(agreement.agree(words[i], words[j]) for j in near)
        answers.append(is_kept)
        kept += [i] if is_kept else []
    return answers


def test_kept_rows_are_those_of_the_definition(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOME", 1000)
    lines = LINES[:120]
    for threshold in (0.8, 0.95, 0.99):
        found = list(sc.duplicates(Texts(lines), model=model, threshold=threshold))
        assert [row.text for row in found] == lines
        wanted = kept_plainly(model, lines, threshold)
        assert sum((row.of is None) != is_kept for row, is_kept in zip(found, wanted, strict=True)) <= 2  # rounding
        assert any(row.of for row in found)
        for row in found:
            if row.of:
                source, line = row.of
                assert source == row.source
                assert line < row.line
                assert found[line - 1].of is None
                assert row.of_text == lines[line - 1]


SAME = [
    ("The ship in the harbour", "the ship  in the HARBOUR!"),
    ("The ship in the harbour", "The ship in the harbuor"),
    ("The ship in the harbour", "The ship in the hxarbour"),  # an unknown word with the same end is no opposite
    ("The ship in the harbour", "The ship in the habour"),
    ("a song of the band", "the song of the band"),
    ("the guitar isn't in the kitchen", "the guitar is not in the kitchen"),
]
OTHER = [
    ("The dog bit the man", "The man bit the dog"),
    ("User jdoe11 logged in", "User kdoe77 logged in"),
    ("It costs 5 in the harbour", "It costs 6 in the harbour"),
    ("It costs $5 here", "It costs €5 here"),
    ("the sailor is in the harbour", "the sailor is not in the harbour"),
    ("das Schiff ist im Hafen", "das Schiff ist nicht im Hafen"),
    ("the band of Anna played", "the band of Emma played"),
    ("Anna left the ship", "Emma left the ship"),
    ("a happy sailor", "an unhappy sailor"),
    ("a guitar in the kitchen", "an aguitar in the kitchen"),  # like moral and amoral
    ("a song of Guitar and Sons", "a song of Guittar and Sons"),
    ("the never ending song", "the nevr ending song"),
    ("prices increase", "prices decrease"),
    ("the blorf is a ship", "the zork is a ship"),
    ("three ships", "four ships"),
]


def test_what_a_mean_cannot_see(model: Model) -> None:
    agreement = Agreement(model)
    for a, b in SAME:
        words = agreement.words(a), agreement.words(b)
        assert agreement.agree(*words), (a, b)
    for a, b in OTHER:
        words = agreement.words(a), agreement.words(b)
        assert not agreement.agree(*words), (a, b)
        assert not agreement.differ_by_slips(*words), (a, b)


def test_long_texts_with_differences_far_apart_are_kept_without_comparing(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    matcher = agreement_module.SequenceMatcher
    monkeypatch.setattr(agreement_module, "SequenceMatcher", lambda *a, **k: compared.append(1) or matcher(*a, **k))
    agreement, same = Agreement(model), "the ship of the band " * 3_000
    for a, b, is_same in (
        (f"{same} cheese {same}", f"{same} bread {same}", True),
        (f"cheese {same} cheese", f"bread {same} bread", False),
        (f"{same} {same}", f"{same} cheese {same}", True),
    ):
        assert agreement.agree(agreement.words(a), agreement.words(b)) == is_same
    assert len(compared) == 2


@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_one_letter_apart(a: str, b: str) -> None:
    letters = "abcd"
    near = {a[:i] + a[i + 1 :] for i in range(len(a))}
    near |= {a[:i] + letter + a[j:] for i in range(len(a) + 1) for j in (i, i + 1) for letter in letters}
    near |= {a[:i] + a[i + 1] + a[i] + a[i + 2 :] for i in range(len(a) - 1)}
    assert one_letter_apart(a, b) == (b in near - {a})


def test_unknown_words_count_as_the_model_says(model: Model) -> None:
    lines = [f"{word}ed" for words in TOPICS.values() for word in words] * 3
    near = model.with_fallback("prefix")
    kept = [row.text for row in sc.duplicates(Texts(lines), model=near) if row.of is None]
    assert kept == lines[: len(lines) // 3]
    # Unknown, so not the same, unless the words are the same.
    assert [row.text for row in sc.duplicates(Texts(lines), model=model) if row.of is None] == kept
    found = sc.clusters(Texts(lines), model=near, k=3)
    assert sorted(sorted(group.words) for group in found) == sorted(map(sorted, TOPICS.values()))
    with pytest.raises(InputError, match="no row contains a word"):
        sc.clusters(Texts(lines), model=model, k=3)


def test_many_rows_go_to_the_graph(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = topic_lines(1500, seed=5, empty=0)
    few = [row.of is None for row in sc.duplicates(Texts(lines), model=model)]
    monkeypatch.setattr(module, "FEW", 20)
    many = [row.of is None for row in sc.duplicates(Texts(lines), model=model, threads=1)]
    assert 40 < sum(few) < 1400
    assert sum(a != b for a, b in zip(few, many, strict=True)) < 0.03 * len(lines)


def test_what_a_duplicate_is_of_was_kept(model: Model) -> None:
    lines = topic_lines(900, seed=6, empty=0) * 2
    rows = list(sc.duplicates(Texts(lines), model=model))
    kept = {(row.source, row.line) for row in rows if row.of is None}
    assert len(kept) < len(lines) / 2
    assert all(row.of in kept for row in rows if row.of is not None)
    assert [row.text for row in rows] == lines


def test_thresholds_that_make_no_sense(model: Model) -> None:
    for threshold in (0, -0.5, 1.01):
        with pytest.raises(SettingsError, match="threshold"):
            next(sc.duplicates(Texts(["ship"]), model=model, threshold=threshold))
    assert list(sc.duplicates(Texts([]), model=model)) == []


# groups


def topic_of(text: str) -> str | None:
    found = {name for name, words in TOPICS.items() if set(words) & set(text.lower().split())}
    return found.pop() if len(found) == 1 else None


def test_topics_are_found_and_labelled(model: Model, tmp_path: Path) -> None:
    lines = [line for line in LINES if topic_of(line)]
    path = write_lines(tmp_path / "a.txt", [*lines, "", "blorf"])
    groups: list[int] = []
    found = sc.clusters(path, model=model, k=3, assigned=lambda rows, numbers: groups.extend(numbers.tolist()))
    assert sum(cluster.size for cluster in found) == len(lines)
    assert [cluster.size for cluster in found] == sorted((cluster.size for cluster in found), reverse=True)
    assert groups[-2:] == [-1, -1]
    named = []
    for i, cluster in enumerate(found):
        topics = [topic_of(line) for line, group in zip(lines, groups, strict=False) if group == i]
        assert len(topics) == cluster.size
        named.append(max(set(topics), key=topics.count))
        assert topics.count(named[-1]) > 0.95 * len(topics)
        assert set(cluster.words) == set(TOPICS[str(named[-1])])
        assert len({hit.text for hit in cluster.examples}) == 3
        assert all(hit.text == lines[hit.line - 1] and topic_of(hit.text) == named[-1] for hit in cluster.examples)
    assert set(named) == set(TOPICS)
    assert sc.clusters(path, model=model, k=3) == found


def test_more_groups_than_rows_and_none_at_all(model: Model) -> None:
    assert [cluster.size for cluster in sc.clusters(Texts(["ship", "ship", "soup"]), model=model, k=10)] == [2, 1]
    assert len(sc.clusters(Texts(line for line in LINES), model=model)) <= 20
    with pytest.raises(InputError, match="no row contains a word"):
        sc.clusters(Texts(["", "blorf"]), model=model)
    with pytest.raises(SettingsError, match="k is 0"):
        sc.clusters(Texts(["ship"]), model=model, k=0)


# the commands


@pytest.fixture
def folder(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model.save(tmp_path / ".model")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / ".model"))
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "a.txt", ["the ship", "", "A SHIP .", "soup", "", "the bread"])
    return tmp_path


def test_dedup_prints_what_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["dedup", "a.txt", "--threshold", "0.98"])
    out, err = capsys.readouterr()
    assert out == "the ship\n\nsoup\n\nthe bread\n"
    assert "kept 5 of 6 lines" in err
    main(["dedup", "a.txt", "--threshold", "0.98", "--pairs"])
    out = capsys.readouterr().out
    assert out.partition("\t")[2] == "a.txt:3:A SHIP .\ta.txt:1\n"
    main(["dedup", "a.txt", "--threshold", "0.98", "--pairs", "--json"])
    entry = json.loads(capsys.readouterr().out)
    assert entry["of"] == {"source": "a.txt", "line": 1, "text": "the ship"}
    assert entry["text"] == "A SHIP ."
    main(["dedup", "a.txt", "--json"])
    assert json.loads(capsys.readouterr().out.splitlines()[0]) == {"source": "a.txt", "line": 1, "text": "the ship"}


def test_dedup_of_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ship\nship\nsoup\n")))
    main(["dedup"])
    assert capsys.readouterr().out == "ship\nsoup\n"
    with pytest.raises(SystemExit) as stop:
        main(["dedup", "none.txt"])
    assert stop.value.code == 2


def test_cluster_prints_labels(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(folder / "b.txt", ["ship harbour", "sailor ship", "wave", "soup bread", "cheese"])
    main(["cluster", "b.txt", "-k", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("0\t3\t")
    assert "ship" in lines[0]
    assert lines[4].startswith("1\t2\t")
    assert any(line.endswith("b.txt:2:sailor ship") for line in lines[1:4])
    main(["cluster", "b.txt", "-k", "2", "--json"])
    entry = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (entry["group"], entry["size"]) == (0, 3)
    assert set(entry["examples"][0]) == {"score", "source", "line", "text"}
    main(["cluster", "b.txt", "-k", "9"])
    assert "4 groups instead of 9: there are too few lines that differ enough" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "b.txt").read_bytes() + b"\n")))
    main(["cluster", "-", "-k", "2", "--lines"])
    out, err = capsys.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()] == ["0", "0", "0", "1", "1", ""]
    assert "\tstandard input:2:sailor ship" in out
    assert "1\t2\t" in err
