"""What the empty run tells the bank: friction as it is now, how it walks, the noise of its rows.

Per arm, on the rows of an empty run, r = z theta + v with v_k = phi v_k-1 + e_k:

- theta by least squares, then by the Kalman filter whose walk is the likeliest of `STRENGTHS`;
- phi from v, at most that of the rows' own filter;
- var e = a + b rev^2 by non-negative least squares;
- rho, the deviation of v over the RMS torque: how far a load's own torque may be off;
- scale: every second way is taken for a load, which must come out as 0 within its deviation. Where
  these masses vary more than that, all deviations are scaled up by as much;
- top: the highest odds of a pick that the bank sees in the run, which must be passed by far;
- zero: the mean of these masses, with the fit's deviation of the platform's mass;
- delay: that of the torque behind the angles, where no fit has looked for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.payload.bank import MASS, NEVER, PICK, VARIANCE, Bank, BankNumbers
from deltadyn.payload.gripper_signal import PRIOR_S, SignalNumbers
from deltadyn.payload.rows import RowNumbers, RowSeries, recorded_rows
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

# theta: what it walks by in a second, and what it may have changed by since the empty run
VISCOUS_WALK, COULOMB_WALK, OFFSET_WALK = 0.03, 0.01, 0.1  # of Fv, of Fc, N m
VISCOUS_CHANGE, COULOMB_CHANGE, OFFSET_CHANGE = 0.25, 0.12, 0.3  # of Fv, of Fc, N m
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 2.0)  # of the walk, from which the likeliest is taken
LEAST_VISCOUS, LEAST_COULOMB = 0.01, 0.02  # of the RMS torque, where a robot names no friction
MOST_PHI = 0.65  # what the rows' own filter makes of white noise
FLOOR = 0.05  # of the mean square: least a
GAIN = 0.015  # of a mass: the mean torque constant, which no log shows
FEWEST = 100  # rows of an arm in motion
NULLS = 6  # ways, at least, that tell a scale; else windows of WINDOW s do
WINDOW = 0.35  # s
WORTH = 0.05  # of the residual's variance that a delay must explain
LONGEST = 0.005  # s of such a delay
TURNS = 2  # times that a delay is looked for

# of a robot without an empty run
ASSUMED_LEVEL = 0.02  # of the RMS torque for 100 rad/s^2
ASSUMED_ZERO = 0.05  # kg
ASSUMED_GAIN = 0.03  # of a mass
UNKNOWN = 2.0  # times the change of theta since an empty run

# the bank
SPREAD = 1.5  # kg
EXTRA, EXTRA_EARLY, EARLY = 0.02, 0.08, 0.032  # share, share, s
HUBER = 4.0
KEEP = 20
PICK_REST, PICK_MOVING = 0.01, 1e-5  # per row of 8 ms
RELEASE_REST, RELEASE_MOVING = 0.02, 1e-4
ROW = 0.008  # s
NEAR_REST = 0.04  # s
REST_SHARE, PEAK_TIME = 0.2, 0.4  # of the highest speed of late; s after which it counts 1/e
SHORTEST, GAP, LAG, STILL, WARM_UP = 0.08, 0.032, 0.128, 0.048, 0.096  # s
LIGHTEST = 0.04  # kg
PICK_ODDS, RELEASE_ODDS, LOST_ODDS = 6.0, 3.0, 3.0  # decades
MARGIN = 4.0  # decades of a pick above what the empty run showed
REV_LIMIT = 0.5

# the gripper's signal
EARLIEST_EDGE_S, LATEST_EDGE_S = -0.06, 0.16  # after a change, with 10 ms for its row
# Decades that an edge may add to the odds of a change. More makes picks known sooner and lighter
# ones seen; below MARGIN an edge alone makes no pick.
MAX_EDGE_DECADES = 3.0
SIGNAL_MEMORY_PICKS, SIGNAL_MEMORY_S = 32.0, 30.0  # picks, s: what is older counts 1/e


@dataclass(frozen=True)
class LoadTare:
    """What the bank knows of an empty robot; tuples have an entry per arm, those of theta three."""

    rows: RowNumbers
    phi: tuple[float, ...]
    variance: tuple[float, ...]  # a, (N m)^2, without the scale
    reversal: tuple[float, ...]  # b
    theta: tuple[float, ...]
    deviation: tuple[float, ...]  # of theta in production
    walk: tuple[float, ...]  # variance per row
    strength: float  # of the walk
    rho: float
    scale: float
    zero: float  # kg
    gain: float  # share of a mass
    top: float  # decades
    source: str

    @classmethod
    def of(
        cls,
        robot: Robot,
        recording: Recording,
        rate: float,
        *,
        zero: float,
        delay: float | None = None,
    ) -> LoadTare:
        """Of an empty recording, or one whose `payload` is known; `zero` (kg) is the fit's own.

        A `delay` (s) that is None is looked for in the rows.
        """
        numbers = RowNumbers.of(robot, rate, delay or 0.0)
        series = _rows(robot, recording, numbers)
        for _ in range(TURNS if delay is None else 0):
            late = _left_delay(series)
            if not late:
                break
            numbers = RowNumbers.of(robot, rate, numbers.delay + late)
            series = _rows(robot, recording, numbers)
        arms = [_arm(series, i) for i in range(robot.legs)]
        scales = _scales(robot, np.sqrt(np.mean(series.torque**2, axis=0)))
        strength, theta, spread = _likeliest(series, arms, scales)
        rms = np.sqrt(np.mean(series.torque**2, axis=0))
        rho = float(
            np.sqrt(np.mean([(arm.level / x) ** 2 for arm, x in zip(arms, rms, strict=True)]))
        )
        first = cls(
            rows=numbers,
            phi=tuple(arm.phi for arm in arms),
            variance=tuple(arm.a for arm in arms),
            reversal=tuple(arm.b for arm in arms),
            theta=tuple(theta.ravel().tolist()),
            deviation=tuple(np.sqrt(spread + np.square(scales.change)).ravel().tolist()),
            walk=tuple((np.square(strength * scales.walk) * numbers.interval).ravel().tolist()),
            strength=strength,
            rho=rho,
            scale=1.0,
            zero=zero,
            gain=math.hypot(GAIN, rho),
            top=-math.inf,
            source=f"{recording.name}, {len(series)} rows",
        )
        return first._compared(series)

    @classmethod
    def assumed(cls, robot: Robot, rate: float, torque: FloatArray, delay: float = 0.0) -> LoadTare:
        """Without an empty run: wide, and said so; `torque` (dof,) is a usual one in N m."""
        numbers = RowNumbers.of(robot, rate, delay)
        legs = robot.legs
        usual = np.asarray(torque)[:legs]
        scales = _scales(robot, usual)
        coulomb = np.maximum(robot.friction.coulomb[:legs], LEAST_COULOMB * usual)
        level = np.square(ASSUMED_LEVEL * usual)
        return cls(
            rows=numbers,
            phi=(MOST_PHI,) * legs,
            variance=tuple(((1 - MOST_PHI**2) * level).tolist()),
            reversal=tuple(np.square(COULOMB_CHANGE * coulomb).tolist()),
            theta=(0.0,) * (3 * legs),
            deviation=tuple((UNKNOWN * scales.change).ravel().tolist()),
            walk=tuple((np.square(scales.walk) * numbers.interval).ravel().tolist()),
            strength=1.0,
            rho=ASSUMED_LEVEL,
            scale=1.0,
            zero=ASSUMED_ZERO,
            gain=math.hypot(ASSUMED_GAIN, ASSUMED_LEVEL),
            top=-math.inf,
            source="assumed, no empty run",
        )

    @property
    def known(self) -> bool:
        """Whether an empty run stands behind it."""
        return not self.source.startswith("assumed")

    @property
    def summary(self) -> str:
        """One line."""
        delay = f", delay {1e3 * self.rows.delay:.2f} ms" if self.rows.delay else ""
        odds = f", odds up to 1e{self.top:.0f}" if self.top > 0 else ""
        return (
            f"bank: deviation x {self.scale:.2f}{odds}, friction walks x {self.strength:g}, gain "
            f"{100 * self.gain:.1f} %, zero {1e3 * self.zero:.1f} g{delay} ({self.source})"
        )

    def numbers(self, rest_speed: float = 0.15) -> BankNumbers:
        """Every number of the bank."""
        interval, square = self.rows.interval, self.scale**2

        def rows(seconds: float) -> int:
            return max(1, math.ceil(seconds / interval - 1e-9))

        per = interval / ROW
        return BankNumbers(
            phi=self.phi,
            variance=tuple(square * x for x in self.variance),
            reversal=tuple(square * x for x in self.reversal),
            rev_limit=REV_LIMIT,
            share=self.rows.share,
            warm_up=rows(WARM_UP),
            theta=self.theta,
            deviation=self.deviation,
            walk=self.walk,
            spread=SPREAD,
            extra=EXTRA,
            extra_early=EXTRA_EARLY,
            early=rows(EARLY),
            huber=HUBER,
            keep=KEEP,
            pick_rest=PICK_REST * per,
            pick_moving=PICK_MOVING * per,
            release_rest=RELEASE_REST * per,
            release_moving=RELEASE_MOVING * per,
            rest_speed=rest_speed,
            rest_share=REST_SHARE,
            peak_keep=math.exp(-interval / PEAK_TIME),
            near_rest=rows(NEAR_REST),
            shortest=rows(SHORTEST),
            gap=max(rows(GAP), len(self.rows.share)),
            lag=rows(LAG),
            still=rows(STILL),
            lightest=LIGHTEST,
            pick_odds=max(PICK_ODDS, self.top + MARGIN) * math.log(10),
            release_odds=RELEASE_ODDS * math.log(10),
            lost_odds=LOST_ODDS * math.log(10),
            zero=self.zero,
            gain=self.gain,
            signal=self.signal_numbers,
        )

    @property
    def signal_numbers(self) -> SignalNumbers:
        """The numbers of the gripper's signal: an edge lies half a row before the row's end."""
        interval, behind = self.rows.interval, self.rows.change - self.rows.interval / 2
        first = math.floor((EARLIEST_EDGE_S - behind) / interval)
        last = math.ceil((LATEST_EDGE_S - behind) / interval)
        return SignalNumbers(
            first=first,
            delays=last - first + 1,
            most=10.0**MAX_EDGE_DECADES,
            pick_keep=1 - 1 / SIGNAL_MEMORY_PICKS,
            row_keep=math.exp(-interval / SIGNAL_MEMORY_S),
            prior_rows=PRIOR_S / interval,
        )

    def _compared(self, series: RowSeries) -> LoadTare:
        """With the scale and the zero of loads that are none."""
        masses, variances = null_picks(self, series)
        if len(masses) < NULLS:
            return self
        weights = 1 / variances
        level = float(weights @ masses / weights.sum())
        scale = max(1.0, float(np.sqrt(np.mean(masses**2 / variances))))
        scaled = replace(self, scale=scale, zero=math.hypot(self.zero, level))
        return replace(scaled, top=top_odds(scaled, series))


class _Arm(NamedTuple):
    """Noise of an arm's rows."""

    theta: FloatArray
    phi: float
    a: float
    b: float
    level: float  # N m, deviation of v


class _Scales(NamedTuple):
    """Deviations (legs, 3) of theta: what it walks by in sqrt(s), what it may have changed by."""

    walk: FloatArray
    change: FloatArray


def _scales(robot: Robot, torque: FloatArray) -> _Scales:
    legs = robot.legs
    viscous = np.maximum(robot.friction.viscous[:legs], LEAST_VISCOUS * torque)
    coulomb = np.maximum(robot.friction.coulomb[:legs], LEAST_COULOMB * torque)
    one = 1 / np.asarray(robot.radian[:legs])  # on rails the force at the end of such an arm
    walk = np.stack([VISCOUS_WALK * viscous, COULOMB_WALK * coulomb, OFFSET_WALK * one], axis=1)
    change = np.stack(
        [VISCOUS_CHANGE * viscous, COULOMB_CHANGE * coulomb, OFFSET_CHANGE * one], axis=1
    )
    return _Scales(walk, change)


def _rows(robot: Robot, recording: Recording, numbers: RowNumbers) -> RowSeries:
    """The rows of an empty run; a payload that the recording names is taken off."""
    series = recorded_rows(robot, recording, numbers)
    if recording.payload:
        series.r[:] -= float(recording.payload) * series.c
    for i in range(robot.legs):
        count = int((series.rev[:, i] <= REV_LIMIT).sum())
        if count < FEWEST:
            allowed = f"at least {FEWEST}, about {FEWEST * numbers.interval:.2g} s of motion"
            raise InputError("rows in motion", count, allowed, where=f"axis {i + 1}")
    return series


def _columns(series: RowSeries, arm: int) -> FloatArray:
    ones = np.ones(len(series))
    return np.stack([series.qd[:, arm], series.direction[:, arm], ones], axis=1)


def _linked(series: RowSeries, arm: int) -> tuple[BoolArray, BoolArray]:
    """Which rows of an arm count, and which of them follow one that does."""
    used = series.rev[:, arm] <= REV_LIMIT
    linked = used.copy()
    linked[1:] &= used[:-1]
    linked[[0, *series.starts]] = False
    return used, linked


def _arm(series: RowSeries, arm: int) -> _Arm:
    from scipy.optimize import nnls  # takes longer than the rest of the import

    z, r = _columns(series, arm), series.r[:, arm]
    used, linked = _linked(series, arm)
    theta = np.asarray(np.linalg.lstsq(z[used], r[used], rcond=None)[0], np.float64)
    v, at = r - z @ theta, np.flatnonzero(linked)
    if not np.any(v[used]):
        raise InputError("residual", 0.0, "above 0 N m: this is the model's own torque")
    phi = float(np.clip(v[at] @ v[at - 1] / (v[at - 1] @ v[at - 1]), 0.0, MOST_PHI))
    square = (v[at] - phi * v[at - 1]) ** 2
    (a, b), _ = nnls(np.stack([np.ones(len(at)), series.rev[at, arm] ** 2], axis=1), square)
    least = FLOOR * float(square.mean())
    return _Arm(theta, phi, max(float(a), least), float(b), float(np.std(v[used])))


def _likeliest(
    series: RowSeries, arms: list[_Arm], scales: _Scales
) -> tuple[float, FloatArray, FloatArray]:
    """The strength of the walk, theta (legs, 3) at the end of the run, and its variances.

    One Kalman filter per strength and arm, side by side.
    """
    legs = series.r.shape[1]
    z = np.stack([_columns(series, i) for i in range(legs)], axis=1)  # (M, legs, 3)
    flags = [_linked(series, i) for i in range(legs)]
    used, linked = (np.stack([flag[k] for flag in flags], axis=1) for k in (0, 1))
    phi = np.array([arm.phi for arm in arms])
    noise = np.array([arm.a for arm in arms]) + np.array([arm.b for arm in arms]) * series.rev**2
    noise = np.where(linked, noise, noise / (1 - phi**2))
    own = np.where(linked, phi, 0.0)
    y, x = series.r.copy(), z.copy()
    y[1:] -= own[1:] * series.r[:-1]
    x[1:] -= own[1:, :, None] * z[:-1]
    count = len(STRENGTHS)
    walk = np.square(np.array(STRENGTHS)[:, None, None] * scales.walk) * series.numbers.interval
    Q = np.einsum("sij,jk->sijk", walk, np.eye(3))
    P = np.broadcast_to(
        np.einsum("ij,jk->ijk", np.square(scales.change), np.eye(3)), Q.shape
    ).copy()
    theta = np.broadcast_to(np.stack([arm.theta for arm in arms]), (count, legs, 3)).copy()
    likelihood = np.zeros(count)
    for k in range(len(series)):
        P += Q
        if not used[k].any():
            continue
        on = used[k].astype(float)
        Pz = (P * x[k][None, :, None, :]).sum(axis=3)
        S = (Pz * x[k]).sum(axis=2) + noise[k]
        e = y[k] - (theta * x[k]).sum(axis=2)
        size = np.abs(e) / np.sqrt(S)
        loss = np.where(size > HUBER, HUBER * (size - HUBER / 2), size**2 / 2)
        likelihood -= ((loss + 0.5 * np.log(S)) * on).sum(axis=1)
        kept = e * (HUBER / np.maximum(size, HUBER)) * on
        K = Pz / S[:, :, None]
        theta += K * kept[:, :, None]
        P -= (on[:, None] * K)[..., :, None] * Pz[..., None, :]
    best = int(np.argmax(likelihood))
    return STRENGTHS[best], theta[best], np.einsum("ijj->ij", P[best]).copy()


def _left_delay(series: RowSeries) -> float:
    """The delay in s that the rows still show; 0 where it explains next to nothing.

    A torque that is logged late by d leaves -d times its rate in the residual.
    """
    rate = np.gradient(series.torque, series.numbers.interval, axis=0)
    top = bottom = explained = 0.0
    for i in range(series.r.shape[1]):
        _, linked = _linked(series, i)
        inside = linked.copy()
        inside[:-1] &= linked[1:]
        columns = np.column_stack([_columns(series, i), -rate[:, i]])[inside]
        r = series.r[inside, i]
        plain = np.linalg.lstsq(columns[:, :3], np.column_stack([r, columns[:, 3]]), rcond=None)[0]
        left = np.column_stack([r, columns[:, 3]]) - columns[:, :3] @ plain
        weight = 1 / max(float(np.mean(left[:, 0] ** 2)), 1e-12)
        top += weight * float(left[:, 0] @ left[:, 1])
        bottom += weight * float(left[:, 1] @ left[:, 1])
        explained += len(r)
    if bottom <= 0 or top * top / bottom < WORTH * explained:
        return 0.0
    late = top / bottom
    return late if abs(late) <= LONGEST else 0.0


def null_picks(tare: LoadTare, series: RowSeries) -> tuple[FloatArray, FloatArray]:
    """Masses (kg) and variances of ways that are called loaded, every second one, in two passes."""
    numbers = tare.numbers()
    ways = _ways(series, numbers)
    masses, variances = [], []
    for turn in range(2):
        bank = Bank(numbers)
        begins = {begin for begin, _ in ways[turn::2]}
        ends = {end for _, end in ways[turn::2]}
        for k in range(len(series)):
            if k in series.starts:
                bank.reset()
            if k in begins and not bank.skip:
                bank.take()
            elif k in ends and bank.loaded:
                own = bank.table[0]
                if own[VARIANCE] < SPREAD**2 / 4:
                    masses.append(float(own[MASS]))
                    variances.append(float(own[VARIANCE]))
                bank.drop()
            bank.step(series.row(k), changes=False)
    return np.array(masses), np.array(variances)


def top_odds(tare: LoadTare, series: RowSeries) -> float:
    """The highest odds of a pick, in decades, over the rows of an empty run."""
    bank, top = Bank(tare.numbers()), NEVER
    for k in range(len(series)):
        if k in series.starts:
            bank.reset()
        bank.step(series.row(k))
        if bank.event == PICK or not bank.loaded:
            top = max(top, bank.odds)
        if bank.loaded:
            bank.drop()
    return top / math.log(10)


def _ways(series: RowSeries, numbers: BankNumbers) -> list[tuple[int, int]]:
    """Rows from rest to rest, or windows of a fixed length where the robot does not rest."""
    rest = series.speed < numbers.rest_speed
    leaves = np.flatnonzero(np.diff(rest.astype(int)) == -1) + 1
    ways = [(int(a), int(b)) for a, b in pairwise(leaves) if b - a >= numbers.shortest]
    if len(ways) >= NULLS:
        return ways
    length = max(numbers.shortest, round(WINDOW / series.numbers.interval))
    return list(pairwise(range(0, len(series), length)))
