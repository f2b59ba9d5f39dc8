"""Fixtures that many tests share."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

with suppress(ImportError):  # loading onnxruntime after usearch crashes the process; this order works
    import onnxruntime  # noqa: F401

settings.register_profile("siamese-cbow", deadline=None)  # durations say more about the machine than about the code
settings.load_profile("siamese-cbow")

# Real data is not part of the repository: it is next to the checkout, or where the variable says.
SHARED_DATA = Path(os.environ.get("SIAMESE_CBOW_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data next to the checkout: STS sets, corpora, caption pairs."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real data at {SHARED_DATA}; set SIAMESE_CBOW_DATA to its folder")
    return SHARED_DATA
