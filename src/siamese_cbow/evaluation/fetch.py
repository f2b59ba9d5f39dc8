"""Fetch a file over HTTP so that it arrives whole: resumed after a break, checked, renamed into place.

    name.part            what has arrived so far
    name.part.version    what the server calls the version it is of (ETag or date), so that a resumed file is not
                         sewn together from two
    name                 the whole file; appears only after its checksum was found right

Standard library only; proxies are taken from the environment, as `urllib` does. Rejected: pooch, which starts a broken
transfer over and would bring `requests` into a command of the base installation.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from siamese_cbow.errors import InputError
from siamese_cbow.progress import SILENT, Progress

CHUNK = 1 << 16  # bytes
TIMEOUT = 30.0  # seconds without a byte
TRIES = 5


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress = SILENT,
    tries: int = TRIES,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Fetch `url` to the file `target` and return its SHA-256; a broken transfer goes on where it stopped.

    `progress` advances by bytes. An InputError says what the server said and what to do.
    """
    if not re.match(r"https?://", url):
        raise InputError(f"can't fetch {url}; expected an address that starts with http:// or https://")
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
                    f"{url}: the server says {error.code} {error.reason}; "
                    "look for the file at another place and unpack it by hand"
                ) from None
        except (OSError, http.client.HTTPException) as error:
            if attempt == tries:
                raise InputError(
                    f"{url}: {getattr(error, 'reason', None) or error} ({tries} tries; {_size(part):,} bytes are kept "
                    f"in {part}); type the same command again to go on"
                ) from None
        progress.say(f"{url}: interrupted after {_size(part):,} bytes; trying again")
        wait(2.0 ** (attempt - 1))
    version.unlink(missing_ok=True)
    arrived = file_sha256(part)
    if sha256 is not None and arrived != sha256:
        part.unlink()
        raise InputError(f"{url}: SHA-256 is {arrived}, expected {sha256}; the file was deleted, try again later")
    part.replace(target)
    return arrived


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, hexadecimal, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _continue(url: str, part: Path, version: Path, progress: Progress) -> None:
    """One request: what is missing of `part`, or all of it if the server can't do that."""
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
            return  # it was whole already
        part.unlink()
        raise ConnectionError("the file on the server has become shorter") from None
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
