"""How a stream is divided into batches, or why it can't be: every error is raised before any work.

A text is divided into units of `run_length` consecutive sentences, regardless of documents; adjacency inside a unit
still stops at the end of a document. So no list of units is needed: unit 7 starts at sentence 7 x run_length. From
epoch to epoch, the boundaries shift by one sentence. In a stream of groups, the units are the groups.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Floats, Ids, Offsets
from siamese_cbow.base.disk import clear_disk_errors
from siamese_cbow.errors import InputError
from siamese_cbow.kernels.batch.batch_records import Keys, Shape, Text
from siamese_cbow.kernels.batch.random import Purpose, half_bits, key
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.stems import NO_STEMS, Stems
from siamese_cbow.words.vocabulary import Vocabulary

NO_LIMIT = 2**62
ALL_ALIKE = np.zeros(0, np.float32)  # word weights that are all 1
BLOCK = 1 << 20  # ids translated at a time


def batch_shape(
    stream: Stream,
    *,
    batch_size: int,
    run_length: int,
    max_tokens: int | None = None,
    negatives: int = 0,
    from_batch: bool = False,
    triples: bool = False,
    any_negative: bool = False,
) -> Shape:
    """How the stream is divided; an error if nothing can be learnt from it.

    negatives   sentences drawn for each anchor
    from_batch  an anchor's neighbours and negatives come from the batch only, not from the whole stream

    The other options are those of `Shape`.
    """
    largest = _largest_document(stream)
    _check_stream(stream, largest, negatives)
    if triples and largest < 3:
        raise InputError(
            f"no document of the stream has three sentences (the longest has {largest}), but --triples learns "
            "only from sentences with one before and one after; drop --triples or prepare longer documents"
        )
    groups = stream.kind == "groups"
    run_length = min(run_length, largest) if groups else run_length
    # One unit more than sentences / run_length: an epoch may begin in the middle of a unit.
    n_units = stream.n_documents if groups else (stream.n_sentences + run_length - 2) // run_length + 1
    return Shape(
        run_length=run_length,
        units_per_batch=max(1, batch_size // run_length),
        n_units=n_units,
        groups=groups,
        halo=not from_batch and not groups,
        negatives=negatives,
        negatives_from_batch=from_batch,
        max_tokens=max_tokens or NO_LIMIT,
        triples=triples and not groups,
        any_negative=any_negative,
    )


def batches_per_epoch(shape: Shape) -> int:
    """The number of batches in all units: 10 units, 4 in a batch -> 3."""
    return -(-shape.n_units // shape.units_per_batch)


def text_arrays(
    stream: Stream,
    weights: NDArray[np.float32] = ALL_ALIKE,
    *,
    subsample: float,
    stems: Stems = NO_STEMS,
    vocabulary: Vocabulary | None = None,
) -> Text:
    """The stream as the kernels take it, with the ids of `vocabulary` if that is another one. Files stay on disk."""
    vocabulary = vocabulary or stream.vocabulary
    return Text(
        ids=_translated(stream, vocabulary),
        sentences=np.asarray(stream.sentences),
        documents=np.asarray(stream.documents),
        starts=document_starts(stream.documents, stream.n_sentences),
        keep=keep_chances(np.asarray(vocabulary.counts), subsample).astype(np.float32),
        stems=stems.rows,
        weights=weights,
        n_rows=len(vocabulary) + stems.n_shared,
    )


def _translated(stream: Stream, vocabulary: Vocabulary) -> Ids:
    """The ids of the stream's words in another vocabulary, in a temporary file, since they may exceed memory."""
    ids: Ids = np.asarray(stream.ids)
    if vocabulary is stream.vocabulary or list(vocabulary.words) == list(stream.vocabulary.words):
        return ids
    table = np.array([vocabulary.index[word] for word in stream.vocabulary.words], np.int32)
    with tempfile.TemporaryFile(prefix="siamese-cbow-") as file, clear_disk_errors(Path(tempfile.gettempdir())):
        for first in range(0, len(ids), BLOCK):  # written, not stored through a mapping: see `as_mapped`
            file.write(table.take(ids[first : first + BLOCK], mode="clip").tobytes())
        file.flush()
        mode: Literal["r", "r+"] = "r+" if ids.flags.writeable else "r"  # kernels are compiled for one of the two
        return np.asarray(np.memmap(file, np.int32, mode, shape=ids.shape))  # lives until it is unmapped


def document_starts(documents: Offsets, n_sentences: int) -> Bytes:
    """One bit per sentence, set where a document starts: documents [0, 2, 3] -> bits 1, 0, 1."""
    bits: Bytes = np.zeros(n_sentences // 8 + 1, np.uint8)
    first = np.asarray(documents[:-1])
    np.bitwise_or.at(bits, first >> 3, (1 << (first & 7)).astype(np.uint8))
    return bits


def keep_chances(counts: NDArray[np.int64] | Floats, subsample: float) -> Floats:
    """The chance that an occurrence of a word is kept, word2vec's: sqrt(t / f) + t / f for a share f of all words.

    counts [900, 100], subsample 0.1 -> [0.44, 1]; without subsampling -> []
    """
    if subsample == 0:
        return np.zeros(0)
    ratio = subsample * max(1, counts.sum()) / np.maximum(1, counts)
    return np.asarray(np.minimum(1, np.sqrt(ratio) + ratio))


def epoch_keys(seed: int, shape: Shape, epoch: int, *, in_turn: bool = True) -> Keys:
    """The random keys of an epoch.

    in_turn  draw only the first epoch's offset of runs and count on from it. Offsets drawn for each epoch repeat, so
             neighbours separated in one epoch could be separated in the next as well
    """
    drawn = key(seed, 0 if in_turn else epoch, Purpose.SHIFT)
    shift = (int(drawn) + (epoch if in_turn else 0)) % shape.run_length
    return Keys(
        order=key(seed, epoch, Purpose.ORDER),
        shift=0 if shape.groups else shift,
        half_bits=half_bits(shape.n_units),
        subsample=key(seed, epoch, Purpose.SUBSAMPLE),
        negatives=key(seed, epoch, Purpose.NEGATIVES),
        positives=key(seed, epoch, Purpose.POSITIVES),
    )


def _largest_document(stream: Stream) -> int:
    """The number of sentences in the largest document, read a million offsets at a time."""
    largest, step = 0, 1 << 20
    for first in range(0, stream.n_documents, step):
        largest = max(largest, int(np.diff(stream.documents[first : first + step + 1]).max(initial=0)))
    return largest


def _check_stream(stream: Stream, largest_document: int, negatives: int) -> None:
    unit = "group" if stream.kind == "groups" else "document"
    if stream.n_sentences == 0 or len(stream.vocabulary) == 0:
        raise InputError("no sentence of the stream contains a known word; prepare more text or lower --min-count")
    if largest_document < 2:
        raise InputError(
            f"every {unit} of the stream has only one sentence ({stream.n_documents:,} in all), but training "
            "needs neighbouring sentences; check how the text was split: see --layout and --boundary of "
            "prepare"
        )
    if negatives >= stream.n_sentences:
        raise InputError(
            f"negatives is {negatives} but the stream has only {stream.n_sentences:,} sentences; expected "
            "fewer negatives than sentences: lower --negatives or prepare more text"
        )
