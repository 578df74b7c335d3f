"""Robots without logs: nights drawn with the statistics of those that have them.

What a fit says of a night is its level, what temperature, fault and the noise of friction do to the
true parameters, and scatter: normal, with the correlation between parameters that the fits of
whole logs have about their own lines. Stated deviations are drawn from those fits as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from benchmarks.drift.faults import PER_KELVIN, Fault, drawn, effects
from benchmarks.drift.whole import (
    ERROR,
    ROBOT,
    START,
    Year,
    friction_noise,
    machine_of,
    temperature,
)
from deltadyn.arrays import FloatArray
from deltadyn.history.drift import Drift
from deltadyn.history.entry import Entry

MISSING, BAD = 0.1, 0.002  # shares of nights without a log, and with a bad one
RECORDED = 0.85  # of the robots have a thermometer


@dataclass(frozen=True, eq=False)
class Statistics:
    """Names, levels, units of the parameters and residuals, their scatter, stated deviations.

    `scatter` (k, k) is the covariance of logarithms (of values over `level` for those about 0);
    `stated` (m, k) are stated deviations as shares of the level, a row per fit.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    level: FloatArray
    scatter: FloatArray
    stated: FloatArray
    torque: FloatArray


def statistics(years: list[Year], found: list[Drift]) -> Statistics:
    """The statistics of whole years about their fitted lines, less the noise of friction."""
    names = tuple(track.name for track in found[0].tracks)
    parts, stated = [], []
    for year, drift in zip(years, found, strict=True):
        rest = []
        for name in names:
            track = drift[name]
            size = np.abs(np.median(track.level))
            off = (track.values - track.fitted) / (size if _about_zero(name) else track.fitted)
            rest.append(np.clip(off, *np.quantile(off, (0.02, 0.98))))
        parts.append(np.array(rest).T)
        level = {
            name: float(np.abs(np.median((found[0] if _about_zero(name) else drift)[name].level)))
            for name in names
        }
        stated += [_stated(entry, level) for entry in year.entries]
    rest = np.concatenate(parts)
    first = years[0].entries[0]
    return Statistics(
        names=names,
        units=tuple(track.unit for track in found[0].tracks),
        level=np.array([float(np.abs(np.median(found[0][name].level))) for name in names]),
        scatter=np.cov(rest.T),
        stated=np.array(stated),
        torque=first.torque_level,
    )


def _about_zero(name: str) -> bool:
    return name.startswith("F0")


def _stated(entry: Entry, level: dict[str, float]) -> list[float]:
    """Stated deviations as shares of the levels; 0 for residuals, which state none."""
    found = dict(zip(entry.names, entry.std, strict=True))
    return [float(found.get(name, 0.0)) / size for name, size in level.items()]


def drawn_year(
    serial: str, kind: str | None, count: int, known: Statistics, rng: np.random.Generator
) -> Year:
    """Nights of a robot with a fault of a kind, or with none."""
    machine = machine_of(int(rng.integers(1 << 30)))
    fault = drawn(kind, count, rng) if kind else None
    moved = effects(machine, fault) if fault else {}
    days = np.flatnonzero(rng.random(count) >= MISSING).astype(float)
    recorded = bool(rng.random() < RECORDED)
    warm, shares = temperature(days, rng), known.stated
    logs = _logarithms(known, days, warm, fault, moved, rng)
    entries = []
    for row, day in enumerate(days):
        shown = 25.0 + warm[row] + ERROR * rng.normal() if recorded else None
        entries.append(
            _entry(known, serial, float(day), logs[row], shares[rng.integers(len(shares))], shown)
        )
    return Year(serial, entries, fault, recorded, moved)


def _logarithms(
    known: Statistics,
    days: FloatArray,
    warm: FloatArray,
    fault: Fault | None,
    moved: dict[str, float],
    rng: np.random.Generator,
) -> FloatArray:
    """Logarithms (n, k) of the factors on the levels."""
    n = len(days)
    root = np.linalg.cholesky(known.scatter + 1e-12 * np.eye(len(known.names)))
    out = rng.standard_normal((n, len(known.names))) @ root.T
    noise = friction_noise(n, 3, rng)
    course = np.array([fault.course(day) if fault else 0.0 for day in days])
    for k, name in enumerate(known.names):
        if name[:2] in ("Fc", "Fv"):
            law = PER_KELVIN["coulomb" if name[1] == "c" else "viscous"]
            out[:, k] += law * warm + noise[:, int(name[2]) - 1]
        if name in moved:
            out[:, k] += np.log1p(course * np.expm1(moved[name]))
    bad = rng.random(n) < BAD
    out[bad] += rng.choice([-1, 1], (bad.sum(), 1)) * rng.uniform(0.1, 0.4, (bad.sum(), 1))
    return out


def _entry(
    known: Statistics,
    serial: str,
    day: float,
    logs: FloatArray,
    shares: FloatArray,
    shown: float | None,
) -> Entry:
    zero = np.array([_about_zero(name) for name in known.names])
    values = np.where(zero, known.level * logs, known.level * np.exp(logs))
    own = np.array([not name.startswith("residual") for name in known.names])
    std = shares * known.level
    return Entry(
        robot=ROBOT,
        serial=serial,
        time=START + timedelta(days=day),
        kind="log",
        names=tuple(np.array(known.names)[own].tolist()),
        units=tuple(np.array(known.units)[own].tolist()),
        values=values[own],
        std=std[own],
        covariance=np.diag(std[own] ** 2),
        residual=values[~own] * known.torque,
        torque_level=known.torque,
        temperature=shown,
    )
