"""What arms about inclined axes ask of models and joints beside the exact torque."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.family import Member, random_member, states
from tests.reference.family.convert import to_robot

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import MODELS, constraint_loads
from deltadyn.errors import InputError
from deltadyn.kinematics import strut_angles, strut_rates
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction

CASES = [(kind, seed) for kind in ("rotary inclined", "spindle inclined") for seed in (0, 1)]


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"{c[0]} {c[1]}")
def member(request: pytest.FixtureRequest) -> Member:
    kind, seed = request.param
    return random_member(kind, seed)


@pytest.fixture(scope="module")
def moving(member: Member) -> tuple[Robot, dd.State]:
    found, robot = states(member, 40, 5), to_robot(member).robot
    return robot, dd.State.from_platform(robot, found.x, found.xd, found.xdd)


def close(ours: FloatArray, expected: FloatArray, relative: float) -> None:
    assert np.max(np.abs(ours - expected)) < relative * np.max(np.abs(expected))


@pytest.mark.parametrize("model", ["exact", "rigid"])
def test_torque_terms_and_regressor_are_one(moving: tuple[Robot, dd.State], model: str) -> None:
    robot, state = moving
    tau = dd.inverse_dynamics(robot, state, model)
    terms = dd.equations_of_motion(robot, state, model)
    close(np.einsum("nij,nj->ni", terms.M, state.qdd) + terms.c + terms.g, tau, 1e-12)
    rows = dd.regressor(robot, state, model, tied=False)
    close(rows.Y @ rows.parameters, tau, 1e-12)


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("exact", "rigid")])
def test_models_of_papers_are_about_standard_arms(
    moving: tuple[Robot, dd.State], model: str
) -> None:
    with pytest.raises(InputError, match="axis_roll"):
        dd.inverse_dynamics(*moving, model)


def test_rigid_model(member: Member, moving: tuple[Robot, dd.State]) -> None:
    """Thin rods are rigid bodies too: ten parameters each in the limbs' own axes."""
    robot, state = moving
    close(dd.inverse_dynamics(robot, state, "rigid"), states(member, 40, 5).tau, 1e-11)


def test_rates_of_strut_angles(moving: tuple[Robot, dd.State]) -> None:
    robot, state = moving
    h = 1e-6
    ahead, behind = (strut_angles(robot, state.p + k * h * state.pd) for k in (1, -1))
    rates = strut_rates(robot, state)
    for name in ("swing", "sway", "elbow"):
        difference = (getattr(ahead, name) - getattr(behind, name)) / (2 * h)
        close(getattr(rates, name), difference, 1e-7)


def test_forces_at_the_elbow_with_friction_in_the_joints(moving: tuple[Robot, dd.State]) -> None:
    """The drive holds the arm against f_E at the elbow, and against the joints' own friction."""
    robot, state = moving
    names = ("elbow_swing", "elbow_sway", "platform_swing", "platform_sway")
    rubbing = robot.with_friction(passive=tuple(PassiveFriction(name, 0.05, 0.3) for name in names))
    tau = dd.inverse_dynamics(rubbing, state)
    assert np.max(np.abs(tau - dd.inverse_dynamics(robot, state))) > 0.1
    loads = constraint_loads(rubbing, state)
    for i, (arm, frame) in enumerate(zip(robot.rotary_arms, robot.geometry.frames, strict=True)):
        x, z, l1 = np.array(frame.x), np.array(frame.z), robot.rotary.arm_length[i]
        c, s = state.cos_q[:, i, None], state.sin_q[:, i, None]
        slope = -l1 * (s * x + c * z)  # E'
        own = arm.axis_inertia + arm.elbow_mass * l1**2 + robot.drives.output_inertia[i]
        lift = (arm.mass * arm.com + arm.elbow_mass * l1) * c + arm.mass * arm.com_offset * s
        needed = own * state.qdd[:, i] - robot.gravity * z[2] * lift[:, 0]
        needed += np.sum(slope * loads.elbow[:, i], axis=1)
        # the elbow's friction turns the arm about its axis t
        joint = strut_rates(robot, state).elbow[:, i]
        needed -= 0.05 * joint + 0.3 * np.sign(joint)
        close(needed, tau[:, i], 1e-9)
