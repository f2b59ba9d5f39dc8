r"""Detects the encoding of a text and converts the text to UTF-8.

    decoder = Decoder("a.txt", Decoding(), b"Stra\xdfe")      decoder.utf8(b"Stra\xdfe")  ->  b"Stra\xc3\x9fe"

UTF-8 passes through untouched, at no cost; errors in it are replaced and counted later, by `chunks`. Everything else is
recognised from samples taken all over the file: UTF-16 and UTF-32 by their byte order mark or by what they decode to,
other encodings by charset-normalizer. Text that begins as pure ASCII is decided at its first non-ASCII byte.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from siamese_cbow.errors import InputError, counted, listed
from siamese_cbow.text.alphabets import LABELS, LATIN, best_fit, is_latin, label, relative

MOST_BROKEN = 0.01  # of all characters; more means another encoding
UTF8 = "utf-8"
_REPLACEMENT = "\ufffd"
_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, UTF8),
)
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# The common ones; many others differ from one of these in a few characters, and would only make the choice worse.
_CANDIDATES = [name for name in LABELS if name not in ("iso2022_jp", "iso8859_15")]
_CONTROL = bytes(set(range(32)) - set(b"\t\n\x0b\x0c\r\x1b"))
_SAMPLE = 1 << 15  # bytes for charset-normalizer
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_EAST_ASIAN = re.compile("[\u3000-\u30ff\uff00-\uff60\uac00-\ud7a3]")


@dataclass
class Decoding:
    """How bytes become text, and what was detected on the way.

    encoding  given by the user; None: detect it
    found     source -> encoding, for sources not in UTF-8
    broken    source -> number of broken characters replaced
    notes     source -> further notes on how it was read
    """

    encoding: str | None = None
    found: dict[str, str] = field(default_factory=dict)
    broken: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def codec(self) -> str | None:
        """The given encoding as Python calls it, whatever its spelling: u8, UTF-8 and utf-8-sig are all utf-8."""
        return self.encoding and codecs.lookup(self.encoding).name.removesuffix("-sig")

    def remarks(self) -> list[str]:
        """A line for each encoding: "read as Windows-1252, not UTF-8: a.txt, b.txt and 3 more (...)"."""
        sources: dict[str, list[str]] = {}
        for source, encoding in self.found.items():
            sources.setdefault(encoding, []).append(source)
        advice = "if that is wrong, name the encoding: --encoding NAME"
        lines = [f"read as {label(each)}, not UTF-8: {listed(names)}; {advice}" for each, names in sources.items()]
        if names := [source for source, n in self.broken.items() if n]:
            lines.append(f"replaced {counted(self.broken.total(), 'invalid UTF-8 character')}: {listed(names)}")
        return [*lines, *self.notes.values()]


class Decoder:
    """The text of one input in UTF-8, piece by piece.

    start      its first bytes; all of a short input
    elsewhere  bytes from other places, if available
    """

    def __init__(self, name: str, decoding: Decoding, start: bytes, elsewhere: Sequence[bytes] = ()) -> None:
        self.name, self._decoding = name, decoding
        self._n_characters = self._n_broken = 0
        self._codec: codecs.IncrementalDecoder | None = None
        self.encoding = _byte_order(name, decoding.codec, start)
        self._samples = (start, *elsewhere)
        if self.encoding is None:
            self.encoding = wide_encoding(start) or self._found(self._samples)
        elif self.encoding == UTF8:
            self._check_utf8(self._samples)
        self._use(self.encoding)

    def utf8(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """The next piece of the input in UTF-8; with `is_last`, including an incomplete character at the end."""
        if self.encoding is None and not piece.isascii():
            self.encoding = self._found((piece,))
            self._use(self.encoding)
        if self._codec is None:
            return piece
        text = self._codec.decode(piece, is_last)
        self._n_characters += len(text)
        self._n_broken += text.count(_REPLACEMENT)
        if is_too_broken(self._n_broken, self._n_characters):
            raise self._broken(self._n_broken, self._n_characters, (piece,))
        return text.encode("utf-8", "replace")

    def places(self) -> list[bytes]:
        """The samples from elsewhere in UTF-8, whole lines only."""
        places = []
        for sample in self._samples[1:]:
            whole = sample.decode(self.encoding, "replace").encode() if self._codec and self.encoding else sample
            places.append(whole[whole.find(b"\n") + 1 : whole.rfind(b"\n") + 1])
        self._samples = ()  # no longer needed
        return places

    def _use(self, encoding: str | None) -> None:
        if encoding not in (None, UTF8):
            self._codec = codecs.getincrementaldecoder(encoding)("replace")
            if self._decoding.encoding is None:
                self._decoding.found[self.name] = encoding

    def _found(self, samples: Sequence[bytes]) -> str | None:
        """The encoding of these samples; None while they are ASCII."""
        if all(sample.isascii() for sample in samples):
            return "iso2022_jp" if b"\x1b$" in samples[0] else None
        _, n_wide, n_broken = _utf8_counts(samples)
        # If neither finds any, the only non-ASCII bytes are the last ones.
        encoding = UTF8 if n_wide > n_broken else _declared(samples) or likely_encoding(samples) or UTF8
        if encoding == UTF8:
            self._check_utf8(samples)
        return encoding

    def _check_utf8(self, samples: Sequence[bytes]) -> None:
        n_characters, _, n_broken = _utf8_counts(samples)
        if is_too_broken(n_broken, n_characters):
            raise self._broken(n_broken, n_characters, samples)

    def _broken(self, n_broken: int, n_characters: int, samples: Sequence[bytes]) -> InputError:
        return broken_error(self.name, n_broken, n_characters, self.encoding or UTF8, samples)


def is_too_broken(n_broken: int, n_characters: int) -> bool:
    """Whether so many characters are broken that the text must be in another encoding; one alone is never enough.

    `is_too_broken(1, 10)` -> False; `is_too_broken(2, 10)` -> True
    """
    return n_broken > max(1, MOST_BROKEN * n_characters)


def broken_error(name: str, n_broken: int, n_characters: int, encoding: str, samples: Iterable[bytes]) -> InputError:
    """The error to raise, naming the likely encoding, if any."""
    likely = likely_encoding(tuple(samples))
    advice = (
        f"it looks like {label(likely)}: add --encoding {likely}"
        if likely not in (None, encoding)
        else "name its encoding with --encoding NAME, or convert it to UTF-8"
    )
    return InputError(
        f"{name} is not {label(encoding)}: {n_broken:,} of {n_characters:,} characters can't be decoded; {advice}"
    )


def _utf8_counts(samples: Sequence[bytes]) -> tuple[int, int, int]:
    """(characters, multi-byte ones, broken ones) of all samples."""
    counts = [_utf8_counts_of(sample, is_start=i == 0) for i, sample in enumerate(samples)]
    n_characters, n_wide, n_broken = map(sum, zip(*counts, strict=True))
    return n_characters, n_wide, n_broken


def _utf8_counts_of(sample: bytes, *, is_start: bool) -> tuple[int, int, int]:
    """(characters, multi-byte ones, broken ones) of a sample that may begin and end inside a character."""
    if not is_start:
        sample = sample.lstrip(bytes(range(0x80, 0xC0))) if sample[:1] >= b"\x80" else sample
    text = codecs.getincrementaldecoder(UTF8)("replace").decode(sample)
    n_broken = text.count(_REPLACEMENT) - sample.count(_REPLACEMENT.encode())
    n_ascii = len(sample.translate(None, bytes(range(0x80, 0x100))))
    return len(text), len(text) - n_ascii - n_broken, n_broken


# UTF-16 and UTF-32


def wide_encoding(start: bytes) -> str | None:
    r"""UTF-16 or UTF-32, by the byte order mark or by what it decodes to: `b"h\0i\0 ..."` -> 'utf-16-le'.

    Single-byte text has no control bytes, and these encodings are full of them, which distinguishes the two. Spaces and
    line ends then show which one it is: in the other byte order they are rare letters.
    """
    for mark, encoding in _BOMS:
        if start.startswith(mark):
            return encoding
    start = start[: 1 << 14]
    if len(start.translate(None, _CONTROL)) > 0.98 * len(start):
        return None
    plausible = {encoding: n for encoding in _WIDE if (n := _n_separators(start, encoding)) is not None}
    return max(plausible, key=lambda encoding: plausible[encoding]) if plausible else None


def _byte_order(name: str, encoding: str | None, start: bytes) -> str | None:
    """UTF-16 or UTF-32 as named by the user, with its byte order: by its mark, or else detected."""
    detected = wide_encoding(start) if start and encoding in ("utf-16", "utf-32") else encoding
    if encoding and not (detected or "").startswith(encoding):
        raise InputError(f"{name} is not {label(encoding)}, or lacks its byte order mark; name another --encoding")
    return detected


def _n_separators(data: bytes, encoding: str) -> int | None:
    """The number of spaces and full stops if `data` is in `encoding`; None if it can't be."""
    size = 4 if "32" in encoding else 2
    try:
        text = data[: len(data) // size * size - size].decode(encoding)  # the last unit may be half of a pair
    except UnicodeDecodeError:
        return None
    odd = sum(unicodedata.category(each) in ("Cn", "Co", "Cs", "Cc") and each not in "\t\n\r\f\x0b" for each in text)
    if len(text) < 8 or odd > 0.01 * len(text):
        return None
    # Two ASCII letters look like one ideograph; these marks, kana and Hangul don't arise by accident.
    ideographs = sum("\u2e80" <= each <= "\ua4ff" for each in text)
    if ideographs >= 0.2 * len(text) and len(_EAST_ASIAN.findall(text)) <= 0.02 * len(text):
        return None
    return sum(text.count(each) for each in " \n\u3001\u3002\uff0c")


# Other encodings

_DECLARED = re.compile(rb"""<(?:meta\s[^>]*charset|\?xml\s[^>]*encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
# What pages declare -> the superset that browsers use for it.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030",
          "euc_kr": "cp949", "iso8859-9": "cp1254", "koi8-r": "koi8_r", "iso8859-2": "iso8859_2"}  # fmt: skip


def _declared(samples: Sequence[bytes]) -> str | None:
    """The encoding that a page declares, unless its bytes contradict it."""
    if not (match := _DECLARED.search(samples[0][: 1 << 12])):
        return None
    try:
        encoding = codecs.lookup(match[1].decode("ascii", "replace")).name
        encoding = _MEANT.get(encoding, encoding)
        text = _telling_lines(samples).decode(encoding, "replace")
    except (LookupError, ValueError, AssertionError):
        return None
    return None if encoding == UTF8 or is_too_broken(text.count(_REPLACEMENT), len(text)) else encoding


def likely_encoding(samples: Sequence[bytes]) -> str | None:
    r"""The encoding of text that is not UTF-8, from its non-ASCII lines; None if none fits.

    `likely_encoding([b"Stra\xdfe"])` -> 'cp1252'
    """
    from charset_normalizer import from_bytes

    telling = _telling_lines(samples)
    if not telling:
        return None
    if _stand_alone(telling):  # then they are letters in Latin words, and the alphabets decide better
        encoding, share = best_fit(telling, LATIN)
        if share > 0.6:
            return encoding
    matches = list(from_bytes(telling, cp_isolation=_CANDIDATES, threshold=0.3))
    if not matches:
        return None
    least = min(match.chaos for match in matches)
    close = [name for match in matches if match.chaos <= least + 0.1 for name in match.could_be_from_charset]
    return best_fit(telling, close)[0] if is_latin(telling, close[0]) else relative(telling, close[0])


def _stand_alone(data: bytes) -> bool:
    """Whether most non-ASCII bytes stand alone, as in "Stra?e"."""
    high = np.frombuffer(b"\n" + data + b"\n", np.uint8) > 127
    return int((high[1:] & high[:-1]).sum()) < 0.2 * int(high.sum())


def decodes(data: bytes) -> bool:
    r"""Whether bytes are UTF-8: `decodes(b"Stra\xdfe")` -> False. `chunks` has a faster way for long inputs."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _telling_lines(samples: Sequence[bytes]) -> bytes:
    """Lines that are not UTF-8, a share from each sample, between its first and last line end."""
    share = max(_SAMPLE // max(1, len(samples)), 1 << 11)
    telling: list[bytes] = []
    for i, sample in enumerate(samples):
        lines = sample.split(b"\n")
        lines = lines[1 if i else 0 : -1] if len(lines) > 2 else lines
        size = 0
        for line in lines:
            if (first := _NOT_ASCII.search(line)) and not decodes(line):
                # Of an endless line, only the surroundings of the byte; a cut inside a character is rare.
                line = line if len(line) <= share else line[max(0, first.start() - 40) : first.start() + share]
                telling.append(line)
                size += len(line)
                if size >= share:
                    break
    return b"\n".join(telling)
