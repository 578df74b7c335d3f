"""Force and contacts on the independent plant: pushes, walls, loads, and the empty robot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.machines import Machine, Touch, compiler, make_machine
from tests.machines.plant import Array, copied

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import InputError
from deltadyn.force import ForceObserver, ForceOptions, Tare, find_contacts
from deltadyn.force.axes import SlowStates
from deltadyn.force.filtering import filtered_rows
from deltadyn.force.tare import Tail
from deltadyn.identification import Fit
from deltadyn.robot import save_robot

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")

ROBOT = "sipro-d3-1200"


@pytest.fixture(scope="module")
def machine() -> Machine:
    return make_machine(dd.load_robot(ROBOT), "load", 1.0, seed=7)


@pytest.fixture(scope="module")
def fit(machine: Machine) -> Fit:
    return dd.identify(machine.robot, machine.record(3, 4.0), terms=("load",))


@pytest.fixture(scope="module")
def tare(machine: Machine, fit: Fit) -> Tare:
    return Tare.of(fit, machine.run_touched(40.0, Touch(), first=1).recording)


def pushed(machine: Machine, force: tuple[float, float, float], at: int = 2000) -> Array:
    rows = np.zeros((4000, 3))
    rows[at : at + 300] = np.clip(np.arange(300) / 20, 0, 1)[:, None] * np.array(force)
    return rows


@pytest.mark.full
@pytest.mark.parametrize("force", [(30.0, 0.0, 0.0), (0.0, -30.0, 0.0), (10.0, 10.0, 26.0)])
def test_a_push_is_found_within_sixty_milliseconds(
    machine: Machine, fit: Fit, tare: Tare, force: tuple[float, float, float]
) -> None:
    run = machine.run_touched(4.0, Touch(force=pushed(machine, force)), first=2)
    log = find_contacts(fit, run.recording, tare)
    first = log.contacts[0]
    assert 0 < first.time - run.recording.t[2000] < 0.06
    assert (first.kind, first.where) == ("contact", "platform")
    held = slice(2150, 2290)
    error = log.force - np.array(force)
    rows = (log.t > run.recording.t[held.start]) & (log.t < run.recording.t[held.stop])
    assert np.abs(error[rows]).max() < 8.0  # N
    assert np.mean(np.abs(error[rows]) < 1.96 * log.std[rows]) > 0.8


def test_a_push_on_one_arm_is_told_from_the_platform(
    machine: Machine, fit: Fit, tare: Tare
) -> None:
    pull = np.zeros((4000, 3))
    pull[2000:2300, 1] = 15.0
    run = machine.run_touched(4.0, Touch(pull=pull), first=2)
    assert find_contacts(fit, run.recording, tare).contacts[0].where == "arm 2"


def test_a_load_is_told_from_a_contact(machine: Machine, fit: Fit, tare: Tare) -> None:
    empty = machine.run_touched(6.0, Touch(), first=3)
    speed = np.linalg.norm(np.gradient(empty.truth.platform, 1e-3, axis=0), axis=1)
    rests = np.flatnonzero(np.diff((speed < 0.01).astype(int)) == 1) + 30
    carried = np.zeros(len(speed))
    carried[rests[2] : rests[3]] = 2.0
    run = machine.run_touched(6.0, Touch(carried=carried), first=3)
    assert find_contacts(fit, run.recording, tare).contacts[0].kind == "pick"


def test_no_alarm_without_a_force_nor_after_the_friction_has_dropped(
    machine: Machine, fit: Fit, tare: Tare
) -> None:
    empty = machine.run_touched(20.0, Touch(), first=4).recording
    assert not find_contacts(fit, empty, tare).contacts
    assert str(find_contacts(fit, empty, tare)).startswith("no contact in")
    drives = [copied(drive) for drive in machine.drives]
    for drive in drives:
        drive.viscous, drive.coulomb = 0.75 * drive.viscous, 0.9 * drive.coulomb
    warm = replace(machine, drives=tuple(drives)).run_touched(20.0, Touch(), first=4).recording
    assert np.abs(warm.tau - empty.tau).max() > 0.1  # N m: it is another machine
    assert not find_contacts(fit, warm, tare).contacts


def test_four_axes_give_a_force_and_a_moment() -> None:
    machine = make_machine(dd.load_robot("example-delta-4"), "none", 1.0, seed=2)
    fit = dd.identify(machine.robot, machine.record(2, 4.0), terms="file")
    tare = Tare.of(fit, machine.run_touched(20.0, Touch(), first=1).recording)
    pull = np.zeros((4000, 4))
    pull[2500:3000, 3] = 3.0  # N m on the spindle
    touch = Touch(force=pushed(machine, (0.0, 40.0, 0.0), at=1000), pull=pull)
    run = machine.run_touched(4.0, touch, first=2)
    log = find_contacts(fit, run.recording, tare)
    t = log.t - run.recording.t[0]
    held = (t > 1.15) & (t < 1.29)
    np.testing.assert_allclose(np.median(log.force[held], axis=0), [0, 40, 0, 0], atol=6.0)
    turned = (t > 2.65) & (t < 2.99)
    assert np.median(log.force[turned, 3]) == pytest.approx(3.0, abs=0.5)
    assert log.contacts[0].where == "platform"


def test_one_sample_at_a_time_gives_the_same(machine: Machine, fit: Fit, tare: Tare) -> None:
    touch = Touch(force=pushed(machine, (0.0, 40.0, 0.0), at=1200))
    rec = machine.run_touched(4.0, touch, first=2).recording
    log = find_contacts(fit, rec, tare)
    observer = ForceObserver(fit, tare)
    rows = {}
    for t, q, tau in zip(rec.t[:1800], rec.q, rec.tau, strict=False):
        observer.update(q, tau, t=float(t))
        if observer.ready:
            rows[float(t)] = observer.force
    at = np.array([row in rows for row in log.t.tolist()])
    got = np.array([rows[t] for t in log.t[at].tolist()])
    late = log.t[at] > rec.t[0] + 0.4  # both filters have forgotten how they began
    np.testing.assert_allclose(got[late], log.force[at][late], atol=1e-6)
    assert observer.contact is not None
    assert observer.contact.time == pytest.approx(log.contacts[0].time)
    assert observer.contact.kind == log.contacts[0].kind == "contact"
    observer.acknowledge()
    assert observer.contact is None


def test_a_delay_is_taken_into_account(machine: Machine, fit: Fit) -> None:
    rec = machine.run_touched(20.0, Touch(), first=1).recording
    late = rec.replace(tau=np.concatenate([rec.tau[:3], rec.tau[:-3]]))
    early = rec.replace(tau=np.concatenate([rec.tau[3:], rec.tau[-3:]]))
    own = Tare.of(fit, rec).axes.noise
    for shifted, delay in ((late, 3e-3), (early, -3e-3)):
        assert np.all(Tare.of(fit, shifted, ForceOptions(delay=delay)).axes.noise < 1.1 * own)
        assert np.all(Tare.of(fit, shifted).axes.noise > 1.5 * own)


def test_the_payload_is_no_force_once_it_is_known(machine: Machine, fit: Fit, tare: Tare) -> None:
    rec = machine.run_touched(4.0, Touch(carried=np.full(4000, 1.0)), first=2).recording
    observer = ForceObserver(fit, tare)
    observer.carry(1.0)
    for q, tau in zip(rec.q[:1500], rec.tau, strict=False):
        observer.update(q, tau)
    assert observer.contact is None
    assert find_contacts(fit, rec, tare).contacts
    assert not find_contacts(fit, rec.replace(payload=1.0), tare).contacts


def test_a_payload_that_is_known_roughly_is_no_contact(
    machine: Machine, fit: Fit, tare: Tare
) -> None:
    rec = machine.run_touched(4.0, Touch(carried=np.full(4000, 1.0)), first=2).recording
    seen = []
    for std in (0.0, 0.2):
        observer = ForceObserver(fit, tare)
        observer.carry(0.85, std)
        for q, tau in zip(rec.q[:1200], rec.tau, strict=False):
            observer.update(q, tau)
        seen.append(observer.contact is not None)
    assert seen == [True, False]
    with pytest.raises(InputError, match="std"):
        ForceObserver(fit, tare).carry(1.0, -0.1)


def test_slow_states_follow_the_friction(machine: Machine, fit: Fit, tare: Tare) -> None:
    drives = [copied(drive) for drive in machine.drives]
    for drive in drives:
        drive.viscous *= 0.8
    warm = replace(machine, drives=tuple(drives)).run_touched(20.0, Touch(), first=4).recording
    states = SlowStates(tare.axes, tare.options)
    (part,) = filtered_rows(fit.robot, warm, tare.options)
    first = states.judge(part.rows).std
    later = states.follow(part.rows).std[-2000:]
    fell = states.states[:, 0] - tare.axes.states[:, 0]
    np.testing.assert_allclose(fell, 0.2 * np.array(fit.robot.friction.viscous), rtol=0.25)
    assert np.all(later.mean(axis=0) < first.mean(axis=0) / 2)  # it is as sensitive as before


def test_the_tail_is_passed_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    for spread, strays in ((1.0, 0.0), (0.8, 0.0), (1.0, 0.2)):
        # the largest of 24 normal residuals in a stretch, some of which stray by half as far again
        wide = np.where(rng.random((400_000, 1)) < strays, 1.5, 1.0)
        z = spread * np.abs(wide * rng.standard_normal((400_000, 24))).max(axis=1)
        for part in range(4):
            tail = Tail.of(z[part * 1500 : (part + 1) * 1500])
            share = np.mean(z[10_000:] > tail.passed(1e-3))
            assert 1 / 3 < share / 1e-3 < 3


def test_the_limit_follows_the_allowed_rate(tare: Tare) -> None:
    assert tare.limit(60.0) < tare.limit(10.0) < tare.limit(1.0) < tare.limit(0.1)
    assert tare.limit() == tare.limit(1.0)


def test_bad_input_is_named(machine: Machine, fit: Fit, tare: Tare) -> None:
    rec = machine.run_touched(4.0, Touch(), first=2).recording
    with pytest.raises(InputError, match=r"empty run is .* s of motion"):
        Tare.of(fit, rec)
    short = rec.replace(t=rec.t[:50], q=rec.q[:50], tau=rec.tau[:50])
    with pytest.raises(InputError, match=r"recording is .* s without a gap"):
        find_contacts(fit, short, tare)
    with pytest.raises(InputError, match="bandwidth"):
        ForceOptions(bandwidth=1e4)
    with pytest.raises(InputError, match="false_alarms"):
        ForceOptions(false_alarms=0.0)
    with pytest.raises(InputError, match="delay"):
        ForceOptions(delay=1.0)
    with pytest.raises(InputError, match="robot"):
        ForceObserver("robot", tare)
    with pytest.raises(InputError, match="axes of the tare"):
        ForceObserver(dd.load_robot("example-delta-4"), tare)
    observer = ForceObserver(fit, tare)
    with pytest.raises(InputError, match="tau"):
        observer.update(rec.q[0], [np.nan, 0.0, 0.0])


@pytest.mark.full
def test_the_command_writes_a_page_and_says_what_touched(
    machine: Machine, fit: Fit, tmp_path: Path
) -> None:
    robot, empty, log = (str(tmp_path / x) for x in ("robot.yaml", "empty.csv", "log.csv"))
    save_robot(fit.robot, robot)
    machine.run_touched(20.0, Touch(), first=1).recording.save(empty)
    touch = Touch(force=pushed(machine, (60.0, 0.0, 0.0)))
    machine.run_touched(4.0, touch, first=2).recording.save(log)
    page = tmp_path / "force.html"
    call = ["force", robot, log, "--empty", empty, "--out", str(page)]
    answer = CliRunner().invoke(main, call)
    assert answer.exit_code == 1, answer.output
    assert "contact platform" in " ".join(answer.output.split())
    text = page.read_text("utf-8")
    assert "1 contact</h2>" in text
    assert "Force on the platform" in text
    answer = CliRunner().invoke(main, [*call, "--json"])
    (found,) = json.loads(answer.output)["logs"]
    assert found["contacts"][0]["where"] == "platform"
    answer = CliRunner().invoke(main, ["force", robot, empty, "--empty", empty])
    assert (answer.exit_code, answer.output[:10]) == (0, "no contact")
