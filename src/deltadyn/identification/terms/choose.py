"""Find the terms of a machine: linearise, look at the evidence, move to the best, again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.terms.evidence import Candidate, Evidence, Model, probabilities
from deltadyn.identification.terms.library import (
    NEAR,
    Point,
    Sample,
    Term,
    candidates,
    changed_geometry,
    contrasts,
)
from deltadyn.identification.terms.orders import orders_of
from deltadyn.identification.terms.rows import LEAST_NOISE, Rows, Squares, squares, stacked
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

ROUNDS = 4
FIRST_REST = 0.05  # rad/s
MOST_REST = 0.15
REST_SHARE = 0.1  # of an axis' rate (95 %): never more counts as rest
LOUD = 1.5  # times the residual of the fast half
RATE_BINS = np.array([0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3])
PASSES = 3  # over the deviations of the axes


@dataclass(eq=False)
class Weighing:
    """Rows with their deviations: from the squares to estimates and evidence."""

    rows: Rows
    squares: Squares
    sigma: FloatArray
    kappa: float

    def total(self) -> tuple[FloatArray, FloatArray]:
        """X'X and X'y over all axes, weighted, with columns in units of their prior sizes."""
        w = 1 / self.sigma**2
        XX = sum(a * b for a, b in zip(w, self.squares.XX, strict=True))
        Xy = sum(a * b for a, b in zip(w, self.squares.Xy, strict=True))
        scale = np.append(np.ones(self.rows.base), self.rows.size)
        return XX * np.outer(scale, scale), Xy * scale

    def evidence(self, items: Sequence[Candidate]) -> Evidence:
        """Evidence of sets of candidates, with the base columns projected out."""
        XX, Xy = self.total()
        k = self.rows.base
        inverse = pseudo_inverse(XX[:k, :k])
        G = XX[k:, k:] - XX[k:, :k] @ inverse @ XX[:k, k:]
        g = Xy[k:] - XX[k:, :k] @ inverse @ Xy[:k]
        return Evidence(items, (G + G.T) / 2, g, self.kappa)

    def estimate(self, columns: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """z (k + m,) with these columns of terms, and its covariance in the space of all columns."""
        XX, Xy = self.total()
        k, width = self.rows.base, self.rows.width
        on = np.append(np.arange(k), k + np.asarray(columns, dtype=np.int64))
        H = XX[np.ix_(on, on)] / self.kappa
        H[np.arange(k, len(on)), np.arange(k, len(on))] += 1.0
        inverse = pseudo_inverse(H)
        scale = np.append(np.ones(k), self.rows.size)[on]
        z, V = np.zeros(width), np.zeros((width, width))
        z[on] = inverse @ (Xy[on] / self.kappa) * scale
        V[np.ix_(on, on)] = inverse * np.outer(scale, scale)
        return z, V


def pseudo_inverse(A: FloatArray) -> FloatArray:
    """Inverse of a symmetric matrix with unit diagonal scaling; 0 along what it does not know."""
    length = np.sqrt(np.maximum(np.diag(A), 0.0))
    length = np.where(length > 0, length, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(length, length))
    good = values > 1e-12 * max(float(values[-1]), 1e-300)
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    out: FloatArray = inverse / np.outer(length, length)
    return out


def correlation_time(left: FloatArray, sigma: FloatArray) -> float:
    """kappa: rows per independent row, by the autocorrelation up to its first zero."""
    scaled = left / sigma
    n = len(scaled)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    power = (np.abs(np.fft.rfft(scaled, size, axis=0)) ** 2).sum(axis=1)
    auto = np.fft.irfft(power)[: n // 2]
    if auto[0] <= 0:
        return 1.0
    rho = auto / auto[0]
    below = np.flatnonzero(rho <= 0)
    end = int(below[0]) if below.size else len(rho)
    return float(max(1.0, 1 + 2 * rho[1:end].sum()))


@dataclass(frozen=True, eq=False)
class Choice:
    """What was found: terms with the models that remain, at the last point."""

    point: Point
    terms: tuple[Term, ...]
    items: tuple[Candidate, ...]
    models: tuple[Model, ...]
    weighing: Weighing
    z: FloatArray
    V: FloatArray
    rest: FloatArray
    orders: tuple[int, ...]

    @property
    def best(self) -> Model:
        return self.models[0]

    def names(self, model: Model | None = None) -> list[str]:
        model = model or self.best
        out = []
        for n in sorted(model.candidates):
            item = self.items[n]
            out.append(
                item.term
                if item.setting is None or item.family == "shape"
                else f"{item.term}{item.setting:g}"
            )
        return out

    def columns(self, model: Model) -> list[int]:
        return [c for n in sorted(model.candidates) for c in self.items[n].columns]


def numbered(terms: Sequence[Term]) -> list[Candidate]:
    items, start = [], 0
    for term in terms:
        stop = start + len(term.parameters)
        items.append(Candidate(term.name, term.family, tuple(range(start, stop)), term.setting))
        start = stop
    return items


def weigh(rows: Rows, items: Sequence[Candidate], level: FloatArray) -> Weighing:
    """Deviations and kappa from the full model."""
    floor = LEAST_NOISE * level
    found = Weighing(rows, squares(rows), np.maximum(floor, 0.02 * level), 2.0)
    z, _ = found.estimate(())
    columns: list[int] = []
    for _ in range(PASSES):
        left = rows.left(z)
        sigma = np.sqrt((left**2).sum(axis=0) / np.maximum(rows.counts() - len(columns) / 3, 1.0))
        found = replace(
            found,
            sigma=np.maximum(sigma, floor),
            kappa=correlation_time(left, np.maximum(sigma, floor)),
        )
        evidence = found.evidence(items)
        full = evidence.full()
        columns = [c for n in full for c in items[n].columns]
        z, _ = found.estimate(columns)
    left = rows.left(z)
    sigma = np.maximum(np.sqrt((left**2).sum(axis=0) / np.maximum(rows.counts(), 1.0)), floor)
    return replace(found, sigma=sigma, kappa=correlation_time(left, sigma))


def rest_rates(rows: Rows, left: FloatArray) -> FloatArray:
    """The rate (dof,) in rad/s from which on an axis' residual is that of fast motion."""
    found = []
    for axis in range(rows.q.shape[1]):
        speed = rows.slowest[:, axis]
        e = left[:, axis] ** 2
        fast = speed >= np.median(speed)
        quiet = np.sqrt(e[fast].mean()) if fast.any() else 0.0
        top = float(np.quantile(np.abs(rows.qd[:, axis]), 0.95))
        limit = min(MOST_REST, REST_SHARE * top)
        rate = 0.0
        for low, high in zip(RATE_BINS[:-1], RATE_BINS[1:], strict=True):
            inside = (speed >= low) & (speed < high)
            if (
                inside.sum() >= 8
                and np.sqrt(e[inside].mean()) > LOUD * quiet
                and high <= limit * 1.001
            ):
                rate = high
        found.append(max(rate, min(0.02, limit)))
    return np.array(found)


def choose(
    robot: Robot,
    par: Parametrisation,
    parts: Sequence[Prepared],
    *,
    trace: Callable[[str], None] | None = None,
) -> Choice:
    say = trace or (lambda text: None)
    level = np.sqrt(np.mean(np.concatenate([p.limited(p.tau) for p in parts]) ** 2, axis=0))
    point = Point(par.prior.copy(), {})
    rest = np.full(robot.dof, min(FIRST_REST, MOST_REST))
    orders: list[int] = []
    clocks = machine_clock(parts)
    before: set[str] = set()
    for number in range(ROUNDS):
        if number == 0:  # base parameters first: the file's may be far off
            rows = stacked(
                [
                    Sample(robot, par, point, p, c, level)
                    for p, c in zip(parts, clocks, strict=True)
                ],
                (),
                rest,
                np.zeros(0),
            )
            first = Weighing(rows, squares(rows), np.maximum(0.02 * level, 1e-12), 2.0)
            for _ in range(2):
                z, _ = first.estimate(())
                left = rows.left(z)
                first = replace(
                    first,
                    sigma=np.maximum(
                        np.sqrt((left**2).sum(axis=0) / np.maximum(rows.counts(), 1)),
                        LEAST_NOISE * level,
                    ),
                )
            point = Point(z[: rows.base], {})
            orders = orders_of(rows.q, rows.left(z), peak_width(rows))
        seen = [corrected(robot, p, point) for p in parts]
        machine = seen[0][0]
        samples = [
            Sample(machine, par, point, p, c, level) for (_, p), c in zip(seen, clocks, strict=True)
        ]
        terms = candidates(samples[0], orders)
        items = numbered(terms)
        kept = np.array(
            [
                point.values.get(p.name, 0.0) if p.name in CORRECTED(p.name) else 0.0
                for t in terms
                for p in t.parameters
            ]
        )
        rows = stacked(samples, terms, rest, kept)
        weighing = weigh(rows, items, level)
        models = weighing.evidence(items).models()
        best = models[0]
        columns = [c for n in best.candidates for c in items[n].columns]
        z, V = weighing.estimate(columns)
        left = rows.left(z)
        choice = Choice(
            point, tuple(terms), tuple(items), tuple(models), weighing, z, V, rest, tuple(orders)
        )
        say(
            f"round {number}: {choice.names()} sigma/level {weighing.sigma / level} kappa {weighing.kappa:.2f} rest {rest} orders {orders}"
        )
        names = [p.name for t in terms for p in t.parameters]
        values = {names[c]: float(z[rows.base + c]) for c in columns}
        point = Point(z[: rows.base], values)
        chosen = set(choice.names())
        new_orders = sorted(
            {
                int(items[n].setting)
                for n in best.candidates
                if items[n].term in ("ripple", "eccentricity")
                and items[n].setting
                and items[n].setting > 1
            }
        )
        for order in orders_of(rows.q, left, peak_width(rows)):
            if all(abs(order - o) > NEAR for o in new_orders) and len(new_orders) < 3:
                new_orders.append(order)
        new_rest = rest_rates(rows, np.column_stack([a.y - a.X @ z[a.places] for a in rows.axes]))
        settled = (
            chosen == before and set(new_orders) <= set(orders) and np.allclose(new_rest, rest)
        )
        before, orders, rest = chosen, new_orders, new_rest
        if settled and number >= 1:
            break
    return choice


def peak_width(rows: Rows) -> float:
    """Orders over which a peak of the periodogram reaches: two turns over the travel."""
    travel = float(np.median(np.ptp(rows.q, axis=0)))
    return float(np.clip(2 * 2 * np.pi / max(travel, 1e-3), 8, 60))


def machine_clock(parts: Sequence[Prepared]) -> list[FloatArray]:
    """The time of the machine at every sample, from -1 to 1 over all parts in their order."""
    seconds, start = [], 0.0
    for part in parts:
        seconds.append(part.t - part.t[0] + start)
        start = float(seconds[-1][-1])
    return [2 * s / max(start, 1e-9) - 1 for s in seconds]


def CORRECTED(name: str) -> tuple[str, ...]:
    """Names of parameters whose values the motion or the torque are corrected for."""
    known = name == "delay" or name.startswith(
        ("ratio.", "eccentricity", "arm_length", "strut_length", "base_radius", "azimuth")
    )
    return (name,) if known else ()


def corrected(robot: Robot, part: Prepared, point: Point) -> tuple[Robot, Prepared]:
    """The machine and the part as the model sees them at a point."""
    values = point.values
    machine = robot
    geometry = {
        n: v
        for n, v in values.items()
        if n.startswith(("arm_length", "strut_length", "base_radius", "azimuth"))
    }
    if geometry:
        machine = changed_geometry(robot, geometry)
    tau = part.tau
    ratios = np.array([values.get(f"ratio.{k + 1}", 0.0) for k in range(2)])
    if ratios.any():
        scale = np.ones(robot.dof)
        scale[:3] += contrasts() @ ratios
        tau = tau / scale
    state = part.state
    q, qd, qdd = state.q, state.qd, state.qdd
    late = values.get("delay", 0.0)
    if late:
        from scipy.interpolate import CubicSpline

        both = CubicSpline(part.t, np.column_stack([q, qd, qdd]), axis=0)(
            np.clip(part.t - late, part.t[0], part.t[-1])
        )
        q, qd, qdd = np.split(both, 3, axis=1)
    waves: dict[int, np.ndarray] = {}
    for name, value in values.items():
        if name.startswith("eccentricity"):
            order, place = name[len("eccentricity") :].split(".")
            waves.setdefault(int(order), np.zeros((robot.dof, 2)))[
                int(place[3:]) - 1, 0 if place.startswith("cos") else 1
            ] = value
    if waves:
        z, zd, zdd = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
        for n, ab in waves.items():
            c, s = np.cos(n * q), np.sin(n * q)
            a, b = ab[:, 0], ab[:, 1]
            z += a * c + b * s
            first = n * (b * c - a * s)
            zd += first * qd
            zdd += first * qdd - n * n * (a * c + b * s) * qd**2
        q, qd, qdd = q - z, qd - zd, qdd - zdd
    if late or waves or geometry:
        state = State.from_joints(machine, q, qd, qdd)
    return machine, replace(part, state=state, tau=tau)
