"""A log cut into picks: events by the online detector, masses from all samples of each pick."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.doors import write_page
from deltadyn.errors import InputError
from deltadyn.payload.bank_estimator import ASSUMED
from deltadyn.payload.estimator import PayloadEstimator, Samples
from deltadyn.payload.events import Pick
from deltadyn.payload.front_end import GridSeries, check_recording_of, recorded_grid, sampling_rate
from deltadyn.payload.least_squares import LeastSquaresEstimator
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.settings import SETTLE, EstimatorOptions
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.units import counted

MANY, MUCH, SHORT = 5, 5.0, 1.0  # picks that tell a usual time; times it; s that are never long


@dataclass(frozen=True, eq=False)
class PickLog:
    """The picks of a log; `t`, `mass`, `std` (M,) are the online estimate beside them (s, kg)."""

    name: str
    picks: tuple[Pick, ...]
    events: tuple[tuple[float, str], ...]  # when it was known (s), what
    t: FloatArray
    mass: FloatArray
    std: FloatArray
    noise: NoiseModel
    bridged: int
    status: str
    summary: str  # of the noise

    @property
    def table(self) -> str:
        """One line per pick: begin, end, mass, standard deviation, latency, how it ended."""
        head = f"{'pick':>4}{'start s':>10}{'end s':>10}{'mass kg':>10}{'std kg':>9}"
        lines = [f"{head}{'latency ms':>12}  ended by"]
        for k, pick in enumerate(self.picks, start=1):
            lines.append(
                f"{k:>4}{pick.start:>10.3f}{pick.end:>10.3f}{pick.mass:>10.3f}{pick.std:>9.3f}"
                f"{1e3 * pick.latency:>12.0f}  {pick.ended}"
                + (f" ({pick.note})" if pick.note else "")
            )
        return "\n".join(lines)

    @property
    def product(self) -> tuple[float, float]:
        """Mass and standard deviation in kg if all picks were of one product."""
        return product_mass(self.picks, self.noise)

    def __str__(self) -> str:
        return f"{self.name}: {self.status}\n{self.summary}\n{self.table}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "status": self.status,
            "bridged": self.bridged,
            "noise": self.summary,
            "picks": [{**vars(pick), "latency": pick.latency} for pick in self.picks],
            "events": [{"t": t, "event": what} for t, what in self.events],
        }

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page with the figure and the table, to open offline."""
        return write_page("picks", self, path)


def find_picks(
    model: Any,
    recording: Recording,
    options: EstimatorOptions | None = None,
    *,
    noise: NoiseModel | None = None,
    holding: Sequence[bool] | None = None,
    rate: float | None = None,
    **fields: Any,
) -> PickLog:
    """Cut a log into picks.

    `model` is the identified robot or its fit, `noise` comes from an empty recording
    (`NoiseModel.of`), `holding` (N,) is the gripper's signal where the log has it. Keywords are
    single fields of `options`; `rate` (Hz) is that of the options, of the noise, or of the
    recording. The mass of a pick rests on all of its samples. A pick that lasts longer than
    `longest` or five times the usual one of the log is flagged.
    """
    robot = getattr(model, "robot", model)
    if not isinstance(robot, Robot):
        raise InputError("model", type(model).__name__, "a Robot, or a fit with .robot")
    check_recording_of(robot, recording)
    if holding is not None and len(holding) != len(recording):
        raise InputError("values of holding", len(holding), f"{len(recording)}, one per sample")
    if rate is None and options is not None:
        rate = options.rate
    own = noise.grid.rate if noise is not None else sampling_rate(recording)
    chosen = EstimatorOptions.of(options, **{**fields, "rate": rate or own})
    estimator = PayloadEstimator(model, chosen, noise=noise)
    events, trace = _replay(estimator, recording, holding)
    estimator._close("end of the log", float(recording.t[-1]) if len(recording) else 0.0)
    picks = _flagged(estimator.picks, chosen.longest)
    if isinstance(estimator, LeastSquaresEstimator):
        picks = _all_refined(robot, recording, estimator, picks)
    count, lost = len(picks), sum(pick.ended == "lost grip" for pick in picks)
    doubtful = sum(bool(pick.note) for pick in picks)
    status = f"{counted(count, 'pick')} in {recording.duration:.4g} s, {lost} of them lost"
    if doubtful:
        status += f", {doubtful} doubtful"
    if estimator.status == ASSUMED:
        status += "; without an empty run deviations are assumed"
    t, mass, std = np.array(trace).reshape(-1, 3).T
    return PickLog(
        recording.name,
        picks,
        tuple(events),
        t,
        mass,
        std,
        estimator.noise,
        estimator.bridged,
        status,
        estimator.summary,
    )


def product_mass(picks: Sequence[Pick], noise: NoiseModel) -> tuple[float, float]:
    """Mass of one product and its standard deviation (kg) over repeated picks of it.

    Weights by what each pick knows. What no averaging takes away (`noise.systematic`) stays; where
    the picks differ by more than their deviations say, the deviation grows with it.
    """
    if not picks:
        raise InputError("picks", 0, "at least one")
    masses = np.array([pick.mass for pick in picks])
    variance = np.array([max(p.std**2 - noise.systematic(p.mass) ** 2, 1e-8) for p in picks])
    weights = 1 / variance
    mean = float(weights @ masses / weights.sum())
    spread = 1.0
    if len(picks) > 1:
        spread = max(1.0, float(weights @ (masses - mean) ** 2) / (len(picks) - 1))
    return mean, math.hypot(math.sqrt(spread / weights.sum()), noise.systematic(mean))


def stream_picks(
    model: Any,
    pieces: Iterable[Recording],
    options: EstimatorOptions,
    *,
    noise: NoiseModel | None = None,
) -> tuple[Pick, ...]:
    """The picks of a log that comes in pieces, as `find_picks` of the whole log has them.

    What is in memory does not grow with the log, but for the picks. Masses by least squares rest on
    the whole log: they are refused.
    """
    if options.estimator != "bank":
        raise InputError("estimator", options.estimator, "'bank' for a log in pieces")
    estimator = PayloadEstimator(model, options, noise=noise)
    end = 0.0
    for piece in pieces:
        _replay(estimator, piece, None, keep=False)
        end = float(piece.t[-1])
    estimator._close("end of the log", end)
    return _flagged(estimator.picks, options.longest)


def _replay(
    estimator: PayloadEstimator,
    recording: Recording,
    holding: Sequence[bool] | None,
    *,
    keep: bool = True,
) -> tuple[list[tuple[float, str]], list[tuple[float, float, float]]]:
    """Events, and the estimate after every residual, where they are to be kept."""
    measured = recording.qd is not None and recording.qdd is not None
    rates = (recording.qd, recording.qdd) if measured else (None, None)
    told = None if holding is None else np.asarray(holding, bool)
    given = Samples(recording.q, *rates, recording.tau, recording.t, told)
    times, step = recording.t.tolist() if keep else [], estimator.grid.step
    events: list[tuple[float, str]] = []
    trace: list[tuple[float, float, float]] = []
    done, mass, std = 0, estimator.mass, estimator.std
    for k, error in estimator.follow(given):
        if error is not None:
            raise error
        if not keep:
            continue
        trace += [(times[i], mass, std) for i in _grid(done, k, step)]
        done, mass, std = k + 1, estimator.mass, estimator.std
        if estimator.event:
            events.append((times[k], estimator.event))
        if k % step == 0 or estimator.event:
            trace.append((times[k], mass, std))
    trace += [(times[i], mass, std) for i in _grid(done, len(times), step)]
    return events, trace


def _grid(start: int, stop: int, step: int) -> range:
    """The multiples of `step` from one number up to another."""
    return range(-(-start // step) * step, stop, step)


def _flagged(picks: Sequence[Pick], longest: float) -> tuple[Pick, ...]:
    """The picks, with a note on those that last much longer than the others."""
    times = [pick.end - pick.start for pick in picks]
    usual = MUCH * float(np.median(times)) if len(times) >= MANY else math.inf
    return tuple(pick.judged(min(longest, max(usual, SHORT))) for pick in picks)


def _all_refined(
    robot: Robot, recording: Recording, estimator: PayloadEstimator, picks: tuple[Pick, ...]
) -> tuple[Pick, ...]:
    """The picks with masses of all their residuals, by least squares."""
    grid, noise = estimator.grid, estimator.noise
    series = recorded_grid(robot, recording, rate=grid.rate, form=grid.form)
    sums = noise.weigh_all(series.r, series.c, series.qd, series.starts)
    return tuple(_refined(pick, series, sums, noise) for pick in picks)


def _refined(
    pick: Pick, series: GridSeries, sums: tuple[FloatArray, FloatArray], noise: NoiseModel
) -> Pick:
    """The pick with the mass of all residuals that speak of it alone."""
    delay = series.grid.delay
    inside = (series.t > pick.start + delay + SETTLE) & (series.t < pick.end + delay - SETTLE)
    S, I = (float(x[inside].sum()) for x in sums)
    if I <= 0:
        return pick
    refined = replace(pick, mass=S / I, std=noise.std(I, S / I), note="")
    return replace(refined.judged(math.inf), note=pick.note)
