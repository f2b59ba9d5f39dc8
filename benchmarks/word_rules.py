"""What the rules for words and the language are worth: models of rule 1 and 2, and the speed of both on ASCII text.

    python -m benchmarks.word_rules DATA [--megabytes N] [--write]

DATA is the folder with `languages/`, `corpora/` and `sts/`. Each model is learnt with the default settings from a text
of its language, at most N megabytes of it, and scored on the STS-b dev pairs of that language; English on STS 2012 and
2013. "As English" is what was done with any text unless told: English sentences and stems.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.scoring import mean_pearson
from benchmarks.tables import machine, markdown, report
from siamese_cbow import Model, SiameseCBOW, TextSettings, Tokenizer, evaluate, prepare, sts
from siamese_cbow.evaluation.correlation import pearson
from siamese_cbow.model.geometry import paired_cosines
from siamese_cbow.stream.counting import WordCounter

LANGUAGES = ("de", "ru", "ja", "zh")
SEED = 1


def paragraphs(path: Path, megabytes: int) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        size = 0
        for line in lines:
            size += len(line.encode())
            if size > megabytes << 20:
                return
            yield line.rstrip("\n")


def row(name: str, text: Path, pairs: Path | None, data: Path, megabytes: int) -> list[str]:
    """A language: rule 1 taken for English, rule 1, rule 2."""
    cells, language = [], name
    for rule, code in ((1, "en"), (1, language), (2, language)):
        if rule == 1 and code == "en" == language and not cells:
            cells.append("")
            continue
        settings = TextSettings(layout="paragraphs", language=code)
        tokenizer = Tokenizer(punctuation=False, rule=rule)
        stream = prepare(paragraphs(text, megabytes), text=settings, tokenizer=tokenizer)
        model = SiameseCBOW(seed=SEED).train(stream)
        score = on_sts(model, data / "sts") if pairs is None else on_pairs(model, pairs)
        cells.append(f"{score:.4f}")
        print(name, rule, code, stream, cells[-1], flush=True)
    return [name, *cells]


def on_sts(model: Model, folder: Path) -> float:
    sets = [pair_set for pair_set in sts(folder) if pair_set.year in (2012, 2013)]
    return mean_pearson(evaluate(model, sets).sets)


def on_pairs(model: Model, path: Path) -> float | None:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    first, second = (model.encode([row[side] for row in rows]) for side in (0, 1))
    return pearson(paired_cosines(first, second), np.array([float(row[2]) for row in rows]))


def speed(text: bytes, folder: Path, rounds: int = 7) -> list[str]:
    """Megabytes a second of CPU time that one thread counts, in turns; the best of each."""
    best = {1: 0.0, 2: 0.0}
    for _ in range(rounds):
        for rule in best:
            tokenizer = Tokenizer(punctuation=False, rule=rule)
            counter = WordCounter(tokenizer, max_distinct=10_000_000, folder=folder)
            counter.scan(text)  # the table has grown
            start = time.process_time()
            counter.scan(text)
            best[rule] = max(best[rule], len(text) / 1e6 / (time.process_time() - start))
    return [f"{best[1]:.0f}", f"{best[2]:.0f}", f"{best[2] / best[1]:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--megabytes", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--speed-only", action="store_true")
    options = parser.parse_args()
    data, corpus = options.data, options.data / "corpora" / "wikipedia-en-2015.txt.xz"
    with tempfile.TemporaryDirectory() as temporary:
        english = "\n".join(paragraphs(corpus, 16)) + "\n"
        ascii_only = english.encode("ascii", "ignore")
        speeds = [["ASCII only", *speed(ascii_only, Path(temporary))]]
        speeds.append(["English Wikipedia", *speed(english.encode(), Path(temporary))])
        for language in LANGUAGES:
            text = "\n".join(paragraphs(data / "languages" / f"{language}.txt.xz", 16)) + "\n"
            speeds.append([language, *speed(text.encode(), Path(temporary))])
    table = markdown(["text", "rule 1, MB/s", "rule 2, MB/s", "ratio"], speeds)
    print(table)
    if options.speed_only:
        return
    rows = [row("en", corpus, None, data, options.megabytes)]
    for language in LANGUAGES:
        text, pairs = data / "languages" / f"{language}.txt.xz", data / "languages" / f"stsb-{language}-dev.csv"
        rows.append(row(language, text, pairs, data, options.megabytes))
    quality = markdown(["language", "rule 1, as English", "rule 1", "rule 2"], rows)
    about = f"At most {options.megabytes} MB of text, seed {SEED}, default settings; Pearson. {machine('py3langid')}"
    report("word_rules", "What the rules for words are worth", f"{about}\n\n{quality}\n\n{table}", write=options.write)


if __name__ == "__main__":
    main()
