"""Around every request: host names, the key, limits, metrics, and headers for browsers.

Plain ASGI. Rejected: Starlette's middleware classes, which cost as much time as the response itself, and uvicorn's
`limit_concurrency`, which counts idle connections and refuses in plain text.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import math
import re
import socket
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from functools import partial

import prometheus_client as prometheus
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siamese_cbow.errors import SettingsError
from siamese_cbow.serve.bodies import CLIENT_LEFT, Problem

# The host names a server answers to: allowed values of the headers `Host` and `Origin`.
#
# A web page can make its own name resolve to 127.0.0.1 once it is loaded (DNS rebinding). The browser then takes a
# local server for the page's own and lets the page read its responses. `Host` still holds the page's name, so a server
# that answers only to its own names can't be read. IP addresses can't be redirected that way, so any is allowed.
#
# `Origin` names the page that sends the request; pages of other sites are refused.
#
# Programs other than browsers may omit both.

ANY = "*"

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:/@?#\s]+)(?::\d*)?")  # name or address, and a port


class Hosts:
    """`Hosts("127.0.0.1", ["books.example.org"])`: the names of a server that listens there and has this name, too.

    bound    the address or name on which the server listens
    allowed  more names; "*" allows all, for names that are checked elsewhere
    """

    def __init__(self, bound: str, allowed: Collection[str] = ()) -> None:
        self._any = ANY in allowed
        self._allowed = frozenset(_checked(name) for name in allowed if name != ANY)
        self._own = {"localhost", bound.lower().rstrip(".")}
        is_loopback = bound == "localhost" or (_is_address(bound) and ipaddress.ip_address(bound).is_loopback)
        if not is_loopback:
            self._own.add(socket.gethostname().lower())

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> Problem | None:
        """Why a request is refused for its Host or Origin; None if it is accepted."""
        if self._any:
            return None
        values: dict[bytes, str] = {}
        for name, value in headers:
            if name in values:
                return Problem(400, f"the request has two {name.decode().title()} headers; expected one")
            if name in (b"host", b"origin"):
                values[name] = value.decode("latin-1").lower()
        host, origin = values.get(b"host"), values.get(b"origin")
        if host is not None and not self._is_ours(_name_of(host)):
            names = " or ".join(sorted(self._allowed | {name for name in self._own if not _is_address(name)}))
            message = f"the Host header is {host[:80]!r}; expected an IP address or {names}"
            return Problem(421, f"{message}; {_advice(host)}", code="wrong_host")
        if origin is not None and not self._is_own_page(origin, host):
            message = f"the Origin header is {origin[:80]!r}; expected a page of this server, {host or 'none'}"
            return Problem(403, f"{message}; {_advice(origin.partition('://')[2])}", code="wrong_origin")
        return None

    def _is_ours(self, name: str | None) -> bool:
        return name is not None and (name in self._own or name in self._allowed or _is_address(name))

    def _is_own_page(self, origin: str, host: str | None) -> bool:
        """Whether a page came from this server or an allowed name: a proxy may have changed `Host`."""
        place = origin.partition("://")[2]
        return place != "" and (place == host or _name_of(place) in self._allowed)


def _checked(name: str) -> str:
    """A name in normal form for comparison: "Books.example.org." -> "books.example.org"."""
    plain = name.lower().removeprefix("[").removesuffix("]").rstrip(".")
    if not _is_address(plain) and (":" in plain or _name_of(plain) != plain):
        raise SettingsError(f"the allowed host is {name!r}; expected a name without scheme, port or path, or '*'")
    return plain


def _name_of(authority: str) -> str | None:
    """The name or address in a header: "localhost:8080" -> "localhost"; "[::1]:80" -> "::1"."""
    match = _AUTHORITY.fullmatch(authority)
    return match[1].strip("[]").rstrip(".") if match else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _advice(authority: str) -> str:
    name = _name_of(authority)
    return f"to serve under this name, start it with --allowed-host {name[:80] if name else 'NAME'}"


# The page needs only its own files, so nothing else is allowed.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
]
# Buckets of the latency histogram: a sentence takes half a millisecond, a large batch a tenth of a second.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


@dataclass(frozen=True)
class Limits:
    """Limits of a server: `Limits(max_inputs=16)` is `Limits()` with at most 16 texts in a request."""

    max_bytes: int = 8 << 20  # request body
    max_inputs: int = 2048  # texts in a request; OpenAI's own limit
    max_concurrent: int = 256  # requests in progress; more are told to retry. 256 bodies of 8 MB fit into memory
    max_seconds: float = 30.0  # from the first byte of a request to the last byte of its response
    max_idle: float = 75.0  # seconds that a connection may last without a complete request

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:  # also refuses NaN
                raise SettingsError(f"{field.name} is {value}; expected a number above 0")


class Metrics:
    """Counters for Prometheus; each application has its own, so that two in one process don't add up."""

    content_type = prometheus.CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._collectors = own = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=own)
        prometheus.PlatformCollector(registry=own)
        name, whole = "siamese_cbow", "Seconds from the head of a request to the end of its response."
        counter = partial(prometheus.Counter, namespace=name, registry=own)
        histogram = partial(prometheus.Histogram, namespace=name, registry=own, buckets=SECONDS)
        self._requests = counter("requests", "Requests answered.", ["path", "status"])
        self._seconds = histogram("request_seconds", whole, ["path"])
        self.under_way = prometheus.Gauge(f"{name}_requests_under_way", "Requests in progress.", registry=own)
        self._texts = counter("texts", "Texts turned into vectors.", ["model"])
        self._tokens = counter("tokens", "Words with a vector in these texts.", ["model"])

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request; `path` is one of the application's own, so the number of labels is bounded."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def embedded(self, model: str, n_texts: int, n_tokens: int) -> None:
        """Count embedded texts and their tokens."""
        self._texts.labels(model).inc(n_texts)
        self._tokens.labels(model).inc(n_tokens)

    def page(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return prometheus.generate_latest(self._collectors)


class Middleware:
    """Enforces limits around an application: `Middleware(app, limits=Limits(), api_key="secret", ...)`.

    hosts       the host names it answers to; None for all
    open_paths  paths answered without a key
    busy_paths  paths answered regardless of load: they take no time, and monitor a busy server
    paths       paths with their own metrics; any other path is counted as "other"
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits,
        api_key: str | None,
        hosts: Hosts | None,
        metrics: Metrics,
        paths: Collection[str],
        open_paths: Collection[str],
        busy_paths: Collection[str],
    ) -> None:
        self._app, self._limits, self._metrics, self._hosts = app, limits, metrics, hosts
        self._key = None if api_key is None else f"Bearer {_checked_key(api_key)}".encode()
        self._paths, self._open_paths, self._busy_paths = frozenset(paths), frozenset(open_paths), frozenset(busy_paths)
        self._under_way = 0
        self.draining = False  # the server is stopping: clients should close their connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
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
        problem = self._refusal(scope)
        if problem is None:
            try:
                async with asyncio.timeout(self._limits.max_seconds):
                    await self._app(scope, answer.receive, answer.send)
            except TimeoutError:
                seconds = f"{self._limits.max_seconds:g} seconds"
                if answer.has_body:
                    message = f"the request took longer than {seconds}; send fewer texts per request"
                    problem = Problem(503, message, code="timeout")
                else:
                    problem = Problem(408, f"the body had not arrived after {seconds}", code="timeout")
        if problem is not None and answer.status == CLIENT_LEFT:  # else it has started; the connection closes
            await problem.response()(scope, answer.receive, answer.send)

    def _refusal(self, scope: Scope) -> Problem | None:
        misled = self._hosts.refusal(scope["headers"]) if self._hosts is not None else None
        if misled is not None:
            return misled
        if self._under_way > self._limits.max_concurrent and scope["path"] not in self._busy_paths:
            message = f"more than {self._limits.max_concurrent} concurrent requests; try again in a second"
            return Problem(503, message, code="overloaded", headers={"retry-after": "1"})
        if self._key is None or scope["path"] in self._open_paths:
            return None
        sent = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if hmac.compare_digest(sent, self._key):
            return None
        message = "missing or wrong API key; expected the header 'Authorization: Bearer KEY'"
        return Problem(401, message, code="invalid_api_key", headers={"www-authenticate": "Bearer"})


def _checked_key(key: str) -> str:
    """A key that a client can send. An empty key is an error: it may come from an unset variable."""
    if not key or not key.isprintable() or key != key.strip():
        problem = "is empty" if not key.strip() else "has surrounding spaces, or characters that a header can't hold"
        raise SettingsError(f"the API key {problem}; expected visible characters, or no key for an open server")
    return key


class _Answer:
    """The state of a response."""

    def __init__(self, middleware: Middleware, receive: Receive, send: Send) -> None:
        self._middleware, self._receive, self._send = middleware, receive, send
        self.status, self.has_body = CLIENT_LEFT, False

    async def receive(self) -> Message:
        message = await self._receive()
        self.has_body = self.has_body or not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            close = [(b"connection", b"close")] if self._middleware.draining else []
            message["headers"] = [*message.get("headers", ()), *HEADERS, *close]
        await self._send(message)
