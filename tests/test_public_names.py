"""The public names: everything in `__all__` can be imported, is sorted, and is documented."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import siamese_cbow


def test_all_names_are_there_and_sorted() -> None:
    assert siamese_cbow.__all__ == sorted(siamese_cbow._HOMES)
    for name in siamese_cbow.__all__:
        thing = getattr(siamese_cbow, name)
        assert thing.__doc__, name
        assert thing.__module__.startswith("siamese_cbow."), name
        assert name in dir(siamese_cbow)
    assert not hasattr(siamese_cbow, "blorf")


def test_the_version_is_that_of_the_package() -> None:
    assert siamese_cbow.__version__ == version("siamese-cbow")


def test_prepare_is_a_function_whoever_came_first() -> None:
    code = "import siamese_cbow.stream.preparation, siamese_cbow as sc; assert callable(sc.prepare)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_is_light() -> None:
    heavy = "{'numpy', 'numba', 'torch', 'gensim', 'ray', 'matplotlib', 'pyarrow', 'scipy', 'click', 'rich'}"
    code = f"import sys, siamese_cbow; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
