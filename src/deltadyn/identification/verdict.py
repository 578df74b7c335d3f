"""The verdict on an identified model: one of four grades by stated rules, with its reasons.

This is the one place that judges: a fit's text and record, the command line, pages and the studio
show what it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deltadyn.dynamics.rigid import LIMBS
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.units import percent

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

GOOD, CARE, BAD, UNKNOWN = "good", "usable with care", "not to be trusted", "cannot tell"

SMALL = 0.10  # of the torque's standard deviation on held-out motion: what a good model leaves
LARGE = 0.30  # the same: beyond it the model is not to be trusted
WORSE = 1.05  # times the robot file's own error on held-out motion
FAR_WORSE = 1.5
CAUSED = 0.05  # of the torque's standard deviation: a residual with a cause that counts
UNEXPLAINED = 0.5  # of an axis' RMS torque in the fit's own data: beyond it nothing is explained
NO_MASS = 1e-3  # of the robot file's mass: a body that is lighter has vanished

#: The rules in words, for the page.
RULES = (
    f"Not to be trusted: the fit has not converged; or in its own data an axis leaves more than "
    f"{percent(UNEXPLAINED)} of its RMS torque; or a body has less than {percent(NO_MASS)} of its "
    "mass in the robot file, the bound at which it vanishes; or on held-out motion an axis has a "
    f"negative R^2, or leaves more than {percent(LARGE)} of its torque's standard deviation; or "
    f"the model is more than {FAR_WORSE:g} times worse there than the robot file.",
    "Cannot tell: no held-out recording was given, or its torque does not change.",
    f"Usable with care: an axis leaves more than {percent(SMALL)}; or the model is more than "
    f"{percent(WORSE - 1)} worse than the robot file; or bodies cannot exist; or parameters were "
    f"held at the robot file's values; or a residual above {percent(CAUSED)} has a clear cause or "
    "lacks a term; "
    "or the fit has warnings.",
    "Good: none of these.",
)

#: Why there is no verdict on a fit without held-out data.
UNJUDGED = (
    "No held-out recording was given, so nothing shows what the model is worth on a motion that it "
    "has not seen.",
)


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on.

    `left` is RMS of the held-out residual over the measured torque's standard deviation, per axis;
    None without held-out data, NaN on an axis whose torque does not change. R^2 is 1 - left^2.
    `against_file` is the model's relative RMS over that of the robot file. `own` is RMS of the
    residual over that of the torque in the data of the fit, NaN on an axis that they do not tell.
    `vanished` are bodies that lost their mass: identified mass and that of the robot file, in kg.
    `findings` are sentences on the logs.
    """

    axes: tuple[str, ...]
    left: tuple[float, ...] | None
    rms: tuple[float, ...] | None  # N m, of the held-out residual
    against_file: float | None
    converged: bool
    consistent: bool
    held: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    cause: str | None = None
    cause_sentence: str = ""
    missing: bool = False  # more than noise is left, and no cause explains it
    not_white: tuple[str, ...] = ()  # axes
    warnings: tuple[str, ...] = ()
    own: tuple[float, ...] = ()
    vanished: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    units: tuple[str, ...] = ()  # of the axes' torque; N m where it is empty


def evidence_of(fit: Fit) -> Evidence:
    """What a fit tells by itself, without held-out data."""
    known = fit.identifiability
    return Evidence(
        axes=fit.robot.axis_names(),
        left=None,
        rms=None,
        against_file=None,
        converged=fit.converged,
        consistent=fit.consistent,
        held=fit.held,
        weak=() if known is None else tuple(n for n in known.weak if n not in fit.held),
        warnings=fit.warnings,
        own=_own_shares(fit),
        vanished=_vanished(fit),
        findings=fit.findings,
        units=fit.robot.axis_units("tau"),
    )


def _vanished(fit: Fit) -> dict[str, tuple[float, float]]:
    """Bodies with next to none of their mass in the robot file; equal limbs have one body there."""
    bodies = consistency(fit.before, hull=False).bodies
    mass = {body.name: body.mass for body in bodies}
    mass |= {body.name.rstrip(LIMBS): body.mass for body in bodies}
    found = {}
    for body in fit.consistency.bodies:
        file = mass.get(body.name, mass.get(body.name.rstrip(LIMBS), 0.0))
        if body.mass < NO_MASS * file:
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


@dataclass(frozen=True)
class Verdict:
    """A grade, the sentences that decided it, sentences that did not, and what to do next."""

    grade: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The grade and its reasons in one line."""
        return f"{self.grade}: {' '.join(self.reasons)}"

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the rules."""
        return {
            "grade": self.grade,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "steps": list(self.steps),
            "rules": list(RULES),
        }


def judge(evidence: Evidence) -> Verdict:
    """The verdict by `RULES`: the worst reason decides, all others of its weight are named."""
    found = _judged(evidence)
    return replace(found, steps=_steps(evidence, found.grade))


def _judged(evidence: Evidence) -> Verdict:
    bad = _fatal(evidence)
    care = _cautions(evidence)
    notes = _notes(evidence)
    worst = _worst(evidence)
    if bad:
        return Verdict(BAD, tuple(bad), tuple(care + notes))
    if evidence.left is None:
        return Verdict(UNKNOWN, UNJUDGED, tuple(care + notes))
    if worst is None:
        why = "The torque of the held-out recording does not change."
        return Verdict(UNKNOWN, (why,), tuple(care + notes))
    if care:
        told = [] if _small(evidence) is not None else [_left_text(evidence, worst)]
        return Verdict(CARE, tuple(care), tuple(told + notes))
    return Verdict(GOOD, (_left_text(evidence, worst),), tuple(notes))


def _steps(evidence: Evidence, grade: str) -> tuple[str, ...]:
    """What to do next, the most urgent first."""
    if grade == BAD:
        found = ["Do not use this model."]
        if not evidence.converged:
            found.append("Look at the status of the fit; take another method or a longer log.")
        worst = _worst(evidence)
        left = 0.0 if worst is None or evidence.left is None else evidence.left[worst]
        if evidence.vanished or left > LARGE or any(s > UNEXPLAINED for s in evidence.own):
            found.append(
                "Check signs, units, homing and the order of the axes in the log, and lengths, "
                "gear ratios and payload in the robot file (`deltadyn check ROBOT LOG`); then fit "
                "again."
            )
        elif evidence.against_file is not None and evidence.against_file > FAR_WORSE:
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
    if evidence.held:
        found.append(
            "Record a motion that tells what was held: `deltadyn excite` designs one within the "
            "robot's limits."
        )
    if not evidence.consistent:
        found.append("Fit by the method convex, whose bodies can exist.")
    if evidence.cause or evidence.missing or _small(evidence) is not None:
        found.append(
            "Use it where its error is small enough, and look at the residual for what is missing."
        )
    return tuple(found or ["Use it where its error is small enough."])


def _worst(evidence: Evidence) -> int | None:
    """The axis that leaves the largest share of its torque."""
    if evidence.left is None:
        return None
    known = [k for k, share in enumerate(evidence.left) if math.isfinite(share)]
    return max(known, key=lambda k: evidence.left[k], default=None)  # type: ignore[index]


def _left_text(evidence: Evidence, axis: int) -> str:
    assert evidence.left is not None
    assert evidence.rms is not None
    unit = evidence.units[axis] if evidence.units else "N m"
    rms = f"{evidence.rms[axis]:.3g} {unit} RMS"
    return (
        f"On held-out motion the robot's model explains all but {percent(evidence.left[axis])} of "
        f"the torque on its worst axis, {evidence.axes[axis]} ({rms})."
    )


def _fatal(evidence: Evidence) -> list[str]:
    found = []
    if not evidence.converged:
        found.append("The fit has not converged.")
    poor = {a: s for a, s in zip(evidence.axes, evidence.own, strict=False) if s > UNEXPLAINED}
    if poor:
        shares = ", ".join(f"{percent(share)} on axis {axis}" for axis, share in poor.items())
        found.append(
            f"In its own data the fit leaves {shares} of the torque: check signs, units, homing, "
            "the order of the axes and the delay of the log."
        )
    for name, (mass, file) in evidence.vanished.items():
        found.append(
            f"The body {name} has vanished ({mass:.1g} kg, {file:.3g} kg in the robot file): the "
            "fit ends at the bound of what bodies can be, as where the log or the robot file is "
            "wrong."
        )
    worst = _worst(evidence)
    if worst is not None and evidence.left is not None:
        left = evidence.left[worst]
        if left > 1:
            found.append(
                f"On held-out motion the model is worse than a constant torque on axis "
                f"{evidence.axes[worst]} (R^2 {1 - left**2:.2g})."
            )
        elif left > LARGE:
            found.append(_left_text(evidence, worst))
    if evidence.against_file is not None and evidence.against_file > FAR_WORSE:
        found.append(_file_text(evidence.against_file))
    return found


def _cautions(evidence: Evidence) -> list[str]:
    found = []
    worst = _small(evidence)
    if worst is not None:
        found.append(_left_text(evidence, worst))
    ratio = evidence.against_file
    if ratio is not None and WORSE < ratio <= FAR_WORSE:
        found.append(_file_text(ratio))
    if not evidence.consistent:
        found.append(
            "No body has the identified parameters: the torque may serve, masses and inertias may "
            "not."
        )
    if evidence.held:
        found.append(
            f"The data cannot tell {', '.join(evidence.held)}: the robot file's "
            f"value{'s' if len(evidence.held) > 1 else ''} stayed."
        )
    left = _worst(evidence)
    if evidence.cause and left is not None and evidence.left and evidence.left[left] > CAUSED:
        found.append(f"The residual has a likely cause: {evidence.cause_sentence}")
    if evidence.missing and left is not None and evidence.left and evidence.left[left] > CAUSED:
        found.append("A term is missing: more than noise is left, and no cause explains it.")
    return [*found, *evidence.warnings]


def _small(evidence: Evidence) -> int | None:
    """The worst axis where it leaves more than a good model does, but not too much."""
    worst = _worst(evidence)
    if worst is None or evidence.left is None or not SMALL < evidence.left[worst] <= LARGE:
        return None
    return worst


def _file_text(ratio: float) -> str:
    return f"On held-out motion the model is {ratio:.2g} times as far off as the robot file itself."


def _notes(evidence: Evidence) -> list[str]:
    found = []
    ratio = evidence.against_file
    if ratio is not None and ratio <= WORSE:
        found.append(
            f"It leaves {percent(ratio)} of what the robot file leaves on that motion."
            if ratio < 1 / WORSE
            else "The robot file alone is as good on this motion."
        )
    if evidence.weak:
        found.append(f"The data tell {', '.join(evidence.weak)} only poorly.")
    if evidence.not_white:
        found.append(
            f"The residual of axis {', '.join(evidence.not_white)} is not white noise: something "
            "is left that a model could explain."
        )
    return [*found, *evidence.findings]
