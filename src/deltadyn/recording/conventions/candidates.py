"""Candidates: how logged angles and torques may stand for those of the robot.

    q_i = s_i f x_j + b_i,    tau_i = s_i v_i y_k

with the axes j and k of the log that hold the angle and the torque of arm i, the direction
s = 1 or -1, the factor f of unit and gear, the offset b, and v = -1 where the torque counts against
its own angle. y is known up to one factor, the torque's unit. On rails q is a place in m and tau a
force in N; where a number is meant for arms, `robot.radian` stands for a rad.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.struts import TRAVEL
from deltadyn.recording.conventions.samples import Samples
from deltadyn.robot import Robot

DEGREE = math.pi / 180
SLACK = math.radians(4.0)  # beyond the limits of the joints that a candidate may reach
WIDEST = (math.radians(-80.0), math.radians(120.0))  # where the robot has no limits
RIDGE = 1e-4  # of a scaled column's square, for logs in which axes move alike
ROWS = 600  # samples of the regression


class Reading(NamedTuple):
    """What a logged angle is: unit, side of the gear, and the factor to rad (m) at the output.

    The log's angles are taken as radians at the output, so 57.3 stands for radians that were
    converted from degrees by mistake. `words` say so. `doubt` multiplies its cost: a unit that the
    file's header states otherwise has to fit better. `gear` is the power of the gear ratio in the
    factor: an axis with another gear than the arms has another factor.
    """

    unit: str
    side: str
    factor: float
    words: str = "radians"
    doubt: float = 1.0
    gear: int = 0


@dataclass(frozen=True)
class Candidate:
    """One convention; `order` and `torque_order` give the log's axis (from 0) of each arm."""

    reading: Reading
    sign: tuple[int, ...] = (1, 1, 1)
    torque_order: tuple[int, ...] = (0, 1, 2)
    torque_turn: tuple[int, ...] = (1, 1, 1)  # v above
    offset: tuple[float, ...] = (0.0, 0.0, 0.0)  # b in rad (m)

    @property
    def discrete(self) -> tuple[object, ...]:
        """All but the offsets."""
        return self.reading.factor, self.sign, self.torque_order, self.torque_turn

    def shifted(self, offset: FloatArray) -> Candidate:
        """The same with other offsets (legs,)."""
        return replace(self, offset=tuple(float(value) for value in offset))


AS_LOGGED = Candidate(Reading("rad", "output", 1.0))


def as_logged(robot: Robot) -> Candidate:
    """The log as it stands, of a robot with any limbs."""
    n, reading = robot.legs, AS_LOGGED.reading
    if robot.linear:
        reading = Reading("m", "output", 1.0, "metres")
    return Candidate(reading, (1,) * n, tuple(range(n)), (1,) * n, (0.0,) * n)


def limits_of(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """The arms' lowest and highest angles (legs,) in rad, the carriages' places in m."""
    limits, n = robot.limits, robot.legs
    low, high = _rail_limits(robot) if robot.linear else (np.full(n, end) for end in WIDEST)
    if limits.angle_min is not None:
        low = np.asarray(limits.angle_min)[:n]
    if limits.angle_max is not None:
        high = np.asarray(limits.angle_max)[:n]
    return low, high


def _rail_limits(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Where carriages are within the workspace, with half the robot's size beyond; or anywhere."""
    cylinder = robot.limits.workspace
    far = TRAVEL * np.asarray(robot.geometry.strut_length)
    if cylinder is None:
        return -far, far
    turn = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    rim = {"x": cylinder.radius * np.cos(turn), "y": cylinder.radius * np.sin(turn)}
    ends = (
        np.stack([rim.get(name, np.full(12, z * (name == "z"))) for name in robot.coordinates], -1)
        for z in (cylinder.z_min, cylinder.z_max)
    )
    q = inverse_kinematics(robot, np.concatenate(list(ends)), unreachable="nan")[:, : robot.legs]
    q = q[np.isfinite(q).all(axis=1)]
    if not len(q):
        return -far, far
    beyond = robot.geometry.size / 2
    return q.min(axis=0) - beyond, q.max(axis=0) + beyond


def readings_of(robot: Robot, samples: Samples, as_read: Reading, stated: bool) -> list[Reading]:
    """The readings of the angles whose range fits between the limits of the joints.

    `as_read` is how the log's own numbers were read: its factor turns them into the log's angles.
    Other units and sides of these numbers are tried, and mistakes in the conversion of arrays;
    `stated` says that the unit stands in the file.
    """
    turns, plain = motor_turns(robot), as_logged(robot).reading
    own = [("rad", "output", 1.0, "radians"), ("deg", "output", DEGREE, "degrees")]
    if robot.linear:
        own = [("m", "output", 1.0, "metres"), ("mm", "output", 1e-3, "millimetres")]
    if turns is not None:
        motor = f"of the motors ({turns_words(robot)})"
        own += [("rad", "motor", 1 / turns, f"radians {motor}")]
        own += [("deg", "motor", DEGREE / turns, f"degrees {motor}")]
    taken = f"that were taken as {as_read.words}"
    found = [plain]
    for unit, side, factor, words in own:
        doubt = DOUBT if stated and unit != as_read.unit else 1.0
        gear = (as_read.side == "motor") - (side == "motor")
        factor /= as_read.factor
        found.append(Reading(unit, side, factor, f"{words} {taken}", doubt, gear))
    if as_read == plain and robot.linear:
        found.append(Reading("m", "output", 1e3, "metres that were taken as millimetres"))
    elif as_read == plain:
        words = "radians that were taken as degrees"
        found.append(Reading("rad", "output", 1 / DEGREE, words))
        if turns is not None:
            words = "angles of the arms that were divided by the gear ratio"
            found.append(Reading("rad", "output", turns, words, gear=1))
    (low, high), rad = limits_of(robot), robot.radian[0]
    room = float(np.min(high - low)) + 2 * SLACK * rad
    way = float(np.max(samples.high - samples.low))
    kept: list[Reading] = []
    for item in found:
        new = all(abs(math.log(item.factor / other.factor)) > SAME for other in kept)
        if new and LEAST_WAY * rad <= item.factor * way <= room:
            kept.append(item)
    return kept


def motor_turns(robot: Robot) -> float | None:
    """rad of an arm's motor per rad, or per m, of its axis; None where they are the same, or where
    a robot on rails does not tell it.
    """
    drives = robot.drives
    if robot.linear and drives.lead is None and drives.pulley_radius is None:
        return None
    turns = float(drives.motor_turns[0])
    return None if turns == 1 else turns


def turns_words(robot: Robot) -> str:
    """The way from an arm's motor to its axis, in words."""
    if robot.linear:
        return f"{1e3 * 2 * math.pi / robot.drives.motor_turns[0]:.4g} mm in a turn"
    return f"gear ratio {robot.drives.gear_ratio[0]:g}"


LEAST_WAY = math.radians(0.5)  # a log in which the arms move less shows no convention
DOUBT = 1.25  # cost of a unit that the file states otherwise
SAME = 0.005  # of a factor: rounding of units


class Pairing(NamedTuple):
    """The log's torque axis of each arm, its sign against the angle, and how well it fits."""

    order: tuple[int, ...]
    turn: tuple[int, ...]
    score: float


def pairings(samples: Samples) -> list[Pairing]:
    """Which torque belongs to which angle, best first.

    tau_k is regressed on acceleration, rate and its sign, angle and its square of all arms. An
    axis' own inertia and its friction stand out; their sign is that of the torque.
    """
    stride = max(1, len(samples) // ROWS)
    part = slice(None, None, stride)
    x = samples.x[part]
    middle = (x - x.mean(axis=0)) / np.maximum(np.ptp(x, axis=0), np.finfo(float).tiny)
    blocks = (samples.xdd[part], samples.xd[part], samples.friction[part])
    columns = np.concatenate([*blocks, middle, middle**2, np.ones((len(x), 1))], axis=1)
    size = np.sqrt(np.mean(columns**2, axis=0))
    size[size == 0] = 1.0
    scaled = columns / size
    H = scaled.T @ scaled / len(x) + RIDGE * np.eye(scaled.shape[1])
    effects = np.linalg.solve(H, scaled.T @ samples.tau[part] / len(x))  # (columns, torques)
    n = samples.arms
    own = effects[: 3 * n].reshape(3, n, n).sum(axis=0)  # (arm, torque)
    found = []
    for order in permutations(range(n)):
        chosen = own[range(n), list(order)]
        turn = tuple(1 if value >= 0 else -1 for value in chosen)
        found.append(Pairing(order, turn, float(np.abs(chosen).sum())))
    return sorted(found, key=lambda item: -item.score)


def directions(arms: int = 3) -> list[tuple[int, ...]]:
    """All signs of the arms, the log's own first."""
    return sorted(product((1, -1), repeat=arms), key=lambda sign: -sum(sign))
