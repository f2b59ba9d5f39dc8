"""Input files: which ones are meant, how they are opened, and what is refused; every mistake is a clear InputError."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text import FORMATS, chunks, encodings, inputs
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import ending_of, open_bytes
from siamese_cbow.text.reader import walk_of
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import iter_lines

TEXT = "".join(f"sentence number {i} of many\n" for i in range(3000)).encode()


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


def text_of(inputs: object, **options: str) -> bytes:
    corpus = Corpus(inputs, TextSettings(layout="sentences", **options))  # type: ignore[arg-type]
    return b"".join(corpus.lines(block).text for block in corpus.blocks())


# which files


def find_files(names: list[str | Path]) -> list[Path | None]:
    return inputs.find_files(names, walk_of(TextSettings()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "b.txt",
        "a.txt.gz",
        "sub/c.jsonl",
        "sub/deep/d.md",
        ".hidden.txt",
        ".git/e.txt",
        "image.png",
        "a.TXT",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x89PNG\r\n" if path.suffix == ".png" else b"")
    return tmp_path


def names(found: list[Path | None], folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) if path else "-" for path in found]


def test_a_folder_gives_its_text_files_sorted_and_no_hidden_ones(folder: Path) -> None:
    assert names(find_files([folder]), folder) == ["a.TXT", "a.txt.gz", "b.txt", "sub/c.jsonl", "sub/deep/d.md"]


def test_globs_are_expanded_and_sorted(folder: Path) -> None:
    assert names(find_files([f"{folder}/*.txt*"]), folder) == ["a.txt.gz", "b.txt"]
    assert names(find_files([f"{folder}/**/*.md"]), folder) == ["sub/deep/d.md"]
    assert names(find_files([f"{folder}/su?"]), folder) == ["sub/c.jsonl", "sub/deep/d.md"]


def test_the_order_given_is_kept_and_a_dash_is_standard_input(folder: Path) -> None:
    found = find_files([folder / "image.png", "-", str(folder / "b.txt")])
    assert names(found, folder) == ["image.png", "-", "b.txt"]  # a file given by name is read whatever its ending


def test_a_file_whose_name_looks_like_a_glob_is_itself(tmp_path: Path) -> None:
    (tmp_path / "notes[1].txt").write_text("x")
    assert find_files([str(tmp_path / "notes[1].txt")]) == [tmp_path / "notes[1].txt"]


def test_endings_are_recognised_without_the_compression() -> None:
    assert [ending_of(Path(name)) for name in ("a.JSONL.gz", "b.tar.gz", "c", "d.txt")] == [
        ".jsonl",
        ".tar",
        "",
        ".txt",
    ]


@pytest.mark.parametrize(
    ("given_paths", "message"),
    [
        (["nowhere.txt"], "no such file or folder: nowhere.txt"),
        (["no*where*.txt"], r"nothing matches no\*where\*\.txt"),
        ([Path("no*where*.txt")], "no such file or folder"),
        (["The cat sat on the mat."], r"Texts\(\[\.\.\.\]\)"),
        (["Why did it sit?"], r"nothing matches .*Texts\(\[\.\.\.\]\)"),
        (["cat", "dog"], r"no such file or folder: cat; .*Texts\(\[\.\.\.\]\)"),
        (["", "dog"], r"empty path.*Texts\(\[\.\.\.\]\)"),
        (["cat", "notes.txt"], r"no such file or folder: cat; check the path$"),
        (["~nobody/notes.txt"], "no such file or folder: ~nobody/notes.txt"),
        (["x" * 5000], "no such file or folder"),
        (["a\0b"], "no such file or folder"),
        (["-", "-"], "given twice"),
        ([], "no input was given"),
    ],
)
def test_what_is_not_there_is_reported(given_paths: list[str | Path], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_files(given_paths)


def test_a_folder_without_text_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no text in the folder .*: it is empty"):
        find_files([tmp_path])
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden").touch()
    with pytest.raises(InputError, match=r"no text in the folder .*: skipped 1 binary file, 1 hidden"):
        find_files([tmp_path])


def test_a_file_that_vanishes_or_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    file.write_text("x\n")
    corpus = Corpus(file)
    file.unlink()
    with pytest.raises(InputError, match="no such file"):
        list(corpus.blocks())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    file.write_text("x\n")  # root may read everything, so the refusal is simulated
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="permission denied; check the file's permissions"):
        list(corpus.blocks())


def test_a_folder_that_is_opened_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"), open_bytes(tmp_path):
        pass


# compression


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files_give_the_same_lines(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.txt{ending}"
    file.write_bytes(COMPRESS[ending](TEXT))
    assert text_of(file) == TEXT + b"\n"
    corpus = Corpus(file)
    assert sum(block.n_source_bytes for block in corpus.blocks()) == corpus.total_bytes == file.stat().st_size
    assert "\n".join(iter_lines(file)).encode() + b"\n" == TEXT


@pytest.mark.parametrize("ending", COMPRESS)
def test_parts_packed_one_by_one_and_put_together_are_read_whole(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.txt{ending}"
    file.write_bytes(COMPRESS[ending](TEXT) + COMPRESS[ending](b"the end\n"))
    assert text_of(file) == TEXT + b"the end\n\n"


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("keep", [1, 3, 7, 0.5, -9, -5, -1])
def test_a_file_that_is_cut_off_is_never_read_short(tmp_path: Path, ending: str, keep: float) -> None:
    packed = COMPRESS[ending](os.urandom(5000).hex().encode() + TEXT)
    file = tmp_path / f"a.txt{ending}"
    file.write_bytes(packed[: int(len(packed) * keep) if isinstance(keep, float) else int(keep)])
    with pytest.raises(InputError, match=f"a.txt{ending}"):
        text_of(file)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])  # Arrow writes zstd without the checksum
def test_a_damaged_file_is_reported_as_damaged(tmp_path: Path, ending: str) -> None:
    packed = bytearray(COMPRESS[ending](os.urandom(5000).hex().encode()))
    packed[len(packed) // 2] ^= 0x55
    file = tmp_path / f"a.txt{ending}"
    file.write_bytes(packed)
    with pytest.raises(InputError, match=r"truncated or damaged.*get the file again"):
        text_of(file)


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize(
    ("content", "message"), [(b"plain text", "starts with 'plai'"), (b"", "is empty"), (b"\x1f\x8b", "a.txt")]
)
def test_a_file_with_the_wrong_ending(tmp_path: Path, ending: str, content: bytes, message: str) -> None:
    file = tmp_path / f"a.txt{ending}"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        text_of(file)


def test_mixed_up_compressions_name_the_right_ending(tmp_path: Path) -> None:
    file = tmp_path / "a.txt.gz"
    file.write_bytes(lzma.compress(TEXT))
    with pytest.raises(InputError, match=r"not a \.gz file; rename it to end in \.xz"):
        text_of(file)
    plain = tmp_path / "a.txt"
    plain.write_bytes(gzip.compress(TEXT))
    with pytest.raises(InputError, match=r"rename it to end in \.gz"):
        text_of(plain)


# input that is not text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.7\n1 0 obj", r"is a PDF, not text; .* pdftotext"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG image"),
        (b"PK\x03\x04\x14\0", "is a zip archive"),
        (b"\x7fELF\x02\x01", "is a program"),
        (b"PAR1\x15\x04", r"is a Parquet file.*end in \.parquet"),
        (b"words and " * 20 + bytes(range(32)) * 9, "looks binary: .* control bytes"),
        (b"\0" * 5000, "looks binary"),
        (b"\1\2\3", "looks binary: 3 of its first 3 bytes"),
        (b"\1\n\2\n", "looks binary: 2 of its first 4 bytes"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        text_of(file)
    with pytest.raises(InputError, match=message):
        list(iter_lines(file))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.docx", r"is a Word document, not text; .*: pandoc -t plain .*a\.docx -o a\.txt"),
        ("a.ODT", "is an ODT document, .*: pandoc"),
        ("a.epub", r"is an e-book \(EPUB\), .*: pandoc"),
        ("a.xlsx", "is an Excel workbook, not text; save the sheet as CSV first"),
        ("a.zip", "is a zip archive"),
    ],
)
def test_zipped_documents_are_refused_by_name(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04\x14\0")
    with pytest.raises(InputError, match=message):
        list(iter_lines(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"one\0two\0three\n", "one two three\n\n"),  # NULs separate words
        (b"caf\xe9 au lait\n", "café au lait\n\n"),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n\n"),
        (b"\xef\xbb\xbfmarked\n", "marked\n\n"),
        (b"one\rtwo\rthree", "one\ntwo\nthree\n\n"),  # line ends of old Macintosh files
        (b"", "\n"),
    ],
)
def test_odd_text_is_still_text(tmp_path: Path, content: bytes, lines: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    assert text_of(file).decode() == lines


# standard input


class FakeStdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("ending", ["", *COMPRESS])
def test_standard_input_may_be_compressed(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(COMPRESS[ending](TEXT) if ending else TEXT))
    corpus = Corpus("-", TextSettings(layout="sentences"))
    assert (corpus.files, corpus.total_bytes, corpus.can_be_read_again) == ([], None, False)
    assert b"".join(corpus.lines(block).text for block in corpus.blocks()) == TEXT + b"\n"
    with pytest.raises(InputError, match="can be read only once"):
        corpus.blocks()


def test_a_pipe_is_read_once_and_has_no_size(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    corpus = Corpus(pipe)
    assert (corpus.files, corpus.total_bytes, corpus.can_be_read_again) == ([], None, False)


# lines for encoding


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb\r\nc", ["a", "", "b", "c"]),
        (b"a\r\r\n\rb\n", ["a\r", "\rb"]),
        (b"a\x0bb\x0cc\xe2\x80\xa8d\n", ["a\x0bb\x0cc\u2028d"]),  # only \n ends a line
        (b"\xef\xbb\xbfa\xff\n", ["a\ufffd"]),
    ],
)
def test_iter_lines_gives_one_item_per_line(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    assert list(iter_lines(file)) == lines


@given(content=st.binary(max_size=300).filter(lambda data: not data.startswith((b"\xff\xfe", b"\xfe\xff", b"BZh"))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_iter_lines_counts_lines_like_the_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(chunks, "check_is_text", lambda *_: None)
    monkeypatch.setattr(chunks, "check_is_no_other_file", lambda *_: None)
    monkeypatch.setattr(encodings, "MOST_BROKEN", 1)
    monkeypatch.setattr(chunks, "SAMPLE_BYTES", 7)
    monkeypatch.setattr(chunks.TextStream.reads, "__defaults__", (5,))
    file = tmp_path / "a.txt"
    file.write_bytes(content)
    if b"\r" in content[:7] and b"\n" not in content[:7]:
        content = content.replace(b"\r", b"\n")  # as in old Macintosh files
    expected = content.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b" ").split(b"\n")
    expected = expected[:-1] if expected[-1] == b"" else expected
    lines = list(iter_lines(file, Decoding("utf-8")))
    assert lines == [line.removesuffix(b"\r").decode("utf-8", "replace") for line in expected]


# any input ends in text or in our own error


@given(
    content=st.one_of(
        st.binary(max_size=400),
        st.sampled_from(
            [TEXT[:999], b'{"text": "a b"}\n', b"text,n\na b,1\n", b"text\tn\na b\t1\n", b"PAR1" * 9]
        ).flatmap(lambda start: st.binary(max_size=40).map(lambda end: start + end)),
    ),
    ending=st.sampled_from([*(ending for each in FORMATS for ending in each.endings), ""]),
    compression=st.sampled_from(["", "", *COMPRESS]),
    really=st.booleans(),
    kind=st.sampled_from(["text", "groups"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
def test_any_bytes_with_any_ending_give_text_or_our_own_error(
    tmp_path: Path, content: bytes, ending: str, compression: str, really: bool, kind: str
) -> None:
    file = tmp_path / f"a{ending}{compression}"
    file.write_bytes(COMPRESS[compression](content) if compression and really else content)
    try:
        corpus = Corpus(file, TextSettings(kind=kind))  # type: ignore[arg-type]
        for block in corpus.blocks():
            text = corpus.lines(block).text
            assert text == b"" or text.endswith(b"\n")
            assert b"\0" not in text
            text.decode()
    except SiameseCBOWError as error:
        assert file.name in str(error)  # noqa: PT017 (both ends are good)
    finally:
        file.unlink()


@pytest.mark.parametrize("ending", ["", ".zst", ".gz"])
def test_a_line_without_end_is_refused_before_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """A few kilobytes may expand to gigabytes without a line end; readers of whole lines stop at a limit."""
    monkeypatch.setattr(chunks, "MAX_ROW_BYTES", 6 << 20)
    text = b"one two\n" + b"a b " * (4 << 20)
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(COMPRESS[ending](text) if ending else text)
    with pytest.raises(InputError, match=r"a\.txt.* line 2 is longer than 6,291,456 bytes; expected one text per line"):
        list(iter_lines(path))
    path.write_bytes(COMPRESS[ending](text[: 6 << 20]) if ending else text[: 6 << 20])
    assert [len(line) for line in iter_lines(path)] == [7, (6 << 20) - 8]


@pytest.mark.parametrize("left", [0, 5, 3_000_000])
def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, left: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one two\n" * 3_000_000)
    lines = iter_lines(path)
    next(lines)
    os.truncate(path, left)
    with pytest.raises(InputError, match=r"a\.txt shrank while it was read: [\d,]+ of 24,000,000 bytes"):
        list(lines)


def test_a_file_that_grows_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one two\n" * 3_000_000)
    lines = iter_lines(path)
    next(lines)
    with path.open("ab") as file:
        file.write(b"three\n")
    assert len(list(lines)) == 3_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n{"text": "b"}\n', "JSON lines, not plain text; rename it to end in .jsonl"),
        (b'[\n {"text": "a"}\n]\n', "JSON, not plain text; rename it to end in .json"),
        (b"\n<!-- a -->\n<!DOCTYPE html>\n<p>a", "an HTML page, not plain text; rename it to end in .html"),
        (b"id\ttext\n1\ta\n2\tb\n", "a table with a column 'text', not plain text; rename it to end in .tsv"),
        (b'"id";"text"\n1;a\n2;b\n', "a table with a column 'text', not plain text; rename it to end in .csv"),
    ],
)
def test_what_is_no_plain_text_is_not_read_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"a.txt looks like {message}"):
        text_of(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("a ship\n")
    assert text_of(tmp_path) == b"a ship\n\n"  # in a folder it is skipped and reported
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(InputError, match=r"standard input looks like .*; save it as a file that ends in \."):
        text_of("-")


@pytest.mark.parametrize("text", ['{"text": "a"}\nfound it\n', "a text, of b\nand c, of d\n", "text\na\n", "{a: b}\n"])
def test_plain_text_may_begin_like_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    assert text_of(tmp_path / "a.txt").decode().split() == text.split()


def test_a_tar_archive_is_refused_however_long_its_text_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "a.txt")
    with pytest.raises(InputError, match="is a tar archive, not text; unpack it first"):
        text_of(tmp_path / "a.tar.gz")
