"""Models on the Hugging Face Hub, with the real client and a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hub_stub import Hub, hub
from interop_world import TEXTS, small_model
from siamese_cbow import Model
from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.formats.resolver import download

constants = pytest.importorskip("huggingface_hub.constants")
pytestmark = pytest.mark.filterwarnings("default")  # theirs are not ours to fix


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    # The library has already read the environment: set the test's own cache, no telemetry, plain transfers.
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with hub() as running:
        yield running


def test_up_and_down_again(server: Hub, tmp_path: Path) -> None:
    model = small_model()
    address = model.push_to_hub("me/tiny", token="hf_secret", endpoint=server.url, private=True)
    assert address == f"{server.url}/me/tiny"
    assert server.private == {"me/tiny": True}
    assert server.tokens == {"Bearer hf_secret"}
    model.save_pretrained(tmp_path / "tiny")
    assert server.repositories["me/tiny"] == {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()}
    server.repositories["me/tiny"]["malware.py"] = b"raise SystemExit"
    again = Model.from_pretrained("me/tiny", endpoint=server.url)
    assert again == model
    np.testing.assert_array_equal(again.encode(TEXTS), model.encode(TEXTS))
    assert not any("malware" in request for request in server.requests)
    assert Model.from_pretrained(tmp_path / "tiny") == model
    # other libraries find their files in the same repository
    model2vec = pytest.importorskip("model2vec")
    folder = download("me/tiny", endpoint=server.url)
    np.testing.assert_allclose(
        model2vec.StaticModel.from_pretrained(folder).encode(TEXTS),
        model.encode(TEXTS, normalize_embeddings=True),
        atol=1e-6,
    )


def test_a_second_push_replaces_the_first(server: Hub) -> None:
    small_model().push_to_hub("me/tiny", endpoint=server.url, token="t")
    other = Model(small_model().vocabulary, np.array(small_model().vectors * 2))
    other.push_to_hub("me/tiny", endpoint=server.url, token="t", commit_message="Twice as long")
    assert Model.from_pretrained("me/tiny", endpoint=server.url) == other


@pytest.mark.parametrize("status", [401, 403, 500])
def test_what_the_server_refuses_is_reported(server: Hub, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client tries again and again
    server.fails_with = status
    with pytest.raises(InputError, match=r"can't upload to me/tiny: .*check the name"):
        small_model().push_to_hub("me/tiny", endpoint=server.url, token="t")
    assert not server.repositories


def test_a_server_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client tries again and again
    with pytest.raises(InputError, match=r"can't upload to me/tiny: .*and the connection"):
        small_model().push_to_hub("me/tiny", endpoint="http://127.0.0.1:9", token="t")


@pytest.mark.parametrize("name", ["me/nothing", "not a name", "a/b/c"])
def test_what_is_not_there_is_reported(server: Hub, name: str) -> None:
    with pytest.raises(InputError, match=f"can't fetch {name}"):
        Model.from_pretrained(name, endpoint=server.url)


def test_what_came_down_broken_is_found(server: Hub) -> None:
    small_model().push_to_hub("me/tiny", endpoint=server.url, token="t")
    files: dict[str, Any] = server.repositories["me/tiny"]
    files["model.safetensors"] = files["model.safetensors"][:-8]
    with pytest.raises(FormatError, match=r"model\.safetensors has .* bytes, expected"):
        Model.from_pretrained("me/tiny", endpoint=server.url)
