"""The result of a calibration: the mended robot, what is known of it, and what did not fit."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.calibration.additions import Addition, additions
from deltadyn.calibration.estimate import Solution, metres, outlying
from deltadyn.calibration.field import ErrorField, error_field, with_psi
from deltadyn.calibration.measurements import Commanded, Frame
from deltadyn.calibration.parameters import ANGLES
from deltadyn.calibration.visible import MOTIONS, Visible
from deltadyn.doors import write_page
from deltadyn.files import file_set, write_together
from deltadyn.kinematics import inverse_kinematics
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text

NORMAL = 1.959964  # of a 95 % interval
KNOWN = 0.5  # of a tolerance: below, the measurement knows it better

#: What a kind of parameter is called in tables.
WORDS = {
    "radius": "shoulder radius less platform radius",
    "tangential": "shoulder aside of its azimuth",
    "height": "shoulder height",
    "yaw": "axis yaw",
    "roll": "axis roll",
    "pitch": "rail pitch",
    "arm": "arm length",
    "offset": "homing offset",
    "strut": "strut length",
    "gain": "gear gain",
    "rod": "half the difference of a pair's rods",
    "bar": "length of its bars",
}
RAIL_WORDS = {
    "radius": "rail radius less platform radius",
    "tangential": "rail aside of its azimuth",
    "height": "rail height (endstop)",
    "roll": "rail roll",
}
MODELS = {
    "homing": "homing offsets",
    "sizes": "homing offsets, one radius and one length",
    "all": "all parameters",
}


@dataclass(frozen=True)
class Known:
    """A parameter or a combination: its deviation from the robot file, in m, rad or 1.

    `std` is its standard deviation after the measurement, `before` that of its tolerance.
    """

    words: str
    unit: str
    value: float
    std: float
    before: float

    @property
    def known(self) -> bool:
        """Whether the measurement knows it better than its tolerance does."""
        return bool(self.std < KNOWN * self.before)

    @property
    def differs(self) -> bool:
        """Whether the robot file's value is outside the 95 % interval."""
        return abs(self.value) > NORMAL * self.std

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return self.value - NORMAL * self.std, self.value + NORMAL * self.std

    def shown(self) -> tuple[float, float, str]:
        """Value and half width of the 95 % interval, in mm, deg or %."""
        factor, unit = {"m": (1e3, "mm"), "rad": (180 / np.pi, "deg"), "": (100.0, "%")}[self.unit]
        return self.value * factor, NORMAL * self.std * factor, unit

    def __str__(self) -> str:
        value, half, unit = self.shown()
        return f"{self.words}: {value:+.3f} ± {half:.3f} {unit}"

    def as_dict(self) -> dict[str, Any]:
        value, half, unit = self.shown()
        return {
            "name": self.words,
            "unit": unit,
            "deviation": value,
            "interval_95": [value - half, value + half],
            "known": self.known,
        }


@dataclass(frozen=True)
class Trial:
    """A model that was tried: how many numbers it frees, and how left-out places are met (m)."""

    model: str
    free: int
    rms: float
    held_out: float


@dataclass(frozen=True)
class Misfit:
    """A pose that does not fit: how far it is off the others' geometry (m)."""

    pose: str
    kind: str
    off: float

    def __str__(self) -> str:
        return f"{self.kind}, pose {self.pose}: {self.off * 1e3:.3f} mm off"


@dataclass(frozen=True)
class Finding:
    """Something about the data that a person should know, with the number that shows it."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibrated robot, with what is known of it.

    `robot` is the mended one: its forward kinematics at the controller's angles is the calibrated
    one. Gear gains, where they were fitted, are no field of a robot: `gains` is what the drives'
    ratios have to be multiplied by.
    """

    nominal: Robot
    robot: Robot
    solution: Solution
    trials: tuple[Trial, ...]
    visible: Visible
    findings: tuple[Finding, ...]
    widened: float  # by what the tolerances had to be multiplied

    @property
    def model(self) -> str:
        """The model that was chosen: "homing", "sizes" or "all"."""
        return self.solution.model

    @property
    def complete(self) -> bool:
        """Whether the data see all of the geometry, but for the choice of an instrument's frame."""
        free = any(item.gauge for item in self.solution.measured) and not self.solution.held
        return self.visible.complete or (free and set(self.visible.unseen) <= set(MOTIONS[:6]))

    @property
    def reduced_chi(self) -> float:
        """Residuals over given deviations: 1 where nothing is missing in the model."""
        chi, freedom = self.solution.chi, self.solution.freedom
        return float(np.sqrt((chi**2 * freedom).sum() / max(float(freedom.sum()), 1e-9)))

    @cached_property
    def field(self) -> ErrorField:
        """Position deviation over the workspace, before and after."""
        return error_field(self.solution)

    @property
    def frame(self) -> Frame | None:
        """From the robot's base to the first instrument's frame."""
        return next((own for own in self.solution.own if isinstance(own, Frame)), None)

    @property
    def lag(self) -> float | None:
        """By what a log's encoders follow their commands (s)."""
        pairs = zip(self.solution.measured, self.solution.own, strict=True)
        return next((own for item, own in pairs if isinstance(item, Commanded)), None)

    @property
    def gains(self) -> FloatArray:
        """1 + gain (legs,) of the drives."""
        geometric = self.solution.geometric
        if not geometric.gains:
            return np.ones(self.nominal.legs)
        out: FloatArray = 1 + geometric.of_kind(self.solution.x, "gain")
        return out

    def forward_kinematics(self, q: npt.ArrayLike) -> FloatArray:
        """Calibrated platform points (N, 3) of q (N, dof) by the nominal file's convention."""
        rows = np.atleast_2d(np.asarray(q, dtype=float))
        return self.solution.geometric.points(self.solution.x, rows)

    def position_std(self, q: npt.ArrayLike) -> FloatArray:
        """Covariance (N, 3, 3) in m^2 of the calibrated points of q (N, dof)."""
        solution = self.solution
        rows = np.atleast_2d(np.asarray(q, dtype=float))
        _, slopes = solution.geometric.slopes(solution.x, rows)
        out: FloatArray = slopes @ solution.x_covariance @ np.swapaxes(slopes, 1, 2)
        return out

    def joint_coordinates(self, p: npt.ArrayLike) -> FloatArray:
        """q (N, dof) by the nominal file's convention that bring the platform to p (N, 3)."""
        geometric, x = self.solution.geometric, self.solution.x
        points = with_psi(self.nominal, np.atleast_2d(np.asarray(p, dtype=float))[:, :3])
        q = inverse_kinematics(self.robot, points)
        legs = self.nominal.legs
        if not self.nominal.linear:
            q[:, :legs] -= geometric.of_kind(x, "offset")
        q[:, :legs] /= self.gains
        return q

    @cached_property
    def table(self) -> tuple[Known, ...]:
        """Every parameter by itself."""
        geometric, solution = self.solution.geometric, self.solution
        std = np.sqrt(np.diag(solution.x_covariance))
        free = np.abs(solution.subset).sum(axis=1) > 0
        return tuple(
            Known(
                f"{self._limb(item.limb)}, {self._word(item.kind)}",
                item.unit,
                float(solution.x[k]),
                float(std[k]) if free[k] else float(solution.scales[k]),
                float(solution.scales[k]),
            )
            for k, item in enumerate(geometric.parameters)
        )

    @cached_property
    def combinations(self) -> tuple[Known, ...]:
        """Means of the limbs and what each limb has beside them, where the data know them."""
        geometric = self.solution.geometric
        legs, wide = self.nominal.legs, len(geometric.kinds)
        found = []
        for index, kind in enumerate(geometric.kinds):
            own = np.arange(legs) * wide + index
            for limb in range(-1, legs):
                weights = np.full(legs, 1.0 / legs if limb < 0 else -1.0 / legs)
                if limb >= 0:
                    weights[limb] += 1
                direction = np.zeros(geometric.count)
                direction[own] = weights
                words = self._word(kind)
                whose = "mean" if limb < 0 else f"{self._limb(limb)} less the mean"
                found.append(self._known(f"{words}, {whose}", kind, direction))
        found += self.table[legs * wide :]  # the platform's own
        return tuple(item for item in found if item.known)

    def _known(self, words: str, kind: str, direction: FloatArray) -> Known:
        solution = self.solution
        unit = "" if kind == "gain" else "rad" if kind in ANGLES else "m"
        variance = float(direction @ solution.x_covariance @ direction)
        if not np.abs(solution.subset.T @ direction).sum():
            variance = float(((direction * solution.scales) ** 2).sum())  # not free
        before = float(np.sqrt(((direction * solution.scales) ** 2).sum()))
        return Known(words, unit, float(direction @ solution.x), max(variance, 0.0) ** 0.5, before)

    def _limb(self, i: int) -> str:
        return f"{'rail' if self.nominal.linear else 'arm'} {i + 1}" if i >= 0 else "platform"

    def _word(self, kind: str) -> str:
        own = RAIL_WORDS if self.nominal.linear else {}
        return own.get(kind, WORDS[kind])

    @cached_property
    def misfits(self) -> tuple[Misfit, ...]:
        """Poses that do not fit the others."""
        found = []
        for index, item in enumerate(self.solution.measured):
            if isinstance(item, Commanded):
                continue
            mask, off = outlying(self.solution, index)
            found += [Misfit(item.names[k], item.kind, float(off[k])) for k in np.flatnonzero(mask)]
        return tuple(found)

    @cached_property
    def additions(self) -> tuple[Addition, ...]:
        """What one more distance, height or position would add, the best first."""
        return additions(self.solution)

    @property
    def rms(self) -> float:
        """Root mean square of the first set's residuals (m)."""
        return self.solution.rms(0)

    @property
    def held_out(self) -> float:
        """The same of places that were left out."""
        return self.solution.held_out(0)

    def residuals(self, index: int = 0) -> FloatArray:
        """Residuals (points, coordinates) of a set, in m."""
        return metres(self.solution.measured[index], self.solution.points_of(index))

    def joint_residuals(self) -> FloatArray:
        """q of a command log less what the calibrated model gives for its commands (N, legs)."""
        for item, own in zip(self.solution.measured, self.solution.own, strict=True):
            if isinstance(item, Commanded):
                return self.log_residuals(item, own)
        return np.zeros((0, self.nominal.legs))

    def log_residuals(self, log: Commanded, lag: float | None = None) -> FloatArray:
        """The same for any log, with this calibration's lag; samples with a command in it."""
        lag = (self.lag or 0.0) if lag is None else lag
        points, _ = log.commanded(lag)
        legs, rows = self.nominal.legs, log.inside(lag)
        out: FloatArray = log.q[rows, :legs] - self.joint_coordinates(points[rows])[:, :legs]
        return out

    @property
    def status(self) -> str:
        """One sentence: what was fitted, how well, and what is left."""
        sizes = self.field.as_dict()
        aside = len(self.misfits)
        without = f" ({aside} set aside)" if self.solution.aside.any() else ""
        return (
            f"{MODELS[self.model]} fitted to {self._counted()}{without}: residual "
            f"{self.rms * 1e3:.3f} mm, places left out {self.held_out * 1e3:.3f} mm; over the "
            f"workspace {sizes['before_rms_mm']:.3f} mm (worst {sizes['before_worst_mm']:.3f}) "
            f"before, {sizes['after_rms_mm']:.3f} mm (worst {sizes['after_worst_mm']:.3f}) after"
        )

    def _counted(self) -> str:
        sets = self.solution.measured
        return ", ".join(f"{len(item.names)} {item.kind}" for item in sets)

    def __str__(self) -> str:
        lines = [self.status]
        lines += [f"  {item}" for item in self.combinations if item.differs]
        lines += [f"does not fit: {item}" for item in self.misfits]
        lines += [f"note: {item}" for item in self.findings]
        if not self.complete:
            lines.append(f"next: {self.additions[0]}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The numbers, for JSON."""
        frame = self.frame
        return {
            "robot": self.nominal.name,
            "status": self.status,
            "model": self.model,
            "sets": [
                {
                    "kind": item.kind,
                    "points": len(item.names),
                    "rms_mm": self.solution.rms(k) * 1e3,
                    "held_out_mm": self.solution.held_out(k) * 1e3,
                    "reduced_chi": float(self.solution.chi[k]),
                }
                for k, item in enumerate(self.solution.measured)
            ],
            "reduced_chi": self.reduced_chi,
            "models": [
                {
                    "model": trial.model,
                    "free": trial.free,
                    "rms_mm": trial.rms * 1e3,
                    "held_out_mm": trial.held_out * 1e3,
                }
                for trial in self.trials
            ],
            "rank": self.visible.rank,
            "unknowns": self.visible.unknowns,
            "geometry_rank": self.visible.geometry_rank,
            "unseen": list(self.visible.unseen),
            "workspace": self.field.as_dict(),
            "parameters": [item.as_dict() for item in self.table],
            "combinations": [item.as_dict() for item in self.combinations],
            "additions": [
                {"what": item.words, "before_mm": item.before * 1e3, "after_mm": item.after * 1e3}
                for item in self.additions
            ],
            "gains": self.gains.tolist(),
            "frame": None
            if frame is None
            else {"turn": frame.turn.tolist(), "origin_mm": (frame.origin * 1e3).tolist()},
            "lag_ms": None if self.lag is None else self.lag * 1e3,
            "misfits": [
                {"pose": item.pose, "kind": item.kind, "off_mm": item.off * 1e3}
                for item in self.misfits
            ],
            "findings": [{"kind": item.kind, "text": item.text} for item in self.findings],
            "tolerances_widened": self.widened,
        }

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write robot file, JSON and page into a folder: mine.yaml, mine.json, mine.html of mine.

        The paths of the files.
        """
        place = Path(folder)
        name = place.resolve().name
        numbers = json.dumps(self.as_dict(), indent=1) + "\n"
        files = {f"{name}.yaml": robot_text(self.robot), f"{name}.json": numbers}
        with file_set():
            page = self.page(place / f"{name}.html")
            return *write_together(place, files), page

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page with its tables and the error field before and after."""
        return write_page("calibration", self, path)


def chosen(trials: Sequence[Trial], margin: float = 1.1) -> int:
    """The smallest model whose left-out places are met nearly as well as by the best."""
    best = min(trial.held_out for trial in trials)
    return next(k for k, trial in enumerate(trials) if trial.held_out <= margin * best)
