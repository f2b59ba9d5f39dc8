"""The models of a server, by name; the first is the one that is meant where none is named."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model
from siamese_cbow.serve.embedder import Embedder, Embeds
from siamese_cbow.serve.problems import Problem


@dataclass(frozen=True, eq=False)
class Entry:
    """A model on the shelf; `embedder` may be another's in benchmarks, where there is no model."""

    name: str
    embedder: Embeds
    created: int

    @property
    def model(self) -> Model:
        """The model, for whatever is more than vectors of texts."""
        if isinstance(self.embedder, Embedder):
            return self.embedder.model
        raise Problem(501, f"{self.name!r} gives vectors and nothing else")

    @cached_property
    def described(self) -> dict[str, Any]:
        """As in a list of OpenAI's models, with what ours have besides."""
        shown: dict[str, Any] = {"id": self.name, "object": "model", "created": self.created}
        shown |= {"owned_by": "siamese-cbow", "dim": self.embedder.dim}
        if isinstance(self.embedder, Embedder):
            info, words = self.embedder.model.info, self.embedder.model.vocabulary
            shown["n_words"] = len(words)
            shown["recipe"] = info.recipe_name
            shown["language"] = info.language
            shown["has_counts"] = bool(words.counts.any())
        return shown


class Shelf:
    """`Shelf({"books": model})["books"].model` -> the model; a model of several languages stands there once for each.

    {"talks": <Model of en, de>}  ->  talks/en, talks/de
    """

    def __init__(self, models: Mapping[str, Model | Embeds]) -> None:
        now = int(time.time())
        self._entries: dict[str, Entry] = {}
        for name, model in models.items():
            if not isinstance(model, Model):
                self._entries[name] = Entry(name, model, now)
            elif model.languages:
                for language in model.languages:
                    full = f"{name}/{language}"
                    self._entries[full] = Entry(full, Embedder(model.language(language)), now)
            else:
                self._entries[name] = Entry(name, Embedder(model), now)
        if not self._entries:
            raise InputError("no model to serve; expected at least one")

    def __getitem__(self, name: str | None) -> Entry:
        if name is None:
            return next(iter(self._entries.values()))
        try:
            return self._entries[name]
        except KeyError:
            known = ", ".join(map(repr, self._entries))
            raise Problem(
                404, f"the model {name[:80]!r} does not exist; expected {known}", param="model", code="model_not_found"
            ) from None

    def __iter__(self) -> Any:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def warm(self) -> None:
        """Loads the bulk paths of all models, and what the first search for neighbours would work out. For a thread."""
        for entry in self:
            if isinstance(entry.embedder, Embedder):
                entry.embedder.warm()
                entry.model.neighbours(entry.model.vocabulary.words[0], 1)
