"""Rows of an axis, by kernels and by NumPy, are the columns of the regressor that move it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states
from tests.family.robots import KINDS as FAMILY
from tests.family.robots import OTHER_PLATFORMS, make, waves
from tests.identification.motions import unequal

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import columns
from deltadyn.dynamics.base import exciting_states
from deltadyn.identification.information import AxisRows, axis_rows, gather
from deltadyn.identification.parametrisation import widest
from deltadyn.kinematics import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording
from deltadyn.recording.prepare.data import prepare
from deltadyn.robot.settings import Ripple

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason=f"no compiled kernels: {kernels.status()}"
)
FRICTION: dict[str, dict[str, Any]] = {
    "drives": {"viscous": 0.4, "coulomb": 1.2},
    "smooth": {"viscous": 0.4, "coulomb": 1.2, "smoothing": 0.05},
    "by direction": {"viscous": 0.4, "coulomb": 1.2, "coulomb_negative": 0.9},
    "all": {
        "viscous": 0.4,
        "coulomb": 1.2,
        "coulomb_negative": 0.9,
        "stribeck": (0.5, 0.6, 0.7),
        "stribeck_velocity": (0.3, 0.4, 0.5),
        "offset": (0.1, -0.1, 0.2),
    },
    "offset": {"viscous": 0.4, "coulomb": 1.2, "offset": (0.1, -0.1, 0.2)},
}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several pieces of the NumPy path, the last one shorter."""
    monkeypatch.setattr(columns, "PIECE", 150)


def same_rows(found: AxisRows | None, Y: FloatArray, tau: FloatArray) -> None:
    """All columns of Y but those of zeros, each in its place, and the torque."""
    assert found is not None
    for axis, (rows, places) in enumerate(zip(*found, strict=True)):
        full = np.zeros((len(Y), Y.shape[2] + 1))
        full[:, places] = rows.T
        # sums in another order
        np.testing.assert_allclose(full[:, :-1], Y[:, axis], atol=1e-12 * np.abs(Y).max())
        np.testing.assert_array_equal(full[:, -1], tau[:, axis])
        assert (np.diff(places) > 0).all()
        assert (rows != 0).any(axis=1).all()


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_kernels), False])
@pytest.mark.parametrize("friction", sorted(FRICTION))
def test_rows_equal_the_regressor(friction: str, compiled: bool) -> None:
    robot = unequal(dd.load_robot("sipro-d3-1200")).with_friction(**FRICTION[friction])
    state = exciting_states(robot, 400, 3)
    tau = np.random.default_rng(0).standard_normal((400, 3))
    with kernels.switched_off():
        Y = dd.regressor(robot, state, tied=False, com_offset=True).Y
    with nullcontext() if compiled else kernels.switched_off():
        same_rows(axis_rows(robot, state, tau, "exact"), Y, tau)


def test_rows_have_the_waves_of_the_drives_before_the_torque() -> None:
    waves = (Ripple(3.0, 0.1, 0.2), Ripple(7.0, 0.3, 0.4))
    robot = unequal(dd.load_robot("sipro-d3-1200")).with_friction(**FRICTION["drives"])
    robot = robot.replace(drives=replace(robot.drives, ripple=waves))
    state = exciting_states(robot, 200, 3)
    tau = np.random.default_rng(0).standard_normal((200, 3))
    with kernels.switched_off():
        Y = dd.regressor(robot, state, tied=False, com_offset=True).Y
        same_rows(axis_rows(robot, state, tau, "exact"), Y, tau)


@needs_kernels
@pytest.mark.parametrize("dof", [3, 4])
def test_kernels_know_every_term_of_the_drives(dof: int) -> None:
    robot = make_robot(dof, False, friction=replace(full_friction(dof), passive=()))
    state = make_states(robot, 300)
    tau = np.random.default_rng(0).standard_normal((300, dof))
    with kernels.switched_off():
        Y = dd.regressor(robot, state, tied=False, com_offset=True).Y
        assert axis_rows(robot, state, tau, "exact") is None
    same_rows(axis_rows(robot, state, tau, "exact"), Y, tau)


def test_what_has_no_rows_of_its_own() -> None:
    robot = make_robot(3, True, friction=full_friction(3))
    state = make_states(robot, 20)
    assert axis_rows(robot, state, np.zeros((20, 3)), "exact") is None
    drives = robot.replace(friction=replace(robot.friction, passive=()))
    assert axis_rows(drives, state, np.zeros((20, 3)), "rigid") is None


@needs_kernels
@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600"])
def test_factors_by_kernels_and_by_numpy(name: str) -> None:
    """What a fit reads is R^T R of the rows: the same from both."""
    robot = dd.load_robot(name).with_friction(viscous=0.4, coulomb=1.2, smoothing=0.05)
    t = np.arange(3000) / 1000
    swing = 0.05 * np.sin(2 * np.pi * np.outer(t, [1.1, 1.7, 2.3, 0.9][: robot.dof]))
    p = swing + np.array([0.0, 0.0, float(np.mean(height_of(robot))), 0.3])[: robot.dof]
    motion = dd.Motion.from_platform(robot, t, p)
    tau = dd.inverse_dynamics(robot, motion)
    recording = Recording(t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name="swing")
    found = []
    for context in (nullcontext(), kernels.switched_off()):
        with context:
            part = prepare(robot, recording, band=40.0)
            R = gather(robot, [("swing", [part])]).factors
        found.append(np.swapaxes(R, -1, -2) @ R)
    ours, expected = found
    scale = np.sqrt(np.einsum("baii->bai", expected).max(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    error = np.abs(ours - expected) / (scale[:, :, None] * scale[:, None, :])
    assert error.max() < 1e-12  # of columns of unit length: roundings of sums


def height_of(robot: dd.Robot) -> tuple[float, float]:
    """Heights (m) between which the platform works."""
    cylinder = working_cylinder(robot)
    return cylinder.z_min, cylinder.z_max


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_kernels), False])
@pytest.mark.parametrize("kind", [*FAMILY, *OTHER_PLATFORMS])
def test_rows_of_every_kind(kind: str, compiled: bool) -> None:
    """Columns that are zero on rails (G_s, G of level ones) keep their place."""
    robot = make(kind)
    motion = waves(robot, 0.1)
    tau = np.zeros_like(motion.q)
    with nullcontext() if compiled else kernels.switched_off():
        found = axis_rows(robot, motion, tau, "exact")
        Y = widest(robot, motion, "exact").Y
    assert found is not None
    for axis, (rows, places) in enumerate(zip(*found, strict=True)):
        full = np.zeros((len(Y), Y.shape[2]))
        full[:, places[:-1]] = rows[:-1].T
        np.testing.assert_allclose(full, Y[:, axis], atol=1e-12 * np.abs(Y).max())


def test_pieces_without_friction_are_all_filled() -> None:
    """The regressor of 400 samples, in three pieces, is that of the samples in one."""
    robot = unequal(dd.load_robot("sipro-d3-1200")).with_friction(**FRICTION["drives"])
    state = exciting_states(robot, 400, 3)
    with kernels.switched_off():
        Y = dd.regressor(robot, state, friction=False).Y
        end = State.from_joints(robot, state.q[390:], state.qd[390:], state.qdd[390:])
        last = dd.regressor(robot, end, friction=False).Y
    # the angles go through forward kinematics once more
    np.testing.assert_allclose(Y[390:], last, atol=1e-9 * np.abs(Y).max())
    assert np.abs(Y).max(axis=(1, 2)).min() > 0
