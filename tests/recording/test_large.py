"""Long files in bounded memory: a million rows, or as many as DELTADYN_LARGE_ROWS says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import NAMES, clean

from deltadyn.recording import iter_recording, read_recording

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")

ROWS = int(os.environ.get("DELTADYN_LARGE_ROWS", "1000000"))
BLOCK = 10_000  # rows that are repeated
CHUNK = 100_000

# Peak memory is that of a whole process, so each reading has its own.
SCRIPT = """
import json, sys, time
import scipy.io
from benchmarks.machine import peak_memory
from deltadyn.recording import iter_recording, read_recording

def peak():
    return peak_memory() / 2**20

path, way, chunk = sys.argv[1], sys.argv[2], int(sys.argv[3])
before, start = peak(), time.perf_counter()
rows = total = 0
last = 0.0
parts = [read_recording(path)] if way == "whole" else iter_recording(path, rows=chunk)
for part in parts:
    rows += len(part)
    total += float(part.tau.sum())
    last = float(part.t[-1])
seconds = time.perf_counter() - start
print(json.dumps(
    {"rows": rows, "total": total, "last": last, "seconds": seconds, "extra": peak() - before}
))
"""


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log at 1 kHz with all digits, whose times go on from block to block."""
    rec = clean()
    data = np.column_stack([rec.q, rec.tau])
    data = np.tile(data, (BLOCK // len(data) + 1, 1))[:BLOCK]
    rows = [f"@{k:04d},{','.join(map(repr, row))}\n" for k, row in enumerate(data.tolist())]
    template = "".join(rows).encode()
    path = tmp_path_factory.mktemp("long") / "long.csv"
    with path.open("wb") as file:
        file.write(",".join(["t_ms", *NAMES[1:]]).encode() + b"\n")
        for block in range(ROWS // BLOCK):
            file.write(template.replace(b"@", str(block).encode()))
    return path


def measured(path: Path, way: str, chunk: int = CHUNK) -> dict[str, Any]:
    command = [sys.executable, "-c", SCRIPT, str(path), way, str(chunk)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(run.stdout)
    size = path.stat().st_size / 1e6
    print(
        f"\n{way}: {result['rows']} rows, {size:.0f} MB, {result['seconds']:.2f} s, "
        f"{result['rows'] / result['seconds'] / 1e6:.2f} million rows/s, "
        f"{result['extra']:.0f} MB more at the peak"
    )
    return result


def expected_total() -> float:
    tau = np.tile(clean().tau, (BLOCK // len(clean()) + 1, 1))[:BLOCK]
    return float(tau.sum()) * (ROWS // BLOCK)


@pytest.mark.full
def test_chunks_need_memory_for_one_chunk(long_file: Path) -> None:
    result = measured(long_file, "chunks")
    assert result["rows"] == ROWS
    assert result["total"] == pytest.approx(expected_total(), rel=1e-9)
    assert result["last"] == (ROWS - 1) / 1000
    # A chunk is 6 MB of numbers, held some times over, and a piece of text of 4 MB.
    assert result["extra"] < 80


@pytest.mark.full
def test_reading_whole_needs_the_arrays_and_little_more(long_file: Path) -> None:
    result = measured(long_file, "whole")
    assert result["rows"] == ROWS
    assert result["total"] == pytest.approx(expected_total(), rel=1e-9)
    arrays = 7 * 8 * ROWS / 1e6  # MB
    assert result["extra"] < 1.3 * arrays + 80


def test_chunks_and_the_whole_are_the_same(long_file: Path) -> None:
    """The first rows of both, across the border of chunks and of pieces of text."""
    whole = read_recording(long_file) if ROWS <= 2_000_000 else None
    row = 0
    for part in iter_recording(long_file, rows=33_333):
        assert part.provenance.first_row == row
        if whole is not None:
            np.testing.assert_array_equal(part.q, whole.q[row : row + len(part)])
            np.testing.assert_array_equal(part.t, whole.t[row : row + len(part)])
        row += len(part)
        if row > 300_000:
            break
    np.testing.assert_array_equal(part.tau[-1], np.tile(clean().tau, (3, 1))[(row - 1) % BLOCK])
