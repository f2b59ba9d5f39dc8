"""What to do with unknown words: skip them, or give them the vector of something known.

    python -m benchmarks.unknown_words MODEL --sts DIR [--write]
    python -m benchmarks.unknown_words MODEL --text FILE [--write]

The vocabulary of MODEL is cut to its most frequent words, or kept whole, and the words of the STS sets that it then
lacks get a vector in one of several ways. Chosen on STS 2012-2013.

With --text, the script measures what unknown words cost: FILE (plain or compressed) is encoded with the whole
vocabulary and with one cut so that a fifth of the running words is unknown; the worst case makes every unknown word a
different one. CPU time of one thread, alternating, the shortest of several rounds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.scoring import scores
from benchmarks.tables import arguments, best_of, machine, markdown, write_section
from siamese_cbow import Model, Vocabulary, load, sts
from siamese_cbow.evaluation.systems import words_of
from siamese_cbow.text.row_reader import iter_lines

SIZES = (20_000, 60_000, 140_000)
N_TEXTS, LENGTH, UNKNOWN_SHARE, ROUNDS = 30_000, 20, 0.2, 9  # texts, words per text, ..., timing rounds
COST = "What they cost"  # the section of the page that --text writes
NGRAMS = "**n-gram vectors and a direction of its own (`ngrams`, default)**"
Guess = Callable[[Model, Sequence[str]], dict[str, np.ndarray]]  # vectors for unknown words


def near_words(k: int, in_common: int, left_over: int = 4) -> Guess:
    """The mean of the k most frequent words that share the longest prefix."""

    def guess(model: Model, unknown: Sequence[str]) -> dict[str, np.ndarray]:
        beginnings: dict[str, list[int]] = {}
        for i, word in enumerate(model.vocabulary.words):
            for length in range(max(in_common, len(word) - left_over), len(word) + 1):
                beginnings.setdefault(word[:length], []).append(i)
        guesses = {}
        for word in unknown:
            for length in range(len(word), max(in_common, len(word) - left_over) - 1, -1):
                if word[:length] in beginnings:
                    guesses[word] = model.vectors[beginnings[word[:length]][:k]].mean(axis=0)
                    break
        return guesses

    return guess


def two_words(model: Model, unknown: Sequence[str]) -> dict[str, np.ndarray]:
    """snowboard -> the mean of snow and board; of all splits, the one whose rarer word is the most frequent."""
    index, guesses = model.vocabulary.index, {}
    for word in unknown:
        cuts = [(index.get(word[:i], -1), index.get(word[i:], -1)) for i in range(3, len(word) - 2)]
        cuts = [cut for cut in cuts if min(cut) >= 0]
        if cuts:
            guesses[word] = model.vectors[list(min(cuts, key=max))].mean(axis=0)
    return guesses


def regression(model: Model, unknown: Sequence[str]) -> dict[str, np.ndarray]:
    """Ridge regression from the character 3- to 6-grams of a word to its vector, fitted on the known words."""
    from scipy import sparse

    def grams(word: str) -> set[str]:
        return {f"<{word}>"[i : i + n] for n in range(3, 7) for i in range(len(word) + 3 - n)}

    counts = Counter(gram for word in model.vocabulary.words for gram in grams(word))
    column = {gram: i for i, gram in enumerate(gram for gram, n in counts.items() if n >= 3)}

    def matrix(words: Sequence[str]) -> sparse.csr_matrix:
        listed = [[column[gram] for gram in sorted(grams(word)) if gram in column] for word in words]
        starts = np.cumsum([0, *map(len, listed)])
        values = np.repeat([1 / max(1, len(one)) ** 0.5 for one in listed], np.diff(starts)).astype(np.float32)
        return sparse.csr_matrix((values, np.concatenate(listed).astype(int), starts), (len(words), len(column)))

    known = matrix(model.vocabulary.words)
    solved = np.zeros((len(column), model.dim), np.float32)
    rest = known.T @ model.vectors
    step, size = rest.copy(), (rest * rest).sum(axis=0)
    for _ in range(30):  # conjugate gradients, all dimensions at once
        moved = known.T @ (known @ step) + step
        far = size / np.maximum((step * moved).sum(axis=0), 1e-12)
        solved, rest = solved + far * step, rest - far * moved
        size, before = (rest * rest).sum(axis=0), size
        step = rest + size / np.maximum(before, 1e-12) * step
    return dict(zip(unknown, matrix(unknown) @ solved, strict=True))


WAYS: dict[str, Guess] = {
    "skipped": lambda model, unknown: {},
    "the known word with the longest shared prefix, 3 letters or more (`prefix`)": near_words(1, 3),
    "the same, 4 letters or more": near_words(1, 4),
    "the same, 5 letters or more": near_words(1, 5),
    "the mean of five such words, 4 letters or more": near_words(5, 4),
    "two known words that make up the unknown one": two_words,
    "ridge regression from character 3- to 6-grams": regression,
}


def extended(model: Model, guess: Guess, words: Sequence[str]) -> tuple[Model, int]:
    """The model with guessed vectors for those of the words that it lacks, and how many there are."""
    guesses = guess(model, [word for word in words if word not in model.vocabulary])
    listed, rows = [*model.vocabulary.words, *guesses], [np.asarray(model.vectors)]
    rows += [np.array(list(guesses.values()), np.float32)] if guesses else []
    return Model(Vocabulary.of_words(listed), np.concatenate(rows), model.tokenizer), len(guesses)


def fitted(model: Model) -> Model:
    """The model with n-gram vectors fitted to its rows; its own may reflect rows that were cut off."""
    info = replace(model.info, unknown_words="ngrams")
    return Model(model.vocabulary, model.rows, model.tokenizer, info, undo=model.undo)


def texts_of(path: Path) -> list[list[str]]:
    """The first words of a file, in texts of LENGTH words."""
    lines = map(str.split, iter_lines(path))
    return list(islice((words[i : i + LENGTH] for words in lines for i in range(0, len(words), LENGTH)), N_TEXTS))


def cut_to_unknown(model: Model, texts: Sequence[str]) -> tuple[Model, float]:
    """The model cut so that UNKNOWN_SHARE of the running words is unknown, and the share that really is."""
    counts = Counter(word for text in texts for word in model.tokenizer.words(text))
    known = np.cumsum([counts[word] for word in model.vocabulary.words]) / counts.total()
    size = int(np.searchsorted(known, 1 - UNKNOWN_SHARE)) + 1
    return model.compress(words=size), 1 - float(known[min(size, len(known)) - 1])


def every_fifth_word_new(model: Model, texts: Sequence[list[str]]) -> list[str]:
    """The texts with every fifth word replaced by a unique one of eight letters, a usual length for words."""
    rng, every = np.random.default_rng(1), round(1 / UNKNOWN_SHARE)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    known = [[word for word in words if word.lower() in model.vocabulary] or ["the"] for words in texts]
    new = iter("".join(row) for row in letters[rng.integers(0, 26, (sum(map(len, known)), 8))])
    return [" ".join(next(new) if i % every == 0 else word for i, word in enumerate(words)) for words in known]


def ratio(first: Callable[[], object], second: Callable[[], object]) -> float:
    """CPU time of the first divided by that of the second."""
    turns = [[best_of(1, work, time.process_time) for work in (first, second)] for _ in range(ROUNDS)]
    return min(seconds for seconds, _ in turns) / min(seconds for _, seconds in turns)


def speed(whole: Model, path: Path, write: bool) -> None:
    """How fast text with unknown words is encoded, compared with text without them."""
    listed = texts_of(path)
    real = [" ".join(word for word in words if word.lower() in whole.vocabulary) for words in listed]
    cut, share = cut_to_unknown(whole, real)
    new = every_fifth_word_new(whole, listed)
    for model, texts in ((whole, real), (cut, real), (whole, new)):
        model.encode(texts)  # loads the kernels and makes the tables
    figures = {
        f"{path.name}, known words; vocabulary reduced to {len(cut.vocabulary):,} of them, {share:.0%} unknown": ratio(
            lambda: whole.encode(real, threads=1), lambda: cut.encode(real, threads=1)
        ),
        "the same; every fifth word replaced by one that occurs nowhere else": ratio(
            lambda: whole.encode(real, threads=1), lambda: whole.encode(new, threads=1)
        ),
    }
    section = (
        f"`{whole!r}`, {len(real):,} texts of {LENGTH} words. Speed with unknown words divided by the speed "
        "without: CPU time, one thread, alternating (`--text`).\n\n"
        f"{markdown(['text', 'speed'], [[name, f'{figure:.2f}'] for name, figure in figures.items()])}\n\n"
        f"{machine('numpy', 'numba')}\n"
    )
    print(section)
    if write:
        write_section("unknown_words", COST, section)


def main() -> None:
    parser = arguments(__doc__, "model")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--sts", type=Path)
    task.add_argument("--text", type=Path)
    options = parser.parse_args()
    if options.text:
        speed(load(options.model), options.text, options.write)
        return
    whole, sets = load(options.model), sts(options.sts)
    tests = sorted({word for word in words_of(sets) if word == word.lower()} - {""})
    rows = []
    for size in [*(n for n in SIZES if n < len(whole.vocabulary)), len(whole.vocabulary)]:
        model = whole.compress(words=size)
        lacking = sum(word not in model.vocabulary for word in tests)
        for name, guess in WAYS.items():
            if guess is regression and size > SIZES[0]:
                continue  # takes minutes, and doesn't win even at the smallest size
            changed, n = extended(model, guess, tests)
            rows.append([f"{size:,}", name, f"{n:,} of {lacking:,}", *(f"{x:.4f}" for x in scores(changed, sets))])
        check = scores(model.with_fallback("prefix"), sets)
        rows.append([f"{size:,}", '`with_fallback("prefix")`, as a check', "", *(f"{x:.4f}" for x in check)])
        rows.append(
            [f"{size:,}", NGRAMS, f"{lacking:,} of {lacking:,}", *(f"{x:.4f}" for x in scores(fitted(model), sets))]
        )
    text = (
        f"`{whole!r}`, with a truncated vocabulary; mean Pearson over {len(sets)} STS sets, official protocol.\n\n"
        f"{markdown(['words', 'unknown words', 'get a vector', '2012-13', '2014-15', 'all'], rows)}\n\n"
        f"{machine('numpy')}"
    )
    print(text)
    if options.write:
        write_section("unknown_words", "Quality", f"{text}\n\nMade by `python -m benchmarks.unknown_words --sts`.")


if __name__ == "__main__":
    main()
