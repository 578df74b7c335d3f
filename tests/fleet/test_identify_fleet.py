"""Fits of many logs by way of factors: the numbers, chunks, order, layouts, what is left out."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.fleet.conftest import PARTS, log_of

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import DeltadynError, InputError
from deltadyn.fleet import FleetFits, find_logs, identify_fleet
from deltadyn.fleet.factors import Tally
from deltadyn.fleet.schedule import running
from deltadyn.fleet.sources import Layout, StoredLog, found_date, period_of
from deltadyn.identification.information import gather
from deltadyn.recording.prepare.data import prepare


def numbers(found: FleetFits, name: str) -> np.ndarray[Any, Any]:
    return np.array([list(fit.record[name].values()) for fit in found.fits])


@pytest.fixture(scope="module")
def whole(robot: dd.Robot, plant: Path) -> FleetFits:
    return identify_fleet(robot, plant, **PARTS)


def test_each_robot_gets_the_fit_of_its_logs(
    whole: FleetFits, robot: dd.Robot, plant: Path
) -> None:
    assert [(fit.serial, fit.period) for fit in whole.fits] == [
        ("D3-007", "all"),
        ("D3-008", "all"),
    ]
    assert whole.fits[0].logs == ("D3-007/2026-05-03.csv", "D3-007/2026-05-04.csv")
    assert whole.fits[0].samples == 24000
    logs = [plant / "D3-008" / f"2026-05-{day:02d}.csv" for day in (3, 4)]
    direct = dd.identify(robot, logs, band=40.0, terms="file", unidentifiable="hold")
    own = whole.fits[1].record
    # the filter's phase begins anew with every part: other rows of the same log
    assert list(own["values"]) == list(direct.names)
    np.testing.assert_allclose(
        list(own["values"].values()), direct.values, rtol=0, atol=0.5 * float(direct.std.max())
    )
    np.testing.assert_allclose(list(own["std"].values()), direct.std, rtol=0.5)
    assert own["values"]["Fc2"] == pytest.approx(4.0, abs=0.05)


def test_the_same_rows_as_a_fit_of_whole_logs(robot: dd.Robot, plant: Path) -> None:
    """With parts as long as a log the rows are those of `identify`, bit for bit."""
    found = identify_fleet(robot, plant / "D3-007", band=40.0)
    logs = sorted((plant / "D3-007").iterdir())
    direct = dd.identify(robot, logs, band=40.0, terms="file", unidentifiable="hold")
    np.testing.assert_allclose(numbers(found, "values")[0], direct.values, rtol=1e-12)
    assert [fit.serial for fit in found.fits] == ["D3-007"]  # by the folder's name


@pytest.mark.parametrize("chunk", [8000, 16000])
def test_chunks_do_not_matter(
    whole: FleetFits, robot: dd.Robot, plant: Path, chunk: int, tmp_path: Path
) -> None:
    found = identify_fleet(robot, plant, chunk=chunk, work=tmp_path, **PARTS)
    for name in ("values", "std"):
        np.testing.assert_allclose(numbers(found, name), numbers(whole, name), rtol=1e-10, atol=0)
    files = list(tmp_path.glob("factors/*/*.npz"))
    assert len(files) == {8000: 8, 16000: 4}[chunk]  # four logs of 12,000 samples


@pytest.mark.full
@pytest.mark.parametrize("rates", [False, True])
def test_chunks_do_not_matter_at_borders(robot: dd.Robot, tmp_path: Path, rates: bool) -> None:
    """A smoother of rates and a filter run over the borders of parts; jitter moves their grids."""
    log = log_of(robot, seed=5, rates=rates)
    if rates:
        log = log.replace(t=log.t + 2e-4 * np.random.default_rng(0).uniform(-1, 1, len(log)))
    (tmp_path / "logs").mkdir()
    log.save(tmp_path / "logs" / "a.parquet")
    options: dict[str, Any] = {"part": 1000, "band": 20.0, "check": False}
    one, two = (
        identify_fleet(robot, tmp_path / "logs", chunk=chunk, **options)
        for chunk in (8_000, 16_000)
    )
    for name in ("values", "std"):
        np.testing.assert_allclose(numbers(one, name), numbers(two, name), rtol=1e-10, atol=0)


def test_the_order_does_not_matter(whole: FleetFits, robot: dd.Robot, plant: Path) -> None:
    logs = list(find_logs(plant).logs)
    np.random.default_rng(1).shuffle(logs)
    found = identify_fleet(robot, logs, **PARTS)
    assert json.dumps(found.as_dict()) == json.dumps(whole.as_dict())


def test_many_blocks_are_few_at_the_same_level_however_they_come(robot: dd.Robot) -> None:
    """Blocks of parts, then parts, then logs of one payload: all in pairs, nothing is lost."""
    parts = [prepare(robot, log_of(robot, seed=k, seconds=4.0), band=None) for k in range(3)]
    one = gather(robot, [(str(k), [part]) for k, part in enumerate(parts)])
    for most in (30, 4, 2):
        together, bitwise = Tally(most), Tally(most)
        for log in range(5):
            together.add(one, log=log)
        for log in range(5):
            for k in range(3):
                bitwise.add(gather(robot, [(str(k), [parts[k]])]), log=log)
        a, b = together.whole(), bitwise.whole()
        assert a.blocks == b.blocks <= most
        assert together.level == bitwise.level
        np.testing.assert_allclose(a.seconds, b.seconds)
        assert a.seconds.sum() == pytest.approx(5 * one.seconds.sum())
        gram = [np.einsum("bamn,bamk->ank", x.factors, x.factors) for x in (a, b)]
        whole = 5 * np.einsum("bamn,bamk->ank", one.factors, one.factors)
        np.testing.assert_allclose(gram[0], whole, rtol=1e-10, atol=1e-10 * np.abs(whole).max())
        np.testing.assert_allclose(gram[0], gram[1], rtol=0, atol=1e-12 * np.abs(whole).max())
        assert a.rows.sum() == 5 * one.rows.sum()


def test_periods(robot: dd.Robot, plant: Path) -> None:
    found = identify_fleet(robot, plant, period="day", **PARTS)
    assert [(fit.serial, fit.period) for fit in found.fits] == [
        (serial, f"2026-05-0{day}") for serial in ("D3-007", "D3-008") for day in (3, 4)
    ]
    assert all(fit.samples == 12000 for fit in found.fits)
    day = date(2026, 5, 3)
    assert [period_of(day, name) for name in ("day", "week", "month", "all")] == [
        "2026-05-03", "2026-W18", "2026-05", "all",
    ]  # fmt: skip
    assert period_of(None, "day") is None


def test_layouts() -> None:
    assert Layout().of("D3/2026-05-03.csv") == ("D3", date(2026, 5, 3))
    assert Layout().of("D3/2026/05/03/log.csv") == ("D3", date(2026, 5, 3))
    assert Layout().of("D3_20260503.csv") == ("D3", date(2026, 5, 3))
    assert Layout().of("20260503.csv", "D3") == ("D3", date(2026, 5, 3))
    assert Layout().of("D3/log-12345678.csv") == ("D3", None)  # no such month
    shop = Layout("hall-*/{date}/{serial}.csv")
    assert shop.of("hall-2/2026-05-03/D3.csv") == ("D3", date(2026, 5, 3))
    assert shop.of("hall-2/D3.csv") is None
    assert found_date("from 2026_05_03 on") == date(2026, 5, 3)
    with pytest.raises(InputError, match=r"pattern is '\*\.csv'; allowed: a path with \{serial\}"):
        Layout("*.csv")


def test_sources(plant: Path, tmp_path: Path) -> None:
    every = [log.name for log in find_logs(plant).logs]
    assert every[0] == "D3-007/2026-05-03.csv"
    assert [log.name for log in find_logs(f"file://{plant}").logs] == every
    globbed = find_logs(f"{plant}/*/2026-05-03.csv").logs
    assert [log.serial for log in globbed] == ["D3-007", "D3-008"]
    assert [log.serial for log in find_logs(f"{plant}/D3-007/*.csv").logs] == ["D3-007"] * 2
    for source, pattern in ((tmp_path / "none", None), (plant, "{serial}.csv"), (tmp_path, None)):
        with pytest.raises(InputError, match="source is"):
            find_logs(source, pattern=pattern)


def test_what_a_log_depends_on(plant: Path, tmp_path: Path) -> None:
    """Another content or another way to read it is another log."""
    path = tmp_path / "a.csv"
    shutil.copy(plant / "D3-007" / "2026-05-03.csv", path)
    logs = [StoredLog("a.csv", "a", None, str(path), options=None)]
    logs.append(StoredLog("a.csv", "a", None, str(path), options=dd.recording.ReadOptions()))
    logs.append(
        StoredLog("a.csv", "a", None, str(path), options=dd.recording.ReadOptions(payload=1.0))
    )
    marks = [log.fingerprint() for log in logs]
    assert marks[0] == marks[1] != marks[2]
    path.write_text(path.read_text().replace("1", "2", 1))
    assert logs[0].fingerprint() != marks[0]


@pytest.mark.full
def test_a_log_that_cannot_be_used_costs_itself(
    whole: FleetFits, robot: dd.Robot, plant: Path, tmp_path: Path
) -> None:
    """A truncated file, one that is first of its robot, and a robot whose only log is broken."""
    folder = tmp_path / "logs"
    shutil.copytree(plant, folder)
    text = (plant / "D3-007" / "2026-05-03.csv").read_bytes()
    (folder / "D3-007" / "2026-05-05.csv").write_bytes(text[: len(text) // 2] + b"\n1,x,\n")
    (folder / "D3-008" / "2026-05-01.csv").write_bytes(b"not a log")
    (folder / "D3-009").mkdir()
    (folder / "D3-009" / "2026-05-01.parquet").write_bytes(b"PAR1 and no more")
    robot.save(tmp_path / "robot.yaml")
    call = ["identify", str(tmp_path / "robot.yaml"), str(folder), "--band", "40", "--json"]
    run = CliRunner().invoke(command, call)
    assert run.exit_code == 0, run.output
    record = json.loads(run.stdout)
    assert [item["log"] for item in record["left_out"]] == [
        "D3-007/2026-05-05.csv",
        "D3-008/2026-05-01.csv",
        "D3-009/2026-05-01.parquet",
    ]
    assert [fit["serial"] for fit in record["fits"]] == ["D3-007", "D3-008"]
    good = identify_fleet(robot, plant, band=40.0)
    assert record["fits"] == json.loads(json.dumps([fit.as_dict() for fit in good.fits]))
    strict = CliRunner().invoke(command, [*call, "--strict"])
    assert strict.exit_code == 2
    assert "was to be left out" in json.loads(strict.stdout)["error"]["message"]


def test_the_command_and_its_files(robot: dd.Robot, plant: Path, tmp_path: Path) -> None:
    robot.save(tmp_path / "robot.yaml")
    call = ["identify", str(tmp_path / "robot.yaml"), str(plant), "--band", "40"]
    run = CliRunner().invoke(command, [*call, "--save", str(tmp_path / "robots")])
    assert run.exit_code == 0, run.output
    assert run.stdout.startswith("2 fits of 2 robots from 48,000 samples.")
    saved = dd.load_robot(tmp_path / "robots" / "D3-008" / "all.yaml")
    assert saved.friction.coulomb[1] == pytest.approx(4.0, abs=0.05)
    wrong = CliRunner().invoke(command, [*call, "--storage", "endpoint"])
    assert "--storage is 'endpoint'; allowed: KEY=VALUE" in wrong.stderr
    undated = CliRunner().invoke(command, [*call, "--pattern", "{serial}/*", "--period", "day"])
    assert undated.exit_code == 2
    assert "its path has no date" in undated.stderr


def test_wrong_calls(robot: dd.Robot, plant: Path) -> None:
    for options, text in (
        ({"method": "two-step"}, "method is 'two-step'; allowed: one that fits"),
        ({"period": "year"}, "period is 'year'"),
        ({"chunk": 10}, "chunk is 10; allowed: a whole number of at least 1000 samples"),
        ({"band": -1.0}, "band is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "work is None; allowed: a folder that all workers"),
        ({"model": "none"}, "model is 'none'"),
    ):
        with pytest.raises(DeltadynError, match=text):
            identify_fleet(robot, plant, **options)
    with running(1, None) as run:
        assert list(run(divmod, [(7, 2)])) == [(0, (3, 1))]
