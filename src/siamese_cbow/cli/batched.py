"""Input in pieces that fit into memory, however long the input and its lines are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

N_LINES = 16_384
N_CHARACTERS = 1 << 24


def batched(
    items: Iterable[Item], *, size: int = N_LINES, length: Callable[[Item], int], longest: int = N_CHARACTERS
) -> Iterator[list[Item]]:
    """Lists of `size` items, fewer where their lengths add up to `longest` before.

    `batched(["a", "b", "c"], size=2, length=len)` -> ["a", "b"], ["c"]
    """
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += length(item)
        if len(batch) == size or total >= longest:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
