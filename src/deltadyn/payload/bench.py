"""Pick-and-place runs on the virtual bench: cycles at random places with loads that come and go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion.motion import Motion
from deltadyn.motion.pick_place import gate_move
from deltadyn.robot import Robot

DWELL = 0.04  # s at each place; the gripper acts in the middle of it
REST = 0.1  # s before the first and after the last cycle
LOST = (0.35, 0.75)  # of the way: where loads are lost


@dataclass(frozen=True)
class TrueCycle:
    """What happened in a cycle: load (kg) from `pick` to `end` (s); lost or released there."""

    pick: float
    end: float
    mass: float
    per_minute: float
    lost: bool


@dataclass(frozen=True, eq=False)
class PickPlan:
    """A motion of many cycles, the payload events of `simulate`, and what they mean."""

    motion: Motion
    payload: tuple[tuple[float, float], ...]
    cycles: tuple[TrueCycle, ...]

    @property
    def empty(self) -> PickPlan:
        """The same cycles without a load."""
        cycles = tuple(replace(cycle, mass=0.0) for cycle in self.cycles)
        return PickPlan(self.motion, (), cycles)


def pick_plan(
    robot: Robot,
    cycles: int,
    *,
    seed: int = 0,
    per_minute: tuple[float, float] = (60.0, 120.0),
    masses: tuple[float, float] = (0.1, 4.0),
    lost: float = 0.0,
    rate: float = 2000.0,
) -> PickPlan:
    """Cycles between two belts at random places, paces and loads (kg, uniform in the logarithm).

    The share `lost` of the loads is lost on the way. Ways are 0.22 to 0.34 m on the D3-1200, lifts
    15 to 25 mm; the robot waits 40 ms at every place. All is within the limits of the D3-1200.
    """
    if isinstance(cycles, bool) or not isinstance(cycles, int) or cycles < 1:
        raise InputError("cycles", cycles, "a whole number, at least 1")
    if not 0 < masses[0] <= masses[1]:
        raise InputError("masses", masses, "two numbers above 0 kg, the smaller first")
    if not 0 < per_minute[0] <= per_minute[1] < 60 / (2 * DWELL):
        raise InputError("per_minute", per_minute, "two numbers above 0, the smaller first")
    build = _Builder(robot, rate, np.random.default_rng(seed))
    at = build.place(-1)
    build.hold(at, REST)
    done = []
    for _ in range(cycles):
        pace = build.rng.uniform(*per_minute)
        mass = float(np.exp(build.rng.uniform(*np.log(masses))))
        there, back, lift = build.place(1), build.place(-1), build.rng.uniform(0.015, 0.025)
        move = round((60 / pace - 2 * DWELL) / 2 * rate) / rate
        build.hold(at, DWELL / 2)
        pick = build.now
        build.hold(at, DWELL / 2)
        left = build.now
        build.move(at, there, lift, move)
        build.hold(there, DWELL / 2)
        end, falls = build.now, bool(build.rng.random() < lost)
        if falls:
            end = round((left + build.rng.uniform(*LOST) * move) * rate) / rate
        build.hold(there, DWELL / 2)
        build.move(there, back, lift, move)
        at = back
        done.append(TrueCycle(pick, end, mass, float(pace), falls))
    build.hold(at, REST)
    events = tuple(pair for c in done for pair in ((c.pick, c.mass), (c.end, 0.0)))
    return PickPlan(build.motion(), events, tuple(done))


class _Builder:
    """Collects samples of holds and moves."""

    def __init__(self, robot: Robot, rate: float, rng: np.random.Generator) -> None:
        self.robot, self.rate, self.rng = robot, rate, rng
        self.cylinder = working_cylinder(robot)
        self.parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.ticks = 0

    @property
    def now(self) -> float:
        return self.ticks / self.rate

    def place(self, side: int) -> FloatArray:
        """A place (dof,) on a belt: 0.18 to 0.26 of the radius aside, 0.12 along it."""
        radius, low = self.cylinder.radius, self.cylinder.z_min
        height = self.cylinder.z_max - low
        x, y = side * self.rng.uniform(0.18, 0.26), self.rng.uniform(-0.12, 0.12)
        z = low + height * self.rng.uniform(0.2, 0.6)
        if self.robot.planar:
            return np.array([radius * x, z])
        turned = [self.rng.uniform(-np.pi / 2, np.pi / 2)] if self.robot.turns else []
        return np.array([radius * x, radius * y, z, *turned])

    def hold(self, p: FloatArray, seconds: float) -> None:
        count = round(seconds * self.rate)
        still = np.zeros((count, len(p)))
        self._add(np.tile(p, (count, 1)), still, still)

    def move(self, a: FloatArray, b: FloatArray, lift: float, seconds: float) -> None:
        part = gate_move(
            self.robot, a, b, lift=lift, duration=seconds, overlap=1.0, rise=0.4, rate=self.rate
        )
        self._add(part.p[:-1], part.pd[:-1], part.pdd[:-1])

    def _add(self, *part: FloatArray) -> None:
        self.parts.append(part)  # type: ignore[arg-type]
        self.ticks += len(part[0])

    def motion(self) -> Motion:
        p, pd, pdd = (np.concatenate(rows) for rows in zip(*self.parts, strict=True))
        return Motion.from_platform(self.robot, np.arange(len(p)) / self.rate, p, pd, pdd)
