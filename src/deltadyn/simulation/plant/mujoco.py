"""The MuJoCo plant: the same machine, moved by an engine that we did not write.

MuJoCo moves rotors, gears, arms, struts, platform and spindle as rigid bodies, in steps that are a
fraction of a tick. Friction of the drives and ripple are computed as in the ideal plant, friction
in passive joints acts on MuJoCo's own joints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deltadyn.dynamics.passive import joint_friction
from deltadyn.errors import extra_module
from deltadyn.kinematics.spindle import spindle_motion
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import passive_rates, strut_angles, strut_rates
from deltadyn.robot import Robot
from deltadyn.simulation.drive.drivetrain import Drivetrain, Gears
from deltadyn.simulation.plant.ideal import Start, substeps
from deltadyn.simulation.plant.machine import Machine, PlantStoppedError, Sample
from deltadyn.simulation.plant.mechanism import Mechanism
from deltadyn.simulation.plant.mjcf import (
    coordinate_joints,
    driven_joints,
    mjcf,
    platform_joints,
    tool_joint,
)
from deltadyn.simulation.plant.numerics import Floats

STEPS = 2  # of MuJoCo in a tick, or more where friction needs it
FRICTION_STEPS = 2  # for each of the ideal plant: friction is constant within a step here

#: Joints of MuJoCo on which a passive joint's friction acts, at every limb or of the spindle; rates
#: of one tuple add up.
PASSIVE_LIMB: dict[str, tuple[str, ...]] = {
    "elbow_swing": ("swing_{}",),
    "platform_swing": ("theta_{}", "swing_{}"),
    "elbow_sway": ("sway_{}",),
    "platform_sway": ("sway_{}",),
}
PASSIVE_SPINDLE: dict[str, list[tuple[str, ...]]] = {
    "prismatic": [("slide",)],
    "universal_fork": [("fork",), ("fork_low",)],
    "universal_cross": [("cross",), ("cross_low",)],
}


class MujocoPlant:
    """A machine in MuJoCo; the state is MuJoCo's own."""

    def __init__(self, machine: Machine, start: Start, dt: float) -> None:
        self.engine: Any = extra_module("mujoco", "plant 'mujoco'", "mujoco")
        self.machine, self.dof, self.dt = machine, machine.robot.dof, dt
        self.drives, self.gears = Drivetrain(machine), Gears.of(machine)
        self.motors = len(self.gears.stiffness)
        needed = substeps(machine, dt)
        self.steps = max(STEPS, FRICTION_STEPS * needed if needed > 1 else 1)
        self.work = [0.0] * 5
        self.data: Any = None
        self.carry(machine.robot)
        self._place(start)

    @property
    def q_motor(self) -> Floats:
        """The angles that the encoders see."""
        return tuple(self.data.qpos[self.motor].tolist())

    @property
    def arms(self) -> tuple[Floats, Floats]:
        """Angles and rates at the arms."""
        q, qd = self.data.qpos[self.axes], self.data.qvel[self.axes]
        return tuple(q.tolist()), tuple(qd.tolist())

    def carry(self, robot: Robot) -> None:
        """Go on with this robot: another payload. The coordinates are the same."""
        before = self.data
        hard = robot.turns and robot.spindle is None  # gears and screws multiply what gives way
        text = mjcf(robot, self.dt / self.steps, self.gears, hard_tips=hard)
        self.model = self.engine.MjModel.from_xml_string(text)
        self.data = self.engine.MjData(self.model)
        self.passive = Mechanism.of(robot) if robot.friction.passive else None
        self.axes = [self._address(name) for name in driven_joints(robot)]
        motors = [self._address(f"motor_{i + 1}") for i in range(self.motors)]
        self.motor = motors + self.axes[self.motors :]
        self.rubbed = [
            (item, [self._address(name) for name in names])
            for item in robot.friction.passive
            for names in _rubbed(item.joint, robot.legs)
        ]
        self.platform = [self._address(name) for name in coordinate_joints(robot)]
        self.tool: tuple[int, float] | None = None
        if robot.turns and robot.spindle is None:
            joint, per_psi = tool_joint(robot)
            self.tool = self._address(joint), per_psi
            self.tool_zero = getattr(robot.platform, "phi0", 0.0)
        if before is not None:
            self.data.qpos[:], self.data.qvel[:] = before.qpos, before.qvel
            self.data.qacc[:] = before.qacc

    def sample(self, torque: Floats, wrench: Floats) -> Sample:
        """The state now, under this torque."""
        data = self.data
        ripple, friction, _ = self._load(torque, wrench)
        self.engine.mj_forward(self.model, data)
        q, qd = (tuple(x[self.axes].tolist()) for x in (data.qpos, data.qvel))
        passive = (0.0,) * self.dof
        if self.passive is not None:
            passive = self.passive.terms(q, qd, (0.0,) * self.dof).passive
        return Sample(
            q,
            qd,
            tuple(data.qacc[self.axes].tolist()),
            self.q_motor,
            tuple(data.qvel[self.motor].tolist()),
            self._pose(q),
            torque,
            tuple(ripple),
            tuple(friction),
            passive,
            tuple(self.drives.temperature),
            tuple(self.work),
        )

    def _pose(self, q: Floats) -> Floats:
        """The platform's coordinates (dof,)."""
        p: list[float] = self.data.qpos[self.platform].tolist()
        if self.tool is None:
            return (*p, *q[self.machine.robot.legs :])
        joint, per_psi = self.tool
        return (*p, (float(self.data.qpos[joint]) - self.tool_zero) / per_psi)

    def advance(self, start: Floats, end: Floats, wrench: Floats) -> Sample:
        """Go one tick further; the state at its beginning."""
        sample = self.sample(start, wrench)
        data = self.data
        for k in range(self.steps):
            share = (k + 0.5) / self.steps
            torque = tuple([a + share * (b - a) for a, b in zip(start, end, strict=True)])
            ripple, friction, rubbing = self._load(torque, wrench)
            before = data.qpos.copy()
            self.engine.mj_step(self.model, data)
            self._keep_books(data.qpos - before, torque, ripple, friction, rubbing, wrench)
        if not np.isfinite(data.qpos).all() or data.warning.number.any():
            raise PlantStoppedError("MuJoCo reports an unstable simulation")
        heat = zip(sample.friction, sample.qd_motor, strict=True)
        self.drives.heat([f * rate for f, rate in heat], self.dt)
        return sample

    def _load(
        self, torque: Floats, wrench: Floats
    ) -> tuple[list[float], list[float], dict[int, float]]:
        """Put all forces on the joints; ripple, drive friction and passive friction per joint."""
        data = self.data
        q, qd = (tuple(x[self.motor].tolist()) for x in (data.qpos, data.qvel))
        ripple, friction = self.drives.ripple(q), self.drives.friction(qd, torque)
        if self.drives.lossy:
            self._add_losses(torque, ripple, friction, qd)
        given = zip(torque, ripple, friction, strict=True)
        forces = data.qfrc_applied
        forces[:] = 0.0
        forces[self.motor] = [t + r - f for t, r, f in given]
        forces[self.platform] += wrench[: len(self.platform)]
        if self.tool is not None:
            forces[self.tool[0]] += wrench[3] / self.tool[1]
        elif self.dof == 4:  # the effector turns with psi
            data.xfrc_applied[self.model.body("effector").id, 5] = wrench[3]
        rubbing = self._rub()
        for joint, force in rubbing.items():
            forces[joint] -= force
        return ripple, friction, rubbing

    def _add_losses(
        self, torque: Floats, ripple: list[float], friction: list[float], qd: Floats
    ) -> None:
        """mu s |load|, with the acceleration of the step before."""
        data = self.data
        arms, rates = data.qpos[self.axes].tolist(), data.qvel[self.axes].tolist()
        spring = self.gears.torque(arms, rates, self.q_motor, qd)
        qdd = data.qacc[self.motor].tolist()
        for i, mu in enumerate(self.drives.losses(qd)):
            if i < self.motors:
                load = spring[0][i] + spring[1][i]
            else:
                load = torque[i] + ripple[i] - friction[i] - self.drives.rotor[i] * qdd[i]
                load /= 1 + mu * math.copysign(1.0, load)
            friction[i] += mu * abs(load)

    def _rub(self) -> dict[int, float]:
        """Friction of the passive joints on MuJoCo's joints."""
        friction, rates = self.machine.robot.friction, self.data.qvel
        rubbing: dict[int, float] = {}
        for item, joints in self.rubbed:
            rate = sum([float(rates[joint]) for joint in joints])
            force = joint_friction(math, item, friction.smoothing, rate)
            for joint in joints:
                rubbing[joint] = rubbing.get(joint, 0.0) + force
        return rubbing

    def _keep_books(
        self,
        moved: Any,
        torque: Floats,
        ripple: list[float],
        friction: list[float],
        rubbing: dict[int, float],
        wrench: Floats,
    ) -> None:
        """Work of one step: forces, which are constant within it, times ways."""
        motors = moved[self.motor].tolist()
        self.work[0] += _inner(torque, motors)
        self.work[1] += _inner(ripple, motors)
        turned = motors[self.machine.robot.legs :]
        if self.tool is not None:
            turned = [float(moved[self.tool[0]]) / self.tool[1]]
        self.work[2] += _inner(wrench, [*moved[self.platform].tolist(), *turned])
        self.work[3] += _inner(friction, motors)
        self.work[3] += sum(force * float(moved[joint]) for joint, force in rubbing.items())
        arms = moved[self.axes].tolist()
        slips = zip(self.gears.damping, motors, arms, strict=False)
        self.work[4] += sum(d * (a - b) ** 2 for d, a, b in slips) * self.steps / self.dt

    def _place(self, start: Start) -> None:
        """Close the mechanism at the start: all joints and their rates."""
        robot = self.machine.robot
        state = State.from_joints(robot, [start.q], [start.qd], hint=start.near)
        values = joint_values(robot, state)
        for i in range(robot.legs):
            values[f"motor_{i + 1}"] = start.q_motor[i], start.qd[i]
        for i in range(self.model.njnt):
            self.data.qpos[i], self.data.qvel[i] = values[self.model.joint(i).name]
        self.engine.mj_forward(self.model, self.data)

    def _address(self, joint: str) -> int:
        """Coordinate and rate of a joint have one address: each turns or slides, none is free."""
        return int(self.model.joint(joint).id)


def joint_values(robot: Robot, state: State) -> dict[str, tuple[float, float]]:
    """Value and rate of every joint of the mechanism at the first sample of a state, by name."""
    angles, rates = strut_angles(robot, state), strut_rates(robot, state)
    values = platform_joints(robot, state)
    for i in range(robot.legs):
        q, qd = float(state.q[0, i]), float(state.qd[0, i])
        values[f"theta_{i + 1}"], values[f"counter_{i + 1}"] = (q, qd), (-q, -qd)
        values[f"swing_{i + 1}"] = angles.elbow[0, i], rates.elbow[0, i]
        values[f"sway_{i + 1}"] = angles.sway[0, i], rates.sway[0, i]
    return values if robot.spindle is None else values | _spindle_joints(robot, state)


def _rubbed(joint: str, legs: int) -> list[tuple[str, ...]]:
    """MuJoCo's joints on which the friction of a passive joint acts."""
    if joint in PASSIVE_SPINDLE:
        return PASSIVE_SPINDLE[joint]
    return [tuple(name.format(i + 1) for name in PASSIVE_LIMB[joint]) for i in range(legs)]


def _spindle_joints(robot: Robot, state: State) -> dict[str, tuple[float, float]]:
    """Angles and rates of the spindle's joints; the lower joint mirrors the upper one."""
    psi, v = state.q[0, 3], spindle_motion(robot, state.p).direction[0]
    along = math.cos(psi) * v[0] + math.sin(psi) * v[1]
    across = math.cos(psi) * v[1] - math.sin(psi) * v[0]
    fork, cross = math.atan2(across, -v[2]), math.atan2(along, math.hypot(across, v[2]))
    fork_rate, cross_rate, slide_rate = (
        float(passive_rates(robot, state, name)[0, 0])
        for name in ("universal_fork", "universal_cross", "prismatic")
    )
    return {
        "psi": (psi, state.qd[0, 3]),
        "fork": (fork, fork_rate),
        "cross": (cross, cross_rate),
        "slide": (spindle_motion(robot, state.p).length[0], slide_rate),
        "cross_low": (-cross, -cross_rate),
        "fork_low": (-fork, -fork_rate),
    }


def _inner(a: Sequence[float], b: Sequence[float]) -> float:
    return sum([x * y for x, y in zip(a, b, strict=True)])
