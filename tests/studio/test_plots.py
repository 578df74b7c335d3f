"""Plots: derived channels, thinning that keeps peaks, rows that share one time axis."""

import json

import numpy as np
import pytest
from tests.studio.cases import simulated

import deltadyn as dd
from deltadyn.studio.motion import Track, log_track, scenario_track
from deltadyn.studio.plots import POINTS, Channel, Curve, Figure, time_figure, track_channels
from deltadyn.studio.plots import tree_html as tree

ROBOT = dd.load_robot("example-delta")


@pytest.fixture(scope="module")
def track() -> Track:
    return scenario_track(ROBOT, "Y3: stops at the rim")


def by_key(channels: list[Channel]) -> dict[str, Channel]:
    return {each.key: each for each in channels}


def test_power_is_torque_times_rate_and_rates_are_those_of_the_motion(track: Track) -> None:
    found = by_key(track_channels(track, ROBOT))
    motion = track.motion
    power = track.curves["exact"] * motion.qd
    np.testing.assert_array_equal(found["power/2"].curves["exact"].y, power[:, 1])
    np.testing.assert_allclose(found["power/all axes"].curves["exact"].y, power.sum(axis=1))
    # from rest to rest at the same height all energy goes into friction
    friction = (dd.equations_of_motion(ROBOT, motion).f * motion.qd).sum(axis=1)
    whole = np.trapezoid(found["power/all axes"].curves["exact"].y, motion.t)
    assert whole == pytest.approx(np.trapezoid(friction, motion.t), rel=1e-3)
    rate = found["rate/1"].curves["axis 1"]
    by_difference = np.gradient(found["angle/1"].curves["axis 1"].y, rate.t)
    np.testing.assert_allclose(rate.y[1:-1], by_difference[1:-1], atol=0.01 * np.abs(rate.y).max())
    assert found["platform/z"].curves["z"].y.max() == pytest.approx(1e3 * motion.p[:, 2].max())


def test_a_log_brings_its_own_channels_and_the_following_error() -> None:
    log = simulated(1)
    found = by_key(track_channels(log_track(ROBOT, log), ROBOT, log))
    assert list(found["torque/1"].curves) == ["measured", "robot file"]
    assert log.q_command is not None
    error = found["following error/3"].curves["axis 3"].y
    np.testing.assert_allclose(error, np.degrees(log.q - log.q_command)[:, 2])


def test_thinning_keeps_peaks_and_a_closer_look_shows_every_sample() -> None:
    t = np.arange(50_000) / 1000
    y = np.sin(40 * t)
    y[31_007] = 9.0
    whole = Curve(t, y).thinned(None)
    assert len(whole.t) <= POINTS
    assert whole.y.max() == 9.0
    near = Curve(t, y).thinned((31.0, 31.5))
    inside = (near.t >= 31.0) & (near.t <= 31.5)
    np.testing.assert_array_equal(near.t[inside], t[31_000:31_501])
    assert near.t[0] == whole.t[0]  # the rest is still there, for the way back
    assert near.t[-1] == whole.t[-1]


def test_rows_share_the_time_axis_and_carry_units(track: Track) -> None:
    channels = track_channels(track, ROBOT)
    shown = [each for each in channels if each.group in ("torque", "rate")]
    data = json.loads(time_figure(shown, now=0.25).to_json())
    layout = data["layout"]
    assert {each["xaxis"] for each in data["data"]} == {"x"}
    titles = [layout[key]["title"]["text"] for key in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert titles == [*(f"torque {k}<br>(N m)" for k in "123"), "rate<br>(deg/s)"]
    assert "yaxis5" not in layout
    domains = [layout[key]["domain"] for key in ("yaxis4", "yaxis3", "yaxis2", "yaxis")]
    assert np.all(np.diff(np.ravel(domains)) > 0)  # from below, without overlap
    assert layout["shapes"][0]["x0"] == 0.25
    assert layout["xaxis"]["anchor"] == "y4"
    names = [each["name"] for each in data["data"] if each["showlegend"]]
    assert names == ["exact", "half-half", "axis 1", "axis 2", "axis 3"]
    assert Figure().to_json() == time_figure([]).to_json() == ""


def test_gaps_stay_gaps_and_names_are_escaped() -> None:
    gap = Channel("a<b", "x", "V", {"x": Curve(np.arange(3.0), np.array([1.0, np.nan, 2.0]))})
    data = json.loads(time_figure([gap]).to_json())
    assert data["data"][0]["y"] == [1.0, None, 2.0]
    told = tree([gap], ["a<b/x"])
    assert "a<b" not in told
    assert "a&lt;b (V)" in told
    assert " checked" in told
