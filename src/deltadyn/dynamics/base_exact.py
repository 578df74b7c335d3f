"""The exact model's base parameters as groups of the robot's bodies, in symbols and as a matrix.

With m the mass of a strut pair, f its COM's fraction, rho = m f l2 and Ie its transverse inertia
about the elbow:

    M_P = platform + payload + effector + lower rod + sum Ie/l2^2,      m_x = rho/l2 - Ie/l2^2
    A   = arm about its axis + rotor + l1^2 (m - 2 rho/l2 + Ie/l2^2)
    G   = (m c)_arm + l1 (m - rho/l2),      H = both rods of the spindle about their own joints
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot


class Group(NamedTuple):
    """How a base parameter is made: in symbols and in words."""

    expression: str
    meaning: str


#: Symbols of the expressions, and what they stand for.
LEGEND = {
    "rho": "m, f: mass of a strut pair and its COM from elbow (0) to platform (1); rho = m f l2",
    "Ie": "Ie: the strut pair's transverse inertia about the elbow",
    "I_arm": "I_arm: the arm about its drive's axis, "
    "arm.inertia + arm.mass (arm.com^2 + arm.com_offset^2)",
    "I_ez": "I_ez: effector and payload about axis 4, sum of inertia_zz + mass (x^2 + y^2)",
}

_LIMB = {
    "m_x": Group("rho/l2 - Ie/l2^2", "strut mass that couples elbow and platform"),
    "A": Group(
        "I_arm + rotor + l1^2 (arm.elbow_mass + m - 2 rho/l2 + Ie/l2^2)",
        "inertia about the drive's axis: arm, rotor, the strut's share at the elbow",
    ),
    "G": Group(
        "arm.mass arm.com + l1 (arm.elbow_mass + m - rho/l2)",
        "gravity moment of the arm, with the strut's share at the elbow",
    ),
    "G_s": Group("arm.mass arm.com_offset", "gravity moment of the arm's COM off its line"),
}
_SPINDLE = {
    "H": Group(
        "upper.inertia + upper.mass upper.com^2 + lower.inertia + lower.mass lower.com^2",
        "both rods across their axis, each about its own joint",
    ),
    "kappa": Group("lower.mass lower.com", "first moment of the lower rod"),
    "mu": Group("upper.mass upper.com", "first moment of the upper rod"),
    "I_axial": Group("upper.axial_inertia + lower.axial_inertia", "both rods about their axis"),
    "h_x": Group(
        "effector.mass effector.com_x + payload.mass payload.offset_x",
        "first moment of effector and payload along x",
    ),
    "h_y": Group(
        "effector.mass effector.com_y + payload.mass payload.offset_y",
        "first moment of effector and payload along y",
    ),
    "I_psi": Group("I_ez + rotor4", "inertia about axis 4: effector, payload, rotor"),
}


def exact_group(robot: Robot, name: str, tied: bool) -> Group:
    """The grouping of one base parameter; that of a limb names its limb where not tied."""
    if name == "M_P":
        lower = "" if robot.spindle is None else " + lower.mass"
        struts = "3 Ie/l2^2" if tied else "sum of Ie/l2^2 over the limbs"
        return Group(
            f"platform.mass + payload.mass + effector.mass{lower} + {struts}",
            "all that moves with the platform, with the struts' share",
        )
    if name in _SPINDLE:
        return _SPINDLE[name]
    if name in _LIMB:
        return _LIMB[name]
    group = _LIMB[name[:-1]]
    return Group(group.expression, f"{group.meaning}; limb {name[-1]}")


def exact_base_map(
    robot: Robot, base_names: tuple[str, ...], standard_names: tuple[str, ...], tied: bool
) -> FloatArray:
    """K (b, n): exact base parameters = K @ standard parameters of the rigid model.

    Where the bodies are thin (see `thin_bodies`), Y_exact @ K @ phi = Y_rigid @ phi. The two
    transverse inertias of struts and rods count half each. A name in both lists maps to itself.
    """
    K = np.zeros((len(base_names), len(standard_names)))
    row = {name: i for i, name in enumerate(base_names)}
    column = {name: j for j, name in enumerate(standard_names)}
    for base, standard, factor in _entries(robot, tied):
        if base in row:
            K[row[base], column[standard]] += factor
    for name in base_names:
        if name in column:
            K[row[name], column[name]] = 1.0
    return K


def thin_bodies(standard_names: tuple[str, ...]) -> FloatArray:
    """Columns (n, k): directions of the standard parameters that keep struts and rods thin.

    Arms, platform, effector, rotors and friction are free. A strut keeps m, m c_x and
    I_yy = I_zz, a rod of the spindle m, m c_z, I_xx = I_yy and I_zz.
    """
    index = {name: j for j, name in enumerate(standard_names)}
    keep: list[tuple[str, ...]] = []
    for name in standard_names:
        body, _, entry = name.partition(".")
        kind = body.rstrip("123")
        if kind == "strut":
            if entry in ("m", "mcx"):
                keep.append((name,))
            elif entry == "Iyy":
                keep.append((name, f"{body}.Izz"))
        elif kind in ("upper", "lower"):
            if entry in ("m", "mcz", "Izz"):
                keep.append((name,))
            elif entry == "Ixx":
                keep.append((name, f"{body}.Iyy"))
        else:
            keep.append((name,))
    T = np.zeros((len(standard_names), len(keep)))
    for k, group in enumerate(keep):
        T[[index[name] for name in group], k] = 1.0
    return T


def _entries(robot: Robot, tied: bool) -> Iterator[tuple[str, str, float]]:
    """Base parameter, standard parameter and factor, for every pair that is linked."""
    g = robot.geometry
    for i in range(3):
        limb = "" if tied else str(i + 1)
        l1, l2, rods = g.arm_length[i], g.strut_length[i], robot.struts[i].rods
        arm, strut = f"arm{limb}", f"strut{limb}"
        half = rods / (2 * l2**2)  # each of I_yy and I_zz is half of the transverse inertia
        for inertia in (f"{strut}.Iyy", f"{strut}.Izz"):
            yield "M_P", inertia, half
            if i and tied:
                continue  # tied limbs share all but the platform's sum
            yield f"m_x{limb}", inertia, -half
            yield f"A{limb}", inertia, half * l1**2
        if i and tied:
            continue
        yield f"m_x{limb}", f"{strut}.mcx", rods / l2
        yield f"A{limb}", f"{strut}.m", rods * l1**2
        yield f"A{limb}", f"{strut}.mcx", -2 * rods * l1**2 / l2
        yield f"A{limb}", f"{arm}.Iyy", 1.0
        yield f"A{limb}", f"rotor{limb}", 1.0
        yield f"G{limb}", f"{arm}.mcx", 1.0
        yield f"G{limb}", f"{strut}.m", rods * l1
        yield f"G{limb}", f"{strut}.mcx", -rods * l1 / l2
        yield f"G_s{limb}", f"{arm}.mcz", 1.0
    yield "M_P", "platform.m", 1.0
    if robot.spindle is not None:
        yield from _SPINDLE_ENTRIES


_SPINDLE_ENTRIES = (
    ("M_P", "lower.m", 1.0),
    ("M_P", "effector.m", 1.0),
    ("H", "upper.Ixx", 0.5),
    ("H", "upper.Iyy", 0.5),
    ("H", "lower.Ixx", 0.5),
    ("H", "lower.Iyy", 0.5),
    ("kappa", "lower.mcz", -1.0),  # the lower rod's COM lies above its joint, z runs down
    ("mu", "upper.mcz", 1.0),
    ("I_axial", "upper.Izz", 1.0),
    ("I_axial", "lower.Izz", 1.0),
    ("h_x", "effector.mcx", 1.0),
    ("h_y", "effector.mcy", 1.0),
    ("I_psi", "effector.Izz", 1.0),
    ("I_psi", "rotor4", 1.0),
)
