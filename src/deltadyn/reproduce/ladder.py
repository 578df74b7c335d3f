"""The ladder of models: how far each rung is from the exact model, in N m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.dynamics.models import models_for
from deltadyn.kinematics import State, psi_range, working_cylinder
from deltadyn.motion import Motion, gate_move
from deltadyn.robot import Robot

SPEED = 3.0  # m/s, the largest of the random states
ACCELERATION = 60.0  # m/s^2
SPIN = 20.0  # rad/s, the largest rate of psi
SPIN_ACCELERATION = 200.0  # rad/s^2
NARROW = 1.6  # radii of the workspace: the widest move


@dataclass(frozen=True)
class Rung:
    """A model's error against the exact one: per axis and over the limbs (N m; N on rails)."""

    model: str
    source: str
    rms: tuple[float, ...]
    peak: tuple[float, ...]
    rms_arms: float
    peak_arms: float


@dataclass(frozen=True)
class Ladder:
    """Every model on one motion of one robot, with the RMS torque beside it (N m)."""

    robot: str
    motion: str
    samples: int
    torque_rms: tuple[float, ...]
    torque_rms_arms: float
    rungs: tuple[Rung, ...]
    unit: str = "N m"  # of the limbs' axes

    def __str__(self) -> str:
        torque = " ".join(f"{value:8.3f}" for value in (self.torque_rms_arms, *self.torque_rms))
        names = " ".join(f"axis {axis + 1:>3}" for axis in range(len(self.torque_rms)))
        lines = [
            f"{self.robot}, {self.motion}: {self.samples} samples; RMS error against exact in "
            f"{self.unit}",
            f"{'model':16} {'peak':>8} {'arms':>8} {names}",
            f"{'(RMS torque)':16} {'':8} {torque}",
        ]
        for rung in self.rungs:
            values = " ".join(f"{value:8.3f}" for value in (rung.rms_arms, *rung.rms))
            lines.append(f"{rung.model:16} {rung.peak_arms:8.3f} {values}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        told = {
            "robot": self.robot,
            "motion": self.motion,
            "samples": self.samples,
            "torque_rms_Nm": list(self.torque_rms),
            "torque_rms_arms_Nm": self.torque_rms_arms,
            "rungs": [
                {
                    "model": rung.model,
                    "source": rung.source,
                    "rms_Nm": list(rung.rms),
                    "peak_Nm": list(rung.peak),
                    "rms_arms_Nm": rung.rms_arms,
                    "peak_arms_Nm": rung.peak_arms,
                }
                for rung in self.rungs
            ],
        }
        return told if self.unit == "N m" else _in_newton(told)


def _in_newton(told: Any) -> Any:
    """The same with keys of forces: "rms_N"."""
    if isinstance(told, dict):
        return {key.replace("_Nm", "_N"): _in_newton(value) for key, value in told.items()}
    return [_in_newton(item) for item in told] if isinstance(told, list) else told


def ladder(robot: Robot, motion: State, *, name: str = "given motion") -> Ladder:
    """The error of every model that applies against the exact one, without friction.

    Friction is the same in all models and is left out. RMS over "arms" is over the squares of
    arms together; the spindle's axis is one of them.
    """
    exact = np.atleast_2d(inverse_dynamics(robot, motion, "exact", friction=False))
    rungs = []
    for model, answers in models_for(robot).items():
        torque = np.atleast_2d(inverse_dynamics(robot, motion, model, friction=False))
        error = torque - exact
        peak = np.abs(error).max(axis=0)
        rungs.append(
            Rung(
                model,
                answers.source,
                tuple(rms(error).tolist()),
                tuple(peak.tolist()),
                float(np.sqrt(np.mean(error[:, : robot.legs] ** 2))),
                float(peak[: robot.legs].max()),
            )
        )
    overall = float(np.sqrt(np.mean(exact[:, : robot.legs] ** 2)))
    own, unit = tuple(rms(exact).tolist()), robot.axis_units("tau")[0]
    return Ladder(robot.name, name, len(exact), own, overall, tuple(rungs), unit)


def rms(values: FloatArray) -> FloatArray:
    """Root mean square over the samples, per axis."""
    out: FloatArray = np.sqrt(np.mean(values**2, axis=0))
    return out


def pick_and_place(robot: Robot, *, width: float = 0.3, duration: float = 0.3) -> Motion:
    """A gate-shaped move across the middle of the robot's workspace, 0.05 m up and down.

    It runs from (-width/2, 0.05) to (width/2, -0.05) m at two thirds of the cylinder's depth, so
    that no arm moves like another; psi turns by a quarter. In a narrow workspace it is smaller.
    """
    workspace = working_cylinder(robot)
    share = min(1.0, NARROW * workspace.radius / width)
    half, side = share * width / 2, 0.05 * share
    z = workspace.z_max + (workspace.z_min - workspace.z_max) * 2 / 3
    start = {"x": -half, "y": side, "z": z, "psi": 0.0}
    end = {"x": half, "y": -side, "z": z, "psi": np.pi / 2}
    ends = ([place[name] for name in robot.coordinates] for place in (start, end))
    return gate_move(robot, *ends, lift=side, duration=duration)


def random_states(
    robot: Robot,
    count: int = 5000,
    *,
    seed: int = 1,
    speed: float = SPEED,
    acceleration: float = ACCELERATION,
) -> State:
    """Seeded random states: the platform point uniform in the workspace cylinder, its velocity
    and acceleration uniform in balls of radius `speed` (m/s) and `acceleration` (m/s^2).

    On a robot with a spindle psi is uniform over a turn, its rate and acceleration are uniform up
    to 20 rad/s and 200 rad/s^2. Where limbs turn the tool psi has their range in the cylinder.
    """
    workspace = working_cylinder(robot)
    rng = np.random.default_rng(seed)
    radius = workspace.radius * np.sqrt(rng.random(count))
    azimuth = rng.uniform(0, 2 * np.pi, count)
    z = rng.uniform(workspace.z_min, workspace.z_max, count)
    p = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=-1)
    pd, pdd = (in_ball(rng, count, limit) for limit in (speed, acceleration))
    if robot.planar:
        p[:, 0] = workspace.radius * rng.uniform(-1, 1, count)
        p, pd, pdd = (part[:, [0, 2]] for part in (p, pd, pdd))
    if robot.turns:
        most = np.pi if robot.spindle is not None else 0.9 * np.abs(psi_range(robot)).min()
        turns = (float(min(most, np.pi)), SPIN, SPIN_ACCELERATION)
        fourth = (rng.uniform(-limit, limit, (count, 1)) for limit in turns)
        p, pd, pdd = (np.hstack(pair) for pair in zip((p, pd, pdd), fourth, strict=True))
    return State.from_platform(robot, p, pd, pdd)


def in_ball(rng: np.random.Generator, count: int, radius: float) -> FloatArray:
    """Random points (count, 3), uniform in a ball about the origin."""
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return radius * np.cbrt(rng.random((count, 1))) * direction
