"""The whole way of a robot of each kind: excite, simulate on MuJoCo, identify, validate."""

from __future__ import annotations

import ctypes
import pathlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.exports.c_build import STRICT, library_of, need, sources_of
from tests.exports.c_build import run as run_command
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.dynamics.base import base_parameters
from deltadyn.dynamics.coupling import coupling_map, coupling_summary
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import FileError, InputError
from deltadyn.identification.advice import MotionLevels, advise
from deltadyn.identification.bodies.consistency import consistency
from deltadyn.identification.fit import Fit
from deltadyn.identification.identifiability import identifiability
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.production import short_moves
from deltadyn.inspection.log import check_log
from deltadyn.motion.limits import check_motion
from deltadyn.motion.motion import read_motion
from deltadyn.motion.pick_place import pick_and_place
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.simulation.run import Run
from deltadyn.validation import predicted_tracking, torque_spread

PATHS = (
    *("inclined", "vertical", "rails", "level"),
    *("planar", "planar_rails", "par4", "par4_rails", "heli4"),
)
SCALE = 1.04  # of a carriage or an arm beside its file


class Path(NamedTuple):
    """What the way gives, once per kind."""

    robot: Robot
    run: Run
    fit: Fit


@pytest.fixture(scope="module", params=PATHS)
def path(request: pytest.FixtureRequest) -> Path:
    """A machine whose first limb is heavier than its file says, run on MuJoCo and identified."""
    robot = make(request.param)
    run = dd.simulate(
        robot,
        waves(robot, 4.0 if robot.legs < 4 else 3.0, share=0.8),
        plant="mujoco",
        rate=1000.0,
        current_noise=0.003,
        arm_scale=(SCALE, *(1.0,) * (robot.legs - 1)),
    )
    return Path(robot, run, dd.identify(robot, run.recording, tied=False, terms="file"))


@pytest.mark.full
def test_parameters_are_within_their_deviation(path: Path) -> None:
    """The machine's own base parameters; 4.5 deviations of 16 parameters, or 1 % of the value."""
    fit, truth = path.fit, path.run.truth.robot
    par = parametrise(truth, "exact", tied=False)
    true = dict(zip(par.names, par.prior, strict=True))
    assert set(fit.names) == set(true)
    for name, value, std in zip(fit.names, fit.values, fit.std, strict=True):
        assert abs(value - true[name]) < max(4.5 * std, 0.01 * abs(true[name])), name


def test_the_heavier_limb_shows(path: Path) -> None:
    """What the file has wrong is found: A1 stands off the file by many deviations."""
    fit = path.fit
    k = fit.names.index("A1")
    before = fit.parametrisation.prior[k]
    assert fit.values[k] - before > 3 * fit.std[k]
    assert consistency(fit.robot).consistent
    kind = "carriage" if path.robot.linear else "arm"
    assert any(body.name.startswith(kind) for body in consistency(fit.robot).bodies)


def test_the_fitted_robot_predicts_another_motion(path: Path) -> None:
    """The fit, and the robot that a file can hold, on a motion it has not seen."""
    robot = path.run.truth.robot
    t = waves(robot, 1.0, share=0.5)
    true = inverse_dynamics(robot, t)
    for model in (path.fit.robot, path.robot):
        left = np.sqrt(np.mean((inverse_dynamics(model, t) - true) ** 2, axis=0))
        share = (left / np.sqrt(np.mean(true**2, axis=0))).max()
        assert share < 0.004 if model is path.fit.robot else share > 0.004


@pytest.mark.full
def test_validate_says_units_and_finds_nothing_wrong(path: Path) -> None:
    """A second run of the same machine, with the words of its units."""
    robot = path.robot
    scale = (SCALE, *(1.0,) * (robot.legs - 1))
    settings: dict[str, Any] = {"rate": 1000.0, "arm_scale": scale, "seed": 4}
    run = dd.simulate(robot, waves(robot, 0.7, share=0.5), plant="mujoco", **settings)
    found = dd.validate(path.fit, run.recording)
    assert np.all(found.r_squared > 0.999)
    unit = "N" if robot.linear else "N m"
    assert f"RMS by segment, {unit} " in found.text
    assert f" {unit}\n" in path.fit.text or f" {unit}," in path.fit.text


@pytest.mark.full
def test_the_exported_code_gives_the_torque_of_the_fit(path: Path) -> None:
    """Export C, compile, and ask for the torque of another motion."""
    robot = path.fit.robot
    folder = sources_of(robot)
    source = library_of(folder)
    run_command(
        [need("gcc"), *STRICT, "-O2", "-shared", "-fPIC", source.name, "-o", "own.so", "-lm"],
        folder,
    )
    feedforward = ctypes.CDLL(str(folder / "own.so"))[
        f"{source.stem.removesuffix('_delta')}_feedforward"
    ]
    motion = waves(robot, 0.05, 100.0, 0.5)
    numbers = ctypes.c_double * robot.dof
    found = []
    for p, pd, pdd in zip(motion.p, motion.pd, motion.pdd, strict=True):
        tau = numbers()
        payload = ctypes.c_double(robot.payload.mass)
        assert feedforward(numbers(*p), numbers(*pd), numbers(*pdd), payload, tau) == 0
        found.append(list(tau))
    wanted = inverse_dynamics(robot, motion)
    assert np.abs(np.array(found) - wanted).max() < 1e-11 * np.abs(wanted).max()


def test_drawn_machines_have_the_deviation_of_the_fit(path: Path) -> None:
    """Torques of 400 machines: 3.5 % a deviation, four of them; and a tracking error to expect."""
    fit, motion = path.fit, waves(path.robot, 0.05, share=0.4)
    found = torque_spread(fit, motion, draws=400, backend="numpy")
    Y = fit.parametrisation.columns(fit.nominal, motion)
    std = np.sqrt(np.einsum("nij,jk,nik->ni", Y, fit.covariance, Y))
    np.testing.assert_allclose(found.std, std, rtol=0.15)
    assert np.abs(found.mean - fit.torque(motion)).max() < 0.25 * std.max()
    expected = predicted_tracking(fit, motion, samples=20)
    assert np.all(expected.expected < expected.alone)


@pytest.mark.parametrize("kind", ["planar_rails", "par4"])
def test_a_log_is_inspected(kind: str) -> None:
    """What moves, in mm on rails, and what the log tells."""
    robot = make(kind)
    found = check_log(robot, made_log(robot, 2.0))
    assert [item.slides for item in found.motion] == [robot.linear] * robot.dof
    assert not [item for item in found.findings if item.severity == "error"]
    assert found.told is not None, found.untold
    assert "I_psi" in found.told.names or robot.planar


def test_weight_along_a_level_rail_is_said_to_be_unseen() -> None:
    """Gravity does not act there: G has no column, is held, and the words say why."""
    robot = make("level")
    par = parametrise(robot)
    assert "G" not in par.names
    assert par.unseen == ("G",)
    assert parametrise(make("vertical")).unseen == ()
    assert parametrise(robot, tied=False).unseen == ("G1", "G2", "G3")
    assert "G" in base_parameters(robot, "exact", True).no_influence
    run = dd.simulate(robot, waves(robot, 1.5), rate=500.0)
    fit = dd.identify(robot, run.recording, terms="file")
    assert fit.held == ("G",)
    assert any("level rail" in text for text in fit.warnings)
    assert fit.information is not None
    known = identifiability(robot, fit.information, fit.parametrisation)
    assert "Seen in no motion" in known.text


def test_rails_have_no_sine_of_gravity() -> None:
    """G_s belongs to arms."""
    with pytest.raises(InputError, match="rails"):
        parametrise(make("vertical"), com_offset=True)


@pytest.mark.parametrize("kind", [*KINDS, *OTHER_PLATFORMS])
def test_rigid_bodies_give_the_exact_torque(kind: str) -> None:
    """Thin struts: the model of bodies, carriages, halves and bars among them, is the exact one.

    Under a force, too, and the other way round. Rounding of torques near 50: 1e-12.
    """
    robot = make(kind)
    motion = waves(robot, 0.1)
    push = np.full(robot.dof, 3.0)
    exact, rigid = (
        inverse_dynamics(robot, motion, model, external_force=push) for model in ("exact", "rigid")
    )
    assert np.abs(exact - rigid).max() < 1e-12 * np.abs(exact).max()
    back = dd.forward_dynamics(robot, motion.q, motion.qd, exact, external_force=push)
    assert np.abs(back - motion.qdd).max() < 1e-10 * np.abs(motion.qdd).max()


@pytest.mark.parametrize("model", ["half-half", "gray-box", "virtual-work", "euler-lagrange"])
@pytest.mark.parametrize("kind", ["inclined", "vertical", "rails", "planar", "par4", "heli4"])
def test_lumped_models_of_papers_refuse_other_robots(kind: str, model: str) -> None:
    """They know shoulders in the base plane, and arms."""
    robot = make(kind)
    with pytest.raises(InputError, match=robot.name):
        inverse_dynamics(robot, waves(robot, 0.02), model)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["rails", "level", "inclined"])
def test_excitation_keeps_the_limits(kind: str, tmp_path: pathlib.Path) -> None:
    """A short search within the robot's limits; a level rail's G is not designed for."""
    robot = make(kind)
    found = dd.design_excitation(
        robot, duration=4.0, harmonics=2, periods=2, starts=1, seed=1, jobs=1
    )
    assert check_motion(robot, found.motion).ok
    assert any(item.name.startswith("G") for item in found.parameters) == (kind != "level")
    assert np.isfinite(found.condition_number)
    file = tmp_path / "motion.csv"
    found.save(file, length_unit="mm", derivatives=True)
    assert "q1_mm" in file.read_text() or not robot.linear
    assert np.allclose(read_motion(file, robot).q, found.motion.q, atol=1e-9)
    other = make("inclined" if robot.linear else "vertical")
    with pytest.raises(FileError, match="q1"):
        read_motion(file, other)


@pytest.mark.parametrize("kind", KINDS)
def test_limits_and_pace_in_the_units_of_the_axes(kind: str) -> None:
    """A pick, its loads and its fastest pace, in m and N on rails."""
    robot = make(kind)
    cylinder = robot.limits.workspace
    assert cylinder is not None
    z = (cylinder.z_min + cylinder.z_max) / 2
    ends = [[x * cylinder.radius, 0.0, z, 0.0][: robot.dof] for x in (-0.5, 0.5)]
    pick = pick_and_place(robot, *ends, lift=0.03, rate=500.0)
    units = {row.name: row.unit for row in check_motion(robot, pick).limits}
    wanted = ("m/s", "N") if robot.linear else ("rad/s", "N m")
    assert (units["rate"], units["torque_peak"]) == wanted
    assert wanted[1] in dd.motion_loads(robot, pick).text
    assert dd.fastest(robot, pick).duration < pick.duration


def made_log(robot: Robot, seconds: float, seed: int = 0, share: float = 0.8) -> Recording:
    """A motion of the robot itself, with white noise of 0.3 % on its torque."""
    motion = waves(robot, seconds, 500.0, share)
    tau = inverse_dynamics(robot, motion)
    noise = np.random.default_rng(seed).normal(size=tau.shape)
    tau = tau + 0.003 * np.sqrt(np.mean(tau**2, axis=0)) * noise
    return Recording(
        motion.t, motion.q, tau, robot=robot.name, linear=robot.linear, legs=robot.legs
    )


@pytest.mark.parametrize(
    ("kind", "method", "tied"),
    [
        *((kind, "convex", False) for kind in ("beam", "heli4_rails")),
        *((kind, "base", True) for kind in ("beam", "par4")),
    ],
)
def test_fits_of_other_platforms_find_their_parameters(kind: str, method: str, tied: bool) -> None:
    """Within 4.5 deviations, or 2 % where rates from angles count; the robot has what was found."""
    robot = make(kind)
    log = made_log(robot, 4.0)
    fit = dd.identify(robot, log, method, tied=tied, terms="file")
    par = parametrise(robot, tied=tied)
    assert fit.names == par.names
    assert fit.held == par.unseen
    for name, value, std, true in zip(fit.names, fit.values, fit.std, par.prior, strict=True):
        assert abs(value - true) < max(4.5 * std, 0.02 * abs(true)), name
    assert fit.consistent
    motion = waves(robot, 0.5, share=0.5)
    wanted = fit.parametrisation.torque(robot, motion, fit.values)
    assert np.abs(inverse_dynamics(fit.robot, motion) - wanted).max() < 1e-6 * np.abs(wanted).max()


def test_offsets_of_rails_are_told_in_mm() -> None:
    """A carriage that was homed 40 mm off; and a log of four limbs that stands as it is."""
    robot = make("planar_rails")
    log = made_log(robot, 2.0)
    found = dd.recording.find_conventions(robot, log.replace(q=log.q + np.array([0.04, 0.0])))
    assert "offset_mm: [" in found.block
    told = found.as_dict()
    # of two carriages either may be the one: each alone, within its deviation
    first, second = told["offset_fit_mm"]
    assert first == pytest.approx(-40.0, abs=2 * told["offset_deviation_mm"][0])
    assert second == pytest.approx(40.0, abs=2 * told["offset_deviation_mm"][1])
    assert not any(name.endswith("_deg") for name in told)
    four = make("par4_rails")
    as_it_is = dd.recording.find_conventions(four, made_log(four, 2.0))
    assert as_it_is.as_logged
    assert as_it_is.residual_before is not None
    assert as_it_is.residual_before < 0.02  # friction near rest is left out


@pytest.mark.parametrize("method", ["rls", "svd", "gray-box"])
@pytest.mark.parametrize("kind", ["planar", "par4"])
def test_methods_of_papers_refuse_other_robots(kind: str, method: str) -> None:
    """Their models have three arms; those of bodies and of the exact model go on."""
    robot = make(kind)
    with pytest.raises(InputError, match="of a paper on three arms"):
        dd.identify(robot, made_log(robot, 0.5), method)


def test_a_fleet_of_planar_robots() -> None:
    """Three logs of one robot: nothing stands out, and the units are those of rails."""
    robot = make("planar_rails")
    logs = {name: [made_log(robot, 1.5, seed)] for seed, name in enumerate("abc")}
    found = dd.fleet.fleet(robot, logs, terms="file")
    assert not found.outliers
    units = {item.name: item.unit for item in found.spreads}
    assert (units["A"], units["Fv2"]) == ("kg", "N s/m")


def test_advice_counts_as_the_axes_do() -> None:
    """On rails in mm and m/s^2; what the limbs of a Par4 turn asks for a turn of the tool."""
    still = MotionLevels(np.full(2, 1.0), np.full(2, 0.5), (False,) * 2, np.full(2, 0.001))
    (text,) = advise(["G1", "M_P"], still.of(make("planar_rails")))
    assert text.startswith("the carriages stay within 1 mm (RMS) of one pose: G1, M_P")
    (text,) = advise(["A2"], still.of(make("planar_rails")))
    assert "the carriages accelerate by 0.5 m/s^2 (RMS) only" in text
    four = MotionLevels(np.full(4, 1.0), np.full(4, 20.0), (False,) * 4, np.full(4, 0.3))
    (text,) = advise(["S", "I_psi"], four.of(make("par4")))
    assert "turn the tool faster" in text
    (text,) = advise(["Fv4"], four.of(make("par4")))
    assert text.startswith("axis 4 moves at 1 rad/s")


def test_coupling_of_other_platforms() -> None:
    """Pairs of two and of four axes, inertias of carriages in kg."""
    plane = coupling_summary(make("planar_rails"), samples=3)
    assert plane.pairs == ((1, 2),)
    assert "felt inertia 2, kg " in str(plane)
    assert coupling_summary(make("par4"), samples=3).coupling.shape == (3, 6)
    with pytest.raises(InputError, match="moves in space"):
        coupling_map(make("planar"))


@pytest.mark.parametrize("kind", ["planar", "par4_rails"])
def test_short_moves_of_other_platforms(kind: str) -> None:
    """Moves for what production logs lack: within the limits, in the plane or with the tool."""
    moves = list(short_moves(make(kind), 0.6, 250.0))
    words = " ".join(move.words for move in moves)
    assert ("turn the tool" in words) == (kind == "par4_rails")
    assert ("along y" in words) == (kind == "par4_rails")
    assert len(moves) >= 10
