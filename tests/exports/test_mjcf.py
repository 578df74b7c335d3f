"""The exported MuJoCo model, in MuJoCo, against the models of this project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.exports.mujoco_cases import loaded
from tests.family.robots import make

import deltadyn as dd
from deltadyn.exports.common import home_angles
from deltadyn.exports.mjcf import files
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.exports.scenes.robot import robot_scene
from deltadyn.kinematics.struts import skeleton
from deltadyn.robot.settings import Friction, PassiveFriction

mujoco = pytest.importorskip("mujoco")

Array = npt.NDArray[np.float64]
THREE = ("sipro-d3-1200", "nt-robot", "usach-delta", "example-delta")
FOUR = ("abb-irb360-6-1600", "autonox-rl5-1450", "telescopic-delta", "example-delta-4")
DRIVEN = ("theta_1", "theta_2", "theta_3", "psi")


def load(robot: dd.Robot, timestep: float = 5e-4) -> tuple[Any, Any]:
    model = loaded(robot, timestep)
    return model, mujoco.MjData(model)


def random_states(robot: dd.Robot, count: int, seed: int) -> tuple[Array, Array, Array]:
    """q, qd and torques (count, dof) in the workspace, up to the peak torque."""
    rng, space = np.random.default_rng(seed), robot.limits.workspace
    assert space is not None
    radius, turn = space.radius * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 6.3, count)
    height, psi = rng.uniform(space.z_min, space.z_max, count), rng.uniform(-3, 3, count)
    p = np.stack([radius * np.cos(turn), radius * np.sin(turn), height, psi], axis=-1)
    q = dd.inverse_kinematics(robot, p[:, : robot.dof], unreachable="nan")
    q = q[np.isfinite(q).all(axis=1)]
    qd, tau = rng.uniform(-3, 3, q.shape), rng.uniform(-1, 1, q.shape)
    return q, qd, tau * np.array(robot.limits.torque_peak)


def place(robot: dd.Robot, data: Any, q: Array, qd: Array) -> None:
    for name, (value, rate) in joint_values(robot, q, qd).items():
        data.joint(name).qpos, data.joint(name).qvel = value, rate


def driven(robot: dd.Robot, data: Any, what: str) -> Array:
    return np.array([getattr(data.joint(name), what)[0] for name in DRIVEN[: robot.dof]])


def gaps(robot: dd.Robot, data: Any) -> list[float]:
    """Distances that closed loops have at 0 (m)."""
    pairs = [(f"tip_{i}", f"socket_{i}") for i in (1, 2, 3)]
    pairs += [] if robot.spindle is None else [("top", "pivot")]
    return [float(np.linalg.norm(data.site(a).xpos - data.site(b).xpos)) for a, b in pairs]


@pytest.mark.parametrize("name", THREE + FOUR)
def test_it_starts_at_home_with_closed_loops(name: str) -> None:
    robot = dd.load_robot(name)
    model, data = load(robot)
    mujoco.mj_forward(model, data)
    assert max(gaps(robot, data)) < 1e-12  # closed form; double arithmetic on metres
    np.testing.assert_array_equal(model.qpos0, model.key("home").qpos)
    np.testing.assert_allclose(driven(robot, data, "qpos"), home_angles(robot), atol=1e-15)
    p = dd.forward_kinematics(robot, driven(robot, data, "qpos"))
    np.testing.assert_allclose(data.sensor("p").data, p[:3], atol=1e-12)


@pytest.mark.parametrize("name", THREE + FOUR)
def test_acceleration_is_that_of_the_model(name: str) -> None:
    robot = dd.load_robot(name).replace(friction=Friction())
    model, data = load(robot)
    # the IRB 360's rods are given by ten parameters, which the model 'rigid' has
    reference = "rigid" if name == "abb-irb360-6-1600" else "exact"
    q, qd, tau = random_states(robot, 260, seed=3)
    assert len(q) >= 200
    qdd = dd.forward_dynamics(robot, q, qd, tau, model=reference)
    worst = 0.0
    for row in range(len(q)):
        place(robot, data, q[row], qd[row])
        data.ctrl[:] = tau[row]
        mujoco.mj_forward(model, data)
        assert max(gaps(robot, data)) < 1e-12
        rates = data.efc_J.reshape(data.nefc, model.nv) @ data.qvel
        assert np.abs(rates).max() < 1e-11  # m/s: rates of closed loops, of some 10 m/s
        error = np.linalg.norm(driven(robot, data, "qacc") - qdd[row])
        worst = max(worst, float(error / np.linalg.norm(qdd[row])))
    assert 1e-6 < worst < 2e-3  # the stated accuracy; soft constraints are never exact


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_one_second_follows_the_ideal_plant(name: str) -> None:
    """Open loop under swinging torques: nothing pulls the two together."""
    from scipy.integrate import solve_ivp

    robot = dd.load_robot(name).with_payload(1.0)
    robot = robot.replace(friction=Friction(viscous=(1.0, 1.0, 1.0, 0.02)[: robot.dof]))
    dof, start = robot.dof, home_angles(robot)
    rest = np.zeros((1, dof))
    hold = dd.inverse_dynamics(robot, dd.Motion.from_joints(robot, [0.0], [start], rest, rest))[0]
    size, rate = np.array([8.0, -6.0, 5.0, 0.3])[:dof], np.array([12.0, 15.0, 18.0, 20.0])[:dof]

    def torque(t: float) -> Array:
        return np.asarray(hold + size * np.sin(rate * t))

    def slope(t: float, y: Array) -> Array:
        return np.concatenate([y[dof:], dd.forward_dynamics(robot, y[:dof], y[dof:], torque(t))])

    begin = np.r_[start, np.zeros(dof)]
    solved = solve_ivp(slope, (0.0, 1.0), begin, "DOP853", rtol=1e-7, atol=1e-8)
    end = solved.y[:dof, -1]
    assert np.abs(end - start).max() > 0.3  # rad: it did move
    step = 5e-4
    model, data = load(robot, step)
    for k in range(2000):
        data.ctrl[:] = torque((k + 0.5) * step)
        mujoco.mj_step(model, data)
    # 1e-7 rad measured on arms, 5e-6 rad on psi, whose inertia is small against its friction; a
    # lost permille of acceleration would be 5e-4 rad
    np.testing.assert_allclose(driven(robot, data, "qpos"), end, atol=2e-5)
    assert max(gaps(robot, data)) < 1e-7


@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600"])
def test_masses_sum_up_with_the_payload(name: str) -> None:
    robot = dd.load_robot(name).with_payload(1.5, offset=(0.02, 0.0, -0.05))
    expected = sum(arm.mass + arm.elbow_mass for arm in robot.rotary_arms)
    expected += sum(strut.rods * strut.mass for strut in robot.struts)
    expected += robot.platform.mass + robot.effector.mass + 1.5
    if robot.spindle is not None:
        expected += robot.spindle.upper.mass + robot.spindle.lower.mass
    model, _ = load(robot)
    assert float(model.body_mass.sum()) == pytest.approx(expected, rel=1e-12)


def test_payload_and_effector_off_the_axis_count() -> None:
    robot = dd.load_robot("example-delta-4").with_payload(1.0, (0.05, -0.02, -0.08), 0.002)
    robot = robot.replace(friction=Friction())
    model, data = load(robot)
    q, qd, tau = random_states(robot, 40, seed=5)
    qdd = dd.forward_dynamics(robot, q, qd, tau)
    for row in range(len(q)):
        place(robot, data, q[row], qd[row])
        data.ctrl[:] = tau[row]
        mujoco.mj_forward(model, data)
        error = np.linalg.norm(driven(robot, data, "qacc") - qdd[row])
        assert error < 2e-3 * np.linalg.norm(qdd[row])


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4"])
def test_rods_are_drawn_between_their_joints(name: str) -> None:
    robot = dd.load_robot(name)
    model, data = load(robot)
    q, qd, _ = random_states(robot, 5, seed=7)
    g = robot.geometry
    assert g.rod_spacing is not None
    for row in range(len(q)):
        place(robot, data, q[row], qd[row])
        mujoco.mj_forward(model, data)
        bones = skeleton(robot, dd.forward_kinematics(robot, q[row]))
        for i in range(3):
            for side, sign in ((1, -1), (2, 1)):
                length = data.tendon(f"rod_{i + 1}_{side}").length[0]
                assert length == pytest.approx(g.strut_length[i], abs=1e-12)
                aside = sign * g.rod_spacing / 2 * bones.pins[i]
                for part, place_of in (("elbow", bones.elbows), ("ball", bones.joints)):
                    site = data.site(f"{part}_{i + 1}_{side}").xpos
                    np.testing.assert_allclose(site, place_of[i] + aside, atol=1e-12)


def test_what_is_seen_has_no_mass_and_no_contact() -> None:
    robot = dd.load_robot("example-delta-4").with_payload(1.0)
    model, _ = load(robot)
    assert not model.geom_contype.any()
    assert not model.geom_conaffinity.any()
    names = {model.geom(i).name for i in range(model.ngeom)}
    assert {"base", "motor_1", "arm_2", "plate", "flange", "tube", "payload", "floor"} <= names
    assert model.ncam == 1
    assert model.nlight == 1


def test_friction_is_joint_friction() -> None:
    passive = tuple(
        PassiveFriction(joint, viscous, coulomb)
        for joint, viscous, coulomb in (
            ("prismatic", 5.0, 4.0),
            ("elbow_swing", 0.05, 0.1),
            ("elbow_sway", 0.04, 0.05),
            ("platform_swing", 0.03, 0.2),
            ("platform_sway", 0.02, 0.1),
            ("universal_fork", 0.03, 0.05),
            ("universal_cross", 0.02, 0.04),
        )
    )
    robot = dd.load_robot("example-delta-4")
    robot = robot.replace(
        friction=Friction((0.5, 0.4, 0.3, 0.02), (1.5, 1.2, 1.0, 0.2), passive=passive)
    )
    model, data = load(robot)
    q, qd, tau = random_states(robot, 80, seed=9)
    tau *= 0.1
    qdd = dd.forward_dynamics(robot, q, qd, tau)
    free = dd.forward_dynamics(robot.replace(friction=Friction()), q, qd, tau)
    compared = 0
    for row in range(len(q)):
        place(robot, data, q[row], qd[row])
        data.ctrl[:] = tau[row]
        mujoco.mj_forward(model, data)
        if _reverses(data, 1e-3):
            continue  # MuJoCo brings a joint to rest in two steps where Coulomb friction jumps
        compared += 1
        error = np.linalg.norm(driven(robot, data, "qacc") - qdd[row])
        assert error < 2e-3 * np.linalg.norm(qdd[row])
        assert error < 0.02 * np.linalg.norm(free[row] - qdd[row])
    assert compared > 20


def _reverses(data: Any, within: float) -> bool:
    """Whether a joint, or a strut against the platform, comes to rest within that time (s)."""
    names = [f"{part}_{i}" for i in (1, 2, 3) for part in ("theta", "swing", "sway")]
    names += ["psi", "fork", "cross", "slide"]
    rates = {name: data.joint(name).qvel[0] for name in names}
    slopes = {name: data.joint(name).qacc[0] for name in names}
    for i in (1, 2, 3):
        for values in (rates, slopes):
            values[f"beta_{i}"] = values[f"theta_{i}"] + values[f"swing_{i}"]
    return any(abs(rates[name]) < within * abs(slopes[name]) for name in rates)


def test_drives_have_the_robots_limits() -> None:
    robot = dd.load_robot("example-delta-4")
    model, data = load(robot)
    limits = robot.limits
    assert limits.angle_min is not None
    assert limits.angle_max is not None
    for axis, name in enumerate(DRIVEN):
        joint, motor = model.joint(name), model.actuator(f"torque_{name}")
        np.testing.assert_array_equal(joint.range, [limits.angle_min[axis], limits.angle_max[axis]])
        peak = limits.torque_peak[axis]  # type: ignore[index]
        np.testing.assert_array_equal(motor.ctrlrange, [-peak, peak])
        assert joint.armature[0] == robot.drives.output_inertia[axis]
    data.ctrl[:] = [1.0, 2.0, 3.0, 0.5]
    mujoco.mj_forward(model, data)
    assert [data.sensor(f"tau_{name}").data[0] for name in DRIVEN] == [1.0, 2.0, 3.0, 0.5]
    assert data.sensor("q_theta_2").data[0] == data.joint("theta_2").qpos[0]
    assert data.sensor("qd_psi").data[0] == 0.0


def test_the_readme_says_what_was_measured() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    written = files(robot)
    meshes = [f"sipro_d3_1200_meshes/{name}.obj" for name in ("arm_1", "arm_2", "arm_3", "base")]
    assert sorted(written) == [
        "README-mjcf.md",
        "sipro_d3_1200.xml",
        "sipro_d3_1200_check_points.json",
        *meshes,
        "sipro_d3_1200_meshes/plate.obj",
        "sipro_d3_1200_self_test.py",
    ]
    text = written["README-mjcf.md"]
    assert "over 200 random states and torques" in text
    assert "largest error of the acceleration 0.11 %" in text
    assert "mujoco.MjModel.from_xml_path" in text
    space = robot.limits.workspace
    assert space is not None
    assert f"platform within {space.radius:g} m of the axis, z from {space.z_min:g} to" in text
    assert "rates of the axes within 3, 3, 3 (rad/s or m/s)" in text


@pytest.mark.parametrize("name", ["sipro-d3-1200", "example-delta-4", "vertical"])
def test_views_show_the_whole_robot(name: str) -> None:
    """Every corner of a geom is within the field of the free camera and of `front`."""
    robot = make(name) if name == "vertical" else dd.load_robot(name)
    model, data = load(robot)
    mujoco.mj_forward(model, data)
    seen = [k for k in range(model.ngeom) if model.geom(k).name != "floor"]
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    middles, sizes = model.geom_aabb[:, :3], model.geom_aabb[:, 3:]
    points = np.concatenate(
        [
            (middles[k] + signs * sizes[k]) @ data.geom_xmat[k].reshape(3, 3).T + data.geom_xpos[k]
            for k in seen
        ]
    )
    free = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, free)
    a, e = np.radians([free.azimuth, free.elevation])
    forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([np.sin(a), -np.cos(a), 0.0])
    axes = np.stack([right, np.cross(right, forward), -forward], axis=-1)
    views = [(np.array(free.lookat) - free.distance * forward, axes)]
    views.append((data.camera("front").xpos, data.camera("front").xmat.reshape(3, 3)))
    for eye, turned in views:
        x, y, z = ((points - eye) @ turned).T
        assert (z < 0).all()
        widest = max(np.abs(x / z).max(), np.abs(y / z).max())
        assert (
            0.5 < widest / np.tan(np.radians(45 / 2)) < 1.0
        )  # neither cut nor lost in the distance


def test_meshes_are_closed_and_turned_outward() -> None:
    """The volume by the divergence theorem is positive; every edge is passed once each way."""
    for body in robot_scene(dd.load_robot("sipro-d3-1200")).bodies:
        for shape in body.shapes:
            if shape.mesh is None:
                continue
            a, b, c = (shape.mesh.points[[face[k] for face in shape.mesh.faces]] for k in range(3))
            volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
            box = np.ptp(shape.mesh.points, axis=0)
            assert 0.2 * box.prod() < volume < 1.001 * box.prod()
            edges = [
                pair
                for f in shape.mesh.faces
                for pair in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))
            ]
            assert sorted(edges) == sorted((j, i) for i, j in edges)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mjcf")
    dd.export(dd.load_robot("example-delta-4"), "mjcf", place)
    return place


def run_self_test(place: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(place / "example_delta_4_self_test.py")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_self_test_tells_a_good_model_from_another(folder: Path) -> None:
    done = run_self_test(folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("good\n")
    model = folder / "example_delta_4.xml"
    text = model.read_text("utf-8")
    mark = re.search(r'name="fingerprint" data="(\w+)"', text)
    assert mark is not None
    assert mark[1] in done.stdout
    mass = re.search(r'mass="(0\.\d+)"', text)
    assert mass is not None
    model.write_text(text.replace(mass[0], f'mass="{1.001 * float(mass[1])!r}"', 1), "utf-8")
    done = run_self_test(folder)
    assert done.returncode == 1, done.stdout
    assert "NOT GOOD" in done.stdout
