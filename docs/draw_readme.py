"""Draws docs/readme.svg: a catalogue robot on a pick-and-place move, and its torques by model."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np

import deltadyn as dd
from deltadyn.kinematics.struts import skeleton
from deltadyn.report.picture import drawn_spacing, robot_lines
from deltadyn.reproduce.ladder import pick_and_place

STYLE = {
    "base": ("#8a9099", 3.0),
    "arm": ("#1f5fa8", 4.5),
    "strut": ("#8a9099", 1.6),
    "platform": ("#d2691e", 3.0),
    "spindle": ("#444444", 2.5),
}
MODELS = {
    "exact": ("#111111", "-"),
    "half-half": ("#d62728", "--"),
    "virtual-work": ("#2ca02c", ":"),
}


def draw_robot(axes: plt.Axes, robot: dd.Robot, move: dd.Motion) -> None:
    """The robot in three poses of the move."""
    for row, alpha in ((0, 0.25), (len(move) // 2, 1.0), (len(move) - 1, 0.25)):
        pose = skeleton(robot, move.p[row])
        for part, pieces in robot_lines(robot, pose, drawn_spacing(robot)).items():
            color, width = STYLE[part]
            for piece in pieces:
                axes.plot(*piece.T, color=color, lw=width, alpha=alpha, solid_capstyle="round")
    axes.plot(*move.p[:, :3].T, color="#c00000", lw=2)
    axes.set_aspect("equal")
    axes.set_box_aspect(None, zoom=1.35)
    axes.set_axis_off()
    axes.view_init(elev=14, azim=-62)


def main() -> None:
    """Write the picture."""
    robot = dd.load_robot("sipro-d3-1200")
    move = pick_and_place(robot)
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "deltadyn", "svg.fonttype": "path"})
    figure = plt.figure(figsize=(9.0, 4.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.35], height_ratios=[1.5, 1])
    draw_robot(figure.add_subplot(grid[:, 0], projection="3d"), robot, move)
    torque, error = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    exact = dd.inverse_dynamics(robot, move)
    for name, (color, line) in MODELS.items():
        tau = dd.inverse_dynamics(robot, move, name)
        torque.plot(move.t, tau[:, 0], color=color, ls=line, lw=1.6, label=name)
        if name != "exact":
            rms = np.sqrt(((tau - exact)[:, 0] ** 2).mean())
            label = f"{name}, {rms:.2f} N m RMS"
            error.plot(move.t, (tau - exact)[:, 0], color=color, ls=line, lw=1.4, label=label)
    torque.set_title(f"{robot.name}: torque of drive 1 on a pick-and-place move")
    torque.set_ylabel("torque (N m)")
    torque.legend(frameon=False, loc="upper left")
    error.set_ylabel("error (N m)")
    error.set_xlabel("time (s)")
    error.legend(frameon=False, fontsize=8)
    for axes in (torque, error):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    path = Path(__file__).with_name("readme.svg")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
