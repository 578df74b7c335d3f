"""The presets: their targets on the D3-1200, every catalogue robot, the table in the docs."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from tests.simulation.factory import as_seen, as_was, excitation, fit, strokes

import deltadyn as dd
from deltadyn.motion import Motion
from deltadyn.simulation import PRESETS, Preset, Run, simulate

D3 = dd.load_robot("sipro-d3-1200")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"


def best_residual(runs: list[Run]) -> float:
    """RMS over axes and runs that the best of the linear fits leaves in one set of runs, in N m.

    Tied and per arm; with filtered angles of the log, and where it has no gaps with the truth.
    """
    pairs = {"seen": [as_seen(D3, run) for run in runs]}
    if all(run.truth.written.all() for run in runs):
        pairs["was"] = [as_was(D3, run) for run in runs]
    left = []
    for parts in pairs.values():
        for tied in (True, False):
            residuals = [fit(D3, motion, tau, tied=tied)[0] for motion, tau in parts]
            left.append(float(np.sqrt(np.mean(np.concatenate(residuals) ** 2))))
    return min(left)


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Run]]:
    """Runs of excitation and of pick-and-place for every preset."""
    motions = [excitation(D3, 2.5), *strokes(D3)]
    return {
        name: [simulate(D3, motion, preset=name, seed=k) for k, motion in enumerate(motions)]
        for name in PRESETS
    }


@pytest.mark.parametrize(
    ("name", "low", "high"), [("ideal", 0.0, 1e-6), ("lab", 0.2, 0.3), ("industrial", 1.7, 2.2)]
)
def test_what_the_best_fit_leaves(
    runs: dict[str, list[Run]], name: str, low: float, high: float
) -> None:
    """[gnad2024]: 1.7 to 2.2 N m on a real robot; about 0.25 N m in a laboratory."""
    for part in (runs[name][:1], runs[name][1:]):
        assert low <= best_residual(part) <= high


def test_error_of_m_kh_on_fast_moves(runs: dict[str, list[Run]]) -> None:
    """[falezza2020], table 1: standard deviations of 23.97, 20.30 and 20.23 N m."""
    errors = []
    for run in runs["industrial"][1:]:
        truth = run.truth
        motion = Motion.from_joints(D3, truth.t, truth.q, truth.qd, truth.qdd)
        model = dd.inverse_dynamics(D3, motion, "half-half", friction=False)
        errors.append(truth.tau - model)
    std = np.concatenate(errors).std(axis=0)
    assert np.all((std > 20.0) & (std < 24.0)), std


def test_friction_of_the_industrial_preset_is_that_of_real_robots() -> None:
    """[gnad2024], section VIII-B: 1.4 to 1.7 N m s/rad and 4.6 to 6.4 N m on a heavier robot."""
    friction = simulate(D3, strokes(D3)[0], preset="industrial").truth.robot.friction
    assert all(1.0 < value < 1.7 for value in friction.viscous)
    assert all(3.0 < value < 6.4 for value in friction.coulomb)


@pytest.mark.full
@pytest.mark.parametrize("name", dd.robot_names())
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_catalogue_robot(name: str, preset: str) -> None:
    """Stable and near its reference: the loop has no vibration of its own."""
    robot = dd.load_robot(name)
    if robot.legs == 4 and preset != "industrial":
        pytest.skip("plants with two halves are slow to simulate")
    run = simulate(robot, excitation(robot, 0.25, acceleration=25.0), preset=preset)
    assert run.completed
    assert "limit" not in run.status
    assert np.abs(run.tracking_error[:, :3]).max() < 0.06
    assert np.isfinite(run.recording.q).all()


def test_presets_are_values() -> None:
    lab = PRESETS["lab"]
    other = lab.with_switches(delay=3)
    assert other.delay == 3
    assert lab.delay == 1
    assert other.with_switches(delay=1) == lab
    assert PRESETS["ideal"] == Preset()


def shown(value: object) -> str:
    """A value as the page shows it."""
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return ", ".join(f"{item:g}" for item in value)
    return value if isinstance(value, str) else f"{value:.10g}"


def test_the_page_shows_the_numbers() -> None:
    """One row per field: | `name` | unit and meaning | ideal | lab | industrial |."""
    text = PAGE.read_text("utf-8")
    rows = {
        cells[0].strip("` "): [cell.strip() for cell in cells[2:5]]
        for line in re.findall(r"^\| `\w+` \|.*\|$", text, flags=re.MULTILINE)
        for cells in [line.strip("|").split("|")]
    }
    expected = {
        item.name: [shown(getattr(PRESETS[name], item.name)) for name in PRESETS]
        for item in fields(Preset)
    }
    assert rows == expected
