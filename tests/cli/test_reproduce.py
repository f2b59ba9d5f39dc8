"""`siamese-cbow reproduce` as a command: its output, its error messages, and a kill in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from report_world import write_sts, write_text
from siamese_cbow.cli import main
from siamese_cbow.stream.preparation import prepare

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_text(folder / "text.txt")
    prepare(folder / "text.txt", output=folder / "stream", min_count=1)
    write_sts(folder / "sts")
    return folder


def arguments(world: Path, output: Path, *more: str) -> list[str]:
    return ["reproduce", str(world / "stream"), "--sts", str(world / "sts"), "-o", str(output), "--quick", *more]


@pytest.mark.slow
def test_some_parts_of_a_report(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(world, tmp_path / "report", "--only", "table2, figure3", "--threads", "1"))
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'report' / 'index.html'}\n"
    assert "FastSent, seed 1: trained in" in err
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "Siamese CBOW reproduced on stream" in page
    assert "Table 2" in page
    assert "Table 1" not in page
    assert {path.name for path in (tmp_path / "report" / "figures").iterdir()} == {
        "figure3-siamese.svg", "figure3-siamese.png", "figure3-matched.svg", "figure3-matched.png",
    }  # fmt: skip


def test_mistakes_end_with_code_2(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (
        (["reproduce", str(tmp_path), "-o", str(tmp_path / "r"), "--sts", str(world / "sts")], str(tmp_path)),
        (["reproduce", str(world / "stream"), "-o", str(tmp_path / "r"), "--sts", "no-such-folder"], "no-such-folder"),
        (arguments(world, tmp_path / "r", "--only", "table7"), "table7"),
        (arguments(world, tmp_path / "r", "--threads", "0"), "threads"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(wrong)
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error


def test_an_interrupt_says_how_to_resume(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("siamese_cbow.paper.work_plan.compute", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(arguments(world, tmp_path / "report"))
    assert stopped.value.code == 128 + signal.SIGINT
    assert "run the same command again" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_in_the_middle_it_resumes_with_what_is_missing(world: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "siamese_cbow",
        *arguments(world, tmp_path / "report", "--only", "figure3,figure4"),
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        while not (finished := sorted((tmp_path / "report" / "cache").glob("*.json"))) and running.poll() is None:
            time.sleep(0.01)
        running.kill()
    before = {path: path.stat().st_mtime_ns for path in finished}
    assert before
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'report' / 'index.html'}\n"
    assert {path: path.stat().st_mtime_ns for path in finished} == before
    assert len(list((tmp_path / "report" / "cache").glob("*.json"))) == 15  # 2 x 3 negatives, 3 x 3 dims
