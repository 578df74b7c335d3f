"""The figures of [falezza2020]: torques over v_F and v_P, mean errors, factors, the mass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deltadyn.identification.methods.gray_box import GrayBoxResult
from deltadyn.report.papers import Figure, band_figure, captioned, draw_beside
from deltadyn.report.plots import (
    COLOURS,
    LEFT,
    Curve,
    draw,
    draw_points,
    finished,
    panels,
)
from deltadyn.reproduce.falezza2020 import MASS, PAPER, TABLE_1, TABLE_2, Found, Payload
from deltadyn.reproduce.trials import Errors


def figures(data: Found) -> tuple[Figure, ...]:
    """Figures 3 to 8 of the paper, and the factors of every trajectory."""
    load = data.load
    drawn = {
        "torques": partial(band_figure, data.unseen.prepared, data.torques),
        "errors": partial(error_figure, data.found, TABLE_1),
        "factors": partial(factor_figure, data.result),
        "load_torques": partial(band_figure, load.trial.prepared, load.torques),
        "load_errors": partial(error_figure, load.found, TABLE_2),
        "mass": partial(mass_figure, load),
    }
    return captioned(PAPER, drawn)


def error_figure(found: Mapping[str, Errors], paper: Mapping[str, Any]) -> Any:
    """Mean error and standard deviation per joint and model, ours beside the paper's."""
    figure = panels()
    draw_beside(figure, {name: (own.mean, own.std) for name, own in found.items()}, paper)
    return finished(figure, 400, y="error (N m)")


def factor_figure(result: GrayBoxResult) -> Any:
    """rho1 against rho2: grid with the trajectory's number, closed form and average."""
    figure, fits = panels(), result.per_trajectory
    exact_x, exact_y = np.array([fit.least_squares for fit in fits]).T
    grid_x, grid_y = np.array([(fit.rho1, fit.rho2) for fit in fits]).T
    draw_points(figure, grid_x, grid_y, COLOURS[0], name="grid")
    draw_points(figure, exact_x, exact_y, LEFT, name="closed form", symbol="diamond-open")
    draw_points(figure, [result.rho1], [result.rho2], COLOURS[1], name="average", symbol="x")
    for number, fit in enumerate(fits, start=1):
        figure.add_annotation(x=fit.rho1, y=fit.rho2, text=str(number), showarrow=False, yshift=12)
    return finished(figure, 400, x="rho1", y="rho2")


def mass_figure(load: Payload) -> Any:
    """The estimated mass from measured torque, with ours and its band, and from the model's own."""
    t, std = load.trial.prepared.t - load.trial.prepared.t[0], np.nan_to_num(load.std)
    figure = panels(2, down=0.08, together=True)
    curves = (
        (load.masses, "eq. 11, mended", 1, "solid"),
        (load.mass, "PayloadEstimator", 0, "solid"),
        (load.mass + 2 * std, "two standard deviations", 0, "dot"),
        (load.mass - 2 * std, "two standard deviations", 0, "dot"),
        (load.simulated, "eq. 11 on the model's torque", 2, "solid"),
    )
    for number, (values, name, place, dash) in enumerate(curves):
        curve = Curve(name, t, values, COLOURS[place], dash)
        draw(figure, curve, row=2 if place == 2 else 1, legend=number != 3)
    for row in (1, 2):
        figure.add_hline(y=MASS, line={"color": LEFT, "dash": "dash"}, row=row, col=1)
        figure.update_yaxes(title_text="payload (kg)", range=[-0.5, 6.0], row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 560)
