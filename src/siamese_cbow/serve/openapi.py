"""The description of the API, for people, client generators and fuzzers; requests come from `requests`."""

from __future__ import annotations

from typing import Any

import msgspec

from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.schemas import (
    EmbeddingsRequest,
    MapRequest,
    NeighboursRequest,
    SearchRequest,
    SimilarityRequest,
)

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
COSINE: Schema = {"type": "number", "minimum": -1.0001, "maximum": 1.0001}


def listed(items: Schema) -> Schema:
    """`listed(STRING)` -> {"type": "array", "items": {"type": "string"}}."""
    return {"type": "array", "items": items}


def record(**properties: Schema) -> Schema:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def optional(schema: Schema) -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


WORD = record(word=STRING, norm=optional(NUMBER))
MODEL = record(id=STRING, object={"const": "model"}, created=INTEGER, owned_by=STRING, dim=INTEGER)
DOT = record(word=STRING, at=NUMBER, norm=NUMBER)

ANSWERS: dict[str, Schema] = {
    "Error": record(error=record(message=STRING, type=STRING, param=optional(STRING), code=optional(STRING))),
    "Embeddings": record(
        object={"const": "list"},
        data=listed(
            record(object={"const": "embedding"}, index=INTEGER, embedding={"anyOf": [listed(NUMBER), STRING]})
        ),
        model=STRING,
        usage=record(prompt_tokens=INTEGER, total_tokens=INTEGER),
    ),
    "Similarity": {
        **record(model=STRING, similarity={"anyOf": [COSINE, listed(COSINE), listed(listed(COSINE))]}),
        "description": "with explain also a and b, the words and their norms, and shares, which add up to similarity",
    },
    "Neighbours": record(model=STRING, neighbours=listed(record(word=STRING, cosine=COSINE))),
    "Search": record(model=STRING, results=listed(record(index=INTEGER, score=COSINE, text=STRING))),
    "Models": record(object={"const": "list"}, data=listed(MODEL)),
    "Model": MODEL,
    "Health": record(status={"const": "ok"}, models=listed(STRING), is_warm={"type": "boolean"}),
    "Map": record(
        model=STRING,
        points=listed(record(label=STRING, x=NUMBER, y=NUMBER)),
        shares=optional(listed(NUMBER)),
        left_out=INTEGER,
    ),
    "Settings": record(methods=listed(STRING), max_inputs=INTEGER, max_bytes=INTEGER),
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

# path -> (what it does, the record it takes, the answer)
POSTS: dict[str, tuple[str, type[msgspec.Struct], str]] = {
    "/v1/embeddings": ("Vectors of texts, as OpenAI has it.", EmbeddingsRequest, "Embeddings"),
    "/similarity": ("How similar texts are, from -1 to 1.", SimilarityRequest, "Similarity"),
    "/neighbours": ("The words nearest to a text, or to a sum of words.", NeighboursRequest, "Neighbours"),
    "/search": ("The texts nearest to a query, of those in the request.", SearchRequest, "Search"),
    "/explore/map": ("Words or texts on a plane.", MapRequest, "Map"),
}
GETS: dict[str, tuple[str, str | None]] = {
    "/v1/models": ("The models there are.", "Models"),
    "/explore/norms": ("Lengths of vectors by frequency.", "Norms"),
    "/explore/settings": ("What the page has to know.", "Settings"),
    "/health": ("Whether the server is there; needs no key.", "Health"),
    "/metrics": ("Metrics for Prometheus.", None),
}
STATUSES = {
    "400": "The body is no JSON, or not of this shape.",
    "401": "No or a wrong API key.",
    "404": "No such model, or no such word.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "415": "The body is of another type than JSON.",
    "500": "A mistake of the server's.",
    "503": "Too many requests, or too much work.",
}


def description(limits: Limits, version: str, *, has_key: bool) -> Schema:
    """The OpenAPI document of a server with these limits."""
    kinds = [kind for _, kind, _ in POSTS.values()]
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    _one_kind_of_input(schemas["EmbeddingsRequest"]["properties"]["input"], limits)
    schemas["SearchRequest"]["properties"]["texts"]["maxItems"] = limits.max_inputs
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "siamese-cbow",
            "version": version,
            "description": f"At most {limits.max_bytes:,} bytes and {limits.max_inputs:,} texts in a request.",
        },
        "paths": {**{path: {"post": _post(*about)} for path, about in POSTS.items()}, **_gets()},
        "components": {"schemas": {**schemas, **ANSWERS}},
    }
    _also_later(document["paths"]["/explore/map"]["post"]["responses"])
    if has_key:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}]
        document["paths"]["/health"]["get"]["security"] = []
    return document


def _one_kind_of_input(schema: Schema, limits: Limits) -> None:
    """msgspec knows lists of mixed members; here all are strings, all ids, or all lists of ids."""
    text: Schema = {"type": "string", "minLength": 1, "examples": ["A man plays a guitar"]}
    ids: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "examples": [[0]]}
    several: Schema = {"type": "array", "minItems": 1, "maxItems": limits.max_inputs}
    schema["anyOf"] = [text, {**several, "items": text}, ids, {**several, "items": ids}]


def _post(summary: str, kind: type[msgspec.Struct], answer: str) -> Schema:
    body = {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}
    return {"summary": summary, "requestBody": {"required": True, "content": body}, "responses": _responses(answer)}


def _gets() -> dict[str, Schema]:
    found: dict[str, Schema] = {
        path: {"get": {"summary": summary, "responses": _responses(answer)}} for path, (summary, answer) in GETS.items()
    }
    model: Schema = {"name": "model", "in": "query", "required": False, "schema": STRING}
    word: Schema = {"name": "word", "in": "query", "required": False, "schema": listed(STRING)}
    found["/explore/norms"]["get"]["parameters"] = [model, word]
    found["/v1/models/{model}"] = {
        "get": {
            "summary": "One model.",
            "parameters": [{"name": "model", "in": "path", "required": True, "schema": {**STRING, "minLength": 1}}],
            "responses": _responses("Model"),
        }
    }
    return found


def _also_later(responses: Schema) -> None:
    """Adds the answer that says: not yet."""
    schema = record(status=STRING)
    responses["202"] = {"description": "Still working; ask again.", "content": {"application/json": {"schema": schema}}}


def _responses(answer: str | None) -> Schema:
    content: Schema = {"text/plain": {"schema": STRING}}
    if answer is not None:
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{answer}"}}}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    failures = {status: {"description": text, "content": error} for status, text in STATUSES.items()}
    return {"200": {"description": "The answer.", "content": content}, **failures}
