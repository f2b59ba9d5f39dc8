"""Quality against size: what fewer bits, dimensions and words cost, and the alternatives that `compress` doesn't use.

    python -m benchmarks.compress MODEL --sts DIR [--write]

MODEL is a folder written by `siamese-cbow train`. The size to ship is chosen on STS 2012-2013; 2014-2015 are only
reported. Sizes include everything that siamese-cbow itself stores: rows, scales and words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import scores
from benchmarks.tables import RESULTS, arguments, machine, markdown, report
from siamese_cbow import Model, PairSet, load, sts
from siamese_cbow.model.packed_rows import Dtype
from siamese_cbow.transform.compression import rotated

DTYPES: tuple[Dtype, ...] = ("float32", "float16", "int8", "int4")
DIMS = (300, 240, 200, 128)
WORDS = (None, 140_000, 100_000, 60_000)
LIMIT = 20e6  # bytes that may ship with the package


def size(model: Model) -> int:
    return int(model.rows.nbytes + len(model.vocabulary.to_text().encode()))


def product_quantised(vectors: np.ndarray, width: int) -> np.ndarray:
    """Replaces every `width` numbers of a unit row by the nearest of 256 centres: a byte each, plus the length."""
    from scipy.cluster.vq import kmeans2, vq

    rng = np.random.default_rng(1)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    rows, out = vectors / lengths, np.empty_like(vectors)
    sample = rows[rng.choice(len(rows), min(len(rows), 20_000), replace=False)]
    for start in range(0, rows.shape[1], width):
        part = slice(start, start + width)
        centres, _ = kmeans2(sample[:, part], 256, iter=15, minit="points", rng=1)
        out[:, part] = centres[vq(rows[:, part], centres)[0]]
    return out * lengths


def roads_not_taken(model: Model, sets: list[PairSet]) -> list[list[Any]]:
    """[name, bits per number, dev, test] of what `compress` does and of its alternatives."""
    vectors, dim = np.asarray(model.vectors), min(200, model.dim)

    def row(name: str, bits: float, rows: np.ndarray) -> list[Any]:
        changed = Model(model.vocabulary, np.ascontiguousarray(rows, np.float32), model.tokenizer)
        return [name, bits, *(f"{score:.4f}" for score in scores(changed, sets)[:2])]

    def by_column(bits: int) -> np.ndarray:
        scale = np.abs(vectors).max(axis=0) / (2 ** (bits - 1) - 1)
        return np.asarray(np.rint(vectors / scale) * scale)

    shares = model.vocabulary.counts / model.vocabulary.counts.sum()
    directions = np.linalg.eigh((vectors * shares[:, None]).T.astype(np.float64) @ vectors)[1][:, ::-1]
    return [
        row("float32", 32, vectors),
        row("int8, one scale per row (used)", 8, model.compress("int8").vectors),
        row("int8, one scale per column", 8, by_column(8)),
        row("int4, one scale per row (used)", 4, model.compress("int4").vectors),
        row("int4, one scale per column", 4, by_column(4)),
        row("product quantisation, 2 numbers per byte", 4, product_quantised(vectors, 2)),
        row("product quantisation, 4 numbers per byte", 2, product_quantised(vectors, 4)),
        row(f"{dim} dimensions by rotation (used)", 32, rotated(vectors, dim)),
        row(f"{dim} dimensions by rotation, words weighted by frequency", 32, vectors @ directions[:, :dim]),
        row(f"the first {dim} dimensions", 32, vectors[:, :dim]),
    ]


def plot(points: dict[str, list[tuple[float, float]]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "siamese-cbow"  # the same figures give the same bytes
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for name, curve in points.items():
        best: list[tuple[float, float]] = []  # points that no smaller model beats
        for point in sorted(curve):
            if not best or point[1] > best[-1][1]:
                best.append(point)
        axes.plot(*zip(*best, strict=True), marker="o", markersize=3, label=name)
    axes.axvline(LIMIT / 1e6, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="megabytes", ylabel="mean Pearson, STS 2014-2015", title="Quality against size")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = arguments(__doc__, "model", "--sts")
    options = parser.parse_args()
    model, sets = load(options.model), sts(options.sts)
    whole = scores(model, sets)
    rows, points = [], {dtype: [] for dtype in DTYPES}  # type: ignore[var-annotated]
    for words in [n for n in WORDS if n is None or n < len(model.vocabulary)]:
        for dim in [dim for dim in DIMS if dim <= model.dim]:
            fewer = model.compress(dim=dim, words=words)
            for dtype in DTYPES:
                smaller = fewer.compress(dtype)
                bytes_, (chosen_on, reported, all_sets) = size(smaller), scores(smaller, sets)
                points[dtype].append((bytes_ / 1e6, reported))
                rows.append((chosen_on, [
                    f"{len(smaller.vocabulary):,}", dim, dtype, f"{bytes_ / 1e6:.1f}", f"{chosen_on:.4f}",
                    f"{reported:.4f}", f"{all_sets:.4f}", f"{all_sets - whole[2]:+.4f}", bytes_ <= LIMIT,
                ]))  # fmt: skip
    small = sorted((row for row in rows if row[1][-1]), key=lambda row: -row[0])[:10]
    header = ["words", "dim", "dtype", "MB", "2012-13", "2014-15", "all", "change from the full model"]
    text = (
        f"`{model!r}`, {size(model) / 1e6:.0f} MB; mean Pearson over {len(sets)} STS sets, official protocol: "
        f"{whole[0]:.4f} on 2012-2013, {whole[1]:.4f} on 2014-2015, {whole[2]:.4f} on all.\n\n"
        f"Of {len(rows)} sizes, the ten best within {LIMIT / 1e6:.0f} MB, by their score on 2012-2013:\n\n"
        f"{markdown(header, [row[:-1] for _, row in small])}\n\n"
        "![Quality against size](compress.svg)\n\n"
        "What `compress` does, and the alternatives (all words):\n\n"
        f"{markdown(['', 'bits per number', '2012-13', '2014-15'], roads_not_taken(model, sets))}\n\n"
        f"All sizes:\n\n{markdown(header, [row[:-1] for _, row in rows])}\n\n{machine('numpy', 'scipy')}"
    )
    if options.write:
        plot(points, RESULTS / "compress.svg")
    report("compress", "Quality against size", text, write=options.write)


if __name__ == "__main__":
    main()
