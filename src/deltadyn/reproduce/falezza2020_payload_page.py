"""The figures of [falezza2020] with payload: torques over v_P, mean errors, the estimated mass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.reproduce.falezza2020_page import PaperTable, bar_figure, torque_figure
from deltadyn.reproduce.result import Figure
from deltadyn.reproduce.trials import BAND, Errors, Trial

POINTS = 4000


@dataclass(frozen=True, eq=False)
class PayloadData:
    """What the figures show: v_P, torques (N, dof), errors, and masses over time (N,) in kg."""

    trial: Trial
    torques: Mapping[str, FloatArray]
    found: dict[str, Errors]
    paper: PaperTable
    true: float
    masses: FloatArray  # eq. 11, mended, on the measured torque
    simulated: FloatArray  # the same on the model's own torque
    mass: FloatArray  # PayloadEstimator
    std: FloatArray
    matrices: FloatArray  # (N, 3, 3)


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
            lambda: bar_figure(data.found, data.paper),
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
        figure.add_hline(y=data.true, line={"color": "#888888", "dash": "dash"}, row=row, col=1)
        figure.update_yaxes(title_text="payload (kg)", range=[-0.5, 6.0], row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    figure.update_layout(template="plotly_white", height=560, margin={"t": 30})
    return figure
