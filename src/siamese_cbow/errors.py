"""What can go wrong, drawn as a tree.

    SiameseCBOWError
    ├── InputError        text, pairs or vectors that can't be used as they are
    ├── SettingsError     an option whose value makes no sense (also a ValueError)
    ├── FormatError       a folder of ours that is incomplete, truncated, swapped or from another version
    ├── MissingExtra      an optional library that is not installed; says what to type (also an ImportError)
    ├── ClusterError      a cluster that can't be reached, lacks something or has failed; the same command goes on
    └── Interrupted       a signal ended long work; what was done is saved, and the same command resumes it

Every message gives the value, what was expected, and the next step. The command line prints it without a
traceback and leaves with exit code 2 (128 + the signal's number when interrupted, as shells do).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SiameseCBOWError(Exception):
    """The root of all errors that are raised on purpose."""

    exit_code = 2


class InputError(SiameseCBOWError):
    """Text, pairs or vectors that can't be used as they are."""


class SettingsError(SiameseCBOWError, ValueError):
    """An option whose value makes no sense."""


class FormatError(SiameseCBOWError):
    """A folder of ours that is incomplete, truncated, swapped or from another version."""


class MissingExtra(SiameseCBOWError, ImportError):  # noqa: N818 (reads better where it is raised)
    """An optional library that is not installed.

    `MissingExtra("gensim", "baselines")` -> "this needs gensim; type: pip install 'siamese-cbow[baselines]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"this needs {library}; type: pip install 'siamese-cbow[{extra}]'")


@contextmanager
def needs(library: str, extra: str) -> Iterator[None]:
    """Around the import of an optional library: `with needs("gensim", "baselines"): import gensim`."""
    try:
        yield
    except ImportError:
        raise MissingExtra(library, extra) from None


class ClusterError(SiameseCBOWError):
    """A cluster that can't be reached, lacks something or has failed; the same command goes on when it is mended."""


class Interrupted(SiameseCBOWError):  # noqa: N818 (nobody's mistake)
    """A signal ended long work; what was done is saved, and the same command resumes it."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal


def counted(n: int, noun: str) -> str:
    """A number of things, for messages: `counted(1, "text")` -> "1 text"; `counted(2000, "text")` -> "2,000 texts"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
