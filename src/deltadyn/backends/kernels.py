"""The exact model through the compiled kernels, where they are there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends import available as kernels_available
from deltadyn.backends import fits as kernels_fit
from deltadyn.backends import packed
from deltadyn.backends import run as run_kernel
from deltadyn.dynamics.friction import direction, drive_friction, load_friction, through_gear
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS

SPINDLE_JOINTS = ("prismatic", "universal_fork", "universal_cross")


def compiled_torque(
    robot: Robot, state: State, external: FloatArray | None, *, friction: bool
) -> FloatArray | None:
    """Torques (N, dof) of the exact model with the drives' friction, or without any, in N m.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    wrench = np.zeros(robot.dof) if external is None else external
    motion = (*_motion(state), wrench)
    if not kernels_available() or not kernels_fit(*motion):
        return None
    tau = np.empty((len(state), robot.dof))
    name, par = f"state_torque_{robot.dof}", packed.packed_parameters(robot)
    if not friction or not robot.friction.passive:
        run_kernel(name, par, motion, [tau], friction=friction)
        return tau
    run_kernel(name, par, motion, [tau])
    passive = compiled_passive(robot, state)
    if passive is None:
        return None
    tau += passive  # what goes through the gears
    lost = load_friction(robot.friction, state.qd, through_gear(robot, state, tau))
    return tau + drive_friction(robot.friction, state.qd) + lost


def compiled_passive(robot: Robot, state: State) -> FloatArray | None:
    """What friction in passive joints asks of the drives (N, dof), in N m.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    dof, par, friction = robot.dof, packed.packed_parameters(robot), robot.friction
    pose = (state.cos_q, state.sin_q, state.p)
    if not kernels_available() or not kernels_fit(*pose, state.qd, state.pd):
        return None
    given = {item.joint: (item.viscous, item.coulomb) for item in friction.passive}
    kinds = [name for name in PASSIVE_JOINTS if dof == 4 or name not in SPINDLE_JOINTS]
    pairs = [given.get(name, (0.0, 0.0)) for name in kinds for _ in range(rows_of(name))]
    viscous, coulomb = np.array(pairs).T
    rate, tau = np.empty((len(state), len(pairs))), np.empty((len(state), dof))
    run_kernel(f"passive_rates_{dof}", par, (*pose[:2], state.qd, state.p, state.pd), [rate])
    force = direction(rate, friction.smoothing)
    force *= coulomb
    rate *= viscous
    force += rate
    run_kernel(f"passive_torque_{dof}", par, (*pose, force), [tau])
    return tau


def rows_of(joint: str) -> int:
    """Rates of a passive joint: one of the spindle, or one per limb."""
    return 1 if joint in SPINDLE_JOINTS else 3


def compiled_columns(
    robot: Robot, state: State, count: int, *, tied: bool, com_offset: bool, more: int = 0
) -> FloatArray | None:
    """The `count` inertial columns of the exact model's regressor and `more` columns of zeros.

    Y is (N, dof, count + more). None where the kernels cannot answer: they are not in use or the
    state is not made of doubles.
    """
    motion, dof = _motion(state), robot.dof
    if not kernels_available() or not kernels_fit(*motion):
        return None
    Y = (np.zeros if more else np.empty)((len(state), dof, count + more))
    name = f"columns_{dof}{'_tied' if tied else ''}{'_sine' if com_offset else ''}"
    axes = [Y[:, axis, :count] for axis in range(dof)]
    run_kernel(name, packed.packed_parameters(robot), motion, axes)
    return Y


def compiled_rows(robot: Robot, state: State, out: Sequence[FloatArray]) -> None:
    """Fill `out`, one array (n, N) per axis, with the inertial columns that move that axis.

    They are those of `backends.generated.table.ROWS`, per arm and with sine terms.
    """
    outputs = [rows.T for rows in out]
    run_kernel(f"rows_{robot.dof}", packed.packed_parameters(robot), _motion(state), outputs)


def drive_columns_compiled(robot: Robot, state: State) -> bool:
    """Whether the kernels give all friction columns.

    They do not where they are not in use, where the state is not made of doubles, or where
    friction sits in passive joints too.
    """
    return kernels_available() and kernels_fit(*_motion(state)) and not robot.friction.passive


def compiled_drive_columns(robot: Robot, state: State, out: Sequence[FloatArray]) -> None:
    """Fill `out`, one array (N, dof) per term, with the diagonals of the drives' friction columns.

    The terms are in the order of `friction_columns`.
    """
    friction, dof, par = robot.friction, robot.dof, packed.packed_parameters(robot)
    motion = _motion(state)
    split = friction.coulomb_negative is not None
    name, dry = ("dry_columns_by_direction", 3) if split else ("dry_columns", 2)
    run_kernel(f"{name}_{dof}", par, [state.qd], out[:dry])
    terms = iter(out[dry:])
    if friction.stribeck is not None:
        run_kernel(f"stribeck_column_{dof}", par, [state.qd], [next(terms)])
    if friction.offset is not None:
        next(terms)[:] = 1.0
    if friction.load is not None:
        tau = np.empty((len(state), dof))
        run_kernel(f"state_torque_{dof}", par, (*motion, np.zeros(dof)), [tau])
        run_kernel(f"load_column_{dof}", par, [state.qd, state.qdd, tau], [next(terms)])


def compiled_terms(
    robot: Robot, numbers: ExactParameters, state: State
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """M, C (N, dof, dof) and g (N, dof) of the exact model with these parameters.

    None where the kernels cannot answer: they are not in use, the state is not made of doubles, or
    the parameters leave a spindle out that the robot has.
    """
    dof, motion = robot.dof, (state.cos_q, state.sin_q, state.qd, state.p, state.pd)
    if (dof == 4) != (numbers.spindle is not None):
        return None
    if not kernels_available() or not kernels_fit(*motion):
        return None
    M, C, g = (np.empty((len(state), width)) for width in (dof * dof, dof * dof, dof))
    run_kernel(f"terms_{dof}", packed.packed_numbers(robot, numbers), motion, (M, C, g))
    return M.reshape(-1, dof, dof), C.reshape(-1, dof, dof), g


def accelerations_compiled(robot: Robot, friction: bool) -> bool:
    """Whether one kernel gives the accelerations.

    It does not where the kernels are not in use, or where friction is wanted and grows with the
    load or sits in passive joints.
    """
    own = robot.friction
    return kernels_available() and not (friction and (own.passive or own.load is not None))


def compiled_accelerations(
    robot: Robot, inputs: Sequence[FloatArray], friction: bool
) -> tuple[FloatArray, int]:
    """qdd (N, dof) in rad/s^2 of q, qd, tau, external, and how many rows of it are NaN."""
    qdd = np.empty((len(inputs[0]), robot.dof))
    name, par = f"forward_{robot.dof}", packed.packed_parameters(robot)
    return qdd, run_kernel(name, par, inputs, [qdd], friction=friction)


def compiled_mass(robot: Robot, state: State) -> FloatArray | None:
    """The exact model's mass matrix M (N, dof, dof) in kg m^2.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    pose, dof = (state.cos_q, state.sin_q, state.p), robot.dof
    if not kernels_available() or not kernels_fit(*pose):
        return None
    M = np.empty((len(state), dof * dof))
    run_kernel(f"mass_{dof}", packed.packed_parameters(robot), pose, [M])
    return M.reshape(-1, dof, dof)


def _motion(state: State) -> tuple[FloatArray, ...]:
    return (state.cos_q, state.sin_q, state.qd, state.qdd, state.p, state.pd, state.pdd)
