"""Section: the robot on its motion in 3-D, with play and pause; a drawing for paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.skeleton import skeleton
from deltadyn.motion.motion import Motion
from deltadyn.report.html import Section, figure_html
from deltadyn.report.picture import drawn_spacing, robot_lines
from deltadyn.report.plots import layout
from deltadyn.robot import Robot

# The robot as a line drawing in SVG, for paper.


AZIMUTH, ELEVATION = np.deg2rad(-50.0), np.deg2rad(18.0)  # of the eye
WIDTH = 460  # pixels
MARGIN = 12
STROKES = {
    "base": ("#6b7280", 3.0),
    "arm": ("#1f5fa8", 5.0),
    "strut": ("#8a9099", 1.6),
    "platform": ("#c2540a", 3.5),
    "spindle": ("#3f3f46", 2.6),
    "pointer": ("#b3246b", 2.6),
}


def still_svg(path: FloatArray, poses: Sequence[Mapping[str, Sequence[FloatArray]]]) -> str:
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
    for k, pose in enumerate(poses):
        if k != middle:
            parts += [_strokes(drawn, pose, 0.25)]
    parts += [drawn(path, "#b3246b", 1.2, 1.0), _strokes(drawn, poses[middle], 1.0)]
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


def _strokes(drawn: object, pose: Mapping[str, Sequence[FloatArray]], opacity: float) -> str:
    assert callable(drawn)
    return "".join(
        drawn(line, *STROKES[part], opacity) for part, lines in pose.items() for line in lines
    )


FRAMES = 100
WINDOW = 4.0  # s of a motion that are replayed: the liveliest
SHOWN = 4.0  # s that the replay takes on the screen, at least
PATH_POINTS = 600
DIV = "replay-plot"
#: Part: colour, width, and its name in the legend.
PARTS = {
    "base": ("#6b7280", 6, "base"),
    "arm": ("#1f5fa8", 9, "arms"),
    "strut": ("#8a9099", 4, "rods"),
    "platform": ("#c2540a", 7, "platform"),
    "spindle": ("#3f3f46", 6, "spindle"),
    "pointer": ("#b3246b", 6, "direction of the effector"),
}


def replay_section(robot: Robot, motion: Motion) -> Section:
    """The liveliest part of the motion, frame by frame."""
    rows = replay_rows(motion)
    t, p = motion.t[rows], motion.p[rows]
    poses = [_lines(robot, point) for point in p]
    window = float(t[-1] - t[0])
    seconds = max(window, SHOWN)
    whole = window >= 0.999 * motion.duration
    part = "The whole motion" if whole else f"The liveliest {window:.3g} s of the motion"
    speed = "in real time" if seconds == window else f"slowed down {seconds / window:.3g} times"
    caption = f"{part}, {len(rows)} pictures, {speed}. Drag to turn the view, scroll to zoom."
    block = figure_html(
        "Replay",
        replay_figure(robot, motion, t, poses),
        caption,
        div_id=DIV,
        controls=_controls(t, seconds),
        still=still_svg(motion.p[_thin(rows), :3], [poses[k] for k in _still(len(poses))]),
    )
    numbers = {
        "from_s": float(t[0]),
        "to_s": float(t[-1]),
        "frames": len(rows),
        "slowed_down": seconds / window,
    }
    return Section("replay", "Replay of the motion", (block,), numbers)


def replay_rows(motion: Motion) -> Any:
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


def replay_figure(
    robot: Robot, motion: Motion, t: FloatArray, poses: list[dict[str, list[FloatArray]]]
) -> Any:
    """The first picture, and a frame with the moving parts for every pose."""
    import plotly.graph_objects as go

    moving = [part for part in poses[0] if part != "base"]
    figure = go.Figure()
    inside = (motion.t >= t[0]) & (motion.t <= t[-1])
    path = motion.p[inside, :3]
    path = path[:: max(1, len(path) // PATH_POINTS)]
    figure.add_trace(_line("path", [path], "#b3246b", 3))
    for part in ("base", *moving):
        colour, width, name = PARTS[part]
        figure.add_trace(_line(name, poses[0][part], colour, width))
    places = list(range(2, 2 + len(moving)))
    figure.frames = [
        go.Frame(
            name=str(k),
            data=[_moved(pose[part]) for part in moving],
            traces=places,
        )
        for k, pose in enumerate(poses)
    ]
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
    figure.update_layout(
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
    return figure


def _lines(robot: Robot, point: FloatArray) -> dict[str, list[FloatArray]]:
    """The robot's lines by part, with the direction of the effector where it turns."""
    lines = robot_lines(robot, skeleton(robot, point), drawn_spacing(robot))
    if robot.dof == 4:
        length = 1.5 * max(robot.geometry.platform_radius)
        tip = np.array([np.cos(point[3]), np.sin(point[3]), 0.0]) * length
        lines["pointer"] = [np.stack([point[:3], point[:3] + tip])]
    return lines


def _joined(lines: list[FloatArray]) -> dict[str, list[float | None]]:
    """Lines one after the other with a gap between, to a tenth of a millimetre."""
    out: dict[str, list[float | None]] = {"x": [], "y": [], "z": []}
    for line in lines:
        for k, name in enumerate("xyz"):
            out[name] += [*np.round(line[:, k], 4).tolist(), None]
    return {name: values[:-1] for name, values in out.items()}


def _line(name: str, lines: list[FloatArray], colour: str, width: int) -> Any:
    import plotly.graph_objects as go

    style = {"color": colour, "width": width}
    return go.Scatter3d(**_joined(lines), mode="lines", name=name, line=style, hoverinfo="skip")


def _moved(lines: list[FloatArray]) -> Any:
    import plotly.graph_objects as go

    return go.Scatter3d(**_joined(lines))


def _thin(rows: Any) -> Any:
    return np.arange(int(rows[0]), int(rows[-1]) + 1)[
        :: max(1, (rows[-1] - rows[0]) // PATH_POINTS)
    ]


def _still(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1})


def _controls(t: FloatArray, seconds: float) -> str:
    """A button and a slider that the keyboard reaches, and the script behind them."""
    times = json.dumps(np.round(t, 4).tolist())
    script = _SCRIPT % {"div": DIV, "times": times, "length": round(1000 * seconds)}
    return (
        '<div class=controls><button type=button id=replay-play>Play</button>'
        f'<input type=range id=replay-slider min=0 max={len(t) - 1} value=0 step=1 '
        'aria-label="Picture of the replay"><output id=replay-time for=replay-slider>'
        f"{t[0]:.2f} s</output></div><script>{script}</script>"
    )  # fmt: skip


_SCRIPT = """
(function () {
  var plot = document.getElementById("%(div)s"), play = document.getElementById("replay-play");
  var slider = document.getElementById("replay-slider");
  var out = document.getElementById("replay-time");
  var times = %(times)s, length = %(length)d, last = times.length - 1;
  var began = null, from = 0, busy = false, wanted = null;
  var how = { mode: "immediate", frame: { duration: 0, redraw: true } };
  how.transition = { duration: 0 };
  function show(k) {
    slider.value = k;
    out.textContent = times[k].toFixed(2) + " s";
    if (busy) { wanted = k; return; }
    busy = true;
    Plotly.animate(plot, [String(k)], how).then(done, done);
    function done() {
      busy = false;
      plot.dataset.frame = k;
      if (wanted !== null) { var next = wanted; wanted = null; show(next); }
    }
  }
  function stop() { began = null; play.textContent = "Play"; }
  function step(now) {
    if (began === null) return;
    var k = from + Math.max(0, Math.round((now - began) / length * last));
    if (k >= last) { show(last); stop(); return; }
    if (k !== Number(slider.value)) show(k);
    requestAnimationFrame(step);
  }
  play.addEventListener("click", function () {
    if (began !== null) { stop(); return; }
    from = Number(slider.value) >= last ? 0 : Number(slider.value);
    began = performance.now();
    play.textContent = "Pause";
    requestAnimationFrame(step);
  });
  slider.addEventListener("input", function () { stop(); show(Number(slider.value)); });
})();"""
