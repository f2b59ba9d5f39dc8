"""The server's API, called within this process: every endpoint, and every kind of bad request."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest

from serve_world import WORDS, toy_model
from siamese_cbow import Index, Model, Vocabulary
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.geometry import pca
from siamese_cbow.serve import explorer
from siamese_cbow.serve.app import build
from siamese_cbow.serve.middleware import Limits, Middleware
from siamese_cbow.serve.registry import Embedder

MODEL = toy_model(info={"recipe": {"name": "toy"}})
OTHER = toy_model(2)
LIMITS = Limits(max_bytes=20_000, max_inputs=50)


class Client:
    """Calls an application without a network; each request gets its own event loop."""

    def __init__(self, app: Middleware, **headers: str) -> None:
        self._app, self._headers = app, headers

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://t", headers=self._headers) as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return (
            self.request("POST", path, json=json, **options)
            if json is not None
            else self.request("POST", path, **options)
        )

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)


@pytest.fixture(scope="module", params=["small", "bulk"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client for either path, which give the same answers."""
    embedders: dict[str, Any] = {"toy": Embedder(MODEL), "other": Embedder(OTHER)}
    if request.param == "bulk":
        for embedder in embedders.values():
            embedder.warm()
    return Client(build(embedders, limits=LIMITS, warm=False))


def failure(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error in a response, after checking its shape."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == ("server_error" if status >= 500 else "invalid_request_error")
    assert error["message"]
    result: dict[str, Any] = error
    return result


def vectors(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    assert [one["index"] for one in response.json()["data"]] == list(range(len(response.json()["data"])))
    return np.array([one["embedding"] for one in response.json()["data"]], np.float32)


# embeddings


def test_embeddings_are_the_models(client: Client) -> None:
    texts = ["the cat purrs", "A guitar, a song", "nothing known here"]
    answer = client.post("/v1/embeddings", {"input": texts, "model": "toy"})
    np.testing.assert_allclose(vectors(answer), MODEL.encode(texts, normalize_embeddings=True), rtol=2e-7)
    assert answer.json()["object"] == "list"
    assert answer.json()["model"] == "toy"
    assert answer.json()["usage"] == {"prompt_tokens": 8, "total_tokens": 8}
    one = client.post("/v1/embeddings", {"input": texts[0]})
    assert (vectors(one) == vectors(answer)[:1]).all()
    plain = client.post("/v1/embeddings", {"input": texts, "normalize": False, "model": "other"})
    assert (vectors(plain) == OTHER.encode(texts)).all()


def test_base64_is_the_same_to_the_bit(client: Client) -> None:
    body = {"input": ["the cat", "a dog"], "encoding_format": "base64"}
    packed = client.post("/v1/embeddings", body).json()["data"]
    rows = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in packed]
    assert (np.array(rows) == vectors(client.post("/v1/embeddings", {"input": ["the cat", "a dog"]}))).all()


def test_token_ids_are_rows_of_the_vocabulary(client: Client) -> None:
    ids = [WORDS.index("the"), WORDS.index("cat")]
    expected = vectors(client.post("/v1/embeddings", {"input": ["the cat", "cat"]}))
    assert (vectors(client.post("/v1/embeddings", {"input": ids})) == expected[:1]).all()
    both = client.post("/v1/embeddings", {"input": [ids, ids[1:]]})
    assert (vectors(both) == expected).all()
    assert both.json()["usage"]["prompt_tokens"] == 3
    many = client.post("/v1/embeddings", {"input": ids * 40})  # one text, so the limit on inputs doesn't apply
    assert vectors(many).shape == (1, MODEL.dim)
    for wrong in (len(WORDS), 10**30):
        assert str(len(WORDS) - 1) in failure(client.post("/v1/embeddings", {"input": [0, wrong]}), 400)["message"]


def test_dimensions(client: Client) -> None:
    short = vectors(client.post("/v1/embeddings", {"input": "the cat", "dimensions": 5}))
    np.testing.assert_allclose(short[0], MODEL.encode("the cat", truncate_dim=5, normalize_embeddings=True), rtol=2e-7)
    assert failure(client.post("/v1/embeddings", {"input": "a", "dimensions": 25}), 400)["param"] == "dimensions"
    assert failure(client.post("/v1/embeddings", {"input": "a", "dimensions": 0}), 400)["param"] == "dimensions"


@pytest.mark.parametrize(
    "given",
    ["", [], [""], ["a", ""], [[]], None, 3, {}, True, ["a", 1], [1, [1]], ["a", None], [1.5], [True], [-1], [["a"]]],
)
def test_inputs_that_make_no_sense(client: Client, given: Any) -> None:
    assert failure(client.post("/v1/embeddings", {"input": given}), 400)["param"].startswith("input")


@pytest.mark.parametrize(
    ("field", "value"),
    [("dimensions", "3"), ("encoding_format", "binary"), ("model", 7), ("normalize", "yes"), ("dimensions", 1.5)],
)
def test_options_of_the_wrong_type(client: Client, field: str, value: Any) -> None:
    assert failure(client.post("/v1/embeddings", {"input": "a", field: value}), 400)["param"] == field


def test_embeddings_ignore_unknown_fields_and_null_is_nothing(client: Client) -> None:
    body = {"input": "a", "dimensions": None, "encoding_format": None, "model": None, "user": "me", "what": [1]}
    assert client.post("/v1/embeddings", body).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "advice"),
    [
        ("/similarity", {"a": "cat", "b": "dog", "pairwse": True}, "did you mean pairwise?"),
        ("/neighbours", {"text": "cat", "n": 3}, "expected one of "),
        ("/search", {"query": "cat", "texts": ["cat"], "treshold": 0.9}, "did you mean threshold?"),
        ("/explore/map", {"texts": ["cat"], "metod": "umap"}, "did you mean method or model?"),
    ],
)
def test_a_slip_in_the_name_of_a_field_is_an_error(
    client: Client, path: str, body: dict[str, Any], advice: str
) -> None:
    error = failure(client.post(path, body), 400)
    assert error["param"] == list(body)[-1]
    assert f"unknown field {error['param']!r}; {advice}" in error["message"]


# requests that are rejected before any endpoint


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"nonsense", b'{"input": "a"} x', b'{"input": NaN}', b'"a"', b"[]", b"null", b"[" * 9000),
        *(b"\xff\xfe", b'{"input": "\xff"}', b'{"input": "\\ud800"}', b'{"input": "a\x00"}'),
        '{"input": "a"}'.encode("utf-16"),
    ],
)
def test_bodies_that_are_no_json_object(client: Client, body: bytes) -> None:
    failure(client.post("/v1/embeddings", content=body, headers={"content-type": "application/json"}), 400)
    assert client.post("/v1/embeddings", {"input": "a"}).status_code == 200


def test_other_types_of_body(client: Client) -> None:
    for headers in ({}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}):
        failure(client.post("/v1/embeddings", content=b'{"input": "a"}', headers=headers), 415)
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    failure(client.post("/v1/embeddings", content=b"...", headers=packed), 415)
    assert client.post(
        "/v1/embeddings", content=b'{"input": "a"}', headers={"content-type": "Application/JSON; charset=utf-8"}
    ).is_success


def test_too_much(client: Client) -> None:
    assert failure(client.post("/v1/embeddings", {"input": ["a"] * 51}), 400)["code"] == "too_many_inputs"
    assert client.post("/v1/embeddings", {"input": ["a"] * 50}).status_code == 200
    failure(client.post("/v1/embeddings", {"input": "a" * 20_001}), 413)
    assert client.post("/search", {"query": "cat", "texts": ["cat"] * 51}).status_code == 200  # complete, or not at all
    failure(client.post("/search", {"query": "a", "texts": ["b" * 20_001]}), 413)
    failure(client.post("/similarity", {"a": ["a"] * 26, "b": ["b"] * 25}), 400)
    failure(client.post("/neighbours", {"positive": ["cat"] * 51}), 400)
    failure(client.post("/explore/map", {"texts": ["cat"] * 51}), 400)


def test_unknown_model_path_and_method(client: Client) -> None:
    for path, body in [("/v1/embeddings", {"input": "a"}), ("/similarity", {"a": "a", "b": "b"})]:
        error = failure(client.post(path, {**body, "model": "gpt"}), 404)
        assert (error["param"], error["code"]) == ("model", "model_not_found")
        assert "'toy', 'other'" in error["message"]
    failure(client.get("/v1/models/gpt"), 404)
    failure(client.get("/v1/nothing"), 404)
    failure(client.get("/page/../app.py"), 404)
    wrong = client.get("/v1/embeddings")
    failure(wrong, 405)
    assert wrong.headers["allow"] == "POST"


def test_a_packed_model_gives_its_own_vectors() -> None:
    packed = MODEL.compress("int8")
    embedder = Embedder(packed)
    client = Client(build({"packed": embedder}, warm=False))
    expected = packed.encode(["the cat", "a song"], normalize_embeddings=True)
    for _ in range(2):
        found = vectors(client.post("/v1/embeddings", {"input": ["the cat", "a song"]}))
        np.testing.assert_allclose(found, expected, rtol=2e-7)
        embedder.warm()
    assert client.post("/explore/map", {}).json()["points"]
    assert client.get("/explore/norms?word=cat").json()["found"][0]["word"] == "cat"


# the other endpoints


def test_similarity(client: Client) -> None:
    a, b = ["the cat", "a song"], ["a dog", "music", "unheard"]
    assert client.post("/similarity", {"a": a[0], "b": b[0]}).json()["similarity"] == pytest.approx(
        MODEL.similarity(a[0], b[0]), abs=1e-6
    )
    matrix = client.post("/similarity", {"a": a, "b": b, "model": "other"}).json()
    assert matrix["model"] == "other"
    np.testing.assert_allclose(matrix["similarity"], OTHER.similarity(a, b), atol=1e-6)
    pairs = client.post("/similarity", {"a": a, "b": b[:2], "pairwise": True}).json()["similarity"]
    np.testing.assert_allclose(pairs, MODEL.similarity_pairwise(a, b[:2]), atol=1e-6)
    failure(client.post("/similarity", {"a": a, "b": b, "pairwise": True}), 400)
    failure(client.post("/similarity", {"a": a, "b": b, "explain": True}), 400)
    failure(client.post("/similarity", {"a": "cat " * 201, "b": "dog", "explain": True}), 400)
    failure(client.post("/similarity", {"a": "cat"}), 400)


def test_the_shares_of_word_pairs_add_up(client: Client) -> None:
    a, b = "The cat purrs blorf", "a dog , a dog"
    found = client.post("/similarity", {"a": a, "b": b, "explain": True}).json()
    shares = np.array(found["shares"])
    assert shares.shape == (4, 5)
    assert shares.sum() == pytest.approx(MODEL.similarity(a, b), abs=1e-6)
    assert found["similarity"] == pytest.approx(shares.sum())
    assert [one["word"] for one in found["a"]] == ["the", "cat", "purrs", "blorf"]
    assert found["a"][3]["norm"] is None
    assert (shares[3] == 0).all()
    assert found["a"][1]["norm"] == pytest.approx(float(np.linalg.norm(MODEL.vector("cat"))), rel=1e-6)
    assert client.post("/similarity", {"a": "blorf", "b": "?!", "explain": True}).json()["similarity"] == 0


@pytest.mark.parametrize("path", ["small", "bulk"])
def test_unknown_words_count_as_the_model_says(path: str) -> None:
    model = MODEL.with_fallback("prefix")
    embedder = Embedder(model)
    if path == "bulk":
        embedder.warm()
    client = Client(build({"toy": embedder}, limits=LIMITS, warm=False))
    texts = ["my guitars", "the songs", "blorf"]
    found = client.post("/v1/embeddings", {"input": texts, "normalize": False}).json()
    np.testing.assert_allclose([one["embedding"] for one in found["data"]], model.encode(texts), atol=1e-6)
    assert found["usage"]["prompt_tokens"] == 3
    found = client.post("/search", {"query": "a guitarist", "texts": texts}).json()["results"]
    assert [one["index"] for one in found] == [0, 1]
    shown = client.post("/similarity", {"a": "guitarist", "b": "blorf song", "explain": True}).json()
    assert shown["a"][0]["counts_as"] == "guitar"
    assert [sorted(one) for one in shown["b"]] == [["norm", "word"]] * 2
    assert shown["similarity"] == pytest.approx(model.similarity("guitarist", "song"), abs=1e-6)
    near = client.post("/neighbours", {"text": "guitarist", "k": 2}).json()["neighbours"]
    assert [one["word"] for one in near] == [word for word, _ in MODEL.neighbours("guitar", 2)]


def test_neighbours(client: Client) -> None:
    found = client.post("/neighbours", {"text": "Cat", "k": 3}).json()["neighbours"]
    assert [(one["word"], pytest.approx(one["cosine"])) for one in found] == MODEL.neighbours("cat", 3)
    found = client.post("/neighbours", {"positive": ["King", "woman"], "negative": ["man"], "k": 2}).json()
    expected = MODEL.most_similar(["king", "woman"], ["man"], topn=2, all_forms=False)
    assert [one["word"] for one in found["neighbours"]] == [word for word, _ in expected]
    assert client.post("/neighbours", {"text": "the cat barks", "k": 1000}).json()["neighbours"]
    assert failure(client.post("/neighbours", {"text": "blorf"}), 404)["code"] == "unknown_word"
    assert failure(client.post("/neighbours", {"positive": ["blorf"]}), 404)["code"] == "unknown_word"
    for wrong in ({}, {"text": "cat", "positive": ["dog"]}, {"text": "cat", "k": 0}, {"text": "cat", "k": 1001}):
        failure(client.post("/neighbours", wrong), 400)


def test_neighbours_say_what_unknown_words_are_made_of() -> None:
    client = Client(build({"toy": MODEL.with_fallback("ngrams")}, warm=False))
    for request in ({"text": "Blorf"}, {"positive": ["king", "blorf"], "negative": ["man"]}):
        (unknown,) = client.post("/neighbours", request).json()["unknown"]
        assert unknown["word"] == "blorf"
        assert unknown["made_of"].startswith("built from its letters")
    assert "unknown" not in client.post("/neighbours", {"text": "Cat"}).json()
    (unknown,) = client.post("/search", {"query": "a blorf", "texts": ["the cat"]}).json()["unknown"]
    assert unknown["word"] == "blorf"
    assert (
        "zero vector" in failure(client.post("/neighbours", {"positive": ["cat"], "negative": ["cat"]}), 404)["message"]
    )


def test_a_map_names_the_words_it_lacks(client: Client) -> None:
    drawn = client.post("/explore/map", {"words": ["cat", "blorf"], "n_words": 20}).json()
    assert drawn["lacking"] == ["blorf"]


def test_search_in_an_index(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a song of the band\nthe dog barks\n")
    index = Index.update(tmp_path / "index", tmp_path / "a.txt", model=MODEL)
    client = Client(build({"toy": MODEL}, limits=LIMITS, index=index, warm=False))
    answer = client.post("/search", {"query": "song", "k": 1}).json()
    (hit,) = answer["results"]
    assert (hit["line"], hit["text"], hit["words"]) == (1, "a song of the band", ["song"])
    assert answer["stale"] == []
    two = Client(build({"toy": MODEL, "other": toy_model(2)}, limits=LIMITS, index=index, warm=False))
    assert two.post("/search", {"query": "song", "model": "toy"}).status_code == 200
    said = failure(two.post("/search", {"query": "song", "model": "other"}), 400)["message"]
    assert said == "the index was not built with 'other'; leave out `model`"
    (tmp_path / "a.txt").unlink()
    assert client.post("/search", {"query": "song", "k": 1}).json()["stale"]


@pytest.mark.parametrize("change", ["cut short", "deleted", "updated"])
def test_an_index_is_held_in_memory(tmp_path: Path, change: str) -> None:
    model, text, place = MODEL, tmp_path / "a.txt", tmp_path / "index"
    text.write_text("the cat plays music\na dog\n" * 40)
    index = Index.update(place, text, model=model)
    hits = index.search("cat", k=3)
    app = build({"toy": model}, limits=LIMITS, index=Index(place, model=model), warm=False)
    if change == "updated":
        text.write_text("a song\n")
        Index.update(place, text, model=model)
    for file in [path for path in place.rglob("*") if path.is_file() and change != "updated"]:
        os.truncate(file, 0)
        if change == "deleted":
            file.unlink()
    answer = Client(app).post("/search", {"query": "cat", "k": 3})
    assert [found["text"] for found in answer.json()["results"]] == [hit.text for hit in hits]


def test_search(client: Client) -> None:
    texts = ["a song of the band", "", "the dog barks", "blorf", "a kitten"]
    found = client.post("/search", {"query": "my cat", "texts": texts}).json()["results"]
    assert [one["index"] for one in found][:2] in ([4, 2], [2, 4])
    assert {one["index"] for one in found} == {0, 2, 4}  # texts without a known word are skipped
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert all(texts[one["index"]] == one["text"] for one in found)
    assert len(client.post("/search", {"query": "my cat", "texts": texts, "k": 1}).json()["results"]) == 1
    strict = {"query": "my cat", "texts": texts, "threshold": 0.5, "mode": "meaning"}
    assert {one["index"] for one in client.post("/search", strict).json()["results"]} == {2, 4}
    by_words = client.post("/search", {"query": "blorf song", "texts": texts, "mode": "exact"}).json()["results"]
    assert {one["index"]: one["words"] for one in by_words} == {0: ["song"], 3: ["blorf"]}
    many = {"query": "cat", "texts": ["the dog barks"] * LIMITS.max_inputs + ["a cat"], "k": 1}
    assert client.post("/search", many).json()["results"][0]["index"] == LIMITS.max_inputs  # only bytes are counted
    assert "serve --index" in failure(client.post("/search", {"query": "cat"}), 400)["message"]
    failure(client.post("/search", {"query": "cat", "texts": []}), 400)
    failure(client.post("/search", {"query": "cat", "texts": [None]}), 400)


def test_map(client: Client) -> None:
    found = client.post("/explore/map", {"words": ["Cat", "guitar", "blorf"], "n_words": 28}).json()
    points = {one["label"]: one for one in found["points"]}
    assert len(points) == len(found["points"]) == 28
    assert points["cat"]["group"] == "cat"
    assert points[MODEL.neighbours("cat", 1)[0][0]]["group"] == "cat"
    assert max(max(abs(one["x"]), abs(one["y"])) for one in points.values()) == pytest.approx(1)
    assert points["cat"]["norm"] == pytest.approx(float(np.linalg.norm(MODEL.vector("cat"))), rel=1e-6)
    assert 0 < found["shares"][1] <= found["shares"][0] < 1
    assert "." not in [one["label"] for one in client.post("/explore/map", {}).json()["points"]]  # marks tell little

    def away(one: str, other: str) -> float:
        return float(np.hypot(points[one]["x"] - points[other]["x"], points[one]["y"] - points[other]["y"]))

    assert away("cat", "dog") < away("cat", "guitar")


def test_map_of_texts(client: Client) -> None:
    found = client.post("/explore/map", {"texts": ["the cat", "blorf", "", "a song"]}).json()
    assert [one["label"] for one in found["points"]] == ["the cat", "a song"]
    assert found["left_out"] == 2
    assert found["shares"] == pytest.approx([1, 0])
    assert client.post("/explore/map", {"texts": ["blorf"]}).json()["points"] == []
    assert client.post("/explore/map", {"texts": ["cat"]}).json()["points"] == [{"label": "cat", "x": 0, "y": 0}]


def test_umap_where_it_is_installed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    error = failure(client.post("/explore/map", {"method": "umap"}), 400)
    assert "siamese-cbow[umap]" in error["message"]

    class Umap:
        def __init__(self, **_: Any) -> None: ...

        def fit_transform(self, rows: Any) -> Any:
            return rows[:, :2] + 5

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Umap))
    found = client.post("/explore/map", {"method": "umap"}).json()
    assert found["shares"] is None
    assert max(abs(one["x"]) for one in found["points"]) <= 1
    failure(client.post("/explore/map", {"method": "umap", "texts": ["cat", "dog"]}), 400)


def test_a_map_that_takes_long_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siamese_cbow.serve.api.PATIENCE", 0.05)
    release, begun = threading.Event(), []

    def work(model: Model, asked: Any) -> dict[str, Any]:
        begun.append(asked)
        release.wait(60)
        if asked.words == ["wrong"]:
            raise InputError("no")
        return {"points": [], "shares": None, "left_out": 0}

    monkeypatch.setattr("siamese_cbow.serve.explorer.make_map", work)
    client = Client(build({"toy": MODEL}, warm=False))

    def ask(**body: Any) -> httpx.Response:
        return client.post("/explore/map", {"method": "umap", **body})

    for n in (1, 2, 3, 4, 4, 5):
        assert ask(n_words=n).status_code == 202
    release.set()
    answers = [ask(n_words=n) for n in (1, 2, 3, 4) for _ in range(40)]
    assert {answer.status_code for answer in answers[-4:]} == {200}
    assert len(begun) == 4  # each was computed once
    monkeypatch.setattr("siamese_cbow.serve.api.PATIENCE", 60.0)
    for _ in range(2):
        failure(ask(words=["wrong"]), 400)
    assert len(begun) == 6  # failures are retried
    for n in range(10, 40):
        assert ask(n_words=n).status_code == 200
    assert ask(n_words=39).status_code == 200
    assert len(begun) == 36


def test_norms(client: Client) -> None:
    found = client.get("/explore/norms", params={"model": "toy", "word": ["Cat", "blorf", "cat"]}).json()
    assert found["axis"] == "count"
    assert [one["word"] for one in found["found"]] == ["cat"]
    assert found["found"][0]["at"] == MODEL.vocabulary.counts[WORDS.index("cat")]
    assert len(found["dots"]) == len(WORDS)
    assert sum(one["n"] for one in found["bins"]) == len(WORDS)
    assert all(one["low"] <= one["middle"] <= one["high"] for one in found["bins"])
    sizes = dict(zip(WORDS, np.linalg.norm(MODEL.vectors, axis=1), strict=True))
    assert found["shortest"][0]["word"] == min(sizes, key=lambda word: sizes[word])
    assert found["longest"][0]["word"] == max(sizes, key=lambda word: sizes[word])
    failure(client.get("/explore/norms?model=gpt"), 404)
    assert client.get("/explore/settings").json()["max_inputs"] == LIMITS.max_inputs


def test_models_of_a_folder_are_loaded_by_name(tmp_path: Path) -> None:
    for name in ("first", "second"):
        OTHER.save(tmp_path / "models" / name)
    OTHER.save(tmp_path / "outside")
    (tmp_path / "models" / "broken").mkdir()
    (tmp_path / "models" / "second" / "vocabulary.txt").write_text("")
    app = Client(build({"books": MODEL}, folder=tmp_path / "models", warm=False))
    assert app.get("/explore/settings").json()["loadable"] == ["first", "second"]
    for name in ("../outside", str(tmp_path / "outside"), "broken", ".", "books/x", "first/"):
        failure(app.post("/explore/load", {"name": name}), 404)
    failure(app.post("/explore/load", {"name": "second"}), 400)  # damaged
    for _ in range(2):
        listed = app.post("/explore/load", {"name": "first"}).json()["data"]
        assert [one["id"] for one in listed] == ["books", "first"]
    assert app.get("/explore/settings").json()["loadable"] == ["second"]
    assert app.post("/neighbours", {"text": "cat", "model": "first"}).status_code == 200
    alone = Client(build({"books": MODEL}, warm=False))
    assert alone.get("/explore/settings").json()["loadable"] == []
    failure(alone.post("/explore/load", {"name": "first"}), 404)


def test_a_map_of_words_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    real = explorer.make_map
    monkeypatch.setattr(explorer, "make_map", lambda model, request: drawn.append(request) or real(model, request))
    app = Client(build({"books": MODEL}, warm=False))
    maps = [app.post("/explore/map", {"words": ["cat"], "n_words": 20}).json() for _ in range(2)]
    assert maps[0] == maps[1]
    assert len(drawn) == 1
    for _ in range(2):
        app.post("/explore/map", {"texts": ["a cat", "a dog", "the band"]})
    assert len(drawn) == 3  # user texts are not kept


def test_norms_without_counts() -> None:
    model = Model(Vocabulary.of_words(["a"]), np.ones((1, 3), np.float32))
    found = Client(build({"one": model}, warm=False)).get("/explore/norms").json()
    assert found["axis"] == "rank"
    assert found["dots"] == [{"word": "a", "at": 1.0, "norm": pytest.approx(3**0.5)}]


def test_principal_components() -> None:
    plane, shares = pca(np.array([[1, 0, 5], [3, 0, 5], [2, 1, 5], [2, -1, 5]], np.float32) * [2, 1, 1])
    np.testing.assert_allclose(plane, [[-2, 0], [2, 0], [0, 1], [0, -1]], atol=1e-12)
    assert shares == pytest.approx([0.8, 0.2])
    assert pca(np.ones((3, 1), np.float32))[0].shape == (3, 2)


def test_models_health_metrics(client: Client) -> None:
    models = client.get("/v1/models").json()
    assert models["object"] == "list"
    assert [(one["id"], one["dim"], one["n_words"]) for one in models["data"]] == [("toy", 24, 30), ("other", 24, 30)]
    assert client.get("/v1/models/toy").json()["recipe"] == "toy"
    assert client.get("/health").json()["status"] == "ok"
    client.post("/v1/embeddings", {"input": ["the cat", "a dog"], "model": "other"})
    client.get("/no/such/path")
    page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    assert 'siamese_cbow_requests_total{path="other",status="404"}' in page.text
    assert 'siamese_cbow_request_seconds_count{path="/v1/embeddings"}' in page.text
    assert 'siamese_cbow_texts_total{model="other"}' in page.text
    assert "siamese_cbow_requests_under_way 1.0" in page.text
    assert "/no/such/path" not in page.text


def test_the_description_follows_from_the_endpoints(client: Client) -> None:
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"].endswith("."), path
            answer = client.request(method.upper(), path.replace("{model}", "toy"))
            assert answer.status_code == (200 if method == "get" else 415), path
    text = json.dumps(document)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in document["components"]["schemas"]
    assert sorted(document["paths"]["/explore/map"]["post"]["responses"])[:2] == ["200", "202"]


def test_headers_for_browsers(client: Client) -> None:
    answer = client.get("/health")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


# keys, limits, mistakes


def test_without_the_key_there_is_no_answer() -> None:
    app = build({"toy": MODEL}, api_key="secret", warm=False)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "secret"}, {"authorization": "Bearer é"}):
        sent = {name: value.encode() for name, value in headers.items()}
        for method, path in [("POST", "/v1/embeddings"), ("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/no")]:
            answer = Client(app).request(method, path, headers=sent)
            assert failure(answer, 401)["code"] == "invalid_api_key"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert Client(app).get("/health").status_code == 200
    assert Client(app, authorization="Bearer secret").post("/v1/embeddings", {"input": "a"}).status_code == 200


class Slow(Embedder):
    """Takes its time, in a thread or on the event loop; may also fail."""

    def is_quick(self, n_characters: int) -> bool:
        return False

    def texts(self, texts: Any, *, dim: int, normalize: bool) -> Any:
        if texts[0] == "mistake":
            raise ZeroDivisionError
        self.release.wait(20)
        return super().texts(texts, dim=dim, normalize=normalize)


def test_a_bug_of_ours_does_not_end_the_server() -> None:
    client = Client(build({"slow": Slow(MODEL)}, warm=False))
    assert "ZeroDivisionError" in failure(client.post("/v1/embeddings", {"input": "mistake"}), 500)["message"]
    assert client.get("/health").status_code == 200


def test_too_long_and_too_many_at_once() -> None:
    slow = Slow(MODEL)
    slow.release = threading.Event()
    client = Client(build({"slow": slow}, limits=Limits(max_seconds=1.0), warm=False))
    assert failure(client.post("/v1/embeddings", {"input": "a"}), 503)["code"] == "timeout"
    slow.release.set()
    assert client.post("/v1/embeddings", {"input": "a"}).status_code == 200

    app = build({"slow": Slow(MODEL)}, limits=Limits(max_concurrent=2), warm=False)
    app._under_way = 2
    answer = Client(app).post("/v1/embeddings", {"input": "a"})
    assert failure(answer, 503)["code"] == "overloaded"
    assert answer.headers["retry-after"] == "1"
    assert app._under_way == 2


def test_a_body_that_never_ends() -> None:
    app = build({"toy": MODEL}, limits=Limits(max_seconds=0.2), warm=False)
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/search", "headers": headers, "query_string": b""}
    sent: list[Any] = []

    async def trickle() -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, trickle, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "timeout"
    sent.clear()
    asyncio.run(app(scope, leave, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 499  # for the metrics; the client is gone


def test_settings_that_make_no_sense() -> None:
    for wrong in ({"max_bytes": 0}, {"max_inputs": -1}, {"max_seconds": 0.0}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Limits(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no model"):
        build({})


def test_a_model_of_two_languages_is_two_models() -> None:
    words = Vocabulary(["en:house", "de:haus"], np.array([2, 1]), ("en", "de"))
    joint = Model(words, np.array([[1, 0], [0.8, 0.6]], np.float32))
    client = Client(build({"talks": joint}, warm=False))
    assert [one["id"] for one in client.get("/v1/models").json()["data"]] == ["talks/en", "talks/de"]
    german = vectors(client.post("/v1/embeddings", {"input": "Haus", "model": "talks/de"}))
    np.testing.assert_allclose(german, [[0.8, 0.6]], rtol=1e-6)
    assert client.get("/v1/models/talks/de").json()["language"] == "de"
