"""Streams of older versions: version 0.1.0 wrote `data/stream-0.1.0` from `data/text.txt`.

siamese-cbow prepare text.txt -o stream-0.1.0 --min-count 1 --punctuation --layout sentences
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import siamese_cbow as sc
from siamese_cbow.training.saved_run import train_into

DATA = Path(__file__).with_name("data")
SETTINGS = {"min_count": 1, "tokenizer": sc.Tokenizer(rule=1), "text": sc.TextSettings(layout="sentences")}


def test_it_loads_as_it_was() -> None:
    stream = sc.Stream.load(DATA / "stream-0.1.0")
    assert stream.tokenizer == sc.Tokenizer(rule=1)
    sentence = stream.ids[stream.sentences[1] : stream.sentences[2]]
    assert [stream.vocabulary.words[i] for i in sentence] == sc.Tokenizer(rule=1).words("It's the cat's mat, isn't it?")
    assert (stream.n_documents, stream.n_sentences, stream.n_tokens) == (3, 5, 42)


def test_the_same_text_still_has_the_same_fingerprint() -> None:
    new = sc.prepare(DATA / "text.txt", **SETTINGS)
    assert new.fingerprint == sc.Stream.load(DATA / "stream-0.1.0").fingerprint


def test_it_is_up_to_date_and_so_is_what_was_trained_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA / "stream-0.1.0", "stream")
    shutil.copy(DATA / "text.txt", "text.txt")
    modified = sc.Stream.load("stream").about["sources"][0]["modified_ns"]
    os.utime("text.txt", ns=(modified, modified))
    before = Path("stream/stream.json").read_bytes()
    recipe = sc.SiameseCBOW(dim=4, epochs=1, subsample=0)
    train_into("model", recipe, sc.Stream.load("stream"))
    again = sc.prepare("text.txt", output="stream", progress=True, **SETTINGS)
    assert "up to date" in capsys.readouterr().err
    assert Path("stream/stream.json").read_bytes() == before
    written = Path("model/model.safetensors").stat().st_mtime_ns
    train_into("model", recipe, again)
    assert Path("model/model.safetensors").stat().st_mtime_ns == written
