"""Every reader of the package as a function of bytes, with honest files to begin with: what fuzzing needs.

    reader = READERS["index"](folder)      makes its files in `folder`
    for seed in reader.seeds: ...          honest inputs
    reader(data)                           reads any bytes; what is not an error of ours is a bug

Where a reader wants a folder of several files, the first byte of the data says which of them the rest replaces. Behind
a compression it says whether the rest is compressed first, so that mutants get past the header.
"""

from __future__ import annotations

import atexit
import bz2
import gzip
import io
import itertools
import json
import lzma
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import siamese_cbow as sc
from siamese_cbow.errors import SiameseCBOWError
from siamese_cbow.model.model import Model
from siamese_cbow.words.vocabulary import Vocabulary

TEXT = (
    b"The cat sat on the mat.\nA dog ran, didn't it?\n\nSeven caf\xc3\xa9s \xe6\x97\xa5\xe6\x9c\xac 3.14\r\nlast line"
)
CSV = b'id,text,label\n1,"a ""cat"" sat\non a mat",x\n2,a dog,y\n3,,x\n'
JSONL = b'{"text": "a cat", "label": 1}\n{"text": ["a", "dog"], "label": null}\n\n{"other": 2}\n'
HTML = (
    b"<!doctype html><html><head><meta charset=utf-8><title>no</title><style>p {}</style></head><body>"
    b"<h1>A &amp; B</h1><p>The cat<br>sat<p hidden>gone<ul><li>one<li>two &#x65e5;</ul><pre>code</pre>"
    b"<table><tr><td>a<td>b</table>"
    b"<script>if (a < b) {}</script><!-- no --><svg><text>no</text></svg></body></html>"
)
MARKDOWN = (
    b"---\ntitle: no\n---\n# A title\n\nThe [cat](https://a.example 'x') *sat* on `the` <b>mat</b>.\nSecond line  \n"
    b"third\n\n- one\n  > two\n\n1. three ![four](a.png)\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\ncode\n```\n\n"
    b"<div>five &amp; six</div>\n\n<https://a.example>\n\n[ref]: https://b.example\n"
)
WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "caf\u00e9", "\u65e5", "don't"]


class Reader:
    """Bytes in; success, or one of our own errors."""

    def __init__(self, read: Callable[[bytes], object], seeds: Sequence[bytes], modules: Sequence[str]) -> None:
        self.read, self.seeds, self.modules = read, list(seeds), tuple(modules)

    def __call__(self, data: bytes) -> bool:
        """Whether the data could be read."""
        try:
            self.read(data)
        except SiameseCBOWError as error:
            if not str(error).strip():
                raise AssertionError("an error without a word") from error
            return False
        return True


def exhausted(items: Iterator[Any]) -> int:
    """How many there are, at most a few thousand."""
    return sum(1 for _ in itertools.islice(items, 5000))


def file_reader(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Puts the data into a file."""

    def call(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return call


def folder_reader(folder: Path, read: Callable[[Path], object]) -> tuple[Callable[[bytes], object], list[bytes]]:
    """Replaces one file of a folder by the data; the first byte says which. And the folder as it is, as seeds."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    honest = {path: path.read_bytes() for path in files}
    damaged: list[Path] = []

    def call(data: bytes) -> object:
        path = files[data[0] % len(files)] if data else files[0]
        for other in damaged:
            if other != path:
                other.write_bytes(honest[other])
        damaged[:] = [path]
        path.write_bytes(data[1:])
        return read(folder)

    return call, [bytes([number]) + honest[path] for number, path in enumerate(files) if len(honest[path]) < 20_000]


# text


def both_views(path: Path) -> tuple[int, int]:
    """Reads a file as training does and as a search does: the counts of sentences and rows."""
    from siamese_cbow.text.corpus import Corpus
    from siamese_cbow.text.row_reader import RowReader

    corpus = Corpus(path)
    n = sum(corpus.lines(block).text.count(b"\n") for block in corpus.blocks())
    rows = RowReader(path, sc.TextSettings(unit="auto"))
    return n, sum(len(rows.rows(block)) for block in rows.blocks())


def _lines(folder: Path, ending: str, seeds: Sequence[bytes], pack: Callable[[bytes], bytes] | None) -> Reader:
    path = folder / f"a.txt{ending}"

    def read(data: bytes) -> object:
        if pack is None:
            path.write_bytes(data)
        else:  # a whole archive, a whole one with a mutant behind it, or a mutant
            kind = data[:1]
            path.write_bytes(data[1:] if kind == b"r" else pack(data[1:]) + (data[1:9] if kind == b"t" else b""))
        return both_views(path)

    packed = [b"r" + pack(seed) for seed in seeds] + [b"p" + seed for seed in seeds] if pack else list(seeds)
    return Reader(read, packed, ["text.opening", "text.encodings", "text.chunks", "text.row_reader", "text.corpus"])


def _document(ending: str, *seeds: bytes) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        return Reader(file_reader(folder / f"a{ending}", both_views), seeds, ["text.documents"])

    return make


def _pdf(folder: Path) -> Reader:
    from document_files import pdf

    lines = ["The cat sat on the mat and", "looked at the dog.", "A dog ran."]
    return _document(".pdf", pdf([lines, []]), pdf([["one"], ["two", "three"]]))(folder)


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def _table(folder: Path, ending: str, seeds: Sequence[bytes], module: str = "text.table_files") -> Reader:
    from siamese_cbow.text.reader import read_columns

    path = folder / f"a{ending}"
    read = file_reader(path, lambda path: exhausted(read_columns(path, ["text"], ["label"])))
    return Reader(read, seeds, [module, "text.reader"])


def parquet_bytes(table: Any, **options: Any) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _parquet(folder: Path) -> Reader:
    import pyarrow as pa

    texts = ["a cat", None, "a b " * 50, "a cat"]
    seeds = [
        parquet_bytes(pa.table({"text": pa.array(column), "label": pa.array([1, 2, None, 4])}), **options)
        for column in (texts, pa.array(texts).dictionary_encode(), [["a", "b"], None, [], ["c", None]])
        for options in ({}, {"compression": "none", "use_dictionary": False}, {"compression": "zstd"})
    ]
    return _table(folder, ".parquet", seeds, "text.parquet_files")


def _groups(folder: Path) -> Reader:
    from siamese_cbow.text.corpus import Corpus

    ppdb = b"[X] ||| good ||| nice ||| f=1 ||| x\n[Y] ||| a dog ||| the dogs ||| y\n"
    tsv = b"a cat\tthe cat\na dog\n\tb\tc\n"

    def read(data: bytes) -> object:
        path = folder / ("a.ppdb" if data[:1] == b"p" else "a.tsv")
        path.write_bytes(data[1:])
        corpus = Corpus(path, sc.TextSettings(kind="groups"))
        return sum(corpus.lines(block).text.count(b"\n") for block in corpus.blocks())

    return Reader(read, [b"p" + ppdb, b"t" + tsv], ["text.groups"])


# words and models


def small_model(dim: int = 4) -> Model:
    """Ten words."""
    rows = np.random.default_rng(1).standard_normal((len(WORDS), dim)).astype(np.float32)
    return Model(Vocabulary(WORDS, np.arange(len(WORDS), 0, -1)), rows, info={"data": "a text"})


def _tokenizer(folder: Path) -> Reader:
    from siamese_cbow.words.json_tokenizer import JsonTokenizer, known_tokenizer

    subwords = {
        "version": "1.0",
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "un": 1, "##able": 2}},
    }  # fmt: skip

    def read(data: bytes) -> object:
        text = data.decode("utf-8", "replace")
        tokenizer = known_tokenizer(text) or JsonTokenizer(json=text)
        return tokenizer.words("an unable cat")

    seeds = [sc.Tokenizer().to_json(WORDS).encode(), json.dumps(subwords).encode()]
    return Reader(read, seeds, ["words.json_tokenizer", "words.tokenizer"])


def _vocabulary(folder: Path) -> Reader:
    def read(path: Path) -> object:
        vocabulary = Vocabulary.read(path)
        assert len(vocabulary.words) == len(vocabulary.counts) == len(vocabulary.index)
        return vocabulary.id_of("cat")

    text = Vocabulary(WORDS, np.arange(len(WORDS), 0, -1)).to_text().encode()
    return Reader(file_reader(folder / "vocabulary.txt", read), [text], ["words.vocabulary"])


def _used(model: Any) -> None:
    vectors = model.encode(["the cat sat", "", "zzz"])
    assert np.isfinite(vectors).all() or not np.isfinite(np.asarray(model.vectors)).all()
    assert len(model.vocabulary) < 1000


def _own_folder(folder: Path) -> Reader:
    place = folder / "model"
    small_model().postprocess(components=1, center=True).save(place)
    read, seeds = folder_reader(place, lambda path: _used(sc.load(path)))
    return Reader(read, seeds, ["model.storage", "model.tensor_file", "model.info", "model.packed_rows"])


def _converted(name: str, modules: Sequence[str]) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        from siamese_cbow.formats.convert import write_model
        from siamese_cbow.formats.resolver import open_model

        path = folder / name
        write_model(small_model(), path)
        return Reader(file_reader(path, lambda path: _used(open_model(path))), [path.read_bytes()], modules)

    return make


def _static_folder(folder: Path) -> Reader:
    from safetensors.numpy import save_file

    from siamese_cbow.formats.static_folder import read_static_folder

    place = folder / "static"
    place.mkdir()
    words = ["[UNK]", *WORDS]
    vocabulary = {word: i for i, word in enumerate(words)}
    model = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocabulary}
    tokenizer = {"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (place / "tokenizer.json").write_text(json.dumps(tokenizer))
    (place / "config.json").write_text('{"normalize": true, "max_length": 512}')
    (place / "modules.json").write_text('[{"type": "sentence_transformers.models.StaticEmbedding", "path": ""}]')
    table = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    mapping = np.arange(len(words)) % 4
    save_file({"embeddings": table, "mapping": mapping, "weights": np.ones(len(words), np.float32)},
              place / "model.safetensors")  # fmt: skip
    read, seeds = folder_reader(place, lambda path: _used(read_static_folder(path)))
    return Reader(read, seeds, ["formats.static_folder", "words.json_tokenizer"])


def _pickles(folder: Path) -> Reader:
    from siamese_cbow.formats.safe_pickle import load_pickle

    values = [{"dim": 3, "x": [1.5, None, True]}, np.arange(6.0).reshape(2, 3), {"w": (1, {2, 3}, b"x")}]
    seeds = [pickle.dumps(value, protocol) for value in values for protocol in (0, 2, 3, 4, 5)]
    return Reader(load_pickle, seeds, ["formats.safe_pickle", "formats.pickle_machine"])


def _module_of(kind: type) -> ModuleType:
    module = ModuleType(kind.__module__)
    setattr(module, kind.__name__, kind)
    return module


def _original(folder: Path) -> Reader:
    from siamese_cbow.formats.pickled import is_keyed_vectors, read_keyed_vectors, read_original

    # Stand-ins under the names that the files have; only their names and fields are written.
    vocabulary = type("vocabulary", (), {"__module__": "vocabUtils"})
    keyed = type("KeyedVectors", (), {"__module__": "gensim.models.keyedvectors"})
    weights = np.random.default_rng(1).standard_normal((3, 2)).astype(np.float32)
    names, vectors = vocabulary(), keyed()
    vars(names).update(dVocab={"the": 1, "cat": 2})
    vars(vectors).update(index_to_key=["a", "b", "c"], vectors=weights, expandos={"count": np.array([3, 2, 1])})
    parents = {name: ModuleType(name) for name in ("gensim", "gensim.models")}
    with patch.dict(sys.modules, {**parents, **{kind.__module__: _module_of(kind) for kind in (vocabulary, keyed)}}):
        original = {"oArgs": None, "npaWordEmbeddings": weights, "oVocab": names}
        seeds = [pickle.dumps(value, protocol) for value in (original, vectors) for protocol in (0, 2, 4)]

    def read(path: Path) -> None:
        _used((read_keyed_vectors if is_keyed_vectors(path) else read_original)(path))

    return Reader(file_reader(folder / "a.pickle", read), seeds, ["formats.pickled"])


def _npy(folder: Path) -> Reader:
    from siamese_cbow.formats.safe_pickle import load_npy

    def npy(array: Any) -> bytes:
        sink = io.BytesIO()
        np.save(sink, array, allow_pickle=True)
        return sink.getvalue()

    objects = np.empty(2, object)
    objects[:] = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    seeds = [npy(np.ones((3, 2), np.float32)), npy(objects), npy(np.array({"a": np.ones(2)}, object))]
    read = file_reader(folder / "a.npy", lambda path: np.asarray(load_npy(path)).size)
    return Reader(read, seeds, ["formats.safe_pickle"])


def _skip_thought(folder: Path) -> Reader:
    from siamese_cbow.baselines.skip_thought.published import read_published

    random = np.random.default_rng(1)
    words, dim = ["<eos>", "UNK", "the", "cat"], 2
    shapes = {"W": (3, 4), "b": (4,), "U": (2, 4), "Wx": (3, 2), "Ux": (2, 2), "bx": (2,)}
    place = folder / "published"
    place.mkdir()
    arrays = {f"encoder_{name}": random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    np.savez(place / "uni_skip.npz", **arrays)
    np.save(place / "utable.npy", random.normal(size=(len(words), 3)).astype(np.float32))
    (place / "dictionary.txt").write_text("".join(f"{word}\n" for word in words))
    (place / "uni_skip.npz.pkl").write_bytes(pickle.dumps({"dim": dim, "dim_word": 3, "encoder": "gru"}, 2))
    archive = place / "uni_skip.npz"
    whole, honest = folder_reader(place, lambda path: read_published(path, kind="uni"))

    def read(data: bytes) -> object:
        if data[:1] != b"z":
            return whole(data)
        sink = io.BytesIO()  # a whole archive with one damaged array
        with zipfile.ZipFile(sink, "w") as file:
            for number, name in enumerate(arrays):
                npy = io.BytesIO()
                np.save(npy, arrays[name])
                file.writestr(f"{name}.npy", data[2:] if data[1:2] == bytes([number]) else npy.getvalue())
        return whole(bytes([sorted(place.iterdir()).index(archive)]) + sink.getvalue())

    npy = io.BytesIO()
    np.save(npy, arrays["encoder_Ux"])
    return Reader(read, [*honest, b"z\x04" + npy.getvalue()], ["baselines.skip_thought.published"])


# what we write


def _stream(folder: Path) -> Reader:
    place = folder / "stream"
    sc.prepare([["a cat sat", "the cat ran", "a dog sat"]] * 3, output=place, min_count=1)

    def use(path: Path) -> None:
        stream = sc.Stream.load(path)
        assert len(stream.ids) == 0 or stream.ids.max() < len(stream.vocabulary)

    read, seeds = folder_reader(place, use)
    return Reader(read, seeds, ["stream.stream", "base.arrays"])


def _index(folder: Path) -> Reader:
    from siamese_cbow.retrieval import manifest, segment

    model = small_model()
    text = folder / "notes.txt"
    text.write_text("the cat sat\na dog\n\nthe mat\n")
    place = folder / "index"
    sc.Index.update(place, text, model=model)
    whole, seeds = folder_reader(place, lambda path: sc.Index(path, model=model).search("cat", k=2))
    honest = json.loads((place / manifest.NAME).read_text("utf-8"))
    (name,) = honest["segments"]
    files = list(segment.FILES)
    copies = {path: path.read_bytes() for path in (place / name).iterdir()}

    def read(data: bytes) -> object:
        if data[:1] != b"h":
            return whole(data)
        whole(bytes([sorted(p for p in place.rglob("*") if p.is_file()).index(place / manifest.NAME)]) + index_text)
        path = place / name / files[(data[1:2] or b"\0")[0] % len(files)]  # damaged, and described as it is
        path.write_bytes(data[2:])
        try:
            described = {**honest, "segments": {name: segment.description(place / name)}}
            (place / manifest.NAME).write_text(json.dumps(described))
            return sc.Index(place, model=model).search("cat", k=2, before=1)
        finally:
            path.write_bytes(copies[path])

    index_text = (place / manifest.NAME).read_bytes()
    seeds += [b"h" + bytes([i]) + copies[place / name / file] for i, file in enumerate(files)]
    return Reader(read, seeds, ["retrieval.manifest", "retrieval.segment", "retrieval.index"])


def _checkpoint(folder: Path) -> Reader:
    from siamese_cbow.base.disk import file_hash
    from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints, read_log

    place = folder / "training"
    Checkpoints(place).save(Checkpoint(3, {"vectors": np.ones((2, 2), np.float32)}, {"epoch": 0}))
    (place / "log.jsonl").write_text('{"step": 3, "epoch": 0, "epoch_loss": 1.0, "epoch_examples": 2}\n')
    state = next(place.rglob("state.json"))
    vectors = next(place.rglob("vectors.npy"))

    def use(path: Path) -> None:
        Checkpoints(path).newest()
        read_log(path / "log.jsonl")

    whole, seeds = folder_reader(place, use)
    honest = json.loads(state.read_text())

    def read(data: bytes) -> object:
        if data[:1] != b"h":
            return whole(data)
        vectors.write_bytes(data[1:])
        damaged = {**honest, "arrays": {"vectors": file_hash(vectors)}}
        return whole(
            bytes([sorted(p for p in place.rglob("*") if p.is_file()).index(state)]) + json.dumps(damaged).encode()
        )

    return Reader(read, [*seeds, b"h" + vectors.read_bytes()], ["training.checkpoint"])


def _run(folder: Path) -> Reader:
    from siamese_cbow.training import saved_run

    kept = json.dumps({"format_version": 1, "recipe": sc.SiameseCBOW().settings(), "corpus": "0" * 32}).encode()
    return Reader(file_reader(folder / "run.json", saved_run._read_about), [kept], ["training.saved_run"])


def _recipe(folder: Path) -> Reader:
    from siamese_cbow.training.siamese_cbow import read_recipe, recipe_text

    seeds = [recipe_text(sc.SiameseCBOW()).encode(), b'recipe = "paper"\ndim = 100\npostprocess = {components = 1}\n']
    return Reader(file_reader(folder / "r.toml", read_recipe), seeds, ["training.siamese_cbow", "base.option_fields"])


def _report_cache(folder: Path) -> Reader:
    from siamese_cbow.paper.work_plan import Cache

    cache, about = Cache(folder / "cache"), {"a": 1}
    (folder / "cache").mkdir()
    cache.put("piece", about, {"score": 0.5})
    (path,) = (folder / "cache").iterdir()
    return Reader(file_reader(path, lambda _: cache.get("piece", about)), [path.read_bytes()], ["paper.work_plan"])


# sets, and requests


def _sts(folder: Path) -> Reader:
    place = folder / "sts"
    (place / "2012").mkdir(parents=True)
    (place / "2012" / "STS.input.MSRpar.txt").write_text("a cat\ta dog\nb\tc\nd e\tf\n")
    (place / "2012" / "STS.gs.MSRpar.txt").write_text("4.5\n0\n3.25\n")
    (place / "sts-test.csv").write_text("g\tf\ty\t1\t4.0\ta\tb\ng\tf\ty\t2\t1.0\tc\td\ng\tf\ty\t3\t2.5\te\tf\n")
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    (place / "SICK_test_annotated.txt").write_text(
        sick + "".join(f"{i}\ta {i}\tb\t{i}.5\tNEUTRAL\n" for i in (1, 2, 3))
    )
    read, seeds = folder_reader(place, lambda path: sc.sts(path))
    return Reader(read, seeds, ["evaluation.sts", "evaluation.pair_sets"])


def _labelled(folder: Path) -> Reader:
    from siamese_cbow.evaluation.probe import read_labelled

    def read(data: bytes) -> object:
        path = folder / ("a.csv" if data[:1] == b"c" else "a.txt")
        path.write_bytes(data[1:])
        return read_labelled(path)

    return Reader(read, [b"c" + CSV, b"ta cat\tx\na dog\ty\n"], ["evaluation.probe"])


class _Request:
    """As much of a request as a reader of bodies looks at."""

    headers: Mapping[str, str] = {"content-type": "application/json"}

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def stream(self) -> Any:
        yield self._body


def _bodies(folder: Path) -> Reader:
    from siamese_cbow.serve import schemas
    from siamese_cbow.serve.bodies import Problem
    from siamese_cbow.serve.bodies import Reader as BodyReader

    kinds = [schemas.EmbeddingsRequest, schemas.SimilarityRequest, schemas.NeighboursRequest, schemas.SearchRequest,
             schemas.MapRequest]  # fmt: skip
    readers = [BodyReader(kind, 1 << 20) for kind in kinds]

    def read(data: bytes) -> object:
        running = readers[data[0] % len(readers) if data else 0](_Request(data[1:]))  # type: ignore[arg-type]
        try:
            running.send(None)
        except StopIteration as done:
            return done.value
        except Problem as problem:
            if not 400 <= problem.status < 500:
                raise AssertionError(f"status {problem.status}") from problem
            raise sc.InputError(problem.message) from None
        raise AssertionError("a reader of bodies waits")

    seeds = [
        b'\0{"input": ["a cat", "b"], "dimensions": 2}',
        b'\0{"input": [[1, 2], [3]], "encoding_format": "base64"}',
        b'\1{"a": "x", "b": ["y"], "pairwise": true}',
        b'\2{"positive": ["a"], "k": 3}',
        b'\3{"query": "a", "texts": ["b"], "threshold": 0.5}',
        b'\4{"texts": ["a", "b"], "method": "pca"}',
    ]
    return Reader(read, seeds, ["serve.bodies", "serve.schemas"])


def _requests(folder: Path) -> Reader:
    """Whole requests, through the application: path, headers and body."""
    import asyncio

    from siamese_cbow.serve.app import build
    from siamese_cbow.serve.hosts import Hosts

    runner = asyncio.Runner()
    atexit.register(runner.close)
    app = build({"m": small_model()}, hosts=Hosts("127.0.0.1", ()), warm=False)
    paths = ["/v1/embeddings", "/similarity", "/neighbours", "/search", "/explore/map", "/health", "/v1/models"]

    async def call(path: str, headers: list[tuple[bytes, bytes]], body: bytes) -> int:
        scope = {"type": "http", "http_version": "1.1", "method": "POST" if body else "GET", "path": path,
                 "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http", "headers": headers,
                 "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)}  # fmt: skip
        said: list[int] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                said.append(message["status"])

        await asyncio.wait_for(app(scope, receive, send), 20)  # type: ignore[arg-type]
        return said[0]

    def read(data: bytes) -> object:
        number = data[0] if data else 0
        host = b"127.0.0.1" if number < 224 else data[1:20]
        headers = [(b"host", host), (b"content-type", b"application/json")]
        status = runner.run(call(paths[number % len(paths)], headers, data[1:]))
        assert status < 500, f"status {status}"
        if status >= 400:
            raise sc.InputError(f"status {status}")
        return status

    seeds = [
        b'\0{"input": ["a cat", "b"], "dimensions": 2}',
        b'\1{"a": "cat", "b": "the mat", "explain": true}',
        b'\2{"positive": ["cat"], "negative": ["dog"], "k": 3}',
        b'\3{"query": "a cat", "texts": ["b", "the mat"]}',
        b'\4{"texts": ["a cat", "b", "the mat"]}',
        b"\5",
        b"\xe0evil.example",
    ]
    return Reader(read, seeds, ["serve.middleware", "serve.api", "serve.explorer", "serve.hosts"])


READERS: dict[str, Callable[[Path], Reader]] = {
    "text": lambda folder: _lines(
        folder, "", [TEXT, TEXT.decode().encode("utf-16"), "naïve café\n".encode("cp1252")], None
    ),
    "text .gz": lambda folder: _lines(folder, ".gz", [TEXT], lambda data: gzip.compress(data, 1)),
    "text .bz2": lambda folder: _lines(folder, ".bz2", [TEXT], bz2.compress),
    "text .xz": lambda folder: _lines(folder, ".xz", [TEXT], lambda data: lzma.compress(data, preset=0)),
    "text .zst": lambda folder: _lines(folder, ".zst", [TEXT], zstd),
    "CSV": lambda folder: _table(folder, ".csv", [CSV, b"text,label\n"]),
    "TSV": lambda folder: _table(folder, ".tsv", [b'id\ttext\tlabel\n1\ta "cat"\tx\n2\t\ty\n']),
    "JSON lines": lambda folder: _table(folder, ".jsonl", [JSONL]),
    "Parquet": _parquet,
    "HTML": _document(".html", HTML, b"<p>one<p>two"),
    "Markdown": _document(".md", MARKDOWN, b"+++\na = 1\n+++\none\n\ntwo\n"),
    "PDF": _pdf,
    "paraphrases (PPDB, TSV)": _groups,
    "labelled texts": _labelled,
    "STS, SICK": _sts,
    "tokenizer.json": _tokenizer,
    "vocabulary": _vocabulary,
    "model folder": _own_folder,
    "word2vec binary": _converted("a.bin", ["formats.vector_layouts", "formats.vector_files"]),
    "word2vec text": _converted("a.txt", ["formats.vector_layouts", "formats.vector_files"]),
    "GloVe": _converted("a.glove", ["formats.vector_layouts", "formats.vector_files"]),
    "table of words": _converted("a.parquet", ["formats.word_table"]),
    "model2vec, sentence-transformers": _static_folder,
    "pickle": _pickles,
    "original pickle, gensim": _original,
    ".npy": _npy,
    "skip-thought npz": _skip_thought,
    "stream": _stream,
    "index": _index,
    "checkpoint": _checkpoint,
    "run.json": _run,
    "recipe TOML": _recipe,
    "report cache": _report_cache,
    "HTTP bodies": _bodies,
    "HTTP requests": _requests,
}


def make(name: str, folder: Path) -> Reader:
    """A reader, with its files in a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return READERS[name](folder)
