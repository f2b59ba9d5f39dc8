"""Notebook display: a small table in plain HTML, in the colours of the surrounding page; no scripts, no style sheet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_CELL = 'style="text-align:left;vertical-align:top;padding:.1em .8em .1em 0"'


def card(title: str, entries: Mapping[str, object]) -> str:
    """A title over names and values; empty values are left out: `card("Model", {"words": "1,234"})`."""
    rows = ((name, _line(value)) for name, value in entries.items() if value not in (None, "", ()))
    return _table(title, (f"<th {_CELL} scope=row>{escape(a)}</th><td {_CELL}>{escape(b)}</td>" for a, b in rows))


def _line(value: object) -> str:
    return ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def grid(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A title over a table with column headings: `grid("Scores", ["set", "Pearson"], [["2014", ".71"]])`."""
    head = "".join(f"<th {_CELL} scope=col>{escape(name)}</th>" for name in heads)
    body = ("".join(f"<td {_CELL}>{escape(str(cell))}</td>" for cell in row) for row in rows)
    return _table(title, [head, *body])


def _table(title: str, rows: Iterable[str]) -> str:
    caption = f'<caption style="caption-side:top;text-align:left;font-weight:bold">{escape(title)}</caption>'
    return f"<table>{caption}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
