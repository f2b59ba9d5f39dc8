"""A model as LangChain's `Embeddings`: for its vector stores, retrievers and semantic splitters.

store = InMemoryVectorStore(SentenceEmbeddings(model))
store.add_texts(["A cat sleeps.", "Taxes rise."]); store.similarity_search("a dog", k=1)
"""

from __future__ import annotations

import os
from typing import Any

from siamese_cbow.errors import InputError, needs
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model.model import Model

with needs("langchain-core", "langchain"):
    from langchain_core.embeddings import Embeddings


class SentenceEmbeddings(Embeddings):
    """Embeds documents and queries, both in the same way.

    model      a model, or the name of one as for `siamese_cbow.load`; None: the model that comes with the package
    normalize  vectors of length 1, which stores that compare by dot product expect
    options    passed on to `Model.encode`: truncate_dim, batch_size, threads, ...
    """

    def __init__(
        self, model: Model | str | os.PathLike[str] | None = None, *, normalize: bool = True, **options: Any
    ) -> None:
        self.model = open_model(model)
        self._options = {"normalize_embeddings": normalize, **options}
        self.embed_query("")  # fail on a wrong option now, not with the first text

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text, as plain numbers: `embed_documents(["a cat", "a dog"])` -> [[0.12, ...], ...]."""
        given: Any = texts
        if isinstance(given, str):  # its letters would be texts
            raise InputError(f"embed_documents got one text, {given[:40]!r}; expected a list: embed_documents([text])")
        rows: list[list[float]] = self.model.encode(list(texts), **self._options).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text: `embed_query("a cat")` -> [0.12, ...]."""
        row: list[float] = self.model.encode(text, **self._options).tolist()
        return row
