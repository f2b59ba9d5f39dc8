"""The page: one file with everything inside, for a screen, a phone and paper."""

from __future__ import annotations

import importlib.metadata
from importlib.resources import files

from siamese_cbow.errors import MissingExtra
from siamese_cbow.paper.document import Report
from siamese_cbow.paper.drawing import inline_svg

CHIPS = {"holds": "holds", "holds in part": "in-part", "does not hold": "fails", "can't be told": "unknown"}
PROSE = ("norms", "related", "systems")  # tables of words rather than numbers


def needs_jinja() -> None:
    """Raises an error that says what to type where Jinja is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingExtra("jinja2", "report") from None


def page(report: Report) -> str:
    """The report as HTML."""
    needs_jinja()
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    drawings = {
        figure.key: [Markup(inline_svg(panel, prefix=f"{figure.key}-{i}")) for i, panel in enumerate(figure.panels)]
        for figure in report.figures
    }
    template = (files(__package__) / "page.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        report=report,
        drawings=drawings,
        chips=CHIPS,
        prose=PROSE,
        version=importlib.metadata.version("siamese-cbow"),
        command=report.data.get("command", "siamese-cbow reproduce"),
    )
