"""Document vectors: which mean works best, and how it compares with tf-idf and averaged word2vec.

    python -m benchmarks.documents WIKIPEDIA NOVELS [--train N] [--write]

Both are streams made by `siamese-cbow prepare`. All vectors are trained on the first N articles of WIKIPEDIA, ours for
one epoch, word2vec for its usual five. The articles to retrieve come after these, so no system has seen them or the
novels; the vocabulary was counted on all of WIKIPEDIA. Settings are the defaults; nothing was chosen on these tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import normalize

from benchmarks.peers import WORD2VEC_SUBSAMPLING, treated_alike
from benchmarks.quality_streams import documents, sentence_words
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import Model, SiameseCBOW, Stream
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.weighting import SIF
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.evaluation.probe import Labelled, probe
from siamese_cbow.evaluation.tasks import ranks_of_right

N_ARTICLES, SHORTEST = 2000, 20  # articles to search, and the fewest sentences of an article
N_NOVELS, N_PASSAGES, PASSAGE = 20, 50, 10  # novels, passages per novel, and sentences per passage
MEANS = ("all words", "sentence vectors", "sentence vectors of length 1")

Document = Sequence[str]  # its sentences


class Averaged:
    """Document vectors as means of the word vectors or sentence vectors of a model."""

    def __init__(self, model: Model, mean: str = MEANS[0], *, adapts: bool = False) -> None:
        self._model, self._mean, self._adapts = model, mean, adapts

    def fitted(self, texts: Sequence[Document]) -> Averaged:
        """The system for these texts: adapted to their sentences if `adapts` is set."""
        if not self._adapts:
            return self
        return Averaged(self._model.adapt([sentence for text in texts for sentence in text]), self._mean)

    def vectors(self, texts: Sequence[Document]) -> Any:
        """Unit vectors, (n, dim)."""
        if self._mean == MEANS[0]:
            return normalize(self._model.encode([" ".join(text) for text in texts]))
        lengths = [len(text) for text in texts]
        flat = self._model.encode(
            [sentence for text in texts for sentence in text], normalize_embeddings=self._mean == MEANS[2]
        )
        return normalize(np.add.reduceat(flat, np.cumsum([0, *lengths[:-1]]), axis=0))


class TfIdf:
    """Documents as sparse tf-idf vectors; document frequencies come from the training articles."""

    def __init__(self, texts: Sequence[Document]) -> None:
        self._vectorizer = TfidfVectorizer(analyzer=str.split, sublinear_tf=True).fit(
            " ".join(sentences) for sentences in texts
        )

    def fitted(self, texts: Sequence[Document]) -> TfIdf:
        return self

    def vectors(self, texts: Sequence[Document]) -> Any:
        return self._vectorizer.transform([" ".join(text) for text in texts])


@dataclass(frozen=True)
class Task:
    """A retrieval task: the right text for query i is text i."""

    name: str
    queries: Sequence[Document]
    pool: Sequence[Document]

    def score(self, system: Averaged | TfIdf) -> list[str]:
        """How often the right text ranks first, how often in the top ten, and the mean reciprocal rank."""
        system = system.fitted(self.pool)
        cosines = system.vectors(self.queries) @ system.vectors(self.pool).T
        ranks = ranks_of_right(np.asarray(cosines.todense() if hasattr(cosines, "todense") else cosines))
        return [f"{share:.3f}" for share in ((ranks == 1).mean(), (ranks <= 10).mean(), (1 / ranks).mean())]


def tasks(articles: Sequence[Document]) -> list[Task]:
    rng = np.random.default_rng(1)
    first, second = [one[: len(one) // 2] for one in articles], [one[len(one) // 2 :] for one in articles]
    single = [[article[rng.integers(len(article))]] for article in first]
    return [
        Task("half of an article finds the other half", first, second),
        Task("five sentences find the next five", [one[5:10] for one in articles], [one[10:15] for one in articles]),
        Task("a sentence finds the other half of its article", single, second),
    ]


def texts_of(stream: Stream, first: int, end: int) -> list[Document]:
    """The sentences of documents `first` to `end` (exclusive), without out-of-vocabulary words."""
    bounds = pairwise(stream.documents[first : end + 1].tolist())
    return [[" ".join(words) for words in sentence_words(stream, range(*sentences))] for sentences in bounds]


def passages(novels: Stream) -> tuple[list[Document], list[str]]:
    """Passages of the longest novels, and the novel that each one comes from."""
    rng, passages, labels = np.random.default_rng(1), list[Document](), list[str]()
    for novel in np.argsort(-np.diff(novels.documents), kind="stable")[:N_NOVELS].tolist():
        sentences = texts_of(novels, novel, novel + 1)[0]
        for place in rng.permutation(len(sentences) // PASSAGE)[:N_PASSAGES].tolist():
            passages.append(sentences[place * PASSAGE : (place + 1) * PASSAGE])
            labels.append(str(novel))
    return passages, labels


class _AsSystem:
    """The interface that `probe` expects."""

    def __init__(self, system: Averaged, texts: Sequence[Document]) -> None:
        self._vectors = system.vectors(texts)

    def encode(self, sentences: list[str], /) -> Any:
        return self._vectors


def by_novel(system: Averaged | TfIdf, texts: Sequence[Document], labels: list[str]) -> list[str]:
    """Accuracy of logistic regression, and how well clusters found without labels agree with the novels."""
    system = system.fitted(texts)
    data = Labelled("passages", [" ".join(text) for text in texts], labels)
    accuracy = probe(_AsSystem(system, texts) if isinstance(system, Averaged) else None, data, folds=5)
    groups = KMeans(N_NOVELS, n_init=3, random_state=1).fit_predict(system.vectors(texts))
    agreement = adjusted_mutual_info_score(labels, groups)
    return [f"{accuracy.mean:.3f} ± {accuracy.std:.3f}", f"{agreement:.3f}"]


def main() -> None:
    parser = arguments(__doc__, "wikipedia", "novels")
    parser.add_argument("--train", type=int, default=12_000, help="articles to learn from (default 12,000)")
    options = parser.parse_args()
    wikipedia = Stream.load(options.wikipedia)
    seen = documents(wikipedia, 0, options.train)
    long_ones = np.flatnonzero(np.diff(wikipedia.documents) >= SHORTEST)
    chosen = long_ones[long_ones >= options.train][:N_ARTICLES].tolist()
    articles = [texts_of(wikipedia, number, number + 1)[0] for number in chosen]
    texts, labels = passages(Stream.load(options.novels))

    ours = SiameseCBOW().train(seen)
    skipgram = Word2Vec("skipgram", sample=WORD2VEC_SUBSAMPLING).train(seen)
    cbow = Word2Vec("cbow", sample=WORD2VEC_SUBSAMPLING).train(seen)
    random = RandomVectors().train(seen)
    systems: dict[str, Averaged | TfIdf] = {
        **{f"contrastive, mean of {mean}": Averaged(ours, mean) for mean in MEANS},
        f"contrastive, adapted, mean of {MEANS[2]}": Averaged(ours, MEANS[2], adapts=True),
        "word2vec skip-gram, mean of all words": Averaged(skipgram),
        "word2vec CBOW, mean of all words": Averaged(cbow),
        "word2vec skip-gram, SIF": Averaged(SIF(RandomVectors()).apply(skipgram, seen)),
        "random vectors, mean of all words": Averaged(random),
        **{
            f"{name}, treated alike": Averaged(treated_alike(model, seen))
            for name, model in {
                "word2vec skip-gram": skipgram,
                "word2vec CBOW": cbow,
                "random vectors": random,
            }.items()
        },
        "tf-idf (scikit-learn)": TfIdf(texts_of(wikipedia, 0, options.train)),
    }
    article_tasks = tasks(articles)
    tables = [
        f"### {task.name.capitalize()}\n\n"
        + markdown(
            ["", "top 1", "top 10", "mean reciprocal rank"], [[name, *task.score(one)] for name, one in systems.items()]
        )
        for task in article_tasks
    ]
    text = [
        f"Vectors trained on {options.train:,} articles of Wikipedia ({seen.n_tokens:,} words), ours in one epoch, "
        f"word2vec in five with subsampling {WORD2VEC_SUBSAMPLING:g}, seed 1, 300 dimensions. No system was trained on "
        "the articles and novels below. *Adapted*: with `adapt`, to the sentences being searched or grouped, which "
        "needs neither training nor labels. *Treated alike*: with the stems, finishing and n-grams that the "
        "contrastive recipe has, so that only the objectives differ.",
        f"## Retrieval among {len(articles):,} articles",
        *tables,
        f"## Which of {N_NOVELS} novels is a passage from?",
        f"{len(texts):,} passages of {PASSAGE} sentences. With labels: logistic regression on frozen vectors, "
        "accuracy over 5 folds. Without: k-means with one cluster per novel, adjusted mutual information with the "
        "novels (0: chance, 1: identical). Names of characters give much away: with labels, tf-idf sees every "
        "word of the passages, the other systems only those that occur in Wikipedia.",
        markdown(
            ["", "accuracy", "adjusted mutual information"],
            [[name, *by_novel(system, texts, labels)] for name, system in systems.items()],
        ),
        machine("numpy", "scikit-learn", "gensim"),
    ]
    report("documents", "Documents", *text, write=options.write)


if __name__ == "__main__":
    main()
