"""Before the search: region, reference motions, weights, what can be identified, what may bind."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.excitation.columns import pose_of
from deltadyn.excitation.constraints import Rules, strut_forces
from deltadyn.excitation.parameters import (
    Chosen,
    UnidentifiableError,
    choose_parameters,
    identifiability,
    unidentifiable_text,
)
from deltadyn.excitation.prediction import Noise
from deltadyn.excitation.problem import Problem, Setting, smoothed
from deltadyn.excitation.request import Request
from deltadyn.excitation.search import random_motion
from deltadyn.kinematics.workspace import workspace
from deltadyn.kinematics.workspace_rules import WorkspaceRules
from deltadyn.robot import Robot

NOISE_SHARE = 0.005  # of the peak torque: residuals of a good model, where the caller says nothing
LEAST_SHARE = 0.01  # of the peak torque: what contributes less needs no relative precision
STRUTS_MATTER = 0.5  # of the strut force: below, the search leaves it to the final check
SAMPLES = 80  # of a reference motion
MOTIONS = 4  # reference motions per number of periods
LADDER = 7  # numbers of periods to try
SPAN = 20.0  # ratio of the most periods to the fewest


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the search and the result need besides the request."""

    setting: Setting
    chosen: Chosen
    noise: Noise
    weights: FloatArray
    ladder: tuple[int, ...]
    unidentifiable: str


def prepared(request: Request) -> Prepared:
    """Reference motions within the limits, and what follows from them."""
    chosen = choose_parameters(request.robot, request.model, request.equal, request.friction)
    ladder = period_ladder(request)
    setting = _first_setting(request, chosen)
    spread = sorted({ladder[0], ladder[len(ladder) // 2], ladder[-1]})
    Y, peaks, forces = _reference(setting, spread)  # Y (N, dof, m)
    peak = _torque_scale(request.robot, peaks)
    given = request.per_axis("noise_std")
    std = NOISE_SHARE * peak if given is None else given
    weights = request.per_axis("weights")
    weights = 1 / std if weights is None else weights
    chosen, text = _identifiable(request, chosen, Y, weights)
    share = Y[:, :, chosen.index] / peak[:, None]
    size = np.sqrt((share**2).sum(axis=1).mean(axis=0))  # (n,), torque share per unit
    limit = request.robot.limits.strut_force
    struts = limit is not None and forces > STRUTS_MATTER * request.share * limit
    setting = replace(
        setting,
        chosen=chosen.index,
        scale=np.maximum(np.abs(chosen.values), LEAST_SHARE / size),
        weights=weights,
        rules=replace(setting.rules, struts=struts),
    )
    noise = Noise(std, float(request.noise_correlation), float(request.rate))
    return Prepared(setting, chosen, noise, weights, ladder, text)


def period_ladder(request: Request) -> tuple[int, ...]:
    """Numbers of periods for the first round: the one asked for, or a geometric row."""
    if request.periods is not None:
        return (request.periods,)
    most = request.most_periods
    row = np.geomspace(max(most / SPAN, 1.0), most, LADDER)
    return tuple(sorted({round(value) for value in row}))


def region(robot: Robot, margin: float) -> tuple[FloatArray, FloatArray]:
    """Centre and half widths (dof,) of where the platform may be, for scales and starts.

    The robot's cylinder, or the largest one that its geometry has; psi within its limits, or one
    turn to both sides.
    """
    cylinder = robot.limits.workspace
    if cylinder is None:
        rules = WorkspaceRules(singularity=margin)
        cylinder = workspace(robot, rules=rules, heights=61, azimuths=72).largest_cylinder()
    if cylinder is None:
        raise InputError("robot", robot.name, "a robot whose workspace is not empty")
    low, high = cylinder.z_min, cylinder.z_max
    centre = [0.0, 0.0, (low + high) / 2]
    half = [cylinder.radius, cylinder.radius, (high - low) / 2]
    if robot.dof == 4:
        ends = robot.limits.angle_min, robot.limits.angle_max
        turn = 2 * np.pi
        a = -turn if ends[0] is None else ends[0][3]
        b = turn if ends[1] is None else ends[1][3]
        if a >= b:  # one end is given, and far off
            a, b = (b - 2 * turn, b) if ends[0] is None else (a, a + 2 * turn)
        centre.append((a + b) / 2)
        half.append((b - a) / 2)
    return np.array(centre), np.array(half)


def _first_setting(request: Request, chosen: Chosen) -> Setting:
    """A setting that can tell feasible motions; weights and scales follow from these."""
    centre, half = region(request.robot, request.singularity_margin)
    return Setting(
        robot=smoothed(request.robot),
        model=request.model,
        tied=request.equal,
        duration=float(request.duration),
        harmonics=int(request.harmonics),
        values=chosen.all_values,
        chosen=chosen.index,
        scale=np.ones(len(chosen.names)),
        weights=np.ones(request.robot.dof),
        criterion=request.criterion,
        velocity_weight=float(request.velocity_weight),
        rules=Rules(float(request.share), float(request.singularity_margin), struts=False),
        centre=centre,
        half=half,
        still=request.still_axes,
    )


def _reference(setting: Setting, periods: list[int]) -> tuple[FloatArray, FloatArray, float]:
    """Y (N, dof, m) of random motions, their peak torques (dof,) and largest strut force (N).

    They do not depend on the seed, so neither do weights and predicted deviations.
    """
    blocks, peaks, forces = [], [], []
    for count in periods:
        problem = Problem(setting, count, SAMPLES, 1.0)
        rng = np.random.default_rng(count)
        for _ in range(MOTIONS):
            x = random_motion(problem, rng)
            pose = pose_of(setting.robot, problem.motion(x)[:, None])
            Y = problem.regressor(pose)[:, :, 0]  # (m, dof, N)
            blocks.append(Y.transpose(2, 1, 0))
            peaks.append(np.abs(np.tensordot(setting.values, Y, axes=1)).max(axis=1))
            forces.append(float(np.real(strut_forces(setting.robot, pose)).max()))
    return np.concatenate(blocks), np.max(peaks, axis=0), max(forces)


def _torque_scale(robot: Robot, peaks: FloatArray) -> FloatArray:
    """Peak torques (dof,) in N m: the robot's limits, or those of the reference motions."""
    limit = robot.limits.torque_peak
    if limit is not None:
        return np.asarray(limit, dtype=np.float64)
    return np.where(peaks > 0, peaks, 1.0)  # an axis without any torque


def _identifiable(
    request: Request, chosen: Chosen, Y: FloatArray, weights: FloatArray
) -> tuple[Chosen, str]:
    """The parameters that can be identified, and a sentence on the others."""
    stacked = (Y[:, :, chosen.index] * weights[:, None]).reshape(-1, len(chosen.names))
    found = identifiability(chosen.names, stacked)
    if found.complete:
        return chosen, ""
    if request.unidentifiable == "raise":
        raise UnidentifiableError(found.no_influence, found.dependent)
    return chosen.kept(found.keep), unidentifiable_text(found.no_influence, found.dependent)
