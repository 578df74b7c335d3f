"""The sizing table and the cycles per minute."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.sizing.cases import FOUR, THREE, with_limits

import deltadyn as dd
from deltadyn.motion import adept_cycle, pick_and_place
from deltadyn.report.sizing import FEW
from deltadyn.sizing import cycle_rates, motion_loads, sizing_table


def test_every_case_is_the_loads_of_its_cycle() -> None:
    table = sizing_table(FOUR, [0, 2], [60, 150], rate=2000.0)
    assert [(x.payload, x.cycles) for x in table.cases] == [(0, 60), (0, 150), (2, 60), (2, 150)]
    loaded = FOUR.with_payload(2.0)
    alone = motion_loads(loaded, adept_cycle(loaded, cycles_per_minute=150.0))
    case = table.case(2, 150)
    np.testing.assert_array_equal(case.loads.drives.torque_rms, alone.drives.torque_rms)
    assert not case.feasible
    assert case.binding is not None
    assert case.binding.name == "torque_rms"
    assert table.feasible.tolist() == [[True, True], [True, False]]


def test_the_verdict_agrees_with_the_shortest_cycle() -> None:
    """At the rate that adept_cycle finds a limit is met: just below it is kept, above it is not."""
    robot = THREE.with_payload(4.0)
    rate = 60 / adept_cycle(robot).duration
    table = sizing_table(THREE, [4.0], [rate * 0.999, rate * 1.002], rate=4000.0)
    assert table.feasible.tolist() == [[True, False]]
    binding = adept_cycle(robot).binding
    assert binding is not None
    for case in table.cases:
        assert case.binding is not None
        assert case.binding.name == binding.name


def test_a_motion_or_a_function_may_be_the_cycle() -> None:
    ends = [-0.2, 0.05, -0.87], [0.18, -0.08, -0.86]
    move = pick_and_place(THREE, *ends, lift=0.06, back=True, duration=1.0)

    def gates(robot: dd.Robot, cycles: float) -> dd.Motion:
        return pick_and_place(robot, *ends, lift=0.06, back=True, duration=60 / cycles)

    stretched = sizing_table(THREE, [1.0], [90], motion=move)
    made = sizing_table(THREE, [1.0], [90], motion=gates)
    assert "gates" in made.text
    # other samples of the same motion
    np.testing.assert_allclose(
        stretched.cases[0].loads.drives.torque_rms, made.cases[0].loads.drives.torque_rms, rtol=1e-3
    )


@pytest.mark.full
def test_words_numbers_and_page(tmp_path: Path) -> None:
    table = sizing_table(FOUR, [0, 1, 3], [60, 120])
    lines = table.text.splitlines()
    assert (
        lines[0] == "example-delta-4, Adept cycle: largest values of the arms, energies of a cycle"
    )
    assert len(lines) == 2 + 6
    assert lines[2].endswith("binds")
    assert "no: payload binds" in lines[-1]
    record = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert [case["feasible"] for case in record["cases"]] == [True, True, True, True, False, False]
    assert record["cases"][-1]["exceeded"][0] == "payload"
    page = table.page(tmp_path / "table.html").read_text("utf-8")
    body = page[page.index("<body>") :]
    assert body.count("<figure") == 1  # so few numbers are tables
    able = int(table.feasible.sum())
    assert f"{able} of {len(table.cases)} cases are within the limits" in body
    assert body.index("within the limits") < body.index("Use of the limits")
    many = sizing_table(THREE, [0, 1, 2, 3], [30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130])
    assert len(many.cases) > FEW
    body = many.page(tmp_path / "many.html").read_text("utf-8").partition("<body>")[2]
    assert body.count("<figure") == 1 + 4
    for words in ("Largest share of a limit", "cycles per minute", "exceeds payload"):
        assert words in page


@pytest.mark.full
def test_cycles_per_minute_with_and_without_payload() -> None:
    rates = cycle_rates(THREE)
    assert [row.payload for row in rates.rows] == [0.0, 4.0]
    assert rates.rated == THREE.limits.cycles == 150.0
    for row in rates.rows:
        assert row.fastest > row.even
        assert row.fastest == pytest.approx(60 / row.motion.duration)
    assert rates.rows[0].fastest > rates.rows[1].fastest
    record = json.loads(json.dumps(rates.as_dict(), allow_nan=False))
    assert record["rows"][1]["fastest_binding"] == "torque_rms"
    assert "rated by its maker: 150" in rates.text
    unknown = with_limits(THREE, cycles=None, payload=None)
    alone = cycle_rates(unknown)
    assert len(alone.rows) == 1
    assert "rated by its maker: not known" in alone.text


def test_a_robot_without_friction_is_said_to_be_one() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    table = sizing_table(robot, [0.0], [60.0])
    assert table.text.endswith("torques and powers of a machine without it")
    assert table.as_dict()["friction"] is False
    assert "has no friction" in table.cases[0].loads.text
    rubbed = sizing_table(robot.with_friction(coulomb=[1.0, 0.0, 0.0]), [0.0], [60.0])
    assert "no friction" not in rubbed.text
    assert rubbed.as_dict()["friction"] is True
    assert rubbed.cases[0].loads.as_dict()["friction"] is True
