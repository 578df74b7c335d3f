"""Memory of the live estimators over a very long stream, and the time of a sample.

Run: OMP_NUM_THREADS=1 python -m benchmarks.soak [--samples 1e8] [--models payload,force] [--json F]

A recorded log is sent again and again, in batches with running numbers and a clock that goes on,
through `LiveEstimator` (payload, estimator "bank") and `LiveForce`. Some batches are lost, come
twice or late. Exit status 1 where the resident memory grew by more than --grown (MB) after the
first tenth, or where the account of the samples does not add up.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.force.cases import tare_of
from tests.payload.cases import D3, case

from benchmarks.machine import machine_name
from deltadyn.force.live import LiveForce
from deltadyn.payload.live import LiveEstimator
from deltadyn.streams.live import LiveModel
from deltadyn.streams.packing import SEQUENCES, Batch, batches_of

SIZE = 100  # samples of a batch
FAULTS = (0.002, 0.002, 0.002)  # chances that a batch is lost, comes twice, comes late


@dataclass(frozen=True)
class Soaked:
    """What a model needed: resident memory (MB) at a tenth, at the end, and its peak after that."""

    model: str
    samples: int  # sent
    at_tenth: float
    at_end: float
    peak: float
    per_sample: float  # us of CPU time
    counts: dict[str, Any]

    @property
    def grown(self) -> float:
        """MB after the first tenth."""
        return self.peak - self.at_tenth

    def __str__(self) -> str:
        counts = self.counts
        return (
            f"{self.model:<8} {self.samples:>12} samples  {self.per_sample:6.1f} us/sample  "
            f"memory {self.at_tenth:.1f} MB at 10 %, {self.at_end:.1f} MB at the end, "
            f"{self.grown:+.1f} MB at most\n"
            f"         received {counts['received']}, used {counts['samples']}, duplicate "
            f"{counts['duplicate_samples']}, late {counts['late_samples']}, lost {counts['lost']}"
        )


def resident() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / 1e6


def laps(samples: int) -> tuple[list[Batch], int]:
    """The batches of a log, and how many are sent to have so many samples."""
    batches = list(batches_of(case(6).recording, SIZE))
    return batches, max(2, samples // SIZE)


def sent(samples: int) -> int:
    """Samples in the batches that are sent; the last one of a log is shorter."""
    batches, count = laps(samples)
    whole, rest = divmod(count, len(batches))
    return whole * sum(map(len, batches)) + sum(map(len, batches[:rest]))


def stream(samples: int, seed: int) -> Iterator[Batch]:
    """Batches of a log that goes on, with faults; the first and the last are always there."""
    log = case(6).recording
    batches, count = laps(samples)
    span, rng = len(log) * log.sample_time, np.random.default_rng(seed)
    waiting: Batch | None = None
    for k in range(count):
        lap, place = divmod(k, len(batches))
        batch = batches[place]
        batch = replace(batch, t0=batch.t0 + lap * span, sequence=k % SEQUENCES)
        lost, twice, late = rng.random(3) < FAULTS
        if lost and 0 < k < count - 1:
            continue
        if late and waiting is None and 0 < k < count - 1:
            waiting = batch
            continue
        yield batch
        if twice:
            yield batch
        if waiting is not None:
            yield waiting
            waiting = None


def soaked(name: str, model: LiveModel[Any], samples: int, seed: int = 0) -> Soaked:
    """Send so many samples through a model."""
    at_tenth = peak = 0.0
    passed, began = 0, time.process_time()
    for batch in stream(samples, seed):
        model.feed(batch)
        passed += len(batch)
        if passed % (SIZE * 500) < SIZE and passed >= samples // 10:
            now = resident()
            at_tenth, peak = at_tenth or now, max(peak, now)
    took, end = time.process_time() - began, resident()
    at_tenth = at_tenth or end
    counts = model.counts.as_dict()
    return Soaked(name, sent(samples), at_tenth, end, max(peak, end), 1e6 * took / passed, counts)


def models(names: Sequence[str]) -> Iterator[tuple[str, LiveModel[Any]]]:
    """The models by their names, with readings every second."""
    for name in names:
        if name == "payload":
            yield name, LiveEstimator(D3, convention="deltadyn")
        else:
            yield name, LiveForce(D3, tare_of(), convention="deltadyn")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=float, default=1e6, help="of each model")
    parser.add_argument("--models", default="payload,force", help="payload, force")
    parser.add_argument("--grown", type=float, default=10.0, help="MB allowed after 10 %%")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    given = parser.parse_args(argv)
    names = given.models.split(",")
    if unknown := set(names) - {"payload", "force"}:
        parser.error(f"--models: {sorted(unknown)[0]!r} is neither payload nor force")
    print(f"Soak of live models on {machine_name()}", flush=True)
    rows, wrong = [], []
    for name, model in models(names):
        row = soaked(name, model, int(given.samples), given.seed)
        rows.append(row)
        print(row, flush=True)
        counts = model.counts
        known = counts.samples + counts.refused_samples + counts.late_samples + counts.lost
        if counts.received != counts.accounted or known != row.samples:
            wrong.append(f"{name}: the account does not add up: {counts}")
        if row.grown > given.grown:
            wrong.append(f"{name}: memory grew by {row.grown:.1f} MB; allowed: {given.grown:g} MB")
    if given.json:
        figure = "; ".join(
            f"{row.model} {row.samples:.3g} samples, {row.per_sample:.1f} us each, "
            f"{row.grown:+.1f} MB"
            for row in rows
        )
        told = {"figure": figure, "reached": not wrong, "rows": [asdict(row) for row in rows]}
        Path(given.json).write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
