"""The figures of [telescopic2022]: the rod's coordinates, torques, table 2, tracking errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.methods.two_step import TwoStepResult
from deltadyn.report.papers import Figure
from deltadyn.reproduce.telescopic2022 import ARMS, Found, Line, Simulated, Validated
from deltadyn.reproduce.telescopic2022.bench import Bench, fitted_value, machine_value
from deltadyn.reproduce.telescopic2022.control import (
    ALONE,
    NONE,
    OWN,
    PROJECTED,
    WITH,
    WITHOUT,
    Tracking,
)

COLORS = ("#1f5fa8", "#d2691e", "#2a8a4a", "#444444")
AXES = ("l", "theta", "phi")
SHOWN = 600  # samples of a measured curve: more cannot be seen
BARS = ("platform.m", "arm.m", "strut.m", "rotor", "Fv", "Fc", "upper.m", "lower.m", "prismatic.Fv")
LAW_COLORS = {
    ALONE: "#999999",
    WITHOUT: "#d2691e",
    PROJECTED: "#2a8a4a",
    WITH: "#1f5fa8",
    OWN: "#444444",
}
BENCH_TITLES = {
    "ideal": "ideal bench",
    "industrial": "industrial bench",
    NONE: "the same, no ripple",
}


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 6, 7, 8, 9 with 10, 12, 13 and table 2 as a picture."""
    gate, runs, validated = found.simulated, found.runs, found.validated["industrial"]
    return (
        Figure(
            "Figure 6: a straight way in both coordinate systems of the rod",
            partial(_line_figure, found.lines),
            "Solid: the way through the axis that the figure shows; dotted: the way that the text "
            "names, which does not pass the axis. On the axis phi of system 1 jumps by pi.",
        ),
        Figure(
            "Figure 7: the motion of the platform on the gate",
            partial(_motion_figure, gate),
            "Path, position, velocity, acceleration. The paper's acceleration axis ends at 20 "
            f"m/s^2; ours reaches {abs(gate.motion.pdd[:, :3]).max():.1f}, by a law of motion that "
            "is ours.",
        ),
        Figure(
            "Figure 8: the rod's coordinates on the gate",
            partial(_rod_figure, gate),
            "Length and projected angles of the rod, their rates and accelerations, and the force "
            "along l and the moments about theta and phi that move it.",
        ),
        Figure(
            "Figures 9 and 10: torques without and with the rod, simulated",
            partial(_torque_figure, gate),
            "Model 'projected-rod', no friction. Dotted: the exact model. Joints 2 and 3 have the "
            "same torque: the gate is in their plane of symmetry.",
        ),
        Figure(
            "Figure 12: torques without and with the rod, measured on the bench",
            partial(_measured_figure, runs),
            "The same gate with friction, on the bench's industrial machine.",
        ),
        Figure(
            "Figure 13: predicted and measured torque",
            partial(_validation_figure, validated),
            "A motion that the fits have not seen, below 30 Hz, on the industrial machine. Waves "
            "in the measured torque are motor ripple. Dashed: the exact model's legs, no rod.",
        ),
        Figure(
            "Table 2: identified over true values",
            partial(_bar_figure, runs),
            "1 is the machine's own value. The paper's model has the platform's mass given, and is "
            "shown as its unbounded fit gives it.",
        ),
        *tracking_figures(found.followed),
    )


def _line_figure(lines: Mapping[str, Line]) -> Any:
    """The way, phi in system 1, and l, theta, phi in system 2."""
    titles = ("(a) the way", "(b) system 1: phi", "(c) system 2: l", "(c) system 2: theta and phi")
    figure = _grid(2, 2, titles)
    for (name, line), dash in zip(lines.items(), ("dot", "solid"), strict=True):
        mm = 1e3 * line.p
        text = name.partition(",")[0]
        phi = np.degrees(line.found.polar[:, 2])
        two = np.degrees(line.found.projected[:, 1:])
        curves = (
            (mm[:, 0], mm[:, 1], f"{text}", COLORS[3], 1, 1, True),
            (line.t, phi, f"phi, {text}", COLORS[0], 1, 2, True),
            (line.t, 1e3 * line.found.projected[:, 0], f"l, {text}", COLORS[3], 2, 1, False),
            (line.t, two[:, 0], f"theta, {text}", COLORS[1], 2, 2, True),
            (line.t, two[:, 1], f"phi of system 2, {text}", COLORS[2], 2, 2, True),
        )
        for x, y, label, color, row, col, legend in curves:
            _line(figure, (x, y), label, color, row, col, dash=dash, legend=legend)
    for row, col, label in ((1, 1, "y (mm)"), (1, 2, "deg"), (2, 1, "mm"), (2, 2, "deg")):
        figure.update_yaxes(title_text=label, row=row, col=col)
    figure.update_xaxes(title_text="x (mm)", row=1, col=1)
    figure.update_xaxes(title_text="time (s)", row=1, col=2)
    return _finished(figure, 620, bottom=2)


def _motion_figure(gate: Simulated) -> Any:
    """The path in the plane of the gate, and position, velocity, acceleration over time."""
    motion = gate.motion
    titles = ("(a) path", "(b) position", "(c) velocity", "(d) acceleration")
    figure = _grid(2, 2, titles)
    _line(figure, (motion.p[:, 0], motion.p[:, 2]), "path", COLORS[3], 1, 1, legend=False)
    parts = ((motion.p, 1, 2, "m"), (motion.pd, 2, 1, "m/s"), (motion.pdd, 2, 2, "m/s²"))
    for values, row, col, label in parts:
        for k, name in enumerate("xyz"):
            curve = (motion.t, values[:, k])
            _line(figure, curve, name, COLORS[k], row, col, legend=col == row == 2)
        figure.update_yaxes(title_text=label, row=row, col=col)
    figure.update_yaxes(title_text="z (m)", row=1, col=1)
    figure.update_xaxes(title_text="x (m)", row=1, col=1)
    return _finished(figure, 620, bottom=2)


def _rod_figure(gate: Simulated) -> Any:
    titles = ("(a) coordinates", "(b) rates", "(c) accelerations", "(d) force and moments")
    labels = ("m, rad", "m/s, rad/s", "m/s², rad/s²", "N, N m")
    figure = _grid(2, 2, titles)
    parts = (gate.coordinates, gate.rates, gate.accelerations, gate.forces)
    for place, (values, label) in enumerate(zip(parts, labels, strict=True)):
        row, col = place // 2 + 1, place % 2 + 1
        for k, name in enumerate(AXES):
            curve = (gate.motion.t, values[:, k])
            _line(figure, curve, name, COLORS[k], row, col, legend=place == 0)
        figure.update_yaxes(title_text=label, row=row, col=col)
    return _finished(figure, 620, bottom=2)


def _torque_figure(gate: Simulated) -> Any:
    figure = _grid(1, 2, ("without rod", "with rod"), shared_y=True)
    for col, tau in enumerate((gate.without, gate.projected), start=1):
        for k, name in enumerate(ARMS):
            _line(figure, (gate.motion.t, tau[:, k]), name, COLORS[k], 1, col, legend=col == 1)
    for k in range(3):
        name = f"exact, {ARMS[k]}"
        curve = (gate.motion.t, gate.exact[:, k])
        _line(figure, curve, name, COLORS[k], 1, 2, dash="dot", legend=True)
    figure.update_yaxes(title_text="torque (N m)", row=1, col=1)
    return _finished(figure, 400)


def _measured_figure(runs: Bench) -> Any:
    figure = _grid(1, 3, ARMS, shared_y=True)
    for run, name, color in zip(
        runs.gates, ("without rod", "with rod"), (COLORS[0], COLORS[1]), strict=True
    ):
        t, tau = _thinned(run.recording.t, run.recording.tau)
        for k in range(3):
            _line(figure, (t, tau[:, k]), name, color, 1, k + 1, legend=k == 0)
    figure.update_yaxes(title_text="torque (N m)", row=1, col=1)
    return _finished(figure, 400)


def _validation_figure(validated: Validated) -> Any:
    figure = _grid(3, 1, ARMS, shared_x=True)
    curves = (
        ("measured", validated.tau, "#999999", "solid"),
        ("predicted, no rod", validated.predicted["legs alone"], "#bbbbbb", "dash"),
        ("predicted, paper's model", validated.predicted["projected-rod"], COLORS[1], "dot"),
        ("predicted, exact model", validated.predicted["exact"], COLORS[0], "solid"),
    )
    for name, tau, color, dash in curves:
        for k in range(3):
            curve = (validated.t, tau[:, k])
            _line(figure, curve, name, color, k + 1, 1, dash=dash, legend=k == 0)
    for row in (1, 2, 3):
        figure.update_yaxes(title_text="torque (N m)", row=row, col=1)
    return _finished(figure, 800, bottom=3)


def _bar_figure(runs: Bench) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    bumpy, ideal = runs.fits["industrial"], runs.fits["ideal"]
    bars: tuple[tuple[str, TwoStepResult, Any, str, bool], ...] = (
        ("exact, ideal bench", ideal.exact, ideal.machine, COLORS[2], False),
        ("exact, industrial bench", bumpy.exact, bumpy.machine, COLORS[0], False),
        ("paper's model, ideal bench", ideal.mended, ideal.machine, "#e8b98a", True),
        ("paper's model, industrial bench", bumpy.mended, bumpy.machine, COLORS[1], True),
    )
    for name, result, machine, color, unbounded in bars:
        shown = [item for item in BARS if item not in result.held]
        ratios = [
            fitted_value(result, item, unbounded=unbounded) / machine_value(machine, item)
            for item in shown
        ]
        figure.add_trace(go.Bar(x=shown, y=ratios, name=name, marker_color=color))
    figure.add_hline(y=1, line_color="#444444", line_width=1)
    figure.update_yaxes(title_text="identified over true")
    return _finished(figure, 420, title="")


def _grid(
    rows: int,
    cols: int,
    titles: Sequence[str],
    *,
    shared_x: bool = False,
    shared_y: bool = False,
) -> Any:
    from plotly.subplots import make_subplots

    return make_subplots(
        rows=rows,
        cols=cols,
        subplot_titles=titles,
        shared_xaxes=shared_x,
        shared_yaxes=shared_y,
        vertical_spacing=0.07 if rows == 3 else 0.19,
        horizontal_spacing=0.08,
    )


def _line(
    figure: Any,
    curve: tuple[FloatArray, FloatArray],
    name: str,
    color: str,
    row: int,
    col: int,
    *,
    dash: str = "solid",
    legend: bool,
) -> None:
    import plotly.graph_objects as go

    trace = go.Scatter(
        x=curve[0],
        y=curve[1],
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=legend,
        line={"color": color, "width": 1.6, "dash": dash},
    )
    figure.add_trace(trace, row=row, col=col)


def _finished(figure: Any, height: int, *, bottom: int = 1, title: str = "time (s)") -> Any:
    if title:
        figure.update_xaxes(title_text=title, row=bottom)
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"t": 40, "b": 90},
        legend={"orientation": "h", "y": -60 / height, "yanchor": "top"},
    )
    return figure


def _thinned(t: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    step = max(1, len(t) // SHOWN)
    return t[::step], values[::step]


def tracking_figures(found: Tracking) -> tuple[Figure, ...]:
    """Figure 15, and the same errors as bars beside PD alone."""
    return (
        Figure(
            "Figure 15: tracking errors with and without the rod in the feedforward",
            partial(_tracking_curves, found),
            "Reference minus angle at the arms on the gate of 0.6 s. Industrial bench: what both "
            "curves share is motor ripple; the last column is the same bench without it.",
        ),
        Figure(
            "Tracking error of every controller",
            partial(_tracking_bars, found),
            "RMS per joint on a logarithmic axis. All controllers have the same gains.",
        ),
    )


def _tracking_curves(found: Tracking) -> Any:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=3,
        cols=3,
        shared_xaxes=True,
        shared_yaxes=True,
        column_titles=list(BENCH_TITLES.values()),
        vertical_spacing=0.05,
        horizontal_spacing=0.03,
    )
    for col, bench in enumerate(BENCH_TITLES, start=1):
        for name in (WITHOUT, WITH):
            t, error = found.runs[bench, name].truth.t, found.error(bench, name)
            for k in range(3):
                trace = go.Scatter(
                    x=t,
                    y=error[:, k],
                    name=name,
                    legendgroup=name,
                    showlegend=col == 1 and k == 0,
                    line={"color": LAW_COLORS[name], "width": 1.6},
                )
                figure.add_trace(trace, row=k + 1, col=col)
        figure.update_xaxes(title_text="time (s)", row=3, col=col)
    for k, joint in enumerate(ARMS, start=1):
        figure.update_yaxes(title_text=f"{joint} (mrad)", row=k, col=1)
    return _finished(figure, 720, title="")


def _tracking_bars(found: Tracking) -> Any:
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
        for name, color in LAW_COLORS.items():
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
    return _finished(figure, 420, title="")
