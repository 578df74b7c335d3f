"""Profiles on unit time: derivatives, ends, symmetry, and the peak factors they claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn.errors import UnknownNameError
from deltadyn.motion.profiles import PROFILES, Profile, profile_by_name, timed

DENSE = np.linspace(0.0, 1.0, 200_001)

every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))


@every_profile
def test_from_rest_to_rest(profile: Profile) -> None:
    s, sd, sdd = profile(np.array([0.0, 1.0]))
    np.testing.assert_allclose(s, [0.0, 1.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(sd, 0.0, rtol=0, atol=1e-15)
    if profile.continuous:
        np.testing.assert_allclose(sdd, 0.0, rtol=0, atol=1e-14)
    else:
        np.testing.assert_allclose(sdd, [profile.acceleration, -profile.acceleration])


@every_profile
def test_held_before_and_after(profile: Profile) -> None:
    s, sd, sdd = profile(np.array([-3.0, -1e-9, 1 + 1e-9, 7.0]))
    np.testing.assert_array_equal(s, [0, 0, 1, 1])
    np.testing.assert_array_equal(sd, 0.0)
    np.testing.assert_array_equal(sdd, 0.0)


@every_profile
def test_peak_factors_are_exact(profile: Profile) -> None:
    """Over 200,000 steps a smooth peak is missed by (pi * 5e-6)^2, far below 1e-9."""
    _, sd, sdd = profile(DENSE)
    assert np.max(sd) == pytest.approx(profile.speed, rel=1e-9)
    assert np.max(np.abs(sdd)) == pytest.approx(profile.acceleration, rel=1e-9)
    if profile.continuous:
        jerk = np.abs(np.diff(sdd)) * (len(DENSE) - 1)
        # a step sees the mean jerk, 1e-4 below the peak where the jerk is largest at an end
        assert np.max(jerk) == pytest.approx(profile.jerk, rel=2e-4)
    else:
        assert math.isinf(profile.jerk)


def test_peak_factors_of_the_literature() -> None:
    """Textbook figures of motion laws, to the digits usually printed."""
    assert PROFILES["trapezoid"].speed == pytest.approx(1.5)
    assert PROFILES["trapezoid"].acceleration == pytest.approx(4.5)
    assert PROFILES["quintic"].speed == pytest.approx(1.875)
    assert PROFILES["quintic"].acceleration == pytest.approx(5.7735, abs=5e-5)
    assert PROFILES["modified-sine"].speed == pytest.approx(1.7596, abs=5e-5)
    assert PROFILES["modified-sine"].acceleration == pytest.approx(5.5280, abs=5e-5)
    assert PROFILES["modified-sine"].jerk == pytest.approx(69.466, abs=5e-3)


@every_profile
@given(u=st.floats(1e-4, 1 - 1e-4))
def test_derivatives(profile: Profile, u: float) -> None:
    """Central differences; third derivatives up to 80 and kinks in them bound the error."""
    h = 1e-5
    jerk = profile.jerk if profile.continuous else 0.0
    breaks = np.array([1 / 3, 2 / 3])
    if not profile.continuous and np.min(np.abs(breaks - u)) < 2 * h:
        return  # the acceleration jumps here
    s, sd, sdd = profile(u + np.array([-h, 0.0, h]))
    assert (s[2] - s[0]) / (2 * h) == pytest.approx(sd[1], abs=jerk * h**2 + 1e-10)
    assert (sd[2] - sd[0]) / (2 * h) == pytest.approx(sdd[1], abs=jerk * h + 1e-9)


@every_profile
def test_forward_and_symmetric(profile: Profile) -> None:
    s, sd, sdd = profile(DENSE)
    assert np.all(np.diff(s) >= 0)
    np.testing.assert_allclose(s + s[::-1], 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(sd, sd[::-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(sdd[1:-1], -sdd[::-1][1:-1], rtol=0, atol=1e-9)


@every_profile
@given(begin=st.floats(-1.0, 1.0), lasting=st.floats(0.05, 3.0))
def test_timed(profile: Profile, begin: float, lasting: float) -> None:
    """Rates over time are those over unit time, divided by the duration once and twice."""
    end = begin + lasting
    t = np.linspace(begin, end, 41)[1:-1]
    u = (t - begin) / (end - begin)
    pairs = zip(timed(profile, t, begin, end), profile(u), strict=True)
    for power, (ours, plain) in enumerate(pairs):
        peak = profile.acceleration / lasting**power
        np.testing.assert_allclose(ours, plain / lasting**power, rtol=1e-9, atol=1e-9 * peak)


@pytest.mark.parametrize("name", ["sine", None, 5, ["quintic"]])
def test_unknown_profile(name: object) -> None:
    with pytest.raises(UnknownNameError, match="allowed: one of 'trapezoid', 's-curve'"):
        profile_by_name(name)  # type: ignore[arg-type]
