"""The exact model's regressor: one column per inertial base parameter."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.backends import kernels
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.parameters import exact_parameters
from deltadyn.dynamics.terms import PlatformMap, platform_map, shaft_rotation
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.tracing import on_jax

SPINDLE_NAMES = ("H", "kappa", "mu", "I_axial", "h_x", "h_y", "I_psi")
SPINDLE_UNITS = ("kg m^2", "kg m", "kg m", "kg m^2", "kg m", "kg m", "kg m^2")


def exact_columns(
    robot: Robot,
    state: State,
    tied: bool,
    com_offset: bool | None = None,
    *,
    more: int = 0,
) -> Columns:
    """M_P, then m_x, A, G [, G_s] of the limbs, tied or per arm, then the spindle's seven.

    `com_offset` adds the arms' sine gravity terms; by default where the robot has any. `more`
    leaves room of zeros for as many columns behind them in Y.
    """
    par = exact_parameters(robot)
    if com_offset is None:
        com_offset = any(value != 0 for value in par.G_s)
    limb = [("m_x", "kg", par.m_x), ("A", "kg m^2", par.A), ("G", "kg m", par.G)]
    limb += [("G_s", "kg m", par.G_s)] if com_offset else []
    names, units, numbers = ["M_P"], ["kg"], [float(par.M_P)]
    for name, unit, values in limb:
        names += [name] if tied else [f"{name}{i + 1}" for i in range(3)]
        units += [unit] if tied else [unit] * 3
        numbers += [float(value) for value in (values[:1] if tied else values)]
    if par.spindle is not None:
        names += SPINDLE_NAMES
        units += SPINDLE_UNITS
        numbers += [float(getattr(par.spindle, name)) for name in SPINDLE_NAMES]
    if on_jax(state.p):
        from deltadyn.backends.jax import inertial_columns

        traced = inertial_columns(robot, state, tied, com_offset)
        return Columns(traced, tuple(names), tuple(units), np.array(numbers))
    Y = kernels.compiled_columns(
        robot, state, len(names), tied=tied, com_offset=com_offset, more=more
    )
    if Y is None:
        Y = _numpy_columns(robot, state, tied, com_offset)
        Y = np.pad(Y, ((0, 0), (0, 0), (0, more))) if more else Y
    return Columns(Y, tuple(names), tuple(units), np.array(numbers))


def _numpy_columns(robot: Robot, state: State, tied: bool, com_offset: bool) -> FloatArray:
    """Y (N, dof, n) in the order of the names."""
    geometry, platform = platform_map(robot, state)
    count, dof = len(state), robot.dof
    g, index = robot.gravity, np.arange(3)
    qd, qdd, pdd = state.qd[:, :3], state.qdd[:, :3], state.pdd[:, :3]
    up = np.array([0.0, 0.0, g])
    elbow = geometry.e1 * qdd[..., None] + geometry.e2 * (qd**2)[..., None] + up  # (N, 3 arms, 3)
    m_x = contract("nkd,nik->ndi", platform.J, elbow)
    m_x[:, index, index] += contract("nik,nk->ni", geometry.e1, pdd)
    blocks = [m_x]
    for own in (qdd, -g * state.cos_q, -g * state.sin_q)[: 3 if com_offset else 2]:  # A, G, G_s
        block = np.zeros((count, dof, 3))
        block[:, index, index] = own
        blocks.append(block)
    Y = [contract("nkd,nk->nd", platform.J, pdd + up)[:, :, None]]
    Y += [block.sum(axis=2, keepdims=True) if tied else block for block in blocks]
    if robot.spindle is not None:
        Y.append(spindle_columns(robot, state, platform))
    return np.concatenate(Y, axis=2)


def spindle_columns(robot: Robot, state: State, platform: PlatformMap) -> FloatArray:
    """Columns (N, 4, 7) of H, kappa, mu, I_axial, h_x, h_y, I_psi."""
    J = platform.J
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    pdd, g = state.pdd[:, :3], robot.gravity
    vdd = _apply(shaft.B, pdd) + _apply(shaft.Bd, state.pd[:, :3])
    lift = g * shaft.B[:, :, 2]  # force per mu
    out = np.zeros((len(state), 4, 7))
    out[:, :, 0] = _to_joints(J, _apply(shaft.B, vdd))
    out[:, :, 1] = _to_joints(J, -_apply(shaft.B, pdd) - vdd - lift)
    out[:, :, 2] = _to_joints(J, lift)
    W, Wd = shaft_rotation(shaft, platform)
    omega = contract("nkd,nd->nk", W, state.qd)
    turning = contract("nkd,nd->nk", W, state.qdd) + contract("nkd,nd->nk", Wd, state.qd)
    along = contract("nk,nk->n", shaft.v, turning)[:, None] * shaft.v
    spin = contract("nk,nk->n", shaft.v, omega)[:, None]
    # d/dt (spin v) = spind v + spin vd, and v.omegad = spind because v.(v x vdd) = vd.vd x v = 0
    out[:, :, 3] = contract("nkd,nk->nd", W, along + spin * shaft.vd)
    c, s = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    psid2, psidd = state.qd[:, 3] ** 2, state.qdd[:, 3]
    zero = np.zeros_like(c)
    for k, (hx, hy) in enumerate(((c, s), (-s, c)), start=4):
        force = np.stack([-hy * psidd - hx * psid2, hx * psidd - hy * psid2, zero], axis=-1)
        out[:, :, k] = _to_joints(J, force)
        out[:, 3, k] += hx * pdd[:, 1] - hy * pdd[:, 0]
    out[:, 3, 6] = psidd
    return out


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return contract("nij,nj->ni", matrix, vector)


def _to_joints(J: FloatArray, force: FloatArray) -> FloatArray:
    return contract("nkd,nk->nd", J, force)
