"""Who is let in, and what hostile clients can't do: names, keys, slow clients, truncated files, signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest

from serve_world import Running, running, started, toy_model
from siamese_cbow import Model, Vocabulary, load
from siamese_cbow.cli import main
from siamese_cbow.errors import SettingsError
from siamese_cbow.serve.app import build
from siamese_cbow.serve.middleware import Hosts, Limits
from siamese_cbow.serve.registry import Embedder

ASK = {"a": "a cat", "b": "a dog"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "toy"
    toy_model().save(path)
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with running(folder, "--allowed-host", "Books.example.org") as one:
        yield one
        assert "Traceback" not in one.stop()


def status(server: Running, *headers: str, path: str = "/v1/models") -> tuple[int, str]:
    """The status and the body of the response to a request with exactly these headers."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", "Connection: close", *headers, "", ""]).encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    return int(answer.split()[1]), answer.decode()


def until(condition: Callable[[], bool]) -> None:
    """Waits for something that is bound to happen."""
    for _ in range(1_200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it never happened")


def listens(server: Running) -> bool:
    try:
        httpx.get(f"{server.url}/health", headers={"connection": "close"})
    except httpx.TransportError:
        return False
    return True


# the names of a server


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST.", "[::1]", "192.168.0.7", "books.example.org", "books.example.org:443"],
)
def test_a_server_answers_to_its_names(server: Running, host: str) -> None:
    assert status(server, f"Host: {host}")[0] == 200
    assert status(server, f"Host: {host}:8080" if not host.endswith("443") else f"Host: {host}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example"],
)
def test_a_page_that_points_its_name_here_reads_nothing(server: Running, host: str) -> None:
    for path in ("/v1/models", "/health", "/metrics", "/", "/page/app.js"):
        code, answer = status(server, f"Host: {host}", path=path)
        assert code == 421
        assert "wrong_host" in answer
        assert "toy" not in answer, "not even the names of models"
    assert "expected an IP address or books.example.org or localhost" in answer
    if "@" not in host:
        assert f"--allowed-host {host.partition(':')[0]}" in answer


def test_programs_may_leave_out_the_name(server: Running) -> None:
    assert status(server)[0] == 200
    assert status(server, "Host: localhost", "Host: evil.example")[0] == 400
    origins = ("Origin: http://evil.example", "Origin: http://localhost")
    assert status(server, "Host: localhost", *origins)[0] == 400


def test_pages_of_other_servers_may_not_ask(server: Running) -> None:
    own = f"127.0.0.1:{server.port}"
    for origin in (f"http://{own}", "https://books.example.org", "https://books.example.org:444"):
        assert status(server, f"Host: {own}", f"Origin: {origin}")[0] == 200
    for origin in (
        "null",
        "http://evil.example",
        f"http://evil.example:{server.port}",
        "http://127.0.0.1:1",
        "http://",
    ):
        code, answer = status(server, f"Host: {own}", f"Origin: {origin}")
        assert code == 403
        assert "wrong_origin" in answer
    answer = httpx.post(f"{server.url}/similarity", json=ASK, headers={"origin": "http://evil.example"}).text
    assert "--allowed-host evil.example" in answer
    assert httpx.options(f"{server.url}/similarity", headers={"origin": "http://evil.example"}).status_code == 403


def test_invalid_names() -> None:
    for name in ("http://a.example", "a.example:80", "", "a b", "a/b"):
        with pytest.raises(SettingsError, match="allowed host"):
            Hosts("127.0.0.1", [name])
    assert Hosts("0.0.0.0", ["*"]).refusal([(b"host", b"anything")]) is None
    assert Hosts("0.0.0.0").refusal([(b"host", socket.gethostname().encode())]) is None
    assert Hosts("::1", ["::1", "[::2]"]).refusal([(b"host", b"[::1]:80")]) is None


# keys


@pytest.mark.parametrize("key", ["", " ", "a\n", " a", "a\x00b"])
def test_a_key_that_is_none_starts_no_server(
    folder: Path, key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*arguments: str) -> None:
        with pytest.raises(SystemExit) as stop:
            main(["serve", str(folder), "--port", "0", *arguments])
        assert stop.value.code == 2
        assert "expected" in capsys.readouterr().err

    monkeypatch.setattr("siamese_cbow.serve.server.run", lambda *_, **__: pytest.fail("a server was started"))
    refused("--api-key", key)
    if "\x00" not in key:
        monkeypatch.setenv("SIAMESE_CBOW_API_KEY", key)
        refused()
    with pytest.raises(SettingsError, match="API key"):
        build({"toy": toy_model()}, api_key=key)


# settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "99999"], "99999"),
        (["--port", "-1"], "-1"),
        (["--host", "no such host"], "no such host"),
        (["--host", "a" * 300], "try another"),
        (["--max-seconds", "nan"], "nan"),
        (["--max-idle", "inf"], "inf"),
        (["--max-megabytes", "nan"], "nan"),
        (["--max-megabytes", "inf"], "inf"),
        (["--allowed-host", "http://x/"], "http://x/"),
    ],
)
def test_settings_that_end_in_a_line(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["serve", str(folder), *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


# clients that take the server's time


def test_health_and_metrics_answer_behind_slow_bodies(folder: Path) -> None:
    half = "POST /search HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with running(folder) as server, ExitStack() as slow:
        for _ in range(400):
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            connection.sendall(half.encode())
        under_way = "siamese_cbow_requests_under_way 257.0"  # 256, and this request
        until(lambda: under_way in httpx.get(f"{server.url}/metrics").text)
        for _ in range(3):
            assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
        refused = httpx.post(f"{server.url}/similarity", json=ASK)
        assert refused.json()["error"]["code"] == "overloaded"
        slow.close()
        until(lambda: httpx.post(f"{server.url}/similarity", json=ASK).status_code == 200)  # it noticed that they left
        assert "Traceback" not in server.stop()


def test_more_connections_than_the_shell_allows_files(folder: Path) -> None:
    script = "import resource, sys; _, most = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
    script += "resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))\nfrom siamese_cbow.cli import main\n"
    script += f"main(['serve', {str(folder)!r}, '--port', '0'])"
    with started([sys.executable, "-c", script]) as server, ExitStack() as quiet:
        for _ in range(300):
            quiet.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
        assert server.stop() == "", "nothing went wrong on the way"


def test_a_long_text_is_not_explained_on_the_event_loop(server: Running) -> None:
    answer = httpx.post(f"{server.url}/similarity", json={"a": "cat " * 1_000_000, "b": "dog", "explain": True})
    assert answer.status_code == 400
    assert "4,000,000 characters; explain takes at most 20,000" in answer.json()["error"]["message"]
    assert answer.json()["error"]["param"] == "a"
    answer = httpx.post(f"{server.url}/similarity", json={"a": "cat", "b": "cat " * 201, "explain": True})
    assert "201 words; explain takes at most 200" in answer.json()["error"]["message"]


@pytest.mark.parametrize("piece", [b"A: b\r\n", b"b"])
def test_trailers_end(server: Running, piece: bytes) -> None:
    head = "POST /search HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(head.encode() + b"2\r\n{}\r\n0\r\nA: ")
        try:
            for _ in range(1_000):
                connection.sendall(piece * 10_000)
        except ConnectionError:
            return
    pytest.fail("ten million trailers were read")


def test_small_chunks_are_no_trailer(server: Running) -> None:
    body = json.dumps({"query": "dog", "texts": ["cat"] * 10_000 + ["dog"], "k": 1}).encode()
    chunks = (body[i : i + 1] for i in range(len(body)))  # six bytes for each
    answer = httpx.post(f"{server.url}/search", content=chunks, headers={"content-type": "application/json"})
    assert [found["index"] for found in answer.json()["results"]] == [10_000]  # everything has arrived


# files and signals


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int4"])
def test_rows_are_held_in_memory(tmp_path: Path, dtype: str) -> None:
    model = toy_model()
    if dtype != "float32":
        model = model.compress(dtype)  # type: ignore[arg-type]
    model.save(tmp_path / "m", int4=dtype == "int4")
    loaded = load(tmp_path / "m")
    embedder = Embedder(loaded)
    assert embedder.model == model
    assert embedder.model.in_memory() is embedder.model
    os.truncate(tmp_path / "m" / "model.safetensors", 0)  # the mapped rows can't be read any more
    assert np.array_equal(embedder.model.vectors, model.vectors)


def test_a_file_cut_short_does_not_end_the_server(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20_000)]
    rows = np.random.default_rng(1).normal(size=(len(words), 64)).astype(np.float32)
    Model(Vocabulary(words, np.ones(len(words), np.int64)), rows).save(tmp_path / "large")
    with running(tmp_path / "large") as server:
        os.truncate(tmp_path / "large" / "model.safetensors", 100)
        found = httpx.post(f"{server.url}/neighbours", json={"text": words[-1], "k": 3}, timeout=60)
        assert found.status_code == 200
        assert httpx.post(f"{server.url}/v1/embeddings", json={"input": words[-1]}).status_code == 200
        assert "Traceback" not in server.stop()
        assert server.process.returncode == -signal.SIGTERM


def test_a_terminal_that_closes_is_a_stop_like_any_other(folder: Path) -> None:
    body = json.dumps({"query": "cat", "texts": ["dog"]}).encode()
    head = f"POST /search HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with running(folder) as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(head.encode() + body[:10])
        httpx.get(f"{server.url}/health")  # now the server has seen it
        server.process.send_signal(signal.SIGHUP)
        until(lambda: not listens(server))
        connection.sendall(body[10:])
        assert b'"text":"dog"' in b"".join(iter(lambda: connection.recv(65_536), b""))
        assert server.process.wait(60) == -signal.SIGHUP


def test_nohup_is_heard(folder: Path) -> None:
    script = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nfrom siamese_cbow.cli import main\n"
    script += f"main(['serve', {str(folder)!r}, '--port', '0'])"
    with started([sys.executable, "-c", script]) as server:
        httpx.get(f"{server.url}/health")
        server.process.send_signal(signal.SIGHUP)
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert "Traceback" not in server.stop()


def test_limits_are_numbers() -> None:
    for wrong in (float("nan"), float("inf"), -1.0):
        with pytest.raises(SettingsError, match="seconds"):
            Limits(max_seconds=wrong)
