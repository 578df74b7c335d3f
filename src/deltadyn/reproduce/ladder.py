"""The ladder of models: how far each rung is from the exact model, in N m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import MODELS, inverse_dynamics
from deltadyn.kinematics import State, working_cylinder
from deltadyn.motion import Motion, gate_move
from deltadyn.robot import Robot

SPEED = 3.0  # m/s, the largest of the random states
ACCELERATION = 60.0  # m/s^2
SPIN = 20.0  # rad/s, the largest rate of psi
SPIN_ACCELERATION = 200.0  # rad/s^2


@dataclass(frozen=True)
class Rung:
    """A model's error against the exact one: per axis and over the three arms (N m)."""

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

    def __str__(self) -> str:
        torque = " ".join(f"{value:8.3f}" for value in (self.torque_rms_arms, *self.torque_rms))
        names = " ".join(f"axis {axis + 1:>3}" for axis in range(len(self.torque_rms)))
        lines = [
            f"{self.robot}, {self.motion}: {self.samples} samples; RMS error against exact in N m",
            f"{'model':16} {'peak':>8} {'arms':>8} {names}",
            f"{'(RMS torque)':16} {'':8} {torque}",
        ]
        for rung in self.rungs:
            values = " ".join(f"{value:8.3f}" for value in (rung.rms_arms, *rung.rms))
            lines.append(f"{rung.model:16} {rung.peak_arms:8.3f} {values}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        return {
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


def ladder(robot: Robot, motion: State, *, name: str = "given motion") -> Ladder:
    """The error of every model in `dynamics.MODELS` against the exact one, without friction.

    Friction is the same in all models and is left out. RMS over "arms" is over the squares of
    arms together; the spindle's axis is one of them.
    """
    exact = np.atleast_2d(inverse_dynamics(robot, motion, "exact", friction=False))
    rungs = []
    for model, answers in MODELS.items():
        torque = np.atleast_2d(inverse_dynamics(robot, motion, model, friction=False))
        error = torque - exact
        peak = np.abs(error).max(axis=0)
        rungs.append(
            Rung(
                model,
                answers.source,
                tuple(rms(error).tolist()),
                tuple(peak.tolist()),
                float(np.sqrt(np.mean(error[:, :3] ** 2))),
                float(peak[:3].max()),
            )
        )
    overall = float(np.sqrt(np.mean(exact[:, :3] ** 2)))
    return Ladder(robot.name, name, len(exact), tuple(rms(exact).tolist()), overall, tuple(rungs))


def rms(values: FloatArray) -> FloatArray:
    """Root mean square over the samples, per axis."""
    out: FloatArray = np.sqrt(np.mean(values**2, axis=0))
    return out


def pick_and_place(robot: Robot, *, width: float = 0.3, duration: float = 0.3) -> Motion:
    """A gate-shaped move across the middle of the robot's workspace, 0.05 m up and down.

    It runs from (-width/2, 0.05) to (width/2, -0.05) m at two thirds of the cylinder's depth, so
    that no arm moves like another; psi turns by a quarter.
    """
    workspace = working_cylinder(robot)
    z = workspace.z_max + (workspace.z_min - workspace.z_max) * 2 / 3
    start, end = [-width / 2, 0.05, z, 0.0], [width / 2, -0.05, z, np.pi / 2]
    return gate_move(robot, start[: robot.dof], end[: robot.dof], lift=0.05, duration=duration)


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
    to 20 rad/s and 200 rad/s^2.
    """
    workspace = working_cylinder(robot)
    rng = np.random.default_rng(seed)
    radius = workspace.radius * np.sqrt(rng.random(count))
    azimuth = rng.uniform(0, 2 * np.pi, count)
    z = rng.uniform(workspace.z_min, workspace.z_max, count)
    p = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=-1)
    pd, pdd = (in_ball(rng, count, limit) for limit in (speed, acceleration))
    if robot.dof == 4:
        turns = (np.pi, SPIN, SPIN_ACCELERATION)
        fourth = (rng.uniform(-limit, limit, (count, 1)) for limit in turns)
        p, pd, pdd = (np.hstack(pair) for pair in zip((p, pd, pdd), fourth, strict=True))
    return State.from_platform(robot, p, pd, pdd)


def in_ball(rng: np.random.Generator, count: int, radius: float) -> FloatArray:
    """Random points (count, 3), uniform in a ball about the origin."""
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return radius * np.cbrt(rng.random((count, 1))) * direction
