"""What a torque error does to a closed loop: the linear response along a motion, tick by tick.

With e = q_ref - q and a torque error d (what the motion needs less what is fed forward):

    M(q_ref) edd + (2 C(q_ref, qd_ref) + Fv) ed = d - G (a e + b ed_seen)

The feedback is that of the drive: its rate is the filtered backward difference, it waits for the
delay of the bus and ramps or steps over one tick. G is the identity for PD gains, the model's mass
matrix for computed torque. What is left out is of second order in e, or small beside the gains: the
change of gravity and inertia with e, the jump of Coulomb friction, torque limits, elastic gears.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import equations_of_motion, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation import PD, AugmentedPD, ComputedTorque, PDFeedforward, PDGravity
from deltadyn.simulation.presets import Preset
from deltadyn.simulation.reference import Task

Predictable = PD | ComputedTorque
PARTS = 5  # of the loop's state, besides the commands on their way
ROUNDING = 1e-6  # of a loop without a spring, which neither grows nor settles
POSES = 9  # of a motion, at which stability is judged
KINDS = (PDFeedforward, PDGravity, AugmentedPD, ComputedTorque)


@dataclass(frozen=True, eq=False)
class Loop:
    """A closed loop along a motion of N ticks."""

    inverse_inertia: FloatArray  # (N, dof, dof), 1/(kg m^2)
    damping: FloatArray  # (N, dof, dof), N m s/rad
    gain: FloatArray  # (N, dof, dof)
    stiffness: FloatArray  # (dof,)
    rate_gain: FloatArray  # (dof,)
    rate: float  # Hz
    smoothing: float  # share of a new difference in the drive's rate, 1 without filter
    delay: int  # ticks
    ramps: bool

    @classmethod
    def of(cls, robot: Robot, task: Task, controller: Predictable, preset: Preset) -> Loop:
        """The loop of a robot that is believed, and a controller with gains."""
        eom = equations_of_motion(robot, task.now)
        damping = 2 * eom.C + np.diag(np.asarray(robot.friction.viscous))
        gain = np.broadcast_to(np.eye(robot.dof), eom.M.shape)
        if isinstance(controller, ComputedTorque):
            gain = equations_of_motion(controller.robot, task.now, controller.model).M
            gains = (controller.position_gain, controller.rate_gain)
        else:
            gains = (controller.stiffness, controller.damping)
        cutoff = preset.velocity_filter
        return cls(
            np.asarray(np.linalg.inv(eom.M), dtype=np.float64),
            damping,
            gain,
            np.asarray(gains[0]),
            np.asarray(gains[1]),
            task.rate,
            1.0 if cutoff is None else float(-np.expm1(-2 * np.pi * cutoff / task.rate)),
            preset.delay,
            preset.hold == "linear",
        )

    def response(self, torque: FloatArray) -> FloatArray:
        """Errors (N, dof, R) in rad of R torque errors (N, dof, R) in N m, from no error at first.

        Within a tick torque and acceleration change linearly.
        """
        count, dof, runs = torque.shape
        out = np.zeros((count, dof, runs))
        state = [np.zeros((dof, runs))] * (PARTS + self.delay)
        for k in range(count - 1):
            state = self._tick(k, state, torque[k], torque[k + 1])
            out[k + 1] = state[0]
        return out

    def growth(self, k: int) -> float:
        """By how much an error may grow in a tick about this pose; above 1 it is unstable."""
        dof, parts = self.stiffness.shape[0], PARTS + self.delay
        unit = np.eye(parts * dof).reshape(parts, dof, -1)
        none = np.zeros((dof, parts * dof))
        after = np.stack(self._tick(k, list(unit), none, none))
        return float(np.abs(np.linalg.eigvals(after.reshape(parts * dof, -1))).max())

    def check_stable(self) -> None:
        """Refuse gains with which an error grows at some pose of the motion."""
        for k in np.linspace(0, len(self.gain) - 1, POSES).astype(int).tolist():
            growth = self.growth(k)
            if growth > 1 + ROUNDING:
                gains = (self.stiffness.tolist(), self.rate_gain.tolist())
                allowed = (
                    f"gains with which the loop is stable at {self.rate:g} Hz, {self.delay} ticks "
                    f"late; here an error grows by {100 * (growth - 1):.2g} % in a tick"
                )
                raise InputError("gains of the controller", gains, allowed, where=f"tick {k}")

    def _tick(
        self, k: int, state: list[FloatArray], start: FloatArray, end: FloatArray
    ) -> list[FloatArray]:
        """e, ed, the last e, the rate seen, the torque in force, commands on their way."""
        e, ed, before, seen, force, *waiting = state
        dt = 1 / self.rate
        seen = seen + self.smoothing * ((e - before) * self.rate - seen)
        error = self.stiffness[:, None] * e + self.rate_gain[:, None] * seen
        wanted, *waiting = [*waiting, self.gain[k] @ error]
        braked = self.damping[k] @ ed
        first = self.inverse_inertia[k] @ (start - (force if self.ramps else wanted) - braked)
        last = self.inverse_inertia[k] @ (end - wanted - braked)
        there = e + dt * (ed + dt / 6 * (2 * first + last))
        return [there, ed + dt / 2 * (first + last), e, seen, wanted, *waiting]


def fed_forward(controller: Predictable, motion: Motion) -> FloatArray:
    """The torque (N, dof) that a controller commands where it follows the motion perfectly."""
    robot = controller.robot
    if isinstance(controller, PDGravity):
        still = Motion.from_joints(robot, motion.t, motion.q, 0 * motion.q, 0 * motion.q)
        return inverse_dynamics(robot, still, controller.model, friction=False)
    if isinstance(controller, PDFeedforward | AugmentedPD | ComputedTorque):
        return inverse_dynamics(robot, motion, controller.model)
    return np.zeros_like(motion.q)


def moved(torque: FloatArray, t: FloatArray, seconds: float) -> FloatArray:
    """The torque (N, dof) of so many seconds later; beyond the ends the drives hold."""
    if not seconds:
        return torque
    return np.stack([np.interp(t + seconds, t, axis) for axis in torque.T], axis=-1)


def check_predictable(controller: object) -> None:
    """Refuse controllers whose torque is not known before the run."""
    if type(controller) is not PD and not isinstance(controller, KINDS):
        allowed = "PD, PDGravity, PDFeedforward, AugmentedPD or ComputedTorque"
        raise InputError("controller", type(controller).__name__, allowed)
