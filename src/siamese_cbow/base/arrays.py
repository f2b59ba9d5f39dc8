"""Names for the array types that travel between modules, how many threads to use, and what a pickle leaves out."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import SettingsError

Bytes: TypeAlias = NDArray[np.uint8]
Ids: TypeAlias = NDArray[np.int32]  # word ids; never narrower: the paper's vocabulary has 315,643 words
Offsets: TypeAlias = NDArray[np.int64]  # (n + 1,): item i is [offsets[i] : offsets[i + 1]]
Counts: TypeAlias = NDArray[np.int64]
Vectors: TypeAlias = NDArray[np.float32]  # (n, dim)
Floats: TypeAlias = NDArray[np.float64]  # where sums need the digits


def thread_count(threads: int | None) -> int:
    """How many threads to use: the number asked for, or all cores this process may run on.

    `thread_count(3)` -> 3; `thread_count(None)` -> 2 on a machine with two cores.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise SettingsError(f"threads is {threads}; expected 1 or more (leave it out for all cores)")
    return threads


def without_caches(thing: object) -> dict[str, Any]:
    """The attributes of an object but for its cached properties, for `__getstate__`: a pickle carries no caches."""
    return {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }
