"""The result of a run: the same again from the same seed, a recording like any other."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import excitation, standing

import deltadyn as dd
from deltadyn.motion import Motion, adept_cycle
from deltadyn.recording import Recording, check_recording, read_recording
from deltadyn.simulation import PRESETS, EnergyBooks, Run, Truth, simulate

ROBOT = dd.load_robot("example-delta-4")
MOTION = excitation(ROBOT, 0.1)


def arrays(run: Run) -> dict[str, Any]:
    parts = {f"log {name}": value for name, value in run.recording.channels().items()}
    for name in (item.name for item in fields(Truth) if item.name != "robot"):
        parts[f"truth {name}"] = getattr(run.truth, name)
    for name in (item.name for item in fields(EnergyBooks)):
        parts[f"energy {name}"] = getattr(run.energy, name)
    return parts


@pytest.mark.parametrize("plant", ["ideal", "mujoco"])
def test_the_same_seed_gives_the_same_run_bit_for_bit(plant: str) -> None:
    if plant == "mujoco":
        pytest.importorskip("mujoco")
    first, second = (
        simulate(ROBOT, MOTION, plant=plant, preset="industrial", seed=7) for _ in range(2)
    )
    for name, value in arrays(first).items():
        assert value.tobytes() == arrays(second)[name].tobytes(), name
    assert first.truth.robot == second.truth.robot


def test_another_seed_gives_another_log_of_the_same_truth() -> None:
    first, second = (simulate(ROBOT, MOTION, preset="lab", seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.truth.q, second.truth.q)
    assert not np.array_equal(first.recording.tau, second.recording.tau)


def test_switches_draw_from_streams_of_their_own() -> None:
    """One imperfection more leaves the random numbers of the others as they were."""
    base = PRESETS["ideal"].with_switches(current_noise=0.01)
    plain = simulate(ROBOT, MOTION, preset=base)
    more = simulate(ROBOT, MOTION, preset=base, dropped=0.05)
    np.testing.assert_array_equal(plain.recording.tau[more.truth.written], more.recording.tau)


def test_the_recording_is_like_that_of_a_real_log(tmp_path: Path) -> None:
    run = simulate(ROBOT, MOTION, preset="industrial", seed=2, ripple=0.01)
    log = run.recording
    assert isinstance(log, Recording)
    assert log.name == "example-delta-4, ideal plant, industrial, ripple=0.01, seed 2"
    assert log.robot == "example-delta-4"
    assert log.payload == 0.0
    assert log.provenance.reader == "simulate"
    assert log.provenance.notes[0] == "simulated at 2000 Hz"
    assert "ripple = 0.01" in log.provenance.notes
    assert "delay = 2" in log.provenance.notes
    log.save(tmp_path / "log.csv")
    back = read_recording(tmp_path / "log.csv", robot=ROBOT)
    for name, value in log.channels().items():
        np.testing.assert_array_equal(back.channels()[name], value)
    check_recording(log, ROBOT)  # it does not raise: what it finds is its own business


def test_truth_beside_the_log() -> None:
    run = simulate(ROBOT, MOTION, preset="industrial")
    truth = run.truth
    count = len(truth.t)
    for name in ("q", "qd", "qdd", "q_motor", "qd_motor", "p", "tau", "ripple", "friction"):
        assert getattr(truth, name).shape == (count, 4)
    assert truth.passive_friction.shape == truth.temperature.shape == (count, 4)
    assert np.abs(truth.passive_friction).max() > 0.1
    assert truth.payload.shape == truth.written.shape == (count,)
    np.testing.assert_allclose(dd.forward_kinematics(truth.robot, truth.q), truth.p, atol=1e-12)
    slope = np.gradient(truth.q, truth.t, axis=0)[1:-1]
    np.testing.assert_allclose(slope, truth.qd[1:-1], atol=2e-3)
    slope = np.gradient(truth.qd, truth.t, axis=0)[1:-1, :3]
    np.testing.assert_allclose(slope, truth.qdd[1:-1, :3], atol=2.0)
    assert isinstance(truth.motion(), Motion)
    np.testing.assert_array_equal(run.tracking_error, run.reference.q - truth.q)
    np.testing.assert_array_equal(run.platform_error, run.reference.p - truth.p)


def test_a_run_in_words() -> None:
    run = simulate(ROBOT, MOTION)
    assert run.completed
    assert run.status == "completed 0.1 s"
    text = str(run)
    assert text.startswith("example-delta-4, ideal plant, ideal, seed 0: completed 0.1 s; tracking")
    assert text.endswith("mrad RMS")


def test_a_planned_motion_can_be_followed_and_cut() -> None:
    """Generators return motions with more fields than the ticks need."""
    robot = dd.load_robot("sipro-d3-1200")
    motion = adept_cycle(robot, cycles_per_minute=100.0)
    assert simulate(robot, motion, preset="lab").completed
    lost = simulate(robot, motion, external_force=[0.0, 0.0, 5000.0], saturation=0.05)
    assert not lost.completed
    assert len(lost.reference.q) == len(lost.truth.q)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_progress_bar_only_if_asked(wanted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(ROBOT, standing(ROBOT, 0.01), progress=wanted)
    assert ("simulating" in capsys.readouterr().out) is wanted
