"""Shapes: closed, oriented outward; rotations against scipy."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deltadyn.studio.drawing import SIDES, Shape, bar, box, frame_along, plate, quaternion


def volume(shape: Shape) -> float:
    """By the divergence theorem: right only for a closed surface that faces outward."""
    a, b, c = (shape.vertices[shape.faces[:, k]] for k in range(3))
    return float(np.einsum("nk,nk->", a, np.cross(b, c)) / 6)


def circle(radius: float) -> float:
    """Area of the polygon that stands for a circle."""
    return SIDES / 2 * math.sin(2 * math.pi / SIDES) * radius**2


def test_a_bar_has_the_volume_of_a_frustum() -> None:
    a, b = circle(0.02), circle(0.01)
    expected = 0.5 / 3 * (a + b + math.sqrt(a * b))
    assert volume(bar(0.5, 0.02, 0.01)) == pytest.approx(expected, rel=1e-12)


def test_boxes_plates_and_sums() -> None:
    assert volume(box(0.3, 0.2, 0.1)) == pytest.approx(0.006, rel=1e-12)
    square = [[1, 1], [-1, -1], [1, -1], [-1, 1]]  # in no order
    assert volume(plate(square, -0.5, 0.5)) == pytest.approx(4.0, rel=1e-12)
    both = box(1, 1, 1) + box(1, 1, 1).moved([5, 0, 0])
    assert volume(both) == pytest.approx(2.0, rel=1e-12)


def test_quaternions_equal_those_of_scipy() -> None:
    for matrix in Rotation.random(200, random_state=0).as_matrix():
        w, x, y, z = quaternion(matrix)
        back = Rotation.from_quat([x, y, z, w]).as_matrix()
        np.testing.assert_allclose(back, matrix, atol=1e-14)  # rounding of a few products


def test_half_turns_have_a_quaternion_too() -> None:
    for axis in np.eye(3):
        matrix = Rotation.from_rotvec(math.pi * axis).as_matrix()
        w, x, y, z = quaternion(matrix)
        assert abs(w) < 1e-12
        np.testing.assert_allclose(np.abs([x, y, z]), axis, atol=1e-12)


def test_a_frame_points_along_its_direction() -> None:
    rng = np.random.default_rng(1)
    for direction, side in rng.normal(size=(50, 2, 3)):
        frame = frame_along(direction, side)
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) == pytest.approx(1.0)
        np.testing.assert_allclose(frame[:, 2], direction / np.linalg.norm(direction), atol=1e-12)
        assert frame[:, 0] @ side >= 0
    parallel = frame_along([0, 0, 2.0], [0, 0, 1.0])
    np.testing.assert_allclose(parallel[:, 2], [0, 0, 1])
