"""Jobs on a real cluster of two nodes: the same bytes as on one machine, whatever goes wrong."""

from __future__ import annotations

import gzip
import importlib.util
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import siamese_cbow as sc
from cluster_world import Accident, Nodes, free_port, kill_node, kill_worker
from siamese_cbow.cli import main
from siamese_cbow.cluster.node import ThreadExchange
from siamese_cbow.cluster.session import clear_errors
from siamese_cbow.cluster.shards import gathered_letters
from siamese_cbow.cluster.sources import PLAN, Source, scratch_of, sources_of
from siamese_cbow.cluster.training_job import TrainingJob, training_job
from siamese_cbow.cluster.training_worker import TrainingWorker
from siamese_cbow.training.checkpoint import read_log
from siamese_cbow.training.loop import Run
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.recipe import Saving
from siamese_cbow.training.saved_run import train_into

# Set before Ray is imported, because Ray reads its environment then.
HAS_RAY = importlib.util.find_spec("ray") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'siamese-cbow[ray]'"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server that speaks S3."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=free_port(), verbose=False)
    server.start()
    yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    server.stop()


@pytest.fixture(scope="module")
def store(cluster: sc.RayCluster, texts: Path) -> str:
    """A bucket with all texts."""
    import fsspec

    system = fsspec.filesystem("s3")
    system.mkdir("crawl")
    for path in texts.iterdir():
        system.put_file(str(path), f"crawl/{path.name}")
    return "s3://crawl"


@pytest.fixture(scope="module")
def nodes(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("ray"))
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    nodes.environment |= {"AWS_ENDPOINT_URL": server, **keys}
    before = {name: os.environ.get(name) for name in nodes.environment}
    os.environ.update(nodes.environment)
    try:
        nodes.start()
        nodes.start()
        yield nodes
    finally:
        nodes.stop()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="module")
def cluster(nodes: Nodes) -> Iterator[sc.RayCluster]:
    with sc.RayCluster(nodes.address, workers=2) as cluster:
        with_nodes(cluster, 2)  # the second node may join after the driver
        yield cluster


def with_workers(cluster: sc.RayCluster, n: int) -> sc.RayCluster:
    assert cluster._session is not None
    cluster._session.wanted = n
    return cluster


def text_of(n_lines: int, seed: int) -> str:
    """Lines of a few thousand words, some empty, some with unusual characters."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(2000)] + ["Straße", "naïve", "it's", "日本", "a\u00a0.", "x\0y"]
    weights = [1 / (i + 1) for i in range(len(words))]
    drawn = rng.choices(words, weights, k=9 * n_lines)
    lines = [" ".join(drawn[9 * i : 9 * i + rng.randrange(1, 10)]) for i in range(n_lines)]
    return "".join(line + ("\n\n" if rng.random() < 0.1 else "\n") for line in lines)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of every kind: large enough to be split, small files, compressed, tables, another encoding."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("texts")
    (folder / "a-large.txt").write_text("\ufeff" + text_of(240_000, 1), "utf-8")
    (folder / "b-small.txt").write_text(text_of(300, 2), "utf-8")
    (folder / "c-small.txt").write_text("no line end, and " + text_of(20, 3).rstrip(), "utf-8")
    (folder / "d.txt.gz").write_bytes(gzip.compress(text_of(20_000, 4).encode()))
    (folder / "e.jsonl").write_text("".join(f'{{"text": "w1 w2 w{i % 50}", "n": {i}}}\n' for i in range(4000)))
    (folder / "g.txt.zst").write_bytes(pa.compress(text_of(5000, 6).encode(), "zstd", asbytes=True))
    rows = pa.table({"text": [f"w{i % 7} w{i % 11} w3" for i in range(2000)], "n": range(2000)})
    pq.write_table(rows, folder / "h.parquet", row_group_size=300)
    (folder / "f-other.txt").write_text("Die Straße, ein Fluß.\nGrüße aus Köln.\n" * 200, "cp1252")
    return folder


@pytest.fixture(scope="module")
def stream(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("local") / "stream"
    sc.prepare(texts, output=output, text=sc.TextSettings(layout="sentences"))
    return output


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siamese_cbow.cluster.shards.SHARD_BYTES", 1 << 20)
    monkeypatch.setattr("siamese_cbow.cluster.parallel_encode.PART_ROWS", 1000)
    monkeypatch.setattr("siamese_cbow.cluster.parallel_encode.PART_BYTES", 1 << 20)


LINES = sc.TextSettings(layout="sentences")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stream_has_the_bytes_of_a_local_one(
    cluster: sc.RayCluster, texts: Path, stream: Path, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siamese_cbow.cluster.parallel_prepare.COUNTED", 1000 * workers)  # so that counts are split
    with_workers(cluster, workers).prepare(texts, output=tmp_path / "stream", text=LINES)
    assert content(tmp_path / "stream") == content(stream)
    assert [path.name for path in tmp_path.iterdir()] == ["stream"]


def test_text_of_an_s3_store(cluster: sc.RayCluster, store: str, texts: Path, tmp_path: Path) -> None:
    """Read from an S3 store, the same files give the same words and ids."""
    names = ["a-large.txt", "b-small.txt", "d.txt.gz", "e.jsonl", "g.txt.zst", "h.parquet"]
    with_workers(cluster, 2).prepare([f"{store}/{name}" for name in names], output=tmp_path / "far", text=LINES)
    near = sc.prepare([texts / name for name in names], output=tmp_path / "near", text=LINES)
    assert sc.Stream.load(tmp_path / "far", verify=True).fingerprint == near.fingerprint
    with pytest.raises(sc.InputError, match=r"no such file: s3://crawl/none\.txt"):
        cluster.prepare(f"{store}/none.txt", output=tmp_path / "none")


def test_text_in_memory(cluster: sc.RayCluster, texts: Path, tmp_path: Path) -> None:
    import fsspec

    names = ["b-small.txt", "g.txt.zst", "h.parquet"]
    for name in names:
        fsspec.filesystem("memory").pipe(f"/corpus/{name}", (texts / name).read_bytes())
    far = cluster.prepare([f"memory://corpus/{name}" for name in names], output=tmp_path / "far", text=LINES)
    assert far.fingerprint == sc.prepare([texts / name for name in names], text=LINES).fingerprint


class LostError(Exception):
    """The driver dies."""


def die() -> None:
    raise LostError


def test_unfinished_work_takes_the_place_of_its_own_kind_only(tmp_path: Path) -> None:
    output, scratch = tmp_path / "stream", tmp_path / ".stream.cluster"
    for plan in ({"job": 1}, {"job": 2}):
        assert scratch_of(output, plan) == scratch
        for name in ("scan-000000.json", "spool-000000", "counts-000000/hashes.npy", ".new-abc/ids.npy"):
            (scratch / name).parent.mkdir(exist_ok=True)
            (scratch / name).write_text("old")
        assert scratch_of(output, plan) == scratch
        assert (scratch / "spool-000000").exists()  # of the same job, which resumes
    scratch_of(output, {"job": 3})
    assert [path.name for path in scratch.iterdir()] == [PLAN]
    (scratch / "thesis.txt").write_text("years of work")
    with pytest.raises(sc.InputError, match="thesis"):
        scratch_of(output, {"job": 4})
    (scratch / PLAN).write_bytes(b"\xff")
    with pytest.raises(sc.InputError, match="thesis"):
        scratch_of(output, {"job": 3})
    assert (scratch / "thesis.txt").read_text() == "years of work"


def test_prepare_survives(cluster: sc.RayCluster, nodes: Nodes, texts: Path, stream: Path, tmp_path: Path) -> None:
    """A worker, a node and the driver are lost, one after the other; the result is as if nothing had happened."""
    output = tmp_path / "stream"
    driver = Accident(2, die)
    with pytest.raises(LostError):
        with_workers(cluster, 2).prepare(texts, output=output, text=LINES, progress=driver)
    left = tmp_path / ".stream.cluster"
    done = {path.name: path.stat().st_mtime_ns for path in left.glob("scan-*.json")}
    assert done
    assert not output.exists()
    third = nodes.start()
    with_nodes(cluster, 3)
    node = Accident(1, lambda: kill_node(third))
    with_workers(cluster, 3).prepare(texts, output=output, text=LINES, progress=node)
    assert node.happened
    assert content(output) == content(stream)
    shutil.rmtree(output)
    worker = Accident(2, lambda: kill_worker(nodes, "ray::_guarded"))
    with_workers(cluster, 2).prepare(texts, output=output, text=LINES, progress=worker)
    assert worker.happened
    assert content(output) == content(stream)
    assert not left.exists()


def with_nodes(cluster: sc.RayCluster, n: int) -> None:
    """Waits until that many nodes have joined; a loaded machine may take minutes."""
    assert cluster._session is not None
    for _ in range(1800):
        if len(cluster._session.live_nodes()) == n:
            return
        time.sleep(0.1)
    raise TimeoutError(f"{len(cluster._session.live_nodes())} nodes")


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small stream to train on."""
    folder = tmp_path_factory.mktemp("lesson")
    (folder / "a.txt").write_text(text_of(9000, 5), "utf-8")
    sc.prepare(folder / "a.txt", output=folder / "stream", text=LINES)
    return folder / "stream"


RECIPE = sc.SiameseCBOW(dim=16, epochs=2, batch_size=64)
OFTEN = Saving(checkpoint_minutes=0)
EVERY = 6  # batches per round; a checkpoint follows every 8 rounds


def test_one_worker_is_local_training(cluster: sc.RayCluster, lesson: Path, tmp_path: Path) -> None:
    train_into(tmp_path / "near" / "model", RECIPE, sc.Stream.load(lesson))
    with_workers(cluster, 1).train(RECIPE, lesson, output=tmp_path / "far" / "model")
    assert content(tmp_path / "far") == content(tmp_path / "near")


@pytest.fixture(scope="module")
def together(cluster: sc.RayCluster, lesson: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained by two workers without interruption."""
    output = tmp_path_factory.mktemp("together") / "model"
    with_workers(cluster, 2).train(RECIPE, lesson, output=output, average_every=EVERY)
    return output


def test_two_workers_are_as_in_one_process(lesson: Path, together: Path) -> None:
    """Without Ray and sockets, the same workers as threads of one process give the same numbers."""
    job = TrainingJob(RECIPE, (str(lesson),), (1.0,), {}, str(lesson.parent / "none"), 2, EVERY)
    workers = [TrainingWorker(job, i) for i in range(2)]
    with ThreadPoolExecutor(2) as pool:
        begun = list(pool.map(TrainingWorker.start, workers, ThreadExchange.several(2)))
        n_rounds = 2 * -(-max(n_batches for _, n_batches, _ in begun) // EVERY)
        for number in range(1, n_rounds + 1):
            reports = list(pool.map(TrainingWorker.advance, workers, [number] * 2, [n_rounds] * 2))
    assert np.array_equal(*(worker.state.vectors for worker in workers))
    run = Run(plan_of(RECIPE, sc.Stream.load(lesson)), workers[0].state)
    model = sc.load(together)
    assert np.array_equal(run.model().vectors, model.vectors)
    assert model.info.trained is not None
    assert model.info.trained["workers"] == 2
    assert model.info.trained["words"] == sum(report.counters.words for report in reports)
    lines = read_log(together / "training.jsonl")
    assert len(lines) == n_rounds
    assert lines[-1]["loss"] < lines[0]["loss"]


def test_training_survives(cluster: sc.RayCluster, nodes: Nodes, lesson: Path, together: Path, tmp_path: Path) -> None:
    def train(progress: Accident, name: str) -> None:
        with_workers(cluster, 2).train(
            RECIPE, lesson, output=tmp_path / name / "model", average_every=EVERY, saving=OFTEN, progress=progress
        )

    worker = Accident(10, lambda: kill_worker(nodes, "ray::TrainingWorker"))
    train(worker, "worker")
    assert any("lost a worker" in message for message in worker.said)
    driver = Accident(10, die)
    with pytest.raises(LostError):
        train(driver, "driver")
    again = Accident(0, die)
    train(again, "driver")
    assert any("resuming" in message for message in again.said)
    third = nodes.start()
    with_nodes(cluster, 3)
    node = Accident(9, lambda: kill_node(third))
    with_workers(cluster, 3)
    train_three = {"average_every": EVERY, "saving": OFTEN}
    cluster.train(RECIPE, lesson, output=tmp_path / "node" / "model", progress=node, **train_three)
    cluster.train(RECIPE, lesson, output=tmp_path / "calm" / "model", **train_three)
    assert node.happened
    assert content(tmp_path / "node") == content(tmp_path / "calm")
    for name in ("worker", "driver"):
        assert content(tmp_path / name / "model") == content(together)


def test_other_workers_make_another_model(cluster: sc.RayCluster, lesson: Path, together: Path) -> None:
    with pytest.raises(sc.InputError, match="holds a model with other settings"):
        with_workers(cluster, 2).train(RECIPE, lesson, output=together, average_every=300)
    progress = Accident(0, die)
    cluster.train(RECIPE, lesson, output=together, average_every=EVERY, progress=progress)
    assert "is up to date" in progress.said[0]


def test_plan(cluster: sc.RayCluster, lesson: Path) -> None:
    text = with_workers(cluster, 2).plan(RECIPE, lesson)
    for part in (
        "2 workers of 1 threads on 2 nodes",
        "memory per worker",
        "rounds of",
        "minutes",
        "nothing was trained",
    ):
        assert part in text


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with nulls and extra columns, and two plain texts, one of them compressed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("tickets")
    body = [None if i % 97 == 0 else f"the printer on floor {i} is jammed" for i in range(9000)]
    pq.write_table(pa.table({"id": range(9000), "body": body}), folder / "a.parquet", row_group_size=700)
    (folder / "b.txt").write_text("".join(f"Ein Satz, line {i}.\r\n" for i in range(70_000)), newline="")
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"one\n\ntwo without a line end"))
    return folder


def test_every_row_is_encoded_once(cluster: sc.RayCluster, nodes: Nodes, tickets: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    model, driver = sc.load(), Accident(1, die)
    table, output = tickets / "a.parquet", tmp_path / "tickets"
    text = sc.TextSettings(text_column="body")
    with pytest.raises(LostError):
        with_workers(cluster, 2).encode(table, output=output, text=text, progress=driver)
    third = nodes.start()
    with_nodes(cluster, 3)

    def accidents() -> None:
        kill_worker(nodes, "ray::_guarded")
        kill_node(third)

    both = Accident(1, accidents)
    assert with_workers(cluster, 3).encode(table, output=output, text=text, progress=both) == 9000
    assert both.happened
    rows = pq.read_table(output)
    assert rows.column("id").to_pylist() == list(range(9000))
    body = rows.column("body").to_pylist()
    assert body[97] is None
    vectors = np.array(rows.column("vector").combine_chunks().flatten()).reshape(9000, -1)
    assert np.array_equal(vectors, model.encode([each or "" for each in body]))
    assert str(rows.schema.field("vector").type) == f"fixed_size_list<item: float>[{model.dim}]".replace(
        "item", "element"
    )
    with pytest.raises(sc.InputError, match="already exists"):
        cluster.encode(table, output=output, text=text)
    with pytest.raises(sc.InputError, match="no column 'none'; it has id, body"):
        cluster.encode(table, output=tmp_path / "none", text=sc.TextSettings(text_column="none"))
    import fsspec

    fsspec.filesystem("memory").pipe("/tickets.parquet", table.read_bytes())
    assert cluster.encode("memory://tickets.parquet", output=tmp_path / "far", text=text) == 9000
    assert pq.read_table(tmp_path / "far").equals(rows)
    plain = [tickets / "b.txt", tickets / "c.txt.gz"]
    assert cluster.encode(plain, output=tmp_path / "lines") == 70_003
    lines = pq.read_table(tmp_path / "lines")
    assert lines.column("text").to_pylist()[69_999:] == ["Ein Satz, line 69999.", "one", "", "two without a line end"]
    assert len(list((tmp_path / "lines").iterdir())) > 2


def test_models_are_scored_side_by_side(cluster: sc.RayCluster, together: Path, tmp_path: Path) -> None:
    folder = tmp_path / "2014"
    folder.mkdir()
    (folder / "STS.input.toy.txt").write_text("a cat\ta dog\nw1 w2\tw1 w3\nthe house\ta house\n")
    (folder / "STS.gs.toy.txt").write_text("2\n1\n5\n")
    scores = with_workers(cluster, 2).evaluate([str(together), "random"], sc.sts(folder))
    near = [sc.evaluate(sc.load(together), sc.sts(folder), name="x"), scores[1]]
    assert [each.sets[0].pearson for each in scores] == [each.sets[0].pearson for each in near]


# What goes wrong


def test_nobody_answers(capsys: pytest.CaptureFixture[str], texts: Path, tmp_path: Path) -> None:
    for command in (("prepare", texts), ("encode", texts / "b-small.txt")):
        said = failed(capsys, *command, "-o", tmp_path / "s", "--cluster", "127.0.0.1:1", "--workers", 2)
        assert "no Ray cluster answers at 127.0.0.1:1" in said
    said = failed(capsys, "prepare", texts, "-o", tmp_path / "s", "--cluster", "somewhere")
    assert "'somewhere' is not the address of a Ray cluster; expected host:port" in said


def test_a_node_that_sees_other_files(cluster: sc.RayCluster, nodes: Nodes, texts: Path, tmp_path: Path) -> None:
    """A third node has an empty disk mounted at the output's place."""
    hidden = tmp_path / "output"
    hidden.mkdir()
    may_mount = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", hidden], capture_output=True)
    if may_mount.returncode:
        pytest.skip("this user may not mount file systems in a namespace")
    third = nodes.start(before=["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {hidden} && exec "$@"', "sh"])
    try:
        with_nodes(cluster, 3)
        with pytest.raises(sc.ClusterError, match=r"node \S+ \(.*\) does not see .*output"):
            cluster.prepare(texts, output=hidden / "stream")
    finally:
        kill_node(third)
        with_nodes(cluster, 2)
    assert list(hidden.iterdir()) == []


def test_files_that_have_changed(cluster: sc.RayCluster, stream: Path, texts: Path, tmp_path: Path) -> None:
    session = cluster._session
    assert session is not None
    job, _ = training_job(session, RECIPE, [stream], tmp_path / "model", (), 400)
    name = str(stream / "ids.npy")
    other = replace(job, files={name: (5, "")})
    [exchange] = ThreadExchange.several(1)
    with pytest.raises(sc.InputError, match="differs from what the driver sees"):
        TrainingWorker(other, 0).start(exchange)
    gone = replace(job, files={str(tmp_path / "ids.npy"): (5, "")})
    with pytest.raises(sc.InputError, match="no file"):
        TrainingWorker(gone, 0).start(exchange)
    [source] = sources_of(texts / "b-small.txt", LINES).files
    with pytest.raises(sc.InputError, match=r"b-small.txt has changed since the job began \(.* bytes, expected 5\)"):
        list(session.each(Source.check, [(replace(source, size=5),)]))
    with pytest.raises(sc.InputError, match=r"no such file: .*\[node "):
        list(session.each(Source.check, [(replace(source, name=str(tmp_path / "none.txt")),)]))


def test_a_stream_that_is_not_what_was_prepared(
    cluster: sc.RayCluster, lesson: Path, together: Path, tmp_path: Path
) -> None:
    """A changed id is found during training; with the right file restored, the same command resumes."""
    stream = shutil.copytree(lesson, tmp_path / "stream")
    ids = np.load(stream / "ids.npy")
    np.save(stream / "ids.npy", np.where(np.arange(len(ids)) == len(ids) // 2, ids[::-1], ids))
    train = {"output": tmp_path / "model", "average_every": EVERY}
    with pytest.raises(sc.FormatError, match=r"stream: .*do not match their checksum.*\[node "):
        with_workers(cluster, 2).train(RECIPE, stream, **train)
    shutil.copy(lesson / "ids.npy", stream / "ids.npy")
    cluster.train(RECIPE, stream, **train)
    assert content(tmp_path / "model") == content(together)
    (stream / "ids.npy").unlink()
    with pytest.raises(sc.FormatError, match=r"ids\.npy"):
        cluster.train(RECIPE, stream, output=tmp_path / "other")


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The last line of a command that ends with exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    assert ended.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert "Traceback" not in "".join(lines)
    return lines[-1]


def test_nodes_of_other_code(
    cluster: sc.RayCluster, nodes: Nodes, texts: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A node without the package and one with another version are both named; without them the job runs."""
    assert cluster._session is not None
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.partition('.')[0] == 'siamese_cbow':\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
    )
    package = Path(sc.__file__).parent
    shutil.copytree(package, tmp_path / "other" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / package.name / "errors.py").open("a") as file:
        file.write("# changed\n")
    for folder, message in (
        ("none", "siamese_cbow is not installed on node"),
        ("other", "whose code differs from this one"),
    ):
        before = set(cluster._session.live_nodes())
        third = nodes.start(PYTHONPATH=str(tmp_path / folder))
        try:
            with_nodes(cluster, 3)
            [new] = set(cluster._session.live_nodes()) - before
            with pytest.raises(sc.ClusterError, match=message) as raised:
                cluster._session._check_nodes()
            assert f"node {new.name}" in str(raised.value)
        finally:
            kill_node(third)
            with_nodes(cluster, 2)
    cluster._session._check_nodes()


def test_something_else_answers(cluster: sc.RayCluster) -> None:
    assert cluster._session is not None
    expected = pytest.raises(sc.ClusterError, match="db7:80 answers, but it is not a Ray cluster")
    with expected, clear_errors(cluster._session.ray, "db7:80"):
        raise ConnectionError("Failed to connect to Ray cluster at db7:80")


def test_a_cluster_of_another_ray_or_python(cluster: sc.RayCluster) -> None:
    assert cluster._session is not None
    said = "Version mismatch: The cluster was started with:\n    Ray: 2.60.0\n    Python: 3.12.1\nThis process on node"
    expected = pytest.raises(sc.ClusterError, match=r"db7 runs another Ray or Python.*Python: 3\.12\.1")
    with expected as raised, clear_errors(cluster._session.ray, "db7"):
        raise RuntimeError(said)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("ObjectStoreFullError", "the object store of db7 is full"),
        ("OutOfMemoryError", "ran out of memory"),
        ("RaySystemError", "the cluster db7 failed"),
    ],
)
def test_what_ray_says_is_one_line(cluster: sc.RayCluster, error: str, message: str) -> None:
    assert cluster._session is not None
    ray = cluster._session.ray
    with pytest.raises(sc.ClusterError, match=message) as raised, clear_errors(ray, "db7"):
        raise getattr(ray.exceptions, error)("two\nlines")
    assert "\n" not in str(raised.value)


@pytest.fixture
def refusing() -> Iterator[str]:
    """A store that refuses all credentials."""

    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(b"<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>")

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuse)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_wrong_credentials(
    refusing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", refusing)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        said = failed(capsys, "prepare", "s3://crawl/a.txt", "-o", tmp_path / "s", "--cluster", "local")
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
    assert "no permission to read s3://crawl/a.txt" in said
    assert "check the credentials on every node" in said


def test_a_node_with_wrong_credentials(
    cluster: sc.RayCluster, nodes: Nodes, store: str, refusing: str, tmp_path: Path
) -> None:
    """The driver may read the store, a node may not: it is named, and without it the same command resumes."""
    third = nodes.start(AWS_ENDPOINT_URL=refusing)
    try:
        with_nodes(cluster, 3)
        expected = r"no permission to read s3://crawl/\S+ .*check the credentials on every node \[node \S+ \(.*\)\]"
        with pytest.raises(sc.ClusterError, match=expected):
            with_workers(cluster, 3).prepare(f"{store}/a-large.txt", output=tmp_path / "stream", text=LINES)
    finally:
        kill_node(third)
        with_nodes(cluster, 2)
    with_workers(cluster, 2).prepare(f"{store}/a-large.txt", output=tmp_path / "stream", text=LINES)
    assert [path.name for path in tmp_path.iterdir()] == ["stream"]


def test_letters_of_chosen_words(monkeypatch: pytest.MonkeyPatch) -> None:
    letters, starts = np.frombuffer(b"catdoge", np.uint8), np.array([[3, 6], [0, 3], [6, 7]])
    for at_a_time in (1, 2, 5):
        monkeypatch.setattr("siamese_cbow.cluster.shards.GATHERED", at_a_time)
        gathered, places = gathered_letters(letters, starts)
        assert (gathered.tobytes(), places.tolist()) == (b"dogcate", [[0, 3], [3, 6], [6, 7]])
        gathered, places = gathered_letters(letters, starts[:0])
        assert (gathered.tobytes(), places.shape) == (b"", (0, 2))
