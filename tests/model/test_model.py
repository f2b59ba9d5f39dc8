"""The model: what `encode` returns on both paths for good, odd and broken input; cosines and neighbours."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siamese_cbow as sc
from siamese_cbow import InputError, Model, SettingsError, Tokenizer, Vocabulary
from siamese_cbow.kernels.means import means
from siamese_cbow.kernels.means_reference import GROUP, mean_of_rows, unit
from siamese_cbow.model import encoding
from siamese_cbow.progress import SILENT

WORDS = ["the", "cat", "sat", "dog", "n't", "don't", "café", "日", "🎈", "3.14", ",", "of", "σ", "i̇stanbul"]


def toy(dim: int = 3, words: list[str] | None = None, seed: int = 0) -> Model:
    words = words or WORDS
    vectors = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32)
    return Model(Vocabulary.of_words(words), vectors)


@pytest.fixture
def plain() -> Model:
    """A model whose means can be computed by hand."""
    vectors = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [-2, 0]], np.float32)
    return Model(Vocabulary.of_words(["east", "north", "between", "nowhere", "west"]), vectors)


@pytest.fixture
def bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call takes the bulk path."""
    monkeypatch.setattr(encoding, "MUCH_TEXT", -1)


# encode


def test_mean_of_known_words(plain: Model) -> None:
    np.testing.assert_array_equal(plain.encode("East north, unheard-of"), np.float32([0.5, 0.5]))
    np.testing.assert_array_equal(
        plain.encode(["east east north west", "", "?"]), np.float32([[0, 0.25], [0, 0], [0, 0]])
    )


def test_shapes_and_types(plain: Model) -> None:
    for given_, shape in (
        ("east", (2,)),
        (["east"], (1, 2)),
        ([], (0, 2)),
        (("east", "west"), (2, 2)),
        (iter([]), (0, 2)),
    ):
        vectors = plain.encode(given_)
        assert vectors.shape == shape
        assert vectors.dtype == np.float32
        assert plain.encode(given_ if isinstance(given_, str) else list(given_), truncate_dim=1).shape[-1] == 1


def test_normalize_and_truncate(plain: Model) -> None:
    np.testing.assert_allclose(plain.encode("east north", normalize_embeddings=True), [0.5**0.5] * 2, rtol=1e-6)
    np.testing.assert_array_equal(
        plain.encode(["west", "nowhere", ""], truncate_dim=1, normalize_embeddings=True), [[-1], [0], [0]]
    )
    np.testing.assert_array_equal(plain.encode("north", truncate_dim=1, normalize_embeddings=True), [0])


def test_columns_and_iterators(plain: Model) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    texts = ["east", "north west", "", "between"]
    expected = plain.encode(texts)
    columns: list[Any] = [
        tuple(texts),
        (text for text in texts),
        np.array(texts),
        np.array(texts, object),
        pandas.Series(texts, index=[7, 5, 3, 1]),
        pandas.Series(texts, dtype="string"),
        pyarrow.array(texts),
        pyarrow.chunked_array([texts[:1], texts[1:]]),
        np.array([texts], object).T,
        pandas.DataFrame({"text": texts}),
        pyarrow.table({"text": texts}),
    ]
    for column in columns:
        np.testing.assert_array_equal(plain.encode(column), expected)
    np.testing.assert_array_equal(plain.encode(sentences=texts), expected)
    np.testing.assert_array_equal(plain.encode(inputs=texts), expected)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (["east", None], "text 1 is None (NoneType)"),
        ([float("nan")], "text 0 is nan (float)"),
        (["east", b"west"], "text 1 is b'west' (bytes)"),
        ([["east"]], "text 0 is ['east'] (list)"),
        (b"east", "b'east' (bytes)"),
        (3, "3 (int)"),
        ({"east": 1}, "(dict)"),
        (np.array("east"), "(ndarray)"),
        (np.array([["east", "west"]]), "a table of shape (1, 2); pass its text column: table['text']"),
        (None, "None"),
    ],
)
def test_what_is_no_text(plain: Model, broken: Any, named: str) -> None:
    with pytest.raises(InputError) as error:
        plain.encode(broken)
    assert named in str(error.value)


def test_options_that_make_no_sense(plain: Model) -> None:
    for options in ({"truncate_dim": 0}, {"truncate_dim": 3}, {"truncate_dim": 1.5}, {"batch_size": 0}, {"threads": 0}):
        with pytest.raises(SettingsError, match=f"{next(iter(options))} is "):
            plain.encode(["east"], **options)
    with pytest.raises(InputError, match="both"):
        plain.encode("east", inputs="west")


def test_tensors(plain: Model) -> None:
    torch = pytest.importorskip("torch")
    rows = plain.encode(["east", "west"], convert_to_numpy=False)
    assert [tuple(row.shape) for row in rows] == [(2,), (2,)]
    assert torch.equal(plain.encode("west", convert_to_numpy=False), torch.tensor([-2.0, 0.0]))


def test_progress_bar_goes_to_standard_error(plain: Model, capfd: pytest.CaptureFixture[str]) -> None:
    plain.encode(["east"] * 3, show_progress_bar=True)
    assert capfd.readouterr().out == ""


# the two paths

texts = st.lists(
    st.one_of(
        st.lists(
            st.sampled_from([*WORDS, "THE", "blorf", "’", "\n", "\x00", "\ud800", "Σ", "İstanbul"]), max_size=12
        ).map(" ".join),
        st.text(max_size=30),
        st.text(st.characters(codec=None), max_size=10),
    ),
    max_size=8,
)


@given(
    texts=texts,
    dim=st.sampled_from([1, 2, 3, 8, 37]),
    normalize=st.booleans(),
    batch_size=st.integers(1, 9),
    data=st.data(),
)
def test_paths_agree(texts: list[str], dim: int, normalize: bool, batch_size: int, data: st.DataObject) -> None:
    model = toy(dim)
    kept = data.draw(st.integers(1, dim))
    encoder = encoding.Encoder(model.vocabulary, model.vectors, model.tokenizer)
    small = encoder.many(texts, dim=kept, normalize=normalize)
    encoder.warm()
    for threads in (1, 2):
        bulk = encoder.many(
            texts, dim=kept, normalize=normalize, batch_size=batch_size, threads=threads, progress=SILENT
        )
        assert bulk.shape == small.shape == (len(texts), kept)
        if normalize:
            np.testing.assert_allclose(bulk, small, rtol=0, atol=1e-7)
        else:
            np.testing.assert_array_equal(bulk, small)
    assert np.isfinite(small).all()
    for text, row in zip(texts, small, strict=True):
        np.testing.assert_array_equal(model.encode(text, truncate_dim=kept, normalize_embeddings=normalize), row)


@pytest.mark.parametrize("dim", [1, 2, 7, 64, 300])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 7])
def test_kernel_equals_reference_in_every_bit(dim: int, n: int) -> None:
    rng = np.random.default_rng(n)
    vectors = (rng.standard_normal((50, dim)) * 10.0 ** rng.integers(-9, 9, (50, 1))).astype(np.float32)
    ids = rng.integers(0, 50, n).astype(np.int32)
    out = np.full((2, dim), np.nan, np.float32)
    means(vectors, ids, np.array([0, n, n]), False, out)
    np.testing.assert_array_equal(out[0], mean_of_rows(vectors, ids, vectors.shape[1]))
    np.testing.assert_array_equal(out[1], 0)
    expected = vectors[ids].astype(np.float64).sum(axis=0) / max(n, 1)
    np.testing.assert_allclose(out[0], expected, rtol=1e-4, atol=1e-5 * np.abs(vectors).max())
    means(vectors, ids, np.array([0, n, n]), True, out)
    np.testing.assert_allclose(out[0], unit(mean_of_rows(vectors, ids, vectors.shape[1])), rtol=2e-7)


def test_a_long_text_loses_no_precision() -> None:
    vectors = np.float32([[0.1], [0.3]])
    ids = np.resize(np.int32([0, 1]), 2_000_001)
    out = np.empty((1, 1), np.float32)
    means(vectors, ids, np.array([0, len(ids)]), False, out)
    np.testing.assert_array_equal(out[0], mean_of_rows(vectors, ids, vectors.shape[1]))
    np.testing.assert_allclose(out[0], 0.2, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e-10, 1e29])
def test_never_nan_at_any_size(size: float) -> None:
    model = Model(Vocabulary.of_words(["a", "b"]), np.full((2, 300), size, np.float32))
    rows = model.encode(["a b", "a " * 1000, ""], normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 0], rtol=1e-5)
    assert model.similarity("a", "b") == pytest.approx(1)


def test_bulk_takes_over_by_itself(plain: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MUCH_TEXT", 50)
    taken: list[int] = []
    original = encoding.Encoder._fill
    monkeypatch.setattr(
        encoding.Encoder, "_fill", lambda self, *args: (taken.append(len(args[0])), original(self, *args))
    )
    for n in (6, 6, 1, 2):  # 4 characters each: 24 + 24 are below the threshold, 52 are above it
        plain.encode(["east"] * n)
        plain.encode("east")
    assert taken == [1, 2]
    assert plain.encode("east " * 30).tolist() == [1, 0]  # a single text can be enough, too
    assert taken == [1, 2, 1]


def test_one_switch_for_all() -> None:
    assert [encoding.is_much(n) for n in (encoding.MUCH_TEXT, encoding.MUCH_TEXT + 1)] == [False, True]
    assert [encoding.is_much(encoding.MUCH_RAW_TEXT + n, raw=True) for n in (0, 1)] == [False, True]
    model = toy(dim=5)
    encoder = encoding.Encoder(model.vocabulary, model.rows, model.tokenizer)
    texts_ = ["the cat", "", "blorf the dog"]
    small, n_words = encoder.counted(texts_, dim=4, normalize=False)
    assert (n_words, encoder.is_bulk) == (4, False)
    np.testing.assert_array_equal(small, model.encode(texts_, truncate_dim=4))
    for _ in range(2):
        by_ids, n_ids = encoder.of_ids([[0, 1], [], [0, 3]], dim=4, normalize=False)
        assert n_ids == 4
        np.testing.assert_array_equal(by_ids, small)
        encoder.warm()
    assert encoder.is_bulk
    np.testing.assert_array_equal(encoder.counted(texts_, dim=4, normalize=False)[0], small)


@pytest.mark.usefixtures("bulk")
def test_batches_of_long_texts_are_cut(plain: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BATCH_CHARACTERS", 20)
    texts = ["east", "north " * 9, "", "west " * 30, "between", "east"]
    expected = [plain.encode(text) for text in texts]
    for batch_size in (1, 2, 6, 100):
        np.testing.assert_array_equal(plain.encode(texts, batch_size=batch_size, threads=2), expected)


def test_huge_and_odd_strings(plain: Model) -> None:
    odd = ["east\x00north", "\ud800east\udfff", "east\nnorth\r\nwest", "\n", "\x00", "x" * 100_000, "east " * 100_000]
    for texts_ in (odd, odd * 3):
        rows = plain.encode(texts_)
        assert rows.shape == (len(texts_), 2)
        np.testing.assert_array_equal(rows[0], np.float32([0.5, 0.5]))
        np.testing.assert_array_equal(rows[1], np.float32([1, 0]))
        np.testing.assert_array_equal(rows[6], np.float32([1, 0]))


def test_small_calls_load_no_numba() -> None:
    code = (
        "import sys, numpy as np, siamese_cbow as sc\n"
        "m = sc.Model(sc.Vocabulary.of_words(['a', 'b']), np.eye(2, dtype=np.float32))\n"
        "m.encode(['a b'] * 1000), m.similarity('a', 'a b'), m.neighbours('a')\n"
        "assert not {'numba', 'pyarrow', 'scipy', 'rich', 'torch'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# similarity


def test_similarity(plain: Model) -> None:
    found = plain.similarity("east", "east north")
    assert isinstance(found, float)
    assert found == pytest.approx(math.sqrt(0.5))
    assert plain.similarity("east", "west") == -1
    assert plain.similarity("east", "blorf") == 0
    assert plain.similarity("", "") == 0
    np.testing.assert_allclose(
        plain.similarity(["east", "nowhere"], ["east", "north", "between"]), [[1, 0, 0.5**0.5], [0, 0, 0]], atol=1e-6
    )
    assert plain.similarity("east", ["east", "west"]).shape == (1, 2)
    assert plain.similarity([], ["east"]).shape == (0, 1)


def test_similarity_takes_vectors_too(plain: Model) -> None:
    a, b = ["east", "", "between north"], ["west", "north", "north"]
    vectors = plain.encode(a), plain.encode(b)
    np.testing.assert_array_equal(plain.similarity(*vectors), plain.similarity(a, b))
    np.testing.assert_array_equal(plain.similarity_pairwise(*vectors), plain.similarity_pairwise(a, b))
    np.testing.assert_allclose(np.diag(plain.similarity(a, b)), plain.similarity_pairwise(a, b), atol=1e-6)
    assert plain.similarity(vectors[0][0], vectors[1][0]).shape == (1, 1)
    assert plain.similarity_pairwise("east", "west") == -1
    with pytest.raises(InputError, match="3 texts against 2"):
        plain.similarity_pairwise(a, b[:2])
    with pytest.raises(InputError, match="shape"):
        plain.similarity(np.zeros((1, 1, 2)), a)
    with pytest.raises(InputError, match="vectors of 3 and 2 dimensions"):
        plain.similarity(np.zeros(3), "east")
    with pytest.raises(InputError, match="NaN"):
        plain.similarity_pairwise(np.array([[1, np.nan]]), ["east"])


def test_names_of_sentence_transformers(plain: Model) -> None:
    torch = pytest.importorskip("torch")
    tensor: Any = plain.encode(["east", "west"], convert_to_tensor=True)
    assert isinstance(tensor, torch.Tensor)
    assert plain.encode("east", convert_to_tensor=True).shape == (2,)
    np.testing.assert_array_equal(plain.similarity(tensor, tensor), [[1, -1], [-1, 1]])
    np.testing.assert_array_equal(plain.encode_query("east north"), plain.encode_document("east north"))


def test_one_text_is_not_a_list_of_letters(plain: Model) -> None:
    ids, offsets = plain.ids("east north")
    assert (ids.tolist(), offsets.tolist()) == ([0, 1], [0, 2])


# words


def test_neighbours(plain: Model) -> None:
    assert plain.neighbours("east", k=2) == [("between", pytest.approx(0.5**0.5)), ("north", 0)]
    assert [word for word, _ in plain.neighbours("east")] == ["between", "north", "nowhere", "west"]
    assert [word for word, _ in plain.neighbours("East, and north!")] == ["between", "nowhere", "west"]
    with pytest.raises(InputError, match="no word with a vector"):
        plain.neighbours("blorf")
    with pytest.raises(SettingsError, match="k is 0"):
        plain.neighbours("east", k=0)


def test_neighbours_of_vectors(plain: Model) -> None:
    assert plain.neighbours(plain.vector("east"), k=1) == [("east", 1)]
    assert plain.most_similar([np.array([0, 3])], ["west"], topn=1) == [("between", pytest.approx(1))]
    for wrong in (None, 3, ["east", "west"]):
        with pytest.raises(InputError, match="expected a word, a text or a vector"):
            plain.neighbours(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"shape \(3,\); expected \(2,\)"):
        plain.neighbours(np.zeros(3, np.float32))


def test_most_similar_as_gensim() -> None:
    gensim = pytest.importorskip("gensim.models")
    model = toy(dim=20)
    peer = gensim.KeyedVectors(20)
    peer.add_vectors(WORDS, model.vectors)
    for positive, negative in ((["cat"], []), (["cat", "dog"], ["the"]), ("sat", "of"), ([], ["cat"])):
        ours = model.most_similar(positive, negative, topn=5)
        theirs = peer.most_similar(positive, negative, topn=5)
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([s for _, s in ours], [s for _, s in theirs], atol=1e-6)
    with pytest.raises(InputError, match="no words"):
        model.most_similar()
    with pytest.raises(InputError, match="'blorf' is not in the model's vocabulary"):
        model.most_similar("blorf")


def test_words(plain: Model) -> None:
    assert "east" in plain
    assert "blorf" not in plain
    np.testing.assert_array_equal(plain.vector("west"), [-2, 0])
    np.testing.assert_array_equal(plain["west"], [-2, 0])
    assert len(plain) == len(plain.vocabulary)
    with pytest.raises(InputError, match="did you mean 'west'"):
        plain.vector("West")
    assert plain.unknown_words("The east, the EAST of blorf") == ["the", ",", "of", "blorf"]


# the parts


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.zeros((5, 2)), "float64 (5, 2)"),
        (np.zeros(5, np.float32), "float32 (5,)"),
        ([[1.0, 2.0]], "list"),
        (np.zeros((4, 2), np.float32), "(4, 2) but the vocabulary has 5 words"),
        (np.zeros((5, 0), np.float32), "(5, 0)"),
        (np.full((5, 2), np.nan, np.float32), "'a' (row 0)"),
        (np.float32([[0, 0]] * 3 + [[0, np.inf], [0, 0]]), "'d' (row 3)"),
    ],
)
def test_parts_that_dont_fit(vectors: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        Model(Vocabulary.of_words(list("abcde")), vectors)
    assert said in str(error.value)


def test_info_is_plain() -> None:
    info = {"recipe": {"name": "toy", "sizes": (1, 2)}}
    model = Model(Vocabulary.of_words(["a"]), np.ones((1, 1), np.float32), info=info)
    info["recipe"]["name"] = "changed"
    assert model.info == {"recipe": {"name": "toy", "sizes": [1, 2]}}
    assert repr(model) == "<Model of 1 words in 1 dimensions, recipe toy>"
    for broken in ({"x": object()}, {"x": float("nan")}):
        with pytest.raises(InputError, match="JSON"):
            Model(Vocabulary.of_words(["a"]), np.ones((1, 1), np.float32), info=broken)


def test_frozen_equal_and_picklable(plain: Model) -> None:
    plain.encode("east")
    with pytest.raises(AttributeError):
        plain.info = {}  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        plain.vectors[0, 0] = 3
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert plain != Model(plain.vocabulary, plain.vectors * 2, plain.tokenizer)
    assert plain != Model(plain.vocabulary, plain.vectors, Tokenizer(lowercase=False))
    assert plain != "a model"
    assert plain.get_embedding_dimension() == plain.get_sentence_embedding_dimension() == plain.dim == 2


def test_columns_in_any_layout() -> None:
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = Model(Vocabulary.of_words(["a", "b"]), np.asfortranarray(vectors))
    np.testing.assert_array_equal(model.encode("a b"), vectors.mean(axis=0))


def test_names_of_other_libraries() -> None:
    model = sc.load()
    assert model.neighbors("king", topn=3) == model.neighbours("king", k=3)
    assert len(model.neighbours("king", topn=3)) == 3
    np.testing.assert_array_equal(model["king"], model.vector("king"))
    assert len(model) == len(model.vocabulary)
    assert ("king" in model, "kingx" in model) == (True, False)
    assert sc.__version__


def test_names_of_gensim(plain: Model) -> None:
    assert list(plain) == ["east", "north", "between", "nowhere", "west"]
    assert plain.vector_size == 2
    assert plain.get_vector("north").tolist() == [0, 1]
    assert plain[["north", "west"]].tolist() == [[0, 1], [-2, 0]]
    assert plain.most_similar(np.array([0.0, 3.0]), topn=1) == [("north", 1.0)]
    for word in (0, None, ["east", 1]):
        with pytest.raises(InputError, match="expected a string"):
            plain[word]  # type: ignore[index]


def test_a_zero_vector_has_no_neighbours(plain: Model) -> None:
    for of in (lambda: plain.neighbours(np.zeros(2)), lambda: plain.most_similar("east", "east")):
        with pytest.raises(InputError, match="zero vector, which has no neighbours"):
            of()


def test_one_number_of_neighbours(plain: Model) -> None:
    with pytest.raises(SettingsError, match="got k=2 and topn=3, two names for the same number"):
        plain.neighbours("east", k=2, topn=3)
    with pytest.raises(SettingsError, match="got topn=2 and k=3, two names for the same number"):
        plain.most_similar("east", topn=2, k=3)
    assert plain.most_similar("east", k=1) == plain.most_similar("east", topn=1)
    with pytest.raises(SettingsError, match=r"k is 2\.5; expected a whole number, 1 or more"):
        plain.neighbours("east", k=2.5)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="truncate_dim is True; expected a whole number from 1 to 2"):
        plain.encode("east", truncate_dim=True)


@pytest.mark.parametrize(("text", "advice"), [(b"a", "decode"), (["a"], "join its words"), (None, "fillna")])
def test_what_to_do_about_no_text(plain: Model, text: Any, advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        plain.encode([text])
