"""The figures of [falezza2020] on one page: torques over v_F, mean errors, the cost of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.methods.gray_box import GrayBoxResult
from deltadyn.reproduce.result import Figure
from deltadyn.reproduce.trials import BAND, JOINTS, Errors, Trial

COLORS = ("#d62728", "#ff9d1c", "#1f77b4", "#2ca02c")
PaperTable = Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]


@dataclass(frozen=True, eq=False)
class PageData:
    """What the figures show: v_F, every model's torque (N, dof) on it, errors, the fit."""

    unseen: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    paper: PaperTable
    result: GrayBoxResult


def figures(data: PageData) -> tuple[Figure, ...]:
    """Figures 3-5 and 6(a) of the paper, and the factors of every trajectory."""
    return (
        Figure(
            "Torques on v_F (figures 3, 4 and 5)",
            lambda: torque_figure(data.unseen, data.torques),
            f"Measured and computed torque below {BAND:g} Hz. Click a name to hide its curve.",
        ),
        Figure(
            "Mean errors with standard deviations (figure 6a)",
            lambda: bar_figure(data.found, data.paper),
            "Filled: ours. Hollow: the paper's robot.",
        ),
        Figure(
            "Factors of every trajectory",
            lambda: factor_figure(data.result),
            "Each trajectory has its own best factors, by the grid and in closed form; the average "
            "enters M_Id.",
        ),
    )


def torque_figure(trial: Trial, torques: Mapping[str, FloatArray]) -> Any:
    """Measured torque and every model's below the band, one plot per joint."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    prepared = trial.prepared
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.03)
    curves = {"measured": prepared.tau, **torques}
    for k, (name, tau) in enumerate(curves.items()):
        shown = prepared.limited(tau)
        color = "#111111" if k == 0 else COLORS[(k - 1) % len(COLORS)]
        for axis in range(3):
            trace = go.Scatter(
                x=prepared.times,
                y=shown[:, axis],
                name=name,
                legendgroup=name,
                showlegend=axis == 0,
                line={"color": color, "width": 3.0 if k == 0 else 1.2},
            )
            figure.add_trace(trace, row=axis + 1, col=1)
    for axis, joint in enumerate(JOINTS):
        figure.update_yaxes(title_text=f"{joint} (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=3, col=1)
    figure.update_layout(
        template="plotly_white",
        height=720,
        margin={"t": 30},
        legend={"orientation": "h", "y": 1.06},
        hovermode="x unified",
    )
    return figure


def bar_figure(found: Mapping[str, Errors], paper: PaperTable) -> Any:
    """Mean error and standard deviation per joint and model, ours beside the paper's."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for k, (name, ours) in enumerate(found.items()):
        color = COLORS[k % len(COLORS)]
        pairs = [(name, ours.mean, ours.std, color)]
        if name in paper:
            pairs.append((f"{name}, paper", *paper[name], "white"))
        for label, mean, std, fill in pairs:
            bar = go.Bar(
                x=JOINTS,
                y=mean,
                name=label,
                error_y={"type": "data", "array": std, "color": "#555555", "thickness": 1.2},
                marker={"color": fill, "line": {"color": color, "width": 1.5}},
            )
            figure.add_trace(bar)
    figure.update_layout(
        template="plotly_white",
        height=400,
        margin={"t": 30},
        barmode="group",
        yaxis_title="error (N m)",
    )
    return figure


def factor_figure(result: GrayBoxResult) -> Any:
    """rho1 against rho2: grid, closed form and average."""
    import plotly.graph_objects as go

    fits = result.per_trajectory
    numbers = [str(index + 1) for index in range(len(fits))]
    exact = np.array([fit.least_squares for fit in fits])
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=exact[:, 0],
            y=exact[:, 1],
            mode="markers",
            name="closed form",
            marker={"size": 14, "symbol": "circle-open", "color": "#888888"},
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[fit.rho1 for fit in fits],
            y=[fit.rho2 for fit in fits],
            mode="markers+text",
            text=numbers,
            textposition="top center",
            name="grid",
            marker={"size": 7, "color": "#1f77b4"},
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[result.rho1],
            y=[result.rho2],
            mode="markers",
            name="average",
            marker={"size": 13, "symbol": "x", "color": "#d62728"},
        )
    )
    figure.update_layout(
        template="plotly_white",
        height=400,
        margin={"t": 30},
        xaxis_title="rho1",
        yaxis_title="rho2",
    )
    return figure
