"""What `dedup` removes and what it keeps, on pairs made from real text by known edits.

    python -m benchmarks.dedup TEXT [--lines N] [--write]

TEXT has one sentence or paragraph per line; its sentences of 8 to 40 words are the originals. `duplicates` gets each
original with one edited version and decides whether to remove the second. Edits that change the meaning must be kept: a
different number, number word or name, a negation added or removed, two words swapped. Edits that preserve the meaning
should be removed: case, punctuation and white space, a typo, other function words ("a" for "the", "isn't" for "is
not"). Each edit is applied wherever the sentence allows it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import Texts, load
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.duplicates import duplicates
from siamese_cbow.text.row_reader import iter_lines

Edit = Callable[[str, random.Random], str | None]
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
NAMES = ["Hansen", "Okafor", "Lindqvist", "Petrov", "Tanaka", "Moreau", "Silva",
         "Berlin", "Cairo", "Lagos", "Oslo", "Lima"]  # fmt: skip


def _one(pattern: str, change: Callable[[re.Match[str], random.Random], str]) -> Edit:
    """An edit that changes one random match of the pattern, if there is any."""

    def edit(text: str, rng: random.Random) -> str | None:
        places = list(re.finditer(pattern, text))
        if not places:
            return None
        place = rng.choice(places)
        edited = text[: place.start()] + change(place, rng) + text[place.end() :]
        return edited if edited != text else None

    return edit


def other_digits(place: re.Match[str], rng: random.Random) -> str:
    digits = [i for i, letter in enumerate(place[0]) if letter.isdigit()]
    i = rng.choice(digits)
    return place[0][:i] + rng.choice([d for d in "123456789" if d != place[0][i]]) + place[0][i + 1 :]


def exchanged(text: str, rng: random.Random) -> str | None:
    """Swaps two different longer words; punctuation stays where it is."""
    words = list(re.finditer(r"(?<![\w'-])[a-z]{4,}(?![\w'-])", text))
    pairs = [(a, b) for i, a in enumerate(words) for b in words[i + 1 :] if a[0] != b[0]]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    return text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]


def slip(text: str, rng: random.Random) -> str | None:
    words = list(re.finditer(r"(?<![\w'-])[a-z]{5,}(?![\w'-])", text))
    if not words:
        return None
    word = rng.choice(words)
    i = rng.randrange(1, len(word[0]) - 1)
    letters, letter = word[0], rng.choice("abcdefghijklmnopqrstuvwxyz")
    ways = [letters[:i] + letters[i + 1 :], letters[:i] + letter + letters[i:], letters[:i] + letter + letters[i + 1 :],
            letters[:i] + letters[i + 1] + letters[i] + letters[i + 2 :]]  # fmt: skip
    changed = rng.choice(ways)
    return text[: word.start()] + changed + text[word.end() :] if changed != letters else None


def marks_and_case(text: str, rng: random.Random) -> str:
    ways = [text.upper(), text.lower(), text.rstrip(".") + "!", "  " + text.replace(" ", "  "),
            text.replace(",", ""), f'"{text}"', text.rstrip(".")]  # fmt: skip
    return rng.choice([each for each in ways if each != text])


CHANGED: dict[str, Edit] = {
    "a number changed": _one(r"\d[\d.,]*\d|\d", other_digits),
    "a number word changed": _one(rf"\b({'|'.join(NUMBERS)})\b", lambda m, rng: rng.choice(NUMBERS)),
    "a name changed": _one(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", lambda m, rng: rng.choice(NAMES)),
    "a negation added": _one(
        r"\b(is|was|are|were|has|had|can|will|would|could|did|does)\b", lambda m, rng: f"{m[0]} not"
    ),
    "a negation removed": _one(r" (not|never)\b", lambda m, rng: ""),
    "two words swapped": exchanged,
}
UNCHANGED: dict[str, Edit] = {
    "case, punctuation or white space": marks_and_case,
    "a typo": slip,
    "another article": _one(r"\b(the|a) (?=[a-z])", lambda m, rng: {"the": "a ", "a": "the "}[m[1]]),
    "n't for not": _one(r"\b(is|was|are|were|did|does|could|would|had|has) not\b", lambda m, rng: f"{m[1]}n't"),
}


def originals(path: Path, n: int) -> list[str]:
    sentences: list[str] = []
    for line in iter_lines(path):
        sentences += [s for s in re.split(r"(?<=[.!?]) (?=[A-Z])", line.strip()) if 8 <= len(s.split()) <= 40]
        if len(sentences) >= n:
            break
    return sentences[:n]


def left_out(model: Model, texts: list[str], edit: Edit, most: int) -> tuple[int, int]:
    """How many edited versions are removed, and how many there are."""
    rng, n, n_out = random.Random(1), 0, 0
    for text in texts:
        edited = edit(text, rng)
        if edited is None or n == most:
            continue
        n += 1
        n_out += [row.of is not None for row in duplicates(Texts([text, edited]), model=model)][1]
    return n_out, n


def main() -> None:
    parser = arguments(__doc__, "text")
    parser.add_argument("--lines", type=int, default=6_000, help="originals to try")
    parser.add_argument("--most", type=int, default=1_000, help="most pairs per edit")
    options = parser.parse_args()
    model, texts = load(), originals(options.text, options.lines)
    parts = []
    for title, edits in (("Edits that change the meaning: to be kept", CHANGED),
                         ("Edits that keep the meaning: to be removed", UNCHANGED)):  # fmt: skip
        rows = []
        for name, edit in edits.items():
            n_out, n = left_out(model, texts, edit, options.most)
            rows.append([name, f"{n:,}", f"{n_out:,}", f"{n_out / max(1, n):.1%}"])
            print(*rows[-1], sep=" | ", flush=True)
        total, total_out = (sum(int(row[i].replace(",", "")) for row in rows) for i in (1, 2))
        rows.append(["all", f"{total:,}", f"{total_out:,}", f"{total_out / max(1, total):.1%}"])
        parts.append(f"## {title}\n\n{markdown(['edit', 'pairs', 'removed', 'share'], rows)}")
    report("dedup", "What dedup removes", machine("numpy"), *parts, write=options.write)


if __name__ == "__main__":
    main()
