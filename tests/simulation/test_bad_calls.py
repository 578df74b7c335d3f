"""Wrong calls of the bench: each is refused at once and says what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.simulation.factory import Constant, standing

import deltadyn as dd
from deltadyn.errors import InputError, RobotError, UnknownNameError
from deltadyn.motion import Motion
from deltadyn.simulation import PD, Law, PDFeedforward, Preset, Task, simulate

THREE, FOUR = dd.load_robot("example-delta"), dd.load_robot("example-delta-4")
M3, M4 = standing(THREE, 0.01), standing(FOUR, 0.01)
ANYTHING: Any = "anything"


class Answer:
    """A controller whose law gives the wrong thing."""

    def __init__(self, torque: Any) -> None:
        self.torque = torque

    def prepare(self, task: Task) -> Law:
        return lambda k, q, qd: self.torque


def unreachable() -> Motion:
    p = np.tile([0.0, 0.0, -0.6], (8, 1))
    p[5, 2] = -3.0
    zero = np.zeros_like(p)
    t = np.linspace(0.0, 0.01, 8)
    return Motion.from_platform(THREE, t, p, zero, zero, unreachable="nan")


def run3(**changes: Any) -> Callable[[], object]:
    return lambda: simulate(THREE, M3, **changes)


class Wrong(NamedTuple):
    """A call and its message."""

    call: Callable[[], object]
    message: str
    kind: type[InputError] = InputError


WRONG: dict[str, Wrong] = {
    "robot": Wrong(
        lambda: simulate(ANYTHING, M3),
        "robot is 'str'; allowed: a Robot",
    ),
    "motion": Wrong(
        lambda: simulate(THREE, ANYTHING),
        "motion is 'str'; allowed: a Motion, made by Motion.from_platform or Motion.from_joints",
    ),
    "state instead of motion": Wrong(
        lambda: simulate(THREE, dd.State.from_joints(THREE, M3.q)),  # type: ignore[arg-type]
        "motion is 'State'; allowed: a Motion, made by Motion.from_platform or Motion.from_joints",
    ),
    "motion of another robot": Wrong(
        lambda: simulate(THREE, M4),
        "coordinates of the motion is 4; allowed: 3 coordinates, as robot 'example-delta' has",
    ),
    "one sample": Wrong(
        lambda: simulate(THREE, Motion.from_joints(THREE, [0.0], M3.q[:1], M3.qd[:1], M3.qdd[:1])),
        "samples of the motion is 1; allowed: at least 2",
    ),
    "unreachable motion": Wrong(
        lambda: simulate(THREE, unreachable()),
        "motion at row 5 is 'NaN'; allowed: a motion that can be reached",
    ),
    "plant": Wrong(
        run3(plant="gazebo"),
        "plant is 'gazebo'; allowed: one of 'ideal', 'mujoco'",
        UnknownNameError,
    ),
    "preset": Wrong(
        run3(preset="perfect"),
        "preset is 'perfect'; allowed: one of 'ideal', 'lab', 'industrial', or a Preset",
        UnknownNameError,
    ),
    "preset that is a list": Wrong(
        run3(preset=["lab"]),
        "preset is ['lab']; allowed: one of 'ideal', 'lab', 'industrial', or a Preset",
        UnknownNameError,
    ),
    "rate of zero": Wrong(run3(rate=0.0), "rate is 0; allowed: above 0 Hz"),
    "rate that is no number": Wrong(run3(rate="fast"), "rate is 'fast'; allowed: a number"),
    "rate below the motion": Wrong(
        run3(rate=50.0), "rate is 50; allowed: at least one tick within the motion, 100 Hz"
    ),
    "seed": Wrong(run3(seed=-1), "seed is -1; allowed: a whole number, at least 0"),
    "seed that is no number": Wrong(
        run3(seed=0.5), "seed is 0.5; allowed: a whole number, at least 0"
    ),
    "controller": Wrong(
        run3(controller="PD"),
        "controller is 'str'; allowed: a controller: PD, PDFeedforward or an object with their "
        "method prepare",
    ),
    "controller of another robot": Wrong(
        run3(controller=PD(FOUR)),
        "axes of the controller's robot is 4; allowed: 3, as the motion has",
    ),
    "torque of two axes": Wrong(
        run3(controller=Constant((1.0, 2.0))),
        "torque of the controller is [1, 2]; allowed: 3 finite numbers",
    ),
    "torque that is not finite": Wrong(
        run3(controller=Constant((1.0, math.nan, 0.0))),
        "torque of the controller is [1, nan, 0]; allowed: 3 finite numbers",
    ),
    "torque that is no list": Wrong(
        run3(controller=Answer(None)),
        "torque of the controller is None; allowed: 3 finite numbers",
    ),
    "payload that is a number": Wrong(
        run3(payload=2.0),
        "payload is 2; allowed: pairs (time in s, mass in kg or Payload)",
    ),
    "payload event of three": Wrong(
        run3(payload=[(0.0, 1.0, 2.0)]),
        "payload[0] is [0, 1, 2]; allowed: a pair (time in s, mass in kg or Payload)",
    ),
    "payload after the end": Wrong(
        run3(payload=[(0.001, 1.0), (0.5, 0.0)]),
        "payload[1] time is 0.5; allowed: from 0 to 0.01 s",
    ),
    "payload back in time": Wrong(
        run3(payload=[(0.005, 1.0), (0.005, 0.0)]),
        "payload[1] time is 0.005; allowed: above its predecessor, 0.005 s",
    ),
    "negative payload": Wrong(
        run3(payload=[(0.0, -1.0)]), "payload[0] mass is -1; allowed: at least 0 kg"
    ),
    "force of two": Wrong(
        run3(external_force=[1.0, 2.0]),
        "shape of external_force is [2]; allowed: (3,) or (N, 3)",
    ),
    "force of many rows": Wrong(
        run3(external_force=np.zeros((5, 3))),
        "shape of external_force is [5, 3]; allowed: (3,), or (4,) where the tool turns",
    ),
    "force that is not finite": Wrong(
        run3(external_force=lambda t: [0.0, math.inf, 0.0]),
        "external_force at row 0, axis 1 is inf; allowed: finite numbers",
    ),
    "hold": Wrong(
        run3(hold="cubic"),
        "preset.hold is 'cubic'; allowed: one of 'linear', 'step'",
        UnknownNameError,
    ),
    "delay in seconds": Wrong(
        run3(delay=0.001), "preset.delay is 0.001; allowed: a whole number of ticks, at least 0"
    ),
    "negative noise": Wrong(
        run3(current_noise=-0.1), "preset.current_noise is -0.1; allowed: at least 0"
    ),
    "all rows dropped": Wrong(run3(dropped=1.0), "preset.dropped is 1; allowed: from 0 to 0.9"),
    "encoder without counts": Wrong(
        run3(encoder_counts=0), "preset.encoder_counts is 0; allowed: above 0"
    ),
    "unequal arms of five": Wrong(
        lambda: Preset(arm_scale=(1.0, 1.1, 1.0, 1.0, 1.0)),
        "preset.arm_scale is [1, 1.1, 1, 1, 1]; allowed: one number, or 2 to 4 numbers, one for "
        "each limb",
    ),
    "weightless arm": Wrong(
        run3(arm_scale=(1.0, 0.0, 1.0)), "preset.arm_scale[1] is 0; allowed: above 0"
    ),
    "sharp friction": Wrong(run3(smoothing=0.0), "preset.smoothing is 0; allowed: above 0"),
    "below absolute zero": Wrong(
        run3(temperature=-300.0), "preset.temperature is -300; allowed: at least -273.15 degrees C"
    ),
    "gains of two axes": Wrong(
        lambda: PD(THREE, stiffness=[1.0, 2.0]),
        "stiffness is [1, 2]; allowed: one number or 3 numbers",
    ),
    "negative damping": Wrong(
        lambda: PD(THREE, damping=-1.0), "damping is -1; allowed: at least 0"
    ),
    "bandwidth": Wrong(lambda: PD(THREE, bandwidth=0.0), "bandwidth is 0; allowed: above 0 Hz"),
    "robot of a controller": Wrong(
        lambda: PDFeedforward(ANYTHING), "robot is 'str'; allowed: a Robot"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_is_allowed(name: str) -> None:
    wrong = WRONG[name]
    with pytest.raises(wrong.kind) as caught:
        wrong.call()
    assert str(caught.value) == wrong.message
    assert not isinstance(caught.value, RobotError)  # the robot is not to blame


def test_unknown_switches_are_named() -> None:
    with pytest.raises(UnknownNameError, match="switch is 'noise'; allowed: one of"):
        simulate(THREE, M3, noise=0.1)
    with pytest.raises(UnknownNameError, match="model is 'newton'; allowed: one of 'exact'"):
        PDFeedforward(THREE, "newton")
