"""Models as folders: equal after saving and loading, the same bytes each time, clear errors for broken folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from siamese_cbow import FormatError, InputError, Model, SiameseCBOWError, Tokenizer, Vocabulary, load
from siamese_cbow.base.disk import file_hash
from siamese_cbow.model.storage import CARD, CONFIG, HASHED, MODULES, TOKENIZER, VECTORS, VOCABULARY

INFO = {"recipe": {"name": "toy", "dim": 4}, "corpus": {"fingerprint": "f00", "n_tokens": 12}}


def toy(seed: int = 0, dim: int = 4, tokenizer: Tokenizer | None = None) -> Model:
    words = ["the", "cat", "café", "日", "don't"]
    vectors = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32)
    return Model(Vocabulary(words, np.array([9, 5, 5, 2, 0])), vectors, tokenizer or Tokenizer(), INFO)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy().save(tmp_path / "toy")
    return tmp_path / "toy"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "tokenizer", [Tokenizer(), Tokenizer("whitespace", lowercase=False), Tokenizer(punctuation=False)]
)
def test_equal_after_save_and_load(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = toy(tokenizer=tokenizer)
    model.save(tmp_path / "a")
    loaded = load(tmp_path / "a", verify=True)
    assert loaded == model
    np.testing.assert_array_equal(loaded.vocabulary.counts, model.vocabulary.counts)
    np.testing.assert_array_equal(loaded.encode(["The café", "DON’T"]), model.encode(["The café", "DON’T"]))
    loaded.save(str(tmp_path / "deep" / "er" / "a"))
    assert contents(tmp_path / "deep" / "er" / "a") == contents(tmp_path / "a")


def test_vectors_are_mapped_not_read(folder: Path) -> None:
    base: Any = load(folder).vectors
    assert not base.flags.writeable
    while not isinstance(base, np.memmap):
        base = base.base
    assert base.filename == (folder / VECTORS).resolve()


def test_layout(folder: Path) -> None:
    assert set(contents(folder)) == {*HASHED, CONFIG, CARD}
    tensors = safetensors_numpy.load_file(folder / VECTORS)
    assert list(tensors) == ["embeddings"]
    np.testing.assert_array_equal(tensors["embeddings"], np.vstack([toy().vectors, np.zeros(4, np.float32)]))
    assert (folder / VOCABULARY).read_text("utf-8") == "9 the\n5 cat\n5 café\n2 日\n0 don't\n"
    config = json.loads((folder / CONFIG).read_text("utf-8"))
    assert config["info"] == INFO
    assert (config["normalize"], config["embedding_dtype"], config["max_length"]) == (True, "float32", None)
    assert config["files"][VECTORS]["hash"] == file_hash(folder / VECTORS)
    card = (folder / CARD).read_text("utf-8")
    for part in ("5 words, 4 dimensions", "SentenceTransformer(", "StaticModel.from_pretrained", "fingerprint: f00"):
        assert part in card


def test_saves_over_a_model_even_its_own(folder: Path) -> None:
    loaded = load(folder)
    loaded.save(folder)
    assert load(folder) == loaded == toy()
    toy(seed=1).save(folder)
    assert load(folder) == toy(seed=1)
    assert [path.name for path in folder.parent.iterdir()] == ["toy"]


def test_leaves_alone_what_is_no_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("text")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / CONFIG).write_text("{}")
    (folder / "thesis.doc").write_text("text")
    for name, said in (
        ("file", "is a file"),
        ("notes", "todo.txt"),
        ("other", "not a siamese-cbow model"),
        ("toy", "thesis.doc"),
    ):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(InputError, match=said):
            toy().save(tmp_path / name)
        assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "empty").mkdir()
    toy().save(tmp_path / "empty")
    assert load(tmp_path / "empty") == toy()


@pytest.mark.parametrize("words", [["a", "a"], ["a", ""], ["a", "b\nc"], ["a", "b\rc"], ["a", "\ud800"]])
def test_words_that_would_not_come_back(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(InputError, match="word"):
        Model(Vocabulary.of_words(words), np.ones((2, 1), np.float32)).save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_words_with_spaces_and_line_separators(tmp_path: Path) -> None:
    words = ["New York", " ", "\u2028", "a\x85b", "\xa0", "[UNK]"]
    model = Model(Vocabulary.of_words(words), np.ones((6, 1), np.float32))
    model.save(tmp_path / "a")
    assert load(tmp_path / "a") == model


# broken folders

BREAKS: dict[str, tuple[Callable[[Path], Any], str]] = {
    **{f"no {name}": (lambda folder, name=name: (folder / name).unlink(), name) for name in (*HASHED, CONFIG)},
    **{f"half {name}": (lambda folder, name=name: _cut(folder / name), name) for name in (*HASHED, CONFIG)},
    **{
        f"empty {name}": (lambda folder, name=name: (folder / name).write_bytes(b""), name)
        for name in (*HASHED, CONFIG)
    },
    **{f"swapped {name}": (lambda folder, name=name: _swap(folder, name), name) for name in (VECTORS, VOCABULARY)},
    "other version": (lambda folder: _edit(folder, format_version=2), "version 2"),
    "other format": (lambda folder: _edit(folder, format="something"), CONFIG),
    "config is a list": (lambda folder: (folder / CONFIG).write_text("[]"), CONFIG),
    "deep config": (lambda folder: (folder / CONFIG).write_text("[" * 100_000), CONFIG),
    "n_words": (lambda folder: _edit(folder, n_words=6), "n_words|words"),
    "dim": (lambda folder: _edit(folder, dim=5), VECTORS),
    "dim is text": (lambda folder: _edit(folder, dim="4"), "dim"),
    "tokenizer": (lambda folder: _edit(folder, tokenizer={"kind": "letters"}), "letters"),
    "tokenizer option": (lambda folder: _edit(folder, tokenizer={"case": 1}), "case"),
    "files": (lambda folder: _edit(folder, files={}), VECTORS),
}


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _edit(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / CONFIG).read_text("utf-8"))
    (folder / CONFIG).write_text(json.dumps(config | changes), "utf-8")


def _swap(folder: Path, name: str) -> None:
    """Swaps in the file of another model of the same shape and size."""
    other = toy(seed=1)
    words = ["eht", *other.vocabulary.words[1:]]
    Model(Vocabulary(words, other.vocabulary.counts), other.vectors).save(folder.parent / "other")
    shutil.copy(folder.parent / "other" / name, folder / name)


@pytest.mark.parametrize("broken", BREAKS)
def test_broken_folders(folder: Path, broken: str) -> None:
    how, said = BREAKS[broken]
    how(folder)
    with pytest.raises(FormatError, match=said) as error:
        load(folder)
    assert ";" in str(error.value)  # there is a next step


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="siamese-cbow train"):
        load(tmp_path / "nothing")


def test_verify_finds_a_single_bit(tmp_path: Path) -> None:
    model = Model(Vocabulary.of_words(f"w{i}" for i in range(3000)), np.ones((3000, 20), np.float32))
    model.save(tmp_path / "a")
    data = bytearray((tmp_path / "a" / VECTORS).read_bytes())
    data[20_000] ^= 1
    (tmp_path / "a" / VECTORS).write_bytes(data)
    assert load(tmp_path / "a") != model
    with pytest.raises(FormatError, match="damaged"):
        load(tmp_path / "a", verify=True)


def test_the_card_says_only_what_is_true(tmp_path: Path) -> None:
    trained = Model(toy().vocabulary, toy().vectors, info={"recipe": {"name": "mine", "objective": "softmax"}})
    cards = {}
    for name, model in (("ours", trained), ("glove", toy()), ("small", trained.compress("int4"))):
        model.save(tmp_path / name, int4=True)
        cards[name] = (tmp_path / name / CARD).read_text("utf-8")
    assert "trained to be averaged" in cards["ours"]
    assert "trained to be averaged" not in cards["glove"]
    assert "library_name: sentence-transformers\n" in cards["ours"]
    assert "library_name: siamese-cbow\n" in cards["small"]
    assert "- model2vec" not in cards["small"]


def test_card_may_be_edited_or_deleted(folder: Path) -> None:
    (folder / CARD).write_text("mine")
    assert load(folder, verify=True) == toy()
    (folder / CARD).unlink()
    assert load(folder, verify=True) == toy()


@given(
    name=st.sampled_from([*HASHED, CONFIG]),
    place=st.floats(0, 1),
    junk=st.binary(max_size=8),
    trusting=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_ends_in_our_own_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, place: float, junk: bytes, trusting: bool
) -> None:
    folder = tmp_path_factory.mktemp("fuzz") / "toy"
    toy().save(folder)
    data = (folder / name).read_bytes()
    at = int(place * len(data))
    (folder / name).write_bytes(data[:at] + junk + data[at + len(junk) :])
    if trusting and name != CONFIG:  # a config that vouches for the damage
        path = folder / name
        from siamese_cbow.model.storage import FORMAT

        config = json.loads((folder / CONFIG).read_text("utf-8"))
        _edit(folder, files=config["files"] | {name: FORMAT.entry(path)})
    try:
        load(folder).encode(["the cat", "日"])
    except SiameseCBOWError:
        pass
    finally:
        shutil.rmtree(folder)


def test_disk_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("siamese_cbow.model.storage.write_rows", full)
    with pytest.raises(InputError, match="No space left"):
        toy().save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_modules_and_tokenizer_are_what_other_libraries_read(folder: Path) -> None:
    assert [module["path"] for module in json.loads((folder / MODULES).read_text())] == ["", "1_Normalize"]
    assert json.loads((folder / TOKENIZER).read_text("utf-8"))["model"]["type"] == "WordLevel"
