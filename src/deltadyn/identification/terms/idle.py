"""Terms that were chosen and that a fit does not carry, because nothing of them shows.

Evidence may prefer a set with a term whose parameters may all be 0 and which predicts unseen motion
hardly better. Such a term fills tables and tells nothing. The fit goes without it; sets with it
remain among the models over which intervals are the hull.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.terms.choose import Choice
from deltadyn.identification.terms.evidence import ASKED, Model
from deltadyn.identification.terms.intervals import hull

LEAST_GAIN = 0.1  # of the error on unseen motion: what a term must take away that may be 0


def drop_idle_terms(choice: Choice, share: float = 1.0) -> Choice:
    """The choice without terms that may be 0 and gain less than `LEAST_GAIN` on unseen motion.

    They go one by one, the one that gains least first: of two that say the same one stays. Terms
    that were asked for stay. `share` is that of the log's rows which the choice was made from.
    """
    while (idle := _idlest(choice, share)) is not None:
        choice = _without(choice, idle)
    return choice


def _idlest(choice: Choice, share: float) -> int | None:
    """The candidate that gains least among those that may go; None where none may."""
    gains = unseen_gains(choice)
    few = [
        number
        for number in sorted(choice.best.candidates)
        if gains[number] < LEAST_GAIN and choice.items[number].odds < ASKED
    ]
    names = {number: [p.name for p in choice.terms[number].parameters] for number in few}
    if not few:
        return None
    wanted = [name for number in few for name in names[number]]
    ends = hull(choice, wanted, share=share).interval()
    holds_zero = dict(zip(wanted, (ends[:, 0] <= 0) & (ends[:, 1] >= 0), strict=True))
    idle = [number for number in few if all(holds_zero[name] for name in names[number])]
    return min(idle, key=lambda number: gains[number], default=None)


def unseen_gains(choice: Choice) -> dict[int, float]:
    """By how much each chosen candidate lowers the error on unseen motion, as a share of it.

    It is the median of those on the folds: what one fold alone shows may be its noise, and one
    fold whose motion tells nothing of a term does not stand for the others.
    """
    with_all = _fold_errors(choice, choice.best.candidates)
    found = {}
    for number in choice.best.candidates:
        without = _fold_errors(choice, choice.best.candidates - {number})
        found[number] = float(np.median(1 - with_all / np.maximum(without, 1e-300)))
    return found


def _fold_errors(choice: Choice, candidates: frozenset[int]) -> FloatArray:
    """RMS error of a set of terms on each fold that its fit did not see, over the RMS torque."""
    left, fold = choice.unseen.residuals(candidates) / choice.level, choice.unseen.fold
    square = (left**2).sum(axis=1)
    return np.sqrt([square[fold == f].sum() for f in np.unique(fold)])


def _without(choice: Choice, number: int) -> Choice:
    """The choice with the best model's other terms as its best, at the same linearisation."""
    weighing, term = choice.weighing, choice.terms[number]
    kept = choice.best.candidates - {number}
    best = Model(kept, weighing.evidence(choice.items).of(kept))
    others = tuple(model for model in choice.models if model.candidates != kept)
    z, V = weighing.estimate([c for n in sorted(kept) for c in choice.items[n].columns])
    dropped = {p.name for p in term.parameters}
    values = {name: v for name, v in choice.point.values.items() if name not in dropped}
    return replace(
        choice,
        models=(best, *others),
        z=np.asarray(z),
        V=np.asarray(V),
        point=replace(choice.point, values=values),
        idle=(*choice.idle, term.title),
    )
