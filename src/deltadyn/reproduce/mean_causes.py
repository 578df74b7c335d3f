"""Which few causes explain published mean errors: a Bayesian comparison of their subsets.

A paper prints n mean torque errors y and not the motion on which they were measured. So every
subset of causes is asked on many motions that could have been that one. On motion j it predicts

    y = base_j + X_j theta + noise,    theta ~ N(0, scale^2),    noise ~ N(0, sigma^2)

where `base_j` holds what is there without a free number (a slip in a formula is made or not) and a
column of `X_j` what one unit of a cause adds (a mass, an offset). The evidence of a subset is the
mean of the likelihood over motions, scales and sigma, theta integrated out, times the prior chance
of its causes. It is an integral, so a cause whose number the means do not need lowers it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError

CAUSE_PROBABILITY = 0.2  # before the means are seen, of every cause
NOISE_RANGE_NM = (0.3, 5.0)  # of sigma, uniform in the logarithm: from printed digits to the means
NOISE_STEPS = 12


@dataclass(frozen=True)
class Cause:
    """A possible cause of mean errors.

    `scales` are standard deviations of its number before the data, in `unit`, all as likely; none
    for a cause that is there or not. Causes of one `family` exclude each other.
    """

    name: str
    scales: tuple[float, ...] = ()
    unit: str = ""
    family: str = ""


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the causes without a number predict: `base` (motions, n) in N m.

    `columns` holds, by the name of a cause with a number, what one unit of it adds
    (motions, n, k); k > 1 for a cause of several numbers, such as an offset per joint.
    """

    base: FloatArray
    columns: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Explanation:
    """A subset of causes: its evidence, what it predicts, and the numbers of its causes.

    `probability` is that among all subsets compared. `means` (n,), `values` and `deviations`
    (k,) by cause are averages over motions, scales and sigma, weighted by their likelihood.
    """

    causes: tuple[str, ...]
    log_evidence: float
    probability: float
    means: FloatArray
    residual: FloatArray
    values: dict[str, FloatArray]
    deviations: dict[str, FloatArray]
    motion: int  # the one on which the means are the most likely

    @property
    def numbers(self) -> int:
        """How many free numbers its causes have."""
        return sum(map(len, self.values.values()))

    @property
    def rms(self) -> float:
        """RMS in N m of what it leaves of the means."""
        return float(np.sqrt(np.mean(self.residual**2)))


def compare_causes(
    means: npt.ArrayLike,
    causes: Sequence[Cause],
    predict: Callable[[frozenset[str]], Prediction | None],
    *,
    most: int | None = None,
) -> tuple[Explanation, ...]:
    """All subsets of at most `most` causes, the most probable first.

    `predict(fixed)` gives the prediction for the names of the causes without a number that are
    there, or None where these are ruled out otherwise.
    """
    y = np.asarray(means, dtype=float)
    if y.ndim != 1 or not np.isfinite(y).all():
        raise InputError("means", y.tolist(), "finite numbers (n,)")
    results = []
    for subset in _subsets(causes, most):
        prediction = predict(frozenset(c.name for c in subset if not c.scales))
        if prediction is not None:
            results.append(_explanation(y, subset, prediction, len(causes)))
    if not results:
        raise InputError("causes", [c.name for c in causes], "a subset that is not ruled out")
    total = np.logaddexp.reduce([item.log_evidence for item in results])
    ranked = sorted(results, key=lambda item: -item.log_evidence)
    return tuple(
        Explanation(**{**vars(item), "probability": float(np.exp(item.log_evidence - total))})
        for item in ranked
    )


def smallest_explanation(explanations: Sequence[Explanation], *, odds: float = 3.0) -> Explanation:
    """The one with the fewest causes whose probability is within `odds` of the best one's.

    Odds of 3 are said not to be worth a mention [Jeffreys]. Among as few causes the one with the
    fewest free numbers, then the most probable, is taken.
    """
    level = max(item.log_evidence for item in explanations) - np.log(odds)
    near = [item for item in explanations if item.log_evidence >= level]
    return min(near, key=lambda item: (len(item.causes), item.numbers, -item.log_evidence))


def cause_probabilities(explanations: Sequence[Explanation]) -> dict[str, float]:
    """The probability of every cause: the sum over the subsets that have it."""
    names = {name for item in explanations for name in item.causes}
    return {
        name: sum(item.probability for item in explanations if name in item.causes)
        for name in sorted(names)
    }


def _subsets(causes: Sequence[Cause], most: int | None) -> list[tuple[Cause, ...]]:
    count = len(causes) if most is None else min(most, len(causes))
    subsets = [subset for k in range(count + 1) for subset in combinations(causes, k)]
    return [subset for subset in subsets if _compatible(subset)]


def _compatible(subset: tuple[Cause, ...]) -> bool:
    families = [cause.family for cause in subset if cause.family]
    return len(set(families)) == len(families)


def _explanation(
    y: FloatArray, subset: tuple[Cause, ...], prediction: Prediction, count: int
) -> Explanation:
    base, n = prediction.base, len(y)
    free = [cause for cause in subset if cause.scales]
    blocks = [prediction.columns[cause.name] for cause in free]
    widths = [block.shape[2] for block in blocks]
    X = np.concatenate([*blocks, np.zeros((*base.shape, 0))], axis=2)  # (motions, n, k)
    r = y - base  # (motions, n)
    logs, thetas, variances = [], [], []
    sigmas = np.geomspace(*NOISE_RANGE_NM, NOISE_STEPS)
    for sigma, scales in product(sigmas, product(*(cause.scales for cause in free))):
        # theta = scale u, u ~ N(0, 1), so that y has the covariance S
        scale = np.repeat(scales, widths).astype(float)
        scaled = X * scale
        S = sigma**2 * np.eye(n) + scaled @ np.swapaxes(scaled, 1, 2)
        gain = np.swapaxes(np.linalg.solve(S, scaled), 1, 2)  # (motions, k, n)
        square = (r * np.linalg.solve(S, r[:, :, None])[:, :, 0]).sum(axis=1)
        logs.append(-0.5 * (square + np.linalg.slogdet(S)[1] + n * np.log(2 * np.pi)))
        thetas.append(scale * (gain @ r[:, :, None])[:, :, 0])
        variances.append(scale**2 * (1 - np.einsum("mkn,mnk->mk", gain, scaled)))
    log, theta = np.array(logs), np.array(thetas)  # (settings, motions), (settings, motions, k)
    total = float(np.logaddexp.reduce(log, axis=None))
    weights = np.exp(log - total)
    mean = np.einsum("sm,smk->k", weights, theta)
    square_deviation = np.einsum("sm,smk->k", weights, np.array(variances) + (theta - mean) ** 2)
    predicted = base + (X @ theta[..., None])[..., 0]  # (settings, motions, n)
    explained = np.einsum("sm,smn->n", weights, predicted)
    odds = len(subset) * np.log(CAUSE_PROBABILITY)
    odds += (count - len(subset)) * np.log(1 - CAUSE_PROBABILITY)
    names, cuts = [cause.name for cause in free], np.cumsum(widths)[:-1].astype(int)
    deviation = np.sqrt(square_deviation)
    return Explanation(
        causes=tuple(cause.name for cause in subset),
        log_evidence=total - float(np.log(log.size)) + float(odds),
        probability=0.0,
        means=explained,
        residual=y - explained,
        values=dict(zip(names, np.split(mean, cuts), strict=False)),
        deviations=dict(zip(names, np.split(deviation, cuts), strict=False)),
        motion=int(np.argmax(np.logaddexp.reduce(log, axis=0))),
    )
