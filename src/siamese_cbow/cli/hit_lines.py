"""Hits as lines: the cosine, then what grep would print; colours, and the words that speak for a hit."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from siamese_cbow.base.arrays import Vectors
    from siamese_cbow.model.model import Model
    from siamese_cbow.retrieval.search import Hit

LONGEST = 2_000  # characters of a line on a terminal


def json_line(hit: Hit) -> str:
    """{"score": 0.71, "source": "notes.txt", "line": 12, "text": "my cat sat", "before": [], "after": []}"""
    context = {name: [line._asdict() for line in getattr(hit, name)] for name in ("before", "after")}
    return json.dumps({**asdict(hit), **context, "score": round(hit.score, 6)}, ensure_ascii=False)


@dataclass
class HitLines:
    """How hits are shown. `color` is auto, always or never."""

    model: Model
    query: str
    color: str
    with_file: bool
    with_line: bool
    context: bool

    @cached_property
    def coloured(self) -> bool:
        """Whether colours are wanted: on a terminal, unless NO_COLOR is set (no-color.org)."""
        if self.color == "auto":
            return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        return self.color == "always"

    def of(self, hit: Hit, *, first: bool) -> Iterator[str]:
        r"""The lines of a hit: "0.7100\tnotes.txt:12:my cat sat"; rows around it have dashes for colons, as in grep."""
        if self.context and not first:
            yield self._style("--", fg="cyan")
        for number, text in hit.before:
            yield f"\t{self._place(hit.source, number, '-')}{self._cut(text)}"
        text = self._marked(self._cut(hit.text)) if self.coloured else self._cut(hit.text)
        yield f"{self._style(f'{hit.score:.4f}', fg='yellow')}\t{self._place(hit.source, hit.line, ':')}{text}"
        for number, text in hit.after:
            yield f"\t{self._place(hit.source, number, '-')}{self._cut(text)}"

    def _place(self, source: str, line: int, mark: str) -> str:
        file = self._style(source, fg="magenta") + self._style(mark, fg="cyan") if self.with_file else ""
        return file + (self._style(str(line), fg="green") + self._style(mark, fg="cyan") if self.with_line else "")

    def _cut(self, text: str) -> str:
        return text if len(text) <= LONGEST or not sys.stdout.isatty() else f"{text[:LONGEST]}…"

    def _style(self, text: str, *, fg: str) -> str:
        return click.style(text, fg=fg) if self.coloured else text

    @cached_property
    def _vector(self) -> Vectors:
        return self.model.encode(self.query, normalize_embeddings=True)

    def _marked(self, text: str) -> str:
        """The words that speak most for the hit, those with half the weight of the strongest or more, in bold red."""
        counted = {word: self.model.counts_as(word) for word in self.model.tokenizer.words(text)}
        weights = {word: float(self.model.vector(known) @ self._vector) for word, known in counted.items() if known}
        strongest = max(weights.values(), default=0.0)
        strong = [word for word, weight in weights.items() if weight >= 0.5 * strongest > 0]
        if not strong:
            return text
        spelled = "|".join(re.escape(word) for word in sorted(strong, key=len, reverse=True))
        whole = re.compile(rf"(?<!\w)(?:{spelled})(?!\w)", re.IGNORECASE)
        return whole.sub(lambda match: click.style(match[0], fg="red", bold=True), text)
