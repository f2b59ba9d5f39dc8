"""Runs every benchmark, one after the other, and writes the tables to `results/`.

    python -m benchmarks [--text RAW_TEXT] [--sts DIR]

RAW_TEXT (a paragraph a line, may be packed) and the STS sets are not part of the project; without them, the parts that
need them are left out, and that is said.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def run(module: str, *arguments: object) -> None:
    print(f"python -m benchmarks.{module} {' '.join(map(str, arguments))}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments), "--write"], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--sts", type=Path)
    options = parser.parse_args()
    text = ["--text", options.text] if options.text else []
    run("sentence_splitting", *text)
    run("reading", *text)
    run("prepare", *text)
    run("encode")
    run("cold_start")
    run("serve")
    run("train")
    run("skip_thought")
    run("paper_scale")
    if options.text and options.sts:
        from siamese_cbow.preparation import prepare

        with tempfile.TemporaryDirectory() as folder:
            prepare(options.text, output=Path(folder) / "stream")
            stream = Path(folder) / "stream"
            run("quality", stream, "--sts", options.sts)
            run("learning_curve", stream, "--sts", options.sts)
            run("fastsent", stream, "--sts", options.sts)
        print("left out: benchmarks.reproduce, which takes hours; see its --help")
    else:
        print("left out: benchmarks.quality, learning_curve, fastsent and reproduce, which need --text and --sts")


if __name__ == "__main__":
    main()
