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


def evaluate(**options: Any) -> Any:
    pairs = sc.PairSet(0, "toy", (("the cat", "a dog"), ("cat sat", "dog"), ("cat", "the")), np.arange(3.0), "pairs")
    return sc.evaluate(**{"system": model(), "sets": [pairs], **options})


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
    "encode": lambda value: model().encode(value),
    "encode(threads)": lambda value: model().encode("the cat", threads=value),
    **{f"search({name})": with_option(search, name)
       for name in ("model", "k", "threshold", "before", "after", "mode", "text", "threads", "progress")},
    **{f"prepare({name})": with_option(prepare, name)
       for name in ("output", "min_count", "max_words", "vocabulary", "tokenizer", "text", "max_distinct", "threads",
                    "progress")},
    **{f"duplicates({name})": with_option(duplicates, name) for name in ("threshold", "text", "threads", "progress")},
    **{f"evaluate({name})": with_option(evaluate, name)
       for name in ("system", "sets", "protocol", "bootstrap", "adapt")},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_an_error_of_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("The cat sat.\nA dog ran.\nThe cat.\n")
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
