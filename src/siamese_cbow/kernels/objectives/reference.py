"""The definition of every objective: plain NumPy, float64, slow. The fast kernels are tested against it.

A batch has n sentences. For each anchor (row), `positive` says which candidates (columns) should be near it, and
`negative` how often each is drawn as a negative. So one formula covers the published objective and the in-batch one.

    text of 3 sentences, all negatives from elsewhere:    positive = [[0,1,0,...], [1,0,1,...], [0,1,0,...], ...]

An example is an anchor with at least one positive. The loss of a batch is the mean over its examples. A sentence
without words, or whose mean is zero, is absent: it is neither anchor nor candidate and gets no gradient.

FastSent comes last: its sentence vector is the sum of the words' rows in the *source* matrix. It should have a high dot
product with the *target* rows of the words that the sentence has to guess, and a low one with those of words drawn at
random:

    loss of a guess     -log sigmoid(s . v_word) - sum over negatives of log sigmoid(-s . v_negative)
    loss of a sentence  the sum over its guesses; of a batch, the mean over the sentences that have any
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats
from siamese_cbow.kernels.tables import ScoreName

# (scores, positive, negative), all (n, n) -> (loss of each anchor, d loss / d score)
ScoreLoss: TypeAlias = Callable[[Floats, Counts, Counts], tuple[Floats, Floats]]


def softmax(scores: Floats, positive: Counts, negative: Counts, *, temperature: float = 1.0) -> tuple[Floats, Floats]:
    """Cross-entropy of softmax(score / temperature) over positives and negatives against 1/|S+| on the positives.

    One positive and one negative, both of score 0 -> loss log 2, slopes -1/2 and +1/2.
    """
    candidates = positive + negative
    logits = np.where(candidates > 0, scores / temperature, -np.inf)
    highest = np.max(logits, axis=1, keepdims=True, initial=-1e300)
    weights = candidates * np.exp(logits - highest)
    total = weights.sum(axis=1, keepdims=True)
    target = positive / np.maximum(1, positive.sum(axis=1, keepdims=True))
    logs = np.where(candidates > 0, logits - highest - np.log(np.where(total > 0, total, 1)), 0)
    return -(target * logs).sum(axis=1), (weights / np.where(total > 0, total, 1) - target) / temperature


def sigmoid(scores: Floats, positive: Counts, negative: Counts) -> tuple[Floats, Floats]:
    """Negative sampling: -log sigmoid(score) for each positive, -log sigmoid(-score) for each negative.

    One positive and one negative, both of score 0 -> loss 2 log 2, slopes -1/2 and +1/2.
    """
    losses = positive * np.logaddexp(0, -scores) + negative * np.logaddexp(0, scores)
    slopes = -positive / (1 + np.exp(scores)) + negative / (1 + np.exp(-scores))
    return losses.sum(axis=1), slopes


def margin(scores: Floats, positive: Counts, negative: Counts, *, margin: float = 0.4) -> tuple[Floats, Floats]:
    """max(0, margin - score of a positive + score of the hardest negative), the mean over positives (Wieting, 2015).

    A positive of score .5, a negative of .4, margin .4 -> loss .3, slopes -1 and +1.
    """
    losses, slopes = np.zeros(len(scores)), np.zeros_like(scores)
    for anchor in range(len(scores)):
        near, far = np.flatnonzero(positive[anchor]), np.flatnonzero(negative[anchor])
        if len(near) == 0 or len(far) == 0:
            continue
        hardest = far[np.argmax(scores[anchor, far])]
        for j in near:
            loss = margin - scores[anchor, j] + scores[anchor, hardest]
            if loss > 0:
                losses[anchor] += loss / len(near)
                slopes[anchor, j] -= 1 / len(near)
                slopes[anchor, hardest] += 1 / len(near)
    return losses, slopes


def logistic(scores: Floats, positive: Counts, negative: Counts, *, gamma: float = 10.0) -> tuple[Floats, Floats]:
    """log(1 + exp(-gamma (score of a positive - score of a negative))), the mean over such pairs (Yih et al. 2011).

    One positive and one negative, both of score 0, gamma 10 -> loss log 2, slopes -5 and +5.
    """
    losses, slopes = np.zeros(len(scores)), np.zeros_like(scores)
    for anchor in range(len(scores)):
        pairs = np.outer(positive[anchor], negative[anchor])
        pairs = pairs / max(1, pairs.sum())
        difference = gamma * (scores[anchor][:, None] - scores[anchor][None, :])
        losses[anchor] = (pairs * np.logaddexp(0, -difference)).sum()
        slope = pairs * gamma / (1 + np.exp(difference))
        slopes[anchor] = slope.sum(axis=0) - slope.sum(axis=1)
    return losses, slopes


def hinge(scores: Floats, positive: Counts, negative: Counts, *, margin: float = 0.4) -> tuple[Floats, Floats]:
    """max(0, margin - score of a positive + score of a negative), the sum over such pairs (Hermann & Blunsom 2014).

    Scores are negative squared distances of sums: margin 1, distances 2 and 2.5 -> loss .5, slopes -1 and +1.
    """
    lacking = margin - scores[:, :, None] + scores[:, None, :]  # (anchor, positive, negative)
    pairs = positive[:, :, None] * negative[:, None, :] * (lacking > 0)
    slopes = pairs.sum(axis=1) - pairs.sum(axis=2)
    return (pairs * lacking).sum(axis=(1, 2)), np.asarray(slopes, np.float64)


def composition(
    sentences: Sequence[Sequence[int]], n_words: int, *, sums: bool = False, weights: Floats | None = None
) -> Floats:
    """(n_sentences, n_words) the weight of each row in a sentence's mean, or sum; words may have weights.

    sentences [[0, 1], []] of two words -> [[.5, .5], [0, 0]]; with weights [1, 3] -> [[.5, 1.5], [0, 0]]
    """
    taken = np.array(
        [np.bincount(np.asarray(s, int), minlength=n_words) / (1 if sums else max(1, len(s))) for s in sentences]
    )
    return taken if weights is None else taken * weights


def loss_and_gradients(
    left: Floats,
    right: Floats,
    sentences: Sequence[Sequence[int]],
    positive: Counts,
    negative: Counts,
    score_loss: ScoreLoss,
    *,
    score: ScoreName = "cosine",
    needs_negative: bool = False,
    weights: Floats | None = None,
) -> tuple[float, Floats, Floats]:
    """The mean loss over a batch and its gradients for the rows of both matrices.

    `left` is the anchors' matrix and `right` the candidates'; a single one is given twice, and its two gradients are to
    be added. `score` is a name of `tables.SCORES`. With `needs_negative`, an example also has a negative. `weights` of
    words are those of S2Net's input layer.
    """
    words = composition(sentences, len(left), sums=score == "distance", weights=weights)
    a, b = words @ left, words @ right
    norm_a, norm_b = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    there = np.outer(norm_a > 0, norm_b > 0)
    positive, negative = positive * there, negative * there
    examples = (positive.sum(axis=1) > 0) & ((negative.sum(axis=1) > 0) | (not needs_negative))
    positive, negative = positive * examples[:, None], negative * examples[:, None]
    if score == "cosine":
        a, b = a / np.where(norm_a > 0, norm_a, 1)[:, None], b / np.where(norm_b > 0, norm_b, 1)[:, None]
    scores = -((a[:, None] - b) ** 2).sum(axis=2) if score == "distance" else a @ b.T
    losses, slopes = score_loss(scores, positive, negative)
    n_examples = max(1, int(examples.sum()))
    slopes = slopes * examples[:, None] / n_examples
    gradient_a, gradient_b = slopes @ b, slopes.T @ a
    if score == "distance":
        gradient_a = 2 * (gradient_a - slopes.sum(axis=1)[:, None] * a)
        gradient_b = 2 * (gradient_b - slopes.sum(axis=0)[:, None] * b)
    elif score == "cosine":
        gradient_a, gradient_b = _through_length(gradient_a, a, norm_a), _through_length(gradient_b, b, norm_b)
    return float(losses[examples].sum() / n_examples), words.T @ gradient_a, words.T @ gradient_b


def _through_length(gradients: Floats, units: Floats, norms: Floats) -> Floats:
    """Turns gradients of unit vectors into gradients of the original vectors: only the orthogonal part counts."""
    across = gradients - (gradients * units).sum(axis=1, keepdims=True) * units
    return np.asarray(across / np.where(norms > 0, norms, 1)[:, None])


def adjacent(runs: Sequence[int], *, groups: bool = False) -> Counts:
    """Which sentences of a batch are adjacent: neighbours in a run, or all members of a group.

    runs [0, 0, 0, 1] -> [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    """
    place = np.arange(len(runs))
    same = np.equal.outer(np.asarray(runs), np.asarray(runs))
    near = place[:, None] != place if groups else abs(place[:, None] - place) == 1
    return np.asarray(same & near, np.int64)


def other_runs(runs: Sequence[int]) -> Counts:
    """In-batch negatives: every sentence of another run. runs [0, 0, 1] -> [[0, 0, 1], [0, 0, 1], [1, 1, 0]]"""
    return np.asarray(np.not_equal.outer(np.asarray(runs), np.asarray(runs)), np.int64)


class Guess(NamedTuple):
    """A guess: sentence `anchor` has to tell `word` from `negatives`."""

    anchor: int
    word: int
    negatives: Sequence[int]


def fastsent_guesses(
    sentences: Sequence[Sequence[int]], adjacent: NDArray[np.int64], *, autoencode: bool
) -> list[tuple[int, int, int]]:
    """All guesses of a batch: (anchor, place of the sentence that the word comes from, place of the word in it).

    sentences [[7], [8, 9]], side by side -> (0, 1, 0), (0, 1, 1), (1, 0, 0); its own words too with `autoencode`
    """
    return [
        (anchor, other, place)
        for anchor in range(len(sentences))
        for other in range(len(sentences))
        for place in range(len(sentences[other]))
        if len(sentences[anchor]) and (adjacent[anchor, other] or (autoencode and anchor == other))
    ]


def fastsent_loss_and_gradients(
    source: Floats, target: Floats, sentences: Sequence[Sequence[int]], guesses: Sequence[Guess]
) -> tuple[float, Floats, Floats]:
    """The mean loss over the sentences that have guesses, and its gradients for the rows of both matrices.

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
