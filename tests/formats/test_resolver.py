"""Models by name: every place that takes a model takes the same names and reports a missing one in the same way."""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc
from hub_stub import Hub, hub
from interop_world import WORDS, small_model
from siamese_cbow import Model
from siamese_cbow.cli import main
from siamese_cbow.errors import FormatError, InputError, MissingExtra, SettingsError
from siamese_cbow.evaluation.systems import open_system
from siamese_cbow.formats import resolver
from siamese_cbow.formats.convert import write_model
from siamese_cbow.formats.resolver import is_vector_file, open_model
from siamese_cbow.progress import Silent
from siamese_cbow.training.state import initial_model


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A small model in place of the packaged one, and an empty working directory."""
    model = small_model()
    model.save(tmp_path / "package" / "pretrained")
    monkeypatch.setattr(resolver, "PACKAGED", tmp_path / "package" / "pretrained")
    monkeypatch.delenv("SIAMESE_CBOW_MODEL", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return model


class Messages(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


# names


def test_the_model_in_the_package() -> None:
    assert sc.load("pretrained") == sc.load() == open_model(None) == open_system("pretrained")


def test_what_is_on_disk_comes_first(packaged: Model) -> None:
    other = Model(packaged.vocabulary, np.array(packaged.vectors * 2))
    assert open_model("pretrained") == packaged
    other.save("pretrained")
    heard = Messages()
    for name in ("pretrained", Path("pretrained")):
        assert open_model(name, progress=heard) == other
    assert len(heard.said) == 2
    assert f"using {Path.cwd() / 'pretrained'}, not the model in the package" in heard.said[0]
    assert open_model() == packaged
    assert open_system("pretrained") == other


@pytest.mark.parametrize("name", ["folder", "w.txt", "w.bin", "w.vec.gz", "w.glove", "w.parquet"])
def test_files_and_folders(tmp_path: Path, name: str) -> None:
    model = small_model()
    write_model(model, tmp_path / name)
    for opened in (sc.load(tmp_path / name), open_system(str(tmp_path / name)), Model.from_pretrained(tmp_path / name)):
        assert isinstance(opened, Model)
        assert list(opened.vocabulary.words) == WORDS
        np.testing.assert_array_equal(opened.vectors, model.vectors)
    assert is_vector_file(tmp_path / name) == (name not in ("folder", "w.parquet"))


def test_pickles(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(2)
    vectors.add_vectors(["the", "cat"], np.eye(2, dtype=np.float32))
    vectors.save(str(tmp_path / "w.kv"))
    assert list(sc.load(tmp_path / "w.kv").vocabulary.words) == ["the", "cat"]
    assert isinstance(open_system(str(tmp_path / "w.kv")), Model)
    (tmp_path / "x.pickle").write_bytes(pickle.dumps({"oArgs": argparse.Namespace()}))
    with pytest.raises(InputError, match="no npaWordEmbeddings"):
        sc.load(tmp_path / "x.pickle")


def test_a_model_is_itself(packaged: Model) -> None:
    assert open_model(packaged) is packaged


def test_the_folder_of_the_user(packaged: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell expands ~ in `--model=~/books` or in a systemd unit."""
    monkeypatch.setenv("HOME", str(tmp_path))
    packaged.save(tmp_path / "books")
    assert sc.load("~/books") == packaged
    with pytest.raises(InputError, match=f"starts with ~.*write {tmp_path}/new"):
        packaged.save("~/new")
    with pytest.raises(InputError, match=f"starts with ~.*write {tmp_path}/new.bin"):
        write_model(packaged, "~/new.bin")
    assert not Path("~").exists()


@pytest.mark.parametrize("name", ["", "x" * 5000, 3, b"books"])
def test_invalid_names(packaged: Model, name: Any) -> None:
    with pytest.raises(InputError, match=r"no model .*; expected `pretrained`, a folder of siamese-cbow"):
        sc.load(name)


def test_what_was_meant_is_named(packaged: Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model pretraind; did you mean pretrained"):
        sc.load("pretraind")
    (tmp_path / "a.txt").write_text("a cat\na dog\n")
    sc.prepare(tmp_path / "a.txt", output=tmp_path / "stream", min_count=1)
    with pytest.raises(InputError, match=r"stream contains no readable model; it is a stream; .*siamese-cbow train "):
        sc.load(tmp_path / "stream")
    sc.Index.update(tmp_path / "index", tmp_path / "a.txt", model=small_model())
    with pytest.raises(InputError, match=r"it is an index; search it: siamese-cbow search QUERY --index "):
        sc.load(tmp_path / "index")
    (tmp_path / "run" / "training").mkdir(parents=True)
    with pytest.raises(InputError, match="it is an unfinished training run; repeat its"):
        sc.load(tmp_path / "run")
    (tmp_path / "program").write_bytes(b"\x7fELF\x02" + bytes(100))
    with pytest.raises(InputError, match="program is a program"):
        sc.load(tmp_path / "program")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "vocabulary.txt"])
def test_one_file_of_a_model(packaged: Model, name: str) -> None:
    packaged.save("books")
    with pytest.raises(InputError, match=f"books/{name} is one file of a model; pass the folder, books"):
        sc.load(f"books/{name}")


def test_only_the_words_that_are_needed(tmp_path: Path) -> None:
    write_model(small_model(), tmp_path / "w.txt")
    assert list(open_model(tmp_path / "w.txt", keep={"cat", "blorf"}).vocabulary.words) == ["cat"]


def test_other_formats_have_nothing_to_verify(tmp_path: Path) -> None:
    small_model().save(tmp_path / "ours")
    assert sc.load(tmp_path / "ours", verify=True) == small_model()
    write_model(small_model(), tmp_path / "w.txt")
    with pytest.raises(SettingsError, match=r"w\.txt is word2vec, a format without hashes"):
        sc.load(tmp_path / "w.txt", verify=True)


def test_our_folder_without_its_words_is_broken_and_not_another_library_s(tmp_path: Path) -> None:
    for dtype in ("float32", "int8", "int4"):
        small_model().compress(dtype).save(tmp_path / dtype)
        (tmp_path / dtype / "vocabulary.txt").unlink()
        with pytest.raises(FormatError, match=r"vocabulary\.txt is missing"):
            sc.load(tmp_path / dtype)


# where there is no model


def openers() -> dict[str, Callable[[str], Any]]:
    from siamese_cbow.formats.convert import convert

    return {
        "load": sc.load,
        "from_pretrained": Model.from_pretrained,
        "evaluate": open_system,
        "convert": lambda name: convert(name, "out"),
        "init": lambda name: initial_model(sc.SiameseCBOW(init=name)),
    }


EXPECTED = (
    "expected `pretrained`, a folder of siamese-cbow, model2vec or sentence-transformers (a static model), a word2vec, "
    "GloVe or fastText .vec file, a Parquet table of words, gensim's .kv, a pickle of the original Siamese CBOW, or "
    "user/name on the Hugging Face Hub (with siamese-cbow[hub]);"
)


@pytest.mark.parametrize("opener", openers())
def test_one_error_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opener: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    Path("empty").mkdir()
    for name, problem in {
        "nothing": "no model nothing; ",
        "models/nothing": "no model models/nothing; ",  # the folder `models` exists, so the Hub is not asked
        str(tmp_path / "a" / "b"): f"no model {tmp_path / 'a' / 'b'}; ",
        "empty": "empty contains no readable model; ",
    }.items():
        with pytest.raises(InputError) as error:
            openers()[opener](name)
        assert str(error.value).startswith(problem + EXPECTED)


COMMANDS: dict[str, list[str]] = {
    "encode": ["encode", "text.txt", "--model", "NAME"],
    "similarity": ["similarity", "the cat", "the dog", "--model", "NAME"],
    "neighbours": ["neighbours", "cat", "--model", "NAME"],
    "search": ["search", "the cat", "text.txt", "--model", "NAME"],
    "index": ["index", "text.txt", "-o", "OUT", "--model", "NAME"],
    "dedup": ["dedup", "text.txt", "--model", "NAME"],
    "cluster": ["cluster", "text.txt", "-k", "2", "--model", "NAME"],
    "info": ["info", "NAME"],
    "info --model": ["info", "--model", "NAME"],
    "adapt": ["adapt", "text.txt", "--model", "NAME", "-o", "OUT"],
    "combine": ["combine", "NAME", "NAME", "-o", "OUT"],
    "compress": ["compress", "NAME", "-o", "OUT", "--dtype", "int8"],
    "convert": ["convert", "NAME", "OUT"],
    "evaluate": ["evaluate", "NAME", "--probe", "labels.tsv", "--folds", "2"],
    "train": ["train", "stream", "--init", "NAME", "-o", "OUT", "--epochs", "1", "--dim", "16"],
}


def test_every_command_is_here() -> None:
    from siamese_cbow.cli import COMMANDS as ALL

    without = {"demo", "prepare", "reproduce", "download", "serve"}  # the last one: see below
    assert {name.split()[0] for name in COMMANDS} == ALL.keys() - without


@pytest.fixture
def texts(packaged: Model) -> None:
    sentences = ["the cat sat", "the dog sat", "a cat and a dog", "the mat", "a dog on the mat", "cats and dogs"] * 4
    Path("text.txt").write_text("\n".join(sentences) + "\n")
    Path("labels.tsv").write_text("".join(f"{text}\t{'cat' in text}\n" for text in sentences))


@pytest.mark.usefixtures("texts")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_opens_models_by_name(
    packaged: Model, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "train":
        text = [["the cat sat", "the dog sat", "a cat and a dog"], ["the mat", "a dog on the mat"]] * 20
        sc.prepare(text, output="stream", tokenizer=packaged.tokenizer, min_count=1)
    if command == "cluster":
        pytest.importorskip("sklearn")
    if command == "index":
        pytest.importorskip("usearch")
    write_model(packaged, "words.vec")
    packaged.save("models/folder")
    for i, name in enumerate(("pretrained", "models/folder", "words.vec", "nothing", "models/nothing")):
        arguments = [{"NAME": name, "OUT": f"out{i}"}.get(part, part) for part in COMMANDS[command]]
        if not name.endswith("nothing"):
            main(arguments)
            continue
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert capsys.readouterr().err.startswith(f"siamese-cbow: no model {name}; {EXPECTED}")


@pytest.mark.usefixtures("texts")
def test_an_index_remembers_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("usearch")
    main(["index", "text.txt", "-o", "index", "--model", "pretrained"])
    assert json.loads(Path("index", "index.json").read_text())["model_folder"] == "pretrained"
    main(["search", "the cat", "--index", "index", "-k", "1"])
    assert "the cat sat" in capsys.readouterr().out


def test_the_server_takes_names(packaged: Model) -> None:
    pytest.importorskip("starlette")
    from siamese_cbow.cli.serve import _models

    write_model(packaged, "words.vec")
    models = _models(("pretrained", "news=words.vec"), None, None)
    assert list(models) == ["pretrained", "news"]
    assert models["pretrained"] == packaged


def test_a_folder_called_pretrained_is_said_on_standard_error(
    packaged: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["similarity", "the cat", "the dog", "--model", "pretrained"])
    assert capsys.readouterr().err == ""
    packaged.save("pretrained")
    main(["similarity", "the cat", "the dog", "--model", "pretrained"])
    assert ", not the model in the package" in capsys.readouterr().err


def test_other_libraries_take_names(packaged: Model) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("langchain_core")
    from siamese_cbow.integrations.langchain import SentenceEmbeddings
    from siamese_cbow.integrations.sklearn import SentenceVectorizer

    write_model(packaged, "words.vec")
    for name in ("pretrained", "words.vec"):
        np.testing.assert_array_equal(
            SentenceVectorizer(name).fit_transform(["the cat"])[0], packaged.encode("the cat")
        )
        assert SentenceEmbeddings(name, normalize=False).embed_query("the cat") == packaged.encode("the cat").tolist()


# what training can start from


def test_models_of_subwords_are_no_start(tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "cat": 1, "##s": 2}, unk_token="[UNK]"))
    model2vec.StaticModel(np.eye(3, dtype=np.float32), made).save_pretrained(tmp_path / "subwords")
    with pytest.raises(InputError, match=r"a tokenizer of another program.*siamese-cbow convert"):
        initial_model(sc.SiameseCBOW(init=str(tmp_path / "subwords")))


# the Hub


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    constants = pytest.importorskip("huggingface_hub.constants")
    for name, value in (
        ("HF_HUB_CACHE", str(tmp_path / "cache")),
        ("HF_HUB_DISABLE_XET", True),
        ("HF_HUB_OFFLINE", False),
    ):
        monkeypatch.setattr(constants, name, value)
    monkeypatch.chdir(tmp_path)
    with hub() as running:
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace("https://huggingface.co", running.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield running


@pytest.mark.filterwarnings("default")  # theirs are not ours to fix
def test_names_on_the_hub(server: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    model = small_model()
    sc.push_to_hub(model, "me/tiny", token="t")
    for name in ("me/tiny", "hf://me/tiny", Path("me/tiny"), Path("hf://me/tiny")):
        assert open_model(name) == model
    assert open_system("me/tiny") == model
    main(["similarity", "the cat", "the dog", "--model", "me/tiny"])
    assert float(capsys.readouterr().out) == pytest.approx(model.similarity("the cat", "the dog"), abs=1e-6)
    with pytest.raises(InputError, match=r"can't fetch me/nothing: .*; no file or folder me/nothing exists either"):
        open_model("me/nothing")
    n_requests = len(server.requests)
    Path("me").mkdir()
    with pytest.raises(InputError, match="no model me/tiny; expected"):
        open_model("me/tiny")
    assert len(server.requests) == n_requests


@pytest.mark.filterwarnings("default")
def test_without_a_connection_it_is_one_line(
    server: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(SystemExit) as stopped:
        main(["info", "--model", "me/tiny"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("siamese-cbow: can't fetch me/tiny: ")
    assert said.endswith("and the connection; no file or folder me/tiny exists either\n")
    assert said.count("\n") == 1


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"no model me/tiny; expected .*siamese-cbow\[hub\]"):
        open_model("me/tiny")
    with pytest.raises(MissingExtra, match=r"siamese-cbow\[hub\]"):
        open_model("hf://me/tiny")
