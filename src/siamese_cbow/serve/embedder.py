"""Texts and token ids -> vectors for a server: the first answer must not wait for a compiler, and the bulk be fast.

A server starts on the small path (plain Python and NumPy). A thread loads the bulk path meanwhile, and once it is there
everything goes that way. Both give the same bits; `siamese_cbow.model.encoding` has both, and knows which one is taken.

Tokens are counted on the way: words that have a vector, for these are the ones that make it.

The rows are held in memory: a file that is cut short while it is mapped would end the whole process (SIGBUS).
"""

from __future__ import annotations

from collections.abc import Sequence

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.model.encoding import Encoder
from siamese_cbow.model.model import Model


class Embedder:
    """A model as a server uses it: `Embedder(model).texts(["the cat"], dim=300, normalize=True)` -> (1, 300), 2."""

    # What takes about a millisecond: nobody waits for less.
    QUICK, QUICK_BULK = 4_000, 150_000  # characters

    def __init__(self, model: Model) -> None:
        self.model = model = model.in_memory()
        _ = model.vocabulary.index  # made now, not while the first client waits
        self._encoder = Encoder(model.vocabulary, model.rows, model.tokenizer, model.fallback)

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.model.dim

    @property
    def is_warm(self) -> bool:
        """Whether the bulk path is loaded."""
        return self._encoder.is_bulk

    def warm(self) -> None:
        """Loads the bulk path, which takes from one second to a minute (once per installation). For a thread."""
        self._encoder.warm()

    def is_quick(self, n_characters: int) -> bool:
        """Whether so much text is done in about a millisecond."""
        return n_characters <= (self.QUICK_BULK if self.is_warm else self.QUICK)

    def texts(self, texts: Sequence[str], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The vectors (n_texts, dim), and the number of words that have one."""
        return self._encoder.counted(texts, dim=dim, normalize=normalize)

    def ids(self, ids: Sequence[Sequence[int]], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The same for texts that come as ids: `ids([[0, 3], [1]], ...)` -> (2, dim), 3."""
        n_words = len(self.model.vocabulary)
        for number, word_ids in enumerate(ids):
            if word_ids and not (min(word_ids) >= 0 and max(word_ids) < n_words):
                wrong = next(i for i in word_ids if not 0 <= i < n_words)
                raise InputError(f"input {number} has the token id {wrong}; expected 0 to {n_words - 1}")
        return self._encoder.of_ids(ids, dim=dim, normalize=normalize)
