"""From raw samples to residual and payload column: a filter, the model at 250 Hz, a second filter.

Angles, torques and the directions of the rates pass the same light low-pass filter; rates come from
differences of its output. Residual and column, which are linear in the mass, then pass a narrow
filter alike, so that what swings in the gears leaves both. Both filters are cascades of equal
first-order stages. One narrow filter before the model would bend the torque, which is not linear in
the angles: 1 N m on quick moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import (
    MOTOR_LOAD,
    Sliding,
    drive_terms,
    friction_sum,
    stribeck_shape,
    thinning_shape,
)
from deltadyn.dynamics.motor import ripple_torque
from deltadyn.dynamics.parameters import (
    ExactParameters,
    HalvesParameters,
    SpindleParameters,
    exact_parameters,
)
from deltadyn.dynamics.passive import passive_torque
from deltadyn.dynamics.terms import term_components
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.limbs import Pose
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mechanism import Follower, follows, pose_of
from deltadyn.tape.tape import SCALARS
from deltadyn.tape.write_python import Compiled, straight_line

# Torque without payload and payload column of one sample, as straight-line Python over floats.
#
# The torque without payload and the column c with tau = tau_0 + m c come from the one source of the
# exact model, which is run once on symbols and compiled to a function of floats. Measured on the
# 3-DOF robot this takes 11.5 us a sample. The compiled kernels take as long (11.7 us), because the
# samples come one by one as floats, arrays have to be made of them, and the speed is a kernel of
# its own; the same source on floats takes 9 times, NumPy's arrays of one sample 80 times as long.


SHARP = 1e-6  # rad/s: of passive joints whose friction names no smoothing

Floats = tuple[float, ...]
Vector = tuple[Component, ...]


class Answer(NamedTuple):
    """Torque without payload (N m), what one kg adds (N m/kg), square of the speed (m^2/s^2).

    Both are (dof,). Of the momentum form the two are the parts without an acceleration, and
    `momentum`, `momentum_column` (N m s, N m s/kg) are those whose rate is to be added. Else
    `through` (N m) is the part of the torque that goes through the gears.
    """

    torque: Floats
    column: Floats
    speed2: float
    momentum: Floats = ()
    momentum_column: Floats = ()
    through: Floats = ()


@dataclass(frozen=True, eq=False)
class SampleModel:
    """The exact model of a robot, its friction, and a payload at the robot's payload offset.

    tau = torque + m column                       with `at(q, qd, qdd, direction)`
    tau = torque + m column + d/dt (momentum + m momentum_column)     with `momentum_at(q, qd, ...)`
    `direction` (dof,) is the sign of every joint rate, as a number from -1 to 1. Under a platform
    of two halves `follower` has the pose, from that of the sample before.
    """

    dof: int
    accelerated: Compiled
    moving: Compiled
    many: Compiled  # `accelerated` of arrays
    follower: Follower | None = None

    @classmethod
    def of(cls, robot: Robot) -> SampleModel:
        """The model of a robot whose own payload counts as part of it."""
        own = Follower(robot) if follows(robot) else None
        return cls(robot.dof, *_compiled(robot), own)

    def reset(self) -> None:
        """Forget the pose of the sample before."""
        if self.follower is not None:
            self.follower.x, self.follower.side = None, 0.0

    @property
    def place(self) -> tuple[Any, float] | None:
        """Where the pose is followed from, to come back to by `go_back`."""
        return None if self.follower is None else (self.follower.x, self.follower.side)

    def go_back(self, place: tuple[Any, float] | None) -> None:
        """Follow the pose from a place where it was before."""
        if self.follower is not None and place is not None:
            self.follower.x, self.follower.side = place

    def _pose(self, q: Sequence[float]) -> Floats:
        """The pose (dof,) where no formula gives it, else nothing."""
        if self.follower is None:
            return ()
        try:
            return self.follower.pose(tuple(q))
        except ValueError:
            self.reset()
            raise

    def at(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], s: Sequence[float]
    ) -> Answer:
        """One sample, each (dof,). ValueError or ZeroDivisionError where no loop closes."""
        n = self.dof
        out = self.accelerated(*q, *qd, *qdd, *s, *self._pose(q))
        return Answer(out[:n], out[n : 2 * n], out[2 * n], through=out[2 * n + 1 :])

    def at_many(
        self, q: FloatArray, qd: FloatArray, qdd: FloatArray, s: FloatArray
    ) -> tuple[FloatArray, ...] | None:
        """Torque, column, `through` (n, dof) and square of the speed (n,) of samples (n, dof).

        None where a loop does not close, or where the pose follows that of the sample before.
        """
        if self.follower is not None:
            return None
        n = self.dof
        with np.errstate(all="ignore"):
            found = self.many(*q.T, *qd.T, *qdd.T, *s.T)
        out = np.empty((len(q), 3 * n + 1))
        for k, column in enumerate(found):
            out[:, k] = column
        if not np.isfinite(out).all():
            return None
        return out[:, :n], out[:, n : 2 * n], out[:, 2 * n + 1 :], out[:, 2 * n]

    def momentum_at(self, q: Sequence[float], qd: Sequence[float], s: Sequence[float]) -> Answer:
        """One sample without an acceleration, each (dof,)."""
        n = self.dof
        out = self.moving(*q, *qd, *s, *self._pose(q))
        return Answer(
            out[:n], out[n : 2 * n], out[2 * n], out[2 * n + 1 : 3 * n + 1], out[3 * n + 1 :]
        )


@lru_cache(maxsize=16)
def _compiled(robot: Robot) -> tuple[Compiled, Compiled, Compiled]:
    dof, more = robot.dof, int(follows(robot))

    def parts(inputs: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
        return [tuple(inputs[k * dof : (k + 1) * dof]) for k in range(count)]

    def accelerated(x: Sequence[Any]) -> list[Component]:
        return _accelerated(robot, *parts(x, 4 + more))

    return (
        straight_line((4 + more) * dof, accelerated),
        straight_line((3 + more) * dof, lambda x: _moving(robot, *parts(x, 3 + more))),
        straight_line((4 + more) * dof, accelerated, arrays=True),
    )


def payload_parameters(robot: Robot) -> ExactParameters:
    """The exact model's parameters of one kg at the robot's payload offset, and nothing else."""
    par, (x, y, _) = exact_parameters(robot), robot.payload.offset
    spindle = halves = None
    if par.spindle is not None:
        none = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        own = SpindleParameters(par.spindle.pivot_z, h_x=x, h_y=y, I_psi=x**2 + y**2, **none)
        spindle = own
    if par.halves is not None:
        halves = HalvesParameters(S=0.0, S_s=0.0, h_x=x, h_y=y, I_psi=x**2 + y**2)
    zero = (0.0,) * robot.legs
    return replace(par, M_P=1.0, m_x=zero, A=zero, G=zero, G_s=zero, spindle=spindle, halves=halves)


def _accelerated(
    robot: Robot, q: Vector, qd: Vector, qdd: Vector, s: Vector, *x: Vector
) -> list[Component]:
    par = exact_parameters(robot)
    pose = pose_of(SCALARS, par.limbs, q, qd, *x)
    pdd = tuple(pose.pdd[k] + _along(pose, qdd, k) for k in range(robot.dof))

    def torque(parameters: ExactParameters) -> list[Component]:
        return inverse_dynamics(SCALARS, parameters, pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)

    tau, column = torque(par), torque(payload_parameters(robot))
    rotor = robot.drives.output_inertia
    through = [tau[i] - rotor[i] * qdd[i] for i in range(robot.dof)]
    tau, through = _with_passive(robot, pose, qd, tau, through)
    tau, column = _with_friction(robot, qd, s, tau, column, through)
    tau, column = _at_motor(robot, q, s, tau, column)
    return [*tau, *column, _square(robot, pose.pd), *through]


def _moving(robot: Robot, q: Vector, qd: Vector, s: Vector, *x: Vector) -> list[Component]:
    """The momentum form: tau = d/dt (M qd) + g - C^T qd.

    It follows from tau = M qdd + C qd + g with Md = C + C^T, as Md - 2C is skew.
    """
    par, dof = exact_parameters(robot), robot.dof
    pose = pose_of(SCALARS, par.limbs, q, qd, *x)

    def terms(parameters: ExactParameters) -> tuple[list[Component], list[Component]]:
        M, C, g = term_components(SCALARS, parameters, pose.c, pose.s, qd, pose.p, pose.pd)
        rest = [g[i] - sum(C[j][i] * qd[j] for j in range(dof)) for i in range(dof)]
        return rest, [sum(M[i][j] * qd[j] for j in range(dof)) for i in range(dof)]

    tau, momentum = terms(par)
    column, momentum_column = terms(payload_parameters(robot))
    tau, through = _with_passive(robot, pose, qd, tau, tau)
    tau, column = _with_friction(robot, qd, s, tau, column, through)
    tau, column = _at_motor(robot, q, s, tau, column)
    ratio = robot.sensors.torque_ratio
    momentum = [r * x for r, x in zip(ratio, momentum, strict=True)]
    momentum_column = [r * x for r, x in zip(ratio, momentum_column, strict=True)]
    return [*tau, *column, _square(robot, pose.pd), *momentum, *momentum_column]


def _with_passive(
    robot: Robot, pose: Pose, qd: Vector, tau: list[Component], load: list[Component]
) -> tuple[list[Component], list[Component]]:
    """Torque, and the part of it through the gears, with the friction of passive joints."""
    friction = robot.friction
    if not friction.passive:
        return tau, load
    sharp = friction if friction.smoothing else replace(friction, smoothing=SHARP)
    pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
    limbs = exact_parameters(robot).limbs
    passive = passive_torque(SCALARS, sharp, limbs, pivot_z, pose, qd)
    return (
        [a + b for a, b in zip(tau, passive, strict=True)],
        [a + b for a, b in zip(load, passive, strict=True)],
    )


def _with_friction(
    robot: Robot,
    qd: Vector,
    s: Vector,
    tau: list[Component],
    column: list[Component],
    load: list[Component],
) -> tuple[list[Component], list[Component]]:
    """Torque and column with friction; `load` is what goes through the gears without payload."""
    friction, xp = robot.friction, SCALARS
    terms = [term for term in drive_terms(friction) if term is not MOTOR_LOAD]
    out, columns = [], []
    for i in range(robot.dof):
        shape = thin = None
        if friction.stribeck_velocity is not None:
            shape = stribeck_shape(xp, qd[i], friction.stribeck_velocity[i])
        if friction.thinning_velocity is not None:
            thin = thinning_shape(xp, qd[i], friction.thinning_velocity[i])
        numbers = [getattr(friction, term.field)[i] for term in terms]
        rubbed = friction_sum(xp, terms, numbers, Sliding(qd[i], s[i], shape, load[i], thin))
        own = column[i]
        if friction.load is not None:  # |load + m own| grows by own where the load is positive
            own = own + friction.load[i] * s[i] * xp.where(load[i] < 0.0, -own, own)
        out.append(tau[i] + rubbed)
        columns.append(own)
    return out, columns


def _at_motor(
    robot: Robot, q: Vector, s: Vector, tau: list[Component], column: list[Component]
) -> tuple[list[Component], list[Component]]:
    """Torque and column as the drives report them, with ripple and the motors' loss."""
    if robot.plain_drives:
        return tau, column
    xp, share, out, columns = SCALARS, robot.friction.motor_load, [], []
    for i, ratio in enumerate(robot.sensors.torque_ratio):
        waves = [(wave.order, wave.cos[i], wave.sin[i]) for wave in robot.drives.ripple]
        needed, own = tau[i] + ripple_torque(xp, q[i], waves), column[i]
        if share is not None:  # both grow alike while the torque keeps its sign
            turn = s[i] * xp.where(needed < 0.0, -1.0, 1.0)
            grown = 1.0 / (1.0 - share[i] * turn)
            needed, own = needed * grown, own * grown
        out.append(ratio * needed)
        columns.append(ratio * own)
    return out, columns


def _along(pose: Pose, qdd: Vector, k: int) -> Component:
    return sum((pose.J[j][k] * qdd[j] for j in range(1, len(qdd))), pose.J[0][k] * qdd[0])


def _square(robot: Robot, pd: Vector) -> Component:
    """The square of the platform's speed."""
    if robot.planar:
        return pd[0] * pd[0] + pd[1] * pd[1]
    return pd[0] * pd[0] + pd[1] * pd[1] + pd[2] * pd[2]


FORMS = ("acceleration", "momentum")
STAGES, FIRST = 4, 100.0  # stages of the first filter and the corner of each, Hz
NARROW = 4  # stages of the second
CORNER = 30.0  # Hz of each; all together pass 12 Hz at -3 dB: gears swing at 40 to 100 Hz
GRID_RATE = 250.0  # Hz, about: at which residuals are taken
SLOWEST = 250.0  # Hz: a lower sampling rate cannot carry the filter
SMOOTHING = 0.05  # rad/s: of the direction of a rate, the least: below it the sign is that of noise
WARM_UP = 4.0  # spreads of the filter's impulse response, besides its delay


class GridSample(NamedTuple):
    """Residual r (N m) and column c (N m/kg) with r = m c + noise; rates (rad/s), speed (m/s)."""

    r: Sequence[float]
    c: Sequence[float]
    qd: Sequence[float]
    speed: float


@dataclass(frozen=True)
class Grid:
    """How samples become residuals: sampling rate (Hz), samples per residual, corner (Hz), form."""

    rate: float
    step: int
    corner: float = CORNER
    form: str = "acceleration"

    @classmethod
    def of(cls, rate: float, form: str = "acceleration") -> Grid:
        """The grid of a sampling rate in Hz."""
        if form not in FORMS:
            raise UnknownNameError("form", form, FORMS)
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= SLOWEST:
            raise InputError("rate", rate, f"at least {SLOWEST:g} Hz")
        if not math.isfinite(rate):
            raise InputError("rate", rate, "a finite number of Hz")
        return cls(float(rate), max(1, round(rate / GRID_RATE)), CORNER, form)

    @property
    def gain(self) -> float:
        """a of a stage y += a (x - y) of the first filter."""
        return -math.expm1(-2 * math.pi * FIRST / self.rate)

    @property
    def narrow_gain(self) -> float:
        """a of a stage of the second filter, at the rate of the residuals."""
        return -math.expm1(-2 * math.pi * self.corner * self.interval)

    @property
    def interval(self) -> float:
        """Time between residuals in s."""
        return self.step / self.rate

    @property
    def delay(self) -> float:
        """How far a residual lies behind its last sample, in s."""
        a, b, late = self.gain, self.narrow_gain, 1.0 if self.step == 1 else 2.0
        if self.form == "momentum":
            late += self.step / 2
        return (STAGES * (1 - a) / a + late) / self.rate + NARROW * (1 - b) / b * self.interval

    @property
    def spread(self) -> float:
        """Standard deviation of both filters' impulse response, in s."""
        a, b = self.gain, self.narrow_gain
        first = STAGES * (1 - a) / (a * self.rate) ** 2
        return math.sqrt(first + NARROW * (1 - b) * (self.interval / b) ** 2)

    @property
    def warm_up(self) -> int:
        """Residuals until the filter has forgotten how it began."""
        return math.ceil((self.delay + WARM_UP * self.spread) / self.interval)


def direction_gain(robot: Robot) -> float:
    """1 / smoothing (s/rad) of a rate's direction tanh(qd / smoothing)."""
    return 1.0 / max(robot.friction.smoothing or 0.0, SMOOTHING * robot.radian[0])


# The first filter packs its state into one flat tuple of floats, because the filter is one
# straight-line function from (sample, old state) to the new state. With n axes and m channels
# x = (q, tau [, qd [, qdd]]), n values each, so m = 2n to 4n:
#
#     state = (stage 1: m values, ..., stage 4: m values,    stage k:  y_k += a (y_(k-1) - y_k)
#              direction 1: n values, ..., direction 4: n)   the same filter on tanh(qd / smoothing)
#
# So the filtered channels are state[3m : 4m], with q at 0, tau at n, qd at 2n and qdd at 3n in it,
# and the filtered directions are state[-n:]. Three states in a row, `before`, `last`, `state`, give
# central differences at `last`: qd = (q+ - q-) rate / 2, qdd = (q+ - 2q + q-) rate^2. The direction
# needs one stage less where it is made of a difference of the first stage, so both have one delay.


class FrontEnd:
    """The filters' state; `push` takes a sample and gives a residual at every `grid.step`-th."""

    def __init__(self, robot: Robot, grid: Grid) -> None:
        if grid.form == "momentum" and robot.friction.motor_load is not None:
            allowed = "'acceleration' for a robot with friction.motor_load"
            raise InputError("form", grid.form, allowed)
        self.robot, self.grid = robot, grid
        self.model = SampleModel.of(robot.with_payload(0.0, robot.payload.offset))
        self.dof, self.gain, self.narrow_gain = robot.dof, grid.gain, grid.narrow_gain
        self.over_smoothing = direction_gain(robot)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.state: tuple[float, ...] = ()
        self.last: tuple[float, ...] = ()
        self.before: tuple[float, ...] = ()
        self.filter: Compiled | None = None
        self.channels = 0
        self.narrow: list[list[float]] = []
        self.count = 0
        self.waiting: GridSample | None = None
        self.torque_sum = [0.0] * self.dof
        self.answer: Answer | None = None
        self.model.reset()

    def push(
        self,
        q: Sequence[float],
        qd: Sequence[float] | None,
        qdd: Sequence[float] | None,
        tau: Sequence[float],
    ) -> GridSample | None:
        """Take one sample, each (dof,); rates that are None come from the filtered angles."""
        x = [*q, *tau]
        if qd is not None:
            x += qd
            if qdd is not None:
                x += qdd
        if self.filter is None:
            self._begin(x, qd is not None)
        assert self.filter is not None
        self.before, self.last = self.last, self.state
        self.state = self.filter(*x, *self.state)
        if self.grid.form == "momentum":
            self._sum_torque()
        self.count += 1
        place = self.count % self.grid.step
        if place == 0:
            self.waiting = self._residual(qd is not None, qdd is not None)
            if self.grid.step > 1:
                return None  # no sample carries all the work
        elif place != 1:
            return None
        found, self.waiting = self.waiting, None
        return None if found is None else self._narrowed(found)

    def _begin(self, x: list[float], has_qd: bool) -> None:
        n, m = self.dof, len(x)
        per = self.over_smoothing * (1.0 if has_qd else self.grid.rate)
        self.filter, self.channels = _first_filter(n, m, has_qd, self.gain, per), m
        self.state = (*(x * STAGES), *([0.0] * (n * STAGES)))  # as if x had been there for long
        self.before = self.last = self.state

    def _narrowed(self, sample: GridSample) -> GridSample:
        """The sample behind the second filter."""
        n, b = self.dof, self.narrow_gain
        x = [*sample.r, *sample.c, *sample.qd, sample.speed]
        if not self.narrow:
            self.narrow = [list(x) for _ in range(NARROW)]
        for k in range(NARROW):
            x = [y + b * (u - y) for y, u in zip(self.narrow[k], x, strict=True)]
            self.narrow[k] = x
        return GridSample(x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n])

    def _residual(self, has_qd: bool, has_qdd: bool) -> GridSample | None:
        """One sample behind the newest, where central differences hold."""
        n, m, rate = self.dof, self.channels, self.grid.rate
        last_stage = slice((STAGES - 1) * m, STAGES * m)
        new, mid, old = (x[last_stage] for x in (self.state, self.last, self.before))
        s = self.state[-n:]
        q, tau = mid[:n], mid[n : 2 * n]
        qd: Sequence[float]
        if has_qd:
            qd = mid[2 * n : 3 * n]
        else:
            half = rate / 2
            qd = [(new[i] - old[i]) * half for i in range(n)]
        if self.grid.form == "momentum":
            return self._momentum_residual(q, qd, s)
        qdd: Sequence[float]
        if has_qdd:
            qdd = mid[3 * n : 4 * n]
        elif has_qd:
            half = rate / 2
            qdd = [(new[i] - old[i]) * half for i in range(2 * n, 3 * n)]
        else:
            square = rate * rate
            qdd = [(new[i] - 2 * mid[i] + old[i]) * square for i in range(n)]
        answer = self.model.at(q, qd, qdd, s)
        r = [a - b for a, b in zip(tau, answer.torque, strict=True)]
        return GridSample(r, answer.column, qd, math.sqrt(answer.speed2))

    def _sum_torque(self) -> None:
        """Trapezoids of the filtered torque since the last residual."""
        first = (STAGES - 1) * self.channels + self.dof  # tau in the last stage
        old, new = self.before, self.last
        self.torque_sum = [
            y + 0.5 * (old[i] + new[i]) for i, y in enumerate(self.torque_sum, start=first)
        ]

    def _momentum_residual(
        self, q: Sequence[float], qd: Sequence[float], s: Sequence[float]
    ) -> GridSample | None:
        """The mean torque of an interval against the change of momentum over it.

        mean tau - (P+ - P-) / interval - mean rest = m ((C+ - C-) / interval + mean column), with P
        and C the momenta of the robot and of one kg at the ends of the interval.
        """
        answer, last = self.model.momentum_at(q, qd, s), self.answer
        tau, self.torque_sum = self.torque_sum, [0.0] * self.dof
        self.answer = answer
        if last is None:
            return None
        over, share = 1 / self.grid.interval, 1 / self.grid.step
        r, c = [], []
        for i in range(self.dof):
            gained = (answer.momentum[i] - last.momentum[i]) * over
            column = (answer.momentum_column[i] - last.momentum_column[i]) * over
            r.append(share * tau[i] - gained - 0.5 * (answer.torque[i] + last.torque[i]))
            c.append(column + 0.5 * (answer.column[i] + last.column[i]))
        return GridSample(r, c, qd, math.sqrt(answer.speed2))


@lru_cache(maxsize=16)
def _first_filter(n: int, m: int, has_qd: bool, a: float, per: float) -> Compiled:
    """New state of m channels in four stages and of n directions, from x (m,) and the old state.

    A direction is tanh(rate / smoothing). The rate is the third channel's where it is given; else
    the difference of the angle's first stage, so that its own first stage is left out.
    """

    def trace(inputs: Sequence[Any]) -> list[Any]:
        # the flat arguments: the sample, four stages of it, four stages of directions
        x, rest = list(inputs[:m]), list(inputs[m:])
        old = [rest[k * m : (k + 1) * m] for k in range(STAGES)]
        directions = [rest[STAGES * m + k * n : STAGES * m + (k + 1) * n] for k in range(STAGES)]
        new, values = [], x
        for stage in old:
            values = [y + a * (u - y) for y, u in zip(stage, values, strict=True)]
            new.append(values)
        if has_qd:
            s = [SCALARS.tanh(v * per) for v in x[2 * n : 3 * n]]
            s = [y + a * (u - y) for y, u in zip(directions[0], s, strict=True)]
        else:
            pairs = zip(new[0][:n], old[0][:n], strict=True)
            s = [SCALARS.tanh((u - y) * per) for u, y in pairs]
        turned = [s]
        for k in range(1, STAGES):
            s = [y + a * (u - y) for y, u in zip(directions[k], s, strict=True)]
            turned.append(s)
        return [value for row in (*new, *turned) for value in row]

    return straight_line(m * (1 + STAGES) + n * STAGES, trace)


# A recording on the grid: residuals and payload columns of all its stretches.


GAP = 10.0  # sample times: a longer pause parts the samples


@dataclass(frozen=True, eq=False)
class GridSeries:
    """Residuals r (M, dof), columns c, rates qd and platform speeds; `starts` of stretches.

    `t` (M,) is when a residual was known, `grid.delay` after what it speaks of.
    """

    grid: Grid
    t: FloatArray
    r: FloatArray
    c: FloatArray
    qd: FloatArray
    speed: FloatArray
    starts: tuple[int, ...]


def recorded_grid(
    robot: Robot, recording: Recording, *, rate: float | None = None, form: str = "acceleration"
) -> GridSeries:
    """All residuals of a recording, without those of the filter's first moments.

    `rate` (Hz) is that of the recording where it is left out. Measured rates are used where the
    recording has both; else they come from the angles.
    """
    check_recording_of(robot, recording)
    own = sampling_rate(recording) if rate is None else rate
    grid = Grid.of(own, form)
    front = FrontEnd(robot, grid)
    times: list[float] = []
    samples: list[GridSample] = []
    starts: list[int] = []
    waiting = 0
    for t, row, new in even_rows(recording, grid.rate):
        if new:
            front.reset()
            waiting = grid.warm_up
            starts.append(len(samples))
        sample = front.push(*row)
        if sample is None:
            continue
        if waiting:
            waiting -= 1
            continue
        times.append(t)
        samples.append(sample)
    shape = (-1, robot.dof)
    columns = [np.array([getattr(x, name) for x in samples]) for name in GridSample._fields]
    r, c, qd = (column.reshape(shape) for column in columns[:3])
    kept = tuple(start for start in starts if start < len(samples))
    return GridSeries(grid, np.array(times), r, c, qd, columns[3], kept)


class Sample(NamedTuple):
    """One sample, each (dof,): rad, rad/s, rad/s^2, N m; rates that are not measured are None."""

    q: list[float]
    qd: list[float] | None
    qdd: list[float] | None
    tau: list[float]


class EvenRow(NamedTuple):
    """A sample at a time in s, and whether a stretch begins with it."""

    t: float
    sample: Sample
    new: bool


def even_rows(recording: Recording, rate: float) -> Iterator[EvenRow]:
    """The samples of a recording at an even rate (Hz); missing rows are interpolated.

    Up to ten sample times are bridged by a straight line, as `identify` does.
    """
    measured = recording.qd is not None and recording.qdd is not None
    parts = [recording.q, recording.tau]
    if measured:
        parts += [recording.qd, recording.qdd]  # type: ignore[list-item]
    values = np.concatenate(parts, axis=1)
    dof, last, before = recording.dof, None, None
    for t, row in zip(recording.t.tolist(), values, strict=True):
        new = last is None or t - last > GAP / rate
        if not new and last is not None and before is not None:
            missing = round((t - last) * rate) - 1
            for k in range(1, missing + 1):
                share = k / (missing + 1)
                between = (1 - share) * before + share * row
                sample = _split(between, dof, measured)
                yield EvenRow(last + share * (t - last), sample, False)
        yield EvenRow(t, _split(row, dof, measured), new)
        last, before = t, row


def sampling_rate(recording: Recording) -> float:
    """The rate of a recording in Hz, to three digits: clocks jitter."""
    step = recording.sample_time
    if not step > 0:
        raise InputError("sample time", step, "above 0 s", where=recording.name)
    return float(f"{1 / step:.3g}")


def delay_of(robot: Any) -> float:
    """The delay in s that a fit found between angle and torque; 0 without one."""
    terms = getattr(robot, "terms", None)
    for term in getattr(terms, "found", ()):
        if term.name == "delay":
            return float(term.values["delay"][0])
    return 0.0


def check_recording_of(robot: Robot, recording: object) -> None:
    """A recording of a robot with as many axes, with times that run forward and finite values."""
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    if recording.dof != robot.dof:
        allowed = f"{robot.dof}, as robot {robot.name!r} has"
        raise InputError("axes of the recording", recording.dof, allowed)
    bad = np.flatnonzero(~np.isfinite(np.column_stack([recording.t, recording.q, recording.tau])))
    if bad.size:
        row = int(bad[0]) // (1 + 2 * recording.dof)
        raise InputError("recording", "NaN", "finite values", where=f"row {row}")
    back = np.flatnonzero(np.diff(recording.t) <= 0)
    if back.size:
        value = float(recording.t[back[0] + 1])
        raise InputError("t", value, "times that run forward", where=f"row {back[0] + 1}")


def _split(row: FloatArray, dof: int, measured: bool) -> Sample:
    """A row of q, tau and, where they are measured, qd and qdd."""
    x = row.tolist()
    if not measured:
        return Sample(x[:dof], None, None, x[dof : 2 * dof])
    return Sample(x[:dof], x[2 * dof : 3 * dof], x[3 * dof :], x[dof : 2 * dof])
