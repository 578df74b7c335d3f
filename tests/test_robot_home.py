"""Robots at home: the struts that decide whether limbs hold their platform, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make

import deltadyn as dd
from deltadyn.errors import RobotError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, Payload, Platform, RailGeometry
from deltadyn.robot.home import home_struts


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_struts_at_home_are_those_of_the_kinematics(kind: str) -> None:
    robot = make(kind)
    cylinder = robot.limits.workspace
    assert cylinder is not None
    heights = np.linspace(cylinder.z_min, cylinder.z_max, 5)
    struts = home_struts(robot.geometry, robot.platform, heights)
    for z, own in zip(heights, struts, strict=True):
        p = np.zeros(robot.dof)
        p[robot.coordinates.index("z")] = z
        bones = dd.kinematics.skeleton(robot, p)
        np.testing.assert_allclose(own, bones.joints - bones.elbows, atol=1e-12)
    if not robot.linear:  # a vertical rail reaches every height
        assert np.isnan(home_struts(robot.geometry, robot.platform, np.array([-9.0]))).all()


def turned(robot: Robot, degrees: float) -> Robot:
    assert isinstance(robot.platform, ArticulatedPlatform)
    phi0 = robot.platform.phi0 + math.radians(degrees)
    return robot.replace(platform=replace(robot.platform, phi0=phi0))


def at(robot: Robot, *azimuths: float) -> Robot:
    geometry = replace(robot.geometry, azimuth=[math.radians(angle) for angle in azimuths])
    return robot.replace(geometry=geometry)


def pitched(robot: Robot, *degrees: float) -> Robot:
    assert isinstance(robot.geometry, RailGeometry)
    pitch = [math.radians(angle) for angle in degrees]
    return robot.replace(geometry=replace(robot.geometry, rail_pitch=pitch))


REFUSED: dict[str, tuple[Callable[[], Robot], str, str]] = {
    "bars across": (lambda: turned(make("par4"), 90), "platform.phi0", "bars that lie across"),
    "bars across on rails": (
        lambda: turned(make("par4_rails"), -90),
        "platform.phi0",
        "bars that lie across",
    ),
    "opposite limbs under bars": (
        lambda: at(make("par4_rails"), 0, 180, 90, 270),
        "geometry.azimuth",
        "neighbours as limbs 1 and 2",
    ),
    "neighbours under a screw": (
        lambda: at(make("heli4"), -45, 45, 135, 225),
        "geometry.azimuth",
        "opposite limbs as 1 and 2",
    ),
    "rails side by side": (
        lambda: pitched(make("beam"), 90, -90),
        "geometry.rail_pitch",
        "rails that do not run side by side",
    ),
    "arms too short": (
        lambda: make("planar").replace(
            geometry=replace(make("planar").geometry, strut_length=0.2, base_radius=0.7)
        ),
        "geometry.arm_length[0]",
        "above 0.45 m, or the loop cannot close",
    ),
    "three limbs under bars": (
        lambda: make("vertical").replace(platform=make("par4").platform),
        "geometry.azimuth",
        "four azimuths: four limbs hold a platform of kind articulated",
    ),
    "four limbs under a plate": (
        lambda: make("par4").replace(platform=Platform(1.0)),
        "geometry.azimuth",
        "three azimuths: three limbs hold a platform of kind translational",
    ),
    "spindle in a plane": (
        lambda: make("planar").replace(spindle=make("vertical_spindle").spindle),
        "spindle",
        "none beside a platform of kind planar",
    ),
}


@pytest.mark.parametrize(("build", "quantity", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_held_is_refused(
    build: Callable[[], Robot], quantity: str, words: str
) -> None:
    with pytest.raises(RobotError) as caught:
        build()
    assert caught.value.quantity == quantity
    assert words in caught.value.allowed


def test_the_reach_of_four_limbs_counts_from_the_halves() -> None:
    """Bars put a half 0.1 m nearer to its rails: 0.55 m from the axis, 0.48 m from the half."""
    robot = make("par4_rails")
    assert isinstance(robot.platform, ArticulatedPlatform)
    wide = replace(robot.platform, bar_length=0.2)
    near = replace(robot.geometry, base_radius=0.6, strut_length=0.5)
    strut = replace(robot.struts[0], inertia=0.0)
    away = math.hypot(0.55 - 0.1 * math.cos(math.pi / 4), 0.1 * math.sin(math.pi / 4))
    assert away == pytest.approx(0.4845, abs=1e-4)
    assert robot.replace(geometry=near, platform=wide, struts=strut).legs == 4
    with pytest.raises(RobotError, match=r"strut_length\[0\] is 0\.48; .* limb 1 reaches its half"):
        robot.replace(geometry=replace(near, strut_length=0.48), platform=wide, struts=strut)


def test_a_change_of_a_load_looks_at_home_no_second_time() -> None:
    """The check is remembered by geometry and platform, since fits make many robots."""
    from deltadyn.robot.home import check_home

    robot = make("heli4")
    before = check_home.cache_info().misses
    for mass in (0.1, 0.2, 0.3):
        robot = robot.replace(payload=Payload(mass))
    assert check_home.cache_info().misses == before
