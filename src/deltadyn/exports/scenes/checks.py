"""What simulators refuse of a robot, and what they leave out."""

from __future__ import annotations

from dataclasses import replace

from deltadyn.errors import InputError
from deltadyn.exports.left_out import LeftOutTerm, measure_term
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Carriage


def check_masses(robot: Robot, target: str) -> None:
    """Refuse bodies without mass."""
    masses = {} if robot.legs == 4 else {"platform.mass": robot.platform.mass}
    masses |= {f"struts[{i}].mass": strut.mass for i, strut in enumerate(robot.struts)}
    for i, arm in enumerate(robot.arms):
        if isinstance(arm, Carriage):
            masses[f"arms[{i}].mass"] = arm.mass
        elif isinstance(arm, Arm):
            masses[f"arms[{i}].mass"] = arm.mass if arm.elbow_mass <= 0 else arm.elbow_mass
    if robot.spindle is not None:
        masses["spindle.upper.mass"] = robot.spindle.upper.mass
        masses["spindle.lower.mass"] = robot.spindle.lower.mass
    for name, mass in masses.items():
        if mass <= 0:
            allowed = f"above 0 kg for target {target!r}: simulators move bodies"
            raise InputError(name, mass, allowed)


def left_out(robot: Robot) -> tuple[LeftOutTerm, ...]:
    """Terms of the robot file that damping and Coulomb friction of joints cannot say."""
    reasons = {  # of fields of the friction
        "friction.stribeck": "there is no Stribeck term",
        "friction.thinning": "damping is linear",
        "friction.load": "no friction grows with the load",
        "friction.motor_load": "nor with the motor's torque",
        "friction.offset": "add it to the torque",
    }
    reduced, terms = robot, []

    def leave_out(field: str, reason: str, without: Robot) -> None:
        nonlocal reduced
        terms.append(measure_term(reduced, without, field, reason))
        reduced = without

    # each is measured beside those that are in the model, and those behind it in this list
    if robot.sensors.eccentricity:
        bare = replace(reduced.sensors, eccentricity=())
        leave_out("sensors.eccentricity", "angles are true ones", reduced.replace(sensors=bare))
    if set(robot.sensors.torque_ratio) != {1.0}:
        bare = replace(reduced.sensors, torque_ratio=1.0)
        leave_out("sensors.torque_ratio", "torques are true ones", reduced.replace(sensors=bare))
    if robot.drives.stiffness is not None:
        rigid = replace(reduced.drives, stiffness=None, damping=None)
        leave_out("drives.stiffness", "gears are rigid", reduced.replace(drives=rigid))
    if robot.drives.ripple:
        smooth = reduced.replace(drives=replace(reduced.drives, ripple=()))
        leave_out("drives.ripple", "add it to the torque", smooth)
    friction = robot.friction
    for field, reason in reasons.items():
        name = field.partition(".")[2]
        value = getattr(friction, name)
        if value is not None and any(value):
            paired = {f"{name}_velocity": None} if name in ("stribeck", "thinning") else {}
            leave_out(field, reason, reduced.with_friction(**{name: None}, **paired))
    if friction.coulomb_negative is not None and friction.coulomb_negative != friction.coulomb:
        pairs = zip(friction.coulomb, friction.coulomb_negative, strict=True)
        mean = tuple((a + b) / 2 for a, b in pairs)
        what = "the difference of friction.coulomb and coulomb_negative"
        even = reduced.with_friction(coulomb=mean, coulomb_negative=None)
        leave_out(what, "their mean is in", even)
    if friction.smoothing is not None:
        sharp = reduced.with_friction(smoothing=None)
        leave_out("friction.smoothing", "Coulomb friction is the simulator's own", sharp)
    return tuple(terms)
