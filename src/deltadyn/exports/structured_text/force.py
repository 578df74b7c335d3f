"""The force observer as function blocks: its model, the observer, and its self-test.

The bodies are the texts `force_observer.st` and `force_test.st` with numbers in them; the first
follows `force/observer.py`, `force/axes.py` and `force/contact.py` step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from deltadyn.exports.common import speech, template
from deltadyn.exports.force import DEGREE, ForceExport, SelfTest
from deltadyn.exports.structured_text.blocks import (
    FASTEST,
    HEAVIEST,
    FunctionBlock,
    Variable,
    directions,
    drive_gains,
    load_values,
    load_variables,
    needed_torque,
    straight_block,
    stribeck_shapes,
)
from deltadyn.exports.structured_text.code import literal, model_values, within
from deltadyn.exports.structured_text.payload import (
    LARGEST,
    UNKNOWN,
    array,
    axes,
    expanded,
    in_channels,
    in_units,
    measured,
    sample_lines,
)
from deltadyn.force.numbers import ForceNumbers
from deltadyn.kinematics.actuation import kernel
from deltadyn.robot import Robot

MODEL, OBSERVER, TEST = "ForceModel", "ForceObserver", "ForceSelfTest"
PIECES = ("begin", "forget", "results", "where", "turn_smooth", "turn_rest")
STATES = 4  # slow ones of an axis
WAYS = ("X", "Y", "Z", "Turn")  # names of the force's components
SMALLEST = "1.0E-9"  # m^3: a Jacobian whose determinant is smaller has no inverse
AGREEMENT = 1e-6  # of the largest force: LREAL has 64 bits
STATUS = (
    "0: running; 1, 4: sample refused, no number or a jump; 2, 3: no loop closes, begun anew; "
    "5: not ready yet"
)
CONTACT = "0: none; 1: alarm, kind not known yet; 2: contact; 3: a load was picked up"
ARM = "0: the platform is touched; 1 to 3: this {} alone"


def force_blocks(robot: Robot, force: ForceExport | None) -> list[FunctionBlock]:
    """Model, observer and self-test; none without a tare. The text has two stages of the filter."""
    if force is None:
        return []
    assert force.numbers.stages == 2
    model = _model(robot)
    observer = _observer(robot, force.numbers, model)
    return [model, observer, _test(robot, force, observer)]


def _model(robot: Robot) -> FunctionBlock:
    """Torque with friction, J and the platform's acceleration, in the robot's own angles."""
    count = range(1, robot.dof + 1)
    words = speech(robot)
    groups = (
        ("Q", "q", words["angle"] + ", axis {}, in {}"),
        ("QD", "qd", "rate, axis {}, in {}"),
        ("QDD", "qdd", "acceleration, axis {}, in {}"),
    )
    load = load_variables(robot)
    motion = tuple(v for n, own, what in groups for v in axes(robot, n, what, own))

    def code(values: Mapping[str, Any]) -> Sequence[Any]:
        q, qd, qdd = ([values[f"{n}{i}"] for i in count] for n, *_ in groups)
        turn = directions(robot, qd)
        found = model_values(
            robot,
            kernel(robot, "force_sample"),
            q=q,
            qd=qd,
            qdd=qdd,
            direction=turn,
            stribeck=stribeck_shapes(robot, qd),
            **load_values(values, load),
        )
        needed = needed_torque(robot, q, qd, found["tau"])
        gains = drive_gains(robot, needed, turn)
        torque = [gain * value for gain, value in zip(gains, needed, strict=True)]
        return [*torque, *found["jacobian"], *found["pdd"]]

    outputs = axes(robot, "Torque", words["torque"] + " of the motion, axis {}, in {}", "tau")
    slope = "m" if not robot.linear else "m/m"
    for k in range(9):
        row, axis = k // 3 + 1, k % 3 + 1
        what = f"row {row}, axis {axis} of the Jacobian, in {slope}"
        outputs.append(Variable(f"J{row}{axis}", "LREAL", what))
    for way in WAYS[:3]:
        outputs.append(Variable(f"P{way}", "LREAL", "acceleration of the platform in m/s^2"))
    tests = [within(variable.name, FASTEST**2) for variable in motion]
    tests += [within(variable.name, HEAVIEST) for variable in load]
    return straight_block(
        MODEL,
        f"{words['torque'].capitalize()} of a motion and the way from it to forces; "
        "the force observer calls it",
        (*motion, *load),
        tuple(outputs),
        code,
        tests,
        "0: done; 1: input; 2: no loop closes; 3: singular pose",
    )


def _observer(robot: Robot, numbers: ForceNumbers, model: FunctionBlock) -> FunctionBlock:
    pieces = {name: template("structured_text", f"force_{name}.st") for name in PIECES}
    text = expanded(template("structured_text", "force_observer.st"), pieces, "@")
    text = expanded(text, {k: "\n".join(v) for k, v in _lists(robot, numbers).items()}, "$")
    lines = Template(text).substitute(_values(robot, numbers)).rstrip().splitlines()
    inputs = (
        *measured(robot),
        *_load(robot),
        Variable("Acknowledge", "BOOL", "TRUE: forget the alarm and go on with the force"),
        Variable("Reset", "BOOL", "TRUE: forget all samples and the alarm"),
    )
    return FunctionBlock(
        OBSERVER,
        f"External force and contact, no safety function, a sample per call, {numbers.rate:g} Hz",
        inputs,
        _outputs(robot),
        _inner(robot, numbers),
        tuple(lines),
        model.operations + 330 * numbers.dof + 150,
    )


def _load(robot: Robot) -> tuple[Variable, ...]:
    std = Variable("PayloadStd", "LREAL", "standard deviation of the payload in kg")
    return (*load_variables(robot), std)


def _ways(robot: Robot, prefix: str, what: str) -> list[Variable]:
    units = ("N", "N", "N", "N m")
    return [
        Variable(f"{prefix}{way}", "LREAL", f"{what} in {unit}")
        for way, unit in zip(WAYS[: robot.dof], units, strict=False)
    ]


def _outputs(robot: Robot) -> tuple[Variable, ...]:
    return (
        *_ways(robot, "Force", "external force on the platform, base frame,"),
        *_ways(robot, "Std", f"standard deviation, {UNKNOWN} until ready,"),
        Variable("Statistic", "LREAL", "of the axis that speaks most clearly, -1 to 1 and beyond"),
        Variable("Ready", "BOOL", "the filter has settled"),
        Variable("Contact", "DINT", CONTACT),
        Variable("Arm", "DINT", ARM.format(speech(robot)["arm"])),
        Variable("Age", "LREAL", "of the alarm in s"),
        *_ways(robot, "Contact", "force of the alarm"),
        *_ways(robot, "ContactStd", "standard deviation of the alarm's force"),
        Variable("ContactStatistic", "LREAL", "of the alarm, -1 to 1 and beyond"),
        Variable("Status", "DINT", STATUS),
    )


def _lists(robot: Robot, numbers: ForceNumbers) -> dict[str, list[str]]:
    """Statements of which there is one per axis."""
    dof = robot.dof
    tables = []
    none = (0.0,) * dof
    for name, values in (
        ("Ratio", robot.sensors.torque_ratio),
        ("Rotor", robot.drives.output_inertia),
        ("GearLoss", robot.friction.load or none),
        ("MotorLoss", robot.friction.motor_load or none),
        ("Noise", numbers.noise),
        ("RestNoise", numbers.rest_noise),
        ("Stuck", numbers.held),
        ("Begins", [x for row in numbers.states for x in row]),
        ("Variance", [x for row in numbers.variance for x in row]),
        ("Growth", [x for row in numbers.growth for x in row]),
    ):
        tables += [f"{name}[{k}] := {literal(value)};" for k, value in enumerate(values)]
    inputs = [(f"{n}{k + 1}", LARGEST) for n in ("Q", "Tau") for k in range(dof)]
    inputs += [(v.name, HEAVIEST) for v in _load(robot)]
    door = [
        f"IF NOT (ABS({name}) <= {literal(most)}) THEN Status := 1; RETURN; END_IF;"
        for name, most in inputs
    ]
    row = [f"Needed[{k}] := Model.Torque{k + 1};" for k in range(dof)]
    first = 5 * dof
    row += [f"Parts[{first + k}] := Model.J{k // 3 + 1}{k % 3 + 1};" for k in range(9)]
    row += [f"Parts[{first + 9 + k}] := Model.P{way};" for k, way in enumerate(WAYS[:3])]
    row.append(f"Parts[{first + 11}] := Parts[{first + 11}] + {literal(robot.gravity)};")
    cross = []
    for k in range(3):
        a, b = (first + 3 * ((k + n) % 3) for n in (1, 2))
        cross.append(
            f"Normal[3 * i + {k}] := Filtered[{a} + j] * Filtered[{b} + k]"
            f" - Filtered[{b} + j] * Filtered[{a} + k];"
        )
    out = []
    for prefix, values in (
        ("Force", "Shown"),
        ("Std", "Deviation"),
        ("Contact", "HitForce"),
        ("ContactStd", "HitStd"),
    ):
        out += [f"{prefix}{way} := {values}[{k}];" for k, way in enumerate(WAYS[:dof])]
    found = {"tables": tables, "door": door, "samples": sample_lines(robot), "row": row}
    return {**found, "cross": cross, "results_out": out}


def _values(robot: Robot, numbers: ForceNumbers) -> dict[str, str]:
    """Numbers in the text."""
    dof = robot.dof
    whole = {
        "dof": dof,
        "two_dof": 2 * dof,
        "three_dof": 3 * dof,
        "last_axis": dof - 1,
        "half_look": numbers.look // 2,
        "last_part": 5 * dof + 11,
        "jacobian": 5 * dof,
        "pull": 5 * dof + 9,
    }
    for name in ("patience", "angles", "torques", "settle", "every", "look"):
        whole[name] = getattr(numbers, name)
    real = {
        "sample_time": 1 / numbers.rate,
        "half_square": 0.5 * numbers.rate * numbers.rate,
        "count": float(numbers.look - numbers.look // 2),
    }
    names = "reach rate share over_smooth over_reversal gain gate still calmer limit alone"
    for name in (*names.split(), "scale", "alone_deviations", "pick_deviations", "pick_share"):
        real[name] = getattr(numbers, name)
    groups = (("Q", "Middle"), ("QD", "Rate"), ("QDD", "Bend"))
    arguments = [
        ", ".join(f"{n}{k + 1} := {value}[{k}]" for k in range(dof)) for n, value in groups
    ]
    arguments.append(", ".join(f"{v.name} := {v.name}" for v in load_variables(robot)))
    place = numbers.place
    return {
        "unknown": UNKNOWN,
        "tiny": SMALLEST,
        "det": " + ".join(f"Filtered[{5 * dof + 3 * k}] * Normal[{k}]" for k in range(3)),
        "place": f"({place})" if place < 0 else str(place),
        "arguments": ",\n          ".join(arguments),
        **{name: str(value) for name, value in whole.items()},
        **{name: literal(value) for name, value in real.items()},
    }


def _inner(robot: Robot, numbers: ForceNumbers) -> tuple[Variable, ...]:
    """The observer's memory."""
    n, words = numbers.dof, speech(robot)
    area = "m^2" if not robot.linear else "m^2/m^2"
    groups = (
        ("Model", MODEL, f"the robot's {words['torque']}"),
        ("Ratio GearLoss MotorLoss", array(n), "of each drive"),
        ("Rotor", array(n), f"of each drive, in {words['inertia_unit']}"),
        ("Noise RestNoise Stuck", array(n), "of each axis, in {tau}"),
        ("Begins Variance Growth", array(STATES * n), "of the slow states of the empty run"),
        ("States", array(STATES * n), "viscous, Coulomb friction, offset, scale of each axis"),
        ("P", array(STATES * STATES * n), "their covariance"),
        ("X", array(2 * n), in_channels(robot)),
        ("Last", array(3), words["last"] + ", in {q}"),
        ("RingQ", array(n * numbers.angles), words["angles"] + ", in {q}"),
        ("RingT", array(n * numbers.torques), words["torques"] + ", in {tau}"),
        ("Window", array(4 * n), words["angles"] + ", in {q}"),
        ("Middle", array(n), "in {q}"),
        ("Rate", array(n), "in {qd}"),
        ("Bend", array(n), "in {qdd}"),
        ("Torque Needed Residual Held", array(n), "in {tau}"),
        ("Noise2 Spread", array(n), "in ({tau})^2"),
        ("Z", array(n), "residuals beyond what is allowed, in deviations"),
        ("Parts Stage Filtered", array(5 * n + 12), "parts of a row"),
        ("Normal", array(9), f"of the Jacobian's columns, in {area}"),
        ("H Ph", array(STATES), "regressor of an axis and its spread"),
        ("Shown Deviation HitForce HitStd Sum", array(n), "forces, in N"),
        ("Share Turn Resting Square Most Lever Det Mass Rest", "LREAL", "temporaries"),
        ("Squares Along Pulls", "LREAL", "sums over the look at an alarm"),
        ("i j k Low First", "DINT", "temporaries"),
        ("SlotQ SlotT Angles Torques Rows Steps Jumped Looked Since", "DINT", "counters"),
        ("Started HasLast Jump", "BOOL", "state"),
    )
    rows = ((name, kind, text) for names, kind, text in groups for name in names.split())
    return tuple(Variable(name, kind, in_units(robot, text)) for name, kind, text in rows)


def _test(robot: Robot, force: ForceExport, observer: FunctionBlock) -> FunctionBlock:
    test, n = force.test, robot.dof
    text = template("structured_text", "force_test.st")
    lists = {"tables": _tables(test), "seen": _seen(robot)}
    text = expanded(text, {k: "\n".join(v) for k, v in lists.items()}, "$")
    inputs = [f"{name}{k + 1} := {name}[{k}]" for name in ("Q", "Tau") for k in range(n)]
    inputs += [f"{v.name} := 0.0" for v in _load(robot)]
    values = {
        "dof": n,
        "two_dof": 2 * n,
        "last_two": 2 * n - 1,
        "last_axis": n - 1,
        "last_part": len(test.begins) - 1,
        "last_real": literal(float(test.samples - 1)),
        "terms": DEGREE + 1,
        "degree": DEGREE,
        "checks": len(test.checks),
        "samples": test.samples,
        "tolerance": literal(AGREEMENT * test.scale),
        "arguments": ",\n         ".join(
            [", ".join(inputs[:n]), ", ".join(inputs[n:]), "Acknowledge := Again, Reset := Anew"]
        ),
    }
    checks, parts = len(test.checks), len(test.begins)
    groups = (
        ("Observer", OBSERVER, "what is tested"),
        ("AngleC", array(n * (DEGREE + 1)), "coefficients, in {q}"),
        ("TorqueC", array(parts * n * (DEGREE + 1)), "coefficients, in {tau}"),
        ("Wanted", array(2 * n * checks), "forces and deviations at the check points, in N"),
        ("Seen", array(2 * n), "forces and deviations, in N"),
        ("Q", array(n), "in {q}"),
        ("Tau", array(n), "in {tau}"),
        ("Begins", array(parts, "DINT"), "samples at which the parts begin"),
        ("Points Kinds Arms", array(checks, "DINT"), "of the check points"),
        ("Place Count Worst Off", "LREAL", "temporaries"),
        ("Part Checked i j", "DINT", "counters"),
        ("Anew Again Good", "BOOL", "temporaries"),
    )
    rows = ((name, kind, text) for names, kind, text in groups for name in names.split())
    return FunctionBlock(
        TEST,
        f"Self-test of the force observer on this controller, {test.samples} calls",
        (Variable("Run", "BOOL", "TRUE: a sample per call until Done; FALSE: begin anew"),),
        (
            Variable("Done", "BOOL", "the test has ended"),
            Variable("Passed", "BOOL", "it ended, and all check points agree"),
            Variable("Failed", "DINT", "first check point that does not agree, 0: none"),
            Variable("Error", "LREAL", "largest difference from what was expected, in N"),
            Variable("Sample", "DINT", "samples taken so far"),
        ),
        tuple(Variable(name, kind, in_units(robot, text)) for name, kind, text in rows),
        tuple(Template(text).substitute(values).rstrip().splitlines()),
        observer.operations + 40 * n,
    )


def _tables(test: SelfTest) -> list[str]:
    wanted = [x for check in test.checks for x in (*check.force, *check.std)]
    real = {
        "AngleC": test.angles.ravel().tolist(),
        "TorqueC": test.torques.ravel().tolist(),
        "Wanted": [float(x) for x in wanted],
    }
    whole = {
        "Begins": test.begins,
        "Points": [check.sample for check in test.checks],
        "Kinds": [check.contact for check in test.checks],
        "Arms": [check.arm for check in test.checks],
    }
    lines = [f"{n}[{k}] := {literal(x)};" for n, row in real.items() for k, x in enumerate(row)]
    lines += [f"{n}[{k}] := {x};" for n, row in whole.items() for k, x in enumerate(row)]
    return [*lines, "Count := 0.0;"]


def _seen(robot: Robot) -> list[str]:
    names = [f"{prefix}{way}" for prefix in ("Force", "Std") for way in WAYS[: robot.dof]]
    return [f"Seen[{k}] := Observer.{name};" for k, name in enumerate(names)]
