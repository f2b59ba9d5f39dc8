"""Sentence splitting of running text."""

from __future__ import annotations

from siamese_cbow.text.records import RawBlock, TextSettings


def split_paragraphs(text: bytes, block: RawBlock, settings: TextSettings) -> bytes:
    """Running text -> one sentence a line, an empty line at each boundary."""
    raise NotImplementedError
