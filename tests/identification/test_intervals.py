"""Intervals and torque bands where data cannot tell: confounded terms, waves beyond the travel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.machines import compiler, make_machine

import deltadyn as dd
from deltadyn.identification.terms.intervals import Scatter, Waves
from deltadyn.identification.terms.recall import recall, recorded

needs_gcc = pytest.mark.skipif(compiler() is None, reason="the independent plant needs gcc")
ROBOT = "sipro-d3-1200"


def _scatter(waves: Waves) -> Scatter:
    one = np.ones(2)
    return Scatter(0.01 * one, 0.0 * one, 2.0 * one, 0.0 * one, waves)


def test_waves_are_doubted_beyond_the_travel_by_the_phase_of_their_orders() -> None:
    travel = np.array([[-0.5, 0.0], [0.5, 1.0]])
    waves = Waves(travel, np.array([[0.3, 0.0], [0.0, 0.4]]), np.array([1.0, 2.0]))
    q = np.array([[0.0, 0.5], [0.7, 1.1], [-1.5, 9.0]])
    found = waves.beyond(q)
    # two waves of unit size at orders n and n + doubt, alike at the end of the travel
    for row, axis, distance, size, doubt in ((1, 0, 0.2, 0.3, 1.0), (1, 1, 0.1, 0.4, 2.0)):
        gap = abs(np.exp(1j * doubt * distance) - 1)
        assert found[row, axis] == pytest.approx(size * gap)
    assert not found[0].any()
    assert found[2, 1] == pytest.approx(2 * 0.4)  # never more than opposite waves
    half = _scatter(waves).half(np.zeros((3, 2)), q, np.zeros((3, 2)))
    np.testing.assert_allclose(half[0], 0.2)
    np.testing.assert_allclose(half[1, 0], np.hypot(0.2, 1.959964 * found[1, 0]), rtol=1e-6)


def test_no_waves_widen_nothing() -> None:
    q = np.array([[5.0, -5.0]])
    half = _scatter(Waves.none(2)).half(np.zeros((1, 2)), q, 0 * q)
    np.testing.assert_allclose(half, 0.2)


@needs_gcc
def test_a_common_constant_torque_is_within_the_interval_of_gravity() -> None:
    """0.5 % of the torque on all axes is too small to be chosen, and turns into G."""
    machine = make_machine(dd.load_robot(ROBOT), "none", 1.0, 0)
    machine.offset[:] += 0.005 * machine.scale
    fit = dd.identify(machine.robot, machine.record(2, 4.0))
    assert fit.terms is not None
    low, high = fit.interval()[fit.names.index("G")]
    assert low <= machine.truth["G"] <= high
    if "offset" not in fit.terms.titles:
        assert abs(fit["G"] / machine.truth["G"] - 1) > 0.01  # so a narrow interval is wrong


@pytest.mark.full
@needs_gcc
def test_a_band_holds_a_ripple_whose_order_is_below_those_that_are_looked_for() -> None:
    from benchmarks.machines.held_out import judge

    machine = make_machine(dd.load_robot(ROBOT), "ripple", 1.0, 0)
    for drive in machine.drives:
        drive.ripple_order[:] = 3.0, 6.0
    fit = dd.identify(machine.robot, machine.record(2, 4.0))
    assert judge(fit, machine.record_picks(4.0)).inside > 80  # 64 by the residual alone


@pytest.mark.full
@needs_gcc
def test_waves_are_kept_in_the_information() -> None:
    machine = make_machine(dd.load_robot(ROBOT), "ripple", 1.0, 1)
    fit = dd.identify(machine.robot, machine.record(1, 4.0))
    assert fit.terms is not None
    assert fit.information is not None
    known = recall(fit.information, "auto")
    assert known is not None
    kept, own = known.told.scatter.waves, fit.terms.scatter.waves
    assert own.rms.size
    for name in ("travel", "rms", "doubt"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(own, name))
    without = replace(fit.terms, scatter=replace(fit.terms.scatter, waves=Waves.none(3)))
    again = recall(recorded(fit.information, known.carried, machine.robot, without), "auto")
    assert again is not None
    assert again.told.scatter.waves.rms.shape == (0, 3)
