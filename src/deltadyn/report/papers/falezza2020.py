"""The figures of [falezza2020]: torques over v_F and v_P, mean errors, factors, the mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.methods.gray_box import GrayBoxResult
from deltadyn.report.papers import Figure
from deltadyn.reproduce.falezza2020 import MASS, TABLE_1, TABLE_2, Found, PayloadData
from deltadyn.reproduce.trials import BAND, JOINTS, Errors, Trial

PaperTable = Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
POINTS = 4000  # of a curve of masses
COLORS = ("#d62728", "#ff9d1c", "#1f77b4", "#2ca02c")


def figures(data: Found) -> tuple[Figure, ...]:
    """Figures 3 to 8 of the paper, and the factors of every trajectory."""
    return (
        Figure(
            "Torques on v_F (figures 3, 4 and 5)",
            lambda: torque_figure(data.unseen, data.torques),
            f"Measured and computed torque below {BAND:g} Hz. Click a name to hide its curve.",
        ),
        Figure(
            "Mean errors with standard deviations (figure 6a)",
            lambda: bar_figure(data.found, TABLE_1),
            "Filled: ours. Hollow: the paper's robot.",
        ),
        Figure(
            "Factors of every trajectory",
            lambda: factor_figure(data.result),
            "Each trajectory has its own best factors, by the grid and in closed form; the average "
            "enters M_Id.",
        ),
        *payload_figures(data.load),
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


def payload_figures(data: PayloadData) -> tuple[Figure, ...]:
    """Figures 6(b), 7 and 8 of the paper."""
    return (
        Figure(
            "Torques on v_P with 3.8 kg (figure 7)",
            lambda: torque_figure(data.trial, data.torques),
            f"Measured and computed torque below {BAND:g} Hz, without and with the estimate.",
        ),
        Figure(
            "Mean errors with standard deviations on v_P (figure 6b)",
            lambda: bar_figure(data.found, TABLE_2),
            "Filled: ours. Hollow: the paper's robot.",
        ),
        Figure(
            "Estimated payload over time (figure 8)",
            lambda: mass_figure(data),
            "Top: from the measured torque. Bottom: eq. 11 on the torque of the model itself.",
        ),
    )


def mass_figure(data: PayloadData) -> Any:
    """The estimated mass from measured torque, with ours and its band, and from the model's own."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    t = data.trial.prepared.t
    step = max(1, len(t) // POINTS)
    t = t[::step] - t[0]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    mass, std = data.mass[::step], np.nan_to_num(data.std[::step])
    curves = (
        (data.masses, "eq. 11, mended", "#ff9d1c", 1),
        (data.mass, "PayloadEstimator", "#1f77b4", 1),
        (data.simulated, "eq. 11 on the model's torque", "#2ca02c", 2),
    )
    figure.add_trace(
        go.Scatter(
            x=np.concatenate([t, t[::-1]]),
            y=np.concatenate([mass + 2 * std, (mass - 2 * std)[::-1]]),
            fill="toself",
            fillcolor="rgba(31,119,180,0.2)",
            line={"width": 0},
            name="two standard deviations",
            hoverinfo="skip",
        ),
        row=1,
        col=1,
    )
    for values, name, color, row in curves:
        line = {"color": color, "width": 1.4}
        figure.add_trace(go.Scatter(x=t, y=values[::step], name=name, line=line), row=row, col=1)
    for row in (1, 2):
        figure.add_hline(y=MASS, line={"color": "#888888", "dash": "dash"}, row=row, col=1)
        figure.update_yaxes(title_text="payload (kg)", range=[-0.5, 6.0], row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    figure.update_layout(template="plotly_white", height=560, margin={"t": 30})
    return figure
