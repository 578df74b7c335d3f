"""Controllers' code of planar, articulated and helical robots against the package's model."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.exports.c_build import HERE, STRICT, library_of, need, run, sources_of
from tests.exports.mujoco_cases import loaded
from tests.exports.st_cases import controller_angles, numbered
from tests.exports.st_evaluator import instance
from tests.family.robots import make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.backends import switched_off
from deltadyn.errors import InputError
from deltadyn.exports import c, mjcf, pinocchio_model, structured_text
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller, Friction

KINDS = ("planar", "planar_rails", "par4", "par4_rails", "heli4", "heli4_rails")
PAYLOAD = 0.7  # kg
CLOSE = {"double": 1e-12, "float": 2e-5}  # of the largest number of its kind


@lru_cache(maxsize=8)
def robot_of(kind: str) -> Robot:
    """The robot of a kind with all terms of its drives, a payload and a controller of its own."""
    robot = make(kind).with_payload(0.4, (0.02, -0.01, -0.05), 1e-3)
    n = robot.dof
    own = Controller((-1.0, 1.0, -1.0, 1.0)[:n], (0.3, -0.2, 1.1, 0.05)[:n])
    return rich_drives(robot.replace(controller=own))


@lru_cache(maxsize=8)
def states(kind: str) -> dd.State:
    robot = robot_of(kind)
    motion = waves(robot, 1.0, rate=150.0)
    with switched_off():
        return dd.State.from_platform(robot, motion.p, motion.pd, motion.pdd)


class Code:
    """A compiled export, called a sample at a time."""

    def __init__(self, robot: Robot, precision: str, compiler: str) -> None:
        folder = sources_of(robot, precision)
        source = library_of(folder)
        self.own, self.robot = source.stem.removesuffix("_delta"), robot
        command = [need(compiler), *STRICT, "-O1", "-shared", "-fPIC", source.name]
        run([*command, "-o", "code.so", "-lm"], folder)
        self.code = ctypes.CDLL(str(folder / "code.so"))
        self.real = ctypes.c_double if precision == "double" else ctypes.c_float
        self.halves = robot.legs == 4

    def _array(self, values: Any) -> Any:
        return (self.real * len(values))(*(float(x) for x in values))

    def call(self, name: str, *inputs: Any, near: Any = (), payload: float | None = None) -> Any:
        """Status, and the outputs as arrays; `near` is None or a pose where joints are given."""
        n = self.robot.dof
        count = 3 if name in ("joint_rates", "platform_rates") else 1
        width = n * n if name == "mass_matrix" else n
        out = [(self.real * width)(*([float("nan")] * width)) for _ in range(count)]
        hint = []
        if self.halves and not isinstance(near, tuple):
            hint = [None if near is None else self._array(near)]
        load = [] if payload is None else [self.real(payload)]
        function = getattr(self.code, f"{self.own}_{name}")
        status = function(*(self._array(x) for x in inputs), *hint, *load, *out)
        return status, *(np.array(list(x)) for x in out)


@lru_cache(maxsize=8)
def code_of(kind: str, precision: str = "double", compiler: str = "gcc") -> Code:
    return Code(robot_of(kind), precision, compiler)


@pytest.mark.parametrize(
    ("kind", "precision", "compiler"),
    [*((kind, "double", "gcc") for kind in KINDS), ("par4", "float", "clang")],
)
def test_c_has_pythons_kinematics_and_dynamics(kind: str, precision: str, compiler: str) -> None:
    robot, state, code = robot_of(kind), states(kind), code_of(kind, precision, compiler)
    own, sign = robot.payload, np.asarray(robot.controller.sign)
    heavy = robot.with_payload(PAYLOAD, own.offset, own.inertia_zz / own.mass * PAYLOAD)
    q, qd, qdd = controller_angles(robot, state.q), sign * state.qd, sign * state.qdd
    with switched_off():
        tau = sign * dd.inverse_dynamics(heavy, state)
        eom = dd.equations_of_motion(heavy, state)
    platform = (state.p, state.pd, state.pdd)
    held = sign * np.asarray(robot.sensors.torque_ratio) * eom.g
    mass = (sign[:, None] * eom.M * sign).reshape(len(q), -1)
    calls: tuple[tuple[str, tuple[FloatArray, ...], tuple[FloatArray, ...]], ...] = (
        ("inverse_kinematics", (state.p,), (q,)),
        ("forward_kinematics", (q,), (state.p,)),
        ("joint_rates", platform, (q, qd, qdd)),
        ("platform_rates", (q, qd, qdd), platform),
        ("feedforward", platform, (tau,)),
        ("feedforward_joints", (q, qd, qdd), (tau,)),
        ("gravity_torque", (q,), (held,)),
        ("mass_matrix", (q,), (mass,)),
        ("forward_dynamics", (q, qd, tau), (qdd,)),
    )
    loaded = ("feedforward", "feedforward_joints", "gravity_torque", "mass_matrix")
    for name, given, expected in calls:
        load = PAYLOAD if name in (*loaded, "forward_dynamics") else None
        scales = [CLOSE[precision] * np.abs(x).max() for x in expected]
        from_joints = given[0] is q
        for k in range(len(q)):
            near: Any = () if not from_joints else (state.p[k - 1] if k else None)
            status, *found = code.call(name, *(x[k] for x in given), near=near, payload=load)
            assert status == 0, (name, k)
            for x, wanted, scale in zip(found, expected, scales, strict=True):
                np.testing.assert_allclose(x, wanted[k], rtol=0, atol=scale, err_msg=name)


@pytest.mark.parametrize("kind", ["par4", "heli4_rails"])
def test_poses_are_followed_from_the_middle_of_the_reach(kind: str) -> None:
    """Without a pose nearby, over the whole workspace: the assembly is that of Python."""
    robot, code = robot_of(kind), code_of(kind)
    space, rng = robot.limits.workspace, np.random.default_rng(4)
    assert space is not None
    p = rng.uniform(-1, 1, (60, 4)) * [0.7 * space.radius, 0.7 * space.radius, 0.0, 0.8]
    p[:, 2] = rng.uniform(space.z_min, space.z_max, 60)
    q = controller_angles(robot, dd.inverse_kinematics(robot, p))
    for row, wanted in zip(q, p, strict=True):
        status, found = code.call("forward_kinematics", row, near=None)
        assert status == 0
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


def test_what_cannot_be_has_a_status_and_outputs_stay() -> None:
    for kind in ("planar", "par4"):
        code, n = code_of(kind), robot_of(kind).dof
        far = np.zeros(n)
        far[robot_of(kind).coordinates.index("z")] = -9.0
        status, out = code.call("inverse_kinematics", far)
        assert status == 1
        assert np.isnan(out).all()
        assert code.call("inverse_kinematics", np.full(n, np.nan))[0] == 3
    robot, code = robot_of("par4"), code_of("par4")
    folded = controller_angles(robot, np.array([3.0, -3.0, 1.0, -1.0]))
    status, out = code.call("forward_kinematics", folded, near=None)
    assert status in (1, 2)
    assert np.isnan(out).all()


@pytest.mark.parametrize(("kind", "precision"), [("planar", "float"), ("par4", "double")])
def test_no_input_raises_a_floating_point_exception(kind: str, precision: str) -> None:
    robot = robot_of(kind)
    folder = sources_of(robot, precision)
    source = library_of(folder)
    own = source.stem.removesuffix("_delta")
    defines = [f'-DHEADER="{source.stem}.h"', f"-DID={own}", f"-DN={robot.dof}"]
    driver = str(HERE / "c_platform_fuzz.c")
    command = [need("gcc"), *STRICT, "-O1", *defines, f"-DHALF={int(robot.legs == 4)}", "-I."]
    run([*command, driver, source.name, "-o", "fuzz", "-lm"], folder)
    counts = [int(word) for word in run(["./fuzz"], folder).split()]
    assert min(counts[0], counts[1], counts[3], counts[4]) > 100  # all that should be met


def test_the_texts_name_kind_units_and_what_is_missing() -> None:
    for kind, words in (("planar", "planar robot of two limbs"), ("par4_rails", "Par4, Quattro")):
        files = c.files(robot_of(kind))
        assert all(words in text for text in files.values())
        assert not any("payload_update" in text for text in files.values())
    readme = c.files(robot_of("par4_rails"))["README-c.md"]
    assert "| 1 | -q + 0.3 m | -tau | m | N |" in readme
    assert "Newton's method" in readme
    with pytest.raises(InputError, match="estimator of an export is 'str'; allowed: none for 4"):
        c.files(robot_of("par4"), c.Options(estimator="bank"))


def in_letters(robot: Robot, prefix: str, values: FloatArray) -> dict[str, float]:
    """Inputs X, Y, Z, Psi of a block, as far as the robot has them, with a prefix."""
    names = [name.capitalize() for name in robot.coordinates]
    return {f"{prefix}{name}": float(x) for name, x in zip(names, values, strict=True)}


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_structured_text_has_pythons_kinematics_and_dynamics(kind: str) -> None:
    robot, state = robot_of(kind), states(kind)
    text = structured_text.files(robot, structured_text.Options(name="Own"))["Own.st"]
    heavy, sign = robot.with_payload(PAYLOAD, robot.payload.offset), robot.controller.sign
    q = controller_angles(robot, state.q)
    tau = np.asarray(sign) * dd.inverse_dynamics(heavy, state)
    inverse, forward, platform, joints = (
        instance(text, f"FB_Own_{name}")
        for name in ("InverseKinematics", "ForwardKinematics", "Feedforward", "FeedforwardJoints")
    )
    load = {"PayloadMass": PAYLOAD} | ({"PayloadInertia": 0.0} if robot.turns else {})
    for k in range(0, 120, 4):  # 27 ms from call to call
        more = {"Reset": k == 0} if robot.legs == 4 else {}
        rows = {"": state.p[k], "V": state.pd[k], "A": state.pdd[k]}
        motion = {"Q": q[k], "QD": sign * state.qd[k], "QDD": sign * state.qdd[k]}
        given = {
            n: x for name, row in rows.items() for n, x in in_letters(robot, name, row).items()
        }
        moved = {n: x for name, row in motion.items() for n, x in numbered(name, row).items()}
        inverse(**in_letters(robot, "", state.p[k]))
        forward(**numbered("Q", q[k]), **more)
        platform(**given, **load)
        joints(**moved, **load, **more)
        assert [b.Status for b in (inverse, forward, platform, joints)] == [0] * 4
        axes = range(1, robot.dof + 1)
        found = [getattr(inverse, f"Q{i}") for i in axes]
        np.testing.assert_allclose(found, q[k], rtol=0, atol=1e-12)
        pose = in_letters(robot, "", state.p[k])
        found = [getattr(forward, name) for name in pose]
        np.testing.assert_allclose(found, state.p[k], rtol=0, atol=1e-12)
        for block in (platform, joints):
            found = [getattr(block, f"Tau{i}") for i in axes]
            np.testing.assert_allclose(found, tau[k], rtol=0, atol=1e-12 * np.abs(tau).max())


def test_structured_text_begins_anew_after_joints_that_close_no_loop() -> None:
    robot = robot_of("par4")
    text = structured_text.files(robot, structured_text.Options(name="Own"))["Own.st"]
    forward = instance(text, "FB_Own_ForwardKinematics")
    good = numbered("Q", controller_angles(robot, states("par4").q)[0])
    forward(**good, Reset=False)
    seen = {name: getattr(forward, name) for name in ("X", "Y", "Z", "Psi")}
    folded = numbered("Q", controller_angles(robot, np.array([3.0, -3.0, 1.0, -1.0])))
    forward(**folded, Reset=False)
    assert forward.Status in (2, 3)
    assert {name: getattr(forward, name) for name in seen} == seen
    forward(**(good | {"Q1": float("nan")}), Reset=False)
    assert forward.Status == 1
    forward(**good, Reset=False)
    assert forward.Status == 0
    for name, value in seen.items():
        assert getattr(forward, name) == pytest.approx(value, abs=1e-10)
    readme = structured_text.files(robot)["README-structured-text.md"]
    assert "Newton's method" in readme
    assert "Par4, Quattro" in readme


@pytest.mark.parametrize("kind", ["planar", "par4", "heli4_rails"])
def test_mujoco_has_the_acceleration_of_the_model(kind: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    robot = make(kind)
    error = mjcf.acceleration_error(robot, mjcf.TIMESTEP, states=20)
    assert 1e-6 < error.largest < mjcf.allowed_error(robot)  # soft constraints are never exact
    model = loaded(robot)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-12  # all loops, gears and screws are closed at home
    p = robot.in_space(home_pose(robot))
    np.testing.assert_allclose(data.sensor("p").data, p, atol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_pinocchio_has_the_torque_of_the_model(kind: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot = make(kind, friction=Friction()).with_payload(0.7, (0.02, -0.01, -0.05), 1e-3)
    motion = waves(robot, 1.0, rate=20.0)
    delta = pinocchio_model(robot)
    assert delta.model.nv - 3 * len(delta.constraint_models) == robot.dof
    data, tau = delta.model.createData(), dd.inverse_dynamics(robot, motion)
    for q, qd, qdd, wanted in zip(motion.q, motion.qd, motion.qdd, tau, strict=True):
        a = delta.acceleration(q, qd, qdd)
        whole = pin.rnea(delta.model, data, delta.configuration(q), delta.velocity(q, qd), a)
        found = delta.projection(q).T @ whole
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(tau).max())
