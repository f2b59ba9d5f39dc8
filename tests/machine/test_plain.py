"""Plain kernels, without Numba's private parts: the same models up to rounding."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.baselines.fastsent import FastSent

PACKAGE = Path(sc.__file__).parent
RECIPES: dict[str, Any] = {
    "contrastive": sc.SiameseCBOW(dim=20, epochs=1, batch_size=40, learning_rate=0.02),
    "paper": sc.SiameseCBOW.paper(dim=200, batch_size=40, learning_rate=0.05),  # in two strips
    "FastSent": FastSent(dim=20, batch_size=40, learning_rate=0.02),
}


def models() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{int(40 * x**2)}" for x in rng.random(rng.integers(1, 9))) for _ in range(400)]
    lines = [line for number, text in enumerate(texts) for line in ([text, ""] if number % 7 == 0 else [text])]
    stream = sc.prepare(sc.Texts(lines), min_count=2)
    vectors = {name: recipe.train(stream, threads=2).vectors for name, recipe in RECIPES.items()}
    return vectors | {"encoded": sc.load().encode([f"the cat saw {n} dogs and playfully barked" for n in range(3000)])}


@pytest.mark.slow
def test_plain_kernels_give_the_same_models(tmp_path: Path) -> None:
    environment = {**os.environ, "SIAMESE_CBOW_PLAIN_KERNELS": "1", "NUMBA_OPT": "0"}  # compiles faster, runs slower
    subprocess.run([sys.executable, __file__, tmp_path / "plain.npz"], env=environment, check=True)
    plain = np.load(tmp_path / "plain.npz")
    for name, expected in models().items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(plain[name], expected, rtol=0, atol=1e-4 * scale, err_msg=name)


def test_only_one_room_uses_what_is_private_to_numba() -> None:
    private = re.compile(r"llvmlite|numba\.(core|extending|cpython|np)|_nrt|forceinline")
    users = {path.parent.name for path in PACKAGE.rglob("*.py") if private.search(path.read_text("utf-8"))}
    assert users == {"machine"}


if __name__ == "__main__":
    from siamese_cbow.machine import compiling, intrinsics, simd

    assert compiling.PLAIN
    assert not {"_nrt", "forceinline", "cache"} & {*compiling.LEAN, *compiling.INLINE}
    assert not {"ir", "cgutils"} & {*vars(intrinsics), *vars(simd)}
    np.savez(sys.argv[1], **models())
