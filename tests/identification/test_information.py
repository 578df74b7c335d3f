"""The information object: merging is exact, reduced models and weights are maps on it."""

from pathlib import Path

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError
from deltadyn.identification import information as module
from deltadyn.identification.information import Information, gather, joined, load_information
from deltadyn.identification.parametrisation import SOURCES, parametrise
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

RATE = 500.0


def part_of(robot: Robot, seed: int, count: int = 600, noise: float = 0.1) -> Prepared:
    state = exciting_states(robot, count, seed)
    tau = dd.inverse_dynamics(robot, state)
    tau = tau + noise * np.random.default_rng(seed).standard_normal(tau.shape)
    return Prepared(f"part {seed}", np.arange(count) / RATE, state, tau, RATE)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.4, coulomb=1.2)


@pytest.fixture(scope="module")
def whole(robot: Robot) -> Information:
    return gather(robot, [("a", [part_of(robot, 0)]), ("b", [part_of(robot, 1)])])


def normal(F: FloatArray) -> FloatArray:
    squares: FloatArray = F.T @ F
    return squares


def assert_same(a: FloatArray, b: FloatArray) -> None:
    """Equal up to the rounding of sums of squares."""
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13 * np.abs(b).max())


def test_the_factor_holds_the_normal_equations(robot: Robot) -> None:
    part = part_of(robot, 3)
    found = gather(robot, [("a", [part])])
    par = parametrise(robot, tied=False)
    rows = np.concatenate([par.columns(robot, part.state), part.tau[..., None]], axis=2)
    flat = rows.reshape(-1, rows.shape[2])
    assert_same(normal(found.factor(par)), flat.T @ flat)
    assert found.samples == len(part)


@pytest.mark.parametrize("model", sorted(SOURCES))
@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600"])
def test_reduced_models_are_maps_of_the_columns(name: str, model: str) -> None:
    robot = dd.load_robot(name)
    part = part_of(robot, 4, count=240)
    found = gather(robot, [("a", [part])], SOURCES[model])
    par = parametrise(robot, model)
    # the map gives the model's own torque at the robot's own values
    want = dd.inverse_dynamics(robot, part.state, model=model)
    np.testing.assert_allclose(
        par.torque(robot, part.state, par.prior), want, atol=1e-10 * np.abs(want).max()
    )
    left = part.tau - want
    squares = np.linalg.norm(found.factor(par) @ np.append(par.prior, -1.0)) ** 2
    # the squares of the residuals are left of the torques' by cancellation: 1e-7 is rounding
    np.testing.assert_allclose(squares, (left**2).sum(), rtol=1e-7)


def test_merging_is_exact_and_order_does_not_matter(robot: Robot, whole: Information) -> None:
    a = gather(robot, [("a", [part_of(robot, 0)])])
    b = gather(robot, [("b", [part_of(robot, 1)])])
    merged = a.merge(b)
    assert merged.recordings == ("a", "b")
    np.testing.assert_array_equal(merged.factors, whole.factors)
    np.testing.assert_array_equal(merged.recording, whole.recording)
    par = parametrise(robot)
    both = normal(b.merge(a).factor(par))
    assert_same(both, normal(whole.factor(par)))


def test_joined_blocks_keep_the_normal_equations(robot: Robot, whole: Information) -> None:
    fewer = joined(whole, 4)
    assert fewer.blocks <= 4 < whole.blocks
    assert fewer.samples == whole.samples
    assert fewer.seconds.sum() == pytest.approx(whole.seconds.sum())
    par = parametrise(robot)
    assert_same(normal(fewer.factor(par)), normal(whole.factor(par)))


def test_memory_stays_bounded(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 0.02)
    parts = [part_of(robot, seed) for seed in range(6)]
    found = gather(robot, [("long", parts)], workers=2)
    monkeypatch.setattr(module, "MEMORY", 1)
    small = gather(robot, [("long", parts)], workers=2)
    assert small.blocks <= 64 < found.blocks
    assert small.samples == found.samples == 3600


def test_weights_scale_the_rows_of_an_axis(robot: Robot, whole: Information) -> None:
    par = parametrise(robot)
    parts = [normal(whole.factor(par, [1.0 * (axis == a) for a in range(3)])) for axis in range(3)]
    want = 4 * parts[0] + 9 * parts[1] + parts[2]
    assert_same(normal(whole.factor(par, [2.0, 3.0, 1.0])), want)


def test_a_known_payload_leaves_the_parameters_alone(robot: Robot) -> None:
    state = exciting_states(robot, 300, 5)
    heavy = robot.with_payload(2.5)
    tau = dd.inverse_dynamics(heavy, state)
    part = Prepared("heavy", np.arange(300) / RATE, state, tau, RATE, extra=2.5)
    par = parametrise(robot)
    F = gather(robot, [("heavy", [part])]).factor(par)
    x = np.linalg.solve(F[:-1, :-1], F[:-1, -1])
    np.testing.assert_allclose(x, par.prior, rtol=1e-9)


def test_saved_information_comes_back(whole: Information, tmp_path: Path) -> None:
    path = tmp_path / "information"
    whole.save(path)
    back = load_information(path)
    for name in ("factors", "rows", "seconds", "extra", "recording", "payload"):
        np.testing.assert_array_equal(getattr(back, name), getattr(whole, name))
    assert (back.source, back.robot, back.names) == (whole.source, whole.robot, whole.names)
    assert back.recordings == whole.recordings


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.npz"
    np.savez(path, other=np.zeros(3))
    with pytest.raises(InputError, match=r"information file is .*no\.npz.*Information\.save"):
        load_information(path)


def test_other_robots_cannot_be_merged(robot: Robot, whole: Information) -> None:
    other = dd.load_robot("nt-robot").with_friction(viscous=0.1, coulomb=0.1)
    with pytest.raises(InputError, match=r"robot of the information is 'nt-robot'"):
        whole.merge(gather(other, [("c", [part_of(other, 0)])]))
