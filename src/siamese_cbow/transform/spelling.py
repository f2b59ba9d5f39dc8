"""Move rare words towards the vectors of their character n-grams.

    direction' = (1 - k) direction + k spelled        k = strength / (strength + sqrt(count)), lengths stay

A word seen twice has learnt from two sentences, and most of its direction is chance. Its character n-grams
(`model.ngram_vectors`), fitted to the rows of the frequent words, are often a better guess: forms that no stemmer
knows, compounds, names in several spellings. The more often a word was seen, the more it keeps of its own row: at a
strength of 10, words seen 100 times keep half, words seen a million times almost everything. Part of the spelled vector
belongs to each n-gram and part to the word alone, so that different words stay different.

Chosen on German, Russian, Japanese and Chinese STS-b dev pairs and on English STS 2012-2013, where every strength from
3 to 30 is better than none. Without the root of the count it is slightly worse on large texts, and without the random
parts of n-grams much worse. benchmarks/languages.py measures the effect.
"""

from __future__ import annotations

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.model.geometry import blocks, float32_lengths, side_by_side
from siamese_cbow.model.ngram_vectors import NGramVectors, fitted
from siamese_cbow.words.vocabulary import Vocabulary

TINY = float(np.finfo(np.float32).tiny)


def drawn_to_letters(vocabulary: Vocabulary, rows: Vectors, strength: float) -> NGramVectors:
    """Move the rows (n_words, dim) towards those of their n-grams, in place; return the n-gram vectors used."""
    ngrams = fitted(vocabulary, rows)
    lengths, counts = float32_lengths(rows), np.asarray(vocabulary.counts, np.float64)
    shares = (strength / (strength + np.sqrt(counts))).astype(np.float32) * (lengths > 0)

    def draw(part: slice) -> None:
        spelled = ngrams.rows_of_known(vocabulary, part.start, part.start + len(rows[part]))
        length, share = lengths[part, None], shares[part, None]
        drawn = (1 - share) * rows[part] + share * length / max(ngrams.length, TINY) * spelled
        rows[part] = drawn * (length / np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), TINY))

    for _ in side_by_side(draw, blocks(len(rows))):
        pass
    return ngrams
