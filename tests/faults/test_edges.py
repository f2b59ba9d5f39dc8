"""Edge cases of words and texts: every result is defined and finite. Rates and dimensions: training/test_numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from readers import described

import siamese_cbow as sc
from siamese_cbow.errors import FormatError, InputError, SettingsError, SiameseCBOWError
from siamese_cbow.model import encoding

WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran"]


def model_of(rows: np.ndarray) -> sc.Model:
    return sc.Model(sc.Vocabulary.of_words(WORDS[: len(rows)]), rows.astype(np.float32))


def stream_of(*sentences: str) -> sc.Stream:
    return sc.Stream.of_words([[sentence.split() for sentence in sentences]] * 4)


def test_words_without_a_direction() -> None:
    rows = np.random.default_rng(1).standard_normal((8, 6))
    rows[1] = 0  # cat
    model = model_of(rows)
    for normalize in (False, True):
        vectors = model.encode(["cat", "cat cat", "", "zzz", "the cat"], normalize_embeddings=normalize)
        assert not vectors[:4].any()
        assert vectors[4].any()
        assert np.isfinite(vectors).all()
    assert model.similarity("cat", "the") == 0
    assert model.similarity("", "") == 0
    assert all(np.isfinite(cosine) for _, cosine in model.neighbours("the", 7))
    with pytest.raises(InputError, match="a zero vector, which has no neighbours"):
        model.neighbours("cat", 3)


def test_words_that_cancel() -> None:
    model = model_of(np.array([[1.0, 2.0], [-1.0, -2.0], [0.5, 0.5]]))
    assert not model.encode("the cat").any()
    assert model.similarity("the cat", "sat") == 0
    assert sc.search("sat", sc.Texts(["the cat", "sat"]), model=model, k=5)[0].text == "sat"


def test_huge_and_tiny_rows() -> None:
    for scale in (1e-38, 1e-30, 1e30):
        model = model_of(np.array([[1.0, 0.5], [1.0, 0.4], [-1.0, 0.3]]) * scale)
        unit = model.encode(["the cat", "sat"], normalize_embeddings=True)
        assert np.isfinite(unit).all()
        assert np.isfinite(model.similarity("the", "cat"))
        assert model.similarity("the", "cat") > 0.9
    with pytest.raises(InputError, match="beyond"):
        model_of(np.array([[1e38, 0.5]]))


@pytest.mark.parametrize(
    "sentences", [["cat"] * 4, ["cat cat cat"] * 4, ["the cat", "cat", "the"], ["a", "a a", "a a a"]]
)
def test_sentences_of_one_word_and_repeated_ones(sentences: list[str]) -> None:
    try:
        model = sc.SiameseCBOW(dim=3, epochs=1, batch_size=8, subsample=0).train(stream_of(*sentences), threads=1)
    except SiameseCBOWError as error:
        assert ";" in str(error)  # noqa: PT017 (says what to do)
        return
    assert np.isfinite(np.asarray(model.vectors)).all()
    vectors = model.encode([*sentences, " ".join(sentences)])
    assert np.isfinite(vectors).all()


def test_a_vocabulary_of_one_word() -> None:
    model = model_of(np.array([[0.5, -1.0]]))
    assert model.similarity("the", "the the") == pytest.approx(1)
    assert model.neighbours("the", 3) == []
    assert [hit.line for hit in sc.search("the", sc.Texts(["zzz", "the"]), model=model, k=2)] == [2]
    with pytest.raises((InputError, SettingsError)):
        sc.SiameseCBOW(dim=2, epochs=1, batch_size=8, subsample=0).train(sc.Stream.of_words([[["the"]]]), threads=1)


def test_a_sentence_of_a_million_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of encoding give the same bits, and those of the mean."""
    rows = np.random.default_rng(1).standard_normal((8, 4))
    model = model_of(rows)
    text = "the cat sat on mat a dog ran zzz " * 111_112
    bulk = model.encode([text, "the cat"])
    monkeypatch.setattr(encoding, "is_much", lambda *_: False)
    small = model.encode([text, "the cat"])
    np.testing.assert_array_equal(bulk, small)
    np.testing.assert_allclose(bulk[0], rows.astype(np.float32).mean(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_foreign_model_with_nan_and_infinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: float) -> None:
    """Its rows are mapped, not read, so nothing checks them first; still no vector contains NaN."""
    model_of(np.random.default_rng(1).standard_normal((8, 4))).save(tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    data = bytearray(path.read_bytes())
    first = 8 + int.from_bytes(data[:8], "little")
    data[first : first + 4] = np.float32(number).tobytes()  # of "the"
    path.write_bytes(data)
    described(path)
    model = sc.load(tmp_path / "m")
    for much in (False, True):
        monkeypatch.setattr(encoding, "is_much", lambda *_, much=much: much)
        assert np.isfinite(model.encode(["cat sat", "", "dog"])).all()
        for normalize in (False, True):
            with pytest.raises(FormatError, match="NaN or infinity"), np.errstate(invalid="ignore"):
                model.encode(["cat", "the cat"], normalize_embeddings=normalize)
    with pytest.raises(FormatError, match="NaN or infinity"), np.errstate(invalid="ignore"):
        model.similarity("the", "cat")
