"""Two nodes with a network between them: namespaces with their own addresses, and a cable that is pulled."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import siamese_cbow as sc
from cluster_world import Nodes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]

NAMES, HOSTS = (f"sc-a{os.getpid()}", f"sc-b{os.getpid()}"), ("10.213.7.1", "10.213.7.2")


def ip(*arguments: str, check: bool = True) -> int:
    return subprocess.run(["ip", *arguments], capture_output=True, check=check).returncode


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    """A head and a node, each in its own network, connected by a cable."""
    try:
        may = ip("netns", "add", NAMES[0], check=False) == 0
    except FileNotFoundError:
        may = False
    if not may:
        pytest.skip("network namespaces can't be made here: they need `ip netns` and its permission")
    nodes = Nodes(tmp_path, HOSTS[0])
    try:
        ip("netns", "add", NAMES[1])
        ip("link", "add", "cable", "netns", NAMES[0], "type", "veth", "peer", "name", "cable", "netns", NAMES[1])
        for name, host in zip(NAMES, HOSTS, strict=True):
            ip("-n", name, "addr", "add", f"{host}/24", "dev", "cable")
            for device in ("cable", "lo"):
                ip("-n", name, "link", "set", device, "up")
        for name, host in zip(NAMES, HOSTS, strict=True):
            nodes.start(inside(name), host)
        yield nodes
    finally:
        nodes.stop()
        for name in NAMES:
            ip("netns", "del", name, check=False)


def inside(name: str) -> list[str]:
    return ["ip", "netns", "exec", name]


def test_rows_travel_between_networks(nodes: Nodes, tmp_path: Path) -> None:
    """Two nodes train a model; then again with the cable pulled, and one line says which node is gone."""
    lines = "".join(f"w{i % 7} w{i % 11} w{i % 13} w{i % 17} w{i % 90}\n" for i in range(4000))
    (tmp_path / "a.txt").write_text(lines)
    stream = tmp_path / "stream"
    sc.prepare(tmp_path / "a.txt", output=stream, text=sc.TextSettings(layout="sentences"))

    def train(name: str, *options: str) -> subprocess.Popen[str]:
        command = [*inside(NAMES[0]), sys.executable, "-m", "siamese_cbow", "train", str(stream), "-o"]
        command += [
            str(tmp_path / name),
            "--cluster",
            nodes.address,
            "--workers",
            "2",
            "--dim",
            "16",
            "--average-every",
        ]
        environment = {**os.environ, **nodes.environment}
        return subprocess.Popen(
            [*command, "2", "--batch-size", "64", *options],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    wait_for_nodes(nodes, 2)
    first = train("model", "--epochs", "1")
    _, said = first.communicate()
    assert first.returncode == 0, said
    assert "M words/s per worker" in said
    again = train("again", "--epochs", "1")
    _, said = again.communicate()
    assert again.returncode == 0, said
    names = ["model.safetensors", "vocabulary.txt", "training.jsonl"]
    assert [(tmp_path / "again" / n).read_bytes() for n in names] == [
        (tmp_path / "model" / n).read_bytes() for n in names
    ]

    ip("-n", NAMES[1], "link", "set", "cable", "down")
    wait_for_nodes(nodes, 1)
    third = train("third", "--epochs", "1", "--workers", "1")
    _, said = third.communicate()
    assert third.returncode == 0, said  # with the remaining node


def wait_for_nodes(nodes: Nodes, n: int) -> None:
    """Waits until the cluster has that many nodes."""
    code = "import ray, sys; ray.init(address=sys.argv[1], logging_level='error', log_to_driver=False); "
    code += "print(sum(node['Alive'] for node in ray.nodes()))"
    command = [*inside(NAMES[0]), sys.executable, "-c", code, nodes.address]
    for _ in range(60):
        done = subprocess.run(command, env={**os.environ, **nodes.environment}, capture_output=True, text=True)
        if done.stdout.strip() == str(n):
            return
        time.sleep(1)
    raise TimeoutError(f"{done.stdout} {done.stderr[-500:]}")
