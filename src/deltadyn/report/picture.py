"""The robot in 3-D: on its move with the torques of all models, replayed, and for paper."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.struts import Skeleton, attachments_of, rail_ends, skeleton
from deltadyn.motion.motion import Motion
from deltadyn.report.html import Section, asset, figure_html, write_sections
from deltadyn.report.plots import (
    COLOURS,
    LEFT,
    MEASURED,
    Curve,
    axes_figure,
    colour,
    extreme_rows,
    layout,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform

Lines = Mapping[str, Sequence[FloatArray]]  # of a pose by part, each (k, 3) in m


@dataclass(frozen=True)
class PartStyle:
    """How a part is drawn: its colour, the width of its lines and its name in the legend."""

    colour: str
    width: int
    name: str


PARTS = {
    "base": PartStyle(LEFT, 6, "base"),
    "rail": PartStyle(LEFT, 6, "rails"),
    "arm": PartStyle(COLOURS[0], 9, "arms"),
    "carriage": PartStyle(COLOURS[0], 12, "carriages"),
    "strut": PartStyle("#8a9099", 4, "rods"),
    "platform": PartStyle(COLOURS[1], 7, "platform"),
    "bracket": PartStyle("#3f3f46", 5, "brackets"),
    "bar": PartStyle("#3f3f46", 6, "bars"),
    "screw": PartStyle("#3f3f46", 6, "screw"),
    "spindle": PartStyle("#3f3f46", 6, "spindle"),
    "pointer": PartStyle(COLOURS[5], 6, "direction of the effector"),
}
PATH = COLOURS[5]
FIXED = ("base", "rail")
TWO_HALVES = (ArticulatedPlatform, HelicalPlatform)
FAINT = 0.25  # opacity of the poses beside the one that stands out

# The robot as lines.


def robot_lines(robot: Robot, pose: Skeleton, spacing: float) -> dict[str, list[FloatArray]]:
    """The lines of a drawing by part, each (k, 3): base, arms, struts, platform, and what joins its
    halves or turns its tool.
    """
    order = np.argsort(np.mod(robot.geometry.azimuth, 2 * np.pi)).tolist()
    around = [*order, order[0]]
    lines = _limb_lines(robot, pose, around)
    lines |= {"strut": [], **_platform_lines(robot, pose, around)}
    for i, apart in enumerate(rods_apart(robot, pose) * spacing / 2):
        for side in (-1, 1):
            lines["strut"].append(
                np.stack([pose.elbows[i] + side * apart, pose.joints[i] + side * apart])
            )
    if has_brackets(robot):
        above, lines["bracket"] = np.array([0.0, 0.0, spacing]), []
        for i, apart in enumerate(rods_apart(robot, pose) * spacing / 2):
            elbow = pose.elbows[i]
            lines["strut"].append(np.stack([pose.shoulders[i], elbow]) + above)
            lines["base"].append(np.stack([pose.shoulders[i], pose.shoulders[i] + above]))
            corners = [elbow + above, elbow + apart, elbow - apart, elbow + above]
            lines["bracket"].append(np.stack(corners))
    if pose.pivot is not None and pose.spindle_end is not None:
        lines["spindle"] = [np.stack([pose.pivot, pose.spindle_end])]
    return lines


def _limb_lines(robot: Robot, pose: Skeleton, around: Sequence[int]) -> dict[str, list[FloatArray]]:
    """Base and arms, or rails and carriages."""
    if not robot.linear:
        arms = [np.stack([pose.shoulders[i], pose.elbows[i]]) for i in range(robot.legs)]
        return {"base": [pose.shoulders[around]], "arm": arms}
    rails = [np.stack(ends) for ends in zip(*drawn_rails(robot), strict=True)]
    half = 0.1 * robot.geometry.size * np.array([frame.z for frame in robot.geometry.frames])
    ends = zip(pose.elbows - half, pose.elbows + half, strict=True)
    return {"rail": rails, "carriage": [np.stack(pair) for pair in ends]}


def _platform_lines(
    robot: Robot, pose: Skeleton, around: Sequence[int]
) -> dict[str, list[FloatArray]]:
    """The platform, or its two halves with the bars or the screw between them."""
    own = robot.platform
    if robot.planar:  # it reaches to the outer rods
        return {"platform": [pose.joints + rods_apart(robot, pose) * drawn_spacing(robot) / 2]}
    if not isinstance(own, TWO_HALVES):
        return {"platform": [pose.joints[around]]}
    centres = half_centres(robot, pose)
    if isinstance(own, HelicalPlatform):
        room = screw_room(robot) * np.array([0.0, 0.0, 1.0])
        halves = [
            np.stack([a, a + side * room, b + side * room, b])
            for side, a, b in ((1, *pose.joints[:2]), (-1, *pose.joints[2:]))
        ]
        screw = [np.stack([centres[0] + 2 * room, centres[1] - 2 * room])]
        return {"platform": halves, "screw": screw}
    hinge = bar_hinge(robot)
    halves = []
    for centre, (a, b) in zip(centres, (pose.joints[:2], pose.joints[2:]), strict=True):
        near = hinge if (a - b) @ hinge > 0 else -hinge  # beside joint a
        halves.append(np.stack([a, centre + near, centre - near, b, a]))
    bars = [np.stack([c + side * hinge for c in centres]) for side in (-1, 1)]
    return {"platform": halves, "bar": bars}


def rods_apart(robot: Robot, pose: Skeleton) -> FloatArray:
    """Directions (legs, 3) in which the two rods of a pair lie apart.

    That of the motor axis; in a plane, where the pair keeps the platform level, along the plane.
    """
    if not robot.planar:
        return pose.pins
    return _outward(robot)


def has_brackets(robot: Robot) -> bool:
    """Whether the elbows carry brackets that rods along the arms keep level, as in a plane."""
    return robot.planar and not robot.linear


def half_centres(robot: Robot, pose: Skeleton) -> FloatArray:
    """Where the two halves of a platform are, (2, 3): their joints less their own offsets (m)."""
    found: FloatArray = (pose.joints - attachments_of(robot))[[0, 2]]
    return found


def bar_hinge(robot: Robot) -> FloatArray:
    """A bar's hinge from the middle of a half (3,), drawn across the bars at psi = 0 (m)."""
    own = robot.platform
    assert isinstance(own, ArticulatedPlatform)
    away = max(0.3 * own.bar_length, 0.6 * float(min(robot.geometry.platform_radius)))
    return away * np.array([-np.sin(own.phi0), np.cos(own.phi0), 0.0])


def screw_room(robot: Robot) -> float:
    """How far a half is drawn from its joints along the screw, so that the halves pass (m)."""
    own = robot.platform
    assert isinstance(own, HelicalPlatform)
    return max(0.4 * float(min(robot.geometry.platform_radius)), 0.3 * abs(own.lead))


def _outward(robot: Robot) -> FloatArray:
    """Level directions (legs, 3) from the axis to the limbs."""
    around = np.asarray(robot.geometry.azimuth)
    return np.stack([np.cos(around), np.sin(around), np.zeros(robot.legs)], axis=-1)


def drawn_rails(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """The ends of the rails; of those without limits what the home pose needs and a strut."""
    low, high = rail_ends(robot)
    limits, pose = robot.limits, skeleton(robot, home_pose(robot))
    along = np.array([frame.z for frame in robot.geometry.frames])
    room = 0.7 * np.asarray(robot.geometry.strut_length)[:, None] * along
    if limits.angle_min is None:
        low = pose.elbows - room
    if limits.angle_max is None:
        high = pose.elbows + room
    return low, high


def drawn_spacing(robot: Robot) -> float:
    """The distance between the two rods of a pair, or a plausible one for the drawing (m)."""
    share = 1.0 if robot.planar else 0.5
    return robot.geometry.rod_spacing or share * min(robot.geometry.platform_radius)


def pose_lines(robot: Robot, point: FloatArray) -> Lines:
    """The robot's lines by part, with the direction of the effector where it turns."""
    pose = skeleton(robot, point)
    lines = robot_lines(robot, pose, drawn_spacing(robot))
    if robot.turns:
        length = 1.5 * max(robot.geometry.platform_radius)
        tip = np.array([np.cos(point[3]), np.sin(point[3]), 0.0]) * length
        lines["pointer"] = [np.stack([pose.platform, pose.platform + tip])]
    return lines


def _line(name: str, lines: Sequence[FloatArray], style: PartStyle, opacity: float = 1.0) -> Any:
    import plotly.graph_objects as go

    return go.Scatter3d(
        **_joined(lines),
        mode="lines",
        name=name,
        line={"color": style.colour, "width": style.width},
        opacity=opacity,
        showlegend=opacity == 1.0,
        hoverinfo="skip",
    )


def _joined(lines: Sequence[FloatArray]) -> dict[str, list[float | None]]:
    """Lines one after the other with a gap between, to a tenth of a millimetre."""
    out: dict[str, list[float | None]] = {"x": [], "y": [], "z": []}
    for line in lines:
        for k, name in enumerate("xyz"):
            out[name] += [*np.round(line[:, k], 4).tolist(), None]
    return {name: values[:-1] for name, values in out.items()}


def _in_space(figure: Any, poses: Sequence[Lines]) -> Any:
    """The figure with axes around all poses, of one scale, and the camera in front."""
    points = np.concatenate([line for pose in poses for lines in pose.values() for line in lines])
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.05 * float((high - low).max())
    axes = {
        f"{name}axis": {
            "title": {"text": f"{name} (m)"},
            "range": [float(low[k] - pad), float(high[k] + pad)],
        }
        for k, name in enumerate("xyz")
    }
    size = (high - low + 2 * pad) / float((high - low + 2 * pad).max())
    figure.update_layout(**layout(560))
    return figure.update_layout(
        margin={"l": 0, "r": 0, "t": 30, "b": 0},
        scene={
            **axes,
            "aspectmode": "manual",
            "aspectratio": dict(zip("xyz", size.tolist(), strict=True)),
            "camera": {
                "eye": {"x": 1.15, "y": -1.45, "z": 0.45},
                "center": {"x": 0, "y": 0, "z": -0.12},
            },
        },
    )


# The page of the demonstration: a move and its torques.

POSES = 3  # drawn along the move


def torque_page(
    robot: Robot, motion: Motion, torques: dict[str, FloatArray], path: str | os.PathLike[str]
) -> Path:
    """Write the page: the robot in 3-D on its move, then the torques of every model per axis."""
    curves = [
        Curve(
            name,
            motion.t,
            tau,
            MEASURED if k == 0 else colour(k - 1),
            dash="solid" if k == 0 else "dot",
        )
        for k, (name, tau) in enumerate(merged(torques).items())
    ]
    figure = axes_figure(robot.axis_names(), curves, units=robot.axis_units("tau"))
    blocks = (
        figure_html("The move", _move_figure(robot, motion), _MOVE),
        figure_html("Torques by model", figure, _TORQUES),
    )
    section = Section("move", "The robot on its move", blocks)
    title = f"{robot.name}: a pick-and-place move and its torques, by model"
    return write_sections(path, title, f"{motion.duration:.4g} s", [], [section])


_MOVE = "Drag to turn the view, scroll to zoom. Faint: the first and the last pose."
_TORQUES = "Models that agree on this motion share one curve. Click a name to hide it."


def _move_figure(robot: Robot, motion: Motion) -> Any:
    import plotly.graph_objects as go

    rows = np.linspace(0, len(motion) - 1, POSES).astype(int)
    poses = [pose_lines(robot, motion.p[row]) for row in rows]
    figure = go.Figure()
    for k, pose in enumerate(poses):
        opacity = 1.0 if k == POSES // 2 else FAINT
        for part, lines in pose.items():
            figure.add_trace(_line(PARTS[part].name, lines, PARTS[part], opacity))
    path = _drawn_path(robot, motion, motion.t)
    figure.add_trace(_line("path", [path], PartStyle(PATH, 5, "path")))
    return _in_space(figure, poses)


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


# The robot as a line drawing in SVG, for paper.

AZIMUTH, ELEVATION = np.deg2rad(-50.0), np.deg2rad(18.0)  # of the eye
WIDTH = 460  # pixels
MARGIN = 12


def still_svg(path: FloatArray, poses: Sequence[Lines]) -> str:
    """The path (M, 3) and some poses by their lines; the middle pose stands out."""
    points = [path, *(line for pose in poses for lines in pose.values() for line in lines)]
    flat = np.concatenate([projected(line) for line in points])
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = (WIDTH - 2 * MARGIN) / max(float((high - low).max()), 1e-9)
    height = float((high - low)[1]) * scale + 2 * MARGIN
    width = float((high - low)[0]) * scale + 2 * MARGIN

    def drawn(line: FloatArray, colour: str, stroke: float, opacity: float) -> str:
        xy = (projected(line) - low) * scale + MARGIN
        text = " ".join(f"{x:.1f},{height - y:.1f}" for x, y in xy)
        return (
            f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{stroke:g}" '
            f'stroke-opacity="{opacity:g}" stroke-linecap="round"/>'
        )

    parts = []
    middle = len(poses) // 2
    for k in (*(k for k in range(len(poses)) if k != middle), middle):
        if k == middle:
            parts.append(drawn(path, PATH, 1.2, 1.0))
        for part, lines in poses[k].items():
            style = PARTS[part]
            opacity = 1.0 if k == middle else FAINT
            parts += [drawn(line, style.colour, style.width / 2, opacity) for line in lines]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="The robot in {len(poses)} poses along its path">{"".join(parts)}</svg>'
    )


def projected(points: FloatArray) -> FloatArray:
    """Points (N, 3) as seen by the eye from far away: right and up (N, 2), in m."""
    right = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0])
    up = np.array(
        [
            -np.sin(ELEVATION) * np.cos(AZIMUTH),
            -np.sin(ELEVATION) * np.sin(AZIMUTH),
            np.cos(ELEVATION),
        ]
    )
    out: FloatArray = np.stack([points[:, :3] @ right, points[:, :3] @ up], axis=-1)
    return out


# The replay: a section with play and pause.

FRAMES = 100
WINDOW = 4.0  # s of a motion that are replayed: the liveliest
SHOWN = 4.0  # s that the replay takes on the screen, at least
PATH_POINTS = 600
DIV = "replay-plot"


def replay_section(robot: Robot, motion: Motion) -> Section:
    """The liveliest part of the motion, frame by frame."""
    rows = replay_rows(motion)
    t, p = motion.t[rows], motion.p[rows]
    poses = [pose_lines(robot, point) for point in p]
    window = float(t[-1] - t[0])
    seconds = max(window, SHOWN)
    whole = window >= 0.999 * motion.duration
    part = "The whole motion" if whole else f"The liveliest {window:.3g} s of the motion"
    slower = seconds / window
    speed = "in real time" if slower < 1.05 else f"slowed down {slower:.2g} times"
    caption = f"{part}, {len(rows)} pictures, {speed}. Drag to turn the view, scroll to zoom."
    block = figure_html(
        "Replay",
        replay_figure(robot, motion, t, poses),
        caption,
        div_id=DIV,
        controls=_controls(t, seconds),
        still=still_svg(_drawn_path(robot, motion, t), [poses[k] for k in _still(len(poses))]),
    )
    numbers = {
        "from_s": float(t[0]),
        "to_s": float(t[-1]),
        "frames": len(rows),
        "slowed_down": seconds / window,
    }
    return Section("replay", "Replay of the motion", (block,), numbers)


def replay_rows(motion: Motion) -> npt.NDArray[np.int64]:
    """Samples that are shown, about even in time: those of the liveliest stretch."""
    t = motion.t
    start = 0.0
    if motion.duration > WINDOW:
        speed = np.linalg.norm(motion.pd[:, :3], axis=1)
        way = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(t))])
        ends = np.linspace(0.0, motion.duration - WINDOW, 400)
        covered = np.interp(t[0] + ends + WINDOW, t, way) - np.interp(t[0] + ends, t, way)
        start = float(ends[int(np.argmax(covered))])
    times = t[0] + start + np.linspace(0.0, min(WINDOW, motion.duration), FRAMES)
    rows = np.clip(np.searchsorted(t, times), 0, len(t) - 1)
    return np.unique(rows)


def replay_figure(robot: Robot, motion: Motion, t: FloatArray, poses: Sequence[Lines]) -> Any:
    """The first picture, and a frame with the moving parts for every pose."""
    import plotly.graph_objects as go

    fixed = [part for part in poses[0] if part in FIXED]
    moving = [part for part in poses[0] if part not in FIXED]
    figure = go.Figure()
    figure.add_trace(_line("path", [_drawn_path(robot, motion, t)], PartStyle(PATH, 3, "path")))
    for part in (*fixed, *moving):
        figure.add_trace(_line(PARTS[part].name, poses[0][part], PARTS[part]))
    places = [1 + len(fixed) + k for k in range(len(moving))]
    figure.frames = [
        go.Frame(
            name=str(k),
            data=[go.Scatter3d(**_joined(pose[part])) for part in moving],
            traces=places,
        )
        for k, pose in enumerate(poses)
    ]
    return _in_space(figure, poses)


def _drawn_path(robot: Robot, motion: Motion, t: FloatArray) -> FloatArray:
    """The platform's path (M, 3) from t[0] to t[-1], thinned."""
    path = robot.in_space(motion.p[(motion.t >= t[0]) & (motion.t <= t[-1])])
    return path[extreme_rows(path, PATH_POINTS)]


def _still(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})


def _controls(t: FloatArray, seconds: float) -> str:
    """A button and a slider that the keyboard reaches, and the script behind them."""
    times = np.round(t, 4).tolist()
    given = json.dumps({"div": DIV, "times": times, "length": round(1000 * seconds)})
    return (
        '<div class=controls><button type=button id=replay-play>Play</button>'
        f'<input type=range id=replay-slider min=0 max={len(t) - 1} value=0 step=1 '
        'aria-label="Picture of the replay"><output id=replay-time for=replay-slider>'
        f"{t[0]:.2f} s</output></div>"
        f"<script>var replay = {given};\n{asset('replay.js')}</script>"
    )  # fmt: skip
