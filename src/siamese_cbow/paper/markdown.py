"""The report as Markdown, for a repository or a chat: the same text, tables as pipes, figures as links."""

from __future__ import annotations

from collections.abc import Iterator

from siamese_cbow.paper.document import Cell, Report, Row, Section, Table

SIGNS = {"holds": "✔ holds", "holds in part": "◐ holds in part", "does not hold": "✘ does not hold"}


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {report.title}\n"
    for text in report.summary:
        yield f"{text}\n"
    if report.claims:
        yield "## What holds in this run, and what does not\n"
        yield "| | claim | here |\n|---|---|---|"
        for claim in report.claims:
            who = "" if claim.by == "paper" else " (ours)"
            yield f"| {SIGNS.get(claim.verdict, claim.verdict)} | {_safe(claim.claim)}{who} | {_safe(claim.here)} |"
        yield ""
    for section in report.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n"
    for text in section.paragraphs:
        yield f"{text}\n"
    for table in section.tables:
        yield f"### {table.title}\n"
        yield f"{table.caption}\n"
        yield table_lines(table) + "\n"
    for figure in section.figures:
        yield f"### {figure.title}\n"
        yield f"{figure.caption}\n"
        yield f"![{figure.title}](figures/{figure.key}.svg)\n"


def table_lines(table: Table) -> str:
    """A table with pipes: `| set | cbow |` and so on."""
    lines = [f"| {' | '.join(map(_safe, table.columns))} |", "|" + "---|" * len(table.columns)]
    return "\n".join([*lines, *(_row(row) for row in table.rows)])


def _row(row: Row) -> str:
    return f"| {' | '.join(_cell(cell, row.kind) for cell in row.cells)} |"


def _cell(cell: Cell, kind: str) -> str:
    text = _safe(cell.text)
    if text and (cell.bold or kind == "head"):
        text = f"**{text}**"
    return f"{text}<br><sub>{_safe(cell.small)}</sub>" if cell.small else text


def _safe(text: str) -> str:
    """Text that can't end a cell or start markup: `a|b*` -> `a\\|b\\*`."""
    for mark in "\\|*_<`":
        text = text.replace(mark, "\\" + mark)
    return text
