"""The result of a validation: a value with its tables, its words and its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.doors import write_page
from deltadyn.robot import Robot
from deltadyn.validation.diagnosis import Diagnosis, diagnose, percent
from deltadyn.validation.evidence import Piece, Predictor, inside_band
from deltadyn.validation.metrics import FIELDS, Metrics, Segment, shares_of, torque_level

REST_SHARE = 0.01  # of the rows: rests that are worth a word
TITLES = {
    "fitness": "fitness (kim2022 eq. 41)",
    "fitness_measured": "fitness, measured range",
    "r_squared": "R^2",
    "rms": "RMS",
    "mean": "mean",
    "std": "standard deviation",
    "maximum": "largest",
}


@dataclass(frozen=True, eq=False)
class Validation:
    """A model beside held-out recordings; numbers per axis (dof,), see `Metrics`.

    `t` (M,) in s, `measured` and `torque` (M, dof) in N m are what was compared: both torques below
    `band` Hz (None: as recorded) at `rate` Hz, the recordings one after the other. `metrics` are
    those of the rows that are `moving` (M, dof): friction that holds an axis at rest can be
    anything, and is the segment "rest". `segments` are the metrics by part of the
    motion. `parts` holds the validation of each recording where several
    were given, `compared` the model and the stretches that it was compared on.
    """

    model: str
    robot: Robot
    recordings: tuple[str, ...]
    t: FloatArray
    measured: FloatArray
    torque: FloatArray
    band: float | None
    rate: float
    metrics: Metrics
    moving: BoolArray
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]  # first sample of every stretch without a gap
    payloads: tuple[float, ...]  # kg that the model carried, per recording
    compared: tuple[Predictor, Sequence[Piece]] = field(repr=False)
    parts: tuple[Validation, ...] = ()

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What the residual consists of; looked for when it is first asked for."""
        return diagnose(*self.compared)

    @property
    def residual(self) -> FloatArray:
        """Measured minus predicted torque (M, dof), in N m."""
        return self.measured - self.torque

    @property
    def fitness(self) -> FloatArray:
        """1 - rms / range of the predicted torque [kim2022] eq. 41."""
        return self.metrics.fitness

    @property
    def fitness_measured(self) -> FloatArray:
        """1 - rms / range of the measured torque."""
        return self.metrics.fitness_measured

    @property
    def r_squared(self) -> FloatArray:
        """Share of the measured torque's variance that the model explains."""
        return self.metrics.r_squared

    @property
    def rms(self) -> FloatArray:
        """Root mean square of the residual, in N m."""
        return self.metrics.rms

    @property
    def mean(self) -> FloatArray:
        """Mean of the residual, in N m."""
        return self.metrics.mean

    @property
    def std(self) -> FloatArray:
        """Standard deviation of the residual about its mean, in N m."""
        return self.metrics.std

    @property
    def maximum(self) -> FloatArray:
        """Largest size of the residual, in N m."""
        return self.metrics.maximum

    @property
    def torque_level(self) -> FloatArray:
        """RMS of the measured torque (dof,) while the axis moves, in N m; 0 where it never does."""
        return torque_level(self.measured, self.moving)

    @property
    def shares(self) -> FloatArray:
        """The error while moving: `rms` over `torque_level` (dof,); NaN on axes without torque."""
        return shares_of(self.rms, self.torque_level)

    @property
    def relative_rms(self) -> float:
        """RMS over the axes of `shares`; NaN where no axis moves."""
        return relative_rms(self.shares)

    @property
    def inside_band(self) -> FloatArray | None:
        """Share (dof,) of the moving rows inside the fit's 95 % band; None without a band."""
        return inside_band(self.compared[1])

    @property
    def rest_rms(self) -> FloatArray:
        """RMS of the residual (dof,) at rest, in N m; NaN where the axis never rests."""
        return self.segment("rest").metrics.rms

    def segment(self, name: str) -> Segment:
        """The segment of that name."""
        from deltadyn.errors import UnknownNameError

        for item in self.segments:
            if item.name == name:
                return item
        raise UnknownNameError("segment", name, [item.name for item in self.segments])

    @property
    def verdict(self) -> str:
        """What to think of the model, in a few words: its error while moving, then at rest."""
        return " ".join(
            text for text in (self._explained, self.diagnosis.status, self._rest) if text
        )

    @property
    def _explained(self) -> str:
        """How much of the torque the robot's model explains while the axes move."""
        shares = self.shares
        if not np.isfinite(shares).any():
            return "No axis moves under a torque: nothing can be said of the model."
        worst = int(np.nanargmax(shares))
        name, unit = self.robot.axis_names()[worst], self.robot.axis_units("tau")[worst]
        r_squared = float(self.r_squared[worst])
        text = (
            f"While the axes move the robot's model explains all but {percent(self.relative_rms)} "
            f"of the torque (RMS), on its worst axis, {name}, all but {percent(shares[worst])} "
            f"({self.rms[worst]:.3g} {unit} RMS)"
        )
        if r_squared < 0:
            return f"{text}: worse than a constant torque (R^2 {r_squared:.2g})."
        return f"{text}."

    @property
    def _rest(self) -> str:
        """The rows at rest, which are not graded."""
        share, rms = self.segment("rest").share, self.rest_rms
        if share < REST_SHARE or not np.isfinite(rms).any():
            return ""
        told = ", ".join(number(value) for value in rms)
        unit = self.robot.axis_unit("tau")
        return (
            f"At rest or turning back, {percent(share)} of the rows, {told} {unit} RMS are "
            "left: friction that holds an axis cannot be predicted, and is not graded."
        )

    @property
    def text(self) -> str:
        """The tables with units, the verdict and the causes."""
        names, unit = self.robot.axis_names(), self.robot.axis_unit("tau")
        head = f"{self.model} on {', '.join(self.recordings)}"
        band = "as recorded" if self.band is None else f"below {self.band:.3g} Hz"
        samples = f"{len(self.t)} samples at {self.rate:.4g} Hz, torques {band}"
        load = ", ".join(f"{mass:g}" for mass in dict.fromkeys(self.payloads))
        lines = [head, f"{samples}; payload {load} kg; metrics while the axes move", ""]
        lines += [*_table(self.metrics, names, unit), ""]
        lines += [*_segment_lines(self.segments, names, unit), "", self.verdict]
        lines += self.diagnosis.lines
        for part in self.parts:
            rms = ", ".join(f"{value:.3g}" for value in part.rms)
            lines.append(f"{part.recordings[0]}: RMS {rms} {unit}")
        return "\n".join(lines)

    @property
    def segment_table(self) -> str:
        """Every number of every segment, with the rule of the segment."""
        names, unit = self.robot.axis_names(), self.robot.axis_unit("tau")
        lines: list[str] = []
        for item in self.segments:
            lines += [f"{item.name} ({percent(item.share)} of the samples): {item.rule}"]
            lines += [*_table(item.metrics, names, unit), ""]
        return "\n".join(lines[:-1])

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Everything but the samples, for JSON; of `parts` the numbers."""
        return self.robot.record(
            {
                **self._numbers(),
                "diagnosis": self.diagnosis.as_dict(),
                "verdict": self.verdict,
                "parts": [part._numbers() for part in self.parts],
            }
        )

    def _numbers(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "robot": self.robot.name,
            "recordings": list(self.recordings),
            "samples": len(self.t),
            "rate_Hz": self.rate,
            "band_Hz": self.band,
            "payload_kg": list(self.payloads),
            "axes": list(self.robot.axis_names()),
            "metrics": self.metrics.as_dict(),
            "segments": {item.name: item.as_dict() for item in self.segments},
        }

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file with the tables and figures, to open without a network."""
        return write_page("validation", self, path)


def relative_rms(shares: FloatArray) -> float:
    """RMS over the axes of errors over torques; NaN where there is none."""
    known = shares[np.isfinite(shares)]
    return float(np.sqrt(np.mean(known**2))) if known.size else float("nan")


def number(value: float, unit: str = "N m") -> str:
    """A number for a table; "-" where there is none."""
    if np.isnan(value):
        return "-"
    return f"{value:.5f}" if unit == "1" and abs(value) < 10 else f"{value:.4g}"


def _table(found: Metrics, names: tuple[str, ...], torque: str) -> list[str]:
    head, wide = "".join(f"{'axis ' + name:>11}" for name in names), max(5, len(torque) + 1)
    lines = [f"{'residual = measured - predicted':<32}{'unit':<{wide}}{head}"]
    for name, unit in FIELDS.items():
        values = "".join(f"{number(value, unit):>11}" for value in getattr(found, name))
        lines.append(f"  {TITLES[name]:<30}{unit if unit == '1' else torque:<{wide}}{values}")
    return lines


def _segment_lines(segments: tuple[Segment, ...], names: tuple[str, ...], torque: str) -> list[str]:
    head = "".join(f"{'axis ' + name:>11}" for name in names)
    lines = [f"{f'RMS by segment, {torque}':<25}{'of samples':>12}{head}"]
    for item in segments:
        values = "".join(f"{number(value):>11}" for value in item.metrics.rms)
        lines.append(f"  {item.name:<23}{percent(item.share):>12}{values}")
    return lines
