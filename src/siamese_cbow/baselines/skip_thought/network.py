"""The network: GRU encoders, and two GRU decoders that see the encoder's state; for training and for encoding.

    encoders   one that reads forward, or two of half the size, forward and backward
    decoders   of the previous and of the next sentence; C_r, C_z and C feed in the encoder's last state at every word

A gated recurrent unit over packed sentences (see `examples`), with its gradients written out:

    r = sigmoid(a_r + h U_r)                 a  the input: x W, and in decoders c C, (3 * dim,)
    z = sigmoid(a_z + h U_z)                 h  the previous state, (dim,)
    g = tanh(a_g + (r * h) U)
    h = (1 - z) * h + z * g

These are the paper's equations with one row per sentence, so products are transposed; there are no biases. The
columns of `gates` are U_r, U_z; `candidate` is U. `parts.read_sentence` is the same in plain NumPy.

PyTorch's own GRU does not fit: it computes `r * (h U)`. So does the program released with skip-thought, whose weights
need `reset_first=False`. The gradients are written out because autograd accumulates those of the two matrices word by
word; one product over all words halves the training time.

Two tables surround the network and belong to `learning`: vectors of the words read, shared by encoders and decoders,
and weights of the words to predict, shared by the decoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.baselines.skip_thought.examples import Batch, Packed, Rows
from siamese_cbow.baselines.skip_thought.parts import Direction, Part

CHUNK = 8192  # word vectors in memory at a time


def gru(
    inputs: Tensor,
    sizes: Sequence[int],
    start: Tensor,
    gates: Tensor,
    candidate: Tensor,
    *,
    context: Tensor | None = None,
    reset_first: bool = True,
) -> Tensor:
    """The state after every word, (n_tokens, dim).

    inputs     (n_tokens, 3 * dim): packed; what each word adds to r, z and g
    sizes      (n_steps,): how many sentences have a first word, a second word, ...; non-increasing
    start      (sizes[0], dim): the states before the first word; no gradient
    gates      (dim, 2 * dim)
    candidate  (dim, dim)
    context    (sizes[0], 3 * dim): what is added at every step of a sentence
    """
    if reset_first:
        states: Tensor = _Gru.apply(inputs, context, gates, candidate, start, tuple(sizes))
        return states
    with torch.no_grad():
        return _reset_last(inputs, sizes, start, gates, candidate)


class _Gru(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        context: Tensor | None,
        gates: Tensor,
        candidate: Tensor,
        start: Tensor,
        sizes: tuple[int, ...],
    ) -> Tensor:
        dim = len(candidate)
        active = inputs.clone()  # becomes r, z and g
        states = inputs.new_empty(len(inputs), dim)
        before = inputs.new_empty(len(inputs), dim)  # the previous state of each word
        reset = inputs.new_empty(len(inputs), dim)  # r * h
        state, end = start, 0
        for size in sizes:
            rows = slice(end, end := end + size)
            step, new = active[rows], states[rows]
            state = before[rows].copy_(state[:size])
            if context is not None:
                step += context[:size]
            step[:, : 2 * dim].addmm_(state, gates).sigmoid_()
            r, z, g = step.split(dim, dim=1)
            torch.mul(r, state, out=reset[rows])
            g.addmm_(reset[rows], candidate).tanh_()
            state = torch.lerp(state, g, z, out=new)
        ctx.sizes, ctx.with_context = sizes, context is not None
        ctx.save_for_backward(active, before, reset, gates, candidate)
        return states

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        active, before, reset, gates, candidate = ctx.saved_tensors
        (from_outside,) = outer
        dim, end = len(candidate), len(active)
        slopes = torch.empty_like(active)  # gradients by the inputs of r, z and g, before sigmoid or tanh
        context = active.new_zeros(ctx.sizes[0], 3 * dim) if ctx.with_context else None
        carried = active.new_zeros(ctx.sizes[-1], dim)  # gradient by the state, from later words
        for size in reversed(ctx.sizes):
            rows = slice(end - size, end)
            end -= size
            slope = from_outside[rows].clone()
            slope[: len(carried)] += carried
            r, z, g = active[rows].split(dim, dim=1)
            of_r, of_z, of_g = slopes[rows].split(dim, dim=1)
            torch.mul(slope * z, 1 - g * g, out=of_g)
            torch.mul(slope * (g - before[rows]), z * (1 - z), out=of_z)
            through = of_g @ candidate.T
            torch.mul(through * before[rows], r * (1 - r), out=of_r)
            carried = slope.mul_(1 - z).addcmul_(through, r).addmm_(slopes[rows][:, : 2 * dim], gates.T)
            if context is not None:
                context[:size] += slopes[rows]
        return slopes, context, before.T @ slopes[:, : 2 * dim], reset.T @ slopes[:, 2 * dim :], None, None


def _reset_last(inputs: Tensor, sizes: Sequence[int], start: Tensor, gates: Tensor, candidate: Tensor) -> Tensor:
    dim, state, states = len(candidate), start, []
    for size, step in zip(sizes, inputs.split(list(sizes)), strict=True):
        state = state[:size]
        r, z = torch.addmm(step[:, : 2 * dim], state, gates).sigmoid().split(dim, dim=1)
        g = torch.addcmul(step[:, 2 * dim :], r, state @ candidate).tanh()
        state = torch.lerp(state, g, z)
        states.append(state)
    return torch.cat(states)


class GRUEncoder(nn.Module):
    """Reads sentences. The columns of its matrices belong to r, z and g, in this order."""

    def __init__(self, dim_word: int, dim: int) -> None:
        super().__init__()
        self.inputs = nn.Parameter(torch.empty(dim_word, 3 * dim))  # W_r, W_z, W
        self.gates = nn.Parameter(torch.empty(dim, 2 * dim))  # U_r, U_z
        self.candidate = nn.Parameter(torch.empty(dim, dim))  # U

    def forward(self, vectors: Tensor, sentences: Packed) -> Tensor:
        """The last states, (n_sentences, dim), in packed order, from vectors (n_tokens, dim_word) of the words."""
        start = vectors.new_zeros(sentences.sizes[0], len(self.candidate))
        states = gru(vectors @ self.inputs, sentences.sizes, start, self.gates, self.candidate)
        return states.index_select(0, torch.from_numpy(sentences.last))


class GRUDecoder(GRUEncoder):
    """Generates sentences, given the encoder's state for their neighbour."""

    def __init__(self, dim_word: int, dim: int) -> None:
        super().__init__(dim_word, dim)
        self.context = nn.Parameter(torch.empty(dim, 3 * dim))  # C_r, C_z, C

    def forward(self, vectors: Tensor, sentences: Packed, context: Tensor) -> Tensor:  # type: ignore[override]
        """The states that predict each word, (n_tokens, dim): the first word's come from the context alone.

        vectors  of the word before each word except the first ones
        context  (n_sentences, dim), in packed order
        """
        nothing = vectors.new_zeros(sentences.sizes[0], self.inputs.shape[1])
        inputs = torch.cat([nothing, vectors @ self.inputs])
        start = context.new_zeros(context.shape)
        return gru(inputs, sentences.sizes, start, self.gates, self.candidate, context=context @ self.context)


class Network(nn.Module):
    """Encoders and decoders. `directions` is 1 for uni-skip and 2 for bi-skip."""

    def __init__(self, dim_word: int, dim: int, directions: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(GRUEncoder(dim_word, dim // directions) for _ in range(directions))
        self.decoders = nn.ModuleList(GRUDecoder(dim_word, dim) for _ in range(2))  # of the previous, of the next

    def initialise(self, generator: torch.Generator) -> None:
        """Orthogonal recurrent matrices and uniform numbers in +-0.1 for the rest, as in the original."""
        for name, parameter in self.named_parameters():
            if name.endswith(("gates", "candidate")):
                for block in parameter.data.split(len(parameter), dim=1):
                    block.copy_(nn.init.orthogonal_(torch.empty(block.shape), generator=generator))
            else:
                nn.init.uniform_(parameter, -0.1, 0.1, generator=generator)

    def forward(self, batch: Batch, vectors: Tensor) -> Tensor:
        """The states that predict `batch.targets`, (n_targets, dim), given vectors of `batch.read`."""
        sides = [(decoder, side) for decoder, side in zip(self.decoders, batch.sides, strict=True) if side]
        lengths = [len(batch.sentences.ids), *(len(side.sentences.before) for _, side in sides)]
        read, *written = vectors.split(lengths)
        context = self.encoded(read, batch.sentences)
        states = [
            decoder(before, side.sentences, context.index_select(0, torch.from_numpy(side.of)))
            for (decoder, side), before in zip(sides, written, strict=True)
        ]
        return torch.cat(states)

    def encoded(self, vectors: Tensor, sentences: Packed) -> Tensor:
        """The sentences' vectors, (n_sentences, dim), in packed order."""
        forward = self.encoders[0](vectors, sentences)
        if len(self.encoders) == 1:
            return forward
        reversed_ = vectors.index_select(0, torch.from_numpy(sentences.backward))
        return torch.cat([forward, self.encoders[1](reversed_, sentences)], dim=1)


# Encoding only


@contextmanager
def exact(threads: int | None) -> Iterator[None]:
    """A fixed number of threads (None: the current setting) and only deterministic algorithms.

    The old settings are restored at the end.
    """
    settings: Any = torch.utils.deterministic
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), settings.fill_uninitialized_memory
    torch.set_num_threads(threads or before[0])
    torch.use_deterministic_algorithms(True)
    settings.fill_uninitialized_memory = False  # everything allocated here is written before it is read
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        settings.fill_uninitialized_memory = before[2]


def last_states(part: Part, sentences: Packed) -> Vectors:
    """The vectors of sentences, (n_sentences, dim), in packed order."""
    orders = (sentences.ids, sentences.ids[sentences.backward])
    ways = zip(part.directions, orders, strict=False)
    return np.concatenate([_last_states(part, direction, rows, sentences) for direction, rows in ways], axis=1)


def _last_states(part: Part, direction: Direction, rows: Rows, sentences: Packed) -> Vectors:
    inputs, gates, candidate = map(_tensor, (direction.inputs, direction.gates, direction.candidate))
    last = np.empty((len(sentences.order), direction.dim), np.float32)
    state = torch.zeros(sentences.sizes[0], direction.dim)
    first = 0
    with torch.no_grad():
        for sizes in _chunks(sentences.sizes):
            behind = first + sum(sizes)
            incoming = torch.from_numpy(part.vectors(rows[first:behind])) @ inputs
            if direction.bias is not None:
                incoming += _tensor(direction.bias)
            states = gru(incoming, sizes, state[: sizes[0]], gates, candidate, reset_first=part.reset_first)
            ended = (sentences.last >= first) & (sentences.last < behind)
            last[ended] = states.numpy()[sentences.last[ended] - first]
            state, first = states[-sizes[-1] :], behind
    return last


def _tensor(array: Vectors) -> torch.Tensor:
    """The array as a tensor; read-only arrays are copied, because PyTorch warns about them."""
    return torch.from_numpy(np.require(array, np.float32, ["C", "W"]))


def _chunks(sizes: list[int]) -> Iterator[list[int]]:
    """Consecutive steps of at most CHUNK words in total, but at least one: [3, 2, 2] -> [3, 2, 2]."""
    chunk: list[int] = []
    n_words = 0
    for size in sizes:
        if chunk and n_words + size > CHUNK:
            yield chunk
            chunk, n_words = [], 0
        chunk.append(size)
        n_words += size
    yield chunk
