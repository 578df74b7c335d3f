"""A fit in words: on one screen, in full, and as the sources of the robot file that it gives.

What the logs identified, the base parameters, stands apart from the robot file, which is one robot
that has them: the nearest to the given one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from deltadyn.dynamics.rigid import LIMBS
from deltadyn.identification.bodies.consistency import BodyVerdict
from deltadyn.identification.determined import FieldStatus, Status
from deltadyn.identification.verdict import BAD
from deltadyn.robot.file import robot_text
from deltadyn.robot.settings import Source

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit
    from deltadyn.robot import Robot

SCREEN_LINES, SCREEN_WIDTH = 40, 110
TABLE_ROWS = 14  # of base parameters that a screen shows
NOTE_LINES = 3  # of warnings, findings, rivals: more are counted
FAR_RATIO = 2.0  # to the file's value: nobody's estimate of a machine is that far off
MEASURED_RATIO = 1.2  # the same where all fields have a source: scales and CAD err by less
SAME_VALUE = 1e-6  # relative: rounding of the solver
_AXIS_FAMILY = re.compile(r"(?P<family>.*?)(?P<axis>[1-4])")


# Base parameters that are far from the file's.


def far_from_file(fit: Fit) -> tuple[str, ...]:
    """Sentences on base parameters of bodies that are far from the file's, and what explains it.

    Far is a factor of `FAR_RATIO`, or of `MEASURED_RATIO` where the file has a source for every
    field in it, with the file's value outside the interval.
    """
    grouped, found = fit.base_map, []
    ends = fit.interval()
    told: set[str] = set()
    for name in grouped.names:
        if name not in fit.names or name in told:
            continue
        family = [other for other in grouped.names if _family(other) == _family(name)]
        rows = [fit.names.index(other) for other in family if other in fit.names]
        before, values = fit.parametrisation.prior[rows], fit.values[rows]
        outside = (before < ends[rows, 0]) | (before > ends[rows, 1])
        row = grouped.names.index(name)
        paths = [
            field.path
            for field, yes in zip(grouped.fields, grouped.reached[row], strict=True)
            if yes
        ]
        if all(path.startswith(("friction", "drives.ripple", "gray_box")) for path in paths):
            continue
        told.update(family)
        allowed = MEASURED_RATIO if all(_measured(fit.before, p) for p in paths) else FAR_RATIO
        ratio = np.divide(values, before, out=np.full(len(rows), np.inf), where=before != 0)
        far = outside & ((ratio > allowed) | (ratio < 1 / allowed))
        if far.any():
            found.append(_far_text(fit, family, ratio, name, float((values - before)[far].mean())))
    return tuple(found)


def _family(name: str) -> str:
    """A parameter's name without its limb: "A" of "A2", "arm.Iyy" of "arm2.Iyy"."""
    head, dot, tail = name.partition(".")
    return head.rstrip(LIMBS) + dot + tail


def _measured(robot: Robot, path: str) -> bool:
    """Whether a field has a source that is no assumption."""
    plain = re.sub(r"\[\d\]", "", path)
    source = robot.sources.get(path) or robot.sources.get(plain)
    return source is not None and not source.assumed


def _far_text(fit: Fit, family: Sequence[str], ratio: np.ndarray, name: str, change: float) -> str:
    """ "A is 6.2 times the robot file's: the file has no rotor inertia; ... would explain it."""
    who = name if len(family) == 1 else f"{_family(name)} ({', '.join(family)})"
    verb = "is" if len(family) == 1 else "are"
    low, high = float(ratio.min()), float(ratio.max())
    if not np.isfinite(high):
        return f"{who} {verb} {fit[name]:.3g} {_unit(fit, name)}, and 0 in the robot file."
    times = f"{low:.2g}" if f"{low:.2g}" == f"{high:.2g}" else f"{low:.2g} to {high:.2g}"
    head = f"{who} {verb} {times} times the robot file's"
    why = _explanation(fit, name, change)
    return f"{head}: {why}." if why else f"{head}."


def _explanation(fit: Fit, name: str, change: float) -> str:
    """The field that alone would explain a change, if there is one: what the file left out first.

    It changes this base parameter and no other, and is not measured.
    """
    grouped = fit.base_map
    row = grouped.names.index(name)
    alone = [
        j
        for j, field in enumerate(grouped.fields)
        if grouped.held_by(j) == (name,) and not _measured(fit.before, field.path)
    ]
    rotors = [j for j in alone if grouped.fields[j].path.startswith("drives.rotor_inertia")]
    for j in [*rotors, *(j for j in alone if j not in rotors)]:
        field = grouped.fields[j]
        old = field.value(fit.before) or 0.0
        more = change / grouped.here[row, j]
        if old + more <= 0:
            continue
        what, where = field.path, ""
        if j in rotors:
            what = "rotor inertia"
            motor = fit.before.drives.rotor_side == "motor_side"
            where = " at the motor" if motor else " at the output"
        size = f"{old + more:.3g} {field.unit}".rstrip() + where
        if old == 0:
            return f"the file has no {what}; {size} would explain it"
        return f"{what} of {size}, {old:.3g} in the file, would explain it"
    return ""


def _unit(fit: Fit, name: str) -> str:
    return fit.units[fit.names.index(name)]


# One screen.


def summary(fit: Fit) -> str:
    """At most `SCREEN_LINES` lines: what is far from the file first, then base parameters."""
    consistent = fit.consistent and fit.consistency.consistent
    lines = [
        f"{fit.method} fit of the model {fit.model!r} for {fit.nominal.name}",
        *([verdict.text] if (verdict := fit.verdict).grade == BAD else []),
        *_first(fit.far_from_file, "base parameters are far from the file's"),
        fit.status,
        *_base_lines(fit),
        *_axis_lines(fit),
        *_log_lines(fit),
        fit.residual_text,
        *([fit.left_out_text] if fit.left_out_text else []),
        *([] if consistent else str(fit.consistency).splitlines()[:NOTE_LINES]),
        *_first([f"warning: {text}" for text in fit.warnings + fit.findings], "warnings"),
        *([] if fit.terms is None else fit.terms.short_text.splitlines()),
        *([] if fit.gains is None else [fit.gains.status]),
        *_field_lines(fit),
        *(body.sentence for body in identified_bodies(fit)),
    ]
    rows = [row for line in lines for row in _wrapped(line)]
    end = "fit.details() has all parameters, fields and terms."
    if len(rows) > SCREEN_LINES - 1:
        kept = SCREEN_LINES - 2
        rows = [*rows[:kept], f"... {len(rows) - kept} more lines"]
    return "\n".join([*rows, end])


def _wrapped(line: str) -> list[str]:
    if len(line) <= SCREEN_WIDTH:
        return [line]
    return wrap(line, SCREEN_WIDTH, subsequent_indent="  ", break_on_hyphens=False) or [line]


def _first(lines: Sequence[str], what: str) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - NOTE_LINES
    return [*lines[:NOTE_LINES], *([f"... {more} more {what}"] if more > 0 else [])]


def _base_lines(fit: Fit) -> list[str]:
    """The table of base parameters of the bodies, those that changed most where there are many."""
    ends, before = fit.interval(), fit.parametrisation.prior
    own = [j for j in range(fit.parametrisation.own) if not _of_axis(fit, j)]
    half = np.maximum((ends[:, 1] - ends[:, 0]) / 2, 1e-300)
    by_change = sorted(own, key=lambda j: -abs(fit.values[j] - before[j]) / half[j])
    shown = sorted(by_change[:TABLE_ROWS])
    width = max(14, *(len(fit.names[j]) for j in shown)) if shown else 14
    lines = [
        f"{'base parameter':<{width}}{'value':>12}{'95 % from':>12}{'to':>12}{'file':>12}  unit"
    ]
    for j in shown:
        low, high = ends[j]
        lines.append(
            f"{fit.names[j]:<{width}}{fit.values[j]:>12.5g}{low:>12.5g}{high:>12.5g}"
            f"{before[j]:>12.5g}  {fit.units[j]}"
        )
    if len(own) > len(shown):
        lines.append(f"... {len(own) - len(shown)} more, which changed less beside their interval")
    return lines


def _of_axis(fit: Fit, index: int) -> bool:
    """Whether a parameter is friction or ripple."""
    paths = [
        field.path
        for j, field in enumerate(fit.base_map.fields)
        if fit.names[index] in fit.base_map.held_by(j)
    ]
    return bool(paths) and all(path.startswith(("friction", "drives.ripple")) for path in paths)


def _axis_lines(fit: Fit) -> list[str]:
    """One line for each kind of friction and ripple: value and half width of every axis."""
    ends = fit.interval()
    families: dict[str, list[int]] = {}
    for j in range(fit.parametrisation.own):
        if _of_axis(fit, j):
            match = _AXIS_FAMILY.fullmatch(fit.names[j])
            families.setdefault(match["family"] if match else fit.names[j], []).append(j)
    lines = []
    for family, rows in families.items():
        half = (ends[rows, 1] - ends[rows, 0]) / 2
        values = ", ".join(
            f"{fit.values[j]:.4g} +- {h:.2g}" for j, h in zip(rows, half, strict=True)
        )
        axes = ", ".join(fit.names[j][-1] for j in rows if fit.names[j] != family)
        axis = f" of axis {axes}" if axes else ""
        lines.append(f"{family}{axis}: {values} {fit.units[rows[0]]}".rstrip())
    return lines


def _log_lines(fit: Fit) -> list[str]:
    """Nuisance parameters in one line: those that belong to the log and not to the robot."""
    if not fit.log_names:
        return []
    names = list(dict.fromkeys(_AXIS_FAMILY.sub(r"\g<family>", name) for name in fit.log_names))
    if len(fit.log_names) == 1:
        name = fit.log_names[0]
        return [f"of the log, not the robot: {name} {fit[name]:.3g} {_unit(fit, name)}"]
    return [f"of the log, not the robot: {len(fit.log_names)} values ({', '.join(names)})"]


def _field_lines(fit: Fit) -> list[str]:
    """What of the robot file was identified, and that the rest is one of many."""
    alone, combined = _paths(fit, "identified"), _paths(fit, "combination")
    lines = [f"Fields identified: {', '.join(alone)}." if alone else "No field was identified."]
    if combined:
        lines.append(
            f"Only in combinations (base parameters): {', '.join(combined)}. The robot file is the "
            "nearest to the given one that has these base parameters; quote those, not its bodies."
        )
    return lines


def _paths(fit: Fit, status: Status) -> list[str]:
    """Paths of fields without their axis or limb."""
    found = fit.determined.of(status)
    return list(dict.fromkeys(re.sub(r"\[\d\]", "", item.path) for item in found))


def identified_bodies(fit: Fit) -> tuple[BodyVerdict, ...]:
    """The bodies all of whose fields are identified."""
    found = []
    for body in fit.consistency.bodies:
        kind, limb = body.name.rstrip(LIMBS), body.name[len(body.name.rstrip(LIMBS)) :]
        section = {"upper": "spindle.upper", "lower": "spindle.lower"}.get(kind, kind)
        stem = f"{section}[{int(limb) - 1}]." if limb else f"{section}."
        own = [item for path, item in fit.determined.items() if path.startswith(stem)]
        if (
            own
            and all(item.status != "combination" for item in own)
            and any(item.status == "identified" for item in own)
        ):
            found.append(body)
    return tuple(found)


def full_text(fit: Fit) -> str:
    """The fit in full: every parameter, term, sentence and field."""
    lines = [
        f"{fit.method} fit of the model {fit.model!r} for {fit.nominal.name}",
        *([verdict.text] if (verdict := fit.verdict).grade == BAD else []),
        *fit.far_from_file,
        fit.status,
        fit.table,
        fit.residual_text,
        fit.uncertainty.status,
    ]
    if fit.terms is not None:
        lines.append(fit.terms.text)
    if left_out := fit.left_out_text:
        lines.append(left_out)
    if fit.certificate is not None:
        lines.append(fit.certificate.sentence)
    if fit.limbs is not None:
        lines.append(fit.limbs.recommendation)
    if fit.gains is not None:
        lines.append(fit.gains.status)
    lines += [f"warning: {text}" for text in fit.warnings + fit.findings]
    lines.append("Fields of the robot file:")
    lines += [f"  {item}" for item in fit.determined.values()]
    found = fit.consistency
    lines.append("All bodies can exist." if found.consistent else str(found))
    lines += [body.sentence for body in identified_bodies(fit)]
    return "\n".join(lines)


# The robot file.


def with_sources(fit: Fit) -> Fit:
    """The fit with a source at every field that it changed or identified: what is said of it."""
    groups: dict[str, list[FieldStatus]] = {}
    for item in fit.determined.values():
        groups.setdefault(source_path(fit.robot, item.path), []).append(item)
    sources = dict(fit.robot.sources)
    for path, items in groups.items():
        found = _source_of(fit, path, items)
        if found is not None:
            sources[path] = found
    return replace(fit, robot=replace(fit.robot, sources=sources))


def source_path(robot: Robot, path: str) -> str:
    """Where a robot file has the source of a field: one for all entries of a list."""
    head, _, index = path.rpartition("[")
    if not head or not path.endswith("]"):
        return path
    axis = int(index[:-1])
    if robot.linear and axis >= robot.legs and head.startswith(("friction", "drives")):
        return path  # axis 4 has a field of its own beside carriages
    return head


def _source_of(fit: Fit, path: str, items: Sequence[FieldStatus]) -> Source | None:
    """The source of a field, or None where the file's own stays."""
    status = items[0].status
    old = fit.before.sources.get(path)
    if all(item.status == "identified" for item in items):
        ends = ", ".join(f"{i.interval[0]:.4g} to {i.interval[1]:.4g}" for i in items if i.interval)
        return Source(f"identified ({fit.method}), 95 %: {ends}")
    if status == "kept":
        same = all(_relative_change(item) <= SAME_VALUE for item in items)
        return old if same else None
    if not any(item.value or item.before for item in items):
        return None
    base = ", ".join(dict.fromkeys(name for item in items for name in item.base))
    change = max(_relative_change(item) for item in items)
    text = f"identified only in a combination ({fit.method}): {base}"
    if change <= SAME_VALUE:
        text += "; the value is the file's"
    else:
        values = dict.fromkeys(f"{item.before or 0.0:.4g}" for item in items)
        text += f"; the file had {', '.join(values)} {items[0].unit}".rstrip()
    if old is not None:
        text += f", {old.text.partition('; the file had')[0]}"
    trusted = old is not None and not old.assumed and change < MEASURED_RATIO - 1
    return Source(text, assumed=not trusted)


def _relative_change(item: FieldStatus) -> float:
    before = item.before or 0.0
    if before == item.value:
        return 0.0
    return abs(item.value - before) / abs(before) if before else np.inf


def robot_file_text(fit: Fit) -> str:
    """The robot file of a fit, headed by what was identified."""
    lines = [
        f"Identified by deltadyn, method {fit.method}, model {fit.model}. The logs identified base "
        "parameters:",
    ]
    ends = fit.interval()
    for j in range(fit.parametrisation.own):
        low, high = ends[j]
        lines.append(
            f"  {fit.names[j]} = {fit.values[j]:.5g} {fit.units[j]}, 95 % from {low:.5g} to "
            f"{high:.5g}; before {fit.parametrisation.prior[j]:.5g}"
        )
    lines += [
        "This file is the nearest robot to the given one that has them. The source of a field says",
        "whether the field itself was identified, or only the combinations that it is in. Fields",
        "without such a source are kept from the file.",
    ]
    return "".join(f"# {line}\n" for line in lines) + robot_text(fit.robot)
