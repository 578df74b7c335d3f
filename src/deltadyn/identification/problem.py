"""What a method is, what it gets and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics.base import base_parameters, exact_base_map
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.extra import Extra
from deltadyn.identification.information import Information, triangle, wide_regressor
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.prior import checked_prior, with_prior
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
        """The proof in words: of the optimum of the problem, not of the robot."""
        return (
            f"The objective is {self.primal:.9g}, no answer to this problem goes below "
            f"{self.dual:.9g}: a gap of {self.relative:.1e}."
        )

    def __str__(self) -> str:
        return self.sentence


SURE = 100.0  # torques: what a held parameter would cost if it moved by its size
SMALL = 0.1  # size of a held parameter that is 0, in its unit
CACHE = 60_000_000  # numbers of rows that are kept in memory: 480 MB

NO_COLUMN = 1e-10  # of the largest singular value of columns of unit length

Parts = Callable[[], Iterator[Prepared]]


class Block(NamedTuple):
    """Rows Y (M, dof, k) and torque (M, dof) of a part in its band, without weights.

    `keep` (M, dof) tells which rows count.
    """

    Y: FloatArray
    tau: FloatArray
    keep: BoolArray


@dataclass(eq=False)
class Problem:
    """Robot, parameters and data of a fit; `weights` (dof,) scale the rows of each axis.

    `held` are parameters that the data cannot tell, at the values that they keep. `extra` gives the
    columns of the log and the rows that are left out; `parts` are corrected by it already.
    `prior_rows` (m, k + 1) are rows [P, target] beside the weighted ones, in their units: what is
    known of the parameters before the fit adds |P x - target|^2 to the squares. Columns are those
    of `machine` where it is given: the same robot with the bodies and lengths that were found.
    """

    robot: Robot
    par: Parametrisation
    information: Information
    weights: FloatArray
    parts: Parts | None = None
    seed: int = 0
    progress: bool = False
    held: dict[str, float] = field(default_factory=dict)
    extra: Extra | None = None
    prior_rows: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    machine: Robot | None = None
    _rows: list[Block] | None = None

    def __post_init__(self) -> None:
        self.prior_rows = checked_prior(self.prior_rows, self.par)

    @property
    def known(self) -> BoolArray:
        """Parameters (k,) of which something is known before the fit."""
        return np.asarray((self.prior_rows[:, :-1] != 0).any(axis=0))

    def factor(self) -> FloatArray:
        """Triangular factor (k + 1, k + 1) of the weighted rows and the prior ones."""
        return with_prior(self.information.factor(self.par, self.weights), self.prior_rows)

    @cached_property
    def _eliminated(self) -> tuple[FloatArray, FloatArray]:
        return eliminated(self.factor(), self.par.own)

    def completed(self, x: FloatArray) -> FloatArray:
        """x (k,) with the parameters of the log that fit the robot's own, x (own,), best."""
        if self.par.own == len(self.par.names):
            return x
        return np.append(x, self._eliminated[1] @ np.append(x, -1.0))

    def factor_with_held(self) -> FloatArray:
        """The factor of the robot's parameters, the log's minimised, with what is held behind.

        Columns of what is held are so sure that a fit of bodies keeps it.
        """
        R, k, m = self._eliminated[0], self.par.own, len(self.held)
        values = np.array(list(self.held.values()))
        size = np.where(values != 0, np.abs(values), SMALL)
        sure = SURE * float(np.linalg.norm(R[:, -1])) / size
        out = np.zeros((k + m + 1, k + m + 1))
        out[:k, :k], out[:k, -1], out[-1, -1] = R[:k, :k], R[:k, -1], R[-1, -1]
        index = np.arange(k, k + m)
        out[index, index], out[index, -1] = sure, sure * values
        return out

    def rows(self) -> Iterator[Block]:
        """The rows of every part; those that are left out are zero and not kept."""
        if self._rows is not None:
            yield from self._rows
            return
        if self.parts is None:
            raise InputError(
                "data", "information alone", "recordings: this method reads the samples again"
            )
        kept: list[Block] | None = []
        size = 0
        for part in self.parts():
            block = rows_of(
                self.machine or self.robot, self.par, self.information, part, self.extra
            )
            if not block.keep.all():
                block.Y[~block.keep], block.tau[~block.keep] = 0.0, 0.0
            size += block.Y.size
            if kept is not None:
                kept.append(block)
                if size > CACHE:
                    kept = None
            yield block
        self._rows = kept

    def bodies(self, hull: Hull | bool = True) -> tuple[Bodies, FloatArray]:
        """The bodies behind the parameters, and K (k, n): parameters = K @ standard ones.

        Parameters that are held come behind the robot's others, as in `factor_with_held`; those
        of the log have no bodies.
        """
        robot, par = self.robot, self.par
        names = (*par.names[: par.own], *self.held)
        if par.source == "rigid":
            base = base_parameters(robot, "rigid", par.tied, friction=True)
            rows = [base.independent.index(name) for name in names]
            bodies = Bodies.of(robot, base.standard, "rigid", tied=par.tied, hull=hull)
            return bodies, base.matrix[rows]
        standard = standard_parameters(robot, par.tied).names
        K = exact_base_map(robot, names, standard, par.tied)
        return Bodies.of(robot, standard, "exact", tied=par.tied, hull=hull), K

    def stacked(self) -> tuple[FloatArray, FloatArray]:
        """All weighted rows that are kept as Y (rows, k) and torque (rows,), without priors."""
        blocks = [
            ((Y * self.weights[:, None])[keep], (tau * self.weights)[keep])
            for Y, tau, keep in self.rows()
        ]
        return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def eliminated(factor: FloatArray, own: int) -> tuple[FloatArray, FloatArray]:
    """The factor (own + 1, own + 1) of squares minimised over the columns behind `own`.

    With the columns L of y and B of x, and the target t, Q = [Q1 Q2] with L = Q1 S gives
    |L y + B x - t|^2 = |S y + Q1'(B x - t)|^2 + |Q2'(B x - t)|^2. The first square is 0 at
    y = -S^+ Q1' [B t] (x, -1), whatever x is; so Q2' [B t] is the factor of what is left, and its
    optimum under any constraint on x is that of both. Also returned: -S^+ Q1' [B t] (m, own + 1).
    """
    k = factor.shape[1] - 1
    if own == k:
        return factor, np.zeros((0, own + 1))
    others = np.concatenate([factor[:, :own], factor[:, -1:]], axis=1)
    length = np.linalg.norm(factor[:, own:k], axis=0)
    length[length == 0] = 1.0
    Q, s, Vt = np.linalg.svd(factor[:, own:k] / length)
    rank = int((s > NO_COLUMN * s.max(initial=0.0)).sum())  # beyond, y stays where it is least
    back = -(Vt[:rank].T / s[:rank]) @ (Q[:, :rank].T @ others) / length[:, None]
    return triangle(Q[:, rank:].T @ others), back


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters x (k,) with a sentence on how they were found.

    `standard` holds parameters of the bodies where the method finds them, `certificate` the proof
    of a global optimum where there is one, `details` numbers for the report. `fixed` are standard
    parameters that the method did not move.
    """

    x: FloatArray
    status: str
    converged: bool = True
    standard: dict[str, float] | None = None
    certificate: Certificate | None = None
    details: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()


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
    #: Whether it can look for terms beyond the robot file's model.
    finds_terms: ClassVar[bool] = False
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
    robot: Robot,
    par: Parametrisation,
    information: Information,
    part: Prepared,
    extra: Extra | None = None,
) -> Block:
    """Y and the torque that the parameters explain in the band of a part, which is corrected.

    Rows that `extra` leaves out are there, too, and marked.
    """
    wide = wide_regressor(robot, part, par.source, extra)
    if wide.shape[2] != len(par.wide_names):
        allowed = f"those of the parameters, {par.log_names}"
        raise InputError("extra columns", () if extra is None else extra.names, allowed)
    known = par.offset + part.extra * information.payload
    tau = part.tau - contract("nij,j->ni", wide, known)
    both = np.concatenate([wide @ par.T, tau[..., None]], axis=2)
    limited = part.limited(both)
    keep = None if extra is None else extra.kept(part)
    if keep is None:
        keep = np.ones(limited.shape[:2], dtype=np.bool_)
    return Block(limited[..., :-1], limited[..., -1], keep)
