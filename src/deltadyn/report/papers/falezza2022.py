"""The figures of [falezza2022]: the trajectories, the torques and the mean errors."""

from __future__ import annotations

from functools import partial
from typing import Any

from deltadyn.report.papers import (
    Figure,
    band_figure,
    captioned,
    draw_bars,
    draw_beside,
    path_figure,
)
from deltadyn.report.papers.falezza2020 import error_figure
from deltadyn.report.plots import LEFT, colour, draw_points, finished, panels
from deltadyn.reproduce.falezza2022 import (
    M_F,
    M_S,
    PAPER,
    SLOW,
    TABLES,
    Found,
    Stops,
    left_by_complete,
)

NUMBERS = {"Y1": ("7", "10a"), "Y2": ("8", "10b"), "Y3": ("9", "10c")}  # torques, errors


def figures(found: Found) -> tuple[Figure, ...]:
    """Figures 6 to 10 of the paper."""
    cases = found.cases
    ways = {name: case.trial.run.reference.p for name, case in cases.items()}
    out = captioned(PAPER, {"paths": partial(path_figure, ways)})
    for name, case in cases.items():
        torques, means = NUMBERS[name]
        drawn = {
            "torques": partial(band_figure, case.trial.prepared, case.torques),
            "errors": partial(error_figure, case.found, TABLES[name]),
        }
        out += captioned(PAPER, drawn, name=name, torques=torques, means=means)
    drawn = {"places": partial(places_figure, found), "stops": partial(stops_figure, found)}
    return out + captioned(PAPER, drawn, **left_by_complete(found))


def places_figure(found: Found) -> Any:
    """M_s on Y1, on Y1 at half of the limits and on Y2; what M_f takes off against the rotors."""
    shown = {
        "Y1": found.cases["Y1"],
        f"Y1 at {SLOW:g}": found.slow["Y1"],
        "Y2": found.cases["Y2"],
        "Y3": found.cases["Y3"],
    }
    figure = panels(1, 2, across=0.1)
    own = {name: (case.found[M_S].std, None) for name, case in shown.items() if name != "Y3"}
    draw_beside(figure, own, {name: (TABLES[name][M_S][1], None) for name in ("Y1", "Y2")})
    for k, (name, case) in enumerate(shown.items()):
        draw_points(
            figure, case.rotor, case.taken_off, colour(k), name=f"{name}, taken off", column=2
        )
    most = 1.05 * max(float(case.rotor.max()) for case in shown.values())
    line = {"color": LEFT, "dash": "dash"}
    figure.add_shape(type="line", x0=0, y0=0, x1=most, y1=most, line=line, row=1, col=2)
    figure.update_yaxes(title_text="error of M_s (N m)", row=1, col=1)
    figure.update_yaxes(title_text="taken off by M_f (N m)", row=1, col=2)
    figure.update_xaxes(title_text="rotor x acceleration (N m)", row=1, col=2)
    return finished(figure, 430)


def stops_figure(found: Found) -> Any:
    """Errors of both models while Y3 moves and while it stands, at the limits and at half."""
    figure = panels(1, 2, titles=("Y3", f"Y3 at {SLOW:g} of the limits"), across=0.04)
    for column, case in enumerate((found.cases["Y3"], found.slow["Y3"]), start=1):
        stops = Stops.of(case)
        for k, model in enumerate((M_S, M_F)):
            for name, values in (
                ("moving", stops.moving[model]),
                ("standing", stops.standing[model]),
                ("paper", TABLES["Y3"][model][1]),
            ):
                draw_bars(
                    figure,
                    f"{model}, {name}",
                    (values, None),
                    colour(k),
                    hollow=name == "paper",
                    faint=name == "standing",
                    column=column,
                )
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text="standard deviation (N m)", row=1, col=1)
    return finished(figure, 430, top=75)
