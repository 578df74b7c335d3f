"""What no fit can use: other axes, values that are not finite, rest, unordered times."""

from __future__ import annotations

import numpy as np

from deltadyn.errors import InputError
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

FEWEST = 32  # samples of a recording
STILL = 1e-3  # rad: an axis that moves less stands still


def check_usable(robot: Robot, recording: Recording) -> None:
    """Refuse what no fit can use: other axes, values that are not finite, rest, unordered times."""
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    where = repr(recording.name)
    check_axes(robot, recording)
    if len(recording) < FEWEST:
        allowed = f"at least {FEWEST}"
        raise InputError("samples of the recording", len(recording), allowed, where=where)
    check_values(recording)
    travel = np.ptp(recording.q, axis=0)
    if travel.max() < STILL:
        raise InputError(
            "travel of the axes (rad)",
            travel,
            f"at least {STILL:g} rad on one axis: a robot at rest tells gravity alone",
            where=where,
        )


def check_axes(robot: Robot, recording: Recording) -> None:
    """Refuse a recording of a robot with other axes."""
    if recording.dof != robot.dof:
        raise InputError(
            "axes of the recording",
            recording.dof,
            f"{robot.dof}, as robot {robot.name!r} has",
            where=repr(recording.name),
        )


def check_values(recording: Recording, first_row: int = 0, after: float | None = None) -> None:
    """Refuse values that are not finite, and times that do not increase, from `after` (s) on."""
    where = repr(recording.name)
    for name in ("t", "q", "tau"):
        values = getattr(recording, name).reshape(len(recording), -1)
        finite = np.isfinite(values)
        if not finite.all():
            row, axis = (int(index) for index in np.argwhere(~finite)[0])
            place = f"{where}, row {first_row + row}"
            raise InputError(
                name,
                float(values[row, axis]),
                "finite numbers; `repair` fills short holes",
                where=place if name == "t" else f"{place}, axis {axis + 1}",
            )
    t = recording.t if after is None else np.concatenate([[after], recording.t])
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        row = int(back[0]) + 1
        raise InputError(
            "t",
            float(t[row]),
            f"above its predecessor {t[row - 1]:g} s; `repair` sorts rows",
            where=f"{where}, row {first_row + row - (after is not None)}",
        )
