"""How readily the nearest bodies depart from each number of the robot file.

Many bodies have the base parameters that a log identifies. The robot file of a fit is the nearest
of them, by distances that count what somebody measured most, what was only assumed less, and what
the file leaves out, rotors among it, least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.rigid import LIMBS
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.robot import Robot
from deltadyn.robot.fields import value_at

#: Sections of a robot file that hold the bodies, and the fields that decide their free variables.
#: What stands in no sum with other fields (a moment beside the axis) needs none.
_SECTIONS = {
    "arm": "arm",
    "carriage": "carriage",
    "counterweight": "carriage",
    "strut": "strut",
    "platform": "platform",
    "half_a": "platform",
    "half_b": "platform",
    "bars": "platform",
    "upper": "spindle.upper",
    "lower": "spindle.lower",
    "effector": "effector",
    "rotor": "drives",
}
_FIELDS = {
    "arm": {"m": "mass", "mcx": "com", "Iyy": "inertia"},
    "carriage": {"m": "mass"},
    "counterweight": {"m": "counterweight"},
    "strut": {"m": "mass", "mcx": "com_fraction", "Sxx": "inertia"},
    "platform": {"m": "mass"},
    "half_a": {"m": "half_mass"},
    "half_b": {"m": "half_mass"},
    "bars": {"m": "bar_mass", "mcx": "bar_com", "Izz": "bar_inertia"},
    "upper": {"m": "mass", "mcz": "com", "Szz": "inertia", "Srr": "axial_inertia"},
    "lower": {"m": "mass", "mcz": "com", "Szz": "inertia", "Srr": "axial_inertia"},
    "effector": {"m": "mass", "Izz": "inertia_zz"},
    "rotor": {"": "rotor_inertia"},
}


@dataclass(frozen=True)
class Trust:
    """By how much more a number departs from the file than one that was measured.

    Of a change that two numbers of one scale share, each takes its share by the square: with 30, an
    assumed inertia takes 99.9 % of what it shares with a measured one. Larger ratios leave measured
    numbers closer to the file, and the solver's rounding of 1e-9 sets an end. Doubling either
    changes measured numbers of sipro-d3-1200 by less than 0.01 %.
    """

    assumed: float = 30.0
    absent: float = 1000.0


def freedom(bodies: Bodies, trust: Trust | None = None) -> FloatArray:
    """(k,) of each free variable: 1 where its field has a source, more where it has none."""
    rule = trust or Trust()
    out = [
        _of_variable(bodies.robot, body.name, variable, rule)
        for body in bodies.bodies
        for variable in body.variables
    ]
    return np.array(out)


def _of_variable(robot: Robot, body: str, variable: str, trust: Trust) -> float:
    kind = body.rstrip(LIMBS)
    field = _FIELDS.get(kind, {}).get(variable)
    if field is None:  # of friction, too: its base parameter is itself
        return 1.0
    limb = int(body[-1]) - 1 if body != kind else None
    section = _SECTIONS[kind]
    path = f"{section}.{field}"
    places = [path] if limb is None else [f"{section}[{limb}].{field}", f"{path}[{limb}]", path]
    places += [own for own in robot.sources if own.startswith(f"{section}.ten.")]
    source = next((robot.sources[place] for place in places if place in robot.sources), None)
    if source is not None and not source.assumed:
        return 1.0
    value = value_at(robot, path)
    left_out = value is None or not np.any(np.asarray(value, dtype=np.float64))
    return trust.absent if left_out or kind == "rotor" else trust.assumed
