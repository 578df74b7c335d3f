"""The Pinocchio model: closed states, torques and accelerations against this project's models."""

from __future__ import annotations

from importlib import import_module as real_import
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.robot.settings import Friction

builder = real_import("deltadyn.exports.pinocchio")
pin = pytest.importorskip("pinocchio")

Array = npt.NDArray[np.float64]
NAMES = ("sipro-d3-1200", "usach-delta", "abb-irb360-6-1600", "example-delta-4")
STATES = 30


def robot_of(name: str) -> dd.Robot:
    robot = dd.load_robot(name).with_payload(1.2, (0.03, 0.02, -0.05), 0.001)
    return robot.replace(friction=Friction())


def random_states(robot: dd.Robot, seed: int) -> tuple[Array, Array, Array]:
    rng, space = np.random.default_rng(seed), robot.limits.workspace
    assert space is not None
    p = rng.uniform(-1, 1, (STATES, 4)) * [space.radius / 2, space.radius / 2, 0.0, 3.0]
    p[:, 2] = rng.uniform(space.z_min, space.z_max, STATES)
    q = dd.inverse_kinematics(robot, p[:, : robot.dof])
    return q, rng.uniform(-3, 3, q.shape), rng.uniform(-80, 80, q.shape)


def torques(robot: dd.Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """By the model that has the same bodies: the IRB 360's rods have ten parameters."""
    model = "rigid" if robot.name == "abb-irb360-6-1600" else "exact"
    motion = dd.Motion.from_joints(robot, np.arange(float(STATES)), q, qd, qdd)
    return np.asarray(dd.inverse_dynamics(robot, motion, model=model))


def gaps(delta: Any, x: Array) -> Array:
    """Positions of the constraints' two sides apart, by Pinocchio's own kinematics (m)."""
    data = delta.model.createData()
    pin.forwardKinematics(delta.model, data, x)
    rows = []
    for item in delta.constraint_models:
        one = data.oMi[item.joint1_id] * item.joint1_placement
        two = data.oMi[item.joint2_id] * item.joint2_placement
        rows.append(one.translation - two.translation)
    return np.concatenate(rows)


def constraint_datas(delta: Any) -> Any:
    datas = pin.StdVec_RigidConstraintData()
    for item in delta.constraint_models:
        datas.append(item.createData())
    return datas


@pytest.mark.parametrize("name", NAMES)
def test_closed_states_meet_the_constraints(name: str) -> None:
    robot = robot_of(name)
    delta = builder.pinocchio_model(robot)
    assert len(delta.constraint_models) == robot.dof
    assert delta.model.nv == delta.model.nq == (12 if robot.dof == 3 else 16)
    q, qd, qdd = random_states(robot, seed=1)
    h = 1e-4
    for row in range(STATES):
        x, v = delta.configuration(q[row]), delta.velocity(q[row], qd[row])
        assert np.abs(gaps(delta, x)).max() < 1e-12  # closed form; the order asks 1e-10
        np.testing.assert_array_equal(x[list(delta.actuated)], q[row])
        np.testing.assert_array_equal(v[list(delta.actuated)], qd[row])
        # along a motion of the drives: central differences, whose own error is h^2
        ahead = [q[row] + s * h * qd[row] + (s * h) ** 2 / 2 * qdd[row] for s in (-1, 1)]
        before, after = (delta.configuration(value) for value in ahead)
        np.testing.assert_allclose((after - before) / (2 * h), v, atol=2e-5, rtol=1e-5)
        a = delta.acceleration(q[row], qd[row], qdd[row])
        curve = (after - 2 * x + before) / h**2
        np.testing.assert_allclose(curve, a, atol=2e-4 * np.abs(a).max())


@pytest.mark.parametrize("name", NAMES)
def test_projected_rnea_is_the_inverse_dynamics(name: str) -> None:
    robot = robot_of(name)
    delta = builder.pinocchio_model(robot)
    data = delta.model.createData()
    q, qd, qdd = random_states(robot, seed=2)
    tau = torques(robot, q, qd, qdd)
    for row in range(STATES):
        x, v = delta.configuration(q[row]), delta.velocity(q[row], qd[row])
        a = delta.acceleration(q[row], qd[row], qdd[row])
        projection = delta.projection(q[row])
        np.testing.assert_allclose(projection @ qd[row], v, atol=1e-10)
        got = projection.T @ pin.rnea(delta.model, data, x, v, a)
        np.testing.assert_allclose(got, tau[row], atol=1e-10)  # 3e-13 N m measured


@pytest.mark.parametrize("name", NAMES)
def test_constraint_forces_carry_what_the_drives_do_not(name: str) -> None:
    """rnea = S^T tau + J^T lambda, with Pinocchio's own constraint Jacobian."""
    robot = robot_of(name)
    delta = builder.pinocchio_model(robot)
    data, datas = delta.model.createData(), constraint_datas(delta)
    q, qd, qdd = random_states(robot, seed=3)
    tau = torques(robot, q, qd, qdd)
    driven = list(delta.actuated)
    pin.initConstraintDynamics(delta.model, data, delta.constraint_models, datas)
    for row in range(10):
        x, v = delta.configuration(q[row]), delta.velocity(q[row], qd[row])
        a = delta.acceleration(q[row], qd[row], qdd[row])
        force = np.array(pin.rnea(delta.model, data, x, v, a))
        # places the two sides in `datas`
        pin.constraintDynamics(delta.model, data, x, v, force, delta.constraint_models, datas)
        J = pin.getConstraintsJacobian(delta.model, data, delta.constraint_models, datas)
        force[driven] -= tau[row]
        rest = np.linalg.lstsq(J.T, force, rcond=None)[0]
        np.testing.assert_allclose(J.T @ rest, force, atol=1e-9)  # N m, of some 100


@pytest.mark.parametrize("name", NAMES)
def test_constraint_dynamics_is_the_forward_dynamics(name: str) -> None:
    robot = robot_of(name)
    delta = builder.pinocchio_model(robot)
    data, datas = delta.model.createData(), constraint_datas(delta)
    pin.initConstraintDynamics(delta.model, data, delta.constraint_models, datas)
    settings = pin.ProximalSettings(1e-12, 1e-8, 20)  # accuracy, mu, iterations
    q, qd, qdd = random_states(robot, seed=4)
    tau = torques(robot, q, qd, qdd)
    driven = list(delta.actuated)
    for row in range(STATES):
        force = np.zeros(delta.model.nv)
        force[driven] = tau[row]
        x, v = delta.configuration(q[row]), delta.velocity(q[row], qd[row])
        a = pin.constraintDynamics(
            delta.model, data, x, v, force, delta.constraint_models, datas, settings
        )
        # the proximal iteration is exact when it ends; 4e-14 measured
        allowed = 1e-10 * float(np.linalg.norm(qdd[row]))
        np.testing.assert_allclose(a[driven], qdd[row], atol=allowed)


def test_mass_matrix_mass_and_rotors() -> None:
    robot = robot_of("example-delta-4")
    delta = builder.pinocchio_model(robot)
    data = delta.model.createData()
    q, _, _ = random_states(robot, seed=5)
    M = pin.crba(delta.model, data, delta.configuration(q[0]))
    M = np.triu(M) + np.triu(M, 1).T
    assert np.linalg.eigvalsh(M).min() > 0
    projection = delta.projection(q[0])
    still = dd.Motion.from_joints(robot, [0.0], q[:1], np.zeros((1, 4)), np.zeros((1, 4)))
    own = dd.equations_of_motion(robot, still).M[0]
    np.testing.assert_allclose(projection.T @ M @ projection, own, atol=1e-12)
    mass = pin.computeTotalMass(delta.model)
    bodies = sum(arm.mass + arm.elbow_mass for arm in robot.rotary_arms)
    bodies += sum(strut.rods * strut.mass for strut in robot.struts)
    bodies += robot.platform.mass + robot.effector.mass + robot.payload.mass
    assert robot.spindle is not None
    bodies += robot.spindle.upper.mass + robot.spindle.lower.mass
    assert mass == pytest.approx(bodies, rel=1e-12)
    rotors = np.array(delta.model.armature)[list(delta.actuated)]
    np.testing.assert_array_equal(rotors, robot.drives.output_inertia)


def test_limits_are_those_of_the_robot() -> None:
    robot = robot_of("sipro-d3-1200")
    delta = builder.pinocchio_model(robot)
    driven = list(delta.actuated)
    np.testing.assert_array_equal(delta.model.lowerPositionLimit[driven], robot.limits.angle_min)
    np.testing.assert_array_equal(delta.model.upperPositionLimit[driven], robot.limits.angle_max)


def test_wrong_shapes_are_refused() -> None:
    delta = builder.pinocchio_model(robot_of("sipro-d3-1200"))
    with pytest.raises(InputError, match=r"shape of q is \[1, 3\]; allowed: \(3,\): one sample"):
        delta.configuration([[0.1, 0.1, 0.1]])
    with pytest.raises(InputError, match=r"shape of qd is \[2\]; allowed: \(3,\): one sample"):
        delta.velocity([0.1, 0.1, 0.1], [0.0, 0.0])


def test_a_missing_pinocchio_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(builder, "import_module", missing)
    with pytest.raises(ImportError, match=r"needs the library 'pinocchio'.*pip install pin$"):
        builder.pinocchio_model(robot_of("sipro-d3-1200"))
