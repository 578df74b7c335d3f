"""What really happened in a run."""

from __future__ import annotations

from dataclasses import dataclass

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class Truth:
    """What really happened at the ticks t (N,), each other array (N, dof) unless said.

    q, qd, qdd are at the arms; the encoders sit at the motors, which are the same where the gears
    are rigid. `tau` is the torque in force at the tick, from the current; the motor gives
    tau + ripple. `friction` is that of the drives with the gears' loss, `passive_friction` what
    the joints without a drive ask of them. `robot` is the machine with its payload at the start;
    its friction is that at 25 degrees C.
    """

    robot: Robot
    t: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    q_motor: FloatArray
    qd_motor: FloatArray
    p: FloatArray
    tau: FloatArray
    ripple: FloatArray
    friction: FloatArray
    passive_friction: FloatArray
    temperature: FloatArray  # degrees C
    payload: FloatArray  # (N,), kg
    written: BoolArray  # (N,): the ticks that the recording has

    @property
    def gear_deflection(self) -> FloatArray:
        """How far the motors are ahead of the arms (N, dof), in rad."""
        return self.q_motor - self.q

    def motion(self) -> Motion:
        """The true motion of the arms, for the models."""
        return Motion.from_joints(self.robot, self.t, self.q, self.qd, self.qdd)
