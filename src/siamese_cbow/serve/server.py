"""Runs the application until told to stop, and then lets every request have its answer.

Four things that no option of uvicorn does, each added in the smallest way it leaves room for:

- The heads of requests end, and so do the trailers of bodies, which nobody reads. h11, the parser with an option for
  that, answers a third fewer requests a second.
- So does waiting for one. `timeout_keep_alive` counts between requests only: half a head would stay for ever.
- Quiet connections are closed a moment after SIGTERM or Ctrl-C, and until then each answer says that it is the last.
  Closed at once, they lose what their clients have just written: 256 of 256 busy clients, against none.
- A terminal that closes (SIGHUP) is a stop like any other; under `nohup` it is none.
"""

from __future__ import annotations

import asyncio
import math
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from siamese_cbow.errors import SettingsError
from siamese_cbow.serve.middleware import Limits, Middleware

HEAD_BYTES = 64 << 10  # of the head of a request, and of whatever stands between pieces of its body and behind it
FAREWELL = 1.0  # seconds in which clients that are busy hear that their connection is closed


def listen(host: str, port: int) -> socket.socket:
    """A socket on which the server will listen; port 0 takes any that is free."""
    # The protocol must be named: asyncio looks at it before it sets TCP_NODELAY, and without that each answer waits
    # 40 ms for the client to acknowledge its head.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
        return listening
    except (OSError, OverflowError, ValueError) as error:  # no such address, port or name
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"can't listen on {host} port {port} ({reason}); try another --port or --host") from None


def run(app: Middleware, listening: socket.socket, limits: Limits, *, log_level: str = "warning") -> None:
    """Serves until a signal comes."""
    _allow_many_connections()
    config = uvicorn.Config(
        app,
        http=Connection,
        lifespan="on",
        ws="none",
        log_level=log_level,
        access_log=log_level in ("info", "debug"),
        server_header=False,
        timeout_keep_alive=math.ceil(limits.max_idle),
        timeout_graceful_shutdown=int(limits.max_seconds) + 5,
    )
    Server(config, app).run([listening])


def _allow_many_connections() -> None:
    """Lifts the limit of open files as far as this user may: each connection is one, and shells set 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Connection(HttpToolsProtocol):
    """uvicorn's, with an end to heads and to waiting for them; overrides what asyncio and httptools call."""

    _head_bytes = 0  # since the last request, or the last piece of its body
    _is_head = True  # between the first line of a request and its body
    _n_requests = 0  # heads without their whole answer
    _quiet_since = 0.0
    _watch: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there."""
        super().connection_made(transport)
        self._quiet_since = self.loop.time()
        self._drop_if_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """It has written."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head or the trailer of the request has more than {HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """A head begins."""
        self._is_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head, or one behind a body, which would pass for a line of the head."""
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """It has ended; from here on the middleware times the request."""
        self._head_bytes, self._is_head = 0, False
        self._n_requests += 1
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body, whose size the application minds."""
        self._head_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """A request has its answer, but whether the client takes it is another matter."""
        self._n_requests -= 1
        self._quiet_since = self.loop.time()
        super().on_response_complete()

    def _drop_if_silent(self) -> None:
        """Ends the connection unless a request is under way or has been lately; else looks again later.

        One timer for a connection: one for each request, set and cancelled, would be seen in the time it takes.
        """
        wait = float(self.config.timeout_keep_alive)
        if self._n_requests == 0:
            wait -= self.loop.time() - self._quiet_since
        if wait > 0:
            self._watch = self.loop.call_later(wait, self._drop_if_silent)
        else:
            self.transport.abort()

    def has_unread(self) -> bool:
        """Whether bytes of the client's wait to be read."""
        client = self.transport.get_extra_info("socket")
        if self.transport.is_closing() or client is None or client.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(client.fileno(), select.POLLIN)
        return bool(poll.poll(0))


class Server(uvicorn.Server):
    """uvicorn's, with patience at the end."""

    def __init__(self, config: uvicorn.Config, app: Middleware) -> None:
        super().__init__(config)
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn has it for SIGTERM and Ctrl-C, and for SIGHUP unless that is ignored."""
        in_main = threading.current_thread() is threading.main_thread()
        # Restored inside of uvicorn's own, which raises all signals that came once everything is done.
        with super().capture_signals():
            if not in_main or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
                yield
                return
            before = signal.signal(signal.SIGHUP, self.handle_exit)
            try:
                yield
            finally:
                signal.signal(signal.SIGHUP, before)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connections, a moment for the others to finish, then the rest."""
        self._app.draining = True
        await asyncio.sleep(0)  # whoever has connected by now is let in
        for server in self.servers:
            server.close()
        until = time.monotonic() + FAREWELL
        while time.monotonic() < until and self.server_state.connections and not self.force_exit:
            await asyncio.sleep(0.02)
        for _ in range(100):  # the event loop reads what has arrived
            if not any(
                isinstance(connection, Connection) and connection.has_unread()
                for connection in self.server_state.connections
            ):
                break
            await asyncio.sleep(0)
        await super().shutdown(sockets)
