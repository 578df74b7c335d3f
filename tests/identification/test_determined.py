"""What a fit says of every field of the robot file, against machines that no log tells apart."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.determined import machines_alike, random_machine, random_motion
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.errors import UnknownNameError
from deltadyn.identification.determined import base_map
from deltadyn.identification.fit import Fit
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.terms.idle import unseen_gains
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform
from deltadyn.robot.file import robot_text

SIPRO = dd.load_robot("sipro-d3-1200")
KINDS = (
    ("sipro-d3-1200", "exact"),
    ("example-delta-4", "exact"),
    ("kossel-2016", "exact"),
    ("klipper-deltesian", "exact"),
    ("quattro-s650-like", "exact"),
    ("veloce-like", "exact"),
    ("codian-d2-like", "rigid"),
    ("kossel-2016", "rigid"),
)


@pytest.fixture(scope="module")
def lab() -> Fit:
    """The fit of a laboratory machine whose rotors the robot file leaves out."""
    run = dd.simulate(
        SIPRO, dd.motion.y2(SIPRO), controller=dd.PDFeedforward(SIPRO), preset="lab", seed=1
    )
    return dd.identify(SIPRO, run.recording)


def with_friction(robot: Robot) -> Robot:
    return robot.with_friction(viscous=(0.5,) * robot.dof, coulomb=(1.0,) * robot.dof)


@pytest.mark.parametrize(("name", "model"), KINDS)
def test_no_field_that_null_directions_change_is_identified(name: str, model: str) -> None:
    rng = np.random.default_rng(3)
    robot = dd.load_robot(name)
    one, other = machines_alike(random_machine(robot, rng), model, rng)
    motion = random_motion(robot, rng, 0.2)
    tau = dd.inverse_dynamics(one, motion, model)
    apart = np.abs(tau - dd.inverse_dynamics(other, motion, model)).max()
    assert apart <= 1e-11 * np.abs(tau).max()  # the two machines are one to any log
    found = base_map(one, parametrise(one, model))
    changed = {}
    for field, alone in zip(found.fields, found.identified, strict=True):
        a, b = field.value(one), field.value(other)
        assert a is not None
        assert b is not None
        changed[field.path] = abs(a - b) > 1e-6 * max(abs(a), abs(b)) + 1e-12
        assert not (alone and changed[field.path]), field.path
    assert sum(changed.values()) >= 3
    assert changed["strut.mass" if "strut.mass" in changed else "strut.ten.mass"]


def test_rotors_on_upright_rails_are_identified_and_those_of_arms_are_not() -> None:
    """On rails A - G + m_x is the rotor: gravity weighs the carriage, and not the rotor."""
    for name, alone in (("kossel-2016", True), ("sipro-d3-1200", False)):
        robot = dd.load_robot(name)
        found = base_map(robot, parametrise(robot, "exact"))
        paths = [field.path for field in found.fields]
        j = paths.index("drives.rotor_inertia")
        assert bool(found.identified[j]) is alone
        if alone:
            w = dict(zip(found.names, found.weights(j), strict=True))
            shares = np.array([w["A"], w["G"], w["m_x"], w["M_P"]]) / w["A"]
            assert shares == pytest.approx([1, -1, 1, 0], abs=1e-6)


def test_the_laboratory_machine_is_not_said_to_have_an_arm_of_two_kg(lab: Fit) -> None:
    arm = lab.determined["arm.mass"]
    assert arm.status == "combination"
    assert {"A", "G"} <= set(arm.base)
    assert arm.interval is None
    assert "drives.rotor_inertia" in arm.others
    assert lab.determined["friction.viscous[0]"].status == "identified"
    assert lab.determined["arm.com_offset"].status == "kept"
    # measured bodies stay; the rotor that the file left out takes what A has more
    assert lab.robot.rotary_arms[0].mass == pytest.approx(1.4, rel=0.01)
    assert lab.robot.rotary_arms[0].inertia == pytest.approx(0.035, rel=0.02)
    assert lab.robot.platform.mass == pytest.approx(0.94, rel=0.02)
    assert lab.robot.drives.output_inertia[0] == pytest.approx(0.389, rel=0.01)


def test_what_is_far_from_the_file_is_named_first(lab: Fit) -> None:
    (text,) = lab.far_from_file
    assert text.startswith("A is 6.2 times the robot file's: the file has no rotor inertia; 0.38")
    assert text.endswith("kg m^2 at the output would explain it.")
    assert str(lab).splitlines()[1] == text
    assert "arm: " not in str(lab)  # no table of bodies that were not identified


def test_a_fit_is_one_screen_and_its_details_are_whole(lab: Fit) -> None:
    assert len(str(lab).splitlines()) <= 40
    assert len(lab.details().splitlines()) > 40
    for path in lab.determined:
        assert f"  {path}: " in lab.details()
    assert "fit.details()" in str(lab)


def test_a_term_of_which_nothing_shows_is_not_carried(lab: Fit) -> None:
    assert lab.terms is not None
    assert "geometry" not in lab.terms.titles
    assert "ripple64" in lab.terms.titles
    assert not lab.log_names
    (idle,) = lab.terms.idle
    assert idle[0] == "geometry"
    assert "small errors of the geometry" in lab.terms.text
    # sets with it remain in the intervals: that of G is wider than its own model says
    low, high = lab.interval()[lab.names.index("G")]
    assert high - low > 4 * lab.std[lab.names.index("G")]


@pytest.mark.parametrize(
    ("with_term", "gain"),
    [
        ((0.7, 0.92, 0.96, 0.66), 0.19),  # Stribeck, where two folds hardly move slowly
        ((0.5, 0.99, 1.0, 1.01), 0.005),  # one fold alone: its noise
        ((0.8, 0.95, 0.97), 0.05),
    ],
)
def test_the_gain_of_a_term_is_that_of_most_unseen_motion(
    with_term: tuple[float, ...], gain: float
) -> None:
    def residuals(candidates: frozenset[int]) -> np.ndarray:
        return np.array(with_term if 7 in candidates else np.ones(len(with_term)))[:, None]

    unseen = SimpleNamespace(residuals=residuals, fold=np.arange(len(with_term)))
    best = SimpleNamespace(candidates=frozenset({7}))
    choice: Any = SimpleNamespace(unseen=unseen, best=best, level=np.ones(1))
    assert unseen_gains(choice)[7] == pytest.approx(gain)


def test_a_term_that_was_asked_for_stays() -> None:
    fit = dd.identify(SIPRO, recording_of(with_friction(SIPRO), 0.05), terms=("offset",))
    assert fit.terms is not None
    assert fit.terms.titles == ("offset",)


def test_json_and_robot_file_say_the_same(lab: Fit, tmp_path: object) -> None:
    robot_file, record = lab.save(f"{tmp_path}/mine")
    text = robot_file.read_text()
    assert text.startswith("# Identified by deltadyn")
    assert "#   A = 0.46" in text
    back = dd.load_robot(robot_file)
    assert back == lab.robot
    source = back.sources["arm.mass"]
    assert source.text.startswith("identified only in a combination (convex): A, G")
    assert "falezza2022, table 1, m_1" in source.text
    assert not source.assumed  # it was weighed
    assert back.sources["drives.rotor_inertia"].assumed
    friction = back.sources["friction.viscous"]
    assert friction.text.startswith("identified (convex), 95 %: 0.70")
    assert not friction.assumed
    found = json.loads(record.read_text())
    fields = {item["field"]: item for item in found["determined"]}
    assert fields["arm.mass"]["status"] == "combination"
    assert fields["friction.coulomb[1]"]["interval_95"] == pytest.approx(
        lab.determined["friction.coulomb[1]"].interval
    )
    assert found["far_from_file"] == list(lab.far_from_file)


def test_a_field_that_bounds_fix_makes_others_identified() -> None:
    """With struts that were weighed, M_P is the platform."""
    assert isinstance(SIPRO.platform, Platform)
    truth = with_friction(SIPRO).replace(platform=replace(SIPRO.platform, mass=1.1))
    strut = SIPRO.struts[0].body(0.9)
    values = {
        "strut.m": strut.mass,
        "strut.mcx": strut.first_moment[0],
        "strut.Iyy": strut.inertia[1],
    }
    bounds = {name: (value, value) for name, value in values.items()}
    log = recording_of(truth, noise=0.2)
    fit = dd.identify(SIPRO, log, terms="file", bounds=bounds)
    platform = fit.determined["platform.mass"]
    assert platform.status == "combination"  # an effector may ride on it
    assert fit.determined["effector.mass"].status == "combination"
    assert fit.determined["strut.mass"].status == "kept"
    free = dd.identify(SIPRO, log, terms="file")
    assert free.determined["strut.mass"].status == "combination"


def test_what_a_fit_held_is_kept_from_the_file() -> None:
    """A friction term that no motion shows stays, and says so."""
    given = with_friction(SIPRO).with_friction(stribeck=0.3, stribeck_velocity=1e-4)
    fit = dd.identify(given, recording_of(given, noise=0.1), terms="file", unidentifiable="hold")
    assert "Fs1" in fit.held
    assert fit.determined["friction.stribeck[0]"].status == "kept"
    assert fit.determined["friction.stribeck[0]"].value == pytest.approx(0.3)
    assert fit.determined["friction.coulomb[0]"].status == "identified"


def test_an_unknown_field_is_refused_by_name(lab: Fit) -> None:
    with pytest.raises(UnknownNameError, match=r"arm\.mass"):
        lab.determined["arm.weight"]
    assert "arm.weight" not in lab.determined
    assert len(lab.determined) == len(list(lab.determined))


def test_what_was_assumed_moves_before_what_was_measured() -> None:
    """M_P and A grow: the assumed numbers take it, and those with a source stay."""
    from deltadyn.robot.settings import Source

    measured = {"platform.mass": Source("weighed"), "arm.mass": Source("weighed")}
    measured |= {"arm.com": Source("CAD"), "arm.inertia": Source("CAD")}
    given = SIPRO.replace(sources=measured)
    truth = with_friction(SIPRO).with_rotor_inertia(0.2)
    fit = dd.identify(given, recording_of(truth, noise=0.05), terms="file")
    assert fit.robot.rotary_arms[0].mass == pytest.approx(1.4, rel=2e-3)
    assert fit.robot.rotary_arms[0].inertia == pytest.approx(0.035, rel=2e-2)
    assert fit.robot.drives.output_inertia[0] == pytest.approx(0.2, rel=0.02)


def test_unequal_limbs_and_many_parameters_fit_on_one_screen() -> None:
    robot = dd.load_robot("quattro-s650-like")
    motion = random_motion(robot, np.random.default_rng(1), 3.0)
    truth = with_friction(robot)
    log = dd.Recording(
        motion.t, motion.q, dd.inverse_dynamics(truth, motion), qd=motion.qd, qdd=motion.qdd
    )
    fit = dd.identify(robot, log, tied=False, terms="file", unidentifiable="hold")
    assert len(fit.names) > 20
    assert len(str(fit).splitlines()) <= 40
    assert fit.determined["arm[2].mass"].status == "combination"
    assert robot_text(fit.robot)
