"""The figures of the tracking errors of [telescopic2022]."""

from __future__ import annotations

from functools import partial
from typing import Any

from deltadyn.reproduce.result import Figure
from deltadyn.reproduce.telescopic2022_control import (
    ALONE,
    ARMS,
    NONE,
    OWN,
    PROJECTED,
    WITH,
    WITHOUT,
    Tracking,
)

COLORS = {
    ALONE: "#999999",
    WITHOUT: "#d2691e",
    PROJECTED: "#2a8a4a",
    WITH: "#1f5fa8",
    OWN: "#444444",
}
SHOWN = {"ideal": "ideal bench", "industrial": "industrial bench", NONE: "the same, no ripple"}


def tracking_figures(found: Tracking) -> tuple[Figure, ...]:
    """Figure 15, and the same errors as bars beside PD alone."""
    return (
        Figure(
            "Figure 15: tracking errors with and without the rod in the feedforward",
            partial(_curves, found),
            "Reference minus angle at the arms on the gate of 0.6 s. Industrial bench: what both "
            "curves share is motor ripple; the last column is the same bench without it.",
        ),
        Figure(
            "Tracking error of every controller",
            partial(_bars, found),
            "RMS per joint on a logarithmic axis. All controllers have the same gains.",
        ),
    )


def _curves(found: Tracking) -> Any:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=3,
        cols=3,
        shared_xaxes=True,
        shared_yaxes=True,
        column_titles=list(SHOWN.values()),
        vertical_spacing=0.05,
        horizontal_spacing=0.03,
    )
    for col, bench in enumerate(SHOWN, start=1):
        for name in (WITHOUT, WITH):
            t, error = found.runs[bench, name].truth.t, found.error(bench, name)
            for k in range(3):
                trace = go.Scatter(
                    x=t,
                    y=error[:, k],
                    name=name,
                    legendgroup=name,
                    showlegend=col == 1 and k == 0,
                    line={"color": COLORS[name], "width": 1.6},
                )
                figure.add_trace(trace, row=k + 1, col=col)
        figure.update_xaxes(title_text="time (s)", row=3, col=col)
    for k, joint in enumerate(ARMS, start=1):
        figure.update_yaxes(title_text=f"{joint} (mrad)", row=k, col=1)
    return _finished(figure, 720)


def _bars(found: Tracking) -> Any:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        column_titles=["ideal bench", "industrial bench"],
        horizontal_spacing=0.03,
    )
    for col, bench in enumerate(("ideal", "industrial"), start=1):
        for name, color in COLORS.items():
            trace = go.Bar(
                x=ARMS,
                y=found.rms(bench, name),
                name=name,
                legendgroup=name,
                showlegend=col == 1,
                marker_color=color,
            )
            figure.add_trace(trace, row=1, col=col)
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(title_text="RMS error (mrad)", row=1, col=1)
    return _finished(figure, 420)


def _finished(figure: Any, height: int) -> Any:
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"t": 40, "b": 90},
        legend={"orientation": "h", "y": -60 / height, "yanchor": "top"},
    )
    return figure
