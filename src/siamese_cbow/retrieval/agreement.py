"""Decides whether two texts with similar vectors say the same thing, by checking what a mean of words can't see.

    "The dog bit the man", "The man bit the dog"                        no: different order
    "User jdoe11 logged in", "User kdoe77 logged in"                    no: different code
    "He did come", "He did not come"; "a happy man", "an unhappy man"   no: a negation
    "Anna left at 5", "Emma left at 5"                                  no: different name
    "The cat sat on the mat", "the cat sat on teh mat!"                 yes: case, punctuation, a typo

Shared words must be in the same order. Words that only one text has must not be numbers, codes, negations, names
(capitalised within a sentence) or unknown words. But a word that is unknown, or a hundred times rarer, and differs by
one letter (or two swapped ones) from the word in its place counts as a typo, unless it is a name, a number word or a
negation, or has an additional first letter ("moral", "amoral").

Limits: names are recognised by their capitals, so not in scripts without capitals, and in German all capitalised nouns
must agree. Negations and number words are known in the languages of `negations.txt`. Other words may differ if the
vectors are close enough: "the cat slept" and "the kitten slept" may count as the same, and so may opposites with
similar vectors ("left", "right"). Texts whose first and last difference are more than 2,000 words apart count as
different, because the time to compare them grows with the square of that distance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from siamese_cbow.model.model import Model

_TOKEN = re.compile(r"(?:[-+−]?\d[\w.,:/%-]*\w%?|[-+−]?\d%?|[^\W_]+(?:['’][^\W_]+)*|[$€£¥₹%‰°<>=±])", re.UNICODE)
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*\s*$|^[\s\"'“‘(\[*•–-]*$")
FREQUENT = 2_000  # the most frequent words, which are not taken for names at the start of a sentence
IRREGULAR = {"can't": "can", "won't": "will", "shan't": "shall"}
LOOK_BACK = 40  # letters searched for the end of the previous sentence; a whole text would take quadratic time
RARER = 100  # how many times rarer a known word must be to count as a typo
FARTHEST = 2_000  # words from the first difference to the last: 40,000 words took minutes
PREFIX, COMMON_END = 3, 4  # letters: un-happy, in-crease and de-crease


class Word(NamedTuple):
    """A word of a text, folded, and whether its spelling marks it as a name, number or code."""

    folded: str
    is_name: bool
    is_code: bool


@cache
def function_words() -> frozenset[str]:
    """Negations and number words of several languages, folded."""
    lines = Path(__file__).with_name("negations.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if line and line[0] != "#" for word in line.partition(":")[2].split())


class Agreement:
    """Compares texts for one model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def words(self, text: str) -> tuple[Word, ...]:
        """The words of a text, each marked as a name, a code or neither. A text in all capitals has no names."""
        shouts = text.isupper()
        return tuple(self._words(text, shouts))

    def _words(self, text: str, shouts: bool) -> Iterator[Word]:
        for match in _TOKEN.finditer(text):
            written = match[0]
            folded = written.casefold().replace("’", "'").replace("−", "-")
            if folded.endswith("n't"):  # isn't is "is not"
                yield from (Word(part, False, False) for part in (IRREGULAR.get(folded, folded[:-3]), "not"))
                continue
            is_code = any(map(str.isdigit, written)) or not written[0].isalnum()
            is_name = not shouts and not is_code and written[0].isupper()
            if is_name and len(written) == 1 and folded in ("i", "a"):
                is_name = False
            if is_name and _SENTENCE_END.search(_before(text, match.start())):
                is_name = not self._is_frequent(folded)
            yield Word(folded, is_name, is_code)

    def differ_by_slips(self, a: Sequence[Word], b: Sequence[Word]) -> bool:
        """Whether two texts have the same words up to typos; if so, their vectors need not be compared."""
        if len(a) != len(b):
            return False
        slips = [(x, y) for x, y in zip(a, b, strict=True) if x.folded != y.folded]
        return len(slips) <= 1 + len(a) // 10 and all(self._is_slip(x, y) for x, y in slips)

    def agree(self, a: Sequence[Word], b: Sequence[Word]) -> bool:
        """Whether two texts say the same thing, as far as can be decided without their vectors."""
        if max(len(a), len(b)) > FARTHEST:
            a, b = _between_differences(a, b)
            if max(len(a), len(b)) > FARTHEST:
                return False
        ours, theirs = [word.folded for word in a], [word.folded for word in b]
        if ours == theirs:
            return True
        only_a, only_b = list[Word](), list[Word]()
        for kind, i, j, k, n in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
            if kind == "equal":
                continue
            left, right = list(a[i:j]), list(b[k:n])
            if len(left) == len(right):  # word by word; typos count as the same word
                pairs = [(x, y) for x, y in zip(left, right, strict=True) if not self._is_slip(x, y)]
                left, right = [x for x, _ in pairs], [y for _, y in pairs]
            only_a += left
            only_b += right
        if {word.folded for word in only_a} & {word.folded for word in only_b}:
            return False  # the same words in another order
        if any(self._must_agree(word) for word in (*only_a, *only_b)):
            return False
        return not any(_is_opposite(x.folded, y.folded) for x in only_a for y in only_b)

    def _must_agree(self, word: Word) -> bool:
        if word.is_code or word.is_name or is_negation_or_number(word.folded):
            return True
        return any(part not in self._model.vocabulary for part in self._model.tokenizer.words(word.folded))

    def _is_frequent(self, folded: str) -> bool:
        place = self._model.vocabulary.id_of(folded)
        return place is not None and place < FREQUENT

    def _is_slip(self, x: Word, y: Word) -> bool:
        """Whether one is the other with a typo: one letter off, and unknown or far rarer, as common typos are."""
        if x.is_code or y.is_code or x.is_name or y.is_name or min(len(x.folded), len(y.folded)) < 3:
            return False
        if (
            is_negation_or_number(x.folded)
            or is_negation_or_number(y.folded)
            or not one_letter_apart(x.folded, y.folded)
        ):
            return False
        rare, frequent = sorted((self._count(x.folded), self._count(y.folded)))
        if not rare:  # not a word, so not an opposite, unless it is the other with a prefix: moral, amoral
            return frequent > 0 and x.folded != y.folded[1:] and y.folded != x.folded[1:]
        return frequent > RARER * rare and not _is_opposite(x.folded, y.folded)

    def _count(self, folded: str) -> float:
        """How often the model has seen a word: 0 for an unknown one, 1 if it has no counts."""
        place = self._model.vocabulary.id_of(folded)
        return 0.0 if place is None else max(1.0, float(self._model.vocabulary.counts[place]))


def _between_differences(a: Sequence[Word], b: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """Two texts without their common beginning and their common end: "a b c d", "a x c c d" -> "b", "x c"."""
    start = _n_alike(a, b)
    end = _n_alike(a[start:][::-1], b[start:][::-1])
    return a[start : len(a) - end], b[start : len(b) - end]


def _n_alike(a: Sequence[Word], b: Sequence[Word]) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x.folded != y.folded), min(len(a), len(b)))


def _before(text: str, start: int) -> str:
    """The last letters before a position, preceded by a filler letter unless they start the text."""
    return text[:start] if start <= LOOK_BACK else f"x{text[start - LOOK_BACK : start]}"


def is_negation_or_number(folded: str) -> bool:
    """Whether a word negates a sentence or is a number: not, nie, three."""
    return folded in function_words()


def one_letter_apart(a: str, b: str) -> bool:
    """Whether one letter is added, missing or replaced, or two neighbours are swapped: "teh" and "the"."""
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if len(a) == len(b):
        exchanged = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
        return a[start + 1 :] == b[start + 1 :] or exchanged
    return a[start + 1 :] == b[start:] if len(a) > len(b) else a[start:] == b[start + 1 :]


def _is_opposite(a: str, b: str) -> bool:
    """Whether two words differ in their prefix (happy, unhappy; increase, decrease) or as -ful and -less do."""
    if {a[-3:], b[-3:]} & {"ful"} and {a[-4:], b[-4:]} & {"less"}:
        return a[:-4][:4] == b[:-4][:4]
    n = 0
    while n < min(len(a), len(b)) and a[-1 - n] == b[-1 - n]:
        n += 1
    return n >= COMMON_END and n < max(len(a), len(b)) and max(len(a), len(b)) - n <= PREFIX
