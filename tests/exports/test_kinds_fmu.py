"""Functional mock-up units of every kind beside the standard Delta robot, on fmpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.exports.fmu_units import axes, by_differences, needs_compiler, opened, units
from tests.family.robots import make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.exports import fmu
from deltadyn.exports.fmu.variables import plant_variables
from deltadyn.robot import Robot
from deltadyn.robot.settings import PassiveFriction

pytestmark = needs_compiler


def torque_beside(robot: Robot, motion: dd.Motion, change: FloatArray) -> FloatArray:
    """The torque at the last sample of a motion whose p, pd, pdd are changed."""
    rows = zip((motion.p, motion.pd, motion.pdd), np.split(change, 3), strict=True)
    beside = dd.Motion.from_platform(
        robot, [0.0, 1.0], *(np.tile(values[-1] + part, (2, 1)) for values, part in rows)
    )
    tau: FloatArray = dd.inverse_dynamics(robot, beside)[0]
    return tau


@pytest.mark.parametrize(
    ("kind", "fmi"),
    [
        ("inclined", "2.0"),
        ("rails", "3.0"),
        ("vertical_spindle", "2.0"),
        ("planar", "3.0"),
        ("par4", "2.0"),
        ("heli4_rails", "3.0"),
    ],
)
def test_units_have_the_torque_and_the_acceleration_of_the_model(
    kind: str, fmi: str, tmp_path: Path
) -> None:
    robot = make(kind).with_payload(0.6)
    n = robot.dof
    motion = waves(robot, 1.0, rate=15.0)
    tau, found = dd.inverse_dynamics(robot, motion), units(robot, tmp_path, fmi=fmi)
    close = 1e-12 * np.abs(tau).max()
    with opened(found["inverse"]) as inverse:
        inverse.begin()
        for k in range(len(motion.t)):
            given = {name: getattr(motion, name)[k] for name in ("p", "pd", "pdd")}
            for name, values in given.items():
                inverse.set(axes(f"{name}_ref", values))
            np.testing.assert_allclose(inverse.row("tau", n), tau[k], rtol=0, atol=close)
            np.testing.assert_allclose(inverse.row("q", n), motion.q[k], rtol=0, atol=1e-12)
        assert inverse.status("self_test") == 0
        way = np.random.default_rng(5).normal(size=3 * n)
        parts = zip(("p_ref", "pd_ref", "pdd_ref"), np.split(way, 3), strict=True)
        seeds = {key: seed for name, part in parts for key, seed in axes(name, part).items()}
        slope = inverse.derivative(list(axes("tau", tau[0])), seeds)
        expected = by_differences(lambda d: torque_beside(robot, motion, d * way), 1e-4)
        close = 1e-7 * np.abs(expected).max()  # rounding of the torques over the step
        np.testing.assert_allclose(slope, expected, rtol=0, atol=close)
    start = axes("q_start", motion.q[3]) | axes("qd_start", motion.qd[3])
    with opened(found["plant"]) as plant:
        plant.begin(**start, **axes("tau", tau[3]))
        scale = np.abs(motion.qdd[3]).max()
        np.testing.assert_allclose(plant.row("qdd", n), motion.qdd[3], rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(plant.row("p", n), motion.p[3], rtol=0, atol=1e-12)
        assert plant.status("self_test") == 0
        x = np.concatenate([motion.q[3], motion.qd[3], tau[3]])
        given = axes("q", way[:n]) | axes("qd", way[n : 2 * n]) | axes("tau", way[2 * n :])
        slope = plant.derivative(list(axes("qdd", tau[0])), given)
        expected = by_differences(
            lambda d: dd.forward_dynamics(robot, *np.split(x + d * way, 3)), 1e-4
        )
        close = 1e-7 * np.abs(expected).max()
        np.testing.assert_allclose(slope, expected, rtol=0, atol=close)
        plant.step(0.0, 1e-3)
        moved = motion.q[3] + 1e-3 * motion.qd[3] + 0.5e-6 * motion.qdd[3]
        np.testing.assert_allclose(plant.row("q", n), moved, rtol=0, atol=1e-6)
        assert plant.status() == 0


def test_units_of_rails_are_in_m_and_n(tmp_path: Path) -> None:
    robot = make("vertical")
    variables = {item.name: item for item in plant_variables(robot, 1e-4)}
    assert [variables[name].unit for name in ("tau[1]", "q[1]", "qd[1]", "qdd[2]")] == [
        "N",
        "m",
        "m/s",
        "m/s2",
    ]
    assert variables["base.A[1]"].unit == variables["base.G[1]"].unit == "kg"
    assert variables["friction.viscous[3]"].unit == "N.s/m"
    assert not any(name.startswith("friction.elbow") for name in variables)
    text = fmu.files(robot, fmu.Options(binary=False))["README-fmu.md"]
    assert isinstance(text, str)
    assert "moved by carriages on vertical rails" in text
    assert "along its rail in m" in text


def test_friction_in_passive_joints_of_inclined_arms_is_left_out_with_its_size() -> None:
    robot = make("inclined").with_friction(passive=(PassiveFriction("elbow_swing", 0.1, 0.1),))
    texts = fmu.files(robot, fmu.Options(binary=False))
    (term,) = texts.left_out
    assert (term.field, term.units) == ("friction.passive", ("N m",) * robot.dof)
    assert 1e-4 < max(term.rms) < max(term.largest) < 1.0
    assert f"`friction.passive` ({term.reason}): {term.size}" in str(texts["README-fmu.md"])
