"""Many robots at once: against an integrator that is not ours, single runs, and the NumPy path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.dynamics.factory import full_friction, make_robot
from tests.simulation.factory import standing

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.backends import layout
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction
from deltadyn.simulation import PD, PDFeedforward, PDGravity, robot_numbers, rollout, simulate
from deltadyn.simulation.plant.machine import home_angles

DT = 5e-4  # s


@pytest.fixture(params=["compiled", "NumPy"])
def path(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways to the same result."""
    if request.param == "compiled":
        if not kernels.available():
            pytest.skip("the extension is not built")
        yield request.param
    else:
        with kernels.switched_off():
            yield request.param


def smooth(dof: int) -> Robot:
    """Friction in every joint, without the kinks of |load| and of two directions."""
    friction = full_friction(dof, smoothing=1.0, load=None)
    friction = replace(friction, coulomb=0.1, coulomb_negative=None)
    return make_robot(dof, False).replace(friction=friction.checked(dof))


def states(robot: Robot, count: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    q = home_angles(robot) + 0.1 * rng.standard_normal((count, robot.dof))
    return q, rng.standard_normal((count, robot.dof))


@pytest.mark.full
@pytest.mark.parametrize("dof", [3, 4])
def test_against_an_integrator_of_high_order(path: str, dof: int) -> None:
    """A torque that grows, so that the ramp counts too; tolerance: Runge-Kutta's own error."""
    robot, steps = smooth(dof), 20
    q, qd = states(robot, 2)
    torque = np.linspace(0.0, 2.0, steps + 1)[:, None] * np.arange(1, dof + 1)
    found = rollout(robot, q, qd, torque, dt=DT, hold="linear", substeps=8)
    slope_per_s = (torque[1] - torque[0]) / DT
    for k in range(2):

        def slope(t: float, y: FloatArray) -> FloatArray:
            tau = torque[0] + slope_per_s * t
            return np.concatenate([y[dof:], dd.forward_dynamics(robot, y[:dof], y[dof:], tau)])

        begin = np.concatenate([q[k], qd[k]])
        end = solve_ivp(slope, (0, steps * DT), begin, method="DOP853", rtol=1e-10, atol=1e-11)
        got = np.concatenate([found.q[k], found.qd[k]])
        np.testing.assert_allclose(got, end.y[:, -1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("load", [None, 0.2])
def test_both_paths_are_the_same(dof: int, load: float | None) -> None:
    """Own numbers, own torques, own forces; 37 robots fill one block and a part of another."""
    if not kernels.available():
        pytest.skip("the extension is not built")
    count, steps = 37, 12
    robots = [
        make_robot(dof, False)
        .with_payload(0.1 * k)
        .replace(friction=full_friction(dof, smoothing=0.3, load=load))
        for k in range(count)
    ]
    q, qd = states(robots[0], count)
    rng = np.random.default_rng(1)
    torque, force = rng.standard_normal((count, steps, dof)), rng.standard_normal((count, 3))
    options: dict[str, Any] = {"dt": DT, "every": 5, "external_force": force}
    compiled = rollout(robots, q, qd, torque, **options)
    with kernels.switched_off():
        plain = rollout(robots, q, qd, torque, **options)
    np.testing.assert_allclose(compiled.t, [0.0, 5 * DT, 10 * DT])
    assert compiled.course_q.shape == (count, 3, dof)
    np.testing.assert_array_equal(compiled.course_q[:, 0], q)
    for name in ("q", "qd", "course_q", "course_qd"):
        # rounding of a dozen steps, in rad and rad/s
        np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), atol=1e-12)


@pytest.mark.parametrize("dof", [3, 4])
def test_single_runs_of_the_bench(dof: int) -> None:
    """A torque, and a controller, on many robots and on each alone by `simulate`."""
    robot = smooth(dof)
    motion = swinging(robot)
    torque = dd.inverse_dynamics(robot, motion)[:-1]
    together = rollout(robot, np.tile(motion.q[0], (5, 1)), motion.qd[0], torque, dt=DT)
    one = rollout(robot, motion.q[0], motion.qd[0], torque, dt=DT)
    assert one.q.shape == (dof,)
    np.testing.assert_array_equal(together.q, np.tile(one.q, (5, 1)))
    for controller in (None, PD(robot), PDFeedforward(robot, bandwidth=10.0)):
        run = simulate(robot, motion, controller, hold="step")
        found = rollout(
            robot,
            motion.q[0],
            motion.qd[0],
            dt=DT,
            motion=motion,
            controller=controller,
            every=1,
        )
        # simulate rounds elsewhere, nothing more
        np.testing.assert_allclose(found.course_q, run.truth.q, atol=1e-11)
        np.testing.assert_allclose(found.qd, run.truth.qd[-1], atol=1e-9)


def swinging(robot: Robot) -> dd.Motion:
    t = np.arange(121) * DT
    phase = np.arange(robot.dof)
    angle = 12 * t[:, None] + phase
    q = 0.4 + 0.05 * np.sin(angle)
    return dd.Motion.from_joints(robot, t, q, 0.6 * np.cos(angle), -7.2 * np.sin(angle))


def test_numbers_of_every_robot(path: str) -> None:
    """Rows of numbers are robots: a heavier platform falls as the robot with that payload."""
    robot = dd.load_robot("sipro-d3-1200")
    rows = np.tile(robot_numbers(robot, 0.02), (4, 1))
    rows[:, layout.PLACES["M_P"]] += np.arange(4.0)[:, None]
    torque = np.zeros((20, 3))
    q = home_angles(robot)
    found = rollout(robot, q, None, torque, dt=DT, numbers=rows)
    for k in range(4):
        one = rollout(robot.with_payload(float(k)), q, None, torque, dt=DT)
        np.testing.assert_allclose(found.q[k], one.q, atol=1e-14)
    assert np.ptp(found.q[:, 0]) > 1e-6  # they do differ


def test_energy_is_kept_without_torque_and_friction(path: str) -> None:
    robot = dd.load_robot("sipro-d3-1200")
    q, qd = states(robot, 3)
    found = rollout(robot, q, qd, np.zeros((100, 3)), dt=DT, every=20)
    for k in range(3):
        state = dd.State.from_joints(robot, found.course_q[k], found.course_qd[k])
        parts = dd.dynamics.energy(robot, state)
        total = parts.kinetic + parts.potential
        assert np.ptp(parts.kinetic) > 0.1  # J
        assert np.ptp(total) < 1e-9 * np.ptp(parts.kinetic)


def test_a_loop_that_opens_is_nan_and_its_neighbours_are_not(path: str) -> None:
    robot = dd.load_robot("sipro-d3-1200")
    q, _ = states(robot, 40)
    torque = np.zeros((40, 30, 3))
    torque[7] = 1e5, -1e5, 1e5
    found = rollout(robot, q, None, torque, dt=2e-3, every=1)
    assert not found.closed[7]
    assert np.isnan(found.q[7]).all()
    assert found.closed.sum() == 39
    first = np.isnan(found.course_q[7]).any(axis=1)
    assert not first[0]
    assert first[-1]


def test_stiff_friction_is_cut_into_short_steps() -> None:
    robot = dd.load_robot("sipro-d3-1200").replace(
        friction=Friction(coulomb=20.0, smoothing=0.001).checked(3)
    )
    torque = np.zeros((200, 3))
    found = rollout(robot, home_angles(robot), None, torque, dt=1e-3)
    assert np.abs(found.qd).max() < 0.01  # it sticks: 20 N m are more than its weight asks
    rough = rollout(robot, home_angles(robot), None, torque, dt=1e-3, substeps=1)
    assert not np.abs(rough.qd).max() < 0.01  # and with long steps it would not


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels.available():
        pytest.skip("the extension is not built")
    robot = dd.load_robot("sipro-d3-1200")
    q, qd = states(robot, 5000)
    found = []
    for count in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        found.append(rollout(robot, q, qd, np.zeros((5, 3)), dt=DT))
    np.testing.assert_array_equal(found[0].q, found[1].q)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dt": 0.0}, "dt"),
        ({"torque": None}, "torque and motion is 'neither'; allowed: one of them"),
        ({"torque": np.zeros((5, 4))}, r"shape of torque is \[5, 4\]"),
        ({"torque": np.zeros((1, 3)), "hold": "linear"}, "T at least 2"),
        ({"torque": np.full((2, 3), np.nan)}, r"torque.*place \(0, 0\).*finite"),
        ({"q": np.zeros(4)}, r"shape of q is \[4\]"),
        ({"q": [np.inf, 0.0, 0.0]}, "q.*inf"),
        (
            {"q": np.zeros((2, 3)), "qd": np.zeros((3, 3))},
            "rows of q is 2; allowed: 3, as its partners",
        ),
        ({"numbers": np.zeros(5)}, "shape of numbers.*robot_numbers"),
        ({"substeps": 0}, "substeps is 0; allowed: a whole number, at least 1"),
        ({"every": 1.5}, "every"),
        ({"external_force": np.zeros(2)}, "shape of external_force"),
        ({"controller": "PD"}, "a motion to follow with it"),
        ({"robot": "sipro"}, "robot is 'str'"),
        ({"robot": []}, "robot"),
    ],
)
def test_bad_calls(changes: dict[str, Any], message: str) -> None:
    robot = dd.load_robot("sipro-d3-1200")
    call: dict[str, Any] = {"robot": robot, "q": home_angles(robot), "torque": np.zeros((3, 3))}
    call |= {"dt": DT, **changes}
    with pytest.raises(InputError, match=f"(?s){message}"):
        rollout(**call)


def test_bad_calls_with_a_motion() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    motion, q = standing(robot, 0.1), home_angles(robot)
    with pytest.raises(UnknownNameError, match="hold"):
        rollout(robot, q, dt=DT, motion=motion, hold="ramp")
    with pytest.raises(InputError, match="'step' where a motion is followed"):
        rollout(robot, q, dt=DT, motion=motion, hold="linear")
    with pytest.raises(InputError, match="torque and motion is 'both'"):
        rollout(robot, q, None, np.zeros((3, 3)), dt=DT, motion=motion)
    with pytest.raises(InputError, match="simulate runs all others"):
        rollout(robot, q, dt=DT, motion=motion, controller=PDGravity(robot))
    with pytest.raises(InputError, match="motion"):
        rollout(robot, q, dt=DT, motion=3)  # type: ignore[arg-type]
    mixed = [robot, dd.load_robot("example-delta-4")]
    with pytest.raises(InputError, match="axes of the robots"):
        rollout(mixed, q, None, np.zeros((3, 3)), dt=DT)
    numbers = robot_numbers(robot, 0.02)
    with pytest.raises(InputError, match="beside one robot"):
        rollout([robot, robot], q, None, np.zeros((3, 3)), dt=DT, numbers=numbers)
