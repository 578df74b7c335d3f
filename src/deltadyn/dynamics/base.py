"""Base parameters: what a motion can tell of a model's parameters, and how they are grouped.

A regressor's columns are dependent: Y = Y_1 K with the independent columns Y_1, so that torques
hold the groups K @ parameters alone. For the exact model the groups are known in symbols, from the
bodies (`base_exact`). For any other model they are found in numbers [gnad2024]: the regressor is
stacked over random states, its columns are scaled to length 1, the singular values show the rank,
and a QR decomposition with column pivoting picks the independent columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base_exact import LEGEND, exact_base_map, exact_group
from deltadyn.dynamics.regressor import Regressor, regressor
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import bounding_box
from deltadyn.kinematics.workspace_rules import WorkspaceRules, in_workspace
from deltadyn.robot import Robot

STATES = 120  # 360 or 480 rows for at most some 120 columns
NO_INFLUENCE = 1e-10  # of the longest column; rounding leaves 1e-15
NO_SHARE = 1e-9  # of a scaled column in another; rounding leaves 1e-14
ROUNDING = 1e-12  # of a sum's terms in the sum
CLEAR_GAP = 1e6  # between the last singular value that counts and the first that does not

# A group is called after its most telling member: pivoting comes to these last.
_LAST_CHOICE = {
    "rotor": 1e-6,
    "strut.m": 1e-3,
    "strut.Izz": 1e-3,
    "lower.m": 1e-3,
    "effector.m": 1e-3,
}


@dataclass(frozen=True)
class BaseParameter:
    """One group: its value for the robot, and how it is made of standard parameters."""

    name: str
    unit: str
    value: float
    expression: str
    meaning: str = ""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The groups that a model's torques hold: base = matrix @ standard parameters.

    `standard` names the columns of `matrix` (rank, n): those of the model's regressor, and of the
    rigid model's for the exact model. `gap` is the ratio of the last singular value that counts to
    the first that does not, or to rounding.
    """

    model: str
    rank: int
    parameters: tuple[BaseParameter, ...]
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    no_influence: tuple[str, ...]
    standard: tuple[str, ...]
    matrix: FloatArray
    singular_values: FloatArray
    gap: float

    @property
    def status(self) -> str:
        """A sentence on how sure the rank is."""
        if self.gap >= CLEAR_GAP:
            return f"The rank is clear: the singular values fall by {self.gap:.1e} behind it."
        return (
            f"The rank is not clear: the singular values fall by {self.gap:.1e} only; "
            f"allowed is {CLEAR_GAP:.0e} or more."
        )

    def grouping(self, name: str) -> str:
        """A base parameter as a sum of standard parameters, with numbers."""
        if name not in self.independent:
            raise InputError("name", name, "one of " + ", ".join(self.independent))
        return _sum_text(self.matrix[self.independent.index(name)], self.standard)

    @property
    def text(self) -> str:
        """The table: name, value and unit, then the group."""
        title = f"{self.rank} base parameters of the model {self.model!r}"
        width = max(len(item.name) for item in self.parameters)
        unit = max(len(item.unit) for item in self.parameters)
        lines = [title, self.status]
        for item in self.parameters:
            lines.append(
                f"  {item.name:{width}}  {item.value:12.6g} {item.unit:{unit}}  {item.expression}"
            )
            if item.meaning:
                lines.append(f"  {'':{width + unit + 15}}  {item.meaning}")
        used = " ".join(item.expression for item in self.parameters if item.meaning)
        lines += [text for symbol, text in LEGEND.items() if symbol in used]
        if self.no_influence:
            lines.append("has no influence in this model: " + ", ".join(self.no_influence))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text


def base_parameters(
    robot: Robot,
    model: str = "exact",
    tied: bool | None = None,
    com_offset: bool | None = None,
    *,
    friction: bool = False,
    seed: int = 0,
) -> BaseParameters:
    """The base parameters of a model, with their values for this robot.

    `tied` and `com_offset` as in `regressor`; `tied=False` gives every limb its own parameters,
    also where the limbs are equal. `friction=True` adds the friction model of the robot.
    """
    state = exciting_states(robot, STATES, seed)
    if tied is None:
        tied = robot.equal_limbs
    found = regressor(robot, state, model, tied=tied, com_offset=com_offset, friction=friction)
    if model == "exact":
        return _exact(robot, state, found, tied, friction)
    return _numerical(model, found)


def exciting_states(robot: Robot, count: int, seed: int = 0) -> State:
    """Seeded states that excite every parameter: points of the whole workspace, quick motion.

    Accelerations reach 5 g; speeds are such that centripetal terms do too, over a strut's length
    and, about psi, over 0.2 m.
    """
    rng = np.random.default_rng(seed)
    points = _workspace_points(robot, count, rng)
    most = 5 * (robot.gravity or 9.81)
    speed = np.sqrt(most * np.mean(robot.geometry.strut_length))
    turn = np.array([speed] * 3 + [np.sqrt(most / 0.2)])[: robot.dof]
    push = np.array([most] * 3 + [most / 0.2])[: robot.dof]
    if robot.dof == 4:
        points = np.column_stack([points, rng.uniform(-np.pi, np.pi, count)])
    pd = rng.uniform(-turn, turn, (count, robot.dof))
    pdd = rng.uniform(-push, push, (count, robot.dof))
    return State.from_platform(robot, points, pd, pdd)


def numerical_rank(Y: FloatArray) -> tuple[int, FloatArray, float]:
    """Rank of a matrix of unit columns, its singular values, and the gap behind the rank.

    The rank is where consecutive singular values fall most; none counts below rounding.
    """
    values: FloatArray = np.asarray(np.linalg.svd(Y, compute_uv=False), dtype=np.float64)
    if not values.size:
        return 0, values, np.inf
    floor = float(values[0]) * np.finfo(float).eps * max(Y.shape)
    steps = np.maximum(np.append(values, 0.0), floor)
    falls = steps[:-1] / steps[1:]
    rank = int(falls.argmax()) + 1
    return rank, values, float(falls[rank - 1])


def _exact(
    robot: Robot, state: State, found: Regressor, tied: bool, friction: bool
) -> BaseParameters:
    """The symbolic groups; the numbers only confirm that they are independent."""
    numbers = _numerical("exact", found)
    if numbers.rank != len(found.names):
        return numbers  # without gravity, say
    one = State.from_platform(robot, state.p[:1])
    standard = regressor(robot, one, "rigid", tied=tied, friction=friction).names
    matrix = exact_base_map(robot, found.names, standard, tied)
    groups = [_group(robot, name, tied) for name in found.names]
    rows = zip(found.names, found.units, found.parameters, groups, strict=True)
    parameters = tuple(BaseParameter(n, u, float(v), *group) for n, u, v, group in rows)
    unused = tuple(standard[j] for j in np.flatnonzero(~matrix.any(axis=0)))
    return replace(
        numbers, parameters=parameters, no_influence=unused, standard=standard, matrix=matrix
    )


def _group(robot: Robot, name: str, tied: bool) -> tuple[str, str]:
    """Expression and meaning of an inertial parameter; friction is its own group."""
    try:
        return exact_group(robot, name, tied)
    except KeyError:
        return name, "friction"


def _numerical(model: str, found: Regressor) -> BaseParameters:
    """Groups by QR with column pivoting: Y_dependent = Y_independent R_1^-1 R_2."""
    from scipy.linalg import qr, solve_triangular  # takes longer than the rest of the import

    Y, names = found.stacked(), found.names
    length = np.linalg.norm(Y, axis=0)
    alive = np.flatnonzero(length > NO_INFLUENCE * length.max())
    _, unit = np.linalg.qr(Y[:, alive] / length[alive])  # the same columns in fewer rows
    rank, singular, gap = numerical_rank(unit)
    preference = np.array([_preference(names[j]) for j in alive])
    preference *= 1 - 1e-3 * np.arange(alive.size) / alive.size  # the first of equal columns
    _, _, order = qr(unit * preference, mode="economic", pivoting=True)
    chosen, others = np.sort(order[:rank]), np.sort(order[rank:])
    Q, R = np.linalg.qr(unit[:, chosen])
    share = solve_triangular(R, Q.T @ unit[:, others])  # (rank, n - rank), of unit columns
    share[np.abs(share) < NO_SHARE] = 0.0
    matrix = np.zeros((rank, len(names)))
    matrix[np.arange(rank), alive[chosen]] = 1.0
    matrix[:, alive[others]] = share * length[alive[others]] / length[alive[chosen], None]
    values = matrix @ found.parameters
    values[np.abs(values) < ROUNDING * (np.abs(matrix) @ np.abs(found.parameters))] = 0.0
    independent = tuple(names[j] for j in alive[chosen])
    parameters = tuple(
        BaseParameter(name, found.units[names.index(name)], float(value), _sum_text(row, names))
        for name, value, row in zip(independent, values, matrix, strict=True)
    )
    dependent = tuple(names[j] for j in alive[others])
    dead = tuple(name for j, name in enumerate(names) if j not in set(alive.tolist()))
    return BaseParameters(
        model, rank, parameters, independent, dependent, dead, names, matrix, singular, gap
    )


def _preference(name: str) -> float:
    body, dot, entry = name.partition(".")
    return _LAST_CHOICE.get(body.rstrip("1234") + dot + entry, 1.0)


def _workspace_points(robot: Robot, count: int, rng: np.random.Generator) -> FloatArray:
    """Points (count, 3) of the workspace, as far from singular poses as it allows."""
    low, high = bounding_box(robot)
    for margin in (0.3, 0.1, 0.0):
        rules = WorkspaceRules(singularity=margin)
        kept = np.empty((0, 3))
        for _ in range(20):
            points = rng.uniform(low, high, (10 * count, 3))
            pose = np.column_stack([points, np.zeros(len(points))])[:, : robot.dof]
            kept = np.concatenate([kept, points[in_workspace(robot, pose, rules)]])
            if len(kept) >= count:
                return kept[:count]
    raise InputError("workspace", "empty", "a robot that reaches points below its base")


def _sum_text(row: FloatArray, names: Sequence[str]) -> str:
    """A row as text: its own parameter first, then the others with tidy factors."""
    terms = [(float(factor), name) for factor, name in zip(row, names, strict=True) if factor]
    terms.sort(key=lambda term: term[0] != 1.0)  # stable: the rest keeps its order
    text = ""
    for factor, name in terms:
        size = f"{abs(factor):.4g}"
        sign = "-" if factor < 0 else "+"
        body = name if size == "1" else f"{size} {name}"
        text += f" {sign} {body}" if text else (f"-{body}" if factor < 0 else body)
    return text
