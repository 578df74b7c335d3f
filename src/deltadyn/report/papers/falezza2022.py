"""The figures of [falezza2022]: trajectories, torques, errors, causes, Y1 beside Y2."""

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
from deltadyn.report.plots import LEFT, colour, draw_points, finished, panels
from deltadyn.reproduce.falezza2022 import (
    M_F,
    M_S,
    PAPER,
    TABLES,
    Y1_LIMITS,
    Y2_EMPTY,
    Case,
    FigureData,
)
from deltadyn.reproduce.mean_causes import Explanation

NUMBERS = {"Y1": ("7", "10a"), "Y2": ("8", "10b"), "Y3": ("9", "10c")}  # torques, errors


def figures(data: FigureData) -> tuple[Figure, ...]:
    """Figures 6 to 10 of the paper, and where its means and its order of Y1 and Y2 come from."""
    cases = {name: data.cases[name] for name in TABLES}
    ways = {name: case.trial.run.reference.p for name, case in cases.items()}
    out = captioned(PAPER, {"paths": partial(path_figure, ways)})
    for name, case in cases.items():
        torques, means = NUMBERS[name]
        drawn = {
            "torques": partial(band_figure, case.trial.prepared, case.torques),
            "errors": partial(error_figure, case, name),
        }
        out += captioned(PAPER, drawn, name=name, torques=torques, means=means)
    drawn = {
        "means": partial(means_figure, data.means),
        "places": partial(places_figure, data),
        "stops": partial(stops_figure, data),
    }
    return out + captioned(PAPER, drawn, causes=", ".join(data.means.causes))


def error_figure(case: Case, name: str) -> Any:
    """Mean error and standard deviation per joint and model, ours beside the paper's."""
    figure = panels()
    bars = {model: (error.mean, error.std) for model, error in case.errors.items()}
    draw_beside(figure, bars, TABLES[name])
    return finished(figure, 400, y="error (N m)")


def means_figure(means: Explanation) -> Any:
    """The paper's 18 means beside those of the smallest set of causes, a panel per trajectory."""
    figure = panels(1, 3, titles=tuple(TABLES), across=0.04)
    explained = iter(means.means.reshape(-1, 3))
    for column, table in enumerate(TABLES.values(), start=1):
        for k, model in enumerate((M_S, M_F)):
            pairs = (("explained", next(explained)), ("paper", table[model][0]))
            for kind, values in pairs:
                label = f"{model}, {kind}"
                draw_bars(
                    figure, label, (values, None), colour(k), hollow=kind == "paper", column=column
                )
    figure.update_yaxes(matches="y")
    figure.update_yaxes(title_text="mean error (N m)", row=1, col=1)
    return finished(figure, 400, top=75)


def places_figure(data: FigureData) -> Any:
    """M_s on Y1 and Y2 in both states of the bench; what M_f takes off against the rotors."""
    shown = {name: data.cases[name] for name in (Y1_LIMITS, "Y1", Y2_EMPTY, "Y2")}
    figure = panels(1, 2, across=0.1)
    bars = {name: (case.errors[M_S].std, None) for name, case in shown.items()}
    draw_beside(figure, bars, {name: (TABLES[name][M_S][1], None) for name in ("Y1", "Y2")})
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


def stops_figure(data: FigureData) -> Any:
    """Errors of both models while Y3 moves and while it stands, and the paper's over all of it."""
    figure = panels()
    for k, model in enumerate((M_S, M_F)):
        for name, values in (
            ("moving", data.stops.moving[model]),
            ("standing", data.stops.standing[model]),
            ("paper", TABLES["Y3"][model][1]),
        ):
            draw_bars(
                figure,
                f"{model}, {name}",
                (values, None),
                colour(k),
                hollow=name == "paper",
                faint=name == "standing",
            )
    return finished(figure, 400, y="standard deviation (N m)")
