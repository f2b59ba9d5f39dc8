"""Stateless randomness: Numba and NumPy agree, orders are permutations, draws are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from siamese_cbow.kernels.batch import random
from siamese_cbow.kernels.batch.random import Purpose
from siamese_cbow.kernels.means_reference import random_bits


@njit
def _all_bits(key, n):
    out = np.empty(n, np.uint64)
    for i in range(n):
        out[i] = random.bits(key, np.uint64(i))
    return out


@njit
def _all_below(key, n, limit):
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = random.below(key, np.uint64(i), limit)
    return out


def test_numba_and_numpy_draw_the_same_bits():
    key = random.key(1, 2, Purpose.ORDER)
    np.testing.assert_array_equal(_all_bits(key, 1000), random_bits(key, np.arange(1000, dtype=np.uint64)))


def test_known_bits():
    # The output of SplitMix64 with seed 1234567, published with the algorithm.
    assert random_bits(1234567, np.arange(3, dtype=np.uint64)).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_every_seed_epoch_and_purpose_has_draws_of_its_own():
    keys = [random.key(seed, epoch, purpose) for seed in range(5) for epoch in range(5) for purpose in Purpose]
    assert len(set(keys)) == len(keys)
    assert random.key(1, 0, Purpose.ORDER) == np.uint64(random.key(1, 0, Purpose.ORDER))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17, 64, 1000, 4097])
def test_an_order_holds_every_place_once(n):
    key = random.key(3, 0, Purpose.ORDER)
    order = [random.permuted(key, n, random.half_bits(n), i) for i in range(n)]
    assert sorted(order) == list(range(n))


def test_orders_of_epochs_differ_and_are_no_pattern():
    n = 1000
    first, second = (
        np.array([random.permuted(random.key(1, epoch, Purpose.ORDER), n, random.half_bits(n), i) for i in range(n)])
        for epoch in (0, 1)
    )
    assert (first == second).sum() < 10
    assert abs(np.corrcoef(first, np.arange(n))[0, 1]) < 0.1
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.1


def test_draws_below_a_limit_are_even():
    drawn = _all_below(random.key(1, 0, Purpose.NEGATIVES), 70_000, 7)
    counts = np.bincount(drawn, minlength=7)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 400
