"""What post-processing gains for vectors trained to be averaged, on top of the finishing of their recipe.

    python -m benchmarks.postprocess STREAM MODEL... --sts DIR [--write]

STREAM is the text that the MODELs were trained on; several MODELs are seeds of one recipe. Mean and directions are
estimated from 100,000 sentences of the stream, or from word counts. Settings are chosen on STS 2012-2013.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import scores
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import load, sts
from siamese_cbow.stream.stream import Stream

STEPS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "center": {"center": True},
    **{f"components={n}": {"components": n} for n in (1, 2, 3, 5)},
    "center,components=1": {"center": True, "components": 1},
    "components=5,by_share": {"components": 5, "by_share": True},
    **{f"whiten={a}": {"whiten": a} for a in (0.1, 0.2, 0.5, 1.0)},
    "components=1,whiten=0.1": {"components": 1, "whiten": 0.1},
    "weights=sif,a=0.01": {"weights": "sif", "a": 0.01},
    "weights=sif,components=1 (SIF as published)": {"weights": "sif", "components": 1},
    "weights=usif,components=5,by_share (uSIF)": {"weights": "usif", "components": 5, "by_share": True},
    "weights=idf": {"weights": "idf"},
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("stream", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--sts", type=Path, required=True)
    options = parser.parse_args()
    stream, sets = Stream.load(options.stream), sts(options.sts)
    models = [load(path).without_postprocessing() for path in options.models]
    rows, first = [], np.zeros(3)
    variants = [(name, steps, stream) for name, steps in STEPS.items()]
    variants.insert(3, ("components=1, from counts instead of sentences", {"components": 1}, None))  # type: ignore[arg-type]
    for name, steps, where in variants:
        changed = [model.postprocess(where, **steps) if steps else model for model in models]
        figures = np.array([scores(model, sets) for model in changed])
        mean = figures.mean(axis=0)
        first = mean if not rows else first
        rows.append([name, *(f"{score:.4f}" for score in mean), *(f"{gain:+.4f}" for gain in (mean - first)[:2])])
    recipe = models[0].info["recipe"]
    text = (
        f"`{models[0]!r}`, {len(models)} seed{'s' if len(models) > 1 else ''}, mean Pearson over {len(sets)} STS sets, "
        f"official protocol. The recipe has already removed {recipe['common_directions']} common directions and "
        f"scaled rows to length^{recipe['length_power']:g} x information^{recipe['idf_power']:g}.\n\n"
        f"{markdown(['steps', '2012-13', '2014-15', 'all', 'gain 2012-13', 'gain 2014-15'], rows)}\n\n"
        f"{machine('numpy')}"
    )
    report("postprocess", "Post-processing", text, write=options.write)


if __name__ == "__main__":
    main()
