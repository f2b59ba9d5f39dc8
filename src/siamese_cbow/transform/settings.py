"""The settings of post-processing: the steps on a model's rows after training. `postprocessing` applies them."""

# ruff: noqa: RUF009 (`option` makes fields of dataclasses)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeAlias

from siamese_cbow.base.option_fields import check_names, check_options, named_options, option
from siamese_cbow.errors import SettingsError

Weights: TypeAlias = Literal["none", "sif", "usif", "idf"]

_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


@named_options()
@dataclass(frozen=True, kw_only=True)
class Postprocess:
    """The steps in the order in which they run; the defaults do nothing.

    The first three use words and their counts, and every training run ends with them, as its recipe says. The others
    use sentences: those of a stream, or sentences sampled from the word counts.
    """

    # In order: scale rows by a power of log(1 + 1 / the word's share of the text), raise their lengths to a power, and
    # remove the strongest directions of the rows, each weighted by its word's count.
    idf_power: float = option(0.0, "", at_least=0)
    length_power: float = option(1.0, "", at_least=0)
    common_directions: int = option(0, "", at_least=0)

    weights: Weights = option("none", "After training, weight words as in SIF, uSIF or tf-idf.")
    a: float = option(
        1e-3, "Parameter a of sif: words whose share of the text is above a weigh less than half.", above=0
    )
    center: bool = option(False, "After training, subtract the mean sentence vector.")
    components: int = option(0, "After training, remove this many directions shared by all sentences.", at_least=0)
    by_share: bool = option(False, "Remove each such direction only in proportion to its strength, as in uSIF.")
    whiten: float = option(
        0.0, "After training, whiten the remaining directions; 0: not at all, 1: fully.", at_least=0, at_most=1
    )
    seed: int = option(1, "Random seed for sampling sentences of a large stream.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.common_directions and self.looks_at_sentences:
            raise SettingsError(
                f"common_directions is {self.common_directions}, which uses words, but center, components or "
                "whiten is also set, which use sentences; expected only one kind (apply one, then the other)"
            )

    @property
    def looks_at_sentences(self) -> bool:
        """Whether a mean or directions of sentences have to be estimated."""
        return self.center or self.components > 0 or self.whiten > 0

    def settings(self) -> dict[str, Any]:
        """The settings that differ from doing nothing: `Postprocess(components=1).settings()` -> {"components": 1}."""
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
        check_names(cls, map(str, table), {})
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
