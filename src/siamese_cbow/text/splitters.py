"""Processes that split running text into sentences: sentencex holds the GIL, so threads alone would take turns.

    with corpus.splitters(2) as splitters:
        splitters.lines(block)        # what `corpus.lines(block)` says, in another process

A process is started by its command line, not forked and not by `multiprocessing`: it copies no lock of a thread, and
it does not run the user's script once more. It ends when its standard input does, so whatever ends this program, also
`kill -9`, ends it as well. Where a process can't be started or is killed, its block is split here: a process changes
how long it takes, never the result.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from siamese_cbow.text.records import Lines, RawBlock, TextSettings
from siamese_cbow.text.sentences import sentence_lines

FEW = 2  # blocks that are split before a process is worth its 0.15 s
PACKAGE = Path(__file__).parents[2]
CODE = f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import answer; answer()"


class Splitters:
    """Splits blocks in up to `n` processes, which start when they are needed; `lines` may be called by any thread.

    split  what is done here with blocks of lines and groups, and where there is no process
    """

    def __init__(self, split: Callable[[RawBlock], Lines], settings: TextSettings, n: int) -> None:
        self._split, self._settings, self._lock = split, settings, threading.Lock()
        self._n_left = n if n > 1 and Path(sys.executable or "").name.startswith("python") else 0
        self._n_blocks = 0
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    @property
    def n_processes(self) -> int:
        """How many were started."""
        return len(self._all)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._all:
            process.kill()  # nothing it does is of any use to anybody else
        for process in self._all:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            process.wait()

    def lines(self, block: RawBlock) -> Lines:
        """The sentences of a block."""
        process = self._take() if block.layout in ("paragraphs", "wrapped") else None
        lines = _ask(process, block, self._settings) if process else None
        if process and lines:
            with self._lock:
                self._idle.append(process)
        return lines or self._split(block)

    def _take(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            self._n_blocks += 1
            if self._n_blocks <= FEW:
                return None
            if self._idle:
                return self._idle.pop()
            if not self._n_left:
                return None
            self._n_left -= 1
            try:
                # In a group of its own: Ctrl-C is for this program, which then ends its processes.
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", CODE, str(PACKAGE)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError:
                self._n_left = 0
                return None
            self._all.append(process)
            return process


def _ask(process: subprocess.Popen[bytes], block: RawBlock, settings: TextSettings) -> Lines | None:
    """What a process says of a block; None where it fails."""
    assert process.stdin
    assert process.stdout
    try:
        _send(process.stdin, {"block": _plain(block, "data"), "settings": _plain(settings)}, block.data)
        about, text = _receive(process.stdout)
        return Lines(text, **{**about, "short_at": tuple(about["short_at"])})
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def answer() -> None:
    """What a process does: blocks from standard input, lines to standard output, until the input ends."""
    with suppress(OSError, EOFError):
        while True:
            about, data = _receive(sys.stdin.buffer)
            lines = sentence_lines(RawBlock(data, **about["block"]), TextSettings(**about["settings"]))
            _send(sys.stdout.buffer, _plain(lines, "text"), lines.text)


def _plain(record: Any, without: str = "") -> dict[str, Any]:
    """The fields of a record, but for its bytes."""
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name != without}


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
