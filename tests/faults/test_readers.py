"""Every reader on damaged input: success or an error of ours, never anything else. `make soak` runs it for longer."""

from __future__ import annotations

import io
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pypdf", reason="readers of PDF need the extra pdf")
pytest.importorskip("msgspec", reason="readers of requests need the extra serve")
sys.path.insert(0, str(Path(__file__).parent))
from mutation import raw
from readers import CODECS, HTML, MARKDOWN, PDF_LINES, READERS, Reader, make, parquet_bytes
from soak import slug

from document_files import pdf

CRASHERS = Path(__file__).with_name("crashers")
N_MUTANTS = 40


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Reader]:
    return request.param, make(request.param, tmp_path_factory.mktemp("reader") / "files")


def mutants(read: Reader, n: int, seed: int = 1) -> Iterator[bytes]:
    """Seeds, mutated byte by byte and within their format; the same ones each time."""
    chance = random.Random(seed)
    for _ in range(n):
        change = read.mutate if chance.random() < 0.6 else raw
        yield change(chance.choice(read.seeds), chance)


def test_damaged_input(reader: tuple[str, Reader]) -> None:
    name, read = reader
    n_seeds = sum(read(seed) for seed in read.seeds)
    assert n_seeds >= min(2, len(read.seeds)), f"{name}: the honest files are refused"
    outcomes = [read(mutant) for mutant in mutants(read, N_MUTANTS)]
    outcomes += [read(data) for data in (b"", b"\0", b"\n" * 50, bytes(range(256)))]
    if name != "report cache":  # unusable entries are computed again
        assert not all(outcomes), f"{name}: whatever comes is accepted"


@pytest.mark.parametrize("path", sorted(CRASHERS.iterdir()), ids=lambda path: path.name)
def test_what_once_crashed(path: Path, tmp_path: Path) -> None:
    (name,) = (name for name in READERS if path.name.startswith(f"{slug(name)}-"))
    make(name, tmp_path / "files")(path.read_bytes())


# structured input, so that mutants get past headers

CELLS = st.one_of(st.none(), st.text(max_size=20), st.sampled_from(["", "\0", '"', "a\nb", "\ud7ff", "a b " * 2000]))
MARKS = [
    *(
        b"<div>",
        b"</p>",
        b"<table><tr>",
        b"<!--",
        b"<svg>",
        b"<pre>",
        b"&#0;",
        b"&#xd800;",
        b"\0",
        b"\xff",
        b"\xc2\xad",
    ),
    *(b"> ", b"- ", b"\n\n", b"|", b"```\n", b"[a](", b"![", b"*", b"`", b"---\n"),
]
QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@QUICK
@given(
    st.lists(CELLS, max_size=12),
    st.sampled_from(["string", "dictionary", "list", "binary"]),
    st.sampled_from(["none", "zstd", "snappy", "gzip"]),
    st.integers(0, 3),
    st.integers(0, 1 << 30),
)
def test_parquet_of_any_shape(
    tmp_path: Path, cells: list[str | None], kind: str, compression: str, n_flips: int, seed: int
) -> None:
    import pyarrow as pa

    column: Any = pa.array(cells, pa.string())
    if kind == "dictionary":
        column = column.dictionary_encode()
    elif kind == "list":
        column = pa.array([None if cell is None else [cell, cell] for cell in cells], pa.list_(pa.string()))
    elif kind == "binary":
        column = column.cast(pa.binary())
    data = bytearray(parquet_bytes(pa.table({"text": column, "label": pa.array(range(len(cells)), pa.int64())}),
                                   compression=compression))  # fmt: skip
    read = make("Parquet", tmp_path / "files")
    assert read(bytes(data))
    chance = random.Random(seed)
    for _ in range(n_flips):
        data[chance.randrange(4, len(data) - 8)] ^= 1 << chance.randrange(8)  # its ends mark it as Parquet
    read(bytes(data))


@QUICK
@given(st.lists(st.lists(CELLS.filter(lambda cell: cell is not None), min_size=1, max_size=4), max_size=6),
       st.sampled_from(["CSV", "TSV", "JSON lines"]), st.sampled_from(['"', "", "\r\n", ",", "\t", "\\"]))  # fmt: skip
def test_tables_of_any_cells(tmp_path: Path, rows: list[list[str]], name: str, inserted: str) -> None:
    import json

    if name == "JSON lines":
        text = "".join(json.dumps({"text": row[0], "label": row[-1]}) + "\n" for row in rows)
    else:
        mark = "," if name == "CSV" else "\t"
        text = f"text{mark}label\n" + "".join(mark.join(row) + inserted + "\n" for row in rows)
    make(name, tmp_path / "files")(text.encode("utf-8", "surrogatepass"))


@QUICK
@given(
    st.sampled_from([("HTML", HTML), ("Markdown", MARKDOWN)]),
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(MARKS), st.integers(1, 60)), max_size=6),
)
def test_documents_of_any_marks(
    tmp_path: Path, kind: tuple[str, bytes], insertions: list[tuple[int, bytes, int]]
) -> None:
    name, document = kind
    for place, mark, times in insertions:
        document = document[:place] + mark * times + document[place:]
    make(name, tmp_path / "files")(document)


@QUICK
@given(st.lists(st.lists(st.sampled_from(PDF_LINES), max_size=12), min_size=1, max_size=3), st.integers(0, 40))
def test_pdf_pages_of_any_content(tmp_path: Path, pages: list[list[str]], cut: int) -> None:
    data = pdf(pages)  # valid except for the content of its pages
    make("PDF", tmp_path / "files")(data[: len(data) - cut])


@QUICK
@given(st.sampled_from(list(CODECS)), st.binary(max_size=300), st.booleans())
def test_any_bytes_behind_a_compression(tmp_path: Path, ending: str, data: bytes, more: bool) -> None:
    make(f"text {ending}", tmp_path / "files")(CODECS[ending][0](data) + (data[:8] if more else b""))


@QUICK
@given(st.sampled_from(["<f4", "<f8", ">f4", "<i4", "|O", "<U3", "|V4"]), st.lists(st.integers(0, 5), max_size=3),
       st.sampled_from(["encoder_U", "encoder_b", "../../etc/x", "encoder_Ux"]), st.booleans())  # fmt: skip
def test_archives_of_any_arrays(tmp_path: Path, dtype: str, shape: list[int], name: str, compressed: bool) -> None:
    from siamese_cbow.baselines.skip_thought.published import read_published
    from siamese_cbow.errors import SiameseCBOWError

    make("skip-thought npz", tmp_path / "files")
    folder = tmp_path / "files" / "published"
    sink = io.BytesIO()
    with zipfile.ZipFile(folder / "uni_skip.npz") as honest, zipfile.ZipFile(sink, "w") as damaged:
        for member in honest.namelist():
            if member != f"{name}.npy":
                damaged.writestr(member, honest.read(member))
        npy = io.BytesIO()
        np.save(npy, np.zeros(shape, dtype), allow_pickle=True)
        kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        damaged.writestr(zipfile.ZipInfo(f"{name}.npy"), npy.getvalue(), kind)
    (folder / "uni_skip.npz").write_bytes(sink.getvalue())
    try:
        read_published(folder, kind="uni")
    except SiameseCBOWError as error:
        assert str(folder) in str(error)  # noqa: PT017 (either outcome will do)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files"]
