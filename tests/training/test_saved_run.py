"""Training into a folder: whatever happens on the way, the result has the same bytes."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow.base.files import one_writer
from siamese_cbow.cli import main
from siamese_cbow.errors import FormatError, InputError, Interrupted, SettingsError
from siamese_cbow.model.storage import load
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.checkpoint import Checkpoints, read_log
from siamese_cbow.training.loop import Callback, Run, train
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.recipe import Saving
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from stream_world import prepared_lines

RECIPE = SiameseCBOW(dim=16, epochs=3, batch_size=32, seed=7)
OFTEN = Saving(checkpoint_minutes=0.001)


@pytest.fixture(scope="module")
def stream_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_lines(tmp_path_factory.mktemp("stream"), n_words=300, n_lines=6000)


@pytest.fixture(scope="module")
def stream(stream_path: Path) -> Stream:
    return Stream.load(stream_path)


@pytest.fixture(scope="module")
def expected(stream: Stream, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The bytes of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    train_into(folder, RECIPE, stream, threads=1)
    return folder_hash(folder)


def folder_hash(folder: Path) -> dict[str, str]:
    # The model card names the folder, so it may differ.
    names = sorted(path.name for path in folder.iterdir() if path.name != "README.md")
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


class StopAfter(Callback):
    """Stops as a crash would, without a checkpoint of its own."""

    def __init__(self, step: int) -> None:
        self.every = step

    def on_batch(self, run: Run) -> None:
        raise RuntimeError("crash")


def test_the_folder_when_all_is_done(stream: Stream, tmp_path: Path, expected: dict[str, str]) -> None:
    model = train_into(tmp_path / "model", RECIPE, stream, threads=2)
    assert folder_hash(tmp_path / "model") == expected
    assert "training.jsonl" in expected
    assert np.array_equal(load(tmp_path / "model").vectors, model.vectors)
    assert np.array_equal(model.vectors, RECIPE.train(stream).vectors), "the library's way gives the same"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("step", [100, 400])
def test_after_a_crash_it_resumes(stream: Stream, tmp_path: Path, expected: dict[str, str], step: int) -> None:
    with pytest.raises(RuntimeError, match="crash"):
        train_into(tmp_path / "model", RECIPE, stream, saving=OFTEN, callbacks=[StopAfter(step)])
    assert len(list((tmp_path / "model" / "training").glob("checkpoint-*"))) <= 2
    train_into(tmp_path / "model", RECIPE, stream, saving=OFTEN, threads=3)
    assert folder_hash(tmp_path / "model") == expected


@pytest.mark.slow
def test_after_kill_9_it_resumes(stream: Stream, stream_path: Path, tmp_path: Path) -> None:
    """Killed four times, each at a random moment after some progress, then left alone."""
    recipe = SiameseCBOW(dim=16, epochs=40, batch_size=32, seed=7)
    train_into(tmp_path / "whole", recipe, stream)
    code = (
        "import sys; from siamese_cbow import SiameseCBOW, Stream;"
        "from siamese_cbow.training.saved_run import *;"
        "train_into(sys.argv[1], SiameseCBOW(dim=16, epochs=40, batch_size=32, seed=7), Stream.load(sys.argv[2]),"
        "saving=Saving(checkpoint_minutes=0.0005), threads=2)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "killed"), str(stream_path)]
    rng, seen = random.Random(1), ""
    for _ in range(4):
        process = subprocess.Popen(command)
        while process.poll() is None and newest_name(tmp_path / "killed") <= seen:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        assert process.poll() is None, "it was done before it could be killed: give it more epochs"
        process.kill()
        process.wait()
        seen = newest_name(tmp_path / "killed")
    subprocess.run(command, check=True)
    assert folder_hash(tmp_path / "killed") == folder_hash(tmp_path / "whole")


def newest_name(folder: Path) -> str:
    return max((path.name for path in (folder / "training").glob("checkpoint-*")), default="")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(
    stream_path: Path, tmp_path: Path, expected: dict[str, str], number: signal.Signals, code: int
) -> None:
    arguments = ["train", str(stream_path), "-o", str(tmp_path / "model"), "--epochs", "400", "--dim", "16"]
    process = subprocess.Popen([sys.executable, "-m", "siamese_cbow", *arguments], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "model" / "training" / "log.jsonl").exists() or not read_log(
        tmp_path / "model" / "training" / "log.jsonl"
    ):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"stopped by {number.name} after batch" in err
    assert "run the same command again to resume" in err
    assert "Traceback" not in err
    assert Checkpoints(tmp_path / "model" / "training").newest() is not None


def test_an_interrupt_in_this_process(stream: Stream, tmp_path: Path, expected: dict[str, str]) -> None:
    class Press(Callback):
        every = 50

        def on_batch(self, run: Run) -> None:
            if run.state.counters.step == 50:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="stopped by SIGINT"):
        train_into(tmp_path / "model", RECIPE, stream, callbacks=[Press()])
    assert signal.getsignal(signal.SIGINT) is before
    train_into(tmp_path / "model", RECIPE, stream)
    assert folder_hash(tmp_path / "model") == expected


def test_a_finished_run_is_left_alone(stream: Stream, tmp_path: Path) -> None:
    train_into(tmp_path / "model", RECIPE, stream)
    before = (tmp_path / "model" / "config.json").stat().st_mtime_ns
    train_into(tmp_path / "model", RECIPE, stream)
    assert (tmp_path / "model" / "config.json").stat().st_mtime_ns == before
    other = SiameseCBOW(dim=8, epochs=1, batch_size=32)
    with pytest.raises(InputError, match="a model with other settings"):
        train_into(tmp_path / "model", other, stream)
    assert train_into(tmp_path / "model", other, stream, restart=True).dim == 8
    assert load(tmp_path / "model").dim == 8


def test_an_unfinished_run_of_something_else_is_refused(stream: Stream, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        train_into(tmp_path / "model", RECIPE, stream, saving=OFTEN, callbacks=[StopAfter(50)])
    with pytest.raises(InputError, match=r"unfinished run with other settings .*dim 16 -> 8"):
        train_into(tmp_path / "model", SiameseCBOW(dim=8, epochs=3, batch_size=32, seed=7), stream)
    documents = [[["a", "b"], ["b", "c"], ["c", "a"]] for _ in range(40)]
    with pytest.raises(InputError, match=r"\(corpus\)"):
        train_into(tmp_path / "model", RECIPE, Stream.of_words(documents))
    (tmp_path / "model" / "training" / "run.json").write_text("{")
    with pytest.raises(FormatError, match=r"run\.json is missing or damaged"):
        train_into(tmp_path / "model", RECIPE, stream)
    (tmp_path / "model" / "precious.txt").write_text("x")
    with pytest.raises(InputError, match="not part of a model"):
        train_into(tmp_path / "model", RECIPE, stream, restart=True)


OLD_RECIPE = SiameseCBOW(dim=4, epochs=3, batch_size=16, seed=3, subsample=0.0)


def old_run(folder: Path) -> Path:
    """A run that version 0.1.0 started and left after batch 25 of 39."""
    shutil.copytree(Path(__file__).with_name("run_of_0_1_0"), folder / "training")
    return folder


def old_stream() -> Stream:
    endings = ["", "s", "ing"]
    documents = [
        [[f"{'abc'[i % 3]}word{(i * k + j) % 5}{endings[(i + k) % 3]}" for k in range(1, 5)] for j in range(5)]
        for i in range(40)
    ]
    return Stream.of_words(documents)


def test_a_run_of_version_0_1_0_resumes(tmp_path: Path) -> None:
    steps: list[int] = []

    class Watch(Callback):
        every = 1

        def on_batch(self, run: Run) -> None:
            steps.append(run.state.counters.step)

    resumed = train_into(old_run(tmp_path / "old"), OLD_RECIPE, old_stream(), callbacks=[Watch()])
    drawn = replace(plan_of(OLD_RECIPE, old_stream()), in_turn=False)
    whole = train(drawn).model()
    train_into(tmp_path / "new", OLD_RECIPE, old_stream())
    assert steps == list(range(26, 40))
    np.testing.assert_allclose(resumed.vectors, whole.vectors, rtol=1e-3, atol=1e-5)  # another machine started it
    assert resumed.info == whole.info
    logs = [read_log(tmp_path / name / "training.jsonl") for name in ("old", "new")]
    assert [line.keys() for line in logs[0]] == [line.keys() for line in logs[1]]
    assert [line["step"] for line in logs[0]] == [line["step"] for line in logs[1]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "run.json",
            '{"format_version": 3, "recipe": {}, "corpus": ""}',
            "has format version 3, but this siamese-cbow reads 2",
        ),
        ("run.json", '{"format_version": 1}', "is missing or damaged; add --restart"),
        ("run.json", "[1, 2]", "is missing or damaged; add --restart"),
        ("checkpoint-000000000025/state.json", '{"step": 25, "arrays": {}, "state": {}}', "array 'vectors.*--restart"),
    ],
)
def test_a_run_of_another_version_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    folder = old_run(tmp_path / "model")
    (folder / "training" / name).write_text(content)
    before = folder_hash(folder / "training" / "checkpoint-000000000025")
    with pytest.raises(FormatError, match=message):
        train_into(folder, OLD_RECIPE, old_stream())
    assert folder_hash(folder / "training" / "checkpoint-000000000025") == before


def test_a_damaged_run_can_be_thrown_away_and_nothing_else(tmp_path: Path) -> None:
    folder = old_run(tmp_path / "model")
    (folder / "training" / "run.json").unlink()
    (folder / "training" / ".run.json.abcdefgh.tmp").mkdir()  # killed while writing it
    with pytest.raises(FormatError, match="add --restart"):
        train_into(folder, OLD_RECIPE, old_stream())
    (folder / "training" / "photo.jpg").write_text("x")
    with pytest.raises(InputError, match=r"not part of a model \(training/photo\.jpg\)"):
        train_into(folder, OLD_RECIPE, old_stream(), restart=True)
    (folder / "training" / "photo.jpg").unlink()
    assert train_into(folder, OLD_RECIPE, old_stream(), restart=True).dim == 4


def test_other_files_are_named_before_any_work(tmp_path: Path) -> None:
    folder = old_run(tmp_path / "model")
    (folder / "photo.jpg").write_text("x")
    with pytest.raises(InputError, match=r"not part of a model \(photo\.jpg\)"):
        train_into(folder, OLD_RECIPE, old_stream())
    assert not (folder / "training" / "checkpoint-000000000039").exists()
    assert len(read_log(folder / "training" / "log.jsonl")) == 25


def test_something_else_is_never_touched(stream: Stream, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("x")
    for restart in (False, True):
        with pytest.raises(InputError, match="photos"):
            train_into(tmp_path / "photos", RECIPE, stream, restart=restart)
    assert (tmp_path / "photos" / "me.jpg").read_text() == "x"


def test_a_full_disk(stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError):
        train_into(tmp_path / "model", RECIPE, stream, saving=OFTEN, callbacks=[StopAfter(300)])
    newest = Checkpoints(tmp_path / "model" / "training").newest()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(InputError, match="No space left on device; free some space"):
        train_into(tmp_path / "model", RECIPE, stream, saving=OFTEN)
    monkeypatch.undo()
    again = Checkpoints(tmp_path / "model" / "training").newest()
    assert newest is not None
    assert again is not None
    assert again.step == newest.step


def test_the_log(stream: Stream, tmp_path: Path) -> None:
    train_into(tmp_path / "model", RECIPE, stream)
    lines = read_log(tmp_path / "model" / "training.jsonl")
    steps = [line["step"] for line in lines]
    assert steps == sorted(set(steps))
    assert {line["epoch"] for line in lines} == {0, 1, 2}
    assert lines[-1]["words"] == 3 * stream.n_tokens
    assert lines[-1]["loss"] < lines[0]["loss"]
    for epoch in range(3):
        own = [line for line in lines if line["epoch"] == epoch]
        spans = np.diff([0, *(line["epoch_examples"] for line in own)])
        assert np.isclose(np.dot(spans, [line["loss"] for line in own]), own[-1]["epoch_loss"])


def test_snapshots(stream: Stream, tmp_path: Path) -> None:
    train_into(tmp_path / "model", RECIPE, stream, saving=Saving(snapshot_batches=200, snapshot_epochs=2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["model", "model@200", "model@400", "model@epoch2"]
    assert (
        load(tmp_path / "model@200").info["trained"]["examples"] < load(tmp_path / "model").info["trained"]["examples"]
    )


@pytest.mark.parametrize("option", ["checkpoint_minutes", "snapshot_batches", "snapshot_epochs"])
def test_when_to_save_is_checked(option: str) -> None:
    with pytest.raises(SettingsError, match=rf"{option} is -1; expected .*, 0 or more"):
        Saving(**{option: -1})


def test_the_command(stream_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, recipe = str(tmp_path / "model"), str(tmp_path / "recipe.toml")
    options = ["--dim", "16", "--epochs", "3", "--batch-size", "32", "--seed", "7"]
    main(["train", str(stream_path), "--dry-run", *options, "--write-recipe", recipe])
    assert "dim = 16" in capsys.readouterr().out
    assert not Path(model).exists()
    main(["train", str(stream_path), "-o", model, "--recipe", recipe])
    assert load(model).info["recipe"]["dim"] == 16
    assert capsys.readouterr().out == f"{model}\n"
    for bad in (
        ["--resume"],
        ["--learning-rate", "0"],
        ["--temperature", "0"],
        ["--dim", "0"],
        ["--recipe", "none.toml"],
        ["--init", "none.vec"],
        ["--recipe", "paper", "--negatives", "1000000"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["train", str(stream_path), "-o", str(tmp_path / "other"), *bad])
        assert stopped.value.code == 2, bad
        assert "Traceback" not in capsys.readouterr().err
        assert not (tmp_path / "other").exists(), bad


def test_two_at_once_get_an_error_and_a_run_that_had_no_room_starts_later(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with one_writer(folder), pytest.raises(InputError, match="another process is writing"):
        train_into(folder, OLD_RECIPE, old_stream())
    (folder / "training" / ".run.json.abcdefgh.tmp").mkdir(parents=True)  # the disk was full
    train_into(folder, OLD_RECIPE, old_stream())
    assert not (folder / "training").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
