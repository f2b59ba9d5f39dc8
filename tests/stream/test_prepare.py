"""Text -> stream: equal to a plain Python version, the same bytes on any number of threads, never half-written."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import siamese_cbow.stream.spool
from siamese_cbow.base.files import one_writer
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.stream.preparation import WORDS_ONLY, prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text import chunks
from siamese_cbow.text.inputs import Texts
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.vocabulary import Vocabulary

SENTENCES = TextSettings(layout="sentences")


class Heard:
    """Progress that remembers its messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.done = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        self.done += amount

    def say(self, message: str) -> None:
        self.messages.append(message)


def plainly(text: str, min_count: int) -> Stream:
    """The plain Python version: lines are sentences, an empty line ends a document."""
    words = WORDS_ONLY.words
    stripped = "\n".join(line.strip() for line in text.split("\n"))
    documents = [[words(line) for line in document.split("\n")] for document in stripped.split("\n\n")]
    return Stream.of_words(documents, min_count=min_count)


def folder_hash(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def same_arrays(a: Stream, b: Stream) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("ids", "sentences", "documents"))


lines_of_words = st.lists(
    st.sampled_from(["the cat sat.", "The dog", "a", "", "  ", "ünïque Ü", "é", "?!", "cat cat", "\u200b"])
)


@settings(max_examples=60)
@given(lines=lines_of_words, min_count=st.integers(1, 3))
def test_equals_plain_python(tmp_path_factory: pytest.TempPathFactory, lines: list[str], min_count: int) -> None:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = plainly("\n".join(lines), min_count)
    if not len(expected.vocabulary):
        with pytest.raises(InputError):
            prepare(path, min_count=min_count, text=SENTENCES)
        return
    stream = prepare(path, min_count=min_count, text=SENTENCES)
    assert stream.vocabulary == expected.vocabulary
    assert same_arrays(stream, expected)
    assert stream.ids.dtype == np.int32


def many_blocks(monkeypatch: pytest.MonkeyPatch, n_bytes: int = 2000) -> None:
    """Small blocks, so that even a small text has many."""
    monkeypatch.setattr(chunks.TextStream.reads, "__defaults__", (n_bytes,))


def some_text(n_lines: int = 4000) -> str:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.zipf(1.3, 6 * n_lines) % 5000]
    lines = [" ".join(words[6 * i : 6 * i + 6]) for i in range(n_lines)]
    return "\n".join(line if i % 9 else "" for i, line in enumerate(lines)) + "\n"


@pytest.mark.parametrize("max_distinct", [16_000_000, 800], ids=["all-words", "forgetting"])
def test_same_bytes_on_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_distinct: int
) -> None:
    many_blocks(monkeypatch)
    (tmp_path / "text.txt").write_text(some_text())
    hashes = []
    for threads in (1, 2, 3, 8):
        output = tmp_path / f"stream{threads}"
        stream = prepare(
            tmp_path / "text.txt",
            output=output,
            min_count=2,
            text=SENTENCES,
            threads=threads,
            max_distinct=max_distinct,
        )
        hashes.append(folder_hash(output))
    assert all(each == hashes[0] for each in hashes)
    assert (stream.about["n_forgotten"] > 0) == (max_distinct == 800)


def test_block_size_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text(some_text())
    whole = prepare(tmp_path / "text.txt", text=SENTENCES)
    many_blocks(monkeypatch, 500)
    assert prepare(tmp_path / "text.txt", text=SENTENCES).fingerprint == whole.fingerprint


def test_load_gives_what_was_prepared(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(some_text())
    stream = prepare(tmp_path / "text.txt", output=tmp_path / "stream", text=SENTENCES)
    again = Stream.load(tmp_path / "stream")
    assert again.vocabulary == stream.vocabulary
    assert same_arrays(again, stream)
    assert isinstance(again.ids, np.memmap)
    assert not list(tmp_path.glob(".*")), "no temporary folder is left"
    assert sorted(path.name for path in (tmp_path / "stream").iterdir()) == [
        "documents.npy", "ids.npy", "sentences.npy", "stream.json", "vocabulary.txt",
    ]  # fmt: skip


def test_nothing_to_do_when_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.txt"
    text.write_text(some_text())
    prepare(text, output=tmp_path / "stream", text=SENTENCES)
    before = (tmp_path / "stream" / "ids.npy").stat().st_mtime_ns
    monkeypatch.setattr(siamese_cbow.stream.spool.Spool, "fill", None)
    heard = Heard()
    prepare(text, output=tmp_path / "stream", text=SENTENCES, progress=heard)
    assert "up to date" in heard.messages[0]
    assert (tmp_path / "stream" / "ids.npy").stat().st_mtime_ns == before
    monkeypatch.undo()
    text.write_text("the the the the the\n")
    with pytest.raises(InputError, match=r"other text or settings \(the text, min_count\).*add --restart"):
        prepare(text, output=tmp_path / "stream", text=SENTENCES, min_count=1)
    assert (tmp_path / "stream" / "ids.npy").stat().st_mtime_ns == before
    assert prepare(text, output=tmp_path / "stream", text=SENTENCES, restart=True).n_tokens == 5
    assert prepare(text, output=tmp_path / "stream", text=SENTENCES, restart="changed").n_tokens == 5
    again = prepare(Texts(["the the the the the"]), output=tmp_path / "stream", text=SENTENCES, progress=heard)
    assert "up to date" in heard.messages[-1]  # recognised by the stream it became
    assert again.about["sources"]
    with pytest.raises(InputError, match=r"other text or settings \(the text\)"):
        prepare(Texts(["a a a a a a"]), output=tmp_path / "stream", text=SENTENCES)


def test_progress_is_reported(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes("the cat the cat\nrare wöörd\nthe ".encode() + b"\xff cat\n")
    heard = Heard()
    stream = prepare(tmp_path / "text.txt", min_count=2, text=SENTENCES, progress=heard)
    assert stream.n_sentences == 2
    said = "\n".join(heard.messages)
    assert "as sentences" in said
    assert "replaced 1 invalid UTF-8 sequence\n" in said
    assert "dropped 1 sentence without a known word" in said
    assert "dropped 2 out-of-vocabulary tokens (25.0%)" in said
    assert heard.done == (tmp_path / "text.txt").stat().st_size


def test_standard_input_and_iterables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"the cat\nthe dog\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    stream = prepare("-", min_count=1, text=SENTENCES)
    assert stream.n_sentences == 2
    texts = (text for text in ["the cat\nthe dog", "a bird"])
    stream = prepare(Texts(texts), min_count=1, text=SENTENCES)
    assert (stream.n_documents, stream.n_sentences) == (2, 3)


def test_a_vocabulary_can_be_given(tmp_path: Path) -> None:
    Vocabulary.of_counts({"dog": 7, "the": 3}).write(tmp_path / "words.txt")
    (tmp_path / "text.txt").write_text("the cat\nthe dog\n")
    stream = prepare(tmp_path / "text.txt", vocabulary=tmp_path / "words.txt", text=SENTENCES)
    assert stream.vocabulary.words == ["dog", "the"]
    assert stream.ids.tolist() == [1, 1, 0]


def test_groups(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a cat\ta feline\na dog\ta hound\tman's friend\n")
    stream = prepare(tmp_path / "pairs.tsv", min_count=1, text=TextSettings(kind="groups"))
    assert stream.kind == "groups"
    assert np.diff(stream.documents).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("content", "options", "error", "message"),
    [
        (b"", {}, InputError, "the text contains no words"),
        (b"\n\n \n", {}, InputError, "the text contains no words"),
        (
            b"one two\none\n",
            {"min_count": 5},
            InputError,
            r"no word occurs 5 times .most frequent: 'one', 2.; try a smaller",
        ),
        (b"a\n", {"min_count": 0}, SettingsError, "min_count is 0"),
        (b"a\n", {"max_words": -1}, SettingsError, "max_words is -1"),
        (b"a\n", {"threads": 0}, SettingsError, "threads is 0"),
        (b"a\n", {"vocabulary": "none.txt"}, InputError, "no file none.txt"),
    ],
)
def test_bad_input_leaves_nothing(
    tmp_path: Path, content: bytes, options: dict[str, object], error: type[Exception], message: str
) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(error, match=message):
        prepare(tmp_path / "text.txt", output=tmp_path / "stream", text=SENTENCES, **options)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_an_old_stream_survives_a_failure(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat " * 9)
    prepare(text, output=tmp_path / "stream", text=SENTENCES)
    before = folder_hash(tmp_path / "stream")
    text.write_text("?!")
    with pytest.raises(InputError, match="no word"):
        prepare(text, output=tmp_path / "stream", text=SENTENCES, restart=True)
    assert folder_hash(tmp_path / "stream") == before


def test_something_else_is_never_overwritten(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat " * 9)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("x")
    with pytest.raises(InputError, match="photos exists and is not a stream"):
        prepare(text, output=tmp_path / "photos", text=SENTENCES)
    with pytest.raises(InputError, match=r"text.txt exists and is not a stream"):
        prepare(text, output=text, text=SENTENCES)
    assert (tmp_path / "photos" / "me.jpg").read_text() == "x"


def test_other_files_next_to_a_stream_are_never_deleted(tmp_path: Path) -> None:
    text, folder = tmp_path / "text.txt", tmp_path / "stream"
    text.write_text("the cat " * 9)
    prepare(text, output=folder, text=SENTENCES)
    (folder / "thesis.txt").write_text("years of work")
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    text.write_text("the dog " * 9)
    for restart in (False, True):
        with pytest.raises(InputError, match="--restart" if not restart else r"\(model/config.json, thesis.txt\)"):
            prepare(text, output=folder, text=SENTENCES, restart=restart)
    assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_two_at_once_get_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat " * 9)
    with one_writer(tmp_path / "stream"), pytest.raises(InputError, match=r"another process is writing .*stream"):
        prepare(tmp_path / "text.txt", output=tmp_path / "stream", text=SENTENCES)
    prepare(tmp_path / "text.txt", output=tmp_path / "stream", text=SENTENCES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stream", "text.txt"]


@pytest.fixture
def stream_folder(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(some_text(500))
    prepare(tmp_path / "text.txt", output=tmp_path / "stream", text=SENTENCES)
    return tmp_path / "stream"


@pytest.mark.parametrize("name", ["ids.npy", "sentences.npy", "documents.npy", "vocabulary.txt", "stream.json"])
def test_damaged_streams_are_refused(stream_folder: Path, name: str) -> None:
    path = stream_folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError):
        Stream.load(stream_folder)
    path.unlink()
    with pytest.raises((FormatError, InputError)):
        Stream.load(stream_folder)


def test_other_versions_and_swapped_files_are_refused(stream_folder: Path) -> None:
    about = json.loads((stream_folder / "stream.json").read_text())
    (stream_folder / "stream.json").write_text(json.dumps(about | {"format_version": 99}))
    with pytest.raises(FormatError, match="stream format 99, but this version reads 1"):
        Stream.load(stream_folder)
    (stream_folder / "stream.json").write_text(json.dumps(about))
    (stream_folder / "ids.npy").write_bytes((stream_folder / "sentences.npy").read_bytes())
    with pytest.raises(FormatError, match=r"ids.npy holds int64"):
        Stream.load(stream_folder)
    with pytest.raises(InputError, match="no folder"):
        Stream.load(stream_folder / "none")
