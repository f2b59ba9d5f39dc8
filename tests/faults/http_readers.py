"""Readers of what clients send, without a socket: bodies, whole requests, and the bytes of a connection.

The endpoints themselves read and answer bodies, without an event loop, so most of the time goes into our own code;
requests go through the whole application; the bytes of a connection go through the server's parser.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

import mutation

import siamese_cbow as sc
from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model

BODIES: list[list[dict[str, Any]]] = [  # for each endpoint
    [
        {"input": ["a cat", "b"], "dimensions": 2, "model": "m"},
        {"input": [[1, 2], [3]], "encoding_format": "base64", "normalize": False},
        {"input": "the cat sat", "user": "u"},
        {"input": [3, 1, 2]},
    ],
    [
        {"a": "cat", "b": "the mat", "explain": True},
        {"a": ["cat", "dog"], "b": ["the mat", "zzz"], "pairwise": True},
        {"a": "cat sat", "b": ["the mat"]},
    ],
    [{"positive": ["cat"], "negative": ["dog"], "k": 3}, {"text": "the cat sat", "k": 1000, "model": "m"}],
    [{"query": "a cat", "texts": ["b", "the mat", ""], "k": 2, "threshold": 0.5}, {"query": "dog", "texts": ["a dog"]}],
    [{"texts": ["a cat", "b", "the mat"], "method": "pca"}, {"words": ["cat"], "n_words": 5}],
    [{"name": "m"}, {"name": "../m"}],
]
PATHS = ["/v1/embeddings", "/similarity", "/neighbours", "/search", "/explore/map", "/explore/load"]
OTHER_PATHS = [
    "/health",
    "/v1/models",
    "/v1/models/m",
    "/metrics",
    "/",
    "/openapi.json",
    "/page/../x",
    "/explore/norms",
]


# The fields of a `readers.Reader`: how bytes are read, valid inputs, modules, and how inputs are mutated.
Parts: TypeAlias = tuple[Callable[[bytes], object], list[bytes], list[str], mutation.Mutate]


class _Request:
    """The part of a request that a reader of bodies looks at."""

    headers: Mapping[str, str] = {"content-type": "application/json"}

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def stream(self) -> Any:
        yield self._body


def _result(running: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        running.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def bodies(model: Model) -> Parts:
    """Bodies of all endpoints, read and answered."""
    from siamese_cbow.serve import schemas
    from siamese_cbow.serve.api import Api, Jobs
    from siamese_cbow.serve.bodies import Problem
    from siamese_cbow.serve.bodies import Reader as BodyReader
    from siamese_cbow.serve.explorer import Explorer
    from siamese_cbow.serve.middleware import Limits, Metrics
    from siamese_cbow.serve.registry import Registry

    class Here(Jobs):
        async def run(self, work: Callable[[], Any], *, is_quick: bool = False) -> Any:
            return work()

        async def get(self, key: bytes, work: Callable[[], Any]) -> Any:
            return work()

    registry, jobs = Registry({"m": model}), Here()
    endpoints = Api(registry, Limits(), Metrics(), jobs).endpoints + Explorer(registry, Limits(), jobs).endpoints
    by_path = {endpoint.path: endpoint for endpoint in endpoints}
    handlers = [by_path[path].handler for path in PATHS]
    readers = [BodyReader(by_path[path].body or schemas.MapRequest, 1 << 20) for path in PATHS]

    def read(data: bytes) -> object:
        number = data[0] % len(PATHS) if data else 0
        try:
            record = _result(readers[number](_Request(data[1:])))  # type: ignore[arg-type]
            if getattr(record, "method", "") == "umap":  # takes seconds, none of them in our code
                return None
            response = _result(handlers[number](record))  # type: ignore[arg-type]
        except Problem as problem:
            if not 400 <= problem.status < 500:
                raise AssertionError(f"status {problem.status}") from problem
            raise sc.InputError(problem.message) from None
        assert response.status_code == 200, response.status_code
        assert number or b"null" not in response.body, "a vector that is no number"
        return None

    seeds = [bytes([i]) + json.dumps(body).encode() for i, kind in enumerate(BODIES) for body in kind]
    modules = ["serve.bodies", "serve.api", "serve.explorer", "serve.registry"]
    return read, seeds, modules, mutation.after(1, mutation.json_text)


def requests(model: Model) -> Parts:
    """Whole requests through the application: path, headers and body."""
    from siamese_cbow.serve.app import build
    from siamese_cbow.serve.middleware import Hosts

    runner = asyncio.Runner()
    atexit.register(runner.close)
    app = build({"m": model}, hosts=Hosts("127.0.0.1", ("books.example",)), api_key="secret", warm=False)
    plain = [["host", "127.0.0.1"], ["content-type", "application/json"], ["authorization", "Bearer secret"]]

    async def call(method: str, path: str, query: str, headers: list[tuple[bytes, bytes]], body: bytes) -> int:
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": method,
            "path": path, "root_path": "", "scheme": "http",
            "raw_path": path.encode("utf-8", "replace"), "query_string": query.encode("latin-1", "replace"),
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        said: list[int] = []
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            return next(parts, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                said.append(message["status"])

        await asyncio.wait_for(app(scope, receive, send), 20)  # type: ignore[arg-type]
        return said[0]

    def read(data: bytes) -> object:
        try:
            method, path, query, headers, body = json.loads(data)
            pairs = [(str(k).lower().encode("latin-1"), str(v).encode("latin-1")) for k, v in headers]
            sent = body.encode("latin-1") if isinstance(body, str) else json.dumps(body).encode()
            method, path = (str(part).encode("utf-8", "replace").decode() for part in (method, path))
            arguments = (method, path, str(query), pairs, sent)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise InputError("no request") from None
        if "umap" in str(body):
            return None
        status = runner.run(call(*arguments))
        key = [value for name, value in pairs if name == b"authorization"][:1] == [b"Bearer secret"]
        if not key and path not in ("/health", "/", "/openapi.json") and not path.startswith("/page/"):
            assert status in (401, 400, 403, 421), f"status {status} without a key"
        assert status < 500, f"status {status}"
        if status >= 400:
            raise sc.InputError(f"status {status}")
        return status

    seeds = [json.dumps(["POST", PATHS[i], "", plain, body]).encode() for i, kind in enumerate(BODIES) for body in kind]
    seeds += [json.dumps(["GET", path, "word=cat&limit=3", plain, ""]).encode() for path in OTHER_PATHS]
    hosts = [["host", "books.example:80"], ["origin", "http://books.example"], ["content-encoding", "identity"]]
    seeds.append(json.dumps(["POST", PATHS[2], "", [*hosts, *plain[1:]], BODIES[2][0]]).encode())
    modules = ["serve.middleware", "serve.api", "serve.explorer", "serve.middleware", "serve.bodies", "serve.app"]
    return read, seeds, modules, mutation.json_text


class _Transport(asyncio.Transport):
    """Keeps what a connection writes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 80)})
        self.written, self.closing = bytearray(), False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    abort = close

    def set_protocol(self, protocol: Any) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def connections(model: Model) -> Parts:
    """The bytes of a connection, in pieces; the first byte says how long the pieces are."""
    import uvicorn
    from uvicorn.server import ServerState

    from siamese_cbow.serve.app import build
    from siamese_cbow.serve.middleware import Hosts
    from siamese_cbow.serve.server import Connection

    app = build({"m": model}, hosts=Hosts("127.0.0.1", ()), warm=False)
    config = uvicorn.Config(app, http=Connection, lifespan="off", ws="none", log_level="critical", access_log=False,
                            server_header=False, date_header=False)  # fmt: skip
    config.load()
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)

    async def talk(data: bytes) -> bytes:
        protocol = Connection(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        transport = _Transport()
        protocol.connection_made(transport)
        step = 1 + (data[0] if data else 0) * 8
        for first in range(1, len(data), step):
            if transport.closing:
                break
            protocol.data_received(data[first : first + step])
        for _ in range(500):
            if not protocol.tasks or transport.closing:
                break
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        answer, tasks = bytes(transport.written), list(protocol.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # one of their threads would keep the process alive
        return answer

    def read(data: bytes) -> object:
        answer = loop.run_until_complete(talk(data))
        if not answer:
            raise InputError("no answer")
        assert answer.startswith(b"HTTP/1."), answer[:40]
        status = int(answer[9:12])
        assert status < 500, answer[:300]
        if status >= 400:
            raise InputError(f"status {status}")
        return status

    head = b"POST /neighbours HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    body = b'{"positive": ["cat"], "k": 2}'
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\nX: y\r\n\r\n"
    get = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    seeds = [b"\xff" + whole, b"\x05" + chunked, b"\xff" + get + get, b"\xff" + whole + get]
    lines = (
        *("Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n", "\r\n", "\r"),
        *("Connection: close\r\n", "Host: evil\r\n", "GET / HTTP/1.1\r\n", " : ", "Upgrade: websocket\r\n", "\0", "\n"),
        *("Expect: 100-continue\r\n", "Content-Length: -1\r\n", "X: " + "y" * 900 + "\r\n", "0\r\n\r\n", "HTTP/2.0"),
        *("Authorization: Bearer x\r\n", "Connection: upgrade\r\n", "Origin: http://evil\r\n", "fffffffffffffff\r\n"),
    )
    return read, seeds, ["serve.server", "serve.middleware"], _lines(lines)


def _lines(lines: tuple[str, ...]) -> mutation.Mutate:
    """Inserts, drops and repeats lines of the head; mutates the others as text."""
    put_in = mutation.of_words(*lines)

    def mutate(data: bytes, chance: random.Random) -> bytes:
        rows = data[1:].split(b"\r\n")
        if len(rows) < 2 or chance.random() < 0.4:
            return data[:1] + put_in(data[1:], chance)
        place = chance.randrange(len(rows))
        what = chance.randrange(3)
        if what == 0:
            rows.insert(place, chance.choice(lines).rstrip("\r\n").encode())
        elif what == 1:
            del rows[place]
        else:
            rows[place] = rows[chance.randrange(len(rows))]
        return data[:1] + b"\r\n".join(rows)

    return mutate
