"""Files that deltadyn 0.1.0 wrote still load, with the numbers that they had.

`tests/data_0_1` was written by 0.1.0: a robot file, a fit as `Fit.save` writes it, information as
`Information.save` does, and a project as `deltadyn init` makes it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.commands.common import robot_of
from deltadyn.commands.project import defaults, project_robot, read_project
from deltadyn.dynamics import inverse_dynamics
from deltadyn.identification import load_information, parametrise
from deltadyn.kinematics import State
from deltadyn.report import compare_fits

OLD = Path(__file__).parent / "data_0_1"
FITTED = {
    "M_P": 1.3296716429602136,
    "m_x": 0.06587817378857554,
    "A": 0.07404464051739357,
    "G": 0.2435894648722146,
    "Fv1": 1.4987393267369453,
    "Fv2": 1.3984897856388039,
    "Fv3": 1.6026639578380935,
    "Fc1": 3.0012108072980475,
    "Fc2": 3.500963481388966,
    "Fc3": 4.000258231607501,
}
ROUNDING = 1e-12  # of sums of some hundred products


def torque(robot: dd.Robot, place: list[float]) -> list[float]:
    """Torque at a place, at 0.2 m/s and 2 m/s^2 along every coordinate."""
    rate, acceleration = np.full(robot.dof, 0.2), np.full(robot.dof, 2.0)
    state = State.from_platform(robot, np.array(place), rate, acceleration)
    return list(inverse_dynamics(robot, state))


def test_a_robot_file() -> None:
    robot = dd.load_robot(OLD / "robot.yaml")
    assert robot.payload.mass == 0.25
    assert robot.payload.offset == (0.01, 0.0, -0.02)
    assert robot.friction.coulomb == (0.8, 0.9, 0.7, 0.02)
    wanted = [-8.226178294825438, -5.512846152849552, -2.31357079532353, 0.031184048331628075]
    assert torque(robot, [0.1, -0.05, -0.6, 0.3]) == pytest.approx(wanted, rel=ROUNDING)


def test_the_robot_of_a_fit() -> None:
    robot = dd.load_robot(OLD / "fit.yaml")
    wanted = [-11.614809443533026, -8.959853152115365, 0.7647147934283107]
    assert torque(robot, [0.1, -0.05, -0.8]) == pytest.approx(wanted, rel=ROUNDING)


def test_the_record_of_a_fit() -> None:
    found = compare_fits({"old": OLD / "fit.json", "again": OLD / "fit.json"})
    rows = {row["name"]: row["value"] for row in found.records["old"]["parameters"]}
    assert rows == FITTED
    assert found.records["old"]["provenance"]["versions"]["deltadyn"] == "0.1.0"
    assert len(found.changes) == len(FITTED)
    assert not any(change.difference for change in found.changes)


def test_information() -> None:
    information = load_information(OLD / "information.npz")
    robot = dd.load_robot("sipro-d3-1200")
    factor = information.factor(parametrise(robot))
    assert information.blocks == 12
    assert information.samples == 180
    assert information.rows.shape == information.left_out.shape == (12, 3)
    assert not information.left_out.any()
    assert information.recordings == ("log",)
    assert float(np.abs(factor).sum()) == pytest.approx(1789.8273496578513, rel=ROUNDING)


def test_a_fit_of_old_information() -> None:
    """12 of the 43 blocks of the fit that is beside it: the same robot within its deviations."""
    fit = dd.identify(dd.load_robot("sipro-d3-1200"), load_information(OLD / "information.npz"))
    wanted = np.array([FITTED[name] for name in fit.names])
    assert np.all(np.abs(fit.values - wanted) < 5 * fit.std)
    assert fit["M_P"] == pytest.approx(1.33, rel=0.01)


def test_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OLD / "project")
    project = read_project()
    assert project is not None
    assert project["identify"] == {"out": "results/identified"}
    assert project_robot() == "robot.yaml"
    assert robot_of(".").name == "sipro-d3-1200"
    chosen = defaults(main)
    assert chosen["identify"]["out"] == "results/identified"
    assert chosen["identify"]["columns"] == "columns.yaml"
