"""Splitting in processes: the same as in this one for any text, and no process outlives its use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_cbow.stream.preparation import prepare
from siamese_cbow.text import splitters as module
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import MARK, RawBlock, TextSettings
from siamese_cbow.text.sentences import sentence_lines
from siamese_cbow.text.splitters import Splitters

BREAKS = ["\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", " ", "\u00a0."]
ENDS = ["Dr. A came. ", "Yes! ", "他来了。", '"No." ']
TEXT = st.lists(st.one_of(st.sampled_from(BREAKS), st.text(max_size=20), st.sampled_from(ENDS)))


@pytest.fixture(scope="module")
def processes() -> Iterator[Splitters]:
    """Two processes, used from the first block on."""
    with Splitters(2) as splitters:
        splitters._n_texts = module.FEW
        yield splitters


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=TEXT,
    layout=st.sampled_from(["paragraphs", "wrapped"]),
    boundary=st.sampled_from(["document", "paragraph"]),
    language=st.sampled_from(["en", "de", "zh", "xx"]),
    marked=st.booleans(),
    lone=st.booleans(),
)
def test_in_processes_as_in_this_one(
    processes: Splitters,
    monkeypatch: pytest.MonkeyPatch,
    parts: list[str],
    layout: str,
    boundary: str,
    language: str,
    marked: bool,
    lone: bool,
) -> None:
    data = "".join(parts).replace("\0", "").encode("utf-8", "replace") + (b"\xff\n" if lone else b"\n") + MARK
    block = RawBlock(data, "a\udc80.txt", layout, len(data), marked=marked)  # type: ignore[arg-type]
    text = TextSettings(boundary=boundary, language=language)  # type: ignore[arg-type]
    here = sentence_lines(block, text)
    with monkeypatch.context() as patch:
        patch.setattr(module, "split_lines", lambda *_, **__: pytest.fail("split in this process"))
        assert sentence_lines(block, text, processes.split) == here


def blocks(n: int) -> list[RawBlock]:
    return [RawBlock(f"Number {i} came. It sat.\n".encode() + MARK, "a.txt", "paragraphs", 1) for i in range(n)]


def test_each_block_gets_its_own_answer_from_any_thread(processes: Splitters) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda block: sentence_lines(block, TextSettings(), processes.split), blocks(60)))
    assert answers == [sentence_lines(block, TextSettings()) for block in blocks(60)]
    assert processes.n_processes == 2  # two of the four threads had none


def test_a_few_blocks_or_one_thread_start_no_process() -> None:
    with Splitters(2) as splitters:
        for block in blocks(module.FEW):
            sentence_lines(block, TextSettings(), splitters.split)
        lines = RawBlock(b"A line.\n", "a.txt", "sentences", 1)
        for _ in range(9):
            sentence_lines(lines, TextSettings(), splitters.split)
        assert splitters.n_processes == 0
    with Splitters(1) as splitters:
        for block in blocks(9):
            sentence_lines(block, TextSettings(), splitters.split)
        assert splitters.n_processes == 0


def test_a_process_that_is_killed_or_can_not_start_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [sentence_lines(block, TextSettings()) for block in blocks(9)]
    with Splitters(2) as splitters:
        answers = []
        for block in blocks(9):
            answers.append(sentence_lines(block, TextSettings(), splitters.split))
            for process in splitters._idle:
                process.kill()
        assert answers == expected
        assert splitters.n_processes == 2
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Splitters(2) as splitters:
        assert [sentence_lines(block, TextSettings(), splitters.split) for block in blocks(9)] == expected


def test_streams_of_any_number_of_threads_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [[f"Dr. A{i % 7} sat. Then b{i % 11} ran! Why did c{i % 5}?"] for i in range(2_000)]
    monkeypatch.setattr("siamese_cbow.text.inputs.BLOCK_BYTES", 4_000)
    started: list[int] = []
    leave = Splitters.__exit__

    def note(self: Splitters, *error: object) -> None:
        started.append(self.n_processes)
        leave(self, *error)  # type: ignore[arg-type]

    monkeypatch.setattr(Splitters, "__exit__", note)
    settings = TextSettings(layout="paragraphs")
    assert len(list(Corpus(text, settings).blocks())) > 12
    streams = [prepare(text, text=settings, threads=threads) for threads in (1, 2, 5)]
    assert len({stream.fingerprint for stream in streams}) == 1
    assert started[0] == 0
    assert started[1:] == [2, 5]


PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run under nohup
from siamese_cbow.text.splitters import Splitters
with Splitters(2) as splitters:
    splitters._n_texts = 9
    splitters.split(b"It rains. We stay.\\n", "en")
    print(splitters._all[0].pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_processes_end_with_the_program(number: int) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert program.stdout
    assert program.stdin
    process = int(program.stdout.readline())
    program.send_signal(number)
    program.wait(timeout=60)
    for pipe in (program.stdout, program.stdin):
        pipe.close()
    for _ in range(200):
        if not _runs(process):
            break
        time.sleep(0.05)
    assert not _runs(process)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_process_needs_nothing_but_the_splitter() -> None:
    """With NumPy, it would take four times as long to start."""
    code = module.CODE.replace("answer()", "print(*sys.modules)")
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, str(module.PACKAGE)], capture_output=True, text=True, check=True
    )
    assert "siamese_cbow.text.splitters" in run.stdout.split()
    assert not {"numpy", "numba", "pyarrow", "multiprocessing"} & set(run.stdout.split())
