"""Constraint loads of arms and strut pairs: every body, along the strut, at the boundary."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    any_shape,
    full_friction,
    make_robot,
    make_states,
    relative,
)
from tests.dynamics.known_loads import known
from tests.dynamics.loads_by_hand import (
    ROUNDING,
    Z,
    hanging_robot,
    joint_friction,
    largest_difference,
    limb_vectors,
    rod_as_points,
    rods_of,
    spaced,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import (
    ConstraintLoads,
    SpindleLoads,
    constraint_loads,
    inverse_dynamics,
)
from deltadyn.dynamics.loads import _line_density
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Strut


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return spaced(make_robot(*request.param), 0.12)


def test_forces_and_moments_of_every_strut(robot: Robot) -> None:
    state = make_states(robot, 60)
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    pdd, s = state.pdd[:, :3], limb["s"]
    for i in range(3):
        force, moment = np.zeros((60, 3)), np.zeros((60, 3))
        for mass, place in zip(*rod_as_points(robot, i), strict=True):
            pull = mass * ((1 - place) * limb["Edd"][:, i] + place * pdd + robot.gravity * Z)
            force += pull
            moment += np.cross(place * s[:, i], pull)
        assert largest_difference(loads.elbow[:, i] + loads.platform[:, i], force) < ROUNDING
        about_elbow = np.cross(s[:, i], loads.platform[:, i])
        # the part of the forces along the strut has no moment, but its rounding has
        scale = np.max(np.abs(loads.platform[:, i]))
        assert np.max(np.abs(about_elbow - moment)) < ROUNDING * scale


def test_arms_shoulders_and_drives(robot: Robot) -> None:
    robot = robot.with_friction(passive=full_friction(robot.dof).passive)
    state = make_states(robot, 60)
    force = np.array([30.0, -20.0, 40.0])
    loads, limb = constraint_loads(robot, state, force), limb_vectors(robot, state)
    tau = inverse_dynamics(robot, state, external_force=force)
    up = robot.gravity * Z
    for i, arm in enumerate(robot.rotary_arms):
        l1, qdd, qd = robot.rotary.arm_length[i], state.qdd[:, i, None], state.qd[:, i, None]
        along, above, t = limb["along"][:, i], limb["above"][:, i], limb["t"][i]
        com = arm.com * along + arm.com_offset * above
        at_com = qdd * np.cross(t, com) - qd**2 * com + up
        pull = arm.mass * at_com + arm.elbow_mass * (limb["Edd"][:, i] + up)
        expected = pull + loads.elbow[:, i]
        assert largest_difference(loads.shoulder_force[:, i], expected) < ROUNDING
        # about the shoulder: inertia, weight, the pair's force and couple, elbow friction
        inertia = arm.inertia * qdd * t + np.cross(com, arm.mass * at_com)
        inertia += np.cross(l1 * along, arm.elbow_mass * (limb["Edd"][:, i] + up))
        u = limb["s"][:, i] / robot.geometry.strut_length[i]
        couple = known(loads.couple)[:, i, None]
        pair = np.cross(l1 * along, loads.elbow[:, i]) - couple * np.cross(t, u)
        drive = (tau[:, i] - robot.drives.output_inertia[i] * state.qdd[:, i])[:, None] * t
        rest = drive + known(loads.shoulder_moment)[:, i] - inertia - pair
        # what is left holds against the drag of the elbow's joint: swing about t, sway about n
        n = np.cross(u, t) / np.linalg.norm(np.cross(u, t), axis=1, keepdims=True)
        tolerance = ROUNDING * np.max(np.abs(pair))
        for joint, part in (("elbow_swing", rest @ t), ("elbow_sway", np.sum(rest * n, axis=1))):
            drag = joint_friction(robot, state, joint)[:, i]
            assert np.max(np.abs(drag)) > 0.1
            assert np.max(np.abs(part + drag)) < tolerance
        assert np.max(np.abs(np.sum(rest * u, axis=1))) < tolerance  # a rod turns in its sockets
        assert np.max(np.abs(known(loads.shoulder_moment)[:, i] @ t)) < tolerance


def test_the_base_carries_the_whole_robot(robot: Robot) -> None:
    state = make_states(robot, 60)
    force = np.array([30.0, -20.0, 40.0])
    loads, limb = constraint_loads(robot, state, force), limb_vectors(robot, state)
    pdd, up = state.pdd[:, :3], robot.gravity * Z
    need = robot.platform.mass * (pdd + up)
    for i, arm in enumerate(robot.rotary_arms):
        com = arm.com * limb["along"][:, i] + arm.com_offset * limb["above"][:, i]
        at_com = state.qdd[:, i, None] * np.cross(limb["t"][i], com)
        need = need + arm.mass * (at_com - state.qd[:, i, None] ** 2 * com + up)
        need = need + arm.elbow_mass * (limb["Edd"][:, i] + up)
        for mass, place in zip(*rod_as_points(robot, i), strict=True):
            need = need + mass * ((1 - place) * limb["Edd"][:, i] + place * pdd + up)
    for body, r in ((robot.effector, robot.effector.com), (robot.payload, robot.payload.offset)):
        need = need + body.mass * (turned_acceleration(robot, state, r) + pdd + up)
    given = loads.shoulder_force.sum(axis=1) + force
    if robot.spindle is not None:
        assert loads.spindle_upper is not None
        assert loads.spindle_lower is not None
        given = given + loads.spindle_upper
        need = need + loads.spindle_upper + loads.spindle_lower  # the rods' own, tested above
    assert largest_difference(given, need) < ROUNDING


def test_platform_and_effector_balance_under_a_force_from_outside() -> None:
    """Newton and Euler of the effector, and Newton of the platform that bears it."""
    robot = make_robot(4, False)
    state = make_states(robot, 60)
    wrench = np.array([30.0, -20.0, 40.0, 1.5])
    loads, spindle = constraint_loads(robot, state, wrench), known_spindle(robot, state, wrench)
    up = robot.gravity * Z
    own = robot.platform.mass * (state.pdd[:, :3] + up)
    given = -loads.platform.sum(axis=1) - spindle.bearing_force
    assert np.max(np.abs(given - own)) < ROUNDING * np.max(np.abs(loads.platform))
    force, moment = spindle.bearing_force - spindle.lower_force + wrench[:3], np.zeros((60, 3))
    moment += spindle.bearing_moment - spindle.lower_moment + wrench[3] * Z
    height = known_lever(robot)
    moment -= np.cross(np.broadcast_to(height, (60, 3)), spindle.lower_force)
    c, s = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    for body, at in ((robot.effector, robot.effector.com), (robot.payload, robot.payload.offset)):
        r = np.stack([c * at[0] - s * at[1], s * at[0] + c * at[1], 0 * c + at[2]], axis=-1)
        pull = body.mass * (turned_acceleration(robot, state, at) + state.pdd[:, :3] + up)
        force, moment = force - pull, moment - np.cross(r, pull)
        moment[:, 2] -= body.inertia_zz * state.pdd[:, 3]
    assert np.max(np.abs(force)) < ROUNDING * np.max(np.abs(spindle.bearing_force))
    assert np.max(np.abs(moment)) < ROUNDING * np.max(np.abs(spindle.bearing_moment))
    tool = spindle.bearing_force - spindle.lower_force
    assert largest_difference(loads.tool_force, tool) < ROUNDING


def known_spindle(robot: Robot, state: State, wrench: FloatArray) -> SpindleLoads:
    spindle = constraint_loads(robot, state, wrench).spindle
    assert spindle is not None
    return spindle


def known_lever(robot: Robot) -> FloatArray:
    assert robot.spindle is not None
    return robot.spindle.lower_joint_z * Z


def turned_acceleration(robot: Robot, state: State, r: tuple[float, ...]) -> FloatArray:
    """Acceleration against p of a point r in the effector's frame."""
    if robot.dof == 3:
        return np.zeros((len(state), 3))
    c, s = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    point = np.stack([c * r[0] - s * r[1], s * r[0] + c * r[1], 0 * c], axis=-1)
    spin = state.pd[:, 3, None] ** 2
    return np.asarray(state.pdd[:, 3, None] * np.cross(Z, point) - spin * point)


def test_power_of_the_joint_forces_is_the_rate_of_the_struts_energy(robot: Robot) -> None:
    state, h = make_states(robot, 20), 1e-4
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    power = np.sum(loads.elbow * limb["Ed"], axis=2)
    power += np.sum(loads.platform * state.pd[:, None, :3], axis=2)
    energy = [strut_energy(robot, moved(robot, state, k * h)) for k in (-2, -1, 1, 2)]
    rate = (energy[0] - 8 * energy[1] + 8 * energy[2] - energy[3]) / (12 * h)
    # fourth order in h: (500/s * 1e-4 s)^4 of the energy's changes, and rounding over h
    assert largest_difference(power, rate) < 1e-6


def moved(robot: Robot, state: State, t: float) -> State:
    q = state.q + state.qd * t + state.qdd * t**2 / 2
    return State.from_joints(robot, q, state.qd + state.qdd * t, state.qdd)


def strut_energy(robot: Robot, state: State) -> FloatArray:
    """T + V (N, 3) of the pairs, as points."""
    limb, g = limb_vectors(robot, state), robot.rotary
    energy = np.zeros((len(state), 3))
    for i in range(3):
        for mass, place in zip(*rod_as_points(robot, i), strict=True):
            v = (1 - place) * limb["Ed"][:, i] + place * state.pd[:, :3]
            height = -g.arm_length[i] * np.sin(state.q[:, i]) + place * limb["s"][:, i, 2]
            energy[:, i] += mass * (np.sum(v * v, axis=1) / 2 + robot.gravity * height)
    return energy


def test_axial_forces_at_rest_by_hand() -> None:
    """In the middle: a third of the platform's weight, and s x f_P = s/2 x m g of a uniform rod."""
    robot = hanging_robot()
    state = State.from_platform(robot, [[0.0, 0.0, -0.8]])
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    s_r, s_z = limb["s"][0, 0] @ limb["e_r"][0], limb["s"][0, 0, 2]
    down, weight = -0.94 * 9.81 / 3, 2 * 0.2 * 9.81  # the platform pulls the pair down
    inward = s_r * (down - weight / 2) / s_z
    for i in range(3):
        expected = inward * limb["e_r"][i] + down * Z
        np.testing.assert_allclose(loads.platform[0, i], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(loads.elbow[0, i], weight * Z - expected, rtol=0, atol=1e-12)
    tension = (inward * s_r + down * s_z) / 0.9
    np.testing.assert_allclose(loads.axial_platform, tension, rtol=ROUNDING)
    np.testing.assert_allclose(loads.axial_elbow, tension - weight * s_z / 0.9, rtol=ROUNDING)
    assert tension > 0
    np.testing.assert_array_equal(loads.axial_max, loads.axial_elbow)
    np.testing.assert_array_equal(loads.axial_min, loads.axial_platform)


def test_extremes_along_a_uniform_rod() -> None:
    base = make_robot(3, True)
    l2 = base.geometry.strut_length[0]
    robot = base.replace(struts=Strut.uniform(0.4, l2), gravity=0.0)
    p = State.from_platform(robot, make_states(robot, 400).p).p
    rng = np.random.default_rng(3)
    pd, pdd = rng.uniform(-6.0, 6.0, (400, 3)), rng.uniform(-5.0, 5.0, (400, 3))
    state = State.from_platform(robot, p, pd, pdd)
    loads, limb = constraint_loads(robot, state), limb_vectors(robot, state)
    u = limb["s"] / l2
    grid = np.linspace(0.0, 1.0, 2001)
    a0 = np.sum(limb["Edd"] * u, axis=2)[..., None]
    a1 = np.sum(state.pdd[:, None] * u, axis=2)[..., None] - a0
    N = loads.axial_elbow[..., None] + 0.8 * (a0 * grid + a1 * grid**2 / 2)
    ends = np.maximum(loads.axial_elbow, loads.axial_platform)
    assert np.sum(loads.axial_max > ends + 0.1) > 20  # the motion does have inner maxima
    # the grid misses a maximum by 1/8 m a1 (1/2000)^2, about 1e-5 N
    assert np.max(np.abs(loads.axial_max - N.max(axis=2))) < 1e-4
    assert np.max(np.abs(loads.axial_min - N.min(axis=2))) < 1e-4
    np.testing.assert_allclose(N[..., -1], loads.axial_platform, rtol=0, atol=1e-9)


def test_line_density_has_the_rods_mass_com_and_inertia(robot: Robot) -> None:
    r0, r1, r2 = _line_density(robot)
    for i, strut in enumerate(robot.struts):
        moments = [r0[i] / k + r1[i] / (k + 1) + r2[i] / (k + 2) for k in (1, 2, 3)]
        l2, f = robot.geometry.strut_length[i], strut.com_fraction
        about_elbow = strut.mass * f**2 + strut.inertia / l2**2
        expected = strut.rods * np.array([strut.mass, strut.mass * f, about_elbow])
        np.testing.assert_allclose(moments, expected, rtol=ROUNDING)
    uniform = robot.replace(struts=Strut.uniform(0.2, min(robot.geometry.strut_length)))
    if robot.equal_limbs:
        np.testing.assert_allclose(_line_density(uniform)[0], 0.4, rtol=ROUNDING)
        np.testing.assert_allclose(_line_density(uniform)[1:], 0.0, atol=ROUNDING)


def test_one_sample_and_rows_out_of_reach(robot: Robot) -> None:
    many = make_states(robot, 3)
    one = State.from_joints(robot, many.q[1], many.qd[1], many.qdd[1])
    loads, row = constraint_loads(robot, many), constraint_loads(robot, one)
    for item in fields(ConstraintLoads):
        whole, single = getattr(loads, item.name), getattr(row, item.name)
        if whole is None:
            assert single is None
        elif item.name in ("rods", "spindle"):
            for part in fields(whole):
                ours, expected = getattr(single, part.name), getattr(whole, part.name)[1]
                np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_allclose(single, whole[1], rtol=1e-9, atol=1e-9)
    p = many.p.copy()
    p[1, :3] = [5.0, 0.0, -0.8]
    loads = constraint_loads(robot, State.from_platform(robot, p, unreachable="nan"))
    for array in (loads.elbow, loads.couple, loads.axial_max, rods_of(loads).preload_elbow):
        assert np.isnan(known(array)[1]).all()
        assert np.isfinite(known(array)[[0, 2]]).all()


def test_a_third_of_a_turn_moves_the_loads_on() -> None:
    robot = hanging_robot().with_payload(1.0)
    rng = np.random.default_rng(5)
    p = rng.uniform([-0.2, -0.2, -0.9], [0.2, 0.2, -0.7], (20, 3))
    pd, pdd = rng.uniform(-3, 3, (20, 3)), rng.uniform(-40, 40, (20, 3))
    c, s = -0.5, np.sqrt(0.75)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    here = constraint_loads(robot, State.from_platform(robot, p, pd, pdd))
    there = constraint_loads(
        robot, State.from_platform(robot, p @ turn.T, pd @ turn.T, pdd @ turn.T)
    )
    assert relative(known(there.couple), known(here.couple)[:, [2, 0, 1]]) < 1e-10
    assert relative(there.elbow, here.elbow[:, [2, 0, 1]] @ turn.T) < 1e-10


def test_struts_of_any_shape_count_as_thin_ones() -> None:
    robot = any_shape(make_robot(3, True))
    thin = robot.replace(struts=replace(robot.struts[0], ten=None))
    state = make_states(robot, 10)
    loads, expected = constraint_loads(robot, state), constraint_loads(thin, state)
    np.testing.assert_array_equal(loads.elbow, expected.elbow)


def test_friction_can_be_left_out(robot: Robot) -> None:
    state = make_states(robot, 5)
    dragging = robot.with_friction(passive=full_friction(robot.dof).passive)
    without, expected = (
        constraint_loads(dragging, state, friction=False),
        constraint_loads(robot, state),
    )
    np.testing.assert_array_equal(without.elbow, expected.elbow)
    assert np.max(np.abs(constraint_loads(dragging, state).elbow - expected.elbow)) > 0.01


def test_misuse_is_refused(robot: Robot) -> None:
    state = make_states(robot, 2)
    for angle in (0.0, np.pi / 2, np.nan, -1.0):
        with pytest.raises(InputError, match="cup_half_angle"):
            constraint_loads(robot, state, cup_half_angle=angle)
    with pytest.raises(InputError, match="cup_axis"):
        constraint_loads(robot, state, cup_axis="ball")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="external_force"):
        constraint_loads(robot, state, [1.0, 2.0])
    with pytest.raises(InputError, match="motion"):
        constraint_loads(robot, state.p)  # type: ignore[arg-type]
