"""The result of the two-step identification: two tables and what must be said about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError
from deltadyn.robot import Robot

CLEAR = 2.0  # standard deviations below 0 that are no accident


@dataclass(frozen=True, eq=False)
class Step:
    """One step: values and standard deviations in their units, residuals per arm in N m.

    `std` comes from the scatter of blocks of time, so that correlated residuals count as such; in
    the second step it holds what the first leaves open. `unbounded` is the fit before negative
    masses, inertias and friction were forbidden. `rms` and `torque_rms` (3,) are of the samples
    that were compared, `samples` of them.
    """

    title: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    std: FloatArray
    unbounded: FloatArray
    rms: FloatArray
    torque_rms: FloatArray
    samples: int

    def value(self, name: str) -> float:
        """The value of a parameter."""
        return float(self.values[self._index(name)])

    def std_of(self, name: str) -> float:
        """The standard deviation of a parameter."""
        return float(self.std[self._index(name)])

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Parameters that the unbounded fit makes negative and that cannot be."""
        pairs = zip(self.names, self.unbounded, strict=True)
        return tuple(name for name, value in pairs if value < 0 and not name.startswith("F0"))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        rows = zip(self.names, self.units, self.values, self.std, self.unbounded, strict=True)
        return {
            "title": self.title,
            "samples": self.samples,
            "rms_Nm": self.rms.tolist(),
            "torque_rms_Nm": self.torque_rms.tolist(),
            "parameters": [
                {"name": n, "unit": u, "value": float(v), "std": float(s), "unbounded": float(b)}
                for n, u, v, s, b in rows
            ],
        }

    def __str__(self) -> str:
        rms, torque = (" ".join(f"{x:.3g}" for x in row) for row in (self.rms, self.torque_rms))
        lines = [
            f"{self.title}: residual {rms} N m RMS of {torque}, {self.samples} samples",
            f"  {'parameter':<14}{'value':>12}{'std':>11}  unit",
        ]
        rows = zip(self.names, self.values, self.std, self.units, strict=True)
        lines += [f"  {n:<14}{value:>12.6g}{std:>11.2g}  {u}" for n, value, std, u in rows]
        return "\n".join(lines)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownNameError("parameter", name, self.names)
        return self.names.index(name)


@dataclass(frozen=True, eq=False)
class TwoStepResult:
    """The identified robot, the two steps, the parameters that were held, a status in sentences."""

    robot: Robot
    model: str
    legs: Step
    rod: Step
    held: tuple[str, ...]
    status: str

    @property
    def steps(self) -> tuple[Step, Step]:
        """The legs, then the rod."""
        return self.legs, self.rod

    def step_of(self, name: str) -> Step:
        """The step that has a parameter."""
        for step in self.steps:
            if name in step.names:
                return step
        raise UnknownNameError("parameter", name, self.legs.names + self.rod.names)

    def value(self, name: str) -> float:
        """The value of a parameter of either step."""
        return self.step_of(name).value(name)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        return {
            "robot": self.robot.name,
            "model": self.model,
            "held": list(self.held),
            "status": self.status,
            "steps": [step.as_dict() for step in self.steps],
        }

    def __str__(self) -> str:
        title = f"{self.robot.name}: two-step identification, model {self.model!r}"
        return "\n".join([title, str(self.legs), str(self.rod), self.status])


def status_of(steps: Sequence[Step], held: Sequence[str], model: str) -> str:
    """What the fits mean: bounds that were met, what was held, what the data do not tell."""
    sentences = [_forbidden(step) for step in steps if step.forbidden]
    if not sentences:
        sentences = ["No mass, inertia or friction is negative."]
    if held:
        sentences.append(f"Held as given: {', '.join(held)}.")
    if model == "projected-rod":
        sentences.append(
            "The legs' torque in this model holds fewer numbers than platform, arms, struts and "
            "rotors have: they are as good as what was held."
        )
    sentences.append(
        "An effector's mass cannot be told from the platform's and stays as given, as do axis 4 "
        "and the shape of every body."
    )
    return " ".join(sentences)


def _forbidden(step: Step) -> str:
    """The negative values of a step, and whether they are more than noise."""
    texts, clear, others = [], False, set()
    for name in step.forbidden:
        index = step.names.index(name)
        value, std, unit = step.unbounded[index], step.std[index], step.units[index]
        texts.append(f"{name} {value:.3g} {unit} (std {std:.2g})")
        clear = clear or bool(value < -CLEAR * std)
        others.add("rotor" if name.startswith("rotor") else "other")
    text = f"Step {step.title!r}: without bounds the data ask for {', '.join(texts)}, which no "
    text += "robot has; the bounded fit was taken."
    if not clear:
        return text + " It is within twice the standard deviation of 0."
    if "rotor" in others:
        text += (
            " A negative rotor inertia means that masses and inertia do not fit together, as in "
            "[telescopic2022] table 2 by eq. 36: a held mass or the model is wrong."
        )
    return text
