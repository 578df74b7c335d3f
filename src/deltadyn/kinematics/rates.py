"""Jacobian, its rate, and velocities and accelerations in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples, contract, matching_samples, restore
from deltadyn.kinematics.inverse import (
    Elbows,
    arm_directions,
    elbow_signs,
    raise_if_unreachable,
)
from deltadyn.robot import Robot
from deltadyn.small import inverse_of_rows
from deltadyn.tracing import on_jax


@dataclass(frozen=True, eq=False)
class LimbGeometry:
    """What the limbs of many samples look like, rows per limb, in the base frame.

    s_i = p - E_i, E'_i and E''_i as (N, 3, 3), d_i = s_i . E'_i as (N, 3).
    """

    s: FloatArray
    e1: FloatArray
    e2: FloatArray
    d: FloatArray

    @classmethod
    def of(cls, robot: Robot, p: FloatArray, c: FloatArray, s: FloatArray) -> LimbGeometry:
        """The limbs at platform points p (N, >= 3) with arms at cos, sin = c, s (N, 3)."""
        g = robot.geometry
        ca, sa = np.cos(g.azimuth), np.sin(g.azimuth)
        l1, r = np.asarray(g.arm_length), np.asarray(g.shrunk_radius)
        reach = r + l1 * c
        elbow = np.stack([reach * ca, reach * sa, -l1 * s], axis=-1)
        e1 = np.stack([-l1 * s * ca, -l1 * s * sa, -l1 * c], axis=-1)
        e2 = np.stack([-l1 * c * ca, -l1 * c * sa, l1 * s], axis=-1)
        rod = p[:, None, :3] - elbow
        return cls(rod, e1, e2, contract("nik,nik->ni", rod, e1))

    @cached_property
    def s_inverse(self) -> FloatArray:
        """S^-1 (N, 3, 3) by cross products; not finite where the struts are coplanar."""
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = inverse_of_rows(np.moveaxis(self.s, 0, -1))
            return np.stack([np.stack(column) for column in inverse.columns()]).transpose(2, 1, 0)

    @cached_property
    def jacobian(self) -> FloatArray:
        """J = S^-1 diag(d) (N, 3, 3): pd = J qd; not finite where the struts are coplanar."""
        with np.errstate(invalid="ignore"):
            return self.s_inverse * self.d[:, None, :]

    def jacobian_rate(self, qd: FloatArray) -> FloatArray:
        """Jd = S^-1 (diag(dd) - Sd J) (N, 3, 3), for arm rates qd (N, >= 3)."""
        rates = qd[:, :3]
        with np.errstate(invalid="ignore"):
            pd = contract("nij,nj->ni", self.jacobian, rates)
            sd = pd[:, None, :] - self.e1 * rates[..., None]
            dd = contract("nik,nik->ni", sd, self.e1) + rates * contract(
                "nik,nik->ni", self.s, self.e2
            )
            inner = -sd @ self.jacobian
            index = np.arange(3)
            inner[:, index, index] += dd
            return self.s_inverse @ inner

    def platform_rates(self, qd: FloatArray, qdd: FloatArray) -> tuple[FloatArray, FloatArray]:
        """pd = J qd and pdd = J qdd + Jd qd (N, dof); psi passes through."""
        pd, pdd = qd.copy(), qdd.copy()
        pd[:, :3] = contract("nij,nj->ni", self.jacobian, qd[:, :3])
        pdd[:, :3] = contract("nij,nj->ni", self.jacobian, qdd[:, :3])
        pdd[:, :3] += contract("nij,nj->ni", self.jacobian_rate(qd), qd[:, :3])
        return pd, pdd


def jacobian(robot: Robot, p: npt.ArrayLike, *, elbows: Elbows = "out") -> FloatArray:
    """J (N, dof, dof) with pd = J qd; rows are not finite where the struts lie in one plane."""
    if on_jax(p):
        from deltadyn.backends import jax as traced

        J = traced.jacobian(robot, p, elbow_signs(elbows))
        if not traced.sound(J):
            jacobian(robot, np.asarray(p), elbows=elbows)  # raises for what is out of reach
        return J
    points, single = as_samples(p, robot.dof, "p")
    return restore(with_psi(_geometry(robot, points, elbows).jacobian, robot.dof, 1.0), single)


def jacobian_rate(
    robot: Robot, p: npt.ArrayLike, pd: npt.ArrayLike, *, elbows: Elbows = "out"
) -> FloatArray:
    """Jd (N, dof, dof) with pdd = J qdd + Jd qd; rows are not finite at singular poses."""
    if on_jax(p, pd):
        from deltadyn.backends import jax as traced

        Jd = traced.jacobian_rate(robot, p, pd, elbow_signs(elbows))
        if not traced.sound(Jd):
            jacobian_rate(robot, np.asarray(p), np.asarray(pd), elbows=elbows)
        return Jd
    points, single = as_samples(p, robot.dof, "p")
    speed = matching_samples(pd, points.shape[0], robot.dof, "pd")
    geometry = _geometry(robot, points, elbows)
    with np.errstate(divide="ignore", invalid="ignore"):
        qd = contract("nik,nk->ni", geometry.s, speed[:, :3]) / geometry.d
    return restore(with_psi(geometry.jacobian_rate(qd), robot.dof, 0.0), single)


def with_psi(matrix: FloatArray, dof: int, corner: float) -> FloatArray:
    """(N, 3, 3) as (N, dof, dof), with `corner` where psi meets psi."""
    if dof == 3:
        return matrix
    out = np.zeros((matrix.shape[0], dof, dof))
    out[:, :3, :3] = matrix
    out[:, 3, 3] = corner
    return out


def _geometry(robot: Robot, points: FloatArray, elbows: Elbows) -> LimbGeometry:
    c, s = arm_directions(robot, points, elbows)
    raise_if_unreachable(points, c)
    return LimbGeometry.of(robot, points, c, s)
