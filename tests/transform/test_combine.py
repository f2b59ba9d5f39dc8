"""Several models combined into one: what is kept, what averages out, and what doesn't fit together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from siamese_cbow import Model, Vocabulary, combine, load
from siamese_cbow.cli import group
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.words.tokenizer import Tokenizer

N_WORDS, DIM = 60, 6
COUNTS = np.arange(N_WORDS, 0, -1)
VOCABULARY = Vocabulary([f"w{i}" for i in range(N_WORDS)], COUNTS)
TEXTS = [" ".join(f"w{i}" for i in row) for row in np.random.default_rng(0).integers(0, N_WORDS, (30, 5))]


def model(seed: int, *, scale: float = 1, noise: float = 1) -> Model:
    """What all seeds agree on plus noise of this seed, in a basis of its own."""
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(99).standard_normal((N_WORDS, DIM))
    basis = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    rows = scale * (shared + noise * rng.standard_normal((N_WORDS, DIM))) @ basis
    return Model(VOCABULARY, rows.astype(np.float32), info={"recipe": {"name": "toy", "seed": seed}})


def cosines(of: Model) -> np.ndarray:
    return np.asarray(of.similarity_pairwise(TEXTS[:15], TEXTS[15:]))


def test_with_all_dimensions_each_part_weighs_the_same():
    one, two = model(1), model(2, scale=7)
    together = combine([one, two], dim=2 * DIM)
    rows = [part.vectors / np.sqrt((COUNTS @ (part.vectors**2).sum(1)) / COUNTS.sum()) for part in (one, two)]
    side_by_side = Model(VOCABULARY, np.concatenate(rows, axis=1).astype(np.float32))
    np.testing.assert_allclose(cosines(together), cosines(side_by_side), atol=1e-5)


def test_a_part_of_weight_2_counts_as_much_as_four_parts():
    one, two = model(1), model(2)
    weighted = combine([one, two], dim=2 * DIM, weights=[2, 1])
    np.testing.assert_allclose(cosines(weighted), cosines(combine([one] * 4 + [two], dim=5 * DIM)), atol=1e-5)
    assert [part.get("weight") for part in weighted.info["combined"].values()] == [2, None]


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, -1], [1, float("nan")], [1, float("inf")], []])
def test_weights_that_fit_no_models(weights):
    with pytest.raises(SettingsError, match="expected one number above 0 for each"):
        combine([model(1), model(2)], weights=weights)


def test_whitening_makes_dimensions_equally_strong_and_keeps_lengths():
    parts = [model(seed) for seed in (1, 2)]
    plain, half, whole = (combine(parts, whiten=share) for share in (0, 0.5, 1))

    def ratio(of: Model) -> float:
        strengths = COUNTS @ of.vectors.astype(np.float64) ** 2
        return float(strengths.max() / strengths.min())

    assert ratio(plain) > ratio(half) > ratio(whole)
    for one in (half, whole):
        lengths = (np.linalg.norm(of.vectors, axis=1) for of in (plain, one))
        np.testing.assert_allclose(*lengths, rtol=1e-5)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(SettingsError, match="expected a number from 0 to 1"):
            combine(parts, whiten=share)


def test_chance_evens_out():
    truth = cosines(model(0, noise=0))
    parts = [model(seed) for seed in range(1, 9)]
    together = combine(parts)
    assert together.dim == DIM
    alone = [np.corrcoef(cosines(part), truth)[0, 1] for part in parts]
    assert np.corrcoef(cosines(together), truth)[0, 1] > max(alone)


def test_one_model_is_turned_but_the_same():
    one = model(1)
    np.testing.assert_allclose(cosines(combine([one])), cosines(one), atol=1e-5)


def test_a_word_that_parts_disagree_on_keeps_its_weight():
    parts = [model(seed, noise=3) for seed in range(1, 9)]
    whole, small = combine(parts, dim=8 * DIM), combine(parts)
    lengths = (np.linalg.norm(one.vectors, axis=1) for one in (whole, small))
    np.testing.assert_allclose(*lengths, rtol=1e-5)


def test_info_says_what_all_share_and_what_each_had_alone():
    info = combine([model(1), model(2)]).info
    assert info["recipe"] == {"name": "toy"}
    assert info["combined"] == {"model 1": {"recipe": {"seed": 1}}, "model 2": {"recipe": {"seed": 2}}}


def test_facts_about_the_rows_of_the_parts_are_dropped():
    made = [model(seed) for seed in (1, 2)]
    parts = [Model(part.vocabulary, part.vectors, info={"scores": {"all": 0.7}}) for part in made]
    combined = combine([part.compress("int8") for part in parts])
    assert "scores" not in combine(parts).info
    assert "scores" not in combined.info
    assert "compression" not in combined.info
    assert combined.info["combined"]["model 2"]["compression"]["from_dtype"] == "float32"


def test_rows_of_zeros_stay_zeros():
    nothing = Model(VOCABULARY, np.zeros((N_WORDS, DIM), np.float32))
    assert not combine([nothing, nothing]).vectors.any()


def test_models_that_do_not_fit():
    one = model(1)
    with pytest.raises(InputError, match="expected a list of one or more models"):
        combine([])
    with pytest.raises(InputError, match="model 2 has other words"):
        combine([one, Model(Vocabulary(["a"], np.array([1])), np.ones((1, DIM), np.float32))])
    with pytest.raises(InputError, match="model 2 tokenises differently"):
        combine([one, Model(VOCABULARY, one.vectors, Tokenizer(lowercase=False))])
    for dim in (-1, 2 * DIM + 1):
        with pytest.raises(SettingsError, match=f"dim is {dim}; expected 1 to 12"):
            combine([one, one], dim=dim)


def test_the_command(tmp_path: Path):
    for seed in (1, 2):
        model(seed).save(tmp_path / str(seed))
    folders = [str(tmp_path / "1"), str(tmp_path / "2")]
    run = CliRunner().invoke(group, ["combine", *folders, "-o", str(tmp_path / "both"), "--dim", "8"])
    assert run.exit_code == 0, run.output
    assert "60 words, 6 + 6 -> 8 dimensions" in run.output
    assert load(tmp_path / "both") == combine([load(folder) for folder in folders], dim=8)
    weights = ["--weight", "1", "--weight", "0.5", "--whiten", "0.3"]
    run = CliRunner().invoke(group, ["combine", *folders, "-o", str(tmp_path / "weighted"), *weights])
    assert run.exit_code == 0, run.output
    assert load(tmp_path / "weighted") == combine([load(folder) for folder in folders], weights=[1, 0.5], whiten=0.3)


def test_only_a_list_of_models_is_combined() -> None:
    model = Model(Vocabulary.of_words(["cat"]), np.ones((1, 2), np.float32))
    for models in ([], model, "models/1"):
        with pytest.raises(InputError, match="expected a list of one or more models"):
            combine(models)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the model is None"):
        combine([model, None])  # type: ignore[list-item]
