"""Candidates: how logged angles and torques may stand for those of the robot.

    q_i = s_i f x_j + b_i,    tau_i = s_i v_i y_k

with the axes j and k of the log that hold the angle and the torque of arm i, the direction
s = 1 or -1, the factor f of unit and gear, the offset b, and v = -1 where the torque counts against
its own angle. y is known up to one factor, the torque's unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.conventions.samples import Samples
from deltadyn.robot import Robot

DEGREE = math.pi / 180
SLACK = math.radians(4.0)  # beyond the limits of the joints that a candidate may reach
WIDEST = (math.radians(-80.0), math.radians(120.0))  # where the robot has no limits
RIDGE = 1e-4  # of a scaled column's square, for logs in which axes move alike
ROWS = 600  # samples of the regression


class Reading(NamedTuple):
    """What a logged angle is: its unit, its side of the gear, and the factor to rad at the output.

    The log's angles are taken as radians at the output, so 57.3 stands for radians that were
    converted from degrees by mistake. `words` say so. `doubt` multiplies its cost: a unit that the
    file's header states otherwise has to fit better.
    """

    unit: str
    side: str
    factor: float
    words: str = "radians"
    doubt: float = 1.0


@dataclass(frozen=True)
class Candidate:
    """One convention; `order` and `torque_order` give the log's axis (from 0) of each arm."""

    reading: Reading
    sign: tuple[int, ...]
    torque_order: tuple[int, ...]
    torque_turn: tuple[int, ...]  # v above
    offset: tuple[float, ...]  # b in rad

    @property
    def discrete(self) -> tuple[object, ...]:
        """All but the offsets."""
        return self.reading.factor, self.sign, self.torque_order, self.torque_turn

    def shifted(self, offset: FloatArray) -> Candidate:
        """The same with other offsets (legs,)."""
        return replace(self, offset=tuple(float(value) for value in offset))


AS_READ = Reading("rad", "output", 1.0)


def as_logged(legs: int) -> Candidate:
    """The convention of a log whose limbs are as they stand."""
    plus, zero = (1,) * legs, (0.0,) * legs
    return Candidate(AS_READ, plus, tuple(range(legs)), plus, zero)


def limits_of(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """The arms' lowest and highest angles (legs,) in rad."""
    limits, legs = robot.limits, robot.legs
    low, high = np.full(legs, WIDEST[0]), np.full(legs, WIDEST[1])
    if limits.angle_min is not None:
        low = np.asarray(limits.angle_min)[:legs]
    if limits.angle_max is not None:
        high = np.asarray(limits.angle_max)[:legs]
    return low, high


def readings_of(robot: Robot, samples: Samples, as_read: Reading, stated: bool) -> list[Reading]:
    """The readings of the angles whose range fits between the limits of the joints.

    `as_read` is how the log's own numbers were read: its factor turns them into the log's angles.
    Other units and sides of these numbers are tried, and mistakes in the conversion of arrays;
    `stated` says that the unit stands in the file.
    """
    gear = float(robot.drives.gear_ratio[0])
    own = [("rad", "output", 1.0, "radians"), ("deg", "output", DEGREE, "degrees")]
    if gear != 1:
        motor = f"of the motors (gear ratio {gear:g})"
        own += [("rad", "motor", 1 / gear, f"radians {motor}")]
        own += [("deg", "motor", DEGREE / gear, f"degrees {motor}")]
    taken = f"that were taken as {as_read.words}"
    found = [AS_READ]
    for unit, side, factor, words in own:
        doubt = DOUBT if stated and unit != as_read.unit else 1.0
        found.append(Reading(unit, side, factor / as_read.factor, f"{words} {taken}", doubt))
    if as_read == AS_READ:
        words = "radians that were taken as degrees"
        found.append(Reading("rad", "output", 1 / DEGREE, words))
        if gear != 1:
            words = "angles of the arms that were divided by the gear ratio"
            found.append(Reading("rad", "output", gear, words))
    low, high = limits_of(robot)
    room = float(np.min(high - low)) + 2 * SLACK
    way = float(np.max(samples.high - samples.low))
    kept: list[Reading] = []
    for item in found:
        new = all(abs(math.log(item.factor / other.factor)) > SAME for other in kept)
        if new and LEAST_WAY <= item.factor * way <= room:
            kept.append(item)
    return kept


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
    effects = np.linalg.solve(H, scaled.T @ samples.tau[part] / len(x))  # columns, torques
    legs = samples.legs
    own = effects[: 3 * legs].reshape(3, legs, legs).sum(axis=0)  # (arm, torque)
    found = []
    for order in permutations(range(legs)):
        chosen = own[range(legs), list(order)]
        turn = tuple(1 if value >= 0 else -1 for value in chosen)
        found.append(Pairing(order, turn, float(np.abs(chosen).sum())))
    return sorted(found, key=lambda item: -item.score)


def directions(legs: int) -> list[tuple[int, ...]]:
    """All signs of the arms, the log's own first."""
    return sorted(product((1, -1), repeat=legs), key=lambda sign: -sum(sign))
