"""Fixtures that many tests share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

with suppress(ImportError):  # loaded after usearch, onnxruntime ends the process; the other way round both work
    import onnxruntime  # noqa: F401

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout: STS sets, corpora, caption pairs."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"real data not found at {SHARED_DATA}")
    return SHARED_DATA
