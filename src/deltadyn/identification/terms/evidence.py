"""Which terms the data ask for: the evidence of every set of candidates that is worth a look.

Rows y = B x + X t + noise, weighted to unit deviation, with base parameters x under a flat prior
and terms t under a normal prior of unit deviation (columns are scaled by it). Residuals are
correlated in time: n rows count as n / kappa. With G and g the products X'X and X'y after the base
columns are projected out, the evidence of a set S of candidates is, up to a constant,

    log E(S) = b' H^-1 b / 2 - log |H| / 2 + |S| log(p / (1 - p)),   H = G_SS / kappa + 1,  b = g_S / kappa

A set is climbed to by adding, dropping and swapping candidates, from nothing and from all. What was
visited within `KEPT` of the best is remembered: these are the models that remain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray

PRESENT = 0.2  # probability before the data that a machine has a term
KEPT = 6.9  # nats below the best: a thousandth of its probability
MOST_STEPS = 60  # of one climb


class Candidate(NamedTuple):
    """A group of columns that come together. Candidates of one family exclude each other."""

    term: str
    family: str
    columns: tuple[int, ...]
    setting: float | None = None  # what the columns were made for: a velocity, an order


class Model(NamedTuple):
    """A set of candidates, by their numbers, and its log evidence."""

    candidates: frozenset[int]
    evidence: float


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
        price = len(chosen) * math.log(PRESENT / (1 - PRESENT))
        if not places:
            return price
        H = self.G[np.ix_(places, places)] / self.kappa
        H[np.diag_indices(len(places))] += 1.0
        L = np.linalg.cholesky(H)
        z = np.linalg.solve(L, self.g[places] / self.kappa)
        return float(z @ z) / 2 - float(np.log(np.diag(L)).sum()) + price

    def models(self, forced: Iterable[int] = ()) -> list[Model]:
        """The models that remain, best first; candidates in `forced` are in all of them."""
        fixed = frozenset(forced)
        best = max((self._climb(start, fixed) for start in (fixed, self.full(fixed))), key=self.of)
        for first in (best, fixed):
            for second in self._pairs(first, fixed):
                self.of(second)
        best = self._climb(max(self._allowed(fixed), key=self.of), fixed)
        level = self.of(best) - KEPT
        found = [Model(key, self.of(key)) for key in self._allowed(fixed) if self.of(key) >= level]
        return sorted(found, key=lambda model: -model.evidence)

    def full(self, fixed: frozenset[int] = frozenset()) -> frozenset[int]:
        """The best candidate of every family by itself, with those that are forced."""
        taken = {self.candidates[number].family for number in fixed}
        chosen = set(fixed)
        families = dict.fromkeys(item.family for item in self.candidates)
        for family in families:
            if family not in taken:
                own = [n for n, item in enumerate(self.candidates) if item.family == family]
                chosen.add(max(own, key=lambda n: self.of({*fixed, n})))
        return frozenset(chosen)

    def _allowed(self, fixed: frozenset[int]) -> list[frozenset[int]]:
        return [key for key in self._seen if fixed <= key]

    def _climb(self, start: frozenset[int], fixed: frozenset[int]) -> frozenset[int]:
        best = start
        for _ in range(MOST_STEPS):
            step = max(self._neighbours(best, fixed), key=self.of, default=best)
            if self.of(step) <= self.of(best):
                break
            best = step
        return best

    def _neighbours(self, chosen: frozenset[int], fixed: frozenset[int]) -> list[frozenset[int]]:
        """One candidate more, fewer, or in place of another."""
        free = [n for n in chosen if n not in fixed]
        found = [chosen - {n} for n in free]
        for number, item in enumerate(self.candidates):
            if number in chosen:
                continue
            rivals = {n for n in chosen if self.candidates[n].family == item.family}
            if rivals & fixed:
                continue
            found.append(chosen - rivals | {number})
            if not rivals:
                found += [chosen - {n} | {number} for n in free]
        return found

    def _pairs(self, chosen: frozenset[int], fixed: frozenset[int]) -> list[frozenset[int]]:
        """Sets that differ from a set in two families."""
        state = {self.candidates[n].family: n for n in chosen}
        held = {self.candidates[n].family for n in fixed}
        best = {self.candidates[n].family: n for n in self.full(fixed)}
        flips = []
        for family, number in best.items():
            if family in held:
                continue
            flips.append((family, None if family in state else number))
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
    """The share of each model in the evidence of all that remain."""
    level = np.array([model.evidence for model in models])
    weight = np.exp(level - level.max())
    out: FloatArray = weight / weight.sum()
    return out
