"""The figures of [falezza2022]: the trajectories, the torques and the mean errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deltadyn.report.papers import Figure, paths
from deltadyn.report.papers.falezza2020 import COLORS, bar_figure, torque_figure
from deltadyn.reproduce.falezza2022 import M_F, M_S, SLOW, TABLES, Case, Found, Stops
from deltadyn.reproduce.trials import BAND, JOINTS

FIGURES = {"Y1": ("7", "10a"), "Y2": ("8", "10b"), "Y3": ("9", "10c")}  # torques, errors


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 6 to 10 of the paper."""
    cases = found.cases
    layout = "Layout and times are ours: the paper shows curves without numbers."
    out = [Figure("The trajectories (figure 6)", partial(path_figure, cases), layout)]
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
    left = np.divide(TABLES["Y2"][M_F][1], TABLES["Y1"][M_F][1])
    own = np.divide(cases["Y2"].found[M_F].std, cases["Y1"].found[M_F].std)
    out += [
        Figure(
            "Why Y1 and Y2 change places (tables 3 and 4)",
            partial(places_figure, found),
            "Left: standard deviation of the error of M_s. Right: what M_f takes off it against "
            "the rotors' inertia times the deviation of the joints' acceleration, for every joint; "
            "on the line the rotors are all of it. Not shown by the bench: the paper's M_f errs "
            f"{left.min():.1f} to {left.max():.1f} times as much on Y2 as on Y1, ours "
            f"{own.min():.1f} to {own.max():.1f} times, because friction, which is left here, "
            "hardly grows with acceleration.",
        ),
        Figure(
            "Table 5 in its parts: where Y3 moves and where it stands",
            partial(stops_figure, found),
            "Standing, both models err alike. Hollow: the paper's robot, over the whole of Y3.",
        ),
    ]
    return tuple(out)


def places_figure(found: Found) -> Any:
    """M_s on Y1, on Y1 at half of the limits and on Y2; what M_f takes off against the rotors."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    shown = {
        "Y1": found.cases["Y1"],
        f"Y1 at {SLOW:g}": found.slow["Y1"],
        "Y2": found.cases["Y2"],
        "Y3": found.cases["Y3"],
    }
    figure = make_subplots(rows=1, cols=2, column_widths=[0.6, 0.4], horizontal_spacing=0.1)
    most = 0.0
    for (name, case), color in zip(shown.items(), COLORS, strict=True):
        bars = [(name, case.found[M_S].std, color)]
        if name in ("Y1", "Y2"):
            bars.append((f"{name}, paper", TABLES[name][M_S][1], "white"))
        for label, values, fill in bars if name != "Y3" else ():
            marker = {"color": fill, "line": {"color": color, "width": 1.5}}
            figure.add_trace(go.Bar(x=JOINTS, y=values, name=label, marker=marker), row=1, col=1)
        rotor = case.trial.run.truth.robot.drives.output_inertia[0] * case.acceleration
        most = max(most, float(rotor.max()))
        point = go.Scatter(
            x=rotor,
            y=case.taken_off,
            mode="markers",
            name=f"{name}, taken off",
            marker={"color": color, "size": 9},
        )
        figure.add_trace(point, row=1, col=2)
    line = {"color": "#888888", "dash": "dash"}
    ends = [0.0, 1.05 * most]
    figure.add_trace(
        go.Scatter(x=ends, y=ends, mode="lines", line=line, showlegend=False), row=1, col=2
    )
    figure.update_yaxes(title_text="error of M_s (N m)", row=1, col=1)
    figure.update_yaxes(title_text="taken off by M_f (N m)", row=1, col=2)
    figure.update_xaxes(title_text="rotor x acceleration (N m)", row=1, col=2)
    return _finished(figure, 430)


def stops_figure(found: Found) -> Any:
    """Errors of both models while Y3 moves and while it stands, at the limits and at half."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = ("Y3", f"Y3 at {SLOW:g} of the limits")
    figure = make_subplots(
        rows=1, cols=2, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.04
    )
    for col, case in enumerate((found.cases["Y3"], found.slow["Y3"]), start=1):
        stops = Stops.of(case)
        for model, color in zip((M_S, M_F), COLORS, strict=False):
            bars = [
                (f"{model}, moving", stops.moving[model], color, 1.0),
                (f"{model}, standing", stops.standing[model], color, 0.5),
                (f"{model}, paper", TABLES["Y3"][model][1], "white", 1.0),
            ]
            for label, values, fill, opacity in bars:
                trace = go.Bar(
                    x=JOINTS,
                    y=values,
                    name=label,
                    legendgroup=label,
                    showlegend=col == 1,
                    opacity=opacity,
                    marker={"color": fill, "line": {"color": color, "width": 1.5}},
                )
                figure.add_trace(trace, row=1, col=col)
    figure.update_yaxes(title_text="standard deviation (N m)", row=1, col=1)
    return _finished(figure, 430)


def _finished(figure: Any, height: int) -> Any:
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"t": 40},
        barmode="group",
        legend={"orientation": "h", "y": -60 / height, "yanchor": "top"},
    )
    return figure


def path_figure(cases: Mapping[str, Case]) -> Any:
    """The commanded paths of the platform, side by side."""
    return paths({name: case.trial.run.reference.p for name, case in cases.items()})
