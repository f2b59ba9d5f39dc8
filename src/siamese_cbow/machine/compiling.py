"""How kernels are compiled: without the GIL, cached on disk, and without reference counting.

Numba counts a reference whenever a function takes an array out of a record or makes a view of one, and the counters are
atomic. Threads that work on the same arrays then contend for the counters' cache lines, which cost a quarter of the
speed of one thread and most of the gain from a second. Without the runtime system (`_nrt=False`) nothing is counted and
nothing can be allocated: callers provide all memory.

That option and the hand-written code of this room are private to Numba, and a new version may break them. With
SIAMESE_CBOW_PLAIN_KERNELS=1 in the environment, the same kernels are compiled by plain `@njit`, for one thread, and
never cached: the same results up to rounding, many times slower. No other room uses anything private.

Numba recompiles a cached function when its own file changes, but not when the change is in a function it calls from
another file. A kernel here consists of functions from a dozen files: after an update it would keep using parts of old
ones, and its bytes would differ from those of a fresh install. So cache entries older than any kernel source are
deleted before anything is loaded.

Numba caches kernels in the folder that NUMBA_CACHE_DIR names, beside the source, or in the user's cache folder, and
raises an error ("no locator available") if it can write to none of these: a read-only installation and a user without a
home, as in containers and services. Here it gets one more location, tried last: a temporary folder private to this
user, because whoever writes to it decides what code runs. Its name contains a hash of all sources, so that an update
starts a new one.

The first `train` on a machine compiles about 100 functions (benchmarks/one_step.py measures it), most of which only
kernels call. For these, `inner` leaves out the wrapper through which Python would call them: a third of all
compilation. Threads don't help, because Numba compiles under one lock; a second process does (`training.ahead`).
Rejected: not caching inner functions saves another 0.3 s, but kernels that share them then compile them again.
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

from numba import njit
from numba.core import caching
from numba.core.registry import CPUDispatcher
from numba.misc.appdirs import AppDirs

ROOMS = ("machine", "words", "kernels")  # rooms of the package that contain compiled functions
PACKAGE = Path(__file__).parents[1]
VARIABLE = "NUMBA_CACHE_DIR"

_LOG = logging.getLogger("siamese_cbow")  # goes to standard error, unless a program configures logging


class TemporaryLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):  # type: ignore[misc]
    """Lets Numba cache kernels in a private temporary folder if there is no better place."""

    def __init__(self, function: Any, source: str) -> None:
        self._py_file, self._lineno = source, function.__code__.co_firstlineno  # the names that Numba's mixin expects
        self._folder = str(Path(temporary_folder() or "") / self.get_suitable_cache_subpath(source))

    def get_cache_path(self) -> str:
        """The folder for the kernels of one folder of sources."""
        return self._folder

    @classmethod
    def from_function(cls, function: Any, source: str) -> Any:
        """A locator for this function, or None if there is no such location."""
        return super().from_function(function, source) if temporary_folder() else None


def can_keep_kernels() -> bool:
    """Whether there is a writable folder for compiled kernels, including the temporary one; warns if there is none."""
    known: list[Any] = caching.CacheImpl._locator_classes
    if TemporaryLocator not in known:
        # For a user without a name and a home, "~" stays literal: a folder inside the current one.
        has_home = Path(_user_cache()).is_absolute()
        known.insert(len(known) if has_home else known.index(caching.UserWideCacheLocator), TemporaryLocator)
        caching.FunctionCache._guard_against_spurious_io_errors = _forgiving
        caching.IndexDataCacheFile.save = _save
    try:
        caching.FunctionCache(can_keep_kernels)  # for any function: only the location matters
    except RuntimeError:
        _LOG.warning(
            "siamese-cbow: found no writable cache folder, so kernels are compiled on every run; set %s", VARIABLE
        )
        return False
    return True


@contextmanager
def _forgiving(_: Any) -> Iterator[None]:
    """Wraps cache reads and writes: on a full or failing disk a kernel is compiled and used but not cached."""
    with suppress(OSError, EOFError):
        yield


def _save(file: Any, key: Any, data: Any) -> None:
    """Save a compiled function: first its code, in a file named after its signature, then the index that refers to it.

    Numba numbers these files and writes the index first. If the code can't be written (a full disk, a killed process)
    or two processes write at once, the index then refers to code of another signature or of an older version.
    """
    name = file._data_name(int.from_bytes(hashlib.sha256(file._dump(key)).digest()[:8], "big"))
    file._save_data(name, data)
    overloads = file._load_index()
    if overloads.get(key) != name:
        overloads[key] = name
        file._save_index(overloads)


@cache
def temporary_folder() -> str | None:
    """The folder for kernels that can be cached nowhere else, created if needed; None if that is impossible, too."""
    try:
        base = Path(tempfile.gettempdir())
    except FileNotFoundError:
        return None
    named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    usual = {Path(name).absolute() for name in (*named, "/tmp", "/var/tmp", "/usr/tmp")}
    if base == Path.cwd() and base not in usual:
        return None  # Python falls back on the current folder, which is no place for files that nobody asked for
    folder = base / f"siamese-cbow-kernels-{os.geteuid()}-{_digest(PACKAGE)}"
    try:
        if _is_private(folder):
            return str(folder)
        if folder.is_symlink() or folder.exists():  # another user's; it may hold any code
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
    """Delete Numba's index files that are older than any kernel source; return how many."""
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
    """The folders in which Numba caches, or has cached, the kernels of a package."""
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
    """Whether the folder exists and only this user may write to it."""
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
    if os.getpid() == process:  # a fork inherits the exit handlers
        shutil.rmtree(folder, ignore_errors=True)


PLAIN = os.environ.get("SIAMESE_CBOW_PLAIN_KERNELS", "0") not in ("", "0")

LEAN: dict[str, Any] = {"nogil": True}
if not PLAIN:  # plain kernels are not cached: Numba would confuse them with the others, whose source is the same
    forget_stale_kernels()  # every kernel imports this module first, so nothing is loaded yet
    LEAN |= {"cache": can_keep_kernels(), "_nrt": False}
INLINE: dict[str, Any] = LEAN if PLAIN else {**LEAN, "forceinline": True}

# Sums may be reassociated (vector registers need it), but NaN and infinity are preserved: they must show in the loss.
FASTMATH: Any = {"reassoc", "contract", "arcp", "nsz"}


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that only kernels call: like `njit`, but without a wrapper for calls from Python."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(**options, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
        dispatcher.__class__ = _Inner
        return dispatcher

    return njit(**options) if PLAIN else decorate


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A call from Python, as in tests, goes to a twin with a wrapper; without one the process would crash."""

    def __call__(self, *args: Any) -> Any:
        return _twin(self)(*args)


@cache
def _twin(function: _Inner) -> Any:
    of_inner = {"no_cpython_wrapper", "no_cfunc_wrapper", "nopython"}
    options = {name: value for name, value in function.targetoptions.items() if name not in of_inner}
    return njit(**options)(function.py_func)  # not cached on disk, where it would be taken for the other one


def is_cached(kernel: Any) -> bool:
    """Whether a kernel has been compiled on this machine, so that calling it takes no time; True if none are cached."""
    path = getattr(getattr(kernel._cache, "_cache_file", None), "_index_path", None)
    return path is None or Path(path).exists()


def intrinsic_or(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate an intrinsic; `plain` is its Python version, which replaces it if kernels are plain."""
    from numba.extending import intrinsic

    return (lambda written: njit(**INLINE)(plain)) if PLAIN else intrinsic
