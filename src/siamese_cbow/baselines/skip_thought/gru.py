"""A gated recurrent unit over packed sentences (see `packing`), with its gradients written out.

    r = sigmoid(a_r + h U_r)                 a  what comes from outside: x W, and in decoders c C, (3 * dim,)
    z = sigmoid(a_z + h U_z)                 h  the state before, (dim,)
    g = tanh(a_g + (r * h) U)
    h = (1 - z) * h + z * g

These are the paper's equations with a row a sentence, so that products stand the other way round; there are no biases.
The columns of `gates` are U_r, U_z; `candidate` is U. `reference.py` has the same in plain NumPy.

PyTorch's own GRU won't do: it computes `r * (h U)`, and so does the program that was released with skip-thought, for
whose weights there is `reset_first=False`. Written out, because the automatic gradient multiplies the two matrices'
gradients word by word; all words at once is one product, and training takes half the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


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
    sizes      (n_steps,): how many sentences have a first word, a second one, ...; never growing
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
        before = inputs.new_empty(len(inputs), dim)  # the state before each word
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
        slopes = torch.empty_like(active)  # by what comes in: of r, z and g before their sigmoid or tanh
        context = active.new_zeros(ctx.sizes[0], 3 * dim) if ctx.with_context else None
        carried = active.new_zeros(ctx.sizes[-1], dim)  # by the state, from the words behind
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
