"""The packaged model: its bytes, its quality on sentence pairs of our own, and how little it loads."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import siamese_cbow as sc
from siamese_cbow.base.disk import file_hash
from siamese_cbow.cli import group
from siamese_cbow.model.forms import FREQUENT
from siamese_cbow.model.storage import PRETRAINED
from siamese_cbow.words.stemmers import stemmer_of

HELD = json.loads(Path(__file__).with_name("pretrained.json").read_text("utf-8"))  # from benchmarks/build_pretrained.py
PROBE = Path(__file__).with_name("probe.tsv")


def test_its_files_are_those_that_were_built() -> None:
    assert {name: file_hash(PRETRAINED / name) for name in HELD["files"]} == HELD["files"]
    assert sum(file.stat().st_size for file in PRETRAINED.iterdir()) <= 21e6
    assert sc.load(verify=True) == sc.load()


@pytest.mark.parametrize(("country", "capital"), [("italy", "rome"), ("japan", "tokyo")])
def test_analogies_as_the_explorer_asks_them(country: str, capital: str) -> None:
    """The page opens with one of them and shows eight answers."""
    answers = sc.load().most_similar(["paris", country], ["france"], topn=8, all_forms=False)
    assert capital in dict(answers)


def test_neighbours_are_frequent_words_of_different_stems() -> None:
    words = [word for word, _ in sc.load().neighbours("guitar")]
    stems = stemmer_of("en").stemWords([*words, "guitar"])
    assert len(set(stems)) == len(stems)
    assert max(map(sc.load().vocabulary.index.__getitem__, words)) < FREQUENT
    assert "guitars" in dict(sc.load().neighbours("guitar", all_forms=True))


def test_its_score_on_pairs_of_our_own() -> None:
    """Graded by one person; a random model scores about .5 here, like any word overlap."""
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
    assert "guitarist" in run(group, ["neighbours", "guitar"]).output
    assert "guitars\n" in run(group, ["neighbours", "guitar", "--all-forms"]).output
    vector = json.loads(run(group, ["encode", "-"], input="a guitar\n").output)["vector"]
    np.testing.assert_allclose(vector, sc.load().encode("a guitar"), rtol=1e-6)


@pytest.mark.filterwarnings("default")  # theirs are not ours to fix
def test_saved_it_loads_in_other_libraries(tmp_path: Path) -> None:
    model2vec, transformers = pytest.importorskip("model2vec"), pytest.importorskip("sentence_transformers")
    model = sc.load()
    model.save(tmp_path / "m")
    known = ["A man plays a guitar", "parliament passed the law", "3.14 cats", "", "the " * 600]
    expected = model.encode(known, normalize_embeddings=True)
    theirs = [
        model2vec.StaticModel.from_pretrained(tmp_path / "m").encode(known),
        transformers.SentenceTransformer(str(tmp_path / "m"), device="cpu").encode(known),
    ]
    for found in theirs:
        np.testing.assert_allclose(found, expected, atol=2e-6)
    saved = sc.load(tmp_path / "m", verify=True)
    assert (saved.dtype, saved.info, saved.fallback) == ("int8", model.info, "ngrams")
    np.testing.assert_array_equal(saved.vectors, model.vectors)


def test_a_pickle_carries_no_caches() -> None:
    model = sc.load()
    size = len(pickle.dumps(model))
    assert size < 21e6
    model.neighbours("guitar")
    model.encode(["a guitar", "playfully"] * 100)
    assert "index" in vars(model.vocabulary)
    again = pickle.dumps(model)
    assert len(again) < 1.001 * size
    assert len(pickle.dumps(copy.deepcopy(model))) < 1.001 * size
    assert pickle.loads(again).neighbours("guitar") == model.neighbours("guitar")


def test_loading_it_imports_nothing_heavy() -> None:
    script = (
        "import sys, siamese_cbow as sc; sc.load().similarity('a man', 'a woman'); "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "pyarrow", "scipy", "torch", "rich", "sklearn"} & set(loaded)
