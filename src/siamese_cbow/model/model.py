"""A model: word vectors, and what can be done with whole texts.

    Model(vocabulary, vectors, Tokenizer())     from finished arrays: nothing is trained, read or written here
    model.encode("the cat sat")                 (dim,) float32, the mean of the vectors of the, cat and sat
    model.similarity("a cat", "a dog")          the cosine of two such means
    model.neighbours("cat")                     the words that point the same way, see `word_vectors`
    model.language("de")                        of a model of several languages, the one of German texts
    model.compress("int8")                      a smaller one; model.adapt(texts), one for texts of one kind

Names and options are those that users of sentence-transformers and gensim know. Methods whose work belongs to later
modules and rooms (other models made of this one, files, the Hub) go through the public door. Does not train.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets, Vectors, thread_count
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import BATCH_SIZE, Encoder, Texts, as_list, as_tensors, at_least_1, one_of
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

        Unknown words count as `fallback` says; a text without any word that counts gives zeros.

        sentences             a string, or any list, column or iterator of strings; `inputs` is another name for it
        batch_size            texts that are worked on at a time; a matter of speed and memory only
        show_progress_bar     a bar on standard error
        normalize_embeddings  rows of length 1 (rows of zeros stay zeros)
        truncate_dim          only the first dimensions, before normalising
        convert_to_numpy      False gives PyTorch tensors, a list of them for many texts
        convert_to_tensor     one PyTorch tensor, also for many texts
        threads               all cores, unless said
        """
        self._check_one_language()
        texts = one_of(sentences, inputs)
        dim = self.dim if truncate_dim is None else at_least_1("truncate_dim", truncate_dim, self.dim)
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
                    threads=thread_count(threads),
                    progress=progress,
                )
        if convert_to_tensor:
            vectors = as_tensors(vectors[np.newaxis])[0]
        return vectors if convert_to_numpy or convert_to_tensor else as_tensors(vectors)

    encode_query = encode_document = encode  # names of sentence-transformers; there are no prompts here

    @cached_property
    def _encoder(self) -> Encoder:
        return self.encoder()

    def encoder(self) -> Encoder:
        """A new encoder, with nothing loaded or remembered yet."""
        own = self.vocabulary, self.rows, self.tokenizer, self.fallback
        return Encoder(*own, lambda: self.ngrams, self.info.language)

    @overload
    def similarity(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]  # a str is many strings too
    @overload
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> Vectors: ...
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> float | Vectors:
        """Cosines: of two strings a float, of many the matrix (n, m). Arrays and tensors are vectors.

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
        """Two times texts or vectors, as rows that can be compared, (n, dim)."""
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
        """The same, and the unknown words that count with a vector made of their n-grams."""
        self._check_one_language()
        return self._encoder.words(as_list([texts] if isinstance(texts, str) else texts))

    def watch(self, texts: Iterable[str]) -> None:
        """Warns, once, where texts are of another language or mostly of unknown words; `encode` does so by itself."""
        self._check_one_language()
        self._encoder.watch.look(list(islice(texts, LOOK_AT)))

    # pictures

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
        """The part of a model of several languages that encodes the texts of one.

        `cosine(model.language("en").encode("a house"), model.language("de").encode("ein Haus"))` -> 0.93

        A model of one language is that of its own: `german.language("de")` is the same model.
        """
        if name not in self.languages:
            named = language(name)  # an error where there is no such language
            if not self.languages:
                own = language_of(self.vocabulary, self.info.language)
                if named == own:
                    return self
                raise InputError(f"language is {name!r}, but this model has only one language, {own}; drop the option")
            if named.code not in self.languages:
                raise InputError(f"language is {name!r}; expected one of {', '.join(self.languages)}")
            name = named.code
        vocabulary, ids = self.vocabulary.of_language(name)
        together = len(ids) > 0 and ids[-1] - ids[0] + 1 == len(ids)  # then no row is copied, or read from disk
        rows = self.rows[slice(ids[0], ids[-1] + 1) if together else ids]
        info = replace(self.info, languages=None, language=name)
        return Model(vocabulary, rows, self.tokenizer, info, ngrams=self.given_ngrams)

    def with_fallback(self, fallback: Fallback) -> Model:
        """The same model with another answer to unknown words: `model.with_fallback("prefix").encode("playfully")`.

        A model that never had vectors of n-grams fits them when it meets the first unknown word, in some seconds.
        """
        if fallback not in get_args(Fallback):
            raise SettingsError(f"fallback is {fallback!r}; expected one of {', '.join(get_args(Fallback))}")
        info = replace(self.info, unknown_words=None if fallback == "none" else fallback)
        return Model(self.vocabulary, self.rows, self.tokenizer, info, undo=self.undo, ngrams=self.given_ngrams)

    def in_memory(self) -> Model:
        """The same model without a file behind its rows: whoever changes the file changes, or ends, nothing here.

        A loaded model maps its file, which is there at once and shared by all processes. What is in memory already is
        not copied.
        """
        rows, ngrams = in_memory(self.rows), self.given_ngrams and self.given_ngrams.in_memory()
        if rows is self.rows and ngrams is self.given_ngrams:
            return self
        return Model(self.vocabulary, rows, self.tokenizer, self.info, undo=self.undo, ngrams=ngrams)

    # other models made of it

    def postprocess(self, stream: Stream | None = None, settings: Postprocess | None = None, **changes: Any) -> Model:
        """A new model with weights for words and what sentences have in common taken out, folded into its rows.

        `model.postprocess(stream, components=1)`: without the direction that all sentences of the stream share. Without
        a stream, mean and directions are estimated from the words' counts. Settings: see `siamese_cbow.Postprocess`.
        """
        from siamese_cbow import postprocess

        return postprocess(self, stream, settings, **changes)

    def adapt(self, texts: Texts) -> Model:
        """A new model for texts of one kind, of which these are some: `model.adapt(headlines)`.

        Words that are common in them count for less, and so does what they all have in common; the more texts, the
        more so: some hundreds tell something, and of more than 100,000 a sample is looked at. Nothing is trained. What
        an earlier `adapt` has done is undone first.
        """
        from siamese_cbow import adapt

        return adapt(self, texts)

    def without_postprocessing(self) -> Model:
        """The model as it was before `postprocess` or `adapt`, up to rounding; one without either as it is."""
        from siamese_cbow import without_postprocessing

        return without_postprocessing(self)

    def compress(self, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
        """A smaller model: of fewer bits, fewer dimensions, fewer words.

        `model.compress("int8", dim=200, words=100_000)`

        dtype  float32, float16, int8 or int4; as it is, unless said
        dim    rotated so that the first dimensions carry most, then cut (cosines don't notice a rotation)
        words  the most frequent ones are kept
        """
        from siamese_cbow import compress

        return compress(self, dtype, dim=dim, words=words)

    # files

    def save(self, path: str | os.PathLike[str], *, int4: bool = False) -> None:
        """Writes the model to a folder, which `siamese_cbow.load`, sentence-transformers and model2vec read.

        int4  write a model of 4 bits as it is, half as large: `siamese_cbow.load` alone reads it then
        """
        from siamese_cbow import save

        save(self, path, int4=int4)

    save_pretrained = save  # the name that users of the Hugging Face libraries know

    @classmethod
    def from_pretrained(cls, name_or_path: str | os.PathLike[str], **options: Any) -> Model:
        """The model in a folder, or on the Hugging Face Hub: `siamese_cbow.load`, which has the options."""
        from siamese_cbow import load

        return load(name_or_path, **options)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Uploads the model to the Hugging Face Hub; returns its address (options: see `siamese_cbow.push_to_hub`)."""
        from siamese_cbow import push_to_hub

        return push_to_hub(self, repo_id, **options)
