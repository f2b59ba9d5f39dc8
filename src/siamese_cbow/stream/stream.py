"""A corpus as arrays: word ids, where each sentence starts, where each document starts. Made by `prepare`.

    documents  [0,             2,       3]        document 0 has sentences 0 and 1
    sentences  [0,      3,     5,       7]        sentence 1 has tokens 3 and 4
    ids        [0, 4, 1, 0, 2, 3, 0]              token 3 is word 0 of the vocabulary

On disk it is a folder of `.npy` files that are memory-mapped, so a stream may be larger than memory. Opening it scans
the arrays once, because kernels trust them: every id must be in the vocabulary, and offsets must rise. (A billion
tokens take half a second if the files are in memory, or else as long as reading 4.4 GB.) Sentences are adjacent if they
follow each other in one document; in a stream of groups, all members of a document are paraphrases of one another.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets, check_ids, check_offsets, mapped_array
from siamese_cbow.base.disk import as_path, file_text, what_reads
from siamese_cbow.base.notebook import card
from siamese_cbow.base.option_fields import at_least_1, checked_list, checked_value
from siamese_cbow.errors import FormatError, InputError, SettingsError, counted
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

FORMAT_VERSION = 1
ARRAYS: dict[str, Any] = {"ids": np.int32, "sentences": np.int64, "documents": np.int64}
ABOUT = "stream.json"
VOCABULARY = "vocabulary.txt"

StreamKind: TypeAlias = Literal["text", "groups"]


@dataclass(frozen=True, eq=False)
class Stream:
    """A corpus as arrays of word ids, ready for training: `prepare` makes one, `load` opens one."""

    ids: Ids  # (n_tokens,) int32
    sentences: Offsets  # (n_sentences + 1,): sentence i is ids[sentences[i] : sentences[i + 1]]
    documents: Offsets  # (n_documents + 1,): document i has sentences documents[i] up to documents[i + 1]
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    fingerprint: str
    kind: StreamKind = "text"
    about: Mapping[str, Any] = field(default_factory=dict)  # settings, sources and counts of `prepare`

    @property
    def n_tokens(self) -> int:
        """Number of known words."""
        return len(self.ids)

    @property
    def n_sentences(self) -> int:
        """Sentences with at least one known word."""
        return len(self.sentences) - 1

    @property
    def n_documents(self) -> int:
        """Documents with at least one such sentence."""
        return len(self.documents) - 1

    @property
    def language(self) -> str:
        """The language the text was prepared for, whose stems are used: "en"; several are in `vocabulary.languages`."""
        return str(self.about.get("settings", {}).get("text", {}).get("language", "en"))

    @property
    def extent(self) -> str:
        """For messages: "3 tokens in 1 sentence and 1 document"."""
        documents = counted(self.n_documents, "document" if self.kind == "text" else "group")
        return f"{counted(self.n_tokens, 'token')} in {counted(self.n_sentences, 'sentence')} and {documents}"

    def __repr__(self) -> str:
        return f"<Stream of {self.extent}; {counted(len(self.vocabulary), 'word')}>"

    def _repr_html_(self) -> str:
        sources = self.about.get("sources")
        entries = {
            "tokens": f"{self.n_tokens:,}",
            "sentences": f"{self.n_sentences:,}",
            "documents" if self.kind == "text" else "groups": f"{self.n_documents:,}",
            "words": f"{len(self.vocabulary):,}",
            "frequent": " ".join(self.vocabulary.frequent(12)),
            "language": "" if self.vocabulary.languages else self.language,
            "languages": ", ".join(self.vocabulary.languages),
            "sources": f"{len(sources):,}" if isinstance(sources, list | Mapping) else "",
        }
        return card("Stream", entries)

    @classmethod
    def of_words(
        cls, documents: Iterable[Sequence[Sequence[str]]], *, min_count: int = 1, kind: StreamKind = "text"
    ) -> Stream:
        """A stream in memory, from words: documents of sentences of words.

        `Stream.of_words([[["a", "b"], ["a"]]]).ids` -> [0, 1, 0]
        """
        listed = [
            [
                checked_list(f"sentence {j} of document {i}", sentence, "words")
                for j, sentence in enumerate(checked_list(f"document {i}", document, "sentences"))
            ]
            for i, document in enumerate(checked_list("documents", documents, "documents"))
        ]
        words = list(chain.from_iterable(chain.from_iterable(listed)))
        for word in words if {*map(type, words)} - {str} else ():
            checked_value("a word", word, str)
        counts = Counter(words)
        vocabulary = Vocabulary.of_counts(counts, min_count=min_count)
        index = vocabulary.index
        known = [[[index[word] for word in sentence if word in index] for sentence in document] for document in listed]
        known = [kept for document in known if (kept := [sentence for sentence in document if sentence])]
        flat = list(chain.from_iterable(known))
        ids = np.fromiter(chain.from_iterable(flat), np.int32)
        sentences = np.fromiter(accumulate(map(len, flat), initial=0), np.int64)
        bounds = np.fromiter(accumulate(map(len, known), initial=0), np.int64)
        tokenizer = Tokenizer("whitespace", lowercase=False)
        digest = hashlib.blake2b(f"{kind} {vocabulary.hash()}".encode(), digest_size=16)
        for array in (ids, sentences, bounds):
            digest.update(array.tobytes())
        return cls(ids, sentences, bounds, vocabulary, tokenizer, digest.hexdigest(), kind)

    def parts(self, n: int) -> list[range]:
        """The sentences of n parts of about equal size; a part ends with a document if the end of one is near.

        Documents of 49 and 51 sentences, 2 parts -> sentences 0 to 49, 49 to 100
        """
        n = at_least_1("n", n)
        ideal = np.linspace(0, self.n_sentences, n + 1)[1:-1]
        after = np.searchsorted(self.documents, ideal)
        near = np.stack([self.documents[np.maximum(after - 1, 0)], self.documents[after]])
        ends = near[np.abs(near - ideal).argmin(axis=0), np.arange(n - 1)]
        if self.kind == "text":  # a cut inside a long document loses one pair of neighbours
            ends = np.where(np.abs(ends - ideal) > 0.02 * self.n_sentences / n, ideal.astype(np.int64), ends)
        bounds = [0, *ends.tolist(), self.n_sentences]
        return [range(first, last) for first, last in pairwise(bounds)]

    def part(self, chosen: range) -> Stream:
        """A stream of some of its sentences with the same vocabulary; ids stay on disk.

        Two documents of 3 sentences each, `part(range(2, 6))` -> documents of 1 and 3
        """
        checked_value("chosen", chosen, range)
        if len(chosen) == self.n_sentences:
            return self
        offsets = self.sentences[chosen.start : chosen.stop + 1]
        first, last = np.searchsorted(self.documents, [chosen.start + 1, chosen.stop])
        inside = self.documents[first:last]
        documents = np.concatenate([[chosen.start], inside, [chosen.stop]]) - chosen.start
        sentences = np.asarray(offsets - offsets[0])
        for array in (sentences, documents):
            array.setflags(write=self.sentences.flags.writeable)  # kernels are compiled for memory-mapped arrays
        return replace(self, ids=self.ids[offsets[0] : offsets[-1]], sentences=sentences, documents=documents)

    def in_pieces(self, n_words: int) -> Stream:
        """The same text in pieces of about this many words, each a sentence of the new stream; ids stay on disk.

        A sentence of 7 words and one of 2, `in_pieces(3)` -> pieces of 3, 4 and 2 words. Neighbours are mostly parts of
        one sentence, so that training learns from nearby words, as word2vec does, and less from topics.
        """
        n_words = at_least_1("n_words", n_words)
        lengths = np.diff(self.sentences)
        n_pieces = np.maximum(1, np.rint(lengths / n_words).astype(np.int64))  # of each sentence
        first = np.concatenate([[0], np.cumsum(n_pieces)])  # (n_sentences + 1,): the first piece of each
        place = np.arange(first[-1]) - np.repeat(first[:-1], n_pieces)  # of a piece in its sentence
        inside = place * np.repeat(lengths, n_pieces) // np.repeat(n_pieces, n_pieces)
        starts = np.repeat(self.sentences[:-1], n_pieces) + inside
        sentences, documents = np.append(starts, self.sentences[-1]), first[self.documents]
        for array in (sentences, documents):
            array.setflags(write=self.sentences.flags.writeable)  # kernels are compiled for memory-mapped arrays
        digest = hashlib.blake2b(f"pieces of {n_words} words: {self.fingerprint}".encode(), digest_size=16)
        return replace(self, sentences=sentences, documents=documents, fingerprint=digest.hexdigest())

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        vocabulary: Vocabulary | None = None,
        verify: bool = False,
        part: tuple[int, int] = (0, 1),
    ) -> Stream:
        """Opens a folder that `prepare` has written; the arrays stay on disk.

        vocabulary  the content of its vocabulary file, if known: a large one takes a while to read
        verify      recompute the fingerprint, which detects a single changed bit: a second per gigabyte
        part        (2, 5): only the third of five parts, and only that part is read
        """
        folder = as_path(path, "the stream")
        checked_value("vocabulary", vocabulary, Vocabulary, optional=True)
        if not isinstance(part, tuple | list) or len(part) != 2 or not all(isinstance(n, int) for n in part):
            raise SettingsError(f"part is {part!r:.60}; expected two numbers: (2, 5) is the third of five parts")
        about = read_about(folder)
        lengths = about["lengths"]
        arrays = {
            name: mapped_array(folder / f"{name}.npy", dtype, (lengths[name],), advice=_again(folder))
            for name, dtype in ARRAYS.items()
        }
        text = about["settings"]["text"]
        if vocabulary is None:
            vocabulary = Vocabulary.read(folder / VOCABULARY, languages=text.get("languages", ()))
        if len(vocabulary) != about["n_words"]:
            raise _broken(folder, f"{VOCABULARY} has {len(vocabulary):,} words but {ABOUT} says {about['n_words']:,}")
        tokenizer = Tokenizer.from_settings(about["settings"]["tokenizer"])
        stream = cls(**arrays, vocabulary=vocabulary, tokenizer=tokenizer, fingerprint=about["fingerprint"],
                     kind=text["kind"], about=about)  # fmt: skip
        if part[1] > 1:
            stream = stream.part(stream.parts(part[1])[part[0]])
        stream._check(folder)
        if verify:
            hashes = [hashlib.blake2b(array.data, digest_size=16).digest() for array in arrays.values()]
            seed = fingerprint_seed(tokenizer, stream.kind, text.get("languages", ()))
            if fingerprint_of(seed, vocabulary, hashes) != stream.fingerprint:
                raise _broken(folder, "its arrays or words do not match their checksum")
        return stream

    def _check(self, folder: Path) -> None:
        """Raises an error if a kernel would read beyond an array or use an id that is not in the vocabulary."""
        wrong = {
            "ids": check_ids(self.ids, len(self.vocabulary)),
            "sentences": check_offsets(self.sentences, self.n_tokens),
            "documents": check_offsets(self.documents, self.n_sentences),
        }
        for name, what in wrong.items():
            if what:
                raise _broken(folder, f"{name}.npy is damaged ({what})")


def fingerprint_seed(tokenizer: Tokenizer, kind: StreamKind, languages: Sequence[str]) -> str:
    """The settings that make streams with the same arrays and words differ."""
    return json.dumps(tokenizer.identity()) + " ".join([kind, *languages])


def fingerprint_of(seed: str, vocabulary: Vocabulary, hashes: Iterable[bytes]) -> str:
    """The fingerprint of a stream, from the hashes of its arrays."""
    digest = hashlib.blake2b(seed.encode() + bytes.fromhex(vocabulary.hash()), digest_size=16)
    for part in hashes:
        digest.update(part)
    return digest.hexdigest()


def is_stream(folder: Path) -> bool:
    """Whether `prepare` wrote this folder, even if parts of it are missing now."""
    return any((folder / name).is_file() for name in (ABOUT, *(f"{name}.npy" for name in ARRAYS)))


def read_about(folder: Path) -> dict[str, Any]:
    """`stream.json` of a folder, checked to be one that this version understands."""
    if not folder.is_dir():
        given = (folder, f"{folder.stem}@stream") if folder.is_file() else ("TEXT", folder)
        command = "siamese-cbow prepare {} -o {}".format(*given)
        raise InputError(f"no folder {folder}; create a stream with: {command}")
    if not is_stream(folder):  # perhaps the text itself: never advise to remove it
        raise FormatError(
            f"{folder} is not a stream ({ABOUT} is missing); create one: siamese-cbow prepare TEXT -o STREAM"
        )
    try:
        about: dict[str, Any] = json.loads(file_text(folder / ABOUT))
        version = about["format_version"]
        if version != FORMAT_VERSION:
            newer = isinstance(version, int) and version > FORMAT_VERSION
            advice = f"{what_reads(about)}, or remove it" if newer else "remove it"
            raise _broken(
                folder, f"it has stream format {version}, but this version reads {FORMAT_VERSION}", advice=advice
            )
        settings = about["settings"]
        settings["tokenizer"] = Tokenizer.from_settings(settings["tokenizer"]).settings()
        _check_values(about, settings["text"])
    except SettingsError as error:
        raise _broken(folder, str(error), advice="or remove it") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _broken(folder, f"it is not a stream, or {ABOUT} is damaged") from None
    return about


def _check_values(about: Mapping[str, Any], text: Mapping[str, Any]) -> None:
    """Raises a ValueError if a value that loading relies on has the wrong type."""
    numbers = [about["n_words"], *(about["lengths"][name] for name in ARRAYS)]
    languages = text.get("languages", ())
    words = [about["fingerprint"], text.get("language", "en"), *languages]
    if not all(type(n) is int and n >= 0 for n in numbers) or not all(isinstance(word, str) for word in words):
        raise ValueError
    if text["kind"] not in get_args(StreamKind) or isinstance(languages, str):
        raise ValueError


def _again(folder: Path, advice: str = "remove it") -> str:
    return f"{advice} and prepare it again: siamese-cbow prepare TEXT -o {folder}"


def _broken(folder: Path, what: str, advice: str = "remove it") -> FormatError:
    return FormatError(f"{folder}: {what}; {_again(folder, advice)}")
