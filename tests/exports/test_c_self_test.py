"""The self-test of exported C, its identity at run time, and loads with inertia and offset."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest
from tests.dynamics.factory import make_states
from tests.exports.c_build import library_of, sources_of
from tests.exports.c_points import Points, compiled, folder_of, robot_of
from tests.family.robots import waves

import deltadyn as dd
from deltadyn.exports import c
from deltadyn.exports.common import INTERFACE_VERSION

#: A tenth of what the self-test allows; all kinds, compilers and levels are in tests/deploy.
CASES = [
    ("rich-3", "float", "clang", "-O3"),
    ("rich-4", "double", "gcc", "-O0"),
    ("par4", "double", "gcc", "-O1"),
    ("planar", "float", "gcc", "-O2"),
]
AGREES = {"double": 1e-10, "float": 1e-5}
LOAD = (1.3, 0.05, 0.04, -0.07)  # kg, kg m^2, m, m


@pytest.fixture(scope="module")
def codes() -> dict[str, Points]:
    return {
        kind: compiled(folder_of(kind, precision), precision, compiler, level)
        for kind, precision, compiler, level in CASES
    }


@pytest.mark.parametrize(("kind", "precision"), [case[:2] for case in CASES])
def test_it_passes(codes: dict[str, Points], kind: str, precision: str) -> None:
    failed, error = codes[kind].self_test()
    assert failed == 0
    assert 0 < error < AGREES[precision]


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (r"/\* M_P \*/ ([^,]+)", 1e-6),
        (r"OFFSET\[DOF\] = \{\s+([^,]+)", 1e-6),
        (r"/\* limb \*/ [^,]+, ([^,]+)", 1e-6),
        (r"/\* halves \*/ [^,]+, [^,]+, ([^,]+)", 1e-3),
    ],
)
def test_it_fails_where_a_number_of_the_model_is_changed(number: str, change: float) -> None:
    folder = folder_of("par4")
    source = library_of(folder)
    text = source.read_text("utf-8")
    found = re.search(number, text)
    assert found is not None
    changed = f"{float(found[1]) * (1 + change)!r}"
    wrong = folder / "wrong"
    wrong.mkdir(exist_ok=True)
    (wrong / source.with_suffix(".h").name).write_bytes(source.with_suffix(".h").read_bytes())
    start, stop = found.span(1)
    (wrong / source.name).write_text(text[:start] + changed + text[stop:])
    name = f"wrong-{abs(hash(number))}.so"
    failed, error = compiled(wrong, "double", "gcc", "-O0", out=name).self_test()
    assert failed > 0
    assert error > 1e-9


def test_version_and_fingerprint_are_there_at_run_time(codes: dict[str, Points]) -> None:
    code = codes["par4"]
    say = code.function("fingerprint")
    say.restype = ctypes.c_char_p
    assert say().decode() == c.files(robot_of("par4")).fingerprint
    assert code.function("interface_version")() == INTERFACE_VERSION
    header = library_of(folder_of("par4")).with_suffix(".h").read_text("utf-8")
    assert re.search(r"#define \w+_INTERFACE_VERSION (\d+)", header)[1] == str(INTERFACE_VERSION)  # type: ignore[index]


@pytest.mark.parametrize("kind", ["rich-4", "par4"])
def test_a_load_has_its_inertia_and_its_place(codes: dict[str, Points], kind: str) -> None:
    robot, code = robot_of(kind), codes[kind]
    mass, inertia, x, y = LOAD
    heavy = robot.with_payload(mass, (x, y, 0.3), inertia)  # its height makes no torque
    motion = make_states(robot, 20, seed=3) if robot.legs == 3 else waves(robot, 1.0, rate=20.0)
    sign = np.asarray(robot.controller.sign)
    outside = sign * motion.q + np.asarray(robot.controller.offset)
    tau, eom = sign * dd.inverse_dynamics(heavy, motion), dd.equations_of_motion(heavy, motion)
    held = sign * np.asarray(robot.sensors.torque_ratio) * eom.g
    load, near = code.load(*LOAD), [None] if robot.legs == 4 else []
    for k in range(len(motion.q)):
        platform = (motion.p[k], motion.pd[k], motion.pdd[k])
        joints = (outside[k], sign * motion.qd[k])
        bend = sign * motion.qdd[k]
        answers = (
            (code.call("feedforward_payload", 4, *platform, load), tau[k]),
            (code.call("feedforward_joints_payload", 4, *joints, bend, *near, load), tau[k]),
            (code.call("gravity_torque_payload", 4, joints[0], *near, load), held[k]),
            (
                code.call("mass_matrix_payload", 16, joints[0], *near, load),
                (sign[:, None] * eom.M[k] * sign).ravel(),
            ),
            (code.call("forward_dynamics_payload", 4, *joints, tau[k], *near, load), bend),
        )
        for found, wanted in answers:
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * abs(wanted).max())


def test_inertia_of_a_load_takes_torque_about_psi() -> None:
    """0.05 kg m^2 at 100 rad/s^2 is 5 N m."""
    robot = dd.load_robot("example-delta-4").with_friction(viscous=0.0, coulomb=0.0, passive=())
    folder = sources_of(robot, estimator="least-squares", rate=500.0)
    code = compiled(folder, "double", "gcc", "-O0")
    p, zero, bend = np.array([0.05, 0.02, -0.45, 0.4]), np.zeros(4), np.array([0, 0, 0, 100.0])
    tau = [
        code.call("feedforward_payload", 4, p, zero, bend, code.load(0.5, inertia, 0.0, 0.0))
        for inertia in (0.0, 0.05)
    ]
    np.testing.assert_allclose(tau[1] - tau[0], [0, 0, 0, 5.0], atol=1e-12)
    status = code.function("feedforward_payload")
    out = code.array([7.0] * 4)
    for wrong, said in ((np.nan, 3), (1e7, 4)):
        load = code.load(0.5, 0.0, wrong, 0.0)
        assert status(code.array(p), code.array(zero), code.array(bend), load, out) == said
        assert list(out) == [7.0] * 4
