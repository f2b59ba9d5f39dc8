"""Folders of model2vec and sentence-transformers as our models, with their tokenizers, and saved for them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc
from interop_world import TEXTS, small_model
from siamese_cbow import Tokenizer
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.convert import convert, write_model
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model import encoding
from siamese_cbow.words.json_tokenizer import JsonLookup, JsonTokenizer, known_tokenizer

model2vec = pytest.importorskip("model2vec")
tokenizers = pytest.importorskip("tokenizers")
safetensors = pytest.importorskip("safetensors.numpy")

pytestmark = pytest.mark.filterwarnings("default")  # theirs are not ours to fix

SENTENCES = [
    "The unbelievable cat sat.",
    "unknown ☃ words",
    "",
    "sat " * 30,
    "cats & dogs, believable!",
    "half \ud800 x",
]
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "the",
    "cat",
    "##s",
    "sat",
    "un",
    "##believable",
    "believable",
    "dog",
    ".",
    ",",
    "☃!",
]


def word_piece() -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[PAD]", "[CLS]"])
    return made


def unigram() -> Any:
    pieces = [("<unk>", 0.0), ("▁the", -1.0), ("▁cat", -2.0), ("s", -2.5), ("▁sat", -2.0), ("▁un", -3.0), ("t", -4.0)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.add_tokens(["dogs"])
    return made


def byte_pairs() -> Any:
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate([*letters, "ca", "cat", "Ġt"])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("c", "a"), ("ca", "t"), ("Ġ", "t")]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


TOKENIZERS = {"WordPiece": word_piece, "Unigram": unigram, "BPE": byte_pairs}


def their_model(kind: str, dtype: Any = np.float32, **options: Any) -> Any:
    made = TOKENIZERS[kind]()
    rows = np.random.default_rng(3).standard_normal((made.get_vocab_size(), 8))
    return model2vec.StaticModel((rows * 20).astype(dtype), made, normalize=True, **options)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_model_of_subwords(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = their_model(kind)
    theirs.save_pretrained(tmp_path / "theirs")
    done = convert(tmp_path / "theirs", tmp_path / "ours")
    assert done.source == "model2vec"
    assert any("at length 1" in note for note in done.notes)
    ours = sc.load(tmp_path / "ours", verify=True)
    assert isinstance(ours.tokenizer, JsonTokenizer)
    texts = SENTENCES[:-1]
    expected = theirs.encode(texts)
    small = ours.encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(small, expected, atol=1e-6)
    assert ours.encode(SENTENCES[-1]).shape == (8,)  # half of a surrogate pair, which the library refuses
    plain = ours.encode(SENTENCES)
    monkeypatch.setattr(encoding, "MUCH_TEXT", 0)
    np.testing.assert_array_equal(sc.load(tmp_path / "ours").encode(SENTENCES), plain)  # in bulk
    again = model2vec.StaticModel.from_pretrained(tmp_path / "ours")
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-6)
    assert sc.load(tmp_path / "ours") == ours
    assert len(ours.neighbours("cat", k=2)) == 2
    with pytest.raises(SettingsError, match="can't count words"):
        sc.prepare(sc.Texts(["a b. c d."]), tokenizer=ours.tokenizer, min_count=1)
    notes = write_model(ours, tmp_path / "words.txt")
    assert any("parts of words" in note for note in notes)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_it_converts_to_sentence_transformers_and_parquet(tmp_path: Path, kind: str) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    theirs = their_model(kind)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = open_model(tmp_path / "theirs")
    ours.save(tmp_path / "ours")
    peer = transformers.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    np.testing.assert_allclose(peer.encode(SENTENCES[:-1]), theirs.encode(SENTENCES[:-1]), atol=1e-6)
    write_model(ours, tmp_path / "words.parquet")
    assert open_model(tmp_path / "words.parquet").vocabulary == ours.vocabulary


def test_quantised_models(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    for dtype in (np.float16, np.int8):
        their_model("WordPiece", dtype).save_pretrained(tmp_path / dtype.__name__)
        ours = open_model(tmp_path / dtype.__name__)
        expected = model2vec.StaticModel.from_pretrained(tmp_path / dtype.__name__).encode(SENTENCES[:-1])
        np.testing.assert_allclose(ours.encode(SENTENCES[:-1], normalize_embeddings=True), expected, atol=2e-3)
    theirs = their_model("WordPiece")
    mapping = np.arange(len(PIECES)) // 2
    weights = np.linspace(0.5, 2, len(PIECES))
    mapped = model2vec.StaticModel(
        theirs.embedding[:7], theirs.tokenizer, normalize=True, weights=weights, token_mapping=mapping
    )
    mapped.save_pretrained(tmp_path / "mapped")
    ours = open_model(tmp_path / "mapped")
    np.testing.assert_allclose(
        ours.encode(SENTENCES[:-1], normalize_embeddings=True), mapped.encode(SENTENCES[:-1]), atol=1e-6
    )


def test_static_models_of_sentence_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    rows = np.random.default_rng(4).standard_normal((len(PIECES), 8)).astype(np.float32)
    peer = transformers.SentenceTransformer(modules=[StaticEmbedding(word_piece(), rows)], device="cpu")
    peer.save_pretrained(str(tmp_path / "peer"))
    ours = open_model(tmp_path / "peer")
    texts = [text for text in SENTENCES[:-1] if text]
    np.testing.assert_allclose(ours.encode(texts), peer.encode(texts), atol=1e-6)  # unknown words count in both
    ours.save(tmp_path / "ours")
    again = transformers.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    unit = ours.encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(again.encode(texts), unit, atol=1e-6)


def test_our_own_tokenizers_are_known_again(tmp_path: Path) -> None:
    for tokenizer in (Tokenizer(), Tokenizer("whitespace"), Tokenizer(lowercase=False), Tokenizer(punctuation=False)):
        model = small_model(tokenizer)
        model.save(tmp_path / "ours")
        model2vec.StaticModel.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
        back = open_model(tmp_path / "theirs")
        assert back.tokenizer in (tokenizer, Tokenizer("whitespace", punctuation=True))
        np.testing.assert_array_equal(back.encode(TEXTS), model.encode(TEXTS))
    assert known_tokenizer("no json") is None
    assert known_tokenizer(word_piece().to_str()) is None


def test_a_tokenizer_without_a_token_for_the_unknown() -> None:
    made = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0), ("b", -2.0)]))
    tokenizer = JsonTokenizer(json=made.to_str())
    assert tokenizer.words("ab") == ["a", "b"]
    for cut in (tokenizer.words, lambda text: JsonLookup({"a": 0}.get, tokenizer).ids([text])):
        with pytest.raises(InputError, match="can't tokenise this text"):
            cut("abc")


def test_broken_folders(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    tensors = {"embeddings": np.ones((len(PIECES), 4), np.float32)}

    def saved(**changes: Any) -> None:
        their_model("WordPiece").save_pretrained(folder)
        safetensors.save_file({**tensors, **changes}, folder / "model.safetensors")

    for changes, message in (
        ({"embeddings": np.ones((3, 4), np.float32)}, "14 tokens but model.safetensors has 3 vectors"),
        ({"embeddings": np.ones(3, np.float32)}, "expected a table"),
        ({"mapping": np.full(len(PIECES), 99)}, "a mapping beyond its 14 rows"),
        ({"weights": np.ones(3)}, "weights of shape"),
        ({"embeddings": np.full((len(PIECES), 4), np.nan, np.float32)}, "NaN"),
    ):
        saved(**changes)
        with pytest.raises(InputError, match=message):
            open_model(folder)
    saved()
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:50])
    with pytest.raises(InputError, match=r"can't read .*model\.safetensors"):
        open_model(folder)
    (folder / "model.safetensors").write_bytes(whole)
    (folder / "tokenizer.json").write_text('{"model": 1}')
    with pytest.raises(InputError, match="can't read the tokenizer"):
        open_model(folder)
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Transformer"}]))
    with pytest.raises(InputError, match="a sentence-transformers model with Transformer"):
        open_model(folder)
