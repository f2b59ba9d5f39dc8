"""`siamese-cbow search` as people and scripts use it."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from search_world import topic_model, write_lines
from siamese_cbow.cli import main

TEXT = ["the ship in the harbour", "", "a song of the band", "soup", "the storm"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two text files and a model that the environment names."""
    topic_model().save(tmp_path / ".model")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / ".model"))
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "a.txt", TEXT)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"the guitar\n"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[list[str], str]:
    """The lines on standard output, and all of standard error."""
    try:
        main(["search", *arguments])
        left_with = 0
    except SystemExit as stop:
        left_with = int(stop.code or 0)
    captured = capsys.readouterr()
    assert left_with == code, captured.err
    assert "Traceback" not in captured.err
    return captured.out.splitlines(), captured.err


def rest(line: str) -> str:
    """A line without its score and its reasons."""
    score, text, reasons = line.split("\t")
    assert float(score) > -10
    assert re.fullmatch(r"\[(exact [\d.]+: .+|no exact words); meaning -?[\d.]+\]", reasons)
    return text


def test_file_and_line_as_in_grep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rest(run(capsys, "song band", "a.txt", "-k", "1")[0][0]) == "3:a song of the band"
    assert rest(run(capsys, "song band", "a.txt", "-k1", "-H")[0][0]) == "a.txt:3:a song of the band"
    assert rest(run(capsys, "song band", "a.txt", "-k1", "-HN")[0][0]) == "a.txt:a song of the band"
    both = [rest(line) for line in run(capsys, "song guitar", "a.txt", "b.txt.gz", "-k2")[0]]
    assert sorted(both) == ["a.txt:3:a song of the band", "b.txt.gz:1:the guitar"]
    assert rest(run(capsys, "song band", "a.txt", "b.txt.gz", "-k1", "-I", "-N")[0][0]) == "a song of the band"


def test_context_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = run(capsys, "song band soup", "a.txt", "-k", "2", "-C", "1")
    assert "--" in lines
    first = lines[: lines.index("--")]
    assert [line.partition("\t")[0] != "" for line in first] == [False, True, False]
    song, soup = "a song of the band", "soup"
    around = {"2-", f"3:{song}", f"4-{soup}", f"3-{song}", f"4:{soup}", "5-the storm"}
    assert {line.split("\t")[1] for line in first} <= around
    found = [json.loads(line) for line in run(capsys, "song band", "a.txt", "-k1", "-A2", "--json")[0]]
    assert found[0].pop("score") == pytest.approx(found[0].pop("exact") + found[0].pop("meaning"), abs=1e-5)
    assert found == [
        {
            "source": "a.txt",
            "line": 3,
            "text": "a song of the band",
            "before": [],
            "after": [{"number": 4, "text": "soup"}, {"number": 5, "text": "the storm"}],
            "words": ["song", "band"],
        }
    ]


def test_threshold_and_exit_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = run(capsys, "song guitar", ".", "-k", "0", "--threshold", "0.5", "--meaning")
    assert {rest(line).rpartition(":")[2] for line in lines} == {"a song of the band", "the guitar"}
    assert run(capsys, "song", "a.txt", "--threshold", "0.9999", "--meaning", code=1)[0] == []
    assert run(capsys, "kitchen", "a.txt", "--threshold", "99", code=1)[0] == []
    assert run(capsys, "kitchen", "a.txt", "--exact", code=1)[0] == []
    assert "neither k nor threshold is set" in run(capsys, "song", "a.txt", "-k", "0", code=2)[1]


def test_standard_input(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress("\n".join(TEXT).encode()))))
        assert rest(run(capsys, "storm", *arguments, "-k1")[0][0]) == "5:the storm"


def test_colours_only_where_wanted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in run(capsys, "song", "a.txt")[0][0]
    coloured = run(capsys, "song", "a.txt", "-k1", "--color", "always")[0][0]
    assert "\x1b[31m\x1b[1msong\x1b[0m" in coloured
    assert "\x1b[32m3\x1b[0m" in coloured


def test_unknown_words_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, said = run(capsys, "blorf song", "a.txt", "-k1")
    assert rest(lines[0]) == "3:a song of the band"
    assert "vocabulary and ignored: blorf" in said
    assert "no word the model knows" in run(capsys, "blorf", "a.txt", "--meaning", code=2)[1]
    assert "query is empty" in run(capsys, "", "a.txt", code=2)[1]


def test_usage_mistakes_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "siamese-cbow search 'a loud guitar' a.txt" in run(capsys, "a.txt", "a loud guitar", code=2)[1]
    assert "expected one of them" in run(capsys, "song", "a.txt", "--exact", "--meaning", code=2)[1]
    assert f"search QUERY {folder}" in run(capsys, "song", "--index", str(folder), "--model", ".model", code=2)[1]


def test_tables_count_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.csv").write_text('id,text\n1,"two\nlines"\n2,a guitar\n')
    assert rest(run(capsys, "guitar", "c.csv", "-k1")[0][0]) == "record 2:a guitar"
    hit = json.loads(run(capsys, "guitar", "c.csv", "-k1", "--json")[0][0])
    assert hit["record"] == 2
    assert "line" not in hit


def test_bad_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in run(capsys, "song", "none.txt", code=2)[1]
    (folder / "image.txt").write_bytes(b"\x89PNG" + bytes(100))
    assert "PNG" in run(capsys, "song", "image.txt", code=2)[1]
    lines, said = run(capsys, "song guitar", ".", "-k2")
    assert len(lines) == 2
    assert "skipped 1 binary file" in said
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"the guitar\n" * 1000)[:-20])
    assert "truncated or damaged" in run(capsys, "song", "cut.txt.gz", code=2)[1]


def test_a_small_search_loads_nothing_heavy(folder: Path) -> None:
    script = "import sys; from siamese_cbow.cli import main; main(['search', 'song', 'a.txt']); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = {name.partition(".")[0] for name in shown.splitlines()[-1].split()}
    assert "siamese_cbow" in loaded
    assert not {"numba", "pyarrow", "rich", "scipy", "usearch", "sklearn"} & loaded


@pytest.mark.parametrize("words", [("a.txt", "a loud song"), ("a.txt", "b.txt.gz", "a loud song")])
def test_the_query_comes_first(folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    _, said = run(capsys, *words, code=2)
    assert f"siamese-cbow search 'a loud song' {' '.join(words[:-1])}" in said


def test_a_query_of_words_that_nobody_knows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = "try other words"
    assert strange in run(capsys, "qxqx", "a.txt", "--fallback", "ngrams")[1]
    assert strange not in run(capsys, "qxqx song", "a.txt", "--fallback", "ngrams")[1]
    write_lines(folder / "codes.txt", [*TEXT, "the storm qxqx"])
    lines, said = run(capsys, "qxqx", "codes.txt", "-k1", "--fallback", "ngrams")
    assert (rest(lines[0]), strange in said) == ("6:the storm qxqx", False)


def test_remarks_do_not_name_the_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = run(capsys, "qxqx song", "a.txt")
    assert said == "not in the model's vocabulary and ignored: qxqx\n"


def test_an_empty_input_and_an_index_as_files_are_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.txt").touch()
    assert run(capsys, "song", "empty.txt", code=1) == ([], "there is no text to search: the input is empty\n")
    main(["index", "a.txt", "-o", "notes"])
    capsys.readouterr()
    assert "siamese-cbow search 'a song' --index notes" in run(capsys, "a song", "notes", code=2)[1]
