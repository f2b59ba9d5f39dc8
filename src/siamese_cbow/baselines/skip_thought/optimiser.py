"""Adam, for matrices that are used whole in every batch, and for tables of which a batch uses some rows.

A table's row has an Adam of its own, which runs when the row has a gradient. With one Adam for all, as PyTorch has it,
the gradient of a rare word meets a mean square that has all but vanished, and each of its rare steps is 30 times too
long: with a sampled softmax over 20,000 words the loss rose instead of falling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # decay of the mean and of the mean square, and what keeps from dividing by 0


class Matrix:
    """A matrix that is learnt, and the means of its gradients."""

    def __init__(self, values: Tensor) -> None:
        self.values = values  # learnt in place, so a network's own parameter is one with it
        self.mean, self.square = torch.zeros_like(values), torch.zeros_like(values)
        self.steps = torch.zeros(1)
        self.leaf = values.requires_grad_()

    @property
    def gradient(self) -> Tensor:
        """Of the last loss."""
        assert self.leaf.grad is not None
        return self.leaf.grad

    def step(self, learning_rate: float) -> None:
        """Moves against the gradient, which is then forgotten."""
        with torch.no_grad():
            self.steps += 1
            _move(self.values, self.mean, self.square, self.steps, self.gradient, learning_rate)
        self.leaf.grad = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that must be kept to go on."""
        kept = {"values": self.values, "mean": self.mean, "square": self.square, "steps": self.steps}
        return {name: tensor.detach().numpy() for name, tensor in kept.items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes back to where `arrays` were taken."""
        with torch.no_grad():
            for name, array in arrays.items():
                getattr(self, name).copy_(torch.from_numpy(array))


class Table(Matrix):
    """A matrix of which some rows are used at a time."""

    def __init__(self, values: Tensor) -> None:
        super().__init__(values)
        self.values.requires_grad_(False)
        self.steps = torch.zeros(len(values))
        self._rows = torch.empty(0, dtype=torch.int64)

    def take(self, rows: NDArray[np.int64]) -> Tensor:
        """Some rows, each of them once, (n, dim); a loss made from them gives them gradients."""
        self._rows = torch.from_numpy(rows)
        self.leaf = self.values.index_select(0, self._rows).requires_grad_()
        return self.leaf

    def step(self, learning_rate: float) -> None:
        """Moves the rows that were taken last."""
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
    """Shortens the gradients where all of them together are longer than `longest`; the length they had."""
    return float(torch.nn.utils.clip_grad_norm_([matrix.leaf for matrix in matrices], longest))


def look_up(rows: Tensor, places: NDArray[np.int64]) -> Tensor:
    """Rows by their place, also several times: (n, dim) for places (n,)."""
    return functional.embedding(torch.from_numpy(places), rows)


def _move(values: Tensor, mean: Tensor, square: Tensor, steps: Tensor, gradient: Tensor, learning_rate: float) -> None:
    mean.lerp_(gradient, 1 - FIRST)
    square.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
    root = (square / _weight(SECOND, steps)).sqrt_().add_(TINY)
    values.addcdiv_(mean / _weight(FIRST, steps), root, value=-learning_rate)


def _weight(decay: float, steps: Tensor) -> Tensor:
    """1 - decay**steps: the share of gradients in a mean that began at 0. Written so that few steps lose no digits."""
    return -torch.expm1(steps * math.log(decay))
