"""Memory doesn't grow with the file: one process reads 128 MB, another one twice that."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.reading_memory import watched

TEXT = "The quick brown fox jumps over the lazy dog and sleeps in the sun. " * 15  # about 1 KB
MOST_GROWTH = 64  # MB; a reader that kept the whole file would take 128 more


def write_lines(path: Path, n: int) -> None:
    with path.open("w") as file:
        file.writelines(f"{TEXT}\n" for _ in range(n))


def write_csv(path: Path, n: int) -> None:
    with path.open("w") as file:
        file.write("id,text\n")
        file.writelines(f'{i},"{TEXT}"\n' for i in range(n))


def write_json_lines(path: Path, n: int) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps({"id": i, "text": TEXT}) + "\n" for i in range(n))


def write_array(path: Path, n: int) -> None:
    with path.open("w") as file:
        file.write("[")
        file.writelines(f'{"," * (i > 0)}\n{{"id": {i},\n "text": "{TEXT}"}}' for i in range(n))
        file.write("]")


def write_parquet(path: Path, n: int) -> None:
    with pq.ParquetWriter(path, pa.schema([("text", pa.string())]), use_dictionary=False, compression="none") as out:
        for first in range(0, n, 8_192):
            out.write_table(pa.table({"text": [f"{first + i} {TEXT}" for i in range(min(8_192, n - first))]}))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(
    ("ending", "write"),
    [
        (".txt", write_lines),
        (".csv", write_csv),
        (".jsonl", write_json_lines),
        (".json", write_array),
        (".parquet", write_parquet),
    ],
)
def test_memory_is_that_of_a_few_blocks(tmp_path: Path, ending: str, write: Callable[[Path, int], None]) -> None:
    peaks = []
    for n in (128_000, 256_000):
        path = tmp_path / f"{n}{ending}"
        write(path, n)
        printed, peak = watched("rows", path)
        path.unlink()
        assert printed.split() == [str(n), "rows"]
        peaks.append(peak)
    assert peaks[1] - peaks[0] < MOST_GROWTH
