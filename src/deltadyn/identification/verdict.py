"""The verdict on an identified model: what its torque is worth, its parameters, and what it lacks.

Three answers with a grade each, and one grade of all by stated rules. This is the one place that
judges: a fit's text and record, the command line, pages and the studio show what it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from deltadyn.dynamics.rigid import LIMBS
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.terms.structure import LEAST
from deltadyn.units import percent

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

GOOD, CARE, BAD, UNKNOWN = "good", "usable with care", "not to be trusted", "cannot tell"
ORDER = (GOOD, CARE, UNKNOWN, BAD)  # the worst last

TINY_ERROR = 0.02  # of the worst axis: at most this where four axes together leave 1 % (RMS)
SMALL_ERROR = 0.10  # the same: what a good model leaves
LARGE_ERROR = 0.30  # the same: beyond it the model is not to be trusted
WORSE_THAN_FILE = 1.05  # times the robot file's own error
FAR_WORSE_THAN_FILE = 1.5
INSIDE_BAND = 0.80  # share of moving rows that a 95 % band must hold on every axis
WIDE_INTERVAL = 0.25  # half an interval over its parameter's size: beyond it care is needed
UNEXPLAINED = 0.5  # of an axis' RMS torque in the fit's own data: beyond it nothing is explained
VANISHED_MASS = 1e-3  # of the robot file's mass: a body that is lighter has vanished
SUSPICION_SIGMAS = 2.5  # of what follows the motion; short of the alarm (3.5), no plain "good"
JOINT_LEVEL = 0.95  # with which all intervals of a verdict hold together

#: Symbols of terms' parameters, which are numbered by axis: their intervals are no matter here.
OF_TERMS = ("F0", "Fs", "Ft", "mu", "mu_m")

#: The rules in words, for the page.
RULES = (
    "Torque, by the error while moving: the RMS of the held-out residual over that of the torque, "
    "per axis, of the rows at which the axis moves. Not to be trusted: an axis leaves more than "
    f"{percent(LARGE_ERROR)}, or more than {percent(SMALL_ERROR)} with a negative R^2; or more "
    f"than {percent(TINY_ERROR)}, and {FAR_WORSE_THAN_FILE:g} times what the robot file leaves; or "
    f"without held-out motion more than {percent(UNEXPLAINED)} in the fit's own data. Cannot tell: "
    "no held-out recording was given, or nothing moves in it. Usable with care: an axis leaves "
    f"more than {percent(SMALL_ERROR)}; or more than {percent(TINY_ERROR)}, and "
    f"{percent(WORSE_THAN_FILE - 1)} more than the robot file; or the 95 % band holds less than "
    f"{percent(INSIDE_BAND)} of the rows of an axis. Else good.",
    "Parameters, by their intervals, which hold all together at "
    f"{percent(JOINT_LEVEL)}. Not to be trusted: the fit has not converged, or a body has less "
    f"than {percent(VANISHED_MASS)} of its mass in the robot file. Usable with care: half an "
    f"interval is wider than {percent(WIDE_INTERVAL)} of its parameter's size; or a term is "
    "missing; or bodies cannot exist; or parameters stayed at the robot file's values; or the fit "
    "has warnings. Else good.",
    "What is missing: usable with care where a term is missing, in the fit's own data or in the "
    "held-out motion, or may be (the fit's residual follows the motion by more than "
    f"{SUSPICION_SIGMAS:g} standard deviations), or where the held-out residual has a cause. Else "
    "good.",
    "The grade is the worst of the three. Where no axis leaves more than "
    f"{percent(TINY_ERROR)} of its torque while moving, it is never worse than usable with care.",
)

#: Why there is no verdict on a fit without held-out data.
UNJUDGED = (
    "No held-out recording was given, so nothing shows what the model is worth on a motion that it "
    "has not seen.",
)


class Width(NamedTuple):
    """An interval of a parameter beside its value, and half its width over the parameter's size."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    relative: float


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    `left` is RMS of the held-out residual over that of the torque while each axis moves; None
    without held-out data, NaN on an axis that rests. `inside` is the share of the moving rows in
    the fit's 95 % band. `rest_rms` is what is left at rest, `rest_share` the share of such rows:
    they are not graded. `against_file` is the model's relative RMS over that of the robot file.
    `own` is RMS of the residual over that of the torque in the data of the fit, NaN on an axis that
    they do not tell. `widths` are intervals that hold together; None where there is no fit. `alarm`
    says what the fit's residual follows where a term is missing, `residual_alarm` the same of the
    held-out residual; `causes` are titles and sentences on the latter. `suspicion` is by how many
    standard deviations the fit's residual follows the motion. `vanished` are bodies that lost their
    mass: identified mass and that of the robot file, in kg. `findings` are sentences on the logs.
    """

    axes: tuple[str, ...]
    left: tuple[float, ...] | None
    rms: tuple[float, ...] | None  # N m, of the held-out residual
    against_file: float | None
    converged: bool
    consistent: bool
    r_squared: tuple[float, ...] | None = None
    inside: tuple[float, ...] | None = None
    rest_rms: tuple[float, ...] | None = None  # N m
    rest_share: float = 0.0
    held: tuple[str, ...] = ()
    widths: tuple[Width, ...] | None = None
    causes: tuple[tuple[str, str], ...] = ()
    alarm: str = ""
    suspicion: float = 0.0
    residual_alarm: str = ""
    not_white: tuple[str, ...] = ()  # axes
    warnings: tuple[str, ...] = ()
    own: tuple[float, ...] = ()
    vanished: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    units: tuple[str, ...] = ()  # of the axes' torque; N m where it is empty

    @property
    def worst_axis(self) -> int | None:
        """The axis that leaves the largest share of its torque; None where nothing is known."""
        if self.left is None:
            return None
        known = {share: k for k, share in enumerate(self.left) if math.isfinite(share)}
        return known[max(known)] if known else None

    @property
    def worst_error(self) -> float | None:
        """Its share; None where nothing is known."""
        worst = self.worst_axis
        return None if worst is None or self.left is None else self.left[worst]


def evidence_of(fit: Fit) -> Evidence:
    """What a fit tells by itself, without held-out data."""
    return Evidence(
        axes=fit.robot.axis_names(),
        left=None,
        rms=None,
        against_file=None,
        converged=fit.converged,
        consistent=fit.consistent,
        held=fit.held,
        widths=interval_widths(fit),
        alarm="" if fit.terms is None else fit.terms.follows,
        suspicion=_suspicion(fit),
        warnings=fit.warnings,
        own=_own_shares(fit),
        vanished=_vanished(fit),
        findings=fit.findings,
        units=fit.robot.axis_units("tau"),
    )


def _suspicion(fit: Fit) -> float:
    """By how many deviations the fit's residual follows the motion; 0 where it does not matter."""
    if fit.terms is None:
        return 0.0
    structure = fit.terms.hull.structure
    matters = float(structure.share.max(initial=0.0)) > LEAST
    return max(structure.scores.values(), default=0.0) if matters else 0.0


def interval_widths(fit: Fit) -> tuple[Width, ...]:
    """Intervals of the base parameters that hold together at `JOINT_LEVEL` (Bonferroni).

    Half their width stands beside the parameter's size: the largest of its value, that of the robot
    file and what quick motion would feel (`Identifiability.scale`).
    """
    known = fit.identifiability
    size = {} if known is None else dict(zip(known.names, known.scale.tolist(), strict=True))
    base = [
        k
        for k, name in enumerate(fit.names[: fit.parametrisation.own])
        if not name.startswith("ripple")
        and not (name[-1].isdigit() and name.rstrip("1234") in OF_TERMS)
    ]
    ends = fit.interval(1 - (1 - JOINT_LEVEL) / max(len(base), 1))
    found = []
    for k in base:
        (low, high), value = ends[k].tolist(), float(fit.values[k])
        scale = max(size.get(fit.names[k], 0.0), abs(value), 1e-300)
        half = max(high - value, value - low)
        found.append(Width(fit.names[k], value, low, high, fit.units[k], half / scale))
    return tuple(found)


def _vanished(fit: Fit) -> dict[str, tuple[float, float]]:
    """Bodies with next to none of their mass in the robot file; equal limbs have one body there."""
    bodies = consistency(fit.before, hull=False).bodies
    mass = {body.name: body.mass for body in bodies}
    mass |= {body.name.rstrip(LIMBS): body.mass for body in bodies}
    found = {}
    for body in fit.consistency.bodies:
        file = mass.get(body.name, mass.get(body.name.rstrip(LIMBS), 0.0))
        if body.mass < VANISHED_MASS * file:
            found[body.name] = (body.mass, file)
    return found


def _own_shares(fit: Fit) -> tuple[float, ...]:
    """RMS residual over RMS torque of each axis; NaN where all parameters of its drive are held."""
    names = fit.names
    shares = []
    for axis, (left, size) in enumerate(zip(fit.residual, fit.torque_level, strict=True), start=1):
        drive = (f"Fv{axis}", f"Fc{axis}", f"Fc+{axis}", f"Fc-{axis}")
        silent = any(n in fit.held for n in drive) and not any(n in names for n in drive)
        shares.append(float(left / size) if size > 0 and not silent else math.nan)
    return tuple(shares)


# The verdict: three answers, and one grade.


@dataclass(frozen=True)
class Answer:
    """An answer about "torque", "parameters" or "missing", and the reasons that decided it."""

    about: str
    grade: str
    sentence: str
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The answer in a line."""
        return f"{TITLES[self.about]} ({self.grade}): {self.sentence}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "about": self.about,
            "grade": self.grade,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
        }


TITLES = {"torque": "Torque", "parameters": "Parameters", "missing": "What is missing"}


@dataclass(frozen=True)
class Verdict:
    """A grade, its three answers, the sentences that decided it, others, and what to do next."""

    grade: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()

    @property
    def text(self) -> str:
        """The grade and its reasons in one line."""
        return f"{self.grade}: {' '.join(self.reasons)}"

    def answer(self, about: str) -> Answer | None:
        """The answer about "torque", "parameters" or "missing"; None where it was not asked."""
        return next((item for item in self.answers if item.about == about), None)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the rules."""
        return {
            "grade": self.grade,
            "answers": [item.as_dict() for item in self.answers],
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "steps": list(self.steps),
            "rules": list(RULES),
        }


def judge(evidence: Evidence) -> Verdict:
    """The verdict by `RULES`: the worst answer decides, and all of its reasons are named."""
    answers = [judge_torque(evidence)]
    if evidence.widths is not None:
        answers.append(judge_parameters(evidence))
    answers.append(judge_missing(evidence))
    worst = evidence.worst_error
    grade = max((item.grade for item in answers), key=ORDER.index)
    if grade == BAD and worst is not None and worst <= TINY_ERROR:
        grade = CARE
    deciding = [item for item in answers if ORDER.index(item.grade) >= ORDER.index(grade)]
    others = [item for item in answers if item not in deciding and item.grade != GOOD]
    reasons = _unique(text for item in deciding for text in item.reasons or (item.sentence,))
    if grade == GOOD:
        reasons = (answers[0].sentence,)
    notes = [text for item in others for text in item.reasons]
    notes += [item.sentence for item in answers if grade != UNKNOWN or item.grade != UNKNOWN]
    notes += _notes(evidence)
    kept = tuple(text for text in _unique(notes) if text not in reasons)
    return Verdict(grade, reasons, kept, _steps(evidence, grade), tuple(answers))


def judge_torque(evidence: Evidence) -> Answer:
    """What the torque is worth: the error while moving, and the band."""
    worst, left = evidence.worst_axis, evidence.worst_error
    poor = {a: s for a, s in zip(evidence.axes, evidence.own, strict=False) if s > UNEXPLAINED}
    own = ""
    if poor:
        shares = ", ".join(f"{percent(share)} on axis {axis}" for axis, share in poor.items())
        own = (
            f"In its own data the fit leaves {shares} of the torque: check signs, units, homing, "
            "the order of the axes and the delay of the log."
        )
    if worst is None or left is None:
        why = UNJUDGED[0] if evidence.left is None else "No axis moves in the held-out recording."
        return Answer("torque", BAD if own else UNKNOWN, own or why, (own or why,))
    sentence = _torque_text(evidence, worst)
    bad, care = [], []
    r_squared = 1.0 if evidence.r_squared is None else evidence.r_squared[worst]
    if left > LARGE_ERROR:
        bad.append(sentence)
    elif left > SMALL_ERROR and r_squared < 0:
        axis = evidence.axes[worst]
        bad.append(
            "On held-out motion the model is worse than a constant torque on axis "
            f"{axis} (R^2 {r_squared:.2g}): {percent(left)} of the torque is left."
        )
    elif left > SMALL_ERROR:
        care.append(sentence)
    if own:
        (bad if left > TINY_ERROR else care).append(own)
    ratio = evidence.against_file
    if ratio is not None and left > TINY_ERROR and ratio > WORSE_THAN_FILE:
        (bad if ratio > FAR_WORSE_THAN_FILE else care).append(_file_text(ratio))
    outside = _outside_band(evidence)
    if outside:
        care.append(outside)
    grade = BAD if bad else CARE if care else GOOD
    return Answer("torque", grade, sentence, tuple(bad or care))


def judge_parameters(evidence: Evidence) -> Answer:
    """What the parameters are worth: their intervals."""
    widths = evidence.widths or ()
    widest = max(widths, key=lambda item: item.relative, default=None)
    bad, care = [], []
    if not evidence.converged:
        bad.append("The fit has not converged.")
    for name, (mass, file) in evidence.vanished.items():
        bad.append(
            f"The body {name} has vanished ({mass:.1g} kg, {file:.3g} kg in the robot file): the "
            "fit ends at the bound of what bodies can be, as where the log or the robot file is "
            "wrong."
        )
    wide = [item for item in widths if item.relative > WIDE_INTERVAL]
    if wide:
        care.append(f"Intervals are wide: {_listed(wide)}.")
    if evidence.alarm:
        care.append("A term is missing, for which parameters may stand in.")
    if not evidence.consistent:
        care.append(
            "No body has the identified parameters: the torque may serve, masses and inertias may "
            "not."
        )
    if evidence.held:
        care.append(
            f"The data cannot tell {', '.join(evidence.held)}: the robot file's "
            f"value{'s' if len(evidence.held) > 1 else ''} stayed."
        )
    care += evidence.warnings
    if widest is None:
        sentence = "The fit has no intervals."
    else:
        sentence = (
            f"All {len(widths)} base parameters lie in their intervals with {percent(JOINT_LEVEL)} "
            f"together, if no term is missing; the widest is {_listed([widest])}."
        )
    grade = BAD if bad else CARE if care else GOOD
    return Answer("parameters", grade, sentence, tuple(bad or care))


def judge_missing(evidence: Evidence) -> Answer:
    """What the model lacks: alarms, and causes of the held-out residual."""
    care = []
    if evidence.alarm:
        care.append(f"A term is missing: the fit's own residual follows {evidence.alarm}.")
    elif evidence.suspicion > SUSPICION_SIGMAS:
        care.append(
            "A term may be missing: the fit's own residual follows the motion by "
            f"{evidence.suspicion:.1f} standard deviations."
        )
    if evidence.residual_alarm:
        care.append(
            f"A term is missing: the held-out residual follows {evidence.residual_alarm}, and no "
            "cause explains it."
        )
    if evidence.causes:
        names = ", ".join(title for title, _ in evidence.causes)
        care.append(f"The held-out residual has a likely cause: {names}. {evidence.causes[0][1]}")
    if care:
        return Answer("missing", CARE, care[0], tuple(care))
    return Answer("missing", GOOD, "Nothing that was looked for is missing.")


def _outside_band(evidence: Evidence) -> str:
    """Axes on which the 95 % band holds too few rows."""
    poor = {
        axis: share
        for axis, share in zip(evidence.axes, evidence.inside or (), strict=False)
        if share < INSIDE_BAND
    }
    if not poor:
        return ""
    told = ", ".join(f"{percent(share)} on axis {axis}" for axis, share in poor.items())
    return f"The 95 % band of the torque holds only {told} of the held-out rows that move."


def _torque_text(evidence: Evidence, axis: int) -> str:
    assert evidence.left is not None
    assert evidence.rms is not None
    unit = evidence.units[axis] if evidence.units else "N m"
    rms = f"{evidence.rms[axis]:.3g} {unit} RMS"
    text = (
        f"On held-out motion the robot's model explains all but {percent(evidence.left[axis])} of "
        f"the torque of its worst axis, {evidence.axes[axis]}, while it moves ({rms})"
    )
    inside = [share for share in evidence.inside or () if math.isfinite(share)]
    return f"{text}; its 95 % band holds {percent(min(inside))}." if inside else f"{text}."


def _file_text(ratio: float) -> str:
    return f"On held-out motion the model is {ratio:.2g} times as far off as the robot file itself."


def _listed(widths: Sequence[Width]) -> str:
    """Parameters with their intervals, the widest first."""
    order = sorted(widths, key=lambda item: -item.relative)
    told = ", ".join(
        f"{item.name} {item.low:.3g} to {item.high:.3g}"
        + ("" if item.unit == "1" else f" {item.unit}")
        for item in order[:3]
    )
    return told if len(order) <= 3 else f"{told}, and {len(order) - 3} more"


def _notes(evidence: Evidence) -> list[str]:
    """What does not decide."""
    found = []
    ratio = evidence.against_file
    if ratio is not None and ratio <= WORSE_THAN_FILE:
        found.append(
            f"It leaves {percent(ratio)} of what the robot file leaves on that motion."
            if ratio < 1 / WORSE_THAN_FILE
            else "The robot file alone is as good on this motion."
        )
    elif ratio is not None:
        found.append(_file_text(ratio))
    rest = [value for value in evidence.rest_rms or () if math.isfinite(value)]
    if rest and evidence.rest_share >= 0.01:
        unit = evidence.units[0] if evidence.units else "N m"
        found.append(
            f"At rest or turning back, {percent(evidence.rest_share)} of the rows, up to "
            f"{max(rest):.3g} {unit} RMS are left: friction that holds an axis cannot be "
            "predicted, and is not graded."
        )
    return [*found, *evidence.findings]


def _steps(evidence: Evidence, grade: str) -> tuple[str, ...]:
    """What to do next, the most urgent first."""
    left = evidence.worst_error or 0.0
    if grade == BAD:
        found = ["Do not use this model."]
        if not evidence.converged:
            found.append("Look at the status of the fit; take another method or a longer log.")
        if evidence.vanished or left > SMALL_ERROR or any(s > UNEXPLAINED for s in evidence.own):
            found.append(
                "Check signs, units, homing and the order of the axes in the log, and lengths, "
                "gear ratios and payload in the robot file (`deltadyn check ROBOT LOG`); then fit "
                "again."
            )
        elif evidence.against_file is not None and evidence.against_file > FAR_WORSE_THAN_FILE:
            found.append("Keep the robot file, and record a motion that asks more of the robot.")
        return tuple(found)
    if grade == UNKNOWN:
        return (
            "Record another motion, and judge the fit on it: `deltadyn validate`, or "
            "`deltadyn report --validate`.",
        )
    if grade == GOOD:
        return (
            "Use the model: `deltadyn export` writes it for a controller, `deltadyn payload` "
            "weighs with it.",
        )
    found = []
    if evidence.warnings:
        found.append("Answer the warnings first.")
    if evidence.held or any(item.relative > WIDE_INTERVAL for item in evidence.widths or ()):
        found.append(
            "Record a motion that tells what was held or is wide: `deltadyn excite` designs one "
            "within the robot's limits."
        )
    if not evidence.consistent:
        found.append("Fit by the method convex, whose bodies can exist.")
    if evidence.causes or evidence.alarm or evidence.residual_alarm or left > SMALL_ERROR:
        found.append(
            "Use it where its error is small enough, and look at the residual for what is missing."
        )
    return tuple(found or ["Use it where its error is small enough."])


def _unique(texts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
