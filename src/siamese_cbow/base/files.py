"""Writing so that nothing is lost: a file or folder is either the old one or the new one, never half of each.

Write to a temporary neighbour, fsync, rename, fsync the folder. The rename is atomic on one file system, and the
two fsyncs make it hold across a power cut. Does not lock: two writers of one target race, and the last one wins whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from siamese_cbow.errors import InputError

LOCK_SECONDS = 60  # far longer than it takes from making a temporary folder to locking it


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` when the block ends well and vanishes when it doesn't."""
    with _temporary_neighbour(path) as folder:
        written = folder / path.name
        yield written
        _sync(written)
        with _clear_disk_errors(path):
            written.replace(path)
        _sync(path.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which replaces `path` when the block ends well and vanishes when it doesn't.

    An old folder at `path` is moved aside for the moment between two renames and then deleted: rename can't
    replace a folder that isn't empty. Whoever calls this has checked that the old folder may go. What killed processes
    have left behind is deleted first.
    """
    _remove_leftovers(path)
    with _temporary_neighbour(path) as folder:
        written = folder / "new"
        written.mkdir()
        yield written
        for file in written.rglob("*"):
            _sync(file)
        _sync(written)
        with _clear_disk_errors(path):
            if path.exists():
                path.rename(folder / "old")
            try:
                written.rename(path)
            except OSError:
                if (folder / "old").exists():
                    (folder / "old").rename(path)
                raise
        _sync(path.parent)


@contextmanager
def _temporary_neighbour(path: Path) -> Iterator[Path]:
    """A fresh folder beside `path`, so that a rename between the two never crosses file systems."""
    import shutil  # here, as whoever only reads has no use for them
    import tempfile

    with _clear_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        with _clear_disk_errors(path), _lock(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(path: Path) -> None:
    """Delete folders that writers of `path` have left when they were killed: gigabytes that nobody sees.

    Not where one holds the only copy of what stood at `path`: it was killed between two renames.
    """
    import shutil

    own = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.tmp")  # as `mkdtemp` names them
    for folder in path.parent.iterdir() if path.parent.is_dir() else ():
        if own.fullmatch(folder.name) and _is_abandoned(folder) and (path.exists() or not (folder / "old").exists()):
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
    """Takes the folder's lock, which ends with the process however that ends, and tells whether it was to be had.

    Where the system or the disk has no such locks it never is: then leftovers stay.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        is_ours = False
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        yield is_ours
    finally:
        os.close(handle)


@contextmanager
def sole_writer(folder: Path) -> Iterator[bool]:
    """Holds `folder`, made if need be, for one writer; a second one gets an error. It ends with the process.

    False where the system or the disk has no locks: then nobody is kept out. A folder that was made for it and is left
    empty vanishes again.
    """
    made = not folder.exists()
    with _clear_disk_errors(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{folder} is a file, or in one; expected a folder: choose another name") from None
    handle, locked = os.open(folder, os.O_RDONLY), False
    try:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = True
        except BlockingIOError:
            raise InputError(
                f"another process is writing {folder}; wait until it is done, or choose another folder"
            ) from None
        except (ImportError, OSError):
            pass
        yield locked
    finally:
        if made:
            with suppress(OSError):
                folder.rmdir()  # only if nothing is in it
        os.close(handle)


@contextmanager
def _clear_disk_errors(path: Path) -> Iterator[None]:
    """Errors of the disk, said with the path and what to do about them."""
    try:
        yield
    except OSError as error:
        advice = {
            errno.ENOSPC: "free some space or write to another disk",
            errno.EDQUOT: "your disk quota is used up",
            errno.EACCES: "check the permissions of its folder",
            errno.EROFS: "this file system is read-only",
        }.get(error.errno or 0)
        if advice is None:
            raise
        raise InputError(f"can't write {path}: {error.strerror}; {advice}") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_hash(path: Path) -> str:
    """The BLAKE2b hash (16 bytes, hexadecimal) of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def sample_hash(path: Path, *, n_blocks: int = 16, block: int = 4096) -> str:
    """The hash of 16 blocks spread over a file, ends included: tells one model's vectors from another's at once."""
    hashed = hashlib.blake2b(digest_size=16)
    last = max(path.stat().st_size - block, 0)
    with path.open("rb", buffering=0) as file:
        for i in range(n_blocks):
            file.seek(last * i // (n_blocks - 1))
            hashed.update(file.read(block))
    return hashed.hexdigest()
