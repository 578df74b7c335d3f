"""Check a recording: report what is wrong with it, and repair nothing.

A check is one function of a `Subject` that yields findings, and one row of `CHECKS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from deltadyn.errors import InputError
from deltadyn.recording.checks import robot as with_robot
from deltadyn.recording.checks import signal
from deltadyn.recording.checks.findings import KINDS, Finding, Findings, Subject
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

# What must hold before a check is worth a look: None where it holds, else the sentence for
# `Findings.skipped`, which is empty where nothing needs to be said.


Need = Callable[[Subject], str | None]


def _samples(subject: Subject) -> str | None:
    return None if len(subject.recording) else ""


def _unwrapped(subject: Subject) -> str | None:
    return "" if subject.has("encoder wrap") else None


def _stretch(subject: Subject) -> str | None:
    if subject.stretch is not None:
        return None
    return "units, signs and axes: no stretch of regular, finite samples is long enough"


def _robot(subject: Subject) -> str | None:
    if subject.robot is None:
        return "closure, limits, signs and axes: no robot was given"
    if subject.has("encoder wrap"):
        return "units, signs and axes: undo the encoder's wraps first"
    return None


def _torque(subject: Subject) -> str | None:
    return None if subject.recording.has_torque else "signs and units by torques: there are none"


#: Findings after which the convention is not looked for: it would only follow.
_SPOILERS = frozenset(["time unit", "encoder wrap", "jump", "rate unit", "angle unit"])
#: Findings after which angles are not compared with the robot.
_ANGLES = ("angle unit", "angle sign")


def _unspoiled(subject: Subject) -> str | None:
    spoiled = sorted({item.kind for item in subject.found} & _SPOILERS)
    return f"signs, units and axes: correct {', '.join(spoiled)} first" if spoiled else None


def _angles(subject: Subject) -> str | None:
    return "" if subject.has(*_ANGLES) else None


@dataclass(frozen=True)
class Check:
    """One check, and what must hold before it is made."""

    look: Callable[[Subject], Iterator[Finding]]
    needs: tuple[Need, ...] = ()


_WITH_ROBOT = (_samples, _stretch, _robot)

#: Every check in the order in which they are made: later ones look at what was found before.
CHECKS = (
    Check(signal.check_finite),
    Check(signal.check_time),
    Check(signal.check_jumps, (_samples,)),
    Check(signal.check_frozen, (_samples,)),
    Check(signal.check_saturated, (_samples,)),
    Check(signal.check_copied, (_samples,)),
    Check(with_robot.check_rates, (_samples, _stretch)),
    Check(with_robot.check_units, (_samples, _unwrapped)),
    Check(with_robot.check_conventions, (*_WITH_ROBOT, _torque, _unspoiled)),
    Check(with_robot.check_limits, (_samples, _robot, _angles)),
    Check(with_robot.check_closure, (*_WITH_ROBOT, _angles)),
    Check(with_robot.check_pose, (*_WITH_ROBOT, _angles)),
)


def check_recording(recording: Recording, robot: Robot | None = None) -> Findings:
    """What is wrong with a recording; with the robot also its units, signs and axes.

    Nothing is changed. The convention is judged by fits of all base parameters and friction, so
    masses, friction and rotors that the robot file does not know do not disturb it.
    """
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    if robot is not None and robot.dof != recording.dof:
        raise InputError(
            "axes of the recording", recording.dof, f"{robot.dof}, as robot {robot.name!r} has"
        )
    subject = Subject(recording, robot)
    skipped: list[str] = []
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinite values are findings
        for check in CHECKS:
            reasons = (need(subject) for need in check.needs)
            reason = next((text for text in reasons if text is not None), None)
            if reason is None:
                subject.found += check.look(subject)
            elif reason and reason not in skipped:
                skipped.append(reason)
    found = sorted(subject.found, key=lambda item: list(KINDS).index(item.kind))
    looked = subject.__dict__.get("conventions")
    return Findings(recording.name, tuple(found), tuple(skipped), looked)


# What a fit or a validation refuses.


#: Findings after which neither a fit nor a validation means anything.
FATAL = (
    "torque sign",
    "angle sign",
    "swapped axes",
    "angle unit",
    "torque unit",
    "time unit",
    "open loop",
    "encoder wrap",
    "rate unit",
    "homing",
    "convention",
)
#: Columns that a reader leaves out of the log of a robot with more axes than it is told of.
OTHER_AXIS = re.compile(r"(psi|(?:q|tau)([34]))(_|$)")
CHECKED = 400_000  # samples of a recording that are looked at


def refuse_spoiled(robot: Robot, recording: Recording) -> Findings:
    """Raise where a recording has another robot's axes, another convention, and so on.

    Gives what was found besides, such as gaps.
    """
    known = [(name, OTHER_AXIS.match(name)) for name in recording.provenance.ignored]
    left_out = [name for name, axis in known if axis and int(axis[2] or 4) > robot.dof]
    if left_out:
        raise InputError(
            f"columns of a {'third' if robot.dof == 2 else 'fourth'} axis",
            left_out,
            f"none: robot {robot.name!r} has {robot.dof} axes; is it the log of another robot? "
            "Or pass check=False",
            where=repr(recording.name),
        )
    looked_at = recording.rows(0, CHECKED) if len(recording) > CHECKED else recording
    findings = check_recording(looked_at, robot)
    for finding in findings:
        if finding.severity == "error" and finding.kind in FATAL:
            raise InputError(
                f"recording {recording.name!r}",
                finding.kind,
                f"a recording without this finding. {finding.text} {finding.advice} "
                f"Or pass check=False{_to_paste(findings)}",
            )
    return findings


def _to_paste(findings: Findings) -> str:
    """What puts the convention right: the block of the robot file, and the column map."""
    found = findings.conventions
    if found is None or not found.changed:
        return ""
    text = f". In the robot file:\n{found.block.rstrip()}"
    if found.columns:
        text += f"\nIn the column map:\n{found.column_map.rstrip()}"
    return text
