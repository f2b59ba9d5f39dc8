"""How surprised the network is by the words it should have guessed: over all words, or over a sample of them.

With V words, the full softmax costs V products for every word, most of all the work for V = 20,000. The sampled one
draws k words for a batch, word w with probability q(w), and estimates the sum over the others without bias:

    sum of exp(s_w), w != y    ~    sum over drawn w != y of exp(s_w) / (k q(w))
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from siamese_cbow.arrays import Counts

FLATTER = 0.75  # power of the counts that words are drawn by, as in word2vec: rare words are drawn more often


def full_loss(states: Tensor, targets: Tensor, output: Tensor, bias: Tensor) -> Tensor:
    """The sum of -log p(target) over states (n, dim), targets (n,)."""
    return functional.cross_entropy(functional.linear(states, output, bias), targets, reduction="sum")


def sampled_loss(
    states: Tensor, targets: Tensor, output: Tensor, bias: Tensor, drawn: Tensor, log_expected: Tensor
) -> Tensor:
    """An estimate of `full_loss` from words that were drawn, (k,), and the logarithms of k q(w) for all words."""
    n, words = len(targets), torch.cat([targets, drawn])
    rows, biases = functional.embedding(words, output), bias.index_select(0, words)
    right = (states * rows[:n]).sum(dim=1) + biases[:n]
    others = torch.addmm(biases[n:] - log_expected[drawn], states, rows[n:].T)
    others = others.masked_fill(targets[:, None] == drawn, -torch.inf)
    return (torch.logaddexp(torch.logsumexp(others, dim=1), right) - right).sum()


class Sampler:
    """Draws words by their counts."""

    def __init__(self, counts: Counts, k: int) -> None:
        weights = np.maximum(counts, 1).astype(np.float64) ** FLATTER
        self._sums = np.cumsum(weights)
        self._k = k
        self.log_expected: NDArray[np.float32] = np.log(k * weights / weights.sum()).astype(np.float32)

    def draw(self, seed: int, step: int) -> NDArray[np.int64]:
        """Words for a batch, (k,), some of them twice: a function of the seed and the batch's number."""
        places = np.random.default_rng([seed, step]).random(self._k) * self._sums[-1]
        return np.searchsorted(self._sums, places, side="right").astype(np.int64)
