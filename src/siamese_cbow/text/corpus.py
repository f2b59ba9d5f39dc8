"""A corpus: sentences for training, from files, folders, globs, standard input or any iterable of text.

    corpus = Corpus("books/", TextSettings(boundary="paragraph"))
    for block in corpus.blocks():          # sequential and cheap: reading and decompressing
        lines = corpus.lines(block)        # pure and heavy: any thread may do it

Nothing is read until `blocks()`. Does not tokenise or count words, and keeps none of the text.

Several machines can read the files, and parts of large ones, independently; together they give the same blocks:

    looks = [look_at(path, settings) for path in paths]      in any order, anywhere
    layouts = chosen_layouts(looks)                          as `Corpus` would choose them, one file after the other
    part_blocks(read, "a.txt", n_bytes, range(16, 32), ...)  some blocks of a large file
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError, listed
from siamese_cbow.text.chunks import BOM, Overlong, Unit, line_chunks, unit_end
from siamese_cbow.text.encodings import UTF8, Decoder, Decoding
from siamese_cbow.text.inputs import ITERABLE, Inputs, item_batches
from siamese_cbow.text.languages import Detected
from siamese_cbow.text.layout import Evidence, LayoutPool, sample_evidence
from siamese_cbow.text.opening import COMPRESSIONS
from siamese_cbow.text.reader import Form, file_blocks, format_of, language_of, record_blocks, walk_of
from siamese_cbow.text.records import (
    BLOCK_BYTES,
    MARK,
    SAMPLE_BYTES,
    AnyLayout,
    Lines,
    RawBlock,
    TextSettings,
    text_settings,
)
from siamese_cbow.text.sentences import Split, group_layout_of, group_lines, sentence_lines
from siamese_cbow.text.splitters import split_lines


class Corpus:
    """Text to be read.

    inputs       a path, a folder, a glob, "-", a list of those; or an iterable of strings or of lists of strings (one
                 list per document); `Texts([...])` for a plain list of strings
    settings     how it is read
    files        the files behind it, to detect changes of the text; empty if there are other inputs
    total_bytes  the size of the files on disk, for a progress bar; None if unknown
    layouts      the layout of each source; filled while `blocks()` runs
    language     that of the settings, or else detected: from some of the files, or from the first block of an input
                 that can be read only once
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
        self._pool = LayoutPool()
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
        """The language of the text, and how it was found. From the first call on, the settings have it too."""
        if self._language is None:
            self._opened = self._open()
        assert self._language is not None
        return self._language

    def layout_of(self, source: str | Path) -> AnyLayout:
        """The layout of a source; known once its blocks have been read."""
        if str(source) not in self.layouts:
            known = listed(list(self.layouts)) or "none yet: read its blocks first"
            raise InputError(f"no layout of {str(source)[:60]!r}; expected a source that was read ({known})")
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
        self._pool = LayoutPool()
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

        split  the function that splits running text: `Splitters.split` does so in other processes
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
            self.layouts[name] = self._pool.layout(sample_evidence(sample))
        return self.layouts[name], "refuse" if self.layouts[name] in ("sentences", "TSV", "PPDB") else "cut"


# Small files are joined, so that a folder of tiny files costs no more than one big file.


def _kind(block: RawBlock) -> tuple[AnyLayout, bool] | None:
    """The properties that joined blocks share; None for a block that is neither a whole file nor starts a table."""
    return (block.layout, block.marked) if block.first == 1 and block.data.endswith(MARK) else None


class _Joining:
    """Decides, block after block, which blocks are joined."""

    def __init__(self) -> None:
        self._kind: object = None
        self._size = 0

    def joins(self, kind: object, n_bytes: int) -> bool:
        """Whether the next block joins those before it: all of one kind (not None), and not too large together."""
        is_joined = kind is not None and kind == self._kind and self._size + n_bytes <= BLOCK_BYTES
        self._kind, self._size = kind, n_bytes + (self._size if is_joined else 0)
        return is_joined


def _merged(blocks: Iterator[RawBlock]) -> Iterator[RawBlock]:
    waiting, joining = list[RawBlock](), _Joining()
    for block in blocks:
        kind = _kind(block)
        if not joining.joins(kind, len(block.data)) and waiting:
            yield _joined(waiting)
            waiting = []
        if kind is None:
            yield block
        else:
            waiting.append(block)
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


# Files and parts of files, read independently


@dataclass(frozen=True)
class FileLook:
    """What the beginning of a file shows.

    evidence    of its layout, if that is still to be chosen
    layout      if there is nothing to choose; None for a file without a block
    n_bytes     of its first block
    is_joined   its first block may be joined with those of the files before
    marked      its records end with marks
    is_cuttable parts of it can be read independently: plain lines in UTF-8
    """

    evidence: Evidence | None = None
    layout: AnyLayout | None = None
    n_bytes: int = 0
    is_joined: bool = False
    marked: bool = False
    is_cuttable: bool = False


def look_at(path: Path, settings: TextSettings) -> FileLook:
    """Opens a file and reads its first block."""
    corpus, evidence = Corpus([path], settings), None

    def choose(sample: bytes, name: str, form: Form) -> tuple[AnyLayout, Overlong]:
        nonlocal evidence
        if settings.kind == "text" and settings.layout == "auto" and form != "paragraphs":
            evidence = sample_evidence(sample)
        return corpus.choose(sample, name, form)

    block = next(file_blocks(path, settings, choose, corpus.decoding), None)
    if block is None:
        return FileLook()
    kind = format_of(path)
    plain = settings.kind == "text" and not (kind.is_table or kind.document) and path.suffix.lower() not in COMPRESSIONS
    in_utf8 = not corpus.decoding.found and corpus.decoding.codec in (None, UTF8)
    is_cuttable = plain and in_utf8 and b"\n" in block.data.removesuffix(MARK)
    layout = None if evidence else block.layout
    return FileLook(evidence, layout, len(block.data), _kind(block) is not None, block.marked, is_cuttable)


def chosen_layouts(looks: Sequence[FileLook]) -> list[AnyLayout | None]:
    """The layout of each file as `Corpus` chooses it, one after the other; None for a file without a block."""
    pool = LayoutPool()
    return [look.layout if look.evidence is None else pool.layout(look.evidence) for look in looks]


def first_of_blocks(looks: Sequence[FileLook], layouts: Sequence[AnyLayout | None]) -> list[bool]:
    """For each file, whether a block begins with it: files are joined as `Corpus` joins them."""
    joining = _Joining()
    kinds = ((layout, look.marked) if look.is_joined else None for look, layout in zip(looks, layouts, strict=True))
    return [not joining.joins(kind, look.n_bytes) for look, kind in zip(looks, kinds, strict=True)]


def piece_start(number: int) -> int:
    """Where the n-th piece begins in a file that is read from its start: 0, 1 MB, 5 MB, 9 MB, ..."""
    return 0 if number == 0 else SAMPLE_BYTES + (number - 1) * BLOCK_BYTES


def n_pieces(n_bytes: int) -> int:
    """The number of pieces in a file of this many bytes: `n_pieces(5 << 20)` -> 2."""
    return 1 if n_bytes <= SAMPLE_BYTES else 1 - (SAMPLE_BYTES - n_bytes) // BLOCK_BYTES


def part_blocks(
    read: Callable[[int, int], bytes], name: str, n_bytes: int, pieces: range, layout: AnyLayout, overlong: Overlong
) -> Iterator[RawBlock]:
    """The blocks that some pieces of a plain file in UTF-8 give when it is read from its start.

    read     read(2, 5) gives bytes 2, 3, 4 of the file
    n_bytes  of the file
    """
    by: Unit = "paragraph" if layout == "wrapped" else "line"
    is_last = pieces.stop == n_pieces(n_bytes)
    begin = unit_end(read, piece_start(pieces.start), by)
    end = n_bytes if is_last else unit_end(read, piece_start(pieces.stop), by)
    bounds = [begin, *(piece_start(i) for i in pieces[1:]), end]
    spans = [(a, min(b, end)) for a, b in itertools.pairwise(bounds) if a < min(b, end)]
    cleaned = (read(a, b).replace(b"\0", b" ") for a, b in spans)
    texts = (text.removeprefix(BOM) if i == begin == 0 else text for i, text in enumerate(cleaned))
    last = RawBlock(b"", name, layout, 0)
    for chunk in line_chunks(_in_utf8(texts, name), name, by=by, overlong=overlong):
        if last.data:
            yield last
        last = RawBlock(chunk.data, name, layout, len(chunk.data), chunk.first_line, chunk.n_cut)
    if is_last:
        last = replace(last, data=last.data + MARK)
    if last.data:
        yield last


def _in_utf8(texts: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The texts unchanged; an error if one is clearly in another encoding, though the file began in ASCII."""
    for text in texts:
        if not text.isascii() and Decoder(name, Decoding(), text[:SAMPLE_BYTES]).encoding not in (None, UTF8):
            raise InputError(f"{name} is not UTF-8 throughout; name its encoding: --encoding NAME")
        yield text
