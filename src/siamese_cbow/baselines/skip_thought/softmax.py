"""How surprised the network is by the words it should have guessed: over all words, or over a sample of them.

With V words, the full softmax costs V products for every word, most of all the work for V = 20,000. The sampled one
draws k words for a batch, word w with probability q(w), and lets the right word be told from those, after each score
was corrected for how often its word is drawn (Jean et al. 2015):

    loss = -log of exp(s_y - log k q(y)) / the sum of exp(s_w - log k q(w)) over w = y and the drawn w != y

Its best scores are those of the full softmax. Rejected: the drawn words as an estimate of the full sum, with the right
word uncorrected. That is free of bias too, but its gradient is not bounded: at learning rate .003 the loss rose.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from siamese_cbow.base.arrays import Counts

FLATTER = 0.75  # power of the counts that words are drawn by, as in word2vec: rare words are drawn more often


def full_loss(states: Tensor, targets: Tensor, output: Tensor, bias: Tensor) -> Tensor:
    """The sum of -log p(target) over states (n, dim), targets (n,)."""
    return functional.cross_entropy(functional.linear(states, output, bias), targets, reduction="sum")


def sampled_loss(
    states: Tensor, targets: Tensor, output: Tensor, bias: Tensor, drawn: Tensor, log_expected: Tensor
) -> Tensor:
    """The sum of the losses over words that were drawn, (k,), given the logarithms of k q(w) for all words."""
    bias = bias - log_expected
    right = (states * functional.embedding(targets, output)).sum(dim=1) + bias.index_select(0, targets)
    others = torch.addmm(bias.index_select(0, drawn), states, functional.embedding(drawn, output).T)
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
