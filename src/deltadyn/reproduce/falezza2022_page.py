"""The figures of [falezza2022] on one page: the trajectories, the torques and the mean errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deltadyn.arrays import FloatArray
from deltadyn.reproduce.falezza2020_page import PaperTable, bar_figure, torque_figure
from deltadyn.reproduce.result import Figure
from deltadyn.reproduce.trials import BAND, Errors, Trial

FIGURES = {"Y1": ("7", "10a"), "Y2": ("8", "10b"), "Y3": ("9", "10c")}  # torques, errors
SHOWN = 500  # points of a path


@dataclass(frozen=True, eq=False)
class PageCase:
    """One trajectory: the trial, every model's torque (N, 3), its errors, the paper's errors."""

    trial: Trial
    torques: dict[str, FloatArray]
    found: dict[str, Errors]
    paper: PaperTable


def figures(cases: Sequence[PageCase]) -> tuple[Figure, ...]:
    """Figures 6 to 10 of the paper."""
    out = [Figure("The trajectories (figure 6)", partial(path_figure, cases))]
    for case in cases:
        name = case.trial.name
        torques, means = FIGURES[name]
        out += [
            Figure(
                f"{name}: torques (figure {torques})",
                partial(torque_figure, case.trial, case.torques),
                f"Measured and computed torque below {BAND:g} Hz. Click a name to hide its curve.",
            ),
            Figure(
                f"{name}: mean errors with standard deviations (figure {means})",
                partial(bar_figure, case.found, case.paper),
                "Filled: ours. Hollow: the paper's robot.",
            ),
        ]
    return tuple(out)


def path_figure(cases: Sequence[PageCase]) -> Any:
    """The commanded paths of the platform, side by side."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=len(cases),
        specs=[[{"type": "scene"}] * len(cases)],
        subplot_titles=[case.trial.name for case in cases],
        horizontal_spacing=0.02,
    )
    for k, case in enumerate(cases):
        p = case.trial.run.reference.p
        p = p[:: max(1, len(p) // SHOWN)]
        line = go.Scatter3d(
            x=p[:, 0],
            y=p[:, 1],
            z=p[:, 2],
            mode="lines",
            line={"color": "#1f77b4", "width": 4},
            showlegend=False,
        )
        figure.add_trace(line, row=1, col=k + 1)
    figure.update_scenes(
        xaxis_title="x (m)",
        yaxis_title="y (m)",
        zaxis_title="z (m)",
        camera={"eye": {"x": 1.5, "y": -1.8, "z": 0.9}},
    )
    figure.update_layout(template="plotly_white", height=430, margin={"t": 30, "b": 10})
    return figure
