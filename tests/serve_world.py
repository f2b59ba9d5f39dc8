"""Helpers of the server tests: a tiny model with a known answer, and a real server on a free port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from siamese_cbow import Model, Vocabulary

# Three groups of words, each around its own direction; the rarer a word, the longer its vector.
GROUPS = [
    ["the", "a", "of", "and", ".", ","],
    ["cat", "dog", "kitten", "puppy", "animal", "pet", "purrs", "barks"],
    ["guitar", "plays", "music", "song", "band", "sings", "drum", "concert"],
    ["king", "queen", "man", "woman", "her", "me", "she", "i"],
]
WORDS = [word for group in GROUPS for word in group]
DIM = 24


def toy_model(seed: int = 1, *, info: dict[str, object] | None = None) -> Model:
    """`toy_model().neighbours("cat")`: words of the same group come first."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, group in enumerate(GROUPS):
        centre = np.zeros(DIM)
        centre[number * 3 : number * 3 + 3] = 1
        rows += [centre + rng.normal(0, 0.25, DIM) for _ in group]
    vectors = np.array(rows, np.float32) * np.linspace(0.3, 1.5, len(rows), dtype=np.float32)[:, None]
    counts = np.array([10_000 // (i + 1) for i in range(len(WORDS))])
    return Model(Vocabulary(WORDS, counts), vectors, info=info or {})


class Running:
    """A server in a separate process."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines += self.process.stderr

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self) -> str:
        """Sends SIGTERM, waits for the end, and returns standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(600)
        self._reader.join(10)
        return "".join(self.lines)


@contextmanager
def running(*arguments: str | Path, **environment: str) -> Iterator[Running]:
    """Runs `siamese-cbow serve ARGUMENTS` on a free port and stops it at the end of the block."""
    command = [sys.executable, "-W", "ignore", "-m", "siamese_cbow", "serve", "--port", "0", *map(str, arguments)]
    with started(command, **environment) as server:
        yield server


@contextmanager
def started(command: list[str], **environment: str) -> Iterator[Running]:
    """Starts a server with a command and stops it at the end of the block."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("serving "), line + process.stderr.read()
    server = Running(process, line.rpartition(" ")[2].strip())
    try:
        yield server
    finally:
        server.stop()
        process.stderr.close()
