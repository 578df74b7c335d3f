"""Random states of a robot of every composition, as the columns that its kernels read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tests.family.random_robots import make_robot
from tests.family.robots import make

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends.kernel_models.kernels import widths_of
from deltadyn.backends.kernel_models.motion import Model
from deltadyn.backends.layout import PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.kinematics.actuation import legs_of
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.robot import Robot

SAMPLES = 200
ROBOTS: dict[tuple[str, int], Callable[[], Robot]] = {
    ("rotary", 3): lambda: dd.load_robot("sipro-d3-1200"),
    ("rotary", 4): lambda: dd.load_robot("abb-irb360-6-1600"),
    ("inclined", 3): lambda: make("inclined"),
    ("inclined", 4): lambda: make_robot("inclined", 1, spindle=True),
    ("vertical", 3): lambda: dd.load_robot("flsun-q5-2020"),
    ("rail", 3): lambda: dd.load_robot("example-linear-delta"),
    ("rail", 4): lambda: make_robot("rails", 1, spindle=True),
    ("planar", 2): lambda: dd.load_robot("codian-d2-like"),
    ("rail_planar", 2): lambda: dd.load_robot("klipper-deltesian"),
    ("articulated", 4): lambda: dd.load_robot("quattro-s650-like"),
    ("rail_articulated", 4): lambda: make("par4_rails"),
    ("helical", 4): lambda: dd.load_robot("veloce-like"),
    ("rail_helical", 4): lambda: make("heli4_rails"),
}
#: Entries of the robot's numbers that are drawn at random: a value of 0 would hide its term.
DRAWN = [
    "M_P",
    "m_x",
    "A",
    "G",
    "G_s",
    "halves",
    "viscous",
    "coulomb",
    "coulomb_negative",
    "stribeck",
    "offset",
    "load",
    "rotor",
]


def composition(name: str) -> tuple[str, int]:
    """The composition and the axes that a kernel's name tells."""
    kinds = sorted({kind for kind, _ in ROBOTS}, key=len, reverse=True)
    kind = next((kind for kind in kinds if f"_{kind}" in name), "rotary")
    if name in ("friction_2", "friction_columns_2"):
        return "planar", 2
    return kind, int(name[-1]) if name[-1].isdigit() else legs_of(kind)


@cache
def states_of(kind: str, dof: int) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The robot's numbers with bodies and friction drawn at random, and groups of columns."""
    robot, rng = ROBOTS[kind, dof](), np.random.default_rng(dof)
    par = np.array(packed_parameters(robot))
    for name in DRAWN:
        place = PLACES[name]
        par[place] = rng.uniform(0.1, 1.0, place.stop - place.start)
    par[PLACES["smoothing"]] = 0.05
    if robot.spindle is not None:
        place = PLACES["spindle"]
        par[place.start + 1 : place.stop] = rng.uniform(0.1, 1.0, 7)
    spread = np.full(robot.dof, 0.3 * robot.geometry.size)
    if dof == 4:
        spread[3] = 0.5
    p = home_pose(robot) + rng.uniform(-1, 1, (8 * SAMPLES, robot.dof)) * spread
    p = p[dd.kinematics.reachable(robot, p)][:SAMPLES]
    assert len(p) == SAMPLES, (kind, dof, len(p))
    pd, pdd = rng.normal(size=p.shape), 10 * rng.normal(size=p.shape)
    state = dd.State.from_platform(robot, p, pd, pdd)
    names = ("q", "qd", "qdd", "p", "pd", "pdd", "cos_q", "sin_q")
    groups = {name: np.asarray(getattr(state, name)) for name in names}
    groups["direction"] = rng.uniform(-1, 1, p.shape)
    groups["stribeck"] = rng.uniform(0, 1, p.shape)
    return par, groups


def columns_of(model: Model) -> tuple[FloatArray, FloatArray]:
    """par (COUNT,) and x (width, samples) of a kernel, with what the loop around it adds."""
    par, groups = states_of(*composition(model.name))
    rng = np.random.default_rng(7)
    parts = []
    for name, width in model.inputs:
        known = groups.get(name, np.empty((0, 0)))
        drawn: Any = rng.normal(size=(SAMPLES, width))  # a force, a torque, a column
        parts.append(known if known.shape[-1] == width else drawn)
    x = np.concatenate(parts, axis=1)
    first, count = model.angles
    if count:
        angles = x[:, first : first + count]
        parts += [np.cos(angles), np.sin(angles)]
    if model.bars:
        phi0, rate = par[PLACES["carrier"]][:2]
        phi = phi0 + x[:, model.bars - 1] * rate
        parts.append(np.stack([np.cos(phi), np.sin(phi)], axis=1))
    if model.rates[1]:
        parts += [groups["direction"], groups["stribeck"]]
    x = np.ascontiguousarray(np.concatenate(parts, axis=1).T)
    assert len(x) == sum(widths_of(model)), model.name
    return par, x
