"""The order of a machine's numbers in the array that the compiled plant reads.

The first numbers are those of `layout`, with the drives' friction and rotors; the mechanism's own
inertias (A, I_psi) are without the rotors behind elastic gears. Friction in passive joints follows;
the numbers up to there are what a batch needs of every robot. What a machine has not is zero.
The generated C holds the same places as an enumeration.
"""

from __future__ import annotations

from deltadyn.backends.layout import AXES, COUNT
from deltadyn.robot.settings import LIMB_JOINTS as LIMB_JOINTS
from deltadyn.robot.settings import SPINDLE_JOINTS as SPINDLE_JOINTS

#: The passive joints in the order of their numbers: those of the limbs, then those of the spindle.
JOINTS = (*LIMB_JOINTS, *SPINDLE_JOINTS)

#: Name and width of every entry behind those of `layout`, in order.
ENTRIES: tuple[tuple[str, int], ...] = (
    ("passive_viscous", len(JOINTS)),
    ("passive_coulomb", len(JOINTS)),
    # from here on one machine alone, with its drive
    ("dof", 1),
    ("motors", 1),  # behind elastic gears: 0 or 3
    ("stiffness", 3),  # N m/rad
    ("damping", 3),  # N m s/rad
    ("ripple", AXES),  # N m
    ("ripple_waves", 1),  # per turn
    ("temperature", 1),  # degrees C, of the surroundings
    ("viscous_drift", 1),  # 1/K
    ("coulomb_drift", 1),
    ("heating", 1),  # K/W
    ("heating_step", 1),  # share of the way to the final temperature in a tick
    ("dt", 1),  # s, a tick
    ("substeps", 1),  # of a tick
    ("ramp", 1),  # 1: torque goes to its next value within a tick; 0: at once
    ("delay", 1),  # ticks
    ("limit", AXES),  # N m, infinite where there is none
    ("encoder_step", 1),  # rad, 0: exact
    ("rate", 1),  # Hz
    ("filter_gain", 1),  # of the velocity estimate
    ("stiffness_gain", AXES),  # N m/rad, of the controller
    ("damping_gain", AXES),  # N m s/rad
)


def _places() -> dict[str, slice]:
    places, start = {}, COUNT
    for name, width in ENTRIES:
        places[name] = slice(start, start + width)
        start += width
    return places


PLACES = _places()
ROBOT_COUNT = PLACES["passive_coulomb"].stop  # numbers of a robot in a batch
MACHINE_COUNT = PLACES["damping_gain"].stop

#: Name and width of every entry of a machine's state between two ticks.
STATE_ENTRIES: tuple[tuple[str, int], ...] = (
    ("y", 4 * AXES + 5),  # q, qd, motors' angles and rates, work; packed, the rest unused
    ("temperature", AXES),  # degrees C
    ("torque", AXES),  # N m, in force
    ("holding", AXES),  # N m, until the first command has passed the bus
    ("before", AXES),  # rad, the angles measured last
    ("seen", AXES),  # rad/s, the estimated rates
    ("saturated", 1),  # ticks
)


def _state_places() -> dict[str, slice]:
    places, start = {}, 0
    for name, width in STATE_ENTRIES:
        places[name] = slice(start, start + width)
        start += width
    return places


STATE_PLACES = _state_places()
STATE_COUNT = STATE_PLACES["saturated"].stop
