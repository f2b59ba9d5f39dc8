"""Extreme numbers: every training run ends in vectors of finite numbers, or in an error that says what to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow import SiameseCBOW, Stream
from siamese_cbow.cli import main
from siamese_cbow.errors import SettingsError
from siamese_cbow.training import state

SMALL: dict[str, Any] = {"dim": 8, "epochs": 1, "batch_size": 16, "subsample": 0}


@pytest.fixture(scope="module")
def stream() -> Stream:
    rng = np.random.default_rng(0)
    return Stream.of_words([[[f"w{i}" for i in rng.zipf(1.4, 6) % 40] for _ in range(12)] for _ in range(20)])


@pytest.mark.parametrize("objective", ["contrastive", "softmax", "sigmoid", "margin"])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
@pytest.mark.parametrize("rate", [1e-9, 1e9, 1e30])
@pytest.mark.filterwarnings("error")
def test_learning_rates(stream: Stream, objective: Any, optimizer: Any, rate: float) -> None:
    recipe = SiameseCBOW(**SMALL, objective=objective, optimizer=optimizer, learning_rate=rate)
    if rate < 1e30 and (objective, optimizer) != ("sigmoid", "sgd"):
        vectors = recipe.train(stream).vectors
        assert np.isfinite(vectors).all()
        assert vectors.any(axis=1).all(), "no word is lost"
    elif rate > 1:
        with pytest.raises(SettingsError, match="lower --learning-rate"):
            recipe.train(stream)


@pytest.mark.parametrize("dim", [1, 2, 3, 4096])
def test_dimensions(stream: Stream, dim: int) -> None:
    vectors = SiameseCBOW(**{**SMALL, "dim": dim}).train(stream).vectors
    assert vectors.shape == (len(stream.vocabulary), dim)
    assert np.isfinite(vectors).all()
    assert vectors.any()


@pytest.mark.parametrize(
    "documents",
    [
        [[["a", "b"]] * 10] * 3,
        [[["a"]] * 10] * 3,
        [[["a"], ["b"]] * 10] * 3,
        [[["a", "a", "a"], ["b"], ["c", "a"]]] * 3,
    ],
    ids=["repeated", "one word", "sentences of one word", "three words"],
)
def test_few_words_leave_more_than_rounding(documents: list[list[list[str]]]) -> None:
    model = SiameseCBOW(**SMALL).train(Stream.of_words(documents))
    assert np.abs(model.vectors).max() > 1e-3
    assert model.similarity("a", "a") == pytest.approx(1)


def test_no_model_of_nothing(stream: Stream) -> None:
    recipe = SiameseCBOW(**SMALL, optimizer="sgd", learning_rate=1e-30, init_std=1e-14, length_power=4.0)
    with pytest.raises(SettingsError, match=r"reduces every vector to zero.*--length-power 1"):
        recipe.train(stream)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 10**9),
        ("dim", 10**400),
        ("epochs", 10**30),
        ("seed", 2**64),
        ("seed", -1),
        ("batch_size", 10**12),
        ("negatives", 10**12),
        ("max_tokens", 2**70),
        ("idf_power", 1000),
        ("length_power", 10_000),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", 1e-50),
        ("learning_rate", 10**400),
        ("temperature", 1e-300),
        ("gamma", 1e300),
        ("init_std", 1e9),
        ("subsample", float("nan")),
    ],
)
def test_values_out_of_bounds(name: str, value: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match=f"{name} is .*; expected a .*number"):
        SiameseCBOW(**{name: value})
    with pytest.raises(SystemExit) as stop:
        main(["train", str(tmp_path), "-o", str(tmp_path / "m"), f"--{name.replace('_', '-')}", str(value)[:300]])
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_the_largest_seed_is_its_own(stream: Stream) -> None:
    first, last = (SiameseCBOW(**SMALL, seed=seed).train(stream).vectors for seed in (0, 2**64 - 1))
    assert not np.array_equal(first, last)


def test_too_little_memory_is_reported(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(shape: tuple[int, ...]) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(state, "aligned", none)
    with pytest.raises(SettingsError, match=r"not enough memory for .* vectors of 8 dimensions.*lower --dim"):
        SiameseCBOW(**SMALL).train(stream)
