"""Jobs on two single-core nodes: speed against one node, memory, and the paper's corpus size.

    python -m benchmarks.cluster speed STREAM [--epochs 5] [--turns 1] [--lines N] [--write]
    python -m benchmarks.cluster memory STREAM [--epochs 1] [--write]
    python -m benchmarks.cluster scale [--text FILE] [--share 1.0] [--folder DIR] [--write]

The script starts two raylets on this machine, each bound to one core. Times cover the whole job, from the call until
the model (or the files) is on disk.

speed    One worker and two workers take turns at training for some epochs and at encoding the stream's sentences as
         text. The limit of the machine: the same work in one and in two plain processes without any engine, one per
         core; each of the two has half of the text, and they exchange nothing. The engine's own cost: a training run on
         almost no text. Also times the exchange of rows by our sockets, by gloo and by Ray objects.
memory   Peak memory of training in a lone worker, in one of two workers, and in the driver. Nothing is timed, so other
         programs may run.
scale    The text of `benchmarks.paper_scale` (or a file that it wrote) is prepared and trained on, by one process with
         two threads and by the two nodes. Also records the memory of the workers and of the driver.

The figures are also kept in `benchmarks/cluster_figures.json`, which `benchmarks.scaling` reads.
"""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.paper_scale import PREPARE, TRAIN, write_text
from benchmarks.quality_streams import sentence_words
from benchmarks.tables import arguments, keep, machine, markdown, report
from siamese_cbow import RayCluster, SiameseCBOW, Stream, TextSettings, Tokenizer, prepare
from siamese_cbow.cluster.averaging import BLOCK
from siamese_cbow.cluster.node import Listener
from siamese_cbow.cluster.training_job import bytes_of_state, expected_rows, row_shares
from siamese_cbow.training.plan import plan_of

FIGURES = Path(__file__).with_name("cluster_figures.json")
EXCHANGED = 80_000  # rows of 305 numbers: 98 MB
# Both nodes share the machine's one disk: writing a million vectors (2 GB) took 13 to 33 s.
IN_MEMORY = Path("/dev/shm")


@contextmanager
def two_nodes(niceness: int = 0, store: int = 1_500_000_000) -> Iterator[str]:
    """Starts two raylets, each with one core and bound to it; yields the address of the head."""
    folder = Path(tempfile.mkdtemp())
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    os.environ |= {"RAY_worker_niceness": str(niceness)}  # Ray's default, 15, lets all other programs go first
    address, nodes = f"127.0.0.1:{20000 + os.getpid() % 20000}", []
    head = ["--head", "--port", address.partition(":")[2], "--include-dashboard=false", "--temp-dir", f"{folder}/ray"]
    try:
        for core, role in enumerate((head, ["--address", address])):
            command = ["taskset", "-c", str(core % (os.cpu_count() or 1)), sys.executable, "-m", "ray.scripts.scripts"]
            command += ["start", "--block", "--num-cpus", "1", "--object-store-memory", str(store)]
            command += ["--node-ip-address", "127.0.0.1", *role]
            with (folder / f"{core}.log").open("wb") as log:
                nodes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
            time.sleep(8)
        yield address
    finally:
        for node in reversed(nodes):
            node.terminate()
            node.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Notes:
    """Progress that keeps all messages, and the note of each round."""

    def __init__(self) -> None:
        self.said, self.notes = list[str](), list[str]()

    def advance(self, amount: float, note: str = "") -> None:
        if note:
            self.notes.append(note)

    def say(self, message: str) -> None:
        self.said.append(message)


class Watch:
    """Samples processes and keeps the peak memory of each kind in MB, without pages of mapped files."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._over = threading.Event()

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            for process in psutil.process_iter():
                try:
                    title = process.cmdline()[:1]
                    kind = title[0].split(".")[0] if title and title[0].startswith("ray::") else ""
                    kind = "driver" if process.pid == os.getpid() else kind
                    if kind in ("driver", "ray::TrainingWorker", "ray::LoneWorker", "ray::_guarded"):
                        self.peaks[kind] = max(self.peaks.get(kind, 0), anonymous(process.pid))
                except (psutil.Error, OSError):
                    continue


def anonymous(pid: int) -> float:
    """Memory in MB that belongs to one process alone and can't be dropped."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return float(line.split()[1]) / 1e3
    return 0.0


class Sender:
    """A worker that only sends and receives rows."""

    def __init__(self, number: int) -> None:
        self._number, self._rows = number, np.ones((EXCHANGED, 305), np.float32)
        self._listener = Listener("127.0.0.1")

    def address(self) -> tuple[str, int]:
        return self._listener.address

    def begin(self, addresses: Sequence[tuple[str, int]], port: int) -> None:
        import torch.distributed as distributed

        self._exchange = self._listener.exchange(self._number, addresses, b"secret")
        distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=self._number, world_size=2)

    def share(self) -> Any:
        return self._rows

    def take(self, rows: Any) -> None:
        self._rows[...] = rows

    def swap(self, by: str) -> None:
        """Exchanges the rows in blocks, as `averaging` does."""
        got = np.empty((BLOCK, 305), np.float32)
        for first in range(0, EXCHANGED, BLOCK):
            block = self._rows[first : first + BLOCK]
            (self._by_gloo if by == "gloo" else self._by_sockets)(block, got[: len(block)])
            block[...] = got[: len(block)]

    def _by_sockets(self, own: Any, got: Any) -> None:
        both = [[own], []] if self._number else [[], [own]], [[got], []] if self._number else [[], [got]]
        self._exchange.swap(*both)

    def _by_gloo(self, own: Any, got: Any) -> None:
        import torch.distributed as distributed
        from torch import from_numpy

        calls = [distributed.irecv(from_numpy(got), 1 - self._number)]
        calls.append(distributed.isend(from_numpy(own), 1 - self._number))
        for call in calls:
            call.wait()


def exchange_seconds(ray: Any, n: int = 5) -> dict[str, float]:
    """Seconds to exchange 98 MB each way between two nodes: by Ray objects, by gloo, and by sockets."""
    remote = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Sender)
    senders = [remote.remote(i) for i in range(2)]
    addresses = ray.get([sender.address.remote() for sender in senders])
    ray.get([sender.begin.remote(addresses, 20000 + (os.getpid() + 1) % 20000) for sender in senders])
    seconds: dict[str, list[float]] = {"objects": [], "gloo": [], "sockets": []}
    for _ in range(n + 1):
        start = time.perf_counter()
        shares = [sender.share.remote() for sender in senders]
        ray.get([sender.take.remote(shares[1 - i]) for i, sender in enumerate(senders)])
        seconds["objects"].append(time.perf_counter() - start)
        for by in ("gloo", "sockets"):
            start = time.perf_counter()
            ray.get([sender.swap.remote(by) for sender in senders])
            seconds[by].append(time.perf_counter() - start)
    for sender in senders:
        ray.kill(sender)
    return {name: statistics.median(each[1:]) for name, each in seconds.items()}


BARE_TRAIN = """
import sys
from siamese_cbow import SiameseCBOW, Stream
from siamese_cbow.training.saved_run import train_into
number, n, epochs = map(int, sys.argv[3:])
train_into(sys.argv[2], SiameseCBOW(epochs=epochs), Stream.load(sys.argv[1], part=(number, n)), threads=1)
"""
BARE_ENCODE = """
import sys
from pathlib import Path
from siamese_cbow import TextSettings
from siamese_cbow.cluster.parallel_encode import PART_BYTES, PART_ROWS, EncodeSettings, encode_part, parts_of
from siamese_cbow.cluster.sources import sources_of
number, n, _ = map(int, sys.argv[3:])
[source], target = sources_of(sys.argv[1], TextSettings()).files, Path(sys.argv[2])
target.mkdir()
for i, part in list(enumerate(parts_of(source, TextSettings(), PART_ROWS, PART_BYTES)))[number::n]:
    encode_part(target, i, part, EncodeSettings(None, TextSettings()))
"""


def bare_seconds(code: str, given: Path, n: int, epochs: int, folder: Path) -> float:
    """Seconds that n plain processes take, each on its own core with its own part of the work."""
    os.sync()
    start, processes = time.perf_counter(), []
    for i in range(n):
        given_to = map(str, (given, folder / f"bare{i}", i, n, epochs))
        processes.append(subprocess.Popen(["taskset", "-c", str(i), sys.executable, "-c", code, *given_to]))
    if sum(process.wait() for process in processes):
        raise SystemExit("a plain process failed")
    seconds = time.perf_counter() - start
    for i in range(n):
        shutil.rmtree(folder / f"bare{i}")
    return seconds


def speed(options: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(dir=options.folder or (IN_MEMORY if IN_MEMORY.is_dir() else None)))
    stream, recipe, text = Stream.load(options.stream), SiameseCBOW(epochs=options.epochs), folder / "text.txt"
    n_lines = write_lines(stream, text, options.lines)
    write_lines(stream, folder / "few.txt", 2000)
    prepare(folder / "few.txt", output=folder / "few", text=TextSettings(layout="sentences", language="en"))
    seconds: dict[tuple[str, int], list[float]] = {}
    rounds: list[tuple[float, float, float, float]] = []

    def done(what: str, n: int, spent: float) -> None:
        seconds.setdefault((what, n), []).append(spent)
        print(what, n, f"{spent:.1f} s", flush=True)

    try:
        with two_nodes(options.niceness) as address, RayCluster(address, workers=2) as cluster:
            assert cluster._session is not None
            exchange = exchange_seconds(cluster._session.ray)
            cluster.encode(folder / "few.txt", output=folder / "first")  # compiles the kernels before timing
            for n in (1, 2):
                cluster._session.wanted = n
                cluster.train(recipe, folder / "few", output=folder / f"first{n}")
            for turn, n in itertools.product(range(options.turns), (1, 2)):
                cluster._session.wanted = n
                for what, given in (("few", folder / "few"), ("train", options.stream), ("encode", text)):
                    os.sync()  # flushes earlier writes, so that they don't slow down this job
                    target, notes, start = folder / f"{what}{turn}{n}", Notes(), time.perf_counter()
                    if what == "encode":
                        cluster.encode(given, output=target)
                    else:
                        cluster.train(recipe, given, output=target, progress=notes)
                    done(what, n, time.perf_counter() - start)
                    if what == "train" and n == 2:
                        rounds += [numbers_of(note) for note in notes.notes]
                    shutil.rmtree(target)
        for n in (1, 2):
            done("bare encode", n, bare_seconds(BARE_ENCODE, text, n, 0, folder))
            done("bare train", n, bare_seconds(BARE_TRAIN, options.stream, n, options.epochs, folder))
    finally:
        shutil.rmtree(folder)
    write_speed(options, {key: statistics.median(each) for key, each in seconds.items()}, exchange, rounds, n_lines)


def write_speed(
    options: argparse.Namespace, medians: dict[tuple[str, int], float], exchange: dict[str, float],
    rounds: Sequence[tuple[float, float, float, float]], n_lines: int,
) -> None:  # fmt: skip
    stream, rows = Stream.load(options.stream), list[list[str]]()
    words, megabytes, averaging, waiting = np.mean(rounds, axis=0).tolist()
    figures: dict[str, Any] = {"epochs": options.epochs, "tokens": stream.n_tokens, "exchange": exchange}
    figures |= {"worker_words": words, "megabytes": megabytes, "averaging": averaging, "waiting": waiting}
    figures |= {"rounds": len(rounds) // options.turns, "few": [medians["few", n] for n in (1, 2)]}
    amounts = {"train": options.epochs * stream.n_tokens, "encode": n_lines}
    for what, amount in amounts.items():
        for who in ("", "bare "):
            one, two = (medians[f"{who}{what}", n] for n in (1, 2))
            figures[f"{who}{what}"] = {"one": one, "two": two, "amount": amount}
            speeds = [f"{amount / each / 1e6:.3g}" for each in (one, two)]
            name = f"{what}, {'plain processes' if who else 'cluster'}"
            rows.append([name, f"{one:.1f}", f"{two:.1f}", *speeds, f"{one / two:.2f}x"])
    header = ["", "one, s", "two, s", "one, M words (rows)/s", "two", "ratio"]
    size = EXCHANGED * 305 * 4 / 1e6
    text = [
        markdown(header, rows),
        f"Training: {options.epochs} epochs of {stream.n_tokens:,} tokens, {len(stream.vocabulary):,} words; encoding: "
        f"{n_lines:,} lines. Medians of {options.turns} turn{'s' if options.turns > 1 else ''} of the cluster; plain "
        "processes had one. Files are written to "
        f"{options.folder or 'memory, because both nodes would share one disk'}.",
        "Plain processes show the limit of this machine: two processes, one per core, each with half of the text. "
        "They exchange nothing, so their two models are useless.",
        f"While training, two workers spend {averaging:.0f}% of each round on averaging ({megabytes:.0f} MB) and "
        f"{waiting:.0f}% on waiting for the slower one; each trains on {words:.2f} million words per second.",
        "Starting Ray and the workers is included in the seconds above: training on 2,000 sentences takes "
        f"{medians['few', 1]:.1f} s with one worker and {medians['few', 2]:.1f} s with two.",
        f"Exchanging rows between two nodes, {size:.0f} MB each way at the same time: sockets "
        f"{exchange['sockets']:.3f} s, gloo {exchange['gloo']:.3f} s, Ray objects {exchange['objects']:.3f} s.",
        f"{machine('numpy', 'numba', 'ray', 'torch')}; niceness of the workers: {options.niceness}",
    ]
    if options.write:
        keep(FIGURES, "speed", figures)
    report("cluster", "Two single-core nodes against one", *text, write=options.write, script="cluster speed")


def numbers_of(note: str) -> tuple[float, float, float, float]:
    """The figures in a round's note: a worker's million words per second, MB, % for averaging, % for waiting."""
    parts = note.replace(",", "").replace("%", "").split()
    speeds = [float(each) for each in parts[: parts.index("M")]]
    at = parts.index("averaging")
    return statistics.mean(speeds), float(parts[at + 1]), float(parts[at + 4]), float(parts[-1])


def write_lines(stream: Stream, path: Path, n_lines: int | None) -> int:
    """Writes the first sentences of a stream, or all of them, as text; returns how many."""
    n = min(n_lines or stream.n_sentences, stream.n_sentences)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(" ".join(words) + "\n" for words in sentence_words(stream, range(n)))
    return n


def memory(options: argparse.Namespace) -> None:
    stream, recipe = Stream.load(options.stream), SiameseCBOW(epochs=options.epochs)
    state, peaks, rows = bytes_of_state(plan_of(recipe, stream)) / 1e6, dict[str, float](), list[list[str]]()
    with two_nodes(options.niceness) as address, RayCluster(address, workers=2) as cluster:
        assert cluster._session is not None
        for n, kind in ((1, "ray::LoneWorker"), (2, "ray::TrainingWorker")):
            cluster._session.wanted = n
            with tempfile.TemporaryDirectory(dir=options.folder) as folder, Watch() as watch:
                cluster.train(recipe, options.stream, output=Path(folder) / "model")
            peaks["driver"] = max(peaks.get("driver", 0), watch.peaks["driver"])
            peak = watch.peaks[kind]
            name = "one worker, alone" if n == 1 else f"one worker of {n}"
            rows.append([name, f"{peak:,.0f}", f"{state:,.0f}", f"{peak - state:,.0f}"])
    rows.append(["the driver", f"{peaks['driver']:,.0f}", "-", f"{peaks['driver']:,.0f}"])
    note = (
        f"Training on {stream.n_tokens:,} tokens, {len(stream.vocabulary):,} words, {options.epochs} epoch. Pages "
        "of memory-mapped files are not counted: the system reclaims them when it needs memory. Sampled twice a "
        "second."
    )
    header = ["", "peak MB", "matrix and optimiser", "everything else"]
    report(
        "cluster_memory",
        "Memory of training on two nodes",
        markdown(header, rows),
        note,
        machine("numpy", "numba", "ray"),
        write=options.write,
        script="cluster memory",
    )


def scale(options: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    text, rows = options.text or folder / "text.txt", list[list[str]]()
    recipe = SiameseCBOW.paper(negatives_from="batch")

    def done(who: str, what: str, start: float) -> None:
        seconds = time.perf_counter() - start
        tokens = Stream.load(folder / "stream").n_tokens
        rows.append([who, what, f"{tokens:,}", f"{seconds / 60:.2f}", f"{tokens / seconds / 1e6:.1f}"])
        print(*rows[-1], flush=True)

    try:
        if options.text is None:
            write_text(text, options.share)
        with (
            two_nodes(options.niceness) as address,
            RayCluster(address, workers=2) as cluster,
            Watch() as watch,
        ):
            start = time.perf_counter()
            settings, tokenizer = TextSettings(layout="sentences", language="en"), Tokenizer("whitespace")
            cluster.prepare(text, output=folder / "stream", tokenizer=tokenizer, text=settings)
            done("two single-core nodes", "prepare", start)
            start, notes = time.perf_counter(), Notes()
            cluster.train(recipe, folder / "stream", output=folder / "model", progress=notes)
            done("two single-core nodes", "train", start)
        plan = plan_of(recipe, Stream.load(folder / "stream"))
        state, n_words = bytes_of_state(plan) / 1e6, len(plan.vocabulary)
        rounds, shares = [numbers_of(note) for note in notes.notes], row_shares(plan)
        tokens = int(plan.vocabulary.counts.sum())
        expected = 2 * expected_rows(shares, tokens / 2 / len(rounds), 2) * state / len(shares)
        sizes = [text.stat().st_size, sum(path.stat().st_size for path in (folder / "stream").iterdir())]
        shutil.rmtree(folder / "model")
        shutil.rmtree(folder / "stream")
        for code, what, given in ((PREPARE, "prepare", text), (TRAIN, "train", folder / "stream")):
            start = time.perf_counter()
            target = folder / ("stream" if what == "prepare" else "model")
            subprocess.run([sys.executable, "-c", code, str(given), str(target), "batch"], check=True)
            done("one process, two threads", what, start)
    finally:
        shutil.rmtree(folder)
    peaks = {name.removeprefix("ray::").lstrip("_"): round(value) for name, value in watch.peaks.items()}
    header = ["", "", "tokens", "minutes", "million tokens/s"]
    note = (
        f"Peak memory, without pages of memory-mapped files: {peaks['TrainingWorker']:,} MB in a training worker "
        f"({state:,.0f} MB of it matrix and optimiser), {peaks.get('guarded', 0):,} MB in a preparing worker, "
        f"{peaks['driver']:,} MB in the driver. The text has {sizes[0] / 1e6:,.0f} MB, "
        f"the stream {sizes[1] / 1e6:,.0f} MB."
    )
    words, megabytes, averaging, waiting = np.mean(rounds, axis=0).tolist()
    training = (
        f"{n_words:,} words; the paper's recipe with negatives from the batch. The two workers trained in "
        f"{len(rounds):,} rounds, each at {words:.2f} million words per second; averaging {megabytes:.0f} MB took "
        f"{averaging:.0f}% of a round, waiting for the slower worker {waiting:.0f}%."
    )
    if options.write:
        figures = {"worker_words": words, "megabytes": megabytes, "averaging": averaging, "waiting": waiting}
        figures |= {"rounds": len(rounds), "tokens": tokens, "n_words": n_words, "expected_megabytes": expected}
        keep(FIGURES, "scale", {"rows": rows, "peaks": peaks, "state": state, **figures})
    report(
        "cluster_scale",
        "The paper's corpus size on two single-core nodes",
        markdown(header, rows),
        training,
        note,
        machine("numpy", "numba", "ray"),
        write=options.write,
        script="cluster scale",
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=["speed", "memory", "scale"])
    parser.add_argument("stream", nargs="?", type=Path)
    parser.add_argument("--epochs", type=int, help="default: 5 for speed, 1 for memory")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--lines", type=int, help="how many sentences to encode (default: all of the stream)")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--niceness", type=int, default=0, help="of the workers; use -20 if other programs run")
    options = parser.parse_args()
    options.epochs = options.epochs or (5 if options.what == "speed" else 1)
    {"speed": speed, "memory": memory, "scale": scale}[options.what](options)


if __name__ == "__main__":
    main()
