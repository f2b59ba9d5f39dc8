"""Texts and token ids -> vectors for a server: the first answer must not wait for a compiler, and the bulk be fast.

A server starts on the small path (plain Python and NumPy). A thread loads the bulk path meanwhile, and once it is there
everything goes that way. Both give the same bits; see `siamese_cbow.model.encoding`.

Tokens are counted on the way: words that have a vector, for these are the ones that make it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.model.model import Model
from siamese_cbow.words.unknown_words import finder

if TYPE_CHECKING:
    from siamese_cbow.words.lookup import AnyLookup


class Embedder:
    """A model as a server uses it: `Embedder(model).texts(["the cat"], dim=300, normalize=True)` -> (1, 300), 2."""

    # What takes about a millisecond: nobody waits for less.
    QUICK, QUICK_BULK = 4_000, 150_000  # characters

    def __init__(self, model: Model) -> None:
        self.model = model
        _ = model.vocabulary.index  # made now, not while the first client waits
        self._id_of = finder(model.vocabulary, model.fallback)
        self._lookup: AnyLookup | None = None
        self._warming = threading.Lock()

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.model.dim

    @property
    def is_warm(self) -> bool:
        """Whether the bulk path is loaded."""
        return self._lookup is not None

    def warm(self) -> None:
        """Loads the bulk path, which takes from one second to a minute (once per installation). For a thread."""
        with self._warming:
            if self._lookup is None:
                from siamese_cbow.kernels.means import means
                from siamese_cbow.words.lookup import lookup_of

                lookup = lookup_of(self.model.vocabulary, self.model.tokenizer, self.model.fallback)
                ids, offsets = lookup.ids(["a", "b"])
                for normalize in (False, True):
                    means(self.model.vectors, ids, offsets, normalize, np.empty((2, self.dim), np.float32))
                self._lookup = lookup

    def is_quick(self, n_characters: int) -> bool:
        """Whether so much text is done in about a millisecond."""
        return n_characters <= (self.QUICK_BULK if self.is_warm else self.QUICK)

    def texts(self, texts: Sequence[str], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The vectors (n_texts, dim), and the number of words that have one."""
        if self._lookup is not None:
            return self._bulk(*self._lookup.ids(texts), dim, normalize)
        index, words = self._id_of, self.model.tokenizer.words
        return self._small([[i for i in map(index, words(text)) if i is not None] for text in texts], dim, normalize)

    def ids(self, ids: Sequence[Sequence[int]], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The same for texts that come as ids: `ids([[0, 3], [1]], ...)` -> (2, dim), 3."""
        n_words = len(self.model.vocabulary)
        for number, text in enumerate(ids):
            if text and not (min(text) >= 0 and max(text) < n_words):
                wrong = next(i for i in text if not 0 <= i < n_words)
                raise InputError(f"input {number} has the token id {wrong}; expected 0 to {n_words - 1}")
        if self._lookup is None:
            return self._small(ids, dim, normalize)
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, ids), np.int64, len(ids)), out=offsets[1:])
        flat = np.fromiter(chain.from_iterable(ids), np.int32, int(offsets[-1]))
        return self._bulk(flat, offsets, dim, normalize)

    def _small(self, ids: Sequence[Sequence[int]], dim: int, normalize: bool) -> tuple[Vectors, int]:
        rows = np.empty((len(ids), dim), np.float32)
        for row, one in zip(rows, ids, strict=True):
            row[:] = mean_of_rows(self.model.rows, one, dim, normalize=normalize)
        return rows, sum(map(len, ids))

    def _bulk(self, ids: Ids, offsets: Offsets, dim: int, normalize: bool) -> tuple[Vectors, int]:
        from siamese_cbow.kernels.means import means

        out = np.empty((len(offsets) - 1, dim), np.float32)
        means(self.model.vectors, ids, offsets, normalize, out)
        return out, len(ids)
