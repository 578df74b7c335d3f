"""[gnad2024]: the map (14) from log-Cholesky parameters, and what table I implies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import regressor
from deltadyn.kinematics.spindle import spindle_of
from deltadyn.reproduce.audit.records import (
    AuditItem,
    Cost,
    ModelVariant,
    PaperAudit,
    Stage,
    costs_of,
    item_of,
    stage,
)
from deltadyn.reproduce.result import Paper
from deltadyn.robot.bodies import TenParameters

PAPER = "gnad2024"
TEN_NAMES = (
    "m",
    "m c_x",
    "m c_y",
    "m c_z",
    *(f"Theta_{pair}" for pair in ("xx", "yy", "zz", "xy", "yz", "xz")),
)
TURN_DEG = 5.0  # of a strut's frame against its principal axes, where eq. 14 is compared
RANDOM_BODIES = 1000
REGULAR_XX = Paper(PAPER).numbers["table_1"]["strut.Ixx"]["RG geom"]  # kg m^2: a tube
INNER_RADIUS = 0.008  # m, section VIII-A: the telescope's lower part is a tube


def ten_from_cholesky(parameters: FloatArray) -> FloatArray:
    """The ten parameters (10,) of log-Cholesky parameters (10,), derived from U^T U.

    U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]];
    [gnad2024] eqs. 12-13 give parameters alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3.
    """
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = parameters
    U = np.exp(alpha) * np.array(
        [
            [np.exp(d1), s12, s13, t1],
            [0.0, np.exp(d2), s23, t2],
            [0.0, 0.0, np.exp(d3), t3],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    return _ten_of(U.T @ U)


def _ten_of(M: FloatArray) -> FloatArray:
    """The ten parameters (10,) of a pseudo-inertia (4, 4)."""
    inertia = np.trace(M[:3, :3]) * np.eye(3) - M[:3, :3]
    products = (inertia[0, 1], inertia[1, 2], inertia[0, 2])
    return np.array([M[3, 3], *M[:3, 3], *np.diag(inertia), *products])


def ten_as_printed(parameters: FloatArray) -> FloatArray:
    """[gnad2024] eq. 14 as it can be read: Theta_yy has s12 for s23, Theta_zz is missing (NaN)."""
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = parameters
    e1, e2, e3 = np.exp(d1), np.exp(d2), np.exp(d3)
    entries = np.array(
        [
            t1**2 + t2**2 + t3**2 + 1,
            t1 * e1,
            t1 * s12 + t2 * e2,
            t1 * s13 + t2 * s23 + t3 * e3,
            s12**2 + s23**2 + s13**2 + e2**2 + e3**2,
            s12**2 + s13**2 + e1**2 + e3**2,
            np.nan,
            -s12 * e1,
            -s12 * s13 - s23 * e2,
            -s13 * e1,
        ]
    )
    out: FloatArray = np.exp(2 * alpha) * entries
    return out


def cholesky_from_ten(ten: TenParameters) -> FloatArray:
    """The log-Cholesky parameters (10,) of a body, [gnad2024] eq. 13."""
    U = np.linalg.cholesky(ten.pseudo_inertia()).T
    scale = U[3, 3]
    U = U / scale
    logs = np.log(np.diag(U)[:3])
    upper = (U[0, 1], U[1, 2], U[0, 2])
    return np.array([np.log(scale), *logs, *upper, *U[:3, 3]])


def turned(ten: TenParameters, angle: float) -> TenParameters:
    """The same body in a frame turned by `angle` about x and then about y (rad)."""
    c, s = np.cos(angle), np.sin(angle)
    about_x = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    R = np.eye(4)
    R[:3, :3] = about_y @ about_x
    mass, *rest = _ten_of(R @ ten.pseudo_inertia() @ R.T).tolist()
    return TenParameters(mass, tuple(rest[:3]), tuple(rest[3:]))


def audit_gnad2024() -> PaperAudit:
    """The audit of [gnad2024] on its robot, by the columns of the rigid model."""
    scenery = stage(PAPER, "abb-irb360-6-1600")
    robot, motion = scenery.robot, scenery.motion
    columns = regressor(robot, motion, "rigid", friction=False)
    full = columns.Y @ columns.parameters

    def part(changes: dict[str, float]) -> FloatArray:
        """The rigid model's torque with the named parameters changed by these amounts."""
        out: FloatArray = full.copy()
        for name, change in changes.items():
            out += columns.Y[:, :, columns.names.index(name)] * change
        return out

    values = dict(zip(columns.names, columns.parameters, strict=True))
    slim = {"strut.Ixx": REGULAR_XX - values["strut.Ixx"]}
    labels = ("arm.mcx", "upper.mcz", "lower.mcz")
    unread = {name: -float(values[name]) for name in labels}
    items = (
        _map_item(scenery, full, part),
        _gyration_item(scenery, part(slim), full),
        item_of("LABELS", costs_of(part(unread), full, scenery.exact)),
    )
    models = tuple(
        ModelVariant(PAPER, "rigid, table I", name, *costs_of(tau, full, scenery.exact))
        for name, tau in (("as printed", part(unread)), ("corrected", full))
    )
    return PaperAudit(scenery.scene, models, items)


def _map_item(
    scenery: Stage, full: FloatArray, part: Callable[[dict[str, float]], FloatArray]
) -> AuditItem:
    """Eq. 14 against the Cholesky factor, on a strut whose frame is turned against its axes."""
    strut = scenery.robot.struts[0]
    straight = strut.body(scenery.robot.geometry.strut_length[0])
    parameters = cholesky_from_ten(turned(straight, float(np.radians(TURN_DEG))))
    right, printed = ten_from_cholesky(parameters), ten_as_printed(parameters)
    wrong = wrong_entries(parameters)
    aligned = cholesky_from_ten(straight)
    reduced = np.nanmax(np.abs(ten_as_printed(aligned) - ten_from_cholesky(aligned)))
    yy = part({"strut.Iyy": float(printed[5] - right[5])})
    off = printed - right
    return item_of(
        "CHOLESKY_MAP",
        costs_of(yy, full, scenery.exact),
        [(len(wrong), 0.0), (off[5], 0.0), (100 * random_error(), 0.0), (reduced, 0.0)],
        RANDOM_BODIES=RANDOM_BODIES,
        TURN_DEG=TURN_DEG,
        wrong=wrong,
    )


def wrong_entries(parameters: FloatArray) -> list[str]:
    """Names of the entries that eq. 14 has but gives wrong."""
    right, printed = ten_from_cholesky(parameters), ten_as_printed(parameters)
    off = np.abs(printed - right) > 1e-9 * np.abs(right).max()
    return [name for name, bad in zip(TEN_NAMES, off, strict=True) if bad]


def random_error() -> float:
    """Median relative error of Theta_yy by eq. 14, for parameters drawn from N(0, 1/2)."""
    drawn = np.random.default_rng(14).normal(0.0, 0.5, (RANDOM_BODIES, 10))
    pairs = ((ten_as_printed(row)[5], ten_from_cholesky(row)[5]) for row in drawn)
    return float(np.median([abs(printed / right - 1) for printed, right in pairs]))


def _gyration_item(scenery: Stage, slim: FloatArray, full: FloatArray) -> AuditItem:
    strut = scenery.robot.struts[0]
    body = strut.body(scenery.robot.geometry.strut_length[0])
    radius = float(np.sqrt(body.inertia[0] / body.mass))
    thin = float(np.sqrt(REGULAR_XX / body.mass))
    lower = spindle_of(scenery.robot).lower.body(-1)
    tube = float(np.sqrt(lower.inertia[2] / lower.mass))
    smallest = float(np.linalg.eigvalsh(body.pseudo_inertia())[0])
    figures = [(radius, thin), (smallest, None), (tube, INNER_RADIUS)]
    return item_of("GYRATION", (Cost.of(full, slim), Cost.of(full, scenery.exact)), figures)
