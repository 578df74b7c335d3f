"""Both directions of the kinematics over components, from a robot's packed numbers.

`par` holds the components of `backends.layout`, each a number or an array that goes with those of
the motion; `xp` is NumPy or `jax.numpy`, and `kind` one of `backends.layout.KINDS`. Nothing raises:
what does not exist is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.layout import KINEMATIC, PLACES
from deltadyn.backends.loader import available, known
from deltadyn.kinematics import assemblies
from deltadyn.kinematics import limbs as closed_forms
from deltadyn.kinematics.actuation import (
    ACTUATIONS,
    HALVES,
    in_plane,
    kernel,
    kernel_name,
    legs_of,
    parts_of,
)
from deltadyn.kinematics.limbs import Limbs, limbs, platform_point
from deltadyn.kinematics.platform import POINT, Articulated, Carrier, Helical, Plane
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered

ROTARY = "rotary"  # the standard arm


# The robot's geometry as the compiled kernels read it.


@remembered
def packed_limbs(robot: Robot, elbows: tuple[int, ...] | None = None, side: int = -1) -> FloatArray:
    """Limbs, elbows (+1 outward), platform side (-1 below) and halves, as in `backends.layout`."""
    par = np.zeros(KINEMATIC)
    numbers = [value for limb in limbs(robot) for value in limb]  # type: ignore[attr-defined]
    par[: len(numbers)] = numbers
    start = PLACES["elbow"].start
    par[start : start + robot.legs] = 1 if elbows is None else elbows
    par[PLACES["side"]] = side
    carrier = limbs(robot).carrier
    if isinstance(carrier, Articulated):
        par[PLACES["carrier"]] = carrier
    elif isinstance(carrier, Helical):
        par[PLACES["carrier"]] = (0.0, 1.0, *carrier)
    if carrier.carried == 4:
        par[PLACES["home"]] = assemblies.home_pose(robot)
    par.flags.writeable = False
    return par


def compiled(robot: Robot) -> bool:
    """Whether the compiled kernels are in use and know robots of this kind."""
    return available() and _has_kernels(robot)


@remembered
def _has_kernels(robot: Robot) -> bool:
    return known(kernel(robot, "state_torque"))


Components = tuple[Component, ...]


def limbs_of(par: Components, kind: str = ROTARY) -> Limbs:
    """The constants of the limbs with those of what they carry."""
    arm, platform = parts_of(kind)
    make = ACTUATIONS[arm]
    width = len(make._fields)
    found = [make(*par[width * i : width * (i + 1)]) for i in range(legs_of(kind))]
    if platform == "planar":
        found = [in_plane(limb) for limb in found]
    return Limbs(found, _carrier(par, platform))


def _carrier(par: Components, platform: str) -> Carrier:
    phi0, rate, sigma_1, sigma_2 = par[PLACES["carrier"]]
    match platform:
        case "planar":
            return Plane()
        case "articulated":
            return Articulated(phi0, rate, sigma_1, sigma_2)
        case "helical":
            return Helical(sigma_1, sigma_2)
        case _:
            return POINT


def arms(
    xp: Any, par: Components, p: Components, kind: str = ROTARY
) -> tuple[Components, Components]:
    """cos and sin of the arms' angles at platform points p."""
    return closed_forms.arm_directions(xp, limbs_of(par, kind), p, par[PLACES["elbow"]])


def point(xp: Any, par: Components, c: Components, s: Components, kind: str = ROTARY) -> Components:
    """The platform point of arms at cos, sin = c, s, in closed form."""
    return platform_point(xp, limbs_of(par, kind), c, s, par[PLACES["side"]][0])


def pose(
    xp: Any, par: Components, q: Components, c: Components, s: Components, kind: str = ROTARY
) -> Components:
    """x of joint coordinates q with the pairs c, s; psi passes through where an axis drives it.

    A platform of halves is followed from its home pose.
    """
    if parts_of(kind)[1] in HALVES:
        return assemblies.followed(xp, limbs_of(par, kind), q, par[PLACES["home"]])
    return (*point(xp, par, c, s, kind), *q[len(c) :])


def packed_pose(par: FloatArray, q: FloatArray, kind: str) -> FloatArray:
    """x (N, 4) of joint coordinates q (N, 4) of a robot with a platform of halves, by kernels."""
    step = assemblies.compiled_step(kernel_name("pose_step", kind), par, len(q))
    home = tuple(par[PLACES["home"]])
    with np.errstate(all="ignore"):
        x = assemblies.followed(np, limbs_of(tuple(par), kind), tuple(q.T), home, step)
        return np.stack(x, axis=-1)


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
    p = pose(xp, par, q, c, s, kind)
    return c, s, p, *platform_rates(xp, par, c, s, p, qd, qdd, kind)


def platform_rates(
    xp: Any,
    par: Components,
    c: Components,
    s: Components,
    p: Components,
    qd: Components,
    qdd: Components,
    kind: str = ROTARY,
) -> tuple[Components, Components]:
    """pd and pdd of a joint motion at a known pose; psi passes through."""
    legs = limbs_of(par, kind)
    rods = closed_forms.rods_of(xp, legs, c, s, p)
    return closed_forms.platform_rates(legs, rods, c, s, qd, qdd)


def jacobian_columns(
    xp: Any, par: Components, c: Components, s: Components, p: Components, kind: str = ROTARY
) -> list[Components]:
    """dp/dq_i of the arms: pd = sum of column i times qd_i."""
    return closed_forms.jacobian_columns(closed_forms.rods_of(xp, limbs_of(par, kind), c, s, p))
