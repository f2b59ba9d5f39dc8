"""Rows as points: lengths, cosines, nearest rows, and the directions that many rows share.

    rows [[3, 4], [0, 0]]       ->   lengths 5 and 0; zero vectors have cosine 0 with everything
    gram [[1, 0], [0, 4]]       ->   directions [0, 1] and [1, 0], of strengths 4 and 1

The one place for Gram matrices and `eigh`: uncentred, as in SIF, and with BLAS on one thread, so that sums have one
order and the same bytes on any number of cores. No index: searching all rows of a model with 300,000 words takes about
50 ms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Ids, Vectors, thread_count
from siamese_cbow.base.option_fields import checked_list
from siamese_cbow.errors import InputError, SettingsError

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = TypeVar("Result")

BLOCK = 8_192  # rows at a time: float64 of all of them would take twice the memory of the model
FEW_ROWS = 1_024  # rows that stay in the cache during an operation

# lengths and cosines


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Blocks of rows: `blocks(5, 2)` -> 0:2, 2:4, 4:6."""
    return (slice(start, start + size) for start in range(0, n, size))


def as_vectors(given: Any, shape: tuple[int, ...] | None = None) -> Vectors | None:
    """An array or tensor of numbers as float32, of this shape, or else (dim,) or (n, dim); None for texts."""
    array = np.asarray(given) if hasattr(given, "__array__") else None
    if array is None or array.dtype.kind not in "fiu":
        return None
    if array.shape != shape if shape else array.ndim not in (1, 2):
        raise InputError(f"got vectors of shape {array.shape}; expected {shape or '(n, dim) or (dim,)'}")
    if not np.isfinite(array).all():
        raise InputError("got vectors with NaN or infinity; expected finite numbers")
    return array.astype(np.float32, copy=False)


def is_vector(given: Any) -> bool:
    """Whether this is one vector, (dim,): an array or a tensor of numbers, not a text or several vectors."""
    return getattr(given, "ndim", None) == 1 and as_vectors(given) is not None


def one_or_several(name: str, given: Any) -> list[Any]:
    """Words or vectors as a list: `one_or_several("positive", "cat")` -> ["cat"]; nothing for None, as in gensim."""
    if isinstance(given, str) or is_vector(given):
        return [given]
    return [] if given is None else checked_list(name, given, "words or vectors")


def lengths(vectors: Vectors) -> Floats:
    """The length of each row, (n,): [[3, 4], [0, 0]] -> [5, 0]."""
    squares = np.empty(len(vectors), np.float64)
    for part in blocks(len(vectors)):
        rows = vectors[part].astype(np.float64)
        np.einsum("ij,ij->i", rows, rows, out=squares[part])
    return np.sqrt(squares, out=squares)


def float32_lengths(vectors: Vectors) -> Vectors:
    """The same in single precision, on two cores, for scaling the rows of a new model. Infinite on overflow."""

    def norms(part: slice) -> Vectors:
        with np.errstate(over="ignore"):
            of_rows: Vectors = np.linalg.norm(vectors[part], axis=1)
        return of_rows

    return np.concatenate([*side_by_side(norms, blocks(len(vectors), FEW_ROWS)), np.empty(0, np.float32)])


def units(vectors: Vectors) -> Vectors:
    """Rows at length 1, (n, dim): [[3, 4], [0, 0]] -> [[0.6, 0.8], [0, 0]]."""
    scale = lengths(vectors)
    np.divide(1.0, scale, out=scale, where=scale > 0)
    out = np.empty(vectors.shape, np.float32)
    return np.multiply(vectors, scale[:, np.newaxis], out=out, casting="same_kind")


def cosines(a: Vectors, b: Vectors) -> Vectors:
    """The cosine of each row of a (n, dim) with each row of b (m, dim): (n, m) float32."""
    matrix: Vectors = units(a) @ units(b).T
    return np.clip(matrix, -1.0, 1.0, out=matrix)


def paired_cosines(a: Vectors, b: Vectors) -> Vectors:
    """The cosine of row i of a with row i of b, both (n, dim): (n,) float32."""
    pairs: Vectors = np.einsum("ij,ij->i", units(a), units(b), dtype=np.float64).astype(np.float32)
    return np.clip(pairs, -1.0, 1.0, out=pairs)


def one_number(n: int, other: int | None, names: tuple[str, str] = ("k", "topn"), default: int = 10) -> int:
    """The number of neighbours, which may be given under either of two names: `one_number(10, 3)` -> 3."""
    if other is not None and n not in (default, other):
        given = f"{names[0]}={n} and {names[1]}={other}"
        raise SettingsError(f"got {given}, two names for the same number; give one of them")
    return n if other is None else other


def nearest(
    vectors: Vectors, row_lengths: Floats, target: Vectors, k: int, *, without: Collection[int] = ()
) -> tuple[Ids, Vectors]:
    """Rows with the highest cosine to `target` (dim,), best first, and these cosines; rows `without` are left out.

    row_lengths  (n,) from `lengths(vectors)`
    vectors [[1, 0], [0, 1], [1, 1]], target [2, 0], k 2 -> [0, 2], [1.0, 0.71]; ties are in row order
    """
    if as_vectors(target, vectors.shape[1:]) is None:
        raise InputError(f"the target is {target!r:.60} ({type(target).__name__}); expected a vector")
    scores = vectors @ units(target[np.newaxis])[0]
    np.divide(scores, row_lengths, out=scores, where=row_lengths > 0, casting="same_kind")
    np.clip(scores, -1.0, 1.0, out=scores)
    scores[list(without)] = -np.inf
    k = min(k, len(vectors) - len(set(without)))
    if k <= 0:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    bar = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero(scores >= bar)
    best = candidates[np.argsort(-scores[candidates], kind="stable")][:k].astype(np.int32)
    return best, scores[best]


# directions


def one_thread() -> AbstractContextManager[Any]:
    """Matrix products and decompositions inside this block run on one thread."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


def gram_of(vectors: Vectors | Floats, weights: NDArray[Any] | None = None, *, block: int = BLOCK) -> Floats:
    """The sum of each row's outer product with itself, (dim, dim): rows [1, 0], [1, 2] -> [[2, 2], [2, 4]].

    weights  (n,) how often each row counts; by default once
    """

    def product(part: slice) -> Floats:
        rows = vectors[part].astype(np.float64)
        weighted = rows if weights is None else rows * weights[part, None]
        of_block: Floats = weighted.T @ rows
        return of_block

    gram = np.zeros((vectors.shape[1],) * 2)
    with one_thread():
        for of_block in side_by_side(product, blocks(len(vectors), block)):
            gram += of_block  # in order, so that the sum does not depend on who finishes first
    return gram


def side_by_side(work: Callable[[slice], Result], parts: Iterable[slice]) -> Iterator[Result]:
    """The results of all parts in order, computed two at a time; NumPy releases the GIL."""
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(min(2, thread_count(None))) as pool:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) > 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def eigenvectors(gram: Floats) -> tuple[Floats, Floats]:
    """Strengths (dim,) in ascending order, and their directions (dim, dim): one per row, of length 1, orthogonal."""
    with one_thread():
        strengths, columns = np.linalg.eigh(gram)
    return strengths, columns.T


def strongest(gram: Floats, n: int | None = None) -> tuple[Floats, Floats]:
    """The `n` strongest directions (n, dim), or all, and their strengths. Signs are arbitrary, see `with_signs`."""
    strengths, directions = eigenvectors(gram)
    return directions[::-1][:n], np.maximum(strengths[::-1][:n], 0)


def strength_shares(strengths: Floats) -> Floats:
    """[3, 1] -> [.75, .25]; all zeros stay zeros."""
    shares: Floats = strengths / max(float(strengths.sum()), np.finfo(np.float64).tiny)
    return shares


def with_signs(directions: Floats) -> Floats:
    """Flip each direction so that its largest component is positive: the same on every machine."""
    largest = np.abs(directions).argmax(axis=1)
    signed: Floats = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    return signed


def pca(vectors: Vectors) -> tuple[Floats, list[float]]:
    """Rows projected onto the two directions of largest variance, (n, 2), and the share of the variance of each.

    [[1, 0], [3, 0]] -> [[-1, 0], [1, 0]], [1.0, 0.0]
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    directions, strengths = strongest(gram_of(centred))
    best = with_signs(directions[:2])
    places = np.zeros((len(centred), 2))
    places[:, : len(best)] = centred @ best.T
    return places, [*map(float, strength_shares(strengths)[:2]), 0.0][:2]


class Undo(NamedTuple):
    """The record that undoes a change to the rows of a model, row' = (weight x row - mean) A.

    A is the identity, except for directions scaled by a factor. A direction with factor 0 is removed, and a row's
    component along it can't be recomputed, so it is stored. The rest is undone by arithmetic, up to rounding.

    weights     (n_words,)
    mean        (dim,) subtracted from the weighted rows
    directions  (k, dim) of length 1, orthogonal
    factors     (k,) scale of each direction; zeros come first
    removed     (n_words, number of zero factors) the rows' components along these directions
    """

    weights: NDArray[np.float32]
    mean: Floats
    directions: Floats
    factors: Floats
    removed: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as stored in a file."""
        return {name: np.ascontiguousarray(array) for name, array in self._asdict().items()}

    def fits(self, n_words: int, dim: int) -> bool:
        """Whether the arrays belong to a model of this size."""
        k, zeros = len(self.factors), int((self.factors == 0).sum())
        shapes = [(n_words,), (dim,), (k, dim), (k,), (n_words, zeros)]
        return [array.shape for array in self.arrays().values()] == shapes

    def rows(self, vectors: Vectors) -> Vectors:
        """The rows as they were before."""
        zeros = self.removed.shape[1]
        scaled = self.directions[zeros:]
        before = np.empty(vectors.shape, np.float32)
        with one_thread():
            for part in blocks(len(vectors)):
                rows = vectors[part].astype(np.float64)
                rows += ((rows @ scaled.T) * (1 / self.factors[zeros:] - 1)) @ scaled
                rows += self.removed[part] @ self.directions[:zeros]
                rows += self.mean
                before[part] = rows / self.weights[part, np.newaxis]
        return before
