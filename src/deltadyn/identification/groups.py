"""Parameters that appear in sums only: in the data at hand, and in the bodies behind a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.base import BaseParameters, base_parameters
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.scores import DEPENDENT, UNKNOWN
from deltadyn.robot import Robot

TERMS = 6  # of a sum that are written out
BODIES = ("arm", "strut", "platform", "upper", "lower", "effector", "rotor")


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
