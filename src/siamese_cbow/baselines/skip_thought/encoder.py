"""Texts -> skip-thought vectors: a vocabulary and the parts of an encoder, ready to use; and the encoder's folder.

    config.json           format, sizes, tokenizer, where the encoder comes from, hashes of the files
    vocabulary.txt        `count word`, in the order of the tables' rows
    *.safetensors         matrices and tables, see `parts`

An encoder is built from trained arrays, whoever trained them; nothing is trained here. PyTorch is loaded with the first
text. Nothing in a folder can run code.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.base.files import atomic_folder
from siamese_cbow.base.option_fields import at_least_1
from siamese_cbow.baselines.skip_thought.examples import Rows, pack
from siamese_cbow.baselines.skip_thought.parts import WEIGHTS, Part, read_parts, write_parts
from siamese_cbow.errors import FormatError, InputError, needs
from siamese_cbow.model.encoding import Texts, as_list, check_strings
from siamese_cbow.model.folder_format import ANEW, CONFIG, FolderFormat
from siamese_cbow.progress import shown
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

# From this many rows on, a matrix product gives a row the same bits whatever the other rows are (with fewer, PyTorch
# takes another code path; 4 were enough in all sizes tried). So a sentence has the same vector alone or in a batch.
SAME_BITS = 8
BATCH_CELLS = 1 << 20  # sentences times the longest length; bounds the memory for very long texts
FORMAT = FolderFormat("siamese-cbow skip-thought encoder", 1, "encoder", "one written by `encoder.save`", sampled=False)
VOCABULARY = "vocabulary.txt"
OURS = (CONFIG, VOCABULARY, WEIGHTS, "words-[0-9]*.safetensors")  # everything an encoder's folder holds


@dataclass(frozen=True, eq=False)
class SkipThoughtEncoder:
    """Turns texts into vectors.

    vocabulary  words of the tables' rows
    parts       encoders whose vectors are concatenated
    n_trained   number of leading words whose vectors were trained with the encoder; the others come from `expand`
    info        where it comes from (recipe, corpus, losses, ...): anything JSON can represent
    """

    vocabulary: Vocabulary
    parts: tuple[Part, ...]
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    n_trained: int = 0
    info: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in self.parts:
            if len(part.table) != len(self.vocabulary):
                raise InputError(
                    f"{len(self.vocabulary):,} words but {len(part.table):,} rows; expected one row per word"
                )

    @property
    def dim(self) -> int:
        """The number of dimensions of every vector."""
        return sum(part.dim for part in self.parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SkipThoughtEncoder):
            return NotImplemented
        return (
            (self.tokenizer, self.n_trained, self.info) == (other.tokenizer, other.n_trained, other.info)
            and self.vocabulary == other.vocabulary
            and len(self.parts) == len(other.parts)
            and all(mine.is_same(another) for mine, another in zip(self.parts, other.parts, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is too large to hash

    def __repr__(self) -> str:
        return f"<SkipThoughtEncoder of {len(self.vocabulary):,} words in {self.dim} dimensions>"

    def encode(
        self,
        sentences: Texts,
        *,
        use_eos: bool = False,
        use_norm: bool = True,
        batch_size: int = 128,
        normalize_embeddings: bool = False,
        show_progress_bar: bool | None = None,
        threads: int | None = None,
    ) -> Vectors:
        """The encoders' states after the last word: one string -> (dim,), many -> (n, dim), float32.

        A text without any known word gives zeros.

        use_eos               read the end marker too, as in training; the original found it better without, except
                              for sentences that don't end with a full stop
        use_norm              normalise the vectors of each part before concatenation
        batch_size            texts of similar length read at a time; affects only speed
        normalize_embeddings  rows of length 1
        show_progress_bar     a bar on standard error, and the speed at the end
        threads               of PyTorch; by default its current setting
        """
        with needs("torch", "skipthought"):
            import torch  # noqa: F401
        texts = [sentences] if isinstance(sentences, str) else as_list(sentences)
        check_strings(texts)
        at_least_1("batch_size", batch_size)
        from siamese_cbow.baselines.skip_thought.network import exact, last_states

        began, out = time.perf_counter(), np.zeros((len(texts), self.dim), np.float32)
        with shown(bool(show_progress_bar), "encode", len(texts), unit="texts") as progress:
            rows = [self._rows(text, use_eos) for text in texts]
            with exact(None if threads is None else thread_count(threads)):
                for batch in _batches(np.array([len(sentence) for sentence in rows], np.int64), batch_size):
                    offsets = np.cumsum([0, *(len(rows[i]) for i in batch)])
                    packed = pack(np.concatenate([rows[i] for i in batch]), offsets, at_least=SAME_BITS)
                    states = [last_states(part, packed) for part in self.parts]
                    out[batch[packed.order]] = np.concatenate([_units(s) if use_norm else s for s in states], axis=1)
                    progress.advance(len(batch))
            seconds = max(time.perf_counter() - began, 1e-9)
            progress.say(f"encoded {len(texts):,} texts in {seconds:.1f} s, {len(texts) / seconds:,.0f} a second")
        vectors = _units(out) if normalize_embeddings else out
        return vectors[0] if isinstance(sentences, str) else vectors

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the encoder atomically to a folder, which `load_encoder` reads.

        The same encoder gives the same bytes.
        """
        target = Path(path)
        if target.exists() and not (target.is_dir() and (not any(target.iterdir()) or FORMAT.is_in(target))):
            already = "already exists and is not a skip-thought encoder"
            raise InputError(f"{target} {already}; choose another folder or delete it")
        broken = next((word for word in self.vocabulary.words if not word or "\n" in word), None)
        if broken is not None:
            raise InputError(
                f"the word {broken!r} can't be written to a file of one word per line; remove or rename it"
            )
        with atomic_folder(target, ours=OURS, what="a skip-thought encoder") as folder:
            self.vocabulary.write(folder / VOCABULARY)
            described = write_parts(folder, self.parts)
            config = {
                "n_words": len(self.vocabulary),
                "n_trained": self.n_trained,
                "dim": self.dim,
                "parts": described,
                "tokenizer": self.tokenizer.settings(),
                "info": dict(self.info),
            }
            FORMAT.write_config(folder, config, sorted(file.name for file in folder.iterdir()), indent=1)

    def _rows(self, text: str, use_eos: bool) -> Rows:
        """Rows of the words of a text; empty if no word is known."""
        n_words = len(self.vocabulary)
        rows = [self.vocabulary.index.get(word, n_words + 1) for word in self.tokenizer.words(text)]
        if all(row > n_words for row in rows):
            return np.empty(0, np.int64)
        if any(part.unknown is None for part in self.parts):
            rows = [row for row in rows if row < n_words]
        return np.array([*rows, n_words] if use_eos else rows, np.int64)


def _batches(lengths: Rows, batch_size: int) -> Iterator[Rows]:
    """Positions of texts in batches, shortest first; texts without words are skipped."""
    order = np.argsort(lengths, kind="stable")
    order = order[np.searchsorted(lengths[order], 1) :]
    start = 0
    while start < len(order):
        end = min(start + batch_size, len(order))
        while end - start > 1 and (end - start) * lengths[order[end - 1]] > BATCH_CELLS:
            end = start + (end - start + 1) // 2
        yield order[start:end]
        start = end


def _units(vectors: NDArray[np.float32]) -> Vectors:
    """Rows at length 1; rows of zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Vectors = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return units


def load_encoder(path: str | Path, *, verify: bool = False) -> SkipThoughtEncoder:
    """The encoder saved in a folder. `verify` also checks the hashes of the tables."""
    folder = Path(path)
    config = FORMAT.read_config(folder)
    try:
        for name, about in config["files"].items():
            FORMAT.check_file(folder / name, about, whole=verify or not name.startswith("words-"))
        vocabulary = Vocabulary.read(folder / VOCABULARY)
        parts = read_parts(folder, config["parts"], config["n_words"])
        tokenizer = Tokenizer.from_settings(config["tokenizer"])
        return SkipThoughtEncoder(vocabulary, parts, tokenizer, config["n_trained"], config["info"])
    except (KeyError, TypeError, AttributeError, ValueError, SafetensorError, OSError, InputError) as error:
        raise FormatError(f"can't read {folder} ({error}); {ANEW}") from None
