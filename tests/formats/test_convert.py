"""Formats: each is recognised by its content, read and written with every loss reported, and refused when broken."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import siamese_cbow as sc
from interop_world import TEXTS, WORDS, small_model
from python2_pickles import python2_pickle
from siamese_cbow import Model, Tokenizer, Vocabulary
from siamese_cbow.cli import main
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.formats.convert import convert, write_model
from siamese_cbow.formats.known_formats import BY_NAME, format_to_read, format_to_write
from siamese_cbow.formats.resolver import open_model

THEIRS = pytest.mark.filterwarnings("default")  # warnings of other libraries are not ours to fix


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("words.txt", "word2vec"), ("words.txt.gz", "word2vec"), ("words.bin", "word2vec-binary"),
        ("words.vec", "fasttext"), ("words.vec.xz", "fasttext"), ("words.glove", "glove"), ("glove.txt", "glove"),
        ("words.parquet", "parquet"), ("folder", "siamese-cbow"), ("v1.2", "siamese-cbow"),
    ],
)  # fmt: skip
def test_there_and_back(tmp_path: Path, name: str, kind: str) -> None:
    model = small_model()
    write_model(model, tmp_path / name)
    assert format_to_write(tmp_path / name).name == kind
    assert format_to_read(tmp_path / name).name == kind.replace("glove.txt", "glove")
    again = open_model(tmp_path / name)
    np.testing.assert_array_equal(again.vectors, model.vectors)
    assert list(again.vocabulary.words) == WORDS
    np.testing.assert_array_equal(again.encode(TEXTS), model.encode(TEXTS))
    if kind in ("parquet", "siamese-cbow"):
        assert again == model


words = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=8, unique=True)


@given(words=words, dim=st.integers(1, 4), kind=st.sampled_from(["word2vec", "word2vec-binary", "glove", "parquet"]))
@settings(max_examples=60)
def test_all_words_survive_except_those_reported(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], dim: int, kind: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    vectors = np.random.default_rng(dim).standard_normal((len(words), dim)).astype(np.float32)
    model = Model(Vocabulary.of_words(words), vectors)
    fit = [i for i, word in enumerate(words) if kind == "parquet" or not any(c in "\t\n\v\f\r " for c in word)]
    if not fit:
        with pytest.raises(InputError, match="every word contains white space"):
            write_model(model, path, kind=kind)
        return
    notes = write_model(model, path, kind=kind)
    assert any("white space" in note for note in notes) == (len(fit) < len(words))
    if kind == "glove" and dim == 1:
        return  # without a header and with one number per word, a word of digits looks like a header
    again = open_model(path, kind=kind)
    assert list(again.vocabulary.words) == [words[i] for i in fit]
    np.testing.assert_array_equal(again.vectors, vectors[fit])


def test_it_says_what_is_lost_and_what_was_put_in_its_place(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path / "model")
    done = convert(tmp_path / "model", tmp_path / "words.vec")
    assert (done.source, done.target) == ("siamese-cbow", "fasttext")
    assert done.notes == (
        "not stored in fasttext: word counts",
        "not stored in fasttext: the tokenizer (kind words, lowercase True, punctuation True, rule 2)",
        "not stored in fasttext: where the model comes from (recipe)",
    )
    back = convert(tmp_path / "words.vec", tmp_path / "again")
    assert back.notes == (
        "fasttext has no word counts: every count is 0",
        "fasttext has no tokenizer: text is tokenised by siamese-cbow, in lower case",
    )
    assert convert(tmp_path / "model", tmp_path / "same").notes == ()
    assert convert(tmp_path / "model", tmp_path / "words.parquet").notes == ()


def test_packed_and_post_processed_models(tmp_path: Path) -> None:
    for dtype in ("float16", "int8", "int4"):
        model = small_model().compress(dtype)
        model.save(tmp_path / "packed", int4=True)
        done = convert(tmp_path / "packed", tmp_path / "words.bin")
        assert f"{dtype} numbers become float32 in word2vec-binary: the same values in more bytes" in done.notes
        np.testing.assert_array_equal(open_model(tmp_path / "words.bin").vectors, model.vectors)
        done = convert(tmp_path / "packed", tmp_path / "theirs", target_format="model2vec")
        assert bool(done.notes) == (dtype == "int4")
        np.testing.assert_array_equal(sc.load(tmp_path / "theirs").vectors, model.vectors)
        assert not convert(tmp_path / "packed", tmp_path / "again").notes
    changed = small_model().postprocess(center=True)
    assert changed.undo is not None
    assert "not stored in parquet: how to undo the post-processing" in write_model(changed, tmp_path / "words.parquet")


def test_the_packaged_model_is_a_source(tmp_path: Path) -> None:
    done = (
        convert("pretrained", tmp_path / "words.onnx") if find_spec("onnx") else convert("pretrained", tmp_path / "x")
    )
    assert done.model == sc.load()
    left_out = any("the treatment of unknown words" in note for note in done.notes)
    assert left_out == (find_spec("onnx") is not None)  # only our own folder keeps it


def test_words_with_spaces_are_left_out_and_reported(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("the 1 2\nNew York 3 4\ncat 5 6\n")
    done = convert(tmp_path / "glove.txt", tmp_path / "words.bin")
    assert "skipped 1 word with white space inside, such as 'New York'" in done.notes
    assert list(open_model(tmp_path / "words.bin").vocabulary.words) == ["the", "cat"]
    convert(tmp_path / "glove.txt", tmp_path / "folder")
    assert "New York" in sc.load(tmp_path / "folder")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_model().save(tmp_path / "model")
    main(["convert", str(tmp_path / "model"), str(tmp_path / "words.txt")])
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'words.txt'}\n"
    assert "siamese-cbow -> word2vec: 24 words of dim 16" in err
    assert "not stored in word2vec: word counts" in err
    main(["convert", str(tmp_path / "words.txt"), str(tmp_path / "words.dat"), "--to", "glove"])
    assert (tmp_path / "words.dat").read_text().startswith("the ")
    for arguments, message in (
        (["nothing", str(tmp_path / "x")], "no model nothing; expected `pretrained`, a folder of siamese-cbow"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "x.npy")], "can't write"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "x.xyz")], "one of the extensions"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "x.kv")], "load_word2vec_format"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "x.pickle")], "which siamese-cbow never writes"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "words.txt")], "both source and target"),
        ([str(tmp_path / "words.txt"), str(tmp_path / "x.parquet.gz")], "drop .gz"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["convert", *arguments])
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model", "words.dat", "words.txt"]


def test_nothing_is_left_behind_and_nothing_overwritten_by_mistake(tmp_path: Path) -> None:
    small_model().save(tmp_path / "model")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        convert(tmp_path / "model", tmp_path / "folder.txt")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.doc").touch()
    with pytest.raises(InputError, match=r"letter\.doc"):
        convert(tmp_path / "model", tmp_path / "mine")
    (tmp_path / "words.vec").write_text("precious")
    (tmp_path / "broken.vec").write_text("3 2\nthe 1 2\n")
    with pytest.raises(InputError):
        convert(tmp_path / "broken.vec", tmp_path / "words.vec")
    assert (tmp_path / "words.vec").read_text() == "precious"


# the original program


class vocabulary:  # noqa: N801 (its name in the original program)
    pass


vocabulary.__module__ = "vocabUtils"


def original(**changes: Any) -> dict[str, Any]:
    names = {"__DUMMY_WORD__": 0, "the": 1, "cat": 2, "naïve": 3}
    matrix = np.array([[0, 0], [1, 2], [3, 4], [5, 6]], np.float32)
    content = {"oArgs": None, "npaWordEmbeddings": matrix, "oVocab": names}
    return {**content, **changes}


def old_pickle(content: dict[str, Any], arguments: dict[str, Any]) -> bytes:
    """A pickle as Python 2 wrote it: an argparse.Namespace, and an instance of an old-style class."""

    def part(value: Any) -> bytes:
        return python2_pickle(value, protocol=0)[:-1]

    names = {word.encode(): row for word, row in content["oVocab"].items()}
    rows = {row: word.encode() for word, row in content["oVocab"].items()}
    return (
        b"(" + part(b"oArgs") + b"ccopy_reg\n_reconstructor\n(cargparse\nNamespace\nc__builtin__\nobject\nNtR"
        + part({key.encode(): value for key, value in arguments.items()}) + b"b"
        + part(b"npaWordEmbeddings") + part(content["npaWordEmbeddings"])
        + part(b"oVocab") + b"(ivocabUtils\nvocabulary\n" + part({b"dVocab": names, b"dIndex2word": rows}) + b"bd."
    )  # fmt: skip


def test_pickles_of_the_original_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cosine_sharedWeights.pickle"
    arguments = {"bDontLowercase": False, "iEpochs": 1, "fLearningRate": 0.0001, "iMaxNrOfVocabWords": float("inf")}
    path.write_bytes(old_pickle(original(), arguments))
    main(["convert", str(path), str(tmp_path / "model")])
    assert "original -> siamese-cbow: 3 words of dim 2" in capsys.readouterr().err
    model = sc.load(tmp_path / "model")
    assert list(model.vocabulary.words) == ["the", "cat", "naïve"]
    assert model.encode("The cat").tolist() == [2, 3]
    assert model.info["recipe"]["arguments"] == {"bDontLowercase": False, "iEpochs": 1, "fLearningRate": 0.0001}
    path.write_bytes(old_pickle(original(), {"bDontLowercase": True}))
    assert not open_model(path).tokenizer.lowercase


def test_the_same_from_python_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    module = types.ModuleType("vocabUtils")
    module.vocabulary = vocabulary  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vocabUtils", module)
    held = vocabulary()
    held.dVocab = original()["oVocab"]  # type: ignore[attr-defined]
    path = tmp_path / "x.pickle"
    path.write_bytes(pickle.dumps(original(oVocab=held, oArgs=argparse.Namespace(bDontLowercase=True))))
    assert list(open_model(path).vocabulary.words) == ["the", "cat", "naïve"]
    for changes in ({"npaWordEmbeddings": np.zeros((2, 2))}, {"npaWordEmbeddings": "x"}, {"oVocab": {"a": 1}}):
        path.write_bytes(pickle.dumps(original(**{"oVocab": held, **changes})))
        with pytest.raises(InputError, match=r"x\.pickle"):
            open_model(path)


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch ran",)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_with_code_is_refused(tmp_path: Path, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.pickle").write_bytes(pickle.dumps(original(oArgs=Evil()), protocol))
    with pytest.raises(InputError, match=r"asks for '(posix|nt)\.system'"):
        open_model("evil.pickle")
    Path("evil.kv").write_bytes(pickle.dumps(["gensim", Evil()], protocol))
    with pytest.raises(InputError, match="system"):
        open_model("evil.kv")
    assert not Path("ran").exists()


# gensim


@THEIRS
def test_gensim_both_ways(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    from siamese_cbow.integrations.gensim import from_keyed_vectors, to_keyed_vectors

    model = small_model()
    theirs = to_keyed_vectors(model)
    assert theirs.get_vecattr("the", "count") == len(WORDS)
    again = from_keyed_vectors(theirs)
    assert again.vocabulary == model.vocabulary
    np.testing.assert_array_equal(again.vectors, model.vectors)
    text = "The cat sat, don't!"
    mean = theirs.get_mean_vector(model.tokenizer.words(text), pre_normalize=False)
    np.testing.assert_allclose(mean, model.encode(text), atol=1e-6)
    for name, binary in (("w.txt", False), ("w.bin", True), ("w.txt.gz", False)):
        write_model(model, tmp_path / name)
        loaded = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=binary)
        assert loaded.index_to_key == WORDS
        np.testing.assert_array_equal(loaded.vectors, model.vectors)
        theirs.save_word2vec_format(str(tmp_path / f"their{name}"), binary=binary)
        np.testing.assert_array_equal(open_model(tmp_path / f"their{name}").vectors, model.vectors)
    write_model(model, tmp_path / "w.glove")
    glove = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "w.glove"), no_header=True)
    np.testing.assert_array_equal(glove.vectors, model.vectors)
    for options in ({}, {"separately": ["vectors"]}):
        theirs.save(str(tmp_path / "w.kv"), **options)
        again = open_model(tmp_path / "w.kv")
        assert again.vocabulary == model.vocabulary
        np.testing.assert_array_equal(again.vectors, model.vectors)
    (tmp_path / "w.kv.vectors.npy").unlink()
    with pytest.raises(InputError, match=r"w\.kv\.vectors\.npy, which must be in the same folder"):
        open_model(tmp_path / "w.kv")
    with pytest.raises(InputError, match="expected gensim's KeyedVectors"):
        from_keyed_vectors(object())
    model.save(tmp_path / "folder")
    assert to_keyed_vectors(tmp_path / "folder").index_to_key == WORDS
    gensim.Word2Vec([["cat", "sat"]], min_count=1, vector_size=2).save(str(tmp_path / "w.model"))
    with pytest.raises(InputError, match=r"is a whole gensim model, .* run model\.wv\.save_word2vec_format"):
        open_model(tmp_path / "w.model")


# Parquet


def test_tables_of_other_programs(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"word": ["Paris", "the"], "vector": [[1.0, 2.0], [3.0, 4.0]]}), path)
    model = open_model(path)
    assert model.vectors.tolist() == [[1, 2], [3, 4]]
    assert not model.tokenizer.lowercase
    for table, message in (
        ({"word": ["a"], "x": [1]}, "has the columns word, x; expected `word` and `vector`"),
        ({"word": ["a", None], "vector": [[1.0], [2.0]]}, "rows without a word"),
        ({"word": ["a", "b"], "vector": [[1.0], [2.0, 3.0]]}, "expected vectors of one length"),
        ({"word": ["a"], "vector": ["x"]}, "expected lists of numbers"),
        ({"word": ["a"], "vector": pa.array([None], pa.list_(pa.float32()))}, "expected vectors of one length"),
        ({"word": ["a"], "vector": [[float("nan")]]}, "NaN"),
    ):
        pq.write_table(pa.table(table), path)
        with pytest.raises(InputError, match=message):
            open_model(path)
    write_model(small_model(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        open_model(path)


# broken files of every kind


@pytest.mark.parametrize("name", ["w.txt", "w.bin", "w.glove", "w.parquet", "w.txt.gz"])
def test_truncated_anywhere(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_model(small_model(), path)
    whole = path.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        try:
            model = open_model(path)
        except InputError as error:
            assert name in str(error)  # noqa: PT017
        else:  # GloVe has no header: a file cut between two lines is just a shorter file
            assert name == "w.glove"
            assert model.dim == 16 or len(model.vocabulary) == 1


@pytest.mark.parametrize("name", ["w.txt", "w.bin", "w.parquet", "w.txt.gz", "w.txt.xz"])
def test_changed_anywhere_ends_well_or_in_our_own_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_model(small_model(), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(60):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), 3):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        with contextlib.suppress(InputError):
            open_model(path).encode("the cat")


def test_formats_that_are_only_written_or_unknown(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    write_model(small_model(), tmp_path / "m.onnx")
    with pytest.raises(InputError, match="onnx, a format that siamese-cbow only writes"):
        open_model(tmp_path / "m.onnx")
    with pytest.raises(SettingsError, match="format is 'blorf'"):
        open_model(tmp_path / "m.onnx", kind="blorf")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no readable model"):
        open_model(tmp_path / "empty")
    small_model().save(tmp_path / "ours")
    (tmp_path / "ours" / "model.safetensors").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"model\.safetensors"):
        open_model(tmp_path / "ours")
    with gzip.open(tmp_path / "code.txt.gz", "wb") as file:
        file.write(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="a pickle"):
        open_model(tmp_path / "code.txt.gz")
    assert json.dumps(BY_NAME["gensim"].instead)
    assert open_model(write_and_return(tmp_path), kind="word2vec").tokenizer == Tokenizer()


def write_and_return(folder: Path) -> Path:
    write_model(small_model(), folder / "x.dat", kind="word2vec")
    return folder / "x.dat"
