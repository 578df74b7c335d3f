"""The figures of [gnad2024]: parameters, mass matrix, terms, torques, spindle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.report.papers import Figure
from deltadyn.reproduce.gnad2024 import Found
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

COLORS = ("#d62728", "#1f77b4", "#ff9d1c", "#2ca02c", "#9467bd")
MEASURED = "#111111"
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 3 to 8 of the paper, and the friction of the spindle over its rate."""
    model, bench = found.model, found.bench
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
    )


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
