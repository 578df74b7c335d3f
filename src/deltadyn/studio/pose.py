"""The tab Pose: poses at rest with their loads, by sliders of the platform and of the joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads, inverse_dynamics
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State, forward_kinematics, singularity, strut_angles, workspace
from deltadyn.kinematics.struts import attachments_of
from deltadyn.kinematics.workspace import (
    REASONS,
    RULES,
    WorkspaceBoundary,
    WorkspaceRules,
    broken_rules,
    psi_range,
)
from deltadyn.report.picture import TWO_HALVES, drawn_rails
from deltadyn.report.plots import axis_scales, coordinate_scales
from deltadyn.robot import Robot
from deltadyn.studio.drawing import home
from deltadyn.studio.page import Tab, table
from deltadyn.units import together

if TYPE_CHECKING:
    from deltadyn.studio.server import Window

# A pose at rest: what can be reached, what it takes to hold, how far limits are.

#: Rules that no pose of the studio breaks; the others are limits, which are shown and not kept.
HARD = ("loop", "singularity")


class OutOfReachError(DeltadynError):
    """A target that the robot cannot take; `reason` says why."""

    def __init__(self, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(f"{target} cannot be reached: {reason}; the robot stays where it was")


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose at rest: p and q (dof,), holding torque (dof,), strut forces (legs,) in N.

    A drive's torque is in N m, that of a carriage is a force in N.

    `tension` is the largest axial force along each pair of rods, tension positive; `margin` (rad)
    the distance to singular poses; `ball` (rad) the angle of the ball joints; `broken` the limits
    that the pose breaks, in words.
    """

    robot: Robot
    p: FloatArray
    q: FloatArray
    torque: FloatArray
    tension: FloatArray
    margin: float
    ball: FloatArray
    broken: tuple[str, ...]


def pose_at(robot: Robot, p: npt.ArrayLike) -> Pose:
    """The pose with the platform at p (dof,)."""
    point = np.asarray(p, dtype=float)
    target = _shown(robot, point)
    if not np.isfinite(point).all():
        raise OutOfReachError(target, "it is not a finite position")
    kept = ~broken_rules(robot, point[None], WorkspaceRules())[0]
    for name in HARD:
        if not kept[RULES.index(name)]:
            beyond = name == "singularity"
            raise OutOfReachError(
                target, "it lies beyond a singular pose" if beyond else REASONS[name]
            )
    state = State.from_platform(robot, point)
    soft = [name for name, good in zip(RULES, kept, strict=True) if not good]
    return Pose(
        robot,
        point,
        np.asarray(state.q).reshape(robot.dof),
        np.asarray(inverse_dynamics(robot, state)).reshape(robot.dof),
        np.asarray(constraint_loads(robot, state).axial_max).reshape(robot.legs),
        float(np.asarray(singularity(robot, point).margin)),
        np.abs(np.asarray(strut_angles(robot, point).ball_joint)).reshape(robot.legs),
        tuple(REASONS[name] for name in soft),
    )


def pose_of_joints(robot: Robot, q: npt.ArrayLike, near: npt.ArrayLike | None = None) -> Pose:
    """The pose with these joint coordinates (dof,) in rad, of carriages in m.

    Under two halves it is the one that joins up with the pose `near` (dof,).
    """
    joints = np.asarray(q, dtype=float)
    hint = near if isinstance(robot.platform, TWO_HALVES) else None
    p = forward_kinematics(robot, joints, unreachable="nan", hint=hint)
    if not np.isfinite(p).all():
        shown = zip(joint_names(robot), joints, axis_scales(robot), strict=False)
        target = ", ".join(f"{name} = {scale * x:.3g} {unit}" for name, x, (scale, unit) in shown)
        raise OutOfReachError(target, "the struts cannot meet at a platform")
    return pose_at(robot, np.asarray(p).reshape(robot.dof))


def joint_names(robot: Robot) -> tuple[str, ...]:
    """What the driven joints of the limbs are called."""
    word = "carriage" if robot.linear else "theta"
    return tuple(f"{word} {i + 1}" for i in range(robot.legs))


def axis_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows axis, angle (deg), to limit (deg), rate, holding torque (N m), share of the peak.

    A carriage has its place in mm and its force in N.
    """
    limits, scales = pose.robot.limits, axis_scales(pose.robot)
    rows: list[tuple[str, ...]] = []
    for k, name in enumerate(pose.robot.axis_names()):
        room = _room(pose.q[k], limits.angle_min, limits.angle_max, k)
        share = "-"
        if limits.torque_peak is not None:
            share = f"{100 * abs(pose.torque[k]) / limits.torque_peak[k]:.1f} %"
        rows.append(
            (
                name,
                f"{scales[k][0] * pose.q[k]:.2f}",
                "-" if room is None else f"{scales[k][0] * room:.1f}",
                "0",
                f"{pose.torque[k]:.3f}",
                share,
            )
        )
    return rows


def strut_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows strut, axial force of the pair (N), ball joint angle and what is left of it (deg)."""
    limit = pose.robot.limits.ball_joint_angle
    return [
        (
            str(i + 1),
            f"{pose.tension[i]:.1f}",
            f"{math.degrees(pose.ball[i]):.1f}",
            "-" if limit is None else f"{math.degrees(limit - pose.ball[i]):.1f}",
        )
        for i in range(pose.robot.legs)
    ]


def pose_rows(pose: Pose) -> list[tuple[str, str]]:
    """Position, distance to singular poses, and distance to the wall of the working cylinder."""
    place = pose.robot.in_space(pose.p)
    x, y, z = (1e3 * value for value in place)
    rows = [
        ("platform", f"{x:.1f}, {y:.1f}, {z:.1f} mm"),
        ("singularity margin", f"{math.degrees(pose.margin):.1f} deg"),
    ]
    if pose.robot.turns and pose.robot.spindle is None:  # no drive has it as its own angle
        rows.append(("psi", f"{math.degrees(pose.p[3]):.1f} deg"))
    cylinder = pose.robot.limits.workspace
    if cylinder is not None:
        room = min(
            cylinder.radius - math.hypot(place[0], place[1]),
            place[2] - cylinder.z_min,
            cylinder.z_max - place[2],
        )
        where = "inside" if room >= 0 else "outside"
        name = "working area" if pose.robot.planar else "working cylinder"
        rows.append((name, f"{1e3 * abs(room):.0f} mm {where}"))
    rows.append(("limits", "; ".join(pose.broken) if pose.broken else "all kept"))
    return rows


def _room(value: float, low: object, high: object, axis: int) -> float | None:
    """The distance (rad) to the nearer angle limit, negative beyond it."""
    gaps = []
    if low is not None:
        gaps.append(value - low[axis])  # type: ignore[index]
    if high is not None:
        gaps.append(high[axis] - value)  # type: ignore[index]
    return min(gaps) if gaps else None


def _shown(robot: Robot, p: FloatArray) -> str:
    """A platform's coordinates in words; psi where the limbs turn it."""
    told = [
        f"{name} = {value:.3g} m"
        for name, value in zip(robot.coordinates, p, strict=False)
        if name != "psi"
    ]
    if robot.turns and robot.spindle is None:
        told.append(f"psi = {math.degrees(p[3]):.3g} deg")
    return ", ".join(told)


# The tab.

WIDE = (-90.0, 120.0)  # deg, of an arm without limits
BEYOND = 10.0  # deg or mm that a slider reaches beyond a limit, so that the limit can be seen


@lru_cache(maxsize=32)
def _wall(robot: Robot) -> WorkspaceBoundary:
    """The workspace, coarse; windows with the same robot share it."""
    return workspace(robot, heights=21, azimuths=36)


class PoseTab(Tab):
    """Sliders of the platform and of the joints, and the live tables."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui = self._gui
        self._folders: list[Any] = []
        self._platform: list[Any] = []
        self._joints: list[Any] = []
        self._table = gui.add_html("")

    def rebuild(self) -> None:
        """New sliders: the ranges are the robot's."""
        gui = self._gui
        for folder in self._folders:
            folder.remove()
        robot = self.window.session.robot
        with self._tab:
            platform = gui.add_folder("Platform", order=self._table.order - 2)
            joints = gui.add_folder("Joints", order=self._table.order - 1)
        with platform:
            spans = self._spans()
            self._platform = [
                gui.add_slider(
                    f"{name} ({unit})",
                    *spans[name],
                    0.1 if name == "psi" else 1.0,
                    sum(spans[name]) / 2,
                )
                for name, (_, unit) in zip(robot.coordinates, coordinate_scales(robot), strict=True)
            ]
        with joints:
            self._joints = [
                gui.add_slider(
                    f"{name} ({axis_scales(robot)[k][1]})",
                    *self._turn(k),
                    0.1,
                    sum(self._turn(k)) / 2,
                )
                for k, name in enumerate(joint_names(robot))
            ]
        self._folders = [platform, joints]
        for k, slider in enumerate(self._platform):
            slider.on_update(self.window.guarded(self._moved(k)))
        for k, slider in enumerate(self._joints):
            slider.on_update(self.window.guarded(self._turned(k)))

    def refresh(self, held: Any = None) -> None:
        """Show the session's pose; a slider that is `held` may be ahead of it and stays."""
        pose = self.window.session.pose
        robot = pose.robot
        for k, slider in enumerate(self._platform):
            if slider is not held:
                _set(slider, coordinate_scales(robot)[k][0] * float(pose.p[k]))
        for k, slider in enumerate(self._joints):
            if slider is not held:
                _set(slider, axis_scales(robot)[k][0] * float(pose.q[k]))
        unit = together([unit for _, unit in axis_scales(robot)])
        word = "place" if robot.linear else "angle"
        held_by = f"holding {robot.axis_unit('tau')}"
        head = ("axis", f"{word} {unit}", f"to limit {unit}", "rate", held_by, "of peak")
        struts = ("strut", "force N (tension +)", "ball joint deg", "left deg")
        self._table.content = (
            table(("pose", ""), pose_rows(pose))
            + table(head, axis_rows(pose), "Axes at rest")
            + table(struts, strut_rows(pose), "Struts at rest")
        )

    def _spans(self) -> dict[str, tuple[float, float]]:
        """Ranges of x, y, z (mm) and psi (deg): those of the workspace, all around."""
        robot = self.window.session.robot
        wall = _wall(robot)
        if wall.heights.size:
            radius = float(np.ceil(1e3 * wall.radius.max()))
            low, high = (float(np.round(1e3 * z)) for z in wall.heights[[0, -1]])
        else:
            here = 1e3 * float(robot.in_space(self.window.session.pose.p)[2])
            radius, low, high = 500.0, here - 500.0, 0.0
        turn = (-180.0, 180.0)
        if isinstance(robot.platform, TWO_HALVES):  # as far as the limbs turn the tool at home
            low_turn, high_turn = np.round(np.degrees(psi_range(robot, home(robot))))
            turn = float(max(low_turn, -360.0)), float(min(high_turn, 360.0))
        wide = (-radius, radius)
        return {"x": wide, "y": wide, "z": (low, high), "psi": turn}

    def _turn(self, axis: int) -> tuple[float, float]:
        robot = self.window.session.robot
        limits, scale = robot.limits, axis_scales(robot)[axis][0]
        low, high = WIDE
        if robot.linear:  # without limits: as the rail is drawn
            ends = np.array([end[axis] for end in drawn_rails(robot)])
            frame = robot.geometry.frames[axis]
            start = np.asarray(frame.shoulder) + attachments_of(robot)[axis]
            low, high = (float(np.round(scale * x)) for x in (ends - start) @ np.asarray(frame.z))
        if limits.angle_min is not None:
            low = math.floor(scale * limits.angle_min[axis]) - BEYOND
        if limits.angle_max is not None:
            high = math.ceil(scale * limits.angle_max[axis]) + BEYOND
        return float(low), float(high)

    def _moved(self, axis: int) -> Any:
        def act(_event: Any) -> None:
            slider = self._platform[axis]
            scale, _ = coordinate_scales(self.window.session.robot)[axis]
            target = slider.value / scale
            self._try(lambda: self.window.session.move_axis(axis, target), slider)

        return act

    def _turned(self, axis: int) -> Any:
        def act(_event: Any) -> None:
            slider = self._joints[axis]
            scale, _ = axis_scales(self.window.session.robot)[axis]
            target = slider.value / scale
            self._try(lambda: self.window.session.turn_joint(axis, target), slider)

        return act

    def _try(self, move: Any, slider: Any) -> None:
        self.window.motion_tab.pause()
        try:
            move()
            self.window.say("")
        except OutOfReachError as error:
            self.window.complain(error)
            slider = None  # it goes back
        self.window.pose_changed(held=slider)


def _set(slider: Any, value: float) -> None:
    """Move a slider without moving the one that the user holds."""
    if abs(slider.value - value) > 0.51 * slider.step:
        slider.value = min(max(round(value, 1), slider.min), slider.max)
