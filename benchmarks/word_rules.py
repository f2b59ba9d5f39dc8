"""What the rules for words and the language setting gain: models of rule 1 and rule 2, and the speed of both.

    python -m benchmarks.word_rules DATA [--megabytes N] [--before SRC] [--only speed] [--write]

DATA is the folder with `languages/`, `corpora/` and `sts/`. Each model is trained with the default settings on at most
N megabytes of text in its language and scored on the STS-b dev pairs of that language; English on STS 2012 and 2013.
"As English" is how any text was once treated by default: English sentences and stems.

Speed is the speed of counting words in blocks, as `prepare` reads them, in CPU time of one thread. SRC is the source of
version 0.1.0, whose own code counts by rule 1; processes of both take turns, and the fastest round of each counts.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.scoring import chosen_on, mean_pearson
from benchmarks.tables import arguments, machine, markdown, run_python, write_section
from siamese_cbow import Model, SiameseCBOW, TextSettings, Tokenizer, evaluate, prepare, sts
from siamese_cbow.evaluation.correlation import pearson
from siamese_cbow.model.geometry import paired_cosines
from siamese_cbow.text.row_reader import iter_lines

LANGUAGES = ("de", "ru", "ja", "zh")
SEED = 1
SOURCE = Path(__file__).parents[1] / "src"


def paragraphs(path: Path, megabytes: int) -> Iterator[str]:
    size = 0
    for line in iter_lines(path):
        size += len(line.encode()) + 1
        if size > megabytes << 20:
            return
        yield line


def row(name: str, text: Path, pairs: Path | None, data: Path, megabytes: int) -> list[str]:
    """One language: rule 1 with the text taken as English, rule 1, rule 2."""
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
    return mean_pearson(evaluate(model, chosen_on(sts(folder))).sets)


def on_pairs(model: Model, path: Path) -> float | None:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    first, second = (model.encode([row[side] for row in rows]) for side in (0, 1))
    return pearson(paired_cosines(first, second), np.array([float(row[2]) for row in rows]))


SCAN = """
import sys, tempfile, time
from pathlib import Path
from siamese_cbow import Tokenizer
from siamese_cbow.stream.counting import WordCounter

text, blocks, start = Path(sys.argv[1]).read_bytes(), [], 0
while start < len(text):
    end = text.rfind(b"\\n", start, start + (4 << 20)) + 1 or len(text)
    blocks.append(text[start:end])
    start = end
folder = Path(tempfile.gettempdir())
made = [Tokenizer(punctuation=False, rule=int(rule)) for rule in sys.argv[2:]]
counters = [WordCounter(tokenizer, max_distinct=10_000_000, folder=folder) for tokenizer in made]
best = [float("inf")] * len(counters)
for turn in range(16):  # in the first, tables grow
    for i, counter in enumerate(counters):
        begin = time.process_time()
        for block in blocks:
            counter.scan(block)
        if turn:
            best[i] = min(best[i], time.process_time() - begin)
print(*(len(text) / 1e6 / seconds for seconds in best))
"""


def speed(text: bytes, folder: Path, before: Path | None, processes: int = 4) -> list[str]:
    """Megabytes per second of version 0.1.0, rule 1 and rule 2, and their ratios."""
    path = folder / "text"
    path.write_bytes(text)

    def scanned(source: Path, *rules: str) -> list[float]:
        return [float(number) for number in run_python(SCAN, path, *rules, PYTHONPATH=str(source))[2].split()]

    rounds = [[*(scanned(before, "1") if before else []), *scanned(SOURCE, "1", "2")] for _ in range(processes)]
    best = np.max(rounds, axis=0)
    return [*(f"{number:.0f}" for number in best), *(f"{best[-1] / number:.2f}" for number in best[:-1])]


def speeds(data: Path, corpus: Path, before: Path | None) -> str:
    """The section on speed."""
    with tempfile.TemporaryDirectory() as temporary:
        english = "\n".join(paragraphs(corpus, 16)) + "\n"
        texts = {"ASCII only": english.encode("ascii", "ignore"), "English Wikipedia": english.encode()}
        for language in LANGUAGES:
            text = "\n".join(paragraphs(data / "languages" / f"{language}.txt.xz", 16)) + "\n"
            texts[language] = text.encode()
        rows = [[name, *speed(text, Path(temporary), before)] for name, text in texts.items()]
    ways = [*(["0.1.0"] if before else []), "rule 1", "rule 2"]
    header = ["text", *(f"{way}, MB/s" for way in ways), *(f"rule 2 / {way}" for way in ways[:-1])]
    about = f"Megabytes of text per CPU second, one thread. {machine('numba')}"
    return f"{about}\n\n{markdown(header, rows)}"


def quality(data: Path, corpus: Path, megabytes: int) -> str:
    """The section on quality."""
    rows = [row("en", corpus, None, data, megabytes)]
    for language in LANGUAGES:
        text, pairs = data / "languages" / f"{language}.txt.xz", data / "languages" / f"stsb-{language}-dev.csv"
        rows.append(row(language, text, pairs, data, megabytes))
    about = f"At most {megabytes} MB of text, seed {SEED}, default settings; Pearson. {machine('py3langid')}"
    return f"{about}\n\n{markdown(['language', 'rule 1, as English', 'rule 1', 'rule 2'], rows)}"


def main() -> None:
    parser = arguments(__doc__, "data")
    parser.add_argument("--megabytes", type=int, default=60)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", choices=("speed", "quality"))
    options = parser.parse_args()
    corpus = options.data / "corpora" / "wikipedia-en-2015.txt.xz"
    sections: dict[str, Callable[[], str]] = {
        "Quality": lambda: quality(options.data, corpus, options.megabytes),
        "Speed": lambda: speeds(options.data, corpus, options.before),
    }
    for heading, made in sections.items():
        if options.only in (None, heading.lower()):
            text = f"{made()}\n\nMade by `python -m benchmarks.word_rules`."
            print(text)
            if options.write:
                write_section("word_rules", heading, text)


if __name__ == "__main__":
    main()
