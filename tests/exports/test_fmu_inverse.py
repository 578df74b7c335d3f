"""The inverse model's unit on fmpy against `inverse_dynamics`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.exports.fmu_units import (
    DISCARD,
    CallError,
    axes,
    columns,
    made,
    needs_compiler,
    opened,
    robots,
    simulated,
    units,
)

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot

pytestmark = needs_compiler

ROBOTS = robots()


def motion_of(robot: Robot) -> dd.Motion:
    """A closed way through the workspace, in 60 samples."""
    t = np.linspace(0.0, 1.0, 60)
    middle = dd.forward_kinematics(robot, np.array([0.3, 0.35, 0.25, 0.4])[: robot.dof])
    size = np.array([0.08, 0.06, 0.05, 1.5])[: robot.dof]
    rate = 2 * np.pi * np.array([1.0, 2.0, 3.0, 1.0])[: robot.dof]
    phase = rate * t[:, None] + np.arange(robot.dof)
    p = middle + size * np.sin(phase)
    return dd.Motion.from_platform(
        robot, t, p, size * rate * np.cos(phase), -size * rate**2 * np.sin(phase)
    )


def signals_of(motion: dd.Motion, names: tuple[str, ...]) -> dict[str, FloatArray]:
    signals = {"time": motion.t}
    for name in names:
        values = getattr(motion, name)
        signals |= {f"{name}_ref[{i + 1}]": values[:, i] for i in range(values.shape[1])}
    return signals


@pytest.mark.parametrize("joints", [False, True])
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("dof", [3, 4])
def test_torques_are_those_of_the_package(dof: int, fmi: str, joints: bool) -> None:
    robot = ROBOTS[dof].with_payload(
        0.9, ROBOTS[dof].payload.offset, ROBOTS[dof].payload.inertia_zz
    )
    motion = motion_of(robot)
    force = np.array([5.0, -3.0, 2.0, 0.1])[:dof]
    names = ("q", "qd", "qdd") if joints else ("p", "pd", "pdd")
    loads = dict(zip(["force_x", "force_y", "force_z", "moment_z"], force, strict=False))
    result = simulated(
        made(dof, fmi)["inverse"],
        dof,
        signals_of(motion, names),
        output=["tau", "controller_tau", "q", "qd", "qdd", "p", "pd", "pdd", "controller_q"],
        start_values={"payload_mass": 0.9, "from_joints": joints, **loads},
        output_interval=motion.t[1],
    )
    # the unit reads its inputs at a communication point, before the step that ends at the next
    read, given = slice(1, None), slice(None, -1)
    if not np.allclose(result["time"], motion.t):
        raise AssertionError("fmpy took other points of communication")
    tau = dd.inverse_dynamics(robot, motion, external_force=force)
    # cosines and the order of a few sums differ: rounding
    np.testing.assert_allclose(
        columns(result, "tau", dof)[read], tau[given], rtol=0, atol=1e-12 * np.abs(tau).max()
    )
    sign = np.asarray(robot.controller.sign)
    np.testing.assert_array_equal(
        columns(result, "controller_tau", dof), sign * columns(result, "tau", dof)
    )
    q = columns(result, "q", dof)[read]
    np.testing.assert_allclose(columns(result, "controller_q", dof)[read], robot.to_controller(q))
    for name in ("q", "qd", "qdd", "p", "pd", "pdd"):
        expected = getattr(motion, name)[given]
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            columns(result, name, dof)[read], expected, rtol=0, atol=1e-12 * scale
        )
    assert not result["status"].any()


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_what_is_out_of_reach_is_said_and_the_next_motion_goes_on(fmi: str) -> None:
    with opened(made(3, fmi)["inverse"]) as unit:
        unit.begin()
        before = unit.row("tau", 3)
        unit.set({"p_ref[3]": -5.0})
        unit.step(0.0, 0.001)
        with pytest.raises(CallError) as error:
            unit.row("tau", 3)
        assert error.value.status == DISCARD
        assert unit.told == ["tau[1]: out of reach: the struts cannot meet"]
        assert unit.status() == 1
        p = dd.forward_kinematics(ROBOTS[3], dd.inverse_kinematics(ROBOTS[3], [0.0, 0.0, -0.9]))
        unit.set(axes("p_ref", p))
        unit.step(0.001, 0.001)
        assert unit.status() == 0
        assert np.isfinite(unit.row("tau", 3)).all()
        assert not np.array_equal(unit.row("tau", 3), before)


def test_sharp_friction_is_zero_at_rest_and_parameters_act_at_once(tmp_path: Path) -> None:
    robot = dd.load_robot("sipro-d3-1200").with_friction(coulomb=2.0)
    with opened(units(robot, tmp_path)["inverse"]) as unit:
        unit.begin()
        rest = unit.row("tau", 3)
        still = dd.Motion.from_joints(
            robot, [0.0, 1.0], *(np.tile(unit.row(n, 3), (2, 1)) for n in ("q", "qd", "qdd"))
        )
        np.testing.assert_allclose(rest, dd.inverse_dynamics(robot, still)[0], rtol=1e-12)
        unit.set({"gravity": 0.0})
        np.testing.assert_allclose(unit.row("tau", 3), 0.0, atol=1e-12)  # rounding alone
        unit.set({"pd_ref[3]": -1e-9})
        np.testing.assert_allclose(unit.row("tau", 3), 2.0, atol=1e-9)  # all arms move down
