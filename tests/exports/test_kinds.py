"""Controllers' code of robots on rails and with inclined arms, run against the package's model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, rich_drives
from tests.exports.c_build import Library, library_for
from tests.exports.mujoco_cases import loaded
from tests.exports.st_cases import controller_angles, lettered, numbered
from tests.exports.st_evaluator import Instance, instance
from tests.family.robots import make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import switched_off
from deltadyn.exports import c, mjcf, structured_text
from deltadyn.exports.common import home_angles
from deltadyn.force import Tare
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller, Friction

KINDS = ("inclined", "vertical", "rails", "level")
OBSERVED = ("inclined", "rails")  # with the force observer
PAYLOAD = 2.3  # kg
CLOSE = {"double": 1e-12, "float": 1e-5}  # of the largest number of its kind
CASES = [
    ("inclined", "double", "gcc"),
    ("vertical", "double", "gcc"),
    ("rails", "double", "gcc"),
    ("rails", "float", "clang"),
]
cases = pytest.mark.parametrize(("kind", "precision", "compiler"), CASES)


@lru_cache(maxsize=8)
def robot_of(kind: str) -> Robot:
    """The robot of a kind with all terms of its drives and a controller of its own."""
    own = Controller((-1.0, 1.0, -1.0), (0.3, -0.2, 1.1))
    robot = rich_drives(make(kind, controller=own))
    if kind != "inclined":
        return robot
    return robot.with_friction(passive=full_friction(3).passive)


@lru_cache(maxsize=8)
def empty_run(kind: str) -> Recording:
    """The model's torques of 20 s of motion, with noise."""
    robot = robot_of(kind)
    motion = waves(robot, 20.0, rate=500.0)
    tau = dd.inverse_dynamics(robot, motion)
    noise = np.random.default_rng(1).normal(0.0, 0.01, tau.shape) * np.abs(tau).max()
    return Recording(t=motion.t, q=motion.q, tau=tau + noise, name="empty", payload=None)


@lru_cache(maxsize=8)
def tare_of(kind: str) -> Tare:
    return Tare.of(robot_of(kind), empty_run(kind))


@lru_cache(maxsize=8)
def compiled(kind: str, precision: str, compiler: str) -> Library:
    more = {"tare": tare_of(kind)} if kind in OBSERVED else {}
    return library_for(robot_of(kind), precision, compiler, "-O0", rate=500.0, **more)


@lru_cache(maxsize=8)
def states(kind: str) -> dd.State:
    robot = robot_of(kind)
    motion = waves(robot, 1.0)
    with switched_off():
        return dd.State.from_platform(robot, motion.p, motion.pd, motion.pdd)


def assert_close(found: Any, expected: FloatArray, precision: str = "double") -> None:
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE[precision] * scale)


@pytest.mark.full
@cases
def test_c_has_pythons_kinematics_and_dynamics(kind: str, precision: str, compiler: str) -> None:
    robot, state, code = robot_of(kind), states(kind), compiled(kind, precision, compiler)
    sign, heavy = np.asarray(robot.controller.sign), robot.with_payload(PAYLOAD)
    q, qd, qdd = controller_angles(robot, state.q), sign * state.qd, sign * state.qdd
    with switched_off():
        tau = sign * dd.inverse_dynamics(heavy, state)
        eom = dd.equations_of_motion(heavy, state)
    platform = (state.p, state.pd, state.pdd)
    calls: tuple[tuple[str, tuple[Any, ...], tuple[FloatArray, ...]], ...] = (
        ("inverse_kinematics", (state.p,), (q,)),
        ("forward_kinematics", (q,), (state.p,)),
        ("joint_rates", platform, (q, qd, qdd)),
        ("platform_rates", (q, qd, qdd), platform),
        ("feedforward", platform, (tau,)),
        ("feedforward_joints", (q, qd, qdd), (tau,)),
        ("gravity_torque", (q,), (sign * np.asarray(robot.sensors.torque_ratio) * eom.g,)),
        ("mass_matrix", (q,), ((sign[:, None] * eom.M * sign).reshape(-1, 9),)),
        ("forward_dynamics", (q, qd, tau), (qdd,)),
    )
    for name, given, expected in calls:
        status, *found = code.call(name, *given, payload=PAYLOAD)
        assert not status.any(), name
        for x, wanted in zip(found, expected, strict=False):
            assert_close(x, wanted, precision)


@cases
def test_c_passes_its_own_tests(kind: str, precision: str, compiler: str) -> None:
    """Payload estimator and force observer, as Python's run on the same built-in motions."""
    code = compiled(kind, precision, compiler)
    failed, error = code.payload_self_test()
    assert (failed, error < (1e-9 if precision == "double" else 0.02)) == (0, True)
    if kind not in OBSERVED:
        return
    failed, error = code.self_test()
    assert (failed, error < (1e-6 if precision == "double" else 0.1)) == (0, True)


def test_c_refuses_what_a_rail_cannot_reach() -> None:
    robot, code = robot_of("vertical"), compiled("vertical", "double", "gcc")
    far = np.array([[0.0, 0.9, 0.0], [np.nan, 0.0, 0.0]])
    status, out, *_ = code.call("inverse_kinematics", far)
    assert status.tolist() == [1, 3]
    assert np.isnan(out).all()
    limb = robot.geometry
    edge = limb.base_radius[0] - limb.platform_radius[0] - limb.strut_length[0]
    status, *_ = code.call("joint_rates", np.array([[edge, 0.0, 0.0]]), *np.zeros((2, 1, 3)))
    assert status.tolist() in ([1], [2])  # the strut is normal to its rail


def block(texts: dict[str, str], name: str) -> Instance:
    return instance(texts["Own.st"], f"FB_Own_{name}")


@lru_cache(maxsize=8)
def blocks(kind: str) -> dict[str, str]:
    robot = robot_of(kind).with_friction(passive=())
    return structured_text.files(robot, structured_text.Options(name="Own", rate=500.0))


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_structured_text_has_pythons_kinematics_and_dynamics(kind: str) -> None:
    robot, state, texts = robot_of(kind).with_friction(passive=()), states(kind), blocks(kind)
    sign = np.asarray(robot.controller.sign)
    rows = range(0, len(state.p), 40)
    q = controller_angles(robot, state.q)
    tau = sign * dd.inverse_dynamics(robot.with_payload(PAYLOAD), state)
    inverse, forward = block(texts, "InverseKinematics"), block(texts, "ForwardKinematics")
    platform, joints = block(texts, "Feedforward"), block(texts, "FeedforwardJoints")
    for k in rows:
        p, pd, pdd = state.p[k], state.pd[k], state.pdd[k]
        inverse(**lettered("", p))
        forward(**numbered("Q", q[k]))
        platform(**lettered("", p), **lettered("V", pd), **lettered("A", pdd), PayloadMass=PAYLOAD)
        motion = numbered("QD", sign * state.qd[k]) | numbered("QDD", sign * state.qdd[k])
        joints(**numbered("Q", q[k]), **motion, PayloadMass=PAYLOAD)
        assert [x.Status for x in (inverse, forward, platform, joints)] == [0] * 4
        assert_close([inverse.Q1, inverse.Q2, inverse.Q3], q[k])
        assert_close([forward.X, forward.Y, forward.Z], p)
        for found in (platform, joints):
            assert_close([found.Tau1, found.Tau2, found.Tau3], tau[k])


def test_structured_text_passes_its_own_test() -> None:
    """The payload estimator on rails, a sample per call."""
    test = block(blocks("vertical"), "PayloadSelfTest")
    while not test.Done:
        test(Run=True)
    assert (test.Passed, test.Failed) == (True, 0)
    assert test.Error < 1e-9


def test_structured_text_has_the_force_observer_of_rails() -> None:
    robot = robot_of("rails")
    options = structured_text.Options(name="Own", tare=tare_of("rails"))
    test = block(structured_text.files(robot, options), "ForceSelfTest")
    while not test.Done:
        test(Run=True)
    assert (test.Passed, test.Failed) == (True, 0)
    assert test.Error < 1e-6


def test_the_texts_name_kind_and_units() -> None:
    for files in (c.files(robot_of("rails")), blocks("rails")):
        for name, text in files.items():
            assert "moved by carriages on rails" in text, name
            assert "axis 1: q in m, tau in N" in text, name
    code = c.files(robot_of("rails"))
    assert "| 1 | -q + 0.3 m | -tau | m | N |" in code["README-c.md"]
    assert "in kg, INCLINED_RAILS_DOF" in code["inclined_rails_delta.h"]
    variables = blocks("rails")["Own.st"]
    assert "Q1 : LREAL; (* position of the controller, axis 1, in m *)" in variables
    assert "Tau1 : LREAL; (* force in the controller's sign, axis 1, in N *)" in variables
    for text in (code["inclined_rails_delta.h"], variables):
        assert "in N m" not in text
        assert "in rad" not in text
    arms = c.files(robot_of("inclined"))["README-c.md"]
    assert "moved by arms of their own directions" in arms
    assert "| 2 | q - 0.2 rad | tau | rad | N m |" in arms


@pytest.mark.full
@pytest.mark.parametrize("kind", [*KINDS, "vertical_spindle"])
def test_pinocchio_has_the_torque_of_the_model(kind: str) -> None:
    pin = pytest.importorskip("pinocchio")
    from deltadyn.exports import pinocchio_model

    robot = make(kind, friction=Friction()).with_payload(0.7)
    motion = waves(robot, 1.0, rate=20.0)
    delta = pinocchio_model(robot)
    data, tau = delta.model.createData(), dd.inverse_dynamics(robot, motion)
    for q, qd, qdd, wanted in zip(motion.q, motion.qd, motion.qdd, tau, strict=True):
        a = delta.acceleration(q, qd, qdd)
        whole = pin.rnea(delta.model, data, delta.configuration(q), delta.velocity(q, qd), a)
        assert_close(delta.projection(q).T @ whole, wanted)


@pytest.mark.parametrize("kind", ["inclined", "rails", "vertical_spindle"])
def test_mujoco_has_the_acceleration_of_the_model(kind: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = make(kind)
    error = mjcf.acceleration_error(robot, mjcf.TIMESTEP, states=20)
    assert 1e-6 < error.largest < mjcf.ALLOWED  # soft constraints are never exact
    model = loaded(robot)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for i in (1, 2, 3):
        gap = data.site(f"tip_{i}").xpos - data.site(f"socket_{i}").xpos
        assert np.abs(gap).max() < 1e-12
    p = dd.forward_kinematics(robot, home_angles(robot))
    np.testing.assert_allclose(data.sensor("p").data, p[:3], atol=1e-12)
