"""The tab Volumes: workspace, singularity margin and limits as coloured surfaces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from deltadyn.errors import DeltadynError
from deltadyn.studio.drawing import KINDS, cylinder_mesh
from deltadyn.studio.page import Surfaces, legend, paragraph

if TYPE_CHECKING:
    from deltadyn.studio.server import Window

NONE = "none"
INSIDE, OUTSIDE = "from inside", "from outside"
CYLINDER = 0.25  # opacity


class VolumesTab:
    """What is drawn around the robot."""

    def __init__(self, window: Window, tab: Any) -> None:
        self.window, self._tab = window, tab
        gui: Any = window.client.gui
        self._kind = gui.add_dropdown("colour by", (NONE, *KINDS), initial_value=NONE)
        self._margin = gui.add_slider("least singularity margin (deg)", 0.0, 45.0, 1.0, 0.0)
        self._wall = gui.add_dropdown(
            "wall",
            (INSIDE, OUTSIDE, NONE),
            initial_value=INSIDE,
            hint="From inside only the far wall is drawn, so that the robot stays in sight",
        )
        self._cut = gui.add_checkbox("slice at the platform", True)
        self._limit = gui.add_checkbox("working cylinder", False)
        again = gui.add_button("Slice here", hint="At the platform's height now")
        self._legend = gui.add_html("")
        self._wall_surface = Surfaces(window.client, "/volume/wall")
        self._slice_surface = Surfaces(window.client, "/volume/slice")
        self._cylinder_surface = Surfaces(window.client, "/volume/cylinder")
        draw = window.guarded(self._draw, locked=False)
        for control in (self._kind, self._margin, self._wall, self._cut, self._limit):
            control.on_update(draw)
        again.on_click(draw)
        self._turn = 0  # counts the draws: a draw that was overtaken shows nothing

    def robot_changed(self) -> None:
        """Draw for the new robot, where something is drawn."""
        try:
            self._draw(None)
        except DeltadynError as error:  # e.g. no pose keeps the margin
            self._wall_surface.clear()
            self._slice_surface.clear()
            self.window.complain(error)

    def _draw(self, _event: Any) -> None:
        session = self.window.session
        with session.lock:
            self._turn += 1
            turn = self._turn
            self._show_cylinder()
            if self._kind.value == NONE:
                self._wall_surface.clear()
                self._slice_surface.clear()
                self._legend.content = ""
                return
        self._legend.content = paragraph("computing ...")
        height = float(session.pose.p[2]) if self._cut.value else None
        try:
            found = session.volume(self._kind.value, math.radians(self._margin.value), height)
        except Exception:  # whatever it was: nothing is computed any more; the window tells it
            self._legend.content = ""
            raise
        with session.lock:
            if turn != self._turn or self.window.closed:
                return
            wall = self._wall.value
            bands = () if wall == NONE else found.wall
            self._wall_surface.show(bands, side="back" if wall == INSIDE else "front")
            self._slice_surface.show(found.slice)
            text = found.status
            if self._cut.value and found.kind == "limits":
                text += "; limits have no slice"
            self._legend.content = paragraph(text) + legend(found.legend, found.kind)

    def _show_cylinder(self) -> None:
        band = cylinder_mesh(self.window.session.robot)
        if self._limit.value and band is None:
            self.window.say("the robot file names no limits.workspace", "warning")
        self._cylinder_surface.show([band] if self._limit.value and band else [], CYLINDER)
