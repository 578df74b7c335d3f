"""Reactions in the joints beside MuJoCo's, and what identified robots make of them.

[gnad2024] leaves to future work the parameters of each single body, "a precondition" for control
that limits joint reaction forces. The torques depend on base parameters alone, the reactions do
not: `reaction_table` gives the reactions of a motion beside MuJoCo's, `fitted_reactions` those of
identified robots beside the true ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from typing import Literal, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import ConstraintLoads, constraint_loads, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.kinematics import LimbGeometry, State
from deltadyn.motion import Motion
from deltadyn.reproduce.result import Cell, Table
from deltadyn.robot import Robot
from deltadyn.simulation import MujocoReactions, mujoco_reactions

NO_MUJOCO = "MuJoCo is not installed"
MUJOCO_SAMPLES = 50  # of a motion; its differences are rounding at every one
ZERO_SHARE = 1e-3  # of the struts' forces: a reaction that stays below is compared with these
#: Reactions that `fitted_reactions` compares unless others are named.
FITTED = (
    "shoulder, force",
    "pair of rods, force at the elbow",
    "pair of rods, force at the platform",
    "upper joint, force",
    "telescope, force",
    "lower joint, force",
)


class ReactionRow(NamedTuple):
    """A reaction along a motion: its largest value, and its largest difference from MuJoCo's.

    `relative` is that difference over the largest value. Both are None where MuJoCo's model of the
    machine does not have the reaction, or where MuJoCo is not installed.
    """

    reaction: str
    unit: str
    largest: float
    difference: float | None
    relative: float | None


class _Reaction(NamedTuple):
    """A reaction over time (N, ..., 3), and the name of MuJoCo's."""

    name: str
    unit: str
    values: FloatArray
    engine: str | None


def reaction_rows(
    robot: Robot,
    motion: Motion,
    *,
    model: Literal["exact", "rigid"] = "rigid",
    samples: int = MUJOCO_SAMPLES,
) -> tuple[ReactionRow, ...]:
    """Every reaction that statics determines: its largest value, and how far MuJoCo's is off.

    The largest values count friction in passive joints. MuJoCo takes `samples` of the motion, both
    sides without that friction, and pairs of rods as one body: moments at shoulders are compared
    without the pairs' couples.
    """
    if samples < 1:
        raise InputError("samples", samples, "at least 1")
    loads = constraint_loads(robot, motion, model=model)
    engine = differences = None
    if find_spec("mujoco") is not None:
        few = _rows(robot, motion, samples)
        engine = mujoco_reactions(robot, few)
        smooth = constraint_loads(robot, few, friction=False, model=model)
        differences = {item.name: item for item in _reactions(robot, few, smooth, couples=False)}
    rows = []
    for item in _reactions(robot, motion, loads, couples=True):
        off = relative = None
        if engine is not None and differences is not None and item.engine is not None:
            off, relative = _difference(differences[item.name], engine, robot)
        largest = float(np.linalg.norm(item.values, axis=-1).max())
        rows.append(ReactionRow(item.name, item.unit, largest, off, relative))
    return tuple(rows)


def largest_difference(rows: Collection[ReactionRow]) -> float | None:
    """The largest relative difference from MuJoCo's reactions; None where it is not installed."""
    known = [row.relative for row in rows if row.relative is not None]
    return max(known) if known else None


def reaction_table(
    robot: Robot, motion: Motion, *, rows: Collection[ReactionRow] | None = None
) -> Table:
    """`reaction_rows` as a table of a reproduction; `rows` where they are known already."""
    reactions = reaction_rows(robot, motion) if rows is None else rows
    missing = NO_MUJOCO if find_spec("mujoco") is None else "not in its model"
    cells: list[tuple[Cell, ...]] = [
        (
            row.reaction,
            row.unit,
            row.largest,
            missing if row.relative is None else f"{row.difference:.1e}",
            missing if row.relative is None else f"{row.relative:.1e}",
        )
        for row in reactions
    ]
    open_ones = constraint_loads(robot, _rows(robot, motion, 1)).undetermined
    note = "".join(f" Not determined: {name} ({why})." for name, why in open_ones.items())
    return Table(
        f"Reactions in the joints of {robot.name}, largest along the motion",
        ("reaction", "unit", "largest", "MuJoCo differs by", "relative"),
        tuple(cells),
        "MuJoCo's multipliers of the closed loops are solved at the exact motion, without its soft "
        "constraints and without friction; it has pairs of rods as one body." + note,
    )


def fitted_reactions(
    truth: Robot,
    fits: Mapping[str, Robot],
    motion: Motion,
    *,
    model: Literal["exact", "rigid"] = "rigid",
    reactions: Collection[str] = FITTED,
) -> Table:
    """How wrong identified robots are, in torque and in reactions: % of the largest true value.

    A fit that gives the right base parameters gives the right torque; its reactions are right only
    where its single bodies are. Names in `reactions` that the robot does not have are left out.
    """
    true = _reactions(truth, motion, constraint_loads(truth, motion, model=model), couples=True)
    expected = {item.name: item.values for item in true if item.name in reactions}
    tau = inverse_dynamics(truth, motion, model)
    rows: list[tuple[Cell, ...]] = []
    for name, robot in fits.items():
        loads = constraint_loads(robot, motion, model=model)
        values = {item.name: item.values for item in _reactions(robot, motion, loads, couples=True)}
        off = np.abs(inverse_dynamics(robot, motion, model) - tau).max(axis=0)
        errors = [100 * float((off / np.abs(tau).max(axis=0)).max())]
        errors += [100 * _relative(values[key], expected[key]) for key in expected]
        rows.append((name, *errors))
    return Table(
        f"Errors of identified robots, % of the largest true value of {truth.name}",
        ("robot", "torque", *expected),
        tuple(rows),
    )


def _rows(robot: Robot, motion: Motion, samples: int) -> State:
    """Samples of a motion, evenly over it."""
    k = np.unique(np.linspace(0, len(motion) - 1, samples).round().astype(int))
    return State.from_joints(robot, motion.q[k], motion.qd[k], motion.qdd[k], hint=motion.p[k])


def _reactions(
    robot: Robot, state: State, loads: ConstraintLoads, *, couples: bool
) -> Iterator[_Reaction]:
    """The reactions of a robot, from the arms to the tool."""
    yield _Reaction("shoulder, force", "N", loads.shoulder_force, "shoulder_force")
    if loads.shoulder_moment is not None and loads.couple is not None:
        moment = loads.shoulder_moment
        if not couples:
            limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
            u = limbs.s / np.asarray(robot.geometry.strut_length)[:, None]
            pins = np.array([np.cross(frame.z, frame.x) for frame in robot.geometry.frames])
            across = np.cross(np.broadcast_to(pins, u.shape), u)
            moment = moment + loads.couple[..., None] * across
        yield _Reaction("shoulder, tilting moment", "N m", moment, "shoulder_moment")
    yield _Reaction("pair of rods, force at the elbow", "N", loads.elbow, "elbow")
    yield _Reaction("pair of rods, force at the platform", "N", loads.platform, "platform")
    if loads.couple is not None:
        yield _Reaction("pair of rods, couple", "N m", loads.couple[..., None], None)
    if loads.rods is not None:
        yield _Reaction("ball joint, elbow, force", "N", loads.rods.elbow, None)
        yield _Reaction("ball joint, platform, force", "N", loads.rods.platform, None)
    if loads.spindle is not None:
        parts = (
            ("upper joint", "upper", True),
            ("telescope", "slide", True),
            ("lower joint", "lower", True),
            ("bearing on the platform", "bearing", False),
        )
        for words, name, seen in parts:
            for kind, unit in (("force", "N"), ("moment", "N m")):
                field = f"{name}_{kind}"
                values = getattr(loads.spindle, field)
                yield _Reaction(f"{words}, {kind}", unit, values, field if seen else None)
    if loads.halves is not None:
        yield _Reaction("halves, force of what joins them", "N", loads.halves, None)
    if loads.nut_torque is not None:
        yield _Reaction("nuts, torque on the tool", "N m", loads.nut_torque[..., None], None)
    yield _Reaction("tool, force", "N", loads.tool_force, None)
    yield _Reaction("tool, moment about the platform point", "N m", loads.tool_moment, None)


def _difference(ours: _Reaction, engine: MujocoReactions, robot: Robot) -> tuple[float, float]:
    """Largest difference from MuJoCo's values, and over their largest."""
    assert ours.engine is not None
    expected: FloatArray = getattr(engine, ours.engine)
    natural = float(np.linalg.norm(engine.platform, axis=-1).max())
    if ours.unit == "N m":
        natural *= float(np.mean(robot.geometry.strut_length))
    off = float(np.linalg.norm(ours.values - expected, axis=-1).max())
    largest = float(np.linalg.norm(expected, axis=-1).max())
    return off, off / (largest if largest > ZERO_SHARE * natural else natural)


def _relative(ours: FloatArray, expected: FloatArray) -> float:
    """Largest difference over the largest value; NaN where that is 0."""
    largest = float(np.linalg.norm(expected, axis=-1).max())
    off = float(np.linalg.norm(ours - expected, axis=-1).max())
    return off / largest if largest > 0 else float("nan")
