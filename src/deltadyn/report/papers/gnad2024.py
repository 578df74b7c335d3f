"""The figures of [gnad2024]: task space, parameters, mass matrix, terms, torques, spindle."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import EquationsOfMotion, equations_of_motion
from deltadyn.identification import robot_from_standard
from deltadyn.motion import fourier_motion
from deltadyn.report.papers import SPACE, Figure, camera, captioned, draw_bars, draw_lines
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
from deltadyn.reproduce.gnad2024 import (
    BASE,
    BY_HAND,
    PAPER,
    RG1,
    RG2,
    ROBOT,
    TABLE_1,
    THINNING,
    TINY,
    WEIGHT_RATIOS,
    Bench,
    Results,
    Surrogate,
    TaskSpace,
    axis_4,
    friction_curve,
    machine_friction,
)
from deltadyn.robot import load_robot

ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
SPINDLE_CURVES = {
    "ID geom": "viscous and Coulomb",
    BY_HAND: "by hand: Fv4 x 5, Fc4 x 0.75",
    THINNING: "with a thinning term",
}


def figures(results: Results) -> tuple[Figure, ...]:
    """Figures 2 to 8 of the paper, the weight of eq. 15, and the spindle's friction."""
    model, bench = results.surrogate, results.bench
    drawn = {
        "space": partial(space_figure, results.space),
        "parameters": partial(parameter_figure, model),
        "weights": partial(weight_figure, results),
        "mass": partial(mass_figure, model),
        "terms": partial(terms_figure, model),
        "torques": partial(torque_figure, bench),
        "spindle": partial(spindle_figure, bench),
        "friction": partial(friction_figure, bench),
    }
    return captioned(PAPER, drawn, missed=100 - 100 * results.space.ball.reachable)


def space_figure(space: TaskSpace) -> Any:
    """The workspace with the best hemisphere in space, and both hemispheres over height."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1, cols=2, specs=[[{"type": "scene"}, {"type": "xy"}]], horizontal_spacing=0.06
    )
    boundary, best = space.boundary, space.ball
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
    x = np.append(best.radius * np.cos(angle), [0.0, best.radius])
    z = np.append(best.z - best.radius * np.sin(angle), [best.z, best.z])
    draw(figure, Curve("best hemisphere", x, z, colour(1), width=2), column=2)
    motion = fourier_motion(load_robot(ROBOT), space.bench[0].series, rate=50.0, ramp=0.0)
    reach = np.hypot(motion.p[:, 0], motion.p[:, 1])
    draw_points(figure, reach, motion.p[:, 2], MEASURED, name="excitation", column=2)
    figure.data[-1].marker.size = 3
    figure.update_scenes(aspectmode="data", camera=camera(1.4, -1.6, 0.9, -0.2), **SPACE)
    figure.update_xaxes(title_text="radius (m)", row=1, col=2)
    figure.update_yaxes(title_text="z (m)", scaleanchor="x", row=1, col=2)
    return finished(figure, 520)


def parameter_figure(model: Surrogate) -> Any:
    """Bars of regularisation values and of identified values, over nominal values."""
    nominal = {name: value for name, value in model.nominal.items() if value}
    names = [name for name in (*TABLE_1, "rotor4") if name in nominal and name not in TINY]
    figure = panels(2, down=0.06, together=True)
    for k, label in enumerate((RG1, RG2)):
        pairs = ((1, model.p_reg[label]), (2, model.choices[label].fit.standard))
        for row, values in pairs:
            shares = [values[name] / nominal[name] for name in names]
            draw_bars(figure, label, (shares, None), colour(k), x=names, row=row)
    figure.update_yaxes(title_text="regularisation", row=1, col=1)
    figure.update_yaxes(title_text="identified", row=2, col=1)
    return finished(figure, 560)


def weight_figure(results: Results) -> Any:
    """The held-out error by the least, and the distance from p_reg, over the ratio of weights."""
    figure = panels(1, 2, titles=("error on another motion, by the least", "distance from p_reg"))
    choices = results.surrogate.choices | {
        f"bench, {name}": choice for name, choice in results.bench.choices.items()
    }
    for k, (name, choice) in enumerate(choices.items()):
        distance = np.array([fit.distance for fit in choice.fits])
        chosen = choice.chosen[choice.rule]
        for column, values in ((1, choice.held_out / choice.held_out.min()), (2, distance)):
            curve = Curve(name, WEIGHT_RATIOS, values, colour(k))
            draw(figure, curve, column=column, legend=column == 1)
            point = WEIGHT_RATIOS[[chosen]], values[[chosen]]
            draw_points(figure, *point, colour(k), name=name, column=column)
            figure.data[-1].showlegend = False
    figure.update_xaxes(type="log", title_text="gamma_p / gamma_tau")
    figure.update_yaxes(type="log")
    return finished(figure, 440, top=75)


def terms_of(model: Surrogate, name: str) -> EquationsOfMotion:
    """The identified model's terms along the surrogate's motion."""
    robot = robot_from_standard(model.robot, model.choices[name].fit.standard)
    return equations_of_motion(robot, model.motion, model="rigid")


def mass_figure(model: Surrogate) -> Any:
    """Relative errors of the entries along the motion, from both regularisations."""
    nominal = equations_of_motion(model.robot, model.motion, model="rigid").M
    figure = panels(2, down=0.06, together=True)
    for row, name in enumerate((RG1, RG2), start=1):
        off = nominal - terms_of(model, name).M
        for k, (i, j) in enumerate(ENTRIES):
            share = 100 * off[:, i, j] / nominal[:, i, j].mean()
            dash = "solid" if i == j else "dot"
            curve = Curve(f"M_{i + 1}{j + 1}", model.motion.t, share, colour(k % 3), dash)
            draw(figure, curve, row=row, legend=row == 1)
        figure.update_yaxes(title_text=f"{name} (%)", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 520)


def terms_figure(model: Surrogate) -> Any:
    """Torques of Coriolis forces and acceleration of the arms, nominal and identified."""
    sources = {"nominal": equations_of_motion(model.robot, model.motion, model="rigid")}
    sources |= {name: terms_of(model, name) for name in (RG1, RG2)}
    figure = panels(2, down=0.06, together=True)
    for row, label in enumerate(("Coriolis (N m)", "acceleration (N m)"), start=1):
        for k, (name, terms) in enumerate(sources.items()):
            acceleration = np.einsum("nij,nj->ni", terms.M, model.motion.qdd)
            torque: FloatArray = (terms.c if row == 1 else acceleration)[:, :3]
            names = [f"tau_{axis + 1}, {name}" for axis in range(3)]
            style: dict[str, Any] = {"dash": DASHES[k], "width": 1.6 if k else 4.0}
            draw_lines(figure, model.motion.t, torque, names, row=row, label=label, **style)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 640, top=75)


def torque_figure(bench: Bench) -> Any:
    """Measured and predicted torque of every joint on the verification motion."""
    samples = bench.logs[2].samples
    figure = panels(4, down=0.03, together=True)
    sources = {"measured": samples.tau} | {
        name: bench.torques[name] for name in (BASE, "ID simple", "ID geom")
    }
    for axis in range(4):
        for k, (name, torque) in enumerate(sources.items()):
            paint, width = (MEASURED, 3.0) if k == 0 else (colour(k - 1), 1.4)
            curve = Curve(name, samples.t, torque[:, axis], paint, width=width)
            draw(figure, curve, row=axis + 1, legend=axis == 0)
        figure.update_yaxes(title_text=f"tau_{axis + 1} (N m)", row=axis + 1, col=1)
    figure.update_xaxes(title_text="time (s)", row=4, col=1)
    return finished(figure, 760)


def spindle_figure(bench: Bench) -> Any:
    """The spindle's torque: measured, by the paper's friction, by hand, with a thinning term."""
    samples = bench.logs[2].samples
    curves = [Curve("measured", samples.t, samples.tau[:, 3], MEASURED, width=3.0)]
    for k, (key, name) in enumerate(SPINDLE_CURVES.items()):
        curves.append(Curve(name, samples.t, bench.torques[key][:, 3], colour(k)))
    return time_figure(curves, "tau_4 (N m)")


def friction_figure(bench: Bench) -> Any:
    """Friction over the rate, the slow end and the whole range side by side."""
    figure = panels(1, 2, titles=("up to 175 deg/s", "the whole range"))
    numbers, velocity = axis_4(bench), bench.thinning[3]
    for column, most in ((1, 175.0), (2, 2760.0)):
        rate = np.linspace(1e-3, np.radians(most), 400)
        machine = Curve("machine", np.degrees(rate), machine_friction(rate), MEASURED, width=3.0)
        draw(figure, machine, column=column, legend=column == 1)
        curves = np.stack(
            [friction_curve(numbers[key], rate, velocity) for key in SPINDLE_CURVES], axis=1
        )
        draw_lines(figure, np.degrees(rate), curves, list(SPINDLE_CURVES.values()), column=column)
        figure.update_xaxes(title_text="rate (deg/s)", row=1, col=column)
    figure.update_yaxes(title_text="friction (N m)", row=1, col=1)
    return finished(figure, 420, top=75)
