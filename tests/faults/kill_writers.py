"""Kills writers of files and folders at each of their operations, and checks what is left: see test_writers.

python kill_writers.py FOLDER        prints the number of kills; an AssertionError says what was lost
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from injection import killed

from siamese_cbow.base import files
from siamese_cbow.base.files import atomic_file, atomic_folder

OURS = ("a.txt", "b.txt", "sub/c.txt")


def write_file(target: Path, content: str) -> None:
    """Writes a single file."""
    with atomic_file(target) as new:
        new.write_text(content)


def write_folder(target: Path, content: str) -> None:
    """Writes a folder with three files."""
    with atomic_folder(target, ours=OURS) as new:
        (new / "sub").mkdir()
        for name in OURS:
            (new / name).write_text(content)


def write_folder_while_somebody_adds(target: Path, content: str) -> None:
    """Writes a folder while a file of somebody else's arrives in the old one."""
    with atomic_folder(target, ours=OURS) as new:
        (new / "sub").mkdir()
        for name in OURS:
            (new / name).write_text(content)
        if target.is_dir():
            with (target / "thesis.txt").open("x") as file:
                file.write("years of work")


def content_of(path: Path) -> dict[str, str]:
    """The contents of a file, or of the files in a folder, by name."""
    if path.is_file():
        return {"": path.read_text()}
    return {file.relative_to(path).as_posix(): file.read_text() for file in path.rglob("*") if file.is_file()}


def without_thesis(content: dict[str, str]) -> dict[str, str]:
    """Only the files that are ours."""
    return {name: text for name, text in content.items() if name != "thesis.txt"}


def check(folder: Path, write: Callable[[Path, str], None], *, can_swap: bool) -> int:
    """Kills a writer at operation 1, 2, 3, ... until it survives; returns how often it was killed."""
    n_kills = 0
    while True:
        place = folder / f"{write.__name__}-{can_swap}-{n_kills}"
        place.mkdir()
        target, foreign = place / "target", place / "foreign.txt"
        foreign.write_text("not ours")
        write(target, "old") if write is not write_folder_while_somebody_adds else write_folder(target, "old")
        old = content_of(target)
        if not killed(lambda target=target: write(target, "new"), n_kills + 1):  # type: ignore[misc]
            return n_kills
        n_kills += 1
        if can_swap:
            assert target.exists(), f"{place}: the old one is gone"
        left = content_of(target) if target.exists() else old
        texts = set(without_thesis(left).values())
        assert without_thesis(left).keys() == old.keys(), f"{place}: {left}"
        assert texts in ({"old"}, {"new"}), f"{place}: half of each: {left}"
        added = list(place.rglob("thesis.txt"))
        plain = write_folder if write is write_folder_while_somebody_adds else write
        if (target / "thesis.txt").exists():
            (target / "thesis.txt").rename(target.with_name("moved"))  # a folder that contains it is refused
        plain(target, "again")
        if (target / "thesis.txt").exists():  # it was among what the killed writer left
            (target / "thesis.txt").rename(target.with_name("moved"))
        plain(target, "again")  # the first writer doesn't touch an only copy
        assert set(without_thesis(content_of(target)).values()) == {"again"}
        assert foreign.read_text() == "not ours"
        hidden = [path.name for path in place.iterdir() if path.name.startswith(".")]
        assert not hidden, f"{place}: leftovers {hidden}"
        if added:
            found = [path for path in place.rglob("*") if path.name in ("thesis.txt", "moved")]
            assert [path.read_text() for path in found] in (["years of work"], [""]), f"{place}: the thesis is lost"


def main() -> None:
    """Runs all writers, with and without a system that can swap names."""
    files.LOCK_SECONDS = -math.inf
    folder = Path(sys.argv[1])
    n_kills = sum(
        check(folder, write, can_swap=True) for write in (write_file, write_folder, write_folder_while_somebody_adds)
    )
    with patch.object(files, "swap", lambda *_: False):
        n_kills += sum(
            check(folder, write, can_swap=False) for write in (write_folder, write_folder_while_somebody_adds)
        )
    sys.stdout.write(f"{n_kills}\n")


if __name__ == "__main__":
    main()
