"""Compiles the training kernels in another process while this one reads text; only on a fresh machine.

    with compiled_ahead(recipe) as kernels:
        stream = prepare(text)
        kernels.wait()
        train(plan_of(recipe, stream))

Numba compiles under one lock, so threads do not help; a process does, because each finds in Numba's cache what the
other has compiled. It trains the same recipe on a few words. If it fails, only time is lost: whatever it did not
compile is compiled here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.training.recipe import Recipe

PACKAGE = Path(__file__).parents[2]
CODE = (
    f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import compile_kernels; compile_kernels(sys.argv[2])"
)


class CompilingProcess:
    """The process that compiles; `None` if the kernels are already compiled or there is only one core."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    def wait(self) -> None:
        """Waits until the kernels for batches are compiled; those that finish a model may still be compiling."""
        if self._process and self._process.stdout:
            self._process.stdout.readline()

    def end(self) -> None:
        """Ends the process if it is still running."""
        if self._process:
            self._process.kill()
            self._process.communicate()


@contextmanager
def compiled_ahead(recipe: Recipe) -> Iterator[CompilingProcess]:
    """A process that compiles what training with this recipe needs; it ends with the block."""
    from siamese_cbow.machine.compiling import is_cached
    from siamese_cbow.training.engine import KERNELS

    process = None
    kernel, _ = KERNELS[OBJECTIVES[recipe.objective].sampled]
    if thread_count(None) > 1 and not is_cached(kernel):
        settings = json.dumps({**recipe.settings(), "init": None, "epochs": 1})
        with suppress(OSError):
            # In its own process group: Ctrl-C goes to this program, which then ends the process.
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", CODE, str(PACKAGE), settings],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0,
            )  # fmt: skip
    compiling = CompilingProcess(process)
    try:
        yield compiling
    finally:
        compiling.end()


def compile_kernels(settings: str) -> None:
    """What the process does: trains on a few words, prints a line after the batches, then finishes the model."""
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.training.loop import train
    from siamese_cbow.training.plan import plan_of

    stream = Stream.of_words([[[f"{d}.{s}.{w}" for w in range(8)] for s in range(4)] for d in range(64)])
    for array in (stream.ids, stream.sentences, stream.documents):
        array.flags.writeable = False  # like those of a stream on disk, for which kernels are compiled separately
    run = train(plan_of(Recipe(**json.loads(settings)), Mix.of(stream)), threads=1)
    print(flush=True)  # noqa: T201
    run.model()
