"""What simulators refuse of a robot, and what they leave out."""

from __future__ import annotations

from deltadyn.errors import InputError
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


def left_out(robot: Robot) -> list[str]:
    """Terms of the robot file that damping and Coulomb friction of joints cannot say."""
    friction = robot.friction
    given = {
        "friction.stribeck (there is no Stribeck term)": friction.stribeck,
        "friction.thinning (damping is linear)": friction.thinning,
        "friction.load (no friction grows with the load)": friction.load,
        "friction.motor_load (nor with the motor's torque)": friction.motor_load,
        "friction.offset (add it to the torque)": friction.offset,
    }
    items = [name for name, value in given.items() if value is not None and any(value)]
    if friction.coulomb_negative is not None and friction.coulomb_negative != friction.coulomb:
        items.append("the difference of friction.coulomb and coulomb_negative (their mean is in)")
    if robot.drives.ripple:
        items.append("drives.ripple (add it to the torque)")
    if robot.drives.stiffness is not None:
        items.append("drives.stiffness (gears are rigid)")
    if robot.sensors.eccentricity:
        items.append("sensors.eccentricity (angles are true ones)")
    if set(robot.sensors.torque_ratio) != {1.0}:
        items.append("sensors.torque_ratio (torques are true ones)")
    if friction.smoothing is not None:
        items.append("friction.smoothing (Coulomb friction is the simulator's own)")
    return items
