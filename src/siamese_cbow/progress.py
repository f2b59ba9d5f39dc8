"""Progress: the library reports it, and the caller decides how to show it.

Long-running functions take `progress: Progress`. `SILENT` shows nothing; `bar(...)` draws on standard error with rich,
which is imported only then. Nothing here prints to standard output: that is for results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from siamese_cbow.errors import SettingsError

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

BETWEEN_DRAWINGS = 0.2  # seconds between updates of a bar in a notebook


class Progress(Protocol):
    """Receives progress reports: how much is done, and messages worth reading."""

    def advance(self, amount: float, note: str = "") -> None:
        """Report `amount` more units as done; `note` replaces the text behind the bar."""

    def say(self, message: str) -> None:
        """Show one line that the user should see, such as a decision or a count."""


class Silent:
    """Shows nothing."""

    def advance(self, amount: float, note: str = "") -> None:
        """Nothing to show."""

    def say(self, message: str) -> None:
        """Nothing to show."""


SILENT = Silent()


class _Bar:
    """A progress bar drawn by rich."""

    def __init__(self, display: RichProgress, task: TaskID) -> None:
        self._display, self._task = display, task
        self._note, self._drawn = "", 0.0

    def advance(self, amount: float, note: str = "") -> None:
        self._note = note or self._note
        self._display.update(self._task, advance=amount, note=self._note)
        if self._display.console.is_jupyter and monotonic() - self._drawn > BETWEEN_DRAWINGS:
            self._display.refresh()
            self._drawn = monotonic()

    def say(self, message: str) -> None:
        self._display.console.print(message, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def bar(title: str, total: float | None, *, unit: str = "") -> Iterator[Progress]:
    """A progress bar on standard error with speed and time left.

    `unit="B"` shows bytes as MB and MB/s; any other unit shows `unit`/s; without a unit, no speed is shown.
    `total=None` is for work of unknown length (standard input): the bar pulses. In a notebook it is a widget (of
    ipywidgets, in the extra `notebook`); anywhere else but in a terminal, only the messages are printed.
    """
    from importlib.util import find_spec

    from rich import progress as rich
    from rich.console import Console
    from rich.text import Text

    class Speed(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{_short(speed)} {unit}/s" if speed else "")

    console = Console(stderr=True)
    amounts: list[rich.ProgressColumn] = (
        [rich.DownloadColumn(), rich.TransferSpeedColumn()]
        if unit == "B"
        else [rich.TaskProgressColumn(), *([Speed()] if unit else [])]
    )
    can_draw = find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal
    with rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        *amounts,
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}"),
        console=console,
        disable=not can_draw,
        # A widget swallows messages printed while it is drawn, so in a notebook a single thread does both.
        auto_refresh=not console.is_jupyter,
    ) as display:
        yield _Bar(display, display.add_task(title, total=total, note=""))


@contextmanager
def shown(progress: Progress | bool, title: str, total: float | None, *, unit: str = "") -> Iterator[Progress]:
    """The `progress` argument of a public function as a Progress: True draws a bar, False shows nothing."""
    if not isinstance(progress, bool) and not (hasattr(progress, "say") and hasattr(progress, "advance")):
        raise SettingsError(f"progress is {progress!r:.60}; expected True, False, or an object with say and advance")
    if progress is True:
        with bar(title, total, unit=unit) as drawn:
            yield drawn
    else:
        yield SILENT if progress is False else progress


def _short(number: float) -> str:
    """`_short(8_600_000)` -> '8.6M'; `_short(727_000)` -> '727.0k'; `_short(12)` -> '12.0'."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.1f}"
