"""The tab Calibrate: where to measure, the geometry from what was measured, and the error left.

Poses stand in the 3-D view as numbered points, and the deviation over the workspace as coloured
ones, before and after.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration import (
    Calibration,
    CalibrationPlan,
    FileOptions,
    Tolerances,
    calibrate,
    plan_calibration,
    read_measurements,
)
from deltadyn.calibration.plan import INSTRUMENTS
from deltadyn.errors import DeltadynError
from deltadyn.studio.drawing import Colour, thickness
from deltadyn.studio.page import Tab, message_box, paragraph, table
from deltadyn.studio.robot import file_stem
from deltadyn.studio.session import parse_upload
from deltadyn.studio.volumes import Key, legend, scale_colour

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

BEFORE, AFTER, NONE = "before", "after", "none"
PLANNED: Colour = (31, 95, 168)
MISFIT: Colour = (200, 40, 40)
STEPS = 5  # colours of a field


class CalibrationTab(Tab):
    """Plan, upload, result, field."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui, button = self._gui, window.button
        self._instrument = gui.add_dropdown("instrument", tuple(INSTRUMENTS))
        self._sigma = gui.add_number(
            "standard deviation (mm)", INSTRUMENTS["tracker"] * 1e3, min=1e-6, step=0.001
        )
        self._instrument.on_update(window.guarded(self._usual_sigma))
        self._poses = gui.add_number("poses", 30, min=6, max=300, step=1)
        button("Plan the poses", self._plan, color="blue")
        self._send_plan = button("Download the poses", self._save_plan, disabled=True)
        self._planned = gui.add_html("")
        self._unit = gui.add_dropdown(
            "unit of lengths without one", ("mm", "m", "cm"), hint="As in SpatialAnalyzer's text"
        )
        hint = "CSV with a row per pose: q1_deg, q2_deg, q3_deg, x_mm, y_mm, z_mm"
        window.upload_button("Upload measured poses", self._upload, hint=hint, color="blue")
        self._result = gui.add_html("")
        self._field = gui.add_dropdown("deviation over the workspace", (NONE, BEFORE, AFTER))
        self._field.on_update(window.guarded(self._choose_field))
        self._legend = gui.add_html("")
        self._last = [
            button("Use the calibrated robot", self._use),
            button("Download robot, numbers and page", self._take),
        ]
        self._nodes: dict[str, Any] = {}
        self._plan_found: CalibrationPlan | None = None
        self._found: Calibration | None = None
        self._show()

    def robot_changed(self) -> None:
        """What was planned and found belongs to the robot that it was made for."""
        robot = self.window.session.robot
        if self._plan_found is not None and self._plan_found.robot != robot:
            self._plan_found = None
        if self._found is not None and robot not in (self._found.nominal, self._found.robot):
            self._found = None
        self._show()

    def _usual_sigma(self, _event: Any) -> None:
        self._sigma.value = INSTRUMENTS[self._instrument.value] * 1e3

    def _plan(self, _event: Any) -> None:
        robot = self.window.session.robot
        self._plan_found = plan_calibration(
            robot, self._instrument.value, int(self._poses.value), sigma=self._sigma.value / 1e3
        )
        self._show()

    def _save_plan(self, _event: Any) -> None:
        if self._plan_found is None:
            raise DeltadynError("there is no plan yet: plan the poses first")
        with tempfile.TemporaryDirectory() as folder:
            content = self._plan_found.save(Path(folder) / "poses.csv").read_bytes()
        self.window.send("poses.csv", content)

    def _upload(self, upload: Upload) -> None:
        session = self.window.session
        options = FileOptions(unit=self._unit.value, sigma=self._sigma.value / 1e3)
        suffix = Path(upload.shown).suffix.lower()
        read = partial(read_measurements, robot=session.robot, options=options)
        sets = parse_upload(upload, session.limit, suffix or ".csv", read)
        self._found = calibrate(session.robot, sets, tolerances=Tolerances())
        self._field.value = BEFORE
        self._show()
        self.window.say(f"{upload.shown}: {self._found.status}", "good")

    def _choose_field(self, _event: Any) -> None:
        self._show()

    def _use(self, _event: Any) -> None:
        self.window.session.replace_robot(self._calibrated().robot)
        self.window.robot_changed()
        self.window.say("the calibrated robot is shown; the tab Robot compares it", "good")

    def _take(self, _event: Any) -> None:
        found = self._calibrated()
        stem = f"{file_stem(found.nominal)}-calibrated"
        archive = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder:
            written = found.save(Path(folder) / stem)
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
                for path in written:
                    file.write(path, path.name)
        self.window.send(f"{stem}.zip", archive.getvalue())

    def _calibrated(self) -> Calibration:
        if self._found is None:
            raise DeltadynError("there is no calibration yet: upload measured poses first")
        return self._found

    # what is shown

    def _show(self) -> None:
        plan, found = self._plan_found, self._found
        self._send_plan.disabled = plan is None
        for button in self._last:
            button.disabled = found is None
        self._planned.content = "" if plan is None else paragraph(f"{plan}.")
        self._result.content = "" if found is None else result_html(found)
        self._draw_poses(plan, found)
        self._draw_field(found)

    def _draw_poses(self, plan: CalibrationPlan | None, found: Calibration | None) -> None:
        """Points of a plan; of a calibration those that do not fit are marked."""
        self._remove("poses")
        robot = self.window.session.robot
        if found is not None:
            points, marked = measured_points(found)
        elif plan is not None:
            points, marked = plan.p, np.zeros(len(plan.p), dtype=bool)
        else:
            return
        colours = np.where(marked[:, None], MISFIT, PLANNED).astype(np.uint8)
        self._cloud("poses", points, colours, 1.2 * thickness(robot))

    def _draw_field(self, found: Calibration | None) -> None:
        self._remove("field")
        self._legend.content = ""
        if found is None or self._field.value == NONE:
            return
        field = found.field
        values = (field.before if self._field.value == BEFORE else field.after) * 1e3
        limits, colours = field_colours(values)
        self._cloud("field", field.points, colours, 0.7 * thickness(found.nominal))
        keys = [Key(colour, f"up to {limit:.3g} mm") for limit, colour in limits]
        told = (
            "what the robot file was off by"
            if self._field.value == BEFORE
            else ("standard deviation that is left")
        )
        self._legend.content = legend(keys, f"{self._field.value}: {told}")

    def _cloud(self, name: str, points: FloatArray, colours: Any, size: float) -> None:
        self._nodes[name] = self.window.client.scene.add_point_cloud(
            f"/calibration/{name}",
            points.astype(np.float32),
            colours,
            point_size=size,
            point_shape="circle",
        )

    def _remove(self, name: str) -> None:
        node = self._nodes.pop(name, None)
        if node is not None:
            node.remove()


def result_html(found: Calibration) -> str:
    """Status, findings, poses that do not fit, and the known combinations."""
    sizes = found.field.as_dict()
    kind = "warning" if found.findings or found.misfits else "good"
    rows = [
        ("before", f"{sizes['before_rms_mm']:.3f}", f"{sizes['before_worst_mm']:.3f}"),
        ("before, aligned", f"{sizes['aligned_rms_mm']:.3f}", f"{sizes['aligned_worst_mm']:.3f}"),
        ("after", f"{sizes['after_rms_mm']:.4f}", f"{sizes['after_worst_mm']:.4f}"),
    ]
    shown = [(item.words, *item.shown()) for item in found.combinations]
    known = [(words, f"{v:+.4f}", f"{half:.4f}", unit) for words, v, half, unit in shown]
    return (
        message_box(kind, found.status)
        + "".join(message_box("warning", str(item)) for item in found.findings)
        + "".join(message_box("warning", f"does not fit: {item}") for item in found.misfits)
        + table(("workspace (mm)", "rms", "worst"), rows)
        + paragraph(f"Data: {found.visible}.")
        + table(("known combination", "deviation", "± (95 %)", "unit"), known)
    )


def measured_points(found: Calibration) -> tuple[FloatArray, Any]:
    """Calibrated points (N, 3) of all poses that were measured, and which do not fit."""
    bad = {(item.kind, item.pose) for item in found.misfits}
    points, marked = [], []
    for item in found.solution.measured:
        own = found.forward_kinematics(item.q)
        points.append(own)
        names = [item.names[row % len(item.names)] for row in range(len(own))]
        marked += [(item.kind, name) in bad for name in names]
    return np.concatenate(points), np.array(marked)


def field_colours(values: FloatArray) -> tuple[list[tuple[float, Colour]], Any]:
    """Limits (mm) with their colours, from the least to the largest value, and those of all."""
    low, high = float(values.min()), float(values.max())
    step = max(high - low, 1e-12 + 1e-9 * abs(high)) / STEPS
    band = np.clip(((values - low) / step).astype(int), 0, STEPS - 1)
    colours = [scale_colour(k / (STEPS - 1)) for k in range(STEPS)]
    limits = [(low + (k + 1) * step, colours[k]) for k in range(STEPS)]
    return limits, np.array(colours, dtype=np.uint8)[band]
