"""Compiled kernels older than a source are thrown away."""

from __future__ import annotations

import os
from pathlib import Path

from siamese_cbow.machine.compiling import forget_stale_kernels


def test_only_what_is_older_than_a_source_goes(tmp_path: Path) -> None:
    cache = tmp_path / "kernels" / "batch" / "__pycache__"
    (tmp_path / "machine").mkdir()
    cache.mkdir(parents=True)
    for name, age in (("machine/a.py", 100), ("kernels/b.py", 50), ("old.nbi", 70), ("new.nbi", 10)):
        path = cache / name if name.endswith("nbi") else tmp_path / name
        path.touch()
        os.utime(path, (1e9 - age, 1e9 - age))
    assert forget_stale_kernels(tmp_path) == 1
    assert [path.name for path in cache.iterdir()] == ["new.nbi"]
    os.utime(tmp_path / "machine" / "a.py", (1e9, 1e9))
    assert forget_stale_kernels(tmp_path) == 1, "what all kernels share is newer"
    assert forget_stale_kernels(tmp_path / "nowhere") == 0
