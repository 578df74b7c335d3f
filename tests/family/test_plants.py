"""Plants of inclined arms and of carriages: MuJoCo's bodies against the exact model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.family.robots import KINDS, make, waves

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import RobotError
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import strut_angles, strut_rates
from deltadyn.robot.settings import Friction, PassiveFriction
from deltadyn.simulation import simulate
from deltadyn.simulation.plant.machine import axis_inertia, build_machine, home_angles
from deltadyn.simulation.presets import PRESETS
from deltadyn.simulation.run import Run


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest) -> Run:
    """A short motion on MuJoCo without friction: what its bodies ask for."""
    robot = make(request.param)
    robot = robot.replace(friction=Friction())
    return simulate(robot, waves(robot, 0.15), plant="mujoco", rate=2000.0)


def test_mujoco_asks_for_the_exact_models_torque(run: Run) -> None:
    """Constraints of the solver give way a little: 2e-3 of the largest torque."""
    truth = run.truth
    state = State.from_joints(truth.robot, truth.q, truth.qd, truth.qdd)
    tau = inverse_dynamics(truth.robot, state)
    apart = np.abs(tau - truth.tau).max(axis=0) / np.abs(tau).max(axis=0)
    assert run.completed
    assert np.all(apart < 2e-3), apart
    assert np.abs(state.p - truth.p).max() < 1e-7


def test_both_plants_agree(run: Run) -> None:
    """The same drive follows the same motion on either plant."""
    robot = run.truth.robot
    own = simulate(robot, waves(robot, 0.15), plant="ideal", rate=2000.0)
    span = np.ptp(own.truth.q, axis=0)
    assert np.all(np.abs(own.truth.q - run.truth.q).max(axis=0) < 2e-4 * span)


@pytest.mark.parametrize("kind", KINDS)
def test_strut_angles_turn_at_their_rates(kind: str) -> None:
    """Rates of swing, sway and elbow are the slopes of their angles, in inclined frames too."""
    robot, step = make(kind), 1e-6
    q = home_angles(robot)[None]
    qd = np.linspace(0.3, -0.2, robot.dof)[None]
    low, high = (strut_angles(robot, State.from_joints(robot, q + s * qd)) for s in (-step, step))
    rates = strut_rates(robot, State.from_joints(robot, q, qd))
    for name in ("swing", "sway", "elbow"):
        slope = (getattr(high, name) - getattr(low, name)) / (2 * step)
        assert np.allclose(slope, getattr(rates, name), rtol=1e-6, atol=1e-8), name


def test_presets_are_of_the_robots_size_on_rails() -> None:
    """A rad of an arm is half a strut of a rail: forces, steps and rates follow."""
    robot = make("vertical", friction=Friction())
    size = robot.geometry.size
    machine = build_machine(robot, PRESETS["industrial"])
    moved = axis_inertia(robot) + np.asarray(robot.drives.output_inertia)
    assert np.allclose(machine.reference_torque, 100 * size * moved)
    assert machine.robot.friction.smoothing == pytest.approx(0.02 * size)
    assert machine.robot.friction.stribeck_velocity == pytest.approx((0.3 * size,) * 3)
    assert machine.encoder_step == pytest.approx(2 * np.pi * size / 2**22)


def test_home_is_on_the_axis_without_a_named_workspace() -> None:
    """The middle of the largest cylinder, where a robot on rails names none."""
    robot = make("rails")
    bare = robot.replace(limits=replace(robot.limits, workspace=None))
    q = home_angles(bare)
    p = State.from_joints(bare, q).p
    assert np.abs(p[..., :2]).max() < 1e-12
    assert np.allclose(inverse_kinematics(bare, p), q)


@pytest.mark.parametrize("joint", ["elbow_swing", "platform_sway"])
def test_friction_of_passive_joints_is_refused_on_rails(joint: str) -> None:
    """Arms have it, carriages do not."""
    passive = Friction(passive=(PassiveFriction(joint, 0.01, 0.02),), smoothing=0.02)
    assert make("inclined", friction=passive).friction.passive
    with pytest.raises(RobotError, match="rails"):
        make("vertical", friction=passive)
