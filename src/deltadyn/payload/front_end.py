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
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.payload.sample_model import Answer, SampleModel
from deltadyn.robot import Robot
from deltadyn.simulation.straight_line import SYMBOLS, Function, straight_line

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


class FrontEnd:
    """The filters' state; `push` takes a sample and gives a residual at every `grid.step`-th."""

    def __init__(self, robot: Robot, grid: Grid) -> None:
        self.robot, self.grid = robot, grid
        self.model = SampleModel.of(robot.with_payload(0.0, robot.payload.offset))
        self.dof, self.gain, self.narrow_gain = robot.dof, grid.gain, grid.narrow_gain
        self.over_smoothing = 1.0 / max(robot.friction.smoothing or 0.0, SMOOTHING)
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
