"""What a method is, what it gets and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.base import base_parameters, exact_base_map
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.information import Information, wide_regressor
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.options import names_of
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

# The proof that comes with a convex fit: a lower bound of the objective beside its value.


@dataclass(frozen=True)
class Certificate:
    """Objective of the answer, a bound that no answer goes below, and their difference.

    All have the unit of the objective; `gap` is primal - dual and is at the level of rounding where
    the answer is optimal. `reference` is a size below which the objective itself is rounding.
    """

    primal: float
    dual: float
    gap: float
    reference: float = 0.0

    @classmethod
    def of(cls, primal: float, dual: float, reference: float = 0.0) -> Certificate:
        """The certificate of a primal and a dual objective."""
        return cls(float(primal), float(dual), float(primal) - float(dual), float(reference))

    @property
    def relative(self) -> float:
        """The gap as a share of the objective or the reference; 0 where all are 0."""
        size = max(abs(self.primal), self.reference)
        return abs(self.gap) / size if size > 0 else 0.0

    def holds(self, tolerance: float) -> bool:
        """Whether the objective is proved optimal up to this share of it."""
        return self.relative <= tolerance

    @property
    def sentence(self) -> str:
        """The proof in words."""
        return (
            f"The objective is {self.primal:.9g}, no answer goes below {self.dual:.9g}: "
            f"a gap of {self.relative:.1e}."
        )

    def __str__(self) -> str:
        return self.sentence


SURE = 100.0  # torques: what a held parameter would cost if it moved by its size
SMALL = 0.1  # size of a held parameter that is 0, in its unit
CACHE = 60_000_000  # numbers of rows that are kept in memory: 480 MB

Parts = Callable[[], Iterator[Prepared]]


@dataclass(eq=False)
class Problem:
    """Robot, parameters and data of a fit; `weights` (dof,) scale the rows of each axis.

    `held` are parameters that the data cannot tell, at the values that they keep.
    """

    robot: Robot
    par: Parametrisation
    information: Information
    weights: FloatArray
    parts: Parts | None = None
    seed: int = 0
    progress: bool = False
    held: dict[str, float] = field(default_factory=dict)
    _rows: list[tuple[FloatArray, FloatArray]] | None = None

    def factor(self) -> FloatArray:
        """Triangular factor (k + 1, k + 1) of the weighted rows."""
        return self.information.factor(self.par, self.weights)

    def factor_with_held(self) -> FloatArray:
        """The factor with columns for what is held, so sure that a fit of bodies keeps it."""
        R, k, m = self.factor(), len(self.par.names), len(self.held)
        values = np.array(list(self.held.values()))
        size = np.where(values != 0, np.abs(values), SMALL)
        sure = SURE * float(np.linalg.norm(R[:, -1])) / size
        out = np.zeros((k + m + 1, k + m + 1))
        out[:k, :k], out[:k, -1], out[-1, -1] = R[:k, :k], R[:k, -1], R[-1, -1]
        index = np.arange(k, k + m)
        out[index, index], out[index, -1] = sure, sure * values
        return out

    def rows(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Rows Y (M, dof, k) and torque (M, dof) of every part in its band, without weights."""
        if self._rows is not None:
            yield from self._rows
            return
        if self.parts is None:
            raise InputError(
                "data", "information alone", "recordings: this method reads the samples again"
            )
        kept: list[tuple[FloatArray, FloatArray]] | None = []
        size = 0
        for part in self.parts():
            block = rows_of(self.robot, self.par, self.information, part)
            size += block[0].size
            if kept is not None:
                kept.append(block)
                if size > CACHE:
                    kept = None
            yield block
        self._rows = kept

    def bodies(self, hull: Hull | bool = True) -> tuple[Bodies, FloatArray]:
        """The bodies behind the parameters, and K (k, n): parameters = K @ standard ones.

        Parameters that are held come behind the others, as in `factor_with_held`.
        """
        robot, par = self.robot, self.par
        names = (*par.names, *self.held)
        if par.source == "rigid":
            base = base_parameters(robot, "rigid", par.tied, friction=True)
            rows = [base.independent.index(name) for name in names]
            bodies = Bodies.of(robot, base.standard, "rigid", tied=par.tied, hull=hull)
            return bodies, base.matrix[rows]
        standard = standard_parameters(robot, par.tied).names
        K = exact_base_map(robot, names, standard, par.tied)
        return Bodies.of(robot, standard, "exact", tied=par.tied, hull=hull), K

    def stacked(self) -> tuple[FloatArray, FloatArray]:
        """All weighted rows as Y (rows, k) and torque (rows,)."""
        blocks = [
            ((Y * self.weights[:, None]).reshape(-1, Y.shape[2]), (tau * self.weights).reshape(-1))
            for Y, tau in self.rows()
        ]
        return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters x (k,) with a sentence on how they were found.

    `standard` holds parameters of the bodies where the method finds them, `certificate` the proof
    of a global optimum where there is one, `details` numbers for the report.
    """

    x: FloatArray
    status: str
    converged: bool = True
    standard: dict[str, float] | None = None
    certificate: Certificate | None = None
    details: dict[str, Any] = field(default_factory=dict)


LINEAR = ("exact", "rigid", "half-half", "euler-lagrange", "virtual-work", "gray-box")
BODIES = ("exact", "rigid")


class Method:
    """A way to fit. Its fields are its options.

    `name` is that of `identify`, `model` what it fits by default, `models` what it can fit,
    `source` the paper. Subclasses are frozen dataclasses that check their options.
    """

    name: ClassVar[str]
    model: ClassVar[str] = "exact"
    models: ClassVar[tuple[str, ...]] = LINEAR
    source: ClassVar[str] = "past the papers"
    #: Whether it takes recordings one by one, each with a role, and not what they tell together.
    by_recording: ClassVar[bool] = False

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Names of the options."""
        return names_of(cls)

    @classmethod
    def check_model(cls, model: str | None) -> None:
        """Refuse a model that the method cannot fit."""
        if model is not None and model not in cls.models:
            raise UnknownNameError(f"model for {cls.name!r}", model, cls.models)


class Solver(Method, ABC):
    """A method that meets the common problem of all recordings together."""

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """The parameters that this method finds."""


def rows_of(
    robot: Robot, par: Parametrisation, information: Information, part: Prepared
) -> tuple[FloatArray, FloatArray]:
    """Y (M, dof, k) and the torque (M, dof) that the parameters explain, in the part's band."""
    wide = wide_regressor(robot, part, par.source)
    known = par.offset + part.extra * information.payload
    tau = part.tau - contract("nij,j->ni", wide, known)
    both = np.concatenate([wide @ par.T, tau[..., None]], axis=2)
    limited = part.limited(both)
    return limited[..., :-1], limited[..., -1]
