"""What is wrong with a robot's model, by a log: terms that it lacks, and parameters that differ.

The terms are looked for as in a fit: with the base parameters free, so that a wrong mass is not
taken for a term (`identification.terms`). Then the robot's own values x are put in, and the same
evidence says which groups of base parameters differ from them, beside the terms that were chosen:

    e = tau - Y x = sum over groups of Y_g dx_g + sum over terms of X_t z_t + noise

A group may change by `CHANGE` of the torque (prior deviation of each of its parameters). One column
Y x stands for all parameters in common: the scale of the torque.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.prepare import gears
from deltadyn.recording.prepare.band import OUTLASTS, OVERSAMPLING
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.held_out import rate_noise, with_smoothing
from deltadyn.validation.evidence import Piece, Predictor

if TYPE_CHECKING:  # identification is loaded when causes are looked for
    from deltadyn.identification.parametrisation import Parametrisation
    from deltadyn.identification.terms.choose import Choice
    from deltadyn.identification.terms.found import Terms
    from deltadyn.identification.terms.library import Term

CHANGE = 0.05  # of the torque: what a base parameter may change it by
SHORTEST = 1.0  # s of data in which causes are looked for
FEWEST = 20  # rows of each axis in motion, from which causes are told apart
NEGLIGIBLE = 0.005  # of an axis' torque while it moves (RMS): what is smaller is not wrong
TINY = 0.002  # the same of a term, which has its evidence
LEAST = 0.05  # of the residual's power on some axis that a change of base parameters must explain
PROBABLE = 0.5  # probability from which on a cause is named
SURE = 4.0  # standard deviations from zero that a value must have

#: Groups of base parameters that may differ from the robot's.
GROUPS = ("payload", "inertia", "friction", "torque_scale", "model")
#: Terms that a robot file may have as friction, by the symbols of their parameters.
FIELDS = {"F0": "offset", "Fs": "stribeck", "Ft": "thinning", "mu": "load", "mu_m": "motor_load"}


Rival = tuple[tuple[str, ...], float]
Stretch = tuple[Prepared, float | None]  # a part of a log and its payload in kg


class Parameter(NamedTuple):
    """A parameter of a cause: name, unit, and axis (None: all of them)."""

    name: str
    unit: str
    axis: int | None = None


@dataclass(frozen=True)
class Value:
    """What is missing in a parameter (negative: too much in it), with its standard deviation."""

    parameter: Parameter
    value: float
    std: float

    @property
    def sure(self) -> bool:
        """Whether it stands out of the noise."""
        return abs(self.value) > SURE * self.std


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the residual: a cause, its probability, its values, and its torque (M, dof)."""

    name: str
    title: str
    probability: float
    values: tuple[Value, ...]
    torque: FloatArray


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found: terms, and the parts of the robot's residual e (M, dof) in N m.

    Rows are those of moving axes; e is 0 at the others. `level` (dof,) is the standard deviation of
    the torque, `long_enough` whether the log can tell that a term is missing, `rows` (dof,) how
    many rows were used. `rivals` are other sets of causes with their probability.
    """

    terms: Terms
    parts: tuple[Part, ...]
    residual: FloatArray
    level: FloatArray
    rivals: tuple[Rival, ...]
    long_enough: bool
    rows: FloatArray

    @property
    def strongest(self) -> tuple[Part, ...]:
        """The parts by their power in units of the torque, the strongest first."""
        return tuple(
            sorted(self.parts, key=lambda part: -float(((part.torque / self.level) ** 2).sum()))
        )

    @property
    def delay(self) -> float:
        """The delay (s) of the torque behind the angle that was found; 0 without."""
        (late,) = [part.values[0].value for part in self.parts if part.name == "delay"] or [0.0]
        return late


def look_for_causes(model: Predictor, pieces: Sequence[Piece]) -> Found | None:
    """The causes of a model's residual along stretches of logs; None where there is too little."""
    from deltadyn.identification.parametrisation import parametrise
    from deltadyn.identification.terms.choose import Search, choose
    from deltadyn.identification.terms.elastic import stiffness
    from deltadyn.identification.terms.library import homing

    robot = model.robot
    robot = with_smoothing(robot, max(rate_noise(piece.prepared) for piece in pieces))
    stretches, share = _stretches(model, pieces)
    parts = [replace(part, tau=part.tau * model.log.gains) for part, _ in stretches]
    if sum(float(part.t[-1] - part.t[0]) + 1 / part.rate for part in parts) < SHORTEST:
        return None
    par = parametrise(robot, "exact")
    # A simplification is told at rigid gears, and known gears have what differs in their stiffness.
    rigid = not model.exact or robot.drives.stiffness is not None
    refused = ("elastic",) if rigid else ()
    choice = choose(Search(robot, par, parts, refused=refused, more=(homing, stiffness)))
    if choice.weighing.rows.counts().min() < FEWEST:
        return None
    x = np.array([model.values.get(n, v) for n, v in zip(par.names, par.prior, strict=True)])
    simple = None
    if not model.exact:
        simple = np.concatenate([_simplified(model, par, x, *item) for item in stretches])
    return _Decomposition(choice, x, simple).found(share)


def _stretches(
    model: Predictor, pieces: Sequence[Piece]
) -> tuple[list[tuple[Prepared, float | None]], float]:
    """Stretches in the band of a search with their payloads, and their share of all samples.

    Those of a robot with elastic gears are seen from behind them.
    """
    from deltadyn.identification.loading import cut
    from deltadyn.identification.terms.look import BAND, SAMPLES, STRETCH

    robot = model.robot
    band = BAND if robot.drives.stiffness is None else gears.BAND
    own = [(_narrowed(model.log.see(piece.prepared), band), piece.payload) for piece in pieces]
    total = sum(len(part) for part, _ in own)
    if total <= SAMPLES:
        return own, 1.0
    found = []
    for part, payload in own:
        count = max(1, round(SAMPLES / STRETCH * len(part) / total))
        for low in np.linspace(0, max(len(part) - STRETCH, 0), count).astype(np.int64):
            rows = slice(int(low), int(low) + STRETCH)
            found.append((_narrowed(cut(robot, part, rows), band), payload))
    return found, sum(len(part) for part, _ in found) / total


def _narrowed(part: Prepared, band: float) -> Prepared:
    """The part in the band (Hz) of a search, where its rate and length allow it."""
    if part.rate / OVERSAMPLING < band or len(part) < OUTLASTS * part.rate / band:
        return part
    return part.with_band(band)


def _simplified(
    model: Predictor, par: Parametrisation, x: FloatArray, part: Prepared, payload: float | None
) -> FloatArray:
    """What the exact torque of the robot has beyond the model's (M, dof), in N m."""
    from deltadyn.identification.parametrisation import payload_direction, widest

    wide = par.wide(x) + part.extra * payload_direction(model.robot, par.source)
    exact = widest(model.robot, part.state, par.source).Y @ wide
    own = model.log.torque(part.state, payload, rate_noise(part))
    return part.limited(exact - own)


class _Group(NamedTuple):
    """Columns of a cause: directions (k + m, c) of all parameters, in units of their priors."""

    name: str
    title: str
    directions: FloatArray
    term: Term | None = None


class _Decomposition:
    """The robot's residual on the rows of a choice, as a sum of causes and noise."""

    def __init__(self, choice: Choice, x: FloatArray, simple: FloatArray | None) -> None:
        weighing = choice.weighing
        rows, k = weighing.rows, weighing.rows.base
        own = np.append(x, np.zeros(rows.width - k))
        axes = [axis._replace(y=axis.y - axis.X @ own[axis.places]) for axis in rows.axes]
        self.choice, self.x, self.simple = choice, x, simple
        self.rows = replace(rows, axes=tuple(axes))  # y is the residual of the exact model
        self.weights = 1 / weighing.sigma**2
        used = [axis.y[axis.used] for axis in rows.axes]
        self.torque = math.sqrt(sum(w * (y @ y) for w, y in zip(self.weights, used, strict=True)))
        self.level = np.array([y.std() if len(y) else 0.0 for y in used])
        self.level = np.maximum(self.level, 1e-9 * max(float(choice.level.max()), 1e-300))

    def found(self, share: float) -> Found:
        """The causes, the strongest first."""
        from deltadyn.identification.terms.found import found_terms
        from deltadyn.identification.terms.intervals import hull, scatter

        around = hull(self.choice, share=share)
        terms = found_terms(self.choice, around, scatter(self.choice, around.structure))
        groups = [*self._base_groups(), *self._terms(terms.probabilities)]
        chosen, shares, rivals = self._chosen(groups)
        z, V = self._estimate(chosen)
        probable = {**shares, **terms.probabilities}
        out = []
        for group, places in chosen:
            torque = self._torque(group.directions @ z[places])
            values = _values(self.choice, group, z[places], V[np.ix_(places, places)])
            out.append(Part(group.name, group.title, probable[group.title], values, torque))
        residual = self.rows.left(np.zeros(self.rows.width))
        if self.simple is not None:
            moving = np.column_stack([axis.used for axis in self.rows.axes])
            torque = np.where(moving, self.simple, 0.0)
            residual = residual + torque
            out.append(Part("model", "model", 1.0, (), torque))
        return Found(
            terms,
            tuple(part for part in out if self._matters(part, residual)),
            residual,
            self.level,
            (*_other_terms(self.choice, terms, chosen), *rivals),
            around.structure.told,
            self.rows.counts(),
        )

    def _matters(self, part: Part, residual: FloatArray) -> bool:
        """Whether a cause is probable and changes the torque of some axis.

        What terms leave beyond their linear columns looks like a small change of the base
        parameters: these count only with a share of the residual.
        """
        power, total = (part.torque**2).sum(axis=0), (residual**2).sum(axis=0)
        size = np.sqrt(power / np.maximum(self.rows.counts(), 1.0))
        base = part.name in GROUPS
        matters = size > (NEGLIGIBLE if base else TINY) * self.level
        if base:
            matters &= power > LEAST * total
        return part.probability >= PROBABLE and bool(matters.any())

    def _base_groups(self) -> list[_Group]:
        """Parameters that may differ from the robot's, by group, and all of them by a factor."""
        names, width = self.choice.par.names, self.rows.width
        length = self._lengths()
        columns: dict[str, list[FloatArray]] = {}
        for j, name in enumerate(names):
            if length[j] > 0:
                direction = np.zeros(width)
                direction[j] = CHANGE * self.torque / length[j]
                columns.setdefault(_group_of(name), []).append(direction)
        found = [_Group(name, name, np.column_stack(own)) for name, own in columns.items()]
        scale = np.append(CHANGE * self.x, np.zeros(width - len(names)))[:, None]
        return [*found, _Group("torque_scale", "torque_scale", scale)]

    def _terms(self, probable: Mapping[str, float]) -> list[_Group]:
        """The probable ones of the terms that were chosen with the base parameters free."""
        k, found = self.rows.base, []
        for number in sorted(self.choice.best.candidates):
            term, columns = self.choice.terms[number], list(self.choice.items[number].columns)
            if probable[term.title] < PROBABLE:
                continue
            directions = np.zeros((self.rows.width, len(columns)))
            for place, c in enumerate(columns):
                directions[k + c, place] = self.rows.size[c]
            found.append(_Group(term.name, term.title, directions, term))
        return found

    def _lengths(self) -> FloatArray:
        """Weighted lengths (k + m,) of the columns."""
        pairs = zip(self.weights, self.rows.squares, strict=True)
        out: FloatArray = np.sqrt(sum(weight * np.diag(both) for weight, (both, _) in pairs))
        return out

    def _products(self, groups: Sequence[_Group]) -> tuple[FloatArray, FloatArray]:
        D = np.concatenate([group.directions for group in groups], axis=1)
        pairs = list(zip(self.weights, self.rows.squares, strict=True))
        XX = sum(weight * both for weight, (both, _) in pairs)
        Xy = sum(weight * right for weight, (_, right) in pairs)
        return D.T @ XX @ D, D.T @ Xy

    def _chosen(
        self, groups: Sequence[_Group]
    ) -> tuple[list[tuple[_Group, list[int]]], dict[str, float], list[Rival]]:
        """The groups of the best model with their places, probabilities, and rival sets."""
        from deltadyn.identification.terms.evidence import (
            Candidate,
            Evidence,
            odds_of,
            probabilities,
        )

        items, start = [], 0
        for group in groups:
            stop = start + group.directions.shape[1]
            odds = odds_of(1, asked=group.term is not None)
            items.append(Candidate(group.title, group.title, tuple(range(start, stop)), odds))
            start = stop
        G, g = self._products(groups)
        models = Evidence(items, (G + G.T) / 2, g, self.choice.weighing.kappa).models()
        weights = probabilities(models)
        share = {group.title: 0.0 for group in groups}
        for found, weight in zip(models, weights, strict=True):
            for number in found.candidates:
                share[groups[number].title] += float(weight)
        rivals = [
            (tuple(groups[n].title for n in sorted(found.candidates) if groups[n].term is None), p)
            for found, p in zip(models[1:], weights[1:].tolist(), strict=True)
        ]
        taken, start = [], 0
        for number in sorted(models[0].candidates):
            count = groups[number].directions.shape[1]
            taken.append((groups[number], list(range(start, start + count))))
            start += count
        return taken, share, rivals

    def _estimate(
        self, chosen: Sequence[tuple[_Group, list[int]]]
    ) -> tuple[FloatArray, FloatArray]:
        """Coefficients (c,) of the chosen directions and their covariance (c, c)."""
        if not chosen:
            return np.zeros(0), np.zeros((0, 0))
        G, g = self._products([group for group, _ in chosen])
        kappa = self.choice.weighing.kappa
        V = np.asarray(np.linalg.inv(G / kappa + np.eye(len(g))), dtype=np.float64)
        return V @ (g / kappa), V

    def _torque(self, z: FloatArray) -> FloatArray:
        """Torque (M, dof) of parameters z (k + m,) at the rows that are used."""
        return np.column_stack(
            [np.where(axis.used, axis.X @ z[axis.places], 0.0) for axis in self.rows.axes]
        )


def _other_terms(
    choice: Choice, terms: Terms, chosen: Sequence[tuple[_Group, list[int]]]
) -> list[Rival]:
    """Sets of terms that are not those chosen, with their probability."""
    own = {group.title for group, _ in chosen if group.term is not None}
    sets = ((choice.titles(), terms.probability), *terms.rivals)
    return [(titles, share) for titles, share in sets if set(titles) != own]


def _group_of(name: str) -> str:
    """The cause that a base parameter belongs to."""
    symbol = name[:-1] if name[-1].isdigit() else name
    if name in ("M_P", "m_P"):
        return "payload"
    if symbol in FIELDS and symbol != name:
        return FIELDS[symbol]
    if name.startswith("ripple"):
        return "ripple"
    rubs = symbol in ("Fv", "Fc", "Fc+", "Fc-") or name.partition(".")[2].startswith(("Fv", "Fc"))
    return "friction" if rubs else "inertia"


# The values of a cause, from the coefficients of its directions.


FRICTION = {"Fv": "viscous", "Fc": "coulomb"}


def _values(choice: Choice, group: _Group, z: FloatArray, V: FloatArray) -> tuple[Value, ...]:
    """What is missing in the model, by parameter and axis."""
    if group.name == "torque_scale":
        scale = Parameter("gain", "1")
        return (Value(scale, CHANGE * float(z[0]), CHANGE * math.sqrt(V[0, 0])),)
    names, units = list(choice.par.names), list(choice.par.units)
    for term in choice.terms:
        names += [p.name for p in term.parameters]
        units += [p.unit for p in term.parameters]
    places = [int(np.flatnonzero(column)[0]) for column in group.directions.T]
    size = group.directions[places, range(len(places))]
    own = [(names[j], units[j]) for j in places]
    return tuple(_named(group, own, size * z, V * np.outer(size, size)))


def _named(
    group: _Group, own: Sequence[tuple[str, str]], z: FloatArray, V: FloatArray
) -> Iterator[Value]:
    from deltadyn.recording.prepare.corrections import contrasts

    std = np.sqrt(np.maximum(np.diag(V), 0.0))
    if group.name in ("torque_ratio", "limbs") and group.term is not None:
        families = Counter(name.partition(".")[0] for name, _ in own)
        more = max(families.values())  # limbs but one
        C = contrasts(more + 1)  # the mean over the limbs is the base parameter
        for first in range(0, len(own), more):
            rows = slice(first, first + more)
            name = own[first][0].partition(".")[0]
            deviation = np.sqrt(np.diag(C @ V[rows, rows] @ C.T))
            for limb, (value, s) in enumerate(zip(C @ z[rows], deviation, strict=True)):
                yield Value(Parameter(name, "1", limb), float(value), float(s))
    elif group.name in ("ripple", "eccentricity"):
        for axis in range(len(own) // 2):
            a = float(np.hypot(*z[2 * axis : 2 * axis + 2]))
            s = float(std[2 * axis : 2 * axis + 2].max())
            yield Value(Parameter("amplitude", own[2 * axis][1], axis), a, s)
    else:
        for (name, unit), value, s in zip(own, z, std, strict=True):
            numbered = name[-1].isdigit() and group.name != "drift"
            symbol = name[:-1] if numbered else name
            place = int(name[-1]) - 1 if numbered else None
            label = "mass" if group.name == "payload" else FRICTION.get(symbol, symbol)
            yield Value(Parameter(label, unit, place), float(value), float(s))
