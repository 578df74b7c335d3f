"""The design as a user meets it: better than random, within all limits, the same for a seed."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.excitation.cases import ABB, D3, with_limits
from tests.markup import EVIL, dangers

import deltadyn as dd
from deltadyn.excitation import Excitation, UnidentifiableError, design_excitation
from deltadyn.identification.meanings import meaning
from deltadyn.motion.limits import check_motion
from deltadyn.motion.motion import read_motion
from deltadyn.report.sizing import limit_words
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

PATIENT = 600.0  # s: a result that is compared must not be cut short on a busy machine
SMALL: dict[str, Any] = {
    "duration": 4.0,
    "harmonics": 3,
    "starts": 1,
    "jobs": 2,
    "time_limit": PATIENT,
}
#: One search: a second worker would have nothing to do.
ROUGH: dict[str, Any] = {"periods": 3, "starts": 1, "jobs": 1, "time_limit": PATIENT}
SIGNED = ABB.replace(controller=Controller(sign=(1, -1, 1, -1), offset=(0.1, 0.2, -0.3, 1.5)))


@pytest.fixture(scope="module")
def small() -> Excitation:
    return design_excitation(D3, **SMALL)


@pytest.fixture(scope="module")
def spindle() -> Excitation:
    return design_excitation(SIGNED, periods=4, **SMALL)


@pytest.fixture(scope="module", params=["small", "spindle"])
def design(request: pytest.FixtureRequest) -> Excitation:
    found: Excitation = request.getfixturevalue(request.param)
    return found


def geometric_mean(values: Any) -> float:
    return float(np.exp(np.log(list(values)).mean()))


@pytest.mark.full
def test_it_beats_random_motions(design: Excitation) -> None:
    target = 1.6 if design.robot.dof == 3 else 5.0  # with 5 harmonics 2.0: see below
    assert design.before.condition_number > target * design.condition_number
    before = geometric_mean(item.before for item in design.parameters)
    after = geometric_mean(item.std for item in design.parameters)
    assert before > 1.8 * after
    assert all(item.std < 1.6 * item.before for item in design.parameters)


def test_every_limit_is_kept_and_some_bind(design: Excitation) -> None:
    report = check_motion(design.robot, design.motion, share=0.9)
    assert report.ok
    assert {limit.name for limit in report.limits if limit.allowed is not None} >= {
        *("reach", "workspace_radius", "workspace_z_min", "angle_max", "rate", "acceleration"),
        *("torque_peak", "torque_rms", "platform_speed", "platform_acceleration"),
        *("singularity_margin", "ball_joint_angle", "strut_force"),
    }
    assert design.binding
    assert all(0.98 <= (limit.use or 0.0) <= 1 for limit in design.binding)
    assert design.skipped == ()
    finer = check_motion(design.robot, design.sampled(4000.0), share=0.9 * 1.002)
    assert finer.ok  # peaks between the samples


def test_whole_periods_from_rest_to_rest(design: Excitation) -> None:
    motion, series = design.motion, design.series
    assert design.periods / design.base_frequency == pytest.approx(4.0)
    assert series.harmonics * design.base_frequency <= 10.0
    assert design.duration == pytest.approx(4.0)
    assert motion.duration == pytest.approx(4.0 + 2 * design.ramp, abs=2e-3)
    for end in (0, -1):
        np.testing.assert_allclose(motion.p[end], series.offset, atol=1e-12)
        np.testing.assert_allclose(motion.qd[end], 0.0, atol=1e-9)
        np.testing.assert_allclose(motion.qdd[end], 0.0, atol=1e-6)
    rows = design.steady
    assert rows.stop - rows.start == 4000
    t = motion.t[rows] - design.ramp
    np.testing.assert_allclose(motion.p[rows], series.at(t).p, atol=1e-12)


def test_it_prints_before_and_after(design: Excitation) -> None:
    text = str(design)
    for item in design.parameters:
        assert item.name in text
    for words in ("before", "after", "rows weighted, columns normalised", "binds: ", "Y^T Y"):
        assert words in text
    assert f"{design.condition_number:.4g}" in text
    assert "searches were completed" in design.status
    json.dumps(design.as_dict())
    assert design.as_dict()["condition_number"]["after"] == design.condition_number
    for item in design.parameters:
        expected = None if item.value == 0 else item.std / abs(item.value)
        assert item.relative == expected


def test_numbers_are_those_of_the_motion(design: Excitation) -> None:
    """The condition number from the motion's own rows."""
    rows = design.steady
    state = dd.State.from_platform(
        design.robot, design.motion.p[rows], design.motion.pd[rows], design.motion.pdd[rows]
    )
    reg = dd.regressor(design.robot, state)
    assert reg.names == tuple(item.name for item in design.parameters)
    A = (reg.Y * design.weights[:, None]).reshape(-1, len(reg.names))
    unit = A / np.linalg.norm(A, axis=0)
    # sharp friction jumps between the samples, which differ
    assert np.linalg.cond(unit) == pytest.approx(design.condition_number, rel=5e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(design.covariance)), design.prediction.std)


@pytest.mark.full
def test_the_same_seed_gives_the_same_motion() -> None:
    arguments = {**SMALL, "duration": 2.0, "harmonics": 2, "periods": 2}
    first = design_excitation(D3, **{**arguments, "jobs": 1})
    second = design_excitation(D3, **{**arguments, "jobs": 3})
    np.testing.assert_array_equal(first.series.sine, second.series.sine)
    assert first.periods == second.periods
    other = design_excitation(D3, **{**arguments, "seed": 5})
    assert not np.array_equal(first.series.sine, other.series.sine)
    # another start, much the same worth: local optima differ by some per cent
    assert other.condition_number == pytest.approx(first.condition_number, rel=0.3)


@pytest.mark.full
def test_the_target_for_the_d3_1200() -> None:
    """10 s and 5 harmonics with a reduced search: twice as good as random motions."""
    found = design_excitation(
        D3, duration=10.0, harmonics=5, periods=9, starts=2, time_limit=PATIENT
    )
    assert found.before.condition_number >= 2 * found.condition_number
    by_name = {item.name: item for item in found.parameters}
    assert (by_name["m_x"].relative or 1.0) < 0.03
    assert (by_name["M_P"].relative or 1.0) < 0.005


@pytest.mark.full
@pytest.mark.parametrize(
    ("robot", "name"),
    [
        (with_limits(D3, strut_force=60.0), "strut_force"),
        (with_limits(D3, torque_rms=12.0), "torque_rms"),
        (with_limits(D3, ball_joint_angle=0.3), "ball_joint_angle"),
        (with_limits(D3, angle_max=0.95), "angle_max"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_tight_limit_binds_and_is_kept(robot: Robot, name: str) -> None:
    found = design_excitation(robot, 2.0, 2, **ROUGH)
    assert found.report.ok
    assert (found.report[name].use or 0.0) > 0.93


@pytest.mark.full
def test_limits_that_a_robot_does_not_name_are_skipped_and_said() -> None:
    robot = with_limits(D3, workspace=None, rate=None, torque_peak=None, strut_force=None)
    found = design_excitation(robot, 2.0, 2, **ROUGH)
    assert set(found.skipped) >= {"rate", "torque_peak", "strut_force", "workspace_radius"}
    assert "not named by the robot, so not kept: workspace_radius" in str(found)
    assert found.report.ok
    assert (found.noise.std > 0).all()  # from the torque of reference motions


@pytest.mark.full
def test_other_models_criteria_and_weights() -> None:
    rough: dict[str, Any] = {"duration": 2.0, "harmonics": 2, **ROUGH}
    other = design_excitation(D3, model="virtual-work", **rough)
    assert "I1" in {item.name for item in other.parameters}
    assert other.report.ok
    bare = design_excitation(
        D3,
        criterion="A",
        friction=False,
        weights=[1, 1, 2],
        noise_std=0.5,
        **rough,
    )
    assert [item.name for item in bare.parameters] == ["M_P", "m_x", "A", "G"]
    np.testing.assert_array_equal(bare.weights, [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(bare.noise.std, 0.5)


@pytest.mark.full
def test_the_raw_condition_number_misleads() -> None:
    """Minimising it slows the motion and makes the deviations worse."""
    rough: dict[str, Any] = {"duration": 4.0, "harmonics": 3, **ROUGH}
    raw = design_excitation(D3, criterion="raw-condition", **rough)
    ours = design_excitation(D3, **rough)
    assert raw.raw_condition_number < ours.raw_condition_number
    assert geometric_mean(raw.prediction.std) > 1.5 * geometric_mean(ours.prediction.std)


@pytest.mark.full
def test_the_time_limit_ends_the_search() -> None:
    found = design_excitation(ABB, duration=20.0, harmonics=8, starts=200, jobs=2, time_limit=5.0)
    assert "The time limit of 5 s cut" in found.status
    assert found.report.ok


@pytest.mark.full
def test_a_script_without_a_main_guard_works(tmp_path: Path) -> None:
    """Workers do not run the caller's script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import deltadyn as dd\n"
        "from deltadyn.excitation import design_excitation\n"
        "robot = dd.load_robot('example-delta')\n"
        "found = design_excitation(robot, 1.0, 1, periods=1, starts=1, jobs=2, progress=True,\n"
        "                          criterion='D', friction=False)\n"
        "print('once', found.report.ok)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "once True\n"
    assert "searches" in done.stderr  # the progress bar


@pytest.mark.parametrize("coordinates", ["joints", "platform"])
def test_a_controllers_table_reads_back(
    spindle: Excitation, tmp_path: Path, coordinates: Any
) -> None:
    path = tmp_path / "motion.csv"
    spindle.save(
        path,
        rate=250.0,
        coordinates=coordinates,
        angle_unit="deg",
        length_unit="mm",
        derivatives=True,
    )
    head = path.read_text().splitlines()[0]
    start = "t_s,q1_deg,q2_deg,q3_deg,psi_deg,qd1_deg_s"
    assert head.startswith(start if coordinates == "joints" else "t_s,x_mm,y_mm,z_mm,psi_deg,xd_mm")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    expected = spindle.sampled(250.0)
    np.testing.assert_allclose(table[:, 0], expected.t, atol=1e-12)
    if coordinates == "joints":
        q = np.rad2deg(SIGNED.to_controller(expected.q))
        np.testing.assert_allclose(table[:, 1:5], q, atol=1e-8)
        sign = np.array(SIGNED.controller.sign)
        np.testing.assert_allclose(table[:, 5:9], np.rad2deg(expected.qd * sign), atol=1e-7)
    else:
        np.testing.assert_allclose(table[:, 1:4], 1e3 * expected.p[:, :3], atol=1e-8)
        psi = -expected.p[:, 3] + 1.5
        np.testing.assert_allclose(table[:, 4], np.rad2deg(psi), atol=1e-8)
    motion = read_motion(path, SIGNED)
    np.testing.assert_allclose(motion.q, expected.q, atol=1e-9)
    np.testing.assert_allclose(motion.qdd, expected.qdd, atol=1e-6)


def test_the_plain_table_holds_positions_alone(small: Excitation, tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    small.save(path)
    lines = path.read_text().splitlines()
    assert lines[0] == "t_s,q1_rad,q2_rad,q3_rad"
    assert len(lines) == 1 + len(small.motion)
    np.testing.assert_allclose(read_motion(path, D3).q, small.motion.q, atol=1e-11)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"robot": "sipro-d3-1200"}, "robot is 'str'; allowed: a Robot, from load_robot"),
    ({"duration": 0}, "duration is 0; allowed: a number above 0"),
    ({"duration": float("nan")}, "duration is nan; allowed: a number above 0"),
    ({"harmonics": 0}, "harmonics is 0; allowed: a whole number of at least 1"),
    ({"harmonics": 2.5}, "harmonics is 2.5; allowed: a whole number of at least 1"),
    ({"periods": 0}, "periods is 0; allowed: a whole number of at least 1"),
    ({"periods": 99}, "periods is 99; allowed: at most 20, so that harmonic 5 stays below"),
    ({"highest_frequency": 0.2}, r"allowed: at least harmonics / duration = 0.5 Hz"),
    ({"criterion": "best"}, "criterion is 'best'; allowed: one of 'balanced', 'std', 'D'"),
    ({"model": "fancy"}, "model is 'fancy'; allowed: one of 'exact', 'rigid'"),
    ({"velocity_weight": -1.0}, "velocity_weight is -1; allowed: a number of at least 0"),
    ({"friction": "yes"}, "friction is 'yes'; allowed: True or False"),
    ({"weights": [1.0, 2.0]}, r"shape of weights is .2.; allowed: one number or \(3,\)"),
    ({"weights": [1.0, 0.0, 1.0]}, "weights at axis 1 is 0; allowed: numbers above 0"),
    ({"noise_std": "low"}, "noise_std is 'low'; allowed: a number, or 3 numbers"),
    ({"noise_correlation": -1.0}, "noise_correlation is -1; allowed: at least 0 s"),
    ({"share": 1.2}, "share is 1.2; allowed: a number above 0 and at most 1"),
    ({"singularity_margin": -0.1}, "singularity_margin is -0.1; allowed: a number from 0 to 1 rad"),
    ({"still": ["psi"]}, "still is 'psi'; allowed: one of 'x', 'y', 'z'"),
    ({"still": "z"}, "still is 'z'; allowed: a list of coordinates"),
    ({"still": ["x", "y", "z"]}, "allowed: at least one coordinate that moves"),
    ({"unidentifiable": "ignore"}, "unidentifiable is 'ignore'; allowed: 'raise' or 'drop'"),
    ({"rate": 0}, "rate is 0; allowed: a number above 0"),
    ({"starts": 0}, "starts is 0; allowed: a whole number of at least 1"),
    ({"seed": -1}, "seed is -1; allowed: a whole number of at least 0"),
    ({"jobs": 0}, "jobs is 0; allowed: a whole number of at least 1"),
    ({"time_limit": 1.0}, "time_limit is 1; allowed: at least 5 s"),
    ({"progress": 1}, "progress is 1; allowed: True or False"),
    ({"perods": 3}, "option is 'perods'; allowed: one of 'periods', .*'rate', .*'progress'"),
    ({"design": {"periods": 3}}, "options is 'dict'; allowed: Design"),
    (
        {"robot": dd.load_robot("sipro-d3-1200").replace(limits=type(D3.limits)())},
        "limits of robot 'sipro-d3-1200' is None; allowed: one of rate, .* nothing else bounds",
    ),
    (
        {"robot": with_limits(D3, torque_rms=0.5)},
        r"limits exceeded at rest is \['torque_rms'\]; allowed: none: the robot must be able to",
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_a_wrong_call_is_refused(changes: dict[str, Any], message: str) -> None:
    call = {"robot": D3, **changes}
    with pytest.raises(dd.DeltadynError, match=message):
        design_excitation(call.pop("robot"), **call)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": -5.0}, "rate is -5; allowed: a number above 0"),
        ({"coordinates": "tool"}, "coordinates is 'tool'; allowed: one of 'joints', 'platform'"),
        ({"angle_unit": "grad"}, "angle_unit is 'grad'; allowed: one of 'rad', 'deg'"),
        ({"length_unit": "inch"}, "length_unit is 'inch'; allowed: one of 'm', 'mm'"),
        ({"derivatives": "all"}, "derivatives is 'all'; allowed: True or False"),
    ],
)
def test_a_wrong_export_is_refused(
    small: Excitation, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = tmp_path / "motion.csv"
    with pytest.raises(dd.DeltadynError, match=message):
        small.save(path, **changes)
    assert not path.exists()


def test_an_unidentifiable_error_has_its_fields() -> None:
    error = UnidentifiableError(["a"], ["b", "c"])
    assert error.no_influence == ("a",)
    assert error.dependent == ("b", "c")
    assert "a has no influence on the torque and b, c are linearly dependent" in str(error)


def test_the_page_says_how_well_and_what_next(design: Excitation, tmp_path: Path) -> None:
    page = design.page(tmp_path / "excite.html").read_text("utf-8")
    body = page[page.index("<body>") :]
    assert f"Excitation: {design.robot.name}" in body
    named = dataclasses.replace(design, robot=design.robot.replace(name=EVIL, description=EVIL))
    hostile = named.page(tmp_path / "hostile.html").read_text("utf-8")
    assert "onerror" in hostile
    assert dangers(hostile) == []
    assert "What to do next" in body
    assert "deltadyn identify ROBOT LOG" in body
    for item in design.parameters:
        assert f"<td>{item.name}</td><td>{meaning(item.name)}</td>" in body.replace("&#x27;", "'")
    for limit in design.report.limits:
        assert limit_words(limit.name) in body
    poor = [x for x in design.parameters if x.relative is not None and x.relative > 0.3]
    assert ("only poorly" in body) == bool(poor)
