"""Measured poses from files: tables with units in their headings, and SpatialAnalyzer's text.

A table has a row per pose. Its columns, with the unit as a suffix of the name:

    q1_deg, q2_deg, q3_deg [psi_deg]   the controller's coordinates; q1_mm on rails
    x_cmd_mm, y_cmd_mm, z_cmd_mm       what was commanded; joints follow by the nominal geometry
    x_mm, y_mm, z_mm                   what was measured; z alone is a height on a plate
    sx_mm, sy_mm, sz_mm or s_mm        standard deviations
    qx, qy, qz, qw or rx, ry, rz       a camera's target: quaternion, or rotation vector in rad
    distance_mm with pair              a distance between the two rows of a pair
    bar_mm                             the length of a ball bar about a fixed ball
    pose, plate, t_s                   names, and the time

Files of detections say tx, ty, tz or tvec_x and rvec_x for the same. A file without joints is
joined to a table of poses by the name of the pose. A unit that no heading has must be given.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.field import with_psi
from deltadyn.calibration.measurements import (
    BallBar,
    Commanded,
    Distances,
    Heights,
    Measured,
    Positions,
    turned,
)
from deltadyn.errors import FileError, InputError
from deltadyn.kinematics import inverse_kinematics
from deltadyn.recording import ReadOptions
from deltadyn.recording.readers import Head
from deltadyn.recording.readers.ros import JOINT_STATE, POSE_STAMPED, is_ros, stamped
from deltadyn.robot import Robot
from deltadyn.units import unit_of

UNITS = ("m", "mm", "cm")
#: Names in files of detections, and ours.
OTHER_NAMES = {
    "tx": "x", "ty": "y", "tz": "z",
    "tvec_x": "x", "tvec_y": "y", "tvec_z": "z",
    "rvec_x": "rx", "rvec_y": "ry", "rvec_z": "rz",
    "time": "t", "timestamp": "t", "target": "pose", "point": "pose", "name": "pose",
}  # fmt: skip
LENGTHS = ("x", "y", "z", "x_cmd", "y_cmd", "z_cmd", "sx", "sy", "sz", "s", "distance", "bar")
TURNS = ("qx", "qy", "qz", "qw", "rx", "ry", "rz")
WORDS = ("pose", "plate", "pair")
REST = 0.2  # s around a bag's pose in which the joints must stand
STILL = 1e-4  # rad, or of the robot's own size on rails
_JOINT = re.compile(r"(q\d|psi)")


@dataclass(frozen=True)
class FileOptions:
    """How a file of poses is to be read.

    `unit` is that of lengths whose headings have none, `sigma` (m) the deviation where no column
    has it, `tool` (m) from the platform point to what was measured. `poses` is the table of poses
    to join a file without joints to. `frame` is "fit" or "base". `camera_moves` says that the
    camera sits on the platform and its target stands. `convention` is "controller" or "deltadyn".
    """

    unit: str | None = None
    sigma: float | None = None
    tool: tuple[float, float, float] = (0.0, 0.0, 0.0)
    poses: str | os.PathLike[str] | None = None
    frame: str = "fit"
    camera_moves: bool = False
    convention: str = "controller"

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in UNITS:
            raise InputError("unit", self.unit, " or ".join(map(repr, UNITS)))
        if self.sigma is not None and not self.sigma > 0:
            raise InputError("sigma", self.sigma, "a number above 0 m")
        if self.convention not in ("controller", "deltadyn"):
            raise InputError("convention", self.convention, "'controller' or 'deltadyn'")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file in m, rad and s, by their names without units; words as texts."""

    path: str
    numbers: Mapping[str, FloatArray]
    words: Mapping[str, tuple[str, ...]]

    @property
    def rows(self) -> int:
        lengths = [len(column) for column in self.numbers.values()]
        lengths += [len(column) for column in self.words.values()]
        return lengths[0] if lengths else 0

    def has(self, *names: str) -> bool:
        return all(name in self.numbers for name in names)

    def stack(self, *names: str) -> FloatArray:
        return np.column_stack([self.numbers[name] for name in names])


def read_measurements(
    path: str | os.PathLike[str], robot: Robot, options: FileOptions | None = None
) -> list[Measured]:
    """The measurements of a file; which instrument it was follows from its columns."""
    given = options or FileOptions()
    if is_bag(path):
        return [read_bag(path, robot, given)]
    table = read_table(path, robot, given)
    q, table = _joints(robot, table, given)
    found: list[Measured] = []
    names = table.words.get("pose")
    common: dict[str, Any] = {"names": names}
    if table.has("distance"):
        found.append(_distances(table, q, given))
    elif table.has("bar"):
        found.append(BallBar(q, table.numbers["bar"], _sigma(table, given, 5e-6), **common))
    elif table.has("x", "y", "z"):
        found.append(_positions(table, q, given, common))
    elif table.has("z"):
        tool, plate = np.asarray(given.tool), table.words.get("plate")
        sigma = table.numbers.get("sz", _sigma(table, given, 1e-5))
        known = given.sigma is not None or table.has("sz") or table.has("s")
        found.append(
            Heights(q, table.numbers["z"], sigma, plate, tool, sigma_given=known, **common)
        )
    else:
        raise _missing(table, "x, y and z, or z alone, or distance with pair, or bar")
    return found


def is_bag(path: str | os.PathLike[str]) -> bool:
    """Whether a file or a folder is a ROS bag."""
    place = Path(path)
    if not place.exists():
        return False
    start = b""
    if place.is_file():
        with place.open("rb") as file:
            start = file.read(16)
    return is_ros(Head(str(place), start, ReadOptions()))


def read_bag(
    path: str | os.PathLike[str], robot: Robot, options: FileOptions | None = None
) -> Positions:
    """Camera poses of a ROS bag: PoseStamped (m, quaternion x y z w) with JointState by stamp.

    Poses count where the joints stand still around their stamp; those of one stop are averaged.
    Joints are taken by the number that their names end in, else in their order.
    """
    given = options or FileOptions()
    times, q = _bag_joints(str(path), robot, given)
    seen = [
        (t, *(getattr(message.pose.position, k) for k in "xyz"),
         *(getattr(message.pose.orientation, k) for k in "xyzw"))
        for t, message in stamped(str(path), POSE_STAMPED)
    ]  # fmt: skip
    table = np.array(seen, dtype=float).reshape(-1, 8)
    if not len(q) or not len(table):
        found = f"{len(q)} joint states of all axes and {len(table)} poses"
        raise InputError("bag", found, "some of both", where=str(path))
    for name, values in (("joints", q), ("poses", table)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row = int(bad[0][0])
            raise InputError(
                f"{name} of the bag", values[row].tolist(), "finite numbers",
                where=f"{path}, message {row + 1}",
            )  # fmt: skip

    def at(when: FloatArray) -> FloatArray:
        return np.column_stack([np.interp(when, times, column) for column in q.T])

    radian = np.array(robot.radian)
    here = at(table[:, 0])
    moved = np.max(
        [np.abs(at(table[:, 0] + side) - here) / radian for side in (-REST, REST)], axis=(0, 2)
    )
    still = moved < STILL
    if not still.any():
        least = float(moved.min()) if moved.size else np.nan
        raise InputError(
            "poses of the bag", f"{len(table)}, all while the joints moved (by {least:.2g} rad at "
            f"least within {REST:g} s)", "poses at which the robot stands still",
        )  # fmt: skip
    rows, joints = table[still], here[still]
    stop = np.concatenate(
        [[0], np.cumsum(np.abs(np.diff(joints, axis=0) / radian).max(axis=1) > 10 * STILL)]
    )
    columns = dict(zip(("qx", "qy", "qz", "qw"), rows[:, 4:].T, strict=True))
    turns = _turns(Table(str(path), columns, {}))
    assert turns is not None
    groups = [np.flatnonzero(stop == k) for k in np.unique(stop)]
    mean = np.stack([_mean_turn(turns[own]) for own in groups])
    point = np.stack([rows[own, 1:4].mean(axis=0) for own in groups])
    if given.camera_moves:
        mean = np.swapaxes(mean, 1, 2)
        point = -np.einsum("nij,nj->ni", mean, point)
    left = int((~still).sum())
    notes = (f"{left} of {len(table)} poses of the bag were taken while moving and left out",)
    return Positions(
        np.stack([joints[own].mean(axis=0) for own in groups]), point,
        2e-4 if given.sigma is None else given.sigma, given.frame, given.tool, mean,
        sigma_given=given.sigma is not None, kind="camera poses", notes=notes if left else (),
    )  # fmt: skip


def _bag_joints(path: str, robot: Robot, given: FileOptions) -> tuple[FloatArray, FloatArray]:
    """Times (N,) and joints (N, dof) of a bag, in the robot file's convention."""
    times, rows = [], []
    axes: list[str] = []  # names of the joints, in the order of the axes
    for t, message in stamped(path, JOINT_STATE):
        place = {name: k for k, name in enumerate(message.name)}  # any order, message by message
        if not axes:
            axes = list(message.name)
            ends = [re.search(r"(\d+)$", name) for name in axes]
            if None not in ends:
                axes.sort(key=_ending)
            if len(axes) < robot.dof:
                raise InputError("joints of the bag", axes, f"{robot.dof}, one per axis")
        known = len(message.position)
        if all(place.get(name, known) < known for name in axes[: robot.dof]):
            times.append(t)
            rows.append([message.position[place[name]] for name in axes[: robot.dof]])
    q = np.array(rows, dtype=float).reshape(-1, robot.dof)
    ours = q if given.convention == "deltadyn" else np.asarray(robot.from_controller(q))
    return np.array(times), ours


def _ending(name: str) -> tuple[int, str]:
    """What sorts names by the number that they end in, however long it is."""
    digits = name[len(name.rstrip("0123456789")) :].lstrip("0")
    return len(digits), digits


def _mean_turn(turns: FloatArray) -> FloatArray:
    """The rotation nearest to the mean of some."""
    u, _, vt = np.linalg.svd(turns.mean(axis=0))
    out: FloatArray = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return out


def read_command_log(
    path: str | os.PathLike[str], robot: Robot, options: FileOptions | None = None
) -> Commanded:
    """Times, encoders and commanded points of a log: t_s, q1_deg ..., x_cmd_mm (or x_mm) ..."""
    given = options or FileOptions()
    table = read_table(path, robot, given)
    joints = _joint_names(robot)
    if not table.has("t", *joints):
        raise _missing(table, ", ".join(("t_s", *joints)))
    point = ("x_cmd", "y_cmd", "z_cmd") if table.has("x_cmd", "y_cmd", "z_cmd") else ("x", "y", "z")
    if not table.has(*point):
        raise _missing(table, "x_cmd, y_cmd and z_cmd")
    return Commanded(table.numbers["t"], _ours(robot, table, given), table.stack(*point))


def read_table(
    path: str | os.PathLike[str], robot: Robot | None = None, options: FileOptions | None = None
) -> Table:
    """The columns of a file, in m, rad and s; SpatialAnalyzer's text where it has no headings."""
    given = options or FileOptions()
    text = _text(path)
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith(("#", "//"))
    ]
    if not lines:
        raise FileError.of_file(str(path), "has no rows", "a table of poses")
    if _is_spatial_analyzer(lines[0][1]):
        return _spatial_analyzer(str(path), lines, given)
    return _headed(str(path), lines, given)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8-sig")
    except FileNotFoundError:
        raise FileError.of_file(str(path), "does not exist", "a file of poses") from None
    except UnicodeDecodeError:
        raise FileError.of_file(str(path), "is no text", "CSV, or SpatialAnalyzer's text") from None


def _headed(path: str, lines: Sequence[tuple[int, str]], given: FileOptions) -> Table:
    """A table with headings."""
    separator = max((",", ";", "\t"), key=lines[0][1].count)
    heads = [cell.strip().strip('"') for cell in lines[0][1].split(separator)]
    columns = [_heading(path, lines[0][0], head, given) for head in heads]
    cells: list[list[str]] = [[] for _ in heads]
    places: list[int] = []
    for number, line in lines[1:]:
        row = next(csv.reader(io.StringIO(line), delimiter=separator))
        if len(row) != len(heads):
            raise FileError(
                "row", f"{len(row)} cells", f"{len(heads)}, as many as headings", path=path,
                line=number,
            )  # fmt: skip
        places.append(number)
        for place, cell in enumerate(row):
            cells[place].append(cell.strip())
    if not places:
        raise FileError.of_file(path, "has headings and no rows", "a row per pose")
    numbers: dict[str, FloatArray] = {}
    words: dict[str, tuple[str, ...]] = {}
    for (name, factor), column, head in zip(columns, cells, heads, strict=True):
        if name in WORDS:
            words[name] = tuple(column)
        elif name is not None:
            if name in numbers:
                raise FileError(
                    "heading", head, f"one column of {name}", path=path, line=lines[0][0]
                )
            numbers[name] = _values(path, column, places, head, separator) * factor
    return Table(path, numbers, words)


def _heading(path: str, line: int, head: str, given: FileOptions) -> tuple[str | None, float]:
    """Our name of a heading and its factor to SI; None where it is of no use here."""
    low = head.lower().replace(" ", "_").replace("(", "").replace(")", "").replace("[", "_")
    low = re.sub(r"_+", "_", low.replace("]", "")).strip("_")
    if low in OTHER_NAMES:
        low = OTHER_NAMES[low]
    base, _, suffix = low.rpartition("_")
    base = OTHER_NAMES.get(base, base)
    if low in WORDS or low in TURNS:
        return low, 1.0
    if base in LENGTHS:
        unit = unit_of("length", suffix)
        if unit is None:
            raise _unit_error(path, line, head, "length")
        return base, unit.to_si(1.0)
    if low in LENGTHS:
        if given.unit is None:
            raise FileError(
                "unit", head, f"a heading as {head}_mm or {head}_m, or the unit of the file "
                "(unit=..., --unit)", path=path, line=line,
            )  # fmt: skip
        found = unit_of("length", given.unit)
        return low, 1.0 if found is None else found.to_si(1.0)
    if _JOINT.fullmatch(base):
        joint = unit_of("angle", suffix) or unit_of("length", suffix)
        if joint is None:
            raise _unit_error(path, line, head, "joint")
        return base, joint.to_si(1.0)
    if _JOINT.fullmatch(low):
        raise _unit_error(path, line, head, "joint")
    if base == "t" or low == "t":
        return "t", {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}.get(suffix, 1.0)
    return None, 1.0


def _unit_error(path: str, line: int, head: str, kind: str) -> FileError:
    allowed = (
        "x_mm, x_m or x_cm" if kind == "length" else "q1_deg or q1_rad, on rails q1_mm or q1_m"
    )
    return FileError("unit", head, f"a heading as {allowed}", path=path, line=line)


def _values(
    path: str, cells: Sequence[str], places: Sequence[int], head: str, separator: str
) -> FloatArray:
    """Numbers of a column; a decimal comma where the separator is none."""
    out = np.empty(len(cells))
    for k, cell in enumerate(cells):
        text = cell.replace(",", ".") if separator != "," else cell
        try:
            out[k] = float(text) if text else np.nan
        except ValueError:
            raise FileError(
                "cell", cell, "a number", path=path, line=places[k], column=head
            ) from None
    return out


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def _cells(line: str) -> list[str]:
    return [cell for cell in re.split(r"[,;\s]+", line.strip()) if cell]


def _is_spatial_analyzer(line: str) -> bool:
    """A row of [collection group] target x y z and no headings."""
    cells = _cells(line)
    if len(cells) < 4:
        return False
    return _has_point(cells, _point_place(cells))


def _spatial_analyzer(path: str, lines: Sequence[tuple[int, str]], given: FileOptions) -> Table:
    """[Collection Group] Target x y z [uncertainty ...], by space or comma, without a unit."""
    if given.unit is None:
        raise FileError.of_file(
            path, "has no headings and no unit", "the unit of its lengths (unit=..., --unit)"
        )
    factor = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}[given.unit]
    first = _cells(lines[0][1])
    at = _point_place(first)
    points, names = [], []
    for number, line in lines:
        cells = _cells(line)
        if not _has_point(cells, at):
            raise FileError(
                "row", line.strip()[:60], "[collection group] target x y z, as the rows before it",
                path=path, line=number,
            )  # fmt: skip
        names.append(cells[at - 1])
        points.append([float(cell) * factor for cell in cells[at : at + 3]])
    table = np.array(points)
    return Table(path, dict(zip("xyz", table.T, strict=True)), {"pose": tuple(names)})


def _point_place(cells: Sequence[str]) -> int:
    """Where x stands: behind the target's name, which may be a whole number behind its group."""
    words = next((k for k, cell in enumerate(cells) if _NUMBER.fullmatch(cell)), len(cells))
    if words == 0:
        return 1
    numbered = words < 3 and cells[words].isdigit() and _has_point(cells, words + 1)
    return words + 1 if numbered else words


def _has_point(cells: Sequence[str], at: int) -> bool:
    return len(cells) >= at + 3 and all(_NUMBER.fullmatch(cell) for cell in cells[at : at + 3])


def _missing(table: Table, names: str) -> FileError:
    found = ", ".join((*table.numbers, *table.words)) or "none"
    return FileError.of_file(table.path, f"has the columns {found}", f"columns {names}")


def _joint_names(robot: Robot) -> tuple[str, ...]:
    own = tuple(f"q{i + 1}" for i in range(robot.legs))
    return (*own, "psi") if robot.dof > robot.legs else own


def _ours(robot: Robot, table: Table, given: FileOptions) -> FloatArray:
    """Joint coordinates in the robot file's convention; psi is 0 where a file has none."""
    names = _joint_names(robot)
    columns = [table.numbers[name] if table.has(name) else np.zeros(table.rows) for name in names]
    q = np.column_stack(columns)
    return q if given.convention == "deltadyn" else np.asarray(robot.from_controller(q))


def _joints(robot: Robot, table: Table, given: FileOptions) -> tuple[FloatArray, Table]:
    """Joints of a table: its own, those of its commands, or of a table of poses by name."""
    if table.has(*(f"q{i + 1}" for i in range(robot.legs))):
        return _ours(robot, table, given), table
    if table.has("x_cmd", "y_cmd", "z_cmd"):
        points = table.stack("x_cmd", "y_cmd", "z_cmd")
        return inverse_kinematics(robot, with_psi(robot, points)), table
    if given.poses is None:
        raise _missing(table, "q1, q2, q3 with their unit, or a table of poses to join (--poses)")
    poses = read_table(given.poses, robot, given)
    q, poses = _joints(robot, poses, replace(given, poses=None))
    return q[_matched(table, poses)], table


def _matched(table: Table, poses: Table) -> Any:
    """Rows of the poses for every row of a table, by name or by the number in it."""
    known = poses.words.get("pose") or tuple(str(k + 1) for k in range(poses.rows))
    places = {name: k for k, name in enumerate(known)}
    names = table.words.get("pose")
    if names is None:
        if table.rows != poses.rows:
            raise InputError(
                "rows", table.rows, f"{poses.rows}, as many as poses, where no column names them"
            )
        return np.arange(table.rows)
    out = []
    for name in names:
        number = re.search(r"(\d+)\D*$", name)
        short = (number[1].lstrip("0") or "0") if number else name
        if name not in places and short not in places:
            raise InputError("pose", name, f"a pose of {poses.path}: {', '.join(known[:5])}, ...")
        out.append(places.get(name, places.get(short, 0)))
    return np.array(out)


def _sigma(table: Table, given: FileOptions, usual: float) -> Any:
    if table.has("s"):
        return table.numbers["s"]
    return usual if given.sigma is None else given.sigma


def _positions(
    table: Table, q: FloatArray, given: FileOptions, common: Mapping[str, Any]
) -> Positions:
    turns = _turns(table)
    point = table.stack("x", "y", "z")
    if given.camera_moves:
        if turns is None:
            raise _missing(table, "qx, qy, qz, qw or rx, ry, rz: the camera moves")
        # the target in the camera's axes; turned round, the camera in the target's
        turns = np.swapaxes(turns, 1, 2)
        point = -np.einsum("nij,nj->ni", turns, point)
    own = table.has("sx", "sy", "sz")
    sigma = table.stack("sx", "sy", "sz") if own else _sigma(table, given, 2e-5)
    known = own or table.has("s") or given.sigma is not None
    return Positions(
        q, point, sigma, given.frame, given.tool, turns,
        times=table.numbers.get("t"), sigma_given=known,
        kind="positions" if turns is None else "camera poses", **common,
    )  # fmt: skip


def _turns(table: Table) -> FloatArray | None:
    """Rotations (N, 3, 3) of quaternions (x, y, z, w) or rotation vectors."""
    if table.has("qx", "qy", "qz", "qw"):
        quaternion = table.stack("qx", "qy", "qz", "qw")
        size = np.linalg.norm(quaternion, axis=1)
        bad = np.flatnonzero(np.abs(size - 1) > 0.01)
        if bad.size:
            row = int(bad[0])
            raise InputError(
                "quaternion", f"of length {size[row]:.4g}", "1", where=f"row {row + 1}"
            )
        vector, w = quaternion[:, :3] / size[:, None], quaternion[:, 3] / size
        sine = np.linalg.norm(vector, axis=1)
        angle = 2 * np.arctan2(sine, w)
        axis = vector / np.where(sine > 0, sine, 1.0)[:, None]
        return np.stack([turned(v) for v in axis * angle[:, None]])
    if table.has("rx", "ry", "rz"):
        return np.stack([turned(v) for v in table.stack("rx", "ry", "rz")])
    return None


def _distances(table: Table, q: FloatArray, given: FileOptions) -> Distances:
    """Pairs of rows with one distance."""
    pairs = table.words.get("pair")
    if pairs is None:
        raise _missing(table, "pair beside distance: two rows each")
    rows: dict[str, list[int]] = {}
    for k, name in enumerate(pairs):
        rows.setdefault(name, []).append(k)
    for name, own in rows.items():
        if len(own) != 2:
            raise InputError(f"rows of pair {name}", len(own), "two")
    first, second = (np.array([own[k] for own in rows.values()]) for k in (0, 1))
    distance = table.numbers["distance"]
    value = np.where(np.isfinite(distance[first]), distance[first], distance[second])
    sigma = _sigma(table, given, 5e-5)
    if np.ndim(sigma):
        sigma = np.where(np.isfinite(sigma[first]), sigma[first], sigma[second])
    known = given.sigma is not None or table.has("s")
    return Distances(q[first], q[second], value, sigma, tuple(rows), sigma_given=known)
