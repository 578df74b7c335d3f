"""Section: what the motion asks of drives and bearings, and the margin to every limit."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.motion.limits import Limit
from deltadyn.report.html import (
    Section,
    figure_html,
    figures_html,
    table_html,
    wide_table,
    write_page,
)
from deltadyn.report.numbers import cell, cells, percent
from deltadyn.report.plots import COLOURS, LEFT, layout
from deltadyn.sizing.loads import BEARING_ROWS, DRIVE_ROWS, MotionLoads
from deltadyn.sizing.table import SizingTable

# The pages of loads and of a sizing table, to open without a network.


PALETTE = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")
GREY = "#8a9099"
POINTS = 4000  # per curve: more than a screen has columns


def loads_page(found: MotionLoads, path: str | os.PathLike[str]) -> Path:
    """Torque, power, rods, shoulders and preload over time, then the tables."""
    names = [f"axis {name}" for name in found.robot.axis_names()]
    t = found.motion.t
    forces = found.constraint
    limits = found.robot.limits
    figures: list[tuple[str, Any, str]] = [
        (
            "Torque of the drives",
            _curves(t, found.torque, names, "torque (N m)", limits.torque_peak),
            "At the output side of the gears. Dotted: the largest torque that the robot allows.",
        ),
        (
            "Power of the drives",
            _curves(t, found.power, names, "power (W)"),
            "Negative: the drive brakes, and the energy is returned or burnt.",
        ),
        (
            "Axial force of the rods",
            _rods(found),
            "Tension is positive. The envelope over the length of each rod.",
        ),
        (
            "Force of the shoulders",
            _curves(
                t,
                np.linalg.norm(forces.shoulder_force, axis=2),
                [f"arm {k}" for k in (1, 2, 3)],
                "force (N)",
            ),
            "Size of the force of the base on each arm.",
        ),
    ]
    if forces.rods is not None:
        need = np.maximum(forces.rods.preload_elbow, forces.rods.preload_platform).max(axis=2)
        figures.append(
            (
                "Preload needed",
                _curves(t, need, [f"arm {k}" for k in (1, 2, 3)], "spring force (N)"),
                "The larger of elbow and platform; the springs must give the peak at all times.",
            )
        )
    title = f"Loads: {found.robot.name}"
    return write_page(path, title, [f"<pre>{escape(found.text)}</pre>", *figures_html(figures)])


def table_page(found: SizingTable, path: str | os.PathLike[str]) -> Path:
    """Heat maps of the limits' use, torque and power by payload and rate, then the table."""
    shape = (len(found.payloads), len(found.cycles))
    uses, peaks, rms, power = (np.full(shape, np.nan) for _ in range(4))
    for k, item in enumerate(found.cases):
        at = divmod(k, shape[1])
        binding = item.binding
        uses[at] = np.nan if binding is None or binding.use is None else 100 * binding.use
        drives = item.loads.drives
        peaks[at], rms[at] = drives.torque_peak[:3].max(), drives.torque_rms[:3].max()
        power[at] = drives.power_peak[:3].max()
    words = [
        [_verdict(found, i, j) for j in range(shape[1])]  # shown in the cells
        for i in range(shape[0])
    ]
    figures = [
        (
            "Largest share of a limit (%)",
            _heat(found, uses, words, 100.0),
            "Blue is within all limits, red beyond one; the cell names the limit that binds.",
        ),
        ("Peak torque of the arms (N m)", _heat(found, peaks, _cells(peaks)), ""),
        ("RMS torque of the arms (N m)", _heat(found, rms, _cells(rms)), ""),
        ("Peak power of an arm (W)", _heat(found, power, _cells(power)), ""),
    ]
    rows = [_row(item.as_dict()) for item in found.cases]
    columns = ("payload kg", "cycles/min", "peak N m", "RMS N m", "power W", "binds", "verdict")
    table = table_html(columns, rows)
    title = f"Sizing: {found.robot.name}, {found.what}"
    return write_page(path, title, [*figures_html(figures), "<h2>Table</h2>", table])


def _curves(
    t: FloatArray, values: FloatArray, names: list[str], unit: str, limit: Any = None
) -> Any:
    import plotly.graph_objects as go

    step = max(len(t) // POINTS, 1)
    figure = go.Figure()
    for k, name in enumerate(names):
        line = {"color": PALETTE[k], "width": 1.6}
        figure.add_scatter(x=t[::step], y=values[::step, k], name=name, line=line)
    if limit is not None:
        for bound in sorted({float(value) for value in limit[:3]}):
            for side in (-bound, bound):
                figure.add_hline(y=side, line={"color": GREY, "dash": "dot"})
    figure.update_layout(**_layout(unit))
    return figure


def _rods(found: MotionLoads) -> Any:
    forces = found.constraint
    step = max(len(found.motion) // POINTS, 1)
    import plotly.graph_objects as go

    figure = go.Figure()
    t = found.motion.t[::step]
    split = [1 / strut.rods for strut in found.robot.struts]
    for arm in range(3):
        if forces.rods is None:
            pairs = [(split[arm] * forces.axial_max[:, arm], split[arm] * forces.axial_min[:, arm])]
        else:
            rods = forces.rods
            pairs = [(rods.axial_max[:, arm, r], rods.axial_min[:, arm, r]) for r in (0, 1)]
        for r, (most, least) in enumerate(pairs):
            line = {"color": PALETTE[arm], "width": 1.4, "dash": ("solid", "dash")[r]}
            name = f"arm {arm + 1}, rod {r + 1}"
            figure.add_scatter(x=t, y=most[::step], name=name, line=line, legendgroup=name)
            figure.add_scatter(
                x=t, y=least[::step], line=line, legendgroup=name, showlegend=False, name=name
            )
    figure.update_layout(**_layout("axial force (N)"))
    return figure


def _layout(unit: str) -> dict[str, Any]:
    return {
        "template": "plotly_white",
        "height": 360,
        "xaxis_title": "time (s)",
        "yaxis_title": unit,
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
    }


def _heat(
    found: SizingTable, values: FloatArray, words: list[list[str]], middle: float | None = None
) -> Any:
    import plotly.graph_objects as go

    colours = {"colorscale": "RdBu_r", "zmid": middle} if middle else {"colorscale": "Viridis"}
    heat = go.Heatmap(
        z=np.where(np.isfinite(values), values, np.nan),
        x=[f"{value:g}" for value in found.cycles],
        y=[f"{value:g}" for value in found.payloads],
        text=words,
        texttemplate="%{text}",
        **colours,
    )
    figure = go.Figure(heat)
    figure.update_layout(
        template="plotly_white",
        height=160 + 70 * len(found.payloads),
        xaxis={"title": "cycles per minute", "type": "category"},
        yaxis={"title": "payload (kg)", "type": "category"},
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
    )
    return figure


def _verdict(found: SizingTable, i: int, j: int) -> str:
    item = found.case(found.payloads[i], found.cycles[j])
    binding = item.binding
    if binding is None or binding.use is None:
        return "no limit known"
    return f"{binding.name}<br>{100 * binding.use:.0f} %"


def _cells(values: FloatArray) -> list[list[str]]:
    return [[f"{value:.4g}" for value in row] for row in values]


def _row(case: dict[str, Any]) -> tuple[str, ...]:
    numbers = (case["payload_kg"], case["cycles_per_minute"])
    peaks = (max(case[key][:3]) for key in ("torque_peak_Nm", "torque_rms_Nm", "power_peak_W"))
    verdict = "ok" if case["feasible"] else "exceeds " + ", ".join(case["exceeded"])
    return (
        *(f"{x:g}" for x in numbers),
        *(f"{x:.4g}" for x in peaks),
        case["binding"] or "",
        verdict,
    )


OVER = COLOURS[5]


def loads_section(found: MotionLoads, source: str) -> Section:
    """Drives and bearings of the identified robot on the motion, then the limits.

    `source` says in words which motion it is.
    """
    axes = found.robot.axis_names()
    limits = found.robot.limits
    peak, steady = limits.torque_peak, limits.torque_rms
    drives = [
        (words, unit, *cells(getattr(found.drives, field), 4)) for field, words, unit in DRIVE_ROWS
    ]
    for place, words, bound in (
        (1, "torque, peak allowed", peak),
        (3, "torque, RMS allowed", steady),
    ):
        if bound is not None:
            drives.insert(place, (words, "N m", *cells(np.broadcast_to(bound, len(axes)), 4)))
    arms = [
        (words, unit, *cells(getattr(found.bearings, field), 4))
        for field, words, unit in BEARING_ROWS
    ]
    known = [limit for limit in found.limits.limits if limit.use is not None]
    columns = ("limit", "worst", "allowed", "margin", "unit", "used", "axis", "status")
    blocks = [
        f"<p>{escape(_sentence(found, source))}</p>",
        wide_table(columns, [_loads_row(limit) for limit in found.limits.limits], caption="Limits"),
    ]
    if known:
        blocks.append(figure_html("Use of the limits", _bars(known), _BARS))
    blocks += [
        wide_table(("drives", "unit", *(f"axis {a}" for a in axes)), drives,
                   caption="Drives, at the output side of the gears"),
        wide_table(("arms", "unit", "arm 1", "arm 2", "arm 3"), arms, caption="Shoulder bearings"),
    ]  # fmt: skip
    return Section("loads", "Loads and limits", tuple(blocks), found.as_dict())


_BARS = "Share of each limit that the motion takes; 100 % is the limit."


def _sentence(found: MotionLoads, source: str) -> str:
    summary = found.limits.summary.replace("_", " ")
    return (
        f"By the identified robot with {found.robot.payload.mass:g} kg on {source}, "
        f"{found.motion.duration:.4g} s: {summary}."
    )


def _loads_row(limit: Limit) -> tuple[str, ...]:
    return (
        _words(limit),
        cell(limit.worst, 4),
        cell(limit.allowed, 4),
        cell(limit.margin, 4),
        limit.unit,
        percent(limit.use),
        limit.axis or "-",
        limit.status,
    )


def _words(limit: Limit) -> str:
    return limit.name.replace("_", " ")


def _bars(known: list[Limit]) -> Any:
    import plotly.graph_objects as go

    uses = [100 * (limit.use or 0.0) for limit in known]
    shown = [use if np.isfinite(use) else None for use in uses]
    figure = go.Figure(
        go.Bar(
            y=[_words(limit) for limit in known],
            x=shown,
            orientation="h",
            text=[percent(limit.use) + (" exceeded" if limit.exceeded else "") for limit in known],
            textposition="outside",
            cliponaxis=False,
            marker={"color": [OVER if limit.exceeded else COLOURS[0] for limit in known]},
        )
    )
    figure.add_vline(x=100, line_color=LEFT, line_dash="dash")
    figure.update_layout(**layout(30 * len(known) + 100, legend=False))
    longest = max([100.0, *(use for use in shown if use is not None)])
    figure.update_xaxes(title_text="used (%)", range=[0, 1.2 * longest])
    figure.update_yaxes(autorange="reversed")
    return figure
