"""Text in, stream out: reads each text once, counts words, and writes ids to disk.

    1. spool       blocks of text -> provisional ids, several blocks at a time
    2. vocabulary  which words are frequent enough, and their final ids
    3. write       provisional ids -> final ids; sentences without a known word are dropped and counted

Memory does not depend on the size of the corpus, only on the number of distinct words, which is bounded.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.disk import UNWRITABLE, as_path, check_replaceable, written_by
from siamese_cbow.base.files import atomic_folder, one_writer
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import InputError, counted
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.stream.stream import ABOUT, ARRAYS, FORMAT_VERSION, VOCABULARY, Stream, fingerprint_seed, read_about
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.stream.counting import Merged
    from siamese_cbow.stream.writer import StreamWriter
    from siamese_cbow.text.languages import Detected

WORDS_ONLY = Tokenizer(punctuation=False)  # punctuation carries no topic, and costs time and quality
OURS = (ABOUT, VOCABULARY, *(f"{name}.npy" for name in ARRAYS))  # all files of a stream's folder


def prepare(
    inputs: Any,
    *,
    output: Path | str | None = None,
    min_count: int | None = None,
    max_words: int | None = None,
    vocabulary: Vocabulary | Path | str | None = None,
    tokenizer: Tokenizer | None = None,
    text: TextSettings | None = None,
    max_distinct: int = 16_000_000,
    restart: bool | Literal["changed"] = False,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> Stream:
    """Turns text into a stream.

    inputs        files, folders, globs, "-" for standard input, any iterable of texts, or a `Corpus`
    output        the folder to write; without it, the stream is temporary
    min_count     drop words that occur less often; None: 1, 2 or 5, depending on the size of the text
    max_words     keep only this many of the most frequent words
    vocabulary    take this vocabulary, or the one in this file of `count word` lines
    tokenizer     how text is split into words; by default in lower case and without punctuation
    text          how the text is read; with languages in it, min_count and max_words apply to each language
    max_distinct  distinct words to hold in memory while counting; beyond that, the rarest are dropped
    restart       replace the stream that `output` holds, or only one of other text or settings ("changed"); without it,
                  that is left alone, with an error
    threads       by default all cores; the result does not depend on it
    progress      True shows a bar, in a terminal or a notebook
    """
    corpus = inputs if isinstance(inputs, Corpus) else Corpus(inputs, text)
    checked_value("tokenizer", tokenizer, Tokenizer, optional=True)
    tokenizer, language = tokenizer or WORDS_ONLY, corpus.language.language  # from now on, the settings have it too
    if not corpus.settings.languages:  # several languages are all tokenised alike
        tokenizer = tokenizer.of_language(language.code)
    given = vocabulary if vocabulary is None or isinstance(vocabulary, Vocabulary) else Vocabulary.read(vocabulary)
    settings = Settings(min_count, max_words, max_distinct, tokenizer, corpus.settings, given)
    with shown(progress, "preparing", corpus.total_bytes, unit="B") as reporter:
        if output is None:
            with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as folder:
                # The arrays stay readable after their folder is deleted: a mapped file lives until it is unmapped.
                return _prepare_into(Path(folder) / "stream", corpus, settings, thread_count(threads), reporter)
        target = as_path(output, "output", home=False)
        return _prepare_or_reuse(target, corpus, settings, restart, thread_count(threads), reporter)


@dataclass(frozen=True)
class Settings:
    """Everything that determines how a text becomes a stream."""

    min_count: int | None
    max_words: int | None
    max_distinct: int
    tokenizer: Tokenizer
    text: TextSettings
    vocabulary: Vocabulary | None

    def __post_init__(self) -> None:
        for name in ("min_count", "max_words", "max_distinct"):
            value = checked_value(name, getattr(self, name), int, optional=name != "max_distinct", at_least=1)
            object.__setattr__(self, name, value)  # a number of NumPy as Python's, which the file can hold
        prefixes = tuple(f"{language}:" for language in self.text.languages)
        for word in self.vocabulary.words if self.vocabulary and prefixes else ():
            if not word.startswith(prefixes):
                expected = f"expected words that start with {' or '.join(prefixes)}"
                raise InputError(f"the word {word!r} of the given vocabulary has no language; {expected}")

    def plain(self) -> dict[str, Any]:
        """As plain values, for `stream.json`; a given vocabulary is identified by its hash."""
        return {
            "min_count": self.min_count,
            "max_words": self.max_words,
            "max_distinct": self.max_distinct,
            "tokenizer": self.tokenizer.settings(),
            "text": self.text.for_training(),
            "vocabulary": self.vocabulary and self.vocabulary.hash(),
        }

    def seed(self) -> str:
        """The settings that make streams with the same arrays and words differ."""
        return fingerprint_seed(self.tokenizer, self.text.kind, self.text.languages)


def sources_of(corpus: Corpus) -> list[dict[str, Any]]:
    """Size and time of each file, which show whether it has changed; empty if not all inputs are files."""
    stats = [(path, path.stat()) for path in corpus.files]
    return [{"path": str(path), "size": stat.st_size, "modified_ns": stat.st_mtime_ns} for path, stat in stats]


def _prepare_or_reuse(
    folder: Path,
    corpus: Corpus,
    settings: Settings,
    restart: bool | Literal["changed"],
    threads: int,
    progress: Progress,
) -> Stream:
    """The stream in `folder` if it has exactly this text and these settings; otherwise a new one, if allowed."""
    changes = _changes(folder, sources_of(corpus), settings, restart)
    if changes == [] and not corpus.files:  # only a new stream shows whether the text is the same
        with tempfile.TemporaryDirectory(prefix="siamese-cbow-") as elsewhere:
            stream = _prepare_into(Path(elsewhere) / "stream", corpus, settings, threads, progress)
        changes = [] if stream.fingerprint == read_about(folder)["fingerprint"] else ["the text"]
    if changes == []:
        return _unchanged(folder, progress)
    _check_restart(folder, changes, restart)
    with one_writer(folder):
        return _prepare_into(folder, corpus, settings, threads, progress)


def check_changes(
    folder: Path, sources: list[dict[str, Any]], settings: Settings, restart: bool, progress: Progress
) -> Stream | None:
    """The stream in `folder` if it has exactly these files and settings; None if one may be written."""
    changes = _changes(folder, sources, settings, restart)
    if changes == []:
        return _unchanged(folder, progress)
    _check_restart(folder, changes, restart)
    return None


def _unchanged(folder: Path, progress: Progress) -> Stream:
    progress.say(f"{folder} is up to date: the text and the settings have not changed")
    return Stream.load(folder)


def _check_restart(folder: Path, changes: list[str] | None, restart: bool | Literal["changed"]) -> None:
    if changes and not restart:
        raise InputError(
            f"{folder} holds a stream of other text or settings ({', '.join(changes)}); choose another "
            "output, or add --restart to replace it"
        )


def _changes(
    folder: Path, sources: list[dict[str, Any]], settings: Settings, restart: bool | Literal["changed"]
) -> list[str] | None:
    """How the stream in `folder` differs from the request; None if there is none or if it may be replaced anyway."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / ABOUT).is_file():
        raise InputError(f"{folder} exists and is not a stream; choose another output or remove it")
    if restart:
        check_replaceable(folder, OURS, "a stream")  # before any work
    if restart is True or (restart and not sources):
        return None
    about, plain = read_about(folder), settings.plain()
    changes = [name for name, value in plain.items() if about["settings"].get(name) != value]
    if sources and about.get("sources") != sources:
        changes.insert(0, "the text")
    return changes


def _prepare_into(folder: Path, corpus: Corpus, settings: Settings, threads: int, progress: Progress) -> Stream:
    # These load numba, which a stream that is up to date never needs.
    from siamese_cbow.stream.counting import merge, word_counters
    from siamese_cbow.stream.spool import Spool
    from siamese_cbow.stream.writer import StreamWriter

    sources, languages = sources_of(corpus), settings.text.languages
    with atomic_folder(folder, ours=OURS, what="a stream") as new:
        scratch = new / "scratch"
        scratch.mkdir()
        counters = word_counters(
            settings.tokenizer, n_languages=len(languages), max_distinct=settings.max_distinct, folder=scratch
        )
        spool = Spool(scratch / "spool")
        spool.fill(corpus, counters, threads=threads, progress=progress)
        merged = merge(
            counters,
            min_count=settings.min_count,
            max_words=settings.max_words,
            vocabulary=settings.vocabulary,
            languages=languages,
        )
        writer = StreamWriter(new)
        with ThreadPoolExecutor(1) as pool:  # while a block is written, the next is read
            writing: Future[None] | None = None
            for ids, ends in spool.blocks(merged.remaps):
                if writing:
                    writing.result()
                writing = pool.submit(writer.write, ids, ends)
            if writing:
                writing.result()
        shutil.rmtree(scratch)
        n_forgotten = sum(counter.n_forgotten for counter in counters)
        messages = [*corpus.remarks, *spool.tallies.messages()]
        finish(new, settings, sources, writer, merged, corpus.language, n_forgotten=n_forgotten, messages=messages)
    return opened(folder, merged.vocabulary, progress)


def finish(
    new: Path,
    settings: Settings,
    sources: list[dict[str, Any]],
    writer: StreamWriter,
    merged: Merged,
    language: Detected,
    *,
    n_forgotten: int,
    messages: list[str],
) -> None:
    """Writes everything in a stream's folder except its arrays."""
    merged.vocabulary.write(new / VOCABULARY)
    about = {
        "format_version": FORMAT_VERSION,
        "written_by": written_by(),
        "settings": settings.plain(),
        "sources": sources,
        **writer.finish(merged.vocabulary, seed=settings.seed()),
        "language": None if settings.text.languages or language.doubt else language.language.code,
        "n_distinct": merged.n_distinct,
        "min_count": merged.min_count,
        "n_forgotten": n_forgotten,
        "messages": [*filter(None, [language.message()]), *messages],
    }
    (new / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False), "utf-8", UNWRITABLE)


def opened(folder: Path, vocabulary: Vocabulary, progress: Progress) -> Stream:
    """The stream that was just written; describes it to the user."""
    stream = Stream.load(folder, vocabulary=vocabulary)
    _say_what_happened(stream, progress)
    return stream


def _say_what_happened(stream: Stream, progress: Progress) -> None:
    about = stream.about
    for message in about["messages"]:
        progress.say(message)
    distinct = counted(about["n_distinct"], "distinct word")
    progress.say(f"{stream.extent}; vocabulary: {len(stream.vocabulary):,} of {distinct}")
    for language in stream.vocabulary.languages:
        progress.say(f"{language}: {counted(len(stream.vocabulary.of_language(language)[1]), 'word')}")
    if about["settings"]["min_count"] is None:
        progress.say(f"min_count: {about['min_count']}, chosen by the size of the text (--min-count)")
    unknown = about["n_unknown_tokens"]
    if unknown:
        share = unknown / (unknown + stream.n_tokens)
        progress.say(f"dropped {counted(unknown, 'out-of-vocabulary token')} ({share:.1%})")
    if about["n_dropped_sentences"]:
        progress.say(f"dropped {counted(about['n_dropped_sentences'], 'sentence')} without a known word")
    if about["n_forgotten"]:
        progress.say(
            f"more than {about['settings']['max_distinct']:,} distinct words: {about['n_forgotten']:,} rare "
            "ones were dropped while counting, so counts of rare words are lower bounds (raise "
            "--max-distinct to avoid this)"
        )
