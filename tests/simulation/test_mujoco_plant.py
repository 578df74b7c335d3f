"""The MuJoCo plant against the ideal one: the same machine, moved by two engines.

What is left between them is the error of MuJoCo's soft constraints and of its friction, which is
constant within a step.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import any_shape, full_friction, make_robot
from tests.simulation.factory import excitation, rms, standing, strokes

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.motion import Motion
from deltadyn.recording import MissingExtraError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform
from deltadyn.robot.settings import Limits, Workspace
from deltadyn.simulation import Run, simulate

pytest.importorskip("mujoco")

LIMITS = Limits(workspace=Workspace(0.3, -0.8, -0.65))


def both(robot: Robot, motion: Motion, **kwargs: Any) -> tuple[Run, Run]:
    """The same run on both plants."""
    ideal, mujoco = (
        simulate(robot, motion, plant=plant, **kwargs) for plant in ("ideal", "mujoco")
    )
    assert ideal.completed
    assert mujoco.completed
    return ideal, mujoco


def closure_error(run: Run) -> float:
    """Distance of MuJoCo's platform from where its arms say it is, in m."""
    p = dd.forward_kinematics(run.truth.robot, run.truth.q)
    return float(np.abs(p - run.truth.p).max())


def test_a_fast_move_of_the_d3_1200() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    ideal, mujoco = both(robot, strokes(robot)[1])
    assert closure_error(mujoco) < 1e-7
    assert np.abs(ideal.truth.q - mujoco.truth.q).max() < 1e-6
    assert np.all(rms(ideal.truth.tau - mujoco.truth.tau) < 1e-4 * rms(ideal.truth.tau))
    assert np.all(rms(ideal.truth.qdd - mujoco.truth.qdd) < 1e-3 * rms(ideal.truth.qdd))
    assert mujoco.energy.drift < 1e-5


@pytest.mark.full
@pytest.mark.parametrize("dof", [3, 4])
def test_everything_at_once(dof: int) -> None:
    """Unequal limbs, all friction, arms off their line, a force, payloads that come and go."""
    friction = full_friction(dof, smoothing=0.5)
    robot = make_robot(dof, False).replace(friction=friction, limits=LIMITS)
    ideal, mujoco = both(
        robot,
        excitation(robot, 0.3, acceleration=20.0),
        payload=[(0.1, 0.2), (0.2, 1.0)],
        external_force=[10.0, -20.0, 15.0, 0.2][:dof],
    )
    assert closure_error(mujoco) < 1e-6
    # Friction of the steps before: 1e-3 of the torques on the arms, more on the light psi axis.
    share = np.array([3e-3, 3e-3, 3e-3, 2e-2])[:dof]
    assert np.all(rms(ideal.truth.tau - mujoco.truth.tau) < share * rms(ideal.truth.tau))
    assert np.abs(ideal.truth.q - mujoco.truth.q).max() < 1e-3
    np.testing.assert_array_equal(ideal.truth.payload, mujoco.truth.payload)
    assert mujoco.energy.drift < 1e-3
    for name in ("external", "friction", "payload"):
        ours, theirs = getattr(ideal.energy, name)[-1], getattr(mujoco.energy, name)[-1]
        assert ours == pytest.approx(theirs, abs=5e-3 * ideal.energy.exchanged)


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_elastic_gears_and_ripple(name: str) -> None:
    robot = dd.load_robot(name)
    exact: dict[str, Any] = {"encoder_counts": None, "smoothing": 0.2}
    ideal, mujoco = both(robot, excitation(robot, 0.3), preset="industrial", **exact)
    wound = ideal.truth.gear_deflection[:, :3], mujoco.truth.gear_deflection[:, :3]
    assert np.all(rms(wound[0] - wound[1]) < 0.01 * rms(wound[0]))
    assert np.all(rms(ideal.truth.tau - mujoco.truth.tau) < 0.01 * rms(ideal.truth.tau))
    np.testing.assert_allclose(ideal.truth.temperature, mujoco.truth.temperature, rtol=1e-4)
    assert mujoco.energy.drift < 1e-4


def test_smaller_steps_come_nearer() -> None:
    """The constraints' time constant is two steps: twice the rate, a quarter of their error."""
    robot = dd.load_robot("sipro-d3-1200")
    motion = excitation(robot, 0.1)
    slow, fast = (simulate(robot, motion, plant="mujoco", rate=rate) for rate in (1000.0, 2000.0))
    assert closure_error(fast) < 0.35 * closure_error(slow)


def test_bodies_of_any_shape_follow_the_rigid_model() -> None:
    """MuJoCo takes the ten parameters of the struts, the ideal plant their thin equivalent."""
    robot = any_shape(make_robot(4, False)).replace(limits=LIMITS)
    run = simulate(robot, excitation(robot, 0.1, acceleration=20.0), plant="mujoco")
    motion = run.truth.motion()
    errors = [
        rms(run.truth.tau - dd.inverse_dynamics(run.truth.robot, motion, name))
        for name in ("rigid", "exact")
    ]
    assert np.all(errors[0] < 2e-3 * rms(run.truth.tau))
    assert np.all(errors[0] < 0.1 * errors[1])


def test_mujoco_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = dd.load_robot("example-delta")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"plant 'mujoco' needs .*deltadyn\[mujoco\]"):
        simulate(robot, standing(robot, 0.01), plant="mujoco")
    simulate(robot, standing(robot, 0.01))  # the ideal plant does not need it


def test_a_platform_without_mass_is_refused() -> None:
    robot = dd.load_robot("example-delta").replace(platform=Platform(0.0))
    with pytest.raises(InputError, match=r"platform\.mass is 0; allowed: above 0 kg"):
        simulate(robot, standing(robot, 0.01), plant="mujoco")
