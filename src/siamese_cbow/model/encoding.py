"""Texts -> means of their words' vectors, on one of two paths that agree in every bit.

The small path is plain Python and NumPy and encodes one sentence in ten to twenty microseconds. The bulk path scans and
averages in Numba on all cores, ten to twenty times faster, but delays a process's first result: Numba and the kernels
have to be loaded. So an encoder starts on the small path, and switches to the bulk path once it has received as much
text as the small path reads during that delay, or once `warm` has loaded it.

The choice between the two is made here: `is_much` for text that is complete, `Encoder.is_bulk` for text that arrives in
pieces.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.errors import InputError, needs
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.model.packed_rows import Rows, as_array, check_finite
from siamese_cbow.model.text_watch import TextWatch
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import Fallback, finder
from siamese_cbow.words.vocabulary import FEW, Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.model.ngram_vectors import NGramVectors, WordRows
    from siamese_cbow.words.lookup import AnyLookup
    from siamese_cbow.words.unknown_words import UnknownWords

Texts: TypeAlias = str | Iterable[str]  # one text or many; also a pandas, polars or pyarrow column

# How much the small path reads while the bulk path is loading. Strings, in characters: 50,000 sentences of 12 words
# (`benchmarks/encode.py` measures both). Bytes of files, which the bulk path scans without creating strings: half as
# much. Once loaded, the bulk path is faster from the second text on.
MUCH_TEXT = 3_000_000
MUCH_RAW_TEXT = 1_500_000

# Texts per batch: enough to amortise the call, few enough for the word ids to stay in the cache.
BATCH_SIZE = 4_096
BATCH_CHARACTERS = 1 << 22  # batches of longer texts are split, so that memory doesn't depend on their length


def is_much(size: int, *, raw: bool = False) -> bool:
    """Whether this much text, in characters of strings or raw bytes of files, is worth loading the bulk path."""
    return size > (MUCH_RAW_TEXT if raw else MUCH_TEXT)


class Encoder:
    """A vocabulary, its vectors and a tokenizer, ready to turn texts into vectors.

    Holds derived state that is not part of a model: the scanner's table, and how much text it has seen.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        rows: Rows,
        tokenizer: Tokenizer,
        fallback: Fallback = "none",
        ngrams: Callable[[], NGramVectors] | None = None,
        language: str | None = None,
    ) -> None:
        """`ngrams` returns the n-gram vectors and is called at the first unknown word; `language` is the model's, if
        known."""
        self._vocabulary, self._rows, self._tokenizer = vocabulary, rows, tokenizer
        self._words, self._fallback = tokenizer.words, fallback
        self._ngrams = ngrams if fallback == "ngrams" else None
        self._id_of = finder(vocabulary, fallback, few=True)
        self._asked = 0  # words of single texts, up to FEW
        self._seen = 0  # characters of all calls with many texts, up to MUCH_TEXT
        self._is_warm, self._warming = False, threading.Lock()
        self.watch = TextWatch(vocabulary, tokenizer, language)

    # the switch

    @property
    def is_bulk(self) -> bool:
        """Whether many texts now take the bulk path."""
        return self._is_warm or is_much(self._seen)

    def warm(self) -> None:
        """Load the bulk path: one second, or up to a minute once per installation. Call it in a thread of its own.

        Until it has finished, `counted` and `of_ids` take the small path, however many texts they get.
        """
        with self._warming:
            if not self._is_warm:
                words = self._lookup.words(["a", "b"])
                for normalize in (False, True):
                    self._bulk_means(*words, normalize, np.empty((2, self._rows.shape[1]), np.float32))
                self._is_warm = True

    @cached_property
    def _lookup(self) -> AnyLookup:
        from siamese_cbow.words.lookup import lookup_of

        n_buckets = self._ngrams().n_buckets if self._ngrams is not None else 0
        return lookup_of(self._vocabulary, self._tokenizer, self._fallback, n_buckets)

    # texts

    def one(self, text: str, *, dim: int, normalize: bool) -> Vectors:
        """The vector of one text, (dim,): words without a vector are ignored; zeros if none is left."""
        if is_much(len(text)):
            row: Vectors = self.many([text], dim=dim, normalize=normalize)[0]
            return row
        vector = self._one(text, dim, normalize)
        check_finite(vector)
        self.watch.look(text)
        return vector

    def many(
        self,
        texts: list[str],
        *,
        dim: int,
        normalize: bool,
        batch_size: int = BATCH_SIZE,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Vectors:
        """The vectors of many texts, (n_texts, dim): one row per text, the same for any path, batches and threads."""
        if not self.is_bulk:
            check_strings(texts)
            self._seen += sum(map(len, texts))
        out = np.empty((len(texts), dim), np.float32)
        if not self.is_bulk:
            for row, text in enumerate(texts):  # plain Python gains nothing from threads
                out[row] = self._one(text, dim, normalize)
            check_finite(out)
            progress.advance(len(texts))
            self.watch.look(texts)
            return out

        def batch(start: int) -> int:
            rows = slice(start, start + batch_size)
            self._fill(texts[rows], normalize, out[rows])
            return len(out[rows])

        _ = self._lookup, as_array(self._rows)  # built here, once, before several threads need them
        try:
            for n in _in_threads(batch, range(0, len(texts), batch_size), threads):
                progress.advance(n)
        except (TypeError, InputError):  # raised when the texts are joined, or by another program's tokenizer
            check_strings(texts)
            raise
        self.watch.look(texts)
        return out

    def counted(self, texts: Sequence[str], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The vectors of some texts, and the number of words averaged. For a server: bulk path only after `warm`."""
        out, n_words = np.empty((len(texts), dim), np.float32), 0
        self.watch.look(texts)
        if self._is_warm:
            ids, offsets, unknown = self._lookup.words(texts)
            self._bulk_means(ids, offsets, unknown, normalize, out)
            return out, len(ids) + len(unknown.keys)
        for row, text in zip(out, texts, strict=True):
            word_ids, rows = self._small_words(text)
            row[:] = mean_of_rows(self._rows, word_ids, dim, normalize=normalize, unknown=rows)
            n_words += len(word_ids) + (0 if rows is None else len(rows))
        check_finite(out)
        return out, n_words

    def of_ids(self, ids: Sequence[Sequence[int]], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The same for texts given as word ids: `of_ids([[0, 3], [1]], ...)` -> (2, dim), 3."""
        out = np.empty((len(ids), dim), np.float32)
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, ids), np.int64, len(ids)), out=offsets[1:])
        if self._is_warm:
            listed = np.fromiter(chain.from_iterable(ids), np.int32, int(offsets[-1]))
            self._bulk_means(listed, offsets, None, normalize, out)
        else:
            for row, word_ids in zip(out, ids, strict=True):
                row[:] = mean_of_rows(self._rows, word_ids, dim, normalize=normalize)
        check_finite(out)
        return out, int(offsets[-1])

    def words(self, texts: list[str]) -> tuple[Ids, Offsets, UnknownWords]:
        """The ids of the known words, `ids[offsets[i]:offsets[i + 1]]` for text i, and the unknown words that count."""
        check_strings(texts)
        self.watch.look(texts)
        return self._lookup.words(texts)

    def _one(self, text: str, dim: int, normalize: bool) -> Vectors:
        ids, unknown = self._small_words(text)
        return mean_of_rows(self._rows, ids, dim, normalize=normalize, unknown=unknown)

    def _small_words(self, text: str) -> tuple[list[int], WordRows | None]:
        """The ids of the known words, and the rows of the unknown words that count."""
        words = self._words(text)
        if self._asked <= FEW:
            self._asked += len(words)
            if self._asked > FEW:  # from now on a dictionary gives the ids directly, which makes single texts fast
                self._id_of = finder(self._vocabulary, self._fallback)
        known = [i for i in map(self._id_of, words) if i is not None]
        if self._ngrams is None or len(known) == len(words):
            return known, None
        return known, self._ngrams().rows_of([word for word in words if self._id_of(word) is None])

    def _fill(self, texts: list[str], normalize: bool, out: Vectors) -> None:
        middle = len(texts) // 2
        if middle and sum(map(len, texts)) > BATCH_CHARACTERS:
            self._fill(texts[:middle], normalize, out[:middle])
            self._fill(texts[middle:], normalize, out[middle:])
        else:
            for first, last, ids, offsets, unknown in self._lookup.pieces(texts):
                self._bulk_means(ids, offsets, unknown, normalize, out[first:last])

    def _bulk_means(
        self, ids: Ids, offsets: Offsets, unknown: UnknownWords | None, normalize: bool, out: Vectors
    ) -> None:
        from siamese_cbow.kernels.means import means

        extra = None
        if self._ngrams is not None and unknown is not None and len(unknown.keys):
            extra = self._ngrams().as_asked_for(unknown)
        means(as_array(self._rows), ids, offsets, normalize, out, extra)
        check_finite(out)


def _in_threads(work: Callable[[int], int], starts: Sequence[int], threads: int) -> Iterator[int]:
    if threads == 1 or len(starts) < 2:
        yield from map(work, starts)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, starts)


def as_list(texts: Iterable[str]) -> list[str]:
    """The texts of any column or iterable as a list: `as_list(pandas.Series(["a", "b"]))` -> ["a", "b"]."""
    shape = getattr(texts, "shape", (0,))
    if len(shape) > 1:  # a table: iterating would give rows, or column names
        if shape[1:] != (1,):
            raise InputError(f"can't encode a table of shape {shape}; pass its text column: table['text']")
        texts = np.asarray(texts, object)[:, 0]
    elif isinstance(texts, bytes | bytearray | Mapping) or not hasattr(texts, "__iter__") or not shape:
        raise InputError(f"can't encode {_described(texts)}; expected a string or a list, column or iterator of them")
    # A column's own method gives plain strings; iterating over pyarrow's gives wrapper objects.
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(texts, method):
            texts = getattr(texts, method)()
            break
    return texts if isinstance(texts, list) else list(texts)


def as_texts(texts: Texts) -> list[str]:
    """One text or many as a list of strings: `as_texts("the cat")` -> ["the cat"]."""
    listed = as_list([texts] if isinstance(texts, str) else texts)
    check_strings(listed)
    return listed


def check_strings(texts: list[Any]) -> None:
    """`check_strings(["a", None])` -> InputError that names position 1."""
    if set(map(type, texts)) - {str}:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                missing = "fill or drop missing values first, for instance with fillna('')"
                joining = "join its words first: ' '.join(words)"
                how: dict[type, str] = {bytes: "decode it first: text.decode()", list: joining}
                advice = how.get(type(text), missing)
                raise InputError(f"text {position:,} is {_described(text)}; expected a string ({advice})")


def one_of(sentences: Texts | None, inputs: Texts | None) -> Texts:
    """The argument that was given, under either of its two names."""
    if inputs is None and sentences is not None:
        return sentences
    if sentences is None and inputs is not None:
        return inputs
    given = "None" if sentences is None else "both `sentences` and `inputs`"
    raise InputError(f"encode got {given}; expected a string or several strings")


def as_tensors(vectors: Vectors) -> Any:
    """The rows as a list of PyTorch tensors, or one row as a tensor, without a copy."""
    with needs("torch", "interop"):
        import torch
    tensor = torch.from_numpy(vectors)
    return list(tensor) if vectors.ndim == 2 else tensor


def _described(thing: Any) -> str:
    text = repr(thing)
    return f"{text if len(text) <= 40 else text[:40] + '…'} ({type(thing).__name__})"
