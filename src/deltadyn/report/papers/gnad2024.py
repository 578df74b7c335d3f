"""The figures of [gnad2024]: parameters, mass matrix, terms, torques, spindle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.report.papers import (
    SPACE,
    Figure,
    band_figure,
    camera,
    captioned,
    draw_bars,
    draw_lines,
)
from deltadyn.report.plots import (
    DASHES,
    MEASURED,
    Curve,
    colour,
    draw,
    draw_points,
    finished,
    panels,
    time_figure,
)
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
    PAPER,
    REGULARISED,
    TABLE_1,
    Surrogate,
)

ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SHOWN = {  # of the spindle's friction
    CHOLESKY: "viscous and Coulomb",
    BY_HAND: "by hand: Fv4 x 5, Fc4 x 0.75",
    FREE: "with a free Stribeck term",
    THIN: "with a thinning term",
}


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 2 to 8 of the paper, and the friction of the spindle over its rate."""
    model, bench = found.model, found.bench
    band = "all frequencies" if bench.band is None else f"below {bench.band:.0f} Hz"
    torques = {name: bench.torques[name] for name in (CHOLESKY, CONVEX)}
    drawn = {
        "torques": partial(band_figure, bench.prepared, torques),
        "spindle": partial(spindle_figure, bench),
        "friction": partial(friction_figure, bench),
        "mass": partial(mass_figure, model),
        "terms": partial(terms_figure, model),
        "parameters": partial(parameter_figure, model),
        "space": partial(space_figure, found.space),
    }
    return captioned(PAPER, drawn, band=band, missed=found.space.missed)


def space_figure(space: TaskSpace) -> Any:
    """The workspace with the best hemisphere in space, and both hemispheres over height."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=2, specs=[[{"type": "scene"}, {"type": "xy"}]], horizontal_spacing=0.06
    )
    boundary, best = space.boundary, space.best
    points = dict(zip("xyz", boundary.vertices.T, strict=True))
    faces = dict(zip("ijk", boundary.faces.T, strict=True))
    style = {"color": colour(0), "opacity": 0.35, "name": "workspace", "showlegend": True}
    figure.add_trace(go.Mesh3d(**points, **faces, **style), row=1, col=1)
    around, down = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, np.pi / 2, 17))
    ball = go.Surface(
        x=best.radius * np.cos(around) * np.cos(down),
        y=best.radius * np.sin(around) * np.cos(down),
        z=best.z - best.radius * np.sin(down),
        opacity=0.5,
        showscale=False,
        colorscale=[[0, colour(1)], [1, colour(1)]],
    )
    figure.add_trace(ball, row=1, col=1)
    for k, radius in enumerate((boundary.radius.min(axis=1), boundary.radius.max(axis=1))):
        edge = Curve("boundary", radius, boundary.heights, colour(0))
        draw(figure, edge, column=2, legend=k == 0)
    figure.data[-1].fill = "tonextx"  # the band between the nearest and the farthest azimuth
    angle = np.linspace(0, np.pi / 2, 100)
    for k, (half, name) in enumerate(((best, "best hemisphere"), (space.inside, "largest inside"))):
        x = np.append(half.radius * np.cos(angle), [0.0, half.radius])
        z = np.append(half.z - half.radius * np.sin(angle), [half.z, half.z])
        draw(figure, Curve(name, x, z, colour(k + 1), width=2), column=2)
    p = space.excitation.p[::4]
    reach = np.hypot(p[:, 0], p[:, 1])
    draw_points(figure, reach, p[:, 2], MEASURED, name="excitation", column=2)
    figure.data[-1].marker.size = 3
    figure.update_scenes(aspectmode="data", camera=camera(1.4, -1.6, 0.9, -0.2), **SPACE)
    figure.update_xaxes(title_text="radius (m)", row=1, col=2)
    figure.update_yaxes(title_text="z (m)", scaleanchor="x", row=1, col=2)
    return finished(figure, 520)


def spindle_figure(bench: SpindleBench) -> Any:
    """The spindle's torque: measured, by the paper's friction, by hand, for the whole range."""
    given = bench.prepared
    curves = [Curve("measured", given.times, given.limited(given.tau)[:, 3], MEASURED, width=3.0)]
    for k, (key, name) in enumerate(SHOWN.items()):
        tau = given.limited(bench.torques[key])[:, 3]
        curves.append(Curve(name, given.times, tau, colour(k)))
    return time_figure(curves, "tau_4 (N m)")


def friction_figure(bench: SpindleBench) -> Any:
    """Friction over the rate, the slow end and the whole range side by side."""
    figure = panels(1, 2, titles=("up to 175 deg/s", "the whole range"))
    for column, most in ((1, 175.0), (2, 2760.0)):
        rate = np.linspace(1e-3, np.radians(most), 400)
        machine = Curve("machine", np.degrees(rate), true_friction(rate), MEASURED, width=3.0)
        draw(figure, machine, column=column, legend=column == 1)
        keys = [BASE, *list(SHOWN)[1:]]
        curves = np.stack([bench.curve(key, rate) for key in keys], axis=1)
        draw_lines(figure, np.degrees(rate), curves, list(SHOWN.values()), column=column)
        figure.update_xaxes(title_text="rate (deg/s)", row=1, col=column)
    figure.update_yaxes(title_text="friction (N m)", row=1, col=1)
    return finished(figure, 420, top=75)


def mass_figure(model: Surrogate) -> Any:
    """Relative errors of the entries along the motion, for two regularisations."""
    figure = panels(2, down=0.06, together=True)
    for row, name in enumerate((NOMINAL, GEOMETRIC), start=1):
        left = model.nominal.M - model.fits[name].terms.M
        for k, (i, j) in enumerate(ENTRIES):
            share = 100 * left[:, i, j] / model.nominal.M[:, i, j].mean()
            dash = "solid" if i == j else "dot"
            curve = Curve(f"M_{i + 1}{j + 1}", model.probe.t, share, colour(k % 3), dash)
            draw(figure, curve, row=row, legend=row == 1)
        figure.update_yaxes(title_text=f"{_short(name)} (%)", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 520)


def terms_figure(model: Surrogate) -> Any:
    """Torques of acceleration and Coriolis forces of the arms, nominal and identified."""
    figure = panels(2, down=0.06, together=True)
    sources = {"nominal": model.nominal} | {
        f"{_short(name)} regularisation": model.fits[name].terms for name in (NOMINAL, GEOMETRIC)
    }
    for row, kind in enumerate(("acceleration", "coriolis"), start=1):
        label = f"{kind.capitalize()} (N m)"
        for k, (name, terms) in enumerate(sources.items()):
            torque: FloatArray = getattr(terms, kind)
            names = [f"tau_{axis + 1}, {name}" for axis in range(3)]
            style: dict[str, Any] = {"dash": DASHES[k], "width": 1.6 if k else 4.0}
            draw_lines(figure, model.probe.t, torque, names, row=row, label=label, **style)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 640, top=75)


def parameter_figure(model: Surrogate) -> Any:
    """Bars of regularisation values and of what was identified, over nominal values."""
    nominal = model.standard
    names = [name for name in TABLE_1 if nominal[name]]
    figure = panels(2, down=0.06, together=True)
    for k, label in enumerate(REGULARISED):
        found = model.fits[label].fit.standard
        assert found is not None
        for row, values in ((1, model.guesses[label]), (2, found)):
            shares = [_share(values, nominal, name) for name in names]
            draw_bars(figure, _short(label), (shares, None), colour(k), x=names, row=row)
    figure.update_yaxes(title_text="regularisation", type="log", row=1, col=1)
    figure.update_yaxes(title_text="identified", type="log", row=2, col=1)
    return finished(figure, 560)


def _short(name: str) -> str:
    """The regularisation of a fit."""
    return name.partition(", ")[2]


def _share(values: Mapping[str, float], nominal: Mapping[str, float], name: str) -> float | None:
    """A value over the nominal one; nothing to draw on a logarithmic axis where it has no sign."""
    share = values[name] / nominal[name]
    return share if share > 0 else None
