"""How training scales with nodes: a model of a round, held against what was measured, for 100 billion tokens.

    python -m benchmarks.scaling [--write]

A round of n workers: each trains on `batches` of its part; sends the rows it touched to their owners, which add them up
and send the result to all. The time of a round is

    train    words of a round / words a second of a worker, times how much the slowest is behind
    send     bytes a worker sends and gets / what its network carries
    memory   the same bytes, copied a few times / memory speed
    calls    what the engine takes to start and to end the calls of a round

Rows touched in a round: 1 - exp(-n p) for a row of share p, after subsampling. Shares fall by Zipf's law, 1/rank up to
a core vocabulary of some thousand words and steeper beyond; how steep is the one thing that is fitted, to the megabytes
that were measured on Wikipedia. All other assumptions stand below, by name.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.tables import markdown, report

CORE, TAIL = 8000, 1.5  # ranks from which on counts fall by this power
WORDS_PER_BATCH = 256 * 22.5  # sentences of Wikipedia


@dataclass(frozen=True)
class Assumptions:
    """Of a node and its network."""

    words_per_second: float = 2.2e6  # of a core: half of results/train.md, as 5 million rows are in no cache
    cores: int = 16  # of a node; a worker is a node
    parallel: float = 0.8  # what the 16th core still adds, on average
    network: float = 1.25e9  # bytes a second each way: 10 Gbit/s
    memory: float = 8e9  # bytes a second that one core copies
    copies: int = 6  # gather, send, add up, store, receive, scatter
    behind: float = 1.05  # the slowest worker of a round against the mean
    call: float = 0.002  # seconds of the engine for a call; a round has 3 + n of them, per worker, in sequence
    n_words: int = 5_000_000  # of the vocabulary
    row_bytes: int = 304 * 4 + 4  # a row and Adagrad's number
    subsample: float = 1e-4


def touched(n_tokens: float, n_words: int, subsample: float) -> float:
    """Different rows in that many words of text by Zipf's law."""
    rank = np.arange(1, n_words + 1)
    share = np.where(rank <= CORE, 1 / rank, CORE ** (TAIL - 1) / rank**TAIL)
    share /= share.sum()
    ratio = subsample / share
    share *= np.minimum(1, np.sqrt(ratio) + ratio)
    return float(-np.expm1(-n_tokens * share).sum())


def round_of(n: int, batches: int, a: Assumptions) -> dict[str, float]:
    """Seconds of each part of a round, and bytes that a worker sends and gets."""
    words = batches * WORDS_PER_BATCH
    sent = touched(words, a.n_words, a.subsample) * a.row_bytes
    received = touched(n * words, a.n_words, a.subsample) * a.row_bytes
    # As an owner a worker also gets 1/n of what all send, and sends its part of the result to all.
    traffic = max(sent + received, sent + received * (n - 1) / n)
    return {
        "train": words / (a.words_per_second * a.cores * a.parallel) * a.behind,
        "send": traffic / a.network if n > 1 else 0,
        "memory": a.copies * (sent + received) / a.memory / max(1.0, a.cores / 4) if n > 1 else 0,
        "calls": (3 + n) * a.call if n > 1 else 0,
        "sent": sent,
        "received": received,
        "words": n * words,
    }


def minutes(n: int, batches: int, tokens: float, a: Assumptions) -> tuple[float, float]:
    """Of one epoch, and the share of training in it."""
    parts = round_of(n, batches, a)
    seconds = sum(parts[name] for name in ("train", "send", "memory", "calls"))
    return tokens / parts["words"] * seconds / 60, parts["train"] / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    a = Assumptions()
    # Wikipedia has 163,570 words and some 40,000 rows of stems.
    small = replace(a, n_words=204_000)
    measured = {(2, 512): 136, (4, 256): 103, (8, 128): 76, (8, 256): 97}
    known = [
        [
            n,
            batches,
            f"{touched(batches * WORDS_PER_BATCH, small.n_words, small.subsample) * a.row_bytes / 1e6:.0f}",
            mb,
        ]
        for (n, batches), mb in measured.items()
    ]
    rows = []
    for n in (1, 8, 64, 256):
        for batches in (512, 4096, 32768):
            parts = round_of(n, batches, a)
            time, share = minutes(n, batches, 100e9, a)
            rows.append(
                [
                    n,
                    batches,
                    f"{parts['sent'] / 1e6:,.0f}",
                    f"{parts['received'] / 1e6:,.0f}",
                    f"{time:,.0f}",
                    f"{share:.0%}",
                ]
            )
    text = "\n\n".join(
        [
            "Megabytes that a worker sends after a round on Wikipedia, by the model and as measured:",
            markdown(["workers", "batches", "model", "measured"], known),
            "100 billion tokens, one epoch, 5 million words, nodes of 16 cores and 10 Gbit/s:",
            markdown(
                ["nodes", "batches of a worker in a round", "MB sent", "MB received", "minutes", "of it training"], rows
            ),
            "Assumptions: " + ", ".join(f"{name} {value:g}" for name, value in vars(a).items()) + ".",
        ]
    )
    report("scaling", "An estimate for large clusters", text, write=options.write)


if __name__ == "__main__":
    main()
