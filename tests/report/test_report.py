"""The report as text: every section, its numbers against the objects, and the JSON beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.cases import Page, four_study, log, robot, whole_study

import deltadyn as dd
from deltadyn.dynamics import MODELS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification import FitOptions
from deltadyn.report import study, study_of, write_report
from deltadyn.report.validation import torque_figure

SECTIONS = [
    "reasons",
    "torque",
    "residual",
    "identified",
    "training",
    "terms",
    "parameters",
    "correlation",
    "consistency",
    "identifiability",
    "ladder",
    "methods",
    "excitation",
    "picks",
    "loads",
    "replay",
    "provenance",
    "rules",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, dict[str, Any], Path]:
    path = write_report(whole_study(), tmp_path_factory.mktemp("report") / "deep" / "mine.html")
    return Page(path.read_text("utf-8")), json.loads(path.with_suffix(".json").read_text()), path


def numbers(texts: list[str]) -> list[float]:
    return [float(text.rstrip(" %")) for text in texts]


def test_every_section_is_there_in_order(written: tuple[Page, dict[str, Any], Path]) -> None:
    page, record, _ = written
    anchors = [f"#{key}" for key in SECTIONS]
    assert page.links == ["#contents", *anchors]  # the table of contents, and no other link
    assert [key for key in page.ids if key in SECTIONS] == SECTIONS
    assert list(record["sections"]) == SECTIONS
    assert page.language == "en"
    assert page.title == "example-delta: report of the convex fit"
    levels = [level for level, _ in page.headings]
    assert levels[:2] == [1, 2]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.headings[1][1].endswith(f"Verdict: {whole_study().verdict.grade}")


def test_the_page_fetches_nothing(written: tuple[Page, dict[str, Any], Path]) -> None:
    page, _, path = written
    assert page.fetched == []
    assert path.read_text("utf-8").count("plotly.js v") == 1  # one copy of its script
    assert path.stat().st_size < 8e6  # plotly alone has 4.8 MB


def test_torques_of_the_table_are_those_of_all_samples(
    written: tuple[Page, dict[str, Any], Path],
) -> None:
    page, record, _ = written
    found = whole_study().validation
    assert found is not None
    squares = np.where(found.moving, (found.measured - found.torque) ** 2, 0.0)
    rms = np.sqrt(squares.sum(axis=0) / found.moving.sum(axis=0))
    table = page.table("torque", "Residual on held-out motion")
    # three digits in the table
    np.testing.assert_allclose(numbers(table.column("RMS identified (N m)")), rms, rtol=5e-3)
    told = record["sections"]["torque"]["identified"]
    np.testing.assert_allclose(told["metrics"]["rms"], rms, rtol=1e-12)
    assert told["samples"] == len(found.t)
    share = numbers(table.column("identified / torque"))
    level = np.where(found.moving, found.measured**2, 0.0).sum(axis=0) / found.moving.sum(axis=0)
    expected = 100 * rms / np.sqrt(level)
    np.testing.assert_allclose(share, expected, rtol=6e-2)  # two digits
    assert record["evidence"]["left"] == pytest.approx((expected / 100).tolist(), rel=1e-12)


def test_parameters_have_the_intervals_of_the_fit(
    written: tuple[Page, dict[str, Any], Path],
) -> None:
    page, record, _ = written
    fit = whole_study().fit
    rows = record["sections"]["parameters"]["parameters"]
    assert [row["name"] for row in rows] == list(fit.names)
    assert [row["value"] for row in rows] == fit.values.tolist()
    low, high = fit.interval().T
    np.testing.assert_allclose([row["low"] for row in rows], low, rtol=1e-9)
    np.testing.assert_allclose([row["high"] for row in rows], high, rtol=1e-9)
    table = page.table("parameters", "Robot file")
    assert table.column("parameter") == list(fit.names)
    before = fit.parametrisation.prior
    np.testing.assert_allclose(numbers(table.column("robot file")), before, rtol=5e-4)
    np.testing.assert_allclose(numbers(table.column("identified")), fit.values, rtol=5e-4)
    change = 100 * (fit.values - before) / np.abs(before)
    np.testing.assert_allclose(numbers(table.column("change")), change, rtol=5e-3, atol=1e-9)
    inside = (low <= before) & (before <= high)
    expected = ["inside" if yes else "outside" for yes in inside]
    assert table.column("robot file is") == expected


def test_correlation_and_strong_pairs(written: tuple[Page, dict[str, Any], Path]) -> None:
    _, record, _ = written
    fit = whole_study().fit
    C = np.array(record["fit"]["covariance"])
    std = np.array([row["std"] for row in record["fit"]["parameters"]])
    told = np.array(record["sections"]["correlation"]["correlation"])
    np.testing.assert_allclose(told, C / np.outer(std, std), atol=1e-12)
    strong = {(row["first"], row["second"]) for row in record["sections"]["correlation"]["strong"]}
    places = np.argwhere(np.triu(np.abs(told) > 0.95, 1))
    assert strong == {(fit.names[i], fit.names[j]) for i, j in places}


def test_every_model_is_on_the_ladder(written: tuple[Page, dict[str, Any], Path]) -> None:
    page, record, _ = written
    done = whole_study()
    rungs = {row["model"]: row for row in record["sections"]["ladder"]["rungs"]}
    assert set(rungs) == {"robot file", *MODELS}
    exact = dd.validate(done.fit.robot, log(2), band=done.fit.band)
    np.testing.assert_allclose(rungs["exact"]["rms"], exact.rms, rtol=1e-9)
    file = dd.validate(robot(), log(2), band=done.fit.band)
    np.testing.assert_allclose(rungs["robot file"]["rms"], file.rms, rtol=1e-9)
    relative = numbers(page.table("ladder", "RMS").column("relative"))
    assert relative == sorted(relative)


def test_methods_are_compared_and_trouble_is_told(
    written: tuple[Page, dict[str, Any], Path],
) -> None:
    page, record, _ = written
    methods = {row["method"]: row for row in record["sections"]["methods"]["methods"]}
    assert list(methods) == ["convex", "base", "l1", "two-step"]
    for name in ("convex", "base", "l1"):
        fit = next(m.fit for m in whole_study().methods if m.name == name)
        assert fit is not None
        own = dd.validate(fit, log(2), band=whole_study().fit.band)
        np.testing.assert_allclose(methods[name]["held_out_rms_Nm"], own.rms, rtol=1e-9)
        assert methods[name]["seconds"] > 0
    assert methods["two-step"]["held_out_rms_Nm"] is None
    assert methods["two-step"]["status"] in page.text
    # least squares without constraints has the least of them
    assert methods["base"]["objective"] <= methods["convex"]["objective"] * (1 + 1e-6)
    assert methods["base"]["objective"] <= methods["l1"]["objective"]


def test_excitation_picks_and_loads(written: tuple[Page, dict[str, Any], Path]) -> None:
    page, record, _ = written
    done = whole_study()
    assert done.excitation is not None
    assert done.picks is not None
    assert done.loads is not None
    told = {row["name"]: row for row in record["sections"]["excitation"]["deviations"]}
    achieved = dict(zip(done.fit.names, done.fit.std, strict=True))
    for item in done.excitation.parameters:
        assert told[item.name]["predicted"] == item.std
        assert told[item.name]["achieved"] == achieved[item.name]
    picks = record["sections"]["picks"]["picks"]
    assert len(picks) == len(done.picks.picks) == 3
    masses = numbers(page.table("picks", "Picks").column("mass (kg)"))
    np.testing.assert_allclose(masses, [pick.mass for pick in done.picks.picks], atol=5e-4)
    loads = record["sections"]["loads"]
    peak = np.abs(done.loads.torque).max(axis=0)
    np.testing.assert_allclose(loads["drives"]["torque_peak_Nm"], peak, rtol=1e-12)
    limits = page.table("loads", "Limits")
    assert limits.column("status") == [limit.status for limit in done.loads.limits.limits]


def test_provenance_has_checksums_options_and_versions(
    written: tuple[Page, dict[str, Any], Path],
) -> None:
    page, record, _ = written
    told = record["sections"]["provenance"]
    for recording, entry in ((log(1), told["data"][0]), (log(2), told["held_out"][0])):
        parts = (recording.t, recording.q, recording.tau)
        digest = sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in parts)).hexdigest()
        assert entry["sha256"] == digest
        assert digest[:16] in page.text
    assert told["seed"] == 7
    assert told["options"]["method"] == "convex"
    assert told["versions"]["numpy"] == np.__version__
    assert told["missing"] == []


def test_large_logs_are_thinned_in_the_picture_only() -> None:
    found = whole_study().validation
    assert found is not None
    count = 40_000
    t = np.arange(count) / 1000
    measured = np.tile(np.sin(t)[:, None], (1, 3))
    measured[12_345, 1], measured[23_456, 2] = 9.0, -8.0  # single samples
    large = replace(found, t=t, measured=measured, torque=0.5 * measured, starts=(0,))
    figure = torque_figure(large, None, points=400)
    curves = [trace for trace in figure.data if trace.name == "measured"]
    assert [len(curve.y) <= 400 for curve in curves] == [True, True, True]
    assert max(curves[1].y) == 9.0
    assert min(curves[2].y) == -8.0
    residuals = [trace for trace in figure.data if trace.name == "residual, identified"]
    assert max(residuals[1].y) == 4.5


def test_all_axes_zoom_together() -> None:
    done = whole_study()
    assert done.validation is not None
    figure = torque_figure(done.validation, done.file_validation)
    names = [key for key in figure.layout.to_plotly_json() if key.startswith("xaxis")]
    assert len(names) == 6
    tied = {figure.layout[name].matches for name in names}
    assert len(tied - {None}) == 1  # all but one follow that one


@cache
def alone() -> Any:
    return study(robot(), log(1), methods=["convex"])


@pytest.mark.full
def test_without_held_out_data_the_verdict_cannot_tell(tmp_path: Path) -> None:
    done = alone()
    assert done.verdict.grade == "cannot tell"
    path = write_report(done, tmp_path / "alone")
    assert path.name == "alone.html"
    page = Page(path.read_text("utf-8"))
    assert "#torque" not in page.links
    assert "#ladder" not in page.links
    assert "#loads" in page.links  # of the motion of the log
    assert "no held-out recording was given" in page.text
    assert "Payload picks: no payload log was given." in page.text
    record = json.loads((tmp_path / "alone.json").read_text())
    assert record["evidence"]["left"] is None


@pytest.mark.full
def test_a_four_axis_report(tmp_path: Path) -> None:
    done = four_study()
    page = Page(write_report(done, tmp_path / "four.html").read_text("utf-8"))
    assert page.table("torque", "Residual").column("axis") == ["1", "2", "3", "psi"]
    assert "Predicted deviations: the design of the excitation was not given." in page.text


@pytest.mark.full
def test_fits_that_are_there_already(tmp_path: Path) -> None:
    done = whole_study()
    again = study_of(robot(), {"convex": done.fit}, held_out=log(2), seed=7)
    assert again.verdict == done.verdict
    assert again.path is None
    page = Page(again.report(tmp_path / "again.html").read_text("utf-8"))
    assert "Comparison of methods: one method was run." in page.text


@pytest.mark.full
def test_the_page_of_a_fit_is_the_report_of_a_study_that_has_only_the_fit(tmp_path: Path) -> None:
    fit = whole_study().fit
    path = fit.report(tmp_path / "fit.html")
    page = Page(path.read_text("utf-8"))
    keys = [
        "reasons",
        "identified",
        "training",
        "terms",
        "parameters",
        "correlation",
        "consistency",
        "identifiability",
        "excitation",
        "provenance",
        "rules",
    ]
    assert page.links == ["#contents", *(f"#{key}" for key in keys)]
    assert page.fetched == []
    assert page.headings[1][1].endswith("Verdict: cannot tell")
    assert "No held-out recording was given" in page.text
    assert "Record another motion, and judge the fit on it" in page.text
    assert page.table("parameters", "Robot file").column("parameter") == list(fit.names)
    assert [item.name for item in tmp_path.iterdir()] == ["fit.html"]  # no numbers beside it
    whole = study_of(fit.before, {"convex": fit}, seed=7)
    again = Page(whole.report(tmp_path / "study").read_text("utf-8"))
    assert (page.title, page.headings) == (again.title, again.headings)
    assert [table.rows for table in page.tables] == [table.rows for table in again.tables]
    assert (tmp_path / "study.json").is_file()


def test_a_fit_that_has_not_converged_is_not_to_be_trusted(tmp_path: Path) -> None:
    fit = replace(whole_study().fit, converged=False)
    page = Page(fit.report(tmp_path / "fit.html").read_text("utf-8"))
    assert page.headings[1][1].endswith("Verdict: not to be trusted")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ()}, "methods is []; allowed: at least one"),
        ({"methods": ("convex", "convex")}, "methods is 'convex'; allowed: each one once"),
        ({"empty": "log.csv"}, "empty is 'given'; allowed: left out without a payload_log"),
    ],
)
def test_wrong_calls_are_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"methods": ["convex"], **arguments}
    with pytest.raises(InputError) as caught:
        study(robot(), log(1), **given)
    assert message in str(caught.value)


@pytest.mark.full
def test_options_of_a_study_are_an_object_or_its_fields() -> None:
    options = FitOptions(unidentifiable="hold", seed=3)
    assert study(robot(), log(1), options, methods=["base"]).seed == 3
    assert study(robot(), log(1), options, methods=["base"], seed=4).seed == 4
    with pytest.raises(InputError, match=r"options is 'dict'; allowed: FitOptions"):
        study(robot(), log(1), {"seed": 1}, methods=["base"])  # type: ignore[arg-type]


def test_unknown_methods_and_shared_data_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="method is 'best'"):
        study(robot(), log(1), methods=["best"])
    with pytest.raises(InputError, match="trained on these very samples"):
        study(robot(), log(1), held_out=log(1), methods=["convex"])
    with pytest.raises(InputError, match="one that 'convex' was not fitted to"):
        study_of(robot(), {"convex": whole_study().fit}, held_out=log(1))
    with pytest.raises(InputError, match="at least one fit by name"):
        study_of(robot(), {})
