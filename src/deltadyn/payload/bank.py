"""A bank of hypotheses about the load: empty, or loaded since some row; rows in, events out.

A row holds the torque residual r (N m) of every arm, the payload's column c (N m/kg) and the
regressors z = (qd, direction, 1) of theta = (dFv, dFc, o), the change of friction and offset:

    r = z theta + w m c + v,   v_k = phi v_k-1 + e_k,   var e = a + b rev^2 + (extra m c)^2

with w the share of the load in the rows' filter. theta walks slowly. Each hypothesis is a Kalman
filter of (theta, m). They share the covariance P of theta given m, which does not depend on the
residuals: a hypothesis holds theta as it would be without a load, the part U of the load's torque
that theta has taken, and m with its variance Pm (a two-stage filter). With K = P z / S and the
differences z, r, w c of two rows that phi makes white:

    e = r - z theta,   s = w c - z U,   e = s m + noise of variance S = z P z + var e
    theta += K e,   U += K s,   and theta - U m is the mean of theta given m

Times are counted in rows. Memory is fixed: `keep` + 8 hypotheses of 31 numbers with three arms. A
spindle's torque says nothing of a mass: it has no rows. Nothing here knows a robot; every number is
in `BankNumbers`, and nothing else decides.

The gripper's signal is evidence (`gripper_signal.py`): an edge near the begin or the end of a load
makes that hypothesis more likely, no edge makes none less likely.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.payload.gripper_signal import CLOSING, NO_EDGE, OPENING, GripperSignal, SignalNumbers

TERMS = 3  # of theta per arm
SPAWNING = 6  # loaded hypotheses that a release is tried on in a row
NOTHING, PICK, RELEASE, LOST_GRIP = range(4)  # events
NEVER = -1e30  # logarithm of no chance at all
_sum, _largest = np.add.reduce, np.maximum.reduce  # of few numbers: sooner than x.sum(), x.max()
LONG = 1e6  # rows: an age of something that was never otherwise

# columns of the hypotheses' table
MASS, VARIANCE, WEIGHT, CARRIES, AGE, SHARE, COUNT = range(7)
DONE, BEGUN, ENDED, DONE_MASS, DONE_VARIANCE, IN_MOTION = range(7, 13)
BEGIN_EDGE, DONE_EDGE, END_EDGE = range(13, 16)  # delays of the gripper's signal
SCALARS = 16  # then theta and U of all arms


class BankNumbers(NamedTuple):
    """The numbers of a bank, in SI units; tuples have one entry per arm unless said."""

    # rows
    phi: tuple[float, ...]  # of the residual from row to row
    variance: tuple[float, ...]  # a, (N m)^2, scale of the deviation included
    reversal: tuple[float, ...]  # b, (N m)^2, the same
    rev_limit: float  # above it a row of an arm is dropped
    share: tuple[float, ...]  # w of the first rows after a change; 1 from then on
    warm_up: int  # rows at the begin that do not count
    # theta: dFv, dFc, o of the first arm, then of the next
    theta: tuple[float, ...]  # (3 arms,) mean at the begin
    deviation: tuple[float, ...]  # its standard deviation
    walk: tuple[float, ...]  # variance that a row adds
    # load
    spread: float  # kg: deviation of a load before it is seen
    extra: float  # error of a load's torque, share of it
    extra_early: float  # the same in the first rows after a change
    early: int  # how many these are
    huber: float  # deviations from which a row counts less
    # changes
    keep: int  # hypotheses
    pick_rest: float  # chance of a pick per row at rest,
    pick_moving: float  # and in motion
    release_rest: float
    release_moving: float
    rest_speed: float  # m/s: slower is at rest,
    rest_share: float  # and so is less than this share of the highest speed of late,
    peak_keep: float  # of which a row keeps so much
    near_rest: int  # rows before and after a rest that count as at rest, for the name of an end
    shortest: int  # rows of a pick, at least
    gap: int  # rows between two picks, at least
    lag: int  # rows after which a finished pick is settled
    still: int  # rows without any arm from which the bank waits
    # answers
    lightest: float  # kg: a load that is surely lighter is none
    pick_odds: float  # natural logarithm of the odds from which a pick is announced
    release_odds: float
    lost_odds: float  # of a load that went in motion, against one that was put down
    # deviation of a mass m: sqrt(its variance + zero^2 + (gain m)^2)
    zero: float  # kg
    gain: float
    signal: SignalNumbers


class Row(NamedTuple):
    """One row: residual r (N m), column c (N m/kg), rate qd (rad/s), direction, rev, (arms,) each.

    `rev` (0 to 1) tells how near to a reversal an arm was; `speed` is the platform's (m/s).
    """

    r: FloatArray
    c: FloatArray
    qd: FloatArray
    direction: FloatArray
    rev: FloatArray
    speed: float


class Filed(NamedTuple):
    """A finished pick: ages of its begin and end in rows, mass (kg), variance (kg^2).

    `lost` tells that it went in motion, `seen` that it was announced.
    """

    begun: int
    ended: int
    mass: float
    variance: float
    lost: bool
    seen: bool


class Bank:
    """The hypotheses; `step` takes a row.

    After it `event` is NOTHING, PICK, RELEASE or LOST_GRIP, and `filed` the pick that it settled or
    None. `loaded`, `mass`, `variance` are what is believed (kg, kg^2; in a row that announces an
    end those of the finished pick). `begun`, `ended` are the ages in rows of the changes that were
    announced last, `odds` the natural logarithm of the odds of a pick that is not announced.
    """

    def __init__(self, numbers: BankNumbers) -> None:
        self.numbers = n = numbers
        self.size, self.arms = n.keep + SPAWNING + 2, len(n.phi)
        self.theta, self.taken = _places(SCALARS + 2 * TERMS * self.arms)
        self.phi, self.a, self.b = (np.array(x) for x in (n.phi, n.variance, n.reversal))
        self.unlinked = 1 / (1 - self.phi**2)
        self.walk = _diagonals(np.array(n.walk))
        self.ramp = np.array([*n.share, 1.0])
        self.signal = GripperSignal(n.signal)
        self.reset()

    def reset(self, *, loaded: bool = False) -> None:
        """Begin anew with a robot that is empty, or that carries something throughout.

        What was learned of the gripper's signal stays.
        """
        n = self.numbers
        self.signal.lose_level()
        self.P = _diagonals(np.square(n.deviation))
        self.table: FloatArray = np.zeros((self.size, self.taken.stop))
        self.count = 1  # hypotheses: the first rows of the table
        first = self.table[0]
        first[self.theta], first[AGE] = n.theta, LONG
        first[[BEGIN_EDGE, DONE_EDGE, END_EDGE]] = NO_EDGE
        if loaded:
            first[CARRIES], first[VARIANCE], first[SHARE] = 1.0, n.spread**2, 1.0
        self.last: Row | None = None
        self.skip = n.warm_up
        self.dead = 0  # rows in a row in which all arms were dropped
        self.peak = 0.0  # m/s, the highest speed of late
        self.moving = 0  # rows since the platform was at rest
        self.announced = 0  # picks announced and not settled
        self.loaded = loaded
        self.mass, self.variance = 0.0, n.spread**2 if loaded else 0.0
        self.begun = self.ended = 0
        self.event, self.odds = NOTHING, NEVER
        self.filed: Filed | None = None

    def std(self, mass: float, variance: float) -> float:
        """Deviation in kg of a mass with this variance, with what no averaging takes away."""
        n = self.numbers
        return math.sqrt(variance + n.zero**2 + (n.gain * mass) ** 2)

    def step(self, row: Row, *, holding: bool | None = None, changes: bool = True) -> None:
        """Take a row. `holding` is the gripper's signal, `changes=False` keeps the load."""
        n = self.numbers
        self.event, self.filed = NOTHING, None
        self.P += self.walk
        edge = self.signal.detect_edge(holding)
        if self.skip:
            self.skip -= 1
            self.last = row
            return
        live = bool((row.rev <= n.rev_limit).any())
        self.dead = 0 if live else self.dead + 1
        self.peak = max(row.speed, self.peak * n.peak_keep)
        rest = row.speed < max(n.rest_speed, n.rest_share * self.peak)
        self.moving = 0 if rest else self.moving + 1
        self._grow_older()
        if changes and edge != NO_EDGE:
            self._weigh_edge(edge)
        if changes and self.dead <= n.still:
            self._spawn()
        if live:
            self._measure(row)
        self.last = row
        if changes:
            self._empty_filters()
            self._prune()
            self._decide()
            self._file()
        self._believe()

    def take(self) -> None:
        """A load from the next row on, whatever the rows say: for loads that are only assumed."""
        best = self.table[: self.count][self.table[: self.count, WEIGHT].argmax()].copy()
        if not best[CARRIES]:
            self._take_up(best)
            best[COUNT] = 1.0
        best[DONE] = 0.0
        self._only(best)
        self.announced, self.loaded = 1, True
        self.mass, self.variance = float(best[MASS]), float(best[VARIANCE])

    def drop(self) -> None:
        """The load is none from the next row on, and was none: for loads that are only assumed."""
        best = self.table[0]
        _forget_load(best)
        best[CARRIES], best[AGE], best[COUNT] = 0.0, LONG, 0.0
        self._only(best.copy())
        self.announced, self.loaded, self.mass, self.variance = 0, False, 0.0, 0.0

    def _only(self, hypothesis: FloatArray) -> None:
        self.table[0], self.count = hypothesis, 1
        self.table[0, WEIGHT] = 0.0

    # one row

    def _grow_older(self) -> None:
        """Ages; what changed since all arms stand still is taken to have changed last."""
        own = self.table[: self.count]
        waits = self.dead > self.numbers.still
        for column in (AGE, BEGUN, ENDED):
            ages = own[:, column]
            ages += ages >= self.dead if waits and column != BEGUN else 1.0
        self.signal.age_edges(self.dead, self.numbers.still)
        self.begun += 1
        self.ended += 1
        if self.moving == 0:  # a load that went just before a rest was put down
            own[own[:, ENDED] <= self.numbers.near_rest, IN_MOTION] = 0.0

    def _weigh_edge(self, kind: int) -> None:
        """An edge of the signal makes the hypotheses likelier whose change is near it.

        A change has one edge: the one that speaks for it most. An opening edge speaks for the end
        of an announced pick only, so that a pick is announced by one edge at most.
        """
        signal, own = self.signal, self.table[: self.count]
        signal.ages[kind] = 0.0
        if kind == CLOSING:
            near, age, column = own[:, CARRIES] > 0, AGE, BEGIN_EDGE
        else:
            known = own[:, COUNT] <= self.announced
            near, age, column = known & (own[:, DONE] > 0), ENDED, END_EDGE
        for k in near.nonzero()[0]:
            delay = signal.delay_bin(kind, own[k, age])
            more = signal.log_gain(kind, delay) - signal.log_gain(kind, int(own[k, column]))
            if more > 0:
                own[k, WEIGHT] += more
                own[k, column] = delay

    def _spawn(self) -> None:
        """The best empty hypothesis picks, the best loaded ones release."""
        n, signal, own = self.numbers, self.signal, self.table[: self.count]
        rest = self.moving == 0
        pick = n.pick_rest if rest else n.pick_moving
        release = n.release_rest if rest else n.release_moving
        carries, age = own[:, CARRIES] > 0, own[:, AGE]
        weight = own[:, WEIGHT].copy()
        own[:, WEIGHT] += np.where(carries, math.log1p(-release), math.log1p(-pick))
        parent = _best(weight, ~carries & (age >= n.gap) & (own[:, COUNT] < 2))
        if parent >= 0:
            delay = signal.delay_bin(CLOSING)
            chance = math.log(pick) + signal.log_gain(CLOSING, delay)
            child = self._child(own[parent], weight[parent] + chance)
            self._take_up(child)
            child[COUNT] += 1.0
            child[BEGIN_EDGE] = delay
        held = (carries & (age >= n.shortest) & (own[:, DONE] == 0)).nonzero()[0]
        if not len(held):
            return
        for parent in held[(-weight[held]).argsort(kind="stable")[:SPAWNING]]:
            known = own[parent, COUNT] <= self.announced
            delay = signal.delay_bin(OPENING) if known else NO_EDGE
            chance = math.log(release) + signal.log_gain(OPENING, delay)
            child = self._child(own[parent], weight[parent] + chance)
            self._let_go(child, in_motion=self.moving > n.near_rest)
            child[END_EDGE] = delay

    def _child(self, parent: FloatArray, weight: float) -> FloatArray:
        child: FloatArray = self.table[self.count]
        child[:] = parent
        child[WEIGHT] = weight
        self.count += 1
        return child

    def _take_up(self, one: FloatArray) -> None:
        """An empty hypothesis picks."""
        if one[VARIANCE] > 0:  # of a load that is still leaving the filter
            _forget_load(one)
        one[CARRIES], one[AGE], one[BEGIN_EDGE] = 1.0, 0.0, NO_EDGE
        one[VARIANCE] = self.numbers.spread**2

    def _let_go(self, one: FloatArray, *, in_motion: bool) -> None:
        """A loaded hypothesis releases; its load leaves the filter within the next rows."""
        one[DONE], one[BEGUN], one[ENDED], one[IN_MOTION] = 1.0, one[AGE], 0.0, float(in_motion)
        one[DONE_MASS], one[DONE_VARIANCE] = one[MASS], one[VARIANCE]
        one[DONE_EDGE], one[END_EDGE] = one[BEGIN_EDGE], NO_EDGE
        one[CARRIES], one[AGE] = 0.0, 0.0

    def _measure(self, row: Row) -> None:
        """The Kalman filter of all hypotheses, on the arms of this row that tell something."""
        n, own = self.numbers, self.table[: self.count]
        last = row if self.last is None else self.last
        used = row.rev <= n.rev_limit
        linked = used & (last.rev <= n.rev_limit)
        phi = np.where(linked, self.phi, 0.0)
        z = np.empty((self.arms, TERMS))
        z[:, 0], z[:, 1] = row.qd - phi * last.qd, row.direction - phi * last.direction
        z[:, 2] = 1.0 - phi
        noise = (self.a + self.b * row.rev**2) * np.where(linked, 1.0, self.unlinked)
        Pz = _sum(self.P * z[:, None, :], 2)
        S = _sum(Pz * z, 1) + noise
        K = np.where(used[:, None], Pz / S[:, None], 0.0)
        self.P -= K[:, :, None] * Pz[:, None, :]

        theta, U = (own[:, part].reshape(-1, *z.shape) for part in (self.theta, self.taken))
        m, Pm, age = own[:, MASS], own[:, VARIANCE], own[:, AGE]
        ramp = self.ramp[np.minimum(age, len(n.share)).astype(np.int64)]
        w = np.where(own[:, CARRIES] > 0, ramp, np.where(Pm > 0, 1.0 - ramp, 0.0))
        e = (row.r - phi * last.r) - _sum(theta * z, 2)
        s = w[:, None] * row.c - own[:, SHARE, None] * (phi * last.c) - _sum(U * z, 2)
        v = e - s * m[:, None]
        rough = np.where(age < n.early, n.extra_early, n.extra) * m
        Sm = S + (rough[:, None] * row.c) ** 2
        size = np.abs(v) / np.sqrt(Sm + s * s * Pm[:, None])
        far = np.maximum(size - n.huber, 0.0) * used
        kept = v * (n.huber / np.maximum(size, n.huber))  # v, or its size at the limit
        over = used / Sm
        J, b = _sum(s * s * over, 1), _sum(s * kept * over, 1)
        grown = 1.0 + Pm * J
        fit = _sum(kept * kept * over, 1) - Pm * b * b / grown
        volume = grown * np.where(used, Sm / S, 1.0).prod(axis=1)
        own[:, WEIGHT] -= 0.5 * (fit + np.log(volume)) + n.huber * _sum(far, 1)
        own[:, VARIANCE] = Pm / grown
        own[:, MASS] = m + own[:, VARIANCE] * b
        gain = K * (S / Sm)[:, :, None]
        own[:, self.theta] += (gain * (e - v + kept)[:, :, None]).reshape(len(own), -1)
        own[:, self.taken] += (gain * s[:, :, None]).reshape(len(own), -1)
        own[:, SHARE] = w

    def _empty_filters(self) -> None:
        """Masses of finished picks; loads that have left the filter are forgotten."""
        own = self.table[: self.count]
        leaving = ((own[:, CARRIES] == 0) & (own[:, VARIANCE] > 0)).nonzero()[0]
        if not len(leaving):
            return
        own[leaving, DONE_MASS] = own[leaving, MASS]
        own[leaving, DONE_VARIANCE] = own[leaving, VARIANCE]
        for k in leaving[own[leaving, AGE] >= len(self.numbers.share)]:
            _forget_load(own[k])

    def _prune(self) -> None:
        """Loads that are surely none go; the best stay, and the best without a new pick.

        Some time after a pick its begin is settled: loads of other begins go, so that there is
        room for all the ends that it may have.
        """
        n, own = self.numbers, self.table[: self.count]
        none = (own[:, CARRIES] > 0) & (own[:, MASS] + 3 * np.sqrt(own[:, VARIANCE]) < n.lightest)
        if none.all():  # nothing else is left: the load is none, so the robot is empty
            best = own[int(np.argmax(own[:, WEIGHT]))]
            self._let_go(best, in_motion=False)
            none = np.arange(len(own)) != np.argmax(own[:, WEIGHT])
        stay = ~none
        if self.loaded:
            mine = (own[:, CARRIES] > 0) & (own[:, COUNT] == self.announced)
            first = _best(own[:, WEIGHT], mine & stay)
            if first >= 0 and own[first, AGE] >= n.lag:
                stay &= ~mine
                stay[first] = True
        weight = np.where(stay, own[:, WEIGHT], NEVER)
        if stay.sum() > n.keep:
            order = np.argsort(-weight, kind="stable")
            stay[order[n.keep :]] = False
            plain = np.where(own[:, COUNT] <= self.announced, weight, NEVER)
            if plain.max() > NEVER:
                stay[int(np.argmax(plain))] = True
        self._keep(stay)
        own = self.table[: self.count]
        own[:, WEIGHT] -= _largest(own[:, WEIGHT])

    def _keep(self, stay: BoolArray) -> None:
        kept = self.table[: self.count][stay]
        self.count = len(kept)
        self.table[: self.count] = kept

    def _decide(self) -> None:
        """Announce a pick or an end that is clear enough."""
        n, own = self.numbers, self.table[: self.count]
        weight, carries = own[:, WEIGHT], own[:, CARRIES] > 0
        new = own[:, COUNT] > self.announced
        self.odds = _total(weight, new) - _total(weight, ~new)
        if not self.loaded:
            best = _best(weight, new & carries)
            if (
                self.odds > n.pick_odds
                and best >= 0
                and own[best, MASS] > n.lightest
                and self._credible(float(own[best, AGE]))
            ):
                self.loaded, self.event = True, PICK
                self.announced += 1
                self.begun = int(own[best, AGE])
                self._keep(new)
            return
        mine = own[:, COUNT] == self.announced
        gone = mine & ~carries
        odds = _total(weight, gone) - _total(weight, mine & carries)
        if odds <= n.release_odds:
            return
        best = _best(weight, gone)
        moved = own[:, IN_MOTION] > 0
        lost = _total(weight, gone & moved) - _total(weight, gone & ~moved)
        if abs(lost) < n.lost_odds and own[best, ENDED] < n.lag:
            return
        if lost > 0 and own[best, ENDED] <= n.near_rest:
            return  # a rest may follow
        self.loaded, self.event = False, LOST_GRIP if lost >= n.lost_odds else RELEASE
        self.begun, self.ended = int(own[best, BEGUN]), int(own[best, ENDED])
        self.mass, self.variance = float(own[best, DONE_MASS]), float(own[best, DONE_VARIANCE])

    def _credible(self, age: float) -> bool:
        """A pick in motion counts once all of the load is in the filter, one at rest at once."""
        n = self.numbers
        return self.moving - age <= n.near_rest or age > len(n.share)

    def _file(self) -> None:
        """Settle the finished pick of the best hypothesis; drop those that disagree."""
        own = self.table[: self.count]
        best = own[own[:, WEIGHT].argmax()]
        if not best[DONE] or best[ENDED] < self.numbers.lag:
            return
        best = best.copy()
        seen = self.announced > 0
        if seen and self.loaded and not best[CARRIES] and best[COUNT] == self.announced:
            return  # its end is not announced yet
        mass, variance = float(best[DONE_MASS]), float(best[DONE_VARIANCE])
        begun, ended = int(best[BEGUN]), int(best[ENDED])
        self.filed = Filed(begun, ended, mass, variance, bool(best[IN_MOTION]), seen)
        if seen:
            self.signal.count_pick(CLOSING, int(best[DONE_EDGE]))
            self.signal.count_pick(OPENING, int(best[END_EDGE]))
        self._keep((own[:, DONE] > 0) & (own[:, BEGUN] == begun) & (own[:, ENDED] == ended))
        self.table[: self.count, COUNT] -= 1.0
        self.table[: self.count, DONE] = 0.0
        self.announced = max(self.announced - 1, 0)
        if self.loaded and seen and not self.announced:  # the next pick shows before this end
            self.loaded, self.event = False, RELEASE
            self.begun, self.ended, self.mass, self.variance = begun, ended, mass, variance

    def _believe(self) -> None:
        """Mass and variance over all hypotheses that carry something."""
        if not self.loaded:
            if self.event == NOTHING:
                self.mass = self.variance = 0.0
            return
        own = self.table[: self.count]
        own = own[own[:, CARRIES] > 0]
        if not len(own):
            return
        chance = np.exp(own[:, WEIGHT] - own[:, WEIGHT].max())
        chance /= chance.sum()
        self.mass = float(chance @ own[:, MASS])
        spread = own[:, VARIANCE] + np.square(own[:, MASS] - self.mass)
        self.variance = float(chance @ spread)


def _forget_load(one: FloatArray) -> None:
    """The load is gone: theta is what it is given the mass."""
    theta, taken = _places(len(one))
    one[theta] -= one[taken] * one[MASS]
    one[taken] = 0.0
    one[MASS], one[VARIANCE], one[SHARE] = 0.0, 0.0, 0.0


def _places(columns: int) -> tuple[slice, slice]:
    """Where theta is in a hypothesis of so many numbers, and what it has taken of the load."""
    middle = (SCALARS + columns) // 2
    return slice(SCALARS, middle), slice(middle, columns)


def _diagonals(squares: FloatArray) -> FloatArray:
    """A diagonal matrix (arms, 3, 3) of every arm's three numbers."""
    blocks = [np.diag(part) for part in np.asarray(squares).reshape(-1, TERMS)]
    return np.array(blocks, dtype=np.float64)


def _total(weight: FloatArray, which: BoolArray) -> float:
    """Logarithm of the sum of some hypotheses' weights."""
    own = weight[which]
    if not len(own):
        return NEVER
    top = float(_largest(own))
    return top + math.log(float(_sum(np.exp(own - top))))


def _best(weight: FloatArray, which: BoolArray) -> int:
    """The heaviest of some hypotheses, -1 without any."""
    return int(np.argmax(np.where(which, weight, 2 * NEVER))) if which.any() else -1
