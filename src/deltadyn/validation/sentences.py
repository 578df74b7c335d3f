"""The words for what a residual shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.validation.explain import Value
from deltadyn.validation.resonance import Peak
from deltadyn.validation.ripple import Ripple
from deltadyn.validation.whiteness import Whiteness

LEAST_STRIBECK = 0.2  # of the Coulomb torque: less comes from the width of its step


def cause_sentence(
    robot: Robot, cause: str, share: float, axis_share: FloatArray, values: Sequence[Value]
) -> str:
    """What a cause explains, and the parameters that it asks for."""
    explained = f"explains {percent(share)} of the residual's power ({_shares(robot, axis_share)})"
    return f"{cause}: {_said(cause, values)}; {explained}."


def elasticity_sentence(robot: Robot, peaks: Sequence[Peak]) -> str:
    """Where the residual has a narrow peak."""
    names = robot.axis_names()
    told = ", ".join(
        f"axis {names[peak.axis]} at {peak.frequency:.3g} Hz ({peak.rms:.3g} N m RMS, "
        f"{percent(peak.share)} of the power)"
        for peak in peaks
    )
    return (
        f"elasticity: the residual as recorded has a narrow peak above the motion, {told}; "
        "a gear or the frame swings there, and a rigid model cannot follow."
    )


def ripple_sentence(robot: Robot, ripple: Sequence[Ripple]) -> str:
    """Where the residual has waves over the angle."""
    names = robot.axis_names()
    told = ", ".join(
        f"axis {names[item.axis]} {item.waves} per turn with {item.amplitude:.3g} N m "
        f"({percent(min(item.share, 1.0))} of the power)"
        for item in ripple
    )
    return (
        f"ripple: the residual as recorded has waves over the angle of its axis, {told}; "
        "cogging of the motor or the mesh of the gear."
    )


def whiteness_sentence(robot: Robot, found: Whiteness) -> str:
    """Whether the residual is white, and over which time it resembles itself."""
    names = robot.axis_names()
    coloured = [names[k] for k in range(robot.dof) if not found.white[k]]
    if not coloured:
        return "The residual is white in the compared band."
    times = found.correlation_time[~found.white] * 1e3
    low, high = (
        f"{value:.0f}" if value >= 10 else f"{value:.2g}" for value in (times.min(), times.max())
    )
    told = low if low == high else f"{low} to {high}"
    axes = "axis" if len(coloured) == 1 else "axes"
    which = "" if len(coloured) == robot.dof else f" on {axes} {', '.join(coloured)}"
    return f"The residual is not white{which}: it resembles itself over {told} ms."


def percent(share: float) -> str:
    """A share for a sentence: "7.3 %", "98 %", "99.6 %", "> 99.99 %"."""
    value = 100 * share
    if value > 99:
        digits = next((n for n in (0, 1, 2) if 100 - value >= 2 * 10.0**-n), 2)
        return f"{value:.{digits}f} %" if 100 - value >= 0.005 else "> 99.99 %"
    return f"{value:.2g} %"


def _shares(robot: Robot, share: FloatArray) -> str:
    pairs = zip(robot.axis_names(), share, strict=True)
    return ", ".join(f"axis {name} {percent(max(value, 0.0))}" for name, value in pairs)


def _said(cause: str, values: Sequence[Value]) -> str:
    if cause == "friction":
        return _friction(values)
    if cause == "payload":
        mass = values[0]
        word = "more" if mass.value > 0 else "less"
        return f"the recording fits {abs(mass.value):.3g} kg (std {mass.std:.2g}) {word} payload"
    if cause == "delay":
        late = _listed(values, 1e3)
        return f"the measured torque lags behind the model by {late} ms (negative: it leads)"
    if cause == "homing":
        told = _listed(values, float(np.rad2deg(1.0)))
        return f"the arms seem to stand off their recorded angles by {told} degrees"
    if cause == "offset":
        told = _listed(values)
        return (
            f"a constant torque of {told} N m: a cable, a spring, the zero of the current sensor, "
            "gravity of an arm"
        )
    if cause == "inertia":
        return _inertia(values)
    return f"the drives seem to give {_listed(values, 100.0)} % more torque than modelled"


def _inertia(values: Sequence[Value]) -> str:
    inertia = [item for item in values if item.parameter.name == "inertia"]
    moment = [item for item in values if item.parameter.name == "moment"]
    told = f"the axes seem to have {_listed(inertia)} kg m^2 more inertia"
    if any(item.sure for item in moment):
        told += f" and {_listed(moment)} kg m more mass times distance"
    return f"{told} than modelled"


def _friction(values: Sequence[Value]) -> str:
    terms, largest = [], 0.0
    for name, unit in (("viscous", "N m s/rad"), ("coulomb", "N m"), ("stribeck", "N m")):
        own = [item for item in values if item.parameter.name == name]
        size = max(abs(item.value) for item in own)
        if name == "coulomb":
            largest = size
        small = name == "stribeck" and size < LEAST_STRIBECK * largest
        if any(item.sure for item in own) and not small:
            terms.append(f"{name} {_listed(own)} {unit}")
    return f"missing in the model (negative: too much in it): {', '.join(terms)}"


def _listed(values: Sequence[Value], scale: float = 1.0) -> str:
    """Values of the axes; those within four standard deviations of zero are put in brackets."""
    told = [f"{scale * item.value:.3g}" for item in values]
    return ", ".join(
        text if item.sure else f"({text})" for text, item in zip(told, values, strict=True)
    )
