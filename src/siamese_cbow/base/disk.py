"""What the file system is asked for: syncs, locks and swaps; and its errors, said with what to do about them."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from siamese_cbow.errors import InputError

ADVICE = {
    errno.ENOSPC: "free some space or write to another disk",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "it is larger than this disk or `ulimit -f` allows",
    errno.EACCES: "check the permissions of its folder",
    errno.EPERM: "check the permissions of its folder",
    errno.EROFS: "this file system is read-only",
    errno.EIO: "a disk reports a fault: check it, or write to another one",
    errno.EBUSY: "it is in use, or a disk is mounted there: choose a folder inside it",
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
}
SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")  # NumPy's error, which does not tell why
FULL = "the disk is full, a quota is used up or `ulimit -f` is reached"
UNSWAPPABLE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
HERE, SWAP = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS


def sync(path: Path) -> None:
    """Returns when a file or the names in a folder are safe from a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def take_lock(handle: int) -> bool | None:
    """Whether the lock of an open file was to be had; it ends with the process, however that ends.

    None where the system or the disk has no such locks.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def swap(one: Path, other: Path) -> bool:
    """Exchanges two names in one step, so that neither is ever missing; False where the system or the disk can't."""
    import ctypes

    if os.name != "posix":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        failed = library.renameat2(HERE, names[0], HERE, names[1], SWAP)
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(*names, SWAP)
    else:
        return False
    number = ctypes.get_errno()
    if failed and number not in UNSWAPPABLE:
        raise OSError(number, os.strerror(number), str(one), None, str(other))
    return not failed


@contextmanager
def clear_disk_errors(path: Path, *, inside: Path | None = None) -> Iterator[None]:
    """Errors of the disk, said with the path that is written and what to do about them.

    inside  where the block writes, if it does other things, too: their errors are not about `path`
    """
    try:
        yield
    except OSError as error:
        elsewhere = error.filename is not None and not str(error.filename).startswith(str(inside))
        if inside is not None and elsewhere:
            raise
        if error.errno is None and SHORT_WRITE.search(str(error)):
            raise InputError(f"can't write {path}: {FULL}; free some space or write to another disk") from error
        if error.errno is None or (inside is not None and error.errno not in ADVICE):
            raise
        advice = ADVICE.get(error.errno, "choose another name")
        raise InputError(f"can't write {path}: {error.strerror}; {advice}") from error
