"""The bodies of a robot as a convex set: free variables, cones, priors and scales over a list of
standard parameters.

Standard parameters v (n,) are those of the rigid model's regressor. A fit moves the free variables
z (k,) of a family, v = T z: masses, first moments and second moments of mass that reach the torque.

* family "rigid": struts and rods of the spindle with ten variables and a 4x4 pseudo-inertia;
* family "exact": struts and rods thin, as the exact model has them;
* family "reduced": the rigid one with symmetric struts and rods, [gnad2024] section VI.

On rails a carriage and its counterweight move straight: of each only the mass reaches the force.
So do the halves of a platform; the bars between them turn as the effector does.
Arms turn about one axis and effectors about another, so that only m, two first moments and one
inertia of theirs reach the torque. Such a body exists if and only if the 3x3 matrix
[[I, m c_x, m c_z], [m c_x, m, 0], [m c_z, 0, m]] is positive semidefinite; `complete` fills in the
rest of its ten parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.regressor import Regressor, regressor
from deltadyn.dynamics.rigid import LIMBS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.body import Body, Cone, Hull, body_of, scalar_of
from deltadyn.robot import Robot
from deltadyn.robot.settings import is_ripple

Family = Literal["rigid", "reduced", "exact"]
FAMILIES = ("rigid", "reduced", "exact")
LIMB_BODIES = ("arm", "carriage", "counterweight", "strut", "rotor")
COMPLETED = (
    "arm",
    "effector",
    "bars",
    "platform",
    "carriage",
)  # not all their entries reach the torque


@dataclass(frozen=True, eq=False)
class Bodies:
    """The consistent values of standard parameters `names`, for one family.

    v = T z (n, k) with the scaled free variables z; `prior` (n,) holds the robot's own values,
    `interior` (k,) a point inside all cones.
    """

    robot: Robot
    family: Family
    names: tuple[str, ...]
    tied: bool
    hull: Hull | None
    bodies: tuple[Body, ...]
    variables: tuple[str, ...]
    T: FloatArray
    scale: FloatArray  # (k,) of each free variable
    prior: FloatArray
    interior: FloatArray

    @classmethod
    def of(
        cls,
        robot: Robot,
        names: Iterable[str] | None = None,
        family: str = "exact",
        *,
        tied: bool | None = None,
        hull: Hull | bool = True,
    ) -> Bodies:
        """The bodies of a robot over these standard parameters; by default over all of them.

        `hull=False` asks for consistency alone: it bounds no mass and no COM.
        """
        if family not in FAMILIES:
            raise UnknownNameError("family", family, FAMILIES)
        own = standard_parameters(robot, tied)
        chosen = own.names if names is None else tuple(names)
        known = dict(zip(own.names, own.parameters, strict=True))
        strange = [name for name in chosen if name not in known]
        if strange:
            raise InputError(
                "names", strange[0], "standard parameters of the robot: " + ", ".join(own.names)
            )
        rules = (Hull() if hull else None) if isinstance(hull, bool) else hull
        return _build(robot, family, chosen, known, rules)  # type: ignore[arg-type]

    def reduced(self) -> Bodies:
        """The same parameters with symmetric struts and rods [gnad2024] section VI."""
        rules: Hull | bool = False if self.hull is None else self.hull
        return Bodies.of(self.robot, self.names, "reduced", tied=self.tied, hull=rules)

    @property
    def cones(self) -> tuple[Cone, ...]:
        """All cones of all bodies."""
        return tuple(cone for body in self.bodies for cone in body.cones)

    @property
    def prior_variables(self) -> FloatArray:
        """The free variables (k,) nearest to the robot's own values."""
        return self.variables_of(self.prior)

    def variables_of(self, values: FloatArray) -> FloatArray:
        """The free variables (k,) nearest to standard values (n,)."""
        return np.asarray(np.linalg.lstsq(self.T, values, rcond=None)[0], dtype=np.float64)

    def vector(self, values: Mapping[str, float]) -> FloatArray:
        """Standard values (n,) from a mapping; what it lacks is an error."""
        missing = [name for name in self.names if name not in values]
        if missing:
            raise InputError("values", list(values), f"a value for {missing[0]}")
        return np.array([float(values[name]) for name in self.names])

    def margin(self, values: FloatArray) -> float:
        """Smallest margin of all cones at standard values (n,); negative where one is violated."""
        return min(cone.margin(values) for cone in self.cones)

    def inward(self, z: FloatArray, least: float = 0.0) -> tuple[FloatArray, float]:
        """z moved by the least share towards the interior such that every cone holds; the share.

        `least` is the margin to reach. The smallest eigenvalue is concave, so the share follows
        from its values at both ends.
        """
        v, inside = self.T @ z, self.T @ self.interior
        share = 0.0
        for cone in self.cones:
            here = cone.margin(v)
            if here < least:
                share = max(share, (least - here) / (cone.margin(inside) - here))
        share = min(share * (1 + 1e-6), 1.0)
        return z + share * (self.interior - z), share

    def complete(self, values: FloatArray) -> FloatArray:
        """Standard values (n,) whose entries without influence are those of a consistent body."""
        out = values.copy()
        index = {name: j for j, name in enumerate(self.names)}
        for body in self.bodies:
            if body.kind not in COMPLETED:
                continue
            ten = {entry: values[index[f"{body.name}.{entry}"]] for entry in body.entries if entry}
            for entry, value in _completed(self.robot, body.kind, ten).items():
                name = f"{body.name}.{entry}"
                if name in index and entry not in body.entries:
                    out[index[name]] = value
        return out

    def standard(self, z: FloatArray) -> dict[str, float]:
        """Completed standard values by name, from free variables (k,)."""
        full = self.complete(self.T @ z)
        return {name: float(value) for name, value in zip(self.names, full, strict=True)}


def standard_parameters(robot: Robot, tied: bool | None = None) -> Regressor:
    """Names, units and the robot's own values of the rigid model's parameters, with friction."""
    return regressor(robot, exciting_states(robot, 1, 0), "rigid", tied=tied, friction=True)


def tied_names(robot: Robot, values: Mapping[str, float]) -> bool:
    """Whether these names give the limbs common parameters."""
    bodies = {name.partition(".")[0] for name in values}
    common = bodies & set(LIMB_BODIES)
    limb = re.compile(rf"({'|'.join(LIMB_BODIES)})[{LIMBS[: robot.legs]}]")
    single = {name for name in bodies if limb.fullmatch(name)}
    if common and single:
        raise InputError(
            "standard parameters", sorted(common | single), "tied or per arm, not both"
        )
    return bool(common) or (not single and robot.equal_limbs)


def _build(
    robot: Robot,
    family: Family,
    names: tuple[str, ...],
    known: Mapping[str, float],
    hull: Hull | None,
) -> Bodies:
    index = {name: j for j, name in enumerate(names)}
    parts: list[Body] = []
    done: set[str] = set()
    for name in names:
        body = name.partition(".")[0]
        inertial = "." in name and name.rpartition(".")[2] not in ("Fv", "Fc")
        if inertial and not is_ripple(name):
            if body not in done:
                done.add(body)
                parts.append(body_of(robot, body, family, index, known, hull))
        else:
            parts.append(scalar_of(robot, name, index, known))
    k = sum(len(part.variables) for part in parts)
    T = np.zeros((len(names), k))
    start = 0
    for part in parts:
        for offset, form in enumerate(part.forms):
            for entry, factor in form.items():
                full = f"{part.name}.{entry}" if entry else part.name
                T[index[full], start + offset] += factor
        start += len(part.variables)
    scale = np.concatenate([part.scale for part in parts])
    return Bodies(
        robot=robot,
        family=family,
        names=names,
        tied=any(name in ("arm.m", "carriage.m", "rotor") for name in names),
        hull=hull,
        bodies=tuple(parts),
        variables=tuple(name for part in parts for name in part.variable_names),
        T=T,
        scale=scale,
        prior=np.array([known[name] for name in names]),
        interior=np.concatenate([part.interior for part in parts]),
    )


def _completed(robot: Robot, kind: str, ten: Mapping[str, float]) -> dict[str, float]:
    """Entries of a planar body that do not reach the torque, as the robot's bodies have them."""
    if kind in ("platform", "carriage"):
        return dict.fromkeys(("mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz"), 0.0)
    if kind == "arm":  # as `planar_body` has it, also where no body exists
        m, hx, hz = ten["m"], ten["mcx"], ten["mcz"]
        xx, xz = (hz**2 / m, -hx * hz / m) if m > 0 else (0.0, 0.0)
        rest = {"Ixx": xx, "Izz": ten["Iyy"] - xx, "Ixz": xz}
        return {"mcy": 0.0, "Ixy": 0.0, "Iyz": 0.0} | rest
    if kind == "bars":  # as `flat_body` has it
        m, hx, hy = ten["m"], ten["mcx"], ten["mcy"]
        xx, xy = (hy**2 / m, -hx * hy / m) if m > 0 else (0.0, 0.0)
        rest = {"Ixx": xx, "Iyy": ten["Izz"] - xx, "Ixy": xy}
        return {"mcz": 0.0, "Iyz": 0.0, "Ixz": 0.0} | rest
    return _completed_effector(robot, ten)


def _completed_effector(robot: Robot, ten: Mapping[str, float]) -> dict[str, float]:
    """Effector and payload as `effector_body` has them, also where no body exists."""
    payload = robot.payload
    m, hx, hy, about = without_payload(robot, ten)
    com = np.array([hx / m, hy / m, robot.effector.com[2]]) if m > 0 else np.zeros(3)
    pieces = (
        (m, com, about - m * (com[0] ** 2 + com[1] ** 2)),
        (payload.mass, np.array(payload.offset), payload.inertia_zz),
    )
    moment, inertia = np.zeros(3), np.zeros((3, 3))
    for mass, c, zz in pieces:
        moment += mass * c
        inertia += mass * (c @ c * np.eye(3) - np.outer(c, c)) + zz * np.diag([0.5, 0.5, 1.0])
    entries = ("Ixx", "Iyy", "Ixy", "Iyz", "Ixz")
    places = ((0, 0), (1, 1), (0, 1), (1, 2), (0, 2))
    rest = {entry: float(inertia[place]) for entry, place in zip(entries, places, strict=True)}
    return {"mcz": float(moment[2])} | rest


class EffectorAlone(NamedTuple):
    """Mass, first moments and I_zz about the platform point of the effector without its payload."""

    m: float
    mcx: float
    mcy: float
    Izz: float


def without_payload(robot: Robot, ten: Mapping[str, float]) -> EffectorAlone:
    """What the declared payload leaves of effector and payload together."""
    payload = robot.payload
    px, py, _ = payload.offset
    about = ten["Izz"] - payload.inertia_zz - payload.mass * (px**2 + py**2)
    return EffectorAlone(
        ten["m"] - payload.mass,
        ten["mcx"] - payload.mass * px,
        ten["mcy"] - payload.mass * py,
        about,
    )
