"""Runs the application until told to stop, and then lets every request have its answer.

On SIGTERM or Ctrl-C: no new connections; every answer says that its connection is closed; connections that are
quiet are closed after a moment; whatever is under way is finished. Closing quiet connections at once, as uvicorn does,
loses a request that its client has just written.
"""

from __future__ import annotations

import asyncio
import select
import socket
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from siamese_cbow.errors import SettingsError
from siamese_cbow.serve.middleware import Limits, Middleware

HEAD_BYTES = 64 << 10  # of the head of a request; the parser itself would read on for ever
FAREWELL = 1.0  # seconds in which clients that are busy hear that their connection is closed
LOOK_EVERY = 10  # ticks of uvicorn's, a tenth of a second each


def listen(host: str, port: int) -> socket.socket:
    """A socket on which the server will hear; port 0 takes any that is free."""
    # The protocol must be named: asyncio looks at it before it sets TCP_NODELAY, and without that each answer waits
    # 40 ms for the client to acknowledge its head.
    heard = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        heard.bind((host, port))
        heard.listen(2048)
        return heard
    except OSError as error:
        heard.close()
        raise SettingsError(f"can't listen on {host} port {port} ({error.strerror}); try another --port") from None


def run(app: Middleware, heard: socket.socket, limits: Limits, *, log_level: str = "warning") -> None:
    """Serves until a signal comes."""
    config = uvicorn.Config(
        app,
        http=Connection,
        lifespan="on",
        ws="none",
        log_level=log_level,
        access_log=log_level in ("info", "debug"),
        server_header=False,
        timeout_keep_alive=int(max(1, min(limits.idle_seconds, 60))),
        timeout_graceful_shutdown=int(limits.seconds) + 5,
    )
    Server(config, app, limits).run([heard])


class Connection(HttpToolsProtocol):
    """uvicorn's faster one of two, with an end to the heads of requests."""

    _head_bytes: int | None = 0  # so far; None while there is a body

    def data_received(self, data: bytes) -> None:
        """Bytes of the client's."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The head of the request has more than {HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """A head begins; what came with it is of its size or less."""
        self._head_bytes = self._head_bytes or 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """It has ended."""
        self._head_bytes = None
        super().on_headers_complete()


class Server(uvicorn.Server):
    """uvicorn's, with patience at the end and none for connections that never come to the point."""

    def __init__(self, config: uvicorn.Config, app: Middleware, limits: Limits) -> None:
        super().__init__(config)
        self._app, self._limits = app, limits
        self._quiet: dict[Any, tuple[object, float]] = {}  # connection -> its last request, and since when

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % LOOK_EVERY == 0:
            self._drop_the_silent(time.monotonic())
        return await super().on_tick(counter)

    def _drop_the_silent(self, now: float) -> None:
        """Ends connections that are open but bring no whole request, or don't take their answer.

        uvicorn times the pause between requests only: half a header would hold a connection for ever.
        """
        connections: set[Any] = set(self.server_state.connections)
        self._quiet = {one: since for one, since in self._quiet.items() if one in connections}
        for connection in connections:
            last = connection.cycle
            if last is not None and not last.response_complete:
                self._quiet.pop(connection, None)
                continue
            known, since = self._quiet.get(connection, (None, now))
            if known is not last or connection not in self._quiet:
                self._quiet[connection] = (last, now)
            elif now - since > self._limits.idle_seconds:
                connection.transport.abort()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connections, a moment for the others to finish, then the rest."""
        self._app.draining = True
        await asyncio.sleep(0)  # whoever has connected by now is let in
        for server in self.servers:
            server.close()
        until = time.monotonic() + FAREWELL
        while time.monotonic() < until and self.server_state.connections and not self.force_exit:
            await asyncio.sleep(0.02)
        await self._hear(lambda connection: _has_written(connection.transport))
        await super().shutdown(sockets)

    async def _hear(self, is_waiting: Callable[[Any], bool]) -> None:
        """Lets the event loop read what has arrived and was not read yet."""
        for _ in range(100):
            if not any(map(is_waiting, self.server_state.connections)):
                return
            await asyncio.sleep(0)


def _has_written(transport: asyncio.Transport) -> bool:
    """Whether bytes of the client's wait to be read."""
    there = transport.get_extra_info("socket")
    if transport.is_closing() or there is None or there.fileno() < 0:
        return False
    watch = select.poll()
    watch.register(there.fileno(), select.POLLIN)
    return bool(watch.poll(0))
