"""What a word is. One definition: in training, in encoding, and in the `tokenizer.json` that other libraries load.

    "Don’t panic: 3.14 is 4U!"  ->  don't · panic · : · 3.14 · is · 4u · !

`Tokenizer.words` is the definition, in plain Python: `normal` brings text into one spelling, and a pattern (`patterns`)
finds the words in it. `scanner` does the same a hundred times faster over UTF-8 bytes, and `to_json` writes the same
for the `tokenizers` library; tests check that the three agree on arbitrary text.

The definition has a version, the rule. It is stored with streams and models, so words split by one rule are
never silently mixed with words split by another. Does not look words up: see `vocabulary`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from siamese_cbow.base.option_fields import checked_list, checked_value
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text.languages import DOTLESS, ELISIONS
from siamese_cbow.words import characters, patterns

Kind: TypeAlias = Literal["words", "whitespace"]

# Every rule that this version knows, and the release that introduced it. Any change to the words of any text is a new
# rule: add a line here, and check `rule` where old and new differ (`words`, `to_json`, `scanner.tables`). If an old
# rule is no longer worth its code, delete its line: data of that rule is then refused by its number.
RULES = {
    1: "0.1.0",  # with the letters and marks of Unicode 16; files that don't name a rule have this one
    2: "0.2.0",  # NFC, soft hyphens and joiners dropped; addresses, C++, emoji; syllables of Thai; rules of languages
}
RULE = max(RULES)

UNKNOWN = "[UNK]"


@dataclass(frozen=True)
class Tokenizer:
    """How text is split into words.

    kind         `words`: words with inner apostrophes, numbers with inner points and commas, single marks;
                 `whitespace`: whatever stands between white space (or NUL), for text that is already tokenised
    lowercase    treat The and the as the same word
    punctuation  treat marks such as , and ! as words (with kind `words`)
    rule         the version of all this, one of RULES
    language     of the text, where that makes a difference to its words ("tr": I is the capital of ı; "fr": l'homme is
                 two words); else ""
    """

    kind: Kind = "words"
    lowercase: bool = True
    punctuation: bool = True
    rule: int = RULE
    language: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingsError(f"tokenizer kind is {self.kind!r}; expected one of {', '.join(get_args(Kind))}")
        for name in ("lowercase", "punctuation"):  # a file may set these
            if not isinstance(value := getattr(self, name), bool):
                raise SettingsError(f"tokenizer {name} is {value!r}; expected true or false")
        if type(self.rule) is not int:
            raise SettingsError(f"tokenizer rule is {self.rule!r}; expected a whole number")
        if self.rule not in RULES:
            raise SettingsError(f"tokenizer rule is {self.rule!r}; {_advice(self.rule)}")
        if self.language not in ("", *_LANGUAGES) or (self.language and self.rule < 2):
            raise SettingsError(
                f"tokenizer language is {self.language!r}; expected '', or, with rule 2, a language with "
                f"rules of its own: {', '.join(_LANGUAGES)}"
            )

    def of_language(self, code: str) -> Tokenizer:
        """The tokenizer for text in a language, by its code; itself if it has one, or if its rule knows none."""
        return replace(self, language=code) if self.rule > 1 and not self.language and code in _LANGUAGES else self

    def words(self, text: str) -> list[str]:
        """`Tokenizer().words("The cat's 2 toys.")` -> ["the", "cat's", "2", "toys", "."]."""
        text = self.spelled(text)
        is_special = self.rule > 1 and patterns.is_special(text)
        elisions = ELISIONS.get(self.language, "")
        find = patterns.pattern(self.kind, self.punctuation, self.rule, elisions, text.isascii(), is_special)
        return find.findall(text)

    def spelled(self, text: str) -> str:
        """The text as words are written: in its normal form, in lower case, with straight apostrophes.

        `str.lower` is right for ASCII only: it writes a final Σ as ς and follows Python's Unicode version.
        """
        text = self.normal(text)
        if text.isascii():
            return text.lower() if self.lowercase else text
        return text.translate(characters.replacements(self.lowercase, self.kind == "words", self.rule))

    def normal(self, text: str) -> str:
        """The text in one spelling, except for case. Rule 1 leaves it as it is.

        Rule 2: é as one character (NFC); without soft hyphens, joiners and other invisible characters; İ as i,
        and Turkish I as ı; spaces for the https:// of addresses.
        """
        if not isinstance(text, str):
            raise not_a_text(text)
        if self.rule == 1:
            return text
        if not text.isascii():
            text = characters.composed(patterns.dropped().sub("", text) if self.kind == "words" else text)
        if self.lowercase and self.language in DOTLESS:
            text = text.replace("I", "ı")
        if self.lowercase and "İ" in text:
            text = characters.composed(text.replace("İ", "i"))  # together with what follows, such as an accent
        if self.kind == "words" and "://" in text:
            text = re.sub(patterns.SCHEME, lambda match: " " * len(match[0]), text)
        return text

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, for a file."""
        settings = asdict(self)
        if not self.language:
            del settings["language"]
        return settings

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Tokenizer:
        """The tokenizer that has these settings; the opposite of `settings`. Without a rule, rule 1."""
        checked_value("settings", settings, Mapping, described="a table, as `settings` gives it")
        try:
            return cls(**{"rule": 1, **settings})
        except TypeError as error:
            names = ", ".join(field.name for field in fields(Tokenizer))
            raise SettingsError(
                f"invalid tokenizer settings {dict(settings)} ({error}); expected only {names}"
            ) from error

    def identity(self) -> dict[str, Any]:
        """The settings that go into fingerprints of streams and indexes: all, except for the rule if it is 1.

        Version 0.1.0 had no rule in them, and its streams and indexes stay usable.
        """
        return {name: value for name, value in self.settings().items() if (name, value) != ("rule", 1)}

    def to_json(self, words: Sequence[str]) -> str:
        """The same tokenizer for the `tokenizers` library: word i has id i, and every other word id `len(words)`."""
        words = checked_list("words", words, "words")
        vocabulary = dict(zip(words, range(len(words)), strict=True))
        # No text yields a token with spaces, so it never collides with a word.
        unknown = UNKNOWN if UNKNOWN not in vocabulary else "[UNKNOWN WORD]"
        vocabulary[unknown] = len(words)
        pattern = patterns.oniguruma(self.kind, self.punctuation, self.rule, ELISIONS.get(self.language, ""))
        tokenizer: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],  # an added token would be cut out of any text that spells it
            "normalizer": {"type": "Sequence", "normalizers": self._normalizers()},
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": pattern},
                "behavior": "Removed",
                "invert": True,
            },
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
        }
        return json.dumps(tokenizer, ensure_ascii=False, indent=1)

    def _normalizers(self) -> list[dict[str, Any]]:
        """`spelled` in the syntax of the library."""

        def replaced(content: str, **pattern: str) -> dict[str, Any]:
            return {"type": "Replace", "pattern": pattern, "content": content}

        is_words = self.kind == "words"
        if self.rule == 1:
            steps = [replaced("'", String="’")] if is_words else []
            return [*steps, {"type": "Lowercase"}] if self.lowercase else steps
        steps = [replaced("", Regex=f"[{patterns.named(characters.DROPPED)}]")] if is_words else []
        steps.append({"type": "NFC"})
        if self.lowercase:
            steps += [replaced("ı", String="I")] if self.language in DOTLESS else []
            steps += [replaced("i", String="İ"), {"type": "NFC"}]
        if is_words:
            steps.append(replaced(" ", Regex=patterns.SCHEME))
            steps.append(replaced("'", Regex=f"[{patterns.named(characters.APOSTROPHES)}]"))
            steps.append(replaced('"', String="״"))
        return [*steps, {"type": "Lowercase"}] if self.lowercase else steps


_LANGUAGES = sorted({*DOTLESS, *ELISIONS})


def every_tokenizer() -> Iterator[Tokenizer]:
    """All tokenizers; those of new rules and without a language first."""
    either = (True, False)
    for rule, language in itertools.product(sorted(RULES, reverse=True), ("", *_LANGUAGES)):
        if rule > 1 or not language:
            for kind, lowercase, punctuation in itertools.product(get_args(Kind), either, either):
                yield Tokenizer(kind, lowercase, punctuation, rule, language)


def not_a_text(text: Any) -> InputError:
    """The error for what no tokenizer can split: "the text is 5 (int); expected a string"."""
    return InputError(f"the text is {text!r:.60} ({type(text).__name__}); expected a string")


def _advice(rule: int) -> str:
    """The advice on data whose rule is not among RULES."""
    version = "-U siamese-cbow" if type(rule) is not int or rule > RULE else f"'siamese-cbow<{RULES[min(RULES)]}'"
    return f"this siamese-cbow reads {' and '.join(map(str, RULES))}; type pip install {version}"
