"""word2vec, CBOW and skip-gram, trained by gensim on exactly the stream's sentences and vocabulary.

The defaults are the paper's: dim 300, window 5, subsampling 1e-5, 5 negatives, no hierarchical softmax. gensim's
threads race, so with more than one the same seed gives slightly different vectors; `threads=1` gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.errors import MissingExtra, SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream

Algorithm: TypeAlias = Literal["cbow", "skipgram"]
LONGEST = 10_000  # words; gensim would silently drop the rest of a longer sentence
BLOCK = 1000  # sentences between two reports of progress


@dataclass(frozen=True)
class Word2Vec:
    """`Word2Vec("skipgram", dim=300).train(stream)` -> Model. Names are gensim's where they differ from the paper's."""

    algorithm: Algorithm = "cbow"
    dim: int = 300
    window: int = 5
    negative: int = 5
    sample: float = 1e-5
    alpha: float = 0.025
    min_alpha: float = 0.0001
    epochs: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        if self.algorithm not in get_args(Algorithm):
            raise SettingsError(f"algorithm is {self.algorithm!r}; expected {' or '.join(get_args(Algorithm))}")
        for name in ("dim", "window", "negative", "epochs"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; expected 1 or more")

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train on the stream; `progress` advances by tokens, `epochs` times through all of them."""
        try:
            from gensim.models import Word2Vec as Gensim
        except ImportError:
            raise MissingExtra("gensim", "baselines") from None
        theirs = Gensim(
            sg=int(self.algorithm == "skipgram"),
            vector_size=self.dim,
            window=self.window,
            negative=self.negative,
            sample=self.sample,
            alpha=self.alpha,
            min_alpha=self.min_alpha,
            epochs=self.epochs,
            seed=self.seed,
            min_count=1,  # the stream has left out rare words already
            hs=0,
            workers=thread_count(threads),
        )
        words = stream.vocabulary.words
        theirs.build_vocab_from_freq(dict(zip(words, stream.vocabulary.counts.tolist(), strict=True)))
        sentences = _Sentences(stream, progress)
        theirs.train(sentences, total_words=stream.n_tokens, total_examples=stream.n_sentences, epochs=self.epochs)
        rows = theirs.wv.vectors[[theirs.wv.key_to_index[word] for word in words]]
        info = {"recipe": {"name": "word2vec", **asdict(self)}, "corpus": stream.fingerprint}
        return Model(stream.vocabulary, rows.astype(np.float32), stream.tokenizer, info)


class _Sentences:
    """The sentences of a stream as lists of words, again from the start for every epoch."""

    def __init__(self, stream: Stream, progress: Progress) -> None:
        self._stream, self._progress = stream, progress

    def __iter__(self) -> Iterator[list[str]]:
        words, stream = self._stream.vocabulary.words, self._stream
        for first in range(0, stream.n_sentences, BLOCK):
            offsets = stream.sentences[first : first + BLOCK + 1].tolist()
            block = [words[i] for i in stream.ids[offsets[0] : offsets[-1]].tolist()]
            for start, end in pairwise(offsets):
                for piece in range(start, end, LONGEST):
                    yield block[piece - offsets[0] : min(piece + LONGEST, end) - offsets[0]]
            self._progress.advance(len(block))
