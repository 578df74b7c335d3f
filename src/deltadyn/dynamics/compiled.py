"""The exact model through the compiled kernels, where they are there."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.packed import packed_parameters
from deltadyn.kernels import available as kernels_available
from deltadyn.kernels import fits as kernels_fit
from deltadyn.kernels import run as run_kernel
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot


def compiled_torque(
    robot: Robot, state: State, external: FloatArray | None, *, friction: bool
) -> FloatArray | None:
    """Torques (N, dof) of the exact model with the drives' friction, or without any, in N m.

    None where the kernels cannot answer: they are not in use, the state is not made of doubles,
    or friction is wanted and sits in passive joints too.
    """
    if friction and robot.friction.passive:
        return None
    wrench = np.zeros(robot.dof) if external is None else external
    motion = (*_motion(state), wrench)
    if not kernels_available() or not kernels_fit(*motion):
        return None
    tau = np.empty((len(state), robot.dof))
    name = f"state_torque_{robot.dof}"
    run_kernel(name, packed_parameters(robot), motion, [tau], friction=friction)
    return tau


def compiled_columns(
    robot: Robot, state: State, count: int, *, tied: bool, com_offset: bool
) -> FloatArray | None:
    """The `count` inertial columns Y (N, dof, count) of the exact model's regressor.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    motion, dof = _motion(state), robot.dof
    if not kernels_available() or not kernels_fit(*motion):
        return None
    Y = np.empty((len(state), dof * count))
    name = f"columns_{dof}{'_tied' if tied else ''}{'_sine' if com_offset else ''}"
    run_kernel(name, packed_parameters(robot), motion, [Y])
    return Y.reshape(-1, dof, count)


def compiled_mass(robot: Robot, state: State) -> FloatArray | None:
    """The exact model's mass matrix M (N, dof, dof) in kg m^2.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    pose, dof = (state.cos_q, state.sin_q, state.p), robot.dof
    if not kernels_available() or not kernels_fit(*pose):
        return None
    M = np.empty((len(state), dof * dof))
    run_kernel(f"mass_{dof}", packed_parameters(robot), pose, [M])
    return M.reshape(-1, dof, dof)


def _motion(state: State) -> tuple[FloatArray, ...]:
    return (state.cos_q, state.sin_q, state.qd, state.qdd, state.p, state.pd, state.pdd)
