"""Two-step identification [telescopic2022] section 5.2: the legs without the rod, then the rod.

    legs   from a recording made with the rod taken out: platform, arms, struts, rotors and the
           arms' friction, eq. 41
    rod    from a recording made with the rod: its two masses and its damping, eqs. 44-45, the
           legs being held at what the first step found

Each body keeps its shape (see `two_step_robot`). Friction is Fv qd + Fc sign(qd); eq. 42 prints the
two names swapped. Only the three arms' torques are used: axis 4 is no part of the method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.data import Prepared, prepare
from deltadyn.identification.two_step_result import Step, TwoStepResult, status_of
from deltadyn.identification.two_step_robot import (
    ROD_NAMES,
    arms_alone,
    first_sample,
    leg_names,
    parameter_map,
    with_parameters,
    with_prismatic,
    without_rod,
)
from deltadyn.identification.two_step_solve import Doubt, estimate
from deltadyn.kinematics.state import State
from deltadyn.recording.recording import AXIS_CHANNELS, Recording
from deltadyn.robot import Robot

__all__ = ["Source", "Step", "TwoStepResult", "two_step", "without_rod"]

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
    state, tau, extra, limited = _parts(source, robot, which)
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


def _parts(source: Source, robot: Robot, which: str) -> tuple[Any, Any, float, Any]:
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
