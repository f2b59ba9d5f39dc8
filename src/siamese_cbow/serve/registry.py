"""The models of a server by name, wrapped for serving; the first one is the default.

The first response must not wait for a compiler, yet bulk work must be fast. So a server starts on the small path (plain
Python and NumPy) while a thread loads the bulk path, which then takes over. Both give the same bits;
`siamese_cbow.model.encoding` has both and chooses between them.

Tokens are counted along the way: words that have a vector, since only these contribute.

Rows are held in memory: truncating a mapped file would kill the whole process (SIGBUS).

A client may load more models, but only from the folder that the operator has named. It sends a name that the server
lists, never a path, and only folders of siamese-cbow are read, which can't run code.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import FORMAT, load
from siamese_cbow.serve.bodies import Problem


class Embedder:
    """A model wrapped for serving: `Embedder(model).texts(["the cat"], dim=300, normalize=True)` -> (1, 300), 2."""

    # Text of this length takes about a millisecond; less is not worth a thread.
    QUICK, QUICK_BULK = 4_000, 150_000  # characters

    def __init__(self, model: Model) -> None:
        self.model = model = model.in_memory()
        _ = model.vocabulary.index  # built now, not while the first client waits
        self._encoder = model.encoder()

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self.model.dim

    @property
    def is_warm(self) -> bool:
        """Whether the bulk path is loaded."""
        return self._encoder.is_bulk

    def warm(self) -> None:
        """Load the bulk path, which takes from one second to a minute (once per installation). Run it in a thread."""
        self._encoder.warm()

    def is_quick(self, n_characters: int) -> bool:
        """Whether this much text takes about a millisecond."""
        return n_characters <= (self.QUICK_BULK if self.is_warm else self.QUICK)

    def texts(self, texts: Sequence[str], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The vectors (n_texts, dim), and the number of words that have one."""
        return self._encoder.counted(texts, dim=dim, normalize=normalize)

    def ids(self, ids: Sequence[Sequence[int]], *, dim: int, normalize: bool) -> tuple[Vectors, int]:
        """The same for texts given as word ids: `ids([[0, 3], [1]], ...)` -> (2, dim), 3."""
        n_words = len(self.model.vocabulary)
        for number, word_ids in enumerate(ids):
            if word_ids and not (min(word_ids) >= 0 and max(word_ids) < n_words):
                wrong = next(i for i in word_ids if not 0 <= i < n_words)
                raise InputError(f"input {number} has the token id {wrong}; expected 0 to {n_words - 1}")
        return self._encoder.of_ids(ids, dim=dim, normalize=normalize)


@dataclass(frozen=True, eq=False)
class Entry:
    """A model and its name."""

    name: str
    embedder: Embedder
    created: int

    @property
    def model(self) -> Model:
        """The model itself, for anything but the vectors of texts."""
        return self.embedder.model

    @cached_property
    def described(self) -> dict[str, Any]:
        """An entry in OpenAI's list of models, with additional fields of ours."""
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
    """`Registry({"books": model})["books"].model` -> the model; a multilingual model is listed once per language.

    {"talks": <Model of en, de>}  ->  talks/en, talks/de

    folder  models in it can be loaded by name
    """

    def __init__(self, models: Mapping[str, Model | Embedder], folder: Path | None = None) -> None:
        if not models:
            raise InputError("no model to serve; expected at least one")
        self._folder, self._loading = folder, threading.Lock()
        self._names: set[str] = set()
        self._entries: dict[str, Entry] = {}
        for name, model in models.items():
            self._add(name, model)

    def _add(self, name: str, model: Model | Embedder) -> None:
        now = int(time.time())
        if isinstance(model, Embedder):
            embedders = {name: model}
        elif model.languages:
            embedders = {f"{name}/{language}": Embedder(model.language(language)) for language in model.languages}
        else:
            embedders = {name: Embedder(model)}
        # In one step: other threads may be reading the old entries.
        self._entries = {**self._entries, **{key: Entry(key, embedder, now) for key, embedder in embedders.items()}}
        self._names.add(name)

    @property
    def loadable(self) -> list[str]:
        """The names of models in the folder that are not served yet."""
        try:
            found = sorted(self._folder.iterdir()) if self._folder is not None else []
        except OSError:
            return []
        return [path.name for path in found if path.name not in self._names and FORMAT.is_in(path)]

    def load(self, name: str) -> None:
        """Serve a model of the folder, too, unless it is already served. Takes seconds; run it in a thread."""
        with self._loading:
            if name in self._names:
                return
            names = self.loadable
            if self._folder is None or name not in names:
                known = ", ".join(map(repr, names)) or "a server with models to load: serve --models DIR"
                raise Problem(404, f"no model {name[:80]!r} to load; expected {known}", param="name")
            try:
                model = load(self._folder / name)
            except SiameseCBOWError as error:
                raise Problem(400, str(error), param="name") from None
            was_warm = self.is_warm
            self._add(name, model)
        if was_warm:
            self.warm()

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
        """Load the bulk paths of all models and what the first query for neighbours needs. Run it in a thread."""
        done: set[str] = set()
        while cold := [entry for entry in self if entry.name not in done]:  # clients may load more meanwhile
            for entry in cold:
                entry.embedder.warm()
                entry.model.neighbours(entry.model.vocabulary.words[0], 1)
                done.add(entry.name)
