"""Rules that hold for every command."""

from __future__ import annotations

import runpy
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from siamese_cbow.cli import COMMANDS, EXAMPLES, group, main
from siamese_cbow.errors import MissingExtra, counted, install_command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(200) == COMMANDS[name][1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help_and_its_default_is_shown(name: str) -> None:
    result = CliRunner().invoke(group, [name, "--help"])
    assert result.exit_code == 0, result.output
    command = group.get_command(click.Context(group), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name != "help":
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_parse(name: str) -> None:
    shown = CliRunner().invoke(group, [name, "--help"]).output.partition("\nExamples:\n")[2]
    assert shown.splitlines() == [f"  siamese-cbow {example}" for example in EXAMPLES[name]]
    command = group.get_command(click.Context(group), name)
    assert command is not None
    for example in EXAMPLES[name]:
        first, *arguments = shlex.split(example.partition(" > ")[0].partition(" < ")[0])
        assert first == name
        command.make_context(name, arguments)  # raises a usage error if an option does not exist


def test_the_reference_page_is_what_help_says() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == runpy.run_path(str(ROOT / "tools" / "command_reference.py"))["reference"](), (
        "run: python tools/command_reference.py"
    )


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)


def test_a_mistake_ends_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nonsense"], ["prepare"], ["prepare", "none.txt", "-o", "x", "--min-count", "many"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["prepare", "no-such-file.txt", "-o", "x"])
    assert stopped.value.code == 2
    assert "no-such-file.txt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("similarity one", "got 1 text; expected two texts, or --file FILE alone"),
        ("similarity one two --file a.txt", "got 2 texts and --file; expected two texts, or --file FILE alone"),
        (
            "train a.txt -o m --recipe fast",
            "there is no recipe fast; expected contrastive, paper, paper-program, or the path of a TOML file",
        ),
        ("train a.txt -o m --dim 0", "dim is 0; expected a whole number from 1 to 65536"),
        ("index -o ix", "got no files, and ix is not an index yet; expected FILES to index"),
        (
            "train data/books/ b.txt",
            "--output is missing; give the model folder: siamese-cbow train data/books/ b.txt -o models/books",
        ),
        (
            "search --index docs",
            "Missing argument 'QUERY'. Example: siamese-cbow search \"restart\" --index docs-index",
        ),
        ("prepare books", "Missing option '-o' / '--output'. Example: siamese-cbow prepare books/ -o data/books"),
        ("search cat a.txt --sentence-language fr", "--sentence-language: only with --sentences"),
        ("adapt a.txt", "Missing option '-o' / '--output'. Example: siamese-cbow adapt headlines.txt -o models/head"),
        ("train a.txt -o m --cluster local", "siamese-cbow prepare a.txt --cluster local -o a@stream"),
        ("reproduce a.txt -o report", "create a stream with: siamese-cbow prepare a.txt -o a@stream"),
        ("reproduce books -o report", "books is not a stream (stream.json is missing); create one"),
        ("demo -o books", "books contains files that are not part of a model"),
        ("demo --text x -o y", "--text: it only copies the speeches and saves no model"),
        ("encode a.txt --workers 2", "--workers: only with --cluster ADDRESS, such as --cluster local"),
        ("train a -o m --average-every 2", "--average-every: only with --cluster ADDRESS, such as --cluster local"),
        ("search cat --index ix --sentences", "--sentences: only for FILES; an index keeps how its text was read"),
        ("similarity one two --text-column a,b", "--text-column: only with --file FILE"),
        ("train a.txt b.txt -o m --passes 1,2", "--passes: only for streams, one number for each; prepare every text"),
        ("evaluate --folds 3", "--folds: only with --probe FILE"),
        ("evaluate --probe a.tsv --pairs b.tsv", "--pairs: not with --probe, which runs on its own"),
        ("evaluate --tasks dir --probe a.tsv", "--probe: not with --tasks, which runs on its own"),
        ("info one --model two", "--model: the model is already named, one; name it once"),
        ("compress one --model two -o three", "--model: the model is already named, one; name it once"),
        ("serve one --model two", "--model: the model is already named, one; name several models as arguments"),
    ],
)
def test_a_mistake_is_explained(
    arguments: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("the cat sat\n")
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "b.txt").write_text("the dog ran\n")
    with pytest.raises(SystemExit) as stopped:
        main(arguments.split())
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_an_empty_path_is_not_the_current_folder(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["encode", ""], ["search", "cat", ""], ["prepare", " ", "-o", "x"]):
        with pytest.raises(SystemExit) as stopped:
            main(command)
        assert stopped.value.code == 2
        assert "got an empty path" in capsys.readouterr().err


def test_an_empty_file_is_remarked_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("")
    main(["encode", str(tmp_path / "a.txt")])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{tmp_path / 'a.txt'} contains no text: 0 rows\n"
    main(["similarity", "--file", str(tmp_path / "a.txt")])
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{tmp_path / 'a.txt'} contains no text: 0 pairs\n"


def test_a_misspelt_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["neigbours", "cat"])
    assert "there is no command 'neigbours'; did you mean neighbours?" in capsys.readouterr().err


def test_commands_and_options_have_the_names_that_people_type(capsys: pytest.CaptureFixture[str]) -> None:
    main(["neighbors", "cat", "-k", "1"])
    american = capsys.readouterr().out
    main(["neighbours", "cat", "-k", "1"])
    assert american == capsys.readouterr().out != ""
    command = group.get_command(click.Context(group), "train")
    assert command is not None
    assert command.make_context("train", ["text", "--lr", "0.1"]).params["learning_rate"] == 0.1


def test_help_of_train_has_every_option_of_a_recipe_under_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "--help"])
    first, *groups = capsys.readouterr().out.split("Options:")[1].split("\n\n")
    assert "--momentum" not in first
    assert "--temperature" not in first
    headings = [group.strip().partition(":\n")[0] for group in groups]
    assert headings[1:3] == ["Recipe", "Batches and negatives"]
    assert "Post-processing" in headings


def test_prepare_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("the cat sat\nthe cat ran\n")
    arguments = ["prepare", str(tmp_path / "text.txt"), "-o", str(tmp_path / "stream"), "--min-count", "2"]
    main(arguments)
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'stream'}\n"
    assert "4 tokens in 2 sentences and 1 document; vocabulary: 2 of 4 distinct words" in err
    main(arguments)
    assert "up to date" in capsys.readouterr().err


def test_missing_extra_says_what_to_type() -> None:
    said = str(MissingExtra("gensim", "baselines"))
    assert said.startswith("gensim is not installed; it comes with the extra baselines (word2vec baselines")
    assert said.endswith(f": {install_command('baselines')}")


def test_one_thing_is_singular() -> None:
    assert [counted(n, "text") for n in (0, 1, 2000)] == ["0 texts", "1 text", "2,000 texts"]


@pytest.mark.slow
def test_the_table_of_kinds_of_files_is_true() -> None:
    """Every command reads every kind of file, plain and compressed: rows, messages, and what is left out."""
    page = (ROOT / "docs" / "text.md").read_text("utf-8")
    assert page == runpy.run_path(str(ROOT / "tools" / "text_table.py"))["page"](), "run: python tools/text_table.py"
