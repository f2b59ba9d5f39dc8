"""Which sentences make a batch: each one once per epoch, runs that respect documents, negatives that are never near."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_world import N_WORDS, corpus, keys, shape_of
from siamese_cbow.kernels.batch.batch_records import Text
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.training.batches import document_starts
from siamese_cbow.training.engine import BatchPicker
from siamese_cbow.training.stems import NO_STEMS


def picked_batches(text: Text, shape, *, epoch: int = 0, shift: int = 0, threads: int = 1):
    n_batches = -(-shape.n_units // shape.units_per_batch)
    with ThreadTeam(threads) as team:
        return BatchPicker(text, shape, team).pick(keys(shape, epoch, shift), 0, n_batches), n_batches


def document_of(text: Text) -> np.ndarray:
    return np.repeat(np.arange(len(text.documents) - 1), np.diff(text.documents))


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("run_length", [1, 2, 4, 100])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_an_epoch_has_every_sentence_as_anchor_once(run_length, shift, halo):
    text = corpus(n_documents=30)
    shape = shape_of(text, 12 if run_length < 100 else 100, run_length, halo=halo)
    picked, n_batches = picked_batches(text, shape, shift=min(shift, run_length - 1))
    seen = [
        s
        for b in range(n_batches)
        for k, s in enumerate(picked.sentences[b, : picked.n_sentences[b]])
        if picked.anchors[b, k]
    ]
    assert sorted(seen) == list(range(len(text.sentences) - 1))


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("run_length", [1, 2, 4])
def test_side_by_side_in_a_run_is_adjacent_in_a_document_and_the_other_way_round(run_length, halo):
    text, documents = corpus(n_documents=30), document_of(corpus(n_documents=30))
    shape = shape_of(text, 12, run_length, halo=halo)
    picked, n_batches = picked_batches(text, shape)
    for b in range(n_batches):
        n = picked.n_sentences[b]
        sentences, runs = picked.sentences[b, :n], picked.runs[b, :n]
        assert len(set(sentences)) == n
        for i in range(n):
            for j in range(n):
                near = abs(sentences[i] - sentences[j]) == 1 and documents[sentences[i]] == documents[sentences[j]]
                assert near == (abs(i - j) == 1 and runs[i] == runs[j])
            if halo and picked.anchors[b, i]:  # both neighbours are in the batch
                for s in (sentences[i] - 1, sentences[i] + 1):
                    if 0 <= s < len(documents) and documents[s] == documents[sentences[i]]:
                        assert s in sentences


@pytest.mark.parametrize("from_batch", [False, True])
@pytest.mark.parametrize("groups", [False, True])
def test_a_negative_is_never_the_anchor_nor_adjacent(groups, from_batch):
    text, documents = corpus(n_documents=12), document_of(corpus(n_documents=12))
    shape = shape_of(text, 12, 3, negatives=5, negatives_from_batch=from_batch, groups=groups)
    n_found = 0
    for epoch in range(5):
        picked, n_batches = picked_batches(text, shape, epoch=epoch)
        for b in range(n_batches):
            for k in range(picked.n_candidates[b]):
                anchor = picked.sentences[b, k]
                for j in picked.negatives[b, k]:
                    if j < 0:
                        continue
                    n_found += 1
                    s = picked.sentences[b, j]
                    assert s != anchor
                    assert abs(s - anchor) > 1 or documents[s] != documents[anchor]
                    if groups:
                        assert documents[s] != documents[anchor]
                    if from_batch:
                        assert j < picked.n_candidates[b]
    assert n_found > 100


def test_negatives_come_evenly_from_the_whole_corpus():
    text = corpus(n_documents=5)
    n = len(text.sentences) - 1
    shape = shape_of(text, n, 1, negatives=200, negatives_from_batch=False)
    picked, n_batches = picked_batches(text, shape)
    counts = np.zeros(n)
    for b in range(n_batches):
        places = picked.negatives[b, : picked.n_candidates[b]].ravel()
        counts += np.bincount(picked.sentences[b][places[places >= 0]], minlength=n)
    assert counts.min() > 0.7 * counts.mean()
    assert counts.max() < 1.3 * counts.mean()


def test_who_uses_a_negative_is_known_from_both_ends():
    text = corpus(n_documents=12)
    shape = shape_of(text, 24, 3, negatives=3)
    picked, n_batches = picked_batches(text, shape)
    for b in range(n_batches):
        forward = {
            (int(j), k, i)
            for k in range(picked.n_candidates[b])
            for i, j in enumerate(picked.negatives[b, k])
            if j >= 0
        }
        starts = picked.user_starts[b]
        backward = {
            (j, *picked.users[b, i].tolist())
            for j in range(picked.n_sentences[b])
            for i in range(starts[j], starts[j + 1])
        }
        assert forward == backward


def test_large_groups_give_some_members_each_time():
    documents = np.array([0, 10, 12])
    starts, keep = document_starts(documents, 12), np.ones(N_WORDS, np.float32)
    text = Text(
        np.zeros(12, np.int32), np.arange(13), documents, starts, keep, NO_STEMS.rows, np.zeros(0, np.float32), N_WORDS
    )
    seen = set()
    for epoch in range(20):
        picked, _ = picked_batches(text, shape_of(text, 8, 4, groups=True), epoch=epoch)
        sentences = set(picked.sentences[0, : picked.n_sentences[0]].tolist())
        assert len(sentences & set(range(10))) == 4
        assert {10, 11} <= sentences
        seen |= sentences
    assert seen == set(range(12))


def test_document_starts_are_bits():
    bits = np.unpackbits(document_starts(np.array([0, 2, 3, 9]), 9), bitorder="little")
    assert np.flatnonzero(bits).tolist() == [0, 2, 3]


def test_triples_are_the_sentences_with_two_neighbours():
    text, documents = corpus(n_documents=30), document_of(corpus(n_documents=30))
    shape = shape_of(text, 12, 1, halo=True, triples=True)
    picked, n_batches = picked_batches(text, shape)
    anchors = [
        s
        for b in range(n_batches)
        for k, s in enumerate(picked.sentences[b, : picked.n_sentences[b]])
        if picked.anchors[b, k]
    ]
    inside = [s for s in range(1, len(documents) - 1) if documents[s - 1] == documents[s] == documents[s + 1]]
    assert sorted(anchors) == inside


def test_any_negative_may_be_the_anchor_or_adjacent():
    text, documents = corpus(n_documents=2), document_of(corpus(n_documents=2))
    shape = shape_of(text, 4, 1, negatives=5, negatives_from_batch=False, halo=True, any_negative=True)
    distances = set()
    for epoch in range(20):
        picked, n_batches = picked_batches(text, shape, epoch=epoch)
        for b in range(n_batches):
            for k in range(picked.n_candidates[b]):
                if picked.anchors[b, k]:
                    drawn = picked.sentences[b, picked.negatives[b, k]]
                    distances |= set(np.abs(drawn - picked.sentences[b, k])[documents[drawn] == documents[0]])
    assert {0, 1, 2} <= distances
