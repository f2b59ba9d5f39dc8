"""Random word vectors: what averaging achieves before anything is learnt.

Two sentences are similar only as far as they share words: a strong baseline that every system must be compared with. A
word's vector depends only on the word and the seed, so any two runs agree on it in any vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.option_fields import check_options, option
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

BLOCK = 4096  # words processed at a time; bounds the memory


@dataclass(frozen=True)
class RandomVectors:
    """Normal random numbers for each word. `RandomVectors(dim=300, seed=1).train(stream)` -> Model."""

    dim: int = option(300, "Vector size.", at_least=1)
    seed: int = option(1, "Random seed.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Random vectors for the words of the stream."""
        info = {"recipe": {"name": "random", **asdict(self)}, "corpus": stream.fingerprint}
        return Model(
            stream.vocabulary, random_rows(stream.vocabulary.words, self.dim, self.seed), stream.tokenizer, info
        )

    def encode(self, sentences: Sequence[str], *, tokenizer: Tokenizer | None = None) -> Vectors:
        """The means of random vectors, (n, dim). Every word has a vector, so none is unknown."""
        tokenizer = tokenizer or Tokenizer()
        words = list(dict.fromkeys(word for sentence in sentences for word in tokenizer.words(sentence)))
        if not words:
            return np.zeros((len(sentences), self.dim), dtype=np.float32)
        rows = random_rows(words, self.dim, self.seed)
        return Model(Vocabulary.of_words(words), rows, tokenizer).encode(list(sentences))


def random_rows(words: Sequence[str], dim: int, seed: int) -> Vectors:
    """A normal random vector for each word, (n_words, dim) float32, from a hash of the word and the seed."""
    rows = np.empty((len(words), dim), dtype=np.float32)
    for start in range(0, len(words), BLOCK):
        keys = np.array([_key(word, seed) for word in words[start : start + BLOCK]], dtype=np.uint64)
        rows[start : start + BLOCK] = _normal(keys, dim)
    return rows


def _key(word: str, seed: int) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")


def _normal(keys: NDArray[np.uint64], dim: int) -> NDArray[np.float64]:
    """Normal random numbers (n, dim): Box-Muller over the SplitMix64 sequences that start at `keys`."""
    half = (dim + 1) // 2
    with np.errstate(over="ignore"):
        steps = np.arange(1, 2 * half + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = keys[:, None] + steps
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53  # never 0, so the logarithm is finite
    radius, angle = np.sqrt(-2 * np.log(uniform[:, :half])), 2 * np.pi * uniform[:, half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dim]
