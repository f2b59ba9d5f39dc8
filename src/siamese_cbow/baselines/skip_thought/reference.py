"""The encoder in plain NumPy, a sentence at a time: the definition that the fast one is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.baselines.skip_thought.encoder import Direction

Numbers = NDArray[np.float64]


def read_sentence(direction: Direction, words: NDArray[np.floating], *, reset_first: bool = True) -> Numbers:
    """The state after the last of the words' vectors, (n_words, dim_word) -> (dim,), in double precision.

    The paper's letters, with a row for a vector: `x W` is what the paper writes W x.
    """
    w_r, w_z, w = np.split(direction.inputs.astype(np.float64), 3, axis=1)
    u_r, u_z = np.split(direction.gates.astype(np.float64), 2, axis=1)
    u = direction.candidate.astype(np.float64)
    b_r, b_z, b = np.zeros((3, len(u))) if direction.bias is None else np.split(direction.bias.astype(np.float64), 3)
    h = np.zeros(len(u))
    for x in words.astype(np.float64):
        r = _sigmoid(x @ w_r + h @ u_r + b_r)
        z = _sigmoid(x @ w_z + h @ u_z + b_z)
        recurrent = (r * h) @ u if reset_first else r * (h @ u)
        h = (1 - z) * h + z * np.tanh(x @ w + recurrent + b)
    return h


def _sigmoid(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-x))
