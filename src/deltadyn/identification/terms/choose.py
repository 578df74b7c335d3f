"""Find the terms of a machine: linearise, look at the evidence, move to the best, again.

1. Base parameters by least squares, without terms. 2. All candidates, linearised there; orders of
ripple from the residual. 3. The best set by evidence; its estimate is the next point. 4. Again from
2, with settings close to those found, until the set stays. What is at rest is left out by a rule
from the residual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from deltadyn.arrays import FloatArray
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.terms.clock import CLOCKS, Clock
from deltadyn.identification.terms.evidence import ASKED, Candidate, Evidence, Model, odds_of
from deltadyn.identification.terms.library import NEAR, Near, Point, Sample, Term, candidates
from deltadyn.identification.terms.orders import orders_of
from deltadyn.identification.terms.rows import LEAST_NOISE, Rows, stacked
from deltadyn.identification.terms.unseen import UnseenMotion
from deltadyn.recording.prepare.corrections import changed_geometry, corrected
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

MAX_ROUNDS = 6  # of linearisation; most searches end after three
FRESH = 2.0  # rows per independent row, before anything is known
GUESS = 0.02  # of the RMS torque: deviation before anything is known
PASSES = 3  # over the deviations of the axes
FIRST_REST, MOST_REST = 0.05, 0.15  # rad/s: below the first no direction is sure
REST_SHARE = 0.1  # of an axis' rate (95 %): never more counts as rest
ENOUGH = 0.25  # of an axis' rows that must not count as rest
LOUD = 1.5  # times the residual of the fast half
RATES = (0.05, 0.06, 0.08, 0.1, 0.12, 0.15)  # rad/s: bins of the rule for rest
FEW = 8  # rows in a bin that say nothing
MOST_ORDERS = 3
CLEARLY = 0.5  # nats by which another velocity of an axis must explain more
APART = 8  # orders between two ripples, at least: joints travel over a part of a turn
KNOWN = 1e-12  # of the largest eigenvalue: along smaller ones a matrix knows nothing
LETTERS = "abcdefghijklmnopqrstuvwxyz_"


@dataclass(frozen=True, eq=False)
class Weighing:
    """Rows with the deviations `sigma` (dof,) of their axes; `kappa` rows count as one."""

    rows: Rows
    sigma: FloatArray
    kappa: float

    @cached_property
    def products(self) -> tuple[FloatArray, FloatArray]:
        """X'X and X'y over all axes, weighted, with terms in units of their prior sizes."""
        XX, Xy = np.zeros((self.rows.width, self.rows.width)), np.zeros(self.rows.width)
        for weight, (both, right) in zip(1 / self.sigma**2, self.rows.squares, strict=True):
            XX += weight * both
            Xy += weight * right
        scale = self._scale
        return XX * np.outer(scale, scale), Xy * scale

    @property
    def _scale(self) -> FloatArray:
        return np.append(np.ones(self.rows.base), self.rows.size)

    def evidence(self, items: Sequence[Candidate]) -> Evidence:
        """Evidence of sets of candidates, with the base columns projected out."""
        XX, Xy = self.products
        k = self.rows.base
        inverse = pseudo_inverse(XX[:k, :k])
        G = XX[k:, k:] - XX[k:, :k] @ inverse @ XX[:k, k:]
        g = Xy[k:] - XX[k:, :k] @ inverse @ Xy[:k]
        return Evidence(items, (G + G.T) / 2, g, self.kappa)

    def estimate(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """z (k + m,) with these columns of terms, and its covariance (k + m, k + m)."""
        XX, Xy = self.products
        k, width = self.rows.base, self.rows.width
        on = np.append(np.arange(k), k + np.asarray(columns, dtype=np.int64))
        H = XX[np.ix_(on, on)] / self.kappa
        H[np.arange(k, len(on)), np.arange(k, len(on))] += 1.0
        inverse = pseudo_inverse(H)
        scale = self._scale[on]
        z, V = np.zeros(width), np.zeros((width, width))
        z[on] = inverse @ (Xy[on] / self.kappa) * scale
        V[np.ix_(on, on)] = inverse * np.outer(scale, scale)
        return z, V

    def spread(self, left: FloatArray, columns: int, floor: FloatArray) -> FloatArray:
        """Deviations (dof,) of residuals, with a count for what a fit takes out of them."""
        dof = len(floor)
        spare = np.maximum(self.rows.counts() - (self.rows.base + columns) / dof, 1.0)
        out: FloatArray = np.maximum(np.sqrt((left**2).sum(axis=0) / spare), floor)
        return out


def weigh(rows: Rows, items: Sequence[Candidate], level: FloatArray) -> Weighing:
    """Deviations and kappa from the full model.

    The full model is fitted as if rows were hardly correlated: what a term explains must not count
    as correlated noise that then speaks against the term.
    """
    floor = LEAST_NOISE * level
    found = Weighing(rows, np.maximum(floor, GUESS * level), FRESH)
    left = rows.left(found.estimate(())[0])
    columns: list[int] = []
    for _ in range(PASSES if items else 1):
        found = Weighing(rows, found.spread(left, len(columns), floor), FRESH)
        columns = [c for n in found.evidence(items).full() for c in items[n].columns]
        left = rows.left(found.estimate(columns)[0])
    sigma = found.spread(left, len(columns), floor)
    return Weighing(rows, sigma, correlation_time(left, sigma))


def pseudo_inverse(A: FloatArray) -> FloatArray:
    """Inverse of a symmetric matrix, scaled to a unit diagonal; 0 along what it does not know."""
    length = np.sqrt(np.maximum(np.diag(A), 0.0))
    length = np.where(length > 0, length, 1.0)
    unit = A / np.outer(length, length)
    # Cholesky's factor where it tells that no eigenvalue is near the limit, ten times quicker
    L, failed = lapack.dpotrf(unit, lower=1)
    if unit.size and not failed:
        known, _ = lapack.dpocon(L, np.abs(unit).sum(axis=0).max(), uplo="L")
        if known > 100 * KNOWN:
            half, _ = lapack.dpotri(L, lower=1)
            lower = np.tril(half)
            out: FloatArray = (lower + np.tril(half, -1).T) / np.outer(length, length)
            return out
    values, vectors = np.linalg.eigh(unit)
    good = values > KNOWN * values.max(initial=1e-300)
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    return np.asarray(inverse / np.outer(length, length))


def correlation_time(left: FloatArray, sigma: FloatArray) -> float:
    """kappa: rows per independent row, by the autocorrelation up to its first zero."""
    count = len(left)
    size = 2 ** int(np.ceil(np.log2(2 * max(count, 2))))
    power = (np.abs(np.fft.rfft(left / sigma, size, axis=0)) ** 2).sum(axis=1)
    auto = np.fft.irfft(power)[: max(count // 2, 1)]
    if auto[0] <= 0:
        return 1.0
    below = np.flatnonzero(auto <= 0)
    end = int(below[0]) if below.size else len(auto)
    return float(max(1.0, 1 + 2 * auto[1:end].sum() / auto[0]))


@dataclass(frozen=True, eq=False)
class Choice:
    """The terms that were found, and the models that remain.

    `point` is where `terms` are linearised, with the models' rows in `weighing`. `z` (k + m,) and
    its covariance `V` are the best model's: base parameters, then all columns of terms. Axes count
    as at rest below `rest` (dof,) in rad/s. `level` (dof,) is the RMS torque. `idle` are titles of
    terms that were dropped from the best model, see `idle`.
    """

    robot: Robot
    par: Parametrisation
    point: Point
    terms: tuple[Term, ...]
    items: tuple[Candidate, ...]
    models: tuple[Model, ...]
    weighing: Weighing
    rest: FloatArray
    level: FloatArray
    z: FloatArray
    V: FloatArray
    idle: tuple[str, ...] = ()

    @property
    def best(self) -> Model:
        """The model with the highest evidence."""
        return self.models[0]

    @property
    def chosen(self) -> tuple[Term, ...]:
        """The best model's terms."""
        return self.terms_of(self.best)

    def terms_of(self, model: Model) -> tuple[Term, ...]:
        """A model's terms."""
        return tuple(self.terms[n] for n in sorted(model.candidates))

    def titles(self, model: Model | None = None) -> tuple[str, ...]:
        """Names of a model's terms, by default the best one's."""
        return tuple(term.title for term in self.terms_of(model or self.best))

    @cached_property
    def unseen(self) -> UnseenMotion:
        """What sets of the chosen terms predict of motion that their fits did not see."""
        return UnseenMotion(self.weighing, self.items, self.best.candidates, self.level)

    def columns(self, model: Model) -> list[int]:
        """Numbers of the columns of a model's terms."""
        return [c for n in sorted(model.candidates) for c in self.items[n].columns]

    @property
    def values(self) -> dict[str, float]:
        """Values of the best model's terms by the names of their columns."""
        names = [p.name for term in self.terms for p in term.parameters]
        k = self.weighing.rows.base
        return {names[c]: float(self.z[k + c]) for c in self.columns(self.best)}


@dataclass(frozen=True, eq=False)
class Search:
    """Samples of a machine, and what may be found in them.

    `allowed` are names of terms to look for, None all but those `refused`; `asked` are terms that
    are there whatever the evidence. `more` makes terms beside those that a fit looks for.
    """

    robot: Robot
    par: Parametrisation
    parts: Sequence[Prepared]
    allowed: Collection[str] | None = None
    asked: Collection[str] = ()
    refused: Collection[str] = ()
    more: Sequence[Callable[[Sample], Iterator[Term]]] = ()

    @cached_property
    def level(self) -> FloatArray:
        """RMS torque (dof,) in the band, in N m."""
        tau = np.concatenate([part.limited(part.tau) for part in self.parts])
        rms = np.sqrt(np.mean(tau**2, axis=0))
        out: FloatArray = np.maximum(rms, 1e-9 * max(float(rms.max()), 1e-300))
        return out

    @cached_property
    def clock(self) -> Clock:
        """What friction drifts with."""
        return Clock.over(self.parts)

    @cached_property
    def clocks(self) -> list[FloatArray]:
        """The polynomials of the clock at every sample, by part."""
        return [self.clock(part) for part in self.parts]

    def samples(self, point: Point) -> list[Sample]:
        """The parts as the model sees them at a point."""
        machine = changed_geometry(self.robot, point.values)
        return [
            Sample(
                machine, self.par, point, corrected(machine, part, point.values), clock, self.level
            )
            for part, clock in zip(self.parts, self.clocks, strict=True)
        ]

    def first(self) -> tuple[Point, FloatArray, Near]:
        """Base parameters without terms, what is at rest, and orders of ripple."""
        start = Point(self.par.prior, {})
        rest = FIRST_REST * np.asarray(self.robot.radian)
        rows = stacked(self.samples(start), (), rest, np.zeros(0))
        rest = np.minimum(rest, rest_limit(rows))
        rows = rows.resting(rest)
        z, _ = weigh(rows, (), self.level).estimate(())
        orders = orders_of(rows.q, rows.left(z), peak_width(rows))
        return Point(z, {}), rest, self.near(dict.fromkeys(orders[:MOST_ORDERS], NEAR))

    def near(
        self,
        orders: dict[int, int],
        found: tuple[tuple[str, float], ...] = (),
        velocities: tuple[tuple[str, tuple[float, ...]], ...] = (),
    ) -> Near:
        """Orders to try with their widths, those that were asked for among them."""
        asked = [
            int(tail) for name in self.asked if (tail := name.lstrip(LETTERS)) and tail != name
        ]
        apart = {n: w for n, w in orders.items() if all(abs(n - own) > APART for own in asked)}
        return Near(tuple({**dict.fromkeys(asked, 0), **apart}.items()), found, velocities)

    def look(self, point: Point, rest: FloatArray, near: Near) -> Choice:
        """The best terms, linearised at a point."""
        samples = self.samples(point)
        offered = [t for make in self.more for t in make(samples[0])]
        terms = [t for t in [*self.candidates(samples[0], near), *offered] if self._may(t)]
        terms = self._drifting(terms)
        settings = Counter((term.name, term.family) for term in terms)
        items, start = [], 0
        for term in terms:
            stop = start + len(term.parameters)
            asked = term.title in self.asked or term.name in self.asked
            odds = odds_of(settings[term.name, term.family], asked)
            columns = tuple(range(start, stop))
            items.append(
                Candidate(term.title, term.family, columns, odds, rival=bool(term.stands_for))
            )
            start = stop
        kept = [
            point.values.get(p.name, 0.0) if term.corrects else 0.0
            for term in terms
            for p in term.parameters
        ]
        rows = stacked(samples, terms, rest, np.array(kept))
        weighing = weigh(rows, items, self.level)
        forced = {number for number, item in enumerate(items) if item.odds >= ASKED}

        def worsening(chosen: frozenset[int]) -> int | None:
            return UnseenMotion(weighing, items, chosen, self.level).worsening(chosen, forced)

        models = weighing.evidence(items).models(worsening)
        z, V = weighing.estimate(
            [c for n in sorted(models[0].candidates) for c in items[n].columns]
        )
        return Choice(
            self.robot, self.par, point, tuple(terms), tuple(items), tuple(models), weighing,
            rest, self.level, z, V,
        )  # fmt: skip

    def candidates(self, of: Sample, near: Near) -> list[Term]:
        """All terms that are considered at a point."""
        return candidates(of, near)

    def _drifting(self, terms: Sequence[Term]) -> list[Term]:
        """The terms with the drift by time within each log only where logs can begin anew."""
        drifts = [term for term in terms if term.name == "drift"]
        kept = drifts[: len(CLOCKS) if self.clock.restarts else 1]
        by_warmth = self.clock.span  # K: the drift's setting; None where the clock is time
        return [
            replace(term, setting=by_warmth) if term in kept else term
            for term in terms
            if term not in drifts or term in kept
        ]

    def _may(self, term: Term) -> bool:
        names = {term.name, term.title}
        if names & set(self.refused):
            return False
        return self.allowed is None or bool(names & set(self.allowed))


def choose(search: Search) -> Choice:
    """The terms that the samples ask for, at a point where they are linearised well."""
    from deltadyn.identification.terms.gears import find_gears  # it searches as this module does

    point, rest, near = search.first()
    choice = search.look(point, rest, near)
    for number in range(1, MAX_ROUNDS):
        before = choice
        k = choice.weighing.rows.base
        if number == 1:
            rest = rest_rates(choice)
        choice = search.look(Point(choice.z[:k], choice.values), rest, nearer(search, choice))
        if number > 1 and choice.titles() == before.titles():
            break
    return find_gears(search, choice) or choice


def nearer(search: Search, choice: Choice) -> Near:
    """Orders and velocities close to those that were found, and orders that still show."""
    rows = choice.weighing.rows
    found = wave_orders(choice)
    apart = resolved_orders(rows)
    for order in orders_of(rows.q, rows.left(choice.z), peak_width(rows)):
        if len(found) < MOST_ORDERS and all(abs(order - other) > apart for other in found):
            found[order] = NEAR
    shares = tuple(
        (t.name, t.setting) for t in choice.chosen if t.family == "loss" and t.setting is not None
    )
    velocities = tuple(
        (choice.terms[n].name, axis_velocities(choice, n))
        for n in choice.best.candidates
        if choice.terms[n].velocities
    )
    return search.near(found, shares, velocities)


def wave_orders(choice: Choice) -> dict[int, int]:
    """Orders of the waves that were found, with the width in which they are looked for again.

    Over a part of a turn waves of neighbouring orders are alike. Those that the travel does not
    tell from a stronger one are taken for it: of each kind one order is found there, and it is
    looked for up to `NEAR` beyond the farthest.
    """
    size, k = choice.weighing.rows.size, choice.weighing.rows.base
    apart = resolved_orders(choice.weighing.rows)
    strength: dict[int, float] = {}
    for n in choice.best.candidates:
        term, columns = choice.terms[n], np.array(choice.items[n].columns)
        if term.name in ("ripple", "eccentricity") and term.setting and term.setting > 1:
            own = float(((choice.z[k + columns] / size[columns]) ** 2).sum())
            order = int(term.setting)
            strength[order] = max(own, strength.get(order, 0.0))
    found: dict[int, int] = {}
    for order in sorted(strength, key=lambda order: -strength[order]):
        near = [other for other in found if abs(order - other) <= apart]
        for other in near[:1]:
            found[other] = max(found[other], NEAR + abs(order - other))
        if not near:
            found[order] = 1
    return found


def axis_velocities(choice: Choice, chosen: int) -> tuple[float, ...]:
    """The velocity (dof,) in rad/s of each drive, among those that were tried for a chosen term.

    An axis moves from the velocity of the term where another explains more by `CLEARLY`.
    """
    evidence = choice.weighing.evidence(choice.items)
    name = choice.terms[chosen].name
    tried = [n for n, term in enumerate(choice.terms) if term.name == name]
    others = [c for n in choice.best.candidates - {chosen} for c in choice.items[n].columns]
    found = [chosen] * len(choice.terms[chosen].velocities)
    for _ in range(PASSES):
        for axis in range(len(found)):

            def explained(number: int, axis: int = axis) -> float:
                own = [number if a == axis else n for a, n in enumerate(found)]
                return evidence.explained(
                    [*others, *(choice.items[n].columns[a] for a, n in enumerate(own))]
                )

            best = max(tried, key=explained)
            if explained(best) > explained(found[axis]) + CLEARLY:
                found[axis] = best
    return tuple(choice.terms[n].velocities[axis] for axis, n in enumerate(found))


def resolved_orders(rows: Rows) -> float:
    """How many orders apart two waves differ over the travel of a joint, by a turn of it."""
    return max(APART, peak_width(rows) / 2)


def peak_width(rows: Rows) -> float:
    """Orders over which a peak of the periodogram reaches: two turns over the travel."""
    travel = float(np.median(np.ptp(rows.q, axis=0)))
    return float(np.clip(4 * np.pi / max(travel, 1e-3), 8, 60))


def rest_limit(rows: Rows) -> FloatArray:
    """The highest rate (dof,) in rad/s that may count as rest: most rows of an axis are above."""
    top = np.quantile(np.abs(rows.qd), 0.95, axis=0)
    enough = np.quantile(rows.slowest, 1 - ENOUGH, axis=0)
    out: FloatArray = np.minimum(np.minimum(MOST_REST * rows.radian, REST_SHARE * top), enough)
    return out


def rest_rates(choice: Choice) -> FloatArray:
    """The rate (dof,) from which on an axis' residual is that of fast motion, in rad/s.

    An axis at rest or sticking gives whatever torque holds it: its rows say nothing of friction.
    """
    rows, limit = choice.weighing.rows, rest_limit(choice.weighing.rows)
    found = np.minimum(FIRST_REST * rows.radian, limit)
    for axis, own in enumerate(rows.axes):
        squared, speed = (own.y - own.X @ choice.z[own.places]) ** 2, rows.slowest[:, axis]
        quiet = squared[speed >= np.median(speed)].mean()
        for low, high in pairwise(rows.radian[axis] * rate for rate in RATES):
            inside = (speed >= low) & (speed < high)
            loud = inside.sum() >= FEW and squared[inside].mean() > LOUD**2 * quiet
            if loud and high <= limit[axis]:
                found[axis] = high
    return found
