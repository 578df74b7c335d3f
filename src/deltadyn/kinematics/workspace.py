"""The workspace: its boundary, volume, largest cylinder, a grid of it, and the range of psi.

In a plane the boundary has two sides, the volume is an area and a cylinder is the rectangle
|x| <= radius. Where limbs carry psi (Par4, Heli4) the workspace is that of one angle of the tool,
`WorkspaceRules.psi`, and `psi_range` tells how far the tool turns at a position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, Component, FloatArray, as_samples, chunks, columns, contract
from deltadyn.errors import InputError
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.inverse import Elbows, elbow_signs
from deltadyn.kinematics.limbs import arm_directions, coordinates_of, limbs, rods_of
from deltadyn.kinematics.platform import Articulated, Helical, telescope
from deltadyn.kinematics.singularity import strut_planes, unit_struts
from deltadyn.kinematics.struts import arm_axes, attachments_of, rail_ends
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
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
    arm and its strut do; it also keeps the platform on its own side of the former (see
    `assembly_sign`), because no motion leads through them. None drops both. `psi` is the angle of
    the tool (rad) at positions that come without one, where limbs carry it.
    """

    angles: bool = True
    ball_joints: bool = True
    stroke: bool = True
    singularity: float | None = 0.0
    elbows: Elbows = "out"
    psi: float = 0.0

    def __post_init__(self) -> None:
        several = isinstance(self.elbows, list | tuple)
        elbow_signs(self.elbows, len(self.elbows) if several else 3)  # whether they suit: later
        if not math.isfinite(self.psi):
            raise InputError("psi", self.psi, "a finite angle in rad")
        margin = self.singularity
        if margin is not None and not 0 <= margin < math.pi / 2:
            raise InputError("singularity margin", margin, "from 0 to below pi/2 rad, or None")


def in_workspace(robot: Robot, p: npt.ArrayLike, rules: WorkspaceRules | None = None) -> BoolArray:
    """Mask (N,) of the poses p (N, dof) that keep all rules.

    psi counts where limbs carry it; one that a drive turns by itself is not looked at.
    """
    points, single = as_samples(p, robot.dof, "p", allow_nan=True, coordinates=robot.coordinates)
    mask = np.asarray(~broken_rules(robot, points, rules or WorkspaceRules()).any(axis=1))
    return mask[0] if single else mask


def broken_rules(robot: Robot, points: FloatArray, rules: WorkspaceRules) -> BoolArray:
    """Which of `RULES` each point breaks, as (N, 5); one out of reach breaks all that its pose
    would decide.

    Points are poses (N, dof), or positions in space (N, 3), whose psi is that of the rules; off the
    plane of a planar robot the loop does not close.
    """
    kept = np.ones((points.shape[0], len(RULES)), dtype=bool)
    poses, on_plane = _poses(robot, points, rules.psi)
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(points.shape[0]):
            for column, mask in enumerate(_kept(robot, rules, columns(poses[part]))):
                if mask is not None:
                    kept[part, column] = mask
    if on_plane is not None:
        kept &= on_plane[:, None]
    return ~kept


def _poses(
    robot: Robot, points: FloatArray, psi: float
) -> tuple[FloatArray, npt.NDArray[np.bool_] | None]:
    """Coordinates of poses or of positions in space, and which of these are on a robot's plane."""
    if points.shape[1] == robot.dof:
        return points, None
    if robot.planar:
        return points[:, [0, 2]], np.abs(points[:, 1]) <= OFF_PLANE
    return np.column_stack([points, np.full(len(points), psi)]), None


def assembly_sign(robot: Robot, elbows: Elbows = "out") -> float:
    """Sign of det S in the assembly that the robot works in; 0 where no pose tells it.

    Two or three arms: the platform hangs below the elbows. With n the normal of the elbows'
    triangle, det(u_1, u_2, u_3) has the sign of s_1 . n, and n points up where the azimuths run
    anticlockwise; in a plane det(u_1, u_2) > 0 with limb 1 on the right. Two or three rails: the
    same where a pose of the axis has that sign; parallel rails need not have one. Four limbs: the
    sign at the home pose, which any motion keeps. `elbows` as in `inverse_kinematics`.
    """
    return _assembly_sign(robot, elbow_signs(elbows, robot.legs))


@remembered
def _assembly_sign(robot: Robot, modes: tuple[int, ...]) -> float:
    if robot.legs == 4:
        return _signs(robot, modes, _home(robot))[0]
    hangs = _hanging_sign(robot)
    if not robot.linear:
        return hangs
    low, high = (float(corner[2]) for corner in bounding_box(robot))
    axis = np.zeros((AXIS_SAMPLES, 3))
    axis[:, 2] = np.linspace(low, high, AXIS_SAMPLES)
    found = _signs(robot, modes, _home(robot) if robot.limits.workspace else axis)
    return hangs if hangs in found or -hangs not in found else -hangs


def _hanging_sign(robot: Robot) -> float:
    """Sign of det S of two or three struts where the platform hangs below the elbows."""
    if robot.planar:
        first, second = robot.geometry.azimuth
        return math.copysign(1.0, math.cos(first) - math.cos(second))
    a, b, c = robot.geometry.azimuth
    return -math.copysign(1.0, math.sin(b - a) + math.sin(c - b) + math.sin(a - c))


def _home(robot: Robot) -> FloatArray:
    """The home pose (1, dof), NaN where the limbs meet at no point of the axis."""
    try:
        return home_pose(robot)[None]
    except InputError:
        return np.full((1, robot.dof), np.nan)


def _signs(robot: Robot, modes: tuple[int, ...], poses: FloatArray) -> list[float]:
    """Sign of det S at each pose; 0 where the limbs do not reach it."""
    legs, x = limbs(robot), columns(_poses(robot, poses, 0.0)[0])
    with np.errstate(invalid="ignore", divide="ignore"):
        c, s = arm_directions(np, legs, x, modes)
        determinant = np.asarray(rods_of(np, legs, c, s, x).inverse.determinant)
    signs: list[float] = np.nan_to_num(np.sign(determinant)).tolist()
    return signs


def _kept(
    robot: Robot, rules: WorkspaceRules, x: tuple[Component, ...]
) -> tuple[BoolArray | None, ...]:
    """One mask per rule, in the order of `RULES`; None where it bounds nothing."""
    legs, modes = limbs(robot), elbow_signs(rules.elbows, robot.legs)
    own = legs.carrier
    place = own.place(np, x)
    c, s = arm_directions(np, legs, x, modes)
    rods = [limb.strut(c[i], s[i], own.attachment(place, i, x)) for i, limb in enumerate(legs)]
    loop: BoolArray = np.isfinite(sum(c))
    angles = ball_joints = stroke = singularity = None
    low, high = robot.limits.angle_min, robot.limits.angle_max
    if rules.angles and (low is not None or high is not None):
        theta = coordinates_of(np, legs, c, s)
        angles = loop.copy()
        for i in range(robot.legs):
            angles &= theta[i] >= (-np.inf if low is None else low[i])
            angles &= theta[i] <= (np.inf if high is None else high[i])
    limit = robot.limits.ball_joint_angle
    if rules.ball_joints and limit is not None and limit < math.pi / 2:
        ball_joints = loop.copy()
        for limb, rod, pin in zip(legs, rods, arm_axes(robot)[1], strict=True):
            sideways = dot(limb.in_base(rod), pin)
            ball_joints &= np.abs(sideways) <= limb.l2 * math.sin(limit)
    if rules.stroke and robot.spindle is not None and robot.spindle.stroke is not None:
        l = telescope(np, robot.spindle.pivot_z, x).l
        shortest, longest = robot.spindle.stroke
        stroke = (l >= shortest) & (l <= longest)
    if rules.singularity is not None:
        least = math.sin(rules.singularity)
        determinant, squares = strut_planes(own, place, unit_struts(legs, rods))
        along = determinant * _assembly_sign(robot, modes)
        widest = squares[0]
        for square in squares[1:]:
            widest = np.maximum(widest, square)
        singularity = (along > 0) & (along * along >= least * least * widest)
        for limb, rod in zip(legs, rods, strict=True):
            singularity &= np.abs(rod.d) >= least * limb.lever * limb.l2
    return loop, angles, ball_joints, stroke, singularity


MARCH_STEPS = 96  # from the axis to the farthest radius; a gap thinner than a step is not seen
BISECTIONS = 30  # of one step: 2e-11 m on a robot of a metre
AXIS_SAMPLES = 512
OFF_PLANE = 1e-9  # m: a position farther from y = 0 is not on a planar robot's plane
BARS_STEP = 0.05  # rad of the bars: a gap in the range of psi thinner than a step is not seen
SINGULARITY_MARGIN = 0.2  # rad, of the cylinder that is taken where a robot names none

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WorkspaceBoundary:
    """The part of the workspace joined to the robot's axis, as radius over height and azimuth.

    At each height the boundary is the first point at which a ray from the axis leaves the
    workspace: what lies behind a gap is not part of it. Heights run from the lowest to the highest
    point of the axis inside the workspace, its longest stretch below the base plane. Without such
    a point the arrays are empty, and `status` says so. In a plane the azimuths are 0 and pi.
    """

    heights: FloatArray  # (H,), m, increasing
    azimuths: FloatArray  # (A,), rad, equally spaced over a full turn
    radius: FloatArray  # (H, A), m
    status: str

    @property
    def planar(self) -> bool:
        """Whether it is the boundary in a plane, with two sides."""
        return self.azimuths.size == 2

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
        """Triangles (F, 3) of vertices: a closed surface, anticlockwise seen from outside; in a
        plane the sheet between both sides.
        """
        rings, count = self.radius.shape
        if not rings:
            return np.empty((0, 3), dtype=np.int64)
        if self.planar:
            low = 2 * np.arange(rings - 1)
            sheet = [[low, low + 2, low + 3], [low, low + 3, low + 1]]
            return np.concatenate([np.stack(corners, axis=-1) for corners in sheet])
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
        """Volume of the mesh (m^3): the sum of a.(b x c) / 6 over its triangles; 0 in a plane."""
        if self.planar:
            return 0.0
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(contract("nk,nk->n", a, np.cross(b, c)).sum() / 6)

    @property
    def quadrature_volume(self) -> float:
        """Volume (m^3) as the integral of radius^2 / 2 over azimuth and height, trapezoidal."""
        if not self.heights.size or self.planar:
            return 0.0
        area = np.pi * (self.radius**2).mean(axis=1)
        return float(np.trapezoid(area, self.heights))

    @property
    def area(self) -> float:
        """Area (m^2) of the section by the plane y = 0; all of the workspace in a plane."""
        if not self.heights.size:
            return 0.0
        turn = np.append(self.azimuths, 2 * np.pi)
        around = np.column_stack([self.radius, self.radius[:, 0]])
        width = [np.interp(0.0, turn, row) + np.interp(np.pi, turn, row) for row in around]
        return float(np.trapezoid(width, self.heights))

    def largest_cylinder(self) -> Workspace | None:
        """The vertical cylinder about the axis with the largest volume, None where there is none.

        Exact over the sampled heights and azimuths: every pair of heights is tried with the
        smallest radius between them. In a plane it is the rectangle with the largest area.
        """
        count = self.heights.size
        if not count:
            return None
        least = self.radius.min(axis=1)  # (H,)
        beyond = np.arange(count) >= np.arange(count)[:, None]
        between = np.minimum.accumulate(np.where(beyond, least, np.inf), axis=1)  # [low, high]
        height = self.heights - self.heights[:, None]
        size = np.where(beyond & (height > 0), between, 0.0) ** (1 if self.planar else 2)
        volume = size * np.maximum(height, 0.0)
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

    Every sampled radius keeps the rules and is within 1e-9 m of one that breaks them. In a plane
    the azimuths are 0 and pi, whatever their number.
    """
    _check_count("heights", heights, 2)
    _check_count("azimuths", azimuths, 3)
    rules = rules or WorkspaceRules()
    azimuths = 2 if robot.planar else azimuths
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
    """Which points of a cubic grid keep the rules, joined or not; with arms below the base plane.

    In a plane y is 0 alone.
    """

    x: FloatArray  # (X,), m
    y: FloatArray  # (Y,)
    z: FloatArray  # (Z,)
    inside: BoolArray  # (X, Y, Z)
    spacing: float  # m

    @property
    def volume(self) -> float:
        """Volume (m^3) of the cubes around the points inside; 0 in a plane."""
        return float(self.inside.sum()) * self.spacing**3 if self.y.size > 1 else 0.0

    @property
    def area(self) -> float:
        """Area (m^2) of the squares around the points inside in the plane y = 0."""
        return float(self.inside[:, self.y == 0].sum()) * self.spacing**2


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
    if not robot.linear:
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
    three times as many azimuths, or in a plane by both sides.
    """
    cylinder = cylinder or robot.limits.workspace
    if cylinder is None:
        raise InputError("cylinder", None, "a cylinder, or a robot with limits.workspace")
    _check_count("samples", samples, 2)
    around = np.arange(3 * samples) * (2 * np.pi / (3 * samples))
    if robot.planar:
        around = np.array([0.0, np.pi])
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
    """Lowest and highest x, y, z (m) of what is within reach of all shrunk shoulders.

    An arm reaches l1 + l2 from its shoulder; a carriage l2 from its way along the rail, which ends
    where `rail_ends` says. Halves of a platform stand off its point: by their part of the bars, or
    of a turn of the screw to both sides. In a plane y is 0.
    """
    g = robot.geometry
    starts = np.array([frame.shoulder for frame in g.frames])
    reach = np.asarray(g.strut_length)[:, None] + _half_offset(robot)
    if robot.linear:
        ends = [end - attachments_of(robot) for end in rail_ends(robot)]
        first, last = np.minimum(*ends), np.maximum(*ends)
    else:
        reach = reach + np.asarray(robot.rotary.arm_length)[:, None]
        first = last = starts
    low, high = (first - reach).max(axis=0), (last + reach).min(axis=0)
    if robot.planar:
        low[1] = high[1] = 0.0
    return low, high


def _half_offset(robot: Robot) -> FloatArray:
    """How far (legs, 3) the attachments may stand off the platform's point along x, y and z (m)."""
    own, off = limbs(robot).carrier, np.zeros((robot.legs, 3))
    if isinstance(own, Articulated):
        off[:2, :2], off[2:, :2] = abs(own.sigma_1), abs(own.sigma_2)
    elif isinstance(own, Helical):
        off[:2, 2], off[2:, 2] = 2 * np.pi * abs(own.sigma_1), 2 * np.pi * abs(own.sigma_2)
    return off


def psi_range(
    robot: Robot, p: npt.ArrayLike | None = None, rules: WorkspaceRules | None = None
) -> FloatArray:
    """Lowest and highest psi (N, 2) in rad that the tool reaches at poses p (N, dof) by turning
    from the psi given there, without leaving the workspace.

    The bars of a Par4 end before the planes of its pairs meet in a line normal to n', a Heli4 ends
    where limbs end. Left out, p is the whole working cylinder from psi = 0 on, and the range (2,)
    is the one that all of it shares, `SINGULARITY_MARGIN` from singular poses unless `rules` or the
    cylinder itself say otherwise. A spindle turns as far as the limits of axis 4 let it, without
    end where there are none. NaN where the pose given is outside the workspace.
    """
    if not robot.turns:
        coordinates = ", ".join(robot.coordinates)
        raise InputError("psi", coordinates, "a robot with psi among robot.coordinates")
    if p is None:
        return _shared_range(robot, rules)
    poses, single = as_samples(p, robot.dof, "p", coordinates=robot.coordinates)
    rules = rules or WorkspaceRules()
    found = np.full((len(poses), 2), np.nan)
    inside = np.flatnonzero(~broken_rules(robot, poses, rules).any(axis=1))
    if robot.spindle is not None:
        ends = robot.limits.angle_min, robot.limits.angle_max
        found[inside] = [-np.inf if ends[0] is None else ends[0][3], np.inf]
        if ends[1] is not None:
            found[inside, 1] = ends[1][3]
        return found[0] if single else found
    turn = np.array([0.0, 0.0, 0.0, 1.0])
    step, steps = _psi_steps(robot)
    for column, way in ((0, -1.0), (1, 1.0)):
        rays = np.tile(way * turn, (len(inside), 1))
        far = _leaving(robot, rules, poses[inside], rays, step, steps)
        found[inside, column] = poses[inside, 3] + way * far
    return found[0] if single else found


@remembered
def _shared_range(robot: Robot, rules: WorkspaceRules | None) -> FloatArray:
    """The range (2,) of psi that the whole working cylinder has."""
    margins = (SINGULARITY_MARGIN, 0.0)
    several = [WorkspaceRules(singularity=margin) for margin in margins]
    for chosen in several if rules is None else [rules]:
        found = psi_range(robot, _cylinder_corners(robot), chosen)
        if not np.isnan(found).any():
            break
    shared = np.array([found[:, 0].max(), found[:, 1].min()])
    shared.flags.writeable = False
    return shared


def _psi_steps(robot: Robot) -> tuple[float, int]:
    """Steps of psi (rad) in which a range is searched, and how many at most.

    A Par4 is searched for one turn of the bars, a Heli4 until a half has passed the bounding box.
    """
    own = limbs(robot).carrier
    if isinstance(own, Articulated):
        return BARS_STEP / abs(own.rate), math.ceil(2 * math.pi / BARS_STEP)
    most = float(_half_offset(robot).max()) / (2 * math.pi)  # m/rad, of the half that moves most
    return _farthest(robot) / MARCH_STEPS / most, 4 * MARCH_STEPS


def _cylinder_corners(robot: Robot) -> FloatArray:
    """Poses (N, 4) on the rim and the axis of the working cylinder, at psi = 0."""
    cylinder = working_cylinder(robot)
    around = np.arange(24) * (2 * np.pi / 24)
    heights = np.linspace(cylinder.z_min, cylinder.z_max, 5)
    radius, phi, z = np.meshgrid([0.0, cylinder.radius], around, heights, indexing="ij")
    parts = (radius * np.cos(phi), radius * np.sin(phi), z, np.zeros_like(z))
    return np.stack(parts, axis=-1).reshape(-1, 4)


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

    They go on in steps of the farthest radius over `steps`, then the last step is bisected. Along a
    rail that names no end they end at the bounding box.
    """
    found = _leaving(robot, rules, start, rays, _farthest(robot) / steps, steps)
    if not robot.linear:
        return found
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = [(corner - start) / rays for corner in bounding_box(robot)]
    ahead = np.where(np.abs(rays) > OFF_PLANE, np.maximum(*walls), np.inf)  # (N, 3), m to the walls
    nearest: FloatArray = np.minimum(found, ahead.min(axis=1))
    return nearest


def _farthest(robot: Robot) -> float:
    """A distance (m) beyond the farthest point of the workspace from the axis."""
    return float(np.abs(bounding_box(robot)).max()) * math.sqrt(2)


def _leaving(
    robot: Robot,
    rules: WorkspaceRules,
    start: FloatArray,
    rays: FloatArray,
    step: float,
    most: int,
) -> FloatArray:
    """As `leaving`, in steps of this size; infinite where a ray is inside after `most` steps."""
    inside = np.zeros(len(start))
    active = np.arange(len(start))
    taken = 0
    while active.size and taken < most:
        ahead = inside[active] + step
        points = start[active] + ahead[:, None] * rays[active]
        active = active[~broken_rules(robot, points, rules).any(axis=1)]
        inside[active] += step
        taken += 1
    found = _bisect(robot, rules, start, rays, inside, inside + step)
    found[active] = np.inf
    return found


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
