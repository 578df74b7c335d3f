"""Conventions found from logs of machines that are not ours, in random conventions."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import yaml
from tests.machines import CAUSES, compiler, make_machine
from tests.recording.recordings import clean, motion_of, robot_of, write

import deltadyn as dd
from deltadyn.dynamics.friction import ripple_of
from deltadyn.errors import InputError
from deltadyn.recording import (
    Conventions,
    Recording,
    check_recording,
    find_conventions,
    read_recording,
)
from deltadyn.recording.checks import refuse_spoiled
from deltadyn.recording.conventions import find
from deltadyn.recording.conventions.candidates import AS_LOGGED, Reading, pairings
from deltadyn.recording.conventions.fit import nonnegative
from deltadyn.recording.conventions.result import TorqueUnit, deciding_move
from deltadyn.recording.conventions.samples import samples_of
from deltadyn.recording.stretch import smooth_stretch
from deltadyn.robot.settings import Ripple

Array = npt.NDArray[np.float64]
needs_plant = pytest.mark.skipif(compiler() is None, reason="the plant of tests/machines is in C")

MACHINES = ("sipro-d3-1200", "example-delta", "nt-robot", "example-delta-4")
KINDS = (("multisine", "moving"), ("via", "rest"), ("picks", "rest"))


@cache
def log_of(name: str, cause: str, seed: int, kind: int = 0, strength: float = 1.5) -> Recording:
    """4 s of a machine with a cause."""
    machine = make_machine(robot_of(name), cause=cause, strength=strength, seed=seed)
    motion, start = KINDS[kind % len(KINDS)]
    (recording,) = machine.record(1, 4.0, kind=motion, start=start)
    return recording


class Convention(NamedTuple):
    """A convention of a log: X = (sign q + offset) / factor, in the terms of a robot file."""

    sign: Array
    offset: Array
    unit: str
    side: str
    torque_order: tuple[int, ...]  # the log's axis of each arm's torque
    torque_sign: Array
    torque_side: str


def drawn(robot: dd.Robot, rng: np.random.Generator) -> Convention:
    """A random convention; an arm in three is homed 20 to 40 degrees off."""
    gear = robot.drives.gear_ratio[0]
    sign = rng.choice([-1.0, 1.0], 3)
    off = rng.uniform(20, 40, 3) * rng.choice([-1, 1], 3) * (np.arange(3) == rng.integers(9))
    sides = ("output", "motor") if gear != 1 else ("output",)
    return Convention(
        sign,
        np.radians(off),
        str(rng.choice(["rad", "deg"])),
        str(rng.choice(sides)),
        tuple(int(k) for k in (rng.permutation(3) if rng.random() < 0.5 else range(3))),
        sign * rng.choice([1.0, 1.0, -1.0], 3),
        str(rng.choice(sides)),
    )


def logged(robot: dd.Robot, log: Recording, as_in: Convention) -> Recording:
    """The log in another convention, as numbers without a unit."""
    gears = np.asarray(robot.drives.gear_ratio)
    factor = math.pi / 180 if as_in.unit == "deg" else 1.0
    factors = factor / gears if as_in.side == "motor" else np.full(robot.dof, factor)
    ratio = 1 / gears if as_in.torque_side == "motor" else np.ones(robot.dof)
    q, tau = log.q / factors, log.tau * ratio
    q[:, :3] = (log.q[:, :3] * as_in.sign + as_in.offset) / factors[:3]
    tau[:, list(as_in.torque_order)] = log.tau[:, :3] * as_in.torque_sign * ratio[:3]
    return log.replace(q=q, tau=tau)


def assert_found(found: Conventions, true: Convention) -> None:
    """Sign, order, unit and side, exactly; an offset of 20 degrees or more, within 8."""
    assert found.settled, str(found)
    assert found.sign[:3] == tuple(true.sign), str(found)
    assert (found.torque_sign or found.sign)[:3] == tuple(true.torque_sign)
    assert found.torque_order[:3] == tuple(k + 1 for k in true.torque_order)
    assert found.order[:3] == (1, 2, 3)
    assert (found.unit, found.side) == (true.unit, true.side)
    assert found.torque_side == true.torque_side
    np.testing.assert_allclose(found.offset_deg[:3], np.degrees(true.offset), atol=8.0)


# Machines of another plant, each with something wrong, in random conventions.


@pytest.mark.full
@needs_plant
@pytest.mark.parametrize("number", range(16))
def test_a_random_convention_is_found(number: int) -> None:
    name = MACHINES[number % len(MACHINES)]
    robot, rng = robot_of(name), np.random.default_rng([number, 7])
    log = log_of(name, CAUSES[(5 * number) % len(CAUSES)], number, number)
    true = drawn(robot, rng)
    foreign = logged(robot, log, true)
    found = find_conventions(robot, foreign.t, foreign.q, foreign.tau)
    assert_found(found, true)
    right = found.apply(foreign)
    np.testing.assert_allclose(right.q[:, :3], log.q[:, :3], atol=math.radians(8.0))
    np.testing.assert_allclose(right.tau, log.tau, rtol=1e-9, atol=1e-9)
    assert find_conventions(robot, right).as_logged


@needs_plant
@pytest.mark.parametrize("cause", CAUSES)
def test_a_right_log_stands(cause: str) -> None:
    """Whatever the machine has that the robot file does not know."""
    place = CAUSES.index(cause)
    name = MACHINES[place % len(MACHINES)]
    log = log_of(name, cause, 50 + place, place)
    findings = check_recording(log, robot_of(name))
    found = findings.conventions
    assert found is not None
    assert found.as_logged, str(found)
    assert found.settled
    assert findings.ok
    assert set(findings.kinds) <= {"homing"}  # 4 s may not tell it from a constant torque


@pytest.mark.full
@pytest.mark.parametrize("preset", ["industrial", "lab"])
@pytest.mark.parametrize("motion", ["y1", "y2", "y3"])
@pytest.mark.parametrize("name", ["usach-delta", "abb-irb360-6-1600"])
def test_right_logs_of_the_bench_stand(name: str, motion: str, preset: str) -> None:
    robot = dd.load_robot(name)
    log = dd.simulate(robot, getattr(dd.motion, motion)(robot), preset=preset, seed=9).recording
    found = find_conventions(robot, log)
    assert found.as_logged, str(found)
    assert found.settled


def test_a_load_that_changes_is_no_convention() -> None:
    robot = robot_of("example-delta")
    motion = dd.motion.y1(robot)
    end = float(motion.t[-1])
    load = [(0.3 * end, 1.4), (0.6 * end, 0.0)]
    log = dd.simulate(robot, motion, preset="industrial", seed=3, payload=load).recording
    assert find_conventions(robot, log).as_logged


@needs_plant
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("name", MACHINES[:3])
def test_an_arm_that_is_homed_wrong_is_found(name: str, axis: int) -> None:
    log = log_of(name, ("ripple", "load", "elastic")[axis], 4)
    off = np.zeros(3)
    off[axis] = math.radians((20.0, -25.0, 30.0)[axis])
    found = find_conventions(robot_of(name), log.replace(q=log.q + off))
    assert found.changed == ("homing",)
    wanted, deviation = np.degrees(off), found.offset_deviation_deg
    assert abs(found.offset_deg[axis] - wanted[axis]) < 2 * deviation[axis]
    assert [value == 0 for value in found.offset_deg] == [value == 0 for value in wanted]
    assert max(deviation) < 4.0


@needs_plant
@pytest.mark.parametrize("seed", range(4))
def test_a_constant_torque_is_no_homing_error(seed: int) -> None:
    """12, 18 and 25 % of the RMS torque on the axes of a right log of production cycles."""
    robot = robot_of("sipro-d3-1200")
    machine = make_machine(robot, cause="friction", seed=seed)
    log = machine.record_picks(8.0)
    constant = np.array([0.12, 0.18, 0.25]) * np.random.default_rng(seed).choice([-1, 1], 3)
    log = log.replace(tau=log.tau + constant * np.sqrt(np.mean(log.tau**2, axis=0)))
    findings = check_recording(log, robot)
    assert findings.ok, str(findings)
    assert findings.conventions is not None
    assert findings.conventions.as_logged, str(findings.conventions)
    refuse_spoiled(robot, log)


@needs_plant
def test_an_arm_homed_off_beside_constant_torques() -> None:
    robot = robot_of("sipro-d3-1200")
    log = make_machine(robot, cause="friction", seed=3).record_picks(8.0)
    rms = np.sqrt(np.mean(log.tau**2, axis=0))
    log = log.replace(q=log.q + np.radians([0.0, 14.0, 0.0]), tau=log.tau + rms * [0.2, -0.2, 0.25])
    found = find_conventions(robot, log)
    assert found.changed == ("homing",), str(found)
    assert found.offset_deg[0] == found.offset_deg[2] == 0
    assert abs(found.offset_deg[1] - 14.0) < 2 * found.offset_deviation_deg[1]


@needs_plant
def test_a_single_pick_cannot_tell_which() -> None:
    """Both readings are named with the motion that decides, nothing is set, nothing refused."""
    robot = robot_of("sipro-d3-1200")
    log = make_machine(robot, cause="hysteresis", seed=1).record_picks(1.2)
    log = log.replace(q=log.q + np.radians([0.0, 12.0, 0.0]))
    found = find_conventions(robot, log)
    assert not found.decided
    assert found.as_logged
    assert not any(found.offset_deg)
    named = {item["axis"]: item for item in found.uncertain_homing}
    assert re.fullmatch(
        r"homing of axis 2 by [-+][\d.e+]+ \+- [\d.e+]+ deg, or a constant torque of "
        r"[-+][\d.e+]+ N m",
        named[2]["text"],
    )
    assert "through the whole workspace" in named[2]["move"]
    assert named[2]["text"] in str(found)
    assert {"axis", "offset_deg", "deviation_deg", "constant_Nm"} <= set(named[2])
    assert json.loads(json.dumps(found.as_dict()))["uncertain_homing"]
    refuse_spoiled(robot, log)


@needs_plant
def test_a_file_that_knows_its_offset_and_ripple_accepts_its_log() -> None:
    """What the robot file gives its drives explains the log before anything else does."""
    robot, log = robot_of("sipro-d3-1200"), log_of("sipro-d3-1200", "none", 1)
    known = robot.with_friction(offset=(9.0, -7.0, 5.0))
    wave = Ripple(order=24, cos=(2.0, 1.0, 1.5), sin=(1.0, -2.0, 0.5))
    known = known.replace(drives=replace(known.drives, ripple=(wave,)))
    more = ripple_of(known, log.q) + np.array([9.0, -7.0, 5.0])
    machine = log.replace(tau=log.tau + more)
    bare, own = (find_conventions(which, machine) for which in (robot, known))
    assert own.as_logged
    assert own.residual_before is not None
    assert bare.residual_before is not None
    assert own.residual_before < 0.5 * bare.residual_before


@pytest.mark.parametrize("scale", [1e160, 1e200])
def test_a_machine_that_lost_control_has_a_status(scale: float) -> None:
    rec = clean()
    found = find_conventions(robot_of("sipro-d3-1200"), rec.t, rec.q, rec.tau * scale)
    assert "did the machine lose control" in found.status
    assert not found.decided
    assert found.as_logged


def test_a_fit_that_does_not_exist_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def singular(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(find, "refine", singular)
    found = find_conventions(robot_of("sipro-d3-1200"), clean())
    assert "did the machine lose control" in str(found)
    assert not found.decided


@needs_plant
def test_all_arms_counted_from_the_vertical() -> None:
    """A common offset is set where it is large; it is known to some degrees only."""
    log = log_of("nt-robot", "friction", 2)
    found = find_conventions(robot_of("nt-robot"), log.replace(q=log.q - math.pi / 2))
    assert found.changed == ("homing",)
    np.testing.assert_allclose(found.offset_deg, -90.0, atol=15.0)


@needs_plant
def test_the_direction_of_a_fourth_axis_shows_in_an_effector_off_its_axis() -> None:
    robot, log = robot_of("example-delta-4"), log_of("example-delta-4", "friction", 3)
    turned = np.array([1.0, 1.0, 1.0, -1.0])
    found = find_conventions(robot, log.replace(q=log.q * turned, tau=log.tau * turned))
    assert found.sign == (1, 1, 1, -1)
    assert found.torque_sign is None
    assert not any("axis 4" in text for text in found.unseen)
    # with its COM on the axis both directions are the same robot in a mirror
    plain = robot.replace(effector=replace(robot.effector, com=(0.0, 0.0, robot.effector.com[2])))
    tau = dd.inverse_dynamics(plain, motion_of("example-delta-4"))
    rec = clean("example-delta-4").replace(tau=tau, p=None)
    other = find_conventions(plain, rec.replace(q=rec.q * turned, tau=tau * turned, qd=None))
    assert other.as_logged
    assert any(text.startswith("the direction of axis 4") for text in other.unseen)


@needs_plant
@pytest.mark.parametrize("unit", ["", " [rad]"])
def test_a_unit_that_the_header_does_not_tell(tmp_path: Path, unit: str) -> None:
    """Radians of motors with a gear of 33 are no degrees, though these would fit the limits."""
    robot, log = robot_of("example-delta"), log_of("example-delta", "none", 1)
    inertia = np.asarray(robot.drives.output_inertia) / 33.0**2
    robot = robot.replace(drives=replace(robot.drives, gear_ratio=33.0, rotor_inertia=inertia))
    names = ["t_s", *(f"Pos {k}{unit}" for k in (1, 2, 3)), *(f"tau{k}_Nm" for k in (1, 2, 3))]
    path = write(tmp_path / "log.csv", names, np.column_stack([log.t, 33.0 * log.q, log.tau]))
    rec = read_recording(path, robot)
    found = find_conventions(robot, rec)
    assert (found.unit, found.side) == ("rad", "motor")
    np.testing.assert_allclose(found.apply(rec).q, log.q, atol=1e-9)


# A good log costs a fit, not a search.


def test_no_search_where_the_log_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a search")

    monkeypatch.setattr(find, "_search", never)
    rec = clean()
    assert find_conventions(robot_of("sipro-d3-1200"), rec).as_logged
    with pytest.raises(AssertionError, match="a search"):
        find_conventions(robot_of("sipro-d3-1200"), rec.replace(q=-rec.q, qd=None))


# Files: the block and the column map put a log right.


def foreign_file(path: Path, robot: dd.Robot, log: Recording, unit: str) -> Path:
    """Motor-side degrees, axis 2 reversed and homed 30 degrees off, torques 1 and 3 swapped."""
    sign, off = np.array([1.0, -1.0, 1.0]), np.radians([0.0, 30.0, 0.0])
    angles = np.degrees((log.q * sign + off) * robot.drives.gear_ratio)
    torques = (log.tau * sign)[:, [2, 1, 0]]
    torque = [f"tau{axis}_Nm" for axis in (1, 2, 3)]
    names = ["t_s", *(f"Pos {axis} [{unit}]" for axis in (1, 2, 3)), *torque]
    return write(path, names, np.column_stack([log.t, angles, torques]))


@needs_plant
@pytest.mark.parametrize("unit", ["deg", "rad"])
def test_block_and_column_map_put_a_file_right(tmp_path: Path, unit: str) -> None:
    """The header says rad for degrees, or nothing wrong."""
    robot, log = robot_of("example-delta"), log_of("example-delta", "none", 1)
    path = foreign_file(tmp_path / "log.csv", robot, log, unit)
    rec = read_recording(path, robot, angle_side="output")
    found = find_conventions(robot, rec)
    assert found.changed == ("angle unit", "angle sign", "swapped axes", "homing")
    assert (found.unit, found.side, found.torque_order) == ("deg", "motor", (3, 2, 1))
    assert found.columns[f"Pos 1 [{unit}]"]["unit"] == "deg"
    assert found.columns[f"Pos 1 [{unit}]"]["side"] == "motor"
    assert found.columns["tau1_Nm"]["axis"] == 3

    (tmp_path / "columns.yaml").write_text(found.column_map)
    own = tmp_path / "own.yaml"
    robot.save(own)
    text = own.read_text()
    tree = yaml.safe_load(text)
    tree["controller"] = yaml.safe_load(found.block)["controller"]
    own.write_text(yaml.safe_dump(tree))
    again = read_recording(path, dd.load_robot(own), columns=tmp_path / "columns.yaml")
    np.testing.assert_allclose(again.q, log.q, atol=math.radians(5.0))
    np.testing.assert_allclose(again.tau, log.tau, atol=1e-9)
    assert find_conventions(dd.load_robot(own), again).as_logged
    # the same block by the object, and the log put right without its file
    assert found.apply(robot).controller.sign == (1.0, -1.0, 1.0)
    np.testing.assert_allclose(found.apply(rec).q, again.q, atol=1e-9)
    assert found.apply(rec).provenance.repairs[-1].startswith("convention put right: angle unit")


@needs_plant
def test_a_robot_that_has_a_block_gets_another_one(tmp_path: Path) -> None:
    """The log was read with a wrong block: what is found replaces it."""
    log = log_of("sipro-d3-1200", "none", 1)
    wrong = dd.robot.Controller((1.0, 1.0, -1.0), (0.1, 0.0, 0.0))
    robot = robot_of("sipro-d3-1200").replace(controller=wrong)
    path = tmp_path / "log.csv"
    sign = np.array([-1.0, 1.0, 1.0])
    names = ["t_s", "q1_rad", "q2_rad", "q3_rad", "tau1_Nm", "tau2_Nm", "tau3_Nm"]
    write(path, names, np.column_stack([log.t, log.q * sign, log.tau * sign]))
    found = find_conventions(robot, read_recording(path, robot))
    assert found.sign == (-1, 1, 1)
    assert found.torque_sign is None
    right = found.apply(robot)
    again = read_recording(path, right)
    np.testing.assert_allclose(again.q, log.q, atol=math.radians(8.0))
    np.testing.assert_allclose(again.tau, log.tau, atol=1e-9)


@needs_plant
def test_a_fit_refuses_and_prints_the_block() -> None:
    robot, log = robot_of("nt-robot"), log_of("nt-robot", "none", 1)
    turned = np.array([1.0, -1.0, 1.0])
    foreign = log.replace(q=log.q * turned, tau=log.tau * turned)
    with pytest.raises(InputError, match=r"angle sign(.|\n)*sign: \[1, -1, 1\]"):
        dd.identify(robot, foreign)
    refuse_spoiled(robot, log)
    findings = check_recording(foreign, robot)
    assert findings.kinds == ("angle sign",)
    assert findings.conventions is not None
    assert findings.conventions.columns == {}  # angle and torque turn together: the block is enough


def test_as_json() -> None:
    rec = clean("example-delta-4")
    found = find_conventions(robot_of("example-delta-4"), rec.replace(tau=-rec.tau))
    tree = json.loads(json.dumps(found.as_dict()))
    assert tree["sign"] == [1, 1, 1, 1]
    assert tree["torque_sign"] == [-1, -1, -1, -1]
    assert tree["offset_deg"] == [0, 0, 0, 0]
    assert tree["order"] == tree["torque_order"] == [1, 2, 3, 4]
    assert (tree["unit"], tree["side"]) == ("rad", "output")
    assert tree["columns"]["tau4"] == {
        "quantity": "tau",
        "axis": 4,
        "unit": "Nm",
        "side": "output",
        "sign": -1,
    }
    assert tree["decided"]
    assert tree["residual_after"] < 0.1 < tree["residual_before"]
    assert tree["alternatives"] == []
    assert "torque sign" in str(found)
    assert "sign: [1, 1, 1, 1]" in str(found)


# What cannot be told apart is named, with the move that decides.


@needs_plant
def test_a_gear_like_a_degree_is_asked_about() -> None:
    base = robot_of("example-delta")
    rotor = np.asarray(base.drives.output_inertia)
    robot = base.replace(drives=replace(base.drives, gear_ratio=56.0, rotor_inertia=rotor / 56**2))
    log = log_of("example-delta", "none", 1)
    foreign = log.replace(q=np.degrees(log.q))
    found = find_conventions(robot, foreign)
    assert {found.side, found.alternatives[0]["side"]} == {"output", "motor"}
    assert not found.decided
    assert found.clear  # all but the unit is
    assert found.alternatives[0]["move"].startswith("Turn arm 1 by 30 degrees, measured at the arm")
    findings = check_recording(foreign, robot)
    assert findings.of("angle unit")[0].severity == "error"
    assert "Others fit almost as well" in findings.of("convention")[0].text


@pytest.mark.full
def test_torque_that_is_noise_is_explained_by_no_convention() -> None:
    rec = clean()
    noise = np.random.default_rng(1).standard_normal(rec.tau.shape)
    findings = check_recording(rec.replace(tau=noise, qd=None), robot_of("sipro-d3-1200"))
    assert "No convention explains the torque" in findings.of("convention")[0].text
    assert findings.ok


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reading": Reading("deg", "output", math.pi / 180)}, "changes by 0.5236 or by 30"),
        ({"sign": (1, -1, 1)}, "Lower arm 2"),
        ({"torque_order": (1, 0, 2)}, "Push one arm by hand"),
    ],
)
def test_the_move_that_decides(change: dict[str, Any], words: str) -> None:
    assert words in deciding_move(AS_LOGGED, replace(AS_LOGGED, **change))


# Parts.


def test_the_own_torque_of_each_arm() -> None:
    rec = clean("nt-robot")
    stretch = smooth_stretch(rec.replace(tau=rec.tau[:, [2, 0, 1]] * [1, -1, 1]))
    assert stretch is not None
    samples = samples_of(stretch, 3)
    assert samples is not None
    best = pairings(samples)[0]
    assert best.order == (1, 2, 0)
    assert best.turn == (-1, 1, 1)


@pytest.mark.parametrize(
    ("scale", "unit", "side"),
    [
        (1.3, "Nm", "output"),
        (0.05, "Nm", "motor"),
        (1.1e3, "mNm", "output"),
        (90.0, "Ncm", "output"),
        (1e-3, "kNm", "output"),
        (7.0, "unknown", "unknown"),
    ],
)
def test_the_unit_of_the_torque(scale: float, unit: str, side: str) -> None:
    found = TorqueUnit.of(robot_of("example-delta"), scale)
    assert (found.unit, found.side) == (unit, side)
    assert found.foreign == (scale != 1.3)


def test_least_squares_without_negative_parameters() -> None:
    """Against all sets of parameters that may be zero."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
        x = nonnegative(X.T @ X, X.T @ y)
        best = math.inf
        for mask in range(16):
            chosen = [k for k in range(4) if mask >> k & 1]
            part = np.zeros(4)
            if chosen:
                part[chosen] = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
            if (part >= 0).all():
                best = min(best, float(np.sum((y - X @ part) ** 2)))
        assert (x >= 0).all()
        assert float(np.sum((y - X @ x) ** 2)) == pytest.approx(best, rel=1e-5)


# Logs that tell nothing, and wrong calls.


def still(rec: Recording) -> Recording:
    return rec.replace(q=np.repeat(rec.q[:1], len(rec), axis=0), qd=None, p=None)


def one_arm(rec: Recording) -> Recording:
    q = np.repeat(rec.q[:1], len(rec), axis=0)
    q[:, 0] = rec.q[:, 0]
    motion = dd.Motion.from_joints(robot_of("sipro-d3-1200"), rec.t, q)
    tau = dd.inverse_dynamics(robot_of("sipro-d3-1200"), motion)
    return rec.replace(q=q, tau=tau, qd=None, p=None)


def test_logs_that_tell_little() -> None:
    robot, rec = robot_of("sipro-d3-1200"), clean()
    for log in (still(rec), rec.rows(0, 40), rec.replace(q=rec.q * np.nan)):
        found = find_conventions(robot, log)
        assert found.residual_before is None
        assert not found.decided
        assert found.as_logged
        assert "no stretch of regular, finite samples" in str(found)
        assert found.apply(log) is log
    assert "the log has no torque" in str(find_conventions(robot, Recording(rec.t, rec.q)))
    assert find_conventions(robot, one_arm(rec)).as_logged
    assert find_conventions(robot, rec.replace(tau=0 * rec.tau)).as_logged


def test_gaps_noise_and_a_slow_clock_do_not_matter() -> None:
    robot, rng = robot_of("nt-robot"), np.random.default_rng(2)
    motion = motion_of("nt-robot")
    tau = dd.inverse_dynamics(robot, motion)
    q = np.round(np.degrees(motion.q) / 0.01) * 0.01  # degrees with two digits
    tau = tau + 0.05 * tau.std(axis=0) * rng.standard_normal(tau.shape)
    log = Recording(motion.t, q * [1, 1, -1], tau * [1, 1, -1])
    keep = np.sort(rng.permutation(len(log))[: len(log) - 20])
    for changed in (log.take(keep, "rows lost"), log.rows(0, None, 4)):
        found = find_conventions(robot, changed)
        assert found.decided
        assert found.sign == (1, 1, -1)
        assert found.unit == "deg"


def test_wrong_calls() -> None:
    robot, rec = robot_of("sipro-d3-1200"), clean()
    with pytest.raises(InputError, match="q, tau is None; allowed: arrays"):
        find_conventions(robot, rec.t)
    with pytest.raises(InputError, match="none beside a recording"):
        find_conventions(robot, rec, rec.q)
    with pytest.raises(InputError, match="axes of the recording is 3; allowed: 4"):
        find_conventions(robot_of("example-delta-4"), rec)
    with pytest.raises(InputError, match="allowed: a Robot or a Recording"):
        find_conventions(robot, rec).apply(rec.q)  # type: ignore[call-overload]
