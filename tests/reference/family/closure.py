"""Numerical closure of an open tree, and the dynamics of the closed robot.

The loops C(y) = 0 of all coordinates y of the tree may hold redundant rows: two equal chains that
keep a platform parallel, the second bar of an articulated platform. Newton steps are least squares,
and the motions that the loops leave are the null space of their Jacobian by its singular values.
How many there are, the mobility, is a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from tests.reference.engines.spec import Array

from .tree import Tree

CLOSED = 3e-14  # some rounding errors of a length of 1 m or a wheel's angle of 10 rad
NO_MOTION = 1e-9  # singular values below belong to a motion or to a redundant row
DAMPING = 1e-12  # lets a Newton step pass over redundant rows


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of the closing links in N states: Jacobians and drifts are linear over angular."""

    position: Array  # (N, links, 3)
    rotation: Array  # (N, links, 3, 3)
    jacobian: Array  # (N, links, 6, n)
    drift: Array  # (N, links, 6), acceleration at ydd = 0

    @classmethod
    def empty(cls, states: int, links: int, n: int) -> Frames:
        """Frames to be filled; drifts are zero."""
        return cls(
            np.empty((states, links, 3)),
            np.empty((states, links, 3, 3)),
            np.empty((states, links, 6, n)),
            np.zeros((states, links, 6)),
        )


class Engine(Protocol):
    """What the closure asks of an engine; coordinates (N, n) of the open tree in its order."""

    @property
    def tree(self) -> Tree: ...

    def frames(self, x: Array, xd: Array) -> Frames: ...

    def mass_matrix(self, x: Array) -> Array: ...

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array: ...


class Closed(NamedTuple):
    """Closed states: yd = gamma qd, and the motion of the platform xd = J qd."""

    y: Array  # (N, n)
    frames: Frames
    gamma: Array  # (N, n, dof)
    J: Array  # (N, dof, dof)
    pinv: Array  # (N, n, rows) of the loops' Jacobian
    idle: Array  # (N, rows, k), loop forces that balance among themselves
    mobility: Array  # (N,)
    margin: Array  # (N,), smallest singular value that is not zero


def close(engine: Engine, start: Array) -> Closed:
    """Close the loops with the driven coordinates held, and find the motions that remain."""
    tree = engine.tree
    driven = [tree.names.index(name) for name in tree.driven]
    passive = [i for i in range(len(tree.names)) if i not in driven]
    y, still = start.copy(), np.zeros_like(start)
    for _ in range(20):
        frames = engine.frames(y, still)
        residual, jacobian, _ = _loops(tree, frames, y, still)
        if np.max(np.abs(residual)) <= CLOSED:
            break
        part = jacobian[:, :, passive]
        normal = part.transpose(0, 2, 1) @ part + DAMPING * np.eye(len(passive))
        right = part.transpose(0, 2, 1) @ residual[..., None]
        y[:, passive] -= np.linalg.solve(normal, right)[..., 0]
    else:
        raise RuntimeError(f"loops are open by {np.max(np.abs(residual)):.1e} after 20 steps")

    u, size, vt = np.linalg.svd(jacobian)
    held = size > NO_MOTION
    rank = held.sum(axis=1)
    mobility = len(tree.names) - rank
    dof = len(driven)
    if np.any(mobility != dof):
        raise RuntimeError(f"mobility {np.unique(mobility)}; {dof} coordinates are driven")
    r = int(rank[0])
    null = vt[:, r:].transpose(0, 2, 1)
    gamma = null @ np.linalg.inv(null[:, driven])
    pinv = vt[:, :r].transpose(0, 2, 1) @ (u[:, :, :r] / size[:, None, :r]).transpose(0, 2, 1)
    pose = frames.jacobian[:, tree.closing.index(tree.pose)][:, list(tree.pose_rows)]
    return Closed(y, frames, gamma, pose @ gamma, pinv, u[:, :, r:], mobility, size[:, r - 1])


class States(NamedTuple):
    """States of a member and what an engine says about them: tau = M qdd + c + g, xd = J qd.

    Units of linear axes are m and N. Shapes (N, dof), of M and J (N, dof, dof).
    """

    q: Array
    qd: Array
    qdd: Array
    x: Array
    xd: Array
    xdd: Array
    tau: Array
    M: Array
    c: Array
    g: Array
    J: Array
    tips: Array  # (N, limbs, 3), force of the platform on the rods of a strut together
    mobility: Array  # (N,), found from the loops
    turning: Array  # (N,), largest turn, rate of turn per qd of what must not turn


class Motion(NamedTuple):
    """How the coordinates of the open tree move, with the driven ones qd, qdd."""

    frames: Frames
    qd: Array
    qdd: Array
    yd: Array
    ydd: Array
    drift: Array  # (N, n), ydd at qdd = 0


def move(engine: Engine, closed: Closed, xd: Array, xdd: Array) -> Motion:
    """qd = J^-1 xd,  yd = gamma qd,  ydd = gamma qdd + drift with loops' Jd yd."""
    tree, y, gamma = engine.tree, closed.y, closed.gamma
    driven = [tree.names.index(name) for name in tree.driven]
    rows, pose = list(tree.pose_rows), tree.closing.index(tree.pose)
    qd = _solve(closed.J, xd)
    yd = _times(gamma, qd)
    frames = engine.frames(y, yd)
    _, _, bend = _loops(tree, frames, y, yd)
    drift = -_times(closed.pinv, bend)
    drift -= _times(gamma, drift[:, driven])
    tool = frames.jacobian[:, pose][:, rows]
    remaining = xdd - _times(tool, drift) - frames.drift[:, pose][:, rows]
    qdd = _solve(closed.J, remaining)
    return Motion(frames, qd, qdd, yd, _times(gamma, qdd) + drift, drift)


def solve_states(
    engine: Engine, closed: Closed, xd: Array, xdd: Array, psi: Array | None = None
) -> States:
    """Motion and torques of closed states with platform velocities and accelerations.

    tau = gamma^T ID(y, yd, ydd). psi (N,) tells on which turn the tool's angle is read.
    """
    tree, y, gamma = engine.tree, closed.y, closed.gamma
    driven = [tree.names.index(name) for name in tree.driven]
    rows, pose = list(tree.pose_rows), tree.closing.index(tree.pose)
    frames, qd, qdd, yd, ydd, drift = move(engine, closed, xd, xdd)

    zero = np.zeros_like(y)
    mass = engine.mass_matrix(y)
    back = gamma.transpose(0, 2, 1)
    g = _times(back, engine.inverse_dynamics(y, zero, zero))
    moving = engine.inverse_dynamics(y, yd, zero)
    needed = engine.inverse_dynamics(y, yd, ydd)
    tau = _times(back, needed)
    needed[:, driven] -= tau
    at_tips = _at_tips(tree)
    loads = _times(closed.pinv.transpose(0, 2, 1), needed)
    tips = np.einsum("lcr,nr->nlc", at_tips, loads)
    if np.any(np.abs(np.einsum("lcr,nrk->nlck", at_tips, closed.idle)) > NO_MOTION):
        raise RuntimeError("redundant loops leave the forces of the struts open")
    upright = [tree.closing.index(name) for name in tree.upright]
    turn = np.abs(frames.rotation[:, upright] - np.eye(3)).max(axis=(1, 2, 3))
    spin = np.abs(frames.jacobian[:, upright, 3:] @ gamma[:, None]).max(axis=(1, 2, 3))
    return States(
        q=y[:, driven],
        qd=qd,
        qdd=qdd,
        x=_pose(frames, pose, rows, psi),
        xd=_times(closed.J, qd),
        xdd=xdd,
        tau=tau,
        M=back @ mass @ gamma,
        c=_times(back, moving + _times(mass, drift)) - g,
        g=g,
        J=closed.J,
        tips=tips,
        mobility=closed.mobility,
        turning=np.maximum(turn, spin),
    )


def _at_tips(tree: Tree) -> Array:
    """Sums (limbs, 3, rows) of the loops' forces on the tips of each strut's rods."""
    rows = sum(len(meet.along) for meet in tree.meets) + len(tree.normals) + len(tree.ratios)
    sums, row = np.zeros((len(tree.member.limbs), 3, rows)), 0
    for meet in tree.meets:
        if meet.first.startswith("rod "):
            limb = int(meet.first.removeprefix("rod ")[0])
            sums[limb, :, row : row + len(meet.along)] = meet.along.T
        row += len(meet.along)
    return sums


def _pose(frames: Frames, pose: int, rows: list[int], psi: Array | None) -> Array:
    x: Array = frames.position[:, pose][:, [row for row in rows if row < 3]]
    if 5 not in rows:
        return x
    assert psi is not None
    rotation = frames.rotation[:, pose]
    yaw = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
    return np.column_stack([x, yaw + 2 * np.pi * np.round((psi - yaw) / (2 * np.pi))])


def _loops(tree: Tree, frames: Frames, y: Array, yd: Array) -> tuple[Array, Array, Array]:
    """Residuals (N, rows), their Jacobian (N, rows, n) and their acceleration at ydd = 0."""
    place = {name: k for k, name in enumerate(tree.closing)}
    residuals, jacobians, bends = [], [], []
    for meet in tree.meets:
        ends = [
            _point(frames, place[name], at, yd)
            for name, at in ((meet.first, meet.first_point), (meet.second, meet.second_point))
        ]
        (r1, j1, b1), (r2, j2, b2) = ends
        residuals.append((r1 - r2) @ meet.along.T)
        jacobians.append(meet.along @ (j1 - j2))
        bends.append((b1 - b2) @ meet.along.T)
    for normal in tree.normals:
        (a, ja, ba), (b, jb, bb) = (
            _direction(frames, place[name], axis, yd)
            for name, axis in (
                (normal.first, normal.first_axis),
                (normal.second, normal.second_axis),
            )
        )
        residuals.append(np.sum(a * b, axis=1)[:, None])
        jacobians.append(a[:, None] @ jb + b[:, None] @ ja)
        both = np.sum(a * bb + b * ba + 2 * _times(ja, yd) * _times(jb, yd), axis=1)
        bends.append(both[:, None])
    for ratio in tree.ratios:
        row = np.array([ratio.factors.get(name, 0.0) for name in tree.names])
        residuals.append((y @ row - ratio.constant)[:, None])
        jacobians.append(np.broadcast_to(row, (len(y), 1, len(row))))
        bends.append(np.zeros((len(y), 1)))
    return (
        np.concatenate(residuals, axis=1),
        np.concatenate(jacobians, axis=1),
        np.concatenate(bends, axis=1),
    )


def _point(frames: Frames, link: int, at: Array, yd: Array) -> tuple[Array, Array, Array]:
    """A point r of a link: r, its Jacobian, and its acceleration at ydd = 0."""
    lever, turn, bend = _direction(frames, link, at, yd)
    return (
        frames.position[:, link] + lever,
        frames.jacobian[:, link, :3] + turn,
        frames.drift[:, link, :3] + bend,
    )


def _direction(frames: Frames, link: int, axis: Array, yd: Array) -> tuple[Array, Array, Array]:
    """A vector e of a link, ed = w x e: e, its Jacobian, wd x e + w x (w x e) at ydd = 0."""
    e = frames.rotation[:, link] @ axis
    turn = frames.jacobian[:, link, 3:]
    w = _times(turn, yd)
    bend = np.cross(frames.drift[:, link, 3:], e) + np.cross(w, np.cross(w, e))
    return e, -_skew(e) @ turn, bend


def _skew(w: Array) -> Array:
    x, y, z = w.T
    zero = np.zeros_like(x)
    return np.stack([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product


def _solve(matrix: Array, vector: Array) -> Array:
    return np.linalg.solve(matrix, vector[..., None])[..., 0].astype(np.float64)
