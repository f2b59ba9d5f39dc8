"""The server as its users meet it: OpenAI's client, a fuzzer, many at once, slow ones, and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import openai
import pytest

from serve_world import WORDS, Running, running, toy_model
from siamese_cbow import Model
from siamese_cbow.cli import main
from siamese_cbow.serve.server import listen

KEY = "secret"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    toy_model().save(folder / "toy")
    toy_model(2).save(folder / "second")
    return folder / "toy", folder / "second"


@pytest.fixture(scope="module")
def server(folders: tuple[Path, Path]) -> Iterator[Running]:
    toy, second = folders
    with running(toy, f"other={second}", "--max-megabytes", "1", SIAMESE_CBOW_API_KEY=KEY) as one:
        yield one
        assert "Traceback" not in one.stop()
        assert one.process.returncode == -15  # like any program ended by SIGTERM


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as one:
        yield one


@pytest.fixture(scope="module")
def model() -> Model:
    return toy_model()


# OpenAI's own client


@pytest.mark.parametrize("encoding", ["base64", "float", None])
def test_openai_embeddings(client: openai.OpenAI, model: Model, encoding: str | None) -> None:
    options = {} if encoding is None else {"encoding_format": encoding}
    texts = ["the cat purrs", "a guitar", "unheard of"]
    answer = client.embeddings.create(model="toy", input=texts, **options)  # type: ignore[call-overload]
    rows = [one.embedding for one in answer.data]
    if encoding == "base64":  # requested explicitly, the client passes it on unchanged
        import base64

        rows = [np.frombuffer(base64.b64decode(row), "<f4").tolist() for row in rows]
    np.testing.assert_allclose(rows, model.encode(texts, normalize_embeddings=True), rtol=2e-7)
    assert answer.usage.prompt_tokens == 6
    ids = [WORDS.index("a"), WORDS.index("guitar")]
    same = client.embeddings.create(model="toy", input=ids, encoding_format="float", dimensions=8)
    short = model.encode("a guitar", normalize_embeddings=True, truncate_dim=8)
    np.testing.assert_allclose(same.data[0].embedding, short, rtol=2e-7)


def test_openai_models(client: openai.OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["toy", "other"]
    assert client.models.retrieve("other").owned_by == "siamese-cbow"


def test_openai_errors(client: openai.OpenAI, server: Running) -> None:
    with pytest.raises(openai.NotFoundError, match="does not exist") as missing:
        client.embeddings.create(model="gpt", input="a")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as empty:
        client.embeddings.create(model="toy", input="")
    assert empty.value.param == "input"
    with pytest.raises(openai.BadRequestError, match="2,048"):
        client.embeddings.create(model="toy", input=["a"] * 5000)
    with pytest.raises(openai.APIStatusError, match="1,048,576 bytes") as large:
        client.embeddings.create(model="toy", input="a" * 3_000_000)
    assert large.value.status_code == 413
    with pytest.raises(openai.AuthenticationError), openai.OpenAI(base_url=f"{server.url}/v1", api_key="no") as wrong:
        wrong.models.list()
    assert len(client.embeddings.create(model="toy", input=["a"] * 2048).data) == 2048


# a fuzzer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_schemathesis_finds_nothing(server: Running, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {KEY}", "--max-examples", "10", "--seed", "1", "--no-color"]
    command += ["--request-timeout", "300"]  # for busy machines
    # Unknown words and ids beyond the vocabulary are refused, although they have the right shape.
    command += ["--exclude-checks", "positive_data_acceptance", "--phases", "examples,coverage,fuzzing"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


# clients that misbehave


def raw(server: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    """The server's response to raw bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while got := connection.recv(65_536):
                answer += got
        return answer


def head(length: int, *more: str) -> bytes:
    lines = [
        "POST /search HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {KEY}",
        "Content-Type: application/json",
    ]
    return "\r\n".join([*lines, f"Content-Length: {length}", "Connection: close", *more, "", ""]).encode()


def test_bytes_that_are_no_http(server: Running) -> None:
    assert raw(server, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert b"65536 bytes" in raw(server, b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000)  # the head might never end
    assert raw(server, b"GET /health HTTP/1.1\r\nConnection: close\r\nA: " + b"b" * 60_000 + b"\r\n\r\n").endswith(b"}")
    assert httpx.get(f"{server.url}/health").json()["status"] == "ok"


@pytest.mark.slow
def test_clients_that_leave_or_dawdle(folders: tuple[Path, Path]) -> None:
    body = json.dumps({"query": "cat", "texts": ["dog"]}).encode()
    with running(folders[0], "--max-seconds", "4", "--max-idle", "2", SIAMESE_CBOW_API_KEY=KEY) as server:
        for _ in range(5):  # disconnects in the middle of the body
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(head(1000) + b'{"query"')
        answer = raw(server, head(len(body)), *(body[i : i + 9] for i in range(0, len(body), 9)), pause=0.05)
        assert b'"text":"dog"' in answer  # slow, but in time
        answer = raw(server, head(1000), b'{"query"')
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'"code":"timeout"' in answer
        assert raw(server, b"POST /search HTTP/1.1\r\nHost") == b""  # half a head: the connection is closed
        assert raw(server) == b""  # the same if nothing comes
        both = raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        assert both.count(b"HTTP/1.1 200") == 2  # and if no third request comes
        assert httpx.get(f"{server.url}/health").json()["status"] == "ok"
        assert "Traceback" not in server.stop()


# many at once, and the end


async def _flood(server: Running, model: Model, n_clients: int, until: asyncio.Event) -> tuple[int, list[str]]:
    """Clients that send one request after the other on kept connections; how many responses, and what went wrong.

    A connection that the server announced it would close is reopened; a refusal then is not a loss.
    """
    answered, lost = 0, []
    bodies = [json.dumps({"input": [f"the {word}"] * (i % 3 + 1)}).encode() for i, word in enumerate(WORDS)]
    expected = [model.encode(f"the {word}", normalize_embeddings=True)[0] for word in WORDS]

    async def one(number: int) -> None:
        nonlocal answered
        while not until.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            except ConnectionError:
                return
            try:
                keep = True
                while keep and not until.is_set():
                    number = (number + 7) % len(WORDS)
                    start = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                    rest = f"Content-Type: application/json\r\nContent-Length: {len(bodies[number])}\r\n\r\n"
                    writer.write((start + rest).encode() + bodies[number])
                    answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                    length = int(answer.partition("content-length: ")[2].partition("\r\n")[0])
                    found = json.loads(await reader.readexactly(length))
                    assert len(found["data"]) == number % 3 + 1
                    assert abs(found["data"][0]["embedding"][0] - expected[number]) < 1e-6
                    answered += 1
                    keep = "connection: close" not in answer
            except (ConnectionError, asyncio.IncompleteReadError, AssertionError, ValueError) as error:
                lost.append(repr(error))
            finally:
                writer.close()

    await asyncio.gather(*(one(i) for i in range(n_clients)))
    return answered, lost


def test_no_request_is_lost_under_load_and_at_the_end(folders: tuple[Path, Path], model: Model) -> None:
    async def stopped_in_the_middle(server: Running) -> tuple[int, list[str]]:
        until = asyncio.Event()
        flood = asyncio.create_task(_flood(server, model, 24, until))
        await asyncio.sleep(1.0)
        await asyncio.to_thread(server.stop)
        until.set()
        return await flood

    with running(folders[0], SIAMESE_CBOW_API_KEY=KEY) as server:
        answered, lost = asyncio.run(stopped_in_the_middle(server))
        assert "Traceback" not in server.stop()
    assert lost == []
    assert answered > 24


def test_work_under_way_is_finished(folders: tuple[Path, Path]) -> None:
    body = json.dumps({"query": "cat", "texts": ["dog"]}).encode()
    with running(folders[0]) as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(head(len(body)) + body[:10])
        httpx.get(f"{server.url}/health")  # now the server has seen it
        server.process.terminate()
        time.sleep(1.5)
        connection.sendall(body[10:])
        answer = b""
        while got := connection.recv(65_536):
            answer += got
    assert b'"text":"dog"' in answer


# the command


def test_mistakes_on_the_command_line(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIAMESE_CBOW_MODEL", raising=False)
    toy = str(folders[0])
    with listen("127.0.0.1", 0) as taken:
        cases = [
            (["no/such/model"], "no/such/model"),
            ([toy, toy], "two models are called 'toy'"),
            ([toy, "--max-inputs", "0"], "max_inputs is 0"),
            ([toy, "--api-key", ""], "the API key is empty"),
            ([toy, "--port", str(taken.getsockname()[1])], "try another --port"),
        ]
        for arguments, message in cases:
            with pytest.raises(SystemExit) as stop:
                main(["serve", *arguments])
            assert stop.value.code == 2
            assert message in capsys.readouterr().err


def test_without_a_model_the_one_of_the_package_is_served() -> None:
    with running() as server:
        assert httpx.get(f"{server.url}/health").json()["models"] == ["siamese-cbow"]
        ask = {"a": "A man plays a guitar", "b": ["Someone makes music", "The shares fell"]}
        near, far = httpx.post(f"{server.url}/similarity", json=ask).json()["similarity"][0]
        assert near > far


def test_without_the_extra(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("siamese_cbow.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(SystemExit) as stop:
        main(["serve", str(folders[0])])
    assert stop.value.code == 2
    assert "[serve]'" in capsys.readouterr().err
