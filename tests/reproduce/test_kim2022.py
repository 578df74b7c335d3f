"""The reproduction of kim2022 with a short identification motion and 150 iterations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.motion import check_motion
from deltadyn.reproduce.kim2022 import (
    EQ_36,
    FRICTION,
    TABLE_2,
    friction_signs,
    identification_motion,
    kim2022,
    validation_motion,
)
from deltadyn.reproduce.result import Reproduction
from deltadyn.robot.file import load_robot

NT = load_robot("nt-robot")


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return kim2022(iterations=150, periods=1)  # some 5 s, nearly all of it simulation


def rows_of(result: Reproduction, start: str) -> dict[str, tuple[Any, ...]]:
    (table,) = [table for table in result.tables if table.title.startswith(start)]
    return {str(row[0]): row[1:] for row in table.rows}


def test_the_proposed_method_beats_the_baselines_as_printed(result: Reproduction) -> None:
    fitness = {
        name: np.array(row[4:], dtype=float) for name, row in rows_of(result, "Table 2").items()
    }
    base = 1 - fitness["RLS as printed"]
    # the paper's own ratios are 0.60, 0.72, 0.62
    assert (1 - fitness["proposed (swarm)"] <= 0.75 * base).all()
    assert (1 - fitness["exact model"] <= 0.5 * base).all()
    for name in ("DLS", "SVD"):
        assert (1 - fitness["proposed (swarm)"] <= 0.75 * (1 - fitness[f"{name} as printed"])).all()
    assert result.passed
    assert len(result.checks) == 10


def test_on_equal_columns_the_baselines_are_as_good(result: Reproduction) -> None:
    fitness = {
        name: np.array(row[4:], dtype=float) for name, row in rows_of(result, "Table 2").items()
    }
    for name in ("RLS", "DLS", "SVD"):
        ratio = (1 - fitness[f"{name} on its columns"]) / (1 - fitness["proposed (swarm)"])
        assert (ratio < 1.2).all()  # two sums over the same residuals differ by a few percent
    text = " ".join(str(result).split())
    assert "is that of its model, not of its algorithm" in text


def test_the_papers_figures_stand_beside_ours(result: Reproduction) -> None:
    rows = rows_of(result, "Table 2")
    for name, paper in TABLE_2.items():
        assert rows[name][1:4] == paper
    assert rows["exact model"][1:4] == (None, None, None)
    assert len(rows) == 11


def test_nobody_is_below_the_proven_optimum(result: Reproduction) -> None:
    rows = rows_of(result, "Objective (eq. 33)")
    above = {name: float(row[2]) for name, row in rows.items()}
    assert above["optimum of eq. 33"] < 1e-9
    assert above["proposed (swarm)"] < 1e-3  # 150 iterations; 1000 come within 1e-9
    assert above["RLS on its columns"] > above["proposed (swarm)"]
    objective = {name: row[1] for name, row in rows.items()}
    eleven = [name for name, row in rows.items() if row[0] == "11, eq. 30"]
    assert min(objective[name] for name in eleven) == pytest.approx(
        objective["optimum of eq. 33"], rel=1e-9
    )


def test_parameters_are_near_those_of_the_machine(result: Reproduction) -> None:
    rows = rows_of(result, "The 11 parameters")
    assert [row[1] for row in rows.values()] == list(EQ_36)
    for name, (_, _, swarm, optimum, bench) in rows.items():
        # the coupling m_x goes into the inertias, Stribeck and load friction into both coefficients
        assert swarm == pytest.approx(bench, rel=0.5 if name in FRICTION else 0.3), name
        assert swarm == pytest.approx(optimum, rel=0.05), name


def test_manufacturers_data_lack_friction(result: Reproduction) -> None:
    """Figure 3a: wrong as printed, without friction when mended, near with it."""
    rows = {
        name: np.array(row[3:], dtype=float)
        for name, row in rows_of(result, "Figures 3 and 6 to 9").items()
    }
    printed, mended = rows["table 1, eq. 1 as printed"], rows["table 1, eq. 1 mended"]
    rubbed, swarm = (
        rows["table 1, eq. 1 mended, and the swarm's friction"],
        rows["proposed (swarm)"],
    )
    assert (printed > 2 * mended).all()
    assert (mended > 2 * swarm).all()
    assert (rubbed < 0.6 * mended).all()
    for name in ("RLS", "DLS", "SVD"):  # figures 7 to 9
        assert (swarm < 0.75 * rows[f"{name} as printed"]).all()


def test_motions_stand_in_numbers(result: Reproduction) -> None:
    rows = rows_of(result, "Figure 5")
    assert list(rows) == ["identification", "validation"]
    for _, radius, low, high, speed, lively in rows.values():
        assert 0.1 < radius < 0.45  # m, of the workspace
        assert low < high < 0
        assert 0 < speed <= 4.0
        assert 10.0 < lively <= 40.0  # the robot's limits


def test_what_the_bench_cannot_know_is_said(result: Reproduction) -> None:
    text = " ".join(str(result).split())
    for words in (
        "The bench cannot know the paper's robot",
        "the length of its struts is not published",
        "The paper shows its motions as figures without numbers",
        "because the paper takes the square of the motor voltage for the torque",
        "How far table 1 is from the real robot the bench cannot show",
        "The paper gives no region in which the swarm starts",
        "which keeps 13 of 14 directions",
        "Its leaders go by their best positions; the paper prints 'current'",
        "The paper's eq. 36 has negative viscous friction on joint 1, 2, 3 (-3.21, -1.17, -3.13)",
        "All friction that was identified here brakes.",
    ):
        assert words in text


def test_friction_that_drives_is_said() -> None:
    assert friction_signs(FRICTION, [1.0, 2.0, 0.0, 3.0, 4.0, 5.0], "A fit") is None
    text = friction_signs(("m_P", *FRICTION), [1.0, 1.0, 2.0, 3.0, -9.1, 4.0, 5.0], "A fit")
    assert text == (
        "A fit has negative Coulomb friction on joint 1 (-9.1): such friction feeds energy in. On "
        "joint 1 the two have opposite signs, which no sign convention mends."
    )
    both = friction_signs(("Fv1", "Fc1"), [-1.0, -2.0], "A fit")
    assert both == (
        "A fit has negative viscous friction on joint 1 (-1) and negative Coulomb friction on "
        "joint 1 (-2): such friction feeds energy in."
    )


def test_plain_data_and_page(result: Reproduction, tmp_path: Path) -> None:
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["paper"] == "kim2022"
    assert len(data["tables"]) == 6
    text = result.page(tmp_path / "page.html").read_text("utf-8")
    assert text.count("Plotly.newPlot(") >= 9
    assert "Torques on the validation motion" in text
    for number in (3, 5, 6, 7, 8, 9, 10):
        assert f"(figure {number})" in text


@pytest.mark.parametrize("seed", [0, 3])
def test_motions_keep_the_limits_and_go_with_the_seed(seed: int) -> None:
    for motion in (identification_motion(NT, seed, 1), validation_motion(NT, seed)):
        assert check_motion(NT, motion, share=0.81).ok  # 0.8, checked on fewer samples
        assert np.abs(motion.pdd).max() > 10.0  # m/s^2: it must move
    other = identification_motion(NT, seed + 1, 1)
    assert not np.allclose(identification_motion(NT, seed, 1).p, other.p)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": -1}, "seed is -1; allowed: a whole number, at least 0"),
        ({"iterations": 0}, "iterations is 0; allowed: a whole number, at least 1"),
        ({"periods": 1.5}, "periods is 1.5; allowed: a whole number, at least 1"),
    ],
)
def test_wrong_calls(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        kim2022(**options)
