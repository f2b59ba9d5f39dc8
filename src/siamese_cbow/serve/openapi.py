"""Endpoints, and the description of the API that is made of them, for people, client generators and fuzzers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response

from siamese_cbow.serve.middleware import Limits
from siamese_cbow.serve.schemas import ANSWERS, STRING, EmbeddingsRequest, Schema

STATUSES = {
    "400": "The body is not JSON, or not of this shape.",
    "401": "No or a wrong API key.",
    "403": "Asked by a web page of another server.",
    "404": "No such model, or no such word.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "415": "The body is of another type than JSON.",
    "421": "The header Host is not a name of this server.",
    "500": "A mistake of the server's.",
    "503": "Too many requests, or too much work.",
}


@dataclass(frozen=True)
class Endpoint:
    """`Endpoint("/search", self.search, "Search", SearchRequest)`; the handler's docstring is its description.

    answer  a name of `schemas.ANSWERS`, or None for plain text
    body    the record that the handler is called with; without one it is a GET, called with the request itself
    """

    path: str
    handler: Callable[[Any], Awaitable[Response]]
    answer: str | None
    body: type[msgspec.Struct] | None = None
    query: Sequence[Schema] = ()  # what may stand behind the path
    is_open: bool = False  # answered without a key
    is_for_busy: bool = False  # answered however many requests are under way
    may_take_long: bool = False  # then the answer is 202 until the work is done

    def described(self) -> tuple[str, Schema]:
        """The path, and what OpenAPI says of it."""
        operation: Schema = {"summary": (inspect.getdoc(self.handler) or "").partition("\n")[0]}
        path = re.sub(r"{(\w+):path}", r"{\1}", self.path)
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {**STRING, "minLength": 1}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        if parameters or self.query:
            operation["parameters"] = [*parameters, *({"in": "query", "required": False, **one} for one in self.query)]
        if self.body is not None:
            operation["requestBody"] = {"required": True, "content": _json(self.body.__name__)}
        content = {"text/plain": {"schema": STRING}} if self.answer is None else _json(self.answer)
        operation["responses"] = {"200": {"description": "The answer.", "content": content}}
        if self.may_take_long:
            operation["responses"]["202"] = {"description": "Still working; ask again.", "content": _json("Later")}
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
            "description": f"At most {limits.max_bytes:,} bytes and {limits.max_inputs:,} texts in a request; "
            "/search takes as many texts as the bytes allow.",
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
    """msgspec knows lists of mixed members; here all are strings, all ids, or all lists of ids."""
    text: Schema = {"type": "string", "minLength": 1, "examples": ["A man plays a guitar"]}
    ids: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "examples": [[0]]}
    several: Schema = {"type": "array", "minItems": 1, "maxItems": limits.max_inputs}
    schema["anyOf"] = [text, {**several, "items": text}, ids, {**several, "items": ids}]
