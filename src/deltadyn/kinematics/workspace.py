"""The workspace: its boundary, volume, largest cylinder, and a grid of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, Component, FloatArray, as_samples, chunks, columns, contract
from deltadyn.errors import InputError
from deltadyn.kinematics.inverse import Elbows, elbow_signs
from deltadyn.kinematics.limbs import arm_directions, coordinates_of, limbs
from deltadyn.kinematics.platform import telescope
from deltadyn.kinematics.singularity import strut_planes, unit_struts
from deltadyn.kinematics.struts import arm_axes, attachments_of, rail_ends
from deltadyn.robot import Robot
from deltadyn.robot.settings import Workspace
from deltadyn.small import dot

# The rules that bound a workspace, and which of them a point breaks.


#: What a point can break, in the order of the columns of `broken_rules`.
RULES = ("loop", "angles", "ball_joints", "stroke", "singularity")

REASONS = {
    "loop": "a limb is too short or too long for it",
    "angles": "an arm passes its angle limit",
    "ball_joints": "a ball joint passes its angle limit",
    "stroke": "the telescope passes its stroke",
    "singularity": "it is closer to a singular pose than the margin, or beyond one",
}


@dataclass(frozen=True)
class WorkspaceRules:
    """Which limits bound the workspace; the loop must close in any case.

    A limit that the robot does not name bounds nothing. `singularity` is the least margin in rad
    (see `Singularity.margin`) to the poses where the struts lie in one plane and to those where an
    arm and its strut do; it also keeps the platform on its own side of the former, below the
    elbows, because no motion leads through them. None drops both.
    """

    angles: bool = True
    ball_joints: bool = True
    stroke: bool = True
    singularity: float | None = 0.0
    elbows: Elbows = "out"

    def __post_init__(self) -> None:
        elbow_signs(self.elbows)
        margin = self.singularity
        if margin is not None and not 0 <= margin < math.pi / 2:
            raise InputError("singularity margin", margin, "from 0 to below pi/2 rad, or None")


def in_workspace(robot: Robot, p: npt.ArrayLike, rules: WorkspaceRules | None = None) -> BoolArray:
    """Mask (N,) of the positions p (N, dof) that keep all rules; psi is not looked at."""
    points, single = as_samples(p, robot.dof, "p", allow_nan=True)
    mask = np.asarray(~broken_rules(robot, points, rules or WorkspaceRules()).any(axis=1))
    return mask[0] if single else mask


def broken_rules(robot: Robot, points: FloatArray, rules: WorkspaceRules) -> BoolArray:
    """Which of `RULES` each point (N, >= 3) breaks, as (N, 5); a point out of reach breaks all
    that its pose would decide.
    """
    kept = np.ones((points.shape[0], len(RULES)), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(points.shape[0]):
            p = columns(points[part, :3])
            for column, mask in enumerate(_kept(robot, rules, p)):
                if mask is not None:
                    kept[part, column] = mask
    return ~kept


def assembly_sign(robot: Robot) -> float:
    """Sign of det(u_1, u_2, u_3) where the platform hangs below the elbows.

    With n the normal of the elbows' triangle, det has the sign of s_1 . n, and n points up where
    the azimuths run anticlockwise.
    """
    a, b, c = robot.geometry.azimuth
    return -math.copysign(1.0, math.sin(b - a) + math.sin(c - b) + math.sin(a - c))


def _kept(
    robot: Robot, rules: WorkspaceRules, p: tuple[Component, ...]
) -> tuple[BoolArray | None, ...]:
    """One mask per rule, in the order of `RULES`; None where it bounds nothing."""
    robot.needs_three_limbs("the workspace")
    three, modes = limbs(robot), elbow_signs(rules.elbows)
    c, s = arm_directions(np, three, p, modes)
    first, second, third = (limb.strut(c[i], s[i], p) for i, limb in enumerate(three))
    rods = (first, second, third)
    loop: BoolArray = np.isfinite(c[0] + c[1] + c[2])
    angles = ball_joints = stroke = singularity = None
    low, high = robot.limits.angle_min, robot.limits.angle_max
    if rules.angles and (low is not None or high is not None):
        theta = coordinates_of(np, three, c, s)
        angles = loop.copy()
        for i in range(3):
            angles &= theta[i] >= (-np.inf if low is None else low[i])
            angles &= theta[i] <= (np.inf if high is None else high[i])
    limit = robot.limits.ball_joint_angle
    if rules.ball_joints and limit is not None and limit < math.pi / 2:
        ball_joints = loop.copy()
        for limb, rod, pin in zip(three, rods, arm_axes(robot)[1], strict=True):
            sideways = dot(limb.in_base(rod), pin)
            ball_joints &= np.abs(sideways) <= limb.l2 * math.sin(limit)
    if rules.stroke and robot.spindle is not None and robot.spindle.stroke is not None:
        l = telescope(np, robot.spindle.pivot_z, p).l
        shortest, longest = robot.spindle.stroke
        stroke = (l >= shortest) & (l <= longest)
    if rules.singularity is not None:
        least = math.sin(rules.singularity)
        determinant, squares = strut_planes(unit_struts(three, rods))
        own = determinant * assembly_sign(robot)
        widest = np.maximum(np.maximum(squares[0], squares[1]), squares[2])
        singularity = (own > 0) & (own * own >= least * least * widest)
        for limb, rod in zip(three, rods, strict=True):
            singularity &= np.abs(rod.d) >= least * limb.lever * limb.l2
    return loop, angles, ball_joints, stroke, singularity


MARCH_STEPS = 96  # from the axis to the farthest radius; a gap thinner than a step is not seen
BISECTIONS = 30  # of one step: 2e-11 m on a robot of a metre
AXIS_SAMPLES = 512
SINGULARITY_MARGIN = 0.2  # rad, of the cylinder that is taken where a robot names none

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WorkspaceBoundary:
    """The part of the workspace joined to the robot's axis, as radius over height and azimuth.

    At each height the boundary is the first point at which a ray from the axis leaves the
    workspace: what lies behind a gap is not part of it. Heights run from the lowest to the highest
    point of the axis inside the workspace, its longest stretch below the base plane. Without such
    a point the arrays are empty, and `status` says so.
    """

    heights: FloatArray  # (H,), m, increasing
    azimuths: FloatArray  # (A,), rad, equally spaced over a full turn
    radius: FloatArray  # (H, A), m
    status: str

    @cached_property
    def vertices(self) -> FloatArray:
        """Points (H A + 2, 3) of the surface in m, ring by ring; the last two are on the axis."""
        if not self.heights.size:
            return np.empty((0, 3))
        z = np.broadcast_to(self.heights[:, None], self.radius.shape)
        x, y = self.radius * np.cos(self.azimuths), self.radius * np.sin(self.azimuths)
        ends = [[0.0, 0.0, self.heights[0]], [0.0, 0.0, self.heights[-1]]]
        return np.concatenate([np.stack([x, y, z], axis=-1).reshape(-1, 3), ends])

    @cached_property
    def faces(self) -> IntArray:
        """Triangles (F, 3) of vertices: a closed surface, anticlockwise seen from outside."""
        rings, count = self.radius.shape
        if not rings:
            return np.empty((0, 3), dtype=np.int64)
        here = np.arange(count)
        there = (here + 1) % count
        bottom, top = np.full(count, rings * count), np.full(count, rings * count + 1)
        last = (rings - 1) * count
        caps = [
            np.stack([bottom, there, here], axis=-1),
            np.stack([top, last + here, last + there], axis=-1),
        ]
        return np.concatenate([ring_faces(rings, count), *caps])

    @property
    def volume(self) -> float:
        """Volume of the mesh (m^3): the sum of a.(b x c) / 6 over its triangles."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(contract("nk,nk->n", a, np.cross(b, c)).sum() / 6)

    @property
    def quadrature_volume(self) -> float:
        """Volume (m^3) as the integral of radius^2 / 2 over azimuth and height, trapezoidal."""
        if not self.heights.size:
            return 0.0
        area = np.pi * (self.radius**2).mean(axis=1)
        return float(np.trapezoid(area, self.heights))

    def largest_cylinder(self) -> Workspace | None:
        """The vertical cylinder about the axis with the largest volume, None where there is none.

        Exact over the sampled heights and azimuths: every pair of heights is tried with the
        smallest radius between them.
        """
        count = self.heights.size
        if not count:
            return None
        least = self.radius.min(axis=1)  # (H,)
        beyond = np.arange(count) >= np.arange(count)[:, None]
        between = np.minimum.accumulate(np.where(beyond, least, np.inf), axis=1)  # [low, high]
        height = self.heights - self.heights[:, None]
        volume = np.where(beyond & (height > 0), between, 0.0) ** 2 * np.maximum(height, 0.0)
        low, high = (int(i) for i in np.unravel_index(int(volume.argmax()), volume.shape))
        if not volume[low, high] > 0:
            return None
        ends = float(self.heights[low]), float(self.heights[high])
        return Workspace(float(between[low, high]), *ends)


def ring_faces(rings: int, count: int) -> IntArray:
    """Triangles (2 (rings - 1) count, 3) between closed rings of `count` vertices each."""
    here = np.arange(count)
    there = (here + 1) % count
    low = (np.arange(rings - 1) * count)[:, None]
    a, b, c, d = low + here, low + there, low + count + there, low + count + here
    return np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)


def workspace(
    robot: Robot,
    *,
    rules: WorkspaceRules | None = None,
    heights: int = 121,
    azimuths: int = 180,
) -> WorkspaceBoundary:
    """The boundary of the workspace, by marching outward from the axis and bisection.

    Every sampled radius keeps the rules and is within 1e-9 m of one that breaks them.
    """
    _check_count("heights", heights, 2)
    _check_count("azimuths", azimuths, 3)
    rules = rules or WorkspaceRules()
    around = np.linspace(0.0, 2 * np.pi, azimuths, endpoint=False)
    ends = _axis_ends(robot, rules)
    if ends is None:
        reason = "no point of the axis below the base plane keeps the rules"
        return WorkspaceBoundary(np.empty(0), around, np.empty((0, azimuths)), reason)
    z = np.linspace(*ends, heights)
    direction = np.stack([np.cos(around), np.sin(around), np.zeros(azimuths)], axis=-1)
    rays = np.tile(direction, (heights, 1))  # (H A, 3)
    start = np.zeros_like(rays)
    start[:, 2] = np.repeat(z, azimuths)
    radius = leaving(robot, rules, start, rays)
    return WorkspaceBoundary(z, around, radius.reshape(heights, azimuths), "found")


@dataclass(frozen=True, eq=False)
class WorkspaceGrid:
    """Which points of a cubic grid below the base plane keep the rules, joined or not."""

    x: FloatArray  # (X,), m
    y: FloatArray  # (Y,)
    z: FloatArray  # (Z,)
    inside: BoolArray  # (X, Y, Z)
    spacing: float  # m

    @property
    def volume(self) -> float:
        """Volume (m^3) of the cubes around the points inside."""
        return float(self.inside.sum()) * self.spacing**3


def working_cylinder(robot: Robot) -> Workspace:
    """The robot's limits.workspace, or else the largest cylinder inside its workspace.

    The latter keeps `SINGULARITY_MARGIN` from singular poses.
    """
    if robot.limits.workspace is not None:
        return robot.limits.workspace
    rules = WorkspaceRules(singularity=SINGULARITY_MARGIN)
    largest = workspace(robot, rules=rules).largest_cylinder()
    if largest is None:
        raise InputError(
            "workspace",
            "empty",
            "a robot that reaches points below its base; `deltadyn check` says why it does not",
        )
    return largest


def workspace_grid(
    robot: Robot, spacing: float, *, rules: WorkspaceRules | None = None
) -> WorkspaceGrid:
    """A boolean grid of the workspace with this spacing (m); it passes through the axis."""
    if not (math.isfinite(spacing) and spacing > 0):
        raise InputError("spacing", spacing, "above 0 m")
    low, high = bounding_box(robot)
    axes = [
        np.arange(math.floor(a / spacing), math.ceil(b / spacing) + 1) * spacing
        for a, b in zip(low, high, strict=True)
    ]
    axes[2] = axes[2][axes[2] <= 0]
    x, y, z = axes
    inside = np.empty((x.size, y.size, z.size), dtype=bool)
    plane = np.empty((y.size * z.size, 3))  # plane by plane: a fine grid need not fit in memory
    plane[:, 1], plane[:, 2] = np.repeat(y, z.size), np.tile(z, y.size)
    for i, depth in enumerate(x):
        plane[:, 0] = depth
        broken = broken_rules(robot, plane, rules or WorkspaceRules()).any(axis=1)
        inside[i] = ~broken.reshape(y.size, z.size)
    return WorkspaceGrid(x, y, z, inside, float(spacing))


@dataclass(frozen=True)
class CylinderCheck:
    """Whether a cylinder lies inside the workspace, and where and why not."""

    inside: bool
    point: tuple[float, float, float] | None  # m, of the first sample outside
    status: str


def cylinder_inside(
    robot: Robot,
    cylinder: Workspace | None = None,
    *,
    rules: WorkspaceRules | None = None,
    samples: int = 25,
) -> CylinderCheck:
    """Whether a cylinder (by default the robot's limits.workspace) lies inside the workspace.

    The whole cylinder is sampled: `samples` heights by `samples` radii, rim and ends included, by
    three times as many azimuths.
    """
    cylinder = cylinder or robot.limits.workspace
    if cylinder is None:
        raise InputError("cylinder", None, "a cylinder, or a robot with limits.workspace")
    _check_count("samples", samples, 2)
    around = np.arange(3 * samples) * (2 * np.pi / (3 * samples))
    radius, phi, z = np.meshgrid(
        np.linspace(0.0, cylinder.radius, samples),
        around,
        np.linspace(cylinder.z_min, cylinder.z_max, samples),
        indexing="ij",
    )
    points = np.stack([radius * np.cos(phi), radius * np.sin(phi), z], axis=-1).reshape(-1, 3)
    broken = broken_rules(robot, points, rules or WorkspaceRules())
    outside = np.flatnonzero(broken.any(axis=1))
    if not outside.size:
        return CylinderCheck(True, None, "every sample of the cylinder keeps the rules")
    px, py, pz = (float(value) for value in points[outside[0]])
    reason = REASONS[RULES[int(broken[outside[0]].argmax())]]
    text = f"at ({px:.4g}, {py:.4g}, {pz:.4g}) m {reason}"
    return CylinderCheck(False, (px, py, pz), text)


def bounding_box(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest x, y, z (m) of what is within reach of all three shrunk shoulders.

    An arm reaches l1 + l2 from its shoulder; a carriage l2 from its way along the rail, which ends
    where `rail_ends` says.
    """
    g = robot.geometry
    starts = np.array([frame.shoulder for frame in g.frames])
    reach = np.asarray(g.strut_length)[:, None]
    if not robot.linear:
        reach = reach + np.asarray(robot.rotary.arm_length)[:, None]
        return (starts - reach).max(axis=0), (starts + reach).min(axis=0)
    ends = [end - attachments_of(robot) for end in rail_ends(robot)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    return (low - reach).max(axis=0), (high + reach).min(axis=0)


def _axis_ends(robot: Robot, rules: WorkspaceRules) -> tuple[float, float] | None:
    """Lowest and highest z of the longest stretch of the axis inside; of arms below the base."""
    lowest, highest = (float(corner[2]) for corner in bounding_box(robot))
    top = highest if robot.linear else 0.0
    z = np.linspace(lowest, top, AXIS_SAMPLES)
    points = np.zeros((AXIS_SAMPLES, 3))
    points[:, 2] = z
    inside = ~broken_rules(robot, points, rules).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    if not edges.size:
        return None
    starts, stops = edges[::2], edges[1::2] - 1
    longest = int((stops - starts).argmax())
    first, last = int(starts[longest]), int(stops[longest])
    step = float(z[1] - z[0])
    outward = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    reach = _bisect(robot, rules, points[[first, last]], outward, np.zeros(2), np.full(2, step))
    low, high = float(z[first] - reach[0]), float(min(z[last] + reach[1], top))
    return (low, high) if low < high else None


def leaving(
    robot: Robot,
    rules: WorkspaceRules,
    start: FloatArray,
    rays: FloatArray,
    steps: int = MARCH_STEPS,
) -> FloatArray:
    """Distance (N,) at which rays (N, 3) from points (N, 3) inside first leave the workspace, in m.

    They go on in steps of the farthest radius over `steps`, then the last step is bisected.
    """
    step = float(np.abs(bounding_box(robot)).max()) * math.sqrt(2) / steps
    inside = np.zeros(len(start))
    active = np.arange(len(start))
    while active.size:
        ahead = inside[active] + step
        points = start[active] + ahead[:, None] * rays[active]
        active = active[~broken_rules(robot, points, rules).any(axis=1)]
        inside[active] += step
    return _bisect(robot, rules, start, rays, inside, inside + step)


def _bisect(
    robot: Robot,
    rules: WorkspaceRules,
    start: FloatArray,
    rays: FloatArray,
    inside: FloatArray,
    outside: FloatArray,
) -> FloatArray:
    """The last distance (N,) found inside, between one inside and one outside."""
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        broken = broken_rules(robot, start + middle[:, None] * rays, rules).any(axis=1)
        inside, outside = np.where(broken, inside, middle), np.where(broken, middle, outside)
    return inside


def _check_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(name, value, f"a whole number of at least {least}")
