"""Elastic gears: how they wind up, and the motion of the arms behind them.

All terms of a drive sit before the spring. With th the logged angle of the motor, s = sign(th'):

    tau = R th'' + fr(th') + rip(th) + mu s |tL| + tL,   tL = k w + d w' = Y(q) x,   w = th - q

At a point, u = tau - R th'' - fr - rip goes through the gear, tL = u / (1 + mu s sign u), and the
gear winds up by w = c (tL - T tL') with the compliance c = 1/k and T = d/k. So the arms are at
q = th - w. With D z = M z'' + C z' + K z, the change of the load's torque where the arms are at
q + z, the columns are

    bodies                Y(q) (1 + mu s sign tL)
    a drive's torque z    z + D(c z): what the drive takes does not wind up the gear
    encoder, th + z       -D z, and of the rotor -R z'' as a drive's torque
    c, T                  -D(tm - T tm'),  D(c tm'),   tm = Y(q) x

The columns of c, T and of the loss are made of the model's torque tm, not of the measured tL, whose
noise would be in column and residual alike and pull c towards the inverse of the inertia. The sum A
of arm and rotor stays the base parameter: R's column is its own less that of A.

Columns are made on thinned parts (`recording.prepare.gears`, which has the wind-up of a log): what
gears do to the band of a comparison is slow beside a log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import direction
from deltadyn.identification.parametrisation import wide_columns, widest
from deltadyn.identification.terms.clock import CLOCKS, DEGREES
from deltadyn.identification.terms.library import Column, Parameter, Point, Sample, Term, every
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.gears import (
    Thinned,
    behind,
    derivatives,
    through_gears,
    wound_up,
)
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered

BAND = 24.0  # Hz of the comparison, which ends at 40: above, jitter in th'' counts more than gears
LOWEST_GEAR = 40.0  # Hz, of A on its gear: the prior deviation of the compliance
ROTOR_SIZE = 0.3  # of A, where the robot's file gives none
KNOWN_ROTOR_SIZE = 0.05  # of the file's
RELAXATION_SIZE = 2e-4  # s
STIFFNESS_SIZE = 0.3  # of a known compliance
REACH = 0.015  # s before and after an instant at rest that are left out at least
LOAD_SIDE = ("limbs", "geometry")  # terms of the bodies behind the gears

Slopes = tuple[FloatArray, FloatArray, FloatArray]


# A part at the rate of the work.


@dataclass(frozen=True, eq=False)
class ThinnedColumns(Thinned):
    """A thinned part with columns that depend on the motors' motion alone, made once."""

    _kept: dict[tuple[str, float | None], list[Column]] = field(default_factory=dict)

    @classmethod
    def compared(cls, robot: Robot, part: Prepared, band: float = BAND) -> ThinnedColumns:
        """A thinned part, compared up to `band` Hz."""
        thin = cls.of(robot, part)
        return replace(thin, part=thin.part.with_band(min(band, thin.part.rate / 3)))

    def columns(self, term: Term, at: Sample) -> list[Column]:
        """Columns of a term that depends on the motors' motion alone."""
        key = (term.name, term.setting)
        if key not in self._kept:
            clock = np.zeros((len(self.fine), len(CLOCKS), DEGREES))
            full = Sample(at.robot, at.par, at.point, self.fine, clock, at.level)
            self._kept[key] = [
                tuple(None if own is None else self.thin(own) for own in column)
                for column in term.columns(full)
            ]
        return self._kept[key]

    @cached_property
    def direction(self) -> FloatArray:
        """sign(th') (N, dof), smoothed as in the robot's friction."""
        return self.thin(direction(self.fine.state.qd, self.robot.friction.smoothing))

    @cached_property
    def friction(self) -> FloatArray:
        """Columns (N, dof, f) of the model's own friction."""
        all_columns = widest(self.robot, self.fine.state, "exact").Y
        return self.thin(all_columns[:, :, _body_columns(self.robot, "exact") :])


# The model at a point.


@remembered
def _body_columns(robot: Robot, source: str) -> int:
    return wide_columns(robot, source).inertial


@dataclass(frozen=True, eq=False)
class GearedPoint(Point):
    """A point with the terms that its values belong to.

    `reach` are the seconds before and after an instant at rest whose rows are left out.
    """

    terms: tuple[Term, ...] = ()
    reach: float = REACH

    def rotor(self, robot: Robot) -> FloatArray:
        """Rotor inertia (dof,) at the output; the value `rotor` is beyond that of the file."""
        R = np.array(robot.drives.output_inertia, dtype=np.float64)
        R[: robot.legs] += self.values.get("rotor", 0.0)
        return R

    def summed(self, term: Term, columns: Iterator[Column], like: FloatArray) -> FloatArray:
        """Torque (N, dof) of a term by its values."""
        total = np.zeros_like(like)
        for parameter, column in zip(term.parameters, columns, strict=True):
            value = self.values.get(parameter.name, 0.0)
            for axis, own in enumerate(column):
                if own is not None and value:
                    total[:, axis] += value * own
        return total


@dataclass(frozen=True, eq=False)
class Geared(Sample):
    """A thinned part with the motors' motion, seen from a point with elastic gears.

    `bend` are K, C and M of the bodies near the point; without them they are taken at the point.
    Without `thinned` the part is as it is.
    """

    point: GearedPoint
    bend: Slopes | None = None
    thinned: ThinnedColumns | None = None

    @property
    def reach(self) -> float:
        """Seconds beside an instant at rest that are left out."""
        return self.point.reach

    @cached_property
    def c(self) -> float:
        """Compliance, in rad/(N m)."""
        return self.point.values.get("compliance", 0.0)

    @cached_property
    def R(self) -> FloatArray:
        """Rotor inertia (dof,) at the output, in kg m^2."""
        return self.point.rotor(self.robot)

    @cached_property
    def T(self) -> float:
        """Damping over stiffness, in s."""
        return self.point.values.get("relaxation", 0.0)

    @cached_property
    def mu(self) -> FloatArray:
        """Loss (dof,) of the gears as a share of their load."""
        values = self.point.values
        return np.array([values.get(f"mu{axis + 1}", 0.0) for axis in range(self.robot.dof)])

    @cached_property
    def _bodies(self) -> int:
        """How many wide columns belong to bodies; friction comes behind."""
        return _body_columns(self.robot, self.par.source)

    @cached_property
    def _friction(self) -> FloatArray:
        """Columns (N, dof, f) of the model's own friction, at the motors."""
        if self.thinned is not None:
            return self.thinned.friction
        return widest(self.robot, self.state, self.par.source).Y[:, :, self._bodies :]

    @cached_property
    def direction(self) -> FloatArray:
        """sign(th') (N, dof), smoothed as in the robot's friction."""
        if self.thinned is not None:
            return self.thinned.direction
        out: FloatArray = direction(self.state.qd, self.robot.friction.smoothing)
        return out

    def _of_motors(self, term: Term) -> Iterator[Column]:
        """Columns of a term of the drives, before the gears."""
        if self.thinned is not None and term.family == "shape":
            return iter(self.thinned.columns(term, self))
        return term.columns(self)

    @cached_property
    def drive(self) -> FloatArray:
        """Torque (N, dof) that drives take before the gears, but for the gears' loss."""
        found: FloatArray = self._friction @ self._x[self._bodies :] + self.R * self.state.qdd
        for term in self.point.terms:
            inside = term.name in (*LOAD_SIDE, "load", "motor_load", "elastic") or term.corrects
            if not inside:
                found += self.point.summed(term, self._of_motors(term), found)
        for axis in range(self.robot.dof):
            share = self.point.values.get(f"mu_m{axis + 1}", 0.0)
            found[:, axis] += share * self.direction[:, axis] * np.abs(self.part.tau[:, axis])
        return found

    @cached_property
    def wound(self) -> FloatArray:
        """tL (N, dof): what the measured torque leaves for the gears."""
        return through_gears(self.part.tau - self.drive, self.mu, self.direction)

    @cached_property
    def windup(self) -> FloatArray:
        """w (N, dof) in rad, from the measured torque."""
        return wound_up(self.robot, self.wound, self.c, self.T, self.part.rate)

    @cached_property
    def link(self) -> Sample:
        """The same with the motion of the arms."""
        arms = behind(self.robot, self.state, self.windup, self.part.rate)
        part = replace(self.part, state=arms)
        return Sample(self.robot, self.par, self.point, part, self.clock, self.level)

    @cached_property
    def passing(self) -> FloatArray:
        """tm (N, dof): torque of the bodies without the rotors, which passes the gears."""
        tm = self.link.wide[:, :, : self._bodies] @ self._x[: self._bodies]
        tm -= self.R * self.link.state.qdd
        for term in self.point.terms:
            if term.name == "limbs":
                tm += self.point.summed(term, term.columns(self.link), tm)
        return tm

    def load(self, share: float | None) -> FloatArray:
        """Torque through the gears; the rotor is the point's, and no share is tried."""
        return self.passing

    @cached_property
    def grown(self) -> FloatArray:
        """1 + mu s sign(tm) (N, dof): torque before the gears over that behind them."""
        return 1 + self.mu * self.direction * np.sign(self.passing)

    @cached_property
    def torque(self) -> FloatArray:
        """The model's torque (N, dof) at the motors."""
        return self.drive + self.grown * self.passing

    @cached_property
    def slopes(self) -> Slopes:
        """K, C and M (N, dof, dof) of the bodies behind the gears."""
        K, C, M = self.link.slopes if self.bend is None else self.bend
        return K, C, M - np.diag(self.R)

    @cached_property
    def _rows_of_slopes(self) -> FloatArray:
        """The slopes as (3, dof, dof, N)."""
        return np.ascontiguousarray(np.stack(self.slopes).transpose(0, 2, 3, 1))

    def moved(self, axis: int, z: FloatArray) -> FloatArray:
        """D z (dof, m, N) of moves z (m, N) of one arm."""
        zd, zdd = derivatives(z, self.part.rate, axis=1)
        K, C, M = self._rows_of_slopes[:, :, axis, None]
        out: FloatArray = K * z + C * zd + M * zdd
        return out

    def changed(self, z: FloatArray) -> FloatArray:
        """D z (N, dof) of moves z (N, dof) of the arms."""
        total = sum(self.moved(axis, z.T[axis, None])[:, 0] for axis in range(self.robot.legs))
        return np.asarray(total).T

    def before(self, axis: int, z: FloatArray) -> FloatArray:
        """Columns (dof, m, N) of torques z (m, N) of one drive: z + D(c z)."""
        if axis < self.robot.legs:
            found = self.moved(axis, self.c * z)
        else:
            found = np.zeros((self.robot.dof, *z.shape))
        found[axis] += z
        return found

    @cached_property
    def wide(self) -> FloatArray:
        """Columns (N, dof, n) of the model's own parameters."""
        bodies = self.link.wide[:, :, : self._bodies] * self.grown[:, :, None]
        friction = np.zeros_like(self._friction)
        for axis in range(self.robot.dof):
            own = np.flatnonzero(self._friction[:, axis].any(axis=0))
            z = np.ascontiguousarray(self._friction[:, axis, own].T)
            friction[:, :, own] += self.before(axis, z).transpose(2, 0, 1)
        return np.concatenate([bodies, friction], axis=2)

    def columns_of(self, term: Term) -> Iterator[Column]:
        """The columns of a term, seen through the gears."""
        if term.name in LOAD_SIDE:
            for column in term.columns(self.link):
                yield tuple(
                    None if own is None else own * self.grown[:, axis]
                    for axis, own in enumerate(column)
                )
        elif term.name == "eccentricity":
            yield from self._encoder(term)
        elif term.name == "elastic":
            yield from term.columns(self)
        else:
            for column in self._of_motors(term):
                axes = [axis for axis, own in enumerate(column) if own is not None]
                found = sum(self.before(axis, _one(column[axis]))[:, 0] for axis in axes)
                yield tuple(np.asarray(found))

    def _encoder(self, term: Term) -> Iterator[Column]:
        """Columns of encoders that show th + z."""
        assert term.setting is not None
        n = term.setting
        for axis in range(self.robot.dof):
            q, qd, qdd = (a[:, axis] for a in (self.state.q, self.state.qd, self.state.qdd))
            cos, sin = np.cos(n * q), np.sin(n * q)
            z = np.stack([cos, sin])
            zdd = n * np.stack([-sin, cos]) * qdd - n**2 * z * qd**2
            found = self.before(axis, -self.R[axis] * zdd)
            if axis < self.robot.legs:
                found -= self.moved(axis, z)
            yield tuple(found[:, 0])
            yield tuple(found[:, 1])

    def rotor_column(self, R: FloatArray, qdd: FloatArray) -> FloatArray:
        """The column (N, dof) of rotors R (dof,) taken from arms that accelerate by qdd."""
        z = R * self.state.qdd
        out: FloatArray = z + self.changed(self.c * z) - R * self.grown * qdd
        return out

    @cached_property
    def modelled_qdd(self) -> FloatArray:
        """The arms' acceleration (N, dof) where the model's torque winds up the gears."""
        w = wound_up(self.robot, self.passing, self.c, self.T, self.part.rate)
        return self.state.qdd - derivatives(w, self.part.rate)[1]

    @cached_property
    def measured(self) -> FloatArray:
        """y (N, dof) = r + J p0, so that estimates are the whole values.

        What J p0 has in common with the model cancels. Terms that the part is corrected for are
        not in it.
        """
        tm = self.passing
        lost = self.mu * self.direction * np.abs(tm)
        slow = self.T * derivatives(tm, self.part.rate)[0]
        y = self.part.tau + self.changed(self.c * (self.drive + lost - tm + 2 * slow)) + lost
        free = any(term.name == "elastic" for term in self.point.terms)
        known = np.array(self.robot.drives.output_inertia) if free else self.R
        arms = self.link.state.qdd
        y += (self.R - known) * self.grown * (arms - self.modelled_qdd)
        out: FloatArray = y - self.rotor_column(known, arms)
        return out


def _one(column: FloatArray | None) -> FloatArray:
    assert column is not None
    return column[None]


def compliance_unit(robot: Robot) -> str:
    """The unit of a gear's compliance."""
    return "m/N" if robot.linear else "rad/(N m)"


def elastic(of: Sample) -> Term:
    """Gears give way: compliance, rotor inertia beyond the file's, and relaxation T = d/k."""
    A = max(of.limb_mean("A"), 1e-9)
    known = float(np.mean(of.robot.drives.output_inertia[: of.robot.legs]))
    rotor_unit = of.robot.axis_units("inertia")[0]
    parameters = (
        Parameter(
            "compliance", compliance_unit(of.robot), 1 / (A * (2 * np.pi * LOWEST_GEAR) ** 2)
        ),
        Parameter("rotor", rotor_unit, KNOWN_ROTOR_SIZE * known if known > 0 else ROTOR_SIZE * A),
        Parameter("relaxation", "s", RELAXATION_SIZE),
    )
    arms = np.where(np.arange(of.robot.dof) < of.robot.legs, 1.0, 0.0)

    def columns(sample: Sample) -> Iterator[Column]:
        assert isinstance(sample, Geared)
        # With rigid gears tm is far from what passes elastic ones: start from the measured torque.
        tm = sample.passing if sample.c > 0 else sample.wound
        tmd = derivatives(tm, sample.part.rate)[0]
        yield every(sample.changed(sample.T * tmd - tm))
        yield every(sample.rotor_column(arms, sample.modelled_qdd))
        yield every(sample.changed(sample.c * tmd))

    return Term("elastic", "elastic", parameters, columns)


def stiffness(of: Sample) -> Iterator[Term]:
    """Gears whose compliance differs by dc from the robot's, seen from behind these.

    The arms stand at q - dc tm, so the column is -D(tm), with either sign of dc. A fit looks for
    the whole compliance.
    """
    k = of.robot.drives.stiffness
    if k is None:
        return
    parameters = (
        Parameter(
            "compliance",
            compliance_unit(of.robot),
            STIFFNESS_SIZE / float(np.mean(k[: of.robot.legs])),
        ),
    )

    def columns(sample: Sample) -> Iterator[Column]:
        R, t = np.asarray(sample.robot.drives.output_inertia), sample.part.t
        tm = sample.bodies - R * sample.state.qdd
        tmd = np.gradient(tm, t, axis=0)
        tmdd = np.gradient(tmd, t, axis=0)
        found = np.zeros_like(tm)
        for axis in range(sample.robot.legs):
            z, zd, zdd = -tm[:, axis], -tmd[:, axis], -tmdd[:, axis]
            found += sample.pushed(axis, z, zd, zdd)
            found[:, axis] -= R[axis] * zdd
        yield every(found)

    yield Term("stiffness", "elastic", parameters, columns)


# What a found point is used for.


def link_part(geared: Geared, part: Prepared) -> Prepared:
    """The part as a rigid model sees it: the arms' motion, and the torque that moves them rigidly.

    `geared` is the part corrected and thinned, at the point. What drives take at the motors' motion
    in place of the arms' is taken off the torque, so that a rigid model of all terms holds along q:
    tau' = tau - (drive(th) - drive(q)).
    """
    assert geared.thinned is not None
    motors = replace(geared, thinned=None, bend=None)
    arms = replace(motors, part=geared.link.part)
    return geared.thinned.seen(geared.link.state, motors.drive - arms.drive, part)


def motor_torque(geared: Geared) -> FloatArray:
    """The motors' torque (N, dof) where the part's motion is that of the arms.

    w + T w' = c tm, th = q + w, tau = drive(th) + tm (1 + mu s sign tm).
    """
    arms, rate = geared.state, geared.part.rate
    rigid = replace(geared, point=_rigid(geared.point))
    tm = rigid.passing
    tmd, tmdd = derivatives(tm, rate)
    w = geared.c * (tm - geared.T * (tmd - geared.T * tmdd))
    w[:, geared.robot.legs :] = 0.0
    wd, wdd = derivatives(w, rate)
    motors = State.from_joints(geared.robot, arms.q + w, arms.qd + wd, arms.qdd + wdd, hint=arms.p)
    there = replace(geared, part=replace(geared.part, state=motors))
    out: FloatArray = there.drive + (1 + geared.mu * there.direction * np.sign(tm)) * tm
    return out


def _rigid(point: GearedPoint) -> GearedPoint:
    return replace(point, values={**point.values, "compliance": 0.0})
