"""Small fits, logs and entries for tests of the history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.history import Entry
from deltadyn.identification.fit import Fit
from deltadyn.recording import Recording

ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=1.0, coulomb=3.0, smoothing=0.01)
START = datetime(2026, 5, 3, 2, 0, tzinfo=UTC)


@cache
def log(number: int = 0) -> Recording:
    """A log of the robot with noise of its own, as measured at 20 degrees and more."""
    found = recording_of(ROBOT, 0.3, seed=number, name=f"night {number}")
    return found.replace(temperature=np.full(len(found), 20.0 + number))


@cache
def fit(number: int = 0) -> Fit:
    """A fit of that log, with the terms of the file."""
    return dd.identify(ROBOT, log(number), "base", terms="file", unidentifiable="hold")


def entry(number: int = 0, serial: str = "D3-0117", **changes: object) -> Entry:
    """An entry that no log was needed for."""
    fields: dict[str, object] = {
        "robot": "sipro-d3-1200",
        "serial": serial,
        "time": START + timedelta(days=number),
        "kind": "log",
        "names": ("M_P", "Fc1", "Fc2"),
        "units": ("kg", "N m", "N m"),
        "values": np.array([1.3, 3.0, 3.1 + 0.01 * number]),
        "std": np.array([0.01, 0.02, np.inf]),
        "covariance": np.diag([1e-4, 4e-4, 1.0]),
        "residual": np.array([0.1, 0.2, 0.3]),
        "torque_level": np.array([6.0, np.nan, 7.0]),
        "method": "base",
        "model": "exact",
        "log": f"{serial} {number}",
    }
    return Entry(**{**fields, **changes})  # type: ignore[arg-type]
