"""A model: a vocabulary, a vector for each of its words, and the tokenizer that cuts text into such words.

    Model(vocabulary, vectors, Tokenizer())     from finished arrays: nothing is trained, read or written here
    model.encode("the cat sat")                 (dim,) float32, the mean of the vectors of the, cat and sat
    model.similarity("a cat", "a dog")          the cosine of two such means
    model.neighbours("cat")                     the words that point the same way
    model.language("de")                        of a model of several languages, the one of German texts
    model.compress("int8")                      a smaller one; model.adapt(texts), one for texts of one kind

Names and options are those that users of sentence-transformers and gensim know. Does not train (see `training`),
and knows no file formats (see `storage`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets, Vectors, thread_count
from siamese_cbow.base.notebook import card
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model import geometry as near
from siamese_cbow.model.encoding import BATCH_SIZE, Encoder, Texts, as_list, as_tensors, at_least_1, one_of
from siamese_cbow.model.info import checked_rows, plain_info, without_scores
from siamese_cbow.model.packed_rows import Dtype, PackedRows, Rows, as_array
from siamese_cbow.progress import SILENT, bar
from siamese_cbow.words.fallback import Fallback, finder
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.transform.postprocessing import Undo
    from siamese_cbow.transform.settings import Weights

TextsOrVectors: TypeAlias = Texts | NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Model:
    """Word vectors that are meant to be averaged.

    vocabulary  n_words words; word i has vectors[i]
    rows        (n_words, dim) float32, a read-only view; or packed in fewer bits, see `packed_rows`
    tokenizer   how text is cut into words
    info        where the model comes from (recipe, corpus, ...): anything that JSON can hold
    undo        how to undo the post-processing, where there was one
    """

    vocabulary: Vocabulary
    rows: Rows
    tokenizer: Tokenizer
    info: Mapping[str, Any]
    undo: Undo | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        vectors: Rows,
        tokenizer: Tokenizer | None = None,
        info: Mapping[str, Any] | None = None,
        *,
        undo: Undo | None = None,
    ) -> None:
        languages = {"languages": vocabulary.languages} if vocabulary.languages else {}
        own = {
            "vocabulary": vocabulary,
            "rows": checked_rows(vectors, vocabulary),
            "tokenizer": tokenizer or Tokenizer(),
            "info": MappingProxyType(plain_info({**(info or {}), **languages})),
            "undo": undo,
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)
        if undo is not None and not undo.fits(len(vocabulary), self.dim):
            raise InputError("what is kept of the post-processing is not of this model; leave `undo` out")

    @property
    def vectors(self) -> Vectors:
        """(n_words, dim) float32, read-only. Of a packed model all rows are unpacked at the first use."""
        return as_array(self.rows)

    @property
    def dtype(self) -> Dtype:
        """How the rows are held: float32, float16, int8 or int4."""
        return self.rows.dtype if isinstance(self.rows, PackedRows) else "float32"

    @property
    def dim(self) -> int:
        """The number of dimensions of every vector."""
        return int(self.rows.shape[1])

    def get_embedding_dimension(self) -> int:
        """The number of dimensions, under the name sentence-transformers has for it."""
        return self.dim

    get_sentence_embedding_dimension = get_embedding_dimension  # its older name

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.tokenizer == other.tokenizer
            and self.info == other.info
            and self.vocabulary == other.vocabulary
            and self.dtype == other.dtype
            and np.array_equal(self.vectors, other.vectors)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is too large to hash

    def __repr__(self) -> str:
        recipe = self.info.get("recipe")
        name = recipe.get("name") if isinstance(recipe, Mapping) else recipe
        made = f", recipe {name}" if name else ""
        of = f" of {', '.join(self.languages)}" if self.languages else ""
        return f"<Model of {len(self.vocabulary):,} words{of} in {self.dim} dimensions{made}>"

    def _repr_html_(self) -> str:
        entries = {
            "words": f"{len(self.vocabulary):,}, {self.rows.nbytes / 1e6:,.1f} MB",
            "languages": ", ".join(self.languages),
            "frequent": " ".join(self.vocabulary.frequent(12)),
            "tokenizer": ", ".join(f"{key}: {value}" for key, value in self.tokenizer.settings().items()),
            **{key: _shown(value) for key, value in self.info.items()},
        }
        return card(repr(self)[1:-1], entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.vocabulary, self.rows, self.tokenizer, dict(self.info), self.undo)

    # languages

    @property
    def languages(self) -> list[str]:
        """The languages of a model that was trained on translations: ["en", "de"]; empty for any other model."""
        return list(self.vocabulary.languages)

    def language(self, name: str) -> Model:
        """The part of a model of several languages that encodes the texts of one.

        `cosine(model.language("en").encode("a house"), model.language("de").encode("ein Haus"))` -> 0.93
        """
        if name not in self.languages:
            expected = f"one of {', '.join(self.languages)}" if self.languages else "none: this model has one language"
            raise InputError(f"language is {name!r}; expected {expected}")
        vocabulary, ids = self.vocabulary.of_language(name)
        together = len(ids) > 0 and ids[-1] - ids[0] + 1 == len(ids)  # then no row is copied, or read from disk
        places = slice(ids[0], ids[-1] + 1) if together else ids
        rows = self.rows.part(places) if isinstance(self.rows, PackedRows) else self.rows[places]
        info = {key: value for key, value in self.info.items() if key != "languages"}
        return Model(vocabulary, rows, self.tokenizer, {**info, "language": name})

    def _check_one_language(self) -> None:
        """Texts don't say their language, and none of their words would be found."""
        if self.languages:
            raise InputError(
                f"this model has words of {len(self.languages)} languages ({', '.join(self.languages)}), and a text "
                f'does not say which is its own; use model.language("{self.languages[0]}") (or --language)'
            )

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
        threads: int | None = None,
    ) -> Vectors:
        """The mean of the vectors of a text's words: one string -> (dim,), many -> (n, dim), float32.

        Words without a vector are left out, and a text without any word left gives zeros.

        sentences             a string, or any list, column or iterator of strings; `inputs` is another name for it
        batch_size            texts that are worked on at a time; a matter of speed and memory only
        show_progress_bar     a bar on standard error
        normalize_embeddings  rows of length 1 (rows of zeros stay zeros)
        truncate_dim          only the first dimensions, before normalising
        convert_to_numpy      False gives PyTorch tensors, a list of them for many texts
        threads               all cores, unless said
        """
        self._check_one_language()
        texts = one_of(sentences, inputs)
        dim = self.dim if truncate_dim is None else at_least_1("truncate_dim", truncate_dim, self.dim)
        if isinstance(texts, str):
            vectors = self._encoder.one(texts, dim=dim, normalize=normalize_embeddings)
        else:
            listed = as_list(texts)
            showing = bar("encode", len(listed), unit="texts") if show_progress_bar else nullcontext(SILENT)
            with showing as progress:
                vectors = self._encoder.many(
                    listed,
                    dim=dim,
                    normalize=normalize_embeddings,
                    batch_size=at_least_1("batch_size", batch_size),
                    threads=thread_count(threads),
                    progress=progress,
                )
        return vectors if convert_to_numpy else as_tensors(vectors)

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.vocabulary, self.rows, self.tokenizer, self.fallback)

    @overload
    def similarity(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]  # a str is many strings too
    @overload
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> Vectors: ...
    def similarity(self, a: TextsOrVectors, b: TextsOrVectors) -> float | Vectors:
        """Cosines: of two strings a float, of many the matrix (n, m). Arrays are taken for vectors.

        `similarity("a cat", "a dog")` -> 0.71; `similarity(["a cat", "a dog"], ["a cow"])` -> (2, 1)
        """
        found = near.cosines(self._rows(a), self._rows(b))
        return float(found[0, 0]) if isinstance(a, str) and isinstance(b, str) else found

    @overload
    def similarity_pairwise(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def similarity_pairwise(self, a: TextsOrVectors, b: TextsOrVectors) -> Vectors: ...
    def similarity_pairwise(self, a: TextsOrVectors, b: TextsOrVectors) -> float | Vectors:
        """The cosine of a[i] and b[i] for each i, (n,): `similarity_pairwise(["a cat", "tea"], ["a dog", "tea"])`."""
        rows, others = self._rows(a), self._rows(b)
        if len(rows) != len(others):
            raise InputError(f"{len(rows):,} texts against {len(others):,}; expected as many on either side")
        found = near.paired_cosines(rows, others)
        return float(found[0]) if isinstance(a, str) and isinstance(b, str) else found

    def _rows(self, given: TextsOrVectors) -> Vectors:
        """Texts or vectors as rows, (n, dim)."""
        if not (isinstance(given, np.ndarray) and given.dtype.kind in "fiu"):
            return np.atleast_2d(self.encode(given))
        if given.ndim not in (1, 2):
            raise InputError(f"vectors of shape {given.shape}; expected (n, dim) or (dim,)")
        return np.atleast_2d(given.astype(np.float32, copy=False))

    def ids(self, texts: Texts) -> tuple[Ids, Offsets]:
        """The ids of the words of many texts that have a vector: text i has `ids[offsets[i]:offsets[i + 1]]`.

        vocabulary the, cat: `ids(["the the", "?", "a cat"])` -> [0, 0, 1], [0, 2, 2, 3]
        """
        self._check_one_language()
        return self._encoder.ids(as_list(texts))

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that have no vector, each once: `unknown_words("a blorf sat")` -> ["blorf"]."""
        self._check_one_language()
        return [word for word in dict.fromkeys(self.tokenizer.words(text)) if word not in self.vocabulary]

    # words

    def vector(self, word: str) -> Vectors:
        """The vector of a word, (dim,)."""
        row: Vectors = self.rows.take([self._id(word)], 0)[0]
        return row

    def neighbours(self, word_or_text: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words nearest to a word or to a text, with their cosines; its own words are left out.

        `neighbours("cat", k=2)` -> [("kitten", 0.83), ("dog", 0.71)]
        """
        if word_or_text in self.vocabulary:
            return self.most_similar([word_or_text], topn=k)
        self._check_one_language()
        found = map(finder(self.vocabulary, self.fallback, few=True), self.tokenizer.words(word_or_text))
        ids = {i for i in found if i is not None}
        if not ids:
            raise InputError(f"{word_or_text!r} has no word with a vector; expected at least one known word")
        return self._nearest(self.encode(word_or_text), k, ids)

    def most_similar(
        self, positive: str | Sequence[str] = (), negative: str | Sequence[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """The words nearest to the sum of the positive words less the negative ones, each at length 1, as in gensim.

        `most_similar(["king", "woman"], ["man"], topn=1)` -> [("queen", 0.71)]
        """
        plus, minus = ([words] if isinstance(words, str) else list(words) for words in (positive, negative))
        if not plus and not minus:
            raise InputError("most_similar got no words; expected at least one, positive or negative")
        ids = [self._id(word) for word in plus + minus]
        rows = near.units(self.rows.take(ids, 0))
        rows[len(plus) :] *= -1
        return self._nearest(rows.sum(axis=0), topn, set(ids))

    def _nearest(self, target: Vectors, k: int, without: Iterable[int]) -> list[tuple[str, float]]:
        ids, scores = near.nearest(self.vectors, self._lengths, target, at_least_1("k", k), without=set(without))
        return [(self.vocabulary.words[i], float(score)) for i, score in zip(ids, scores, strict=True)]

    def _known(self, text: str) -> list[str]:
        return [word for word in self.tokenizer.words(text) if word in self.vocabulary]

    def _id(self, word: str) -> int:
        try:
            return self.vocabulary.index[word]
        except (KeyError, TypeError):
            folded = self._known(word) if isinstance(word, str) else []
            hint = f"did you mean {folded[0]!r}?" if len(folded) == 1 else "`word in model` tells beforehand"
            if self.languages:
                hint = f"words of this model are written with their language: '{self.languages[0]}:{word}'"
            raise InputError(f"the word {word!r} has no vector in this model; {hint}") from None

    @cached_property
    def _lengths(self) -> NDArray[np.float64]:
        return near.lengths(self.vectors)

    # pictures

    def plot_words(self, words: Sequence[str], *, ax: Any = None) -> Any:
        """A map of words with matplotlib; returns the axes: `plot_words(["cat", "dog", "king", "queen"])`."""
        from siamese_cbow.model.plots import plot_words

        return plot_words(self, words, ax=ax)

    def plot_similarity(self, a: Sequence[str], b: Sequence[str] | None = None, *, ax: Any = None) -> Any:
        """A heat map of the cosines of some texts with others, or among themselves; returns the axes."""
        from siamese_cbow.model.plots import plot_similarity

        return plot_similarity(self, a, b, ax=ax)

    # unknown words

    @property
    def fallback(self) -> Fallback:
        """What unknown words count as: "none", nothing; "prefix", the known word with the longest common beginning."""
        return "prefix" if self.info.get("unknown_words") == "prefix" else "none"

    def with_fallback(self, fallback: Fallback) -> Model:
        """The same model with another answer to unknown words: `model.with_fallback("prefix").encode("playfully")`."""
        if fallback not in get_args(Fallback):
            raise SettingsError(f"fallback is {fallback!r}; expected one of {', '.join(get_args(Fallback))}")
        info = {key: value for key, value in self.info.items() if key != "unknown_words"}
        info |= {} if fallback == "none" else {"unknown_words": fallback}
        return Model(self.vocabulary, self.rows, self.tokenizer, info, undo=self.undo)

    def counts_as(self, word: str) -> str | None:
        """The known word that a word counts as in a text: itself, with a fallback another one, or None.

        `model.with_fallback("prefix").counts_as("playfully")` -> "play"
        """
        self._check_one_language()
        found = finder(self.vocabulary, self.fallback, few=True)(word)
        return None if found is None else self.vocabulary.words[found]

    def unknown_counts(self, texts: Iterable[str]) -> dict[str, int]:
        """The words of many texts that have no vector of their own, and how often each comes, the most frequent first.

        `unknown_counts(["a blorf", "blorf blip"])` -> {"blorf": 2, "blip": 1}
        """
        self._check_one_language()
        counts = Counter(word for text in texts for word in self.tokenizer.words(text) if word not in self.vocabulary)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    # other models of it

    def check_not_postprocessed(self) -> None:
        """Steps of a second post-processing would be estimated on what the first has left."""
        if "postprocessing" in self.info:
            raise InputError(
                "this model is post-processed already, and steps don't add up; start from without_postprocessing()"
            )

    def postprocess(
        self,
        stream: Stream | None = None,
        *,
        weights: Weights = "none",
        a: float = 1e-3,
        center: bool = False,
        components: int = 0,
        by_share: bool = False,
        whiten: float = 0.0,
        seed: int = 1,
    ) -> Model:
        """A new model with weights for words and what sentences have in common taken out, folded into its rows.

        `model.postprocess(stream, components=1)`: without the direction that all sentences of the stream share. Without
        a stream, mean and directions are estimated from the words' counts. The options: see `postprocess.settings`.
        """
        from siamese_cbow.transform.postprocessing import folded
        from siamese_cbow.transform.settings import Postprocess

        steps = Postprocess(
            weights=weights, a=a, center=center, components=components, by_share=by_share, whiten=whiten, seed=seed
        )
        self.check_not_postprocessed()
        rows, undo = folded(self.vectors, self.vocabulary, steps, stream)
        done = {**steps.settings(), "estimated_on": "counts" if stream is None else stream.fingerprint}
        info = {**without_scores(self.info), "postprocessing": done}
        return Model(self.vocabulary, rows, self.tokenizer, info, undo=undo)

    def adapt(self, texts: Texts) -> Model:
        """A new model for texts of one kind, of which these are some: `model.adapt(headlines)`.

        Words that are common in them count for less, and so does what they all have in common; the more texts, the
        more so: some hundreds tell something, and of more than 100,000 a sample is looked at. Nothing is trained. What
        an earlier `adapt` has done is undone first.
        """
        from siamese_cbow.transform.adaptation import adapt

        return adapt(self, texts)

    def without_postprocessing(self) -> Model:
        """The model as it was before `postprocess` or `adapt`, up to rounding; one without either as it is."""
        if "postprocessing" not in self.info:
            return self
        if self.undo is None:
            raise InputError(
                "this model's post-processing can't be undone: it was made smaller since; use the original"
            )
        info = {key: value for key, value in self.info.items() if key != "postprocessing"}
        return Model(self.vocabulary, self.undo.rows(self.vectors), self.tokenizer, info)

    def compress(self, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
        """A smaller model: of fewer bits, fewer dimensions, fewer words.

        `model.compress("int8", dim=200, words=100_000)`

        dtype  float32, float16, int8 or int4; as it is, unless said
        dim    rotated so that the first dimensions carry most, then cut (cosines don't notice a rotation)
        words  the most frequent ones are kept
        """
        from siamese_cbow.transform.compression import compress

        return compress(self, dtype, dim=dim, words=words)

    # files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a folder, which `siamese_cbow.load`, sentence-transformers and model2vec read."""
        from siamese_cbow.model.storage import save

        save(self, Path(path))

    save_pretrained = save  # the name that users of the Hugging Face libraries know

    @classmethod
    def from_pretrained(cls, name_or_path: str | os.PathLike[str], **options: Any) -> Model:
        """The model in a folder, or on the Hugging Face Hub (options: see `hub.from_pretrained`)."""
        from siamese_cbow.formats.hub import from_pretrained

        return from_pretrained(name_or_path, **options)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Uploads the model to the Hugging Face Hub; returns its address (options: see `hub.push_to_hub`)."""
        from siamese_cbow.formats.hub import push_to_hub

        return push_to_hub(self, repo_id, **options)


def _shown(value: Any) -> str:
    """{"epochs": 1, "dim": 300} -> "epochs: 1, dim: 300"."""
    return ", ".join(f"{key}: {item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


def _restored(
    vocabulary: Vocabulary, rows: Rows, tokenizer: Tokenizer, info: Mapping[str, Any], undo: Undo | None
) -> Model:
    """For `copy` and `pickle`."""
    return Model(vocabulary, rows, tokenizer, info, undo=undo)
