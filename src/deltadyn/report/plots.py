"""What all figures have alike: colours, layout, thinning, and one way to draw each kind of mark.

The other files of this folder draw through these functions; plotly, a second of import, is loaded
when the first figure is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot

MEASURED, FITTED, FILE, LEFT = "#111111", "#e0570b", "#3f8fd8", "#6b7280"
COLOURS = ("#2676c9", "#c2540a", "#2a7d3f", "#7b3fa0", "#8a5a2b", "#b3246b", "#0f7c86")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star", "cross")
DASHES = ("solid", "dash", "dot", "dashdot")
POINTS = 5000  # per curve: more than a screen has columns
SCALED = 145  # pixels beside a map, for its scale of colours and the tool bar
TITLED = 75  # pixels above panels that have titles, for these and the legend


def colour(number: int) -> str:
    """The colour of the curve with this number from 0; they begin anew after the last."""
    return COLOURS[number % len(COLOURS)]


# What is shown of an axis or a coordinate, and its unit.

MILLIMETRES, DEGREES = (1e3, "mm"), (180 / math.pi, "deg")


def axis_scales(robot: Robot) -> tuple[tuple[float, str], ...]:
    """Of each axis what its coordinate is multiplied by when it is shown, and the unit then."""
    limb = MILLIMETRES if robot.linear else DEGREES
    return (limb,) * robot.legs + (DEGREES,) * (robot.dof - robot.legs)


def coordinate_scales(robot: Robot) -> tuple[tuple[float, str], ...]:
    """The same of the platform's coordinates."""
    return tuple(DEGREES if name == "psi" else MILLIMETRES for name in robot.coordinates)


# Thinning. A picture needs no more samples than pixels, but a peak must not be lost: of every
# interval the smallest and the largest sample are kept.


def extreme_rows(values: FloatArray, points: int) -> npt.NDArray[np.int64]:
    """Rows (M,) of values (N,) or (N, k), at most about `points`: the extremes of every column.

    NaN is no extreme; an interval without numbers keeps one, so that a gap stays a gap. The first
    and the last row are kept where there are several columns.
    """
    columns = values.reshape(len(values), -1)
    if len(columns) <= points:
        return np.arange(len(columns))
    bins = max(1, points // (2 * columns.shape[1]))
    edges = np.linspace(0, len(columns), bins + 1).astype(int)
    unknown = np.isnan(columns)
    low, high = np.where(unknown, np.inf, columns), np.where(unknown, -np.inf, columns)
    rows = [
        start + extremes
        for start, stop in pairwise(edges)
        for extremes in (low[start:stop].argmin(axis=0), high[start:stop].argmax(axis=0))
    ]
    ends = [] if columns.shape[1] == 1 else [np.array([0, len(columns) - 1])]
    return np.unique(np.concatenate([*rows, *ends]))


def thinned(t: FloatArray, values: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """At most about `points` samples of a curve: the lowest and the highest of every interval."""
    rows = extreme_rows(values, points)
    return t[rows], values[rows]


def drawn_curve(
    t: FloatArray, values: FloatArray, starts: Sequence[int], points: int = POINTS
) -> tuple[FloatArray, FloatArray]:
    """A curve of about `points` samples, with a gap between stretches.

    Recordings that begin anew follow one another.
    """
    ends = [*starts[1:], len(t)]
    x: list[FloatArray] = []
    y: list[FloatArray] = []
    last = -np.inf
    for start, stop in zip(starts, ends, strict=True):
        share = max(16, points * (stop - start) // len(t))
        part, curve = thinned(t[start:stop], values[start:stop], share)
        shift = 0.0 if part[0] > last else last - part[0]
        part = part + shift
        last = float(part[-1])
        x += [part, np.array([np.nan])]
        y += [curve, np.array([np.nan])]
    return np.concatenate(x[:-1]), np.concatenate(y[:-1])


# A figure: panels, marks in them, then the layout.


def panels(
    rows: int = 1,
    columns: int = 1,
    *,
    titles: Sequence[str] = (),
    heights: Sequence[float] | None = None,
    down: float | None = None,
    across: float | None = None,
    together: bool = False,
) -> Any:
    """An empty figure of panels; `together` makes all x axes zoom alike.

    `down` and `across` are the gaps between panels as shares of the figure.
    """
    from plotly.subplots import make_subplots

    return make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=titles or None,
        row_heights=heights,
        vertical_spacing=down,
        horizontal_spacing=across,
        shared_xaxes=together,
    )


def finished(
    figure: Any,
    height: int,
    *,
    legend: bool = True,
    x: str = "",
    y: str = "",
    top: int | None = None,
    left: int | None = None,
    right: int | None = None,
) -> Any:
    """The figure with its size, style and, for a single panel, the titles of its axes."""
    figure.update_layout(**layout(height, legend=legend))
    margins = {"t": top, "l": left, "r": right}
    figure.update_layout(margin={key: value for key, value in margins.items() if value is not None})
    if x:
        figure.update_xaxes(title_text=x)
    if y:
        figure.update_yaxes(title_text=y)
    return figure


def layout(height: int, *, legend: bool = True) -> dict[str, Any]:
    """What all figures of a report have alike; the legend stands in a row on top."""
    return {
        "template": "plotly_white",
        "height": height,
        "margin": {"l": 70, "r": 25, "t": 60 if legend else 25, "b": 50},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0.0, "y": 1.0, "yanchor": "top", "yref": "container"},
        "font": {"color": "#222222"},
    }


@dataclass(frozen=True, eq=False)
class Curve:
    """A line y (N,) over x (N,) by name; y (N, dof) where a figure has a panel per axis.

    Stretches begin at the rows `starts`. A hidden curve waits in the legend for a click.
    """

    name: str
    x: FloatArray
    y: FloatArray
    colour: str
    dash: str = "solid"
    width: float = 1.3
    unit: str = ""
    starts: Sequence[int] = (0,)
    hidden: bool = False
    steps: bool = False  # constant around each sample


def draw(
    figure: Any,
    curve: Curve,
    *,
    row: int = 1,
    column: int = 1,
    legend: bool = True,
    points: int = POINTS,
) -> None:
    """Draw a curve into a panel, thinned; curves of one name share an entry of the legend."""
    import plotly.graph_objects as go

    x, y = drawn_curve(curve.x, curve.y, curve.starts, points)
    line = {"color": curve.colour, "width": curve.width, "dash": curve.dash}
    trace = go.Scatter(
        x=x,
        y=y.astype(np.float32),  # half the size of the page; numbers in tables are not these
        mode="lines",
        name=escape(curve.name),
        legendgroup=curve.name,
        showlegend=legend,
        visible="legendonly" if curve.hidden else True,
        line={**line, "shape": "hvh"} if curve.steps else line,
        hovertemplate=f"%{{y:.4g}} {curve.unit}" if curve.unit else None,
    )
    figure.add_trace(trace, row=row, col=column)


def draw_points(
    figure: Any,
    x: Sequence[Any] | FloatArray,
    y: Sequence[Any] | FloatArray,
    colours: str | Sequence[str],
    *,
    half: Sequence[float] | FloatArray | None = None,
    below: FloatArray | None = None,
    name: str = "",
    symbol: str = "circle",
    row: int = 1,
    column: int = 1,
) -> None:
    """Draw points with an interval of `half` to both sides; those with a name are in the legend.

    `below` is the lower half where it is another one.
    """
    import plotly.graph_objects as go

    bars: dict[str, Any] = {"type": "data", "array": half, "color": LEFT}
    if below is not None:
        bars |= {"symmetric": False, "arrayminus": below}
    trace = go.Scatter(
        x=x,
        y=y,
        error_y=None if half is None else bars,
        mode="markers",
        name=name,
        marker={"size": 8, "color": colours, "symbol": symbol},
        showlegend=bool(name),
    )
    figure.add_trace(trace, row=row, col=column)


def draw_bars(
    figure: Any,
    names: Sequence[str],
    values: Sequence[float | None] | FloatArray,
    colours: str | Sequence[str],
    *,
    name: str = "",
    flat: bool = False,
    texts: Sequence[str] | None = None,
    column: int = 1,
) -> None:
    """Draw a bar per name, upright or flat with the first name on top; `texts` stand at its end."""
    import plotly.graph_objects as go

    trace = go.Bar(
        x=values if flat else names,
        y=names if flat else values,
        orientation="h" if flat else "v",
        name=escape(name),
        legendgroup=name,
        showlegend=bool(name) and column == 1,
        text=texts,
        textposition=None if texts is None else "outside",
        cliponaxis=False,
        marker={"color": colours, "line": {"color": LEFT, "width": 0.5}},
    )
    figure.add_trace(trace, row=1, col=column)
    figure.update_layout(barmode="group")
    if flat:
        figure.update_yaxes(autorange="reversed", row=1, col=column)


@dataclass(frozen=True, eq=False)
class Map:
    """Values (rows, columns) as colours over `x` and `y`; `texts` stand in the cells.

    `ends` are the values of the first and the last colour. Without `scale` the colours are those of
    the figure, for maps to compare.
    """

    values: FloatArray
    x: Sequence[Any] | FloatArray
    y: Sequence[Any] | FloatArray
    texts: Sequence[Sequence[str]] | None = None
    scale: str | None = "Viridis"
    ends: tuple[float, float] | None = None
    middle: float | None = None
    hover: str | None = None
    title: str = ""  # of the scale of colours


def draw_map(figure: Any, shown: Map, *, row: int = 1, column: int = 1) -> None:
    """Draw a map of colours into a panel."""
    import plotly.graph_objects as go

    low, high = (None, None) if shown.ends is None else shown.ends
    bar = {"title": {"text": shown.title}, "thickness": 14}
    trace = go.Heatmap(
        z=shown.values,
        x=shown.x,
        y=shown.y,
        zmin=low,
        zmax=high,
        zmid=shown.middle,
        colorscale=shown.scale,
        coloraxis="coloraxis" if shown.scale is None else None,
        text=shown.texts,
        texttemplate=None if shown.texts is None else "%{text}",
        hovertemplate=shown.hover,
        colorbar=None if shown.scale is None else bar,
    )
    figure.add_trace(trace, row=row, col=column)


# Figures that several pages have.

HEIGHTS = (0.66, 0.34)  # of torque and residual


def axes_figure(
    axes: Sequence[str],
    torques: Sequence[Curve],
    residuals: Sequence[Curve] = (),
    points: int = POINTS,
    units: Sequence[str] = (),
) -> Any:
    """Torques (N, dof), a panel per axis; residuals in a panel below; one time axis.

    `units` are those of the axes, N m for all by default.
    """
    shown = units or ("N m",) * len(axes)
    per = 2 if residuals else 1
    kinds = ("torque", "residual")[:per]
    titles = [f"axis {name}: {kind}" if kind == "torque" else kind for name in axes
              for kind in kinds]  # fmt: skip
    figure = panels(
        per * len(axes),
        titles=titles,
        heights=list(HEIGHTS[:per]) * len(axes),
        down=(0.09 if residuals else 0.16) / len(axes),
        together=True,
    )
    told: set[str] = set()
    for axis in range(len(axes)):
        for below, curves in enumerate((torques, residuals)[:per]):
            row = per * axis + below + 1
            for curve in curves:
                own = replace(curve, y=curve.y[:, axis], unit=shown[axis])
                draw(figure, own, row=row, legend=curve.name not in told, points=points)
                told.add(curve.name)
            figure.update_yaxes(title_text=shown[axis], row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=per * len(axes), col=1)
    finished(figure, (270 if residuals else 190) * len(axes) + 120, top=TITLED)
    return figure.update_layout(hovermode="x unified")


def time_figure(curves: Sequence[Curve], label: str, bounds: Sequence[float] = ()) -> Any:
    """Curves over time in one panel, with dotted lines at `bounds`."""
    figure = panels()
    names: set[str] = set()
    for curve in curves:
        draw(figure, curve, legend=curve.name not in names)
        names.add(curve.name)
    for bound in bounds:
        figure.add_hline(y=bound, line={"color": LEFT, "dash": "dot"})
    return finished(figure, 380, x="time (s)", y=label)


ROW = 24  # pixels per parameter
WIDE = 20.0  # times the median: changes that would hide the others on a straight scale


def parameter_figure(fits: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Changes of parameters with their intervals, of one fit or of several by name.

    A row of a fit holds name, value, low, high and `before`, the value that it is held against.
    Parameters with 0 before are shown with their own value.
    """
    before = {row["name"]: row["before"] for rows in fits.values() for row in rows}
    groups = [
        ("change (%)", [name for name, value in before.items() if value]),
        ("value in its unit (0 before)", [name for name, value in before.items() if not value]),
    ]
    groups = [group for group in groups if group[1]]
    pixels = ROW if len(fits) < 3 else 12 * len(fits)
    heights = [pixels * len(names) + 10 for _, names in groups]
    height = sum(heights) + 70 * len(groups) + 30
    gap = 70 / height if len(groups) > 1 else 0.0
    figure = panels(max(1, len(groups)), heights=heights or None, down=gap)
    for place, (title, names) in enumerate(groups, 1):
        _draw_parameters(figure, place, title, names, fits)
    return finished(figure, height, legend=len(fits) > 1, left=95)


def _draw_parameters(
    figure: Any,
    place: int,
    title: str,
    names: list[str],
    fits: Mapping[str, Sequence[Mapping[str, Any]]],
) -> None:
    """One panel: a line of the figure per parameter, the fits side by side on it."""
    import plotly.graph_objects as go

    points: dict[str, FloatArray] = {}
    for fit, rows in fits.items():
        shown = [row for row in rows if row["name"] in names]
        scale = [100 / abs(row["before"]) if row["before"] else 1.0 for row in shown]
        ends = [
            [(_finite(row[key], row["value"]) - row["before"]) * factor for row, factor in zip(
                shown, scale, strict=True)]
            for key in ("low", "value", "high")
        ]  # fmt: skip
        points[fit] = np.array(ends).reshape(3, len(shown))
    every = np.concatenate([found.ravel() for found in points.values()])
    unit = "%" if title.endswith("(%)") else ""
    squeeze, ticks = _axis_scale(every, bool(unit))
    for number, (fit, rows) in enumerate(fits.items()):
        shown = [row for row in rows if row["name"] in names]
        low, middle, high = (squeeze(values) for values in points[fit])
        aside = 0.5 * (number - (len(fits) - 1) / 2) / len(fits)
        trace = go.Scatter(
            y=[names.index(row["name"]) + aside for row in shown],
            x=middle,
            error_x={"type": "data", "symmetric": False, "array": high - middle,
                     "arrayminus": middle - low, "thickness": 1.6},
            mode="markers",
            marker={"size": 8, "color": colour(number),
                    "symbol": SYMBOLS[number % len(SYMBOLS)]},
            name=fit,
            legendgroup=fit,
            showlegend=place == 1,
            text=[f"{row['name']}: {value:.4g} {unit}" for row, value in zip(
                shown, points[fit][1], strict=True)],
            hovertemplate="%{text}",
        )  # fmt: skip
        figure.add_trace(trace, row=place, col=1)
    figure.add_vline(x=0.0, line_color=LEFT, row=place, col=1)
    figure.update_xaxes(title_text=title, title_standoff=5, row=place, col=1, **ticks)
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.4, -0.6],
        row=place,
        col=1,
    )


def _finite(value: float | None, otherwise: float) -> float:
    """An end of an interval; the value itself where the data do not identify it."""
    return otherwise if value is None or not np.isfinite(value) else value


def _axis_scale(values: FloatArray, changes: bool) -> tuple[Any, dict[str, Any]]:
    """The scale of an axis: straight, or powers of ten where a few changes dwarf the others.

    Gives the function from values to places and plotly's ticks.
    """
    sizes = np.abs(values[values != 0])
    most = float(sizes.max(initial=0.0))
    if not changes or not sizes.size or most < WIDE * float(np.median(sizes)) or most < 100:
        return (lambda x: x), {"tickformat": ".3~g"}

    return squeezed, power_ticks(float(squeezed(np.array(most))))


def squeezed(x: FloatArray) -> FloatArray:
    """Places on a scale that is straight near 0 and goes by powers of ten beyond 1."""
    out: FloatArray = np.sign(x) * np.log10(1 + np.abs(x))
    return out


def power_ticks(most: float) -> dict[str, Any]:
    """Plotly's ticks for places of `squeezed` up to `most`."""
    powers = [10.0**k for k in range(int(np.ceil(max(most, 0.1))) + 1)]
    marks = np.array([*(-power for power in reversed(powers)), 0.0, *powers])
    return {"tickvals": squeezed(marks).tolist(), "ticktext": [f"{mark:g}" for mark in marks]}
