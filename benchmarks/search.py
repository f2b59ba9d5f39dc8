"""A query against a million lines: without an index (a whole process), and with one.

    python -m benchmarks.search [--text FILE] [--lines N] [--rounds N] [--work DIR [--build]] [--before SRC]
                                [--json FILE] [--write]

Without --text, the text is lines of about 20 words drawn by Zipf's law from 50,000 words, and the model has random
vectors in 300 dimensions. With --text, it is the first sentences of that text, one per line, and the model is that of
--model or the one in the package, as float32 and without its fallback, so that the peers can read it. --work keeps
text, model and index; with --build, the script only makes the index, which takes minutes, and a later run uses it.

Without an index, every program starts in a fresh process, loads the model, reads the file and prints the ten best
lines: ours by exact words and meaning, the peers by cosine. The peers load the folder that we save and hold all vectors
in memory, as their users do; taking 100,000 lines at a time doesn't change their speed. --before names the `src` of a
commit without exact-word search, which then takes part. All take turns, and the best of equally many rounds counts.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import arguments, machine, markdown, report, run_python, zipf_words
from siamese_cbow import Index, Model, Vocabulary, load
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

N_WORDS, DIM = 50_000, 300
N_CHECKED = 50  # queries that are checked against all lines
OURS, BEFORE = "siamese-cbow search", "an earlier version, by meaning alone"
PROGRAMS = {
    OURS: ("from siamese_cbow.cli import main; main(['search', {query!r}, {text!r}, '--model', {model!r}, '--json'])"),
    "model2vec + NumPy": """
import json, numpy as np
from model2vec import StaticModel
model = StaticModel.from_pretrained({model!r})
query = model.encode({query!r})
with open({text!r}, encoding="utf-8") as file:
    lines = file.read().split("\\n")[:-1]
scores = model.encode(lines) @ query
best = np.argpartition(-scores, 10)[:10]
for i in best[np.argsort(-scores[best])]:
    print(json.dumps({{"line": int(i) + 1, "score": float(scores[i])}}))
""",
}
STARTING = "from siamese_cbow.cli import main; main(['search', {query!r}, {text!r}, '--model', {model!r}])"
WITH_INDEX = (
    "from siamese_cbow.cli import main; main(['search', {query!r}, '--index', {index!r}, '--model', {model!r}])"
)


def synthetic(folder: Path, n_lines: int) -> None:
    """Writes a synthetic text and a model for it."""
    lengths = np.random.default_rng(2).integers(8, 33, n_lines)
    ids, words = zipf_words(int(lengths.sum()), n_words=N_WORDS)
    ends = np.cumsum(lengths)
    with (folder / "text.txt").open("w") as file:
        for end, n in zip(ends, lengths, strict=True):
            file.write(" ".join([words[i] for i in ids[end - n : end]]) + "\n")
    vectors = np.random.default_rng(3).standard_normal((N_WORDS, DIM), dtype=np.float32)
    Model(Vocabulary.of_words(words), vectors).save(folder / "model")


def first_sentences(text: Path, target: Path, n: int) -> None:
    sentences = (row for rows in RowReader([text], TextSettings(unit="sentence")).row_blocks() for row in rows.texts())
    with target.open("w", encoding="utf-8") as file:
        file.writelines(f"{sentence}\n" for sentence in islice(sentences, n))


def plain_pretrained(folder: Path) -> None:
    """Saves the packaged model in a form that other libraries can read."""
    model = load().with_fallback("none")
    Model(model.vocabulary, np.array(model.vectors), model.tokenizer).save(folder)


def cold(names: dict[str, str], rounds: int, before: Path | None) -> dict[str, tuple[float, float]]:
    """The best round of each program; each must print ten lines."""
    sources = {BEFORE: {"PYTHONPATH": str(before)}} if before else {}
    names = {**names, **dict.fromkeys(sources, names[OURS])}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, program in names.items():
            clock, cpu, printed = run_python(program, **sources.get(name, {}))
            times[name].append((clock, cpu))
            assert len(printed.splitlines()) == 10, name
    return {name: (min(clock for clock, _ in each), min(cpu for _, cpu in each)) for name, each in times.items()}


def warm(index: Index, queries: list[str]) -> tuple[float, float, float]:
    """Milliseconds per query in one process: the median, the 95th percentile, and the median CPU time."""
    for query in queries[:2]:  # warm-up: the first query cuts rows in plain Python
        index.search(query)
    taken = []
    for query in queries:
        start, busy = time.perf_counter(), time.process_time()
        index.search(query)
        taken.append((time.perf_counter() - start, time.process_time() - busy))
    clock, cpu = np.array(taken).T * 1e3
    return float(np.median(clock)), float(np.percentile(clock, 95)), float(np.median(cpu))


def built(text: Path, model: Path, folder: Path) -> tuple[Index, tuple[float, float]]:
    """The index, and how long it took to build, now or (in a kept folder) earlier: wall-clock and CPU seconds."""
    measured_file = folder.with_suffix(".json")
    if measured_file.exists():
        clock, cpu = json.loads(measured_file.read_text())
        return Index(folder, model=load(model)), (clock, cpu)
    start, busy = time.perf_counter(), time.process_time()
    index = Index.update(folder, text, model=load(model))
    building = time.perf_counter() - start, time.process_time() - busy
    measured_file.write_text(json.dumps(building))
    return index, building


def with_index(text: Path, model: Path, folder: Path, query: str, rounds: int) -> tuple[str, dict[str, Any]]:
    index, building = built(text, model, folder)
    checked = index.check(n_queries=N_CHECKED)
    lines = text.read_text("utf-8").split("\n")
    queries = [" ".join(lines[i].split()[:6]) for i in range(0, len(lines) - 1, len(lines) // 200)]
    median, slow, busy = warm(index, [each for each in queries if index.model.encode(each).any()])
    command = WITH_INDEX.format(query=query, index=str(folder), model=str(model))
    whole = min(run_python(command)[:2] for _ in range(max(rounds, 5)))
    small = folder.parent / "small.txt"
    small.write_text("\n".join(lines[:100]) + "\n", "utf-8")
    command = STARTING.format(query=query, text=str(small), model=str(model))
    starting = min(run_python(command)[:2] for _ in range(max(rounds, 5)))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def milliseconds(seconds: tuple[float, float]) -> str:
        return f"{seconds[0] * 1e3:.0f} ms ({seconds[1] * 1e3:.0f} ms of CPU time)"

    rows = [
        ["one query in a running process, median", f"{median:.1f} ms ({busy:.1f} ms of CPU time)"],
        ["the same, 95th percentile", f"{slow:.1f} ms"],
        ["a whole command, cold start included", milliseconds(whole)],
        ["a whole command over 100 lines without an index: starting Python, loading the model",
         milliseconds(starting)],
        [f"recall@10 against search without an index, {checked['n_queries']} queries", f"{checked['recall']:.4f}"],
        ["building the index", f"{building[1]:.0f} s of CPU time on two cores, {size / 1e6:,.0f} MB"],
    ]  # fmt: skip
    figures = {"median_ms": median, "p95_ms": slow, "cpu_ms": busy, "command": whole, "starting": starting}
    return markdown(["with an index", ""], rows), {**figures, "building": building, "recall": checked}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--text", type=Path, help="a file of text, compressed or not")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--query", default="trade agreements between China and the United States")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=Path, help="a folder to keep text, model and index in")
    parser.add_argument("--build", action="store_true", help="only make what --work keeps")
    parser.add_argument("--before", type=Path, metavar="SRC", help="the sources of an earlier commit, to compare with")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        text, model, query = work / "text.txt", options.model or work / "model", options.query
        if not options.text:
            if not text.exists():
                synthetic(work, options.lines)
            query = " ".join(text.open().readline().split()[:6])
        else:
            if not text.exists():
                first_sentences(options.text, text, options.lines)
            if not model.exists():
                plain_pretrained(model)
        if options.build:
            built(text, model, work / "index")
            return
        names = {"query": query, "text": str(text), "model": str(model)}
        times = cold(
            {name: program.format(**names) for name, program in PROGRAMS.items()}, options.rounds, options.before
        )
        indexed, found = with_index(text, model, work / "index", query, options.rounds)
        n_bytes, loaded = text.stat().st_size, load(model)
    ours = times[OURS]
    rows = [
        [name, f"{clock:.2f}", f"{clock / ours[0]:.1f}", f"{cpu:.2f}", f"{cpu / ours[1]:.1f}"]
        for name, (clock, cpu) in times.items()
    ]
    words = f"{len(loaded.vocabulary):,} words, {loaded.dim} dimensions"
    page = (
        f"{machine('model2vec', 'numpy', 'numba')}; {options.lines:,} lines of "
        f"{'Wikipedia' if options.text else 'text by Zipf law'}, {n_bytes / 1e6:.0f} MB; {words}. "
        f"System load before and after: {load_before:.1f} and {os.getloadavg()[0]:.1f}.\n\n"
        "## Without an index: a whole process, from cold start to the ten best lines\n\n"
        f"{markdown(['system', 'seconds', 'times ours', 'CPU seconds', 'times ours'], rows)}\n\n"
        f"## With an index\n\n{indexed}"
    )
    report("search", "Searching a million lines", page, write=options.write)
    if options.json:
        options.json.write_text(json.dumps({"cold": times, **found}, indent=2))


if __name__ == "__main__":
    main()
