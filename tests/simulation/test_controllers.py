"""Controllers, the reference that they follow, and the drive's own velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import excitation, rms, standing, strokes

import deltadyn as dd
from deltadyn.motion import Motion
from deltadyn.simulation import PD, Law, PDFeedforward, Task, simulate
from deltadyn.simulation.drive.reference import VelocityEstimator, make_task, resampled
from deltadyn.simulation.presets import Preset

ROBOT = dd.load_robot("sipro-d3-1200")


@pytest.mark.parametrize("preset", ["ideal", "industrial"])
def test_feedforward_tracks_better_than_feedback_alone(preset: str) -> None:
    motion = strokes(ROBOT)[0]
    plain, ahead = (
        simulate(ROBOT, motion, controller, preset=preset)
        for controller in (PD(ROBOT), PDFeedforward(ROBOT))
    )
    share = 1e-3 if preset == "ideal" else 0.75  # the nominal robot does not know its rotors
    assert np.all(rms(ahead.tracking_error) < share * rms(plain.tracking_error))
    assert np.abs(ahead.platform_error).max() < np.abs(plain.platform_error).max()


def test_a_better_model_tracks_better() -> None:
    """Feedforward of the machine's own robot, of the nominal one, and of M_KH."""
    motion = strokes(ROBOT)[0]
    truth = simulate(ROBOT, standing(ROBOT, 0.01), preset="lab").truth.robot
    gains = PD(ROBOT)
    errors = [
        rms(
            simulate(
                ROBOT,
                motion,
                PDFeedforward(robot, model, stiffness=gains.stiffness, damping=gains.damping),
                preset="lab",
            ).tracking_error
        )
        for robot, model in ((truth, "exact"), (ROBOT, "exact"), (ROBOT, "half-half"))
    ]
    assert np.all(errors[0] < 0.2 * errors[1])
    assert np.all(errors[0] < 0.2 * errors[2])


def test_default_gains_follow_the_inertia() -> None:
    heavy = ROBOT.with_rotor_inertia(0.4)
    soft, stiff = PD(heavy, bandwidth=10.0), PD(heavy, bandwidth=20.0)
    np.testing.assert_allclose(stiff.stiffness, 4 * np.array(soft.stiffness))
    np.testing.assert_allclose(stiff.damping, 2 * np.array(soft.damping))
    inertia = np.array(stiff.stiffness) / (2 * np.pi * 20.0) ** 2
    assert 0.6 < inertia[0] < 0.8  # 0.3 kg m^2 of the limbs and 0.4 of the rotor
    assert PD(heavy) == PD(heavy)


def test_gains_stay_below_what_a_light_rotor_bears() -> None:
    geared, direct = ROBOT.with_rotor_inertia(0.05), ROBOT.with_rotor_inertia(0.001)
    assert PD(geared).damping[0] == pytest.approx(300.0 * 0.05)
    assert PD(direct).damping[0] > 50.0  # no gear, nothing to swing on its own
    assert PD(geared, bandwidth=20.0).damping[0] > 50.0  # who asks for more gets it


def test_a_lead_meets_the_delay_of_the_bus() -> None:
    motion = strokes(ROBOT)[0]
    errors = [
        rms(simulate(ROBOT, motion, PDFeedforward(ROBOT, lead=x), delay=4).tracking_error)
        for x in (0.0, 4 / 2000)
    ]
    assert np.all(errors[1] < 0.02 * errors[0])  # the first four ticks come from before the run
    with pytest.raises(dd.DeltadynError, match="lead"):
        PDFeedforward(ROBOT, lead=-1e-3)


def test_own_gains_and_the_fourth_axis() -> None:
    robot = dd.load_robot("example-delta-4")
    pd = PDFeedforward(robot, "half-half", stiffness=[1, 2, 3, 4], damping=0.5)
    assert pd.stiffness == (1.0, 2.0, 3.0, 4.0)
    assert pd.damping == (0.5,) * 4
    assert pd.model == "half-half"


def test_the_reference_is_interpolated_from_a_coarse_motion() -> None:
    """100 Hz to 2 kHz: quintic Hermite, whose error is h^6 times the sixth derivative / 46080."""
    coarse, fine = excitation(ROBOT, 0.5, rate=100.0), excitation(ROBOT, 0.5)
    task = make_task(ROBOT, coarse, 2000.0, Preset())
    np.testing.assert_allclose(task.now.t, fine.t, atol=1e-12)
    np.testing.assert_allclose(task.now.q, fine.q, atol=1e-8)
    np.testing.assert_allclose(task.now.qd, fine.qd, atol=1e-5)
    np.testing.assert_allclose(task.now.qdd, fine.qdd, atol=1e-2)


def test_what_is_ahead_depends_on_the_hold() -> None:
    motion = excitation(ROBOT, 0.01)
    for hold, lead in (("linear", 1.0), ("step", 0.5)):
        task = make_task(ROBOT, motion, 2000.0, Preset(hold=hold))
        np.testing.assert_allclose(task.ahead.t - task.now.t, lead / 2000.0, atol=1e-15)
        np.testing.assert_array_equal(task.ahead.q[-1], motion.q[-1])  # the end is held


def test_a_motion_that_starts_later_keeps_its_times() -> None:
    source = excitation(ROBOT, 0.02)
    later = Motion.from_joints(ROBOT, source.t + 5.0, source.q, source.qd, source.qdd)
    run = simulate(ROBOT, later)
    assert run.recording.t[0] == 5.0
    assert run.recording.t[-1] == pytest.approx(5.02)
    assert len(run.recording) == 41


def test_resampling_at_its_own_instants_changes_nothing() -> None:
    motion = excitation(ROBOT, 0.02)
    assert resampled(ROBOT, motion, motion.t) is motion


def test_velocity_estimates() -> None:
    """On a ramp the plain difference is exact; the filter lags by its time constant."""
    t = np.arange(400) / 2000.0
    for cutoff, gain in ((None, 1.0), (200.0, 1 - np.exp(-0.2 * np.pi))):
        estimator = VelocityEstimator(2000.0, cutoff, np.zeros(1), np.zeros(1))
        seen = np.array([estimator.update((2.0 * x,))[0] for x in t])
        np.testing.assert_allclose(seen[1:], 2 * (1 - (1 - gain) ** np.arange(1, 400)), atol=1e-12)


def test_the_reference_rate_is_seen_through_the_same_filter() -> None:
    """So a filter alone makes no tracking error in a loop that follows perfectly."""
    motion = excitation(ROBOT, 0.2)
    run = simulate(ROBOT, motion, velocity_filter=50.0)
    assert np.abs(run.tracking_error).max() < 1e-5


@dataclass(frozen=True)
class Proportional:
    """A controller of one's own: a law that sees the tick, the angles and their rates."""

    gain: float

    def prepare(self, task: Task) -> Law:
        reference = task.now.q.tolist()

        def law(k: int, q: tuple[float, ...], qd: tuple[float, ...]) -> Any:
            return [
                self.gain * (a - b) - 5.0 * c for a, b, c in zip(reference[k], q, qd, strict=True)
            ]

        return law


def test_a_controller_of_ones_own() -> None:
    run = simulate(ROBOT, standing(ROBOT, 0.5), Proportional(500.0), saturation=1.0)
    assert run.status == "completed 0.5 s"  # a list of torques within the limits is not cut
    holding = dd.inverse_dynamics(ROBOT, dd.State.from_joints(ROBOT, run.truth.q[-1]))
    np.testing.assert_allclose(run.tracking_error[-1], holding / 500.0, rtol=0.05)  # it sags
