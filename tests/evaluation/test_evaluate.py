"""Evaluation: known answers, undefined correlations, misbehaving systems, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.cli import group, main
from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.score_tables import score_tables
from siamese_cbow.evaluation.sts import sts
from siamese_cbow.evaluation.systems import open_system, short_names, words_of
from siamese_cbow.formats.vector_files import write_word_vectors
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

# A sentence "x<degrees>" has that angle, so tests can produce any cosine.
ANGLES = [0, 30, 60, 90, 120]


class Angles:
    """A system with known answers that counts its calls."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, sentences: list[str]) -> Any:
        self.calls.append(sentences)
        radians = np.deg2rad([float(sentence) for sentence in sentences])
        return np.stack([np.cos(radians), np.sin(radians)], axis=1)


class Fixed:
    def __init__(self, make: Any) -> None:
        self._make = make

    def encode(self, sentences: list[str]) -> Any:
        return self._make(len(sentences))


def angle_set(dataset: str = "angles", gold: list[float] | None = None, year: int = 2014, **more: Any) -> PairSet:
    gold = gold or [5, 4, 3, 2, 1]
    return PairSet(year, dataset, tuple(("0", str(angle)) for angle in ANGLES[: len(gold)]), np.array(gold), **more)


def test_cosines_and_correlations_are_right() -> None:
    (row,) = evaluate(Angles(), [angle_set()]).sets
    np.testing.assert_allclose(row.predictions, np.cos(np.deg2rad(ANGLES)), atol=1e-12)
    assert row.pearson == pytest.approx(np.corrcoef(np.cos(np.deg2rad(ANGLES)), [5, 4, 3, 2, 1])[0, 1])
    assert row.spearman == pytest.approx(1)
    assert (row.n_pairs, row.n_empty, row.n_unknown) == (5, 0, None)


def test_every_sentence_is_encoded_once_and_in_one_call() -> None:
    system = Angles()
    evaluate(system, [angle_set("a"), angle_set("b", [1, 2, 3])])
    (call,) = system.calls
    assert sorted(call) == sorted(map(str, ANGLES))


def test_unscored_pairs_count_only_in_the_paper_protocol() -> None:
    gold = [5, 4, np.nan, 2, np.nan]
    official = evaluate(Angles(), [angle_set(gold=gold)]).sets[0]
    paper = evaluate(Angles(), [angle_set(gold=gold)], protocol="paper").sets[0]
    assert (official.n_pairs, paper.n_pairs) == (3, 5)
    assert paper.gold.tolist() == [5, 4, 0, 2, 0]
    assert official.spearman == pytest.approx(1)
    assert paper.spearman is not None
    assert paper.spearman < 1


def test_three_aggregates() -> None:
    sets = [angle_set("a"), angle_set("b", [1, 2, 3]), angle_set("c", [3, 2, 1], year=2015)]
    scores = evaluate(Angles(), sets)
    r = [one.pearson or 0 for one in scores.sets]
    every, first, second = scores.aggregates
    assert (every.label, first.label, second.label) == ("all", "2014", "2015")
    assert every.mean_pearson == pytest.approx(np.mean(r))
    assert scores.mean_pearson == every.mean_pearson
    assert every.weighted_pearson == pytest.approx((5 * r[0] + 3 * r[1] + 3 * r[2]) / 11)
    predictions = np.cos(np.deg2rad([*ANGLES, *ANGLES[:3], *ANGLES[:3]]))
    assert every.pooled_pearson == pytest.approx(np.corrcoef(predictions, [5, 4, 3, 2, 1, 1, 2, 3, 3, 2, 1])[0, 1])
    assert (every.n_sets, every.n_pairs, first.n_sets, second.n_pairs) == (3, 11, 2, 3)
    assert second.mean_pearson == pytest.approx(r[2])


def test_sts_benchmark_does_not_count_in_the_headline_next_to_semeval() -> None:
    other = angle_set("test", [1, 2, 3], collection="STS-Benchmark", year=2017)
    scores = evaluate(Angles(), [angle_set(), other])
    assert scores.mean_spearman == pytest.approx(1)
    assert [one.label for one in scores.aggregates] == ["all", "2014", "STS-Benchmark"]
    assert evaluate(Angles(), [other]).mean_spearman == pytest.approx(-1)


def test_constant_predictions_are_reported_and_left_out_of_means() -> None:
    same = PairSet(2014, "same", (("0", "60"), ("30", "90"), ("60", "120")), np.array([1.0, 2, 3]))
    scores = evaluate(Angles(), [angle_set(), same], bootstrap=20)
    assert scores.sets[1].pearson is None
    assert scores.sets[1].spearman is None
    assert "every pair has the same cosine, 0.5000" in scores.sets[1].note
    assert scores.mean_pearson == scores.sets[0].pearson
    assert (scores.aggregates[0].n_sets, scores.aggregates[0].n_undefined) == (1, 1)
    json.dumps(scores.to_dict(), allow_nan=False)
    alone = evaluate(Angles(), [same])
    assert alone.mean_pearson is None
    flat = evaluate(Angles(), [angle_set(gold=[2, 2, 2])])
    assert "same gold score, 2" in flat.sets[0].note


def test_zero_vectors_have_cosine_0_and_are_counted() -> None:
    vocabulary = Vocabulary.of_words(["0", "30", "90"])
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    (row,) = evaluate(Model(vocabulary, vectors, Tokenizer("whitespace")), [angle_set()]).sets
    np.testing.assert_allclose(row.predictions, [1, 0.8, 0, 0, 0], atol=1e-6)
    assert row.n_empty == 2
    assert row.n_unknown == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: np.full((n, 2), np.nan), r"Fixed.encode returned NaN or infinity for 5 of 5 sentences, .*'0'"),
        (lambda n: np.zeros((n - 1, 2)), r"shape \(4, 2\) \(float64\) for 5 sentences; expected \(5, dim\)"),
        (lambda n: np.zeros(n), r"shape \(5,\)"),
        (lambda n: [["a"]] * n, "<U1"),
    ],
)
def test_misbehaving_systems_are_reported(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(Fixed(make), [angle_set()])


def test_no_sets() -> None:
    with pytest.raises(InputError, match="no sets"):
        evaluate(Angles(), [])


def test_bootstrap_gives_intervals_that_depend_on_the_seed_only() -> None:
    rng = np.random.default_rng(1)
    pairs = tuple(("0", str(angle)) for angle in rng.integers(0, 180, size=200))
    noisy = np.clip(5 * np.cos(np.deg2rad([int(b) for _, b in pairs])) + rng.normal(size=200), 0, 5)
    one, other = PairSet(2014, "a", pairs, noisy), angle_set("b")
    alone = evaluate(Angles(), [one], bootstrap=200).sets[0].intervals
    both = evaluate(Angles(), [other, one], bootstrap=200)
    assert both.sets[1].intervals == alone
    assert evaluate(Angles(), [one], bootstrap=200, seed=2).sets[0].intervals != alone
    for found, value in zip(alone, (both.sets[1].pearson, both.sets[1].spearman), strict=True):
        assert found is not None
        assert value is not None
        assert found.low < value < found.high
    assert both.aggregates[0].mean_pearson_interval is not None


def test_random_vectors_on_the_real_sets(shared_data: Path) -> None:
    """These figures reveal the paper's protocol: see docs/evaluation.md."""
    sets = sts(shared_data / "sts")
    official = evaluate(RandomVectors(), sets)
    assert official.mean_pearson == pytest.approx(0.4958, abs=0.0005)
    paper = evaluate(RandomVectors(), sets, protocol="paper")
    assert paper.mean_pearson == pytest.approx(0.41, abs=0.015)
    headlines = next(one for one in paper.sets if (one.year, one.dataset) == (2015, "headlines"))
    assert headlines.pearson == pytest.approx(0.2057, abs=0.01)
    assert headlines.spearman == pytest.approx(0.0726, abs=0.01)
    assert sum(one.n_pairs for one in paper.sets) + 750 == 17_608  # with 2013 SMT: the paper's count of pairs


# systems that can be named


def test_word_vector_files_follow_the_case_of_the_file(tmp_path: Path) -> None:
    vectors = np.eye(3, dtype=np.float32)
    write_word_vectors(tmp_path / "lower.txt", ["the", "cat", "paris"], vectors)
    write_word_vectors(tmp_path / "cased.bin", ["the", "The", "Paris"], vectors, binary=True)
    lower, cased = (open_system(str(tmp_path / name)) for name in ("lower.txt", "cased.bin"))
    np.testing.assert_array_equal(lower.encode(["The Paris", "zzz"]), [[0.5, 0, 0.5], [0, 0, 0]])
    np.testing.assert_array_equal(cased.encode(["The Paris"]), [[0, 0.5, 0.5]])
    kept = open_system(str(tmp_path / "lower.txt"), keep=words_of([angle_set()]) | {"cat"})
    assert isinstance(kept, Model)
    assert list(kept.vocabulary.words) == ["cat"]
    with pytest.raises(InputError, match="contains none of the requested words"):
        open_system(str(tmp_path / "lower.txt"), keep={"dog"})


def test_folders_are_recognised_by_their_content(tmp_path: Path) -> None:
    model = Model(Vocabulary.of_words(["the", "cat"]), np.eye(2, dtype=np.float32))
    model.save(tmp_path / "ours")
    assert open_system(str(tmp_path / "ours")) == model
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no readable model; expected `pretrained`, a folder of siamese-cbow"):
        open_system(str(tmp_path / "empty"))
    with pytest.raises(InputError, match=r"no model .*nothing; expected"):
        open_system(str(tmp_path / "nothing"))
    assert isinstance(open_system("random", seed=3), RandomVectors)


@pytest.mark.parametrize("modules", ["[]", '[{"type": "sentence_transformers.models.Transformer"}]'])
def test_a_missing_library_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: str) -> None:
    (tmp_path / "modules.json").write_text(modules)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"the extra interop .*pip install .*\[interop\]'"):
        open_system(str(tmp_path))


@pytest.mark.slow
def test_model2vec_and_sentence_transformers_models_by_path(tmp_path: Path) -> None:
    script = """
import sys
import numpy as np
from siamese_cbow.model.model import Model
from siamese_cbow.words.vocabulary import Vocabulary
from siamese_cbow.evaluation.systems import open_system
folder = sys.argv[1]
model = Model(Vocabulary.of_words(["the", "cat", "sat"]), np.random.default_rng(1).normal(size=(3, 4)).astype("f4"))
model.save(folder + "/ours")
from model2vec import StaticModel
StaticModel.from_pretrained(folder + "/ours").save_pretrained(folder + "/m2v")
from sentence_transformers import SentenceTransformer
SentenceTransformer(folder + "/ours", device="cpu").save(folder + "/st")
texts = ["the cat", "sat", "zzz"]
for name in ("m2v", "st"):  # tables of vectors, which need neither library
    system = open_system(folder + "/" + name)
    assert isinstance(system, Model), type(system)
    np.testing.assert_allclose(system.encode(texts), model.encode(texts), atol=1e-5)
from sentence_transformers.models import Dense
static = SentenceTransformer(folder + "/ours", device="cpu")[0]
dense = SentenceTransformer(modules=[static, Dense(4, 2)], device="cpu")
dense.save(folder + "/dense")
system = open_system(folder + "/dense")
assert isinstance(system, SentenceTransformer), type(system)
np.testing.assert_allclose(system.encode(texts), dense.encode(texts), atol=1e-5)
"""
    pytest.importorskip("model2vec")
    pytest.importorskip("sentence_transformers")
    # In a separate process: the libraries warn, and torch is slow to load.
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# the command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    year = tmp_path / "sts" / "2014"
    year.mkdir(parents=True)
    lines = ["a cat sat\ta cat sat down", "a dog\ta cat", "red wine\tblue sky", "one two three\tone two four", "x\tz"]
    for name in ("images", "headlines"):
        (year / f"STS.input.{name}.txt").write_text("\n".join(lines) + "\n")
        (year / f"STS.gs.{name}.txt").write_text("4.5\n2\n0\n3\n\n")
    words = sorted({word for line in lines for word in line.split()})
    vectors = np.random.default_rng(1).normal(size=(len(words), 5)).astype(np.float32)
    write_word_vectors(tmp_path / "words.vec", words, vectors)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["evaluate", *arguments], catch_exceptions=False)


def test_json_is_one_object_a_model(folder: Path) -> None:
    result = run(str(folder / "words.vec"), "random", "--sts", str(folder / "sts"), "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["model"] for row in rows] == ["words.vec", "random"]
    for row in rows:
        assert row["protocol"] == "official"
        assert {"mean_pearson", "mean_spearman"} <= row.keys()
        assert [(one["year"], one["dataset"], one["n_pairs"]) for one in row["sets"]] == [
            (2014, "headlines", 4),
            (2014, "images", 4),
        ]
        assert all({"pearson", "spearman", "n_words", "overlap", "n_unknown"} <= one.keys() for one in row["sets"])
    one = json.loads(run("random", "--sts", str(folder / "sts"), "--json", "--protocol", "paper").stdout)
    assert (one["protocol"], one["sets"][0]["n_pairs"]) == ("paper", 5)


def test_the_table_names_protocol_and_aggregates_and_marks_the_best(folder: Path) -> None:
    result = run(str(folder / "words.vec"), "--sts", str(folder / "sts"), "--details", "--bootstrap", "50")
    out = result.stdout
    for part in (
        "protocol official",
        "mean over 2 sets",
        "mean weighted by pairs",
        "pooled pairs",
        "words.vec",
        "random",
    ):
        assert part in out
    row = next(line for line in out.splitlines() if "2014 images" in line)
    assert row.count("*") == 1  # marks the best in a pipe; a terminal gets bold
    assert "overlap" in out
    assert "2014 OnWN is missing" in result.stderr
    assert "missing" not in out


def test_compare_prints_the_tests(folder: Path) -> None:
    arguments = (str(folder / "words.vec"), "random", "--sts", str(folder / "sts"), "--compare")
    out = run(*arguments).stdout
    assert "words.vec against random" in out
    assert "p Williams" in out
    *_, comparison = [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]
    assert (comparison["first"], comparison["second"]) == ("words.vec", "random")
    assert len(comparison["sets"]) == 2
    assert {"wilcoxon_p", "williams_p", "bootstrap_p", "interval", "dagger"} <= comparison["sets"][0].keys()
    assert run("random", "--compare").exit_code == 2


def test_a_narrow_terminal_gets_several_tables() -> None:
    noisy = angle_set(gold=[5, 1, 4, 2, 0.5])
    scores = [evaluate(Angles(), [noisy], name=name) for name in ("one", "two", "three")]
    scores[2] = evaluate(Fixed(lambda n: np.random.default_rng(1).normal(size=(n, 9))), [noisy], name="three")
    assert len(list(score_tables(scores, width=200))) == 1
    for width, expected in ((80, 2), (20, 3)):
        tables = list(score_tables(scores, width=width))
        assert len(tables) == expected
        names = [str(column.header) for table in tables for column in table.columns[2:]]
        assert names == ["one", "two", "three"]


def test_undefined_scores_are_reported(folder: Path) -> None:
    write_word_vectors(folder / "flat.vec", ["a", "red", "blue", "one"], np.ones((4, 2), dtype=np.float32))
    result = run(str(folder / "flat.vec"), "--no-random", "--sts", str(folder / "sts"))
    assert "undefined" in result.stdout
    assert "flat.vec, 2014 images: undefined: every pair has the same cosine" in result.stderr


def test_mistakes_end_with_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "random", "--sts", str(tmp_path / "nothing")])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("siamese-cbow: no folder")


def test_names_are_short_where_that_is_unambiguous() -> None:
    assert short_names(["models/a", "models/b", "random"]) == ["a", "b", "random"]
    assert short_names(["x/a", "y/a"]) == ["x/a", "y/a"]


def test_a_folder_is_not_a_set() -> None:
    model = Model(Vocabulary.of_words(["cat", "dog"]), np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match=r"expected a model: evaluate\(load\('pretrained'\), sets\)"):
        evaluate("pretrained", [])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"expected sets: evaluate\(model, sts\('data/sts'\)\)"):
        evaluate(model, "data/sts")  # type: ignore[arg-type]
    one = PairSet(2026, "mine", (("cat", "cat"), ("cat", "dog"), ("dog", "dog")), np.array([5.0, 1.0, 4.0]))
    assert evaluate(model, one).mean_pearson == evaluate(model, [one]).mean_pearson  # type: ignore[arg-type]
