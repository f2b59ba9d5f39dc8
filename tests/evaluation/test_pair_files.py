"""Your own test sets: tables of every kind, columns detected or named, and malformed rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.cli import main
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_files import pairs
from siamese_cbow.evaluation.ranking import PLAIN_WORDS
from siamese_cbow.evaluation.systems import TFIDF, TfIdfCosines
from siamese_cbow.progress import Silent

ROWS = [
    ("the cat sat", "a cat sat", 4.5),
    ("the dog, it ran", "a dog ran", 4.0),
    ("the sun rose", "a bird sang", 0.5),
    ("it rained", "the fish swam", 0.0),
]
TEXTS = tuple((a, b) for a, b, _ in ROWS)
GOLD = [score for *_, score in ROWS]


class Heard(Silent):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)


def csv(header: str = "", *, delimiter: str = ",", rows: Any = ROWS) -> str:
    lines = [delimiter.join([f'"{a}"', f'"{b}"', str(score)]) for a, b, score in rows]
    return "\n".join([*([header] if header else []), *lines]) + "\n"


def write_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {"id": [1, 2, 3, 4], "text1": [a for a, _ in TEXTS], "text2": [b for _, b in TEXTS], "score": GOLD}
    pq.write_table(pa.table(table), path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bare.csv", csv()),
        ("named.csv", csv("one,two,three")),
        ("excel.csv", csv("Satz A;Satz B;Wert", delimiter=";").replace(".", ",")),
        ("numbers.csv", "score,first,second\n" + "".join(f'{s},"{a}","{b}"\n' for a, b, s in ROWS)),
        ("bare.tsv", "".join(f"{a}\t{b}\t{s}\n" for a, b, s in ROWS)),
        ("bare.txt", "".join(f"{s}\t{a}\t{b}\n" for a, b, s in ROWS)),
        (
            "named.tsv",
            "id\tSentence 1\tSentence 2\tnote\tScore\n" + "".join(f"7\t{a}\t{b}\t3\t{s}\n" for a, b, s in ROWS),
        ),
        (
            "a.jsonl",
            "".join(json.dumps({"sentence_A": a, "sentence_B": b, "id": 3, "label": s}) + "\n" for a, b, s in ROWS),
        ),
        ("a.parquet", None),
    ],
)
def test_tables_of_every_kind(tmp_path: Path, name: str, content: str | None) -> None:
    path = tmp_path / name
    path.write_text(content) if content else write_parquet(path)
    (found,) = pairs(path)
    assert (found.pairs, found.gold.tolist(), found.name) == (TEXTS, GOLD, name)


@pytest.mark.parametrize("columns", ["b,a,rating", ["b", "a", "rating"], "2,1,4", "b, a, 4"])
def test_columns_can_be_named(tmp_path: Path, columns: Any) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,b,score,rating\n" + "".join(f'"{b}","{a}",9,{s}\n' for a, b, s in ROWS))
    (found,) = pairs(path, columns=columns)
    assert (found.pairs, found.gold.tolist()) == (TEXTS, GOLD)


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("x,y,z,w\n1,2,3,4\n", "", r"has the columns 'x', 'y', 'z', 'w'.*--columns"),
        ("id,text,score\n1,a cat,3\n2,a dog,4\n3,an ox,5\n", "", r"it is unclear which hold the texts and the score"),
        (csv("a,b,score"), "a,c,score", r"no column 'c'; it has 'a', 'b', 'score'"),
        (csv(), "1,2,4", r"no column '4'; it has numbers from 1 to 3"),
        (csv("a,b,score", rows=[*ROWS, ("a", "b", "good")]), "", r"row 6: the score 'good' is not a number"),
        (csv("a,b,score", rows=[*ROWS, ("a", "b", "1,000")]), "", r"row 6: 4 cells, but the first row has 3"),
        (csv("a,b,score") + "only a text\n", "", r"row 6: 1 cell, but the first row has 3"),
        (csv("a,b,score") + "a cat, and a dog,a dog,3\n", "", r"row 6: 4 cells"),
        (csv("a,b,score", rows=[*ROWS, ("a", "b", "inf")]), "", r"row 6: the score 'inf' is not a number"),
        (csv("a,b,score", rows=ROWS[:2]), "", r"2 pairs have a gold score; a correlation needs at least 3"),
        (csv("a,b,score", rows=[(a, b, "") for a, b, _ in ROWS]), "", r"0 pairs have a gold score"),
        ("", "", "is empty"),
        ("a,b,score\n", "", "needs at least 3"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, columns: str, expected: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=expected):
        pairs(path, columns=columns)


def test_two_columns_are_too_few(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="expected three"):
        pairs(tmp_path / "own.csv", columns="a,b")


def test_pairs_without_a_score_or_a_text_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(csv("a,b,score", rows=[*ROWS, ("a", "b", ""), ("a", "b", "NaN"), ("", "b", 3)]))
    heard = Heard()
    (found,) = pairs(path, progress=heard)
    assert heard.messages == [
        "own.csv: skipped 2 pairs without a score",
        "own.csv: 1 pair with an empty text, with cosine 0",
    ]
    for system in TFIDF.values():
        (score,) = evaluate(system, [found], bootstrap=50).sets
        assert (score.n_pairs, score.n_empty) == (5, 1)
        assert score.pearson is not None
        assert math.isfinite(score.pearson)


def test_scores_that_are_all_the_same_are_undefined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.csv"
    path.write_text(csv("a,b,score", rows=[(a, b, 1) for a, b, _ in ROWS]))
    main(["evaluate", "--pairs", str(path)])
    out, err = capsys.readouterr()
    assert "undefined" in out
    assert "every pair has the same gold score, 1" in err
    assert "can't be compared" in out
    assert "nan" not in (out + err).lower()


def test_the_command_says_which_differences_are_significant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.tsv"
    animals = ["cat", "dog", "horse", "bird", "fish", "cow"]
    lines = [f"the {a} ran\ta {b} slept\t{5.0 if a == b else 1.0}\n" for a in animals for b in animals]
    path.write_text("one\ttwo\tscore\n" + "".join(lines))
    main(["evaluate", "random", "--pairs", str(path)])
    out = capsys.readouterr().out
    assert "tf-idf-characters" in out
    assert "mean over pairs (1 set)" in out
    assert "random is worse than tf-idf by" in out or "random and tf-idf: no significant difference" in out
    main(["evaluate", "tf-idf", "--pairs", str(path), "--json"])
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["model"] for row in results[:3]] == ["tf-idf", "random", "tf-idf-characters"]
    assert [row["second"] for row in results[3:]] == ["random", "tf-idf-characters"]
    main(["evaluate", "tf-idf", "--pairs", str(path), "--no-random", "--adapt", "set"])
    assert "random" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["evaluate", "tf-idf", "--columns", "a,b,c"])


LETTERS = st.text(st.sampled_from("aäbc 東京"), max_size=12)


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=8), characters=st.booleans())
def test_tfidf_is_that_of_scikit_learn(texts: list[tuple[str, str]], characters: bool) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    cosines, is_empty = TfIdfCosines(characters).cosines(texts)
    flat = [sentence for pair in texts for sentence in pair]
    if characters:  # theirs splits at white space, ours with its tokenizer: pass it the words
        flat = [" ".join(PLAIN_WORDS.words(sentence)) for sentence in flat]
        vectorizer = text.TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5))
    else:
        vectorizer = text.TfidfVectorizer(tokenizer=PLAIN_WORDS.words, token_pattern=None, lowercase=False)
    try:
        rows = vectorizer.fit_transform(flat).toarray()
    except ValueError:  # no word at all
        assert is_empty.all()
        assert not cosines.any()
        return
    np.testing.assert_allclose(cosines, (rows[::2] * rows[1::2]).sum(axis=1), atol=1e-12)
    assert (is_empty == ~(rows[::2].any(axis=1) & rows[1::2].any(axis=1))).all()
