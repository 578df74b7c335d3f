"""Fleets: robots that are alike, one that is not, and what the page and the command say."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import InputError
from deltadyn.fleet import Fleet, LogFile, Spread, fleet
from deltadyn.fleet.compare import _outliers
from deltadyn.recording import Recording
from deltadyn.report.plots import power_ticks, squeezed
from deltadyn.robot.bodies import Platform

ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=1.0, coulomb=3.0)
NAMES = ("cell-1", "cell-2", "cell-3", "cell-4")
NOISE = 0.3  # N m


def logs(worn: float) -> dict[str, list[Recording]]:
    """Logs of four robots; the third has `worn` times the Coulomb friction on axis 2."""
    found = {}
    for number, name in enumerate(NAMES):
        own = ROBOT
        if name == "cell-3":
            own = ROBOT.with_friction(coulomb=(3.0, 3.0 * worn, 3.0))
        found[name] = [recording_of(own, NOISE, seed=number, name=name)]
    return found


@pytest.fixture(scope="module")
def alike() -> Fleet:
    return fleet(ROBOT, logs(1.0))


@pytest.fixture(scope="module")
def worn() -> Fleet:
    return fleet(ROBOT, logs(1.5))


@pytest.mark.full
def test_robots_that_are_alike_do_not_stand_out(alike: Fleet) -> None:
    assert alike.outliers == ()
    assert alike.status == "4 robots: none stands out."
    # noise alone: the scatter between robots is below three deviations of one robot's value
    for item in alike.spreads:
        assert item.between < 3 * item.std.max()


@pytest.mark.full
def test_the_worn_robot_stands_out_in_what_is_worn(worn: Fleet) -> None:
    first = worn.outliers[0]
    assert (first.member, first.parameter) == ("cell-3", "Fc2")
    assert first.change == pytest.approx(0.5, abs=0.05)
    assert {item.member for item in worn.outliers} == {"cell-3"}
    assert "cell-3: Fc2 is 4.5" in str(first)
    assert worn.status == "4 robots: cell-3 stands out."
    assert worn.spreads[[item.name for item in worn.spreads].index("Fc2")].p_value < 1e-6


def test_the_common_fit_is_that_of_all_logs_together() -> None:
    alike = fleet(ROBOT, logs(1.0), terms="file")
    together = [item for items in logs(1.0).values() for item in items]
    options = {"band": alike.band, "unidentifiable": "hold", "terms": "file"}
    direct = dd.identify(ROBOT, together, **options)  # type: ignore[arg-type]
    # the same rows in the same blocks; sums in another order
    np.testing.assert_allclose(alike.common.values, direct.values, rtol=1e-7, atol=1e-9)
    assert len(alike.common.data) == 4
    assert alike.common.uncertainty.std.mean() < min(
        fit.uncertainty.std.mean() for fit in alike.members.values()
    )


@pytest.mark.full
def test_terms_of_one_robot_are_fitted_in_all() -> None:
    """An offset of one drive: the others get it too, about 0."""
    found = logs(1.0)
    (odd,) = found["cell-2"]
    found["cell-2"] = [odd.replace(tau=odd.tau + np.array([0.6, 0.0, 0.0]))]
    result = fleet(ROBOT, found)
    for fit in (*result.members.values(), result.common):
        assert fit.terms is not None
        assert "offset" in fit.terms.titles
        assert fit.band == result.band
    for name, fit in result.members.items():
        low, high = fit.interval()[fit.names.index("F01")]
        assert low < (0.6 if name == "cell-2" else 0.0) < high
    assert {item.member for item in result.outliers} <= {"cell-2"}
    # deviations are those of the intervals over the models that remain
    item = next(own for own in result.spreads if own.name == "Fc1")
    low, high = np.array(
        [fit.interval()[fit.names.index("Fc1")] for fit in result.members.values()]
    ).T
    np.testing.assert_allclose(item.std, (high - low) / 2 / 1.959964, rtol=1e-6)
    assert all(item.std >= [fit.std[fit.names.index("Fc1")] for fit in result.members.values()])


@pytest.mark.full
def test_a_heavier_robot_is_no_forgotten_payload() -> None:
    found = logs(1.0)
    heavy = ROBOT.replace(platform=Platform(ROBOT.platform.mass + 0.8))
    found["cell-2"] = [recording_of(heavy, NOISE, seed=1, name="cell-2")]
    odd = fleet(ROBOT, found).outliers[0]
    assert (odd.member, odd.parameter) == ("cell-2", "M_P")
    assert odd.value - odd.others == pytest.approx(0.8, abs=0.05)  # five deviations


def test_spreads_against_the_textbook() -> None:
    """Equal deviations: tau^2 is the variance of the values less the noise's."""
    x, s = np.array([1.0, 2.0, 4.0, 9.0]), np.full(4, 0.5)
    found = Spread.of("a", "N m", x, s)
    assert found.mean == pytest.approx(x.mean())
    assert found.between**2 == pytest.approx(x.var(ddof=1) - 0.25)
    assert found.mean_std**2 == pytest.approx(x.var(ddof=1) / 4)
    others = np.array([1.0, 2.0, 4.0])
    scale = math.sqrt(0.25 + (others.var(ddof=1) - 0.25) + others.var(ddof=1) / 3)
    assert found.z[3] == pytest.approx((9 - others.mean()) / scale)
    unknown = Spread.of("a", "N m", np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.1, np.inf]))
    assert np.isnan(unknown.z).all()  # one other robot tells nothing of how robots scatter


def test_a_parameter_of_one_robot_alone_has_no_outlier() -> None:
    """A term that one robot's fit has: nothing is compared, and no warning of NumPy is heard."""
    alone = Spread.of(
        "Fs3", "N m", np.array([0.26, np.nan, np.nan]), np.array([0.1, np.inf, np.inf])
    )
    common = Spread.of("Fc1", "N m", np.array([1.0, 1.01, 3.0]), np.full(3, 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _outliers(["a", "b", "c"], (alone, common))
    assert {item.parameter for item in found} <= {"Fc1"}


def test_an_outlier_does_not_hide_the_others() -> None:
    """A difference of 1 % beside one of 13 % has a tenth of the figure's height or more."""
    places = squeezed(np.array([1.0, 13.0]))
    assert places[0] > 0.2 * places[1]
    assert squeezed(np.array([-5.0, 0.0, 5.0])).tolist() == pytest.approx(
        [-np.log10(6), 0.0, np.log10(6)]
    )
    ticks = power_ticks(float(places[1]))
    assert ticks["ticktext"][len(ticks["ticktext"]) // 2 :] == ["0", "1", "10", "100"]
    assert ticks["tickvals"] == squeezed(np.array([float(t) for t in ticks["ticktext"]])).tolist()


def test_the_first_screen_says_who_and_what(worn: Fleet, alike: Fleet, tmp_path: Path) -> None:
    page = worn.page(tmp_path / "worn.html").read_text("utf-8")
    assert "Inspect cell-3: Fc2 is the Coulomb friction of the drive, axis 2." in page
    assert "is the largest difference: Fc2 of cell-3" in page
    page = alike.page(tmp_path / "alike.html").read_text("utf-8")
    assert '<div class="verdict good"' in page
    assert "no more than noise and usual scatter" in page


def test_page_table_and_files(worn: Fleet, tmp_path: Path) -> None:
    page = worn.page(tmp_path / "fleet.html").read_text()
    assert "cell-3 stands out" in page
    assert "plotly" in page.lower()
    row = next(line for line in worn.table.splitlines() if line.startswith("Fc2"))
    assert row.count("!") == 1
    names = {path.name for path in worn.save(tmp_path / "robots")}
    assert {"cell-3.yaml", "cell-3.json", "fleet.yaml", "fleet.json"} <= names
    assert dd.load_robot(tmp_path / "robots" / "cell-3.yaml").friction.coulomb[1] == pytest.approx(
        4.5, abs=0.2
    )
    json.dumps(worn.as_dict(), allow_nan=False)


def write_logs(folder: Path, worn: float) -> None:
    for name, items in logs(worn).items():
        (folder / name).mkdir(parents=True)
        dd.write_recording(items[0], folder / name / "log.csv")


@pytest.mark.full
def test_the_command_in_two_processes(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1.5)
    ROBOT.save(tmp_path / "robot.yaml")
    arguments = [str(tmp_path / "robot.yaml"), str(tmp_path / "logs"), "--workers", "2"]
    result = CliRunner().invoke(command, [*arguments, "--out", str(tmp_path / "f.html"), "--json"])
    assert result.exit_code == 1, result.output  # a robot stands out
    record = json.loads(result.stdout)
    assert record["outliers"][0]["member"] == "cell-3"
    assert Path(record["page"]).exists()
    assert record["members"]["cell-1"]["provenance"]["data"][0]["samples"] == 4000


def test_workers_may_be_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """joblib keeps its processes: they stay in the folder in which they began."""
    for number, place in enumerate((tmp_path / "first", tmp_path / "second")):
        write_logs(place / "logs", 1.0)
        monkeypatch.chdir(place)
        names = {name: [f"logs/{name}/log.csv"] for name in NAMES[: 2 + number]}
        if number == 0:
            expected = fleet(ROBOT, names, workers=2, terms="file").common.data[0].sha256
    (tmp_path / "first" / "logs" / NAMES[2] / "log.csv").unlink()
    assert fleet(ROBOT, names, workers=2, terms="file").common.data[0].sha256 == expected


def test_two_robots_are_too_few_to_judge() -> None:
    two = {name: items for name, items in logs(1.5).items() if name in ("cell-1", "cell-3")}
    found = fleet(ROBOT, two)
    assert found.outliers == ()
    assert found.status == "2 robots: too few to say which one is odd; it takes 3."


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="robots of the fleet is 1; allowed: at least 2"):
        fleet(ROBOT, {"a": [recording_of(ROBOT)]})
    with pytest.raises(InputError, match="method is 'two-step'; allowed: one that fits"):
        fleet(ROBOT, logs(1.0), "two-step")
    with pytest.raises(InputError, match="workers is 0; allowed: a whole number"):
        fleet(ROBOT, logs(1.0), workers=0)
    with pytest.raises(InputError, match="name of a robot is 'fleet'"):
        fleet(ROBOT, {"fleet": [], "b": []})
    missing = LogFile(str(tmp_path / "none.csv"))
    with pytest.raises(InputError, match=r"none\.csv: file does not exist"):
        fleet(ROBOT, {"a": [missing], "b": [missing]})
    run = CliRunner().invoke(command, ["sipro-d3-1200", str(tmp_path / "none")])
    assert run.exit_code == 2
    assert "a folder with a log or a folder for every robot" in run.stderr
    (tmp_path / "logs" / "empty").mkdir(parents=True)
    run = CliRunner().invoke(command, ["sipro-d3-1200", str(tmp_path / "logs")])
    assert "logs at " in run.stderr
    assert "is 0; allowed: at least 1" in run.stderr


@pytest.mark.full
def test_a_damaged_log_costs_itself_and_is_named(tmp_path: Path) -> None:
    """A truncated file, alone and beside a good log of the same robot."""
    folder, page, robot = (tmp_path / name for name in ("fleet", "fleet.html", "robot.yaml"))
    for name, (log,) in logs(1.0).items():
        (folder / name).mkdir(parents=True)
        log.save(folder / name / "first.parquet")
    whole = (folder / "cell-2" / "first.parquet").read_bytes()
    (folder / "cell-2" / "second.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "cell-4" / "first.parquet").write_bytes(whole[:1000])
    ROBOT.save(robot)
    call = [str(robot), str(folder), "--terms", "file", "--out", str(page), "--json"]
    run = CliRunner().invoke(command, call)
    assert run.exit_code == 0, run.output
    record = json.loads(run.stdout)
    assert set(record["members"]) == {"cell-1", "cell-2", "cell-3"}
    assert [item["member"] for item in record["damaged"]] == ["cell-2", "cell-4"]
    assert record["damaged"][0]["log"].endswith("second.parquet")
    assert "Record again: cell-4" in page.read_text("utf-8")
    strict = CliRunner().invoke(command, [*call, "--strict"])
    assert strict.exit_code == 2
    assert json.loads(strict.stdout)["error"]["kind"] == "RecordingFileError"
