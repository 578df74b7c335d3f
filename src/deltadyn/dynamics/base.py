"""Base parameters: what a motion can tell of a model's parameters, and how they are grouped.

A regressor's columns are dependent: Y = Y_1 K with the independent columns Y_1, so that torques
hold the groups K @ parameters alone. For the exact model the groups are known in symbols, from the
bodies (`base_exact`). For any other model they are found in numbers [gnad2024]: the regressor is
stacked over random states, its columns are scaled to length 1, the singular values show the rank,
and a QR decomposition with column pivoting picks the independent columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, columns
from deltadyn.dynamics.regressor import Regressor, regressor
from deltadyn.dynamics.rigid import LIMBS, has_counterweight
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import levers
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.limbs import Limbs, arm_directions, limbs, rods_of
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import WorkspaceRules, bounding_box, in_workspace
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, Platform
from deltadyn.robot.checks import ARMS

# The exact model's base parameters as groups of the robot's bodies, in symbols and as a matrix.
#
# With m the mass of a strut pair, f its COM's fraction, rho = m f l2 and Ie its transverse inertia
# about the elbow:
#
#     M_P = platform + payload + effector + lower rod + sum Ie/l2^2,      m_x = rho/l2 - Ie/l2^2
#     A   = arm about its axis + rotor + l1^2 (m - 2 rho/l2 + Ie/l2^2)
#     G   = (m c)_arm + l1 (m - rho/l2),      H = both rods of the spindle about their own joints
#
# On rails l1 = 1; the arm's part is carriage + counterweight in A, carriage - counterweight in G.
# A platform of two halves has them, bars and effector in M_P, and, with sigma_i of the half that
# limb i holds and r = 1/ratio (1 of a screw), first and second moments by psi:
#
#     S = halves' mass sigma + bars along n + sum sigma_i Ie/l2^2,      S_s = bars across n
#     I_psi = effector and payload + r^2 (halves' mass sigma^2 + bars + sum sigma_i^2 Ie/l2^2)


class Group(NamedTuple):
    """How a base parameter is made: in symbols and in words."""

    expression: str
    meaning: str


#: Symbols of the expressions, and what they stand for.
LEGEND = {
    "rho": "m, f: mass of a strut pair and its COM from elbow (0) to platform (1); rho = m f l2",
    "Ie": "Ie: the strut pair's transverse inertia about the elbow",
    "I_arm": "I_arm: the arm about its drive's axis, "
    "arm.inertia + arm.mass (arm.com^2 + arm.com_offset^2)",
    "I_ez": "I_ez: effector and payload about the axis of psi, "
    "sum of inertia_zz + mass (x^2 + y^2)",
    "sigma": "sigma_1, sigma_2: where the halves lie along the bars from the tool's axis; with a "
    "screw, how far they rise per rad of psi",
    "I_bars": "I_bars: bars and gears about the tool's axis, "
    "bar_inertia + gear_inertia + sum of mass (x^2 + y^2)",
}

_LIMB = {
    "m_x": Group("rho/l2 - Ie/l2^2", "strut mass that couples elbow and platform"),
    "A": Group(
        "I_arm + rotor + l1^2 (arm.elbow_mass + m - 2 rho/l2 + Ie/l2^2)",
        "inertia about the drive's axis: arm, rotor, the strut's share at the elbow",
    ),
    "G": Group(
        "arm.mass arm.com + l1 (arm.elbow_mass + m - rho/l2)",
        "gravity moment of the arm, with the strut's share at the elbow",
    ),
    "G_s": Group("arm.mass arm.com_offset", "gravity moment of the arm's COM off its line"),
}
_RAIL = _LIMB | {
    "A": Group(
        "carriage.mass + carriage.counterweight + rotor + m - 2 rho/l2 + Ie/l2^2",
        "mass that moves along the rail: carriage, counterweight, rotor, the strut's share",
    ),
    "G": Group(
        "carriage.mass - carriage.counterweight + m - rho/l2",
        "mass that weighs along the rail: carriage less counterweight, the strut's share",
    ),
}
_SPINDLE = {
    "H": Group(
        "upper.inertia + upper.mass upper.com^2 + lower.inertia + lower.mass lower.com^2",
        "both rods across their axis, each about its own joint",
    ),
    "kappa": Group("lower.mass lower.com", "first moment of the lower rod"),
    "mu": Group("upper.mass upper.com", "first moment of the upper rod"),
    "I_axial": Group("upper.axial_inertia + lower.axial_inertia", "both rods about their axis"),
    "h_x": Group(
        "effector.mass effector.com_x + payload.mass payload.offset_x",
        "first moment of effector and payload along x",
    ),
    "h_y": Group(
        "effector.mass effector.com_y + payload.mass payload.offset_y",
        "first moment of effector and payload along y",
    ),
    "I_psi": Group("I_ez + rotor4", "inertia about axis 4: effector, payload, rotor"),
}
_HALVES = "half_mass_1 sigma_1 + half_mass_2 sigma_2"
_SQUARES = "half_mass_1 sigma_1^2 + half_mass_2 sigma_2^2"
_SCREW = {
    "S": Group(
        f"{_HALVES} + sum of sigma_i Ie/l2^2",
        "first moment of the halves along the screw, per rad of psi, with the struts' share",
    ),
    "h_x": _SPINDLE["h_x"],
    "h_y": _SPINDLE["h_y"],
    "I_psi": Group(
        f"I_ez + {_SQUARES} + sum of sigma_i^2 Ie/l2^2",
        "inertia by psi: effector and payload about its axis, the halves along the screw",
    ),
}
_BARS = _SCREW | {
    "S": Group(
        f"{_HALVES} + bar_mass bar_x + gear_mass gear_x + sum of sigma_i Ie/l2^2",
        "first moment of halves, bars and gears along the bars, with the struts' share",
    ),
    "S_s": Group("gear_mass gear_y", "first moment of what sits on the bars across them"),
    "I_psi": Group(
        f"I_ez + ({_SQUARES} + I_bars + sum of sigma_i^2 Ie/l2^2)/ratio^2",
        "inertia by psi: effector and payload about its axis, halves and bars by their angle",
    ),
}


def exact_group(robot: Robot, name: str, tied: bool) -> Group:
    """The grouping of one base parameter; that of a limb names its limb where not tied."""
    if name == "M_P":
        lower = "" if robot.spindle is None else " + lower.mass"
        struts = f"{robot.legs} Ie/l2^2" if tied else "sum of Ie/l2^2 over the limbs"
        return Group(
            f"platform.mass + payload.mass + effector.mass{lower} + {struts}",
            "all that moves with the platform, with the struts' share",
        )
    turning = _SPINDLE
    if not isinstance(robot.platform, Platform):
        turning = _BARS if isinstance(robot.platform, ArticulatedPlatform) else _SCREW
    if name in turning:
        return turning[name]
    limb = _RAIL if robot.linear else _LIMB
    if name in limb:
        return limb[name]
    group = limb[name[:-1]]
    return Group(group.expression, f"{group.meaning}; limb {name[-1]}")


def exact_base_map(
    robot: Robot, base_names: tuple[str, ...], standard_names: tuple[str, ...], tied: bool
) -> FloatArray:
    """K (b, n): exact base parameters = K @ standard parameters of the rigid model.

    Where the bodies are thin (see `thin_bodies`), Y_exact @ K @ phi = Y_rigid @ phi. The two
    transverse inertias of struts and rods count half each. A name in both lists maps to itself.
    What `hidden` names is held by the parameters that it joins, where it has no row of its own.
    """
    K = np.zeros((len(base_names), len(standard_names)))
    row = {name: i for i, name in enumerate(base_names)}
    column = {name: j for j, name in enumerate(standard_names)}
    holders: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for item in hidden(robot, tied):
        for name, other, share in item.joins:
            holders[name].append((other, share))
    for base, standard, factor in _entries(robot, tied):
        for held_by, share in holders[base] if base not in row else [(base, 1.0)]:
            if held_by in row:
                K[row[held_by], column[standard]] += share * factor
    for name in base_names:
        if name in column:
            K[row[name], column[name]] = 1.0
    return K


def level_rails(robot: Robot) -> tuple[str, ...]:
    """G of the limbs along whose rails gravity does not act: no motion shows it."""
    if not robot.linear:
        return ()
    frames = enumerate(robot.geometry.frames, start=1)
    return tuple(f"G{i}" for i, frame in frames if frame.z[2] == 0)


class Hidden(NamedTuple):
    """Parameters of the exact model that no motion of a robot tells, and why, in a sentence.

    `joins` has the parameters that hold a hidden one, with its factor: (hidden, other, factor).
    """

    names: tuple[str, ...]
    why: str
    joins: tuple[tuple[str, str, float], ...] = ()


def hidden(robot: Robot, tied: bool) -> tuple[Hidden, ...]:
    """What the robot's own build keeps from any motion, in the regressor's own names.

    A level rail carries no weight. With ratio 1 the bars turn with the tool, so that
    h_x + S cos phi0 - S_s sin phi0 and h_y + S sin phi0 + S_s cos phi0 are all that shows. On one
    level beam with equal struts the platform stays midway, pd = (qd_1 + qd_2)/2 along the beam up
    to signs, so that A_i + m_x,i and the sum of both m_x are.
    """
    found = []
    level = level_rails(robot)
    names = (("G",) if len(level) == robot.legs else ()) if tied else level
    if names:
        told = ", ".join(names)
        found.append(
            Hidden(names, f"No motion tells {told}: on a level rail no weight hangs on the drive.")
        )
    if isinstance(robot.platform, ArticulatedPlatform) and robot.platform.ratio == 1:
        c, s = math.cos(robot.platform.phi0), math.sin(robot.platform.phi0)
        found.append(
            Hidden(
                ("S", "S_s"),
                "No motion tells S, S_s apart from h_x, h_y, which hold them: with ratio 1 the "
                "bars turn with the tool.",
                (("S", "h_x", c), ("S", "h_y", s), ("S_s", "h_x", -s), ("S_s", "h_y", c)),
            )
        )
    if not tied and _one_beam(robot):
        found.append(
            Hidden(
                ("m_x2",),
                "No motion tells m_x2 apart from m_x1, A1, A2, which hold it: on one level beam "
                "with equal struts only A1 + m_x1, A2 + m_x2 and m_x1 + m_x2 show.",
                (("m_x2", "m_x1", 1.0), ("m_x2", "A1", -1.0), ("m_x2", "A2", 1.0)),
            )
        )
    return tuple(found)


def _one_beam(robot: Robot) -> bool:
    """Whether two carriages run on one level beam, with struts of one length."""
    g = robot.geometry
    if not robot.planar or len(level_rails(robot)) < robot.legs:
        return False
    one, two = g.frames
    lengths = g.strut_length
    return one.shoulder[2] == two.shoulder[2] and lengths[0] == lengths[1]


def unseen_names(robot: Robot, tied: bool) -> tuple[str, ...]:
    """The names of `hidden`."""
    return tuple(name for item in hidden(robot, tied) for name in item.names)


def unseen_note(robot: Robot, tied: bool) -> str:
    """Sentences on what no motion of this robot tells; empty where there is nothing."""
    notes = [item.why for item in hidden(robot, tied)]
    if not robot.turns and any(robot.payload.offset):
        notes.append("No motion tells the payload's offset: nothing turns on this robot.")
    return " ".join(notes)


def thin_bodies(standard_names: tuple[str, ...]) -> FloatArray:
    """Columns (n, k): directions of the standard parameters that keep struts and rods thin.

    Arms, platform, effector, rotors and friction are free. A strut keeps m, m c_x and
    I_yy = I_zz, a rod of the spindle m, m c_z, I_xx = I_yy and I_zz.
    """
    index = {name: j for j, name in enumerate(standard_names)}
    keep: list[tuple[str, ...]] = []
    for name in standard_names:
        body, _, entry = name.partition(".")
        kind = body.rstrip(LIMBS)
        if kind == "strut":
            if entry in ("m", "mcx"):
                keep.append((name,))
            elif entry == "Iyy":
                keep.append((name, f"{body}.Izz"))
        elif kind in ("upper", "lower"):
            if entry in ("m", "mcz", "Izz"):
                keep.append((name,))
            elif entry == "Ixx":
                keep.append((name, f"{body}.Iyy"))
        else:
            keep.append((name,))
    T = np.zeros((len(standard_names), len(keep)))
    for k, group in enumerate(keep):
        T[[index[name] for name in group], k] = 1.0
    return T


def _entries(robot: Robot, tied: bool) -> Iterator[tuple[str, str, float]]:
    """Base parameter, standard parameter and factor, for every pair that is linked."""
    g, own = robot.geometry, robot.platform
    sigma, rate = _halves(robot)
    for i in range(robot.legs):
        limb = "" if tied else str(i + 1)
        l1, l2, rods = levers(robot)[i], g.strut_length[i], robot.struts[i].rods
        arm, strut = f"arm{limb}", f"strut{limb}"
        half = rods / (2 * l2**2)  # each of I_yy and I_zz is half of the transverse inertia
        for inertia in (f"{strut}.Iyy", f"{strut}.Izz"):
            yield "M_P", inertia, half
            if sigma:
                yield "S", inertia, sigma[i // 2] * half
                yield "I_psi", inertia, (rate * sigma[i // 2]) ** 2 * half
            if i and tied:
                continue  # tied limbs share all but the platform's sum
            yield f"m_x{limb}", inertia, -half
            yield f"A{limb}", inertia, half * l1**2
        if i and tied:
            continue
        yield f"m_x{limb}", f"{strut}.mcx", rods / l2
        yield f"A{limb}", f"{strut}.m", rods * l1**2
        yield f"A{limb}", f"{strut}.mcx", -2 * rods * l1**2 / l2
        yield f"A{limb}", f"rotor{limb}", 1.0
        if robot.linear:
            for base in ("A", "G"):
                yield f"{base}{limb}", f"carriage{limb}.m", 1.0
                if has_counterweight(robot):
                    yield f"{base}{limb}", f"counterweight{limb}.m", 1.0 if base == "A" else -1.0
        else:
            yield f"A{limb}", f"{arm}.Iyy", 1.0
            yield f"G{limb}", f"{arm}.mcx", 1.0
            yield f"G_s{limb}", f"{arm}.mcz", 1.0
        yield f"G{limb}", f"{strut}.m", rods * l1
        yield f"G{limb}", f"{strut}.mcx", -rods * l1 / l2
    if robot.turns:
        yield from _EFFECTOR_ENTRIES
    if not sigma:
        yield "M_P", "platform.m", 1.0
    if robot.spindle is not None:
        yield from _SPINDLE_ENTRIES
    for half_name, at in zip(("half_a", "half_b"), sigma, strict=False):
        yield "M_P", f"{half_name}.m", 1.0
        yield "S", f"{half_name}.m", at
        yield "I_psi", f"{half_name}.m", (rate * at) ** 2
    if isinstance(own, ArticulatedPlatform):
        yield "M_P", "bars.m", 1.0
        yield "S", "bars.mcx", 1.0
        yield "S_s", "bars.mcy", 1.0
        yield "I_psi", "bars.Izz", rate**2


def _halves(robot: Robot) -> tuple[tuple[float, ...], float]:
    """sigma of both halves and the rate of their motion over psi; nothing where there are none."""
    own = robot.platform
    if isinstance(own, Platform):
        return (), 0.0
    return own.sigma, 1 / own.ratio if isinstance(own, ArticulatedPlatform) else 1.0


_EFFECTOR_ENTRIES = (
    ("M_P", "effector.m", 1.0),
    ("h_x", "effector.mcx", 1.0),
    ("h_y", "effector.mcy", 1.0),
    ("I_psi", "effector.Izz", 1.0),
)
_SPINDLE_ENTRIES = (
    ("M_P", "lower.m", 1.0),
    ("H", "upper.Ixx", 0.5),
    ("H", "upper.Iyy", 0.5),
    ("H", "lower.Ixx", 0.5),
    ("H", "lower.Iyy", 0.5),
    ("kappa", "lower.mcz", -1.0),  # the lower rod's COM lies above its joint, z runs down
    ("mu", "upper.mcz", 1.0),
    ("I_axial", "upper.Izz", 1.0),
    ("I_axial", "lower.Izz", 1.0),
    ("I_psi", "rotor4", 1.0),
)


STATES = 120  # 360 or 480 rows for at most some 120 columns
NO_INFLUENCE = 1e-10  # of the longest column; rounding leaves 1e-15
NO_SHARE = 1e-9  # of a scaled column in another; rounding leaves 1e-14
ROUNDING = 1e-12  # of a sum's terms in the sum
CLEAR_GAP = 1e6  # between the last singular value that counts and the first that does not

LAST = 1e-9  # of a column that a group is not called after

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
    note: str = ""  # on parameters that no motion of this robot tells

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
        lines += [self.note] if self.note else []
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
    x = _workspace_points(robot, count, rng) if robot.legs == ARMS else _poses(robot, count, rng)
    most = 5 * (robot.gravity or 9.81)
    speed = np.sqrt(most * np.mean(robot.geometry.strut_length))
    spins = np.array([name == "psi" for name in robot.coordinates])
    turn = np.where(spins, np.sqrt(most / 0.2), speed)
    push = np.where(spins, most / 0.2, most)
    pd = rng.uniform(-turn, turn, (count, robot.dof))
    pdd = rng.uniform(-push, push, (count, robot.dof))
    return State.from_platform(robot, x, pd, pdd)


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
    """The symbolic groups; the numbers confirm that they are independent.

    Where the robot's build lets some of them show in sums alone, the numbers give these sums.
    """
    numbers = _numerical("exact", found, unseen_names(robot, tied))
    unseen = tuple(name for name in numbers.no_influence if name in found.names)
    one = State.from_platform(robot, state.p[:1])
    standard = regressor(robot, one, "rigid", tied=tied, friction=friction).names
    matrix = numbers.matrix @ exact_base_map(robot, found.names, standard, tied)
    parameters = []
    for item, row in zip(numbers.parameters, numbers.matrix, strict=True):
        expression, words = _group(robot, item.name, tied)
        if np.count_nonzero(row) > 1:
            expression = item.expression  # a sum of base parameters
        parameters.append(replace(item, expression=expression, meaning=words))
    unused = tuple(standard[j] for j in np.flatnonzero(~matrix.any(axis=0)))
    return replace(
        numbers,
        parameters=tuple(parameters),
        no_influence=(*unseen, *unused),
        standard=standard,
        matrix=matrix,
        note=unseen_note(robot, tied),
    )


def _group(robot: Robot, name: str, tied: bool) -> tuple[str, str]:
    """Expression and meaning of an inertial parameter; friction is its own group."""
    try:
        return exact_group(robot, name, tied)
    except KeyError:
        return name, "friction"


def _numerical(model: str, found: Regressor, last: tuple[str, ...] = ()) -> BaseParameters:
    """Groups by QR with column pivoting: Y_dependent = Y_independent R_1^-1 R_2.

    Pivoting comes to the columns `last` at the end.
    """
    from scipy.linalg import qr, solve_triangular  # takes longer than the rest of the import

    Y, names = found.stacked(), found.names
    length = np.linalg.norm(Y, axis=0)
    alive = np.flatnonzero(length > NO_INFLUENCE * length.max())
    _, unit = np.linalg.qr(Y[:, alive] / length[alive])  # the same columns in fewer rows
    rank, singular, gap = numerical_rank(unit)
    preference = np.array([_preference(names[j]) for j in alive])
    preference[[names[j] in last for j in alive]] *= LAST
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


def _poses(robot: Robot, count: int, rng: np.random.Generator) -> FloatArray:
    """Poses (count, dof) of two or four limbs on the home pose's side of singular ones.

    |det S| is at least a share of the home pose's, no strut is near a right angle to its elbow's
    way, and the tool turns by half a turn, or as the bars do.
    """
    legs, low_high = limbs(robot), bounding_box(robot)
    spin = np.pi
    if isinstance(robot.platform, ArticulatedPlatform):
        spin = min(spin, abs(robot.platform.ratio))
    corners = {name: (low_high[0][k], low_high[1][k]) for k, name in enumerate("xyz")}
    corners["psi"] = (-spin, spin)
    low, high = zip(*(corners[name] for name in robot.coordinates), strict=True)
    home = _openness(legs, home_pose(robot)[None])[0][0]
    kept = np.empty((0, robot.dof))
    for margin in (0.3, 0.1, 0.02):
        for _ in range(20):
            x = rng.uniform(low, high, (10 * count, robot.dof))
            open_, bend = _openness(legs, x)
            kept = np.concatenate([kept, x[(open_ / home > margin) & (bend > margin)]])
            if len(kept) >= count:
                return kept[:count]
    raise InputError("workspace", "empty", "a robot whose limbs reach poses beside its home pose")


def _openness(legs: Limbs, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """det S (N,) at poses (N, dof), and the least |d| of a limb over its lever and strut."""
    with np.errstate(invalid="ignore", divide="ignore"):
        c, s = arm_directions(np, legs, columns(x))
        rods = rods_of(np, legs, c, s, columns(x))
        bends = [
            np.abs(rod.d) / (limb.lever * limb.l2)
            for limb, rod in zip(legs, rods.local, strict=True)
        ]
        return np.asarray(rods.inverse.determinant), np.min(bends, axis=0)


def _workspace_points(robot: Robot, count: int, rng: np.random.Generator) -> FloatArray:
    """Poses (count, dof) of the workspace, as far from singular ones as it allows."""
    low, high = bounding_box(robot)
    for margin in (0.3, 0.1, 0.0):
        rules = WorkspaceRules(singularity=margin)
        kept = np.empty((0, 3))
        for _ in range(20):
            points = rng.uniform(low, high, (10 * count, 3))
            pose = np.column_stack([points, np.zeros(len(points))])[:, : robot.dof]
            kept = np.concatenate([kept, points[in_workspace(robot, pose, rules)]])
            if len(kept) >= count:
                psi = rng.uniform(-np.pi, np.pi, (count, robot.dof - 3))
                return np.column_stack([kept[:count], psi])
    raise InputError(
        "workspace",
        "empty",
        "a robot that reaches points below its base; `deltadyn check` says why it does not",
    )


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
