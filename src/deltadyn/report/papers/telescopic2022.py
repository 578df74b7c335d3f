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
    NONE,
    OWN,
    PAPER,
    PROJECTED,
    ROWS,
    WITH,
    WITHOUT,
    Bench,
    Found,
    Line,
    Simulated,
    Tracking,
    Validated,
    fitted_value,
    machine_value,
)

LAWS = (ALONE, WITHOUT, PROJECTED, WITH, OWN)
BENCHES = {"ideal": "ideal bench", "industrial": "industrial bench", NONE: "the same, no ripple"}


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 6, 7, 8, 9 with 10, 12, 13 and 15, and table 2 and all controllers as bars."""
    gate, runs, followed = found.simulated, found.runs, found.followed
    drawn = {
        "lines": partial(_line_figure, found.lines),
        "motion": partial(_motion_figure, gate),
        "rod": partial(_rod_figure, gate),
        "gate": partial(_torque_figure, gate),
        "measured": partial(_measured_figure, runs),
        "validation": partial(_validation_figure, found.validated["industrial"]),
        "bars": partial(_bar_figure, runs),
        "tracking": partial(_tracking_curves, followed),
        "laws": partial(_tracking_bars, followed),
    }
    return captioned(PAPER, drawn, largest=gate.largest)


def _four(titles: tuple[str, ...], labels: tuple[str, ...], first: str = "time (s)") -> Any:
    """Four panels with the titles of their y axes; over time, but for the `first`."""
    figure = panels(2, 2, titles=titles, down=0.19, across=0.08)
    figure.update_xaxes(title_text="time (s)")
    figure.update_xaxes(title_text=first, row=1, col=1)
    for place, label in enumerate(labels):
        figure.update_yaxes(title_text=label, row=place // 2 + 1, col=place % 2 + 1)
    return finished(figure, 640, top=75)


def _line_figure(lines: Mapping[str, Line]) -> Any:
    """The way, phi in system 1, and l, theta, phi in system 2."""
    titles = ("(a) the way", "(b) system 1: phi", "(c) system 2: l", "(c) system 2: theta and phi")
    figure = _four(titles, ("y (mm)", "deg", "mm", "deg"), "x (mm)")
    for (name, line), dash in zip(lines.items(), ("dot", "solid"), strict=True):
        text, (x, y) = name.partition(",")[0], 1e3 * line.p[:, :2].T
        length, theta, phi = line.found.projected.T
        for label, place, k, across, up in (
            (text, (1, 1), 3, x, y),
            (f"phi, {text}", (1, 2), 0, line.t, np.degrees(line.found.polar[:, 2])),
            (f"l, {text}", (2, 1), 3, line.t, 1e3 * length),
            (f"theta, {text}", (2, 2), 1, line.t, np.degrees(theta)),
            (f"phi of system 2, {text}", (2, 2), 2, line.t, np.degrees(phi)),
        ):
            curve = Curve(label, across, up, colour(k), dash, 1.6)
            draw(figure, curve, row=place[0], column=place[1], legend=place != (2, 1))
    return figure.update_layout(margin_t=95)  # its legend has two rows


def _motion_figure(gate: Simulated) -> Any:
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


def _rod_figure(gate: Simulated) -> Any:
    titles = ("(a) coordinates", "(b) rates", "(c) accelerations", "(d) force and moments")
    figure = _four(titles, ("m, rad", "m/s, rad/s", "m/s², rad/s²", "N, N m"))
    parts = (gate.coordinates, gate.rates, gate.accelerations, gate.forces)
    for place, values in enumerate(parts):
        row, column = place // 2 + 1, place % 2 + 1
        draw_lines(figure, gate.motion.t, values, ("l", "theta", "phi"), row=row, column=column)
    return figure


def _torque_figure(gate: Simulated) -> Any:
    figure = panels(1, 2, titles=("without rod", "with rod"), across=0.08)
    t = gate.motion.t
    for column, tau in enumerate((gate.without, gate.projected), start=1):
        draw_lines(figure, t, tau, ARMS, column=column)
    for k, name in enumerate(ARMS):
        curve = Curve(f"exact, {name}", t, gate.exact[:, k], colour(k), "dot", 1.6)
        draw(figure, curve, column=2)
    return _alike(figure, 400)


def _measured_figure(runs: Bench) -> Any:
    figure = panels(1, 3, titles=ARMS, across=0.08)
    for number, (run, name) in enumerate(zip(runs.gates, ("without rod", "with rod"), strict=True)):
        for k in range(3):
            curve = Curve(name, run.recording.t, run.recording.tau[:, k], colour(number))
            draw(figure, curve, column=k + 1, legend=k == 0, points=600)
    return _alike(figure, 400)


def _alike(figure: Any, height: int) -> Any:
    """Panels side by side, over time, with one scale of torque."""
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text="torque (N m)", row=1, col=1)
    return finished(figure, height, x="time (s)", top=75)


def _validation_figure(validated: Validated) -> Any:
    predicted = validated.predicted
    curves = (
        ("measured", validated.tau, "#999999", "solid"),
        ("predicted, no rod", predicted["legs alone"], "#bbbbbb", "dash"),
        ("predicted, paper's model", predicted["projected-rod"], colour(1), "dot"),
        ("predicted, exact model", predicted["exact"], colour(0), "solid"),
    )
    shown = [Curve(name, validated.t, tau, style, dash) for name, tau, style, dash in curves]
    return axes_figure(("1", "2", "3"), shown)


def _bar_figure(runs: Bench) -> Any:
    """Identified over true values of both models on both benches."""
    figure = panels()
    for k, (name, kind) in enumerate((("exact", "exact"), ("paper's model", "mended"))):
        for preset in ("ideal", "industrial"):
            result, machine = getattr(runs.fits[preset], kind), runs.fits[preset].machine
            names = [item for item in ROWS if item != "I_u" and item not in result.held]
            ratios = [
                fitted_value(result, item, unbounded=k == 1) / machine_value(machine, item)
                for item in names
            ]
            faint, shown = preset == "ideal", (ratios, None)
            draw_bars(figure, f"{name}, {preset} bench", shown, colour(k), x=names, faint=faint)
    figure.add_hline(y=1, line={"color": LEFT, "width": 1})
    return finished(figure, 420, y="identified over true")


def _tracking_curves(found: Tracking) -> Any:
    figure = panels(3, 3, titles=tuple(BENCHES.values()), down=0.05, across=0.03, together=True)
    for column, bench in enumerate(BENCHES, start=1):
        for name in (WITHOUT, WITH):
            t, error = found.runs[bench, name].truth.t, found.error(bench, name)
            for k in range(3):
                curve = Curve(name, t, error[:, k], colour(LAWS.index(name)), width=1.6)
                draw(figure, curve, row=k + 1, column=column, legend=column == 1 and k == 0)
        figure.update_xaxes(title_text="time (s)", row=3, col=column)
    for k, joint in enumerate(ARMS, start=1):
        first = "y" if k == 1 else f"y{3 * k - 2}"
        figure.update_yaxes(matches=first, row=k)
        figure.update_yaxes(title_text=f"{joint} (mrad)", row=k, col=1)
    return finished(figure, 720, top=75)


def _tracking_bars(found: Tracking) -> Any:
    figure = panels(1, 2, titles=("ideal bench", "industrial bench"), across=0.03)
    for column, bench in enumerate(("ideal", "industrial"), start=1):
        for k, name in enumerate(LAWS):
            draw_bars(
                figure, name, (found.rms(bench, name), None), colour(k), x=ARMS, column=column
            )
    figure.update_yaxes(type="log", dtick=1, exponentformat="power", matches="y")
    figure.update_yaxes(title_text="RMS error (mrad)", row=1, col=1)
    return finished(figure, 420, top=75)
