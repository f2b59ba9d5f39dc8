"""One step of training: the softmax over words, Adam, and all parameters. The network itself is in `network`.

The loss is the cross-entropy of the words to predict, over all words or over a sample. With V words, the full softmax
costs V products for every word, most of the work for V = 20,000. The sampled one draws k words per batch, word w with
probability q(w), and contrasts the right word with those, after each score is corrected for how often its word is drawn
(Jean et al. 2015):

    loss = -log of exp(s_y - log k q(y)) / the sum of exp(s_w - log k q(w)) over w = y and the drawn w != y

Its optimal scores are those of the full softmax. Rejected: the drawn words as an estimate of the full sum, with the
right word uncorrected. That is unbiased too, but its gradient is unbounded: at learning rate .003 the loss rose.

Adam updates matrices that every batch uses as a whole, and tables of which a batch uses only some rows. Each row of a
table has its own Adam state, which advances when the row has a gradient. With one Adam for all rows, as in PyTorch, the
gradient of a rare word meets a mean square that has almost vanished, and each of its rare steps is 30 times too long:
with a sampled softmax over 20,000 words the loss rose instead of falling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from siamese_cbow.base.arrays import Counts
from siamese_cbow.baselines.skip_thought.examples import Batch, Rows
from siamese_cbow.baselines.skip_thought.network import Network
from siamese_cbow.baselines.skip_thought.parts import Direction, Part
from siamese_cbow.errors import SettingsError

FLATTER = 0.75  # power of the counts in sampling, as in word2vec: draws rare words more often
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # decay of mean and mean square; epsilon


class Trainer:
    """All parameters: the network and the tables around it.

    directions  of the encoder: 1 for uni-skip, 2 for bi-skip
    counts      how often each row of the tables occurs, (n_rows,)
    samples     words drawn for the sampled softmax; None uses all words
    longest     the norm that gradients are clipped to
    """

    def __init__(
        self,
        directions: int,
        counts: Counts,
        *,
        dim: int,
        dim_word: int,
        samples: int | None,
        learning_rate: float,
        longest: float,
        seed: int,
    ) -> None:
        self._learning_rate, self._longest, self._seed = learning_rate, longest, seed
        generator = torch.Generator().manual_seed(seed)
        self._network = Network(dim_word, dim, directions)
        self._network.initialise(generator)
        self._sampler = None if samples is None else Sampler(counts, samples)
        kind = Matrix if self._sampler is None else RowTable
        self._words = RowTable(torch.empty(len(counts), dim_word).uniform_(-0.1, 0.1, generator=generator))
        self._output = kind(torch.empty(len(counts), dim).uniform_(-0.1, 0.1, generator=generator))
        # The bias starts from the word frequencies; otherwise hundreds of batches would be spent learning them.
        self._bias = kind(torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum()).astype(np.float32)))
        matrices = {name: Matrix(parameter) for name, parameter in self._network.named_parameters()}
        self._learnt = {"words": self._words, "output": self._output, "bias": self._bias, **matrices}

    def step(self, batch: Batch, number: int) -> float:
        """Train on a batch; return the sum of its losses."""
        rows, places = np.unique(batch.read, return_inverse=True)
        states = self._network(batch, look_up(self._words.take(rows), places))
        loss = self._loss(states, batch.targets, number)
        (loss / len(batch.sentences.order)).backward()
        length = clip(self._learnt.values(), self._longest)
        total = float(loss.item())
        if not (math.isfinite(total) and math.isfinite(length)):
            raise SettingsError(
                f"training diverged at batch {number + 1:,} (loss {total}, gradient {length}); try a "
                f"learning_rate below {self._learning_rate}"
            )
        for matrix in self._learnt.values():
            matrix.step(self._learning_rate)
        return total

    def _loss(self, states: Tensor, targets: Rows, number: int) -> Tensor:
        if self._sampler is None:
            return full_loss(states, torch.from_numpy(targets), self._output.leaf, self._bias.leaf)
        drawn = self._sampler.draw(self._seed, number)
        rows, places = np.unique(np.concatenate([targets, drawn]), return_inverse=True)
        right, drawn = places[: len(targets)], places[len(targets) :]
        log_expected = torch.from_numpy(self._sampler.log_expected[rows])
        assert isinstance(self._output, RowTable)
        assert isinstance(self._bias, RowTable)
        taken = self._output.take(rows), self._bias.take(rows)
        return sampled_loss(states, torch.from_numpy(right), *taken, torch.from_numpy(drawn), log_expected)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All state that changes from step to step."""
        return {
            f"{name}.{kind}": array for name, matrix in self._learnt.items() for kind, array in matrix.arrays().items()
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restores the state that `arrays` returned."""
        for name, matrix in self._learnt.items():
            matrix.restore({kind: arrays[f"{name}.{kind}"] for kind in matrix.arrays()})

    def part(self, n_words: int, *, has_unknown: bool) -> Part:
        """The encoder's arrays, without decoders and softmax."""
        arrays = {
            name: matrix.values.detach().numpy().copy() for name, matrix in self._learnt.items() if "coder" in name
        }
        directions = tuple(
            Direction(*(arrays[f"encoders.{i}.{name}"] for name in ("inputs", "gates", "candidate")))
            for i in range(len(self._network.encoders))
        )
        words = self._words.values.numpy()
        unknown = words[n_words + 1].copy() if has_unknown else None
        return Part(words[:n_words].copy(), words[n_words].copy(), unknown, directions)


# The softmax


def full_loss(states: Tensor, targets: Tensor, output: Tensor, bias: Tensor) -> Tensor:
    """The sum of -log p(target) over states (n, dim), targets (n,)."""
    return functional.cross_entropy(functional.linear(states, output, bias), targets, reduction="sum")


def sampled_loss(
    states: Tensor, targets: Tensor, output: Tensor, bias: Tensor, drawn: Tensor, log_expected: Tensor
) -> Tensor:
    """The sum of the losses over drawn words, (k,), given the logarithms of k q(w) for all words."""
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
        """Words for a batch, (k,), possibly with repeats: a function of the seed and the batch number."""
        places = np.random.default_rng([seed, step]).random(self._k) * self._sums[-1]
        return np.searchsorted(self._sums, places, side="right").astype(np.int64)


# Adam


class Matrix:
    """A trained matrix and the running means of its gradients."""

    def __init__(self, values: Tensor) -> None:
        self.values = values  # updated in place, so it can be a network's own parameter
        self.mean, self.square = torch.zeros_like(values), torch.zeros_like(values)
        self.steps = torch.zeros(1)
        self.leaf = values.requires_grad_()

    @property
    def gradient(self) -> Tensor:
        """The gradient of the last loss."""
        assert self.leaf.grad is not None
        return self.leaf.grad

    def step(self, learning_rate: float) -> None:
        """Move against the gradient, then clear it."""
        with torch.no_grad():
            self.steps += 1
            _move(self.values, self.mean, self.square, self.steps, self.gradient, learning_rate)
        self.leaf.grad = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The state needed to resume."""
        tensors = {"values": self.values, "mean": self.mean, "square": self.square, "steps": self.steps}
        return {name: tensor.detach().numpy() for name, tensor in tensors.items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores the state that `arrays` returned."""
        with torch.no_grad():
            for name, array in arrays.items():
                getattr(self, name).copy_(torch.from_numpy(array))


class RowTable(Matrix):
    """A matrix of which each batch uses only a few rows."""

    def __init__(self, values: Tensor) -> None:
        super().__init__(values)
        self.values.requires_grad_(False)
        self.steps = torch.zeros(len(values))
        self._rows = torch.empty(0, dtype=torch.int64)

    def take(self, rows: NDArray[np.int64]) -> Tensor:
        """Some distinct rows, (n, dim); a loss computed from them gives them gradients."""
        self._rows = torch.from_numpy(rows)
        self.leaf = self.values.index_select(0, self._rows).requires_grad_()
        return self.leaf

    def step(self, learning_rate: float) -> None:
        """Update the rows that were taken last."""
        rows = self._rows
        with torch.no_grad():
            self.steps[rows] += 1
            old = [tensor.index_select(0, rows) for tensor in (self.values, self.mean, self.square)]
            steps = self.steps[rows].reshape(-1, *[1] * (self.values.dim() - 1))
            _move(old[0], old[1], old[2], steps, self.gradient, learning_rate)
            for tensor, new in zip((self.values, self.mean, self.square), old, strict=True):
                tensor.index_copy_(0, rows, new)
        self.leaf.grad = None


def clip(matrices: Iterable[Matrix], longest: float) -> float:
    """Clip the gradients to a joint norm of `longest`; return the norm they had."""
    return float(torch.nn.utils.clip_grad_norm_([matrix.leaf for matrix in matrices], longest))


def look_up(rows: Tensor, places: NDArray[np.int64]) -> Tensor:
    """Rows by position, repeats allowed: (n, dim) for positions (n,)."""
    return functional.embedding(torch.from_numpy(places), rows)


def _move(values: Tensor, mean: Tensor, square: Tensor, steps: Tensor, gradient: Tensor, learning_rate: float) -> None:
    mean.lerp_(gradient, 1 - FIRST)
    square.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
    root = (square / _weight(SECOND, steps)).sqrt_().add_(TINY)
    values.addcdiv_(mean / _weight(FIRST, steps), root, value=-learning_rate)


def _weight(decay: float, steps: Tensor) -> Tensor:
    """1 - decay**steps: the weight of gradients in a mean that began at 0, precise even for few steps."""
    return -torch.expm1(steps * math.log(decay))
