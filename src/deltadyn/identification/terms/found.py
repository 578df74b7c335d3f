"""What was found of a machine, in names, probabilities and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deltadyn.identification.terms.carry import MACHINE, SENSORS
from deltadyn.identification.terms.choose import Choice
from deltadyn.identification.terms.evidence import probabilities
from deltadyn.identification.terms.intervals import Hull, Scatter
from deltadyn.identification.terms.structure import KINDS

LIKELY = 0.05  # probability from which on a rival is named
NAMES = {
    "offset": "torque offset or Coulomb friction that differs by direction",
    "stribeck": "Stribeck friction",
    "thinning": "friction that rises less than linearly with the rate",
    "load": "gear loss, a share of the torque through the gear",
    "motor_load": "gear loss, a share of the motor's torque",
    "limbs": "limbs that differ",
    "torque_ratio": "torque constants that differ between the drives",
    "delay": "delay between torque and angle",
    "drift": "viscous friction that drifts",
    "ripple": "torque ripple",
    "eccentricity": "eccentric encoder",
    "elastic": "elastic gears",
    "stiffness": "gears that are softer or stiffer than the robot's",
    "geometry": "small errors of the geometry",
    "homing": "arms that stand off their logged angles",
    "other": "a smooth torque without a name",
}
#: Those that tell what is wrong with a robot, and that a fit does not look for.
CAUSES = ("homing", "stiffness")


@dataclass(frozen=True)
class FoundTerm:
    """A term: its `title`, its probability, its parameters, and what it is worth.

    `values` holds value, standard deviation and unit by name. `setting` is an order (per turn), a
    rotor's share of A, the range of temperature (K) or the mean of the axes' `velocities` (rad/s).
    `worth` is the RMS residual on motion that the fit did not see, without and with the term, in
    percent of the RMS torque.
    """

    title: str
    name: str
    probability: float
    values: Mapping[str, tuple[float, float, str]]
    setting: float | None
    worth: tuple[float, float]
    velocities: tuple[float, ...] = ()

    @property
    def of(self) -> str:
        """Where it belongs: "machine", "sensors", "log", or "nuisance" where it has no place."""
        if self.name in (*MACHINE, "elastic"):
            return "machine"
        if self.name in SENSORS:
            return "sensors"
        return "log" if self.name in ("delay", "drift") else "nuisance"

    @property
    def on_rails(self) -> bool:
        """Whether it is a term of carriages: of forces and ways."""
        return any(unit in ("N", "m") for _, _, unit in self.values.values())

    @property
    def text(self) -> str:
        """The term in words."""
        words = NAMES[self.name]
        if self.setting is not None and self.name in ("ripple", "eccentricity"):
            words += f", {self.setting:g} {'rad/m' if self.on_rails else 'per turn'}"
        if self.velocities:
            speeds = ", ".join(f"{v:.2g}" for v in self.velocities)
            words += f", velocities {speeds} {'m/s' if self.on_rails else 'rad/s'}"
        if self.name == "drift" and self.setting is not None:
            words += f" with temperature, over {self.setting:.2g} K"
        if self.name == "delay":
            words += f", {1e3 * self.values['delay'][0]:.2f} ms"
        before, after = self.worth
        return (
            f"{words} (probability {self.probability:.2f}; residual on unseen motion "
            f"{before:.2f} to {after:.2f} % of the torque)"
        )


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a fit: those found, the rival sets that remain, and what was considered.

    `rivals` are other sets with their probability. `rest` (dof,) in rad/s is the rate below which
    an axis was left out. `missing` says that the residual follows the motion and that no term
    explains it; `unexplained` (dof,) is the share of its variance that does, and `follows` the kind
    of shape that shows most.
    """

    found: tuple[FoundTerm, ...]
    rivals: tuple[tuple[tuple[str, ...], float], ...]
    considered: tuple[str, ...]
    probability: float
    rest: tuple[float, ...]
    unexplained: tuple[float, ...]
    missing: bool
    hull: Hull = field(repr=False)
    scatter: Scatter = field(repr=False)
    note: str = ""  # where they come from, if not from samples
    idle: tuple[tuple[str, float], ...] = ()  # not carried, with their probability

    @property
    def idle_text(self) -> str:
        """What was chosen and is not carried, in words; empty where there is nothing."""
        if not self.idle:
            return ""
        parts = []
        for title, share in self.idle:
            words = NAMES.get(title) or NAMES[title.rstrip("0123456789")]
            parts.append(f"{words} (probability {share:.2f})")
        return (
            f"Not carried: {', '.join(parts)}: every interval holds 0, and the error falls by less "
            "than a tenth on half of the unseen motion or more. The intervals count them."
        )

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of the terms that were found."""
        return tuple(term.title for term in self.found)

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability of each term that was found."""
        return {term.title: term.probability for term in self.found}

    @property
    def follows(self) -> str:
        """What the residual follows where a term is missing, in words; else nothing."""
        return KINDS[self.hull.structure.kind] if self.missing else ""

    @property
    def text(self) -> str:
        """What was found, in words."""
        if self.found:
            lines = [f"Terms of this machine (the set has probability {self.probability:.2f}):"]
            lines += [f"  {term.text}" for term in self.found]
        else:
            lines = [
                f"No term beyond the robot file's model is needed ({self.probability:.2f} of the "
                "probability)."
            ]
        for titles, share in self.rivals:
            if share >= LIKELY:
                names = ", ".join(titles) or "no term"
                lines.append(f"  a rival with probability {share:.2f}: {names}")
        if self.idle:
            lines.append(self.idle_text)
        if "torque_ratio" in self.titles:
            lines.append(
                "  Torque is in units of the mean torque constant: a common error of all drives "
                "needs a known payload (gains=True)."
            )
        if self.missing:
            lines.append(
                f"A term is missing: up to {100 * max(self.unexplained):.0f} % of the residual's "
                f"variance follows {self.follows}, and no term explains it"
                + ("; terms that were found may stand in for it" if self.found else "")
                + ". Intervals are widened for it."
            )
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    @property
    def short_text(self) -> str:
        """The terms in a few lines: each with its probability, and how many rivals remain."""
        if not self.found:
            more = [text for text in (self.idle_text, self.note) if text]
            return "\n".join([self.text.splitlines()[0], *more])
        lines = [f"Terms of this machine (the set has probability {self.probability:.2f}):"]
        lines += [f"  {term.text}" for term in self.found]
        likely = sum(share >= LIKELY for _, share in self.rivals)
        if likely:
            lines.append(f"  {likely} rival sets of terms remain, counted in the intervals")
        lines += [self.idle_text] if self.idle else []
        if self.missing:
            lines += [line for line in self.text.splitlines() if line.startswith("A term is")]
        lines += [self.note] if self.note else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "found": [
                {
                    "term": term.title,
                    "of": term.of,
                    "probability": term.probability,
                    "setting": term.setting,
                    "velocities": list(term.velocities),
                    "parameters": {
                        name: {"value": value, "std": std, "unit": unit}
                        for name, (value, std, unit) in term.values.items()
                    },
                    "unseen_residual_percent": list(term.worth),
                }
                for term in self.found
            ],
            "probability": self.probability,
            "rivals": [{"terms": list(t), "probability": p} for t, p in self.rivals],
            "considered": list(self.considered),
            "rest_rad_s": list(self.rest),
            "unexplained": list(self.unexplained),
            "follows": self.follows,
            "missing": self.missing,
            "not_carried": [{"term": t, "probability": p} for t, p in self.idle],
            "note": self.note,
        }


def found_terms(
    choice: Choice, hull: Hull, scatter: Scatter, settled: Choice | None = None
) -> Terms:
    """The result of a choice; values are those of its terms alone where they were `settled`."""
    share = probabilities(choice.models)
    by_title: dict[str, float] = {}
    sets: dict[tuple[str, ...], float] = {}
    for model, weight in zip(choice.models, share, strict=True):
        titles = tuple(title for title in choice.titles(model) if title not in choice.idle)
        sets[titles] = sets.get(titles, 0.0) + float(weight)
        for title in set(choice.titles(model)):
            by_title[title] = by_title.get(title, 0.0) + float(weight)
    idle = tuple((title, by_title[title]) for title in choice.idle)
    best, considered = choice.titles(), choice.terms
    choice = settled or choice
    chosen = choice.best.candidates
    with_all = 100 * choice.unseen.error(chosen)
    found = []
    names = [p.name for term in choice.terms for p in term.parameters]
    k = choice.weighing.rows.base
    for number in sorted(chosen):
        term = choice.terms[number]
        own = {
            p.name: (
                float(choice.z[k + c]),
                float(np.sqrt(max(choice.V[k + c, k + c], 0.0))),
                p.unit,
            )
            for c, p in zip(choice.items[number].columns, term.parameters, strict=True)
        }
        percent = (100 * choice.unseen.error(chosen - {number}), with_all)
        probability = by_title[term.title]
        found.append(
            FoundTerm(
                term.title, term.name, probability, own, term.setting, percent, term.velocities
            )
        )
    assert len(names) == len(choice.z) - k
    others = sorted(((t, p) for t, p in sets.items() if t != best), key=lambda item: -item[1])
    return Terms(
        tuple(found),
        tuple(others[:8]),
        tuple(dict.fromkeys(term.name for term in considered if not term.stands_for)),
        sets[best],
        tuple(choice.rest.tolist()),
        tuple(hull.structure.share.tolist()),
        hull.missing,
        hull,
        scatter,
        idle=idle,
    )
