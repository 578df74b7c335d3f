"""Pages and sections of a validation and of a comparison of models on recordings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.identification.verdict import Evidence, judge
from deltadyn.report.html import (
    First,
    Section,
    cell,
    cells,
    figure_html,
    list_html,
    paragraphs,
    percent,
    text_section,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import (
    DASHES,
    FILE,
    FITTED,
    LEFT,
    MEASURED,
    POINTS,
    TITLED,
    Curve,
    axes_figure,
    colour,
    draw,
    draw_bars,
    finished,
    panels,
)
from deltadyn.report.verdict import first_screen, verdict_section
from deltadyn.validation.judge import evidence_with
from deltadyn.validation.result import Validation
from deltadyn.validation.validate import Comparison


def validation_page(found: Validation, path: str | os.PathLike[str]) -> Path:
    """Torques and residual as in the report of a study, then all numbers."""
    text = text_section(f"{found.text}\n\n{found.segment_table}")
    evidence = evidence_with(found)
    verdict = judge(evidence)
    sections = [
        verdict_section(verdict),
        torque_section(found, None),
        residual_section(found),
        text,
    ]
    first = first_screen(verdict, _key_numbers(found, evidence), key_figure(found, None, evidence))
    title = f"Validation: {found.model}"
    return write_sections(path, title, _about(found), [first.html], sections)


def _key_numbers(found: Validation, evidence: Evidence) -> list[tuple[str, str]]:
    worst = worst_axis(evidence)
    axis, unit = evidence.axes[worst], found.robot.axis_units("tau")[worst]
    return [
        (percent(found.relative_rms), "of the torque is left, RMS over all axes"),
        (f"{found.rms[worst]:.3g} {unit}", f"RMS is left on axis {axis}, the worst"),
        (cell(float(found.r_squared[worst]), 4), f"R^2 of axis {axis}"),
    ]


def worst_axis(evidence: Evidence) -> int:
    """The axis that leaves the largest share, on held-out motion where there is any."""
    shares = np.array(evidence.own if evidence.left is None else evidence.left)
    return int(np.nanargmax(shares)) if np.isfinite(shares).any() else 0


KEY_HEIGHT = 360  # pixels of the figure on the first screen
KEY_POINTS = 2500  # per curve there


def key_figure(found: Validation, file: Validation | None, evidence: Evidence) -> str:
    """Measured and predicted torque of the worst axis, for the first screen."""
    worst = worst_axis(evidence)
    own = slice(worst, worst + 1)
    name = evidence.axes[worst]
    caption = f"Axis {name}, the one with the largest share left; all axes are below."
    unit = found.robot.axis_units("tau")[worst]
    return small_figure(name, *torque_curves(found, file, own), caption, unit)


def small_figure(
    axis: str,
    torques: Sequence[Curve],
    residuals: Sequence[Curve],
    caption: str,
    unit: str = "N m",
) -> str:
    """Torque and residual of one axis, for the first screen."""
    figure = axes_figure((axis,), torques, residuals, points=KEY_POINTS, units=(unit,))
    figure.update_layout(height=KEY_HEIGHT)
    return figure_html("Measured and predicted torque", figure, caption)


def comparison_page(found: Comparison, path: str | os.PathLike[str]) -> Path:
    """Bars of RMS, fitness and R^2, then torques and residuals of all models."""
    first = found.validations[found.best]
    bars = figure_html("RMS, fitness and R^2", _metric_bars(found), "The best model comes first.")
    measured = _curve(first, "measured", first.measured, MEASURED)
    torques, residuals = [measured], []
    for k, name in enumerate(found.ranking):
        item = found.validations[name]
        torques.append(_curve(item, name, item.torque, colour(k)))
        residuals.append(_curve(item, name, item.residual, colour(k)))
    units = first.robot.axis_units("tau")
    figure = axes_figure(first.robot.axis_names(), torques, residuals, units=units)
    curves = figure_html("Torque and residual of all models", figure, _zoom(first))
    sections = [
        Section("metrics", "Models side by side", (paragraphs(found.verdict), bars)),
        Section("torque", "Measured and predicted torque", (curves,)),
        text_section(found.text),
    ]
    lead = [_first_of_models(found).html]
    return write_sections(path, "Comparison of models", _about(first), lead, sections)


def _first_of_models(found: Comparison) -> First:
    """Which model is the best, and by how much."""
    best = found.best
    others = found.ranking[1:]
    sure = all(found.beyond_chance[name] for name in others)
    numbers = [
        (percent(found.validations[name].relative_rms), f"of the torque is left by {name}")
        for name in found.ranking[:3]
    ]
    steps = [f"Take {best}."] if sure else [f"Take {best}, or record more to tell them apart."]
    bars = _metric_bars(found, {"rms": METRICS["rms"]})
    bars.update_layout(height=KEY_HEIGHT)
    return First(
        "good" if sure else "care",
        f"The best model: {best}",
        found.verdict,
        numbers,
        figure_html("RMS of the residual", bars, "The best model comes first."),
        steps,
    )


METRICS = {
    "rms": "RMS of the residual",
    "fitness": "fitness (kim2022 eq. 41)",
    "r_squared": "R^2",
}


def _metric_bars(found: Comparison, fields: Mapping[str, str] = METRICS) -> Any:
    robot = found.validations[found.best].robot
    names, unit = robot.axis_names(), robot.axis_unit("tau")
    titles = [f"{text} ({unit})" if key == "rms" else text for key, text in fields.items()]
    figure = panels(1, len(fields), titles=titles, across=0.06)
    for k, name in enumerate(found.ranking):
        for column, field in enumerate(fields, 1):
            values = getattr(found.validations[name], field)
            axes = [f"axis {axis}" for axis in names]
            draw_bars(figure, axes, values, colour(k), name=name, column=column)
    return finished(figure, 340, top=TITLED)


def _about(found: Validation) -> str:
    """How much was compared, and in which band."""
    band = "as recorded" if found.band is None else f"below {found.band:.3g} Hz"
    return f"{len(found.t)} samples at {found.rate:.4g} Hz, torques {band}"


def _curve(
    found: Validation, name: str, values: Any, ink: str, dash: str = "solid", hidden: bool = False
) -> Curve:
    return Curve(name, found.t, values, ink, dash, starts=found.starts, hidden=hidden)


def _zoom(found: Validation) -> str:
    """How to use the figure, and what of the samples it shows."""
    drawn = (
        f"The picture shows the extremes of about {POINTS // 2} intervals of the "
        f"{len(found.t)} samples; all numbers are of all samples."
        if len(found.t) > POINTS
        else "All samples are drawn."
    )
    return f"Drag to zoom into a time, double-click to see all; all axes zoom together. {drawn}"


def torque_section(found: Validation, file: Validation | None) -> Section:
    """Numbers of all samples per axis, then the curves with zoom; `file` is the robot file's."""
    level = found.torque_level
    unit = found.robot.axis_unit("tau")
    columns = {
        "axis": list(found.robot.axis_names()),
        f"RMS {found.model} ({unit})": cells(found.rms),
        f"RMS robot file ({unit})": [] if file is None else cells(file.rms),
        f"torque, RMS ({unit})": cells(level),
        f"{found.model} / torque": [percent(value) for value in found.shares],
        f"at rest, not graded ({unit})": cells(found.rest_rms),
        f"largest ({unit})": cells(found.maximum),
        f"mean ({unit})": cells(found.mean),
        "R^2": cells(found.r_squared, 5),
        "fitness (kim2022)": cells(found.fitness, 5),
    }
    columns = {name: values for name, values in columns.items() if values}
    rows = list(zip(*columns.values(), strict=True))
    hidden = " The robot file's residual is hidden: click on it in the legend."
    caption = _zoom(found) + (hidden if file is not None else "")
    held = (
        f"Held-out recording: {', '.join(found.recordings)}. No sample of it was used in the fit."
    )
    whose = "held-out motion" if file is not None else "these recordings"
    blocks = (
        paragraphs(held) if file is not None else "",
        wide_table(
            list(columns), rows, caption=f"Residual on {whose} while the axes move: {_about(found)}"
        ),
        figure_html("Measured and predicted torque", torque_figure(found, file), caption),
    )
    numbers = {
        "identified": found.as_dict(),
        "robot_file": None if file is None else file.as_dict(),
        "torque_rms_Nm": level,
        "drawn_points_per_curve": min(POINTS, len(found.t)),
    }
    return Section("torque", "Measured and predicted torque", blocks, numbers)


def torque_figure(found: Validation, file: Validation | None, points: int = POINTS) -> Any:
    """Per axis the torques, and the residuals below; one time axis for all."""
    names, units = found.robot.axis_names(), found.robot.axis_units("tau")
    return axes_figure(names, *torque_curves(found, file), points, units)


def torque_curves(
    found: Validation, file: Validation | None, axes: slice = slice(None)
) -> tuple[list[Curve], list[Curve]]:
    """Torques and residuals of some axes, `file` with the robot file's."""
    torques = [_curve(found, "measured", found.measured[:, axes], MEASURED)]
    residuals = [_curve(found, f"residual, {found.model}", found.residual[:, axes], FITTED)]
    if file is not None:
        torques.append(_curve(found, "robot file", file.torque[:, axes], FILE, "dot"))
        name = "residual, robot file"
        residuals.append(_curve(found, name, file.residual[:, axes], FILE, "dot", hidden=True))
    torques.append(_curve(found, found.model, found.torque[:, axes], FITTED))
    return torques, residuals


# Section: what the residual on held-out motion looks like, and what it is put down to.


def residual_section(found: Validation) -> Section:
    """Words, autocorrelation and spectrum, then the histogram and RMS by segment."""
    diagnosis = found.diagnosis
    names = found.robot.axis_names()
    rows = [
        (segment.name, segment.rule, percent(segment.share), *cells(segment.metrics.rms))
        for segment in found.segments
    ]
    units = zip(names, found.robot.axis_units("tau"), strict=True)
    heads = (f"axis {name} ({unit})" for name, unit in units)
    columns = ("part of the motion", "which samples", "share", *heads)
    white = [
        (
            name,
            cell(diagnosis.whiteness.probability[k]),
            "not ruled out" if diagnosis.whiteness.white[k] else "ruled out",
            cell(1e3 * diagnosis.whiteness.correlation_time[k]),
        )
        for k, name in enumerate(names)
    ]
    blocks = (
        paragraphs(found.verdict),
        list_html("What is wrong", [line.strip() for line in diagnosis.lines], level=3),
        figure_html("Autocorrelation and spectrum", _spectra(found), _CURVES),
        wide_table(
            ("axis", "probability", "white noise is", "correlation time (ms)"),
            white,
            caption="White noise: Bartlett's test within the compared band",
        ),
        figure_html("Histogram of the residual by part of the motion", _histogram(found), _BINS),
        wide_table(columns, rows, caption="RMS of the residual by part of the motion"),
    )
    numbers = {
        "diagnosis": diagnosis.as_dict(),
        "segments": {item.name: item.as_dict() for item in found.segments},
        "autocorrelation": {
            "lag_s": diagnosis.whiteness.lags,
            "values": diagnosis.whiteness.autocorrelation,
        },
    }
    return Section("residual", "Residual", blocks, numbers)


_CURVES = (
    "Left: autocorrelation with the 95 % bounds of white noise (dotted). Right: the residual as "
    "recorded, not band-limited, with the ends of the motion's band and of the compared band."
)
_BINS = "Density of all samples of a part; the parts overlap where their rules do."


def _spectra(found: Validation) -> Any:
    titles = ("autocorrelation", "power spectral density")
    figure = panels(1, 2, titles=titles, across=0.12)
    _draw_whiteness(figure, found)
    _draw_spectrum(figure, found)
    return finished(figure, 400, top=TITLED)


def _draw_whiteness(figure: Any, found: Validation) -> None:
    """The residual's autocorrelation into the first column."""
    white = found.diagnosis.whiteness
    for k, name in enumerate(found.robot.axis_names()):
        values = white.autocorrelation[:, k]
        draw(figure, Curve(f"axis {name}", 1e3 * white.lags, values, colour(k)))
    samples = float(
        white.effective[0] * white.correlation_time[0] / (white.lags[1] - white.lags[0])
    )
    bound = 1.96 / np.sqrt(samples)  # of white noise with as many samples
    for side in (-bound, bound):
        figure.add_hline(y=side, line={"color": LEFT, "dash": "dot"}, row=1, col=1)
    figure.update_xaxes(title_text="lag (ms)", row=1, col=1)


def _draw_spectrum(figure: Any, found: Validation) -> None:
    """The residual's power spectral density into the second column."""
    spectrum = found.diagnosis.spectrum
    for k, name in enumerate(found.robot.axis_names()):
        values = spectrum.density[1:, k]
        curve = Curve(f"axis {name}", spectrum.frequency[1:], values, colour(k))
        draw(figure, curve, column=2, legend=False)
    shown = spectrum.density[1:][spectrum.density[1:] > 0]
    ends = np.array([shown.min(), shown.max()]) if shown.size else np.array([0.1, 1.0])
    for text, hertz, dash in (
        ("end of the motion's band", spectrum.motion, "dash"),
        ("end of the compared band", found.band, "dot"),
    ):
        if hertz is not None and hertz > 0:
            draw(figure, Curve(text, np.array([hertz, hertz]), ends, LEFT, dash), column=2)
    figure.update_xaxes(title_text="frequency (Hz)", type="log", row=1, col=2)
    unit = f"({found.robot.axis_unit('tau')})^2/Hz"
    figure.update_yaxes(title_text=unit, type="log", exponentformat="power", row=1, col=2)


BINS = 61  # of a histogram at most, over the whole range of an axis


def _histogram(found: Validation) -> Any:
    """A step curve per part of the motion, a panel per axis."""
    names = found.robot.axis_names()
    residual = found.residual
    bins = int(np.clip(np.sqrt(len(residual)), 9, BINS)) | 1  # odd: one bin about 0
    figure = panels(1, len(names), titles=[f"axis {name}" for name in names], across=0.06)
    told: set[str] = set()
    for axis in range(len(names)):
        most = float(np.abs(residual[:, axis]).max()) or 1.0
        edges = np.linspace(-most, most, bins + 1)
        for number, segment in enumerate(found.segments):
            part = residual[segment.mask[:, axis], axis]
            if len(part) < 2:
                continue
            height, _ = np.histogram(part, edges, density=True)
            middle, dash = (edges[:-1] + edges[1:]) / 2, DASHES[number % len(DASHES)]
            curve = Curve(segment.name, middle, height, colour(number), dash, steps=True)
            draw(figure, curve, column=axis + 1, legend=segment.name not in told)
            told.add(segment.name)
        title = f"residual ({found.robot.axis_units('tau')[axis]})"
        figure.update_xaxes(title_text=title, row=1, col=axis + 1)
    unit = found.robot.axis_unit("tau")
    figure.update_yaxes(title_text=f"density, 1/({unit})", row=1, col=1)
    return finished(figure, 330, top=TITLED)
