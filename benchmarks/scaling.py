"""How training scales with nodes: a cost model of a round, checked against measurements, for 100 billion tokens.

    python -m benchmarks.scaling STREAM [--write]

In a round, each of n workers trains on some batches of its part, then rows are averaged. The time of a round is

    train     words of a round / words per second of a worker, times the delay of the slowest
    kernel    bytes that a worker sends and receives * time to collect, merge and put back a byte
    network   bytes that a worker sends, or receives, / bandwidth of its network
    calls     time of the exchanges of a round apart from their bytes

Nothing is fitted by hand. The speeds of a worker, of the kernel and of sockets are those that `benchmarks.cluster
speed` measured (`cluster_figures.json`), and the number of rows sent follows from the counts of STREAM by the function
that `--dry-run` uses. Both are first checked against measured rounds: those of STREAM, those of 2, 4 and 8 workers on
results/cluster_quality.md, and those of `benchmarks.cluster scale`, whose text and recipe played no part in the model.
No vocabulary of 5 million words was available: its counts are those of STREAM, extended by the power law of their last
decade of ranks. All other assumptions are listed below.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from benchmarks.cluster import EXCHANGED, FIGURES
from benchmarks.tables import RESULTS, arguments, kept, markdown, report
from siamese_cbow import SiameseCBOW, Stream
from siamese_cbow.cluster.averaging import periods_of
from siamese_cbow.cluster.training_job import bytes_of_state, expected_rows, row_shares, usual_interval
from siamese_cbow.training.plan import Plan, plan_of

TOKENS = 100e9


@dataclass(frozen=True)
class Assumptions:
    """Properties of a node and its network that were not measured."""

    n_words: int = 5_000_000  # in the vocabulary; as fast per word as STREAM's, because neither fits into the caches
    cores: int = 16  # per node, which is one worker
    parallel: float = 0.8  # share of its speed that each core adds to training; averaging uses one core
    network: float = 1.25e9  # bytes per second each way: 10 Gbit/s
    behind: float = 1.05  # time of the slowest worker in a round, relative to the mean
    call: float = 0.005  # seconds per exchange apart from its bytes; a round has 4, each with all other workers


@dataclass(frozen=True)
class Measured:
    """Measurements on this machine."""

    words: float  # per second and core
    kernel: float  # seconds per byte sent or received
    sockets: float  # the same, between two processes on this machine
    share: float  # of a round that averaging takes
    megabytes: float  # sent and received per round
    rounds: int
    seconds: tuple[float, float]  # of the jobs of one worker and of two, start and end included
    bare: tuple[float, float]  # the same by one process and by two, without an engine and without averaging
    few: tuple[float, float]  # of jobs with almost no text: the cost of the engine
    fixed: float  # seconds of a job before the first and after the last round


def measured() -> Measured:
    known = kept(FIGURES)["speed"]
    words, share, waiting = known["worker_words"] * 1e6, known["averaging"] / 100, known["waiting"] / 100
    n_bytes, exchanged = known["megabytes"] * 1e6, 2 * EXCHANGED * 305 * 4
    trained = known["epochs"] * known["tokens"] / 2 / words
    n_rounds = known["rounds"]
    averaging = trained / (1 - share - waiting) * share / n_rounds
    sockets = known["exchange"]["sockets"] / exchanged
    seconds, bare = ((known[name]["one"], known[name]["two"]) for name in ("train", "bare train"))
    fixed = seconds[1] - trained / (1 - share - waiting)
    kernel, few = averaging / n_bytes - sockets, tuple(known["few"])
    return Measured(words, kernel, sockets, share, known["megabytes"], n_rounds, seconds, bare, few, fixed)


def larger(shares: Any, n_rows: int) -> Any:
    """The shares of a larger vocabulary: these, extended by the power law of their last decade of ranks."""
    ordered = np.sort(shares)[::-1]
    ordered = ordered[ordered > 0]
    n = len(ordered)
    rank = np.arange(n // 10, n)
    power = np.polyfit(np.log(rank), np.log(ordered[rank]), 1)[0]
    tail = ordered[-1] * (np.arange(n, n_rows) / n) ** power
    every = np.concatenate([ordered, tail])
    return every / every.sum() * shares.sum()


def round_of(n: int, words: float, shares: Any, row_bytes: float, a: Assumptions, m: Measured) -> dict[str, float]:
    """Seconds of each part of a round, and bytes that a worker sends (it receives as many)."""
    sent = expected_rows(shares, words, n) * row_bytes if n > 1 else 0.0
    return {
        "train": words / (m.words * a.cores * a.parallel) * a.behind,
        "kernel": 2 * sent * m.kernel,
        "network": sent / a.network,
        "calls": (4 * a.call + n * 1e-4) if n > 1 else 0.0,
        "sent": sent,
    }


def rows_sent(shares: Any, n_tokens: int, n: int, n_rounds: int) -> float:
    """Like `expected_rows`, but for a training run of few rounds, the last of which averages all rows."""
    words, total = n_tokens / n / n_rounds, 0.0
    periods = periods_of(shares, n * words)
    for number in range(1, n_rounds + 1):
        due = (n_rounds - number) % periods == 0
        gaps = np.minimum(number, periods)[due]  # rounds since the row was last averaged
        total += sum(float(-np.expm1(-k * words * gaps * shares[due]).sum()) for k in (1, n))
    return total / n_rounds * (n - 1) / n


def check(plan: Plan, row_bytes: float) -> list[list[str]]:
    """Megabytes that a worker sends after a round, by the model and as measured on results/cluster_quality.md."""
    shares, n_tokens = row_shares(plan), int(plan.vocabulary.counts.sum())
    page = (RESULTS / "cluster_quality.md").read_text("utf-8")
    if f"{n_tokens:,} tokens" not in page:
        raise SystemExit(f"results/cluster_quality.md is about another stream, not this one of {n_tokens:,} tokens")
    rows = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) > 4 and cells[2] == "adagrad":
            n, every, _, n_rounds, sent = cells[:5]
            model = rows_sent(shares, n_tokens, int(n), int(n_rounds)) * row_bytes / 1e6
            rows.append([n, every, n_rounds, f"{model:.0f}", sent])
    return rows


def large_run(m: Measured) -> list[list[str]]:
    """The rounds of a run with another text and recipe, by the model and as measured."""
    known = kept(FIGURES)["scale"]
    n_bytes = known["expected_megabytes"] * 1e6
    trained = known["tokens"] / 2 / known["rounds"] / (known["worker_words"] * 1e6)
    averaged = n_bytes * (m.kernel + m.sockets)
    share = averaged / (trained + averaged)
    return [
        ["MB sent and received in a round", f"{n_bytes / 1e6:.0f}", f"{known['megabytes']:.0f}"],
        ["averaging's share of a round", f"{share:.1%}", f"{known['averaging']:.1f}%"],
    ]


def main() -> None:
    parser = arguments(__doc__, "stream")
    options = parser.parse_args()
    a, m = Assumptions(), measured()
    plan = plan_of(SiameseCBOW(), Stream.load(options.stream))
    shares = row_shares(plan)
    row_bytes = bytes_of_state(plan) / len(shares)
    words_per_batch = int(plan.vocabulary.counts.sum()) / plan.schedule.n_batches
    # Two single-core workers here: the same round, with this machine's sockets as the network.
    words = usual_interval(plan.recipe, 2, plan.schedule.n_batches) * words_per_batch
    sent = expected_rows(shares, words, 2) * row_bytes
    trained, averaged = words / m.words, 2 * sent * (m.kernel + m.sockets)
    here = [
        ["MB sent and received in a round", f"{2 * sent / 1e6:.0f}", f"{m.megabytes:.0f}"],
        ["averaging's share of a round", f"{averaged / (trained + averaged):.1%}", f"{m.share:.1%}"],
        ["seconds of a two-worker job", f"{m.bare[1] + m.few[1] + m.rounds * averaged:.0f}", f"{m.seconds[1]:.0f}"],
        [
            "speed of two workers against one, start and end included",
            f"{(m.bare[0] + m.few[0]) / (m.bare[1] + m.few[1] + m.rounds * averaged):.2f}x",
            f"{m.seconds[0] / m.seconds[1]:.2f}x",
        ],
    ]
    many = larger(shares, round(a.n_words * len(shares) / len(plan.vocabulary)))
    state = len(many) * row_bytes
    rows = []
    for n in (1, 8, 64, 256):
        for batches in (512, 4096, 32768) if n > 1 else (4096,):
            spent = round_of(n, batches * words_per_batch, many, row_bytes, a, m)
            sent = spent.pop("sent")
            seconds = sum(spent.values())
            minutes = TOKENS / (n * batches * words_per_batch) * seconds / 60
            rounds = [batches, f"{TOKENS / (n * batches * words_per_batch):,.0f}"] if n > 1 else ["-", "-"]
            shares_of_time = (f"{part / seconds:.0%}" for part in spent.values())
            rows.append([n, *rounds, f"{sent / 1e6:,.0f}", f"{minutes:,.1f}", *shares_of_time])
    named = ", ".join(f"{field.name} {getattr(a, field.name):,g}" for field in fields(a))
    header = ["nodes", "batches", "rounds", "MB sent", "minutes", "training", "kernel", "network", "calls"]
    parts = [
        "## Model against measurement",
        markdown(["workers", "batches", "rounds", "MB sent, model", "measured"], check(plan, row_bytes)),
        markdown(["two single-core workers", "model", "measured"], here),
        markdown(
            ["two workers, the paper's corpus size and recipe, negatives from the batch", "model", "measured"],
            large_run(m),
        ),
        "The seconds of the model are those of processes that exchange nothing, plus a job with almost no text, plus "
        "averaging.",
        f"Measured: {m.words / 1e6:.2f} million words per second and worker, {m.kernel * 1e9:.2f} ns in the kernel and "
        f"{m.sockets * 1e9:.2f} ns in sockets per byte, {m.fixed:.1f} s to start and end a job.",
        "## 100 billion tokens, one epoch",
        markdown(header, rows),
        f"Assumptions: {named}. Batches: per worker and round. Matrix and optimiser take {state / 1e9:.1f} GB, and so "
        "does a checkpoint; starting and ending the job comes on top.",
    ]
    report("scaling", "An estimate for large clusters", *parts, write=options.write)


if __name__ == "__main__":
    main()
