"""Quality of training on a cluster: against the number of workers, the length of a round and the averaging rule.

    python -m benchmarks.cluster_quality STREAM --sts DIR [--seeds 1 2] [--runs 1 2,256 8,64,mean ...] [--write]

A run is workers[,batches per worker between two averaging steps[,rule]]. The workers are threads of one process that
exchange rows by copying them; `tests/cluster` checks that their model is byte-identical to that of a cluster. Results
of finished runs are kept in a file next to the stream. Rules:

    adagrad   ours: see `cluster.averaging`
    all       ours, but every round averages all rows that were touched
    moves512  ours, but a row is averaged once all workers together have moved it about 512 times; any number works
    mean      the mean of the row over the workers that touched it
    sum       the moves are added up as they are
    forget    ours, but Adagrad's sums grow by the mean of the workers' gains, so that steps stay longer
    elastic   ours, but a row that several workers touched moves only half of the way
    slow      ours, but a row also repeats .3 of its previous move (slow momentum)
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import scores
from benchmarks.tables import arguments, keep, kept, machine, markdown, report
from siamese_cbow import SiameseCBOW, Stream, sts
from siamese_cbow.cluster import averaging, training_worker
from siamese_cbow.cluster.node import ThreadExchange
from siamese_cbow.cluster.training_job import TrainingJob
from siamese_cbow.cluster.training_worker import RoundReport, TrainingWorker
from siamese_cbow.model.model import Model
from siamese_cbow.training.loop import Run
from siamese_cbow.training.plan import plan_of

RUNS = ["1", "2,512", "4,256", "8,128", "8,64", "2,1024", "4,512", "8,256"]
RUNS += ["4,256,moves512", "8,128,moves1024", "2,512,all", "4,256,all", "8,128,all"]
RULES = [f"8,128,{rule}" for rule in ("mean", "sum", "forget", "elastic", "slow")]


def n_touched(places: Any) -> Any:
    """How many workers touched each row, (n, 1)."""
    return (places >= 0).sum(axis=1, keepdims=True).astype(np.float32)


def use_rule(rule: str) -> None:
    """Replaces our averaging rule by another one, for comparison."""
    ours, merge = averaging.adagrad_scales, averaging.merge_moves
    if rule == "sum":
        averaging.adagrad_scales = lambda before, shares, places: np.ones(places.shape, np.float32)
    elif rule == "mean":
        averaging.adagrad_scales = lambda before, shares, places: np.float32(1) / n_touched(places) + 0 * places
    elif rule == "elastic":
        averaging.adagrad_scales = lambda before, shares, places: (
            ours(before, shares, places) * np.where(n_touched(places) > 1, np.float32(0.5), np.float32(1))
        ).astype(np.float32)
    elif rule in ("forget", "slow"):
        averaging.merge_moves = _forgetting(merge) if rule == "forget" else _with_momentum(merge)
    elif rule.startswith("moves"):
        averaging.MOVES = int(rule.removeprefix("moves"))
    elif rule == "all":
        training_worker.periods_of = lambda shares, n_words: np.ones(len(shares), np.uint8)
    elif rule != "adagrad":
        raise SystemExit(f"no rule {rule}")


def _forgetting(merge: Callable[..., None]) -> Callable[..., None]:
    def merged(rows: Any, received: Any, places: Any, scales: Any, n: int, before: Any, array: Any, out: Any) -> None:
        if out.shape[1] == 1:
            scales = (scales / n_touched(places)).astype(np.float32)
        merge(rows, received, places, scales, n, before, array, out)

    return merged


def _with_momentum(merge: Callable[..., None], momentum: float = 0.3) -> Callable[..., None]:
    velocities: dict[int, Any] = {}

    def merged(rows: Any, received: Any, places: Any, scales: Any, n: int, before: Any, array: Any, out: Any) -> None:
        first = before[rows // n].copy()
        merge(rows, received, places, scales, n, before, array, out)
        if out.shape[1] > 1:
            velocity = velocities.setdefault(before.ctypes.data, np.zeros_like(before))
            velocity[rows // n] = momentum * velocity[rows // n] + (out - first)
            out[...] = first + velocity[rows // n]
            before[rows // n] = array[rows] = out

    return merged


def trained(stream: Path, n_workers: int, every: int, recipe: SiameseCBOW, threads: int) -> tuple[Model, list[Any]]:
    """The trained model, and the reports of the first worker."""
    if n_workers == 1:
        return recipe.train(Stream.load(stream), threads=threads), []
    plan = plan_of(recipe, Stream.load(stream))  # settings for the whole text: a part alone might get more epochs
    job = TrainingJob(plan.recipe, (str(stream),), (1.0,), {}, str(stream / "none"), n_workers, every)
    workers, reports = [TrainingWorker(job, i) for i in range(n_workers)], list[RoundReport]()
    with ThreadPoolExecutor(n_workers) as pool:
        begun = list(pool.map(TrainingWorker.start, workers, ThreadExchange.several(n_workers)))
        n_rounds = -(-max(n_batches for _, n_batches, _ in begun) // every)
        for number in range(1, n_rounds + 1):
            done = pool.map(TrainingWorker.advance, workers, [number] * n_workers, [n_rounds] * n_workers)
            first, *_ = done
            reports.append(first)
    return Run(plan, workers[0].state).model(), reports


def one(options: argparse.Namespace) -> None:
    """Does one run; called in a separate process, so that memory and rules don't mix."""
    n_workers, every, rule = options.one.split(",")
    use_rule(rule)
    model, reports = trained(
        options.stream, int(n_workers), int(every), SiameseCBOW(seed=options.seed), options.threads
    )
    on_chosen, _, score = scores(model, sts(options.sts))
    sent = sum(each.sent for each in reports) / max(1, len(reports)) / 1e6
    print(json.dumps({"score": score, "chosen_on": on_chosen, "rounds": len(reports), "sent": sent}))


def parts_of(run: str) -> tuple[str, str, str]:
    """Workers, batches and rule: "2,512" -> ("2", "512", "adagrad")."""
    given = run.split(",")
    return given[0], given[1] if len(given) > 1 else "1", given[2] if len(given) > 2 else "adagrad"


def result_of(run: str, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """The result of a run, which is done now unless an earlier result is kept."""
    n_workers, every, rule = parts_of(run)
    score_file = options.stream.with_name(f"{options.stream.name}.cluster_quality.json")
    key = f"{n_workers},{every},{rule},{seed}"
    if key not in kept(score_file):
        command = [sys.executable, "-m", "benchmarks.cluster_quality", options.stream, "--sts", options.sts]
        command += ["--one", f"{n_workers},{every},{rule}", "--seed", seed, "--threads", options.threads]
        done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        keep(score_file, key, json.loads(done.stdout.splitlines()[-1]))
        print(key, kept(score_file)[key], flush=True)
    return dict(kept(score_file)[key])


def row(run: str, options: argparse.Namespace, alone: Sequence[dict[str, float]]) -> list[str]:
    results = [result_of(run, seed, options) for seed in options.seeds]
    differences = [each["score"] - other["score"] for each, other in zip(results, alone, strict=True)]
    spread = f" ± {statistics.stdev(differences) / len(differences) ** 0.5:.4f}" if len(differences) > 1 else ""
    n_workers, every, rule = parts_of(run)
    score, on_chosen = (f"{statistics.mean(each[name] for each in results):.4f}" for name in ("score", "chosen_on"))
    if n_workers == "1":
        return [n_workers, "-", "-", "-", "-", score, "-", on_chosen]
    cost = f"{results[0]['rounds']}", f"{results[0]['sent']:.0f}"
    return [n_workers, every, rule, *cost, score, f"{statistics.mean(differences):+.4f}{spread}", on_chosen]


def main() -> None:
    parser = arguments(__doc__, "stream", "--sts")
    parser.add_argument("--runs", nargs="*", default=[*RUNS, *RULES])
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--threads", type=int, default=2, help="threads of the single worker")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options)
        return
    alone = [result_of("1", seed, options) for seed in options.seeds]
    rows = [row(run, options, alone) for run in options.runs]
    header = ["workers", "batches", "rule", "rounds", "MB sent", "Pearson, 19 sets", "against one", "2012-2013"]
    stream = Stream.load(options.stream)
    note = (
        f"{stream.n_tokens:,} tokens, {len(stream.vocabulary):,} words, one epoch, seeds "
        f"{', '.join(map(str, options.seeds))}: means, and the difference from one worker with the same seed, with "
        "its standard error. Batches: per worker, between two averaging steps. MB sent: by each worker to all "
        "others after a round; it receives as much."
    )
    report(
        "cluster_quality",
        "Quality against the number of workers",
        markdown(header, rows),
        note,
        machine("numpy", "numba"),
        write=options.write,
    )


if __name__ == "__main__":
    main()
