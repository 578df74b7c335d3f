"""The two reference engines against each other, against first principles and against themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from tests.reference.engines import (
    Closed,
    Engine,
    EngineBody,
    EngineRobot,
    States,
    close,
    energy,
    forward_dynamics,
    inverse_dynamics,
    mujoco_engine,
    pinocchio_engine,
    platform,
    random_robot,
    random_states,
    starting_points,
    terms,
)
from tests.reference.engines.spec import Array

AGREEMENT = 1e-12  # relative; rounding through a closure of 18 coordinates leaves about 1e-13


@dataclass(frozen=True, eq=False)
class Case:
    """One robot in both engines, with states."""

    robot: EngineRobot
    mujoco: Engine
    pinocchio: Engine
    states: States

    @property
    def engines(self) -> tuple[Engine, Engine]:
        return self.mujoco, self.pinocchio


def _cases(dof: int, *, thin: bool, equal_limbs: bool) -> list[Case]:
    rng = np.random.default_rng([dof, thin, equal_limbs])
    cases = []
    for _ in range(4):
        robot = random_robot(rng, dof, thin=thin, equal_limbs=equal_limbs)
        states = random_states(robot, rng, 60)
        cases.append(Case(robot, mujoco_engine(robot), pinocchio_engine(robot), states))
    return cases


KINDS = {
    "3-dof, thin, equal limbs": (3, True, True),
    "3-dof, not thin, per arm": (3, False, False),
    "4-dof, thin, equal limbs": (4, True, True),
    "4-dof, not thin, per arm": (4, False, False),
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=list(KINDS))
def cases(request: pytest.FixtureRequest) -> list[Case]:
    dof, thin, equal_limbs = request.param
    return _cases(dof, thin=thin, equal_limbs=equal_limbs)


@pytest.fixture(scope="module")
def spindle_cases() -> list[Case]:
    return _cases(4, thin=True, equal_limbs=False) + _cases(4, thin=False, equal_limbs=False)


def _relative(a: Array, b: Array) -> float:
    """Largest difference over the largest value, per axis for rows of joint coordinates."""
    return float(np.max(np.max(np.abs(a - b), axis=0) / np.max(np.abs(b), axis=0)))


def _closed(engine: Engine, q: Array, qd: Array) -> list[Closed]:
    starts = starting_points(engine.robot, q)
    return [close(engine, start, rate) for start, rate in zip(starts, qd, strict=True)]


def _later(states: States, t: float) -> States:
    """The states moved on by t at constant acceleration."""
    q, qd, qdd = states
    return States(q + qd * t + qdd * t**2 / 2, qd + qdd * t, qdd)


@pytest.mark.full
def test_engines_agree_on_torque(cases: list[Case]) -> None:
    for case in cases:
        a, b = (inverse_dynamics(engine, *case.states) for engine in case.engines)
        assert _relative(a, b) < AGREEMENT


@pytest.mark.full
def test_engines_agree_on_terms(cases: list[Case]) -> None:
    for case in cases:
        q, qd, _ = case.states
        a, b = (terms(engine, q, qd) for engine in case.engines)
        assert _relative(a.M, b.M) < AGREEMENT
        assert _relative(a.c, b.c) < AGREEMENT
        # against the largest of all axes: thin rods put no gravity on psi at all
        scale = np.max(np.abs(b.g))
        assert np.max(np.abs(a.g - b.g)) < AGREEMENT * scale


@pytest.mark.full
def test_engines_agree_on_platform_motion(cases: list[Case]) -> None:
    for case in cases:
        a, b = (platform(engine, *case.states) for engine in case.engines)
        for of_mujoco, of_pinocchio in zip(a, b, strict=True):
            assert _relative(of_mujoco, of_pinocchio) < AGREEMENT


@pytest.mark.full
def test_yaw_of_the_effector_is_psi(spindle_cases: list[Case]) -> None:
    for case in spindle_cases:
        for engine in case.engines:
            motion = platform(engine, *case.states)
            for value, expected in zip(motion, case.states, strict=True):
                assert _relative(value[:, 3], expected[:, 3]) < AGREEMENT


@pytest.mark.full
def test_limb_frames_follow_the_convention(cases: list[Case]) -> None:
    z_hat = np.array([0.0, 0.0, 1.0])
    for case in cases:
        robot, (q, qd, _) = case.robot, case.states
        for engine in case.engines:
            for state, angles in zip(_closed(engine, q[:5], qd[:5]), q[:5], strict=True):
                for i in range(3):
                    names = [f"arm_{i + 1}", f"strut_{i + 1}", f"tip_{i + 1}"]
                    arm, strut, tip = engine.frames(state.x, names).values()
                    e_r, t, cos, sin = *_axes(robot, i), np.cos(angles[i]), np.sin(angles[i])
                    l1, l2 = robot.arm_length[i], robot.strut_length[i]
                    elbow = (robot.base_radius[i] + l1 * cos) * e_r - l1 * sin * z_hat
                    joint = state.x[9:12] + robot.platform_radius[i] * e_r
                    np.testing.assert_allclose(arm.position, robot.base_radius[i] * e_r, atol=1e-14)
                    np.testing.assert_allclose(strut.position, elbow, atol=1e-14)
                    np.testing.assert_allclose(tip.position, joint, atol=1e-14)
                    turned = [cos * e_r - sin * z_hat, t, sin * e_r + cos * z_hat]
                    np.testing.assert_allclose(arm.rotation, np.column_stack(turned), atol=1e-13)
                    u = (joint - elbow) / l2
                    hinge = np.cross(u, t) / np.linalg.norm(np.cross(u, t))
                    turned = [u, np.cross(hinge, u), hinge]
                    np.testing.assert_allclose(strut.rotation, np.column_stack(turned), atol=1e-13)


def _axes(robot: EngineRobot, i: int) -> tuple[Array, Array]:
    """Radial and tangential unit vectors of one arm, from its azimuth."""
    cos, sin = np.cos(robot.azimuth[i]), np.sin(robot.azimuth[i])
    return np.array([cos, sin, 0.0]), np.array([-sin, cos, 0.0])


@pytest.mark.full
def test_spindle_frames_follow_the_convention(spindle_cases: list[Case]) -> None:
    z_hat = np.array([0.0, 0.0, 1.0])
    for case in spindle_cases:
        spindle, (q, qd, _) = case.robot.spindle, case.states
        assert spindle is not None
        for engine in case.engines:
            for state, psi in zip(_closed(engine, q[:5], qd[:5]), q[:5, 3], strict=True):
                frames = engine.frames(state.x, ["upper", "lower", "effector"])
                upper, lower, effector = frames.values()
                p = state.x[9:12]
                np.testing.assert_allclose(upper.position, spindle.z_upper * z_hat, atol=1e-14)
                np.testing.assert_allclose(lower.position, p + spindle.z_lower * z_hat, atol=1e-14)
                np.testing.assert_allclose(effector.position, p, atol=1e-14)
                shaft = lower.position - upper.position
                v = shaft / np.linalg.norm(shaft)
                a = np.array([np.cos(psi), np.sin(psi), 0.0])
                b = np.cross(v, a) / np.linalg.norm(np.cross(v, a))
                rod = np.column_stack([b, np.cross(v, b), v])
                np.testing.assert_allclose(upper.rotation, rod, atol=1e-13)
                np.testing.assert_allclose(lower.rotation, rod, atol=1e-13)
                upright = np.column_stack([a, np.cross(z_hat, a), z_hat])
                np.testing.assert_allclose(effector.rotation, upright, atol=1e-13)


@pytest.mark.full
def test_energy_is_the_sum_over_the_bodies(cases: list[Case]) -> None:
    for case in cases:
        q, qd = case.states.q[:10], case.states.qd[:10]
        for engine in case.engines:
            expected = np.array([_energy_by_hand(engine, s) for s in _closed(engine, q, qd)])
            kinetic, potential = energy(engine, q, qd)
            rotors = qd**2 @ np.array(case.robot.rotor_inertia) / 2
            assert _relative(kinetic, expected[:, 0] + rotors) < AGREEMENT
            assert _relative(potential, expected[:, 1]) < AGREEMENT


def _energy_by_hand(engine: Engine, state: Closed) -> tuple[float, float]:
    """T = sum 1/2 m |v|^2 + 1/2 w.(R I R^T w), V = sum m g z, with v and z of each COM."""
    kinetic = potential = 0.0
    for name, body in _bodies(engine.robot):
        frame = engine.frames(state.x, [name])[name]
        v, w = np.split(frame.jacobian @ state.xd, 2)
        lever = frame.rotation @ body.com
        v = v + np.cross(w, lever)
        w = frame.rotation.T @ w
        kinetic += float(body.mass * v @ v + w @ body.inertia_com @ w) / 2
        potential += body.mass * engine.robot.gravity * float(frame.position[2] + lever[2])
    return kinetic, potential


def _bodies(robot: EngineRobot) -> list[tuple[str, EngineBody]]:
    bodies = [(f"arm_{i + 1}", body) for i, body in enumerate(robot.arms)]
    bodies += [(f"strut_{i + 1}", body) for i, body in enumerate(robot.struts)]
    bodies.append(("platform", EngineBody(robot.platform_mass, np.zeros(3), np.zeros((3, 3)))))
    payload = EngineBody(robot.payload_mass, np.array(robot.payload_offset), np.zeros((3, 3)))
    if robot.spindle is None:
        return [*bodies, ("platform", payload)]
    return [
        *bodies,
        ("upper", robot.spindle.upper),
        ("lower", robot.spindle.lower),
        ("effector", robot.spindle.effector),
        ("effector", payload),
    ]


@pytest.mark.full
def test_power_of_the_drives_is_the_rate_of_the_energy(cases: list[Case]) -> None:
    h = 1e-4
    for case in cases:
        for engine in case.engines:
            states = States(*(rows[:10] for rows in case.states))
            power = np.sum(inverse_dynamics(engine, *states) * states.qd, axis=1)
            moved = [energy(engine, *_later(states, k * h)[:2]) for k in (-2, -1, 1, 2)]
            total = [e.kinetic + e.potential for e in moved]
            rate = (total[0] - 8 * total[1] + 8 * total[2] - total[3]) / (12 * h)
            # the fourth-order difference errs by h^4 times the fifth derivative of the energy
            assert _relative(rate, power) < 1e-7


@pytest.mark.full
def test_platform_rates_are_derivatives(cases: list[Case]) -> None:
    h = 1e-4
    for case in cases:
        for engine in case.engines:
            states = States(*(rows[:10] for rows in case.states))
            motion = platform(engine, *states)
            moved = [platform(engine, *_later(states, k * h)) for k in (-2, -1, 1, 2)]
            for order, rate in enumerate((motion.pd, motion.pdd)):
                a, b, c, d = (m[order] for m in moved)
                assert _relative((a - 8 * b + 8 * c - d) / (12 * h), rate) < 1e-7


@pytest.mark.full
def test_torque_is_the_sum_of_its_terms(cases: list[Case]) -> None:
    for case in cases:
        q, qd, qdd = case.states
        for engine in case.engines:
            M, c, g = terms(engine, q, qd)
            tau = np.einsum("nij,nj->ni", M, qdd) + c + g
            assert _relative(tau, inverse_dynamics(engine, q, qd, qdd)) < AGREEMENT
            assert np.all(np.linalg.eigvalsh(M) > 0)


@pytest.mark.full
def test_forward_dynamics_inverts_inverse_dynamics_under_a_force(cases: list[Case]) -> None:
    force = np.array([20.0, -30.0, 40.0])
    for case in cases:
        q, qd, qdd = case.states
        for engine in case.engines:
            tau = inverse_dynamics(engine, q, qd, qdd, force)
            assert _relative(forward_dynamics(engine, q, qd, tau, force), qdd) < 1e-11
            work = np.sum((tau - inverse_dynamics(engine, q, qd, qdd)) * qd, axis=1)
            assert _relative(work, -platform(engine, q, qd, qdd).pd[:, :3] @ force) < 1e-11
