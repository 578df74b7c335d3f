"""Two-step identification [telescopic2022] section 5.2: the legs without the rod, then the rod.

    legs   from a recording made with the rod taken out: platform, arms, struts, rotors and the
           arms' friction, eq. 41
    rod    from a recording made with the rod: its two masses and its damping, eqs. 44-45, the
           legs being held at what the first step found

Each step is an ordinary fit with some parameters held, and each body keeps its shape. Friction is
Fv qd + Fc sign(qd); eq. 42 prints the two names swapped. Only the three arms' torques are used:
axis 4 is no part of the method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.fit import Fit
from deltadyn.identification.information import BLOCK, Information, gather
from deltadyn.identification.methods.base import residual_rms, solved, torque_rms
from deltadyn.identification.options import FitOptions, record_of
from deltadyn.identification.parametrisation import Parametrisation, widest
from deltadyn.identification.problem import Method
from deltadyn.identification.uncertainty import Covariance, covariance
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared, as_recordings, prepare
from deltadyn.recording.recording import AXIS_CHANNELS, DataSource, Recording
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Platform, Rod, Spindle, Strut, TenParameters
from deltadyn.robot.settings import FRICTION_FIELDS, SPINDLE_JOINTS, Friction, PassiveFriction, Wave

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
ROD_JOINTS = SPINDLE_JOINTS
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
        ("sensors", robot.sensors),
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


def leg_names(robot: Robot, tied: bool) -> tuple[str, ...]:
    """The legs' parameters with the friction terms that the robot's model has on its arms."""
    marks = ("",) if tied else ("1", "2", "3")
    bodies = ["platform.m", *(f"arm{i}.m" for i in marks), *(f"strut{i}.m" for i in marks)]
    names = [*bodies, *(f"rotor{i}" for i in marks)]
    friction = robot.friction
    terms = ["Fv", "Fc"] if friction.coulomb_negative is None else ["Fv", "Fc+", "Fc-"]
    terms += [] if friction.stribeck is None else ["Fs"]
    terms += [] if friction.thinning is None else ["Ft"]
    terms += [] if friction.offset is None else ["F0"]
    return (*names, *(f"{term}{axis}" for term in terms for axis in (1, 2, 3)))


def body_parametrisation(
    robot: Robot, model: str, names: Sequence[str], tied: bool
) -> Parametrisation:
    """The named numbers as parameters of a fit: the model's regressor is linear in them.

    `robot` has every friction term that is named; its own values are the prior.
    """
    state = exciting_states(robot, 1)
    full = widest(robot, state, model)
    columns, own = full.names, full.parameters
    prior = np.array([parameter(robot, name) for name in names])
    T = np.empty((len(own), len(names)))
    for j, name in enumerate(names):
        step = prior[j] if name.endswith(".m") and name != "platform.m" else 1.0
        if not step > 0:
            raise InputError(
                f"mass {name}", prior[j], "above 0 kg: its body's shape is told per mass"
            )
        more = with_parameters(robot, {name: prior[j] + step})
        T[:, j] = (widest(more, state, model).parameters - own) / step
    units = tuple(map(_unit, names))
    return Parametrisation(
        model, model, columns, tuple(names), units, prior, T, own - T @ prior, tied
    )


def parameter(robot: Robot, name: str) -> float:
    """The robot's own value of a parameter; of tied limbs that of the first."""
    if name == "prismatic.Fv":
        return _prismatic(robot).viscous
    body, index = _parts(name)
    if body == "platform":
        return robot.platform.mass
    if body == "arm":
        return robot.rotary_arms[index or 0].mass
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
        assert isinstance(robot.platform, Platform)  # the method knows the rotary Delta alone
        return robot.replace(platform=replace(robot.platform, mass=value))
    if body == "arm":
        arms = [_arm(x, value) if i in chosen else x for i, x in enumerate(robot.rotary_arms)]
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
    changes: dict[str, Any] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if isinstance(value, tuple) and item.name != "passive":
            waves = bool(value) and isinstance(value[0], Wave)
            changes[item.name] = tuple(map(_three_axes, value)) if waves else value[:3]
    return replace(part, **changes)


# One step: an ordinary fit, in which no mass, inertia or friction is negative.
#
# The information of the step's recording gives its factor, `covariance` what correlated residuals
# make of it. Parameters that an earlier step found are held: their values are part of the offset
# wide = T x + offset. They are known to a covariance C only, and an error d of theirs moves the
# answer by -(Y'Y)^-1 Y'Y_h d with their columns Y_h, which adds P C P' with P = (Y'Y)^-1 Y'Y_h.


DEPENDENT = 1e-8  # smallest singular value of unit columns; rounding leaves 1e-15
SHARE = 0.01  # of a dependency's largest entry, above which a parameter is named
EXACT = 1e-9  # residual over torque below which data have no noise to weigh by
LEAST = 20  # samples: blocks of time of a source without times
ARMS = 3


class Fitted(NamedTuple):
    """A step and the covariance (k, k) of its values."""

    step: Step
    covariance: FloatArray

    @property
    def values(self) -> dict[str, float]:
        """The values by name."""
        return dict(zip(self.step.names, self.step.values.tolist(), strict=True))


def fit_step(
    title: str,
    robot: Robot,
    part: Prepared,
    names: tuple[str, ...],
    chosen: _Choice,
    held: Fitted | None = None,
) -> Fitted:
    """Least squares for the named parameters of a robot; all but offsets (F0) stay at or above 0.

    Only the arms' torques count. A gear's loss grows with the torque that is being fitted: its
    column is made again from the robot that was found, until nothing moves.
    """
    if len(part.times) < LEAST:
        raise InputError(f"samples of step {title!r}", len(part.times), f"at least {LEAST}")
    robot, part = _loaded(robot, part), replace(part, extra=0.0)
    fixed = {} if held is None else held.values
    both = body_parametrisation(robot, chosen.model, (*names, *fixed), chosen.tied)
    par = both.without(fixed, fixed)
    now, before = with_parameters(robot, fixed), None
    for _ in range(PASSES):
        information = gather(now, [(title, [part])], chosen.model, workers=1)
        _check_rank(title, names, information.factor(par, _arms_only(np.ones(ARMS), information)))
        weights = _weights(chosen.weights, information, par)
        factor = information.factor(par, weights)
        values = _not_negative(factor, names)
        if robot.friction.load is None or _settled(before, values):
            break
        before = values
        now = with_parameters(now, dict(zip(names, values.tolist(), strict=True)))
    unbounded = solved(factor)
    spread = covariance(information, par, unbounded, weights).known
    if held is not None:
        R, k = information.factor(both, weights)[:-1, :-1], len(names)
        pull = np.linalg.lstsq(R[:, :k], R[:, k:], rcond=None)[0]
        spread = spread + pull @ held.covariance @ pull.T
    step = Step(
        title=title,
        names=names,
        units=par.units,
        values=values,
        std=np.sqrt(np.diagonal(spread)),
        unbounded=unbounded,
        rms=residual_rms(information.reduced(par), information, values)[:ARMS],
        torque_rms=torque_rms(information)[:ARMS],
        samples=information.samples,
    )
    return Fitted(step, spread)


def _not_negative(factor: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """The least |R (x, -1)| with no negative x but offsets."""
    x = solved(factor)
    low = np.array([-np.inf if name.startswith("F0") else 0.0 for name in names])
    if not np.any(x < low):
        return x
    from scipy.optimize import lsq_linear  # takes longer than the rest of the import

    k = len(names)
    length = np.linalg.norm(factor[:k, :k], axis=0)
    found = lsq_linear(factor[:k, :k] / length, factor[:k, k], (low, np.inf), method="bvls")
    values: FloatArray = np.maximum(np.asarray(found.x) / length, low)  # -0.0 and rounding
    return values


def _arms_only(weights: FloatArray, information: Information) -> FloatArray:
    """Weights (dof,) of the axes: axis 4 does not count."""
    return np.append(weights, np.zeros(information.dof - ARMS))


def _weights(
    given: npt.ArrayLike | str, information: Information, par: Parametrisation
) -> FloatArray:
    """Weights (dof,) of the axes, 0 beyond the arms."""
    allowed = "'residual', 'equal' or three numbers above 0"
    equal = _arms_only(np.ones(ARMS), information)
    if isinstance(given, str):
        if given not in ("residual", "equal"):
            raise InputError("weights", given, allowed)
        if given == "equal":
            return equal
        x = _not_negative(information.factor(par, equal), par.names)
        rms = residual_rms(information.reduced(par), information, x)[:ARMS]
        exact = np.any(rms < EXACT * torque_rms(information)[:ARMS].max())
        return equal if exact else _arms_only(1 / rms, information)
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.shape != (ARMS,) or not np.all(np.isfinite(weights)) or not np.all(weights > 0):
        raise InputError("weights", given, allowed)
    return _arms_only(weights, information)


def _check_rank(title: str, names: tuple[str, ...], factor: FloatArray) -> None:
    """Refuse parameters that the samples cannot identify, by name."""
    R = factor[:-1, :-1]
    length = np.linalg.norm(R, axis=0)
    silent = [name for name, size in zip(names, length, strict=True) if not size > 0]
    if silent:
        allowed = "a motion in which each has an influence, or hold them"
        raise InputError(f"parameters of step {title!r}", silent, allowed)
    _, singular, axes = np.linalg.svd(R / length)
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


def _settled(before: FloatArray | None, now: FloatArray) -> bool:
    return before is not None and bool(np.abs(now - before).max() <= SETTLED * np.abs(now).max())


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
    first, second = _part(legs, bare, "legs"), _part(rod, robot, "rod")
    step1 = fit_step("legs", bare, first, names, chosen)
    step2 = fit_step("rod", with_prismatic(robot), second, ROD_NAMES, chosen, step1)
    identified = with_parameters(with_prismatic(robot), {**step1.values, **step2.values})
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


def _loaded(robot: Robot, part: Prepared) -> Robot:
    """The robot with the payload that was carried."""
    if not part.extra:
        return robot
    return robot.replace(payload=replace(robot.payload, mass=robot.payload.mass + part.extra))


def _part(source: Source, robot: Robot, which: str) -> Prepared:
    """A step's source, checked; `robot` is the one that it was recorded on."""
    ready = _ready(source, robot, which)
    state, tau = ready.state, ready.tau
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
        return replace(ready, state=arms_alone(state), tau=torque[:, :ARMS])
    return replace(ready, tau=torque)


def _ready(source: Source, robot: Robot, which: str) -> Prepared:
    """A source as prepared samples; a pair has no times, so `LEAST` blocks are made of it."""
    if isinstance(source, Recording):
        if which == "legs" and source.dof == 4:
            source = source.replace(**_three_columns(source))
        source = prepare(robot, source)
    if isinstance(source, Prepared):
        return source
    given: Any = source
    if not isinstance(given, tuple) or len(given) != 2:
        allowed = "a pair (State, torques), a Prepared or a Recording"
        raise InputError(which, type(given).__name__, allowed)
    state, tau = given
    if not isinstance(state, State):
        allowed = "(State, torques), a Prepared or a Recording"
        raise InputError(which, type(state).__name__, allowed)
    rate = len(state) / (LEAST * BLOCK)
    return Prepared(which, np.arange(len(state)) / rate, state, tau, rate)


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
    values = np.concatenate([found.legs.values, found.rod.values])
    std = np.concatenate([found.legs.std, found.rod.std])
    par = body_parametrisation(with_prismatic(robot), found.model, names, robot.equal_limbs)
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
        solver_details=found.as_dict(),
        fixed=tuple(name for name in found.held if name.endswith(".m") or "rotor" in name),
    )


def _prepared(robot: Robot, recording: Recording, options: FitOptions) -> Recording | Prepared:
    """The recording of a step, made ready as asked for; by default `two_step` does it."""
    band, rates, bandwidth = options.band, options.rates, options.bandwidth
    if band == "auto" and rates == "auto" and bandwidth is None:
        return recording
    own = robot if recording.dof == robot.dof else without_rod(robot)
    return prepare(own, recording, band=band, rates=rates, bandwidth=bandwidth)
