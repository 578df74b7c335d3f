"""The threshold of `deltadyn.history.drift` from simulation.

    python -m benchmarks.drift_threshold --series 2500

Series of a year without any change go through the whole of the method: noise and memory estimated,
temperature explained. Counted is at which |z|, as if the noise were known, a series has its first
alarm; the constants of `threshold.py` are the line through the logarithms of the rates.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.series import Series
from deltadyn.history.drift.threshold import as_if_known
from deltadyn.history.drift.watch import strongest

TOGETHER = 20  # parameters of a robot: its memory is estimated over all of them
LEVELS = (3.5, 3.75, 4.0, 4.25, 4.5, 4.75, 5.0)
BURN_IN = 14
NOISE = 0.01


def quiet(nights: int, memory: float, rng: np.random.Generator) -> Series:
    """A robot to which nothing happens, in a season of 8 K."""
    noise = rng.standard_normal((nights, TOGETHER))
    for i in range(1, nights):
        noise[i] = memory * noise[i - 1] + np.sqrt(1 - memory**2) * noise[i]
    days = np.arange(nights, dtype=float)
    phase = rng.uniform(0, 365)
    values = np.exp(NOISE * noise)
    return Series(
        robot="quiet",
        serial="quiet",
        zone="UTC",
        start=datetime(2026, 1, 1, tzinfo=UTC),
        days=days,
        names=tuple(f"p{k}" for k in range(TOGETHER)),
        units=("",) * TOGETHER,
        values=values,
        std=NOISE * values,
        ratio=np.ones(TOGETHER, dtype=bool),
        temperature=25 + 8 * np.sin(2 * np.pi * (days + phase) / 365) + rng.normal(size=nights),
        skipped=(),
    )


def strengths(count: int, nights: int, memory: float, seed: int) -> FloatArray:
    """The largest |z| so far of every night and series (nights, count)."""
    rng = np.random.default_rng(seed)
    options = DriftOptions(smallest=0.0, burn_in=BURN_IN)
    parts = [strongest(quiet(nights, memory, rng), options) for _ in range(-(-count // TOGETHER))]
    z = np.concatenate(parts, axis=1)[:, :count]
    known = as_if_known(z, np.arange(1, nights + 1)[:, None])
    top: FloatArray = np.maximum.accumulate(known, axis=0)
    return top


def rates(top: FloatArray) -> FloatArray:
    """Alarms per night and series at each of the levels: those that are the first."""
    quiet_nights = [(top[BURN_IN:] <= level).sum() for level in LEVELS]
    first = [(top[-1] > level).sum() for level in LEVELS]
    found: FloatArray = np.array(first, dtype=float) / np.array(quiet_nights)
    return found


def main() -> None:
    """Print the rates and the line through them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--series", type=int, default=2500)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--memory", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    top = strengths(asked.series, asked.nights, asked.memory, asked.seed)
    found = rates(top)
    print(f"{asked.series} series of {asked.nights} nights, memory {asked.memory}")
    for level, rate in zip(LEVELS, found, strict=True):
        count = int((top[-1] > level).sum())
        print(f"|z| > {level:4.2f}: {count:5d} series, {365 * rate:8.4f} alarms a year")
    seen = found * (top[BURN_IN:].size) >= 5
    x, y = np.square(LEVELS)[seen] / 2, np.log(found[seen])
    slope, start = np.polyfit(x, y, 1, w=np.sqrt(found[seen]))
    print(f"A0, A1 = {start:.2f}, {-slope:.2f}")
    by = [int(((top[b - 1] > 4.0) & (top[a - 1] <= 4.0)).sum()) for a, b in PARTS]
    print("first alarms at 4.0 by nights", dict(zip(PARTS, by, strict=True)))


PARTS = ((14, 30), (30, 60), (60, 120), (120, 240), (240, 365))

if __name__ == "__main__":
    main()
