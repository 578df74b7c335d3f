"""Picks of many logs: those of each log as a whole, by robot and period, kept and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.payload.cases import D3, case

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import InputError
from deltadyn.fleet import payload_fleet
from deltadyn.payload.offline import find_picks, product_mass, stream_picks
from deltadyn.payload.settings import EstimatorOptions


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of one robot, a day of another with the same picks, and a broken log."""
    folder = tmp_path_factory.mktemp("picks")
    for name, seed in (("A/2026-05-03", 0), ("A/2026-05-04", 1), ("B/2026-05-03", 0)):
        (folder / name).parent.mkdir(exist_ok=True)
        case(2, seed=seed).recording.save(folder / f"{name}.parquet")
    (folder / "B" / "2026-05-04.parquet").write_bytes(b"PAR1 and no more")
    return folder


def test_picks_in_pieces_are_those_of_the_whole_log() -> None:
    log = case(2, seed=0).recording
    whole = find_picks(D3, log, estimator="bank")
    pieces = [log.rows(k, min(k + 700, len(log))) for k in range(0, len(log), 700)]
    options = EstimatorOptions(rate=1 / log.sample_time)
    assert stream_picks(D3, pieces, options) == whole.picks
    assert len(whole.picks) == 2
    with pytest.raises(InputError, match="estimator is 'least-squares'; allowed: 'bank'"):
        stream_picks(D3, pieces, EstimatorOptions(estimator="least-squares"))


@pytest.mark.full
def test_picks_by_robot_and_day(logs: Path, tmp_path: Path) -> None:
    D3.save(tmp_path / "robot.yaml")
    call = ["payload", str(tmp_path / "robot.yaml"), str(logs), "--work", str(tmp_path / "work")]
    run = CliRunner().invoke(command, [*call, "--json"])
    assert run.exit_code == 0, run.output
    record = json.loads(run.stdout)
    rows = {(row["serial"], row["period"]): row for row in record["rows"]}
    assert list(rows) == [("A", "2026-05-03"), ("A", "2026-05-04"), ("B", "2026-05-03")]
    whole = find_picks(D3, dd.read_recording(logs / "A" / "2026-05-03.parquet", D3))
    first = rows["A", "2026-05-03"]
    assert [pick["mass"] for pick in first["picks"]] == [pick.mass for pick in whole.picks]
    assert (first["mass"], first["std"]) == whole.product
    assert rows["B", "2026-05-03"]["picks"][0]["log"] == "B/2026-05-03.parquet"
    assert [item["log"] for item in record["left_out"]] == ["B/2026-05-04.parquet"]
    # by week: the picks of both days as one product
    week = payload_fleet(D3, logs, period="week", work=tmp_path / "work")
    assert [(row.serial, row.period, len(row.picks)) for row in week.rows] == [
        ("A", "2026-W18", 2),
        ("A", "2026-W19", 2),
        ("B", "2026-W18", 2),
    ]
    every = payload_fleet(D3, logs, work=tmp_path / "work")
    both = [pick for _, pick in every.rows[0].picks]
    assert (every.rows[0].mass, every.rows[0].std) == product_mass(both, whole.noise)
    text = CliRunner().invoke(command, call)
    assert text.stdout.startswith("6 picks of 2 robots in ")
    assert "Deviations are assumed: no empty log." in text.stdout


@pytest.mark.full
def test_kept_picks_are_found_again(logs: Path, tmp_path: Path) -> None:
    source, work = logs / "B", tmp_path / "work"
    one = payload_fleet(D3, source, work=work)
    (path,) = work.glob("picks/*/*.json")
    path.write_text(path.read_text().replace("mass", "moss", 1))
    two = payload_fleet(D3, source, work=work)
    assert json.dumps(one.as_dict()) == json.dumps(two.as_dict())
    assert "made again" in two.notes[0]
    with pytest.raises(InputError, match="longest is 0"):
        payload_fleet(D3, source, longest=0.0)
