"""Feedforward that learns its payload inside the loop, and what the loop tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import excitation, rms, standing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.friction import drive_friction
from deltadyn.errors import InputError
from deltadyn.motion import Motion, adept_cycle
from deltadyn.robot import Robot
from deltadyn.simulation import (
    PD,
    AdaptiveFeedforward,
    Law,
    PDFeedforward,
    Run,
    Task,
    pick_errors,
    simulate,
)
from deltadyn.simulation.controllers.adaptive import Doubt, Window
from deltadyn.simulation.controllers.state import model_at_state
from deltadyn.simulation.drive.reference import make_task
from deltadyn.simulation.presets import Preset

ROBOT = dd.load_robot("sipro-d3-1200")
MASSES = (1.5, 3.0, 0.8)  # kg, of three picks
MEMORY = 0.03  # s


class Forgetful:
    """Least squares for one mass, with exponential forgetting."""

    def __init__(self, robot: Robot, rate: float = 2000.0) -> None:
        empty, one = (model_at_state(robot.with_payload(m), "exact") for m in (0.0, 1.0))
        self.models, self.friction = (empty.inverse, one.inverse), robot.friction
        self.keep = np.exp(-1 / (MEMORY * rate))
        self.reset()

    def reset(self) -> None:
        self.square, self.product = 1e-9, 0.0
        self.history: list[float] = []

    @property
    def mass(self) -> float:
        return self.product / self.square

    def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None:
        base, loaded = (np.array(model(q, qd, qdd)) for model in self.models)
        column = loaded - base
        residual = tau - base - drive_friction(self.friction, np.array([qd]))[0]
        self.square = self.keep * self.square + column @ column
        self.product = self.keep * self.product + column @ residual
        self.history.append(self.mass)


def picks(robot: Robot, count: int = 3) -> tuple[Motion, list[tuple[float, float]]]:
    """Adept cycles at 100 a minute; each takes another mass there and comes back empty."""
    cycle = adept_cycle(robot, cycles_per_minute=100)
    T = cycle.duration
    t = np.concatenate([*(cycle.t[:-1] + k * T for k in range(count)), [count * T]])

    def repeated(values: FloatArray) -> FloatArray:
        return np.concatenate([np.tile(values[:-1], (count, 1)), values[-1:]])

    motion = Motion.from_platform(robot, t, *map(repeated, (cycle.p, cycle.pd, cycle.pdd)))
    loads: list[tuple[float, float]] = []
    for k, mass in enumerate(MASSES[:count]):
        loads += [(k * T, mass), ((k + 0.5) * T, 0.0)]
    return motion, loads


def machine_of(preset: str) -> Robot:
    """The empty machine, as if it had been identified perfectly."""
    return simulate(ROBOT, standing(ROBOT, 0.01), preset=preset).truth.robot


def gains() -> dict[str, Any]:
    pd = PD(ROBOT)
    return {"stiffness": pd.stiffness, "damping": pd.damping}


def loaded_error(run: Run) -> FloatArray:
    """RMS tracking error of the arms at each loaded stretch, over the axes."""
    return np.array([np.sqrt(np.mean(p.rms**2)) for p in pick_errors(run) if p.mass > 0])


@pytest.mark.full
@pytest.mark.parametrize(("preset", "share"), [("ideal", 0.4), ("industrial", 0.75)])
def test_unknown_picks_are_followed_better(preset: str, share: float) -> None:
    """With the estimator the error falls on every pick, and overall by more.

    Ideal: what is left is the time that the estimator takes. Industrial: gears bend under the
    load, which no torque mends.
    """
    motion, loads = picks(ROBOT)
    machine = machine_of(preset)
    estimator = Forgetful(machine)
    plain, adaptive = (
        simulate(ROBOT, motion, law, preset=preset, payload=loads)
        for law in (
            PDFeedforward(machine, **gains()),
            AdaptiveFeedforward(machine, estimator, **gains()),
        )
    )
    assert np.all(loaded_error(adaptive) < loaded_error(plain))
    assert rms(loaded_error(adaptive)[:, None])[0] < share * rms(loaded_error(plain)[:, None])[0]
    assert adaptive.energy.drift < 1e-6
    history = np.array(estimator.history)
    half = round(len(motion.t) / 6)  # of a cycle
    for k, mass in enumerate(MASSES):  # late in each loaded half
        late = history[(2 * k + 1) * half - 100 : (2 * k + 1) * half - 40]
        assert np.mean(late) == pytest.approx(mass, abs=0.05 if preset == "ideal" else 0.4)


def test_on_mujoco_too() -> None:
    motion, _ = picks(ROBOT, 1)
    short = Motion.from_joints(
        ROBOT, motion.t[:400], motion.q[:400], motion.qd[:400], motion.qdd[:400]
    )
    plain, adaptive = (
        simulate(ROBOT, short, law, plant="mujoco", payload=[(0.0, 2.0)])
        for law in (PDFeedforward(ROBOT), AdaptiveFeedforward(ROBOT, Forgetful(ROBOT)))
    )
    assert adaptive.completed
    assert np.all(rms(adaptive.tracking_error) < 0.5 * rms(plain.tracking_error))


def test_a_run_begins_with_an_estimator_as_if_new() -> None:
    motion, loads = picks(ROBOT, 1)
    law = AdaptiveFeedforward(ROBOT, Forgetful(ROBOT))
    first, second = (simulate(ROBOT, motion, law, payload=loads) for _ in range(2))
    assert np.array_equal(first.truth.q, second.truth.q)


@dataclass(eq=False)
class Fixed:
    """An estimator that knows, or claims to."""

    mass: float
    samples: list[tuple[float, ...]] = field(default_factory=list)

    def reset(self) -> None:
        self.samples.clear()

    def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None:
        self.samples.append((*q, *qd, *qdd, *tau))


def test_the_right_mass_is_worth_the_right_robot() -> None:
    """Torque is linear in the mass: an estimator that knows gives that of the loaded robot."""
    motion = excitation(ROBOT, 0.1)
    known, right = (
        simulate(ROBOT, motion, law, payload=[(0.0, 2.0)])
        for law in (
            AdaptiveFeedforward(ROBOT, Fixed(2.0), **gains()),
            PDFeedforward(ROBOT.with_payload(2.0), **gains()),
        )
    )
    np.testing.assert_allclose(known.truth.q, right.truth.q, atol=1e-12)


def test_the_estimate_is_used_within_its_bounds() -> None:
    motion = excitation(ROBOT, 0.05)
    assert ROBOT.limits.payload == 4.0

    def commands(mass: float, **bounds: Any) -> FloatArray:
        law = AdaptiveFeedforward(ROBOT, Fixed(mass), **bounds)
        given = simulate(ROBOT, motion, law).recording.tau_command
        assert given is not None
        return given

    np.testing.assert_array_equal(commands(9.0), commands(4.0))
    np.testing.assert_array_equal(commands(-1.0), commands(0.0))
    np.testing.assert_array_equal(commands(9.0, heaviest=1.0), commands(1.0))
    assert np.abs(commands(-1.0, lightest=-2.0) - commands(0.0)).max() > 1.0  # N m


def test_a_mass_that_is_no_number_ends_the_run() -> None:
    class Lost(Fixed):
        def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None:
            self.mass = float("nan")

    run = simulate(ROBOT, excitation(ROBOT, 0.05), AdaptiveFeedforward(ROBOT, Lost(0.0)))
    assert not run.completed
    assert "the payload estimator answers a mass of nan kg" in run.status


@dataclass(frozen=True, eq=False)
class Listener:
    """PD that keeps what it is told."""

    inner: PD
    heard: list[tuple[float, ...]] = field(default_factory=list)

    def prepare(self, task: Task) -> Law:
        law, heard = self.inner.prepare(task), self.heard

        class Hearing:
            def measured(self, tau: tuple[float, ...]) -> None:
                heard.append(tau)

            def __call__(
                self, k: int, q: tuple[float, ...], qd: tuple[float, ...]
            ) -> tuple[float, ...]:
                return law(k, q, qd)

        return Hearing()


@pytest.mark.parametrize("preset", ["ideal", "industrial"])
def test_a_law_is_told_the_torque_of_the_log(preset: str) -> None:
    """Tick by tick what the recording has, noise and resolution among it."""
    listener = Listener(PD(ROBOT))
    quiet: dict[str, Any] = {"jitter": 0.0, "dropped": 0.0}
    run = simulate(ROBOT, excitation(ROBOT, 0.05), listener, preset=preset, seed=4, **quiet)
    np.testing.assert_allclose(listener.heard, run.recording.tau, atol=1e-9)
    plain = simulate(ROBOT, excitation(ROBOT, 0.05), PD(ROBOT), preset=preset, seed=4, **quiet)
    np.testing.assert_array_equal(plain.recording.tau, run.recording.tau)  # listening moves nothing


def test_a_window_keeps_time() -> None:
    """Of parabolas the middle's angle, rate, acceleration and torque come out exactly."""
    window = Window(0.01, 2000.0)
    assert window.count == 21
    t = np.arange(30) / 2000.0
    out = [window.add((2 + 3 * x + 4 * x**2,), (5 - 6 * x + 7 * x**2,)) for x in t.tolist()]
    assert out[:20] == [None] * 20
    middle = t[29 - 10]
    assert out[29] is not None
    angle, rate, acceleration, torque = (values[0] for values in out[29])
    assert angle == pytest.approx(2 + 3 * middle + 4 * middle**2)
    assert rate == pytest.approx(3 + 8 * middle)
    assert acceleration == pytest.approx(8.0, rel=1e-6)
    assert torque == pytest.approx(5 - 6 * middle + 7 * middle**2)


def test_the_estimator_sees_the_motion() -> None:
    """10 ms through a parabola: the acceleration of a 2.5 Hz motion is off by less than 1 %."""
    estimator = Fixed(0.0)
    run = simulate(ROBOT, excitation(ROBOT, 0.2), AdaptiveFeedforward(ROBOT, estimator))
    seen, truth = np.array(estimator.samples), run.truth
    middle = slice(10, 10 + len(seen))
    for k, (values, share) in enumerate(
        ((truth.q, 1e-5), (truth.qd, 2e-3), (truth.qdd, 1e-2), (truth.tau, 1e-2))
    ):
        error = seen[:, 3 * k : 3 * k + 3] - values[middle]
        assert np.abs(error).max() < share * np.abs(values).max()


def test_without_a_window_the_estimator_sees_what_the_drive_does() -> None:
    class Raw(Fixed):
        def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None:
            assert qd is None
            assert qdd is None
            self.samples.append((*q, *tau))

    estimator = Raw(0.0)
    law = AdaptiveFeedforward(ROBOT, estimator, window=None)
    run = simulate(ROBOT, excitation(ROBOT, 0.05), law, preset="lab", jitter=0.0)
    wanted = np.hstack([run.recording.q, run.recording.tau])
    np.testing.assert_allclose(estimator.samples, wanted, atol=1e-9)


@pytest.mark.full
def test_with_the_librarys_own_estimator() -> None:
    """The error of unknown picks falls on the industrial bench, by its own noise model.

    Less so on the first: it comes before the estimator has seen anything of the empty robot.
    """
    estimators = pytest.importorskip("deltadyn.payload.estimator")
    motion, loads = picks(ROBOT, 2)
    machine = machine_of("industrial")
    plain, adaptive = (
        simulate(ROBOT, motion, law, preset="industrial", payload=loads)
        for law in (
            PDFeedforward(machine, **gains()),
            AdaptiveFeedforward(
                machine, estimators.PayloadEstimator(machine), window=None, **gains()
            ),
        )
    )
    assert adaptive.completed
    assert np.all(loaded_error(adaptive) < [1.0, 0.85] * loaded_error(plain))
    old = estimators.PayloadEstimator(machine, estimator="least-squares")
    law = AdaptiveFeedforward(machine, old, window=None, **gains())
    least_squares = simulate(ROBOT, motion, law, preset="industrial", payload=loads)
    assert np.all(loaded_error(least_squares) < 0.85 * loaded_error(plain))


def empty_error(run: Run) -> FloatArray:
    """RMS tracking error of the arms on each way back, over the axes."""
    return np.array([np.sqrt(np.mean(p.rms**2)) for p in pick_errors(run) if p.mass == 0])


@pytest.mark.full
@pytest.mark.parametrize("preset", ["lab", "industrial"])
def test_the_way_back_is_not_worse(preset: str) -> None:
    """Without a signal no worse than without a payload; with the gripper's better out, too."""
    estimators = pytest.importorskip("deltadyn.payload.estimator")
    motion, loads = picks(ROBOT)
    machine = machine_of(preset)
    estimator = estimators.PayloadEstimator(machine)
    times = [t for t, _ in loads]
    grips = tuple(zip(times[::2], times[1::2], strict=True))

    def adaptive(**settings: Any) -> Run:
        law = AdaptiveFeedforward(machine, estimator, window=None, **settings, **gains())
        return simulate(ROBOT, motion, law, preset=preset, payload=loads)

    plain = simulate(ROBOT, motion, PDFeedforward(machine, **gains()), preset=preset, payload=loads)
    blind, told, bold = adaptive(), adaptive(grips=grips), adaptive(doubt=0.0)
    assert np.all(empty_error(blind) < 1.05 * empty_error(plain))
    assert np.all(empty_error(told) < 1.05 * empty_error(plain))
    assert empty_error(bold).max() > 1.05 * empty_error(blind).max()  # what doubt is good for
    assert rms(loaded_error(blind)[:, None])[0] < 0.75 * rms(loaded_error(plain)[:, None])[0]
    assert rms(loaded_error(told)[:, None])[0] < rms(loaded_error(blind)[:, None])[0]


def test_no_mass_without_a_grip() -> None:
    """The signal reaches an estimator that takes it, and gates one that does not."""

    class Told(Fixed):
        heard: tuple[bool, ...] = ()

        def update(
            self, q: Any, qd: Any, qdd: Any, tau: Any, *, holding: bool | None = None
        ) -> None:
            assert holding is not None
            self.heard = (*self.heard, holding)

    class Deaf(Fixed):
        def update(self, q: Any, qd: Any, qdd: Any, tau: Any) -> None:
            pass

    motion = excitation(ROBOT, 0.05)
    told = Told(2.0)
    commands = []
    for estimator in (told, Deaf(2.0), Deaf(0.0)):
        law = AdaptiveFeedforward(ROBOT, estimator, window=None, grips=[(0.02, 0.04)])
        commands.append(np.asarray(simulate(ROBOT, motion, law).recording.tau_command))
    assert told.heard == tuple(0.02 <= k / 2000 < 0.04 for k in range(101))
    np.testing.assert_array_equal(commands[0], commands[1])
    before = np.arange(101) < 40
    np.testing.assert_array_equal(commands[1][before], commands[2][before])
    assert np.abs(commands[1] - commands[2])[45].max() > 1.0  # N m


def test_an_old_load_is_doubted_after_a_stop() -> None:
    """For a tenth of a second of motion; a load that comes while it rests is new."""
    motion, _ = picks(ROBOT, 1)  # it rests at 0, 0.3 and 0.6 s
    task = make_task(ROBOT, motion, 2000.0, Preset())

    def believed(mass: Any) -> list[bool]:
        doubt = Doubt(0.1, task)
        return [doubt.believed(k, mass(t)) > 0 for k, t in enumerate(task.now.t.tolist())]

    kept = believed(lambda t: 1.0)
    assert all(kept[: round(0.29 * 2000)])
    away = [k for k, known in enumerate(kept) if not known]
    assert 0.29 < away[0] / 2000 <= 0.301  # from the turn on, not while it brakes
    again = next(k for k in range(away[0], len(kept)) if kept[k])
    assert 0.4 < again / 2000 < 0.45
    released = believed(lambda t: 1.0 if t < 0.36 else 0.0 if t < 0.38 else 2.0)
    assert not released[round(0.35 * 2000)]
    assert released[round(0.39 * 2000)]  # it was found gone, so this is another one
    fresh = believed(lambda t: 1.0 if t > 0.301 else 0.0)
    assert all(fresh[round(0.302 * 2000) :])


def test_errors_by_pick() -> None:
    motion, loads = picks(ROBOT, 2)
    run = simulate(ROBOT, motion, payload=loads)
    stretches = pick_errors(run)
    assert [p.mass for p in stretches] == [1.5, 0.0, 3.0, 0.0]
    assert [p.start for p in stretches] == pytest.approx([t for t, _ in loads])
    assert stretches[-1].end == run.truth.t[-1]
    first = run.tracking_error[: round(0.3 * 2000)]
    np.testing.assert_allclose(stretches[0].rms, rms(first))
    np.testing.assert_allclose(stretches[0].largest, np.abs(first).max(axis=0))
    (whole,) = pick_errors(simulate(ROBOT, excitation(ROBOT, 0.02)))
    assert whole.mass == 0.0


def test_misuse_is_said() -> None:
    with pytest.raises(InputError, match=r"estimator is 'float'; allowed: an estimator with upd"):
        AdaptiveFeedforward(ROBOT, 1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="heaviest"):
        AdaptiveFeedforward(ROBOT, Fixed(0.0), lightest=1.0, heaviest=0.5)
    with pytest.raises(InputError, match=r"grips\[1\] is \[0.2, 0.4\]; allowed: a pair of incr"):
        AdaptiveFeedforward(ROBOT, Fixed(0.0), grips=[(0.1, 0.3), (0.2, 0.4)])
    with pytest.raises(InputError, match=r"grips\[0\] is 0.1; allowed: a pair of times in s"):
        AdaptiveFeedforward(ROBOT, Fixed(0.0), grips=[0.1])  # type: ignore[list-item]
    law = AdaptiveFeedforward(ROBOT, Fixed(0.0), window=0.001)
    with pytest.raises(InputError, match=r"window is 0.001; allowed: at least 0.002 s at 2000 Hz"):
        simulate(ROBOT, standing(ROBOT, 0.01), law)
