"""How well a fit knows its parameters, with residuals that are correlated in time.

The covariance is a sandwich: blocks of time show how residuals are correlated, with a correction
for what the fit takes out of them. The degrees of freedom for Student's t are Satterthwaite's, per
parameter. A bootstrap of the blocks is the check.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, IntArray, triangle
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.prior import checked_prior, with_prior
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

# The sandwich, in five steps.
#
# 1. Least squares x = (Y'Y)^-1 Y' tau errs by (Y'Y)^-1 Y' e, so its covariance is
#    (Y'Y)^-1 E[Y'e e'Y] (Y'Y)^-1: the outer factors are the bread, the middle is the meat. In
#    parameters z with x = basis z and orthonormal columns Z = Y basis the bread is 1, and the
#    covariance of x is basis meat basis'. The basis comes from the SVD of the factor R of Y.
# 2. With the scores s_b = Z_b' e_b of blocks of time b, longer than residuals are correlated, the
#    meat is the sum of s_b s_b'. Nothing is assumed of the noise within a block.
# 3. A fit makes residuals smaller than the noise. With P_b = Z_b' Z_b (their sum is 1) white noise
#    leaves E[s_b s_c'] = P_b - P_b P_b for b = c, else -P_b P_c. K_b = (1 - P_b)^(-1/2) in front
#    of s_b undoes the first exactly (the CR2 estimate of Bell and McCaffrey 2002).
# 4. Blocks that are still correlated count with their neighbours l blocks away, by Bartlett's
#    weights 1 - l / span over the span of Andrews (1991). Those products have the bias of step 3
#    that K does not undo: `expected` is what white noise would give in all, and the meat is taken
#    relative to it, expected^(-1/2) meat expected^(-1/2).
# 5. A direction that a single block tells has P_b = 1 there and no scores to judge by: `expected`
#    has no eigenvalue there. It gets the variance for white noise times the mean inflation of the
#    others.
#
# Priors. Rows [P, target] of what is known before belong to the bread: H = Y'Y + P'P, and the basis
# makes H the unit matrix. They have no residuals of their own, so the meat is that of the data:
# the covariance of x is H^-1 E[Y'e e'Y] H^-1, what noise does to the estimate. What the prior pulls
# it by is not in it: a direction that the prior alone tells has the variance 0. The information of
# all blocks is then S = Z'Z <= 1, white noise gives the meat S, and step 4 is done in S^(-1/2) z,
# in which it is 1 again.


DEPENDENT = 1e-8  # of the largest singular value, columns of unit length; rounding leaves 1e-15
NO_COLUMN = 1e-13  # of the longest column: rounding
UNKNOWN = 1e-3  # of a unit vector: what shares more of a direction without information
MOST_BLOCKS = 300  # neighbours are joined beyond: more blocks would not sharpen the variance
ALONE = 1e-6  # what a block must leave of a direction to the others to be judged by them
LEAST_EXPECTED = 0.2  # share of the variance that scores must show of white noise
HIGHEST = 0.97  # correlation of neighbouring blocks that sets a span


@dataclass(frozen=True, eq=False)
class Scores:
    """Blocks of time seen from orthonormal parameters z (r,), x = basis @ z.

    P (B, r, r) is the information of each block, with the sum 1, `scores` (B, r) its gradient,
    `recording` (B,) where it comes from. `null` (k, k - r) spans, in columns of unit length, what
    the data do not tell. `white` (r, r) is the covariance of z for white residuals, `residual_std`
    (dof,) is in N m, `x` (k,) is where residuals were taken. `seen` (r, r) is the sum of P where a
    prior tells the rest; None where it is 1.
    """

    basis: FloatArray
    null: FloatArray
    length: FloatArray
    P: FloatArray
    scores: FloatArray
    recording: IntArray
    seconds: float
    white: FloatArray
    residual_std: FloatArray
    x: FloatArray
    seen: FloatArray | None = None

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.P)

    @property
    def unknown(self) -> BoolArray:
        """Parameters (k,) that take part in a direction without information."""
        share: FloatArray = np.sqrt((self.null**2).sum(axis=1))
        return share > UNKNOWN


def scores_of(
    information: Information,
    par: Parametrisation,
    x: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    prior_rows: npt.ArrayLike | None = None,
) -> Scores:
    """The blocks of time as scores of orthonormal parameters, at x or at the least squares."""
    reduced = information.reduced(par)
    w = checked_weights(information, weights)
    rows = reduced * w[..., None, None]  # (B, dof, m, k + 1)
    k = rows.shape[-1] - 1
    before = checked_prior(prior_rows, par)
    R = with_prior(triangle(rows.reshape(-1, k + 1)), before)[:, :k]
    length = np.linalg.norm(R, axis=0)
    dead = length <= NO_COLUMN * length.max(initial=0.0)
    R, length = np.where(dead, 0.0, R), np.where(dead, 1.0, length)
    _, singular, vectors = np.linalg.svd(R / length, full_matrices=False)
    rank = int((singular > DEPENDENT * singular[0]).sum()) if singular.size else 0
    basis = (vectors[:rank].T / singular[:rank]) / length[:, None]
    basis[dead] = 0.0
    Z = rows[..., :k] @ basis
    if x is None:
        right = contract("bamr,bam->r", Z, rows[..., k])
        at = basis @ (right + (before[:, :k] @ basis).T @ before[:, k])
    else:
        at = np.asarray(x, dtype=np.float64)
        if at.shape != (k,) or not np.isfinite(at).all():
            raise InputError("x", at, f"{k} finite numbers, one per parameter")
    e = rows[..., k] - rows[..., :k] @ at
    rest = contract("bam,bam->a", e, e)
    plain = contract("bamk,k->bam", reduced, np.append(-at, 1.0))
    spare = max(1 - k / max(int(information.rows.sum()), 1), 1e-3)  # of the rows, for noise
    count = np.maximum(np.where(w > 0, information.rows, 0).sum(axis=0) * spare, 1e-300)
    loud = (Z * np.sqrt(rest / count)[:, None, None]).reshape(-1, rank)
    return _joined(
        Scores(
            basis=basis,
            null=vectors[rank:].T,
            length=length,
            P=Z.reshape(len(Z), -1, rank).swapaxes(1, 2) @ Z.reshape(len(Z), -1, rank),
            scores=contract("bamr,bam->br", Z, e),
            recording=information.recording,
            seconds=float(information.seconds.mean()),
            white=loud.T @ loud,
            residual_std=np.sqrt(
                contract("bam,bam->a", plain, plain) / (information.counts * spare)
            ),
            x=at,
            seen=contract("bamr,bams->rs", Z, Z) if len(before) else None,
        )
    )


@dataclass(frozen=True, eq=False)
class Sandwich:
    """The covariance `meat` (r, r) of orthonormal parameters, and what it was made of.

    `unjudged` (r, r) projects on what a single block tells: there the others' inflation is taken.
    `KP` and `KPK` (B, r, r) hold the corrected information of the blocks, `lag_weights` the
    Bartlett weights of neighbours within `span` blocks, which correlate by `correlation`.
    """

    meat: FloatArray
    unjudged: FloatArray
    KP: FloatArray
    KPK: FloatArray
    lag_weights: FloatArray
    span: float
    correlation: float

    @classmethod
    def of(cls, found: Scores) -> Sandwich:
        """The sandwich of a fit's scores."""
        leave, vectors = np.linalg.eigh(np.eye(found.P.shape[1]) - found.P)
        root = np.where(leave > ALONE, 1 / np.sqrt(np.maximum(leave, ALONE)), 0.0)
        K = (vectors * root[:, None, :]) @ vectors.transpose(0, 2, 1)
        KP = K @ found.P
        KPK = KP @ K
        s = contract("bij,bj->bi", K, found.scores)
        rho, span = _span(found.recording, s, KP)
        weights = 1 - np.arange(1, int(np.ceil(span))) / span
        meat = s.T @ s
        # for white noise of variance 1: sum K (P - P P) K, then -K_b P_b P_c K_c of neighbours
        expected = (KPK - KP @ KP.transpose(0, 2, 1)).sum(axis=0)
        for lag, weight in enumerate(weights, start=1):
            first, second = _pairs(found.recording, lag)
            product = s[first].T @ s[second]
            loss = contract("bij,bkj->ik", KP[first], KP[second])
            meat = meat + weight * (product + product.T)
            expected = expected - weight * (loss + loss.T)
        if found.seen is None:
            mended, unjudged = _mended(meat, expected, found.white)
        else:
            mended, unjudged = _mended_seen(meat, expected, found.white, found.seen)
        return cls(mended, unjudged, KP, KPK, weights, span, rho)

    def degrees(self, C: FloatArray) -> FloatArray:
        """Degrees of freedom (k,) of the variances of C^T z for C (r, k), by Satterthwaite."""
        u = self.KP.transpose(0, 2, 1) @ C  # (B, r, k)
        d = contract("rk,brs,sk->bk", C, self.KPK, C)
        own = contract("brk,brk->bk", u, u)
        both = contract("brk,bsk->krs", u, u)
        return self._degrees((d - own).sum(axis=0), d, own, contract("krs,krs->k", both, both))

    def degrees_of_sum(self, C: FloatArray) -> float:
        """The same for the sum of the variances of all q columns of C (r, q), orthonormal."""
        u = self.KP.transpose(0, 2, 1) @ C
        D = contract("rq,brs,sp->bqp", C, self.KPK, C)
        U = contract("brq,brp->bqp", u, u)
        both = contract("brq,bsq->rs", u, u)
        trace = contract("bqq->", D - U)
        square = (D**2).sum() - 2 * (D * U).sum() + (both**2).sum()
        return float(trace**2 / square / self._spread) if square > 0 else 1.0

    @property
    def _spread(self) -> float:
        return float(1 + 2 * (self.lag_weights**2).sum())

    def _degrees(
        self, trace: FloatArray, d: FloatArray, own: FloatArray, both: FloatArray
    ) -> FloatArray:
        square = (d**2 - 2 * d * own).sum(axis=0) + both
        ratio = np.divide(trace**2, square, where=square > 0, out=np.ones(len(square)))
        out: FloatArray = np.maximum(ratio / self._spread, 1.0)
        return out


def checked_weights(information: Information, weights: npt.ArrayLike | None) -> FloatArray:
    """Weights of the rows (B, dof), 1 where none are given."""
    shape = (information.blocks, information.dof)
    if weights is None:
        return np.ones(shape)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape not in ((information.dof,), shape):
        raise InputError("shape of the weights", given.shape, f"({shape[1]},) or {shape}")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise InputError("weights", given, "finite numbers of at least 0")
    return np.broadcast_to(given, shape)


def _mended(
    meat: FloatArray, expected: FloatArray, white: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The meat without its bias for white noise, and the projector on what it cannot judge.

    What a single block tells has no scores to be judged by: it gets the mean inflation of the rest.
    """
    values, vectors = np.linalg.eigh((expected + expected.T) / 2)
    good = values > LEAST_EXPECTED
    root = (vectors[:, good] / np.sqrt(values[good])) @ vectors[:, good].T
    mended = root @ meat @ root
    other = vectors[:, ~good] @ vectors[:, ~good].T
    seen = np.trace(vectors[:, good].T @ white @ vectors[:, good])
    inflation = max(np.trace(mended) / seen, 1.0) if seen > 0 else 1.0
    return mended + inflation * other @ white @ other, other


def _mended_seen(
    meat: FloatArray, expected: FloatArray, white: FloatArray, seen: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same beside a prior, in directions scaled such that the data see 1 of each."""
    values, vectors = np.linalg.eigh((seen + seen.T) / 2)
    good = values > NOTHING  # beyond, the prior alone tells
    root = np.sqrt(values[good])
    down, up = vectors[:, good] / root, vectors[:, good] * root
    scaled = (down.T @ item @ down for item in (meat, expected, white))
    mended, unjudged = _mended(*scaled)
    other = vectors[:, good] @ unjudged @ vectors[:, good].T
    return up @ mended @ up.T, other


def _span(recording: IntArray, s: FloatArray, KP: FloatArray) -> tuple[float, float]:
    """Correlation of neighbouring blocks, less what the fit itself makes, and Andrews' span."""
    first, second = _pairs(recording, 1)
    square = float((s**2).sum())
    if not first.size or square == 0.0:
        return 0.0, 1.0
    made = -contract("bij,bij->", KP[first], KP[second]) / max(float(s.shape[1]), 1.0)
    rho = float((s[first] * s[second]).sum()) / square - float(made)
    used = min(max(rho, 0.0), HIGHEST)
    span = 1.1447 * (4 * used**2 / (1 - used**2) ** 2 * len(s)) ** (1 / 3)
    return rho, float(min(max(span, 1.0), max(len(s) / 4, 1.0)))


def _pairs(recording: IntArray, lag: int) -> tuple[IntArray, IntArray]:
    """Blocks that lie `lag` apart in one recording."""
    first = np.flatnonzero(recording[:-lag] == recording[lag:]).astype(np.int64)
    return first, first + lag


def run_starts(recording: IntArray) -> IntArray:
    """For every block (B,) the first block of its recording."""
    first = np.append(True, np.diff(recording) != 0)
    starts: IntArray = np.flatnonzero(first)[np.cumsum(first) - 1].astype(np.int64)
    return starts


def _joined(found: Scores) -> Scores:
    """At most about MOST_BLOCKS blocks: neighbours of one recording are put together."""
    size = -(-found.blocks // MOST_BLOCKS)
    if size == 1:
        return found
    place = (np.arange(found.blocks) - run_starts(found.recording)) // size
    new = np.append(True, (np.diff(found.recording) != 0) | (np.diff(place) != 0))
    edges = np.flatnonzero(new)
    return replace(
        found,
        P=np.add.reduceat(found.P, edges, axis=0),
        scores=np.add.reduceat(found.scores, edges, axis=0),
        recording=found.recording[edges],
        seconds=found.seconds * found.blocks / len(edges),
    )


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
    prior_rows: npt.ArrayLike | None = None,
) -> Covariance:
    """Covariance of the weighted least-squares estimate x (k,), with autocorrelated residuals.

    `weights` (dof,) or (B, dof) scale the rows as in the fit. Without x the estimate is found here.
    `prior_rows` (m, k + 1) are those of the fit. They count in the bread of the sandwich only, and
    its meat is that of the data: the covariance is what noise does to the estimate, and leaves out
    how far the prior may be wrong.
    """
    found = scores_of(information, par, x, weights, prior_rows)
    sandwich = Sandwich.of(found)
    basis = found.basis
    known, white = (basis @ meat @ basis.T for meat in (sandwich.meat, found.white))
    diagonal = np.arange(len(known))
    for variance in (known, white):  # rounding, where a prior rules
        variance[diagonal, diagonal] = np.maximum(np.diag(variance), 0.0)
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
    alike = abs(inflation - 1) < 0.05
    size = "as large as" if alike else f"{inflation:.2g} times"
    text += f"; deviations are {size} those of white residuals."
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
