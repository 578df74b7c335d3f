"""Intervals and torque bands that hold: over the models that remain, wider where a term is missing.

One model's deviation leaves out that another set of terms may be true. The interval is the hull
over the models that remain, of x_m +- z sd_m R_m, with R_m the deviation from segments of time over
that of the model, at least 1. Products of terms that a linear model neglects count by `PRODUCTS`.

Where the residual follows the motion and no term explains it (see `structure`), the error is the
same in every motion and no resampling sees it. With the share e of the residual's variance that
follows the motion, n rows and D directions granted to what is missing, rows count less by

    1 + n e / (D kappa):

deviations grow by its root, sets of terms that the rows would tell apart remain as rivals, each
term that was found may stand in for the missing one, and the words are "a term is missing". What a
rival leaves of the torque is a part of the missing term then, and no scatter: rivals count with
their estimates and the best set's deviation.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.rigid import LIMBS
from deltadyn.identification.terms.choose import Choice, Weighing
from deltadyn.identification.terms.evidence import ASKED, Model
from deltadyn.identification.terms.structure import Structure, structure_of
from deltadyn.identification.uncertainty import check_level

REMAIN = 3.7  # nats below the best: odds of 1 to 40, the tail of a 95 % interval
# Of a parameter, per root of the number of pairs of terms. Columns are linearised again until the
# set stays, so that little is neglected: 3e-4 and 1e-3 hold as many truths with ten terms (all of
# 68), with half the width.
PRODUCTS = 3e-4
PRODUCT_TERMS = {"elastic": 2}  # what counts as several terms: wind-up and rotor
DIRECTIONS = 2.0  # granted to what is missing
CONFOUNDED = ("offset",)  # terms that stay a rival, however little the rows say for them
NAMELESS = "other"  # a term that is no explanation
# In variance, of what follows the motion, on motion of another kind: without it bands hold 67 to
# 85 % of picks on four machines with hysteresis, with it 89 to 95 %, 1.7 times as wide.
STRUCTURE_GROWTH = 16.0
NORMAL = 1.959964  # deviations of a normal 95 % interval
ENDS = (0.005, 0.995)  # quantiles of an axis' angles that are its travel


@dataclass(frozen=True, eq=False)
class Hull:
    """Estimates x (m, k) and deviations (m, k) of the models that remain, the best one first.

    `products` (k,) is added on each side. `structure` is what of the residual follows the motion;
    where a term is missing, `factor` is what deviations grew by.
    """

    names: tuple[str, ...]
    x: FloatArray
    std: FloatArray
    products: FloatArray
    structure: Structure
    factor: float

    @property
    def missing(self) -> bool:
        """Whether a term is missing: the residual follows the motion and nothing explains it."""
        return self.factor > 1.0

    def offsets(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2) about the best model's estimate."""
        from scipy.special import ndtri  # takes longer than the rest of the import

        z = float(ndtri((1 + check_level(level)) / 2))
        half, about = z * self.std, self.x - self.x[0]
        low = (about - half).min(axis=0) - z * self.products
        high = (about + half).max(axis=0) + z * self.products
        return np.stack([low, high], axis=1)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2) of the best model's parameters."""
        out: FloatArray = self.x[0][:, None] + self.offsets(level)
        return out


def hull(choice: Choice, names: Sequence[str] | None = None, *, share: float = 1.0) -> Hull:
    """The hull over a choice's models, of parameters by name; by default of the base parameters.

    Names are those of base parameters, of a limb ("A1") or of a term's columns; what a model does
    not have is 0 in it. `share` is that of the log's rows which the choice was made from.
    """
    wanted = tuple(choice.par.names if names is None else names)
    L = functionals(choice, wanted)
    structure = unexplained(choice)
    factor = math.sqrt(discount(choice.weighing, structure))
    weighing = replace(choice.weighing, kappa=choice.weighing.kappa * factor**2)
    top: dict[bool, float] = {}  # of refused sets, of others; the best may have lost idle terms
    for model in choice.models:
        top[model.refused] = max(top.get(model.refused, model.evidence), model.evidence)
    kept = [m for m in choice.models if m is choice.best or m.evidence >= top[m.refused] - REMAIN]
    if factor > 1.0:
        kept = [choice.best, *_doubted(choice, weighing)]
    confounded = frozenset(n for n, item in enumerate(choice.items) if item.term in CONFOUNDED)
    confounded -= choice.best.candidates
    kept += [model for model in _beside(choice, confounded) if model not in kept]
    x: list[FloatArray] = []
    std: list[FloatArray] = []
    for model in kept:
        columns = choice.columns(model)
        z, V = weighing.estimate(columns)
        z = choice.z if model is choice.best else z
        own = (L @ V * L).sum(axis=1)
        seen = (L @ segment_covariance(weighing, z, columns) * L).sum(axis=1)
        x.append(L @ z)
        std.append(np.sqrt(np.maximum(np.maximum(own, factor**2 * seen), 0.0) * share))
        if factor > 1.0 and not confounded & model.candidates:
            std[-1] = std[0]
    count = sum(PRODUCT_TERMS.get(term.name, 1) for term in choice.chosen)
    pairs = math.sqrt(count * (count - 1) / 2)
    products = PRODUCTS * pairs * np.abs(x[0])
    return Hull(wanted, np.array(x), np.array(std), products, structure, factor)


def _beside(choice: Choice, confounded: Collection[int]) -> list[Model]:
    """The best set with each term that is confounded with base parameters, whatever its evidence.

    A constant torque and gravity's G cos(q) are alike over the travel of a Delta's arms.
    """
    best, evidence = choice.best.candidates, choice.weighing.evidence(choice.items)
    sets = [best | {n} for n in sorted(confounded)]
    return [Model(own, evidence.of(own)) for own in sets]


def _doubted(choice: Choice, weighing: Weighing) -> list[Model]:
    """Rivals where a term is missing: any term that was found may stand in for it.

    They are the best set without one of its terms, but for those that were asked for, and sets
    that rows of less weight leave.
    """
    best, evidence = choice.best.candidates, weighing.evidence(choice.items)
    models = evidence.models()
    sets = [best - {n} for n in sorted(best) if choice.items[n].odds < ASKED]
    sets += [m.candidates for m in models if m.evidence >= models[0].evidence - REMAIN]
    return [Model(own, evidence.of(own)) for own in dict.fromkeys(sets) if own != best]


def unexplained(choice: Choice) -> Structure:
    """What of the residual follows the motion, without what only nameless terms explain.

    With elastic gears the arms' motion is made of the measured torque: the noise of the residual is
    in the changes of the model's torque, too.
    """
    columns = [
        c
        for n in sorted(choice.best.candidates)
        if choice.terms[n].name != NAMELESS
        for c in choice.items[n].columns
    ]
    without = ("change",) if "elastic" in choice.titles() else ()
    return structure_of(choice.weighing, *choice.weighing.estimate(columns), without)


def discount(weighing: Weighing, structure: Structure) -> float:
    """How many rows count as one where a residual follows the motion, 1 where it does not."""
    if not structure.shows:
        return 1.0
    counts = weighing.rows.counts()
    explained = float(counts @ structure.share)  # rows' worth of variance
    return 1 + explained / (DIRECTIONS * weighing.kappa)


def functionals(choice: Choice, names: Sequence[str]) -> FloatArray:
    """(n, k + m) with named parameters = functionals @ z."""
    from deltadyn.recording.prepare.corrections import contrasts

    base, legs = choice.par.names, choice.robot.legs
    columns = [p.name for term in choice.terms for p in term.parameters]
    out = np.zeros((len(names), len(base) + len(columns)))
    for row, name in enumerate(names):
        if name in base:
            out[row, base.index(name)] = 1.0
            continue
        family, arm = name[:-1], name[-1]
        if family in base and arm in LIMBS:  # a limb's own: mean (1 + contrasts)
            out[row, base.index(family)] = 1.0
            size = float(choice.point.x[base.index(family)])
            for k in range(legs - 1):
                for c in _places(columns, f"{family}.{k + 1}"):
                    out[row, len(base) + c] = size * contrasts(legs)[int(arm) - 1, k]
            continue
        for c in _places(columns, name):
            out[row, len(base) + c] = 1.0
    return out


def _places(columns: Sequence[str], name: str) -> list[int]:
    return [c for c, own in enumerate(columns) if own == name]


def segment_covariance(weighing: Weighing, z: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Covariance (k + m, k + m) of an estimate, from the scores of segments of time."""
    rows = weighing.rows
    k = rows.base
    on = np.append(np.arange(k), k + np.asarray(columns, dtype=np.int64))
    where = np.full(rows.width, -1)
    where[on] = np.arange(len(on))
    left = rows.left(z)
    starts = np.flatnonzero(np.append(True, np.diff(rows.segment) != 0))
    scores = np.zeros((len(starts), len(on)))
    for axis, sigma in enumerate(weighing.sigma):
        own = rows.axes[axis]
        take = where[own.places] >= 0
        product = own.X[:, take] * (left[:, axis] / sigma**2)[:, None]
        scores[:, where[own.places[take]]] += np.add.reduceat(product, starts, axis=0)
    _, V = weighing.estimate(columns)
    bread = V[np.ix_(on, on)] / weighing.kappa
    count = len(starts)
    meat = scores.T @ scores * (count / max(count - 1, 1))
    out = np.zeros((rows.width, rows.width))
    out[np.ix_(on, on)] = bread @ meat @ bread
    return out


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves of the angle that a fit found, and the travel in which it saw them.

    `travel` (2, dof) are the lowest and the highest angle in rad, `rms` (w, dof) the RMS torque of
    each wave in N m, `doubt` (w,) by how many orders it may differ.
    """

    travel: FloatArray
    rms: FloatArray
    doubt: FloatArray

    @classmethod
    def none(cls, dof: int) -> Waves:
        """No waves."""
        return cls(np.zeros((2, dof)), np.zeros((0, dof)), np.zeros(0))

    def beyond(self, q: FloatArray) -> FloatArray:
        """RMS torque (N, dof) in N m by which waves may be wrong beyond the travel.

        At a distance d two waves of equal size whose orders differ by n are apart by their phase
        n d: |exp(i n d) - 1| = 2 sin(n d / 2), at most 2.
        """
        low, high = self.travel
        distance = np.maximum(np.maximum(low - q, q - high), 0.0)
        phase = np.minimum(distance[:, None] * self.doubt[:, None], np.pi)  # (N, w, dof)
        out: FloatArray = np.sqrt(((self.rms * 2 * np.sin(phase / 2)) ** 2).sum(axis=1))
        return out


@dataclass(frozen=True, eq=False)
class Scatter:
    """How far measured torque lies from the model, about its prediction:

        half = hypot(reach sqrt(c0 + c1 tau^2), z waves) + drift |qd|

    c0, c1, reach (dof,) at 95 %; `drift` (dof,) in N m s/rad is the range of viscous friction that
    changed during the log; `waves` count beyond the travel that the fit saw. `scores` are, per
    axis, sorted errors in units of the half width at reach 1 on motion that the fit did not see:
    where they are given, their quantile is the reach.
    """

    c0: FloatArray
    c1: FloatArray
    reach: FloatArray
    drift: FloatArray
    waves: Waves
    scores: tuple[FloatArray, ...] | None = None

    def half(
        self, tau: FloatArray, q: FloatArray, qd: FloatArray, level: float = 0.95
    ) -> FloatArray:
        """Half the width (N, dof) of a band that holds measured torque in the band of the fit."""
        from scipy.special import ndtri  # takes longer than the rest of the import

        z = float(ndtri((1 + check_level(level)) / 2))
        moving = np.hypot(self._reach(level) * self.scale(tau), z * self.waves.beyond(q))
        out: FloatArray = moving + self.drift * np.abs(qd)
        return out

    def scale(self, tau: FloatArray) -> FloatArray:
        """The deviation (N, dof) that grows with the torque, in N m."""
        out: FloatArray = np.sqrt(self.c0 + self.c1 * tau**2)
        return out

    def _reach(self, level: float) -> FloatArray:
        from scipy.special import ndtri  # takes longer than the rest of the import

        z = float(ndtri((1 + check_level(level)) / 2)) / NORMAL
        if self.scores is None:
            return z * self.reach
        # conformal: of n errors the ceil((n + 1) level)-th holds the next one at this level
        place = [min(math.ceil((len(own) + 1) * level), len(own)) - 1 for own in self.scores]
        return np.array([own[k] for own, k in zip(self.scores, place, strict=True)])

    def calibrated(
        self, errors: FloatArray, tau: FloatArray, qd: FloatArray, used: BoolArray
    ) -> Scatter:
        """The same with the reach from errors (M, dof) of torque tau on motion not seen before."""
        beyond = np.maximum(np.abs(errors) - self.drift * np.abs(qd), 0.0) / self.scale(tau)
        scores = tuple(np.sort(beyond[keep, a]) for a, keep in enumerate(used.T))
        return replace(self, scores=scores)


def scatter(choice: Choice, structure: Structure) -> Scatter:
    """The band of measured torque: by size of the torque, the worst fold, and cross-validation.

    Where the residual follows the motion by a share e of its variance, other motion may show a
    multiple of that: the reach grows by sqrt(1 + STRUCTURE_GROWTH e).
    """
    share = structure.share if structure.shows else np.zeros(choice.robot.dof)
    wider = np.sqrt(1 + STRUCTURE_GROWTH * share)
    from scipy.optimize import nnls  # takes longer than the rest of the import

    rows, test = choice.weighing.rows, choice.unseen
    left, unseen = rows.left(choice.z), test.residuals(choice.best.candidates)
    fold = test.fold
    c0, c1, reach = [], [], []
    for a, axis in enumerate(rows.axes):
        used = axis.used
        tau = axis.X[used] @ choice.z[axis.places]
        e = left[used, a]
        A = np.column_stack([np.ones(len(tau)), tau**2])
        size = np.array([1.0, max(float(np.mean(tau**2)), 1e-300)])
        square = max(float(np.mean(e**2)), 1e-300)
        pair = nnls(A / size, e**2 / square)[0] * square / size
        pair[0] = max(pair[0], 1e-6 * square)
        scale = np.sqrt(A @ pair)
        worst = max(
            float(np.quantile(np.abs(e[fold[used] == f]) / scale[fold[used] == f], 0.95))
            for f in np.unique(fold[used])
        )
        more = math.sqrt(max(float((unseen[used, a] ** 2).mean()) / square, 1.0))
        c0.append(pair[0])
        c1.append(pair[1])
        reach.append(worst * more * float(wider[a]))
    drift = np.zeros(len(rows.axes))
    values = choice.values
    if "drift1" in values:
        t = np.linspace(-1, 1, 101)
        curve = sum(values[f"drift{k}"] * np.polynomial.Legendre.basis(k)(t) for k in (1, 2, 3))
        viscous = [
            abs(float(choice.z[choice.par.names.index(f"Fv{a + 1}")])) for a in range(len(drift))
        ]
        drift = np.array(viscous) * float(np.abs(curve).max())
    return Scatter(np.array(c0), np.array(c1), np.array(reach), drift, found_waves(choice))


def found_waves(choice: Choice) -> Waves:
    """The waves of a choice: each is doubted by an order, and more where the travel is short.

    Over a travel T orders below 2 pi / T are less than one wave, and alike.
    """
    rows, k = choice.weighing.rows, choice.weighing.rows.base
    used = [rows.q[axis.used, i] for i, axis in enumerate(rows.axes)]
    travel = np.array([np.quantile(own, ENDS) if len(own) else (0.0, 0.0) for own in used]).T
    shortest = 2 * np.pi / max(float(np.median(travel[1] - travel[0])), 1e-3)
    rms, doubt = [], []
    for number in sorted(choice.best.candidates):
        term = choice.terms[number]
        if term.name not in ("ripple", "eccentricity") or term.setting is None:
            continue
        z = np.zeros(rows.width)
        columns = k + np.array(choice.items[number].columns)
        z[columns] = choice.z[columns]
        if term.name == "ripple":  # less than a wave of it may lie in the travel
            rms.append(np.sqrt((z[columns].reshape(-1, 2) ** 2).sum(axis=1) / 2))
        else:
            torque = [axis.X[axis.used] @ z[axis.places] for axis in rows.axes]
            rms.append(np.array([math.sqrt(float(np.mean(own**2))) for own in torque]))
        doubt.append(max(1.0, shortest - term.setting))
    return Waves(travel, np.array(rms).reshape(-1, len(used)), np.array(doubt))
