"""What a word is. One definition: in training, in encoding, and in the `tokenizer.json` that other libraries load.

    "Don’t panic: 3.14 is 4U!"  ->  don't · panic · : · 3.14 · is · 4u · !

`Tokenizer.words` is the definition, in plain Python. `scanner` does the same a hundred times faster over UTF-8 bytes,
and `to_json` says the same to the `tokenizers` library; tests hold the three equal on arbitrary text.

The definition has a version, the rule. It is stored with streams and models: whatever was cut by one rule is never
silently mixed with words cut by another.

Does not normalise Unicode (é as one character and as e + accent are two spellings) and does not split scripts that
write words without spaces, except Han and Hiragana, where each character counts as a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from siamese_cbow.errors import SettingsError
from siamese_cbow.words import characters

Kind: TypeAlias = Literal["words", "whitespace"]

# Every rule that this version knows, and the release that brought it. Whatever changes the words of any text is a new
# rule: add a line here, and ask for `rule` where old and new differ (`words`, `to_json`, `scanner.tables`). If an old
# rule is no longer worth its code, delete its line: what was cut by it is then refused by its number.
RULES = {
    1: "0.1.0",  # as above, with the letters and marks of Unicode 16; files that say nothing of a rule have this one
}
RULE = max(RULES)

UNKNOWN = "[UNK]"


@dataclass(frozen=True)
class Tokenizer:
    """How text is cut into words.

    kind         `words`: words with inner apostrophes, numbers with inner points and commas, single marks;
                 `whitespace`: whatever stands between white space (or NUL), for text that is tokenized already
    lowercase    The and the are one word
    punctuation  marks such as , and ! are words too (with kind `words`)
    rule         the version of all this, one of RULES
    """

    kind: Kind = "words"
    lowercase: bool = True
    punctuation: bool = True
    rule: int = RULE

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingsError(f"tokenizer kind is {self.kind!r}; expected one of {', '.join(get_args(Kind))}")
        if self.rule not in RULES:
            raise SettingsError(f"tokenizer rule is {self.rule!r}; {_advice(self.rule)}")

    def words(self, text: str) -> list[str]:
        """`Tokenizer().words("The cat's 2 toys.")` -> ["the", "cat's", "2", "toys", "."]."""
        if text.isascii():
            return _ascii_pattern(self.kind, self.punctuation).findall(text.lower() if self.lowercase else text)
        return _pattern(self.kind, self.punctuation).findall(self._fold(text))

    def _fold(self, text: str) -> str:
        """Lower case and straight apostrophes. `str.lower` won't do: it writes a final Σ as ς, and follows Python's
        Unicode version. `bytes.lower` touches ASCII only, and the few other characters are replaced one by one."""
        if self.lowercase:
            text = text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
            text = _capitals().sub(lambda match: characters.lower_cases()[ord(match[0])], text)
        return text.replace("’", "'") if self.kind == "words" else text

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer that has these settings; the opposite of `settings`. Without a rule, they are of rule 1."""
        try:
            return cls(**{"rule": 1, **settings})
        except TypeError as error:
            raise SettingsError(f"tokenizer settings {dict(settings)} don't fit: {error}") from error

    def identity(self) -> dict[str, Any]:
        """What fingerprints of streams and indexes are made of: the settings, without a rule if that is 1.

        Version 0.1.0 made them so, and its streams and indexes go on to be used.
        """
        return {name: value for name, value in self.settings().items() if (name, value) != ("rule", 1)}

    def to_json(self, words: Sequence[str]) -> str:
        """The same tokenizer for the `tokenizers` library: word i has id i, and every other word id `len(words)`."""
        normalizers: list[dict[str, Any]] = []
        if self.kind == "words":
            normalizers.append({"type": "Replace", "pattern": {"String": "’"}, "content": "'"})
        if self.lowercase:
            normalizers.append({"type": "Lowercase"})
        vocabulary = dict(zip(words, range(len(words)), strict=True))
        # A token with spaces can't come out of any text, so it never collides with a word.
        unknown = UNKNOWN if UNKNOWN not in vocabulary else "[UNKNOWN WORD]"
        vocabulary[unknown] = len(words)
        tokenizer: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],  # an added token would be cut out of any text that spells it
            "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": _oniguruma(self.kind, self.punctuation)},
                "behavior": "Removed",
                "invert": True,
            },
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
        }
        return json.dumps(tokenizer, ensure_ascii=False, indent=1)


def _advice(rule: int) -> str:
    """What to do about something that was cut into words by a rule that is not among RULES."""
    version = "-U siamese-cbow" if rule > RULE else f"'siamese-cbow<{RULES[min(RULES)]}'"
    return f"this siamese-cbow knows {', '.join(map(str, RULES))}; install one that knows it: pip install {version}"


def _word_pattern(letter: str, mark: str, single: str) -> str:
    """The shape of a word, given the insides of three character classes: numbers first, then words, then marks."""
    run = f"[{letter}][{letter}{mark}]*"
    return f"[0-9]+(?:[.,][0-9]+)+|{run}(?:'{run})*|[{single}]"


@cache
def _ascii_pattern(kind: Kind, punctuation: bool) -> re.Pattern[str]:
    """The pattern for text without any character beyond ASCII, which compiles and runs faster."""
    if kind == "whitespace":
        return re.compile(r"[^\x00\t-\r ]+")
    marks = r"!-/:-@\[-`{-~"
    pattern = _word_pattern("a-zA-Z0-9", "", marks)
    return re.compile(pattern if punctuation else pattern.rpartition("|")[0])


@cache
def _pattern(kind: Kind, punctuation: bool) -> re.Pattern[str]:
    """The pattern for any text, from the project's own table of characters."""
    if kind == "whitespace":
        return re.compile(rf"[^\x00{_class('space')}\ud800-\udfff]+")
    single = _class("ideograph") + (_class("symbol") if punctuation else "")
    return re.compile(_word_pattern(_class("letter"), _class("mark"), single))


def _class(name: str) -> str:
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in characters.ranges(name))


@cache
def _capitals() -> re.Pattern[str]:
    """Matches each character beyond ASCII that has a lower case."""
    return re.compile(f"[{''.join(chr(capital) for capital in characters.lower_cases() if capital > 127)}]")


def _oniguruma(kind: Kind, punctuation: bool) -> str:
    """The same pattern in the words of the `tokenizers` library, which knows Unicode properties by name."""
    if kind == "whitespace":
        return r"[^\s\x{00}]+"
    letter = r"[\p{L}\p{N}]&&[^\p{Han}\p{Hiragana}]"
    run = rf"[{letter}](?:[{letter}]|\p{{M}})*"
    ideograph = r"[[\p{L}\p{N}]&&[\p{Han}\p{Hiragana}]]"
    symbol = r"|[[\p{P}\p{S}]&&[^\x{FFFD}]]" if punctuation else ""
    return f"[0-9]+(?:[.,][0-9]+)+|{run}(?:'{run})*|{ideograph}{symbol}"
