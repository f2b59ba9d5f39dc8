"""Kernels compiled in another process: the same kernels, and nothing is lost without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import siamese_cbow as sc
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.objectives.in_batch import train_in_batch
from siamese_cbow.kernels.objectives.sampled import train_sampled
from siamese_cbow.training import ahead
from siamese_cbow.training.recipe import PRESETS

TEXT = "A dog ran home. The cat sat there. It rained all day.\n" * 30


def train_on_disk(recipe: sc.SiameseCBOW, folder: Path) -> sc.Model:
    text = folder / "text.txt"
    text.write_text(TEXT, "utf-8")
    return recipe.train(str(text), min_count=1, text=sc.TextSettings(language="en"))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_process_compiles_what_a_stream_on_disk_needs(preset: str, tmp_path: Path, capsys: Any) -> None:
    recipe = sc.SiameseCBOW.preset(preset, dim=16, epochs=1, subsample=0.0)
    ahead.compile_kernels(json.dumps(recipe.settings()))
    assert capsys.readouterr().out == "\n"
    kernels = (pick, train_in_batch, train_sampled)
    before = [set(kernel.signatures) for kernel in kernels]
    train_on_disk(recipe, tmp_path)
    assert [set(kernel.signatures) for kernel in kernels] == before


def test_it_is_started_only_if_there_is_something_to_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[Any] = []
    real = subprocess.Popen

    def watched(command: list[str], **how: Any) -> Any:
        started.append(command)
        return real([sys.executable, "-c", "raise SystemExit(1)"], **how)  # a process that fails at once

    recipe = sc.SiameseCBOW(dim=16, epochs=1, subsample=0.0)
    expected = train_on_disk(recipe, tmp_path)
    monkeypatch.setattr(ahead.subprocess, "Popen", watched)  # type: ignore[attr-defined]
    with ahead.compiled_ahead(recipe) as kernels:
        kernels.wait()
    assert started == []
    monkeypatch.setattr("siamese_cbow.machine.compiling.is_cached", lambda kernel: False)
    monkeypatch.setattr(ahead, "thread_count", lambda threads: 2)
    with ahead.compiled_ahead(recipe) as kernels:
        kernels.wait()
    assert [json.loads(command[-1])["dim"] for command in started] == [16]
    assert (train_on_disk(recipe, tmp_path).vectors == expected.vectors).all()
    monkeypatch.setattr(ahead, "thread_count", lambda threads: 1)
    n = len(started)
    with ahead.compiled_ahead(recipe):
        assert len(started) == n
