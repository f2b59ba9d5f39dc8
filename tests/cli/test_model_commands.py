"""The commands that use a model: encode, similarity, neighbours, info."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow import Model, Vocabulary, load
from siamese_cbow.cli import main
from siamese_cbow.cli.options import batched

LINES = ["east north", "", "blorf", "West!", "between\tnowhere", "  ", "naïve east"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vectors = np.array([[1, 0, 0.1], [0, 1, 1 / 3], [1, 1, 7], [-2, 0, 1e-9]], np.float32)
    vocabulary = Vocabulary(["east", "north", "between", "west"], np.array([1000, 7, 7, 1]))
    info = {"recipe": {"name": "toy", "epochs": 2, "dims": [3, 4], "tied": True}, "corpus": "compass"}
    Model(vocabulary, vectors, info=info).save(tmp_path / "compass")
    return tmp_path / "compass"


@pytest.fixture
def model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(folder))
    return load(folder)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", "utf-8")
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))


def failure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The error message of a command that fails with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


# encode


@pytest.mark.parametrize(
    "options", [[], ["--normalize"], ["--truncate-dim", "2"], ["--batch-size", "2"], ["--threads", "1"]]
)
@pytest.mark.parametrize("name", ["a.npy", "a.parquet", "a.jsonl"])
def test_encode_to_files(model: Model, text: Path, tmp_path: Path, name: str, options: list[str]) -> None:
    output = tmp_path / "new" / name
    main(["encode", str(text), "-o", str(output), *options])
    dim = 2 if "--truncate-dim" in options else 3
    expected = model.encode(LINES, normalize_embeddings="--normalize" in options, truncate_dim=dim)
    if name == "a.npy":
        found, texts = np.load(output, mmap_mode="r"), LINES
    elif name == "a.parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(output)
        texts, found = table["text"].to_pylist(), np.array(table["vector"].to_pylist(), np.float32)
        assert table.schema.field("vector").type.list_size == dim
    else:
        rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
        texts, found = [row["text"] for row in rows], np.array([row["vector"] for row in rows], np.float32)
    assert texts == LINES
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    assert [path.name for path in output.parent.iterdir()] == [name]


def test_encode_standard_input_to_standard_output(
    model: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["encode", "-"], ["encode", "-", "-o", "-"]):
        stdin(monkeypatch, b"east\r\n\xc3\xa9\xc3\xa9\xff west\nno end")
        main(arguments)
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["text"] for row in rows] == ["east", "éé\ufffd west", "no end"]
        np.testing.assert_array_equal(np.float32([row["vector"] for row in rows]), model.encode(["east", "west", ""]))


@pytest.mark.usefixtures("model")
def test_encode_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    main(["encode", str(tmp_path / "empty.txt"), "-o", str(tmp_path / "a.npy")])
    found = np.load(tmp_path / "a.npy")
    assert (found.shape, found.dtype) == ((0, 3), np.float32)


def test_encode_several_files(model: Model, text: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("north\n", "utf-8")
    main(["encode", str(text), str(tmp_path / "more.txt"), "-o", str(tmp_path / "all.npy")])
    assert np.array_equal(np.load(tmp_path / "all.npy"), model.encode([*LINES, "north"]))


def test_a_matrix_has_no_column(model: Model, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = failure(["encode", str(text), "-o", str(tmp_path / "v.npy"), "--vector-column", "x"], capsys)
    assert "--vector-column" in said
    assert "expected a .parquet, .jsonl or .csv file" in said


def test_encode_packed(model: Model, tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    main(["encode", str(tmp_path / "a.txt.gz"), "-o", str(tmp_path / "a.npy")])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), model.encode(LINES))


def test_encode_leaves_nothing_half_written(
    folder: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(np.random.default_rng(0).bytes(9999).hex().encode())[:5000])
    output = tmp_path / "out" / "a.npy"
    base = ["encode", "--model", str(folder), "-o", str(output)]
    assert "cut" in failure([*base, str(tmp_path / "cut.gz")], capsys)
    assert "no such file" in failure([*base, "nowhere.txt"], capsys)
    assert "truncate_dim is 4" in failure([*base, str(text), "--truncate-dim", "4"], capsys)
    assert "threads is 0" in failure([*base, str(text), "--threads", "0"], capsys)
    assert ".npy, .parquet, .jsonl" in failure([*base[:-1], "a.xls", str(text)], capsys)
    assert not output.parent.exists() or not list(output.parent.iterdir())


def test_batches() -> None:
    assert list(batched(["a", "b", "c"], size=2, length=len)) == [["a", "b"], ["c"]]
    assert list(batched(["a", "bbb", "c"], size=9, length=len, longest=3)) == [["a", "bbb"], ["c"]]
    assert list(batched([], length=len)) == []


# similarity


def test_similarity(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    main(["similarity", "East north", "between"])
    captured = capsys.readouterr()
    assert captured.out == f"{model.similarity('east north', 'between'):.6f}\n"
    assert captured.err == ""
    main(["similarity", "east", "blorf"])
    captured = capsys.readouterr()
    assert captured.out == "0.000000\n"
    assert "'blorf'" in captured.err


def test_similarity_of_pairs(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = "east\tnorth\nwest\teast\n\t\n"
    expected = model.similarity_pairwise(["east", "west", ""], ["north", "east", ""])
    (tmp_path / "pairs.tsv").write_text(pairs)
    stdin(monkeypatch, pairs.encode())
    for path in (str(tmp_path / "pairs.tsv"), "-"):
        main(["similarity", "--file", path])
        assert capsys.readouterr().out == "".join(f"{score:.6f}\n" for score in expected)
    (tmp_path / "pairs.tsv").write_text("no tab")
    assert "line 1 has no tab" in failure(["similarity", "--file", str(tmp_path / "pairs.tsv")], capsys)
    for arguments in ([], ["a"], ["a", "b", "c"], ["a", "b", "--file", "-"]):
        assert "expected two" in failure(["similarity", *arguments], capsys)


def test_which_two_of_three_fields_is_not_guessed(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scored.tsv").write_text("5.0\teast\twest\n", "utf-8")
    said = failure(["similarity", "--file", str(tmp_path / "scored.tsv")], capsys)
    assert "has 3 tab-separated fields" in said
    assert "cut -f2,3" in said


def test_similarity_starts_light(folder: Path) -> None:
    code = (
        "import sys; from siamese_cbow.cli import main\n"
        f"main(['similarity', 'east', 'north', '--model', {str(folder)!r}])\n"
        "assert not {'numba', 'pyarrow', 'scipy', 'rich', 'torch', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# neighbours and info


@pytest.mark.usefixtures("model")
def test_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    main(["neighbours", "north", "-k", "2"])
    assert [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()] == ["between", "east"]
    main(["neighbours", "East, north!", "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["word"] for row in rows] == ["between", "west"]
    assert all(-1 <= row["cosine"] <= 1 for row in rows)
    main(["neighbours", "east", "north", "--negative", "west", "-k", "1"])
    assert capsys.readouterr().out.endswith("\tbetween\n")
    assert "'blorf'" in failure(["neighbours", "blorf"], capsys)
    assert "'blorf'" in failure(["neighbours", "east", "--negative", "blorf"], capsys)
    assert "k is 0" in failure(["neighbours", "east", "-k", "0"], capsys)
    assert "no word" in failure(["neighbours"], capsys)


def test_neighbours_of_nothing(model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    assert "zero vector" in failure(["neighbours", "east", "--negative", "east"], capsys)
    said = failure(["neighbours", "east", "--negative", "blorf", "--fallback", "none"], capsys)
    assert "'blorf' has no vector in this model; use --fallback ngrams" in said
    main(["neighbours", "east", "--topn", "1"])
    assert capsys.readouterr().out.endswith("\tbetween\n")


def test_info(model: Model, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["info"])
    out = capsys.readouterr().out
    for part in ("compass", "name    toy", "dims    3 4", "tied    yes", "east     1,000", "n_words    4"):
        assert part in out
    main(["info", str(folder), "--json", "--verify"])
    described = json.loads(capsys.readouterr().out)
    assert described["frequent"] == {"east": 1000, "north": 7, "between": 7, "west": 1}
    assert described["norms"]["max"] == pytest.approx(float(np.linalg.norm(model.vectors, axis=1).max()), rel=1e-3)
    assert (described["n_words"], described["dim"], described["verified"]) == (4, 3, True)


# a model that isn't there


@pytest.mark.parametrize("arguments", [["encode", "-"], ["similarity", "a", "b"], ["neighbours", "a"], ["info"]])
def test_no_model(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SIAMESE_CBOW_MODEL", raising=False)
    said = failure([*arguments, "--model", str(tmp_path / "none")], capsys)
    for part in ("no model", "siamese-cbow train TEXT -o FOLDER"):
        assert part in said
    (tmp_path / "empty").mkdir()
    assert "empty contains no readable model" in failure([*arguments, "--model", str(tmp_path / "empty")], capsys)


def test_broken_pipe_is_fine(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("east\n" * 20_000)
    command = [sys.executable, "-m", "siamese_cbow", "encode", str(tmp_path / "many.txt"), "--model", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_convert_to_standard_output_writes_nothing_else_there(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["convert", str(folder), "/dev/stdout", "--to", "word2vec"])
    assert capfd.readouterr().out.splitlines()[-1].startswith("west ")
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(folder), "-"])
    assert ended.value.code == 2
    assert "/dev/stdout and --to" in capfd.readouterr().err
    assert not Path("-").exists()
