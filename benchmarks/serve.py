"""Requests per second of `siamese-cbow serve`, against the same HTTP stack serving model2vec.

    python -m benchmarks.serve [--seconds N] [--rounds N] [--write]

Both servers are this project's application, limits included, on one core each; only the encoder differs: ours, or
model2vec's `encode` on the same vectors (it loads the folder that we save, and need not count tokens). Clients keep
their connections; the two servers take turns, and the best of equally many rounds counts. Then our server is stopped
several times while clients keep sending requests, and requests without a response are counted.

Both write JSON with orjson, which takes NumPy's float32 directly. That step is also measured alone because it bounds
the gain: a server that spent no time on anything else would be no faster.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.encode import DIM, N_WORDS, saved_model, sentences
from benchmarks.tables import arguments, best_of, machine, markdown, report
from siamese_cbow import load
from siamese_cbow.serve.app import build
from siamese_cbow.serve.bodies import json_response
from siamese_cbow.serve.middleware import Limits
from siamese_cbow.serve.registry import Embedder
from siamese_cbow.serve.server import listen, run

BATCH, CLIENTS, STOPS = 256, 8, 8
SYSTEMS = ["siamese-cbow", "model2vec"]


class Model2Vec(Embedder):
    """Our application's embedder with model2vec inside."""

    def __init__(self, folder: Path) -> None:
        from model2vec import StaticModel

        super().__init__(load(folder))
        self._static = StaticModel.from_pretrained(folder)
        self._one_at_a_time = threading.Lock()  # its tokenizer raises "Already borrowed" in a second thread

    def is_quick(self, n_characters: int) -> bool:
        return n_characters < 1_000  # about a millisecond, as with ours

    def texts(self, texts: Sequence[str], *, dim: int, normalize: bool) -> tuple[Any, int]:
        with self._one_at_a_time:
            return self._static.encode(list(texts)), 0  # a list with one text is as fast as the text alone


def serve(system: str, folder: Path) -> None:
    """Runs one server: the process that is measured."""
    embedder = Model2Vec(folder) if system == "model2vec" else Embedder(load(folder))
    if system == "siamese-cbow":
        embedder.warm()
    listening = listen("127.0.0.1", 0)
    print(listening.getsockname()[1], flush=True)
    run(build({"m": embedder}, warm=False), listening, Limits())


class Process:
    def __init__(self, system: str, folder: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.serve", "--serve", system, "--folder", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def cpu(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


async def ask(port: int, bodies: list[bytes], n_clients: int, seconds: float) -> tuple[list[float], int]:
    """How long each request took, and how many got no response. A refused connection doesn't count as lost."""
    requests = [
        b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (len(body), body)
        for body in bodies
    ]
    times: list[float] = []
    lost = 0
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal lost
        while time.perf_counter() < end:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            except ConnectionError:
                return
            keep = True
            try:
                while keep and time.perf_counter() < end:
                    number = (number + CLIENTS) % len(requests)
                    began = time.perf_counter()
                    writer.write(requests[number])
                    head = (await reader.readuntil(b"\r\n\r\n")).lower()
                    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                    times.append(time.perf_counter() - began)
                    assert head.startswith(b"http/1.1 200"), head
                    keep = b"connection: close" not in head
            except (ConnectionError, asyncio.IncompleteReadError):
                lost += 1
            finally:
                writer.close()

    await asyncio.gather(*(client(i) for i in range(n_clients)))
    return times, lost


def measure(servers: dict[str, Process], bodies: list[bytes], n_clients: int, options: argparse.Namespace) -> list[Any]:
    """The best round of each: requests/s, median and 99th percentile in ms, server CPU time per request in ms."""
    best: dict[str, tuple[float, ...]] = {}
    for _ in range(options.rounds):
        for name, server in servers.items():
            busy, began = server.cpu(), time.perf_counter()
            times, lost = asyncio.run(ask(server.port, bodies, n_clients, options.seconds))
            speed = len(times) / (time.perf_counter() - began)
            assert lost == 0
            middle, late = np.quantile(times, [0.5, 0.99]) * 1e3
            measured = (speed, middle, late, (server.cpu() - busy) / len(times) * 1e3)
            best[name] = max(best.get(name, measured), measured)
    return [best[name] for name in SYSTEMS]


def writing() -> float:
    """CPU milliseconds to write the vectors of one batch as JSON, and nothing else."""
    rows = np.random.default_rng(1).standard_normal((BATCH, DIM), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    answer = {"object": "list", "data": data, "model": "m"}
    return best_of(50, lambda: json_response(answer), time.process_time) * 1e3


def stops(folder: Path, bodies: list[bytes]) -> tuple[int, int]:
    """How many requests were answered, and how many lost, when the server is stopped STOPS times by SIGTERM."""
    answered = lost = 0

    async def stopped(server: Process) -> tuple[list[float], int]:
        asking = asyncio.create_task(ask(server.port, bodies, 4 * CLIENTS, 60))
        await asyncio.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        return await asking

    for _ in range(STOPS):
        server = Process("siamese-cbow", folder)
        times, missing = asyncio.run(stopped(server))
        server.process.wait()
        answered, lost = answered + len(times), lost + missing
    return answered, lost


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--serve", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.folder)
        return
    texts, words = sentences(BATCH * 32)
    batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
    loads = {
        "one sentence, 1 client": ([{"input": text} for text in texts[:512]], 1),
        f"one sentence, {CLIENTS} clients": ([{"input": text} for text in texts[:512]], CLIENTS),
        f"batches of {BATCH}, base64": ([{"input": batch, "encoding_format": "base64"} for batch in batches], 2),
        f"batches of {BATCH}, JSON numbers": ([{"input": batch} for batch in batches], 2),
    }
    before = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        saved_model(words, folder)
        with ExitStack() as running:
            servers = {name: running.enter_context(Process(name, folder)) for name in SYSTEMS}
            for title, (bodies, n_clients) in loads.items():
                measured = measure(servers, [json.dumps(body).encode() for body in bodies], n_clients, options)
                for name, (speed, middle, late, cpu) in zip(SYSTEMS, measured, strict=True):
                    ratio, thrift = speed / measured[1][0], measured[1][3] / cpu
                    rows.append([title, name, f"{speed:,.0f}", f"{ratio:.1f}x", f"{middle:.2f}", f"{late:.2f}"])
                    rows[-1] += [f"{cpu:.2f}", f"{thrift:.1f}x"]
            digits, (ours, theirs) = writing(), (float(row[6]) for row in rows[-2:])
        answered, lost = stops(folder, [json.dumps({"input": text}).encode() for text in texts[:512]])
    header = ["requests", "system", "requests/s", "ratio", "median ms", "p99 ms", "server CPU ms", "thrift"]
    page = (
        f"{machine('starlette', 'uvicorn', 'model2vec', 'numpy', 'numba')}; {N_WORDS:,} words, {DIM} dimensions, "
        f"sentences of 12 words; clients and servers share the cores. Load before and after: {before:.1f} and "
        f"{os.getloadavg()[0]:.1f}. Ratio: speed divided by model2vec's. Thrift: model2vec's CPU time divided by "
        "ours.\n\n"
        f"{markdown(header, rows)}\n\n"
        f"In either server, orjson takes {digits:.2f} ms of CPU time to write {BATCH} vectors as JSON numbers: "
        f"{digits / ours:.0%} of our time, {digits / theirs:.0%} of model2vec's. A server that spent no time on "
        f"anything else would have a thrift of {theirs / digits:.1f}x; without this writing, ours is "
        f"{(theirs - digits) / (ours - digits):.1f}x.\n\n"
        f"Stopped {STOPS} times by SIGTERM under the load of {4 * CLIENTS} clients: {answered:,} requests answered, "
        f"{lost} lost."
    )
    report("serve", "Serving vectors over HTTP", page, write=options.write)


if __name__ == "__main__":
    main()
