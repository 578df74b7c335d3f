"""What a model will be worth in control, before it is deployed.

The machine is believed to be as a fit says, give or take the fit's covariance, and to have the
fit's residual on top. The torque that a controller would feed forward differs from what such a
machine needs; the loop's linear response turns the difference into a tracking error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.inverse import check_state, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.identification.fit import Fit
from deltadyn.identification.uncertainty import check_level
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.checks import setting
from deltadyn.simulation.controllers import PD, PDFeedforward
from deltadyn.simulation.presets import Preset, preset_by_name
from deltadyn.simulation.reference import Task, make_task
from deltadyn.validation.benefit_loop import (
    Loop,
    Predictable,
    check_predictable,
    fed_forward,
    moved,
)

REALISATIONS = 16  # of the torque that no model explains
SAMPLES = 500


@dataclass(frozen=True, eq=False)
class Benefit:
    """Expected tracking errors in rad, RMS over a motion, each (dof,), at the encoders.

    `expected` is that of the controller, root mean square over the draws, between `low` and `high`
    with the probability `level`; `alone` that of the same feedback without any torque fed forward,
    `file` that of the robot file's parameters instead (None where there is no fit). All hold
    `unmodelled`, what the fit's residual does. Further parts of `expected`: `by_doubt` comes from
    the covariance, `by_model` from a controller whose torque is not the fit's (another model), and
    `by_delay` is what comes of the right torque at the wrong time: the bus's delay less the
    controller's lead. The last two may add up or cancel.
    """

    expected: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    alone: FloatArray
    file: FloatArray | None
    by_doubt: FloatArray
    by_model: FloatArray
    by_delay: FloatArray
    unmodelled: FloatArray
    draws: FloatArray  # (samples, dof)
    status: str

    @property
    def over_alone(self) -> FloatArray:
        """How many times (dof,) smaller the error is than without any torque fed forward."""
        ratio: FloatArray = self.alone / self.expected
        return ratio

    @property
    def over_file(self) -> FloatArray | None:
        """How many times (dof,) smaller the error is than with the robot file's parameters."""
        return None if self.file is None else self.file / self.expected

    @property
    def table(self) -> str:
        """The errors as text, in mrad."""
        rows: list[tuple[str, FloatArray]] = [("feedback alone", self.alone)]
        if self.file is not None:
            rows.append(("robot file's parameters", self.file))
        rows += [
            ("this model", self.expected),
            (f"  {50 * (1 - self.level):g} % of the draws are below", self.low),
            (f"  {50 * (1 - self.level):g} % are above", self.high),
            ("  of it: doubt in the parameters", self.by_doubt),
            ("  of it: a torque that is not the fit's", self.by_model),
            ("  of it: torque that comes late", self.by_delay),
            ("  of it: torque that no model explains", self.unmodelled),
        ]
        width = max(len(name) for name, _ in rows)
        axes = "".join(f"{f'axis {k + 1}':>11}" for k in range(len(self.expected)))
        lines = [f"{'expected tracking error, mrad RMS':<{width}}{axes}"]
        for name, values in rows:
            lines.append(
                f"{name:<{width}}" + "".join(f"{round(1e3 * x, 9):>11.4g}" for x in values)
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.table}\n{self.status}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, errors in rad."""
        names = ("expected", "low", "high", "alone", "by_doubt", "by_model", "by_delay")
        data: dict[str, Any] = {n: getattr(self, n).tolist() for n in (*names, "unmodelled")}
        file = None if self.file is None else self.file.tolist()
        return {**data, "file": file, "level": self.level, "status": self.status}


class _Belief(NamedTuple):
    """The machine as it is believed: torque = needed + columns (x - values) + residual."""

    robot: Robot
    needed: FloatArray  # (N, dof)
    columns: FloatArray  # (N, dof, k)
    root: FloatArray  # (k, k), root root' = covariance
    residual: FloatArray  # (dof,), N m RMS
    band: float | None  # Hz
    nominal: Robot | None
    notes: tuple[str, ...]


def predicted_tracking(
    model: Fit | Robot,
    motion: Motion,
    controller: Predictable | None = None,
    *,
    preset: str | Preset = "ideal",
    rate: float = 2000.0,
    samples: int = SAMPLES,
    level: float = 0.9,
    seed: int = 0,
    **switches: Any,
) -> Benefit:
    """The tracking error to expect on a motion from a controller, before it runs.

    `model` is what is known about the machine: a fit with its covariance and residual, or a robot,
    which is then believed to be right. The controller is by default PD with the torque of the fit's
    robot, with the gains that `PD` gives the robot file's. Of the `preset`, with `switches` as in
    `simulate`, the drive's delay, velocity filter and hold count. `samples` machines are drawn from
    the covariance; the loop is linear, so this takes less than a second.
    """
    if not isinstance(model, Fit | Robot):
        raise InputError("model", type(model).__name__, "a Fit or a Robot")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
        raise InputError("samples", samples, "a whole number, at least 2")
    check_level(level)
    chosen = preset_by_name(preset).with_switches(**switches)
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    deployed = _default(model) if controller is None else controller
    check_predictable(deployed)
    robot = model if isinstance(model, Robot) else model.robot
    check_state(robot, motion)
    check_state(deployed.robot, motion)
    task = make_task(robot, motion, rate, chosen)
    rng = np.random.default_rng(seed)
    belief = _belief(model, task)
    return _benefit(belief, task, deployed, chosen, level, samples, rng)


def _benefit(
    belief: _Belief,
    task: Task,
    controller: Predictable,
    preset: Preset,
    level: float,
    samples: int,
    rng: np.random.Generator,
) -> Benefit:
    needed, doubt = belief.needed, belief.columns @ belief.root
    early = getattr(controller, "lead", 0.0) - preset.delay / task.rate  # s
    fed = moved(fed_forward(controller, task.now), task.now.t, early)
    knowing = moved(needed, task.now.t, early)  # what the right parameters would feed forward
    known = [needed - fed, needed, needed - knowing, knowing - fed]
    if belief.nominal is not None:
        file_torque = _file_torque(belief.nominal, controller, task)
        known.append(needed - moved(file_torque, task.now.t, early))
    noise = _unmodelled(belief, task.rate, len(needed), rng)
    loop = Loop.of(belief.robot, task, controller, preset)
    loop.check_stable()
    inputs = np.concatenate([np.stack(known, axis=2), doubt, noise], axis=2)
    errors = loop.response(inputs)
    k, first = doubt.shape[2], len(known)
    per_draw = errors[:, :, first : first + k]  # of one standard deviation each
    unmodelled = _mean_square(errors[:, :, first + k :]).mean(axis=-1)
    normal = rng.standard_normal((samples, k))

    def drawn(base: FloatArray) -> FloatArray:
        """Mean squares (samples, dof) of base + response to each draw, by Gram matrices."""
        joint = np.concatenate([base[:, :, None], per_draw], axis=2)  # (N, dof, 1 + k)
        gram = contract("nij,nik->ijk", joint, joint) / len(joint)
        v = np.concatenate([np.ones((samples, 1)), normal], axis=1)
        squares: FloatArray = contract("sj,ijk,sk->si", v, gram, v) + unmodelled
        return squares

    squares = drawn(errors[:, :, 0])
    tail = (1 - level) / 2
    low, high = np.sqrt(np.quantile(squares, [tail, 1 - tail], axis=0))
    file = None if belief.nominal is None else _root_mean(drawn(errors[:, :, 4]))
    return Benefit(
        expected=_root_mean(squares),
        low=low,
        high=high,
        level=level,
        alone=_root_mean(drawn(errors[:, :, 1])),
        file=file,
        by_doubt=np.sqrt(_mean_square(per_draw).sum(axis=-1)),
        by_model=np.sqrt(_mean_square(errors[:, :, 3])),
        by_delay=np.sqrt(_mean_square(errors[:, :, 2])),
        unmodelled=np.sqrt(unmodelled),
        draws=np.sqrt(squares),
        status=_status(belief, controller, fed, samples),
    )


def _belief(model: Fit | Robot, task: Task) -> _Belief:
    if isinstance(model, Robot):
        count, dof = task.now.q.shape
        needed = inverse_dynamics(model, task.now)
        nothing = np.zeros((count, dof, 0))
        alone = (
            "The robot is believed to be right: there is no fit, so no doubt and no residual.",
        )
        return _Belief(model, needed, nothing, np.zeros((0, 0)), np.zeros(dof), None, None, alone)
    par, uncertainty = model.parametrisation, model.uncertainty
    notes: list[str] = []
    if uncertainty.unknown.any():
        pairs = zip(par.names, uncertainty.unknown, strict=True)
        lost = ", ".join(name for name, unknown in pairs if unknown)
        notes.append(f"The data do not tell {lost}: their doubt is not in the draws.")
    return _Belief(
        model.robot,
        model.torque(task.now),
        par.columns(model.nominal, task.now),
        _root(uncertainty.known),
        np.asarray(model.residual),
        model.band,
        model.nominal,
        tuple(notes),
    )


def _default(model: Fit | Robot) -> PDFeedforward:
    if isinstance(model, Robot):
        return PDFeedforward(model)
    gains = PD(model.nominal)
    return PDFeedforward(model.robot, stiffness=gains.stiffness, damping=gains.damping)


def _file_torque(nominal: Robot, controller: Predictable, task: Task) -> FloatArray:
    """What the controller feeds forward with the robot file's parameters; of a PD, all torque."""
    if type(controller) is PD:
        return inverse_dynamics(nominal, task.now)
    return fed_forward(replace(controller, robot=nominal), task.now)


def _unmodelled(belief: _Belief, rate: float, count: int, rng: np.random.Generator) -> FloatArray:
    """Torque (N, dof, R) like the fit's residual: even in its band, at random, in N m."""
    dof = len(belief.residual)
    if not belief.residual.any():
        return np.zeros((count, dof, 1))
    white = rng.standard_normal((count, dof, REALISATIONS))
    if belief.band is not None and belief.band < rate / 2:
        spectrum = np.fft.rfft(white, axis=0)
        spectrum[np.fft.rfftfreq(count, 1 / rate) > belief.band] = 0.0
        white = np.fft.irfft(spectrum, count, axis=0)
    size = np.sqrt(np.mean(white**2, axis=(0, 2), keepdims=True))
    out: FloatArray = white / size * belief.residual[:, None]
    return out


def _status(belief: _Belief, controller: Predictable, fed: FloatArray, samples: int) -> str:
    sentences = list(belief.notes)
    if belief.columns.shape[2]:
        sentences.insert(0, f"{samples} machines drawn from the fit's covariance.")
    if belief.band is not None and belief.residual.any():
        sentences.append(
            f"The fit's residual is taken as random torque, even up to {belief.band:.3g} Hz."
        )
    peak = controller.robot.limits.torque_peak
    if peak is not None and np.any(np.abs(fed) > np.asarray(peak)):
        axes = np.flatnonzero((np.abs(fed) > np.asarray(peak)).any(axis=0)) + 1
        names = ", ".join(map(str, axes.tolist()))
        sentences.append(
            f"The torque fed forward is above the peak torque of axis {names}: drives that are "
            "limited will err by more."
        )
    sentences.append("Elastic gears, torque limits and the jump of dry friction are left out.")
    return " ".join(sentences)


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _mean_square(error: FloatArray) -> FloatArray:
    out: FloatArray = np.mean(error**2, axis=0)
    return out


def _root_mean(squares: FloatArray) -> FloatArray:
    out: FloatArray = np.sqrt(squares.mean(axis=0))
    return out
