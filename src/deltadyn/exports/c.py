"""Target `c`: one .c and one .h in C99, without allocation, global variables or libc but math.h.

The straight-line functions of the model are those of the compiled kernels, as they are; templates
in `templates/c` hold the checks, the public functions, the payload estimator and the force observer
around them. The robot's numbers, and those of estimator and observer, are constants.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from deltadyn.backends.kernel_models.kernels import models_by_name
from deltadyn.backends.layout import AXES, COUNT, ENTRIES, PLACES
from deltadyn.dynamics.passive import SPINDLE_JOINTS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.bank import BankExport
from deltadyn.exports.check_points import CheckPoints, check_points
from deltadyn.exports.common import (
    EXPORT_MARK,
    INTERFACE_VERSION,
    ExportFiles,
    PayloadNumbers,
    axis_lines,
    column_parameters,
    commented,
    empty_parameters,
    filled,
    identifier,
    kind_of,
    limb_kind,
    math_guard,
    middle,
    number,
    payload_estimator,
    platform_kind,
    provenance,
    single_sample,
    speech,
    stamp_fingerprint,
    standard,
    template,
)
from deltadyn.exports.force import DEGREE, ForceExport, SelfTest, force_export
from deltadyn.exports.left_out import drop_terms, left_out_section
from deltadyn.exports.payload_test import PayloadTest, payload_test
from deltadyn.force import Tare
from deltadyn.force.numbers import ForceNumbers
from deltadyn.kinematics.actuation import HALVES, actuation, parts_of
from deltadyn.kinematics.assemblies import ELBOW_TOLERANCE, MAX_FOLD_RATIO, most_turn
from deltadyn.kinematics.limbs import limbs
from deltadyn.payload.bank_estimator import BankEstimator
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.front_end import SHARP
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS

GEAR_ROUNDS = 20  # a sign pattern of three or four loads settles in two or three
SMALLEST_INERTIA = 1e-12  # kg m^2: a smaller pivot of the mass matrix is none
PER_LINE = 4
STRIDE = 0.15  # rad of an arm, on rails as much of `robot.radian`, between steps towards a pose


@dataclass(frozen=True)
class Precision:
    """A C type, and the sizes at which numbers of that type stop being meaningful.

    The limits keep squares and quotients of accepted numbers inside the type, so that nothing
    overflows: `largest` input in its unit, `tiny` relative denominator, `information` (1/kg^2) that
    counts as none, `residual` (N m, N m/kg) and `weight` beyond which a robot is not at work.
    Sums of the load are halved above `full`. A self-test agrees to `model` of the largest number of
    its kind, to `agreement` of its forces and to `weighing` kg. A hypothesis whose logarithm is
    below `faint` has no chance.
    """

    real: str
    suffix: str
    largest: float
    tiny: float
    information: float
    residual: float
    weight: float
    full: float
    model: float
    agreement: float
    weighing: float
    faint: float
    bits: str  # the unsigned type of its size, and the bits of its exponent
    exponent: str

    def literal(self, value: float) -> str:
        """A number of this type."""
        return number(value) + self.suffix

    def function(self, name: str) -> str:
        """A function of math.h for this type."""
        return name + self.suffix


PRECISIONS = {
    "double": Precision(
        real="double",
        suffix="",
        largest=1e6,
        tiny=1e-9,
        information=1e-30,
        residual=1e60,
        weight=1e30,
        full=1e30,
        model=1e-9,
        agreement=1e-6,
        weighing=1e-6,
        faint=-690.0,
        bits="uint64_t",
        exponent="UINT64_C(0x7ff0000000000000)",
    ),
    "float": Precision(
        real="float",
        suffix="f",
        largest=1e5,
        tiny=1e-3,
        information=1e-6,
        residual=1e9,
        weight=1e12,
        full=1e8,
        model=1e-4,
        agreement=5e-4,
        weighing=0.02,
        faint=-80.0,
        bits="uint32_t",
        exponent="UINT32_C(0x7f800000)",
    ),
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
    for name, first in (("spindle", 1), ("halves", 0)):  # behind the spindle's pivot
        place = PLACES[name]
        added[place.start + first : place.stop] = column[place.start + first : place.stop]
    return added


#: Numbers of the estimator in the order of the file, and those that have another name in C.
SCALARS = (
    "rate gain over_smoothing interval delay narrow_gain over_reversal rest tare relative zero "
    "limit rest_speed pardon small reach"
)
COUNTS = "warm_up settle windows memory slack confirm mixed calm left same patience"
FORCE_SCALARS = (
    "reach rate share over_smooth over_reversal gain gate still calmer limit scale "
    "alone alone_deviations pick_deviations pick_share"
)
FORCE_COUNTS = "patience angles torques place stages settle every look"
FORCE_ARRAYS = "noise rest_noise held"
FORCE_TABLES = "states variance growth"
NAMES = {"over_smoothing": "over_direction", "windows": "window_count"}


def estimator_numbers(numbers: PayloadNumbers, precision: Precision) -> str:
    """All numbers of the payload estimator."""
    scalars = {NAMES.get(name, name).upper(): getattr(numbers, name) for name in SCALARS.split()}
    scalars |= {
        "FAST": precision.residual,
        "LEAST_INFORMATION": precision.information,
        "LARGE_RESIDUAL": precision.residual,
        "LARGE_WEIGHT": precision.weight,
        "LARGE_SUM": 1e12,
        "FULL": precision.full,
    }
    arrays = {name.upper(): getattr(numbers, name) for name in ("a1", "a2", "variance", "friction")}
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
    }
    for name in COUNTS.split():
        value = getattr(numbers, name)
        values[NAMES.get(name, name).upper()] = len(value) if name == "windows" else value
    return _enumeration(values)


def observer_numbers(force: ForceExport, precision: Precision) -> str:
    """All numbers of the force observer, and the tables of its self-test."""
    own = force.numbers
    whole = {name: getattr(own, name) for name in FORCE_COUNTS.split()}
    scalars = {name: getattr(own, name) for name in FORCE_SCALARS.split()}
    scalars["large"] = precision.residual
    return "\n".join(
        [
            _enumeration({f"FORCE_{name.upper()}": value for name, value in whole.items()}),
            *(_scalar(f"FORCE_{k.upper()}", value, precision) for k, value in scalars.items()),
            *(
                _array(f"FORCE_{name.upper()}[DOF]", getattr(own, name), precision)
                for name in FORCE_ARRAYS.split()
            ),
            *(
                _table(f"FORCE_{name.upper()}[DOF][4]", getattr(own, name), precision)
                for name in FORCE_TABLES.split()
            ),
            *_test_tables(force.test, precision),
        ]
    )


def _test_tables(test: SelfTest, precision: Precision) -> list[str]:
    """The motion of the self-test and what is to be seen on it."""
    checks = test.checks
    whole = {
        "TEST_DEGREE": DEGREE,
        "TEST_SAMPLES": test.samples,
        "TEST_PARTS": len(test.begins),
        "TEST_CHECKS": len(checks),
    }
    rows = {
        "TEST_BEGINS[TEST_PARTS]": test.begins,
        "TEST_AT[TEST_CHECKS]": [check.sample for check in checks],
        "TEST_CONTACT[TEST_CHECKS]": [check.contact for check in checks],
        "TEST_ARM[TEST_CHECKS]": [check.arm for check in checks],
    }
    tables = {
        "TEST_ANGLE[DOF][TEST_DEGREE + 1]": test.angles.tolist(),
        "TEST_TORQUE[TEST_PARTS][DOF][TEST_DEGREE + 1]": test.torques.tolist(),
        "TEST_FORCE[TEST_CHECKS][DOF]": [check.force.tolist() for check in checks],
        "TEST_STD[TEST_CHECKS][DOF]": [check.std.tolist() for check in checks],
    }
    return [
        "/* Self-test: polynomials of angles and torques, and what is to be seen on them. */",
        _enumeration(whole),
        _scalar("TEST_TOLERANCE", precision.agreement * test.scale, precision),
        *(
            f"static const int {head} = {{ {', '.join(map(str, values))} }};"
            for head, values in rows.items()
        ),
        *(_table(head, values, precision) for head, values in tables.items()),
    ]


def bank_numbers(bank: BankExport, precision: Precision) -> str:
    """All numbers of the payload estimator by the bank of hypotheses."""
    real = {name.upper(): value for name, value in bank.real.items()}
    real |= {"FAINT": precision.faint, "LARGE_RESIDUAL": precision.residual}
    return "\n".join(
        [
            "/* Numbers of the payload estimator; the README names them. */",
            _enumeration({name.upper(): value for name, value in bank.whole.items()}),
            "static const unsigned long LONGEST_PICK = 0x7fffffffUL; /* halves of a sample */",
            *(_scalar(name, value, precision) for name, value in real.items()),
            *(
                _array(f"{name.upper()}[{len(values)}]", values, precision)
                for name, values in bank.arms.items()
            ),
            _array("SHARE[SHARES]", bank.bank.share, precision),
            _array("NARROW[MODELS]", bank.rows.narrow.tolist(), precision),
            _table("KERNEL[LENGTH][4]", bank.kernel.tolist(), precision),
            "/* The robot without payload and without what gears lose of a load. */",
            _parameters("LOSSLESS", bank.lossless, precision),
        ]
    )


def _bank(_robot: Robot, estimator: Any, kind: Precision, test: PayloadTest) -> Payload:
    bank = BankExport.of(estimator)
    words = {
        "bank_length": str(bank.rows.length),
        "bank_models": str(bank.models),
        "bank_size": str(bank.size),
        "bank_delays": str(bank.bank.signal.delays),
    }
    own, n = bank.bank, bank.rows
    said: dict[str, object] = {
        "state": bank_bytes(bank, kind),
        "stack": 100 * round((24 * bank.size + 500 * (8 if kind.real == "double" else 4)) / 100),
        "step": n.step,
        "row": n.step * n.every,
        "delay": f"{1e3 * n.lateness:.1f}",
        "keep": own.keep,
        "size": bank.size,
        "odds": f"{own.pick_odds / math.log(10):.1f}",
        "relative": f"{own.gain:.3g}",
        "zero": f"{own.zero:.3g}",
        "known": "of an empty run" if bank.known else "assumed: give an estimator with a tare",
    }
    return Payload(
        template("c", "bank.h"),
        ("bank.c", "payload_test.c"),
        bank_numbers(bank, kind),
        words,
        "README-bank.md",
        said,
        test,
    )


def test_numbers(test: PayloadTest, precision: Precision) -> str:
    """The motion of the payload's self-test and what is to be seen on it."""
    checks = test.checks
    whole = {
        "LOAD_SAMPLES": test.samples,
        "LOAD_LENGTH": test.length,
        "LOAD_WAYS": len(test.begins),
        "LOAD_PICK": test.pick,
        "LOAD_RELEASE": test.release,
        "LOAD_CHECKS": len(checks),
    }
    rows = {
        "LOAD_BEGINS[LOAD_WAYS]": test.begins,
        "LOAD_AT[LOAD_CHECKS]": [check.sample for check in checks],
        "LOAD_HELD[LOAD_CHECKS]": [int(check.loaded) for check in checks],
        "LOAD_PICKS[LOAD_CHECKS]": [check.picks for check in checks],
    }
    torques = [check.torque.tolist() for check in checks]
    seen = [[float(check.mass), float(check.std)] for check in checks]
    return "\n".join(
        [
            _enumeration(whole),
            _scalar("LOAD_MASS", test.mass, precision),
            _scalar("LOAD_TOLERANCE", precision.weighing, precision),
            _scalar("LOAD_TORQUE_TOLERANCE", 10 * precision.agreement * test.scale, precision),
            *(
                f"static const int {head} = {{ {', '.join(map(str, values))} }};"
                for head, values in rows.items()
            ),
            _array("LOAD_BEGIN[DOF]", test.begin.tolist(), precision),
            _array("LOAD_SWING[DOF]", test.swing.tolist(), precision),
            _table("LOAD_TORQUE[LOAD_CHECKS][DOF]", torques, precision),
            _table("LOAD_SEEN[LOAD_CHECKS][2]", seen, precision),
        ]
    )


def point_numbers(robot: Robot, points: CheckPoints, precision: Precision) -> str:
    """The states of the model's self-test and what is to be seen at them."""
    kinds = {"ANGLES": points.q, "PLACES": points.p, "TORQUES": points.tau}
    kinds["ACCELERATIONS"] = points.qdd
    names = ("p", "pd", "pdd", "q", "qd", "qdd", "tau")
    tables = {name.upper(): getattr(points, name) for name in names}
    tables |= {"TAU_LOAD": points.tau_load} if robot.turns else {}
    places = {f"AT_{name}": k for k, name in enumerate(kinds)}
    there = [] if points.far is None else [points.far.tolist()]
    far = [_array("POINT_FAR[DOF]", point, precision) for point in there]
    scale = [max(float(abs(values).max()), 1e-3) for values in kinds.values()]
    return "\n".join(
        [
            _enumeration({"POINTS": len(points), **places}),
            _scalar("POINT_TOLERANCE", precision.model, precision),
            _array("POINT_SCALE[4]", scale, precision),
            *(
                _table(f"POINT_{name}[POINTS][DOF]", values.tolist(), precision)
                for name, values in tables.items()
            ),
            *far,
            "/* mass, inertia, x, y */",
            _table("POINT_LOAD[POINTS][4]", points.load.tolist(), precision),
        ]
    )


def _enumeration(values: Mapping[str, int]) -> str:
    rows = ",\n".join(f"    {name} = {value}" for name, value in values.items())
    return "enum {\n" + rows + "\n};"


def _table(head: str, values: Iterable[Any], precision: Precision) -> str:
    """An array of arrays."""

    def text(value: Any, indent: str) -> str:
        if isinstance(value, int | float):
            return precision.literal(value)
        inner = [text(item, indent + "    ") for item in value]
        if isinstance(value[0], int | float):
            lines = [", ".join(inner[k : k + PER_LINE]) for k in range(0, len(inner), PER_LINE)]
            return "{ " + f",\n{indent}  ".join(lines) + " }"
        return "{\n" + ",\n".join(f"{indent}    {item}" for item in inner) + f"\n{indent}}}"

    return f"static const real {head} = {text(list(values), '')};"


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


PARTS = ("model.c", "calls.c")  # the model's functions
KERNELS = (
    "inverse_kinematics{kind}",
    "{closing}{kind}",
    "platform_state{kind}",
    "joint_state{kind}",
    "state_torque{kind}_{dof}",
    "friction_{dof}",
    "mass{kind}_{dof}",
)

SINGLE = """\
- In single precision torques are good to about 1e-6 of the largest, and nearer than 1e-3 of its
  length to a singular pose the robot counts as singular.
"""


@dataclass(frozen=True)
class Options:
    """Options of target `c`."""

    precision: str = "double"  # or "float"
    estimator: PayloadEstimator | str | None = None  # whose numbers and rate are taken, or a name
    rate: float = 2000.0  # Hz, of `PayloadEstimator(robot, rate=rate)` where none is given
    tare: Tare | None = None  # of the force observer, which is written only with one


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """The files of target `c` for a robot, by name."""
    chosen = Options() if options is None else options
    kind = precision_of(chosen.precision)
    complete = robot
    alone = f"with {robot.legs} limbs the code has the friction of the drives alone"
    robot, dropped = drop_terms(robot, passive=None if robot.legs == 3 else alone)
    if robot.legs != 3:
        _refuse_estimators(robot, chosen)
        payload, force = NO_PAYLOAD, None
    else:
        estimator = payload_estimator(robot, chosen.estimator, rate=chosen.rate, complete=complete)
        payload, force = _payload(robot, estimator, kind), force_export(robot, chosen.tare)
    name = f"{identifier(robot)}_delta"
    words = _words(robot, kind, name) | payload.words | _force_words(kind, force)
    turning = ("load_calls.c",) if robot.turns else ()
    observing = () if force is None else ("force.c",)
    parts = (*PARTS, *turning, "self_test.c", *payload.parts, *observing)
    source = "\n".join(template("c", part) for part in parts)
    if payload.test is not None:
        source = source.replace("@test_numbers@", test_numbers(payload.test, kind))
    points = check_points(robot)
    source = source.replace("@point_numbers@", point_numbers(robot, points, kind))
    source = source.replace("@load@", template("c", "load.c") if robot.turns else "")
    words |= {"points": str(len(points)), "far": str(int(points.far is not None))}
    constants = robot_numbers(robot, kind)
    if payload.constants:
        constants += "\n" + payload.constants
    source = source.replace("@passive@", _rubbing(robot))
    source = source.replace("@platform@\n", _platform(robot))
    vectors = "" if platform_kind(robot) == "planar" else template("c", "vectors.c")
    source = source.replace("@vectors@\n", vectors)
    source = source.replace("@limb@\n", template("c", f"limb_{limb_kind(robot)}.c"))
    functions = kernels(robot.dof, actuation(robot))
    source = source.replace("@numbers@", constants).replace("@kernels@", functions)
    header = template("c", "delta.h").replace("@payload@", payload.header)
    header = header.replace("@load@", template("c", "load.h") if robot.turns else "")
    header = header.replace("@rate_line@", RATE_LINE if payload.test else "")
    header = header.replace("@force@", "" if force is None else template("c", "force.h"))
    if force is not None:
        source = source.replace("@force_numbers@", observer_numbers(force, kind))
    what = "payload estimator" if force is None else "payload estimator and force observer"
    held = f"kinematics, dynamics and {what}" if payload.test else "kinematics and dynamics"
    example = template("c", "example.c" if payload.test else "example_model.c")
    testing = template("c", "self_test_program.c").replace("@more_tests@", _tests(payload, force))
    words["title"] = f"{held[0].upper()}{held[1:]} of {robot.name}."
    texts = {
        f"{name}.h": (f"{held}, C99", header),
        f"{name}.c": (f"what {name}.h declares", source),
        "example.c": (f"an example of a program that uses {name}.c", example),
        "self_test.c": (f"a program that runs the self-tests of {name}.c", testing),
    }
    readme = _readme(robot, kind, payload, name, force, len(points))
    out = {"README-c.md": readme + left_out_section(complete, dropped)}
    for file, (what, text) in texts.items():
        head = commented(provenance(robot, what), "/*", " * ", " */")
        text = text.replace(INCLUDE, INCLUDE + template("c", "export_guard.h"))
        out[file] = f"{head}\n{math_guard()}\n{_with_words(text, words)}"
    head = commented(
        provenance(robot, f"builds {name}.c, its example and its self-test"), "#", "# ", "#"
    )
    out["CMakeLists.txt"] = f"{head}\n{_with_words(template('c', 'CMakeLists.txt'), words)}"
    return stamp_fingerprint(out, dropped)


INCLUDE = '#include "@file@.h"\n'


ESTIMATOR_TEST = """\
    static @id@_{what} {what};
    failed = @id@_{what}_self_test(&{what}, &error);
    failures += told("{words}", failed, error);
"""


def _tests(payload: Payload, force: ForceExport | None) -> str:
    """The self-tests of what is exported beside the model."""
    known = {"payload": "payload in kg", "force": "force in N"}
    there = {"payload": payload.test is not None, "force": force is not None}
    return "".join(
        ESTIMATOR_TEST.format(what=what, words=words)
        for what, words in known.items()
        if there[what]
    )


def _refuse_estimators(robot: Robot, options: Options) -> None:
    """Payload estimator and force observer know three limbs."""
    for name, value in (("estimator", options.estimator), ("tare", options.tare)):
        if value is not None:
            allowed = f"none for {robot.legs} limbs: payload and force are exported for three"
            raise InputError(f"{name} of an export", type(value).__name__, allowed)


def _rubbing(robot: Robot) -> str:
    """Friction in passive joints."""
    if not robot.friction.passive:
        return template("c", "no_passive.c")
    return template("c", f"axes_{limb_kind(robot)}.c") + template("c", "passive.c")


def _platform(robot: Robot) -> str:
    """Motions of the platform, from both ends."""
    platform = platform_kind(robot)
    if not platform:
        return template("c", "point.c")
    if platform == "planar":
        return template("c", "plane.c")
    turning = template("c", "shortest_rail.c" if robot.linear else "shortest_arm.c")
    own = template("c", f"halves_{platform}.c") + turning
    return template("c", "halves.c").replace("@halves@\n", own)


class Payload(NamedTuple):
    """The payload estimator's part of the files."""

    header: str
    parts: tuple[str, ...]
    constants: str
    words: dict[str, str]  # of the templates
    readme: str  # name of the section's template
    said: dict[str, object]  # words of the README
    test: PayloadTest | None


NO_PAYLOAD = Payload("", (), "", {}, "", {}, None)


def _payload(robot: Robot, estimator: PayloadEstimator, kind: Precision) -> Payload:
    test = payload_test(robot, estimator)
    words = {"test_samples": str(test.samples), "test_checks": str(len(test.checks))}
    said: dict[str, object] = {
        **words,
        "test_mass": f"{test.mass:g}",
        "test_tolerance": f"{kind.weighing:g}",
        "rate": f"{estimator.grid.rate:g}",
        "reach": f"{estimator.numbers.reach:g}",
        "patience": estimator.numbers.patience,
        "events": "searched" if estimator.events else "not searched: all samples are one load",
    }
    words["rate"] = kind.literal(estimator.grid.rate)
    make = _bank if isinstance(estimator, BankEstimator) else _least_squares
    found = make(robot, estimator, kind, test)
    header = found.header + template("c", "payload_test.h")
    return found._replace(header=header, words=words | found.words, said=said | found.said)


def _least_squares(
    robot: Robot, estimator: PayloadEstimator, kind: Precision, test: PayloadTest
) -> Payload:
    numbers = PayloadNumbers.of(robot, estimator.numbers)
    dof = robot.dof
    words = {
        "stages": str(numbers.stages),
        "channels": str(4 * dof),
        "narrow_stages": str(numbers.narrow_stages),
        "narrow_width": str(3 * dof + 1),
        "memory": str(numbers.memory),
    }
    said: dict[str, object] = {
        "state": state_bytes(numbers, kind),
        "step": numbers.step,
        "delay": f"{1e3 * numbers.delay:.1f}",
        "limit": f"{numbers.limit:.2f}",
        "relative": f"{numbers.relative:g}",
        "zero": f"{numbers.zero:g}",
        "tare": f"{numbers.tare:g}",
    }
    return Payload(
        template("c", "payload.h"),
        ("payload.c", "filters.c", "payload_test.c"),
        estimator_numbers(numbers, kind),
        words,
        "README-least-squares.md",
        said,
        test,
    )


def kernels(dof: int, kind: str = "rotary") -> str:
    """The straight-line functions that the export needs, for one sample."""
    known, found = models_by_name(), []
    own = "" if kind == "rotary" else f"_{kind}"
    closing = "pose_step" if parts_of(kind)[1] in HALVES else "forward_kinematics"
    for name in (name.format(dof=dof, kind=own, closing=closing) for name in KERNELS):
        if name not in known:
            raise InputError("kernel", name, f"one of {', '.join(known)}")
        reach = name.startswith(("inverse_kinematics", closing, "platform_state", "joint_state"))
        found.append(single_sample(name, reach=reach).rstrip("\n"))
    return "\n\n".join(found)


def _words(robot: Robot, kind: Precision, name: str) -> dict[str, str]:
    """What stands for the @words@ of the templates."""
    own, dof, limb = identifier(robot), robot.dof, actuation(robot)
    angle = "(real)0.0; /* the angles themselves are not used */"
    words = {
        **speech(robot),
        "kind": "" if limb == "rotary" else f"_{limb}",  # of the generated functions
        "joint_in": "arms[i];" if robot.linear else angle,
        "about": _about(robot),
        "id": own,
        "ID": own.upper(),
        "file": name,
        "real": kind.real,
        "dof": str(dof),
        "psi": ", psi" if dof == 4 else "",
        "rad": " and rad" if dof == 4 else "",
        "coordinates": ", ".join(robot.coordinates[:3]),
        "legs": str(robot.legs),
        "spindle": str(int(robot.spindle is not None)),
        "turns": str(int(robot.turns)),
        "moments": "PAR_SPINDLE + 5" if robot.spindle is not None else "PAR_HALVES + 2",
        "interface": str(INTERFACE_VERSION),
        "export_fingerprint": EXPORT_MARK,
        "model_tolerance": f"{kind.model:g}",
        "singular": SINGULAR_AT[platform_kind(robot)],
        **_near(robot, own, kind),
        "own_payload": kind.literal(robot.payload.mass),
        "largest": kind.literal(kind.largest),
        "tiny": kind.literal(kind.tiny),
        "bits": kind.bits,
        "exponent": kind.exponent,
        "place": ", ".join(kind.literal(x) for x in middle(robot)),
    }
    for function in ("sqrt", "fabs", "sin", "cos", "tanh", "exp", "log", "atan2"):
        words[function] = kind.function(function)
    return words


RATE_LINE = """\
/** Samples per second of the payload estimator, in Hz. */
#define @ID@_RATE @rate@
"""
SINGULAR_AT = {
    "": "struts in one plane, spindle horizontal",
    "planar": "struts parallel",
    "articulated": "halves that the struts do not hold",
    "helical": "halves that the struts do not hold",
}


def _near(robot: Robot, own: str, kind: Precision) -> dict[str, str]:
    """Words of the argument for a pose nearby, and of Newton's method from there."""
    names = ("near", "near_own", "near_arg", "near_null", "near_doc")
    if platform_kind(robot) not in HALVES:
        return dict.fromkeys(names, "")
    turning = 0 if robot.linear else 2 * robot.legs
    said = " * \\param[in] near a pose near that of the joints, or NULL\n"
    texts = ("near, ", "const real *near, ", f"const {own}_real *near, ", "NULL, ", said)
    single = kind.real == "float"
    return {
        **dict(zip(names, texts, strict=True)),
        "stride": kind.literal(STRIDE * robot.radian[0]),
        "closed": kind.literal(1e-4 if single else 1e-9),
        "same": kind.literal(1e-6 if single else 1e-14),
        "elbow_tolerance": kind.literal(ELBOW_TOLERANCE),
        "most_turn": kind.literal(most_turn(limbs(robot).carrier)),
        "fold_ratio": kind.literal(MAX_FOLD_RATIO),
        "bars_place": str(robot.dof + robot.legs + turning),
        "bars_behind": str(bars_behind(robot)),
    }


def bars_behind(robot: Robot) -> int:
    """Where the bars' cosine stands in the row of a joint motion on halves."""
    return 4 * robot.dof + (0 if robot.linear else 2 * robot.legs)


def followed_pose(robot: Robot) -> str:
    """Code that finds the pose of joints on a platform of halves, with names POSE_OK and such.

    It reads the geometry alone: `EMPTY`, the robot's numbers, and the generated functions.
    """
    whole = _platform(robot)
    kept = whole[: whole.index("/* What the motion needs besides")]
    kept = _without(kept, "/* Halves that the struts hold", "/* What a row of Newton's")
    limb = template("c", f"limb_{limb_kind(robot)}.c")
    limb = _without(limb, "/* s . E'", "/* A carriage has" if robot.linear else "/* 1 away from")
    text = template("c", "vectors.c") + limb + "\n" + kept
    kind = PRECISIONS["double"]
    return _with_words(text, _words(robot, kind, "") | {"ID": "POSE"})


def _without(text: str, first: str, behind: str) -> str:
    """A text without what stands from one mark to another."""
    return text[: text.index(first)] + text[text.index(behind) :]


def _about(robot: Robot) -> str:
    """What a robot of another kind than the standard one says in the header."""
    if standard(robot):
        return ""
    lines = [f"This is a {kind_of(robot)}.", *axis_lines(robot)]
    if platform_kind(robot) in HALVES:
        lines += [
            "`near` is a pose near that of the joints, such as that of the sample before, or NULL",
            "for the middle of the reach: the pose is followed from there by Newton's method.",
        ]
    return "".join(f" * {line}\n" for line in lines)


def _force_words(kind: Precision, force: ForceExport | None) -> dict[str, str]:
    """What stands for the @words@ of the observer's templates."""
    if force is None:
        return {}
    own, test = force.numbers, force.test
    return {
        "force_rate": kind.literal(own.rate),
        "force_limit": kind.literal(own.limit),
        "force_angles": str(own.angles),
        "force_torques": str(own.torques),
        "force_stages": str(own.stages),
        "force_parts": str(5 * own.dof + 12),
        "force_samples": str(test.samples),
        "force_checks": str(len(test.checks)),
    }


def _with_words(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match.group(1)], text)


def _readme(
    robot: Robot,
    kind: Precision,
    payload: Payload,
    name: str,
    force: ForceExport | None,
    points: int,
) -> str:
    own, dof, usual = identifier(robot), robot.dof, standard(robot)
    words: dict[str, object] = {
        **speech(robot),
        "kind": "" if usual else f"The robot is a {kind_of(robot)}.\n",
        "units": "N m" if usual else "N, N m",
        "q_first": robot.axis_units("q")[0],
        "frame": RAIL_FRAME if robot.linear else ARM_FRAME,
        "assembly": RAIL_ASSEMBLY if robot.linear else ARM_ASSEMBLY,
        "others": RAIL_OTHERS if robot.linear else ARM_OTHERS,
        "name": robot.name,
        "head": commented(
            provenance(
                robot, "model and payload estimator in C99" if payload.test else "model in C99"
            ),
            "<!--",
            "",
            "-->",
        ),
        "file": name,
        "id": own,
        "ID": own.upper(),
        "real": kind.real,
        "dof": dof,
        "place": ", ".join(f"{x:g}" for x in middle(robot)),
        "psi": ", and p[3] is psi, the effector's turn about z" if dof == 4 else "",
        "held": "model and payload estimator" if payload.test else "model",
        "weighs": " and weighs a payload" if payload.test else "",
        "payload_calls": PAYLOAD_CALLS.format(id=own) if payload.test else "",
        "estimate": " The estimator's mass may go in as it is." if payload.test else "",
        "load": README_LOAD.format(id=own) if robot.turns else "",
        "load_calls": LOAD_CALLS.format(id=own) if robot.turns else "",
        "fingerprint": EXPORT_MARK,
        "points": points,
        "model_tolerance": f"{kind.model:g}",
        "singular": README_SINGULAR[platform_kind(robot)],
        "near": README_NEAR if platform_kind(robot) in HALVES else "",
        "statuses": "",
        "axes": _axes(robot),
        "offset": ", ".join(f"{x:g}" for x in robot.payload.offset),
        "own": f"{robot.payload.mass:g}",
        "largest": f"{kind.largest:g}",
        **payload.said,
        "passive": " and that of passive joints" if robot.friction.passive else "",
        "single": SINGLE if kind.real == "float" else "",
        "observer": "" if force is None else " and force observer",
    }
    if force is not None:
        words |= _observer_words(force, kind)
    if payload.test is not None:
        words["statuses"] = filled("c", "README-statuses.md", words)
    words["payload"] = filled("c", payload.readme, words) if payload.readme else ""
    words["force"] = "" if force is None else filled("c", "README-force.md", words)
    words["calls"] = "" if force is None else FORCE_CALLS.format(id=own)
    return filled("c", "README.md", words)


ARM_FRAME = "the plane of the shoulder\naxes, z up; the platform works at negative z"
RAIL_FRAME = "the plane of the rails'\npoints of q = 0, z up"
ARM_ASSEMBLY = "Elbows are outward, the platform is below them."
RAIL_ASSEMBLY = "Carriages are above the platform, outward on level rails."
ARM_OTHERS = "Elbows inward and a platform above the elbows are"
RAIL_OTHERS = "A platform above its carriages is"
PAYLOAD_CALLS = """\
| `{id}_payload_init`, `{id}_payload_update` | samples | mass, deviation, event |
| `{id}_payload_self_test` | | 0, or the check point that fails |
"""
LOAD_CALLS = """\
| `{id}_feedforward_payload`, `{id}_feedforward_joints_payload`, `{id}_gravity_torque_payload`, \
`{id}_mass_matrix_payload`, `{id}_forward_dynamics_payload` | the same with a load | the same |
"""
README_LOAD = """

Functions that end in `_payload` take a `{id}_load` instead: its mass in kg, its inertia in kg m^2
about the vertical axis through its centre of mass, and where that is from the axis of psi, x and y
in m in the frame of the tool, instead of the robot file's offset. 0.05 kg m^2 at 100 rad/s^2 are
5 N m on psi."""
README_SINGULAR = {**SINGULAR_AT, "": "struts in one plane, elbows in line, spindle horizontal"}
README_NEAR = """\

Functions of q take one argument more behind the joints, `near`: a pose (x, y, z, psi) near that of
the joints, such as that of the sample before, or NULL for the middle of the reach. The platform's
pose has no closed form: it is followed from there by Newton's method, in the same assembly; where
the loop does not close or a singular pose was crossed the status is UNREACHABLE or SINGULAR. So it
is where the pose found is not one of these joints: with an arm in another working mode, or farther
from `near` than the joints can have carried the platform.
"""
FORCE_CALLS = """\
| `{id}_force_init`, `{id}_force_update`, `{id}_force_acknowledge` | samples | force, contact |
| `{id}_force_self_test` | | 0, or the check point that fails |
"""


def _observer_words(force: ForceExport, kind: Precision) -> dict[str, object]:
    """What stands for the $words of the observer's section."""
    own, test = force.numbers, force.test
    behind = own.angles - 2.5
    return {
        "force_rate": f"{own.rate:g}",
        "force_state": observer_bytes(own, kind),
        "force_samples": test.samples,
        "force_checks": len(test.checks),
        "force_tolerance": f"{kind.agreement * test.scale:.2g}",
        "force_gain": f"{own.gain:.4g}",
        "force_settle": f"{1e3 * own.settle / own.rate:.0f}",
        "force_behind": f"{1e3 * behind / own.rate:.2g}",
        "force_limit": f"{own.limit:.2f}",
        "force_noise": ", ".join(f"{x:.3g}" for x in own.noise),
        "force_held": ", ".join(f"{x:.3g}" for x in own.held),
        "force_every": own.every,
        "force_look": f"{1e3 * own.look / own.rate:.0f}",
        "force_reach": f"{own.reach:g}",
    }


def state_bytes(numbers: PayloadNumbers, precision: Precision) -> int:
    """Size of the estimator's state, but for padding, with 4-byte int, 8-byte long and pointers."""
    n, size = numbers.dof, 8 if precision.real == "double" else 4
    width = 3 * n + 1
    reals = 3 + 4 * n * (numbers.stages + 1) + n * numbers.stages + width
    reals += width * numbers.narrow_stages + 4 * n + 4 + 3 * numbers.memory
    return size * reals + 4 * (10 + 2 + 6 + 2) + 2 * 8


def bank_bytes(bank: BankExport, precision: Precision) -> int:
    """Size of the state of the estimator by the bank, but for padding, as `state_bytes` has it."""
    size = 8 if precision.real == "double" else 4
    hypothesis = 24 * size + -(-(3 * 4 + 7) // size) * size  # numbers, ages, marks
    reals = 3 + 2 * bank.dof * bank.rows.length + 16 * bank.models + bank.size + 18 + 2 + 16 + 2
    reals += 2 * bank.bank.signal.delays + 5
    whole = 5 + 6 + bank.size + 8 + 4 + 6
    return size * reals + hypothesis * bank.size + 4 * whole + 5 * 8 + 8


def observer_bytes(numbers: ForceNumbers, precision: Precision) -> int:
    """Size of the observer's state, but for padding, as `state_bytes` has it."""
    n, size = numbers.dof, 8 if precision.real == "double" else 4
    reals = 3 + n * (numbers.angles + numbers.torques) + numbers.stages * (5 * n + 12) + 14 * n
    reals += 2 * n + 1 + 2 * n + 1 + n + 3
    return size * reals + 4 * (9 + 3) + 8


def _axes(robot: Robot) -> str:
    usual = standard(robot)
    more = ("", "") if usual else (" unit of q | unit of tau |", "---|---|")
    rows = [f"| axis | q_controller | tau_controller |{more[0]}", f"|---|---|---|{more[1]}"]
    columns = zip(
        robot.controller.sign,
        robot.controller.offset,
        robot.axis_units("q"),
        robot.axis_units("tau"),
        strict=True,
    )
    for axis, (sign, offset, q, tau) in enumerate(columns, start=1):
        mark = "-" if sign < 0 else ""
        shift = f" {'-' if offset < 0 else '+'} {abs(offset):g} {q}" if offset else ""
        own = "" if usual else f" {q} | {tau} |"
        rows.append(f"| {axis} | {mark}q{shift} | {mark}tau |{own}")
    meaning = "q = 0 is an arm horizontal and outward, positive is downward"
    if robot.linear:
        meaning = "q is a carriage's way along its rail, positive is up, outward on a level one"
    elif not usual:
        meaning = "q = 0 is an arm along its frame's x axis, outward, positive is downward"
    if robot.spindle is not None:
        meaning += "; axis 4 is psi"
    return "\n".join([*rows, "", f"Here {meaning}."])
