"""Builds the model that comes with the package, from the text on; the same text gives the same vectors, bit for bit.

    python -m benchmarks.build_pretrained --wikipedia FILE --novels FILE [--sts DIR] [--output DIR]
    python -m benchmarks.build_pretrained --ngrams [--sts DIR] [--output DIR]

FILE is a text (a paragraph a line, a blank line between documents, may be packed), or what `siamese-cbow prepare` has
made of it, which saves time. With --sts the model is scored, and the scores are kept in `pretrained_scores.json` beside
this script and in the model's card; without it, the kept scores go into the card if they are of the same vectors.
Built into the package (the default), it also writes what `tests/model/test_pretrained.py` holds the model to. With
--ngrams the rows stay as they are, and only what unknown words are made of is fitted to them anew.

Same bits: on the same kind of processor and the same versions of NumPy, SciPy and Numba. Another one may round
otherwise, which moves a few of the 4-bit numbers by one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import mean_pearson
from siamese_cbow.base.disk import file_hash
from siamese_cbow.model.model import Model
from siamese_cbow.model.ngram_vectors import fitted
from siamese_cbow.model.packed_rows import Dtype
from siamese_cbow.model.storage import NGRAMS, PRETRAINED, VECTORS, VOCABULARY, load
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.transform.compression import combine
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import Fallback

# What is built: the default recipe on Wikipedia, then on novels at a tenth of its rate; five seeds, made one model. All
# of it was chosen on STS 2012-2013, where the novels are worth .005 (five seeds; mixed with Wikipedia from the start
# they are worth nothing, nor is reading Wikipedia again at that rate).
SEEDS = range(1, 6)
SECOND_RATE = 0.005
TOKENIZER = Tokenizer(punctuation=False)
MIN_COUNT = 5
DTYPE: Dtype = "int4"
# The best of the sizes that fit into 20 MB, on STS 2012-2013 and with the fallback. 400 dimensions of 90,000 words were
# .0005 worse there, 400 of 60,000 (13 MB) .002.
DIM = 350
WORDS = 100_000
FALLBACK: Fallback = "ngrams"  # results/unknown_words.md
# N-grams are fitted to all words, in more rounds than those of other models (.001 on STS 2012-2013), and unknown words
# are a little shorter (.001): here, they are seldom words that everybody knows.
ROUNDS, LENGTH = 15, 0.85

CARD = {
    "data": (
        "24,874 whole articles of the English Wikipedia of 2015, in random order, 401 MB of text; then 99 English "
        "novels of 1840 to 1920 (ELTeC), 63 MB. No labels, no other model and no test sentences were used; settings "
        "were chosen on STS 2012-2013; scores of 2014 and 2015 were seen between versions, so they are no untouched "
        "test."
    ),
    "licence": (
        "The articles are by the contributors of Wikipedia, under CC BY-SA; the novels are in the public domain. Words "
        "and counts of the model come from them; the model is given under CC BY-SA 4.0, the program around it under "
        "Apache-2.0."
    ),
    "limits": (
        "English only. A text is a bag of words: 'dog bites man' and 'man bites dog' are the same, and 'not' is just "
        "one more word. Each word has one vector, whatever it means in its place. Words that stood fewer than 5 times "
        "in the text, or were left out for size, have a vector made of their letters and of a direction of their own: "
        "it says which texts share a word, and little of what that means. The text is of 2015. "
        "Short texts (a sentence, a paragraph) are what it was made for."
    ),
    "biases": (
        "The vectors repeat what stands together in an encyclopaedia written by volunteers: more on men than on women, "
        "more on rich and English-speaking countries, and occupations near the people who were written about as "
        "holding them; and what Victorian novelists thought of it all. Do not let it decide about people."
    ),
}
SCORES = Path(__file__).with_name("pretrained_scores.json")
TESTS = Path(__file__).parents[1] / "tests" / "model"


def trained(wikipedia: Stream, seeds: Iterable[int]) -> list[Model]:
    """One model of Wikipedia for each seed."""
    return [SiameseCBOW(seed=seed).train(wikipedia) for seed in seeds]


def continued(models: Sequence[Model], novels: Stream) -> list[Model]:
    """The same models after the novels."""
    return [_continued(model, novels) for model in models]


def _continued(model: Model, novels: Stream) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "wikipedia")
        seed = model.info["recipe"]["seed"]
        recipe = SiameseCBOW(seed=seed, init=str(Path(folder) / "wikipedia"), learning_rate=SECOND_RATE)
        after = recipe.train(novels)
    # Where that folder was is nobody's business, and would be another place each time.
    info = {**after.info, "recipe": {**after.info["recipe"], "init": "the model of Wikipedia"}}
    return Model(after.vocabulary, after.vectors, after.tokenizer, info)


def combined(parts: Sequence[Model], dim: int = DIM) -> Model:
    """One model of several, in all words and 32 bits."""
    return combine(parts, dim=dim)


def small(whole: Model, words: int = WORDS) -> Model:
    """The model as it is shipped, but for what `with_ngrams` adds."""
    return whole.compress(DTYPE, words=words)


def with_ngrams(model: Model) -> Model:
    """The same rows, and what unknown words are made of."""
    ngrams = fitted(model.vocabulary, model.vectors, n_words=WORDS, rounds=ROUNDS)
    ngrams = replace(ngrams, length=ngrams.length * LENGTH, own=ngrams.own * LENGTH)
    info = {**model.info, "unknown_words": FALLBACK}
    return Model(model.vocabulary, model.rows, model.tokenizer, info, ngrams=ngrams)


def prepared(text: Path, folder: Path) -> Stream:
    """The stream of a text; one that is prepared already is taken as it is."""
    if not text.is_dir():
        return prepare(text, output=folder, tokenizer=TOKENIZER, min_count=MIN_COUNT)
    stream = Stream.load(text)
    assert stream.tokenizer == TOKENIZER, f"the stream was made with {stream.tokenizer}, expected {TOKENIZER}"
    return stream


def scores(model: Model, folder: Path) -> dict[str, Any]:
    """Mean Pearson over the STS sets of each year, and over all."""
    from siamese_cbow import evaluate, sts

    set_scores = evaluate(model, sts(folder)).sets
    years = {
        f"STS {year}": round(mean_pearson(set_scores, year), 4)
        for year in sorted({score.year for score in set_scores if score.year})
    }
    return {
        "measure": "mean Pearson, protocol official",
        **years,
        f"all {len(set_scores)} sets": round(mean_pearson(set_scores), 4),
    }


def content_hash(model: Model) -> str:
    """Tells the vectors that scores belong to."""
    hashed = hashlib.blake2b(model.vectors.tobytes(), digest_size=16)
    hashed.update(model.ngrams.pairs.tobytes())
    return hashed.hexdigest()


def probe(model: Model) -> float:
    """Pearson of the cosines with the grades of the self-written sentence pairs of the tests."""
    lines = [line.split("\t") for line in (TESTS / "probe.tsv").read_text("utf-8").splitlines()]
    cosines = model.similarity_pairwise([a for _, a, _ in lines], [b for _, _, b in lines])
    return float(np.corrcoef([float(grade) for grade, _, _ in lines], cosines)[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wikipedia", type=Path)
    parser.add_argument("--novels", type=Path)
    parser.add_argument("--ngrams", action="store_true", help="keep the rows that are there")
    parser.add_argument("--sts", type=Path, help="score the model on these sets")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    options = parser.parse_args()
    if options.ngrams:
        model = with_ngrams(load())
    elif not options.wikipedia or not options.novels:
        parser.error("expected --wikipedia and --novels, or --ngrams")
    else:
        with tempfile.TemporaryDirectory() as temporary:
            wikipedia, novels = (
                prepared(getattr(options, name), Path(temporary) / name) for name in ("wikipedia", "novels")
            )
            model = with_ngrams(small(combined(continued(trained(wikipedia, SEEDS), novels))))
    vectors = content_hash(model)
    if options.sts:
        recorded = {"vectors": vectors, "scores": scores(model, options.sts)}
        SCORES.write_text(json.dumps(recorded, indent=2) + "\n", "utf-8")
    recorded = json.loads(SCORES.read_text("utf-8"))
    # The scores of other vectors would be wrong in the card.
    measured = recorded["scores"] if recorded["vectors"] == vectors else {"measure": "none: build it with --sts"}
    first = {"data": CARD["data"], "licence": CARD["licence"], "scores": measured}
    info = {**first, **dict(model.info), **CARD, "scores": measured}
    Model(model.vocabulary, model.rows, model.tokenizer, info, ngrams=model.ngrams).save(options.output, int4=True)
    hashes = {name: file_hash(options.output / name) for name in (VECTORS, VOCABULARY, NGRAMS)}
    held = {"files": hashes, "probe": round(probe(load(options.output)), 3)}
    if options.output == PRETRAINED:
        (TESTS / "pretrained.json").write_text(json.dumps(held, indent=2) + "\n", "utf-8")
    megabytes = sum(file.stat().st_size for file in options.output.iterdir()) / 1e6
    print(f"{options.output}: {megabytes:.1f} MB\n{json.dumps({**measured, **held}, indent=2)}")


if __name__ == "__main__":
    main()
