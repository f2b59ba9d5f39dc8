"""The memory that reading takes: every file format at one size and at four times that size.

    python -m benchmarks.reading_memory [--megabytes N] [--only FORMAT] [--write]

Each run is a separate process that reads a whole file or folder, as `prepare` and `train` do (sentences) or as
`encode`, `search` and others do (rows); for lines and CSV, `prepare` and `encode` also run themselves. The peak is that
of the process without pages of files, a cache that the system reclaims at any time. The larger folders have four times
as many files, not larger files, because an HTML, Markdown or PDF file is read whole.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import random
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import arguments, machine, markdown, report, run_python

ROW_BYTES, TIMES = 500, 4
# Runs one task and prints its peak anonymous memory in kilobytes, sampled a hundred times per second.
WATCHED = """
import re, sys, threading
from pathlib import Path
peak, done = 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.01):
        peak = max(peak, int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
def sentences(path):
    from siamese_cbow.text.corpus import Corpus
    from siamese_cbow.text.records import TextSettings
    corpus = Corpus(path, TextSettings(language="en"))
    sum(len(corpus.lines(block).text) for block in corpus.blocks())
def rows(path):
    from siamese_cbow.text.row_reader import RowReader
    print(sum(1 for text in RowReader(path).texts()), "rows")
def command(*arguments):
    from siamese_cbow.cli import main
    main(arguments)
thread = threading.Thread(target=watch); thread.start()
try:
    globals()[sys.argv[1]](*sys.argv[2:])
finally:
    done.set(); thread.join(); print("peak", peak)
"""


def rows(n: int) -> Iterator[str]:
    """`n` paragraphs of three sentences, at most 2,000 of them distinct."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(20_000)]
    some = [
        " ".join(f"{' '.join(draw.choices(words, k=25)).capitalize()}." for _ in range(3)) for _ in range(min(n, 2_000))
    ]
    return itertools.islice(itertools.cycle(some), n)


def lines(file: IO[str], texts: Iterator[str]) -> None:
    file.writelines(f"{text}\n" for text in texts)


def wrapped(file: IO[str], texts: Iterator[str]) -> None:
    file.writelines(textwrap.fill(text, 72) + "\n\n" for text in texts)


def table(delimiter: str) -> Callable[[IO[str], Iterator[str]], None]:
    def write(file: IO[str], texts: Iterator[str]) -> None:
        out = csv.writer(file, delimiter=delimiter)
        out.writerow(["id", "text"])
        out.writerows(enumerate(texts))

    return write


def json_lines(file: IO[str], texts: Iterator[str]) -> None:
    file.writelines(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))


def json_array(file: IO[str], texts: Iterator[str]) -> None:
    file.write("[")
    file.writelines(("," * (i > 0)) + json.dumps({"id": i, "text": text}, indent=1) for i, text in enumerate(texts))
    file.write("]")


def html(file: IO[str], texts: Iterator[str]) -> None:
    file.writelines(f"<p>{text}</p>\n" for text in texts)


FILES: dict[str, tuple[str, Callable[[IO[str], Iterator[str]], None]]] = {
    "lines": ("a.txt", lines),
    "lines, .gz": ("a.txt.gz", lines),
    "lines, .zst": ("a.txt.zst", lines),
    "wrapped text": ("a.txt", wrapped),
    "CSV": ("a.csv", table(",")),
    "CSV, .gz": ("a.csv.gz", table(",")),
    "TSV": ("a.tsv", table("\t")),
    "JSON lines": ("a.jsonl", json_lines),
    "JSON array": ("a.json", json_array),
}
FOLDERS = {"HTML folder": (".html", html), "Markdown folder": (".md", wrapped), "folder of text": (".txt", lines)}
PARQUET = "Parquet"
MEASURED = ("sentences", "rows", "`prepare`", "`encode`")
WHOLE = ("lines", "CSV")


def write_input(what: str, n: int, folder: Path) -> Path:
    """Writes a file or folder of n rows."""
    if what in FOLDERS:
        ending, write = FOLDERS[what]
        texts, inner = rows(n), folder / "files"
        inner.mkdir()
        for i in range(n // 100):
            with (inner / f"{i}{ending}").open("w", encoding="utf-8") as file:
                write(file, (next(texts) for _ in range(100)))
        return inner
    if what == PARQUET:
        texts = rows(n)
        with pq.ParquetWriter(folder / "a.parquet", pa.schema([("text", pa.string())])) as out:
            for first in range(0, n, 20_000):
                out.write_table(pa.table({"text": [next(texts) for _ in range(min(20_000, n - first))]}))
        return folder / "a.parquet"
    name, write = FILES[what]
    with _opened(folder / name) as file:
        write(file, rows(n))
    return folder / name


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "wt", compresslevel=1, encoding="utf-8", newline="")
    if path.suffix == ".zst":
        return io.TextIOWrapper(pa.CompressedOutputStream(str(path), "zstd"), encoding="utf-8")
    return path.open("w", encoding="utf-8", newline="")


def watched(*arguments: object) -> tuple[str, float]:
    """Runs one task in a separate process: its output, and its peak in megabytes: `watched("rows", "a.csv")`."""
    printed, _, kilobytes = run_python(WATCHED, *arguments)[2].rpartition("peak")
    return printed, int(kilobytes) / 1024


def measured(what: str, n: int) -> list[float]:
    """The peaks: sentences, rows and, for some formats, both commands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = write_input(what, n, folder)
        runs: list[tuple[object, ...]] = [("sentences", source), ("rows", source)]
        if what in WHOLE:
            runs.append(("command", "prepare", source, "-o", folder / "stream", "--language", "en"))
            runs.append(("command", "encode", source, "-o", folder / "vectors.npy"))
        return [watched(*run)[1] for run in runs]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=32, help="megabytes of text at the smaller size")
    parser.add_argument("--only", action="append", help="only this format; may be repeated")
    options = parser.parse_args()
    n, table_rows = options.megabytes * 1_000_000 // ROW_BYTES, []
    for what in options.only or [*FILES, PARQUET, *FOLDERS]:
        for name, few, many in zip(MEASURED, measured(what, n), measured(what, TIMES * n), strict=False):
            table_rows.append([what, name, f"{few:.0f}", f"{many:.0f}", f"{many / few:.2f}"])
            print(*table_rows[-1], flush=True)
    sizes = [f"peak MB, {size} MB of text" for size in (options.megabytes, TIMES * options.megabytes)]
    body = f"{machine('pyarrow')}\n\n{markdown(['', 'read as', *sizes, 'times'], table_rows)}"
    report("reading_memory", "Memory while reading text", body, write=options.write)


if __name__ == "__main__":
    main()
