"""Draw docs/conventions.svg: the frame, the geometry and the signs. Needs matplotlib only."""

import math
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Circle, FancyArrowPatch, Polygon

INK = "#1f2933"
GREY = "#8a94a0"
ARM = "#0b62a4"
STRUT = "#b35900"
PLATFORM = "#2e7d32"
TORQUE = "#b3123f"

# A robot of usual proportions, in m.
R, R_P, L1, L2 = 0.30, 0.11, 0.34, 0.64
THETA = math.radians(32)
ALPHA = (math.radians(30), math.radians(150), math.radians(270))

Point = tuple[float, float]


def arrow(ax: Axes, start: Point, end: Point, colour: str = INK, **style: object) -> None:
    """A straight arrow with its point at `end`."""
    options: dict[str, object] = {"arrowstyle": "-|>", "mutation_scale": 14, "lw": 1.6}
    options |= style
    ax.add_patch(
        FancyArrowPatch(start, end, color=colour, shrinkA=0, shrinkB=0, zorder=4, **options)
    )


def turning(
    ax: Axes, centre: Point, radius: float, start: float, end: float, colour: str, lw: float = 1.6
) -> None:
    """An arc from angle `start` to `end` (rad, anticlockwise positive) with its point at `end`."""
    low, high = sorted((math.degrees(start), math.degrees(end)))
    ax.add_patch(
        Arc(centre, 2 * radius, 2 * radius, theta1=low, theta2=high, color=colour, lw=lw, zorder=4)
    )
    back = end - math.copysign(0.028 / radius, end - start)
    arrow(ax, polar(centre, radius, back), polar(centre, radius, end), colour, lw=0.1)


def polar(centre: Point, radius: float, angle: float) -> Point:
    """The point at `radius` and `angle` from `centre`."""
    return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)


def line(ax: Axes, a: Point, b: Point, colour: str, lw: float, style: str = "-") -> None:
    """A straight line."""
    ax.plot(
        [a[0], b[0]], [a[1], b[1]], color=colour, lw=lw, ls=style, solid_capstyle="round", zorder=2
    )


def joint(ax: Axes, centre: Point, colour: str = INK, radius: float = 0.011) -> None:
    """A joint's small white circle."""
    ax.add_patch(Circle(centre, radius, fc="white", ec=colour, lw=1.6, zorder=5))


def dot(ax: Axes, centre: Point, colour: str = INK) -> None:
    """A filled point."""
    ax.add_patch(Circle(centre, 0.010, color=colour, zorder=6))


def note(ax: Axes, at: Point, text: str, colour: str = INK, size: float = 14) -> None:
    """A text, centred."""
    ax.text(*at, text, color=colour, fontsize=size, zorder=7, ha="center", va="center")


def measure(ax: Axes, a: Point, b: Point, text: str, at: Point, colour: str = GREY) -> None:
    """A length between two points, with its name."""
    arrow(ax, a, b, colour, arrowstyle="<|-|>", mutation_scale=9, lw=1.1)
    note(ax, at, text, INK, 18)


def top_view(ax: Axes) -> None:
    """The robot from above, arms horizontal: azimuth, radii, the directions e_r and t."""
    origin = (0.0, 0.0)
    half = 0.07  # of the drawn joint axes
    rods = 0.045  # from the middle of a pair to each rod
    ax.add_patch(Circle(origin, R, fc="#eef2f6", ec=GREY, lw=1.2, zorder=0))
    corners = []
    for index, alpha in enumerate(ALPHA, start=1):
        shoulder, elbow = polar(origin, R, alpha), polar(origin, R + L1, alpha)
        platform_joint, across = polar(origin, R_P, alpha), alpha + math.pi / 2
        line(ax, polar(shoulder, half, across), polar(shoulder, -half, across), GREY, 5.0)
        for side in (-rods, rods):
            corners.append(polar(platform_joint, side, across))
            line(ax, polar(elbow, side, across), corners[-1], STRUT, 1.8)
        line(ax, shoulder, elbow, ARM, 5.0)
        line(ax, polar(elbow, half, across), polar(elbow, -half, across), ARM, 3.0)
        joint(ax, shoulder)
        note(ax, polar(polar(origin, R + 0.27, alpha), 0.125, across), f"arm {index}", ARM, 15)
    ax.add_patch(Polygon(corners, closed=True, fc="#dcefdc", ec=PLATFORM, lw=1.8, zorder=1))

    arrow(ax, origin, (0.62, 0.0))
    arrow(ax, origin, (0.0, 0.56))
    note(ax, (0.66, 0.0), r"$x$", INK, 19)
    note(ax, (0.0, 0.60), r"$y$", INK, 19)
    ax.add_patch(Circle(origin, 0.022, fc="white", ec=INK, lw=1.6, zorder=6))
    dot(ax, origin)
    note(ax, (-0.105, 0.215), r"$O$, $z$ up", INK, 16)
    line(ax, (-0.085, 0.19), (-0.013, 0.03), INK, 0.8)

    first = ALPHA[0]
    shoulder, elbow = polar(origin, R, first), polar(origin, R + L1, first)
    line(ax, origin, shoulder, GREY, 1.1, "--")
    turning(ax, origin, 0.42, 0.0, first, TORQUE)
    note(ax, polar(origin, 0.475, 0.42 * first), r"$\alpha_1$", TORQUE, 20)
    arrow(ax, shoulder, polar(shoulder, 0.19, first + math.pi / 2))
    note(ax, (shoulder[0] - 0.12, shoulder[1] + 0.225), r"$t=\hat z\times e_r$", INK, 17)
    arrow(ax, elbow, polar(elbow, 0.13, first))
    note(ax, polar(elbow, 0.17, first), r"$e_r$", INK, 19)
    measure(ax, origin, polar(origin, R, math.radians(210)), r"$R$", (-0.205, -0.075))
    measure(ax, origin, polar(origin, R_P, ALPHA[2]), r"$r_p$", (0.036, -0.048), PLATFORM)
    ax.set_xlim(-0.68, 0.78)
    ax.set_ylim(-0.70, 0.66)


def side_view(ax: Axes) -> None:
    """The plane of one arm: arm angle, lengths, the shrunk base, gravity, torque."""
    origin, shoulder = (0.0, 0.0), (R, 0.0)
    elbow = polar(shoulder, L1, -THETA)
    # the platform lies on the robot's axis here, so its joint is at radius r_p
    platform_joint = (R_P, elbow[1] - math.sqrt(L2**2 - (elbow[0] - R_P) ** 2))
    platform = (0.0, platform_joint[1])
    shrunk_shoulder, shrunk_elbow = (R - R_P, 0.0), (elbow[0] - R_P, elbow[1])

    line(ax, (-0.14, 0.0), shoulder, GREY, 5.0)
    line(ax, (-R_P, platform[1]), platform_joint, PLATFORM, 5.0)
    line(ax, elbow, platform_joint, STRUT, 4.0)
    line(ax, shoulder, elbow, ARM, 5.0)
    line(ax, shrunk_shoulder, shrunk_elbow, ARM, 1.5, "--")
    arrow(ax, shrunk_elbow, platform, STRUT, linestyle="--")
    line(ax, shoulder, (R + 0.40, 0.0), GREY, 1.1, "--")
    line(ax, origin, platform, GREY, 0.9, ":")

    arrow(ax, origin, (0.0, 0.24))
    note(ax, (0.0, 0.275), r"$z$", INK, 19)
    note(ax, (-0.05, 0.05), r"$O$", INK, 18)
    arrow(ax, (R + 0.40, 0.0), (R + 0.46, 0.0))
    note(ax, (R + 0.505, 0.0), r"$e_r$", INK, 19)

    turning(ax, shoulder, 0.165, 0.0, -THETA, TORQUE)
    note(ax, polar(shoulder, 0.212, -0.47 * THETA), r"$\theta_i$", TORQUE, 20)
    turning(ax, shoulder, 0.085, math.radians(150), math.radians(10), TORQUE, lw=2.4)
    note(ax, (R + 0.125, 0.095), r"$\tau_i>0$", TORQUE, 19)

    measure(ax, (0.0, 0.17), (R, 0.17), r"$R$", (R / 2, 0.205))
    line(ax, shoulder, (R, 0.185), GREY, 0.9, ":")
    measure(ax, (0.0, -0.07), (R - R_P, -0.07), r"$r=R-r_p$", (0.116, -0.115))
    line(ax, shrunk_shoulder, (R - R_P, -0.085), GREY, 0.9, ":")
    low = platform[1] - 0.075
    measure(ax, (0.0, low), (R_P, low), r"$r_p$", (R_P / 2, low - 0.045))
    line(ax, platform, (0.0, low - 0.015), GREY, 0.9, ":")
    line(ax, platform_joint, (R_P, low - 0.015), GREY, 0.9, ":")

    note(ax, polar(polar(shoulder, 0.29, -THETA), 0.05, math.pi / 2 - THETA), r"$l_1$", ARM, 20)
    middle = ((elbow[0] + platform_joint[0]) / 2, (elbow[1] + platform_joint[1]) / 2)
    note(ax, (middle[0] + 0.035, middle[1] - 0.035), r"$l_2$", STRUT, 20)
    middle = ((shrunk_elbow[0] + platform[0]) / 2, (shrunk_elbow[1] + platform[1]) / 2)
    note(ax, (middle[0] - 0.105, middle[1] + 0.06), r"$s_i=p-E_i$", STRUT, 18)

    for centre in (shoulder, elbow, platform_joint):
        joint(ax, centre)
    joint(ax, shrunk_elbow, ARM, 0.008)
    dot(ax, origin)
    dot(ax, platform, PLATFORM)
    note(ax, (elbow[0] + 0.05, elbow[1] - 0.01), r"$J_i$", ARM, 20)
    note(ax, (shrunk_elbow[0] - 0.085, shrunk_elbow[1] - 0.005), r"$E_i$", ARM, 20)
    note(ax, (-0.045, platform[1] - 0.05), r"$p$", PLATFORM, 20)

    arrow(ax, (0.70, -0.36), (0.70, -0.56), lw=2.4)
    note(ax, (0.745, -0.46), r"$g$", INK, 20)
    ax.set_xlim(-0.18, 0.86)
    ax.set_ylim(-0.78, 0.31)


def draw() -> plt.Figure:
    """Both views side by side."""
    mpl.rcParams.update({"svg.hashsalt": "deltadyn", "mathtext.fontset": "cm"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(13.5, 6.9), width_ratios=[1.25, 1.0])
    top_view(left)
    side_view(right)
    for ax in (left, right):
        ax.set_aspect("equal")
        ax.axis("off")
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.93, wspace=0.03)
    for ax, title in ((left, "Top view"), (right, r"Side view, in the plane of arm $i$")):
        box = ax.get_position()
        figure.text((box.x0 + box.x1) / 2, 0.955, title, fontsize=18, color=INK, ha="center")
    return figure


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("conventions.svg"))
    metadata = {"Date": None} if target.suffix == ".svg" else None
    draw().savefig(target, metadata=metadata, facecolor="white", dpi=110)
