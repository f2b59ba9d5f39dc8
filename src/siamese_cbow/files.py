"""Writing so that nothing is lost: a file or folder is either the old one or the new one, never half of each.

Write to a temporary neighbour, fsync, rename, fsync the folder. The rename is atomic on one file system, and the
two fsyncs make it hold across a power cut. Does not lock: two writers of one target race, and the last one wins whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from siamese_cbow.errors import InputError


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
    replace a folder that isn't empty. Whoever calls this has checked that the old folder may go.
    """
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
        with _clear_disk_errors(path):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
