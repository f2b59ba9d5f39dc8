"""The models of a server, by name; the first is the one that is meant where none is named."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model
from siamese_cbow.serve.bodies import Problem
from siamese_cbow.serve.embedder import Embedder


@dataclass(frozen=True, eq=False)
class Entry:
    """A model and its name."""

    name: str
    embedder: Embedder
    created: int

    @property
    def model(self) -> Model:
        """The model, for whatever is more than vectors of texts."""
        return self.embedder.model

    @cached_property
    def described(self) -> dict[str, Any]:
        """As in a list of OpenAI's models, with what ours have besides."""
        info, words = self.model.info, self.model.vocabulary
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "siamese-cbow",
            "dim": self.model.dim,
            "n_words": len(words),
            "recipe": info.recipe_name,
            "language": info.language,
            "has_counts": bool(words.counts.any()),
        }


class Registry:
    """`Registry({"books": model})["books"].model` -> the model; a model of several languages is there once for each.

    {"talks": <Model of en, de>}  ->  talks/en, talks/de
    """

    def __init__(self, models: Mapping[str, Model | Embedder]) -> None:
        if not models:
            raise InputError("no model to serve; expected at least one")
        now = int(time.time())
        embedders: dict[str, Embedder] = {}
        for name, model in models.items():
            if isinstance(model, Embedder):
                embedders[name] = model
            elif model.languages:
                embedders |= {f"{name}/{language}": Embedder(model.language(language)) for language in model.languages}
            else:
                embedders[name] = Embedder(model)
        self._entries = {name: Entry(name, embedder, now) for name, embedder in embedders.items()}

    def __getitem__(self, name: str | None) -> Entry:
        if name is None:
            return next(iter(self._entries.values()))
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(map(repr, self._entries))
            message = f"the model {name[:80]!r} does not exist; expected {known}"
            raise Problem(404, message, param="model", code="model_not_found") from None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    @property
    def is_warm(self) -> bool:
        """Whether the bulk paths of all models are loaded."""
        return all(entry.embedder.is_warm for entry in self)

    def warm(self) -> None:
        """Loads the bulk paths of all models, and what the first search for neighbours would work out. For a thread."""
        for entry in self:
            entry.embedder.warm()
            entry.model.neighbours(entry.model.vocabulary.words[0], 1)
