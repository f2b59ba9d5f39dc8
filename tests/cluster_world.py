"""A real Ray cluster of two nodes on this machine, and accidents that happen to it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

STORE_BYTES = 120_000_000
HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Nodes:
    """Raylets with one core each; the first is the head."""

    def __init__(self, folder: Path, host: str = HOST) -> None:
        self.address, self._folder = f"{host}:{free_port()}", folder
        self._sockets = tempfile.mkdtemp(prefix="ray")  # a short name: socket paths are limited to 107 bytes
        token = folder / "token"
        token.write_text(secrets.token_hex(32))
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_failure_threshold": "4",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, before: Sequence[str] = (), address: str = HOST, **environment: str) -> subprocess.Popen[bytes]:
        """Adds a node that others reach at `address`; `before` is a command prefix that runs it."""
        port = self.address.rpartition(":")[2]
        role = ["--address", self.address]
        if not self.processes:
            role = ["--head", "--port", port, "--include-dashboard=false", "--temp-dir", self._sockets]
        command = [
            *(*before, sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus", "1"),
            *("--object-store-memory", str(STORE_BYTES), "--disable-usage-stats"),
            *("--node-ip-address", address, *role),
        ]
        everything = {**os.environ, **self.environment, **environment}
        with (self._folder / f"node{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=everything, start_new_session=True)
        if not self.processes:
            self._wait_for_head(process, before)
        self.processes.append(process)
        return process

    def _wait_for_head(self, process: subprocess.Popen[bytes], before: Sequence[str]) -> None:
        """Waits until the head answers from the node's point of view; a loaded machine may take minutes."""
        host, _, port = self.address.partition(":")
        ask = f"import socket; socket.create_connection(({host!r}, {port}), 5)"
        for _ in range(300):
            time.sleep(0.5)
            if process.poll() is not None:
                raise RuntimeError((self._folder / "node0.log").read_text())
            if subprocess.run([*before, sys.executable, "-S", "-c", ask], capture_output=True).returncode == 0:
                return
        raise TimeoutError(self.address)

    def stop(self) -> None:
        for process in reversed(self.processes):
            kill_node(process)
        shutil.rmtree(self._sockets, ignore_errors=True)


def kill_node(process: subprocess.Popen[bytes]) -> None:
    """Kills a node with all its workers at once."""
    try:
        family = [*psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    process.kill()
    process.wait()


def kill_worker(nodes: Nodes, work: str) -> int:
    """Kills the processes that do a kind of work, such as "ray::scan"; returns how many."""
    n = 0
    for node in nodes.processes:
        if node.poll() is not None:
            continue
        for member in psutil.Process(node.pid).children(recursive=True):
            try:
                title = " ".join(member.cmdline())
                if title.startswith(work):
                    os.kill(member.pid, signal.SIGKILL)
                    n += 1
                    break
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
    return n


class Accident:
    """Progress that triggers something once, after so many steps, and keeps the messages."""

    def __init__(self, after: int, what: Callable[[], object]) -> None:
        self._after, self._what = after, what
        self.n_steps, self.said, self.happened = 0, list[str](), False

    def advance(self, amount: float, note: str = "") -> None:
        self.n_steps += amount > 0
        if self.n_steps == self._after and not self.happened:
            self.happened = True
            self._what()

    def say(self, message: str) -> None:
        self.said.append(message)
