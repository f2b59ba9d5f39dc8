"""Every command that reads text detects and reports its encoding, or takes --encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from search_world import topic_model
from siamese_cbow.cli import main

LINES = "the guitar über a song\tthe straße of bread\n" * 20
COMMANDS = [
    ["prepare", "a.txt", "-o", "stream", "--min-count", "1"],
    ["encode", "a.txt"],
    ["search", "guitar", "a.txt"],
    ["index", "a.txt", "-o", "index"],
    ["dedup", "a.txt"],
    ["cluster", "a.txt"],
    ["adapt", "a.txt", "-o", "adapted"],
    ["similarity", "--file", "a.txt"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    topic_model().save(tmp_path / ".model")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / ".model"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_bytes(LINES.encode("cp1252"))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_detected_and_reported_or_forced_and_refused(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*command, "--encoding", "utf-8"])
    assert stop.value.code == 2
    assert "it looks like Windows-1252: add --encoding cp1252" in capsys.readouterr().err
    main(command)
    captured = capsys.readouterr()
    assert "\ufffd" not in captured.out
    assert captured.err.count("read as Windows-1252, not UTF-8: ") == 1


def test_units_that_contradict_each_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["search", "guitar", "a.txt", "--sentences", "--unit", "line"])
    assert stop.value.code == 2
    assert "got both --sentences and --unit line; expected only one of them" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.md", "a.html"])
def test_broken_characters_are_said_by_every_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    topic_model().save("model")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", "model")
    text = "the ship sails and the song plays é é é".encode() + b" broken \xff here"
    start, end = {"a.csv": (b"text,label\n", b",sea\n"), "a.jsonl": (b'{"text": "', b'", "label": "x"}\n')}.get(
        name, (b"", b"\t" + b"ship\n")
    )
    Path(name).write_bytes(start + text + end)
    for command in (["encode", name], ["search", "ship", name], ["index", name, "-o", "an.index"], ["dedup", name],
                    ["cluster", name], ["adapt", name, "-o", "adapted"],
                    ["prepare", name, "-o", "stream", "--min-count", "1"]):  # fmt: skip
        main(command)
        said = capsys.readouterr().err
        assert "replaced 1 invalid UTF-8" in said, command
    if name == "a.txt":
        main(["similarity", "--file", name])
        assert "replaced 1 invalid UTF-8 character: a.txt" in capsys.readouterr().err
