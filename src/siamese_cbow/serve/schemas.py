"""What may stand in the bodies of requests. One definition: msgspec checks by it, and the OpenAPI page is made of it.

Fields that are not named here are ignored, as OpenAI does: clients send more than they document.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

Text: TypeAlias = Annotated[str, Meta(min_length=1, examples=["A man plays a guitar"])]
Texts: TypeAlias = Annotated[list[Text], Meta(min_length=1, examples=[["A man plays a guitar"]])]
TokenId: TypeAlias = Annotated[int, Meta(ge=0, examples=[0])]
TokenIds: TypeAlias = Annotated[list[TokenId], Meta(min_length=1, examples=[[0]])]
# msgspec checks one kind of list; that all its members are of one kind is checked afterwards.
Inputs: TypeAlias = Annotated[list[Text | TokenId | TokenIds], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
ModelName: TypeAlias = Annotated[str, Meta(description="One of /v1/models; the first of them, unless said.")]


class EmbeddingsRequest(Struct, frozen=True):
    """As OpenAI's, and `normalize`: false gives the plain mean, whose length says how much the words have to say."""

    input: Text | Inputs
    model: ModelName | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None
    normalize: bool = True


class SimilarityRequest(Struct, frozen=True):
    """Two texts, or two lists: a matrix of cosines, or with `pairwise` one for each pair of neighbours in the lists."""

    a: Text | Texts
    b: Text | Texts
    model: ModelName | None = None
    pairwise: bool = False
    explain: bool = False


class NeighboursRequest(Struct, frozen=True):
    """The words nearest to a text, or to the sum of `positive` words less the `negative` ones."""

    text: Text | None = None
    positive: list[Text] = []
    negative: list[Text] = []
    k: Count = 10
    model: ModelName | None = None


class SearchRequest(Struct, frozen=True):
    """The texts nearest to a query; empty texts are passed over."""

    query: Text
    texts: Annotated[list[str], Meta(min_length=1, examples=[["Someone plays an instrument"]])]
    k: Count = 10
    threshold: Annotated[float, Meta(ge=-1, le=1)] | None = None
    model: ModelName | None = None


class MapRequest(Struct, frozen=True):
    """Texts of one's own on a plane, or frequent words, with those named in `words` and their neighbours."""

    texts: Annotated[list[str], Meta(min_length=1, examples=[["a cat", "a dog"]])] | None = None
    words: list[Text] = []
    n_words: Annotated[int, Meta(ge=1, le=5000)] = 500
    method: Literal["pca", "umap"] = "pca"
    model: ModelName | None = None
