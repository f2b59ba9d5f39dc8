"""Work that may take longer than anybody waits: done once, kept, and asked for again until it is there.

UMAP compiles itself when it is first used, for half a minute or more. No request waits so long, and a server that
is told to stop does not either: the threads are daemons.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

PATIENCE = 4.0  # seconds that a request waits
MOST_KEPT, MOST_AT_ONCE = 16, 4


class Desk:
    """`await Desk().get(b"key", work)` -> what `work()` gives, or None while it is not there yet."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Future[Any]] = {}  # the oldest first
        self._one_at_a_time = threading.Lock()

    async def get(self, key: bytes, work: Callable[[], Any]) -> Any:
        """The result of the work with this key, which is begun unless it was before."""
        future = self._kept.get(key)
        if future is None:
            if sum(not one.done() for one in self._kept.values()) >= MOST_AT_ONCE:
                await asyncio.sleep(min(1.0, PATIENCE))  # whoever asks again at once doesn't keep us busy
                return None
            future = self._begin(key, work)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), PATIENCE)
        except TimeoutError:
            return None
        except Exception:
            self._kept.pop(key, None)  # it may go better the next time
            raise

    def _begin(self, key: bytes, work: Callable[[], Any]) -> Future[Any]:
        for old in [old for old, future in self._kept.items() if future.done()][: -MOST_KEPT + 1 or None]:
            del self._kept[old]
        future: Future[Any] = Future()

        def run() -> None:
            with self._one_at_a_time:
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)

        self._kept[key] = future
        threading.Thread(target=run, name="desk", daemon=True).start()
        return future
