"""A log before a fit: columns, gaps, rest, convention, what it tells; its page and its bundle."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.foreign import foreign_log
from tests.waits import BROWSER_WAIT

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.inspection import Check, LogCheck, write_bundle
from deltadyn.inspection.log import KINDS, check_log
from deltadyn.recording import Recording
from deltadyn.robot.file import load_robot


@pytest.fixture(scope="module")
def robot() -> dd.Robot:
    return dd.load_robot("example-delta")


@pytest.fixture(scope="module")
def clean(robot: dd.Robot) -> Recording:
    """Eight seconds of picks with some noise, in the convention of the robot file."""
    motion = dd.motion.y1(robot, picks=6, rate=500.0)
    repeats = int(np.ceil(8.0 / motion.duration))
    t = np.arange(repeats * len(motion)) / 500.0
    q, qd, qdd = (np.tile(part, (repeats, 1)) for part in (motion.q, motion.qd, motion.qdd))
    state = dd.State.from_joints(robot, q, qd, qdd)
    rng = np.random.default_rng(3)
    tau = dd.inverse_dynamics(robot, state) + 0.05 * rng.normal(size=q.shape)
    return Recording(t=t, q=q + 2e-6 * rng.normal(size=q.shape), tau=tau, name="clean")


def kinds(found: LogCheck | Check) -> set[str]:
    return {item.kind for item in found.findings}


def test_a_clean_log_is_good(robot: dd.Robot, clean: Recording) -> None:
    found = dd.check(robot, clean)
    (log,) = found.logs
    assert found.ok
    assert not {item.severity for item in log.findings} & {"error", "warning"}
    assert log.conventions is not None
    assert log.conventions.as_logged
    assert log.rate == pytest.approx(500.0)
    assert log.gaps == 0
    assert [axis.name for axis in log.motion] == ["1", "2", "3"]
    assert log.motion[0].low == pytest.approx(clean.q[:, 0].min())
    assert log.told is not None
    assert {"A", "G", "M_P"} <= set(log.told.essential)
    before, after = log.explained
    assert before is after
    assert after is not None
    assert after.residual < 0.1  # rates of the quick corners are crude
    assert "deltadyn identify" in found.next[-1]


def test_what_happens_in_a_log_is_found_at_its_place(robot: dd.Robot, clean: Recording) -> None:
    """An axis that sticks, a robot that warms up, rows that are missing."""
    q, tau = clean.q.copy(), clean.tau.copy()
    stop = slice(1000, 1150)
    q[stop] = q[1000]
    low, high = np.percentile(tau[:, 1], [5, 95])
    tau[stop, 1] = np.linspace(low, high, 150)
    t = clean.t.copy()
    t[2000:] += 0.01
    warm = np.linspace(20.0, 40.0, len(t))
    found = check_log(robot, clean.replace(t=t, q=q, tau=tau, temperature=warm))
    by_kind = {item.kind: item for item in found.findings}
    ((start, end),) = by_kind["sticking"].rows
    assert abs(start - 1000) <= 10  # rates are taken over 20 ms
    assert abs(end - 1150) <= 10
    assert by_kind["warming"].value == pytest.approx(18.0, abs=0.1)
    assert by_kind["gap"].rows[0][0] == 1999
    assert found.gaps == 1
    for kind in ("sticking", "warming"):
        assert by_kind[kind].severity == KINDS[kind][0]


def test_an_axis_that_does_not_move(robot: dd.Robot, clean: Recording) -> None:
    q = clean.q.copy()
    q[:, 2] = q[0, 2]
    found = check_log(robot, clean.replace(q=q))
    assert "still axis" in kinds(found)


def test_a_robot_that_stands_still(robot: dd.Robot, clean: Recording) -> None:
    rows = np.r_[np.arange(1000), np.full(5000, 999)]
    still = clean.replace(
        t=np.arange(6000) / 500.0, q=clean.q[rows], tau=clean.tau[rows], temperature=None
    )
    found = check_log(robot, still)
    assert found.rest == pytest.approx(5 / 6, abs=0.05)
    assert "rest" in kinds(found)


@pytest.mark.full
def test_a_log_without_torque(robot: dd.Robot, clean: Recording, tmp_path: Path) -> None:
    found = dd.check(robot, Recording(t=clean.t, q=clean.q, name="angles"))
    (log,) = found.logs
    assert found.ok
    assert not log.has_torque
    assert (log.told, log.untold) == (None, "it has no torques")
    assert log.explained == (None, None)
    assert found.next[-1] == "Log torques or currents too, which a fit needs: not in angles."
    assert "Angles" in found.page(tmp_path / "check.html").read_text("utf-8")
    with zipfile.ZipFile(write_bundle(found, tmp_path / "b.zip")) as packed:
        assert "tau" not in packed.read("log-1.csv").decode("utf-8")


# Logs of machines that somebody else built.


@pytest.mark.full
def test_a_foreign_log_is_put_right_by_what_the_check_writes(tmp_path: Path) -> None:
    """Signs, order and homing are wrong; block and column map make the second check good."""
    foreign = foreign_log(tmp_path, 0)
    mine = foreign.save_robot()
    columns, page = tmp_path / "columns.yaml", tmp_path / "check.html"
    call = ["check", str(mine), str(foreign.path), "--write-columns", str(columns)]
    run = CliRunner().invoke(main, [*call, "--out", str(page), "--json"])
    assert run.exit_code == 1, run.output
    record = json.loads(run.stdout)
    (log,) = record["logs"]
    assert (record["columns"], record["page"]) == (str(columns), str(page))
    found = log["conventions"]
    assert tuple(found["sign"]) == foreign.truth.sign
    assert found["decided"]
    assert found["residual_after"] < 0.1 < found["residual_before"]
    assert {item["kind"] for item in log["findings"]} >= {"angle sign", "swapped axes", "homing"}
    assert log["columns"][1]["taken_for"] == "q1 in deg"
    assert log["columns"][1]["why"]
    assert "Paste the `controller:` block" in record["next"][0]
    mine.write_text(mine.read_text("utf-8") + found["block"], "utf-8")
    again = CliRunner().invoke(main, [*call[:3], "--columns", str(columns), "--json"])
    assert again.exit_code == 0, again.output
    (log,) = json.loads(again.stdout)["logs"]
    assert log["conventions"]["as_logged"]
    assert log["conventions"]["residual_before"] < 0.1


@pytest.mark.full
def test_a_current_without_its_constant(tmp_path: Path) -> None:
    """All but the size of the torque is found, and the masses of the file give its size."""
    foreign = foreign_log(tmp_path, 4)
    constant = foreign.truth.torque_constant
    assert constant is not None
    found = dd.check(foreign.robot, foreign.path)
    (log,) = found.logs
    assert log.stand_in == ("torque_constant",)
    assert not found.ok
    (asked,) = [item for item in log.findings if item.kind == "asked for"]
    assert asked.value == pytest.approx(constant, rel=0.5)  # as well as the file knows its masses
    assert "torque unit" not in kinds(log)
    assert f"masses say {asked.value:.2g}" in found.next[0]
    assert f"check own-robot {foreign.path.name} --read torque_constant=VALUE" in found.next[-1]
    given = dd.check(foreign.robot, foreign.path, torque_constant=constant)
    assert given.logs[0].stand_in == ()
    assert "asked for" not in kinds(given)


def test_the_size_of_a_torque_that_is_asked_for_is_no_finding(
    robot: dd.Robot, clean: Recording, tmp_path: Path
) -> None:
    """A small torque constant, taken as 1, makes torques 50 times too large."""
    gear = np.array(robot.drives.gear_ratio)
    rows = np.column_stack([clean.t, clean.q, clean.tau / gear / 0.02])
    head = "t_s,q1_rad,q2_rad,q3_rad,current1_A,current2_A,current3_A"
    log = tmp_path / "log.csv"
    np.savetxt(log, rows, delimiter=",", header=head, comments="", fmt="%.9g")
    (found,) = dd.check(robot, log).logs
    assert found.stand_in == ("torque_constant",)
    errors = [item for item in found.findings if item.severity == "error"]
    assert [item.kind for item in errors] == ["asked for"]
    assert errors[0].value == pytest.approx(0.02, rel=0.1)
    assert not found.changed
    assert found.told is not None
    assert all(axis.torque is None for axis in found.motion)


def test_a_log_that_cannot_be_read(robot: dd.Robot, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("colour,size\n1,2\n3,4\n", "utf-8")
    found = dd.check(robot, [log])
    assert not found.ok
    assert kinds(found.logs[0]) == {"not read"}
    assert found.verdict.startswith("log.csv cannot be read: ")
    assert str(tmp_path) not in found.text
    assert [item.text for item in found.logs[0].columns] == ["unused", "unused"]
    run = CliRunner().invoke(main, ["check", "example-delta", str(tmp_path / "none.csv")])
    assert run.exit_code == 2
    assert "does not exist" in run.stderr


def test_logs_wait_for_the_robot_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("deltadyn: 1\nname: x\n", "utf-8")
    found = dd.check(mine, ["log.csv"])
    assert found.waiting == ("log.csv",)
    assert "log log.csv: not looked at" in found.text


# The page.


@pytest.fixture(scope="module")
def with_faults(robot: dd.Robot, clean: Recording) -> Check:
    """A log with a turned axis, a gap and flat tops."""
    sign = np.array([1.0, -1.0, 1.0])
    t = clean.t.copy()
    t[2000:] += 0.01
    top = float(np.quantile(clean.tau[:, 2], 0.97))
    tau = sign * np.minimum(clean.tau, top)
    return dd.check(robot, clean.replace(t=t, q=sign * clean.q, tau=tau, name="turned"))


def test_every_finding_with_a_place_has_a_picture(with_faults: Check, tmp_path: Path) -> None:
    log = with_faults.logs[0]
    assert {"gap", "saturated", "angle sign"} <= kinds(log)
    assert log.conventions is not None
    assert log.conventions.sign == (1, -1, 1)
    page = with_faults.page(tmp_path / "check.html").read_text("utf-8")
    pictures = page.count("<figure")
    assert pictures >= 2 + len(log.findings)  # torque, angles, and one for each
    before, after = log.explained
    assert before is not None
    assert after is not None
    assert after.residual < 0.3 < before.residual


@pytest.mark.full
def test_the_first_screen_is_enough(with_faults: Check, tmp_path: Path, chromium: str) -> None:
    """Verdict, numbers, figure and next steps stand in 1280 x 800, and no script fails."""
    sync = pytest.importorskip("playwright.sync_api")
    page_file = with_faults.page(tmp_path / "check.html")
    with sync.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], timeout=BROWSER_WAIT
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        errors: list[Any] = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto(page_file.as_uri(), timeout=BROWSER_WAIT)
        page.wait_for_selector(".first .main-svg", timeout=BROWSER_WAIT)
        for place in ("#verdict", ".numbers", ".next", ".first figure"):
            box = page.locator(place).first.bounding_box()
            assert box["y"] + box["height"] <= 800, place
        assert page.locator(".numbers dd").count() == 3
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        browser.close()
    assert errors == []


# The bundle.


@pytest.mark.full
def test_a_bundle_has_no_names_and_shows_the_same(tmp_path: Path) -> None:
    foreign = foreign_log(tmp_path, 2)
    secret = tmp_path / "Huber GmbH, Linie 3.csv"
    foreign.path.rename(secret)
    own = foreign.robot.replace(name="huber-delta", description="of Huber GmbH")
    robot_file = tmp_path / "huber.yaml"
    own.save(robot_file)
    found = dd.check(robot_file, secret)
    bundle = write_bundle(found, tmp_path / "out.zip")
    with zipfile.ZipFile(bundle) as packed:
        names = set(packed.namelist())
        assert names == {"README.txt", "robot.yaml", "columns-1.yaml", "log-1.csv", "findings.json"}
        everything = "".join(packed.read(name).decode("utf-8") for name in names)
        packed.extractall(tmp_path / "got")
    words = {"uber", "Linie", str(tmp_path), *(item.name for item in found.logs[0].columns[1:])}
    for word in words:
        assert word not in everything, word
    got = tmp_path / "got"
    again = dd.check(got / "robot.yaml", got / "log-1.csv")
    first, second = found.logs[0].conventions, again.logs[0].conventions
    assert first is not None
    assert second is not None
    assert (second.sign, second.torque_order) == (first.sign, first.torque_order)
    # the map reads the file it belongs to as it was read
    mapped = dd.read_recording(secret, own, columns=got / "columns-1.yaml")
    recording = found.logs[0].recording
    assert recording is not None
    np.testing.assert_allclose(mapped.q, recording.q)


def test_a_long_log_is_thinned_in_whole_stretches(robot: dd.Robot, clean: Recording) -> None:
    from deltadyn.inspection.bundle import PART, ROWS, thinned_log

    times = 100_000 // len(clean) + 1
    t = 5.0 + np.arange(times * len(clean)) / 500.0
    long = clean.replace(t=t, q=np.tile(clean.q, (times, 1)), tau=np.tile(clean.tau, (times, 1)))
    short = thinned_log(long, "log-1")
    assert len(short) == ROWS
    assert short.t[0] == 0.0
    assert (np.diff(short.t).round(9) > 0.002).sum() == ROWS // PART - 1
    assert short.name == "log-1"
    assert replace(short, name="x").robot is None


def test_a_bundle_of_a_wrong_robot_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("deltadyn: 1\nname: secret\nrods: 2\n", "utf-8")
    call = ["check", str(mine), "--bundle", str(tmp_path / "new" / "out.zip")]
    run = CliRunner().invoke(main, call)
    assert run.exit_code == 1
    with zipfile.ZipFile(tmp_path / "new" / "out.zip") as packed:
        text = packed.read("robot-errors.txt").decode("utf-8")
    assert "rods is not a known field; did you mean 'strut'?" in text
    assert "secret" not in text


def test_the_robot_of_a_bundle_is_the_same_robot(tmp_path: Path, clean: Recording) -> None:
    robot = load_robot("autonox-rl5-1450")
    with zipfile.ZipFile(write_bundle(dd.check(robot), tmp_path / "b.zip")) as packed:
        packed.extract("robot.yaml", tmp_path)
    same = load_robot(tmp_path / "robot.yaml")
    assert same == robot.replace(name="robot", sources={}, description="")
