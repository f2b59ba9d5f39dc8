"""Folders of ours that describe themselves: config.json tells format, version, and what each file was when saved.

MODEL = FolderFormat("siamese-cbow model", 1, noun="model", expected="a saved model")
MODEL.read_config(folder)      the table in config.json, unless it is of another format or version
MODEL.check_file(path, entry)  an error where a file is missing, cut short, swapped or damaged
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from siamese_cbow.base.disk import UNWRITABLE, file_hash, file_text, sample_hash, what_reads, written_by
from siamese_cbow.errors import FormatError, InputError

CONFIG = "config.json"
ANEW = "copy the folder anew, or save the model again"


class FolderFormat(NamedTuple):
    """What is known of one kind of folder."""

    name: str
    version: int
    noun: str  # whose method `save` writes it
    expected: str  # in place of a folder that is not there
    sampled: bool = True  # files have the hash of a sample, too, which is compared at every loading

    def write_config(self, folder: Path, content: Mapping[str, Any], files: Iterable[str], *, indent: int = 2) -> None:
        """Writes config.json, the last file: it holds size and hash of the others."""
        entries = {name: self.entry(folder / name) for name in files}
        head = {"format": self.name, "format_version": self.version, "written_by": written_by()}
        about = {**head, **content, "files": entries}
        write_json(folder / CONFIG, about, indent=indent)

    def entry(self, path: Path) -> dict[str, Any]:
        """What config.json says of a file."""
        sample = {"sample": sample_hash(path)} if self.sampled else {}
        return {"size": path.stat().st_size, "hash": file_hash(path), **sample}

    def read_config(self, folder: Path) -> dict[str, Any]:
        """The content of config.json."""
        if not folder.is_dir():
            raise InputError(f"no folder {folder}; expected {self.expected}")
        written = f"expected a folder written by `{self.noun}.save`"
        return read_table(folder / CONFIG, self.name, (self.version,), written=written, anew=ANEW)

    def is_in(self, folder: Path) -> bool:
        """Whether a folder is one of these, and this version can read it."""
        try:
            return bool(self.read_config(folder))
        except (FormatError, InputError):
            return False

    def check_file(self, path: Path, expected: Any, *, whole: bool) -> None:
        """Compares a file with what config.json says of it: its size, and the hash of a sample or of the whole."""
        if not path.is_file():
            raise FormatError(f"{path} is missing; {ANEW}")
        if not isinstance(expected, dict):
            raise FormatError(f"{path.parent / CONFIG} says nothing of {path.name}; {ANEW}")
        size = path.stat().st_size
        if size != expected.get("size"):
            expectation = f"expected {expected.get('size')}: cut short or swapped"
            raise FormatError(f"{path} has {size:,} bytes, {expectation}; {ANEW}")
        sample_differs = self.sampled and sample_hash(path) != expected.get("sample")
        if sample_differs or (whole and file_hash(path) != expected.get("hash")):
            raise FormatError(
                f"{path} is not the file that was saved with this {self.noun}: damaged or swapped; {ANEW}"
            )


def write_json(path: Path, content: Any, *, indent: int = 2) -> None:
    """The same bytes on every system."""
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n", "utf-8", UNWRITABLE, newline="\n")


def read_table(
    path: Path, name: str, readable: tuple[int, ...], *, written: str, anew: str, or_else: str = ""
) -> dict[str, Any]:
    """The table in a JSON file of ours; an error that says what to do where it is none of these formats and versions.

    readable  versions, the newest last
    written   what to expect where it is missing, or something else
    anew      how to make it again
    or_else   what else helps where another version has written it
    """
    try:
        table = json.loads(file_text(path))
    except FileNotFoundError:
        raise FormatError(f"{path} is missing; {written}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}); {anew}") from None
    if not isinstance(table, dict) or table.get("format") != name:
        raise FormatError(f"{path} is not the {path.stem} of a {name}; {written}")
    version = table.get("format_version")
    if version not in readable:
        found = f"format version {version!r}, this siamese-cbow reads {' and '.join(map(str, readable))}"
        raise FormatError(f"{path} has {found}; {what_reads(table)}{or_else}")
    return table
