"""Draw docs/family.svg, one robot of every kind, and a figure per kind. Needs matplotlib."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.axes3d import Axes3D

import deltadyn as dd
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.struts import Skeleton
from deltadyn.report.picture import half_centres, pose_lines
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Geometry,
    HelicalPlatform,
    PlanarPlatform,
    Platform,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
)

STYLES = {
    "base": ("#8a94a0", 2.0),
    "rail": ("#8a94a0", 2.0),
    "arm": ("#0b62a4", 3.0),
    "carriage": ("#0b62a4", 6.0),
    "strut": ("#b35900", 1.2),
    "bracket": ("#3f3f46", 1.6),
    "platform": ("#2e7d32", 3.0),
    "bar": ("#3f3f46", 2.2),
    "screw": ("#3f3f46", 2.6),
    "spindle": ("#3f3f46", 2.0),
    "pointer": ("#b3246b", 2.2),
}
PSI = 1.1  # rad, of the tool
RIGHT, UP = np.eye(2)
INK, FAINT = "#1c2330", "#8a94a0"
THREE = tuple(math.radians(angle) for angle in (0, 120, 240))
CORNERS = tuple(math.radians(angle) for angle in (-45, 45, 135, 225))
OPPOSITE = tuple(math.radians(angle) for angle in (0, 180, 90, -90))


def robots() -> dict[str, dd.Robot]:
    """A robot per kind, of made-up numbers."""
    arm, carriage = Arm(1.0, 0.15, 0.01), Carriage(1.0)
    strut, plate = Strut.uniform(0.1, 0.7), Platform(0.5)
    flat = (0.0, math.pi)

    def rotary(platform, azimuth=THREE, radius=0.06, spindle=None, **own):
        geometry = Geometry(0.25, radius, 0.3, 0.7, azimuth, **own)
        return dd.Robot("drawn", geometry, arm, strut, platform, spindle=spindle)

    def linear(platform, radius, azimuth=THREE, **own):
        geometry = RailGeometry(radius, 0.06, 0.7, azimuth, **own)
        return dd.Robot("drawn", geometry, carriage, strut, platform)

    rod = Rod(0.3, 0.2, 0.003, 1e-4, length=0.5)
    bars = ArticulatedPlatform((0.3, 0.3), 0.22, ratio=2.0)
    screw = HelicalPlatform((0.3, 0.3), 0.2, tool_fraction=0.5)
    return {
        "rotary": rotary(plate),
        "inclined": rotary(plate, axis_roll=math.radians(40), shoulder_height=0.05),
        "spindle": rotary(plate, spindle=Spindle(rod, rod)),
        "linear": linear(plate, 0.4),
        "planar": rotary(PlanarPlatform(0.5), flat),
        "par4": rotary(bars, CORNERS),
        "heli4": rotary(screw, OPPOSITE, radius=0.1),
        "leaning": linear(plate, 0.4, rail_pitch=math.radians(45)),
    }


TITLES = {
    "rotary": "rotary",
    "inclined": "rotary, axes inclined",
    "spindle": "rotary with a spindle",
    "linear": "linear, vertical rails",
    "leaning": "linear, leaning rails",
    "planar": "planar",
    "par4": "articulated (Par4)",
    "heli4": "helical (Heli4)",
}


def pose_of(robot: dd.Robot) -> np.ndarray:
    """A pose near home, with the tool turned."""
    p = np.array(home_pose(robot))
    p[0] += 0.06
    if not robot.linear:
        p[robot.coordinates.index("z")] = -0.74
    if robot.turns:
        p[3] = PSI
    return p


# A robot in space, and its lines seen along an axis.


def draw(axes: Axes3D, robot: dd.Robot, zoom: float = 1.1) -> None:
    """One robot at a pose near its home."""
    points = []
    for part, lines in pose_lines(robot, pose_of(robot)).items():
        colour, width = STYLES[part]
        for line in lines:
            axes.plot(*line.T, color=colour, lw=width, solid_capstyle="round")
            points.append(line)
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - half, middle[k] + half)
    axes.set_box_aspect((1, 1, 1), zoom=zoom)
    axes.view_init(elev=16, azim=-66 if robot.legs != 4 else -24)
    axes.set_axis_off()


ABOVE = np.eye(3)[:2]
SIDE = np.eye(3)[[0, 2]]
CORNER = np.array([[math.sqrt(0.5), math.sqrt(0.5), 0.0], [0.0, 0.0, 1.0]])


def flat(axes: plt.Axes, robot: dd.Robot, view: np.ndarray, parts: tuple[str, ...] = ()) -> None:
    """The robot's lines in a view (2, 3): what goes to the right and what goes up."""
    for part, lines in pose_lines(robot, pose_of(robot)).items():
        if parts and part not in parts:
            continue
        colour, width = STYLES[part]
        for line in lines:
            axes.plot(*(view @ line.T), color=colour, lw=width, solid_capstyle="round")
    axes.set_aspect("equal")
    axes.set_axis_off()


def tell(axes: plt.Axes, text: str, at, away=(0.0, 0.0), **look) -> None:
    """A letter at a place, moved by some points."""
    axes.annotate(text, at, away, textcoords="offset points", color=INK, fontsize=11, **look)


def arrow(axes: plt.Axes, tail, head, colour: str = INK) -> None:
    """An arrow from tail to head."""
    look = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", head, tail, arrowprops=look)


def arc(axes: plt.Axes, middle, radius: float, start: float, end: float) -> None:
    """An arc between two angles (rad)."""
    angle = np.linspace(start, end, 40)
    ring = np.asarray(middle)[:, None] + radius * np.stack([np.cos(angle), np.sin(angle)])
    axes.plot(*ring, color=INK, lw=1.0)


def dot(axes: plt.Axes, at, colour: str = INK) -> None:
    """A joint."""
    axes.plot(*at, "o", color=colour, ms=4.5, zorder=5)


# What stands beside each robot: its letters, on the limb or on the platform.


def limb(axes: plt.Axes, robot: dd.Robot, bones: Skeleton) -> None:
    """Limb 1 in its own plane, with the letters of the actuation."""
    frame = robot.geometry.frames[0]
    out, up = np.asarray(frame.x), np.asarray(frame.z)
    start, elbow, joint = bones.shoulders[0], bones.elbows[0], bones.joints[0]
    if robot.linear:
        out, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])

    def seen(point) -> np.ndarray:
        return np.array([(point - start) @ out, (point - start) @ up])

    J, E, a = seen(start), seen(elbow), seen(joint)
    if robot.linear:
        along = seen(start + np.asarray(frame.z))
        low, high = min(0.0, float(E @ along)) - 0.12, max(0.0, float(E @ along)) + 0.2
        axes.plot(*np.stack([low * along, high * along]).T, color=STYLES["rail"][0], lw=3)
        arrow(axes, (high - 0.12) * along, (high + 0.02) * along)
        tell(axes, "$u$", (high + 0.02) * along, (6, -4))
        tell(axes, "$q$", E / 2, (7, -4))
        dot(axes, E, STYLES["carriage"][0])
    else:
        axes.plot(*np.stack([J, E]).T, color=STYLES["arm"][0], lw=4)
        arrow(axes, J, J + 0.2 * RIGHT)
        arrow(axes, J, J - 0.2 * UP)
        tell(axes, "$e_1$", J + 0.2 * RIGHT, (4, 2))
        tell(axes, "$e_2$", J - 0.2 * UP, (-18, -4))
        arc(axes, J, 0.13, 0.0, math.atan2(*E[::-1]))
        tell(axes, "$q$", J + 0.13 * RIGHT, (4, -11))
        tell(axes, "$l_1$", E / 2, (10, -4))
        dot(axes, E)
    axes.plot(*np.stack([E, a]).T, color=STYLES["strut"][0], lw=2)
    arrow(axes, E, E + 0.55 * (a - E), STYLES["strut"][0])
    dot(axes, J)
    dot(axes, a, STYLES["platform"][0])
    tell(axes, "$J_0$", J, (8, -4) if robot.linear else (-20, 4))
    tell(axes, "$E$", E, (8, 2))
    tell(axes, "$a$", a, (8, -10))
    if not robot.linear:
        axes.plot(*np.stack([J, J + 0.24 * RIGHT]).T, alpha=0.0)  # room for e_1
    beside_strut = (-68, 4) if robot.linear else (10, -4)
    tell(axes, r"$s,\ |s|=l_2$", (E + a) / 2, beside_strut)
    axes.set_aspect("equal")
    axes.set_axis_off()


def telescope(axes: plt.Axes, robot: dd.Robot, bones: Skeleton) -> None:
    """The shaft from the pivot to the platform, from the side."""
    flat(axes, robot, SIDE, ("spindle", "platform", "base", "pointer"))
    o, end = bones.pivot[[0, 2]], bones.spindle_end[[0, 2]]
    arrow(axes, o + 0.3 * (end - o), o + 0.6 * (end - o))
    tell(axes, "$v$", o + 0.5 * (end - o), (8, 0))
    tell(axes, "$l$", o + 0.25 * (end - o), (-14, 0))
    dot(axes, o)
    dot(axes, end)
    tell(axes, "$o$, drive of $\\psi$", o, (8, 8))
    tell(axes, "$p$", end, (8, -14))
    tell(axes, r"tool at $\psi$", end, (34, -4))
    axes.margins(0.3, 0.08)


def front(axes: plt.Axes, robot: dd.Robot, bones: Skeleton) -> None:
    """A planar robot in its plane: rods along the arms keep the elbows level."""
    flat(axes, robot, SIDE)
    E, a, J = (part[0][[0, 2]] for part in (bones.elbows, bones.joints, bones.shoulders))
    tell(axes, "$E_1$", E, (10, -2))
    tell(axes, "$J_{0,1}$", J, (-4, -16))
    tell(axes, "$s_1$", (E + a) / 2, (14, -4))
    tell(axes, "$(x, z)$", bones.platform[[0, 2]], (-12, -18))
    tell(axes, "level by rods\nalong the arms", bones.elbows[1][[0, 2]], (-8, 46), ha="center")
    axes.margins(0.12)


def from_above(axes: plt.Axes, robot: dd.Robot, bones: Skeleton) -> None:
    """Two halves and bars from above."""
    flat(axes, robot, ABOVE, ("platform", "bar", "pointer"))
    p = bones.platform[:2]
    one, two = half_centres(robot, bones)[:, :2]
    for i, joint in enumerate(bones.joints):
        outward = bones.elbows[i][:2] - joint[:2]
        ends = np.stack([joint[:2], joint[:2] + 0.07 * outward / np.linalg.norm(outward)])
        axes.plot(*ends.T, color=STYLES["strut"][0], lw=1.6)
        tell(axes, str(i + 1), ends[1], (2, 2))
    axes.plot(*np.stack([two, one]).T, color=FAINT, lw=1.0, ls="--")
    arrow(axes, p, p + 0.35 * (one - two))
    dot(axes, p)
    for name, at, away in (
        (r"$\sigma_1 n$", one, (3, -14)),
        (r"$\sigma_2 n$", two, (-27, -14)),
    ):
        dot(axes, at, STYLES["platform"][0])
        tell(axes, name, at, away)
    level = p + 0.1 * RIGHT
    axes.plot(*np.stack([p, level]).T, color=FAINT, lw=1.0)
    phi = math.atan2(*(one - two)[::-1])
    arc(axes, p, 0.045, 0.0, phi)
    tell(axes, r"$\varphi$", p + 0.045 * RIGHT, (3, 3))
    tell(axes, "$n$", p + 0.35 * (one - two), (-4, 6))
    tell(axes, "$p$", p, (2, -14))
    tell(axes, r"tool at $\psi$", p + 0.09 * np.array([math.cos(PSI), math.sin(PSI)]), (-70, 2))
    tell(axes, "half 1", bones.joints[0, :2], (16, -4))
    tell(axes, "half 2", bones.joints[2, :2], (-46, -4))
    tell(axes, "bar", (one + two) / 2 - 0.075 * UP, (10, -12))
    axes.margins(0.15)


def beside(axes: plt.Axes, robot: dd.Robot, bones: Skeleton) -> None:
    """Two halves on a screw from the side."""
    flat(axes, robot, CORNER, ("platform", "screw"))
    p = CORNER @ bones.platform
    one, two = (CORNER @ centre for centre in half_centres(robot, bones))
    side = 0.13
    for at, name in ((one, r"$\sigma_1\psi$"), (two, r"$\sigma_2\psi$")):
        axes.plot(*np.stack([at, at + side * RIGHT]).T, color=FAINT, lw=1.0, ls="--")
        arrow(axes, [p[0] + side, p[1]], [p[0] + side, at[1]])
        tell(axes, name, [p[0] + side, at[1]], (6, -4))
    axes.plot(*np.stack([p, p + (side + 0.02) * RIGHT]).T, color=FAINT, lw=1.0)
    dot(axes, p)
    tell(axes, "$p$", p, (-14, -4))
    first, second = CORNER @ bones.joints[1], CORNER @ bones.joints[3]
    tell(axes, "half 1,\nlimbs 1 and 2", first, (-84, 10))
    tell(axes, "half 2,\nlimbs 3 and 4", second, (-84, -26))
    tell(axes, r"screw: half 1 rises by the lead in a turn of $\psi$", [p[0], one[1]], (-100, 92))
    axes.margins(0.3)


Detail = Callable[[plt.Axes, dd.Robot, Skeleton], None]
DETAILS: dict[str, Detail] = {
    "inclined": limb,
    "linear": limb,
    "spindle": telescope,
    "planar": front,
    "par4": from_above,
    "heli4": beside,
}
ROW = ("rotary", "inclined", "linear", "leaning", "spindle", "planar", "par4", "heli4")


def main() -> None:
    """Write the pictures beside this script, or into the folder that the argument names."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    mpl.rcParams.update({"svg.hashsalt": "family", "svg.fonttype": "path", "path.simplify": True})
    drawn = robots()
    figure = plt.figure(figsize=(11, 5.6))
    for k, name in enumerate(ROW):
        axes = figure.add_subplot(2, 4, k + 1, projection="3d")
        draw(axes, drawn[name])
        axes.set_title(TITLES[name], fontsize=11, y=0.98)
    figure.subplots_adjust(0, 0, 1, 0.95, 0.0, 0.06)
    figure.savefig(folder / "family.svg", metadata={"Date": None})
    plt.close(figure)
    for name, detail in DETAILS.items():
        robot = drawn[name]
        figure = plt.figure(figsize=(8.4, 3.7))
        draw(
            figure.add_axes((0.0, 0.0, 0.48, 1.0), projection="3d"),
            robot,
            1.2 if robot.legs == 4 else 1.3,
        )
        bones = dd.kinematics.skeleton(robot, pose_of(robot))
        detail(figure.add_axes((0.5, 0.03, 0.48, 0.94)), robot, bones)
        figure.savefig(folder / f"family-{name}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
