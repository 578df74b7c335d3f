"""The terms that a machine or its log may have: their columns, and how large they may be.

A term is linearised at the last estimate, the point: base parameters x0, whose torque is f = Y x0,
and the values of terms that change what the model sees (delay, encoder, torque constants). Each
column is a torque per unit of its parameter, and each parameter has a normal prior about 0 with
the standard deviation that real machines show. To add a term, add a function here to `TERMS`.
Angles and rates are those of arms and of axis 4; on rails `Robot.radian` stands for a rad.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import direction, stribeck_shape
from deltadyn.identification.information import wide_torque
from deltadyn.identification.parametrisation import (
    LIMB_NAMES,
    Parametrisation,
    payload_direction,
    widest,
)
from deltadyn.identification.terms.clock import CLOCKS
from deltadyn.identification.terms.orders import LOWEST
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.corrections import (
    changed_geometry,
    contrasts,
    geometry_fields,
)
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot
from deltadyn.units import on_axis

STRIBECK = tuple(np.geomspace(0.05, 0.4, 10).tolist())  # rad/s
THINNING = tuple(np.geomspace(0.8, 6.0, 5).tolist())  # rad/s
OFFSET_SIZE = 0.03  # of the axis' RMS torque
STRIBECK_SIZE = 0.3  # of Coulomb friction
THINNING_SIZE = 1.0  # of Coulomb friction
LEAST_COULOMB = 0.005  # of the axis' RMS torque, where a fit finds no Coulomb friction
LOAD_SIZE = 0.05
LIMB_SIZE = 0.04  # relative
RATIO_SIZE = 0.02
DELAY_SIZE = 1e-3  # s
DRIFT_SIZE, OWN_DRIFT_SIZE = 0.2, 0.05  # of viscous friction: of all axes, and of one beyond
RIPPLE_SIZE = 0.03  # of the axis' RMS torque
ECCENTRIC_SIZE, WAVY_SIZE = 0.8e-3, 0.15e-3  # rad: once per turn, and of higher orders
LENGTH_SIZE, AZIMUTH_SIZE = 0.4e-3, math.radians(0.17)
HOMING_SIZE = 5e-3  # rad
OTHER_SIZE = 0.02  # of the axis' RMS torque
CLOSE = (0.87, 0.93, 1.0, 1.07, 1.15)  # times velocities that were found before
SHARPER = (0.35, 0.5, 0.7, 1.0, 1.4)  # the same for a peak that falls exponentially
CLOSE_SHARES = (-0.1, -0.05, 0.0, 0.05, 0.1)
ROTORS = (0.0, 0.2, 0.4, 0.6, 0.8)  # of A: rotor inertia at the output that is tried
NEAR = 3  # orders beside a peak of the periodogram that are tried
STEP = 1e-6  # rad, rad/s, rad/s^2: of a finite difference

Column = tuple[FloatArray | None, ...]  # per axis (N,), None where it is 0


@dataclass(frozen=True, eq=False)
class Point:
    """Where terms are linearised: parameters x0 (k,) and the values of terms by column name."""

    x: FloatArray
    values: dict[str, float]


@dataclass(frozen=True, eq=False)
class Sample:
    """A part of a log seen from a point: what columns are made of.

    `clock` (N, 2, 3) are the polynomials that friction drifts with, by `CLOCKS`, `level` (dof,) is
    the RMS torque of the axes in N m.
    """

    robot: Robot
    par: Parametrisation
    point: Point
    part: Prepared
    clock: FloatArray
    level: FloatArray

    @property
    def state(self) -> State:
        """The motion."""
        return self.part.state

    @property
    def measured(self) -> FloatArray:
        """The torque (N, dof) that the columns have to explain, in N m."""
        return self.part.tau

    @property
    def reach(self) -> float | None:
        """Seconds before and after an instant at rest that are left out; None: by the band."""
        return None

    def columns_of(self, term: Term) -> Iterator[Column]:
        """The columns of a term."""
        return term.columns(self)

    @cached_property
    def wide(self) -> FloatArray:
        """The widest regressor (N, dof, n)."""
        return widest(self.robot, self.state, self.par.source).Y

    @cached_property
    def torque(self) -> FloatArray:
        """f (N, dof), friction included, in N m."""
        return wide_torque(self.robot, self.state, self._x, self.par.source)

    @cached_property
    def _x(self) -> FloatArray:
        """Wide parameters at the point, with the payload of the part."""
        x = self.par.wide(self.point.x)
        if self.part.extra:
            x = x + self.part.extra * payload_direction(self.robot, self.par.source)
        return x

    @cached_property
    def motor(self) -> FloatArray:
        """The motors' torque (N, dof), with what their own loss at the point adds to f."""
        values = self.point.values
        mu = [values.get(f"mu_m{axis + 1}", 0.0) for axis in range(self.robot.dof)]
        return self.torque / (1 - np.array(mu) * self.direction * np.sign(self.torque))

    @cached_property
    def bodies(self) -> FloatArray:
        """Torque (N, dof) of the bodies and rotors, without friction."""
        return self._inertial(self.state)

    def rotor(self, share: float | None) -> FloatArray:
        """Rotor inertia (dof,) at the output: the robot file's, or a share of the arms' A."""
        own = np.array(self.robot.drives.output_inertia)
        if share is not None:
            own[: self.robot.legs] = share * self.limb_mean("A")
        return own

    def load(self, share: float | None) -> FloatArray:
        """Torque (N, dof) through the gears: of all but the rotors."""
        return self.bodies - self.rotor(share) * self.state.qdd

    def limb_mean(self, name: str) -> float:
        """The mean over the limbs of a parameter at the point."""
        if name in self.par.names:
            return self.base(name)
        return float(np.mean([self.base(f"{name}{i + 1}") for i in range(self.robot.legs)]))

    @cached_property
    def direction(self) -> FloatArray:
        """sign(qd) (N, dof), smoothed as in the robot's friction."""
        out: FloatArray = direction(self.state.qd, self.robot.friction.smoothing)
        return out

    @cached_property
    def slopes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """df/dq, df/dqd and df/dqdd (N, dof, dof) of the bodies, column j by joint j."""
        state = self.state
        here = self.bodies
        found: list[list[FloatArray]] = [[], [], []]
        for kind in range(3):
            for axis in range(self.robot.dof):
                moved = [state.q, state.qd, state.qdd]
                moved[kind] = moved[kind].copy()
                moved[kind][:, axis] += STEP
                there = self._inertial(State.from_joints(self.robot, *moved, hint=state.p))
                found[kind].append((there - here) / STEP)
        K, C, M = (np.stack(columns, axis=2) for columns in found)
        return K, C, M

    def pushed(self, axis: int, z: FloatArray, zd: FloatArray, zdd: FloatArray) -> FloatArray:
        """What the torque (N, dof) changes by with joint `axis` at q + z: M z'' + C z' + K z."""
        K, C, M = (slope[:, :, axis] for slope in self.slopes)
        return K * z[:, None] + C * zd[:, None] + M * zdd[:, None]

    def with_geometry(self, robot: Robot) -> FloatArray:
        """Torque (N, dof) of the same bodies and joint motion in another geometry."""
        own = self.state
        state = State.from_joints(robot, own.q, own.qd, own.qdd, hint=own.p)
        return self._inertial(state, robot)

    def _inertial(self, state: State, robot: Robot | None = None) -> FloatArray:
        bodies = widest(robot or self.robot, state, self.par.source, friction=False).Y
        out: FloatArray = bodies @ self._x[: bodies.shape[2]]
        return out

    def base(self, name: str) -> float:
        """The value of a base parameter at the point; 0 where the model has none."""
        names = self.par.names
        return float(self.point.x[names.index(name)]) if name in names else 0.0

    def per_axis(self, name: str) -> FloatArray:
        """Values (dof,) of a drive's parameter."""
        return np.array([self.base(f"{name}{axis + 1}") for axis in range(self.robot.dof)])

    @property
    def coulomb(self) -> FloatArray:
        """Coulomb friction (dof,) in N m, at least a small share of the torque."""
        size = self.per_axis("Fc")
        if not size.any():
            size = (self.per_axis("Fc+") + self.per_axis("Fc-")) / 2
        return np.maximum(size, LEAST_COULOMB * self.level)


class Parameter(NamedTuple):
    """A column's name, unit and prior standard deviation."""

    name: str
    unit: str
    size: float


@dataclass(frozen=True)
class Near:
    """Where to look for settings: orders with a width around each, and what was found before.

    `velocities` are those of the axes, by the name of a term.
    """

    orders: tuple[tuple[int, int], ...] = ()
    found: tuple[tuple[str, float], ...] = ()
    velocities: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def tried(self, term: str, grid: Sequence[float], robot: Robot) -> list[tuple[float, ...]]:
        """Velocities of the axes: the grid alike for all, or close to those found before."""
        own = dict(self.velocities).get(term)
        if own is None:
            return [tuple(v * radian for radian in robot.radian) for v in grid]
        return [tuple(step * v for v in own) for step in CLOSE]

    def shares(self, term: str, grid: Sequence[float]) -> Sequence[float]:
        """The grid, or close steps about the share that was found before."""
        own = dict(self.found).get(term)
        if own is None:
            return grid
        return sorted({float(np.clip(own + step, 0.0, 0.95)) for step in CLOSE_SHARES})


@dataclass(frozen=True, eq=False)
class Term:
    """A term that may be there: its parameters, and their columns at the samples of a part.

    Terms of one `family` exclude each other. `setting` is what the columns were made for; of
    `velocities` of the axes it is the mean. A term that `stands_for` another is a rival form of it,
    which no robot can hold.
    """

    name: str
    family: str
    parameters: tuple[Parameter, ...]
    columns: Callable[[Sample], Iterator[Column]]
    setting: float | None = None
    corrects: bool = False  # the log is corrected by its values, see `corrections`
    velocities: tuple[float, ...] = ()
    stands_for: str = ""

    @property
    def title(self) -> str:
        """The name, with the order of a wave."""
        if self.stands_for:
            return self.stands_for
        wave = self.name in ("ripple", "eccentricity") and self.setting is not None
        return f"{self.name}{self.setting:g}" if wave else self.name


def only(axis: int, dof: int, values: FloatArray) -> Column:
    """A column that moves one axis."""
    return tuple(values if other == axis else None for other in range(dof))


def every(values: FloatArray) -> Column:
    """A column that moves all axes, (N, dof)."""
    return tuple(np.ascontiguousarray(values[:, axis]) for axis in range(values.shape[1]))


def _drive_term(
    name: str,
    family: str,
    symbol: str,
    unit: str,
    sizes: FloatArray,
    values: Callable[[Sample], FloatArray],
    setting: float | None = None,
) -> Term:
    """A column per drive, each of its own torque."""
    parameters = tuple(
        Parameter(f"{symbol}{axis + 1}", unit, float(size)) for axis, size in enumerate(sizes)
    )

    def columns(sample: Sample) -> Iterator[Column]:
        found = values(sample)
        for axis in range(len(sizes)):
            yield only(axis, len(sizes), np.ascontiguousarray(found[:, axis]))

    return Term(name, family, parameters, columns, setting)


def offset(of: Sample) -> Iterator[Term]:
    """A torque offset, or Coulomb friction that differs by direction: one column while moving."""
    if of.robot.friction.offset is None and of.robot.friction.coulomb_negative is None:
        yield _drive_term(
            "offset", "offset", "F0", "N m", OFFSET_SIZE * of.level,
            lambda s: np.ones_like(s.state.qd),
        )  # fmt: skip


def friction_shape(of: Sample, near: Near) -> Iterator[Term]:
    """Stribeck's peak at rest, or friction that rises less than linearly: one or the other."""
    friction = of.robot.friction
    if friction.stribeck is not None or friction.thinning is not None:
        return
    size = STRIBECK_SIZE * of.coulomb
    for v in near.tried("stribeck", STRIBECK, of.robot):
        yield _shaped("stribeck", "Fs", size, _peak, v)
    found = dict(near.velocities).get("stribeck")
    for step in SHARPER if found is not None else ():
        faster = tuple(step * v for v in found or ())
        yield replace(_shaped("exponential", "Fe", size, _cusp, faster), stands_for="stribeck")
    for v in near.tried("thinning", THINNING, of.robot):
        yield _shaped("thinning", "Ft", THINNING_SIZE * of.coulomb, _bend, v)


def _shaped(
    name: str,
    symbol: str,
    sizes: FloatArray,
    shape: Callable[[FloatArray, Sample], FloatArray],
    velocities: tuple[float, ...],
) -> Term:
    """A shape over the rate, with a velocity for each drive."""
    alike = len(set(velocities)) == 1
    setting = velocities[0] if alike else sum(velocities) / len(velocities)
    values = partial(shape, np.array(velocities))
    made = _drive_term(name, "shape", symbol, "N m", sizes, values, setting)
    return replace(made, velocities=velocities)


def _peak(v: FloatArray, sample: Sample) -> FloatArray:
    """sign(qd) exp(-(qd / v)^2)."""
    out: FloatArray = sample.direction * stribeck_shape(np, sample.state.qd, v)
    return out


def _cusp(v: FloatArray, sample: Sample) -> FloatArray:
    """sign(qd) exp(-|qd| / v)."""
    return sample.direction * np.exp(-np.abs(sample.state.qd) / v)


def _bend(v: FloatArray, sample: Sample) -> FloatArray:
    """tanh(qd / v)."""
    return np.tanh(sample.state.qd / v)


def gear_loss(of: Sample, near: Near) -> Iterator[Term]:
    """A share of the torque through the gear, or of the motor's own, is lost.

    The torque through the gear is what turns all but the rotor. Where the robot file has no rotor
    inertia, shares of A are tried for it.
    """
    friction = of.robot.friction
    if friction.load is not None or friction.motor_load is not None:
        return
    sizes = np.full(of.robot.dof, LOAD_SIZE)
    known = any(of.robot.drives.output_inertia[: of.robot.legs])
    shares: Sequence[float | None] = [None] if known else near.shares("load", ROTORS)
    for share in shares:
        yield _drive_term("load", "loss", "mu", "1", sizes, partial(_lost, share), share)
    yield _drive_term(
        "motor_load", "loss", "mu_m", "1", sizes, lambda s: np.abs(s.motor) * s.direction
    )


def _lost(share: float | None, sample: Sample) -> FloatArray:
    """|load| sign(qd), with this share of A in the rotor."""
    return np.abs(sample.load(share)) * sample.direction


def limbs(of: Sample) -> Iterator[Term]:
    """The limbs' bodies differ: A, G and m_x per limb, with the mean as the base parameter."""
    if not of.par.tied or of.par.model != "exact":
        return
    families = [name for name in LIMB_NAMES if name in of.par.names]
    parameters = tuple(
        Parameter(f"{name}.{k + 1}", "1", LIMB_SIZE)
        for name in families
        for k in range(of.robot.legs - 1)
    )
    shares = contrasts(of.robot.legs)

    def columns(sample: Sample) -> Iterator[Column]:
        names = sample.par.wide_names
        for name in families:
            places = [names.index(f"{name}{i + 1}") for i in range(len(shares))]
            for share in (sample.base(name) * shares).T:
                yield every(sample.wide[:, :, places] @ share)

    yield Term("limbs", "limbs", parameters, columns)


def torque_ratio(of: Sample) -> Iterator[Term]:
    """Torque constants differ between the limbs' drives; their common scale cannot be seen."""
    dof, legs = of.robot.dof, of.robot.legs
    shares = contrasts(legs)
    parameters = tuple(Parameter(f"ratio.{k + 1}", "1", RATIO_SIZE) for k in range(legs - 1))

    def columns(sample: Sample) -> Iterator[Column]:
        for share in shares.T:
            yield tuple(
                sample.torque[:, axis] * share[axis] if axis < legs else None for axis in range(dof)
            )

    yield Term("torque_ratio", "torque_ratio", parameters, columns, corrects=True)


def delay(of: Sample) -> Iterator[Term]:
    """The torque is logged later than the angle: tau(t) = f(t - delay)."""

    def columns(sample: Sample) -> Iterator[Column]:
        yield every(-np.gradient(sample.torque, sample.part.t, axis=0))

    yield Term("delay", "delay", (Parameter("delay", "s", DELAY_SIZE),), columns, corrects=True)


def drift(of: Sample) -> Iterator[Term]:
    """Viscous friction changes with temperature or slow time, nearly alike on all axes.

    The time is that of the machine, or that within each log: one or the other.
    """
    dof = of.robot.dof
    common = tuple(Parameter(f"drift{k}", "1", DRIFT_SIZE) for k in (1, 2, 3))
    own = tuple(
        Parameter(f"drift{k}.{axis + 1}", "1", OWN_DRIFT_SIZE)
        for axis in range(dof)
        for k in (1, 2)
    )

    def columns(which: int, sample: Sample) -> Iterator[Column]:
        viscous = sample.per_axis("Fv") * sample.state.qd
        polynomials = sample.clock[:, which].T
        for polynomial in polynomials:
            yield every(viscous * polynomial[:, None])
        for axis in range(dof):
            for polynomial in polynomials[:2]:
                yield only(axis, dof, viscous[:, axis] * polynomial)

    for which in range(len(CLOCKS)):
        yield Term("drift", "drift", (*common, *own), partial(columns, which))


def ripple(of: Sample, order: int, family: str) -> Term:
    """Torque that waves `order` times per turn of an axis."""
    dof = of.robot.dof
    parameters = tuple(
        Parameter(f"ripple{order}.{wave}{axis + 1}", "N m", RIPPLE_SIZE * float(of.level[axis]))
        for axis in range(dof)
        for wave in ("cos", "sin")
    )

    def columns(sample: Sample) -> Iterator[Column]:
        for axis in range(dof):
            angle = order * sample.state.q[:, axis]
            yield only(axis, dof, np.cos(angle))
            yield only(axis, dof, np.sin(angle))

    return Term("ripple", family, parameters, columns, float(order))


def eccentricity(of: Sample, order: int, family: str) -> Term:
    """The encoder shows q + z with z waving `order` times per turn: the joint is at q - z."""
    dof = of.robot.dof
    size = ECCENTRIC_SIZE if order == 1 else WAVY_SIZE
    parameters = tuple(
        Parameter(f"eccentricity{order}.{wave}{axis + 1}", "rad", size * of.robot.radian[axis])
        for axis in range(dof)
        for wave in ("cos", "sin")
    )

    def columns(sample: Sample) -> Iterator[Column]:
        for axis in range(dof):
            q, qd, qdd = (a[:, axis] for a in (sample.state.q, sample.state.qd, sample.state.qdd))
            c, s, n = np.cos(order * q), np.sin(order * q), order
            yield every(-sample.pushed(axis, c, -n * s * qd, -n * n * c * qd**2 - n * s * qdd))
            yield every(-sample.pushed(axis, s, n * c * qd, -n * n * s * qd**2 + n * c * qdd))

    return Term("eccentricity", family, parameters, columns, float(order), corrects=True)


def geometry(of: Sample) -> Iterator[Term]:
    """Lengths and azimuths are a little off: a nuisance that widens intervals."""
    parameters = tuple(
        Parameter(f"{name}{i + 1}", unit, size)
        for name in geometry_fields(of.robot)
        for unit, size in [("rad", AZIMUTH_SIZE) if name == "azimuth" else ("m", LENGTH_SIZE)]
        for i in range(of.robot.legs)
    )

    moved = [changed_geometry(of.robot, {p.name: STEP}) for p in parameters]

    def columns(sample: Sample) -> Iterator[Column]:
        for robot in moved:
            yield every((sample.with_geometry(robot) - sample.bodies) / STEP)

    yield Term("geometry", "geometry", parameters, columns, corrects=True)


def homing(of: Sample) -> Iterator[Term]:
    """The arms stand at q + z with z constant: the drives were homed elsewhere.

    It belongs to the time since the last homing, not to the machine: a fit does not look for it.
    """
    unit, size = "m" if of.robot.linear else "rad", HOMING_SIZE * of.robot.radian[0]
    limbs = range(of.robot.legs)
    parameters = tuple(Parameter(f"homing{i + 1}", unit, size) for i in limbs)

    def columns(sample: Sample) -> Iterator[Column]:
        one, zero = np.ones(len(sample.part)), np.zeros(len(sample.part))
        for axis in limbs:
            yield every(sample.pushed(axis, one, zero, zero))

    yield Term("homing", "homing", parameters, columns, corrects=True)


def other(of: Sample) -> Iterator[Term]:
    """Smooth shapes without a name: they widen intervals and are never exported."""
    dof = of.robot.dof
    shapes = ("q^2", "q^3", "qd|qd|", "qd^3", "q qd", "q sign", "qdd|qdd|")
    parameters = tuple(
        Parameter(f"other.{shape}.{axis + 1}", "N m", OTHER_SIZE * float(of.level[axis]))
        for axis in range(dof)
        for shape in shapes
    )

    def columns(sample: Sample) -> Iterator[Column]:
        state = sample.state
        for axis in range(dof):
            q, qd, qdd = (a[:, axis] for a in (state.q, state.qd, state.qdd))
            q = q - q.mean()
            for values in (
                q**2, q**3, qd * np.abs(qd), qd**3, q * qd, q * sample.direction[:, axis],
                qdd * np.abs(qdd),
            ):  # fmt: skip
                size = math.sqrt(float(np.mean(values**2)))
                yield only(axis, dof, values / size if size > 0 else values)

    yield Term("other", "other", parameters, columns)


#: Families of terms that are always looked for.
FAMILIES = (offset, limbs, torque_ratio, delay, drift, geometry, other)


def candidates(of: Sample, near: Near) -> list[Term]:
    """All terms that are considered at a point."""
    found = [*friction_shape(of, near), *gear_loss(of, near)]
    found += [term for family in FAMILIES for term in family(of)]
    if not of.robot.linear:  # an encoder that turns with its arm
        found.append(eccentricity(of, 1, "eccentricity1"))
    taken: set[int] = set()
    for peak, width in near.orders:
        for order in range(max(peak - width, LOWEST), peak + width + 1):
            if order not in taken:
                taken.add(order)
                found.append(ripple(of, order, f"ripple{peak}"))
                found.append(eccentricity(of, order, f"eccentricity{peak}"))
    return [_on_rails(of.robot, term) for term in found] if of.robot.linear else found


def _on_rails(robot: Robot, term: Term) -> Term:
    """The term with the units of carriages: N and m; a spindle's axis turns."""

    def unit(p: Parameter) -> str:
        turns = robot.spindle is not None and p.name.endswith("4")
        return on_axis(p.unit, not turns and not p.name.startswith("azimuth"))

    return replace(term, parameters=tuple(p._replace(unit=unit(p)) for p in term.parameters))
