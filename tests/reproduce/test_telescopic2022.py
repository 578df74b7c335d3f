"""The reproduction of telescopic2022: its gate, its table 2, and checks that can fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deltadyn.arrays import contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.motion import check_motion, fourier_motion
from deltadyn.reproduce.result import Reproduction
from deltadyn.reproduce.telescopic2022 import (
    ALONE,
    ARM_LENGTH,
    EXCITATION,
    HALF,
    NONE,
    PROJECTED,
    TABLE_2,
    VALIDATION,
    WITH,
    WITHOUT,
    Simulated,
    experiment_robot,
    leg_inertia,
    simulated_gate,
    straight_lines,
    table_2_split,
    telescopic2022,
    upper_rod_by_projection,
)
from deltadyn.robot.file import load_robot


@pytest.fixture(scope="module")
def reproduced() -> Reproduction:
    """A shorter excitation at a lower rate than the default: a few seconds."""
    return telescopic2022(rate=1500.0, periods=1)


@pytest.fixture(scope="module")
def gate() -> Simulated:
    return simulated_gate()


@pytest.mark.parametrize("rotor", [0.0, 0.0075])
def test_the_split_keeps_the_sums_of_table_2(rotor: float) -> None:
    split = table_2_split(rotor)
    arm, strut = split["arm.m"], split["strut.m"]
    assert split["platform.m"] + 3 * strut == pytest.approx(3 * TABLE_2["strut.m"])
    assert arm / 2 + strut == pytest.approx(TABLE_2["arm.m"] / 2 + TABLE_2["strut.m"])
    assert leg_inertia(arm, strut, rotor) == pytest.approx(TABLE_2["I_u"])
    assert min(split.values()) > 0


def test_table_2_as_printed_has_a_negative_rotor() -> None:
    rotor = TABLE_2["I_u"] - leg_inertia(TABLE_2["arm.m"], TABLE_2["strut.m"], 0.0)
    assert rotor == pytest.approx(-0.00147, abs=1e-5)


def test_the_robot_of_the_experiment_keeps_its_limits() -> None:
    robot = experiment_robot()
    assert robot.rotary.arm_length == (ARM_LENGTH,) * 3
    assert robot.drives.output_inertia[:3] == (0.0075,) * 3
    for series in (EXCITATION, VALIDATION):
        report = check_motion(robot, fourier_motion(robot, series, rate=500.0))
        assert report.ok, report.summary


def test_phi_jumps_on_the_axis_and_only_there() -> None:
    """Figure 6: the way of the text misses the axis, the way of the figure passes it."""
    printed, shown = straight_lines().values()
    for line in (printed, shown):
        assert line.t[[0, -1]].tolist() == [0.0, 0.3]
        assert line.found.projected_step < 0.01
    assert printed.p[0, :3] == pytest.approx([0.1, -0.1, -0.8])
    assert printed.found.polar_step < 0.1
    assert shown.found.polar_step == pytest.approx(np.pi)
    assert 1e3 * shown.found.polar[:, 0].min() == pytest.approx(800, abs=0.01)  # as in figure 6c
    assert 1e3 * printed.found.polar[:, 0].min() == pytest.approx(806.2, abs=0.1)
    # det J = -l^2 sin(theta) turns to 0 on the axis
    assert np.abs(shown.found.polar_determinant).min() < 1e-3
    assert np.abs(shown.found.projected_determinant).min() > 0.5


@pytest.mark.full
def test_the_gate_is_that_of_figure_7(gate: Simulated, reproduced: Reproduction) -> None:
    table = next(item for item in reproduced.tables if item.title.startswith("Figure 7"))
    rows = {row[0]: np.array(row[1:], dtype=float) for row in table.rows}
    np.testing.assert_allclose(rows["x"][:2], [-0.2, 0.2], atol=1e-12)
    np.testing.assert_allclose(rows["z"][:2], [-0.8, -0.77], atol=1e-12)
    for k, name in enumerate("xyz"):
        assert rows[name][5] == gate.motion.pdd[:, k].max()


def test_the_rods_coordinates_are_consistent(gate: Simulated) -> None:
    """Figure 8: rates and accelerations are derivatives, and the forces do the rod's work."""
    dt = gate.motion.t[1] - gate.motion.t[0]
    for values, rates, peak in (
        (gate.coordinates, gate.rates, 2.0),
        (gate.rates, gate.accelerations, 13.0),
    ):
        slope = (values[2:] - values[:-2]) / (2 * dt)
        # Central differences at 2 kHz; where a stroke meets the way across the jerk jumps.
        assert np.abs(slope - rates[1:-1]).max() < 0.02 * peak
    power = contract("ni,ni->n", gate.forces, gate.rates)
    torque = gate.projected - gate.without
    assert np.abs(power - contract("ni,ni->n", torque, gate.motion.qd[:, :3])).max() < 1e-10


def test_the_rod_makes_the_torques_larger(gate: Simulated) -> None:
    """What figures 9 and 10 show, on every joint."""
    for with_rod in (gate.projected, gate.exact):
        assert np.all(np.abs(with_rod).max(axis=0) > np.abs(gate.without).max(axis=0))
    robot = load_robot("telescopic-delta")
    exact = inverse_dynamics(robot, gate.motion)[:, :3]
    assert np.array_equal(exact, gate.exact)


def test_projected_angles_alone_lose_the_upper_rod() -> None:
    found = upper_rod_by_projection(experiment_robot())
    assert found == pytest.approx(0.053, abs=0.005)  # kg, of 0.134


def test_every_check_passes(reproduced: Reproduction) -> None:
    assert reproduced.passed, "\n".join(map(str, reproduced.checks))
    assert len(reproduced.checks) == 19


def test_table_2_stands_beside_the_papers(reproduced: Reproduction) -> None:
    table = next(item for item in reproduced.tables if item.title.startswith("Table 2"))
    assert table.columns[:4] == ("parameter", "paper", "its equations", "exact model")
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["mass of the lower arm (one rod)"][0] == 0.433
    assert rows["rotor by eq. 36"][0] == pytest.approx(-0.0015, abs=1e-4)
    assert rows["rotor by eq. 36"][1] < 0 < rows["rotor by eq. 36"][2]  # type: ignore[operator]
    assert rows["mass of the platform"][0] is None
    # The sum that the paper's I_u stands for is known well, however its parts are split.
    assert rows["I_u"][2] == pytest.approx(rows["I_u"][4], rel=0.02)


def test_the_validation_knows_its_order(reproduced: Reproduction) -> None:
    """Without noise and ripple the exact model errs least, and no rod most."""
    table = next(item for item in reproduced.tables if item.title.startswith("Figure 13"))
    errors = {row[1]: np.array(row[2:]) for row in table.rows if row[0] == "ideal"}
    exact = errors["error: exact model"]
    paper = errors["error: paper's model, platform given"]
    assert np.all(exact < 0.5 * paper)
    assert np.all(paper < errors["error: legs of the exact model, no rod"])


def test_the_rods_model_is_worth_more_where_less_is_left(reproduced: Reproduction) -> None:
    """Figure 15: the factor grows as ripple goes, and PD alone stands beside both."""
    table = next(item for item in reproduced.tables if item.title.startswith("RMS tracking"))
    factor = {row[0]: row[-1] for row in table.rows}
    order = ("industrial", HALF, NONE, "ideal")
    values = [float(factor[bench]) for bench in order]  # type: ignore[arg-type]
    assert values == sorted(values)
    assert values[0] < factor["paper"] < values[2]  # type: ignore[operator]
    errors = next(item for item in reproduced.tables if item.title.startswith("Figure 15"))
    rms = {row[:2]: np.array(row[2:5], dtype=float) for row in errors.rows}
    assert len(rms) == 16
    for bench in ("ideal", "industrial"):
        assert np.all(rms[bench, WITH] < rms[bench, WITHOUT])
        assert np.all(rms[bench, WITHOUT] < rms[bench, ALONE])
    # What the paper's projected angles and point masses leave, where nothing else errs.
    assert np.all(rms["ideal", WITH] < 0.2 * rms["ideal", PROJECTED])


def test_what_was_assumed_is_said(reproduced: Reproduction) -> None:
    text = " ".join(reproduced.statements)
    for words in (
        "names no platform mass",
        "-0.0015 kg m^2 by eq. 36",
        "eq. 42 has them the other way round",
        "This split is an assumption",
        "The bench does not know the real machine",
        "The paper's gains are not given",
        "Most of what is left is motor ripple",
        "the text names a way from (100, -100, -800) to (100, 100, -800) mm",
        "how near its curve comes the bench cannot tell",
    ):
        assert words in text


def test_text_data_and_page(reproduced: Reproduction, tmp_path: Path) -> None:
    assert "Table 2: identified parameters" in str(reproduced)
    data = json.loads(json.dumps(reproduced.as_dict()))
    assert data["passed"] is True
    page = reproduced.page(tmp_path / "page.html").read_text(encoding="utf-8")
    for title in (
        "Figure 6",
        "Figure 7",
        "Figure 8",
        "Figures 9 and 10",
        "Figure 12",
        "Figure 13",
        "Table 2",
        "Figure 15",
    ):
        assert title in page
    assert page.count("plotly-graph-div") >= 9
