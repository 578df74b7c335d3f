"""The report of a study: one HTML file to open offline, and its numbers as JSON beside it.

The page of a fit is the report of a study that has only the fit.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.files import file_set
from deltadyn.identification.fit import Fit
from deltadyn.identification.verdict import RULES
from deltadyn.recording.recording import DataSource, Recording
from deltadyn.report.calibration import calibration_section
from deltadyn.report.excitation import excitation_section
from deltadyn.report.fit import excerpt_curves, fit_sections, parameter_rows
from deltadyn.report.html import (
    Columns,
    Section,
    cell,
    cells,
    figure_html,
    items_html,
    list_html,
    page_path,
    paragraphs,
    percent,
    table_of,
    wide_table,
    write_numbers,
    write_sections,
)
from deltadyn.report.picks import picks_section
from deltadyn.report.picture import replay_section
from deltadyn.report.plots import (
    COLOURS,
    draw_bars,
    finished,
    panels,
    parameter_figure,
)
from deltadyn.report.sizing import loads_section
from deltadyn.report.study import MethodResult, Rung, Study, judged_on
from deltadyn.report.validation import (
    key_figure,
    residual_section,
    small_figure,
    torque_section,
    worst_axis,
)
from deltadyn.report.verdict import first_screen, verdict_section
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text

KIND = "deltadyn report"
FORMAT = 1  # of the JSON


def write_report(study: Study, path: str | os.PathLike[str], *, numbers: bool = True) -> Path:
    """Write path.html and path.json, or without `numbers` the page alone; the path of the page."""
    page = page_path(path) if numbers else Path(path)
    sections = report_sections(study)
    fit = study.fit
    count = sum(source.samples for source in fit.data)
    seconds = sum(source.duration for source in fit.data)
    apart = sum(len(item) for item in study.held_out)
    subtitle = (
        f"Model {fit.model}, {count} samples ({seconds:.4g} s) in {len(fit.data)} "
        f"recording{'s' if len(fit.data) != 1 else ''}; {apart} samples held out."
    )
    if study.truth is not None:
        subtitle += " The machine is a simulated one: its true parameters stand beside the fit's."
    title = f"{study.robot.name}: report of the {fit.method} fit"
    first = first_screen(study.verdict, key_numbers(study), _key_figure(study))
    record = report_record(study, sections) if numbers else {}
    with file_set():
        if numbers:
            beside = write_numbers(page, record)
            subtitle += f" The numbers at full resolution are in {beside.name}."
        return write_sections(page, title, subtitle, [first.html], sections)


# The first screen: three numbers and one figure.


def key_numbers(study: Study) -> list[tuple[str, str]]:
    """What is left of the torque, beside what the robot file leaves, and the widest interval."""
    evidence = study.evidence
    worst = worst_axis(evidence)
    axis, unit = evidence.axes[worst], study.robot.axis_units("tau")[worst]
    found = []
    if evidence.left is not None and evidence.rms is not None:
        what = f"of the torque of axis {axis}, the worst, is left while it moves, held-out"
        rms = f"{evidence.rms[worst]:.3g} {unit} RMS"
        found.append((percent(evidence.left[worst]), f"{what} ({rms})"))
    else:
        what = f"of the torque of axis {axis}, the worst, is left in the fit's own data"
        left = study.fit.residual[worst]
        found.append((percent(evidence.own[worst]), f"{what} ({left:.3g} {unit} RMS)"))
    if evidence.against_file is not None:
        what = "of what the robot file leaves on held-out motion"
        found.append((percent(evidence.against_file), what))
    else:
        seconds = sum(source.duration for source in study.fit.data)
        found.append((f"{seconds:.3g} s", "of logs went into the fit"))
    widest = max(evidence.widths or (), key=lambda item: item.relative, default=None)
    if widest is not None:
        what = f"is the widest interval of a base parameter, {widest.name}, beside its size"
        found.append((f"± {percent(widest.relative)}", what))
    else:
        found.append((str(len(study.fit.names)), "parameters were identified"))
    return found


def _key_figure(study: Study) -> str:
    """Measured and predicted torque of the worst axis."""
    if study.validation is not None:
        return key_figure(study.validation, study.file_validation, study.evidence)
    if study.fit.excerpt is None:
        return ""
    worst = worst_axis(study.evidence)
    name = study.evidence.axes[worst]
    caption = f"Axis {name}, the one with the largest share left, in the first recording."
    unit = study.fit.robot.axis_units("tau")[worst]
    curves = excerpt_curves(study.fit, slice(worst, worst + 1))
    return small_figure(name, *curves, caption, unit)


def write_fit_page(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write the page of a fit that was not held against other data."""
    return write_report(judged_on(fit, ()), path, numbers=False)


def report_record(study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """All numbers, at full resolution."""
    record = {
        "kind": KIND,
        "format": FORMAT,
        "robot": study.robot.name,
        "verdict": study.verdict.as_dict(),
        "evidence": vars(study.evidence),
        "fit": replace(study.fit, judged=study.verdict).as_dict(),
        "sections": {section.key: section.numbers for section in sections},
    }
    return study.robot.record(record)


def report_sections(study: Study) -> list[Section]:
    """Every section that the study fills, in the order of the page."""
    fit, axes = study.fit, study.fit.robot.axis_names()
    found: list[Section | None] = [verdict_section(study.verdict)]
    if study.validation is not None:
        found.append(torque_section(study.validation, study.file_validation))
        found.append(residual_section(study.validation))
    found += fit_sections(fit, study.truth)
    if study.ladder:
        unit = fit.robot.axis_unit("tau")
        found.append(ladder_section(study.ladder, axes, gains=fit.gains is not None, unit=unit))
    if len(study.methods) > 1:
        found.append(methods_section(study.methods, axes))
    found.append(excitation_section(fit, study.excitation, study.path))
    if study.calibration is not None:
        found.append(calibration_section(study.calibration))
    if study.picks is not None:
        found.append(picks_section(study.picks))
    if study.loads is not None:
        found.append(loads_section(study.loads, study.motion_source))
    if study.motion is not None:
        found.append(replay_section(study.fit.robot, study.motion))
    rules = items_html(RULES, "ol")
    found += [
        provenance_section(study.robot, fit, study.held_out, study.seed, missing(study)),
        Section("rules", "Rules of the verdict", (rules,), {"rules": RULES}),
    ]
    return [section for section in found if section is not None]


def missing(study: Study) -> list[str]:
    """What the report leaves out, and what it would take."""
    found = []
    if study.validation is None:
        found.append("Held-out torque, residual and model ladder: no held-out recording was given.")
    if len(study.methods) < 2:
        found.append("Comparison of methods: one method was run.")
    if study.excitation is None:
        found.append("Predicted deviations: the design of the excitation was not given.")
    if study.picks is None:
        found.append("Payload picks: no payload log was given.")
    if study.motion is None:
        found.append("Loads and replay: no motion is known.")
    return found


# Section: what other methods make of the same data.


def methods_section(results: Sequence[MethodResult], axes: Sequence[str]) -> Section:
    """A row per method, then the parameters side by side."""
    judged = next(item.fit for item in results if item.fit is not None)
    units = dict(zip(axes, judged.robot.axis_units("tau"), strict=True))
    records = [_method_record(item, judged) for item in results]
    columns = (
        "method",
        "model",
        *(f"held-out, axis {axis} ({unit})" for axis, unit in units.items()),
        *(f"own data, axis {axis} ({unit})" for axis, unit in units.items()),
        "objective",
        "bodies can exist",
        "held",
        "time (s)",
    )
    failed = [f"{item.name}: {item.trouble}" for item in results if item.fit is None]
    fits = {
        item.name: [row for row in parameter_rows(item.fit) if row["of"] == "robot"]
        for item in results
        if item.fit is not None
    }
    blocks = (
        wide_table(columns, [_row(record, axes) for record in records], caption=_CAPTION),
        list_html("Methods that could not", failed, level=3),
        figure_html("Parameters by method", parameter_figure(fits), _FIGURE),
    )
    return Section("methods", "Comparison of methods", blocks, {"methods": records})


_CAPTION = (
    "The first method is the one that is judged. Objective: mean over the axes of the squared "
    "residual on the data of the fit, each axis with the weight of the first method; a method "
    "that minimises something else may have more"
)
_FIGURE = "Change against the robot file with the 95 % interval of every method."


def objective(fit: Fit, judged: Fit) -> float:
    """Mean square of the residual, weighted like the judged fit."""
    weights = np.atleast_2d(judged.weights).mean(axis=0)  # (dof,), or one row per block of time
    return float(np.mean((weights * fit.residual) ** 2))


def _method_record(item: MethodResult, judged: Fit) -> dict[str, Any]:
    fit, apart = item.fit, item.held_out
    record = {
        "method": item.name,
        "held_out_rms_Nm": None if apart is None else apart.metrics.rms,
        "held_out_relative": None if apart is None else apart.relative,
        "seconds": item.seconds,
    }
    if fit is None:
        empty = ("model", "residual_rms_Nm", "objective", "consistent", "converged", "parameters")
        return {**record, **dict.fromkeys(empty), "status": item.trouble, "held": []}
    return {
        **record,
        "model": fit.model,
        "residual_rms_Nm": fit.residual,
        "objective": objective(fit, judged),
        "consistent": fit.consistent,
        "converged": fit.converged,
        "status": fit.status,
        "held": fit.held,
        "parameters": parameter_rows(fit),
    }


def _row(record: dict[str, Any], axes: Sequence[str]) -> list[str]:
    """A line of the table, from the record of a method; "-" where it has no number."""
    none = [None] * len(axes)
    held_out, own = (record[key] for key in ("held_out_rms_Nm", "residual_rms_Nm"))
    return [
        record["method"],
        record["model"] or "-",
        *(cell(value) for value in (none if held_out is None else held_out)),
        *(cell(value) for value in (none if own is None else own)),
        cell(record["objective"], 5),
        {True: "yes", False: "no"}.get(record["consistent"], "-"),
        "-" if record["model"] is None else str(len(record["held"])),
        cell(record["seconds"], 2),
    ]


# Section: every model by name on the held-out recordings.


ALIKE = 1e-6  # relative: models that are the same for this robot


def ladder_section(
    rungs: Sequence[Rung], axes: Sequence[str], *, gains: bool = False, unit: str = "N m"
) -> Section:
    """RMS of every model, the smallest first, and bars; `unit` is that of the torque."""
    ordered = sorted(rungs, key=lambda rung: float(f"{rung.relative:.6g}"))  # ties as they come
    rows = [
        (rung.name, *cells(rung.metrics.rms), cell(rung.relative), rung.source) for rung in ordered
    ]
    columns = ("model", *(f"axis {axis} ({unit})" for axis in axes), "relative", "source")
    note = (
        "<p>The fit found gains of the drives, which a robot by itself does not have: its models "
        "here predict the true torque, not the reported one.</p>"
        if gains
        else ""
    )
    blocks = (
        paragraphs(_sentence(ordered)) + note,
        wide_table(columns, rows, caption=_LADDER_CAPTION),
        figure_html("RMS of the residual by model", _bars(ordered, axes, unit), _BARS),
    )
    numbers = {
        "rungs": [
            {
                "model": rung.name,
                "source": rung.source,
                "relative_rms": rung.relative,
                **rung.metrics.as_dict(),
            }
            for rung in ordered
        ]
    }
    return Section("ladder", "Model ladder", blocks, numbers)


_LADDER_CAPTION = (
    "RMS of the residual on held-out motion: the identified robot moved by every model, and the "
    "robot file. Relative: over all axes, each over its torque's standard deviation"
)
_BARS = "Shorter is better. Models with the same bars are the same for this robot."


def _sentence(ordered: Sequence[Rung]) -> str:
    best = ordered[0]
    same = [r.name for r in ordered[1:] if r.relative <= best.relative * (1 + ALIKE)]
    alike = f" (and, the same for this robot, {', '.join(same)})" if same else ""
    worst = ordered[-1]
    times = worst.relative / best.relative if best.relative > 0 else float("inf")
    return (
        f"{best.name}{alike} leaves the least; {worst.name} leaves the most, {times:.3g} times as "
        "much. Parameters were identified for one model: in a simpler one they serve worse than "
        "parameters that are fitted to it."
    )


def _bars(ordered: Sequence[Rung], axes: Sequence[str], unit: str) -> Any:
    figure = panels()
    names = [rung.name for rung in ordered]
    for k, axis in enumerate(axes):
        values = [float(rung.metrics.rms[k]) for rung in ordered]
        draw_bars(figure, names, values, COLOURS[k], name=f"axis {axis}", flat=True)
    return finished(figure, 46 * len(ordered) + 100, x=f"RMS ({unit})")


# Section: where every number of the report comes from.

_DATA: Columns = {
    "use": lambda item: item[0],
    "recording": lambda item: item[1].name,
    "file": lambda item: item[1].file or "-",
    "samples": lambda item: str(item[1].samples),
    "duration (s)": lambda item: f"{item[1].duration:.4g}",
    "payload (kg)": lambda item: "-" if item[1].payload is None else f"{item[1].payload:g}",
    "SHA-256 begins": lambda item: item[1].sha256[:16],
}


def provenance_section(
    robot: Robot,
    fit: Fit,
    held_out: Sequence[Recording],
    seed: int,
    missing: Sequence[str],
) -> Section:
    """Data with checksums, options, seed, versions, and what was not looked at."""
    record: dict[str, Any] = fit.as_dict()["provenance"]
    apart = [DataSource.of(item) for item in held_out]
    versions = record["versions"] | {"plotly": version("plotly"), "python": record["python"]}
    digest = sha256(robot_text(robot).encode()).hexdigest()
    uses = [("fit", source) for source in fit.data] + [("held out", source) for source in apart]
    chosen = [(key, repr(value)) for key, value in fit.options.items()]
    about = [
        ("robot file", robot.name),
        ("robot file, SHA-256 begins", digest[:16]),
        ("seed", str(seed)),
        *versions.items(),
    ]
    repairs = [
        f"{item.name}: {text}"
        for item in held_out
        for text in (*item.provenance.repairs, *item.provenance.edits)
    ]
    blocks = (
        table_of(uses, _DATA, "Recordings; checksums are whole in the JSON record"),
        wide_table(("what", "value"), about, caption="Robot, seed and versions"),
        wide_table(("option", "value"), chosen, caption="Options of the fit"),
        list_html("Repairs and edits of the held-out recordings", repairs, level=3),
        list_html("Not in this report", missing, level=3),
    )
    numbers = {
        "data": record["data"],
        "held_out": [
            {**vars(source), "file_sha256": item.provenance.sha256}
            for source, item in zip(apart, held_out, strict=True)
        ],
        "robot": robot.name,
        "robot_file": robot_text(robot),
        "robot_file_sha256": digest,
        "options": record["options"],
        "seed": seed,
        "versions": versions,
        "missing": list(missing),
    }
    return Section("provenance", "Provenance", blocks, numbers)
