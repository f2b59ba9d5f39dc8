"""The fields of requests and responses; msgspec validates requests with them, OpenAPI describes both.

An unknown field in a request is an error, because it may be a typo: `treshold` would have no effect. Only
/v1/embeddings ignores unknown fields, as OpenAI-compatible servers do: clients send more than is documented.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from siamese_cbow.serve.middleware import Limits

Text: TypeAlias = Annotated[str, Meta(min_length=1, examples=["A man plays a guitar"])]
Texts: TypeAlias = Annotated[list[Text], Meta(min_length=1, examples=[["A man plays a guitar"]])]
TokenId: TypeAlias = Annotated[int, Meta(ge=0, examples=[0])]
TokenIds: TypeAlias = Annotated[list[TokenId], Meta(min_length=1, examples=[[0]])]
# msgspec supports one list type per union; `Api` checks that all members have the same type.
Inputs: TypeAlias = Annotated[list[Text | TokenId | TokenIds], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
ModelName: TypeAlias = Annotated[str, Meta(description="One of /v1/models; by default the first.")]


class EmbeddingsRequest(Struct, frozen=True):
    """OpenAI's fields, and `normalize`: false returns the plain mean, whose length shows how much the words matter."""

    input: Text | Inputs
    model: ModelName | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None
    normalize: bool = True


class SimilarityRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Two texts, or two lists of texts: a matrix of cosines, or with `pairwise` one cosine for each position."""

    a: Text | Texts
    b: Text | Texts
    model: ModelName | None = None
    pairwise: bool = False
    explain: bool = False


class NeighboursRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The words nearest to a text, or to the sum of `positive` words minus `negative` ones; one form of each word."""

    text: Text | None = None
    positive: list[Text] = []
    negative: list[Text] = []
    k: Count = 10
    all_forms: bool = False
    model: ModelName | None = None


class SearchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The texts that match a query by exact words and meaning, or by either; without texts, rows of the index."""

    query: Text
    texts: Annotated[list[str], Meta(min_length=1, examples=[["Someone plays an instrument"]])] | None = None
    k: Count = 10
    threshold: float | None = None
    mode: Literal["hybrid", "exact", "meaning"] = "hybrid"
    model: ModelName | None = None


class MapRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The given texts on a plane; or frequent words, with those named in `words` and their neighbours."""

    texts: Annotated[list[str], Meta(min_length=1, examples=[["a cat", "a dog"]])] | None = None
    words: list[Text] = []
    n_words: Annotated[int, Meta(ge=1, le=5000)] = 500
    method: Literal["pca", "umap"] = "pca"
    model: ModelName | None = None


class LoadRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A model to load, by one of the names that the settings of the page list."""

    name: ModelName


# Responses, as JSON schemas; tests check the server against them.

Schema: TypeAlias = dict[str, Any]

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
COSINE: Schema = {"type": "number", "minimum": -1.0001, "maximum": 1.0001}


def listed(items: Schema) -> Schema:
    """`listed(STRING)` -> {"type": "array", "items": {"type": "string"}}."""
    return {"type": "array", "items": items}


def record(**properties: Schema) -> Schema:
    """An object with all of these fields."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def perhaps(schema: Schema, **properties: Schema) -> Schema:
    """The same object, which may also have these fields."""
    return {**schema, "properties": {**schema["properties"], **properties}}


def optional(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


MODEL = record(id=STRING, object={"const": "model"}, created=INTEGER, owned_by=STRING, dim=INTEGER)
EMBEDDING = record(object={"const": "embedding"}, index=INTEGER, embedding={"anyOf": [listed(NUMBER), STRING]})
# An unknown word: without a norm it is ignored; otherwise it counts as a known word or has a vector from its n-grams.
UNKNOWN = perhaps(record(word=STRING, norm=optional(NUMBER)), counts_as=STRING, made_of=STRING)
DOT = record(word=STRING, at=NUMBER, norm=NUMBER)

ANSWERS: dict[str, Schema] = {
    "Error": record(error=record(message=STRING, type=STRING, param=optional(STRING), code=optional(STRING))),
    "Embeddings": record(
        object={"const": "list"},
        data=listed(EMBEDDING),
        model=STRING,
        usage=record(prompt_tokens=INTEGER, total_tokens=INTEGER),
    ),
    "Similarity": {
        **record(model=STRING, similarity={"anyOf": [COSINE, listed(COSINE), listed(listed(COSINE))]}),
        "description": "with explain also a and b, the words and their norms, and shares, which add up to similarity",
    },
    "Neighbours": perhaps(
        record(model=STRING, neighbours=listed(record(word=STRING, cosine=COSINE))), unknown=listed(UNKNOWN)
    ),
    "Search": perhaps(
        record(
            model=STRING,
            results=listed(record(score=NUMBER, text=STRING, exact=NUMBER, meaning=NUMBER, words=listed(STRING))),
            stale=listed(STRING),
        ),
        unknown=listed(UNKNOWN),
    ),
    "Models": record(object={"const": "list"}, data=listed(MODEL)),
    "Model": MODEL,
    "Health": record(status={"const": "ok"}, models=listed(STRING), is_warm={"type": "boolean"}),
    "Later": record(status=STRING),
    "Map": record(
        model=STRING,
        points=listed(record(label=STRING, x=NUMBER, y=NUMBER)),
        shares=optional(listed(NUMBER)),
        left_out=INTEGER,
    ),
    "Settings": record(
        methods=listed(STRING),
        max_inputs=INTEGER,
        max_bytes=INTEGER,
        loadable=listed(STRING),
        index=optional(record(name=STRING, n_rows=INTEGER)),
    ),
    "Norms": record(
        model=STRING,
        axis={"enum": ["count", "rank"]},
        dots=listed(DOT),
        bins=listed(record(at=NUMBER, low=NUMBER, middle=NUMBER, high=NUMBER, n=INTEGER)),
        shortest=listed(DOT),
        longest=listed(DOT),
        found=listed(DOT),
    ),
}


# Endpoints, and the API description generated from them, for people, client generators and fuzzers.

STATUSES = {
    "400": "The body is not JSON or does not match this schema.",
    "401": "Missing or wrong API key.",
    "403": "The request comes from a web page of another server.",
    "404": "There is no such model or word.",
    "408": "The body arrived too slowly.",
    "413": "The body is too large.",
    "415": "The content type is not JSON.",
    "421": "The Host header is not a name of this server.",
    "500": "Internal server error.",
    "503": "Too many requests, or too much work.",
}


@dataclass(frozen=True)
class Endpoint:
    """`Endpoint("/search", self.search, "Search", SearchRequest)`; the handler's docstring begins with its summary.

    answer  a name in `schemas.ANSWERS`, or None for plain text
    body    the record passed to the handler; without one, the method is GET and the handler gets the request itself
    """

    path: str
    handler: Callable[[Any], Awaitable[Response]]
    answer: str | None
    body: type[msgspec.Struct] | None = None
    query: Sequence[Schema] = ()  # query parameters
    is_open: bool = False  # answered without a key
    is_for_busy: bool = False  # answered regardless of load
    may_take_long: bool = False  # the response is 202 until the work is done

    def described(self) -> tuple[str, Schema]:
        """The path and its OpenAPI description."""
        operation: Schema = {"summary": (inspect.getdoc(self.handler) or "").partition("\n")[0]}
        path = re.sub(r"{(\w+):path}", r"{\1}", self.path)
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {**STRING, "minLength": 1}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        if parameters or self.query:
            operation["parameters"] = [
                *parameters,
                *({"in": "query", "required": False, **parameter} for parameter in self.query),
            ]
        if self.body is not None:
            operation["requestBody"] = {"required": True, "content": _json(self.body.__name__)}
        content = {"text/plain": {"schema": STRING}} if self.answer is None else _json(self.answer)
        operation["responses"] = {"200": {"description": "Success.", "content": content}}
        if self.may_take_long:
            operation["responses"]["202"] = {
                "description": "The result is not ready yet; send the same request again.",
                "content": _json("Later"),
            }
        for status, text in STATUSES.items():
            operation["responses"][status] = {"description": text, "content": _json("Error")}
        if self.is_open:
            operation["security"] = []
        return path, {"get" if self.body is None else "post": operation}


def description(endpoints: Sequence[Endpoint], limits: Limits, version: str, *, has_key: bool) -> Schema:
    """The OpenAPI document of a server with these endpoints and limits."""
    kinds = [endpoint.body for endpoint in endpoints if endpoint.body is not None]
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    _one_kind_of_input(schemas[EmbeddingsRequest.__name__]["properties"]["input"], limits)
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "siamese-cbow",
            "version": version,
            "description": f"At most {limits.max_bytes:,} bytes and {limits.max_inputs:,} texts per request; "
            "/search takes as many texts as fit into the bytes.",
        },
        "paths": dict(endpoint.described() for endpoint in endpoints),
        "components": {"schemas": {**schemas, **ANSWERS}},
    }
    if has_key:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
    return document


def _json(name: str) -> Schema:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _one_kind_of_input(schema: Schema, limits: Limits) -> None:
    """Refuse mixed lists, which msgspec allows: members must all be strings, all ids, or all lists of ids."""
    text: Schema = {"type": "string", "minLength": 1, "examples": ["A man plays a guitar"]}
    ids: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "examples": [[0]]}
    several: Schema = {"type": "array", "minItems": 1, "maxItems": limits.max_inputs}
    schema["anyOf"] = [text, {**several, "items": text}, ids, {**several, "items": ids}]
