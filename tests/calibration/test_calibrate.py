"""The fit: accuracy beside the figures asked for, intervals, outliers, models, bad input."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from tests.calibration import machines
from tests.family.robots import make

import deltadyn as dd
from deltadyn.calibration import (
    BallBar,
    Commanded,
    Distances,
    Heights,
    Positions,
    Tolerances,
)
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import RailGeometry

SIGMA = 2e-5  # m, of a tracker


class Tracked:
    """A robot with errors, measured by a tracker that stands somewhere."""

    def __init__(self, robot: Robot, seed: int, count: int = 40, **sizes: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.robot = robot
        self.errors = machines.errors(robot, self.rng, **sizes)
        self.turn, self.place = machines.placed(self.rng)
        self.q = dd.inverse_kinematics(robot, machines.cylinder(robot, self.rng, count))
        self.p = self.seen(self.q) + SIGMA * self.rng.standard_normal((count, 3))
        self.check = dd.inverse_kinematics(robot, machines.cylinder(robot, self.rng, 200))

    def seen(self, q: np.ndarray) -> np.ndarray:
        return machines.points(self.robot, self.errors, q) @ self.turn.T + self.place

    def off(self, found: dd.calibration.Calibration) -> np.ndarray:
        """How far the calibrated robot is off at other poses (m)."""
        frame = found.frame
        assert frame is not None
        seen = frame.seen(found.forward_kinematics(self.check))
        length: np.ndarray = np.linalg.norm(seen - self.seen(self.check), axis=1)
        return length


@pytest.fixture(scope="module")
def delta() -> Robot:
    return dd.load_robot("sipro-d3-1200")


@pytest.fixture(scope="module")
def tracked(delta: Robot) -> Tracked:
    return Tracked(delta, 1)


@pytest.fixture(scope="module")
def found(tracked: Tracked) -> dd.calibration.Calibration:
    return dd.calibrate(tracked.robot, Positions(tracked.q, tracked.p, SIGMA))


def test_a_tracker_gives_the_geometry(tracked: Tracked, found: dd.calibration.Calibration) -> None:
    off = tracked.off(found)
    assert found.model == "all"
    assert float(np.sqrt((off**2).mean())) < 25e-6
    assert 0.7 < found.reduced_chi < 1.3
    assert found.misfits == ()
    assert found.findings == ()


def test_the_field_tells_before_and_after(
    tracked: Tracked, found: dd.calibration.Calibration
) -> None:
    """The deviation that is left is of the size of the true one."""
    sizes = found.field.as_dict()
    true = float(np.sqrt((tracked.off(found) ** 2).mean())) * 1e3
    assert sizes["before_rms_mm"] > 1 > 0.1 > sizes["after_rms_mm"]
    assert 0.4 * true < sizes["after_rms_mm"] < 2.5 * true
    assert sizes["aligned_rms_mm"] < sizes["before_rms_mm"]


def test_the_smaller_models_do_not_validate(found: dd.calibration.Calibration) -> None:
    homing, sizes, whole = found.trials
    assert (homing.free, sizes.free, whole.free) == (3, 5, 24)
    assert min(homing.held_out, sizes.held_out) > 5 * whole.held_out


def test_wrong_lengths_do_not_hide_in_homing_offsets(delta: Robot) -> None:
    """One radius and one arm length are wrong: the model that holds them is chosen."""
    rng = np.random.default_rng(4)
    errors = {"radius": np.full(3, 4e-3), "arm": np.full(3, 2e-3)}
    q = dd.inverse_kinematics(delta, machines.cylinder(delta, rng, 40))
    p = machines.points(delta, errors, q) + SIGMA * rng.standard_normal((40, 3))
    result = dd.calibrate(delta, Positions(q, p, SIGMA, frame="base"))
    assert result.model == "sizes"
    assert np.abs(np.array(result.robot.rotary.arm_length) - 0.377).max() < 1e-4
    assert np.abs(np.array(result.robot.controller.offset)).max() < np.radians(0.02)


def test_intervals_cover(delta: Robot) -> None:
    """95 % intervals of points of the workspace hold the truth in 90 to 99 % of them."""
    inside = []
    for seed in range(8):
        machine = Tracked(delta, 100 + seed, 30)
        result = dd.calibrate(delta, Positions(machine.q, machine.p, SIGMA), model="all")
        frame = result.frame
        assert frame is not None
        off = frame.back(machine.seen(machine.check)) - result.forward_kinematics(machine.check)
        std = np.sqrt(np.einsum("nii->ni", result.position_std(machine.check)))
        inside.append(float((np.abs(off) < 1.96 * std).mean()))
    assert 0.88 < float(np.mean(inside)) < 0.99


def test_outliers_cost_little_and_are_named(delta: Robot) -> None:
    worse = []
    for seed in range(4):
        machine = Tracked(delta, 200 + seed, 40)
        clean = dd.calibrate(delta, Positions(machine.q, machine.p, SIGMA), model="all")
        bad = machine.p.copy()
        bad[[3, 17], 0] += 5e-4
        result = dd.calibrate(delta, Positions(machine.q, bad, SIGMA), model="all")
        assert {item.pose for item in result.misfits} == {"4", "18"}
        assert "40 positions (2 set aside)" in result.status
        sums = [float((machine.off(each) ** 2).sum()) for each in (result, clean)]
        worse.append(np.sqrt(sums[0] / sums[1]))
    assert float(np.median(worse)) < 1.3


def test_heights_on_a_plate(delta: Robot) -> None:
    """Thirty points touched on one plate: the height on it, with the rest from the tolerances."""
    rng = np.random.default_rng(7)
    errors = machines.errors(delta, rng)
    points = machines.cylinder(delta, rng, 130)
    rings = [(0.2, 5), (0.4, 10), (0.6, 15)]
    points[:30] = [
        (r * np.cos(2 * np.pi * k / n), r * np.sin(2 * np.pi * k / n), 0)
        for r, n in rings
        for k in range(n)
    ]
    points[:, 2] = -0.8
    q = dd.inverse_kinematics(delta, points)
    true = machines.points(delta, errors, q)[:, 2]
    data = Heights(q[:30], true[:30] + 1e-5 * rng.standard_normal(30), 1e-5)
    result = dd.calibrate(delta, data)
    off = result.forward_kinematics(q[30:])[:, 2] - true[30:]
    assert float(np.sqrt((off**2).mean())) < 2e-5
    assert result.visible.unseen == ("x", "y", "turn about z", "scale")
    assert "scale" in str(result.visible)


def test_mixtures_know_more_than_their_parts(delta: Robot) -> None:
    """Heights on two levels with a few distances; each set with its own deviation."""
    rng = np.random.default_rng(8)
    errors = machines.errors(delta, rng)
    points = machines.cylinder(delta, rng, 42)
    points[:15, 2], points[15:30, 2] = -0.84, -0.74
    q = dd.inverse_kinematics(delta, points)
    true = machines.points(delta, errors, q)
    heights = Heights(q[:30], true[:30, 2] + 1e-5 * rng.standard_normal(30), 1e-5)
    apart = np.linalg.norm(true[30:36] - true[36:42], axis=1) + 5e-5 * rng.standard_normal(6)
    both = dd.calibrate(delta, [heights, Distances(q[30:36], q[36:], apart, 5e-5)], model="all")
    alone = dd.calibrate(delta, heights, model="all")
    sizes = [item.field.as_dict()["after_rms_mm"] for item in (alone, both)]
    assert sizes[1] < sizes[0]
    assert both.visible.geometry_rank == alone.visible.geometry_rank == 21
    assert both.solution.chi.shape == (2,)


def test_what_one_more_measurement_would_add(delta: Robot) -> None:
    """Heights of one plate do not see the scale: a distance would, and it comes true."""
    rng = np.random.default_rng(21)
    errors = machines.errors(delta, rng)
    points = machines.cylinder(delta, rng, 30)
    points[:, 2] = -0.8
    q = dd.inverse_kinematics(delta, points)
    heights = Heights(q, machines.points(delta, errors, q)[:, 2], 1e-5)
    result = dd.calibrate(delta, heights, model="all")
    first = result.additions[0]
    assert first.words.startswith("one more")
    assert first.after < 0.9 * first.before
    assert "next: one more" in str(result)
    distance = next(item for item in result.additions if "distance" in item.words)
    ends = [[float(v) / 1e3 for v in text.split(",")]
            for text in re.findall(r"\(([^()]*)\)", distance.words)]  # fmt: skip
    a, b = (dd.inverse_kinematics(delta, np.array([end])) for end in ends)
    apart = np.linalg.norm(
        machines.points(delta, errors, a) - machines.points(delta, errors, b), axis=1
    )
    more = dd.calibrate(delta, [heights, Distances(a, b, apart, 5e-5)], model="all")
    assert more.additions[0].before == pytest.approx(distance.after, rel=0.1)


def test_a_ball_bar_finds_its_centre(delta: Robot) -> None:
    rng = np.random.default_rng(9)
    errors = machines.errors(delta, rng, length=3e-4, angle=1e-3)
    centre = np.array([0.05, 0.02, -0.95])
    away = rng.standard_normal((400, 3))
    away = away / np.linalg.norm(away, axis=1)[:, None] * 0.25
    points = (centre + away)[(centre + away)[:, 2] > -0.86][:60]
    q = dd.inverse_kinematics(delta, points)
    # the bar's ends: poses whose true points are at its length
    p = machines.points(delta, errors, q)
    lengths = np.linalg.norm(p - centre, axis=1)
    result = dd.calibrate(delta, BallBar(q, lengths, 5e-6), model="all")
    assert result.solution.rms(0) < 5e-6
    np.testing.assert_allclose(result.solution.own[0], centre, atol=5e-3)


def test_a_command_log_shows_the_controllers_geometry(delta: Robot) -> None:
    """Encoders follow their command by 90 ms; one radius and one arm length are not the file's."""
    rng = np.random.default_rng(10)
    t = np.arange(0.0, 40.0, 0.05)
    path = np.stack(
        [
            0.25 * np.sin(0.31 * t),
            0.25 * np.sin(0.23 * t + 1),
            -0.78 + 0.06 * np.sin(0.17 * t),
        ],
        axis=1,
    )
    g = delta.rotary
    own = delta.replace(
        geometry=type(g)(
            tuple(r + 0.01 for r in g.base_radius), g.platform_radius,
            tuple(l + 0.003 for l in g.arm_length), g.strut_length, g.azimuth,
        )
    )  # fmt: skip
    late = np.stack([np.interp(t - 0.09, t, column) for column in path.T], axis=1)
    q = dd.inverse_kinematics(own, late)
    noise = np.cumsum(rng.standard_normal(q.shape), axis=0) * 2e-5  # follows itself
    q = q + noise - noise.mean(axis=0)
    first = slice(0, int(0.6 * len(t)))
    result = dd.calibrate(delta, Commanded(t[first], q[first], path[first]))
    assert result.model == "sizes"
    assert result.lag == pytest.approx(0.09, abs=5e-3)
    rest = Commanded(t[first.stop :], q[first.stop :], path[first.stop :])
    off = np.degrees(result.log_residuals(rest))
    assert float(np.sqrt((off**2).mean())) < 0.06
    assert result.solution.correlation(result.solution.sets[0]) > 0.9


def test_deviations_of_a_log_are_honest(delta: Robot) -> None:
    """Residuals that follow themselves: rows taken each for itself would be far too sure."""
    apart, plain = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        t, phase = np.arange(600) * 0.05, rng.uniform(0, 6, 3)
        path = np.stack(
            [
                0.2 * np.sin(0.9 * t + phase[0]),
                0.2 * np.sin(0.7 * t + phase[1]),
                -0.78 + 0.06 * np.sin(0.5 * t + phase[2]),
            ],
            axis=1,
        )
        creep = np.zeros((600, 3))
        for k in range(1, 600):
            creep[k] = 0.97 * creep[k - 1] + rng.normal(0, 1.5e-4, 3)
        q = dd.inverse_kinematics(delta, path) + creep
        result = dd.calibrate(delta, Commanded(t, q, path), model="sizes")
        solution = result.solution
        free = np.abs(solution.subset).sum(axis=1) > 0
        apart += list(solution.x[free] / np.sqrt(np.diag(solution.x_covariance))[free])
        rows = solution._inverse(solution.spread)[:5, :5]
        alone = np.sqrt(np.diag(solution.subset @ rows @ solution.subset.T))
        plain += list(solution.x[free] / alone[free])
    assert 0.5 < float(np.std(apart)) < 1.6
    assert float(np.std(plain)) > 2.5


def test_a_measured_log(shared_data: Path) -> None:
    """A real robot whose controller computes with other lengths than its data sheet's."""
    path = shared_data / "ehsani_delta" / "log.csv"
    if not path.is_file():
        pytest.skip("reference data absent: ehsani_delta")
    table = np.genfromtxt(path, delimiter=",", names=True)
    t = table["t"]
    p = np.column_stack([table[name] for name in ("x_cmd", "y_cmd", "z_cmd")]) / 100  # cm
    q = np.radians(np.column_stack([table[f"enc_t{i}"] for i in (1, 2, 3)]))
    azimuth = tuple(np.radians([270.0, 30.0, 150.0]))
    stated = type(dd.load_robot("example-delta").rotary)(0.13, 0.1, 0.305, 0.595, azimuth)
    robot = dd.load_robot("example-delta").replace(geometry=stated)
    rows = int(0.6 * len(t))
    result = dd.calibrate(robot, Commanded(t[:rows], q[:rows], p[:rows]))
    left = np.degrees(result.log_residuals(Commanded(t[rows:], q[rows:], p[rows:])))
    assert float(np.sqrt((left**2).mean())) < 0.06
    assert result.model == "sizes"  # offsets alone would be 1.6 degrees, and wrong
    assert np.abs(np.degrees(result.robot.controller.offset)).max() < 0.15
    assert result.robot.geometry.shrunk_radius[0] == pytest.approx(0.0404, abs=1e-3)
    assert "tolerances" in {item.kind for item in result.findings}


def test_gear_gains_are_found(delta: Robot) -> None:
    machine = Tracked(delta, 11, 40, gain=1e-3)
    result = dd.calibrate(delta, Positions(machine.q, machine.p, SIGMA), gains=True)
    std = np.array([item.std for item in result.table if item.words.endswith("gear gain")])
    assert (np.abs(result.gains - 1 - machine.errors["gain"]) < 4 * std).all()
    assert (std < 5e-4).all()
    assert float(np.sqrt((machine.off(result) ** 2).mean())) < 3e-5


def test_a_linear_robot_with_leaning_rails() -> None:
    robot = dd.load_robot("example-linear-delta")
    machine = Tracked(robot, 12, 40)
    result = dd.calibrate(robot, Positions(machine.q, machine.p, SIGMA))
    assert float(np.sqrt((machine.off(result) ** 2).mean())) < 3e-5
    assert result.robot.controller == robot.controller


def test_level_rails_may_fall_outward() -> None:
    """A rail that is level on paper leans a little to one side or the other."""
    robot = make("level")
    machine = Tracked(robot, 15, 40)
    result = dd.calibrate(robot, Positions(machine.q, machine.p, SIGMA))
    assert float(np.sqrt((machine.off(result) ** 2).mean())) < 3e-5
    geometry = result.robot.geometry
    assert isinstance(geometry, RailGeometry)
    assert max(geometry.rail_pitch) > np.pi / 2


def test_what_it_says(found: dd.calibration.Calibration) -> None:
    text = str(found)
    assert "all parameters fitted to 40 positions" in text
    assert "homing offset, mean" in text
    assert " deg" in text
    assert " mm" in text
    record = found.as_dict()
    assert record["rank"] == record["unknowns"] == 24
    assert len(record["parameters"]) == 24


def test_it_is_saved_whole(found: dd.calibration.Calibration, tmp_path: Path) -> None:
    robot, record, page = found.save(tmp_path / "mine")
    assert (robot.name, record.name, page.name) == ("mine.yaml", "mine.json", "mine.html")
    assert dd.load_robot(str(robot)).geometry == found.robot.geometry
    text = page.read_text("utf-8")
    assert "Known combinations" in text
    assert "Deviation over the workspace" in text


# Bad input: each is found and said, with the number that shows it.


def test_millimetres_taken_for_metres(tracked: Tracked) -> None:
    with pytest.raises(InputError, match=r"9\d\d.* times as far apart"):
        dd.calibrate(tracked.robot, Positions(tracked.q, tracked.p * 1e3, SIGMA))
    mixed = tracked.p.copy()
    mixed[5:8] *= 1e3
    with pytest.raises(InputError, match="m and mm seem mixed"):
        dd.calibrate(tracked.robot, Positions(tracked.q, mixed, SIGMA))


def test_other_instruments_in_millimetres(tracked: Tracked) -> None:
    p = machines.points(tracked.robot, tracked.errors, tracked.q)
    with pytest.raises(InputError, match="m off the robot's own heights"):
        dd.calibrate(tracked.robot, Heights(tracked.q, p[:, 2] * 1e3))
    apart = np.linalg.norm(p[:20] - p[20:], axis=1)
    with pytest.raises(InputError, match="times the robot's own"):
        dd.calibrate(tracked.robot, Distances(tracked.q[:20], tracked.q[20:], apart * 1e3))


def test_degrees_taken_for_radians(tracked: Tracked) -> None:
    with pytest.raises(InputError, match="in deg"):
        dd.calibrate(tracked.robot, Positions(np.degrees(tracked.q), tracked.p, SIGMA))


def test_a_left_handed_frame_and_swapped_axes(tracked: Tracked) -> None:
    mirrored = tracked.p * np.array([1, 1, -1])
    with pytest.raises(InputError, match=r"mirrored: .* mm off as given, .* mm with"):
        dd.calibrate(tracked.robot, Positions(tracked.q, mirrored, SIGMA))
    with pytest.raises(InputError, match="right-handed frame"):
        dd.calibrate(tracked.robot, Positions(tracked.q, tracked.p[:, [1, 0, 2]], SIGMA))
    base = machines.points(tracked.robot, tracked.errors, tracked.q)
    with pytest.raises(InputError, match=r"a frame that is \w+ by"):
        dd.calibrate(tracked.robot, Positions(tracked.q, base[:, [1, 2, 0]], SIGMA, frame="base"))


def test_points_in_another_order_than_the_poses(tracked: Tracked) -> None:
    with pytest.raises(InputError, match="same order"):
        dd.calibrate(tracked.robot, Positions(tracked.q, tracked.p[::-1], SIGMA))


def test_too_few_and_degenerate_poses(tracked: Tracked) -> None:
    with pytest.raises(InputError, match="poses is 3; allowed: at least 4"):
        dd.calibrate(tracked.robot, Positions(tracked.q[:3], tracked.p[:3], SIGMA))
    line = np.linspace([-0.2, 0, -0.8], [0.2, 0, -0.8], 20)
    q = dd.inverse_kinematics(tracked.robot, line)
    with pytest.raises(InputError, match="on a line"):
        dd.calibrate(tracked.robot, Positions(q, line, SIGMA))
    flat = machines.cylinder(tracked.robot, tracked.rng, 30)
    flat[:, 2] = -0.8
    q = dd.inverse_kinematics(tracked.robot, flat)
    result = dd.calibrate(tracked.robot, Positions(q, flat, SIGMA))
    assert "degenerate" in {item.kind for item in result.findings}


def test_few_poses_keep_what_they_do_not_see(tracked: Tracked) -> None:
    """Six poses give 18 numbers for 24: tolerances hold the rest, and it is said."""
    result = dd.calibrate(
        tracked.robot, Positions(tracked.q[:6], tracked.p[:6], SIGMA), model="all"
    )
    assert not result.visible.complete
    assert result.visible.geometry_rank == 18
    known = [item.known for item in result.table]
    assert not all(known)


def test_copies(tracked: Tracked) -> None:
    rows = [*range(40), 3, 4]
    result = dd.calibrate(tracked.robot, Positions(tracked.q[rows], tracked.p[rows], SIGMA))
    assert "2 of 42 rows are exact copies" in str(result)


def test_a_forgotten_tool(tracked: Tracked) -> None:
    base = machines.points(tracked.robot, tracked.errors, tracked.q) + np.array([0, 0, -0.085])
    result = dd.calibrate(tracked.robot, Positions(tracked.q, base, SIGMA, frame="base"))
    assert "tool or ball offset" in str(result)
    told = Positions(tracked.q, base, SIGMA, frame="base", tool=(0, 0, -0.085))
    assert "tool" not in {item.kind for item in dd.calibrate(tracked.robot, told).findings}


def test_points_taken_while_moving(tracked: Tracked) -> None:
    times = np.arange(40) * 0.1
    result = dd.calibrate(tracked.robot, Positions(tracked.q, tracked.p, SIGMA, times=times))
    assert "has to stand still" in str(result)


def test_backlash(delta: Robot) -> None:
    """Axis 2 has a play of 0.05 degrees: it stands half of it behind, on the side it came from."""
    machine = Tracked(delta, 13, 60)
    came = np.sign(np.diff(machine.q[:, 1], prepend=machine.q[0, 1] - 1))
    moved = machine.q.copy()
    moved[:, 1] -= np.radians(0.025) * came
    p = machine.seen(moved) + SIGMA * machine.rng.standard_normal((60, 3))
    result = dd.calibrate(delta, Positions(machine.q, p, SIGMA))
    (play,) = [item for item in result.findings if item.kind == "backlash"]
    assert play.text.startswith("axis 2 has a play of 0.05")


def test_unequal_rods_are_seen_by_a_camera(tracked: Tracked) -> None:
    turns = np.stack([machines.about(0, a) for a in np.radians(0.3) * np.sin(np.arange(40))])
    data = Positions(tracked.q, tracked.p, SIGMA, rotations=turns, turn_sigma=np.radians(0.02))
    assert "rods of a pair are not equal" in str(dd.calibrate(tracked.robot, data))


def test_a_pose_that_does_not_close_is_named() -> None:
    machine = Tracked(dd.load_robot("example-linear-delta"), 14, 20)
    q = machine.q.copy()
    q[7, 0] += 3.0
    with pytest.raises(InputError, match="pose 8"):
        dd.calibrate(machine.robot, Positions(q, machine.p, SIGMA))


@pytest.mark.parametrize("name", ["length", "angle", "homing", "gain"])
def test_tolerances_are_checked(name: str) -> None:
    with pytest.raises(InputError, match=name):
        Tolerances(**{name: 0.0})


@pytest.mark.full
def test_a_report_identifies_with_the_calibrated_geometry(tmp_path: Path) -> None:
    """Calibrate, then identify: the torque is explained, and a section tells of it."""
    nominal = dd.load_robot("example-delta")
    arms = tuple(np.add(nominal.rotary.arm_length, (0.004, 0.0, -0.003)))
    real = nominal.replace(geometry=dataclasses.replace(nominal.rotary, arm_length=arms))
    plan = dd.plan_calibration(nominal, "tracker", 20)
    p = machines.points(nominal, {"arm": np.array([0.004, 0.0, -0.003])}, plan.q)
    found = dd.calibrate(nominal, Positions(plan.q, p, sigma=1e-5))
    motion = dd.motion.adept_cycle(real)
    log = dd.simulate(real, motion, preset="ideal", seed=1).recording
    study = dd.report.study(found.robot, [log], methods=["base"], calibration=found)
    page = study.report(tmp_path / "report.html").read_text("utf-8")
    assert "Known combinations, with 95 % intervals" in page
    assert found.status in page
    with pytest.raises(InputError, match="calibrated"):
        dd.report.study(nominal, [log], methods=["base"], calibration=found)


def test_points_near_the_origin_of_the_base_are_taken(tracked: Tracked) -> None:
    """A target above the platform passes the base's origin; mm among m are still refused."""
    tool = np.array([0.0, 0.0, 0.78])
    points = machines.points(tracked.robot, tracked.errors, tracked.q)
    q = np.concatenate([tracked.q, dd.inverse_kinematics(tracked.robot, [[0.0, 0.0, -0.779]])])
    base = machines.points(tracked.robot, tracked.errors, q) + tool
    radius = np.linalg.norm(base, axis=1)
    assert radius.min() < 0.01 * np.median(radius)
    result = dd.calibrate(tracked.robot, Positions(q, base, SIGMA, frame="base", tool=tuple(tool)))
    check = result.forward_kinematics(tracked.check)
    true = machines.points(tracked.robot, tracked.errors, tracked.check)
    assert np.linalg.norm(check - true, axis=1).max() < 5 * SIGMA
    for scale in (1e3, 1e-3):
        mixed = points.copy()
        mixed[5:8] *= scale
        with pytest.raises(InputError, match=r"m and mm seem mixed.*pose|pose.*m and mm"):
            dd.calibrate(tracked.robot, Positions(tracked.q, mixed, SIGMA, frame="base"))
