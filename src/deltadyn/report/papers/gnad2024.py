"""The figures of [gnad2024]: parameters, mass matrix, terms, torques, spindle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.report.papers import Figure
from deltadyn.reproduce.gnad2024 import Found, TaskSpace
from deltadyn.reproduce.gnad2024.spindle import (
    BASE,
    BY_HAND,
    CHOLESKY,
    CONVEX,
    FREE,
    THIN,
    SpindleBench,
    true_friction,
)
from deltadyn.reproduce.gnad2024.surrogate import (
    GEOMETRIC,
    NOMINAL,
    REGULARISED,
    TABLE_1,
    Surrogate,
)

COLORS = ("#d62728", "#1f77b4", "#ff9d1c", "#2ca02c", "#9467bd", "#8c564b")
MEASURED = "#111111"
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 2 to 8 of the paper, and the friction of the spindle over its rate."""
    model, bench, space = found.model, found.bench, found.space
    band = "all frequencies" if bench.band is None else f"below {bench.band:.0f} Hz"
    return (
        Figure(
            "Torques on the validation motion (figure 7)",
            lambda: torque_figure(bench),
            f"Measured on the bench and predicted, {band}. Click a name to hide its curve.",
        ),
        Figure(
            "Spindle torque at up to 175 deg/s, fitted at up to 2760 deg/s (figure 8)",
            lambda: spindle_figure(bench),
            f"Measured and predicted, {band}. Only 'by hand' was made with this motion in view.",
        ),
        Figure(
            "Friction of axis 4",
            lambda: friction_figure(bench),
            "The machine's own curve is drawn at 25 degrees C. The factors 5 and 0.75 mend the "
            "slow end and spoil the fast one.",
        ),
        Figure(
            "Errors of the mass matrix (figure 4)",
            lambda: mass_figure(model),
            "(M_nom - M) / mean(M_nom) of the six entries of the arms along the motion.",
        ),
        Figure(
            "Torques of acceleration and of Coriolis forces (figures 5 and 6)",
            lambda: terms_figure(model),
            "Nominal and identified curves lie on each other.",
        ),
        Figure(
            "Regularisation values and identified values (figure 3)",
            lambda: parameter_figure(model),
            "As shares of the nominal value; shares below 0 are not drawn. Parameters that only "
            "reach the torque in sums depend on the regularisation: their sums are right.",
        ),
        Figure(
            "The task space and its hemisphere (figure 2)",
            lambda: space_figure(space),
            "Left: the workspace within the catalogue's limits, which are assumptions, and the "
            "hemisphere that fits it best. Right: radius over height; the band lies between the "
            f"nearest and the farthest azimuth. {100 - 100 * space.best.reachable:.0f} % of the "
            "best hemisphere cannot be reached. Dots: the excitation.",
        ),
    )


def space_figure(space: TaskSpace) -> Any:
    """The workspace with the best hemisphere in space, and both hemispheres over height."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=2, specs=[[{"type": "scene"}, {"type": "xy"}]], horizontal_spacing=0.06
    )
    boundary = space.boundary
    (x, y, z), faces = boundary.vertices.T, boundary.faces.T
    mesh = go.Mesh3d(
        x=x, y=y, z=z, i=faces[0], j=faces[1], k=faces[2], color=COLORS[1], opacity=0.35,
        name="workspace", showlegend=True,
    )  # fmt: skip
    figure.add_trace(mesh, row=1, col=1)
    around, down = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, np.pi / 2, 17))
    best = space.best
    ball = go.Surface(
        x=best.radius * np.cos(around) * np.cos(down),
        y=best.radius * np.sin(around) * np.cos(down),
        z=best.z - best.radius * np.sin(down),
        opacity=0.5, showscale=False, colorscale=[[0, COLORS[2]], [1, COLORS[2]]],
        name="best hemisphere",
    )  # fmt: skip
    figure.add_trace(ball, row=1, col=1)
    heights, least, most = (
        boundary.heights,
        boundary.radius.min(axis=1),
        boundary.radius.max(axis=1),
    )
    band = go.Scatter(
        x=np.concatenate([least, most[::-1]]), y=np.concatenate([heights, heights[::-1]]),
        fill="toself", mode="lines", line={"color": COLORS[1], "width": 1}, name="boundary",
    )  # fmt: skip
    figure.add_trace(band, row=1, col=2)
    angle = np.linspace(0, np.pi / 2, 100)
    for half, name, color in (
        (space.best, "best hemisphere", COLORS[2]),
        (space.inside, "largest inside", COLORS[0]),
    ):
        curve = go.Scatter(
            x=np.append(half.radius * np.cos(angle), [0.0, half.radius]),
            y=np.append(half.z - half.radius * np.sin(angle), [half.z, half.z]),
            mode="lines", line={"color": color, "width": 2}, name=name,
        )  # fmt: skip
        figure.add_trace(curve, row=1, col=2)
    p = space.excitation.p[::4]
    dots = go.Scatter(
        x=np.hypot(p[:, 0], p[:, 1]), y=p[:, 2], mode="markers", name="excitation",
        marker={"color": MEASURED, "size": 3},
    )  # fmt: skip
    figure.add_trace(dots, row=1, col=2)
    figure.update_scenes(
        xaxis_title="x (m)",
        yaxis_title="y (m)",
        zaxis_title="z (m)",
        aspectmode="data",
        camera={"eye": {"x": 1.4, "y": -1.6, "z": 0.9}, "center": {"x": 0, "y": 0, "z": -0.2}},
    )
    figure.update_xaxes(title_text="radius (m)", row=1, col=2)
    figure.update_yaxes(title_text="z (m)", scaleanchor="x", row=1, col=2)
    figure.update_layout(
        template="plotly_white", height=520, margin={"t": 30},
        legend={"orientation": "h", "y": -0.12},
    )  # fmt: skip
    return figure


def torque_figure(bench: SpindleBench) -> Any:
    """Measured and predicted torque of the four axes."""
    given = bench.prepared
    curves = {"measured": given.tau, **{name: bench.torques[name] for name in (CHOLESKY, CONVEX)}}
    figure = _rows(4, 760)
    for k, (name, tau) in enumerate(curves.items()):
        shown = given.limited(tau)
        for axis in range(4):
            _line(figure, axis, given.times, shown[:, axis], name, k, first=axis == 0)
    for axis in range(4):
        figure.update_yaxes(title_text=f"tau_{axis + 1} (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=4, col=1)
    return figure


def spindle_figure(bench: SpindleBench) -> Any:
    """The spindle's torque: measured, by the paper's friction, by hand, for the whole range."""
    given = bench.prepared
    curves = {
        "measured": given.tau,
        "viscous and Coulomb": bench.torques[CHOLESKY],
        "by hand: Fv4 x 5, Fc4 x 0.75": bench.torques[BY_HAND],
        "with a free Stribeck term": bench.torques[FREE],
        "with a thinning term": bench.torques[THIN],
    }
    figure = _rows(1, 420)
    for k, (name, tau) in enumerate(curves.items()):
        _line(figure, 0, given.times, given.limited(tau)[:, 3], name, k)
    figure.update_yaxes(title_text="tau_4 (N m)")
    figure.update_xaxes(title_text="time (s)")
    return figure


def friction_figure(bench: SpindleBench) -> Any:
    """Friction over the rate, the slow end and the whole range side by side."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, subplot_titles=("up to 175 deg/s", "the whole range"))
    for column, most in ((1, np.radians(175.0)), (2, np.radians(2760.0))):
        rate = np.linspace(1e-3, most, 400)
        curves = {
            "machine": true_friction(rate),
            "viscous and Coulomb": bench.curve(BASE, rate),
            "by hand: Fv4 x 5, Fc4 x 0.75": bench.curve(BY_HAND, rate),
            "with a free Stribeck term": bench.curve(FREE, rate),
            "with a thinning term": bench.curve(THIN, rate),
        }
        for k, (name, tau) in enumerate(curves.items()):
            trace = go.Scatter(
                x=np.degrees(rate), y=tau, name=name, legendgroup=name, showlegend=column == 1,
                line=_style(k),
            )  # fmt: skip
            figure.add_trace(trace, row=1, col=column)
        figure.update_xaxes(title_text="rate (deg/s)", row=1, col=column)
    figure.update_yaxes(title_text="friction (N m)", row=1, col=1)
    figure.update_layout(
        template="plotly_white",
        height=420,
        margin={"t": 50},
        legend={"orientation": "h", "y": -0.2},
    )
    return figure


def mass_figure(model: Surrogate) -> Any:
    """Relative errors of the entries along the motion, for two regularisations."""
    figure = _rows(2, 520)
    t = model.probe.t
    for row, name in enumerate((NOMINAL, GEOMETRIC)):
        left = model.nominal.M - model.fits[name].terms.M
        for k, (i, j) in enumerate(ENTRIES):
            share = 100 * left[:, i, j] / model.nominal.M[:, i, j].mean()
            style = {"color": COLORS[k % 3], "dash": "solid" if i == j else "dot", "width": 1.5}
            _line(figure, row, t, share, f"M_{i + 1}{j + 1}", k, row == 0, style)
        figure.update_yaxes(title_text=f"{name.partition(', ')[2]} (%)", row=row + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return figure


def terms_figure(model: Surrogate) -> Any:
    """Torques of acceleration and Coriolis forces of the arms, nominal and identified."""
    figure = _rows(2, 620)
    t = model.probe.t
    sources = {"nominal": model.nominal} | {
        name.partition(", ")[2] + " regularisation": model.fits[name].terms
        for name in (NOMINAL, GEOMETRIC)
    }
    for row, kind in enumerate(("acceleration", "coriolis")):
        for k, (name, terms) in enumerate(sources.items()):
            torque: FloatArray = getattr(terms, kind)
            for axis in range(3):
                style = {
                    "color": COLORS[axis],
                    "width": (4.0, 1.6, 1.6)[k],
                    "dash": ("solid", "dash", "dot")[k],
                }
                label = f"tau_{axis + 1}, {name}"
                _line(figure, row, t, torque[:, axis], label, k, row == 0, style)
        figure.update_yaxes(title_text=f"{kind.capitalize()} (N m)", row=row + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return figure


def parameter_figure(model: Surrogate) -> Any:
    """Bars of regularisation values and of what was identified, over nominal values."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    nominal = model.standard
    names = [name for name, *_ in TABLE_1 if nominal[name]]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for k, label in enumerate(REGULARISED):
        found = model.fits[label].fit.standard
        assert found is not None
        short = label.partition(", ")[2]
        for row, values in ((1, model.guesses[label]), (2, found)):
            bar = go.Bar(
                x=names, y=[_share(values, nominal, name) for name in names], name=short,
                legendgroup=short, showlegend=row == 1, marker={"color": COLORS[k]},
            )  # fmt: skip
            figure.add_trace(bar, row=row, col=1)
    figure.update_yaxes(title_text="regularisation", type="log", row=1, col=1)
    figure.update_yaxes(title_text="identified", type="log", row=2, col=1)
    figure.update_layout(
        template="plotly_white", height=560, margin={"t": 30}, barmode="group",
        legend={"orientation": "h", "y": 1.08},
    )  # fmt: skip
    return figure


def _share(values: Mapping[str, float], nominal: Mapping[str, float], name: str) -> float | None:
    """A value over the nominal one; nothing to draw on a logarithmic axis where it has no sign."""
    share = values[name] / nominal[name]
    return share if share > 0 else None


def _rows(count: int, height: int) -> Any:
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=count, cols=1, shared_xaxes=True, vertical_spacing=0.03)
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"t": 30},
        legend={"orientation": "h", "y": -60 / height, "yanchor": "top"},
        hovermode="x unified",
    )
    return figure


def _line(
    figure: Any,
    row: int,
    x: FloatArray,
    y: FloatArray,
    name: str,
    number: int,
    first: bool = True,
    style: dict[str, Any] | None = None,
) -> None:
    import plotly.graph_objects as go

    trace = go.Scatter(
        x=x, y=y, name=name, legendgroup=name, showlegend=first, line=style or _style(number)
    )
    figure.add_trace(trace, row=row + 1, col=1)


def _style(number: int) -> dict[str, Any]:
    if number == 0:
        return {"color": MEASURED, "width": 3.0}
    return {"color": COLORS[(number - 1) % len(COLORS)], "width": 1.4}
