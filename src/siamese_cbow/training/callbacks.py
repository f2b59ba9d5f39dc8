"""Callbacks: code that looks at a training while it runs, always between two batches.

    class Curve(Callback):
        every = 100_000                                        # batches
        def on_batch(self, run):
            print(run.state.examples, evaluate(run.model(), sets))

An exception raised in a callback ends the training; the state is then at the end of a batch and can be gone on from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siamese_cbow.training.loop import Run


class Callback:
    """Does nothing; override what you need.

    `every`: `on_batch` is called exactly after each `every` batches, counted over all epochs, and after the last one of
    an epoch. 0: after every chunk of batches, some ten milliseconds, wherever that falls.
    """

    every: int = 0

    def on_start(self, run: Run) -> None:
        """Before the first batch."""

    def on_batch(self, run: Run) -> None:
        """After some batches, see `every`."""

    def on_checkpoint(self, run: Run, path: Path) -> None:
        """After a checkpoint was saved (by whoever saves it)."""

    def on_epoch(self, run: Run) -> None:
        """After an epoch."""

    def on_end(self, run: Run) -> None:
        """After the last epoch."""
