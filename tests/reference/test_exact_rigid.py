"""The exact and the rigid model against two independent rigid-body engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from tests.reference.convert import to_robot
from tests.reference.engines import (
    Engine,
    EngineBody,
    EngineRobot,
    States,
    Terms,
    forward_dynamics,
    inverse_dynamics,
    mujoco_engine,
    pinocchio_engine,
    platform,
    random_robot,
    random_states,
    terms,
)
from tests.reference.engines.spec import Array

import deltadyn.dynamics as dynamics
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Drives

# Relative, per axis. Both sides solve the same equations in double precision: the closure of 18
# coordinates, 3x3 inverses and, for the accelerations, M with a condition number of up to 300 leave
# 1e-15 to 1e-12. A wrong term of one part in 1e9 would show.
AGREEMENT = 1e-11
ROBOTS, STATES = 4, 250  # 1,000 states for each kind of robot and each engine

MAKERS: dict[str, Callable[[EngineRobot], Engine]] = {
    "mujoco": mujoco_engine,
    "pinocchio": pinocchio_engine,
}


#: `make test` has MuJoCo alone, and what Pinocchio said of the family (tests/family).
ENGINES = ["mujoco", pytest.param("pinocchio", marks=pytest.mark.full)]


@dataclass(frozen=True)
class Kind:
    """A kind of robot; the exact model knows thin struts only."""

    dof: int
    thin: bool
    equal_limbs: bool

    @property
    def models(self) -> tuple[str, ...]:
        return ("exact", "rigid") if self.thin else ("rigid",)

    def __str__(self) -> str:
        shape = "thin" if self.thin else "any shape"
        return f"{self.dof}-dof, {shape}, {'equal limbs' if self.equal_limbs else 'per arm'}"


KINDS = [
    Kind(dof, thin, equal) for dof in (3, 4) for thin in (True, False) for equal in (True, False)
]


@dataclass(frozen=True, eq=False)
class Case:
    """A robot with states and external forces, and what the engine says about them."""

    kind: Kind
    engine: Engine
    robot: Robot
    states: States
    force: Array  # (N, 3)

    @property
    def motion(self) -> State:
        return State.from_joints(self.robot, *self.states)

    @cached_property
    def torque(self) -> Array:
        return inverse_dynamics(self.engine, *self.states, self.force)

    @cached_property
    def terms(self) -> Terms:
        return terms(self.engine, self.states.q, self.states.qd)


def make_case(kind: Kind, engine: str, seed: int, count: int) -> Case:
    """A random robot: payload (off the axis with a spindle), rotors, effector off the axis."""
    rng = np.random.default_rng([kind.dof, kind.thin, kind.equal_limbs, seed])
    drawn = random_robot(rng, kind.dof, thin=kind.thin, equal_limbs=kind.equal_limbs)
    states = random_states(drawn, rng, count)
    robot = to_robot(drawn, thin=kind.thin)
    assert robot.equal_limbs is kind.equal_limbs
    force = rng.uniform(-50.0, 50.0, (count, 3))
    return Case(kind, MAKERS[engine](drawn), robot, states, force)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((kind, engine), marks=[pytest.mark.full] * (engine == "pinocchio"))
        for kind in KINDS
        for engine in MAKERS
    ],
    ids=lambda pair: f"{pair[0]}, {pair[1]}",
)
def cases(request: pytest.FixtureRequest) -> list[Case]:
    kind, engine = request.param
    return [make_case(kind, engine, seed, STATES) for seed in range(ROBOTS)]


def worst(ours: Array, reference: Array) -> float:
    """Largest difference of an axis over its largest value.

    An axis that is zero by construction (gravity on psi, thin rods) counts against all axes.
    """
    largest = np.max(np.abs(reference), axis=0)
    scale = np.where(largest > 1e-9 * largest.max(), largest, largest.max())
    return float(np.max(np.abs(ours - reference) / scale))


@pytest.mark.full
def test_torque_under_an_external_force(cases: list[Case]) -> None:
    for case in cases:
        for model in case.kind.models:
            tau = dynamics.inverse_dynamics(
                case.robot, case.motion, model, external_force=case.force
            )
            assert worst(tau, case.torque) < AGREEMENT, model


def test_mass_matrix_velocity_term_and_gravity(cases: list[Case]) -> None:
    for case in cases:
        for model in case.kind.models:
            eom = dynamics.equations_of_motion(case.robot, case.motion, model)
            assert worst(eom.M, case.terms.M) < AGREEMENT, model
            assert worst(eom.c, case.terms.c) < AGREEMENT, model
            assert worst(eom.g, case.terms.g) < AGREEMENT, model
            assert not eom.f.any()


def test_regressor_times_parameters_is_the_torque_of_the_engine(cases: list[Case]) -> None:
    for case in cases:
        M, c, g = case.terms
        tau = np.einsum("nij,nj->ni", M, case.states.qdd) + c + g
        for model in case.kind.models:
            reg = dynamics.regressor(case.robot, case.motion, model)
            assert worst(reg.Y @ reg.parameters, tau) < AGREEMENT, model


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_forward_dynamics_under_an_external_force(kind: Kind, engine: str) -> None:
    case = make_case(kind, engine, ROBOTS, ROBOTS * STATES)
    q, qd, _ = case.states
    rng = np.random.default_rng(7)
    tau = rng.uniform(-100.0, 100.0, q.shape) * np.array([1.0, 1.0, 1.0, 0.02])[: kind.dof]
    expected = forward_dynamics(case.engine, q, qd, tau, case.force)
    for model in kind.models:
        qdd = dynamics.forward_dynamics(
            case.robot, q, qd, tau, model=model, external_force=case.force
        )
        assert worst(qdd, expected) < AGREEMENT, model


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_platform_motion(kind: Kind, engine: str) -> None:
    case = make_case(kind, engine, ROBOTS + 1, 50)
    reference = platform(case.engine, *case.states)
    state = case.motion
    for ours, expected in zip((state.p, state.pd, state.pdd), reference, strict=True):
        assert worst(ours, expected) < AGREEMENT


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dof", [3, 4])
def test_a_mass_in_the_elbow_is_a_point_of_the_arm(dof: int, engine: str) -> None:
    rng = np.random.default_rng(dof)
    drawn = random_robot(rng, dof, thin=True, equal_limbs=False)
    states = random_states(drawn, rng, 50)
    masses = (0.3, 0.2, 0.5)
    loaded = [
        _with_point(body, mass, np.array([length, 0.0, 0.0]))
        for body, mass, length in zip(drawn.arms, masses, drawn.arm_length, strict=True)
    ]
    heavier = replace(drawn, arms=(loaded[0], loaded[1], loaded[2]))
    robot = to_robot(drawn, thin=True)
    arms = [replace(arm, elbow_mass=m) for arm, m in zip(robot.rotary_arms, masses, strict=True)]
    robot = robot.replace(arms=tuple(arms))
    expected = inverse_dynamics(MAKERS[engine](heavier), *states)
    for model in ("exact", "rigid"):
        tau = dynamics.inverse_dynamics(robot, State.from_joints(robot, *states), model)
        assert worst(tau, expected) < AGREEMENT, model


@pytest.mark.parametrize("dof", [3, 4])
def test_rotors_count_with_the_square_of_the_gear_ratio(dof: int) -> None:
    rng = np.random.default_rng(dof)
    drawn = random_robot(rng, dof, thin=True, equal_limbs=True)
    states = random_states(drawn, rng, 50)
    ratio = np.array([30.0, 40.0, 50.0, 5.0])[:dof]
    motor_side = np.array(drawn.rotor_inertia) / ratio**2
    robot = to_robot(drawn, thin=True).replace(drives=Drives(ratio, motor_side, "motor_side"))
    expected = inverse_dynamics(mujoco_engine(drawn), *states)
    for model in ("exact", "rigid"):
        tau = dynamics.inverse_dynamics(robot, State.from_joints(robot, *states), model)
        assert worst(tau, expected) < AGREEMENT, model


def _with_point(body: EngineBody, mass: float, at: Array) -> EngineBody:
    """The body and a point mass as one body about their common COM."""
    total = body.mass + mass
    com = (body.mass * body.com + mass * at) / total
    inertia = body.inertia_com.copy()
    for m, point in ((body.mass, body.com), (mass, at)):
        r = point - com
        inertia += m * (r @ r * np.eye(3) - np.outer(r, r))
    return EngineBody(total, com, inertia)
