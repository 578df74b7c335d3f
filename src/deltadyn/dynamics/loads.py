"""Constraint loads: what a motion asks of struts, ball joints, bearings and the spindle.

A pair of rods between elbow E and platform point p has T = m_e/2 |Ed|^2 + m_x Ed.pd + m_c/2 |pd|^2
and a fixed length, so the forces on the pair at its two ends are, with g upward and s = p - E,

    f_E = m_e (Edd + g) + m_x (pdd + g) - phi + lambda s        of the arm, at the elbow
    f_P = m_x (Edd + g) + m_c (pdd + g) + phi - lambda s        of the platform

phi, normal to s, is what friction in the pair's own joints asks for (zero without any). The
platform gives lambda: with F_c the force that platform, payload, effector and spindle ask for,

    sum_i f_P,i + F_c = F_ext       =>    S^T lambda = sum_i (f_P,i at lambda = 0) + F_c - F_ext

Axial forces count tension positive: -f_E.u at the elbow, f_P.u at the platform, u = s / l2. In
between dN/dxi = m rho(xi) ((Edd + g).u + xi (pdd - Edd).u), where (pdd - Edd).u = -|sd|^2 / l2 is
never positive: N rises and then falls for any rho >= 0, with its maximum inside where the bracket
changes sign. rho is the quadratic line density that has the rod's mass, COM and inertia: uniform
for a uniform rod.

The platform does not turn. The moments about p of everything on it (`loads_platform`) are taken by
couples of the pairs: with the rods at +-w/2 t, one with delta more tension and one with delta less,
a pair of couple kappa = w delta puts -kappa t x u on the platform and +kappa t x u on the arm,

    sum_i kappa_i t_i x u_i = -M_c - sum_i r_p,i e_i x f_P,i + sum_i s_i x phi_P,i

which has one solution, so the couples need no rod spacing and the forces of the single rods do.
The force of the base on the arm and its moment about the shoulder, less the drive's part along t,

    f_S = m_arm (a_com + g) + m_elbow (Edd + g) + f_E
    M_S = l1 x_arm x f_E - kappa t x u - s x phi_E              normal to t

hold for arms that are symmetric to their plane. A rod with ten parameters counts as its thin
equivalent, as in the exact model: what its width adds to the transverse forces is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract, restore
from deltadyn.dynamics.inverse import check_state, external_wrench
from deltadyn.dynamics.loads_pairs import PairLoads, pair_loads
from deltadyn.dynamics.loads_platform import cross_rows
from deltadyn.dynamics.loads_rods import CupAxis, RodLoads, check_cup, rod_loads
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

#: Half angle of a socket's cup (rad): an assumption, because robot files do not give it.
CUP_HALF_ANGLE = math.radians(45.0)


@dataclass(frozen=True, eq=False)
class ConstraintLoads:
    """Loads along a motion, in N and N m, in base axes; arms in the second place.

    Axial forces are those of a pair of rods, tension positive. `rods` holds the loads of the
    single rods and of their ball joints, None where geometry.rod_spacing is not given.
    """

    axial_elbow: FloatArray  # (N, 3)
    axial_platform: FloatArray  # (N, 3)
    axial_max: FloatArray  # (N, 3), most tension along the strut
    axial_min: FloatArray  # (N, 3), least tension, or most compression
    elbow: FloatArray  # (N, 3, 3), of the arm on the pair
    platform: FloatArray  # (N, 3, 3), of the platform on the pair
    couple: FloatArray  # (N, 3), kappa: positive where the rod at +t has more tension
    shoulder_force: FloatArray  # (N, 3, 3), of the base on the arm
    shoulder_moment: FloatArray  # (N, 3, 3), of the base on the arm, without the drive's torque
    spindle_upper: FloatArray | None  # (N, 3), of the base on the upper rod, at its joint
    spindle_lower: FloatArray | None  # (N, 3), of the effector on the lower rod, at its joint
    rods: RodLoads | None

    @property
    def preload(self) -> float | None:
        """Smallest spring force (N) that keeps every ball in its socket during the motion."""
        return None if self.rods is None else self.rods.preload


def constraint_loads(
    robot: Robot,
    motion: State,
    external_force: npt.ArrayLike | None = None,
    cup_half_angle: float = CUP_HALF_ANGLE,
    *,
    cup_axis: CupAxis = "pin",
    friction: bool = True,
) -> ConstraintLoads:
    """Forces in struts and joints that make this motion; see the module for the equations.

    `external_force` acts at the platform point as in `inverse_dynamics`. A socket whose cup has
    the half angle `cup_half_angle` (rad, between 0 and pi/2) holds its ball while the ball's force
    stays within that angle of the outward `cup_axis`: that of the "pin", or of a cup bored square
    to the "rod", which tilts with the strut. `friction=False` leaves out friction in passive
    joints; friction of the drives is no load of the joints.
    """
    check_state(robot, motion)
    check_cup(cup_half_angle, cup_axis)
    external = external_wrench(robot, external_force, len(motion))
    if not friction:
        robot = robot.with_friction(passive=())
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = pair_loads(robot, motion, external)
        rods = rod_loads(robot, pairs, cup_half_angle, cup_axis)
    loads = ConstraintLoads(
        pairs.axial_elbow,
        pairs.axial_platform,
        pairs.axial_max,
        pairs.axial_min,
        pairs.elbow,
        pairs.platform,
        pairs.couple,
        *_shoulder(robot, motion, pairs),
        pairs.upper,
        pairs.lower,
        rods,
    )
    return _first_row(loads) if motion.single else loads


def _shoulder(robot: Robot, state: State, pairs: PairLoads) -> tuple[FloatArray, FloatArray]:
    """Force and moment (N, 3, 3) of the base on the arms; the moment is normal to t."""
    c, s = state.cos_q[..., None], state.sin_q[..., None]
    up = np.array([0.0, 0.0, 1.0])
    along, above = c * pairs.e_r - s * up, s * pairs.e_r + c * up
    qd2, qdd = state.qd[:, :3, None] ** 2, state.qdd[:, :3, None]
    com, offset, mass, elbow_mass = (
        np.array([[getattr(arm, name)] for arm in robot.arms])
        for name in ("com", "com_offset", "mass", "elbow_mass")
    )
    at_com = com * (-above * qdd - along * qd2) + offset * (along * qdd - above * qd2)
    at_com = at_com + robot.gravity * up
    force = mass * at_com + elbow_mass * pairs.at_elbow + pairs.elbow
    lever = np.asarray(robot.geometry.arm_length)[:, None] * along
    moment = cross_rows(lever, pairs.elbow) - pairs.arm_friction
    moment = moment - pairs.couple[..., None] * cross_rows(pairs.t, pairs.u)
    drive = contract("nik,ik->ni", moment, pairs.t)
    return force, moment - drive[..., None] * pairs.t


def _first_row(loads: ConstraintLoads) -> ConstraintLoads:
    """The loads of the one sample, without its row."""
    values: list[object] = []
    for item in fields(loads):
        value = getattr(loads, item.name)
        if isinstance(value, RodLoads):
            rows = (restore(getattr(value, part.name), True) for part in fields(value))
            value = RodLoads(*rows)
        elif value is not None:
            value = restore(value, True)
        values.append(value)
    return ConstraintLoads(*values)  # type: ignore[arg-type]
