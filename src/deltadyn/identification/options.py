"""What a fit is asked for, whatever its method: how logs are prepared, and what is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.problem import Method
from deltadyn.recording.prepare.data import Rates


@dataclass(frozen=True, eq=False)
class Preparation:
    """How recordings are made ready for a fit; the first three are those of `prepare`.

    `band` in Hz: "auto" takes the frequency up to which a rigid model explains the torque, None all
    frequencies. `rates` says where velocities and accelerations come from, `bandwidth` (Hz) is that
    of the smoother that estimates them, by default as the data ask for. `check` refuses recordings
    with a wrong sign, unit or order of the axes, and payloads that were not declared.
    """

    band: float | Literal["auto"] | None = "auto"
    rates: Rates = "auto"
    bandwidth: npt.ArrayLike | None = None
    check: bool = True


@dataclass(frozen=True, eq=False)
class FitOptions(Preparation):
    """What is fitted, beside how the recordings are made ready.

    `model` is by default that of the method. `tied` gives the limbs common bodies: by default where
    the robot's are equal, "auto" where a test does not speak against it. `com_offset` adds the
    arms' sine gravity terms. `weights` of the axes are "covariance" (one over the residual's
    deviation, iterated), "equal", or numbers (dof,) in 1/(N m). `unidentifiable="hold"` keeps what
    the data cannot identify at the robot's own values, "raise" refuses the data. `gains` finds the
    drives' gains from recordings with different known payloads, `stribeck` adds Stribeck friction
    and finds its velocities from the data. `seed` is that of methods that draw numbers.

    `terms` are those beyond the robot file's model: "auto" looks for all that real machines have
    and lets the evidence choose (the default of the methods that can), names such as ("offset",
    "ripple") force these and no others, "file" keeps to the robot file, as does band=None.
    """

    model: str | None = None
    tied: bool | Literal["auto"] | None = None
    com_offset: bool | None = None
    weights: str | npt.ArrayLike = "covariance"
    unidentifiable: Literal["raise", "hold"] = "raise"
    gains: bool = False
    stribeck: bool = False
    seed: int = 0
    terms: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.unidentifiable not in ("raise", "hold"):
            raise InputError("unidentifiable", self.unidentifiable, "'raise' or 'hold'")
        if not (self.tied is None or isinstance(self.tied, bool) or self.tied == "auto"):
            raise InputError("tied", self.tied, "True, False, 'auto' or None")
        if isinstance(self.terms, str) and self.terms not in ("auto", "file"):
            allowed = "'auto', 'file', or names of terms in a tuple"
            raise InputError("terms", self.terms, allowed)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise InputError("seed", self.seed, "a whole number, at least 0")
        if self.seed < 0:
            raise InputError("seed", self.seed, "a whole number, at least 0")

    @property
    def limbs(self) -> bool | None:
        """`tied` where it is said, None where a test or the robot decides."""
        return self.tied if isinstance(self.tied, bool) else None

    def given_weights(self, dof: int) -> FloatArray | None:
        """Weights (dof,) of the axes where they do not depend on the data; None where they do."""
        if isinstance(self.weights, str):
            if self.weights == "covariance":
                return None
            if self.weights == "equal":
                return np.ones(dof)
            raise InputError("weights", self.weights, f"'covariance', 'equal' or {dof} numbers")
        numbers = np.asarray(self.weights, dtype=np.float64)
        if numbers.shape != (dof,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise InputError("weights", numbers, f"{dof} numbers above 0")
        return numbers


def record_of(method: Method, options: FitOptions) -> dict[str, Any]:
    """All that was asked for, by name, for the record of a fit."""
    first = ("model", "tied", "com_offset", "band", "rates", "bandwidth", "weights")
    rest = ("unidentifiable", "gains", "stribeck", "terms", "check", "seed")
    common = {name: getattr(options, name) for name in (*first, *rest)}
    own = {name: getattr(method, name) for name in method.option_names()}
    return {"method": method.name, **common, **own}
