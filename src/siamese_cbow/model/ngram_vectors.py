"""Vectors of character n-grams, fitted to a model's own rows, which compose the vectors of out-of-vocabulary words.

    word  ->  its n-grams (`words.unknown_words`)  ->  the sum of their vectors, plus a direction of its own
    cover and covid are similar but distinct words; kdoe77 and 2.19.0 are similar to almost nothing but themselves

The n-grams share N_BUCKETS buckets. Their vectors are fitted so that their sums approximate the rows of the model's
frequent words (ridge regression, some seconds). Each also gets a small random direction, so that words that share an
n-gram without a learnt vector are similar as well. Numbers take four bits: more did not help. All unknown words have
one length: that of the rarest known words, scaled up slightly because unknown words carry more information.

Measured in benchmarks/unknown_words.py and results/languages.md. Rejected: 3- to 6-grams and more buckets (no better);
vectors with the length the regression gives (short where it knows little: much worse); only a random direction for each
word or each n-gram (worse, but best for Chinese); a larger direction of its own for each word (tells more words apart,
but misses more that belong together).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats, Ids, Offsets, Vectors, thread_count, without_caches
from siamese_cbow.errors import InputError
from siamese_cbow.kernels.means_reference import compose, signs
from siamese_cbow.model.packed_rows import LARGEST_NUMBER, codes_of_bytes, is_mapped, two_a_byte
from siamese_cbow.words.unknown_words import UnknownWords, key_of, ngrams
from siamese_cbow.words.vocabulary import Vocabulary, most_frequent

if TYPE_CHECKING:
    from siamese_cbow.kernels.ngram_rows import UnknownRows

RULE = 1  # how words are split into n-grams and composed; changing either requires a new rule
N_BUCKETS = 8_192
SOME_BUCKETS = 512  # whose vectors stay in the cache during an operation
FITTED_WORDS = 20_000  # the most frequent ones: more help little, and only in large vocabularies
ROUNDS = 8  # of conjugate gradients; the fit need not be exact, and more did not help
PENALTY = 1.0
RANDOM_SHARE, OWN_SHARE = 0.2, 0.1  # shares of a word's length: random parts of its n-grams, and its own direction
RARE_COUNT = 0.1  # the nominal count of an unknown word
SPREAD = 3.0  # standard deviations that the largest code represents
LARGEST = 7
REMEMBERED = 2_048  # cached rows of unknown words


@dataclass(frozen=True, eq=False)
class NGramVectors:
    """The packed vectors of n-grams, and how to compose words from them.

    pairs   (n_buckets, half of dim, rounded up) uint8, two codes of -7 to 7 per byte; n_buckets is a power of two
    dim     columns
    scale   the value of a code of 1
    own     length of a word's own direction, before the sum is scaled to its length
    length  of the row of every unknown word
    """

    pairs: NDArray[np.uint8]
    dim: int
    scale: float
    own: float
    length: float

    def __post_init__(self) -> None:
        n_buckets = len(self.pairs)
        shape = n_buckets, (self.dim + 1) // 2
        if self.pairs.shape != shape or n_buckets < 1 or n_buckets & (n_buckets - 1) or self.pairs.dtype != np.uint8:
            raise InputError(
                f"vectors of n-grams are {self.pairs.dtype} {self.pairs.shape}; expected uint8, for a power of two of "
                f"buckets, {shape[1]} bytes each"
            )
        for name in ("scale", "own", "length"):
            if not 0 <= getattr(self, name) <= LARGEST_NUMBER:
                raise InputError(f"vectors of n-grams have {getattr(self, name)} for {name}; expected 0 or more")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NGramVectors):
            return NotImplemented
        return np.array_equal(self.pairs, other.pairs) and self._numbers == other._numbers

    __hash__ = None  # type: ignore[assignment]  # compared by content

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @property
    def n_buckets(self) -> int:
        """The number of buckets, a power of two."""
        return len(self.pairs)

    @property
    def _numbers(self) -> tuple[int, float, float, float]:
        return self.dim, self.scale, self.own, self.length

    @property
    def _lengths(self) -> Floats:
        return np.array([self.scale, self.own, self.length])

    # words

    def row(self, word: str) -> Vectors:
        """The vector of a word, (dim,) float32, in plain NumPy; recent ones are cached."""
        if word not in self._rows:
            if len(self._rows) >= REMEMBERED:
                self._rows.clear()
            buckets = ngrams(word, self.n_buckets)
            codes = codes_of_bytes(self.pairs.take([b for b in buckets if b >= 0], 0), self.dim).astype(np.int64)
            self._rows[word] = compose(codes, len(buckets), key_of(word), self.scale, self.own, self.length)
        return self._rows[word]

    @cached_property
    def _rows(self) -> dict[str, Vectors]:
        return {}

    def rows_of(self, words: Sequence[str]) -> WordRows:
        """The vectors of the words of a text, composed on demand."""
        return WordRows(self, words)

    def rows(self, unknown: UnknownWords) -> Vectors:
        """The vectors of many words, (n_words, dim), with the same bits as `row`."""
        from siamese_cbow.kernels.ngram_rows import compose_rows

        out = np.empty((len(unknown.keys), self.dim), np.float32)
        compose_rows(unknown, self._padded, self.dim, self._lengths, out)
        return out

    def as_asked_for(self, unknown: UnknownWords) -> UnknownRows:
        """The same for `kernels.means`, which composes each row where a text contains the word."""
        from siamese_cbow.kernels.ngram_rows import rows_as_asked_for

        return rows_as_asked_for(unknown, self._padded, self.dim, self._lengths)

    def rows_of_known(self, vocabulary: Vocabulary, first: int, last: int) -> Vectors:
        """The vectors that words first to last - 1 of a vocabulary would get if they were unknown, (n, dim)."""
        words = _ngrams(vocabulary, np.arange(first, last), self.n_buckets)
        return self.rows(UnknownWords(*words, np.array([0, last - first])))

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """All codes, unpacked, (n_buckets, dim)."""
        return codes_of_bytes(self.pairs, self.dim).astype(np.int8)

    @cached_property
    def _padded(self) -> NDArray[np.uint8]:
        from siamese_cbow.kernels.ngram_rows import padded

        return padded(self.codes)

    # derived vectors

    def in_memory(self) -> NGramVectors:
        """The same, loaded into memory."""
        return replace(self, pairs=self.pairs.copy()) if is_mapped(self.pairs) else self

    def along(self, directions: Floats, factors: Floats) -> NGramVectors:
        """The vectors with each direction of an orthonormal basis scaled by its factor; `own` and `length` follow."""
        vectors = self.codes * np.float32(self.scale)
        changed = (((vectors @ directions.T) * factors) @ directions).astype(np.float32)
        before, after = (float(np.sqrt(np.square(rows, dtype=np.float64).mean())) for rows in (vectors, changed))
        ratio = after / before if before > 0 else 1.0
        return _packed(changed, self.own * ratio, self.length * ratio)

    # files

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are stored in a file and that `of_arrays` takes."""
        numbers = np.array([RULE, self.dim, self.scale, self.own, self.length], np.float64)
        return {"pairs": self.pairs, "numbers": numbers}

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]], dim: int) -> NGramVectors:
        """The vectors in the arrays of a file, checked, for a model of `dim` dimensions."""
        if arrays.keys() != {"pairs", "numbers"} or arrays["numbers"].shape != (5,):
            raise InputError(f"vectors of n-grams are in {', '.join(arrays)}; expected pairs and numbers")
        rule, columns, *numbers = arrays["numbers"].astype(np.float64).tolist()
        if rule != RULE:
            raise InputError(
                f"n-grams are cut by rule {rule:g}, but this siamese-cbow reads rule {RULE}; "
                "type pip install -U siamese-cbow"
            )
        if columns != dim:
            raise InputError(f"vectors of n-grams have {columns:g} dimensions, the model has {dim}")
        return cls(arrays["pairs"], dim, *numbers)


class WordRows:
    """The rows of words, (n_words, dim), composed on demand: a megabyte of words would take a gigabyte."""

    def __init__(self, ngrams: NGramVectors, words: Sequence[str]) -> None:
        self._ngrams, self._words = ngrams, words

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, rows: slice) -> Vectors:
        return np.array([self._ngrams.row(word) for word in self._words[rows]], np.float32)


def fitted(vocabulary: Vocabulary, vectors: Vectors, *, threads: int | None = None) -> NGramVectors:
    """The vectors of n-grams for a model's words and rows; the same bits on any number of threads."""
    from concurrent.futures import ThreadPoolExecutor  # late: it loads logging, which is slow

    from siamese_cbow.kernels.ngram_rows import BLOCK

    counts = np.asarray(vocabulary.counts)
    length = _length(vectors, counts)
    ids = most_frequent(counts, FITTED_WORDS)
    buckets, starts, _ = _ngrams(vocabulary, ids, N_BUCKETS)
    solved = np.empty((N_BUCKETS, vectors.shape[1]), np.float32)

    def solve(first: int) -> None:
        targets = np.zeros((len(ids), BLOCK), np.float32)
        some = vectors[ids, first : first + BLOCK]
        targets[:, : some.shape[1]] = some
        solved[:, first : first + BLOCK] = _conjugate_gradients(buckets, starts, targets)[:, : some.shape[1]]

    def add_random_part(first: int) -> None:
        buckets = np.arange(first, first + SOME_BUCKETS, dtype=np.uint64)
        solved[first : first + SOME_BUCKETS] += share * signs(buckets, vectors.shape[1])

    share = np.float32(RANDOM_SHARE * length / vectors.shape[1] ** 0.5)
    with ThreadPoolExecutor(thread_count(threads)) as pool:
        list(pool.map(solve, range(0, vectors.shape[1], BLOCK)))
        list(pool.map(add_random_part, range(0, N_BUCKETS, SOME_BUCKETS)))
    return _packed(solved, OWN_SHARE * length, length)


def _ngrams(
    vocabulary: Vocabulary, ids: NDArray[np.integer[Any]], n_buckets: int
) -> tuple[Ids, Offsets, NDArray[np.uint64]]:
    """The n-grams of words as written in texts ("haus" for de:haus in a multilingual model): see `ngrams_of`."""
    from siamese_cbow.words.lookup import written_out
    from siamese_cbow.words.word_parts import ngrams_of

    words = [vocabulary.words[i] for i in ids.tolist()]
    return ngrams_of(*written_out([w.partition(":")[2] for w in words] if vocabulary.languages else words), n_buckets)


def _length(vectors: Vectors, counts: Counts) -> float:
    """The length of unknown words: that of the rarest quarter of known words, scaled up for being rarer still."""
    rarest = np.argsort(counts, kind="stable")[: max(1, len(counts) // 4)]
    squares = np.square(vectors[rarest], dtype=np.float64).sum(axis=1)
    length = float(np.sqrt(squares.mean()))
    if not counts.any():
        return length
    known, unknown = (np.log1p(counts.sum() / count) for count in (max(1, int(counts.min())), RARE_COUNT))
    return length * float(unknown / known)


def _conjugate_gradients(buckets: Ids, starts: Offsets, targets: Vectors) -> Vectors:
    """Solves for S (N_BUCKETS, k), whose rows compose the targets (n_words, k); see `kernels.ngram_rows`."""
    from siamese_cbow.kernels.ngram_rows import normal_product, transposed_product

    rest, moved = (np.empty((N_BUCKETS, targets.shape[1]), np.float32) for _ in range(2))
    row = np.empty(targets.shape[1], np.float32)
    transposed_product(buckets, starts, targets, rest)
    solved, step, size = np.zeros_like(rest), rest.copy(), _squares(rest)
    for _ in range(ROUNDS):
        normal_product(buckets, starts, PENALTY, step, row, moved)
        far = (size / np.maximum((step.astype(np.float64) * moved).sum(axis=0), 1e-30)).astype(np.float32)
        solved += far * step
        rest -= far * moved
        size, before = _squares(rest), size
        step = rest + (size / np.maximum(before, 1e-30)).astype(np.float32) * step
    return solved


def _squares(rows: Vectors) -> Floats:
    squares: Floats = np.square(rows, dtype=np.float64).sum(axis=0)
    return squares


def _packed(vectors: Vectors, own: float, length: float) -> NGramVectors:
    """Four bits per number, one scale for all: integer sums are exact."""
    scale = float(np.sqrt(np.square(vectors, dtype=np.float64).mean())) * SPREAD / LARGEST
    codes = np.clip(np.rint(vectors / np.float32(scale or 1)), -LARGEST, LARGEST).astype(np.int8)
    return NGramVectors(two_a_byte(codes), vectors.shape[1], scale, own, length)
