"""NumPy for small commands: without the threads that its linear algebra starts at once and waits for at the end."""

from __future__ import annotations

import os
import sys

VARIABLE = "OPENBLAS_NUM_THREADS"


def import_numpy_quickly() -> None:
    """Imports NumPy with one thread, unless it is there already or the user has said how many there should be.

    That is a third of the time that a small command takes. OpenBLAS reads the variable only while it is loaded, so it
    is taken away again: programs that this one starts must not inherit it.
    """
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = "1"
    try:
        import numpy  # noqa: F401 (for its effect)
    finally:
        del os.environ[VARIABLE]
