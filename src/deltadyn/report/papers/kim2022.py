"""The figures of [kim2022]: torques, convergence of the swarm, fitness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.report.papers import Figure, paths
from deltadyn.reproduce.kim2022 import (
    PROPOSED,
    TABLE_1_MENDED,
    TABLE_1_PRINTED,
    TABLE_1_RUBBED,
    TABLE_2,
    Bench,
)
from deltadyn.reproduce.trials import JOINTS

COLORS = {
    "proposed (swarm)": "#1f77b4",
    "RLS as printed": "#d62728",
    "DLS as printed": "#ff9d1c",
    "SVD as printed": "#9467bd",
    "exact model": "#2ca02c",
}
GIVEN_COLORS = {
    TABLE_1_PRINTED: "#d62728",
    TABLE_1_MENDED: "#ff9d1c",
    TABLE_1_RUBBED: "#2ca02c",
}
BASELINE_FIGURES = {"RLS as printed": "7", "DLS as printed": "8", "SVD as printed": "9"}
HIDDEN = ("DLS as printed", "SVD as printed")  # until their name is clicked: near RLS
MEASURED = ("measured", "#111111", 3.0)
SHOWN = (2.0, 6.0)  # s of the identification motion: after its ramp, and it repeats


def figures(bench: Bench) -> tuple[Figure, ...]:
    """Figures 3 and 5 to 10, table 2 as bars, and how the swarm draws near the optimum."""
    click = " Click a name to show or hide its curve."
    share = 100 * float((bench.seen.limited(bench.seen.tau)[:, 0] < 0).mean())
    fits = [
        Figure(
            f"{name.partition(' ')[0]} and the swarm on the identification motion "
            f"(figure {number})",
            partial(seen_figure, bench, {name: _fit(bench, name), PROPOSED: _fit(bench, PROPOSED)}),
        )
        for name, number in BASELINE_FIGURES.items()
    ]
    return (
        Figure("The motions (figure 5)", partial(path_figure, bench), "Commanded paths, ours."),
        Figure(
            "The manufacturer's data against the measured torque of joint 1 (figure 3)",
            partial(given_figure, bench),
            "Top (3a): eq. 1 with table 1. Bottom (3b): eq. 26 with what the swarm identified. The "
            f"paper draws square roots as voltages; at {share:.0f} % of the samples the torque is "
            "negative and has none, so torques are drawn." + click,
        ),
        Figure(
            "The swarm on the identification motion (figure 6)",
            partial(seen_figure, bench, {PROPOSED: _fit(bench, PROPOSED)}),
            "After the ramp; measured and computed torque below 30 Hz.",
        ),
        *fits,
        Figure(
            "Torques on the validation motion (figure 10)",
            partial(torque_figure, bench),
            "Measured and predicted torque below 30 Hz." + click,
        ),
        Figure(
            "Fitness (table 2)",
            partial(fitness_figure, bench),
            "Filled: ours, on the bench. Hollow: the paper's robot. The axis does not begin at 0.",
        ),
        Figure(
            "The swarm draws near the proven optimum",
            partial(convergence_figure, bench),
            "The objective (33) of the best particle over the proven lower bound, less 1. The "
            "dashed line is least squares on the same columns.",
        ),
    )


def _fit(bench: Bench, name: str) -> FloatArray:
    return bench.outcomes[name].seen_torque


def path_figure(bench: Bench) -> Any:
    """The commanded paths of the platform, side by side."""
    return paths({name: motion.p for name, motion in bench.motions.items()})


def given_figure(bench: Bench) -> Any:
    """Joint 1: measured, by eq. 1 with table 1 as printed and mended, by the swarm."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    rows = _window(bench)
    t, measured = bench.seen.times[rows], bench.seen.limited(bench.seen.tau)[rows, 0]
    given = {name: bench.given[name].torque[rows, 0] for name in GIVEN_COLORS}
    swarm = _fit(bench, PROPOSED)[rows, 0]
    for row in (1, 2):
        _line(figure, t, measured, MEASURED, row, legend=row == 1)
    for name, color in GIVEN_COLORS.items():
        _line(figure, t, given[name], (name, color, 1.4), 1, legend=True)
    _line(figure, t, swarm, (PROPOSED, COLORS[PROPOSED], 1.4), 2, legend=True)
    for row in (1, 2):
        figure.update_yaxes(title_text="tau_1 (N m)", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return _finished(figure, 560)


def seen_figure(bench: Bench, fits: Mapping[str, FloatArray]) -> Any:
    """Measured and fitted torque on a part of the identification motion, per joint."""
    rows = _window(bench)
    fitted = {name: tau[rows] for name, tau in fits.items()}
    return _joints(bench.seen.times[rows], bench.seen.limited(bench.seen.tau)[rows], fitted)


def torque_figure(bench: Bench) -> Any:
    """Measured torque and five predictions on the validation motion, per joint."""
    measured = bench.unseen.limited(bench.unseen.tau)
    predicted = {name: bench.outcomes[name].torque for name in COLORS}
    return _joints(bench.unseen.times, measured, predicted, HIDDEN)


def _joints(
    t: FloatArray,
    measured: FloatArray,
    computed: Mapping[str, FloatArray],
    hidden: Sequence[str] = (),
) -> Any:
    """Curves of three joints below each other."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.03)
    for axis, joint in enumerate(JOINTS):
        _line(figure, t, measured[:, axis], MEASURED, axis + 1, legend=axis == 0)
        for name, tau in computed.items():
            style, visible = (name, COLORS[name], 1.3), name not in hidden
            _line(figure, t, tau[:, axis], style, axis + 1, legend=axis == 0, visible=visible)
        figure.update_yaxes(title_text=f"{joint} (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=3, col=1)
    return _finished(figure, 700)


def _line(
    figure: Any,
    x: FloatArray,
    y: FloatArray,
    style: tuple[str, str, float],
    row: int,
    *,
    legend: bool,
    visible: bool = True,
) -> None:
    """A curve with name, colour and width."""
    import plotly.graph_objects as go

    name, color, width = style
    trace = go.Scatter(
        x=x,
        y=y,
        name=name,
        legendgroup=name,
        showlegend=legend,
        visible=True if visible else "legendonly",
        line={"color": color, "width": width},
    )
    figure.add_trace(trace, row=row, col=1)


def _finished(figure: Any, height: int) -> Any:
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"t": 30},
        legend={"orientation": "h", "y": 1 + 45 / height},
        hovermode="x unified",
    )
    return figure


def _window(bench: Bench) -> slice:
    """Samples of the identification motion that are shown."""
    times = bench.seen.times
    low, high = (int(np.searchsorted(times, times[0] + second)) for second in SHOWN)
    return slice(low, high)


def fitness_figure(bench: Bench) -> Any:
    """Fitness per joint and method by eq. 41, ours beside the paper's."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, color in COLORS.items():
        pairs = [(name, bench.outcomes[name].found.fitness, color)]
        if name in TABLE_2:
            pairs.append((f"{name}, paper", np.array(TABLE_2[name]), "white"))
        for label, values, fill in pairs:
            bar = go.Bar(
                x=JOINTS,
                y=values,
                name=label,
                marker={"color": fill, "line": {"color": color, "width": 1.5}},
            )
            figure.add_trace(bar)
    lowest = min(float(trace.y.min()) for trace in figure.data)
    figure.update_layout(
        template="plotly_white",
        height=420,
        margin={"t": 30},
        barmode="group",
        yaxis={"title": "fitness", "range": [max(0.0, lowest - 0.05), 1.0]},
    )
    return figure


def convergence_figure(bench: Bench) -> Any:
    """The best objective so far above the proven bound, over the iterations."""
    import plotly.graph_objects as go

    bound = bench.optimum.bound
    above = np.maximum(bench.swarm.history / bound - 1, 1e-16)  # below is rounding
    squares = bench.outcomes["RLS on its columns"].above
    figure = go.Figure(
        go.Scatter(x=np.arange(len(above)), y=above, name="swarm", line={"color": "#1f77b4"})
    )
    figure.add_hline(y=squares, line={"dash": "dash", "color": "#888888"})
    figure.update_layout(
        template="plotly_white",
        height=420,
        margin={"t": 30},
        xaxis_title="iteration",
        yaxis={"title": "above the optimum", "type": "log", "exponentformat": "power"},
    )
    return figure
