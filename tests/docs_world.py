"""Small versions of the files that the docs mention: texts, tables, streams and models under the same names."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

import siamese_cbow as sc
from report_world import write_sts, write_tasks

STORY = (
    "The server restarts at night. We restart the server by hand. The house is old. A man plays a loud guitar. "
    "The schools need better teachers. Our relations with Britain are friendly. I ask the Congress to lower taxes. "
)
GERMAN = "Das Haus ist alt. Der Hund schläft im Garten. Wir gehen heute nicht in die Stadt. Die Kinder spielen gern. "
PAIRS = [("a man plays guitar", "someone plays an instrument", 4), ("the house is old", "taxes rise", 0)]


def write_world(folder: Path) -> None:
    """`write_world(path)`: writes what a reader of the pages has in the working directory."""
    text = "\n\n".join([STORY * 2] * 30) + "\n"
    for name in ("books", "docs", "mytexts", "notes", "speeches"):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text(text)
    for name in ("2002-Bush-1", "1849-Taylor-1"):
        (folder / "speeches" / f"{name}.txt").write_text(text)
    (folder / "romane").mkdir()
    (folder / "romane" / "a.txt").write_text("\n\n".join([GERMAN * 3] * 40) + "\n", encoding="utf-8")
    _write_tables(folder)
    write_sts(folder / "data" / "sts")
    write_tasks(folder / "data" / "tasks")
    for name in ("books", "wikipedia", "novels"):
        sc.prepare(folder / "books", output=folder / "data" / name)
    groups = sc.TextSettings(kind="groups")
    sc.prepare(folder / "captions.tsv", output=folder / "data" / "captions", text=groups, min_count=1)
    _write_models(folder)


def _write_tables(folder: Path) -> None:
    sentences = STORY.replace(". ", ".\n")
    (folder / "sentences.txt").write_text(sentences)
    (folder / "sentences.txt.gz").write_bytes(gzip.compress(sentences.encode()))
    (folder / "saetze.txt").write_text(GERMAN.replace(". ", ".\n"), encoding="utf-8")
    (folder / "tickets.csv").write_text("id,title,body\n1,Server,The server is down.\n2,Login,I lost my password.\n")
    (folder / "faq.csv").write_text("question,answer\nWho plays?,A man plays a guitar.\nIs it old?,The house is old.\n")
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b, _ in PAIRS))
    scored = "".join(f"{a},{b},{score}\n" for a, b, score in PAIRS * 3)
    (folder / "scored.csv").write_text(f"first,second,score\n{scored}")
    films = [f"{word} film\t{label}\n" for word, label in (("great", "good"), ("dull", "bad")) for _ in range(20)]
    (folder / "films.tsv").write_text("".join(films))
    captions = ["a man plays guitar\tsomeone plays an instrument", "an old house\tthe house is old"]
    (folder / "captions.tsv").write_text("\n".join(captions * 50) + "\n")
    translated = ["the house is old\tdas Haus ist alt", "the dog sleeps\tder Hund schläft"]
    (folder / "news.en-de.tsv").write_text("\n".join(translated * 100) + "\n", encoding="utf-8")


def _write_models(folder: Path) -> None:
    words = sorted({word.strip(".").lower() for word in STORY.split()} | {"cat", "king", "woman", "man", "film"})
    rng = np.random.default_rng(1)
    for name, dim in (("books", 20), ("wikipedia", 300)):
        counts = np.arange(len(words), 0, -1) * 10
        vectors = rng.normal(size=(len(words), dim)).astype(np.float32)
        sc.Model(sc.Vocabulary(words, counts), vectors).save(folder / "models" / name)
    rows = "".join(f"{word} {' '.join(map(str, rng.normal(size=20).round(3)))}\n" for word in words)
    (folder / "glove.6B.300d.txt").write_text(rows)
