"""Plots over time: a tree of channels, derived signals, and curves that share one time axis.

All rows of a plot have the same x axis: a zoom or a pan of one is that of all, and the cursor goes
through all of them. Where a user zooms in, the samples in sight are sent anew, so that a closer
look shows more than the whole did.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.recording import Recording
from deltadyn.report.plots import COLOURS, axis_scales, coordinate_scales, extreme_rows
from deltadyn.robot import Robot
from deltadyn.studio.forms import Form, Mailbox, Values, branch, run_script, tick

if TYPE_CHECKING:
    from deltadyn.motion.motion import Motion
    from deltadyn.studio.motion import Track
    from deltadyn.studio.server import Window

# Channels: what can be drawn, and how it is derived from a motion with its torques.

POINTS = 1200  # of a curve in sight: the extremes, about two per pixel


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: times (N,) in s after the start of the motion, and values (N,)."""

    t: FloatArray
    y: FloatArray

    def thinned(self, span: tuple[float, float] | None) -> Curve:
        """Few samples: the extremes of the whole, and those of the span in sight (s)."""
        rows = extreme_rows(self.y, POINTS)
        if span is not None:
            low, high = np.searchsorted(self.t, span)
            near = slice(max(int(low) - 1, 0), int(high) + 1)
            rows = np.union1d(rows, near.start + extreme_rows(self.y[near], POINTS))
        return Curve(self.t[rows], self.y[rows])


@dataclass(frozen=True, eq=False)
class Channel:
    """A leaf of the tree: curves by name; those of a group `together` share a row of the plot.

    A `first` one is drawn until the user chooses.
    """

    group: str
    name: str
    unit: str
    curves: dict[str, Curve]
    together: bool = True
    first: bool = False

    @property
    def key(self) -> str:
        """Its name in the tree."""
        return f"{self.group}/{self.name}"

    @property
    def row(self) -> str:
        """The title of its row of the plot."""
        return self.group if self.together else f"{self.group} {self.name}"


TORQUE, POWER = "torque", "power"


def track_channels(track: Track, robot: Robot, log: Recording | None = None) -> list[Channel]:
    """Channels of a motion: torque and power (tau qd) by model, joints, platform, and the log's.

    The log's are what it recorded and the external force that was found in it.
    """
    motion, axes = track.motion, robot.axis_names()
    t = np.asarray(motion.t - motion.t[0])
    found = [
        Channel(TORQUE, axis, unit, _of_models(t, track.curves, k), together=False, first=True)
        for k, (axis, unit) in enumerate(zip(axes, robot.axis_units("tau"), strict=True))
    ]
    power = {name: tau * motion.qd for name, tau in track.curves.items()}
    found += [
        Channel(POWER, axis, "W", _of_models(t, power, k), together=False)
        for k, axis in enumerate(axes)
    ]
    total = {name: Curve(t, value.sum(axis=1)) for name, value in power.items()}
    found.append(Channel(POWER, "all axes", "W", total, together=False))
    found += _joint_channels(t, motion, robot)
    found += _platform_channels(t, motion, robot)
    if track.force is not None:
        found += track.force.channels(float(motion.t[0]))
    if log is not None:
        found += _log_channels(log, float(motion.t[0]), robot)
    return found


def _of_models(t: FloatArray, curves: Mapping[str, FloatArray], axis: int) -> dict[str, Curve]:
    return {name: Curve(t, value[:, axis]) for name, value in curves.items()}


def _joint_channels(t: FloatArray, motion: Motion, robot: Robot) -> list[Channel]:
    """Angle, rate and acceleration of the joints; of carriages their place."""
    word = "place" if robot.linear else "angle"
    rows = ((word, motion.q, ""), ("rate", motion.qd, "/s"), ("acceleration", motion.qdd, "/s²"))
    return [
        _axis_channel(group, axis, robot, k, t, value, per)
        for group, value, per in rows
        for k, axis in enumerate(robot.axis_names())
    ]


def _axis_channel(
    group: str, axis: str, robot: Robot, k: int, t: FloatArray, value: FloatArray, per: str
) -> Channel:
    """Values (N, dof) of the axis k in the unit that is shown; another unit has its own row."""
    scales = axis_scales(robot)
    (scale, unit), first = scales[k], scales[0][1]
    own = Curve(t, scale * value[:, k])
    return Channel(group, axis, f"{unit}{per}", {f"axis {axis}": own}, together=unit == first)


def _platform_channels(t: FloatArray, motion: Motion, robot: Robot) -> list[Channel]:
    found = []
    for k, (name, (scale, unit)) in enumerate(
        zip(robot.coordinates, coordinate_scales(robot), strict=True)
    ):
        if name != "psi" or robot.spindle is None:  # the spindle's psi is an axis already
            curve = Curve(t, scale * motion.p[:, k])
            found.append(Channel("platform", name, unit, {name: curve}, together=unit == "mm"))
    for group, value, unit in (
        ("platform speed", motion.pd, "m/s"),
        ("platform acceleration", motion.pdd, "m/s²"),
    ):
        size = np.linalg.norm(robot.in_space(value), axis=1)
        found.append(Channel(group, "size", unit, {group: Curve(t, size)}))
    return found


def _log_channels(log: Recording, start: float, robot: Robot) -> list[Channel]:
    """What the log has beside angles and torques, and the following error."""
    t = np.asarray(log.t - start)
    found: list[Channel] = []
    for k, axis in enumerate(robot.axis_names()):
        if log.q_command is not None:
            error = log.q - log.q_command
            found.append(_axis_channel("following error", axis, robot, k, t, error, ""))
        if log.current is not None:
            curve = Curve(t, np.asarray(log.current)[:, k])
            found.append(Channel("current", axis, "A", {f"axis {axis}": curve}))
        if log.qd is not None:
            rate = np.asarray(log.qd)
            found.append(_axis_channel("recorded rate", axis, robot, k, t, rate, "/s"))
        if log.tau_command is not None:
            unit, curve = robot.axis_units("tau")[k], Curve(t, np.asarray(log.tau_command)[:, k])
            together = unit == robot.axis_units("tau")[0]
            curves = {f"axis {axis}": curve}
            found.append(Channel("commanded torque", axis, unit, curves, together=together))
    if log.temperature is not None:
        found.append(Channel("temperature", "drive", "°C", {"drive": Curve(t, log.temperature)}))
    return found


def tree_html(channels: Sequence[Channel], shown: Iterable[str]) -> str:
    """The tree: groups that open, with a box to tick for every channel."""
    chosen = set(shown)
    groups: dict[str, list[Channel]] = {}
    for channel in channels:
        groups.setdefault(channel.group, []).append(channel)
    told = []
    for group, own in groups.items():
        ticks = "".join(tick(each.key, each.key in chosen, each.name) for each in own)
        title = f"{group} ({own[0].unit})"
        told.append(branch(title, ticks, opened=any(each.key in chosen for each in own)))
    return branch("Channels", "".join(told), opened=False)


# The figure, as plotly reads it.

ROW, LOW, TOP = 112, 34, 46  # pixels: a row, below the rows, above them
WIDTH = 410  # pixels of a figure in the panel
GRID = "#e3e6ea"
INK = "#1c2330"
MODEL_COLOURS = {
    "measured": "#111111",
    "exact": "#1f77d0",
    "robot file": "#1f77d0",
    "half-half": "#d2691e",
    "identified": "#d62728",
    "before the changes": "#2c8c6e",
    "contact": "#8c14dc",
    "threshold": "#d62728",
    "limit": "#d62728",
}


class Figure:
    """A figure of plotly as plain data; viser asks for its JSON."""

    def __init__(self, data: dict[str, Any] | None = None, height: int = 0) -> None:
        self.data, self.height = data, height

    def to_json(self) -> str:
        """What the page draws; nothing where there is no figure."""
        return "" if self.data is None else json.dumps(self.data, separators=(",", ":"))


def time_figure(
    channels: Sequence[Channel],
    span: tuple[float, float] | None = None,
    now: float | None = None,
    turn: int = 0,
) -> Figure:
    """Rows of curves over one time axis; `now` (s) is drawn as an upright line.

    The page keeps a user's zoom as long as `turn` is the same.
    """
    if not channels:
        return Figure()
    rows: dict[str, list[Channel]] = {}
    for channel in channels:
        rows.setdefault(channel.row, []).append(channel)
    height = LOW + TOP + ROW * len(rows)
    traces: list[dict[str, Any]] = []
    layout = _layout(height)
    seen: dict[str, str] = {}
    step = 1 / len(rows)
    gap = 0.1 * step
    for k, (title, own) in enumerate(rows.items()):
        axis = "" if k == 0 else str(k + 1)
        bottom = 1 - (k + 1) * step
        layout[f"yaxis{axis}"] = {
            "domain": [bottom + (gap if k + 1 < len(rows) else 0.0), bottom + step - gap],
            "title": {"text": f"{title}<br>({own[0].unit})", "font": {"size": 10}},
            "anchor": "x",
            "gridcolor": GRID,
            "zerolinecolor": "#b9c0c9",
            "nticks": 5,
            "uirevision": f"{turn} {title}",
        }
        for name, curve in ((n, c) for each in own for n, c in each.curves.items()):
            traces.append(_trace(name, curve.thinned(span), f"y{axis}", seen))
            traces[-1]["hovertemplate"] = f"{title} %{{y:.4g}} {own[0].unit}"
    layout["xaxis"]["uirevision"] = str(turn)
    layout["xaxis"]["anchor"] = f"y{len(rows)}" if len(rows) > 1 else "y"
    if now is not None:
        layout["shapes"] = [_needle(now)]
    config = {
        "displaylogo": False,
        "displayModeBar": True,
        "scrollZoom": True,
        "modeBarButtons": [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    }
    return Figure({"data": traces, "layout": layout, "config": config}, height)


def _layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 58, "r": 8, "t": TOP, "b": LOW},
        "font": {"size": 10, "color": INK},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "dragmode": "zoom",
        "hovermode": "x unified",
        "hoversubplots": "axis",
        "hoverlabel": {"font": {"size": 9}, "bgcolor": "rgba(255,255,255,0.8)"},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "yref": "paper"},
        "modebar": {"orientation": "h", "bgcolor": "rgba(255,255,255,0.7)"},
        "xaxis": {
            "title": {"text": "time (s)", "standoff": 2},
            "gridcolor": GRID,
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "cursor",
            "spikethickness": 1,
            "spikecolor": "#6b7280",
            "hoverformat": ".4g",
            "zeroline": False,
        },
    }


def _needle(now: float) -> dict[str, Any]:
    line = {"color": "#111111", "width": 1.5, "dash": "dot"}
    return {"type": "line", "yref": "paper", "x0": now, "x1": now, "y0": 0, "y1": 1, "line": line}


def _trace(name: str, curve: Curve, axis: str, seen: dict[str, str]) -> dict[str, Any]:
    first = name not in seen
    ink = seen.setdefault(name, MODEL_COLOURS.get(name, COLOURS[len(seen) % len(COLOURS)]))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "showlegend": first,
        "x": np.round(curve.t, 6).tolist(),
        "y": [None if math.isnan(value) else float(f"{value:.6g}") for value in curve.y],
        "yaxis": axis,
        "xaxis": "x",
        "line": {"color": ink, "width": 2.2 if name == "measured" else 1.3},
    }


# The plot on the page.

#: Tells the server of zooms and clicks. viser draws by `Plotly.react`, so this one goes before it.
HEAR_PLOTS = """
if (!Plotly.deltadyn) {
  Plotly.deltadyn = true;
  const react = Plotly.react;
  Plotly.react = (div, data, layout, config) => react(div, data, layout, config).then(drawn => {
    const field = layout.meta && layout.meta.field;
    if (!field) return drawn;
    for (const [name, act] of Object.entries(div.deltadyn || {})) div.removeListener(name, act);
    div.deltadyn = {
      plotly_relayout: change => {
        if (Object.keys(change).some(key => key.startsWith('xaxis')))
          deltadynSend(field, {span: div.layout.xaxis.range,
                               whole: Boolean(div.layout.xaxis.autorange)});
      },
      plotly_click: click => deltadynSend(field, {at: click.points[0].x}),
    };
    for (const [name, act] of Object.entries(div.deltadyn)) div.on(name, act);
    if (!div.deltadynWheel) {  // without Ctrl the wheel is the panel's, which scrolls
      div.deltadynWheel = event => { if (!event.ctrlKey) event.stopPropagation(); };
      div.addEventListener('wheel', div.deltadynWheel, {capture: true});
    }
    return drawn;
  });
}
"""
MOVE_NEEDLE = """
for (const div of document.querySelectorAll('.js-plotly-plot'))
  if (div.layout && div.layout.meta && div.layout.meta.field === %s && div.layout.shapes)
    Plotly.relayout(div, {'shapes[0].x0': %f, 'shapes[0].x1': %f});
"""


class TimePlot:
    """A tree of channels and their plot; `seek` hears the time (s) of a click on a curve."""

    def __init__(
        self, window: Window, *, seek: Callable[[float], None] | None = None, tree: bool = True
    ) -> None:
        gui: Any = window.client.gui
        self._window, self._seek = window, seek
        self._tree = Form(window, self._ticked) if tree else None
        self._mailbox = Mailbox(window, self._heard)
        self._place = gui.add_folder(None)
        self._plot: Any = None  # made when it is needed: plotly is large
        self._channels: list[Channel] = []
        self._shown: list[str] = []
        self._span: tuple[float, float] | None = None
        self._now: float | None = None
        self._about: object = None
        self._turn = 0  # counts what the channels are about: each begins without zoom

    def show(
        self, channels: Sequence[Channel], *, now: float | None = None, about: object = None
    ) -> None:
        """Draw other channels: those that were ticked, or the first ones.

        A user's zoom stays where they are `about` the same thing as those before.
        """
        before = {each.key for each in self._channels}
        self._channels, self._now = list(channels), now
        if about is None or about is not self._about:
            self._span = None
            self._turn += 1
        self._about = about
        known = [each.key for each in channels]
        kept = [key for key in self._shown if key in known]
        first = [each.key for each in channels if each.first]
        self._shown = kept + [key for key in first if key not in before] if kept else first
        if self._tree is not None:
            self._tree.show(tree_html(channels, self._shown) if channels else "")
        self._draw()

    def move_needle(self, seconds: float) -> None:
        """Show another time as now."""
        self._now = seconds
        if self._channels:
            field = json.dumps(self._mailbox.field)
            run_script(self._window.client, MOVE_NEEDLE % (field, seconds, seconds))

    @property
    def shown(self) -> list[Channel]:
        """The channels that are drawn."""
        return [each for each in self._channels if each.key in self._shown]

    def _ticked(self, values: Values) -> None:
        self._shown = [key for key, ticked in values.items() if ticked is True]
        self._draw()

    def _heard(self, told: Values) -> None:
        if "at" in told and self._seek is not None:
            self._seek(float(told["at"]))
        elif "whole" in told:
            low, high = told["span"]
            self._span = None if told["whole"] else (float(low), float(high))
            self._draw()

    def _draw(self) -> None:
        figure = time_figure(self.shown, self._span, self._now, self._turn)
        if self._plot is None:
            if figure.data is None:
                return
            with self._place:
                self._plot = self._window.client.gui.add_plotly(Figure())
            run_script(self._window.client, HEAR_PLOTS)
        if figure.data is not None:
            figure.data["layout"]["meta"] = {"field": self._mailbox.field}
            self._plot.aspect = figure.height / WIDTH
        self._plot.figure = figure
