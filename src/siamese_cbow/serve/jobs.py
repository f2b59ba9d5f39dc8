"""Work off the event loop: short work in a pool of threads, long work in a thread of its own, asked for again.

UMAP compiles itself when it is first used, for half a minute or more. No request waits so long, and a server that
is told to stop does not either: the threads of long work are daemons.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from siamese_cbow.base.arrays import thread_count

Result = TypeVar("Result")

PATIENCE = 4.0  # seconds that a request waits for long work
MOST_KEPT, MOST_AT_ONCE = 16, 4


class Jobs:
    """`await jobs.run(work)` -> what `work()` gives; `await jobs.get(b"key", work)` -> the same, or None so far."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(thread_count(None), thread_name_prefix="siamese-cbow")
        self._long: dict[bytes, Future[Any]] = {}  # the oldest first
        self._one_at_a_time = threading.Lock()

    async def run(self, work: Callable[[], Result], *, is_quick: bool = False) -> Result:
        """The result of some work, done here if it is quick and in a thread if not."""
        return work() if is_quick else await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def get(self, key: bytes, work: Callable[[], Any]) -> Any:
        """The result of the long work with this key, or None while it is not there yet; the first to ask begins it."""
        future = self._long.get(key)
        if future is None:
            if sum(not future.done() for future in self._long.values()) >= MOST_AT_ONCE:
                await asyncio.sleep(min(1.0, PATIENCE))  # whoever asks again at once doesn't keep us busy
                return None
            future = self._begin(key, work)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), PATIENCE)
        except TimeoutError:
            return None
        except Exception:
            self._long.pop(key, None)  # it may go better the next time
            raise

    def _begin(self, key: bytes, work: Callable[[], Any]) -> Future[Any]:
        for old in [old for old, future in self._long.items() if future.done()][: -MOST_KEPT + 1 or None]:
            del self._long[old]
        future: Future[Any] = Future()

        def run() -> None:
            with self._one_at_a_time:
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)

        self._long[key] = future
        threading.Thread(target=run, name="long job", daemon=True).start()
        return future

    def close(self) -> None:
        """Forgets what has not begun; what has is finished."""
        self._pool.shutdown(cancel_futures=True)
