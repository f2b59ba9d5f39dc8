"""Progress as plain records: the library reports, whoever called it decides how to show it.

Long work takes `progress: Progress`. `SILENT` shows nothing; `bar(...)` draws on standard error with rich, which
is imported only then. Nothing here prints to standard output: that belongs to results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

BETWEEN_DRAWINGS = 0.2  # seconds, of a bar in a notebook


class Progress(Protocol):
    """Receives what long work has to say: how far it is, and sentences worth reading."""

    def advance(self, amount: float, note: str = "") -> None:
        """`amount` more units are done; `note` replaces the text behind the bar."""

    def say(self, message: str) -> None:
        """One line that the user should see, such as a decision or a count."""


class Silent:
    """Shows nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Nothing to show."""

    def say(self, message: str) -> None:
        """Nothing to show."""


SILENT = Silent()


class _Bar:
    def __init__(self, advance: Callable[[float, str], None], say: Callable[[str], None]) -> None:
        self._advance, self._say = advance, say

    def advance(self, amount: float, note: str = "") -> None:
        self._advance(amount, note)

    def say(self, message: str) -> None:
        self._say(message)


@contextmanager
def bar(title: str, total: float | None, *, unit: str = "") -> Iterator[Progress]:
    """A progress bar on standard error with speed and time left.

    `unit="B"` shows bytes as MB and MB/s; any other unit shows `unit`/s, no unit no speed. `total=None` is for work of
    unknown length (standard input): the bar pulses. In a notebook it is a widget (of ipywidgets, in the extra
    `notebook`); on anything else that is no terminal, only the messages are printed.
    """
    from importlib.util import find_spec

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        ProgressColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as RichProgress
    from rich.progress import Task as RichTask
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: RichTask) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{_short(speed)} {unit}/s" if speed else "")

    console = Console(stderr=True)
    amounts: list[ProgressColumn] = (
        [DownloadColumn(), TransferSpeedColumn()]
        if unit == "B"
        else [TaskProgressColumn(), *([Speed()] if unit else [])]
    )
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        *amounts,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    can_draw = find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    display = RichProgress(
        *columns,
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not can_draw,
        # A widget swallows what is said while it is drawn: in a notebook, only one thread does both.
        auto_refresh=not console.is_jupyter,
    )
    with display:
        task = display.add_task(title, total=total, note="")
        drawn = 0.0

        def advance(amount: float, note: str) -> None:
            nonlocal drawn
            if note:
                display.update(task, advance=amount, note=note)
            else:
                display.update(task, advance=amount)
            if console.is_jupyter and monotonic() - drawn > BETWEEN_DRAWINGS:
                display.refresh()
                drawn = monotonic()

        yield _Bar(advance, lambda message: console.print(message, highlight=False, markup=False, soft_wrap=True))


@contextmanager
def shown(progress: Progress | bool, title: str, total: float | None, *, unit: str = "") -> Iterator[Progress]:
    """What a function was given as `progress`: True is a bar of its own, False nothing, anything else itself."""
    if progress is True:
        with bar(title, total, unit=unit) as drawn:
            yield drawn
    else:
        yield progress or SILENT


def _short(number: float) -> str:
    """`_short(8_600_000)` -> '8.6M'; `_short(727_000)` -> '727.0k'; `_short(12)` -> '12.0'."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.1f}"
