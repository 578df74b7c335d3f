"""Coloured volumes: nothing of the surface is lost, colours mean what the legend says."""

import math

import numpy as np
import pytest
from tests.family.robots import make

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics import in_workspace, singularity, workspace
from deltadyn.kinematics.workspace import REASONS, WorkspaceRules
from deltadyn.studio.volumes import (
    AZIMUTHS,
    BANDS,
    LATITUDES,
    OTHER,
    Band,
    cylinder_mesh,
    volume_of,
    wall_of,
)

ROBOT = dd.load_robot("example-delta")


def area(bands: tuple[Band, ...]) -> float:
    total = 0.0
    for band in bands:
        a, b, c = (band.vertices[band.faces[:, k]] for k in range(3))
        total += float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
    return total


@pytest.mark.full
def test_bands_make_up_the_whole_surface() -> None:
    whole = wall_of(ROBOT, WorkspaceRules()).area
    for kind in ("singularity margin", "holding torque", "limits"):
        assert area(volume_of(ROBOT, kind).wall) == pytest.approx(whole, rel=1e-9)


IN_SPACE = [name for name in dd.robot_names() if not dd.load_robot(name).planar]


@pytest.mark.full
@pytest.mark.parametrize("name", IN_SPACE)
def test_the_wall_is_where_the_workspace_ends(name: str) -> None:
    robot = dd.load_robot(name)
    wall = wall_of(robot, WorkspaceRules())
    psi = np.zeros((len(wall.vertices), robot.dof - 3))
    assert in_workspace(robot, np.column_stack([wall.vertices, psi])).all()
    source = rays_start(wall.vertices)
    outward = wall.vertices - source
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    beyond = wall.vertices + 1e-5 * outward  # the bisection ends within 1e-7 of a step
    assert not in_workspace(robot, np.column_stack([beyond, psi])).any()
    # by height and azimuth nothing behind a gap counts: it can only be less
    other = workspace(robot).volume
    assert 0.97 * other < wall.volume < 1.25 * other


def rays_start(vertices: np.ndarray) -> np.ndarray:
    """Where the rays began: lines through opposite vertices of the equator's ring and the axis."""
    equator = vertices[:-2].reshape(LATITUDES, AZIMUTHS, 3)[LATITUDES // 2]
    return np.array([0.0, 0.0, equator[:, 2].mean()])


@pytest.mark.full
def test_colours_mean_the_margin_of_the_legend() -> None:
    found = volume_of(ROBOT, "singularity margin", height=-0.6)
    assert len(found.legend) == BANDS
    for band in found.slice:
        margin = np.degrees(singularity(ROBOT, band.vertices).margin)
        if " to " in band.label:
            low, high = (float(text) for text in band.label.removesuffix(" deg").split(" to "))
            # linear between samples some cm apart, and three digits in the label
            assert margin.min() > low - 0.5
            assert margin.max() < high + 0.5


@pytest.mark.full
def test_the_slice_lies_inside_at_its_height() -> None:
    found = volume_of(ROBOT, "holding torque", height=-0.6)
    for band in found.slice:
        np.testing.assert_allclose(band.vertices[:, 2], -0.6)
        # straight edges between sampled azimuths may cross an inward bend by a millimetre
        assert in_workspace(ROBOT, band.vertices * [0.99, 0.99, 1.0]).all()
    assert volume_of(ROBOT, "holding torque", height=0.3).slice == ()


def test_a_larger_margin_leaves_less() -> None:
    full, less = (volume_of(ROBOT, "limits", margin=math.radians(x)) for x in (0.0, 30.0))
    assert float(less.status.split()[0]) < float(full.status.split()[0])
    labels = {band.label for band in less.wall}
    assert "it is closer to a singular pose than the margin, or beyond one" in labels


def test_limits_name_the_rule_that_is_met() -> None:
    spindle = volume_of(dd.load_robot("example-delta-4"), "limits")
    labels = {key.label for key in spindle.legend}
    assert "the telescope passes its stroke" in labels
    assert "an arm passes its angle limit" in labels


def test_wrong_calls() -> None:
    with pytest.raises(UnknownNameError, match="volume is 'colour'"):
        volume_of(ROBOT, "colour")
    with pytest.raises(InputError, match="a smaller margin"):
        volume_of(ROBOT, "limits", margin=1.5)


def test_the_working_cylinder_is_that_of_the_limits() -> None:
    band, limit = cylinder_mesh(ROBOT), ROBOT.limits.workspace
    assert band is not None
    assert limit is not None
    assert band.vertices[:, 2].min() == limit.z_min
    assert np.hypot(*band.vertices.T[:2]).max() == pytest.approx(limit.radius)
    assert cylinder_mesh(ROBOT.replace(limits=type(ROBOT.limits)())) is None


def test_the_workspace_in_a_plane_is_an_area() -> None:
    robot = make("planar_rails")
    found = volume_of(robot, "holding torque", height=-0.2)
    assert "m² in the plane" in found.status
    assert found.slice == ()
    assert found.legend[0].label.endswith(" N")  # carriages give forces
    flat = np.concatenate([band.vertices for band in found.wall])
    assert np.abs(flat[:, 1]).max() == 0.0
    area = float(found.status.split()[0])
    np.testing.assert_allclose(area, workspace(robot).area, rtol=0.02)  # 108 rays, 3 digits
    rim = volume_of(robot, "limits").wall
    assert {band.label for band in rim} <= {*REASONS.values(), OTHER}
    band = cylinder_mesh(robot)
    assert band is not None
    assert band.label == "working area"


@pytest.mark.full
def test_the_workspace_under_two_halves_is_that_of_an_angle_of_the_tool() -> None:
    robot = make("par4_rails")
    straight, turned = (
        volume_of(robot, "singularity margin", psi=psi) for psi in (0.0, np.radians(120))
    )
    assert straight.status.endswith("at psi = 0 deg")
    assert turned.status.endswith("at psi = 120 deg")
    assert float(straight.status.split()[0]) > float(turned.status.split()[0])
