"""Find elastic gears: by least squares from several rotors, then by evidence against rigid gears."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.terms.choose import (
    CORRECTED,
    Choice,
    Weighing,
    corrected,
    numbered,
    peak_width,
    weigh,
)
from deltadyn.identification.terms.elastic import Geared, elastic, mean_inertia, thinned
from deltadyn.identification.terms.evidence import PRESENT
from deltadyn.identification.terms.library import (
    ARMS,
    NEAR,
    STRIBECK,
    Point,
    Sample,
    Term,
    candidates,
    friction_shape,
    gear_loss,
    limbs,
    ripple,
)
from deltadyn.identification.terms.orders import MOST, orders_of
from deltadyn.identification.terms.rows import LEAST_NOISE, Rows, squares, stacked
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

STARTS = (0.15, 0.4, 0.65, 0.85)  # rotor's share of A
FEW, MANY = 3, 4  # steps of a least squares fit: from a start, and from the best of them
STILL = 0.005  # relative change of compliance and rotor that ends it
ROUNDS = 3
SHARP = 2.5  # times the smoothing of the direction, from which on its shape does not matter
FALSE = ("geometry", "other", "eccentricity")  # what rigid models take elastic gears for


@dataclass(eq=False)
class Search:
    robot: Robot
    par: Parametrisation
    parts: Sequence[Prepared]
    clocks: Sequence[FloatArray]
    level: FloatArray
    rest: FloatArray
    _thin: tuple[tuple[float, ...], list[tuple[Robot, Prepared, FloatArray]]] | None = None

    def seen(self, point: Point) -> list[tuple[Robot, Prepared, FloatArray]]:
        """Machine, thinned part and its clock, corrected for what the point says of motors."""
        values = {n: v for n, v in point.values.items() if CORRECTED(n)}
        key = tuple(values.values())
        if self._thin is None or self._thin[0] != key:
            found = []
            for part, clock in zip(self.parts, self.clocks, strict=True):
                machine, right = corrected(self.robot, part, Point(point.x, values))
                thin = thinned(machine, right)
                found.append((machine, thin, np.interp(thin.t, part.t, clock)))
            self._thin = key, found
        return self._thin[1]

    def samples(self, point: Point, carried: Sequence[Term]) -> list[Geared]:
        return [
            Geared(machine, self.par, point, part, clock, self.level, tuple(carried))
            for machine, part, clock in self.seen(point)
        ]

    def rows(self, point: Point, carried: Sequence[Term], terms: Sequence[Term]) -> Rows:
        kept = [
            point.values.get(p.name, 0.0) if CORRECTED(p.name) else 0.0
            for t in terms
            for p in t.parameters
        ]
        return stacked(self.samples(point, carried), terms, self.rest, np.array(kept))

    def fitted(self, point: Point, terms: Sequence[Term], steps: int) -> tuple[Point, Rows, FloatArray]:
        names = [p.name for t in terms for p in t.parameters]
        sigma = 0.01 * self.level
        for _ in range(steps):
            rows = self.rows(point, terms, terms)
            own = squares(rows)
            for _ in range(2):
                z, _ = Weighing(rows, own, sigma, 1.0).estimate(range(len(names)))
                left = rows.left(z)
                rms = np.sqrt((left**2).sum(axis=0) / np.maximum(rows.counts(), 1.0))
                sigma = np.maximum(rms, LEAST_NOISE * self.level)
            before = point
            point = Point(z[: rows.base], dict(zip(names, z[rows.base :].tolist(), strict=True)))
            if all(
                abs(point.values[n] - before.values.get(n, 0.0)) <= STILL * abs(point.values[n])
                for n in ("compliance", "rotor")
            ):
                break
        return point, rows, sigma


def search(
    robot: Robot,
    par: Parametrisation,
    parts: Sequence[Prepared],
    clocks: Sequence[FloatArray],
    level: FloatArray,
    rigid: Choice,
    *,
    trace: Callable[[str], None] | None = None,
) -> Choice:
    """The choice with elastic gears where the data ask for them, else the rigid one as it is."""
    if par.source != "exact":
        return rigid
    say = trace or (lambda text: None)
    rest = np.maximum(rigid.rest, SHARP * (robot.friction.smoothing or 0.0))
    look = Search(robot, par, parts, clocks, level, rest)
    point, carried = _settled(look, rigid, say)
    orders = list(rigid.orders)
    best: Choice | None = None
    for number in range(ROUNDS):
        sample = look.samples(point, carried)[0]
        terms = [*candidates(sample, orders), elastic(sample)]
        items = numbered(terms)
        rows = look.rows(point, carried, terms)
        weighing = weigh(rows, items, level)
        models = weighing.evidence(items).models()
        columns = [c for n in models[0].candidates for c in items[n].columns]
        z, V = weighing.estimate(columns)
        found = Choice(
            point, tuple(terms), tuple(items), tuple(models), weighing, z, V, look.rest, tuple(orders)
        )
        say(
            f"elastic round {number}: {found.names()} sigma/level {weighing.sigma / level} "
            f"kappa {weighing.kappa:.2f} orders {orders}"
        )
        if "elastic" not in found.names():
            return rigid
        names = [p.name for t in terms for p in t.parameters]
        point = Point(z[: rows.base], {names[c]: float(z[rows.base + c]) for c in columns})
        carried = [terms[n] for n in sorted(models[0].candidates)]
        orders = _orders(rows, rows.left(z), carried)
        same = best is not None and found.names() == best.names()
        best = found
        if same:
            break
    assert best is not None
    gain = _gain(look, best, rigid)
    say(f"evidence over rigid gears: {gain:.1f}")
    return best if gain > 0 else rigid


def _settled(
    look: Search, rigid: Choice, say: Callable[[str], None]
) -> tuple[Point, list[Term]]:
    """The best least squares fit of elastic gears, from several rotors, and its terms."""
    first = Point(rigid.z[: len(look.par.names)], {})
    sample = look.samples(first, ())[0]
    terms = _usual(rigid, sample)
    rotors = np.asarray(look.robot.drives.output_inertia)[:ARMS]
    starts = [0.0] if rotors.all() else [share * mean_inertia(sample) for share in STARTS]
    found = []
    for rotor in starts:
        point, _, sigma = look.fitted(Point(first.x, {"rotor": rotor}), terms, FEW)
        found.append((float(np.log(sigma).sum()), point))
        say(
            f"rotor {rotor:.4g}: sigma/level {sigma / look.level} "
            f"c {point.values['compliance']:.4g} R {point.values['rotor']:.4g}"
        )
    best = min(found, key=lambda item: item[0])[1]
    return look.fitted(best, terms, MANY)[0], terms


def _usual(rigid: Choice, sample: Sample) -> list[Term]:
    """What a least squares fit has: what rigid gears chose, and what machines mostly have."""
    chosen = [rigid.terms[n] for n in sorted(rigid.best.candidates)]
    terms = [term for term in chosen if term.name not in FALSE and term.name != "load"]
    if not any(term.family == "shape" for term in terms):
        terms += [t for t in friction_shape(sample) if t.setting == STRIBECK[len(STRIBECK) // 2]]
    if not any(term.name == "motor_load" for term in terms):
        terms += [term for term in gear_loss(sample) if term.name == "load"]
    if not any(term.name == "limbs" for term in terms):
        terms += limbs(sample)
    waves = {term.setting for term in terms if term.name == "ripple"}
    for order in rigid.orders:
        if all(abs(order - n) > NEAR for n in waves if n is not None):
            terms.append(ripple(sample, order, f"ripple{order}"))
    return [*terms, elastic(sample)]


def _orders(rows: Rows, left: FloatArray, carried: Sequence[Term]) -> list[int]:
    """Orders of ripple that were chosen, then those at which the residual still peaks."""
    found = sorted(
        {int(t.setting) for t in carried if t.name in ("ripple", "eccentricity") and t.setting}
        - {1}
    )
    for order in orders_of(rows.q, left, peak_width(rows)):
        if len(found) < MOST and all(abs(order - n) > NEAR for n in found):
            found.append(order)
    return found


def _gain(look: Search, best: Choice, rigid: Choice) -> float:
    """log E of the choice less that of the best rigid model, on the same rows."""
    terms = [rigid.terms[n] for n in sorted(rigid.best.candidates)]
    rows = look.rows(rigid.point, (), terms)
    weighing = replace(best.weighing, rows=rows, squares=squares(rows))
    items = numbered(terms)
    stiff = _whole(weighing, [c for item in items for c in item.columns], len(items))
    return _whole(best.weighing, best.columns(best.best), len(best.best.candidates)) - stiff


def _whole(weighing: Weighing, columns: Sequence[int], groups: int) -> float:
    """log E with the part that does not depend on the set, which differs between points."""
    rows = weighing.rows
    XX, Xy = weighing.total()
    on = np.append(np.arange(rows.base), rows.base + np.asarray(columns, dtype=np.int64))
    H, b = XX[np.ix_(on, on)] / weighing.kappa, Xy[on] / weighing.kappa
    H[np.arange(rows.base, len(on)), np.arange(rows.base, len(on))] += 1.0
    yy = sum(float((a.y[a.used] ** 2).sum()) / s**2 for a, s in zip(rows.axes, weighing.sigma, strict=True))
    scale = np.sqrt(np.diag(H))
    L = np.linalg.cholesky(H / np.outer(scale, scale))
    z = np.linalg.solve(L, b / scale)
    volume = float(np.log(np.diag(L)).sum() + np.log(scale).sum())
    fit = (float(z @ z) - yy / weighing.kappa) / 2
    return fit - volume + groups * math.log(PRESENT / (1 - PRESENT))
