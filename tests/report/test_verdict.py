"""Every branch of the verdict, from evidence alone."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest

from deltadyn.identification.verdict import BAD, CARE, GOOD, RULES, UNKNOWN, Evidence, judge
from deltadyn.report.verdict import first_screen, verdict_section

SOUND = Evidence(
    axes=("1", "2", "3"),
    left=(0.02, 0.05, 0.04),
    rms=(0.2, 0.5, 0.4),
    against_file=0.4,
    converged=True,
    consistent=True,
)


def test_a_sound_model_is_good_and_says_on_what() -> None:
    found = judge(SOUND)
    assert found.grade == GOOD
    assert found.reasons == (
        "On held-out motion the robot's model explains all but 5 % of the torque on its worst "
        "axis, 2 (0.5 N m RMS).",
    )
    assert found.notes == ("It leaves 40 % of what the robot file leaves on that motion.",)
    assert found.as_dict()["rules"] == list(RULES)


@pytest.mark.parametrize(
    ("change", "grade", "reason"),
    [
        ({"converged": False}, BAD, "The fit has not converged."),
        ({"left": (0.02, 0.31, 0.04)}, BAD, "all but 31 % of the torque on its worst axis, 2"),
        ({"left": (0.02, 1.5, 0.04)}, BAD, "worse than a constant torque on axis 2 (R^2 -1.2)"),
        ({"own": (0.02, 0.51, 0.04)}, BAD, "In its own data the fit leaves 51 % on axis 2"),
        (
            {"own": (0.9, 0.1, 0.04), "left": None, "rms": None, "against_file": None},
            BAD,
            "leaves 90 % on axis 1 of the torque: check signs",
        ),
        ({"vanished": {"platform": (2e-9, 0.94)}}, BAD, "platform has vanished (2e-09 kg, 0.94 kg"),
        ({"against_file": 1.6}, BAD, "1.6 times as far off as the robot file itself"),
        ({"left": (0.02, 0.11, 0.04)}, CARE, "all but 11 % of the torque"),
        ({"against_file": 1.2}, CARE, "1.2 times as far off as the robot file itself"),
        ({"consistent": False}, CARE, "No body has the identified parameters"),
        ({"held": ("mu",)}, CARE, "The data cannot tell mu: the robot file's value stayed."),
        ({"held": ("mu", "H")}, CARE, "cannot tell mu, H: the robot file's values stayed."),
        ({"warnings": ("The axes are not alike.",)}, CARE, "The axes are not alike"),
        (
            {"left": (0.02, 0.06, 0.04), "cause": "friction", "cause_sentence": "friction: x."},
            CARE,
            "The residual has a likely cause: friction: x.",
        ),
        ({"left": (0.02, 0.06, 0.04), "missing": True}, CARE, "A term is missing"),
        ({"left": None, "rms": None, "against_file": None}, UNKNOWN, "No held-out recording"),
        ({"left": (float("nan"),) * 3}, UNKNOWN, "does not change"),
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


@pytest.mark.parametrize(
    "change",
    [
        {"left": (0.1, 0.1, 0.1)},  # the borders belong to the better side
        {"against_file": 1.05},
        {"cause": "friction", "cause_sentence": "x", "left": (0.05, 0.05, 0.05)},
        {"weak": ("h_x",)},
        {"not_white": ("1", "3")},
        {"left": (float("nan"), 0.05, 0.04)},  # an axis that does not move is not judged
        {"against_file": None},
        {"own": (0.5, float("nan"), 0.3)},
        {"findings": ("log: 15 gaps.",)},
    ],
)
def test_what_does_not_count_against_a_model(change: dict[str, object]) -> None:
    assert judge(replace(SOUND, **change)).grade == GOOD  # type: ignore[arg-type]


def test_what_does_not_decide_is_told() -> None:
    found = judge(replace(SOUND, weak=("h_x", "mu"), not_white=("1",), against_file=1.0))
    assert found.notes == (
        "The robot file alone is as good on this motion.",
        "The data tell h_x, mu only poorly.",
        "The residual of axis 1 is not white noise: something is left that a model could explain.",
    )


def test_the_worst_reason_decides_and_the_others_are_kept() -> None:
    found = judge(replace(SOUND, converged=False, held=("mu",), left=None, rms=None))
    assert found.grade == BAD
    assert found.reasons == ("The fit has not converged.",)
    assert "The data cannot tell mu: the robot file's value stayed." in found.notes
    careful = judge(replace(SOUND, held=("mu",)))
    assert any("all but 5 % of the torque" in text for text in careful.notes)


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
    assert first.sentence == "The fit has not converged. (2 more reasons under The verdict.)"
    assert all(escape(text) in verdict_section(found).html for text in found.reasons)


@pytest.mark.parametrize(
    ("change", "step"),
    [
        ({}, "Use the model: `deltadyn export`"),
        ({"left": None, "rms": None, "against_file": None}, "Record another motion, and judge"),
        ({"vanished": {"platform": (2e-9, 0.94)}}, "Check signs, units, homing"),
        ({"against_file": 1.6}, "Keep the robot file"),
        ({"converged": False}, "Look at the status of the fit"),
        ({"held": ("mu",)}, "Record a motion that tells what was held"),
        ({"consistent": False}, "Fit by the method convex"),
        ({"left": (0.02, 0.11, 0.04)}, "look at the residual"),
    ],
)
def test_the_next_step_follows_from_the_reason(change: dict[str, object], step: str) -> None:
    found = judge(replace(SOUND, **change))  # type: ignore[arg-type]
    assert any(step in text for text in found.steps), found.steps
    assert found.as_dict()["steps"] == list(found.steps)
