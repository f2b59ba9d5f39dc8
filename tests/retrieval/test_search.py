"""Semantic grep in the library: rows, both paths, context, bad input."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import siamese_cbow as sc
from search_world import exact, topic_lines, topic_model, write_lines
from siamese_cbow import InputError, Model, SettingsError, Texts, TextSettings, Vocabulary
from siamese_cbow.kernels.means import bounds
from siamese_cbow.kernels.means_reference import COLUMNS, NO_WORDS
from siamese_cbow.model import encoding
from siamese_cbow.retrieval import scoring, search
from siamese_cbow.retrieval.fitting import ENOUGH, SAMPLE_CHARACTERS, USUAL_SPREAD, steadied
from siamese_cbow.retrieval.manifest import fingerprint
from siamese_cbow.retrieval.row_words import BulkWords
from siamese_cbow.retrieval.terms import Term, TermFinder
from siamese_cbow.text import reader
from siamese_cbow.text.records import RawBlock
from siamese_cbow.text.row_reader import RowReader, finished_rows
from siamese_cbow.words.json_tokenizer import JsonTokenizer

LINES = topic_lines(3000)


@pytest.fixture(scope="module")
def model() -> Model:
    return topic_model()


@pytest.fixture(params=["plain", "bulk"])
def path_name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Tests that use it run on both paths, the bulk path in small pieces and blocks."""
    if request.param == "bulk":
        monkeypatch.setattr(encoding, "MUCH_RAW_TEXT", -1)
        monkeypatch.setattr(scoring, "PIECE_BYTES", 500)
    return str(request.param)


@pytest.mark.parametrize("mode", ["hybrid", "exact", "meaning"])
@pytest.mark.parametrize("query", ["the guitar song", "storm", "apple of the sailor"])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_finds_what_the_definition_finds(
    path_name: str, model: Model, query: str, k: int, mode: Any, tmp_path: Path
) -> None:
    found = sc.search(query, write_lines(tmp_path / "a.txt", LINES), model=model, k=k, mode=mode)
    wanted = exact(model, query, LINES, k, mode)
    np.testing.assert_allclose([hit.score for hit in found], [score for _, score in wanted], atol=1e-4)
    assert len({hit.line for hit in found}) == k
    for hit in found:
        assert hit.text == LINES[hit.line - 1]
        assert hit.score == hit.exact + hit.meaning
        words = set(model.tokenizer.words(hit.text))
        assert hit.words == tuple(word for word in query.split() if word in words)


def test_unknown_words_count_as_the_model_says(path_name: str, model: Model) -> None:
    """For `guitars` and the like, search uses what `encode` uses: nothing, or the known word with the same prefix."""
    lines = [
        line.replace("guitar", "Guitarists").replace("storm", "stormy").replace("naïve", "breadé") for line in LINES
    ]
    for one in (model, model.with_fallback("ngrams"), model.with_fallback("prefix")):
        found = sc.search("the song of a band", Texts(lines), model=one, k=50)
        wanted = exact(one, "the song of a band", lines, 50)
        np.testing.assert_allclose([hit.score for hit in found], [score for _, score in wanted], atol=1e-4)
    assert sc.search("stormy", Texts(["the stormy", "guitarists"]), model=one, k=1)[0].text == "the stormy"
    with pytest.raises(InputError, match="no word the model knows"):
        sc.search("stormy", Texts(lines), model=model, mode="meaning")


def test_words_that_no_model_knows_are_found_as_they_are_written(path_name: str, model: Model) -> None:
    lines = [*LINES, "error XJ-4711 in the kitchen", "Zorbs are here", "code 17.5"]
    for query, line in (("4711", "error XJ-4711 in the kitchen"), ("zorb", "Zorbs are here"), ("17.5", "code 17.5")):
        for mode in ("hybrid", "exact"):
            hit = sc.search(query, Texts(lines), model=model, k=1, mode=mode)[0]
            assert hit.text == line
            assert hit.words


def test_a_row_of_one_word_does_not_crowd_out_sentences(path_name: str, model: Model) -> None:
    lines = [*["guitar"] * 20, "the guitar of the band in a concert", *["soup of the kitchen"] * 20]
    assert sc.search("guitar band", Texts(lines), model=model, k=1)[0].line == 21
    assert sc.search("guitar concert", Texts(lines), model=model, k=1)[0].line == 21


def test_threshold_gives_all_that_reach_it(path_name: str, model: Model) -> None:
    found = sc.search("guitar", Texts(LINES), model=model, k=None, threshold=0.5, mode="meaning")
    wanted = [line for line, score in exact(model, "guitar", LINES, len(LINES), "meaning") if score >= 0.5]
    assert sorted(hit.line for hit in found) == sorted(wanted)
    strict = sc.search("guitar", Texts(LINES), model=model, threshold=0.99, mode="meaning")
    assert strict == [hit for hit in found if hit.score >= 0.99][:10]
    assert all(hit.score >= 5 for hit in sc.search("guitar", Texts(LINES), model=model, k=None, threshold=5))


def test_far_rows_are_found_where_all_are_asked_for(path_name: str, model: Model) -> None:
    found = sc.search("guitar", Texts(LINES), model=model, k=None, threshold=-1, mode="meaning")
    assert len(found) == sum(bool(model.encode(line).any()) for line in LINES)
    assert found[-1].score < 0


@given(
    seed=st.integers(0, 1000),
    dim=st.integers(1, 40),
    n=st.integers(0, 60),
)
@settings(max_examples=60)
def test_no_cosine_is_above_its_bound(seed: int, dim: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    model = Model(Vocabulary.of_words([f"w{i}" for i in range(50)]), rng.standard_normal((50, dim), dtype=np.float32))
    query = model.encode("w1 w2", normalize_embeddings=True)
    if not query.any():
        return
    ids = rng.integers(0, 50, 8 * n).astype(np.int32)
    ends = np.sort(rng.integers(0, 8 * n + 1, n)).astype(np.int64)
    basis = scoring.main_directions(query, model.encode(["w3 w4", "w5", "w6 w7 w8"], normalize_embeddings=True))
    low = scoring.of_all_columns(model.vectors @ basis)
    extra, extra_ends = rng.standard_normal((n, dim), dtype=np.float32), np.sort(rng.integers(0, n + 1, n))
    extra_offsets = np.concatenate([np.zeros(1, np.int64), extra_ends]).astype(np.int64)
    assert low.shape == (50, COLUMNS)
    np.testing.assert_allclose(low[:, 0], model.vectors @ query, atol=1e-5)
    out = np.empty(n, np.float32)
    bounds(low, ids, ends, scoring.of_all_columns(extra @ basis), extra_offsets, np.empty(COLUMNS, np.float32), out)
    for i, (start, end) in enumerate(itertools.pairwise([0, *ends])):
        added = extra[extra_offsets[i] : extra_offsets[i + 1]]
        if end > start or len(added):
            total = model.vectors[ids[start:end]].astype(np.float64).sum(axis=0) + added.astype(np.float64).sum(axis=0)
            if np.linalg.norm(total) > 1e-3:
                assert out[i] >= total @ query / np.linalg.norm(total) - scoring.MARGIN
        else:
            assert out[i] == NO_WORDS


def test_threads_make_no_difference(model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(encoding, "MUCH_RAW_TEXT", -1)
    monkeypatch.setattr(reader, "BLOCK_BYTES", 1000)
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps({"text": line or "-"}) + "\n" for line in LINES))
    hits = [sc.search("soup", path, model=model, k=40, threads=n, before=1, after=2) for n in (1, 2, 5)]
    assert hits[0] == hits[1] == hits[2]
    assert len(hits[0]) == 40


def test_equal_rows_come_in_their_order(path_name: str, model: Model) -> None:
    found = sc.search("soup", Texts(["ship", "soup", "SOUP", "the wave", "soup"] * 3), model=model, k=5)
    assert [hit.line for hit in found] == [2, 3, 5, 7, 8]


# context


def in_blocks(monkeypatch: pytest.MonkeyPatch, lines: list[str], size: int) -> None:
    """Every source becomes these lines, in blocks of `size` lines."""
    blocks = [
        RawBlock("".join(f"{line}\n" for line in lines[i : i + size]).encode(), "a.txt", "sentences", 0, i + 1)
        for i in range(0, len(lines), size)
    ]
    monkeypatch.setattr(RowReader, "blocks", lambda self: iter(blocks))


@pytest.mark.parametrize("size", [4, 5, 7, 100])
def test_context_crosses_blocks(path_name: str, model: Model, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    lines = [f"ship {i}" for i in range(12)]
    lines[4], lines[11] = "guitar", "song"
    in_blocks(monkeypatch, lines, size)
    found = sc.search("guitar song", Texts([]), model=model, k=2, before=2, after=3)
    by_line = {hit.line: hit for hit in found}
    assert by_line[5].before == ((3, "ship 2"), (4, "ship 3"))
    assert by_line[5].after == ((6, "ship 5"), (7, "ship 6"), (8, "ship 7"))
    assert by_line[12].before == ((10, "ship 9"), (11, "ship 10"))
    assert by_line[12].after == ()


def test_context_stays_inside_its_file(model: Model, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_lines(tmp_path / f"{name}.txt", [f"ship {name}", "guitar", f"wave {name}"])
    found = sc.search("guitar", tmp_path, model=model, k=3, before=5, after=5)
    assert [(Path(hit.source).name, hit.line) for hit in found] == [("a.txt", 2), ("b.txt", 2), ("c.txt", 2)]
    assert found[1].before == ((1, "ship b"),)
    assert found[1].after == ((3, "wave b"),)


# other models


def test_packed_rows_and_foreign_tokenizers(path_name: str, model: Model, tmp_path: Path) -> None:
    packed = model.compress("int8")
    foreign = Model(
        model.vocabulary, model.vectors, JsonTokenizer(json=model.tokenizer.to_json(model.vocabulary.words))
    )
    wanted = [hit.line for hit in sc.search("guitar song", Texts(LINES), model=model, k=1)]
    for other in (packed, foreign):
        found = sc.search("guitar song", Texts(LINES), model=other, k=1)
        assert [hit.line for hit in found] == wanted
        assert found[0].words == ("guitar", "song")
        assert sum(cluster.size for cluster in sc.clusters(Texts(LINES[:50]), model=other, k=3)) > 40
    assert fingerprint(packed) != fingerprint(model)


# rows


def test_packed_files_and_tables(model: Model, tmp_path: Path) -> None:
    text = b"ship\n\nthe guitar\n"
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "b.txt.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "c.csv").write_text("id,text\n1,ship\n2,guitar\n")
    found = sc.search("guitar", tmp_path, model=model, k=3)
    assert {(Path(hit.source).name, hit.line) for hit in found} == {("a.txt.gz", 3), ("b.txt.bz2", 3), ("c.csv", 2)}


def test_lines_of_windows_and_broken_utf8(path_name: str, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("été été ".encode() + b"ship\r\ncaf\xe9 guitar\r\nsong")
    found = sc.search("guitar song", path, model=model, k=2)
    assert {(hit.line, hit.text) for hit in found} == {(2, "caf\ufffd guitar"), (3, "song")}


def test_a_line_of_many_megabytes_is_one_row(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.write(b"ship\n" + b"wave " * 3_600_000 + b"\nguitar\nsoup\n")
    found = sc.search("guitar", path, model=model, k=2)
    assert (found[0].line, found[0].text) == (3, "guitar")
    wave = sc.search("wave", path, model=model, k=2)
    assert (wave[0].line, len(wave[0].text)) == (2, 18_000_000)


def sentence_rows(text: str, layout: Any, **how: Any) -> tuple[str, list[int]]:
    rows = finished_rows(RawBlock(text.encode(), "a", layout, 0, **how), TextSettings(unit="sentence"))
    return rows.text.decode(), [rows.number(i) for i in range(len(rows))]


def test_sentences_know_their_line() -> None:
    rows, numbers = sentence_rows("It rains. We stay.\n\nYes. No.\n", "paragraphs")
    assert rows == "It rains.\nWe stay.\nYes.\nNo.\n"
    assert numbers == [1, 1, 3, 3]
    wrapped = "It rains a\nlot. We stay\nat home. So\nbe it.\n\n\nYes it\nis. No.\n"
    rows, numbers = sentence_rows(wrapped, "wrapped")
    assert rows == "It rains a lot.\nWe stay at home.\nSo be it.\nYes it is.\nNo.\n"
    assert numbers == [1, 2, 3, 7, 8]
    assert sentence_rows("\n\n", "paragraphs")[0] == ""
    assert sentence_rows(wrapped, "wrapped", first=11)[1] == [11, 12, 13, 17, 18]


def test_sentences_know_their_record() -> None:
    records = "It rains. We\nstay.\n\nYes.\n\0\n\n\0\nWell. A b\u00a0.\n\0\n"
    rows, numbers = sentence_rows(records, "paragraphs", marked=True, first=5)
    assert rows == "It rains.\nWe\nstay.\nYes.\nWell.\nA b .\n"
    assert numbers == [5, 5, 5, 5, 7, 7]
    rows, numbers = sentence_rows(records, "wrapped", marked=True)
    assert rows == "It rains.\nWe stay.\nYes.\nWell.\nA b .\n"
    assert numbers == [1, 1, 1, 3, 3]


WORDS = st.sampled_from(["The cat", "sat.", "Dr.", "It rains.", "“Yes.”", "他来了。", "a\u00a0.", "é", "\u3000", ""])


@given(
    lines=st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=12),
    marked=st.booleans(),
    layout=st.sampled_from(["paragraphs", "wrapped"]),
)
@settings(max_examples=100, deadline=None)
def test_a_sentence_begins_on_the_reported_line(lines: list[str], marked: bool, layout: str) -> None:
    lines = [re.sub(r"(?<!\S)(?=\S)", f"{i}x", line) for i, line in enumerate(lines)]  # each word names its line
    text = "".join(line + ("\n\0\n" if marked else "\n") for line in lines)
    rows, numbers = sentence_rows(text, layout, marked=marked)
    for row, number in zip(rows.split("\n")[:-1], numbers, strict=True):
        assert not row.strip() or row.lstrip().startswith(f"{number - 1}x")


def test_search_in_sentences(model: Model, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.txt", ["The ship sank. A guitar played.", "", "We had soup. The storm came."])
    found = sc.search("guitar", path, model=model, k=1, after=2, text=TextSettings(unit="sentence"))
    assert (found[0].line, found[0].text) == (1, "A guitar played.")
    assert found[0].after == ((3, "We had soup."), (3, "The storm came."))


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0\r"), max_size=30), max_size=30)
)
@settings(max_examples=50)
def test_a_row_is_a_line_whatever_it_holds(lines: list[str]) -> None:
    block = RawBlock("".join(f"{line}\n" for line in lines).encode(), "a", "sentences", 0)
    rows = finished_rows(block, TextSettings())
    assert rows.texts(0, 1000) == lines
    assert [rows.number(i) for i in range(len(rows))] == list(range(1, len(lines) + 1))


# bad input


def test_bad_queries_and_settings(model: Model) -> None:
    with pytest.raises(InputError, match="query is empty"):
        sc.search("  ", Texts(["a"]), model=model)
    with pytest.raises(InputError, match=r"no word the model knows \('blorf', 'zork'\)"):
        sc.search("blorf zork", Texts(["a"]), model=model, mode="meaning")
    with pytest.raises(InputError, match="has no word to search for"):
        sc.search("?!", Texts(["a"]), model=model)
    with pytest.raises(InputError, match="add a rarer word"):
        sc.search("!", Texts(["a"]), model=model, mode="exact")
    with pytest.raises(SettingsError, match="mode is 'fuzzy'"):
        sc.search("ship", Texts(["a"]), model=model, mode="fuzzy")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="k is 0"):
        sc.search("ship", Texts(["a"]), model=model, k=0)
    with pytest.raises(SettingsError, match="neither k nor threshold is set"):
        sc.search("ship", Texts(["a"]), model=model, k=None)
    with pytest.raises(SettingsError, match=r"threshold is 1\.5"):
        sc.search("ship", Texts(["a"]), model=model, threshold=1.5, mode="meaning")
    with pytest.raises(SettingsError, match="threshold is 'high'; expected a number"):
        sc.search("cat", Texts(["a cat"]), model=model, threshold="high")  # type: ignore[arg-type]
    for query in (None, ["cat"], b"cat"):
        with pytest.raises(InputError, match=r"the query is .*; expected a string"):
            sc.search(query, Texts(["a cat"]), model=model)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="before is -1; expected a whole number, 0 or more"):
        sc.search("ship", Texts(["a"]), model=model, before=-1)


def test_nothing_to_find(path_name: str, model: Model, tmp_path: Path) -> None:
    assert sc.search("ship", Texts([]), model=model) == []
    assert sc.search("ship", Texts(["", "blorf", "!"]), model=model) == []
    (tmp_path / "empty.txt").write_bytes(b"")
    assert sc.search("ship", tmp_path / "empty.txt", model=model) == []


def test_files_that_cannot_be_searched(model: Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        sc.search("ship", tmp_path / "none.txt", model=model)
    with pytest.raises(InputError, match="expected a string"):
        sc.search("ship", Texts(["a", 3]), model=model)  # type: ignore[list-item]
    (tmp_path / "bad.txt").write_bytes(bytes(range(256)) * 100)
    write_lines(tmp_path / "good.txt", ["the ship"])
    with pytest.raises(InputError, match=r"bad\.txt"):
        sc.search("ship", tmp_path / "bad.txt", model=model)
    said: list[str] = []
    source = RowReader([str(tmp_path)], say=said.append)
    assert [hit.text for hit in search.search("ship", source, model=model)] == ["the ship"]
    assert said == ["skipped 1 binary file; files named explicitly are always read"]


def test_the_pretrained_model_is_the_default(tmp_path: Path) -> None:
    lines = sc.Texts(["the cat sat on the mat", "parliament passed a law", "a kitten slept"])
    assert sc.search("cat", lines, k=1)[0].text == "the cat sat on the mat"
    assert sc.search("cat", lines, k=1) == sc.search("cat", lines, k=1, model="pretrained")
    assert [row.of for row in sc.duplicates(sc.Texts(["the cat sat", "the cat sat."]))] != [None, None]
    (tmp_path / "a.txt").write_text("the cat sat on the mat\nparliament passed a law\n")
    sc.Index.update(tmp_path / "ix", tmp_path / "a.txt")
    assert sc.Index(tmp_path / "ix").search("a law", k=1)[0].text == "parliament passed a law"


def test_long_rows_are_looked_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(scoring.in_parts(["abc", "d", "e"], 3)) == [["abc"], ["d", "e"]]
    assert list(scoring.in_parts([])) == [[]]
    seen: list[int] = []
    of = BulkWords.of
    monkeypatch.setattr(BulkWords, "of", lambda self, texts: seen.append(sum(map(len, texts))) or of(self, texts))
    rows = ["the cat sat " * 200_000] * 8  # 2.4 MB each: the sample has only their beginnings
    assert sc.search("cat", Texts(rows), model=sc.load(), k=2)
    assert seen[0] == len(rows) * SAMPLE_CHARACTERS


@pytest.mark.parametrize("seed", range(5))
def test_words_of_a_query_are_found_alike_in_bulk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms = [Term("a", (1, 4), (7,), 1), Term("b", (2,), (), 1), Term("c", (), (9, 11), 2)]
    finder = TermFinder(terms, 12)
    ids, keys = rng.integers(0, 12, 300).astype(np.int32), rng.integers(6 * (seed % 2), 20, 40).astype(np.uint64)
    keys = keys if seed % 2 else keys + np.uint64(100)  # none from the query
    ends, key_ends = (np.append(np.sort(rng.integers(0, n + 1, 29)), n) for n in (len(ids), len(keys)))
    for plain, bulk in zip(
        finder.matches(ids, ends, keys, key_ends), finder.bulk_matches(ids, ends, keys, key_ends), strict=True
    ):
        np.testing.assert_array_equal(bulk, plain)


def test_few_rows_are_taken_for_usual_ones() -> None:
    assert steadied(1e-6, USUAL_SPREAD, 2) == pytest.approx(USUAL_SPREAD, rel=0.02)
    assert steadied(0.5, USUAL_SPREAD, ENOUGH) == 0.5
    spreads = [steadied(0.5, USUAL_SPREAD, n) for n in range(1, ENOUGH + 1)]
    assert spreads == sorted(spreads)
