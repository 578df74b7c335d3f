"""The reproduction of falezza2020 on four of its twelve trajectories, the fast ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.reproduce.falezza2020 import TABLE_1, TABLE_2, falezza2020, identification_motion
from deltadyn.reproduce.result import Reproduction
from deltadyn.robot.file import load_robot

D3 = load_robot("sipro-d3-1200")


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return falezza2020(trajectories=4)  # some 3 s: four runs of 2 s and v_F


def rows_of(result: Reproduction, start: str) -> list[tuple[Any, ...]]:
    (table,) = [table for table in result.tables if table.title.startswith(start)]
    return list(table.rows)


def test_the_error_falls_at_least_three_times(result: Reproduction) -> None:
    std = {(row[0], row[1]): (row[5], row[7]) for row in rows_of(result, "Table 1")}
    for joint in ("tau_1", "tau_2", "tau_3"):
        for band in (0, 1):  # below 30 Hz, all
            first, last = std["M_KH", joint][band], std["M_Id+F", joint][band]
            assert first / last > 3.0  # the paper has 3.3 to 4.2
            assert std["M_Id", joint][band] < first
            assert std["exact, identified", joint][band] < last
    assert result.passed
    assert len(result.checks) == 12


def test_the_papers_figures_stand_beside_ours(result: Reproduction) -> None:
    rows = rows_of(result, "Table 1")
    assert len(rows) == 12
    for row in rows[:9]:
        joint = int(row[1][-1]) - 1
        mean, std = TABLE_1[row[0]]
        assert (row[2], row[4]) == (mean[joint], std[joint])
    assert all(row[2] is None and row[4] is None for row in rows[9:])
    ratio = [row[1] for row in rows_of(result, "How many times smaller")]
    np.testing.assert_allclose(ratio, [4.23, 3.51, 3.34], atol=0.005)  # the paper's two decimals


def test_factors_are_near_what_the_bench_was_built_with(result: Reproduction) -> None:
    rows = {row[0]: row for row in rows_of(result, "Factors and friction")}
    assert all(row[2] == "not given" for row in rows.values())
    # 10 %: the factors take up the struts' coupling, which is 5 % of the inertia
    assert rows["rho1"][3] == pytest.approx(rows["rho1"][5], rel=0.1)
    # 0.2: the arm's gravity is 3 of 60 N m
    assert rows["rho2"][3] == pytest.approx(rows["rho2"][5], abs=0.2)
    for axis in (1, 2, 3):
        # 30 %: Stribeck and load friction have no term of their own
        for name in (f"viscous {axis}", f"coulomb {axis}"):
            assert rows[name][3] == pytest.approx(rows[name][5], rel=0.3)


def test_what_the_bench_cannot_know_is_said(result: Reproduction) -> None:
    text = " ".join(str(result).split())
    assert "Rotor inertia and friction of the real robot are not published" in text
    assert "how much of it rotors and friction make, are no findings" in text
    assert "the bench cannot show how well that model fits a real robot" in text
    assert "The paper names 12 trajectories without describing them" in text
    assert "Errors are compared below 30 Hz" in text
    assert "The paper's mean errors are not reproduced" in text
    assert "fall by 10.7, 9.1, 8.7 N m" in text


def test_plain_data_and_page(result: Reproduction, tmp_path: Path) -> None:
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["paper"] == "falezza2020"
    assert len(data["tables"]) == 6
    text = result.page(tmp_path / "page.html").read_text("utf-8")
    assert text.count("Plotly.newPlot(") >= 6
    assert "Torques on v_F" in text
    assert "Estimated payload over time (figure 8)" in text


def test_twelve_trajectories_are_four_kinds_at_three_speeds() -> None:
    names, peaks = [], []
    for index in range(12):
        name, motion = identification_motion(D3, index, 0)
        names.append(name)
        peaks.append(float(np.linalg.norm(motion.pdd, axis=1).max()))
    assert len(set(names)) == 12
    assert names[0] == "two belts, 1"
    assert names[11] == "random places, 0.45"
    for kind in range(4):
        assert peaks[kind] > peaks[kind + 4] > peaks[kind + 8]


@pytest.mark.parametrize("index", [0, 3])  # the kinds with random places
def test_places_go_with_the_seed(index: int) -> None:
    one, two, other = (identification_motion(D3, index, seed)[1].p for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert one.shape != other.shape or not np.allclose(one, other)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": -1}, "seed is -1; allowed: a whole number, at least 0"),
        ({"trajectories": 0}, "trajectories is 0; allowed: a whole number, at least 1"),
        ({"trajectories": 2.0}, "trajectories is 2; allowed: a whole number, at least 1"),
    ],
)
def test_wrong_calls(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        falezza2020(**options)


def test_the_payload_is_found_and_mended_equations_are_named(result: Reproduction) -> None:
    rows = rows_of(result, "Table 2")
    assert len(rows) == 12
    for row in rows[:6]:
        joint = int(row[1][-1]) - 1
        mean, std = TABLE_2[row[0]]
        assert (row[2], row[4]) == (mean[joint], std[joint])
    size = {row[0]: 0.0 for row in rows}
    for row in rows:
        size[row[0]] += abs(row[3])
    assert size["M_Id+F, eq. 11"] < 0.2 * size["M_Id+F, m_P = 0"]
    assert size["exact, PayloadEstimator"] < 0.1 * size["exact, m_P = 0"]
    masses = {row[0]: row[1] for row in rows_of(result, "Figure 8 in numbers")}
    assert masses["eq. 11, mended, scalar"] == pytest.approx(3.8, rel=0.05)
    assert masses["PayloadEstimator"] == pytest.approx(3.8, rel=0.03)
    assert masses["eq. 11 on the model's own torque"] == pytest.approx(3.8, abs=1e-6)
    text = " ".join(str(result).split())
    assert "Eq. 11 is run with + before the gain and for a scalar" in text
    assert "where one number is meant" in text
