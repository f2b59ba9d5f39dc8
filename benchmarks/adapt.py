"""Domain adaptation: what it gains for our models and for the peers, and how its constants were chosen.

    python -m benchmarks.adapt WIKIPEDIA --sts DIR [--captions FILE ...] [--write]

WIKIPEDIA is a stream that `siamese-cbow prepare` has made from the Wikipedia text of `build_pretrained`. Captions (one
line per image, its captions separated by tabs) resemble the image sets but come from elsewhere. Adaptation never uses
gold scores. The constants in `transform/adaptation.py` were chosen on 2012 and 2013, as the last table shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.peers import peers
from benchmarks.pretrained import YEARS, by_year, set_by_set
from benchmarks.scoring import chosen_on, mean_pearson, spread_row
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import evaluate, load, sts
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet, counted
from siamese_cbow.evaluation.scores import ADAPTED, Adapt, SetScore
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.row_reader import iter_lines
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.transform import adaptation

HOW: dict[Adapt, str] = {"no": "as it is", "set": "to the set", "held-out": "to its other sentences"}
SEEDS = (1, 2, 3)
N_TEXTS = (100, 300, 1000)
IMAGES = ("MSRvid", "images")
# Values tried for the constants of `adaptation`.
TRIED = {
    "**as chosen**": {},
    "word weights only": {"STRENGTH": 0.0},
    "directions only": {"WEIGHT_POWER": 0.0},
    "weight power .25": {"WEIGHT_POWER": 0.25},
    "weight power 1": {"WEIGHT_POWER": 1.0},
    "prior of 1,000 words": {"PRIOR_WORDS": 1_000},
    "prior of 100,000 words": {"PRIOR_WORDS": 100_000},
    "strength .1": {"STRENGTH": 0.1},
    "strength .4": {"STRENGTH": 0.4},
    "strength .1, prior of 1,500 texts": {"STRENGTH": 0.1, "PRIOR_TEXTS": 1_500},
    "strength .4, prior of 6,000 texts": {"STRENGTH": 0.4, "PRIOR_TEXTS": 6_000},
    "strength .05, no prior": {"STRENGTH": 0.05, "PRIOR_TEXTS": 0},
    "strength .2, no prior": {"PRIOR_TEXTS": 0},
}


def rows_of(name: str, systems: Sequence[System], sets: Sequence[PairSet]) -> Iterator[list[str]]:
    """One row per mode of adaptation."""
    for how in ADAPTED:
        figures = [by_year(evaluate(system, sets, adapt=how).sets) for system in systems]
        yield spread_row(f"{name}, {HOW[how]}", figures)


def each_way(systems: dict[str, System], sets: Sequence[PairSet]) -> dict[str, Sequence[SetScore]]:
    """The scores of each system in each mode of adaptation."""
    return {
        f"{name}, {HOW[how]}": evaluate(system, sets, adapt=how).sets
        for name, system in systems.items()
        for how in ADAPTED
    }


def by_number_of_texts(model: Model, sets: Sequence[PairSet]) -> str:
    """Scores after adapting to some of the sentences of each set, on the sets that have enough."""
    large = [pair_set for pair_set in sets if len(pair_set.sentences) >= max(N_TEXTS)]
    rows = [["none", f"{mean_pearson(evaluate(model, large).sets):.4f}"]]
    for n in N_TEXTS:
        pearsons = []
        for pair_set in large:
            rng = np.random.default_rng(1)
            some = rng.choice(pair_set.sentences, n, replace=False).tolist()
            pearsons.append(evaluate(model.adapt(some), [pair_set]).sets[0])
        rows.append([f"{n:,}", f"{mean_pearson(pearsons):.4f}"])
    rows.append(["all", f"{mean_pearson(evaluate(model, large, adapt='set').sets):.4f}"])
    return markdown(["texts", f"mean of the {len(large)} sets with {max(N_TEXTS):,} sentences or more"], rows)


def to_another_kind(model: Model, sets: Sequence[PairSet]) -> tuple[float, float]:
    """The mean gain of a model adapted to a set, on that set and on sets with other names: (own, others)."""
    before = np.array([score.pearson for score in evaluate(model, sets).sets], float)
    own, others = [], []
    for i, source in enumerate(sets):
        gains = np.array([one.pearson for one in evaluate(model.adapt(source.sentences), sets).sets], float) - before
        own.append(gains[i])
        others.append(np.mean([gain for gain, one in zip(gains, sets, strict=True) if one.dataset != source.dataset]))
    return float(np.mean(own)), float(np.mean(others))


def from_elsewhere(model: Model, sets: Sequence[PairSet], files: Sequence[Path]) -> str:
    """Scores on the caption sets after adapting to captions that are in no set."""
    captions = [caption for file in files for line in iter_lines(str(file)) for caption in line.split("\t")]
    chosen = [pair_set for pair_set in sets if pair_set.dataset in IMAGES]
    systems = {"as it is": model, f"to {len(captions):,} captions": model.adapt(captions)}
    rows = [
        [name, *(f"{one.pearson:.4f}" for one in evaluate(system, chosen).sets)] for name, system in systems.items()
    ]
    rows.append(["to the set", *(f"{one.pearson:.4f}" for one in evaluate(model, chosen, adapt="set").sets)])
    return markdown(["", *(one.name for one in chosen)], rows)


def tried(models: dict[str, Model], sets: Sequence[PairSet]) -> str:
    """Scores with other constants, on 2012 and 2013 only."""
    sets = chosen_on(sets)
    rows = [["not adapted", *(f"{mean_pearson(evaluate(model, sets).sets):.4f}" for model in models.values())]]
    chosen = {name: getattr(adaptation, name) for constants in TRIED.values() for name in constants}
    for name, constants in TRIED.items():
        with patch.multiple(adaptation, **{**chosen, **constants}):
            means = [mean_pearson(evaluate(model, sets, adapt="set").sets) for model in models.values()]
        rows.append([name, *(f"{one:.4f}" for one in means)])
        print(*rows[-1], sep=" | ", flush=True)
    return markdown(["", *models], rows)


def packed_again(model: Model, sets: Sequence[PairSet]) -> float:
    """Mean Pearson when each adapted model is compressed back to its former dtype."""
    return mean_pearson(
        [evaluate(model.adapt(pair_set.sentences).compress(model.dtype), [pair_set]).sets[0] for pair_set in sets]
    )


def main() -> None:
    parser = arguments(__doc__, "wikipedia", "--sts")
    parser.add_argument("--captions", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    wikipedia = Stream.load(options.wikipedia)
    sets = [counted(pair_set, "official") for pair_set in sts(options.sts)]
    shipped = load()
    table = [*rows_of("**the pretrained model**", [shipped], sets)]
    alone = [SiameseCBOW(seed=seed).train(wikipedia) for seed in SEEDS]
    table += rows_of(f"the default recipe on Wikipedia ({len(alone)} seeds)", alone, sets)
    models = {"the pretrained model": shipped, "the default recipe, seed 1": alone[0]}
    other_numbers = tried(models, sets)
    del models, alone
    theirs = dict(peers(sets))
    for name, system in theirs.items():
        table += rows_of(name, [system], sets)
    word_llama = next(system for name, system in theirs.items() if name.startswith("WordLlama"))
    page = [
        f"Mean Pearson over {len(sets)} STS sets, official protocol, and over the sets of each year. Each system "
        "is scored as it is and adapted to the text of each set: to all its sentences (*to the set*), or, in ten "
        "folds, to the sentences that are not being scored (*to its other sentences*). Neither uses gold scores. "
        "Of the peers only vectors are known, so directions are evened out and word weights stay as they are. "
        f"{TUNING} ±: standard deviation.",
        markdown(["", f"{len(sets)} sets", *map(str, YEARS)], table),
        f"The pretrained model adapted to each set and quantised to {shipped.dtype} again, as "
        f"`siamese-cbow adapt` writes it: {packed_again(shipped, sets):.4f}.",
        f"## Set by set\n\n{set_by_set(each_way({'ours': shipped, 'WordLlama': word_llama}, sets))}",
        "On average, adapting to one set changes the score by {:+.4f} on that set and by {:+.4f} on sets of other "
        "names.".format(*to_another_kind(shipped, sets)),
        f"## How much text it takes\n\nThe pretrained model.\n\n{by_number_of_texts(shipped, sets)}",
        f"## Other constants\n\nAdapted to the set, mean over the 8 sets of 2012 and 2013.\n\n{other_numbers}",
        machine("numpy", "model2vec", "wordllama", "sentence-transformers"),
    ]
    if options.captions:
        elsewhere = from_elsewhere(shipped, sets, options.captions)
        page.insert(
            5,
            f"## Similar text from elsewhere\n\nCaptions of Flickr30k and COCO that are in no set.\n\n{elsewhere}",
        )
    report("adapt", "Domain adaptation", *page, write=options.write)


if __name__ == "__main__":
    main()
