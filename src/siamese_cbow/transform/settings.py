"""What is done to the rows of a model after training, as values: the settings of post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from siamese_cbow.errors import SettingsError

Weights: TypeAlias = Literal["none", "sif", "usif", "idf"]

_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, kw_only=True)
class Postprocess:
    """The steps, in the order in which they are done; the defaults do nothing.

    The first three look at words and their counts. Every training ends with them, as its recipe says:

    idf_power          rows are scaled by this power of log(1 + 1 / the word's share of the text)
    length_power       their lengths are raised to this power
    common_directions  so many of the strongest directions of the running words are removed

    The others look at sentences, of a stream or as the counts of words let them expect:

    weights     of words: `sif`, `usif` or `idf` (which needs a stream)
    a           of sif: words with a larger share of the text than this count for less than half
    center      the mean sentence becomes zero
    components  so many of the strongest directions of sentences are removed
    by_share    of each direction only its share of the strength of all those removed, as uSIF has it
    whiten      0 to 1: how far the strengths of the remaining directions are evened out
    seed        which sentences of a large stream are looked at
    """

    idf_power: float = 0.0
    length_power: float = 1.0
    common_directions: int = 0
    weights: Weights = field(
        default="none", metadata={"help": "After training, weights of words, as SIF, uSIF or tf-idf have them."}
    )
    a: float = field(
        default=1e-3,
        metadata={"help": "Of sif: words with a larger share of the text than this count for less than half."},
    )
    center: bool = field(default=False, metadata={"help": "After training, take off the mean sentence."})
    components: int = field(
        default=0, metadata={"help": "After training, remove this many directions that all sentences share."}
    )
    by_share: bool = field(
        default=False, metadata={"help": "Remove of each such direction only its share of their strength, as uSIF."}
    )
    whiten: float = field(
        default=0.0, metadata={"help": "After training, even out the strengths of the other directions: 0 to 1."}
    )
    seed: int = field(default=1, metadata={"help": "Which sentences of a large stream to look at for that."})

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise SettingsError(f"weights is {self.weights!r}; expected one of {', '.join(get_args(Weights))}")
        for name in ("center", "by_share"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"{name} is {getattr(self, name)!r}; expected true or false")
        for name in ("common_directions", "components", "seed"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SettingsError(f"{name} is {value!r}; expected a whole number, 0 or more")
        for name in ("idf_power", "length_power", "a", "whiten"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
                raise SettingsError(f"{name} is {value!r}; expected a number of 0 or more")
        if self.a == 0:
            raise SettingsError("a is 0; expected a number above 0, such as 0.001")
        if self.whiten > 1:
            raise SettingsError(
                f"whiten is {self.whiten}; expected 0 (not at all) to 1 (all directions equally strong)"
            )
        if self.common_directions and self.looks_at_sentences:
            raise SettingsError(
                f"common_directions is {self.common_directions}, which looks at words, and center, components or "
                "whiten is set, which look at sentences; expected either (do the one, then the other)"
            )

    @property
    def looks_at_sentences(self) -> bool:
        """Whether a mean or directions of sentences have to be estimated."""
        return self.center or self.components > 0 or self.whiten > 0

    def settings(self) -> dict[str, Any]:
        """What differs from doing nothing: `Postprocess(components=1).settings()` -> {"components": 1}."""
        plain = asdict(Postprocess())
        return {name: value for name, value in asdict(self).items() if value != plain[name]}

    @classmethod
    def of(cls, settings: Postprocess | Mapping[str, Any] | str) -> Postprocess:
        """Settings in any form: values, a table, or the text "components=1,center" that recipes of 0.1.0 hold."""
        if isinstance(settings, Postprocess):
            return settings
        table = _parsed(settings) if isinstance(settings, str) else settings
        if not isinstance(table, Mapping):
            raise SettingsError(f"postprocess is {table!r}; expected a table, such as {{components = 1}}")
        for name in table:
            if name not in _KINDS:
                raise SettingsError(f"postprocess has no setting {name!r}; expected some of {', '.join(_KINDS)}")
        return cls(**table)


_KINDS: dict[str, Any] = {field.name: type(field.default) for field in fields(Postprocess)}


def _parsed(text: str) -> dict[str, Any]:
    """The text form of 0.1.0: "components=1,center" -> {"components": 1, "center": True}."""
    table: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        kind = _KINDS.get(name, str)
        try:
            table[name] = _YES_NO[value if equals else "yes"] if kind is bool else kind(value)
        except (KeyError, ValueError):
            expected = {bool: "yes or no", int: "a whole number", float: "a number", str: "a word"}[kind]
            raise SettingsError(f"postprocess setting {part!r}; expected {name}= and {expected}") from None
    return table
