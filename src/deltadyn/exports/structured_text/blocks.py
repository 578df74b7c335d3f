"""The function blocks of kinematics and feedforward: variables, and the code for one robot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from string import Template

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.layout import ENTRIES
from deltadyn.exports.common import (
    EXPORT_MARK,
    empty_parameters,
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
    Step,
    body,
    bound,
    literal,
    specialised,
    step_text,
)
from deltadyn.kinematics.actuation import HALVES, kernel, limb_kernel
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.limbs import limbs, pairs_of, rods_of
from deltadyn.robot import Robot

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


def robot_numbers(robot: Robot) -> dict[str, float]:
    """Values of the generated code's inputs par_..., of the robot without payload."""
    names = [f"par_{name}_{k + 1}" for name, width in ENTRIES for k in range(width)]
    numbers = dict(zip(names, empty_parameters(robot), strict=True))
    x, y, _ = robot.payload.offset
    return {**numbers, "par_payload_x": x, "par_payload_y": y}


def kinematic_blocks(robot: Robot) -> list[FunctionBlock]:
    """Inverse and forward kinematics."""
    if platform_kind(robot) in HALVES:
        step = _pose_step(robot)
        return [_inverse(robot), step, _followed(robot, step)]
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
    steps = [*_position_guards(point), *_angles(robot, point)]
    words = speech(robot)
    outputs = _joints(robot, "Q", f"{words['angle']} of the controller", "q")
    steps += _to_controller(robot, "angle", "given", angle=True)
    purpose = f"{words['Angles']} of a platform position"
    return _block(robot, "InverseKinematics", purpose, point, outputs, steps, "given")


def _angles(robot: Robot, point: tuple[Variable, ...]) -> list[Step]:
    """angle_i: the robot's own angles of a platform position."""
    held = point[: robot.legs]
    steps = [*bound(limb_kernel(robot, "inverse_kinematics"), "k_", _names("p", held))]
    for i in range(1, robot.legs + 1):
        pair = (f"k_out_sin_q_{i}", f"k_out_cos_q_{i}")
        steps.append(
            Step(f"angle_{i}", "copy", pair[1:])  # the place of a carriage
            if robot.linear
            else Step(f"angle_{i}", "atan2", pair)
        )
    if robot.spindle is not None:
        steps.append(Step("angle_4", "copy", ("Psi",)))
    return steps


def _forward(robot: Robot) -> FunctionBlock:
    words, limbs = speech(robot), range(1, robot.legs + 1)
    angles = _joints(robot, "Q", f"{words['angle']} of the controller", "q")
    steps = [*_guards(angles, FASTEST), *_from_controller(robot, "Q", "q", angle=True)]
    steps += bound(
        limb_kernel(robot, "forward_kinematics"), "k_", {f"q_{i}": f"q_{i}" for i in limbs}
    )
    steps += [Step(f"given_{i}", "copy", (f"k_out_p_{i}",)) for i in limbs]
    steps += [Step("given_4", "copy", ("q_4",))] if robot.spindle is not None else []
    outputs = _platform(robot, "", "position", "m", "rad")
    purpose = f"Platform position of {words['angles']}"
    return _block(robot, "ForwardKinematics", purpose, angles, outputs, steps, "given")


def _feedforward(robot: Robot, *, placed: bool = False) -> FunctionBlock:
    point = _platform(robot, "", "position", "m", "rad")
    rate = _platform(robot, "V", "velocity", "m/s", "rad/s")
    bend = _platform(robot, "A", "acceleration", "m/s^2", "rad/s^2")
    load = load_variables(robot, placed=placed)
    steps = [*_position_guards(point), *_guards((*rate, *bend), FASTEST), *_load_steps(load)]
    names = {
        **_names("p", point),
        **_names("pd", rate),
        **_names("pdd", bend),
        **payload_names(load),
    }
    steps += bound(kernel(robot, "platform_torque"), "m_", names)
    if robot.drives.ripple:
        steps += _angles(robot, point)
    inputs = (*point, *rate, *bend, *load)
    name = "FeedforwardLoad" if placed else "Feedforward"
    return _torque(robot, name, "platform", inputs, steps, "angle")


def _pose_step(robot: Robot) -> FunctionBlock:
    """One step of Newton's method towards the pose of the robot's own joints."""
    pose = _platform(robot, "", "position", "m", "rad")
    words = speech(robot)
    joints = _joints(robot, "Q", f"{words['angle']} in the robot's own sign", "q")
    steps = [*_position_guards(pose), *_guards(joints, FASTEST)]
    steps += bound(
        limb_kernel(robot, "pose_step"), "k_", {**_names("p", pose), **_names("q", joints)}
    )
    outputs = (
        *_platform(robot, "Next", "next position", "m", "rad"),
        *(Variable(f"Left{i}", "LREAL", f"gap of limb {i} before, in m^2") for i in range(1, 5)),
        Variable("Side", "LREAL", "0 at a singular pose, its sign is that of the assembly, in m^4"),
    )
    for place, name in enumerate(("p_1", "p_2", "p_3", "p_4")):
        steps.append(Step(f"given_{place + 1}", "copy", (f"k_out_{name}",)))
    steps += [Step(f"given_{4 + i}", "copy", (f"k_out_left_{i}",)) for i in range(1, 5)]
    steps.append(Step("given_9", "copy", ("k_out_determinant_1",)))
    purpose = "A step towards the pose of the joints; ForwardKinematics calls it"
    return _block(robot, "PoseStep", purpose, (*pose, *joints), outputs, steps, "given")


def _followed(robot: Robot, step: FunctionBlock) -> FunctionBlock:
    """The pose of joints, followed from that of the call before by Newton's method."""
    words, home = speech(robot), home_pose(robot)
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
        "door": [step_text(Step("", "within", (f"Q{k + 1}", literal(FASTEST)))) for k in range(4)],
        "own": own,
        "home": [f"Pose[{k}] := {literal(float(x))};" for k, x in enumerate(home)]
        + [f"Start[{k}] := {literal(float(x))};" for k, x in enumerate(first)],
        "wrap": [] if robot.linear else WRAP.splitlines(),
        "next": [f"Next[{k}] := Closer.Next{name};" for k, name in enumerate(names)],
        "gaps": [f"Gap[{k}] := Closer.Left{k + 1};" for k in range(4)],
        "out": [f"{name} := Pose[{k}];" for k, name in enumerate(names)],
    }
    text = template("structured_text", "followed_pose.st")
    for name, lines in lists.items():
        text = _listed(text, name, lines)
    size = max(robot.geometry.strut_length)
    values = {
        "stride": literal(STRIDE * robot.radian[0]),
        "far": literal(8 * STRIDE * robot.radian[0]),
        "closed": literal(1e-9 * size * size),
        "same": literal(1e-14),
        "assembly": literal(float(np.sign(rods.inverse.determinant))),
        "unreachable": UNREACHABLE,
    }
    inner = [
        Variable("Closer", step.name, "a step towards the pose"),
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
    inner += [Variable(name, "LREAL", "temporary") for name in ("Most", "Share", "Along", "Moved")]
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
        74 * (step.operations + 40),
    )


def _listed(text: str, name: str, lines: Iterable[str]) -> str:
    """Lines in the place of a line $name, at its indentation."""

    def put(match: re.Match[str]) -> str:
        return "".join(f"{match[1]}{line}\n" for line in lines)

    return re.sub(rf"^( *)\${name}\n", put, text, flags=re.M)


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
    steps = [guard for group in motion for guard in _guards(group, FASTEST)]
    steps += _load_steps(load)
    for name, own in (("Q", "q"), ("QD", "qd"), ("QDD", "qdd")):
        steps += _from_controller(robot, name, own, angle=name == "Q")
    axes = range(1, robot.dof + 1)
    names = {f"{own}_{i}": f"{own}_{i}" for own in ("q", "qd", "qdd") for i in axes}
    pose = _platform(robot, "", "position", "m", "rad") if posed else ()
    if posed:
        steps = [*_position_guards(pose), *steps]
        names |= _names("p", pose)
    steps += bound(kernel(robot, "joint_torque"), "m_", {**names, **payload_names(load)})
    inputs = (*pose, *(v for group in motion for v in group), *load)
    return _torque(robot, name_of, "joint", inputs, steps, "q")


def _torque(
    robot: Robot, name: str, of: str, inputs: tuple[Variable, ...], steps: list[Step], angle: str
) -> FunctionBlock:
    """The drives' friction on top of the torque m_out_tau, then the controller's sign.

    `angle` names the angles, which ripple alone asks for.
    """
    axes = range(1, robot.dof + 1)
    names = {f"{group}_{i}": f"m_out_{group}_{i}" for group in ("tau", "qd", "qdd") for i in axes}
    steps = [*steps, *direction_steps(robot, "m_out_qd"), *stribeck_steps(robot, "m_out_qd")]
    names |= {f"{group}_{i}": f"{group}_{i}" for group in ("direction", "stribeck") for i in axes}
    steps += bound(f"friction_{robot.dof}", "f_", names)
    steps += thinning_steps(robot, "m_out_qd", "f_out_tau", "whole")
    steps += motor_steps(robot, angle, "whole", "driven")
    steps += _to_controller(robot, "driven", "given", angle=False)
    words = speech(robot)
    outputs = _joints(robot, "Tau", f"{words['torque']} in the controller's sign", "tau")
    purpose = f"{words['torque'].capitalize()} of a {of} motion, friction of the drives included"
    return _block(robot, name, purpose, inputs, outputs, steps, "given")


def direction_steps(robot: Robot, rate: str) -> list[Step]:
    """direction_i: sign of the rates, or its smooth form."""
    steps, smoothing = [], robot.friction.smoothing
    for i in range(1, robot.dof + 1):
        if smoothing is None:
            steps.append(Step(f"direction_{i}", "sign", (f"{rate}_{i}",)))
            continue
        steps.append(Step(f"scaled_{i}", "/", (f"{rate}_{i}", literal(smoothing))))
        steps.append(Step(f"direction_{i}", "tanh", (f"scaled_{i}",)))
    return steps


def stribeck_steps(robot: Robot, rate: str) -> list[Step]:
    """stribeck_i: exp(-(rate / velocity)^2), 0 where the robot has no such friction."""
    steps, velocity = [], robot.friction.stribeck_velocity
    for i in range(1, robot.dof + 1):
        if velocity is None:
            steps.append(Step(f"stribeck_{i}", "copy", ("0.0",)))
            continue
        steps.append(Step(f"ratio_{i}", "/", (f"{rate}_{i}", literal(velocity[i - 1]))))
        steps.append(Step(f"stribeck_{i}", "bell", (f"ratio_{i}",)))
    return steps


def thinning_steps(robot: Robot, rate: str, torque: str, whole: str) -> list[Step]:
    """whole_i: the torque with friction that rises less and less, Ft tanh(rate / velocity)."""
    own, steps = robot.friction, []
    for i in range(1, robot.dof + 1):
        if own.thinning is None or own.thinning_velocity is None:
            steps.append(Step(f"{whole}_{i}", "copy", (f"{torque}_{i}",)))
            continue
        velocity, size = (literal(x[i - 1]) for x in (own.thinning_velocity, own.thinning))
        steps.append(Step(f"slow_{i}", "/", (f"{rate}_{i}", velocity)))
        steps.append(Step(f"thin_{i}", "tanh", (f"slow_{i}",)))
        steps.append(Step(f"thinned_{i}", "*", (size, f"thin_{i}")))
        steps.append(Step(f"{whole}_{i}", "+", (f"{torque}_{i}", f"thinned_{i}")))
    return steps


def motor_steps(robot: Robot, angle: str, torque: str, driven: str, column: str = "") -> list[Step]:
    """driven_i: the torque as the drive counts it, with ripple at the angle and the motor's loss.

    A column {column}_i, where it is named, becomes {driven}_{column}_i on the same way.
    """
    steps, ratios, share = [], robot.sensors.torque_ratio, robot.friction.motor_load
    for i in range(1, robot.dof + 1):
        needed = f"{torque}_{i}"
        for k, wave in enumerate(robot.drives.ripple):
            phase, c, s = (f"{name}_{k}_{i}" for name in ("phase", "wave_c", "wave_s"))
            steps.append(Step(phase, "*", (literal(wave.order), f"{angle}_{i}")))
            steps += [Step(c, "COS", (phase,)), Step(s, "SIN", (phase,))]
            for part, size in ((c, wave.cos), (s, wave.sin)):
                steps.append(Step(f"{part}_sized", "*", (literal(size[i - 1]), part)))
                steps.append(Step(f"{part}_sum", "+", (needed, f"{part}_sized")))
                needed = f"{part}_sum"
        scale = literal(ratios[i - 1])
        if share is not None:
            lost = f"lost_{i}"
            steps.append(Step(lost, "*", (literal(share[i - 1]), f"direction_{i}")))
            steps.append(Step(f"{lost}_back", "neg", (lost,)))
            steps.append(Step(f"{lost}_own", "where", (needed, "0.0", f"{lost}_back", lost)))
            steps.append(Step(f"left_{i}", "-", ("1.0", f"{lost}_own")))
            steps.append(Step(f"grown_{i}", "/", (scale, f"left_{i}")))
            scale = f"grown_{i}"
        steps.append(Step(f"{driven}_{i}", "*", (scale, needed)))
        if column:
            steps.append(Step(f"{driven}_column_{i}", "*", (scale, f"{column}_{i}")))
    return steps


def _block(
    robot: Robot,
    name: str,
    purpose: str,
    inputs: tuple[Variable, ...],
    outputs: tuple[Variable, ...],
    steps: Iterable[Step],
    given: str,
) -> FunctionBlock:
    wanted = {variable.name: f"{given}_{i + 1}" for i, variable in enumerate(outputs)}
    steps = list(steps)
    own = {step.target for step in steps}  # a number that a step gives is an input
    numbers = {name: x for name, x in robot_numbers(robot).items() if name not in own}
    text = body(specialised(steps, numbers, wanted))
    inner = tuple(Variable(t) for t in text.temporaries)
    outputs = (*outputs, Variable("Status", "DINT", STATUS))
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


def _load_steps(load: tuple[Variable, ...]) -> list[Step]:
    """Guards of a payload, and its place where it is an input."""
    place = [v for v in load if v.name in PLACE]
    steps = [*_guards([v for v in load if v not in place], HEAVIEST), *_guards(place, FARTHEST)]
    return [*steps, *(Step(f"par_payload_{v.name[-1].lower()}", "copy", (v.name,)) for v in place)]


def payload_names(load: tuple[Variable, ...]) -> dict[str, str]:
    """What the generated code's inputs for a payload get."""
    return {"mass_1": "PayloadMass", "inertia_1": "PayloadInertia" if len(load) > 1 else "0.0"}


def _names(own: str, variables: Iterable[Variable]) -> dict[str, str]:
    return {f"{own}_{i}": v.name for i, v in enumerate(variables, start=1)}


def _position_guards(point: tuple[Variable, ...]) -> list[Step]:
    turning = [v for v in point if v.name.endswith("Psi")]
    return [*_guards([v for v in point if v not in turning], FARTHEST), *_guards(turning, FASTEST)]


def _guards(variables: Iterable[Variable], most: float) -> list[Step]:
    return [Step("", "within", (v.name, literal(most))) for v in variables]


def _from_controller(robot: Robot, variable: str, own: str, *, angle: bool) -> list[Step]:
    """q = sign (q_controller - offset); rates without the offset."""
    steps = []
    for i, (sign, offset) in enumerate(
        zip(robot.controller.sign, robot.controller.offset, strict=True), start=1
    ):
        zero = literal(offset if angle else 0.0)
        steps.append(Step(f"{own}_from_{i}", "-", (f"{variable}{i}", zero)))
        steps.append(Step(f"{own}_{i}", "neg" if sign < 0 else "copy", (f"{own}_from_{i}",)))
    return steps


def _to_controller(robot: Robot, own: str, given: str, *, angle: bool) -> list[Step]:
    """q_controller = sign q + offset; torques without the offset."""
    steps = []
    for i, (sign, offset) in enumerate(
        zip(robot.controller.sign, robot.controller.offset, strict=True), start=1
    ):
        steps.append(Step(f"{given}_turned_{i}", "neg" if sign < 0 else "copy", (f"{own}_{i}",)))
        zero = literal(offset if angle else 0.0)
        steps.append(Step(f"{given}_{i}", "+", (f"{given}_turned_{i}", zero)))
    return steps
