"""A controller's own angles: its sign and offset, and the eccentricity of its encoders.

    x = sign (q + e(q)) + offset,    e = sum over waves of c cos(n q) + d sin(n q)

with rates by the chain rule: xd = sign (1 + e') qd, xdd = sign ((1 + e') qdd + e'' qd^2).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from deltadyn.errors import InputError
from deltadyn.robot.settings import Controller, Sensors

ROUNDS = 60  # of q = r - e(q); each shrinks the error by |e'|, which is at most 0.5


class _Robot(Protocol):
    @property
    def controller(self) -> Controller: ...
    @property
    def sensors(self) -> Sensors: ...


class Angles(NamedTuple):
    """Angles, rates and accelerations (..., n) of some axes; None where they are not known."""

    q: Any
    qd: Any = None
    qdd: Any = None


class _Bend(NamedTuple):
    """e, e' and e'' at some angles."""

    value: Any
    slope: Any
    curvature: Any


def to_controller(robot: _Robot, motion: Angles, axes: slice = slice(None)) -> Angles:
    """A motion of these axes as the controller has it."""
    sign, offset = _convention(robot, axes)
    q, qd, qdd = (None if x is None else np.asarray(x) for x in motion)
    if not robot.sensors.eccentricity:
        return Angles(q * sign + offset, *(None if x is None else x * sign for x in (qd, qdd)))
    bend = _bend(robot, q, axes)
    rate = push = None
    if qd is not None:
        rate = sign * (1 + bend.slope) * qd
    if qdd is not None:
        push = sign * ((1 + bend.slope) * qdd + bend.curvature * _known(qd) ** 2)
    return Angles(sign * (q + bend.value) + offset, rate, push)


def from_controller(robot: _Robot, motion: Angles, axes: slice = slice(None)) -> Angles:
    """Our motion of these axes, of the controller's."""
    sign, offset = _convention(robot, axes)
    x, xd, xdd = (None if part is None else np.asarray(part) for part in motion)
    read = (x - offset) / sign
    if not robot.sensors.eccentricity:
        return Angles(read, *(None if part is None else part * sign for part in (xd, xdd)))
    q = read
    for _ in range(ROUNDS):
        before, q = q, read - _bend(robot, q, axes).value
        if np.all(np.abs(q - before) <= 1e-16 * np.abs(q)) or np.isnan(q).all():
            break
    bend = _bend(robot, q, axes)
    qd = qdd = None
    if xd is not None:
        qd = sign * xd / (1 + bend.slope)
    if xdd is not None:
        qdd = (sign * xdd - bend.curvature * _known(qd) ** 2) / (1 + bend.slope)
    return Angles(q, qd, qdd)


def _known(rate: Any) -> Any:
    if rate is None:
        allowed = "rates beside them: the encoders' eccentricity bends accelerations by the rates"
        raise InputError("accelerations", "without rates", allowed)
    return rate


def _convention(robot: _Robot, axes: slice) -> tuple[Any, Any]:
    return np.asarray(robot.controller.sign)[axes], np.asarray(robot.controller.offset)[axes]


def _bend(robot: _Robot, q: Any, axes: slice) -> _Bend:
    value = slope = curvature = np.zeros_like(q, dtype=np.float64)
    for wave in robot.sensors.eccentricity:
        n, c, d = wave.order, np.asarray(wave.cos)[axes], np.asarray(wave.sin)[axes]
        cosine, sine = np.cos(n * q), np.sin(n * q)
        part = c * cosine + d * sine
        value = value + part
        slope = slope + n * (d * cosine - c * sine)
        curvature = curvature - n**2 * part
    return _Bend(value, slope, curvature)
