"""Recordings made ready: rates, gaps, bands, and what is refused."""

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.identification.loading import Loaded
from deltadyn.identification.options import Preparation
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording
from deltadyn.recording.prepare.band import choose_band
from deltadyn.recording.prepare.data import as_recordings, prepare, prepared_parts
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.robot import Robot

RATE = 1000.0


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.4, coulomb=1.2)


def smooth(robot: Robot, seconds: float = 6.0) -> dd.Motion:
    """A swing on three axes that never stops."""
    t = np.arange(int(seconds * RATE)) / RATE
    w = 2 * np.pi * np.array([0.7, 1.1, 0.9])
    cylinder = working_cylinder(robot)
    low, high = cylinder.z_min, cylinder.z_max
    centre, size = np.array([0.0, 0.0, (low + high) / 2]), np.array([0.15, 0.15, (high - low) / 5])
    p = centre + size * np.sin(w * t[:, None])
    pd, pdd = size * w * np.cos(w * t[:, None]), -size * w**2 * np.sin(w * t[:, None])
    return dd.Motion.from_platform(robot, t, p, pd, pdd)


@pytest.fixture(scope="module")
def exact(robot: Robot) -> Recording:
    motion = smooth(robot)
    tau = dd.inverse_dynamics(robot, motion)
    return Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name="exact")


def test_measured_rates_are_taken_as_they_are(robot: Robot, exact: Recording) -> None:
    ready = prepare(robot, exact, band=None)
    assert exact.qd is not None
    np.testing.assert_array_equal(ready.state.qd, exact.qd)
    assert ready.bandwidth is None
    assert ready.rate_noise is None
    np.testing.assert_array_equal(ready.limited(exact.tau), exact.tau)


def test_rates_are_estimated_where_there_are_none(robot: Robot, exact: Recording) -> None:
    bare = exact.replace(qd=None, qdd=None)
    ready = prepare(robot, bare, band=None)
    assert exact.qdd is not None
    inside = slice(300, -300)
    error = (ready.state.qdd - exact.qdd)[inside]
    assert np.abs(error).max() < 1e-3 * np.abs(exact.qdd).max()  # no noise, a smooth motion
    assert ready.bandwidth is not None
    assert ready.bandwidth.shape == (3,)


def test_a_model_that_explains_all_needs_no_band(robot: Robot, exact: Recording) -> None:
    assert prepare(robot, exact).band is None


def test_noise_and_resonance_end_the_band(robot: Robot, exact: Recording) -> None:
    rng = np.random.default_rng(0)
    hum = 5.0 * np.sin(2 * np.pi * 120 * exact.t)[:, None]
    loud = exact.replace(tau=exact.tau + hum + 0.5 * rng.standard_normal(exact.tau.shape))
    band = prepare(robot, loud).band
    assert band is not None
    assert 2 < band < 110


def test_both_sides_stay_equal_in_the_band(robot: Robot, exact: Recording) -> None:
    ready = prepare(robot, exact, band=40.0)
    Y = dd.regressor(robot, ready.state).Y
    x = dd.regressor(robot, ready.state).parameters
    # noise-free: only rounding is left, whatever the filter takes away
    np.testing.assert_allclose(ready.limited(Y) @ x, ready.limited(ready.tau), atol=1e-11)
    assert len(ready.times) == len(ready.limited(ready.tau))
    assert ready.limited_rate == pytest.approx(100.0)


def test_dropped_rows_are_bridged_alike_on_both_sides(robot: Robot, exact: Recording) -> None:
    keep = np.ones(len(exact), dtype=bool)
    keep[np.random.default_rng(1).choice(len(exact), 30, replace=False)] = False
    keep[[0, -1]] = True
    ready = prepare(robot, exact.take(np.flatnonzero(keep), "drops"), band=40.0)
    assert ready.grid is not None
    reg = dd.regressor(robot, ready.state)
    left, right = ready.limited(reg.Y) @ reg.parameters, ready.limited(ready.tau)
    np.testing.assert_allclose(left, right, atol=1e-11)


def test_long_gaps_part_a_recording(robot: Robot, exact: Recording) -> None:
    keep = np.r_[0:2000, 2500:6000]
    gappy = exact.take(keep, "gap")
    parts = list(prepared_parts(robot, gappy))
    assert [len(part) for part in parts] == [2000, 3500]
    with pytest.raises(InputError, match=r"gap in 'exact' at t = 1\.999 s is 0\.501; allowed"):
        prepare(robot, gappy)


@pytest.mark.parametrize("streamed", [False, True])
def test_stretches_shorter_than_the_bands_filter_are_left_out(
    robot: Robot, exact: Recording, streamed: bool
) -> None:
    """Also the first of a log, from which a band would be found."""
    parted = exact.take(np.r_[0:40, 140:3000, 3100:3150, 3250:6000], "cut")
    log = Streamed(robot, [parted.take(slice(0, 1500), "a"), parted.take(slice(1500, None), "b")])
    given = log if streamed else parted
    loaded = Loaded(robot, given, Preparation(band=40.0, check=False))
    assert [len(part) for part in loaded.parts()] == [2860, 2750]
    if not streamed:
        (told,) = loaded.findings
        assert "2 stretches between gaps, 0.09 s in all, left out: shorter than 0.1" in told
    whole = Loaded(robot, exact, Preparation(check=False))
    assert Loaded(robot, parted, Preparation(check=False)).band == whole.band
    assert whole.findings == ()


def test_a_log_whose_longest_stretch_is_too_short_is_refused(
    robot: Robot, exact: Recording
) -> None:
    parted = exact.take(np.r_[0:40, 140:190], "cut")
    loaded = Loaded(robot, parted, Preparation(band=40.0, check=False))
    with pytest.raises(InputError, match=r"duration of 'exact' is 0\.05; allowed: at least 0\.1"):
        list(loaded.parts())


def test_parts_overlap_by_the_filters_length(robot: Robot, exact: Recording) -> None:
    parts = list(prepared_parts(robot, exact, size=2000, overlap=0.25))
    assert sum(map(len, parts)) == len(exact) + 250 * (len(parts) - 1)
    assert parts[1].t[0] == parts[0].t[-250]


def test_parts_of_estimated_rates_equal_the_whole(robot: Robot, exact: Recording) -> None:
    bare = exact.replace(qd=None, qdd=None)
    whole = prepare(robot, bare, band=None, bandwidth=40.0)
    parts = list(prepared_parts(robot, bare, bandwidth=40.0, size=2500))
    joined = np.concatenate([part.state.qdd for part in parts])
    # the smoother has forgotten its start after twenty periods of its bandwidth
    np.testing.assert_allclose(joined, whole.state.qdd, atol=1e-9 * np.abs(joined).max())


def test_the_payload_beyond_the_robots_own_is_noted(robot: Robot, exact: Recording) -> None:
    loaded = robot.with_payload(0.5)
    assert prepare(loaded, exact.replace(payload=2.0), band=None).extra == pytest.approx(1.5)
    assert prepare(loaded, exact, band=None).extra == 0.0


def test_wrong_recordings_are_refused(robot: Robot, exact: Recording) -> None:
    four = dd.load_robot("abb-irb360-6-1600")
    with pytest.raises(InputError, match=r"axes of the recording at 'exact' is 3; allowed: 4, as"):
        prepare(four, exact)
    with pytest.raises(InputError, match=r"samples of the recording at 'exact' is 20; allowed"):
        prepare(robot, exact.rows(0, 20))
    still = exact.replace(q=np.broadcast_to(exact.q[0], exact.q.shape))
    with pytest.raises(InputError, match=r"travel of the axes \(rad\) at 'exact' is \[0, 0, 0\]"):
        prepare(robot, still)
    bad = exact.tau.copy()
    bad[7, 1] = np.nan
    with pytest.raises(
        InputError, match=r"tau at 'exact', row 7 \(t 0\.007 s\), axis 2 is nan; .*repair"
    ):
        prepare(robot, exact.replace(tau=bad))
    t = exact.t.copy()
    t[5] = t[4]
    with pytest.raises(InputError, match=r"t at 'exact', row 5 is 0\.004; allowed: above its pre"):
        prepare(robot, exact.replace(t=t))
    with pytest.raises(InputError, match=r"rates at 'exact' is 'measured'; allowed: 'kalman'"):
        prepare(robot, exact.replace(qd=None), rates="measured")
    with pytest.raises(InputError, match=r"rates is 'guess'"):
        prepare(robot, exact, rates="guess")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"band is -3; allowed: 'auto', a frequency"):
        prepare(robot, exact, band=-3)
    with pytest.raises(InputError, match=r"duration of 'exact' is 0\.1; allowed: at least .* 5 Hz"):
        prepare(robot, exact.rows(0, 100), band=5.0)
    with pytest.raises(InputError, match=r"recordings is 'none'; allowed: at least one"):
        as_recordings([])
    with pytest.raises(InputError, match=r"recordings is 'str'; allowed: recordings"):
        as_recordings(["log.csv"])  # type: ignore[list-item]


def test_the_band_of_the_bench_lies_below_its_gears_resonance(robot: Robot) -> None:
    motion = smooth(robot, 3.0)
    run = dd.simulate(robot, motion, dd.PD(robot), preset="industrial", rate=1000.0, seed=2)
    ready = prepare(robot, run.recording, band=None)
    band = choose_band(robot, [ready])
    assert band is not None
    assert 2 < band < 70  # the bench's gears swing at 80 to 110 Hz


@pytest.mark.parametrize("seconds", [0.4, 1.0, 2.0])
def test_a_short_log_gets_a_band_that_it_outlasts(robot: Robot, seconds: float) -> None:
    run = dd.simulate(robot, smooth(robot, seconds), dd.PD(robot), preset="lab", rate=1000.0)
    ready = prepare(robot, run.recording)
    assert ready.band is None or len(ready.times) / ready.limited_rate > 0.5 * seconds
