"""STS files: every released layout is read, and every mistake in one is reported with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.pair_sets import PairSet, counted
from siamese_cbow.evaluation.sts import ORDER, RELEASES, missing_sets, sts
from siamese_cbow.progress import Silent
from siamese_cbow.words.tokenizer import Tokenizer

PAIRS = "a cat\ta dog\none\ttwo\nred wine\twhite wine\nyes\tno\n"
GOLD = "4.5\n0\n3.250\n\n"


class Said(Silent):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)


def put(folder: Path, name: str, pairs: str = PAIRS, gold: str = GOLD, prefix: str = "STS") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}.input.{name}.txt").write_bytes(pairs.encode())
    (folder / f"{prefix}.gs.{name}.txt").write_bytes(gold.encode())


@pytest.mark.parametrize(
    ("folder", "prefix", "name", "expected"),
    [
        ("2014", "STS", "images", (2014, "images")),
        ("2012", "STS", "surprise.OnWN", (2012, "OnWN")),
        ("STS12-en-test", "STS", "MSRpar", (2012, "MSRpar")),
        ("sts2016-english-with-gs-v1.0", "STS2016", "plagiarism", (2016, "plagiarism")),
        ("test-gold", "STS", "MSRpar", (2012, "MSRpar")),
        ("test_evaluation_task2a", "STS", "belief", (2015, "belief")),
        ("2015/test_evaluation_task2a", "STS", "images", (2015, "images")),
        ("anything", "STS2016", "headlines", (2016, "headlines")),
        ("2014", "STS", "my-own", (2014, "my-own")),
    ],
)
def test_released_layouts(tmp_path: Path, folder: str, prefix: str, name: str, expected: tuple[int, str]) -> None:
    put(tmp_path / folder, name, prefix=prefix)
    (one,) = sts(tmp_path)
    assert (one.year, one.dataset) == expected
    assert one.pairs[2] == ("red wine", "white wine")
    np.testing.assert_array_equal(one.gold, [4.5, 0, 3.25, np.nan])
    assert one.n_scored == 3
    (same,) = sts(tmp_path / folder)
    assert (same.year, same.dataset) == expected


def test_order_is_that_of_the_releases_whatever_the_file_system_says(tmp_path: Path) -> None:
    for year, dataset in reversed(ORDER):
        put(tmp_path / str(year), dataset)
    put(tmp_path / "2014", "zzz")
    found = [(one.year, one.dataset) for one in sts(tmp_path)]
    known = list(ORDER)
    known.insert(known.index((2015, "answers-forums")), (2014, "zzz"))
    assert found == known


def test_extra_columns_windows_lines_odd_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    pairs = "\ufeffa\u2028b\tc\tsource\tsource\r\nd\x85e\tf\r\ng\th\r\n"
    put(tmp_path / "2016", "headlines", pairs=pairs, gold="1\r\n2\r\n3")
    (one,) = sts(tmp_path)
    assert one.pairs == (("a\u2028b", "c"), ("d\x85e", "f"), ("g", "h"))
    assert one.gold.tolist() == [1, 2, 3]


def test_training_data_all_files_and_other_files_are_left_out(tmp_path: Path) -> None:
    put(tmp_path / "2012" / "test-gold", "MSRpar")
    put(tmp_path / "2012" / "train", "MSRpar", gold="1\n1\n1\n5\n")
    put(tmp_path / "2012" / "test-gold", "ALL")
    (tmp_path / "2012" / "test-gold" / "readme.txt").write_text("hello")
    (one,) = sts(tmp_path)
    assert one.gold[0] == 4.5


def test_missing_sets_are_named_with_where_to_find_them(tmp_path: Path) -> None:
    for dataset in RELEASES[2013].keys() - {"SMT"}:
        put(tmp_path / "2013", dataset)
    (tmp_path / "2013" / "STS.gs.SMT.txt").write_text("1\n2\n3\n")
    said = Said()
    sets = sts(tmp_path, progress=said)
    assert len(sets) == 3
    (message,) = missing_sets(sets)
    assert message in said.messages
    assert "2013 SMT is missing" in message
    assert "LDC2013T18" in message
    (tmp_path / "2013" / "STS.input.SMT.txt").write_text("a\tb\nc\td\ne\tf\n")
    again = sts(tmp_path)
    assert [one.dataset for one in again] == ["FNWN", "OnWN", "SMT", "headlines"]
    assert missing_sets(again) == []


def test_an_input_without_gold_and_an_odd_size_are_reported(tmp_path: Path) -> None:
    put(tmp_path / "2014", "images")
    (tmp_path / "2014" / "STS.input.headlines.txt").write_text(PAIRS)
    said = Said()
    assert len(sts(tmp_path, progress=said)) == 1
    assert any("headlines.txt: its gold scores are missing" in message for message in said.messages)
    assert "2014 images has 3 scored pairs; the released set has 750" in said.messages


@pytest.mark.parametrize(
    ("pairs", "gold", "message"),
    [
        (PAIRS, "1\n2\n3\n", r"input\.images\.txt has 4 pairs but .*gs\.images\.txt has 3 scores"),
        (PAIRS.replace("one\ttwo", "one two"), GOLD, r"input\.images\.txt, line 2: expected at least 2 .*'one two'"),
        (PAIRS, "4.5\n5.1\n3\n\n", r"gs\.images\.txt, line 2: gold score 5\.1 is not within 0 to 5"),
        (PAIRS, "4.5\n-1\n3\n\n", r"gs\.images\.txt, line 2: gold score -1 is not within"),
        (PAIRS, "4.5\n1\nhigh\n\n", r"gs\.images\.txt, line 3: gold score 'high' is not a number"),
        (PAIRS, "4.5\n1\nnan\n\n", r"gs\.images\.txt, line 3: gold score nan is not within"),
        (PAIRS, "4.5\n1\n\n\n", r"gs\.images\.txt: only 2 pairs have a gold score; a correlation needs at least 3"),
        (PAIRS, "", r"has 4 pairs but .* has 0 scores"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, pairs: str, gold: str, message: str) -> None:
    put(tmp_path / "2014", "images", pairs=pairs, gold=gold)
    with pytest.raises(InputError, match=message):
        sts(tmp_path)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    put(tmp_path / "2014", "images")
    (tmp_path / "2014" / "STS.input.images.txt").write_bytes(b"a\tb\nc\xe9\td\n")
    with pytest.raises(InputError, match=r"images\.txt, line 2: not UTF-8 \(byte 0xe9\)"):
        sts(tmp_path)


def test_the_same_set_twice_an_unknown_year_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder .*download sts"):
        sts(tmp_path / "nothing")
    with pytest.raises(InputError, match="contains no STS sets"):
        sts(tmp_path)
    put(tmp_path / "mine", "headlines")  # in 2013, 2014, 2015 and 2016
    with pytest.raises(InputError, match=r"can't tell the year .*mine"):
        sts(tmp_path)
    put(tmp_path / "a" / "2014", "images")
    put(tmp_path / "b" / "2014", "images")
    (tmp_path / "mine").rename(tmp_path / "2013")
    with pytest.raises(InputError, match="2014 images exists twice"):
        sts(tmp_path)


STS_B = 'main-news\tMSRpar\t2012test\t0001\t{}\tHe said "no"\tShe said yes\n'


def test_sts_benchmark(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        (tmp_path / f"sts-{part}.csv").write_text("".join(STS_B.format(score) for score in (5, 0.25, 1)))
    (one,) = sts(tmp_path)
    assert (one.name, one.year, one.collection) == ("STS-Benchmark test", 2017, "STS-Benchmark")
    assert one.pairs[0] == ('He said "no"', "She said yes")
    assert one.gold.tolist() == [5, 0.25, 1]
    assert sts(tmp_path / "sts-dev.csv")[0].name == "STS-Benchmark dev"
    (tmp_path / "sts-test.csv").write_text(STS_B.format(1) + "a\tb\n")
    with pytest.raises(InputError, match=r"sts-test\.csv, line 2: expected at least 7 tab-separated fields"):
        sts(tmp_path)
    (tmp_path / "other.csv").write_text("x")
    with pytest.raises(InputError, match=r"other\.csv: expected a folder, or a file sts-train\.csv"):
        sts(tmp_path / "other.csv")


def test_both_layouts_of_sick(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.mkdir()
    rows = "".join(f"{i}\ta cat\ta dog\t{i}.5\tNEUTRAL\n" for i in (1, 2, 3))
    (one / "SICK_test_annotated.txt").write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n" + rows
    )
    (found,) = sts(one)
    assert (found.name, found.year) == ("SICK test", 2014)
    assert found.gold.tolist() == [1.5, 2.5, 3.5]

    whole = tmp_path / "SICK.txt"
    header = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    rows = "".join(f"{i}\ta\tb\tNEUTRAL\t{i}\t{part}\n" for part in ("TRAIN", "TRIAL", "TEST") for i in (1, 2, 3))
    whole.write_text(header + rows)
    assert [part.dataset for part in sts(whole)] == ["train", "trial", "test"]
    assert [part.name for part in sts(tmp_path / "one" / "..")] == ["SICK test", "SICK test"]
    whole.write_text("pair_ID\tsentence_A\tsentence_B\n1\ta\tb\n")
    with pytest.raises(InputError, match=r"SICK\.txt, line 1: the header has no relatedness_score"):
        sts(whole)


def test_protocols_count_different_pairs() -> None:
    one = PairSet(2015, "belief", tuple(("a", str(i)) for i in range(4)), np.array([4, np.nan, 2, 1]))
    assert counted(one, "official").gold.tolist() == [4, 2, 1]
    assert counted(one, "official").pairs[1] == ("a", "2")
    assert counted(one, "paper").gold.tolist() == [4, 0, 2, 1]
    assert counted(one, "paper").pairs == one.pairs
    with pytest.raises(ValueError, match="protocol is 'other'; expected official or paper"):
        counted(one, "other")  # type: ignore[arg-type]


def test_a_set_made_by_hand_is_checked_too() -> None:
    pairs = (("a", "b"),) * 3
    with pytest.raises(InputError, match="2014 x: 3 pairs but 2 gold scores"):
        PairSet(2014, "x", pairs, np.zeros(2))
    with pytest.raises(InputError, match=r"2014 x: gold score 7 of pair 2 is not within 0 to 5"):
        PairSet(2014, "x", pairs, np.array([1.0, 7, 1]))


def test_facts_about_the_text() -> None:
    one = PairSet(2014, "x", (("The cat.", "the old dog"), ("", ""), ("a b", "b a")), np.array([1.0, 2, 3]))
    facts = one.text()
    assert facts.n_words == 9
    assert facts.words_per_sentence == 1.5
    assert facts.overlap == pytest.approx((1 / 4 + 0 + 1) / 3)
    assert facts.n_unknown({"the", "cat", "a"}) == 4
    assert facts.n_unknown(object()) is None
    assert one.text(Tokenizer()).n_words == 10  # including the full stop
    assert one.text() is facts


def test_the_real_sets(shared_data: Path) -> None:
    sets = sts(shared_data / "sts")
    assert len(sets) == 19
    assert sum(len(one.pairs) for one in sets) == 16_858
    assert sum(one.n_scored for one in sets) == 11_358
    assert all(RELEASES[one.year][one.dataset] == one.n_scored for one in sets)
    assert [re.match(r"2013 SMT", message) is not None for message in missing_sets(sets)] == [True]
    video = next(one for one in sets if one.dataset == "MSRvid")
    assert round(video.text().words_per_sentence, 2) == 6.63  # as the paper says
