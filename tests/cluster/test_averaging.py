"""Averaging the rows of several workers: by threads and by sockets, in the kernel and in NumPy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.cluster import averaging
from siamese_cbow.cluster.averaging import Averager, adagrad_scales, periods_of, row_arrays
from siamese_cbow.cluster.node import Listener, PeerLostError, SocketExchange, ThreadExchange
from siamese_cbow.kernels.merging import NOBODY, merge_reference
from siamese_cbow.training.state import TrainingState, first_state
from siamese_cbow.words.vocabulary import Vocabulary

N_ROWS = 331
WORDS = Vocabulary([f"w{i}" for i in range(N_ROWS)], np.arange(N_ROWS, 0, -1))


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes connections at the end of each test."""
    made: list[SocketExchange] = []
    first = SocketExchange.__init__
    monkeypatch.setattr(SocketExchange, "__init__", lambda self, *given: made.append(self) or first(self, *given))
    yield
    for exchange in made:
        exchange.close()


def by_sockets(n: int) -> list[SocketExchange]:
    listeners = [Listener("127.0.0.1") for _ in range(n)]
    addresses = [each.address for each in listeners]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda i: listeners[i].exchange(i, addresses, b"secret"), range(n)))


def worlds(recipe: sc.SiameseCBOW, n: int, seed: int) -> tuple[list[TrainingState], list[np.ndarray]]:
    """Workers that started from the same rows and moved some of them."""
    rng = np.random.default_rng(seed)
    states = [first_state(recipe, WORDS) for _ in range(n)]
    touched = [np.asarray(rng.random(N_ROWS) < 0.6 / (1 + i), np.uint8) for i in range(n)]
    return states, touched


def move(states: list[TrainingState], touched: list[np.ndarray], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for state, flags in zip(states, touched, strict=True):
        for array in row_arrays(state):
            drawn = rng.random(array.values.shape, dtype=np.float32)
            array.values[flags == 1] += drawn[flags == 1]


def expected(befores: list[np.ndarray], states: list[TrainingState], touched: list[np.ndarray]) -> list[np.ndarray]:
    """The merged arrays, computed in plain NumPy."""
    n, everyone = len(states), [row_arrays(state) for state in states]
    results = [before.copy() for before in befores]
    for row in range(N_ROWS):
        moved = [i for i in range(n) if touched[i][row]]
        if not moved:
            continue
        places = np.full((1, n), NOBODY, np.int32)
        places[0, moved] = np.arange(len(moved))
        received = [np.stack([everyone[i][a].values[row] for i in moved]) for a in range(len(befores))]
        for a, array in enumerate(everyone[0]):
            scales = np.ones((1, n), np.float32)
            if array.seen is not None:
                scales = adagrad_scales(befores[array.seen][row], received[array.seen], places)
            given = None if array.is_direction else scales
            results[a][row] = merge_reference(befores[a][row : row + 1], received[a], places, given)[0]
    return results


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "nesterov", "adam"])
@pytest.mark.parametrize(
    ("n", "exchanges"), [(2, ThreadExchange.several), (3, ThreadExchange.several), (2, by_sockets), (3, by_sockets)]
)
def test_all_continue_from_the_same_rows(optimizer, n, exchanges, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(averaging, "BLOCK", 64)
    recipe = sc.SiameseCBOW.paper(dim=200, optimizer=optimizer)
    states, touched = worlds(recipe, n, 1)
    due = np.asarray(np.arange(N_ROWS) % 5 > 0, np.uint8)
    averagers = [Averager(*both) for both in zip(states, exchanges(n), strict=True)]
    befores = [array.values.copy() for array in row_arrays(states[0])]
    for seed, flags in ((2, due), (3, np.ones_like(due))):
        move(states, touched, seed)
        moved = [np.array(each) for each in touched]
        wanted = expected(befores, states, [each & flags for each in moved])
        with ThreadPoolExecutor(n) as pool:
            sizes = list(pool.map(lambda a, t: a.average(t, flags), averagers, touched))  # noqa: B023
        assert sum(sent for sent, _ in sizes) == sum(received for _, received in sizes) > 0
        for worker, state in enumerate(states):
            for array, result in zip(row_arrays(state), wanted, strict=True):
                settled = flags == 1
                assert np.array_equal(array.values[settled], result[settled])
            assert np.array_equal(touched[worker], moved[worker] & (1 - flags))
        befores = [np.where(flags[:, None] == 1, w, b) for w, b in zip(wanted, befores, strict=True)]
    rows = [state.vectors for state in states]
    assert all(np.array_equal(rows[0], other) for other in rows[1:])


def test_rare_rows_are_averaged_rarely() -> None:
    periods = periods_of(np.array([0.5, 0.19, 0.13, 0.08, 0.0001, 0.0]), 1000)
    assert periods.tolist() == [1, 2, 2, 4, 16, 16]
    assert (1004 % periods).tolist() == [0, 0, 0, 0, 12, 12]  # a job may have thousands of rounds


def test_much_travels_both_ways_at_once() -> None:
    """More than the buffers hold, in different sizes, and nothing at all for some."""
    rng = np.random.default_rng(1)
    sizes = [[0, 5_000_000, 3], [4_000_000, 0, 0], [7, 1_000_000, 0]]
    sent = [[[rng.integers(0, 255, (n, 2), np.uint8)] for n in row] for row in sizes]
    received = [[[np.zeros((row[i], 2), np.uint8)] for row in sizes] for i in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda exchange, *both: exchange.swap(*both), by_sockets(3), sent, received))
    for i in range(3):
        for j in range(3):
            assert i == j or np.array_equal(received[i][j][0], sent[j][i][0])


def test_strangers_are_not_listened_to() -> None:
    listeners = [Listener("127.0.0.1") for _ in range(2)]
    addresses = [each.address for each in listeners]
    strangers = [socket.create_connection(addresses[0]) for _ in range(3)]
    strangers[0].sendall(b"wrongs" + (1).to_bytes(4, "big"))
    strangers[1].sendall(b"secret" + (7).to_bytes(4, "big"))  # no such worker
    strangers[2].close()
    with ThreadPoolExecutor(2) as pool:
        exchanges = list(pool.map(lambda i: listeners[i].exchange(i, addresses, b"secret"), range(2)))
        both = list(pool.map(lambda e: e.gather(np.array([e.number], np.uint8)).tolist(), exchanges))
    assert both == [[[0], [1]]] * 2
    for stranger in strangers:
        stranger.close()
    with pytest.raises(OSError, match=r".*"):
        socket.create_connection(addresses[0])  # no more connections are accepted


def test_a_peer_that_is_gone() -> None:
    first, second = by_sockets(2)
    second.close()
    with pytest.raises(PeerLostError):
        first.gather(np.zeros(1, np.uint8))
    with pytest.raises(PeerLostError, match="no connection"):
        Listener("127.0.0.1").exchange(1, [("127.0.0.1", 1), ("127.0.0.1", 2)], b"secret")
