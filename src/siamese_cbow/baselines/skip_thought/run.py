"""The settings of skip-thought, and the way from a stream to an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder, needs_torch
from siamese_cbow.baselines.skip_thought.expansion import expand
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import at_least_1
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.vocabulary import Vocabulary

Kind: TypeAlias = Literal["uni", "bi", "combine"]

_COUNTS = ("dim", "dim_word", "n_words", "samples", "epochs", "max_tokens", "batch_size", "max_length")
_PARTS = {"uni": ("uni",), "bi": ("bi",), "combine": ("uni", "bi")}


@dataclass(frozen=True)
class SkipThought:
    """`SkipThought(dim=600).train(stream)` -> SkipThoughtEncoder.

    The defaults take minutes on two cores, not the two weeks on a GPU of the original, and see a small part of a large
    corpus; the original's size is `SkipThought("combine", dim=2400, dim_word=620, samples=None, max_tokens=None)`.

    kind           uni: one encoder; bi: a forward and a backward one of half the size; combine: both, side by side
    dim            of uni and of bi; combine has twice as many
    dim_word       of word vectors
    n_words        most frequent words that have a vector; all others are one unknown word
    samples        words that the softmax is estimated from; None for the full softmax, five times slower
    epochs         times through the corpus, unless one of the next two ends it before
    max_tokens     words to read in all, by each encoder; None for no limit
    minutes        time to train, by each encoder; with it, the same seed no longer gives the same bytes
    batch_size     sentences
    max_length     words; of a longer sentence the first ones are used, and their number is said
    learning_rate  of Adam
    clip           the length that gradients are cut to
    """

    kind: Kind = "uni"
    dim: int = 600
    dim_word: int = 300
    n_words: int = 20_000
    samples: int | None = 1000
    epochs: int = 1
    max_tokens: int | None = 1_000_000
    minutes: float | None = None
    batch_size: int = 128
    max_length: int = 30
    learning_rate: float = 0.001
    clip: float = 10.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingsError(f"kind is {self.kind!r}; expected one of {', '.join(get_args(Kind))}")
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name} is {value}; expected 1 or more")
        for name in ("learning_rate", "clip", "minutes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SettingsError(f"{name} is {value}; expected a number above 0")
        if self.dim % 2 and self.kind != "uni":
            raise SettingsError(f"dim is {self.dim}; expected an even number for {self.kind}: half for each direction")

    @property
    def parts(self) -> tuple[str, ...]:
        """The encoders to train, one after the other: `SkipThought("combine").parts` -> ("uni", "bi")."""
        return _PARTS[self.kind]

    def work(self, stream: Stream) -> int:
        """Words that `train` will read in all, which is what its progress advances by (but for `minutes`)."""
        words = self.epochs * stream.n_tokens
        return len(self.parts) * (words if self.max_tokens is None else min(words, self.max_tokens))

    def train(
        self,
        stream: Stream,
        *,
        checkpoints: Path | str | None = None,
        checkpoint_every: int = 200,
        word_vectors: tuple[Sequence[str], Vectors] | None = None,
        threads: int = 2,
        progress: Progress = SILENT,
    ) -> SkipThoughtEncoder:
        """An encoder, trained on sentences and their neighbours.

        checkpoints       a folder; if it has a run of the same recipe on the same stream, that run goes on. The end of
                          training may be another: more epochs, tokens or minutes make a run longer
        checkpoint_every  batches
        word_vectors      words and vectors, such as word2vec's, that bring in words beyond `n_words`; see `expand`
        threads           of PyTorch; not taken from the machine, because the last bits of the result may depend on it
        """
        thread_count(threads)
        at_least_1("checkpoint_every", checkpoint_every)
        needs_torch()
        from siamese_cbow.baselines.skip_thought.learning import train_part

        if not (stream.documents[1:] - stream.documents[:-1] > 1).any():
            raise InputError(
                "no document of the stream has two sentences, and skip-thought learns from neighbours; "
                "prepare the text with another --layout or --boundary"
            )
        folder = None if checkpoints is None else Path(checkpoints)
        trained = [
            train_part(
                self, part, stream, folder and folder / part, every=checkpoint_every, threads=threads, progress=progress
            )
            for part in self.parts
        ]
        info = {
            "recipe": {"name": "skip-thought", **asdict(self)},
            "corpus": stream.fingerprint,
            "training": {name: report for name, (_, report) in zip(self.parts, trained, strict=True)},
        }
        words = Vocabulary(stream.vocabulary.words[: self.n_words], stream.vocabulary.counts[: self.n_words])
        parts = tuple(part for part, _ in trained)
        encoder = SkipThoughtEncoder(words, parts, stream.tokenizer, len(words), info)
        return encoder if word_vectors is None else expand(encoder, *word_vectors, progress=progress)
