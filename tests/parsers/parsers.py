"""The parsers: good inputs of several shapes, how they are damaged, and the call that reads them.

An input is a set of files by name; the parser is given the folder that they stand in.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from tests.mutations import (
    Mutator,
    Rng,
    changed_bytes,
    changed_end,
    changed_json,
    changed_members,
    changed_numbers,
    changed_tokens,
)

import deltadyn as dd
from deltadyn.errors import InputError

Files = Mapping[str, bytes]

ROWS = 16
NAMES = ["t_s", "q1_rad", "q2_rad", "q3_rad", "tau1_Nm", "tau2_Nm", "tau3_Nm"]
DATA_0_1 = Path(__file__).parents[1] / "data_0_1"


@dataclass(frozen=True)
class Parser:
    """Good inputs, `read(folder)`, and the changes among which one is drawn for each input.

    Every change takes the content of one file; `ends` gives those for names that end so, others
    have `changes`.
    """

    goods: Sequence[Files]
    read: Callable[[Path], object]
    changes: Sequence[Mutator]
    ends: Mapping[str, Sequence[Mutator]] | None = None

    def damaged(self, seed: int, number: int) -> dict[str, bytes]:
        """The input of this number."""
        rng = np.random.default_rng([seed, number])
        files = dict(self.goods[number % len(self.goods)])
        name = list(files)[int(rng.integers(0, len(files)))]
        own = next((v for end, v in (self.ends or {}).items() if name.endswith(end)), self.changes)
        files[name] = own[int(rng.integers(0, len(own)))](files[name], rng)
        return files


TEXT = (changed_bytes, changed_tokens, changed_tokens)
BINARY = (changed_bytes, changed_numbers, changed_numbers)
JSON = (changed_bytes, changed_json, changed_json)


def log() -> tuple[Any, Any, Any]:
    """Times (N,), angles and torques (N, 3)."""
    rng = np.random.default_rng(1)
    t = np.arange(ROWS) / 1000
    q = 0.3 + 0.1 * np.sin(40 * t[:, None] + np.arange(3))
    return t, q, rng.uniform(-5, 5, (ROWS, 3))


def reads_recording(name: str = "") -> Callable[[Path], object]:
    robot = dd.load_robot("example-delta")
    return lambda folder: dd.read_recording(folder / name, robot)


def written(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


# Texts.


ROBOTS = (
    b"""\
deltadyn: 1
name: small
geometry:
  base_radius_m: {value: 0.2, source: drawing}
  platform_radius_m: 0.05
  arm_length_m: [0.3, 0.3, 0.3]
  strut_length_m: 0.7
arm: {mass_kg: 1, com_m: 0.12, inertia_kgm2: 0.008}
strut: {mass_kg: 0.12, com_fraction: 0.5, inertia_kgm2: 0.0049}
platform: {mass_kg: 0.5}
""",
    b"""\
deltadyn: 1
name: small-linear
actuation: linear
geometry: {base_radius_m: 0.3, platform_radius_m: 0.06, strut_length_m: 0.5}
carriage: {mass_kg: 0.7}
strut: {mass_kg: 0.07, com_fraction: 0.5, inertia_kgm2: 0.0015}
platform: {mass_kg: 0.6}
""",
)


def robot_file(folder: Path) -> Parser:
    """Small files, and among them some with every field."""
    from deltadyn.robot.file import robot_text

    names = ("example-delta", "example-delta-4", "example-linear-delta", "quattro-s650-like")
    texts = [robot_text(dd.load_robot(name)).encode() for name in names]
    texts.append(written(DATA_0_1, "robot.yaml"))
    goods = [good for text in texts for good in (text, *ROBOTS * 4)]
    return Parser(
        [{"robot.yaml": text} for text in goods],
        lambda folder: dd.load_robot(folder / "robot.yaml"),
        TEXT,
    )


COLUMNS = (
    b"""\
columns:
  Enc A: q1_deg
  2: {quantity: q, axis: 2, unit: deg, sign: -1}
  "3": {quantity: tau, axis: 1, unit: Nm, scale: 1e-3, offset: 0.5}
  note: null
""",
    b"Enc A: q1_rad\nb: {quantity: current, axis: 2, unit: A, torque_constant: 0.3, side: motor}\n",
)


def column_map(folder: Path) -> Parser:
    from deltadyn.recording.column_maps import read_column_map
    from deltadyn.recording.columns import Column

    columns = [Column(name) for name in ("Enc A", "b", "c", "note")]
    return Parser(
        [{"columns.yaml": text} for text in COLUMNS],
        lambda folder: read_column_map(folder / "columns.yaml", columns, "log.csv"),
        TEXT,
    )


TOML = b"""\
[project]
robot = "example-delta"
columns = "columns.yaml"
[reading]
sample_time = 0.001
torque_side = "motor"
rated_torque = [1.5, 1.5, 1.5]
[identify]
method = "convex"
seed = 3
payload = 0.5
hold = true
validate = ["a.csv", "b.csv"]
[runs.identify]
arguments = ["--method", "convex", "--", "robot.yaml", "log.csv"]
deltadyn = "0.2"
[runs.identify.inputs]
"log.csv" = "ab12"
"""


def project_file(folder: Path) -> Parser:
    import os

    from deltadyn.cli import main
    from deltadyn.commands.common import reading_options
    from deltadyn.commands.project import (
        changed_inputs,
        defaults,
        project_robot,
        read_project,
        refuse_hidden,
    )

    def read(folder: Path) -> object:
        before = Path.cwd()
        os.chdir(folder)
        try:
            found = read_project() or {}
            runs = found.get("runs", {})
            changed = [changed_inputs(run) for run in runs.values()]
            for run in runs.values():
                refuse_hidden(run)
            given = defaults(main)
            try:
                calls = [
                    main.commands[name].make_context(name, ["a", "b"], default_map=given.get(name))
                    for name in ("identify", "validate")
                ]
            except click.ClickException as error:  # what click says in a sentence itself
                raise InputError("option", error.format_message()[:80], "its own") from None
            reading = reading_options(calls[0].params["columns"], calls[0].params["read"])
            return found, project_robot(), changed, reading
        finally:
            os.chdir(before)

    return Parser([{"deltadyn.toml": TOML}], read, TEXT)


def motion_table(folder: Path) -> Parser:
    robot = dd.load_robot("example-delta")
    joints = b"t_s,q1_rad,q2_rad,q3_rad\n" + b"".join(
        f"{k / 100},{0.1 + k / 1000},0.2,0.3\n".encode() for k in range(ROWS)
    )
    points = b"t_s,x_m,y_m,z_m\n" + b"".join(
        f"{k / 100},{k / 1000},0.01,{robot_height(robot)}\n".encode() for k in range(ROWS)
    )
    degrees = joints.replace(b"_rad", b"_deg")
    return Parser(
        [{"motion.csv": text} for text in (joints, points, degrees)],
        lambda folder: dd.motion.read_motion(folder / "motion.csv", robot),
        TEXT,
    )


def csv_log(folder: Path) -> Parser:
    """Separators, decimal marks, units, quotes, comments, dates, encodings."""
    t, q, tau = log()
    rows = [[f"{x:.6f}" for x in row] for row in np.column_stack([t, q, tau]).tolist()]

    def joined(names: Sequence[str], cells: Sequence[Sequence[str]], mark: str) -> str:
        return "".join(mark.join(line) + "\n" for line in (names, *cells))

    commas = [[cell.replace(".", ",") for cell in row] for row in rows]
    units = [["s", "rad", "rad", "rad", "Nm", "Nm", "Nm"], *commas]
    bare = ["t", "q1", "q2", "q3", "tau1", "tau2", "tau3"]
    dated = [[f"2026-11-16 12:00:{float(row[0]) + 1:06.3f}", *row[1:]] for row in rows]
    more = [["12", *row, "a text", ""] for row in rows]
    plain = joined(NAMES, rows, ",")
    texts = [
        plain,
        joined(bare, units, ";"),
        joined(
            ["Time [ms]", *NAMES[1:]], [[f"{1e3 * float(t):g}", *rest] for t, *rest in rows], "\t"
        ),
        "# name: a log\n# payload_kg: 1.5\n# " + joined(NAMES, rows, "  "),
        joined([f'"{name}"' for name in NAMES], [[f'"{x}"' for x in row] for row in rows], ","),
        joined(["time", *NAMES[1:]], dated, ";"),
        "a title\n" + joined(["n", *NAMES, "remark", ""], more, ",").replace("\n", "\r\n"),
        joined(NAMES, rows, "|")[:-1],
    ]
    goods = [text.encode() for text in texts]
    goods += [plain.encode("utf-16"), b"\xef\xbb\xbf" + goods[1], gzip.compress(goods[0], mtime=0)]
    return Parser([{"log.csv": data} for data in goods], reads_text("log.csv"), TEXT)


def twincat_log(folder: Path) -> Parser:
    """Exports of TwinCAT Scope: separators, one group or several, full time stamps."""
    t, q, tau = log()
    values = np.column_stack([q, tau])
    channels = ["q1_rad", "q2_rad", "q3_rad", "tau1_Nm", "tau2_Nm", "tau3_Nm"]
    keys = {"SymbolComment": "", "Data-Type": "REAL64", "SampleTime[ms]": "1", "Unit": "(None)"}

    def export(groups: Sequence[Sequence[int]], mark: str, *, full: bool) -> str:
        lines = [f"Name{mark}Scope 1", f"File{mark}C:\\scope.csv"]
        lines += [mark.join(["Starttime of export", "132959691000000000", "Montag"]), "", ""]
        rows = {"Name": [x for own in groups for x in ("Name", *(channels[k] for k in own))]}
        for key, value in keys.items():
            rows[key] = [x for own in groups for x in (key, *[value] * len(own))]
        lines += [*(mark.join(cells) for cells in rows.values()), ""]
        for k in range(ROWS):
            stamp = f"{132959691000000000 + 10000 * k}" if full else f"{1e3 * t[k]:g}"
            cells = [x for own in groups for x in (stamp, *(f"{values[k, i]:.5f}" for i in own))]
            text = mark.join(cells)
            lines.append(text if full or mark == "," else text.replace(".", ","))
        return "\r\n".join([*lines, "EOF", ""])

    one, several = [range(6)], [range(3), range(3, 6)]
    texts = [
        export(one, "\t", full=False),
        export(one, ";", full=False),
        export(one, ",", full=False),
        export(several, "\t", full=False),
        export(several, ";", full=True),
    ]
    return Parser([{"log.csv": text.encode()} for text in texts], reads_text("log.csv"), TEXT)


def reads_text(name: str) -> Callable[[Path], object]:
    """Some inputs whole, some in pieces, some with bad rows left out: as their content says."""
    from deltadyn.recording.prepare.stream import Streamed

    robot = dd.load_robot("example-delta")

    def read(folder: Path) -> object:
        path = folder / name
        way = zlib.crc32(path.read_bytes()) % 3
        if way == 0:
            return dd.read_recording(path, robot)
        if way == 1:
            return dd.read_recording(path, robot, bad_rows="skip", interpolate=True)
        return [len(piece) for piece in Streamed(robot, path, rows=5).pieces()]

    return read


def robot_height(robot: dd.Robot) -> float:
    space = robot.limits.workspace
    assert space is not None
    return (space.z_min + space.z_max) / 2


def fit_record(folder: Path) -> Parser:
    """The JSON beside a fitted robot, and the one beside a report."""
    from deltadyn.report.comparison import (
        _first,
        _parameters,
        _provenance,
        _residuals,
        compare_fits,
    )

    old = json.loads(written(DATA_0_1, "fit.json"))
    old["parameters"] = old["parameters"][:4]
    del old["covariance"], old["provenance"]["robot_before"]
    new = {
        **old,
        "verdict": {"grade": "good", "text": "fits"},
        "parameters": [
            {**row, "interval_95": [0.0, 1.0], "of": "log" if k == 3 else "robot"}
            for k, row in enumerate(old["parameters"])
        ],
        "band_Hz": 40.0,
    }
    rails = {key: value for key, value in new.items() if key != "residual_rms_Nm"}
    rails |= {"residual_rms_N": [1.0, 2.0, 3.0], "axis_units": {"tau": ["N", "N", "N"]}}
    report = {"kind": "deltadyn report", "fit": new, "verdict": {"grade": "good"}}
    first = json.dumps(old).encode()

    def read(folder: Path) -> object:
        found = compare_fits([folder / "first.json", folder / "second.json"])
        told = str(found), json.dumps(found.as_dict())
        if zlib.crc32(written(folder, "second.json")) % 64 == 0:  # figures take a while
            return told, [part(found) for part in (_first, _parameters, _residuals, _provenance)]
        return told

    texts = [json.dumps(item).encode() for item in (old, new, rails, report)]
    return Parser([{"first.json": first, "second.json": text} for text in texts], read, JSON)


def small_information() -> Any:
    from deltadyn.identification.information import Information

    return Information(
        "exact",
        "a robot",
        ("M_P", "A_1"),
        np.ones((3, 3, 3, 3)),
        np.full((3, 3), 100),
        np.zeros((3, 3), dtype=np.int64),
        np.full(3, 0.2),
        np.zeros(3),
        np.zeros(3, dtype=np.int64),
        np.array([1.0, 0.0]),
        ("log",),
    )


def saved_information(folder: Path) -> Parser:
    from deltadyn.identification.information import load_information
    from deltadyn.identification.terms.recall import recall

    small_information().save(folder / "plain.npz")

    def read(folder: Path) -> object:
        found = load_information(folder / "information.npz")
        assert np.isfinite(found.factors).all()
        assert found.factors.shape[-1] == len(found.names) + 1
        return recall(found, "auto")

    goods = (written(folder, "plain.npz"), written(DATA_0_1, "information.npz"))
    members = [partial(changed_members, change=change) for change in BINARY]
    return Parser([{"information.npz": data} for data in goods], read, (changed_bytes, *members))


# Logs of other programs.


def matlab_5(folder: Path) -> Parser:
    import scipy.io

    t, q, tau = log()
    values = {"t_s": t, "q_rad": q, "tau_Nm": tau}
    shapes: list[tuple[dict[str, Any], bool]] = [
        (values, False),
        ({"log": {**values, "name": "a name", "deep": {"x": t}}}, False),
        ({**values, "note": "text", "cell": np.array([t, "a"], dtype=object)}, True),
    ]
    goods = []
    for number, (content, packed) in enumerate(shapes):
        scipy.io.savemat(folder / f"{number}.mat", content, do_compression=packed)
        goods.append({"log.mat": written(folder, f"{number}.mat")})
    return Parser(goods, reads_recording("log.mat"), (*BINARY, changed_packed))


def changed_packed(good: bytes, rng: Rng) -> bytes:
    """The content of a packed element of a MATLAB file changed, and packed again."""
    at, found = 128, []
    while at + 8 <= len(good):
        kind, size = np.frombuffer(good, "<u4", 2, at).tolist()
        found.append((kind, at, size))
        at += 8 + size
    kind, at, size = found[int(rng.integers(0, len(found)))]
    content = good[at + 8 : at + 8 + size]
    if kind != 15:
        return good[: at + 8] + changed_numbers(content, rng) + good[at + 8 + size :]
    packed = zlib.compress(changed_numbers(zlib.decompress(content), rng))
    return b"".join(
        [good[: at + 4], len(packed).to_bytes(4, "little"), packed, good[at + 8 + size :]]
    )


def matlab_73(folder: Path) -> Parser:
    import h5py

    t, q, tau = log()
    goods = []
    ways: list[dict[str, Any]] = [
        {},
        {"compression": "gzip", "shuffle": True},
        {"chunks": True, "fletcher32": True},
    ]
    for number, options in enumerate(ways):
        path = folder / f"{number}.mat"
        library: Any = "latest" if number == 2 else "earliest"
        with h5py.File(path, "w", userblock_size=512, libver=library) as file:
            group = file.create_group("log")
            for name, values in {"t_s": t[None], "q_rad": q.T, "tau_Nm": tau.T}.items():
                group.create_dataset(name, data=values, **options)
                group[name].attrs["MATLAB_class"] = np.bytes_("double")
            note = file.create_dataset("name", data=np.array([[ord(c)] for c in "run"], np.uint16))
            note.attrs["MATLAB_class"] = np.bytes_("char")
            references = file.create_group("#refs#")
            references["x"] = np.zeros(3)
            group["cell"] = np.array([references["x"].ref], h5py.ref_dtype)
            group["again"] = h5py.SoftLink("/name")
            group["beyond"] = h5py.ExternalLink("other.mat", "/log")
        content = bytearray(path.read_bytes())
        content[:19] = b"MATLAB 7.3 MAT-file"
        goods.append({"log.mat": bytes(content)})
    return Parser(goods, reads_recording("log.mat"), BINARY)


def parquet(folder: Path) -> Parser:
    import pyarrow
    import pyarrow.parquet

    t, q, tau = log()
    columns = [pyarrow.array(values) for values in (t, *q.T, *tau.T)]
    fields = [pyarrow.field(name, pyarrow.float64(), metadata={"unit": ""}) for name in NAMES]
    plain = pyarrow.Table.from_arrays(columns, NAMES)
    named = pyarrow.Table.from_arrays(
        [column.cast(pyarrow.float32()) for column in columns], NAMES
    ).replace_schema_metadata({"deltadyn.name": "run", "deltadyn.payload_kg": "0.5"})
    mixed = pyarrow.table(
        {
            **dict(zip(NAMES, columns, strict=True)),
            "note": ["text"] * ROWS,
            "list": [[1.0, 2.0]] * ROWS,
            "when": pyarrow.array(np.arange(ROWS), pyarrow.timestamp("ns")),
            "again": pyarrow.array(["a", "b"] * (ROWS // 2)).dictionary_encode(),
        }
    )
    unit = plain.cast(pyarrow.schema(fields))
    goods = []
    options: list[tuple[Any, dict[str, Any]]] = [
        (plain, {"compression": "none"}),
        (named, {"compression": "snappy", "row_group_size": 5}),
        (mixed, {"compression": "zstd", "data_page_version": "2.0"}),
        (unit, {"compression": "gzip", "use_dictionary": False}),
    ]
    for number, (table, how) in enumerate(options):
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet", **how)
        goods.append({"log.parquet": written(folder, f"{number}.parquet")})
    return Parser(goods, reads_recording("log.parquet"), (*BINARY, changed_end, changed_end))


def lerobot(folder: Path) -> Parser:
    import pyarrow
    import pyarrow.parquet

    _, q, tau = log()
    columns = {
        "observation.state": pyarrow.array(q.tolist(), pyarrow.list_(pyarrow.float32())),
        "observation.effort": pyarrow.array(tau.tolist(), pyarrow.list_(pyarrow.float32(), 3)),
        "action": pyarrow.array((q + 0.01).tolist(), pyarrow.list_(pyarrow.float32())),
        "timestamp": pyarrow.array((np.arange(ROWS) / 1000).astype(np.float32)),
        "frame_index": pyarrow.array(np.arange(ROWS)),
        "episode_index": pyarrow.array(np.zeros(ROWS, dtype=np.int64)),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "file.parquet", compression="none")
    vector = {"dtype": "float32", "shape": [3], "names": [f"joint_{i}.pos" for i in (1, 2, 3)]}
    effort = {**vector, "names": {"motors": [f"joint_{i}.effort" for i in (1, 2, 3)]}}
    features = {"observation.state": vector, "action": vector, "observation.effort": effort}
    info = {"codebase_version": "v3.0", "fps": 1000, "features": features}
    files = {
        "meta/info.json": json.dumps(info).encode(),
        "data/chunk-000/file-000.parquet": written(folder, "file.parquet"),
    }
    return Parser([files], reads_recording(), (*BINARY, changed_end), {".json": JSON})


def bag(folder: Path, *, mcap: bool, poses: bool = False) -> Files:
    """Joint states, and where asked for poses that are seen while the joints stand still."""
    from rosbags import rosbag2, typesys

    _, q, tau = log()
    if poses:
        q = np.repeat(q[:4], 4, axis=0)
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    types: Any = store.types
    plugin = rosbag2.StoragePlugin.MCAP if mcap else rosbag2.StoragePlugin.SQLITE3

    def header(t: float) -> Any:
        stamp = types["builtin_interfaces/msg/Time"](int(t), round((t % 1) * 1e9))
        return types["std_msgs/msg/Header"](stamp, "cell")

    joint, pose = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped"
    step = 0.5 if poses else 1e-3
    with rosbag2.Writer(folder, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", joint, typestore=store)
        other = writer.add_connection("/tag", pose, typestore=store) if poses else None
        for k in range(ROWS):
            t = 1 + step * k
            names = [f"joint_{i}" for i in (1, 2, 3)]
            message = types[joint](header(t), names, q[k], np.zeros(0), tau[k])
            writer.write(connection, int(t * 1e9), store.serialize_cdr(message, joint))
            if other is not None:
                point = types["geometry_msgs/msg/Point"](0.1, 0.2, 0.3)
                turn = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
                seen = types[pose](header(t), types["geometry_msgs/msg/Pose"](point, turn))
                writer.write(other, int(t * 1e9), store.serialize_cdr(seen, pose))
    return {f"bag/{path.name}": path.read_bytes() for path in sorted(folder.iterdir())}


def ros_db3(folder: Path) -> Parser:
    files = bag(folder / "bag", mcap=False)
    alone = {name: data for name, data in files.items() if name.endswith(".db3")}
    changes = (*BINARY, changed_rows, changed_rows)
    return Parser([files, *[alone] * 7], reads_bag("*.db3"), changes, {".yaml": TEXT})


def ros_mcap(folder: Path) -> Parser:
    files = bag(folder / "bag", mcap=True)
    alone = {name: data for name, data in files.items() if name.endswith(".mcap")}
    changes = (*BINARY, changed_end)
    return Parser([files, *[alone] * 7], reads_bag("*.mcap"), changes, {".yaml": TEXT})


def reads_bag(pattern: str) -> Callable[[Path], object]:
    """A folder with its metadata, or the file alone."""
    robot = dd.load_robot("example-delta")

    def read(folder: Path) -> object:
        whole = (folder / "bag" / "metadata.yaml").exists()
        path = folder / "bag" if whole else next((folder / "bag").glob(pattern))
        return dd.read_recording(path, robot)

    return read


def changed_rows(good: bytes, rng: Rng) -> bytes:
    """A cell of a SQLite file changed by a statement: pages and checks stay sound."""
    base = sqlite3.connect(":memory:")
    base.deserialize(good[:18] + b"\1\1" + good[20:])  # without a write-ahead log
    tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    table = tables[int(rng.integers(0, len(tables)))]
    rows = base.execute(f"SELECT rowid, * FROM {table}").fetchall()
    names = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
    if rows and names:
        row = rows[int(rng.integers(0, len(rows)))]
        place = int(rng.integers(0, len(names)))
        value = row[1 + place]
        odd: list[Any] = [None, -1, 2**62, "", "x", b"", 1.5]
        if isinstance(value, bytes):
            odd += [changed_numbers(value, rng)] * 5
        elif isinstance(value, str):
            odd += [changed_tokens(value.encode(), rng).decode(errors="replace")] * 5
        text = f"UPDATE OR IGNORE {table} SET {names[place]} = ? WHERE rowid = ?"
        try:
            base.execute(text, (odd[int(rng.integers(0, len(odd)))], row[0]))
            base.commit()
        except sqlite3.Error:
            base.rollback()
    return bytes(base.serialize())


def changed_lead(good: bytes, rng: Rng) -> bytes:
    """The lead of a segment of TDMS: kinds of content, version, where data and the next begin."""
    leads = [at for at in range(len(good) - 28) if good[at : at + 4] == b"TDSm"]
    if not leads:
        return changed_numbers(good, rng)
    at = leads[int(rng.integers(0, len(leads)))]
    return good[: at + 4] + changed_numbers(good[at + 4 : at + 28], rng) + good[at + 28 :]


def changed_names(good: bytes, rng: Rng) -> bytes:
    """Paths, names of properties and units of TDMS, with or without their lengths."""
    at = int(rng.integers(0, max(1, len(good) // 2)))
    return good[:at] + changed_tokens(good[at : at + 200], rng) + good[at + 200 :]


def tdms(folder: Path) -> Parser:
    import nptdms

    t, q, tau = log()
    timed = {"Time": (1e3 * t, {"unit_string": "ms"})}
    wave = {"wf_increment": 1e-3, "wf_start_offset": 0.0}
    waves: dict[str, Any] = {}
    for axis in range(3):
        timed[f"Position {axis + 1}"] = (np.degrees(q[:, axis]), {"unit_string": "deg"})
        timed[f"Torque {axis + 1}"] = (tau[:, axis], {"unit_string": "Nm"})
        waves[f"q{axis + 1}_rad"] = (q[:, axis], wave)
        waves[f"tau{axis + 1}_Nm"] = (tau[:, axis].astype(np.float32), wave)
    waves["note"] = (np.array(["a text"] * ROWS), {})
    goods = []
    for number, channels in enumerate((timed, waves)):
        path = folder / f"{number}.tdms"
        with nptdms.TdmsWriter(path) as writer:
            objects = [
                nptdms.ChannelObject("log", name, data, properties=properties)
                for name, (data, properties) in channels.items()
            ]
            writer.write_segment(objects)
            if number:
                writer.write_segment(objects)
        goods.append({"log.tdms": path.read_bytes()})
    stamped: dict[str, Any] = {
        "Time": (np.datetime64("2026-05-03T02:00:00", "us") + 1000 * np.arange(ROWS), {})
    }
    several = folder / "several.tdms"
    with nptdms.TdmsWriter(several) as writer:
        for number, part in enumerate((slice(0, 8), slice(8, ROWS))):
            objects = [
                nptdms.RootObject({"author": "a", "count": number}),
                nptdms.GroupObject("log", {"rate": 1e3}),
                *(
                    nptdms.ChannelObject("log", name, data[part], properties=properties)
                    for name, (data, properties) in (stamped | timed | stamped).items()
                ),
            ]
            writer.write_segment(objects)
    goods.append({"log.tdms": several.read_bytes()})
    changes = (*BINARY, changed_end, changed_lead, changed_names)
    return Parser(goods, reads_recording("log.tdms"), changes)


# The history, streams and measurements.


def history_file(folder: Path) -> Parser:
    """Entries of two robots, with factors and robot files."""
    from datetime import UTC, datetime, timedelta

    from deltadyn.history.entry import Entry
    from deltadyn.history.store import History
    from deltadyn.robot.file import robot_text

    text = robot_text(dd.load_robot("example-delta"))
    path = folder / "history.db"
    with History(path) as history:
        for k in range(4):
            entry = Entry(
                "example-delta",
                f"A{k % 2}",
                datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=k),
                "log",
                ("M_P", "A_1"),
                ("kg", "kg m^2"),
                np.array([1.0 + k, 0.1]),
                np.array([0.1, 0.01]),
                np.eye(2),
                np.ones(3),
                np.full(3, 10.0),
                "good",
                log=f"{k:064d}",
                temperature=20.0 + k,
            )
            history._insert(entry, text, (small_information(),))

    def read(folder: Path) -> object:
        with History(folder / "history.db", create=False) as history:
            entries = history.entries()
            told = [(item.line, json.dumps(item.as_dict())) for item in entries]
            return history.robots(), told, history.merged("A0")

    return Parser([{"history.db": path.read_bytes()}], read, (*BINARY, *[changed_rows] * 3))


def live_batch(folder: Path) -> Parser:
    from deltadyn.payload.live import LiveEstimator
    from deltadyn.streams.packing import Batch, pack

    _, q, tau = log()
    full = Batch(1.0, 1e-3, q, tau, q, q, np.ones(ROWS, dtype=bool), sequence=3)
    objects: list[dict[str, Any]] = [
        {"t": 1.0, "q": q[:3].tolist(), "tau": tau[:3].tolist(), "sample_time": 1e-3},
        {"t": 1.0, "q": q[0].tolist(), "tau": tau[0].tolist(), "sequence": 7, "holding": True},
    ]
    robot = dd.load_robot("example-delta")
    models = [LiveEstimator(robot, rate=1000.0)]

    def read(folder: Path) -> object:
        if models[0].counts.messages > 200:
            models[0] = LiveEstimator(robot, rate=1000.0)
        return models[0].take(written(folder, "message"))

    goods: list[Files] = [
        {"message": pack(full)},
        {"message": pack(Batch(1.0, 1e-3, q, tau), single=True)},
        *({"message": json.dumps(item).encode()} for item in objects),
    ]
    return Parser(goods, read, (changed_bytes, changed_numbers, changed_message))


def changed_message(good: bytes, rng: Rng) -> bytes:
    """JSON by its values, a packed batch by the fields of its header."""
    if good.startswith(b"{"):
        return changed_json(good, rng)
    return changed_numbers(good[:32], rng) + good[32:]


def calibration_table(folder: Path) -> Parser:
    from deltadyn.calibration.read import FileOptions, read_command_log, read_measurements

    robot = dd.load_robot("example-delta")
    heads = (
        "pose,q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm,sx_mm,sy_mm,sz_mm",
        "q1_rad;q2_rad;q3_rad;x_m;y_m;z_m",
        "q1_deg,q2_deg,q3_deg,pair,distance_mm",
        "q1_deg,q2_deg,q3_deg,bar_mm",
        "q1_deg,q2_deg,q3_deg,z_mm,plate",
        "t_s,q1_deg,q2_deg,q3_deg,tag_id,tvec_x,tvec_y,tvec_z,rvec_x,rvec_y,rvec_z",
        "x_cmd_mm,y_cmd_mm,z_cmd_mm,x_m,y_m,z_m,qx,qy,qz,qw",
        "t_s,q1_deg,q2_deg,q3_deg,x_cmd_mm,y_cmd_mm,z_cmd_mm",
    )
    goods: list[Files] = []
    for head in heads:
        mark = ";" if ";" in head else ","
        rows = [head]
        for k in range(6):
            cells = []
            for name in head.split(mark):
                value = {"pair": f"{k // 2}", "pose": f"p{k}", "plate": "a", "qw": "1"}.get(name)
                if name in ("qx", "qy", "qz"):
                    value = "0"
                if name.startswith("z_cmd"):
                    value = f"{1e3 * robot_height(robot):.1f}"
                cells.append(value or f"{10 + k + 0.125}".replace(".", "," if mark == ";" else "."))
            rows.append(mark.join(cells))
        goods.append({"poses.csv": "\n".join(rows).encode()})
    joints = "pose,q1_deg,q2_deg,q3_deg\n" + "\n".join(f"p{k},{k},2,3" for k in range(6))
    for lead in ("Cell Measured p", "p"):
        lines = [f"{lead}{k} {10 * k}.5 20.25 {-300 - k}.125 0.01" for k in range(6)]
        text = "// exported\n" + "\n".join(lines)
        goods.append({"poses.csv": text.encode(), "joints.csv": joints.encode()})

    def read(folder: Path) -> object:
        joints = folder / "joints.csv"
        options = FileOptions(unit="mm", poses=joints if joints.exists() else None)
        if b"x_cmd" in written(folder, "poses.csv")[:60]:
            read_command_log(folder / "poses.csv", robot, options)
        return read_measurements(folder / "poses.csv", robot, options)

    return Parser(goods, read, TEXT)


def calibration_bag(folder: Path) -> Parser:
    from deltadyn.calibration.read import read_measurements

    robot = dd.load_robot("example-delta")
    files = bag(folder / "bag", mcap=False, poses=True)
    packed = bag(folder / "other" / "bag", mcap=True, poses=True)
    alone = [
        {name: data for name, data in item.items() if not name.endswith(".yaml")}
        for item in (files, packed)
    ]

    def read(folder: Path) -> object:
        whole = (folder / "bag" / "metadata.yaml").exists()
        path = folder / "bag" if whole else next((folder / "bag").iterdir())
        return read_measurements(path, robot)

    goods = [files, *alone * 3, packed, *alone * 3]
    return Parser(goods, read, BINARY, {".yaml": TEXT, ".db3": (*BINARY, changed_rows)})


# The studio.


def studio_session(folder: Path) -> Parser:
    """A session of the studio: its state, the robot, the columns and the start of a log."""
    from deltadyn.studio.project import open_project, save_project
    from deltadyn.studio.session import Session, Upload

    robot = dd.load_robot("example-delta")
    t, q, tau = log()
    rows = [",".join(f"{x:.6f}" for x in row) for row in np.column_stack([t, q, tau]).tolist()]
    content = "\n".join([",".join(NAMES), *rows]).encode()
    goods: list[Files] = []
    for number in range(2):
        session = Session(robot, 5.0)
        session.move([0.01, 0.0, robot_height(robot)])
        if number:
            session.play("gate")
            points = "".join(f"{k / 100},0,{k / 1000},{robot_height(robot)}\n" for k in range(10))
            session.upload_motion(Upload("m.csv", f"t_s,x_m,y_m,z_m\n{points}".encode()))
            session.upload_log(Upload("log.csv", content), payload=0.5)
            session.upload_log(Upload("other.csv", content), held_out=True)
        place = save_project(session, str(folder / str(number)))
        files = {path.relative_to(place).as_posix(): path for path in place.rglob("*.*")}
        read = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
        goods.append({"studio.json": read.pop("studio.json"), **read})

    def read_project_folder(folder: Path) -> object:
        found = Session(robot, 5.0)
        open_project(found, str(folder))
        return found.pose, found.track

    return StudioParser(goods, read_project_folder, JSON)


@dataclass(frozen=True)
class StudioParser(Parser):
    """Damages studio.json alone: robots, columns, logs and motions have parsers of their own."""

    def damaged(self, seed: int, number: int) -> dict[str, bytes]:
        rng = np.random.default_rng([seed, number])
        files = dict(self.goods[number % len(self.goods)])
        change = self.changes[int(rng.integers(0, len(self.changes)))]
        files["studio.json"] = change(files["studio.json"], rng)
        return files


#: By the name of the format; each is made in a folder of its own.
PARSERS: dict[str, Callable[[Path], Parser]] = {
    "robot file": robot_file,
    "column map": column_map,
    "deltadyn.toml": project_file,
    "studio.json": studio_session,
    "motion CSV": motion_table,
    "fit JSON": fit_record,
    "saved information": saved_information,
    "CSV": csv_log,
    "TwinCAT CSV": twincat_log,
    "MAT 5": matlab_5,
    "MAT 7.3": matlab_73,
    "Parquet": parquet,
    "LeRobot": lerobot,
    "ROS 2 db3": ros_db3,
    "MCAP": ros_mcap,
    "TDMS": tdms,
    "history": history_file,
    "live batch": live_batch,
    "calibration table": calibration_table,
    "calibration bag": calibration_bag,
}

#: Packages beyond the small environment that a parser reads by: `make test-all` has them.
PACKAGES = {
    "MAT 7.3": "h5py",
    "Parquet": "pyarrow",
    "LeRobot": "pyarrow",
    "ROS 2 db3": "rosbags",
    "MCAP": "rosbags",
    "TDMS": "nptdms",
    "history": "sqlalchemy",
    "calibration bag": "rosbags",
}

#: Inputs in CI, where a read takes more than some 2 ms; of the others 2,000.
FEWER = {
    "studio.json": 300,
    "fit JSON": 1000,
    "MAT 5": 1000,
    "MAT 7.3": 500,
    "LeRobot": 500,
    "ROS 2 db3": 300,
    "MCAP": 400,
    "history": 300,
    "calibration bag": 200,
}
