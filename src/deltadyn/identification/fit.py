"""A fit: the identified robot, its parameters with their uncertainty, and where they come from."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.doors import write_page
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.files import with_ending, write_together
from deltadyn.identification.bodies.consistency import Consistency
from deltadyn.identification.determined import (
    BaseMap,
    Determined,
    determined,
    fitted_base_map,
)
from deltadyn.identification.gains import Gains
from deltadyn.identification.identifiability import Identifiability
from deltadyn.identification.information import Information, IntArray
from deltadyn.identification.loading import Data
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.problem import Certificate
from deltadyn.identification.selection import LimbChoice
from deltadyn.identification.summary import far_from_file, full_text, robot_file_text, summary
from deltadyn.identification.terms.found import Terms
from deltadyn.identification.terms.intervals import Scatter
from deltadyn.identification.uncertainty import Covariance, torque_band
from deltadyn.identification.verdict import Verdict, evidence_of, judge
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.recording.prepare.held_out import LogModel, loaded_torque
from deltadyn.recording.recording import DataSource, Recording
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class Excerpt:
    """Measured and fitted torque (M, dof) in N m over t (M,) in s, of the first recording."""

    t: FloatArray
    measured: FloatArray
    fitted: FloatArray


@dataclass(frozen=True, eq=False)
class Fit:
    """What `identify` found.

    `values` (k,) are the parameters named by `names`; where no robot can have them, `robot` is the
    nearest that can, `consistent` is False and `status` says so. `residual` and `torque_level`
    (dof,) are RMS values in N m in the `band` (Hz) of the fit, over the `rows` (dof,) of each axis
    that were used; `left_out` (dof,) were not. The last parameters may be `log_names`: they belong
    to the log, and no prediction has them. `warnings` are sentences on what deserves a look,
    `findings` those on the logs themselves, such as their gaps. `band_scatter` is what
    `calibrated` found, `judged` the verdict of who has held the fit against other data.
    `information` is what it was fitted from, with a record of its terms: saved, it is fitted again
    without samples. The parameters are what the logs identified; `robot` is the nearest robot to
    the given one that has them, and `determined` says which of its fields the logs identified.
    """

    method: str
    robot: Robot
    nominal: Robot
    parametrisation: Parametrisation
    values: FloatArray
    uncertainty: Covariance
    residual: FloatArray
    torque_level: FloatArray
    weights: FloatArray
    identifiability: Identifiability | None
    consistency: Consistency
    status: str
    converged: bool
    consistent: bool
    data: tuple[DataSource, ...]
    band: float | None
    options: dict[str, Any]
    held: tuple[str, ...] = ()
    standard: dict[str, float] | None = None
    certificate: Certificate | None = None
    limbs: LimbChoice | None = None
    gains: Gains | None = None
    warnings: tuple[str, ...] = ()
    solver_details: dict[str, Any] = field(default_factory=dict)
    excerpt: Excerpt | None = None
    rows: IntArray | None = None
    left_out: IntArray | None = None
    terms: Terms | None = None
    band_scatter: Scatter | None = None
    given: Robot | None = None
    information: Information | None = field(default=None, repr=False)
    findings: tuple[str, ...] = ()
    judged: Verdict | None = None
    fixed: tuple[str, ...] = ()  # standard parameters that the method was given

    @property
    def verdict(self) -> Verdict:
        """What to think of the fit: `judged`, or what it tells by itself."""
        return self.judged or judge(evidence_of(self))

    @property
    def before(self) -> Robot:
        """The robot as it was given; `nominal` has fields for the terms that were found, too."""
        return self.given or self.nominal

    @cached_property
    def determined(self) -> Determined:
        """What the fit says of every field of the robot: `fit.determined["arm.mass"]`.

        A field is identified, with its interval, identified only in a combination, or kept from
        the file. The base parameters are what the logs identified; `robot` is the nearest robot to
        the given one that has them.
        """
        return determined(self, self.base_map)

    @cached_property
    def base_map(self) -> BaseMap:
        """How the base parameters that were identified are made of the robot file's fields."""
        return fitted_base_map(self)

    @property
    def far_from_file(self) -> tuple[str, ...]:
        """Sentences on base parameters that are far from the robot file's, and what explains it."""
        return far_from_file(self)

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.parametrisation.model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.parametrisation.names

    @property
    def log_names(self) -> tuple[str, ...]:
        """Those of the parameters that belong to the log, not to the robot."""
        return self.names[self.parametrisation.own :]

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the parameters."""
        return self.parametrisation.units

    @property
    def covariance(self) -> FloatArray:
        """Covariance (k, k) of the parameters; residuals' autocorrelation is counted in."""
        return self.uncertainty.matrix

    @property
    def std(self) -> FloatArray:
        """Standard deviations (k,) of the parameters."""
        return self.uncertainty.std

    def interval(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2) of the parameters' intervals.

        Where terms were looked for it is the hull over the models that remain, and wider where a
        term is missing; else it is that of `covariance`, which knows one model only.
        """
        own = self.uncertainty.interval(level)
        if self.terms is None:
            return own
        about = own - self.uncertainty.x[:, None]
        hull = self.terms.hull.offsets(level)
        low, high = np.minimum(hull[:, 0], about[:, 0]), np.maximum(hull[:, 1], about[:, 1])
        out: FloatArray = self.values[:, None] + np.stack([low, high], axis=1)
        return out

    def __getitem__(self, name: str) -> float:
        """The value of a parameter."""
        if name not in self.names:
            raise InputError("parameter", name, "one of " + ", ".join(self.names))
        return float(self.values[self.names.index(name)])

    def torque(self, state: State | Recording) -> FloatArray:
        """Torque (N, dof) of the fitted robot's parameters, in N m, with the nominal payload.

        Where terms were found it is that of `robot`, with its gears' losses and torque scale, and
        with rigid gears. Along a recording without gaps it is the torque that the drives would
        report: with its payload, without the delay and the encoders' waves that were found, and
        with elastic gears wound up by the torque that was measured.
        """
        if isinstance(state, Recording):
            return self._along(state)[0]
        return restore(self._torque(state), state.single)

    @property
    def log_model(self) -> LogModel:
        """The fit as it is held against a log: its torque, delay, encoders' waves and gains."""
        values = dict(zip(self.names, self.values.tolist(), strict=True))
        return LogModel(
            self.robot,
            loaded_torque(self.robot, self._torque),
            np.ones(self.robot.dof) if self.gains is None else self.gains.values,
            {n: v for n, v in values.items() if n == "delay" or n.startswith("eccentricity")},
        )

    def _along(self, recording: Recording) -> tuple[FloatArray, Prepared]:
        """The torque along a recording, and the part of it that the model sees."""
        part = prepare(self.nominal, recording, band=None)
        seen = self.log_model.see(part)
        return self.log_model.reported(part, seen, recording.payload), seen

    def _torque(self, state: State) -> FloatArray:
        if self.terms is not None and self.terms.found and self.consistent:
            tau = inverse_dynamics(self.robot, state, self.model)
            return tau[None] if state.single else tau
        return self.parametrisation.torque(self.nominal, state, self.values)

    def predict(
        self, state: State | Recording, level: float = 0.95
    ) -> tuple[FloatArray, FloatArray]:
        """Torque (`torque`) and half the width of its band (N, dof), in N m.

        Where terms were looked for, or after `calibrated`, the band is to hold measured torque of
        moving axes in the band of the fit. Else it is that of the fitted torque, which knows what
        noise does to the parameters only.
        """
        if isinstance(state, Recording):
            torque, seen = self._along(state)
            return torque, self.half_width(seen, torque, level)
        torque, width = self._torque(state), self._half_width(state, self._torque(state), level)
        return restore(torque, state.single), restore(width, state.single)

    def half_width(self, seen: Prepared, torque: FloatArray, level: float = 0.95) -> FloatArray:
        """Half the width (N, dof) of the band about a torque along a part of a log, in N m.

        The part is as `log_model` sees it.
        """
        return self._half_width(seen.state, torque, level)

    def _half_width(self, motion: State, torque: FloatArray, level: float) -> FloatArray:
        _, width = torque_band(
            self.parametrisation, self.nominal, motion, self.values, self.uncertainty, level
        )
        spread = self._scatter
        if spread is None:
            return width
        return np.hypot(width, spread.half(torque, motion.q, motion.qd, level))

    @property
    def bounds_torque(self) -> bool:
        """Whether the band is one of measured torque, not only of the fitted one."""
        return self._scatter is not None

    @property
    def _scatter(self) -> Scatter | None:
        if self.band_scatter is not None:
            return self.band_scatter
        return None if self.terms is None else self.terms.scatter

    def calibrated(self, recordings: Data) -> Fit:
        """The same fit with its torque band from motion that it has not seen (split conformal).

        The band's reach becomes the quantile of the errors on these recordings, of moving axes and
        in the band of the fit, over the size that the fit expects of them. Recordings that the fit
        was made from are refused.
        """
        from deltadyn.identification.calibration import calibrated_scatter

        return replace(self, band_scatter=calibrated_scatter(self, recordings))

    @property
    def table(self) -> str:
        """The parameters as text: value, standard deviation, interval, what the robot file said.

        Those of the log come behind the robot's.
        """
        rows = zip(
            self.names,
            self.values,
            self.std,
            self.interval(),
            self.parametrisation.prior,
            self.units,
            strict=True,
        )
        width = max(9, *(len(name) for name in self.names))
        lines = [
            f"{'parameter':<{width}}{'value':>12}{'std':>11}{'std %':>8}"
            f"{'95 % from':>12}{'to':>12}{'before':>12}  unit"
        ]
        for name, value, std, (low, high), prior, unit in rows:
            if name in self.log_names[:1]:
                lines.append("of the log:")
            share = f"{100 * std / abs(value):.2g}" if std < 10 * abs(value) else "-"
            lines.append(
                f"{name:<{width}}{value:>12.5g}{std:>11.2g}{share:>8}"
                f"{low:>12.5g}{high:>12.5g}{prior:>12.5g}  {unit}"
            )
        lines += [f"{name:<{width}}{'held at its value before':>43}" for name in self.held]
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """The fit on one screen: what was identified, how well, and what deserves a look."""
        return summary(self)

    def details(self) -> str:
        """The whole fit in words and numbers: all parameters, terms, and fields of the robot."""
        return full_text(self)

    @property
    def residual_text(self) -> str:
        """The residual of each axis beside its torque, in the band of the fit."""
        axes, units = self.robot.axis_names(), self.robot.axis_units("tau")
        rows = zip(axes, self.residual, self.torque_level, units, strict=True)
        parts = [f"axis {a}: {e:.3g} of {t:.3g} {unit}" for a, e, t, unit in rows]
        band = "all frequencies" if self.band is None else f"up to {self.band:.3g} Hz"
        return f"RMS residual ({band}): " + ", ".join(parts)

    @property
    def left_out_text(self) -> str:
        """How many rows of each axis were left out, in words; empty where none were."""
        if self.rows is None or self.left_out is None or not self.left_out.any():
            return ""
        axes = zip(self.robot.axis_names(), self.rows, self.left_out, strict=True)
        parts = [f"axis {a}: {n} of {n + m} rows at rest left out" for a, m, n in axes if n]
        return "; ".join(parts)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with all that it takes to repeat the fit; None where not finite."""
        from importlib.metadata import version

        from deltadyn.robot.file import robot_text

        packages = ("deltadyn", "numpy", "scipy", "clarabel")
        record: dict[str, Any] = {
            "method": self.method,
            "model": self.model,
            "status": self.status,
            "verdict": self.verdict.as_dict(),
            "converged": self.converged,
            "consistent": self.consistent,
            "parameters": [
                {
                    "name": n,
                    "value": float(v),
                    "std": float(s),
                    "interval_95": [float(end) for end in ends],
                    "unit": u,
                    "before": float(b),
                    "of": "log" if n in self.log_names else "robot",
                }
                for n, v, s, ends, u, b in zip(
                    self.names,
                    self.values,
                    self.std,
                    self.interval(),
                    self.units,
                    self.parametrisation.prior,
                    strict=True,
                )
            ],
            "determined": [item.as_dict() for item in self.determined.values()],
            "far_from_file": list(self.far_from_file),
            "held": list(self.held),
            "covariance": self.covariance.tolist(),
            "standard": self.standard,
            "residual_rms_Nm": self.residual.tolist(),
            "torque_rms_Nm": self.torque_level.tolist(),
            "rows": None if self.rows is None else self.rows.tolist(),
            "rows_left_out": None if self.left_out is None else self.left_out.tolist(),
            "band_Hz": self.band,
            "weights": self.weights.tolist(),
            "certificate": None if self.certificate is None else vars(self.certificate).copy(),
            "gains": None if self.gains is None else self.gains.values.tolist(),
            "terms": None if self.terms is None else self.terms.as_dict(),
            "warnings": list(self.warnings + self.findings),
            "details": self.solver_details,
            "provenance": {
                "data": [vars(source).copy() for source in self.data],
                "options": self.options,
                "robot_before": robot_text(self.before),
                "versions": {name: version(name) for name in packages},
                "python": platform.python_version(),
            },
        }
        plain: dict[str, Any] = _plain(record)
        return self.robot.record(plain)

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the robot file and, beside it, a JSON with parameters and provenance.

        "mine" and "mine.yaml" give mine.yaml and mine.json; both are new, or none.
        """
        robot, numbers = with_ending(path, ".yaml"), with_ending(path, ".json")
        text = json.dumps(self.as_dict(), indent=2, allow_nan=False)
        files = {robot.name: robot_file_text(self), numbers.name: text + "\n"}
        write_together(robot.parent, files)
        return robot, numbers

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page with tables, verdicts and figures, to open offline."""
        return write_page("fit", self, path)


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries only; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if callable(value):  # by name: the text of a function has its place in memory
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return str(value)
