"""File system operations: hashes, syncs, locks, swaps; and disk errors that say what to do about them.

Also decides what may be written where: which files are ours, where a link leads, and what is written to rather than
replaced (pipes, devices). Writes no content itself: see `files`.

A folder is replaced only if its writer could have written everything in it; the same goes for a file. The writer lists
its files as patterns, or says how to recognise one; the decision is made only here.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from siamese_cbow.errors import InputError, listed

ADVICE = {
    errno.ENOSPC: "free some space or write to another disk",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "it exceeds the limit of this disk or of `ulimit -f`",
    errno.EACCES: "check the permissions of its folder",
    errno.EPERM: "check the permissions of its folder",
    errno.EROFS: "this file system is read-only",
    errno.EIO: "the disk reports a fault: check it, or write to another disk",
    errno.EBUSY: "it is in use or a mount point: choose a folder inside it",
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
}
NUMPY_SHORT_WRITE = r"\d+ requested and \d+ written"  # an OSError that does not say why
FULL = "the disk is full, or a quota or `ulimit -f` has been reached"
# How our text files hold a file name that is not UTF-8: as \\udce9, which JSON reads back as the same name.
UNWRITABLE = "backslashreplace"
UNSWAPPABLE = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
HERE, SWAP = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS


def is_utf8(name: str) -> bool:
    """Whether a file name is valid UTF-8: `is_utf8("été")` -> True; Python shows other bytes as lone surrogates."""
    return not any("\udc80" <= letter <= "\udcff" for letter in name)


def written_by() -> dict[str, str]:
    """The version that our files record, so that an older one can say which version reads them."""
    from importlib.metadata import version  # takes longer than loading a small model

    return {"siamese-cbow": version("siamese-cbow")}


def what_reads(content: object) -> str:
    """What to type for a file of a newer format: installs the version that wrote it, if the file names one.

    `what_reads({})` -> "type pip install -U siamese-cbow"
    """
    by = content.get("written_by") if isinstance(content, dict) else None
    writer = by.get("siamese-cbow") if isinstance(by, dict) else None
    if not isinstance(writer, str) or not re.fullmatch(r"\d[\w.+]{0,30}", writer):  # users will type it
        return "type pip install -U siamese-cbow"
    return f"it was written by siamese-cbow {writer}: type pip install 'siamese-cbow>={writer}'"


def file_text(path: Path) -> str:
    """The text of a file; an OSError for a pipe of this name, which a reader would wait on for ever."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a file", str(path))
    return path.read_text("utf-8")


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk, so that they survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def take_lock(handle: int) -> bool | None:
    """Try to lock an open file and return whether that worked; the lock ends with the process, however that ends.

    None if the disk does not support locks.
    """
    import fcntl  # only writers need it

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def swap(first: Path, other: Path) -> bool:
    """Exchanges two names in one step, so that neither is ever missing; False if the system or the disk can't."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        failed = library.renameat2(HERE, names[0], HERE, names[1], SWAP)
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(*names, SWAP)
    else:
        return False
    number = ctypes.get_errno()
    if failed and number not in UNSWAPPABLE:
        raise OSError(number, os.strerror(number), str(first), None, str(other))
    return not failed


@contextmanager
def clear_disk_errors(path: Path, *, inside: Path | None = None) -> Iterator[None]:
    """Reword disk errors with the path being written and what to do.

    inside  the folder the block writes to, if it does other work as well: errors elsewhere are not about `path`
    """
    try:
        yield
    except OSError as error:
        elsewhere = error.filename is not None and not str(error.filename).startswith(str(inside))
        if inside is not None and elsewhere:
            raise
        if error.errno is None and re.search(NUMPY_SHORT_WRITE, str(error)):
            raise InputError(f"can't write {path}: {FULL}; free some space or write to another disk") from error
        if error.errno is None or (inside is not None and error.errno not in ADVICE):
            raise
        advice = ADVICE.get(error.errno, "choose another name")
        raise InputError(f"can't write {path}: {error.strerror}; {advice}") from error


def file_hash(path: Path) -> str:
    """The BLAKE2b hash (16 bytes, hexadecimal) of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def sample_hash(path: Path) -> str:
    """The hash of 16 blocks spread over a file, ends included: a quick way to tell two models' vectors apart."""
    hashed, n_blocks, block = hashlib.blake2b(digest_size=16), 16, 4096
    last = max(path.stat().st_size - block, 0)
    with path.open("rb", buffering=0) as file:
        for i in range(n_blocks):
            file.seek(last * i // (n_blocks - 1))
            hashed.update(file.read(block))
    return hashed.hexdigest()


def check_replaceable(path: Path, ours: Collection[str], what: str = "this") -> None:
    """Raise an error unless `path` is free for a folder: it does not exist, or holds only files that we write.

    ours  `fnmatch` patterns of paths in the folder: "ids.npy", "training/checkpoint-*/*.npy"
    what  what is to be written, for messages: "a model"
    """
    with clear_disk_errors(path):
        target = followed(path)
        if not os.path.lexists(target):
            return
        if not target.is_dir():
            raise InputError(f"{path} is a file, but {what} is a folder; choose another name")
        strange = strangers(target, ours)
    if strange:
        raise InputError(
            f"{path} contains files that are not part of {what} ({listed(strange)}) and would be deleted; "
            "choose another folder or move them"
        )
    if Path.cwd().is_relative_to(target):
        raise InputError(f"{path} is the current folder, which can't be replaced; choose another")


def check_file_replaceable(path: Path, is_ours: Callable[[Path], bool], otherwise: str) -> None:
    """Raise an error unless `path` is free for a file: any existing file is of the kind to be written.

    An empty file counts as free, since `mktemp` creates them, and so does a pipe or a device, which is not replaced.

    is_ours    inspects a file; a file it can't read is not ours
    otherwise  what is wrong with a file that is not ours, for messages: "holds no word vectors"
    """
    with clear_disk_errors(path):
        if is_special(path) or not path.is_file() or not path.stat().st_size:
            return
    with suppress(Exception):
        if is_ours(path):
            return
    raise InputError(f"{path} already exists and {otherwise}; choose another name, or delete it first")


def strangers(folder: Path, ours: Collection[str]) -> list[str]:
    """The contents of a folder that match none of our patterns: `strangers(stream, ["*.npy"])` -> ["thesis.txt"].

    Links to folders and empty folders count as well; an empty folder is ours if a pattern leads into it.
    """
    parents = {str(parent) for pattern in ours for parent in PurePosixPath(pattern).parents}
    strangers: list[str] = []

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse):
        inside = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        names = [(inside / name).as_posix() for name in (*files, *links)]
        strangers += [name for name in names if not _matches(name, ours)]
        if place != str(folder) and not (folders or files) and not _matches(inside.as_posix(), parents):
            strangers.append(inside.as_posix())
    return sorted(strangers)


def remove_ours(folder: Path, ours: Collection[str]) -> list[str]:
    """Delete a folder and everything in it that matches our patterns; return what is left, as `strangers` does."""
    left = strangers(folder, ours) if folder.is_dir() else []
    remaining = {folder / name for name in left} | {parent for name in left for parent in (folder / name).parents}
    for place, folders, files in os.walk(folder, topdown=False):
        for path in (Path(place) / name for name in (*files, *folders)):
            if path not in remaining:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    if not left and folder.is_dir():
        folder.rmdir()
    return left


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) and name.count("/") == pattern.count("/") for pattern in patterns)


def as_path(name: Any, what: str = "the path", *, home: bool = True) -> Path:
    """The path with this name; `~` is the home folder, as in shells, unless there is no such user: "~ish".

    home  False for output, where `followed` refuses a `~`

    `as_path(5, "the index")` -> InputError: the index is 5 (int); expected a path
    """
    if not isinstance(name, str | os.PathLike):
        raise InputError(f"{what} is {name!r:.60} ({type(name).__name__}); expected a path")
    return Path(os.path.expanduser(name) if home else name)  # noqa: PTH111 (`Path.expanduser` raises an error)


def followed(path: Path) -> Path:
    """The target of a link, whether it exists or not; `.` and `..` have no name to rename, so they are resolved.

    A path that begins with ~ is refused: nobody means a folder with that name, and `rm -r ~` would delete another one.
    """
    if path.parts[:1] == ("~",):
        raise InputError(f"{path} starts with ~, which only the shell expands; write {path.expanduser()}")
    return Path(os.path.realpath(path)) if path.is_symlink() or path.name in ("", "..") else path


def is_special(path: Path) -> bool:
    """Whether a file must be written to rather than replaced: a pipe, a character device, our own output."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder; expected a file name")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        raise InputError(f"{path} is a device or a socket; expected a file name")
    return not stat.S_ISREG(status.st_mode) or standard_stream(path) is not None


def standard_stream(path: Path) -> int | None:
    """1 or 2 if standard output or standard error goes to `path`, such as /dev/stdout or /proc/self/fd/2; else None."""
    for number in (1, 2):
        with suppress(OSError):
            if path.is_symlink() and os.path.samestat(path.stat(), os.fstat(number)):
                return number
    return None
