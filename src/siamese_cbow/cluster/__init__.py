"""Beyond one machine: preparation, training and encoding on a Ray cluster.

    with RayCluster("local", workers=2) as cluster:
        cluster.prepare("books/", output="data/books")
        cluster.train(SiameseCBOW(dim=300), "data/books", output="models/books")
        cluster.encode("tickets.parquet", model="models/books", output="vectors")

In the order of the flow:

    node              what runs on a node: errors with its name, arrays that nodes exchange
    session           connects, checks the nodes, runs work that survives losing some of them
    sources           files in shared folders and object stores (s3, gs, hdfs, ...)
    shards            how text is split: file layouts, language, split points; counts to exchange
    parallel_prepare  text -> stream, shard by shard
    averaging         how workers merge their rows
    training_job      what a training will do and cost
    training_worker   a process that trains on its part of the text
    rounds            coordinates training, round after round
    parallel_encode   records -> vectors, part by part; evaluation, model by model

The rooms to the left know nothing about Ray, which is imported only when a job starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.stream.preparation import WORDS_ONLY, Settings, prepare
from siamese_cbow.text.records import TextSettings, text_settings
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.cluster.session import Session
    from siamese_cbow.evaluation.pair_sets import PairSet
    from siamese_cbow.evaluation.scores import Scores
    from siamese_cbow.model.model import Model
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.training.recipe import Recipe, Saving
    from siamese_cbow.words.tokenizer import Tokenizer

DEFAULTS: Mapping[str, Any] = prepare.__kwdefaults__ or {}


class RayCluster:
    """Jobs on a Ray cluster. Each connects by itself; in a `with` block they share one connection.

    address  "local": the cores of this machine; "auto": the cluster this machine belongs to; or the host:port of a head
    workers  number of worker processes, by default one per core; for training, one per node
    """

    def __init__(self, address: str = "local", workers: int | None = None) -> None:
        self.address, self.workers = address, workers
        self._session: Session | None = None

    def __enter__(self) -> Self:
        self._session = self._new().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.__exit__(*error)

    def _new(self) -> Session:
        from siamese_cbow.cluster.session import Session

        return Session(self.address, self.workers)

    @contextmanager
    def _connected(self) -> Iterator[Session]:
        if self._session is not None:
            yield self._session
        else:
            with self._new() as session:
                yield session

    def prepare(
        self,
        inputs: Any,
        *,
        output: Path | str,
        min_count: int | None = DEFAULTS["min_count"],
        max_words: int | None = None,
        vocabulary: Vocabulary | Path | str | None = None,
        tokenizer: Tokenizer | None = None,
        text: TextSettings | None = None,
        max_distinct: int = DEFAULTS["max_distinct"],
        restart: bool = False,
        progress: Progress | bool = SILENT,
    ) -> Stream:
        """As `prepare`: turns files, folders, globs and URLs into a stream, byte-identical to that of `prepare`."""
        from siamese_cbow.cluster.parallel_prepare import prepare as prepare_on
        from siamese_cbow.cluster.sources import sources_of

        given = Vocabulary.read(vocabulary) if isinstance(vocabulary, Path | str) else vocabulary
        text = text_settings(text)
        settings = Settings(min_count, max_words, max_distinct, tokenizer or WORDS_ONLY, text, given)
        sources = sources_of(inputs, text)
        with (
            shown(progress, "preparing", sources.n_bytes, unit="B") as reporter,
            self._connected() as session,
        ):
            return prepare_on(session, sources, settings, Path(output), restart=restart, progress=reporter)

    def train(
        self,
        recipe: Recipe,
        streams: Path | str | Sequence[Path | str],
        *,
        output: Path | str,
        passes: Sequence[float] = (),
        average_every: int | None = None,
        saving: Saving | None = None,
        restart: bool = False,
        progress: Progress | bool = SILENT,
    ) -> Model:
        """Trains on streams on disk into a folder; resumes an unfinished run.

        average_every  batches of a worker between two averaging steps; by default 262,144 sentences divided by the
                       workers, or fewer. Shorter rounds come closer to a single worker and send more
        """
        from siamese_cbow.cluster.rounds import train

        with shown(progress, "training", None, unit="words") as reporter, self._connected() as session:
            return train(
                session, recipe, _listed(streams), output, passes=passes, average_every=average_every, saving=saving,
                restart=restart, progress=reporter,
            )  # fmt: skip

    def plan(
        self,
        recipe: Recipe,
        streams: Path | str | Sequence[Path | str],
        *,
        passes: Sequence[float] = (),
        average_every: int | None = None,
    ) -> str:
        """What `train` would do: parts, memory per worker, bytes per averaging step, an estimate of the time."""
        from siamese_cbow.cluster.training_job import description, training_job

        with self._connected() as session:
            job, mix = training_job(session, recipe, _listed(streams), "", passes, average_every)
            return description(session, job, mix)

    def encode(
        self,
        inputs: Any,
        *,
        output: Path | str,
        model: Path | str | None = None,
        text: TextSettings | None = None,
        normalize: bool = False,
        truncate_dim: int | None = None,
        language: str | None = None,
        fallback: str | None = None,
        vector_column: str = "vector",
        progress: Progress | bool = SILENT,
    ) -> int:
        """Encodes files and URLs into a folder of Parquet files with all columns; returns the number of rows."""
        from siamese_cbow.cluster.parallel_encode import EncodeSettings, encode
        from siamese_cbow.cluster.sources import sources_of

        text = text_settings(text)
        name = None if model is None else _for_nodes(model)
        settings = EncodeSettings(name, text, normalize, truncate_dim, language, fallback, vector_column)
        sources = sources_of(inputs, text)
        with shown(progress, "encoding", None, unit="rows") as reporter, self._connected() as session:
            return encode(session, sources, settings, Path(output), reporter)

    def evaluate(
        self, models: Sequence[str], sets: Sequence[PairSet], *, names: Sequence[str] = (), seed: int = 1, **how: Any
    ) -> list[Scores]:
        """The scores of models on sets such as those of `sc.sts`; `how` holds options of `sc.evaluate`."""
        from siamese_cbow.cluster.parallel_encode import evaluate_each

        pairs = list(zip(map(_for_nodes, models), names or models, strict=True))
        with self._connected() as session:
            return evaluate_each(session, pairs, sets, seed, how)


def _for_nodes(model: Path | str) -> str:
    """The name of a model in any working directory: "models/books" -> "/home/me/models/books"; "pretrained" stays."""
    return str(Path(model).absolute() if Path(model).exists() else model)


def _listed(streams: Path | str | Sequence[Path | str]) -> list[Path | str]:
    return [streams] if isinstance(streams, Path | str) else list(streams)
