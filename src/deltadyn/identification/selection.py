"""Equal limbs or limbs of their own: a test and information criteria for correlated residuals.

With tied limbs nested in limbs of their own the sum of squares falls by D when q parameters are
added. White noise of variance s^2 makes D = q s^2 on average; correlated noise makes it the sum of
the variances of the scores along these q directions, v = sum (n_i^T s_b)^2, which blocks of time
tell. So F = D / v has the F distribution with q and Satterthwaite's degrees of freedom of v, and
lambda = v / (q s^2) samples count as one: N_eff = N / lambda.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information
from deltadyn.identification.methods.base import axis_weights
from deltadyn.identification.parametrisation import LIMB_NAMES, Parametrisation, parametrise
from deltadyn.identification.uncertainty import Sandwich, checked_weights, scores_of
from deltadyn.robot import Robot

LEVEL = 0.05  # of the test's false alarms
MATTERS = 0.05  # share of the residual that limbs of their own must explain
ROUNDING = 1e-20  # of the sum of squares; a relative rounding of 1e-15 leaves 1e-30


@dataclass(frozen=True)
class Candidate:
    """One of the two models: its parameters, the weighted sum of squares, and criteria."""

    parameters: int
    squares: float
    aic: float
    aicc: float
    bic: float


@dataclass(frozen=True)
class LimbChoice:
    """Tied limbs against limbs of their own.

    `F` with `q` and `dof` degrees of freedom has the `p_value`; `samples` rows count as
    `effective_samples`. `tied` is the advice, `recommendation` says it in words.
    """

    model: str
    tied: bool
    equal: Candidate
    own: Candidate
    F: float
    q: int
    dof: float
    p_value: float
    samples: int
    effective_samples: float
    recommendation: str

    @property
    def choice(self) -> str:
        """ "tied" or "per arm"."""
        return "tied" if self.tied else "per arm"

    def __str__(self) -> str:
        return self.recommendation


def compare_limbs(
    robot: Robot,
    information: Information,
    model: str = "exact",
    weights: npt.ArrayLike | None = None,
) -> LimbChoice:
    """Whether the data speak against equal limbs.

    `weights` (dof,) or (B, dof) scale the rows; by default one over the residual's deviation of
    each axis. The advice is limbs of their own where the F-test at 5 % and AICc both ask for it and
    residuals fall by 5 % or more: errors of the model repeat with the motion, and a test of noise
    takes what they have in common with a parameter for a difference of the limbs.
    """
    own = parametrise(robot, model, tied=False)
    equal = information.extended(_equal_limbs(robot, own))
    own = information.extended(own)
    w = checked_weights(information, axis_weights(information, own) if weights is None else weights)
    found = scores_of(information, own, None, w)
    rows = information.reduced(own) * w[..., None, None]
    Z, target = rows[..., :-1] @ found.basis, rows[..., -1]
    columns = information.reduced(equal)[..., :-1] * w[..., None, None]
    more = _added(contract("bamr,bamk->rk", Z, columns))  # (r, q)
    q = more.shape[1]
    if q == 0:
        raise InputError("model", model, "one whose limbs these data can tell apart")
    e = target - rows[..., :-1] @ found.x
    rest = float(contract("bam,bam->", e, e))
    gain = float(((more.T @ contract("bamr,bam->r", Z, target)) ** 2).sum())
    sandwich = Sandwich.of(found)
    noise = max(float(np.trace(more.T @ sandwich.meat @ more)), np.finfo(float).tiny)
    dof = max(sandwich.degrees_of_sum(more), 1.0)
    total = float(contract("bam,bam->", target, target))
    if gain <= ROUNDING * total:  # noise-free data: what is left is rounding
        gain = 0.0
    F = gain / noise
    samples = int((information.rows * (w > 0)).sum())
    white = q * rest / max(samples - Z.shape[-1], 1)
    effective = samples / max(noise / white, 1.0) if white > 0 else float(samples)
    r = Z.shape[-1]
    squares = (rest + gain, rest)
    tied, free = (
        _candidate(count, square, samples, effective)
        for count, square in zip((r - q, r), squares, strict=True)
    )
    p_value = _tail(F, q, dof)
    lower = 1 - math.sqrt(rest / (rest + gain)) if rest + gain > 0 else 0.0
    differ = p_value < LEVEL and free.aicc < tied.aicc
    keep = not differ or lower < MATTERS
    choice = LimbChoice(model, keep, tied, free, F, q, dof, p_value, samples, effective, "")
    text = _words(choice)
    if differ and keep:
        text = _little(lower, p_value, q)
    elif differ:
        text += _largest(own, found.x)
    return replace(choice, recommendation=text)


def _equal_limbs(robot: Robot, own: Parametrisation) -> Parametrisation:
    """The same model with one set of parameters for all limbs."""
    if own.model == "rigid" or (own.unseen and robot.equal_limbs):
        return parametrise(robot, own.model, tied=True)
    families = [name[:-1] if name[:-1] in LIMB_NAMES else name for name in own.names]
    names = tuple(dict.fromkeys(families))
    if len(names) == len(own.names):
        allowed = (
            "one with parameters of each limb: 'exact', 'rigid', 'half-half', 'euler-lagrange'"
        )
        raise InputError("model", own.model, allowed)
    tie = np.array([[float(family == name) for name in names] for family in families])
    first = [families.index(name) for name in names]
    return Parametrisation(
        own.model,
        own.source,
        own.wide_names,
        names,
        tuple(own.units[j] for j in first),
        own.prior[first],
        own.T @ tie,
        own.offset,
        True,
    )


def _added(M: FloatArray) -> FloatArray:
    """Orthonormal directions (r, q) outside the columns of M (r, k)."""
    length = np.linalg.norm(M, axis=0)
    U, singular, _ = np.linalg.svd(M / np.where(length > 0, length, 1.0))
    rank = int((singular > 1e-8 * singular.max(initial=0.0)).sum())
    return np.asarray(U[:, rank:], dtype=np.float64)


def _candidate(count: int, squares: float, samples: int, effective: float) -> Candidate:
    """Criteria for Gaussian residuals; the noise's variance counts as a parameter."""
    k = count + 1
    base = effective * math.log(max(squares, 1e-300) / samples)
    aic = base + 2 * k
    room = effective - k - 1
    aicc = aic + 2 * k * (k + 1) / room if room > 0 else math.inf
    return Candidate(count, squares, aic, aicc, base + k * math.log(max(effective, 1.0)))


def _tail(F: float, q: int, dof: float) -> float:
    from scipy.special import fdtrc  # takes longer than the rest of the import

    return float(fdtrc(q, dof, F))


def _words(choice: LimbChoice) -> str:
    """The test, the criteria and what they ask for."""
    votes = []
    for name in ("AIC", "AICc", "BIC"):
        equal, own = (getattr(item, name.lower()) for item in (choice.equal, choice.own))
        votes.append(f"{name} {'tied' if equal <= own else 'per arm'}")
    test = (
        f"F = {choice.F:.3g} with {choice.q} and {choice.dof:.3g} degrees of freedom, "
        f"p = {choice.p_value:.2g}; {', '.join(votes)}; {choice.samples} samples count as "
        f"{choice.effective_samples:.0f} since residuals are correlated"
    )
    if choice.tied and choice.p_value < LEVEL:
        return (
            "Tied limbs: the test speaks against equal limbs, yet what limbs of their own explain "
            f"does not pay for {choice.q} more parameters ({test})."
        )
    if choice.tied:
        return f"Tied limbs: the data do not speak against equal limbs ({test})."
    return (
        "Limbs of their own, per arm: the data speak against equal limbs, unless torque constants, "
        f"offsets or lengths differ between the axes ({test})."
    )


def _little(lower: float, p_value: float, q: int) -> str:
    return (
        f"Tied limbs: the test speaks against equal limbs (p = {p_value:.2g}), yet {q} more "
        f"parameters lower the residual by {100 * lower:.2g} % only, as errors of the model that "
        "repeat with the motion can do."
    )


def _largest(own: Parametrisation, x: FloatArray) -> str:
    """The parameter that differs most between the arms, where limbs are named one by one."""
    worst, text = 0.0, ""
    values = dict(zip(own.names, x, strict=True))
    for family in ("A", "G"):
        numbers = np.array([values[name] for name in own.names if name[:-1] == family])
        if not numbers.size:
            continue
        share = numbers / numbers.mean() - 1
        i = int(np.argmax(np.abs(share)))
        if abs(share[i]) > worst:
            worst = abs(float(share[i]))
            text = f" {family}{i + 1} is {100 * share[i]:+.2g} % off the mean of the arms."
    return text
