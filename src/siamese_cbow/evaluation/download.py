"""Download the public STS sets: archives are fetched, checked, and their sets laid out as `sts` reads them.

    data/sts/archives/STS2012-en-test.zip     kept, so that a second call fetches nothing
    data/sts/archives/SHA256SUMS              what arrived the first time; `sha256sum -c` checks it
    data/sts/2012/STS.input.MSRpar.txt        files that are there already are left alone, also your own

Only the files of the sets are taken out of an archive, by their last name: no path in it is ever followed, and an
archive with a path that leads elsewhere (`../`) is refused as a whole.
"""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, TypeAlias

from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.evaluation.fetch import fetch, file_sha256
from siamese_cbow.evaluation.sts import FILE, is_benchmark
from siamese_cbow.progress import SILENT, Progress

DEFAULT_FOLDER = "data/sts"
SUMS = "SHA256SUMS"
Opener: TypeAlias = Callable[[], IO[bytes] | None]
LARGEST = 1 << 28  # bytes of one file; the largest set has less than 1 MB


@dataclass(frozen=True)
class Archive:
    """A file to fetch, and the folder its files go to."""

    name: str
    url: str
    folder: str
    sha256: str | None = None  # None: not known; the first download is written down and held against later ones


# The addresses of the tasks' own pages. No checksums were published.
_WIKI = "http://ixa2.si.ehu.es/stswiki/images"
ARCHIVES = (
    Archive("STS 2012", f"{_WIKI}/4/40/STS2012-en-test.zip", "2012"),
    Archive("STS 2013", f"{_WIKI}/2/2f/STS2013-en-test.zip", "2013"),
    Archive("STS 2014", f"{_WIKI}/8/8c/STS2014-en-test.zip", "2014"),
    Archive("STS 2015", f"{_WIKI}/d/da/STS2015-en-test.zip", "2015"),
    Archive("STS 2016", f"{_WIKI}/9/98/STS2016-en-test.zip", "2016"),
    Archive("STS-Benchmark", f"{_WIKI}/4/48/Stsbenchmark.tar.gz", "stsbenchmark"),
    Archive("SICK", "http://alt.qcri.org/semeval2014/task1/data/uploads/sick_test_annotated.zip", "sick"),
)


def download_sts(
    to: str | Path = DEFAULT_FOLDER, *, archives: Iterable[Archive] = ARCHIVES, progress: Progress = SILENT
) -> list[Path]:
    """Fetch and unpack every archive; the paths of the files that are new.

    What can't be had doesn't stop the rest: at the end an InputError lists it.
    """
    to = Path(to)
    new: list[Path] = []
    failures: list[str] = []
    for archive in archives:
        try:
            files = _laid_out(archive, to, progress)
        except SiameseCBOWError as error:
            failures.append(f"{archive.name}: {error}")
            progress.say(failures[-1])
            continue
        new += files
        progress.say(f"{archive.name}: {len(files)} new files in {to / archive.folder}")
    if failures:
        raise InputError(f"{len(failures)} archives are missing in {to}:\n" + "\n".join(failures))
    return new


def _laid_out(archive: Archive, to: Path, progress: Progress) -> list[Path]:
    """The new files of one archive, which is fetched if it isn't there."""
    packed, sums = to / "archives" / archive.url.rpartition("/")[2], _read_sums(to / "archives" / SUMS)
    expected = archive.sha256 or sums.get(packed.name)
    sha256 = file_sha256(packed) if packed.exists() else None
    if sha256 is None or sha256 != expected:  # not there, or damaged on disk
        sha256 = fetch(archive.url, packed, sha256=expected, progress=progress)
    try:
        files = unpack(packed, to / archive.folder)
    except InputError:
        packed.unlink()  # a page that says "moved" in place of the archive, for instance: don't keep or remember it
        raise
    sums[packed.name] = sha256
    with atomic_file(to / "archives" / SUMS) as file:
        file.write_text("".join(f"{value}  {name}\n" for name, value in sorted(sums.items())), "utf-8")
    return files


def _read_sums(path: Path) -> dict[str, str]:
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def unpack(packed: Path, folder: Path) -> list[Path]:
    """Take the sets out of a zip or tar archive into `folder`; the files that are new.

    `STS2014-en-test.zip` with `sts-en-test-gs-2014/STS.gs.images.txt` -> [folder/STS.gs.images.txt, ...]
    """
    new, names = [], set()
    with _members(packed) as members:
        for path, _ in members:
            _refuse_escape(packed, path)
        for path, open_member in members:
            name = PurePosixPath(path).name
            if not FILE.fullmatch(name) and not is_benchmark(Path(name)):
                continue
            if name in names:
                raise InputError(f"{packed} holds {name} twice; unpack it by hand into {folder}")
            names.add(name)
            if not (folder / name).exists():
                _write(packed, open_member, folder / name)
                new.append(folder / name)
    if not names:
        raise InputError(f"{packed} holds none of the files expected in it, such as STS.input.NAME.txt")
    return new


@contextmanager
def _members(packed: Path) -> Iterator[list[tuple[str, Opener]]]:
    """The ordinary files of an archive: path and a function that opens it. Links and devices are left out."""
    try:
        if zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as archive:
                files = [info for info in archive.infolist() if not info.is_dir() and not _is_link(info)]
                yield [(info.filename, partial(archive.open, info)) for info in files]
        else:
            with tarfile.open(packed) as tar:
                yield [(info.name, partial(tar.extractfile, info)) for info in tar.getmembers() if info.isfile()]
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{packed} is not a complete zip or tar archive ({reason}); download it again") from error


def _is_link(info: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(info.external_attr >> 16)


def _refuse_escape(packed: Path, path: str) -> None:
    for kind in (PurePosixPath(path), PureWindowsPath(path)):
        if kind.is_absolute() or kind.drive or ".." in kind.parts:
            raise InputError(f"{packed} holds the path {path!r}, which leads out of its folder; nothing was unpacked")


def _write(packed: Path, open_member: Opener, target: Path) -> None:
    source = open_member()
    assert source is not None  # an ordinary file always opens
    with source, atomic_file(target) as written, written.open("wb") as file:
        size = 0
        while piece := source.read(1 << 16):
            size += len(piece)
            if size > LARGEST:
                raise InputError(f"{packed} holds a file {target.name} of more than {LARGEST:,} bytes; not unpacked")
            file.write(piece)
