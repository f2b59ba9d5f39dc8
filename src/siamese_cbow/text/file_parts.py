"""Files and parts of files, read independently; together they give the blocks of the whole corpus.

looks = [look_at(path, settings) for path in paths]      in any order, anywhere
layouts = chosen_layouts(looks)                          as `Corpus` would choose them, one file after the other
part_blocks(read, "a.txt", n_bytes, range(16, 32), ...)  some blocks of a large file
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import BOM, Overlong, line_chunks, unit_end
from siamese_cbow.text.corpus import Corpus, is_whole
from siamese_cbow.text.encodings import UTF8, Decoder, Decoding
from siamese_cbow.text.layout import Evidence, LayoutPool, sample_evidence
from siamese_cbow.text.opening import COMPRESSIONS
from siamese_cbow.text.reader import Form, file_blocks, format_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, SAMPLE_BYTES, AnyLayout, RawBlock, TextSettings


@dataclass(frozen=True)
class FileLook:
    """What the beginning of a file shows.

    evidence    of its layout, if that is to be chosen
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
    in_utf8 = not corpus.decoding.found and settings.encoding in (None, "utf-8", "utf8", "UTF-8")
    is_cuttable = plain and in_utf8 and b"\n" in block.data.removesuffix(MARK)
    layout = None if evidence else block.layout
    return FileLook(evidence, layout, len(block.data), is_whole(block), block.marked, is_cuttable)


def chosen_layouts(looks: Sequence[FileLook]) -> list[AnyLayout | None]:
    """The layout of each file as `Corpus` chooses it, one after the other; None for a file without a block."""
    pool = LayoutPool()
    return [look.layout if look.evidence is None else pool.layout(look.evidence) for look in looks]


def first_of_blocks(looks: Sequence[FileLook], layouts: Sequence[AnyLayout | None]) -> list[bool]:
    """For each file, whether a block begins with it: files are joined as `Corpus` joins them."""
    begins, size, before = list[bool](), 0, None
    for look, layout in zip(looks, layouts, strict=True):
        alike = look.is_joined and before == (layout, look.marked) and size + look.n_bytes <= BLOCK_BYTES
        begins.append(not alike)
        size = look.n_bytes + (size if alike else 0)
        before = (layout, look.marked) if look.is_joined else None
    return begins


def piece_start(number: int) -> int:
    """Where the n-th piece begins in a file that is read from its start: 0, 1 MB, 5 MB, 9 MB, ..."""
    return 0 if number == 0 else SAMPLE_BYTES + (number - 1) * BLOCK_BYTES


def n_pieces(n_bytes: int) -> int:
    """The number of pieces in a file of this many bytes."""
    return 1 if n_bytes <= SAMPLE_BYTES else 1 - (SAMPLE_BYTES - n_bytes) // BLOCK_BYTES


def part_blocks(
    read: Callable[[int, int], bytes], name: str, n_bytes: int, pieces: range, layout: AnyLayout, overlong: Overlong
) -> Iterator[RawBlock]:
    """The blocks that some pieces of a plain file in UTF-8 give when it is read from its start.

    read     read(2, 5) gives bytes 2, 3, 4 of the file
    n_bytes  of the file
    """
    by: Literal["line", "paragraph"] = "paragraph" if layout == "wrapped" else "line"
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
    """The same texts; an error if one is clearly in another encoding, though the file began in ASCII."""
    for text in texts:
        if not text.isascii() and Decoder(name, Decoding(), text[:SAMPLE_BYTES]).encoding not in (None, UTF8):
            raise InputError(f"{name} is not UTF-8 throughout; name its encoding: --encoding NAME")
        yield text
