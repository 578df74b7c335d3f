"""The figures of [falezza2020]: torques over v_F and v_P, errors, factors, mass, tracking."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from deltadyn.identification import GrayBoxResult
from deltadyn.report.papers import Figure, band_figure, captioned, draw_bars, draw_beside
from deltadyn.report.plots import (
    COLOURS,
    LEFT,
    Curve,
    colour,
    draw,
    draw_points,
    finished,
    panels,
)
from deltadyn.reproduce.falezza2020 import (
    BANK,
    LAW,
    LAW_OWN,
    M_ID,
    M_ID_F,
    M_KH,
    MEANS,
    PAPER,
    PAYLOAD_KG,
    TABLE_1,
    TABLE_2,
    Experiment,
    MeanErrors,
    PayloadRuns,
)
from deltadyn.reproduce.trials import Errors
from deltadyn.simulation import Run


def figures(data: Experiment | PayloadRuns) -> tuple[Figure, ...]:
    """Figures 3 to 9 of the paper, the means with their causes, the factors of all trajectories.

    Of the payload's runs alone figures 6b, 7 and 8.
    """
    load = data if isinstance(data, PayloadRuns) else data.payload
    of_payload = {
        "load_torques": partial(band_figure, load.picked.trial.prepared, load.torques),
        "load_errors": partial(error_figure, load.errors, TABLE_2),
        "mass": partial(mass_figure, load),
    }
    if isinstance(data, PayloadRuns):
        return captioned(PAPER, of_payload)
    free = data.free_motion
    drawn = {
        "torques": partial(band_figure, free.trial.prepared, free.torques),
        "errors": partial(error_figure, free.errors, TABLE_1),
        "means": partial(mean_figure, data.means),
        "factors": partial(factor_figure, data.factors),
        **of_payload,
        "tracking": partial(tracking_figure, data.tracking),
    }
    return captioned(PAPER, drawn)


def error_figure(found: Mapping[str, Errors], paper: Mapping[str, Any]) -> Any:
    """Mean error and standard deviation per joint and model, ours beside the paper's."""
    figure = panels()
    shown = {name: (item.mean_all, item.std_all) for name, item in found.items()}
    draw_beside(figure, shown, paper)
    return finished(figure, 400, y="error (N m)")


def mean_figure(means: MeanErrors) -> Any:
    """The nine means: the paper's, the bench's, and the bench's with the causes."""
    figure = panels()
    for k, name in enumerate((M_KH, M_ID, M_ID_F)):
        draw_bars(figure, f"{name}, paper", (MEANS[k], None), colour(k), hollow=True)
        draw_bars(figure, f"{name}, bench", (means.bench[k], None), colour(k), faint=True)
        draw_bars(figure, f"{name}, with the causes", (means.explained[k], None), colour(k))
    return finished(figure, 400, y="mean error (N m)")


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


def mass_figure(load: PayloadRuns) -> Any:
    """The estimated mass from measured torque, with ours and its band, and from the model's own."""
    t, bank = load.picked.t - load.picked.t[0], load.curves[BANK]
    std = np.zeros(len(t)) if bank.std is None else bank.std
    figure = panels(2, down=0.08, together=True)
    curves = (
        (load.curves[LAW].mass, LAW, 1, "solid"),
        (bank.mass, BANK, 0, "solid"),
        (bank.mass + 2 * std, "two standard deviations", 0, "dot"),
        (bank.mass - 2 * std, "two standard deviations", 0, "dot"),
        (load.curves[LAW_OWN].mass, LAW_OWN, 2, "solid"),
    )
    for number, (values, name, place, dash) in enumerate(curves):
        curve = Curve(name, t, values, COLOURS[place], dash)
        draw(figure, curve, row=2 if place == 2 else 1, legend=number != 3)
    for row in (1, 2):
        true = Curve("m_p", t, load.picked.mass, LEFT, "dash")
        draw(figure, true, row=row, legend=row == 1)
        figure.update_yaxes(
            title_text="payload (kg)", range=[-0.5, 1.5 * PAYLOAD_KG], row=row, col=1
        )
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 560)


def tracking_figure(runs: Mapping[str, Run]) -> Any:
    """Commanded minus true angle of every arm in mrad, by the model of the feedforward."""
    figure = panels(3, titles=["arm 1", "arm 2", "arm 3"], down=0.06, together=True)
    for k, (name, run) in enumerate(runs.items()):
        error = 1000 * run.tracking_error
        for arm in range(3):
            curve = Curve(name, run.reference.t, error[:, arm], colour(k))
            draw(figure, curve, row=arm + 1, legend=arm == 0)
    for row in (1, 2, 3):
        figure.update_yaxes(title_text="mrad", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=3, col=1)
    return finished(figure, 640, top=30)
