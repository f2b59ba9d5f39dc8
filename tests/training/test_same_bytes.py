"""The same recipe on the same text gives the same model as every earlier version, byte for byte.

For each training run, `same_bytes.json` holds a few numbers of the model, which any machine must come near, and a hash
of all its bytes. Compilers order sums to suit the processor, so a hash belongs to one processor and one compiler. Runs
of one epoch have the bytes of 0.1.0, except "spelled", whose last step is newer; runs of several epochs were recorded
again when epochs began to cut runs at different offsets.

    python tests/training/test_same_bytes.py     adds the hashes of this machine (and every number, if the file is gone)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.baselines.fastsent import FastSent

GOLDEN = Path(__file__).with_suffix("").with_name("same_bytes.json")
SPELLED = {"epochs": 2, "batch_size": 40}
SMALL = {**SPELLED, "spelling": 0.0}
RECIPES: dict[str, Any] = {
    "contrastive": sc.SiameseCBOW(dim=48, **SMALL),
    "contrastive, one epoch": sc.SiameseCBOW(dim=48, **SMALL | {"epochs": 1}),
    "contrastive, two matrices": sc.SiameseCBOW(dim=48, separate_matrices=True, **SMALL),
    "contrastive, spelled": sc.SiameseCBOW(dim=48, **SPELLED),
    "margin": sc.SiameseCBOW(objective="margin", dim=40, **SMALL),
    "paper": sc.SiameseCBOW.paper(dim=300, learning_rate=0.05, **SMALL),
    "paper, one epoch": sc.SiameseCBOW.paper(dim=300, learning_rate=0.05, **SMALL | {"epochs": 1}),
    "paper, two matrices": sc.SiameseCBOW.paper(dim=32, separate_matrices=True, learning_rate=0.05, **SMALL),
    "paper, negatives of the batch": sc.SiameseCBOW.paper(dim=200, negatives_from="batch", optimizer="adam", **SMALL),
    "sigmoid": sc.SiameseCBOW.paper(objective="sigmoid", dim=24, optimizer="nesterov", momentum=0.5, **SMALL),
    "logistic": sc.SiameseCBOW.paper(objective="logistic", dim=24, optimizer="adadelta", l2=0.001, **SMALL),
    "adamax, clipped": sc.SiameseCBOW(dim=24, optimizer="adamax", clip_gradient=0.1, max_tokens=7, **SMALL),
    "post-processed": sc.SiameseCBOW(dim=24, postprocess=sc.Postprocess(components=1, whiten=0.2), **SMALL),
    "FastSent": FastSent(dim=24, epochs=2),
    "FastSent+AE": FastSent(dim=24, autoencode=True),
}


def numbers(seed: int) -> Iterator[int]:
    """A generator that no library can change: x -> 6364136223846793005 x + 1442695040888963407 (mod 2^64)."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        yield state >> 33


@cache
def stream() -> sc.Stream:
    """Sixty documents of forty sentences, each about a few things; words have endings, so stems are shared."""
    draw = numbers(1)
    stems = ["".join("bdfgklmnprst"[next(draw) % 12] + "aeiou"[next(draw) % 5] for _ in range(3)) for _ in range(300)]
    endings = ["", "s", "ed", "ing"]
    lines = []
    for _ in range(60):
        about = [next(draw) % 300 for _ in range(12)]
        for _ in range(40):
            choice = [about[next(draw) % 12] if next(draw) % 3 else (next(draw) % 17) ** 2 for _ in range(9)]
            lines.append(" ".join(stems[i] + endings[next(draw) % 4] for i in choice[: 4 + next(draw) % 6]) + " .")
        lines.append("")
    return sc.prepare(sc.Texts(lines), min_count=2)


def trained(name: str) -> np.ndarray[Any, Any]:
    return RECIPES[name].train(stream()).vectors


def digest(array: np.ndarray[Any, Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def sample(vectors: np.ndarray[Any, Any]) -> list[float]:
    """Eight numbers from across the matrix."""
    flat = vectors.reshape(-1)
    return [float(flat[i]) for i in np.linspace(0, flat.size - 1, 8).astype(int)]


def machine() -> str:
    """What decides the order of sums: the processor and the compiler."""
    import llvmlite
    import numba
    from llvmlite import binding

    flags = binding.get_host_cpu_features().flatten()
    known = hashlib.blake2b(flags.encode(), digest_size=4).hexdigest()
    libraries = " ".join(f"{library.__name__} {library.__version__}" for library in (numba, llvmlite, np))
    return f"{binding.get_host_cpu_name()}-{known} {libraries}"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text("utf-8"))


def test_stream(golden: dict[str, Any]) -> None:
    assert {"ids": digest(stream().ids), "n_words": len(stream().vocabulary)} == golden["stream"]


@pytest.mark.parametrize("name", RECIPES)
def test_model(name: str, golden: dict[str, Any]) -> None:
    vectors, expected = trained(name), golden["models"][name]
    assert sample(vectors) == pytest.approx(expected["sample"], rel=0.02, abs=2e-4)
    if machine() in expected["hashes"]:
        assert digest(vectors) == expected["hashes"][machine()]


if __name__ == "__main__":
    record = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {"models": {}}
    record["stream"] = {"ids": digest(stream().ids), "n_words": len(stream().vocabulary)}
    for name in RECIPES:
        vectors = trained(name)
        entry = record["models"].setdefault(name, {"sample": sample(vectors), "hashes": {}})
        entry["hashes"][machine()] = digest(vectors)
    GOLDEN.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", "utf-8")
