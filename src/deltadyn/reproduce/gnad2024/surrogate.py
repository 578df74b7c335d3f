"""The surrogate of [gnad2024] section VII: a robot whose parameters are known, identified again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics import inverse_dynamics, regressor
from deltadyn.identification.bodies.bodies import standard_parameters
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import Preparation
from deltadyn.identification.parametrisation import wide_columns
from deltadyn.kinematics import State, WorkspaceBoundary
from deltadyn.motion import FourierSeries, Motion, fourier_motion
from deltadyn.recording.recording import Recording
from deltadyn.reproduce.ladder import in_ball, rms
from deltadyn.reproduce.result import Paper
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

ROBOT = "abb-irb360-6-1600"
VISCOUS = (2.0, 2.0, 2.0, 0.5)  # N m s/rad, [gnad2024] section VII
COULOMB = (4.0, 4.0, 4.0, 1.0)  # N m
NOISE = 0.005  # of the peak torque of an axis
RATE = 1000.0  # Hz
BELOW, ABOVE = 0.7, 1.4  # of the nominal values, as RG1 and RG2 lie in figure 3
GRID, FINE = 13, 2000  # points of a search, along height and radius; heights of an integral
STEP = 4  # samples from one comparison of the terms of the equations of motion to the next

NOMINAL, GEOMETRIC = "log-Cholesky, nominal", "log-Cholesky, geometric"
PRINTED = "log-Cholesky, paper's RG geom"
SIMPLE = "log-Cholesky, paper's RG simple"
LOW, HIGH = "log-Cholesky, all below", "log-Cholesky, all above"
STRONGER = "log-Cholesky, geometric, 10 times the weight"
BASE, CONVEX = "base parameters", "convex"
REGULARISED = (NOMINAL, GEOMETRIC, PRINTED, SIMPLE, LOW, HIGH)
#: gamma_p of [gnad2024] eq. 15, beside residuals in units of their deviation. It is divided by
#: p_reg squared, and the geometric guesses of the strut's axial inertia are far too small.
WEIGHTS = {
    NOMINAL: 1e-2,
    GEOMETRIC: 1e-5,
    PRINTED: 1e-4,
    SIMPLE: 1e-6,
    LOW: 1e-2,
    HIGH: 1e-2,
}

FREQUENCY = 0.9  # Hz, of the excitation
PAPER = Paper("gnad2024", NOISE=NOISE)
TABLE_1 = PAPER.numbers["table_1"]


def printed(column: str) -> dict[str, float]:
    """A column of table I: RG geom, ID geom, RG simple or ID simple."""
    return {name: row[column] for name, row in TABLE_1.items()}


def surrogate_robot() -> Robot:
    """The robot of table I, "ID geom", with the nominal friction of section VII."""
    return load_robot(ROBOT).with_friction(viscous=VISCOUS, coulomb=COULOMB)


def excitation(number: int) -> FourierSeries:
    """Excitation 1 (for the fits) or 2 (for the validation)."""
    series = PAPER.numbers["excitations"][number]
    return FourierSeries(FREQUENCY, *(np.array(part) for part in series.values()))


class Terms(NamedTuple):
    """M (N, 4, 4) and the torques (N, 4) of acceleration, Coriolis and gravity, in N m."""

    M: FloatArray
    acceleration: FloatArray
    coriolis: FloatArray
    gravity: FloatArray


@dataclass(frozen=True, eq=False)
class Probe:
    """Columns of the rigid model at states of a motion, from which every term follows.

    Gravity is the torque at rest and M e_j what a unit of acceleration adds to it. Friction is odd
    in the rates and Coriolis forces are even, so their mean over qd and -qd leaves these alone. So
    the terms of base parameters, which belong to no body, can be compared as well.
    """

    t: FloatArray
    qdd: FloatArray
    rest: FloatArray  # (N, 4, n)
    unit: FloatArray  # (4, N, 4, n)
    moving: FloatArray  # (N, 4, n)

    @classmethod
    def of(cls, robot: Robot, motion: Motion, rows: slice) -> Probe:
        """The columns at some samples."""
        q, qd, qdd = (array[rows] for array in (motion.q, motion.qd, motion.qdd))
        zero = np.zeros_like(q)

        def columns(rate: FloatArray, acceleration: FloatArray) -> FloatArray:
            state = State.from_joints(robot, q, rate, acceleration)
            return regressor(robot, state, "rigid", tied=False).Y

        rest = columns(zero, zero)
        unit = np.stack([columns(zero, zero + np.eye(4)[j]) - rest for j in range(4)])
        moving = (columns(qd, zero) + columns(-qd, zero)) / 2 - rest
        return cls(motion.t[rows], qdd, rest, unit, moving)

    def terms(self, wide: FloatArray) -> Terms:
        """The terms of wide parameters (n,)."""
        M = np.moveaxis(self.unit @ wide, 0, -1)
        acceleration = contract("nij,nj->ni", M, self.qdd)
        return Terms(M, acceleration, self.moving @ wide, self.rest @ wide)


@dataclass(frozen=True, eq=False)
class Judged:
    """A fit against the nominal values; errors in per cent, as [gnad2024] section VII has them.

    The motion's ramp and its first period are compared: all other periods repeat the first.

    `friction` by parameter. `worst` holds the largest errors: of a friction coefficient, of M_11 to
    M_44, of M_12, M_13, M_23, and of the torques of acceleration, Coriolis and gravity. Those of M
    are the largest |M_nom - M| along the motion over the mean of |M_nom|, those of torques the
    largest difference over the largest nominal torque of the same term. In the nominal robot axis 4
    does not couple with the arms and has no Coriolis and no gravity torque.
    """

    fit: Fit
    terms: Terms
    friction: dict[str, float]
    worst: tuple[float, ...]
    least_eigenvalue: float  # of M along the motion, kg m^2


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The simulation study: nominal robot, motion, what was identified, and how well."""

    robot: Robot
    motion: Motion
    noise: FloatArray  # (4,), N m
    probe: Probe
    nominal: Terms
    guesses: dict[str, dict[str, float]]  # p_reg of every regularisation
    fits: dict[str, Judged]

    @property
    def standard(self) -> dict[str, float]:
        """Nominal standard parameters."""
        return own_values(self.robot)


def run_surrogate(*, seed: int, periods: int) -> Surrogate:
    """Torques of the nominal robot with noise, and its parameters by every method."""
    robot = surrogate_robot()
    motion = fourier_motion(robot, excitation(1), periods=periods, rate=RATE)
    torque = inverse_dynamics(robot, motion, "rigid")
    noise = NOISE * np.abs(torque).max(axis=0)
    noisy = torque + noise * np.random.default_rng(seed).standard_normal(torque.shape)
    recording = Recording(
        t=motion.t, q=motion.q, qd=motion.qd, qdd=motion.qdd, tau=noisy, payload=0.0,
        name="surrogate",
    )  # fmt: skip
    information = Loaded(robot, recording, Preparation(band=None)).information("rigid")
    probe = Probe.of(robot, motion, slice(0, round(2 * RATE / FREQUENCY), STEP))
    values = wide_columns(robot, "rigid").values
    nominal = probe.terms(values)
    guesses = regularisations(robot)
    options: dict[str, dict[str, Any]] = {
        name: {"method": "log-cholesky", "prior": prior, "weight": WEIGHTS[name]}
        for name, prior in guesses.items()
    }
    options[STRONGER] = options[GEOMETRIC] | {"weight": 10 * WEIGHTS[GEOMETRIC]}
    options[BASE] = {"method": "base"}
    options[CONVEX] = {"method": "convex", "hull": False}
    fits = {
        name: judged(identify(robot, information, model="rigid", **given), robot, probe, nominal)
        for name, given in options.items()
    }
    return Surrogate(robot, motion, noise, probe, nominal, guesses, fits)


def own_values(robot: Robot) -> dict[str, float]:
    """A robot's standard parameters by name."""
    own = standard_parameters(robot)
    return dict(zip(own.names, own.parameters.tolist(), strict=True))


def regularisations(robot: Robot) -> dict[str, dict[str, float]]:
    """p_reg of [gnad2024] eq. 15: nominal, hollow cylinders, table I twice, all below, all above.

    Table I has no mass of the arm, no effector, motor and friction: these are nominal.
    """
    from deltadyn.identification.bodies.guesses import geometric_guess

    nominal = own_values(robot)
    return {
        NOMINAL: nominal,
        GEOMETRIC: geometric_guess(robot),
        PRINTED: nominal | printed("RG geom"),
        SIMPLE: nominal | printed("RG simple"),
        LOW: {name: BELOW * value for name, value in nominal.items()},
        HIGH: {name: ABOVE * value for name, value in nominal.items()},
    }


def judged(fit: Fit, robot: Robot, probe: Probe, nominal: Terms) -> Judged:
    """Compare a fit of the rigid model with the nominal robot."""
    terms = probe.terms(fit.parametrisation.wide(fit.values))
    known = own_values(robot)
    friction = {
        name: 100 * abs(value / known[name] - 1)
        for name, value in zip(fit.names, fit.values.tolist(), strict=True)
        if is_friction(name)
    }
    mass = 100 * np.abs(terms.M - nominal.M).max(axis=0) / np.abs(nominal.M.mean(axis=0))
    torques = [
        100 * np.abs(found - true).max(axis=0) / np.abs(true).max(axis=0)
        for found, true in zip(terms[1:], nominal[1:], strict=True)
    ]
    worst = (
        max(friction.values()),
        np.diag(mass).max(),
        mass[:3, :3][np.triu_indices(3, 1)].max(),
        torques[0].max(),
        *(torque[:3].max() for torque in torques[1:]),
    )
    symmetric = (terms.M + np.swapaxes(terms.M, 1, 2)) / 2
    least = float(np.linalg.eigvalsh(symmetric)[:, 0].min())
    return Judged(fit, terms, friction, tuple(map(float, worst)), least)


@dataclass(frozen=True, eq=False)
class Twice:
    """How far table I's two identified sets, ID simple and ID geom, are apart on a motion, in N m.

    Table I has no effector. `effector` (kg) more of it beside ID simple bring the two nearest.
    """

    apart: FloatArray  # (4,), RMS
    peak: FloatArray  # (4,)
    effector: float
    left: FloatArray  # (4,), RMS with that effector


def identified_twice(robot: Robot, motion: Motion) -> Twice:
    """Compare the torques of ID simple and of ID geom; what table I lacks is the robot's own."""
    columns = regressor(robot, motion, "rigid", tied=True)
    geometric = own_values(robot)
    simple = geometric | printed("ID simple")
    difference = np.array([geometric[name] - simple[name] for name in columns.names])
    apart = columns.Y @ difference
    mass = columns.Y[:, :, columns.names.index("effector.m")]
    more = float((mass * apart).sum() / (mass**2).sum())
    return Twice(rms(apart), np.abs(apart).max(axis=0), more, rms(apart - more * mass))


@dataclass(frozen=True)
class Hemisphere:
    """A half ball below a point of the axis at height z: B of [gnad2024] eq. 10 and figure 2.

    `covered` is the share of the workspace that lies in it, `reachable` its own share that lies in
    the workspace, `overlap` the volume of both together over that of either.
    """

    z: float  # m
    radius: float  # m
    covered: float
    reachable: float
    overlap: float

    @classmethod
    def of(cls, space: WorkspaceBoundary, z: float, radius: float) -> Hemisphere:
        """Its shares, by the integral over heights and azimuths of the workspace's boundary."""
        below = np.where(space.heights <= z, radius**2 - (z - space.heights) ** 2, 0.0)
        squares = np.minimum(np.maximum(below, 0.0)[:, None], space.radius**2)
        common = float(np.trapezoid(np.pi * squares.mean(axis=1), space.heights))
        whole, half = space.quadrature_volume, 2 / 3 * np.pi * radius**3
        return cls(z, radius, common / whole, common / half, common / (whole + half - common))

    def inside(self, p: FloatArray) -> BoolArray:
        """Which points p (N, 3 or 4) lie in it."""
        off = p[:, :3] - np.array([0.0, 0.0, self.z])
        near = np.linalg.norm(off, axis=1) <= self.radius
        return np.asarray(near & (off[:, 2] <= 0))

    def points(self, count: int, seed: int) -> FloatArray:
        """Random points (count, 3) in it."""
        points = in_ball(np.random.default_rng(seed), count, self.radius)
        points[:, 2] = self.z - np.abs(points[:, 2])
        return points


def finely(space: WorkspaceBoundary) -> WorkspaceBoundary:
    """The boundary at FINE heights, by straight lines: for integrals to a thousandth."""
    heights = np.linspace(space.heights[0], space.heights[-1], FINE)
    radius = [np.interp(heights, space.heights, one) for one in space.radius.T]
    return replace(space, heights=heights, radius=np.stack(radius, axis=1))


def best_hemisphere(space: WorkspaceBoundary) -> Hemisphere:
    """The hemisphere with the largest overlap, on a grid that is refined about its best point."""
    low, high = float(space.heights[0]), float(space.heights[-1])
    z, radius, width = (low + high) / 2, high - low, (high - low) / 2
    for _ in range(4):
        tried = [
            Hemisphere.of(space, a, b)
            for a in np.linspace(z - width, z + width, GRID)
            for b in np.linspace(max(radius - width, 0.01), radius + width, GRID)
        ]
        best = max(tried, key=lambda item: item.overlap)
        z, radius, width = best.z, best.radius, 3 * width / GRID
    return best


def largest_inside(space: WorkspaceBoundary) -> Hemisphere:
    """The largest hemisphere inside: at every height h below z, r^2 <= R(h)^2 + (z - h)^2."""
    least, found = space.radius.min(axis=1), (0.0, 0.0)
    for k, z in enumerate(space.heights.tolist()):
        depth = z - space.heights[: k + 1]
        radius = min(float(np.hypot(least[: k + 1], depth).min()), float(depth[0]))
        found = max(found, (radius, z))
    return Hemisphere.of(space, found[1], found[0])


def is_friction(name: str) -> bool:
    """Whether a parameter is a coefficient of friction."""
    return name.startswith(("Fv", "Fc")) or name.endswith((".Fv", ".Fc"))
