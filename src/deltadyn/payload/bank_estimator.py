"""The estimator "bank": rows of samples through a bank of hypotheses about the load."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deltadyn.errors import InputError
from deltadyn.payload import bank as core
from deltadyn.payload.bank import Bank, BankNumbers, Filed, Row
from deltadyn.payload.estimator import FEW, PayloadEstimator, Samples, Step
from deltadyn.payload.events import LOST_GRIP, PICK, RELEASE, Pick
from deltadyn.payload.front_end import Sample
from deltadyn.payload.gripper_signal import CLOSING, OPENING, SignalDelay
from deltadyn.payload.noise import reference_torque
from deltadyn.payload.rows import RowFront
from deltadyn.payload.settings import EstimatorOptions
from deltadyn.payload.tare import LoadTare

NAMES = {core.PICK: PICK, core.RELEASE: RELEASE, core.LOST_GRIP: LOST_GRIP}
ASSUMED = "running; without an empty run deviations are assumed"
AT_ONCE = 2  # rows beyond the least gap: a pick within them follows at once
MASKED = 2.0  # rev of a row that holds interpolated samples: above every limit, no arm counts
BLOCK = 4096  # samples that become rows at once, at most
NOT_KNOWN = 0.98  # of the deviation before a load is seen: nothing is known of it yet


def bank_numbers(tare: LoadTare, options: EstimatorOptions) -> BankNumbers:
    """Every number of the bank of a robot; the odds of a pick follow the false alarms allowed."""
    own = tare.numbers(float(options.rest_speed))
    usual = EstimatorOptions().false_alarms
    return own._replace(pick_odds=own.pick_odds - math.log(options.false_alarms / usual))


def _hidden(row: Row) -> Row:
    """A row that holds interpolated samples: no arm counts."""
    return row._replace(rev=np.full_like(row.rev, MASKED))


class BankEstimator(PayloadEstimator):
    """Hypotheses "empty" and "loaded since ...", with friction as slow states.

    Given rates are checked and not used: those of the angles keep time with the torque. A pick is
    in `picks` from its end on; within the next 128 ms its begin, end and mass may still change a
    little, when later rows settle them.
    """

    name = "bank"

    def _build(self, delay: float) -> None:
        if self.grid.form != "acceleration":
            allowed = "'acceleration' for the estimator 'bank', or estimator='least-squares'"
            raise InputError("form", self.grid.form, allowed)
        tare = self.noise.bank
        if tare is None and not self.noise.source.startswith("assumed"):
            allowed = "one by NoiseModel.of(..., estimator='bank'), or estimator='least-squares'"
            raise InputError("noise", "one for 'least-squares'", allowed)
        if tare is None:
            torque = reference_torque(self.robot)
            tare = LoadTare.assumed(self.robot, self.grid.rate, torque, delay)
        elif self.options.delay is not None:
            tare = replace(tare, rows=tare.rows._replace(delay=float(delay)))
        self.tare: LoadTare = tare
        self.noise = replace(self.noise, gain=tare.gain, zero=tare.zero, bank=tare)
        self.row_numbers = tare.rows
        self.bank_numbers = bank_numbers(tare, self.options)
        self.front = RowFront(self.robot, tare.rows)
        self._reach = self.front.length + len(self.front.narrow) * tare.rows.step
        self.bank = Bank(self.bank_numbers)
        self.enough = self.bank_numbers.lag

    def reset(self, reason: str = "new") -> None:
        """As `PayloadEstimator.reset`; what was learned of the gripper's signal goes too."""
        self.bank.signal.clear()
        super().reset(reason)

    def _restart(self, reason: str) -> None:
        self.front.reset()
        self.bank.reset(loaded=not self.events)
        self.loaded = not self.events
        self.status = reason
        self._measured = 0
        self._masked = 0  # samples from now whose rows hold interpolated ones
        self._start = self._detected = math.nan
        self._end = math.nan  # of the last pick
        self._unsettled = False  # whether the last of `picks` may still change

    @property
    def mass(self) -> float:
        """The payload in kg; 0 while the robot is empty."""
        return self.bank.mass if self.loaded else 0.0

    @property
    def std(self) -> float:
        """Standard deviation of `mass` in kg; infinite while nothing is known of a load."""
        if not self.loaded:
            return self.tare.zero
        if self.bank.variance > (NOT_KNOWN * self.bank_numbers.spread) ** 2:
            return math.inf
        return self.bank.std(self.bank.mass, self.bank.variance)

    @property
    def summary(self) -> str:
        """One line on where the deviations come from, and what the gripper's signal was like."""
        signal = self.signal
        return self.tare.summary + (f"; gripper's signal: {signal}" if signal else "")

    @property
    def signal(self) -> SignalDelay | None:
        """What was learned of the gripper's signal; None without a settled pick or a signal."""
        heard, interval = self.bank.signal, self.row_numbers.interval
        if not heard.picks[CLOSING]:
            return None
        behind = self.row_numbers.change - interval / 2  # an edge lies within the row before
        learned = (heard.mean_delay(kind) for kind in (CLOSING, OPENING))
        return SignalDelay(*((behind + interval * rows, share) for rows, share in learned))

    @property
    def odds(self) -> float:
        """Decades of the odds of a pick that is not announced yet."""
        return self.bank.odds / math.log(10)

    def _bridge(self, missing: int) -> None:
        self._masked = missing + self._reach

    def _take(self, row: Sample) -> None:
        found = self.front.push(row.q, row.tau)
        masked, self._masked = self._masked > 0, max(0, self._masked - 1)
        if found is not None:
            self._step(_hidden(found) if masked else found)

    def follow(self, given: Samples) -> Iterator[Step]:
        """As `PayloadEstimator.follow`: samples in even steps become rows at once."""
        k = 0
        while k < len(given):
            stop = min(k + BLOCK, len(given))
            block = given.part(k, stop) if stop - k >= FEW else None
            count = 0 if block is None else self.intake.even(block)
            rows = None
            if block is not None and count >= FEW:
                block = block.part(0, count)
                rows = self.front.push_many(block.q, block.tau)
            if block is None or rows is None:  # what is odd about them is told one by one
                last = min(k + max(count, FEW), len(given))
                yield from self._one_by_one(given, k, last)
                k = last
                continue
            for place, row in rows:
                self.event, self.intake.t = None, float(block.t[place])
                self._holding = None if block.holding is None else bool(block.holding[place])
                self._step(_hidden(row) if self._masked > place else row)
                yield Step(k + place)
            self.intake.took(block)
            self._masked = max(0, self._masked - count)
            k += count
            if not rows or rows[-1][0] < count - 1:
                self.event = None

    def _step(self, row: Row) -> None:
        bank = self.bank
        bank.step(row, holding=self._holding, changes=self.events)
        if not bank.skip:
            self.status = "running" if self.tare.known else ASSUMED
            self._measured += bool(bank.dead == 0)
        if bank.filed is not None and bank.filed.seen and self._unsettled:
            self._settle(bank.filed)
        if bank.event == core.PICK:
            self._picked()
        elif bank.event in (core.RELEASE, core.LOST_GRIP):
            self._ended(NAMES[bank.event], self._time(bank.ended))
            self._unsettled = bank.filed is None

    def _time(self, rows: int) -> float:
        """When a change of this age was, in s."""
        n = self.row_numbers
        return self.intake.t - n.change - rows * n.interval

    def _picked(self) -> None:
        start = self._time(self.bank.begun)
        least = self.bank_numbers.gap + AT_ONCE
        if self.picks and start - self._end <= least * self.row_numbers.interval:
            follows = replace(self.picks[-1], ended=PICK)
            self.picks[-1] = follows.judged(self.options.longest)
        self.loaded, self.event = True, PICK
        self._start, self._detected = start, self.intake.t

    def _ended(self, what: str, end: float) -> None:
        bank = self.bank
        std = bank.std(bank.mass, bank.variance)
        self._file(Pick(self._start, self._detected, end, bank.mass, std, what))
        self.loaded, self.event = False, what
        self._end, self._unsettled = end, True

    def _settle(self, filed: Filed) -> None:
        """The last pick as all rows up to now see it."""
        self._unsettled = False
        last, std = self.picks[-1], self.bank.std(filed.mass, filed.variance)
        if last.ended == PICK:  # keeps its wide deviation
            return
        start, end = self._time(filed.begun), self._time(filed.ended)
        if end > start:
            settled = replace(last, start=start, end=end, mass=filed.mass, std=std, note="")
            self.picks[-1] = settled.judged(self.options.longest)

    def _close(self, ended: str, end: float) -> None:
        if self.loaded and math.isfinite(self._start) and math.isfinite(self.std):
            self._file(Pick(self._start, self._detected, end, self.mass, self.std, ended))
