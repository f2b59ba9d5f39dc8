"""Arguments of a wrong type: every public function says what it expects, in an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow as sc

# None is often the default, and [] or "" has no wrong type where a list or a text is expected: those may succeed.
WRONG: tuple[Any, ...] = (None, 5, 2.5, True, [], {}, b"x", [None], [5], "", object())


def model() -> sc.Model:
    words = sc.Vocabulary(["the", "cat", "sat", "dog"], np.arange(4, 0, -1))
    return sc.Model(words, np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32))


def stream() -> sc.Stream:
    return sc.Stream.of_words([[["the", "cat"], ["cat", "sat"]]] * 4)


def with_option(call: Callable[..., Any], name: str) -> Callable[[Any], Any]:
    return lambda value: call(**{name: value})


def search(**options: Any) -> Any:
    return sc.search("cat", "notes.txt", **{"model": model(), "threads": 1, **options})


def prepare(**options: Any) -> Any:
    return sc.prepare("notes.txt", **{"min_count": 1, "threads": 1, **options})


def duplicates(**options: Any) -> Any:
    return list(sc.duplicates("notes.txt", **{"model": model(), "threads": 1, **options}))


def evaluated() -> sc.PairSet:
    return sc.PairSet(0, "toy", (("the cat", "a dog"), ("cat sat", "dog"), ("cat", "the")), np.arange(3.0), "pairs")


def evaluate(**options: Any) -> Any:
    return sc.evaluate(**{"system": model(), "sets": [evaluated()], "bootstrap": 2, **options})


def train(**options: Any) -> Any:
    recipe = sc.SiameseCBOW(dim=2, epochs=1, batch_size=4, subsample=0, common_directions=0)
    return recipe.train(stream(), **{"threads": 1, **options})


def reproduce(**options: Any) -> Any:
    return sc.reproduce(stream(), [evaluated()], "report", finished_only=True, **options)


def check_index(**options: Any) -> Any:
    return sc.Index.update("index", "notes.txt", model=model(), threads=1).check(**{"n_queries": 1, **options})


CALLS: dict[str, Callable[[Any], Any]] = {
    "load": sc.load,
    "load(kind)": lambda value: sc.load("notes.txt", kind=value),
    "prepare": lambda value: sc.prepare(value, threads=1),
    "SiameseCBOW": sc.SiameseCBOW,
    "SiameseCBOW.preset": sc.SiameseCBOW.preset,
    "read_recipe": sc.read_recipe,
    "write_recipe": lambda value: sc.write_recipe(value, "recipe.toml"),
    "write_recipe(path)": lambda value: sc.write_recipe(sc.SiameseCBOW(), value),
    "save": lambda value: sc.save(value, "out"),
    "save(path)": lambda value: sc.save(model(), value),
    "adapt": lambda value: sc.adapt(value, ["the cat"]),
    "adapt(texts)": lambda value: sc.adapt(model(), value),
    "combine": sc.combine,
    "combine(dim)": lambda value: sc.combine([model(), model()], dim=value),
    "combine(weights)": lambda value: sc.combine([model(), model()], weights=value),
    "combine(whiten)": lambda value: sc.combine([model(), model()], whiten=value),
    "compress": sc.compress,
    "compress(dtype)": lambda value: sc.compress(model(), value),
    "compress(dim)": lambda value: sc.compress(model(), dim=value),
    "postprocess": sc.postprocess,
    "postprocess(stream)": lambda value: sc.postprocess(model(), value, center=True),
    "postprocess(settings)": lambda value: sc.postprocess(model(), stream(), value),
    "search": lambda value: sc.search(value, "notes.txt", model=model()),
    "search(inputs)": lambda value: sc.search("cat", value, model=model()),
    "duplicates": lambda value: list(sc.duplicates(value, model=model())),
    "clusters": lambda value: sc.clusters(value, model=model()),
    "clusters(seed)": lambda value: sc.clusters("notes.txt", model=model(), seed=value),
    "Index": sc.Index,
    "Index.update": lambda value: sc.Index.update(value, "notes.txt", model=model()),
    "Index.update(inputs)": lambda value: sc.Index.update("index", value, model=model()),
    "Index.update(model)": lambda value: sc.Index.update("index", "nowhere.txt", model=value),
    "pairs": sc.pairs,
    "pairs(columns)": lambda value: sc.pairs("pairs.tsv", columns=value),
    "pairs(encoding)": lambda value: sc.pairs("pairs.tsv", encoding=value),
    "sts": sc.sts,
    "reproduce": lambda value: sc.reproduce(value, [], "report"),
    "reproduce(sets)": lambda value: sc.reproduce(stream(), value, "report"),
    "Stream.load": sc.Stream.load,
    "Mix": sc.Mix,
    "Mix(passes)": lambda value: sc.Mix([stream()], passes=value),
    "Mix.of": sc.Mix.of,
    "Corpus": lambda value: list(sc.Corpus(value).blocks()),
    "Vocabulary.of_words": sc.Vocabulary.of_words,
    "Vocabulary.of_counts": sc.Vocabulary.of_counts,
    "Vocabulary.read": sc.Vocabulary.read,
    "Vocabulary(words)": lambda value: sc.Vocabulary(value, np.zeros(0, np.int64)),
    "Vocabulary(counts)": lambda value: sc.Vocabulary(["a"], value),
    "ModelInfo.of": sc.ModelInfo.of,
    "Texts": sc.Texts,
    "Model": lambda value: sc.Model(value, np.zeros((1, 2), np.float32)),
    "Model(tokenizer)": lambda value: sc.Model(sc.Vocabulary(["a"], [1]), np.zeros((1, 2), np.float32), value),
    "PairSet": lambda value: sc.PairSet(0, "toy", value, np.arange(3.0)),
    "PairSet(gold)": lambda value: sc.PairSet(0, "toy", (("the cat", "a dog"),) * 3, value),
    "PairSet.text": lambda value: evaluated().text(value),
    "Stream.of_words": sc.Stream.of_words,
    "Stream.of_words(documents)": lambda value: sc.Stream.of_words([value]),
    "Stream.of_words(sentences)": lambda value: sc.Stream.of_words([[value]]),
    "Stream.of_words(words)": lambda value: sc.Stream.of_words([[[value]]]),
    "Stream.of_words(min_count)": lambda value: sc.Stream.of_words([[["a"]]], min_count=value),
    "Stream.load(part)": lambda value: sc.Stream.load("stream", part=value),
    "Stream.load(vocabulary)": lambda value: sc.Stream.load("stream", vocabulary=value),
    "Stream.in_pieces": lambda value: stream().in_pieces(value),
    "Stream.parts": lambda value: stream().parts(value),
    "Stream.part": lambda value: stream().part(value),
    "Tokenizer.words": lambda value: sc.Tokenizer().words(value),
    "Tokenizer(rule=1).words": lambda value: sc.Tokenizer(rule=1).words(value),
    "Tokenizer.from_settings": sc.Tokenizer.from_settings,
    "Tokenizer.to_json": sc.Tokenizer().to_json,
    "Vocabulary.of_counts(min_count)": lambda value: sc.Vocabulary.of_counts({"a": 1}, min_count=value),
    "Vocabulary.of_counts(max_words)": lambda value: sc.Vocabulary.of_counts({"a": 1}, max_words=value),
    "Vocabulary.of_counts(words)": lambda value: sc.Vocabulary.of_counts({"a": value}),
    "Vocabulary.read(languages)": lambda value: sc.Vocabulary.read("words.txt", languages=value),
    "Vocabulary.write": lambda value: model().vocabulary.write(value),
    "Vocabulary.frequent": lambda value: model().vocabulary.frequent(value),
    "load(keep)": lambda value: sc.load("vectors.txt", keep=value),
    "load(progress)": lambda value: sc.load("vectors.txt", progress=value),
    "pairs(progress)": lambda value: sc.pairs("pairs.tsv", progress=value),
    "sts(progress)": lambda value: sc.sts("nowhere", progress=value),
    "save(log)": lambda value: sc.save(model(), "out", log=value),
    "train(callbacks)": lambda value: train(callbacks=value),
    "train(a callback)": lambda value: train(callbacks=[value]),
    "train(progress)": lambda value: train(progress=value),
    "clusters(assigned)": lambda value: sc.clusters("notes.txt", model=model(), assigned=value),
    "Index.update(text)": lambda value: sc.Index.update("index", "notes.txt", model=model(), text=value),
    **{f"Index.check({name})": with_option(check_index, name) for name in ("n_queries", "k", "seed")},
    "reproduce(output)": lambda value: sc.reproduce(stream(), [evaluated()], value),
    **{f"reproduce({name})": with_option(reproduce, name)
       for name in ("seed", "tasks", "skip_thought_hours", "progress", "only")},
    "most_similar": lambda value: model().most_similar(value),
    "most_similar(negative)": lambda value: model().most_similar("cat", value),
    "neighbours": lambda value: model().neighbours(value),
    "nearest_words": lambda value: model().nearest_words(value, 2, ()),
    "vector": lambda value: model().vector(value),
    "counts_as": lambda value: model().counts_as(value),
    "made_of": lambda value: model().with_fallback("prefix").made_of(value),
    "word_row": lambda value: model().with_fallback("ngrams").word_row(value),
    "word_or_vector": lambda value: model().word_or_vector(value),
    "unknown_words": lambda value: model().unknown_words(value),
    "unknown_counts": lambda value: model().unknown_counts(value),
    "remark_on": lambda value: model().remark_on(value),
    "watch": lambda value: model().watch(value),
    "plot_words": lambda value: model().plot_words(value),
    "plot_similarity": lambda value: model().plot_similarity(value),
    "encode": lambda value: model().encode(value),
    "encode(threads)": lambda value: model().encode("the cat", threads=value),
    **{f"search({name})": with_option(search, name)
       for name in ("model", "k", "threshold", "before", "after", "mode", "text", "threads", "progress")},
    **{f"prepare({name})": with_option(prepare, name)
       for name in ("output", "min_count", "max_words", "vocabulary", "tokenizer", "text", "max_distinct", "threads",
                    "progress")},
    **{f"duplicates({name})": with_option(duplicates, name) for name in ("threshold", "text", "threads", "progress")},
    **{f"evaluate({name})": with_option(evaluate, name)
       for name in ("system", "sets", "protocol", "bootstrap", "adapt", "seed")},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_an_error_of_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("The cat sat.\nA dog ran.\nThe cat.\n")
    Path("words.txt").write_text("2 the\n1 cat\n")
    Path("vectors.txt").write_text("2 2\nthe 1 2\ncat 3 4\n")
    Path("pairs.tsv").write_text("the cat\ta dog\t1\ncat sat\tdog\t2\nthe\tcat\t3\n")
    n_refused = 0
    for value in WRONG:
        try:
            CALLS[name](value)
        except sc.SiameseCBOWError:
            n_refused += 1
    assert n_refused >= 5  # a few are valid for some functions


@pytest.mark.parametrize("threads", [0, -1, 2.5, True, "2", [2]])
def test_a_number_of_threads(threads: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The cat sat.\nA dog ran.\n")
    for call in (
        lambda: model().encode("the cat", threads=threads),
        lambda: model().encode(["the cat"], threads=threads),
        lambda: sc.search("cat", tmp_path / "notes.txt", model=model(), threads=threads),
        lambda: sc.SiameseCBOW(dim=2).train(stream(), threads=threads),
        lambda: sc.reproduce(stream(), [], tmp_path / "report", threads=threads),
    ):
        with pytest.raises(sc.SettingsError, match=r"threads is .*; expected a whole number, 1 or more"):
            call()


def test_progress_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The cat sat.\nA dog ran.\n")
    assert sc.search("cat", tmp_path / "notes.txt", model=model(), progress=True)
    assert list(sc.duplicates(tmp_path / "notes.txt", model=model(), progress=True))
    assert len(sc.Index.update(tmp_path / "index", tmp_path / "notes.txt", model=model(), progress=True)) == 2


def test_a_single_text_is_not_taken_for_its_letters(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("2 2\nthe 1 2\ncat 3 4\n")
    for call, expected in {
        lambda: sc.Stream.of_words([["the cat sat"]]): "sentence 0 of document 0 is 'the cat sat' .*; expected a list",
        lambda: sc.Vocabulary.of_words("cat"): "words is 'cat' .*; expected a list of words",
        lambda: sc.Vocabulary("cat", np.ones(3, np.int64)): "words is 'cat'",
        lambda: sc.PairSet(0, "toy", ("ab", "cd", "ef"), np.ones(3)): "pair 1 is 'ab'; expected two texts",
        lambda: sc.load(tmp_path / "vectors.txt", keep="the cat"): "keep is 'the cat'; expected several words",
    }.items():
        with pytest.raises(sc.SiameseCBOWError, match=expected):
            call()
    assert model().unknown_counts("the blorf") == {"blorf": 1}


def test_lists_and_numbers_of_numpy_are_as_good() -> None:
    pairs = [["the cat", "a dog"], ["cat sat", "dog"], ["cat", "the"]]
    assert sc.PairSet(0, "toy", [*pairs, ("a", "b")], [1, None, 2.5, 3], "pairs").n_scored == 3
    assert sc.Vocabulary(["the", "cat"], [2, 1]).to_text() == "2 the\n1 cat\n"
    assert sc.prepare([["the cat", "a cat"]], min_count=np.int64(1), threads=1).about["settings"]["min_count"] == 1
    assert model().most_similar("cat", None, topn=1) == model().most_similar(["cat"], topn=1)


def test_a_class_is_not_a_callback() -> None:
    with pytest.raises(sc.SettingsError, match=r"a callback is .*; expected an object: Callback\(\)"):
        train(callbacks=[sc.Callback])
    with pytest.raises(sc.InputError, match=r"callbacks is .*; expected a list of callbacks, such as \[Curve\(\)\]"):
        train(callbacks=sc.Callback())
