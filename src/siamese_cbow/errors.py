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
from pathlib import Path

# What the package does without only where nobody asks for it: extra -> what it is for. The table of extras in the docs
# and all messages come from here; pyproject.toml says which libraries each brings.
EXTRAS = {
    "baselines": "word2vec by gensim, gensim's vectors",
    "demo": "the text of the demo",
    "hub": "models of the Hugging Face Hub",
    "interop": "models for and from sentence-transformers and model2vec, `convert_to_tensor`",
    "langchain": "LangChain",
    "mteb": "MTEB",
    "notebook": "progress bars and pictures in notebooks",
    "onnx": "models as ONNX",
    "pdf": "text of PDFs",
    "plots": "pictures of words and texts",
    "polars": "polars",
    "ray": "work on a cluster",
    "report": "the paper, reproduced",
    "search": "clusters, duplicates among many texts",
    "serve": "models over HTTP",
    "sklearn": "scikit-learn, labels read off vectors",
    "skipthought": "skip-thought",
    "spacy": "spaCy",
    "stats": "statistical tests between two models",
    "tables": "Parquet",
    "umap": "UMAP on the page of the server",
}


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
    """An optional library that is not installed: which one, what it is for here, and what to type.

    `MissingExtra("pypdf", "pdf")` -> "pypdf is not installed; it comes with the extra pdf (text of PDFs): type
    pip install 'siamese-cbow[pdf]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed; it comes with the extra {extra} ({EXTRAS[extra]}): "
            f"type {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """What to type. pip finds the extras of what is installed; a checkout that is not is named by its folder."""
    from importlib import metadata

    try:
        known = metadata.metadata("siamese-cbow").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        known = []
    checkout = Path(__file__).parents[2]
    if extra in known or not (checkout / "pyproject.toml").is_file():
        return f"pip install 'siamese-cbow[{extra}]'"
    return f"pip install -e '{'.' if checkout == Path.cwd() else checkout}[{extra}]'"


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
