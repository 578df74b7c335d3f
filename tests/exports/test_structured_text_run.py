"""The exported kinematics and torques, executed, against the package's own."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states, rich_drives
from tests.exports.st_cases import (
    controller_angles,
    lettered,
    numbered,
    own_robot,
    own_text,
)
from tests.exports.st_evaluator import Instance, StructuredTextError, instance, load

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.exports.structured_text import Options, files
from deltadyn.kinematics import inverse_kinematics
from deltadyn.motion.motion import Motion
from deltadyn.payload.front_end import SampleModel
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

COUNT = 500
CLOSE = 1e-12  # rad, m, and of the largest torque: a few hundred roundings


def block(robot: Robot, name: str) -> Instance:
    return instance(own_text(robot), f"FB_Own_{name}")


def outputs(block: Instance, name: str, dof: int) -> list[float]:
    return [getattr(block, f"{name}{k}") for k in range(1, dof + 1)]


def motion_of(robot: Robot, count: int = COUNT) -> Motion:
    state = make_states(robot, count)
    t = np.arange(count) * 1e-3
    return Motion.from_platform(robot, t, state.p, state.pd, state.pdd)


@pytest.mark.parametrize("dof", [3, 4])
def test_inverse_and_forward_kinematics(dof: int) -> None:
    robot = own_robot(dof)
    p = make_states(robot, COUNT).p
    angles = controller_angles(robot, inverse_kinematics(robot, p))
    inverse, forward = block(robot, "InverseKinematics"), block(robot, "ForwardKinematics")
    for row, wanted in zip(p, angles, strict=True):
        inverse(**lettered("", row))
        assert inverse.Status == 0
        np.testing.assert_allclose(outputs(inverse, "Q", dof), wanted, rtol=0, atol=CLOSE)
        forward(**numbered("Q", wanted))
        assert forward.Status == 0
        found = [forward.X, forward.Y, forward.Z, forward.Psi if dof == 4 else 0.0][:dof]
        np.testing.assert_allclose(found, row, rtol=0, atol=CLOSE)


def test_every_quadrant_of_an_arm() -> None:
    """Arms that point up, inward and straight down, where a quotient alone would not do."""
    robot = make_robot(3, True)
    wide = robot.replace(geometry=replace(robot.geometry, base_radius=(0.05,) * 3))
    rng = np.random.default_rng(4)
    p = rng.uniform([-0.5, -0.5, -0.9], [0.5, 0.5, 0.9], (4000, 3))
    q = inverse_kinematics(wide, p, unreachable="nan")
    inverse, met = block(wide, "InverseKinematics"), set()
    for row, wanted in zip(p, q, strict=True):
        inverse(**lettered("", row))
        assert (inverse.Status == 0) == (not np.isnan(wanted).any())
        if inverse.Status == 0:
            np.testing.assert_allclose(outputs(inverse, "Q", 3), wanted, rtol=0, atol=CLOSE)
            met |= set(np.floor(wanted / (math.pi / 2)).astype(int).tolist())
    assert met == {-2, -1, 0, 1}


def check_torques(robot: Robot, mass: float, inertia: float, count: int = COUNT) -> None:
    motion, dof = motion_of(robot, count), robot.dof
    loaded = robot.with_payload(mass, robot.payload.offset, inertia)
    tau = inverse_dynamics(loaded, motion) * np.asarray(robot.controller.sign)
    load = {"PayloadMass": mass} | ({"PayloadInertia": inertia} if dof == 4 else {})
    platform, joints = block(robot, "Feedforward"), block(robot, "FeedforwardJoints")
    q = controller_angles(robot, motion.q)
    sign, atol = np.asarray(robot.controller.sign), CLOSE * np.abs(tau).max()
    for k in range(count):
        platform(
            **lettered("", motion.p[k]),
            **lettered("V", motion.pd[k]),
            **lettered("A", motion.pdd[k]),
            **load,
        )
        joints(
            **numbered("Q", q[k]),
            **numbered("QD", sign * motion.qd[k]),
            **numbered("QDD", sign * motion.qdd[k]),
            **load,
        )
        for found in (platform, joints):
            assert found.Status == 0
            np.testing.assert_allclose(outputs(found, "Tau", dof), tau[k], rtol=0, atol=atol)


@pytest.mark.parametrize("dof", [3, 4])
def test_torque_of_a_robot_with_all_terms(dof: int) -> None:
    check_torques(own_robot(dof), 2.5, 0.003 if dof == 4 else 0.0)


def test_a_payload_has_a_place_of_its_own() -> None:
    """Mass, inertia and offset of a load as inputs, beside the robot file's place."""
    robot, mass, inertia, place = own_robot(4), 2.5, 0.05, (0.06, -0.04)
    motion = motion_of(robot, 60)
    sign = np.asarray(robot.controller.sign)
    loaded = robot.with_payload(mass, (*place, 0.0), inertia)
    tau = inverse_dynamics(loaded, motion) * sign
    load = {"PayloadMass": mass, "PayloadInertia": inertia}
    load |= {"PayloadX": place[0], "PayloadY": place[1]}
    platform, joints = block(robot, "FeedforwardLoad"), block(robot, "JointsLoad")
    q = controller_angles(robot, motion.q)
    for k in range(60):
        rows = {"": motion.p[k], "V": motion.pd[k], "A": motion.pdd[k]}
        turns = {"Q": q[k], "QD": sign * motion.qd[k], "QDD": sign * motion.qdd[k]}
        platform(**{n: x for name, v in rows.items() for n, x in lettered(name, v).items()}, **load)
        joints(**{n: x for name, v in turns.items() for n, x in numbered(name, v).items()}, **load)
        for found in (platform, joints):
            assert found.Status == 0
            atol = CLOSE * np.abs(tau).max()
            np.testing.assert_allclose(outputs(found, "Tau", 4), tau[k], rtol=0, atol=atol)
    assert platform(**dict.fromkeys(load, 0.0) | {"PayloadX": 1e3}).Status == 1


@pytest.mark.full
@pytest.mark.parametrize("motor", [True, False])
@pytest.mark.parametrize("dof", [3, 4])
def test_torque_of_a_robot_with_ripple_and_drives_of_their_own_scale(dof: int, motor: bool) -> None:
    check_torques(rich_drives(own_robot(dof), motor=motor), 2.5, 0.0, count=100)


@pytest.mark.full
@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize(
    "friction",
    [
        Friction(),
        Friction(viscous=0.5, coulomb=1.5),
        Friction(coulomb=1.5, coulomb_negative=1.1, smoothing=1e-3),
        Friction(stribeck=0.5, stribeck_velocity=1e-3),
        Friction(offset=0.2, load=0.1),
    ],
    ids=["none", "sign", "sharp", "stribeck", "load"],
)
def test_terms_of_friction_alone(dof: int, friction: Friction) -> None:
    check_torques(own_robot(dof, friction), 0.0, 0.0, count=60)


def test_a_robot_at_rest_has_no_dry_friction() -> None:
    robot = own_robot(3, full_friction(3, passive=(), offset=None))
    motion = Motion.from_platform(
        robot, np.arange(2.0), *(np.array([[0.1, 0.0, z]] * 2) for z in (-0.7, 0.0, 0.0))
    )
    still = replace(
        motion, pd=0 * motion.pd, pdd=0 * motion.pdd, qd=0 * motion.qd, qdd=0 * motion.qdd
    )
    tau = inverse_dynamics(robot.with_payload(0.0), still)[0] * np.asarray(robot.controller.sign)
    found = block(robot, "Feedforward")(**lettered("", motion.p[0]))
    assert found.Status == 0
    np.testing.assert_allclose(outputs(found, "Tau", 3), tau, rtol=0, atol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize("dof", [3, 4])
def test_the_estimators_model_of_a_robot_with_all_terms(dof: int, rich: bool) -> None:
    """Torque without payload, what one kg adds, speed: as the package's estimator has them."""
    robot = rich_drives(own_robot(dof)) if rich else own_robot(dof)
    model = SampleModel.of(robot.with_payload(0.0, robot.payload.offset))
    text = files(robot, Options(name="Own", estimator="least-squares"))["Own.st"]
    state, found = make_states(robot, 200), instance(text, "FB_Own_PayloadModel")
    directions = np.random.default_rng(dof).uniform(-1, 1, state.q.shape)
    for q, qd, qdd, s in zip(state.q, state.qd, state.qdd, directions, strict=True):
        wanted = model.at(q.tolist(), qd.tolist(), qdd.tolist(), s.tolist())
        found(**numbered("Q", q), **numbered("QD", qd), **numbered("QDD", qdd), **numbered("S", s))
        assert found.Status == 0
        for name, values in (("Torque", wanted.torque), ("Column", wanted.column)):
            atol = CLOSE * max(map(abs, values))
            np.testing.assert_allclose(outputs(found, name, dof), values, rtol=0, atol=atol)
        assert found.Speed == pytest.approx(math.sqrt(wanted.speed2), rel=1e-12)


BAD = (math.nan, math.inf, -math.inf, 1e300, -1e7)


@pytest.mark.full
@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize(
    "name", ["InverseKinematics", "ForwardKinematics", "Feedforward", "FeedforwardJoints"]
)
def test_no_input_traps_and_outputs_stay(dof: int, name: str) -> None:
    """Far points, singular poses, no numbers: a status, and the outputs of the last good call."""
    robot = own_robot(dof)
    found, rng = block(robot, name), np.random.default_rng(dof)
    inputs = [n for n, d in found.source.variables.items() if d.section == "var_input"]
    results = [n for n, d in found.source.variables.items() if d.section == "var_output"]
    good = _good(robot, name)
    seen = set()
    for k in range(1500):
        found(**good)
        before = {n: found.values[n] for n in results}
        assert before.pop("status") == 0
        scale = 10.0 ** rng.uniform(-3, 6)
        tried = {
            n: float(v) for n, v in zip(inputs, rng.normal(0, scale, len(inputs)), strict=True)
        }
        if k % 3 == 0:
            tried[inputs[rng.integers(len(inputs))]] = BAD[rng.integers(len(BAD))]
        elif k % 3 == 1:
            tried = dict.fromkeys(inputs, float(rng.choice([0.0, 1e-9, 0.3, 100.0])))
        found(**tried)
        seen.add(found.Status)
        if found.Status != 0:
            assert {n: found.values[n] for n in before} == before
        else:
            assert all(math.isfinite(found.values[n]) for n in before)
    assert {1, 2} <= seen <= {0, 1, 2, 3}


def _good(robot: Robot, name: str) -> dict[str, float]:
    state = make_states(robot, 1)
    zero = np.zeros(robot.dof)
    if name in ("InverseKinematics", "Feedforward"):
        point = lettered("", state.p[0])
        rates = {**lettered("V", zero), **lettered("A", zero)}
        return point if name == "InverseKinematics" else {**point, **rates, **_empty(robot)}
    angles = numbered("Q", controller_angles(robot, state.q)[0])
    rates = {**numbered("QD", zero), **numbered("QDD", zero)}
    return angles if name == "ForwardKinematics" else {**angles, **rates, **_empty(robot)}


def _empty(robot: Robot) -> dict[str, float]:
    return dict.fromkeys(("PayloadMass", "PayloadInertia")[: robot.dof - 2], 0.0)


def test_a_singular_pose_has_its_status() -> None:
    """All elbows in one point, and a point on the axis of a shoulder."""
    robot = make_robot(3, True)
    length, azimuth = (0.4,) * 3, (0.0, 2 * math.pi / 3, -2 * math.pi / 3)
    geometry = replace(robot.rotary, azimuth=azimuth, arm_length=length, strut_length=length)
    own = robot.replace(geometry=geometry)
    r = own.geometry.shrunk_radius[0]
    folded = numbered("Q", np.full(3, math.acos(-r / 0.4)))
    assert block(own, "ForwardKinematics")(**folded).Status == 3
    assert block(own, "FeedforwardJoints")(**folded).Status == 3
    assert block(own, "InverseKinematics")(X=r, Y=0.0, Z=0.0).Status == 3
    assert block(own, "Feedforward")(X=r, Y=0.0, Z=0.0).Status == 3
    assert block(own, "InverseKinematics")(X=0.0, Y=0.0, Z=-5.0).Status == 2


def test_the_evaluator_refuses_what_is_not_common() -> None:
    """The checks above mean something only if the evaluator is strict."""
    frame = "FUNCTION_BLOCK A VAR x, y : LREAL; n : DINT; END_VAR {} END_FUNCTION_BLOCK"
    for text, message in [
        ("z := 1.0;", "z is not declared"),
        ("X := 1.0;", "X is not declared"),
        ("x := n;", "dint where lreal"),
        ("x := 1;", "dint where lreal"),
        ("x := TANH(y);", "tanh is not a function"),
        ("WHILE TRUE DO x := 1.0; END_WHILE;", "WHILE is not declared"),
        ("IF x THEN y := 1.0; END_IF;", "lreal where bool"),
        ("x := 1.0", "instead of ;"),
    ]:
        with pytest.raises(StructuredTextError, match=message):
            load(frame.format(text))
    with pytest.raises(StructuredTextError, match="declared twice"):
        load("FUNCTION_BLOCK A VAR x : LREAL; X : DINT; END_VAR END_FUNCTION_BLOCK")
    for text, error in [
        ("x := 1.0 / y;", ZeroDivisionError),
        ("x := SQRT(y - 1.0);", ValueError),
        ("x := EXP(1000.0);", OverflowError),
        ("x := 1.0E300 * 1.0E300;", OverflowError),
    ]:
        with pytest.raises(error):
            instance(frame.format(text), "A")()
