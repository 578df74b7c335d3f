"""Production logs: what they tell, and the shortest extra move for the rest."""

from functools import cache

import numpy as np
import pytest
from tests.identification.coloured import Experiment, fourier_state, repeated, simulated

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification import production
from deltadyn.identification.identifiability import identifiability
from deltadyn.identification.information import Information
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.production import Move, joined, log_report, short_moves
from deltadyn.motion import adept_cycle, check_motion
from deltadyn.recording import Recording
from deltadyn.robot import Robot

SPINDLE = dd.load_robot("example-delta-4")
DELTA = dd.load_robot("example-delta")
RATE = 500.0


@cache
def _moves(robot: str, share: float, rate: float, seed: int) -> tuple[Move, ...]:
    return tuple(short_moves(dd.load_robot(robot), share, rate, seed))


@pytest.fixture(autouse=True)
def _moves_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family of moves follows from the robot's limits alone: made once for all tests."""

    def known(robot: Robot, share: float, rate: float, seed: int) -> tuple[Move, ...]:
        return _moves(robot.name, share, rate, seed)

    monkeypatch.setattr(production, "short_moves", known)


@pytest.fixture(scope="module")
def logs() -> Information:
    """20 pick-and-place cycles of a second each with psi at 0."""
    cycle = adept_cycle(SPINDLE, cycles_per_minute=60, turn=0.0, rate=RATE)
    return simulated(SPINDLE, *repeated(SPINDLE, cycle, 20), level=0.5)


def test_constant_psi_asks_for_a_turn_of_the_spindle(logs: Information) -> None:
    found = log_report(SPINDLE, logs, settle=("I_psi", "Fv4", "Fc4"), rate=RATE)
    assert found.open == ("I_psi", "Fv4", "Fc4")
    assert {"I_psi", "Fv4", "Fc4"} <= set(found.held)
    assert {"Fc1", "Fc2", "Fc3", "A"} <= set(found.told)
    assert found.motion is not None
    assert found.limits is not None
    assert found.limits.ok
    assert check_motion(SPINDLE, found.motion).ok
    assert np.ptp(found.motion.p[:, 3]) > 1.0  # rad: it turns
    assert 0.3 < found.duration < 3.0
    assert found.unsettled == ()
    assert np.allclose(found.motion.pd[[0, -1]], 0.0)  # from rest to rest
    assert np.allclose(found.motion.p[0], found.motion.p[-1])
    assert "turn the spindle" in found.move
    assert "psi never turns" in found.text
    assert (
        f"Shortest extra move found, {found.duration:.3g} s from rest to rest at (0, 0, -0.6) m"
        in (str(found))
    )
    assert "With it the deviations will be: I_psi " in found.text
    assert "They stay at the robot's own values: " in found.text


def test_the_extra_move_settles_what_it_promises(logs: Information) -> None:
    par = parametrise(SPINDLE)
    sought = tuple(name for name in par.names if name != "I_axial")
    found = log_report(SPINDLE, logs, settle=sought, target=0.3, rate=RATE)
    assert found.motion is not None
    assert found.unsettled == ()
    assert {"H", "kappa", "mu", "m_x", "I_psi"} <= set(found.open)
    state, t = found.motion, found.motion.t
    extra = simulated(SPINDLE, t, state, level=0.5, seed=9)
    before = identifiability(SPINDLE, logs, par)
    after = identifiability(SPINDLE, logs.merge(extra), par)
    rows = [par.names.index(name) for name in sought]
    # Predicted deviations hold for one draw of the noise and some 110 blocks to about 30 %.
    assert after.relative[rows].max() < 0.3 * 1.4
    ratio = after.relative[rows] / found.expected[rows]
    assert 0.6 < ratio.min() < ratio.max() < 1.6
    assert not before.complete
    assert after.complete
    # Shortest: half of the move is not enough.
    count = len(t) // 2
    half = Experiment.of(SPINDLE, *_first(found.motion, count))
    tau = half.torque() + 0.5 * half.noise(np.random.default_rng(9))
    less = identifiability(SPINDLE, logs.merge(half.information(tau)), par)
    assert less.relative[rows].max() > 0.3


def _first(motion: dd.Motion, count: int) -> tuple[FloatArray, dd.Motion]:
    t = motion.t[:count]
    rows = (array[:count] for array in (motion.p, motion.pd, motion.pdd))
    return t, dd.Motion.from_platform(SPINDLE, t, *rows)


def test_good_logs_need_no_move() -> None:
    t, state = fourier_state(DELTA, 10.0, RATE, frequency=1.0)
    found = log_report(DELTA, simulated(DELTA, t, state, level=0.1), rate=RATE)
    assert found.motion is None
    assert found.open == ()
    assert found.duration == 0.0
    assert found.text.endswith("Nothing is missing: no extra move is needed.")
    assert found.told == parametrise(DELTA).names


def test_what_no_move_settles_is_said(logs: Information) -> None:
    found = log_report(
        SPINDLE, logs, settle=("I_psi", "I_axial"), target=0.05, longest=2.0, rate=RATE
    )
    assert found.unsettled == ("I_axial",)
    assert found.motion is not None
    assert found.duration <= 2.0 + 1 / RATE
    assert "Most helpful extra move found, " in found.text
    assert "No move that was tried settles within 2 s: I_axial " in found.text
    short = log_report(SPINDLE, logs, settle=("I_psi",), longest=0.05, rate=RATE)
    assert short.motion is None
    assert short.unsettled == ("I_psi",)
    assert "No move of the family helps within 0.05 s and the robot's limits." in short.text


def test_given_noise_replaces_that_of_the_logs(logs: Information) -> None:
    loud = log_report(SPINDLE, logs, settle=("Fv1",), noise=[50.0, 50.0, 50.0, 5.0], rate=RATE)
    quiet = log_report(SPINDLE, logs, settle=("Fv1",), noise=[0.5, 0.5, 0.5, 0.05], rate=RATE)
    assert quiet.open == ()
    assert loud.open == ("Fv1",)


def test_recordings_are_read_and_noise_of_a_still_axis_is_no_motion() -> None:
    cycle = adept_cycle(SPINDLE, cycles_per_minute=60, turn=0.0, rate=RATE)
    t, state = repeated(SPINDLE, cycle, 6)
    rng = np.random.default_rng(0)
    q = state.q + 2e-5 * rng.standard_normal(state.q.shape)  # rad: an encoder's noise
    tau = dd.inverse_dynamics(SPINDLE, state) + 0.2 * rng.standard_normal(state.q.shape) * [
        1,
        1,
        1,
        0.1,
    ]
    log = Recording(t, q, tau, name="shift")
    found = log_report(SPINDLE, log, settle=("I_psi", "Fv4", "Fc4"), rate=RATE, check=False)
    assert found.recordings == ("shift",)
    assert found.open == ("I_psi", "Fv4", "Fc4")
    assert {"I_psi", "Fv4", "Fc4"} <= set(found.known.no_influence)
    assert found.motion is not None
    assert np.ptp(found.motion.p[:, 3]) > 1.0
    assert found.text.startswith("1 log of example-delta-4, ")


def test_moves_keep_the_limits_and_can_be_joined() -> None:
    moves = list(short_moves(DELTA, 0.9, RATE))
    assert len(moves) >= 10
    assert len({move.words for move in moves}) == len(moves)
    for move in moves:
        assert check_motion(DELTA, move.motion).ok
        assert np.allclose(move.motion.p[[0, -1]], [0.0, 0.0, -0.6], atol=1e-9)
        assert np.allclose(move.motion.pd[[0, -1]], 0.0, atol=1e-9)
    both = joined(DELTA, moves[:2], RATE)
    assert both.duration == pytest.approx(moves[0].duration + moves[1].duration)
    assert np.allclose(np.diff(both.t), 1 / RATE)


def test_refusals(logs: Information) -> None:
    with pytest.raises(InputError, match="settle is 'mass'; allowed: one of 'M_P'"):
        log_report(SPINDLE, logs, settle=("mass",))
    with pytest.raises(InputError, match="target is 0; allowed: a share of the parameters' size"):
        log_report(SPINDLE, logs, target=0)
    with pytest.raises(InputError, match="longest is -1; allowed: above 0 s"):
        log_report(SPINDLE, logs, longest=-1)
    with pytest.raises(InputError, match="rate is 5; allowed: at least 100 Hz"):
        log_report(SPINDLE, logs, rate=5)
    with pytest.raises(InputError, match=r"noise is .*allowed: 4 deviations above 0 N m"):
        log_report(SPINDLE, logs, noise=[1.0, 1.0])
    with pytest.raises(InputError, match="model is 'none'; allowed: one of 'exact'"):
        log_report(SPINDLE, logs, model="none")
