"""What a training run on a cluster will do and cost, computed before it starts. Nothing here trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.base.disk import sample_hash
from siamese_cbow.cluster.averaging import LONGEST, periods_of
from siamese_cbow.cluster.session import Node, Session
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.batches import keep_chances
from siamese_cbow.training.optimizers import state_shapes
from siamese_cbow.training.plan import Plan, plan_of
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.training.strips import layout_of

AVERAGED_SENTENCES = 1 << 18  # sentences of all workers between two averaging steps (results/cluster_quality.md)
LEAST_ROUNDS = 8  # per epoch: with fewer, several workers lose quality
WORDS_PER_SECOND, BYTES_PER_SECOND = 3e6, 1e9  # per core, and in averaging: the assumptions of the estimate


@dataclass(frozen=True)
class TrainingJob:
    """Everything a worker needs to know."""

    recipe: Recipe
    folders: tuple[str, ...]  # of the streams
    passes: tuple[float, ...]
    files: Mapping[str, tuple[int, str]]  # of the streams: size and sample hash, as the driver sees them
    output: str
    n_workers: int
    average_every: int
    threads: int = 1

    def part(self, number: int, n: int) -> Mix:
        """Part `number` of n of every stream."""
        return Mix([Stream.load(folder, part=(number, n)) for folder in self.folders], self.passes)

    def check_files(self) -> None:
        """Raise an error if this node sees different files from the driver."""
        for name, expected in self.files.items():
            path = Path(name)
            if not path.is_file():
                raise InputError(f"no file {path}; the stream must be on storage that all nodes mount at the same path")
            if (path.stat().st_size, sample_hash(path)) != expected:
                raise InputError(
                    f"{path} differs from what the driver sees ({path.stat().st_size:,} bytes, expected "
                    f"{expected[0]:,}); it has changed since the job began, or another folder is mounted "
                    "there: prepare it again"
                )


def check_content(folders: Sequence[str]) -> None:
    """Raise an error if a stream differs by a single bit from the one that `prepare` wrote."""
    for folder in folders:
        Stream.load(folder, verify=True)


def together(n_workers: int, average_every: int) -> dict[str, int]:
    """The settings that change the result of several workers; none for a single worker."""
    return {"workers": n_workers, "average_every": average_every} if n_workers > 1 else {}


def usual_interval(recipe: Recipe, n_workers: int, n_batches: int) -> int:
    """The default batches of a worker between two averaging steps: 256 sentences each, 2 workers -> 512, 8 -> 128.

    Fewer for little text: an epoch has at least LEAST_ROUNDS rounds.
    """
    return max(1, min(AVERAGED_SENTENCES // recipe.batch_size, n_batches // LEAST_ROUNDS) // n_workers)


def training_job(
    session: Session,
    recipe: Recipe,
    folders: Sequence[Path | str],
    output: Path | str,
    passes: Sequence[float],
    average_every: int | None,
) -> tuple[TrainingJob, Mix]:
    """The job, checked as far as the driver can check it, and its text."""
    if average_every is not None and average_every < 1:
        raise SettingsError(f"average_every is {average_every}; expected 1 batch or more")
    mix = Mix([Stream.load(folder) for folder in folders], passes)
    plan = plan_of(recipe, mix)
    recipe, n_batches = plan.recipe, plan.schedule.n_batches
    names = [str(Path(folder).absolute()) for folder in folders]
    paths = [path for name in names for path in sorted(Path(name).iterdir()) if path.is_file()]
    files = {str(path): (path.stat().st_size, sample_hash(path)) for path in paths}
    n_workers = session.wanted or len([node for node in session.live_nodes() if node.n_cpus])
    target = str(Path(output).absolute())
    interval = average_every or usual_interval(recipe, n_workers, n_batches)
    return TrainingJob(recipe, tuple(names), tuple(mix.passes), files, target, n_workers, interval), mix


def threads_of(nodes: Sequence[Node], n_workers: int) -> int:
    """How many threads every worker can have: nodes of 4 and 2 cores, 3 workers -> 2; 0 if there are too few cores."""
    most = max((node.n_cpus for node in nodes), default=0)
    return next((n for n in range(most, 0, -1) if sum(node.n_cpus // n for node in nodes) >= n_workers), 0)


def row_shares(plan: Plan) -> Floats:
    """The share of each row among all words, (n_rows,), after subsampling; a shared row has the sum over its words."""
    counts = np.asarray(plan.vocabulary.counts, np.float64)
    share = counts / max(1.0, counts.sum())
    if plan.recipe.subsample:
        share *= keep_chances(counts, plan.recipe.subsample)
    rows = np.concatenate([share, np.zeros(plan.stems.n_shared)])
    if plan.stems.n_shared:
        shares = plan.stems.rows >= 0
        np.add.at(rows, plan.stems.rows[shares], share[shares])
    return rows


def expected_rows(shares: Floats, n_words: float, n_workers: int) -> float:
    """Roughly how many rows a worker sends after a round of `n_words` words of its own; it receives as many.

    A row of share p is touched in n words with probability 1 - exp(-n p). Rows this worker touched go to their owners,
    and rows that any worker touched come back; rows a worker owns itself are not sent.
    """
    periods = periods_of(shares, n_workers * n_words)
    own, anybody = (-np.expm1(-n * n_words * periods * shares) / periods for n in (1, n_workers))
    return float((own + anybody).sum()) * (n_workers - 1) / n_workers


def bytes_of_state(plan: Plan) -> int:
    """Bytes of the matrices and the optimiser state in one worker."""
    layout = layout_of(plan.recipe)
    rows = layout.n_strips * (len(plan.vocabulary) + plan.stems.n_shared)
    numbers = rows * layout.width + sum(a * b for a, b in state_shapes(plan.recipe.optimizer, rows, layout.width))
    return 4 * numbers * (2 if plan.recipe.separate_matrices else 1)


def description(session: Session, job: TrainingJob, mix: Mix) -> str:
    """What the job would do, for `--dry-run`."""
    plan, n = plan_of(job.recipe, mix), job.n_workers
    threads = max(1, threads_of(session.live_nodes(), n))
    per_worker = -(-plan.schedule.n_batches // n)
    n_rounds = job.recipe.n_epochs * -(-per_worker // job.average_every)
    tokens, state = mix.n_tokens / n / max(1, n_rounds // job.recipe.n_epochs), bytes_of_state(plan)
    n_rows = len(plan.vocabulary) + plan.stems.n_shared
    sent = state / n_rows * expected_rows(row_shares(plan), tokens, n)
    training = job.recipe.n_epochs * mix.n_tokens / (n * threads * WORDS_PER_SECOND) / 60
    averaging = n_rounds * 2 * sent / BYTES_PER_SECOND / 60 if n > 1 else 0.0
    lines = [
        f"{n} workers of {threads} threads on {len(session.live_nodes())} nodes",
        f"one part of the text each: about {mix.n_tokens / n:,.0f} tokens, {per_worker:,} batches per epoch",
        f"memory per worker: {state / 1e6:,.0f} MB of vectors and optimiser state"
        + (f", {state / n / 1e6:,.0f} MB of the rows it owns" if n > 1 else "")
        + ", less than 1 GB for everything else",
    ]
    if n > 1:
        lines.append(
            f"{n_rounds:,} rounds of {min(job.average_every, per_worker):,} batches; after each, a worker "
            f"sends and receives about {sent / 1e6:,.0f} MB, and in every {LONGEST}th round up to "
            f"{2 * state / 1e6:,.0f} MB"
        )
    lines.append(
        f"about {training + averaging:,.1f} minutes, {averaging / (training + averaging):.0%} of them "
        f"averaging: {WORDS_PER_SECOND / 1e6:.0f} million words per second and core, "
        f"{BYTES_PER_SECOND / 1e9:.0f} GB/s of rows"
    )
    return "".join(f"# {line}\n" for line in lines) + "# nothing was trained: --dry-run"
