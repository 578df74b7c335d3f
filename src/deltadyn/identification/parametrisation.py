"""The parameters that a fit estimates, as a linear map into the widest regressor's columns.

The widest regressor gives every arm its own parameters. Tied limbs, arms whose COM is on their
line and the papers' simplified models are restrictions wide = T x + offset of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import (
    base_parameters,
    exciting_states,
    hidden,
    level_rails,
    unseen_names,
)
from deltadyn.dynamics.lumped import half_half_parameters, virtual_work_parameters
from deltadyn.dynamics.regressor import Regressor, regressor
from deltadyn.dynamics.rigid import LIMBS, effector_body
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS

#: Models that can be fitted, and the regressor whose columns they restrict.
SOURCES = {
    "exact": "exact",
    "rigid": "rigid",
    "half-half": "exact",
    "euler-lagrange": "exact",
    "virtual-work": "exact",
    "gray-box": "exact",
}
LIMB_NAMES = ("m_x", "A", "G", "G_s")


class Wide(NamedTuple):
    """Names, units and the robot's values of the widest regressor's columns."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    inertial: int  # how many come before friction


@dataclass(frozen=True, eq=False)
class Parametrisation:
    """k parameters of a model with names, units and the robot's values; wide = T x + offset.

    The last of the wide columns may be those of a log, `log_names` (m), and their parameters come
    last in `names`, too. They are no part of the robot: `columns` and `torque` leave them out.
    `unseen` are parameters that no motion of the robot tells; they stay at its values.
    """

    model: str
    source: str
    wide_names: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]
    prior: FloatArray
    T: FloatArray
    offset: FloatArray
    tied: bool
    log_names: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def own(self) -> int:
        """How many of the parameters are the robot's; those of a log come behind them."""
        return sum(name not in self.log_names for name in self.names)

    def wide(self, x: FloatArray) -> FloatArray:
        """The wide parameters (n,) of x (k,)."""
        out: FloatArray = self.T @ x + self.offset
        return out

    def columns(self, robot: Robot, state: State) -> FloatArray:
        """Y (N, dof, k) of the parameters, without the known part of the torque.

        Columns of a log are zero: a state does not tell them.
        """
        Y = widest(robot, state, self.source).Y
        return Y @ self.T[: Y.shape[2]]

    def torque(self, robot: Robot, state: State, x: FloatArray) -> FloatArray:
        """Torque (N, dof) of the robot's parameters among x (k,), in N m."""
        Y = widest(robot, state, self.source).Y
        return Y @ self.wide(x)[: Y.shape[2]]

    def with_extra(
        self, names: Sequence[str], units: Sequence[str], prior: npt.ArrayLike | None = None
    ) -> Parametrisation:
        """The same with the parameters of a log behind the others, as `Extra` has their columns.

        `prior` (m,) are their values before the fit, 0 where none are given.
        """
        more = tuple(names)
        values = np.zeros(len(more)) if prior is None else np.asarray(prior, dtype=np.float64)
        if len(set(more)) != len(more) or set(more) & {*self.names, *self.wide_names}:
            raise InputError("names of extra parameters", more, "each once, none of the robot's")
        if len(units) != len(more) or values.shape != (len(more),):
            given = (len(units), values.shape)
            raise InputError("units and prior of extra parameters", given, f"{len(more)} each")
        (n, k), m = self.T.shape, len(more)
        T = np.zeros((n + m, k + m))
        T[:n, :k], T[n:, k:] = self.T, np.eye(m)
        return replace(
            self,
            wide_names=self.wide_names + more,
            names=self.names + more,
            units=(*self.units, *units),
            prior=np.append(self.prior, values),
            T=T,
            offset=np.append(self.offset, np.zeros(m)),
            log_names=self.log_names + more,
        )

    def without(
        self, names: Collection[str], values: Mapping[str, float] | None = None
    ) -> Parametrisation:
        """The same with some parameters held, at these values or at the robot's own."""
        keep = np.array([name not in names for name in self.names])
        held = dict(zip(self.names, self.prior.tolist(), strict=True)) | dict(values or {})
        fixed = self.T[:, ~keep] @ np.array([held[name] for name in self.names])[~keep]
        return replace(
            self,
            names=tuple(n for n, k in zip(self.names, keep, strict=True) if k),
            units=tuple(u for u, k in zip(self.units, keep, strict=True) if k),
            prior=self.prior[keep],
            T=self.T[:, keep],
            offset=self.offset + fixed,
        )


def parametrise(
    robot: Robot, model: str = "exact", *, tied: bool | None = None, com_offset: bool | None = None
) -> Parametrisation:
    """The parameters of a model for this robot.

    `tied` gives the limbs common bodies, by default where the robot's are equal; friction
    belongs to its drive in any case. `com_offset` adds the arms' sine gravity terms.
    """
    if not isinstance(model, str) or model not in SOURCES:
        raise UnknownNameError("model", model, SOURCES)
    if tied is None:
        tied = robot.equal_limbs
    elif tied and not robot.equal_limbs:
        raise InputError("tied", tied, "False: the limbs of this robot are not equal")
    if com_offset is not None and model != "exact":
        raise InputError("com_offset", com_offset, "None for models other than 'exact'")
    wide = wide_columns(robot, SOURCES[model])
    if model == "rigid":
        return _rigid(robot, wide, tied)
    if model != "exact":
        if robot.legs != ARMS:
            allowed = f"'exact' or 'rigid' for {robot.name!r}: this one is of a paper on three arms"
            raise InputError("model", model, allowed)
        robot.needs_standard_arms()
    if com_offset and robot.linear:
        raise InputError("com_offset", com_offset, "None or False on rails: they have no G_s")
    if com_offset is None:
        com_offset = not robot.linear and any(arm.com_offset != 0 for arm in robot.rotary_arms)
    build = _Builder(wide)
    if model == "exact":
        _exact(build, robot, tied, com_offset)
    elif model == "virtual-work":
        _virtual_work(build, robot)
    elif model == "gray-box":
        _gray_box(build, robot)
    else:
        _coupled_out(build, robot, model, tied)
    if model != "exact" and robot.dof == 4:
        build.add("I_psi", "kg m^2", wide.values[wide.names.index("I_psi")], {"I_psi": 1.0})
    for name in wide.names[wide.inertial :]:
        j = wide.names.index(name)
        build.add(name, wide.units[j], wide.values[j], {name: 1.0})
    return build.done(model, "exact", tied)


def widest(robot: Robot, state: State, source: str, *, friction: bool = True) -> Regressor:
    """The widest regressor of a model: every arm has its own parameters, and all that it can."""
    offset = True if source == "exact" else None
    return regressor(robot, state, source, tied=False, com_offset=offset, friction=friction)


def wide_columns(robot: Robot, source: str) -> Wide:
    """The columns of the widest regressor of a robot."""
    state = exciting_states(robot, 1)
    full, bare = (widest(robot, state, source, friction=wanted) for wanted in (True, False))
    return Wide(full.names, full.units, full.parameters, len(bare.names))


def payload_direction(robot: Robot, source: str) -> FloatArray:
    """What one kg of payload at the robot's payload offset adds to the wide parameters (n,)."""
    names = wide_columns(robot, source).names
    with_one = effector_body(robot.with_payload(robot.payload.mass + 1.0, robot.payload.offset))
    more = with_one.vector() - effector_body(robot).vector()
    added = {"m": more[0], "mcx": more[1], "mcy": more[2], "Izz": more[6]}
    if source == "exact":
        shares = {"M_P": 1.0, "h_x": added["mcx"], "h_y": added["mcy"], "I_psi": added["Izz"]}
    elif not robot.turns:
        shares = {"platform.m": 1.0}
    else:
        shares = {f"effector.{entry}": value for entry, value in added.items()}
    return np.array([shares.get(name, 0.0) for name in names])


class _Builder:
    """Collects parameters, each with its shares in the wide ones."""

    def __init__(self, wide: Wide) -> None:
        self.wide = wide
        self.items: list[tuple[str, str, float, FloatArray]] = []
        self.offset = np.zeros(len(wide.names))
        self.unseen: list[str] = []

    def add(self, name: str, unit: str, prior: float, shares: dict[str, float]) -> None:
        column = np.zeros(len(self.wide.names))
        for wide_name, share in shares.items():
            column[self.wide.names.index(wide_name)] = share
        self.items.append((name, unit, float(prior), column))

    def fix(self, name: str, value: float) -> None:
        self.offset[self.wide.names.index(name)] = value

    def done(self, model: str, source: str, tied: bool) -> Parametrisation:
        names, units, prior, columns = zip(*self.items, strict=True)
        T = np.column_stack(columns)
        return Parametrisation(
            model,
            source,
            self.wide.names,
            names,
            units,
            np.array(prior),
            T,
            self.offset,
            tied,
            unseen=tuple(self.unseen),
        )


def _exact(build: _Builder, robot: Robot, tied: bool, com_offset: bool) -> None:
    """M_P, the limbs' parameters tied or per arm, the spindle's."""
    wide, level, unseen = build.wide, level_rails(robot), unseen_names(robot, tied)
    limbs = [str(i + 1) for i in range(robot.legs)]
    joined: dict[str, float] = {}
    for item in hidden(robot, tied):
        for name, other, share in item.joins:
            joined[other] = joined.get(other, 0.0) + share * wide.values[wide.names.index(name)]
    for j, name in enumerate(wide.names[: wide.inertial]):
        family = name.rstrip(LIMBS)
        if family == "G_s" and not com_offset:
            continue
        if name in level:
            build.fix(name, wide.values[j])
            continue
        if name in unseen:  # the parameters that it joins hold it
            continue
        if family in LIMB_NAMES and tied:
            if name.endswith("1"):
                shares = {f"{family}{i}": 1.0 for i in limbs}
                build.add(family, wide.units[j], wide.values[j], shares)
            continue
        build.add(name, wide.units[j], wide.values[j] + joined.get(name, 0.0), {name: 1.0})
    build.unseen.extend(unseen)


def _virtual_work(build: _Builder, robot: Robot) -> None:
    """[kim2022] eq. 30: m_P, T_g = g G and one inertia per arm, no coupling."""
    par, g = virtual_work_parameters(robot), robot.gravity
    if g == 0:
        raise InputError("gravity", g, "above 0 m/s^2: T_g has no influence without it")
    build.add("m_P", "kg", par.M_P, {"M_P": 1.0})
    build.add("T_g", "N m", g * par.G[0], {f"G{i}": 1 / g for i in (1, 2, 3)})
    for i in (1, 2, 3):
        build.add(f"I{i}", "kg m^2", par.A[i - 1], {f"A{i}": 1.0})


def _gray_box(build: _Builder, robot: Robot) -> None:
    """[falezza2020] eq. 6: the nominal half-half model with rho1 on inertia and rho2 on gravity."""
    par, box, rotor = half_half_parameters(robot), robot.gray_box, robot.drives.output_inertia
    build.fix("M_P", par.M_P)
    for i in (1, 2, 3):
        build.fix(f"A{i}", rotor[i - 1])
    build.add("rho1", "1", box.rho1, {f"A{i}": par.A[i - 1] - rotor[i - 1] for i in (1, 2, 3)})
    build.add("rho2", "1", box.rho2, {f"G{i}": par.G[i - 1] for i in (1, 2, 3)})


def _coupled_out(build: _Builder, robot: Robot, model: str, tied: bool) -> None:
    """Half of each strut at its ends: M_P, A and G, and no m_x."""
    par = half_half_parameters(robot, uniform_arm=model == "half-half")
    for i in (1, 2, 3):
        build.fix(f"G_s{i}", par.G_s[i - 1])
    build.add("M_P", "kg", par.M_P, {"M_P": 1.0})
    for name, unit, values in (("A", "kg m^2", par.A), ("G", "kg m", par.G)):
        if tied:
            build.add(name, unit, values[0], {f"{name}{i}": 1.0 for i in (1, 2, 3)})
        else:
            for i in (1, 2, 3):
                build.add(f"{name}{i}", unit, values[i - 1], {f"{name}{i}": 1.0})


def _rigid(robot: Robot, wide: Wide, tied: bool) -> Parametrisation:
    """Base parameters by QR [gnad2024]: the independent columns carry all others."""
    base = base_parameters(robot, "rigid", tied, friction=True)
    tie = tie_map(wide.names, base.standard)
    chosen = [base.standard.index(name) for name in base.independent]
    units = tuple(item.unit for item in base.parameters)
    prior = np.array([item.value for item in base.parameters])
    zero = np.zeros(len(wide.names))
    return Parametrisation(
        "rigid", "rigid", wide.names, base.independent, units, prior, tie[:, chosen], zero, tied
    )


def tie_map(wide: tuple[str, ...], standard: tuple[str, ...]) -> FloatArray:
    """(n, m) with wide = map @ standard, where standard names limbs in common or one by one."""
    index = {name: j for j, name in enumerate(standard)}
    out = np.zeros((len(wide), len(standard)))
    for i, name in enumerate(wide):
        body, dot, entry = name.partition(".")
        common = body.rstrip(LIMBS) + dot + entry
        out[i, index[name if name in index else common]] = 1.0
    return out
