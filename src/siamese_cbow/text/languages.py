"""Languages: the names and tags that people write, what each language determines, and detection.

    language("Deutsch"), language("de-AT"), language("ger")   ->   Language(code="de", name="German", stemmer="german")
    language("klingon")                                       ->   SettingsError with the list and similar names
    detect([b"Dies ist ein Satz. ..."])                       ->   German, 100% of the sample

A language determines where sentences end (`sentences`), which words are split in two or have a special lower case
(`words.tokenizer`), and which stemmer lets forms of one word train together (`training.stems`). All of them look it up
here. The table is `languages.txt`; a country or script after a language (de-AT, zh-Hant) changes nothing.

py3langid detects: a few megabytes, NumPy only, no network; lingua is twenty times as large. A single sentence may
mislead it, so it classifies pieces from all over a text; but a sentence that is certainly in another language than its
piece counts for that language, so languages may alternate line by line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from siamese_cbow.base.disk import clear_disk_errors
from siamese_cbow.errors import SettingsError

AUTO = "auto"
ASSUMED = "en"  # for text that is too short, or in no language: as in all earlier versions
UNDETERMINED = "und"  # given by the user: any other language

# Turkish and related languages write the lower case of I as ı, and that of İ as i.
DOTLESS = ("az", "crh", "tr")
# Elided words, which are separate words: l'homme -> l' homme. Elsewhere, as in aujourd'hui, an apostrophe is a letter.
# These lists are part of rule 2 of the tokenizer.
ELISIONS = {
    "ca": "d l m n s t",
    "fr": "c d j jusqu l lorsqu m n puisqu qu quoiqu s t",
    "ga": "b d m",
    "it": "agl all c ch coll d dagl dall degl dell gl l m negl nell pell quell quest s sugl sull t un v",
    "lb": "d",
    "lij": "d l m n s t",
    "oc": "c d j l m n qu s t",
}

_N_PIECES, _PIECE = 48, 300  # characters of each piece
_SHORT, _SHORT_PIECE = 3_000, 100  # shorter text, smaller pieces: a few sentences may be in several languages
_FEW_LETTERS = 60  # a sentence, in bytes; below that the answer is a guess
_SURE = 0.5  # probability of a language in a piece; share of such pieces in the text
_MIXED = 0.1  # a second language with this share of the text is mentioned
# Bytes of a sentence in another language than its piece, its probability, and how many times as likely it must be. In
# monolingual text (English, German, Russian, Japanese), less than .2% of the letters are in such sentences.
_SENTENCE, _OTHERWISE, _MORE_LIKELY = 20, 0.9, 100
_NONE = "zxx"  # no language, by its ISO code
# Compiled on use: looking up a rule of a language needs neither.
_SENTENCES = r"[^\n\t.!?\u0964\u061f\u3002\uff01\uff1f]+"
_LETTERS = r"[^\W\d_]|[\u0300-\u036f\u0900-\u109f\u1780-\u17d3]"


class Language(NamedTuple):
    """A language, and what it determines."""

    code: str
    name: str
    stemmer: str | None  # the Snowball algorithm; None: no words share a stem

    def decides(self) -> str:
        """What the language determines, for messages: 'splitter de, stems german'."""
        stems = f"stems {self.stemmer}" if self.stemmer else "no stems"
        rules = [", dotless ı"] * (self.code in DOTLESS) + [", elisions"] * (self.code in ELISIONS)
        return f"splitter {self.splitter}, {stems}{''.join(rules)}"

    @property
    def splitter(self) -> str:
        """The language passed to sentencex, which falls back on a related one, or English, if it has no rules."""
        return self.code if self.code != UNDETERMINED else ASSUMED

    def __str__(self) -> str:
        return f"{self.name} ({self.code})"


# Names


@cache
def _table() -> tuple[dict[str, Language], dict[str, Language]]:
    """Languages by code, and by each of their names."""
    codes: dict[str, Language] = {}
    names: dict[str, Language] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        code, others, stemmer, called = line.split("|")
        own_names = called.split(", ")
        codes[code] = Language(code, own_names[0], None if stemmer == "-" else stemmer)
        names |= dict.fromkeys((code, *others.split(), *map(_plain, own_names)), codes[code])
    return codes, names


def _plain(name: str) -> str:
    return " ".join(name.replace("_", "-").split()).casefold()


def language(name: str) -> Language:
    """The language that a name or tag stands for: `language("pt-br").name` -> "Portuguese"."""
    found = find_language(name)
    if found is None:
        meant = _alike(str(name))  # then a list of a hundred codes would only hide it
        codes = "such as de" if meant else f": {', '.join(sorted(_table()[0]))} (und is any other language)"
        raise SettingsError(
            f"language is {name!r};{meant} expected auto, a name such as German, or a code{' ' * bool(meant)}{codes}"
        )
    return found


def find_language(name: str) -> Language | None:
    """Like `language`, but None for an unknown name: a file that names one may be older than the table."""
    names, plain = _table()[1], _plain(name) if isinstance(name, str) else ""
    tag = plain.partition("-")[0]  # a script, a country or a variant may follow
    is_tag = re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]{1,8})*(\.utf-?8)?", plain)
    return names.get(plain) or (names.get(tag) if is_tag else None)


def _alike(name: str) -> str:
    from difflib import get_close_matches

    names = _table()[1]
    near = get_close_matches(_plain(name), [each for each in names if len(each) > 3], n=3)
    meant = dict.fromkeys(str(names[each]) for each in near)
    return f" did you mean {' or '.join(meant)}?" if meant else ""


def language_code(name: str) -> str:
    """The code of a language, by any of its names: `language_code("Deutsch")` -> "de"; "auto" stays "auto"."""
    return AUTO if name == AUTO else language(name).code


# Detection


class Detected(NamedTuple):
    """The language of a text, and how it was found."""

    language: Language
    shares: tuple[tuple[Language, float], ...] = ()  # of the sample, the largest first; empty if the user gave it
    doubt: str = ""  # why the language is only assumed

    def message(self, option: str = "--language", *, decides: str | None = None) -> str:
        """One line for the user; "" if the user named the language.

        'language: German (de): splitter de, stems german; --language says otherwise'

        decides  what the language determines here, if not everything
        """
        what = f"{self.language}: {decides or self.language.decides()}"
        if self.doubt:
            return f"language: {self.doubt}, so it is treated as {what}; set it with {option}"
        if not self.shares:
            return ""
        others = [f"{share:.0%} {other}" for other, share in self.shares[1:] if share >= _MIXED][:3]
        if others:
            mixed = " and ".join([f"{self.shares[0][1]:.0%} {self.language}", *others])
            return f"language: mixed, {mixed}; all of it is treated as {what} ({option})"
        return f"language: {what} ({option})"


def detect(samples: Iterable[bytes]) -> Detected:
    """The language of a text, detected in pieces from all over the samples."""
    texts = [sample.decode("utf-8", "replace") for sample in samples]
    pieces = list(_pieces(texts))
    if sum(map(_n_bytes, pieces)) < _FEW_LETTERS:
        return Detected(_table()[0][ASSUMED], doubt="too little text to tell")
    codes, n_letters, n_of = _table()[0], sum(map(_n_letters, pieces)), Counter[str]()
    for piece in pieces:
        n_of.update(_letters_by_language(piece))
    n_unsure = n_of.pop(_NONE, 0)
    ranked = tuple((codes[code], n / n_letters) for code, n in n_of.most_common(4))
    if n_unsure > _SURE * n_letters:
        return Detected(codes[ASSUMED], ranked, doubt="undetermined")
    return Detected(ranked[0][0], ranked)


def _letters_by_language(piece: str) -> Counter[str]:
    """The number of letters of a piece in each language: all in one, except for sentences certainly in another."""
    (code, probability), *_ = _identifier().rank(piece)
    n_of = Counter({code if probability >= _SURE else _NONE: _n_letters(piece)})
    (whole,) = n_of
    for sentence in re.findall(_SENTENCES, piece):
        if _n_bytes(sentence) < _SENTENCE:
            continue
        (own, most), *_ = ranked = _identifier().rank(sentence)
        if own not in (code, _NONE) and most >= max(_OTHERWISE, _MORE_LIKELY * dict(ranked)[code]):
            n_of.update({whole: -_n_letters(sentence), own: _n_letters(sentence)})
    return n_of


def _pieces(texts: Sequence[str]) -> Iterable[str]:
    """Evenly spread pieces of 300 characters (100 of a short text), except those with few letters: numbers, code."""
    n = max(1, _N_PIECES // max(1, len(texts)))
    for text in texts:
        size = _PIECE if len(text) > _SHORT else _SHORT_PIECE
        for start in range(0, len(text), max(size, len(text) // n)):
            piece = text[start : start + size]
            if _n_letters(piece) > 0.3 * len(piece):
                yield piece


def _n_letters(text: str) -> int:
    return len(re.findall(_LETTERS, text))


def _n_bytes(text: str) -> int:
    """Letters, weighted by their bytes: a Korean or Hindi letter says more than a Latin one."""
    return len("".join(re.findall(_LETTERS, text)).encode("utf-8", "replace"))


@cache
def _identifier() -> Any:
    """py3langid, among the languages of the table; it takes half a second to load."""
    import tempfile

    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    with clear_disk_errors(Path(tempfile.gettempdir())):  # it unpacks its model there
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(sorted({*_table()[0], _NONE} & {*identifier.labels}))
    return identifier
