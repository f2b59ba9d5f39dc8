"""Groups of paraphrases: PPDB, tab separated, lists."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siamese_cbow.errors import InputError
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings

GROUPS = TextSettings(kind="groups")
PPDB = (
    b"[NP] ||| the cat ||| a cat ||| PPDB2.0Score=4.1 ||| 0-0 1-1 ||| Equivalence\n"
    b"[VP] ||| runs quickly ||| is running fast ||| PPDB2.0Score=3.2 ||| 0-0 ||| Equivalence\n"
)


def read(inputs: object) -> tuple[str, int, tuple[str, ...], Corpus]:
    corpus = Corpus(inputs, GROUPS)
    lines = [corpus.lines(block) for block in corpus.blocks()]
    text = b"".join(part.text for part in lines).decode()
    return text, sum(part.n_short for part in lines), sum((part.short_at for part in lines), ()), corpus


def test_ppdb_gives_phrase_and_paraphrase(tmp_path: Path) -> None:
    file = tmp_path / "ppdb-2.0-s-all.gz"
    file.write_bytes(gzip.compress(PPDB))
    text, n_short, _, corpus = read(file)
    assert text == "the cat\na cat\n\nruns quickly\nis running fast\n\n"
    assert n_short == 0
    assert corpus.layout_of(file) == "PPDB"


def test_tab_separated_lines_hold_two_or_more(tmp_path: Path) -> None:
    file = tmp_path / "captions.tsv"
    file.write_bytes("\ufeffA dog.\tUn chien.\r\n a \t\tb\tc \n".encode())
    text, n_short, _, corpus = read(file)
    assert text == "A dog.\nUn chien.\n\na\nb\nc\n\n"
    assert n_short == 0
    assert corpus.layout_of(file) == "TSV"


def test_lines_with_fewer_than_two_are_left_out_and_reported(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_bytes(b"a\tb\nalone\n\n\talone\t\nc\td\nalone\nalone\n")
    text, n_short, short_at, _ = read(file)
    assert text == "a\nb\n\nc\nd\n\n"
    assert n_short == 4
    assert short_at == (f"{file} line 2", f"{file} line 4", f"{file} line 6")


def test_ppdb_lines_without_a_paraphrase_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.ppdb"
    file.write_bytes(PPDB + b"[X] ||| only ||| ||| x\n")
    assert read(file)[1] == 1


def test_line_numbers_continue_in_later_blocks(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(b"one phrase\tits paraphrase\n" * 300_000 + b"alone\n")
    text, n_short, short_at, _ = read(file)
    assert text.count("\n\n") == 300_000
    assert (n_short, short_at) == (1, (f"{file} line 300,001",))


@pytest.mark.parametrize("content", [b"", b"no tabs here\nnone at all\n", b"a\t\n\tb\n"])
def test_a_file_without_any_pair_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"has two phrases; expected lines like 'phrase<tab>paraphrase'"):
        read(file)


def test_broken_utf8_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes("café café\tcaf".encode() + b"\xe9\n")
    corpus = Corpus(file, GROUPS)
    (lines,) = (corpus.lines(block) for block in corpus.blocks())
    assert (lines.text.decode(), lines.n_broken) == ("café café\ncaf\ufffd\n\n", 1)


def test_lists_are_groups() -> None:
    text, n_short, short_at, corpus = read([["a b", "c"], ["alone"], ("d", "e", "f\ng")])
    assert text == "a b\nc\n\nd\ne\nf g\n\n"
    assert (n_short, short_at) == (1, ("the iterable item 2",))
    assert corpus.layout_of("the iterable") == "groups"


def test_a_column_of_lists_holds_groups(tmp_path: Path) -> None:
    parquet = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [["a", "b"], None, ["c", "d", None]]}), parquet)
    assert read(parquet)[0] == "a\nb\n\nc\nd\n\n"
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"text": ["a", "b"]}\n{"text": ["c", "d"], "n": 1}\n')
    assert read(lines)[0] == "a\nb\n\nc\nd\n\n"
    assert read([str(lines), str(parquet)])[0] == "a\nb\n\nc\nd\n\n" * 2


def test_a_column_of_single_texts_holds_none(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a"}\n{"text": "b"}\n')
    with pytest.raises(InputError, match=r"expected a list of two or more strings in each row"):
        read(file)


@pytest.mark.parametrize("item", ["a string", 7, ["a", 7]])
def test_items_that_are_no_groups(item: object) -> None:
    with pytest.raises(InputError, match=r"item 1 of the iterable is .*expected a list of two or more paraphrases"):
        read([["a", "b"], item])


def test_real_captions(shared_data: Path) -> None:
    text, n_short, _, _ = read(shared_data / "pairs" / "coco-captions.tsv.xz")
    assert (text.count("\n\n"), n_short) == (10_167, 0)
