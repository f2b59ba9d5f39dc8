"""A file layer that fails: the n-th write, fsync, rename or removal of a process raises an error or kills it.

    with failing(at=3, how=errno.ENOSPC) as log: ...     the third operation raises ENOSPC
    with failing(at=3, how="kill"): ...                  the process ends as if somebody had typed kill -9
    with failing(at=0) as log: ...                       nothing fails; `log` lists the operations

It sees operations through Python's files; writes by libraries are reached with `resource.RLIMIT_FSIZE`.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal
from unittest.mock import patch

from siamese_cbow.base import files

NAMES = ("fsync", "rename", "replace", "mkdir", "rmdir", "unlink")


@contextmanager
def failing(at: int, how: int | Literal["kill"] = "kill") -> Iterator[list[str]]:
    """Counts disk operations and makes number `at` fail, counting from 1."""
    log: list[str] = []

    def step(name: str) -> None:
        log.append(name)
        if len(log) != at:
            return
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(how, os.strerror(int(how)))

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            step(name)
            return function(*args, **options)

        return call

    class File(io.FileIO):
        def write(self, data: Any, /) -> int:
            step("write")
            return super().write(data)

    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: Any = None,
        errors: Any = None,
        newline: Any = None,
        **more: Any,
    ) -> Any:
        if not set(mode) & set("wax+") or more:  # with an opener: an unnamed file of `tempfile`
            return real_open(file, mode, buffering, encoding, errors, newline, **more)
        buffered = io.BufferedWriter(File(os.fspath(file), mode.replace("b", "").replace("t", "")))
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    real_open = io.open
    with ExitStack() as stack:
        for name in NAMES:
            stack.enter_context(patch.object(os, name, counted(name, getattr(os, name))))
        stack.enter_context(patch.object(io, "open", opened))
        stack.enter_context(patch.object(files, "swap", counted("swap", files.swap)))
        yield log


def killed(act: Callable[[], object], at: int) -> bool:
    """Runs `act` in a child process and kills it at operation `at`; False if it ended before."""
    child = os.fork()
    if child == 0:
        with failing(at):
            act()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
