"""Runs the benchmarks, one after the other, and writes the tables to `results/`.

    python -m benchmarks [--text RAW_TEXT] [--modern RAW_TEXT] [--novels RAW_TEXT] [--sts DIR] [--transfer DIR]

Texts (one paragraph per line, optionally compressed: those of `build_pretrained`, of which --text is Wikipedia), STS
sets and classification sets are not part of the project; benchmarks that need a missing one are skipped and listed. At
the end, `summary` writes results/benchmarks.md.
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
    for name in ("text", "modern", "novels", "sts", "transfer"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    text, has_all = ["--text", options.text] if options.text else [], all(vars(options).values())
    run("install")
    run("sentence_splitting", *text)
    run("reading", *text)
    run("reading_memory")
    run("prepare", *text)
    if options.text:
        run("one_step", *text)
    for name in ("encode", "cold_start", "serve", "search", "train", "skip_thought", "paper_scale"):
        run(name)
    skipped = ["quality_search, pairs and reproduce, which take hours or more texts: see their --help"]
    with tempfile.TemporaryDirectory() as temporary:
        if options.text and options.sts:
            of_quality(options.text, options.sts, Path(temporary))
            if options.novels:
                of_documents(options.novels, Path(temporary))
            if has_all:
                texts = ("--wikipedia", options.text, "--modern", options.modern, "--novels", options.novels)
                run("pretrained", *texts, "--sts", options.sts, "--transfer", options.transfer)
    if not (options.text and options.sts):
        skipped.append(
            "quality, learning_curve, fastsent, cluster_quality, adapt, cluster, scaling, postprocess, unknown_words "
            "and compress: --text and --sts"
        )
    if not (options.text and options.sts and options.novels):
        skipped.append("documents: --text, --sts and --novels")
    if not has_all:
        skipped.append("pretrained: all of --text, --modern, --novels, --sts and --transfer")
    run("summary")
    print("skipped:", "; ".join(skipped))


def of_quality(text: Path, sts: Path, folder: Path) -> None:
    """What is learnt from one text."""
    from siamese_cbow import SiameseCBOW, prepare

    stream, model = folder / "stream", folder / "model"
    SiameseCBOW().train(prepare(text, output=stream)).save(model)
    for name in ("quality", "learning_curve", "fastsent", "cluster_quality", "adapt"):
        run(name, stream, "--sts", sts)
    run("cluster", "speed", stream)
    run("cluster", "scale")
    run("scaling", stream)
    run("postprocess", stream, model, "--sts", sts)
    for name in ("unknown_words", "compress"):
        run(name, model, "--sts", sts)


def of_documents(novels: Path, folder: Path) -> None:
    """What is learnt from that text, tried on novels."""
    from siamese_cbow import prepare

    prepare(novels, output=folder / "novels")
    run("documents", folder / "stream", folder / "novels")


if __name__ == "__main__":
    main()
