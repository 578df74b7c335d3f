"""What friction drifts with: temperature, or the time within each log."""

from dataclasses import replace

import numpy as np
import pytest
from tests.machines import compiler, make_machine

import deltadyn as dd
from deltadyn.identification import identify
from deltadyn.identification.terms.clock import Clock, drift_at_times
from deltadyn.kinematics.state import State
from deltadyn.recording.prepare.data import Prepared

ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=0.1, coulomb=0.5)


def part(
    name: str, start: float, stop: float, warmth: tuple[float, float] | None = None
) -> Prepared:
    t = np.linspace(start, stop, 101)
    q = np.full((101, 3), 0.3)
    state = State.from_joints(ROBOT, q, 0 * q, 0 * q)
    heat = None if warmth is None else np.linspace(*warmth, 101)
    return Prepared(name, t, state, 0 * q, 100.0, temperature=heat)


def test_time_runs_within_logs_and_from_log_to_log() -> None:
    """Stretches of a log are as far apart as they were taken, whatever lies between logs."""
    seen = [part("a", 100, 110), part("a", 190, 200), part("b", 0, 50), part("b", 250, 300)]
    clock = Clock.over(seen)
    assert clock.span is None
    assert clock.restarts
    ends = [clock.machine_time(item)[[0, -1]] for item in seen]
    want = [(-1.0, -0.95), (-0.55, -0.5), (-0.5, -0.25), (0.75, 1.0)]
    np.testing.assert_allclose(ends, want, atol=1e-12)
    # parts that were not looked at, between the stretches and beyond them
    times = clock.machine_time(part("b", 100, 150))[[0, -1]]
    np.testing.assert_allclose(times, [0.0, 0.25], atol=1e-12)
    np.testing.assert_allclose(clock.machine_time(part("a", 0, 90)), -1.0)
    np.testing.assert_allclose(clock.machine_time(part("b", 310, 320)), 1.0)


def test_time_within_each_log_begins_anew_in_seconds() -> None:
    seen = [part("a", 100, 120), part("b", 0, 80)]
    clock = Clock.over(seen)
    ends = [clock.log_time(item)[[0, -1]] for item in seen]
    np.testing.assert_allclose(ends, [(-1.0, -0.5), (-1.0, 1.0)], atol=1e-12)
    assert not Clock.over(seen[:1]).restarts


def test_drift_cannot_take_the_mean_of_friction_away() -> None:
    """Its polynomials have no mean over all samples, by either clock, however long the logs are."""
    seen = [part("a", 100, 120), part("a", 150, 190), part("b", 0, 80), part("c", 5, 6)]
    drift = np.concatenate([Clock.over(seen)(item) for item in seen])
    assert drift.shape == (4 * 101, 2, 3)
    np.testing.assert_allclose(drift.mean(axis=0), 0.0, atol=1e-12)
    assert np.abs(drift).max() > 0.5


def test_drift_at_other_times_lies_between_its_neighbours() -> None:
    item = part("a", 0, 10)
    drift = Clock.over([item])(item)
    t = np.array([0.0, 3.33, 9.99, 10.0])
    found = drift_at_times(t, item.t, drift)
    for clock in range(2):
        for degree in range(3):
            want = np.interp(t, item.t, drift[:, clock, degree])
            np.testing.assert_allclose(found[:, clock, degree], want, atol=1e-12)


def test_logs_of_one_name_follow_each_other() -> None:
    clock = Clock.over([part("a", 0, 10), part("a", 0, 10)])
    assert [log.before for log in clock.logs] == [0.0, 10.0]


def test_temperature_is_the_clock_where_it_changes() -> None:
    seen = [part("a", 0, 10, (20.0, 30.0)), part("b", 0, 10, (30.0, 25.0))]
    clock = Clock.over(seen)
    assert clock.span == pytest.approx(10.0)
    assert not clock.restarts
    np.testing.assert_allclose(clock.machine_time(seen[1])[[0, -1]], [1.0, 0.0])
    cold = part("c", 5, 6, (15.0, 20.0))  # not seen before
    np.testing.assert_allclose(clock.machine_time(cold), -1.0)
    assert Clock.over([part("a", 0, 10, (20.0, 21.0))]).span is None  # too little
    assert Clock.over([*seen, part("c", 0, 10)]).span is None  # not in all logs
    hole = replace(seen[0], temperature=np.full(101, np.nan))
    assert Clock.over([hole]).span is None


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_oil_that_warms_and_cools_is_told_by_temperature() -> None:
    """Logs in an order in which time says nothing: warm, cold, warmer, colder, ..."""
    machine = make_machine(ROBOT, cause="drift", strength=1.5, seed=2)
    logs = machine.record(motions=6, seconds=4.0, temperature=True)
    order = [logs[k] for k in (5, 0, 4, 1, 3, 2)]
    warm = identify(ROBOT, order)
    timed = identify(ROBOT, [log.replace(temperature=None) for log in order])
    assert warm.terms is not None
    assert "drift" in warm.terms.titles
    (found,) = (term for term in warm.terms.found if term.title == "drift")
    assert found.setting is not None
    assert "with temperature, over" in warm.terms.text
    # viscous friction falls with temperature
    assert found.values["drift1"][0] < -3 * found.values["drift1"][1]
    assert warm.residual.mean() < 0.9 * timed.residual.mean()
