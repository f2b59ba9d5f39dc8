"""Cells of a table as documents, and what to say when a column is missing or holds no text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.records import MARK
from siamese_cbow.text.rows import cell_bytes, lines_bytes

_TEXT_TYPES = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


def missing_column(path: Path, column: str, columns: Sequence[str]) -> InputError:
    """The error to raise: names the columns there are."""
    there = ", ".join(repr(name[:40]) for name in columns[:20]) or "none"
    return InputError(f"{path} has no column {column!r}; it has {there}: choose one with --text-column")


def not_text(path: Path, column: str, what: str) -> InputError:
    """The error to raise when a column holds `what`, such as "int64"."""
    return InputError(
        f"column {column!r} of {path} holds {what}; expected text or lists of strings: choose with --text-column"
    )


def documents_of(values: Any, kind: Any, path: Path, column: str) -> Iterator[bytes]:
    """The documents of an Arrow array of type `kind`; nulls and empty cells are none."""
    import pyarrow as pa

    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        if not (test.is_string(kind.value_type) or test.is_large_string(kind.value_type)):
            raise not_text(path, column, str(kind))
        for lines in values.to_pylist():
            if lines:
                yield lines_bytes(line for line in lines if line is not None) + MARK
    elif str(kind) in _TEXT_TYPES:
        # As bytes: broken UTF-8 is replaced and counted later instead of ending the run here.
        for cell in values.cast(kind).cast(pa.large_binary()).to_pylist():
            if cell:
                yield cell_bytes(cell)
    elif not test.is_null(kind):
        raise not_text(path, column, str(kind))
