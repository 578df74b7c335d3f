"""Target `c`: one .c and one .h in C99, without allocation, global variables or libc but math.h.

The straight-line functions of the model are those of the compiled kernels, as they are; templates
in `templates/c` hold the checks, the public functions and the payload estimator around them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltadyn.errors import InputError
from deltadyn.exports.c.numbers import Precision, estimator_numbers, precision_of, robot_numbers
from deltadyn.exports.common import (
    commented,
    filled,
    identifier,
    kernel_sources,
    provenance,
    template,
)
from deltadyn.exports.payload_numbers import PayloadNumbers, payload_numbers
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot

PARTS = ("model.c", "calls.c", "payload.c", "filters.c")
KERNELS = (
    "inverse_kinematics",
    "forward_kinematics",
    "platform_state",
    "joint_state",
    "state_torque_{dof}",
    "friction_{dof}",
    "mass_{dof}",
)

SINGLE = """\
- In single precision torques are good to about 1e-6 of the largest, and nearer than 1e-3 of its
  length to a singular pose the robot counts as singular.
"""


@dataclass(frozen=True)
class Options:
    """Options of target `c`."""

    precision: str = "double"  # or "float"
    estimator: PayloadEstimator | None = None  # whose numbers are taken, and whose rate
    rate: float = 2000.0  # Hz, of `PayloadEstimator(robot, rate=rate)` where none is given


def files(robot: Robot, options: Options | None = None) -> dict[str, str]:
    """The files of target `c` for a robot, by name."""
    chosen = Options() if options is None else options
    kind = precision_of(chosen.precision)
    numbers = payload_numbers(robot, chosen.estimator, rate=chosen.rate)
    name = f"{identifier(robot)}_delta"
    words = _words(robot, kind, numbers, name)
    source = "\n".join(template("c", part) for part in PARTS)
    constants = robot_numbers(robot, kind) + "\n" + estimator_numbers(numbers, kind)
    rubbing = template("c", "passive.c" if robot.friction.passive else "no_passive.c")
    source = source.replace("@passive@", rubbing)
    source = source.replace("@numbers@", constants).replace("@kernels@", kernels(robot.dof))
    texts = {
        f"{name}.h": ("kinematics, dynamics and payload estimator, C99", template("c", "delta.h")),
        f"{name}.c": (f"what {name}.h declares", source),
        "example.c": (f"an example of a program that uses {name}.c", template("c", "example.c")),
    }
    out = {"README-c.md": _readme(robot, kind, numbers, name)}
    for file, (what, text) in texts.items():
        head = commented(provenance(robot, what), "/*", " * ", " */")
        out[file] = f"{head}\n{_with_words(text, words)}"
    return out


def kernels(dof: int) -> str:
    """The generated functions that the export needs, as the package compiles them."""
    known, found = kernel_sources(), []
    for name in (name.format(dof=dof) for name in KERNELS):
        if name not in known:
            raise InputError("generated function", name, "in the package's kernels; install again")
        found.append(known[name].rstrip("\n"))
    return "\n\n".join(found)


def _words(robot: Robot, kind: Precision, numbers: PayloadNumbers, name: str) -> dict[str, str]:
    """What stands for the @words@ of the templates."""
    own, dof = identifier(robot), robot.dof
    words = {
        "id": own,
        "ID": own.upper(),
        "file": name,
        "real": kind.real,
        "dof": str(dof),
        "psi": ", psi" if dof == 4 else "",
        "rad": " and rad" if dof == 4 else "",
        "own_payload": kind.literal(robot.payload.mass),
        "largest": kind.literal(kind.largest),
        "tiny": kind.literal(kind.tiny),
        "rate": kind.literal(numbers.rate),
        "stages": str(numbers.stages),
        "channels": str(4 * dof),
        "narrow_stages": str(numbers.narrow_stages),
        "narrow_width": str(3 * dof + 1),
        "memory": str(numbers.memory),
        "place": ", ".join(kind.literal(x) for x in middle(robot)),
    }
    for function in ("sqrt", "fabs", "sin", "cos", "tanh", "exp", "atan2"):
        words[function] = kind.function(function)
    return words


def _with_words(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match.group(1)], text)


def _readme(robot: Robot, kind: Precision, numbers: PayloadNumbers, name: str) -> str:
    own, dof = identifier(robot), robot.dof
    words = {
        "name": robot.name,
        "head": commented(
            provenance(robot, "model and payload estimator in C99"), "<!--", "", "-->"
        ),
        "file": name,
        "id": own,
        "ID": own.upper(),
        "real": kind.real,
        "dof": dof,
        "place": ", ".join(f"{x:g}" for x in middle(robot)),
        "psi": ", and p[3] is psi, the effector's turn about z" if dof == 4 else "",
        "axes": _axes(robot),
        "offset": ", ".join(f"{x:g}" for x in robot.payload.offset),
        "own": f"{robot.payload.mass:g}",
        "largest": f"{kind.largest:g}",
        "reach": f"{numbers.reach:g}",
        "patience": numbers.patience,
        "state": state_bytes(numbers, kind),
        "rate": f"{numbers.rate:g}",
        "step": numbers.step,
        "delay": f"{1e3 * numbers.delay:.1f}",
        "limit": f"{numbers.limit:.2f}",
        "relative": f"{numbers.relative:g}",
        "zero": f"{numbers.zero:g}",
        "tare": f"{numbers.tare:g}",
        "events": "searched" if numbers.events else "not searched: all samples are one load",
        "passive": " and that of passive joints" if robot.friction.passive else "",
        "single": SINGLE if kind.real == "float" else "",
    }
    return filled("c", "README.md", words)


def middle(robot: Robot) -> list[float]:
    """A point (dof,) in the middle of the robot's reach, in m and rad."""
    g = robot.geometry
    depth = 0.5 * (min(g.arm_length) + min(g.strut_length))
    return [0.0, 0.0, -round(depth, 3), 0.0][: robot.dof]


def state_bytes(numbers: PayloadNumbers, precision: Precision) -> int:
    """Size of the estimator's state, but for padding, with 4-byte int, 8-byte long and pointers."""
    n, size = numbers.dof, 8 if precision.real == "double" else 4
    width = 3 * n + 1
    reals = 3 + 4 * n * (numbers.stages + 1) + n * numbers.stages + width
    reals += width * numbers.narrow_stages + 4 * n + 4 + 3 * numbers.memory
    return size * reals + 4 * (10 + 2 + 6 + 2) + 2 * 8


def _axes(robot: Robot) -> str:
    rows = ["| axis | q_controller | tau_controller |", "|---|---|---|"]
    pairs = zip(robot.controller.sign, robot.controller.offset, strict=True)
    for axis, (sign, offset) in enumerate(pairs, start=1):
        mark = "-" if sign < 0 else ""
        shift = f" {'-' if offset < 0 else '+'} {abs(offset):g} rad" if offset else ""
        rows.append(f"| {axis} | {mark}q{shift} | {mark}tau |")
    meaning = "q = 0 is an arm horizontal and outward, positive is downward"
    if robot.dof == 4:
        meaning += "; axis 4 is psi"
    return "\n".join([*rows, "", f"Here {meaning}."])
