"""The figures of [falezza2022]: the trajectories, the torques and the mean errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from deltadyn.report.papers import Figure
from deltadyn.report.papers.falezza2020 import bar_figure, torque_figure
from deltadyn.reproduce.falezza2022 import TABLES, Case
from deltadyn.reproduce.trials import BAND

FIGURES = {"Y1": ("7", "10a"), "Y2": ("8", "10b"), "Y3": ("9", "10c")}  # torques, errors
SHOWN = 500  # points of a path


def figures(cases: Mapping[str, Case]) -> tuple[Figure, ...]:
    """Figures 6 to 10 of the paper."""
    out = [Figure("The trajectories (figure 6)", partial(path_figure, cases))]
    for name, case in cases.items():
        torques, means = FIGURES[name]
        out += [
            Figure(
                f"{name}: torques (figure {torques})",
                partial(torque_figure, case.trial, case.torques),
                f"Measured and computed torque below {BAND:g} Hz. Click a name to hide its curve.",
            ),
            Figure(
                f"{name}: mean errors with standard deviations (figure {means})",
                partial(bar_figure, case.found, TABLES[name]),
                "Filled: ours. Hollow: the paper's robot.",
            ),
        ]
    return tuple(out)


def path_figure(cases: Mapping[str, Case]) -> Any:
    """The commanded paths of the platform, side by side."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=len(cases),
        specs=[[{"type": "scene"}] * len(cases)],
        subplot_titles=[case.trial.name for case in cases.values()],
        horizontal_spacing=0.02,
    )
    for k, case in enumerate(cases.values()):
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
