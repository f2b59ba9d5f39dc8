"""Writing so that nothing is lost: a file or folder is either the old one or the new one, never half of each.

Write to a temporary neighbour, fsync, rename, fsync the folder. The rename is atomic on one file system, and the
two fsyncs make it hold across a power cut.

A folder is replaced only where everything in it is ours, as `targets` decides. What somebody else has put there stops
the writer before any work; what arrives during the work moves to the new folder. Links are followed; a pipe or a device
such as /dev/null is written to, never replaced.

Two writers of one target race, and the last one wins whole; `one_writer` is for work that two can't share.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from siamese_cbow.base.disk import (
    check_replaceable,
    clear_disk_errors,
    followed,
    is_special,
    remove_ours,
    standard_stream,
    strangers,
    swap,
    sync,
    take_lock,
)
from siamese_cbow.errors import InputError

LOCK_SECONDS = 60  # far longer than it takes from making a temporary folder to locking it
NEW, OLD = "new", "old"  # in the temporary neighbour of a folder: what is being written, and what it has replaced


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` when the block ends well and vanishes when it doesn't.

    A pipe or a character device is written to when the block ends well.
    """
    with clear_disk_errors(path):
        special = is_special(path)
    if special:
        with _written_through(path) as written:
            yield written
        return
    target = followed(path)
    with _temporary_neighbour(path, target, ()) as folder:
        written = folder / target.name
        yield written
        with clear_disk_errors(path):
            sync(written)
            written.replace(target)
            sync(target.parent)


@contextmanager
def atomic_folder(path: Path, *, ours: Collection[str] = (), what: str = "this") -> Iterator[Path]:
    """A folder to fill, which replaces `path` when the block ends well and vanishes when it doesn't.

    An old folder at `path` may hold nothing but what `check_replaceable` allows. It trades places with the new one in
    one step where the system can do that; elsewhere it is moved aside between two renames. What killed
    processes have left behind is deleted first.
    """
    check_replaceable(path, ours, what)
    target = followed(path)
    with _temporary_neighbour(path, target, ours) as folder:
        written = folder / NEW
        written.mkdir()
        yield written
        with clear_disk_errors(path):
            for file in written.rglob("*"):
                sync(file)
            sync(written)
            _put_in_place(folder, target)
            sync(target.parent)
            _retire(folder / OLD, target, ours)


@contextmanager
def one_writer(path: Path) -> Iterator[bool]:
    """Holds the right to write to `path`; another process that asks for it meanwhile gets an error that says so.

    The lock is a hidden file beside `path`. False where the system or the disk has no locks: nobody is kept out then.
    """
    target = followed(path)
    file = target.with_name(f".{target.name}.lock")
    with clear_disk_errors(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, is_locked = _locked(file, path)
    try:
        yield is_locked
    finally:
        with suppress(OSError):
            file.unlink()  # before the lock ends: whoever opened the file by now finds that it is gone
        os.close(handle)


def _locked(file: Path, path: Path) -> tuple[int, bool]:
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        lock = take_lock(handle)
        if lock is False:
            os.close(handle)
            raise InputError(f"another process is writing {path}; wait until it finishes, or choose another output")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), file.stat()):
                return handle, lock is True
        os.close(handle)  # its last owner has just deleted it


# pipes and devices


@contextmanager
def _written_through(path: Path) -> Iterator[Path]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder:
        written = Path(folder) / path.name
        with clear_disk_errors(path, inside=Path(folder)):
            yield written
        with written.open("rb") as source, clear_disk_errors(path), _sink(path) as sink:
            shutil.copyfileobj(source, sink)


def _sink(path: Path) -> BinaryIO:
    stream = standard_stream(path)
    return os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb")


# temporary neighbours


@contextmanager
def _temporary_neighbour(path: Path, target: Path, ours: Collection[str]) -> Iterator[Path]:
    """A fresh folder beside `target`, so that a rename between the two never crosses file systems."""
    import shutil  # here, as whoever only reads has no use for them
    import tempfile

    with clear_disk_errors(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target, ours)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        with clear_disk_errors(path, inside=folder), _lock(folder):
            yield folder
    finally:
        # What stood at `target` is deleted by `_retire` alone.
        shutil.rmtree(folder / NEW if (folder / OLD).exists() else folder, ignore_errors=True)


def _put_in_place(folder: Path, target: Path) -> None:
    """The new folder goes to `target`; the old one, if it holds anything, to OLD."""
    new, old = folder / NEW, folder / OLD
    try:
        new.rename(target)  # nothing stands there, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    new.rename(old)  # its name after the swap, so that a kill right behind it leaves the old one under this name
    try:
        if swap(old, target):
            return
    except OSError:
        old.rename(new)
        raise
    old.rename(new)
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        if not os.path.lexists(target):
            old.rename(target)
        raise


def _retire(old: Path, target: Path, ours: Collection[str]) -> None:
    """Deletes a folder that was replaced; what is not ours, and came during the work, moves to the new one."""
    if not old.is_dir():
        return
    for name in strangers(old, ours):
        if not os.path.lexists(target / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (old / name).rename(target / name)
            with suppress(OSError):  # what else is in there goes with the rest
                os.removedirs((old / name).parent)
    remove_ours(old, ours)


def _remove_leftovers(target: Path, ours: Collection[str]) -> None:
    """Delete what writers of `target` have left when they were killed: gigabytes that nobody sees.

    Not where one holds the only copy of what stood at `target`: it was killed between two renames.
    """
    import shutil

    own = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp")  # as `mkdtemp` names them
    for folder in target.parent.iterdir():
        if not own.fullmatch(folder.name) or not _is_abandoned(folder):
            continue
        if target.is_dir():
            _retire(folder / OLD, target, ours)
        if not (folder / OLD).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether its writer is gone: nobody holds the lock, though there was time to take it."""
    with suppress(OSError):  # another process may have deleted it by now
        if time.time() - folder.stat().st_ctime > LOCK_SECONDS:
            with _lock(folder) as is_ours:
                return is_ours
    return False


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Takes the folder's lock and tells whether it was to be had; where there are no locks, leftovers stay."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield take_lock(handle) is True
    finally:
        os.close(handle)
