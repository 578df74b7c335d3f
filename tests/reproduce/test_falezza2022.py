"""The reproduction of falezza2022, with short stops in Y3."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.exports.fmu import compiler
from deltadyn.motion import y1, y2
from deltadyn.reproduce.falezza2022 import (
    M_F,
    M_S,
    TABLES,
    build,
    falezza2022,
    largest_static_difference,
)
from deltadyn.reproduce.result import Reproduction
from deltadyn.robot.file import load_robot

module: Any = import_module("deltadyn.reproduce.falezza2022")


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return falezza2022(dwell=0.5)  # some 6 s: six runs of 2 to 4 s


def table_of(result: Reproduction, start: str) -> Any:
    (table,) = [table for table in result.tables if table.title.startswith(start)]
    return table


@pytest.mark.parametrize(("number", "name"), [(3, "Y1"), (4, "Y2"), (5, "Y3")])
def test_the_complete_model_errs_less(result: Reproduction, number: int, name: str) -> None:
    rows = {(row[0], row[1]): row for row in table_of(result, f"Table {number}").rows}
    for i, joint in enumerate(("tau_1", "tau_2", "tau_3")):
        simple, full = rows["M_s", joint], rows["M_f", joint]
        for band in (5, 7):  # below 30 Hz, all
            assert full[band] < simple[band]
            assert rows["M_f and friction", joint][band] < full[band]
        for model, row in (("M_s", simple), ("M_f", full)):
            mean, std = TABLES[name][model]
            assert (row[2], row[4]) == (mean[i], std[i])
        assert rows["M_s and rotor", joint][2] is None


def test_every_check_passes(result: Reproduction) -> None:
    assert result.passed
    assert len(result.checks) == 9 + (compiler() is not None)


def test_static_difference_is_that_of_the_readme() -> None:
    # 0.9 N m, rounded to one decimal
    assert round(largest_static_difference(load_robot("sipro-d3-1200")), 1) == 0.9


def test_what_cannot_come_from_a_right_model_is_said(result: Reproduction) -> None:
    text = " ".join(str(result).split())
    assert (
        "The paper's M_f shifts the mean torque of every joint by 8.2 to 9.7 N m against M_s. "
        "Right rods and a right arm change the torque at rest by at most 0.90 N m"
    ) in text
    assert "that part of tables 3-5 cannot come from a right model" in text
    assert "The paper gives no rotor inertia" in text
    assert "the bench cannot show how well that model fits a real robot" in text
    assert "how much of it rotors and friction make, are no findings" in text
    assert "the layouts of seeds 0 to 7 have" in text


def test_operations_and_rates(result: Reproduction) -> None:
    rows = table_of(result, "Table 6").rows
    assert [(row[0], row[1]) for row in rows] == [("M_s", 178), ("M_f", 5218)]
    assert rows[1][4] < 5218 / 10  # the exact model needs no passive angle
    rates = table_of(result, "Table 7").rows
    assert rates[0][1:5] == (32.10, 35.97, 4.65, 5.02)
    for row in rates[1:]:
        assert row[1] > 0
        assert row[3] > 0
        assert row[2] >= row[1]  # no average is above the maximum
        assert row[4] >= row[3]


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
def test_compiled_models_are_the_models() -> None:
    """What table 7 times is the right torque, at samples that the code was not written for."""
    robot = load_robot("sipro-d3-1200")
    turned = robot.with_rotor_inertia(0.3)
    built = build(robot, turned, y2(robot, rate=200.0))
    assert built.difference is not None
    assert built.difference < 1e-10  # rounding of torques of 100 N m
    other = y1(robot, picks=1, rate=200.0)
    x = np.hstack([other.p, other.pd, other.pdd])
    for model, user, name in ((M_S, robot, "half-half"), (M_F, turned, "exact")):
        tau = inverse_dynamics(user, other, name, friction=False)
        np.testing.assert_allclose(built.torque(model, x), tau, atol=1e-10)


def test_without_a_compiler_the_row_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "compiler", lambda: None)
    robot = load_robot("sipro-d3-1200")
    built = build(robot, robot, y2(robot, rate=200.0))
    assert built.library is None
    table = module.rates_table(robot, robot, [y2(robot, rate=200.0)], built)
    assert [str(row[0]).split(",")[0] for row in table.rows] == ["paper", "NumPy", "NumPy"]
    assert table.note.startswith("No row in C: no C compiler was found.")
    with pytest.raises(InputError, match="compiled model"):
        built.torque(M_S, np.zeros((1, 9)))


def test_a_slower_y1_takes_the_place_that_the_paper_gives_it(result: Reproduction) -> None:
    rows = {(row[0], row[1]): row for row in table_of(result, "Why Y1 and Y2").rows}
    for joint in ("tau_1", "tau_2", "tau_3"):
        first, second = rows["Y1", joint], rows["Y2", joint]
        slow = rows["Y1 at 0.5 of the limits", joint]
        assert second[2] > first[2]  # the paper: more on Y2
        assert first[4] > second[4] > slow[4]  # ours: more on Y1, until it goes slower
        for row in (first, second, slow):
            assert row[5] == pytest.approx(row[6], rel=0.1)  # the models' difference is all of it
            assert row[7] == pytest.approx(row[6], rel=0.2)  # and that is the rotor


def test_table_5_in_its_parts(result: Reproduction) -> None:
    for row in table_of(result, "Parts of table 5").rows:
        simple, standing, complete, complete_standing, share = row[2:7]
        assert simple > 3 * standing
        assert complete > 3 * complete_standing
        assert 0 < share < 20
    text = " ".join(str(result).split())
    assert "M_s errs more on Y2 in the paper and more on Y1 here" in text
    assert "Table 5: where the robot stands M_s and M_f err alike" in text


def test_a_known_force_leaves_no_mean_error(result: Reproduction) -> None:
    table = table_of(result, "External force of (15, -10, -30) N")
    means = [abs(row[2]) for row in table.rows]
    assert max(means[:3]) > 5.0  # left out it is seen
    assert max(means[3:]) < 1.0  # friction and cut ends leave some tenths
    assert "makes no experiment with it" in table.note


def test_plain_data_and_page(result: Reproduction, tmp_path: Path) -> None:
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["paper"] == "falezza2022"
    assert len(data["tables"]) == 9
    text = result.page(tmp_path / "page.html").read_text("utf-8")
    assert text.count("Plotly.newPlot(") >= 9
    for name in ("Y1", "Y2", "Y3"):
        assert f"{name}: torques" in text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": True}, "seed is True; allowed: a whole number, at least 0"),
        ({"dwell": -1.0}, "dwell"),
    ],
)
def test_wrong_calls(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        falezza2022(**options)
