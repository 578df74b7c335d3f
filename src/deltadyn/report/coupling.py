"""The map of inertia coupling as one page to open offline."""

from __future__ import annotations

import os
from pathlib import Path

from deltadyn.dynamics.coupling import CouplingMap
from deltadyn.files import write_whole
from deltadyn.robot import Robot


def coupling_page(robot: Robot, found: CouplingMap, path: str | os.PathLike[str]) -> Path:
    """Write the page: coupling of every pair of drives, and the inertia that each arm feels."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    columns = len(found.pairs)
    titles = [f"|M{i}{j}| / sqrt(M{i}{i} M{j}{j})" for i, j in found.pairs]
    titles += [f"M{axis}{axis} (kg m^2)" for axis in (1, 2, 3)]
    figure = make_subplots(rows=2, cols=columns, subplot_titles=titles, vertical_spacing=0.14)
    for row, layers in ((1, found.coupling), (2, found.felt[:3])):
        for k, layer in enumerate(layers):
            color = "coloraxis" if row == 1 else "coloraxis2"
            trace = go.Heatmap(x=found.x, y=found.y, z=layer, coloraxis=color)
            figure.add_trace(trace, row=row, col=k + 1)
            figure.update_xaxes(title_text="x (m)", constrain="domain", row=row, col=k + 1)
            number = (row - 1) * columns + k + 1
            anchor = "x" if number == 1 else f"x{number}"
            figure.update_yaxes(title_text="y (m)", scaleanchor=anchor, row=row, col=k + 1)
    figure.update_layout(
        title=f"{robot.name}: inertia coupling at z = {found.z:.3g} m",
        template="plotly_white",
        height=720,
        width=320 * columns + 120,
        coloraxis={"colorscale": "Viridis", "colorbar": {"len": 0.45, "y": 0.79}},
        coloraxis2={
            "colorscale": "Cividis",
            "colorbar": {"len": 0.45, "y": 0.2, "title": "kg m^2"},
        },
    )
    return write_whole(path, figure.to_html(include_plotlyjs=True, full_html=True))
