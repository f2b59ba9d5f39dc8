"""What stands around every request: the key, how many and how long, metrics, and headers for browsers.

Plain ASGI, without Starlette's classes for the purpose, which cost as much time as the answer itself.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.metrics import Metrics
from siamese_cbow.serve.problems import Problem

CLIENT_LEFT = 499  # nobody hears it; in metrics, as nginx has it

# The page needs nothing but its own files, so nothing else is let in.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
]


class Guard:
    """An application with its limits kept: `Guard(app, limits=Limits(), api_key="secret", ...)`.

    open_paths  answered without a key
    paths       those that metrics tell apart; anything else is "other"
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        api_key: str | None,
        metrics: Metrics,
        paths: Collection[str],
        open_paths: Collection[str],
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._key = None if api_key is None else f"Bearer {api_key}".encode()
        self._paths, self._open_paths = frozenset(paths), frozenset(open_paths)
        self._under_way = 0
        self.draining = False  # the server is about to stop: clients should leave their connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answer = _Answer(self, receive, send)
        self._under_way += 1
        self._metrics.under_way.set(self._under_way)
        try:
            await self._answer(scope, answer)
        finally:
            self._under_way -= 1
            self._metrics.under_way.set(self._under_way)
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.answered(path, answer.status, time.perf_counter() - began)

    async def _answer(self, scope: Scope, answer: _Answer) -> None:
        problem = self._refused(scope)
        if problem is None:
            try:
                async with asyncio.timeout(self._limits.seconds):
                    await self._app(scope, answer.receive, answer.send)
            except TimeoutError:
                seconds = f"{self._limits.seconds:g} seconds"
                if answer.has_body:
                    problem = Problem(
                        503, f"this took longer than {seconds}; send fewer texts at a time", code="timeout"
                    )
                else:
                    problem = Problem(408, f"the body had not arrived after {seconds}", code="timeout")
        if problem is not None and answer.status == CLIENT_LEFT:  # else it has begun, and the connection is closed
            await problem.response()(scope, answer.receive, answer.send)

    def _refused(self, scope: Scope) -> Problem | None:
        if self._under_way > self._limits.max_concurrent:
            message = f"more than {self._limits.max_concurrent} requests are under way; try again in a second"
            return Problem(503, message, code="overloaded", headers={"retry-after": "1"})
        if self._key is None or scope["path"] in self._open_paths or self._has_key(scope):
            return None
        message = "no or a wrong API key; expected the header 'Authorization: Bearer KEY'"
        return Problem(401, message, code="invalid_api_key", headers={"www-authenticate": "Bearer"})

    def _has_key(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return self._key is not None and hmac.compare_digest(given, self._key)


class _Answer:
    """How far a request has come."""

    def __init__(self, guard: Guard, receive: Receive, send: Send) -> None:
        self._guard, self._receive, self._send = guard, receive, send
        self.status, self.has_body = CLIENT_LEFT, False

    async def receive(self) -> Message:
        message = await self._receive()
        self.has_body = self.has_body or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            close = [(b"connection", b"close")] if self._guard.draining else []
            message["headers"] = [*message.get("headers", ()), *HEADERS, *close]
        await self._send(message)
