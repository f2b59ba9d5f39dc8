"""The bytes of a request -> a validated record; a response or an error -> bytes.

Errors have the shape that OpenAI's clients expect:

    {"error": {"message": "...", "type": "invalid_request_error", "param": "input", "code": null}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from siamese_cbow.errors import did_you_mean

Record = TypeVar("Record", bound=msgspec.Struct)

CLIENT_LEFT = 499  # never sent; for metrics, as in nginx

# A client that is still writing doesn't read the response yet, and would lose it if the connection were closed. So an
# oversized body is read and discarded, up to this many times the limit.
PATIENCE = 8


class Problem(Exception):  # noqa: N818 (not ours to repair: it is the answer to a request)
    """An error response with a status of 400 or above.

    `Problem(404, "no model 'x'; expected 'books'", param="model", code="model_not_found")`
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code, self.headers = status, message, param, code, headers

    def response(self) -> Response:
        """The HTTP response."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return json_response({"error": error}, self.status, headers=self.headers)


def json_response(content: Any, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values and NumPy arrays as JSON; float32 in the shortest form that round-trips.

    Python's own `json` takes sixty times as long for 256 vectors.
    """
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers=headers, media_type="application/json")


class Reader(Generic[Record]):
    """Reads bodies of one kind: `await Reader(SearchRequest, max_bytes)(request)` -> SearchRequest(query=...)."""

    def __init__(self, kind: type[Record], max_bytes: int) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._fields = [field.encode_name for field in msgspec.structs.fields(kind)]
        self._max_bytes = max_bytes

    async def __call__(self, request: Request) -> Record:
        """The record in the body of a request."""
        kind = request.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, f"the content type is {kind[:80]!r}; expected application/json")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "the body is compressed; expected plain JSON, without a content-encoding")
        try:
            body = await self._body(request)
        except ClientDisconnect:
            raise Problem(CLIENT_LEFT, "the client disconnected before sending the whole body") from None
        try:
            return self._decoder.decode(body)
        except msgspec.ValidationError as error:
            if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", str(error), re.DOTALL):
                message = f"unknown field {unknown[1][:80]!r}; {did_you_mean(unknown[1][:80], self._fields)}"
                raise Problem(400, message, param=unknown[1][:80]) from None
            what, _, place = str(error).partition(" - at ")
            param = place.strip("`").removeprefix("$").removeprefix(".") or None
            raise Problem(400, f"{what} at {place.strip('`') or 'the top'}; see /openapi.json", param=param) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem(400, f"the body is not JSON: {error}; expected a JSON object in UTF-8") from None
        except RecursionError:
            raise Problem(400, "the body is nested too deeply; expected a JSON object as in /openapi.json") from None

    async def _body(self, request: Request) -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size <= self._max_bytes:
                parts.append(part)
            elif size > PATIENCE * self._max_bytes:
                break
        if size > self._max_bytes:
            message = f"the body has more than {self._max_bytes:,} bytes; send fewer or shorter texts per request"
            raise Problem(413, message)
        return parts[0] if len(parts) == 1 else b"".join(parts)
