"""The fit of the rows that an index has: its sample is drawn by the hashes of all of them, in whatever segment."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from siamese_cbow.base.arrays import mapped_array
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fitting import Fit, sample_rows
from siamese_cbow.retrieval.manifest import Manifest
from siamese_cbow.retrieval.row_words import Words
from siamese_cbow.retrieval.segment import HASHES, REBUILD, SegmentText


def fit_of(folder: Path, manifest: Manifest, new: str, written: Path, words: Words, model: Model) -> Fit:
    """The fit of all live rows; `new` is the segment that is being written, in the folder `written`."""
    texts: dict[str, SegmentText] = {}
    hashes, places = [np.empty(0, np.uint64)], list[tuple[str, int, int]]()
    for entry in sorted(manifest.files.values(), key=lambda each: (each.segment, each.first)):
        place = written if entry.segment == new else folder / entry.segment
        all_hashes = mapped_array(place / HASHES, np.uint64, (None,), advice=REBUILD)
        texts.setdefault(entry.segment, SegmentText(place, len(all_hashes)))
        hashes.append(np.array(all_hashes[entry.first : entry.last]))
        places.append((entry.segment, entry.first, entry.last - entry.first))
    ends = np.cumsum([0, *(n for _, _, n in places)])
    sample = []
    for row in sample_rows(np.concatenate(hashes)).tolist():
        i = int(np.searchsorted(ends, row, "right")) - 1
        segment, first, _ = places[i]
        sample.append(texts[segment].text(first + row - int(ends[i])))
    return Fit.of(model, words, words.of(sample), int(ends[-1]))
