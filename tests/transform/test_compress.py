"""Smaller models: what packing keeps, packed and unpacked agree in every bit, other libraries can read them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from siamese_cbow.cli import group
from siamese_cbow.errors import FormatError, SettingsError
from siamese_cbow.model import encoding
from siamese_cbow.model.geometry import cosines
from siamese_cbow.model.model import Model
from siamese_cbow.model.packed_rows import LARGEST_CODE, Dtype, PackedRows, packed
from siamese_cbow.model.storage import CONFIG, MODULES, TOKENIZER, VECTORS, load
from siamese_cbow.transform.compression import most_frequent, rotated
from siamese_cbow.words.vocabulary import Vocabulary

PACKED: tuple[Dtype, ...] = ("float16", "int8", "int4")


def toy(n_words: int = 50, dim: int = 7) -> Model:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(n_words, dim)).astype(np.float32)
    rows[3] = 0
    return Model(Vocabulary([f"w{i}" for i in range(n_words)], np.arange(n_words, 0, -1)), rows)


TEXTS = ["w1 w2 w3", "", "w3", "w49 nothing w0", " ".join(f"w{i % 50}" for i in range(700))]


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.floats(-100, 100, width=32)),
    st.sampled_from(PACKED),
)
def test_packing_keeps_each_number_within_half_a_step(vectors: np.ndarray, dtype: Dtype) -> None:
    rows = packed(vectors, dtype)
    assert isinstance(rows, PackedRows)
    assert rows.shape == vectors.shape
    step = np.abs(vectors).max(axis=1, keepdims=True) / LARGEST_CODE.get(dtype, 2**10)
    assert (np.abs(rows.unpacked - vectors) <= step * 0.501 + 1e-7).all()
    ids = [0, len(vectors) - 1, 0]
    np.testing.assert_array_equal(rows.take(ids, 0), rows.unpacked[ids])
    assert packed(rows.unpacked, "float32") is rows.unpacked


@pytest.mark.parametrize("dtype", PACKED)
def test_a_packed_model_is_its_unpacked_self(dtype: Dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = toy().compress(dtype)
    plain = Model(small.vocabulary, small.vectors, small.tokenizer)
    small.save(tmp_path / "small", int4=True)
    loaded = load(tmp_path / "small", verify=True)
    assert loaded == small == copy.copy(small)
    assert loaded != plain
    assert isinstance(loaded.rows, PackedRows)
    assert (loaded.dtype, loaded.dim) == (dtype, 7)
    assert "unpacked" not in vars(load(tmp_path / "small").rows)  # loading reads no vector
    for normalize in (False, True):
        expected = plain.encode(TEXTS, normalize_embeddings=normalize)
        np.testing.assert_array_equal(loaded.encode(TEXTS, normalize_embeddings=normalize), expected)
        with monkeypatch.context() as patch:
            patch.setattr(encoding, "MUCH_TEXT", 0)  # the bulk path
            bulk = load(tmp_path / "small").encode(TEXTS, normalize_embeddings=normalize)
        np.testing.assert_allclose(bulk, expected, rtol=3e-7, atol=1e-7)
        np.testing.assert_array_equal(loaded.encode(TEXTS, truncate_dim=3), plain.encode(TEXTS, truncate_dim=3))
    assert loaded.neighbours("w5", k=3) == plain.neighbours("w5", k=3)
    np.testing.assert_array_equal(loaded.vector("w5"), plain.vector("w5"))
    loaded.save(tmp_path / "again", int4=True)
    assert (tmp_path / "again" / VECTORS).read_bytes() == (tmp_path / "small" / VECTORS).read_bytes()


@pytest.mark.parametrize("dtype", ["float16", "int8", "int4"])
def test_other_libraries_give_the_same_vectors(dtype: Dtype, tmp_path: Path) -> None:
    model2vec, transformers = pytest.importorskip("model2vec"), pytest.importorskip("sentence_transformers")
    small = toy().compress(dtype, dim=5, words=40)
    small.save(tmp_path / "m")
    expected = small.encode(TEXTS, normalize_embeddings=True)
    found = model2vec.StaticModel.from_pretrained(tmp_path / "m").encode(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-3 if dtype == "float16" else 1e-6)
    other = transformers.SentenceTransformer(str(tmp_path / "m"), device="cpu")
    np.testing.assert_allclose(other.encode(TEXTS), expected, atol=1e-6)


def test_a_model_of_four_bits_says_nothing_to_other_libraries(tmp_path: Path) -> None:
    small = toy().compress("int4")
    small.save(tmp_path / "m", int4=True)
    assert not (tmp_path / "m" / TOKENIZER).exists()
    assert not (tmp_path / "m" / MODULES).exists()
    small.compress("float32").save(tmp_path / "m")  # in its place
    assert (tmp_path / "m" / TOKENIZER).exists()
    np.testing.assert_array_equal(load(tmp_path / "m").vectors, small.vectors)


def test_saved_with_four_bits_it_has_a_byte_per_number(tmp_path: Path) -> None:
    small = toy().compress("int4", words=40)
    small.save(tmp_path / "m")
    loaded = load(tmp_path / "m", verify=True)
    assert loaded.dtype == "int8"
    np.testing.assert_array_equal(loaded.vectors, small.vectors)
    assert loaded.info == small.info
    for flag, size in ((True, 4), (False, 7)):
        small.save(tmp_path / "m", int4=flag)
        assert load(tmp_path / "m").rows.codes.shape == (40, size)  # type: ignore[union-attr]
    toy().save(tmp_path / "m", int4=True)  # has more bits: saved as it is
    assert load(tmp_path / "m").dtype == "float32"


def test_rotation_keeps_cosines_and_puts_most_first() -> None:
    rng = np.random.default_rng(2)
    rows = (rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10)) + 0.01 * rng.normal(size=(200, 10))).astype(np.float32)
    np.testing.assert_allclose(cosines(rotated(rows, 10), rotated(rows, 10)), cosines(rows, rows), atol=1e-5)
    np.testing.assert_allclose(cosines(rotated(rows, 3), rotated(rows, 3)), cosines(rows, rows), atol=1e-2)
    np.testing.assert_allclose(rotated(rows @ np.eye(10, dtype=np.float32)[::-1], 3), rotated(rows, 3), atol=1e-3)


def test_words_by_count() -> None:
    assert most_frequent(np.array([5, 1, 5, 3]), 3).tolist() == [0, 2, 3]
    assert most_frequent(np.zeros(4, np.int64), 2).tolist() == [0, 1]
    small = toy().compress("int8", words=10)
    assert small.vocabulary.words[-1] == "w9"
    assert small.encode("w9").any()
    assert not small.encode("w10").any()
    assert small.compress(words=4).dtype == "int8"  # packed rows stay packed
    np.testing.assert_array_equal(small.compress(words=4).vectors, small.vectors[:4])


def test_info_says_what_it_was() -> None:
    small = toy().compress("int8").compress(dim=3).compress("int4", words=9)
    assert small.info["compression"] == {"from_dtype": "float32", "from_dim": 7, "from_words": 50}


def test_scores_of_other_rows_are_not_kept() -> None:
    model = Model(toy().vocabulary, toy().vectors, info={"data": "books", "scores": {"all": 0.7}})
    for other in (model.compress("int8"), model.compress(dim=3), model.postprocess(components=1)):
        assert "scores" not in other.info
        assert other.info["data"] == "books"


def test_a_language_of_a_packed_model() -> None:
    words = Vocabulary(["en:a", "en:b", "de:a"], np.array([3, 2, 1]), ("en", "de"))
    model = Model(words, np.eye(3, dtype=np.float32)).compress("int8")
    assert model.language("de").dtype == "int8"
    np.testing.assert_allclose(model.language("de").encode("a"), [0, 0, 1])


def test_settings_are_checked() -> None:
    for options in ({"dim": 8}, {"dim": 0}, {"words": 51}, {"words": 0}):
        with pytest.raises(SettingsError, match=f"{next(iter(options))} is "):
            toy().compress(**options)
    with pytest.raises(SettingsError, match="expected one of float32, float16, int8, int4"):
        toy().compress("int2")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="float16 ends at 65,504"):
        Model(Vocabulary.of_words(["a"]), np.full((1, 2), 1e6, np.float32)).compress("float16")


def test_a_config_that_names_another_dtype(tmp_path: Path) -> None:
    toy().compress("int8").save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / CONFIG).read_text())
    for dtype in ("float32", "float16", "int4", "int2", None, []):
        (tmp_path / "m" / CONFIG).write_text(json.dumps(config | {"embedding_dtype": dtype}))
        with pytest.raises(FormatError):
            load(tmp_path / "m")


def test_command(tmp_path: Path) -> None:
    toy().save(tmp_path / "m")
    result = CliRunner().invoke(
        group, ["compress", str(tmp_path / "m"), "-o", str(tmp_path / "s"), "--dtype", "int8", "--dim", "4"]
    )
    assert result.exit_code == 0, result.output
    assert "50 x 7 float32, 0.0 MB -> 50 x 4 int8" in result.output
    assert "only siamese-cbow" not in result.output
    assert load(tmp_path / "s") == toy().compress("int8", dim=4)


def test_command_says_who_reads_four_bits(tmp_path: Path) -> None:
    toy().save(tmp_path / "m")
    result = CliRunner().invoke(group, ["compress", str(tmp_path / "m"), "-o", str(tmp_path / "s"), "--dtype", "int4"])
    assert result.exit_code == 0, result.output
    assert "only siamese-cbow reads int4; for sentence-transformers and model2vec, add --dtype int8" in result.stderr
    assert load(tmp_path / "s").dtype == "int4"
