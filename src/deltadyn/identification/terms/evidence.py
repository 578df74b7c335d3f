"""Which terms the data ask for: the evidence of every set of candidates that is worth a look.

Rows y = B x + X t + noise, weighted to unit deviation, with base parameters x under a flat prior
and terms t under a normal prior of unit deviation (columns are scaled by it). Residuals are
correlated in time: n rows count as n / kappa. With G and g the products X'X and X'y after the base
columns are projected out, the evidence of a set S of candidates is, up to a constant,

    log E(S) = b' H^-1 b / 2 - log |H| / 2 + sum of log odds
    with H = G_SS / kappa + 1 and b = g_S / kappa

A set is climbed to by adding, dropping and swapping candidates, from nothing and from all. What was
visited within `KEPT` of the best is remembered: these are the models that remain.

Evidence counts what a set explains of the rows, and not what it predicts. A candidate of the best
set that lowers no error on unseen motion (see `unseen`) is refused, and the climb goes on without
it; sets with it remain as rivals that are not chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from deltadyn.arrays import FloatArray

PRESENT = 0.2  # probability before the data that a machine has a term
ODDS = math.log(PRESENT / (1 - PRESENT))
ASKED = 1e6  # log odds of a term that was asked for: no data speak against it
KEPT = 6.9  # nats below the best: a thousandth of its probability
MOST_STEPS = 60  # of one climb
MOST_RIVALS = 12  # models whose terms are put in their rival forms


class Candidate(NamedTuple):
    """A group of columns that come together. Candidates of one family exclude each other.

    `odds` are the log odds before the data. A term that comes with several settings, of which one
    at most is true, shares its probability between them. A `rival` is a form of a term that no
    robot can hold: it is never chosen, but sets with it remain.
    """

    term: str
    family: str
    columns: tuple[int, ...]
    odds: float
    rival: bool = False

    @property
    def stem(self) -> str:
        """The term without the order of a wave."""
        return self.term.rstrip("0123456789")


def odds_of(settings: int, asked: bool = False) -> float:
    """Log odds of one of several settings of a term; a term that was asked for is there."""
    return ASKED if asked else ODDS - math.log(settings)


class Model(NamedTuple):
    """A set of candidates, by their numbers, and its log evidence.

    `refused` sets have a candidate that lowers no error on unseen motion.
    """

    candidates: frozenset[int]
    evidence: float
    refused: bool = False


#: Names a candidate of a set that lowers no error on unseen motion; None where all of them do.
Worsening = Callable[[frozenset[int]], int | None]


@dataclass(eq=False)
class Evidence:
    """Evidence of sets of candidates, from G (m, m) and g (m,) without the base columns."""

    candidates: Sequence[Candidate]
    G: FloatArray
    g: FloatArray
    kappa: float
    _seen: dict[frozenset[int], float] = field(default_factory=dict)

    def of(self, chosen: Iterable[int]) -> float:
        """log E of a set."""
        key = frozenset(chosen)
        if key not in self._seen:
            self._seen[key] = self._of(key)
        return self._seen[key]

    def _of(self, chosen: frozenset[int]) -> float:
        places = [c for number in sorted(chosen) for c in self.candidates[number].columns]
        return self.explained(places) + sum(self.candidates[n].odds for n in chosen)

    def explained(self, places: Sequence[int]) -> float:
        """log E of columns by their places, without the odds."""
        if not places:
            return 0.0
        H = self._H[places][:, places]
        L, failed = lapack.dpotrf(H, lower=1)
        if failed:  # columns that rounding alone tells apart explain nothing together
            return -math.inf
        z, _ = lapack.dtrtrs(L, self.g[places] / self.kappa, lower=1)
        return float(z @ z) / 2 - float(np.log(np.diag(L)).sum())

    @cached_property
    def _H(self) -> FloatArray:
        """H of all columns (m, m)."""
        return np.asarray(self.G / self.kappa + np.eye(len(self.g)))

    def models(self, worsening: Worsening | None = None) -> list[Model]:
        """The models that remain, best first, then those with rival forms, then refused ones.

        `worsening` names a candidate of a set that lowers no error on unseen motion.
        """
        nothing, full = frozenset[int](), self.full()
        best = max((self._climb(start) for start in (nothing, full)), key=self.of)
        for first in (best, nothing):
            for second in self._pairs(first, full):
                self.of(second)
        top = best = self._climb(max(self._seen, key=self.of))
        refused: set[int] = set()
        while worsening is not None and (worst := worsening(best)) is not None:
            refused |= self._alike(worst)
            best = self._climb(best - refused, refused)
        kept = [Model(key, self.of(key)) for key in self._seen if not key & refused]
        kept = [model for model in kept if model.evidence >= self.of(best) - KEPT]
        kept.sort(key=lambda model: -model.evidence)
        others = [Model(key, self.of(key), True) for key in self._seen if key & refused]
        others = [model for model in others if model.evidence >= self.of(top) - KEPT]
        others.sort(key=lambda model: -model.evidence)
        return [*kept, *self._with_rivals(kept[:MOST_RIVALS], self.of(best) - KEPT), *others]

    def _alike(self, number: int) -> set[int]:
        """A candidate and the same term with other settings."""
        own = self.candidates[number]
        return {
            n
            for n, item in enumerate(self.candidates)
            if (item.stem, item.family) == (own.stem, own.family)
        }

    def _with_rivals(self, models: Sequence[Model], level: float) -> list[Model]:
        """The models with a rival form in place of one of their terms, as far as they remain."""
        rivals = [number for number, item in enumerate(self.candidates) if item.rival]
        sets = [
            model.candidates - {own} | {number}
            for model in models
            for own in model.candidates
            for number in rivals
            if self.candidates[own].term == self.candidates[number].term
        ]
        found = [Model(key, self.of(key)) for key in dict.fromkeys(sets)]
        return [model for model in found if model.evidence >= level]

    def full(self) -> frozenset[int]:
        """One candidate of every family: the best beside those that were taken before it.

        Families come in the order of what they explain by themselves.
        """
        families: dict[str, list[int]] = {}
        for number, item in enumerate(self.candidates):
            if not item.rival:
                families.setdefault(item.family, []).append(number)
        alone = {family: max(self.of({n}) for n in own) for family, own in families.items()}
        chosen: set[int] = set()
        for family in sorted(families, key=lambda f: -alone[f]):
            chosen.add(max(families[family], key=lambda n: self.of({*chosen, n})))
        return frozenset(chosen)

    def _climb(self, start: frozenset[int], refused: Collection[int] = ()) -> frozenset[int]:
        best = start
        for _ in range(MOST_STEPS):
            step = max(self._neighbours(best, refused), key=self.of, default=best)
            if self.of(step) <= self.of(best):
                break
            best = step
        return best

    def _neighbours(
        self, chosen: frozenset[int], refused: Collection[int] = ()
    ) -> list[frozenset[int]]:
        """One candidate more, fewer, or in place of another."""
        found = [chosen - {n} for n in chosen]
        for number, item in enumerate(self.candidates):
            if number in chosen or item.rival or number in refused:
                continue
            rivals = {n for n in chosen if self.candidates[n].family == item.family}
            found.append(chosen - rivals | {number})
            if not rivals:
                found += [chosen - {n} | {number} for n in chosen]
        return found

    def _pairs(self, chosen: frozenset[int], full: frozenset[int]) -> list[frozenset[int]]:
        """Sets that differ from a set in two families."""
        state = {self.candidates[n].family: n for n in chosen}
        flips = [
            (family, None if family in state else number)
            for number in full
            for family in [self.candidates[number].family]
        ]
        found = []
        for pair in combinations(flips, 2):
            changed = dict(state)
            for family, number in pair:
                if number is None:
                    changed.pop(family)
                else:
                    changed[family] = number
            found.append(frozenset(changed.values()))
        return found


def probabilities(models: Sequence[Model]) -> FloatArray:
    """The share of each model in the evidence of all that remain, 0 of refused ones."""
    level = np.array([-np.inf if model.refused else model.evidence for model in models])
    weight = np.exp(level - level.max())
    out: FloatArray = weight / weight.sum()
    return out
