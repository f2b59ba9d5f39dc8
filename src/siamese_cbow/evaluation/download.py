"""Download the public STS sets: fetch and check the archives, and lay out their sets as `sts` reads them.

    data/sts/archives/STS2012-en-test.zip     kept, so that a second call downloads nothing
    data/sts/archives/SHA256SUMS              checksums of the first download; `sha256sum -c` checks them
    data/sts/2012/STS.input.MSRpar.txt        existing files stay untouched, including your own
    ....zip.part                              the part downloaded so far: an interrupted transfer resumes here
    ....zip.part.version                      its version according to the server (ETag or date), so that a resumed file
                                              is not stitched together from two versions

An archive appears only after its checksum is verified. Downloading needs only the standard library; proxies come from
the environment, as in `urllib`. Rejected: pooch, which restarts an interrupted transfer and would make `requests` a
dependency of the base installation.

Only the files of the sets are extracted from an archive, by their file name: no path in it is ever followed, and an
archive with a path that leads outside (`../`) is refused as a whole.
"""

from __future__ import annotations

import hashlib
import http.client
import lzma
import re
import socket
import stat
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
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
from siamese_cbow.evaluation.sts import FILE, is_benchmark
from siamese_cbow.progress import SILENT, Progress

DEFAULT_FOLDER = "data/sts"
SUMS = "SHA256SUMS"
Opener: TypeAlias = Callable[[], IO[bytes] | None]
CHUNK = 1 << 16  # bytes
TIMEOUT = 30.0  # seconds without a byte
TRIES = 5
LARGEST = 1 << 28  # bytes of one file; the largest set has less than 1 MB


@dataclass(frozen=True)
class Archive:
    """A file to fetch, and the folder its files go to."""

    name: str
    url: str
    folder: str
    sha256: str | None = None  # None: unknown; the first download is recorded and later ones compared with it


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
    """Download and unpack every archive; return the paths of new files.

    A failed download doesn't stop the rest: an InputError lists the failures at the end.
    """
    to = Path(to)
    new: list[Path] = []
    failures: list[str] = []
    for archive in archives:
        try:
            files = _laid_out(archive, to, progress)
        except SiameseCBOWError as error:
            failures.append(f"{archive.name}: {error}")
            continue
        new += files
        progress.say(f"{archive.name}: {len(files)} new files in {to / archive.folder}")
    if failures:
        raise InputError(f"{len(failures)} archives are missing in {to}:\n" + "\n".join(failures))
    return new


def _laid_out(archive: Archive, to: Path, progress: Progress) -> list[Path]:
    """The new files of one archive, which is downloaded if it is missing."""
    packed, listed = (to / "archives" / name for name in (archive.url.rpartition("/")[2], SUMS))
    lines = listed.read_text("utf-8").splitlines() if listed.exists() else []
    sums = {name: value for value, _, name in (line.partition("  ") for line in lines)}
    expected = archive.sha256 or sums.get(packed.name)
    sha256 = file_sha256(packed) if packed.exists() else None
    if sha256 is None or sha256 != expected:  # missing, or damaged on disk
        sha256 = fetch(archive.url, packed, sha256=expected, progress=progress)
    try:
        files = unpack(packed, to / archive.folder)
    except InputError:
        packed.unlink()  # for instance a page that says "moved" instead of the archive
        raise
    sums[packed.name] = sha256
    with atomic_file(listed) as file:
        file.write_text("".join(f"{value}  {name}\n" for name, value in sorted(sums.items())), "utf-8")
    return files


def unpack(packed: Path, folder: Path) -> list[Path]:
    """Extract the sets of a zip or tar archive into `folder`; return the new files.

    `STS2014-en-test.zip` with `sts-en-test-gs-2014/STS.gs.images.txt` -> [folder/STS.gs.images.txt, ...]
    """
    new, names = [], set()
    with _members(packed) as members:
        for path, kind in ((path, kind(path)) for path, _ in members for kind in (PurePosixPath, PureWindowsPath)):
            if kind.is_absolute() or kind.drive or ".." in kind.parts:
                escapes = f"{packed} contains the path {path!r}, which leads out of its folder"
                raise InputError(f"{escapes}; nothing was unpacked")
        for path, open_member in members:
            name = PurePosixPath(path).name
            if not FILE.fullmatch(name) and not is_benchmark(Path(name)):
                continue
            if name in names:
                raise InputError(f"{packed} contains {name} twice; unpack it by hand into {folder}")
            names.add(name)
            if not (folder / name).exists():
                _write(packed, open_member, folder / name)
                new.append(folder / name)
    if not names:
        raise InputError(f"{packed} contains none of the expected files, such as STS.input.NAME.txt")
    return new


@contextmanager
def _members(packed: Path) -> Iterator[list[tuple[str, Opener]]]:
    """The regular files of an archive: path and a function that opens it. Links and devices are skipped."""
    try:
        if zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as archive:
                files = [info for info in archive.infolist() if not info.is_dir()]
                plain = [info for info in files if not stat.S_ISLNK(info.external_attr >> 16)]
                yield [(info.filename, partial(archive.open, info)) for info in plain]
        else:
            with tarfile.open(packed) as tar:
                yield [(info.name, partial(tar.extractfile, info)) for info in tar.getmembers() if info.isfile()]
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{packed} is not a complete zip or tar archive ({reason}); download it again") from error


def _write(packed: Path, open_member: Opener, target: Path) -> None:
    source = open_member()
    assert source is not None  # a regular file always opens
    with source, atomic_file(target) as written, written.open("wb") as file:
        size = 0
        while piece := source.read(CHUNK):
            size += len(piece)
            if size > LARGEST:
                raise InputError(f"{packed} contains a file {target.name} of more than {LARGEST:,} bytes; not unpacked")
            file.write(piece)


# over HTTP


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress = SILENT,
    tries: int = TRIES,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Download `url` to the file `target` and return its SHA-256; an interrupted transfer resumes.

    `progress` advances by bytes. An InputError says what the server said and what to do.
    """
    if not re.match(r"https?://", url):
        raise InputError(f"can't download {url}; expected an address that starts with http:// or https://")
    target.parent.mkdir(parents=True, exist_ok=True)
    part, version = (target.with_name(target.name + suffix) for suffix in (".part", ".part.version"))
    for attempt in range(1, tries + 1):
        try:
            _continue(url, part, version, progress)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or attempt == tries:
                raise InputError(
                    f"{url}: the server answered {error.code} {error.reason}; get the file elsewhere and "
                    "unpack it by hand"
                ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, socket.gaierror):  # no network, or no such host: waiting does not help
                host = urllib.parse.urlsplit(url).hostname
                raise InputError(
                    f"can't reach {host} ({reason.strerror}); check the connection and run the same command again, or "
                    f"get {url} elsewhere and unpack it by hand"
                ) from None
            if attempt == tries:
                raise InputError(
                    f"{url}: {reason} ({tries} tries; {_size(part):,} bytes "
                    f"are saved in {part}); check the connection and run the same command again to resume"
                ) from None
        progress.say(f"{url}: interrupted after {_size(part):,} bytes; trying again")
        wait(2.0 ** (attempt - 1))
    version.unlink(missing_ok=True)
    arrived = file_sha256(part)
    if sha256 is not None and arrived != sha256:
        part.unlink()
        raise InputError(f"{url}: SHA-256 is {arrived}, expected {sha256}; the file was deleted: try again later")
    part.replace(target)
    return arrived


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, hexadecimal, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _continue(url: str, part: Path, version: Path, progress: Progress) -> None:
    """One request: the missing rest of `part`, or all of it if the server can't resume."""
    start = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "siamese-cbow"})
    if start:
        request.add_header("Range", f"bytes={start}-")
        if version.exists() and (known := version.read_text("utf-8")):
            request.add_header("If-Range", known)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        error.close()
        if error.headers.get("Content-Range", "") == f"bytes */{start}":
            return  # it was already complete
        part.unlink()
        raise ConnectionError("the file on the server became shorter") from None
    with response:
        is_rest = response.status == 206
        if is_rest and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise ConnectionError(f"asked for bytes from {start}, got {response.headers.get('Content-Range')}")
        version.write_text(response.headers.get("ETag") or response.headers.get("Last-Modified") or "", "utf-8")
        expected, received = response.headers.get("Content-Length"), 0
        with part.open("ab" if is_rest else "wb") as file:
            progress.advance(start if is_rest else 0)
            while piece := response.read(CHUNK):
                file.write(piece)
                received += len(piece)
                progress.advance(len(piece))
    if expected is not None and received < int(expected):
        raise ConnectionError(f"the connection ended after {received:,} of {int(expected):,} bytes")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
