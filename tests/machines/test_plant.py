"""The independent plant: its mechanics against two witnesses, its loop, and each cause."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import minimum_filter1d
from scipy.signal import butter, sosfiltfilt
from tests.machines import CAUSES, Machine, Run, Touch, compiler, make_machine, plant
from tests.machines.machines import TICK, bodies_of, true_parameters
from tests.machines.plant import Array
from tests.reference import engines
from tests.reference.convert import to_robot

import deltadyn as dd

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")

THREE, FOUR = "sipro-d3-1200", "example-delta-4"
ROBOTS = (THREE, FOUR, "autonox-rl5-1450", "telescopic-delta")
AGREEMENT = 1e-12  # relative: rounding alone, of two derivations of one model
SMOOTH = 1e-7  # the same where the telescope rubs: its friction is tanh(rate / 1 mm/s), not a sign


def _largest(a: Array, b: Array) -> float:
    """Largest difference over the largest value."""
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def _motion(robot: dd.Robot, n: int = 100) -> dd.Motion:
    rng, space = np.random.default_rng(1), robot.limits.workspace
    assert space is not None
    radius, angle = 0.8 * space.radius * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
    z = rng.uniform(space.z_min, space.z_max, n)
    p = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z])
    if robot.dof == 4:
        p = np.column_stack([p, rng.uniform(-2, 2, n)])
    pd, pdd = rng.normal(0, 2, p.shape), rng.normal(0, 20, p.shape)
    return dd.Motion.from_platform(robot, np.arange(n) * TICK, p, pd, pdd)


def test_the_plant_uses_nothing_of_the_library() -> None:
    folder = Path(__file__).parent
    source = (folder / "plant.c").read_text("utf-8").splitlines()
    assert {line.split()[1] for line in source if line.startswith("#include")} == {
        "<math.h>",
        "<string.h>",
    }
    taken = set()
    for path in ("plant.py", "motions.py", "causes.py", "machines.py"):
        for node in ast.walk(ast.parse((folder / path).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and "deltadyn" in node.module:
                taken |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                taken |= {alias.name for alias in node.names if "deltadyn" in alias.name}
    assert taken == {"deltadyn.Recording"}  # the container of a log


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_agrees_with_the_exact_model(name: str) -> None:
    robot = dd.load_robot(name)
    motion = _motion(robot)
    q, qd, qdd = (np.asarray(x) for x in (motion.q, motion.qd, motion.qdd))
    found = plant.inverse(bodies_of(robot), q, qd, qdd)
    drives = np.array(robot.drives.output_inertia) * qdd + robot.friction.viscous * qd
    drives += robot.friction.coulomb * np.sign(qd)
    error = _largest(found.torque + drives, dd.inverse_dynamics(robot, motion))
    assert error < (SMOOTH if robot.friction.passive else AGREEMENT)
    assert _largest(found.platform, np.asarray(motion.p)[:, :3]) < AGREEMENT
    assert np.max(found.gap) < 1e-14


@pytest.mark.parametrize("dof", [3, 4])
def test_torque_and_energy_agree_with_mujoco(dof: int) -> None:
    rng = np.random.default_rng(dof)
    for _ in range(2):
        robot = engines.random_robot(rng, dof, thin=True, equal_limbs=False)
        states = engines.random_states(robot, rng, 40)
        bodies, rotors = bodies_of(to_robot(robot, thin=True)), np.array(robot.rotor_inertia)
        engine = engines.mujoco_engine(robot)
        tau = plant.inverse(bodies, *states).torque + rotors * states.qdd
        assert _largest(tau, engines.inverse_dynamics(engine, *states)) < 1e-11
        kinetic, potential = plant.energy(bodies, states.q, states.qd)
        expected = engines.energy(engine, states.q, states.qd)
        assert _largest(kinetic + states.qd**2 @ rotors / 2, expected.kinetic) < 1e-11
        assert _largest(np.diff(potential), np.diff(expected.potential)) < 1e-11


@pytest.mark.parametrize("name", [THREE, FOUR])
def test_a_free_machine_keeps_its_energy(name: str) -> None:
    bodies = bodies_of(dd.load_robot(name))
    bodies.slide_viscous = bodies.slide_coulomb = 0.0
    start = plant.arm_angles(bodies, np.array([[0.05, -0.03, -0.6]]))[0]
    dof = plant.dof_of(bodies)
    q0, qd0 = np.append(start, [0.3] * (dof - 3)), np.array([0.5, -1.0, 0.3, 8.0])[:dof]
    drift = []
    for step in (2e-4, 1e-4):
        q, qd = plant.swing(bodies, round(0.2 / step), step, q0, qd0)
        kinetic, potential = plant.energy(bodies, q, qd)
        assert np.ptp(kinetic) > 0.3  # it does move
        drift.append(float(np.ptp(kinetic + potential)))
    assert drift[1] < 1e-9
    assert drift[1] < drift[0] / 8 or drift[1] < 1e-12  # Runge-Kutta: by 16, down to rounding


def test_true_parameters_give_the_torque_through_the_regressor() -> None:
    for name in (THREE, FOUR):
        robot = dd.load_robot(name)
        machine = make_machine(robot, "payload", seed=2)
        motion = _motion(robot)
        q, qd, qdd = (np.asarray(x) for x in (motion.q, motion.qd, motion.qdd))
        tau = plant.inverse(machine.bodies, q, qd, qdd).torque
        for i, drive in enumerate(machine.drives):
            tau[:, i] += drive.rotor * qdd[:, i] + drive.viscous * qd[:, i]
            tau[:, i] += drive.coulomb * np.sign(qd[:, i])
        columns = dd.regressor(robot, motion)
        assert set(columns.names) == set(machine.truth)
        x = np.array([machine.truth[key] for key in columns.names])
        assert _largest(columns.Y @ x, tau) < SMOOTH


def _machine(cause: str, seed: int = 0, robot: str = THREE) -> Machine:
    return make_machine(dd.load_robot(robot), cause, seed=seed)


@pytest.mark.full
@pytest.mark.parametrize("robot", [THREE, FOUR])
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_gives_a_finite_log_that_its_seed_repeats(robot: str, cause: str) -> None:
    machine, twin = _machine(cause, 3, robot), _machine(cause, 3, robot)
    (run,), (again,) = (m.runs(1, 0.5) for m in (machine, twin))
    log = run.recording
    assert log.q.shape == log.tau.shape == (500, machine.dof)
    assert np.all(np.isfinite(log.q))
    assert np.all(np.isfinite(log.tau))
    np.testing.assert_array_equal(log.q, again.recording.q)
    np.testing.assert_array_equal(log.tau, again.recording.tau)
    assert not np.array_equal(log.tau, _machine(cause, 4, robot).record(1, 0.5)[0].tau)
    assert np.max(np.abs(run.truth.q - run.reference)) < 0.03
    assert set(machine.truth) >= {"M_P", "m_x", "A", "G"}


def _balance(machine: Machine, run: Run) -> Array:
    """Motor torque less what rotor, gear and viscous friction take: dry friction (N, dof)."""
    truth = run.truth
    rest = truth.motor - plant.inverse(machine.bodies, truth.q, truth.qd, truth.qdd).torque
    for i, drive in enumerate(machine.drives):
        rest[:, i] -= drive.rotor * truth.qdd[:, i] + drive.viscous * truth.qd[:, i]
    return rest


def test_an_axis_sticks_or_slides() -> None:
    machine = _machine("none")
    run = machine.run_picks()
    dry, stuck = _balance(machine, run), run.truth.stuck > 0
    level = np.array([drive.coulomb for drive in machine.drives])
    slides = ~stuck & (np.abs(run.truth.qd) > 0)
    assert 0.05 < stuck.mean() < 0.5
    assert np.all(run.truth.qd[stuck] == 0)
    assert np.all(np.abs(dry)[stuck] <= np.broadcast_to(level, dry.shape)[stuck])
    np.testing.assert_allclose(dry[slides], (level * np.sign(run.truth.qd))[slides], atol=1e-9)
    both = stuck[1:] & stuck[:-1]
    assert np.mean(np.diff(run.truth.q, axis=0)[both] == 0) > 0.9


def test_the_loss_follows_the_torque_through_the_gear() -> None:
    machine = _machine("load")
    (run,) = machine.runs(1, 1.0)
    dry, truth = _balance(machine, run), run.truth
    level = np.array([drive.coulomb for drive in machine.drives])
    share = np.array([drive.loss_load for drive in machine.drives])
    moving = np.abs(truth.qd) > 0
    expected = (level + share * np.abs(truth.gear)) * np.sign(truth.qd)
    np.testing.assert_allclose(dry[moving], expected[moving], atol=1e-9)


def test_an_elastic_gear_winds_up_by_its_torque() -> None:
    machine = _machine("elastic")
    (run,) = machine.runs(1, 1.0)
    truth, k = run.truth, 1 / machine.numbers["compliance"]
    wind = truth.rotor - truth.q
    damped = np.array([drive.damping for drive in machine.drives])
    rate = np.gradient(wind, TICK, axis=0)
    # the rate is a central difference over 2 ms of a motion that rings at some 90 Hz
    assert _largest(k * wind + damped * rate, truth.gear) < 0.03
    assert (
        _largest(plant.inverse(machine.bodies, truth.q, truth.qd, truth.qdd).torque, truth.gear)
        < 1e-9
    )


def test_a_delay_shifts_the_angle_or_the_torque() -> None:
    signs = set()
    for seed in range(6):
        machine = _machine("delay", seed)
        (run,) = machine.runs(1, 0.5)
        delay, n = machine.numbers["delay"], len(run.reference)
        assert abs(delay) == TICK  # of strength 1: whole rows
        signs.add(delay > 0)
        rows = 1 if delay < 0 else 0
        # half a step of the encoder, and five deviations of its noise
        late = run.truth.rotor[: n - rows]
        assert np.max(np.abs(run.recording.q[rows:] - late)) < 3e-6 + 1e-5
        window = (run.truth.current + run.truth.target) / 2
        best = np.argmin([_gap(run.truth.reported, window, k) for k in range(4)])
        assert best == (1 if delay > 0 else 0)
    assert signs == {True, False}


def _gap(reported: Array, torque: Array, rows: int) -> float:
    return float(np.mean(np.abs(reported[10:] - torque[10 - rows : len(torque) - rows])))


def test_other_sensors_show_what_they_should() -> None:
    ecc = _machine("ecc")
    (run,) = ecc.runs(1, 1.0)
    off = run.truth.read - run.truth.rotor
    for i, size in enumerate(ecc.numbers["eccentricity"]):
        order = ecc.numbers["encoder_order"] * run.truth.rotor[:, i]
        waves = np.column_stack([np.cos(order), np.sin(order)])
        amplitude = np.hypot(*np.linalg.lstsq(waves, off[:, i], rcond=None)[0])
        assert amplitude == pytest.approx(size, rel=0.02)
    ratio = _machine("kt")
    (run,) = ratio.runs(1, 0.5)
    found = run.truth.motor / run.truth.current
    np.testing.assert_allclose(found, np.broadcast_to(ratio.numbers["torque_ratio"], found.shape))
    assert np.mean(ratio.numbers["torque_ratio"]) == pytest.approx(1.0, abs=1e-12)


def test_oil_warms_up_about_the_true_viscous_friction() -> None:
    machine = _machine("drift")
    runs = machine.runs(4, 0.5, temperature=True)
    factor = []
    for run in runs:
        visc = np.array([drive.viscous for drive in machine.drives])
        extra = _balance(machine, run) - np.array([d.coulomb for d in machine.drives]) * np.sign(
            run.truth.qd
        )
        fast = np.abs(run.truth.qd) > 0.5
        factor.append(np.mean(1 + extra[fast] / (visc * run.truth.qd)[fast]))
        assert run.recording.temperature is not None
    assert np.all(np.diff(factor) < 0)
    assert np.mean(factor) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("cause", ["friction", "lugre", "hysteresis", "belt", "all"])
def test_finer_steps_give_the_same_motion(cause: str) -> None:
    machine = _machine(cause, 1)
    path = np.arange(600)[:, None] * TICK * np.array([2.0, 3.0, 5.0])
    reference = plant.arm_angles(machine.nominal, np.array([[0.0, 0.0, -0.75]])) + 0.2 * (
        np.sin(2 * path) * np.minimum(path / 0.5, 1.0)
    )
    rate, drives = np.gradient(reference, TICK, axis=0), [plant.copied(d) for d in machine.drives]
    for drive in drives:
        drive.step = 0.0  # a rounded angle would turn small differences into steps
    zero = np.zeros_like(reference)
    loops = [
        plant.run(machine.bodies, drives, reference, rate, zero, zero, tick=TICK, substeps=n)
        for n in (16, 64)
    ]
    assert np.max(np.abs(loops[0].q - loops[1].q)) < 1e-6
    assert np.max(np.abs(loops[0].q - reference)) > 1e-4


def _base_rows(robot: dd.Robot, log: dd.Recording) -> tuple[Array, Array]:
    """Rows of the base model and torque below 40 Hz, slow ones left out, axis by axis."""
    states, band = (butter(4, f, fs=1 / TICK, output="sos") for f in (100.0, 40.0))
    q = sosfiltfilt(states, log.q, axis=0)
    qd = np.gradient(q, TICK, axis=0)
    qdd = np.zeros_like(q)
    qdd[1:-1] = (q[2:] - 2 * q[1:-1] + q[:-2]) / TICK**2
    Y = dd.regressor(robot, dd.Motion.from_joints(robot, log.t, q, qd, qdd)).Y
    moving = minimum_filter1d(np.abs(qd), 31, axis=0) > 0.1
    part = slice(60, -60, 8)
    Y, tau = (sosfiltfilt(band, rows, axis=0)[part][moving[part]] for rows in (Y, log.tau))
    return Y, tau


def _base_fit(machine: Machine, **options: Any) -> tuple[Array, float]:
    """Least squares of the base model: its parameters, and what is left of the RMS torque."""
    parts = [_base_rows(machine.robot, log) for log in machine.record(2, 4.0, **options)]
    Y, tau = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    size = np.linalg.norm(Y, axis=0)
    x = np.linalg.lstsq(Y / size, tau, rcond=None)[0] / size
    return x, float(np.sqrt(np.mean((tau - Y @ x) ** 2) / np.mean(tau**2)))


def test_a_machine_without_a_cause_shows_its_true_parameters() -> None:
    machine = _machine("none", 5)
    x, left = _base_fit(machine)
    expected = np.array(list(machine.truth.values()))
    assert list(machine.truth)[:5] == ["M_P", "m_x", "A", "G", "Fv1"]
    np.testing.assert_allclose(x, expected, rtol=0.02)  # 5 deviations of m_x, the weakest
    assert left < 0.004


#: What the base model leaves of the RMS torque at strength 1, in percent.
LEFT = {
    **{"friction": 1.8, "ripple": 2.5, "load": 2.8, "drift": 0.83, "ecc": 1.9, "arms": 2.1},
    **{"kt": 1.4, "delay": 1.65, "offset": 1.6, "all": 6.7},
}


@pytest.mark.full
@pytest.mark.parametrize("cause", LEFT)
def test_a_usual_machine_leaves_a_usual_residual(cause: str) -> None:
    _, left = _base_fit(_machine(cause, 1))
    assert LEFT[cause] / 1.6 < 100 * left < 1.6 * LEFT[cause]


def test_causes_join_and_unknown_ones_are_named() -> None:
    machine = _machine("elastic+ripple+load", 2)
    assert {"elastic", "load"} < machine.causes
    assert sum(name.startswith("ripple") for name in machine.causes) == 2
    with pytest.raises(ValueError, match="cause is 'rust'; allowed: none, friction"):
        _machine("load+rust")
    drawn = [make_machine(dd.load_robot(THREE), "load", None, seed).strength for seed in range(5)]
    assert 0.5 <= min(drawn) < max(drawn) <= 1.5


@pytest.mark.parametrize("options", [{"kind": "via"}, {"start": "rest"}, {"integral": False}])
def test_logs_under_other_conditions(options: dict[str, Any]) -> None:
    run = _machine("friction", 6).runs(1, 1.0, feedforward=options == {"kind": "via"}, **options)[0]
    assert np.max(np.abs(run.truth.q - run.reference)) < 0.2
    still = np.all(run.reference[:100] == run.reference[0])
    assert still == ("start" in options)


def test_limbs_that_differ_are_given_one_by_one() -> None:
    machine = _machine("arms", 7)
    for name in ("m_x", "A", "G"):
        assert np.ptp(machine.limbs[name]) > 0
        assert machine.truth[name] == pytest.approx(np.mean(machine.limbs[name]))
    truth, _ = true_parameters(machine.bodies, list(machine.drives))
    assert truth == machine.truth


@pytest.mark.parametrize("name", [THREE, FOUR])
def test_what_touches_the_machine_acts_on_it(name: str) -> None:
    """Torque through the gears = inverse dynamics - J^T F - pull, with the mass that is carried."""
    robot = dd.load_robot(name)
    machine = make_machine(robot, "none", 1.0, seed=4)
    n, rng = 600, np.random.default_rng(5)
    force, pull = rng.normal(0, 20, (n, 3)), rng.normal(0, 2, (n, machine.dof))
    run = machine.run_touched(0.6, Touch(force=force, pull=pull, carried=np.full(n, 1.5)))
    loaded = plant.copied(machine.bodies)
    loaded.payload_mass += 1.5
    q, qd, qdd = run.truth.q, run.truth.qd, run.truth.qdd
    step = 1e-6
    columns = [
        (
            plant.inverse(loaded, q + step * e, qd, qdd).platform
            - plant.inverse(loaded, q - step * e, qd, qdd).platform
        )
        / (2 * step)
        for e in np.eye(machine.dof)
    ]
    J = np.stack(columns, axis=2)  # (n, 3, dof)
    wanted = plant.inverse(loaded, q, qd, qdd).torque - np.einsum("nij,ni->nj", J, force) - pull
    np.testing.assert_allclose(run.truth.gear, wanted, atol=1e-6 * np.abs(wanted).max())


def test_a_wall_pushes_back_as_a_spring() -> None:
    machine = make_machine(dd.load_robot(THREE), "none", 1.0, seed=4)
    middle = machine.room.middle
    at = tuple((middle - [0, 0, 0.002]).tolist())

    def path(t: Array) -> Array:
        return middle - np.outer(np.clip(t, 0, 1) * 0.05, [0, 0, 1.0])

    wall = Touch(wall_at=at, wall_normal=(0.0, 0.0, 1.0), wall_stiffness=2e4)
    run = machine.run_touched(0.5, wall, path=path)
    free = machine.run_touched(0.5, Touch(), path=path)
    assert free.truth.platform[-1, 2] < at[2] - 0.015
    assert run.truth.platform[-1, 2] > free.truth.platform[-1, 2] + 0.003
    same = run.truth.platform[:, 2] > at[2] + 1e-4  # before it is met
    np.testing.assert_allclose(run.truth.gear[same], free.truth.gear[same])
