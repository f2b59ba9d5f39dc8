"""Compiled kernels older than a source are thrown away."""

from __future__ import annotations

import os
from pathlib import Path

from siamese_cbow.numba_options import forget_stale_kernels


def test_only_what_is_older_than_a_source_goes(tmp_path: Path) -> None:
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    for name, age in (("a.py", 100), ("b.py", 50), ("__pycache__/old.nbi", 70), ("__pycache__/new.nbi", 10)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    assert forget_stale_kernels(tmp_path, shared=()) == 1
    assert [path.name for path in cache.iterdir()] == ["new.nbi"]
    assert forget_stale_kernels(tmp_path) == 1, "what all kernels share is newer"
    assert forget_stale_kernels(tmp_path / "nowhere", shared=()) == 0
