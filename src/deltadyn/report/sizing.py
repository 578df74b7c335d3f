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
    First,
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
    SYMBOLS,
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
from deltadyn.sizing.loads import BEARING_ROWS, MotionLoads, drive_rows
from deltadyn.sizing.table import SizingCase, SizingTable

OVER = COLOURS[5]

# A motion: its page, and the section of a report.


def loads_page(found: MotionLoads, path: str | os.PathLike[str]) -> Path:
    """Limits and tables, then torque, power, rods, shoulders and preload over time."""
    about = f"{len(found.motion)} samples, {found.motion.duration:.4g} s"
    sections = [
        loads_section(found, "its motion", "the robot"),
        _curves_section(found),
        text_section(found.text),
    ]
    return write_sections(
        path, f"Loads: {found.robot.name}", about, [_first_of_loads(found).html], sections
    )


NEAREST = 8  # limits on the first screen


def _first_of_loads(found: MotionLoads) -> First:
    """Whether the motion keeps the limits, and by how much."""
    known = [limit for limit in found.limits.limits if limit.use is not None]
    over = [limit for limit in known if limit.exceeded]
    most = max(known, key=lambda limit: limit.use or 0.0, default=None)
    if most is None:
        kind, head = "unknown", "The robot file names no limits"
        sentence = "Nothing shows whether the robot may run this motion."
    else:
        kind, head = "good", "Within all limits"
        if over:
            kind, head = "bad", "The motion exceeds a limit"
        axis = f" of axis {most.axis}" if most.axis else ""
        sentence = f"It takes {percent(most.use)} of the limit on {_words(most)}{axis}."
    unit, what = found.robot.axis_units("tau")[0], _torque_words(found.robot)
    numbers = [
        ("-" if most is None else percent(most.use), "of a limit at most"),
        (f"{found.drives.torque_peak[: found.robot.legs].max():.3g} {unit}", f"peak {what}"),
        (f"{found.drives.torque_rms[: found.robot.legs].max():.3g} {unit}", f"RMS {what}"),
    ]
    steps = (
        ["Slow the motion down, or carry less."]
        if over
        else ["Give the robot's limits in its file."]
        if most is None
        else ["The motion may run; see Loads over time for bearings, rods and preload."]
    )
    nearest = sorted(known, key=lambda limit: -(limit.use or 0.0))[:NEAREST]
    title = "Limits that the motion uses most"
    figure = figure_html(title, _bars(nearest), _BARS) if known else ""
    return First(kind, head, sentence, numbers, figure, steps)


def loads_section(found: MotionLoads, source: str, whose: str = "the identified robot") -> Section:
    """Drives and bearings of the robot on the motion, then the limits.

    `source` says in words which motion it is, `whose` which robot runs it.
    """
    axes = found.robot.axis_names()
    limits = found.robot.limits
    drives = [
        (words, unit, *cells(getattr(found.drives, field), 4))
        for field, words, unit in drive_rows(found.robot)
    ]
    unit, word = found.robot.axis_units("tau")[0], "force" if found.robot.linear else "torque"
    for place, words, bound in (
        (1, f"{word}, peak allowed", limits.torque_peak),
        (3, f"{word}, RMS allowed", limits.torque_rms),
    ):
        if bound is not None:
            drives.insert(place, (words, unit, *cells(np.broadcast_to(bound, len(axes)), 4)))
    arms = [
        (words, unit, *cells(values, 4))
        for field, words, unit in BEARING_ROWS
        if (values := getattr(found.bearings, field)) is not None
    ]
    known = [limit for limit in found.limits.limits if limit.use is not None]
    of_drives = ("drives", "unit", *(f"axis {axis}" for axis in axes))
    sentence = (
        f"By {whose} with {found.robot.payload.mass:g} kg on {source}, "
        f"{found.motion.duration:.4g} s: {found.limits.summary.replace('_', ' ')}."
    )
    blocks = (
        paragraphs(sentence),
        table_of(found.limits.limits, LIMITS, "Limits"),
        figure_html("Use of the limits", _bars(known), _BARS) if known else "",
        wide_table(of_drives, drives, caption="Drives, at the output side of the gears"),
        wide_table(("arms", "unit", *_limbs(found)), arms, caption="Shoulder bearings"),
    )
    return Section("loads", "Loads and limits", blocks, found.as_dict())


_BARS = "Share of each limit that the motion takes; 100 % is the limit."


def limit_words(name: str) -> str:
    """A limit of the robot file in words."""
    return {"torque_rms": "RMS torque", "torque_peak": "peak torque"}.get(
        name, name.replace("_", " ")
    )


def _words(limit: Limit) -> str:
    return limit_words(limit.name)


LIMITS: Columns = {
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
    allowed = () if peak is None else peak[: found.robot.legs]
    bounds = {side * float(x) for x in allowed for side in (-1, 1)}
    shoulder = np.linalg.norm(forces.shoulder_force, axis=2)
    label = f"torque ({found.robot.axis_unit('tau')})"
    blocks = [
        figure_html(
            "Torque of the drives",
            time_figure(_curves(found, found.torque, names), label, sorted(bounds)),
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
            time_figure(_curves(found, shoulder, _limbs(found)), "force (N)"),
            "Size of the force of the base on each arm.",
        ),
    ]
    if forces.rods is not None:
        need = np.maximum(forces.rods.preload_elbow, forces.rods.preload_platform).max(axis=2)
        figure = time_figure(_curves(found, need, _limbs(found)), "spring force (N)")
        text = "The larger of elbow and platform; the springs must give the peak at all times."
        blocks.append(figure_html("Preload needed", figure, text))
    return Section("curves", "Loads over time", tuple(blocks))


def _curves(found: MotionLoads, values: FloatArray, names: Sequence[str]) -> list[Curve]:
    t = found.motion.t
    return [Curve(name, t, values[:, k], colour(k), width=1.6) for k, name in enumerate(names)]


def _limbs(found: MotionLoads) -> list[str]:
    word = "carriage" if found.robot.linear else "arm"
    return [f"{word} {i + 1}" for i in range(found.robot.legs)]


def _rods(found: MotionLoads) -> list[Curve]:
    """The largest and the smallest axial force along every rod."""
    forces, t = found.constraint, found.motion.t
    curves = []
    for arm in range(found.robot.legs):
        if forces.rods is None:
            share = 1 / found.robot.struts[arm].rods
            ends = [(share * forces.axial_max[:, arm], share * forces.axial_min[:, arm])]
        else:
            rods = forces.rods
            ends = [(rods.axial_max[:, arm, r], rods.axial_min[:, arm, r]) for r in (0, 1)]
        for r, pair in enumerate(ends):
            name = f"{_limbs(found)[arm]}, rod {r + 1}"
            curves += [Curve(name, t, values, colour(arm), DASHES[r]) for values in pair]
    return curves


# A table of cases by payload and rate.


def table_page(found: SizingTable, path: str | os.PathLike[str]) -> Path:
    """Verdict, then the limits' use, torque and power by payload and rate, then all cases."""
    legs = found.robot.legs
    uses = _grid(found, lambda case: 100 * use_of(case))
    peaks = _grid(found, lambda case: case.loads.drives.torque_peak[:legs].max())
    rms = _grid(found, lambda case: case.loads.drives.torque_rms[:legs].max())
    power = _grid(found, lambda case: case.loads.drives.power_peak[:legs].max())
    words = [[_binding(found.case(mass, rate)) for rate in found.cycles] for mass in found.payloads]
    shown = _tables if len(found.cases) <= FEW else _heats
    unit = found.robot.axis_units("tau")[0]
    what = "force of the carriages" if found.robot.linear else "torque of the arms"
    blocks = shown(
        found,
        [
            ("Largest share of a limit", uses, words),
            (f"Peak {what} ({unit})", peaks, None),
            (f"RMS {what} ({unit})", rms, None),
            (f"Peak power of {'a carriage' if found.robot.linear else 'an arm'} (W)", power, None),
        ],
    )
    torques = (f"peak {unit}", f"RMS {unit}")
    columns = ("payload kg", "cycles/min", *torques, "power W", "binds", "verdict")
    rows = [_row(item.as_dict(), legs) for item in found.cases]
    sections = [
        Section("maps", "Payload and rate", blocks),
        Section("table", "All cases", (wide_table(columns, rows, long=len(rows) > 30),)),
    ]
    share = "" if found.share == 1 else f", {percent(found.share)} of the robot's limits"
    about = f"{found.what}, {len(found.cases)} cases of payload and rate{share}"
    first = _first_of_table(found)
    return write_sections(path, f"Sizing: {found.robot.name}", about, [first.html], sections)


FEW = 40  # cases: as many numbers are read better in a table than in a map of colours


def _first_of_table(found: SizingTable) -> First:
    count, able = len(found.cases), int(found.feasible.sum())
    hardest = max(found.cases, key=lambda case: np.nan_to_num(use_of(case), nan=-1.0))
    where = f"{hardest.payload:g} kg and {hardest.cycles:g} cycles a minute"
    known = hardest.binding is not None
    kind = "good" if able == count else "care" if able else "bad"
    head = (
        f"All {count} cases are within the limits"
        if able == count
        else f"{able} of {count} cases are within the limits"
        if able
        else "No case may run"
    )
    if hardest.binding is None:
        kind, sentence = "unknown", "The robot file names no limit that pace and payload decide."
    else:
        use = percent(hardest.binding.use)
        sentence = f"At {where} the robot takes {use} of its limit on {_words(hardest.binding)}."
    drives = hardest.loads.drives
    unit, what = found.robot.axis_units("tau")[0], _torque_words(found.robot)
    numbers = [
        (percent(use_of(hardest)) if known else "-", f"of a limit at most, at {where}"),
        (f"{drives.torque_peak[: found.robot.legs].max():.3g} {unit}", f"peak {what} there"),
        (f"{drives.torque_rms[: found.robot.legs].max():.3g} {unit}", f"RMS {what} there"),
    ]
    return First(kind, head, sentence, numbers, _use_figure(found), _sizing_steps(found, able))


def _sizing_steps(found: SizingTable, able: int) -> list[str]:
    steps = []
    if able < len(found.cases):
        steps.append("Run the cases marked ok only; All cases names the limit that is exceeded.")
    else:
        steps.append("There is room: `--cycles` and `--payloads` try more.")
    if found.robot.friction.absent:
        steps.append("The robot file has no friction: the real torques are higher.")
    return steps


def _use_figure(found: SizingTable) -> str:
    """Share of the binding limit over the rate, a curve per payload."""
    uses = _grid(found, lambda case: 100 * use_of(case))
    order = np.argsort(found.cycles)
    rates = np.asarray(found.cycles)[order]
    curves = [
        Curve(
            f"{mass:g} kg",
            rates,
            np.where(np.isfinite(row), row, np.nan)[order],
            colour(k),
            DASHES[k % len(DASHES)],
            width=2.2,
        )
        for k, (mass, row) in enumerate(zip(found.payloads, uses, strict=True))
    ]
    figure = time_figure(curves, "largest share of a limit (%)", [100.0])
    figure.update_traces(mode="lines+markers")
    for k, trace in enumerate(figure.data):  # payloads that a limit holds alike lie on one another
        trace.marker.symbol, trace.marker.size = SYMBOLS[k % len(SYMBOLS)], 9
    figure.update_xaxes(title_text="cycles per minute")
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(height=FIRST_HEIGHT)
    return figure_html("Use of the limits", figure, "Dotted: 100 %, the limit.")


FIRST_HEIGHT = 340  # pixels
Grids = Sequence[tuple[str, FloatArray, list[list[str]] | None]]


def _tables(found: SizingTable, grids: Grids) -> tuple[str, ...]:
    """A table per quantity: payloads down, rates across."""
    columns = ("payload (kg)", *(f"{rate:g} cycles/min" for rate in found.cycles))
    out = []
    for title, values, words in grids:
        texts = words or [[f"{value:.4g}" for value in row] for row in values]
        rows = [(f"{mass:g}", *row) for mass, row in zip(found.payloads, texts, strict=True)]
        out.append(wide_table(columns, rows, caption=title))
    return tuple(out)


def _heats(found: SizingTable, grids: Grids) -> tuple[str, ...]:
    """A map of colours per quantity."""
    return tuple(
        figure_html(
            title,
            _heat(found, values, words, 100.0 if words else None),
            _SHARE if words else _MOST,
        )
        for title, values, words in grids
    )


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
    return f"{percent(case.binding.use)}, {_words(case.binding)}"


def _torque_words(robot: Robot) -> str:
    return "force of a carriage" if robot.linear else "torque of an arm"


def _row(case: dict[str, Any], legs: int) -> tuple[str, ...]:
    numbers = (case["payload_kg"], case["cycles_per_minute"])
    peaks = (max(case[key][:legs]) for key in ("torque_peak_Nm", "torque_rms_Nm", "power_peak_W"))
    over = ", ".join(map(limit_words, case["exceeded"]))
    verdict = "ok" if case["feasible"] else f"exceeds {over}"
    return (
        *(f"{x:g}" for x in numbers),
        *(f"{x:.4g}" for x in peaks),
        limit_words(case["binding"] or ""),
        verdict,
    )


# The map of inertia coupling as one page to open offline.


def coupling_page(robot: Robot, found: CouplingMap, path: str | os.PathLike[str]) -> Path:
    """Write the page: coupling of every pair of drives, and the inertia that each arm feels."""
    pairs = {f"|M{i}{j}| / sqrt(M{i}{i} M{j}{j})": layer
             for (i, j), layer in zip(found.pairs, found.coupling, strict=True)}  # fmt: skip
    unit = robot.axis_units("inertia")[0]
    felt = {f"M{i + 1}{i + 1} ({unit})": found.felt[i] for i in range(robot.legs)}
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
