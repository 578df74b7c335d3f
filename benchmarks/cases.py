"""The robots and the states that benchmarks of the dynamics run on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends import available as kernels_available
from deltadyn.backends import inverse_dynamics_platform
from deltadyn.dynamics import packed_parameters
from deltadyn.kinematics import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Carriage, Platform, RailGeometry, Strut
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Drives

if TYPE_CHECKING:
    from tests.reference.engines import EngineRobot

ROBOTS = {3: "sipro-d3-1200", 4: "example-delta-4"}
SPEED, ACCELERATION = 3.0, 40.0  # m/s and m/s^2: half-widths of the platform's rates
TURN_SPEED, TURN_ACCELERATION = 10.0, 200.0  # rad/s and rad/s^2, of psi
SEED = 7  # of the robots that are drawn
SAMPLES = 20_000  # for the peers and for one core: below the number from which threads are used


@dataclass(frozen=True, eq=False)
class Case:
    """A robot and platform motions p, pd, pdd (N, dof) inside its working cylinder."""

    robot: Robot
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray

    @classmethod
    def of(cls, robot: Robot, samples: int, seed: int = 0) -> Case:
        """Random motions: places all over the cylinder, rates as in fast pick and place."""
        rng = np.random.default_rng(seed)
        room = working_cylinder(robot)
        radius = room.radius * np.sqrt(rng.uniform(0, 1, samples))
        angle = rng.uniform(-np.pi, np.pi, samples)
        height = rng.uniform(room.z_min, room.z_max, samples)
        place = [radius * np.cos(angle), radius * np.sin(angle), height]
        turn = rng.uniform(-np.pi, np.pi, (samples, robot.dof - 3))
        p = np.column_stack([*place, turn])
        width = np.array([1.0, 1.0, 1.0, 0.0][: robot.dof])
        psi = 1.0 - width
        pd = rng.uniform(-1, 1, p.shape) * (SPEED * width + TURN_SPEED * psi)
        pdd = rng.uniform(-1, 1, p.shape) * (ACCELERATION * width + TURN_ACCELERATION * psi)
        return cls(robot, p, pd, pdd)

    @property
    def state(self) -> State:
        """The same motions with their joint coordinates."""
        return State.from_platform(self.robot, self.p, self.pd, self.pdd)

    def torque(self) -> FloatArray:
        """Our torques (N, dof) without friction, in N m."""
        if kernels_available():
            par = packed_parameters(self.robot)
            return inverse_dynamics_platform(par, self.p, self.pd, self.pdd, friction=False)
        from deltadyn.dynamics import inverse_dynamics

        return np.asarray(inverse_dynamics(self.robot, self.state, friction=False))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A random robot of the reference engines with thin struts, `spec`, ours, and its states."""

    spec: EngineRobot
    robot: Robot
    state: State

    @property
    def case(self) -> Case:
        """The same robot and motions from the platform's side."""
        state = self.state
        return Case(self.robot, state.p.copy(), state.pd.copy(), state.pdd.copy())


def drawn(dof: int, samples: int, seed: int = SEED) -> Drawn:
    """A random robot with equal limbs and random states, so that no figure hangs on one robot."""
    # they lie beside the package and need the engines, which `deltadyn bench` may lack
    from tests.reference.convert import to_robot
    from tests.reference.engines import random_robot, random_states

    rng = np.random.default_rng(seed)
    spec = random_robot(rng, dof, thin=True, equal_limbs=True)
    robot = to_robot(spec, thin=True)
    return Drawn(spec, robot, State.from_joints(robot, *random_states(spec, rng, samples)))


def family() -> dict[str, Robot]:
    """Robots with inclined arms and with rails, of sizes that are sold; masses are assumed."""
    rod = Strut.uniform(0.03, 0.25)
    printer = Robot(
        name="vertical rails",
        geometry=RailGeometry(0.13, 0.03, 0.25),
        arms=Carriage(0.15),  # type: ignore[arg-type]
        struts=rod,  # type: ignore[arg-type]
        platform=Platform(0.2),
        drives=Drives(rotor_inertia=0.05, rotor_side="output_side"),
    )
    leaning = RailGeometry(0.13, 0.03, 0.25, rail_pitch=0.5, rail_roll=(0.1, -0.05, 0.08))
    base = load_robot(ROBOTS[3])
    turned = replace(base.rotary, axis_yaw=(0.1, -0.05, 0.02), axis_roll=(0.15, 0.1, -0.08))
    return {
        robot.name: robot
        for robot in (
            printer,
            printer.replace(name="rails in any direction", geometry=leaning),
            base.replace(name="inclined arms", geometry=turned),
        )
    }


def standard_case(dof: int, samples: int = SAMPLES) -> Case:
    """The case of the benchmark: a catalogue robot with that many degrees of freedom."""
    return Case.of(load_robot(ROBOTS[dof]), samples)
