"""Create and update an index: only new and changed files are read.

New rows go to a new segment; when it is complete, replacing index.json commits the update. The new segment absorbs the
rows of all segments up to twice its size, so that there are never more than a few (each row is rewritten about log2(n)
times). No foreign files are touched: neither the text nor any folder that is not an index.

The fit of the collection is recomputed whenever its rows change, so scores equal those of an index built in one go. The
codes of vectors only select candidates; they stay those of an earlier fit until the collection has doubled or halved.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.disk import as_path, file_hash, is_utf8
from siamese_cbow.base.files import atomic_folder, one_writer
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval.fitting import FIT_FILES, Coding
from siamese_cbow.retrieval.manifest import FIT_PREFIX, NAME, PREFIX, FileEntry, Manifest, fingerprint, fit_of
from siamese_cbow.retrieval.segment import Segment, SegmentWriter, description, how_to_rebuild
from siamese_cbow.text.languages import AUTO
from siamese_cbow.text.records import TextSettings, text_settings
from siamese_cbow.text.row_reader import RowReader

A_DAY = 86_400


@dataclass(frozen=True)
class Changes:
    """The result of an update: numbers of files, and of rows now in the index."""

    n_new: int
    n_changed: int
    n_gone: int
    n_same: int
    n_rows: int


def update(
    folder: Path,
    inputs: Any = (),
    *,
    model: Model,
    text: TextSettings | None = None,
    rebuild: bool = False,
    model_folder: Path | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Changes:
    """Create the index in `folder`, or update it from its own files and the additional `inputs`.

    text          how text is read, and what a row is; by default as an existing index was built
    rebuild       read everything again; without inputs, the files the index was built from
    model_folder  stored as the place to look for the model when the index is opened without one
    """
    check_target(folder)
    text = None if text is None else text_settings(text)
    with one_writer(folder) as is_alone:
        try:
            return _update(
                folder, inputs, model, text, rebuild, model_folder, thread_count(threads), progress, is_alone
            )
        finally:
            with suppress(OSError):
                folder.rmdir()  # only if it is empty


def _update(
    folder: Path,
    inputs: Any,
    model: Model,
    text: TextSettings | None,
    rebuild: bool,
    model_folder: Path | None,
    threads: int,
    progress: Progress,
    is_alone: bool,
) -> Changes:
    old = _old_manifest(folder, model, text, rebuild=rebuild)
    if old and not rebuild:
        text = old.settings
    reader = _reader(inputs, old, text or (old.settings if old else TextSettings(unit="auto")))
    manifest = Manifest(fingerprint(model), settings=reader.settings, fallback=model.fallback)
    if old and not rebuild:
        manifest.segments, manifest.files = deepcopy(old.segments), dict(old.files)
        manifest.fits, manifest.coded_rows = deepcopy(old.fits), old.coded_rows
        manifest.note_times(folder)
    if model_folder is not None:  # a name such as `pretrained` stays as is
        manifest.model_folder = str(model_folder.resolve() if model_folder.exists() else model_folder)
    else:
        manifest.model_folder = old.model_folder if old else ""
    gone = [name for name in manifest.files if not Path(name).is_file()]
    for name in gone:
        del manifest.files[name]
    named = {as_path(name).resolve() for name in _listed(inputs)}
    todo, changes = _todo(reader.files, manifest, named, progress)
    if todo or gone or not manifest.fits:
        _change(folder, manifest, todo, reader, named, model, threads, progress)
    used = {entry.segment for entry in manifest.files.values()}
    manifest.segments = {name: entry for name, entry in manifest.segments.items() if name in used}
    if manifest != old:
        manifest.write(folder)
    before = {*old.segments, *old.fits} if old else set()
    _sweep(folder, {*manifest.segments, *manifest.fits}, before, is_alone=is_alone)
    return replace(changes, n_gone=len(gone), n_rows=manifest.n_live())


def check_target(folder: Path) -> None:
    """Raise an error unless an index may be written to `folder`."""
    if not is_utf8(str(folder)):
        raise InputError(f"the name {str(folder)!r} is not UTF-8; choose another")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, but an index is a folder; choose another name")
    names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
    ours = (PREFIX, f".{PREFIX}", FIT_PREFIX, f".{FIT_PREFIX}", NAME, f".{NAME}")
    strange = [name for name in names if not name.startswith(ours)]
    if strange:
        raise InputError(f"{folder} contains files that are not part of an index ({strange[0]}); choose another folder")


def _old_manifest(folder: Path, model: Model, text: TextSettings | None, *, rebuild: bool) -> Manifest | None:
    if not (folder / NAME).exists():  # a new one, or one interrupted before index.json was written
        return None
    try:
        old = Manifest.read(folder)
        if rebuild:
            return old
        old.check_model(model, folder)
        old.open_segments(folder)
    except FormatError:
        if rebuild:
            return None
        raise
    if text is not None and text.language == AUTO:  # keep the index's own
        text = replace(text, language=old.settings.language)
    if text is not None and text != old.settings:
        pairs = ((name, value, getattr(text, name)) for name, value in asdict(old.settings).items())
        different = ", ".join(f"{name} {value!r}, not {new!r}" for name, value, new in pairs if value != new)
        raise SettingsError(
            f"{folder} was built with {different}; drop that option, or add --rebuild (the text files stay untouched)"
        )
    return old


def _reader(inputs: Any, old: Manifest | None, settings: TextSettings) -> RowReader:
    """A reader of the given files and of those in the index that still exist."""
    names = _listed(inputs)
    known = [Path(name) for name in (old.files if old else ()) if Path(name).is_file()]
    if not names and not known:
        raise InputError("no files were given, and none of the indexed files exists; expected files or folders")
    reader = RowReader([*names, *known], settings)
    reader.settle_language()
    if not reader.files:
        raise InputError("can't index standard input, because it can't be read again; expected files or folders")
    return reader


def _listed(inputs: Any) -> list[str | Path]:
    if not isinstance(inputs, str | Path | list | tuple):
        raise InputError(f"the input is {inputs!r:.60}; an index is of files: expected their paths, or folders")
    return [inputs] if isinstance(inputs, str | Path) else list(inputs)


def _todo(
    files: Iterable[Path], manifest: Manifest, named: set[Path], progress: Progress
) -> tuple[dict[str, FileEntry], Changes]:
    """The files to read, in their current state; the times of files with unchanged content are updated."""
    todo: dict[str, FileEntry] = {}
    n_new = n_same = 0
    for name in dict.fromkeys(str(path.resolve()) for path in files):
        stat, entry = os.stat(name), manifest.files.get(name)  # noqa: PTH116 (a name, and thousands of them)
        if entry and (entry.size, entry.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            n_same += 1
            continue
        try:
            hashed = file_hash(Path(name))
        except OSError as error:
            reason = f"can't read {name}: {error.strerror}; check the file's permissions"
            if Path(name) in named:
                raise InputError(reason) from error
            progress.say(f"skipped: {reason}")
            continue
        if entry and entry.hash == hashed:
            manifest.files[name] = replace(entry, mtime_ns=stat.st_mtime_ns)
            n_same += 1
            continue
        n_new += entry is None
        todo[name] = FileEntry(stat.st_size, stat.st_mtime_ns, hashed, "", 0, 0)
    return todo, Changes(n_new, len(todo) - n_new, 0, n_same, 0)


def _change(
    folder: Path,
    manifest: Manifest,
    todo: dict[str, FileEntry],
    reader: RowReader,
    named: set[Path],
    model: Model,
    threads: int,
    progress: Progress,
) -> None:
    """Write a new segment for the files to read, and the fit of the resulting rows."""
    segment, fit = (prefix + secrets.token_hex(4) for prefix in (PREFIX, FIT_PREFIX))
    for path in todo:
        manifest.files.pop(path, None)  # its old rows are dead
    with atomic_folder(folder / segment) as written, SegmentWriter(written, model, threads) as writer:
        for path, entry in todo.items():
            first = writer.n_rows
            counted = _read_file(Path(path), reader, writer, named, progress)
            if counted:
                place = {"segment": segment, "first": first, "last": writer.n_rows, "counted": counted}
                manifest.files[path] = replace(entry, **place)  # type: ignore[arg-type]
        n_rows = manifest.n_live()
        is_doubled = not manifest.coded_rows / 2 <= n_rows <= 2 * manifest.coded_rows or not manifest.fits
        for absorbed in _small_segments(manifest, writer.n_rows, segment, everything=is_doubled):
            _absorb(Segment(folder / absorbed), absorbed, segment, manifest, writer)
        writer.finish()
        for remark in reader.remarks if todo else ():
            progress.say(remark)
        fitted = Coding.of(fit_of(folder, manifest, segment, written, writer.words, model))
        coding = fitted
        if is_doubled:
            manifest.fits, manifest.coded_rows = {}, n_rows
        else:
            name, entry = next(iter(manifest.fits.items()))
            coding, manifest.fits = Coding.load(folder / name, model, advice=how_to_rebuild(folder)), {name: entry}
        writer.write_codes(coding)
        with atomic_folder(folder / fit) as written_fit:
            fitted.save(written_fit)
            manifest.fits[fit] = description(written_fit, FIT_FILES)
        manifest.segments[segment] = description(written)


def _absorb(segment: Segment, name: str, new: str, manifest: Manifest, writer: SegmentWriter) -> None:
    """Copy the live rows of a segment to a new one."""
    for path, entry in [pair for pair in manifest.files.items() if pair[1].segment == name]:
        first = writer.n_rows
        for rows in segment.blocks(entry.first, entry.last, path):
            writer.write(rows)
        manifest.files[path] = replace(entry, segment=new, first=first, last=writer.n_rows)


def _read_file(path: Path, reader: RowReader, writer: SegmentWriter, named: set[Path], progress: Progress) -> str:
    """The unit of a file's row numbers, or "" if it could not be read: its rows written so far are then dead.

    A file given by name must be readable.
    """
    counted = "line"
    try:
        for block in reader.file_blocks(path):
            rows = reader.rows(block)
            counted = rows.counted
            writer.write(rows)
            progress.advance(block.n_source_bytes)
    except InputError as error:
        if path in named:
            raise
        progress.say(f"skipped: {error}")
        return ""
    return counted


def _small_segments(manifest: Manifest, n_rows: int, new: str, *, everything: bool) -> list[str]:
    """Segments to absorb: all, or those up to twice as large as the new rows so far, the smallest first."""
    taken = []
    for size, name in sorted((manifest.n_live(name), name) for name in manifest.segments if name != new):
        if everything or size <= 2 * n_rows:
            taken.append(name)
            n_rows += size
    return taken


def _sweep(folder: Path, used: set[str], before: set[str], *, is_alone: bool) -> None:
    """Delete segments that this update has replaced, and leftovers of a crash.

    is_alone  nobody else is writing; if that is unknown, leftovers stay for a day
    """
    for path in folder.iterdir():
        ours = path.is_dir() and path.name.startswith((PREFIX, f".{PREFIX}", FIT_PREFIX, f".{FIT_PREFIX}", f".{NAME}"))
        dead = is_alone or path.name in before or time.time() - path.stat().st_mtime > A_DAY
        if ours and path.name not in used and dead:
            shutil.rmtree(path, ignore_errors=True)
