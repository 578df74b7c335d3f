"""Two-step identification [telescopic2022] section 5.2: the legs without the rod, then the rod.

    legs   from a recording made with the rod taken out: platform, arms, struts, rotors and the
           arms' friction, eq. 41
    rod    from a recording made with the rod: its two masses and its damping, eqs. 44-45, the
           legs being held at what the first step found

Each body keeps its shape (see `two_step_robot`). Friction is Fv qd + Fc sign(qd); eq. 42 prints the
two names swapped. Only the three arms' torques are used: axis 4 is no part of the method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.fit import Fit
from deltadyn.identification.options import FitOptions, record_of
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.problem import Method
from deltadyn.identification.uncertainty import Covariance
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared, as_recordings, prepare
from deltadyn.recording.recording import AXIS_CHANNELS, DataSource, Recording
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Rod, Spindle, Strut, TenParameters
from deltadyn.robot.settings import FRICTION_FIELDS, Friction, PassiveFriction

# The robot of the two-step identification: without its rod, and by one number per body.
#
# Each body keeps its shape: COM and radii of gyration stay as given and its mass is the parameter,
# as in [telescopic2022] table 2. The torque of both models is then linear in
#
#     legs   platform.m, arm.m, strut.m (one rod of a pair), rotor, friction of each arm's drive
#     rod    upper.m, lower.m, prismatic.Fv (the damping of the telescope)
#
# With limbs of their own the legs' names count them: arm1.m, strut2.m, rotor3.


ROD_NAMES = ("upper.m", "lower.m", "prismatic.Fv")
ROD_JOINTS = ("prismatic", "universal_fork", "universal_cross")
_NAME = re.compile(r"(platform|arm|strut|rotor|upper|lower|Fv|Fc[+-]?|Fs|F0)([123]?)(\.m)?")
Shaped = TypeVar("Shaped", Strut, Rod)


def without_rod(robot: Robot, *, axes: int = 3) -> Robot:
    """The robot with the telescopic rod taken out; platform, effector and payload stay.

    With `axes` = 3 it is a 3-DOF robot; with 4 its rods have no mass and no friction, and axis 4
    turns on as before. It bears the name of the robot and "without rod".
    """
    if not isinstance(robot, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot")
    if robot.spindle is None:
        raise InputError("robot", robot.name, "a robot with a spindle, whose rod can be taken out")
    if axes not in (3, 4) or isinstance(axes, bool):
        raise InputError("axes", axes, "3, or 4 for a robot whose fourth drive stays")
    name = f"{robot.name} without rod"
    passive = tuple(item for item in robot.friction.passive if item.joint not in ROD_JOINTS)
    friction = replace(robot.friction, passive=passive)
    if axes == 4:
        bare = replace(
            robot.spindle,
            upper=_weightless(robot.spindle.upper),
            lower=_weightless(robot.spindle.lower),
        )
        return robot.replace(name=name, spindle=bare, friction=friction)
    parts: dict[str, Any] = {}
    for field_name, part in (
        ("friction", friction),
        ("drives", robot.drives),
        ("limits", robot.limits),
        ("controller", robot.controller),
    ):
        parts[field_name] = _three_axes(part)
    return robot.replace(name=name, spindle=None, **parts)


def arms_alone(state: State) -> State:
    """The state without axis 4 (N, 3): legs move the same whatever psi does."""
    if state.p.shape[1] == 3:
        return state
    return State(
        p=state.p[:, :3],
        pd=state.pd[:, :3],
        pdd=state.pdd[:, :3],
        cos_q=state.cos_q,
        sin_q=state.sin_q,
        qd=state.qd[:, :3],
        qdd=state.qdd[:, :3],
        single=state.single,
    )


def first_sample(state: State) -> State:
    """The first sample, as a state of one row."""
    return State(
        p=state.p[:1],
        pd=state.pd[:1],
        pdd=state.pdd[:1],
        cos_q=state.cos_q[:1],
        sin_q=state.sin_q[:1],
        qd=state.qd[:1],
        qdd=state.qdd[:1],
    )


class ParameterMap(NamedTuple):
    """The regressor's parameters from the step's own: wide = T @ x + offset."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    prior: FloatArray  # (k,), the robot's own values
    T: FloatArray  # (n, k)
    offset: FloatArray  # (n,), what stays as given


def leg_names(robot: Robot, tied: bool) -> tuple[str, ...]:
    """The legs' parameters with the friction terms that the robot's model has on its arms."""
    marks = ("",) if tied else ("1", "2", "3")
    bodies = ["platform.m", *(f"arm{i}.m" for i in marks), *(f"strut{i}.m" for i in marks)]
    names = [*bodies, *(f"rotor{i}" for i in marks)]
    friction = robot.friction
    terms = ["Fv", "Fc"] if friction.coulomb_negative is None else ["Fv", "Fc+", "Fc-"]
    terms += [] if friction.stribeck is None else ["Fs"]
    terms += [] if friction.offset is None else ["F0"]
    return (*names, *(f"{term}{axis}" for term in terms for axis in (1, 2, 3)))


def parameter_map(
    robot: Robot, state: State, model: str, tied: bool, names: Sequence[str]
) -> ParameterMap:
    """How a model's regressor parameters hang on the named ones, exactly: they are linear in them.

    `robot` has every friction term that is named, `state` is one sample.
    """

    def wide(changed: Robot) -> FloatArray:
        return regressor(changed, state, model, tied=tied).parameters

    own = wide(robot)
    prior = np.array([parameter(robot, name) for name in names])
    T = np.empty((len(own), len(names)))
    for j, name in enumerate(names):
        step = prior[j] if name.endswith(".m") and name != "platform.m" else 1.0
        if not step > 0:
            raise InputError(
                f"mass {name}", prior[j], "above 0 kg: its body's shape is told per mass"
            )
        T[:, j] = (wide(with_parameters(robot, {name: prior[j] + step})) - own) / step
    return ParameterMap(tuple(names), tuple(map(_unit, names)), prior, T, own - T @ prior)


def parameter(robot: Robot, name: str) -> float:
    """The robot's own value of a parameter; of tied limbs that of the first."""
    if name == "prismatic.Fv":
        return _prismatic(robot).viscous
    body, index = _parts(name)
    if body == "platform":
        return robot.platform.mass
    if body == "arm":
        return robot.arms[index or 0].mass
    if body == "strut":
        return robot.struts[index or 0].mass
    if body == "rotor":
        return robot.drives.output_inertia[index or 0]
    if body in ("upper", "lower"):
        assert robot.spindle is not None
        rod: Rod = getattr(robot.spindle, body)
        return rod.mass
    assert index is not None
    return float(getattr(robot.friction, FRICTION_FIELDS[body])[index])


def with_parameters(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these parameters; a body keeps its shape when its mass changes."""
    for name, value in values.items():
        robot = _with_one(robot, name, float(value))
    return robot


def with_prismatic(robot: Robot) -> Robot:
    """The robot with a damping term in its telescope, of 0 N s/m where it had none."""
    return robot.replace(friction=_with_damping(robot, _prismatic(robot).viscous))


def _with_one(robot: Robot, name: str, value: float) -> Robot:
    if name == "prismatic.Fv":
        return robot.replace(friction=_with_damping(robot, value))
    body, index = _parts(name)
    chosen = range(3) if index is None else (index,)
    if body == "platform":
        return robot.replace(platform=replace(robot.platform, mass=value))
    if body == "arm":
        arms = [_arm(x, value) if i in chosen else x for i, x in enumerate(robot.arms)]
        return robot.replace(arms=tuple(arms))
    if body == "strut":
        struts = [_shaped(x, value) if i in chosen else x for i, x in enumerate(robot.struts)]
        return robot.replace(struts=tuple(struts))
    if body == "rotor":
        rotors = [value if i in chosen else x for i, x in enumerate(robot.drives.output_inertia)]
        return robot.with_rotor_inertia(rotors)
    if body in ("upper", "lower"):
        spindle: Spindle = robot.spindle  # type: ignore[assignment]
        rod = _shaped(getattr(spindle, body), value)
        return robot.replace(spindle=replace(spindle, **{body: rod}))
    assert index is not None
    field_name = FRICTION_FIELDS[body]
    terms = list(getattr(robot.friction, field_name))
    terms[index] = value
    return robot.with_friction(**{field_name: tuple(terms)})


def _parts(name: str) -> tuple[str, int | None]:
    """The body or term of a name, and its arm counted from 0."""
    match = _NAME.fullmatch(name)
    assert match is not None, name
    return match[1], int(match[2]) - 1 if match[2] else None


def _unit(name: str) -> str:
    if name == "prismatic.Fv":
        return "N s/m"
    if name.endswith(".m"):
        return "kg"
    if name.startswith("rotor"):
        return "kg m^2"
    return "N m s/rad" if name.startswith("Fv") else "N m"


def _arm(arm: Arm, mass: float) -> Arm:
    return replace(arm, mass=mass, inertia=arm.inertia * _factor(arm.mass, mass))


def _shaped(part: Shaped, mass: float) -> Shaped:
    """The same shape with another mass."""
    factor = _factor(part.mass, mass)
    changes: dict[str, Any] = {"mass": mass, "inertia": factor * part.inertia}
    if isinstance(part, Rod):
        changes["axial_inertia"] = factor * part.axial_inertia
    if part.ten is not None:
        moment, inertia = (
            tuple(factor * value for value in values)
            for values in (part.ten.first_moment, part.ten.inertia)
        )
        changes["ten"] = TenParameters(mass, moment, inertia)  # type: ignore[arg-type]
    return replace(part, **changes)


def _factor(old: float, new: float) -> float:
    return new / old if old > 0 else 1.0


def _weightless(rod: Rod) -> Rod:
    return Rod(0.0, rod.com, 0.0, 0.0, rod.length)


def _prismatic(robot: Robot) -> PassiveFriction:
    own = [item for item in robot.friction.passive if item.joint == "prismatic"]
    return own[0] if own else PassiveFriction("prismatic")


def _with_damping(robot: Robot, viscous: float) -> Friction:
    others = [item for item in robot.friction.passive if item.joint != "prismatic"]
    damped = replace(_prismatic(robot), viscous=viscous)
    return replace(robot.friction, passive=(*others, damped))


def _three_axes(part: Any) -> Any:
    """Settings with the first three values of what is given per axis."""
    changes = {
        item.name: value[:3]
        for item in fields(part)
        if isinstance(value := getattr(part, item.name), tuple) and item.name != "passive"
    }
    return replace(part, **changes)


# Bounded least squares of one step, with the covariance that correlated residuals ask for.


DEPENDENT = 1e-8  # smallest singular value of unit columns; rounding leaves 1e-15
SHARE = 0.01  # of a dependency's largest entry, above which a parameter is named
EXACT = 1e-9  # residual over torque below which data have no noise to weigh by
BLOCKS = 20  # of time, each longer than residuals are correlated
ARMS = 3


class Estimate(NamedTuple):
    """Bounded and unbounded values (k,), covariance (k, k) of the latter, residuals' RMS (3,)."""

    values: FloatArray
    unbounded: FloatArray
    covariance: FloatArray
    rms: FloatArray


class Doubt(NamedTuple):
    """Columns (M, 3, j) of parameters that were held, and their covariance (j, j)."""

    columns: FloatArray
    covariance: FloatArray


def estimate(
    title: str,
    names: tuple[str, ...],
    columns: FloatArray,
    target: FloatArray,
    weights: npt.ArrayLike | str,
    doubt: Doubt | None = None,
) -> Estimate:
    """Values (k,) that minimise the weighted squares of target (M, 3) - columns (M, 3, k) @ x.

    All but offsets (F0) stay at or above 0. `weights` as in `two_step`.
    """
    if len(target) < BLOCKS:
        raise InputError(f"samples of step {title!r}", len(target), f"at least {BLOCKS}")
    _check_rank(title, names, columns)
    low = np.array([-np.inf if name.startswith("F0") else 0.0 for name in names])
    weigh = _weights(weights, title, columns, target, low)
    values, unbounded, inverse = _solve(columns, target, weigh, low)
    residual = target - columns @ unbounded
    scores = np.einsum("mik,mi->mk", columns * weigh[:, None] ** 2, residual)
    blocks = np.stack([part.sum(axis=0) for part in np.array_split(scores, BLOCKS)])
    covariance = inverse @ (blocks.T @ blocks) @ inverse * BLOCKS / (BLOCKS - 1)
    if doubt is not None:
        pull = inverse @ np.einsum("mik,mij->kj", columns * weigh[:, None] ** 2, doubt.columns)
        covariance = covariance + pull @ doubt.covariance @ pull.T
    return Estimate(values, unbounded, covariance, _rms(target - columns @ values))


def _solve(
    columns: FloatArray, target: FloatArray, weigh: FloatArray, low: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounded and unbounded minimum, and the inverse of the normal matrix."""
    from scipy.linalg import solve_triangular  # takes longer than the rest of the import

    A = (columns * weigh[:, None]).reshape(-1, columns.shape[2])
    b = (target * weigh).reshape(-1)
    length = np.linalg.norm(A, axis=0)
    Q, R = np.linalg.qr(A / length)
    right = Q.T @ b
    unbounded = solve_triangular(R, right) / length
    upper = solve_triangular(R, np.eye(len(length))) / length[:, None]
    values = unbounded
    if np.any(unbounded < low):
        from scipy.optimize import lsq_linear

        values = np.asarray(lsq_linear(R, right, (low, np.inf), method="bvls").x) / length
        values = np.maximum(values, low)  # -0.0 and rounding
    return values, unbounded, upper @ upper.T


def _weights(
    given: npt.ArrayLike | str, title: str, columns: FloatArray, target: FloatArray, low: FloatArray
) -> FloatArray:
    """Weights (3,) of the arms."""
    equal = np.ones(ARMS)
    if isinstance(given, str):
        if given not in ("residual", "equal"):
            raise InputError("weights", given, "'residual', 'equal' or three numbers above 0")
        if given == "equal":
            return equal
        values, _, _ = _solve(columns, target, equal, low)
        rms = _rms(target - columns @ values)
        return equal if np.any(rms < EXACT * _rms(target).max()) else 1 / rms
    try:
        weigh = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weigh = np.empty(0)
    if weigh.shape != (ARMS,) or not np.all(np.isfinite(weigh)) or not np.all(weigh > 0):
        raise InputError("weights", given, "'residual', 'equal' or three numbers above 0")
    return weigh


def _check_rank(title: str, names: tuple[str, ...], columns: FloatArray) -> None:
    """Refuse parameters that the samples cannot tell, by name."""
    A = columns.reshape(-1, columns.shape[2])
    length = np.linalg.norm(A, axis=0)
    silent = [name for name, size in zip(names, length, strict=True) if not size > 0]
    if silent:
        allowed = "a motion in which each has an influence, or hold them"
        raise InputError(f"parameters of step {title!r}", silent, allowed)
    _, singular, axes = np.linalg.svd(np.linalg.qr(A / length, mode="r"))
    rank = int(np.sum(singular > DEPENDENT * singular[0]))
    if rank < len(names):
        mixed = np.abs(axes[rank:]).max(axis=0)
        together = [n for n, x in zip(names, mixed, strict=True) if x > SHARE * mixed.max()]
        raise InputError(
            f"rank of step {title!r}",
            rank,
            f"{len(names)}: these samples tell only combinations of {', '.join(together)}; hold "
            "some of them, or move more",
        )


def _rms(values: FloatArray) -> FloatArray:
    out: FloatArray = np.sqrt(np.mean(values**2, axis=0))
    return out


# The result of the two-step identification: two tables and what must be said about them.


CLEAR = 2.0  # standard deviations below 0 that are no accident


@dataclass(frozen=True, eq=False)
class Step:
    """One step: values and standard deviations in their units, residuals per arm in N m.

    `std` comes from the scatter of blocks of time, so that correlated residuals count as such; in
    the second step it holds what the first leaves open. `unbounded` is the fit before negative
    masses, inertias and friction were forbidden. `rms` and `torque_rms` (3,) are of the samples
    that were compared, `samples` of them.
    """

    title: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    std: FloatArray
    unbounded: FloatArray
    rms: FloatArray
    torque_rms: FloatArray
    samples: int

    def value(self, name: str) -> float:
        """The value of a parameter."""
        return float(self.values[self._index(name)])

    def std_of(self, name: str) -> float:
        """The standard deviation of a parameter."""
        return float(self.std[self._index(name)])

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Parameters that the unbounded fit makes negative and that cannot be."""
        pairs = zip(self.names, self.unbounded, strict=True)
        return tuple(name for name, value in pairs if value < 0 and not name.startswith("F0"))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        rows = zip(self.names, self.units, self.values, self.std, self.unbounded, strict=True)
        return {
            "title": self.title,
            "samples": self.samples,
            "rms_Nm": self.rms.tolist(),
            "torque_rms_Nm": self.torque_rms.tolist(),
            "parameters": [
                {"name": n, "unit": u, "value": float(v), "std": float(s), "unbounded": float(b)}
                for n, u, v, s, b in rows
            ],
        }

    def __str__(self) -> str:
        rms, torque = (" ".join(f"{x:.3g}" for x in row) for row in (self.rms, self.torque_rms))
        lines = [
            f"{self.title}: residual {rms} N m RMS of {torque}, {self.samples} samples",
            f"  {'parameter':<14}{'value':>12}{'std':>11}  unit",
        ]
        rows = zip(self.names, self.values, self.std, self.units, strict=True)
        lines += [f"  {n:<14}{value:>12.6g}{std:>11.2g}  {u}" for n, value, std, u in rows]
        return "\n".join(lines)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError("parameter", name, self.names)
        return self.names.index(name)


@dataclass(frozen=True, eq=False)
class TwoStepResult:
    """The identified robot, the two steps, the parameters that were held, a status in sentences."""

    robot: Robot
    model: str
    legs: Step
    rod: Step
    held: tuple[str, ...]
    status: str

    @property
    def steps(self) -> tuple[Step, Step]:
        """The legs, then the rod."""
        return self.legs, self.rod

    def step_of(self, name: str) -> Step:
        """The step that has a parameter."""
        for step in self.steps:
            if name in step.names:
                return step
        raise UnknownNameError("parameter", name, self.legs.names + self.rod.names)

    def value(self, name: str) -> float:
        """The value of a parameter of either step."""
        return self.step_of(name).value(name)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        return {
            "robot": self.robot.name,
            "model": self.model,
            "held": list(self.held),
            "status": self.status,
            "steps": [step.as_dict() for step in self.steps],
        }

    def __str__(self) -> str:
        title = f"{self.robot.name}: two-step identification, model {self.model!r}"
        return "\n".join([title, str(self.legs), str(self.rod), self.status])


def status_of(steps: Sequence[Step], held: Sequence[str], model: str) -> str:
    """What the fits mean: bounds that were met, what was held, what the data do not tell."""
    sentences = [_forbidden(step) for step in steps if step.forbidden]
    if not sentences:
        sentences = ["No mass, inertia or friction is negative."]
    if held:
        sentences.append(f"Held as given: {', '.join(held)}.")
    if model == "projected-rod":
        sentences.append(
            "The legs' torque in this model holds fewer numbers than platform, arms, struts and "
            "rotors have: they are as good as what was held."
        )
    sentences.append(
        "An effector's mass cannot be told from the platform's and stays as given, as do axis 4 "
        "and the shape of every body."
    )
    return " ".join(sentences)


def _forbidden(step: Step) -> str:
    """The negative values of a step, and whether they are more than noise."""
    texts, clear, others = [], False, set()
    for name in step.forbidden:
        index = step.names.index(name)
        value, std, unit = step.unbounded[index], step.std[index], step.units[index]
        texts.append(f"{name} {value:.3g} {unit} (std {std:.2g})")
        clear = clear or bool(value < -CLEAR * std)
        others.add("rotor" if name.startswith("rotor") else "other")
    text = f"Step {step.title!r}: without bounds the data ask for {', '.join(texts)}, which no "
    text += "robot has; the bounded fit was taken."
    if not clear:
        return text + " It is within twice the standard deviation of 0."
    if "rotor" in others:
        text += (
            " A negative rotor inertia means that masses and inertia do not fit together, as in "
            "[telescopic2022] table 2 by eq. 36: a held mass or the model is wrong."
        )
    return text


__all__ = ["Source", "Step", "TwoStep", "TwoStepResult", "two_step", "without_rod"]

#: What a step reads: a recording, a prepared one, or a state with its torques (N, dof) in N m.
Source = Recording | Prepared | tuple[State, npt.ArrayLike]
MODELS = ("exact", "projected-rod")
PASSES = 20  # over a gear's loss, which grows with the torque that is being fitted
SETTLED = 1e-12  # relative change that ends them


def two_step(
    robot: Robot,
    legs: Source,
    rod: Source,
    *,
    model: str = "exact",
    tied: bool | None = None,
    hold: Sequence[str] | None = None,
    weights: npt.ArrayLike | str = "residual",
) -> TwoStepResult:
    """Identify the legs from a recording without the rod, then the rod from one with it.

    `robot` has the rod. `legs` has 3 axes, or 4 of which the last drives nothing; `rod` has 4. A
    recording is prepared with its defaults; prepare it yourself to choose the band.

    `model` is "exact" or "projected-rod" [telescopic2022]; `tied` gives the limbs common masses and
    rotors, by default where the robot's limbs are equal. Parameters in `hold` stay as the robot has
    them: none by default on the exact model; on the paper's, whose torque holds fewer numbers than
    the legs have, platform.m, or the rotors where limbs are not tied. `weights` (3,) in 1/(N m)
    weigh the arms; "residual" takes them from the residuals of an equally weighted fit, "equal"
    keeps that one. No mass, inertia or friction comes out negative: where the data ask for one, it
    is 0 and `status` says so.
    """
    _check(robot, model)
    tied = robot.equal_limbs if tied is None else tied
    bare = without_rod(robot)
    possible = leg_names(bare, tied)
    held = _held(model, tied) if hold is None else (hold,) if isinstance(hold, str) else tuple(hold)
    for name in held:
        if name not in possible:
            raise UnknownNameError("hold", name, possible)
    names = tuple(name for name in possible if name not in held)
    if not names:
        raise InputError("hold", list(held), "fewer names: nothing is left for the first step")
    chosen = _Choice(model, tied, weights)
    first, second = _samples(legs, bare, "legs"), _samples(rod, robot, "rod")
    step1 = _fit("legs", first.robot_of(bare), first, chosen, names, None)
    step2 = _fit("rod", with_prismatic(second.robot_of(robot)), second, chosen, ROD_NAMES, step1)
    identified = with_parameters(with_prismatic(robot), {**step1.found, **step2.found})
    steps = (step1.step, step2.step)
    return TwoStepResult(identified, model, *steps, held, status_of(steps, held, model))


def _held(model: str, tied: bool) -> tuple[str, ...]:
    """What must be known: the paper's legs hold M_P and, of each limb or of all, A and G."""
    if model == "exact":
        return ()
    return ("platform.m",) if tied else ("rotor1", "rotor2", "rotor3")


class _Choice(NamedTuple):
    model: str
    tied: bool
    weights: npt.ArrayLike | str


@dataclass(frozen=True, eq=False)
class _Samples:
    """What a step compares: a state, the arms' torques, the payload beyond the robot's (kg)."""

    state: State
    tau: FloatArray
    extra: float
    limited: Callable[[FloatArray], FloatArray]

    def robot_of(self, robot: Robot) -> Robot:
        """The robot with the payload that was carried."""
        if not self.extra:
            return robot
        return robot.replace(payload=replace(robot.payload, mass=robot.payload.mass + self.extra))


class _Fitted(NamedTuple):
    step: Step
    covariance: FloatArray

    @property
    def found(self) -> dict[str, float]:
        """The values by name."""
        return dict(zip(self.step.names, self.step.values.tolist(), strict=True))


def _fit(
    title: str,
    robot: Robot,
    samples: _Samples,
    chosen: _Choice,
    names: tuple[str, ...],
    legs: _Fitted | None,
) -> _Fitted:
    """Least squares of one step; with `legs` their parameters stay, and their doubt counts."""
    fixed = {} if legs is None else legs.found
    k, one = len(names), first_sample(samples.state)
    mapped = parameter_map(robot, one, chosen.model, chosen.tied, (*names, *fixed))
    mine, theirs = mapped.T[:, :k], mapped.T[:, k:]
    known = mapped.offset + theirs @ np.array(list(fixed.values()))
    tau = samples.limited(samples.tau)
    now, before = with_parameters(robot, fixed), None
    for _ in range(PASSES):
        Y = regressor(now, samples.state, chosen.model, tied=chosen.tied).Y[:, :3]
        columns = samples.limited(Y @ mine)
        target = tau - samples.limited(Y @ known)
        doubt = None if legs is None else Doubt(samples.limited(Y @ theirs), legs.covariance)
        result = estimate(title, names, columns, target, chosen.weights, doubt)
        if robot.friction.load is None or _settled(before, result.values):
            break
        before = result.values
        now = with_parameters(now, dict(zip(names, before.tolist(), strict=True)))
    step = Step(
        title=title,
        names=names,
        units=mapped.units[:k],
        values=result.values,
        std=np.sqrt(np.diagonal(result.covariance)),
        unbounded=result.unbounded,
        rms=result.rms,
        torque_rms=np.sqrt(np.mean(tau**2, axis=0)),
        samples=len(tau),
    )
    return _Fitted(step, result.covariance)


def _settled(before: FloatArray | None, now: FloatArray) -> bool:
    return before is not None and bool(np.abs(now - before).max() <= SETTLED * np.abs(now).max())


def _samples(source: Source, robot: Robot, which: str) -> _Samples:
    """A step's source, checked; `robot` is the one that it was recorded on."""
    state, tau, extra, limited = _step_parts(source, robot, which)
    if not isinstance(state, State):
        allowed = "(State, torques), a Prepared or a Recording"
        raise InputError(which, type(state).__name__, allowed)
    axes = state.p.shape[1]
    if which == "rod" and axes != 4:
        allowed = "4: this recording is made with the rod, on all axes of the robot"
        raise InputError("axes of rod", axes, allowed)
    torque, single = as_samples(tau, axes, f"torques of {which}")
    if single or state.single or len(torque) != len(state):
        rows = (1 if single else len(torque), 1 if state.single else len(state))
        allowed = "the same number of samples, at least 2"
        raise InputError(f"samples of torques and state of {which}", rows, allowed)
    bad = np.flatnonzero(~np.isfinite(np.hstack([state.qdd, state.pdd])).all(axis=1))
    if bad.size:
        raise InputError(f"state of {which}", "NaN", "finite numbers", where=f"row {bad[0]}")
    if which == "legs":
        state = arms_alone(state)
    return _Samples(state, torque[:, :3], extra, limited)


def _step_parts(source: Source, robot: Robot, which: str) -> tuple[Any, Any, float, Any]:
    """State, torques, payload beyond the robot's, and what is done to both sides alike."""
    if isinstance(source, Recording):
        if which == "legs" and source.dof == 4:
            source = source.replace(**_three_columns(source))
        source = prepare(robot, source)
    if isinstance(source, Prepared):
        return source.state, source.tau, source.extra, source.limited
    given: Any = source
    if not isinstance(given, tuple) or len(given) != 2:
        allowed = "a pair (State, torques), a Prepared or a Recording"
        raise InputError(which, type(given).__name__, allowed)
    return source[0], source[1], 0.0, lambda values: values


def _three_columns(recording: Recording) -> dict[str, FloatArray]:
    """The arms' columns of all channels with one per axis."""
    channels = recording.channels()
    return {name: channels[name][:, :3] for name in AXIS_CHANNELS if name in channels}


def _check(robot: object, model: str) -> None:
    if not isinstance(robot, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot")
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    if robot.spindle is None:
        allowed = "a robot with a spindle; for one without, the first step alone is `identify`"
        raise InputError("robot", robot.name, allowed)


# The two-step identification as a fit: two recordings in, one fit out.


@dataclass(frozen=True)
class TwoStep(Method):
    """[telescopic2022]: the legs from the first recording, the rod from the second.

    Parameters in `hold` stay as the robot has them; None holds what the model needs.
    """

    name: ClassVar[str] = "two-step"
    models: ClassVar[tuple[str, ...]] = MODELS
    source: ClassVar[str] = "telescopic2022"
    by_recording: ClassVar[bool] = True

    hold: Sequence[str] | None = None

    def fit(self, robot: Robot, recordings: Any, options: FitOptions) -> Fit:
        """Two recordings in, one fit out."""
        records = as_recordings(recordings)
        if len(records) != 2:
            raise InputError(
                "recordings",
                len(records),
                "two: the first made with the rod removed, the second with the rod",
            )
        for name, plain in (("gains", False), ("stribeck", False), ("unidentifiable", "raise")):
            if getattr(options, name) != plain:
                allowed = f"{plain!r} for the method 'two-step'"
                raise InputError(name, getattr(options, name), allowed)
        weights = options.weights
        legs, rod = (_prepared(robot, item, options) for item in records)
        found = two_step(
            robot,
            legs,
            rod,
            model=str(options.model),
            tied=options.limbs,
            hold=self.hold,
            weights="residual" if isinstance(weights, str) and weights == "covariance" else weights,
        )
        return _as_fit(robot, found, records, record_of(self, options))


def _as_fit(
    robot: Robot, found: TwoStepResult, records: Sequence[Recording], options: dict[str, Any]
) -> Fit:
    names = found.legs.names + found.rod.names
    units = found.legs.units + found.rod.units
    values = np.concatenate([found.legs.values, found.rod.values])
    std = np.concatenate([found.legs.std, found.rod.std])
    par = _parametrisation(with_prismatic(robot), found.model, names, units)
    count = len(names)
    residual = np.append(found.rod.rms, np.nan)
    spread = Covariance(
        x=values,
        known=np.diag(std**2),
        white=np.diag(std**2),
        dof=np.full(count, np.inf),
        unknown=np.zeros(count, dtype=np.bool_),
        null=np.zeros((count, 0)),
        residual_std=residual,
        blocks=0,
        correlation=np.nan,
        status="Standard deviations from the scatter of blocks of time; the second step's hold "
        "what the first leaves open. Correlations between parameters are not kept.",
    )
    return Fit(
        method="two-step",
        robot=found.robot,
        nominal=with_prismatic(robot),
        parametrisation=par,
        values=values,
        uncertainty=spread,
        residual=residual,
        torque_level=np.append(found.rod.torque_rms, np.nan),
        weights=np.full(robot.dof, np.nan),
        identifiability=None,
        consistency=consistency(found.robot),
        status=found.status,
        converged=True,
        consistent=True,
        data=tuple(DataSource.of(item) for item in records),
        band=None,
        options=options,
        held=found.held,
        details=found.as_dict(),
    )


def _prepared(robot: Robot, recording: Recording, options: FitOptions) -> Recording | Prepared:
    """The recording of a step, made ready as asked for; by default `two_step` does it."""
    band, rates, bandwidth = options.band, options.rates, options.bandwidth
    if band == "auto" and rates == "auto" and bandwidth is None:
        return recording
    own = robot if recording.dof == robot.dof else without_rod(robot)
    return prepare(own, recording, band=band, rates=rates, bandwidth=bandwidth)


def _parametrisation(
    robot: Robot, model: str, names: tuple[str, ...], units: tuple[str, ...]
) -> Parametrisation:
    """One number per body and drive, as a map into the model's widest regressor: it is linear."""
    state = exciting_states(robot, 1)
    offset = True if model == "exact" else None

    def wide(changed: Robot) -> FloatArray:
        return regressor(changed, state, model, tied=False, com_offset=offset).parameters

    wide_names = regressor(robot, state, model, tied=False, com_offset=offset).names
    zero = wide(with_parameters(robot, dict.fromkeys(names, 1.0)))
    T = np.column_stack(
        [
            wide(with_parameters(robot, {**dict.fromkeys(names, 1.0), name: 2.0})) - zero
            for name in names
        ]
    )
    prior = np.array([parameter(robot, name) for name in names])
    known = zero - T.sum(axis=1)
    return Parametrisation(
        model, model, wide_names, names, units, prior, T, known, robot.equal_limbs
    )
