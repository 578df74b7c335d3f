"""Friction: on the drives, growing with the load through the gear, and in passive joints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract, namespace
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import passive_rate_map
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction
from deltadyn.tracing import on_jax


class Columns(NamedTuple):
    """Part of a regressor: Y (N, dof, n) with a name, a unit and a value for every column."""

    Y: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray


def direction(rate: FloatArray, smoothing: float | None) -> FloatArray:
    """sign(rate), or tanh(rate / smoothing) where a smoothing velocity is given."""
    xp = namespace(rate)
    out: FloatArray = xp.sign(rate) if smoothing is None else xp.tanh(rate / smoothing)
    return out


def drive_friction(friction: Friction, qd: FloatArray) -> FloatArray:
    """Friction of the drives (N, dof) without the share that grows with the load, in N m."""
    s = direction(qd, friction.smoothing)
    tau = np.asarray(friction.viscous) * qd
    if friction.coulomb_negative is None:
        tau += np.asarray(friction.coulomb) * s
    else:
        tau += np.asarray(friction.coulomb) * np.maximum(s, 0.0)
        tau += np.asarray(friction.coulomb_negative) * np.minimum(s, 0.0)
    if friction.stribeck is not None:
        tau += np.asarray(friction.stribeck) * s * _stribeck_shape(friction, qd)
    if friction.offset is not None:
        tau += np.asarray(friction.offset)
    return tau


def passive_friction(robot: Robot, state: State) -> FloatArray:
    """What friction in passive joints asks of the drives [gnad2024] eqs. 6-7, in N m.

    With joint rates B qd: sum B^T (Fv B qd + Fc sign(B qd)).
    """
    tau = np.zeros_like(state.qd)
    for item in robot.friction.passive:
        for column, value in zip(
            _passive_columns(robot, state, item.joint), _pair(item), strict=True
        ):
            tau += column * value
    return tau


def load_friction(friction: Friction, qd: FloatArray, load: FloatArray) -> FloatArray:
    """mu |load| sign(qd): the gear loses a share of the torque that goes through it, in N m."""
    if friction.load is None:
        return np.zeros_like(qd)
    return np.asarray(friction.load) * np.abs(load) * direction(qd, friction.smoothing)


def through_gear(robot: Robot, state: State, torque: FloatArray) -> FloatArray:
    """The torque that a gear passes on: all but what turns the rotor on its other side."""
    inertia = np.asarray(robot.drives.output_inertia, dtype=torque.dtype)
    return torque - inertia * state.qdd


def friction_torque(robot: Robot, state: State, frictionless: FloatArray) -> FloatArray:
    """All friction (N, dof) at the drives, for the torque that the robot needs without it."""
    passive = passive_friction(robot, state)
    load = through_gear(robot, state, frictionless + passive)
    return (
        drive_friction(robot.friction, state.qd)
        + passive
        + load_friction(robot.friction, state.qd, load)
    )


def friction_columns(robot: Robot, state: State, frictionless: FloatArray) -> Columns:
    """Columns of every friction term that the robot's model has.

    The gear's loss is not linear in the other parameters: its column holds the load that the
    robot's own values give.
    """
    friction, qd, xp = robot.friction, state.qd, namespace(state.qd)
    if on_jax(qd):
        from deltadyn.backends.jax import check_passive

        check_passive(robot)
    s = direction(qd, friction.smoothing)
    terms: list[tuple[str, str, FloatArray, Any]] = [
        ("Fv", "N m s/rad", qd, friction.viscous),
    ]
    if friction.coulomb_negative is None:
        terms.append(("Fc", "N m", s, friction.coulomb))
    else:
        terms.append(("Fc+", "N m", xp.maximum(s, 0.0), friction.coulomb))
        terms.append(("Fc-", "N m", xp.minimum(s, 0.0), friction.coulomb_negative))
    if friction.stribeck is not None:
        shape = s * _stribeck_shape(friction, qd)
        terms.append(("Fs", "N m", shape, friction.stribeck))
    if friction.offset is not None:
        terms.append(("F0", "N m", xp.ones_like(qd), friction.offset))
    if friction.load is not None:
        through = frictionless
        if friction.passive:
            through = frictionless + passive_friction(robot, state)
        load = through_gear(robot, state, through)
        terms.append(("mu", "1", abs(load) * s, friction.load))
    dof = robot.dof
    blocks = [term[2][:, :, None] * np.eye(dof, dtype=qd.dtype) for term in terms]
    names = [f"{term[0]}{axis + 1}" for term in terms for axis in range(dof)]
    units = [term[1] for term in terms for _ in range(dof)]
    values = [float(value) for term in terms for value in term[3]]
    for item in friction.passive:
        blocks.append(np.stack(_passive_columns(robot, state, item.joint), axis=-1))
        names += [f"{item.joint}.Fv", f"{item.joint}.Fc"]
        units += ["N s/m", "N"] if item.joint == "prismatic" else ["N m s/rad", "N m"]
        values += _pair(item)
    return Columns(xp.concatenate(blocks, axis=2), tuple(names), tuple(units), np.array(values))


def _stribeck_shape(friction: Friction, qd: FloatArray) -> FloatArray:
    ratio = qd / np.asarray(friction.stribeck_velocity, dtype=qd.dtype)
    shape: FloatArray = namespace(qd).exp(-(ratio**2))
    return shape


def _passive_columns(robot: Robot, state: State, joint: str) -> tuple[FloatArray, FloatArray]:
    """B^T B qd and B^T sign(B qd), each (N, dof); the spindle has two universal joints alike."""
    B = passive_rate_map(robot, state, joint)  # (N, k, dof)
    rates = contract("nkd,nd->nk", B, state.qd)
    s = direction(rates, robot.friction.smoothing)
    copies = 2.0 if joint.startswith("universal") else 1.0
    return copies * contract("nkd,nk->nd", B, rates), copies * contract("nkd,nk->nd", B, s)


def _pair(item: Any) -> list[float]:
    return [item.viscous, item.coulomb]
