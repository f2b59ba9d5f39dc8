"""What can go wrong, drawn as a tree.

    SiameseCBOWError
    ├── InputError        text, pairs or vectors handed in can't be used as they are
    ├── SettingsError     an option has a value that makes no sense (also a ValueError)
    ├── FormatError       a folder of ours is incomplete, truncated, swapped or from another version
    ├── MissingExtra      an optional library is not installed; says what to type (also an ImportError)
    └── Interrupted       a signal has ended long work, which was saved and can be gone on with

Every message gives the value, what was expected, and the next step. The command line prints it without a
traceback and leaves with exit code 2 (128 + the signal's number when interrupted, as shells do).
"""

from __future__ import annotations


class SiameseCBOWError(Exception):
    """The root of all errors that are raised on purpose."""

    exit_code = 2


class InputError(SiameseCBOWError):
    """Text, pairs or vectors handed in can't be used as they are."""


class SettingsError(SiameseCBOWError, ValueError):
    """An option has a value that makes no sense."""


class FormatError(SiameseCBOWError):
    """A folder of ours is incomplete, truncated, swapped or from another version."""


class MissingExtra(SiameseCBOWError, ImportError):  # noqa: N818 (reads better where it is raised)
    """An optional library is not installed.

    `MissingExtra("gensim", "baselines")` -> "this needs gensim; type: pip install 'siamese-cbow[baselines]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"this needs {library}; type: pip install 'siamese-cbow[{extra}]'")


class Interrupted(SiameseCBOWError):  # noqa: N818 (not a mistake of anybody's)
    """A signal has ended long work, which was saved and can be gone on with."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal
