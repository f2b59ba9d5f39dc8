"""The exceptions of the package, drawn as a tree.

    SiameseCBOWError
    ├── InputError        text, pairs or vectors that can't be used as they are
    ├── SettingsError     an option with an invalid value (also a ValueError)
    ├── FormatError       a folder of ours that is incomplete, truncated, swapped or from another version
    ├── MissingExtra      an optional library that is not installed; says what to type (also an ImportError)
    ├── ClusterError      a cluster that can't be reached, lacks something or has failed; the same command resumes
    └── Interrupted       a signal stopped a long job; finished work is saved, and the same command resumes it

Every message gives the value, what was expected, and the next step. The command line prints it without a
traceback and exits with code 2 (128 + the signal's number when interrupted, as shells do).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Extra(NamedTuple):
    """What an extra is for, and where it is needed, in Markdown."""

    purpose: str
    where: str


# The one list of extras: messages and the table in the docs come from here; pyproject.toml lists what each installs.
EXTRAS = {
    "tables": Extra("Parquet", "every command that reads or writes `.parquet`; `encode --cluster`"),
    "pdf": Extra("reading PDF files", "every command that reads `.pdf`"),
    "search": Extra(
        "clustering, and deduplication of large inputs", "`cluster`; `dedup`, if it keeps thousands of lines"
    ),
    "stats": Extra("statistical tests", "`evaluate --compare`, `evaluate --pairs --json`"),
    "sklearn": Extra(
        "scikit-learn: classifiers on sentence vectors",
        "`evaluate --probe`, `evaluate --tasks` with labels; `SentenceVectorizer`",
    ),
    "serve": Extra("the HTTP server", "`serve`"),
    "umap": Extra("UMAP projections in the explorer", "the UMAP map of `serve`"),
    "demo": Extra("the speeches of the demo", "`demo`"),
    "report": Extra("the figures of the reproduction", "`reproduce`"),
    "ray": Extra("Ray clusters", "`--cluster` of `prepare`, `train`, `encode`, `evaluate`"),
    "hub": Extra("models on the Hugging Face Hub", "a model named `user/name`; `push_to_hub`"),
    "interop": Extra(
        "models of sentence-transformers and other libraries",
        "`evaluate` with a transformer; models with another tokenizer; tensors from `encode`",
    ),
    "baselines": Extra("word2vec baselines and conversion to and from gensim", "`Word2Vec`, `to_keyed_vectors`"),
    "skipthought": Extra("skip-thought", "`SkipThought`"),
    "onnx": Extra("ONNX export", "`convert` to `.onnx`"),
    "spacy": Extra("spaCy export", "`convert` to `.spacy`"),
    "langchain": Extra("LangChain embeddings", "`siamese_cbow.integrations.langchain`"),
    "polars": Extra("polars", "`with_vectors` of its tables"),
    "mteb": Extra("MTEB tasks", "running MTEB on a saved model"),
    "plots": Extra("plots of words and texts", "`plot_words`, `plot_similarity`"),
    "notebook": Extra("plots and progress bars in notebooks", "notebooks"),
}


class SiameseCBOWError(Exception):
    """The root of all errors of this package."""

    exit_code = 2


class InputError(SiameseCBOWError):
    """Text, pairs or vectors that can't be used as they are."""


class SettingsError(SiameseCBOWError, ValueError):
    """An option with an invalid value."""


class FormatError(SiameseCBOWError):
    """A folder of ours that is incomplete, truncated, swapped or from another version."""


class MissingExtra(SiameseCBOWError, ImportError):  # noqa: N818 (reads better where it is raised)
    """An optional library that is not installed: which one, its purpose, and the command that installs it.

    `MissingExtra("pypdf", "pdf")` -> "pypdf is not installed; it comes with the extra pdf (reading PDF files):
    pip install 'siamese-cbow[pdf]'"
    """

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed; it comes with the extra {extra} ({EXTRAS[extra].purpose}): "
            f"{install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """The command that installs an extra: by name if the installed package has it, else from the checkout's folder."""
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
    """Wraps the import of an optional library: `with needs("gensim", "baselines"): import gensim`."""
    try:
        yield
    except ImportError:
        raise MissingExtra(library, extra) from None


class ClusterError(SiameseCBOWError):
    """A cluster that can't be reached, lacks something or has failed; once fixed, the same command resumes."""


class Interrupted(SiameseCBOWError):  # noqa: N818 (nobody's mistake)
    """A signal stopped a long job; finished work is saved, and the same command resumes it."""

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal


def counted(n: int, noun: str) -> str:
    """A number with its noun: `counted(1, "text")` -> "1 text"; `counted(2000, "batch")` -> "2,000 batches"."""
    plural = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}{plural}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names: ["a", "b", "c", "d"] -> "a, b, c and 1 more"."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """Advice on a misspelt name: `did_you_mean("trian", ["train", "info"])` -> "did you mean train?".

    otherwise  the advice if no name is close; by default the list of names
    """
    from difflib import get_close_matches

    known = list(names)
    near = get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(near)}?" if near else otherwise or f"expected one of {', '.join(known)}"
