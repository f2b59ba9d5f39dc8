"""Files that a job reads: paths that all nodes see, and URLs of any store that fsspec supports (s3, gs, hdfs, ...).

    sources_of(["books/", "s3://crawl/*.txt.gz"], settings) -> Source("books/a.txt", ...), Source("s3://crawl/1.txt.gz")

A node reads byte ranges of plain files; a compressed file or table is first downloaded from its store into a temporary
file and then read like any other. Text of `memory://`, which lives in one process, is sent with the work.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from siamese_cbow.base.disk import as_path, check_replaceable, clear_disk_errors, remove_ours
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import ClusterError, InputError, SiameseCBOWError, needs
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.reader import format_of
from siamese_cbow.text.records import TextSettings

MEMORY = "memory://"
COPY_BYTES = 1 << 24
# Errors of disks and stores.
NO_PERMISSION = (
    *("PermissionError", "NoCredentialsError", "PartialCredentialsError", "ClientError", "DefaultCredentialsError"),
)
PLAN = "plan.json"
# Files that a job writes into its scratch folder, apart from the parts of its output; all others are left alone.
UNFINISHED = (
    *(PLAN, "scan-*.json", "spool-*", "counts-*/*.npy", "table/*.npy", "part-*.json", "part-*/*.npy"),
    *(".*/*", ".*/new/*", ".*/old/*"),  # left by a lost process
)


@dataclass(frozen=True)
class Source:
    """A file and its version."""

    name: str  # a path or a URL
    size: int
    version: str  # modification time, or the version its store reports
    is_named: bool = True  # given by its own name, not by its folder or a pattern
    data: bytes | None = None  # of memory://

    @property
    def is_url(self) -> bool:
        """Whether the file is in an object store."""
        return is_url(self.name)

    def entry(self) -> dict[str, Any]:
        """Its entry in `stream.json`; for a file, the same that local `prepare` writes."""
        changed = {"version": self.version} if self.is_url else {"modified_ns": int(self.version)}
        return {"path": self.name, "size": self.size, **changed}

    def read(self, begin: int, end: int) -> bytes:
        """A range of its bytes."""
        if self.data is not None:
            return self.data[begin:end]
        with store_errors(self.name):
            if self.is_url:
                system, path = _system(self.name)
                data = system.cat_file(path, start=begin, end=end)
            else:
                with Path(self.name).open("rb") as file:
                    file.seek(begin)
                    data = file.read(end - begin)
        if len(data) != end - begin:
            raise self._changed(f"{begin + len(data):,} bytes")
        return bytes(data)

    @contextmanager
    def open(self) -> Iterator[Any]:
        """A seekable file."""
        with store_errors(self.name):
            if self.data is not None:
                yield io.BytesIO(self.data)
            elif self.is_url:
                system, path = _system(self.name)
                with system.open(path, "rb") as file:
                    yield file
            else:
                with Path(self.name).open("rb") as file:
                    yield file

    def local(self, folder: Path) -> Path:
        """A file on this node with its content: the file itself, or a copy in the folder."""
        if not self.is_url:
            return Path(self.name)
        copy = Path(tempfile.mkdtemp(dir=folder)) / self.name.rpartition("/")[2]
        with copy.open("wb") as file:
            for begin in range(0, self.size, COPY_BYTES):
                file.write(self.read(begin, min(begin + COPY_BYTES, self.size)))
        return copy

    def check(self) -> None:
        """Raise an error unless the file exists in the version that the driver saw."""
        if self.data is not None:
            return
        now = _looked_up(self.name)
        if (now.size, now.version) != (self.size, self.version):
            raise self._changed(f"{now.size:,} bytes")

    def _changed(self, now: str) -> InputError:
        return InputError(
            f"{self.name} has changed since the job began ({now}, expected {self.size:,}); run the command "
            "again with --restart"
        )


def is_url(name: object) -> bool:
    """`is_url("s3://crawl/a.txt")` -> True."""
    return isinstance(name, str) and "://" in name


class Sources(NamedTuple):
    """Files to read, and remarks about those that are skipped."""

    files: list[Source]
    remarks: list[str]

    @property
    def n_bytes(self) -> int:
        """The total size of all files."""
        return sum(source.size for source in self.files)


def sources_of(inputs: Any, settings: TextSettings) -> Sources:
    """The files behind names of files, folders and globs, also in stores: in given order, sorted within each folder."""
    names = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    if not all(isinstance(name, str | Path) and name != "-" for name in names):
        raise InputError("a cluster reads files; expected paths and URLs, not standard input or texts from Python")
    sources, remarks = list[Source](), list[str]()
    for are_urls, group in itertools.groupby(names, is_url):
        if are_urls:
            sources += [source for url in group for source in _in_store(str(url), settings)]
        else:
            corpus = Corpus(given := list(group), settings)
            if not corpus.files:
                raise InputError(f"{given} contains more than files; a cluster reads files, folders and URLs")
            own_names = {as_path(name) for name in given}
            sources += [replace(_looked_up(str(path)), is_named=path in own_names) for path in corpus.files]
            remarks += corpus.remarks
    if not sources:
        raise InputError("no input was given; expected files, folders, globs or URLs")
    return Sources(sources, remarks)


def _in_store(url: str, settings: TextSettings) -> list[Source]:
    with store_errors(url):
        system, path = _system(url)
        protocol = url.partition("://")[0]
        if any(sign in path for sign in "*?["):
            paths = sorted(system.glob(path))
        elif system.isdir(path):
            paths = sorted(each for each in system.find(path) if getattr(format_of(each), settings.kind))
        else:
            paths = [path]
    if not paths:
        raise InputError(f"nothing matches {url}; check the name")
    names = [f"{protocol}://{each.removeprefix('/')}" for each in paths]
    return [replace(_looked_up(name), is_named=each == path) for name, each in zip(names, paths, strict=True)]


def _looked_up(name: str) -> Source:
    """The current state of a file."""
    with store_errors(name):
        if not is_url(name):
            stat = Path(name).stat()
            return Source(name, stat.st_size, str(stat.st_mtime_ns))
        system, path = _system(name)
        system.invalidate_cache()
        info = system.info(path)
        if name.startswith(MEMORY):
            data = system.cat_file(path)
            return Source(name, len(data), hashlib.blake2b(data, digest_size=16).hexdigest(), data=data)
        keys = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "modified", "modificationTime")
        version = next((str(info[key]) for key in keys if info.get(key)), "")
        return Source(name, int(info["size"]), version)


def _system(url: str) -> tuple[Any, str]:
    with needs("fsspec", "ray"):
        import fsspec
    system, path = fsspec.core.url_to_fs(url)
    return system, str(path)


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """Errors of a disk or a store as one line that names the file."""
    try:
        yield
    except SiameseCBOWError:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no such file: {name}; check the name, and that all nodes see it") from None
    except ImportError as error:
        raise ClusterError(f"{name} needs another library ({error})") from None
    except Exception as error:
        kind = type(error).__name__
        if kind in NO_PERMISSION:
            raise ClusterError(
                f"no permission to read {name} ({kind}: {error}); check the credentials on every node"
            ) from None
        if isinstance(error, OSError | ValueError) or "botocore" in type(error).__module__:
            raise ClusterError(f"can't read {name} ({kind}: {' '.join(str(error).split())[:200]})") from None
        raise


@contextmanager
def paths_of(*sources: Source) -> Iterator[list[Path]]:
    """Local files for sources on this node, while the block runs; errors name the sources."""
    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder:
        paths = [source.local(Path(folder)) for source in sources]
        try:
            yield paths
        except SiameseCBOWError as error:
            message = str(error)
            for path, source in zip(paths, sources, strict=True):
                message = message.replace(str(path), source.name)
            raise type(error)(message) from None


def scratch_of(output: Path, plan: Mapping[str, Any]) -> Path:
    """The scratch folder, emptied if it belongs to another job."""
    scratch = output.with_name(f".{output.name}.cluster")
    text = json.dumps(plan).encode()
    if os.path.lexists(scratch) and not ((scratch / PLAN).is_file() and (scratch / PLAN).read_bytes() == text):
        ours = (*UNFINISHED, "part-*.parquet")
        check_replaceable(scratch, ours, "an unfinished job")
        remove_ours(scratch.resolve(), ours)
    with clear_disk_errors(scratch):
        scratch.mkdir(exist_ok=True)
    with atomic_file(scratch / PLAN) as file:
        file.write_bytes(text)
    return scratch
