"""The reproduction of kim2022: its core with short searches, and all checks on five seeds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.motion import check_motion
from deltadyn.reproduce.claims import VERDICTS, Claim
from deltadyn.reproduce.kim2022 import (
    EQ_36,
    FRICTION,
    NAMES,
    TABLE_2,
    eleven_parameters,
    eq_1_with_stribeck,
    friction_signs,
    identification_motion,
    inertia_matrix,
    kim2022,
    validation_motion,
)
from deltadyn.reproduce.result import Reproduction

NT = dd.load_robot("nt-robot")
#: What 150 iterations need not reach: 1000 do, on all seeds.
NEEDS_ITERATIONS = {"eq. 1 with unknown lengths: cost of the swarm over that of the truth"}


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return kim2022(iterations=150, periods=1, swarm_seeds=2)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_every_check_of_the_whole_experiment(seed: int) -> None:
    result = kim2022(seed=seed)
    assert [str(check) for check in result.checks if not check.passed] == []
    assert len(result.checks) == 13
    claims = {claim.what: claim.verdict for claim in result.claims}
    for words, verdict in (
        ("the cyclic neighbourhood avoids", "near"),
        ("SVD is the worst", "near"),
        ("the proposed method is best on every joint", "near"),
        ("RLS and DLS predict alike", "near"),
        ("on the identification motion the swarm is closer", "near"),
        ("a model that is nonlinear in its parameters", "near"),
        ("the swarm beats RLS and DLS by its algorithm", "far"),
        ("conventional methods need the model in linear form", "far"),
        ("with the swarm the identifiability", "far"),
        ("signs of viscous and Coulomb friction", "far"),
        ("the swarm is a simple and efficient way", "far"),
        ("the reference motions", "not shown"),
    ):
        (what,) = [what for what in claims if what.startswith(words)]
        assert claims[what] == verdict, what


def rows_of(result: Reproduction, start: str) -> dict[str, tuple[Any, ...]]:
    (table,) = [table for table in result.tables if table.title.startswith(start)]
    return {str(row[0]): row[1:] for row in table.rows}


def claim_of(result: Reproduction, start: str) -> Claim:
    (claim,) = [claim for claim in result.claims if claim.what.startswith(start)]
    return claim


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
    failed = {check.what for check in result.checks if not check.passed}
    assert failed <= NEEDS_ITERATIONS
    assert len(result.checks) == 13


def test_on_equal_columns_the_baselines_are_as_good(result: Reproduction) -> None:
    fitness = {
        name: np.array(row[4:], dtype=float) for name, row in rows_of(result, "Table 2").items()
    }
    for name in ("RLS", "DLS"):
        ratio = (1 - fitness[f"{name} on 11 columns"]) / (1 - fitness["proposed (swarm)"])
        assert (ratio < 1.2).all()  # two sums over the same residuals differ by a few percent
    claim = claim_of(result, "the swarm beats RLS and DLS by its algorithm")
    assert claim.verdict == "far"
    assert "the gain is that of the model" in claim.reason


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
    assert above["proposed (swarm)"] < 1e-3  # 150 iterations; 1000 come within 1e-6
    assert above["RLS on 11 columns"] > above["proposed (swarm)"]
    objective = {name: row[1] for name, row in rows.items()}
    eleven = [name for name, row in rows.items() if row[0] == "11, eq. 30"]
    assert min(objective[name] for name in eleven) == pytest.approx(
        objective["optimum of eq. 33"], rel=1e-9
    )


def test_parameters_are_near_those_of_the_machine(result: Reproduction) -> None:
    rows = rows_of(result, "The 11 parameters")
    assert [row[1] for row in rows.values()] == EQ_36.tolist()
    assert tuple(rows) == NAMES == tuple(dd.regressor(NT, rest(), "virtual-work").names)
    for name, (_, _, swarm, optimum, bench) in rows.items():
        # the coupling m_x goes into the inertias, Stribeck and load friction into both coefficients
        assert swarm == pytest.approx(bench, rel=0.5 if name in FRICTION else 0.3), name
        assert swarm == pytest.approx(optimum, rel=0.05), name


def test_manufacturers_data_lack_friction(result: Reproduction) -> None:
    """Figure 3a: wrong as printed, without friction when corrected, near with it."""
    rows = {
        name: np.array(row[3:], dtype=float)
        for name, row in rows_of(result, "Figures 3 and 6 to 9").items()
    }
    printed, corrected = rows["table 1, eq. 1 as printed"], rows["table 1, eq. 1 corrected"]
    with_friction = rows["table 1, eq. 1 corrected, with the swarm's friction"]
    swarm = rows["proposed (swarm)"]
    assert (printed > 2 * corrected).all()
    assert (corrected > 2 * swarm).all()
    assert (with_friction < 0.6 * corrected).all()
    for name in ("RLS", "DLS", "SVD"):  # figures 7 to 9
        assert (swarm < 0.75 * rows[f"{name} as printed"]).all()


def rest() -> dd.State:
    return dd.State.from_platform(NT, [[0.1, 0.05, -0.7]])


def test_eq_27_is_the_mass_matrix_of_the_model() -> None:
    state = dd.reproduce.random_states(NT, 40, seed=2)
    x = np.array([eleven_parameters(NT)[name] for name in NAMES])
    expected = dd.equations_of_motion(NT, state, "virtual-work").M
    np.testing.assert_allclose(inertia_matrix(NT, state, x), expected, rtol=1e-10)


def test_inertia_coupling_stands_in_numbers(result: Reproduction) -> None:
    rows = rows_of(result, "Inertia coupling")
    assert list(rows) == ["eq. 27 with the paper's eq. 36", "eq. 27, swarm", "machine, exact"]
    for row in rows.values():
        median, largest, share = (np.array(row[k : k + 3], dtype=float) for k in (0, 3, 6))
        assert (median > 0).all()
        assert (median < largest).all()
        assert (largest < 1).all()
        assert (share > 1).all()  # %: the drives do load each other


def test_the_svd_is_the_worst_only_where_half_of_it_is_cut(result: Reproduction) -> None:
    (table,) = [table for table in result.tables if table.title.startswith("The SVD")]
    ratios = {row[:3]: np.array(row[4:], dtype=float) for row in table.rows}
    kept = {row[:3]: int(str(row[3])) for row in table.rows}
    assert len(ratios) == 12
    assert (ratios["identification", "length 1", "0.5"] > 1).all()
    assert kept["identification", "length 1", "0.01"] == 14
    np.testing.assert_allclose(ratios["identification", "length 1", "0.01"], 1.0, rtol=1e-9)
    assert kept["identification", "length 1", "0.5"] < 10


def test_a_swarm_gives_numbers_for_what_no_data_identify(result: Reproduction) -> None:
    rows = rows_of(result, "Conclusion (ii)")
    rotor = np.array(rows["rotor"][2:], dtype=float)
    assert np.ptp(rotor) > 10 * NT.drives.output_inertia[0]
    assert "columns have rank 9" in claim_of(result, "with the swarm the identif").reason


def test_three_optimisers_have_the_same_budget(result: Reproduction) -> None:
    nonlinear = result.data.nonlinear
    assert nonlinear.budget == 60 * (150 // 4 + 1)
    for name, rows in nonlinear.history.items():
        assert (np.diff(rows[:, 1]) <= 0).all(), name
        assert rows[-1, 1] == pytest.approx(nonlinear.cost[name], rel=1e-9), name
        assert rows[-1, 0] <= nonlinear.budget, name
    assert nonlinear.agreeing >= 1
    # noise is fitted, so the optimum is below the truth; a gradient is there at once
    assert nonlinear.cost["least_squares, many starts"] < nonlinear.truth_cost


def test_the_nonlinear_model_is_eq_1_with_stribeck_friction() -> None:
    robot = NT.with_friction(viscous=2.0, coulomb=6.0, stribeck=3.0, stribeck_velocity=0.15)
    state = dd.reproduce.random_states(robot, 30, seed=1)
    truth, torque = eq_1_with_stribeck(robot, state)
    expected = dd.inverse_dynamics(robot, state, "euler-lagrange")
    np.testing.assert_allclose(torque(truth), expected, rtol=1e-9, atol=1e-9)
    longer = NT.replace(
        geometry=replace(NT.rotary, arm_length=(0.36,) * 3, strut_length=(0.78,) * 3)
    ).with_friction(viscous=2.0, coulomb=6.0, stribeck=3.0, stribeck_velocity=0.15)
    other = dd.State.from_joints(longer, state.q, state.qd, state.qdd)
    x, _ = eq_1_with_stribeck(longer, other)
    both = torque(np.stack([truth, x]))
    assert both.shape == (2, 30, 3)
    expected = dd.inverse_dynamics(longer, other, "euler-lagrange")
    np.testing.assert_allclose(both[1], expected, rtol=1e-9, atol=1e-9)
    x[-1] = 0.1
    assert np.isnan(torque(x)).all()


def test_motions_stand_in_numbers(result: Reproduction) -> None:
    rows = rows_of(result, "Figure 5")
    assert list(rows) == ["identification", "validation", "pick-and-place"]
    for _, radius, low, high, speed, lively in rows.values():
        assert 0.1 < radius < 0.45  # m, of the workspace
        assert low < high < 0
        assert 0 < speed <= 4.0
        assert 10.0 < lively <= 40.0  # the robot's limits


def test_every_claim_has_its_verdict_and_reason(result: Reproduction) -> None:
    assert len(result.claims) == 24
    assert {claim.verdict for claim in result.claims} == set(VERDICTS)
    for claim in result.claims:
        if claim.verdict != "near":
            assert any(letter.isdigit() for letter in claim.reason), claim
    text = " ".join(str(result).split())
    for words in (
        "The bench cannot know the paper's robot",
        "the length of its struts is not published",
        "The bench's machine has table 1 to a few per cent",
        "The paper gives no region in which the swarm starts",
        "Eq. 36 has negative viscous friction on joint 1, 2, 3 (-3.21, -1.17, -3.13)",
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
    assert data["seed"] == 0
    assert len(data["tables"]) == 11
    text = result.page(tmp_path / "page.html").read_text("utf-8")
    assert text.count("Plotly.newPlot(") >= 11
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
        ({"swarm_seeds": 0}, "swarm_seeds is 0; allowed: a whole number, at least 1"),
    ],
)
def test_wrong_calls(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        kim2022(**options)
