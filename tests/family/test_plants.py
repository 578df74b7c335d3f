"""Plants of every kind of robot: MuJoCo's bodies against the exact model, and its own books."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import RobotError
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import strut_angles, strut_rates
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform
from deltadyn.robot.settings import Friction, PassiveFriction
from deltadyn.simulation import rollout, simulate
from deltadyn.simulation.controllers.feedforward import PD, PDFeedforward
from deltadyn.simulation.controllers.state import AugmentedPD, ComputedTorque, PDGravity
from deltadyn.simulation.plant.machine import axis_inertia, build_machine, home_angles
from deltadyn.simulation.presets import PRESETS
from deltadyn.simulation.run import Run
from deltadyn.simulation.touch import Wall


@pytest.fixture(scope="module", params=(*KINDS, *OTHER_PLATFORMS))
def run(request: pytest.FixtureRequest) -> Run:
    """A short motion on MuJoCo without friction: what its bodies ask for."""
    robot = make(request.param)
    robot = robot.replace(friction=Friction())
    return simulate(robot, waves(robot, 0.15), plant="mujoco", rate=2000.0)


def test_mujoco_asks_for_the_exact_models_torque(run: Run) -> None:
    """Constraints of the solver give way a little: 2e-3 of the largest torque.

    A screw turns a way of the halves into 160 times as many rad.
    """
    truth = run.truth
    state = State.from_joints(truth.robot, truth.q, truth.qd, truth.qdd, hint=truth.p)
    tau = inverse_dynamics(truth.robot, state)
    arms = slice(0, truth.robot.legs)
    scale = np.abs(tau).max(axis=0)
    scale[arms] = scale[arms].max()
    apart = np.abs(tau - truth.tau).max(axis=0) / scale
    assert run.completed
    assert np.all(apart < 2e-3), apart
    screw = isinstance(truth.robot.platform, HelicalPlatform)
    most = 1e-6 if screw else 1e-7 if truth.robot.legs == 3 else 3e-7
    assert np.abs(state.p - truth.p).max() < most


def test_both_plants_agree(run: Run) -> None:
    """The same drive follows the same motion on either plant."""
    robot = run.truth.robot
    own = simulate(robot, waves(robot, 0.15), plant="ideal", rate=2000.0)
    span = np.ptp(own.truth.q, axis=0)
    assert np.all(np.abs(own.truth.q - run.truth.q).max(axis=0) < 2e-4 * span)


@pytest.mark.parametrize("kind", [*KINDS, *OTHER_PLATFORMS])
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


@pytest.fixture(scope="module", params=OTHER_PLATFORMS)
def industrial(request: pytest.FixtureRequest) -> Run:
    """A short motion with gears, ripple, noise and a load that changes, on the exact model."""
    robot = make(request.param)
    events = ((0.0, 0.2), (0.04, 0.5))
    return simulate(robot, waves(robot, 0.08), preset="industrial", payload=events)


def test_books_close_under_other_platforms(industrial: Run) -> None:
    """Energies are summed body by body, work is integrated beside the mass matrix."""
    assert industrial.completed
    assert industrial.energy.drift < 1e-6
    robot = industrial.truth.robot
    error = np.abs(industrial.tracking_error).max(axis=0)
    assert np.all(error < 0.03 * np.asarray(robot.radian))


def test_the_pose_is_that_of_the_joints(industrial: Run) -> None:
    """The platform is followed from tick to tick; it never leaves its assembly."""
    truth = industrial.truth
    assert np.allclose(inverse_kinematics(truth.robot, truth.p), truth.q, atol=1e-9)
    assert np.abs(industrial.platform_error).max() < 0.05


@pytest.mark.parametrize("kind", ["planar", "par4_rails"])
def test_without_friction_the_torque_is_the_models(kind: str) -> None:
    robot = make(kind, friction=Friction())
    truth = simulate(robot, waves(robot, 0.03)).truth
    tau = inverse_dynamics(robot, truth.motion())
    assert np.abs(tau - truth.tau).max() < 1e-9 * np.abs(tau).max()


@pytest.mark.parametrize("kind", ["planar_rails", "par4", "heli4"])
@pytest.mark.parametrize("law", [ComputedTorque, AugmentedPD, PDGravity])
def test_controllers_that_ask_the_model(kind: str, law: type[Any]) -> None:
    """With the right model and no friction the loop follows; gravity alone leaves the inertia."""
    robot = make(kind, friction=Friction())
    run = simulate(robot, waves(robot, 0.04), law(robot))
    error = np.abs(run.tracking_error).max(axis=0) / np.asarray(robot.radian)
    assert run.completed
    assert np.all(error < (0.2 if law is PDGravity else 2e-5)), error


@pytest.mark.parametrize("kind", ["planar", "heli4_rails"])
def test_many_robots_at_once(kind: str) -> None:
    """A rollout is the ideal plant of each robot, followed from tick to tick."""
    robot = make(kind)
    motion, loaded = waves(robot, 0.004), robot.with_payload(0.5)
    runs = [simulate(item, motion, PDFeedforward(robot), rate=1000.0, hold="step")
            for item in (robot, loaded)]  # fmt: skip
    found = rollout([robot, loaded], motion=motion, dt=1e-3)
    ends = [run.truth.q[-1] for run in runs]
    assert np.abs(ends[1] - ends[0]).max() > 1e-6
    assert np.abs(found.q - ends).max() < 1e-12
    assert found.closed.all()


def test_a_wall_in_a_plane_stops_the_platform() -> None:
    """A push across the plane is held by the rods; along it, it is that of a spring."""
    robot = make("planar", friction=Friction())
    wall = Wall((0.0, 0.0, -0.72), (0.0, 1.0, 1.0), 2e4, 50.0)
    truth = simulate(robot, waves(robot, 0.2), external_force=wall).truth
    deep = wall.depth(truth.p)
    assert deep.max() > 1e-3
    assert np.all(truth.force[deep < -1e-3] == 0)
    assert np.allclose(truth.force[:, 0], 0)
    assert truth.force[:, 1].max() == pytest.approx(2e4 * deep.max() * np.sqrt(0.5), rel=0.2)


ODD_PLATFORMS = (
    ArticulatedPlatform(
        (0.35, 0.3), 0.12, bar_mass=0.1, bar_inertia=2e-4, bar_com=0.3, phi0=0.2, ratio=-2.0,
        tool_fraction=0.2, gear_mass=0.05, gear_place=(0.01, 0.03), gear_inertia=1e-5,
    ),
    HelicalPlatform((0.4, 0.3), -0.08, 0.4),
)  # fmt: skip


@pytest.mark.parametrize("platform", ODD_PLATFORMS)
def test_gears_and_screws_of_any_kind(platform: ArticulatedPlatform | HelicalPlatform) -> None:
    """The tool's axis anywhere between the halves, gears that turn the other way."""
    kind = "par4" if isinstance(platform, ArticulatedPlatform) else "heli4"
    robot = make(kind, friction=Friction(), platform=platform)
    truth = simulate(robot, waves(robot, 0.02), plant="mujoco").truth
    tau = inverse_dynamics(robot, truth.motion())
    assert np.abs(tau - truth.tau).max() < 2e-3 * np.abs(tau).max()


@pytest.mark.parametrize(
    ("kind", "force"),
    [("planar", (10.0, -5.0)), ("par4", (5.0, 3.0, -8.0, 1.0)), ("heli4", (5.0, 3.0, -8.0, 0.5))],
)
def test_a_push_is_the_same_on_both_plants(kind: str, force: tuple[float, ...]) -> None:
    """Force on the platform and moment on psi, by gears or a screw; the books hold its work."""
    robot = make(kind, friction=Friction())
    motion = waves(robot, 0.03)
    one, two = (
        simulate(robot, motion, PD(robot), plant, external_force=force)
        for plant in ("ideal", "mujoco")
    )
    free = simulate(robot, motion, PD(robot))
    moved = np.abs(one.truth.q - free.truth.q).max()
    assert np.abs(one.truth.q - two.truth.q).max() < 2e-3 * moved
    assert two.energy.external[-1] == pytest.approx(one.energy.external[-1], rel=2e-3)
    assert two.energy.drift < 1e-4


@pytest.mark.parametrize("kind", ["planar", "par4"])
def test_friction_of_passive_joints_is_the_same_on_both_plants(kind: str) -> None:
    joints = ("elbow_swing", "platform_sway")
    passive = tuple(PassiveFriction(joint, 0.01, 0.05) for joint in joints)
    robot = make(kind, friction=Friction(passive=passive, smoothing=0.02))
    one, two = (simulate(robot, waves(robot, 0.02), plant=plant) for plant in ("ideal", "mujoco"))
    for run in (one, two):
        assert run.energy.drift < 1e-5
    apart = np.abs(one.truth.passive_friction - two.truth.passive_friction).max()
    assert apart < 1e-3 * np.abs(one.truth.passive_friction).max()


@pytest.mark.parametrize("legs", [2, 4])
def test_presets_scale_every_limb(legs: int) -> None:
    """One number is for all limbs; a fourth limb beside three numbers is as the robot has it."""
    robot = make({2: "planar", 4: "par4"}[legs])
    even = build_machine(robot, PRESETS["ideal"].with_switches(arm_scale=1.1)).robot
    odd = build_machine(robot, PRESETS["industrial"]).robot
    masses = [[arm.mass for arm in part.rotary_arms] for part in (robot, even, odd)]
    assert np.divide(masses[1], masses[0]) == pytest.approx(1.1)
    assert np.divide(masses[2], masses[0]) == pytest.approx([1.04, 0.98, 1.0, 1.0][:legs])


@pytest.mark.parametrize("joint", ["elbow_swing", "platform_sway"])
def test_friction_of_passive_joints_is_refused_on_rails(joint: str) -> None:
    """Arms have it, carriages do not."""
    passive = Friction(passive=(PassiveFriction(joint, 0.01, 0.02),), smoothing=0.02)
    assert make("inclined", friction=passive).friction.passive
    assert make("par4", friction=passive).friction.passive
    with pytest.raises(RobotError, match="rails"):
        make("vertical", friction=passive)
