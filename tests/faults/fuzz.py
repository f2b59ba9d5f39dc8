"""Fuzzes one reader, guided by coverage: `python fuzz.py NAME N SECONDS FOLDER` prints what it reached, as JSON.

Needs atheris (`pip install 'siamese-cbow[soak]'`). It stops after N executions or SECONDS of CPU time. Many mutants are
made within the structure of their format (mutation.py), the others byte by byte. The limits per input: 20 seconds of
CPU time and 4 GB. A crashing input is left in FOLDER; add it to `crashers/`, where a test reads it from then on.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
LIBRARY = "siamese_cbow"
MOST_BYTES = 12_000  # of an input
# The share of mutants made within their format; less where making one takes longer than reading it.
INSIDE, INSIDE_MANY, MANY = 0.7, 0.25, 100_000
HANGS = 20  # seconds of CPU time: wall-clock time would also count other programs


def fuzz(name: str, most: int, seconds: float, folder: Path) -> None:
    """Runs until it has done enough or the time is over; does not return."""
    import atheris

    # Numba compiles the code in these modules, and would find the instrumentation.
    with atheris.instrument_imports(
        include=[LIBRARY, "tomllib", "json", "zipfile"], exclude=compiled_modules(), enable_loader_override=False
    ):
        import readers

        reader = readers.make(name, folder / "files")
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    counts = {"executions": 0, "accepted": 0}
    end = time.process_time() + seconds

    # The system ends a process whose input takes too long (SIGPROF); the input stays in a file.
    with (folder / "hang").open("wb+") as file:
        file.truncate(MOST_BYTES + 4)
        current = mmap.mmap(file.fileno(), 0)

    def one(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_PROF, HANGS)
        current[: 4 + len(data)] = len(data).to_bytes(4, "little") + data
        counts["executions"] += 1
        counts["accepted"] += reader(data)
        n = counts["executions"]
        if n >= most or (n % 64 == 0 and time.process_time() > end):
            (folder / "counts.json").write_text(json.dumps(counts))
            os._exit(0)

    chance = random.Random(1)
    inside = INSIDE_MANY if most > MANY else INSIDE

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        if chance.random() < inside:
            with suppress(Exception):  # an input that can't be parsed is changed byte by byte
                changed = reader.mutate(data, chance)
                if 0 < len(changed) <= max_size:
                    return changed
        return bytes(atheris.Mutate(data, max_size))

    options = ["-rss_limit_mb=4096", f"-timeout={1 << 20}", f"-max_len={MOST_BYTES}", "-len_control=0", "-seed=1",
               "-mutate_depth=2", f"-artifact_prefix={folder}/", "-print_final_stats=0"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=mutate)
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Modules and rooms with functions that Numba compiles: ["siamese_cbow.machine", ...]."""
    import importlib.util

    spec = importlib.util.find_spec(LIBRARY)  # imports nothing from it
    assert spec
    assert spec.origin
    package = Path(spec.origin).parent
    files = [file for file in package.rglob("*.py") if "njit" in file.read_text("utf-8")]
    modules = [".".join((LIBRARY, *file.relative_to(package).with_suffix("").parts)) for file in files]
    return [f"{LIBRARY}.machine", f"{LIBRARY}.kernels", *modules]


def lines_of(code: CodeType) -> set[int]:
    """The executable lines of a module or function."""
    inner = [lines_of(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*inner)


def coverage(name: str, folder: Path) -> tuple[int, int]:
    """How many lines in the functions of the reader's modules the corpus covers, and how many there are."""
    import readers

    reader = readers.make(name, folder / "files")
    sources = {str(file) for module in reader.modules for file in _files(module)}
    there: set[tuple[str, int]] = set()
    for source in sources:
        code = compile(Path(source).read_text("utf-8"), source, "exec")
        for constant in code.co_consts:  # code that runs on import doesn't count
            if isinstance(constant, CodeType):
                there |= {(source, line) for line in lines_of(constant)}
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        source = frame.f_code.co_filename
        if source not in sources:
            return None
        if event in ("line", "call"):
            reached.add((source, frame.f_lineno))
        return trace

    files = sorted((folder / "corpus").iterdir(), key=lambda path: path.stat().st_size)
    for file in [*files[:200], *files[200::5]][:400]:
        data = file.read_bytes()
        sys.settrace(trace)
        try:
            reader(data)
        finally:
            sys.settrace(None)
    return len(reached & there), len(there)


def _files(module: str) -> list[Path]:
    import siamese_cbow

    path = Path(siamese_cbow.__file__).parent / module.replace(".", "/")
    return [path.with_suffix(".py")]


def main() -> None:
    """Fuzzes in a child process, then measures."""
    name, most, seconds, folder = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    if len(sys.argv) > 5:
        fuzz(name, most, seconds, folder)
    import resource
    import subprocess

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:5], "child"], stdout=said, stderr=said, check=False
        )
        said.seek(0)
        text = said.read()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = {"executions": 0, "accepted": 0}
    if (folder / "counts.json").exists():
        counts = json.loads((folder / "counts.json").read_text())
    edges = max((int(line.split("cov: ")[1].split()[0]) for line in text.splitlines() if "cov: " in line), default=0)
    result = {"name": name, **counts, "edges": edges, "seconds": round(used.ru_utime + used.ru_stime)}
    if child.returncode:
        result["crash"] = f"exit code {child.returncode}\n{text[-3000:]}"
        if child.returncode == -signal.SIGPROF:
            kept = (folder / "hang").read_bytes()
            (folder / "timeout").write_bytes(kept[4 : 4 + int.from_bytes(kept[:4], "little")])
    else:
        result["reached"], result["lines"] = coverage(name, folder)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
