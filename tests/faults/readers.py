"""Every reader of the package as a function of bytes, with valid files to start from, for fuzzing.

    reader = READERS["index"](folder)      makes its files in `folder`
    for seed in reader.seeds: ...          valid inputs
    reader(data)                           reads any bytes; any error that is not one of ours is a bug

If a reader expects a folder of several files, the first byte of the data selects the one that the rest replaces; what
the folder records about that file (its size, its hash) is corrected. `mutate` changes an input within its format.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import json
import lzma
import pickle
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import mutation
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
JSON = b'[{"text": "a cat", "label": 1}, {"text": ["a", "dog"], "label": 2},\n {"text": null, "label": 3}]'
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
    """Reads bytes; succeeds or raises one of our own errors.

    seeds    valid inputs
    modules  the modules whose lines it should reach
    mutate   how an input is changed within its format
    """

    def __init__(
        self,
        read: Callable[[bytes], object],
        seeds: Sequence[bytes],
        modules: Sequence[str],
        mutate: mutation.Mutate = mutation.raw,
    ) -> None:
        self.read, self.seeds, self.modules, self.mutate = read, list(seeds), tuple(modules), mutate

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
    """Counts the items of an iterable, up to a few thousand."""
    return sum(1 for _ in itertools.islice(items, 5000))


def file_reader(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Puts the data into a file."""

    def call(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return call


def folder_reader(
    folder: Path,
    read: Callable[[Path], object],
    modules: Sequence[str],
    *,
    describe: Callable[[Path], Path | None] = lambda damaged: None,
    mutates: Mapping[str, mutation.Mutate] | None = None,
) -> Reader:
    """Replaces one file of a folder by the data; the first byte selects it. The unchanged files are the seeds.

    describe  corrects what the folder records about a damaged file, and says in which file it is recorded; the top
              bit of the first byte skips that
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    honest = {path: path.read_bytes() for path in files}
    damaged: set[Path] = set()

    def call(data: bytes) -> object:
        first = data[0] if data else 0
        path = files[first % 128 % len(files)]
        for other in damaged - {path}:
            other.write_bytes(honest[other])
        damaged.clear()
        damaged.add(path)
        path.write_bytes(data[1:])
        if first < 128 and (told := describe(path)):
            damaged.add(told)
        return read(folder)

    seeds = [bytes([i]) + honest[path] for i, path in enumerate(files) if len(honest[path]) < 20_000]
    return Reader(call, seeds, modules, mutation.by_file([path.name for path in files], mutates))


# text


def both_views(path: Path) -> tuple[int, int]:
    """Reads a file as training does and as search does: the numbers of sentences and rows."""
    from siamese_cbow.text.corpus import Corpus
    from siamese_cbow.text.row_reader import RowReader

    corpus = Corpus(path)
    n = sum(corpus.lines(block).text.count(b"\n") for block in corpus.blocks())
    rows = RowReader(path, sc.TextSettings(unit="auto"))
    return n, sum(len(rows.rows(block)) for block in rows.blocks())


Codec = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]  # pack, unpack
CODECS: dict[str, Codec] = {
    ".gz": (lambda data: gzip.compress(data, 1), lambda data: zlib.decompress(data, 31)),
    ".bz2": (lambda data: bz2.compress(data, 1), bz2.decompress),
    ".xz": (lambda data: lzma.compress(data, preset=0), lzma.decompress),
    ".zst": (lambda data: zstd(data), lambda data: unzstd(data)),
}


def _lines(folder: Path, ending: str = "") -> Reader:
    modules = ["text.opening", "text.encodings", "text.chunks", "text.row_reader", "text.corpus"]
    read = file_reader(folder / f"a.txt{ending}", both_views)
    if not ending:
        seeds = [TEXT, TEXT.decode().encode("utf-16"), "naïve café\n".encode("cp1252")]
        return Reader(read, seeds, modules, mutation.text)
    pack, unpack = CODECS[ending]
    mutate = mutation.behind(lambda data: unpack(data)[:4000], pack, mutation.text)
    return Reader(read, [pack(TEXT), pack(b"a cat\n") + pack(b"a dog\n")], modules, mutate)


def _document(ending: str, mutate: mutation.Mutate, *seeds: bytes) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        return Reader(file_reader(folder / f"a{ending}", both_views), seeds, ["text.documents"], mutate)

    return make


def pdf_page(data: bytes, chance: Any) -> bytes:
    """The commands of a page, in a PDF that is valid otherwise; or a PDF that is not."""
    from document_files import pdf

    if chance.random() < 0.3:
        return mutation.raw(data, chance)
    pages = [[chance.choice(PDF_LINES) for _ in range(chance.randrange(6))] for _ in range(chance.randint(1, 2))]
    made = pdf(pages)
    return mutation.raw(made, chance) if chance.random() < 0.3 else made


PDF_LINES = [  # lines that close their text continue with page commands
    *("a cat", "\\777\\", "(", ") Tj ET Q Q (", ") Tj /Missing 12 Tf (", ") Tj 0 0 0 0 0 0 Tm (", ") Tj 1 2 3 Td ("),
    *(") Tj [(a) 1e99 (b)] TJ (", ") Tj BI /W 1 ID x EI (", ") Tj /X Do (", ") Tj << /A [ ("),
]
HTML_MARKS = (
    *(
        "<div>",
        "</p>",
        "<table><tr>",
        "<!--",
        "-->",
        "<svg>",
        "<pre>",
        "&#0;",
        "&#xd800;",
        "<p hidden>",
        "<br>",
        "<ul><li>",
    ),
    *(
        "&amp",
        "</body>",
        "<![CDATA[",
        "<a b='" + "x" * 200 + "'>",
        "<template>",
        "<frameset>",
        "<math><mi>",
        "<script>",
    ),
)
MARKDOWN_MARKS = (
    *(
        "> ",
        "- ",
        "\n\n",
        "|",
        "```\n",
        "[a](",
        "![",
        "*",
        "`",
        "---\n",
        "+++\n",
        "# ",
        "1. ",
        "    ",
        "<b>",
        "<div>\n",
    ),
    *("[x]: y\n", "|-|\n", "&#1;", "\\", "~~", "___", "<!--"),
)


def _pdf(folder: Path) -> Reader:
    from document_files import pdf

    lines = ["The cat sat on the mat and", "looked at the dog.", "A dog ran."]
    return _document(".pdf", pdf_page, pdf([lines, []]), pdf([["one"], ["two", "three"]]))(folder)


def zstd(data: bytes) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def unzstd(data: bytes) -> bytes:
    import pyarrow as pa

    with pa.input_stream(io.BytesIO(data), compression="zstd") as stream:
        return bytes(stream.read(1 << 16))


def _table(
    folder: Path, ending: str, seeds: Sequence[bytes], mutate: mutation.Mutate, module: str = "text.table_files"
) -> Reader:
    """Every use of a table: two of its columns, one as text, and whole records."""
    from siamese_cbow.text.reader import RecordColumns, read_columns
    from siamese_cbow.text.row_reader import RowReader

    path = folder / f"a{ending}"

    def use(path: Path) -> None:
        n = exhausted(read_columns(path, ["text"], ["label"]))
        rows = RowReader(path, sc.TextSettings(text_column="text"))
        assert n in (5000, sum(1 for _ in rows.texts())), "records are lost"
        columns = RecordColumns.of([path], None)
        assert columns is not None
        taken = columns.take(str(path), n)
        assert sum(map(len, taken)) == n

    return Reader(file_reader(path, use), seeds, [module, "text.reader"], mutate)


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
    return _table(folder, ".parquet", seeds, mutation.parquet(parquet_bytes), "text.parquet_files")


def _groups(folder: Path) -> Reader:
    from siamese_cbow.text.corpus import Corpus

    ppdb = b"[X] ||| good ||| nice ||| f=1 ||| x\n[Y] ||| a dog ||| the dogs ||| y\n"
    tsv = b"a cat\tthe cat\na dog\n\tb\tc\n"

    def read(data: bytes) -> object:
        path = folder / ("a.ppdb" if data[:1] == b"p" else "a.tsv")
        path.write_bytes(data[1:])
        corpus = Corpus(path, sc.TextSettings(kind="groups"))
        return sum(corpus.lines(block).text.count(b"\n") for block in corpus.blocks())

    ways = {b"p": mutation.cells(" ||| "), b"t": mutation.cells("\t")}
    return Reader(read, [b"p" + ppdb, b"t" + tsv], ["text.sentences"], mutation.after(1, ways))


def _languages(folder: Path) -> Reader:
    from siamese_cbow.text.languages import detect, language

    def read(data: bytes) -> object:
        if data[:1] == b"n":
            return language(data[1:].decode("utf-8", "replace"))
        return detect([data[1:]]).message("--language", decides="x")

    seeds = [
        b"nde",
        b"nGerman",
        b"nzh-Hans-CN",
        b"t" + TEXT,
        "tэто кошка и собака".encode(),
        "t猫はどこですか".encode(),
    ]
    return Reader(read, seeds, ["text.languages"], mutation.after(1, mutation.text))


def _ignored(folder: Path) -> Reader:
    """How a walk handles patterns: from --glob, and from a .gitignore in the folder."""
    from siamese_cbow.text.folders import Walk

    place = folder / "notes"
    (place / "drafts" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.md", "drafts/c.txt", "drafts/deep/[d].txt", ".hidden.txt"):
        (place / name).write_text("a cat\n")

    def read(data: bytes) -> object:
        glob = data[:1] == b"g"
        (place / ".gitignore").write_bytes(b"" if glob else data[1:])
        globs = data[1:].decode("utf-8", "replace").split("\n") if glob else []
        return len(Walk(globs).files(place))

    seeds = [b"g*.md", b"g!drafts/\n**/*.txt", b"i*.txt\n!a.txt\n", b"i/drafts/**\n# no\n\\#x\n[a-z].md\n"]
    words = ("*", "**", "/", "!", "[", "]", "[!a-", "?", "\\", "{a,b}", "**/", "/**", " ", "\n", "#", "[[:alpha:]]")
    return Reader(read, seeds, ["text.folders"], mutation.after(1, mutation.of_words(*words)))


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
    return Reader(read, seeds, ["words.json_tokenizer", "words.tokenizer"], mutation.json_text)


def _vocabulary(folder: Path) -> Reader:
    def read(path: Path) -> object:
        vocabulary = Vocabulary.read(path)
        assert len(vocabulary.words) == len(vocabulary.counts) == len(vocabulary.index)
        return vocabulary.id_of("cat")

    text = Vocabulary(WORDS, np.arange(len(WORDS), 0, -1)).to_text().encode()
    return Reader(file_reader(folder / "vocabulary.txt", read), [text], ["words.vocabulary"], mutation.cells(" "))


def _used(model: Any) -> None:
    vectors = model.encode(["the cat sat", "", "zzz"])
    assert np.isfinite(vectors).all()
    assert len(model.vocabulary) < 1000


def described(path: Path) -> Path | None:
    """Corrects config.json for a damaged file."""
    from siamese_cbow.model.storage import FORMAT

    config = path.parent / "config.json"
    if path == config:
        return None
    content = json.loads(config.read_text("utf-8"))
    if path.name not in content["files"]:
        return None
    content["files"][path.name] = FORMAT.entry(path)
    config.write_text(json.dumps(content))
    return config


def _own_folder(dtype: str | None) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        place = folder / "model"
        if dtype is None:
            small_model().with_fallback("ngrams").postprocess(components=1, center=True).save(place)
        else:
            small_model().compress(dtype).save(place, int4=True)  # type: ignore[arg-type]
        modules = ["model.storage", "model.folder_format", "model.info", "model.packed_rows", "model.ngram_vectors"]
        ways = {"txt": mutation.cells(" ")}
        return folder_reader(place, lambda path: _used(sc.load(path)), modules, describe=described, mutates=ways)

    return make


def _converted(name: str, modules: Sequence[str], mutate: mutation.Mutate) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        from siamese_cbow.formats.convert import write_model
        from siamese_cbow.formats.resolver import open_model

        path = folder / name
        write_model(small_model(), path)
        return Reader(file_reader(path, lambda path: _used(open_model(path))), [path.read_bytes()], modules, mutate)

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
    modules = ["formats.static_folder", "words.json_tokenizer"]
    return folder_reader(place, lambda path: _used(read_static_folder(path)), modules)


def _pickles(folder: Path) -> Reader:
    from siamese_cbow.formats.safe_pickle import load_pickle

    values = [{"dim": 3, "x": [1.5, None, True]}, np.arange(6.0).reshape(2, 3), {"w": (1, {2, 3}, b"x")}]
    seeds = [pickle.dumps(value, protocol) for value in values for protocol in (0, 2, 3, 4, 5)]
    return Reader(load_pickle, seeds, ["formats.safe_pickle", "formats.pickle_machine"], mutation.pickled)


def _module_of(kind: type) -> ModuleType:
    module = ModuleType(kind.__module__)
    setattr(module, kind.__name__, kind)
    return module


def _original(folder: Path) -> Reader:
    from siamese_cbow.formats.pickled import is_keyed_vectors, read_keyed_vectors, read_original

    # Stand-ins with the names that the files use; only their names and fields are written.
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

    return Reader(file_reader(folder / "a.pickle", read), seeds, ["formats.pickled"], mutation.pickled)


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
    return Reader(read, seeds, ["formats.safe_pickle"], mutation.npy)


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
    return folder_reader(place, lambda path: read_published(path, kind="uni"), ["baselines.skip_thought.published"])


# our own formats


def _stream(folder: Path) -> Reader:
    place = folder / "stream"
    sc.prepare([["a cat sat", "the cat ran", "a dog sat"]] * 3, output=place, min_count=1)

    def use(path: Path) -> None:
        stream = sc.Stream.load(path)
        assert len(stream.ids) == 0 or stream.ids.max() < len(stream.vocabulary)

    return folder_reader(place, use, ["stream.stream", "base.arrays"], mutates={"txt": mutation.cells(" ")})


def _index(folder: Path) -> Reader:
    from siamese_cbow.retrieval import manifest, segment

    model = small_model()
    text = folder / "notes.txt"
    text.write_text("the cat sat\na dog\n\nthe mat\n")
    place = folder / "index"
    sc.Index.update(place, text, model=model)
    honest = json.loads((place / manifest.NAME).read_text("utf-8"))
    (name,) = honest["segments"]

    def describe(path: Path) -> Path | None:
        if path.parent != place / name:
            return None
        content = {**honest, "segments": {name: segment.description(place / name)}}
        (place / manifest.NAME).write_text(json.dumps(content))
        return place / manifest.NAME

    def use(path: Path) -> None:
        index = sc.Index(path, model=model)
        index.search("cat", k=2, before=1)

    return folder_reader(place, use, ["retrieval.manifest", "retrieval.segment", "retrieval.index"], describe=describe)


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

    honest = json.loads(state.read_text())

    def describe(path: Path) -> Path | None:
        if path != vectors:
            return None
        state.write_text(json.dumps({**honest, "arrays": {"vectors": file_hash(vectors)}}))
        return state

    return folder_reader(place, use, ["training.checkpoint"], describe=describe)


def _run(folder: Path) -> Reader:
    from siamese_cbow.training import saved_run

    kept = json.dumps({"format_version": 1, "recipe": sc.SiameseCBOW().settings(), "corpus": "0" * 32}).encode()
    read = file_reader(folder / "run.json", saved_run._read_about)
    return Reader(read, [kept], ["training.saved_run"], mutation.json_text)


def _recipe(folder: Path) -> Reader:
    from siamese_cbow.training.siamese_cbow import read_recipe, recipe_text

    seeds = [recipe_text(sc.SiameseCBOW()).encode(), b'recipe = "paper"\ndim = 100\npostprocess = {components = 1}\n']
    values = [
        *(
            "nan",
            "-inf",
            "1e400",
            "0x10",
            "[]",
            "{}",
            '""',
            "true",
            "false",
            "9" * 30,
            "1979-01-01",
            "0",
            "1",
            "-1",
            "2.5",
        ),
        *('"adam"', '"paper"', "{components = 2, center = true}", '["a"]', "1e-9", "300", "0.05", "[" * 3000, '"""'),
    ]
    mutate = mutation.assigned(values)
    modules = ["training.siamese_cbow", "base.option_fields"]
    return Reader(file_reader(folder / "r.toml", read_recipe), seeds, modules, mutate)


def _report_cache(folder: Path) -> Reader:
    from siamese_cbow.paper.work_plan import Cache

    cache, about = Cache(folder / "cache"), {"a": 1}
    (folder / "cache").mkdir()
    cache.put("piece", about, {"score": 0.5})
    (path,) = (folder / "cache").iterdir()
    read = file_reader(path, lambda _: cache.get("piece", about))
    return Reader(read, [path.read_bytes()], ["paper.work_plan"], mutation.json_text)


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
    ways = {"txt": mutation.cells("\t"), "csv": mutation.cells("\t")}
    return folder_reader(place, lambda path: sc.sts(path), ["evaluation.sts", "evaluation.pair_sets"], mutates=ways)


def _pairs(folder: Path) -> Reader:
    """Scores a custom test set."""
    model = small_model()
    table = b'sentence1,sentence2,score\na cat,the cat,5\na dog,"the, mat",1.5\nthe cat sat,a dog,0\n'
    lines = b'{"a": "a cat", "b": "a dog", "score": 1}\n{"a": "the mat", "b": "mat", "score": 5}\n'
    endings = {b"c": ".csv", b"t": ".tsv", b"j": ".jsonl"}

    def read(data: bytes) -> object:
        path = folder / f"pairs{endings.get(data[:1], '.txt')}"
        path.write_bytes(data[1:])
        return sc.evaluate(model, sc.pairs(path))

    ways = {b"c": mutation.cells(","), b"t": mutation.cells("\t"), b"j": mutation.json_lines}
    seeds = [b"c" + table, b"t" + table.replace(b",", b"\t"), b"j" + lines]
    return Reader(read, seeds, ["evaluation.pair_files", "evaluation.pair_sets"], mutation.after(1, ways))


def _labelled(folder: Path) -> Reader:
    from siamese_cbow.evaluation.probe import read_labelled

    def read(data: bytes) -> object:
        path = folder / ("a.csv" if data[:1] == b"c" else "a.txt")
        path.write_bytes(data[1:])
        return read_labelled(path)

    ways = {b"c": mutation.cells(","), b"t": mutation.cells("\t")}
    return Reader(read, [b"c" + CSV, b"ta cat\tx\na dog\ty\n"], ["evaluation.probe"], mutation.after(1, ways))


def _http(name: str) -> Callable[[Path], Reader]:
    def make(folder: Path) -> Reader:
        import http_readers

        return Reader(*getattr(http_readers, name)(small_model()))

    return make


VECTOR_FILES = ["formats.vector_layouts", "formats.vector_files"]
READERS: dict[str, Callable[[Path], Reader]] = {
    "text": _lines,
    **{f"text {ending}": lambda folder, ending=ending: _lines(folder, ending) for ending in CODECS},  # type: ignore[misc]
    "CSV": lambda folder: _table(folder, ".csv", [CSV, b"text,label\n"], mutation.cells(",")),
    "TSV": lambda folder: _table(folder, ".tsv", [b'id\ttext\tlabel\n1\ta "cat"\tx\n2\t\ty\n'], mutation.cells("\t")),
    "JSON lines": lambda folder: _table(folder, ".jsonl", [JSONL], mutation.json_lines, "text.json_files"),
    "JSON array": lambda folder: _table(folder, ".json", [JSON], mutation.json_text, "text.json_files"),
    "Parquet": _parquet,
    "HTML": _document(".html", mutation.of_words(*HTML_MARKS), HTML, b"<p>one<p>two"),
    "Markdown": _document(".md", mutation.of_words(*MARKDOWN_MARKS), MARKDOWN, b"+++\na = 1\n+++\none\n\ntwo\n"),
    "PDF": _pdf,
    "paraphrases (PPDB, TSV)": _groups,
    "languages": _languages,
    "--glob, .gitignore": _ignored,
    "labelled texts": _labelled,
    "STS, SICK": _sts,
    "pair files": _pairs,
    "tokenizer.json": _tokenizer,
    "vocabulary": _vocabulary,
    "model folder": _own_folder(None),
    "model folder, int8": _own_folder("int8"),
    "model folder, int4": _own_folder("int4"),
    "word2vec binary": _converted("a.bin", VECTOR_FILES, mutation.raw),
    "word2vec text": _converted("a.txt", VECTOR_FILES, mutation.cells(" ")),
    "GloVe": _converted("a.glove", VECTOR_FILES, mutation.cells(" ")),
    "table of words": _converted("a.parquet", ["formats.word_table"], mutation.parquet(parquet_bytes)),
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
    "HTTP bodies": _http("bodies"),
    "HTTP requests": _http("requests"),
    "HTTP connections": _http("connections"),
}


def make(name: str, folder: Path) -> Reader:
    """A reader, with its files in a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return READERS[name](folder)
