"""The report of a study: one HTML file to open offline, and its numbers as JSON beside it."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

from deltadyn.files import write_whole
from deltadyn.identification.fit_sections import (
    consistency_section,
    correlation_section,
    identifiability_section,
    parameter_section,
    training_section,
)
from deltadyn.pages import Section, write_sections
from deltadyn.report.excitation import excitation_section
from deltadyn.report.ladder import ladder_section
from deltadyn.report.loads import loads_section
from deltadyn.report.methods import methods_section
from deltadyn.report.numbers import plain
from deltadyn.report.picks import picks_section
from deltadyn.report.provenance import provenance_section
from deltadyn.report.replay import replay_section
from deltadyn.report.residual import residual_section
from deltadyn.report.study import Study
from deltadyn.report.torque import torque_section
from deltadyn.report.verdict import RULES

KIND = "deltadyn report"
FORMAT = 1  # of the JSON


def write_report(study: Study, path: str | os.PathLike[str]) -> Path:
    """Write path.html and path.json; gives the path of the page."""
    page = report_path(path)
    sections = report_sections(study)
    record = report_record(study, sections)
    text = json.dumps(record, indent=1, allow_nan=False)
    write_whole(page.with_suffix(".json"), text + "\n")
    fit = study.fit
    title = f"{study.robot.name}: report of the {fit.method} fit"
    count = sum(source.samples for source in fit.data)
    apart = sum(len(item) for item in study.held_out)
    subtitle = (
        f"Model {fit.model}, {count} samples in {len(fit.data)} "
        f"recording{'s' if len(fit.data) != 1 else ''}; {apart} samples held out. The numbers at "
        f"full resolution are in {page.with_suffix('.json').name}."
    )
    return write_sections(page, title, subtitle, [study.verdict.html], sections)


def report_path(path: str | os.PathLike[str]) -> Path:
    """The page's path: with .html where it has another ending."""
    given = Path(path)
    return given if given.suffix == ".html" else given.with_name(given.name + ".html")


def report_record(study: Study, sections: list[Section]) -> dict[str, Any]:
    """All numbers, at full resolution."""
    record: dict[str, Any] = plain(
        {
            "kind": KIND,
            "format": FORMAT,
            "robot": study.robot.name,
            "verdict": study.verdict.as_dict(),
            "evidence": vars(study.evidence),
            "fit": study.fit.as_dict(),
            "sections": {section.key: section.numbers for section in sections},
        }
    )
    return record


def report_sections(study: Study) -> list[Section]:
    """Every section that the study fills, in the order of the page."""
    fit, axes = study.fit, study.fit.robot.axis_names()
    found: list[Section | None] = []
    if study.validation is not None:
        found.append(torque_section(study.validation, study.file_validation))
        found.append(residual_section(study.validation))
    found += [
        training_section(fit),
        parameter_section(fit),
        correlation_section(fit),
        consistency_section(fit),
        identifiability_section(fit),
    ]
    if study.ladder:
        found.append(ladder_section(study.ladder, axes, gains=fit.gains is not None))
    if len(study.methods) > 1:
        found.append(methods_section(study.methods, axes))
    found.append(excitation_section(fit, study.excitation, study.path))
    if study.picks is not None:
        found.append(picks_section(study.picks))
    if study.loads is not None:
        found.append(loads_section(study.loads, study.motion_source))
    if study.motion is not None:
        found.append(replay_section(study.fit.robot, study.motion))
    found += [
        provenance_section(study.robot, fit, study.held_out, study.seed, missing(study)),
        _rules_section(),
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


def _rules_section() -> Section:
    items = "".join(f"<li>{escape(rule)}</li>" for rule in RULES)
    text = f"<p>The first rule that applies decides.</p><ol>{items}</ol>"
    return Section("rules", "Rules of the verdict", (text,), {"rules": RULES})
