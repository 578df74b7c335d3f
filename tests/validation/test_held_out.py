"""Held-out rows are prepared as `identify` prepares its own, on machines of another program."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from tests.machines import Machine, compiler, make_machine

import deltadyn as dd
from deltadyn.identification import Fit
from deltadyn.identification.verdict import BAD, GOOD
from deltadyn.recording import Recording
from deltadyn.report.study import Study, judged_on, study_of
from deltadyn.report.write import report_record, report_sections
from deltadyn.validation import validate

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
ROBOT = dd.load_robot("sipro-d3-1200")
LONG = pytest.mark.full  # a machine more takes seconds


@cache
def fitted(cause: str, seed: int = 1) -> tuple[Machine, Fit]:
    machine = make_machine(ROBOT, cause, 1.0, seed)
    return machine, dd.identify(ROBOT, machine.record(motions=2, seconds=4.0))


@cache
def picks(cause: str, dwell: float = 0.1) -> Recording:
    return fitted(cause)[0].record_picks(seconds=4.0 if dwell < 1 else 8.0, dwell=dwell)


@pytest.mark.full
@pytest.mark.parametrize("cause", ["delay", pytest.param("ecc", marks=LONG), "kt"])
def test_what_a_fit_takes_out_of_its_log_is_taken_out_of_every_log(cause: str) -> None:
    """What the encoders, the drives and the log add is known: it is no cause of a residual."""
    _, fit = fitted(cause)
    assert fit.terms is not None
    assert fit.terms.found
    found = validate(fit, picks(cause))
    assert np.max(found.shares) < 0.005
    assert not found.diagnosis.causes
    assert found.band == fit.band
    # a prediction along the log is that of the validation
    (piece,) = found.compared[1]
    np.testing.assert_allclose(piece.raw, fit.torque(picks(cause)), rtol=0, atol=1e-9)
    assert found.inside_band is not None
    assert found.inside_band.min() > 0.85


@pytest.mark.full
@pytest.mark.parametrize("cause", ["none", pytest.param("friction", marks=LONG)])
def test_dwells_do_not_count_against_a_model(cause: str) -> None:
    """The picks rest for two seconds each: friction holds, and no model can know how much."""
    _, fit = fitted(cause)
    done = judged_on(fit, [picks(cause, 2.0)])
    evidence, validation = done.evidence, done.validation
    assert validation is not None
    assert evidence.left is not None
    assert max(evidence.left) < 0.01
    assert evidence.rest_share > 0.8
    assert validation.rest_rms.max() > 5 * validation.rms.max()
    torque = done.verdict.answer("torque")
    assert torque is not None
    assert torque.grade == GOOD, torque.text
    assert done.verdict.grade != BAD
    assert done.evidence.causes == ()
    assert any("not graded" in text for text in done.verdict.notes)


@LONG
def test_the_alarm_of_a_fit_counts_below_five_percent() -> None:
    machine, fit = fitted("hysteresis")
    assert fit.terms is not None
    assert fit.terms.missing
    done = judged_on(fit, [picks("hysteresis")])
    assert done.evidence.left is not None
    assert max(done.evidence.left) < 0.05
    assert done.verdict.grade not in (GOOD, BAD)
    missing, parameters = done.verdict.answer("missing"), done.verdict.answer("parameters")
    assert missing is not None
    assert "A term is missing" in missing.sentence
    assert parameters is not None
    assert parameters.grade != GOOD
    assert fit.verdict.answer("missing") == fit.verdict.answers[-1]
    assert fit.verdict.answers[-1].grade != GOOD  # also where nothing was held out
    assert machine.cause == "hysteresis"


@pytest.mark.full
@pytest.mark.parametrize(
    ("cause", "dwell"),
    [
        ("none", 2.0),
        pytest.param("delay", 0.1, marks=LONG),
        pytest.param("friction", 2.0, marks=LONG),
        pytest.param("hysteresis", 0.1, marks=LONG),
    ],
)
def test_no_page_contradicts_itself(cause: str, dwell: float) -> None:
    """What stands on top agrees with what is listed below it."""
    _, fit = fitted(cause)
    done = study_of(ROBOT, {"convex": fit}, held_out=picks(cause, dwell))
    assert_consistent(done)
    assert done.verdict == judged_on(fit, [picks(cause, dwell)]).verdict


def assert_consistent(done: Study) -> None:
    """A page's grade, its answers, its causes and its alarms say the same."""
    sections = report_sections(done)
    record = report_record(done, sections)
    page = "".join(section.html for section in sections)
    named = re.search(r"What is wrong, with its probability|A term is missing", page)
    assert (record["verdict"]["grade"] == GOOD) <= (named is None)
    diagnosis = record["sections"]["residual"]["diagnosis"]
    worst = {item["about"]: item["grade"] for item in record["verdict"]["answers"]}
    assert (worst["missing"] == GOOD) == (
        not diagnosis["causes"] and not diagnosis["missing"] and not record["evidence"]["alarm"]
    )
    # the error on top is that of the tables below
    shown = record["sections"]["torque"]["identified"]["metrics"]["rms"]
    assert list(record["evidence"]["rms"]) == shown
    # one measure of doubt: no count of well-known parameters beside wide intervals
    assert "known to better than" not in page
    assert "known to better than" not in str(record)
