"""The force observer on a stream: as off-line, an alarm that stays, and faults that are said."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.force.cases import FORCE, pushed, tare_of
from tests.payload.cases import case, robot_of
from tests.payload.streams import QUICK, Broker, following, free_port, running_broker
from tests.waits import PATIENCE

from deltadyn.arrays import FloatArray
from deltadyn.cli import main
from deltadyn.errors import InputError
from deltadyn.force import Contact, ForceObserver, find_contacts
from deltadyn.force.axes import SlowStates
from deltadyn.force.filtering import filtered_rows
from deltadyn.force.live import ForceEvent, ForceReading, LiveForce
from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.kinematics.struts import jacobian
from deltadyn.recording import write_recording
from deltadyn.streams.live import Notice, Reset
from deltadyn.streams.packing import Batch, batches_of, pack
from deltadyn.streams.transports import MqttStream, OpcuaStream

D3 = robot_of()


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """A push in batches of 50 ms, until 1.25 s."""
    return list(batches_of(pushed(), 100))[:25]


def fed(live: LiveForce, batches: list[Batch]) -> list[Any]:
    return [update for batch in batches for update in live.take(pack(batch))]


def events(updates: list[Any]) -> list[str]:
    return [update.event for update in updates if isinstance(update, ForceEvent)]


def standing(live: LiveForce) -> Contact | None:
    return live.contact


def kinds(updates: list[Any]) -> list[str]:
    return [update.kind for update in updates if isinstance(update, Notice)]


def live_force(**fields: Any) -> LiveForce:
    return LiveForce(D3, tare_of(), **{"every": None, **fields})


def test_a_stream_tells_what_a_log_tells(batches: list[Batch]) -> None:
    live = live_force(every=0.2)
    updates = fed(live, batches)
    assert events(updates) == ["alarm", "contact"]
    (expected,) = find_contacts(D3, pushed().rows(0, 2500), tare_of()).contacts
    alarm, contact = (each for each in updates if isinstance(each, ForceEvent))
    assert (alarm.t, contact.t) == pytest.approx((expected.time, expected.time + 0.06), abs=1e-9)
    found = contact.contact
    assert found is not None
    assert (found.kind, found.where) == ("contact", "platform")
    np.testing.assert_allclose(found.force, expected.force, rtol=1e-9, atol=1e-9)
    readings = [each for each in updates if isinstance(each, ForceReading)]
    assert [each.t for each in readings] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    assert [each.contact is None for each in readings] == [True] * 5 + [False]
    error = readings[-1].force - np.array(FORCE)
    assert np.all(np.abs(error) < 4 * readings[-1].std)
    assert str(alarm).split()[:3] == [f"{expected.time:.4f}", "s", "alarm"]
    assert str(contact).split()[2:4] == ["contact", "platform:"]
    assert str(readings[-1]).endswith(f"N; alarm since {expected.time:.3f} s")


@pytest.mark.parametrize("delay", [0.0, 1.3e-3, -2.2e-3])
def test_samples_at_once_are_as_one_by_one(delay: float) -> None:
    """Blocks of any size, gaps, a pause, and samples that are refused."""
    log = pushed().rows(1500, 2400)
    tare = replace(tare_of(), options=replace(tare_of().options, delay=delay))
    keep = np.ones(len(log), bool)
    keep[[100, 101, 700]] = False
    t = log.t + np.where(np.arange(len(log)) >= 250, 0.05, 0.0)  # a pause
    q = log.q.copy()
    q[400, 1] += 1.0  # refused
    one, several = ForceObserver(D3, tare), ForceObserver(D3, tare)
    force, std, alarms = [], [], []
    for row in np.flatnonzero(keep):
        before = one.contact
        try:
            one.update(q[row], log.tau[row], t=float(t[row]))
        except InputError:
            assert row == 400
            continue
        if one.contact is not before and one.contact is not None:
            alarms.append(one.contact)
        force.append(one.force.copy())
        std.append(one.std.copy())
    parts = np.split(np.flatnonzero(keep), [1, 2, 5, 90, 95, 300, 520])
    found = [several.follow(q[part], log.tau[part], t[part]) for part in parts]
    whole = sum(found[1:], found[0])
    assert (whole.refused, "within 0.5 rad" in whole.reason) == (1, True)
    np.testing.assert_array_equal(whole.t, np.delete(t[keep], 400 - 2))  # no row is invented
    np.testing.assert_allclose(whole.force, force, atol=1e-8)
    np.testing.assert_allclose(whole.std, std, rtol=1e-8)
    assert np.isinf(whole.std[98]).all()  # unknown after a gap of two samples
    assert [(item.time, item.kind) for _, item in whole.alarms] == [
        (item.time, item.kind) for item in alarms
    ]
    assert len(alarms) == 2
    np.testing.assert_array_equal(several.force, whole.force[-1])


def test_no_force_below_the_threshold_raises_an_alarm() -> None:
    """The least of all directions: one that is a little larger is found along an axis' column."""
    log = case(3, empty=True).recording
    found = find_contacts(D3, log, tare_of())
    row = int(np.searchsorted(found.t, 1.1))
    J = jacobian(D3, forward_kinematics(D3, log.q[np.searchsorted(log.t, found.t[row])])[None])[0]
    allowed = np.abs(J.T @ directions()).T  # (M, dof): torques of a force of 1 N
    parts = filtered_rows(D3, log, tare_of().options)
    states = SlowStates(tare_of().axes, tare_of().options)
    judged = states.follow(parts[0].rows)
    least = ((judged.held + found.limit * judged.std)[row] / allowed).min(axis=1)  # N by direction
    assert found.threshold[row] < least.min() < 1.02 * found.threshold[row]


def directions(count: int = 4000) -> FloatArray:
    """Random unit vectors (3, count)."""
    drawn = np.random.default_rng(0).standard_normal((3, count))
    found: FloatArray = drawn / np.linalg.norm(drawn, axis=0)
    return found


def test_plain_data_of_updates(batches: list[Batch]) -> None:
    live = live_force(every=0.05)
    first, *_, last = fed(live, batches)
    record = json.loads(json.dumps(first.as_dict(), allow_nan=False))
    assert record["ready"] is False
    assert record["std_N"] == [None] * 3  # not settled yet
    assert record["alarm"] is False
    assert (last.as_dict()["alarm"], last.as_dict()["where"]) == (True, "platform")
    (reset,) = live.take(Reset())
    assert isinstance(reset, ForceEvent)
    assert reset.as_dict()["alarm"] is False
    assert reset.as_dict()["kind"] == "contact"  # what was forgotten
    (again,) = live.take(Reset())
    assert "there was no alarm" in str(again)
    assert again.as_dict()["kind"] is None


def test_four_axes_have_a_moment() -> None:
    live = LiveForce(robot_of(four=True), tare_of(four=True), every=0.1)
    parts = list(batches_of(pushed((0.0, 20.0, 0.0, 3.0), four=True), 100))[17:24]
    updates = fed(live, parts)
    assert events(updates) == ["alarm", "contact"]
    record = updates[-1].as_dict()
    assert record["moment_Nm"] == pytest.approx(3.0, abs=4 * record["moment_std_Nm"])
    assert len(record["force_N"]) == 3
    assert "N m;" in str(updates[-1])


def test_an_alarm_stays_until_it_is_reset(batches: list[Batch]) -> None:
    live = live_force()
    fed(live, batches[:22])
    alarm = standing(live)
    assert alarm is not None
    assert alarm.kind == "contact"
    late = batches[15:25]
    # a new clock and a pause make the observer begin anew; the push that goes on is no other alarm
    set_back = [replace(batch, t0=batch.t0 - 100.0) for batch in batches[22:25]]
    later = [replace(batch, t0=batch.t0 + 5.0, sequence=90 + k) for k, batch in enumerate(late)]
    updates = fed(live, [*set_back, *later])
    assert kinds(updates) == ["late", "late", "restart", "jump"]
    assert events(updates) == []
    assert live.observer.contact is not None
    assert standing(live) is alarm
    assert events(live.take(Reset())) == ["reset"]
    assert standing(live) is None
    assert live.counts.events == {"alarm": 1, "contact": 1, "reset": 1}


def test_a_force_that_stays_is_raised_again(batches: list[Batch]) -> None:
    live = live_force()
    fed(live, batches[:23])
    live.take(Reset())
    (alarm, *_) = (each for each in fed(live, batches[23:25]) if isinstance(each, ForceEvent))
    assert alarm.event == "alarm"
    assert alarm.t == pytest.approx(batches[23].t0)


def test_lost_repeated_and_late_batches_are_counted(batches: list[Batch]) -> None:
    live = live_force()
    order = [*batches[:5], batches[4], batches[2], *batches[7:10], batches[6], *batches[10:15]]
    broken = replace(batches[15], sample_time=1e-3)
    updates = fed(live, [*order, broken])
    assert kinds(updates) == ["duplicate", "duplicate", "gap", "late", "refused"]
    texts = [each.text for each in updates if isinstance(each, Notice)]
    assert texts[2].endswith("2 batches missing")
    assert texts[-1].endswith(
        "sample_time is 0.001; allowed: 0.0005 s, the sample time of the empty run"
    )
    assert live.take(b"garbage")[0].kind == "malformed"  # type: ignore[union-attr]
    assert live.counts.samples == 100 * 13


def test_angles_at_which_the_loop_does_not_close_are_refused(batches: list[Batch]) -> None:
    live = live_force()
    fed(live, batches[:5])
    lost = batches[5].q.copy()
    ramp = np.linspace(0.0, 1.0, 40)[:, None]
    lost[10:50] = (1 - ramp) * lost[10] + ramp * np.array([0.0, 3.1, 0.0])
    lost[50:90] = lost[49:9:-1]
    updates = fed(live, [replace(batches[5], q=lost)])
    assert "angles at which the loop closes" in str(updates[-1])
    assert live.counts.refused_samples > 0
    live.take(Reset())
    fed(live, batches[6:12])
    assert np.isfinite(live.observer.force).all()
    assert live.observer.ready


def test_a_known_payload_is_no_force() -> None:
    """2 kg that the gripper holds from the begin, or that the robot carries throughout."""
    run = case(3, masses=(2.0, 2.0))
    held = [
        replace(batch, holding=run.payload[100 * k : 100 * k + len(batch)] > 0)
        for k, batch in enumerate(batches_of(run.recording, 100))
    ][:12]
    assert run.payload[:1200].max() == 2.0
    assert events(fed(live_force(), held)) == ["alarm", "pick"]
    assert events(fed(live_force(payload=2.0), held)) == []
    carrying = [part for part in held if part.holding is not None and part.holding.all()]
    always = [replace(part, holding=None) for part in carrying[1:]]
    assert len(always) >= 3
    assert events(fed(live_force(payload=2.0), always)) == []


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="payload is -1; allowed: at least 0 kg"):
        live_force(payload=-1.0)
    with pytest.raises(InputError, match="axes of the tare is 4; allowed: 3"):
        LiveForce(D3, tare_of(four=True))
    with pytest.raises(InputError, match="convention is 'mine'"):
        live_force(convention="mine")


# over a broker and a server


@pytest.mark.full
def test_over_a_broker_with_resets(tmp_path: Path, batches: list[Batch]) -> None:
    aiomqtt = pytest.importorskip("aiomqtt", reason="the extra mqtt is not installed")

    async def run(broker: Broker) -> None:
        stream = MqttStream(broker.url, results="force", resets="force/reset", backoff=QUICK)
        async with aiomqtt.Client("127.0.0.1", broker.port) as client:
            # one that the broker keeps would reset anew at each connection
            await client.publish("cell/robot/force/reset", b"1", qos=1, retain=True)
            await client.subscribe("cell/robot/force")
            async with following(live_force(), stream) as follower:
                await follower.connected()
                for batch in batches[:23]:
                    await client.publish("cell/robot", pack(batch), qos=1)
                await follower.samples(2300)
                assert events(follower.updates) == ["alarm", "contact"]
                await client.publish("cell/robot/force/reset", b"", qos=1)
                await follower.until(lambda: events(follower.updates)[2:] == ["reset"], "a reset")
                assert follower.live.counts.malformed == 0
                assert await stream.publish(json.dumps(follower.updates[-1].as_dict()))
                message = await asyncio.wait_for(anext(aiter(client.messages)), PATIENCE)
                assert json.loads(message.payload)["event"] == "reset"

    with running_broker(tmp_path) as broker:
        asyncio.run(run(broker))


@asynccontextmanager
async def server(port: int) -> AsyncIterator[tuple[Any, Any]]:
    """The nodes of batches and of the reset (true) of a server that is gone afterwards."""
    asyncua: Any = import_module("asyncua")
    own = asyncua.Server()
    await own.init()
    own.set_endpoint(f"opc.tcp://127.0.0.1:{port}")
    own.set_security_policy([asyncua.ua.SecurityPolicyType.NoSecurity])
    space = await own.register_namespace("cell")
    objects, name = own.nodes.objects, asyncua.ua.NodeId
    batches = await objects.add_variable(name("Robot.Batches", space), "Batches", b"")
    switch = await objects.add_variable(name("Robot.Reset", space), "Reset", True)
    await own.start()
    try:
        yield batches, switch
    finally:
        await own.stop()


@pytest.fixture
def quiet() -> Iterator[None]:
    """A library that logs every lost connection."""
    logger = logging.getLogger("asyncua")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.mark.full
@pytest.mark.usefixtures("quiet")
def test_over_a_server_with_resets(batches: list[Batch]) -> None:
    pytest.importorskip("asyncua", reason="the extra opcua is not installed")
    port = free_port()

    url, node = f"opc.tcp://127.0.0.1:{port}", "ns=2;s=Robot.Batches"

    async def run() -> None:
        stream = OpcuaStream(url, node, reset="ns=2;s=Robot.Reset", backoff=QUICK)
        wrong = OpcuaStream(url, node, reset=node, backoff=QUICK)
        async with server(port) as (values, switch), following(live_force(), stream) as follower:
            await follower.connected()  # the reset is true already: no reset
            for batch in batches[:23]:
                await values.write_value(pack(batch))
            await follower.samples(2300)
            assert events(follower.updates) == ["alarm", "contact"]
            await switch.write_value(False)
            await switch.write_value(True)
            await follower.until(lambda: events(follower.updates)[2:] == ["reset"], "a reset")
            assert follower.live.counts.malformed == 0
            async with following(live_force(), wrong) as other:
                await other.until(lambda: bool(other.notices("connection")), "an attempt")
                assert other.notices("connection")[0].endswith("; allowed: a Boolean")

    asyncio.run(run())


@pytest.mark.full
def test_wrong_nodes() -> None:
    pytest.importorskip("asyncua", reason="the extra opcua is not installed")
    with pytest.raises(InputError, match="reset node is 'Reset'; allowed: a node id such as ns=2"):
        OpcuaStream("opc.tcp://plc:4840", "ns=2;s=Batches", reset="Reset")


# the command


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The robot and the call's option with its empty run."""
    folder = tmp_path_factory.mktemp("force")
    D3.save(folder / "robot.yaml")
    write_recording(case(28, seed=3, empty=True).recording, folder / "empty.csv")
    return str(folder / "robot.yaml"), "--empty", str(folder / "empty.csv")


def run_command(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["force", *arguments])


@pytest.mark.full
def test_the_command_follows_a_broker(
    tmp_path: Path, files: tuple[str, ...], batches: list[Batch]
) -> None:
    aiomqtt = pytest.importorskip("aiomqtt", reason="the extra mqtt is not installed")

    async def run(broker: Broker) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
        call = ("force", *files, "--live", broker.url, "--publish", "--json", "--every", "0.25")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "deltadyn",
            *call,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        lines: list[dict[str, Any]] = []
        published: list[dict[str, Any]] = []

        async def until(name: str) -> None:
            assert process.stdout is not None
            while not lines or lines[-1].get("event", lines[-1].get("kind")) != name:
                line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
                assert line, (await process.communicate())[1].decode()
                lines.append(json.loads(line))

        async with aiomqtt.Client("127.0.0.1", broker.port) as client:
            await client.subscribe("cell/robot/force", qos=1)
            await until("connection")
            for batch in batches[:23]:
                await client.publish("cell/robot", pack(batch), qos=1)
            await until("contact")
            await client.publish("cell/robot/force/reset", b"", qos=1)
            await until("reset")
            process.send_signal(signal.SIGTERM)
            out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
            lines += [json.loads(line) for line in out.decode().splitlines()]
            while not published or published[-1].get("event") != "reset":
                message = await asyncio.wait_for(anext(aiter(client.messages)), PATIENCE)
                published.append(json.loads(message.payload))
        assert process.returncode == 0, err.decode()
        return lines, published, err.decode()

    with running_broker(tmp_path) as broker:
        lines, published, _ = asyncio.run(run(broker))
    told = [line["event"] for line in lines if line["type"] == "event"]
    assert told[:3] == ["alarm", "contact", "reset"]
    assert [each["event"] for each in published if each["type"] == "event"] == told[:3]
    readings = [line for line in lines if line["type"] == "reading"]
    assert len(readings) >= 4
    assert readings[0]["alarm"] is False
    summary = lines[-1]
    assert summary["type"] == "summary"
    assert summary["samples"] == 2300
    assert summary["events"]["reset"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "call is 'neither'; allowed: logs, or a stream with --live"),
        (("log.csv", "--every", "1"), "--every is 1; allowed: left out without --live"),
        (("log.csv", "--reset-node", "a"), "--reset-node is 'a'; allowed: left out without --live"),
        (("--live", "mqtt://h/t", "--out", "a.html"), "--out is 'a.html'; allowed: left out with"),
        (("--live", "http://h"), "--live is 'http://h'; allowed: mqtt://host"),
        (("--live", "opc.tcp://h:1"), "--node is None; allowed: the node with the batches"),
        (
            ("--live", "mqtt://h/t", "--reset-node", "ns=2;s=R"),
            "--reset-node is 'ns=2;s=R'; allowed: left out with MQTT, where TOPIC/force/reset",
        ),
        (("--live", "mqtt://h/t", "--seconds", "0"), "--seconds is 0; allowed: above 0"),
    ],
)  # fmt: skip
def test_wrong_command_lines(files: tuple[str, ...], arguments: tuple[str, ...], said: str) -> None:
    result = run_command(*files, *arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


def test_several_short_empty_runs_are_one(files: tuple[str, ...], tmp_path: Path) -> None:
    whole = case(28, seed=3, empty=True).recording
    half = len(whole) // 2
    write_recording(whole.rows(0, half), tmp_path / "first.csv")
    write_recording(whole.rows(half), tmp_path / "second.csv")
    write_recording(pushed(), tmp_path / "log.csv")
    robot, log, first, second = (
        files[0],
        *(str(tmp_path / f"{name}.csv") for name in ("log", "first", "second")),
    )
    short = run_command(robot, log, "--empty", first)
    assert short.exit_code == 2, short.output
    assert "deltadyn: empty run is '" in short.stderr
    both = run_command(robot, log, "--empty", first, "--empty", second)
    assert both.exit_code == 1, both.output
    assert "platform" in both.stdout
    missing = run_command(robot, log)
    assert missing.exit_code == 2
    assert "--empty is None; allowed: a log of usual motion" in missing.stderr


def test_a_robot_without_friction_is_noted(files: tuple[str, ...], tmp_path: Path) -> None:
    robot = D3.with_friction(viscous=0.0, coulomb=0.0)
    robot.save(tmp_path / "new.yaml")
    found = run_command(str(tmp_path / "new.yaml"), "no.csv", *files[1:])
    assert "note: robot 'sipro-d3-1200' has no friction" in found.stderr
    assert "note" not in run_command(*files, "no.csv").stderr


def test_the_payload_of_a_log_is_part_of_the_model(files: tuple[str, ...], tmp_path: Path) -> None:
    run = case(3, masses=(2.0, 2.0))
    held = np.flatnonzero(run.payload > 0)
    stretch = run.recording.rows(int(held[0]) + 20, int(np.flatnonzero(np.diff(held) > 1)[0]))
    write_recording(stretch, tmp_path / "held.csv")
    found = run_command(*files, str(tmp_path / "held.csv"), "--no-check")
    assert found.exit_code == 1, found.output
    known = run_command(*files, str(tmp_path / "held.csv"), "--no-check", "--payload", "2")
    assert known.exit_code == 0, known.output
    assert known.stdout.startswith("no contact in")


def test_noise_on_a_small_torque_is_no_wrong_scale() -> None:
    """Axis 4 needs less torque than its noise: nothing is to be learned about its scale."""
    axes = tare_of(four=True).axes
    assert np.all(np.abs(axes.states[:, 3]) < 0.15)
