"""From the terms that were found to a fit: the robot gets their fields, the log their columns.

What belongs to the machine becomes a field of the robot, at 0, and a parameter of the fit like all
others. What belongs to the log (delay, drift), to the sensors, to the geometry or has no name stays
a column beside them. Each keeps its prior, so that a fit is the estimate that was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.identification.bodies.realise import nearest_consistent, robot_from_standard
from deltadyn.identification.extra import Extra
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.terms.choose import Choice, Search
from deltadyn.identification.terms.elastic import GearedPoint, link_part
from deltadyn.identification.terms.gears import elastic_drives, geared
from deltadyn.identification.terms.library import LIMB_SIZE, Sample, Term
from deltadyn.recording.prepare.corrections import (
    changed_geometry,
    contrasts,
    corrected,
    torque_ratio,
    waves,
)
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.moving import moving_rows
from deltadyn.robot import Robot
from deltadyn.robot.settings import FRICTION_FIELDS, Eccentricity, Ripple

#: Terms that become fields of the robot and parameters of the fit.
MACHINE = ("offset", "stribeck", "thinning", "load", "motor_load", "ripple", "limbs", "elastic")
#: Terms of the sensors: found as columns of the log, and kept in the robot.
SENSORS = ("torque_ratio", "eccentricity")


@dataclass(frozen=True, eq=False)
class Carried:
    """A choice made ready for a fit.

    `nominal` is the robot file's robot with fields for the terms, `machine` the one whose columns
    are taken. `at` holds the values by which logs are corrected: a fitted parameter of the log is
    the change beyond them. `priors` are values and deviations of parameters, in weighted rows;
    `limbs` those by which the limbs' parameters differ, where they do.
    """

    nominal: Robot
    machine: Robot
    tied: bool | None
    extra: Extra
    priors: Mapping[str, tuple[float, float]]
    at: Mapping[str, float]
    limbs: Mapping[str, float]

    def limb_rows(self, par: Parametrisation) -> FloatArray:
        """Prior rows (m, k + 1): the limbs' parameters differ by a few percent."""
        rows = []
        for family, size in self.limbs.items():
            if par.tied or f"{family}1" not in par.names:
                continue
            for share in contrasts(self.nominal.legs).T:
                row = np.zeros(len(par.names) + 1)
                for arm in range(len(share)):
                    row[par.names.index(f"{family}{arm + 1}")] = share[arm] / size
                rows.append(row)
        return np.array(rows).reshape(-1, len(par.names) + 1)

    def with_sensors(self, robot: Robot, values: Mapping[str, float]) -> Robot:
        """A fitted robot with what was found of its sensors, by values of the log's parameters."""
        changes = {}
        if any(name.startswith("ratio.") for name in values):
            own = np.asarray(robot.sensors.torque_ratio) * torque_ratio(robot, values)
            changes["torque_ratio"] = tuple(own.tolist())
        found = waves(robot.dof, values, "eccentricity")
        if found:
            changes["eccentricity"] = (
                *robot.sensors.eccentricity,
                *(Eccentricity(n, tuple(w[:, 0]), tuple(w[:, 1])) for n, w in found.items()),
            )
        return robot.replace(sensors=replace(robot.sensors, **changes)) if changes else robot


def carry(search: Search, choice: Choice) -> Carried:
    """What a fit needs of a choice."""
    nominal = with_fields(choice.robot, choice)
    values = choice.point.values
    root = float(np.sqrt(choice.weighing.kappa))
    logged = [term for term in choice.chosen if term.name not in MACHINE]
    priors: dict[str, tuple[float, float]] = {}
    at: dict[str, float] = {}
    for term in choice.chosen:
        for p in term.parameters:
            if term in logged:
                at[p.name] = values.get(p.name, 0.0) if term.corrects else 0.0
                priors[p.name] = (-at[p.name], p.size / root)
            elif term.name not in ("limbs", "elastic"):
                priors[p.name] = (0.0, p.size / root)
    names = tuple(p.name for term in logged for p in term.parameters)
    units = tuple(p.unit for term in logged for p in term.parameters)
    machine = nominal
    if any(term.name in ("load", "motor_load") for term in choice.chosen):
        machine = _at_values(nominal, choice)
    machine = changed_geometry(machine, at)
    seen = changed_geometry(choice.robot, at)
    elastic = any(term.name == "elastic" for term in choice.chosen)

    def columns(part: Prepared) -> FloatArray:
        clock = search.clock(part)
        sample = Sample(seen, choice.par, choice.point, part, clock, choice.level)
        found = [column for term in logged for column in term.columns(sample)]
        out = np.zeros((*part.tau.shape, len(found)))
        for j, column in enumerate(found):
            for axis, own in enumerate(column):
                if own is not None:
                    out[:, axis, j] = own
        return out

    def keep(part: Prepared) -> BoolArray:
        reach = choice.point.reach if isinstance(choice.point, GearedPoint) else None
        return moving_rows(part, choice.rest, reach)

    def see(part: Prepared) -> Prepared:
        if elastic:
            return link_part(geared(choice, seen, part, search.clock(part)), part)
        return corrected(machine, part, at)

    extra = Extra(names, units, columns if names else None, keep, see)
    tied = False if any(term.name == "limbs" for term in choice.chosen) else None
    return Carried(nominal, machine, tied, extra, priors, at, _limb_sizes(choice))


def _limb_sizes(choice: Choice) -> dict[str, float]:
    """By how much the limbs' parameters may differ, in weighted rows; none where they are alike."""
    if not any(term.name == "limbs" for term in choice.chosen):
        return {}
    base, root = choice.par.names, float(np.sqrt(choice.weighing.kappa))
    sizes = {
        family: abs(float(choice.z[base.index(family)])) * LIMB_SIZE / root
        for family in ("m_x", "A", "G")
        if family in base
    }
    return {family: size for family, size in sizes.items() if size > 0}


def with_fields(robot: Robot, choice: Choice) -> Robot:
    """The robot with fields for the terms of the machine, at 0."""
    zero, drives = (0.0,) * robot.dof, robot.drives
    friction: dict[str, tuple[float, ...]] = {}
    for term in choice.chosen:
        if term.name in ("offset", "stribeck", "thinning", "load", "motor_load"):
            friction[term.name] = zero
        if term.name in ("stribeck", "thinning"):
            friction[f"{term.name}_velocity"] = term.velocities
        if term.name == "load" and term.setting:
            rotor = rotor_inertia(choice, term)
            own = tuple(rotor) + tuple(drives.output_inertia[robot.legs :])
            drives = replace(drives, rotor_inertia=own, rotor_side="output_side")
        if term.name == "elastic":
            drives = elastic_drives(choice, drives)
        if term.name == "ripple":
            drives = replace(
                drives, ripple=(*drives.ripple, Ripple(float(term.setting or 0.0), zero, zero))
            )
    changed = robot if drives is robot.drives else robot.replace(drives=drives)
    return changed.with_friction(**friction) if friction else changed


def rotor_inertia(choice: Choice, term: Term) -> FloatArray:
    """Rotor inertia (legs,) at the output of the drives, by the share of A that fits a loss."""
    base, legs = choice.par.names, choice.robot.legs
    names = ["A"] * legs if "A" in base else [f"A{i + 1}" for i in range(legs)]
    A = np.array([choice.z[base.index(name)] for name in names])
    out: FloatArray = float(term.setting or 0.0) * A.mean() * np.ones(legs)
    return out


def _at_values(robot: Robot, choice: Choice) -> Robot:
    """The robot with the chosen model's values: a gear's loss needs the torque that they make."""
    if choice.par.source != "exact":
        return robot
    inertial = [j for j, name in enumerate(choice.par.names) if not is_friction(name)]
    names = tuple(choice.par.names[j] for j in inertial)
    found = nearest_consistent(robot, names, choice.z[inertial], choice.par.tied)
    values = dict(zip(choice.par.names, choice.z, strict=False)) | choice.values
    friction: dict[str, list[float]] = {}
    for name, value in values.items():
        if is_friction(name):
            term, axis = name.rstrip("1234"), int(name[-1]) - 1
            own = getattr(robot.friction, FRICTION_FIELDS[term])
            field = friction.setdefault(FRICTION_FIELDS[term], list(own))
            field[axis] = float(value) if term == "F0" else max(float(value), 0.0)
    changed = robot_from_standard(robot, found.standard)
    return changed.with_friction(**friction) if friction else changed


def is_friction(name: str) -> bool:
    """Whether a parameter is that of a drive's friction."""
    return name[-1] in "1234" and name.rstrip("1234") in FRICTION_FIELDS
