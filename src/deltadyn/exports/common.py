"""What all exports say alike: names that any language takes, numbers, and where they come from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.kernel_models.kernels import kernel_function
from deltadyn.backends.layout import COUNT, KINEMATIC, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import HALVES, actuation, parts_of
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.settings import EstimatorNumbers, EstimatorOptions
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, PlanarPlatform
from deltadyn.robot.file import robot_text
from deltadyn.tape.passes import in_depth
from deltadyn.tape.write_c import SAMPLE, c_function

#: Version of the interface of exported code: names, order and meaning of what it takes and gives.
INTERFACE_VERSION = 1

#: What moves the limbs, and what they carry, in words.
DRIVEN = {
    "rotary": "arms",
    "inclined": "arms of their own directions",
    "vertical": "carriages on vertical rails",
    "rail": "carriages on rails",
}
CARRIED = {
    PlanarPlatform: "planar robot of two limbs",
    ArticulatedPlatform: "robot of four limbs with an articulated platform (Par4, Quattro)",
    HelicalPlatform: "robot of four limbs with a screw in its platform (Heli4)",
}


def identifier(robot: Robot) -> str:
    """The robot's name as an identifier in lower case: letters, digits, single underscores."""
    words = re.sub(r"[^a-z0-9]+", "_", robot.name.lower()).strip("_")
    return words if words[:1].isalpha() else f"robot_{words}".rstrip("_")


#: What ends or begins a comment, a text or a line in a language that is written.
MARKS = {"*/": "* /", "/*": "/ *", "(*": "( *", "*)": "* )", "--": "- -", "]]>": "]] >"}
MARKS |= {"\\": "/", '"': "'", "`": "'", "$": "S", "??": "? ?"}
LONGEST = 100  # letters of a name


def comment_text(name: str) -> str:
    """A robot's name as one short line that stays inside a comment of every language."""
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    for mark, instead in MARKS.items():
        while mark in line:
            line = line.replace(mark, instead)
    line = line if len(line) <= LONGEST else line[: LONGEST - 3].rstrip() + "..."
    return line or "robot"


def fingerprint(robot: Robot) -> str:
    """The first 16 digits of the SHA-256 of the robot's file: equal for equal robots."""
    return hashlib.sha256(robot_text(robot).encode()).hexdigest()[:16]


#: Stands in the texts of an export for its fingerprint, which is known when all of them are.
EXPORT_MARK = "@export_fingerprint@"
MARK_GROUPS = tuple(f"@export_fingerprint_{k}@" for k in range(1, 5))  # of four digits each


class ExportFiles(dict[str, Any]):
    """The files of an export by their names, their fingerprint, and the terms not in them.

    A file is a text, or bytes.
    """

    fingerprint: str
    left_out: tuple[Any, ...]  # of LeftOutTerm


def stamp_fingerprint(
    files: Mapping[str, str | bytes], left_out: Iterable[Any] = ()
) -> ExportFiles:
    """The files with the fingerprint of the export in the places of its mark.

    It is the first 16 digits of the SHA-256 of all names and contents. Whatever changes a file
    changes it: the robot, an option, the package.
    """
    digest = hashlib.sha256()
    for name in sorted(files):
        content = files[name]
        data = content.encode() if isinstance(content, str) else content
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    stamped = ExportFiles()
    stamped.left_out = tuple(left_out)
    stamped.fingerprint = digest.hexdigest()[:16]
    for name, content in files.items():
        known = isinstance(content, bytes)
        stamped[name] = content if known else write_fingerprint(str(content), stamped.fingerprint)
    return stamped


def write_fingerprint(text: str, digits: str) -> str:
    """A text with the 16 digits of a fingerprint in the places of its mark."""
    text = text.replace(EXPORT_MARK, digits)
    for k, group in enumerate(MARK_GROUPS):
        text = text.replace(group, digits[4 * k : 4 * k + 4].upper())
    return text


def number(value: float) -> str:
    """A number that reads back as the same double, with a point or an exponent."""
    return repr(float(value))


def limb_kind(robot: Robot) -> str:
    """What moves the limbs, one of `kinematics.actuation.ACTUATIONS`."""
    return parts_of(actuation(robot))[0]


def platform_kind(robot: Robot) -> str:
    """What the limbs carry, one of `kinematics.actuation.PLATFORMS`, or "" for the point."""
    return parts_of(actuation(robot))[1]


def standard(robot: Robot) -> bool:
    """Whether it is the Delta robot that all targets were made for: three arms that stand alike."""
    return actuation(robot) == "rotary"


def kind_of(robot: Robot) -> str:
    """The robot's kind in words: platform, then what moves the limbs."""
    whole = CARRIED.get(type(robot.platform), "Delta robot")
    telescope = "" if robot.spindle is None else ", with a telescopic spindle"
    return f"{whole}, moved by {DRIVEN[limb_kind(robot)]}{telescope}"


def axis_lines(robot: Robot) -> list[str]:
    """The units of every axis, one line each: "axis 1: q in m, tau in N"."""
    units = zip(robot.axis_units("q"), robot.axis_units("tau"), strict=True)
    return [f"axis {i}: q in {q}, tau in {tau}" for i, (q, tau) in enumerate(units, start=1)]


def speech(robot: Robot) -> dict[str, str]:
    """Words of texts that differ between arms and rails, with the units of the driven limbs."""
    q, tau, inertia = (robot.axis_unit(name) for name in ("q", "tau", "inertia"))
    if not robot.linear:
        words = {
            "angle": "angle",
            "angles": "angles",
            "arm_angle": "arm angle",
            "an_arm": "an arm",
            "arm": "arm",
            "torque": "torque",
            "torques": "torques",
            "in_line": "arm and strut in line",
            "last": "angles of the arms",
        }
    else:
        torques = "forces" if robot.spindle is None else "forces and torques"
        words = {
            "angle": "position",
            "angles": "positions",
            "arm_angle": "position of a carriage",
            "an_arm": "a carriage",
            "arm": "carriage",
            "torque": torques.removesuffix("s") if robot.spindle is None else torques,
            "torques": torques,
            "in_line": "strut normal to its rail",
            "last": "positions of the carriages",
        }
    capital = {name.capitalize(): words[name].capitalize() for name in ("angles", "torques")}
    units = {"q_unit": q, "tau_unit": tau, "inertia_unit": inertia}
    return {**words, **capital, **units}


def middle(robot: Robot) -> list[float]:
    """A point (dof,) in the middle of the robot's reach, in m and rad."""
    if not standard(robot):
        return [round(float(value), 3) for value in home_pose(robot)]
    g = robot.geometry
    depth = 0.5 * (g.size + min(g.strut_length))
    return [0.0, 0.0, -round(depth, 3), 0.0][: robot.dof]


def middle_joints(robot: Robot) -> FloatArray:
    """q (dof,) of a pose in the middle of the robot's reach."""
    if not standard(robot):
        return np.asarray(inverse_kinematics(robot, home_pose(robot)))
    g, dof = robot.geometry, robot.dof
    depth = 0.5 * (g.size + min(g.strut_length))
    return np.asarray(inverse_kinematics(robot, np.array([0.0, 0.0, -depth, 0.0][:dof])))


def working_height(robot: Robot) -> float:
    """z of a point on the axis at which the robot can work, in m, rounded to mm."""
    g, space = robot.geometry, robot.limits.workspace
    if space is not None:
        return round((space.z_min + space.z_max) / 2, 3)
    if not standard(robot):
        return round(float(home_pose(robot)[robot.coordinates.index("z")]), 3)
    return round(-float(g.strut_length[0] + g.size) * 0.6, 3)


def home_angles(robot: Robot) -> FloatArray:
    """q (dof,) with the platform on the robot's axis, in the middle of its working heights."""
    if not standard(robot):
        return np.asarray(inverse_kinematics(robot, home_pose(robot)))
    point = [0.0, 0.0, working_height(robot), 0.0][: robot.dof]
    q = inverse_kinematics(robot, point, unreachable="nan")
    if not np.isfinite(q).all():
        raise InputError(
            "limits.workspace", point[2], "heights that the robot reaches on its axis, in m"
        )
    return np.asarray(q)


def checked_step(timestep: object, least: float, most: float, allowed: str) -> float:
    """A step in s between two bounds, or an error that says what is allowed."""
    if isinstance(timestep, bool) or not isinstance(timestep, int | float):
        raise InputError("timestep", timestep, allowed)
    if not least <= timestep <= most:  # nor NaN
        raise InputError("timestep", timestep, allowed)
    return float(timestep)


def provenance(robot: Robot, what: str) -> list[str]:
    """Lines for the head of a file: what it is, of which robot, by which version, in which units.

    No date: the same robot gives the same file.
    """
    signs = ", ".join(f"{sign:+g}" for sign in robot.controller.sign)
    offsets = ", ".join(f"{offset:g}" for offset in robot.controller.offset)
    sourced = sum(not source.assumed for source in robot.sources.values())
    assumed = len(robot.sources) - sourced
    units = ["units: m, rad, s, kg, N, N m; torques at the output side of the gears"]
    if not standard(robot):
        units = [f"kind: {kind_of(robot)}", units[0], "; ".join(axis_lines(robot))]
    words = speech(robot)
    return [
        what,
        f"robot: {robot.name}, {robot.dof} degrees of freedom",
        f"fingerprint {EXPORT_MARK} of robot and options",
        f"values with a source: {sourced}, assumed: {assumed}; payload {robot.payload.mass:g} kg",
        f"written by deltadyn {version('deltadyn')}; do not edit, export again instead",
        *units,
        f"controller's {words['angles']}: q_controller = sign * q + offset; sign {signs}; "
        f"offset {offsets} {words['q_unit']}",
    ]


def commented(lines: Iterable[str], first: str, each: str, last: str) -> str:
    """Lines as a comment of a language."""
    return "\n".join([first, *(f"{each}{line}".rstrip() for line in lines), last])


def template(target: str, name: str) -> str:
    """The text of a template of a target."""
    return (files("deltadyn.exports") / "templates" / target / name).read_text("utf-8")


def filled(target: str, name: str, words: Mapping[str, object]) -> str:
    """A template whose `$words` are replaced; a word that is missing raises."""
    return Template(template(target, name)).substitute(words)


def single_sample(name: str, *, reach: bool) -> str:
    """The C function of a kernel for single samples: x and y without a stride.

    With `reach` it returns 0, or 1 as soon as the argument of a root is negative: the loop cannot
    be closed there. Reach is then told by a sign, not by NaN, which some compilers ignore.
    """
    function = in_depth(kernel_function(name))
    return c_function(function, SAMPLE, reach=reach, qualifier="static")


def math_guard() -> str:
    """Lines of C that end a compilation in which NaN and infinity are assumed not to be there."""
    return template("c", "guard.h")


# Every number of a payload estimator, gathered for those who write it in another language.
#
# `payload/settings.py` has those of the estimator, `payload/estimator.py` is the program that they
# belong to; here the model's are added. Nothing is built that could take a sample.


@dataclass(frozen=True)
class PayloadNumbers(EstimatorNumbers):
    """The numbers of an estimator in the acceleration form, with those of its model.

    Friction of passive joints is in neither of the two.
    """

    empty: tuple[float, ...]  # the robot without payload, in the order of backends/layout.py
    column: tuple[float, ...]  # one kg at the payload's offset and nothing else, in the same order

    @classmethod
    def of(cls, robot: Robot, numbers: EstimatorNumbers) -> PayloadNumbers:
        """The numbers of an estimator and of the robot that it belongs to."""
        own = {item.name: getattr(numbers, item.name) for item in fields(EstimatorNumbers)}
        return cls(**own, empty=empty_parameters(robot), column=column_parameters(robot))


def payload_estimator(
    robot: Robot, estimator: Any = None, *, rate: float = 2000.0, complete: Robot | None = None
) -> PayloadEstimator:
    """The estimator that is given, or the robot's own one of that name at `rate` Hz.

    `complete` is the robot with the terms that the export leaves out: an estimator may be of it.
    """
    if estimator is None or isinstance(estimator, str):
        name = EstimatorOptions().estimator if estimator is None else estimator
        return PayloadEstimator(robot, EstimatorOptions(rate=rate, estimator=name))
    if not isinstance(estimator, PayloadEstimator):
        allowed = "a PayloadEstimator, 'bank' or 'least-squares'"
        raise InputError("estimator", type(estimator).__name__, allowed)
    if estimator.robot.replace(name=robot.name) not in (robot, complete):
        allowed = f"one of the robot that is exported, {robot.name!r}, with the same numbers"
        raise InputError("robot of the estimator", estimator.robot.name, allowed)
    if estimator.grid.form != "acceleration":
        allowed = "'acceleration'; make the estimator with that form for an export"
        raise InputError("form of the estimator", estimator.grid.form, allowed)
    found: PayloadEstimator = estimator
    return found


def payload_numbers(
    robot: Robot, estimator: PayloadEstimator | None = None, *, rate: float = 2000.0
) -> PayloadNumbers:
    """The numbers of a least-squares estimator; what it has seen does not matter."""
    own = payload_estimator(robot, estimator or "least-squares", rate=rate)
    return PayloadNumbers.of(robot, own.numbers)


def empty_parameters(robot: Robot) -> tuple[float, ...]:
    """The robot's numbers without payload, in the order of backends/layout.py."""
    return tuple(packed_parameters(robot.with_payload(0.0, robot.payload.offset)).tolist())


def column_parameters(robot: Robot, inertia_per_kg: float = 0.0) -> tuple[float, ...]:
    """One kg at the robot's payload offset on a robot without mass and friction, same order.

    `inertia_per_kg` (m^2) is what the kg has about its own vertical axis.
    """
    empty, column = np.asarray(empty_parameters(robot)), np.zeros(COUNT)
    column[:KINEMATIC] = empty[:KINEMATIC]
    column[PLACES["gravity"]] = empty[PLACES["gravity"]]
    column[PLACES["M_P"]] = 1.0
    x, y, _ = robot.payload.offset
    about = x**2 + y**2 + inertia_per_kg
    if robot.spindle is not None:
        column[PLACES["spindle"]] = [robot.spindle.pivot_z, 0.0, 0.0, 0.0, 0.0, x, y, about]
    if platform_kind(robot) in HALVES:
        column[PLACES["halves"]] = [0.0, 0.0, x, y, about]  # S, S_s, h_x, h_y, I_psi
    return tuple(column.tolist())
