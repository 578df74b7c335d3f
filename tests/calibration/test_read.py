"""Files of measured poses, and the command that reads them."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.calibration import machines

import deltadyn as dd
from deltadyn.calibration import (
    BallBar,
    Distances,
    FileOptions,
    Heights,
    Positions,
    read_command_log,
    read_measurements,
)
from deltadyn.cli import main
from deltadyn.errors import DeltadynError, InputError
from deltadyn.robot import Robot


@pytest.fixture(scope="module")
def delta() -> Robot:
    """A robot whose controller counts otherwise."""
    robot = dd.load_robot("sipro-d3-1200")
    return robot.replace(controller=type(robot.controller)(-1.0, 0.2))


class Files:
    """A measured robot in files of every kind."""

    def __init__(self, robot: Robot, folder: Path) -> None:
        rng = np.random.default_rng(1)
        self.errors = machines.errors(robot, rng)
        self.q = dd.inverse_kinematics(robot, machines.cylinder(robot, rng, 30))
        self.p = machines.points(robot, self.errors, self.q)
        self.seen = self.p + 2e-5 * rng.standard_normal(self.p.shape)
        self.folder = folder
        self.joints = np.degrees(robot.to_controller(self.q))
        robot.save(folder / "robot.yaml")

    def write(self, name: str, heads: str, *columns: object, sep: str = ",") -> Path:
        tables = [np.atleast_2d(np.asarray(c, dtype=object).T).T for c in columns]
        rows = np.column_stack(tables)
        lines = [heads, *(sep.join(str(cell) for cell in row) for row in rows)]
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path


@pytest.fixture(scope="module")
def files(delta: Robot, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(delta, tmp_path_factory.mktemp("poses"))


def test_positions_in_the_controllers_angles(delta: Robot, files: Files) -> None:
    path = files.write(
        "a.csv", "pose,q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm,sx_mm,sy_mm,sz_mm,temperature",
        np.arange(1, 31), files.joints, files.seen * 1e3, np.full((30, 3), 0.02), np.full(30, 20),
    )  # fmt: skip
    (found,) = read_measurements(path, delta)
    assert isinstance(found, Positions)
    np.testing.assert_allclose(found.q, files.q, atol=1e-12)
    np.testing.assert_allclose(found.p, files.seen, atol=1e-12)
    assert found.sigma_given
    assert (found.sigma == 2e-5).all()


def test_semicolons_decimal_commas_and_metres(delta: Robot, files: Files) -> None:
    texts = np.vectorize(lambda v: f"{v:.9f}".replace(".", ","))
    path = files.write(
        "b.csv", "q1_rad;q2_rad;q3_rad;x_m;y_m;z_m",
        texts(np.radians(files.joints)), texts(files.seen), sep=";",
    )  # fmt: skip
    (found,) = read_measurements(path, delta)
    np.testing.assert_allclose(found.q, files.q, atol=1e-8)
    assert not found.sigma_given


def test_heights_distances_and_bars(delta: Robot, files: Files) -> None:
    heads = "q1_deg,q2_deg,q3_deg"
    path = files.write(
        "h.csv", f"{heads},z_mm,plate", files.joints, files.p[:, 2] * 1e3, ["a"] * 30
    )
    (heights,) = read_measurements(path, delta, FileOptions(sigma=1e-5))
    assert isinstance(heights, Heights)
    assert heights.plate[0] == "a"
    apart = np.linalg.norm(files.p[::2] - files.p[1::2], axis=1) * 1e3
    texts = [str(apart[k // 2]) if k % 2 == 0 else "" for k in range(30)]
    path = files.write(
        "d.csv", f"{heads},pair,distance_mm", files.joints, np.arange(30) // 2, texts
    )
    (distances,) = read_measurements(path, delta)
    assert isinstance(distances, Distances)
    np.testing.assert_allclose(distances.distance, apart / 1e3, atol=1e-12)
    path = files.write("bar.csv", f"{heads},bar_mm", files.joints, np.full(30, 150.0))
    (bar,) = read_measurements(path, delta)
    assert isinstance(bar, BallBar)
    assert (bar.length == 0.15).all()


def test_spatial_analyzer(delta: Robot, files: Files) -> None:
    poses = files.write("poses.csv", "pose,q1_deg,q2_deg,q3_deg", np.arange(1, 31), files.joints)
    order = np.random.default_rng(2).permutation(30)
    for name, lead in (("s1.txt", "Cell Measured p"), ("s2.txt", "p"), ("s3.txt", "")):
        rows = [
            f"{lead}{k + 1} {files.seen[k, 0] * 1e3:.5f} {files.seen[k, 1] * 1e3:.5f} "
            f"{files.seen[k, 2] * 1e3:.5f} 0.012"
            for k in order
        ]
        path = files.folder / name
        path.write_text("// exported\n// Working frame: A\n" + "\n".join(rows), "utf-8")
        with pytest.raises(InputError, match="has no headings and no unit"):
            read_measurements(path, delta, FileOptions(poses=poses))
        (found,) = read_measurements(path, delta, FileOptions(unit="mm", poses=poses))
        assert isinstance(found, Positions)
        np.testing.assert_allclose(found.q, files.q[order], atol=1e-12)
        np.testing.assert_allclose(found.p, files.seen[order], atol=1e-8)


@pytest.mark.parametrize("moves", [False, True])
def test_detections_of_a_camera(delta: Robot, files: Files, moves: bool) -> None:
    """Rotation vectors and quaternions; with the camera on the platform all is turned round."""
    turn, place = machines.placed(np.random.default_rng(3))
    seen = files.p @ turn.T + place
    rotations = np.broadcast_to(turn, (30, 3, 3))
    if moves:
        rotations = np.swapaxes(rotations, 1, 2)
        seen = -np.einsum("nij,nj->ni", rotations, seen)
    angle = np.arccos((np.trace(rotations[0]) - 1) / 2)
    axis = np.array(
        [rotations[0][2, 1] - rotations[0][1, 2], rotations[0][0, 2] - rotations[0][2, 0],
         rotations[0][1, 0] - rotations[0][0, 1]]
    ) / (2 * np.sin(angle))  # fmt: skip
    quaternion = np.tile([*(axis * np.sin(angle / 2)), np.cos(angle / 2)], (30, 1))
    heads = "q1_deg,q2_deg,q3_deg,tag_id"
    first = files.write(
        "c1.csv", f"{heads},tvec_x,tvec_y,tvec_z,rvec_x,rvec_y,rvec_z",
        files.joints, np.zeros(30), seen, np.tile(axis * angle, (30, 1)),
    )  # fmt: skip
    second = files.write(
        "c2.csv", f"{heads},x_m,y_m,z_m,qx,qy,qz,qw",
        files.joints, np.zeros(30), seen, quaternion,
    )  # fmt: skip
    with pytest.raises(DeltadynError, match="unit"):
        read_measurements(first, delta)
    for path in (first, second):
        (found,) = read_measurements(path, delta, FileOptions(unit="m", camera_moves=moves))
        assert isinstance(found, Positions)
        result = dd.calibrate(delta, found, model="all")
        assert result.rms < 5e-6
        assert result.visible.rank == 27


@pytest.mark.parametrize(
    ("heads", "cells", "problem"),
    [
        ("q1,q2,q3,x_mm,y_mm,z_mm", "1,2,3,4,5,6", "q1_deg or q1_rad"),
        ("q1_deg,q2_deg,q3_deg,x,y,z", "1,2,3,4,5,6", "x_mm or x_m"),
        ("q1_deg,q2_deg,q3_deg,x_inch,y_mm,z_mm", "1,2,3,4,5,6", "x_mm, x_m or x_cm"),
        ("q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm", "1,2,3,4,five,6", "line 2, column 'y_mm'"),
        ("q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm", "1,2,3,4,5", "5 cells"),
        ("q1_deg,q2_deg,q3_deg,x_mm,x_m,z_mm", "1,2,3,4,5,6", "one column of x"),
        ("x_mm,y_mm,z_mm", "4,5,6", "--poses"),
        ("q1_deg,q2_deg,q3_deg", "1,2,3", "x, y and z"),
        ("q1_deg,q2_deg,q3_deg,distance_mm", "1,2,3,4", "pair"),
    ],
)
def test_bad_tables(delta: Robot, tmp_path: Path, heads: str, cells: str, problem: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"{heads}\n{cells}\n", "utf-8")
    with pytest.raises(DeltadynError) as error:
        read_measurements(path, delta)
    assert problem in str(error.value)


def test_a_file_that_is_not_there(delta: Robot, tmp_path: Path) -> None:
    with pytest.raises(DeltadynError, match="does not exist"):
        dd.calibrate(delta, tmp_path / "none.csv")


def test_a_command_log(delta: Robot, files: Files) -> None:
    path = files.write(
        "log.csv", "t_ms,q1_deg,q2_deg,q3_deg,x_cmd_mm,y_cmd_mm,z_cmd_mm",
        np.arange(30) * 50, files.joints, files.p * 1e3,
    )  # fmt: skip
    log = read_command_log(path, delta)
    np.testing.assert_allclose(log.t, np.arange(30) * 0.05)
    np.testing.assert_allclose(log.q, files.q, atol=1e-12)


# The command.


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["calibrate", *map(str, arguments)])
    return result.exit_code, result.output


def test_the_command_plans_and_calibrates(files: Files, delta: Robot) -> None:
    robot = files.folder / "robot.yaml"
    code, text = run(robot, "--plan", 12, "--out", files.folder / "plan.csv")
    assert code == 0, text
    assert "12 poses for a tracker" in text
    path = files.write(
        "m.csv", "q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm", files.joints, files.seen * 1e3
    )
    code, text = run(robot, path, "--sigma-mm", 0.02, "--out", files.folder / "mine")
    assert code == 0, text
    assert "all parameters fitted to 30 positions" in text
    mine = dd.load_robot(str(files.folder / "mine" / "mine.yaml"))
    q = mine.from_controller(np.radians(files.joints))
    record = json.loads((files.folder / "mine" / "mine.json").read_text("utf-8"))
    frame = record["frame"]
    seen = dd.forward_kinematics(mine, q) @ np.array(frame["turn"]).T
    seen += np.array(frame["origin_mm"]) / 1e3
    assert float(np.sqrt(((seen - files.seen) ** 2).sum(axis=1).mean())) < 3e-5


def test_the_command_says_what_it_needs(files: Files) -> None:
    robot = files.folder / "robot.yaml"
    code, text = run(robot)
    assert code == 2
    assert "one of --plan N, files of measured poses, or --log FILE" in text
    code, text = run(robot, "--plan", 12, "--json")
    assert code == 0
    assert len(json.loads(text)["poses"]) == 12


# Bags.


@pytest.mark.full
def test_a_ros_bag(delta: Robot, files: Files) -> None:
    """PoseStamped with JointState: moving poses are left out and said, those of a stop averaged."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    types = pytest.importorskip("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    made = store.types
    path = files.folder / "bag"
    writer = rosbag2.Writer(path, version=9)
    writer.open()
    joints = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
    poses = writer.add_connection("/tag", "geometry_msgs/msg/PoseStamped", typestore=store)
    shown = np.radians(files.joints)

    def header(t: float) -> object:
        stamp = made["builtin_interfaces/msg/Time"](int(t), round((t % 1) * 1e9))
        return made["std_msgs/msg/Header"](stamp, "cell")

    def send(connection: object, message: object, kind: str, t: float) -> None:
        writer.write(connection, int(t * 1e9), store.serialize_cdr(message, kind))

    for k in np.arange(0.0, 59.0, 0.05):
        at, share = int(k // 2), min((k % 2) / 0.5, 1.0)  # moves for 0.5 s, stands for 1.5 s
        before = shown[max(at - 1, 0)]
        q = before + share * (shown[at] - before)
        order = np.roll(np.arange(3), int(20 * k))  # joints may come in any order
        message = made["sensor_msgs/msg/JointState"](
            header(k + 1), [f"j{i + 1}" for i in order], q[order], np.array([]), np.array([])
        )
        send(joints, message, "sensor_msgs/msg/JointState", k + 1)
    for k in range(29):
        for late in (0.2, 1.0, 1.2):
            p = files.p[k]
            point = made["geometry_msgs/msg/Point"](*p)
            turn = made["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
            message = made["geometry_msgs/msg/PoseStamped"](
                header(2 * k + late + 1), made["geometry_msgs/msg/Pose"](point, turn)
            )
            send(poses, message, "geometry_msgs/msg/PoseStamped", 2 * k + late + 1)
    writer.close()
    (found,) = read_measurements(path, delta, FileOptions(sigma=2e-5))
    assert isinstance(found, Positions)
    np.testing.assert_allclose(found.q, files.q[:29], atol=1e-9)
    np.testing.assert_allclose(found.p, files.p[:29], atol=1e-12)
    result = dd.calibrate(delta, found)
    assert "28 of 87 poses of the bag were taken while moving" in str(result)
    assert result.rms < 1e-5
