"""A robot from parameters: from the standard ones of its bodies, or from those of a fit.

Where struts and rods are thin the exact and the rigid model of the new robot both give the torque
of these parameters. Where they are not, the rigid one does. A part whose parameters did not change
stays as it is, with its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exact_base_map, level_rails
from deltadyn.dynamics.inverse import check_robot
from deltadyn.dynamics.rigid import LIMBS, TEN
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import (
    Bodies,
    standard_parameters,
    tied_names,
    without_payload,
)
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.bodies.consistency import Consistency, consistency
from deltadyn.identification.methods.convex import solve_convex
from deltadyn.identification.parametrisation import LIMB_NAMES, Parametrisation
from deltadyn.identification.problem import Problem, Solution
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Effector,
    HelicalPlatform,
    Platform,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.settings import FRICTION_FIELDS, Drives, Friction, GrayBox, Ripple, ripple_name

# Bodies that give base parameters: the nearest consistent ones to the robot's own.


MET = 1e-8  # of a base parameter's size: base parameters that are met up to this are met


class Nearest(NamedTuple):
    """Standard values by name, their distance from the robot's own (root mean square in scaled
    variables), whether they give the base parameters, and a sentence."""

    standard: dict[str, float]
    distance: float
    exact: bool
    sentence: str


def nearest_consistent(
    robot: Robot,
    base_names: tuple[str, ...],
    base_values: npt.ArrayLike,
    tied: bool | None = None,
    *,
    hull: Hull | bool = True,
    tolerance: float = 1e-9,
) -> Nearest:
    """Consistent thin bodies with K @ standard == base parameters, nearest to the robot's own.

    Where no consistent bodies give these base parameters, those that come nearest to them, and the
    sentence names what is in the way.
    """
    tied = robot.equal_limbs if tied is None else tied
    bodies = Bodies.of(robot, None, "exact", tied=tied, hull=hull)
    x = np.asarray(base_values, dtype=np.float64)
    names = tuple(base_names)
    if x.shape != (len(names),) or not np.all(np.isfinite(x)):
        raise InputError("base_values", base_values, f"{len(names)} finite numbers")
    K = exact_base_map(robot, names, bodies.names, tied)
    lost = [name for name, row in zip(names, K, strict=True) if not row.any()]
    if lost:
        raise InputError("base_names", lost[0], "base parameters of the exact model and friction")
    size = np.maximum(np.abs(K @ bodies.prior), np.abs(x))
    size = np.maximum(size, np.abs(K) @ np.abs(bodies.T @ bodies.scale) * 0.1)
    factor = np.zeros((len(x) + 1, len(x) + 1))
    factor[:-1, :-1], factor[:-1, -1] = np.diag(1 / size), x / size
    found = solve_convex(factor, K, bodies, tolerance=tolerance)
    z = bodies.variables_of(found.vector)
    z = _polished(K, bodies, z, x)
    standard = bodies.standard(z)
    miss = (K @ np.array(list(standard.values())) - x) / size
    worst = int(np.argmax(np.abs(miss)))
    offset = (z - bodies.prior_variables) / bodies.scale
    distance = float(np.sqrt(np.mean(offset**2)))
    if not found.converged:
        return Nearest(standard, distance, False, found.status)
    if abs(miss[worst]) <= MET:
        return Nearest(standard, distance, True, "Consistent bodies give these base parameters.")
    why = "; ".join(item.text for item in found.active[:3])
    return Nearest(
        standard,
        distance,
        False,
        f"No consistent bodies give these base parameters: the nearest miss {names[worst]} by "
        f"{miss[worst] * size[worst]:.3g} ({abs(miss[worst]):.1%} of its size). "
        f"In the way: {why}.",
    )


def _polished(K: FloatArray, bodies: Bodies, z: FloatArray, x: FloatArray) -> FloatArray:
    """z with K v = x to rounding, where the cones have room for it."""
    A = K @ bodies.T * bodies.scale
    step = np.linalg.lstsq(A, x - K @ bodies.T @ z, rcond=1e-12)[0] * bodies.scale
    better = z + step
    return better if bodies.margin(bodies.T @ better) >= 0 else z


ROUNDING = 1e-9  # of a body's size: a violation below it is rounding and is taken back
THIN = 1e-13  # of a body's size: what a thin body may have beside its axis
_AXIS_TERM = re.compile(r"(Fv|Fc\+|Fc-|Fc|Fs|Ft|F0|mu_m|mu)(\d)")


def robot_from_standard(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot whose standard parameters are these; those not given stay.

    Names are those of the rigid model's regressor, tied ("arm.m") or per arm ("arm1.m"). Payload,
    lengths and, where the rest of the arm stays a body, `elbow_mass` are kept as declared. Values
    that no robot can have are refused.
    """
    check_robot(robot)
    tied = tied_names(robot, values)
    found = standard_parameters(robot, tied)
    own = {name: float(value) for name, value in zip(found.names, found.parameters, strict=True)}
    for name, value in values.items():
        if name not in own:
            raise InputError("standard parameter", name, "one of " + ", ".join(own))
        if not np.isfinite(value):
            raise InputError(name, value, "a finite number")
    new = own | {name: float(value) for name, value in values.items()}
    changed = {name.partition(".")[0] for name in new if new[name] != own[name]}
    return _apply(robot, new, changed, tied)


def _apply(robot: Robot, new: Mapping[str, float], changed: set[str], tied: bool) -> Robot:
    changes: dict[str, Any] = {}
    g = robot.geometry
    arms: list[Arm | Carriage] = list(robot.arms)
    struts = list(robot.struts)
    for i in range(robot.legs):
        mark = "" if tied else str(i + 1)
        arm, strut, own = f"arm{mark}", f"strut{mark}", arms[i]
        if isinstance(own, Carriage):
            arms[i] = _carriage(own, new, changed, mark)
        elif arm in changed and isinstance(own, Arm):
            arms[i] = _arm(arm, _ten(new, arm), own.elbow_mass, robot.rotary.arm_length[i])
        if strut in changed:
            struts[i] = _strut(strut, _ten(new, strut), g.strut_length[i], struts[i].rods)
    if tuple(arms) != robot.arms:
        changes["arms"] = tuple(arms)
    if tuple(struts) != robot.struts:
        changes["struts"] = tuple(struts)
    if changed & {"platform", "half_a", "half_b", "bars"}:
        changes["platform"] = _platform(robot, new, changed)
    if robot.spindle is not None and changed & {"upper", "lower"}:
        changes["spindle"] = _spindle(robot.spindle, new, changed)
    if "effector" in changed:
        changes["effector"] = _effector(robot, _ten(new, "effector"))
    drives = robot.drives
    if any(name.startswith("rotor") for name in changed):
        drives = _drives(robot, new, tied)
    drives = replace(drives, ripple=_ripple(robot, new))
    if drives != robot.drives:
        changes["drives"] = drives
    friction = _friction(robot, new)
    if friction != robot.friction:
        changes["friction"] = friction
    return robot.replace(**changes) if changes else robot


def _ten(values: Mapping[str, float], body: str) -> dict[str, float]:
    return {entry: values[f"{body}.{entry}"] for entry in TEN}


def _within(path: str, value: float, low: float, high: float, size: float) -> float:
    """`value` in [low, high]; what is outside by rounding is taken back, more is refused."""
    if not low - ROUNDING * size <= value <= high + ROUNDING * size:
        text = f"at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        raise InputError(path, value, f"{text}: no body has these parameters")
    return min(max(value, low), high)


def _arm(name: str, ten: Mapping[str, float], elbow: float, l1: float) -> Arm:
    """COM, offset and inertia about the COM; with the elbow's mass apart where that is possible."""
    rest = (ten["m"] - elbow, ten["mcx"] - elbow * l1, ten["mcz"], ten["Iyy"] - elbow * l1**2)
    m, hx, hz, about = rest
    if elbow and (m <= 0 or about * m < hx**2 + hz**2):
        m, hx, hz, about, elbow = ten["m"], ten["mcx"], ten["mcz"], ten["Iyy"], 0.0
    m = _within(f"{name}.m", m, 0.0, np.inf, abs(ten["m"]))
    if m == 0:
        for entry, value in (("mcx", hx), ("mcz", hz)):
            _within(f"{name}.{entry}", value, 0.0, 0.0, abs(ten["Iyy"]) / l1)
        about = _within(f"{name}.Iyy", about, 0.0, np.inf, abs(ten["Iyy"]))
        return Arm(0.0, 0.0, about, 0.0, elbow)
    com, offset = hx / m, hz / m
    if abs(offset) < ROUNDING * l1:  # rounding would give the next fit one more parameter per arm
        offset = 0.0
    inertia = about - m * (com**2 + offset**2)
    inertia = _within(f"inertia of {name} about its COM", inertia, 0.0, np.inf, abs(ten["Iyy"]))
    return Arm(m, com, inertia, offset, elbow)


def _carriage(own: Carriage, new: Mapping[str, float], changed: set[str], mark: str) -> Carriage:
    """The masses that changed."""
    fields = {"mass": f"carriage{mark}", "counterweight": f"counterweight{mark}"}
    masses = {
        field: _within(f"{body}.m", new[f"{body}.m"], 0.0, np.inf, abs(new[f"{body}.m"]))
        for field, body in fields.items()
        if body in changed
    }
    return replace(own, **masses) if masses else own


def _strut(name: str, ten: Mapping[str, float], length: float, rods: int) -> Strut:
    m = _within(f"{name}.m", ten["m"], 0.0, np.inf, abs(ten["m"]))
    size = m * length**2
    if m == 0:
        _within(f"{name}.Iyy", ten["Iyy"], 0.0, 0.0, 1e-3)
        return Strut(0.0, 0.5, 0.0, rods)
    fraction = _within(
        f"COM of {name} as a share of its length", ten["mcx"] / (m * length), 0, 1, 1
    )
    beside = max(abs(ten[entry]) for entry in ("Ixx", "Ixy", "Iyz", "Ixz"))
    beside = max(beside, abs(ten["Iyy"] - ten["Izz"]), abs(ten["mcy"]) * length)
    thin = max(beside, abs(ten["mcz"]) * length) <= THIN * size
    inertia = ten["Iyy"] - m * (fraction * length) ** 2
    most = fraction * (1 - fraction) * size
    if thin and inertia <= most + ROUNDING * size:
        inertia = _within(f"inertia of {name} about its COM", inertia, 0.0, most, size)
        return Strut(m, fraction, inertia, rods)
    return Strut.from_ten(_body(ten), length, rods)


def _rod(name: str, ten: Mapping[str, float], length: float | None) -> Rod:
    side = 1.0 if name == "upper" else -1.0
    m = _within(f"{name}.m", ten["m"], 0.0, np.inf, abs(ten["m"]))
    if m == 0:
        _within(f"{name}.Ixx", ten["Ixx"], 0.0, 0.0, 1e-3)
        return Rod(0.0, 0.0, 0.0, 0.0, length)
    com = _within(f"COM of {name} from its joint", side * ten["mcz"] / m, 0.0, np.inf, 1.0)
    size = max(abs(ten["Ixx"]), m * com**2)
    beside = [abs(ten[entry]) for entry in ("Ixy", "Iyz", "Ixz")]
    beside += [abs(ten["Ixx"] - ten["Iyy"])]
    beside += [abs(ten[entry]) * com for entry in ("mcx", "mcy")]
    inertia = ten["Ixx"] - m * com**2
    if max(beside) > THIN * size or ten["Izz"] > 2 * inertia + ROUNDING * size:
        return Rod.from_ten(_body(ten), length)
    inertia = _within(f"inertia of {name} about its COM", inertia, 0.0, np.inf, size)
    axial = _within(f"{name}.Izz", ten["Izz"], 0.0, 2 * inertia, size)
    return Rod(m, com, inertia, axial, length)


def _spindle(spindle: Spindle, new: Mapping[str, float], changed: set[str]) -> Spindle:
    upper, lower = spindle.upper, spindle.lower
    if "upper" in changed:
        upper = _rod("upper", _ten(new, "upper"), upper.length)
    if "lower" in changed:
        lower = _rod("lower", _ten(new, "lower"), lower.length)
    return replace(spindle, upper=upper, lower=lower)


def _body(ten: Mapping[str, float]) -> TenParameters:
    return TenParameters(
        ten["m"],
        (ten["mcx"], ten["mcy"], ten["mcz"]),
        (ten["Ixx"], ten["Iyy"], ten["Izz"], ten["Ixy"], ten["Iyz"], ten["Ixz"]),
    )


def _platform(
    robot: Robot, new: Mapping[str, float], changed: set[str]
) -> Platform | ArticulatedPlatform | HelicalPlatform:
    own = robot.platform
    if isinstance(own, Platform):
        mass = new["platform.m"]
        known = 0.0 if robot.spindle is not None else robot.effector.mass + robot.payload.mass
        path = "platform.m without effector and payload" if known else "platform.m"
        left = _within(path, mass - known, 0.0, np.inf, abs(mass) + known)
        return replace(own, mass=left)
    names = ("half_a.m", "half_b.m")
    halves = tuple(_within(name, new[name], 0.0, np.inf, abs(new[name])) for name in names)
    found = replace(own, half_mass=halves)
    if isinstance(found, ArticulatedPlatform) and "bars" in changed:
        return _bars(found, _ten(new, "bars"))
    return found


def _bars(own: ArticulatedPlatform, ten: Mapping[str, float]) -> ArticulatedPlatform:
    """Bars beside the gears as they are, where bars are left; else gears that hold all of it."""
    m, hx, hy, about = (ten[entry] for entry in ("m", "mcx", "mcy", "Izz"))
    size, length, gears = abs(about), own.bar_length, own.gear_mass
    along, aside = own.gear_place
    bar, first = m - gears, hx - gears * along
    fraction = (own.sigma[0] - first / bar) / length if bar > 0 else own.bar_com
    turned = about - gears * (along**2 + aside**2) - own.gear_inertia
    turned -= bar * (own.sigma[0] - fraction * length) ** 2
    kept = abs(hy - gears * aside) <= ROUNDING * max(abs(hy), abs(m) * length)
    if kept and bar > 0 and 0 <= fraction <= 1 and turned >= 0:
        return replace(own, bar_mass=bar, bar_com=fraction, bar_inertia=turned)
    m = _within("bars.m", m, 0.0, np.inf, abs(m))
    if m == 0:
        for entry, value in (("mcx", hx), ("mcy", hy)):
            _within(f"bars.{entry}", value, 0.0, 0.0, 1e-3)
    place = (hx / m, hy / m) if m else (0.0, 0.0)
    inertia = about - m * (place[0] ** 2 + place[1] ** 2)
    inertia = _within("inertia of bars about their COM", inertia, 0.0, np.inf, size)
    return replace(
        own,
        bar_mass=0.0,
        bar_inertia=0.0,
        gear_mass=m,
        gear_place=place,
        gear_inertia=inertia,
    )


def _effector(robot: Robot, ten: Mapping[str, float]) -> Effector:
    """What the payload leaves of m, mcx, mcy and Izz; the height of the COM stays."""
    m, hx, hy, about = without_payload(robot, ten)
    m = _within("effector.m without payload", m, 0.0, np.inf, abs(ten["m"]))
    path = "effector.Izz without payload"
    if m == 0:
        for entry, value in (("mcx", hx), ("mcy", hy)):
            _within(f"effector.{entry} without payload", value, 0.0, 0.0, 1e-3)
        return Effector(0.0, (0.0, 0.0, 0.0), _within(path, about, 0.0, np.inf, abs(ten["Izz"])))
    cx, cy = hx / m, hy / m
    inertia = about - m * (cx**2 + cy**2)
    inertia = _within(f"{path}, about the COM", inertia, 0.0, np.inf, abs(ten["Izz"]))
    return Effector(m, (cx, cy, robot.effector.com[2]), inertia)


def _drives(robot: Robot, new: Mapping[str, float], tied: bool) -> Drives:
    """Rotor inertias at the side on which the robot file gives them."""
    names = [
        ("rotor" if tied and axis < robot.legs else f"rotor{axis + 1}") for axis in range(robot.dof)
    ]
    drives = robot.drives
    inertia = []
    for axis, name in enumerate(names):
        value = _within(name, new[name], 0.0, np.inf, abs(new[name]))
        if value == drives.output_inertia[axis]:
            inertia.append(drives.rotor_inertia[axis])
        elif drives.rotor_side == "motor_side":
            inertia.append(value / drives.motor_turns[axis] ** 2)
        else:
            inertia.append(value)
    return replace(drives, rotor_inertia=tuple(inertia))


def _ripple(robot: Robot, new: Mapping[str, float]) -> tuple[Ripple, ...]:
    """The waves of the drives with these amplitudes."""

    def values(wave: Ripple, part: str) -> tuple[float, ...]:
        return tuple(new[ripple_name(wave.order, part, axis)] for axis in range(robot.dof))

    return tuple(
        replace(wave, cos=values(wave, "cos"), sin=values(wave, "sin"))
        for wave in robot.drives.ripple
    )


def _friction(robot: Robot, new: Mapping[str, float]) -> Friction:
    old = robot.friction
    fields: dict[str, list[float]] = {}
    for name, value in new.items():
        term = _AXIS_TERM.fullmatch(name)
        if term is not None:
            field = FRICTION_FIELDS[term[1]]
            fields.setdefault(field, list(getattr(old, field)))[int(term[2]) - 1] = value
    passive = tuple(
        replace(item, viscous=new[f"{item.joint}.Fv"], coulomb=new[f"{item.joint}.Fc"])
        for item in old.passive
    )
    axes: dict[str, Any] = {field: tuple(values) for field, values in fields.items()}
    return replace(old, passive=passive, **axes).checked(robot.dof)


# The robot of a fit: bodies that have the fitted parameters, or come nearest to them.


NEAR = 1e-6  # of the torque: a robot whose torque differs less has the fitted parameters


@dataclass(frozen=True, eq=False)
class Realisation:
    """A robot for a fit, whether it has its very parameters, and a sentence where it has not."""

    robot: Robot
    consistent: bool
    consistency: Consistency
    sentence: str
    standard: dict[str, float] | None


def realised(problem: Problem, solution: Solution) -> Realisation:
    """The robot of a solution; where no robot can have its parameters, the nearest that can."""
    if solution.standard is not None:
        try:
            robot = robot_from_standard(problem.robot, solution.standard)
        except InputError as error:  # consistent, and yet no part of a Delta robot
            return _instead(problem, solution.x, error)
        return Realisation(robot, True, consistency(robot), "", solution.standard)
    if problem.par.model == "gray-box":
        return _gray_box(problem, solution.x)
    return _nearest(problem, solution.x)


def _instead(problem: Problem, x: FloatArray, error: InputError) -> Realisation:
    """The nearest robot where the bodies of a method cannot be parts of one."""
    found = _nearest(problem, x)
    sentence = (
        f"The bodies found cannot be parts of a robot file ({error.quantity} is "
        f"{error.value}); the robot has others with the same torque. {found.sentence}"
    )
    return replace(found, sentence=sentence.rstrip())


def _nearest(problem: Problem, x: FloatArray) -> Realisation:
    return _rigid(problem, x) if problem.par.source == "rigid" else _exact(problem, x)


def _exact(problem: Problem, x: FloatArray) -> Realisation:
    """From the exact model's base parameters, tied or per arm."""
    par, robot = problem.par, problem.robot
    wide = _robot_values(par, x)
    tied = robot.equal_limbs and all(
        len({wide[f"{family}{i + 1}"] for i in range(robot.legs)}) == 1 for family in LIMB_NAMES
    )
    values: dict[str, float] = {}
    for name, value in wide.items():
        if name in level_rails(robot) or name in par.unseen:
            continue
        family = name[:-1] if name[-1] in LIMBS and name[:-1] in LIMB_NAMES else ""
        if family == "G_s" and not any(wide[f"G_s{i + 1}"] for i in range(robot.legs)):
            continue
        values[family if family and tied else name] = float(value)
    found = nearest_consistent(robot, tuple(values), np.array(list(values.values())), tied)
    new = robot_from_standard(robot, found.standard)
    if found.exact:
        return Realisation(new, True, consistency(new), "", found.standard)
    report = consistency(values, robot=robot)
    return Realisation(new, False, report, found.sentence, found.standard)


def _rigid(problem: Problem, x: FloatArray) -> Realisation:
    """From base parameters of the rigid model: the nearest bodies in torque on the data."""
    bodies, K = problem.bodies()
    factor = problem.factor_with_held()
    level = float(np.linalg.norm(problem.factor()[:, -1]))
    wanted = np.concatenate([x[: problem.par.own], list(problem.held.values())])
    target = factor.copy()
    target[:-1, -1], target[-1, -1] = factor[:-1, :-1] @ wanted, 0.0
    found = solve_convex(target, K, bodies)
    apart = float(np.linalg.norm(factor[:-1, :-1] @ (found.x - wanted))) / level
    new = robot_from_standard(problem.robot, found.standard)
    sentence = ""
    if apart > NEAR:
        reasons = "; ".join(item.text for item in found.active[:3])
        sentence = (
            "No consistent bodies have these base parameters; the robot is the nearest in torque, "
            f"{100 * apart:.2g} % of it away on the data ({reasons})."
        )
    return Realisation(new, apart <= NEAR, consistency(new), sentence, found.standard)


def _robot_values(par: Parametrisation, x: FloatArray) -> dict[str, float]:
    """The wide parameters by name, without those of a log."""
    pairs = zip(par.wide_names, par.wide(x).tolist(), strict=True)
    return {name: value for name, value in pairs if name not in par.log_names}


def _gray_box(problem: Problem, x: FloatArray) -> Realisation:
    """Factors of the gray-box model, and friction as far as a robot can have it."""
    par, robot = problem.par, problem.robot
    values = dict(zip(par.names, (float(v) for v in x), strict=True))
    new = robot.replace(gray_box=GrayBox(values["rho1"], values["rho2"]))
    negative = []
    friction: dict[str, tuple[float, ...]] = {}
    for family, field in (("Fv", "viscous"), ("Fc", "coulomb")):
        fitted = [values.get(f"{family}{axis + 1}", 0.0) for axis in range(robot.dof)]
        negative += [f"{family}{axis + 1}" for axis, value in enumerate(fitted) if value < 0]
        friction[field] = tuple(max(value, 0.0) for value in fitted)
    new = new.with_friction(**friction)
    wide = _robot_values(par, x)
    sentence = ""
    if negative:
        sentence = f"{', '.join(negative)} came out negative; the robot has 0 there."
    return Realisation(new, not negative, consistency(wide, robot=robot), sentence, None)
