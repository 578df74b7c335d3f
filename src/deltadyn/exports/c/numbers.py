"""The robot's numbers, and those of its payload estimator, as constants in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deltadyn.backends.layout import AXES, COUNT, ENTRIES, PLACES
from deltadyn.dynamics.passive import SPINDLE_JOINTS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.common import number
from deltadyn.exports.payload_numbers import PayloadNumbers, column_parameters, empty_parameters
from deltadyn.payload.front_end import SHARP
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS

GEAR_ROUNDS = 20  # a sign pattern of three or four loads settles in two or three
SMALLEST_INERTIA = 1e-12  # kg m^2: a smaller pivot of the mass matrix is none
PER_LINE = 4


@dataclass(frozen=True)
class Precision:
    """A C type, and the sizes at which numbers of that type stop being meaningful.

    The limits keep squares and quotients of accepted numbers inside the type, so that nothing
    overflows: `largest` input in its unit, `tiny` relative denominator, `information` (1/kg^2) that
    counts as none, `residual` (N m, N m/kg) and `weight` beyond which a robot is not at work.
    Sums of the load are halved above `full`.
    """

    real: str
    suffix: str
    largest: float
    tiny: float
    information: float
    residual: float
    weight: float
    full: float

    def literal(self, value: float) -> str:
        """A number of this type."""
        return number(value) + self.suffix

    def function(self, name: str) -> str:
        """A function of math.h for this type."""
        return name + self.suffix


PRECISIONS = {
    "double": Precision("double", "", 1e6, 1e-9, 1e-30, 1e60, 1e30, 1e30),
    "float": Precision("float", "f", 1e5, 1e-3, 1e-6, 1e9, 1e12, 1e8),
}


def precision_of(name: object) -> Precision:
    """The precision of a name."""
    if not isinstance(name, str) or name not in PRECISIONS:
        raise UnknownNameError("precision", str(name), PRECISIONS)
    return PRECISIONS[name]


def robot_numbers(robot: Robot, precision: Precision) -> str:
    """Places in a robot's numbers, the numbers, and the controller's convention."""
    smoothing = robot.friction.smoothing
    places = [f"    PAR_{name.upper()} = {PLACES[name].start}," for name, _ in ENTRIES]
    lines = [
        "enum {",
        *places,
        f"    PAR_COUNT = {COUNT},",
        f"    AXES = {AXES},",
        f"    WAVES = {len(robot.drives.ripple)} /* of ripple */",
        "};",
        _array("SIGN[DOF]", robot.controller.sign, precision),
        _array("OFFSET[DOF]", robot.controller.offset, precision),
        "/* The robot without payload, and what one kg at the payload's offset adds. */",
        _parameters("EMPTY", empty_parameters(robot), precision),
        _array("PER_KG[PAR_COUNT]", per_kg(robot), precision),
        "/* s/rad, of tanh in friction; 0: sign */",
        _scalar("OVER_SMOOTHING", 1 / smoothing if smoothing else 0.0, precision),
        _scalar("SMALLEST_INERTIA", SMALLEST_INERTIA, precision),
        f"enum {{ GEAR_ROUNDS = {GEAR_ROUNDS} }};",
        *_passive(robot, precision),
    ]
    return "\n".join(lines)


def _passive(robot: Robot, precision: Precision) -> list[str]:
    """Passive joints with friction, those of the spindle first in the enumeration."""
    passive, smoothing = robot.friction.passive, robot.friction.smoothing
    if not passive:
        return []
    names = (*SPINDLE_JOINTS, *(name for name in PASSIVE_JOINTS if name not in SPINDLE_JOINTS))
    joints = ", ".join(f"{name.upper()} = {k}" for k, name in enumerate(names))
    rows = ", ".join(
        f"{{ {precision.literal(item.viscous)}, {precision.literal(item.coulomb)} }}"
        for item in passive
    )
    return [
        f"enum {{ {joints}, RUBBED_COUNT = {len(passive)} }};",
        "static const int JOINTS[RUBBED_COUNT] = { "
        + ", ".join(item.joint.upper() for item in passive)
        + " };",
        f"static const real RUBBED[RUBBED_COUNT][2] = {{ {rows} }}; /* viscous, Coulomb */",
        _scalar("OVER_SHARP", 1 / (smoothing or SHARP), precision),
    ]


def per_kg(robot: Robot) -> list[float]:
    """What one kg of payload adds to the numbers; its own inertia grows with its mass."""
    payload = robot.payload
    if payload.inertia_zz > 0 and not payload.mass > 0:
        allowed = "0 for a payload without mass; give the mass that has this inertia"
        raise InputError("payload.inertia_zz", payload.inertia_zz, allowed)
    inertia = payload.inertia_zz / payload.mass if payload.mass > 0 else 0.0
    column = column_parameters(robot, inertia)
    added = [0.0] * COUNT
    added[PLACES["M_P"].start] = column[PLACES["M_P"].start]
    spindle = PLACES["spindle"]
    added[spindle.start + 1 : spindle.stop] = column[spindle.start + 1 : spindle.stop]
    return added


def estimator_numbers(numbers: PayloadNumbers, precision: Precision) -> str:
    """All numbers of the payload estimator."""
    scalars = {
        "RATE": numbers.rate,
        "GAIN": numbers.gain,
        "OVER_DIRECTION": numbers.over_smoothing,
        "INTERVAL": numbers.interval,
        "DELAY": numbers.delay,
        "NARROW_GAIN": numbers.narrow_gain,
        "OVER_REVERSAL": numbers.over_reversal,
        "REST": numbers.rest,
        "TARE": numbers.tare,
        "RELATIVE": numbers.relative,
        "ZERO": numbers.zero,
        "LIMIT": numbers.limit,
        "REST_SPEED": numbers.rest_speed,
        "PARDON": numbers.pardon,
        "SMALL": numbers.small,
        "REACH": numbers.reach,
        "FAST": precision.residual,
        "LEAST_INFORMATION": precision.information,
        "LARGE_RESIDUAL": precision.residual,
        "LARGE_WEIGHT": precision.weight,
        "LARGE_SUM": 1e12,
        "FULL": precision.full,
    }
    arrays = {
        "A1": numbers.a1,
        "A2": numbers.a2,
        "VARIANCE": numbers.variance,
        "FRICTION": numbers.friction,
    }
    lines = [
        "/* Numbers of the payload estimator; the README names them. */",
        _whole(numbers, precision),
        "static const int WINDOWS[WINDOW_COUNT] = { "
        + ", ".join(str(window) for window in numbers.windows)
        + " };",
        "static const unsigned long LONGEST_PICK = 0x7fffffffUL; /* samples */",
        *(_scalar(name, value, precision) for name, value in scalars.items()),
        *(_array(f"{name}[DOF]", values, precision) for name, values in arrays.items()),
        "/* One kg at the payload's offset, and nothing else. */",
        _parameters("COLUMN", numbers.column, precision),
    ]
    return "\n".join(lines)


def _whole(numbers: PayloadNumbers, precision: Precision) -> str:
    """The whole numbers as an enumeration."""
    step = numbers.step
    values = {
        "SINGLE": int(precision.real == "float"),
        "EVENTS": int(numbers.events),
        "STAGES": numbers.stages,
        "NARROW_STAGES": numbers.narrow_stages,
        "RESIDUAL_STEP": step,
        "SEARCH_PLACE": step // 2 if step > 3 else int(step > 1),
        "WARM_UP": numbers.warm_up,
        "SETTLE": numbers.settle,
        "WINDOW_COUNT": len(numbers.windows),
        "MEMORY": numbers.memory,
        "SLACK": numbers.slack,
        "CONFIRM": numbers.confirm,
        "MIXED": numbers.mixed,
        "CALM": numbers.calm,
        "LEFT": numbers.left,
        "SAME": numbers.same,
        "PATIENCE": numbers.patience,
    }
    rows = ",\n".join(f"    {name} = {value}" for name, value in values.items())
    return "enum {\n" + rows + "\n};"


def _scalar(name: str, value: float, precision: Precision) -> str:
    return f"static const real {name} = {precision.literal(value)};"


def _array(head: str, values: Sequence[float], precision: Precision) -> str:
    texts = [precision.literal(value) for value in values]
    rows = [", ".join(texts[k : k + PER_LINE]) for k in range(0, len(texts), PER_LINE)]
    return f"static const real {head} = {{\n    " + ",\n    ".join(rows) + "\n};"


def _parameters(name: str, values: Sequence[float], precision: Precision) -> str:
    """Numbers in the order of backends/layout.py, a line for every entry."""
    rows = []
    for entry, _ in ENTRIES:
        texts = [precision.literal(value) for value in values[PLACES[entry]]]
        lines = [", ".join(texts[k : k + 5]) for k in range(0, len(texts), 5)]
        rows.append(f"    /* {entry} */ " + ",\n    ".join(lines))
    return f"static const real {name}[PAR_COUNT] = {{\n" + ",\n".join(rows) + "\n};"
