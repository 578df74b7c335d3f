"""Logs of robots on rails and under other platforms: checks, conventions and repairs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.recording import Recording, check_recording, find_conventions, repair
from deltadyn.recording.checks import refuse_spoiled
from deltadyn.recording.checks.findings import Subject
from deltadyn.recording.checks.robot import check_pose
from deltadyn.robot import robot_from_text
from deltadyn.robot.settings import Limits
from deltadyn.robot.write import robot_text


@cache
def log_of(kind: str) -> Recording:
    """1.5 s of the exact model's torque with a percent of noise."""
    robot = make(kind)
    motion = waves(robot, 1.5, 500.0, share=0.8)
    tau = dd.inverse_dynamics(robot, motion)
    noise = np.random.default_rng(1).standard_normal(tau.shape)
    made = tau + 0.01 * np.abs(tau).max(axis=0) * noise
    kind_of = {"linear": robot.linear, "legs": robot.legs}
    return Recording(motion.t, motion.q, made, qd=motion.qd, p=motion.p, **kind_of)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*OTHER_PLATFORMS, "rails", "vertical_spindle"])
def test_a_right_log_has_no_findings(kind: str) -> None:
    """Limbs of any number, unequal ones among them, fit as logged."""
    findings = check_recording(log_of(kind), make(kind))
    assert not [item for item in findings if item.severity != "info"], str(findings)
    assert findings.conventions is not None
    assert findings.conventions.as_logged


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rails", "level", "planar", "par4_rails"])
def test_signs_and_offsets_are_found(kind: str) -> None:
    """An arm that counts backward, another that stands off: in degrees, of carriages in mm."""
    robot, log = make(kind), log_of(kind)
    sign, offset = np.ones(robot.dof), np.zeros(robot.dof)
    sign[0], offset[1] = -1, 0.5 * robot.radian[1]
    found = find_conventions(robot, log.t, sign * log.q + offset, sign * log.tau)
    assert found.decided, str(found)
    assert found.sign == tuple(sign)
    told = offset * (1e3 if robot.linear else 180 / np.pi)
    assert found.offset == pytest.approx(told, abs=0.07 * told.max())
    own, other = ("mm", "deg") if robot.linear else ("deg", "mm")
    assert getattr(found, f"offset_{own}") == found.offset
    assert f"offset_{own}" in found.as_dict()
    assert f"offset_{own}: [" in found.block
    with pytest.raises(InputError, match=f"offset_fit_{own}"):
        getattr(found, f"offset_fit_{other}")
    right = found.apply(log.replace(q=sign * log.q + offset, tau=sign * log.tau))
    assert np.allclose(right.q, log.q, atol=0.04 * robot.radian[0])


def test_two_rails_do_not_show_which_carriage_stands_off() -> None:
    """The sign is set; both carriages are named, and none is moved."""
    robot, log = make("planar_rails"), log_of("planar_rails")
    sign, offset = np.array([-1.0, 1.0]), np.array([0.0, 0.5 * robot.radian[1]])
    found = find_conventions(robot, log.t, sign * log.q + offset, sign * log.tau)
    assert found.sign == (-1, 1)
    assert found.settled
    assert not found.decided
    assert found.offset_mm == (0, 0)
    assert [item["axis"] for item in found.uncertain_homing] == [1, 2]
    assert "mm, or a constant torque of" in found.uncertain_homing[0]["text"]
    assert "Bring carriage 1" in found.uncertain_homing[0]["move"]


def test_the_block_is_one_of_a_robot_file() -> None:
    """A spindle beside rails has its offset in degrees."""
    robot, log = make("vertical_spindle"), log_of("vertical_spindle")
    off = np.array([0, 0.12, 0, 0])
    found = find_conventions(robot, log.t, log.q + off, log.tau)
    text = robot_text(robot) + found.block
    read = robot_from_text(text)
    assert read.controller.offset == pytest.approx([0, 0.12, 0, 0], abs=8e-3)
    finding = check_recording(log.replace(q=log.q + off, p=None), robot).of("homing")
    assert finding[0].text.startswith("The carriages stand off their places (q1")


@pytest.mark.full
@pytest.mark.parametrize("kind", ["planar_rails", "rails", "par4"])
def test_units_are_found(kind: str) -> None:
    robot, log = make(kind), log_of(kind)
    scales = (1e3, 1e-3) if robot.linear else (180 / np.pi, 1e3)
    found = find_conventions(robot, log.t, log.q * scales[0], log.tau * scales[1])
    wanted = ("mm", "kN") if robot.linear else ("deg", "mNm")
    assert (found.unit, found.torque_unit) == wanted
    assert (found.side, found.torque_side) == ("output", "output")


def test_motors_of_carriages() -> None:
    """rad and N m at the motor, by the lead of the screw."""
    robot, log = make("rails"), log_of("rails")
    turns = robot.drives.motor_turns[0]
    found = find_conventions(robot, log.t, log.q * turns, log.tau / turns)
    assert (found.unit, found.side) == ("rad", "motor")
    assert (found.torque_unit, found.torque_side) == ("Nm", "motor")
    assert "20 mm in a turn" in found.angle_words


def test_findings_tell_carriages_in_mm() -> None:
    """Limits, jumps by a turn of the motor, rates in mm/s, and their repair."""
    robot, log = make("vertical"), log_of("vertical")
    ends = log.q.min(axis=0) + 0.01, log.q.max(axis=0) + 0.01
    tight = robot.replace(limits=Limits(angle_min=ends[0], angle_max=ends[1]))
    texts = {item.kind: item.text for item in check_recording(log, tight)}
    assert "places are outside" in texts["limits"]
    assert "554.3 mm" in texts["limits"]
    q, turn = log.q.copy(), 2 * np.pi / robot.drives.motor_turns[0]
    q[300:, 1] -= turn
    wrapped = log.replace(q=q, qd=None, p=None)
    found = check_recording(wrapped, robot)
    assert found.of("encoder wrap")[0].text.startswith("The place jumps by 125.7 mm")
    mended = repair(wrapped, found, ["encoder wrap"])
    assert np.allclose(mended.q, log.q)
    assert "unwrapped by 0.125664 m" in mended.provenance.repairs[0]
    assert log.qd is not None
    slow = {item.kind: item.text for item in check_recording(log.replace(qd=1e3 * log.qd), robot)}
    assert "times the derivative of the place: mm/s?" in slow["rate unit"]


def test_poses_tell_the_order_of_the_axes() -> None:
    """With two limbs in a plane and with four."""
    for kind in ("planar", "par4"):
        log = log_of(kind).rows(0, 60)
        (found,) = check_pose(Subject(log.replace(q=log.q[:, ::-1]), make(kind)))
        order = ", ".join(str(k) for k in range(log.dof, 0, -1))
        assert f"The pose fits the angles in the order {order}" in found.text


def test_logs_of_other_robots_are_refused() -> None:
    log = log_of("par4")
    with pytest.raises(InputError, match="axes of the recording is 4; allowed: 2"):
        check_recording(log, make("planar"))
    planar = log_of("planar")
    more = planar.replace(provenance=dd.recording.Provenance(ignored=("q3_rad", "tau3_Nm")))
    with pytest.raises(InputError, match="columns of a third axis"):
        refuse_spoiled(make("planar"), more)
