"""Word vectors: the data of a model, and queries about single words.

    WordVectors(vocabulary, vectors)      n_words words, and a row for each
    .vector("cat"), .neighbours("cat")    its row, and the words with the highest cosine

A `Model` adds operations on whole texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.base.option_fields import at_least_1, checked_value
from siamese_cbow.errors import InputError
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.model.encoding import Texts, as_texts
from siamese_cbow.model.geometry import Undo, as_vectors, lengths, nearest, one_number, one_or_several, units
from siamese_cbow.model.info import ModelInfo
from siamese_cbow.model.packed_rows import Dtype, PackedRows, Rows, as_array, checked_rows
from siamese_cbow.model.text_watch import not_a_word, remark_on
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import Fallback, finder
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.model.ngram_vectors import NGramVectors

NEAR = 0.3  # minimum cosine at which a known word says something about an unknown one


@dataclass(frozen=True, eq=False, repr=False, init=False)
class WordVectors:
    """Word vectors that are meant to be averaged.

    vocabulary  n_words words; word i has vectors[i]
    rows        (n_words, dim) float32, a read-only view; or packed in fewer bits, see `packed_rows`
    tokenizer   how text is split into words
    info        where they come from (recipe, corpus, ...); may be given as a dict
    undo        how to undo the post-processing, if there was any
    given_ngrams  n-gram vectors that were fitted earlier; if None, they are fitted on first use
    """

    vocabulary: Vocabulary
    rows: Rows
    tokenizer: Tokenizer
    info: ModelInfo
    undo: Undo | None
    given_ngrams: NGramVectors | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        vectors: Rows,
        tokenizer: Tokenizer | None = None,
        info: Mapping[str, Any] | None = None,
        *,
        undo: Undo | None = None,
        ngrams: NGramVectors | None = None,
    ) -> None:
        checked_value("tokenizer", tokenizer, Tokenizer, optional=True)
        checked = ModelInfo.of(info or {})
        self.__dict__.update(  # a frozen dataclass refuses assignments
            vocabulary=vocabulary,
            rows=checked_rows(vectors, vocabulary),
            tokenizer=tokenizer or Tokenizer(),
            info=replace(checked, languages=list(vocabulary.languages)) if vocabulary.languages else checked,
            undo=undo,
            given_ngrams=ngrams,
        )
        if undo is not None and not undo.fits(len(vocabulary), self.dim):
            raise InputError("the stored post-processing belongs to another model; drop `undo`")
        if ngrams is not None and ngrams.dim != self.dim:
            raise InputError(f"n-grams have {ngrams.dim} dimensions, expected {self.dim}; drop `ngrams`")

    def __reduce__(self) -> tuple[Any, ...]:  # caches are left out
        made = partial(type(self), undo=self.undo, ngrams=self.given_ngrams)
        return made, (self.vocabulary, self.rows, self.tokenizer, self.info)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordVectors):
            return NotImplemented
        same = all(getattr(self, part) == getattr(other, part) for part in ("tokenizer", "info", "vocabulary", "dtype"))
        return same and np.array_equal(self.vectors, other.vectors)

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is too large to hash

    def __repr__(self) -> str:
        made = f", recipe {self.info.recipe_name}" if self.info.recipe_name else ""
        of = f" of {', '.join(self.languages)}" if self.languages else ""
        return f"<{type(self).__name__} of {len(self.vocabulary):,} words{of} in {self.dim} dimensions{made}>"

    def _repr_html_(self) -> str:
        from siamese_cbow.base.notebook import card

        entries = {
            "words": f"{len(self.vocabulary):,}, {self.rows.nbytes / 1e6:,.1f} MB",
            "languages": ", ".join(self.languages),
            "frequent": " ".join(self.vocabulary.frequent(12)),
            "tokenizer": self.tokenizer.settings(),
            **self.info,
        }
        return card(repr(self)[1:-1], entries)

    # size

    @property
    def vectors(self) -> Vectors:
        """(n_words, dim) float32, read-only. A packed model unpacks all rows on first use."""
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
        """The number of dimensions, under the name of sentence-transformers."""
        return self.dim

    get_sentence_embedding_dimension = get_embedding_dimension  # its older name
    vector_size = dim  # gensim's

    # languages

    @property
    def languages(self) -> list[str]:
        """The languages of a model that was trained on translations: ["en", "de"]; empty for any other model."""
        return list(self.vocabulary.languages)

    def _check_one_language(self) -> None:
        """Refuse texts for a multilingual model: they don't say their language, so none of their words would match."""
        if self.languages:
            raise InputError(
                f"this model has {len(self.languages)} languages ({', '.join(self.languages)}); choose that "
                f'of the text: model.language("{self.languages[0]}") or --language'
            )

    # words

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __iter__(self) -> Iterator[str]:
        yield from self.vocabulary.words

    def vector(self, word: str) -> Vectors:
        """The vector of a word, (dim,); also `model["cat"]`."""
        return np.asarray(self.rows.take([self._id(word)], 0)[0], np.float32)

    def __getitem__(self, word: str | list[str]) -> Vectors:
        """`model["cat"]` -> (dim,); `model[["cat", "dog"]]` -> (2, dim), as in gensim."""
        return np.array([self.vector(each) for each in word]) if isinstance(word, list) else self.vector(word)

    def neighbours(
        self, word_or_text: str | Vectors, k: int = 10, *, topn: int | None = None, all_forms: bool = False
    ) -> list[tuple[str, float]]:
        """The k words nearest to a word, text or vector, with their cosines; the text's own words are left out.

        `neighbours("cat", k=2)` -> [("kitten", 0.83), ("dog", 0.71)]
        topn       gensim's name for k
        all_forms  include rare words and all forms of a word (cats, kittens), not one frequent form per stem
        """
        k = one_number(k, topn)
        if word_or_text in self.vocabulary or as_vectors(word_or_text) is not None:
            return self.most_similar([word_or_text], topn=k, all_forms=all_forms)
        if not isinstance(word_or_text, str):
            raise InputError(f"neighbours got {word_or_text!r:.60}; expected a word, a text or a vector")
        self._check_one_language()
        words = self.tokenizer.words(word_or_text)
        each_id = list(map(finder(self.vocabulary, self.fallback, few=True), words))
        ids = [i for i in each_id if i is not None]
        unknown = [word for word, i in zip(words, each_id, strict=True) if i is None and self.fallback == "ngrams"]
        if not ids and not unknown:
            raise InputError(f"{word_or_text!r} has no word with a vector; expected at least one known word")
        rows = np.array([self.ngrams.row(word) for word in unknown]) if unknown else None
        target = mean_of_rows(self.rows, ids, self.dim, unknown=rows)
        own_words = [*words, *(self.vocabulary.words[i] for i in ids)]
        return self._nearest_but(set(ids), own_words, target, k, all_forms)

    neighbors, get_vector = neighbours, vector  # American spelling; gensim's name

    def most_similar(
        self,
        positive: str | Vectors | Sequence[str | Vectors] = (),
        negative: str | Vectors | Sequence[str | Vectors] = (),
        topn: int = 10,
        *,
        k: int | None = None,
        all_forms: bool = True,
    ) -> list[tuple[str, float]]:
        """The words nearest to the sum of the positive words minus the negative ones, each at length 1, as in gensim.

        `most_similar(["king", "woman"], ["man"], topn=1)` -> [("queen", 0.71)]; a vector can stand for a word
        k          the name of topn in `neighbours`
        all_forms  include rare words and all forms of a word (cats, kittens), not one frequent form per stem
        """
        topn = one_number(topn, k, names=("topn", "k"))
        plus, minus = one_or_several("positive", positive), one_or_several("negative", negative)
        if not plus and not minus:
            raise InputError("most_similar got no words; expected at least one, positive or negative")
        words: list[Any] = plus + minus
        given = [as_vectors(word, (self.dim,)) for word in words]
        rows = units(np.array([self.vector(w) if v is None else v for w, v in zip(words, given, strict=True)]))
        rows[len(plus) :] *= -1
        own_words = [word for word in words if isinstance(word, str)]
        return self._nearest_but({self._id(word) for word in own_words}, own_words, rows.sum(axis=0), topn, all_forms)

    def _nearest_but(
        self, ids: Collection[int], words: Sequence[str], target: Vectors, k: int, all_forms: bool
    ) -> list[tuple[str, float]]:
        from siamese_cbow.model.forms import one_of_each_stem  # imported late: comparing texts needs no stems

        if not target.any():
            raise InputError("the words add up to a zero vector, which has no neighbours; expected other words")
        return self.nearest_words(target, k, ids) if all_forms else one_of_each_stem(self, target, k, words)

    def nearest_words(self, target: Vectors, k: int, without: Collection[int]) -> list[tuple[str, float]]:
        """The k words nearest to a vector, (dim,), with their cosines; the ids `without` are left out."""
        ids, scores = nearest(self.vectors, self._lengths, target, at_least_1("k", k), without=without)
        return [(self.vocabulary.words[i], float(score)) for i, score in zip(ids, scores, strict=True)]

    def _id(self, word: str) -> int:
        try:
            return self.vocabulary.index[word]
        except (KeyError, TypeError):
            raise InputError(not_a_word(word, self.vocabulary, self.tokenizer)) from None

    @cached_property
    def _lengths(self) -> Floats:
        return lengths(self.vectors)

    # unknown words

    @property
    def fallback(self) -> Fallback:
        """How unknown words count: "none", not at all; "prefix", as the known word with the longest common prefix;
        "ngrams", with a vector composed of their letters."""
        if self.info.unknown_words == "ngrams" and self.tokenizer.settings().get("kind") == "json":
            return "none"  # its tokens are subwords, whose letters are not accessible
        return self.info.unknown_words or "none"

    @cached_property
    def ngrams(self) -> NGramVectors:
        """The vectors of character n-grams that unknown words are composed of: those given, or fitted now."""
        from siamese_cbow.model.ngram_vectors import fitted  # models without them start faster

        return self.given_ngrams or fitted(self.vocabulary, self.vectors)

    def counts_as(self, word: str) -> str | None:
        """The known word that a word counts as in a text: itself, another one with the fallback "prefix", or None.

        `model.with_fallback("prefix").counts_as("playfully")` -> "play"
        """
        self._check_one_language()
        if not isinstance(word, str):
            raise InputError(not_a_word(word, self.vocabulary, self.tokenizer))
        known = finder(self.vocabulary, self.fallback, few=True)(word)
        return None if known is None else self.vocabulary.words[known]

    def word_row(self, word: str) -> Vectors | None:
        """The vector that a word has in a text, (dim,): its own, that of `counts_as`, one of n-grams, or None."""
        known = self.counts_as(word)
        if known is not None:
            return self.vector(known)
        return self.ngrams.row(word) if self.fallback == "ngrams" else None

    def made_of(self, word: str, k: int = 3) -> str:
        """What a word counts as, for readers: "nothing", "play", "built from its letters; near ...".

        `model.made_of("covid")` -> 'built from its letters; near "cowed", "covets", "covet"'
        """
        if (known := self.counts_as(word)) is not None or self.fallback != "ngrams":
            return known or "nothing"
        near = self.nearest_words(self.ngrams.row(word), k, set())
        listed = ", ".join(f'"{other}"' for other, cosine in near if cosine >= NEAR)
        return f"built from its letters; near {listed}" if listed else "built from its letters; no known word is near"

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that have no vector, each once: `unknown_words("a blorf sat")` -> ["blorf"]."""
        self._check_one_language()
        return [word for word in dict.fromkeys(self.tokenizer.words(text)) if word not in self.vocabulary]

    def remark_on(self, texts: Texts) -> str:
        """The warning about these texts: "41% of the words are not ...: the text looks German ...", or ""."""
        return remark_on(as_texts(texts), self.vocabulary, self.tokenizer, self.info.language)
