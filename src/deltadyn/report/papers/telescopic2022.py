"""The figures of [telescopic2022]: the rod's coordinates, torques, table 2, tracking errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deltadyn.report.papers import Figure, captioned, draw_bars, draw_lines
from deltadyn.report.plots import LEFT, Curve, axes_figure, colour, draw, finished, panels
from deltadyn.reproduce.telescopic2022 import (
    ALONE,
    ARMS,
    CALM,
    DEFAULT,
    EQ_39,
    EQ_40,
    EXACT,
    EXACT_LEGS,
    FRICTION_SHARES,
    PAPER,
    RIPPLE_SHARES,
    ROWS,
    THEIRS,
    TRUTH,
    TWO_STEPS,
    Experiment,
    Fits,
    Line,
    Prediction,
    SimulatedGate,
    Sweep,
    Tracking,
    exact_values,
)
from deltadyn.simulation import Run

LAWS = (ALONE, EQ_39, EQ_40, EXACT_LEGS, EXACT, DEFAULT, TRUTH)


def figures(data: Experiment) -> tuple[Figure, ...]:
    """Figures 6, 7, 8, 9 with 10, 12, 13 and 15, table 2 as bars, all controllers, the sweep."""
    drawn = {
        "lines": partial(_line_figure, data.lines),
        "motion": partial(_motion_figure, data.gate),
        "rod": partial(_rod_figure, data.gate),
        "gate": partial(_torque_figure, data.gate),
        "measured": partial(_measured_figure, data.gates),
        "bars": partial(_bar_figure, data.fits),
        "validation": partial(_validation_figure, data.predictions["industrial"]),
        "angles": partial(_angle_figure, data.tracking),
        "tracking": partial(_tracking_curves, data),
        "laws": partial(_tracking_bars, data.tracking),
        "sweep": partial(_sweep_figure, data.sweep, data.tracking),
    }
    largest = float(np.abs(data.gate.motion.pdd[:, :3]).max())
    return captioned(PAPER, drawn, largest=largest)


def _four(titles: tuple[str, ...], labels: tuple[str, ...], first: str = "time (s)") -> Any:
    """Four panels with the titles of their y axes; over time, but for the `first`."""
    figure = panels(2, 2, titles=titles, down=0.19, across=0.08)
    figure.update_xaxes(title_text="time (s)")
    figure.update_xaxes(title_text=first, row=1, col=1)
    for place, label in enumerate(labels):
        figure.update_yaxes(title_text=label, row=place // 2 + 1, col=place % 2 + 1)
    return finished(figure, 640, top=75)


def _line_figure(lines: Mapping[str, Line]) -> Any:
    """The path, phi in system 1, and l, theta, phi in system 2."""
    titles = ("(a) the path", "(b) system 1: phi", "(c) system 2: l", "(c) system 2: theta and phi")
    figure = _four(titles, ("y (mm)", "deg", "mm", "deg"), "x (mm)")
    for (name, line), dash in zip(lines.items(), ("dot", "solid"), strict=True):
        text, (x, y) = name.partition(",")[0], 1e3 * line.p[:, :2].T
        length, theta, phi = line.both.projected.T
        for label, place, k, across, up in (
            (text, (1, 1), 3, x, y),
            (f"phi, {text}", (1, 2), 0, line.t, np.degrees(line.both.polar[:, 2])),
            (f"l, {text}", (2, 1), 3, line.t, 1e3 * length),
            (f"theta, {text}", (2, 2), 1, line.t, np.degrees(theta)),
            (f"phi of system 2, {text}", (2, 2), 2, line.t, np.degrees(phi)),
        ):
            curve = Curve(label, across, up, colour(k), dash, 1.6)
            draw(figure, curve, row=place[0], column=place[1], legend=place != (2, 1))
    return figure.update_layout(margin_t=95)  # its legend has two rows


def _motion_figure(gate: SimulatedGate) -> Any:
    """The path in the plane of the gate, and position, velocity, acceleration over time."""
    motion = gate.motion
    titles = ("(a) path", "(b) position", "(c) velocity", "(d) acceleration")
    figure = _four(titles, ("z (m)", "m", "m/s", "m/s²"), "x (m)")
    path = Curve("path", motion.p[:, 0], motion.p[:, 2], colour(3), width=1.6)
    draw(figure, path, legend=False)
    for k, name in enumerate("xyz"):
        for place, part in enumerate((motion.p, motion.pd, motion.pdd), start=1):
            curve = Curve(name, motion.t, part[:, k], colour(k), width=1.6)
            draw(figure, curve, row=place // 2 + 1, column=place % 2 + 1, legend=place == 1)
    return figure


def _rod_figure(gate: SimulatedGate) -> Any:
    titles = ("(a) coordinates", "(b) rates", "(c) accelerations", "(d) force and moments")
    figure = _four(titles, ("m, rad", "m/s, rad/s", "m/s², rad/s²", "N, N m"))
    parts = (gate.coordinates, gate.rates, gate.accelerations, gate.forces)
    for place, values in enumerate(parts):
        row, column = place // 2 + 1, place % 2 + 1
        draw_lines(figure, gate.motion.t, values, ("l", "theta", "phi"), row=row, column=column)
    return figure


def _torque_figure(gate: SimulatedGate) -> Any:
    figure = panels(1, 2, titles=("without rod", "with rod"), across=0.08)
    t = gate.motion.t
    for column, tau in enumerate((gate.without, gate.projected), start=1):
        draw_lines(figure, t, tau, ARMS, column=column)
    for k, name in enumerate(ARMS):
        curve = Curve(f"exact, {name}", t, gate.exact[:, k], colour(k), "dot", 1.6)
        draw(figure, curve, column=2)
    return _alike(figure, 400)


def _measured_figure(gates: Mapping[str, Run]) -> Any:
    figure = panels(1, 3, titles=ARMS, across=0.08)
    for number, (name, run) in enumerate(gates.items()):
        for k in range(3):
            curve = Curve(name, run.recording.t, run.recording.tau[:, k], colour(number))
            draw(figure, curve, column=k + 1, legend=k == 0, points=600)
    return _alike(figure, 400)


def _alike(figure: Any, height: int, label: str = "torque (N m)") -> Any:
    """Panels side by side, over time, with one scale."""
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text=label, row=1, col=1)
    return finished(figure, height, x="time (s)", top=75)


def _bar_figure(fits: Mapping[str, Fits]) -> Any:
    """Identified over true values of both models on both benches."""
    figure = panels()
    names = [name for name in ROWS if name != "I_u"]
    for preset in ("ideal", "industrial"):
        one = fits[preset]
        exact, _ = exact_values(one.exact)
        given = one.paper.with_platform(one.machine["platform.m"])
        for k, (title, values) in enumerate((("exact model", exact), ("eqs. 41-45", given))):
            ratios = [values[name] / one.machine[name] for name in names]
            shown, faint = (ratios, None), preset == "ideal"
            draw_bars(figure, f"{title}, {preset} bench", shown, colour(k), x=names, faint=faint)
    figure.add_hline(y=1, line={"color": LEFT, "width": 1})
    return finished(figure, 420, y="identified over true")


def _validation_figure(prediction: Prediction) -> Any:
    predicted = prediction.predicted
    curves = (
        ("measured", prediction.tau, "#999999", "solid"),
        ("predicted, eq. 39 (no rod)", predicted[EQ_39], "#bbbbbb", "dash"),
        ("predicted, eq. 40", predicted[EQ_40], colour(1), "dot"),
        ("predicted, exact model", predicted[EXACT], colour(0), "solid"),
    )
    shown = [Curve(name, prediction.t, tau, style, dash) for name, tau, style, dash in curves]
    return axes_figure(("1", "2", "3"), shown)


def _angle_figure(tracking: Tracking) -> Any:
    """Planned and actual angles with the paper's feedforward, with and without the rod."""
    figure = panels(1, 2, titles=("(a) eq. 40, with the rod", "(c) eq. 39, without"), across=0.08)
    for column, controller in enumerate((EQ_40, EQ_39), start=1):
        run = tracking.runs["industrial", controller]
        for word, q, dash in (
            ("actual", run.truth.q, "solid"),
            ("planned", run.reference.q, "dot"),
        ):
            for k, joint in enumerate(ARMS):
                style = colour(k) if word == "actual" else "#111111"
                curve = Curve(f"{word}, {joint}", run.truth.t, np.degrees(q[:, k]), style, dash)
                draw(figure, curve, column=column, legend=column == 1)
    return _alike(figure, 400, "joint angle (deg)")


def _tracking_curves(data: Experiment) -> Any:
    benches = {
        "ideal bench": ("ideal", data.tracking),
        "industrial bench": ("industrial", data.tracking),
        "the same, no ripple": (CALM, data.sweep.calm),
    }
    figure = panels(3, 3, titles=tuple(benches), down=0.05, across=0.03, together=True)
    for column, (bench, tracking) in enumerate(benches.values(), start=1):
        for name in (EQ_39, EQ_40):
            t, error = tracking.runs[bench, name].truth.t, tracking.error(bench, name)
            for k in range(3):
                curve = Curve(name, t, error[:, k], colour(LAWS.index(name)), width=1.6)
                draw(figure, curve, row=k + 1, column=column, legend=column == 1 and k == 0)
        figure.update_xaxes(title_text="time (s)", row=3, col=column)
    for k, joint in enumerate(ARMS, start=1):
        first = "y" if k == 1 else f"y{3 * k - 2}"
        figure.update_yaxes(matches=first, row=k)
        figure.update_yaxes(title_text=f"{joint} (mrad)", row=k, col=1)
    return finished(figure, 720, top=75)


def _tracking_bars(tracking: Tracking) -> Any:
    figure = panels(1, 2, titles=("industrial bench", "ideal bench"), across=0.03)
    for column, bench in enumerate(("industrial", "ideal"), start=1):
        for k, name in enumerate(LAWS):
            if (bench, name) in tracking.runs:
                shown = (tracking.rms(bench, name), None)
                draw_bars(figure, name, shown, colour(k), x=ARMS, column=column)
    figure.update_yaxes(type="log", dtick=1, exponentformat="power", matches="y")
    figure.update_yaxes(title_text="RMS error (mrad)", row=1, col=1)
    return finished(figure, 420, top=75)


def _sweep_figure(sweep: Sweep, tracking: Tracking) -> Any:
    """The factor over the share of ripple, a curve per share of friction and fit."""
    import plotly.graph_objects as go

    figure = panels()
    x = 100 * np.array(RIPPLE_SHARES)
    for pair, text, symbol in (
        (THEIRS, "eqs. 39-45", "circle"),
        (TWO_STEPS, "exact model", "diamond"),
    ):
        for k, share in enumerate(FRICTION_SHARES):
            trace = go.Scatter(
                x=x,
                y=sweep.factors[pair][k],
                name=f"{text}, friction {100 * share:g} %",
                mode="lines+markers",
                line={"color": colour(k), "dash": "solid" if pair == THEIRS else "dot"},
                marker={"symbol": symbol, "size": 9},
            )
            figure.add_trace(trace)
    default = tracking.factor("industrial", "exact model, default identify")
    cross = go.Scatter(
        x=[100],
        y=[default],
        name="default identify",
        mode="markers",
        marker={"symbol": "x", "size": 11, "color": LEFT},
    )
    figure.add_trace(cross)
    figure.add_hline(y=PAPER.numbers["factor"], line={"color": LEFT, "width": 1, "dash": "dash"})
    figure.update_yaxes(type="log", tickvals=[1, 1.5, 2, 3, 4, 5, 6])
    x_title, y_title = "motor ripple, % of the industrial preset", "error without over with the rod"
    return finished(figure, 460, x=x_title, y=y_title)
