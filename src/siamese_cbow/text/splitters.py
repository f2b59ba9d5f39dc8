r"""Splits running text into sentences, in this process or, on all cores, in several.

    split_lines(b"Dr. Smith came. He sat down.\n", "en")   ->   b"Dr. Smith came. \nHe sat down.\n"

    with Splitters(2) as splitters:
        splitters.split(text, "en")   # the same as `split_lines`, in another process: sentencex holds the GIL

Running text is split by sentencex: of blingfire, pysbd and sentencex it gets the most of our hard cases right and is
the fastest (benchmarks/sentence_splitting.py; the table is in docs/text.md). What it needs from us:
- many paragraphs in one call (+20%), but not too many: above 10 KB it loses some of the breaks between them
- no endless paragraphs: its time is quadratic in a paragraph's length if there are no spaces
  (Chinese: 4,000 characters 5 ms, 64,000 characters 1.1 s) or many quotes
- no white space of several bytes before a full stop (`A\u00a0.`): sentencex 1.0 panics there
- a second pass over long sentences: sentencex keeps a quotation whole however long the speech is. Sentences of more
  than 300 characters are split again at clear ends, which halves the share of words in sentences of over 60 words in
  novels (22% -> 11% of all words) and costs 5% of the time

A process is started by its command line, not by a fork or `multiprocessing`: it copies no lock of a thread and does not
run the user's script again. It ends when its standard input does, so whatever ends this program, even `kill -9`, ends
it as well. If a process can't be started or is killed, its text is split here: processes change the time, never the
result. It imports this module alone, and nothing here needs NumPy, so it is ready after 0.05 s of work instead of 0.2.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, Self

_BREAK = "\n\n"  # the separator of paragraphs in sentencex's input and output
_BATCH = 1 << 13
_LONG = 10_000  # characters after which a paragraph is cut at the next clear sentence end
_LONG_WITHOUT_SPACES = 500
_LONG_SENTENCE = 300
# A mark after three letters (not "Dr. ", not "J. "), white space, and a letter that is not lower case; or a mark of a
# script without spaces. All marks come first in the pattern, because a set of letters is quick to search for.
_CLEAR_END = re.compile(
    r"""[.!?…。！？](?:(?<=[^\W\d_]{3}[.!?…])[.!?…]*["'”’»)\]]*\s+(?=["'“‘«(\[¿¡]*[^\W\d_a-z])"""
    r"""|(?<=[。！？])[”’」』）]*(?![。！？”’」』）]))"""
)
WIDE_SPACE = re.compile(rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)|\xe3\x80\x80")
# Starts with the full stop, which is quick to search for, and then looks back: 1.2 GB/s instead of 0.1.
_STOP_AFTER_WIDE_SPACE = re.compile(
    rb"\.(?:(?<=\xc2[\x85\xa0]\.)|(?<=\xe2\x80[\x80-\x8a\xa8\xa9\xaf]\.)|(?<=\xe2\x81\x9f\.)|(?<=\xe1\x9a\x80\.)"
    rb"|(?<=\xe3\x80\x80\.))"
)

FEW = 1  # texts that are split here before starting processes pays off
PACKAGE = Path(__file__).parents[2]
CODE = f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import answer; answer()"
_PIPE_BYTES = 1 << 20  # with the default of 64 KB, each block would take a hundred transfers

ParagraphEnd = Literal["\n", "\n\n"]


def split_lines(text: bytes, language: str, *, end: ParagraphEnd = "\n") -> tuple[bytes, int]:
    r"""One paragraph per line -> one sentence per line; `end` follows the last sentence of a paragraph. No empty lines.

    `b"It rains. We stay.\nYes.\n"` -> `b"It rains. \nWe stay.\nYes.\n"`; the number counts the places where a
    paragraph without a clear sentence end was so long that it was cut at white space. A sentence keeps the space that
    followed it: it does no harm, and stripping it would cost 15% of the time.
    """
    if not text.isascii() and _STOP_AFTER_WIDE_SPACE.search(text):
        text = WIDE_SPACE.sub(b" ", text)
    cuts: list[bool] = []
    text = _without_endless(text, cuts)
    # Decoded batch by batch: most batches are then plain ASCII, which Python handles far faster.
    return b"".join(_split(batch, language, end) for batch in _batches(text)), sum(cuts)


def _split(batch: bytes, language: str, end: str) -> bytes:
    text = batch.removesuffix(b"\n").replace(b"\n", _BREAK.encode()).decode()
    sentences = _segment(text, language)
    if sum(map(len, sentences)) != len(text):  # breaks were lost after all
        sentences = [part for line in text.split(_BREAK) for part in (*_segment(line, language), _BREAK)][:-1]
    if end == "\n":
        sentences = [sentence for sentence in sentences if sentence != _BREAK]
    else:
        sentences = [sentence if sentence != _BREAK else "" for sentence in sentences]
    lines = [line if len(line) <= _LONG_SENTENCE else _split_again(line) for line in sentences]
    return ("\n".join(lines) + end).encode()


def _batches(text: bytes) -> Iterator[bytes]:
    """Whole paragraphs, at most 8 KB together."""
    start = 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + _BATCH) + 1 or text.find(b"\n", start + _BATCH) + 1 or len(text)
        yield text[start:end]
        start = end


def _segment(text: str, language: str) -> list[str]:
    from sentencex import segment

    try:
        sentences: list[str] = segment(language, text)
        return sentences
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # from Rust; not an Exception, and can't be imported
            raise
    # No known input leads here; a simple rule for this batch is better than losing the whole run.
    return _CLEAR_END.sub(r"\g<0>\n", text).split("\n") if _BREAK not in text else []


def _split_again(sentence: str) -> str:
    # Half of the long sentences have no mark inside, and this test is four times as fast as the pattern. After an ASCII
    # mark there are at least white space and a letter.
    inside = sentence[:-2]
    if sentence.isascii() and "." not in inside and "!" not in inside and "?" not in inside:
        return sentence
    return _CLEAR_END.sub(r"\g<0>\n", sentence).removesuffix("\n")


def _without_endless(text: bytes, cuts: list[bool]) -> bytes:
    """Paragraphs too long for sentencex are cut at clear sentence ends; `cuts` receives True for each unclear one."""
    longest = 6 * _LONG_WITHOUT_SPACES  # bytes; one character may be three
    pieces: list[bytes] = []
    done = start = 0
    while len(text) - start > longest:
        start = text.rfind(b"\n", start, start + longest + 1) + 1 or start  # skips whole lines
        if text.find(b"\n", start, start + longest + 1) >= 0 or len(text) - start <= longest:
            continue
        end = text.find(b"\n", start) % (len(text) + 1)  # -1: the end of the text
        limit = _LONG_WITHOUT_SPACES if text.count(b" ", start, end) * 50 < end - start else _LONG
        if end - start > 2 * limit:
            pieces += (text[done:start], _cut(text[start:end].decode(), limit, cuts).encode())
            done = end
        start = end
    return b"".join((*pieces, text[done:])) if pieces else text


def _cut(text: str, limit: int, cuts: list[bool]) -> str:
    """The text in lines of `limit` to twice as many characters."""
    start = 0
    pieces: list[str] = []
    while len(text) - start > 2 * limit:
        last = start + 2 * limit
        clear = _CLEAR_END.search(text, start + limit, last)
        end = clear.end() if clear else text.rfind(" ", start + limit, last) + 1 or last
        pieces.append(text[start:end])
        cuts.append(clear is None)
        start = end
    return "\n".join((*pieces, text[start:]))


# The same in processes


class Splitters:
    """Up to `n` processes, started on demand; any thread may call `split`."""

    def __init__(self, n: int) -> None:
        self._lock = threading.Lock()
        self._n_left = n if n > 1 and Path(sys.executable or "").name.startswith("python") else 0
        self._n_texts = 0
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    @property
    def n_processes(self) -> int:
        """The number of processes started so far."""
        return len(self._all)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._all:
            process.kill()  # it has no work worth finishing
        for process in self._all:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            process.wait()

    def split(self, text: bytes, language: str, *, end: ParagraphEnd = "\n") -> tuple[bytes, int]:
        """The result of `split_lines`, from another process if one is free."""
        process = self._take()
        answer = _ask(process, text, language, end) if process else None
        if process and answer:
            with self._lock:
                self._idle.append(process)
        return answer or split_lines(text, language, end=end)

    def _take(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            self._n_texts += 1
            if self._n_texts <= FEW:
                return None
            while self._n_left:  # all at once: the others start while the first is busy
                self._n_left -= 1
                self._start()
            return self._idle.pop() if self._idle else None

    def _start(self) -> None:
        try:
            # In its own process group: Ctrl-C goes to this program, which then ends its processes.
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", CODE, str(PACKAGE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError:
            self._n_left = 0
            return
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError, AttributeError):  # Linux only, and limited per user
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # type: ignore[arg-type]
        self._all.append(process)
        self._idle.append(process)


def _ask(process: subprocess.Popen[bytes], text: bytes, language: str, end: str) -> tuple[bytes, int] | None:
    """The answer of a process; None if it fails."""
    assert process.stdin
    assert process.stdout
    try:
        _send(process.stdin, {"language": language, "end": end}, text)
        about, lines = _receive(process.stdout)
        return lines, int(about["n_cut"])
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def answer() -> None:
    """The loop of a process: text from standard input, lines to standard output, until the input ends."""
    with suppress(OSError, EOFError):
        while True:
            about, text = _receive(sys.stdin.buffer)
            lines, n_cut = split_lines(text, about["language"], end=about["end"])
            _send(sys.stdout.buffer, {"n_cut": n_cut}, lines)


def _send(pipe: IO[bytes], about: dict[str, Any], data: bytes) -> None:
    pipe.write(json.dumps({**about, "n_bytes": len(data)}).encode() + b"\n")
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    about = json.loads(pipe.readline() or "{}")
    n_bytes = about.pop("n_bytes", -1)
    data = pipe.read(n_bytes) if n_bytes >= 0 else b""
    if len(data) != n_bytes:
        raise EOFError
    return about, data
