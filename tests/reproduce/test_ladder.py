"""The ladder: errors against the exact model, and the states on which they are found."""

import json

import numpy as np
import pytest

from deltadyn.dynamics import MODELS, inverse_dynamics
from deltadyn.kinematics import working_cylinder
from deltadyn.reproduce import ladder, pick_and_place, random_states
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Limits

D3 = load_robot("sipro-d3-1200")
TELESCOPIC = load_robot("telescopic-delta")


@pytest.mark.parametrize("robot", [D3, TELESCOPIC], ids=lambda robot: robot.name)
def test_every_model_is_a_rung(robot: object) -> None:
    motion = pick_and_place(robot)  # type: ignore[arg-type]
    found = ladder(robot, motion)  # type: ignore[arg-type]
    assert [rung.model for rung in found.rungs] == list(MODELS)
    by_name = {rung.model: rung for rung in found.rungs}
    assert by_name["exact"].rms_arms == 0
    assert by_name["rigid"].peak_arms < 1e-9  # thin bodies: the same model by another way
    for rung in found.rungs:
        assert rung.peak_arms >= rung.rms_arms
        assert len(rung.rms) == len(rung.peak) == motion.p.shape[1]
    assert by_name["half-half"].rms_arms > 0.1


def test_figures_are_those_of_the_torques() -> None:
    motion = pick_and_place(D3)
    exact = inverse_dynamics(D3, motion)
    error = inverse_dynamics(D3, motion, "half-half") - exact
    found = ladder(D3, motion)
    rung = next(rung for rung in found.rungs if rung.model == "half-half")
    assert rung.rms_arms == pytest.approx(np.sqrt(np.mean(error**2)))
    assert rung.peak[1] == pytest.approx(np.abs(error[:, 1]).max())
    assert found.torque_rms[2] == pytest.approx(np.sqrt(np.mean(exact[:, 2] ** 2)))


def test_friction_and_one_sample_are_no_obstacle() -> None:
    rubbing = D3.with_friction(viscous=1.0, coulomb=5.0)
    motion = pick_and_place(D3)
    assert ladder(rubbing, motion).torque_rms == ladder(D3, motion).torque_rms
    states = random_states(D3, 1)
    assert ladder(D3, states).samples == 1


def test_half_half_on_random_states() -> None:
    """Some 22 N m RMS of torque; point masses alone cost 2.2 N m, uniform arms as well 2.8."""
    found = ladder(D3, random_states(D3), name="random states")
    by_name = {rung.model: rung for rung in found.rungs}
    assert found.torque_rms_arms == pytest.approx(22.3, abs=0.2)
    assert by_name["virtual-work"].rms_arms == pytest.approx(2.2, abs=0.05)
    assert by_name["half-half"].rms_arms == pytest.approx(2.8, abs=0.05)


@pytest.mark.parametrize("robot", [D3, TELESCOPIC], ids=lambda robot: robot.name)
def test_random_states_are_as_documented(robot: object) -> None:
    states = random_states(robot, 4000, seed=9)  # type: ignore[arg-type]
    space = robot.limits.workspace  # type: ignore[attr-defined]
    radius = np.hypot(states.p[:, 0], states.p[:, 1])
    assert radius.max() <= space.radius
    assert space.z_min <= states.p[:, 2].min() < states.p[:, 2].max() <= space.z_max
    # uniform: the squared radius and the cubes of the sizes have mean 1/2, with 1/sqrt(12 N) error
    for share in (
        (radius / space.radius) ** 2,
        (np.linalg.norm(states.pd[:, :3], axis=1) / 3.0) ** 3,
        (np.linalg.norm(states.pdd[:, :3], axis=1) / 60.0) ** 3,
    ):
        assert share.max() <= 1
        assert share.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * 4000))
    again = random_states(robot, 4000, seed=9)  # type: ignore[arg-type]
    assert np.array_equal(states.pdd, again.pdd)


def test_a_robot_without_workspace_uses_its_largest_cylinder() -> None:
    robot = D3.replace(limits=Limits())
    cylinder = working_cylinder(robot)
    states = random_states(robot, 200)
    assert cylinder.radius > 0.3
    assert np.hypot(states.p[:, 0], states.p[:, 1]).max() <= cylinder.radius


def test_text_and_plain_values() -> None:
    found = ladder(D3, pick_and_place(D3), name="a move")
    text = str(found)
    assert all(name in text for name in MODELS)
    assert "a move" in text
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert plain["rungs"][0]["model"] == "exact"
    assert len({len(line) for line in text.splitlines()[1:]}) == 1  # columns line up
