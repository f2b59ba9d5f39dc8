"""The definition of FastSent: plain NumPy, float64, slow. `fastsent` is tested against it.

A sentence's vector is the sum of its words' rows in the *source* matrix. It should have a high dot product with the
rows, in the *target* matrix, of the words it has to guess, and a low one with those of words drawn at random:

    loss of a guess     -log sigmoid(s . v_word) - sum over negatives of log sigmoid(-s . v_negative)
    loss of a sentence  the sum over its guesses; of a batch, the mean over the sentences that have any
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


class Guess(NamedTuple):
    """Sentence `anchor` has to tell `word` from `negatives`."""

    anchor: int
    word: int
    negatives: Sequence[int]


def guesses(
    sentences: Sequence[Sequence[int]], adjacent: NDArray[np.int64], *, autoencode: bool
) -> list[tuple[int, int, int]]:
    """What has to be guessed: (anchor, place of the sentence the word comes from, place of the word in it).

    sentences [[7], [8, 9]], side by side -> (0, 1, 0), (0, 1, 1), (1, 0, 0); its own words too with `autoencode`
    """
    return [
        (anchor, other, place)
        for anchor in range(len(sentences))
        for other in range(len(sentences))
        for place in range(len(sentences[other]))
        if len(sentences[anchor]) and (adjacent[anchor, other] or (autoencode and anchor == other))
    ]


def loss_and_gradients(
    source: Floats, target: Floats, sentences: Sequence[Sequence[int]], guesses: Sequence[Guess]
) -> tuple[float, Floats, Floats]:
    """The mean loss over the sentences that guess anything, and its gradients for the rows of both matrices.

    All rows zero, one guess with two negatives -> loss 3 log 2.
    """
    sums = np.array([source[list(s)].sum(axis=0) for s in sentences])
    on_sums, on_target, loss = np.zeros_like(sums), np.zeros_like(target), 0.0
    for guess in guesses:
        for word, sign in [(guess.word, 1.0), *((negative, -1.0) for negative in guess.negatives)]:
            score = sign * (sums[guess.anchor] @ target[word])
            loss += np.logaddexp(0, -score)
            slope = -sign / (1 + np.exp(score))
            on_sums[guess.anchor] += slope * target[word]
            on_target[word] += slope * sums[guess.anchor]
    on_source = np.zeros_like(source)
    for gradient, sentence in zip(on_sums, sentences, strict=True):
        for word in sentence:
            on_source[word] += gradient
    n = max(1, len({guess.anchor for guess in guesses}))
    return loss / n, on_source / n, on_target / n
