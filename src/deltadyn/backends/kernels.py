"""The exact model through the compiled kernels, where they are there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.backends import fits as kernels_fit
from deltadyn.backends import packed
from deltadyn.backends import run as run_kernel
from deltadyn.backends.limbs import compiled
from deltadyn.backends.loader import fill as fill_kernel
from deltadyn.backends.loader import known, run_row
from deltadyn.dynamics.friction import (
    BACKWARD,
    BEYOND_TERMS,
    COULOMB,
    FORWARD,
    KERNEL_TERMS,
    at_motor,
    axis_terms,
    beyond_columns,
    direction,
    drive_friction,
    drive_terms,
    load_friction,
    passive_friction,
    through_gear,
)
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.kinematics.actuation import actuation, kernel, parts_of
from deltadyn.kinematics.assemblies import followed_pose
from deltadyn.kinematics.state import NOTHING, State, StateRow
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.robot.settings import PASSIVE_JOINTS, SPINDLE_JOINTS

IntArray = npt.NDArray[np.intc]


_DRIVES = {dof: f"friction_columns_{dof}" for dof in (2, 3, 4)}  # of any actuation


def row_torque(robot: Robot, source: object, friction: bool) -> FloatArray | None:
    """Torques (dof,) of a state that is one row; None where another way has to be taken."""
    if type(source) is not StateRow or not compiled(robot):
        return None
    ready = _torque_call(robot)
    if ready is None:
        return None
    tau = np.empty(source.dof)
    run_row(ready[0], ready[1], friction, source.row, tau)
    return tau


@remembered
def _torque_call(robot: Robot) -> tuple[str, FloatArray] | None:
    """Kernel and numbers of the torque; None where drives or joints have more than they know."""
    if robot.friction.passive or not robot.plain_drives:
        return None
    return kernel(robot, "state_torque"), packed.packed_parameters(robot)


def compiled_torque(
    robot: Robot, state: State, external: FloatArray | None, *, friction: bool
) -> FloatArray | None:
    """Torques (N, dof) of the exact model with the drives' friction, or without any, in N m.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    wrench = np.zeros(robot.dof) if external is None else external
    motion = (*_motion(state), wrench)
    if not compiled(robot) or not kernels_fit(*motion):
        return None
    tau = np.empty((len(state), robot.dof))
    name, par = kernel(robot, "state_torque"), packed.packed_parameters(robot)
    if not friction or not robot.friction.passive:
        run_kernel(name, par, motion, [tau], friction=friction)
        if friction and not robot.plain_drives:
            tau += drive_friction(robot.friction, state.qd, BEYOND_TERMS)
            return at_motor(robot, state.q, state.qd, tau)
        return tau
    run_kernel(name, par, motion, [tau])
    passive = compiled_passive(robot, state)
    if passive is None:
        return None
    tau += passive  # what goes through the gears
    lost = load_friction(robot.friction, state.qd, through_gear(robot, state, tau))
    whole = tau + drive_friction(robot.friction, state.qd) + lost
    return whole if robot.plain_drives else at_motor(robot, state.q, state.qd, whole)


def compiled_passive(robot: Robot, state: State) -> FloatArray | None:
    """What friction in passive joints asks of the drives (N, dof), in N m.

    None where the kernels cannot answer: they are not in use or do not know the robot's passive
    joints, or the state is not made of doubles.
    """
    dof, par, friction = robot.dof, packed.packed_parameters(robot), robot.friction
    pose = (state.cos_q, state.sin_q, state.p)
    if not compiled(robot) or not known(kernel(robot, "passive_rates")):
        return None
    if not kernels_fit(*pose, state.qd, state.pd):
        return None
    given = {item.joint: (item.viscous, item.coulomb) for item in friction.passive}
    kinds = [name for name in PASSIVE_JOINTS if dof == 4 or name not in SPINDLE_JOINTS]
    pairs = [given.get(name, (0.0, 0.0)) for name in kinds for _ in range(rows_of(name))]
    viscous, coulomb = np.array(pairs).T
    rate, tau = np.empty((len(state), len(pairs))), np.empty((len(state), dof))
    run_kernel(
        kernel(robot, "passive_rates"), par, (*pose[:2], state.qd, state.p, state.pd), [rate]
    )
    force = direction(rate, friction.smoothing)
    force *= coulomb
    rate *= viscous
    force += rate
    run_kernel(kernel(robot, "passive_torque"), par, (*pose, force), [tau])
    return tau


def rows_of(joint: str) -> int:
    """Rates of a passive joint: one of the spindle, or one per limb."""
    return 1 if joint in SPINDLE_JOINTS else 3


#: For each friction term of a robot those of the friction kernel that make it up.
_PARTS = {COULOMB.name: (FORWARD.name, BACKWARD.name)}


def compiled_columns(
    robot: Robot, state: State, count: int, *, tied: bool, com_offset: bool, friction: bool = False
) -> FloatArray | None:
    """The `count` inertial columns of the exact model's regressor, and the drives' friction.

    Y is (N, dof, n), with zeros where the columns of passive joints go. None where the kernels
    cannot answer: they are not in use or the state is not made of doubles.
    """
    source, dof = state.source, robot.dof
    one = type(source) is StateRow
    motion = (source.row,) if one else _motion(state)
    if not compiled(robot) or not (one or kernels_fit(*motion)):
        return None
    plan = _plan(robot, count, tied, com_offset, friction)
    Y = np.zeros((1 if one else len(state), dof * plan.width))
    fill_kernel(kernel(robot, "rows"), plan.par, plan.rows, motion, Y)
    if friction:
        _fill_friction(robot, state, plan.par, plan.drives, Y)
    return Y.reshape(-1, dof, plan.width)


class _Plan(NamedTuple):
    """A robot's numbers, the width of Y, and where inertial and friction columns go in it."""

    par: FloatArray
    width: int
    rows: IntArray
    drives: IntArray


@remembered
def _plan(robot: Robot, count: int, tied: bool, sine: bool, friction: bool) -> _Plan:
    """How the columns of a robot are laid out; kept, because one sample has no time to find it."""
    dof, terms = robot.dof, _term_names(robot) if friction else ()
    own = axis_terms(robot) if friction else 0
    width = count + dof * own + (2 * len(robot.friction.passive) if friction else 0)
    rows = _row_places(robot, tied, sine, width)
    drives = _drive_places(dof, terms, count, width)
    return _Plan(packed.packed_parameters(robot), width, rows, drives)


def compiled_rows(robot: Robot, state: State, out: Sequence[FloatArray]) -> None:
    """Fill `out`, one array (n, N) per axis, with the inertial columns that move that axis.

    They are those of `inertial_places`, per arm and with sine terms.
    """
    outputs = [rows.T for rows in out]
    run_kernel(kernel(robot, "rows"), packed.packed_parameters(robot), _motion(state), outputs)


def inertial_places(robot: Robot) -> tuple[tuple[int, ...], ...]:
    """For each axis which of the inertial columns, per arm and with sine terms, move it."""
    return _inertial_places(robot.dof, parts_of(actuation(robot))[1])


@lru_cache(maxsize=16)
def _inertial_places(dof: int, platform: str) -> tuple[tuple[int, ...], ...]:
    # The kernels are written with the names of `dynamics`, which imports this module.
    from deltadyn.backends.kernel_models.columns import row_places

    return row_places(dof, platform)


def drive_columns_compiled(robot: Robot, state: State) -> bool:
    """Whether the kernels give all friction columns.

    They do not where they are not in use, where the state is not made of doubles, or where
    friction sits in passive joints too or grows with the motor's torque.
    """
    own = robot.friction
    if own.passive or own.motor_load is not None:
        return False
    return compiled(robot) and kernels_fit(*_motion(state))


def compiled_drive_columns(robot: Robot, state: State, out: FloatArray) -> None:
    """Fill `out` (dof, terms, N) with the diagonals of the drives' friction columns and ripple.

    The terms are in the order of `drive_terms`, with two for each wave of ripple behind them.
    """
    terms, dof = _term_names(robot), robot.dof
    diagonals = np.empty((len(terms) * dof, len(state)))
    places = _drive_places(dof, terms, 0, 0)
    _fill_friction(robot, state, packed.packed_parameters(robot), places, diagonals.T)
    out[:, : len(terms)] = diagonals.reshape(len(terms), dof, -1).transpose(1, 0, 2)
    if not robot.plain_drives:
        for place, diagonal in beyond_columns(robot, state):
            out[:, place] = diagonal.T


def _fill_friction(
    robot: Robot, state: State, par: FloatArray, places: IntArray, out: FloatArray
) -> None:
    source = state.source
    if type(source) is StateRow and robot.friction.load is None:
        qd = source.row[
            :, 2 * source.legs :
        ]  # with qdd behind it, and what the kernel takes for the torque
        fill_kernel(_DRIVES[robot.dof], par, places, [qd], out)
        return
    tau = NOTHING[robot.dof]  # looked at by the gear's loss alone
    if robot.friction.load is not None:
        tau = np.empty((len(state), robot.dof))
        run_kernel(
            kernel(robot, "state_torque"), par, (*_motion(state), np.zeros(robot.dof)), [tau]
        )
        if robot.friction.passive:  # what goes through the gears
            passive = compiled_passive(robot, state)
            tau += passive_friction(robot, state) if passive is None else passive
    inputs = (state.qd, state.qdd, tau)
    fill_kernel(_DRIVES[robot.dof], par, places, inputs, out)


@remembered
def _term_names(robot: Robot) -> tuple[str, ...]:
    return tuple(term.name for term in drive_terms(robot.friction))


def _row_places(robot: Robot, tied: bool, sine: bool, width: int) -> IntArray:
    """Where the columns of a row kernel go in Y (N, dof * width)."""
    own_places, legs = inertial_places(robot), robot.legs
    wide = 1 + max(place for own in own_places for place in own)
    kinds = 4 if sine else 3
    arms = 1 if tied else legs
    narrow = [0]
    narrow += [
        -1 if kind >= kinds else 1 + arms * kind + (0 if tied else arm)
        for kind in range(4)
        for arm in range(legs)
    ]
    narrow += [1 + arms * kinds + k for k in range(wide - len(narrow))]
    return encoded(
        axis * width + narrow[k] if narrow[k] >= 0 else -1
        for axis, own in enumerate(own_places)
        for k in own
    )


def _drive_places(dof: int, terms: tuple[str, ...], first: int, width: int) -> IntArray:
    """Where the columns of the friction kernel go: term t of an axis at its own place.

    In Y (N, dof * width) term t of axis a is at a * width + first + t * dof + a; with a width of 0
    that is the place in a list of diagonals.
    """
    place = {}
    for t, name in enumerate(terms):
        for part in _PARTS.get(name, (name,)):
            place[part] = t
    return encoded(
        axis * width + first + place[term.name] * dof + axis if term.name in place else -1
        for term in KERNEL_TERMS
        for axis in range(dof)
    )


def encoded(places: Iterable[int]) -> IntArray:
    """Places as the extension reads them: twice the place, one more where it adds; -1: nowhere."""
    seen: set[int] = set()
    out = []
    for place in places:
        out.append(-1 if place < 0 else 2 * place + (place in seen))
        seen.add(place)
    code = np.array(out, dtype=np.intc)  # "i" to the extension; int32 is "l" on Windows
    code.flags.writeable = False
    return code


def compiled_terms(
    robot: Robot, numbers: ExactParameters, state: State
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """M, C (N, dof, dof) and g (N, dof) of the exact model with these parameters.

    None where the kernels cannot answer: they are not in use, the state is not made of doubles, or
    the parameters leave a spindle out that the robot has.
    """
    dof, motion = robot.dof, (state.cos_q, state.sin_q, state.qd, state.p, state.pd)
    if (robot.spindle is None) != (numbers.spindle is None):
        return None
    if not compiled(robot) or not kernels_fit(*motion):
        return None
    M, C, g = (np.empty((len(state), width)) for width in (dof * dof, dof * dof, dof))
    run_kernel(kernel(robot, "terms"), packed.packed_numbers(robot, numbers), motion, (M, C, g))
    return M.reshape(-1, dof, dof), C.reshape(-1, dof, dof), g


def row_accelerations(
    robot: Robot, q: object, qd: object, tau: object, friction: bool
) -> FloatArray | None:
    """qdd (dof,) of one sample in arrays of NumPy; None where the long way has to be taken."""
    if type(q) is not np.ndarray or q.ndim != 1 or not accelerations_compiled(robot, friction):
        return None
    if not robot.plain_drives or robot.legs == 4:  # whose pose is followed first
        return None
    dof = robot.dof
    qdd = np.empty(dof)
    par = packed.packed_parameters(robot)
    try:
        bad = run_row(kernel(robot, "forward"), par, friction, q, qd, tau, NOTHING[dof], qdd)
    except (TypeError, ValueError):
        return None
    return None if bad else qdd


def accelerations_compiled(robot: Robot, friction: bool) -> bool:
    """Whether one kernel gives the accelerations.

    It does not where the kernels are not in use, or where friction is wanted and grows with the
    load or sits in passive joints.
    """
    own = robot.friction
    return compiled(robot) and not (friction and (own.passive or own.load is not None))


def compiled_accelerations(
    robot: Robot, inputs: Sequence[FloatArray], friction: bool
) -> tuple[FloatArray, int]:
    """qdd (N, dof) in rad/s^2 of q, qd, tau, external, and how many rows of it are NaN."""
    qdd = np.empty((len(inputs[0]), robot.dof))
    if robot.legs == 4:  # its pose is followed first
        inputs = (followed_pose(robot, inputs[0]), *inputs)
    name, par = kernel(robot, "forward"), packed.packed_parameters(robot)
    return qdd, run_kernel(name, par, inputs, [qdd], friction=friction)


def compiled_mass(robot: Robot, state: State) -> FloatArray | None:
    """The exact model's mass matrix M (N, dof, dof) in kg m^2.

    None where the kernels cannot answer: they are not in use or the state is not made of doubles.
    """
    pose, dof = (state.cos_q, state.sin_q, state.p), robot.dof
    if not compiled(robot) or not kernels_fit(*pose):
        return None
    M = np.empty((len(state), dof * dof))
    run_kernel(kernel(robot, "mass"), packed.packed_parameters(robot), pose, [M])
    return M.reshape(-1, dof, dof)


def _motion(state: State) -> tuple[FloatArray, ...]:
    return (state.cos_q, state.sin_q, state.qd, state.qdd, state.p, state.pd, state.pdd)
