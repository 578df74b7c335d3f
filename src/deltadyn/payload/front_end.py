"""From raw samples to residual and payload column: a filter, the model at 250 Hz, a second filter.

Angles, torques and the directions of the rates pass the same light low-pass filter; rates come from
differences of its output. Residual and column, which are linear in the mass, then pass a narrow
filter alike, so that what swings in the gears leaves both. Both filters are cascades of equal
first-order stages. One narrow filter before the model would bend the torque, which is not linear in
the angles: 1 N m on quick moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.backends.straight_line import SYMBOLS, Function, straight_line
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters, exact_parameters
from deltadyn.dynamics.passive import Pose, passive_torque
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mechanism import pose_of

# Dual numbers over any objects with arithmetic: a value and its rate along a direction.


class Dual:
    """value + rate * epsilon; arithmetic carries the derivative along."""

    __slots__ = ("rate", "value")

    def __init__(self, value: Any, rate: Any = 0.0) -> None:
        self.value = value
        self.rate = rate

    def __add__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value + b.value, self.rate + b.rate)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value - b.value, self.rate - b.rate)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value * b.value, self.value * b.rate + self.rate * b.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        b = _dual(other)
        ratio = self.value / b.value
        return Dual(ratio, (self.rate - ratio * b.rate) / b.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __lt__(self, other: Any) -> Any:
        return self.value < _dual(other).value


def dual_namespace(xp: Any) -> Any:
    """`sqrt`, `cos`, `sin` and `where` of dual numbers whose parts the namespace `xp` handles."""

    def sqrt(x: Any) -> Dual:
        a = _dual(x)
        root = xp.sqrt(a.value)
        return Dual(root, a.rate / (2 * root))

    def cos(x: Any) -> Dual:
        a = _dual(x)
        return Dual(xp.cos(a.value), -(xp.sin(a.value) * a.rate))

    def sin(x: Any) -> Dual:
        a = _dual(x)
        return Dual(xp.sin(a.value), xp.cos(a.value) * a.rate)

    def where(condition: Any, yes: Any, no: Any) -> Dual:
        a, b = _dual(yes), _dual(no)
        if _equal(a.rate, b.rate):
            return Dual(xp.where(condition, a.value, b.value), a.rate)
        return Dual(xp.where(condition, a.value, b.value), xp.where(condition, a.rate, b.rate))

    return SimpleNamespace(sqrt=sqrt, cos=cos, sin=sin, where=where)


def _dual(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(value)


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, int | float) and isinstance(b, int | float) and a == b


# Nominal torque and payload column of one sample, as straight-line Python over floats.
#
# The torque without payload and the column c with tau = tau_0 + m c come from the one source of the
# exact model. On floats this takes some ten microseconds; arrays of one sample take a millisecond.


SHARP = 1e-6  # rad/s: of passive joints whose friction names no smoothing

Floats = tuple[float, ...]
Vector = tuple[Component, ...]


class Answer(NamedTuple):
    """Torque without payload (N m), what one kg adds (N m/kg), square of the speed (m^2/s^2).

    Both are (dof,). Of the momentum form the two are the parts without an acceleration, and
    `momentum`, `momentum_column` (N m s, N m s/kg) are those whose rate is to be added.
    """

    torque: Floats
    column: Floats
    speed2: float
    momentum: Floats = ()
    momentum_column: Floats = ()


@dataclass(frozen=True, eq=False)
class SampleModel:
    """The exact model of a robot, its friction, and a payload at the robot's payload offset.

    tau = torque + m column                       with `at(q, qd, qdd, direction)`
    tau = torque + m column + d/dt (momentum + m momentum_column)     with `momentum_at(q, qd, ...)`
    `direction` (dof,) is the sign of every joint rate, as a number from -1 to 1.
    """

    dof: int
    accelerated: Function
    moving: Function

    @classmethod
    def of(cls, robot: Robot) -> SampleModel:
        """The model of a robot whose own payload counts as part of it."""
        return _compiled(robot)

    def at(
        self, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float], s: Sequence[float]
    ) -> Answer:
        """One sample, each (dof,). ValueError or ZeroDivisionError where no loop closes."""
        n = self.dof
        out = self.accelerated(*q, *qd, *qdd, *s)
        return Answer(out[:n], out[n : 2 * n], out[2 * n])

    def momentum_at(self, q: Sequence[float], qd: Sequence[float], s: Sequence[float]) -> Answer:
        """One sample without an acceleration, each (dof,)."""
        n = self.dof
        out = self.moving(*q, *qd, *s)
        return Answer(
            out[:n], out[n : 2 * n], out[2 * n], out[2 * n + 1 : 3 * n + 1], out[3 * n + 1 :]
        )


@lru_cache(maxsize=16)
def _compiled(robot: Robot) -> SampleModel:
    dof = robot.dof

    def parts(inputs: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
        return [tuple(inputs[k * dof : (k + 1) * dof]) for k in range(count)]

    return SampleModel(
        dof,
        straight_line(4 * dof, lambda x: _accelerated(robot, *parts(x, 4))),
        straight_line(3 * dof, lambda x: _moving(robot, *parts(x, 3))),
    )


def payload_parameters(robot: Robot) -> ExactParameters:
    """The exact model's parameters of one kg at the robot's payload offset, and nothing else."""
    par, (x, y, _) = exact_parameters(robot), robot.payload.offset
    spindle = None
    if par.spindle is not None:
        none = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        own = SpindleParameters(par.spindle.pivot_z, h_x=x, h_y=y, I_psi=x**2 + y**2, **none)
        spindle = own
    zero = (0.0, 0.0, 0.0)
    return replace(par, M_P=1.0, m_x=zero, A=zero, G=zero, G_s=zero, spindle=spindle)


def _accelerated(robot: Robot, q: Vector, qd: Vector, qdd: Vector, s: Vector) -> list[Component]:
    par = exact_parameters(robot)
    pose = pose_of(SYMBOLS, par.limbs, q, qd)
    pdd = tuple(pose.pdd[k] + _along(pose, qdd, k) for k in range(robot.dof))

    def torque(parameters: ExactParameters) -> list[Component]:
        return inverse_dynamics(SYMBOLS, parameters, pose.c, pose.s, qd, qdd, pose.p, pose.pd, pdd)

    tau, column = torque(par), torque(payload_parameters(robot))
    rotor = robot.drives.output_inertia
    through = [tau[i] - rotor[i] * qdd[i] for i in range(robot.dof)]
    tau, column = _with_friction(robot, pose, qd, s, tau, column, through)
    return [*tau, *column, _square(pose.pd)]


def _moving(robot: Robot, q: Vector, qd: Vector, s: Vector) -> list[Component]:
    """tau = d/dt (M qd) - Md qd + h, where Md qd is the rate of M(q) v at v = qd held."""
    par, dof = exact_parameters(robot), robot.dof
    pose, zero = pose_of(SYMBOLS, par.limbs, q, qd), (0.0,) * dof
    xp = dual_namespace(SYMBOLS)
    moving = pose_of(
        xp,
        par.limbs,
        tuple(Dual(q[i], qd[i]) for i in range(dof)),
        tuple(Dual(qd[i]) for i in range(dof)),
    )
    held = tuple(Dual(qd[i]) for i in range(dof))

    def terms(parameters: ExactParameters) -> tuple[list[Component], list[Component]]:
        h = inverse_dynamics(
            SYMBOLS, parameters, pose.c, pose.s, qd, zero, pose.p, pose.pd, pose.pdd
        )
        weightless = replace(parameters, gravity=0.0)
        rest = inverse_dynamics(
            xp, weightless, moving.c, moving.s, zero, held, moving.p, zero, moving.pd
        )
        both = [x if isinstance(x, Dual) else Dual(x) for x in rest]
        return [h[i] - both[i].rate for i in range(dof)], [x.value for x in both]

    tau, momentum = terms(par)
    column, momentum_column = terms(payload_parameters(robot))
    tau, column = _with_friction(robot, pose, qd, s, tau, column, tau)
    return [*tau, *column, _square(pose.pd), *momentum, *momentum_column]


def _with_friction(
    robot: Robot,
    pose: Pose,
    qd: Vector,
    s: Vector,
    tau: list[Component],
    column: list[Component],
    load: list[Component],
) -> tuple[list[Component], list[Component]]:
    """Torque and column with friction; `load` is what goes through the gears without payload."""
    friction, xp = robot.friction, SYMBOLS
    if friction.passive:
        sharp = friction if friction.smoothing else replace(friction, smoothing=SHARP)
        pivot_z = 0.0 if robot.spindle is None else robot.spindle.pivot_z
        limbs = exact_parameters(robot).limbs
        passive = passive_torque(xp, sharp, limbs, pivot_z, pose, qd)
        tau = [a + b for a, b in zip(tau, passive, strict=True)]
        load = [a + b for a, b in zip(load, passive, strict=True)]
    out, columns = [], []
    for i in range(robot.dof):
        dry: Component = friction.coulomb[i]
        if friction.coulomb_negative is not None:
            dry = xp.where(s[i] < 0.0, friction.coulomb_negative[i], dry)
        if friction.stribeck is not None and friction.stribeck_velocity is not None:
            ratio = qd[i] / friction.stribeck_velocity[i]
            half = xp.tanh(ratio * ratio / 2)
            dry = dry + friction.stribeck[i] * ((1 - half) / (1 + half))  # exp(-ratio^2)
        total = tau[i] + friction.viscous[i] * qd[i] + dry * s[i]
        own = column[i]
        if friction.offset is not None:
            total = total + friction.offset[i]
        if friction.load is not None:
            share = friction.load[i] * s[i] * xp.where(load[i] < 0.0, -1.0, 1.0)
            total, own = total + share * load[i], own + share * own
        out.append(total)
        columns.append(own)
    return out, columns


def _along(pose: Pose, qdd: Vector, k: int) -> Component:
    return sum((pose.J[j][k] * qdd[j] for j in range(1, len(qdd))), pose.J[0][k] * qdd[0])


def _square(pd: Vector) -> Component:
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
    return 1.0 / max(robot.friction.smoothing or 0.0, SMOOTHING)


class FrontEnd:
    """The filters' state; `push` takes a sample and gives a residual at every `grid.step`-th."""

    def __init__(self, robot: Robot, grid: Grid) -> None:
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
        self.filter: Function | None = None
        self.channels = 0
        self.narrow: list[list[float]] = []
        self.count = 0
        self.waiting: GridSample | None = None
        self.torque_sum = [0.0] * self.dof
        self.answer: Answer | None = None

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
        self.state = (*(x * STAGES), *([0.0] * (n * STAGES)))
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
        new, mid, old = (x[3 * m : 4 * m] for x in (self.state, self.last, self.before))
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
        first = 3 * self.channels + self.dof
        old, new = self.before, self.last
        self.torque_sum = [
            y + 0.5 * (old[i] + new[i]) for i, y in enumerate(self.torque_sum, start=first)
        ]

    def _momentum_residual(
        self, q: Sequence[float], qd: Sequence[float], s: Sequence[float]
    ) -> GridSample | None:
        """The mean torque of an interval against the change of momentum over it."""
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
def _first_filter(n: int, m: int, has_qd: bool, a: float, per: float) -> Function:
    """New state of m channels in four stages and of n directions, from x (m,) and the old state.

    A direction is tanh(rate / smoothing). The rate is the third channel's where it is given; else
    the difference of the angle's first stage, so that its own first stage is left out.
    """

    def trace(inputs: Sequence[Any]) -> list[Any]:
        x, rest = list(inputs[:m]), list(inputs[m:])
        old = [rest[k * m : (k + 1) * m] for k in range(STAGES)]
        directions = [rest[STAGES * m + k * n : STAGES * m + (k + 1) * n] for k in range(STAGES)]
        new, values = [], x
        for stage in old:
            values = [y + a * (u - y) for y, u in zip(stage, values, strict=True)]
            new.append(values)
        if has_qd:
            s = [SYMBOLS.tanh(v * per) for v in x[2 * n : 3 * n]]
            s = [y + a * (u - y) for y, u in zip(directions[0], s, strict=True)]
        else:
            pairs = zip(new[0][:n], old[0][:n], strict=True)
            s = [SYMBOLS.tanh((u - y) * per) for u, y in pairs]
        turned = [s]
        for k in range(1, STAGES):
            s = [y + a * (u - y) for y, u in zip(directions[k], s, strict=True)]
            turned.append(s)
        return [value for row in (*new, *turned) for value in row]

    return straight_line(m * (1 + STAGES) + n * STAGES, trace)
