"""A model that gets text it wasn't made for says so, once, on every path."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.model.text_watch import LOOK_AT, SINGLE
from siamese_cbow.serve.registry import Embedder

GERMAN = [
    "Der alte Mann schläft unter dem großen Baum.",
    "Gestern kauften wir frisches Gemüse auf dem Wochenmarkt.",
    "Die Kinder spielen draußen, obwohl es stark regnet.",
    "Niemand wusste, weshalb der Zug so lange stehen blieb.",
]
ENGLISH = ["The old man sleeps under the large tree.", "Yesterday we bought fresh vegetables at the market."] * 20
KLINGON = "qapla batlh jajvam"
OTHER = "the text looks German (de), but the model is English (en)"


@pytest.fixture
def model() -> sc.Model:
    packaged = sc.load()
    own = packaged.vocabulary, packaged.rows, packaged.tokenizer, packaged.info
    return sc.Model(*own, ngrams=packaged.given_ngrams)  # a model that has encoded nothing yet


def remarks(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "siamese_cbow"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.encode(GERMAN),
        lambda model: model.similarity(GERMAN, GERMAN),
        lambda model: model.adapt(GERMAN),
        lambda model: model.ids(GERMAN),
        lambda model: [model.encode(text) for text in GERMAN * SINGLE],
        lambda model: Embedder(model).texts(GERMAN, dim=model.dim, normalize=True),
        lambda model: [sc.search("a house", sc.Texts(GERMAN), model=model) for _ in range(2)],
    ],
    ids=["encode", "similarity", "adapt", "ids", "one by one", "serve", "search"],
)
def test_every_path_says_it_once(
    ask: Callable[[sc.Model], Any], model: sc.Model, caplog: pytest.LogCaptureFixture
) -> None:
    ask(model)
    said = remarks(caplog)
    assert len(said) == 1
    assert said[0].startswith("siamese-cbow: ")
    assert said[0].endswith(f"% of the words are not in the model's vocabulary: {OTHER}")


def test_it_is_reported_once_per_model(model: sc.Model, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        model.encode(GERMAN)
    assert len(remarks(caplog)) == 1


def test_text_as_it_should_be(model: sc.Model, caplog: pytest.LogCaptureFixture) -> None:
    model.encode(ENGLISH)
    model.encode([])
    model.encode(["", " ", "?!"])
    assert remarks(caplog) == []


def test_a_few_unknown_words(model: sc.Model, caplog: pytest.LogCaptureFixture) -> None:
    model.encode([KLINGON])
    assert remarks(caplog)[0].startswith(
        "siamese-cbow: none of the words is in the model's vocabulary (qapla, batlh, jajvam); choose"
    )
    model.encode(GERMAN)
    assert OTHER in remarks(caplog)[1], "what was said of a few words hides nothing"
    model.encode([KLINGON])
    assert len(remarks(caplog)) == 2


def test_only_the_first_texts_are_looked_at(model: sc.Model, caplog: pytest.LogCaptureFixture) -> None:
    model.encode(ENGLISH * (LOOK_AT // len(ENGLISH) + 1))
    model.encode(GERMAN)
    assert remarks(caplog) == []


def test_a_program_decides_what_becomes_of_it(model: sc.Model, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "siamese_cbow"):
        model.encode(GERMAN)
    assert remarks(caplog) == []


@pytest.mark.parametrize("command", ["encode", "search", "index", "dedup", "cluster", "adapt", "similarity"])
def test_every_command_says_it(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("".join(f"{line}\n" for line in GERMAN * 3), "utf-8")
    Path("pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in GERMAN * 3), "utf-8")
    arguments = {
        "encode": ["text.txt", "-o", "v.npy"],
        "search": ["house", "text.txt"],
        "index": ["text.txt", "-o", "index"],
        "adapt": ["text.txt", "-o", "model"],
        "cluster": ["text.txt", "-k", "2"],
        "similarity": ["--file", "pairs.tsv"],
    }
    main([command, *arguments.get(command, ["text.txt"])])
    assert [OTHER in said for said in remarks(caplog)] == [True]


def test_similarity_names_the_words_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    main(["similarity", "a flurbish test", "a medical test"])
    assert (
        "not in the model's vocabulary: flurbish in 'a flurbish test'; vectors are built from their letters"
        in capsys.readouterr().err
    )


# the language of a monolingual model


def test_a_model_of_one_language(model: sc.Model) -> None:
    assert model.language("English") is model
    assert model.language("en-GB") is model
    with pytest.raises(sc.InputError, match=r"language is 'de', but this model has only one language, English \(en\)"):
        model.language("de")


@pytest.mark.parametrize("command", ["encode", "search"])
def test_an_unknown_language_is_refused_with_the_list(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text(f"{KLINGON}\n")
    with pytest.raises(SystemExit) as stop:
        main([command, *["x"] * (command == "search"), str(tmp_path / "text.txt"), "--language", "klingon"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "language is 'klingon'; expected" in error
    assert " de, " in error
