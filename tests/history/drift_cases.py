"""Histories with known changes, for the tests of drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.history.entry import Entry

START = datetime(2026, 1, 5, 2, tzinfo=UTC)
#: Families of parameters: value, unit, scatter as a share, and share per kelvin.
FAMILIES = {
    "A": (0.18, "kg m^2", 0.003, 0.0),
    "G": (0.25, "kg m", 0.05, 0.0),
    "Fv": (0.66, "N m s/rad", 0.008, -0.02),
    "Fc": (1.8, "N m", 0.005, -0.005),
}
NAMES = ("M_P", *(f"{family}{axis}" for family in FAMILIES for axis in (1, 2, 3)))


def history(
    nights: int = 120,
    seed: int = 0,
    *,
    factors: Mapping[str, Any] | None = None,
    season: float = 0.0,
    recorded: bool = True,
    stated: float = 1.0,
    days: npt.ArrayLike | None = None,
    hidden: Sequence[str] = (),
) -> list[Entry]:
    """Nights of one robot; `factors` are functions of the row by the name of a parameter.

    `season` (K) is the amplitude of a year's temperature, `stated` what stated deviations are in
    units of the true ones, `hidden` parameters that no night shows.
    """
    rng = np.random.default_rng(seed)
    times = np.arange(nights, dtype=float) if days is None else np.asarray(days, dtype=float)
    return [_night(row, day, rng, factors or {}, season, recorded, stated, hidden)
            for row, day in enumerate(times)]  # fmt: skip


def _night(
    row: int,
    day: float,
    rng: np.random.Generator,
    factors: Mapping[str, Any],
    season: float,
    recorded: bool,
    stated: float,
    hidden: Sequence[str],
) -> Entry:
    warm = season * np.sin(2 * np.pi * day / 365) + rng.normal()
    values, std, units = [], [], []
    for name in NAMES:
        value, unit, scatter, share = FAMILIES.get(name[:-1], (1.33, "kg", 0.0015, 0.0))
        x = value * np.exp(scatter * rng.normal() + share * warm)
        x *= factors[name](row) if name in factors else 1.0
        values.append(x)
        units.append(unit)
        std.append(np.inf if name in hidden else stated * scatter * value)
    return Entry(
        robot="sipro-d3-1200",
        serial="cell-7",
        time=START + timedelta(days=day),
        kind="log",
        names=NAMES,
        units=tuple(units),
        values=np.array(values),
        std=np.array(std),
        covariance=np.diag(np.square(std)),
        residual=0.15 * np.exp(0.05 * rng.normal(size=3)),
        torque_level=np.full(3, 5.0),
        temperature=25.0 + warm if recorded else None,
        zone="Europe/Rome",
    )


def step(row: int, size: float, until: int | None = None) -> Any:
    """A factor 1 + size from a row on, up to another."""
    return lambda i: 1 + size if i >= row and (until is None or i < until) else 1.0


def ramp(row: int, size: float, nights: int) -> Any:
    """A factor that grows from 1 to 1 + size within so many nights."""
    return lambda i: 1 + size * min(max(i - row, 0) / nights, 1.0)


def once(row: int, size: float) -> Any:
    """A factor of one night."""
    return lambda i: 1 + size if i == row else 1.0
