"""The self-test of kinematics and torques as a function block, a check point per call."""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from deltadyn.exports.common import (
    INTERFACE_VERSION,
    MARK_GROUPS,
    platform_kind,
    speech,
    template,
)
from deltadyn.exports.model_test import ModelTest
from deltadyn.exports.structured_text.blocks import FunctionBlock, Variable, load_variables
from deltadyn.exports.structured_text.code import UNREACHABLE, literal
from deltadyn.exports.structured_text.payload import array, expanded, in_units
from deltadyn.kinematics.actuation import HALVES
from deltadyn.robot import Robot

CLOSE, SINGLE = 1e-9, 2e-5  # of the largest number, where an LREAL has 64 bits and where it has 32
NAME = "SelfTest"


def model_test_block(robot: Robot, test: ModelTest, work: int) -> FunctionBlock:
    """The block; `work` are the operations of the blocks that it calls."""
    n, checks = robot.dof, len(test.checks)
    words = speech(robot)
    lists = {
        "identity": _identity(),
        "tables": _tables(robot, test),
        "seen": _seen(robot),
        "far": _far(robot, test),
        "loaded": _loaded(robot),
        "loaded_off": _loaded_off(robot),
    }
    text = template("structured_text", "model_test.st")
    text = expanded(text, {name: "\n".join(own) for name, own in lists.items()}, "$")
    tau = max(("N", "N m"), key=robot.axis_units("tau").count)
    groups: tuple[tuple[str, str, str], ...] = (
        ("Inverse", "InverseKinematics", "what is tested"),
        ("Forward", "ForwardKinematics", "what is tested"),
        ("Platform", "Feedforward", "what is tested"),
        ("Joints", "FeedforwardJoints", "what is tested"),
        ("Moves", array(3 * n * checks), "position, velocity, acceleration of the platform, in SI"),
        ("Turns", array(3 * n * checks), f"{words['angles']}, rates, accelerations, in SI units"),
        ("Wanted", array(n * checks), f"{words['torques']} at the check points, in {{tau}}"),
        ("Masses", array(checks), "payloads in kg"),
        ("Inertias", array(checks), "of the payloads in kg m^2"),
        ("SeenQ", array(n), "in {q}"),
        ("SeenP", array(n), "in m and rad"),
        ("SeenT SeenJ", array(n), "in {tau}"),
        ("Small Off PoseClose TorqueClose", "LREAL", "temporaries"),
        ("m w i", "DINT", "counters"),
        ("Good", "BOOL", "temporary"),
    )
    if robot.turns:
        groups = (
            *groups[:4],
            ("PlatformLoad", "FeedforwardLoad", "what is tested"),
            ("Load", "JointsLoad", "what is tested"),
            *groups[4:],
            ("WantedLoad", array(n * checks), "torques of payloads at their own places, in {tau}"),
            ("PlaceX PlaceY", array(checks), "places of the payloads in m"),
            ("SeenL SeenK", array(n), "in {tau}"),
        )
    else:
        groups = tuple(group for group in groups if group[0] != "Inertias")
    rows = ((name, kind, what) for names, kind, what in groups for name in names.split())
    return FunctionBlock(
        NAME,
        f"Self-test of kinematics and {words['torques']} on this controller, "
        f"{checks + (test.far is not None)} calls",
        (Variable("Run", "BOOL", "TRUE: a check point per call until Done; FALSE: begin anew"),),
        (
            Variable("Done", "BOOL", "the test has ended"),
            Variable("Passed", "BOOL", "it ended, and all check points agree"),
            Variable("Failed", "DINT", "first check point that does not agree, 0: none"),
            Variable("Error", "LREAL", f"largest difference of a {words['torque']}, in {tau}"),
            Variable("Gap", "LREAL", "largest difference of a position or an angle, in m, rad"),
            Variable("Sample", "DINT", "check points taken so far"),
            Variable("Bits", "DINT", "of an LREAL on this controller: 64, or 32"),
            Variable("InterfaceVersion", "DINT", "of the blocks, also without Run"),
            *(
                Variable(f"Fingerprint{k}", "DINT", f"digits {4 * k - 3} to {4 * k}, hexadecimal")
                for k in range(1, len(MARK_GROUPS) + 1)  # common to the tools is no text
            ),
        ),
        tuple(Variable(name, kind, in_units(robot, what)) for name, kind, what in rows),
        tuple(
            line for line in Template(text).substitute(_values(robot, test)).splitlines() if line
        ),
        work + 20 * n + 20,
    )


def _values(robot: Robot, test: ModelTest) -> dict[str, object]:
    """Numbers and calls in the text."""
    n, checks = robot.dof, len(test.checks)
    names = [name.capitalize() for name in robot.coordinates]
    own = [f"{kind}{name}" for kind in ("", "V", "A") for name in names]
    turned = [f"{kind}{i}" for kind in ("Q", "QD", "QDD") for i in range(1, n + 1)]
    load = _load(robot, placed=False)
    reset = ["Reset := TRUE"] if platform_kind(robot) in HALVES else []
    moves = [f"{name} := Moves[m + {k}]" for k, name in enumerate(own)]
    turns = [f"{name} := Turns[m + {k}]" for k, name in enumerate(turned)]
    return {
        "dof": n,
        "three_dof": 3 * n,
        "last_axis": n - 1,
        "checks": checks,
        "samples": checks + (test.far is not None),
        "pose_close": literal(CLOSE * test.pose_scale),
        "pose_single": literal(SINGLE * test.pose_scale),
        "torque_close": literal(CLOSE * test.torque_scale),
        "torque_single": literal(SINGLE * test.torque_scale),
        "point": _wrapped(moves[:n], n),
        "angles": _wrapped([*turns[:n], *reset], n + 1),
        "motion": _wrapped([*moves, *load], n),
        "turning": _wrapped([*turns, *load, *reset], n),
    }


def _load(robot: Robot, *, placed: bool) -> list[str]:
    """Arguments for the payload of a check point."""
    given = {
        "PayloadMass": "Masses[Sample]",
        "PayloadInertia": "Inertias[Sample]",
        "PayloadX": "PlaceX[Sample]",
        "PayloadY": "PlaceY[Sample]",
    }
    return [f"{v.name} := {given[v.name]}" for v in load_variables(robot, placed=placed)]


def _loaded(robot: Robot) -> list[str]:
    """Calls of the blocks whose payload has a place of its own."""
    if not robot.turns:
        return []
    n, names = robot.dof, [name.capitalize() for name in robot.coordinates]
    moves = [f"{kind}{name}" for kind in ("", "V", "A") for name in names]
    turns = [f"{kind}{i}" for kind in ("Q", "QD", "QDD") for i in range(1, n + 1)]
    load = _load(robot, placed=True)
    reset = ["Reset := TRUE"] if platform_kind(robot) in HALVES else []
    calls = {
        "PlatformLoad": [f"{name} := Moves[m + {k}]" for k, name in enumerate(moves)] + load,
        "Load": [f"{name} := Turns[m + {k}]" for k, name in enumerate(turns)] + load + reset,
    }
    lines = "\n".join(f"{name}({_wrapped(own, n)});" for name, own in calls.items()).splitlines()
    seen = [f"SeenL[{k}] := PlatformLoad.Tau{k + 1};" for k in range(n)]
    seen += [f"SeenK[{k}] := Load.Tau{k + 1};" for k in range(n)]
    return [*lines, *seen]


def _loaded_off(robot: Robot) -> list[str]:
    """Their differences."""
    if not robot.turns:
        return []
    lines = ["Good := Good AND (PlatformLoad.Status = 0) AND (Load.Status = 0);"]
    for seen in ("SeenL", "SeenK"):
        lines += [
            f"Off := ABS({seen}[i] - WantedLoad[w + i]);",
            "Good := Good AND (Off <= TorqueClose);",
            "IF NOT (Off <= Error) THEN Error := Off; END_IF;",
        ]
    return lines


def _identity() -> list[str]:
    """Version of the interface and fingerprint of the export, which every call sets."""
    lines = [f"Fingerprint{k} := 16#{group};" for k, group in enumerate(MARK_GROUPS, start=1)]
    return [f"InterfaceVersion := {INTERFACE_VERSION};", *lines]


def _wrapped(arguments: list[str], per_line: int) -> str:
    """Arguments of a call, so many on a line."""
    rows = [arguments[k : k + per_line] for k in range(0, len(arguments), per_line)]
    return ",\n        ".join(", ".join(row) for row in rows)


def _tables(robot: Robot, test: ModelTest) -> list[str]:
    def flat(*names: str) -> list[float]:
        return [float(x) for check in test.checks for name in names for x in getattr(check, name)]

    real = {
        "Moves": flat("p", "pd", "pdd"),
        "Turns": flat("q", "qd", "qdd"),
        "Wanted": flat("torque"),
        "Masses": [check.mass for check in test.checks],
    }
    if robot.turns:
        real |= {
            "Inertias": [check.inertia for check in test.checks],
            "WantedLoad": flat("load_torque"),
            "PlaceX": [check.place[0] for check in test.checks],
            "PlaceY": [check.place[1] for check in test.checks],
        }
    return [f"{n}[{k}] := {literal(x)};" for n, row in real.items() for k, x in enumerate(row)]


def _seen(robot: Robot) -> list[str]:
    def rows(to: str, block: str, names: Iterable[str]) -> list[str]:
        return [f"{to}[{k}] := {block}.{name};" for k, name in enumerate(names)]

    axes = range(1, robot.dof + 1)
    torques = [f"Tau{i}" for i in axes]
    return [
        *rows("SeenQ", "Inverse", [f"Q{i}" for i in axes]),
        *rows("SeenP", "Forward", [name.capitalize() for name in robot.coordinates]),
        *rows("SeenT", "Platform", torques),
        *rows("SeenJ", "Joints", torques),
    ]


def _far(robot: Robot, test: ModelTest) -> list[str]:
    """The last check point is out of reach, and the block says so."""
    if test.far is None:
        return []
    names = zip(robot.coordinates, test.far.tolist(), strict=True)
    point = ", ".join(f"{name.capitalize()} := {literal(x)}" for name, x in names)
    return [
        "ELSE",
        f"    Inverse({point});",
        f"    Good := Inverse.Status = {UNREACHABLE};",
    ]
