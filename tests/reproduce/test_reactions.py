"""Tables of reactions for reproductions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.dynamics import constraint_loads, inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.motion import adept_cycle
from deltadyn.reproduce import reactions
from deltadyn.reproduce.reactions import (
    NO_MUJOCO,
    fitted_reactions,
    reaction_rows,
    reaction_table,
)


@pytest.fixture(scope="module")
def robot() -> dd.Robot:
    return dd.load_robot("abb-irb360-6-1600").with_payload(1.0, (0.02, 0.0, -0.05), 1e-3)


@pytest.fixture(scope="module")
def motion(robot: dd.Robot) -> dd.Motion:
    return adept_cycle(robot, cycles_per_minute=60, rate=100.0)


def test_rows_are_the_largest_loads(robot: dd.Robot, motion: dd.Motion) -> None:
    pytest.importorskip("mujoco")
    rows = {row.reaction: row for row in reaction_rows(robot, motion, samples=5)}
    loads = constraint_loads(robot, motion, model="rigid")
    assert loads.spindle is not None
    for name, values in (
        ("shoulder, force", loads.shoulder_force),
        ("pair of rods, force at the elbow", loads.elbow),
        ("telescope, moment", loads.spindle.slide_moment),
        ("tool, force", loads.tool_force),
    ):
        assert rows[name].largest == pytest.approx(np.linalg.norm(values, axis=-1).max())
    compared = [row for row in rows.values() if row.relative is not None]
    assert len(compared) == 10
    assert max(row.relative or 0.0 for row in compared) < 1e-6


def test_mujoco_sees_what_the_thin_equivalents_leave_out(
    robot: dd.Robot, motion: dd.Motion
) -> None:
    pytest.importorskip("mujoco")
    rows = reaction_rows(robot, motion, model="exact", samples=5)
    (elbow,) = (row for row in rows if row.reaction == "pair of rods, force at the elbow")
    assert elbow.relative is not None
    assert 1e-5 < elbow.relative < 1e-2


def test_without_mujoco_the_table_says_so(
    robot: dd.Robot, motion: dd.Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reactions, "find_spec", lambda name: None)
    rows = reaction_rows(robot, motion)
    assert all(row.difference is None and row.relative is None for row in rows)
    assert rows[0].largest > 0
    table = reaction_table(robot, motion)
    assert all(row[-1] == NO_MUJOCO for row in table.rows)


def test_a_table_names_what_is_not_determined() -> None:
    robot = dd.load_robot("robnux-quattro")
    motion = adept_cycle(robot, cycles_per_minute=40, rate=50.0)
    table = reaction_table(robot, motion)
    assert "Not determined: couple (four couples balance three moments" in table.note
    assert "halves, force of what joins them" in [row[0] for row in table.rows]


def test_the_right_torque_does_not_mean_the_right_reactions(
    robot: dd.Robot, motion: dd.Motion
) -> None:
    """Twice the arm's mass at half the distance: the same torque, another force in the shoulder."""
    (arm, *_) = robot.rotary_arms
    near = replace(
        arm, mass=2 * arm.mass, com=arm.com / 2, com_offset=arm.com_offset / 2,
        inertia=arm.axis_inertia - arm.mass * (arm.com**2 + arm.com_offset**2) / 2,
    )  # fmt: skip
    other = robot.replace(arms=(near,) * 3)
    one, two = (inverse_dynamics(machine, motion, "rigid") for machine in (robot, other))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9 * np.abs(one).max())
    table = fitted_reactions(robot, {"same": robot, "other": other}, motion)
    rows: Any = {row[0]: row[1:] for row in table.rows}
    assert max(rows["same"]) == 0
    errors = dict(zip(table.columns[1:], rows["other"], strict=True))
    assert errors["torque"] < 1e-6
    assert errors["shoulder, force"] > 1
    assert errors["pair of rods, force at the elbow"] < 1e-6


def test_at_least_one_sample(robot: dd.Robot, motion: dd.Motion) -> None:
    with pytest.raises(InputError, match="samples is 0"):
        reaction_rows(robot, motion, samples=0)
