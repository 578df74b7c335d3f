"""Both directions of the kinematics over components, from a robot's packed numbers.

`par` holds the components of `backends.layout`, each a number or an array that goes with those of
the motion; `xp` is NumPy or `jax.numpy`. Nothing raises: what does not exist is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.layout import KINEMATIC, PLACES
from deltadyn.kinematics import limbs as closed_forms
from deltadyn.kinematics.limbs import Limb, limbs, platform_point
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered

# The robot's geometry as the compiled kernels read it.


@remembered
def packed_limbs(
    robot: Robot, elbows: tuple[int, int, int] = (1, 1, 1), side: int = -1
) -> FloatArray:
    """Limbs, elbows (+1 outward) and platform side (-1 below) in the order of `backends.layout`."""
    par = np.zeros(KINEMATIC)
    par[PLACES["limb"]] = [value for limb in limbs(robot) for value in limb]
    par[PLACES["elbow"]] = elbows
    par[PLACES["side"]] = side
    par.flags.writeable = False
    return par


Components = tuple[Component, ...]


def limbs_of(par: Components) -> tuple[Limb, Limb, Limb]:
    """The constants of the three limbs."""
    first, second, third = (Limb(*par[5 * i : 5 * i + 5]) for i in range(3))
    return first, second, third


def arms(xp: Any, par: Components, p: Components) -> tuple[Components, Components]:
    """cos and sin of the arms' angles at platform points p."""
    return closed_forms.arm_directions(xp, limbs_of(par), p, par[PLACES["elbow"]])


def point(xp: Any, par: Components, c: Components, s: Components) -> Components:
    """The platform point of arms at cos, sin = c, s."""
    return platform_point(xp, limbs_of(par), c, s, par[PLACES["side"]][0])


def platform_state(
    xp: Any, par: Components, p: Components, pd: Components, pdd: Components
) -> tuple[Components, Components, Components, Components]:
    """c, s, qd, qdd of a platform motion; psi passes through."""
    c, s = arms(xp, par, p)
    return c, s, *closed_forms.joint_rates(limbs_of(par), c, s, p, pd, pdd)


def joint_state(
    xp: Any, par: Components, q: Components, qd: Components, qdd: Components
) -> tuple[Components, Components, Components, Components, Components]:
    """c, s, p, pd, pdd of a joint motion; psi passes through."""
    c, s = tuple(xp.cos(x) for x in q[:3]), tuple(xp.sin(x) for x in q[:3])
    p = (*point(xp, par, c, s), *q[3:])
    return c, s, p, *platform_rates(par, c, s, p, qd, qdd)


def platform_rates(
    par: Components, c: Components, s: Components, p: Components, qd: Components, qdd: Components
) -> tuple[Components, Components]:
    """pd and pdd of a joint motion at a known pose; psi passes through."""
    three = limbs_of(par)
    rods = closed_forms.rods_of(three, c, s, p)
    return closed_forms.platform_rates(three, rods, c, s, qd, qdd)


def jacobian_columns(
    par: Components, c: Components, s: Components, p: Components
) -> list[Components]:
    """dp/dq_i of the three arms: pd = sum of column i times qd_i."""
    return closed_forms.jacobian_columns(closed_forms.rods_of(limbs_of(par), c, s, p))
