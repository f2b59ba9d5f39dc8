"""Writes the table of `docs/text.md`: what each command makes of each kind of file; a test compares.

python tools/text_table.py

The script makes the files. Every command that reads text reads every file, plain and compressed; the table shows how
many rows came out, which messages were printed and what was left out.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from document_files import pdf
from siamese_cbow import Model, Stream, Tokenizer, Vocabulary
from siamese_cbow.cli import main
from siamese_cbow.text.reader import format_of

TARGET = Path(__file__).parents[1] / "docs" / "text.md"
START, END = "<!-- the table starts: tools/text_table.py writes it -->", "<!-- the table ends -->"
TEXTS = ["the ship in the storm", "a song of the band,\nwith a guitar", "", "soup and bread", "the guitar", "fish soup"]
LABELS = ["sea", "music", "food", "food", "music", "sea"]
GERMAN = "Das Schiff fährt über die Straße.\nEin Lied für die Gäste, schön.\nSuppe und Brötchen.\n"
JAPANESE = "船は港を出ました。嵐が来ます。\n友達と一緒に歌を歌いました。\nスープとパンを食べました。\n"


class Kind(NamedTuple):
    """A kind of file: its name, its description, and the options that it needs."""

    name: str
    what: str
    content: bytes
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The description, and the extra that reads the file."""
        needed = format_of(self.name).needs
        return f"{self.what}, extra `{needed[1]}`" if needed else self.what


def csv_bytes(delimiter: str) -> bytes:
    """A table with quoted cells that contain line ends."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerows([("id", "text", "other", "label"), *((i, text, "the ship", label) for i, (text, label) in
                                                          enumerate(zip(TEXTS, LABELS, strict=True)))])  # fmt: skip
    return file.getvalue().encode()


def json_rows() -> list[dict[str, object]]:
    """The same table as nested records; the third has no text."""
    rows: list[dict[str, object]] = [
        {"id": i, "user": {"note": text}, "other": "the ship", "label": label}
        for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))
    ]
    rows[2]["user"] = None
    return rows


def parquet_bytes() -> bytes:
    """The same table with a null."""
    sink = pa.BufferOutputStream()
    columns = {
        "id": range(len(TEXTS)),
        "text": [text or None for text in TEXTS],
        "other": ["the ship"] * len(TEXTS),
        "label": LABELS,
    }
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


WRAPPED = (
    "The ship left the harbour in the morning, and the storm came in the after-\n"
    "noon. The captain of the ship had seen worse. He stood on the deck and sang\n"
    "a song of the sea. The band played the guitar. We ate fish soup and bread,\n"
    "and went to bed early. In the morning the storm was over. The afternoon was\n"
    "bright, and the ship was far from the harbour now. We had soup once more.\n\n"
) * 3
MARKDOWN = """---
title: never a word
---
# The ship

The ship is in the [harbour](http://never.example/word), and the
storm is com-
ing. It is a big &amp; old ship.

```never
never a word
```

- fish soup
- a guitar
"""
HTML = """<!DOCTYPE html><html><head><title>never</title><style>never {}</style></head><body><h1>The ship</h1>
<p>Fish &amp; soup, caf&eacute;.</p><script>never()</script><pre>never</pre><p>The guitar of the band.</p></body></html>
"""
SUBTITLES = """1
00:00:01,000 --> 00:00:03,000
<i>The ship is in the harbour.</i>

2
00:00:04,000 --> 00:00:06,000
The storm
is coming.
"""
PDF_PAGES = [["The ship", "The ship is in the harbour and the storm comes in the after-", "noon, as it does."],
             ["A song of the band."]]  # fmt: skip
NESTED = ("--text-column", "user.note")
KINDS = [
    Kind("quoted.csv", "CSV, quoted cells with line ends", csv_bytes(",")),
    Kind("semicolon.csv", "CSV, `;`", csv_bytes(";")),
    Kind("excel.csv", "CSV of Excel: `sep=;`, byte order mark, CRLF", b"\xef\xbb\xbfsep=;\r\n" + csv_bytes(";")),
    Kind("tabs.csv", "CSV, tabs", csv_bytes("\t")),
    Kind("nested.jsonl", "JSON lines, `--text-column user.note`",
         "".join(json.dumps(row) + "\n" for row in json_rows()).encode(), NESTED),
    Kind("array.json", "a JSON array, `--text-column user.note`", json.dumps(json_rows(), indent=1).encode(), NESTED),
    Kind("table.parquet", "Parquet", parquet_bytes()),
    Kind("front.md", "Markdown with front matter", MARKDOWN.encode()),
    Kind("wrapped.txt", "wrapped text", WRAPPED.encode()),
    Kind("film.srt", "subtitles", SUBTITLES.encode()),
    Kind("page.html", "HTML with entities and scripts", HTML.encode()),
    Kind("paper.pdf", "PDF", pdf(PDF_PAGES)),
    Kind("windows.txt", "Windows-1252", GERMAN.encode("cp1252")),
    Kind("japanese.txt", "Shift-JIS", (JAPANESE * 4).encode("cp932")),
    Kind("wide.txt", "UTF-16", GERMAN.encode("utf-16")),
    Kind("lines.txt", "JSON lines named `.txt`", "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()),
]  # fmt: skip
COMMANDS = (
    "prepare",
    "train",
    "encode",
    "search",
    "index",
    "dedup",
    "cluster",
    "adapt",
    "similarity --file",
    "evaluate --probe",
    "evaluate --pairs",
)


def compressed(kind: Kind) -> Iterator[Kind]:
    """The same file as .gz and as .zst; Parquet has its own compression."""
    if kind.name.endswith(".parquet"):
        return
    yield kind._replace(name=f"{kind.name}.gz", content=gzip.compress(kind.content))
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(kind.content)
    yield kind._replace(name=f"{kind.name}.zst", content=bytes(sink.getvalue()))


def checkout(folder: Path) -> Kind:
    """A git checkout: text of several kinds, and files that are left out."""
    for name, content in {
        ".git/HEAD": b"ref: refs/heads/main\n", ".gitignore": b"build/\n*.log\n", "README.md": MARKDOWN.encode(),
        "src/ship.py": b"# the ship\nship = 1\n", "data/rows.csv": csv_bytes(","),
        "package.json": b'{"name": "ship"}\n', "docs/page.html": HTML.encode(),
        "build/out.txt": b"never\n", "debug.log": b"never\n", "logo.png": b"\x89PNG\r\n\x1a\n",
    }.items():  # fmt: skip
        path = folder / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Kind("checkout", "a git checkout", b"")


class Result(NamedTuple):
    """What a command did: lines on standard output, lines on standard error, and its exit code."""

    out: list[str]
    said: list[str]
    code: int

    def rows(self, what: str) -> str:
        """`what`, or how the command refused."""
        if self.code == 2:
            return next((short for long, short in REFUSED.items() if long in self.said[-1]), self.said[-1])
        return what


REFUSED = {
    "it is unclear which": "refused: no pairs",
    "no tab": "refused: no tabs",
    "looks like": "refused: rename it",
    "is a PDF": "refused: not text",
    "directory": "refused: a folder",
}
REMARKS = (
    "read as",
    "zero vectors",
    "skipped ",
    "lines are wrapped",
    "each paragraph of a document",
    "replaced",
)  # beginnings of messages about how text was read


def run(*arguments: str) -> Result:
    """Runs a command in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
    said = [line.removeprefix("siamese-cbow: ") for line in err.getvalue().splitlines()]
    return Result(out.getvalue().splitlines(), said, code)


def n_lines(path: str) -> int:
    """The number of lines of a file; 0 if it does not exist."""
    return len(Path(path).read_text("utf-8").splitlines()) if Path(path).exists() else 0


def cell(command: str, kind: Kind, n: int) -> tuple[str, list[str]]:
    """What a command makes of a file: rows, or the error in a few words; and its messages."""
    name, options = kind.name, kind.options
    if command == "prepare":
        done = run("prepare", name, *options, "-o", f"stream{n}", "--min-count", "1", "--language", "en")
        what = f"{Stream.load(f'stream{n}').n_sentences} sentences" if done.code == 0 else ""
    elif command == "train":
        training = ("--dim", "8", "--epochs", "1", "--subsample", "0", "--batch-size", "4", "--run-length", "2")
        done = run("train", name, *options, "-o", f"trained{n}", "--min-count", "1", "--language", "en", *training)
        read = next((line for line in done.said if " tokens in " in line), "")
        what = f"{read.partition(' in ')[2].split()[0]} sentences" if read else ""
    elif command == "encode":
        done = run("encode", name, *options, "-o", f"rows{n}.jsonl")
        what = f"{n_lines(f'rows{n}.jsonl')} rows"
    elif command == "search":
        done = run("search", "ship", name, *options, "-k0", "--threshold=-99")
        what = f"{len(done.out)} hits"
    elif command == "index":
        done = run("index", name, *options, "-o", f"index{n}")
        what = next((line.partition(";")[0] for line in done.said if " rows; files" in line), "")
    elif command == "dedup":
        done = run("dedup", name, *options, "--threshold", "1", "-o", f"kept{n}.jsonl")
        what = f"{n_lines(f'kept{n}.jsonl')} of {done.said[-1].split()[-2]}"
    elif command == "cluster":
        done = run("cluster", name, *options, "--lines")
        what = f"{len(done.out)} rows"
    elif command == "adapt":
        done = run("adapt", name, *options, "-o", f"adapted{n}")
        what = next((" ".join(line.split()[2:4]) for line in done.said if line.startswith("adapted to")), "")
    elif command == "similarity --file":
        columns = ("--text-column", "user.note,other") if options else ("--text-column", "text,other")
        done = run("similarity", "--file", name, *(columns if is_table(kind) else ()))
        what = f"{len(done.out)} numbers"
    elif command == "evaluate --pairs":
        columns = f"{'user.note' if options else 'text'},other,id"
        done = run("evaluate", "model", "--pairs", name, *(("--columns", columns) if is_table(kind) else ()))
        what = next((f"{line.split()[1]} pairs" for line in done.out if line.split()[:1] == [name]), "")
    else:
        done = run("evaluate", "model", "--probe", name, *options, "--folds", "2")
        what = done.out[0].partition(": ")[2].partition(",")[0] if done.out else ""
    said = [] if done.code == 2 else [line for line in done.said if line.startswith(REMARKS)]
    return done.rows(what), said


def is_table(kind: Kind) -> bool:
    """Whether the file has columns."""
    return any(f".{ending}" in kind.name for ending in ("csv", "json", "parquet"))


def short(said: list[str]) -> str:
    """The messages without advice and names: "read as Windows-1252, not UTF-8"."""
    return "; ".join(dict.fromkeys(line.partition("; ")[0].partition(": ")[0] for line in said))


def model_of_all() -> Model:
    """A model that knows every word in these files, because a text without a known word has no vector."""
    texts = [
        *TEXTS,
        *LABELS,
        GERMAN,
        JAPANESE,
        WRAPPED,
        MARKDOWN,
        HTML,
        SUBTITLES,
        *(line for page in PDF_PAGES for line in page),
    ]
    words = sorted({word for text in texts for word in Tokenizer().words(text)} | {"ship", "afternoon"})
    vectors = np.random.default_rng(1).standard_normal((len(words), 8)).astype(np.float32)
    return Model(Vocabulary.of_words(words), vectors)


def table() -> str:
    """The table in Markdown; raises an error if a compressed file gives a different result than the plain one."""
    lines = [f"| | {' | '.join(COMMANDS)} | also reported |", "|---" * (len(COMMANDS) + 2) + "|"]
    before, model = Path.cwd(), os.environ.get("SIAMESE_CBOW_MODEL")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["SIAMESE_CBOW_MODEL"] = "model"
        try:
            model_of_all().save("model")
            n = 0
            for kind in [*KINDS, checkout(Path(folder))]:
                results = []
                for each in (kind, *(compressed(kind) if kind.content else ())):
                    if each.content:
                        Path(each.name).write_bytes(each.content)
                    cells = []
                    for command in COMMANDS:
                        n += 1
                        cells.append(cell(command, each, n))
                    results.append(cells)
                for other in results[1:]:
                    if [rows for rows, _ in other] != [rows for rows, _ in results[0]]:
                        raise AssertionError(f"{kind.name}: {results[0]} but compressed {other}")
                said = short([line for _, lines_said in results[0] for line in lines_said])
                lines.append(f"| {kind.label} | {' | '.join(rows for rows, _ in results[0])} | {said} |")
        finally:
            os.chdir(before)
            if model is None:
                del os.environ["SIAMESE_CBOW_MODEL"]
            else:
                os.environ["SIAMESE_CBOW_MODEL"] = model
    return "\n".join(lines) + "\n"


def page() -> str:
    """`docs/text.md` with the current table."""
    start, _, rest = TARGET.read_text("utf-8").partition(START)
    _, _, end = rest.partition(END)
    return f"{start}{START}\n\n{table()}\n{END}{end}"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
