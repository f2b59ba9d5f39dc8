"""Throws away compiled kernels that are older than any of the sources.

Numba recompiles a cached function when its own file changes, but not when the change is in a function it calls from
another file. A kernel here is made of functions from a dozen files: after an update it would go on with parts of old
ones, and its bytes would differ from those of a fresh install.
"""

from __future__ import annotations

from pathlib import Path


def forget_stale_kernels(folder: Path) -> int:
    """Delete Numba's index files of a package that are older than a source of it; the number of deleted ones."""
    newest = max((path.stat().st_mtime_ns for path in folder.glob("*.py")), default=0)
    n = 0
    for index in (folder / "__pycache__").glob("*.nbi"):
        try:
            if index.stat().st_mtime_ns < newest:
                index.unlink()
                n += 1
        except OSError:  # another process was faster, or the folder is read-only
            continue
    return n
