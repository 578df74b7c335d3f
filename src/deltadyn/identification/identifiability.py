"""What recordings can tell of a model's parameters, said before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.base import BaseParameters, base_parameters, exciting_states, unseen_note
from deltadyn.errors import UnidentifiableError
from deltadyn.identification.advice import MotionLevels, advise, at_rest, levels_of_information
from deltadyn.identification.bodies.bodies import LIMB_BODIES
from deltadyn.identification.information import Information
from deltadyn.identification.methods.base import axis_weights, torque_rms
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.prior import checked_prior, prior_without, with_prior
from deltadyn.identification.uncertainty import DEPENDENT, UNKNOWN, Covariance, covariance
from deltadyn.robot import Robot

__all__ = [
    "Identifiability",
    "UnidentifiableError",
    "hold_unidentifiable",
    "identifiability",
    "require_identifiable",
]

# Parameters that appear in sums only: in the data at hand, and in the bodies behind a model.


TERMS = 6  # of a sum that are written out
BODIES = (*LIMB_BODIES, "platform", "half_a", "half_b", "bars", "upper", "lower", "effector")


class Sums(NamedTuple):
    """Sums that dependent columns tell, the indices in them, and those that can be held."""

    texts: tuple[str, ...]
    dependent: tuple[int, ...]
    spare: tuple[int, ...]


class Bodies(NamedTuple):
    """Standard parameters told alone, sums of the others, and those that no sum holds."""

    separable: tuple[str, ...]
    grouped: tuple[str, ...]
    silent: tuple[str, ...]


def dependent_sums(
    unit: FloatArray, length: FloatArray, felt: FloatArray, names: Sequence[str]
) -> Sums:
    """What columns `unit` (rows, k) of unit length tell where they depend on each other.

    `length` (k,) undoes the scaling; parameters with much influence `felt` (k,) are kept rather
    than held.
    """
    from scipy.linalg import qr, solve_triangular  # takes longer than the rest of the import

    if not unit.size:
        return Sums((), (), ())
    _, singular, vectors = np.linalg.svd(unit, full_matrices=True)
    rank = int((singular > DEPENDENT * singular[0]).sum())
    null = vectors[rank:]
    lost = np.flatnonzero(np.sqrt((null**2).sum(axis=0)) > UNKNOWN)
    if not lost.size:
        return Sums((), (), ())
    alike = np.abs(null.T @ null)[np.ix_(lost, lost)] > UNKNOWN**2
    texts: list[str] = []
    spare: list[int] = []
    for group in _components(alike):
        mine = lost[group]
        _, _, order = qr(unit[:, mine] * felt[mine], mode="economic", pivoting=True)
        values = np.linalg.svd(unit[:, mine], compute_uv=False)
        told = int((values > DEPENDENT * values[0]).sum())
        kept, rest = mine[order[:told]], mine[order[told:]]
        Q, R = np.linalg.qr(unit[:, kept])
        share = solve_triangular(R, Q.T @ unit[:, rest]) * length[rest] / length[kept, None]
        weight = np.abs(share) * length[kept, None] / length[rest]
        for row, size, j in zip(share, weight, kept, strict=True):
            terms = [(row[i], names[rest[i]]) for i in np.argsort(-size) if size[i] > UNKNOWN]
            if terms:
                texts.append(_sum_text(names[j], terms))
        spare += [int(j) for j in rest]
    return Sums(tuple(texts), tuple(int(j) for j in lost), tuple(spare))


def _components(alike: BoolArray) -> list[list[int]]:
    """Groups of indices that are linked."""
    left, groups = set(range(len(alike))), []
    while left:
        group, new = set[int](), {min(left)}
        while new:
            group |= new
            new = {int(j) for i in new for j in np.flatnonzero(alike[i])} - group
        groups.append(sorted(group))
        left -= group
    return groups


def _sum_text(name: str, terms: Sequence[tuple[float, str]]) -> str:
    text = name
    for factor, other in terms[:TERMS]:
        size = f"{abs(factor):.3g}"
        text += f" {'-' if factor < 0 else '+'} {other if size == '1' else f'{size} {other}'}"
    return text + (" + ..." if len(terms) > TERMS else "")


def body_groups(robot: Robot, par: Parametrisation, told: Sequence[str]) -> Bodies:
    """Which parameters of the bodies follow alone, and in which sums, from those that are told."""
    if par.model not in ("exact", "rigid"):
        text = f"the parameters of {par.model!r} lump the bodies together"
        return Bodies((), (text,), ())
    base = _base(robot, par)
    rows = [base.independent.index(name) for name in told if name in base.independent]
    K = base.matrix[rows]
    size = np.abs(K).max(axis=0, initial=0.0)
    used = np.flatnonzero(size > 0)
    _, singular, vectors = np.linalg.svd(K[:, used] / size[used], full_matrices=False)
    span = vectors[singular > DEPENDENT * singular.max(initial=0.0)]
    alone = used[(span**2).sum(axis=0) > 1 - DEPENDENT] if span.size else used[:0]
    separable = tuple(base.standard[j] for j in alone if _of_body(base.standard[j]))
    expressions = [
        f"{item.name} = {item.expression}"
        for item in (base.parameters[row] for row in rows)
        if np.setdiff1d(np.flatnonzero(base.matrix[base.independent.index(item.name)]), alone).size
    ]
    silent = tuple(
        name
        for j, name in enumerate(base.standard)
        if size[j] == 0 and name not in base.no_influence and _of_body(name)
    )
    return Bodies(separable, tuple(expressions), silent)


def _base(robot: Robot, par: Parametrisation) -> BaseParameters:
    if par.model == "rigid":
        return base_parameters(robot, "rigid", par.tied, friction=True)
    offset = any(name.startswith("G_s") for name in par.names)
    return base_parameters(robot, "exact", par.tied, offset or None, friction=True)


def _of_body(name: str) -> bool:
    """Whether a standard parameter belongs to a body, not to friction."""
    return name.partition(".")[0].rstrip("1234") in BODIES


NO_INFLUENCE = 1e-10  # of the largest torque that a parameter's typical size gives
ALIKE = 1e-6  # of a unit column: what others leave of one that they hold
ROUNDING = 1e-14  # of the largest singular value
WEAK = 0.3  # relative standard deviation: the data hardly tell the parameter
ESSENTIAL = 0.1  # relative standard deviation: the data tell it well
DROWNED = 1.0  # the same were all other parameters known: noise hides the parameter
HOPELESS = 3.0  # the same beside the others: its value before is the better guess
FELT = 0.01  # of the RMS torque of quick motion: the size at which a parameter is felt
PLAIN = 3.0  # standard deviations from 0 at which a parameter shows
STATES = 60  # of quick motion, for that size
HELD_TOGETHER = 0.95  # correlation of two weak parameters worth a word


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What recordings tell of the parameters `names` (k).

    `std` (k,) are predicted standard deviations, `scale` (k,) the parameters' sizes: the largest
    of the robot's own value, what quick motion would feel, and a value that the data show.
    `unseen` no motion tells, as `note` explains. `no_influence` leave no trace,
    `drowned` less than noise does, of `dependent` only the `sums` can be told. `weak` are known to
    worse than 30 % of their size, `essential` to better than 10 %.
    `held` would stay at the robot's values. `separable` are the standard parameters of bodies that
    can be told alone, `grouped` says in which sums the others appear, `silent` are in none of them.
    A fit of the `missing` ones makes no sense: `advice` says what they and others that would be
    held lack, `weak_advice` what the weak ones do.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    rank: int
    condition_number: float
    raw_condition_number: float
    std: FloatArray
    scale: FloatArray
    unseen: tuple[str, ...]
    no_influence: tuple[str, ...]
    drowned: tuple[str, ...]
    dependent: tuple[str, ...]
    sums: tuple[str, ...]
    weak: tuple[str, ...]
    essential: tuple[str, ...]
    held: tuple[str, ...]
    together: tuple[tuple[str, str], ...]
    separable: tuple[str, ...]
    grouped: tuple[str, ...]
    silent: tuple[str, ...]
    missing: tuple[str, ...]
    advice: tuple[str, ...]
    weak_advice: tuple[str, ...]
    status: str
    note: str = ""  # on parameters that no motion of this robot tells

    @property
    def relative(self) -> FloatArray:
        """Standard deviations over sizes (k,)."""
        out: FloatArray = self.std / self.scale
        return out

    @property
    def complete(self) -> bool:
        """Whether all parameters can be told at all."""
        return not self.missing

    @property
    def text(self) -> str:
        """All of it in plain words."""
        k = len(self.names)
        lines = [
            f"{self.rank} of {k} parameters are independent in these data; condition number "
            f"{self.condition_number:.3g} (weighted rows, columns with influence, of unit "
            f"length), {self.raw_condition_number:.3g} raw."
        ]
        lines += _line("Seen in no motion", self.unseen)
        lines += _line("No influence on the torque", self.no_influence)
        lines += _line("Hidden by noise", self.drowned)
        lines += _line("Told in sums only", self.sums)
        lines += _line("Weak (predicted deviation above 30 % of the size)", self._sized(self.weak))
        pairs = [f"{a} with {b}" for a, b in self.together]
        lines += _line("Weak because they hang together", pairs)
        lines += _line("Well known (below 10 %)", self.essential)
        lines += [f"  {text}." for text in self.advice + self.weak_advice]
        lines += _line("Standard parameters told alone", self.separable)
        lines += [f"In sums only: {text}." for text in self.grouped]
        lines += _line("Standard parameters that these data leave open", self.silent)
        lines += [self.note] if self.note else []
        lines.append(self.status)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def _sized(self, names: Sequence[str]) -> list[str]:
        share = dict(zip(self.names, self.relative, strict=True))
        return [f"{name} {_share_text(share[name])}" for name in names]


def identifiability(
    robot: Robot,
    information: Information,
    par: Parametrisation,
    weights: npt.ArrayLike | None = None,
    *,
    levels: MotionLevels | None = None,
    prior_rows: FloatArray | None = None,
) -> Identifiability:
    """What the data of a fit can tell of the robot's parameters, from their factors.

    `weights` (dof,) or (B, dof) are those of the fit, by default one over the residual's deviation
    of each axis. `levels` of the motion are read from the factors where they are not given.
    Parameters of a log are fitted beside the robot's and make these less sure, but are not judged:
    `untold` says which of them a fit cannot have. `prior_rows` (m, k + 1) count as rows.
    """
    w = axis_weights(information, par) if weights is None else weights
    before = checked_prior(prior_rows, par)
    found = covariance(information, par, None, w, before)
    scale = shown_sizes(robot, par, found)
    mine = np.arange(len(par.names)) < par.own
    factor = with_prior(information.factor(par, w), before)
    R, raw = factor[:-1, :-1], information.factor(par)[:-1, : par.own]
    length = np.linalg.norm(R, axis=0)
    seen = ~mine & (length > 0)  # a log's parameter is felt in its own motion
    scale[seen] = np.maximum(scale[seen], FELT * np.linalg.norm(factor[:, -1]) / length[seen])
    felt = length * scale
    left = found.residual_std / np.maximum(torque_rms(information), 1e-300)
    levels = levels or levels_of_information(information)
    moved = replace(levels.of(robot), residual=left)
    silent = felt <= NO_INFLUENCE * max(float(felt.max(initial=0.0)), 1e-300)
    silent |= np.array(at_rest(par.names, moved)) & mine
    alive = np.flatnonzero(~silent)
    unit = R[:, alive] / length[alive]
    sums = dependent_sums(unit, length[alive], felt[alive], [par.names[j] for j in alive])
    dependent = np.isin(np.arange(len(silent)), alive[list(sums.dependent)])
    drowned = ~silent & (_alone(information, w, found, length) > DROWNED * scale)
    std = np.where(silent, np.inf, found.std)
    relative = std / scale
    weak = (relative > WEAK) & ~(silent | dependent | drowned)
    spare = np.isin(np.arange(len(silent)), alive[list(sums.spare)])
    cannot = silent | spare | (drowned & mine)
    held = _held(information, par, w, scale, cannot, before)
    # The small terms of whole rigid bodies lie below the noise as a rule; their fits know that.
    hidden = drowned if par.source == "exact" else np.zeros_like(drowned)
    missing = (silent | dependent | hidden) & mine
    lacking = missing | np.isin(par.names, held) if missing.any() else missing
    bodies = body_groups(robot, par, [n for n in par.names if n not in held])
    return Identifiability(
        names=par.names[: par.own],
        units=par.units[: par.own],
        rank=int((mine & ~silent & ~spare).sum()),
        condition_number=_condition(unit),
        raw_condition_number=_condition(raw),
        std=std[mine],
        scale=scale[mine],
        unseen=par.unseen,
        no_influence=_named(par, silent & mine),
        drowned=_named(par, drowned & mine),
        dependent=_named(par, dependent & mine),
        sums=sums.texts,
        weak=_named(par, weak & mine),
        essential=_named(par, (relative < ESSENTIAL) & mine),
        held=held,
        together=_together(found, par, weak),
        separable=bodies.separable,
        grouped=bodies.grouped,
        silent=bodies.silent,
        missing=_named(par, missing),
        advice=advise(_named(par, lacking), moved),
        weak_advice=advise(_named(par, (weak | drowned) & ~lacking & mine), moved, poorly=True),
        status=found.status,
        note=unseen_note(robot, par.tied) if par.model == "exact" else "",
    )


def untold(
    information: Information,
    par: Parametrisation,
    weights: npt.ArrayLike | None = None,
    prior_rows: FloatArray | None = None,
) -> tuple[str, ...]:
    """Parameters of the log whose columns the robot's and the ones before them hold already.

    The data cannot tell them; a fit does without them, or knows something of them before.
    """
    R = with_prior(information.factor(par, weights), checked_prior(prior_rows, par))[:, :-1]
    length = np.linalg.norm(R, axis=0)
    empty = length <= NO_INFLUENCE * length.max(initial=0.0)
    unit = np.where(empty, 0.0, R) / np.where(empty, 1.0, length)
    U, singular, _ = np.linalg.svd(unit[:, : par.own], full_matrices=False)
    basis = U[:, singular > DEPENDENT * singular.max(initial=0.0)]
    lost = []
    for j in range(par.own, len(par.names)):
        rest = unit[:, j] - basis @ (basis.T @ unit[:, j])
        rest = rest - basis @ (basis.T @ rest)  # what rounding left
        size = float(np.linalg.norm(rest))
        if size <= ALIKE:
            lost.append(par.names[j])
        else:
            basis = np.column_stack([basis, rest / size])
    return tuple(lost)


def require_identifiable(found: Identifiability) -> Identifiability:
    """The same, or an error that says what cannot be told and what would make it so."""
    if found.complete:
        return found
    hidden = tuple(name for name in found.drowned if name in found.missing)
    raise UnidentifiableError(
        found.no_influence + hidden, found.dependent, found.sums, found.advice
    )


def hold_unidentifiable(par: Parametrisation, found: Identifiability) -> Parametrisation:
    """The parameters that the data tell; the others stay at the robot's own values."""
    return par.without(found.held)


def sizes(robot: Robot, par: Parametrisation) -> FloatArray:
    """The size (k,) by which a deviation is judged: the robot's own value, or what is felt.

    Felt is what makes 1 % of the RMS torque of an axis in quick motion all over the workspace.
    """
    state = exciting_states(robot, STATES)
    Y = par.columns(robot, state)
    torque = np.sqrt((par.torque(robot, state, par.prior) ** 2).mean(axis=0))  # (dof,)
    column = np.sqrt((Y**2).mean(axis=0))  # (dof, k)
    for j, name in enumerate(par.names):  # Stribeck's torque is that of slow motion
        for partner in (f"Fc{name[2:]}", f"Fc+{name[2:]}"):
            if name.startswith("Fs") and partner in par.names:
                column[:, j] = column[:, par.names.index(partner)]
    with np.errstate(divide="ignore"):
        felt = np.min(np.where(column > 0, FELT * torque[:, None] / column, np.inf), axis=0)
    return np.where(np.isfinite(felt), np.maximum(np.abs(par.prior), felt), np.abs(par.prior))


def shown_sizes(robot: Robot, par: Parametrisation, found: Covariance) -> FloatArray:
    """Sizes (k,) that count what the data plainly show: friction that the robot file leaves out."""
    scale = sizes(robot, par)
    shown = np.isfinite(found.std) & (np.abs(found.x) > PLAIN * found.std)
    out: FloatArray = np.where(shown, np.maximum(scale, np.abs(found.x)), scale)
    return np.maximum(out, np.finfo(float).tiny)


def _alone(
    information: Information,
    weights: npt.ArrayLike,
    found: Covariance,
    length: FloatArray,
) -> FloatArray:
    """Standard deviations (k,) if all other parameters were known."""
    inflation = found.inflation[~found.unknown]
    more = float(np.median(inflation)) if inflation.size else 1.0
    w = np.broadcast_to(np.asarray(weights), (information.blocks, information.dof))
    noise = np.sqrt(np.mean((w * found.residual_std) ** 2))
    out: FloatArray = more * noise / np.maximum(length, 1e-300)
    return out


def _held(
    information: Information,
    par: Parametrisation,
    weights: npt.ArrayLike,
    scale: FloatArray,
    cannot: BoolArray,
    before: FloatArray,
) -> tuple[str, ...]:
    """What stays at the robot's values: what cannot be told, then the most hopeless one by one.

    Holding x_j leaves C - C_j C_j^T / C_jj of the others' covariance C. Parameters of a log are
    never among them.
    """
    left = np.flatnonzero(~cannot)
    if not left.size:
        return par.names[: par.own]
    rest = par.without(_named(par, cannot))
    found = covariance(information, rest, None, weights, prior_without(before, cannot, par.prior))
    more = np.nan_to_num(found.inflation, nan=1.0)
    C = found.white * np.outer(more, more)
    while left.size:
        share = np.sqrt(np.maximum(np.diag(C), 0.0)) / scale[left]
        share[left >= par.own] = 0.0
        worst = int(np.argmax(share))
        if not share[worst] > HOPELESS:
            break
        C = C - np.outer(C[worst], C[worst]) / C[worst, worst]
        keep = np.arange(len(left)) != worst
        C, left = C[np.ix_(keep, keep)], left[keep]
    return tuple(name for j, name in enumerate(par.names[: par.own]) if j not in left)


def _together(
    found: Covariance, par: Parametrisation, weak: BoolArray
) -> tuple[tuple[str, str], ...]:
    """Pairs of parameters, one of them weak, whose errors go together."""
    std = np.sqrt(np.maximum(np.diag(found.known), 1e-300))
    correlation = np.abs(found.known / np.outer(std, std))
    pairs = []
    for i, j in np.argwhere(np.triu(correlation > HELD_TOGETHER, 1)):
        if (weak[i] or weak[j]) and not (found.unknown[i] or found.unknown[j]):
            pairs.append((par.names[i], par.names[j]))
    return tuple(pairs)


def _condition(matrix: FloatArray) -> float:
    """Condition number of a matrix; infinite where a column is zero."""
    if not matrix.size:
        return np.inf
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > ROUNDING * values[0] else np.inf


def _named(par: Parametrisation, chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, yes in zip(par.names, chosen, strict=True) if yes)


def _share_text(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 10 else f"{share:.2g} times"


def _line(title: str, items: Sequence[str]) -> list[str]:
    return [f"{title}: {', '.join(items)}."] if items else []
