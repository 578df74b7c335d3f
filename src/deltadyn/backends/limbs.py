"""Both directions of the kinematics over components, from a robot's packed numbers.

`par` holds the components of `backends.layout`, each a number or an array that goes with those of
the motion; `xp` is NumPy or `jax.numpy`, and `kind` one of `kinematics.actuation.ACTUATIONS`.
Nothing raises: what does not exist is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.layout import KINEMATIC, PLACES
from deltadyn.backends.loader import available
from deltadyn.kinematics import limbs as closed_forms
from deltadyn.kinematics.actuation import ACTUATIONS, actuation
from deltadyn.kinematics.limbs import Limbs, limbs, platform_point
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered

ROTARY = "rotary"  # the standard arm


# The robot's geometry as the compiled kernels read it.


@remembered
def packed_limbs(robot: Robot, elbows: tuple[int, ...] = (1, 1, 1), side: int = -1) -> FloatArray:
    """Limbs, elbows (+1 outward) and platform side (-1 below) in the order of `backends.layout`."""
    robot.needs_three_limbs("what the kernels, JAX and exports read")
    par = np.zeros(KINEMATIC)
    numbers = [value for limb in limbs(robot) for value in limb]  # type: ignore[attr-defined]
    par[: len(numbers)] = numbers
    par[PLACES["elbow"]] = elbows
    par[PLACES["side"]] = side
    par.flags.writeable = False
    return par


def compiled(robot: Robot) -> bool:
    """Whether the compiled kernels are in use and know robots of this kind."""
    return available() and robot.legs == 3 and (robot.dof == 3 or actuation(robot) == ROTARY)


Components = tuple[Component, ...]


def limbs_of(par: Components, kind: str = ROTARY) -> Limbs:
    """The constants of the three limbs."""
    make = ACTUATIONS[kind]
    width = len(make._fields)
    return Limbs([make(*par[width * i : width * (i + 1)]) for i in range(3)])


def arms(
    xp: Any, par: Components, p: Components, kind: str = ROTARY
) -> tuple[Components, Components]:
    """cos and sin of the arms' angles at platform points p."""
    return closed_forms.arm_directions(xp, limbs_of(par, kind), p, par[PLACES["elbow"]])


def point(xp: Any, par: Components, c: Components, s: Components, kind: str = ROTARY) -> Components:
    """The platform point of arms at cos, sin = c, s."""
    return platform_point(xp, limbs_of(par, kind), c, s, par[PLACES["side"]][0])


def platform_state(
    xp: Any, par: Components, p: Components, pd: Components, pdd: Components, kind: str = ROTARY
) -> tuple[Components, Components, Components, Components]:
    """c, s, qd, qdd of a platform motion; psi passes through."""
    c, s = arms(xp, par, p, kind)
    return c, s, *closed_forms.joint_rates(xp, limbs_of(par, kind), c, s, p, pd, pdd)


def joint_state(
    xp: Any, par: Components, q: Components, qd: Components, qdd: Components, kind: str = ROTARY
) -> tuple[Components, Components, Components, Components, Components]:
    """c, s, p, pd, pdd of a joint motion; psi passes through."""
    c, s = closed_forms.pairs_of(xp, limbs_of(par, kind), q)
    p = (*point(xp, par, c, s, kind), *q[3:])
    return c, s, p, *platform_rates(par, c, s, p, qd, qdd, kind)


def platform_rates(
    par: Components,
    c: Components,
    s: Components,
    p: Components,
    qd: Components,
    qdd: Components,
    kind: str = ROTARY,
) -> tuple[Components, Components]:
    """pd and pdd of a joint motion at a known pose; psi passes through."""
    three = limbs_of(par, kind)
    rods = closed_forms.rods_of(None, three, c, s, p)
    return closed_forms.platform_rates(three, rods, c, s, qd, qdd)


def jacobian_columns(
    par: Components, c: Components, s: Components, p: Components, kind: str = ROTARY
) -> list[Components]:
    """dp/dq_i of the three arms: pd = sum of column i times qd_i."""
    return closed_forms.jacobian_columns(closed_forms.rods_of(None, limbs_of(par, kind), c, s, p))
