"""The payload estimator as a function block: filters, weights and events, and the model they ask.

The body is the text `payload_estimator.st` with the numbers of an estimator in it; it follows
`payload/estimator.py` step by step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from deltadyn.errors import InputError
from deltadyn.exports.common import PayloadNumbers, speech, template
from deltadyn.exports.structured_text.blocks import (
    FASTEST,
    FunctionBlock,
    Variable,
    drive_gains,
    needed_torque,
    straight_block,
    stribeck_shapes,
)
from deltadyn.exports.structured_text.code import literal, model_values, within
from deltadyn.kinematics.actuation import kernel
from deltadyn.robot import Robot
from deltadyn.tape.tape import SCALARS

LARGEST = 1.0e4  # rad and N m: beyond it a measured value is none
UNKNOWN = "1.0E9"  # kg: the deviation while nothing is known of a load
TINY = "1.0E-30"  # 1/kg^2: less information is none
STATUS = (
    "0: running; 1, 4: sample refused, no number or a jump; 2, 3: no loop closes, begun anew; "
    "5: not ready yet"
)
MODEL = "PayloadModel"
#: Pieces that stand at several places of the body, in files `payload_<name>.st`: what is common to
#: the three tools has no procedures.
PIECES = ("close", "restart", "forget", "results")


def payload_blocks(robot: Robot, numbers: PayloadNumbers) -> list[FunctionBlock]:
    """The model of one sample, and the estimator that calls it."""
    if not min(numbers.variance) > 0:
        raise InputError("variance of the residual", min(numbers.variance), "above 0 (N m)^2")
    model = model_block(robot)
    return [model, _estimator(robot, numbers, model)]


def model_block(robot: Robot) -> FunctionBlock:
    """Torque without payload and what one kg adds, in the robot's own angles."""
    own_axes = range(1, robot.dof + 1)
    words = speech(robot)
    groups = (
        ("Q", "q", words["angle"] + ", axis {}, in {}", "q"),
        ("QD", "qd", "rate, axis {}, in {}", "qd"),
        ("QDD", "qdd", "acceleration, axis {}, in {}", "qdd"),
        ("S", "direction", "direction of the rate, axis {}, -1 to 1", "q"),
    )
    inputs = tuple(v for n, _, what, of in groups for v in axes(robot, n, what, of))

    def code(values: Mapping[str, Any]) -> Sequence[Any]:
        q, qd, qdd, turn = ([values[f"{n}{i}"] for i in own_axes] for n, *_ in groups)
        found = model_values(
            robot,
            kernel(robot, "payload_sample"),
            q=q,
            qd=qd,
            qdd=qdd,
            direction=turn,
            stribeck=stribeck_shapes(robot, qd),
        )
        needed = needed_torque(robot, q, qd, found["tau"])
        gains = drive_gains(robot, needed, turn)
        torque = [gain * value for gain, value in zip(gains, needed, strict=True)]
        column = [gain * value for gain, value in zip(gains, found["column"], strict=True)]
        return [*torque, *column, *found["through"], SCALARS.sqrt(*found["speed2"])]

    outputs = (
        *axes(robot, "Torque", words["torque"] + " without payload, axis {}, in {}", "tau"),
        *axes(robot, "Column", "what one kg adds, axis {}, in {}/kg", "tau"),
        *axes(robot, "Through", words["torque"] + " through the gear, axis {}, in {}", "tau"),
        Variable("Speed", "LREAL", "of the platform in m/s"),
    )
    return straight_block(
        MODEL,
        f"{words['torque'].capitalize()} of the empty robot and what a payload of 1 kg adds; "
        "the estimator calls it",
        inputs,
        outputs,
        code,
        [within(variable.name, FASTEST**2) for variable in inputs],
        "0: done; 1: input; 2: no loop closes; 3: singular pose",
    )


def _estimator(robot: Robot, numbers: PayloadNumbers, model: FunctionBlock) -> FunctionBlock:
    pieces = {name: template("structured_text", f"payload_{name}.st") for name in PIECES}
    text = expanded(template("structured_text", "payload_estimator.st"), pieces, "@")
    lists = {name: "\n".join(own) for name, own in _lists(robot, numbers).items()}
    filled = expanded(text, lists, "$")
    lines = Template(filled).substitute(_values(robot, numbers)).rstrip().splitlines()
    return FunctionBlock(
        "PayloadEstimator",
        payload_purpose(robot, numbers.rate),
        payload_inputs(robot),
        OUTPUTS,
        _inner(robot, numbers),
        tuple(lines),
        _operations(numbers, model),
    )


def expanded(text: str, pieces: dict[str, str], mark: str) -> str:
    """Pieces in the place of the lines that name them, at their indentation."""
    pattern = re.compile(rf"^( *){re.escape(mark)}({'|'.join(pieces)})$", re.M)

    def put(match: re.Match[str]) -> str:
        indent, name = match.groups()
        return "\n".join(f"{indent}{line}" for line in pieces[name].splitlines())

    while pattern.search(text):
        text = pattern.sub(put, text)
    return text


def _lists(robot: Robot, numbers: PayloadNumbers) -> dict[str, list[str]]:
    """Statements of which there is one per axis or window."""
    dof, tables = robot.dof, []
    per_axis = (("A1", numbers.a1), ("A2", numbers.a2), ("Variance", numbers.variance))
    for name, values in (*per_axis, ("Dry", numbers.friction)):
        tables += [f"{name}[{k}] := {literal(value)};" for k, value in enumerate(values)]
    tables += [f"Windows[{k}] := {length};" for k, length in enumerate(numbers.windows)]
    door, samples = door_lines(dof), sample_lines(robot)
    residuals = [f"W[{k}] := Middle[{k + dof}] - Model.Torque{k + 1};" for k in range(dof)]
    residuals += [f"W[{k + dof}] := Model.Column{k + 1};" for k in range(dof)]
    return {"tables": tables, "door": door, "samples": samples, "residuals": residuals}


def door_lines(dof: int) -> list[str]:
    """Values that are no numbers are refused."""
    inputs, most = [f"{name}{k + 1}" for name in ("Q", "Tau") for k in range(dof)], literal(LARGEST)
    return [f"IF NOT (ABS({n}) <= {most}) THEN Status := 1; RETURN; END_IF;" for n in inputs]


def sample_lines(robot: Robot) -> list[str]:
    """X: angles and torques in the robot's own signs."""
    dof, own, lines = robot.dof, robot.controller, []
    for k, (sign, offset) in enumerate(zip(own.sign, own.offset, strict=True)):
        angle = f"Q{k + 1} - {literal(offset)}" if offset else f"Q{k + 1}"
        lines.append(f"X[{k}] := {f'-({angle})' if sign < 0 else angle};")
        lines.append(f"X[{k + dof}] := {'-' if sign < 0 else ''}Tau{k + 1};")
    return lines


def _values(robot: Robot, numbers: PayloadNumbers) -> dict[str, str]:
    """Numbers in the text."""
    dof = robot.dof
    whole = {
        "dof": dof,
        "two_dof": 2 * dof,
        "three_dof": 3 * dof,
        "last_axis": dof - 1,
        "last_channel": 2 * dof - 1,
        "last_ring": numbers.memory - 1,
        "last_window": len(numbers.windows) - 1,
        "search_phase": numbers.step // 2,
    }
    for name in ("patience", "step", "calm", "warm_up", "settle", "memory", "slack", "left"):
        whole[name] = getattr(numbers, name)
    for name in ("same", "confirm", "mixed"):
        whole[name] = getattr(numbers, name)
    real = {
        "sample_time": 1 / numbers.rate,
        "per": numbers.over_smoothing * numbers.rate,
        "half_rate": numbers.rate / 2,
        "square_rate": numbers.rate * numbers.rate,
    }
    names = "reach gain narrow_gain rest over_reversal tare limit relative zero pardon rest_speed"
    for name in (*names.split(), "interval", "delay", "small"):
        real[name] = getattr(numbers, name)
    groups = (("Q", "Middle[{}]"), ("QD", "Rate[{}]"), ("QDD", "Bend[{}]"), ("S", "D3[{}]"))
    arguments = [
        ", ".join(f"{n}{k + 1} := {value.format(k)}" for k in range(dof)) for n, value in groups
    ]
    return {
        "events": "TRUE" if numbers.events else "FALSE",
        "unknown": UNKNOWN,
        "tiny": TINY,
        "weigh_when": "Waiting" if numbers.step == 1 else "Waiting AND (Phase = 1)",
        "search_when": "Pending" if _apart(numbers) else "Search",
        "arguments": ",\n          ".join(arguments),
        **{name: str(value) for name, value in whole.items()},
        **{name: literal(value) for name, value in real.items()},
    }


def payload_purpose(robot: Robot, rate: float) -> str:
    """What an estimator does."""
    words = speech(robot)
    return (
        f"Mass of the payload from {words['angles']} and {words['torques']}, one sample per call, "
        f"{rate:g} Hz"
    )


def payload_inputs(robot: Robot) -> tuple[Variable, ...]:
    """What an estimator takes."""
    return (*measured(robot), *INPUTS)


def measured(robot: Robot) -> list[Variable]:
    """Measured angles and torques."""
    words = speech(robot)
    angle = f"measured {words['angle']} of the controller, axis {{}}, in {{}}"
    torque = f"measured {words['torque']} in the controller's sign, axis {{}}, in {{}}"
    return [*axes(robot, "Q", angle, "q"), *axes(robot, "Tau", torque, "tau")]


def axes(robot: Robot, name: str, comment: str, quantity: str) -> list[Variable]:
    """Variables name1, name2, ..., one per axis; the comment has places for axis and unit."""
    units = enumerate(robot.axis_units(quantity), start=1)
    return [Variable(f"{name}{i}", "LREAL", comment.format(i, unit)) for i, unit in units]


def in_units(robot: Robot, text: str) -> str:
    """A comment about numbers of the axes, in which {q}, {qd}, {qdd}, {tau} are units."""
    return text.format(**{name: robot.axis_unit(name) for name in ("q", "qd", "qdd", "tau")})


INPUTS = (
    Variable("UseGripper", "BOOL", "TRUE: Holding is heeded, see the README"),
    Variable("Holding", "BOOL", "the gripper's own signal: it is closed"),
    Variable("Reset", "BOOL", "TRUE: forget all samples and picks"),
)
OUTPUTS = (
    Variable("Mass", "LREAL", "payload in kg, 0 while the robot is empty"),
    Variable("Std", "LREAL", f"standard deviation of Mass in kg; {UNKNOWN} while nothing is known"),
    Variable("Event", "DINT", "of this sample, 0: none; 1: pick; 2: release; 3: lost grip"),
    Variable("Loaded", "BOOL", "the robot carries a load"),
    Variable("Status", "DINT", STATUS),
    Variable("Picks", "DINT", "finished picks since the last reset"),
    Variable("PickMass", "LREAL", "of the pick finished last, in kg"),
    Variable("PickStd", "LREAL", "its standard deviation in kg"),
    Variable("PickStart", "LREAL", "its begin in s since the first sample"),
    Variable("PickDetected", "LREAL", "when it was known, in s since the first sample"),
    Variable("PickEnd", "LREAL", "its end in s since the first sample"),
    Variable("PickEnded", "DINT", "1: more was picked; 2: release; 3: lost grip; 4: begun anew"),
)


def array(count: int, kind: str = "LREAL") -> str:
    """The type of an array that counts from 0."""
    return f"ARRAY[0..{count - 1}] OF {kind}"


def _inner(robot: Robot, numbers: PayloadNumbers) -> tuple[Variable, ...]:
    """The estimator's memory."""
    n, m, wide, ring = numbers.dof, 2 * numbers.dof, 3 * numbers.dof + 1, numbers.memory
    groups = (
        ("Model", MODEL, f"the robot's {speech(robot)['torque']}"),
        ("A1 A2", array(n), "of the residual's autoregression"),
        ("Variance Dry", array(n), "of the residual, in ({tau})^2"),
        ("Windows", array(len(numbers.windows), "DINT"), "lengths in residuals"),
        ("X Last", array(m), in_channels(robot)),
        ("F1 F2 F3 F4 Middle Old", array(m), "stages of the first filter"),
        ("D1 D2 D3", array(n), "stages of the directions"),
        ("Rate", array(n), "in {qd}"),
        ("Bend", array(n), "in {qdd}"),
        ("W N1 N2 N3 N4", array(wide), "stages of the second filter"),
        ("R1 R2", array(n), "residuals before, in {tau}"),
        ("C1 C2", array(n), "columns before, in {tau}/kg"),
        ("RingS", array(ring), "sums of the last residuals, in 1/kg"),
        ("RingI", array(ring), "their information, in 1/kg^2"),
        ("RingV", array(ring), "speed of the platform then, in m/s"),
        ("Score", array(ring), "log-likelihood ratios"),
        ("SumS AddS TestS BaseS WinS", "LREAL", "in 1/kg"),
        ("SumI AddI TestI BaseI WinI Rest", "LREAL", "in 1/kg^2"),
        ("Clock EndTime Began Start Detected", "LREAL", "in s"),
        ("LostMass ChangeMass Leap", "LREAL", "in kg"),
        ("Before1 Turn White Fade Share Best Square Ago FoundAgo", "LREAL", "temporaries"),
        ("i j k Found Longest Ended", "DINT", "temporaries"),
        ("Phase History Skip Age Place Count Jumped Announced", "DINT", "counters"),
        ("Started WithEvents HasTime HasLast HasFilter HasNarrow HasStart", "BOOL", "state"),
        ("Waiting Pending Ready Lost", "BOOL", "state"),
        ("Jump Weigh Search Known Fresh KeepStart AtRest Near Remnant", "BOOL", "temporaries"),
    )
    rows = ((name, kind, text) for names, kind, text in groups for name in names.split())
    return tuple(Variable(name, kind, in_units(robot, text)) for name, kind, text in rows)


def in_channels(robot: Robot) -> str:
    """What the samples hold."""
    words = speech(robot)
    return f"{words['angles']} in {{q}}, {words['torques']} in {{tau}}"


def _operations(numbers: PayloadNumbers, model: FunctionBlock) -> int:
    """The most that one call takes: a change is found; the model has its own call if it can."""
    search = 14 * len(numbers.windows) + 30 * (numbers.memory - 1)
    both = search + model.operations if numbers.step == 1 else max(search, model.operations)
    return both + 80 * numbers.dof


def _apart(numbers: PayloadNumbers) -> bool:
    """Whether a cycle between residuals is left for the search alone."""
    return numbers.step // 2 > 1
