"""The rigid model [gnad2024]: every body with its ten inertial parameters, linear in them.

Each body has a frame whose origin moves with Jv qd and which turns with Jw qd. In the body's own
axes, with a the origin's acceleration against gravity, the wrench that moves it is linear in the
ten parameters: f = m a + (wd x + w x w x) h, n = h x a + I wd + w x I w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.terms import (
    PlatformMap,
    Terms,
    joint_map,
    platform_map,
    shaft_rotation,
    side_by_side,
)
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    ArticulatedPlatform,
    Carriage,
    Platform,
    TenParameters,
)

LIMBS = "1234"  # marks of bodies that every limb has its own of
TEN = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")
TEN_UNITS = ("kg", "kg m", "kg m", "kg m", *("kg m^2",) * 6)


class BodyMotion(NamedTuple):
    """A body's axes R (N, 3, 3, columns) and the maps from qd to its origin and its turning.

    `copies` equal bodies move alike (the two rods of a strut).
    """

    name: str
    parameters: TenParameters
    copies: int
    R: FloatArray
    Jv: FloatArray
    Jvd: FloatArray
    Jw: FloatArray
    Jwd: FloatArray


def bodies(robot: Robot, state: State) -> list[BodyMotion]:
    """All moving bodies of a robot: arms, struts, platform [, telescope, effector].

    On rails carriages stand for the arms, and counterweights beside them where there are any. A
    platform of two halves has half_a of limbs 1 and 2, half_b of limbs 3 and 4, and the bars.
    """
    each = range(robot.legs)
    geometry, platform = platform_map(robot, state)
    if robot.linear:
        moving = [_sliding(robot, state, "carriage", i) for i in each]
        if has_counterweight(robot):
            moving += [_sliding(robot, state, "counterweight", i) for i in each]
    else:
        moving = [_arm(robot, state, i) for i in each]
    own = robot.platform
    if isinstance(own, Platform):
        moving += [strut_motion(robot, state, geometry, platform, i) for i in each]
        moving.append(_platform(robot, state, own, platform))
        if robot.spindle is not None:
            turn = np.zeros((2, len(state), robot.dof))
            turn[0, :, 3] = 1.0
            moving += _telescope(robot, state, platform)
            moving.append(_effector(robot, state, platform, turn))
        return moving
    maps = joint_map(robot, state)
    ends = [PlatformMap(side_by_side(maps.K[i]), side_by_side(maps.Kd[i])) for i in each]
    moving += [strut_motion(robot, state, geometry, ends[i], i) for i in each]
    turn = np.stack([side_by_side(part)[:, 3] for part in (maps.J, maps.Jd)])
    for mark, mass, end in zip("ab", own.half_mass, ends[::2], strict=True):
        ten, still = TenParameters(mass, (0.0, 0.0, 0.0), (0.0,) * 6), np.zeros_like(end.J)
        moving.append(BodyMotion(f"half_{mark}", ten, 1, _still(len(state)), *end, still, still))
    if isinstance(own, ArticulatedPlatform):
        moving.append(_bars(own, state, platform, turn))
    moving.append(_effector(robot, state, platform, turn))
    return moving


def rigid_terms(robot: Robot, state: State) -> Terms:
    """M, C, g of the rigid model; Md - 2C is skew."""
    count, dof = len(state), robot.dof
    M, C = np.zeros((count, dof, dof)), np.zeros((count, dof, dof))
    g = np.zeros((count, dof))
    for body in bodies(robot, state):
        part = body_terms(body, state.qd, robot.gravity)
        M, C, g = M + part.M, C + part.C, g + part.g
    index = np.arange(dof)
    M[:, index, index] += np.asarray(robot.drives.output_inertia)
    return Terms(M, C, g)


def rigid_columns(robot: Robot, state: State, tied: bool) -> Columns:
    """Ten columns per body and one per rotor; tied limbs share their columns."""
    blocks: dict[str, FloatArray] = {}
    values: dict[str, FloatArray] = {}
    for body in bodies(robot, state):
        name = body.name.rstrip(LIMBS) if tied else body.name
        block = body.copies * body_columns(body, state, robot.gravity)
        blocks[name] = blocks[name] + block if name in blocks else block
        values[name] = body.parameters.vector()
    names = [f"{name}.{entry}" for name in blocks for entry in TEN]
    units = [unit for _ in blocks for unit in TEN_UNITS]
    rotor = _rotor_columns(robot, state, tied)
    Y = np.concatenate([*blocks.values(), rotor.Y], axis=2)
    return Columns(
        Y,
        (*names, *rotor.names),
        (*units, *rotor.units),
        np.concatenate([*values.values(), rotor.values]),
    )


def body_columns(body: BodyMotion, state: State, gravity: float) -> FloatArray:
    """Torques (N, dof, 10) that a body asks of the drives per unit of its ten parameters."""
    rate, acceleration = state.qd, state.qdd
    a = _apply(body.Jv, acceleration) + _apply(body.Jvd, rate)
    a[:, 2] += gravity
    w = _apply(body.Jw, rate)
    wd = _apply(body.Jw, acceleration) + _apply(body.Jwd, rate)
    Rt = np.swapaxes(body.R, 1, 2)
    a, w, wd = (_apply(Rt, vector) for vector in (a, w, wd))
    W, Wd = skew(w), skew(wd)
    force = np.zeros((len(a), 3, 10))
    force[:, :, 0] = a
    force[:, :, 1:4] = Wd + W @ W
    moment = np.zeros_like(force)
    moment[:, :, 1:4] = -skew(a)
    moment[:, :, 4:] = inertia_columns(wd) + W @ inertia_columns(w)
    Jv, Jw = Rt @ body.Jv, Rt @ body.Jw
    return np.swapaxes(Jv, 1, 2) @ force + np.swapaxes(Jw, 1, 2) @ moment


def body_terms(body: BodyMotion, qd: FloatArray, gravity: float) -> Terms:
    """A body's M, C, g, in base axes about the body's origin.

    With W = [[m, -h x], [h x, I]]:
    C = J^T (W Jd + [[0, -w x h x], [w x h x, w x I + (h x v) x]] J).
    """
    ten, R = body.parameters, body.R
    m = body.copies * ten.mass
    h = body.copies * _apply(R, np.broadcast_to(ten.first_moment, (len(R), 3)))
    I = body.copies * (R @ inertia_matrix(ten) @ np.swapaxes(R, 1, 2))
    Jv, Jw, Jvd, Jwd = body.Jv, body.Jw, body.Jvd, body.Jwd
    H, Wx = skew(h), skew(_apply(Jw, qd))
    WH = Wx @ H
    turn = Wx @ I + skew(np.cross(h, _apply(Jv, qd)))
    Jvt, Jwt = np.swapaxes(Jv, 1, 2), np.swapaxes(Jw, 1, 2)
    M = m * (Jvt @ Jv) - Jvt @ H @ Jw + Jwt @ H @ Jv + Jwt @ I @ Jw
    C = Jvt @ (m * Jvd - H @ Jwd - WH @ Jw) + Jwt @ (H @ Jvd + I @ Jwd + WH @ Jv + turn @ Jw)
    up = np.array([0.0, 0.0, gravity])
    g = m * gravity * Jv[:, 2] + _apply(Jwt, np.cross(h, up))
    return Terms(M, C, g)


def skew(vector: FloatArray) -> FloatArray:
    """The matrices (N, 3, 3) of the cross product with vectors (N, 3)."""
    out = np.zeros((*vector.shape, 3))
    x, y, z = vector[:, 0], vector[:, 1], vector[:, 2]
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -z, y, -x
    out[:, 1, 0], out[:, 2, 0], out[:, 2, 1] = z, -y, x
    return out


def inertia_columns(w: FloatArray) -> FloatArray:
    """L(w) (N, 3, 6) with I w = L(w) (xx, yy, zz, xy, yz, xz)."""
    out = np.zeros((len(w), 3, 6))
    x, y, z = w[:, 0], w[:, 1], w[:, 2]
    out[:, 0, 0], out[:, 0, 3], out[:, 0, 5] = x, y, z
    out[:, 1, 1], out[:, 1, 3], out[:, 1, 4] = y, x, z
    out[:, 2, 2], out[:, 2, 4], out[:, 2, 5] = z, y, x
    return out


def inertia_matrix(ten: TenParameters) -> FloatArray:
    """The inertia tensor (3, 3) about the frame's origin."""
    xx, yy, zz, xy, yz, xz = ten.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return contract("nij,nj->ni", matrix, vector)


def _axes(robot: Robot, i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The limb's own axes: the arm's direction at 0, the joints' pins, and -(that at 90 deg)."""
    frame = robot.geometry.frames[i]
    x, z = np.array(frame.x), np.array(frame.z)
    return x, np.cross(z, x), z


def has_counterweight(robot: Robot) -> bool:
    """Whether some carriage has a counterweight: a body of its own."""
    return any(isinstance(arm, Carriage) and arm.counterweight > 0 for arm in robot.arms)


def _sliding(robot: Robot, state: State, name: str, i: int) -> BodyMotion:
    """A carriage moves along its rail, its counterweight the other way; neither turns."""
    carriage, zero = robot.arms[i], np.zeros((len(state), 3, robot.dof))
    assert isinstance(carriage, Carriage)
    mass, way = (carriage.mass, 1.0) if name == "carriage" else (carriage.counterweight, -1.0)
    Jv = zero.copy()
    Jv[:, :, i] = way * np.array(robot.geometry.frames[i].z)
    ten = TenParameters(mass, (0.0, 0.0, 0.0), (0.0,) * 6)
    return BodyMotion(f"{name}{i + 1}", ten, 1, _still(len(state)), Jv, zero, zero, zero)


def _arm(robot: Robot, state: State, i: int) -> BodyMotion:
    """The arm turns about its shoulder: x along the arm, y along the joint axis."""
    arm, l1 = robot.rotary_arms[i], robot.rotary.arm_length[i]
    e_r, t, up = _axes(robot, i)
    c, s = state.cos_q[:, i, None], state.sin_q[:, i, None]
    R = np.stack([c * e_r - s * up, np.broadcast_to(t, (len(state), 3)), s * e_r + c * up], axis=-1)
    zero = np.zeros((len(state), 3, robot.dof))
    Jw = zero.copy()
    Jw[:, :, i] = t
    inertia = arm.axis_inertia + arm.elbow_mass * l1**2
    moment = (arm.mass * arm.com + arm.elbow_mass * l1, 0.0, arm.mass * arm.com_offset)
    ten = planar_body(arm.mass + arm.elbow_mass, moment, inertia)
    return BodyMotion(f"arm{i + 1}", ten, 1, R, zero, zero, Jw, zero)


def planar_body(mass: float, moment: tuple[float, float, float], about_y: float) -> TenParameters:
    """A body in the x-z plane: I_yy as given, I_xx + I_zz = I_yy, split to be consistent."""
    xz = moment[0] * moment[2] / mass if mass > 0 else 0.0
    xx = moment[2] ** 2 / mass if mass > 0 else 0.0
    return TenParameters(mass, moment, (xx, about_y, about_y - xx, 0.0, 0.0, -xz))


def strut_motion(
    robot: Robot, state: State, geometry: LimbGeometry, platform: PlatformMap, i: int
) -> BodyMotion:
    """The rods turn by beta about the elbow axis t, then by gamma about n = (u x t)/cos gamma."""
    e_r, t, up = _axes(robot, i)
    l2, qd = robot.geometry.strut_length[i], state.qd
    Jv, Jvd = np.zeros_like(platform.J), np.zeros_like(platform.J)
    Jv[:, :, i] = geometry.e1[:, i]
    Jvd[:, :, i] = geometry.e2[:, i] * qd[:, i, None]
    u = geometry.s[:, i] / l2
    U, Ud = (platform.J - Jv) / l2, (platform.Jd - Jvd) / l2  # ud = U qd
    ur, uz = u @ e_r, u @ up
    Ur, Ut, Uz = (contract("k,nkd->nd", axis, U) for axis in (e_r, t, up))
    Urd, Utd, Uzd = (contract("k,nkd->nd", axis, Ud) for axis in (e_r, t, up))
    ud = _apply(U, qd)
    rd, zd = ud @ e_r, ud @ up
    cos2 = ur**2 + uz**2
    cos_g = np.sqrt(cos2)
    cos2d = 2 * (ur * rd + uz * zd)
    swing = (uz[:, None] * Ur - ur[:, None] * Uz) / cos2[:, None]
    swing_d = (
        zd[:, None] * Ur
        + uz[:, None] * Urd
        - rd[:, None] * Uz
        - ur[:, None] * Uzd
        - cos2d[:, None] * swing
    ) / cos2[:, None]
    sway = Ut / cos_g[:, None]
    sway_d = (Utd - (cos2d / (2 * cos_g))[:, None] * sway) / cos_g[:, None]
    n = (-uz / cos_g)[:, None] * e_r + (ur / cos_g)[:, None] * up
    beta_d = contract("nd,nd->n", swing, qd)
    nd = beta_d[:, None] * np.cross(t, n)
    Jw = t[:, None] * swing[:, None, :] + n[:, :, None] * sway[:, None, :]
    Jwd = (
        t[:, None] * swing_d[:, None, :]
        + n[:, :, None] * sway_d[:, None, :]
        + nd[:, :, None] * sway[:, None, :]
    )
    R = np.stack([u, np.cross(n, u), n], axis=-1)
    strut = robot.struts[i]
    return BodyMotion(f"strut{i + 1}", strut.body(l2), strut.rods, R, Jv, Jvd, Jw, Jwd)


def _still(count: int) -> FloatArray:
    return np.broadcast_to(np.eye(3), (count, 3, 3))


def _platform(robot: Robot, state: State, own: Platform, platform: PlatformMap) -> BodyMotion:
    """The platform only translates; where nothing turns effector and payload belong to it."""
    mass = own.mass
    if robot.spindle is None:
        mass += robot.effector.mass + robot.payload.mass
    zero = np.zeros_like(platform.J)
    ten = TenParameters(mass, (0.0, 0.0, 0.0), (0.0,) * 6)
    return BodyMotion("platform", ten, 1, _still(len(state)), platform.J, platform.Jd, zero, zero)


def _telescope(robot: Robot, state: State, platform: PlatformMap) -> list[BodyMotion]:
    """Both parts turn together; the upper one about the pivot, the lower one with the platform."""
    assert robot.spindle is not None
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    W, Wd = shaft_rotation(shaft, platform)
    zero = np.zeros_like(platform.J)
    upper, lower = robot.spindle.upper.body(1), robot.spindle.lower.body(-1)
    return [
        BodyMotion("upper", upper, 1, shaft.R, zero, zero, W, Wd),
        BodyMotion("lower", lower, 1, shaft.R, platform.J, platform.Jd, W, Wd),
    ]


def _turned(name: str, ten: TenParameters, angle: FloatArray, *maps: FloatArray) -> BodyMotion:
    """A body at the platform point that turns by an angle (N,) about the vertical.

    `maps` are Jv, Jvd (N, 3, dof), and the rows (N, dof) from qd to the rate of the angle and that
    of its rate.
    """
    Jv, Jvd, row, row_rate = maps
    c, s = np.cos(angle), np.sin(angle)
    R = np.zeros((len(angle), 3, 3))
    R[:, 0, 0], R[:, 1, 0], R[:, 0, 1], R[:, 1, 1], R[:, 2, 2] = c, s, -s, c, 1.0
    Jw, Jwd = np.zeros_like(Jv), np.zeros_like(Jv)
    Jw[:, 2], Jwd[:, 2] = row, row_rate
    return BodyMotion(name, ten, 1, R, Jv, Jvd, Jw, Jwd)


def _effector(robot: Robot, state: State, platform: PlatformMap, turn: FloatArray) -> BodyMotion:
    """Effector and payload turn by psi; `turn` (2, N, dof) gives psid and its rate."""
    return _turned("effector", effector_body(robot), state.p[:, 3], *platform, *turn)


def _bars(
    own: ArticulatedPlatform, state: State, platform: PlatformMap, turn: FloatArray
) -> BodyMotion:
    """The bars with what they carry turn by phi = phi0 + psi / ratio, x along them from p."""
    angle = own.phi0 + state.p[:, 3] / own.ratio
    return _turned("bars", bars_body(own), angle, *platform, *(turn / own.ratio))


def bars_body(own: ArticulatedPlatform) -> TenParameters:
    """Bars and gears about the tool's axis; x along the bars, y across.

    Only m, m cx, m cy and I_zz enter the torque; the rest is that of a flat body.
    """
    halves = own.half_mass[0] * own.sigma[0] + own.half_mass[1] * own.sigma[1]
    along, across, squares = own.moments()
    about = squares - sum(m * at**2 for m, at in zip(own.half_mass, own.sigma, strict=True))
    return flat_body(own.bar_mass + own.gear_mass, (along - halves, across), about)


def flat_body(mass: float, moment: tuple[float, float], about_z: float) -> TenParameters:
    """A body in the x-y plane: I_zz as given, I_xx + I_yy = I_zz, split to be consistent."""
    x, y = moment
    xx, xy = (y**2 / mass, -x * y / mass) if mass > 0 else (0.0, 0.0)
    return TenParameters(mass, (x, y, 0.0), (xx, about_z - xx, about_z, xy, 0.0, 0.0))


def effector_body(robot: Robot) -> TenParameters:
    """Effector and payload as one body about the platform point.

    Only m, m cx, m cy and I_zz enter the torque; the rest is that of point masses.
    """
    pieces = (
        (robot.effector.mass, robot.effector.com, robot.effector.inertia_zz),
        (robot.payload.mass, robot.payload.offset, robot.payload.inertia_zz),
    )
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for m, com, zz in pieces:
        c = np.asarray(com)
        mass += m
        moment += m * c
        inertia += m * (c @ c * np.eye(3) - np.outer(c, c)) + zz * np.diag([0.5, 0.5, 1.0])
    xx, yy, zz = np.diag(inertia)
    products = (inertia[0, 1], inertia[1, 2], inertia[0, 2])
    return TenParameters(mass, (moment[0], moment[1], moment[2]), (xx, yy, zz, *products))


def _rotor_columns(robot: Robot, state: State, tied: bool) -> Columns:
    """Rotor inertias at the output side: one for the limbs where tied, and one for axis 4."""
    dof, legs, values = robot.dof, robot.legs, robot.drives.output_inertia
    units = robot.axis_units("inertia")
    diagonal = state.qdd[:, :, None] * np.eye(dof)  # (N, dof, dof)
    if not tied:
        names = tuple(f"rotor{axis + 1}" for axis in range(dof))
        return Columns(diagonal, names, units, np.array(values))
    arms = diagonal[:, :, :legs].sum(axis=2, keepdims=True)
    Y = np.concatenate([arms, diagonal[:, :, legs:]], axis=2)
    names = ("rotor", *(f"rotor{axis + 1}" for axis in range(legs, dof)))
    return Columns(Y, names, units[legs - 1 :], np.array([values[0], *values[legs:]]))
