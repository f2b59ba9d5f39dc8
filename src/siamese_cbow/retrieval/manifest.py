"""The contents of an index as one JSON file, and the fit of all its rows. Replacing the file commits an update.

Rows and their vectors are in the segments, not here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from siamese_cbow.base.arrays import mapped_array
from siamese_cbow.base.disk import UNWRITABLE, written_by
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.model.folder_format import read_table
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fitting import FIT_FILES, SAMPLE_CHARACTERS, Fit, sample_rows
from siamese_cbow.retrieval.row_words import Words
from siamese_cbow.retrieval.segment import HASHES, Segment, SegmentText, check, how_to_rebuild
from siamese_cbow.text.languages import AUTO, UNDETERMINED, find_language
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.unknown_words import Fallback

NAME, PREFIX, FIT_PREFIX = "index.json", "segment-", "fit-"
FORMAT, FORMAT_VERSION = "siamese-cbow index", 4
LISTED = (2, 3, FORMAT_VERSION)  # versions whose list of files can be read, to rebuild the index


@dataclass(frozen=True)
class FileEntry:
    """A file as it was when it was read, and where its rows are: rows first, ..., last - 1 of a segment."""

    size: int
    mtime_ns: int
    hash: str
    segment: str
    first: int
    last: int
    counted: str = "line"  # the unit of its row numbers: "line" or "record"

    def is_of(self, name: str) -> bool:
        """Whether the file still exists with the same size and time."""
        try:
            state = os.stat(name)  # noqa: PTH116 (a name, and thousands of them)
        except OSError:
            return False
        return (state.st_size, state.st_mtime_ns) == (self.size, self.mtime_ns)


@dataclass
class Manifest:
    """The content of index.json.

    model       the fingerprint of the model, and where it was found
    fallback    how unknown words are treated
    settings    how text was read, and what a row is
    segments    name of a segment's folder -> description of its files
    fits        name of a fit's folder -> description of its files: the last is the current fit of the collection, the
                first the one that made the codes of the segments (`fitting.Coding`), from `coded_rows` rows
    files       path -> entry; rows of a segment that no file claims are dead
    recall      the result of the last check
    """

    model: str
    model_folder: str = ""
    settings: TextSettings = field(default_factory=TextSettings)
    segments: dict[str, Any] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    recall: dict[str, Any] = field(default_factory=dict)
    fallback: Fallback = "none"
    fits: dict[str, Any] = field(default_factory=dict)
    coded_rows: int = 0
    version: int = FORMAT_VERSION

    @property
    def built_with(self) -> tuple[Path | None, Fallback]:
        """Where the model was when the index was made, None for the pretrained one, and its fallback."""
        return Path(self.model_folder) if self.model_folder else None, self.fallback

    def check_model(self, model: Model, folder: Path) -> None:
        """Raise an error unless `model` is the one that the index in `folder` was built with, by this version."""
        if self.version != FORMAT_VERSION:
            raise FormatError(
                f"{folder / NAME} has format version {self.version}, but this siamese-cbow reads "
                f"{FORMAT_VERSION}; rebuild it from its files: siamese-cbow index -o {folder} --rebuild"
            )
        if self.model not in (fingerprint(model), self._fingerprint_with_fallback(model)):
            made = self.model_folder or "another model"
            raise FormatError(
                f"{folder} was built with {made}, which differs from this one; use that model, or "
                f"{how_to_rebuild(folder)}"
            )
        if self.fallback != model.fallback:
            raise FormatError(
                f"{folder} was built with the fallback {self.fallback!r} for unknown words, but the model now "
                f'has {model.fallback!r}; use model.with_fallback("{self.fallback}") (or --fallback '
                f"{self.fallback}), or {how_to_rebuild(folder)}"
            )

    def _fingerprint_with_fallback(self, model: Model) -> str | None:
        """The fingerprint of the model with the index's fallback, unless that requires fitting n-gram vectors."""
        if self.fallback == "ngrams" and model.given_ngrams is None:
            return None
        return fingerprint(model.with_fallback(self.fallback))

    def open_segments(self, folder: Path, *, whole: bool = False) -> dict[str, Segment]:
        """The segments of the index in `folder`, in order; an error if a file or an entry is damaged."""
        for name, described in self.segments.items():
            check(folder / name, described, whole=whole)
        for name, described in self.fits.items():
            check(folder / name, described, FIT_FILES, whole=whole)
        segments = {name: Segment(folder / name) for name in self.segments}
        for name, entry in self.files.items():
            if entry.last > (n_rows := len(segments[entry.segment])):
                raise FormatError(
                    f"{folder / NAME} lists rows {entry.first:,} to {entry.last:,} for {name}, but {entry.segment} has "
                    f"only {n_rows:,}; {how_to_rebuild(folder)}"
                )
        return segments

    def note_times(self, folder: Path) -> None:
        """Record the modification times of segments that were just checked: see `segment.check`."""
        for table in (self.segments, self.fits):
            for name, files in table.items():
                for file in files:
                    table[name][file]["mtime_ns"] = (folder / name / file).stat().st_mtime_ns

    def n_live(self, segment: str | None = None) -> int:
        """The number of rows that belong to a file, in one segment or in all."""
        return sum(e.last - e.first for e in self.files.values() if segment is None or e.segment == segment)

    def write(self, folder: Path) -> None:
        """Replace index.json."""
        own = {name: value for name, value in asdict(self).items() if name != "version"}
        content = {"format": FORMAT, "format_version": FORMAT_VERSION, "written_by": written_by(), **own}
        with atomic_file(folder / NAME) as path:
            path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8", UNWRITABLE, newline="\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of an index; if it is missing or broken, an error that says what to do."""
        path, advice = folder / NAME, how_to_rebuild(folder)
        if not folder.is_dir():
            if folder.is_file():
                raise InputError(
                    f"{folder} is a file, not an index; search it with: siamese-cbow search QUERY {folder}"
                )
            raise InputError(f"no index {folder}; create one: siamese-cbow index FILES -o {folder}")
        if not path.exists():
            raise FormatError(
                f"{folder} is not an index ({path} is missing); search its files with: siamese-cbow search "
                f"QUERY {folder}, or index them: siamese-cbow index {folder} -o {folder}.index"
            )
        content = read_table(path, FORMAT, LISTED, written=advice, advice=advice, or_else=f", or {advice}")
        version = content["format_version"]
        try:
            manifest = cls(
                str(content["model"]),
                str(content["model_folder"]),
                _settings(version, **content["settings"]),
                dict(content["segments"]),
                {name: FileEntry(**entry) for name, entry in content["files"].items()},
                dict(content["recall"]),
                content["fallback"] if content["fallback"] in get_args(Fallback) else "none",
                dict(content.get("fits", {})),
                int(content.get("coded_rows", 0)),
                version,
            )
            manifest._check_values()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{path} is incomplete ({error!r}); {advice}") from None
        return manifest

    def _check_values(self) -> None:
        """Raise a ValueError if an entry can't have been written by us."""
        for what, prefix, names in (("segment", PREFIX, self.segments), ("fit", FIT_PREFIX, self.fits)):
            for name in names:
                if not re.fullmatch(prefix + "[0-9a-f]+", name):
                    raise ValueError(f"{name!r} is not a {what}")
        if self.version == FORMAT_VERSION and self.segments and not self.fits:
            raise ValueError("no fit is listed")
        for name, entry in self.files.items():
            if entry.counted not in ("line", "record"):
                raise ValueError(f"counted is {entry.counted!r} for {name!r}, expected line or record")
            numbers = (entry.size, entry.mtime_ns, entry.first, entry.last)
            if not all(type(number) is int for number in numbers) or not 0 <= entry.first <= entry.last:
                raise ValueError(f"the entry of {name!r} has invalid numbers")
            if entry.segment not in self.segments:
                raise ValueError(f"{name!r} is in {entry.segment!r}, which is not listed")


def _settings(version: int, **settings: Any) -> TextSettings:
    """The settings of a manifest of any version; in version 2, `sentences` set the unit."""
    if version == 2:
        settings["unit"] = "sentence" if settings.pop("sentences") else "line"
    language = settings["language"]
    if isinstance(language, str) and language != AUTO and not find_language(language):
        settings["language"] = UNDETERMINED  # 0.1.0 accepted any name
    return TextSettings(**settings)


def kept_model(folder: Path, *, forgiving: bool = False) -> tuple[Path | None, Fallback | None]:
    """Where the model of an index was when it was built, and its fallback.

    None and None if there is no index, or (`forgiving`) a broken one.
    """
    try:
        manifest = Manifest.read(folder)
    except (FormatError, InputError):
        if not forgiving:
            raise
        return None, None
    return manifest.built_with


def fingerprint(model: Model) -> str:
    """A short text that identifies a model: tokenizer, words and a sample of the vectors."""
    hashed = hashlib.blake2b(digest_size=16)
    n = len(model.vocabulary)
    rows = sorted({int(row) for row in np.linspace(0, n - 1, min(n, 256))})  # not np.unique, which loads numpy.ma
    words = [model.vocabulary.words[i] for i in rows]
    hashed.update(json.dumps([model.tokenizer.identity(), n, model.dim, words], sort_keys=True).encode())
    hashed.update(np.ascontiguousarray(model.rows.take(rows, 0), "<f4").tobytes())
    if model.fallback == "ngrams":
        hashed.update(b"".join(array.tobytes() for array in model.ngrams.arrays().values()))
    return hashed.hexdigest()


def fit_of(folder: Path, manifest: Manifest, new: str, written: Path, words: Words, model: Model) -> Fit:
    """The fit of all live rows; `new` is the segment that is being written, in the folder `written`."""
    texts: dict[str, SegmentText] = {}
    hashes, places = [np.empty(0, np.uint64)], list[tuple[str, int, int]]()
    for entry in sorted(manifest.files.values(), key=lambda each: (each.segment, each.first)):
        place = written if entry.segment == new else folder / entry.segment
        all_hashes = mapped_array(place / HASHES, np.uint64, (None,), advice=how_to_rebuild(folder))
        texts.setdefault(entry.segment, SegmentText(place, len(all_hashes)))
        hashes.append(np.array(all_hashes[entry.first : entry.last]))
        places.append((entry.segment, entry.first, entry.last - entry.first))
    ends = np.cumsum([0, *(n for _, _, n in places)])
    sample = []
    for row in sample_rows(np.concatenate(hashes)).tolist():
        i = int(np.searchsorted(ends, row, "right")) - 1
        segment, first, _ = places[i]
        sample.append(texts[segment].text(first + row - int(ends[i]))[:SAMPLE_CHARACTERS])
    return Fit.of(model, words, words.of(sample), int(ends[-1]))
