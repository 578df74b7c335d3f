"""The variables of the FMUs: one table for the model description and for the C sources.

Behind them stands modelDescription.xml, of FMI 2.0 and 3.0, and the build description of FMI 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from xml.sax.saxutils import quoteattr

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.layout import PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.backends.plant_layout import JOINTS, LIMB_JOINTS
from deltadyn.exports.common import (
    EXPORT_MARK,
    INTERFACE_VERSION,
    filled,
    number,
    provenance,
    speech,
    standard,
)
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
COORDINATES = "coordinate {} of the platform, of @"  # @: their names

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
    start: float | bool | str | None = None
    least: float | None = None
    most: float | None = None
    variability: str = "continuous"
    kind: str = "real"  # or integer, boolean, string
    group: str = ""  # the symbol of its array; "" of a scalar
    place: int = 0  # in its array, from 0
    depends: tuple[str, ...] = ()  # of an output: INPUT and groups that act without delay
    alone: bool = False  # of these groups its own place alone acts
    slope_of: str = ""  # the group of states whose derivative it is


def plant_variables(robot: Robot, timestep: float) -> tuple[Variable, ...]:
    """Variables of the plant: torques in, motion out."""
    home, words = home_angles(robot), speech(robot)
    torques, rest = _fmi_units(robot, "tau"), (0.0,) * robot.dof
    step = ("longest integration step", "s", timestep, LEAST_STEP, LONGEST_STEP)
    return (
        TIME,
        *_axes(
            Variable("TAU", "tau", "input", f"drive {words['torque']} of axis {{}}"), torques, rest
        ),
        *_loads(robot),
        *_axes(_start(robot, "Q"), _group_units(robot, "Q"), home),
        *_axes(_start(robot, "QD"), _group_units(robot, "QD"), rest),
        _scalar("STEP", "step", *step),
        *_model(robot, sharp=False),
        *_outputs(robot, plant=True),
        replace(STATUS, depends=("INPUT", "Q", "QD")),
        *_told(robot),
    )


def inverse_variables(robot: Robot) -> tuple[Variable, ...]:
    """Variables of the inverse model: motion in, torques out."""
    dof, home = robot.dof, home_angles(robot)
    starts = {"P": np.round(forward_kinematics(robot, home), 12), "Q": home}
    reference = [
        item
        for symbol in ("P", "PD", "PDD", "Q", "QD", "QDD")
        for item in _axes(
            Variable(f"{symbol}_REF", f"{symbol.lower()}_ref", "input", _about(robot, symbol)),
            _group_units(robot, symbol),
            starts.get(symbol, np.zeros(dof)),
        )
    ]
    torques = (
        ("TAU", "tau", "output", f"drive {speech(robot)['torque']} of axis {{}}"),
        ("CONTROLLER_TAU", "controller_tau", "output", "tau[{}] in the controller's sign"),
    )
    return (
        TIME,
        *reference,
        *_loads(robot),
        *_model(robot, sharp=True),
        *(
            v
            for row in torques
            for v in _axes(Variable(*row, depends=("INPUT",)), _fmi_units(robot, "tau"))
        ),
        *_outputs(robot, plant=False),
        replace(STATUS, depends=("INPUT",)),
        Variable(
            "FROM_JOINTS",
            "from_joints",
            "parameter",
            "false: p_ref, pd_ref, pdd_ref count; true: q_ref, qd_ref, qdd_ref",
            start=False,
            variability="tunable",
            kind="boolean",
        ),
        *_told(robot),
    )


SELF_TEST = Variable(
    "SELF_TEST",
    "self_test",
    "output",
    "0: this machine gives the package's answers at the check points; k: check point k fails",
    kind="integer",
    variability="discrete",
)


def _told(robot: Robot) -> Iterator[Variable]:
    """What a unit tells of itself: its self-test, and texts that identify it."""
    yield SELF_TEST
    texts = (
        (
            "interface_version",
            "counted up where a variable's name or meaning changes",
            str(INTERFACE_VERSION),
        ),
        ("fingerprint", "of the unit: of its robot and of the options of the export", EXPORT_MARK),
        (
            "written_by",
            "package that wrote the unit",
            f"deltadyn {version('deltadyn')}",
        ),
    )
    for i, (name, about, text) in enumerate(texts):
        yield Variable(
            "" if i else "STRINGS",
            name,
            "local",
            about,
            start=text,
            variability="constant",
            kind="string",
        )


TIME = Variable("TIME", "time", "independent", "time of the simulation", "s")
STATUS = Variable(
    "STATUS", "status", "output", STATUS_MEANING, kind="integer", variability="discrete"
)


def _fmi_units(robot: Robot, quantity: str) -> tuple[str, ...]:
    """The units of the axes as FMI writes them: N.m, rad/s2."""
    units = robot.axis_units(quantity)
    return tuple(unit.replace(" ", ".").replace("^", "") for unit in units)


def _about(robot: Robot, symbol: str) -> str:
    """What a group of coordinates is."""
    text = MOTION[symbol][0].replace("@", ", ".join(robot.coordinates))
    return text.replace("angle", speech(robot)["angle"]) if symbol == "Q" else text


def _start(robot: Robot, symbol: str) -> Variable:
    """The parameter for where a joint coordinate starts."""
    text = f"{_about(robot, symbol)} at the start"
    name = f"{symbol}_START"
    return Variable(name, name.lower(), "parameter", text, variability="fixed")


def _axes(
    model: Variable, units: Sequence[str], starts: Iterable[float] = ()
) -> Iterator[Variable]:
    """One variable like `model` per axis, name[1] and so on; {} in its text is the number."""
    values: list[float | None] = [_plain(start) for start in starts] or [None] * len(units)
    for i, (unit, start) in enumerate(zip(units, values, strict=True), start=1):
        yield replace(
            model,
            symbol=model.symbol if i == 1 else "",
            name=f"{model.name}[{i}]",
            description=model.description.format(i),
            unit=unit,
            start=start,
            group=model.symbol,
            place=i - 1,
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
        symbol, name, "parameter", description, unit, _plain(start), least, most, "tunable"
    )


def _plain(value: float) -> float:
    """A number without the sign of zero: no start value is -0.0."""
    return float(value) + 0.0


def _loads(robot: Robot) -> Iterator[Variable]:
    """Inputs of both models: what pulls at the platform and what it carries."""
    names = ["moment_z" if name == "psi" else f"force_{name}" for name in robot.coordinates]
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
        _plain(robot.payload.mass),
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
    rows = (
        ("m_x", "kg", "coupling mass of strut pair {}"),
        ("A", "kg.m2", "inertia of arm {} about its axis, with rotor and part of the struts"),
        ("G", "kg.m", "gravity moment of arm {} along its line"),
        ("G_s", "kg.m", "gravity moment of arm {} across its line"),
    )
    if robot.linear:
        rows = (
            rows[0],
            ("A", "kg", "mass that moves with carriage {}, with rotor and part of the struts"),
            ("G", "kg", "mass that weighs on carriage {}"),
            ("G_s", "kg", "not used on rails, {}"),
        )
    for symbol, unit, text in rows:
        model = Variable(symbol.upper(), f"base.{symbol}", "parameter", text)
        tunable = replace(model, variability="tunable")
        yield from _axes(tunable, (unit,) * robot.legs, par[PLACES[symbol]][: robot.legs])
    if robot.spindle is not None:
        yield from _spindle(robot, par[PLACES["spindle"]])
    if robot.legs == 4:
        yield from _halves(robot, par[PLACES["halves"]])
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


def _halves(robot: Robot, numbers: FloatArray) -> Iterator[Variable]:
    """Parameters of a platform of halves, without payload."""
    mass, (x, y, _) = robot.payload.mass, robot.payload.offset
    own = numbers - mass * np.array([0.0, 0.0, x, y, x * x + y * y])
    rows = (
        ("S", "kg.m", "first moment of halves, bars and struts along the way of psi"),
        ("S_s", "kg.m", "first moment of bars and gears across them"),
        ("h_x", "kg.m", "first moment of the tool along its x, without payload"),
        ("h_y", "kg.m", "first moment of the tool along its y, without payload"),
        ("I_psi", "kg.m2", "inertia about the tool's axis, without the payload's mass"),
    )
    for i, ((name, unit, text), value) in enumerate(zip(rows, own, strict=True)):
        yield _scalar("" if i else "HALVES", f"base.{name}", text, unit, value)
    for i, (name, value) in enumerate((("x", x), ("y", y))):
        text = f"{name} of the payload's mass in the tool's frame"
        yield _scalar("" if i else "PAYLOAD_OFFSET", f"payload_offset_{name}", text, "m", value)


def _friction(robot: Robot, par: FloatArray, *, sharp: bool) -> Iterator[Variable]:
    dof, tau, rates = robot.dof, _fmi_units(robot, "tau"), _fmi_units(robot, "qd")
    viscous = tuple({"N": "N.s/m", "N.m": "N.m.s/rad"}[unit] for unit in tau)
    torque = speech(robot)["torque"]
    for name, units, text in (
        ("viscous", viscous, "viscous friction of axis {}"),
        ("coulomb", tau, "Coulomb friction of axis {} for qd > 0"),
        ("coulomb_negative", tau, "Coulomb friction of axis {} for qd < 0"),
        ("stribeck", tau, "friction of axis {} above Coulomb at rest"),
        ("stribeck_velocity", rates, "rate over which that falls, 0: no such term, axis {}"),
        ("offset", tau, f"constant {torque} of axis {{}}"),
        ("load", ("1",) * dof, f"share of the {torque} through gear {{}} that is lost"),
    ):
        model = Variable(
            name.upper(),
            f"friction.{name}",
            "parameter",
            text,
            least=None if name == "offset" else 0.0,
            most=LARGEST_LOSS if name == "load" else None,
            variability="tunable",
        )
        yield from _axes(model, units, par[PLACES[name]][:dof])
    if standard(robot):
        yield from _passive(robot)
    own = robot.friction.smoothing
    text = "friction's direction is tanh(rate / smoothing)"
    if sharp:
        text += ", sign(rate) where it is 0"
        yield _scalar("SMOOTHING", "friction.smoothing", text, rates[0], own or 0.0, 0.0)
        return
    start = smoothing_of(robot)
    least = min(LEAST_SMOOTHING, start)
    yield _scalar("SMOOTHING", "friction.smoothing", text, rates[0], start, least)


def smoothing_of(robot: Robot) -> float:
    """The rate over which friction turns its sign in the plant, in the axes' unit."""
    own = robot.friction.smoothing
    return DEFAULT_SMOOTHING * robot.radian[0] if own is None else own


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


#: On which groups the plant's outputs depend.
PLANT_DEPENDS: dict[str, tuple[str, ...]] = {
    "Q": ("Q",),
    "QD": ("QD",),
    "QDD": ("INPUT", "Q", "QD"),
    "P": ("Q",),
    "PD": ("Q", "QD"),
    "PDD": ("INPUT", "Q", "QD"),
    "CONTROLLER_Q": ("Q",),
    "CONTROLLER_QD": ("QD",),
}
SLOPES = {"QD": "Q", "QDD": "QD"}  # the plant's states are q and qd
ALONE = ("Q", "QD", "CONTROLLER_Q", "CONTROLLER_QD")


def _outputs(robot: Robot, *, plant: bool) -> Iterator[Variable]:
    """The motion, with what it depends on."""
    for symbol in MOTION:
        model = Variable(
            symbol,
            symbol.lower(),
            "output",
            _about(robot, symbol),
            depends=PLANT_DEPENDS[symbol] if plant else ("INPUT",),
            alone=plant and symbol in ALONE,
            slope_of=SLOPES.get(symbol, "") if plant else "",
        )
        yield from _axes(model, _group_units(robot, symbol))


def _group_units(robot: Robot, symbol: str) -> tuple[str, ...]:
    """The units of a group of coordinates, or of their rates."""
    _, kind, per = MOTION[symbol]
    platform = tuple("rad" if name == "psi" else "m" for name in robot.coordinates)
    own = platform if kind == "platform" else robot.axis_units("q")
    return tuple(f"{unit}{per}" for unit in own)


#: Unit and its exponents of the base units.
UNITS = {
    "s": {"s": 1},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "kg": {"kg": 1},
    "kg.m": {"kg": 1, "m": 1},
    "kg.m2": {"kg": 1, "m": 2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
    "N.s/m": {"kg": 1, "s": -1},
    "1": {},
}
SUMMARY = {
    "plant": "Plant of a Delta robot: drive torques in, motion out",
    "inverse": "Inverse model of a Delta robot: motion in, feedforward torques out",
}
ELEMENTS = {
    "2.0": {"real": "Real", "integer": "Integer", "boolean": "Boolean", "string": "String"},
    "3.0": {"real": "Float64", "integer": "Int32", "boolean": "Boolean", "string": "String"},
}
TOKEN = "@TOKEN@"


@dataclass(frozen=True)
class Entry:
    """A variable of the model description: a scalar, or in FMI 3.0 all scalars of an array."""

    place: int  # of the first in the table of scalars: its value reference
    items: tuple[Variable, ...]
    arrays: bool = False  # whether groups of scalars are arrays

    @property
    def first(self) -> Variable:
        """The scalar that names it."""
        return self.items[0]

    @property
    def name(self) -> str:
        """Of an array without the place."""
        name = self.first.name
        return name.rsplit("[", 1)[0] if self.array else name

    @property
    def array(self) -> bool:
        """Whether it is an array, also one of a single scalar."""
        return self.arrays and bool(self.first.group)


def entries(variables: Sequence[Variable], fmi: str) -> list[Entry]:
    """The variables of a description: scalars in FMI 2.0, arrays of them in FMI 3.0."""
    found: list[Entry] = []
    for place, item in enumerate(variables):
        if fmi == "3.0" and item.place > 0:
            last = found[-1]
            found[-1] = replace(last, items=(*last.items, item))
        else:
            found.append(Entry(place, (item,), arrays=fmi == "3.0"))
    return found


def description(
    robot: Robot, model: str, name: str, fmi: str, layer: str, variables: Sequence[Variable]
) -> str:
    """The text of modelDescription.xml, with @TOKEN@ where the unit's identity goes."""
    told = ". ".join(" ".join(line.split()) for line in provenance(robot, SUMMARY[model]))
    rows = entries(variables, fmi)
    words = {
        "name": quoteattr(name),
        "told": quoteattr(told),
        "tool": quoteattr(f"deltadyn {version('deltadyn')}"),
        "layer": quoteattr(layer),
        "units": "\n".join(_units(variables)),
        "variables": "\n".join(_variable(row, rows, fmi) for row in rows),
        "structure": "\n".join(_structure(rows, fmi)),
    }
    return filled("fmu", f"modelDescription_{fmi[0]}.xml", words)


def build_description(name: str, layer: str) -> str:
    """sources/buildDescription.xml of FMI 3.0."""
    words = {"name": quoteattr(name), "layer": quoteattr(layer)}
    return filled("fmu", "buildDescription.xml", words)


def _units(variables: Sequence[Variable]) -> Iterator[str]:
    used = {item.unit for item in variables}
    for unit, exponents in UNITS.items():
        if unit in used:
            powers = "".join(f' {base}="{power}"' for base, power in exponents.items())
            yield f"    <Unit name={quoteattr(unit)}><BaseUnit{powers}/></Unit>"


def about(row: Entry) -> str:
    """What a variable is; of an array of several units with the unit of each."""
    text = row.first.description
    if not row.array:
        return text
    units = [item.unit for item in row.items]
    text = re.sub(r"\b1\b", "i", text)
    return text if len(set(units)) == 1 else f"{text}; in {', '.join(units)}"


def _variable(row: Entry, rows: Sequence[Entry], fmi: str) -> str:
    item = row.first
    outer = [
        f"name={quoteattr(row.name)}",
        f'valueReference="{row.place}"',
        f"description={quoteattr(about(row))}",
        f'causality="{item.causality}"',
        f'variability="{item.variability}"',
    ]
    initial = {"parameter": "exact", "output": "calculated", "local": "exact"}.get(item.causality)
    if initial is not None:
        outer.append(f'initial="{initial}"')
    units = {one.unit for one in row.items}
    inner = [f"unit={quoteattr(item.unit)}"] if item.unit and len(units) == 1 else []
    bounds = (("min", item.least), ("max", item.most))
    inner += [f'{name}="{number(value)}"' for name, value in bounds if value is not None]
    inside = f'<Dimension start="{len(row.items)}"/>' if row.array else ""
    if isinstance(item.start, str) and fmi == "3.0":
        inside = f"<Start value={quoteattr(item.start)}/>"
    elif item.start is not None:
        inner.append(f"start={quoteattr(' '.join(start_text(one) for one in row.items))}")
    if item.slope_of:
        state = _group(rows, item.slope_of)[item.place]
        inner.append(f'derivative="{_index(state, rows, fmi)}"')
    element = ELEMENTS[fmi][item.kind]
    if fmi == "3.0":
        head = " ".join([element, *outer, *inner])
        return f"    <{head}>{inside}</{element}>" if inside else f"    <{head}/>"
    return (
        f"    <ScalarVariable {' '.join(outer)}><{' '.join([element, *inner])}/></ScalarVariable>"
    )


def start_text(item: Variable) -> str:
    """A start value as the model description writes it."""
    if isinstance(item.start, str):
        return item.start
    if isinstance(item.start, bool):
        return str(item.start).lower()
    return "" if item.start is None else number(item.start)


def _group(rows: Sequence[Entry], symbol: str) -> list[Entry]:
    """The entries of a group: one array, or its scalars."""
    return [row for row in rows if row.first.group == symbol]


def _index(row: Entry, rows: Sequence[Entry], fmi: str) -> int:
    """How the structure names a variable: FMI 2.0 counts from 1, FMI 3.0 has value references."""
    return rows.index(row) + 1 if fmi == "2.0" else row.place


def _structure(rows: Sequence[Entry], fmi: str) -> Iterator[str]:
    """Outputs and derivatives of states with what acts on them, then the unknowns at the start."""
    inputs = [row for row in rows if row.first.causality == "input"]
    outputs = [row for row in rows if row.first.causality == "output"]
    known = {"INPUT": inputs, "Q": _group(outputs, "Q"), "QD": _group(outputs, "QD")}

    def unknown(row: Entry) -> str:
        on: list[Entry] = []
        for group in row.first.depends:
            on += [known[group][row.first.place]] if row.first.alone else known[group]
        places = " ".join(str(_index(one, rows, fmi)) for one in on)
        return f'="{_index(row, rows, fmi)}" dependencies="{places}"/>'

    slopes = [row for symbol in SLOPES for row in _group(outputs, symbol) if row.first.slope_of]
    if fmi == "3.0":
        for row in outputs:
            yield f"    <Output valueReference{unknown(row)}"
        for row in slopes:
            yield f"    <ContinuousStateDerivative valueReference{unknown(row)}"
        for row in outputs:
            yield f'    <InitialUnknown valueReference="{row.place}"/>'
        return
    yield "    <Outputs>"
    for row in outputs:
        yield f"      <Unknown index{unknown(row)}"
    yield "    </Outputs>"
    if slopes:
        yield "    <Derivatives>"
        for row in slopes:
            yield f"      <Unknown index{unknown(row)}"
        yield "    </Derivatives>"
    yield "    <InitialUnknowns>"
    for row in outputs:
        yield f'      <Unknown index="{_index(row, rows, fmi)}"/>'
    yield "    </InitialUnknowns>"
