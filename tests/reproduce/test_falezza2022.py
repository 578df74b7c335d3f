"""The reproduction of falezza2022, with short stops in Y3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deltadyn.errors import InputError
from deltadyn.reproduce.falezza2022 import TABLES, falezza2022, largest_static_difference
from deltadyn.reproduce.result import Reproduction
from deltadyn.robot.file import load_robot


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return falezza2022(dwell=0.2)  # some 6 s: four runs of 2 to 3 s


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
    assert len(result.checks) == 6


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
    assert [row[1] for row in rates] == [32.10, 4.65]
    assert all(row[2] > 0 and row[3] > 0 for row in rates)


def test_a_known_force_leaves_no_mean_error(result: Reproduction) -> None:
    table = table_of(result, "External force of (15, -10, -30) N")
    means = [abs(row[2]) for row in table.rows]
    assert max(means[:3]) > 5.0  # left out it is seen
    assert max(means[3:]) < 1.0  # friction and cut ends leave some tenths
    assert "makes no experiment with it" in table.note


def test_plain_data_and_page(result: Reproduction, tmp_path: Path) -> None:
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["paper"] == "falezza2022"
    assert len(data["tables"]) == 7
    text = result.page(tmp_path / "page.html").read_text("utf-8")
    assert text.count("Plotly.newPlot(") >= 7
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
