"""The layout of a word vector file, and its rows as bytes, (word, numbers). `vector_files` turns them into arrays.

The layout follows from the content, not the name; `.gz`, `.bz2` and `.xz` are decompressed on the fly. Sizes in a
header are claims: they are checked against the size of the file and the rows that actually arrive.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.text.opening import check_is_no_other_file, compression_of

HEAD = 1 << 20  # bytes inspected to find the layout
CHUNK = 1 << 22  # bytes read at a time
MAX_DIM = 65_536
MAX_WORD = 65_536  # bytes; a longer "word" means it is not a word vector file
ADVICE = "it is damaged, truncated, or not a word vector file"

# First bytes of a file -> what it is, and what to do
FOREIGN = (
    (b"\x80", "a pickle, which could run code when loaded; save it from gensim with `save_word2vec_format`"),
    (b"\xba\x16\x4f\x2f", "a fastText model; use the .vec file that fastText writes next to it"),
    (b"PK\x03\x04", "a zip archive; unpack it and pass the .txt or .vec file inside"),
    (b"\x93NUMPY", "a NumPy array without words; pass a word2vec, GloVe or fastText .vec file"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)
COMPRESSIONS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@dataclass(frozen=True)
class VectorLayout:
    """The layout found at the beginning of a file. "3 2\\nthe 0.1 0.2\\n..." -> VectorLayout(path, False, 3, 2)."""

    path: Path
    binary: bool
    n_words: int | None  # what the header claims; None without a header
    dim: int

    def place(self, number: int) -> str:
        """The position of row `number` (from 1), for messages."""
        return f"{self.path}, " + (f"word {number}" if self.binary else f"line {number + (self.n_words is not None)}")

    def rows(self, file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Each row as (word, numbers), still as bytes; an InputError when the header's count is wrong."""
        if self.n_words is not None:
            file.readline(HEAD)
        number = 0
        for number, row in enumerate(self._binary_rows(file) if self.binary else self._text_rows(file), start=1):
            if self.n_words is not None and number > self.n_words:
                break
            yield row
        if self.n_words is not None and number != self.n_words:
            real = f"the file has {number:,}" if number < self.n_words else "the file has more"
            raise InputError(f"{self.path}: the header promises {self.n_words:,} words, but {real}; {ADVICE}")

    def parse(self, numbers: bytes) -> NDArray[np.float32]:
        """The numbers of a row, (dim,) float32; ValueError if they are not `dim` numbers."""
        if self.binary:
            return np.frombuffer(numbers, dtype="<f4").astype(np.float32)
        # Arrow's CSV reader would be 2.3 times faster here, but words with spaces break its columns.
        try:
            with np.errstate(over="ignore"):
                row = np.array(numbers.split(), dtype=np.float32)
        except ValueError:
            raise ValueError(f"found {numbers[:40].decode('utf-8', 'replace')!r}") from None
        if len(row) != self.dim:
            raise ValueError(f"found {len(row)}")
        return row

    def _text_rows(self, file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
        longest = MAX_WORD + 64 * self.dim
        number = 0
        while line := file.readline(longest):
            number += 1
            if len(line) == longest:
                raise InputError(f"{self.place(number)} is longer than {longest:,} bytes; {ADVICE}")
            word, _, numbers = line.rstrip(b" \t\r\n").partition(b" ")
            if numbers.count(b" ") != self.dim - 1 or b"\t" in word:
                word, numbers = self._odd_row(line)
            if word or numbers:
                yield word, numbers

    def _odd_row(self, line: bytes) -> tuple[bytes, bytes]:
        """A row whose word has spaces or is empty, or with odd spacing: b"New York 1 2" -> (b"New York", b"1 2")."""
        fields = line.split()
        if len(fields) == self.dim and line[:1].isspace():
            return b"", b" ".join(fields)
        n_word = max(1, len(fields) - self.dim)
        return b" ".join(fields[:n_word]), b" ".join(fields[n_word:])

    def _binary_rows(self, file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
        size = 4 * self.dim
        buffer, position = b"", 0
        while True:
            space = buffer.find(b" ", position)
            if space >= 0 and space + 1 + size <= len(buffer):
                # word2vec.c ends each row with a newline, gensim doesn't.
                yield buffer[position:space].lstrip(b"\n"), buffer[space + 1 : space + 1 + size]
                position = space + 1 + size
                continue
            more = file.read(CHUNK)
            if not more or (space < 0 and len(buffer) - position > MAX_WORD):
                break
            buffer, position = buffer[position:] + more, 0
        if rest := buffer[position:].strip(b"\n"):
            raise InputError(f"{self.path}: the last {len(rest):,} bytes are not a whole row; {ADVICE}")


def find_layout(path: Path) -> VectorLayout:
    """The layout of a file; an InputError that says what else it is, if it isn't a word vector file."""
    with opened(path) as file:
        head = file.read(HEAD)
    for start, advice in FOREIGN:
        if head.startswith(start):
            raise InputError(f"{path} is {advice}")
    check_is_no_other_file(head, str(path))
    first, *others = head.split(b"\n", 100)
    header = re.fullmatch(rb"\s*(\d{1,18})\s+(\d{1,18})\s*", first)
    # "5 3" above "6 4" are two words of one dimension, not a header that promises 5 words of dim 3. But one such line
    # may occur in any binary file: the first number of "the" may begin with the bytes of "9" and a newline.
    lines = [line for line in others if line.strip()]
    alike = sum(re.fullmatch(rb"\S+[ \t]+[-+.\deE]+\s*", line) is not None for line in lines)
    if header and (2 * alike <= len(lines) or int(header[2]) == 1):
        n_words, dim = int(header[1]), int(header[2])
        layout = VectorLayout(path, _is_binary(head[len(first) + 1 :], dim), n_words, dim)
    else:
        # The most common number of fields: words with spaces and damaged lines are rarer. The last piece may be cut.
        fields = Counter(len(line.split()) for line in [first, *others[:-1]] if line.strip())
        layout = VectorLayout(path, False, None, fields.most_common(1)[0][0] - 1 if fields else 0)
    if not 1 <= layout.dim <= MAX_DIM:
        raise InputError(f"{path} does not look like word vectors: expected lines such as `cat 0.3 0.4`; {ADVICE}")
    _check_size(layout)
    return layout


def opened(path: Path) -> IO[bytes]:
    """The file, decompressed if needed, without a byte order mark."""
    decompress = _decompressor(path)
    file: Any = decompress(path, "rb") if decompress else path.open("rb", buffering=CHUNK)
    if file.peek(3).startswith(BOM_UTF8):
        file.read(3)
    peeked: IO[bytes] = file
    return peeked


def _decompressor(path: Path) -> Callable[..., Any] | None:
    with path.open("rb") as file:
        head = file.read(8)
    return COMPRESSIONS.get(compression_of(head) or "")


def _is_binary(start: bytes, dim: int) -> bool:
    """Whether rows are binary, judged by the bytes after the header."""
    fields = start.partition(b"\n")[0].split()
    if len(fields) > dim and all(re.fullmatch(rb"[-+.\deEnaif]+", field) for field in fields[-dim:]):
        return False
    # It is not a row of text; but damaged text is still text, and deserves its own message.
    return re.search(rb"[^\t-\r -~]", start[start.find(b" ") + 1 :][: 4 * dim]) is not None


def _check_size(layout: VectorLayout) -> None:
    """A plain file can't be shorter than its header's claim: at least a one-byte word and the numbers for each row."""
    if layout.n_words is None or _decompressor(layout.path):
        return
    least = layout.n_words * (2 + (4 * layout.dim if layout.binary else 2 * layout.dim - 1))
    if (size := layout.path.stat().st_size) < least:
        raise InputError(
            f"{layout.path}: the header promises {layout.n_words:,} words of dim {layout.dim}, at least "
            f"{least:,} bytes, but the file has {size:,}; {ADVICE}"
        )
