"""The kinematic state of many samples: joints and platform, positions to accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import (
    Component,
    FloatArray,
    Unreachable,
    as_samples,
    check_unreachable,
    map_chunks,
    matching_samples,
)
from deltadyn.errors import UnreachableError
from deltadyn.kinematics.forward import platform_points, raise_if_open
from deltadyn.kinematics.inverse import Elbows, elbow_signs, raise_if_unreachable
from deltadyn.kinematics.limbs import arm_direction, joint_rates, limbs
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class State:
    """Consistent q, qd, qdd and p, pd, pdd of N samples, each (N, dof).

    The arm directions are kept as cos_q, sin_q (N, 3), because the closed forms need no angle.
    `single` tells that one sample (dof,) was given; results are then returned without the row.
    With unreachable="nan" what does not exist is NaN in the whole row: all that was asked for
    where the pose cannot be taken, its rates where the pose is singular.
    """

    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    cos_q: FloatArray
    sin_q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    single: bool = False

    @cached_property
    def q(self) -> FloatArray:
        """Joint angles (N, dof) in rad."""
        angles = self.p.copy()
        angles[:, :3] = np.arctan2(self.sin_q, self.cos_q)
        angles[np.isnan(self.cos_q).any(axis=1)] = np.nan
        return angles

    def __len__(self) -> int:
        return int(self.p.shape[0])

    @classmethod
    def from_platform(
        cls,
        robot: Robot,
        p: npt.ArrayLike,
        pd: npt.ArrayLike | None = None,
        pdd: npt.ArrayLike | None = None,
        *,
        elbows: Elbows = "out",
        unreachable: Unreachable = "raise",
    ) -> Self:
        """The state of platform positions, at rest where no rates are given."""
        check_unreachable(unreachable)
        nan = unreachable == "nan"
        dof = robot.dof
        points, single = as_samples(p, dof, "p", allow_nan=nan)
        points = points.copy()  # a state does not change with the caller's array
        count = points.shape[0]
        speed = _rates(pd, count, dof, "pd", nan)
        acceleration = _rates(pdd, count, dof, "pdd", nan)
        three, modes = limbs(robot), elbow_signs(elbows)

        def core(*motion: tuple[Component, ...]) -> list[Component]:
            arms = [
                arm_direction(np, limb, motion[0], mode)
                for limb, mode in zip(three, modes, strict=True)
            ]
            rates = [
                joint_rates(limb, *arm, *motion) for limb, arm in zip(three, arms, strict=True)
            ]
            pairs = (*zip(*arms, strict=True), *zip(*rates, strict=True))
            return [component for pair in pairs for component in pair]

        joined = map_chunks(core, [points, speed, acceleration], 12)
        c, s = joined[:, :3], joined[:, 3:6]
        if not nan:
            raise_if_unreachable(points, c)
        qd, qdd = speed.copy(), acceleration.copy()
        qd[:, :3], qdd[:, :3] = joined[:, 6:9], joined[:, 9:]
        if not nan:
            _raise_if_singular("p", points, qdd, "an arm and its strut are in line")
        missing = np.isnan(c).any(axis=1)
        c[missing], s[missing] = np.nan, np.nan
        _blank(qd, qdd)
        return cls(points, speed, acceleration, c, s, qd, qdd, single)

    @classmethod
    def from_joints(
        cls,
        robot: Robot,
        q: npt.ArrayLike,
        qd: npt.ArrayLike | None = None,
        qdd: npt.ArrayLike | None = None,
        *,
        platform: str = "below",
        unreachable: Unreachable = "raise",
    ) -> Self:
        """The state of joint angles, at rest where no rates are given."""
        check_unreachable(unreachable)
        nan = unreachable == "nan"
        dof = robot.dof
        angles, single = as_samples(q, dof, "q", allow_nan=nan)
        angles = angles.copy()
        count = angles.shape[0]
        speed = _rates(qd, count, dof, "qd", nan)
        acceleration = _rates(qdd, count, dof, "qdd", nan)
        c, s = np.cos(angles[:, :3]), np.sin(angles[:, :3])
        p = angles.copy()
        p[:, :3] = platform_points(robot, c, s, platform)
        if not nan:
            raise_if_open(angles, np.asarray(np.isnan(p).any(axis=1)))
        geometry = LimbGeometry.of(robot, p, c, s)
        pd, pdd = geometry.platform_rates(speed, acceleration)
        if not nan:
            _raise_if_singular("q", angles, pdd, "the struts lie in one plane or are parallel")
        p[np.isnan(p).any(axis=1)] = np.nan
        _blank(pd, pdd)
        state = cls(p, pd, pdd, c, s, speed, acceleration, single)
        state.__dict__["q"] = angles
        return state


def _rates(
    value: npt.ArrayLike | None, count: int, dof: int, name: str, allow_nan: bool
) -> FloatArray:
    if value is None:
        return np.zeros((count, dof))
    return matching_samples(value, count, dof, name, allow_nan=allow_nan).copy()


def _blank(first: FloatArray, second: FloatArray) -> None:
    """Make the rows NaN in which a rate does not exist."""
    bad = ~(np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1))
    first[bad], second[bad] = np.nan, np.nan


def _raise_if_singular(name: str, rows: FloatArray, rates: FloatArray, reason: str) -> None:
    bad = np.flatnonzero(~np.isfinite(rates).all(axis=1))
    if bad.size:
        raise UnreachableError(name, bad.tolist(), rows[bad[0]], f"singular pose, {reason}")
