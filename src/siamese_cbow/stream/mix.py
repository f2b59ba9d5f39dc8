"""Several streams for one training run: running text and pairs, or a new text and some of an old one.

    Mix([wikipedia, captions])                  an epoch goes through both, in alternating pieces
    Mix([wikipedia, captions], passes=[1, 5])   and five times through the captions

The streams are not changed; each keeps its own vocabulary. The model gets the words of all.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from siamese_cbow.errors import InputError, SettingsError, counted
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Mix:
    """Streams, and the passes over each per epoch: 1 by default; 0.1 is a tenth.

    `Mix([text, pairs], passes=[1])` -> SettingsError: 1 value in passes for 2 streams
    """

    streams: Sequence[Stream]
    passes: Sequence[float] = ()

    def __post_init__(self) -> None:
        for name, of in (("streams", "of Stream"), ("passes", "of numbers")):
            if not isinstance(value := getattr(self, name), list | tuple):
                raise InputError(f"{name} is {value!r:.60} ({type(value).__name__}); expected a list {of}")
        object.__setattr__(self, "passes", tuple(self.passes) or (1.0,) * len(self.streams))
        _check(self.streams, self.passes)

    @classmethod
    def of(cls, streams: Stream | Mix | Sequence[Stream]) -> Mix:
        """The argument as a mix: a single stream is a mix of one."""
        if isinstance(streams, Mix):
            return streams
        several: Any = streams  # anything but a list counts as a single stream, and is checked
        return cls(list(several) if isinstance(several, list | tuple) else [several])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of all streams."""
        return joined(stream.vocabulary for stream in self.streams)

    @property
    def tokenizer(self) -> Tokenizer:
        """How all of them were tokenised."""
        return self.streams[0].tokenizer

    @property
    def language(self) -> str:
        """The language whose stems are used: that of the first stream."""
        return self.streams[0].language

    @property
    def known_language(self) -> str | None:
        """The language of all streams; None if they differ, or if one was guessed or is of version 0.1.0."""
        known = {stream.about.get("language") for stream in self.streams}
        return known.pop() if len(known) == 1 else None

    @property
    def n_tokens(self) -> int:
        """Approximate number of words in an epoch."""
        return round(sum(n * stream.n_tokens for n, stream in zip(self.passes, self.streams, strict=True)))

    @property
    def fingerprint(self) -> str:
        """A hash of the streams and their passes; for a single stream, its own."""
        if len(self.streams) == 1 and self.passes[0] == 1:
            return self.streams[0].fingerprint
        parts = [f"{n!r} {stream.fingerprint}" for n, stream in zip(self.passes, self.streams, strict=True)]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    def about(self) -> dict[str, Any]:
        """The facts about its corpus that a model records; for several streams, also those of each."""
        about: dict[str, Any] = {"fingerprint": self.fingerprint, "n_tokens": self.n_tokens}
        if len(self.streams) > 1:
            about["streams"] = [
                {"kind": stream.kind, "passes": n, "fingerprint": stream.fingerprint, "n_tokens": stream.n_tokens}
                for n, stream in zip(self.passes, self.streams, strict=True)
            ]
        return about

    def __repr__(self) -> str:
        parts = [
            f"{stream!r}" if n == 1 else f"{n:g} x {stream!r}"
            for n, stream in zip(self.passes, self.streams, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        return f"<Mix of {' and '.join(parts)}; {counted(len(self.vocabulary), 'word')} in all>"


def joined(vocabularies: Iterable[Vocabulary]) -> Vocabulary:
    """The words of all vocabularies, with their counts added up: 3 the 1 cat + 2 the 4 dog -> 5 the 4 dog 1 cat.

    Equal vocabularies count once: a text prepared with the vocabulary of another has that one's counts, not its own.
    """
    different: list[Vocabulary] = []
    for vocabulary in vocabularies:
        if vocabulary not in different:
            different.append(vocabulary)
    if len(different) == 1:
        return different[0]
    counts: Counter[str] = Counter()
    for vocabulary in different:
        counts.update(dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)))
    together, languages = Vocabulary.of_counts(counts, min_count=0), different[0].languages
    return Vocabulary.joint({code: together.of_language(code)[0] for code in languages}) if languages else together


def _check(streams: Sequence[Stream], passes: Sequence[float]) -> None:
    if not streams:
        raise SettingsError("no stream; expected at least one: pass what prepare(...) or Stream.load(folder) returns")
    if len(passes) != len(streams):
        raise SettingsError(
            f"{counted(len(passes), 'value')} in passes for {counted(len(streams), 'stream')}; expected one for each, "
            "such as --passes 1,5"
        )
    for n in passes:
        if isinstance(n, bool) or not isinstance(n, int | float) or not math.isfinite(n) or n <= 0:
            raise SettingsError(f"passes is {n!r}; expected numbers above 0")
    for number, stream in enumerate(streams, 1):
        if not isinstance(stream, Stream):
            raise InputError(
                f"stream {number} is {stream!r:.60} ({type(stream).__name__}); expected a stream, from prepare(...) or "
                "Stream.load(folder)"
            )
    first = streams[0]
    for number, stream in enumerate(streams[1:], 2):
        if stream.tokenizer != first.tokenizer:
            raise InputError(
                f"stream {number} was tokenised differently from stream 1 ({stream.tokenizer} and "
                f"{first.tokenizer}); prepare both with the same --tokenizer, --lowercase and --punctuation, "
                "and with the same siamese-cbow"
            )
        if stream.vocabulary.languages != first.vocabulary.languages:
            languages, expected = (",".join(part.vocabulary.languages) or "none" for part in (stream, first))
            raise InputError(
                f"stream {number} has the languages {languages} but stream 1 has {expected}; prepare both "
                "with the same --languages"
            )
