"""The page of several fits side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from deltadyn.files import write_whole
from deltadyn.identification.fit_figures import COLOURS, layout, parameter_figure
from deltadyn.pages import Section, figure_html, list_html, wide_table, write_sections
from deltadyn.report.compare import QUANTILE, FitComparison
from deltadyn.report.numbers import cell, cells
from deltadyn.report.write import report_path


def write_comparison(found: FitComparison, path: str | os.PathLike[str]) -> Path:
    """Write the page, and its numbers as JSON beside it."""
    page = report_path(path)
    text = json.dumps(found.as_dict(), indent=1, allow_nan=False)
    write_whole(page.with_suffix(".json"), text + "\n")
    title = f"{len(found.records)} fits side by side"
    names = ", ".join(found.records)
    subtitle = f"{names}. The numbers are in {page.with_suffix('.json').name}."
    return write_sections(page, title, subtitle, [_lead(found)], comparison_sections(found))


def comparison_sections(found: FitComparison) -> list[Section]:
    """Parameters, residuals, provenance."""
    return [_parameters(found), _residuals(found), _provenance(found)]


def _lead(found: FitComparison) -> str:
    kind = "care" if found.beyond else "good" if found.changes else "unknown"
    head = (
        f"Changes beyond their intervals: {len(found.beyond)}"
        if found.beyond
        else "No parameter changed beyond its interval"
        if found.changes
        else "Nothing to compare"
    )
    items = "".join(f"<li>{escape(str(item))}</li>" for item in found.beyond)
    return (
        f'<div class="verdict {kind}"><h2>{head}</h2><p>{escape(found.status)}</p>'
        f"<ul>{items}</ul></div>"
    )


def _rows(found: FitComparison, name: str) -> list[dict[str, Any]]:
    """The parameters of a fit against the first one, for the figure."""
    start = {row["name"]: row["value"] for row in found.records[found.first]["parameters"]}
    rows = []
    for row in found.records[name]["parameters"]:
        half = QUANTILE * row["std"] if row["std"] is not None else float("nan")
        base = start.get(row["name"], row["value"])
        rows.append(
            {"name": row["name"], "before": base, "value": row["value"],
             "low": row["value"] - half, "high": row["value"] + half}
        )  # fmt: skip
    return rows


def _parameters(found: FitComparison) -> Section:
    beyond = {(item.fit, item.parameter) for item in found.beyond}
    tables = {
        name: {row["name"]: row for row in record["parameters"]}
        for name, record in found.records.items()
    }
    rows = []
    for parameter, unit in found.parameters.items():
        row = [parameter]
        for name, table in tables.items():
            row.append(_cell(table.get(parameter), (name, parameter) in beyond))
        rows.append([*row, unit])
    columns = ("parameter", *found.records, "unit")
    some = [f"{name}: only in {', '.join(fits)}" for name, fits in found.only_in_some.items()]
    figure = parameter_figure({name: _rows(found, name) for name in found.records})
    caption = (
        f"Change against {found.first} with the 95 % interval of each fit (1.96 standard "
        "deviations to both sides)."
    )
    blocks = (
        wide_table(columns, rows, caption="Value ± half of its 95 % interval; 'changed' where the "
                   f"difference to {found.first} is beyond both intervals together",
                   long=len(rows) > 30),
        figure_html("Parameters", figure, caption),
        list_html("Not in every fit", some, level=3),
    )  # fmt: skip
    return Section("parameters", "Parameters", blocks)


def _cell(row: Mapping[str, Any] | None, changed: bool) -> str:
    if row is None:
        return "-"
    std = row["std"]
    width = "?" if std is None else f"{QUANTILE * std:.2g}"
    return f"{row['value']:.4g} ± {width}" + (" changed" if changed else "")


def _residuals(found: FitComparison) -> Section:
    most = max(len(item["residual_rms_Nm"]) for item in found.records.values())
    rows = []
    for name, item in found.records.items():
        left = cells(item["residual_rms_Nm"]) + ["-"] * (most - len(item["residual_rms_Nm"]))
        rows.append(
            [
                name,
                str(item["method"]),
                str(item["model"]),
                *left,
                "all" if item.get("band_Hz") is None else cell(item["band_Hz"]),
                {True: "yes", False: "no"}.get(item.get("consistent"), "-"),  # type: ignore[arg-type]
                found.verdicts.get(name, "-"),
            ]
        )
    axes = [f"axis {k + 1} (N m)" for k in range(most)]
    columns = ("fit", "method", "model", *axes, "band (Hz)", "bodies can exist", "verdict")
    blocks = (
        wide_table(columns, rows, caption="RMS of the residual on each fit's own data"),
        figure_html("RMS of the residual", _bars(found, most), "On the data of each fit itself."),
    )
    return Section("residuals", "Residuals", blocks)


def _bars(found: FitComparison, axes: int) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, (name, item) in enumerate(found.records.items()):
        figure.add_trace(
            go.Bar(
                x=[f"axis {k + 1}" for k in range(axes)],
                y=item["residual_rms_Nm"],
                name=name,
                marker_color=COLOURS[number % len(COLOURS)],
            )
        )
    figure.update_layout(**layout(320), barmode="group")
    figure.update_yaxes(title_text="N m")
    return figure


def _provenance(found: FitComparison) -> Section:
    rows = [[key, *values] for key, values in found.differences]
    if not rows:
        blocks = ("<p>Method, model, options, versions, data and robot file are the same.</p>",)
    else:
        table = wide_table(("what", *found.records), rows, caption="What differs", long=True)
        blocks = (table,)
    return Section("provenance", "Differences in provenance", blocks)
