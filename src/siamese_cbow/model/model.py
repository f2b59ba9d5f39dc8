"""A model: word vectors, and operations on whole texts.

    Model(vocabulary, vectors, Tokenizer())     from trained arrays: nothing is trained, read or written here
    model.encode("the cat sat")                 (dim,) float32, the mean of the vectors of the, cat and sat
    model.similarity("a cat", "a dog")          the cosine of two such means
    model.neighbours("cat")                     the words with the highest cosine, see `word_vectors`
    model.language("de")                        the German part of a multilingual model
    model.compress("int8")                      a smaller model; model.adapt(texts) adapts it to a domain

Names and options follow sentence-transformers and gensim. Methods whose work belongs to later modules and rooms (new
models from this one, files, the Hub) go through the package root. Does not train.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets, Vectors, thread_count
from siamese_cbow.base.option_fields import at_least_1
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import BATCH_SIZE, Encoder, Texts, as_list, as_tensors, as_texts, one_of
from siamese_cbow.model.geometry import as_vectors, cosines, paired_cosines
from siamese_cbow.model.packed_rows import Dtype, in_memory
from siamese_cbow.model.text_watch import LOOK_AT, language_of
from siamese_cbow.model.word_vectors import WordVectors
from siamese_cbow.progress import SILENT, bar
from siamese_cbow.text.languages import language
from siamese_cbow.words.unknown_words import Fallback, UnknownWords

if TYPE_CHECKING:
    from siamese_cbow import Postprocess
    from siamese_cbow.stream.stream import Stream

TextsOrVectors: TypeAlias = Texts | NDArray[np.floating[Any]]


class Model(WordVectors):
    """Word vectors, a tokenizer, and the means of a text's words: `Model(vocabulary, vectors).encode("the cat")`."""

    # texts

    def encode(
        self,
        sentences: Texts | None = None,
        *,
        inputs: Texts | None = None,
        batch_size: int = BATCH_SIZE,
        show_progress_bar: bool | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        threads: int | None = None,
    ) -> Vectors:
        """The mean of the vectors of a text's words: one string -> (dim,), many -> (n, dim), float32.

        `fallback` determines how unknown words are treated; a text in which no word counts gives zeros.

        sentences             a string, or any list, column or iterator of strings; `inputs` is another name for it
        batch_size            texts per batch; affects only speed and memory
        show_progress_bar     a bar on standard error
        normalize_embeddings  rows of length 1 (rows of zeros stay zeros)
        truncate_dim          keep only the first dimensions, before normalising
        convert_to_numpy      False returns PyTorch tensors, a list of them for many texts
        convert_to_tensor     return one PyTorch tensor, also for many texts
        threads               number of threads; all cores by default
        """
        self._check_one_language()
        texts = one_of(sentences, inputs)
        dim = self.dim if truncate_dim is None else at_least_1("truncate_dim", truncate_dim, self.dim)
        n_threads = None if threads is None else thread_count(threads)  # checked even if there is only one text
        if isinstance(texts, str):
            vectors = self._encoder.one(texts, dim=dim, normalize=normalize_embeddings)
        else:
            listed = as_list(texts)
            with bar("encode", len(listed), unit="texts") if show_progress_bar else nullcontext(SILENT) as progress:
                vectors = self._encoder.many(
                    listed,
                    dim=dim,
                    normalize=normalize_embeddings,
                    batch_size=at_least_1("batch_size", batch_size),
                    threads=n_threads or thread_count(None),
                    progress=progress,
                )
        if convert_to_tensor:
            vectors = as_tensors(vectors[np.newaxis])[0]
        return vectors if convert_to_numpy or convert_to_tensor else as_tensors(vectors)

    encode_query = encode_document = encode  # names from sentence-transformers; there are no prompts here

    @cached_property
    def _encoder(self) -> Encoder:
        return self.encoder()

    def encoder(self) -> Encoder:
        """A new encoder, with nothing loaded or cached yet."""
        own = self.vocabulary, self.rows, self.tokenizer, self.fallback
        return Encoder(*own, lambda: self.ngrams, self.info.language)

    @overload
    def similarity(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]  # a str is many strings too
    @overload
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> Vectors: ...
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> float | Vectors:
        """Cosines: a float for two strings, the matrix (n, m) for many. Arrays and tensors are taken as vectors.

        `similarity("a cat", "a dog")` -> 0.71; `similarity(["a cat", "a dog"], ["a cow"])` -> (2, 1)
        """
        matrix = cosines(*self._rows(a, b))
        return float(matrix[0, 0]) if isinstance(a, str) and isinstance(b, str) else matrix

    @overload
    def similarity_pairwise(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def similarity_pairwise(self, a: TextsOrVectors, b: TextsOrVectors) -> Vectors: ...
    def similarity_pairwise(self, a: TextsOrVectors, b: TextsOrVectors) -> float | Vectors:
        """The cosine of a[i] and b[i] for each i, (n,): `similarity_pairwise(["a cat", "tea"], ["a dog", "tea"])`."""
        rows, others = self._rows(a, b)
        if len(rows) != len(others):
            raise InputError(f"{len(rows):,} texts against {len(others):,}; expected the same number on both sides")
        pairs = paired_cosines(rows, others)
        return float(pairs[0]) if isinstance(a, str) and isinstance(b, str) else pairs

    def _rows(self, *both: TextsOrVectors) -> list[Vectors]:
        """Texts or vectors on both sides, as comparable rows, (n, dim)."""
        a, b = rows = [np.atleast_2d(self.encode(x) if (given := as_vectors(x)) is None else given) for x in both]
        if a.shape[1] != b.shape[1]:
            raise InputError(
                f"vectors of {a.shape[1]} and {b.shape[1]} dimensions; expected the same number on both sides"
            )
        return rows

    def ids(self, texts: Texts) -> tuple[Ids, Offsets]:
        """The ids of the words of many texts that have a vector: text i has `ids[offsets[i]:offsets[i + 1]]`.

        vocabulary the, cat: `ids(["the the", "?", "a cat"])` -> [0, 0, 1], [0, 2, 2, 3]
        """
        return self.words(texts)[:2]

    def words(self, texts: Texts) -> tuple[Ids, Offsets, UnknownWords]:
        """The same, and the unknown words that get a vector composed of their n-grams."""
        self._check_one_language()
        return self._encoder.words(as_texts(texts))

    def unknown_counts(self, texts: Texts) -> dict[str, int]:
        """Words without a vector of their own, most frequent first: ["a blorf", "blorf blip"] -> {"blorf": 2, ...}."""
        self._check_one_language()
        counts = Counter(w for text in as_texts(texts) for w in self.tokenizer.words(text) if w not in self.vocabulary)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def word_or_vector(self, word: str) -> str | Vectors:
        """A word as the vocabulary spells it, "Paris" -> "paris"; for an unknown word its vector, if it has one."""
        words = [word] if word in self else self.tokenizer.words(word)
        if self.languages or (len(words) == 1 and words[0] in self):
            return words[0] if len(words) == 1 else word
        vector: Vectors = self.encode(word)
        return vector if vector.any() else word

    def watch(self, texts: Texts) -> None:
        """Warns once if texts are in another language or mostly unknown words; `encode` does this itself."""
        self._check_one_language()
        self._encoder.watch.look(list(islice(texts, LOOK_AT)) if isinstance(texts, Iterator) else as_texts(texts))

    # charts

    def plot_words(self, words: Sequence[str], *, ax: Any = None) -> Any:
        """A map of words with matplotlib; returns the axes: `plot_words(["cat", "dog", "king", "queen"])`."""
        from siamese_cbow.model.plots import plot_words

        return plot_words(words, self.vector, ax)

    def plot_similarity(self, a: Sequence[str], b: Sequence[str] | None = None, *, ax: Any = None) -> Any:
        """A heat map of the cosines of some texts with others, or among themselves; returns the axes."""
        from siamese_cbow.model.plots import plot_similarity

        return plot_similarity(a, b, self.similarity, ax)

    # the same rows, or some of them

    def language(self, name: str) -> Model:
        """The part of a multilingual model for texts in one language.

        `cosine(model.language("en").encode("a house"), model.language("de").encode("ein Haus"))` -> 0.93

        A model of one language returns itself: `german.language("de")`.
        """
        if name not in self.languages:
            named = language(name)  # an error if there is no such language
            if not self.languages:
                own = language_of(self.vocabulary, self.info.language)
                if named == own:
                    return self
                raise InputError(f"language is {name!r}, but this model has only one language, {own}; drop the option")
            if named.code not in self.languages:
                raise InputError(f"language is {name!r}; expected one of {', '.join(self.languages)}")
            name = named.code
        vocabulary, ids = self.vocabulary.of_language(name)
        together = len(ids) > 0 and ids[-1] - ids[0] + 1 == len(ids)  # then no row is copied or read from disk
        rows = self.rows[slice(ids[0], ids[-1] + 1) if together else ids]
        info = replace(self.info, languages=None, language=name)
        return Model(vocabulary, rows, self.tokenizer, info, ngrams=self.given_ngrams)

    def with_fallback(self, fallback: Fallback) -> Model:
        """The same model with another treatment of unknown words: `model.with_fallback("prefix").encode("playfully")`.

        A model without n-gram vectors fits them at the first unknown word, which takes seconds.
        """
        if fallback not in get_args(Fallback):
            raise SettingsError(f"fallback is {fallback!r}; expected one of {', '.join(get_args(Fallback))}")
        info = replace(self.info, unknown_words=None if fallback == "none" else fallback)
        return Model(self.vocabulary, self.rows, self.tokenizer, info, undo=self.undo, ngrams=self.given_ngrams)

    def in_memory(self) -> Model:
        """The same model with its rows in memory, so that changes to its file have no effect.

        A loaded model maps its file, so it loads at once and all processes share it. Rows already in memory are not
        copied.
        """
        rows, ngrams = in_memory(self.rows), self.given_ngrams and self.given_ngrams.in_memory()
        if rows is self.rows and ngrams is self.given_ngrams:
            return self
        return Model(self.vocabulary, rows, self.tokenizer, self.info, undo=self.undo, ngrams=ngrams)

    # new models from this one

    def postprocess(self, stream: Stream | None = None, settings: Postprocess | None = None, **changes: Any) -> Model:
        """A new model with post-processing folded into its rows: word weights, shared directions removed.

        `model.postprocess(stream, components=1)` removes the direction that all sentences of the stream share. Without
        a stream, mean and directions are estimated from the word counts. Settings: see `siamese_cbow.Postprocess`.
        """
        from siamese_cbow import postprocess

        return postprocess(self, stream, settings, **changes)

    def adapt(self, texts: Texts) -> Model:
        """A new model adapted to the domain of these texts: `model.adapt(headlines)`.

        Words that are common in the domain count for less, and directions that all its texts share are scaled down; the
        more texts, the more so. A few hundred help; of more than 100,000, a sample is used. Nothing is trained. An
        earlier `adapt` is undone first.
        """
        from siamese_cbow import adapt

        return adapt(self, texts)

    def without_postprocessing(self) -> Model:
        """The model as it was before `postprocess` or `adapt`, up to rounding; unchanged if it had neither."""
        from siamese_cbow import without_postprocessing

        return without_postprocessing(self)

    def compress(self, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
        """A smaller model, with fewer bits, dimensions or words.

        `model.compress("int8", dim=200, words=100_000)`

        dtype  float32, float16, int8 or int4; unchanged by default
        dim    keep this many principal components (a rotation preserves cosines)
        words  keep this many of the most frequent words
        """
        from siamese_cbow import compress

        return compress(self, dtype, dim=dim, words=words)

    # files

    def save(self, path: str | os.PathLike[str], *, int4: bool = False) -> None:
        """Writes the model to a folder, which `siamese_cbow.load`, sentence-transformers and model2vec read.

        int4  keep a 4-bit model at 4 bits, half the size; then only `siamese_cbow.load` reads it
        """
        from siamese_cbow import save

        save(self, path, int4=int4)

    save_pretrained = save  # the name used by the Hugging Face libraries

    @classmethod
    def from_pretrained(cls, name_or_path: str | os.PathLike[str], **options: Any) -> Model:
        """The model in a folder, or on the Hugging Face Hub: `siamese_cbow.load`, which has the options."""
        from siamese_cbow import load

        return load(name_or_path, **options)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Uploads the model to the Hugging Face Hub; returns its address (options: see `siamese_cbow.push_to_hub`)."""
        from siamese_cbow import push_to_hub

        return push_to_hub(self, repo_id, **options)
