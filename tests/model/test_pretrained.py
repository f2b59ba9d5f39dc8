"""The model that comes with the package: its bits, how good it is on pairs of our own, how lightly it loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import siamese_cbow as sc
from siamese_cbow.base.files import file_hash
from siamese_cbow.cli import group
from siamese_cbow.model.storage import PRETRAINED

HELD = json.loads(Path(__file__).with_name("pretrained.json").read_text("utf-8"))  # by benchmarks/build_pretrained.py
PROBE = Path(__file__).with_name("probe.tsv")


def test_its_files_are_those_that_were_built() -> None:
    assert {name: file_hash(PRETRAINED / name) for name in HELD["files"]} == HELD["files"]
    assert sum(file.stat().st_size for file in PRETRAINED.iterdir()) <= 20e6
    assert sc.load(verify=True) == sc.load()


def test_its_score_on_pairs_of_our_own() -> None:
    """Graded by one person; a random model has about .5 here, as any word overlap does."""
    lines = [line.split("\t") for line in PROBE.read_text("utf-8").splitlines()]
    assert len(lines) >= 40
    cosines = sc.load().similarity_pairwise([a for _, a, _ in lines], [b for _, _, b in lines])
    pearson = float(np.corrcoef([float(grade) for grade, _, _ in lines], cosines)[0, 1])
    assert abs(pearson - HELD["probe"]) < 0.002
    assert pearson > 0.8


def test_its_card_says_what_users_must_know() -> None:
    card = (PRETRAINED / "README.md").read_text("utf-8")
    for section in ("## Data", "## Licence", "## Scores", "## Limits", "## Biases", "CC BY-SA", "STS 2015"):
        assert section in card
    shown = CliRunner().invoke(group, ["info"]).output
    for part in ("pretrained", "CC BY-SA", "STS 2015", "biases"):
        assert part in shown


def test_commands_without_a_model_use_it() -> None:
    run = CliRunner().invoke
    close, far = (
        float(run(group, ["similarity", "A man plays a guitar", other]).output)
        for other in ("Someone is playing an instrument", "Parliament passed the law")
    )
    assert close > far + 0.2
    assert "guitars" in run(group, ["neighbours", "guitar"]).output
    vector = json.loads(run(group, ["encode", "-"], input="a guitar\n").output)["vector"]
    np.testing.assert_allclose(vector, sc.load().encode("a guitar"), rtol=1e-6)


def test_loading_it_imports_nothing_heavy() -> None:
    script = (
        "import sys, siamese_cbow as sc; sc.load().similarity('a man', 'a woman'); "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "pyarrow", "scipy", "torch", "rich", "sklearn"} & set(loaded)
