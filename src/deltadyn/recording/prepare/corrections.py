"""A log as the model should see it: with the delay, the encoder and the torque scale put right.

Some terms change what a sample means and not what torque it takes. Their columns are linearised;
once they are found, motion and torque are corrected by their values and linearised again there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

GEOMETRY = ("arm_length", "strut_length", "base_radius", "azimuth")
ON_RAILS = ("strut_length", "base_radius", "azimuth")

Values = Mapping[str, float]  # of terms, by the names of their columns


def contrasts(count: int) -> FloatArray:
    """Orthonormal directions (count, count - 1) along which a sum stays 0."""
    basis = np.linalg.qr(np.column_stack([np.ones(count), np.eye(count)[:, : count - 1]]))[0]
    out: FloatArray = basis[:, 1:]
    return out


def torque_ratio(robot: Robot, values: Values) -> FloatArray:
    """Reported over true torque (dof,), 1 in the mean of the limbs."""
    ratio, legs = np.ones(robot.dof), robot.legs
    own = [values.get(f"ratio.{k + 1}", 0.0) for k in range(legs - 1)]
    ratio[:legs] += contrasts(legs) @ own
    return ratio


def waves(dof: int, values: Values, term: str) -> dict[int, FloatArray]:
    """Amplitudes (dof, 2) of cos and sin by order, of names such as "eccentricity1.cos2"."""
    found: dict[int, FloatArray] = {}
    for name, value in values.items():
        head, _, place = name.partition(".")
        if head.startswith(term):
            own = found.setdefault(int(head[len(term) :]), np.zeros((dof, 2)))
            own[int(place[3:]) - 1, ("cos", "sin").index(place[:3])] = value
    return found


def geometry_fields(robot: Robot) -> tuple[str, ...]:
    """The lengths and azimuths of a robot that may be a little off; in a plane azimuths are not."""
    found = ON_RAILS if robot.linear else GEOMETRY
    return tuple(name for name in found if not (robot.planar and name == "azimuth"))


def changed_geometry(robot: Robot, by: Values) -> Robot:
    """The robot with lengths and azimuths changed by these amounts (m, rad)."""
    own: dict[str, Any] = {
        name: tuple(
            value + by.get(f"{name}{i + 1}", 0.0)
            for i, value in enumerate(getattr(robot.geometry, name))
        )
        for name in geometry_fields(robot)
    }
    same = all(value == getattr(robot.geometry, name) for name, value in own.items())
    return robot if same else robot.replace(geometry=replace(robot.geometry, **own))


def corrected(robot: Robot, part: Prepared, values: Values) -> Prepared:
    """The part as the model sees it with these values of terms; `robot` has its geometry."""
    state = part.state
    motion = (state.q, state.qd, state.qdd)
    late, eccentric = values.get("delay", 0.0), waves(robot.dof, values, "eccentricity")
    homed = np.array([values.get(f"homing{i + 1}", 0.0) for i in range(robot.dof)])
    if late:
        motion = _earlier(part.t, motion, late)
    if homed.any():
        motion = (motion[0] + homed, *motion[1:])
    for order, amplitude in eccentric.items():
        motion = _centred(motion, order, amplitude)
    if late or eccentric or homed.any() or any(name.startswith(GEOMETRY) for name in values):
        state = State.from_joints(robot, *motion, hint=state.p)
    return replace(part, state=state, tau=part.tau / torque_ratio(robot, values))


Joints = tuple[FloatArray, FloatArray, FloatArray]


def _earlier(t: FloatArray, motion: Joints, late: float) -> Joints:
    """The motion at t - late; at the ends that of the first or last sample."""
    from scipy.interpolate import CubicSpline  # takes longer than the rest of the import

    both = CubicSpline(t, np.column_stack(motion))(np.clip(t - late, t[0], t[-1]))
    q, qd, qdd = np.split(both, 3, axis=1)
    return q, qd, qdd


def _centred(motion: Joints, order: int, amplitude: FloatArray) -> Joints:
    """The motion of joints whose encoders show q + z, z = a cos(n q) + b sin(n q)."""
    q, qd, qdd = motion
    a, b = amplitude.T
    c, s = np.cos(order * q), np.sin(order * q)
    z, slope = a * c + b * s, order * (b * c - a * s)
    return q - z, qd - slope * qd, qdd - slope * qdd + order**2 * z * qd**2
