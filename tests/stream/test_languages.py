"""Translations: a vocabulary per language in one model, and sentences that are near their translations."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow import InputError, Model, SettingsError, SiameseCBOW, Stream, Vocabulary, load, prepare
from siamese_cbow.cli import main
from siamese_cbow.kernels.tables import ObjectiveName
from siamese_cbow.stream.preparation import WORDS_ONLY
from siamese_cbow.text import chunks
from siamese_cbow.text.records import TextSettings

GERMAN = TextSettings(kind="groups", languages=("en", "de"))
N_TOPICS, N_WORDS = 8, 12


class Heard:
    """Progress that remembers its messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def advance(self, amount: float, note: str = "") -> None:
        pass

    def say(self, message: str) -> None:
        self.messages.append(message)


def sentences(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Translations between two made-up languages: topic words, and `die`, which exists in both with separate rows."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n):
        topic = rng.integers(N_TOPICS)
        words = rng.choice(N_WORDS, 4, replace=False)
        english = ["The", "die", *(f"bo{topic}x{word}" for word in words)]
        german = [*(f"Zü{topic}x{word}" for word in rng.permutation(words)), "die", "ge"]
        pairs.append((" ".join(english), " ".join(german)))
    return pairs


def written(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), encoding="utf-8")
    return path


def words_of(stream: Stream) -> list[list[list[str]]]:
    """Documents as sentences of words, read back from the ids."""
    words = [stream.vocabulary.words[i] for i in stream.ids]
    members = [words[a:b] for a, b in zip(stream.sentences[:-1], stream.sentences[1:], strict=True)]
    return [members[a:b] for a, b in zip(stream.documents[:-1], stream.documents[1:], strict=True)]


@pytest.fixture(scope="module")
def stream() -> Stream:
    return prepare(iter([list(pair) for pair in sentences(2000)]), text=GERMAN)


@pytest.fixture(scope="module")
def model(stream: Stream) -> Model:
    return SiameseCBOW(dim=24, epochs=4, subsample=0).train(stream)


# from text to ids


def test_each_language_has_words_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.tsv", [("the cat die", "die Katze"), ("the cat", "die Katze die")])
    heard = Heard()
    stream = prepare(path, min_count=1, text=GERMAN, progress=heard)
    assert stream.vocabulary.words == ["en:cat", "en:the", "en:die", "de:die", "de:katze"]
    assert stream.vocabulary.counts.tolist() == [2, 2, 1, 3, 2]
    assert stream.vocabulary.languages == ("en", "de")
    assert words_of(stream) == [
        [["en:the", "en:cat", "en:die"], ["de:die", "de:katze"]],
        [["en:the", "en:cat"], ["de:die", "de:katze", "de:die"]],
    ]
    assert {"en: 3 words", "de: 2 words"} <= set(heard.messages)


def test_limits_apply_to_each_language(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.tsv", [("a a a b b c", "x x y"), ("a b", "x y")])
    assert prepare(path, min_count=3, text=GERMAN).vocabulary.words == ["en:a", "en:b", "de:x"]
    assert prepare(path, min_count=1, max_words=1, text=GERMAN).vocabulary.words == ["en:a", "de:x"]
    with pytest.raises(InputError, match=r"language de: no word occurs 4 times .most frequent: 'x', 3."):
        prepare(path, min_count=4, text=GERMAN)


phrases = st.lists(st.sampled_from(["die", "a", "Ü b", "c", "?", "\u200b"]), min_size=1).map(" ".join)


@settings(max_examples=50)
@given(rows=st.lists(st.tuples(phrases, phrases, phrases), min_size=1), min_count=st.integers(1, 2))
def test_equals_plain_python(rows: list[tuple[str, str, str]], min_count: int) -> None:
    languages = ("en", "de", "fr")
    groups = [
        [[f"{code}:{word}" for word in WORDS_ONLY.words(phrase)] for code, phrase in zip(languages, row, strict=True)]
        for row in rows
    ]
    expected = Stream.of_words(groups, min_count=min_count, kind="groups")
    text = TextSettings(kind="groups", languages=languages)
    if not all(any(word.startswith(code) for word in expected.vocabulary.words) for code in languages):
        with pytest.raises(InputError):
            prepare(iter(map(list, rows)), min_count=min_count, text=text)
        return
    stream = prepare(iter(map(list, rows)), min_count=min_count, text=text)
    assert words_of(stream) == words_of(expected)
    assert stream.vocabulary.index.keys() == expected.vocabulary.index.keys()
    assert all(stream.vocabulary.counts[stream.vocabulary.index[word]] == count
               for word, count in zip(expected.vocabulary.words, expected.vocabulary.counts, strict=True))  # fmt: skip
    assert stream.kind == "groups"


@pytest.mark.parametrize("max_distinct", [16_000_000, 1200], ids=["all-words", "forgetting"])
def test_same_bytes_on_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_distinct: int
) -> None:
    monkeypatch.setattr(chunks.TextStream.reads, "__defaults__", (3000,))
    rng = np.random.default_rng(0)
    numbers = rng.zipf(1.3, (1500, 2, 6)) % 4000
    numbers[:, 1, 3:] %= 50  # one language has fewer words, so it forgets at other times
    pairs = [(" ".join(f"w{i}" for i in a), " ".join(f"w{i}" for i in b)) for a, b in numbers.tolist()]
    path = written(tmp_path / "pairs.tsv", pairs)
    hashes = []
    for threads in (1, 2, 3, 8):
        output = tmp_path / f"stream{threads}"
        stream = prepare(path, output=output, min_count=2, text=GERMAN, threads=threads, max_distinct=max_distinct)
        hashes.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in output.iterdir()})
    assert all(each == hashes[0] for each in hashes)
    assert (stream.about["n_forgotten"] > 0) == (max_distinct == 1200)
    known = set(stream.vocabulary.words)
    texts = [[f"{code}:{word}" for code, phrase in zip(("en", "de"), pair, strict=True) for word in phrase.split()]
             for pair in pairs]  # fmt: skip
    expected = [word for text in texts for word in text if word in known]
    found = [stream.vocabulary.words[i] for i in stream.ids]
    if max_distinct > 1200:
        assert found == expected
    else:  # tokens of forgotten words are missing, the others are in order
        later = iter(expected)
        assert all(word in later for word in found)
        assert len(found) > 0.5 * len(expected)


def test_other_numbers_of_columns_are_left_out_and_reported(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\nalone\na\tb\tCC-BY\n\na\t\n\tb\nc\td\n")
    heard = Heard()
    stream = prepare(tmp_path / "pairs.tsv", min_count=1, text=GERMAN, progress=heard)
    assert stream.n_documents == 2
    said = [message for message in heard.messages if "skipped" in message]
    where = ", ".join(f"{tmp_path / 'pairs.tsv'} line {number}" for number in (2, 3, 5))
    assert said == [f"skipped 4 lines without a phrase for each of en, de (first: {where})"]


@pytest.mark.parametrize("rows", ["a\tb\tCC-BY\nc\td\tCC-BY\n", "a\n", "a\t\n"])
def test_a_file_without_a_line_for_the_languages(tmp_path: Path, rows: str) -> None:
    (tmp_path / "pairs.tsv").write_text(rows)
    with pytest.raises(InputError, match=r"has 2 phrases in 2 columns.*the most columns: \d.*cut -f1,2"):
        prepare(tmp_path / "pairs.tsv", text=GERMAN)
    with pytest.raises(InputError, match="none of the first rows of the iterable has 2 phrases"):
        prepare(iter([row.split("\t") for row in rows.splitlines()]), text=GERMAN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"languages": ("en", "de")}, "kind is 'text'; only groups have languages: --kind groups"),
        ({"kind": "groups", "languages": ("en", "en")}, "languages are en,en; expected two or more distinct ones"),
        ({"kind": "groups", "languages": ["en"]}, "languages are en; expected two or more"),
        ({"kind": "groups", "languages": ("en", "d:e")}, "language is 'd:e'; expected auto"),
        ({"kind": "groups", "languages": ("en", "d e")}, "language is 'd e'; expected auto"),
        ({"kind": "groups", "languages": ("en", "")}, "language is ''; expected auto"),
        ({"kind": "groups", "languages": "en,de"}, "languages is the string 'en,de'; expected a list"),
    ],
)
def test_bad_languages(options: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TextSettings(**options)  # type: ignore[arg-type]


def test_a_vocabulary_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.tsv", [("the die cat", "die katze")])
    given = Vocabulary(["de:die", "en:cat", "en:die", "de:hund", "en:the"], np.arange(5))
    stream = prepare(path, vocabulary=given, text=GERMAN)
    assert stream.vocabulary.words == given.words
    assert words_of(stream) == [[["en:the", "en:die", "en:cat"], ["de:die"]]]
    with pytest.raises(InputError, match=r"the word 'cat' of the given vocabulary has no language.*en: or de:"):
        prepare(path, vocabulary=Vocabulary.of_words(["en:the", "cat"]), text=GERMAN)
    with pytest.raises(InputError, match="language de: no word of the text is among the 0"):
        prepare(path, vocabulary=Vocabulary.of_words(["en:the"]), text=GERMAN)


def test_the_vocabulary_of_a_loaded_model_can_be_given(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "joint")
    known = load(tmp_path / "joint").vocabulary
    stream = prepare(iter([list(pair) for pair in sentences(20)]), vocabulary=known, text=GERMAN)
    assert stream.vocabulary == known
    assert stream.vocabulary.languages == ("en", "de")


def test_load_and_up_to_date(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.tsv", sentences(50))
    stream = prepare(path, output=tmp_path / "stream", text=GERMAN)
    assert Stream.load(tmp_path / "stream").vocabulary == stream.vocabulary
    heard = Heard()
    prepare(path, output=tmp_path / "stream", text=GERMAN, progress=heard)
    assert "up to date" in heard.messages[0]
    turned = TextSettings(kind="groups", languages=("en", "nl"))
    with pytest.raises(InputError, match=r"other text or settings \(text\).*--restart"):
        prepare(path, output=tmp_path / "stream", text=turned)
    again = prepare(path, output=tmp_path / "stream", text=turned, restart=True)
    assert again.vocabulary.languages == ("en", "nl")
    assert again.fingerprint != stream.fingerprint


# from ids to vectors


def found_translations(model: Model) -> float:
    """The share of new sentences that are nearer to their translation than to any other sentence."""
    pairs = list(dict.fromkeys(sentences(60, seed=1)))
    english = model.language("en").encode([a for a, _ in pairs])
    german = model.language("de").encode([b for _, b in pairs])
    return float((model.similarity(english, german).argmax(axis=1) == np.arange(len(pairs))).mean())


@pytest.mark.parametrize("objective", get_args(ObjectiveName))
def test_a_translation_is_nearest(stream: Stream, objective: ObjectiveName) -> None:
    recipe = SiameseCBOW(dim=24, epochs=10, objective=objective, negatives=5, subsample=0)
    found = found_translations(recipe.train(stream))
    assert found > (0.95 if objective in ("contrastive", "margin") else 0.6)  # by chance: 0.02


def test_words_are_near_their_translations(model: Model) -> None:
    nearest = [model.neighbours(f"en:bo{topic}x{word}", k=30) for topic in range(N_TOPICS) for word in range(N_WORDS)]
    german = [next(word for word, _ in found if word.startswith("de:")) for found in nearest]
    expected = [f"de:zü{topic}x{word}" for topic in range(N_TOPICS) for word in range(N_WORDS)]
    assert np.mean(np.array(german) == np.array(expected)) > 0.9


# the model of several languages


def test_a_language_is_a_model_of_its_own(model: Model) -> None:
    assert model.languages == model.info["languages"] == ["en", "de"]
    german = model.language("de")
    assert german.languages == []
    assert german.info["language"] == "de"
    assert german.info["recipe"] == model.info["recipe"]
    assert "haus" not in german
    assert "die" in german
    assert "de:die" in model
    np.testing.assert_array_equal(german.vector("die"), model.vector("de:die"))
    assert np.shares_memory(german.vectors, model.vectors)
    assert not np.array_equal(german.vector("die"), model.language("en").vector("die"))
    assert german.encode("Die ge").any()
    assert german.unknown_words("the die") == ["the"]
    assert "of en, de in 24" in repr(model)


def test_scattered_words_are_gathered() -> None:
    vocabulary = Vocabulary(["de:b", "en:a", "de:a"], np.array([3, 2, 1]), ("en", "de", "fr"))
    model = Model(vocabulary, np.eye(3, dtype=np.float32))
    german = model.language("de")
    assert german.vocabulary == Vocabulary(["b", "a"], np.array([3, 1]))
    assert german.encode("a").tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="at least one word"):
        model.language("fr")


def test_texts_without_a_language_are_refused(model: Model) -> None:
    message = r'this model has 2 languages .en, de.*model.language."en".'
    for call in (
        lambda: model.encode("die"),
        lambda: model.encode([]),
        lambda: model.similarity("die", "die"),
        lambda: model.neighbours("die ge"),
        lambda: model.unknown_words("die"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    with pytest.raises(InputError, match="carry their language: 'en:die'"):
        model.vector("die")
    with pytest.raises(InputError, match="language is 'fr'; expected one of en, de"):
        model.language("fr")
    assert model.language("de").language("German").languages == []
    with pytest.raises(
        InputError, match=r"language is 'en', but this model has only one language, German \(de\); drop the option"
    ):
        model.language("de").language("en")


def test_saved_and_loaded(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "joint")
    again = load(tmp_path / "joint", verify=True)
    assert again == model
    assert again.languages == ["en", "de"]
    assert again.language("de") == model.language("de")
    assert '.language("en")' in (tmp_path / "joint" / "README.md").read_text("utf-8")
    again.language("de").save(tmp_path / "german")
    alone = load(tmp_path / "german")
    assert alone == model.language("de")
    words = json.loads((tmp_path / "german" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert words["die"] == alone.vocabulary.index["die"]
    assert "SentenceTransformer" in (tmp_path / "german" / "README.md").read_text("utf-8")


# the command line


@pytest.fixture
def folder(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model.save(tmp_path / "joint")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / "joint"))
    return tmp_path


def test_from_text_to_model(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.tsv", sentences(100))
    stream, joint = str(tmp_path / "stream"), str(tmp_path / "joint")
    main(["prepare", str(path), "-o", stream, "--kind", "groups", "--languages", "en, de", "--min-count", "1"])
    main(["train", stream, "-o", joint, "--dim", "8", "--objective", "margin"])
    assert load(joint).languages == ["en", "de"]


def test_language_option(model: Model, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (a, b), (c, _) = sentences(2)
    english, german = model.language("en"), model.language("de")
    main(["similarity", a, c, "--language", "en"])
    assert capsys.readouterr().out == f"{english.similarity(a, c):.6f}\n"
    main(["similarity", a, b, "--language", "en", "--other-language", "de"])
    crossed = float(model.similarity(english.encode(a), german.encode(b))[0, 0])
    assert capsys.readouterr().out == f"{crossed:.6f}\n"
    main(["similarity", "--file", str(written(folder / "pairs.tsv", [(a, b)])), "--language", "en",
          "--other-language", "de"])  # fmt: skip
    assert capsys.readouterr().out == f"{crossed:.6f}\n"
    main(["neighbours", "zü0x1", "--language", "de", "-k", "3", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["word"] for row in rows] == [word for word, _ in german.neighbours("zü0x1", k=3)]
    (folder / "lines.txt").write_text("die\nge\n")
    main(["encode", str(folder / "lines.txt"), "-o", str(folder / "out.npy"), "--language", "de"])
    np.testing.assert_array_equal(np.load(folder / "out.npy"), german.encode(["die", "ge"]))
    main(["info", "--json"])
    described = json.loads(capsys.readouterr().out)
    assert described["languages"] == ["en", "de"]
    assert {"en:die", "de:die"} <= described["frequent"].keys()
    main(["info", "--json", "--language", "de"])
    assert json.loads(capsys.readouterr().out)["language"] == "de"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similarity", "die", "ge"], "--language"),
        (["similarity", "die", "ge", "--language", "fr"], "expected one of en, de"),
        (["similarity", "die", "ge", "--language", "en", "--other-language", "fr"], "expected one of en, de"),
        (["neighbours", "die"], "--language"),
        (["encode", "-"], "--language"),
        (["prepare", "a.tsv", "-o", "a", "--languages", "en,de"], "--kind groups"),
        (["prepare", "a.tsv", "-o", "a", "--languages", "en,,de", "--kind", "groups"], "language is ''"),
    ],
)
def test_mistakes_are_clear(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
