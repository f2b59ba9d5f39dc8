"""A corpus: sentences for training, from files, folders, globs, standard input or any iterable of text.

    corpus = Corpus("books/", TextSettings(boundary="paragraph"))
    for block in corpus.blocks():          # sequential and cheap: reading and decompressing
        lines = corpus.lines(block)        # pure and heavy: any thread may do it

Nothing is read until `blocks()`. Does not tokenise, does not count words, keeps nothing of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import Overlong
from siamese_cbow.text.inputs import ITERABLE, Inputs, item_batches
from siamese_cbow.text.languages import Detected
from siamese_cbow.text.layout import Evidence, sample_evidence
from siamese_cbow.text.reader import Form, file_blocks, language_of, record_blocks, walk_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, AnyLayout, Lines, RawBlock, TextSettings, text_settings
from siamese_cbow.text.sentences import Split, group_layout_of, group_lines, sentence_lines
from siamese_cbow.text.splitters import split_lines


class Corpus:
    """Text to be read.

    inputs       what was given: a path, a folder, a glob, "-", a list of those; or an iterable of strings or of lists
                 of strings (one list per document); `Texts([...])` for a plain list of strings
    settings     how it is read
    files        the files behind it, to detect changes of the text; empty if there are other inputs
    total_bytes  the size of the files on disk, for a progress bar; None if unknown
    layouts      the layout of each source; filled while `blocks()` runs
    language     that of the settings, or else detected: in some of the files, or in the first block of what can be read
                 only once
    """

    def __init__(
        self, inputs: Any, settings: TextSettings | None = None, *, layouts: Mapping[str, AnyLayout] | None = None
    ) -> None:
        self.inputs = inputs
        self._known_layouts = layouts or {}  # of files examined before, see `look_at`
        self.settings = text_settings(settings)
        self.layouts: dict[str, AnyLayout] = {}
        self.decoding = self.settings.decoding()
        self._was_read = False
        self._language: Detected | None = None
        self._opened: Iterator[RawBlock] | None = None  # blocks opened to detect the language
        self._pooled = Evidence()
        self._inputs = Inputs(inputs, walk_of(self.settings))
        self.files, self.total_bytes = self._inputs.files, self._inputs.total_bytes

    @property
    def can_be_read_again(self) -> bool:
        """False for standard input, pipes and generators: their text is gone after one `blocks()`."""
        return self._inputs.can_be_read_again

    @property
    def remarks(self) -> list[str]:
        """Messages about how the text was read; complete once its blocks have been read."""
        return [*self._inputs.remarks, *self.decoding.remarks()]

    @property
    def language(self) -> Detected:
        """The language of the text, and how it was found. From here on it is in the settings."""
        if self._language is None:
            self._opened = self._open()
        assert self._language is not None
        return self._language

    def layout_of(self, source: str | Path) -> AnyLayout:
        """The layout of a source; known once its blocks have been read."""
        return self.layouts[str(source)]

    def blocks(self) -> Iterator[RawBlock]:
        """The text in order, about 4 MB at a time; small files share a block."""
        blocks, self._opened = self._opened, None
        return self._open() if blocks is None else blocks

    def _open(self) -> Iterator[RawBlock]:
        if self._was_read and not self.can_be_read_again:
            raise InputError(
                "this text can be read only once and was already read; pass files, a list, or an object "
                "whose __iter__ starts over"
            )
        self._was_read = True
        self._pooled = Evidence()
        groups = self.settings.kind == "groups"
        blocks: Iterator[RawBlock]
        if self._inputs.items is not None:
            batches = item_batches(self._inputs.items, groups=groups)
            blocks = record_blocks(batches, ITERABLE, self.choose)
        else:
            blocks = self._inputs.blocks(lambda path: file_blocks(path, self.settings, self.choose, self.decoding))
        if self._language is None:
            self._language, blocks = language_of(self._inputs, self.settings, blocks)
            self.settings = replace(self.settings, language=self._language.language.code)
        return blocks if groups else _merged(blocks)

    def lines(self, block: RawBlock, split: Split = split_lines) -> Lines:
        """The sentences of a block, or the members of groups; pure and safe in any thread.

        split  what splits running text: `Splitters.split` does it in other processes
        """
        if self.settings.kind == "groups":
            return group_lines(block, self.settings.n_columns)
        return sentence_lines(block, self.settings, split)

    def choose(self, sample: bytes, name: str, form: Form) -> tuple[AnyLayout, Overlong]:
        """The requested layout, or that of the sample; a sample of few lines is pooled with earlier ones."""
        if name in self._known_layouts:
            self.layouts[name] = self._known_layouts[name]
        elif self.settings.kind == "groups":
            self.layouts[name] = group_layout_of(sample, name, self.settings.n_columns, marked=form == "records")
        elif form == "paragraphs":
            self.layouts[name] = "paragraphs"
        elif self.settings.layout != "auto":
            self.layouts[name] = self.settings.layout
        else:
            evidence = sample_evidence(sample)
            if not evidence.is_enough:
                evidence = self._pooled = self._pooled.pooled(evidence)
            self.layouts[name] = evidence.layout
        return self.layouts[name], "refuse" if self.layouts[name] in ("sentences", "TSV", "PPDB") else "cut"


def is_whole(block: RawBlock) -> bool:
    """Whether a block is a whole small file, or the first records of a table, and so may be joined with others."""
    return block.first == 1 and block.data.endswith(MARK)


def _merged(blocks: Iterator[RawBlock]) -> Iterator[RawBlock]:
    """Small whole files of one layout joined, so that a folder of tiny files costs no more than one big file."""
    waiting: list[RawBlock] = []
    size = 0
    for block in blocks:
        whole = is_whole(block)
        is_alike = waiting and (waiting[0].layout, waiting[0].marked) == (block.layout, block.marked)
        if waiting and not (whole and is_alike and size + len(block.data) <= BLOCK_BYTES):
            yield _joined(waiting)
            waiting, size = [], 0
        if whole:
            waiting.append(block)
            size += len(block.data)
        else:
            yield block
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[RawBlock]) -> RawBlock:
    if len(blocks) == 1:
        return blocks[0]
    return replace(
        blocks[0],
        data=b"".join(block.data for block in blocks),
        n_source_bytes=sum(block.n_source_bytes for block in blocks),
        n_cut=sum(block.n_cut for block in blocks),
        numbers=None,
    )
