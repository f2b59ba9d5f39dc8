"""A Ray cluster: connect, check its nodes, and run work that survives losing some of them.

    with Session("local", workers=2) as session:
        for number, result in session.each(count_words, [("a.txt",), ("b.txt",)]):
            ...

Work is a function of this package and small arguments; large data is on storage that all nodes see. A piece of work
whose process or node is lost is repeated elsewhere, so it must write files atomically. An error in a piece comes back
with the name of its node; Ray's own errors become one line.

Only this room imports Ray, and only here.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from siamese_cbow.base.disk import clear_disk_errors
from siamese_cbow.cluster.node import (
    Failure,
    facts_function,
    guarded,
    package_version,
    reader_function,
    source_hash,
)
from siamese_cbow.errors import ClusterError, SettingsError, SiameseCBOWError, needs

LOCAL = "local"
RETRIES = 5  # of work whose process was lost
CONNECT_SECONDS = 5.0
EXPECTED = "expected host:port of its head, as `ray start --head` says, auto, or local"
PLACE_SECONDS = 120.0  # to find a place for a worker, or to start one
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


class Node(NamedTuple):
    """A machine of the cluster, or one of several raylets on it."""

    id: str
    name: str  # for messages: "db7 (10.0.0.7, 1a2b3c4d)"
    n_cpus: int


class Session:
    """A connection to a cluster while the block runs.

    address  "local": a cluster of this machine's cores, only for this block; otherwise as for `ray.init`: "auto"
             for the cluster this machine belongs to, or host:port of its head
    workers  how many pieces of work run at a time; by default one per core of the cluster
    """

    def __init__(self, address: str = LOCAL, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise SettingsError(f"workers is {workers}; expected 1 or more")
        self.address, self.wanted = address, workers

    def __enter__(self) -> Self:
        self.ray = _imported()
        _connect(self.ray, self.address, self.wanted)
        try:
            self.nodes = self.live_nodes()
            self._check_nodes()
        except BaseException:
            self.ray.shutdown()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        self.ray.shutdown()

    @property
    def n_cpus(self) -> int:
        """Cores of all live nodes."""
        return sum(node.n_cpus for node in self.live_nodes())

    @property
    def workers(self) -> int:
        """How many pieces of work run at a time."""
        return self.wanted or max(1, self.n_cpus)

    def live_nodes(self) -> list[Node]:
        """The nodes that are alive now."""
        with clear_errors(self.ray, self.address):
            nodes = [node for node in self.ray.nodes() if node["Alive"]]
        return [
            Node(
                node["NodeID"],
                f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']}, {node['NodeID'][:8]})",
                int(node["Resources"].get("CPU", 0)),
            )
            for node in sorted(nodes, key=lambda node: str(node["NodeID"]))
        ]

    def each(self, function: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """The result of `function(*item)` for each item, with its number, in order of completion."""
        # SPREAD suits work on all cores, which keeps each node busy. On fewer, it would send every piece to another
        # node, where Ray starts a process and ends it as soon as it idles: with one worker on two nodes, the work took
        # three times as long.
        strategy = "SPREAD" if self.workers >= self.n_cpus else "DEFAULT"
        remote = self.ray.remote(num_cpus=1, max_retries=RETRIES, scheduling_strategy=strategy)(_guarded)
        waiting, running = deque(enumerate(items)), dict[Any, int]()
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    number, item = waiting.popleft()
                    running[remote.remote(function, item)] = number
                for done in self.ray.wait(list(running), num_returns=1)[0]:
                    number = running.pop(done)
                    yield number, self._result(done)
        finally:
            for ref in running:
                with suppress(Exception):  # the cluster may be gone
                    self.ray.cancel(ref, force=True)

    def _result(self, ref: Any) -> Any:
        """The return value of a piece of work; raises its error if it failed."""
        with clear_errors(self.ray, self.address):
            value = self.ray.get(ref)
        return unwrapped(value)

    def check_shared(self, folder: Path) -> None:
        """Raise an error unless all nodes see what is written to `folder`."""
        with clear_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".siamese-cbow-shared-", delete=False) as file:
                file.write(os.urandom(16))
        path = Path(file.name)
        try:
            expected = path.read_bytes()
            for node, seen in self._on_each_node(reader_function(), str(path)):
                if seen != expected:
                    raise ClusterError(
                        f"node {node.name} does not see {folder.absolute()}, where the job writes; choose an "
                        "output on storage that all nodes mount at the same path"
                    )
        finally:
            path.unlink(missing_ok=True)

    def _check_nodes(self) -> None:
        """Raise an error unless every node has this package with identical code."""
        if not any(node.n_cpus for node in self.nodes):
            raise ClusterError(f"the cluster {self.address} has no CPU; start nodes with --num-cpus 1 or more")
        expected = source_hash()
        for node, facts in self._on_each_node(facts_function(), ""):
            if facts is None:
                raise ClusterError(
                    f"siamese_cbow is not installed on node {node.name}; run there: pip install 'siamese-cbow[ray]'"
                )
            version, content = facts
            if content != expected:
                raise ClusterError(
                    f"node {node.name} has siamese-cbow {version}, whose code differs from this one "
                    f"({package_version()}); install the same version on all nodes"
                )

    def _on_each_node(self, function: Callable[..., Any], argument: Any) -> Iterator[tuple[Node, Any]]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        remote = self.ray.remote(num_cpus=0, max_retries=2)(function)
        nodes = self.live_nodes()
        refs = [
            remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote(argument)
            for node in nodes
        ]
        for node, ref in zip(nodes, refs, strict=True):
            try:
                with clear_errors(self.ray, node.name):
                    value = self.ray.get(ref, timeout=PLACE_SECONDS)
            except ClusterError:
                if self._is_lost(node):
                    continue
                raise
            yield node, value

    def _is_lost(self, node: Node) -> bool:
        """Whether a node that does not answer is gone; the cluster takes some seconds to notice."""
        for _ in range(20):
            if node not in self.live_nodes():
                return True
            time.sleep(0.5)
        return False


def _guarded(function: Callable[..., Any], item: tuple[Any, ...]) -> Any:
    """Runs on a node: errors meant for users are returned as values, with the name of the node."""
    return guarded(lambda: function(*item))


def unwrapped(value: Any) -> Any:
    """The value that `guarded` returned on a node; raises the error of a `Failure`."""
    if isinstance(value, Failure):
        raise value.kind(value.message)
    return value


# Connecting


def _imported() -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    with needs("Ray", "ray"):
        import ray
    return ray


def _connect(ray: Any, address: str, workers: int | None) -> None:
    quiet: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        _check_reachable(address, host, port)
    elif address not in ("auto", LOCAL):
        raise ClusterError(f"{address!r} is not the address of a Ray cluster; {EXPECTED}")
    if ray.is_initialized():
        raise ClusterError("this process is already connected to a Ray cluster; call ray.shutdown() first")
    if address == LOCAL:
        cores = workers or os.cpu_count() or 1
        with clear_errors(ray, address):
            ray.init(address=LOCAL, num_cpus=cores, include_dashboard=False, **quiet)
        return
    with clear_errors(ray, address), _without_warnings():
        ray.init(address=address, **quiet)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence Ray's own code, which prints a line for every attempt to connect; the final error says it all.

    Rejected: RAY_BACKEND_LOG_LEVEL. Setting it also prints a line, in every job.
    """
    with ExitStack() as after, Path(os.devnull).open("wb") as nowhere:
        with suppress(OSError):  # the process has no standard error
            before = os.dup(2)
            after.callback(os.close, before)
            os.dup2(nowhere.fileno(), 2)
            after.callback(os.dup2, before, 2)
        yield


def _check_reachable(address: str, host: str, port: str) -> None:
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClusterError(f"no Ray cluster answers at {address} ({reason}); {EXPECTED}") from None


@contextmanager
def clear_errors(ray: Any, where: str) -> Iterator[None]:
    """Turn Ray's errors into one line that says what to do."""
    errors = ray.exceptions
    full = (errors.ObjectStoreFullError, errors.OutOfDiskError)  # in the driver, or as the cause of a task's error
    try:
        yield
    except SiameseCBOWError:
        raise
    except (errors.RayTaskError, *full) as error:
        cause = error.cause if isinstance(getattr(error, "cause", None), BaseException) else error
        if isinstance(cause, full):
            raise ClusterError(
                f"the object store of {where} is full; start its nodes with a larger --object-store-memory, or use "
                "fewer --workers; then run the same command to resume"
            ) from error
        last = str(cause).strip().splitlines()[-1:] or [""]
        raise ClusterError(f"work on {where} failed: {type(cause).__name__}: {last[0][:300]}") from error
    except errors.OutOfMemoryError as error:
        raise ClusterError(
            f"a node of {where} ran out of memory and Ray killed a worker; run the same command with fewer "
            "--workers to resume"
        ) from error
    except errors.GetTimeoutError as error:
        raise ClusterError(f"{where} did not answer within {PLACE_SECONDS:.0f} s; check `ray status`") from error
    except (errors.RayError, ConnectionError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split())
        if "AuthToken" in f"{error.__cause__} {error}":
            raise ClusterError(
                f"the cluster {where} requires a token, and ours is missing or wrong; set RAY_AUTH_MODE=token "
                "and RAY_AUTH_TOKEN_PATH to a file with the cluster's token"
            ) from error
        if "Failed to connect to Ray cluster" in text:
            raise ClusterError(f"{where} answers, but it is not a Ray cluster, or not ready yet; {EXPECTED}") from error
        if "ersion mismatch" in text:
            raise ClusterError(f"{where} runs another Ray or Python than this process: {text[:400]}") from error
        raise ClusterError(
            f"the cluster {where} failed ({type(error).__name__}: {text[:300]}); once it is back, run the "
            "same command to resume"
        ) from error
