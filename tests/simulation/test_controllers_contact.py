"""Controllers that feel: the stop on a contact, and the robot that a hand leads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import standing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force import ForceObserver, Tare
from deltadyn.motion import Motion
from deltadyn.simulation import (
    PD,
    PRESETS,
    AdaptiveFeedforward,
    ContactStop,
    HandGuiding,
    PDFeedforward,
    Preset,
    Wall,
    check_gains,
    simulate,
)
from deltadyn.simulation.controllers.contact import BRAKES, Place, braked, braked_task
from deltadyn.simulation.drive.reference import make_task
from deltadyn.simulation.plant.machine import build_machine

ROBOT = dd.load_robot("sipro-d3-1200")
HEIGHT = -0.75  # m


@dataclass(eq=False)
class Told:
    """An observer that raises its alarm at a given time, and claims a force."""

    at: float = np.inf  # s
    push: tuple[float, ...] = (0.0, 0.0, 0.0)
    sure: float = 0.1
    contact: Any = None
    samples: list[float] = field(default_factory=list)

    def reset(self) -> None:
        self.contact, self.samples = None, []

    def update(self, q: Any, tau: Any, *, t: float | None = None) -> None:
        assert t is not None
        self.samples.append(t)
        if t >= self.at:
            self.contact = "alarm"

    @property
    def force(self) -> FloatArray:
        return np.array(self.push)

    @property
    def std(self) -> FloatArray:
        return np.full(len(self.push), self.sure)


def across(speed: float, *, length: float = 0.3, rest: float = 0.15) -> Motion:
    """Along x through the middle, where it has this speed in m/s."""
    whole = 1.875 * length / speed
    t = np.arange(round((whole + rest) * 2000)) / 2000
    u = np.clip(t / whole, 0.0, 1.0)
    p = np.zeros((len(t), 3))
    p[:, 0] = length * (10 * u**3 - 15 * u**4 + 6 * u**5 - 0.5)
    p[:, 2] = HEIGHT
    return Motion.from_platform(ROBOT, t, p)


@pytest.mark.parametrize("retreat", [0.0, 0.03])
def test_the_clock_of_a_braked_path(retreat: float) -> None:
    """Up to the alarm as it was, then slower along the same path to rest; rates fit."""
    motion = across(1.0)
    task = make_task(ROBOT, motion, 2000.0, Preset())
    tick, brake = 500, 0.04
    slowed = braked(ROBOT, task, tick, Place(), brake, retreat)
    np.testing.assert_allclose(slowed.q[: tick + 1], task.now.q[: tick + 1])
    np.testing.assert_allclose(slowed.qd[: tick + 1], task.now.qd[: tick + 1])
    inner = slice(tick - 20, tick + 250)
    for value, rate, scale in ((slowed.q, slowed.qd, 1.0), (slowed.qd, slowed.qdd, 150.0)):
        numeric = np.gradient(value[inner], 1 / 2000, axis=0)[1:-1]
        np.testing.assert_allclose(numeric, rate[inner][1:-1], atol=2e-2 * scale)
    stands = task.now.t[tick] + brake / 2 - retreat
    expected = np.interp(stands, motion.t, motion.p[:, 0])
    assert slowed.p[-1, 0] == pytest.approx(expected, abs=1e-5)
    assert np.abs(slowed.qd[-1]).max() < 1e-12
    assert np.abs(slowed.p[:, 1]).max() < 1e-9


def test_a_stop_brakes_and_holds() -> None:
    motion = across(1.0)
    observer = Told(at=0.3)
    stop = ContactStop(PDFeedforward(ROBOT), observer, brake=0.05, retreat=0.0)
    run = simulate(ROBOT, motion, stop)
    assert observer.contact == "alarm"
    expected = np.interp(0.325, motion.t, motion.p[:, 0])
    assert run.truth.p[-1, 0] == pytest.approx(expected, abs=1e-4)
    assert np.abs(run.truth.qd[-1]).max() < 1e-3
    free = simulate(ROBOT, motion, ContactStop(PDFeedforward(ROBOT), Told()))
    plain = simulate(ROBOT, motion, PDFeedforward(ROBOT))
    np.testing.assert_allclose(free.truth.q, plain.truth.q, atol=1e-12)


def test_the_brake_is_as_short_as_the_torque_allows() -> None:
    task = make_task(ROBOT, across(2.5), 2000.0, Preset())
    tick = len(task.now.t) // 3
    peak = np.asarray(ROBOT.limits.torque_peak)

    def chosen(robot: dd.Robot) -> Motion:
        return braked_task(ContactStop(PDFeedforward(robot), Told()), task, tick, Place()).now

    tau = np.abs(dd.inverse_dynamics(ROBOT, chosen(ROBOT)))
    assert np.all(tau[tick : tick + 100] <= peak)
    weak = ROBOT.replace(limits=dd.load_robot("sipro-d3-1200").limits.__class__(torque_peak=60.0))
    stands = [
        int(np.flatnonzero(np.abs(chosen(robot).qd[tick:]).max(axis=1) < 1e-9)[0])
        for robot in (ROBOT, weak)
    ]
    assert stands[0] < stands[1]
    assert min(stands) >= round(BRAKES[0] * 2000)


def test_gains_are_those_of_the_controller_within() -> None:
    stop = ContactStop(PDFeedforward(ROBOT), Told())
    slow = stop.for_drive(1000.0, "industrial")
    assert slow.controller == PDFeedforward(ROBOT).for_drive(1000.0, "industrial")
    assert check_gains(ROBOT, stop, 1000.0, "industrial").calm
    assert not check_gains(
        ROBOT, ContactStop(PD(ROBOT, bandwidth=20.0), Told()), 1000.0, "industrial"
    ).calm


@pytest.fixture(scope="module")
def feeling() -> tuple[dd.Robot, ForceObserver]:
    """The machine of the lab, known, and its observer with a tare."""
    robot = build_machine(ROBOT, PRESETS["lab"]).robot
    path = dd.motion.y1(ROBOT)
    law = PDFeedforward(robot)
    empty = [simulate(ROBOT, path, law, preset="lab", seed=seed).recording for seed in range(6)]
    return robot, ForceObserver(robot, Tare.of(robot, empty))


@pytest.mark.full
def test_a_stop_softens_a_collision(feeling: tuple[dd.Robot, ForceObserver]) -> None:
    """Against a wall of 30 N/mm at 1 m/s; after the retreat nothing is pressed."""
    robot, observer = feeling
    motion, wall = across(1.0, length=0.16), Wall((0.0, 0.0, 0.0), (-1.0, 0.0, 0.0), 30e3)
    law = PDFeedforward(robot)
    plain = simulate(ROBOT, motion, law, preset="lab", external_force=wall, seed=3)
    stop = ContactStop(law, observer)
    stopped = simulate(ROBOT, motion, stop, preset="lab", external_force=wall, seed=3)
    touch = float(plain.truth.t[np.flatnonzero(plain.truth.force[:, 0] < 0)[0]])
    assert observer.contact is not None
    assert 0.0 < observer.contact.time - touch < 0.02
    peaks = [-run.truth.force[:, 0].min() for run in (plain, stopped)]
    assert peaks[1] < 0.7 * peaks[0]
    assert np.abs(stopped.truth.force[-1]).max() == 0.0
    assert plain.truth.force[-1, 0] < -100.0


def test_a_hand_leads_the_robot() -> None:
    """At (F - band) / drag along the force; not below the band, not beyond `fastest`."""

    def led(force: float, **settings: Any) -> FloatArray:
        observer = Told(push=(0.6 * force, 0.8 * force, 0.0))
        guiding = HandGuiding(ROBOT, observer, band=5.0, **settings)
        run = simulate(ROBOT, motion, guiding)
        assert run.completed
        velocity: FloatArray = np.gradient(run.truth.p, run.truth.t, axis=0)[-2]
        return velocity

    start = np.tile([0.0, 0.0, HEIGHT], (600, 1))
    motion = Motion.from_platform(ROBOT, np.arange(600) / 2000, start)
    np.testing.assert_allclose(led(4.9), 0.0, atol=1e-6)
    np.testing.assert_allclose(led(17.0), [0.12, 0.16, 0.0], atol=5e-3)
    np.testing.assert_allclose(led(80.0), [0.3, 0.4, 0.0], atol=5e-3)  # 0.5 m/s


def test_a_hand_does_not_lead_out_of_the_workspace() -> None:
    cylinder = ROBOT.limits.workspace
    assert cylinder is not None
    start = np.tile([0.0, 0.0, cylinder.z_max - 0.01], (600, 1))
    motion = Motion.from_platform(ROBOT, np.arange(600) / 2000, start)
    run = simulate(ROBOT, motion, HandGuiding(ROBOT, Told(push=(0.0, 0.0, 60.0))))
    assert run.truth.p[:, 2].max() < cylinder.z_max + 1e-3
    outside = standing(ROBOT, 0.05, angle=-0.3)
    with pytest.raises(InputError, match="begin of the motion"):
        simulate(ROBOT, outside, HandGuiding(ROBOT, Told()))


def test_what_friction_holds() -> None:
    """The first axis gives way where J^T F passes its friction."""
    robot = build_machine(ROBOT, PRESETS["industrial"]).robot
    guiding = HandGuiding(robot, Told())
    p = np.array([0.1, -0.2, HEIGHT])
    J = dd.jacobian(robot, p)
    rubbed = np.asarray(robot.friction.coulomb) + np.asarray(robot.friction.stribeck)
    for axis, force in enumerate(guiding.held(p)):
        torque = np.abs(J.T @ (force * np.eye(3)[axis]))
        assert np.max(torque / rubbed) == pytest.approx(1.0)


def test_misuse_is_said(feeling: tuple[dd.Robot, ForceObserver]) -> None:
    robot, observer = feeling
    with pytest.raises(InputError, match=r"observer is 'float'; allowed: an observer with update"):
        ContactStop(PD(ROBOT), 1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="controller is 'str'"):
        ContactStop("PD", Told())
    with pytest.raises(InputError, match="brake"):
        ContactStop(PD(ROBOT), Told(), brake=0.0)
    with pytest.raises(InputError, match=r"rate of the observer is 2000; allowed: 1000 Hz"):
        simulate(ROBOT, standing(ROBOT, 0.05), ContactStop(PD(robot), observer), rate=1000.0)

    class Nothing:
        mass = 0.0

        def reset(self) -> None: ...

        def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None: ...

    learning = AdaptiveFeedforward(ROBOT, Nothing())
    with pytest.raises(InputError, match="one that asks for no torque"):
        simulate(ROBOT, standing(ROBOT, 0.05), ContactStop(learning, Told()))
    with pytest.raises(InputError, match="drag"):
        HandGuiding(ROBOT, Told(), drag=0.0)
