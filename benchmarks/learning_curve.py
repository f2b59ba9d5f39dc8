"""Quality against the amount of text: the default recipe on a sixteenth of a text, an eighth, and so on up to all.

    python -m benchmarks.learning_curve STREAM --sts DIR [--seeds N] [--write]

Each part is the beginning of the text; its vocabulary has the words that occur five times in that part, as if the rest
didn't exist.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from benchmarks.quality_streams import beginning, with_own_words
from benchmarks.scoring import scores, spread_row
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import sts
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)


def figures(stream: Stream, seed: int, sets: list[PairSet]) -> list[float]:
    """Mean Pearson on 2012-2013, on 2014-2015 and on all sets; then on all sets with the prefix fallback."""
    model = SiameseCBOW(seed=seed).train(stream)
    return [*scores(model, sets), scores(model.with_fallback("prefix"), sets)[2]]


def main() -> None:
    parser = arguments(__doc__, "stream", "--sts")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    whole, sets = Stream.load(options.stream), list(sts(options.sts))
    rows, means = [], []
    for share in SHARES:
        stream = with_own_words(beginning(whole, share))
        by_seed = [figures(stream, seed, sets) for seed in range(1, options.seeds + 1)]
        means.append(np.mean(by_seed, axis=0))
        name = f"{stream.n_tokens / 1e6:.1f} million words, {len(stream.vocabulary):,} distinct"
        rows.append(spread_row(name, by_seed))
    steps = [f"{later[2] - earlier[2]:+.4f}" for earlier, later in pairwise(means)]
    page = (
        f"The default recipe on the beginning of {options.stream.name}, one epoch, {options.seeds} seeds; mean "
        "Pearson "
        f"over {len(sets)} STS sets, official protocol. ±: standard deviation.\n\n"
        f"{markdown(['', '2012-13', '2014-15', 'all', 'all, unknown words by prefix'], rows)}\n\n"
        f"Gain from each doubling of the text, all sets: {', '.join(steps)}.\n\n{machine('numpy', 'numba')}"
    )
    report("learning_curve", "Quality against the amount of text", page, write=options.write)


if __name__ == "__main__":
    main()
