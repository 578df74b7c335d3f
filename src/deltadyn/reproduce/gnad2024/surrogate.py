"""The surrogate of [gnad2024] section VII: a robot whose parameters are known, identified again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.dynamics import inverse_dynamics, regressor
from deltadyn.identification.bodies.bodies import standard_parameters
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import Preparation
from deltadyn.identification.parametrisation import wide_columns
from deltadyn.kinematics import State, WorkspaceBoundary
from deltadyn.motion import FourierSeries, Motion, fourier_motion
from deltadyn.recording.recording import Recording
from deltadyn.reproduce.ladder import rms
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

#: Table I in our frames (z down the rod): RG geom and ID geom.
TABLE_1 = (
    ("arm.mcx", "kg m", 0.101, 0.091),
    ("arm.mcz", "kg m", 0.000, 0.009),
    ("arm.Iyy", "kg m^2", 0.127, 0.189),
    ("strut.m", "kg", 0.249, 0.278),
    ("strut.mcx", "kg m", 0.129, 0.104),
    ("strut.Ixx", "kg m^2", 0.032e-3, 24.611e-3),
    ("strut.Iyy", "kg m^2", 0.109, 0.114),
    ("strut.Izz", "kg m^2", 0.109, 0.116),
    ("platform.m", "kg", 1.000, 1.230),
    ("upper.m", "kg", 0.900, 0.732),
    ("upper.mcz", "kg m", 0.315, 0.305),
    ("upper.Ixx", "kg m^2", 0.147, 0.148),
    ("upper.Iyy", "kg m^2", 0.147, 0.148),
    ("upper.Izz", "kg m^2", 28.8e-6, 2.826e-6),
    ("lower.m", "kg", 0.600, 0.483),
    ("lower.mcz", "kg m", -0.234, -0.239),
    ("lower.Ixx", "kg m^2", 0.122, 0.126),
    ("lower.Iyy", "kg m^2", 0.122, 0.126),
    ("lower.Izz", "kg m^2", 78.0e-6, 1.151e-6),
)

#: RG simple and ID simple of table I, in the same frames.
TABLE_1_SIMPLE = {
    "arm.mcx": (0.250, 0.128),
    "arm.mcz": (0.000, -0.090),
    "arm.Iyy": (0.084, 0.146),
    "strut.m": (0.200, 0.250),
    "strut.mcx": (0.111, 0.072),
    "strut.Ixx": (0.003e-3, 17.446e-3),
    "strut.Iyy": (0.082, 0.086),
    "strut.Izz": (0.082, 0.089),
    "platform.m": (0.800, 1.008),
    "upper.m": (0.900, 0.901),
    "upper.mcz": (0.315, 0.100),
    "upper.Ixx": (0.147, 0.168),
    "upper.Iyy": (0.147, 0.168),
    "upper.Izz": (28.8e-6, 0.884e-6),
    "lower.m": (0.600, 0.456),
    "lower.mcz": (-0.234, -0.251),
    "lower.Ixx": (0.122, 0.141),
    "lower.Iyy": (0.122, 0.141),
    "lower.Izz": (78.0e-6, 0.010e-6),
}

# Coefficients of [gnad2024] eq. 8 in m and rad: x, y, z, psi by harmonics 1 to 5, found once by
#   design_excitation(surrogate_robot(), 10.0, 5, periods=9, seed=1, starts=6, time_limit=150)
# and seed=2 for the validation, and rounded. All searches ended within the time.
FREQUENCY = 0.9  # Hz
OFFSETS = {
    1: (0.4058, 0.3126, -0.9336, 1.7674),
    2: (-0.4722, -0.1772, -0.9243, -2.1210),
}
SINES = {
    1: (
        (0.3857, -0.0267, 0.0297, 0.0252, 0.0015),
        (-0.1666, 0.0751, -0.0040, -0.0050, 0.0035),
        (-0.0416, -0.0264, -0.0257, -0.0225, -0.0134),
        (0.0482, -0.0584, 0.0685, -0.0479, 0.0295),
    ),
    2: (
        (0.2202, -0.0464, 0.0279, 0.0000, 0.0083),
        (-0.2310, 0.0419, -0.0100, 0.0175, 0.0067),
        (0.0031, -0.0535, 0.0404, 0.0045, 0.0203),
        (-0.0233, 0.0976, 0.0579, -0.0338, -0.0411),
    ),
}
COSINES = {
    1: (
        (0.1346, 0.0394, 0.0161, -0.0073, -0.0121),
        (-0.3294, -0.0050, 0.0362, -0.0135, -0.0018),
        (0.0044, 0.0150, -0.0593, 0.0255, 0.0164),
        (-0.0506, 0.0476, -0.0534, 0.0491, -0.0389),
    ),
    2: (
        (-0.0237, -0.0014, 0.0204, 0.0183, 0.0013),
        (-0.4612, 0.0427, 0.0227, 0.0132, 0.0072),
        (-0.0005, -0.0186, 0.0406, 0.0351, 0.0029),
        (-0.0953, -0.0526, 0.0637, 0.0560, -0.0104),
    ),
}


def surrogate_robot() -> Robot:
    """The robot of table I, "ID geom", with the nominal friction of section VII."""
    return load_robot(ROBOT).with_friction(viscous=VISCOUS, coulomb=COULOMB)


def excitation(number: int) -> FourierSeries:
    """Excitation 1 (for the fits) or 2 (for the validation)."""
    return FourierSeries(
        FREQUENCY, np.array(OFFSETS[number]), np.array(SINES[number]), np.array(COSINES[number])
    )


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

    `friction` by parameter. `mass` (4, 4) is the largest |M_nom - M| along the motion over the mean
    of |M_nom|; entries that couple axis 4 with the arms are 0 in the nominal robot and have none.
    The terms (4,) are the largest difference over the largest nominal torque of the same term.
    """

    fit: Fit
    terms: Terms
    friction: dict[str, float]
    mass: FloatArray
    acceleration: FloatArray
    coriolis: FloatArray
    gravity: FloatArray
    least_eigenvalue: float  # of M along the motion, kg m^2

    @property
    def worst_friction(self) -> float:
        """The largest error of a friction coefficient, passive joint included."""
        return max(self.friction.values())

    @property
    def worst_diagonal(self) -> float:
        """The largest error of M_11, M_22, M_33, M_44."""
        return float(np.diag(self.mass).max())

    @property
    def worst_off_diagonal(self) -> float:
        """The largest error of M_12, M_13, M_23."""
        return float(self.mass[:3, :3][np.triu_indices(3, 1)].max())

    @property
    def worst_terms(self) -> tuple[float, float, float]:
        """The largest error of the torques of acceleration, Coriolis and gravity."""
        return (
            float(self.acceleration.max()),
            float(self.coriolis[:3].max()),
            float(self.gravity[:3].max()),
        )


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The simulation study: nominal robot, motion, what was identified, and how well."""

    robot: Robot
    motion: Motion
    peak: FloatArray  # (4,), N m
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
    peak = np.abs(torque).max(axis=0)
    noise = NOISE * peak
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
        name: judged(_fitted(robot, information, given), robot, probe, nominal)
        for name, given in options.items()
    }
    return Surrogate(robot, motion, peak, noise, probe, nominal, guesses, fits)


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
    printed = nominal | {name: guess for name, _, guess, _ in TABLE_1}
    simple = nominal | {name: guess for name, (guess, _) in TABLE_1_SIMPLE.items()}
    return {
        NOMINAL: nominal,
        GEOMETRIC: geometric_guess(robot),
        PRINTED: printed,
        SIMPLE: simple,
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
    # Paper: over the mean of the entry. Axis 4 and the arms do not couple in the nominal robot.
    mean = np.abs(nominal.M.mean(axis=0))
    mass = 100 * np.abs(terms.M - nominal.M).max(axis=0) / mean
    mass[:3, 3] = mass[3, :3] = np.nan
    acceleration, coriolis, gravity = (
        100 * np.abs(found - true).max(axis=0) / np.abs(true).max(axis=0)
        for found, true in zip(terms[1:], nominal[1:], strict=True)
    )
    coriolis[3] = gravity[3] = np.nan
    symmetric = (terms.M + np.swapaxes(terms.M, 1, 2)) / 2
    least = float(np.linalg.eigvalsh(symmetric)[:, 0].min())
    return Judged(fit, terms, friction, mass, acceleration, coriolis, gravity, least)


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
    simple = geometric | {name: found for name, (_, found) in TABLE_1_SIMPLE.items()}
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
        rng = np.random.default_rng(seed)
        way = rng.normal(size=(count, 3))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        way[:, 2] = -np.abs(way[:, 2])
        found: FloatArray = self.radius * np.cbrt(rng.random((count, 1))) * way
        found[:, 2] += self.z
        return found


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


def _fitted(robot: Robot, information: Information, given: Mapping[str, Any]) -> Fit:
    return identify(robot, information, model="rigid", **given)
