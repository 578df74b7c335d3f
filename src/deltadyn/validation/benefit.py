"""What a model will be worth in control, before it is deployed.

The machine is believed to be as a fit says, give or take the fit's covariance, and to have the
fit's residual on top. The torque that a controller would feed forward differs from what such a
machine needs; the loop's linear response turns the difference into a tracking error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.inverse import check_state, equations_of_motion, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_level
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation import PD, AugmentedPD, ComputedTorque, PDFeedforward, PDGravity
from deltadyn.simulation.drive.reference import Task, make_task
from deltadyn.simulation.presets import Preset, preset_by_name, setting
from deltadyn.units import together
from deltadyn.validation.evidence import knows_its_doubt
from deltadyn.validation.monte_carlo import covariance_root

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

# What a torque error does to a closed loop: the linear response along a motion, tick by tick.
#
# With e = q_ref - q and a torque error d (what the motion needs less what is fed forward):
#
#     M(q_ref) edd + (2 C(q_ref, qd_ref) + Fv) ed = d - G (a e + b ed_seen)
#
# The feedback is that of the drive: its rate is the filtered backward difference, it waits for the
# delay of the bus and ramps or steps over one tick. G is the identity for PD gains, the model's
# mass matrix for computed torque. What is left out is of second order in e, or small beside the
# gains: the change of gravity and inertia with e, the jump of Coulomb friction, torque limits.
#
# Where gears are elastic, e is the motors' error, and the arms lag behind them by v beyond the
# wind-up at the start, so they err by y = e + P v with P = [I 0]' for the arms. With M_L = M less
# the rotors, and tm the torque that goes through the gears along the reference:
#
#     M edd + M_L P vdd + 2 C yd + Fv ed = d - G (a e + b ed_seen)
#     P' (M_L ydd + 2 C yd) + D vd + K v = P' (tm - tm at the start)
#
# A torque error d acts at the motor: that of a body's parameter, too, though it winds up the gear.


Predictable = PD | ComputedTorque
ROUNDING = 1e-6  # of a loop without a spring, which neither grows nor settles
POSES = 9  # of a motion, at which stability is judged
KINDS = (PDFeedforward, PDGravity, AugmentedPD, ComputedTorque)


@dataclass(frozen=True, eq=False)
class Loop:
    """A closed loop along a motion of N ticks: n = dof motors, and gears where they give."""

    inertia: FloatArray  # (N, n, n), kg m^2
    damping: FloatArray  # (N, n, n), N m s/rad
    spring: FloatArray  # (n,), N m/rad: 0 of motors
    gain: FloatArray  # (N, dof, dof)
    stiffness: FloatArray  # (dof,)
    rate_gain: FloatArray  # (dof,)
    rate: float  # Hz
    smoothing: float  # share of a new difference in the drive's rate, 1 without filter
    delay: int  # ticks
    ramps: bool

    @classmethod
    def of(cls, robot: Robot, task: Task, controller: Predictable, preset: Preset) -> Loop:
        """The loop of a robot that is believed, and a controller with gains."""
        eom = equations_of_motion(robot, task.now)
        gain = np.broadcast_to(np.eye(robot.dof), eom.M.shape)
        if isinstance(controller, ComputedTorque):
            own = np.asarray(controller.robot.sensors.torque_ratio)[:, None]
            gain = own * equations_of_motion(controller.robot, task.now, controller.model).M
            gains = (controller.position_gain, controller.rate_gain)
        else:
            gains = (controller.stiffness, controller.damping)
        cutoff = preset.velocity_filter
        return cls(
            *_plant(robot, eom.M, 2 * eom.C),
            gain,
            np.asarray(gains[0]),
            np.asarray(gains[1]),
            task.rate,
            1.0 if cutoff is None else float(-np.expm1(-2 * np.pi * cutoff / task.rate)),
            preset.delay,
            preset.hold == "linear",
        )

    def response(self, torque: FloatArray) -> FloatArray:
        """Errors (N, dof, R) in rad of R torque errors (N, dof, R) in N m, from no error at first.

        With elastic gears (N, n, R) may be given, with what winds up the gears behind the motors.
        Within a tick torque and acceleration change linearly.
        """
        (count, n, runs), dof = torque.shape, len(self.stiffness)
        more = np.zeros((count, len(self.spring) - n, runs))
        forces = np.concatenate([torque, more], axis=1)
        out = np.zeros((count, dof, runs))
        state = [np.zeros((size, runs)) for size in self._sizes]
        for k in range(count - 1):
            state = self._tick(k, state, forces[k], forces[k + 1])
            out[k + 1] = state[0][:dof]
        return out

    def growth(self, k: int) -> float:
        """By how much an error may grow in a tick about this pose; above 1 it is unstable."""
        sizes = self._sizes
        unit = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])
        none = np.zeros((len(self.spring), sum(sizes)))
        after = np.concatenate(self._tick(k, list(unit), none, none))
        return float(np.abs(np.linalg.eigvals(after)).max())

    def check_stable(self) -> None:
        """Refuse gains with which an error grows at some pose of the motion."""
        for k in np.linspace(0, len(self.gain) - 1, POSES).astype(int).tolist():
            growth = self.growth(k)
            if growth > 1 + ROUNDING:
                gains = (self.stiffness.tolist(), self.rate_gain.tolist())
                allowed = (
                    f"gains with which the loop is stable at {self.rate:g} Hz, {self.delay} ticks "
                    f"late; here an error grows by {100 * (growth - 1):.2g} % in a tick"
                )
                raise InputError("gains of the controller", gains, allowed, where=f"tick {k}")

    @property
    def _sizes(self) -> list[int]:
        """Rows of the loop's state: z, zd, then per motor, and commands on their way."""
        n, dof = len(self.spring), len(self.stiffness)
        return [n, n, *[dof] * (3 + self.delay)]

    @cached_property
    def _start(self) -> FloatArray:
        """What turns a force (n,) into an acceleration (N, n, n)."""
        return np.asarray(np.linalg.inv(self.inertia), dtype=np.float64)

    @cached_property
    def _end(self) -> FloatArray:
        """The same at the end of a tick, where the acceleration changes rate and place on the way.

        The mean of the accelerations at both ends acts over the tick: a rule that follows stiff
        gears without growing (Newmark).
        """
        dt = 1 / self.rate
        whole = self.inertia + dt / 2 * self.damping + dt**2 / 4 * np.diag(self.spring)
        return np.asarray(np.linalg.inv(whole), dtype=np.float64)

    def _tick(
        self, k: int, state: list[FloatArray], start: FloatArray, end: FloatArray
    ) -> list[FloatArray]:
        """z = (e, v), zd, the last e, the rate seen, the torque in force, commands on their way."""
        z, zd, before, seen, force, *waiting = state
        dt, dof, D, K = 1 / self.rate, len(self.stiffness), self.damping[k], self.spring[:, None]
        e = z[:dof]
        seen = seen + self.smoothing * ((e - before) * self.rate - seen)
        error = self.stiffness[:, None] * e + self.rate_gain[:, None] * seen
        wanted, *waiting = [*waiting, self.gain[k] @ error]
        first = start - D @ zd - K * z
        first[:dof] -= force if self.ramps else wanted
        first = self._start[k] @ first
        half = zd + dt / 2 * first
        there = z + dt * (zd + dt / 4 * first)
        last = end - D @ half - K * there
        last[:dof] -= wanted
        last = self._end[k] @ last
        return [there + dt**2 / 4 * last, half + dt / 2 * last, e, seen, wanted, *waiting]


def _plant(
    robot: Robot, M: FloatArray, twice_C: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inertia and damping (N, n, n) and springs (n,) of motors and gears, in the drives' torque."""
    dof, drives = robot.dof, robot.drives
    Fv = np.diag(np.asarray(robot.friction.viscous))
    scale = np.asarray(robot.sensors.torque_ratio)[:, None]  # torques are the drives' own
    if drives.stiffness is None:
        return scale * M, scale * (twice_C + Fv), np.zeros(dof)
    damping = (0.0,) * dof if drives.damping is None else drives.damping
    arms = M - np.diag(np.asarray(drives.output_inertia))
    legs = robot.legs
    scale = np.concatenate([scale, np.ones((legs, 1))])
    spring = np.concatenate([np.zeros(dof), np.asarray(drives.stiffness[:legs])])
    D = _with_gears(twice_C + Fv, twice_C, legs)
    gears = np.arange(dof, dof + legs)
    D[:, gears, gears] += np.asarray(damping[:legs])
    return scale * _with_gears(M, arms, legs), scale * D, spring


def _with_gears(whole: FloatArray, arms: FloatArray, legs: int) -> FloatArray:
    """[[whole, arms P], [P' arms, P' arms P]] (N, dof + legs, dof + legs)."""
    right, corner = arms[:, :, :legs], arms[:, :legs, :legs]
    return np.block([[whole, right], [arms[:, :legs], corner]])


def fed_forward(controller: Predictable, motion: Motion) -> FloatArray:
    """The torque (N, dof) that a controller commands where it follows the motion perfectly."""
    robot = controller.robot
    if isinstance(controller, PDGravity):
        still = Motion.from_joints(
            robot, motion.t, motion.q, 0 * motion.q, 0 * motion.q, hint=motion.p
        )
        return inverse_dynamics(robot, still, controller.model, friction=False)
    if isinstance(controller, PDFeedforward | AugmentedPD | ComputedTorque):
        return inverse_dynamics(robot, motion, controller.model)
    return np.zeros_like(motion.q)


def moved(torque: FloatArray, t: FloatArray, seconds: float) -> FloatArray:
    """The torque (N, dof) of so many seconds later; beyond the ends the drives hold."""
    if not seconds:
        return torque
    return np.stack([np.interp(t + seconds, t, axis) for axis in torque.T], axis=-1)


def check_predictable(controller: object) -> None:
    """Refuse controllers whose torque is not known before the run."""
    if type(controller) is not PD and not isinstance(controller, KINDS):
        allowed = "PD, PDGravity, PDFeedforward, AugmentedPD or ComputedTorque"
        raise InputError("controller", type(controller).__name__, allowed)


REALISATIONS = 16  # of the torque that no model explains
SAMPLES = 500
GEARS = 4  # place of the run that winds up the gears


@dataclass(frozen=True, eq=False)
class Benefit:
    """Expected tracking errors in rad, RMS over a motion, each (dof,), at the encoders.

    `expected` is that of the controller, root mean square over the draws, between `low` and `high`
    with the probability `level`; `alone` that of the same feedback without any torque fed forward,
    `file` that of the robot file's parameters instead (None where there is no fit). All hold
    `unmodelled`, what the fit's residual does. Further parts of `expected`: `by_doubt` comes from
    the covariance, `by_model` from a controller whose torque is not the fit's (another model), and
    `by_delay` is what comes of the right torque at the wrong time: the bus's delay less the
    controller's lead. The last two may add up or cancel, also with `by_gears`: elastic gears that
    wind up along the motion, 0 where the robot has none (`drives.stiffness`).
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
    by_gears: FloatArray
    unmodelled: FloatArray
    draws: FloatArray  # (samples, dof)
    status: str
    unit: str = "mrad"  # of the table

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
        """The errors as text, in mrad (mm on rails)."""
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
            ("  of it: gears that wind up", self.by_gears),
            ("  of it: torque that no model explains", self.unmodelled),
        ]
        if not self.by_gears.any():
            rows.pop(-2)
        width = max(len(name) for name, _ in rows)
        axes = "".join(f"{f'axis {k + 1}':>11}" for k in range(len(self.expected)))
        lines = [f"{f'expected tracking error, {self.unit} RMS':<{width}}{axes}"]
        for name, values in rows:
            lines.append(
                f"{name:<{width}}" + "".join(f"{round(1e3 * x, 9):>11.4g}" for x in values)
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.table}\n{self.status}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, errors in rad."""
        names = ("expected", "low", "high", "alone", "by_doubt", "by_model", "by_delay", "by_gears")
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
    if not isinstance(model, Robot) and not knows_its_doubt(model):
        raise InputError("model", type(model).__name__, "a Fit or a Robot")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
        raise InputError("samples", samples, "a whole number, at least 2")
    check_level(level)
    chosen = preset_by_name(preset).with_switches(**switches)
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    deployed = _default(model, rate, chosen) if controller is None else controller
    check_predictable(deployed)
    deployed = deployed.for_drive(rate, chosen)
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
    known = [needed - fed, needed, needed - knowing, knowing - fed, np.zeros_like(fed)]
    if belief.nominal is not None:
        file_torque = _file_torque(belief.nominal, controller, task)
        known.append(needed - moved(file_torque, task.now.t, early))
    noise = _unmodelled(belief, task.rate, len(needed), rng)
    loop = Loop.of(belief.robot, task, controller, preset)
    loop.check_stable()
    inputs = np.concatenate([np.stack(known, axis=2), doubt, noise], axis=2)
    wound = np.zeros((len(needed), len(loop.spring) - len(needed[0]), inputs.shape[2]))
    wound[:, :, GEARS] = _through_gears(belief.robot, task)[:, : wound.shape[1]]
    errors = loop.response(np.concatenate([inputs, wound], axis=1))
    gears = errors[:, :, GEARS]
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

    squares = drawn(errors[:, :, 0] + gears)
    tail = (1 - level) / 2
    low, high = np.sqrt(np.quantile(squares, [tail, 1 - tail], axis=0))
    file = None if belief.nominal is None else _root_mean(drawn(errors[:, :, 5] + gears))
    return Benefit(
        expected=_root_mean(squares),
        low=low,
        high=high,
        level=level,
        alone=_root_mean(drawn(errors[:, :, 1] + gears)),
        file=file,
        by_doubt=np.sqrt(_mean_square(per_draw).sum(axis=-1)),
        by_model=np.sqrt(_mean_square(errors[:, :, 3])),
        by_delay=np.sqrt(_mean_square(errors[:, :, 2])),
        by_gears=np.sqrt(_mean_square(gears)),
        unmodelled=np.sqrt(unmodelled),
        draws=np.sqrt(squares),
        status=_status(belief, controller, fed, samples),
        unit=together([f"m{unit}" for unit in belief.robot.axis_units("q")]),
    )


def _through_gears(robot: Robot, task: Task) -> FloatArray:
    """Torque (N, dof) through the gears along the reference, beyond that at the start, in N m."""
    ratio, R = np.asarray(robot.sensors.torque_ratio), np.asarray(robot.drives.output_inertia)
    tm = inverse_dynamics(robot, task.now, friction=False) / ratio - R * task.now.qdd
    out: FloatArray = tm - tm[0]
    return out


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
        covariance_root(uncertainty.known),
        np.asarray(model.residual),
        model.band,
        model.before,
        tuple(notes),
    )


def _default(model: Fit | Robot, rate: float, preset: Preset) -> PDFeedforward:
    if isinstance(model, Robot):
        return PDFeedforward(model)
    gains = PD(model.before).for_drive(rate, preset)
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
    rigid = belief.robot.drives.stiffness is None
    left_out = "Elastic gears, torque limits" if rigid else "Torque limits"
    sentences.append(f"{left_out} and the jump of dry friction are left out.")
    return " ".join(sentences)


def _mean_square(error: FloatArray) -> FloatArray:
    out: FloatArray = np.mean(error**2, axis=0)
    return out


def _root_mean(squares: FloatArray) -> FloatArray:
    out: FloatArray = np.sqrt(squares.mean(axis=0))
    return out
