"""Settings as fields of a frozen dataclass. What is known of one stands in its field, once.

    dim: int = option(300, "Size of a vector.", at_least=1)      ->   dim is 0; expected a whole number, 1 or more

From this come the check, the option on the command line with its help, and the key in a file.
"""

from __future__ import annotations

import math
from dataclasses import field, fields
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from siamese_cbow.errors import SettingsError

T = TypeVar("T")

SMALLEST, LARGEST = 1e-30, 1e30  # sizes of numbers that options take, apart from 0


def option(default: T, help: str, **details: Any) -> T:  # noqa: A002 (as click calls it)
    """A field; `details` are those of `Option`: `at_least=1`."""
    return field(default=default, metadata={"help": help, **details})


class Option(NamedTuple):
    """A field, as others read it."""

    name: str
    kind: type  # int, float, bool or str
    choices: tuple[str, ...]  # what a str may be; empty: anything
    optional: bool  # None is a value, too
    default: Any
    help: str = ""
    paper: Any = None  # its value in the published recipe, where that is another
    program: Any = None  # its value in the program behind the published figures, where that is another again
    at_least: float = -math.inf
    above: float = -math.inf
    at_most: float = math.inf
    switch: str = ""  # names of a yes-or-no option on the command line, if not --name/--no-name
    short: str = ""  # a second, shorter name on the command line: --lr
    group: str = ""  # heading in --help of this option and of those after it, up to the next one that has a heading

    def allows(self, value: Any) -> bool:
        """Whether this is a value for it: `dim` allows 1, and neither 0 nor 1.5 nor True."""
        if value is None:
            return self.optional
        if self.kind not in (int, float):
            return isinstance(value, self.kind) and (not self.choices or value in self.choices)
        if not isinstance(value, int | self.kind) or isinstance(value, bool):
            return False
        # Kernels calculate in float32, in which a number beyond these is infinite or 0.
        fits = self.kind is int or value == 0 or SMALLEST <= abs(value) <= LARGEST  # False for NaN
        return fits and self.above < value and self.at_least <= value <= self.at_most

    @property
    def expected(self) -> str:
        """Its values in words: "a whole number, 1 or more"."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        above = f" above {self.above:g}" if math.isfinite(self.above) else ""
        at_least = f", {self.at_least:g} or more" if math.isfinite(self.at_least) else ""
        at_most = f" and at most {_shown(self.at_most)}" if math.isfinite(self.at_most) else ""
        return kinds.get(self.kind, self.kind.__name__) + above + at_least + at_most


@cache
def options(settings: type) -> tuple[Option, ...]:
    """The options of a class of settings, in their order."""
    hints = get_type_hints(settings)
    return tuple(
        Option(entry.name, *_values(hints[entry.name]), entry.default, **entry.metadata) for entry in fields(settings)
    )


def _values(hint: Any) -> tuple[type, tuple[str, ...], bool]:
    """`int | None` -> int, (), True; `Literal["linear", "constant"]` -> str, ("linear", "constant"), False."""
    values = [value for value in get_args(hint) or (hint,) if value is not type(None)]
    choices = tuple(value for value in values if isinstance(value, str))
    return str if choices else values[0], choices, type(None) in get_args(hint)


def check_options(settings: Any) -> None:
    """`dim is 0; expected a whole number, 1 or more`, where an option has a value that it does not allow."""
    for entry in options(settings.__class__):
        value = getattr(settings, entry.name)
        if not entry.allows(value):
            shown = f"{value!r:.60}"
            raise SettingsError(f"{entry.name} is {shown}; expected {entry.expected}{_too_extreme(entry, value)}")


def _too_extreme(entry: Option, value: Any) -> str:
    """Why a number that is within the option's bounds is still not allowed."""
    if entry.kind is not float or not isinstance(value, int | float) or value == 0:
        return ""
    return "" if SMALLEST <= abs(value) <= LARGEST else f", with a magnitude between {SMALLEST:g} and {LARGEST:g}"


def _shown(number: float) -> str:
    """`_shown(65536)` -> "65536"; `_shown(1e9)` -> "1e+09"; `_shown(0.999999)` -> "0.999999"."""
    return str(number) if isinstance(number, int) else f"{number:g}"
