"""What the compiled kernels compute: the package's own model source, applied to CasADi symbols.

Cosines and sines are inputs: the loop around a kernel takes them from the C library, because calls
to it would keep the straight-line code from running on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi

from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.exact_columns import SPINDLE_NAMES
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.kernels.layout import AXES, COUNT, KINEMATIC, PLACES
from deltadyn.kinematics.limbs import (
    Limb,
    arm_direction,
    joint_rates,
    platform_point,
    platform_rates,
)

COLUMNS = ((False, False), (False, True), (True, False), (True, True))  # tied, sine
Symbols = tuple[Any, ...]
Groups = Sequence[Symbols]


@dataclass(frozen=True)
class Model:
    """A kernel: groups of inputs and outputs (name, width) and what makes one of the other.

    `angles` are the places (first column, count) of the angles whose cosines and sines `trace`
    finds in two more groups behind the inputs. `dof` is 0 where a kernel gives no torque; a torque
    comes with the qd and qdd that its friction needs. `whole` makes a row NaN where any part is.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    trace: Callable[[Symbols, Groups], list[Any]]
    parameters: int = KINEMATIC
    angles: tuple[int, int] = (0, 0)
    dof: int = 0
    whole: bool = False


def models() -> list[Model]:
    """All kernels, in the order of their numbers."""
    three = [(name, 3) for name in ("p", "pd", "pdd")]
    joints = tuple((name, 3) for name in ("q", "qd", "qdd"))
    arms = (("cos_q", 3), ("sin_q", 3))
    found = [
        Model("inverse_kinematics", (three[0],), arms, _inverse_kinematics),
        Model("forward_kinematics", joints[:1], (three[0],), _forward_kinematics, angles=(0, 3)),
        Model("platform_state", tuple(three), (*arms, ("qd", 3), ("qdd", 3)), _platform_state),
        Model("joint_state", joints, (*arms, *three), _joint_state, angles=(0, 3)),
    ]
    for dof in (3, 4):
        motion = [(name, dof) for name in ("qd", "qdd", "p", "pd", "pdd", "external")]
        tau = (("tau", dof),)
        psi = dof - 3
        found += [
            Model(
                f"state_torque_{dof}",
                (*arms, *motion),
                tau,
                _state_torque,
                COUNT,
                (9 + 2 * dof, psi),
                dof,
            ),
            Model(
                f"platform_torque_{dof}",
                tuple((name, dof) for name in ("p", "pd", "pdd")),
                tau,
                _platform_torque,
                COUNT,
                (3, psi),
                dof,
                whole=True,
            ),
            Model(
                f"joint_torque_{dof}",
                tuple((name, dof) for name in ("q", "qd", "qdd")),
                tau,
                _joint_torque,
                COUNT,
                (0, dof),
                dof,
                whole=True,
            ),
        ]
    found += [_regressor(dof, tied, sine) for dof in (3, 4) for tied, sine in COLUMNS]
    for dof in (3, 4):
        M = (("M", dof * dof),)
        found.append(Model(f"mass_{dof}", (*arms, ("p", dof)), M, _mass, COUNT, (9, dof - 3)))
    return found


def _regressor(dof: int, tied: bool, sine: bool) -> Model:
    """Columns (dof, n) of the inertial base parameters, row after row of one sample.

    `tied`: one column for the three arms together; `sine`: with the arms' COM off their line.
    """
    motion = [(name, dof) for name in ("qd", "qdd", "p", "pd", "pdd")]
    name = f"columns_{dof}{'_tied' if tied else ''}{'_sine' if sine else ''}"
    width = dof * len(_units(dof, tied, sine))

    def trace(par: Symbols, groups: Groups) -> list[Any]:
        c, s, qd, qdd, p, pd, pdd, *trig = groups
        xp, known, columns = Namespace(*trig), parameters_of(par, dof), []
        for unit in _units(dof, tied, sine):
            numbers = _with_unit(known, unit)
            columns.append(inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd))
        return [column[axis] for axis in range(dof) for column in columns]

    arms = (("cos_q", 3), ("sin_q", 3))
    angles = (9 + 2 * dof, dof - 3)
    return Model(name, (*arms, *motion), (("Y", width),), trace, COUNT, angles)


def _units(dof: int, tied: bool, sine: bool) -> list[tuple[str, tuple[float, ...]]]:
    """The parameter of every column, with what stands in its place: 1, or 1 for some arms."""
    arms = [(1.0, 1.0, 1.0)] if tied else [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    names = ("m_x", "A", "G", "G_s") if sine else ("m_x", "A", "G")
    units: list[tuple[str, tuple[float, ...]]] = [("M_P", (1.0,))]
    units += [(name, arm) for name in names for arm in arms]
    return units + [(name, (1.0,)) for name in (SPINDLE_NAMES if dof == 4 else ())]


def _with_unit(known: ExactParameters, unit: tuple[str, tuple[float, ...]]) -> ExactParameters:
    """The same geometry and gravity, with one parameter at 1 and the others at 0."""
    name, value = unit
    three: dict[str, Any] = dict.fromkeys(("m_x", "A", "G", "G_s"), (0.0, 0.0, 0.0))
    if name in three:
        three[name] = value
    numbers = replace(known, M_P=float(name == "M_P"), **three)
    if known.spindle is not None:
        rods = {key: float(key == name) for key in SPINDLE_NAMES}
        numbers = replace(numbers, spindle=replace(known.spindle, **rods))
    return numbers


def friction_model(dof: int) -> Model:
    """The drives' friction on top of the torque without it; not a kernel of its own.

    `direction` is sign(qd) or its smooth form, `stribeck` is exp(-(qd / vs)^2).
    """
    names = ("tau", "qd", "qdd", "direction", "stribeck")
    inputs = tuple((name, dof) for name in names)
    return Model(f"friction_{dof}", inputs, (("tau", dof),), _friction, COUNT)


class Namespace:
    """The functions that the model's source asks for; angles answer with their known symbols."""

    sqrt = staticmethod(casadi.sqrt)

    def __init__(self, cos: Symbols = (), sin: Symbols = ()) -> None:
        self._cos, self._sin = cos, sin

    def cos(self, _angle: Any) -> Any:
        return self._cos[-1]  # the model takes no cosine but that of psi

    def sin(self, _angle: Any) -> Any:
        return self._sin[-1]

    @staticmethod
    def where(condition: Any, yes: Any, no: Any) -> Any:
        return casadi.if_else(condition, yes, no)


def limbs_of(par: Symbols) -> tuple[Limb, Limb, Limb]:
    """The constants of the limbs, as symbols."""
    first, second, third = (Limb(*par[5 * i : 5 * i + 5]) for i in range(3))
    return first, second, third


def parameters_of(par: Symbols, dof: int) -> ExactParameters:
    """The exact model's parameters, as symbols."""

    def entry(name: str) -> Any:
        values = par[PLACES[name]]
        return values[0] if len(values) == 1 else tuple(values)

    return ExactParameters(
        limbs=limbs_of(par),
        **{name: entry(name) for name in ("gravity", "M_P", "m_x", "A", "G", "G_s")},
        spindle=SpindleParameters(*entry("spindle")) if dof == 4 else None,
    )


def _arms(par: Symbols, p: Symbols) -> tuple[Symbols, Symbols]:
    pairs = [
        arm_direction(Namespace(), limb, p, par[PLACES["elbow"]][i])
        for i, limb in enumerate(limbs_of(par))
    ]
    cos_q, sin_q = zip(*pairs, strict=True)
    return cos_q, sin_q


def _rates(par: Symbols, c: Symbols, s: Symbols, motion: Groups) -> tuple[Symbols, Symbols]:
    pairs = [joint_rates(limb, c[i], s[i], *motion) for i, limb in enumerate(limbs_of(par))]
    qd, qdd = zip(*pairs, strict=True)
    return (*qd, *motion[1][3:]), (*qdd, *motion[2][3:])


def _inverse_kinematics(par: Symbols, groups: Groups) -> list[Any]:
    c, s = _arms(par, groups[0])
    return [*c, *s]


def _forward_kinematics(par: Symbols, groups: Groups) -> list[Any]:
    _, c, s = groups
    return [*_point(par, c, s)]


def _point(par: Symbols, c: Symbols, s: Symbols) -> Symbols:
    return platform_point(Namespace(), limbs_of(par), c, s, par[PLACES["side"]][0])


def _platform_state(par: Symbols, groups: Groups) -> list[Any]:
    c, s = _arms(par, groups[0])
    qd, qdd = _rates(par, c, s, groups)
    return [*c, *s, *qd, *qdd]


def _joint_state(par: Symbols, groups: Groups) -> list[Any]:
    _, qd, qdd, c, s = groups
    p = _point(par, c, s)
    pd, pdd = platform_rates(limbs_of(par), c, s, p, qd, qdd)
    return [*c, *s, *p, *pd, *pdd]


def _state_torque(par: Symbols, groups: Groups) -> list[Any]:
    c, s, qd, qdd, p, pd, pdd, external, *trig = groups
    xp, numbers = Namespace(*trig), parameters_of(par, len(p))
    tau = inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd, external)
    return [*tau, *qd, *qdd]


def _mass(par: Symbols, groups: Groups) -> list[Any]:
    """M (dof, dof), row after row: torques of unit accelerations at rest, without gravity."""
    c, s, p, *trig = groups
    dof, zero = len(p), (0.0,) * len(p)
    xp, numbers = Namespace(*trig), replace(parameters_of(par, dof), gravity=0.0)
    columns = []
    for j in range(dof):
        unit = tuple(float(i == j) for i in range(dof))
        _, pdd = platform_rates(limbs_of(par), c, s, p, zero, unit)
        pdd = (*pdd, *unit[3:])
        columns.append(inverse_dynamics(xp, numbers, c, s, zero, unit, p, zero, pdd))
    return [columns[max(i, j)][min(i, j)] for i in range(dof) for j in range(dof)]


def _platform_torque(par: Symbols, groups: Groups) -> list[Any]:
    p, pd, pdd, *trig = groups
    c, s = _arms(par, p)
    qd, qdd = _rates(par, c, s, (p, pd, pdd))
    xp, numbers = Namespace(*trig), parameters_of(par, len(p))
    return [*inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]


def _joint_torque(par: Symbols, groups: Groups) -> list[Any]:
    q, qd, qdd, cos, sin = groups
    c, s = cos[:3], sin[:3]
    p = (*_point(par, c, s), *q[3:])
    pd, pdd = platform_rates(limbs_of(par), c, s, p, qd, qdd)
    pd, pdd = (*pd, *qd[3:]), (*pdd, *qdd[3:])
    xp, numbers = Namespace(cos, sin), parameters_of(par, len(q))
    return [*inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]


def _friction(par: Symbols, groups: Groups) -> list[Any]:
    tau, qd, qdd, direction, stribeck = groups

    def entry(name: str, axis: int) -> Any:
        values = par[PLACES[name]]
        assert len(values) == AXES
        return values[axis]

    total = []
    for i, s in enumerate(direction):
        forward, backward = entry("coulomb", i), entry("coulomb_negative", i)
        # forward max(s, 0) + backward min(s, 0), without a branch
        dry = (forward + backward) / 2 * s + (forward - backward) / 2 * casadi.fabs(s)
        through = tau[i] - entry("rotor", i) * qdd[i]
        share = entry("stribeck", i) * stribeck[i] + entry("load", i) * casadi.fabs(through)
        total.append(tau[i] + entry("viscous", i) * qd[i] + dry + share * s + entry("offset", i))
    return total
