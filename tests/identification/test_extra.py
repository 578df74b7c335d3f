"""Columns of a log behind the robot's own, and rows that are left out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.extra import Extra
from deltadyn.identification.information import (
    Information,
    gather,
    joined,
    load_information,
    wide_regressor,
)
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.base import axis_weights, residual_rms, torque_rms
from deltadyn.identification.options import Preparation
from deltadyn.identification.parametrisation import wide_columns
from deltadyn.recording import Recording
from deltadyn.recording.prepare import data
from deltadyn.recording.prepare.band import EvenGrid
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.robot import Robot

BAND = 60.0
FAST = 1.0  # rad/s


def ones_and_time(part: Prepared) -> FloatArray:
    """One offset per axis, and a column that grows with the time of the log on all axes."""
    count, dof = part.tau.shape
    offsets = np.broadcast_to(np.eye(dof), (count, dof, dof))
    return np.concatenate([offsets, np.repeat(part.t[:, None, None], dof, axis=1)], axis=2)


def moving(part: Prepared) -> BoolArray:
    """Rows of axes that move."""
    return np.asarray(np.abs(part.limited(part.state.qd)) > FAST)


def delayed(part: Prepared) -> Prepared:
    """The torque in other units."""
    return replace(part, tau=2.0 * part.tau)


def extra_of(dof: int, **changes: object) -> Extra:
    names = (*(f"offset{axis + 1}" for axis in range(dof)), "drift")
    units = (*("N m",) * dof, "N m/s")
    return replace(Extra(names, units, ones_and_time, moving), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module", params=["sipro-d3-1200", "abb-irb360-6-1600"])
def robot(request: pytest.FixtureRequest) -> Robot:
    return dd.load_robot(request.param).with_friction(viscous=0.4, coulomb=1.2, smoothing=0.05)


@pytest.fixture(scope="module")
def log(robot: Robot) -> Recording:
    return recording_of(robot, noise=0.1)


@pytest.fixture(scope="module")
def part(robot: Robot, log: Recording) -> Prepared:
    return prepare(robot, log, band=BAND)


@pytest.fixture(scope="module")
def found(robot: Robot, part: Prepared) -> Information:
    return gather(robot, [("a", [part])], extra=extra_of(robot.dof))


def brute(robot: Robot, part: Prepared, source: str, extra: Extra) -> Iterator[FloatArray]:
    """The kept rows [Y e tau] of every axis, one under the other."""
    part = extra.correct(part)
    wide = wide_regressor(robot, part, source)
    assert extra.columns is not None
    rows = np.concatenate([wide, extra.columns(part), part.tau[..., None]], axis=2)
    limited = part.limited(rows)
    keep = np.ones(limited.shape[:2], bool) if extra.keep is None else extra.keep(part)
    for axis in range(robot.dof):
        yield limited[keep[:, axis], axis]


def uneven(robot: Robot, part: Prepared) -> Prepared:
    """The same with its samples moved to another grid."""
    return replace(part, grid=EvenGrid.of(part.t, 1 / part.rate))


@pytest.mark.full
@pytest.mark.parametrize("source", ["exact", "rigid"])
@pytest.mark.parametrize("gridded", [False, True])
@pytest.mark.parametrize("changes", [{}, {"keep": None}, {"corrected": delayed}])
def test_the_factor_holds_the_kept_rows(
    robot: Robot, part: Prepared, source: str, gridded: bool, changes: dict[str, object]
) -> None:
    extra = extra_of(robot.dof, **changes)
    given = uneven(robot, part) if gridded else part
    found = gather(robot, [("a", [given])], source, extra=extra)
    assert found.names == wide_columns(robot, source).names + extra.names
    assert (found.log_names, found.log_units) == (extra.names, extra.units)
    assert found.factors.shape[-1] == len(found.names) + 1
    for axis, rows in enumerate(brute(robot, given, source, extra)):
        R = found.factors[:, axis].reshape(-1, rows.shape[1])
        size = np.linalg.norm(rows, axis=0)
        size[size == 0] = 1.0
        np.testing.assert_allclose(
            R.T @ R / np.outer(size, size), rows.T @ rows / np.outer(size, size), atol=1e-12
        )
        assert found.rows[:, axis].sum() == len(rows)
    assert (found.rows + found.left_out == found.rows[:, :1] + found.left_out[:, :1]).all()
    assert found.samples == len(given.times)
    assert not found.payload[-len(extra.names) :].any()


def test_rows_alone_may_be_left_out(robot: Robot, part: Prepared) -> None:
    found = gather(robot, [("a", [part])], extra=Extra(keep=moving))
    plain = gather(robot, [("a", [part])])
    assert found.names == plain.names
    assert (found.left_out.sum(axis=0) == (~moving(part)).sum(axis=0)).all()
    assert not plain.left_out.any()
    np.testing.assert_array_equal(plain.rows, found.rows + found.left_out)


def test_an_empty_extra_changes_nothing(robot: Robot, part: Prepared) -> None:
    plain, found = (gather(robot, [("a", [part])], extra=extra) for extra in (None, Extra()))
    np.testing.assert_array_equal(found.factors, plain.factors)
    np.testing.assert_array_equal(found.rows, plain.rows)


def test_levels_are_those_of_the_rows_that_were_used(robot: Robot, part: Prepared) -> None:
    found = gather(robot, [("a", [part])], extra=Extra(keep=moving))
    keep, tau = moving(part), part.limited(part.tau)
    want = [np.sqrt(np.mean(tau[keep[:, a], a] ** 2)) for a in range(robot.dof)]
    np.testing.assert_allclose(torque_rms(found), want, rtol=1e-10)
    nothing = np.zeros(len(found.names))
    np.testing.assert_allclose(residual_rms(found.factors, found, nothing), want, rtol=1e-10)
    par = dd.identification.parametrise(robot)
    weights = axis_weights(found, par)
    assert dd.identification.covariance(found, par, None, weights).residual_std == pytest.approx(
        1 / weights, rel=0.02
    )


def test_an_axis_without_rows_has_no_torque(robot: Robot, part: Prepared) -> None:
    def all_but_the_last(part: Prepared) -> BoolArray:
        keep = np.ones((len(part.times), part.tau.shape[1]), bool)
        keep[:, -1] = False
        return keep

    found = gather(robot, [("a", [part])], extra=Extra(keep=all_but_the_last))
    assert torque_rms(found)[-1] == 0
    assert not found.factors[:, -1].any()
    assert found.samples == len(part.times)
    par = dd.identification.parametrise(robot)
    rest = residual_rms(found.reduced(par), found, par.prior)
    assert rest[-1] == 0
    assert np.isfinite(axis_weights(found, par)).all()


def test_joining_merging_and_saving_keep_the_counts(found: Information, tmp_path: Path) -> None:
    fewer = joined(found, 4)
    assert fewer.blocks <= 4 < found.blocks
    np.testing.assert_array_equal(fewer.rows.sum(axis=0), found.rows.sum(axis=0))
    np.testing.assert_array_equal(fewer.left_out.sum(axis=0), found.left_out.sum(axis=0))
    both = found.merge(found)
    np.testing.assert_array_equal(both.left_out.sum(axis=0), 2 * found.left_out.sum(axis=0))
    found.save(tmp_path / "information.npz")
    back = load_information(tmp_path / "information.npz")
    assert (back.names, back.log_names, back.log_units) == (
        found.names,
        found.log_names,
        found.log_units,
    )
    for name in ("factors", "rows", "left_out", "payload"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found, name))


def test_a_loaded_log_carries_its_extra(
    robot: Robot, log: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Loaded(robot, log, Preparation(BAND))
    plain = loaded.information("exact")
    loaded.extra = extra_of(robot.dof, corrected=delayed)
    found = loaded.information("exact")
    assert found.log_names == loaded.extra.names
    tau = next(loaded.parts()).tau
    np.testing.assert_array_equal(tau, 2.0 * log.tau)
    assert next(loaded.parts()) is next(loaded.parts())  # corrected once
    loaded.extra = None
    np.testing.assert_array_equal(next(loaded.parts()).tau, log.tau)
    np.testing.assert_array_equal(loaded.information("exact").factors, plain.factors)
    # a log too long to be kept takes the other path
    monkeypatch.setattr("deltadyn.identification.loading.KEPT", 10)
    monkeypatch.setattr("deltadyn.identification.loading.CHUNK", data.FEWEST * 50)
    long = Loaded(robot, log, Preparation(BAND))
    long.extra = extra_of(robot.dof, corrected=delayed)
    parts = list(long.parts())
    assert len(parts) > 1
    np.testing.assert_array_equal(parts[0].tau, 2.0 * log.tau[: len(parts[0])])
    again = long.information("exact")
    want = gather(robot, [("a", parts)], extra=extra_of(robot.dof))  # corrected already
    np.testing.assert_array_equal(again.factors, want.factors)
    np.testing.assert_array_equal(again.rows, want.rows)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (Extra(("A1",), ("1",), lambda p: np.ones((*p.tau.shape, 1))), "names of extra columns"),
        (Extra(("a",), ("1",), lambda p: np.ones((*p.tau.shape, 2))), "shape of the extra columns"),
        (
            Extra(("a",), ("1",), lambda p: np.full((*p.tau.shape, 1), np.nan)),
            "axis 1 is nan",
        ),
        (Extra(keep=lambda p: np.ones(3, bool)), "rows to keep"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    robot: Robot, part: Prepared, extra: Extra, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        gather(robot, [("a", [part])], extra=extra)


def test_extras_are_checked() -> None:
    with pytest.raises(InputError, match="units of extra columns"):
        Extra(("a",), (), ones_and_time)
    with pytest.raises(InputError, match="each name once"):
        Extra(("a", "a"), ("1", "1"), ones_and_time)
    with pytest.raises(InputError, match="a function where there are names"):
        Extra(("a",), ("1",))
