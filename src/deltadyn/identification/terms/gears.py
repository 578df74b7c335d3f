"""Find elastic gears: least squares from several rotors, then evidence against rigid gears."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnreachableError
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.terms.choose import Choice, Search, Weighing, correlation_time, nearer
from deltadyn.identification.terms.clock import drift_at_times
from deltadyn.identification.terms.elastic import (
    BAND,
    REACH,
    Geared,
    GearedPoint,
    Slopes,
    ThinnedColumns,
    compliance_unit,
    elastic,
)
from deltadyn.identification.terms.evidence import ODDS
from deltadyn.identification.terms.library import (
    NEAR,
    Near,
    Point,
    Sample,
    Term,
    candidates,
    friction_shape,
    gear_loss,
    limbs,
    ripple,
)
from deltadyn.identification.terms.rows import (
    LEAST_NOISE,
    Rows,
    stacked,
)
from deltadyn.recording.prepare.corrections import (
    GEOMETRY,
    Values,
    changed_geometry,
    corrected,
)
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.moving import MAX_REACH_S, moving_rows
from deltadyn.robot import Robot
from deltadyn.robot.settings import Drives

STARTS = (0.15, 0.4, 0.65, 0.85)  # rotor's share of A
FEW, MANY = 3, 4  # steps of least squares: from a start, and from the best of them
HEAVIEST = 0.95  # share of the rotor in A
STILL = 0.005  # relative change of compliance and rotor that ends them
FIRST_GUESS = 0.01  # of the RMS torque: deviation before anything is known
UNKNOWN = 1e-10  # on a unit diagonal: directions that the data do not know
ROUNDS = 3  # of evidence
STIFF_STEPS = 2  # to the best point of rigid gears
SHARP = 2.5  # times the smoothing of the direction, from which on its shape does not matter
CORRECTIONS = ("delay", "ratio", "eccentricity", *GEOMETRY)  # what a log is corrected by
NEARLY_STIFF = 1e-12  # rad/(N m): columns of the compliance are then those of the model's torque
CLEAR = 10.0  # nats by which wind-up must explain more than rigid gears
ENOUGH = 0.55  # of the rows, which must be left beyond the filter's reach from rest
SHORTEST = 0.5  # s of a part that is looked at
FREQUENCIES = 200  # of the band at which noise is looked at
NO_NOISE = 1e-3  # of it that is left at least


@dataclass(frozen=True, eq=False)
class GearSearch(Search):
    """A search among samples whose gears may be elastic, on thinned parts.

    `bends` are K, C and M of the parts' bodies; without them every point has its own. `reach` are
    the seconds before and after an instant at rest that are left out.
    """

    bends: tuple[Slopes, ...] | None = None
    reach: float = REACH
    _kept: dict[tuple[tuple[str, float], ...], list[ThinnedColumns]] = field(default_factory=dict)

    def samples(self, point: Point) -> list[Sample]:
        """The thinned parts as the model sees them at a point."""
        return list(self.geared(point))

    def geared(self, point: Point) -> list[Geared]:
        """The same; a point without terms has rigid gears."""
        own = point if isinstance(point, GearedPoint) else GearedPoint(point.x, point.values)
        own = replace(own, reach=self.reach)
        machine = changed_geometry(self.robot, point.values)
        bends = self.bends or (None,) * len(self.parts)
        return [
            Geared(machine, self.par, own, thin.part, clock, self.level, bend, thin)
            for thin, clock, bend in zip(
                self._thinned(machine, point.values), self.thin_clocks, bends, strict=True
            )
        ]

    def _thinned(self, machine: Robot, values: Values) -> list[ThinnedColumns]:
        """The parts with fewer samples, corrected by the values that a log is corrected by."""
        key = tuple(
            sorted((name, value) for name, value in values.items() if name.startswith(CORRECTIONS))
        )
        if key not in self._kept:
            parts = [corrected(machine, part, values) for part in self.parts]
            self._kept[key] = [ThinnedColumns.compared(machine, part) for part in parts]
        return self._kept[key]

    @cached_property
    def thin_clocks(self) -> list[FloatArray]:
        """The machine's time at the samples of the thinned parts."""
        both = zip(self._thinned(self.robot, {}), self.parts, self.clocks, strict=True)
        return [drift_at_times(slow.part.t, part.t, clock) for slow, part, clock in both]

    def candidates(self, of: Sample, near: Near) -> list[Term]:
        """All terms, and elastic gears; the loss needs no share for the rotor."""
        found = candidates(of, near)
        first = next((n for n, term in enumerate(found) if term.name == "load"), 0)
        return [
            *(term for n, term in enumerate(found) if term.name != "load" or n == first),
            elastic(of),
        ]

    def bent(self, point: Point) -> GearSearch:
        """The search with the slopes at a point."""
        found = replace(self, bends=tuple(own.link.slopes for own in self.geared(point)))
        for name in ("level", "clocks", "thin_clocks"):
            found.__dict__[name] = getattr(self, name)
        return found

    def beside_rest(self, point: Point, rest: FloatArray) -> GearSearch:
        """The search without rows that the filter mixes with rest, where enough others are left.

        Motors that stick, if only for some ms, turn back at a torque that no direction tells. It
        winds up the gears, and seems to be a rotor, a compliance or a Stribeck peak.
        """
        parts = [sample.part for sample in self.geared(point)]
        close, far = (
            sum(float(moving_rows(part, rest, reach).sum()) for part in parts)
            for reach in (self.reach, MAX_REACH_S)
        )
        return self if far < ENOUGH * close else replace(self, reach=MAX_REACH_S)

    def rows(self, point: Point, terms: Sequence[Term], rest: FloatArray) -> Rows:
        """Rows with the columns of some terms."""
        kept = [
            point.values.get(p.name, 0.0) if term.corrects else 0.0
            for term in terms
            for p in term.parameters
        ]
        return stacked(self.samples(point), terms, rest, np.array(kept))

    def fitted(
        self, point: Point, terms: Sequence[Term], rest: FloatArray, steps: int
    ) -> tuple[GearedPoint, Weighing]:
        """Least squares with all of these terms: the last point, and the rows of its step."""
        names = [p.name for term in terms for p in term.parameters]
        columns, sigma = range(len(names)), FIRST_GUESS * self.level
        own = GearedPoint(point.x, point.values, tuple(terms))
        for _ in range(steps):
            before, rows = own.values, self.rows(own, terms, rest)
            weighing = Weighing(rows, sigma, 1.0)
            for _ in range(2):
                z, _ = weighing.estimate(columns)
                sigma = weighing.spread(rows.left(z), len(names), LEAST_NOISE * self.level)
                weighing = Weighing(rows, sigma, 1.0)
            values = dict(zip(names, z[rows.base :].tolist(), strict=True))
            own = self._possible(GearedPoint(z[: rows.base], values, tuple(terms)))
            if all(
                abs(values.get(name, 0.0) - before.get(name, 0.0)) <= STILL * abs(values[name])
                for name in ("compliance", "rotor")
                if name in values
            ):
                break
        return own, weighing

    def _possible(self, point: GearedPoint) -> GearedPoint:
        """The point with a compliance of at least 0, and a rotor that leaves the arm some of A."""
        A = inertia(self.par, point.x)
        known = np.array(self.robot.drives.output_inertia[: self.robot.legs])
        rotor = float(np.clip(point.values["rotor"], -known.min(), HEAVIEST * A - known.max()))
        compliance = max(point.values["compliance"], 0.0)
        return replace(point, values={**point.values, "rotor": rotor, "compliance": compliance})


def inertia(par: Parametrisation, x: FloatArray) -> float:
    """A, the mean of the arms, in kg m^2."""
    wide = par.wide(x)
    own = [j for j, name in enumerate(par.wide_names) if re.fullmatch(r"A\d", name)]
    return float(np.mean(wide[own]))


def find_gears(search: Search, rigid: Choice) -> Choice | None:
    """The choice with elastic gears where the data ask for them more than for a rigid choice.

    Where they are asked for and no robot could have what the log tells of them, that is refused.
    """
    may = search.allowed is None or "elastic" in search.allowed
    may = may and "elastic" not in search.refused
    parts = [part for part in search.parts if len(part) >= SHORTEST * part.rate]
    if search.par.source != "exact" or not may or not parts:
        if may and "elastic" in search.asked:
            raise _refusal(
                f"the exact model, and a stretch of {SHORTEST:g} s or more without a gap"
            )
        return None
    look = GearSearch(search.robot, search.par, parts, search.allowed, search.asked, search.refused)
    try:
        return _found(look, rigid)
    except UnreachableError as error:  # no compliance that the robot could have
        if "elastic" in search.asked:
            raise _refusal(f"gears that the log shows; here {error}") from error
        return None


def _refusal(allowed: str) -> InputError:
    return InputError("terms", "elastic", allowed)


def _refuse_impossible(found: Choice) -> None:
    """Refuse gears that were asked for and that no robot can have."""
    c, R = found.values["compliance"], GearedPoint(found.z, found.values).rotor(found.robot)
    if c > 0 and _possible_rotor(found):
        return
    A = inertia(found.par, found.z[: found.weighing.rows.base])
    unit, kg = compliance_unit(found.robot), found.robot.axis_units("inertia")[0]
    raise _refusal(
        f"gears that the log shows; here the best have a compliance of {c:.3g} {unit} and a "
        f"rotor inertia of {R[: found.robot.legs].mean():.3g} {kg}, of {A:.3g} with the arm. "
        "Leave the term out, or give drives.rotor_inertia"
    )


def _found(look: GearSearch, rigid: Choice) -> Choice | None:
    k = rigid.weighing.rows.base
    first, rest, near = look.first()
    rest = np.maximum(rest, SHARP * (look.robot.friction.smoothing or 0.0))
    look = look.beside_rest(first, rest).bent(first)
    if not _hinted(look, rigid, first, rest, near):
        return None
    point = _settled(look, rigid, first, rest, near)
    look = look.bent(point)
    found: Choice | None = None
    for _ in range(ROUNDS):
        at = replace(point, reach=look.reach)
        before, found = found, look.look(at, rest, near)
        if not any(term.name == "elastic" for term in found.chosen):
            return None
        point = GearedPoint(found.z[:k], found.values, found.chosen)
        near = nearer(look, found)
        if before is not None and found.titles() == before.titles():
            break
    assert found is not None
    if "elastic" in look.asked:
        _refuse_impossible(found)
        return found
    if found.values["compliance"] <= 0 or not _possible_rotor(found):
        return None
    if _left(found) >= _left(rigid):  # in a narrower band, with less noise
        return None
    own = _log_evidence(found.weighing, found.columns(found.best), len(found.chosen))
    own += _noise_volume(look, found)
    stiff = (_stiff(look, found, at, rest) for at in (_stiffened(found), _with_rotor(rigid)))
    return found if own > max(stiff) else None


def _left(choice: Choice) -> float:
    """RMS residual of a choice in its own band, in N m."""
    rows = choice.weighing.rows
    return float(np.sqrt((rows.left(choice.z) ** 2).sum() / max(float(rows.counts().sum()), 1.0)))


def _possible_rotor(found: Choice) -> bool:
    """Whether the rotors turn at all, and leave the arms some of A."""
    R = GearedPoint(found.z, found.values).rotor(found.robot)[: found.robot.legs]
    A = inertia(found.par, found.z[: found.weighing.rows.base])
    return bool(R.min() >= 0 and R.max() <= HEAVIEST * A)


def _noise_volume(look: GearSearch, found: Choice) -> float:
    """log |dr / dtau| of the rows: the arms' angles are made of the measured torque.

    Noise n of the torque winds up the gears of the model, too: it leaves r = (1 - c M w^2) n at
    the frequency w. Without this volume soft gears would be chosen because they swallow noise.
    """
    point = GearedPoint(found.z[: found.weighing.rows.base], found.values, found.chosen)
    sample = look.geared(point)[0]
    legs = sample.robot.legs
    M = sample.slopes[2][:, :legs, :legs].mean(axis=0)
    w = 2 * np.pi * np.linspace(0.0, sample.part.band or BAND, FREQUENCIES)
    left = 1 - found.values["compliance"] * np.outer(np.linalg.eigvalsh((M + M.T) / 2), w**2)
    rows = float(found.weighing.rows.counts()[:legs].mean()) / found.weighing.kappa
    return rows * float(np.log(np.maximum(np.abs(left), NO_NOISE)).mean(axis=1).sum())


def _hinted(look: GearSearch, rigid: Choice, first: Point, rest: FloatArray, near: Near) -> bool:
    """Whether wind-up by the model's torque, linearised at stiff gears, explains something.

    Where the arms' motion is made of the measured torque, soft gears swallow its noise; by the
    model's torque they cannot.
    """
    if "elastic" in look.asked:
        return True
    corrections = [term for term in rigid.chosen if term.corrects]
    terms = [*corrections, *_usual(rigid, look.geared(first)[0], near)]
    values = {p.name: rigid.values[p.name] for term in corrections for p in term.parameters}
    values["compliance"] = NEARLY_STIFF
    rows = look.rows(GearedPoint(first.x, values), terms, rest)
    count = len(rows.size)
    weighing = Weighing(rows, FIRST_GUESS * look.level, 1.0)
    for _ in range(2):
        left = rows.left(weighing.estimate(range(count))[0])
        sigma = weighing.spread(left, count, LEAST_NOISE * look.level)
        weighing = Weighing(rows, sigma, correlation_time(left, sigma))
    without = range(count - len(terms[-1].parameters))
    own = _log_evidence(weighing, range(count), len(terms))
    return own > _log_evidence(weighing, without, len(terms) - 1) + CLEAR


def _settled(
    look: GearSearch, rigid: Choice, first: Point, rest: FloatArray, near: Near
) -> GearedPoint:
    """The best least squares fit of elastic gears, from several rotors."""
    sample = look.geared(first)[0]
    terms = _usual(rigid, sample, near)
    known = all(look.robot.drives.output_inertia[: look.robot.legs])
    starts = [0.0] if known else [share * inertia(look.par, first.x) for share in STARTS]
    found = [look.fitted(Point(first.x, {"rotor": rotor}), terms, rest, FEW) for rotor in starts]
    best = min(found, key=lambda item: float(np.log(item[1].sigma).sum()))[0]
    return look.fitted(best, terms, rest, MANY)[0]


def _usual(rigid: Choice, sample: Sample, near: Near) -> list[Term]:
    """What a least squares fit has: what rigid gears chose, and what machines mostly have.

    Corrections of the log wait for the evidence: rigid models take elastic gears for them.
    """
    terms = [term for term in rigid.chosen if not term.corrects]
    terms = [term for term in terms if term.name not in ("other", "load")]
    if not any(term.family == "shape" for term in terms):
        peaks = [term for term in friction_shape(sample, Near()) if term.name == "stribeck"]
        terms += peaks[len(peaks) // 2 :][:1]  # of a middle velocity
    if not any(term.family == "loss" for term in terms):
        terms += [term for term in gear_loss(sample, near) if term.name == "load"][:1]
    if not any(term.name == "limbs" for term in terms):
        terms += limbs(sample)
    waves = {term.setting for term in terms if term.name == "ripple"}
    for order, _ in near.orders:
        if all(abs(order - wave) > NEAR for wave in waves if wave is not None):
            terms.append(ripple(sample, order, f"ripple{order}"))
    return [*terms, elastic(sample)]


# Rigid gears have a rotor too: what the loss has to turn it is not lost.


def _stiffened(found: Choice) -> GearedPoint:
    """The same terms and rotor with rigid gears."""
    terms = tuple(term for term in found.chosen if term.name != "elastic")
    values = {n: v for n, v in found.values.items() if n not in ("compliance", "relaxation")}
    return GearedPoint(found.z[: found.weighing.rows.base], values, terms)


def _with_rotor(rigid: Choice) -> GearedPoint:
    """A rigid choice, with the rotor that its loss was found with."""
    values = rigid.values
    share = next((term.setting for term in rigid.chosen if term.name == "load"), None)
    x = rigid.z[: rigid.weighing.rows.base]
    if share is not None:
        values = {**values, "rotor": share * inertia(rigid.par, x)}
    return GearedPoint(x, values, rigid.chosen)


def _stiff(look: GearSearch, found: Choice, point: GearedPoint, rest: FloatArray) -> float:
    """log E with rigid gears, on the rows and with the deviations of the elastic choice."""
    names = [p.name for term in point.terms for p in term.parameters]
    kept = {n: v for n, v in point.values.items() if n not in names}
    for _ in range(STIFF_STEPS):
        rows = look.rows(point, point.terms, rest)
        weighing = Weighing(rows, found.weighing.sigma, found.weighing.kappa)
        z, _ = weighing.estimate(range(len(names)))
        values = dict(zip(names, z[rows.base :].tolist(), strict=True))
        point = replace(point, x=z[: rows.base], values={**kept, **values})
    return _log_evidence(weighing, range(len(names)), len(point.terms))


def _log_evidence(weighing: Weighing, columns: Sequence[int], groups: int) -> float:
    """log E with the parts that all sets of a point share, and points do not."""
    rows, kappa = weighing.rows, weighing.kappa
    XX, Xy = weighing.products
    on = np.append(np.arange(rows.base), rows.base + np.asarray(columns, dtype=np.int64))
    on = on[(np.diag(XX)[on] > 0) | (on >= rows.base)]  # what did not move has no columns
    H, b = XX[np.ix_(on, on)] / kappa, Xy[on] / kappa
    H[np.diag_indices(len(on))] += on >= rows.base
    yy = sum(
        float((axis.y[axis.used] ** 2).sum()) / sigma**2
        for axis, sigma in zip(rows.axes, weighing.sigma, strict=True)
    )
    scale = np.sqrt(np.diag(H))
    L = np.linalg.cholesky(H / np.outer(scale, scale) + UNKNOWN * np.eye(len(on)))
    z = np.linalg.solve(L, b / scale)
    volume = float(np.log(np.diag(L)).sum() + np.log(scale).sum())
    return float(z @ z - yy / kappa) / 2 - volume + groups * ODDS


# What a found choice is used for.


def geared(choice: Choice, robot: Robot, part: Prepared, clock: FloatArray) -> Geared:
    """A part, corrected and thinned, at what was found; `robot` has its geometry."""
    values, k = choice.values, choice.weighing.rows.base
    point = GearedPoint(choice.z[:k], values, choice.chosen)
    thin = ThinnedColumns.compared(robot, corrected(robot, part, values))
    slow = drift_at_times(thin.part.t, part.t, clock)
    return Geared(robot, choice.par, point, thin.part, slow, choice.level, None, thin)


def elastic_drives(choice: Choice, drives: Drives) -> Drives:
    """Drives with the rotors and gears that were found; a spindle's drive stays rigid."""
    values, dof = choice.values, choice.robot.dof
    c = values["compliance"]
    return replace(
        drives,
        rotor_inertia=tuple(GearedPoint(choice.z, values).rotor(choice.robot).tolist()),
        rotor_side="output_side",
        stiffness=(1 / c,) * dof,
        damping=(max(values["relaxation"], 0.0) / c,) * dof,
    )
