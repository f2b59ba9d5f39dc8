"""Where a model comes from and what was done to it: typed fields, checked when a model is created or loaded.

    ModelInfo.of({"recipe": {"name": "mine"}, "colour": "red"})   ->   recipe {"name": "mine"}, extra {"colour": "red"}
    ModelInfo.of({"recipe": "mine"})                              ->   InputError: expected a table

In config.json everything is in one flat table, and `extra` is restored unchanged. It can be read as that table, too:
`info["recipe"]["name"]`, `"scores" in info`, `dict(info)`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, get_args

from siamese_cbow.errors import InputError
from siamese_cbow.words.unknown_words import Fallback

Table: TypeAlias = Mapping[str, Any]  # of JSON values


# Annotation of a field below -> its JSON type, and its name in messages.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "None": (lambda value: value is None, ""),
    "str": (lambda value: isinstance(value, str), "a string"),
    "list[str]": (lambda value: isinstance(value, list) and {*map(type, value)} <= {str}, "a list of strings"),
    "Table": (lambda value: isinstance(value, dict), 'a table, such as {{"{}": {{"name": "mine"}}}}'),
    "Fallback": (lambda value: value in get_args(Fallback), f"one of {', '.join(get_args(Fallback))}"),
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelInfo(Mapping[str, Any]):
    """Where a model comes from; None where unknown. `dataclasses.replace` returns a changed copy.

    data, licence, limits, biases  for readers: the training text, and what to know before use
    scores          how good it is, measured with exactly these rows
    recipe          the settings of its training run; `name` is the name of the recipe
    corpus          the text: its fingerprint, alone or in a table with sizes
    trained         how long it was trained: epochs, examples, words
    start           data, licence and corpus of the model that training started from
    combined        for a combined model, the entries in which its parts differ
    unknown_words   how unknown words are treated, a `Fallback`
    language        the language of its words; `languages`, those of a multilingual model
    compression     the size before compression
    postprocessing  what was done to the rows after training
    extra           your own notes
    """

    data: str | Table | None = None
    licence: str | Table | None = None
    scores: Table | None = None
    limits: str | Table | None = None
    biases: str | Table | None = None
    recipe: Table | None = None
    corpus: str | Table | None = None
    trained: Table | None = None
    start: Table | None = None
    combined: Table | None = None
    unknown_words: Fallback | None = None
    language: str | None = None
    languages: list[str] | None = None
    compression: Table | None = None
    postprocessing: Table | None = None
    extra: Table = field(default_factory=dict)

    def __post_init__(self) -> None:
        types = {entry.name: str(entry.type) for entry in fields(self)}
        for name, value in _plain({name: getattr(self, name) for name in types}).items():
            kinds = [_KINDS[kind] for kind in types[name].split(" | ")]
            if not any(is_kind(value) for is_kind, _ in kinds):
                expected = " or ".join(words.format(name) for _, words in kinds if words)
                raise InputError(f"the model's info has {value!r:.60} for {name!r}; expected {expected}")
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> ModelInfo:
        """From the flat table in config.json; a ModelInfo is returned unchanged."""
        if isinstance(table, ModelInfo):
            return table
        if not isinstance(table, Mapping):
            raise InputError(f"the model's info is {table!r:.60} ({type(table).__name__}); expected a table: {{...}}")
        known = {name: value for name, value in table.items() if name in _KNOWN}
        return cls(**known, extra={name: value for name, value in table.items() if name not in _KNOWN})

    def _table(self) -> dict[str, Any]:
        known = {name: value for name in _KNOWN if (value := getattr(self, name)) is not None}
        return known | dict(self.extra)

    def __getitem__(self, key: str) -> Any:
        return self._table()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())

    def __repr__(self) -> str:
        return f"ModelInfo({self._table()})"

    @property
    def recipe_name(self) -> str | None:
        """The name of the recipe."""
        return (self.recipe or {}).get("name")

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the text."""
        return self.corpus.get("fingerprint") if isinstance(self.corpus, Mapping) else self.corpus


_KNOWN = tuple(entry.name for entry in fields(ModelInfo) if entry.name != "extra")


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    """A deep copy as it would be read from a file, so that a model equals itself after saving and loading."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(table, allow_nan=False))
    except (TypeError, ValueError) as error:
        expected = "expected plain numbers, strings, lists and dicts"
        raise InputError(f"info can't be written as JSON ({error}); {expected}") from None
    return plain
