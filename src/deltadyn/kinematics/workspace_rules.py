"""The rules that bound a workspace, and which of them a point breaks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, Component, FloatArray, as_samples, chunks, columns
from deltadyn.errors import InputError
from deltadyn.kinematics.inverse import Elbows, elbow_signs
from deltadyn.kinematics.limbs import arm_direction, limbs, strut
from deltadyn.kinematics.singularity import strut_planes, unit_struts
from deltadyn.kinematics.spindle import telescope
from deltadyn.robot import Robot

#: What a point can break, in the order of the columns of `broken_rules`.
RULES = ("loop", "angles", "ball_joints", "stroke", "singularity")

REASONS = {
    "loop": "a limb is too short or too long for it",
    "angles": "an arm passes its angle limit",
    "ball_joints": "a ball joint passes its angle limit",
    "stroke": "the telescope passes its stroke",
    "singularity": "it is closer to a singular pose than the margin, or beyond one",
}


@dataclass(frozen=True)
class WorkspaceRules:
    """Which limits bound the workspace; the loop must close in any case.

    A limit that the robot does not name bounds nothing. `singularity` is the least margin in rad
    (see `Singularity.margin`) to the poses where the struts lie in one plane and to those where an
    arm and its strut do; it also keeps the platform on its own side of the former, below the
    elbows, because no motion leads through them. None drops both.
    """

    angles: bool = True
    ball_joints: bool = True
    stroke: bool = True
    singularity: float | None = 0.0
    elbows: Elbows = "out"

    def __post_init__(self) -> None:
        elbow_signs(self.elbows)
        margin = self.singularity
        if margin is not None and not 0 <= margin < math.pi / 2:
            raise InputError("singularity margin", margin, "from 0 to below pi/2 rad, or None")


def in_workspace(robot: Robot, p: npt.ArrayLike, rules: WorkspaceRules | None = None) -> BoolArray:
    """Mask (N,) of the positions p (N, dof) that keep all rules; psi is not looked at."""
    points, single = as_samples(p, robot.dof, "p", allow_nan=True)
    mask = np.asarray(~broken_rules(robot, points, rules or WorkspaceRules()).any(axis=1))
    return mask[0] if single else mask


def broken_rules(robot: Robot, points: FloatArray, rules: WorkspaceRules) -> BoolArray:
    """Which of `RULES` each point (N, >= 3) breaks, as (N, 5); a point out of reach breaks all
    that its pose would decide.
    """
    kept = np.ones((points.shape[0], len(RULES)), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(points.shape[0]):
            p = columns(points[part, :3])
            for column, mask in enumerate(_kept(robot, rules, p)):
                if mask is not None:
                    kept[part, column] = mask
    return ~kept


def assembly_sign(robot: Robot) -> float:
    """Sign of det(u_1, u_2, u_3) where the platform hangs below the elbows.

    With n the normal of the elbows' triangle, det has the sign of s_1 . n, and n points up where
    the azimuths run anticlockwise.
    """
    a, b, c = robot.geometry.azimuth
    return -math.copysign(1.0, math.sin(b - a) + math.sin(c - b) + math.sin(a - c))


def _kept(
    robot: Robot, rules: WorkspaceRules, p: tuple[Component, ...]
) -> tuple[BoolArray | None, ...]:
    """One mask per rule, in the order of `RULES`; None where it bounds nothing."""
    three, modes = limbs(robot), elbow_signs(rules.elbows)
    pairs = [arm_direction(np, limb, p, mode) for limb, mode in zip(three, modes, strict=True)]
    first, second, third = (strut(limb, c, s, p) for limb, (c, s) in zip(three, pairs, strict=True))
    rods = (first, second, third)
    loop: BoolArray = np.isfinite(pairs[0][0] + pairs[1][0] + pairs[2][0])
    angles = ball_joints = stroke = singularity = None
    low, high = robot.limits.angle_min, robot.limits.angle_max
    if rules.angles and (low is not None or high is not None):
        theta = [np.arctan2(s, c) for c, s in pairs]
        angles = loop.copy()
        for i in range(3):
            angles &= theta[i] >= (-np.inf if low is None else low[i])
            angles &= theta[i] <= (np.inf if high is None else high[i])
    limit = robot.limits.ball_joint_angle
    if rules.ball_joints and limit is not None and limit < math.pi / 2:
        ball_joints = loop.copy()
        for limb, rod in zip(three, rods, strict=True):
            ball_joints &= np.abs(rod.tangential) <= limb.l2 * math.sin(limit)
    if rules.stroke and robot.spindle is not None and robot.spindle.stroke is not None:
        l = telescope(np, robot.spindle.pivot_z, p).l
        shortest, longest = robot.spindle.stroke
        stroke = (l >= shortest) & (l <= longest)
    if rules.singularity is not None:
        least = math.sin(rules.singularity)
        determinant, squares = strut_planes(unit_struts(three, rods))
        own = determinant * assembly_sign(robot)
        widest = np.maximum(np.maximum(squares[0], squares[1]), squares[2])
        singularity = (own > 0) & (own * own >= least * least * widest)
        for limb, rod in zip(three, rods, strict=True):
            singularity &= np.abs(rod.d) >= least * limb.l1 * limb.l2
    return loop, angles, ball_joints, stroke, singularity
