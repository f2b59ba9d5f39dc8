"""Adds the pages and figures of results/ to the docs site and links to them (a hook of mkdocs, see mkdocs.yml).

    `results/train.md`                 ->   a link to that page
    ![...](../results/compress.svg)    ->   the same figure at its place in the site

In the repository, results/ is next to docs/, outside the folder that mkdocs reads.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHOWN = {".md", ".png", ".svg"}
NAMED = re.compile(r"(?<!\[)`(results/[\w/-]+)(\.md)?`")


def linked(text: str, root: Path = ROOT) -> str:
    """The Markdown of a docs page with its mentions of results/ turned into links."""
    return NAMED.sub(lambda match: _link(match[1], root) or match[0], text).replace("](../results/", "](results/")


def _link(name: str, root: Path) -> str | None:
    for page, label in ((f"{name}.md", f"{name}.md"), (f"{name}/report.md", name)):
        if (root / page).is_file():
            return f"[`{label}`]({page})"
    return None


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs once it has found the pages of docs/."""
    from mkdocs.structure.files import File

    for path in sorted((ROOT / "results").rglob("*")):
        if path.suffix in SHOWN:
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page."""
    return markdown if page.file.src_uri.startswith("results/") else linked(markdown)
