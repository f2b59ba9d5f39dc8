"""The bytes of a request -> a checked record, or a problem that says what is wrong with them."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.middleware import CLIENT_LEFT
from siamese_cbow.serve.problems import Problem

Record = TypeVar("Record", bound=msgspec.Struct)

# A client that is still writing doesn't read the answer, and closing under it would lose the answer. So what is too
# much is read and thrown away, up to so many times the limit.
PATIENCE = 8


class Reader:
    """Reads bodies of one kind: `await Reader(SearchRequest, limits)(request)` -> SearchRequest(query=...)."""

    def __init__(self, kind: type[Record], limits: Limits) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._max_bytes = limits.max_bytes

    async def __call__(self, request: Request) -> msgspec.Struct:
        """The record that the body of a request holds."""
        kind = request.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, f"the content type is {kind[:80]!r}; expected application/json")
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "the body is packed; expected plain JSON, without a content-encoding")
        try:
            body = await self._body(request)
        except ClientDisconnect:
            raise Problem(CLIENT_LEFT, "the client left before its body was whole") from None
        try:
            record: msgspec.Struct = self._decoder.decode(body)
        except msgspec.ValidationError as error:
            what, _, place = str(error).partition(" - at ")
            param = place.strip("`").removeprefix("$").removeprefix(".") or None
            raise Problem(400, f"{what} at {place.strip('`') or 'the top'}; see /openapi.json", param=param) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Problem(400, f"the body is no JSON: {error}; expected a JSON object in UTF-8") from None
        except RecursionError:
            raise Problem(400, "the body is nested too deeply; expected a JSON object as in /openapi.json") from None
        return record

    async def _body(self, request: Request) -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size <= self._max_bytes:
                parts.append(part)
            elif size > PATIENCE * self._max_bytes:
                break
        if size > self._max_bytes:
            raise Problem(
                413, f"the body has more than {self._max_bytes:,} bytes; send fewer or shorter texts at a time"
            )
        return parts[0] if len(parts) == 1 else b"".join(parts)
