"""Loads of single rods and preload of their ball joints: balances, and cases done by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    full_friction,
    make_robot,
    make_states,
)
from tests.dynamics.known_loads import known
from tests.dynamics.loads_by_hand import (
    ROUNDING,
    Z,
    hanging_robot,
    joint_friction,
    largest_difference,
    limb_vectors,
    rods_of,
    spaced,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads
from deltadyn.dynamics.loads import least_preload
from deltadyn.kinematics import State, strut_angles
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Effector, Rod, Spindle


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return spaced(make_robot(*request.param), 0.12)


def test_rods_share_the_pairs_load_and_carry_its_couple(robot: Robot) -> None:
    state = make_states(robot, 60)
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    rods = rods_of(loads)
    assert largest_difference(rods.elbow.sum(axis=2), loads.elbow) < ROUNDING
    assert largest_difference(rods.platform.sum(axis=2), loads.platform) < ROUNDING
    for name in ("axial_elbow", "axial_platform", "axial_max", "axial_min"):
        assert largest_difference(getattr(rods, name).sum(axis=2), getattr(loads, name)) < ROUNDING
    u = limb["s"] / np.array(robot.geometry.strut_length)[:, None]
    arms = np.array([0.06, -0.06])[:, None] * limb["t"][:, None]  # (3, 2, 3)
    on_platform = np.cross(arms, -rods.platform).sum(axis=2)
    on_arm = np.cross(arms, -rods.elbow).sum(axis=2)
    couple = known(loads.couple)[..., None] * np.cross(limb["t"], u)
    # the pair's own transverse forces have no couple: both rods have the same
    scale = np.max(np.abs(rods.platform)) * 0.06
    assert np.max(np.abs(on_platform + couple)) < ROUNDING * scale
    assert np.max(np.abs(on_arm - couple)) < ROUNDING * scale


@pytest.mark.parametrize("equal_limbs", [True, False])
def test_the_platform_does_not_turn(equal_limbs: bool) -> None:
    """Joint forces of all rods against payload and effector; with a spindle see the cut loops."""
    robot = spaced(make_robot(3, equal_limbs), 0.12)
    robot = robot.replace(effector=Effector(0.3, (0.01, 0.05, -0.08)))
    robot = robot.with_friction(passive=full_friction(3).passive)
    state = make_states(robot, 60)
    limb, rods = limb_vectors(robot, state), rods_of(constraint_loads(robot, state))
    radius = np.array(robot.geometry.platform_radius)[:, None, None]
    side = np.array([0.06, -0.06])[:, None]
    place = radius * limb["e_r"][:, None] + side * limb["t"][:, None]
    given = np.cross(place, -rods.platform).sum(axis=(1, 2))
    for i in range(3):  # the joints' drag: swing about t, sway about n, nothing along the rod
        t = np.broadcast_to(limb["t"][i], (60, 3))
        u = limb["s"][:, i] / robot.geometry.strut_length[i]
        n = np.cross(u, t) / np.linalg.norm(np.cross(u, t), axis=1, keepdims=True)
        drags = [
            joint_friction(robot, state, f"platform_{kind}")[:, i] for kind in ("swing", "sway")
        ]
        parts = np.stack([*drags, np.zeros(60)], axis=-1)
        given += np.linalg.solve(np.stack([t, n, u], axis=1), parts[..., None])[..., 0]
    lift = state.pdd + robot.gravity * Z
    need = np.cross(np.array(robot.payload.offset), robot.payload.mass * lift)
    need += np.cross(np.array([0.01, 0.05, -0.08]), 0.3 * lift)
    assert np.max(np.abs(need)) > 1.0
    assert np.max(np.abs(given - need)) < ROUNDING * np.max(np.abs(rods.platform))


def test_an_offset_payload_at_rest_by_hand() -> None:
    """m g d about y, in the middle: sum kappa = 0 and c_z sum kappa e = -m g d y, c_z = -u_z."""
    robot = hanging_robot().with_payload(2.0, (0.05, 0.0, 0.0))
    state = State.from_platform(robot, [0.0, 0.0, -0.8])
    loads = constraint_loads(robot, state)
    centred = constraint_loads(robot.with_payload(2.0), state)
    np.testing.assert_allclose(known(centred.couple), 0.0, atol=1e-12)
    np.testing.assert_allclose(loads.platform, centred.platform, rtol=ROUNDING)  # same forces
    s_z = limb_vectors(robot, State.from_platform(robot, [[0.0, 0.0, -0.8]]))["s"][0, 0, 2]
    kappa = 2.0 * 9.81 * 0.05 / (-s_z / 0.9) / np.sqrt(3)
    np.testing.assert_allclose(known(loads.couple), [0.0, -kappa, kappa], atol=1e-12)
    more = (rods_of(loads).axial_platform - rods_of(centred).axial_platform)[1]
    np.testing.assert_allclose(more, [-kappa / 0.1, kappa / 0.1], rtol=1e-10)


def test_a_turning_effector_by_hand() -> None:
    """In the middle, at rest but for psi: centrifugal force m w^2 e along x and its moment h."""
    nothing = Rod(0.0, 0.0, 0.0)
    robot = hanging_robot(
        spindle=Spindle(nothing, nothing, 0.1, 0.05),
        effector=Effector(0.5, (0.04, 0.0, -0.03), 0.002),
    )
    state = State.from_platform(robot, [[0.0, 0.0, -0.8, 0.0]], [[0.0, 0.0, 0.0, 20.0]])
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    pull = 0.5 * 20.0**2 * 0.04  # N, the effector pulls the platform along +x
    given = -loads.platform[0].sum(axis=0)
    np.testing.assert_allclose(given, [-pull, 0.0, (0.94 + 0.5) * 9.81], atol=1e-11)
    lever = 0.1 * limb["e_r"]
    turning = np.cross(lever, -loads.platform[0]).sum(axis=0)
    couple = known(loads.couple)[0, :, None]
    turning -= (couple * np.cross(limb["t"], limb["s"][0] / 0.9)).sum(axis=0)
    moment = 0.03 * pull - 0.04 * 0.5 * 9.81  # r x (g z - w^2 e x) m, about y
    np.testing.assert_allclose(turning, [0.0, moment, 0.0], atol=1e-12)


def test_an_external_moment_on_the_effector_stays_off_the_platform() -> None:
    """Axis 4 takes it; in the middle, where the shaft is straight, nothing tilts the platform."""
    robot = spaced(make_robot(4, True), 0.1)
    state = State.from_platform(robot, [[0.0, 0.0, -0.75, 0.3]])
    loads = constraint_loads(robot, state)
    pushed = constraint_loads(robot, state, [0.0, 0.0, 0.0, 5.0])
    np.testing.assert_allclose(known(pushed.couple), known(loads.couple), atol=1e-12)
    aside = State.from_platform(robot, [[0.2, 0.1, -0.75, 0.3]])
    loads = constraint_loads(robot, aside)
    pushed = constraint_loads(robot, aside, [0.0, 0.0, 0.0, 5.0])
    assert np.max(np.abs(known(pushed.couple) - known(loads.couple))) > 0.1  # the bent joint does


def test_couples_do_not_need_the_spacing_and_rods_do(robot: Robot) -> None:
    state = make_states(robot, 10)
    narrow, wide = (constraint_loads(spaced(robot, w), state) for w in (0.06, 0.12))
    unknown = robot.replace(geometry=replace(robot.geometry, rod_spacing=None))
    loads = constraint_loads(unknown, state)
    assert loads.rods is None
    assert loads.preload is None
    np.testing.assert_array_equal(loads.couple, narrow.couple)
    gap = [np.diff(rods_of(item).axial_elbow, axis=2) for item in (narrow, wide)]
    np.testing.assert_allclose(gap[0], 2 * gap[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axis", ["pin", "rod"])
@pytest.mark.parametrize("degrees", [35.0, 45.0, 70.0])
def test_the_ball_just_stays_in_its_cup(robot: Robot, axis: str, degrees: float) -> None:
    state, half = make_states(robot, 200), np.radians(degrees)
    loads = constraint_loads(robot, state, cup_half_angle=half, cup_axis=axis)  # type: ignore[arg-type]
    rods, limb = rods_of(loads), limb_vectors(robot, state)
    u = (limb["s"] / np.array(robot.geometry.strut_length)[:, None])[:, :, None]
    outward = np.broadcast_to(limb["t"][:, None] * np.array([1.0, -1.0])[:, None], rods.elbow.shape)
    cup = outward
    if axis == "rod":
        cup = outward - np.sum(outward * u, axis=-1, keepdims=True) * u
        cup = cup / np.linalg.norm(cup, axis=-1, keepdims=True)
    for force, preload in (
        (rods.elbow, rods.preload_elbow),
        (rods.platform, rods.preload_platform),
    ):
        assert (preload >= 0).all()
        assert np.isfinite(preload).all()
        needed = preload > 0
        assert needed.mean() > 0.9
        angle = angle_between(force + preload[..., None] * outward, cup)
        np.testing.assert_allclose(angle[needed], half, rtol=1e-9)
        assert (angle[~needed] <= half).all()
        less = angle_between(force + 0.999 * preload[..., None] * outward, cup)
        more = angle_between(force + 1.001 * preload[..., None] * outward, cup)
        assert (less[needed] > half).all()
        assert (more[needed] < half).all()
    worst = max(rods.preload_elbow.max(), rods.preload_platform.max())
    assert loads.preload == rods.preload == worst


def angle_between(a: FloatArray, b: FloatArray) -> FloatArray:
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    return np.asarray(np.arctan2(across, np.sum(a * b, axis=-1)))


def test_preload_by_hand() -> None:
    t = np.array([0.0, 1.0, 0.0])
    force = np.array([[3.0, 0.0, 4.0], [3.0, 2.0, 4.0], [3.0, -2.0, 4.0], [0.3, 2.0, 0.4]])
    found = least_preload(force, t, t, np.radians(45.0))
    np.testing.assert_allclose(found, [5.0, 3.0, 7.0, 0.0], rtol=ROUNDING)
    found = least_preload(force, t, t, np.arctan(0.5))
    np.testing.assert_allclose(found, [10.0, 8.0, 12.0, 0.0], rtol=ROUNDING)
    tilted = np.array([np.sin(1.0), np.cos(1.0), 0.0])  # a spring 1 rad off the cup's axis
    found = least_preload(np.array([[0.0, 5.0, 0.0], [-1.0, 0.0, 2.0]]), t, tilted, 0.9)
    np.testing.assert_array_equal(found, np.inf)


def test_a_spring_across_the_rim_cannot_hold() -> None:
    robot = hanging_robot()
    state = State.from_platform(robot, [[0.0, 0.5, -0.8]])
    sway = strut_angles(robot, state).ball_joint
    assert sway.max() > np.radians(30.0) > sway.min()
    loads = constraint_loads(robot, state, cup_half_angle=np.radians(30.0), cup_axis="rod")
    lost = np.isinf(rods_of(loads).preload_elbow)
    np.testing.assert_array_equal(lost, np.repeat((sway > np.radians(30.0))[..., None], 2, axis=2))
    assert loads.preload == np.inf
