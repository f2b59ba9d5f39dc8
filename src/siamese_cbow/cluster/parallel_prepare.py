"""`prepare` on a cluster: byte-identical to one machine, for any number of workers.

    1. look       the beginning of every file -> its layout, and where it may be split
    2. scan       a shard of text -> provisional ids and counts of its words
    3. count      the counts of all shards, one range of hashes at a time -> words that are frequent enough
    4. translate  provisional ids of a shard -> ids
    5. join       the shards in order -> one stream

Steps 1 to 4 run on any node, shard by shard (see `shards`). Their results are kept in a hidden folder next to the
output, so that no work is repeated: when a node or the driver is lost, the same command resumes. Where one machine
would drop rare words to save memory (`max_distinct`), a cluster keeps them all and reports it.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids
from siamese_cbow.base.disk import remove_ours
from siamese_cbow.base.files import atomic_file, atomic_folder, one_writer
from siamese_cbow.cluster.session import Session
from siamese_cbow.cluster.shards import (
    CountedWords,
    Shard,
    in_order,
    language_of,
    load_array,
    looks_of,
    save_arrays,
    shards_of,
)
from siamese_cbow.cluster.sources import UNFINISHED, Source, Sources, paths_of, scratch_of
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.counting import COUNTERS, Merged, WordCounter, merge
from siamese_cbow.stream.preparation import OURS, Settings, check_changes, finish, opened
from siamese_cbow.stream.spool import Spool, Tallies
from siamese_cbow.stream.stream import Stream
from siamese_cbow.stream.writer import StreamWriter
from siamese_cbow.text.corpus import Corpus, part_blocks
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.inputs import Texts, no_text_remark
from siamese_cbow.text.records import RawBlock

TABLE = "table"
NO_LIMIT = 1 << 62
COUNTED = 1 << 22  # words of all shards that a process adds up at a time: about 500 MB


def prepare(
    session: Session,
    given: Sources,
    settings: Settings,
    output: Path,
    *,
    restart: bool = False,
    progress: Progress = SILENT,
) -> Stream:
    """Turn files into a stream on storage that all nodes see."""
    output, sources = output.absolute(), given.files
    entries = [source.entry() for source in sources]
    language = language_of(session, sources, settings.text)
    code = language.language.code
    settings = replace(settings, text=replace(settings.text, language=code))
    if not settings.text.languages:  # text in several languages is split in one way
        settings = replace(settings, tokenizer=settings.tokenizer.of_language(code))
    if stream := check_changes(output, entries, settings, restart, progress):
        return stream
    session.check_shared(output.parent)
    with one_writer(output):
        scratch = scratch_of(output, {"settings": settings.plain(), "sources": entries})
        looks = looks_of(session, sources, settings)
        missing = [source.name for source in sources if source.name not in looks]
        sources = [source for source in sources if source.name in looks]
        shards = shards_of(sources, [looks[source.name] for source in sources])
        scans = _scan(session, shards, settings, scratch, progress)
        merged = _count(session, shards, settings, scratch)
        counts = in_order(session, translate, [(scratch, i, scan["n_blocks"]) for i, scan in enumerate(scans)])
        with atomic_folder(output, ours=OURS, what="a stream") as new:
            writer = StreamWriter(new)
            for number, each in enumerate(counts):
                writer.append(scratch / f"part-{number:06d}", each)
            messages = [*given.remarks, *no_text_remark(missing), *_messages(scans, settings, sources)]
            finish(new, settings, entries, writer, merged, language, n_forgotten=0, messages=messages)
        remove_ours(scratch, UNFINISHED)
    if merged.n_distinct > settings.max_distinct // COUNTERS:
        progress.say(f"counted all {merged.n_distinct:,} distinct words; a single process might drop rare ones")
    return opened(output, merged.vocabulary, progress)


# On the nodes


class _ShardCorpus(Corpus):
    """The text of a shard."""

    def __init__(self, shard: Shard, settings: Settings, paths: Sequence[Path]) -> None:
        known = {str(path): layout for path, layout in zip(paths, shard.layouts, strict=True) if layout}
        files = [str(path) for path in paths] if shard.pieces is None else Texts([])
        super().__init__(files, settings.text, layouts=known)
        self._shard = shard

    def blocks(self) -> Iterator[RawBlock]:
        if self._shard.pieces is None:
            return super().blocks()
        [source] = self._shard.sources
        layout, overlong = self.choose(b"", source.name, "lines")
        return part_blocks(source.read, source.name, source.size, range(*self._shard.pieces), layout, overlong)


def scan(scratch: Path, number: int, shard: Shard, settings: Settings) -> dict[str, Any]:
    """Step 2: write `counts-N/` and `spool-N`; return the messages about the shard."""
    about = scratch / f"scan-{number:06d}.json"
    if about.exists():
        return dict(json.loads(about.read_text("utf-8")))
    for source in shard.sources:
        source.check()
    with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder:
        files = () if shard.pieces else shard.sources
        with paths_of(*files) as paths, atomic_file(scratch / f"spool-{number:06d}") as path:
            names = paths if shard.pieces is None else [Path(shard.sources[0].name)]
            corpus = _ShardCorpus(shard, settings, names)
            counter = WordCounter(
                settings.tokenizer, max_distinct=NO_LIMIT, folder=Path(folder), n_languages=len(settings.text.languages)
            )
            spool = Spool(path)
            spool.fill(corpus, [counter], threads=1, progress=SILENT)
        by_name = dict(zip(map(str, names), (source.name for source in shard.sources), strict=True))
        save_arrays(scratch / f"counts-{number:06d}", CountedWords.of(counter).arrays())
        layouts = {by_name.get(name, name): layout for name, layout in corpus.layouts.items()}
        encodings = {by_name.get(name, name): encoding for name, encoding in corpus.decoding.found.items()}
    tallies = {**asdict(spool.tallies), "layouts": layouts}
    content = {"n_blocks": spool.n_blocks, "tallies": tallies, "encodings": encodings}
    with atomic_file(about) as file:
        file.write_text(json.dumps(content), "utf-8")
    return content


def count(scratch: Path, n_shards: int, part: int, n_parts: int, min_count: int) -> tuple[dict[str, NDArray[Any]], int]:
    """Step 3, for one range of hashes: its frequent words, the most frequent one, and the number of distinct words."""
    parts = [CountedWords.load(scratch / f"counts-{i:06d}").between(part, n_parts) for i in range(n_shards)]
    words = CountedWords.sum_of(parts)
    chosen = words.counts >= min_count
    if len(chosen):
        chosen[words.counts.argmax()] = True
    return words.some(np.flatnonzero(chosen)).arrays(), words.n_words


def translate(scratch: Path, number: int, n_blocks: int) -> dict[str, int]:
    """Step 4: write `part-N/` with the arrays of a part of the stream."""
    target, about = scratch / f"part-{number:06d}", scratch / f"part-{number:06d}.json"
    if not about.exists():
        hashes, order = (load_array(scratch / f"counts-{number:06d}", name) for name in ("hashes", "order"))
        remap = np.empty(len(hashes), np.int32)
        remap[order] = _ids_of(hashes, *(load_array(scratch / TABLE, name) for name in ("hashes", "ids")))
        new = Path(tempfile.mkdtemp(dir=scratch, prefix=".part-"))
        writer = StreamWriter(new, is_part=True)
        for ids, ends in Spool(scratch / f"spool-{number:06d}", n_blocks).blocks([[remap]]):
            writer.write(ids, ends)
        counts = writer.finish_part()
        if target.exists():  # left by a process that was lost at this point
            shutil.rmtree(target)
        new.rename(target)
        with atomic_file(about) as file:
            file.write_text(json.dumps(counts), "utf-8")
    return dict(json.loads(about.read_text("utf-8")))


def _ids_of(hashes: NDArray[np.uint64], known: NDArray[np.uint64], ids: Ids) -> Ids:
    """The id of each hash, -1 if unknown; the known hashes are sorted."""
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[places] == hashes, ids[places], np.int32(-1)).astype(np.int32)


# On the driver


def _scan(
    session: Session, shards: Sequence[Shard], settings: Settings, scratch: Path, progress: Progress
) -> list[dict[str, Any]]:
    results: dict[int, dict[str, Any]] = {}
    for number, result in session.each(scan, [(scratch, i, shard, settings) for i, shard in enumerate(shards)]):
        results[number] = result
        progress.advance(shards[number].size, f"{len(results)} of {len(shards)} shards on {session.workers} workers")
    return [results[i] for i in range(len(shards))]


def _count(session: Session, shards: Sequence[Shard], settings: Settings, scratch: Path) -> Merged:
    """The vocabulary; writes `table/`: hash of a word -> id."""
    n_counted = sum((scratch / f"counts-{i:06d}" / "hashes.npy").stat().st_size // 8 for i in range(len(shards)))
    n_parts = max(min(session.workers, 64), -(-n_counted // COUNTED))
    least = 1 if settings.vocabulary else settings.min_count or 1  # None: the size of the text decides, at the end
    parts = in_order(session, count, [(scratch, len(shards), i, n_parts, least) for i in range(n_parts)])
    words = CountedWords.sum_of([CountedWords(**arrays) for arrays, _ in parts])
    merged = merge(
        [words],
        min_count=settings.min_count,
        max_words=settings.max_words,
        vocabulary=settings.vocabulary,
        languages=settings.text.languages,
    )
    save_arrays(scratch / TABLE, {"hashes": words.hashes(), "ids": np.asarray(merged.remaps[0][0], np.int32)})
    return replace(merged, n_distinct=sum(n for _, n in parts))


def _messages(scans: Sequence[Mapping[str, Any]], settings: Settings, sources: Sequence[Source]) -> list[str]:
    """The messages that a single process would give."""
    tallies, encodings = Tallies(settings.text.languages), dict[str, str]()
    layouts: dict[str, str] = {}
    for each in scans:
        layouts |= each["tallies"]["layouts"]
        encodings |= each["encodings"]
        tallies.add(Tallies(**{**each["tallies"], "languages": (), "layouts": {}}))
    tallies.layouts = {source.name: layouts[source.name] for source in sources if source.name in layouts}
    return [*Decoding(found=encodings).remarks(), *tallies.messages()]
