"""Rounded polylines by arc length: derivatives, continuous curvature, cuts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.paths import RoundedPath, corner_length, rounded_path

GATE = np.array([[0.0, 0.0, -0.8], [0.0, 0.0, -0.7], [0.3, 0.1, -0.7], [0.3, 0.1, -0.8]])


def random_path(seed: int) -> RoundedPath:
    """Three to six corners with sides of 0.1 to 0.5 m and turns of up to about 150 degrees."""
    rng = np.random.default_rng(seed)
    heading = np.array([1.0, 0.0, 0.0])
    corners = [np.zeros(3)]
    lengths = rng.uniform(0.1, 0.5, rng.integers(3, 7))
    for length in lengths:
        corners.append(corners[-1] + length * heading)
        while True:
            new = rng.normal(size=3)
            new /= np.linalg.norm(new)
            if new @ heading > -0.85:
                break
        heading = new
    cuts = rng.uniform(0.1, 0.49, len(lengths) - 1) * np.minimum(lengths[:-1], lengths[1:])
    return rounded_path(np.array(corners), cuts)


@given(seed=st.integers(0, 10_000))
def test_derivatives_by_arc_length(seed: int) -> None:
    """Central differences: their error is h^2 / 6 times a derivative of the curvature."""
    path = random_path(seed)
    s = np.linspace(0.0, path.length, 4001)
    h = s[1] - s[0]
    p, p1, p2 = path.at(s)
    np.testing.assert_allclose(np.linalg.norm(p1, axis=1), 1.0, rtol=0, atol=1e-13)
    kappa = np.max(np.linalg.norm(p2, axis=1))
    slope = np.max(np.abs(np.diff(p2, axis=0))) / h  # of the curvature
    assert np.max(np.abs((p[2:] - p[:-2]) / (2 * h) - p1[1:-1])) < (slope + kappa**2) * h**2
    assert np.max(np.abs((p1[2:] - p1[:-2]) / (2 * h) - p2[1:-1])) < slope * h


@given(seed=st.integers(0, 10_000))
def test_curvature_is_continuous_where_pieces_meet(seed: int) -> None:
    """Both pieces have the same place, heading and no curvature there; circular arcs would not."""
    path = random_path(seed)
    assert len(path.pieces) >= 5
    for before, after in zip(path.pieces[:-1], path.pieces[1:], strict=True):
        end, begin = before.at(np.array([after.begin])), after.at(np.array([after.begin]))
        # positions of some metres, curvatures of some 100 / m from a sigma that errs by 1e-15
        for one, two, small in zip(end, begin, (1e-13, 1e-12, 1e-9), strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=small)
        np.testing.assert_allclose(begin[2], 0.0, atol=1e-9)


def test_a_finer_step_shows_a_smaller_step_of_curvature() -> None:
    path = rounded_path(GATE, np.array([0.05, 0.08]))

    def largest_step(count: int) -> float:
        p2 = path.at(np.linspace(0.0, path.length, count))[2]
        return float(np.max(np.abs(np.diff(p2, axis=0))))

    ratio = largest_step(2001) / largest_step(8001)
    assert ratio == pytest.approx(4.0, rel=0.02)  # a jump would give 1


def test_the_gate_passes_where_it_should() -> None:
    path = rounded_path(GATE, np.array([0.05, 0.08]))
    p, _, p2 = path.at(np.linspace(0.0, path.length, 20_001))
    np.testing.assert_allclose(p[[0, -1]], GATE[[0, -1]], rtol=0, atol=1e-15)
    assert np.max(p[:, 2]) == pytest.approx(-0.7, abs=1e-15)
    side = np.hypot(*(p[:, :2]).T)
    straight = (p[:, 2] < -0.75 - 1e-12) & (side < 0.1)
    np.testing.assert_allclose(side[straight], 0.0, atol=1e-15)  # nothing but up before the cut
    width = math.hypot(0.3, 0.1)
    beam = (side > 0.05) & (side < width - 0.08)
    np.testing.assert_allclose(p[beam, 2], -0.7, rtol=0, atol=1e-14)
    # the sharper corner has the peak 15/8 phi / L
    peak = 15 / 8 * (math.pi / 2) / corner_length(math.pi / 2, 0.05)
    assert np.max(np.linalg.norm(p2, axis=1)) == pytest.approx(peak, rel=1e-5)


@pytest.mark.parametrize("angle", [1e-3, 0.5, math.pi / 2, 2.5, 3.0])
def test_a_corner_is_cut_alike_on_both_sides(angle: float) -> None:
    corners = np.array([[-1.0, 0, 0], [0, 0, 0], [math.cos(angle), math.sin(angle), 0]])
    path = rounded_path(corners, np.array([0.2]))
    first, corner, last = path.pieces
    assert first.length == pytest.approx(0.8, rel=1e-12)
    assert last.length == pytest.approx(0.8, rel=1e-12)
    end = corner.at(np.array([last.begin]))[0][0]
    np.testing.assert_allclose(end, 0.2 * corners[2], rtol=0, atol=1e-12)
    # symmetric about the bisector: both halves keep the same distance from the corner
    s = np.linspace(corner.begin, last.begin, 101)
    distance = np.linalg.norm(corner.at(s)[0], axis=1)
    np.testing.assert_allclose(distance, distance[::-1], rtol=0, atol=1e-12)


def test_points_in_line_are_no_corner() -> None:
    line = np.array([[0.0, 0, 0], [0.2, 0, 0], [1.0, 0, 0]])
    path = rounded_path(line, np.array([0.1]))
    assert path.length == pytest.approx(1.0, rel=1e-15)
    assert np.all(path.at(np.linspace(0, 1, 11))[2] == 0)


WRONG: dict[str, tuple[FloatArray, list[float], str]] = {
    "cuts beyond a side": (
        GATE,
        [0.05, 0.3],
        r"cuts of the corners at side 2 is 0.35; allowed: together at most 0.316",
    ),
    "the same point twice": (
        GATE[[0, 0, 1, 2]],
        [0.01, 0.01],
        r"corners at row 0 is \[0, 0, -0.8\]; allowed: apart from the next one",
    ),
    "straight back": (
        GATE[[0, 1, 0]],
        [0.01],
        r"corner at \[0.0, 0.0, -0.7\] m is 'cut by 0.01 m, turned by 180 deg'; allowed: turned by",
    ),
    "no cut": (GATE, [0.05, 0.0], r"cut by 0 m, turned by 90 deg'; allowed: a cut above 0 m"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_paths(name: str) -> None:
    corners, cuts, message = WRONG[name]
    with pytest.raises(InputError, match=message):
        rounded_path(corners, np.array(cuts))
