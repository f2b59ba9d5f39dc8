"""Sentence vectors inside scikit-learn: in pipelines, in grid searches, next to other features.

make_pipeline(SentenceVectorizer(), LogisticRegression()).fit(texts, labels)      the model in the package
SentenceVectorizer("models/books")                                                a model of your own
SentenceVectorizer(None, dim=100, epochs=5).fit(texts)                            trains on these texts
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from typing import Any

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.option_fields import at_least_1
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model.encoding import as_list, check_strings
from siamese_cbow.model.model import Model

with needs("scikit-learn", "sklearn"):
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted


LEARNING = ("dim", "epochs", "min_count", "seed", "recipe", "changes")


class SentenceVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Raw texts -> (n_texts, dim) float32, the means of their words' vectors.

    model         a model, or the name of one as for `siamese_cbow.load`; None: `fit` trains word vectors on its texts
    adapt         `fit` adapts the model to its texts: see `Model.adapt`
    normalize     vectors of length 1
    truncate_dim  only the first dimensions; None: all
    dim, epochs, min_count, seed, recipe, changes
                  how to train if no model is given: `recipe` is a name such as "contrastive" or "paper", `changes` are
                  more settings of `SiameseCBOW`. A few thousand texts need many epochs, a low min_count and a softer
                  softmax: changes={"temperature": 0.1}
    threads       by default all cores; the result does not depend on their number

    After `fit`, `model_` is the model: `vectorizer.model_.neighbours("cat")`.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str] | None = "pretrained",
        *,
        adapt: bool = False,
        normalize: bool = False,
        truncate_dim: int | None = None,
        dim: int = 100,
        epochs: int = 10,
        min_count: int = 2,
        seed: int = 1,
        recipe: str = "contrastive",
        changes: dict[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.adapt, self.normalize, self.truncate_dim = model, adapt, normalize, truncate_dim
        self.dim, self.epochs, self.min_count, self.seed = dim, epochs, min_count, seed
        self.recipe, self.changes, self.threads = recipe, changes, threads

    def fit(self, texts: Iterable[str], y: Any = None) -> SentenceVectorizer:
        """Train word vectors on the texts, each of them a document; or take the model that was given."""
        listed = _texts(texts)
        if self.model is None:
            model = self._learn(listed)
        else:
            self._check_nothing_to_learn()
            model = self.model if isinstance(self.model, Model) else open_model(self.model)
        self.model_ = model.adapt(listed) if self.adapt else model
        dim = self.model_.dim
        self._n_features_out = dim if self.truncate_dim is None else at_least_1("truncate_dim", self.truncate_dim, dim)
        return self

    def transform(self, texts: Iterable[str]) -> Vectors:
        """The vector of each text, (n_texts, dim); zeros for a text without a known word."""
        check_is_fitted(self)
        options: dict[str, Any] = {"truncate_dim": self.truncate_dim, "threads": self.threads}
        return self.model_.encode(_texts(texts), normalize_embeddings=self.normalize, **options)

    def _check_nothing_to_learn(self) -> None:
        """Refuse training settings for a given model, on which they would have no effect."""
        defaults = inspect.signature(type(self).__init__).parameters
        if changed := [name for name in LEARNING if getattr(self, name) != defaults[name].default]:
            raise SettingsError(
                f"{', '.join(changed)}: only for training on the texts, but model is {self.model!r}; to "
                f"train, pass SentenceVectorizer(None, {changed[0]}={getattr(self, changed[0])!r})"
            )

    def _learn(self, texts: Sequence[str]) -> Model:
        from siamese_cbow.stream.preparation import prepare
        from siamese_cbow.training.siamese_cbow import SiameseCBOW

        settings = {"dim": self.dim, "epochs": self.epochs, "seed": self.seed, **(self.changes or {})}
        recipe = SiameseCBOW.preset(self.recipe, **settings)
        documents = ([text] for text in texts)  # lists: a text is one document, however many lines it has
        stream = prepare(documents, min_count=self.min_count, threads=self.threads)
        if stream.n_sentences == stream.n_documents:
            raise InputError(
                "every text is a single sentence, but training needs neighbouring sentences; fit on longer "
                "texts, or pass a trained model: SentenceVectorizer(model)"
            )
        return recipe.train(stream, threads=self.threads)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.transformer_tags.preserves_dtype = []
        return tags


def _texts(texts: Iterable[str]) -> list[str]:
    """A list of strings; for a one-column table, as ColumnTransformer may pass, that column."""
    if isinstance(texts, str):
        raise SettingsError("got a single string; expected a list or a column of texts")
    listed = as_list(texts)
    check_strings(listed)
    return listed
