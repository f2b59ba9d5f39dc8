"""The pretrained model: what its parts add, what its size costs, how much depends on its seeds, and its peers.

    python -m benchmarks.pretrained --wikipedia FILE --modern FILE --novels FILE --sts DIR --transfer DIR [--write]

The first three are the texts of `build_pretrained`, or streams that `siamese-cbow prepare` has made from them. The
peers are those of `peers`, each with the preprocessing that suits it best. Our model was chosen on the sets that
`TUNING` in `evaluation.sts` names, and on the transfer tasks.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.build_pretrained import DIM, PARTS, WORDS, Part, Texts, add_texts, combined, small, trained
from benchmarks.peers import peers
from benchmarks.scoring import chosen_on, mean_pearson, spread_row
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import evaluate, load, sts
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.scores import SetScore
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.evaluation.transfer import Transfer, transfer_sets
from siamese_cbow.model.model import Model

OTHER_SEEDS = tuple(replace(part, seed=part.seed + 3) for part in PARTS)  # not shipped
YEARS = (2012, 2013, 2014, 2015)
SIZES = ((60_000, 560), (70_000, 480), (85_000, 400), (97_000, 350), (140_000, 250))  # words and dim, 20 MB each
MODERN = (
    "covid brexit tiktok chatgpt openai bitcoin iphone smartphone selfie wifi vaccine lockdown blockchain kubernetes "
    "javascript netflix uber airbnb instagram twitter"
)


@dataclass(frozen=True)
class Tests:
    """The data that all rows are measured on."""

    sets: list[PairSet]
    tasks: list[Transfer]

    def figures(self, system: System, set_scores: Sequence[SetScore] | None = None) -> list[float]:
        """Mean Pearson over all sets and over those of each year, mean accuracy, and the accuracy of each task."""
        set_scores = set_scores or evaluate(system, self.sets).sets
        accuracies = self.accuracies(system)
        return [*by_year(set_scores), float(np.mean(accuracies)), *accuracies]

    def accuracies(self, system: System) -> list[float]:
        return [float(task.items(system)[task.measure].mean()) for task in self.tasks]

    @property
    def columns(self) -> list[str]:
        tasks = [task.name for task in self.tasks]
        return ["", f"{len(self.sets)} sets", *map(str, YEARS), f"mean of {len(tasks)} tasks", *tasks]


def by_year(set_scores: Sequence[SetScore]) -> list[float]:
    """Mean Pearson over all sets, then over those of each year."""
    return [mean_pearson(set_scores), *(mean_pearson(set_scores, year) for year in YEARS)]


def set_by_set(by_system: Mapping[str, Sequence[SetScore]]) -> str:
    """A table of the scores on each set."""
    rows = [
        [scores_of_set[0].name, *(f"{score.pearson:.3f}" for score in scores_of_set)]
        for scores_of_set in zip(*by_system.values(), strict=True)
    ]
    return markdown(["", *by_system], rows)


def sizes(parts: Sequence[Model], tests: Tests) -> str:
    """Models with more words or more dimensions in as many bytes, on the data that the size was chosen on."""
    sets, rows = chosen_on(tests.sets), []
    for words, dim in SIZES:
        model = small(combined(parts, dim=dim), words)
        pearson, accuracy = mean_pearson(evaluate(model, sets).sets), np.mean(tests.accuracies(model))
        rows.append([f"{words:,} words, {dim} dimensions", f"{pearson:.4f}", f"{accuracy:.4f}"])
        print(*rows[-1], sep=" | ", flush=True)
    return markdown(["", "2012-13", "mean accuracy"], rows)


def ours(texts: Texts, tests: Tests) -> tuple[list[list[str]], str]:
    """Rows (each part alone, all combined, the shipped model, the same from other seeds) and a table of other sizes."""

    def row(name: str, *models: Model) -> list[str]:
        return spread_row(name, [tests.figures(model) for model in models])

    def alone(part: Part, model: Model) -> Model:
        return combined([model], [part], model.dim)

    parts, shipped = [trained(part, texts) for part in PARTS], load()
    rows = []
    for name in dict.fromkeys(part.name for part in PARTS):
        alike = [alone(part, model) for part, model in zip(PARTS, parts, strict=True) if part.name == name]
        rows.append(row(f"one part: {name}" + (f" ({len(alike)} seeds)" if len(alike) > 1 else ""), *alike))
    whole = combined(parts)
    rows.append(row(f"all {len(parts)} parts combined, {DIM} dimensions", whole))
    assert np.array_equal(small(whole).vectors, shipped.vectors), "the pretrained model is another one: build it"
    rows.append(row(f"**the same in 4 bits, {WORDS:,} words: the pretrained model**", shipped))
    del whole
    other_sizes = sizes(parts, tests)
    del parts
    gc.collect()  # frees gigabytes
    others = small(combined([trained(part, texts) for part in OTHER_SEEDS], OTHER_SEEDS))
    rows.append(row("the same from seeds 4-6", others))
    return rows, other_sizes


def main() -> None:
    parser = arguments(__doc__)
    add_texts(parser)
    for name in ("sts", "transfer"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    tests = Tests(list(sts(options.sts)), transfer_sets(options.transfer))
    with tempfile.TemporaryDirectory() as temporary:
        texts = Texts.of(options, Path(temporary))
        rows, other_sizes = ours(texts, tests)
        tokens = ", ".join(f"{stream.n_tokens:,} of {name}" for name, stream in vars(texts).items())
    by_system = {"the pretrained model": evaluate(load(), tests.sets).sets}
    for name, system in peers(tests.sets):
        by_system[name] = evaluate(system, tests.sets).sets
        rows.append(spread_row(name, [tests.figures(system, by_system[name])]))
    words = MODERN.split()
    known = [word for word in words if word in load().vocabulary]
    page = (
        f"Mean Pearson over {len(tests.sets)} STS sets, official protocol, and over the sets of each year; accuracy of "
        "logistic regression on frozen vectors (ten folds, or the test split). Tokens of the unlabelled text that "
        f"ours are trained on: {tokens}. {TUNING} Parts, size and whitening were also chosen by the mean accuracy "
        "on these tasks. ±: standard deviation.\n\n"
        f"{markdown(tests.columns, rows)}\n\n"
        f"Of {len(words)} recent words ({', '.join(words)}), {len(known)} are in the vocabulary.\n\n"
        f"The same parts in other shapes of 20 MB:\n\n{other_sizes}\n\nSet by set:\n\n"
        f"{set_by_set(by_system)}\n\n"
        f"{machine('numpy', 'model2vec', 'wordllama', 'sentence-transformers')}"
    )
    report("pretrained", "The pretrained model", page, write=options.write)


if __name__ == "__main__":
    main()
