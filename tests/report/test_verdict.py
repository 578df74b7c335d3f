"""Every branch of the verdict, from evidence alone."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest

from deltadyn.identification.verdict import (
    BAD,
    CARE,
    GOOD,
    RULES,
    UNKNOWN,
    Evidence,
    Width,
    judge,
)
from deltadyn.report.verdict import first_screen, verdict_section

NAN = float("nan")
SOUND = Evidence(
    axes=("1", "2", "3"),
    left=(0.02, 0.05, 0.04),
    rms=(0.2, 0.5, 0.4),
    against_file=0.4,
    converged=True,
    consistent=True,
    r_squared=(0.99, 0.99, 0.99),
    inside=(0.95, 0.93, 0.94),
    widths=(
        Width("A", 1.0, 0.98, 1.02, "kg m^2", 0.02),
        Width("Fc1", 2.0, 1.8, 2.2, "N m", 0.1),
    ),
)
WIDE = (*SOUND.widths, Width("G", 0.98, 0.60, 1.36, "kg m", 0.39))  # type: ignore[misc]
ALONE = {"left": None, "rms": None, "against_file": None, "r_squared": None, "inside": None}


def test_a_sound_model_is_good_and_gives_three_answers() -> None:
    found = judge(SOUND)
    assert found.grade == GOOD
    assert found.reasons == (
        "On held-out motion the robot's model explains all but 5 % of the torque of its worst "
        "axis, 2, while it moves (0.5 N m RMS); its 95 % band holds 93 %.",
    )
    assert [item.about for item in found.answers] == ["torque", "parameters", "missing"]
    assert {item.grade for item in found.answers} == {GOOD}
    assert "the widest is Fc1 1.8 to 2.2 N m" in found.answers[1].sentence
    assert "It leaves 40 % of what the robot file leaves on that motion." in found.notes
    assert found.as_dict()["rules"] == list(RULES)
    assert [item["grade"] for item in found.as_dict()["answers"]] == [GOOD] * 3


@pytest.mark.parametrize(
    ("change", "grade", "reason"),
    [
        ({"left": (0.02, 0.31, 0.04)}, BAD, "all but 31 % of the torque of its worst axis, 2"),
        (
            {"left": (0.02, 0.15, 0.04), "r_squared": (0.9, -1.2, 0.9)},
            BAD,
            "worse than a constant torque on axis 2 (R^2 -1.2)",
        ),
        ({"own": (0.02, 0.51, 0.04)}, BAD, "In its own data the fit leaves 51 % on axis 2"),
        ({"own": (0.9, 0.1, 0.04), **ALONE}, BAD, "leaves 90 % on axis 1 of the torque: check"),
        ({"against_file": 1.6}, BAD, "1.6 times as far off as the robot file itself"),
        ({"converged": False}, BAD, "The fit has not converged."),
        ({"vanished": {"platform": (2e-9, 0.94)}}, BAD, "platform has vanished (2e-09 kg, 0.94 kg"),
        ({"left": (0.02, 0.11, 0.04)}, CARE, "all but 11 % of the torque"),
        ({"against_file": 1.2}, CARE, "1.2 times as far off as the robot file itself"),
        ({"inside": (0.95, 0.7, 0.95)}, CARE, "holds only 70 % on axis 2 of the held-out rows"),
        ({"consistent": False}, CARE, "No body has the identified parameters"),
        ({"held": ("mu",)}, CARE, "The data cannot tell mu: the robot file's value stayed."),
        ({"held": ("mu", "H")}, CARE, "cannot tell mu, H: the robot file's values stayed."),
        ({"warnings": ("The axes are not alike.",)}, CARE, "The axes are not alike"),
        ({"widths": WIDE}, CARE, "Intervals are wide: G 0.6 to 1.36 kg m."),
        ({"alarm": "time"}, CARE, "A term is missing: the fit's own residual follows time."),
        ({"residual_alarm": "time"}, CARE, "A term is missing: the held-out residual follows time"),
        ({"causes": (("ripple64", "ripple64: x."),)}, CARE, "has a likely cause: ripple64"),
        (ALONE, UNKNOWN, "No held-out recording"),
        ({"left": (NAN,) * 3}, UNKNOWN, "No axis moves in the held-out recording."),
    ],
)
def test_the_rules_decide(change: dict[str, object], grade: str, reason: str) -> None:
    found = judge(replace(SOUND, **change))  # type: ignore[arg-type]
    assert found.grade == grade
    assert any(reason in text for text in found.reasons), found.reasons
    assert found.steps
    assert f"Verdict: {found.grade}" in first_screen(found, [], "").html
    assert escape(found.reasons[0]) in verdict_section(found).html
    assert found.text.startswith(f"{grade}: ")


@pytest.mark.parametrize("error", [0.0005, 0.02, 0.09])
@pytest.mark.parametrize(
    "change", [{"alarm": "time"}, {"residual_alarm": "time"}, {"widths": WIDE}]
)
def test_an_alarm_and_a_wide_interval_count_at_every_error(
    error: float, change: dict[str, object]
) -> None:
    assert judge(replace(SOUND, left=(error,) * 3, **change)).grade == CARE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"converged": False},
        {"vanished": {"platform": (2e-9, 0.94)}},
        {"against_file": 9.0},
        {"own": (0.9, 0.9, 0.9)},
        {"r_squared": (-3.0, -3.0, -3.0)},
        {"rest_rms": (9.0, 9.0, 9.0), "rest_share": 0.9},
    ],
)
def test_a_model_that_predicts_within_two_percent_is_never_refused(
    change: dict[str, object],
) -> None:
    found = judge(replace(SOUND, left=(0.002, 0.0199, 0.004), **change))  # type: ignore[arg-type]
    assert found.grade in (GOOD, CARE)
    assert "Do not use this model." not in found.steps


@pytest.mark.parametrize(
    "change",
    [
        {"left": (0.1, 0.1, 0.1)},  # the borders belong to the better side
        {"against_file": 1.05},
        {"not_white": ("1", "3")},
        {"left": (NAN, 0.05, 0.04)},  # an axis that does not move is not judged
        {"inside": (NAN, 0.8, 0.9)},
        {"against_file": None},
        {"own": (0.5, NAN, 0.3)},
        {"findings": ("log: 15 gaps.",)},
        {"widths": None, "inside": None},  # a robot file beside a log has no intervals
        {"rest_rms": (9.0, 9.0, 9.0), "rest_share": 0.9},
    ],
)
def test_what_does_not_count_against_a_model(change: dict[str, object]) -> None:
    assert judge(replace(SOUND, **change)).grade == GOOD  # type: ignore[arg-type]


def test_rows_at_rest_have_a_line_of_their_own() -> None:
    found = judge(replace(SOUND, rest_rms=(3.0, NAN, 2.0), rest_share=0.25))
    (line,) = [text for text in found.notes if "rest" in text]
    assert line.startswith("At rest or turning back, 25 % of the rows, up to 3 N m RMS are left")
    assert "not graded" in line


def test_the_worst_answer_decides_and_the_others_are_kept() -> None:
    found = judge(replace(SOUND, converged=False, held=("mu",), **ALONE))  # type: ignore[arg-type]
    assert found.grade == BAD
    assert found.reasons == ("The fit has not converged.",)
    careful = judge(replace(SOUND, held=("mu",)))
    assert any("all but 5 % of the torque" in text for text in careful.notes)
    torque = careful.answer("torque")
    assert torque is not None
    assert torque.grade == GOOD


def test_the_box_says_the_grade_in_words_and_escapes() -> None:
    found = judge(replace(SOUND, warnings=("a <b> & c",)))
    first = first_screen(found, [("4.5 %", "is left & <more>")], "<figure></figure>")
    assert '<div class="verdict care"' in first.html
    assert "Verdict: usable with care" in first.html
    assert "<p>a &lt;b&gt; &amp; c</p>" in first.html
    assert "<dt>is left &amp; &lt;more&gt;</dt><dd>4.5 %</dd>" in first.html
    assert "<li>Answer the warnings first.</li>" in first.html
    assert "a &lt;b&gt; &amp; c" in verdict_section(found).html


def test_the_first_screen_has_one_sentence_and_names_the_others() -> None:
    found = judge(replace(SOUND, converged=False, own=(0.9, 0.1, 0.1), against_file=2.0))
    assert len(found.reasons) == 3
    first = first_screen(found, [], "")
    assert first.sentence.endswith("(2 more reasons under The verdict.)")
    assert all(escape(text) in verdict_section(found).html for text in found.reasons)


@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({}, "Use the model: `deltadyn export`"),
        (ALONE, "Record another motion, and judge"),
        ({"vanished": {"platform": (2e-9, 0.94)}}, "Check signs, units, homing"),
        ({"against_file": 1.6}, "Keep the robot file"),
        ({"converged": False}, "Look at the status of the fit"),
        ({"held": ("mu",)}, "Record a motion that tells what was held"),
        ({"widths": WIDE}, "Record a motion that tells what was held or is wide"),
        ({"consistent": False}, "Fit by the method convex"),
        ({"left": (0.02, 0.11, 0.04)}, "look at the residual"),
        ({"alarm": "time"}, "look at the residual"),
    ],
)
def test_the_next_step_follows_from_the_reason(change: dict[str, object], step: str) -> None:
    found = judge(replace(SOUND, **change))  # type: ignore[arg-type]
    assert any(step in text for text in found.steps), found.steps
    assert found.as_dict()["steps"] == list(found.steps)
