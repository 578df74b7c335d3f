"""Figures of a fit: parameters with intervals, correlation, torque of the training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

MEASURED, FITTED, LEFT = "#111111", "#1f5fa8", "#6b7280"
COLOURS = ("#1f5fa8", "#c2540a", "#2a7d3f", "#7b3fa0", "#8a5a2b", "#b3246b", "#0f7c86")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star", "cross")
ROW = 24  # pixels per parameter
WIDE = 20.0  # times the median: changes that would hide the others on a straight scale


def parameter_figure(fits: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Changes of parameters with their intervals, of one fit or of several by name.

    A row of a fit holds name, value, low, high and `before`, the value that it is held against.
    Parameters with 0 before are shown with their own value.
    """
    from plotly.subplots import make_subplots  # a second of import

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
    figure = make_subplots(
        rows=max(1, len(groups)), cols=1, row_heights=heights or None, vertical_spacing=gap
    )
    for place, (title, names) in enumerate(groups, 1):
        _draw_parameters(figure, place, title, names, fits)
    figure.update_layout(**layout(height, legend=len(fits) > 1))
    figure.update_layout(margin={"l": 95})
    return figure


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
            marker={"size": 8, "color": COLOURS[number % len(COLOURS)],
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
    """An end of an interval; the value itself where the data do not tell it."""
    return otherwise if value is None or not np.isfinite(value) else value


def _axis_scale(values: FloatArray, changes: bool) -> tuple[Any, dict[str, Any]]:
    """The scale of an axis: straight, or powers of ten where a few changes dwarf the others.

    Gives the function from values to places and plotly's ticks.
    """
    sizes = np.abs(values[values != 0])
    most = float(sizes.max(initial=0.0))
    if not changes or not sizes.size or most < WIDE * float(np.median(sizes)) or most < 100:
        return (lambda x: x), {"tickformat": ".3~g"}

    def squeeze(x: FloatArray) -> FloatArray:
        out: FloatArray = np.sign(x) * np.log10(1 + np.abs(x))
        return out

    powers = [10.0**k for k in range(int(np.ceil(np.log10(most))) + 1)]
    marks = np.array([*(-power for power in reversed(powers)), 0.0, *powers])
    words = [f"{mark:g}" for mark in marks]
    return squeeze, {"tickvals": squeeze(marks).tolist(), "ticktext": words}


def correlation_figure(names: Sequence[str], r: FloatArray) -> Any:
    """A map of correlations (k, k) with the names of the parameters."""
    import plotly.graph_objects as go

    few = len(names) <= 16
    text = [["" if np.isnan(x) else f"{x:.2f}" for x in row] for row in r]
    heat = go.Heatmap(
        z=r,
        x=list(names),
        y=list(names),
        zmin=-1,
        zmax=1,
        colorscale="RdBu_r",
        text=text if few else None,
        texttemplate="%{text}" if few else None,
        hovertemplate="%{y} with %{x}: %{z:.3f}<extra></extra>",
        colorbar={"title": {"text": "r"}, "thickness": 14},
    )
    figure = go.Figure(heat)
    size = max(300, min(640, 34 * len(names) + 130))
    figure.update_layout(**layout(size, legend=False), width=size + 50)
    figure.update_layout(margin={"l": 95})
    turned = None if len(names) <= 12 else -60
    figure.update_xaxes(type="category", dtick=1, constrain="domain", tickangle=turned)
    figure.update_yaxes(type="category", dtick=1, autorange="reversed", scaleanchor="x")
    return figure


def excerpt_figure(fit: Fit) -> Any:
    """Measured and fitted torque and their difference, one row per axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    assert fit.excerpt is not None
    part, dof = fit.excerpt, fit.robot.dof
    titles = [f"axis {name}" for name in fit.robot.axis_names()]
    figure = make_subplots(
        rows=dof, cols=1, shared_xaxes="all", subplot_titles=titles, vertical_spacing=0.16 / dof
    )
    for axis in range(dof):
        for name, values, colour in (
            ("measured", part.measured[:, axis], MEASURED),
            ("fitted", part.fitted[:, axis], FITTED),
            ("difference", (part.measured - part.fitted)[:, axis], LEFT),
        ):
            line = go.Scatter(
                x=part.t,
                y=values,
                mode="lines",
                name=name,
                line={"color": colour, "width": 1.2},
                legendgroup=name,
                showlegend=axis == 0,
            )
            figure.add_trace(line, row=axis + 1, col=1)
        figure.update_yaxes(title_text="N m", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=dof, col=1)
    figure.update_layout(**layout(190 * dof + 130))
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
