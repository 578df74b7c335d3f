"""Exact loop closure of the open tree of an engine, and the dynamics of the closed robot.

Tree coordinates, in this order for every engine:

    x = (theta_1, beta_1 - theta_1, gamma_1, ..., theta_3, beta_3 - theta_3, gamma_3, p_x, p_y, p_z
         [, psi, phi, eta, s, eta_low, phi_low])

    phi, eta          upper universal joint: about its fork axis a, then about its cross axis b
    s                 distance from the upper to the lower universal joint
    eta_low, phi_low  lower universal joint: about its cross axis b, then about its fork axis

The closure C(x) = 0 says that each strut's tip meets its joint on the platform, and with a spindle
that the effector's origin meets p and that its axis is vertical. The effector's yaw is free: that
it equals psi is a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from .spec import Array, EngineRobot

TIPS = ("tip_1", "tip_2", "tip_3")
PLATFORM = slice(9, 12)
CLOSURE_TOLERANCE = 1e-14  # a few rounding errors of a length of 1 m


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame in the base: position (3,), rotation (3, 3), Jacobian (6, n), linear over angular."""

    position: Array
    rotation: Array
    jacobian: Array


class Engine(Protocol):
    """What the closure asks of an engine; x, xd, xdd are coordinates (n,) of the open tree.

    Frames are named tip_i, arm_i, strut_i (i = 1..3), platform, upper, lower, effector.
    """

    @property
    def robot(self) -> EngineRobot: ...

    def frames(self, x: Array, names: Sequence[str]) -> Mapping[str, Frame]:
        """Frames with their Jacobians."""

    def drifts(self, x: Array, xd: Array, names: Sequence[str]) -> Mapping[str, Array]:
        """Accelerations of the frames at xdd = 0, Jd xd: (6,), linear over angular."""

    def mass_matrix(self, x: Array) -> Array:
        """Mass matrix (n, n) of the open tree with its rotors."""

    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalised forces (n,) of the open tree with its rotors."""

    def energy(self, x: Array, xd: Array) -> tuple[float, float]:
        """Kinetic energy with rotors, and potential energy, 0 for a mass in the base plane."""

    def __hash__(self) -> int:
        """Of the engine itself: closed states are kept per engine."""


class Terms(NamedTuple):
    """tau = M qdd + c + g: M (N, dof, dof), c (N, dof), g (N, dof)."""

    M: Array
    c: Array
    g: Array


class PlatformMotion(NamedTuple):
    """Platform point and, with a spindle, the effector's own yaw; rates; each (N, dof)."""

    p: Array
    pd: Array
    pdd: Array


class Energy(NamedTuple):
    """Energies in J, each (N,)."""

    kinetic: Array
    potential: Array


@dataclass(frozen=True, eq=False)
class Closed:
    """A closed state: xd = Gamma qd and xdd = Gamma qdd + drift."""

    x: Array  # (n,)
    xd: Array  # (n,)
    gamma: Array  # (n, dof)
    drift: Array  # (n,), Gammad qd


def inverse_dynamics(
    engine: Engine, q: Array, qd: Array, qdd: Array, force: Array | None = None
) -> Array:
    """Torques (N, dof) of the drives: tau = Gamma^T (ID(x, xd, xdd) - f).

    f holds an external force on the robot at the platform point, (3,) or (N, 3) in the base frame.
    """
    f = _forces(force, len(q))
    tau = np.empty(q.shape)
    for k, s in enumerate(_closed_states(engine, q, qd)):
        tree = engine.inverse_dynamics(s.x, s.xd, s.gamma @ qdd[k] + s.drift)
        tau[k] = s.gamma.T @ tree - s.gamma[PLATFORM].T @ f[k]
    return tau


def terms(engine: Engine, q: Array, qd: Array) -> Terms:
    """Mass matrix, velocity term and gravity term in the joint coordinates.

    M = Gamma^T M_x Gamma,  g = Gamma^T h(x, 0),  c = Gamma^T (h(x, xd) + M_x Gammad qd) - g
    """
    n, dof = q.shape
    result = Terms(np.empty((n, dof, dof)), np.empty((n, dof)), np.empty((n, dof)))
    for k, s in enumerate(_closed_states(engine, q, qd)):
        zero = np.zeros_like(s.x)
        mass = engine.mass_matrix(s.x)
        at_rest = engine.inverse_dynamics(s.x, zero, zero)
        moving = engine.inverse_dynamics(s.x, s.xd, zero)
        result.M[k] = s.gamma.T @ mass @ s.gamma
        result.g[k] = s.gamma.T @ at_rest
        result.c[k] = s.gamma.T @ (moving + mass @ s.drift) - result.g[k]
    return result


def forward_dynamics(
    engine: Engine, q: Array, qd: Array, tau: Array, force: Array | None = None
) -> Array:
    """Joint accelerations (N, dof): M qdd = tau - c - g + J^T f, with f as in inverse_dynamics."""
    f = _forces(force, len(q))
    M, c, g = terms(engine, q, qd)
    closed = _closed_states(engine, q, qd)
    load = np.array([s.gamma[PLATFORM].T @ f[k] for k, s in enumerate(closed)])
    qdd: Array = np.linalg.solve(M, (tau - c - g + load)[..., None])[..., 0]
    return qdd


def platform(engine: Engine, q: Array, qd: Array, qdd: Array) -> PlatformMotion:
    """Platform motion (N, dof) as it comes out of the closure.

    With a spindle the fourth coordinate is the effector's yaw, atan2(x_y, x_x) of its x axis, on
    the turn nearest to psi; its rates are the effector's angular velocity and acceleration about z.
    """
    result = PlatformMotion(np.empty(q.shape), np.empty(q.shape), np.empty(q.shape))
    for k, s in enumerate(_closed_states(engine, q, qd)):
        xdd = s.gamma @ qdd[k] + s.drift
        for rows, value in zip(result, (s.x, s.xd, xdd), strict=True):
            rows[k, :3] = value[PLATFORM]
        if engine.robot.spindle is not None:
            effector = engine.frames(s.x, ["effector"])["effector"]
            drift = engine.drifts(s.x, s.xd, ["effector"])["effector"]
            yaw = np.arctan2(effector.rotation[1, 0], effector.rotation[0, 0])
            turns = np.round((q[k, 3] - yaw) / (2 * np.pi))
            result.p[k, 3] = yaw + 2 * np.pi * turns
            result.pd[k, 3] = effector.jacobian[5] @ s.xd
            result.pdd[k, 3] = effector.jacobian[5] @ xdd + drift[5]
    return result


def energy(engine: Engine, q: Array, qd: Array) -> Energy:
    """Kinetic energy with rotors, and potential energy without the external force."""
    pairs = np.array([engine.energy(s.x, s.xd) for s in _closed_states(engine, q, qd)])
    return Energy(pairs[:, 0], pairs[:, 1])


def close(engine: Engine, start: Array, qd: Array) -> Closed:
    """Close the loops: Newton on the passive coordinates, then rates by linear solves.

    C(x) = 0,   J_u xd_u = -J_a qd,   J_u xdd_u = -J_a qdd - Jd xd
    """
    robot = engine.robot
    active, passive = _split(robot)
    x = start.copy()
    for _ in range(20):
        residual, jacobian = _closure(engine, x)
        if np.max(np.abs(residual)) <= CLOSURE_TOLERANCE:
            break
        x[passive] -= np.linalg.solve(jacobian[:, passive], residual)
    else:
        raise RuntimeError(
            f"closure not reached: residual {np.max(np.abs(residual)):.1e} at x = {x}; "
            f"allowed is {CLOSURE_TOLERANCE:.0e}"
        )
    gamma = np.zeros((len(x), robot.dof))
    gamma[active] = np.eye(robot.dof)
    gamma[passive] = -np.linalg.solve(jacobian[:, passive], jacobian[:, active])
    xd = gamma @ qd
    drift = np.zeros(len(x))
    drift[passive] = -np.linalg.solve(jacobian[:, passive], _closure_drift(engine, x, xd))
    return Closed(x, xd, gamma, drift)


def starting_points(robot: EngineRobot, q: Array) -> Array:
    """Tree coordinates (N, n) near the closure, by plain geometry.

    p is the lower point common to three spheres of radius l2 about the elbows, each moved inward
    by the platform radius. The lower universal joint starts straight: the closure finds it.
    """
    theta = q[:, :3]
    l1 = np.array(robot.arm_length)
    r = np.array(robot.base_radius) - np.array(robot.platform_radius)
    z_hat = np.array([0.0, 0.0, 1.0])
    reach = r + l1 * np.cos(theta)
    centre = reach[..., None] * robot.radial - (l1 * np.sin(theta))[..., None] * z_hat
    p = _common_point(centre, np.array(robot.strut_length))

    strut = p[:, None] - centre  # (N, 3, 3)
    along, up = np.sum(strut * robot.radial, axis=2), strut[..., 2]
    across = np.sum(strut * robot.tangential, axis=2)
    beta = np.arctan2(-up, along)
    gamma = np.arctan2(across, np.hypot(along, up))
    x = np.column_stack([np.stack([theta, beta - theta, gamma], axis=2).reshape(-1, 9), p])
    if robot.spindle is None:
        return x

    psi = q[:, 3]
    shaft = p + z_hat * (robot.spindle.z_lower - robot.spindle.z_upper)
    along = np.cos(psi) * shaft[:, 0] + np.sin(psi) * shaft[:, 1]
    across = -np.sin(psi) * shaft[:, 0] + np.cos(psi) * shaft[:, 1]
    phi = np.arctan2(across, -shaft[:, 2])
    eta = np.arctan2(along, np.hypot(across, shaft[:, 2]))
    straight = np.zeros((len(q), 2))
    return np.column_stack([x, psi, phi, eta, np.linalg.norm(shaft, axis=1), straight])


def _common_point(centre: Array, radius: Array) -> Array:
    """Lower point (N, 3) common to three spheres: centres (N, 3, 3), one per row, radii (3,)."""
    first, to_others = centre[:, 0], centre[:, 1:] - centre[:, :1]
    # in coordinates from the first centre: two planes, and the line in which they meet
    level = (np.sum(to_others**2, axis=2) + radius[0] ** 2 - radius[1:] ** 2) / 2
    normal = np.cross(to_others[:, 0], to_others[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    planes = np.concatenate([to_others, normal[:, None]], axis=1)
    on_line = np.linalg.solve(planes, np.column_stack([level, np.zeros(len(level))])[..., None])
    foot: Array = on_line[..., 0]
    height = np.sqrt(radius[0] ** 2 - np.sum(foot**2, axis=1))
    common: Array = first + foot - (np.sign(normal[:, 2]) * height)[:, None] * normal
    return common


def _closed_states(engine: Engine, q: Array, qd: Array) -> tuple[Closed, ...]:
    if q.ndim != 2 or q.shape[1] != engine.robot.dof:
        raise ValueError(f"q has shape {q.shape}; allowed is (N, {engine.robot.dof})")
    return _closed_before(engine, q.astype(float).tobytes(), qd.astype(float).tobytes())


@lru_cache(maxsize=16)  # torque, terms and energy of the same states ask for the same closures
def _closed_before(engine: Engine, q: bytes, qd: bytes) -> tuple[Closed, ...]:
    angles, rates = (np.frombuffer(x).reshape(-1, engine.robot.dof) for x in (q, qd))
    starts = starting_points(engine.robot, angles)
    return tuple(close(engine, start, rate) for start, rate in zip(starts, rates, strict=True))


def _split(robot: EngineRobot) -> tuple[list[int], list[int]]:
    """Indices in x of the driven and of the passive coordinates."""
    active = [0, 3, 6] if robot.spindle is None else [0, 3, 6, 12]
    n = 12 if robot.spindle is None else 18
    return active, [i for i in range(n) if i not in active]


def _closure_frames(robot: EngineRobot) -> tuple[str, ...]:
    return (*TIPS, "platform") if robot.spindle is None else (*TIPS, "platform", "effector")


def _closure(engine: Engine, x: Array) -> tuple[Array, Array]:
    """Residual C (m,) and its Jacobian (m, n); the axis e of the effector has ed = w x e."""
    robot = engine.robot
    frames = engine.frames(x, _closure_frames(robot))
    platform = frames["platform"]
    joints = platform.position + np.array(robot.platform_radius)[:, None] * robot.radial
    rows = [frames[tip].position - joint for tip, joint in zip(TIPS, joints, strict=True)]
    jacobians = [frames[tip].jacobian[:3] - platform.jacobian[:3] for tip in TIPS]
    if robot.spindle is not None:
        effector = frames["effector"]
        axis = effector.rotation[:, 2]
        rows += [effector.position - platform.position, axis[:2]]
        jacobians += [
            effector.jacobian[:3] - platform.jacobian[:3],
            (-_skew(axis) @ effector.jacobian[3:])[:2],
        ]
    return np.concatenate(rows), np.concatenate(jacobians)


def _closure_drift(engine: Engine, x: Array, xd: Array) -> Array:
    """Jd xd of the closure (m,); the axis e of the effector has edd = wd x e + w x (w x e)."""
    robot = engine.robot
    drifts = engine.drifts(x, xd, _closure_frames(robot))
    rows = [drifts[tip][:3] - drifts["platform"][:3] for tip in TIPS]
    if robot.spindle is not None:
        effector = engine.frames(x, ["effector"])["effector"]
        axis, spin = effector.rotation[:, 2], _skew(effector.jacobian[3:] @ xd)
        turn = _skew(drifts["effector"][3:]) @ axis + spin @ spin @ axis
        rows += [drifts["effector"][:3] - drifts["platform"][:3], turn[:2]]
    return np.concatenate(rows)


def _skew(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def _forces(force: Array | None, n: int) -> Array:
    return np.broadcast_to(np.zeros(3) if force is None else force, (n, 3))
