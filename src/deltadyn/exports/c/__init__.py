"""Target `c`: one .c and one .h in C99, without allocation, global variables or libc but math.h.

The straight-line functions of the model are those of the compiled kernels, as they are; templates
in `templates/c` hold the checks, the public functions and the payload estimator around them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files as resources

from deltadyn.errors import InputError
from deltadyn.exports.c.numbers import Precision, estimator_numbers, precision_of, robot_numbers
from deltadyn.exports.c.readme import middle, readme
from deltadyn.exports.common import commented, identifier, provenance
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


def files(
    robot: Robot,
    *,
    precision: str = "double",
    estimator: PayloadEstimator | None = None,
    rate: float = 2000.0,
) -> dict[str, str]:
    """The files of target `c` for a robot, by name.

    `precision` is "double" or "float". The payload estimator has the numbers of `estimator`, or
    those of `PayloadEstimator(robot, rate=rate)`; `rate` in Hz.
    """
    kind, numbers = precision_of(precision), payload_numbers(robot, estimator, rate=rate)
    name = f"{identifier(robot)}_delta"
    words = _words(robot, kind, numbers, name)
    source = "\n".join(_template(part) for part in PARTS)
    constants = robot_numbers(robot, kind) + "\n" + estimator_numbers(numbers, kind)
    rubbing = _template("passive.c" if robot.friction.passive else "no_passive.c")
    source = source.replace("@passive@", rubbing)
    source = source.replace("@numbers@", constants).replace("@kernels@", kernels(robot.dof))
    texts = {
        f"{name}.h": ("kinematics, dynamics and payload estimator, C99", _template("delta.h")),
        f"{name}.c": (f"what {name}.h declares", source),
        "example.c": (f"an example of a program that uses {name}.c", _template("example.c")),
    }
    out = {"README-c.md": readme(robot, kind, numbers, name)}
    for file, (what, text) in texts.items():
        head = commented(provenance(robot, what), "/*", " * ", " */")
        out[file] = f"{head}\n{_filled(text, words)}"
    return out


@lru_cache(maxsize=2)
def kernels(dof: int) -> str:
    """The generated functions that the export needs, as the package compiles them."""
    folder = resources("deltadyn.backends.generated")
    headers = sorted(item.name for item in folder.iterdir() if item.name.endswith(".h"))
    text = "\n".join((folder / name).read_text("utf-8") for name in headers)
    found = []
    for name in (name.format(dof=dof) for name in KERNELS):
        pattern = rf"^/\* x: [^\n]* \*/\nINLINE void deltadyn_{name}\(.*?^}}$"
        match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
        if match is None:
            raise InputError("generated function", name, "in the package's kernels; install again")
        found.append(match.group())
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


def _template(name: str) -> str:
    return (resources("deltadyn.exports") / "templates" / "c" / name).read_text("utf-8")


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match.group(1)], text)
