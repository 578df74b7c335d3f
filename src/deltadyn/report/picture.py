"""One page with the robot on its move and the torques of every model, to open offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.files import write_whole
from deltadyn.kinematics.skeleton import Skeleton, skeleton
from deltadyn.motion import Motion
from deltadyn.robot import Robot

BLUE, GREY, ORANGE = "#1f5fa8", "#8a9099", "#d2691e"
PALETTE = ("#111111", "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")
POSES = 3  # drawn along the move


def torque_page(
    robot: Robot, motion: Motion, torques: dict[str, FloatArray], path: str | os.PathLike[str]
) -> Path:
    """Write the page: the robot in 3-D on the left, one torque plot per axis on the right."""
    from plotly.subplots import make_subplots

    dof = robot.dof
    figure = make_subplots(
        rows=dof,
        cols=2,
        column_widths=[0.5, 0.5],
        specs=[
            [{"type": "scene", "rowspan": dof} if row == 0 else None, {"type": "xy"}]
            for row in range(dof)
        ],
        subplot_titles=("", *(f"axis {axis + 1}" for axis in range(dof))),
        shared_xaxes=True,
        vertical_spacing=0.06,
        horizontal_spacing=0.08,
    )
    _draw_robot(figure, robot, motion)
    _draw_torques(figure, motion, merged(torques), dof)
    figure.update_layout(
        title=f"{robot.name}: a pick-and-place move and its torques, by model",
        template="plotly_white",
        height=760,
        legend={"orientation": "h", "y": -0.08},
        scene={
            "aspectmode": "data",
            "xaxis_title": "x (m)",
            "yaxis_title": "y (m)",
            "zaxis_title": "z (m)",
            "camera": {"eye": {"x": 1.5, "y": -1.8, "z": 0.5}},
        },
    )
    return write_whole(path, figure.to_html(include_plotlyjs=True, full_html=True))


def merged(torques: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Models that agree on this motion to a billionth share one curve and its name."""
    curves: dict[str, FloatArray] = {}
    for name, tau in torques.items():
        scale = float(np.abs(tau).max()) or 1.0
        same = [key for key in curves if np.abs(curves[key] - tau).max() < 1e-9 * scale]
        if same:
            curves = {f"{key}, {name}" if key == same[0] else key: curves[key] for key in curves}
        else:
            curves[name] = tau
    return curves


def robot_lines(robot: Robot, pose: Skeleton, spacing: float) -> dict[str, list[FloatArray]]:
    """The lines of a drawing by part, each (k, 3): base, arms, struts, platform, spindle."""
    lines: dict[str, list[FloatArray]] = {
        "base": [pose.shoulders[[0, 1, 2, 0]]],
        "arm": [np.stack([pose.shoulders[i], pose.elbows[i]]) for i in range(3)],
        "strut": [],
        "platform": [pose.joints[[0, 1, 2, 0]]],
    }
    for i in range(3):
        offset = pose.pins[i] * spacing / 2
        for side in (-1, 1):
            lines["strut"].append(
                np.stack([pose.elbows[i] + side * offset, pose.joints[i] + side * offset])
            )
    if pose.pivot is not None and pose.spindle_end is not None:
        lines["spindle"] = [np.stack([pose.pivot, pose.spindle_end])]
    return lines


def drawn_spacing(robot: Robot) -> float:
    """The distance between the two rods of a pair, or a plausible one for the drawing (m)."""
    return robot.geometry.rod_spacing or 0.5 * min(robot.geometry.platform_radius)


def _draw_robot(figure: Any, robot: Robot, motion: Motion) -> None:
    import plotly.graph_objects as go

    style = {
        "base": (GREY, 6),
        "arm": (BLUE, 9),
        "strut": (GREY, 3),
        "platform": (ORANGE, 6),
        "spindle": ("#444444", 5),
    }
    spacing = drawn_spacing(robot)
    rows = np.linspace(0, len(motion) - 1, POSES).astype(int)
    for k, row in enumerate(rows):
        opacity = 1.0 if k == POSES // 2 else 0.25
        lines = robot_lines(robot, skeleton(robot, motion.p[row]), spacing)
        for part, pieces in lines.items():
            color, width = style[part]
            for piece in pieces:
                trace = go.Scatter3d(
                    x=piece[:, 0],
                    y=piece[:, 1],
                    z=piece[:, 2],
                    mode="lines",
                    line={"color": color, "width": width},
                    opacity=opacity,
                    showlegend=False,
                    hoverinfo="skip",
                )
                figure.add_trace(trace, row=1, col=1)
    path = go.Scatter3d(
        x=motion.p[:, 0],
        y=motion.p[:, 1],
        z=motion.p[:, 2],
        mode="lines",
        line={"color": "#c00000", "width": 5},
        name="path",
    )
    figure.add_trace(path, row=1, col=1)


def _draw_torques(figure: Any, motion: Motion, torques: dict[str, FloatArray], dof: int) -> None:
    import plotly.graph_objects as go

    for k, (name, tau) in enumerate(torques.items()):
        for axis in range(dof):
            trace = go.Scatter(
                x=motion.t,
                y=tau[:, axis],
                mode="lines",
                name=name,
                legendgroup=name,
                showlegend=axis == 0,
                line={"color": PALETTE[k % len(PALETTE)], "dash": "solid" if k == 0 else "dot"},
            )
            figure.add_trace(trace, row=axis + 1, col=2)
    for axis in range(dof):
        figure.update_yaxes(title_text="torque (N m)", row=axis + 1, col=2)
    figure.update_xaxes(title_text="time (s)", row=dof, col=2)
