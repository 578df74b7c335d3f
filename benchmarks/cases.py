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
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Effector,
    Geometry,
    HelicalPlatform,
    PlanarPlatform,
    Platform,
    RailGeometry,
    Strut,
)
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Drives, Friction, Limits, Workspace

if TYPE_CHECKING:
    from tests.reference.engines import EngineRobot

ROBOTS = {3: "sipro-d3-1200", 4: "example-delta-4"}
SPEED, ACCELERATION = 3.0, 40.0  # m/s and m/s^2: half-widths of the platform's rates
TURN = np.pi / 2  # rad of the tool to both sides where the limbs turn it
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
        room = robot.limits.workspace if robot.legs != 3 else None
        room = room or working_cylinder(robot)
        radius = room.radius * np.sqrt(rng.uniform(0, 1, samples))
        angle = rng.uniform(-np.pi, np.pi, samples)
        height = rng.uniform(room.z_min, room.z_max, samples)
        place = [radius * np.cos(angle), radius * np.sin(angle), height]
        if robot.planar:
            place = [rng.uniform(-room.radius, room.radius, samples), height]
        widest = np.pi if robot.legs == 3 else TURN
        turn = rng.uniform(-widest, widest, (samples, robot.dof - len(place)))
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
    """Robots of every other kind, of sizes that are sold; masses are assumed."""
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
            *_other_platforms(printer),
        )
    }


def _other_platforms(printer: Robot) -> tuple[Robot, ...]:
    """A spindle on rails, and planar, articulated and helical platforms on arms and on rails."""
    four = load_robot(ROBOTS[4])
    rotors = (*printer.drives.rotor_inertia[:3], four.drives.output_inertia[3])
    drives = Drives(rotor_inertia=rotors, rotor_side="output_side")
    spindled = printer.replace(
        name="vertical rails with a spindle",
        geometry=RailGeometry(0.3, 0.06, 0.5),
        spindle=four.spindle,
        effector=four.effector,
        drives=drives,
        controller=four.controller,
        sensors=four.sensors,
        friction=Friction(),
    )
    flat = Robot(
        name="planar arms",
        geometry=Geometry(0.12, 0.05, 0.35, 0.7, azimuth=(0.0, np.pi)),
        arms=Arm(1.0, 0.15, 0.01, elbow_mass=0.15),  # type: ignore[arg-type]
        struts=Strut.uniform(0.08, 0.7),  # type: ignore[arg-type]
        platform=PlanarPlatform(0.8),
        drives=Drives(rotor_inertia=0.04, rotor_side="output_side"),
        limits=Limits(workspace=Workspace(0.3, -0.85, -0.6)),
    )
    flat_rails = flat.replace(
        name="planar rails",
        geometry=RailGeometry(0.35, 0.05, 0.5, azimuth=(0.0, np.pi), rail_pitch=0.35),
        arms=Carriage(0.7),
        limits=Limits(workspace=Workspace(0.12, -0.3, -0.1)),
    )
    corners = tuple(np.radians((-45.0, 45.0, 135.0, 225.0)).tolist())
    par4 = Robot(
        name="Par4",
        geometry=Geometry(0.275, 0.05, 0.375, 0.825, azimuth=corners),
        arms=Arm(1.2, 0.16, 0.015, elbow_mass=0.1),  # type: ignore[arg-type]
        struts=Strut.uniform(0.08, 0.825),  # type: ignore[arg-type]
        platform=ArticulatedPlatform((0.35, 0.3), 0.12, bar_mass=0.1, bar_inertia=2e-4, ratio=2.0),
        effector=Effector(0.3, (0.01, 0.0, -0.03), 4e-4),
        drives=Drives(rotor_inertia=0.04, rotor_side="output_side"),
        limits=Limits(workspace=Workspace(0.3, -0.95, -0.75)),
    )
    par4_rails = par4.replace(
        name="Par4 on rails",
        geometry=RailGeometry(0.4, 0.05, 0.6, azimuth=corners),
        arms=Carriage(0.7),
        struts=Strut.uniform(0.06, 0.6),
        limits=Limits(workspace=Workspace(0.12, -0.3, -0.1)),
    )
    screw = HelicalPlatform((0.4, 0.3), 0.04)
    opposite = (0.0, np.pi, np.pi / 2, -np.pi / 2)  # each half is held by two opposite limbs
    helical = tuple(
        robot.replace(name=name, platform=screw, geometry=replace(robot.geometry, azimuth=opposite))
        for name, robot in (("Heli4", par4), ("Heli4 on rails", par4_rails))
    )
    return spindled, flat, flat_rails, par4, par4_rails, *helical


def standard_case(dof: int, samples: int = SAMPLES) -> Case:
    """The case of the benchmark: a catalogue robot with that many degrees of freedom."""
    return Case.of(load_robot(ROBOTS[dof]), samples)
