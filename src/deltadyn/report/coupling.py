"""The map of inertia coupling as one page to open offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.coupling import CouplingMap
from deltadyn.report.html import Section, figure_html, write_sections
from deltadyn.report.plots import SCALED, Map, draw_map, finished, panels
from deltadyn.robot import Robot


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
