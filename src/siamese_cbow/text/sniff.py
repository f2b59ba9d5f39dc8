"""Is this text? Looks at the first bytes of a file and refuses what is clearly something else, saying what it is.

Broken UTF-8 here and there is no reason to refuse: it is replaced and counted later. What is refused: known file
types, UTF-16, and heads full of control bytes or of bytes that aren't UTF-8.
"""

from __future__ import annotations

from siamese_cbow.errors import InputError

HEAD_BYTES = 1 << 16

COMPRESSIONS: dict[str, tuple[bytes, ...]] = {  # ending -> how such a file starts
    ".gz": (b"\x1f\x8b",),
    ".bz2": (b"BZh",),
    ".xz": (b"\xfd7zXZ\0",),
    ".zst": (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))),
}

_KNOWN_FILES: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF", "extract its text first, for example: pdftotext {name}"),
    (b"\x89PNG", "a PNG image", "give text files"),
    (b"\xff\xd8\xff", "a JPEG image", "give text files"),
    (b"GIF8", "a GIF image", "give text files"),
    (b"PK\x03\x04", "a zip archive (or an office document or e-book)", "unpack or export it as text first"),
    (b"Rar!\x1a", "a RAR archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"\x7fELF", "a program", "give text files"),
    (b"\xd0\xcf\x11\xe0", "an old office document", "export it as text first"),
    (b"{\\rtf", "an RTF document", "export it as text first"),
    (b"SQLite format 3\0", "an SQLite database", "export the text as .jsonl first"),
    (b"\x93NUMPY", "a NumPy array", "give text files"),
    (b"\x89HDF", "an HDF5 file", "give text files"),
    (b"PAR1", "a Parquet file", "rename it so that it ends in .parquet"),
    (b"ARROW1\0", "an Arrow file", "write it as .parquet"),
)
_CONTROL = bytes(set(range(32)) - set(b"\t\n\x0b\x0c\r\x1b") | {127})  # escape stays: coloured logs are text


def compression_of(head: bytes) -> str | None:
    r"""The ending a file with these first bytes should have: `compression_of(b"\x1f\x8b\x08")` -> '.gz'."""
    return next((ending for ending, starts in COMPRESSIONS.items() if head.startswith(starts)), None)


def check_is_text(head: bytes, name: str) -> None:
    """Raise an InputError when `head`, the first bytes of the input called `name`, is clearly no UTF-8 text."""
    head = head[:HEAD_BYTES]
    if ending := compression_of(head):
        raise InputError(f"{name} is compressed, but its name doesn't say so; rename it so that it ends in {ending}")
    for start, what, advice in _KNOWN_FILES:
        if head.startswith(start):
            raise InputError(f"{name} is {what}, not text; {advice.format(name=name)}")
    if encoding := _wide_encoding(head):
        raise InputError(
            f"{name} is in {encoding}, expected UTF-8; type: iconv -f {encoding} -t UTF-8 {name} > {name}.utf8.txt"
        )
    _check_bytes(head, name)


def _check_bytes(head: bytes, name: str) -> None:
    n_control = len(head) - len(head.translate(None, _CONTROL))
    if n_control >= 16 and n_control > 0.1 * len(head):
        raise InputError(
            f"{name} looks binary: {n_control:,} of its first {len(head):,} bytes are control bytes; give text files"
        )
    decoded = head.decode("utf-8", "replace")
    n_broken = decoded.count("\ufffd") - head.count(b"\xef\xbf\xbd")
    if n_broken >= 64 and n_broken > 0.2 * len(decoded):
        raise InputError(
            f"{name} is not UTF-8: {n_broken:,} of its first {len(decoded):,} characters can't be decoded; if it is "
            f"text in another encoding, convert it: iconv -f WINDOWS-1252 -t UTF-8 {name} > {name}.utf8.txt"
        )


def _wide_encoding(head: bytes) -> str | None:
    r"""UTF-16 or UTF-32, by the byte order mark or by its zeros: `_wide_encoding(b"h\0e\0l\0l\0o\0 ...")`."""
    for start, encoding in ((b"\xff\xfe\0\0", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
        if head.startswith(start):
            return encoding
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if half < 16:
        return None
    if odd > 0.3 * half and even < 0.05 * half:
        return "UTF-16LE"
    if even > 0.3 * half and odd < 0.05 * half:
        return "UTF-16BE"
    return None
