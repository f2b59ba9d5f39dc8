"""Writes the arrays of a stream block by block, without knowing their final length. Receives final ids: see `spool`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import GrowingArray, Ids, Offsets
from siamese_cbow.stream.stream import ARRAYS, fingerprint_of
from siamese_cbow.words.vocabulary import Vocabulary

BLOCK = 1 << 22  # ids copied at a time


class StreamWriter:
    """Takes blocks of ids in text order and writes the three arrays of a stream.

    is_part  the text continues on both sides: the arrays have no 0 at the start, and the last document stays open
    """

    def __init__(self, folder: Path, *, is_part: bool = False) -> None:
        self._arrays = {
            name: GrowingArray(folder / f"{name}.npy", dtype, hashed=True) for name, dtype in ARRAYS.items()
        }
        self._sentences, self._documents = self._arrays["sentences"], self._arrays["documents"]
        for offsets in () if is_part else (self._sentences, self._documents):
            offsets.append(np.zeros(1, np.int64))
        self._n_tokens = self._n_sentences = 0
        self._last_document = -1 if is_part else 0
        self._n_unknown = self._n_dropped = 0

    def write(self, ids: Ids, ends: Offsets) -> None:
        """Adds a block: `ids` with -1 for unknown words, and `ends` as `WordCounter.scan` gives them.

        An empty line ends a document; a line of unknown words only is dropped.
        """
        empty = ends < 0
        ends = np.where(empty, -1 - ends, ends)
        known = ids >= 0
        self._arrays["ids"].append(ids[known])
        known_up_to = np.zeros(len(ids) + 1, np.int32)  # of one block: narrow numbers are quicker to write and to read
        np.cumsum(known, out=known_up_to[1:])
        known_ends = known_up_to[ends].astype(np.int64)
        n_known = np.diff(known_ends, prepend=0)
        is_sentence = n_known > 0
        self._sentences.append(self._n_tokens + known_ends[is_sentence])
        self._end_documents(self._n_sentences + np.cumsum(is_sentence)[empty])
        self._n_tokens += int(known_up_to[-1])
        self._n_sentences += int(is_sentence.sum())
        self._n_unknown += len(ids) - int(known_up_to[-1])
        self._n_dropped += int((~empty & ~is_sentence).sum())

    def append(self, part: Path, counts: Mapping[str, int]) -> None:
        """Adds a part that another writer wrote to a folder, with its counts."""
        ids, sentences, documents = (
            np.load(part / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS
        )
        for first in range(0, len(ids), BLOCK):
            self._arrays["ids"].append(ids[first : first + BLOCK])
        self._sentences.append(self._n_tokens + sentences)
        self._end_documents(self._n_sentences + documents)
        self._n_tokens += len(ids)
        self._n_sentences += len(sentences)
        self._n_unknown += counts["n_unknown_tokens"]
        self._n_dropped += counts["n_dropped_sentences"]

    def finish_part(self) -> dict[str, int]:
        """Closes the files of a part; returns the counts for `append`."""
        for array in self._arrays.values():
            array.close()
        return {"n_unknown_tokens": self._n_unknown, "n_dropped_sentences": self._n_dropped}

    def _end_documents(self, bounds: Offsets) -> None:
        """Ends a document at each of these sentences; documents without a sentence disappear."""
        new = np.unique(bounds[bounds > self._last_document])
        if len(new):
            self._documents.append(new)
            self._last_document = int(new[-1])

    def finish(self, vocabulary: Vocabulary, *, seed: str) -> dict[str, Any]:
        """Closes the files; returns lengths, counts and the fingerprint, for `stream.json`.

        seed  from `stream.fingerprint_seed`
        """
        self._end_documents(np.array([self._n_sentences]))
        for array in self._arrays.values():
            array.close()
        return {
            "fingerprint": fingerprint_of(seed, vocabulary, [array.hash() for array in self._arrays.values()]),
            "lengths": {name: array.length for name, array in self._arrays.items()},
            "n_words": len(vocabulary),
            "n_unknown_tokens": self._n_unknown,
            "n_dropped_sentences": self._n_dropped,
        }
