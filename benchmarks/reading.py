"""Reading speed: every layout and file format, from disk to finished lines, on one core.

    python -m benchmarks.reading [--text FILE] [--write]

FILE has one paragraph per line and may be compressed; without it, the script makes a synthetic text. The first 32 MB
are written in every format and read back. The peer is the plain loop `for line in open(path, encoding="utf-8")`.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.tables import arguments, best_of, machine, markdown, report, write_sentences
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import iter_lines
from siamese_cbow.text.splitters import split_lines

SIZE = 32 << 20


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def write_formats(paragraphs: list[str], folder: Path) -> dict[str, tuple[Path, str]]:
    """Writes the text in every format: name -> (file, layout)."""
    running = "\n".join(paragraphs).encode()
    sentences = split_lines(running, "en")[0]
    ascii_only = bytes(byte for byte in sentences if byte < 128)
    wrapped = "\n\n".join(textwrap.fill(paragraph, 72) for paragraph in paragraphs).encode()
    files: dict[str, tuple[str, str, bytes]] = {
        "one sentence per line, ASCII": ("ascii.txt", "sentences", ascii_only),
        "one sentence per line": ("sentences.txt", "sentences", sentences),
        "the same, .gz": ("sentences.txt.gz", "sentences", gzip.compress(sentences, 6)),
        "the same, .bz2": ("sentences.txt.bz2", "sentences", bz2.compress(sentences)),
        "the same, .xz": ("sentences.txt.xz", "sentences", lzma.compress(sentences, preset=3)),
        "the same, .zst": ("sentences.txt.zst", "sentences", zstd(sentences)),
        "one paragraph per line, split": ("paragraphs.txt", "paragraphs", running),
        "wrapped lines, split": ("wrapped.txt", "wrapped", wrapped),
        "JSON lines": (
            "rows.jsonl",
            "sentences",
            "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(paragraphs)).encode(),
        ),
    }
    for name, _, data in files.values():
        (folder / name).write_bytes(data)
    table = pa.table({"id": range(len(paragraphs)), "text": paragraphs})
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    paths = {what: (folder / name, layout) for what, (name, layout, _) in files.items()}
    paths["CSV"] = (folder / "rows.csv", "sentences")
    paths["Parquet"] = (folder / "rows.parquet", "sentences")
    return paths


def read(path: Path, layout: str) -> int:
    corpus = Corpus(path, TextSettings(layout=layout))  # type: ignore[arg-type]
    return sum(len(corpus.lines(block).text) for block in corpus.blocks())


def plain_loop(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(1 for _ in file)


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time, because on a shared machine wall-clock time also measures other programs."""
    return best_of(7, work, time.process_time)


def row(what: str, n_bytes: int, work: Callable[[], object], peer: float) -> list[str]:
    speed = n_bytes / 1e6 / cpu_seconds(work)
    return [what, f"{speed:.0f}", f"{speed / peer:.1f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--text", type=Path, help="one paragraph per line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = options.text or folder / "made.txt"
        if not options.text:
            write_sentences(text, 6_000_000)
        total = itertools.accumulate(len(line) for line in iter_lines(text))
        some = itertools.takewhile(lambda pair: pair[1] < SIZE, zip(iter_lines(text), total, strict=True))
        formats = write_formats([line for line, _ in some if line], folder)
        sentences = formats["one sentence per line"][0]
        peer = sentences.stat().st_size / 1e6 / cpu_seconds(lambda: plain_loop(sentences))
        rows = [["for line in open(path)", f"{peer:.0f}", "1.0"]]
        for what, (path, layout) in formats.items():
            rows.append(row(what, read(path, layout), lambda path=path, layout=layout: read(path, layout), peer))  # type: ignore[misc]
        size = sentences.stat().st_size
        rows.append(row("`iter_lines`, one string per line", size, lambda: sum(1 for _ in iter_lines(sentences)), peer))
        table = markdown(["read as", "MB of text per CPU second", "times the plain loop"], rows)
        report("reading", "Reading text", f"{machine('pyarrow', 'sentencex')}\n\n{table}", write=options.write)


if __name__ == "__main__":
    main()
