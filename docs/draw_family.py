"""Draw docs/family.svg: one robot of every kind of the family. Needs matplotlib."""

import math
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.axes3d import Axes3D

import deltadyn as dd
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.report.picture import drawn_spacing, robot_lines
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Geometry,
    HelicalPlatform,
    PlanarPlatform,
    Platform,
    RailGeometry,
    Strut,
)

STYLES = {
    "base": ("#8a94a0", 2.0),
    "arm": ("#0b62a4", 3.0),
    "strut": ("#b35900", 1.2),
    "platform": ("#2e7d32", 3.0),
    "spindle": ("#3f3f46", 2.0),
}
FOUR = tuple(math.radians(angle) for angle in (45, 135, 225, 315))


def robots() -> dict[str, dd.Robot]:
    """A robot per kind, of made-up numbers."""
    arm, carriage = Arm(1.0, 0.15, 0.01), Carriage(1.0)
    strut, plate = Strut.uniform(0.1, 0.7), Platform(0.5)
    turned = {"axis_roll": math.radians(40), "shoulder_height": 0.05}
    flat = (0.0, math.pi)

    def rotary(platform, azimuth=(0.0, 2 * math.pi / 3, 4 * math.pi / 3), **own):
        geometry = Geometry(0.25, 0.06, 0.3, 0.7, azimuth, **own)
        return dd.Robot("drawn", geometry, arm, strut, platform)

    def linear(platform, radius, azimuth=(0.0, 2 * math.pi / 3, 4 * math.pi / 3), **own):
        geometry = RailGeometry(radius, 0.06, 0.7, azimuth, **own)
        return dd.Robot("drawn", geometry, carriage, strut, platform)

    bars = ArticulatedPlatform((0.3, 0.3), 0.18, phi0=math.radians(90), ratio=2.0)
    screw = HelicalPlatform((0.3, 0.3), 0.4, tool_fraction=0.5)
    return {
        "rotary, axes inclined": rotary(plate, **turned),
        "linear, vertical rails": linear(plate, 0.4),
        "linear, leaning rails": linear(plate, 0.4, rail_pitch=math.radians(45)),
        "planar, two arms": rotary(PlanarPlatform(0.5), flat),
        "articulated (Par4)": rotary(bars, FOUR),
        "helical (Heli4)": rotary(screw, FOUR),
    }


def draw(axes: Axes3D, robot: dd.Robot, title: str) -> None:
    """One robot at a pose near its home."""
    p = home_pose(robot).copy()
    p[0] += 0.05
    if robot.dof == 4:
        p[3] = 0.6
    bones = dd.kinematics.skeleton(robot, p)
    points = []
    for part, lines in robot_lines(robot, bones, drawn_spacing(robot)).items():
        colour, width = STYLES[part]
        for line in lines:
            axes.plot(*line.T, color=colour, lw=width, solid_capstyle="round")
            points.append(line)
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - half, middle[k] + half)
    axes.set_box_aspect((1, 1, 1), zoom=1.1)
    axes.view_init(elev=18, azim=-62)
    axes.set_axis_off()
    axes.set_title(title, fontsize=11, y=0.98)


def main() -> None:
    """Write the picture beside this script, or where the argument says."""
    figure = plt.figure(figsize=(10, 6.6))
    for k, (title, robot) in enumerate(robots().items()):
        draw(figure.add_subplot(2, 3, k + 1, projection="3d"), robot, title)
    figure.subplots_adjust(0, 0, 1, 0.96, 0.02, 0.05)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "family.svg"
    mpl.rcParams["svg.hashsalt"] = "family"
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
