"""Every check: found in a recording made to have exactly that fault, silent on a clean one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.recording.recordings import RATE, ROBOTS, clean, motion_of, robot_of

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording import Findings, Recording, check_recording, repair
from deltadyn.recording.checks.findings import KINDS
from deltadyn.recording.repair import REPAIRS

NAME = "sipro-d3-1200"
Array = npt.NDArray[np.float64]


def changed(rec: Recording, **arrays: Any) -> Recording:
    return rec.replace(**arrays)


def rates(rec: Recording) -> Array:
    assert rec.qd is not None
    return rec.qd


def with_cells(array: Array, rows: Any, axis: int, values: Any) -> Array:
    out = array.copy()
    out[rows, axis] = values
    return out


def checked(rec: Recording, name: str | None = NAME) -> Findings:
    return check_recording(rec, None if name is None else robot_of(name))


# Silence.


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("noise", [True, False])
def test_silent_on_a_clean_recording(name: str, noise: bool) -> None:
    found = check_recording(clean(name, noise=noise), robot_of(name))
    assert found.kinds == ()
    assert found.skipped == ()
    assert found.ok
    assert str(found) == f"{name}: nothing found"


@pytest.mark.parametrize("name", ROBOTS)
def test_silent_without_a_robot(name: str) -> None:
    found = check_recording(clean(name))
    assert found.kinds == ()
    assert found.skipped == ("closure, limits, signs and axes: no robot was given",)


def test_an_unknown_payload_and_friction_are_no_fault() -> None:
    robot = robot_of(NAME).with_payload(3.0).with_friction(viscous=2.0, coulomb=4.0)
    rec = changed(clean(), tau=dd.inverse_dynamics(robot, motion_of(NAME)))
    assert checked(rec).kinds == ()


def test_a_coarse_encoder_and_torque_are_no_fault() -> None:
    rec = clean(noise=False)
    q = np.round(rec.q / 2e-4) * 2e-4
    tau = np.round(rec.tau / 0.05) * 0.05
    assert checked(changed(rec, q=q, tau=tau, qd=None)).kinds == ()


def test_small_jitter_and_another_start_are_no_fault() -> None:
    rec = clean()
    rng = np.random.default_rng(1)
    t = 1e5 + rec.t + 2e-5 * rng.standard_normal(len(rec))
    assert checked(changed(rec, t=t)).kinds == ()


def test_heavy_jitter_hides_no_other_fault_and_makes_none() -> None:
    rng = np.random.default_rng(5)
    motion = motion_of(NAME)
    t = motion.t + 2.4e-4 * rng.uniform(-1, 1, len(motion.t))
    q = np.stack([np.interp(t, motion.t, column) for column in motion.q.T], axis=1)
    tau = np.stack([np.interp(t, motion.t, column) for column in clean(noise=False).tau.T], axis=1)
    rec = Recording(t, q, tau, qd=motion.qd)
    assert checked(rec).kinds == ("jitter",)
    assert checked(rec.replace(tau=-tau)).kinds == ("jitter", "torque sign")


# One fault each. A case gives the recording, the kind, the channel and a part of the text.


def gap(rec: Recording) -> Recording:
    keep = np.r_[0:1000, 1003:2000, 2100 : len(rec)]
    return rec.take(keep, "rows taken out")


def repeated(rec: Recording) -> Recording:
    return rec.take(np.r_[0:500, 499:1200, 1199, 1199 : len(rec)], "rows repeated")


def backwards(rec: Recording) -> Recording:
    order = np.arange(len(rec))
    order[[700, 701]] = [701, 700]
    return changed(rec, t=rec.t[order])


def jitter(rec: Recording) -> Recording:
    rng = np.random.default_rng(2)
    return changed(rec, t=rec.t + 2e-4 * rng.uniform(-1, 1, len(rec)))


def wrapped(rec: Recording) -> Recording:
    q = rec.q[:, 1]
    return changed(rec, q=with_cells(rec.q, q > 0.2, 1, q[q > 0.2] - 2 * math.pi))


def homed_again(rec: Recording) -> Recording:
    return changed(rec, q=with_cells(rec.q, slice(2000, None), 2, rec.q[2000:, 2] + 0.3), qd=None)


def frozen_torque(rec: Recording) -> Recording:
    return changed(rec, tau=with_cells(rec.tau, slice(1500, 1700), 0, rec.tau[1500, 0]))


def frozen_angle(rec: Recording) -> Recording:
    q = with_cells(rec.q, slice(3800, None), 1, rec.q[3800, 1])
    return changed(rec, q=q, qd=None, p=None)


def clipped(rec: Recording) -> Recording:
    low = float(np.percentile(rec.tau[:, 2], 6))
    return changed(rec, tau=np.column_stack([rec.tau[:, :2], np.maximum(rec.tau[:, 2], low)]))


def nan_cells(rec: Recording) -> Recording:
    return changed(rec, tau=with_cells(rec.tau, [10, 11, 900], 1, np.nan))


def infinite(rec: Recording) -> Recording:
    return changed(rec, q=with_cells(rec.q, 77, 0, np.inf))


def nan_time(rec: Recording) -> Recording:
    t = rec.t.copy()
    t[55] = np.nan
    return changed(rec, t=t)


def in_degrees(rec: Recording) -> Recording:
    return changed(rec, q=np.degrees(rec.q), qd=None, p=None)


def twice_to_radians(rec: Recording) -> Recording:
    return changed(rec, q=np.radians(rec.q), qd=None, p=None)


def turned_angles(rec: Recording) -> Recording:
    return changed(rec, q=-rec.q, qd=None, p=None)


def copied(rec: Recording) -> Recording:
    return changed(rec, q_command=rec.q)


CASES: dict[str, tuple[Callable[[Recording], Recording], str, str | None, str]] = {
    "gap": (gap, "gap", "t", "2 gaps with some 103 missing samples, the longest 0.101 s"),
    "duplicate": (repeated, "duplicate time", "t", "3 times equal their predecessor, row 500 and"),
    "decreasing": (backwards, "decreasing time", "t", "below their predecessor, row 701."),
    "jitter": (jitter, "jitter", "t", "% (standard deviation) around 1.0007"),
    "milliseconds": (
        lambda rec: changed(rec, t=1e3 * rec.t, qd=None),
        "time unit",
        "t",
        "milliseconds taken as seconds?",
    ),
    "seconds": (
        lambda rec: changed(rec, t=rec.t / 1e3, qd=None),
        "time unit",
        "t",
        "The time step is 1e-06 s: seconds taken as milliseconds?",
    ),
    "slow": (lambda rec: rec.rows(0, None, 20), "low rate", "t", "The rate is 50 Hz."),
    "short": (lambda rec: rec.rows(0, 600), "too short", None, "600 samples over 0.599 s."),
    "nan": (nan_cells, "not finite", "tau2", "3 of 4000 values are NaN or infinite, rows 10 to 11"),
    "infinite": (infinite, "not finite", "q1", "1 of 4000 values are NaN or infinite, row 77."),
    "nan time": (nan_time, "not finite", "t", "row 55"),
    "wrap": (wrapped, "encoder wrap", "q2", "jumps by 360 deg, a turn of the encoder"),
    "jump": (homed_again, "jump", "q3", "row 2000"),
    "frozen torque": (frozen_torque, "frozen", "tau1", "while the robot moves, rows 1500 to 1699."),
    "frozen angle": (frozen_angle, "frozen", "q2", "does not change for 200 samples"),
    "clipped": (clipped, "saturated", "tau3", "samples are cut off at"),
    "copied": (copied, "same as command", "q1", "q1, q2, q3 equal the command"),
    "degrees": (in_degrees, "angle unit", "q", "look like degrees that were taken as radians."),
    "radians": (twice_to_radians, "angle unit", "q", "radians that were taken as degrees"),
    "angle sign": (
        turned_angles,
        "angle sign",
        "q1",
        "q1, q2, q3 count against our convention, not as the torque does.",
    ),
    "degrees per second": (
        lambda rec: changed(rec, qd=np.degrees(rates(rec))),
        "rate unit",
        "qd1",
        "57.3 times the derivative of the angle: deg/s?",
    ),
    "rpm": (
        lambda rec: changed(rec, qd=rates(rec) * 30 / math.pi),
        "rate unit",
        "qd1",
        "rpm?",
    ),
    "rate sign": (
        lambda rec: changed(rec, qd=-rates(rec)),
        "rate unit",
        "qd1",
        "opposite sign?",
    ),
    "torque sign": (
        lambda rec: changed(rec, tau=rec.tau * [1, -1, 1]),
        "torque sign",
        "tau2",
        "tau2 has the opposite sign",
    ),
    "all torque signs": (
        lambda rec: changed(rec, tau=-rec.tau),
        "torque sign",
        "tau1",
        "tau1, tau2, tau3 have the opposite sign",
    ),
    "newton centimetres": (
        lambda rec: changed(rec, tau=100 * rec.tau),
        "torque unit",
        "tau",
        "100 times the model's: N cm at the output side?",
    ),
    "swapped torques": (
        lambda rec: changed(rec, tau=rec.tau[:, [1, 0, 2]]),
        "swapped axes",
        "tau",
        "tau1 is that of axis 2, tau2 is that of axis 1, tau3 is that of axis 3",
    ),
    "swapped angles": (
        lambda rec: changed(rec, q=rec.q[:, [2, 0, 1]], tau=rec.tau[:, [2, 0, 1]], qd=None),
        "swapped axes",
        "q",
        "The pose fits the angles in the order 2, 3, 1",
    ),
    "pose in millimetres": (
        lambda rec: changed(rec, p=1e3 * rec.p if rec.p is not None else None),
        "pose",
        "p",
        "millimetres taken as metres",
    ),
    "limits": (
        lambda rec: changed(rec, q=with_cells(rec.q, 5, 0, math.radians(-60)), qd=None),
        "limits",
        "q1",
        "1 angles are outside -45 to 100 deg, row 5.",
    ),
}
# Faults that cannot but have a second one, which is as true.
ALSO = {
    "limits": {"jump"},
    "jump": {"pose"},
    "newton centimetres": {"saturated"},
}


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_found_and_nothing_else(case: str) -> None:
    damage, kind, channel, text = CASES[case]
    found = checked(damage(clean()))
    matching = [item for item in found.of(kind) if item.channel == channel]
    assert matching, str(found)
    assert any(text in item.text for item in matching), str(found)
    assert set(found.kinds) <= {kind} | ALSO.get(case, set()), str(found)
    assert all(item.advice for item in found)
    assert str(matching[0]).startswith(f"{matching[0].severity}: {kind}")


def test_every_kind_has_a_case() -> None:
    own_tests = {"homing", "open loop", "convention"}
    assert {kind for _, kind, _, _ in CASES.values()} | own_tests == set(KINDS)


@pytest.mark.full
@pytest.mark.parametrize("name", ["example-delta-4", "nt-robot", "usach-delta"])
@pytest.mark.parametrize(
    "case", ["degrees", "radians", "angle sign", "torque sign", "swapped torques", "clipped"]
)
def test_faults_are_found_on_other_robots(name: str, case: str) -> None:
    damage, kind, _, _ = CASES[case]
    rec = clean(name)
    if rec.dof == 4:
        whole = damage(rec.replace(q=rec.q[:, :3], tau=rec.tau[:, :3], qd=None, p=None))
        q, tau = (
            np.column_stack([new, old[:, 3]])
            for new, old in ((whole.q, rec.q), (whole.tau, rec.tau))
        )
        damaged = rec.replace(q=q, tau=tau, qd=None, p=None)
    else:
        damaged = damage(rec)
    assert kind in check_recording(damaged, robot_of(name)).kinds


def test_an_open_loop_is_found() -> None:
    """A robot whose struts are too short to close the loop with all arms outward."""
    base = robot_of(NAME)
    strut = replace(base.struts[0], inertia=0.004)
    geometry = replace(base.geometry, strut_length=0.5)
    robot = base.replace(geometry=geometry, struts=(strut, strut, strut))
    t = np.arange(3000) / RATE
    waves = [0.2 * np.sin(2 * np.pi * f * t + f) for f in (0.8, 1.1, 1.3)]
    q = np.radians(60) + np.stack(waves, axis=1)
    motion = dd.Motion.from_joints(robot, t, q)
    rec = Recording(t, q, dd.inverse_dynamics(robot, motion))
    assert check_recording(rec, robot).kinds == ()
    q[1000:1200] *= 0.01
    found = check_recording(rec.replace(q=q), robot)
    (finding,) = found.of("open loop")
    assert finding.rows == ((1000, 1200),)
    assert "At 6.67 % of the samples no platform position closes the loop" in finding.text
    assert not found.ok
    assert found.skipped == ("signs, units and axes: correct jump first",)


@pytest.mark.parametrize("name", ["sipro-d3-1200", "nt-robot", "usach-delta", "example-delta-4"])
@pytest.mark.parametrize("offset", [(9.0, 0.0, 0.0), (0.0, -8.0, 0.0)])
def test_a_homing_error_is_named_beside_a_constant_torque(
    name: str, offset: tuple[float, ...]
) -> None:
    """On the log of a short motion: set, or named with what else it may be, and the right axis."""
    robot, rec = robot_of(name), clean(name)
    q = rec.q.copy()
    q[:, :3] -= np.radians(offset)
    found = check_recording(rec.replace(q=q, p=None), robot)
    axis = int(np.argmax(np.abs(offset)))
    assert set(found.kinds) <= {"homing"}
    assert found.conventions is not None
    fitted, deviation = found.conventions.offset_fit_deg, found.conventions.offset_deviation_deg
    assert abs(fitted[axis] - offset[axis]) < 2 * deviation[axis]
    if not found.conventions.as_logged:
        assert np.flatnonzero(found.conventions.offset_deg).tolist() == [axis]
        return
    assert axis + 1 in [item["axis"] for item in found.conventions.uncertain_homing]


@pytest.mark.parametrize("name", ["sipro-d3-1200", "nt-robot", "usach-delta", "example-delta-4"])
def test_other_masses_and_friction_are_no_homing_error(name: str) -> None:
    robot = robot_of(name)
    arm = replace(robot.arms[0], mass=1.3 * robot.arms[0].mass)
    true = robot.replace(arms=(arm, arm, arm)).with_payload(1.5)
    scale = np.array([1.0, 1.0, 1.0, 0.02])[: robot.dof]
    true = true.with_friction(viscous=scale, coulomb=3 * scale)
    rec = clean(name).replace(tau=dd.inverse_dynamics(true, motion_of(name)))
    assert check_recording(rec, robot).kinds == ()


def test_torques_at_the_motor_are_recognised_by_the_gear() -> None:
    rec, robot = clean("example-delta-4"), robot_of("example-delta-4")
    found = check_recording(rec.replace(tau=rec.tau / robot.drives.gear_ratio), robot)
    (finding,) = found.of("torque unit")
    assert "at the motor side (gear ratio 20)" in finding.text


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "mN m"), (1e-3, "kN m")])
def test_torque_units(factor: float, unit: str) -> None:
    found = checked(clean().replace(tau=factor * clean().tau))
    assert f"{unit} at the output side?" in found.of("torque unit")[0].text


def test_torques_at_the_limit_of_the_drive() -> None:
    robot = robot_of(NAME)
    limit = 0.8 * float(np.abs(clean(noise=False).tau).max())
    weak = robot.replace(limits=replace(robot.limits, torque_peak=limit))
    tau = np.clip(clean(noise=False).tau, -limit, limit)
    found = check_recording(clean().replace(tau=tau), weak)
    assert found.kinds == ("saturated",)
    assert f"at the limit of {limit:g} N m" in found[0].text


def test_a_wrap_of_the_motor_is_found_by_the_gear_ratio() -> None:
    rec, robot = clean("example-delta-4"), robot_of("example-delta-4")
    period = 2 * math.pi / 20
    q = with_cells(rec.q, slice(None), 0, np.mod(rec.q[:, 0], period))
    damaged = rec.replace(q=q, qd=None, p=None)
    found = check_recording(damaged, robot)
    (finding,) = found.of("encoder wrap")
    assert finding.value == pytest.approx(period)
    mended = repair(damaged, found, ["encoder wrap"])
    difference = mended.q[:, 0] - rec.q[:, 0]
    assert np.ptp(difference) < 1e-12


def test_the_time_unit_is_found_by_measured_rates() -> None:
    rec = clean()
    t = rec.t * 30  # a step of 30 ms: not impossible by itself
    found = checked(changed(rec, t=1e3 * rec.t / 100, qd=rates(rec) * 100))
    assert "low rate" not in found.kinds
    assert found.of("time unit")[0].text.startswith("The measured rate is 1000 times")
    assert "low rate" in checked(changed(rec, t=t, qd=None)).kinds


def test_a_constant_channel_is_frozen() -> None:
    rec = clean()
    found = checked(changed(rec, tau=with_cells(rec.tau, slice(None), 2, 0.0)))
    assert found.of("frozen")[0].channel == "tau3"
    assert found.of("frozen")[0].rows == ((0, 4000),)


def test_an_empty_recording_is_too_short() -> None:
    empty = clean().rows(0, 0)
    found = checked(empty)
    assert found.kinds == ("too short",)
    assert not found.ok
    assert checked(clean().rows(0, 1)).kinds == ("too short",)
    assert not checked(clean().rows(0, 2)).of("gap")


def test_everything_nan_is_reported_and_nothing_raised() -> None:
    rec = clean()
    found = checked(rec.replace(q=rec.q * np.nan, tau=rec.tau * np.nan, t=rec.t * np.nan))
    assert set(found.kinds) == {"not finite"}
    assert found.skipped


def test_bad_calls() -> None:
    with pytest.raises(InputError, match="recording is 'ndarray'; allowed: a Recording"):
        check_recording(np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="axes of the recording is 3; allowed: 4, as robot"):
        check_recording(clean(), robot_of("example-delta-4"))


# Repair.


def test_nothing_is_repaired_unless_asked_for() -> None:
    damaged = repeated(clean())
    found = checked(damaged)
    assert repair(damaged, found, []) is damaged
    assert repair(damaged, found, ["gap"]) is damaged
    assert repair(clean(), checked(clean()), REPAIRS) is not damaged


def test_duplicates_are_dropped_and_listed() -> None:
    damaged = repeated(clean())
    mended = repair(damaged, checked(damaged), ["duplicate time"])
    np.testing.assert_array_equal(mended.t, clean().t)
    np.testing.assert_array_equal(mended.tau, clean().tau)
    (text,) = mended.provenance.repairs
    assert text.startswith("3 rows dropped that repeat a time: row 500 and")
    assert checked(mended).kinds == ()


def test_rows_are_sorted_together_with_their_channels() -> None:
    rng = np.random.default_rng(3)
    order = rng.permutation(len(clean()))
    damaged = clean().take(order, "shuffled")
    mended = repair(damaged, checked(damaged), "decreasing time")
    np.testing.assert_array_equal(mended.q, clean().q)
    np.testing.assert_array_equal(mended.t, clean().t)
    assert mended.provenance.repairs[0].startswith("rows sorted by time:")


def test_turns_are_added_again() -> None:
    damaged = wrapped(clean())
    mended = repair(damaged, checked(damaged), ["encoder wrap"])
    assert np.ptp(mended.q[:, 1] - clean().q[:, 1]) < 1e-12
    assert "q2 unwrapped by 6.28319 rad at" in mended.provenance.repairs[0]


def test_short_gaps_are_interpolated_and_long_ones_stay() -> None:
    damaged = gap(clean())
    found = checked(damaged)
    mended = repair(damaged, found, ["gap"])
    assert len(mended) == len(damaged) + 3
    assert mended.provenance.repairs == ("3 missing samples interpolated: rows 1000 to 1002",)
    np.testing.assert_allclose(mended.t[990:1010], clean().t[990:1010], atol=1e-12)
    np.testing.assert_allclose(mended.q[990:1010], clean().q[990:1010], atol=1e-4)
    assert checked(mended).of("gap")[0].count == 1
    whole = repair(damaged, found, ["gap"], most_missing=100)
    assert len(whole) == len(clean())
    assert checked(whole).of("gap") == ()


def test_short_stretches_of_nan_are_interpolated_and_long_ones_stay() -> None:
    tau = clean().tau.copy()
    tau[10:13, 0] = np.nan
    tau[100:120, 1] = np.nan
    tau[0, 2] = np.nan
    damaged = clean().replace(tau=tau)
    mended = repair(damaged, checked(damaged), ["not finite"])
    assert np.isfinite(mended.tau[:, 0]).all()
    assert np.isnan(mended.tau[:, 1]).sum() == 20
    assert np.isnan(mended.tau[0, 2])
    assert mended.provenance.repairs == ("tau1 interpolated at 3 samples: rows 10 to 12",)
    line = np.interp([10, 11, 12], [9, 13], tau[[9, 13], 0])
    np.testing.assert_allclose(mended.tau[10:13, 0], line)


def test_repairs_are_made_in_the_right_order() -> None:
    rng = np.random.default_rng(4)
    damaged = repeated(gap(clean())).take(rng.permutation(len(repeated(gap(clean())))), "shuffled")
    found = checked(damaged)
    mended = repair(damaged, checked(damaged), ["decreasing time"])
    mended = repair(mended, checked(mended), ["gap", "duplicate time"])
    assert (np.diff(mended.t) > 0).all()
    assert [text.split()[0] for text in mended.provenance.repairs] == ["rows", "3", "3"]
    assert "decreasing time" in found.kinds


def test_what_cannot_be_repaired_is_said() -> None:
    found = checked(clean())
    with pytest.raises(InputError, match="kinds is 'torque sign'; allowed: 'decreasing time'"):
        repair(clean(), found, ["torque sign"])
    with pytest.raises(UnknownNameError, match="kind of finding is 'gaps'; allowed: one of"):
        repair(clean(), found, ["gaps"])
    with pytest.raises(InputError, match="most_missing is 0; allowed: a whole number of at least"):
        repair(clean(), found, ["gap"], most_missing=0)
