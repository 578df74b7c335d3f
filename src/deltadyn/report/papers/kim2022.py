"""The figures of [kim2022]: torques, convergence of the swarm, fitness."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.report.papers import Figure
from deltadyn.reproduce.kim2022 import TABLE_2, Bench
from deltadyn.reproduce.trials import JOINTS

COLORS = {
    "proposed (swarm)": "#1f77b4",
    "RLS as printed": "#d62728",
    "DLS as printed": "#ff9d1c",
    "SVD as printed": "#9467bd",
    "exact model": "#2ca02c",
}
HIDDEN = ("DLS as printed", "SVD as printed")  # until their name is clicked: near RLS


def figures(bench: Bench) -> tuple[Figure, ...]:
    """Figures 7 to 10 of the paper, table 2 as bars, and how the swarm draws near the optimum."""
    return (
        Figure(
            "Torques on the validation motion (figure 10)",
            lambda: torque_figure(bench),
            "Measured and predicted torque below 30 Hz. Click a name to show or hide its curve.",
        ),
        Figure(
            "Fitness (table 2)",
            lambda: fitness_figure(bench),
            "Filled: ours, on the bench. Hollow: the paper's robot. The axis does not begin at 0.",
        ),
        Figure(
            "The swarm draws near the proven optimum",
            lambda: convergence_figure(bench),
            "The objective (33) of the best particle over the proven lower bound, less 1. The "
            "dashed line is least squares on the same columns.",
        ),
    )


def torque_figure(bench: Bench) -> Any:
    """Measured torque and five predictions, one plot per joint."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.03)
    curves = [("measured", bench.unseen.limited(bench.unseen.tau), "#111111", 3.0)]
    curves += [(name, bench.outcomes[name].torque, color, 1.3) for name, color in COLORS.items()]
    for name, torque, color, width in curves:
        for axis in range(3):
            trace = go.Scatter(
                x=bench.unseen.times,
                y=torque[:, axis],
                name=name,
                legendgroup=name,
                showlegend=axis == 0,
                visible="legendonly" if name in HIDDEN else True,
                line={"color": color, "width": width},
            )
            figure.add_trace(trace, row=axis + 1, col=1)
    for axis, joint in enumerate(JOINTS):
        figure.update_yaxes(title_text=f"{joint} (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=3, col=1)
    figure.update_layout(
        template="plotly_white",
        height=760,
        margin={"t": 30},
        legend={"orientation": "h", "y": 1.06},
        hovermode="x unified",
    )
    return figure


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
