"""Skip-thought: the paper's equations, training, resuming, encoding, expansion, saving."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.baselines.skip_thought import (
    encoder as encoder_module,
)
from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder, load_encoder
from siamese_cbow.baselines.skip_thought.examples import Examples, pack
from siamese_cbow.baselines.skip_thought.parts import Direction, Part, read_sentence
from siamese_cbow.baselines.skip_thought.published import expand, linear_map
from siamese_cbow.baselines.skip_thought.run import SkipThought
from siamese_cbow.errors import FormatError, InputError, MissingExtra, SettingsError
from siamese_cbow.evaluation.systems import open_system
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

torch = pytest.importorskip("torch")

from siamese_cbow.baselines.skip_thought import network as network_module  # noqa: E402 (they need torch)
from siamese_cbow.baselines.skip_thought.learning import (  # noqa: E402
    Matrix,
    RowTable,
    Sampler,
    full_loss,
    sampled_loss,
)
from siamese_cbow.baselines.skip_thought.network import Network, gru  # noqa: E402

SMALL = SkipThought(dim=16, dim_word=8, samples=20, batch_size=16, max_tokens=None, learning_rate=0.02)
TOPICS = (["sun", "moon", "star", "sky", "comet", "orbit"], ["bread", "soup", "salt", "oven", "spoon", "flour"])
RANDOM = np.random.default_rng


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def toy_stream(n_documents: int = 60, *, kind: Any = "text") -> Stream:
    """Documents of 6 sentences, each on one topic, with function words in between."""
    random = RandomText(3)
    return Stream.of_words(
        [[random.sentence(topic) for _ in range(6)] for topic in random.topics(n_documents)], kind=kind
    )


class RandomText:
    def __init__(self, seed: int) -> None:
        self._random = RANDOM(seed)

    def topics(self, n: int) -> list[list[str]]:
        return [TOPICS[i] for i in self._random.integers(2, size=n)]

    def sentence(self, topic: list[str]) -> list[str]:
        length = int(self._random.integers(3, 8))
        return [str(self._random.choice(["the", "and"] if i % 2 else topic)) for i in range(length)]


@pytest.fixture(scope="module")
def stream() -> Stream:
    return toy_stream()


@pytest.fixture(scope="module")
def trained(stream: Stream) -> SkipThoughtEncoder:
    torch.set_num_threads(1)
    return replace(SMALL, epochs=5).train(stream, threads=1)


def arrays(encoder: SkipThoughtEncoder) -> list[bytes]:
    return [array.tobytes() for part in encoder.parts for array in part.arrays().values()]


# packing


def test_packing_shows_the_words_in_columns() -> None:
    packed = pack(np.array([5, 6, 1, 2, 3]), np.array([0, 2, 5]))  # "5 6" and "1 2 3"
    assert packed.ids.tolist() == [1, 5, 2, 6, 3]
    assert packed.sizes == [2, 2, 1]
    assert packed.order.tolist() == [1, 0]
    assert packed.ids[packed.last].tolist() == [3, 6]
    assert packed.ids[packed.backward].tolist() == [3, 6, 2, 5, 1]
    assert packed.before.tolist() == [1, 5, 2]


@pytest.mark.parametrize(("n", "at_least"), [(40, 1), (40, 8), (3, 8), (1, 4)])
def test_packing_any_lengths(n: int, at_least: int) -> None:
    lengths = RANDOM(1).integers(1, 9, size=n)
    offsets = np.cumsum([0, *lengths])
    ids = np.arange(offsets[-1])
    packed = pack(ids, offsets, at_least=at_least)
    assert min(packed.sizes) >= at_least
    assert packed.ids[packed.last].tolist() == (offsets[1:] - 1)[packed.order].tolist()
    for given, again in ((packed.ids, lambda s: s), (packed.ids[packed.backward], lambda s: s[::-1])):
        steps = np.split(given, np.cumsum(packed.sizes)[:-1])
        for i, sentence in enumerate(packed.order):
            words = [step[i] for step in steps[: lengths[sentence]]]
            assert words == again(ids[offsets[sentence] : offsets[sentence + 1]]).tolist()


# the equations


def random_direction(dim_word: int, dim: int, *, bias: bool = False, seed: int = 0) -> Direction:
    random = RANDOM(seed)

    def array(*shape: int) -> np.ndarray:
        return random.normal(size=shape).astype(np.float32) / 2

    return Direction(array(dim_word, 3 * dim), array(dim, 2 * dim), array(dim, dim), array(3 * dim) if bias else None)


@pytest.mark.parametrize("reset_first", [True, False])
@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_encoding_is_the_papers_equations(monkeypatch: pytest.MonkeyPatch, reset_first: bool, chunk: int) -> None:
    monkeypatch.setattr(network_module, "CHUNK", chunk)
    ways = (random_direction(5, 4, bias=not reset_first), random_direction(5, 3, bias=not reset_first, seed=1))
    table = RANDOM(2).normal(size=(9, 5)).astype(np.float32)
    part = Part(table, table[0] + 1, table[1] - 1, ways, reset_first)
    sentences = [RANDOM(i).integers(0, 9, size=n) for i, n in enumerate((3, 1, 12, 3, 5))]
    packed = pack(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))
    found = network_module.last_states(part, packed)
    for row, place in enumerate(packed.order):
        words = table[sentences[place]]
        expected = [
            read_sentence(ways[0], words, reset_first=reset_first),
            read_sentence(ways[1], words[::-1], reset_first=reset_first),
        ]
        np.testing.assert_allclose(found[row], np.concatenate(expected), atol=2e-6)


def test_reset_last_is_the_gru_of_pytorch() -> None:
    way = random_direction(5, 4)
    theirs = torch.nn.GRU(5, 4, bias=False)
    r, z, g = np.split(way.inputs, 3, axis=1)
    u_r, u_z = np.split(way.gates, 2, axis=1)
    with torch.no_grad():  # its z is our 1 - z
        theirs.weight_ih_l0.copy_(torch.from_numpy(np.concatenate([r, -z, g], axis=1).T))
        theirs.weight_hh_l0.copy_(torch.from_numpy(np.concatenate([u_r, -u_z, way.candidate], axis=1).T))
        words = torch.from_numpy(RANDOM(1).normal(size=(6, 5)).astype(np.float32))
        _, last = theirs(words[:, None])
    np.testing.assert_allclose(last[0, 0], read_sentence(way, words.numpy(), reset_first=False), atol=1e-6)


@pytest.mark.parametrize("with_context", [True, False])
def test_gradients_of_the_gru(with_context: bool) -> None:
    random = RANDOM(0)
    sizes, dim = (4, 3, 3, 1), 3

    def variable(*shape: int) -> Any:
        return torch.from_numpy(random.normal(size=shape)).requires_grad_()

    context = variable(4, 3 * dim) if with_context else None
    given = [variable(sum(sizes), 3 * dim), variable(dim, 2 * dim), variable(dim, dim)]

    def states(inputs: Any, gates: Any, candidate: Any, *context: Any) -> Any:
        return gru(
            inputs, sizes, torch.zeros(4, dim).double(), gates, candidate, context=context[0] if context else None
        )

    assert torch.autograd.gradcheck(states, [*given, context] if with_context else given)


def plain_loss(network: Any, words: np.ndarray, output: np.ndarray, document: list[list[int]], end: int) -> float:
    """The objective of the paper in a NumPy loop: -log p of each word of the sentences next to each sentence.

    words, output  vectors of the words that are read and predicted, one per row
    """
    p = {name: value.detach().numpy().astype(np.float64) for name, value in network.named_parameters()}

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    total = 0.0
    for i, sentence in enumerate(document):
        read = words[[*sentence, end]]
        states = []
        for number in range(len(network.encoders)):
            names = (f"encoders.{number}.{name}" for name in ("inputs", "gates", "candidate"))
            states.append(read_sentence(Direction(*(p[name] for name in names)), read[:: -1 if number else 1]))
        state = np.concatenate(states)
        for number, beside in ((0, i - 1), (1, i + 1)):
            if not 0 <= beside < len(document):
                continue
            w_r, w_z, w = np.split(p[f"decoders.{number}.inputs"], 3, axis=1)
            u_r, u_z = np.split(p[f"decoders.{number}.gates"], 2, axis=1)
            u, (c_r, c_z, c) = p[f"decoders.{number}.candidate"], np.split(state @ p[f"decoders.{number}.context"], 3)
            h, x = np.zeros(len(u)), np.zeros(words.shape[1])
            for word in [*document[beside], end]:
                r = sigmoid(x @ w_r + h @ u_r + c_r)
                z = sigmoid(x @ w_z + h @ u_z + c_z)
                h = (1 - z) * h + z * np.tanh(x @ w + (r * h) @ u + c)
                scores = output @ h
                total -= scores[word] - np.log(np.exp(scores).sum())
                x = words[word]
    return total


@pytest.mark.parametrize("directions", [1, 2])
def test_the_loss_is_the_papers_objective(directions: int) -> None:
    document = [[0, 1, 2], [1], [2, 3, 0, 0, 1], [3, 3]]
    stream = Stream.of_words([[[str(i) for i in sentence] for sentence in document]])
    order = {i: stream.vocabulary.index[str(i)] for i in range(4)}
    network = Network(8, 16, directions)
    network.initialise(torch.Generator().manual_seed(0))
    words, output = RANDOM(1).normal(size=(6, 8)).astype(np.float32), RANDOM(2).normal(size=(6, 16)).astype(np.float32)
    examples = Examples(stream, n_words=4, max_length=30, batch_size=3, seed=1)
    batches = list(examples.epoch(0))
    assert [len(batch.sentences.order) for batch in batches] in ([3, 1], [1, 3])
    loss = 0.0
    for batch in batches:
        states = network(batch, torch.from_numpy(words[batch.read]))
        targets = torch.from_numpy(batch.targets)
        loss += full_loss(states, targets, torch.from_numpy(output), torch.zeros(6)).item()
    expected = plain_loss(network, words, output, [[order[i] for i in sentence] for sentence in document], end=4)
    assert loss == pytest.approx(expected, rel=1e-5)


# the softmax


def test_the_sampled_loss_over_all_words_is_the_full_one() -> None:
    random = RANDOM(0)
    states, output = (torch.from_numpy(random.normal(size=shape).astype(np.float32)) for shape in ((7, 4), (50, 4)))
    bias, targets = torch.from_numpy(random.normal(size=50).astype(np.float32)), torch.arange(7)
    full = full_loss(states, targets, output, bias)
    every = sampled_loss(states, targets, output, bias, torch.arange(50), torch.zeros(50))
    assert every.item() == pytest.approx(full.item(), rel=1e-5), "each word once is no sample"
    sampler = Sampler(np.arange(50, 0, -1), 200)
    assert np.array_equal(sampler.draw(1, 5), sampler.draw(1, 5))
    assert not np.array_equal(sampler.draw(1, 5), sampler.draw(2, 5))


def test_the_sampled_loss_has_the_best_scores_of_the_full_one() -> None:
    """Constant scores must converge to the words' shares, although words are drawn by other shares."""
    shares = torch.tensor([0.5, 0.25, 0.15, 0.1])
    targets = torch.from_numpy(np.repeat(np.arange(4), (shares * 20).int().numpy()))
    states, output, bias = torch.zeros(20, 1), torch.zeros(4, 1), torch.zeros(4, requires_grad=True)
    sampler = Sampler(np.array([1, 1, 50, 5]), 3)
    adam = torch.optim.Adam([bias], lr=0.05)
    mean = torch.zeros(4)
    for step in range(1200):
        drawn, log_expected = torch.from_numpy(sampler.draw(1, step)), torch.from_numpy(sampler.log_expected)
        adam.zero_grad()
        sampled_loss(states, targets, output, bias, drawn, log_expected).backward()
        adam.step()
        mean += torch.softmax(bias.detach(), 0) * (step >= 200) / 1000
    np.testing.assert_allclose(mean, shares, atol=0.03)


# the optimiser


def test_a_matrix_learns_as_with_the_adam_of_pytorch() -> None:
    start = torch.from_numpy(RANDOM(0).normal(size=(5, 3)).astype(np.float32))
    ours, theirs = Matrix(start.clone()), start.clone().requires_grad_()
    table = RowTable(start.clone())
    adam = torch.optim.Adam([theirs], lr=0.1)
    for step in range(20):
        target = torch.from_numpy(RANDOM([1, step]).normal(size=(5, 3)).astype(np.float32))
        for leaf in (ours.leaf, theirs, table.take(np.arange(5))):
            ((leaf - target) ** 2).sum().backward()
        adam.step()
        adam.zero_grad()
        for matrix in (ours, table):
            matrix.step(0.1)
    np.testing.assert_allclose(ours.values.detach(), theirs.detach(), atol=1e-5)
    np.testing.assert_allclose(table.values, theirs.detach(), atol=1e-5)


def test_a_row_learns_when_it_is_used_and_as_if_it_were_alone() -> None:
    start = torch.ones(4, 2)
    table, alone = RowTable(start.clone()), Matrix(start[:1].clone())
    for step in range(30):
        rows = np.array([0, 2] if step % 10 == 0 else [1, 2])
        (table.take(rows) * torch.tensor([[1.0, 3.0], [2.0, -1.0]])).sum().backward()
        table.step(0.01)
        if step % 10 == 0:
            (alone.leaf * torch.tensor([[1.0, 3.0]])).sum().backward()
            alone.step(0.01)
    np.testing.assert_allclose(table.values[0], alone.values[0].detach(), atol=1e-6)
    assert table.steps.tolist() == [3, 27, 30, 0]
    assert torch.equal(table.values[3], start[3])


# batches


def test_batches_hold_neighbours_and_never_cross_documents() -> None:
    words = iter(range(10_000))
    documents = [[[str(next(words)) for _ in range(n)] for n in lengths] for lengths in ([3, 2, 40], [1], [2, 2])]
    stream = Stream.of_words(documents)
    n_words, flat = len(stream.vocabulary), [sentence for document in documents for sentence in document]
    first = [stream.vocabulary.index[sentence[0]] for sentence in flat]
    examples = Examples(stream, n_words=n_words, max_length=30, batch_size=2, seed=1)
    seen, n_cut, pairs = [], 0, set()
    for batch in examples.epoch(0):
        sentences = [first.index(i) for i in batch.sentences.ids[: batch.sentences.sizes[0]]]
        seen += sentences
        n_cut += batch.n_cut
        for way, side in zip((-1, 1), batch.sides, strict=True):
            if side:
                beside = [first.index(i) for i in side.sentences.ids[: side.sentences.sizes[0]]]
                pairs |= {(sentences[i], other) for i, other in zip(side.of, beside, strict=True)}
                assert all(sentences[i] + way == other for i, other in zip(side.of, beside, strict=True))
    assert sorted(seen) == [0, 1, 2, 4, 5], "a sentence alone has nothing to guess"
    assert pairs == {(0, 1), (1, 0), (1, 2), (2, 1), (4, 5), (5, 4)}
    assert n_cut == 1
    assert examples.n_words == 3 + 2 + 30 + 1 + 2 + 2
    orders = [[batch.sentences.ids.tolist() for batch in examples.epoch(epoch)] for epoch in (0, 0, 1)]
    assert orders[0] == orders[1]
    assert [batch.sentences.ids.tolist() for batch in examples.epoch(0, first=1)] == orders[0][1:]


def test_rare_words_share_a_row_and_cut_sentences_have_no_end() -> None:
    stream = Stream.of_words([[["a", "a", "a", "b"], ["a", "b", "c", "d"]]])
    examples = Examples(stream, n_words=2, max_length=3, batch_size=2, seed=1)
    (batch,) = examples.epoch(0)
    rows = sorted(batch.sentences.ids.reshape(3, 2).T.tolist())
    assert rows == [[0, 0, 0], [0, 1, 3]]
    assert batch.n_words == 6 - 2 or batch.n_cut == 2


# training


def topic_gap(encoder: SkipThoughtEncoder) -> float:
    """Mean cosine within topics minus mean cosine between topics, over sentences not trained on."""
    random = RandomText(99)
    texts = [" ".join(random.sentence(topic)) for topic in TOPICS for _ in range(40)]
    vectors = encoder.encode(texts, normalize_embeddings=True)
    cosines = vectors @ vectors.T
    same = np.kron(np.eye(2), np.ones((40, 40))) > 0
    return float(cosines[same & ~np.eye(80, dtype=bool)].mean() - cosines[~same].mean())


def test_training_lowers_the_loss_and_finds_the_topics(stream: Stream, trained: SkipThoughtEncoder) -> None:
    losses = [loss for _, loss in trained.info["training"]["uni"]["losses"]]
    assert losses[-1] < losses[0] - 0.3
    untrained = replace(SMALL, max_tokens=1, learning_rate=1e-9).train(stream, threads=1)
    assert topic_gap(trained) > topic_gap(untrained) + 0.3


@pytest.mark.parametrize(("kind", "samples"), [("bi", 20), ("combine", None)])
def test_kinds(stream: Stream, kind: Any, samples: int | None) -> None:
    encoder = replace(SMALL, kind=kind, samples=samples, epochs=5, learning_rate=0.04).train(stream, threads=1)
    dim = 16 if kind == "bi" else 32
    vectors = encoder.encode(["the sun and the moon", "bread and soup"])
    assert encoder.dim == dim
    assert vectors.shape == (2, dim)
    assert np.allclose(np.linalg.norm(vectors[:, :16], axis=1), 1, atol=1e-6), "each part has length 1"
    assert not np.allclose(np.linalg.norm(encoder.encode(["soup"], use_norm=False)[:, :16], axis=1), 1)
    assert topic_gap(encoder) > 0.3
    for losses in (report["losses"] for report in encoder.info["training"].values()):
        assert losses[-1][1] < losses[0][1]


def test_same_seed_same_bytes(stream: Stream) -> None:
    threads = torch.get_num_threads()
    recipe = replace(SMALL, kind="combine", max_tokens=600)
    first, again = (recipe.train(stream, threads=1) for _ in range(2))
    other = replace(recipe, seed=2).train(stream, threads=1)
    assert arrays(first) == arrays(again)
    assert first.info == again.info
    assert not set(arrays(first)) & set(arrays(other))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    assert arrays(recipe.train(stream, threads=1)) == arrays(first)
    assert torch.equal(state, torch.get_rng_state()), "the global generator is left alone"
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


class InterruptedRunError(Exception):
    pass


class Watch:
    """Collects the messages, and stops a run after some batches."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.said: list[str] = []
        self.total = 0.0
        self._left = stop_after

    def advance(self, amount: float, note: str = "") -> None:
        self.total += amount
        if note and self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise InterruptedRunError

    def say(self, message: str) -> None:
        self.said.append(message)


def test_a_run_resumes_as_if_nothing_had_happened(stream: Stream, tmp_path: Path) -> None:
    recipe = replace(SMALL, kind="combine", epochs=2)
    whole = recipe.train(stream, threads=1)
    n_batches = whole.info["training"]["uni"]["n_batches"]
    for stop in (3, 17, n_batches + 8):  # twice in the first epoch, then in the second part
        with pytest.raises(InterruptedRunError):
            recipe.train(stream, threads=1, checkpoints=tmp_path / "run", checkpoint_every=7, progress=Watch(stop))
    watch = Watch()
    resumed = recipe.train(stream, threads=1, checkpoints=tmp_path / "run", checkpoint_every=7, progress=watch)
    assert arrays(resumed) == arrays(whole)
    assert resumed.info == whole.info
    assert any("resuming after batch" in message for message in watch.said)
    assert watch.total == recipe.work(stream)
    assert len(list((tmp_path / "run" / "uni").iterdir())) == 2
    done = Watch(0)
    assert arrays(recipe.train(stream, threads=1, checkpoints=tmp_path / "run", progress=done)) == arrays(whole), (
        "nothing left to do"
    )


def test_a_run_can_be_made_longer(stream: Stream, tmp_path: Path) -> None:
    short = replace(SMALL, max_tokens=500)
    short.train(stream, threads=1, checkpoints=tmp_path)
    longer = replace(SMALL, max_tokens=2500, epochs=3)
    assert arrays(longer.train(stream, threads=1, checkpoints=tmp_path)) == arrays(longer.train(stream, threads=1))


def test_another_run_is_refused(stream: Stream, tmp_path: Path) -> None:
    recipe = replace(SMALL, max_tokens=300)
    recipe.train(stream, threads=1, checkpoints=tmp_path)
    with pytest.raises(InputError, match=r"checkpoints of a different run \(dim 16, now 18\)"):
        replace(recipe, dim=18).train(stream, threads=1, checkpoints=tmp_path)
    with pytest.raises(InputError, match=r"checkpoints of a different run \(corpus"):
        recipe.train(toy_stream(20), threads=1, checkpoints=tmp_path)


def test_endings(stream: Stream) -> None:
    watch = Watch()
    encoder = replace(SMALL, max_tokens=500).train(stream, threads=1, progress=watch)
    assert 500 <= encoder.info["training"]["uni"]["n_words"] < 500 + 16 * 8
    assert watch.total == encoder.info["training"]["uni"]["n_words"]
    quick = replace(SMALL, minutes=1e-9).train(stream, threads=1)
    assert quick.info["training"]["uni"]["n_batches"] == 1
    cut = replace(SMALL, max_length=4).train(stream, threads=1, progress=watch)
    report = cut.info["training"]["uni"]
    n_long = int((np.diff(stream.sentences) > 4).sum())
    assert report["n_cut"] == n_long > 0
    assert f"{n_long:,} of {stream.n_sentences:,} sentences were truncated to 4 words" in watch.said[-1]


def test_numbers_that_run_away_are_noticed(stream: Stream) -> None:
    recipe = replace(SMALL)
    object.__setattr__(recipe, "learning_rate", 1e38)  # bypasses the checks: gradients can have the same effect
    with pytest.raises(SettingsError, match=r"training diverged at batch .* try a learning_rate below"):
        recipe.train(stream, threads=1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kind": "tri"}, "kind is 'tri'; expected one of uni, bi, combine"),
        ({"dim": 0}, "dim is 0; expected a whole number, 1 or more"),
        ({"samples": 0}, "samples is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a number above 0"),
        ({"minutes": float("nan")}, "minutes is nan"),
        ({"kind": "bi", "dim": 15}, "dim is 15; expected an even number"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        SkipThought(**settings)


def test_streams_of_other_kinds() -> None:
    with pytest.raises(InputError, match="no document of the stream has two sentences"):
        SMALL.train(Stream.of_words([[["a"]], [["b"]]]))
    groups = toy_stream(20, kind="groups")
    assert SMALL.train(groups, threads=1).encode(["the sun"]).any()


# encoding


def test_every_input_has_a_defined_result(trained: SkipThoughtEncoder) -> None:
    vectors = trained.encode(["the sun", "", "   ", "blorf grml", "the blorf sun"])
    assert vectors.dtype == np.float32
    assert not vectors[1:4].any()
    np.testing.assert_allclose(vectors[0], vectors[4], atol=1e-6, err_msg="training had no unknown words: left out")
    assert trained.encode([]).shape == (0, 16)
    assert trained.encode([]).dtype == np.float32
    assert not trained.encode(["", "blorf"], use_eos=True, normalize_embeddings=True).any()
    assert trained.encode("the sun").shape == (16,)
    np.testing.assert_allclose(trained.encode("the sun"), vectors[0], atol=1e-6)
    with pytest.raises(InputError, match="text 1 is None"):
        trained.encode(["a", None])  # type: ignore[list-item]
    with pytest.raises(SettingsError, match="batch_size is 0"):
        trained.encode(["a"], batch_size=0)


def test_batches_change_nothing(trained: SkipThoughtEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    random = RandomText(5)
    texts = [" ".join(random.sentence(TOPICS[i % 2]) * (i % 5)) for i in range(50)] + ["the sun and " * 200]
    whole = trained.encode(texts, use_norm=False)
    for batch_size in (1, 7):
        assert np.array_equal(trained.encode(texts, use_norm=False, batch_size=batch_size), whole)
    monkeypatch.setattr(encoder_module, "BATCH_CELLS", 60)
    assert np.array_equal(trained.encode(texts, use_norm=False), whole)
    part, index = trained.parts[0], trained.vocabulary.index
    for use_eos in (False, True):
        words = part.table[[index[word] for word in texts[3].split()]]
        words = np.vstack([words, part.end]) if use_eos else words
        found = trained.encode(texts[3], use_eos=use_eos, use_norm=False)
        np.testing.assert_allclose(found, read_sentence(part.directions[0], words), atol=2e-6)


def test_unknown_words_are_read_where_training_had_some(stream: Stream) -> None:
    encoder = replace(SMALL, n_words=10, max_tokens=500).train(stream, threads=1)
    assert len(encoder.vocabulary) == 10
    rare = next(word for word in stream.vocabulary.words[10:])
    known = encoder.encode([f"{rare} the {rare}", "blorf the blorf", "the", rare])
    np.testing.assert_allclose(known[0], known[1], atol=1e-6)
    assert not np.allclose(known[0], known[2])
    assert not known[3].any(), "a text without any known word"


def test_speed_is_reported(trained: SkipThoughtEncoder, capsys: pytest.CaptureFixture[str]) -> None:
    trained.encode(["the sun"] * 10, show_progress_bar=True)
    assert "encoded 10 texts in" in capsys.readouterr().err


def test_missing_data_is_reported(stream: Stream, trained: SkipThoughtEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (lambda: SMALL.train(stream, threads=1), lambda: trained.encode(["a"])):
        with pytest.raises(MissingExtra, match=r"the extra skipthought .*pip install .*\[skipthought\]'"):
            call()


def test_torch_is_loaded_only_when_needed() -> None:
    code = "import sys, siamese_cbow.baselines.skip_thought; assert not {'torch', 'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# expansion


def test_linear_map() -> None:
    matrix = linear_map(np.array([[0.0], [1.0]], np.float32), np.array([[1.0], [3.0]], np.float32))
    np.testing.assert_allclose(matrix, [[2], [1]], atol=1e-12)


def test_new_words_come_through_the_map(trained: SkipThoughtEncoder) -> None:
    words, table = list(trained.vocabulary.words), trained.parts[0].table
    turn = np.linalg.qr(RANDOM(0).normal(size=(8, 8)))[0].astype(np.float32)
    theirs = (table - 0.5) @ turn  # another space with the same arrangement of the encoder's words
    between = (theirs[words.index("sun")] + theirs[words.index("moon")]) / 2
    watch = Watch()
    wider = expand(trained, [*words, "planet", "sun"], np.vstack([theirs, between, theirs[:1]]), progress=watch)
    assert "added 1 words by a map" in watch.said[-1]
    assert list(wider.vocabulary.words) == [*words, "planet"]
    assert np.array_equal(wider.parts[0].table[:-1], table), "words of the training keep their vectors"
    expected = (table[words.index("sun")] + table[words.index("moon")]) / 2
    np.testing.assert_allclose(wider.parts[0].table[-1], expected, atol=1e-5)
    assert np.array_equal(wider.encode(["the sun"]), trained.encode(["the sun"]))
    assert not trained.encode(["planet"]).any()
    assert wider.encode(["planet"]).any()
    again = expand(wider, [*words, "comets"], np.vstack([theirs, between]))
    assert list(again.vocabulary.words) == [*words, "comets"], "an earlier expansion is replaced"


def test_expansion_while_training(stream: Stream) -> None:
    vectors = RANDOM(0).normal(size=(3, 4)).astype(np.float32)
    watch = Watch()
    recipe = replace(SMALL, kind="combine", max_tokens=300)
    encoder = recipe.train(stream, threads=1, word_vectors=(["sun", "moon", "blorf"], vectors), progress=watch)
    assert encoder.encode(["blorf"]).any()
    assert any("only 2 shared words to fit a map from 4 dimensions" in message for message in watch.said)
    with pytest.raises(InputError, match="none of the encoder's 14 words is among the 1 given"):
        expand(encoder, ["grml"], vectors[:1])
    with pytest.raises(InputError, match="2 words but vectors of shape"):
        expand(encoder, ["a", "b"], vectors)


# saving


@pytest.fixture(scope="module")
def combined(stream: Stream) -> SkipThoughtEncoder:
    torch.set_num_threads(1)
    encoder = replace(SMALL, kind="combine", n_words=12, max_tokens=300).train(stream, threads=1)
    return expand(encoder, [*encoder.vocabulary.words, "blorf ✓"], RANDOM(0).normal(size=(13, 4)).astype(np.float32))


def test_saved_and_loaded_is_the_same(combined: SkipThoughtEncoder, tmp_path: Path) -> None:
    combined.save(tmp_path / "a")
    loaded = load_encoder(tmp_path / "a", verify=True)
    assert loaded == combined
    assert arrays(loaded) == arrays(combined)
    assert loaded != replace(combined, parts=combined.parts[:1])
    assert loaded != replace(combined, parts=combined.parts[::-1])
    assert loaded != replace(combined, n_trained=3)
    texts = ["the sun", "", "bread blorf ✓ grml"]
    assert np.array_equal(loaded.encode(texts, use_eos=True), combined.encode(texts, use_eos=True))
    loaded.save(tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    loaded.save(tmp_path / "a")  # over itself, while its tables are memory-mapped
    assert arrays(load_encoder(tmp_path / "a")) == arrays(combined)


def test_a_saved_encoder_is_evaluated_by_its_folder(combined: SkipThoughtEncoder, tmp_path: Path) -> None:
    combined.save(tmp_path / "a")
    system = open_system(str(tmp_path / "a"))
    assert np.array_equal(system.encode(["the sun"]), combined.encode(["the sun"]))


@pytest.mark.parametrize("name", ["config.json", "vocabulary.txt", "weights.safetensors", "words-1.safetensors"])
@pytest.mark.parametrize("damage", ["delete", "truncate", "flip"])
def test_damaged_folders(combined: SkipThoughtEncoder, tmp_path: Path, name: str, damage: str) -> None:
    combined.save(tmp_path / "a")
    file = tmp_path / "a" / name
    content = bytearray(file.read_bytes())
    if damage == "delete":
        file.unlink()
    else:
        content[len(content) // 2] ^= 1
        file.write_bytes(content[:-5] if damage == "truncate" else content)
    if name == "config.json" and damage == "flip":
        return  # changing a letter of it may be harmless
    with pytest.raises(FormatError):
        load_encoder(tmp_path / "a", verify=True)


def test_folders_that_are_no_encoder(combined: SkipThoughtEncoder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        load_encoder(tmp_path / "none")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="already exists and is not a skip-thought encoder"):
        combined.save(tmp_path / "notes")
    combined.save(tmp_path / "a")
    config = tmp_path / "a" / "config.json"
    for change, says in (
        ({"format_version": 99}, "format version 99"),
        ({"format": "x"}, "not the config"),
        ({"parts": 3}, "can't read"),
    ):
        old = json.loads(config.read_text())
        config.write_text(json.dumps(old | change))
        with pytest.raises(FormatError, match=says):
            load_encoder(tmp_path / "a")
        config.write_text(json.dumps(old))
    broken = SkipThoughtEncoder(
        Vocabulary.of_words(["a\nb"]), (replace(combined.parts[0], table=np.ones((1, 8), np.float32)),)
    )
    with pytest.raises(InputError, match="can't be written"):
        broken.save(tmp_path / "b")
    with pytest.raises(InputError, match="13 words but 1 rows"):
        SkipThoughtEncoder(combined.vocabulary, broken.parts, Tokenizer())


def test_other_files_next_to_an_encoder_are_never_deleted(combined: SkipThoughtEncoder, tmp_path: Path) -> None:
    combined.save(tmp_path / "encoder")
    combined.save(tmp_path / "encoder")
    (tmp_path / "encoder" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"not part of a skip-thought encoder \(thesis.txt\)"):
        combined.save(tmp_path / "encoder")
    assert (tmp_path / "encoder" / "thesis.txt").read_text() == "years of work"
