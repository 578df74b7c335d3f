"""Gray-box identification [falezza2020]: rho1 and rho2 by a grid, friction by least squares.

    rho1 I qdd + rho2 G(q) - 2 K lambda + Fv qd + Fc sign(qd) = tau                       eq. 8

For every trajectory rho1 and rho2 minimise the RMS of the torque error over the arms (eq. 7), and
the averages over trajectories are taken. What M_Id leaves gives Fv and Fc per joint and trajectory,
averaged alike. The torque is linear in rho1 and rho2: the closed-form least squares stand beside
the grid, which must meet them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.identification.problem import Problem, Solution, Solver
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction, GrayBox

# The grid over rho1 and rho2 [falezza2020] eq. 7, refined until its spacing is small enough.


FINER = 2.0  # how much smaller the next grid is: little, so that a slanted valley stays inside
FEWEST = 7  # points per range
MOST_GRIDS = 500


@dataclass(frozen=True)
class Grid:
    """Ranges of rho1 and rho2, points per range, and the spacing at which refining ends.

    The paper gives no ranges. Ours hold a rotor of nine times the arm's inertia; a factor of
    gravity below 0 is a counterweight.
    """

    rho1: tuple[float, float] = (0.05, 10.0)
    rho2: tuple[float, float] = (-2.0, 4.0)
    points: int = 41
    spacing: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("rho1", "rho2"):
            low, high = getattr(self, name)
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(f"grid.{name}", (low, high), "two finite numbers, low before high")
        if self.rho1[0] <= 0:
            raise InputError("grid.rho1", self.rho1, "above 0: it is a factor of inertia")
        if self.points < FEWEST:
            raise InputError("grid.points", self.points, f"at least {FEWEST}")
        if not 0 < self.spacing < math.inf:
            raise InputError("grid.spacing", self.spacing, "above 0")


@dataclass(frozen=True)
class GridMinimum:
    """The best point of the last grid, and how it was reached."""

    rho1: float
    rho2: float
    spacing: float  # of the last grid, the larger of both
    grids: int
    evaluations: int
    on_border: bool  # of the whole range
    converged: bool


def search(R: FloatArray, grid: Grid) -> GridMinimum:
    """The point of least cost |R (rho1, rho2, -1)|, which is the RMS of the torque error scaled.

    `R` is the triangular factor of the columns of rho1, rho2 and the torque. The next grid lies
    around the best point: finer where it is inside, as fine as before where it is on the edge, so
    that a narrow valley is followed.
    """
    low = np.array([grid.rho1[0], grid.rho2[0]])
    high = np.array([grid.rho1[1], grid.rho2[1]])
    start, end = low, high
    grids = 0
    fine = False
    while not fine and grids < MOST_GRIDS:
        grids += 1
        axes = np.linspace(start, end, grid.points)  # (points, 2)
        cost = _cost(R, axes[:, 0], axes[:, 1])
        at = np.array(np.unravel_index(int(np.argmin(cost)), cost.shape))
        best = axes[at, [0, 1]]
        step = (end - start) / (grid.points - 1)
        on_border = (best <= low) | (best >= high)
        inside = ((at > 0) & (at < grid.points - 1)) | on_border
        fine = bool(inside.all() and (step <= grid.spacing).all())
        half = (end - start) / 2 / (FINER if inside.all() else 1.0)
        start, end = np.maximum(best - half, low), np.minimum(best + half, high)
    return GridMinimum(
        float(best[0]),
        float(best[1]),
        float(step.max()),
        grids,
        grids * grid.points**2,
        bool(on_border.any()),
        fine and not on_border.any(),
    )


def _cost(R: FloatArray, rho1: FloatArray, rho2: FloatArray) -> FloatArray:
    """|R (rho1, rho2, -1)| at every pair of values (points, points)."""
    one = R[:, 0, None] * rho1 - R[:, 2, None]  # (rows, points)
    two = R[:, 1, None] * rho2
    error = one[:, :, None] + two[:, None, :]
    cost: FloatArray = np.sqrt(np.sum(error**2, axis=0))
    return cost


ARMS = slice(0, 3)
M_KH, M_ID, M_ID_F = "M_KH", "M_Id", "M_Id+F"
LARGEST_CONDITION = 1e6  # of the two columns at unit length: beyond it rounding counts
MEETING = 100.0  # spacings of the last grid within which it must meet the closed form

#: A low pass for arrays with samples first, the same for columns and torque.
Limit = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class TrajectoryFit:
    """What one trajectory gives: factors by the grid and in closed form, friction per joint.

    RMS errors are in N m over the arms: of M_KH, and of the factors that this trajectory likes
    best. Friction is NaN where it was not asked for.
    """

    rho1: float
    rho2: float
    least_squares: tuple[float, float]
    grid: GridMinimum
    samples: int
    rms_before: float
    rms_after: float
    viscous: FloatArray  # (dof,), N m s/rad
    coulomb: FloatArray  # (dof,), N m

    @property
    def grid_gap(self) -> float:
        """The larger distance of a factor on the grid from its closed-form value."""
        exact1, exact2 = self.least_squares
        return max(abs(self.rho1 - exact1), abs(self.rho2 - exact2))


@dataclass(frozen=True, eq=False)
class GrayBoxResult:
    """The averages over trajectories, each trajectory's own values, and the models as robots.

    `viscous` and `coulomb` (dof,) are as the least squares gave them; the robots take no negative
    friction, and `status` says what was done about it. Use a robot with the model "gray-box".
    """

    rho1: float
    rho2: float
    per_trajectory: tuple[TrajectoryFit, ...]
    viscous: FloatArray
    coulomb: FloatArray
    robots: dict[str, Robot]
    converged: bool
    status: str

    @property
    def grid_gap(self) -> float:
        """The largest distance of a factor on the grid from its closed-form value."""
        return max(fit.grid_gap for fit in self.per_trajectory)

    def __str__(self) -> str:
        dof = len(self.viscous)
        names = [f"{name}{axis + 1}" for name in ("Fv", "Fc") for axis in range(dof)]
        labels = ("rho1", "rho2", "M_KH", "best", *names)
        lines = [
            "gray-box: factors, RMS error over the arms (N m), Fv (N m s/rad), Fc (N m)",
            "trajectory " + " ".join(f"{label:>8}" for label in labels),
        ]
        for index, fit in enumerate(self.per_trajectory):
            values = (fit.rho1, fit.rho2, fit.rms_before, fit.rms_after)
            cells = (*values, *fit.viscous, *fit.coulomb)
            lines.append(f"{index + 1:>10} " + " ".join(f"{value:8.3f}" for value in cells))
        mean = (self.rho1, self.rho2, *self.viscous, *self.coulomb)
        texts = [f"{value:8.3f}" for value in mean]
        lines.append("   average " + " ".join([*texts[:2], " " * 17, *texts[2:]]))
        return "\n".join([*lines, self.status])


@dataclass(frozen=True, eq=False)
class Rows:
    """One trajectory made ready: torque = known + inertia rho1 + gravity rho2 + friction."""

    tau: FloatArray  # (N, dof), what was measured
    known: FloatArray  # (N, dof)
    inertia: FloatArray
    gravity: FloatArray
    rate: FloatArray
    sign: FloatArray

    def factor(self) -> FloatArray:
        """Triangular (3, 3) factor of [inertia, gravity, tau - known] over the arms."""
        columns = (self.inertia, self.gravity, self.tau - self.known)
        stacked = np.stack([column[:, ARMS].ravel() for column in columns], axis=1)
        R: FloatArray = np.linalg.qr(stacked).R
        return R

    def left(self, rho1: float, rho2: float) -> FloatArray:
        """tau minus the torque of these factors without friction (N, dof), in N m."""
        return self.tau - self.known - rho1 * self.inertia - rho2 * self.gravity


def gray_box(
    robot: Robot,
    trajectories: Sequence[tuple[State, FloatArray]],
    *,
    grid: Grid | None = None,
    friction: bool = True,
    limit: Sequence[Limit] | None = None,
) -> GrayBoxResult:
    """Identify rho1, rho2 and friction from pairs (state, torque (N, dof) in N m).

    `limit` holds one low pass per trajectory, for columns and torque alike. Friction that `robot`
    has is not used: the three models are M_KH (factors 1), M_Id and M_Id+F, the last one left out
    with `friction=False`.
    """
    chosen = Grid() if grid is None else grid
    pairs = _checked(robot, trajectories, limit)
    rows = [_rows(robot, state, tau, low_pass) for state, tau, low_pass in pairs]
    factors = [_factor(item, index) for index, item in enumerate(rows)]
    found = [search(R, chosen) for R in factors]
    rho1 = float(np.mean([item.rho1 for item in found]))
    rho2 = float(np.mean([item.rho2 for item in found]))
    pieces = [_friction(item, rho1, rho2, friction) for item in rows]
    raw = np.mean(pieces, axis=0)  # (2, dof)
    fits = tuple(
        _trajectory_fit(item, R, best, piece)
        for item, R, best, piece in zip(rows, factors, found, pieces, strict=True)
    )
    robots = {M_KH: _model(robot, 1.0, 1.0), M_ID: _model(robot, rho1, rho2)}
    problem = _grid_problem(fits, chosen)
    sentences = [problem or _grid_sentence(found, chosen), *_own_friction(robot)]
    if friction:
        usable, told = _usable_friction(rows, rho1, rho2, raw)
        robots[M_ID_F] = _model(robot, rho1, rho2, usable)
        sentences += told
    status = "; ".join(sentences)
    return GrayBoxResult(rho1, rho2, fits, raw[0], raw[1], robots, problem is None, status)


@dataclass(frozen=True)
class GrayBoxFit(Solver):
    """[falezza2020]: rho1 and rho2 by grid, friction per joint, averaged over recordings.

    `grid` has the ranges of rho1 and rho2; None takes `Grid()`. `friction=False` fits none.
    """

    name: ClassVar[str] = "gray-box"
    model: ClassVar[str] = "gray-box"
    models: ClassVar[tuple[str, ...]] = ("gray-box",)
    source: ClassVar[str] = "falezza2020"

    grid: Grid | None = None
    friction: bool = True

    def __post_init__(self) -> None:
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise InputError("grid", type(self.grid).__name__, "a Grid, or None")

    def solve(self, problem: Problem) -> Solution:
        """The averages over the parts of all recordings."""
        if problem.parts is None:
            raise InputError(
                "data", "information alone", "recordings: this method reads the samples"
            )
        if problem.extra is not None or len(problem.prior_rows):
            raise InputError(
                "method",
                self.name,
                "another one where a log has columns of its own, rows left out or priors",
            )
        parts = list(problem.parts())
        found = gray_box(
            problem.robot,
            [(part.state, part.tau) for part in parts],
            limit=[part.limited for part in parts],
            grid=self.grid,
            friction=self.friction,
        )
        values = {"rho1": found.rho1, "rho2": found.rho2}
        for axis in range(problem.robot.dof):
            values[f"Fv{axis + 1}"] = float(found.viscous[axis])
            values[f"Fc{axis + 1}"] = float(found.coulomb[axis])
        prior = dict(zip(problem.par.names, problem.par.prior, strict=True))
        x = np.array([values.get(name, prior[name]) for name in problem.par.names])
        return Solution(x, found.status, found.converged)


def _checked(
    robot: Robot,
    trajectories: Sequence[tuple[State, FloatArray]],
    limit: Sequence[Limit] | None,
) -> list[tuple[State, FloatArray, Limit | None]]:
    if len(trajectories) == 0:
        raise InputError("trajectories", 0, "at least one pair of a state and its torque")
    if limit is not None and len(limit) != len(trajectories):
        raise InputError("limit", len(limit), f"{len(trajectories)}, one per trajectory")
    out = []
    for index, (state, tau) in enumerate(trajectories):
        check_state(robot, state)
        torque, _ = as_samples(tau, robot.dof, f"torque of trajectory {index + 1}")
        if len(torque) != len(state):
            allowed = f"{len(state)}, as its state has"
            raise InputError(f"rows of torque of trajectory {index + 1}", len(torque), allowed)
        out.append((state, torque, None if limit is None else limit[index]))
    return out


def _rows(robot: Robot, state: State, tau: FloatArray, low_pass: Limit | None) -> Rows:
    found = regressor(robot, state, "gray-box", friction=False)
    Y = found.Y if found.Y.ndim == 3 else found.Y[None]
    one, two = found.names.index("rho1"), found.names.index("rho2")
    rest = [index for index in range(len(found.names)) if index not in (one, two)]
    known = Y[:, :, rest] @ found.parameters[rest]
    sign = direction(state.qd, robot.friction.smoothing)
    arrays = [tau, known, Y[:, :, one], Y[:, :, two], state.qd, sign]
    if low_pass is not None:
        arrays = [low_pass(array) for array in arrays]
    return Rows(*arrays)


def _factor(rows: Rows, index: int) -> FloatArray:
    """The trajectory's triangular factor; one that cannot tell rho1 from rho2 is refused."""
    R = rows.factor()
    lengths = np.linalg.norm(R[:, :2], axis=0)
    condition = np.inf
    if len(R) >= 2 and lengths.all():
        condition = float(np.linalg.cond(R[:2, :2] / lengths))
    if not condition <= LARGEST_CONDITION:
        raise InputError(
            "condition number of the columns of rho1 and rho2",
            condition,
            f"at most {LARGEST_CONDITION:g}: a motion that accelerates the arms",
            where=f"trajectory {index + 1}",
        )
    return R


def _trajectory_fit(
    rows: Rows, R: FloatArray, best: GridMinimum, friction: FloatArray
) -> TrajectoryFit:
    exact = np.linalg.solve(R[:2, :2], R[:2, 2])
    return TrajectoryFit(
        best.rho1,
        best.rho2,
        (float(exact[0]), float(exact[1])),
        best,
        len(rows.tau),
        _rms(rows.left(1.0, 1.0)[:, ARMS]),
        _rms(rows.left(best.rho1, best.rho2)[:, ARMS]),
        friction[0],
        friction[1],
    )


def _friction(rows: Rows, rho1: float, rho2: float, wanted: bool) -> FloatArray:
    """Viscous and Coulomb coefficients (2, dof) by least squares on what M_Id leaves."""
    left = rows.left(rho1, rho2)
    out = np.full((2, left.shape[1]), np.nan)
    if wanted:
        for axis in range(left.shape[1]):
            columns = np.stack([rows.rate[:, axis], rows.sign[:, axis]], axis=1)
            out[:, axis] = np.linalg.lstsq(columns, left[:, axis], rcond=None)[0]
    return out


def _usable_friction(
    rows: Sequence[Rows], rho1: float, rho2: float, raw: FloatArray
) -> tuple[FloatArray, list[str]]:
    """Friction (2, dof) that a robot can have, and a sentence for each value that was changed.

    A negative coefficient would feed energy in: it becomes 0, and the joint's other coefficient is
    fitted again without it.
    """
    usable, told = raw.copy(), []
    words = (("viscous friction", "N m s/rad"), ("Coulomb friction", "N m"))
    for axis in range(raw.shape[1]):
        for bad in np.flatnonzero(raw[:, axis] < 0):
            (name, unit), other = words[bad], 1 - bad
            usable[bad, axis] = 0.0
            text = f"{name} of axis {axis + 1} came out as {raw[bad, axis]:.3g} {unit}"
            text += ", which would feed energy in: the robot has 0"
            if raw[other, axis] >= 0:
                usable[other, axis] = max(_alone(rows, rho1, rho2, axis, int(other)), 0.0)
                again = f"{usable[other, axis]:.3g} {words[other][1]}"
                text += f", and its {words[other][0]}, fitted again alone, is {again}"
            told.append(text)
    return usable, told


def _alone(rows: Sequence[Rows], rho1: float, rho2: float, axis: int, term: int) -> float:
    """One friction coefficient fitted without the other, averaged over trajectories."""
    values = []
    for item in rows:
        column = (item.rate, item.sign)[term][:, axis]
        left = item.left(rho1, rho2)[:, axis]
        values.append(float(column @ left) / (float(column @ column) or 1.0))
    return float(np.mean(values))


def _model(robot: Robot, rho1: float, rho2: float, friction: FloatArray | None = None) -> Robot:
    smoothing = robot.friction.smoothing
    if friction is None:
        found = Friction(smoothing=smoothing)
    else:
        viscous, coulomb = (tuple(row.tolist()) for row in friction)
        found = Friction(viscous=viscous, coulomb=coulomb, smoothing=smoothing)
    return robot.replace(gray_box=GrayBox(rho1, rho2), friction=found)


def _grid_problem(fits: Sequence[TrajectoryFit], grid: Grid) -> str | None:
    """Why the grid is not to be trusted, in a sentence; None where it meets the closed form."""
    edge = [str(index + 1) for index, fit in enumerate(fits) if fit.grid.on_border]
    if edge:
        return (
            f"the best factors of trajectory {', '.join(edge)} lie on the border of the grid "
            f"(rho1 {grid.rho1[0]:g} to {grid.rho1[1]:g}, rho2 {grid.rho2[0]:g} to "
            f"{grid.rho2[1]:g}): give a wider one"
        )
    gaps = [fit.grid_gap for fit in fits]
    worst = int(np.argmax(gaps))
    if gaps[worst] > MEETING * grid.spacing or not all(fit.grid.converged for fit in fits):
        return (
            f"the grid of trajectory {worst + 1} ended {gaps[worst]:.2g} from its closed-form "
            "factors: the motion hardly tells rho1 from rho2"
        )
    return None


def _grid_sentence(found: Sequence[GridMinimum], grid: Grid) -> str:
    points = sum(item.evaluations for item in found)
    return f"converged: grids of {points} points, refined to a spacing of {grid.spacing:g}"


def _own_friction(robot: Robot) -> list[str]:
    empty = Friction(smoothing=robot.friction.smoothing).checked(robot.dof)
    if robot.friction == empty:
        return []
    return [f"the friction that {robot.name} had is not used"]


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
