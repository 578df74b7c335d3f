"""Parts of a recording in which a model is judged by itself: rest, low and high speed, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.robot import Robot
from deltadyn.validation.metrics import Metrics, metrics

REST = 0.005  # of the axis's largest rate in the recording: below it an axis rests
LEAST_REST = 0.03  # s: a shorter stop is a turning point of the motion
LOW = 0.2  # of the axis's largest rate: below it is low speed
HIGH = 0.5  # of the axis's largest rate: above it is high speed
NEAR = 0.9  # of a limit
MARGIN = 0.05  # of the range of an angle, of the workspace's radius and height


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a recording: its samples per axis (N, dof), and the model's metrics on them.

    `rule` says in words which samples belong to it.
    """

    name: str
    rule: str
    mask: BoolArray
    metrics: Metrics

    @property
    def share(self) -> float:
        """Share of all samples that belong to it."""
        return float(self.mask.mean()) if self.mask.size else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Rule, share and metrics, for JSON."""
        return {"rule": self.rule, "share": self.share, **self.metrics.as_dict()}


@dataclass(frozen=True, eq=False)
class Mask:
    """Samples (N, dof) of a segment before any model is compared."""

    name: str
    rule: str
    mask: BoolArray


@dataclass(frozen=True, eq=False)
class Course:
    """What the masks look at: times (N,) and angles, rates, platform and torque, each (N, dof)."""

    t: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    tau: FloatArray


def segment_masks(robot: Robot, course: Course) -> tuple[Mask, ...]:
    """Rest, low speed, high speed and near limits.

    Speeds are relative to the largest rate of each axis in the recording, so that every recording
    has a high speed; the limits are the robot's.
    """
    speed = np.abs(course.qd)
    peak = speed.max(axis=0)
    rest = _at_rest(course.t, speed, peak)
    moving = ~rest[:, None]
    named, near = _near_limits(robot, course)
    return (
        Mask(
            "rest",
            f"every axis below {100 * REST:g} % of its largest rate for {1e3 * LEAST_REST:g} ms",
            np.repeat(rest[:, None], robot.dof, axis=1),
        ),
        Mask(
            "low speed",
            f"moving, the axis below {100 * LOW:g} % of its largest rate",
            moving & (speed < LOW * peak),
        ),
        Mask(
            "high speed",
            f"the axis above {100 * HIGH:g} % of its largest rate",
            moving & (speed > HIGH * peak),
        ),
        Mask("near limits", named, near),
    )


def segments_of(
    masks: tuple[Mask, ...], measured: FloatArray, predicted: FloatArray
) -> tuple[Segment, ...]:
    """The metrics of torques (N, dof) in each segment."""
    return tuple(
        Segment(item.name, item.rule, item.mask, metrics(measured, predicted, item.mask))
        for item in masks
    )


def pooled_masks(parts: list[tuple[Mask, ...]]) -> tuple[Mask, ...]:
    """The masks of several recordings one after the other."""
    return tuple(
        Mask(same[0].name, same[0].rule, np.concatenate([item.mask for item in same]))
        for same in zip(*parts, strict=True)
    )


def _at_rest(t: FloatArray, speed: FloatArray, peak: FloatArray) -> BoolArray:
    """(N,): no axis moves, for long enough."""
    still: BoolArray = np.all(speed <= REST * peak, axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8)))
    for first, stop in edges.reshape(-1, 2):
        if t[stop - 1] - t[first] < LEAST_REST:
            still[first:stop] = False
    return still


def _near_limits(robot: Robot, course: Course) -> tuple[str, BoolArray]:
    """Which limits the robot names, in words, and the samples (N, dof) near one of them."""
    limits = robot.limits
    near = np.zeros(course.q.shape, dtype=bool)
    named = []
    low, high = limits.angle_min, limits.angle_max
    if low is not None and high is not None:
        margin = MARGIN * np.subtract(high, low)
        near |= (course.q < low + margin) | (course.q > high - margin)
        named.append(f"angle within {100 * MARGIN:g} % of its range")
    for word, values, bound in (
        ("rate", course.qd, limits.rate),
        ("acceleration", course.qdd, limits.acceleration),
        ("torque", course.tau, limits.torque_peak),
    ):
        if bound is not None:
            near |= np.abs(values) > NEAR * np.asarray(bound)
            named.append(word)
    whole = np.zeros(len(near), dtype=bool)
    for word, values, most in (
        ("platform speed", course.pd, limits.platform_speed),
        ("platform acceleration", course.pdd, limits.platform_acceleration),
    ):
        if most is not None:
            whole |= np.linalg.norm(values[:, :3], axis=1) > NEAR * most
            named.append(word)
    cylinder = limits.workspace
    if cylinder is not None:
        height = MARGIN * (cylinder.z_max - cylinder.z_min)
        z, radius = course.p[:, 2], np.hypot(course.p[:, 0], course.p[:, 1])
        whole |= (z < cylinder.z_min + height) | (z > cylinder.z_max - height)
        whole |= radius > (1 - MARGIN) * cylinder.radius
        named.append("workspace")
    if not named:
        return "the robot names no limits", near
    return f"beyond {100 * NEAR:g} % of a limit ({', '.join(named)})", near | whole[:, None]
