"""Adapting to texts of one kind: equal to the steps written out, undone, in evaluation, on the command line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import siamese_cbow as sc
from siamese_cbow.cli import group
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.evaluate import evaluate, held_out_parts
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.scores import ADAPTED
from siamese_cbow.evaluation.significance import compare
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load
from siamese_cbow.transform.adaptation import evened, scaled_along, shares_of, some_of, word_weights
from siamese_cbow.words.vocabulary import Vocabulary

DIM, N_WORDS = 6, 40
RNG = np.random.default_rng(1)
WORDS = [f"w{i}" for i in range(N_WORDS)]
TEXTS = [" ".join(RNG.choice(WORDS[:25], RNG.integers(1, 9))) for _ in range(300)]


@pytest.fixture
def model() -> Model:
    rows = np.random.default_rng(2).normal(0.3, 1, (N_WORDS, DIM)).astype(np.float32)
    return Model(Vocabulary(WORDS, np.arange(N_WORDS, 0, -1) ** 2), rows, info={"scores": {"all": 0.7}})


def written_out(model: Model, texts: list[str]) -> Any:
    """The vectors of the texts by the formulas in the docs, one text after another."""
    shares = model.vocabulary.counts / model.vocabulary.counts.sum()
    counts = np.zeros(N_WORDS)
    known = [[WORDS.index(word) for word in text.split() if word in WORDS] for text in texts]
    for ids in known:
        np.add.at(counts, ids, 1)
    together = (counts + 10_000 * shares) / (counts.sum() + 10_000)
    weights = np.sqrt(np.log(1 + 1 / together) / np.log(1 + 1 / shares))
    rows = model.vectors.astype(np.float64) * weights[:, None]
    vectors = np.array([rows[ids].mean(axis=0) if ids else np.zeros(DIM) for ids in known])
    strengths, directions = np.linalg.eigh(vectors.T @ vectors)
    n = sum(map(bool, known))
    factors = 1 / np.sqrt(1 + 0.2 * n / (n + 3000) * strengths / strengths.mean())
    return vectors @ directions @ np.diag(factors) @ directions.T


def test_it_is_what_is_written_down(model: Model) -> None:
    texts = [*TEXTS, "", "nothing known", "w1 and unknown w2"]
    np.testing.assert_allclose(model.adapt(texts).encode(texts), written_out(model, texts), atol=1e-5)


def test_words_and_directions_of_the_texts_count_for_less() -> None:
    model = sc.load()
    news = [
        f"reuters reports on Monday: {text}" for text in ("a storm", "new taxes", "the cup final", "a strike")
    ] * 200
    a, b = "reuters reports on Monday: floods", "reuters reports on Monday: the election"
    adapted = model.adapt(news)
    assert adapted.similarity(a, b) < model.similarity(a, b) - 0.1
    rows, before = adapted.vectors, model.vectors
    lengths = np.linalg.norm(rows, axis=1) / np.linalg.norm(before, axis=1)
    assert lengths[model.vocabulary.index["reuters"]] < 0.8 * np.median(lengths)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_weights_fall_with_the_share_in_the_texts(pairs: list[tuple[int, int]]) -> None:
    counts, found = np.array(pairs).T
    shares = shares_of(counts)
    assert shares is not None
    weights = word_weights(shares, found)
    assert np.isfinite(weights).all()
    assert (weights > 0).all()
    grown = found / max(1, found.sum()) > shares
    assert (weights[grown] <= 1).all()
    np.testing.assert_allclose(word_weights(shares, np.zeros_like(found)), 1)


def test_weights_of_an_example() -> None:
    shares, counts = np.array([0.001, 0.999]), np.array([1990, 8010])  # with a prior of 10,000: 1 in 10
    assert word_weights(shares, counts)[0] == pytest.approx((np.log(11) / np.log(1001)) ** 0.5)
    assert shares_of(np.zeros(3, np.int64)) is None


@given(st.integers(0, 10**7), st.integers(2, 8))
def test_the_strongest_directions_are_scaled_down_the_most(n_texts: int, dim: int) -> None:
    rows = np.random.default_rng(dim).normal(size=(50, dim)) * np.arange(1, dim + 1)
    directions, factors = evened(rows.T @ rows, n_texts)
    np.testing.assert_allclose(directions @ directions.T, np.eye(dim), atol=1e-9)
    strengths = ((rows @ directions.T) ** 2).sum(axis=0)
    assert (np.diff(factors[np.argsort(strengths)]) <= 0).all()
    assert (factors <= 1).all()
    assert (factors >= (1 + 0.2 * dim) ** -0.5).all()
    assert n_texts > 0 or (factors == 1).all()


def test_nothing_to_even_out() -> None:
    directions, factors = evened(np.zeros((3, 3)), 100)
    assert (factors == 1).all()
    vectors = RNG.normal(size=(5, 3)).astype(np.float32)
    np.testing.assert_allclose(scaled_along(vectors, directions, factors), vectors, atol=1e-6)


def test_undone_saved_and_done_again(model: Model, tmp_path: Path) -> None:
    adapted = model.adapt(TEXTS)
    assert adapted.info["postprocessing"] == {"adapted_to": {"texts": 300, "words": len(" ".join(TEXTS).split())}}
    assert "scores" not in adapted.info
    np.testing.assert_allclose(adapted.without_postprocessing().vectors, model.vectors, atol=1e-5)
    adapted.save(tmp_path / "adapted")
    again = load(tmp_path / "adapted")
    assert again == adapted
    np.testing.assert_allclose(again.adapt(TEXTS[:50]).vectors, model.adapt(TEXTS[:50]).vectors, atol=1e-5)
    with pytest.raises(InputError, match="can't be undone"):
        adapted.compress("int8").adapt(TEXTS)
    with pytest.raises(InputError, match="already post-processed"):
        model.postprocess(components=1).adapt(TEXTS)
    with pytest.raises(InputError, match="already post-processed"):
        adapted.postprocess(components=1)


def test_unknown_words_are_undone_too(model: Model) -> None:
    """Their vectors were fitted to other rows than the model's, as in a model that was compressed since."""
    words = Vocabulary([*WORDS[:-1], "playful"], model.vocabulary.counts)
    other = Model(words, 3 * model.vectors, info={"unknown_words": "ngrams"})
    given = Model(words, model.vectors, info={"unknown_words": "ngrams"}, ngrams=other.ngrams)
    undone = given.adapt(TEXTS).without_postprocessing()
    a, b = given.encode("playfully"), undone.encode("playfully")
    assert given.similarity(a, b) > 0.9  # low-bit numbers, rounded twice
    assert np.linalg.norm(b) == pytest.approx(np.linalg.norm(a), rel=0.1)  # refitted, it would be a third


def test_the_same_bytes_whatever_the_texts_come_as(model: Model) -> None:
    first = model.adapt(TEXTS)
    assert first == model.adapt(iter(TEXTS)) == model.adapt(tuple(TEXTS))
    assert first == model.adapt(["", *TEXTS, "unknown words only"])


def test_words_without_counts_keep_their_weights(model: Model) -> None:
    plain = Model(Vocabulary.of_words(WORDS), model.vectors)
    undo = plain.adapt(TEXTS).undo
    assert undo is not None
    assert (undo.weights == 1).all()
    assert (undo.factors < 1).all()


def test_rows_of_zeros_stay_zeros(model: Model) -> None:
    nothing = Model(model.vocabulary, np.zeros((N_WORDS, DIM), np.float32))
    assert not nothing.adapt(TEXTS).vectors.any()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("w1 w2", "adapt got one text, 'w1 w2'; expected many"),
        ([], "there is no text to adapt to"),
        (["nothing", "known here"], "none of 2 texts has a word with a vector"),
        (["w1", None], "text 1 is None"),
        (7, "can't encode 7"),
    ],
)
def test_bad_texts(model: Model, texts: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        model.adapt(texts)


def test_ids_of_texts(model: Model) -> None:
    ids, offsets = model.ids(["w3 w3", "?", "a w1"])
    assert ids.tolist() == [3, 3, 1]
    assert offsets.tolist() == [0, 2, 2, 3]
    many = TEXTS * 40  # several batches
    ids, offsets = model.ids(many)
    assert [WORDS[i] for i in ids] == " ".join(many).split()
    assert len(offsets) == len(many) + 1
    assert model.ids([])[1].tolist() == [0]


def test_a_sample_of_many_texts() -> None:
    assert some_of(["a", "b"], most=2) == ["a", "b"]
    texts = [str(i) for i in range(1000)]
    chosen = some_of(texts, most=100)
    assert len(set(chosen)) == 100
    assert chosen == some_of(iter(texts), most=100) != some_of(texts, most=100, seed=2)
    drawn = np.mean([int(text) for seed in range(30) for text in some_of(texts, most=100, seed=seed)])
    assert 450 < drawn < 550  # drawn evenly from the whole input


# evaluation


def pair_set(n: int = 40) -> PairSet:
    rng = np.random.default_rng(3)
    pairs = tuple((" ".join(rng.choice(WORDS, 4)), " ".join(rng.choice(WORDS, 4))) for _ in range(n))
    return PairSet(2014, "toy", (*pairs, pairs[0]), rng.uniform(0, 5, n + 1))


class OnlyVectors:
    """Any other system: only its vectors are known."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def encode(self, sentences: list[str]) -> Any:
        return self._model.encode(sentences)


def test_evaluation_adapts_as_the_model_does(model: Model) -> None:
    pairs = pair_set()
    adapted = model.adapt([text for pair in pairs.pairs for text in pair])
    found, expected = evaluate(model, [pairs], adapt="set"), evaluate(adapted, [pairs])
    np.testing.assert_allclose(found.sets[0].predictions, expected.sets[0].predictions, atol=1e-5)
    assert found.conditions == "protocol official, adapted to the sentences of each set"
    assert found.to_dict()["adapted"] == "set"
    assert "adapted to the sentences" in found._repr_html_()
    assert not np.allclose(found.sets[0].predictions, evaluate(model, [pairs]).sets[0].predictions, atol=1e-3)


def test_evaluation_starts_from_the_model_before(model: Model) -> None:
    pairs = pair_set()
    found, expected = (evaluate(one, [pairs], adapt="set").sets[0] for one in (model.adapt(TEXTS), model))
    np.testing.assert_allclose(found.predictions, expected.predictions, atol=1e-5)
    with pytest.raises(InputError, match="already post-processed"):
        evaluate(model.postprocess(components=1), [pairs], adapt="set")


def test_a_set_without_known_words_is_undefined(model: Model) -> None:
    pairs = PairSet(2014, "strange", (("a", "b"), ("c", "d"), ("e", "f")), np.array([1.0, 2.0, 3.0]))
    for system in (model, OnlyVectors(model)):
        for how in ADAPTED:
            (row,) = evaluate(system, [pairs], adapt=how).sets
            assert row.pearson is None
            assert row.n_empty == 3


def test_any_other_system_has_its_directions_evened_out(model: Model) -> None:
    pairs, without_counts = pair_set(), Model(Vocabulary.of_words(WORDS), model.vectors)
    found = evaluate(OnlyVectors(model), [pairs], adapt="set")
    expected = evaluate(without_counts, [pairs], adapt="set")
    np.testing.assert_allclose(found.sets[0].predictions, expected.sets[0].predictions, atol=1e-5)


def test_held_out_sentences_are_never_learnt_from(model: Model) -> None:
    pairs = pair_set()
    texts = [text for pair in pairs.pairs for text in pair]
    seen = 0
    for learnt_from, scored in held_out_parts(texts, np.random.default_rng(1)):
        own, others = ({texts[i] for i in np.flatnonzero(chosen)} for chosen in (scored, learnt_from))
        assert own | others == set(texts)
        assert not own & others
        assert scored[::2].tolist() == scored[1::2].tolist()
        seen += scored.astype(int)
    assert (np.asarray(seen) == 1).all()
    found = evaluate(model, [pairs], adapt="held-out")
    assert found.conditions == "protocol official, adapted to other sentences of each set"
    assert len(found.sets[0].predictions) == len(pairs.pairs)
    assert np.isfinite(found.sets[0].predictions).all()
    assert found.sets[0].predictions[0] == pytest.approx(evaluate(model, [pairs]).sets[0].predictions[0], abs=0.2)
    assert evaluate(model, [pair_set(3)], adapt="held-out").sets[0].pearson is not None


def test_what_was_adapted_is_not_compared_with_what_was_not(model: Model) -> None:
    pairs = pair_set()
    with pytest.raises(InputError, match="were evaluated differently"):
        compare(evaluate(model, [pairs]), evaluate(model, [pairs], adapt="set"))
    with pytest.raises(SettingsError, match="adapt is 'all'; expected one of no, set, held-out"):
        evaluate(model, [pairs], adapt="all")  # type: ignore[arg-type]


# the command line


def run(*arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(group, ["adapt", *arguments], input=text, catch_exceptions=False)


def test_the_command(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", "utf-8")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(("\n".join(TEXTS) + "\n").encode()))
    options = ("--model", str(tmp_path / "model"), "-o")
    done = run(str(tmp_path / "texts.txt"), *options, str(tmp_path / "a"))
    assert done.stdout == f"{tmp_path / 'a'}\n"
    assert done.stderr == f"adapted to 300 texts with {len(' '.join(TEXTS).split()):,} known words\n"
    run(str(tmp_path / "packed.gz"), *options, str(tmp_path / "b"))
    run("-", *options, str(tmp_path / "c"), text="\n".join(TEXTS))
    assert load(tmp_path / "a") == load(tmp_path / "b") == load(tmp_path / "c") == model.adapt(TEXTS)
    small = run(str(tmp_path / "texts.txt"), *options, str(tmp_path / "d"), "--dtype", "int8")
    assert small.exit_code == 0
    assert load(tmp_path / "d").dtype == "int8"


def test_a_small_model_stays_small(model: Model, tmp_path: Path) -> None:
    model.compress("int4").save(tmp_path / "model", int4=True)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), "utf-8")
    options = (str(tmp_path / "texts.txt"), "--model", str(tmp_path / "model"), "-o")
    run(*options, str(tmp_path / "a"), "--dtype", "int4")
    assert load(tmp_path / "a").dtype == "int4"
    run(*options, str(tmp_path / "b"))  # so that other libraries can read it
    assert load(tmp_path / "b").dtype == "int8"
    np.testing.assert_array_equal(load(tmp_path / "b").vectors, load(tmp_path / "a").vectors)


@pytest.mark.parametrize("text", ["", "nothing known\n"])
def test_the_command_leaves_nothing_behind(model: Model, tmp_path: Path, text: str) -> None:
    model.save(tmp_path / "model")
    with pytest.raises(InputError, match=r"has a word with a vector|no text to adapt to"):
        run("-", "--model", str(tmp_path / "model"), "-o", str(tmp_path / "a"), text=text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_name_is_not_a_model() -> None:
    for of in (sc.adapt, sc.compress, sc.postprocess, sc.without_postprocessing):
        with pytest.raises(
            InputError, match=r"the model is 'pretrained' \(str\); expected a model: sc\.load\('pretrained'\)"
        ):
            of("pretrained", *([["a text"]] if of is sc.adapt else []))  # type: ignore[operator]
