"""word2vec, CBOW and skip-gram, trained by gensim on exactly the stream's sentences and vocabulary.

The defaults are the paper's: dim 300, window 5, subsampling 1e-5, 5 negatives, no hierarchical softmax. Where the paper
states nothing, they are word2vec's own: 5 epochs, a learning rate of .05 for CBOW and .025 for skip-gram. gensim's
threads race, so with more than one thread the same seed gives slightly different vectors; `threads=1` gives the same
bytes.
"""

# ruff: noqa: RUF009 (`option` makes fields of dataclasses)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.option_fields import check_options, option
from siamese_cbow.errors import needs
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream

Algorithm: TypeAlias = Literal["cbow", "skipgram"]
RATES: dict[Algorithm, float] = {"cbow": 0.05, "skipgram": 0.025}  # initial rates of word2vec.c
LONGEST = 10_000  # words; gensim would silently drop the rest of a longer sentence
BLOCK = 1000  # sentences between two reports of progress


@dataclass(frozen=True)
class Word2Vec:
    """`Word2Vec("skipgram", dim=300).train(stream)` -> Model. Names are gensim's where they differ from the paper's."""

    algorithm: Algorithm = option("cbow", "Architecture: CBOW or skip-gram.")
    dim: int = option(300, "Vector size.", at_least=1)
    window: int = option(5, "Context words on either side.", at_least=1)
    negative: int = option(5, "Negative samples per predicted word.", at_least=1)
    sample: float = option(1e-5, "Randomly drop words more frequent than this share of the text.", at_least=0)
    alpha: float | None = option(
        None, "Initial learning rate; None: word2vec's own, .05 for CBOW and .025 for skip-gram.", above=0
    )
    min_alpha: float = option(0.0001, "Final learning rate.", at_least=0)
    epochs: int = option(5, "Passes over the text.", at_least=1)
    seed: int = option(1, "Random seed.", at_least=0)

    def __post_init__(self) -> None:
        if self.alpha is None:
            object.__setattr__(self, "alpha", RATES.get(self.algorithm))
        check_options(self)

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train on the stream; `progress` advances by tokens, `epochs` times through all of them."""
        with needs("gensim", "baselines"):
            from gensim.models import Word2Vec as Gensim
        settings = asdict(self)
        theirs = Gensim(
            sg=int(settings.pop("algorithm") == "skipgram"),
            vector_size=settings.pop("dim"),
            **settings,
            min_count=1,  # the stream has already dropped rare words
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
    """The sentences of a stream as lists of words, restarted for every epoch."""

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
