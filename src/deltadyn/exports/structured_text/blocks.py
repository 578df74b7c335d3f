"""The function blocks of kinematics and feedforward: variables, and the code for one robot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import direction, stribeck_shape, thinning_shape
from deltadyn.dynamics.motor import motor_gain, ripple_torque
from deltadyn.exports.common import (
    EXPORT_MARK,
    fingerprint,
    identifier,
    platform_kind,
    speech,
    template,
)
from deltadyn.exports.structured_text.code import (
    BAD_INPUT,
    SINGULAR,
    UNREACHABLE,
    body,
    literal,
    model_values,
    within,
)
from deltadyn.kinematics.actuation import HALVES, kernel, levers, limb_kernel
from deltadyn.kinematics.assemblies import (
    CLOSED,
    ELBOW_TOLERANCE,
    MAX_FOLD_RATIO,
    home_pose,
    most_turn,
    turn_length,
)
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.limbs import limbs, pairs_of, rods_of
from deltadyn.robot import Robot
from deltadyn.tape.passes import in_depth
from deltadyn.tape.tape import SCALARS, trace

#: Largest inputs that are taken, beyond which a sum of products could overflow.
FARTHEST, FASTEST, HEAVIEST = 100.0, 1.0e6, 1.0e4
ELEMENTARY = re.compile(r"\b(?:LREAL|DINT|BOOL)$")
STRIDE = 0.15  # rad of an arm, on rails as much of `robot.radian`, between steps towards a pose
#: An output of every block, whose name differs from export to export.
EXPORT_NAME = f"Export_{EXPORT_MARK}"
SHORT = 11  # characters of a robot's name: block names then have 32 at most
STATUS = (
    f"0: done; {BAD_INPUT}: bad input; {UNREACHABLE}: out of reach; {SINGULAR}: singular; "
    "unless 0 all else stays"
)


Numbers = Sequence[Any]
#: What a block gives, of the values of its inputs by their names.
Code = Callable[[Mapping[str, Any]], Numbers]


@dataclass(frozen=True)
class Variable:
    """A variable of a block, with its unit in the comment."""

    name: str
    kind: str = "LREAL"
    comment: str = ""


@dataclass(frozen=True)
class FunctionBlock:
    """Name, purpose, variables and statements of a function block, and its work per call."""

    name: str
    purpose: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    inner: tuple[Variable, ...]
    lines: tuple[str, ...]
    operations: int


def short_name(robot: Robot) -> str:
    """The robot's name in capitalised words; a long one ends with digits of its fingerprint."""
    words = "".join(word.capitalize() for word in identifier(robot).split("_"))
    return words if len(words) <= SHORT else f"{words[: SHORT - 4]}{fingerprint(robot)[:4]}"


def named(block: FunctionBlock, own: str) -> FunctionBlock:
    """The block as FB_<own>_<purpose>, and those inside it likewise."""
    inner = tuple(
        v if ELEMENTARY.search(v.kind) else replace(v, kind=_name(v.kind, own)) for v in block.inner
    )
    return replace(block, name=_name(block.name, own), inner=inner)


def _name(purpose: str, own: str) -> str:
    return f"FB_{own}_{purpose}"


def kinematic_blocks(robot: Robot) -> list[FunctionBlock]:
    """Inverse and forward kinematics."""
    if platform_kind(robot) in HALVES:
        inverse, step = _inverse(robot), _pose_step(robot)
        return [inverse, step, _followed(robot, inverse, step)]
    return [_inverse(robot), _forward(robot)]


def torque_blocks(robot: Robot) -> list[FunctionBlock]:
    """Feedforward torque of platform and of joint motions; where psi turns, any place of a load."""
    kinds = (False, True) if robot.turns else (False,)
    found: list[FunctionBlock] = []
    for placed in kinds:
        name = "JointsLoad" if placed else "FeedforwardJoints"
        found.append(_feedforward(robot, placed=placed))
        if platform_kind(robot) in HALVES:
            inside = "LoadAtPose" if placed else "TorqueAtPose"
            posed = _feedforward_joints(robot, inside, posed=True, placed=placed)
            found += [posed, _behind_pose(posed, name)]
        else:
            found.append(_feedforward_joints(robot, name, placed=placed))
    return found


def _inverse(robot: Robot) -> FunctionBlock:
    point = _platform(robot, "", "position", "m", "rad")

    def code(values: Mapping[str, Any]) -> Numbers:
        return _to_controller(robot, _angles(robot, _of(values, point)), angle=True)

    words = speech(robot)
    outputs = _joints(robot, "Q", f"{words['angle']} of the controller", "q")
    purpose = f"{words['Angles']} of a platform position"
    tests = _position_tests(point)
    return straight_block("InverseKinematics", purpose, point, outputs, code, tests)


def _angles(robot: Robot, point: Numbers) -> Numbers:
    """The robot's own joint coordinates of a platform position."""
    legs = robot.legs
    pairs = model_values(robot, limb_kernel(robot, "inverse_kinematics"), p=point[:legs])
    given = zip(limbs(robot), pairs["cos_q"], pairs["sin_q"], strict=True)
    return [*(limb.coordinate(SCALARS, c, s) for limb, c, s in given), *point[legs:]]


def _forward(robot: Robot) -> FunctionBlock:
    words = speech(robot)
    joints = _joints(robot, "Q", f"{words['angle']} of the controller", "q")

    def code(values: Mapping[str, Any]) -> Numbers:
        q = _from_controller(robot, _of(values, joints), angle=True)
        legs = robot.legs
        found = model_values(robot, limb_kernel(robot, "forward_kinematics"), q=q[:legs])
        return [*found["p"], *q[legs:]]

    outputs = _platform(robot, "", "position", "m", "rad")
    purpose = f"Platform position of {words['angles']}"
    tests = _tests(joints, FASTEST)
    return straight_block("ForwardKinematics", purpose, joints, outputs, code, tests)


def _feedforward(robot: Robot, *, placed: bool = False) -> FunctionBlock:
    point = _platform(robot, "", "position", "m", "rad")
    rate = _platform(robot, "V", "velocity", "m/s", "rad/s")
    bend = _platform(robot, "A", "acceleration", "m/s^2", "rad/s^2")
    load = load_variables(robot, placed=placed)

    def code(values: Mapping[str, Any]) -> Numbers:
        p, pd, pdd = (_of(values, group) for group in (point, rate, bend))
        carried = load_values(values, load)
        motion = model_values(
            robot, kernel(robot, "platform_torque"), p=p, pd=pd, pdd=pdd, **carried
        )
        q = _angles(robot, p) if robot.drives.ripple else [0.0] * robot.dof
        return _drive_torque(robot, motion, q)

    inputs = (*point, *rate, *bend, *load)
    tests = [*_position_tests(point), *_tests((*rate, *bend), FASTEST), *load_tests(load)]
    name = "FeedforwardLoad" if placed else "Feedforward"
    return _torque(robot, name, "platform", inputs, code, tests)


def _pose_step(robot: Robot) -> FunctionBlock:
    """One step of Newton's method towards the pose of the robot's own joints."""
    pose = _platform(robot, "", "position", "m", "rad")
    words = speech(robot)
    joints = _joints(robot, "Q", f"{words['angle']} in the robot's own sign", "q")

    def code(values: Mapping[str, Any]) -> Numbers:
        p, q = _of(values, pose), _of(values, joints)
        found = model_values(robot, limb_kernel(robot, "pose_step"), p=p, q=q)
        return [*found["p"], *found["left"], *found["determinant"]]

    outputs = (
        *_platform(robot, "Next", "next position", "m", "rad"),
        *(Variable(f"Left{i}", "LREAL", f"gap of limb {i} before, in m^2") for i in range(1, 5)),
        Variable("Side", "LREAL", "0 at a singular pose, its sign is that of the assembly, in m^4"),
    )
    purpose = "A step towards the pose of the joints; ForwardKinematics calls it"
    tests = [*_position_tests(pose), *_tests(joints, FASTEST)]
    return straight_block("PoseStep", purpose, (*pose, *joints), outputs, code, tests)


def _followed(robot: Robot, inverse: FunctionBlock, step: FunctionBlock) -> FunctionBlock:
    """The pose of joints, followed from that of the call before by Newton's method."""
    words, home = speech(robot), home_pose(robot)
    struts, carrier = robot.geometry.strut_length, limbs(robot).carrier
    first = np.asarray(inverse_kinematics(robot, home))
    rods = rods_of(np, limbs(robot), *state_pairs(robot, first), tuple(home))
    own = []
    for k, (sign, offset) in enumerate(
        zip(robot.controller.sign, robot.controller.offset, strict=True)
    ):
        value = f"Q{k + 1} - {literal(offset)}" if offset else f"Q{k + 1}"
        own.append(f"Own[{k}] := {f'-({value})' if sign < 0 else value};")
    names = ("X", "Y", "Z", "Psi")
    lists = {
        "door": [within(f"Q{k + 1}", FASTEST) for k in range(4)],
        "own": own,
        "home": [f"Pose[{k}] := {literal(float(x))};" for k, x in enumerate(home)]
        + [f"Start[{k}] := {literal(float(x))};" for k, x in enumerate(first)],
        "wrap": [] if robot.linear else WRAP.splitlines(),
        "next": [f"Next[{k}] := Closer.Next{name};" for k, name in enumerate(names)],
        "gaps": [f"Gap[{k}] := Closer.Left{k + 1};" for k in range(4)],
        "back": [
            f"IF NOT ({_elbow_gap(robot, k)} <= {literal(ELBOW_TOLERANCE * strut)}) THEN "
            f"Status := {UNREACHABLE}; END_IF;"
            for k, strut in enumerate(struts)
        ],
        "out": [f"{name} := Pose[{k}];" for k, name in enumerate(names)],
    }
    text = template("structured_text", "followed_pose.st")
    for name, lines in lists.items():
        text = _listed(text, name, lines)
    size, strut = max(struts), sum(struts) / 4
    values = {
        "lever": literal(max(levers(robot))),
        "halves": literal(float(turn_length(carrier))),
        "fold": literal(MAX_FOLD_RATIO * strut),
        "slack": literal(CLOSED * strut),
        "most_turn": literal(most_turn(carrier)),
        "stride": literal(STRIDE * robot.radian[0]),
        "far": literal(8 * STRIDE * robot.radian[0]),
        "closed": literal(CLOSED * size * size),
        "same": literal(1e-14),
        "assembly": literal(float(np.sign(rods.inverse.determinant))),
        "unreachable": UNREACHABLE,
    }
    inner = [
        Variable("Closer", step.name, "a step towards the pose"),
        Variable("Back", inverse.name, "the joints of the pose"),
        Variable("Before", "ARRAY[0..3] OF LREAL", "the pose that is followed"),
        Variable("Pose", "ARRAY[0..3] OF LREAL", "of the call before, then of this one"),
        Variable("Start", "ARRAY[0..3] OF LREAL", "own joints of the call before"),
        Variable("Own", "ARRAY[0..3] OF LREAL", "own joints"),
        Variable("Way", "ARRAY[0..3] OF LREAL", "from joints to joints"),
        Variable("Now", "ARRAY[0..3] OF LREAL", "joints on the way"),
        Variable("Next", "ARRAY[0..3] OF LREAL", "pose behind a step"),
        Variable("Gap", "ARRAY[0..3] OF LREAL", "what is left of the loops, in m^2"),
        Variable("Known", "BOOL", "the call before found its pose"),
        Variable("Done", "BOOL", "temporary"),
    ]
    inner += [Variable(name, "LREAL", "temporary") for name in TEMPORARIES]
    inner += [Variable(name, "DINT", "temporary") for name in ("Legs", "Rounds", "i", "k", "r")]
    return FunctionBlock(
        "ForwardKinematics",
        f"Platform position of {words['angles']}, followed from the call before",
        (
            *_joints(robot, "Q", f"{words['angle']} of the controller", "q"),
            Variable("Reset", "BOOL", "TRUE: begin at the middle of the reach"),
        ),
        (
            *_platform(robot, "", "position", "m", "rad"),
            Variable("Status", "DINT", STATUS),
        ),
        tuple(inner),
        tuple(Template(text).substitute(values).rstrip().splitlines()),
        74 * (step.operations + 40) + inverse.operations + 60,
    )


def _listed(text: str, name: str, lines: Iterable[str]) -> str:
    """Lines in the place of a line $name, at its indentation."""

    def put(match: re.Match[str]) -> str:
        return "".join(f"{match[1]}{line}\n" for line in lines)

    return re.sub(rf"^( *)\${name}\n", put, text, flags=re.M)


def _elbow_gap(robot: Robot, k: int) -> str:
    """How far the elbow is from where the inverse kinematics has it (m), an arm's by its chord."""
    away = f"Back.Q{k + 1} - Q{k + 1}"
    if robot.linear:
        return f"ABS({away})"
    return f"{literal(2 * levers(robot)[k])} * ABS(SIN(0.5 * ({away})))"


TEMPORARIES = ("Most", "Share", "Along", "Moved", "Travel")
#: The shorter way of an arm around.
WRAP = """\
IF Way[i] > 3.141592653589793 THEN Way[i] := Way[i] - 6.283185307179586; END_IF;
IF Way[i] < -3.141592653589793 THEN Way[i] := Way[i] + 6.283185307179586; END_IF;"""


def state_pairs(robot: Robot, q: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The pairs of the limbs at joints q (legs,)."""
    c, s = pairs_of(np, limbs(robot), tuple(q))
    return tuple(c), tuple(s)


def _behind_pose(posed: FunctionBlock, name: str) -> FunctionBlock:
    """The torque of a joint motion whose pose is followed from call to call."""
    motion = [v for v in posed.inputs if v.name not in ("X", "Y", "Z", "Psi")]
    angles = ", ".join(f"Q{k} := Q{k}" for k in range(1, 5))
    given = ", ".join(f"{v.name} := {v.name}" for v in motion)
    lines = (
        f"Pose({angles}, Reset := Reset);",
        "Status := Pose.Status;",
        "IF Status <> 0 THEN RETURN; END_IF;",
        f"Torque(X := Pose.X, Y := Pose.Y, Z := Pose.Z, Psi := Pose.Psi, {given});",
        "Status := Torque.Status;",
        "IF Status <> 0 THEN RETURN; END_IF;",
        *(f"Tau{k} := Torque.Tau{k};" for k in range(1, 5)),
    )
    reset = Variable("Reset", "BOOL", "TRUE: follow the pose from the middle of the reach")
    inner = (
        Variable("Pose", "ForwardKinematics", "of the joints"),
        Variable("Torque", posed.name, "at the pose"),
    )
    return FunctionBlock(
        name,
        posed.purpose,
        (*motion, reset),
        posed.outputs,
        inner,
        lines,
        posed.operations,
    )


def _feedforward_joints(
    robot: Robot, name_of: str, *, posed: bool = False, placed: bool = False
) -> FunctionBlock:
    """The torque of a joint motion; `posed` takes the pose too, which halves need."""
    groups = (("Q", speech(robot)["angle"]), ("QD", "rate"), ("QDD", "acceleration"))
    motion = [
        _joints(robot, name, f"{what} of the controller", name.lower()) for name, what in groups
    ]
    load = load_variables(robot, placed=placed)
    pose = _platform(robot, "", "position", "m", "rad") if posed else ()

    def code(values: Mapping[str, Any]) -> Numbers:
        q, qd, qdd = (
            _from_controller(robot, _of(values, group), angle=group is motion[0])
            for group in motion
        )
        groups = {**load_values(values, load), **({"p": _of(values, pose)} if posed else {})}
        name = kernel(robot, "joint_torque")
        return _drive_torque(robot, model_values(robot, name, q=q, qd=qd, qdd=qdd, **groups), q)

    inputs = (*pose, *(v for group in motion for v in group), *load)
    tests = [*_position_tests(pose), *_tests([v for group in motion for v in group], FASTEST)]
    return _torque(robot, name_of, "joint", inputs, code, [*tests, *load_tests(load)])


def _torque(
    robot: Robot,
    name: str,
    of: str,
    inputs: tuple[Variable, ...],
    code: Code,
    tests: Iterable[str],
) -> FunctionBlock:
    words = speech(robot)
    outputs = _joints(robot, "Tau", f"{words['torque']} in the controller's sign", "tau")
    purpose = f"{words['torque'].capitalize()} of a {of} motion, friction of the drives included"
    return straight_block(name, purpose, inputs, outputs, code, tests)


def _drive_torque(robot: Robot, motion: Mapping[str, Numbers], q: Numbers) -> Numbers:
    """The drives' friction on top of the torque of a motion, in the controller's sign."""
    qd = motion["qd"]
    turn, shape = directions(robot, qd), stribeck_shapes(robot, qd)
    whole = model_values(robot, f"friction_{robot.dof}", direction=turn, stribeck=shape, **motion)[
        "tau"
    ]
    needed = needed_torque(robot, q, qd, whole)
    gains = drive_gains(robot, needed, turn)
    driven = [gain * value for gain, value in zip(gains, needed, strict=True)]
    return _to_controller(robot, driven, angle=False)


def directions(robot: Robot, rates: Numbers) -> Numbers:
    """Sign of the rates, or its smooth form."""
    return [direction(rate, robot.friction.smoothing, SCALARS) for rate in rates]


def stribeck_shapes(robot: Robot, rates: Numbers) -> Numbers:
    """exp(-(rate / velocity)^2), 0 where the robot has no such friction."""
    velocity = robot.friction.stribeck_velocity
    if velocity is None:
        return [0.0] * len(rates)
    return [stribeck_shape(SCALARS, *pair) for pair in zip(rates, velocity, strict=True)]


def needed_torque(robot: Robot, q: Numbers, rates: Numbers, torque: Numbers) -> Numbers:
    """The torque with friction that rises less and less, and with ripple at the angles q."""
    friction, found = robot.friction, []
    for i, value in enumerate(torque):
        if friction.thinning is not None and friction.thinning_velocity is not None:
            shape = thinning_shape(SCALARS, rates[i], friction.thinning_velocity[i])
            value = value + friction.thinning[i] * shape
        waves = [(wave.order, wave.cos[i], wave.sin[i]) for wave in robot.drives.ripple]
        found.append(value + ripple_torque(SCALARS, q[i], waves))
    return found


def drive_gains(robot: Robot, needed: Numbers, turn: Numbers) -> Numbers:
    """What the drive counts of a torque, with the motor's loss in it, per needed torque."""
    ratios, share = robot.sensors.torque_ratio, robot.friction.motor_load
    if share is None:
        return list(ratios)
    return [
        ratio * motor_gain(SCALARS, *values)
        for ratio, *values in zip(ratios, needed, share, turn, strict=True)
    ]


def straight_block(
    name: str,
    purpose: str,
    inputs: tuple[Variable, ...],
    outputs: tuple[Variable, ...],
    code: Code,
    tests: Iterable[str],
    status: str = STATUS,
) -> FunctionBlock:
    """A block whose outputs are what `code` makes of its inputs, behind tests of these."""

    def traced(*groups: Numbers) -> Numbers:
        pairs = zip(inputs, groups, strict=True)
        return code({variable.name: value for variable, (value,) in pairs})

    function = in_depth(trace(name, {variable.name: 1 for variable in inputs}, traced))
    text = body(function, [variable.name for variable in outputs], tests)
    inner = tuple(Variable(t) for t in text.temporaries)
    outputs = (*outputs, Variable("Status", "DINT", status))
    lines = ("Status := 0;", *text.lines)
    return FunctionBlock(name, purpose, inputs, outputs, inner, lines, text.operations)


def _platform(robot: Robot, prefix: str, what: str, unit: str, turn: str) -> tuple[Variable, ...]:
    return tuple(
        Variable(
            f"{prefix}{name.capitalize()}",
            "LREAL",
            f"{what} of the platform in {turn if name == 'psi' else unit}",
        )
        for name in robot.coordinates
    )


def _joints(robot: Robot, prefix: str, what: str, quantity: str) -> tuple[Variable, ...]:
    """One variable per axis, with the axis's own unit of "q", "qd", "qdd" or "tau"."""
    units = enumerate(robot.axis_units(quantity), start=1)
    return tuple(
        Variable(f"{prefix}{i}", "LREAL", f"{what}, axis {i}, in {unit}") for i, unit in units
    )


PLACE = ("PayloadX", "PayloadY")


def load_variables(robot: Robot, *, placed: bool = False) -> tuple[Variable, ...]:
    """Inputs for a payload; `placed` ones have their own place instead of the robot file's."""
    mass = Variable("PayloadMass", "LREAL", "payload in kg, 0 without one")
    inertia = Variable("PayloadInertia", "LREAL", "of the payload about its own axis in kg m^2")
    place = [
        Variable(n, "LREAL", f"{n[-1].lower()} of the payload in m, turns by psi") for n in PLACE
    ]
    return (mass, inertia, *(place if placed else ())) if robot.turns else (mass,)


def load_tests(load: tuple[Variable, ...]) -> list[str]:
    """Tests of a payload, and of its place where it is an input."""
    place = [v for v in load if v.name in PLACE]
    return [*_tests([v for v in load if v not in place], HEAVIEST), *_tests(place, FARTHEST)]


def load_values(values: Mapping[str, Any], load: tuple[Variable, ...]) -> dict[str, Numbers]:
    """What the model's inputs for a payload get."""
    names = [v.name for v in load]
    given: dict[str, Numbers] = {
        "mass": [values["PayloadMass"]],
        "inertia": [values["PayloadInertia"] if "PayloadInertia" in names else 0.0],
    }
    return {**given, "place": [values[name] for name in PLACE]} if PLACE[0] in names else given


def _of(values: Mapping[str, Any], variables: Iterable[Variable]) -> Numbers:
    return tuple(values[variable.name] for variable in variables)


def _position_tests(point: Sequence[Variable]) -> list[str]:
    turning = [v for v in point if v.name.endswith("Psi")]
    return [*_tests([v for v in point if v not in turning], FARTHEST), *_tests(turning, FASTEST)]


def _tests(variables: Iterable[Variable], most: float) -> list[str]:
    return [within(variable.name, most) for variable in variables]


def _from_controller(robot: Robot, values: Numbers, *, angle: bool) -> Numbers:
    """q = sign (q_controller - offset); rates without the offset."""
    own = zip(values, robot.controller.sign, robot.controller.offset, strict=True)
    turned = ((value - (offset if angle else 0.0), sign) for value, sign, offset in own)
    return [-value if sign < 0 else value for value, sign in turned]


def _to_controller(robot: Robot, values: Numbers, *, angle: bool) -> Numbers:
    """q_controller = sign q + offset; torques without the offset."""
    own = zip(values, robot.controller.sign, robot.controller.offset, strict=True)
    return [
        (-value if sign < 0 else value) + (offset if angle else 0.0) for value, sign, offset in own
    ]
