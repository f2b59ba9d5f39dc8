"""The kernel that distinguishes UTF-8 from other bytes agrees with Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.machine.utf8 import is_utf8

PIECES = st.one_of(st.binary(max_size=12), st.text(max_size=12).map(lambda text: text.encode("utf-8", "surrogatepass")))


def python_says(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(PIECES, max_size=8).map(b"".join))
def test_any_bytes(data: bytes) -> None:
    assert is_utf8(np.frombuffer(data, np.uint8)) == python_says(data)


@pytest.mark.parametrize("lead", range(0x80, 0x100))
def test_every_first_and_second_byte(lead: int) -> None:
    for second in range(256):
        for tail in (b"", b"\x80", b"\x80\x80", b"\x80\xc0", b"aaaaaaaaaaaa"):
            data = b"plain letters " + bytes([lead, second]) + tail
            assert is_utf8(np.frombuffer(data, np.uint8)) == python_says(data), data
