"""Atomic writes: a file or folder is either the old one or the new one, never half of each.

Write to a temporary neighbour, fsync, rename, fsync the folder. The rename is atomic on one file system, and the
two fsyncs make it hold across a power cut.

A folder is replaced only if everything in it is ours, as `disk` decides. Foreign files stop the writer before any work;
files that arrive during the work move to the new folder. Links are followed; a pipe or a device such as /dev/null is
written to, never replaced.

If two writers race for one target, the last one wins completely; `one_writer` keeps a second writer out.
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

LOCK_SECONDS = 60  # far longer than the time between creating a temporary folder and locking it
NEW, OLD = "new", "old"  # in the temporary folder: what is being written, and what it replaces


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` if the block succeeds and vanishes if it fails.

    `with atomic_file(Path("a.txt")) as file: file.write_text("A cat.")`

    A pipe or a character device is written to once the block has succeeded.
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
    """A folder to fill, which replaces `path` if the block succeeds and vanishes if it fails.

    An old folder at `path` may hold only what `check_replaceable` allows. It is swapped with the new one in a single
    step where the system supports that; elsewhere it is moved aside between two renames. Leftovers of killed processes
    are deleted first.
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
    """Hold the exclusive right to write to `path`; another process that asks for it gets an error that says so.

    The lock is a hidden file beside `path`. Yields False if the system or the disk has no locks: other writers are then
    not kept out.
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
            file.unlink()  # before releasing the lock: a process that has just opened it notices that it is gone
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
        os.close(handle)  # its previous owner has just deleted it


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
    import shutil  # here, because readers do not need them
    import tempfile

    with clear_disk_errors(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target, ours)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        with clear_disk_errors(path, inside=folder), _lock(folder):
            yield folder
    finally:
        # Only `_retire` deletes the old content of `target`.
        shutil.rmtree(folder / NEW if (folder / OLD).exists() else folder, ignore_errors=True)


def _put_in_place(folder: Path, target: Path) -> None:
    """Move the new folder to `target` and the old one, unless it is empty, to OLD."""
    new, old = folder / NEW, folder / OLD
    try:
        new.rename(target)  # free, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    new.rename(old)  # named OLD before the swap, so that a kill right after it leaves the old folder under that name
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
    """Delete a replaced folder; foreign files that arrived during the work move to the new one."""
    if not old.is_dir():
        return
    for name in strangers(old, ours):
        if not os.path.lexists(target / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (old / name).rename(target / name)
            with suppress(OSError):  # the rest is deleted anyway
                os.removedirs((old / name).parent)
    remove_ours(old, ours)


def _remove_leftovers(target: Path, ours: Collection[str]) -> None:
    """Delete what killed writers of `target` have left: gigabytes that nobody sees.

    A leftover that holds the only copy of `target` stays: its writer was killed between two renames.
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
    """Whether its writer is gone: nobody holds the lock, although there was time to take it."""
    with suppress(OSError):  # another process may have deleted it by now
        if time.time() - folder.stat().st_ctime > LOCK_SECONDS:
            with _lock(folder) as is_ours:
                return is_ours
    return False


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Take the folder's lock and yield whether that worked. On systems without locks, leftovers stay."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield take_lock(handle) is True
    finally:
        os.close(handle)
