"""The figures of [kim2022]: torques, coupling, convergence of the swarm, fitness."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from deltadyn.report.papers import Figure, captioned, draw_beside, path_figure, torque_figure
from deltadyn.report.plots import (
    LEFT,
    MEASURED,
    Curve,
    Map,
    colour,
    draw,
    draw_map,
    finished,
    panels,
)
from deltadyn.reproduce.kim2022 import (
    PAPER,
    PROPOSED,
    SHOWN,
    TABLE_2,
    Bench,
    manufacturers_torques,
)

NUMBERS = {"RLS": "7", "DLS": "8", "SVD": "9"}  # of the figures
HIDDEN = ("DLS as printed", "SVD as printed")  # until their name is clicked: near RLS
SHOWN_S = (2.0, 6.0)  # of the identification motion: after its ramp, and it repeats


def figures(bench: Bench) -> tuple[Figure, ...]:
    """Figures 3 and 5 to 10, table 2 as bars, coupling, and how the searches converge."""
    paths = {name: motion.p for name, motion in bench.data.motions.items()}
    predicted = {name: bench.fits.methods[name].predicted for name in SHOWN}
    unseen = bench.data.validation
    validation = (unseen.times, unseen.limited(unseen.tau), predicted, HIDDEN)
    out = captioned(
        PAPER,
        {
            "given": partial(manufacturers_figure, bench),
            "coupling": partial(coupling_figure, bench),
            "paths": partial(path_figure, paths),
            "swarm": partial(identification_figure, bench, PROPOSED),
            "convergence": partial(convergence_figure, bench),
        },
    )
    for method, number in NUMBERS.items():
        drawn = {
            "baseline": partial(identification_figure, bench, f"{method} as printed", PROPOSED)
        }
        out += captioned(PAPER, drawn, method=method, number=number)
    return out + captioned(
        PAPER,
        {
            "torques": partial(torque_figure, *validation),
            "fitness": partial(fitness_figure, bench),
            "nonlinear": partial(nonlinear_figure, bench),
        },
    )


def manufacturers_figure(bench: Bench) -> Any:
    """Joint 1: measured, by eq. 1 with table 1 as printed and corrected, by the swarm."""
    figure = panels(2, down=0.06, together=True)
    rows = _shown_rows(bench)
    t = bench.data.identification.times[rows]
    for row in (1, 2):
        measured = Curve("measured", t, bench.data.measured[rows, 0], MEASURED, width=3.0)
        draw(figure, measured, row=row, legend=row == 1)
        figure.update_yaxes(title_text="tau_1 (N m)", row=row, col=1)
    shown = manufacturers_torques(bench.data, bench.fits)
    shown[PROPOSED] = bench.fits.methods[PROPOSED].fitted
    for k, (name, tau) in enumerate(shown.items()):
        draw(figure, Curve(name, t, tau[rows, 0], colour(k)), row=2 if name == PROPOSED else 1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 560)


def coupling_figure(bench: Bench) -> Any:
    """Coupling of each pair of drives over the plane of the platform."""
    shown = bench.coupling
    titles = [f"drives {i} and {j}" for i, j in shown.pairs]
    figure = panels(1, len(titles), titles=titles, across=0.06)
    for column, layer in enumerate(shown.coupling, 1):
        draw_map(figure, Map(layer, shown.x, shown.y, scale=None), column=column)
        figure.update_xaxes(title_text="x (m)", constrain="domain", row=1, col=column)
        anchor = "x" if column == 1 else f"x{column}"
        figure.update_yaxes(title_text="y (m)", scaleanchor=anchor, row=1, col=column)
    figure.update_layout(coloraxis={"colorscale": "Viridis", "colorbar": {"thickness": 14}})
    return finished(figure, 330, legend=False, top=50, right=70)


def identification_figure(bench: Bench, *names: str) -> Any:
    """Measured and fitted torque on a part of the identification motion, per joint."""
    rows = _shown_rows(bench)
    fitted = {name: bench.fits.methods[name].fitted[rows] for name in names}
    return torque_figure(bench.data.identification.times[rows], bench.data.measured[rows], fitted)


def _shown_rows(bench: Bench) -> slice:
    """Samples of the identification motion that are shown."""
    times = bench.data.identification.times
    return slice(*(int(np.searchsorted(times, times[0] + second)) for second in SHOWN_S))


def fitness_figure(bench: Bench) -> Any:
    """Fitness per joint and method by eq. 41, ours beside the paper's."""
    figure = panels()
    ours = {name: (bench.fits.methods[name].validation.fitness, None) for name in SHOWN}
    draw_beside(figure, ours, {name: (values, None) for name, values in TABLE_2.items()})
    lowest = min(min(trace.y) for trace in figure.data)
    figure.update_yaxes(range=[max(0.0, lowest - 0.05), 1.0])
    return finished(figure, 420, y="fitness")


def convergence_figure(bench: Bench) -> Any:
    """The best cost so far above the proven bound, over the iterations, cyclic and star."""
    figure = panels()
    for k, (topology, results) in enumerate(bench.fits.swarms.items()):
        for index, result in enumerate(results):
            above = np.maximum(result.history / bench.fits.bound - 1, 1e-16)  # below is rounding
            steps = np.arange(len(above), dtype=float)
            draw(figure, Curve(topology, steps, above, colour(k)), legend=index == 0)
    squares = bench.fits.methods["RLS on 11 columns"].above
    figure.add_hline(y=squares, line={"dash": "dash", "color": LEFT})
    figure.update_yaxes(type="log", exponentformat="power")
    return finished(figure, 420, x="iteration", y="above the optimum")


def nonlinear_figure(bench: Bench) -> Any:
    """Best cost so far of the three optimisers, over evaluations."""
    figure = panels()
    least = min(bench.nonlinear.cost.values())
    for k, (name, rows) in enumerate(bench.nonlinear.history.items()):
        above = np.maximum(rows[:, 1] / least - 1, 1e-6)
        draw(figure, Curve(name, rows[:, 0], above, colour(k)))
    figure.update_yaxes(type="log", exponentformat="power")
    return finished(figure, 420, x="evaluations", y="cost above the least")
