"""From samples to the rows of the bank: two filters of finite length, the model between them.

Angles and torques pass a Hann window of 8 ms to both sides, which also gives rates and
accelerations; at about 500 Hz the model gives the torque f of the empty robot without losses and
the column c of one kg; residual, column and regressors pass a second Hann window of 12 ms to both
sides and are taken at about 125 Hz. All windows are symmetric, so that a row speaks of one instant,
20 ms before its last sample.

What gears lose of a load is taken from the measured torque, so that it needs no mass:

    r = tau - f - mu |load| tanh(qd / e),   load (1 + mu tanh sign(load)) = through + tau - f

with `through` the part of f that goes through the gears; the motors' own loss is mu |tau| tanh.
A delay of the torque moves its window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.payload.bank import Row
from deltadyn.payload.front_end import SLOWEST, SampleModel, check_recording_of, even_rows
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

FIRST, SECOND = 0.008, 0.012  # s to both sides, of the two windows
MODEL_RATE, ROW_RATE = 500.0, 125.0  # Hz, about
SMOOTHING = 0.02  # rad/s: e of a direction tanh(qd / e), at least
REVERSAL = 0.05  # rad/s: an arm below it is near a reversal
ACROSS = 1.5  # rows from the first row of a change to the change itself
LONGEST_DELAY = 0.02  # s
MANY = 40  # models at once from which arrays are faster than floats


class RowNumbers(NamedTuple):
    """How samples become rows: the numbers of the two windows and of the losses."""

    dof: int
    rate: float  # Hz of the samples
    first: int  # samples to both sides, of the first window
    step: int  # samples from model to model
    second: int  # models to both sides, of the second window
    every: int  # models from row to row
    delay: float  # s by which the torque is logged after the angle
    over_smoothing: float  # s/rad: a direction is tanh(qd over_smoothing)
    over_reversal: float  # s/rad: rev is 1 - |tanh(qd over_reversal)|
    load: tuple[float, ...]  # (dof,) mu of the gears, 0 without
    motor_load: tuple[float, ...]  # (dof,) mu of the motors
    ratio: tuple[float, ...]  # (dof,) reported over true torque

    @classmethod
    def of(cls, robot: Robot, rate: float, delay: float = 0.0) -> RowNumbers:
        """Those of a robot whose samples come at `rate` Hz."""
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= SLOWEST:
            raise InputError("rate", rate, f"at least {SLOWEST:g} Hz")
        if not math.isfinite(rate):
            raise InputError("rate", rate, "a finite number of Hz")
        if not abs(delay) <= LONGEST_DELAY:
            raise InputError("delay", delay, f"within {LONGEST_DELAY:g} s")
        step = max(1, round(rate / MODEL_RATE))
        friction, none = robot.friction, (0.0,) * robot.dof
        return cls(
            dof=robot.dof,
            rate=float(rate),
            first=max(1, round(FIRST * rate)),
            step=step,
            second=max(1, round(SECOND * rate / step)),
            every=max(1, round(rate / step / ROW_RATE)),
            delay=float(delay),
            over_smoothing=1.0 / max(friction.smoothing or 0.0, SMOOTHING * robot.radian[0]),
            over_reversal=1.0 / (REVERSAL * robot.radian[0]),
            load=none if friction.load is None else tuple(friction.load),
            motor_load=none if friction.motor_load is None else tuple(friction.motor_load),
            ratio=tuple(robot.sensors.torque_ratio),
        )

    @property
    def interval(self) -> float:
        """Time between rows in s."""
        return self.step * self.every / self.rate

    @property
    def behind(self) -> int:
        """Samples from the middle of the first windows to the newest sample."""
        return max(self.first + 1, self.first + math.ceil(self.delay * self.rate))

    @property
    def length(self) -> int:
        """Samples that the first windows reach over."""
        early = max(0, math.ceil(-self.delay * self.rate) - 1)
        return self.behind + self.first + 2 + early

    @property
    def lateness(self) -> float:
        """How far a row lies behind its last sample, in s."""
        return (self.behind + self.second * self.step) / self.rate

    @property
    def change(self) -> float:
        """How far a change lies behind the last sample of its first row, in s."""
        return self.lateness - ACROSS * self.interval

    @property
    def kernels(self) -> FloatArray:
        """Weights (4, length) of the samples, oldest first: angle, rate, acceleration, torque."""
        w, length = hann(self.first), self.length
        middle = length - 1 - self.behind
        out = np.zeros((4, length))

        def at(place: int) -> FloatArray:
            row = np.zeros(length)
            row[place - self.first : place + self.first + 1] = w
            return row

        before, now, after = (at(middle + k) for k in (-1, 0, 1))
        out[0], out[1] = now, (after - before) * (self.rate / 2)
        out[2] = (after - 2 * now + before) * self.rate**2
        late = self.delay * self.rate
        low = math.floor(late)
        out[3] = (1 - late + low) * at(middle + low)
        if late > low:
            out[3] += (late - low) * at(middle + low + 1)
        return out

    @property
    def narrow(self) -> FloatArray:
        """Weights (2 second + 1,) of the models in a row."""
        return hann(self.second)

    @property
    def share(self) -> tuple[float, ...]:
        """Share of a load in the first rows after it was picked, until all of it is there.

        A mean over changes within half a row to both sides.
        """
        spread = np.zeros(2 * self.second * self.step + 1)
        spread[:: self.step] = hann(self.second)
        between = np.full(self.step * self.every, 1.0 / (self.step * self.every))
        together = np.convolve(np.convolve(hann(self.first), spread), between)
        risen = np.concatenate([[0.0], np.cumsum(together)])
        out: list[float] = []
        while True:
            place = (len(out) - ACROSS) * self.step * self.every + len(together) / 2
            share = float(np.interp(place, np.arange(len(risen)), risen))
            if share > 0.99:
                return tuple(out)
            out.append(share)


def hann(half: int) -> FloatArray:
    """A Hann window of 2 half + 1 weights above 0 with the sum 1."""
    w = 0.5 * (1 + np.cos(np.pi * np.arange(-half, half + 1) / (half + 1)))
    out: FloatArray = w / w.sum()
    return out


def lossless(robot: Robot) -> Robot:
    """The robot without payload and without losses by load."""
    friction = replace(robot.friction, load=None, motor_load=None)
    return robot.replace(friction=friction).with_payload(0.0, robot.payload.offset)


class RowFront:
    """The windows' state; `push` takes a sample and gives a row at every 8 ms or so.

    `torque` (dof,) is the measured torque in that row.
    """

    def __init__(self, robot: Robot, numbers: RowNumbers) -> None:
        self.numbers, self.dof, self.legs = numbers, robot.dof, robot.legs
        self.model = SampleModel.of(lossless(robot))
        self.kernels, self.narrow, self.length = numbers.kernels, numbers.narrow, numbers.length
        self.width = 6 * self.dof + 1
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        n = self.numbers
        # rings that are written twice, so that the last samples always lie in one piece
        self.samples: FloatArray = np.zeros((2 * n.length, 2 * self.dof))
        self.models: FloatArray = np.zeros((2 * len(self.narrow), self.width))
        self.count = self.modelled = 0
        self.torque: FloatArray = np.zeros(self.dof)
        self.model.reset()

    def push(self, q: Sequence[float], tau: Sequence[float]) -> Row | None:
        """Take one sample, each (dof,). ValueError or ZeroDivisionError where no loop closes."""
        n, length = self.numbers, self.length
        place = self.count % length
        self.samples[place] = self.samples[place + length] = (*q, *tau)
        self.count += 1
        if self.count < length or self.count % n.step:
            return None
        window = self.samples[self.count % length : self.count % length + length]
        size = len(self.narrow)
        place = self.modelled % size
        self.models[place] = self.models[place + size] = self._model(self.kernels @ window)
        self.modelled += 1
        if self.modelled < size or self.modelled % n.every:
            return None
        start = self.modelled % size
        return self._row(self.narrow @ self.models[start : start + size])

    def push_many(self, q: FloatArray, tau: FloatArray) -> list[tuple[int, Row]] | None:
        """Take samples (n, dof): the rows as `push` gives them, each with the sample that gave it.

        None, and nothing is taken, where a loop does not close: `push` tells which sample it is.
        """
        n, length, size = self.numbers, self.length, len(self.narrow)
        block = np.concatenate([q, tau], axis=1)
        place = self.count % length
        both = np.concatenate([self.samples[place : place + length], block])
        ends = np.arange(self.count + 1, self.count + 1 + len(block))  # samples up to and with each
        ends = ends[(ends >= length) & (ends % n.step == 0)]
        windows = sliding_window_view(both, length, axis=0)[ends - self.count]  # (M, 2 dof, length)
        models = self._many_models(windows @ self.kernels.T) if len(ends) else None
        if len(ends) and models is None:
            return None
        self._keep(self.samples, block, self.count)
        before, self.count = self.count, self.count + len(block)
        if models is None:
            return []
        place = self.modelled % size
        both = np.concatenate([self.models[place : place + size], models])
        numbers = np.arange(self.modelled + 1, self.modelled + 1 + len(models))
        chosen = np.flatnonzero((numbers >= size) & (numbers % n.every == 0))
        rows = sliding_window_view(both, size, axis=0)[chosen + 1] @ self.narrow
        self._keep(self.models, models, self.modelled)
        self.modelled += len(models)
        places = (ends[chosen] - before - 1).tolist()
        return [(place, self._row(row)) for place, row in zip(places, rows, strict=True)]

    @staticmethod
    def _keep(ring: FloatArray, new: FloatArray, count: int) -> None:
        """Write the last of new values into a ring that has taken `count` ones before."""
        size = len(ring) // 2
        kept = new[-size:]
        places = (count + len(new) - len(kept) + np.arange(len(kept))) % size
        ring[places] = ring[places + size] = kept

    def _many_models(self, filtered: FloatArray) -> FloatArray | None:
        """What `_model` gives for filtered samples (M, 2 dof, 4); None where no loop closes."""
        dof, n = self.dof, self.numbers
        if len(filtered) < MANY or self.model.follower is not None:
            before = self.model.place
            try:
                return np.array([self._model(one.T) for one in filtered])
            except (ValueError, ZeroDivisionError):
                self.model.go_back(before)
                return None
        q, qd, qdd = (filtered[:, :dof, k] for k in range(3))
        tau = filtered[:, dof:, 3]
        s = np.tanh(qd * n.over_smoothing)
        answer = self.model.at_many(q, qd, qdd, s)
        if answer is None:
            return None
        torque, column, through, speed2 = answer
        left = tau - torque
        mu, ratio = np.array(n.load), np.array(n.ratio)
        load = through + left / ratio
        load /= 1.0 + mu * np.where(load > 0, s, -s)
        left -= s * ratio * mu * np.abs(load)
        r = left - s * np.array(n.motor_load) * np.abs(tau)
        rev = 1.0 - np.abs(np.tanh(qd * n.over_reversal))
        return np.concatenate([r, column, qd, s, rev, tau, np.sqrt(speed2)[:, None]], axis=1)

    def _model(self, filtered: FloatArray) -> list[float]:
        """Residual, column, rate, direction, rev, torque and speed at the middle of the window."""
        dof, n = self.dof, self.numbers
        rows = filtered.tolist()
        q, qd, qdd, tau = rows[0][:dof], rows[1][:dof], rows[2][:dof], rows[3][dof:]
        s = [math.tanh(rate * n.over_smoothing) for rate in qd]
        answer = self.model.at(q, qd, qdd, s)
        r = []
        for i in range(dof):
            left = tau[i] - answer.torque[i]
            if n.load[i]:
                load = answer.through[i] + left / n.ratio[i]
                load /= 1.0 + n.load[i] * (s[i] if load > 0 else -s[i])
                left -= s[i] * n.ratio[i] * n.load[i] * abs(load)
            r.append(left - s[i] * n.motor_load[i] * abs(tau[i]))
        rev = [1.0 - abs(math.tanh(rate * n.over_reversal)) for rate in qd]
        return [*r, *answer.column, *qd, *s, *rev, *tau, math.sqrt(answer.speed2)]

    def _row(self, x: FloatArray) -> Row:
        parts = x[:-1].reshape(6, self.dof)
        self.torque = parts[5]
        r, c, qd, direction, rev = (part[: self.legs].copy() for part in parts[:5])
        return Row(r, c, qd, direction, rev, float(x[-1]))


@dataclass(frozen=True, eq=False)
class RowSeries:
    """The rows of a recording: (M, legs) as in `Row` and `torque`, `t` and `speed` (M,).

    `t` is the time of a row's last sample; `starts` are the first rows of stretches.
    """

    numbers: RowNumbers
    t: FloatArray
    r: FloatArray
    c: FloatArray
    qd: FloatArray
    direction: FloatArray
    rev: FloatArray
    speed: FloatArray
    torque: FloatArray
    starts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.t)

    def row(self, k: int) -> Row:
        """One of them."""
        r, c, qd = self.r[k], self.c[k], self.qd[k]
        return Row(r, c, qd, self.direction[k], self.rev[k], float(self.speed[k]))


def recorded_rows(robot: Robot, recording: Recording, numbers: RowNumbers) -> RowSeries:
    """All rows of a recording."""
    check_recording_of(robot, recording)
    front = RowFront(robot, numbers)
    times: list[float] = []
    rows: list[Row] = []
    torques: list[FloatArray] = []
    starts: list[int] = []
    for t, sample, new in even_rows(recording, numbers.rate):
        if new:
            front.reset()
            starts.append(len(rows))
        row = front.push(sample.q, sample.tau)
        if row is not None:
            times.append(t)
            rows.append(row)
            torques.append(front.torque[: robot.legs].copy())
    r, c, qd, direction, rev = (
        np.array([row[k] for row in rows]).reshape(-1, robot.legs) for k in range(5)
    )
    speed = np.array([row.speed for row in rows])
    torque = np.array(torques).reshape(-1, robot.legs)
    kept = tuple(start for start in starts if start < len(rows))
    return RowSeries(numbers, np.array(times), r, c, qd, direction, rev, speed, torque, kept)
