r"""Running text -> a sentence a row, and the line that each sentence stands on.

"It rains. We stay.\n\nYes.\n"          ->   rows "It rains." (line 0), "We stay." (0), "Yes." (2)
wrapped: "It\nrains. We\nstay.\n\n..."   ->   rows "It rains." (line 0), "We stay." (1)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.text.lines import normal_line_ends
from siamese_cbow.text.sentences import split_lines


def sentence_rows(text: bytes, language: str, *, wrapped: bool) -> tuple[bytes, NDArray[np.int64]]:
    """The sentences, a line each, and for each the line of `text` where it begins, counted from 0."""
    lines = normal_line_ends(text).removesuffix(b"\n").split(b"\n")
    groups = _paragraphs(lines) if wrapped else [(i, [line]) for i, line in enumerate(lines) if line.strip()]
    joined = b"".join(b" ".join(group) + b"\n" for _, group in groups)
    split, n_cuts = split_lines(joined, language, end="\n\n")
    paragraphs = split.removesuffix(b"\n\n").split(b"\n\n") if groups else []
    if n_cuts or len(paragraphs) != len(groups):  # an endless paragraph was cut: then one by one
        paragraphs = [split_lines(b" ".join(group) + b"\n", language)[0].strip(b"\n") for _, group in groups]
    rows: list[bytes] = []
    numbers: list[int] = []
    for (first, group), paragraph in zip(groups, paragraphs, strict=True):
        sentences = [sentence for sentence in paragraph.split(b"\n") if sentence.strip()]
        rows += sentences
        numbers += [first] * len(sentences) if len(group) == 1 else _line_of_each(sentences, first, group)
    return b"".join(row.strip() + b"\n" for row in rows), np.array(numbers, np.int64)


def _paragraphs(lines: list[bytes]) -> list[tuple[int, list[bytes]]]:
    """Runs of lines that aren't empty, each with the number of its first line."""
    groups: list[tuple[int, list[bytes]]] = []
    is_open = False
    for i, line in enumerate(lines):
        if not line.strip():
            is_open = False
        elif is_open:
            groups[-1][1].append(line)
        else:
            groups.append((i, [line]))
            is_open = True
    return groups


def _line_of_each(sentences: list[bytes], first: int, lines: list[bytes]) -> list[int]:
    """Lines are found by counting what is no white space: the splitter may change that, but nothing else."""
    ends = np.cumsum([_n_solid(line) for line in lines])
    begins = np.cumsum([0, *map(_n_solid, sentences[:-1])])
    places = np.minimum(np.searchsorted(ends, begins, side="right"), len(lines) - 1)
    return [first + int(place) for place in places]


def _n_solid(text: bytes) -> int:
    return len("".join(text.decode("utf-8", "replace").split()))
