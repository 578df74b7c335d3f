"""The compiled plant beside the one in Python: the same run, to rounding, on every machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot
from tests.simulation.factory import Constant, excitation, standing, strokes

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.backends.loader import plant_module
from deltadyn.backends.plant_layout import MACHINE_COUNT, STATE_COUNT
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Payload
from deltadyn.simulation import (
    PD,
    PRESETS,
    AugmentedPD,
    Controller,
    Law,
    PDFeedforward,
    PDGravity,
    Run,
    Task,
    simulate,
)
from deltadyn.simulation.plant.compiled import CompiledPlant
from deltadyn.simulation.plant.ideal import IdealPlant, start_on
from deltadyn.simulation.plant.machine import build_machine
from deltadyn.simulation.presets import preset_by_name
from deltadyn.simulation.simulate import make_plant

# Both paths round differently at every operation; a closed loop of some 1000 ticks damps that.
SAME = 1e-9
FIELDS = (
    "q",
    "qd",
    "qdd",
    "q_motor",
    "qd_motor",
    "p",
    "tau",
    "ripple",
    "friction",
    "passive_friction",
    "temperature",
)

pytestmark = pytest.mark.skipif(not kernels.available(), reason="the extension is not built")


@pytest.fixture(scope="module", params=[3, 4])
def robot(request: pytest.FixtureRequest) -> Robot:
    """A catalogue robot with three and one with four axes."""
    return dd.load_robot("sipro-d3-1200" if request.param == 3 else "example-delta-4")


class Once:
    """A controller that prepares its law once: sharp friction in a feedforward torque flips where
    a reference's rate is zero to rounding, which is not the plant's doing."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.law: Law | None = None

    def prepare(self, task: Task) -> Law:
        self.law = self.law or self.controller.prepare(task)
        return self.law


def both(
    robot: Robot, motion: dd.Motion, controller: Controller | None = None, **options: Any
) -> tuple[Run, Run]:
    once = Once(PDFeedforward(robot) if controller is None else controller)
    compiled = simulate(robot, motion, once, **options)
    with kernels.switched_off():
        plain = simulate(robot, motion, once, **options)
    return compiled, plain


def assert_same(compiled: Run, plain: Run) -> None:
    assert compiled.status == plain.status
    assert compiled.completed == plain.completed
    for name in FIELDS:
        ours, theirs = getattr(compiled.truth, name), getattr(plain.truth, name)
        assert ours.shape == theirs.shape
        size = max(float(np.abs(theirs).max()), 1e-30)
        assert np.abs(ours - theirs).max() <= SAME * size, name
    for name in ("drives", "ripple", "external", "payload", "friction", "damping"):
        ours, theirs = getattr(compiled.energy, name), getattr(plain.energy, name)
        assert np.abs(ours - theirs).max() <= SAME * plain.energy.exchanged, name
    np.testing.assert_array_equal(compiled.truth.written, plain.truth.written)
    scale = np.abs(plain.recording.tau).max()
    np.testing.assert_allclose(compiled.recording.tau, plain.recording.tau, atol=SAME * scale)
    ours, theirs = compiled.recording.tau_command, plain.recording.tau_command
    assert ours is not None
    assert theirs is not None
    assert np.abs(ours - theirs).max() <= SAME * np.abs(theirs).max()


@pytest.mark.full
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_presets(robot: Robot, preset: str) -> None:
    motion = strokes(robot, 0.4)[0]
    assert_same(*both(robot, motion, preset=preset, seed=3))


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_plain_pd(robot: Robot, preset: str) -> None:
    motion = excitation(robot, 0.15)
    assert_same(*both(robot, motion, PD(robot), preset=preset))


def test_a_controller_in_python_runs_tick_by_tick(robot: Robot) -> None:
    motion = excitation(robot, 0.1)
    assert_same(*both(robot, motion, AugmentedPD(robot), preset="industrial"))


@pytest.mark.parametrize("model", ["exact", "half-half"])
def test_gravity_at_the_measured_angles(robot: Robot, model: str) -> None:
    motion = excitation(robot, 0.1)
    assert_same(*both(robot, motion, PDGravity(robot, model), preset="industrial"))


def test_payloads_and_a_force(robot: Robot) -> None:
    """The run is cut where the payload changes; the force is another one at every tick."""
    compiled, plain = both(
        robot,
        excitation(robot, 0.2),
        preset="lab",
        payload=[(0.0, 0.3), (0.0501, Payload(1.5, (0.0, 0.0, -0.05))), (0.15, 0.0)],
        external_force=lambda t: [20.0 * np.sin(30.0 * t), 5.0, -10.0],
    )
    assert len(np.unique(compiled.truth.payload)) == 3
    assert np.abs(compiled.energy.external).max() > 1e-3
    assert_same(compiled, plain)


@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("load", [0.0, 0.3])
def test_every_kind_of_friction(dof: int, load: float) -> None:
    """Both directions, Stribeck, offset, losses of rigid gears, and all passive joints."""
    friction = full_friction(dof, smoothing=0.5)
    machine = make_robot(dof, False).replace(friction=replace(friction, load=load).checked(dof))
    compiled, plain = both(machine, excitation_of(machine))
    assert np.abs(compiled.truth.passive_friction).max() > 1e-3
    assert_same(compiled, plain)


def excitation_of(robot: Robot) -> dd.Motion:
    """Arms that swing out of step by half a radian a second."""
    t = np.linspace(0.0, 0.1, 201)
    phase = np.arange(robot.dof)
    q = 0.4 + 0.05 * np.sin(10 * t[:, None] + phase)
    qd, qdd = 0.5 * np.cos(10 * t[:, None] + phase), -5.0 * np.sin(10 * t[:, None] + phase)
    return dd.Motion.from_joints(robot, t, q, qd, qdd)


@pytest.mark.parametrize("hold", ["linear", "step"])
def test_delay_saturation_and_hold(hold: str) -> None:
    robot = dd.load_robot("sipro-d3-1200")
    compiled, plain = both(
        robot,
        strokes(robot, 0.3)[1],
        preset="industrial",
        hold=hold,
        delay=5,
        saturation=0.2,
        temperature=40.0,
        heating_time=1.0,
    )
    assert "limit" in compiled.status
    assert np.ptp(compiled.truth.temperature) > 1e-3
    assert_same(compiled, plain)


def test_a_loop_that_opens_stops_with_the_same_words() -> None:
    """Arms pushed apart by a torque: Python's plant and the compiled one see the same end."""
    robot = dd.load_robot("sipro-d3-1200")
    push = Constant((-400.0, 400.0, 400.0))
    compiled, plain = both(robot, standing(robot, 2.0), push, rate=500.0)
    assert not compiled.completed
    assert compiled.status == plain.status
    # the same by a law that runs in compiled code: no stiffness, and a force that tears
    limp = PDFeedforward(robot, stiffness=0.0, damping=0.0)
    pair = both(robot, standing(robot, 2.0), limp, rate=500.0, external_force=[900.0, 0.0, 900.0])
    assert not pair[0].completed
    assert pair[0].status == pair[1].status
    assert len(pair[0].truth.t) == len(pair[1].truth.t)


def test_the_same_seed_gives_the_same_bits() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    motion = strokes(robot)[0]
    first, second = (simulate(robot, motion, preset="industrial", seed=7) for _ in range(2))
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(first.truth, name), getattr(second.truth, name))
    np.testing.assert_array_equal(first.recording.tau, second.recording.tau)


def test_a_law_tick_by_tick_is_the_law_at_once() -> None:
    """The compiled loop and the drive in Python over the compiled plant: one control law."""
    robot = dd.load_robot("sipro-d3-1200")

    class Wrapped:
        def prepare(self, task: Any) -> Any:
            law = PDFeedforward(robot).prepare(task)
            return lambda k, q, qd: law(k, q, qd)  # no longer a PDLaw

    motion = strokes(robot)[2]
    at_once = simulate(robot, motion, preset="industrial")
    by_tick = simulate(robot, motion, Wrapped(), preset="industrial")
    assert np.abs(at_once.truth.q - by_tick.truth.q).max() < 1e-12
    assert at_once.status == by_tick.status


def test_energy_of_a_free_fall_is_kept() -> None:
    """No torque, no friction: kinetic and potential energy, summed body by body, stay the same."""
    robot = dd.load_robot("sipro-d3-1200")
    run = simulate(robot, standing(robot, 0.12), Constant((0.0, 0.0, 0.0)), hold="step")
    books = run.energy
    assert float(np.ptp(books.kinetic)) > 1.0  # J: it does fall
    assert float(np.ptp(books.stored)) < 1e-9 * float(np.ptp(books.kinetic))


def test_the_extension_is_taken_without_asking() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    machine = build_machine(robot, preset_by_name("ideal"))
    start = start_on(machine, standing(robot, 1.0), (0.0,) * 3)
    assert isinstance(make_plant("ideal", machine, start, 1e-3), CompiledPlant)
    with kernels.switched_off():
        assert isinstance(make_plant("ideal", machine, start, 1e-3), IdealPlant)


def test_arrays_of_a_wrong_kind_are_refused() -> None:
    module = plant_module()
    assert module is not None
    numbers: FloatArray = np.zeros(MACHINE_COUNT)
    state = np.zeros(STATE_COUNT)
    with pytest.raises(ValueError, match="not those of a machine"):
        module.plant_tick(numbers, state, np.zeros(9), np.zeros(38), True)
    with pytest.raises(ValueError, match=r"numbers has 3 numbers, not \d+ or more"):
        module.plant_tick(np.zeros(3), state, np.zeros(9), np.zeros(38), True)
    with pytest.raises(TypeError, match="state holds no doubles"):
        module.plant_tick(numbers, np.zeros(STATE_COUNT, dtype=np.int64), 0, 0, True)
    with pytest.raises(TypeError, match="8 arrays, 3 ticks, leads and model"):
        module.plant_follow(numbers, state)
    with pytest.raises(ValueError, match="dof 3 or 4"):
        module.plant_rollout(5, 0, 1e-3, 1, 1, False, *[None] * 5, 0, None)
