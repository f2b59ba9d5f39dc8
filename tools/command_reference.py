"""Writes `docs/commands.md`, the help of every command; `tests/cli/test_commands.py` fails when it is out of date.

python tools/command_reference.py
"""

from __future__ import annotations

from pathlib import Path

import click

from siamese_cbow.cli import COMMANDS, group

TARGET = Path(__file__).parents[1] / "docs" / "commands.md"


def reference() -> str:
    """The page, 100 columns wide on any terminal."""
    parts = ["# Commands\n\nWhat `--help` says, written by `tools/command_reference.py`.\n"]
    parent = group.make_context("siamese-cbow", [next(iter(COMMANDS))])
    for name in COMMANDS:
        command = group.get_command(parent, name)
        if command is None:
            raise LookupError(name)
        context = click.Context(command, parent, name, terminal_width=100, max_content_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
