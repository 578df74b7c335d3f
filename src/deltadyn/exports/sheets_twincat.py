"""TwinCAT's dynamic model of its delta transformations: parameters, what they leave out, the error.

Names and definitions are those of Beckhoff's Information System, TF5110-TF5113, pages '3D-Delta
Type 1 (P_3C)', '3D-Delta Type 2 (P_3C2)' and 'Drive Torque'. No page has the equations: `Reduced`
is the model that these parameters suffice for, with masses in the middle of inner and outer arms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.model_test import ModelCheck, model_test
from deltadyn.exports.sheets import MM, UNVERIFIED, Parameter, table
from deltadyn.kinematics.struts import jacobian
from deltadyn.robot import Robot


@dataclass(frozen=True)
class Reduced:
    """What TwinCAT's parameters hold of a robot, in SI units; drives and friction per arm.

    Rods are half of their mass at each end, arms have theirs in the middle:

        A = I_inner + (m_link + m_outer/2) l1^2 + I_rotor
        G = m_inner l1/2 + (m_link + m_outer/2) l1
        M = m_tcp + payload + 3 m_outer/2
        tau = A qdd - g G cos(q) + J' M (pdd + g z) + Fv qd + Fc sign(qd)

    The exact model has a coupling m_x of elbow and platform beside these.
    """

    inner_mass: float
    inner_inertia: float
    outer_mass: float
    link_mass: float
    tcp_mass: float
    rotor: tuple[float, ...]
    coulomb: tuple[float, ...]
    viscous: tuple[float, ...]

    def torque(self, robot: Robot, check: ModelCheck) -> FloatArray:
        """Torques (3,) of the arms in the robot's own sign."""
        sign, offset = (np.array(x[:3]) for x in (robot.controller.sign, robot.controller.offset))
        q, qd, qdd = (
            sign * x[:3] for x in (check.q - np.r_[offset, check.q[3:]], check.qd, check.qdd)
        )
        length = robot.rotary.arm_length[0]
        elbow = self.link_mass + self.outer_mass / 2
        inertia = self.inner_inertia + elbow * length**2 + np.array(self.rotor)
        arm = self.inner_mass * length / 2 + elbow * length
        mass = self.tcp_mass + check.mass + 3 * self.outer_mass / 2
        force = mass * (check.pdd[:3] + np.array([0.0, 0.0, robot.gravity]))
        J = np.asarray(jacobian(robot, check.p)).reshape(robot.dof, robot.dof)[:3, :3]
        friction = np.array(self.viscous) * qd + np.array(self.coulomb) * np.sign(qd)
        tau: FloatArray = inertia * qdd - robot.gravity * arm * np.cos(q) + J.T @ force + friction
        return tau


def reduced(robot: Robot) -> Reduced:
    """Masses as the pages define them."""
    arm, strut = robot.rotary_arms[0], robot.struts[0]
    lower = 0.0 if robot.spindle is None else robot.spindle.lower.mass
    return Reduced(
        arm.mass,
        arm.axis_inertia,
        strut.rods * strut.mass,
        arm.elbow_mass,
        robot.platform.mass + robot.effector.mass + lower,
        tuple(robot.drives.output_inertia[:3]),
        tuple(robot.friction.coulomb[:3]),
        tuple(robot.friction.viscous[:3]),
    )


def matched(robot: Robot, plain: Reduced) -> Reduced | None:
    """Masses that give the exact gravity if masses sit in the middles; None if one is negative."""
    arm, strut = robot.rotary_arms[0], robot.struts[0]
    shift = plain.outer_mass * (strut.com_fraction - 0.5)
    found = replace(
        plain,
        inner_mass=2 * arm.mass * arm.com / robot.rotary.arm_length[0],
        link_mass=plain.link_mass - shift,
        tcp_mass=plain.tcp_mass + 3 * shift,
    )
    return found if min(found.inner_mass, found.link_mass, found.tcp_mass) >= 0 else None


def errors(robot: Robot, parameters: Reduced) -> tuple[float, float]:
    """Largest difference from the exact model and largest torque of the check points, in N m."""
    sign = np.array(robot.controller.sign[:3])
    checks = model_test(robot).checks
    exact = np.array([sign * check.torque[:3] for check in checks])
    found = np.array([parameters.torque(robot, check) for check in checks])
    return float(np.abs(found - exact).max()), float(np.abs(exact).max())


def dynamic_lines(robot: Robot) -> list[str]:
    """The part of the sheet about the dynamic model, where the three limbs are alike."""
    if len(set(robot.arms)) > 1 or len(set(robot.struts)) > 1:
        return ["left out: the limbs differ in their bodies, and the page has one set for all"]
    plain = reduced(robot)
    better = matched(robot, plain)
    lines = [
        *table(_rows(robot, plain)),
        f"payload of the robot file, a parameter of its own there: {robot.payload.mass:.9g} kg",
        "",
        "3D-Delta Type 2 (P_3C2) has the same parameters, with Upper and Lower cardan length 0 for",
        "ball joints. Of 3D-Delta T Type 3 no public text was found; the pages of 3D-Delta Y",
        "Type 4 (P_3C4) and of the tripods name no dynamic model.",
        "",
        "Drive Torque, an object per motor",
        *_drives(robot, plain),
        "",
        "What these parameters cannot say, and the error",
        *[f"- {part}" for part in _left_out(robot)],
        _error("values above", robot, plain),
    ]
    if better is not None and better != plain:
        lines += [
            _error("values below", robot, better),
            "These give the exact gravity if TwinCAT takes the masses in the middles of the arms,",
            f"which is {UNVERIFIED}:",
            *table([row for row in _rows(robot, better) if row.name.endswith("mass")]),
        ]
    return [
        *lines,
        "The exact model of this project is what the targets c and structured-text give.",
    ]


def _rows(robot: Robot, own: Reduced) -> list[Parameter]:
    rods = robot.struts[0].rods
    tcp = "platform and effector" + ("" if robot.spindle is None else ", lower spindle rod")
    inertia = own.inner_inertia * MM**2
    return [
        Parameter("Inner arm mass", own.inner_mass, "kg", "arm.mass, without elbow_mass"),
        Parameter(
            "Inner arm moment of inertia",
            inertia,
            "kg mm^2",
            "about the motor axis (P1), without rotor and elbow_mass",
        ),
        Parameter("Outer arm mass", own.outer_mass, "kg", f"strut.mass, {rods} rods together"),
        Parameter("Link mass", own.link_mass, "kg", "arm.elbow_mass"),
        Parameter("TCP mass", own.tcp_mass, "kg", f"{tcp}, without payload"),
        Parameter("Center stick mass", 0.0, "kg", "none, or in TCP mass"),
    ]


def _drives(robot: Robot, own: Reduced) -> list[str]:
    """The objects of the motors, those that are alike together."""
    found: dict[tuple[str, ...], list[int]] = {}
    for k in range(3):
        ratio = robot.drives.gear_ratio[k]
        rotor = own.rotor[k] / ratio**2 * MM**2
        rows = [
            Parameter("Drive moment of inertia", rotor, "kg mm^2", "drives.rotor_inertia"),
            Parameter("Ratio", ratio, "", "drives.gear_ratio"),
            Parameter("Gearbox moment of inertia", 0.0, "kg mm^2", "in the rotor's"),
            Parameter("Coulomb friction", own.coulomb[k], "Nm", "friction.coulomb, output side"),
            Parameter("Stokes friction", own.viscous[k], "Nms", "friction.viscous, output side"),
        ]
        found.setdefault(tuple(table(rows)), []).append(k + 1)
    lines = []
    for rows_of, arms in found.items():
        lines.append(f"arm {', '.join(map(str, arms))}")
        lines += [f"  {line}".rstrip() for line in rows_of]
    return [
        *lines,
        f"On which side of the gear the frictions count is {UNVERIFIED};",
        "at the motor they are the values above over the ratio (Coulomb) and its square (Stokes).",
    ]


def _left_out(robot: Robot) -> list[str]:
    """Parts of the robot that the reduced model has no number for."""
    arm, strut, own = robot.rotary_arms[0], robot.struts[0], robot.friction
    middle = abs(arm.com - robot.rotary.arm_length[0] / 2) > 1e-9
    named = {
        "the rods' inertia: half of their mass at each end instead of "
        "the coupling of elbow and platform": strut.mass > 0,
        "the arm's centre of mass, which is not in its middle": middle and arm.mass > 0,
        "the arm's centre of mass off its line (com_offset)": arm.com_offset != 0,
        "the rods' centre of mass, which is not in their middle": strut.com_fraction != 0.5,
        "other friction in one direction (coulomb_negative)": own.coulomb_negative is not None,
        "friction of Stribeck and thinning": own.stribeck is not None or own.thinning is not None,
        "offset of the torque": own.offset is not None,
        "losses by load": own.load is not None or own.motor_load is not None,
        "friction in passive joints": bool(own.passive),
        "ripple of the drives": bool(robot.drives.ripple),
        "the spindle's rods, and what turns with psi": robot.spindle is not None,
    }
    return [name for name, there in named.items() if there]


def _error(what: str, robot: Robot, parameters: Reduced) -> str:
    worst, most = errors(robot, parameters)
    return (
        f"{what}: the torque is off by at most {worst:.3g} N m of {most:.4g} N m "
        f"({worst / most:.1%}) at the {len(model_test(robot).checks)} check points of the model"
    )
