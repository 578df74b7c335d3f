"""States and columns of the 3-DOF exact model for long logs, where no kernels are in use.

The same numbers in a third of the time: everything is written over components of a few thousand
samples, so that temporaries stay in the cache.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import Component, FloatArray, chunks
from deltadyn.backends import available as kernels_available
from deltadyn.dynamics.friction import direction
from deltadyn.kinematics.limbs import Limb, Strut, cross, dot, limbs, platform_point, strut
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

Vector = tuple[Component, Component, Component]

PIECE = 16384  # samples: more than elsewhere, since threads take turns between short calls


def joint_state(robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> State:
    """`State.from_joints`, faster; where a sample cannot be, that function says why."""
    if kernels_available():
        return State.from_joints(robot, q, qd, qdd)
    count, dof = q.shape
    if dof != robot.dof or not q.shape == qd.shape == qdd.shape:
        return State.from_joints(robot, q, qd, qdd)
    out = np.empty((5, 3, count))
    three = limbs(robot)
    good = True
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(count, PIECE):
            angles, speed, acceleration = (_three(array[part]) for array in (q, qd, qdd))
            c, s, p, pd, pdd = out[:, :, part]
            np.cos(angles, out=c)
            np.sin(angles, out=s)
            point = platform_point(np, three, tuple(c), tuple(s))
            p[:] = point
            _platform_rates(three, c, s, point, speed, acceleration, pd, pdd)
            good = good and bool(np.isfinite(pdd).all())
    if not good or not all(np.isfinite(array).all() for array in (q, qd, qdd)):
        return State.from_joints(robot, q, qd, qdd)
    c, s, p, pd, pdd = (array.T for array in out)
    if dof == 4:
        p, pd, pdd = (
            np.column_stack([own, given[:, 3]])
            for own, given in zip((p, pd, pdd), (q, qd, qdd), strict=True)
        )
    state = State(p, pd, pdd, c, s, qd.copy(), qdd.copy())
    state.__dict__["q"] = q.copy()
    return state


def _platform_rates(
    three: tuple[Limb, Limb, Limb],
    c: FloatArray,
    s: FloatArray,
    point: Vector,
    qd: FloatArray,
    qdd: FloatArray,
    pd: FloatArray,
    pdd: FloatArray,
) -> None:
    """pd and pdd (3, N) from S pd = d qd and S pdd = d qdd + s.E'' qd^2 - |pd - E' qd|^2."""
    rods = [strut(limb, c[i], s[i], point) for i, limb in enumerate(three)]
    inverse = _inverse(three, rods)
    pd[:] = _combined(inverse, [rod.d * qd[i] for i, rod in enumerate(rods)])
    right = []
    for i, (limb, rod) in enumerate(zip(three, rods, strict=True)):
        rate = limb.l1 * qd[i]
        swing = rate * qd[i]
        hd, wd = pd[0] * limb.ca + pd[1] * limb.sa, pd[1] * limb.ca - pd[0] * limb.sa
        slip_r, slip_z = hd + s[i] * rate, pd[2] + c[i] * rate
        along = (rod.z * s[i] - rod.radial * c[i]) * swing
        right.append(rod.d * qdd[i] + along - (slip_r * slip_r + wd * wd + slip_z * slip_z))
    pdd[:] = _combined(inverse, right)


def has_fast_rows(robot: Robot, source: str) -> bool:
    """Whether `three_axis_rows` knows all terms of the robot's model."""
    friction = robot.friction
    return source == "exact" and robot.dof == 3 and friction.load is None and not friction.passive


def three_axis_rows(robot: Robot, state: State, out: FloatArray) -> None:
    """The wide columns of the exact model in out (3, 7 + terms + ., N), zero columns left out."""
    three, g = limbs(robot), robot.gravity
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(len(state), PIECE):
            c, s, p, pdd, qd, qdd = (
                _three(array[part])
                for array in (state.cos_q, state.sin_q, state.p, state.pdd, state.qd, state.qdd)
            )
            here = out[:, :, part]
            _inertial_rows(three, g, c, s, tuple(p), pdd, qd, qdd, here)
            _friction_rows(robot, qd, here[:, 7:])


def _inertial_rows(
    three: tuple[Limb, Limb, Limb],
    g: float,
    c: FloatArray,
    s: FloatArray,
    p: tuple[Component, ...],
    pdd: FloatArray,
    qd: FloatArray,
    qdd: FloatArray,
    out: FloatArray,
) -> None:
    """M_P, m_x of the three arms, and the axis' own A, G, G_s, in out (3, >= 7, N)."""
    rods = [strut(limb, c[i], s[i], p) for i, limb in enumerate(three)]
    inverse = _inverse(three, rods)
    lifted = pdd[2] + g
    elbows = []  # acceleration of each elbow with gravity, radial and upward
    for i, limb in enumerate(three):
        square = qd[i] * qd[i]
        radial = -limb.l1 * (s[i] * qdd[i] + c[i] * square)
        elbows.append((radial, g - limb.l1 * (c[i] * qdd[i] - s[i] * square)))
    for d, own in enumerate(three):
        x, y, z = (component * rods[d].d for component in inverse[d])  # the axis' column of J
        out[d, 0] = x * pdd[0] + y * pdd[1] + z * lifted
        for i, limb in enumerate(three):
            radial, upward = elbows[i]
            out[d, 1 + i] = (x * limb.ca + y * limb.sa) * radial + z * upward
        along = pdd[0] * own.ca + pdd[1] * own.sa
        out[d, 1 + d] -= own.l1 * (s[d] * along + c[d] * pdd[2])
        out[d, 4] = qdd[d]
        np.multiply(c[d], -g, out=out[d, 5])
        np.multiply(s[d], -g, out=out[d, 6])


def _friction_rows(robot: Robot, qd: FloatArray, out: FloatArray) -> None:
    """The drives' friction terms in out (3, terms, N), in the order of `friction_columns`."""
    friction = robot.friction
    s = direction(qd, friction.smoothing)
    out[:, 0] = qd
    term = 1
    if friction.coulomb_negative is None:
        out[:, term] = s
    else:
        out[:, term] = np.maximum(s, 0.0)
        term += 1
        out[:, term] = np.minimum(s, 0.0)
    if friction.stribeck is not None:
        term += 1
        ratio = qd / np.asarray(friction.stribeck_velocity).reshape(-1, 1)
        out[:, term] = s * np.exp(-(ratio**2))
    if friction.offset is not None:
        out[:, term + 1] = 1.0


def _inverse(three: tuple[Limb, Limb, Limb], rods: list[Strut]) -> list[Vector]:
    """The columns of S^-1 by cross products; not finite where the struts are coplanar."""
    s = [
        (
            rod.radial * limb.ca - rod.tangential * limb.sa,
            rod.radial * limb.sa + rod.tangential * limb.ca,
            rod.z,
        )
        for limb, rod in zip(three, rods, strict=True)
    ]
    normals = [cross(s[1], s[2]), cross(s[2], s[0]), cross(s[0], s[1])]
    scale = 1 / dot(s[0], normals[0])
    return [(n[0] * scale, n[1] * scale, n[2] * scale) for n in normals]


def _combined(vectors: list[Vector], shares: list[Component]) -> list[Component]:
    """The sum of vectors times shares, component by component."""
    a, b, c = vectors
    return [a[k] * shares[0] + b[k] * shares[1] + c[k] * shares[2] for k in range(3)]


def _three(array: FloatArray) -> FloatArray:
    """The first three coordinates (3, N) of (N, dof), each contiguous."""
    return np.ascontiguousarray(array[:, :3].T)
