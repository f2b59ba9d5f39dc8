"""Heavy load: a server under many connections, a pipe that closes early, many calls in a row, threads and forks.

python load.py SCALE        prints rows for results/reliability.md as JSON; an AssertionError says what did not hold
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from serve_world import running, toy_model  # noqa: E402 (next to this file)

TEXTS = [f"the cat plays music {'song ' * (i % 7)}" for i in range(500)]
ASK = b'{"input": ["the cat plays music", "a dog"]}'


def memory(process: int) -> int:
    """The memory of a process in bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


async def ask(port: int, times: list[float], codes: list[bytes]) -> None:
    """Sends one request on a new connection."""
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    writer.write(head + b"Content-Length: %d\r\n\r\n" % len(ASK) + ASK)
    answer = await reader.read()
    writer.close()
    times.append(time.perf_counter() - begun)
    codes.append(answer[9:12])


HEAD = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\n"
# What slow clients send first: half a head, nothing, or (rarely: it counts as a request) a head and half a body.
BEGINNINGS = [*[HEAD, b""] * 10, HEAD + b"Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n{"]


async def slow(port: int, end: float, number: int) -> None:
    """A client that sends a byte now and then, or nothing, and never finishes; it reconnects when disconnected."""
    begins = BEGINNINGS[number % len(BEGINNINGS)]
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begins)
            while time.monotonic() < end and not reader.at_eof():
                if begins:
                    writer.write(b"X")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(100), 2)
            writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def crowd(port: int, n_slow: int, seconds: float) -> tuple[list[float], list[bytes]]:
    """Slow clients that stay, and dozens of quick ones at a time, for a given time."""
    end = time.monotonic() + seconds
    lazy = [asyncio.create_task(slow(port, end, number)) for number in range(n_slow)]
    times: list[float] = []
    codes: list[bytes] = []
    while time.monotonic() < end:
        await asyncio.gather(*(ask(port, times, codes) for _ in range(32)))
    for task in lazy:
        task.cancel()
    return times, codes


def is_warm(url: str) -> bool:
    """Whether a server has loaded everything it will load."""
    with urllib.request.urlopen(f"{url}/health") as answer:
        return bool(json.load(answer)["is_warm"])


def serving(n_slow: int, seconds: float) -> list[Any]:
    """The server answers, and its memory stays constant."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        toy_model().save(Path(folder) / "m")
        # On a shared machine, a request may take longer than a server would usually wait.
        with running(Path(folder) / "m", "--max-seconds", "600") as server:
            asyncio.run(crowd(server.port, 2, min(seconds, 10)))
            while not is_warm(server.url):  # it loads its fast path, a hundred megabytes, in the background
                time.sleep(0.5)
            before = memory(server.process.pid)
            times, codes = asyncio.run(crowd(server.port, n_slow, seconds))
            grown = memory(server.process.pid) - before
    wrong = [code for code in codes if code != b"200"]
    assert not wrong, wrong[:5]
    assert grown < 100 << 20, f"{grown:,} bytes more"
    cuts = statistics.quantiles(times, n=100)
    return [
        "`serve`, a connection for each request, 32 at a time, beside slow clients that stay connected",
        f"{len(times):,} requests, {n_slow:,} slow clients, {seconds:.0f} s",
        f"all answered; p50 {1000 * cuts[49]:.0f} ms, p99 {1000 * cuts[98]:.0f} ms; "
        f"{max(grown, 0) >> 20} MB more memory",
    ]


def closing_pipe(n_lines: int) -> list[Any]:
    """`yes | encode - | head` ends at once, with exit code 0 and no traceback."""
    lines = f"{sys.executable} -c 'for i in range({n_lines}): print(i, chr(97) * 9)' 2>/dev/null"
    encode = f"{sys.executable} -m siamese_cbow encode - 2>ERROR"
    command = f'{lines} | {encode} | head -n 5 > /dev/null; echo "${{PIPESTATUS[1]}}"'
    with tempfile.TemporaryDirectory() as folder:
        error = Path(folder) / "err"
        begun = time.monotonic()
        run = subprocess.run(
            ["bash", "-c", command.replace("ERROR", str(error))], capture_output=True, text=True, check=True
        )
        text = error.read_text()
    assert run.stdout.strip() == "0", (run.stdout, text)
    assert "Traceback" not in text
    took = time.monotonic() - begun
    return ["`encode` into a pipe that closes after 5 lines", f"{n_lines:,} lines", f"exit code 0 after {took:.0f} s"]


def leaks(n_calls: int) -> list[Any]:
    """Memory after many calls is the same as after a few."""
    model = toy_model()

    def calls(n: int) -> None:
        for i in range(n):
            model.encode(TEXTS[i % 500])
            model.similarity("a cat", TEXTS[i % 500])
            if i % 500 == 0:
                model.neighbours("cat", 3)
                model.encode(TEXTS)

    model.encode(TEXTS * 200)  # enough text to load the kernels, once
    calls(n_calls // 10)
    before = memory(os.getpid())
    calls(n_calls)
    grown = memory(os.getpid()) - before
    assert grown < 30 << 20, f"{grown:,} bytes more"
    return ["calls of `encode` and `similarity`", f"{2 * n_calls:,} calls", f"{max(grown, 0) >> 20} MB more memory"]


def encoded(_: int = 0) -> bytes:
    """The vectors of all texts, as bytes."""
    return bytes(np.ascontiguousarray(toy_model().encode(TEXTS * 20)).tobytes())


def equal_bytes(n_threads: int) -> list[Any]:
    """Threads, tasks, forks and spawned processes give the same bytes."""
    model, expected = toy_model(), encoded()
    with ThreadPoolExecutor(n_threads) as pool:
        results = set(pool.map(lambda _: bytes(model.encode(TEXTS * 20).tobytes()), range(n_threads)))

    async def tasks() -> set[bytes]:
        return {
            bytes(v.tobytes())
            for v in await asyncio.gather(*(asyncio.to_thread(model.encode, TEXTS * 20) for _ in range(8)))
        }

    results |= asyncio.run(tasks())
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            results |= set(pool.map(encoded, range(2)))
    assert results == {expected}
    assert threading.active_count() < n_threads
    return ["threads, asyncio, fork and spawn", f"{n_threads} threads, 8 tasks, 4 processes", "equal bytes"]


def main(scale: float) -> dict[str, Any]:
    """Runs everything; scale 1 takes some minutes."""
    return {
        "rows": [
            serving(max(20, round(2000 * scale)), max(4, 150 * scale)),
            closing_pipe(max(10_000, round(10_000_000 * scale))),
            leaks(max(2000, round(100_000 * scale))),
            equal_bytes(64),
        ]
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(float(sys.argv[1]))) + "\n")
