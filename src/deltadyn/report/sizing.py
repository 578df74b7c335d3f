"""Loads and sizing: what a motion asks of drives and bearings, and the table of cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.coupling import CouplingMap
from deltadyn.motion.limits import Limit
from deltadyn.report.html import (
    Columns,
    Section,
    cell,
    cells,
    figure_html,
    paragraphs,
    percent,
    table_of,
    text_section,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import (
    COLOURS,
    DASHES,
    LEFT,
    SCALED,
    Curve,
    Map,
    colour,
    draw_bars,
    draw_map,
    finished,
    panels,
    time_figure,
)
from deltadyn.robot import Robot
from deltadyn.sizing.loads import BEARING_ROWS, DRIVE_ROWS, MotionLoads
from deltadyn.sizing.table import SizingCase, SizingTable

OVER = COLOURS[5]
ARMS = ("arm 1", "arm 2", "arm 3")

# A motion: its page, and the section of a report.


def loads_page(found: MotionLoads, path: str | os.PathLike[str]) -> Path:
    """Limits and tables, then torque, power, rods, shoulders and preload over time."""
    about = f"{len(found.motion)} samples, {found.motion.duration:.4g} s"
    sections = [
        loads_section(found, "its motion", "the robot"),
        _curves_section(found),
        text_section(found.text),
    ]
    return write_sections(path, f"Loads: {found.robot.name}", about, [], sections)


def loads_section(found: MotionLoads, source: str, whose: str = "the identified robot") -> Section:
    """Drives and bearings of the robot on the motion, then the limits.

    `source` says in words which motion it is, `whose` which robot runs it.
    """
    axes = found.robot.axis_names()
    limits = found.robot.limits
    drives = [
        (words, unit, *cells(getattr(found.drives, field), 4)) for field, words, unit in DRIVE_ROWS
    ]
    for place, words, bound in (
        (1, "torque, peak allowed", limits.torque_peak),
        (3, "torque, RMS allowed", limits.torque_rms),
    ):
        if bound is not None:
            drives.insert(place, (words, "N m", *cells(np.broadcast_to(bound, len(axes)), 4)))
    arms = [
        (words, unit, *cells(getattr(found.bearings, field), 4))
        for field, words, unit in BEARING_ROWS
    ]
    known = [limit for limit in found.limits.limits if limit.use is not None]
    of_drives = ("drives", "unit", *(f"axis {axis}" for axis in axes))
    sentence = (
        f"By {whose} with {found.robot.payload.mass:g} kg on {source}, "
        f"{found.motion.duration:.4g} s: {found.limits.summary.replace('_', ' ')}."
    )
    blocks = (
        paragraphs(sentence),
        table_of(found.limits.limits, _LIMITS, "Limits"),
        figure_html("Use of the limits", _bars(known), _BARS) if known else "",
        wide_table(of_drives, drives, caption="Drives, at the output side of the gears"),
        wide_table(("arms", "unit", *ARMS), arms, caption="Shoulder bearings"),
    )
    return Section("loads", "Loads and limits", blocks, found.as_dict())


_BARS = "Share of each limit that the motion takes; 100 % is the limit."


def _words(limit: Limit) -> str:
    return limit.name.replace("_", " ")


_LIMITS: Columns = {
    "limit": _words,
    "worst": lambda limit: cell(limit.worst, 4),
    "allowed": lambda limit: cell(limit.allowed, 4),
    "margin": lambda limit: cell(limit.margin, 4),
    "unit": lambda limit: limit.unit,
    "used": lambda limit: percent(limit.use),
    "axis": lambda limit: limit.axis or "-",
    "status": lambda limit: limit.status,
}


def _bars(known: list[Limit]) -> Any:
    uses = [100 * (limit.use or 0.0) for limit in known]
    shown = [use if np.isfinite(use) else None for use in uses]
    texts = [percent(limit.use) + (" exceeded" if limit.exceeded else "") for limit in known]
    inks = [OVER if limit.exceeded else COLOURS[0] for limit in known]
    figure = panels()
    draw_bars(figure, [_words(limit) for limit in known], shown, inks, flat=True, texts=texts)
    figure.add_vline(x=100, line_color=LEFT, line_dash="dash")
    longest = max([100.0, *(use for use in shown if use is not None)])
    figure.update_xaxes(range=[0, 1.2 * longest])
    return finished(figure, 30 * len(known) + 100, legend=False, x="used (%)")


def _curves_section(found: MotionLoads) -> Section:
    """Torque, power, rods, shoulders and preload over time."""
    names = [f"axis {name}" for name in found.robot.axis_names()]
    peak, forces = found.robot.limits.torque_peak, found.constraint
    bounds = set() if peak is None else {side * float(x) for x in peak[:3] for side in (-1, 1)}
    shoulder = np.linalg.norm(forces.shoulder_force, axis=2)
    blocks = [
        figure_html(
            "Torque of the drives",
            time_figure(_curves(found, found.torque, names), "torque (N m)", sorted(bounds)),
            "At the output side of the gears. Dotted: the largest torque that the robot allows.",
        ),
        figure_html(
            "Power of the drives",
            time_figure(_curves(found, found.power, names), "power (W)"),
            "Negative: the drive brakes, and the energy is returned or burnt.",
        ),
        figure_html(
            "Axial force of the rods",
            time_figure(_rods(found), "axial force (N)"),
            "Tension is positive. The envelope over the length of each rod.",
        ),
        figure_html(
            "Force of the shoulders",
            time_figure(_curves(found, shoulder, ARMS), "force (N)"),
            "Size of the force of the base on each arm.",
        ),
    ]
    if forces.rods is not None:
        need = np.maximum(forces.rods.preload_elbow, forces.rods.preload_platform).max(axis=2)
        figure = time_figure(_curves(found, need, ARMS), "spring force (N)")
        text = "The larger of elbow and platform; the springs must give the peak at all times."
        blocks.append(figure_html("Preload needed", figure, text))
    return Section("curves", "Loads over time", tuple(blocks))


def _curves(found: MotionLoads, values: FloatArray, names: Sequence[str]) -> list[Curve]:
    t = found.motion.t
    return [Curve(name, t, values[:, k], colour(k), width=1.6) for k, name in enumerate(names)]


def _rods(found: MotionLoads) -> list[Curve]:
    """The largest and the smallest axial force along every rod."""
    forces, t = found.constraint, found.motion.t
    curves = []
    for arm in range(3):
        if forces.rods is None:
            share = 1 / found.robot.struts[arm].rods
            ends = [(share * forces.axial_max[:, arm], share * forces.axial_min[:, arm])]
        else:
            rods = forces.rods
            ends = [(rods.axial_max[:, arm, r], rods.axial_min[:, arm, r]) for r in (0, 1)]
        for r, pair in enumerate(ends):
            name = f"arm {arm + 1}, rod {r + 1}"
            curves += [Curve(name, t, values, colour(arm), DASHES[r]) for values in pair]
    return curves


# A table of cases by payload and rate.


def table_page(found: SizingTable, path: str | os.PathLike[str]) -> Path:
    """Heat maps of the limits' use, torque and power by payload and rate, then the table."""
    uses = _grid(found, lambda case: 100 * use_of(case))
    peaks = _grid(found, lambda case: case.loads.drives.torque_peak[:3].max())
    rms = _grid(found, lambda case: case.loads.drives.torque_rms[:3].max())
    power = _grid(found, lambda case: case.loads.drives.power_peak[:3].max())
    words = [[_binding(found.case(mass, rate)) for rate in found.cycles] for mass in found.payloads]
    figures = (
        figure_html("Largest share of a limit (%)", _heat(found, uses, words, 100.0), _SHARE),
        figure_html("Peak torque of the arms (N m)", _heat(found, peaks), _MOST),
        figure_html("RMS torque of the arms (N m)", _heat(found, rms), _MOST),
        figure_html("Peak power of an arm (W)", _heat(found, power), _MOST),
    )
    columns = ("payload kg", "cycles/min", "peak N m", "RMS N m", "power W", "binds", "verdict")
    rows = [_row(item.as_dict()) for item in found.cases]
    sections = [
        Section("maps", "Payload and rate", figures),
        Section("table", "Table", (wide_table(columns, rows, long=len(rows) > 30),)),
    ]
    able = f"{int(found.feasible.sum())} of {len(found.cases)} cases are within all limits."
    title = f"Sizing: {found.robot.name}, {found.what}"
    return write_sections(path, title, able, [], sections)


_SHARE = "Blue is within all limits, red beyond one; the cell names the limit that binds."
_MOST = "Of the arm with the most."


def use_of(case: SizingCase) -> float:
    """The share that a case takes of the limit that binds; NaN where none is known."""
    return float("nan") if case.binding is None or case.binding.use is None else case.binding.use


def _grid(found: SizingTable, value: Callable[[SizingCase], float]) -> FloatArray:
    """Numbers (payloads, rates) of all cases."""
    shape = (len(found.payloads), len(found.cycles))
    return np.array([value(case) for case in found.cases], dtype=float).reshape(shape)


def _heat(
    found: SizingTable,
    values: FloatArray,
    words: list[list[str]] | None = None,
    middle: float | None = None,
) -> Any:
    shown = Map(
        values=np.where(np.isfinite(values), values, np.nan),
        x=[f"{value:g}" for value in found.cycles],
        y=[f"{value:g}" for value in found.payloads],
        texts=words or [[f"{value:.4g}" for value in row] for row in values],
        scale="Viridis" if middle is None else "RdBu_r",
        middle=middle,
    )
    figure = panels()
    draw_map(figure, shown)
    figure.update_xaxes(type="category", title_text="cycles per minute")
    figure.update_yaxes(type="category", title_text="payload (kg)")
    return finished(figure, 160 + 70 * len(found.payloads), legend=False, right=SCALED)


def _binding(case: SizingCase) -> str:
    if case.binding is None or case.binding.use is None:
        return "no limit known"
    return f"{case.binding.name}<br>{100 * case.binding.use:.0f} %"


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


# The map of inertia coupling as one page to open offline.


def coupling_page(robot: Robot, found: CouplingMap, path: str | os.PathLike[str]) -> Path:
    """Write the page: coupling of every pair of drives, and the inertia that each arm feels."""
    pairs = {f"|M{i}{j}| / sqrt(M{i}{i} M{j}{j})": layer
             for (i, j), layer in zip(found.pairs, found.coupling, strict=True)}  # fmt: skip
    felt = {f"M{axis}{axis} (kg m^2)": found.felt[axis - 1] for axis in (1, 2, 3)}
    figures = (
        figure_html("Coupling of the drives", _maps(found, pairs, "Viridis"), _PAIRS),
        figure_html("Inertia that an arm feels", _maps(found, felt, "Cividis"), _FELT),
    )
    section = Section("coupling", "Inertia coupling over the workspace", figures)
    title = f"{robot.name}: inertia coupling at z = {found.z:.3g} m"
    about = f"{len(found.x)} x {len(found.y)} positions of the platform"
    return write_sections(path, title, about, [], [section])


_PAIRS = "At 0 an acceleration of the one drive takes no torque of the other."
_FELT = "Torque per acceleration of the arm while the other drives do not accelerate."


def _maps(found: CouplingMap, layers: dict[str, FloatArray], scale: str) -> Any:
    """Layers over the plane of the platform, side by side with one scale of colours."""
    figure = panels(1, len(layers), titles=list(layers), across=0.06)
    for column, layer in enumerate(layers.values(), 1):
        draw_map(figure, Map(layer, found.x, found.y, scale=None), column=column)
        anchor = "x" if column == 1 else f"x{column}"
        figure.update_xaxes(title_text="x (m)", constrain="domain", row=1, col=column)
        figure.update_yaxes(title_text="y (m)", scaleanchor=anchor, row=1, col=column)
    figure.update_layout(coloraxis={"colorscale": scale, "colorbar": {"thickness": 14}})
    return finished(figure, 330, legend=False, top=50, right=SCALED)
