"""How well a fit knows its parameters, with residuals that hang together in time.

The covariance is the sandwich of `scores`: blocks of time tell how residuals hang together, with a
correction for what the fit takes out of them. The degrees of freedom for Student's t are
Satterthwaite's, per parameter. A bootstrap of the blocks is the check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, IntArray
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.scores import ALONE, Sandwich, Scores, run_starts, scores_of
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

ROUNDING = 1e-9  # of a unit vector
NOTHING = 1e-6  # of a sum's terms: the sum is zero
FEW = 2  # blocks per parameter: below, intervals are rough


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of the parameters x (k,) of a weighted least-squares fit.

    `known` (k, k) and `white` (k, k), for white residuals, leave out the directions `null` that
    the data do not tell; `unknown` (k,) marks the parameters in them. `dof` (k,) are degrees of
    freedom of the standard deviations, `residual_std` (dof,) is that of the residual in N m,
    `correlation` that of neighbouring blocks of time.
    """

    x: FloatArray
    known: FloatArray
    white: FloatArray
    dof: FloatArray
    unknown: BoolArray
    null: FloatArray
    residual_std: FloatArray
    blocks: int
    correlation: float
    status: str

    @property
    def matrix(self) -> FloatArray:
        """Covariance (k, k); parameters that the data do not tell have infinite variance."""
        if not self.unknown.any():
            return self.known
        out = self.known.copy()
        out[self.unknown] = 0.0
        out[:, self.unknown] = 0.0
        out[self.unknown, self.unknown] = np.inf
        return out

    @property
    def std(self) -> FloatArray:
        """Standard deviations (k,), infinite where the data tell nothing."""
        return np.where(self.unknown, np.inf, np.sqrt(np.diag(self.known)))

    @property
    def inflation(self) -> FloatArray:
        """How many times (k,) white residuals would understate the standard deviation."""
        white = np.sqrt(np.diag(self.white))
        ratio = np.divide(
            np.sqrt(np.diag(self.known)), white, where=white > 0, out=np.ones(len(white))
        )
        return np.where(self.unknown, np.nan, ratio)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2) of the confidence intervals."""
        half = t_quantile(level, self.dof) * self.std
        return np.stack([self.x - half, self.x + half], axis=1)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Estimates `samples` (R, k) of resampled blocks; `span` neighbours were drawn together."""

    samples: FloatArray
    x: FloatArray
    span: int
    failed: int
    status: str

    @property
    def matrix(self) -> FloatArray:
        """Covariance (k, k) of the resampled estimates."""
        out: FloatArray = np.atleast_2d(np.cov(self.samples, rowvar=False))
        return out

    @property
    def std(self) -> FloatArray:
        """Standard deviations (k,)."""
        out: FloatArray = self.samples.std(axis=0, ddof=1)
        return out

    def interval(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2): the quantiles of the resampled estimates."""
        tail = (1 - check_level(level)) / 2
        out: FloatArray = np.quantile(self.samples, [tail, 1 - tail], axis=0).T
        return out


def covariance(
    information: Information,
    par: Parametrisation,
    x: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Covariance:
    """Covariance of the weighted least-squares estimate x (k,), with autocorrelated residuals.

    `weights` (dof,) or (B, dof) scale the rows as in the fit. Without x the estimate is found here.
    """
    found = scores_of(information, par, x, weights)
    sandwich = Sandwich.of(found)
    basis = found.basis
    known, white = (basis @ meat @ basis.T for meat in (sandwich.meat, found.white))
    told = (np.diag(white) > 0) & ~found.unknown
    ratio = np.sqrt(np.diag(known)[told] / np.diag(white)[told])
    inflation = float(np.median(ratio)) if ratio.size else 1.0
    return Covariance(
        x=found.x,
        known=(known + known.T) / 2,
        white=white,
        dof=sandwich.degrees(basis.T),
        unknown=found.unknown,
        null=np.where(np.abs(found.null) > ROUNDING, found.null, 0.0) / found.length[:, None],
        residual_std=found.residual_std,
        blocks=found.blocks,
        correlation=sandwich.correlation,
        status=_status(found, sandwich, par.names, inflation),
    )


def bootstrap(
    information: Information,
    par: Parametrisation,
    weights: npt.ArrayLike | None = None,
    *,
    resamples: int = 500,
    seed: int = 0,
) -> Bootstrap:
    """Least-squares estimates from blocks of time drawn anew, as a check of `covariance`.

    Where neighbouring blocks hang together as many of them are drawn in a row as their span has.
    """
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 2:
        raise InputError("resamples", resamples, "a whole number of at least 2")
    found = scores_of(information, par, None, weights)
    if found.unknown.any():
        names = [n for n, lost in zip(par.names, found.unknown, strict=True) if lost]
        raise InputError("parameters", names, "parameters that the data can tell; hold the others")
    span = int(np.ceil(Sandwich.of(found).span)) if found.blocks > 1 else 1
    counts = _drawn(found.recording, max(1, span), resamples, np.random.default_rng(seed))
    r = found.scores.shape[1]
    gram = (counts @ found.P.reshape(found.blocks, -1)).reshape(resamples, r, r)
    right = counts @ found.scores
    good = np.linalg.eigvalsh(gram)[:, 0] > ALONE
    z = np.linalg.solve(gram[good], right[good][..., None])[..., 0]
    failed = int((~good).sum())
    if len(z) < 2:
        raise InputError("blocks of time", found.blocks, f"more than {r}, to be drawn anew")
    lost = f"; {failed} draws could not tell all parameters and are left out" if failed else ""
    status = f"{len(z)} draws of {found.blocks} blocks of time, {max(1, span)} in a row{lost}."
    return Bootstrap(found.x + z @ found.basis.T, found.x, max(1, span), failed, status)


def torque_band(
    par: Parametrisation,
    robot: Robot,
    state: State,
    x: npt.ArrayLike,
    covariance: Covariance,
    level: float = 0.95,
    *,
    prediction: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Predicted torque and half the width of its confidence band, both (N, dof), in N m.

    With `prediction` the band is to hold measured torque: the residual's own deviation is added.
    It is infinite where the torque needs what the data did not tell.
    """
    values = np.asarray(x, dtype=np.float64)
    Y = par.columns(robot, state)  # (N, dof, k)
    torque = par.torque(robot, state, values)
    variance = np.maximum(contract("nij,jk,nik->ni", Y, covariance.known, Y), 0.0)
    share = contract("nij,j->nij", Y**2, np.diag(covariance.known))  # whose t counts
    quantile = t_quantile(level, covariance.dof)
    total = np.maximum(share.sum(axis=2), 1e-300)
    square = variance * contract("nij,j->ni", share, quantile**2) / total
    if prediction:
        square = square + (t_quantile(level, np.array(np.inf)) * covariance.residual_std) ** 2
    half = np.asarray(np.sqrt(square), dtype=np.float64)
    if covariance.null.size:
        missing = np.abs(Y @ covariance.null)  # what is left of sums that the data did not tell
        half[(missing > NOTHING * (np.abs(Y) @ np.abs(covariance.null))).any(axis=2)] = np.inf
    return torque, half


def t_quantile(level: float, dof: FloatArray) -> FloatArray:
    """Half the width of a two-sided interval in standard deviations, by Student's t."""
    from scipy.special import ndtri, stdtrit  # takes longer than the rest of the import

    upper = (1 + check_level(level)) / 2
    finite = np.isfinite(dof)
    t = np.asarray(stdtrit(np.where(finite, dof, 1.0), upper), dtype=np.float64)
    return np.where(finite, t, ndtri(upper))


def check_level(level: float) -> float:
    """A confidence level between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError("level", level, "above 0 and below 1")
    return float(level)


def _drawn(recording: IntArray, span: int, resamples: int, rng: np.random.Generator) -> FloatArray:
    """How often (R, B) each block is drawn, in rows of `span` neighbours that wrap around."""
    count = len(recording)
    first = run_starts(recording)
    size = np.bincount(first, minlength=count)[first]
    runs = -(-count // span)
    begin = rng.integers(0, count, (resamples, runs))
    counts = np.zeros((resamples, count))
    rows = np.arange(resamples)[:, None]
    for step in range(span):
        used = slice(None) if step < count - (runs - 1) * span else slice(0, runs - 1)
        start = begin[:, used]
        place = first[start] + (start - first[start] + step) % size[start]
        np.add.at(counts, (rows, place), 1.0)
    return counts


def _status(found: Scores, sandwich: Sandwich, names: tuple[str, ...], inflation: float) -> str:
    """How autocorrelation was handled, and what to be careful about."""
    length = f"{found.seconds:.2g} s"
    if found.blocks == 1:
        return (
            "Autocorrelation of the residuals could not be handled: there is one block of time. "
            "The deviations are those of white residuals, several times too small as a rule."
        )
    text = (
        f"Autocorrelation of the residuals is counted by the scores of {found.blocks} blocks of "
        f"{length}"
    )
    if sandwich.lag_weights.size:
        text += (
            f" with Bartlett weights over {sandwich.span:.2g} blocks, since neighbours correlate "
            f"by {sandwich.correlation:.2f}"
        )
    text += f"; deviations are {inflation:.2g} times those of white residuals."
    k = len(names)
    if found.blocks < FEW * k:
        text += (
            f" Only {found.blocks} blocks for {k} parameters: the deviations are rough below "
            f"{FEW * k} blocks, {FEW * k * found.seconds:.3g} s of data."
        )
    alone = contract("kr,rs,ks->k", found.basis, sandwich.unjudged, found.basis)
    total = np.maximum((found.basis**2).sum(axis=1), 1e-300)
    few = [name for name, share in zip(names, alone / total, strict=True) if share > 0.5]
    if few:
        text += (
            f" {', '.join(few)} {'is' if len(few) == 1 else 'are'} told by one block alone: the "
            "inflation of the others was taken."
        )
    return text
