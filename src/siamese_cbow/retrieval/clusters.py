"""Groups of rows on the same topic, each labelled with its typical words.

    Cluster(412, ["guitar", "band", "album"], [Hit(0.81, "notes.txt", 12, "the band played"), ...])

Centres come from scikit-learn's MiniBatchKMeans on a sample of at most 50,000 rows; then all rows are read again
and assigned to the nearest centre, so memory doesn't grow with the text. The same text and seed give the same groups.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.option_fields import at_least_1, checked_value
from siamese_cbow.errors import InputError, needs
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model.geometry import units
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.retrieval.graph import fingerprints, shrunk
from siamese_cbow.retrieval.search import Hit, encoded_blocks
from siamese_cbow.text.inputs import Texts
from siamese_cbow.text.opening import STDIN, open_bytes
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader, Rows

SAMPLE = 50_000
N_WORDS, N_EXAMPLES = 5, 3
MOST = 20  # groups by default

Assigned = Callable[[Rows, NDArray[np.int64]], None]  # receives the group of each row, -1 if a row has no known word


@dataclass(frozen=True)
class Cluster:
    """A group of rows.

    size      how many
    words     its typical words, which are more frequent in it than elsewhere; the most typical first
    examples  the rows nearest to its centre, best first, with their cosines to it
    """

    size: int
    words: list[str]
    examples: list[Hit]


def clusters(
    inputs: Any,
    *,
    model: Model | str | None = None,
    k: int | None = None,
    text: TextSettings | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
    assigned: Assigned | None = None,
) -> list[Cluster]:
    """The groups of the rows of a text, the largest first.

    inputs    a file, folder, glob, "-", a list of those, or `Texts([...])` of a list
    model     a model or its name; by default the pretrained one
    k         number of groups; by default the square root of half the number of rows, at most 20
    text      how text is read, and what a row is; by default a line
    assigned  called with the rows of each block and the group of each, a position in the result
    """
    model = open_model(model)
    k_means = _k_means()  # before reading any text, in case it is not installed
    checked_value("seed", seed, int, at_least=0)
    checked_value("assigned", assigned, Callable, optional=True, described="a function of rows and their groups")
    with (
        shown(progress, "reading", None, unit="B") as reporter,
        _readable_again(inputs, text, reporter) as reader,
    ):
        sample = _sample(encoded_blocks(reader, model, threads, SILENT), seed)
        centres = _centres(sample, k, seed, k_means)
        tally = _Tally(model, centres)
        for rows, vectors in encoded_blocks(reader, model, threads, reporter):
            tally.take(rows, vectors)
        order = [i for i in np.argsort(-tally.sizes, kind="stable").tolist() if tally.sizes[i]]
        if assigned is not None:
            position = np.full(len(centres) + 1, -1)
            position[order] = np.arange(len(order))
            for rows, vectors in encoded_blocks(reader, model, threads, SILENT):
                assigned(rows, position[tally.groups(vectors)])
        words = tally.words()
    return [Cluster(int(tally.sizes[i]), words[i], tally.examples[i]) for i in order]


@contextmanager
def _readable_again(inputs: Any, settings: TextSettings | None, progress: Progress) -> Iterator[RowReader]:
    """A reader that can be read twice: standard input is copied to a temporary file, an iterator to a list."""
    names = [inputs] if isinstance(inputs, str | Path) else inputs
    if isinstance(inputs, RowReader) or not isinstance(names, list | tuple) or "-" not in names:
        texts = inputs.texts if isinstance(inputs, Texts) else inputs
        yield RowReader.of(Texts(list(texts)) if isinstance(texts, Iterator) else inputs, settings, progress.say)
        return
    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder:
        path = Path(folder) / STDIN.replace(" ", "-")
        with open_bytes(None) as stream, path.open("wb") as file:
            while piece := stream.read(1 << 20):
                file.write(piece)
        reader = RowReader([path if name == "-" else name for name in names], settings, say=progress.say)
        reader.aliases[str(path)] = STDIN
        yield reader


def _sample(blocks: Iterator[tuple[Rows, Vectors]], seed: int) -> Vectors:
    """A uniform sample of at most SAMPLE vectors of rows with known words."""
    rng, sample, n_seen = np.random.default_rng(seed), list[Vectors](), 0
    for _, vectors in blocks:
        for row in vectors[vectors.any(axis=1)]:
            n_seen += 1
            if len(sample) < SAMPLE:
                sample.append(row.copy())
            elif (place := int(rng.integers(n_seen))) < SAMPLE:
                sample[place] = row.copy()
    if not sample:
        raise InputError("no row contains a word the model knows; expected text in the model's language")
    return np.array(sample)


def _k_means() -> Any:
    with needs("scikit-learn", "search"):
        from sklearn.cluster import MiniBatchKMeans
    return MiniBatchKMeans


def _centres(sample: Vectors, k: int | None, seed: int, k_means: Any) -> Vectors:
    """Centres of length 1, (at most k, dim)."""
    n_different = len(set(fingerprints(shrunk(sample))))
    k = max(2, min(MOST, round((len(sample) / 2) ** 0.5))) if k is None else at_least_1("k", k)
    means = k_means(min(k, n_different), random_state=seed, n_init=3, batch_size=4096, max_iter=50).fit(sample)
    return units(means.cluster_centers_.astype(np.float32))


class _Tally:
    """Sizes, counts of words and examples of each group."""

    def __init__(self, model: Model, centres: Vectors) -> None:
        from scipy.sparse import csr_array

        from siamese_cbow.words.lookup import lookup_of

        self._model, self._centres = model, centres
        self._lookup = lookup_of(model.vocabulary, model.tokenizer, model.fallback)
        self._counts = csr_array((len(centres), len(model.vocabulary)), dtype=np.int64)
        self.sizes = np.zeros(len(centres), np.int64)
        self.examples: list[list[Hit]] = [[] for _ in centres]

    def groups(self, vectors: Vectors) -> NDArray[np.int64]:
        """The nearest centre of each vector, (n,); the number of centres (one past the end) if a vector is zero."""
        return np.where(vectors.any(axis=1), np.argmax(vectors @ self._centres.T, axis=1), len(self._centres))

    def take(self, rows: Rows, vectors: Vectors) -> None:
        """Count the next rows."""
        groups = self.groups(vectors)
        self.sizes += np.bincount(groups, minlength=len(self._centres) + 1)[:-1]
        self._count(rows, groups)
        for group in np.unique(groups[groups < len(self._centres)]).tolist():
            self._show(rows, np.flatnonzero(groups == group), vectors, group)

    def _count(self, rows: Rows, groups: NDArray[np.int64]) -> None:
        from scipy.sparse import coo_array

        ids, offsets = self._lookup.ids(rows.texts())
        group_of_word = np.repeat(groups, np.diff(offsets))
        inside = group_of_word < len(self._centres)  # skip words of rows whose vectors sum to zero
        places = (group_of_word[inside], ids[inside])
        self._counts += coo_array((np.ones(len(places[0]), np.int64), places), self._counts.shape).tocsr()

    def _show(self, rows: Rows, members: NDArray[np.int64], vectors: Vectors, group: int) -> None:
        scores = vectors[members] @ self._centres[group]
        best = members[np.argsort(-scores, kind="stable")[: 4 * N_EXAMPLES]]
        near = zip(best.tolist(), (vectors[best] @ self._centres[group]).tolist(), strict=True)
        hits = [Hit(score, rows.source, rows.number(row), rows.row(row)) for row, score in near]
        # Skip repeated texts: they say nothing new about the group.
        ranked = sorted(self.examples[group] + hits, key=lambda hit: -hit.score)
        different = {hit.text: hit for hit in reversed(ranked)}
        self.examples[group] = sorted(different.values(), key=lambda hit: -hit.score)[:N_EXAMPLES]

    def words(self) -> list[list[str]]:
        """For each group the words with the largest p log²(p / q) c, best first.

        p is a word's share in the group, q its (smaller) share in all groups, and c the component of its vector along
        the centre: almost nothing for words such as "the", whose vectors are short. The square discounts words that
        are frequent everywhere and only slightly more so here.
        """
        totals = np.asarray(self._counts.sum(axis=0)).ravel()
        typical = []
        for group, centre in enumerate(self._centres):
            row = self._counts[[group]].tocoo()
            ids, counts = row.coords[1], row.data
            share = counts / max(counts.sum(), 1)
            towards = np.maximum(self._model.rows.take(ids, 0) @ centre, 0)
            lift = np.log(share / (totals[ids] / max(totals.sum(), 1)))
            weight = share * np.maximum(lift, 0) ** 2 * towards
            ranked = (self._model.vocabulary.words[ids[i]] for i in np.argsort(-weight, kind="stable"))
            spelled = (word for word in ranked if any(map(str.isalpha, word)))
            typical.append(list(itertools.islice(spelled, N_WORDS)))
        return typical
