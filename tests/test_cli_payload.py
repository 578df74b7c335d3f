"""The command payload: picks of logs, live streams, exit status."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.payload.cases import D3, case
from tests.payload.streams import Broker, free_port, running_broker
from tests.waits import PATIENCE

from deltadyn.cli import main
from deltadyn.payload.offline import find_picks
from deltadyn.recording import read_recording, write_recording
from deltadyn.recording.signal import read_signal, read_switch
from deltadyn.streams.packing import batches_of, pack


class Files(NamedTuple):
    """A robot and its logs."""

    robot: str
    log: str
    empty: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("payload")
    D3.save(folder / "robot.yaml")
    write_recording(case(4).recording, folder / "log.csv")
    write_recording(case(4, empty=True).recording, folder / "empty.csv")
    return Files(*(str(folder / name) for name in ("robot.yaml", "log.csv", "empty.csv")))


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, ["payload", *arguments])


def refused(*arguments: str) -> str:
    """What a wrong call says, with exit status 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("deltadyn: ")
    _, *hint = result.stderr.splitlines()
    assert all(line.startswith("hint: ") for line in hint)
    assert len(hint) < 2
    return result.stderr


def test_help_shows_examples() -> None:
    text = " ".join(run("--help").output.split())
    assert "Example: deltadyn payload mine.yaml shift.csv" in text
    assert "--live mqtt://localhost:1883/topic" in text


# logs


@pytest.mark.full
def test_a_log_gives_a_table_and_a_page(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "picks.html"
    result = run(files.robot, files.log, "--out", str(out))
    assert result.exit_code == 0, result.output
    found = find_picks(D3, case(4).recording)
    assert found.table in result.stdout
    assert f"written: {out} (open it in a browser)" in result.stdout
    assert "plotly" in out.read_text("utf-8").lower()


@pytest.mark.full
def test_logs_as_json_with_the_noise_of_an_empty_one(files: Files, tmp_path: Path) -> None:
    out = tmp_path / "picks.html"
    result = run(
        files.robot, files.log, files.log, "--empty", files.empty, "--out", str(out), "--json"
    )
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["robot"] == "sipro-d3-1200"
    first, second = record["logs"]
    assert first["picks"] == second["picks"]
    assert len(first["picks"]) == 4
    truth = [cycle.mass for cycle in case(4).plan.cycles]
    for pick, mass in zip(first["picks"], truth, strict=True):
        assert pick["mass"] == pytest.approx(mass, abs=4 * pick["std"])
    assert "case, " in first["noise"]  # the empty recording's name
    assert [Path(item["page"]).name for item in record["logs"]] == ["picks-1.html", "picks-2.html"]
    assert (tmp_path / "picks-2.html").is_file()


@pytest.fixture(scope="module")
def gripped(files: Files) -> str:
    """The log with the gripper's column, and with one that is always the same."""
    head, *rows = Path(files.log).read_text("utf-8").splitlines()
    while head.startswith("#"):
        head, *rows = rows
    held = case(4).payload > 0
    path = Path(files.log).with_name("gripped.csv")
    lines = [f"{row},{int(yes)},7" for row, yes in zip(rows, held, strict=True)]
    path.write_text("\n".join([f"{head},Greifer zu,speed", *lines, ""]), "utf-8")
    return str(path)


@pytest.mark.full
def test_the_grippers_column_tells_when_something_is_held(files: Files, gripped: str) -> None:
    result = run(files.robot, gripped, "--holding", "Greifer zu", "--json")
    assert result.exit_code == 0, result.output
    held = case(4).payload > 0
    expected = find_picks(D3, case(4).recording, holding=held.tolist())
    (found,) = json.loads(result.stdout)["logs"]
    assert len(found["picks"]) == 4
    for pick, own in zip(found["picks"], expected.picks, strict=True):
        assert pick["start"] == pytest.approx(own.start, abs=1e-6)
        assert pick["mass"] == pytest.approx(own.mass, rel=1e-6)
    alone = json.loads(run(files.robot, gripped, "--json").stdout)["logs"][0]
    assert alone["picks"] != found["picks"]  # without the signal they are found later


def test_a_signal_holds_its_value_until_the_next_row(gripped: str) -> None:
    log = read_recording(gripped, D3)
    signal = read_switch(gripped, "Greifer zu", log)
    assert signal.tolist() == (case(4).payload > 0).tolist()
    between = log.replace(t=log.t + 2.5 * log.sample_time)  # another clock
    found = read_signal(gripped, "t_s", between)
    assert found == pytest.approx(np.minimum(log.t + 2 * log.sample_time, log.t[-1]), abs=1e-9)


def test_a_gripper_that_tells_nothing_is_refused(files: Files, gripped: str) -> None:
    said = refused(files.robot, gripped, "--holding", "speed")
    assert "column 'speed'" in said
    assert "has 1 value: 7" in said
    assert "two values, such as 0 and 1" in said
    said = refused(files.robot, gripped, "--holding", "Greifer")
    assert "column is 'Greifer'; allowed: one of " in said
    assert "did you mean 'Greifer zu'?" in said
    said = refused(files.robot, "--live", "mqtt://localhost/topic", "--holding", "Greifer zu")
    assert "--holding is 'Greifer zu'; allowed: left out with --live" in said


@pytest.mark.full
def test_a_log_of_another_convention_is_refused(files: Files, tmp_path: Path) -> None:
    log = read_recording(files.log, D3)
    turned = [1, -1, 1]
    path = tmp_path / "turned.csv"
    write_recording(log.replace(q=log.q * turned, tau=log.tau * turned, qd=None, qdd=None), path)
    text = run(files.robot, str(path))
    assert text.exit_code == 2
    assert "sign: [1, -1, 1]" in text.stderr
    assert "q2 counts against our convention" in text.stderr
    assert "--no-check" in text.stderr
    assert run(files.robot, str(path), "--no-check").exit_code in (0, 1)


def test_a_log_without_a_pick_is_status_1(files: Files) -> None:
    result = run(files.robot, files.empty)
    assert result.exit_code == 1
    assert "0 picks in" in result.stdout


@pytest.mark.full
def test_wrong_calls(files: Files, tmp_path: Path) -> None:
    url = "mqtt://localhost/topic"
    assert "call is 'neither'; allowed: logs, or a stream with --live" in refused(files.robot)
    assert "call is 'both'; allowed:" in refused(files.robot, files.log, "--live", url)
    said = refused(files.robot, files.log, "--seconds", "3")
    assert "--seconds is 3; allowed: left out without --live" in said
    said = refused(files.robot, "--live", url, "--out", "page.html")
    assert "--out is 'page.html'; allowed: left out with --live" in said
    said = refused(files.robot, "--live", "http://me:secret@host/topic")
    assert "--live is 'host/topic'; allowed: mqtt://host[:port]/topic" in said
    assert "secret" not in said
    assert "--seconds is -1; allowed: above 0" in refused(
        files.robot, "--live", url, "--seconds", "-1"
    )
    assert "--node is 'i=1'; allowed: left out" in refused(
        files.robot, "--live", url, "--node", "i=1"
    )
    assert "--node is None; allowed: the node" in refused(
        files.robot, "--live", "opc.tcp://localhost:4840"
    )
    assert "--publish is True; allowed: left out" in refused(
        files.robot, "--live", "opc.tcp://localhost:4840", "--publish"
    )
    plc = "ads://5.1.2.3.1.1:851/GVL.batch"
    for options, said in (
        (("--publish",), "--publish is True; allowed: left out with ADS"),
        (
            ("--node", "i=1"),
            "--node is 'i=1'; allowed: left out with ADS, whose address has the sy",
        ),
    ):
        assert said in refused(files.robot, "--live", plc, *options)
    assert "no-such-robot" in refused("no-such-robot", files.log)
    assert "rate is 10; allowed: at least 250" in refused(
        files.robot, "--live", url, "--rate", "10"
    )
    assert "missing.csv" in refused(files.robot, str(tmp_path / "missing.csv"))


@pytest.mark.parametrize(
    ("library", "extra"), [("aiomqtt", "mqtt"), ("asyncua", "opcua"), ("pyads", "ads")]
)
def test_a_missing_extra_is_named(
    files: Files, monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    there = {"mqtt": ("mqtt://localhost/topic",), "opcua": ("opc.tcp://a:1", "--node", "ns=2;s=b")}
    there["ads"] = ("ads://5.1.2.3.1.1:851/q=GVL.q,tau=GVL.tau",)
    said = refused(files.robot, "--live", *there[extra])
    assert f"install it with: pip install 'deltadyn[{extra}]'" in said


# streams


@pytest.mark.full
def test_nobody_there_is_status_1(files: Files) -> None:
    pytest.importorskip("aiomqtt", reason="the extra mqtt is not installed")
    url = f"mqtt://127.0.0.1:{free_port()}/cell/robot"
    result = run(files.robot, "--live", url, "--seconds", "0.5")
    assert result.exit_code == 1
    assert "connection (1): lost: " in result.stderr
    assert result.stdout.startswith("0 samples in 0 messages; events: none\n")
    result = run(files.robot, "--live", url, "--reconnect", "0.1", "--json")
    assert result.exit_code == 2
    *_, summary, error = [json.loads(line) for line in result.stdout.splitlines()]
    assert (summary["type"], summary["received"]) == ("summary", 0)
    assert "no connection for 0.1 s" in json.dumps(error)
    assert "given up" in json.dumps(error)
    said = refused(files.robot, "--live", url, "--reconnect", "-1")
    assert "--reconnect is -1; allowed: at least 0 s" in said


async def lines_until(process: asyncio.subprocess.Process, wanted: str) -> list[dict[str, Any]]:
    """Lines of JSON up to the first that holds a text."""
    assert process.stdout is not None
    found: list[dict[str, Any]] = []
    while True:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        if not line:
            pytest.fail(f"ended before {wanted!r}: {found}")
        found.append(json.loads(line))
        if wanted in line.decode():
            return found


@pytest.mark.full
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_until_a_signal(files: Files, tmp_path: Path, ending: signal.Signals) -> None:
    """The command as a process: events as they come, then the summary and status 0."""
    aiomqtt = pytest.importorskip("aiomqtt", reason="the extra mqtt is not installed")

    async def talk(client: Any, process: asyncio.subprocess.Process) -> None:
        told = await lines_until(process, "connected to")
        await client.publish("cell/robot", b"garbage", qos=1)
        for batch in batches_of(case(4).recording, 100):
            await client.publish("cell/robot", pack(batch), qos=1)
        told += await lines_until(process, '"release"')
        kinds = [(item["type"], item.get("kind") or item["event"]) for item in told]
        assert kinds == [
            ("notice", "connection"),
            ("notice", "malformed"),
            ("event", "pick"),
            ("event", "release"),
        ]
        messages = aiter(client.messages)
        for item in told:  # what is printed is published
            message = await asyncio.wait_for(anext(messages), PATIENCE)
            assert json.loads(message.payload) == item
        process.send_signal(ending)
        rest = await lines_until(process, '"summary"')
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        assert rest[-1]["malformed"] == 1
        assert rest[-1]["samples"] > 1000

    async def follow(broker: Broker) -> None:
        async with aiomqtt.Client("127.0.0.1", broker.port) as client:
            await client.subscribe("cell/robot/payload", qos=1)
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "deltadyn", "payload", files.robot, "--live", broker.url,
                "--json", "--publish", stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                await talk(client, process)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    with running_broker(tmp_path) as broker:
        asyncio.run(follow(broker))
