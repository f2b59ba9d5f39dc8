"""Turns the parameters in docstrings into lists for the page of the Python API (a griffe extension, see mkdocs.yml).

    sentences   a string, or many            - **sentences**: a string, or many
    threads     number of threads;     ->    - **threads**: number of threads; all cores by default
                all cores by default

In the source they are in two columns, which Markdown would join into one paragraph. Examples with >>>, which Markdown
would read as quotations, become code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

try:
    from griffe import Extension
except ImportError:  # installed only where the docs are built
    Extension = object  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from griffe import Object

ENTRY = re.compile(r"(?P<name>`?[*\w][\w, .`*]{0,40}?) {2,}(?P<text>\S.*)")


def listed(text: str) -> str:
    """A docstring with its columns as a list and its examples as code."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n[ ]*\n", text))


def _paragraph(part: str) -> str:
    lines = part.split("\n")
    if lines[0].startswith(">>> "):
        return f"```pycon\n{part}\n```"
    if not ENTRY.fullmatch(lines[0]) or not all(ENTRY.fullmatch(line) or line.startswith("  ") for line in lines):
        return part
    entries: list[str] = []
    for line in lines:
        if entry := ENTRY.fullmatch(line):
            entries.append(f"- **{entry['name'].strip()}**: {entry['text']}")
        else:
            entries[-1] += f" {line.strip()}"
    return "\n".join(entries)


class Parameters(Extension):
    """Called by griffe for each object that it has loaded."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrites the docstring."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
