"""What may be written where: which files are ours, what a link leads to, what can't be replaced but written to.

A folder is replaced only where everything in it is of a kind that its writer writes. The writer names its files by
patterns, and this module alone decides.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from siamese_cbow.base.disk import clear_disk_errors
from siamese_cbow.errors import InputError


def check_replaceable(path: Path, ours: Collection[str], what: str = "this") -> None:
    """Raises an error unless `path` is free for a folder: nothing stands there, or nothing but files that we write.

    ours  patterns of paths in the folder, as `fnmatch` knows them: "ids.npy", "training/checkpoint-*/*.npy"
    what  is to be written, for messages: "a model"
    """
    with clear_disk_errors(path):
        target = followed(path)
        if not os.path.lexists(target):
            return
        if not target.is_dir():
            raise InputError(f"{path} is a file; {what} is a folder: choose another name")
        strange = strangers(target, ours)
    if strange:
        more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
        raise InputError(
            f"{path} has files that are not part of {what} ({', '.join(strange[:3])}{more}) and would be deleted; "
            "choose another folder, or move them away"
        )
    if Path.cwd().is_relative_to(target):
        raise InputError(f"{path} is the folder you are in, which can't be replaced; choose another")


def strangers(folder: Path, ours: Collection[str]) -> list[str]:
    """What a folder holds that matches none of our patterns: `strangers(stream, ["*.npy"])` -> ["thesis.txt"].

    A link to a folder and an empty folder count, too; the latter is ours where a pattern leads into it.
    """
    parents = {str(parent) for pattern in ours for parent in PurePosixPath(pattern).parents}
    found: list[str] = []

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        inside = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        names = [(inside / name).as_posix() for name in (*files, *links)]
        found += [name for name in names if not _matches(name, ours)]
        if place != str(folder) and not (folders or files) and not _matches(inside.as_posix(), parents):
            found.append(inside.as_posix())
    return sorted(found)


def remove_ours(folder: Path, ours: Collection[str]) -> list[str]:
    """Deletes a folder with all in it that matches our patterns; returns what is left, as `strangers` does."""
    left = strangers(folder, ours) if folder.is_dir() else []
    kept = {folder / name for name in left} | {parent for name in left for parent in (folder / name).parents}
    for place, folders, files in os.walk(folder, topdown=False):
        for path in (Path(place) / name for name in (*files, *folders)):
            if path not in kept:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    if not left and folder.is_dir():
        folder.rmdir()
    return left


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) and name.count("/") == pattern.count("/") for pattern in patterns)


def followed(path: Path) -> Path:
    """What a link leads to, whether that is there or not; `.` and `..` have no name to rename, so they are resolved.

    A path that begins with ~ is refused: nobody means a folder of that name, and `rm -r ~` would delete another one.
    """
    if path.parts[:1] == ("~",):
        raise InputError(f"{path} begins with ~, which only a shell expands; write {path.expanduser()}")
    return Path(os.path.realpath(path)) if path.is_symlink() or path.name in ("", "..") else path


def is_special(path: Path) -> bool:
    """Whether a file can't be replaced but written to: a pipe, a character device, our own output by another name."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder; expected the name of a file")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        raise InputError(f"{path} is a disk or a socket; expected the name of a file")
    return not stat.S_ISREG(status.st_mode) or standard_stream(path) is not None


def standard_stream(path: Path) -> int | None:
    """1 or 2 where `path` is what standard output or standard error goes to: /dev/stdout, /proc/self/fd/2."""
    for number in (1, 2):
        with suppress(OSError):
            if path.is_symlink() and os.path.samestat(path.stat(), os.fstat(number)):
                return number
    return None
