"""Folders walked like ripgrep does: what is read, what is left out, and what is reported."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_world import topic_model
from siamese_cbow.cli import main
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text import FORMATS
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.folders import Walk, _spec, left_out_remark
from siamese_cbow.text.inputs import MARKUP
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def walked(folder: Path, *globs: str) -> tuple[list[str], dict[str, int]]:
    walk = Walk(globs)
    return [str(path.relative_to(folder)) for path in walk.files(folder)], dict(walk.left_out)


def test_any_text_is_read_and_binary_files_are_left_out(tmp_path: Path) -> None:
    tree(tmp_path, {
        "Makefile": "all:\n", "a.py": "x = 1\n", "b.txt": "text\n", "empty": "", "wide": "wide text".encode("utf-16"),
        "nul.txt": b"a\0b\n", "nul": b"some text\0 and more", "a.png": b"\x89PNG", "a.tar.gz": b"\x1f\x8b\x08",
        "a.zip": b"PK\x03\x04", "noise": bytes(range(256)) * 4, ".hidden": "x", ".git/config": "x",
    })  # fmt: skip
    files, left_out = walked(tmp_path)
    # A compressed file that can't be opened is left to its reader, which says why.
    assert files == ["Makefile", "a.py", "a.tar.gz", "b.txt", "empty", "nul.txt", "wide"]
    assert left_out == {"hidden": 2, "binary": 4}


def test_ignore_files_hold_below_them_and_the_nearest_one_decides(tmp_path: Path) -> None:
    tree(tmp_path, {
        ".gitignore": "*.log\nbuild/\n/only-here.txt\n", "a.log": "x", "a.txt": "x", "build/b.txt": "x",
        "only-here.txt": "x", "sub/only-here.txt": "x", "sub/.gitignore": "!keep.log\nc.txt\n", "sub/keep.log": "x",
        "sub/c.txt": "x", "sub/deep/c.txt": "x", "sub/deep/d.txt": "x", "other/.ignore": "*\n", "other/e.txt": "x",
    })  # fmt: skip
    files, left_out = walked(tmp_path)
    assert files == ["a.txt", "sub/deep/d.txt", "sub/keep.log", "sub/only-here.txt"]
    assert left_out == {"hidden": 3, "ignored": 6}


def test_a_part_of_a_repository_obeys_ignore_files_above_it(tmp_path: Path) -> None:
    tree(tmp_path, {
        ".git/HEAD": "ref", ".git/info/exclude": "private.txt\n", ".gitignore": "*.log\n/build/\n",
        "docs/a.txt": "x", "docs/a.log": "x", "docs/private.txt": "x", "build/b.txt": "x",
    })  # fmt: skip
    assert walked(tmp_path / "docs") == (["a.txt"], {"ignored": 2})
    assert walked(tmp_path / "build") == (["b.txt"], {})  # given by name, so it is read
    assert walked(tmp_path)[0] == ["docs/a.txt"]


def test_globs_choose_and_the_last_match_decides(tmp_path: Path) -> None:
    tree(tmp_path, dict.fromkeys(("a.md", "b.txt", "drafts/c.md", "drafts/good.md", ".d.md"), "x"))
    assert walked(tmp_path, "*.md")[0] == [".d.md", "a.md", "drafts/c.md", "drafts/good.md"]  # hidden files, too
    assert walked(tmp_path, "*.md", "!drafts/c*")[0] == [".d.md", "a.md", "drafts/good.md"]
    assert walked(tmp_path, "!drafts/") == (["a.md", "b.txt"], {"glob": 1, "hidden": 1})
    assert walked(tmp_path, "drafts/**")[0] == ["drafts/c.md", "drafts/good.md"]
    with pytest.raises(InputError, match="no text in the folder"):
        Corpus(tmp_path, TextSettings(globs=("*.rst",)))
    named = Corpus(tmp_path / "b.txt", TextSettings(globs=("*.md",)))
    assert named.files == [tmp_path / "b.txt"]  # a file given by name is always read


def test_links_are_followed_once(tmp_path: Path) -> None:
    tree(tmp_path / "tree", {"sub/a.txt": "x", "z.txt": "x"})
    tree(tmp_path / "elsewhere", {"b.txt": "x", ".gitignore": "c.txt", "c.txt": "x"})
    folder = tmp_path / "tree"
    (folder / "sub/loop").symlink_to(folder)
    (folder / "again.txt").symlink_to(folder / "z.txt")
    (folder / "far").symlink_to(tmp_path / "elsewhere")
    (folder / "far-again").symlink_to(tmp_path / "elsewhere")
    (folder / "one.txt").symlink_to(tmp_path / "elsewhere" / "c.txt")
    (folder / "broken").symlink_to(tmp_path / "nowhere")
    (folder / "itself").symlink_to(folder / "itself")
    os.mkfifo(folder / "pipe")
    files, left_out = walked(folder)
    assert files == ["far/b.txt", "one.txt", "sub/a.txt", "z.txt"]
    assert left_out == {"again": 3, "ignored": 1, "hidden": 1, "broken": 2, "special": 1}


def test_what_was_left_out_is_one_line_in_both_views(tmp_path: Path) -> None:
    tree(tmp_path, {"a.txt": "one\ntwo\n", "b.bin": b"\0\1\2\3" * 9, ".gitignore": "c*", "c1": "x", "c2": "x"})
    line = "skipped 1 binary file, 2 ignored by .gitignore, 1 hidden; files named explicitly are always read"
    corpus, reader = Corpus(tmp_path), RowReader(tmp_path)
    assert corpus.remarks == reader.remarks == [line]
    assert list(reader.texts()) == ["one", "two"]
    assert left_out_remark(Walk().left_out) == []


def test_markup_that_is_read_as_text_is_reported_in_one_line(tmp_path: Path) -> None:
    for name in ("a.tex", "b.txt", "c.tex", "film.ass"):
        (tmp_path / name).write_text("The cat sat on the mat.\n")
    reader, corpus = RowReader(tmp_path), Corpus(tmp_path)
    assert len(list(reader.texts())) == 4
    list(corpus.blocks())
    names = ", ".join(str(tmp_path / name) for name in ("a.tex", "c.tex", "film.ass"))
    for remarks in (reader.remarks, corpus.remarks):
        (line,) = [each for each in remarks if "markup" in each]
        assert line.startswith(f"read as plain text, markup and all: {names} (LaTeX, subtitles); ")
        assert line.endswith(": pandoc -t plain FILE -o FILE.txt")
    plain = RowReader(tmp_path / "b.txt")
    list(plain.texts())
    assert not plain.remarks
    assert not MARKUP.keys() & {ending for form in FORMATS for ending in form.endings}  # those are parsed


def test_tables_without_the_column_are_left_out_of_folders_only(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {"a.txt": "one\n", "b.json": '{"name":\n "x"}', "c.csv": "id;x\n1;2\n", "d.jsonl": '{"text": "two"}\n'},
    )
    reader = RowReader(tmp_path)
    assert list(reader.texts()) == ["one", "two"]
    assert reader.remarks == [
        f"skipped 2 files without readable text: {tmp_path / 'b.json'}, {tmp_path / 'c.csv'}; "
        "name one of them to see why; tables have --text-column"
    ]
    corpus = Corpus(tmp_path)
    assert b"".join(corpus.lines(block).text for block in corpus.blocks()).split() == [b"one", b"two"]
    assert corpus.remarks == reader.remarks
    with pytest.raises(InputError, match="has no column 'text'; it has 'id', 'x'"):
        list(RowReader([tmp_path / "c.csv", tmp_path / "a.txt"]).texts())
    (tmp_path / "a.txt").unlink()
    (tmp_path / "d.jsonl").unlink()
    with pytest.raises(InputError, match="has no column 'text'; it has 'name'"):
        list(RowReader(tmp_path).texts())


def test_files_that_are_not_what_their_ending_says(tmp_path: Path) -> None:
    tree(tmp_path, {"a.txt": "one\n", "a.pdf": "%PDF-1.4 no pages", "tsconfig.json": '{\n  // why\n  "a": 1\n}\n',
                    "b.jsonl": "// not JSON\n", "c.jsonl": '{"text": "two"}\n'})  # fmt: skip
    reader = RowReader(tmp_path)
    assert list(reader.texts()) == ["one", "two"]
    assert "skipped 3 files without readable text" in reader.remarks[0]
    (tmp_path / "c.jsonl").write_text('{"text": "two"}\nnonsense\n')
    with pytest.raises(InputError, match="line 2 is not JSON"):  # damaged, which is different
        list(RowReader(tmp_path).texts())


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"a.txt": "x", "closed/b.txt": "x", "locked.txt": "x"})
    scandir, access = os.scandir, os.access

    def refuse(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read everything, so the refusal is simulated
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked.txt" and access(path, mode))
    assert walked(tmp_path) == (["a.txt"], {"forbidden": 2})
    with pytest.raises(InputError, match=r"can't list .*closed: Permission denied"):
        walked(tmp_path / "closed")


def test_names_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spaces, line ends and bytes that are not UTF-8: every command reads such a file."""
    topic_model().save(tmp_path / "model")
    notes = tree(tmp_path / "notes", {"a b.txt": "ship\n", "new\nline.txt": "song\n"})
    Path(os.fsdecode(bytes(notes) + b"/bad\xff.txt")).write_text("soup\n")
    model = ("--model", str(tmp_path / "model"))
    for command in (
        ["encode", str(notes), *model, "-o", str(tmp_path / "a.parquet")],
        ["dedup", str(notes), *model, "-o", str(tmp_path / "b.parquet")],
        ["prepare", str(notes), "-o", str(tmp_path / "stream"), "--min-count", "1"],
        ["prepare", str(notes), "-o", str(tmp_path / "stream"), "--min-count", "1"],
        ["index", str(notes), *model, "-o", str(tmp_path / "index")],
        ["index", str(notes), *model, "-o", str(tmp_path / "index")],
    ):
        main(command)
    said = capsys.readouterr().err
    assert "is up to date" in said
    assert "0 new, 0 changed, 0 deleted, 3 unchanged" in said
    assert pq.read_table(tmp_path / "a.parquet")["text"].to_pylist() == ["ship", "soup", "song"]
    assert pq.read_table(tmp_path / "b.parquet").num_rows == 3


def test_what_we_wrote_ourselves_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = tree(tmp_path, {"notes/a.txt": "The cat sat. The dog ran.\n" * 9, "notes/web/index.json": "{}"}) / "notes"
    topic_model().save(tmp_path / "model")
    main(["prepare", str(notes / "a.txt"), "-o", str(notes / "stream"), "--min-count", "1"])
    topic_model().save(notes / "models" / "new")
    main(["index", str(notes / "a.txt"), "-o", str(notes / "index"), "--model", str(tmp_path / "model")])
    capsys.readouterr()
    files, left_out = walked(notes)
    assert (files, left_out) == (["a.txt", "web/index.json"], {"own": 3})
    assert left_out_remark(Counter({"own": 3}))[0].startswith("skipped 3 folders of siamese-cbow (streams, models,")
    with pytest.raises(InputError, match="skipped 1 folder of siamese-cbow"):
        list(RowReader(notes / "stream").blocks())


@pytest.mark.parametrize("pattern", ["*" * 60 + "x", "*a" * 40 + "b", "*[!b]" * 40 + "b", "*a*/" * 20 + "b"])
def test_patterns_of_many_stars_take_no_time(tmp_path: Path, pattern: str) -> None:
    """Trying every way to divide a name among the stars would take years."""
    folder = tree(tmp_path, {f"{'a' * 200}/{'a' * 200}.txt": "a cat\n", "c.txt": "b\n", ".gitignore": f"{pattern}\n"})
    assert len(walked(folder)[0]) == 2
    assert walked(folder, pattern)[0] == []


PIECES = ["*", "*", "**", "a", "b", "?", "[ab]", "/", "**/", "/**", "\\*", "[]a]", ".", "[a-c]", "!", "[[]", "+", "(",
          "[+--]", "[a&&b]", "[(||*]"]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Possible (nested )?set:FutureWarning")  # raised by the library itself
@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join),
    st.text("aabb./[*+(", min_size=1, max_size=9),
)
def test_patterns_mean_what_they_mean_to_their_library(pattern: str, path: str) -> None:
    from pathspec import GitIgnoreSpec

    try:
        expected = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return
    assert _spec([pattern], "x").check_file(path).include == expected.check_file(path).include


@pytest.mark.parametrize("pattern", ["[[]a.txt", "[+--]a.txt", "[a&&[]a.txt", "[a||~~[]a.txt"])
def test_marks_in_a_set_are_marks(tmp_path: Path, pattern: str) -> None:
    """Python warns about them, and warnings are errors here."""
    files = {"[a.txt": "x", "-a.txt": "x", "c.txt": "x"}
    left = "[a.txt" if "+" in pattern else "-a.txt"
    assert walked(tree(tmp_path, {**files, ".gitignore": f"{pattern}\n"}))[0] == sorted([left, "c.txt"])


def test_a_pattern_of_many_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--glob has an invalid pattern.* more than 5 times \*\*"):
        Walk(["a/**/b/**/c/**/d/**/e/**/f/**/g/**/h"])
