"""Ctrl-C and SIGTERM, turned into a wish that is granted between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopWish:
    """Whether somebody has asked this process to stop, and by which signal."""

    signal: signal.Signals | None = None


@contextmanager
def stop_wishes() -> Iterator[StopWish]:
    """Collects signals while the block runs. A second signal of the same kind acts at once, as if nobody had listened.

    Only the main thread can listen; elsewhere the wish never comes.
    """
    wish = StopWish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def listen(number: int, frame: FrameType | None) -> None:
        wish.signal = signal.Signals(number)
        signal.signal(number, before[wish.signal])

    for number in SIGNALS:
        signal.signal(number, listen)
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
