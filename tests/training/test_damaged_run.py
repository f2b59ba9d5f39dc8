"""Unfinished runs that are damaged, shared or stopped late: one clear line, and always a way to continue."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.base.files import one_writer
from siamese_cbow.cli import main
from siamese_cbow.errors import FormatError, InputError, Interrupted
from siamese_cbow.model.storage import load
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training import saved_run
from siamese_cbow.training.checkpoint import Checkpoints, read_log
from siamese_cbow.training.loop import Callback, Run
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from stream_world import prepared_lines

RECIPE = SiameseCBOW(dim=8, epochs=2, batch_size=32)
OPTIONS = ["--dim", "8", "--epochs", "2", "--batch-size", "32"]


@pytest.fixture(scope="module")
def stream_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_lines(tmp_path_factory.mktemp("stream"), n_words=100, n_lines=1000)


@pytest.fixture(scope="module")
def expected(stream_path: Path) -> np.ndarray:
    return RECIPE.train(Stream.load(stream_path)).vectors


class StopAfter(Callback):
    """Sends the process a signal."""

    every = 20

    def __init__(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.number = number

    def on_batch(self, run: Run) -> None:
        os.kill(os.getpid(), self.number)


@pytest.fixture
def model(stream_path: Path, tmp_path: Path) -> Path:
    """The folder of a run that was stopped after 20 batches."""
    with pytest.raises(Interrupted):
        train_into(tmp_path / "model", RECIPE, Stream.load(stream_path), callbacks=[StopAfter()])
    return tmp_path / "model"


def test_hangup_is_answered_as_the_other_signals(stream_path: Path, tmp_path: Path, expected: np.ndarray) -> None:
    with pytest.raises(Interrupted, match="stopped by SIGHUP"):
        train_into(tmp_path / "m", RECIPE, Stream.load(stream_path), callbacks=[StopAfter(signal.SIGHUP)])
    assert np.array_equal(train_into(tmp_path / "m", RECIPE, Stream.load(stream_path)).vectors, expected)


def test_a_hangup_that_nohup_ignores_stays_ignored(stream_path: Path, tmp_path: Path, expected: np.ndarray) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        trained = train_into(tmp_path / "m", RECIPE, Stream.load(stream_path), callbacks=[StopAfter(signal.SIGHUP)])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert np.array_equal(trained.vectors, expected)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_after_the_last_batch_loses_nothing(
    stream_path: Path, tmp_path: Path, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    real = saved_run.save

    def save(*arguments: Any, **options: Any) -> None:
        os.kill(os.getpid(), number)
        real(*arguments, **options)

    monkeypatch.setattr(saved_run, "save", save)
    train_into(tmp_path / "m", RECIPE, Stream.load(stream_path))
    assert np.array_equal(load(tmp_path / "m").vectors, expected)


def test_a_second_writer_gets_an_error(
    model: Path, stream_path: Path, expected: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    with one_writer(model):
        for more in ([], ["--resume"], ["--restart"]):
            with pytest.raises(SystemExit) as stop:
                main(["train", str(stream_path), "-o", str(model), *OPTIONS, *more])
            assert stop.value.code == 2
            assert "another process is writing" in capsys.readouterr().err
    main(["train", str(stream_path), "-o", str(model), *OPTIONS])
    assert np.array_equal(load(model).vectors, expected)


@pytest.mark.parametrize("more", [[], ["--resume"], ["--restart"]])
@pytest.mark.parametrize("inside", [(), (".run.json.abcdefgh.tmp",)])
def test_a_run_that_never_got_to_its_first_file(
    stream_path: Path, tmp_path: Path, expected: np.ndarray, more: list[str], inside: tuple[str, ...]
) -> None:
    for name in ("", *inside):
        (tmp_path / "m" / "training" / name).mkdir(parents=True, exist_ok=True)
    main(["train", str(stream_path), "-o", str(tmp_path / "m"), *OPTIONS, *more])
    assert np.array_equal(load(tmp_path / "m").vectors, expected)
    assert not (tmp_path / "m" / "training").exists()


def test_checkpoints_without_a_recipe_go_only_by_restart(
    model: Path, stream_path: Path, expected: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    (model / "training" / "run.json").unlink()
    for more in ([], ["--resume"]):
        with pytest.raises(SystemExit) as stop:
            main(["train", str(stream_path), "-o", str(model), *OPTIONS, *more])
        assert stop.value.code == 2
        assert "run.json is missing or damaged; add --restart" in capsys.readouterr().err
    main(["train", str(stream_path), "-o", str(model), *OPTIONS, "--restart"])
    assert np.array_equal(load(model).vectors, expected)


@pytest.mark.parametrize("restart", [False, True])
def test_a_foreign_file_in_a_run_is_never_lost(model: Path, stream_path: Path, restart: bool) -> None:
    (model / "training" / "thesis.txt").write_text("three years")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        train_into(model, RECIPE, Stream.load(stream_path), restart=restart)
    assert (model / "training" / "thesis.txt").read_text() == "three years"


def test_a_folder_that_was_not_there_is_not_left(stream_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        train_into(tmp_path / "m", SiameseCBOW(objective="softmax", negatives=5000), Stream.load(stream_path))
    assert list(tmp_path.iterdir()) == []


RUNS = ["[]", "{}", "null", "3", "[" * 100_000, '{"format_version": 1, "recipe": 3, "corpus": "x"}',
        '{"format_version": 1, "recipe": [], "corpus": "x"}', '{"format_version": 9, "recipe": 3, "corpus": "x"}',
        '{"format_version": 1, "recipe": {"postprocess": 3}, "corpus": 3}']  # fmt: skip


@pytest.mark.parametrize("text", RUNS, ids=lambda text: text[:50])
def test_a_damaged_run_json(model: Path, stream_path: Path, text: str) -> None:
    (model / "training" / "run.json").write_text(text)
    with pytest.raises((FormatError, InputError), match="--restart"):
        train_into(model, RECIPE, Stream.load(stream_path))


def state(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {**content, "state": {**content["state"], **changes}}


STATES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda content: [],
    "a number": lambda content: 3,
    "arrays as a list": lambda content: {**content, "arrays": ["vectors"]},
    "arrays of numbers": lambda content: {**content, "arrays": {"vectors": 3}},
    "an array elsewhere": lambda content: {**content, "arrays": {"../../../x": "0"}},
    "no arrays": lambda content: {**content, "arrays": {}},
    "no step": lambda content: {**content, "step": None},
    "a state of nothing": lambda content: {**content, "state": None},
    "a state of text": lambda content: {**content, "state": "abc"},
    "a later version": lambda content: {**content, "format_version": 2},
    "a batch beyond the epoch": state(batch=10**9),
    "a batch below 0": state(batch=-3),
    "a batch of half": state(batch=0.5),
    "an epoch beyond the last": state(epoch=7),
    "an epoch of text": state(epoch="1"),
    "a step that does not fit": state(step=3),
    "a loss of nothing": state(loss=None),
    "a loss that is no number": state(loss=float("nan")),
}


@pytest.mark.parametrize("damage", STATES.values(), ids=STATES)
def test_a_damaged_checkpoint(
    model: Path, stream_path: Path, damage: Callable[[dict[str, Any]], Any], expected: np.ndarray
) -> None:
    path = next((model / "training").glob("checkpoint-*")) / "state.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(FormatError, match=r"--restart|to start over"):
        train_into(model, RECIPE, Stream.load(stream_path))
    assert np.array_equal(train_into(model, RECIPE, Stream.load(stream_path), restart=True).vectors, expected)


def test_arrays_of_another_type(model: Path, stream_path: Path) -> None:
    checkpoints = Checkpoints(model / "training")
    newest = checkpoints.newest()
    assert newest is not None
    arrays = {name: array.astype(np.complex64) for name, array in newest.arrays.items()}
    shutil.rmtree(next((model / "training").glob("checkpoint-*")))
    checkpoints.save(type(newest)(newest.step, arrays, newest.state))
    with pytest.raises(FormatError, match="--restart"):
        train_into(model, RECIPE, Stream.load(stream_path))


@pytest.mark.parametrize("line", ["7", "[]", "null", '{"step": "x"}', '{"step": 1}', "\xff\xfe", "[" * 100_000])
def test_a_damaged_log_ends_where_the_damage_begins(
    model: Path, stream_path: Path, expected: np.ndarray, line: str
) -> None:
    path = model / "training" / "log.jsonl"
    n_lines = len(read_log(path))
    assert n_lines > 3
    with path.open("a", encoding="latin-1") as file:
        file.write(line + "\n")
    assert len(read_log(path)) == n_lines
    assert np.array_equal(train_into(model, RECIPE, Stream.load(stream_path)).vectors, expected)
