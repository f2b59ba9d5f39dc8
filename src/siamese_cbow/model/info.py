"""Where a model comes from and what was done to it: fields with types, checked when a model is made or loaded.

    ModelInfo.of({"recipe": {"name": "mine"}, "colour": "red"})   ->   recipe {"name": "mine"}, extra {"colour": "red"}
    ModelInfo.of({"recipe": "mine"})                              ->   InputError: expected a table

In config.json all of it stands in one flat table, and what `extra` holds comes back as it was. It can be read as that
table, too: `info["recipe"]["name"]`, `"scores" in info`, `dict(info)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from siamese_cbow.errors import InputError
from siamese_cbow.words.fallback import Fallback

Table: TypeAlias = Mapping[str, Any]  # of what JSON can hold


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelInfo(Mapping[str, Any]):
    """What a model says of itself; None where it says nothing. `dataclasses.replace` makes a changed one.

    data, licence, limits, biases   for people: the text it was trained on, and what to know before using it
    scores         how good it is, as measured with just these rows
    recipe         the settings of its training; `name` says which one
    corpus         the text: its fingerprint, alone or in a table with sizes
    trained        how far: epochs, examples, words
    start          data, licence and corpus of the model that training went on with
    combined       what the models that it was made of did not have in common
    unknown_words  what unknown words count as
    language       the language of all its words; `languages`, of a model of several
    compression    what it was before it was made smaller, and what it is now
    postprocessing what was done to the rows after training
    extra          whatever else there is to say
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
        hints = _hints()
        for name, value in _plain({one.name: getattr(self, one.name) for one in fields(self)}).items():
            if not _is_of(value, hints[name]):
                raise InputError(
                    f"the model's info has {value!r:.60} for {name!r}; expected {_expected(hints[name], name)} "
                    "(a key of your own may hold anything)"
                )
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> ModelInfo:
        """From the flat table that config.json holds; what is a ModelInfo already stays as it is."""
        if isinstance(table, ModelInfo):
            return table
        known = {name: value for name, value in table.items() if name in _KNOWN}
        return cls(**known, extra={name: value for name, value in table.items() if name not in _KNOWN})

    def _table(self) -> dict[str, Any]:
        said = {name: value for name in _KNOWN if (value := getattr(self, name)) is not None}
        return said | dict(self.extra)

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


_KNOWN = tuple(one.name for one in fields(ModelInfo) if one.name != "extra")
_UNIONS = (UnionType, Union)


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(ModelInfo)


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    """A deep copy as it would come back from a file, so that a model equals itself after saving and loading."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(table, allow_nan=False, default=_as_dict))
    except (TypeError, ValueError) as error:
        expected = "expected plain numbers, strings, lists and dicts"
        raise InputError(f"info can't be written as JSON ({error}); {expected}") from None
    return plain


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} {value!r:.60}")


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of a type such as `str | Table | None`, `list[str]` or a `Literal`."""
    kind = get_origin(hint) or hint
    if kind in _UNIONS:
        return any(_is_of(value, inner) for inner in get_args(hint))
    if kind is Literal:
        return value in get_args(hint)
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, get_args(hint)[0]) for item in value)
    return isinstance(value, kind)


def _expected(hint: Any, name: str) -> str:
    """In words: `str | Table | None` -> "a string or a table such as ..."."""
    if get_origin(hint) in _UNIONS:
        return " or ".join(_expected(inner, name) for inner in get_args(hint) if inner is not NoneType)
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) is list:
        return "a list of strings"
    return "a string" if hint is str else f'a table, such as {{"{name}": {{"name": "mine"}}}}'
