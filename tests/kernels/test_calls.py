"""Torques straight from the kernels, wrong calls, the switch and the loader."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import make_robot, make_states
from tests.kernels.robots import wide_robot

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.backends.kernel_models.kernels import kernels as kernel_parts
from deltadyn.backends.layout import COUNT, KINEMATIC, PLACES
from deltadyn.dynamics import exact_parameters, packed_parameters
from deltadyn.errors import InputError
from deltadyn.robot.settings import Friction

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason=f"no compiled kernels: {kernels.status()}"
)
KERNELS = [model.name for part in kernel_parts().values() for model in part]
FRICTION = Friction(viscous=0.3, coulomb=0.8, smoothing=0.05)


def test_a_compiler_means_kernels() -> None:
    """An optional extension that does not build must not go unnoticed where it could."""
    if os.environ.get(kernels.SWITCH) == "off":
        pytest.skip(f"{kernels.SWITCH}=off")
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        pytest.skip("there is no Python.h")
    assert kernels.status() == "compiled"


@needs_kernels
@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("friction", [True, False])
def test_torques_from_platform_and_joints(dof: int, friction: bool) -> None:
    robot = make_robot(dof, False, friction=FRICTION)
    state = make_states(robot, 100)
    par = packed_parameters(robot)
    with kernels.switched_off():
        expected = dd.inverse_dynamics(robot, state, friction=friction)
    platform = kernels.inverse_dynamics_platform(
        par, state.p, state.pd, state.pdd, friction=friction
    )
    joints = kernels.inverse_dynamics_joints(par, state.q, state.qd, state.qdd, friction=friction)
    # roundings of the way from p to q and back, times the condition of the struts below 1e3
    atol = 1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(platform, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(joints, expected, rtol=0, atol=atol)
    one = kernels.inverse_dynamics_platform(
        par, state.p[7], state.pd[7], state.pdd[7], friction=friction
    )
    assert one.shape == (dof,)
    np.testing.assert_allclose(one, platform[7], rtol=0, atol=atol)
    rest = kernels.inverse_dynamics_joints(par, state.q, np.zeros(dof), [0.0] * dof)
    held = dd.inverse_dynamics(robot, dd.State.from_joints(robot, state.q))
    np.testing.assert_allclose(rest, held, rtol=0, atol=atol)


@needs_kernels
@pytest.mark.parametrize("dof", [3, 4])
def test_a_row_that_cannot_be_is_nan_as_a_whole(dof: int) -> None:
    robot = make_robot(dof, False, friction=FRICTION)
    state = make_states(robot, 100)
    par = packed_parameters(robot)
    p, pdd = state.p.copy(), state.pdd.copy()
    p[4, 2], pdd[9, 0] = -7.0, np.inf
    tau = kernels.inverse_dynamics_platform(par, p, state.pd, pdd)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(tau).all(axis=1)), [4, 9])
    assert np.isnan(tau).sum() == 2 * dof
    robot, q = wide_robot(dof)
    q[[11, 99]] = 0.0  # arms straight out: the struts are too short
    q[50, 1] = np.nan
    tau = kernels.inverse_dynamics_joints(packed_parameters(robot), q, state.qd, state.qdd)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(tau).all(axis=1)), [11, 50, 99])
    assert np.isnan(tau).sum() == 3 * dof


@needs_kernels
def test_angles_of_any_size() -> None:
    """Whole turns change nothing but the last digits of the angle itself."""
    robot = make_robot(4, False)
    state = make_states(robot, 64)
    par = packed_parameters(robot)
    tau = kernels.inverse_dynamics_joints(par, state.q, state.qd, state.qdd)
    for turns in (-1, 3, 10_000, 10_000_000):  # the last beyond the vector instructions
        angle = 2 * np.pi * turns
        far = kernels.inverse_dynamics_joints(par, state.q + angle, state.qd, state.qdd)
        # an angle is known to its last digit; a radian moves a torque by some times its size
        atol = (1e-12 + 20 * np.spacing(abs(angle))) * np.abs(tau).max()
        np.testing.assert_allclose(far, tau, rtol=0, atol=atol)
    for quarter in range(-8, 9):
        q = np.full(4, quarter * np.pi / 2)
        own = kernels.inverse_dynamics_joints(par, q, np.zeros(4), np.zeros(4))
        made = dd.State.from_joints(robot, q, unreachable="nan")
        np.testing.assert_allclose(own, dd.inverse_dynamics(robot, made), rtol=1e-9, atol=1e-9)


@needs_kernels
@pytest.mark.parametrize(
    ("p", "pd", "message"),
    [
        (
            np.zeros(5),
            np.zeros(5),
            r"shape of p is \[5\]; allowed: \(dof,\) or \(N, dof\) with 2, 3",
        ),
        (0.0, 0.0, r"shape of p is \[\]"),
        (np.zeros((2, 3)), np.zeros((3, 3)), r"shape of pd is \[3, 3\]; allowed: \(2, 3\)"),
        (np.zeros(3), np.zeros((2, 3)), r"shape of pd is \[2, 3\]"),
        (np.zeros((1, 2, 3)), np.zeros(3), r"shape of p is \[1, 2, 3\]"),
        (["a", "b", "c"], np.zeros(3), "p is .*; allowed: an array of real numbers"),
        (np.zeros(3), np.zeros(3, complex), "pd is .*; allowed: an array of real numbers"),
    ],
)
def test_a_wrong_motion_is_named(p: Any, pd: Any, message: str) -> None:
    par = packed_parameters(make_robot(3, True))
    with pytest.raises(InputError, match=message):
        kernels.inverse_dynamics_platform(par, p, pd, np.zeros(3))


@needs_kernels
def test_the_extension_refuses_what_it_cannot_read() -> None:
    from deltadyn.backends import _kernels

    par, row, k = np.zeros(COUNT), np.zeros((2, 3)), KERNELS.index("inverse_kinematics")
    good = (par, row, row, row)
    for arguments, error, message in (
        ((), ValueError, "run"),
        ((-1, False, *good), ValueError, "run"),
        ((1000, False, *good), ValueError, "run"),
        (("x", False, *good), TypeError, "int"),
        ((k, False, par, row, row), ValueError, "inverse_kinematics takes 3 arrays, not 2"),
        (
            (k, False, par[:5], row, row, row),
            ValueError,
            rf"parameters: \(n,\) with n from {KINEMATIC}",
        ),
        ((k, False, np.zeros(COUNT + 1), row, row, row), ValueError, "parameters"),
        ((k, False, par, row, row, row.astype(int)), TypeError, "array 2 holds no doubles"),
        ((k, False, par, row[:, :2], row, row), ValueError, r"array 0 is not \(3,\) or \(N, 3\)"),
        ((k, False, par, np.zeros((3, 3)), row, row), ValueError, "array 0 has 3 rows, not 2"),
        ((k, False, par, row, np.zeros((4, 3)), row), ValueError, "array 1 has 4 rows, not 2"),
        ((k, False, par, [0.0], row, row), TypeError, "bytes-like"),
    ):
        with pytest.raises(error, match=message):
            _kernels.run(*arguments)
    fixed = row.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        _kernels.run(k, False, par, fixed, row, fixed)
    assert _kernels.run(k, False, par, fixed, row, row.copy()) == 2  # no robot: nothing is finite


@needs_kernels
def test_columns_go_to_chosen_places() -> None:
    from deltadyn.backends import _kernels

    robot = make_robot(3, False)
    state, par = make_states(robot, 70), packed_parameters(robot)
    motion = (state.cos_q, state.sin_q, state.qd, state.qdd, state.p, state.pd, state.pdd)
    known = [np.empty((70, 7)) for _ in range(3)]
    number = KERNELS.index("rows_3")
    _kernels.run(number, False, par, *motion, *known)
    places = np.full(21, -1, dtype=np.int32)
    places[[0, 1, 2]] = [2 * 3, 2 * 1, 2 * 3 + 1]  # the third is added to the first
    out = np.full((70, 5), 9.0)
    _kernels.fill(number, False, par, places, *motion, out)
    np.testing.assert_array_equal(out[:, 3], known[0][:, 0] + known[0][:, 2])
    np.testing.assert_array_equal(out[:, 1], known[0][:, 1])
    assert (out[:, [0, 2, 4]] == 9.0).all()
    together = np.concatenate([*motion, np.full((70, 2), np.nan)], axis=1)  # more columns behind
    again = np.full((70, 5), 9.0)
    _kernels.fill(number, False, par, places, together, again)
    np.testing.assert_array_equal(again, out)
    far = places.copy()
    far[4] = 10
    for arguments, error, message in (
        ((number, False, par, far, *motion, out), ValueError, r"places\[4\] is no column"),
        ((number, False, par, places[:3], *motion, out), ValueError, r"places is not \(21,\)"),
        ((number, False, par, out[0], *motion, out), TypeError, "no 32-bit integers"),
        ((number, False, par, places, together[:, :9], out), ValueError, "array 0 is not"),
        ((number, False, par, places, *motion[:5], out), ValueError, "rows_3 takes 8 arrays"),
        ((-1, False, par, places, *motion, out), ValueError, "fill"),
    ):
        with pytest.raises(error, match=message):
            _kernels.fill(*arguments)


def test_packed_numbers_stand_in_their_places() -> None:
    robot = make_robot(4, False, friction=Friction(coulomb=1.0, smoothing=0.1))
    par, numbers = packed_parameters(robot), exact_parameters(robot)
    assert par.shape == (COUNT,)
    assert not par.flags.writeable
    np.testing.assert_array_equal(par[:15].reshape(3, 5), numbers.limbs)
    np.testing.assert_array_equal(par[PLACES["m_x"]][:3], numbers.m_x)
    assert numbers.spindle is not None
    assert par[PLACES["spindle"]][-1] == numbers.spindle.I_psi
    np.testing.assert_array_equal(par[PLACES["coulomb_negative"]], np.ones(4))
    assert par[PLACES["smoothing"]] == 0.1
    assert PLACES["gravity"].start == KINEMATIC
    heavier = packed_parameters(robot.with_payload(5.0))
    assert heavier[PLACES["M_P"]] > par[PLACES["M_P"]]
    np.testing.assert_array_equal(packed_parameters(robot), par)


def test_without_kernels_a_direct_call_says_why() -> None:
    with (
        kernels.switched_off(),
        pytest.raises(InputError, match=r"the compiled kernels is 'switched off by switched_off"),
    ):
        kernels.inverse_dynamics_platform(np.zeros(COUNT), np.zeros(3), np.zeros(3), np.zeros(3))


def test_threads_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = kernels.threads()
    assert cores >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert kernels.threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1000")
    assert kernels.threads() == cores
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")  # nested levels: not ours
    assert kernels.threads() == cores


SCRIPT = """
import sys
{before}
import numpy as np, deltadyn as dd
from deltadyn import kernels
robot = dd.load_robot("example-delta-4")
state = dd.State.from_platform(robot, [0.05, 0.02, -0.8, 0.3], [1.0, 2.0, 0.5, 3.0])
tau = dd.inverse_dynamics(robot, state)
print(kernels.status(), "|", kernels.available(), "|", tau.tolist())
"""


def in_new_process(switch: str | None, before: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != kernels.SWITCH}
    if switch is not None:
        environment[kernels.SWITCH] = switch
    code = SCRIPT.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )


def test_the_package_runs_without_the_extension() -> None:
    hidden = 'sys.modules["deltadyn.backends._kernels"] = None'
    robot = dd.load_robot("example-delta-4")
    state = dd.State.from_platform(robot, [0.05, 0.02, -0.8, 0.3], [1.0, 2.0, 0.5, 3.0])
    expected = dd.inverse_dynamics(robot, state)
    for switch, before, said in (
        ("off", "", "switched off by DELTADYN_KERNELS=off"),
        (None, hidden, "not built: "),
        (None, STALE, "built from other formulas: install the package again"),
    ):
        done = in_new_process(switch, before)
        status, available, tau = done.stdout.split("|")
        assert status.startswith(said)
        assert available.strip() == "False"
        np.testing.assert_allclose(np.array(eval(tau)), expected, rtol=1e-12)


STALE = """
import types
old = types.ModuleType("deltadyn.backends._kernels")
old.DIGEST = "of another day"
sys.modules["deltadyn.backends._kernels"] = old
"""


def test_the_switch_takes_two_words() -> None:
    done = in_new_process("of")
    assert done.returncode != 0
    assert "DELTADYN_KERNELS is 'of'; allowed: 'on', 'off' or nothing" in done.stderr
    hidden = 'sys.modules["deltadyn.backends._kernels"] = None'
    done = in_new_process("on", hidden)
    assert done.returncode != 0
    assert "DELTADYN_KERNELS is 'on'; allowed: 'off' here: the kernels are not built" in done.stderr
