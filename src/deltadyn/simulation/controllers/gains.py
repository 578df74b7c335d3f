"""Gains that a sampled drive bears: the closed loop from tick to tick, and how far it is from
swinging on its own.

About a pose at rest the machine is linear. With the motors' angles q of a mechanism M (its rotors J
behind springs k and dampers d where gears are elastic), the drive of `Drive` does at every tick

    seen <- seen + a ((q - q_before) rate - seen),    u = -(K q + D seen),    `delay` ticks later

and the torque goes to u by a ramp or a step, so that the state x = (angles and rates of the
machine, q_before, seen, torque in force, commands on their way) follows x <- A(K, D) x, exactly.
The largest |eigenvalue| of A, its spectral radius, is what an error grows by in a tick: above 1 the
loop swings, at the frequency of that eigenvalue. Dry friction is left out. It may hold a loop still
that swings as soon as the robot moves; in motion it damps nothing.

What limits the gains, for one axis with D alone, torque acting T seconds late (half a tick of the
difference, one of the ramp, `delay` ticks, 1/(2 pi f) of the velocity filter):

    rigid     D / (M + J) below pi / (2 T): the lag at the crossover D / (M + J) is 90 degrees
    elastic   D cos(w T) M / (J (M + J)) > -2 zeta w: at its own frequency w the gear swings with
              the damping zeta; there a late torque may drive it instead of braking it
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import equations_of_motion
from deltadyn.errors import InputError, OscillationWarning
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.simulation.drive.drivetrain import Gears, bearing
from deltadyn.simulation.plant.machine import Machine, build_machine, home_angles
from deltadyn.simulation.presets import Preset, preset_by_name, setting

MARGIN = 1.4  # by which default gains may grow before the loop swings
ROUNDING = 1e-6  # of a loop without a spring, whose largest eigenvalue is 1
LOWEST, HIGHEST = 1e-4, 1e4  # factors on gains between which a limit is looked for
STEPS = 14  # of a bisection: the limit within a thousandth
MOTION_POSES = 5  # of a motion, at which its loop is looked at
#: Places on the axis and on the rim, by the number of limbs: x, in space x and y, of its radius.
RIMS: dict[int, list[list[float]]] = {
    2: [[0.0], [1.0], [-1.0]],
    3: [[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]],
    4: [
        [0.0, 0.0], [1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)], [0.0, 1.0],
        [-math.sqrt(0.5), math.sqrt(0.5)],
    ],
}  # fmt: skip


class Swing(NamedTuple):
    """The eigenvalue that matters: what an error grows by in a tick, how fast it swings, where."""

    radius: float
    frequency: float  # Hz
    pose: int


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """A machine at rest at P poses under a drive; n coordinates, of which `dof` are driven.

    `free` (P, 2 n, 2 n), `held` and `ramp` (P, 2 n, dof) carry the machine over a tick: from its
    state, from the torque at the begin, and from what the torque rises by within the tick.
    """

    free: FloatArray
    held: FloatArray
    ramp: FloatArray
    seen: FloatArray  # (dof, 2 n): what the encoders see of the state
    rate: float  # Hz
    smoothing: float  # share of a new difference in the drive's rate, 1 without filter
    delay: int  # ticks
    ramps: bool

    @classmethod
    def of(cls, machine: Machine, q: FloatArray, rate: float, axes: slice) -> SampledLoop:
        """The loop of some axes of a machine at the arms' angles q (P, dof); others hold still."""
        from scipy.linalg import expm  # takes longer than the rest of the import

        robot, preset, gears = machine.robot, machine.preset, Gears.of(machine)
        m = len(gears.stiffness) if axes.start == 0 else 0
        borne = bearing(robot, len(gears.stiffness))
        M = equations_of_motion(borne, State.from_joints(borne, q)).M[:, axes, axes]
        poses, dof = M.shape[:2]
        n = dof + m
        driven = [*range(dof, n), *range(m, dof)]  # motors behind gears come last
        inertia, spring, damper = np.zeros((poses, n, n)), np.zeros((n, n)), np.zeros((n, n))
        inertia[:, :dof, :dof] = M
        damper[driven, driven] = np.asarray(robot.friction.viscous)[axes]
        for i in range(m):
            inertia[:, dof + i, dof + i] = robot.drives.output_inertia[i]
            pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
            spring[np.ix_([i, dof + i], [i, dof + i])] += gears.stiffness[i] * pair
            damper[np.ix_([i, dof + i], [i, dof + i])] += gears.damping[i] * pair
        over = np.linalg.inv(inertia)
        given = np.zeros((n, dof))
        given[driven, range(dof)] = 1 / np.asarray(robot.sensors.torque_ratio)[axes]
        # d/dt (z, zd, u, rise) with u' = rise / T and T times everything: expm gives all integrals
        rates = np.zeros((poses, 2 * n + 2 * dof, 2 * n + 2 * dof))
        rates[:, :n, n : 2 * n] = np.eye(n) / rate
        rates[:, n : 2 * n, :n] = -over @ spring / rate
        rates[:, n : 2 * n, n : 2 * n] = -over @ damper / rate
        rates[:, n : 2 * n, 2 * n : 2 * n + dof] = over @ given / rate
        rates[:, 2 * n : 2 * n + dof, 2 * n + dof :] = np.eye(dof)
        over_tick = expm(rates)[:, : 2 * n]
        seen = np.zeros((dof, 2 * n))
        seen[range(dof), driven] = 1.0
        cutoff = preset.velocity_filter
        return cls(
            over_tick[..., : 2 * n],
            over_tick[..., 2 * n : 2 * n + dof],
            over_tick[..., 2 * n + dof :],
            seen,
            rate,
            1.0 if cutoff is None else float(-np.expm1(-2 * np.pi * cutoff / rate)),
            preset.delay,
            preset.hold == "linear",
        )

    def tick(self, stiffness: FloatArray, damping: FloatArray) -> FloatArray:
        """A(K, D) of every pose (P, N, N), of gains (dof, dof) or (P, dof, dof)."""
        poses, size, dof = self.held.shape
        sizes = [size, *[dof] * (3 + self.delay)]
        parts = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])
        x, before, rates, force, *waiting = [np.broadcast_to(p, (poses, *p.shape)) for p in parts]
        q = self.seen @ x
        rates = rates + self.smoothing * ((q - before) * self.rate - rates)
        wanted, *waiting = [*waiting, -(stiffness @ q) - damping @ rates]
        start = force if self.ramps else wanted
        moved = self.free @ x + self.held @ start + self.ramp @ (wanted - start)
        return np.concatenate([moved, q, rates, wanted, *waiting], axis=1)

    def swing(self, stiffness: FloatArray, damping: FloatArray) -> Swing:
        """The largest eigenvalue over the poses."""
        values = np.linalg.eigvals(self.tick(stiffness, damping))
        sizes = np.abs(values)
        pose, place = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        turn = abs(float(np.angle(values[pose, place])))
        return Swing(float(sizes[pose, place]), turn * self.rate / (2 * np.pi), int(pose))

    def margin(self, stiffness: FloatArray, damping: FloatArray, power: float) -> float:
        """The factor on D, and to that `power` on K, from which on the loop swings."""

        def calm(factor: float) -> bool:
            return self.swing(factor**power * stiffness, factor * damping).radius <= 1 + ROUNDING

        low, high = LOWEST, HIGHEST
        for factor in (1.0, 4.0, 0.25):  # near 1, where most are
            if low < factor < high:
                low, high = (factor, high) if calm(factor) else (low, factor)
        for _ in range(STEPS):
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if calm(middle) else (low, middle)
        return low


def believed_machine(robot: Robot, preset: Preset) -> Machine:
    """The machine as a controller's robot has it; where it names no rotors or gears, the preset.

    A log hardly tells how a gear is damped: identified robots have anything from 0 to twice the
    truth. So the preset's damping ratio counts, or down to half of it where the robot says less.
    """
    even = (1.0, 1.0, 1.0)
    alike = preset.with_switches(friction_scale=even, arm_scale=even, strut_scale=even)
    machine = build_machine(robot, alike)
    if robot.drives.stiffness is None or machine.damping is None:
        return machine
    plain = robot.replace(drives=replace(robot.drives, damping=None))
    usual = np.asarray(build_machine(plain, alike).damping)
    return replace(machine, damping=np.clip(machine.damping, 0.5 * usual, usual))


def workspace_poses(robot: Robot) -> FloatArray:
    """Angles (P, dof) in the middle of the workspace, and on its axis and its rim, low and high.

    The rim of three limbs is looked at in front of an arm and between two: every 120 degrees all
    looks alike. Where four limbs hold two halves only half a turn does.
    """
    home, cylinder = home_angles(robot)[None], robot.limits.workspace
    if cylinder is None:
        return home
    rim = cylinder.radius * np.array(RIMS[robot.legs])
    p = np.zeros((2 * len(rim), robot.dof))
    p[:, : rim.shape[1]] = np.tile(rim, (2, 1))
    height = robot.coordinates.index("z")
    p[:, height] = np.repeat([cylinder.z_min, cylinder.z_max], len(rim))
    q = inverse_kinematics(robot, p, unreachable="nan")
    found: FloatArray = np.concatenate([home, q[np.isfinite(q).all(axis=1)]])
    return found


def groups(robot: Robot) -> list[slice]:
    """The arms, and the spindle's drive: their loops hardly touch each other."""
    arms = slice(0, robot.legs)
    return [arms] if robot.spindle is None else [arms, slice(robot.legs, robot.dof)]


def calm_share(loop: SampledLoop, stiffness: FloatArray, damping: FloatArray) -> float:
    """The share s, 1 at most, with which the loop of s^2 K and s D keeps the gain margin.

    s and s^2 keep the damping ratio: the bandwidth is lowered, and nothing else.
    """
    K, D = MARGIN * stiffness, MARGIN * damping
    if loop.swing(K, D).radius <= 1 + ROUNDING:
        return 1.0
    return min(1.0, loop.margin(K, D, power=2.0))


# What a run says of its gains before it begins.


@runtime_checkable
class Feedback(Protocol):
    """A controller of which the loop can be looked at."""

    def for_drive(self, rate: float, preset: str | Preset = "ideal", **switches: Any) -> Any:
        """The same with the gains of a drive."""

    def feedback(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Torque per error of angle and rate, (dof, dof) or (P, dof, dof), at angles q (P, dof)."""


@dataclass(frozen=True)
class LoopCheck:
    """The loop of gains on a machine, the worst of some poses.

    `radius` is what an error grows by in a tick: above 1 the loop swings at `frequency` (Hz).
    `margin` is the factor on the bandwidth from which on it swings: of the damping, its square of
    the stiffness.
    """

    radius: float
    frequency: float
    margin: float
    rate: float  # Hz
    delay: int  # ticks

    @property
    def calm(self) -> bool:
        """Whether errors settle."""
        return self.radius <= 1 + ROUNDING

    def __str__(self) -> str:
        if self.calm:
            return f"the loop is calm, up to {self.margin:.2g} times the bandwidth"
        advice = "no share of them is calm"
        if self.margin > LOWEST:
            advice = f"{self.margin:.2g} times the bandwidth is calm"
        return (
            f"the loop swings at {self.frequency:.0f} Hz, an error grows by "
            f"{100 * (self.radius - 1):.2g} % in a tick (spectral radius {self.radius:.4f} at "
            f"{self.rate:g} Hz, {self.delay} ticks late); {advice}"
        )


def check_gains(
    robot: Robot,
    controller: object,
    rate: float = 2000.0,
    preset: str | Preset = "ideal",
    **switches: Any,
) -> LoopCheck:
    """Whether the loop of a controller is calm on a machine over its workspace.

    `robot`, `rate`, `preset` and `switches` are those of `simulate`.
    """
    if not isinstance(controller, Feedback):
        allowed = "a controller with for_drive and feedback, as PD and ComputedTorque have them"
        raise InputError("controller", type(controller).__name__, allowed)
    rate = setting("rate", rate, low=0.0, strict=True, unit="Hz")
    chosen = preset_by_name(preset).with_switches(**switches)
    machine, tuned = build_machine(robot, chosen), controller.for_drive(rate, chosen)
    return loop_check(machine, tuned, workspace_poses(robot), rate)


def loop_check(machine: Machine, controller: Feedback, q: FloatArray, rate: float) -> LoopCheck:
    """The loop at the angles q (P, dof)."""
    loop = SampledLoop.of(machine, q, rate, slice(0, machine.robot.dof))
    stiffness, damping = controller.feedback(q)
    swing = loop.swing(stiffness, damping)
    margin = loop.margin(stiffness, damping, power=2.0)
    return LoopCheck(swing.radius, swing.frequency, margin, rate, loop.delay)


def warn_of_gains(machine: Machine, controller: object, q: FloatArray, rate: float) -> None:
    """Warn where the loop at some of the angles q (N, dof) of a motion would swing."""
    if not isinstance(controller, Feedback):
        return
    poses = q[np.linspace(0, len(q) - 1, MOTION_POSES).astype(int)]
    loop = SampledLoop.of(machine, poses, rate, slice(0, machine.robot.dof))
    if loop.swing(*controller.feedback(poses)).radius <= 1 + ROUNDING:
        return
    found = loop_check(machine, controller, poses, rate)
    text = f"gains of {type(controller).__name__} on {machine.robot.name}: {found}"
    warnings.warn(text, OscillationWarning, stacklevel=3)
