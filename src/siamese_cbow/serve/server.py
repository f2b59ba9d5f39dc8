"""Runs the application until told to stop, then answers every open request.

uvicorn does most of this. Four features that none of its options provides are added, with as little code as possible:

- A size limit on request heads, and on trailers of bodies, which nobody reads. h11, the parser with such an option,
  answers a third fewer requests per second.
- A time limit on request heads. `timeout_keep_alive` applies only between requests: half a head could stay for ever.
- Idle connections are closed a moment after SIGTERM or Ctrl-C, and until then each response announces it. If they were
  closed at once, requests just written would be lost: 256 of 256 busy clients lost one, and now none does.
- A closing terminal (SIGHUP) stops the server like any other signal, except under `nohup`.
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

HEAD_BYTES = 64 << 10  # of a request's head, and of anything between and after the chunks of its body
FAREWELL = 1.0  # seconds in which busy clients learn that their connection will close


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port."""
    # The protocol must be given: asyncio checks it before it sets TCP_NODELAY, without which each response waits 40 ms
    # for the client to acknowledge its head.
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
    """Serve until a signal arrives."""
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
    """Raise the limit on open files as far as allowed: each connection is one, and shells set 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with size and time limits on heads; overrides callbacks of asyncio and httptools."""

    _head_bytes = 0  # since the last request, or the last chunk of its body
    _is_head = True  # between the first line of a request and its body
    _n_requests = 0  # requests without a complete response
    _quiet_since = 0.0
    _watch: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._quiet_since = self.loop.time()
        self._drop_if_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The client has sent data."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head or the trailer of the request has more than {HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """A head begins."""
        self._is_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header line; or a trailer after a body, which is dropped, as it would pass for a header."""
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is complete; from here on the middleware times the request."""
        self._head_bytes, self._is_head = 0, False
        self._n_requests += 1
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A chunk of a body, whose size the application limits."""
        self._head_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """A request has its response; the client may not have read it yet."""
        self._n_requests -= 1
        self._quiet_since = self.loop.time()
        super().on_response_complete()

    def _drop_if_silent(self) -> None:
        """Close the connection unless a request is in progress or was recently; otherwise check again later.

        One timer per connection: setting and cancelling one per request would cost measurable time.
        """
        wait = float(self.config.timeout_keep_alive)
        if self._n_requests == 0:
            wait -= self.loop.time() - self._quiet_since
        if wait > 0:
            self._watch = self.loop.call_later(wait, self._drop_if_silent)
        else:
            self.transport.abort()

    def has_unread(self) -> bool:
        """Whether bytes from the client are waiting to be read."""
        client = self.transport.get_extra_info("socket")
        if self.transport.is_closing() or client is None or client.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(client.fileno(), select.POLLIN)
        return bool(poll.poll(0))


class Server(uvicorn.Server):
    """uvicorn's server, with a graceful end."""

    def __init__(self, config: uvicorn.Config, app: Middleware) -> None:
        super().__init__(config)
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As in uvicorn for SIGTERM and Ctrl-C, and for SIGHUP unless that is ignored."""
        in_main = threading.current_thread() is threading.main_thread()
        # Restored inside uvicorn's own handler, which re-raises all captured signals once everything is done.
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
        """Refuse new connections, give the others a moment to finish, then close the rest."""
        self._app.draining = True
        await asyncio.sleep(0)  # accept the clients that have connected by now
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
