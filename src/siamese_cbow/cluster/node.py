"""Helpers that run on a node: errors with the node's name, and the node's identity."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from siamese_cbow.errors import ClusterError, SiameseCBOWError


class Failure(NamedTuple):
    """What went wrong in a piece of work, and where."""

    kind: type[SiameseCBOWError]
    message: str


def guarded(work: Callable[[], Any]) -> Any:
    """What `work` returns, or a `Failure`."""
    try:
        return work()
    except SiameseCBOWError as error:
        return Failure(type(error), f"{error} [node {node_name()}]")
    except MemoryError as error:
        return Failure(ClusterError, f"node {node_name()} is out of memory ({error}); use fewer workers per node")
    except OSError as error:
        return Failure(ClusterError, f"node {node_name()}: {error}; fix that and run the same command again")


def node_name() -> str:
    """The name of the node this runs on."""
    import ray

    context: Any = ray.get_runtime_context()
    return f"{socket.gethostname()} ({node_address()}, {context.get_node_id()[:8]})"


def node_address() -> str:
    """The address by which other nodes reach this one."""
    import ray

    address: Any = ray.util.get_node_ip_address
    return str(address())


def source_hash() -> str:
    """A hash of the package's code."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def package_version() -> str:
    """The version of this package on this node."""
    from importlib.metadata import version

    return version("siamese-cbow")


# Nested functions are sent to a node as code, so they run even where the package is missing.


def facts_function() -> Callable[..., Any]:
    """A function that returns the package version and code hash on a node; None if the package is missing."""

    def facts(_: str) -> tuple[str, str] | None:
        try:
            from siamese_cbow.cluster.node import package_version, source_hash
        except ImportError as error:
            return None if error.name == "siamese_cbow" else ("of another version", "")
        return package_version(), source_hash()

    return facts


def reader_function() -> Callable[..., Any]:
    """A function that reads a file on a node; None if it is missing."""

    def read(path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (as little as possible is pickled)
                return file.read()
        except OSError:
            return None

    return read
