"""FastSent's learning rate, chosen on STS 2012 and 2013, and how the chosen rate scores on 2014 and 2015.

python -m benchmarks.fastsent STREAM --sts DIR [--write]
"""

from __future__ import annotations

from benchmarks.scoring import scores
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import sts
from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.stream.stream import Stream

RATES = (0.05, 0.1, 0.2, 0.4)


def main() -> None:
    parser = arguments(__doc__, "stream", "--sts")
    options = parser.parse_args()
    stream, sets = Stream.load(options.stream), list(sts(options.sts))
    rows, best = [], (0.0, 0.0, 0.0)
    for rate in RATES:
        model = FastSent(learning_rate=rate).train(stream)
        score, reported, _ = scores(model, sets)
        rows.append([f"{rate:g}", f"{score:.4f}"])
        best = max(best, (score, rate, reported))
    page = (
        f"One epoch on {stream.n_tokens:,} tokens, 300 dimensions, seed 1, official protocol.\n\n"
        + markdown(["learning rate", "mean Pearson, 2012 and 2013"], rows)
        + f"\n\nThe best, {best[1]:g}, scores {best[2]:.4f} on 2014 and 2015. {machine('numpy', 'numba')}"
    )
    report("fastsent", "FastSent's learning rate", page, write=options.write)


if __name__ == "__main__":
    main()
