"""Several streams in one training run: every batch, one order, all words; runs stop and resume."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.stream.mix import Mix, joined
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training.loop import Callback, Run, train
from siamese_cbow.training.plan import ROUND, Schedule, plan_of
from siamese_cbow.training.recipe import Saving
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

RECIPE = SiameseCBOW(dim=16, batch_size=16, epochs=2, subsample=0.01)


def world(kind: str, topics: str, *, n_documents: int, seed: int = 0) -> Stream:
    """Documents or pairs that keep to one topic each; a topic is a letter, its words are a0 a1 ..."""
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(n_documents):
        topic = topics[rng.integers(len(topics))]
        size = 2 if kind == "groups" else rng.integers(2, 7)
        documents.append([["the", *(f"{topic}{i}" for i in rng.integers(10, size=5))] for _ in range(size)])
    return Stream.of_words(documents, kind=kind)  # type: ignore[arg-type]


TEXT, PAIRS = world("text", "abcd", n_documents=120), world("groups", "cdef", n_documents=150, seed=1)


def digest(run: Run) -> str:
    return hashlib.blake2b(b"".join(array.tobytes() for array in run.state.arrays().values())).hexdigest()


class Every(Callback):
    every = 1


sizes = st.lists(st.integers(1, 3 * ROUND), min_size=1, max_size=3)


@given(sizes, st.data())
def test_every_batch_of_every_stream_comes_as_often_as_asked_for(sizes: list[int], data: st.DataObject) -> None:
    passes = data.draw(st.lists(st.integers(1, 3), min_size=len(sizes), max_size=len(sizes)))
    schedule, seen = Schedule(sizes, passes), Counter[tuple[int, int, int]]()
    for epoch in range(2):
        batch = 0
        while batch < schedule.n_batches:
            stream, turn, first, n = schedule.stretch(epoch, batch)
            seen.update((stream, turn, first + i) for i in range(n))
            batch += n
        assert batch == schedule.n_batches
    expected = {(k, turn, i) for k, size in enumerate(sizes) for turn in range(2 * passes[k]) for i in range(size)}
    assert seen == Counter(expected)


@given(sizes, st.floats(0.05, 4), st.integers(0, 3), st.floats(0, 0.999))
def test_a_stretch_does_not_depend_on_where_one_begins(sizes: list[int], passes: float, epoch: int, at: float) -> None:
    schedule = Schedule(sizes, [passes] * len(sizes))
    batch = int(at * schedule.n_batches)
    stream, turn, first, n = schedule.stretch(epoch, batch)
    assert 1 <= n <= sizes[stream] - first
    if n > 1:
        assert schedule.stretch(epoch, batch + 1) == (stream, turn, first + 1, n - 1)


def test_a_round_takes_its_share_of_each_stream():
    schedule = Schedule([9 * ROUND, 3 * ROUND], [1, 1])
    assert schedule.stretch(0, 0) == (0, 0, 0, 192)
    assert schedule.stretch(0, 192) == (1, 0, 0, 64)
    assert schedule.stretch(0, 256) == (0, 0, 192, 192)
    with pytest.raises(IndexError):
        schedule.stretch(0, 12 * ROUND)


def test_a_part_of_a_stream_continues_in_the_next_epoch():
    schedule = Schedule([10, 10], [1, 0.25])
    assert schedule.n_batches == 12
    assert [schedule.stretch(epoch, 10) for epoch in (0, 1, 5)] == [(1, 0, 0, 2), (1, 0, 2, 2), (1, 1, 0, 2)]


def test_words_are_joined_and_their_counts_added():
    first, second = Vocabulary.of_counts({"the": 3, "cat": 1}), Vocabulary.of_counts({"the": 2, "dog": 4})
    assert joined([first, second]).to_text() == "5 the\n4 dog\n1 cat\n"
    assert joined([first, Vocabulary.of_counts({"the": 3, "cat": 1})]) is first, "a text with the counts of another"
    foreign = joined([first, Vocabulary.of_words(["owl"])])
    assert foreign.to_text() == "3 the\n1 cat\n0 owl\n", "a word without a count is not lost"
    german = Vocabulary.joint({"en": first, "de": Vocabulary.of_counts({"haus": 9})})
    more = Vocabulary.joint({"en": second, "de": Vocabulary.of_counts({"hund": 10})})
    both = joined([german, more])
    assert list(both.words) == ["en:the", "en:dog", "en:cat", "de:hund", "de:haus"]
    assert both.languages == ("en", "de")


def test_incompatible_streams_are_refused_with_the_reason():
    with pytest.raises(SettingsError, match="1 value in passes for 2 streams; expected one for each"):
        Mix([TEXT, PAIRS], passes=[2])
    for wrong in (0, -1, float("nan"), True):
        with pytest.raises(SettingsError, match="expected numbers above 0"):
            Mix([TEXT], passes=[wrong])
    with pytest.raises(SettingsError, match="no stream"):
        Mix([])
    with pytest.raises(
        InputError, match=r"stream 2 was tokenised differently from stream 1 .* prepare both with the same"
    ):
        RECIPE.train([TEXT, replace(PAIRS, tokenizer=Tokenizer("whitespace", lowercase=True))])
    german = replace(PAIRS.vocabulary, languages=("en", "de"))
    with pytest.raises(InputError, match="stream 2 has the languages en,de but stream 1 has none"):
        RECIPE.train([TEXT, replace(PAIRS, vocabulary=german)])
    with pytest.raises(InputError, match="every group of the stream has only one sentence"):
        RECIPE.train([TEXT, Stream.of_words([[["a"]], [["b"]]], kind="groups")])


def test_what_a_mix_is_called():
    assert Mix([TEXT]).fingerprint == TEXT.fingerprint
    prints = {Mix(parts, passes).fingerprint for parts in ([TEXT, PAIRS], [PAIRS, TEXT]) for passes in ([1, 1], [1, 2])}
    assert len(prints) == 4
    assert Mix([TEXT, PAIRS], [1, 0.5]).n_tokens == round(TEXT.n_tokens + PAIRS.n_tokens / 2)
    assert Mix([TEXT]).about() == {"fingerprint": TEXT.fingerprint, "n_tokens": TEXT.n_tokens}
    parts = Mix([TEXT, PAIRS], [1, 0.5]).about()["streams"]
    assert [(part["kind"], part["passes"]) for part in parts] == [("text", 1), ("groups", 0.5)]
    assert repr(Mix([TEXT])) == repr(TEXT)
    assert "0.5 x <Stream" in repr(Mix([TEXT, PAIRS], [1, 0.5]))


@pytest.mark.parametrize("recipe", [RECIPE, SiameseCBOW.paper(dim=16, epochs=2, learning_rate=0.1)])
def test_the_same_bytes_on_any_number_of_threads_and_wherever_chunks_end(recipe: SiameseCBOW) -> None:
    mix = Mix([TEXT, PAIRS], passes=[1, 2.5])
    digests = {digest(train(plan_of(recipe, mix), threads=threads)) for threads in (1, 3)}
    digests.add(digest(train(plan_of(recipe, mix), callbacks=[Every()])))
    assert len(digests) == 1
    assert digests != {digest(train(plan_of(recipe, [TEXT, PAIRS])))}


def test_a_mix_of_one_is_the_stream():
    assert digest(train(plan_of(RECIPE, [TEXT]))) == digest(train(plan_of(RECIPE, TEXT)))
    twice = train(plan_of(replace(RECIPE, epochs=1), Mix([TEXT], [2])))
    assert digest(twice) == digest(train(plan_of(RECIPE, TEXT))), "two passes of an epoch are two epochs of a pass"


def test_both_are_learnt_from_and_all_words_are_kept():
    model = replace(RECIPE, epochs=8, common_directions=0).train([TEXT, PAIRS])
    assert set(model.vocabulary.words) == {*TEXT.vocabulary.words, *PAIRS.vocabulary.words}
    assert model.info["trained"]["words"] == 8 * (TEXT.n_tokens + PAIRS.n_tokens)
    units = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    by_topic = {t: [model.vocabulary.index[f"{t}{i}"] for i in range(10)] for t in "abcdef"}
    means = {t: units[ids].mean(0) for t, ids in by_topic.items()}
    for topics in ("abcd", "cdef"):  # topics that were contrasted with each other
        for topic in topics:
            own = (units[by_topic[topic]] @ means[topic]).mean()
            assert own > max((units[by_topic[topic]] @ means[o]).mean() for o in topics if o != topic) + 0.3, topic


def test_other_ids_are_translated():
    """A stream with the same words under other ids gives the same training run."""
    order = np.random.default_rng(0).permutation(len(PAIRS.vocabulary))
    back = np.argsort(order).astype(np.int32)
    shuffled = replace(
        PAIRS,
        ids=back[PAIRS.ids],
        vocabulary=Vocabulary([PAIRS.vocabulary.words[i] for i in order], PAIRS.vocabulary.counts[order]),
    )
    assert digest(train(plan_of(RECIPE, [TEXT, shuffled]))) == digest(train(plan_of(RECIPE, [TEXT, PAIRS])))


class Crash(Callback):
    every = 13

    def on_batch(self, run: Run) -> None:
        if run.state.counters.step >= 39:
            raise RuntimeError("crash")


def test_it_resumes_after_a_crash(tmp_path: Path) -> None:
    mix = Mix([TEXT, PAIRS], passes=[1, 3])
    whole = train_into(tmp_path / "whole", RECIPE, mix)
    often = Saving(checkpoint_minutes=0)
    with pytest.raises(RuntimeError, match="crash"):
        train_into(tmp_path / "model", RECIPE, mix, saving=often, callbacks=[Crash()])
    assert list((tmp_path / "model" / "training").glob("checkpoint-*"))
    with pytest.raises(InputError, match=r"unfinished run with other settings \(corpus\)"):
        train_into(tmp_path / "model", RECIPE, [TEXT, PAIRS])
    gone_on = train_into(tmp_path / "model", RECIPE, mix, threads=3)
    assert gone_on.vectors.tobytes() == whole.vectors.tobytes()
    for name in ("training.jsonl", "model.safetensors", "vocabulary.txt"):
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"the cat number {i} sat.\nthe dog {i} ran.\n\n" for i in range(30))
    (tmp_path / "text.txt").write_text(lines)
    (tmp_path / "pairs.tsv").write_text("".join(f"a cat {i} slept\ta feline {i} slept\n" for i in range(30)))
    prepare(tmp_path / "text.txt", output=tmp_path / "text", min_count=2, text=TextSettings(layout="sentences"))
    prepare(tmp_path / "pairs.tsv", output=tmp_path / "pairs", min_count=2, text=TextSettings(kind="groups"))
    streams = [str(tmp_path / "text"), str(tmp_path / "pairs")]
    options = ["--dim", "8", "--batch-size", "8", "-o", str(tmp_path / "model")]
    main(["train", *streams, *options, "--passes", "1,2", "--dry-run"])
    planned = capsys.readouterr().out
    assert "2 x <Stream" in planned
    assert "words in all" in planned
    for _ in range(2):
        main(["train", *streams, *options, "--passes", "1,2"])
    assert "up to date" in capsys.readouterr().err
    assert {"dog", "feline"} <= set(sc.load(tmp_path / "model").vocabulary.words)
    for passes, message in (("1", "1 value in passes for 2 streams"), ("1,two", "expected comma-separated numbers")):
        with pytest.raises(SystemExit) as stop:
            main(["train", *streams, *options, "--passes", passes])
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
