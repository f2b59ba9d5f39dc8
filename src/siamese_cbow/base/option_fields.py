"""Settings as fields of a frozen dataclass. Everything about a setting is declared once, in its field.

    dim: int = option(300, "Size of a vector.", at_least=1)      ->   dim is 0; expected a whole number, 1 or more

The check, the command-line option with its help, and the key in a file are all derived from it. So is the error for an
unknown name: see `named_options`. Does not parse files or command lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from siamese_cbow.errors import InputError, SettingsError, did_you_mean

T = TypeVar("T")
C = TypeVar("C", bound=type)

SMALLEST, LARGEST = 1e-30, 1e30  # range of magnitudes that options accept, apart from 0


def option(default: T, help: str, **details: Any) -> T:  # noqa: A002 (as click calls it)
    """Declare a field; `details` are those of `Option`: `at_least=1`."""
    return field(default=default, metadata={"help": help, **details})


class Option(NamedTuple):
    """An option as other modules see it."""

    name: str
    kind: type  # int, float, bool or str; of arguments, any class
    choices: tuple[str, ...]  # allowed strings; empty: any
    optional: bool  # whether None is allowed
    default: Any
    help: str = ""
    paper: Any = None  # its value in the published recipe, if different
    program: Any = None  # its value in the authors' program, if different again
    at_least: float = -math.inf
    above: float = -math.inf
    at_most: float = math.inf
    switch: str = ""  # flags of a boolean option on the command line, if not --name/--no-name
    short: str = ""  # a second, shorter name on the command line: --lr
    group: str = ""  # heading in --help for this option and those after it, up to the next heading
    also: str = ""  # names of the same thing in other libraries, for messages: "vector_size size"
    described: str = ""  # what is expected, where the name of the class does not say it: "a list of callbacks"

    def allows(self, value: Any) -> bool:
        """Whether the option allows a value: `dim` allows 1 but not 0, 1.5 or True."""
        if value is None:
            return self.optional
        if self.kind not in (int, float):
            return isinstance(value, self.kind) and (not self.choices or value in self.choices)
        if not isinstance(value, int | self.kind) or isinstance(value, bool):
            return False
        return self.fits_float32(value) and self.above < value and self.at_least <= value <= self.at_most

    def fits_float32(self, value: float) -> bool:
        """Whether float32, in which kernels compute, can hold a value: others become infinite or 0. False for NaN."""
        return self.kind is int or value == 0 or SMALLEST <= abs(value) <= LARGEST

    @property
    def expected(self) -> str:
        """The allowed values in words: "a whole number, 1 or more"."""
        if self.described:
            return self.described
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        if math.isfinite(self.at_least) and math.isfinite(self.at_most):
            return f"{kinds[self.kind]} from {self.at_least:g} to {_shown(self.at_most)}"
        above = f" above {self.above:g}" if math.isfinite(self.above) else ""
        at_least = f", {self.at_least:g} or more" if math.isfinite(self.at_least) else ""
        at_most = f" and at most {_shown(self.at_most)}" if math.isfinite(self.at_most) else ""
        return kinds.get(self.kind, self.kind.__name__) + above + at_least + at_most


@cache
def options(settings: type) -> tuple[Option, ...]:
    """The options of a settings class, in order."""
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
    """Raises an error if an option does not allow its value: `dim is 0; expected a whole number, 1 or more`."""
    for entry in options(settings.__class__):
        _check(entry, getattr(settings, entry.name))


def checked_value(name: str, value: Any, kind: Any, *, optional: bool = False, **limits: Any) -> Any:
    """The value of an argument, checked like an option; a NumPy scalar becomes a Python number.

    `checked_value("before", 2.5, int, at_least=0)` -> SettingsError: before is 2.5; expected a whole number, 0 or more
    """
    plain = value.item() if getattr(value, "shape", None) == () else value
    _check(Option(name, kind, (), optional, None, **limits), plain)
    return plain


def at_least_1(name: str, value: int, highest: int | None = None) -> int:
    """The value of an option, checked: `at_least_1("k", 3)` -> 3."""
    if type(value) is int and value >= 1 and (highest is None or value <= highest):
        return value  # without the microseconds of the full check
    number: int = checked_value(name, value, int, at_least=1, at_most=math.inf if highest is None else highest)
    return number


def checked_list(name: str, value: Any, of: str) -> list[Any]:
    """The items of an argument that takes several; a single text is not taken for its letters.

    `checked_list("words", "cat", "words")` -> InputError: words is 'cat' (str); expected a list of words
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{name} is {value!r:.60} ({type(value).__name__}); expected a list of {of}")
    return list(value)


def _check(entry: Option, value: Any) -> None:
    if not entry.allows(value):
        is_extreme = entry.kind is float and isinstance(value, int | float) and not entry.fits_float32(value)
        limits = f", with a magnitude between {SMALLEST:g} and {LARGEST:g}" if is_extreme else ""
        raise SettingsError(f"{entry.name} is {value!r:.60}; expected {entry.expected}{limits}")


def _shown(number: float) -> str:
    """`_shown(65536)` -> "65536"; `_shown(1e9)` -> "1e+09"; `_shown(0.999999)` -> "0.999999"."""
    return str(number) if isinstance(number, int) else f"{number:g}"


def named_options(elsewhere: Mapping[str, str] | None = None) -> Callable[[C], C]:
    """Decorates a settings dataclass: an unknown option is an error that suggests the right name.

    `SiameseCBOW(vector_size=100)` -> SettingsError: unknown option 'vector_size'; use dim instead

    elsewhere  advice for names that are set elsewhere; the key "" is for a value without a name
    """

    def decorate(settings: C) -> C:
        plain = settings.__init__  # type: ignore[misc]  # the original one, replaced below

        @wraps(plain)
        def checked(self: Any, /, *values: Any, **named: Any) -> None:
            first = fields(settings)[0]
            if values and first.kw_only:
                advice = (elsewhere or {}).get("", f"name the option, such as {first.name}={first.default!r}")
                raise SettingsError(f"got {values[0]!r:.60} without a name; {advice}")
            check_names(settings, named, elsewhere or {})
            plain(self, *values, **named)

        settings.__init__ = checked  # type: ignore[misc]
        return settings

    return decorate


def check_names(settings: type, given: Iterable[str], elsewhere: Mapping[str, str]) -> None:
    """Raises an error if a given name is not an option; `elsewhere` as for `named_options`."""
    names = [entry.name for entry in fields(settings)]
    also = {other: entry.name for entry in fields(settings) for other in entry.metadata.get("also", "").split()}
    for name in (name for name in given if name not in names):
        called = f"use {also[name]} instead" if name in also else elsewhere.get(name)
        advice = called or did_you_mean(name, names)
        raise SettingsError(f"unknown option {name!r}; {advice}")
