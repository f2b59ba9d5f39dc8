"""Fuzzes one reader, guided by coverage: `python fuzz.py NAME SECONDS FOLDER` prints what it reached, as JSON.

Needs atheris (`pip install 'siamese-cbow[soak]'`). SECONDS are of processor time. The caps: 20 seconds and 4 GB for an
input. A crasher is left in FOLDER, and its bytes belong into `crashers/`, where a test reads them for ever.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
LIBRARY = "siamese_cbow"


def fuzz(name: str, seconds: float, folder: Path) -> None:
    """Runs until the time is over; does not return."""
    import atheris

    # Numba compiles what it finds in these rooms, and would find the instruments.
    compiled = [
        f"{LIBRARY}.{room}" for room in ("machine", "kernels", "words.scanner", "words.hash_table", "words.lookup")
    ]
    with atheris.instrument_imports(
        include=[LIBRARY, "tomllib", "json", "zipfile"], exclude=compiled, enable_loader_override=False
    ):
        import readers

        reader = readers.make(name, folder / "files")
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    counts = {"executions": 0, "accepted": 0}
    end = time.process_time() + seconds

    def one(data: bytes) -> None:
        counts["executions"] += 1
        counts["accepted"] += reader(data)
        if counts["executions"] % 64 == 0 and time.process_time() > end:
            (folder / "counts.json").write_text(json.dumps(counts))
            os._exit(0)

    options = ["-rss_limit_mb=4096", "-timeout=20", "-max_len=6000", f"-artifact_prefix={folder}/"]
    atheris.Setup([sys.argv[0], *options, "-print_final_stats=0", str(corpus)], one)
    atheris.Fuzz()


def lines_of(code: CodeType) -> set[int]:
    """The lines of a module or function that can run."""
    inner = [lines_of(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*inner)


def coverage(name: str, folder: Path) -> tuple[int, int]:
    """How many lines of functions of the reader's modules the corpus runs through, and how many there are."""
    import readers

    reader = readers.make(name, folder / "files")
    sources = {str(file) for module in reader.modules for file in _files(module)}
    there: set[tuple[str, int]] = set()
    for source in sources:
        code = compile(Path(source).read_text("utf-8"), source, "exec")
        for constant in code.co_consts:  # what runs when the module is imported does not count
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
    for file in files[:400]:
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
    """Fuzz in a child, then measure."""
    name, seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    if len(sys.argv) > 4:
        fuzz(name, seconds, folder)
    import resource
    import subprocess

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.run(
            [sys.executable, __file__, name, str(seconds), str(folder), "child"], stdout=said, stderr=said, check=False
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
        result["crash"] = text[-3000:]
    else:
        result["reached"], result["lines"] = coverage(name, folder)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
