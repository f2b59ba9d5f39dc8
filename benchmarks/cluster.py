"""Training on a cluster: quality against the number of workers, speed of two nodes, and the paper's corpus size.

    python -m benchmarks.cluster quality STREAM --sts DIR [--runs 1 2,256 4,128 8,64] [--write]
    python -m benchmarks.cluster speed STREAM [--rounds 3] [--write]
    python -m benchmarks.cluster scale [--share 1.0] [--folder DIR] [--write]

quality  workers of a job, asked one after the other in this process: `tests/cluster` holds their result to be that of
         a cluster, byte for byte. A run is workers,batches between two averagings[,mean or sum instead of our rule].
speed    two raylets on this machine, each bound to one core; one worker and two take turns. Words a second end to end,
         from the call to the model (or the files) on disk; the median of the rounds.
scale    the text of `benchmarks.paper_scale` through prepare and train on the same two raylets.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper_scale import write_text
from benchmarks.scoring import mean_pearson
from benchmarks.tables import machine, markdown, report
from siamese_cbow import RayCluster, SiameseCBOW, Stream, TextSettings, Tokenizer, evaluate, sts
from siamese_cbow.cluster import averaging
from siamese_cbow.cluster.training_job import TrainingJob
from siamese_cbow.cluster.training_worker import TrainingWorker
from siamese_cbow.training.loop import Run
from siamese_cbow.training.plan import plan_of

RULES = ("adagrad", "sum", "mean")


def use_rule(rule: str) -> None:
    """Another way to make one row of several, to compare with."""
    ours = averaging._merged

    def mean(name: str, before: Any, shares: Any, places: Any) -> Any:
        if name.endswith(".first"):
            return ours(name, before, shares, places)
        total, n = np.zeros_like(before[name]), np.zeros((before[name].shape[1], 1), np.float32)
        for share, place in zip(shares, places, strict=True):
            total[:, place] += share.arrays[name]
            n[place] += 1
        return total / n

    if rule == "sum":
        averaging._scales = lambda seen, before, shares, places: [np.float32(1)] * len(shares)  # type: ignore[assignment]
    elif rule == "mean":
        averaging._merged = mean  # type: ignore[assignment]


def trained(stream: Path, n_workers: int, every: int, seed: int, threads: int) -> tuple[Any, int, float]:
    """The model, its rounds, and the megabytes that a worker sends after each."""
    recipe = SiameseCBOW(seed=seed)
    if n_workers == 1:
        return recipe.train(Stream.load(stream), threads=threads), 0, 0.0
    job = TrainingJob(recipe, (str(stream),), (1.0,), {}, str(stream / "none"), n_workers, every, threads)
    workers = [TrainingWorker(job, i) for i in range(n_workers)]
    n_rounds, sent = -(-max(worker.begin()[1] for worker in workers) // every), 0
    for number in range(1, n_rounds + 1):
        for worker in workers:
            worker.advance(number, n_rounds)
        shares = [[worker.share(owner) for owner in range(n_workers)] for worker in workers]
        sent += sum(array.nbytes for own in shares for share in own for array in share.arrays.values())
        merged = [worker.merge(*(own[i] for own in shares)) for i, worker in enumerate(workers)]
        for worker in workers:
            worker.take(*merged)
    run = Run(plan_of(recipe, Stream.load(stream)), workers[0]._trainer.run.state)
    return run.model(), n_rounds, sent / n_rounds / n_workers / 1e6


def quality(options: argparse.Namespace) -> None:
    """Each run in a process of its own, so that memory and rules don't mix."""
    if options.one:
        n_workers, every, rule = options.one.split(",")
        use_rule(rule)
        model, n_rounds, megabytes = trained(options.stream, int(n_workers), int(every), options.seed, options.threads)
        scores = evaluate(model, sts(options.sts)).sets
        print(f"{mean_pearson(scores):.4f} {mean_pearson(scores, 2012, 2013):.4f} {n_rounds} {megabytes:.0f}")
        return
    rows, first = [], None
    for run in options.runs:
        n_workers, every, rule = (*run.split(","), "", "")[:3]
        one = f"{n_workers},{every or 1},{rule or RULES[0]}"
        command = [sys.executable, "-m", "benchmarks.cluster", "quality", options.stream, "--sts", options.sts]
        command += ["--one", one, "--seed", options.seed, "--threads", options.threads]
        done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        score, chosen_on, n_rounds, megabytes = done.stdout.split()[-4:]
        first = first or float(score)
        rows.append(
            [
                n_workers,
                every or "-",
                rule or RULES[0],
                n_rounds,
                megabytes,
                score,
                f"{float(score) - first:+.4f}",
                chosen_on,
            ]
        )
        print(*rows[-1], flush=True)
    header = [
        "workers",
        "batches",
        "rule",
        "rounds",
        "MB sent by a worker",
        "Pearson, 19 sets",
        "against one",
        "2012-2013",
    ]
    note = (
        f"{Stream.load(options.stream).n_tokens:,} tokens, one epoch; batches of a worker between two averagings, by "
        "default 512 / workers."
    )
    report(
        "cluster",
        "Quality against the number of workers",
        "\n\n".join([markdown(header, rows), note, machine("numpy", "ray")]),
        write=options.write,
    )


@contextmanager
def two_nodes(store: int = 1_500_000_000) -> Iterator[str]:
    """Two raylets of one core each, bound to it; the address of the head."""
    folder = Path(tempfile.mkdtemp())
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    address, nodes = f"127.0.0.1:{20000 + os.getpid() % 20000}", []
    try:
        for core, role in enumerate(("--head", "--address")):
            place = [
                "--port",
                address.partition(":")[2],
                "--include-dashboard=false",
                "--temp-dir",
                str(folder / "ray"),
            ]
            command = ["taskset", "-c", str(core % (os.cpu_count() or 1)), sys.executable, "-m", "ray.scripts.scripts"]
            command += ["start", "--block", "--num-cpus", "1", "--object-store-memory", str(store)]
            command += ["--node-ip-address", "127.0.0.1", role, *(place if core == 0 else [address])]
            with (folder / f"{core}.log").open("wb") as log:
                nodes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
            time.sleep(15)
        yield address
    finally:
        for node in reversed(nodes):
            node.terminate()
            node.wait()
        shutil.rmtree(folder, ignore_errors=True)


class Notes:
    """Keeps what is said, and the last note."""

    def __init__(self) -> None:
        self.said, self.note = list[str](), ""

    def advance(self, amount: float, note: str = "") -> None:
        self.note = note or self.note

    def say(self, message: str) -> None:
        self.said.append(message)


def speed(options: argparse.Namespace) -> None:
    stream, folder = Stream.load(options.stream), Path(tempfile.mkdtemp(dir=options.folder))
    text = folder / "text.txt"
    n_lines = write_lines(stream, text, options.lines)
    seconds: dict[tuple[str, int], list[float]] = {}
    notes = Notes()
    with two_nodes() as address, RayCluster(address) as cluster:
        for turn in range(options.rounds + 1):  # the first one compiles and warms up
            for n in (1, 2):
                cluster._session.wanted = n  # type: ignore[union-attr]
                for what in ("train", "encode"):
                    target = folder / f"{what}{turn}{n}"
                    start = time.perf_counter()
                    if what == "train":
                        cluster.train(SiameseCBOW(), options.stream, output=target, progress=notes)
                    else:
                        cluster.encode(text, output=target)
                    if turn:
                        seconds.setdefault((what, n), []).append(time.perf_counter() - start)
                    shutil.rmtree(target)
    shutil.rmtree(folder)
    rows = []
    for what, amount in (("train", stream.n_tokens), ("encode", n_lines)):
        one, two = (statistics.median(seconds[what, n]) for n in (1, 2))
        rows.append([what, f"{amount / one:,.0f}", f"{amount / two:,.0f}", f"{one / two:.2f}x"])
    header = ["", "one worker, words (rows) a second", "two workers", "ratio"]
    said = "The last round of two workers: " + notes.note
    report(
        "cluster_speed",
        "Two nodes of one core against one",
        "\n\n".join([markdown(header, rows), said, machine("numpy", "ray")]),
        write=options.write,
    )


def write_lines(stream: Stream, path: Path, n_lines: int) -> int:
    """The first sentences of a stream as text."""
    words, n = stream.vocabulary.words, min(n_lines, stream.n_sentences)
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            file.write(" ".join(words[w] for w in stream.ids[stream.sentences[i] : stream.sentences[i + 1]]) + "\n")
    return n


def scale(options: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    rows = []
    try:
        n_tokens = write_text(folder / "text.txt", options.share)
        with two_nodes() as address, RayCluster(address, workers=2) as cluster:
            start = time.perf_counter()
            settings = TextSettings(layout="sentences", language="en")
            cluster.prepare(
                folder / "text.txt", output=folder / "stream", tokenizer=Tokenizer("whitespace"), text=settings
            )
            prepared = time.perf_counter()
            recipe, notes = SiameseCBOW.paper(negatives_from="batch"), Notes()
            cluster.train(recipe, folder / "stream", output=folder / "model", progress=notes)
            for what, seconds in (("prepare", prepared - start), ("train", time.perf_counter() - prepared)):
                rows.append([what, f"{n_tokens:,}", f"{seconds / 60:.2f}", f"{n_tokens / seconds / 1e6:.1f}"])
    finally:
        shutil.rmtree(folder)
    header = ["", "tokens", "minutes", "million tokens/s"]
    report(
        "cluster_scale",
        "The paper's corpus size on two nodes of one core",
        "\n\n".join([markdown(header, rows), machine("numpy", "ray")]),
        write=options.write,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "speed", "scale"])
    parser.add_argument("stream", nargs="?", type=Path)
    parser.add_argument("--sts", type=Path)
    parser.add_argument(
        "--runs", nargs="*", default=["1", "2,256", "4,128", "8,64", "4,256", "8,128", "4,128,mean", "4,128,sum"]
    )
    parser.add_argument("--one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    {"quality": quality, "speed": speed, "scale": scale}[options.what](options)


if __name__ == "__main__":
    main()
