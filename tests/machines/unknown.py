"""Causes that no term names: what touches a machine from outside, and what spoils its log.

    unknown = UNKNOWN["cable"]
    run = machine.run_touched(4.0, unknown.touch(machine, path, t, 1.0, rng), path)
    log = unknown.spoil(run.recording, 1.0)

Forces are functions of the path that the machine is told to follow. Strength 1 is a usual machine:
about 3 % of the torque.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deltadyn import Recording

from .machines import Machine
from .motions import Path
from .plant import LIMBS, Array, Touch, arm_angles

Toucher = Callable[[Machine, Path, Array, float, np.random.Generator], Touch]
Spoiler = Callable[[Recording, float], Recording]


@dataclass(frozen=True)
class Unknown:
    """A cause that no term names; `unclear` are symbols of parameters without one true value."""

    touch: Toucher = lambda *_: Touch()
    spoil: Spoiler = lambda log, _: log
    unclear: tuple[str, ...] = ()


def _force_level(machine: Machine) -> float:
    """The force at the platform (N) that takes 3 % of the usual torque of an arm."""
    return 0.03 * float(machine.scale[:LIMBS].mean()) / float(np.mean(machine.bodies.arm[:]))


def _platform(path: Path, t: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (N, 3) of the platform along a path."""
    h = 1e-3
    before, now, after = (path(t + step)[:, :3] for step in (-h, 0.0, h))
    return now, (after - before) / (2 * h), (after - 2 * now + before) / h**2


def _axes(machine: Machine, path: Path, t: Array) -> tuple[Array, Array]:
    """Angles and rates (N, dof) of the axes along a path."""
    h = 5e-4

    def angles(at: Array) -> Array:
        p = path(at)
        return np.column_stack([arm_angles(machine.nominal, p), p[:, 3:]])

    return angles(t), (angles(t + h) - angles(t - h)) / (2 * h)


def _cable(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """A cable to the platform: springs that differ by direction, a constant pull, dry drag."""
    p, v, _ = _platform(path, t)
    level, reach = strength * _force_level(machine), machine.room.radius
    spring = level / reach * rng.uniform(0.3, 1.0, 3)
    away = p - machine.room.middle - reach * rng.uniform(-0.5, 0.5, 3)
    drag = 0.3 * level * v / np.sqrt((v**2).sum(axis=1, keepdims=True) + 1e-3)
    return Touch(force=-spring * away - drag)


def _hose(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """A hose from a point above the side, slack when near and stiffer the more it is drawn."""
    p, _, _ = _platform(path, t)
    reach, angle = machine.room.radius, rng.uniform(0, 2 * np.pi)
    anchor = machine.room.middle + reach * np.array([np.cos(angle), np.sin(angle), 1.5])
    line = anchor - p
    length = np.linalg.norm(line, axis=1, keepdims=True)
    drawn = np.maximum(length / reach - 1.5, 0.0)
    return Touch(force=2 * strength * _force_level(machine) * (drawn + drawn**3) * line / length)


def _drag(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """The air, which grows with the square of the speed."""
    _, v, _ = _platform(path, t)
    speed = np.linalg.norm(v, axis=1, keepdims=True)
    return Touch(force=-2 * strength * _force_level(machine) * speed * v / machine.room.speed**2)


def _swing(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """A tool that swings in x and y below the platform, little damped."""
    _, _, a = _platform(path, t)
    mass = 0.05 * strength * machine.bodies.platform_mass
    w, damped, h = 2 * np.pi * rng.uniform(3.0, 7.0), 0.05, float(t[1] - t[0])
    force, y, yd = np.zeros_like(a), np.zeros(2), np.zeros(2)
    for k, pushed in enumerate(a[:, :2]):
        pull = w**2 * y + 2 * damped * w * yd
        force[k, :2] = mass * pull
        yd = yd - h * (pull + pushed)
        y = y + h * yd
    return Touch(force=force)


def _cold(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """Friction that jumps in the middle of a log, as when a cover is opened."""
    _, qd = _axes(machine, path, t)
    late = (t > t[0] + rng.uniform(0.3, 0.7) * (t[-1] - t[0]))[:, None]
    viscous = np.array([drive.viscous for drive in machine.drives])
    coulomb = np.array([drive.coulomb for drive in machine.drives])
    return Touch(pull=-0.2 * strength * late * (viscous * qd + coulomb * np.sign(qd)))


def _presliding(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """Friction that builds up over an angle after each reversal and rounds off (Bouc and Wen)."""
    q, _ = _axes(machine, path, t)
    width = rng.uniform(0.02, 0.08)
    z, out = np.zeros(q.shape[1]), np.zeros_like(q)
    for k, step in enumerate(np.diff(q, axis=0), start=1):
        z = np.clip(z + step / width - 0.5 * np.abs(step) / width * z * (np.abs(z) + 1), -1.0, 1.0)
        out[k] = z
    return Touch(pull=-0.03 * strength * machine.scale * out)


def _balancer(
    machine: Machine, path: Path, t: Array, strength: float, rng: np.random.Generator
) -> Touch:
    """Springs that balance the arms, on cranks: two waves a turn, each of its own size."""
    q, _ = _axes(machine, path, t)
    size = 0.04 * strength * machine.scale * rng.uniform(0.5, 1.5, q.shape[1])
    size[LIMBS:] = 0.0
    return Touch(pull=-size * np.sin(2 * q + rng.uniform(0, 2 * np.pi, q.shape[1])))


def _clock(log: Recording, strength: float) -> Recording:
    """The angle of the first axis is logged by a clock that runs 0.1 % fast."""
    q = log.q.copy()
    q[:, 0] = np.interp(log.t[0] + (log.t - log.t[0]) * (1 - 1e-3 * strength), log.t, log.q[:, 0])
    return log.replace(q=q)


def _saturating(log: Recording, strength: float) -> Recording:
    """Motors whose torque per ampere falls at high currents: the drive reports too much there."""
    peak = np.abs(log.tau).max(axis=0)
    return log.replace(tau=log.tau * (1 + 0.06 * strength * (log.tau / peak) ** 2))


def _heating(log: Recording, strength: float) -> Recording:
    """Magnets that warm up: the torque that is reported grows in the log."""
    share = (log.t - log.t[0]) / (log.t[-1] - log.t[0]) - 0.5
    return log.replace(tau=log.tau * (1 + 0.04 * strength * share)[:, None])


#: By name.
UNKNOWN = {
    "cable": Unknown(_cable),
    "hose": Unknown(_hose),
    "drag": Unknown(_drag),
    "swing": Unknown(_swing),
    "cold": Unknown(_cold, unclear=("Fv", "Fc")),
    "presliding": Unknown(_presliding, unclear=("Fc",)),
    "balancer": Unknown(_balancer),
    "clock": Unknown(spoil=_clock),
    "saturating": Unknown(spoil=_saturating),
    "heating": Unknown(spoil=_heating),
}
