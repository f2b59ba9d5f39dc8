"""Estimates of how long a report takes."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from siamese_cbow.paper import durations
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW


@dataclass(frozen=True)
class Training:
    """A recipe that takes two seconds plus a microsecond per word, by its own clock."""

    clock: SimpleNamespace
    epochs: int = 1
    dim: int = 300

    def train(self, stream: Stream, threads: int) -> int:
        self.clock.now += 2 + 1e-6 * stream.n_tokens
        self.clock.read.append(stream.n_tokens)
        return stream.n_tokens


@pytest.mark.parametrize(("n_sentences", "longest"), [(100_000, 512_000), (2_000, 20_000)])
def test_a_sample_grows_until_its_words_count(monkeypatch: pytest.MonkeyPatch, n_sentences: int, longest: int) -> None:
    clock = SimpleNamespace(now=0.0, read=[])
    monkeypatch.setattr(durations, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    stream = Stream.of_words([[["a"] * 10] * n_sentences])
    job: Any = SimpleNamespace(stream=stream, threads=1)
    fixed, a_word, model = durations._costs(Training(clock), job)
    assert fixed == pytest.approx(2.002)
    assert a_word == pytest.approx(1e-6)
    assert model == clock.read[-1] == longest  # .51 seconds more than the smallest sample, or the whole text


@pytest.mark.parametrize(("objective", "times"), [("softmax", 3.0), ("hinge", 3.0), ("contrastive", 1.0)])
def test_sampled_negatives_count_as_work(objective: Any, times: float) -> None:
    """Four negatives next to two positives; objectives that take them from the batch get them for free."""
    stream = Stream.of_words([[["a", "b"], ["b", "c"], ["c", "a"]]])
    recipe = SiameseCBOW(objective=objective, dim=300, negatives=4, epochs=1)
    assert durations._size(recipe, stream) == times * stream.n_tokens
