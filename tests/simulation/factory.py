"""Motions, controllers and fits that the tests of the bench share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.motion import Motion, gate_move
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction
from deltadyn.simulation import Law, Run, Task

RATE = 2000.0
CUTOFF = 60.0  # Hz, of the zero-phase filter: far above the motion, below most of the noise
EDGE = 100  # samples at each end where that filter has not settled


def excitation(
    robot: Robot, duration: float, *, acceleration: float = 40.0, rate: float = RATE, seed: int = 1
) -> Motion:
    """Five random harmonics of 2 s within the workspace, scaled to this acceleration (m/s^2)."""
    rng, cylinder = np.random.default_rng(seed), robot.limits.workspace
    assert cylinder is not None
    omega = np.pi * np.arange(1, 6)
    a, b = rng.normal(size=(2, 4, 5))[:, : robot.dof]

    def course(t: FloatArray) -> list[FloatArray]:
        S, C = np.sin(np.outer(t, omega)), np.cos(np.outer(t, omega))
        x = S @ (a / omega).T - C @ (b / omega).T
        return [x, C @ a.T + S @ b.T, C @ (b * omega).T - S @ (a * omega).T]

    x, _, xdd = course(np.linspace(0.0, 2.0, 401))
    height = cylinder.z_max - cylinder.z_min
    across = 0.55 * cylinder.radius
    room = {"x": across, "y": across, "z": 0.45 * height, "psi": 1.5}
    scale = np.array([room[name] for name in robot.coordinates]) / np.abs(x).max(axis=0)
    scale[:3] *= min(1.0, acceleration / np.linalg.norm((scale * xdd)[:, :3], axis=1).max())
    t = np.arange(round(duration * rate) + 1) / rate
    p, pd, pdd = (scale * part for part in course(t))
    p[:, robot.coordinates.index("z")] += (cylinder.z_min + cylinder.z_max) / 2
    return Motion.from_platform(robot, t, p, pd, pdd)


def strokes(robot: Robot, duration: float = 0.36) -> list[Motion]:
    """Fast pick-and-place moves across half of the workspace, out and back, in three directions.

    On the D3-1200 they reach its 60 m/s^2.
    """
    cylinder = robot.limits.workspace
    assert cylinder is not None
    height, reach = cylinder.z_max - cylinder.z_min, 0.5 * cylinder.radius
    moves = []
    for angle in np.deg2rad([0.0, 60.0, 120.0]):
        start = np.zeros(robot.dof)
        start[:3] = reach * np.cos(angle), reach * np.sin(angle), cylinder.z_min + 0.4 * height
        end = start * np.array([-1.0, -1.0, 1.0, 1.0])[: robot.dof]
        ways = [
            gate_move(robot, *ends, lift=0.25 * height, duration=duration)
            for ends in ((start, end), (end, start))
        ]
        t = np.concatenate([ways[0].t[:-1], ways[1].t + duration])
        p, pd, pdd = (
            np.concatenate([getattr(ways[0], name)[:-1], getattr(ways[1], name)])
            for name in ("p", "pd", "pdd")
        )
        moves.append(Motion.from_platform(robot, t, p, pd, pdd))
    return moves


def standing(robot: Robot, duration: float, angle: float = 0.3) -> Motion:
    """Arms at one angle, at rest."""
    q = np.zeros((2, robot.dof))
    q[:, :3] = angle
    zero = np.zeros_like(q)
    return Motion.from_joints(robot, [0.0, duration], q, zero, zero)


@dataclass(frozen=True)
class Constant:
    """A controller that gives one torque (dof,), whatever happens."""

    torque: tuple[float, ...]

    def prepare(self, task: Task) -> Law:
        return lambda k, q, qd: self.torque


def as_seen(robot: Robot, run: Run) -> tuple[Motion, FloatArray]:
    """What an engineer has: filtered angles, their derivatives, and the torque, of one log.

    Missing rows are interpolated; both ends are cut.
    """
    log, t = run.recording, run.truth.t
    q, tau = (
        np.stack([np.interp(t, log.t, column) for column in channel.T], axis=-1)
        for channel in (log.q, log.tau)
    )
    smooth = sosfiltfilt(butter(4, CUTOFF, fs=RATE, output="sos"), q, axis=0)
    qd = np.gradient(smooth, 1 / RATE, axis=0)
    qdd = np.gradient(qd, 1 / RATE, axis=0)
    inner = slice(EDGE, -EDGE)
    return Motion.from_joints(robot, t[inner], smooth[inner], qd[inner], qdd[inner]), tau[inner]


def as_was(robot: Robot, run: Run) -> tuple[Motion, FloatArray]:
    """The true motion of the arms and the logged torque of a log without gaps."""
    truth = run.truth
    return Motion.from_joints(robot, truth.t, truth.q, truth.qd, truth.qdd), run.recording.tau


def fit(robot: Robot, motion: Motion, tau: FloatArray, *, tied: bool) -> tuple[FloatArray, Robot]:
    """Residual (N, dof) of the least-squares fit of the exact model, and the robot it was made on.

    Base parameters and viscous, Coulomb, Stribeck and constant friction of every axis.
    """
    friction = Friction(smoothing=0.02, offset=0.0, stribeck=0.0, stribeck_velocity=0.3)
    rich = robot.replace(friction=friction.checked(robot.dof))
    Y = dd.regressor(rich, motion, tied=tied).stacked()
    size = np.linalg.norm(Y, axis=0)
    Y = Y[:, size > 0] / size[size > 0]
    best = np.linalg.lstsq(Y, tau.reshape(-1), rcond=1e-12)[0]
    residual: FloatArray = (tau.reshape(-1) - Y @ best).reshape(tau.shape)
    return residual, rich


def rms(x: FloatArray) -> FloatArray:
    """Root mean square per axis."""
    value: FloatArray = np.sqrt(np.mean(x**2, axis=0))
    return value
