"""The order of a robot's numbers in the array that the compiled kernels read.

One layout serves all robots; what a robot does not have is zero. The kinematics
reads the first `KINEMATIC` numbers alone. The generated C holds the same places as an enumeration.
"""

from __future__ import annotations

from deltadyn.robot.settings import WAVES as WAVES

AXES = 4  # room for axis 4 in per-axis entries
LIMBS = 4  # room for the fourth limb of a platform of halves

#: Name and width of every entry, in order; "limb" holds the numbers of each limb in turn, as many
#: as its actuation has: r, l1, l2, cos, sin of the standard arm, eleven of an inclined one.
ENTRIES: tuple[tuple[str, int], ...] = (
    ("limb", 11 * LIMBS),
    ("elbow", LIMBS),  # +1 outward, -1 inward
    ("side", 1),  # -1 platform below the elbows, +1 above
    ("carrier", 4),  # of a platform of halves: phi0, rate 1/k, sigma_1, sigma_2
    ("home", 4),  # the pose from which a platform of halves is followed
    ("gravity", 1),
    ("M_P", 1),
    ("m_x", LIMBS),
    ("A", LIMBS),
    ("G", LIMBS),
    ("G_s", LIMBS),
    ("spindle", 8),  # pivot_z, H, kappa, mu, I_axial, h_x, h_y, I_psi
    ("halves", 5),  # S, S_s, h_x, h_y, I_psi
    ("viscous", AXES),
    ("coulomb", AXES),  # qd > 0
    ("coulomb_negative", AXES),
    ("stribeck", AXES),
    ("stribeck_velocity", AXES),  # 0: the axis has no such term
    ("offset", AXES),
    ("load", AXES),
    ("rotor", AXES),  # inertia at the output side
    ("smoothing", 1),  # 0: sign
    ("payload_offset", 2),  # x, y of a payload from the axis of the effector
    # what the kernels do not compute; `beyond` is 1 where the robot has any of it
    ("beyond", 1),
    ("thinning", AXES),
    ("thinning_velocity", AXES),  # 0: the axis has no such term
    ("motor_load", AXES),
    ("torque_ratio", AXES),  # reported over true torque; 1 where nothing is known
    ("ripple_order", WAVES),  # waves per turn; 0: no such wave
    ("ripple_cos", WAVES * AXES),  # wave after wave, the axes of each
    ("ripple_sin", WAVES * AXES),
    ("actuation", 1),  # place in KINDS
)

#: What moves the limbs and what they carry, by the number that packed numbers have for it. A
#: platform other than the point has its name behind the actuation's, which the standard arm has
#: not: "rail", "planar", "rail_planar", "inclined_articulated".
KINDS = tuple(
    "_".join(word for word in (arm if arm != "rotary" or not platform else "", platform) if word)
    for platform in ("", "planar", "articulated", "helical")
    for arm in ("rotary", "inclined", "vertical", "rail")
    if arm != "vertical" or not platform
)


def _places() -> dict[str, slice]:
    places, start = {}, 0
    for name, width in ENTRIES:
        places[name] = slice(start, start + width)
        start += width
    return places


PLACES = _places()
KINEMATIC = PLACES["home"].stop
COUNT = sum(width for _, width in ENTRIES)
