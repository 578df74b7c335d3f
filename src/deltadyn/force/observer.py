"""The force observer: one sample at a time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnreachableError
from deltadyn.force.axes import SlowStates
from deltadyn.force.contact import Contact, Force, Watch
from deltadyn.force.filtering import settle, smoothed
from deltadyn.force.rows import WINDOW, ForceRows, force_rows, torque_at
from deltadyn.force.settings import SCALE, STAGES
from deltadyn.force.tare import Tare
from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.payload.estimator import FEW, Intake, Samples
from deltadyn.payload.front_end import Sample
from deltadyn.payload.settings import Pace
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS
from deltadyn.streams.order import ON_TIME


@dataclass(frozen=True, eq=False)
class Followed:
    """What a stretch of samples told, a row per sample that was used.

    `t` (M,) s, `force` and `std` (M, dof), as `ForceObserver` has them after the sample. `alarms`
    are rows at which the alarm became another, with it. `refused` samples were not used; `reason`
    is that of the first.
    """

    t: FloatArray
    force: FloatArray
    std: FloatArray
    alarms: tuple[tuple[int, Contact], ...]
    refused: int = 0
    reason: str = ""

    def __add__(self, other: Followed) -> Followed:
        later = tuple((row + len(self.t), contact) for row, contact in other.alarms)
        return Followed(
            np.concatenate([self.t, other.t]),
            np.concatenate([self.force, other.force]),
            np.concatenate([self.std, other.std]),
            self.alarms + later,
            self.refused + other.refused,
            self.reason or other.reason,
        )


class ForceObserver:
    """Force on the platform from angles and torques, with contacts.

    `update(q, tau)` takes a sample. Then `force` (dof,) holds the external force on the platform
    in N (base frame; on a 4-DOF robot the moment about z in N m behind it), `std` its deviation,
    `contact` the alarm, which stays until `reset()`. It is no safety function.
    """

    def __init__(self, robot: Any, tare: Tare) -> None:
        """`robot` is an identified Robot or a fit, `tare` that of its empty run."""
        own = getattr(robot, "robot", robot)
        if not isinstance(own, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
        if len(tare.axes.held) != own.dof:
            raise InputError(
                "axes of the tare", len(tare.axes.held), f"{own.dof}, as the robot has"
            )
        self.robot, self.tare, self.options = own, tare, tare.options
        self._empty = own
        late = self.options.delay * self.options.rate
        self._late, self._early = max(0, math.ceil(late - 1.5)), max(0, math.ceil(-1.5 - late))
        # a force by interpolated angles would be none that acted: every gap begins anew
        self._intake = Intake(own, Pace.of(own, self.options.rate), longest=ON_TIME)
        self._watch = Watch(tare)
        self._states = SlowStates(tare.axes, self.options)
        self._gain, self._settle = self.options.gain, settle(self.options)
        self._unsure = 0.0
        self.reset()

    def reset(self) -> None:
        """Forget samples, force, alarm, and what friction has changed since the empty run."""
        self._intake.reset()
        self._states.reset()
        self._restart()
        self._watch.reset()

    def acknowledge(self) -> None:
        """Forget the alarm and go on with the force."""
        self._watch.reset()

    def carry(self, mass: float, std: float | None = None) -> None:
        """From now on the platform carries this payload (kg): its weight is no force.

        What a mass with the deviation `std` (kg) leaves is no contact either. By default it is 3 %
        of the mass: torque constants and gears tell no load better.
        """
        if std is None:
            std = SCALE * mass
        if not 0 <= std < np.inf:
            raise InputError("std", std, "a number of kg from 0")
        self.robot = self._empty.with_payload(mass, self._empty.payload.offset)
        self._unsure = std

    @property
    def contact(self) -> Contact | None:
        """The alarm, until it is reset."""
        return self._watch.contact

    @property
    def ready(self) -> bool:
        """Whether the filter has settled."""
        return self._rows > self._settle

    def _pause(self) -> None:
        """Begin anew after a pause: what friction did meanwhile is not known."""
        pause = self._intake.t - self._intake.before
        if math.isfinite(pause):
            self._states.wait(pause)
        self._restart()

    def _restart(self) -> None:
        dof = self.robot.dof
        self._q: deque[FloatArray] = deque(maxlen=WINDOW + self._late)
        self._tau: deque[FloatArray] = deque(maxlen=WINDOW + self._late + self._early)
        self._rows = 0
        self._stages: list[ForceRows] = []
        self._pose: FloatArray | None = None  # of the last row, where it has to be followed
        self.force, self.std = np.zeros(dof), np.full(dof, np.inf)

    def update(
        self, q: Sequence[float], tau: Sequence[float], *, t: float | None = None
    ) -> FloatArray:
        """Take a sample (rad, N m; each (dof,)) and give the force (dof,); 0 until it is ready.

        Angles at which the loop does not close raise an InputError and begin anew.
        """
        rows = self._intake.rows(q, None, None, tau, t)
        if rows is None:
            self._pause()
            rows = self._intake.first(q, None, None, tau)
        for row in rows:
            self._take(np.asarray(row.q), np.asarray(row.tau))
        return self.force

    def follow(self, q: FloatArray, tau: FloatArray, t: FloatArray) -> Followed:
        """Take samples q, tau (n, dof) at t (n,) at once: as `update` one by one, but faster.

        Samples that `update` refuses with an InputError are counted.
        """
        found = self._nothing()
        waiting: list[Sample] = []
        times: list[float] = []
        given, k, looked = Samples(q, None, None, tau, t), 0, 0
        while k < len(given):
            even = self._intake.even(given.part(k, len(given))) if k >= looked else 0
            if even:
                part = given.part(k, k + even)
                self._intake.took(part)
                waiting += part.samples
                times += part.t.tolist()
                k += even
                continue
            looked, k = max(looked, k + FEW), k + 1  # the next ones are looked at one by one
            own = given.sample(k - 1)
            try:
                rows = self._intake.rows(*own, float(t[k - 1]))
            except InputError as error:
                found += replace(self._nothing(), refused=1, reason=str(error))
                continue
            if rows is None:
                found += self._flushed(waiting, times)
                waiting, times = [], []
                self._pause()
                rows = self._intake.first(*own)
            waiting += rows
            times += [self._intake.t] * len(rows)
        return found + self._flushed(waiting, times)

    def _nothing(self) -> Followed:
        dof = self.robot.dof
        return Followed(np.zeros(0), np.zeros((0, dof)), np.zeros((0, dof)), ())

    def _flushed(self, samples: list[Sample], times: list[float]) -> Followed:
        """Take even samples; where the loop does not close, one by one."""
        if not samples:
            return self._nothing()
        t, reach = np.array(times), WINDOW + self._late
        q = np.array([*list(self._q)[1 - reach :], *(sample.q for sample in samples)])
        before = list(self._tau)[1 - reach - self._early :]
        tau = np.array([*before, *(sample.tau for sample in samples)])
        shift = len(tau) - len(q)
        count = max(0, len(q) - reach + 1)
        late = shift + 1.5 + self.options.delay * self.options.rate
        places = np.arange(count, dtype=np.float64) + late
        if count:
            try:
                rows = force_rows(
                    self.robot,
                    q[: count + WINDOW - 1],
                    torque_at(tau, places),
                    1 / self.options.rate,
                )
            except (UnreachableError, np.linalg.LinAlgError):
                return self._one_by_one(samples, t)
        self._q.extend(np.asarray(sample.q) for sample in samples)
        self._tau.extend(np.asarray(sample.tau) for sample in samples)
        force, std = np.zeros((len(t), self.robot.dof)), np.full((len(t), self.robot.dof), np.inf)
        first = len(t) - count + max(0, self._settle - self._rows)  # with a force
        if count:
            rows, stages = smoothed(rows, self._stages, self._gain)
            self._stages = stages
            self._rows += count
        if first >= len(t):
            return Followed(t, force, std, ())
        rows = rows.at(slice(count - len(t) + first, None))
        judged = self._states.follow(rows, self._unsure)
        seen = Force.of(rows, judged)
        force[first:], std[first:] = seen.force, seen.std
        self.force, self.std = force[-1].copy(), std[-1].copy()
        alarms = self._watch.follow(t[first:], rows, judged, seen)
        return Followed(t, force, std, tuple((first + row, item) for row, item in alarms))

    def _one_by_one(self, samples: list[Sample], t: FloatArray) -> Followed:
        found = self._nothing()
        for sample, time in zip(samples, t, strict=True):
            before = self.contact
            try:
                self._take(np.asarray(sample.q), np.asarray(sample.tau))
            except InputError as error:
                found += replace(self._nothing(), refused=1, reason=str(error))
                continue
            now = self.contact
            alarms = () if now is None or now is before else ((0, now),)
            found += Followed(np.array([time]), self.force[None], self.std[None], alarms)
        return found

    def _take(self, q: FloatArray, tau: FloatArray) -> None:
        """The window's oldest four samples make a row; its torque may lie before or behind."""
        self._q.append(q)
        self._tau.append(tau)
        if len(self._q) < WINDOW + self._late:
            return
        tau_rows = np.array(self._tau)
        place = len(tau_rows) - len(self._q) + 1.5 + self.options.delay * self.options.rate
        own = torque_at(tau_rows, np.array([place]))
        window = np.array(self._q)[:WINDOW]
        try:
            if self.robot.legs > ARMS:
                middle = (window[1] + window[2]) / 2
                self._pose = forward_kinematics(self.robot, middle, hint=self._pose)
            rows = force_rows(self.robot, window, own, 1 / self.options.rate, self._pose)
        except (UnreachableError, np.linalg.LinAlgError):
            self._restart()
            allowed = "angles at which the loop closes"
            raise InputError("q", window[-1].tolist(), allowed) from None
        self._stages = [rows] * STAGES if not self._stages else self._stages
        for k, stage in enumerate(self._stages):
            rows = self._stages[k] = stage.towards(rows, self._gain)
        self._rows += 1
        if not self.ready:
            return
        judged = self._states.follow(rows, self._unsure)
        seen = Force.of(rows, judged)
        self.force, self.std = seen.force[0], seen.std[0]
        self._watch.step(self._intake.t, rows, judged, seen)
