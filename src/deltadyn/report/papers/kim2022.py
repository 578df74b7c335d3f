"""The figures of [kim2022]: torques, convergence of the swarm, fitness."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from deltadyn.report.papers import Figure, captioned, draw_beside, path_figure, torque_figure
from deltadyn.report.plots import LEFT, MEASURED, Curve, colour, draw, finished, panels
from deltadyn.reproduce.kim2022 import PAPER, PROPOSED, SHOWN, TABLE_2, Bench

NUMBERS = {"RLS": "7", "DLS": "8", "SVD": "9"}  # of the figures
HIDDEN = ("DLS as printed", "SVD as printed")  # until their name is clicked: near RLS
SECONDS = (2.0, 6.0)  # of the identification motion: after its ramp, and it repeats


def figures(bench: Bench) -> tuple[Figure, ...]:
    """Figures 3 and 5 to 10, table 2 as bars, and how the swarm draws near the optimum."""
    ways = {name: motion.p for name, motion in bench.motions.items()}
    predicted = {name: bench.outcomes[name].torque for name in SHOWN}
    unseen = bench.unseen
    validation = (unseen.times, unseen.limited(unseen.tau), predicted, HIDDEN)
    out = captioned(
        PAPER,
        {
            "paths": partial(path_figure, ways),
            "given": partial(given_figure, bench),
            "swarm": partial(seen_figure, bench, PROPOSED),
        },
        share=bench.no_voltage,
    )
    for method, number in NUMBERS.items():
        drawn = {"baseline": partial(seen_figure, bench, f"{method} as printed", PROPOSED)}
        out += captioned(PAPER, drawn, method=method, number=number)
    return out + captioned(
        PAPER,
        {
            "torques": partial(torque_figure, *validation),
            "fitness": partial(fitness_figure, bench),
            "convergence": partial(convergence_figure, bench),
        },
    )


def given_figure(bench: Bench) -> Any:
    """Joint 1: measured, by eq. 1 with table 1 as printed and mended, by the swarm."""
    figure = panels(2, down=0.06, together=True)
    rows = _window(bench)
    t = bench.seen.times[rows]
    for row in (1, 2):
        measured = Curve("measured", t, bench.measured[rows, 0], MEASURED, width=3.0)
        draw(figure, measured, row=row, legend=row == 1)
        figure.update_yaxes(title_text="tau_1 (N m)", row=row, col=1)
    shown = bench.given | {PROPOSED: bench.outcomes[PROPOSED].seen_torque}
    for k, (name, tau) in enumerate(shown.items()):
        draw(figure, Curve(name, t, tau[rows, 0], colour(k)), row=2 if name == PROPOSED else 1)
    figure.update_xaxes(title_text="time (s)", row=2, col=1)
    return finished(figure, 560)


def seen_figure(bench: Bench, *names: str) -> Any:
    """Measured and fitted torque on a part of the identification motion, per joint."""
    rows = _window(bench)
    fitted = {name: bench.outcomes[name].seen_torque[rows] for name in names}
    return torque_figure(bench.seen.times[rows], bench.measured[rows], fitted)


def _window(bench: Bench) -> slice:
    """Samples of the identification motion that are shown."""
    times = bench.seen.times
    return slice(*(int(np.searchsorted(times, times[0] + second)) for second in SECONDS))


def fitness_figure(bench: Bench) -> Any:
    """Fitness per joint and method by eq. 41, ours beside the paper's."""
    figure = panels()
    own = {name: (bench.outcomes[name].found.fitness, None) for name in SHOWN}
    draw_beside(figure, own, {name: (values, None) for name, values in TABLE_2.items()})
    lowest = min(min(trace.y) for trace in figure.data)
    figure.update_yaxes(range=[max(0.0, lowest - 0.05), 1.0])
    return finished(figure, 420, y="fitness")


def convergence_figure(bench: Bench) -> Any:
    """The best objective so far above the proven bound, over the iterations."""
    figure = panels()
    above = np.maximum(bench.swarm.history / bench.optimum.bound - 1, 1e-16)  # below is rounding
    draw(figure, Curve("swarm", np.arange(len(above), dtype=float), above, colour(0)))
    squares = bench.outcomes["RLS on its columns"].above
    figure.add_hline(y=squares, line={"dash": "dash", "color": LEFT})
    figure.update_yaxes(type="log", exponentformat="power")
    return finished(figure, 420, x="iteration", y="above the optimum")
