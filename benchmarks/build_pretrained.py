"""Builds the model that ships with the package, from text to files; the same text gives the same bytes.

    python -m benchmarks.build_pretrained --wikipedia FILE --modern FILE --novels FILE --provenance FILE
                                          [--sts DIR --tasks DIR] [--output DIR]

FILE is a text (one paragraph per line, a blank line between documents, compressed or not) or, to save time, a stream
that `siamese-cbow prepare` has made from it. The provenance of the modern text is the table of its sources; most of
their licences ask for it, so it goes into the package. With --sts and --tasks (the same folders as for `evaluate`), the
script scores the model and keeps the scores in `pretrained_scores.json` next to this script and in the model card;
without them, the kept scores go into the card if they belong to the same vectors. When it builds into the package (the
default), it also writes the values that `tests/model/test_pretrained.py` compares the model with.

The bytes are the same on the same kind of processor with the same versions of NumPy and Numba. Others may round
differently, which moves a few of the 4-bit numbers by one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scoring import mean_pearson
from benchmarks.tables import markdown
from siamese_cbow.base.disk import file_hash
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.model.model import Model
from siamese_cbow.model.packed_rows import Dtype
from siamese_cbow.model.storage import NGRAMS, PRETRAINED, VECTORS, VOCABULARY, load
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.transform.compression import combine
from siamese_cbow.transform.postprocessing import drawn_to_letters
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class Part:
    """One training run; the model in the package combines several.

    pieces           cut sentences into pieces of about this many words, see `Stream.in_pieces`; 0: whole sentences
    wikipedia_first  train on Wikipedia, then on the other texts at LATER_RATE; otherwise mix all texts
    weight           see `combine`
    """

    seed: int
    epochs: int = 1
    pieces: int = 0
    wikipedia_first: bool = False
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The name in tables: `Part(1, pieces=8).name` -> "pieces of 8 words"."""
        if self.wikipedia_first:
            return "Wikipedia first"
        if self.pieces:
            return f"pieces of {self.pieces} words"
        return "sentences" if self.epochs == 1 else f"sentences, {self.epochs} epochs"


# Whole sentences are best for STS; pieces capture the close context of a word, which helps classifiers more. No single
# change of order, rate or number of epochs gained more than the spread between seeds, but different parts combined do.
# Chosen on STS 2012-2013 and on the transfer tasks; results/pretrained.md scores each part alone.
PARTS = (
    Part(1),
    Part(2),
    Part(3),
    Part(1, epochs=2),
    Part(1, wikipedia_first=True),
    Part(1, pieces=16),
    Part(1, pieces=8, weight=0.8),
    Part(2, pieces=8, weight=0.8),
)
LATER_RATE = 0.01
TOKENIZER = Tokenizer(punctuation=False)
MIN_COUNT = 5
LANGUAGE = TextSettings(language="en")
SPELLING = 20.0  # applied to the combined rows; chosen, like whitening, on the same data as the sizes below
WHITEN = 0.4
DTYPE: Dtype = "int4"
# The best size within 20 MB, on STS 2012-2013 and the transfer tasks: results/pretrained.md.
DIM, WORDS = 480, 70_000
# A part gets only the finishing of the default recipe; unknown and rare words are handled once all parts are combined.
PLAIN: dict[str, Any] = {"spelling": 0.0, "fallback": "none"}
RAW: dict[str, Any] = {**PLAIN, "idf_power": 0.0, "length_power": 1.0, "common_directions": 0}

CARD = {
    "data": (
        "24,874 whole articles of the English Wikipedia of 2015, 401 MB of text; 84,418 documents of modern English "
        "from public repositories (textbooks, software documentation, research articles, podcasts, blogs, government, "
        "questions and answers, reviews, dialogue, news), 316 MB, each source with its licence in SOURCES.md; 99 "
        f"English novels of 1840 to 1920 (ELTeC), 63 MB. No labels, no other model and no test sentences were used. "
        f"{TUNING} Parts, size and whitening were also chosen on MR, SUBJ and SST-2. The modern text has full reviews "
        "of films; MR and SST-2 are sentences of other reviews."
    ),
    "licence": (
        "The articles are by the contributors of Wikipedia, under CC BY-SA; the modern texts are under the licences "
        "that SOURCES.md names, the strictest CC BY-SA; the novels are in the public domain. Words and counts of the "
        "model come from them; the model is licensed under CC BY-SA 4.0, the program around it under Apache-2.0."
    ),
    "limits": (
        "English only. A text is a bag of words: 'dog bites man' and 'man bites dog' are the same, and 'not' is just "
        "one more word. Each word has one vector, whatever it means in its context. Words that are too rare in the "
        "training text have a vector made of their letters and of a direction of their own: it tells which texts "
        "share the word, and little about what it means. Short texts (a sentence, a paragraph) are what it was made "
        "for."
    ),
    "biases": (
        "The vectors repeat what stands together in an encyclopaedia written by volunteers (more on men than on "
        "women, more on rich and English-speaking countries), in texts by and for people who work with software, and "
        "in Victorian novels. Occupations lie near the people who were described as holding them. Do not let it "
        "decide about people."
    ),
}
SCORES = Path(__file__).with_name("pretrained_scores.json")
SOURCES = "SOURCES.md"
TESTS = Path(__file__).parents[1] / "tests" / "model"


@dataclass(frozen=True)
class Texts:
    """The three training streams."""

    wikipedia: Stream
    modern: Stream
    novels: Stream

    @classmethod
    def of(cls, options: argparse.Namespace, folder: Path) -> Texts:
        """Loads the streams named by the options of `add_texts`; prepares raw texts into the folder first."""
        names = [field.name for field in fields(cls)]
        return cls(*(_prepared(getattr(options, name), folder / name) for name in names))

    @property
    def mix(self) -> Mix:
        return Mix([self.wikipedia, self.modern, self.novels])

    def in_pieces(self, n_words: int) -> Mix:
        """All streams, with sentences cut into pieces of about `n_words` words; 0 leaves them whole."""
        return Mix([stream.in_pieces(n_words) for stream in self.mix.streams]) if n_words else self.mix


def trained(part: Part, texts: Texts) -> Model:
    """Trains one part; all parts have the same vocabulary."""
    recipe = SiameseCBOW(seed=part.seed, epochs=part.epochs, **PLAIN)
    if not part.wikipedia_first:
        return recipe.train(texts.in_pieces(part.pieces))
    with tempfile.TemporaryDirectory() as folder:
        first = str(Path(folder) / "wikipedia")
        replace(recipe, **RAW).train(texts.wikipedia).save(first)
        later = replace(recipe, init=first, learning_rate=LATER_RATE).train(Mix([texts.modern, texts.novels]))
    # The path of the temporary folder changes from run to run, so it must not stay in the info.
    info = {**later.info, "recipe": {**later.info["recipe"], "init": "the model of Wikipedia"}}
    return _with_words(Model(later.vocabulary, later.vectors, later.tokenizer, info), texts.mix.vocabulary)


def _with_words(model: Model, vocabulary: Vocabulary) -> Model:
    """The same model with its words in the order of another vocabulary, and with that vocabulary's counts."""
    rows = model.vectors[[model.vocabulary.index[word] for word in vocabulary.words]]
    return Model(vocabulary, rows, model.tokenizer, model.info)


def combined(parts: Sequence[Model], recipes: Sequence[Part] = PARTS, dim: int = DIM) -> Model:
    """Combines several models into one, with all words and in 32 bits."""
    whole = combine(parts, dim=dim, weights=[part.weight for part in recipes], whiten=WHITEN)
    rows = whole.vectors.copy()
    ngrams = drawn_to_letters(whole.vocabulary, rows, SPELLING)
    return Model(whole.vocabulary, rows, whole.tokenizer, {**whole.info, "unknown_words": "ngrams"}, ngrams=ngrams)


def small(whole: Model, words: int = WORDS) -> Model:
    """The model compressed to its shipped size."""
    return whole.compress(DTYPE, words=words)


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Adds the options that name the texts."""
    for field in fields(Texts):
        parser.add_argument(f"--{field.name}", type=Path, required=True)


def _prepared(text: Path, folder: Path) -> Stream:
    """The stream of a text; a folder is loaded as a stream that is already prepared."""
    if not text.is_dir():
        return prepare(text, output=folder, tokenizer=TOKENIZER, min_count=MIN_COUNT, text=LANGUAGE)
    stream = Stream.load(text)
    assert stream.tokenizer == TOKENIZER, f"the stream was made with {stream.tokenizer}, expected {TOKENIZER}"
    return stream


def sources(provenance: str) -> str:
    """The text of SOURCES.md: the columns of the source table that attribution needs, and the notes about licences."""
    rows = re.findall(
        r"^\| ([^|]+) \| ((?:github|gitlab)\.com/[^|]+) \| (`\w+`) \| ([^|]+) \|", provenance, re.MULTILINE
    )
    notes = provenance.partition("## Points about licences")[2].partition("\n## ")[0].strip()
    assert rows, "the provenance has no table of sources"
    assert notes, "the provenance has no points about licences"
    return f"""# Sources of the pretrained model

- English Wikipedia of 2015, by its contributors: CC BY-SA
- ELTeC, 99 English novels of 1840 to 1920: public domain
- modern English text from {len(rows)} sources, by their authors:

{markdown(["source", "repository", "commit", "licence"], rows)}

## About the licences

{notes}
"""


def scores(model: Model, sts_folder: Path, task_folder: Path) -> dict[str, Any]:
    """Mean Pearson over the STS sets of each year and over all sets, and the mean score of each other task."""
    from siamese_cbow import evaluate, sts
    from siamese_cbow.evaluation.tasks import read_tasks

    set_scores = evaluate(model, sts(sts_folder)).sets
    years = {
        f"STS {year}": round(mean_pearson(set_scores, year), 4)
        for year in sorted({score.year for score in set_scores if score.year})
    }
    tasks = {
        f"{score.task}, {score.measure}": round(score.mean, 4)
        for score in read_tasks(task_folder).scores(model, "ours")
    }
    return {
        "measure": "STS: mean Pearson, protocol official; accuracy: logistic regression on frozen vectors; nDCG@10 and "
        "MAP: vectors alone, without exact words",
        **years,
        f"all {len(set_scores)} sets": round(mean_pearson(set_scores), 4),
        **tasks,
    }


def content_hash(model: Model) -> str:
    """Identifies the vectors that scores belong to."""
    hashed = hashlib.blake2b(model.vectors.tobytes(), digest_size=16)
    hashed.update(model.ngrams.pairs.tobytes())
    return hashed.hexdigest()


def probe(model: Model) -> float:
    """Pearson correlation of cosines and grades on the sentence pairs written for the tests."""
    lines = [line.split("\t") for line in (TESTS / "probe.tsv").read_text("utf-8").splitlines()]
    cosines = model.similarity_pairwise([a for _, a, _ in lines], [b for _, _, b in lines])
    return float(np.corrcoef([float(grade) for grade, _, _ in lines], cosines)[0, 1])


def write(model: Model, options: argparse.Namespace) -> None:
    """Scores the model and writes its folder, with card and sources."""
    vectors = content_hash(model)
    if options.sts and options.tasks:
        recorded = {"vectors": vectors, "scores": scores(model, options.sts, options.tasks)}
        SCORES.write_text(json.dumps(recorded, indent=2) + "\n", "utf-8")
    recorded = json.loads(SCORES.read_text("utf-8"))
    # Scores of other vectors must not get into the card.
    measured = (
        recorded["scores"] if recorded["vectors"] == vectors else {"measure": "none: build it with --sts and --tasks"}
    )
    first = {"data": CARD["data"], "licence": CARD["licence"], "scores": measured}
    info = {**first, **dict(model.info), **CARD, "scores": measured}
    (options.output / SOURCES).unlink(missing_ok=True)  # `save` would not replace it
    Model(model.vocabulary, model.rows, model.tokenizer, info, ngrams=model.ngrams).save(options.output, int4=True)
    (options.output / SOURCES).write_text(sources(options.provenance.read_text("utf-8")), "utf-8")
    hashes = {name: file_hash(options.output / name) for name in (VECTORS, VOCABULARY, NGRAMS)}
    held = {"files": hashes, "probe": round(probe(load(options.output)), 3)}
    if options.output == PRETRAINED:
        (TESTS / "pretrained.json").write_text(json.dumps(held, indent=2) + "\n", "utf-8")
    megabytes = sum(file.stat().st_size for file in options.output.iterdir()) / 1e6
    print(f"{options.output}: {megabytes:.1f} MB\n{json.dumps({**measured, **held}, indent=2)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_texts(parser)
    parser.add_argument("--provenance", type=Path, required=True)
    parser.add_argument("--sts", type=Path, help="score the model on these sets")
    parser.add_argument("--tasks", type=Path, help="also score it on the tasks beyond similarity in this folder")
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        texts = Texts.of(options, Path(temporary))
        model = small(combined([trained(part, texts) for part in PARTS]))
    write(model, options)


if __name__ == "__main__":
    main()
