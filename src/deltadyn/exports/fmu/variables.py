"""The variables of the FMUs: one table for the model description and for the C sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.layout import PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.backends.plant_layout import JOINTS, LIMB_JOINTS
from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.robot import Robot
from deltadyn.simulation.plant.machine import home_angles
from deltadyn.simulation.presets import Preset

#: rad/s: sharp Coulomb friction has no solution at rest; the bench's own plant takes this too.
DEFAULT_SMOOTHING = Preset().smoothing
LEAST_SMOOTHING = 1e-6  # rad/s
LEAST_STEP = 1e-7  # s
LONGEST_STEP = 1.0  # s
LARGEST_LOSS = 0.9  # of the torque through a gear, as in a robot file
STATUS_MEANING = (
    "0 good, 1 out of reach, 2 singular, 3 mass matrix not positive definite, 4 motion without "
    "bound, 5 gear losses without solution, 6 too many integration steps"
)
COORDINATES = "coordinate {} of the platform, of x, y, z, psi"

#: Outputs of both models: description, kind of coordinates, and their rate.
MOTION = {
    "Q": ("angle of axis {}", "joints", ""),
    "QD": ("rate of axis {}", "joints", "/s"),
    "QDD": ("acceleration of axis {}", "joints", "/s2"),
    "P": (COORDINATES, "platform", ""),
    "PD": (f"rate of {COORDINATES}", "platform", "/s"),
    "PDD": (f"acceleration of {COORDINATES}", "platform", "/s2"),
    "CONTROLLER_Q": ("q[{}] as the controller counts it", "joints", ""),
    "CONTROLLER_QD": ("qd[{}] in the controller's sign", "joints", "/s"),
}


@dataclass(frozen=True)
class Variable:
    """A scalar of an FMU; its value reference is its place in the table."""

    symbol: str  # of its group in C; "" behind the group's first
    name: str
    causality: str
    description: str
    unit: str = ""
    start: float | bool | None = None
    least: float | None = None
    most: float | None = None
    variability: str = "continuous"
    kind: str = "real"  # or integer, boolean
    feeds: bool = False  # an output on which the inputs act without delay


def plant_variables(robot: Robot, timestep: float) -> tuple[Variable, ...]:
    """Variables of the plant: torques in, motion out."""
    dof, home = robot.dof, home_angles(robot)
    torques, rest = ("N.m",) * dof, (0.0,) * dof
    return (
        _time(),
        *_axes("TAU", "tau", "input", "drive torque of axis {}", torques, rest),
        *_loads(robot),
        *_axes(
            "Q_START",
            "q_start",
            "parameter",
            "angle of axis {} at the start",
            _angles(dof),
            home,
            variability="fixed",
        ),
        *_axes(
            "QD_START",
            "qd_start",
            "parameter",
            "rate of axis {} at the start",
            _angles(dof, "/s"),
            rest,
            variability="fixed",
        ),
        _scalar(
            "STEP", "step", "longest integration step", "s", timestep, LEAST_STEP, LONGEST_STEP
        ),
        *_model(robot, sharp=False),
        *_outputs(dof, feeds=("QDD", "PDD")),
        _status(),
    )


def inverse_variables(robot: Robot) -> tuple[Variable, ...]:
    """Variables of the inverse model: motion in, torques out."""
    dof, home = robot.dof, home_angles(robot)
    place, torques = np.round(forward_kinematics(robot, home), 12), ("N.m",) * dof
    where = COORDINATES
    return (
        _time(),
        *_axes("P_REF", "p_ref", "input", where, _lengths(dof), place),
        *_axes("PD_REF", "pd_ref", "input", f"rate of {where}", _lengths(dof, "/s"), (0.0,) * dof),
        *_axes(
            "PDD_REF",
            "pdd_ref",
            "input",
            f"acceleration of {where}",
            _lengths(dof, "/s2"),
            (0.0,) * dof,
        ),
        *_axes("Q_REF", "q_ref", "input", "angle of axis {}", _angles(dof), home),
        *_axes("QD_REF", "qd_ref", "input", "rate of axis {}", _angles(dof, "/s"), (0.0,) * dof),
        *_axes(
            "QDD_REF",
            "qdd_ref",
            "input",
            "acceleration of axis {}",
            _angles(dof, "/s2"),
            (0.0,) * dof,
        ),
        *_loads(robot),
        *_model(robot, sharp=True),
        *_axes("TAU", "tau", "output", "drive torque of axis {}", torques, feeds=True),
        *_axes(
            "CONTROLLER_TAU",
            "controller_tau",
            "output",
            "tau[{}] in the controller's sign",
            torques,
            feeds=True,
        ),
        *_outputs(dof, feeds=tuple(MOTION)),
        replace(_status(), feeds=True),
        Variable(
            "FROM_JOINTS",
            "from_joints",
            "parameter",
            "false: p_ref, pd_ref, pdd_ref count; true: q_ref, qd_ref, qdd_ref",
            start=False,
            variability="tunable",
            kind="boolean",
        ),
    )


def _axes(
    symbol: str,
    name: str,
    causality: str,
    description: str,
    units: Sequence[str],
    starts: Iterable[float] = (),
    *,
    variability: str = "continuous",
    least: float | None = None,
    most: float | None = None,
    feeds: bool = False,
) -> Iterator[Variable]:
    """One variable per axis, name[1] and so on; {} in the description is its number."""
    values: list[float | None] = [float(start) for start in starts] or [None] * len(units)
    for i, (unit, start) in enumerate(zip(units, values, strict=True)):
        yield Variable(
            "" if i else symbol,
            f"{name}[{i + 1}]",
            causality,
            description.format(i + 1),
            unit,
            start,
            least,
            most,
            variability,
            feeds=feeds,
        )


def _scalar(
    symbol: str,
    name: str,
    description: str,
    unit: str,
    start: float,
    least: float | None = None,
    most: float | None = None,
) -> Variable:
    """A tunable parameter."""
    return Variable(
        symbol, name, "parameter", description, unit, float(start), least, most, "tunable"
    )


def _time() -> Variable:
    return Variable("TIME", "time", "independent", "time of the simulation", "s")


def _status() -> Variable:
    return Variable(
        "STATUS", "status", "output", STATUS_MEANING, kind="integer", variability="discrete"
    )


def _loads(robot: Robot) -> Iterator[Variable]:
    """Inputs of both models: what pulls at the platform and what it carries."""
    names = ("force_x", "force_y", "force_z", "moment_z")[: robot.dof]
    for i, name in enumerate(names):
        unit = "N.m" if name == "moment_z" else "N"
        text = "external load on the platform, in the base's frame"
        symbol = "" if i else "FORCE"
        yield Variable(symbol, name, "input", text, unit, 0.0)
    yield Variable(
        "PAYLOAD_MASS",
        "payload_mass",
        "input",
        "mass that the platform carries",
        "kg",
        float(robot.payload.mass),
        0.0,
        variability="discrete",
    )


def _model(robot: Robot, *, sharp: bool) -> Iterator[Variable]:
    """Parameters: the base parameters of the exact model and the drives' friction."""
    par = packed_parameters(robot)
    payload = robot.payload
    empty = par[PLACES["M_P"]][0] - payload.mass
    yield _scalar("GRAVITY", "gravity", "field along -z", "m/s2", robot.gravity)
    text = "mass that moves with the platform, with its part of the struts, without payload"
    yield _scalar("M_P_EMPTY", "base.M_P_empty", text, "kg", empty)
    for symbol, unit, text in (
        ("m_x", "kg", "coupling mass of strut pair {}"),
        ("A", "kg.m2", "inertia of arm {} about its axis, with rotor and part of the struts"),
        ("G", "kg.m", "gravity moment of arm {} along its line"),
        ("G_s", "kg.m", "gravity moment of arm {} across its line"),
    ):
        start, units = par[PLACES[symbol]], (unit,) * 3
        yield from _axes(
            symbol.upper(),
            f"base.{symbol}",
            "parameter",
            text,
            units,
            start,
            variability="tunable",
        )
    if robot.spindle is not None:
        yield from _spindle(robot, par[PLACES["spindle"]])
    yield from _friction(robot, par, sharp=sharp)


def _spindle(robot: Robot, numbers: FloatArray) -> Iterator[Variable]:
    mass, (x, y, _) = robot.payload.mass, robot.payload.offset
    own = list(numbers[1:])  # behind pivot_z, which is geometry
    own[4] -= mass * x
    own[5] -= mass * y
    own[6] -= mass * (x * x + y * y)
    rows = (
        ("H", "kg.m2", "transverse inertias of both rods about their joints"),
        ("kappa", "kg.m", "first moment of the lower rod"),
        ("mu", "kg.m", "first moment of the upper rod"),
        ("I_axial", "kg.m2", "axial inertia of the shaft"),
        ("h_x", "kg.m", "first moment of the effector along its x, without payload"),
        ("h_y", "kg.m", "first moment of the effector along its y, without payload"),
        ("I_psi", "kg.m2", "inertia about axis 4 with rotor, without the payload's mass"),
    )
    for i, ((name, unit, text), value) in enumerate(zip(rows, own, strict=True)):
        yield _scalar("" if i else "SPINDLE", f"base.{name}", text, unit, value)
    for i, (name, value) in enumerate((("x", x), ("y", y))):
        text = f"{name} of the payload's mass in the effector's frame"
        yield _scalar("" if i else "PAYLOAD_OFFSET", f"payload_offset_{name}", text, "m", value)


def _friction(robot: Robot, par: FloatArray, *, sharp: bool) -> Iterator[Variable]:
    dof = robot.dof
    for name, unit, text in (
        ("viscous", "N.m.s/rad", "viscous friction of axis {}"),
        ("coulomb", "N.m", "Coulomb friction of axis {} for qd > 0"),
        ("coulomb_negative", "N.m", "Coulomb friction of axis {} for qd < 0"),
        ("stribeck", "N.m", "friction of axis {} above Coulomb at rest"),
        ("stribeck_velocity", "rad/s", "rate over which that falls, 0: no such term, axis {}"),
        ("offset", "N.m", "constant torque of axis {}"),
        ("load", "1", "share of the torque through gear {} that is lost"),
    ):
        yield from _axes(
            name.upper(),
            f"friction.{name}",
            "parameter",
            text,
            (unit,) * dof,
            par[PLACES[name]][:dof],
            variability="tunable",
            least=None if name == "offset" else 0.0,
            most=LARGEST_LOSS if name == "load" else None,
        )
    yield from _passive(robot)
    own = robot.friction.smoothing
    text = "friction's direction is tanh(rate / smoothing)"
    if sharp:
        text += ", sign(rate) where it is 0"
        yield _scalar("SMOOTHING", "friction.smoothing", text, "rad/s", own or 0.0, 0.0)
        return
    start = DEFAULT_SMOOTHING if own is None else own
    least = min(LEAST_SMOOTHING, start)
    yield _scalar("SMOOTHING", "friction.smoothing", text, "rad/s", start, least)


def _passive(robot: Robot) -> Iterator[Variable]:
    """Friction in passive joints: viscous of all kinds, then Coulomb."""
    own = {item.joint: item for item in robot.friction.passive}
    kinds = LIMB_JOINTS if robot.spindle is None else JOINTS
    for term in ("viscous", "coulomb"):
        for i, joint in enumerate(kinds):
            value = getattr(own[joint], term) if joint in own else 0.0
            unit = "N" if joint == "prismatic" else "N.m"
            per = {"N": "N.s/m", "N.m": "N.m.s/rad"}[unit] if term == "viscous" else unit
            symbol = "" if i else f"PASSIVE_{term.upper()}"
            text = f"{term} friction in every passive joint {joint}"
            yield _scalar(symbol, f"friction.{joint}_{term}", text, per, value, 0.0)


def _outputs(dof: int, *, feeds: tuple[str, ...]) -> Iterator[Variable]:
    """The motion; `feeds` names the groups on which inputs act without delay."""
    for symbol, (text, units, per) in MOTION.items():
        unit = _lengths(dof, per) if units == "platform" else _angles(dof, per)
        name = symbol.lower()
        yield from _axes(symbol, name, "output", text, unit, feeds=symbol in feeds)


def _angles(dof: int, per: str = "") -> tuple[str, ...]:
    return (f"rad{per}",) * dof


def _lengths(dof: int, per: str = "") -> tuple[str, ...]:
    return (f"m{per}",) * 3 + (f"rad{per}",) * (dof - 3)
