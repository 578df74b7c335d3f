"""The plant's unit on fmpy against scipy's integration of `forward_dynamics`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.exports.fmu_units import (
    DISCARD,
    ERROR,
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

pytestmark = needs_compiler

ROBOTS = robots()
TICK = 2e-3
COUNT = 25
START = np.array([0.3, 0.35, 0.2, 0.1]), np.array([1.0, -0.5, 0.3, 2.0])
FORCE = np.array([5.0, -3.0, 2.0, 0.1])
LOADS = ("force_x", "force_y", "force_z", "moment_z")
PAYLOAD = 0.7


def torques(dof: int) -> FloatArray:
    """(N, dof): near what holds the arms, with a wave on it."""
    robot = ROBOTS[dof]
    hold = dd.Motion.from_joints(
        robot, [0.0, 1.0], np.tile(START[0][:dof], (2, 1)), np.zeros((2, dof)), np.zeros((2, dof))
    )
    t = TICK * np.arange(COUNT + 1)
    wave = np.array([10.0, 10.0, 10.0, 0.5])[:dof] * np.sin(40 * t[:, None] + np.arange(dof))
    tau: FloatArray = dd.inverse_dynamics(robot, hold, friction=False)[0] + wave
    return tau


def expected(dof: int, tau: FloatArray) -> FloatArray:
    """q, qd (N, 2 dof) by scipy, tick by tick under held torques."""
    own = ROBOTS[dof].payload
    robot = ROBOTS[dof].with_payload(PAYLOAD, own.offset, own.inertia_zz)

    def slope(_: float, y: FloatArray, held: FloatArray) -> FloatArray:
        qdd = dd.forward_dynamics(robot, y[:dof], y[dof:], held, external_force=FORCE[:dof])
        return np.concatenate([y[dof:], qdd])

    rows = [np.concatenate([START[0][:dof], START[1][:dof]])]
    for held in tau[:-1]:
        solution = solve_ivp(
            slope, (0, TICK), rows[-1], args=(held,), method="DOP853", rtol=1e-10, atol=1e-12
        )
        rows.append(solution.y[:, -1])
    return np.array(rows)


def run(path: Path, dof: int, tau: FloatArray, **start: float) -> Any:
    t = TICK * np.arange(COUNT + 1)
    signals = {"time": t} | {f"tau[{i + 1}]": tau[:, i] for i in range(dof)}
    values = axes("q_start", START[0][:dof]) | axes("qd_start", START[1][:dof])
    values |= {"payload_mass": PAYLOAD} | dict(zip(LOADS[:dof], FORCE[:dof], strict=True))
    return simulated(
        path,
        dof,
        signals,
        output=["q", "qd", "qdd", "p", "pd", "pdd", "controller_q", "controller_qd"],
        start_values=values | start,
        output_interval=TICK,
    )


@pytest.mark.parametrize("dof", [3, 4])
def test_the_motion_is_that_of_the_exact_model(dof: int) -> None:
    tau = torques(dof)
    reference = expected(dof, tau)
    q, qd = reference[:, :dof], reference[:, dof:]
    errors = []
    for step in (1e-3, 5e-4, 1e-4):
        result = run(made(dof, "2.0")["plant"], dof, tau, step=step)
        assert not result["status"].any()
        errors.append(np.abs(columns(result, "qd", dof) - qd).max())
        if step == 1e-4:
            np.testing.assert_allclose(columns(result, "q", dof), q, atol=1e-9)
    # the step of 0.1 ms passes the kinks of friction (its two sides, the gears' loads) in one stage
    assert errors[2] < 1e-7 < np.abs(qd).max() / 1e7
    if dof == 4:  # smooth friction alone: order 4 gives 16, some is lost to higher terms
        assert errors[0] > 10 * errors[1]
    result = run(made(dof, "2.0")["plant"], dof, tau)
    own = ROBOTS[dof].payload
    robot = ROBOTS[dof].with_payload(PAYLOAD, own.offset, own.inertia_zz)
    q, qd = columns(result, "q", dof), columns(result, "qd", dof)
    held = np.concatenate([tau[:1], tau[:-1]])  # outputs are read before the next torque is set
    qdd = dd.forward_dynamics(robot, q, qd, held, external_force=FORCE[:dof])
    state = dd.Motion.from_joints(robot, result["time"], q, qd, qdd)
    for name in ("qdd", "p", "pd", "pdd"):
        values = getattr(state, name)
        size = np.abs(values).max()
        # the same state on another path: rounding, through the solve
        np.testing.assert_allclose(columns(result, name, dof), values, atol=1e-10 * size)
    np.testing.assert_allclose(columns(result, "controller_q", dof), robot.to_controller(q))
    sign = np.asarray(robot.controller.sign)
    np.testing.assert_array_equal(columns(result, "controller_qd", dof), sign * qd)


@pytest.mark.parametrize("dof", [3, 4])
def test_both_versions_of_the_standard_give_the_same_bits(dof: int) -> None:
    tau = torques(dof)
    old, new = (run(made(dof, fmi)["plant"], dof, tau) for fmi in ("2.0", "3.0"))
    for name in ("time", "status"):
        np.testing.assert_array_equal(old[name], new[name])
    for name in ("q", "qd", "qdd", "p", "pd", "pdd", "controller_q", "controller_qd"):
        np.testing.assert_array_equal(columns(old, name, dof), columns(new, name, dof))


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_instances_and_their_states_are_separate(fmi: str) -> None:
    path = made(4, fmi)["plant"]
    with opened(path, "one") as one, opened(path, "two") as two:
        one.begin(**{"payload_mass": 0.5})
        two.begin(**{"payload_mass": 2.0})
        for k in range(10):
            one.step(k * TICK, TICK)
            two.step(k * TICK, TICK)
        after = one.row("q", 4)
        assert not np.allclose(after, two.row("q", 4))
        state, content = one.snapshot()
        one.step(10 * TICK, TICK)
        further = one.row("q", 4)
        one.restore(state)
        np.testing.assert_array_equal(one.row("q", 4), after)
        assert one.get("time") == [9 * TICK + TICK]
        one.restore(one.read(content))
        one.step(10 * TICK, TICK)
        np.testing.assert_array_equal(one.row("q", 4), further)
        with pytest.raises(CallError):
            one.read(content[:-1])
        with pytest.raises(CallError):
            one.read(b"x" * len(content))
        assert one.told == ["these bytes are not a state of this model"] * 2
        one.fmu.reset()
        one.begin(**{"payload_mass": 0.5})
        for k in range(10):
            one.step(k * TICK, TICK)
        np.testing.assert_array_equal(one.row("q", 4), after)


def test_a_step_of_any_length_ends_where_many_end() -> None:
    ways = []
    for lengths in ([0.0317], [0.01, 0.0117, 0.01], [1.7e-5, 0.0317 - 1.7e-5]):
        with opened(made(3, "2.0")["plant"]) as unit:
            unit.begin(**axes("tau", np.array([3.0, 2.0, 1.0])))
            time = 0.0
            for h in lengths:
                unit.step(time, h)
                time += h
            assert unit.get("time") == [pytest.approx(0.0317, abs=1e-15)]
            ways.append(np.concatenate([unit.row("q", 3), unit.row("qd", 3)]))
    # other divisions of the same way: the error of the integration alone
    np.testing.assert_allclose(ways[1], ways[0], atol=1e-7)
    np.testing.assert_allclose(ways[2], ways[0], atol=1e-7)


def test_stiff_friction_at_rest_stays_stable(tmp_path: Path) -> None:
    robot = dd.load_robot("example-delta-4")
    with opened(units(robot, tmp_path, timestep=0.01)["plant"]) as unit:
        unit.begin(**{"friction.smoothing": 1e-4, "gravity": 0.0, **axes("tau", np.full(4, 0.1))})
        for k in range(20):
            unit.step(k * 0.01, 0.01)
        # tau = Fc tanh(qd / smoothing): creep below the smoothing, no chatter
        qd = unit.row("qd", 4)
        creep = 1e-4 * np.arctanh(0.1 / 0.2)
        assert qd[3] == pytest.approx(creep, rel=0.01)  # 0.02 N m s/rad beside 2000: 1e-5
        assert np.all(np.abs(qd) < 1e-4)


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_a_robot_that_falls_through_its_reach_stops_at_the_last_good_state(fmi: str) -> None:
    with opened(made(3, fmi)["plant"]) as unit:
        unit.begin(**axes("tau", np.full(3, 60.0)))
        time = 0.0
        while unit.get("p[3]")[0] > -1.0:
            unit.step(time, 0.01)
            time += 0.01
        with pytest.raises(CallError) as error:
            unit.step(time, 1.0)
        assert error.value.status == DISCARD
        assert unit.status() in (1, 2)
        stopped = unit.get("time")[0]
        assert time <= stopped < time + 1.0
        assert unit.told[0].startswith("stopped at ")
        q = unit.row("q", 3)
        # the last good state is one that the package reaches too
        np.testing.assert_allclose(dd.forward_kinematics(ROBOTS[3], q), unit.row("p", 3), atol=1e-9)
        with pytest.raises(CallError):
            unit.step(stopped, 0.01)
        unit.set(axes("tau", np.full(3, -60.0)))  # and it can be pulled back


def test_fmpy_ends_the_simulation_of_a_robot_that_stops() -> None:
    t = np.linspace(0.0, 5.0, 501)
    signals = {"time": t} | {f"tau[{i + 1}]": np.full(t.size, 60.0) for i in range(3)}
    result = simulated(made(3, "2.0")["plant"], 3, signals, output=["q"], output_interval=0.01)
    assert result["status"][-1] in (1, 2)
    assert not result["status"][:-1].any()
    assert result["time"][-1] < 5.0
    assert np.isfinite(columns(result, "q", 3)).all()


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_wrong_calls_are_refused_with_their_reason(fmi: str) -> None:
    def refused(status: int, message: str) -> None:
        assert error.value.status == status
        assert unit.told[-1] == message
        unit.told.clear()

    told = "[1]" if fmi == "2.0" else "[3]"  # an array is set as a whole, its last is told last
    with opened(made(3, fmi)["plant"]) as unit:
        with pytest.raises(CallError) as error:
            unit.step(0.0, 0.01)
        refused(ERROR, "a step needs a simulation that is running")
        with pytest.raises(CallError) as error:
            unit.begin(**{"q_start[1]": 3.0})
        refused(ERROR, "start values: out of reach: the struts cannot meet")
        unit.set({"q_start[1]": 0.3})
        unit.fmu.exitInitializationMode()
        for value, shown in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
            with pytest.raises(CallError) as error:
                unit.set({"tau[2]": value})
            message = f"tau[2] is {shown}; allowed: -1.79769e+308 to 1.79769e+308, it stays 0"
            refused(DISCARD, message)
        with pytest.raises(CallError) as error:
            unit.set({"payload_mass": -1.0})
        refused(DISCARD, "payload_mass is -1; allowed: 0 to 1.79769e+308, it stays 0.4")
        with pytest.raises(CallError) as error:
            unit.set({"q_start[1]": 0.2})
        refused(ERROR, f"q_start{told} can be set before the simulation only")
        with pytest.raises(CallError) as error:
            unit.set({"q[1]": 0.2})
        refused(ERROR, f"q{told} cannot be set")
        with pytest.raises(CallError) as error:
            unit.step(0.0, 0.0)
        refused(ERROR, "step size is 0 s; allowed: above 0")
        with pytest.raises(CallError) as error:
            unit.step(float("nan"), 0.01)
        refused(ERROR, "time is nan; allowed: a finite number")
        unit.places["nothing"] = 9999
        with pytest.raises(CallError) as error:
            unit.get("nothing")
        refused(ERROR, "no real variable has reference 9999")
        unit.set({"friction.smoothing": 1e-6, "step": 1e-7})
        with pytest.raises(CallError) as error:
            unit.step(0.0, 10.0)
        assert error.value.status == DISCARD
        assert "needs more than a million integration steps" in unit.told.pop()
        unit.set({"friction.smoothing": 0.1, "step": 1e-4})
        unit.step(0.0, 0.01)
        assert unit.status() == 0
        assert unit.told == []


def test_an_impossible_mass_is_named() -> None:
    with opened(made(3, "2.0")["plant"]) as unit:
        unit.begin()
        unit.set({f"base.A[{i}]": -5.0 for i in (1, 2, 3)})
        with pytest.raises(CallError):
            unit.step(0.0, 0.01)
        assert unit.told == ["stopped at 0 s: the mass matrix is not positive definite"]
        assert unit.status() == 3
