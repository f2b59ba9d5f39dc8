"""A corpus: files, folders, globs, standard input or any iterable of text, read block by block.

    corpus = Corpus("books/", TextSettings(boundary="paragraph"))
    for block in corpus.blocks():          # sequential and cheap: reading and decompressing
        lines = corpus.lines(block)        # pure and heavy: any thread may do it

Nothing is read until `blocks()`. Does not tokenise, does not count words, keeps nothing of the text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import TextStream, cut_overlong, line_chunks
from siamese_cbow.text.groups import group_layout_of, row_layout_of
from siamese_cbow.text.inputs import GROUP_ENDINGS, LIST_ENDINGS, TABLE_ENDINGS, TEXT_ENDINGS, ending_of, find_files
from siamese_cbow.text.layout import Evidence, evidence_of
from siamese_cbow.text.lines import finished_lines
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import (
    BLOCK_BYTES,
    MARK,
    SAMPLE_BYTES,
    GroupLayout,
    Layout,
    Lines,
    RawBlock,
    TextSettings,
)
from siamese_cbow.text.rows import ITERABLE, Texts, block_sized, check_is_iterable, checked_items, item_batches
from siamese_cbow.text.table_files import table_batches

__all__ = ["Corpus", "Lines", "RawBlock", "TextSettings", "Texts"]


class Corpus:
    """Text to be read.

    inputs       what was given: a path, a folder, a glob, "-", a list of those; or an iterable of strings or of lists
                 of strings (one list per document); `Texts([...])` for a plain list of strings
    settings     how it is read
    files        the files found, to tell by whether the text has changed; empty where there is more than files
    total_bytes  the size of the files on disk, for a progress bar; None where it can't be known
    layouts      which source was read in which layout; filled while `blocks()` runs
    """

    def __init__(self, inputs: Any, settings: TextSettings | None = None) -> None:
        self.inputs = inputs
        self.settings = settings or TextSettings()
        self.layouts: dict[str, Layout | GroupLayout] = {}
        self._was_read = False
        self._pooled = Evidence()
        self._items = _items(inputs)
        endings = GROUP_ENDINGS if self.settings.kind == "groups" else TEXT_ENDINGS + TABLE_ENDINGS
        self._paths = [] if self._items is not None else find_files(_paths(inputs), endings=endings)
        files = [path for path in self._paths if path is not None and path.is_file()]
        self.files: list[Path] = files if len(files) == len(self._paths) else []
        self.total_bytes: int | None = sum(path.stat().st_size for path in files) if self.files else None

    @property
    def can_be_read_again(self) -> bool:
        """False for standard input, pipes and generators: their text is gone after one `blocks()`."""
        return bool(self.files) if self._items is None else not isinstance(self._items, Iterator)

    def layout_of(self, source: str | Path) -> Layout | GroupLayout:
        """In which layout a source was read; known when its blocks have been read."""
        return self.layouts[str(source)]

    def blocks(self) -> Iterator[RawBlock]:
        """The text in order, about 4 MB at a time; small files share a block."""
        if self._was_read and not self.can_be_read_again:
            raise InputError(
                "this text was read already and can't be read again; give files, a list, or an object whose "
                "__iter__ starts anew"
            )
        self._was_read = True
        self._pooled = Evidence()
        blocks: Iterator[RawBlock]
        if self._items is None:
            blocks = itertools.chain.from_iterable(map(self._file_blocks, self._paths))
        elif self.settings.kind == "groups":
            blocks = self._row_blocks(item_batches(self._items, groups=True), ITERABLE)
        else:
            blocks = self._row_blocks(item_batches(checked_items(self._items)), ITERABLE)
        return blocks if self.settings.kind == "groups" else _merged(blocks)

    def lines(self, block: RawBlock) -> Lines:
        """The sentences of a block; pure and safe in any thread."""
        return finished_lines(block, self.settings)

    def _file_blocks(self, path: Path | None) -> Iterator[RawBlock]:
        groups = self.settings.kind == "groups"
        if path is not None and ending_of(path) in (LIST_ENDINGS if groups else TABLE_ENDINGS):
            return self._row_blocks(table_batches(path, self.settings.text_column), str(path))
        return self._text_blocks(path)

    def _text_blocks(self, path: Path | None) -> Iterator[RawBlock]:
        with open_bytes(path) as stream:
            text = TextStream(stream)
            layout = self._layout(text.head, text.name)
            last: RawBlock | None = None
            done = 0
            for chunk in line_chunks(
                text.reads(),
                text.name,
                by="paragraph" if layout == "wrapped" else "line",
                cut_long=layout in ("paragraphs", "wrapped"),
            ):
                if last:
                    yield last
                before, done = done, text.position()
                last = RawBlock(
                    chunk.data, text.name, layout, done - before, chunk.first_line, layout != "wrapped", chunk.n_cut
                )
            last = last or RawBlock(b"", text.name, layout, 0)
            yield replace(last, data=last.data + MARK, n_source_bytes=last.n_source_bytes + text.position() - done)

    def _row_blocks(self, batches: Iterator[tuple[list[bytes], int]], name: str) -> Iterator[RawBlock]:
        layout: Layout | GroupLayout | None = None
        n_rows = 0
        for documents, n_source_bytes in block_sized(batches):
            data = b"".join(documents)
            layout = layout or self._layout(data.replace(MARK, b"\n"), name, rows=data)
            data, n_cut = cut_overlong(data, name, cut_long=layout != "sentences")
            yield RawBlock(data, name, layout, n_source_bytes, n_rows + 1, False, n_cut)
            n_rows += len(documents)

    def _layout(self, sample: bytes, name: str, rows: bytes | None = None) -> Layout | GroupLayout:
        """What was asked for, or what the sample looks like; a sample of few lines is pooled with others before it."""
        if self.settings.kind == "groups":
            n_columns = self.settings.n_columns
            self.layouts[name] = (
                group_layout_of(sample, name, n_columns) if rows is None else row_layout_of(rows, name, n_columns)
            )
        elif self.settings.layout != "auto":
            self.layouts[name] = self.settings.layout
        else:
            evidence = evidence_of(sample[:SAMPLE_BYTES], is_whole=len(sample) < SAMPLE_BYTES)
            if not evidence.is_enough:
                evidence = self._pooled = self._pooled + evidence
            self.layouts[name] = evidence.layout
        return self.layouts[name]


def _items(inputs: Any) -> Iterable[Any] | None:
    """The iterable of texts that was given, or None where names of files were."""
    items: Iterable[Any] = inputs.texts if isinstance(inputs, Texts) else inputs
    if isinstance(inputs, Texts) and isinstance(items, str):
        raise InputError(f"Texts({items[:40]!r}) holds one string; expected an iterable of strings: Texts([...])")
    if isinstance(items, str | Path):
        return None
    if isinstance(inputs, list | tuple) and all(isinstance(item, str | Path) for item in inputs):
        return None
    check_is_iterable(items)
    return items


def _paths(inputs: str | Path | list[str | Path]) -> list[str | Path]:
    return [inputs] if isinstance(inputs, str | Path) else inputs


def _merged(blocks: Iterator[RawBlock]) -> Iterator[RawBlock]:
    """Small whole files of one layout joined, so that a folder of tiny files costs no more than one big file."""
    waiting: list[RawBlock] = []
    size = 0
    for block in blocks:
        is_whole = block.first_line == 1 and block.data.endswith(MARK)
        if waiting and not (is_whole and _alike(waiting[0], block) and size + len(block.data) <= BLOCK_BYTES):
            yield _joined(waiting)
            waiting, size = [], 0
        if is_whole:
            waiting.append(block)
            size += len(block.data)
        else:
            yield block
    if waiting:
        yield _joined(waiting)


def _alike(one: RawBlock, other: RawBlock) -> bool:
    return (one.layout, one.blank_ends_document) == (other.layout, other.blank_ends_document)


def _joined(blocks: list[RawBlock]) -> RawBlock:
    if len(blocks) == 1:
        return blocks[0]
    return replace(
        blocks[0],
        data=b"".join(block.data for block in blocks),
        n_source_bytes=sum(block.n_source_bytes for block in blocks),
        n_cut=sum(block.n_cut for block in blocks),
    )
