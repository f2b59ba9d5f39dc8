"""What post-processing is to do: settings, and the short text that the command line and recipes write them in."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from siamese_cbow.errors import SettingsError

Weights: TypeAlias = Literal["none", "sif", "usif", "idf"]

_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, kw_only=True)
class Postprocess:
    """The steps, in the order in which they are done; the defaults do nothing.

    weights     of words: `sif`, `usif` or `idf` (which needs a stream)
    a           of sif: words with a larger share of the text than this count for less than half
    center      the mean sentence becomes zero
    components  so many of the strongest directions of sentences are removed
    by_share    of each direction only its share of the strength of all those removed, as uSIF has it
    whiten      0 to 1: how far the strengths of the remaining directions are evened out
    seed        which sentences of a large stream are looked at

    `Postprocess.parse("components=1,weights=sif")` -> Postprocess(weights="sif", components=1)
    """

    weights: Weights = "none"
    a: float = 1e-3
    center: bool = False
    components: int = 0
    by_share: bool = False
    whiten: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.weights not in get_args(Weights):
            raise SettingsError(f"weights is {self.weights!r}; expected one of {', '.join(get_args(Weights))}")
        if not (math.isfinite(self.a) and self.a > 0):
            raise SettingsError(f"a is {self.a}; expected a number above 0, such as 0.001")
        if self.components < 0:
            raise SettingsError(f"components is {self.components}; expected 0 or more")
        if not 0 <= self.whiten <= 1:
            raise SettingsError(
                f"whiten is {self.whiten}; expected 0 (not at all) to 1 (all directions equally strong)"
            )
        if self.seed < 0:
            raise SettingsError(f"seed is {self.seed}; expected 0 or more")

    @property
    def looks_at_sentences(self) -> bool:
        """Whether a mean or directions have to be estimated."""
        return self.center or self.components > 0 or self.whiten > 0

    def settings(self) -> dict[str, Any]:
        """What differs from doing nothing: `Postprocess(components=1).settings()` -> {"components": 1}."""
        plain = asdict(Postprocess())
        return {name: value for name, value in asdict(self).items() if value != plain[name]}

    @classmethod
    def parse(cls, text: str) -> Postprocess:
        """Settings as people write them: "components=1,whiten=0.2,center=yes" (or "center" alone)."""
        kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(cls)}
        found: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if name not in kinds:
                raise SettingsError(f"postprocess has no setting {name!r}; expected some of {', '.join(kinds)}")
            try:
                found[name] = _YES_NO[value if equals else "yes"] if kinds[name] is bool else kinds[name](value)
            except (KeyError, ValueError):
                expected = {bool: "yes or no", int: "a whole number", float: "a number", str: "a word"}[kinds[name]]
                raise SettingsError(f"postprocess setting {part!r}; expected {name}= and {expected}") from None
        return cls(**found)
