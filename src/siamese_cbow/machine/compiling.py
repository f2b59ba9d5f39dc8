"""How kernels are compiled: without the GIL, kept on disk, and without counting references to arrays.

Numba counts a reference whenever a function takes an array out of a record or makes a view of one, and the counters are
atomic. Threads that work on the same arrays then fight for the counters' cache lines, which cost a quarter of the speed
of one thread and most of the gain from a second. Without the runtime system (`_nrt=False`) nothing is counted and
nothing can be allocated: kernels get all their memory from outside.

That option and the hand-written code of this room are private to Numba, and a new version may break them. With
SIAMESE_CBOW_PLAIN_KERNELS=1 in the environment, the same kernels are compiled by plain `@njit`, for one thread, every
time anew: the same results but for rounding, many times slower. No other room uses anything private.

Numba recompiles a function that it kept when its own file changes, but not when the change is in a function it calls
from another file. A kernel here is made of functions from a dozen files: after an update it would go on with parts of
old ones, and its bytes would differ from those of a fresh install. So whatever is older than any source of a kernel is
thrown away, before anything of it is loaded.
Where compiled kernels are kept, also where nothing but a folder for temporary files can be written.

Numba keeps them in the folder that NUMBA_CACHE_DIR names, beside the source, or in a cache folder of the user's, and
raises an error ("no locator available") where it may write to none of these: a read-only installation, and a user
without a home, as containers and services have. Here it gets one more place to look, the last: a folder for temporary
files, of this user alone, as whoever writes to it decides what code runs. Its name has a hash of all sources in it, so
that an update begins a new one.

The first `train` on a machine compiles 96 functions, 27 s of processor time (benchmarks/one_step.py measures it): 10 s
go to LLVM, 10 to Numba's writing of LLVM's code, 3.5 to finding types, evenly over all functions; the largest,
`train_in_batch` without what it calls, takes 2.7. So it can't be halved by leaving out one of them. Tried to make it
less: no entrance for C (`no_cfunc_wrapper`), 0.3 s; no entrance for Python to those that are inlined, and no file of
their own, 2 s; the same for all 90 that only kernels call, 8 s, but a call of such a function from Python then crashes
the process. None of it is done: a few seconds, once, are not worth a crash. Threads don't help, as Numba compiles under
one lock; a second process, for the kernels of training while the others are compiled, would wait for `train_in_batch`
with all that it calls, two thirds of the whole.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.misc.appdirs import AppDirs

ROOMS = ("machine", "words", "kernels")  # of the package: those that hold compiled functions
PACKAGE = Path(__file__).parents[1]
VARIABLE = "NUMBA_CACHE_DIR"

_LOG = logging.getLogger("siamese_cbow")  # what it gets goes to standard error, unless a program says otherwise


class TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):  # type: ignore[misc]
    """The last place at which Numba looks."""

    def __init__(self, function: Any, source: str) -> None:
        self._py_file, self._lineno = source, function.__code__.co_firstlineno  # the names that Numba's mixin asks for
        self._folder = str(Path(temporary_folder() or "") / self.get_suitable_cache_subpath(source))

    def get_cache_path(self) -> str:
        """The folder for the kernels of one folder of sources."""
        return self._folder

    @classmethod
    def from_function(cls, function: Any, source: str) -> Any:
        """A locator for this function, or None for there is no such place."""
        return super().from_function(function, source) if temporary_folder() else None


def can_keep_kernels() -> bool:
    """Whether there is a folder for compiled kernels, now that Numba knows one more; says so where there is none."""
    known: list[Any] = caching.CacheImpl._locator_classes
    if TemporaryLocator not in known:
        # A user without a name and a home has a "home" called "~", below whatever folder is the current one.
        has_home = Path(_user_cache()).is_absolute()
        known.insert(len(known) if has_home else known.index(caching.UserWideCacheLocator), TemporaryLocator)
        caching.FunctionCache._guard_against_spurious_io_errors = _forgiving
    try:
        caching.FunctionCache(can_keep_kernels)  # of any function here: only the place is looked for
    except RuntimeError:
        _LOG.warning(
            "siamese-cbow: found no writable cache folder, so kernels are compiled on every run; set %s", VARIABLE
        )
        return False
    return True


@contextmanager
def _forgiving(_: Any) -> Iterator[None]:
    """Around reading and keeping a kernel: on a full or failing disk it is compiled, used, and not kept."""
    with suppress(OSError, EOFError):
        yield


@cache
def temporary_folder() -> str | None:
    """The folder for kernels that can be kept nowhere else, made if need be; None where that is impossible, too."""
    try:
        base = Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None
    named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    usual = {Path(name).absolute() for name in (*named, "/tmp", "/var/tmp", "/usr/tmp")}
    if base == Path.cwd() and base not in usual:
        return None  # Python's last resort, and no place for things that nobody asked for
    folder = base / f"siamese-cbow-kernels-{os.geteuid()}-{_digest(PACKAGE)}"
    try:
        if _is_private(folder):
            return str(folder)
        if folder.is_symlink() or folder.exists():  # somebody else's; theirs may hold any code
            folder = Path(tempfile.mkdtemp(prefix="siamese-cbow-kernels-"))
            atexit.register(_remove, folder, os.getpid())
        else:
            folder.mkdir(mode=0o700)
    except OSError:
        return None
    message = "siamese-cbow: neither the package folder nor the user cache is writable; compiling kernels into %s"
    _LOG.warning(f"{message}; this takes a minute, once. To keep them elsewhere, set %s", folder, VARIABLE)
    return str(folder)


def forget_stale_kernels(package: Path = PACKAGE) -> int:
    """Delete Numba's index files that are older than a source of any kernel; the number of deleted ones."""
    newest = max((path.stat().st_mtime_ns for path in _sources(package)), default=0)
    n = 0
    for index in (index for folder in _kept_in(package) for index in folder.glob("*.nbi")):
        try:
            if index.stat().st_mtime_ns < newest:
                index.unlink()
                n += 1
        except OSError:  # another process was faster, or the folder is read-only
            continue
    return n


def _kept_in(package: Path) -> Iterator[Path]:
    """The folders in which Numba keeps, or has kept, the kernels of a package."""
    for room in ROOMS:
        yield from (package / room).rglob("__pycache__")
    bases = [Path(base) for base in (caching.config.CACHE_DIR, _user_cache()) if base]
    parts = {caching._CacheLocator.get_suitable_cache_subpath(str(path)) for path in _sources(package)}
    yield from (base / part for base in bases for part in parts)


def _sources(package: Path) -> list[Path]:
    return sorted(path for room in ROOMS for path in (package / room).rglob("*.py"))


def _user_cache() -> str:
    return str(AppDirs(appname="numba", appauthor=False).user_cache_dir)


def _is_private(folder: Path) -> bool:
    """Whether there is such a folder, and nobody but this user may write to it."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _digest(package: Path) -> str:
    """A hash of all sources of kernels."""
    digest = hashlib.sha256()
    for path in _sources(package):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a fork has the same list of things to do at its end
        shutil.rmtree(folder, ignore_errors=True)


PLAIN = os.environ.get("SIAMESE_CBOW_PLAIN_KERNELS", "0") not in ("", "0")

LEAN: dict[str, Any] = {"nogil": True}
if not PLAIN:  # which are not kept: Numba would take them for the others, as their source is the same
    forget_stale_kernels()  # every kernel imports this module first: nothing is loaded yet
    LEAN |= {"cache": can_keep_kernels(), "_nrt": False}
INLINE: dict[str, Any] = LEAN if PLAIN else {**LEAN, "forceinline": True}

# Sums may be regrouped (vector registers need it), but NaN and infinity stay what they are: they must show in the loss.
FASTMATH: Any = {"reassoc", "contract", "arcp", "nsz"}


def intrinsic_or(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorates hand-written code; `plain` says the same in Python, and stands for it where kernels are plain."""
    from numba import njit
    from numba.extending import intrinsic

    return (lambda written: njit(**INLINE)(plain)) if PLAIN else intrinsic
