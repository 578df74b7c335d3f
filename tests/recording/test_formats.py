"""Files of other programs: TwinCAT Scope, MATLAB, Parquet, ROS 2 bags, MCAP, TDMS."""

from __future__ import annotations

import builtins
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import DATA, NAMES, REC, Array, assert_recording, close, robot_of

from deltadyn.recording import (
    MissingExtraError,
    RecordingFileError,
    guess_columns,
    iter_recording,
    read_recording,
)

# TwinCAT Scope. The layout is that of exports by Scope 3.4.

CHANNELS = [f"Axis {i} ActPos" for i in (1, 2, 3)] + [f"Axis {i} ActTorque" for i in (1, 2, 3)]
TICKS = 132_959_733_843_760_000  # 100 ns since 1601: 2 May 2022
KEYS = {
    "SymbolComment": "",
    "Data-Type": "REAL64",
    "SampleTime[ms]": "1",
    "VariableSize": "8",
    "SymbolBased": "True",
    "NetID": "192.168.0.1.1.1",
    "Port": "851",
    "Offset": "0",
    "ScaleFactor": "1",
}


def twincat(
    path: Path,
    groups: list[tuple[list[str], Array, Array]],
    *,
    separator: str = "\t",
    decimal: str = ",",
    full: bool = False,
    names_only: bool = False,
    unit: str = "(None)",
    symbols: list[str] | None = None,
    end: str = "",
    line_end: str = "\r\n",
) -> Path:
    """An export: groups of channel names, times in ms (n,) and values (n, k)."""
    lines = [f"Name{separator}Scope 1", f"File{separator}C:\\scope.csv"]
    if not names_only:
        lines += [separator.join(["Starttime of export", str(TICKS), "Montag, 2. Mai 2022", "15"])]
    lines += ["", ""]
    rows: dict[str, list[str]] = {"Name": []}
    extra = {} if names_only else {**KEYS, "Unit": unit}
    symbol = iter(symbols or [f"MAIN.v{k}" for k in range(99)])
    for names, _, _ in groups:
        rows["Name"] += ["Name", *names]
        for key, value in extra.items():
            rows.setdefault(key, []).extend([key, *[value] * len(names)])
        if not names_only:
            rows.setdefault("SymbolName", []).extend(["SymbolName", *(next(symbol) for _ in names)])
    lines += [separator.join(cells) for cells in rows.values()]
    lines.append("")
    for k in range(max(len(times) for _, times, _ in groups)):
        cells = []
        for names, times, values in groups:
            if k >= len(times):
                cells += [" "] * (1 + len(names))
                continue
            stamp = f"{TICKS + round(times[k] * 1e4)}" if full else f"{times[k]:.6g}"
            cells += [stamp, *(repr(float(x)) for x in values[k])]
        text = separator.join(cells).rstrip(" " + separator)
        lines.append(text if full else text.replace(".", decimal))
    path.write_bytes((line_end.join(lines) + line_end + end).encode("utf-8"))
    return path


def one_group(q: Array = REC.q, tau: Array = REC.tau) -> list[tuple[list[str], Array, Array]]:
    return [(CHANNELS, 1e3 * REC.t, np.column_stack([q, tau]))]


def each_its_own(shift: float = 0.0) -> list[tuple[list[str], Array, Array]]:
    values = np.column_stack([REC.q, REC.tau])
    return [
        ([name], 1e3 * REC.t + (shift if k > 2 else 0.0), values[:, k : k + 1])
        for k, name in enumerate(CHANNELS)
    ]


@pytest.mark.parametrize(
    ("separator", "decimal"), [("\t", ","), (";", ","), (";", "."), (",", ".")]
)
def test_twincat_separators(tmp_path: Path, separator: str, decimal: str) -> None:
    path = twincat(tmp_path / "s.csv", one_group(), separator=separator, decimal=decimal)
    rec = read_recording(path)
    assert_recording(rec, rtol=1e-14, atol=1e-16)
    assert rec.provenance.reader == "twincat"
    assert rec.provenance.columns[0].assumed  # "(None)" is no unit
    assert rec.provenance.notes[0] == "export began at Montag, 2. Mai 2022 15" or separator == ","


def test_twincat_per_channel_time_columns(tmp_path: Path) -> None:
    assert_recording(read_recording(twincat(tmp_path / "s.csv", each_its_own())), rtol=1e-14)


def test_twincat_columns_as_a_map(tmp_path: Path) -> None:
    path = twincat(tmp_path / "s.csv", each_its_own())
    guess = guess_columns(path)
    assert guess.ok
    assert [item.text for item in guess.columns][:4] == ["time", "q1 in rad", "time", "q2 in rad"]
    (tmp_path / "columns.yaml").write_text(guess.yaml(), "utf-8")
    assert_recording(read_recording(path, columns=tmp_path / "columns.yaml"), rtol=1e-14)


def test_twincat_full_time_stamps_keep_their_digits(tmp_path: Path) -> None:
    rec = read_recording(twincat(tmp_path / "s.csv", one_group(), full=True))
    close(rec.t, REC.t, rtol=0, atol=1e-12)  # as floats the stamps would be 1.6 us apart
    assert "full time stamps converted to seconds since the first row" in rec.provenance.notes
    assert rec.provenance.start == "2022-05-02T13:56:24.376000+00:00"


def test_twincat_names_alone_an_end_mark_and_unix_line_ends(tmp_path: Path) -> None:
    path = twincat(tmp_path / "s.csv", one_group(), end="EOF\r\n")
    assert_recording(read_recording(path), rtol=1e-14)
    path = twincat(tmp_path / "s.csv", one_group(), names_only=True, line_end="\n")
    assert_recording(read_recording(path, format="twincat"), rtol=1e-14)


def test_twincat_units_and_symbols(tmp_path: Path) -> None:
    names = [f"Channel {letter}" for letter in "ABCDEF"]
    symbols = [f"MAIN.q{i}" for i in (1, 2, 3)] + [f"MAIN.tau{i}" for i in (1, 2, 3)]
    groups = [(names, 1e3 * REC.t, np.column_stack([REC.q, REC.tau]))]
    path = twincat(tmp_path / "s.csv", groups, symbols=symbols)
    assert_recording(read_recording(path), rtol=1e-14)
    with pytest.raises(RecordingFileError, match="unit of q1 is 'V'; allowed: rad, mrad, deg"):
        read_recording(twincat(tmp_path / "v.csv", groups, symbols=symbols, unit="V (Voltage)"))
    columns = {"MAIN.q1": "q1_deg", "Channel B": "q2_deg", "Channel C": "q3_deg"}
    turned = read_recording(path, columns=columns)
    close(turned.q, np.radians(REC.q))


def test_twincat_slower_and_shorter_groups_that_are_not_used(tmp_path: Path) -> None:
    slow = (["Temperature of the oil"], 1e3 * REC.t[::5], REC.t[::5, None])
    fast = (["Fast"], np.arange(300) / 5, np.zeros((300, 1)))
    rec = read_recording(twincat(tmp_path / "s.csv", [*one_group(), slow, fast]))
    assert_recording(rec, rtol=1e-14)
    assert rec.provenance.ignored == ("Temperature of the oil", "Fast")


def test_twincat_clocks_that_differ(tmp_path: Path) -> None:
    path = twincat(tmp_path / "s.csv", each_its_own(shift=0.5))
    with pytest.raises(RecordingFileError, match="has channels on different clocks") as caught:
        read_recording(path)
    assert "q1, q2, q3" not in str(caught.value)  # each has a clock, of which three are the same
    assert "or interpolate=True" in str(caught.value)
    rec = read_recording(path, interpolate=True)
    assert len(rec) == len(REC) - 1
    wanted = (REC.tau[:-1] + REC.tau[1:]) / 2
    close(rec.tau, wanted, rtol=1e-9)
    close(rec.q, REC.q[1:], rtol=1e-14)
    assert any("tau1, tau2, tau3 interpolated linearly" in note for note in rec.provenance.notes)


def test_twincat_torques_at_another_rate(tmp_path: Path) -> None:
    half = (CHANNELS[3:], 1e3 * REC.t[::2], REC.tau[::2])
    path = twincat(tmp_path / "s.csv", [(CHANNELS[:3], 1e3 * REC.t, REC.q), half])
    with pytest.raises(RecordingFileError, match="tau1, tau2, tau3: 30 samples, every 2 ms"):
        read_recording(path)
    rec = read_recording(path, interpolate=True)
    close(rec.tau[::2], REC.tau[:-1:2], rtol=1e-14)
    parts = list(iter_recording(path, interpolate=True, rows=25))
    close(np.concatenate([part.tau for part in parts]), rec.tau)


# MATLAB.


def test_matlab_vectors_matrices_and_structures(tmp_path: Path) -> None:
    io = pytest.importorskip("scipy.io")
    path = tmp_path / "m.mat"
    io.savemat(path, {"t_s": REC.t, "q_rad": REC.q, "tau_Nm": REC.tau, "note": "hello", "k": 3.0})
    rec = read_recording(path)
    assert_recording(rec)
    assert rec.provenance.reader == "matlab 5"
    assert rec.provenance.columns[1].name == "q_rad[1]"
    io.savemat(path, {"log": {"t": REC.t, "q_deg": np.degrees(REC.q).T, "tau": REC.tau.T}})
    assert_recording(read_recording(path), rtol=1e-14)
    vectors = {name: column[:, None] for name, column in zip(NAMES, DATA.T, strict=True)}
    io.savemat(path, vectors, do_compression=True)
    assert_recording(read_recording(path))
    assert [len(part) for part in iter_recording(path, rows=40)] == [40, 20]


def test_matlab_that_cannot_be_read(tmp_path: Path) -> None:
    io = pytest.importorskip("scipy.io")
    path = tmp_path / "m.mat"
    io.savemat(path, {"t_s": REC.t, "q_rad": REC.q, "tau_Nm": REC.tau})
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(RecordingFileError, match=r"m\.mat: file cannot be read: "):
        read_recording(path)
    io.savemat(path, {"text": "nothing"})
    with pytest.raises(RecordingFileError, match="holds no numeric arrays; allowed: a MATLAB file"):
        read_recording(path)


def matlab73(path: Path) -> Path:
    """What MATLAB writes: HDF5 behind a block of 512 bytes, axes turned, texts as codes."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("log")
        group["t_s"] = REC.t[None, :]
        group["q_rad"] = REC.q.T
        group["tau_Nm"] = REC.tau.T
        note = file.create_dataset("name", data=np.array([[ord(c)] for c in "run"], np.uint16))
        note.attrs["MATLAB_class"] = np.bytes_("char")
        file.create_group("#refs#")["x"] = np.zeros(3)
    content = bytearray(path.read_bytes())
    content[:19] = b"MATLAB 7.3 MAT-file"
    path.write_bytes(content)
    return path


@pytest.mark.full
def test_matlab_7_3(tmp_path: Path) -> None:
    rec = read_recording(matlab73(tmp_path / "m.mat"))
    assert_recording(rec)
    assert rec.provenance.reader == "matlab 7.3"
    assert rec.name == "run"
    assert_recording(read_recording(tmp_path / "m.mat", format="matlab"))


# Parquet.


@pytest.mark.full
def test_parquet_of_others(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    units = ["ms", "deg", "deg", "deg", "mNm", "mNm", "mNm"]
    names = ["time", "pos1", "pos2", "pos3", "torque1", "torque2", "torque3"]
    fields = [
        pa.field(n, pa.float32() if n == "torque1" else pa.float64(), metadata={"unit": u})
        for n, u in zip(names, units, strict=True)
    ]
    fields.append(pa.field("mode", pa.string()))
    data = DATA * [1e3, *[180 / np.pi] * 3, *[1e3] * 3]
    arrays = [pa.array(column).cast(f.type) for column, f in zip(data.T, fields, strict=False)]
    arrays.append(pa.array(["auto"] * len(DATA)))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=17)
    rec = read_recording(tmp_path / "p.parquet")
    assert_recording(rec, rtol=1e-6, atol=1e-9)
    assert [len(part) for part in iter_recording(tmp_path / "p.parquet", rows=25)] == [25, 25, 10]
    with pytest.raises(RecordingFileError, match="column 'mode': type is string; allowed: numbers"):
        read_recording(tmp_path / "p.parquet", columns={"mode": "temperature_degC"})


@pytest.mark.full
def test_parquet_that_cannot_be_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    REC.save(tmp_path / "p.parquet")
    content = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(content[:-40])
    with pytest.raises(
        RecordingFileError, match=r"cannot be read: .*; allowed: a complete Parquet"
    ):
        read_recording(tmp_path / "p.parquet")


# ROS 2.

EPOCH = 1_700_000_000


def bag(
    path: Path,
    *,
    mcap: bool = False,
    names: tuple[str, ...] = ("joint_1", "joint_2", "joint_3"),
    topics: tuple[str, ...] = ("/joint_states",),
    effort: bool = True,
    stamped: bool = True,
) -> Path:
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    types = pytest.importorskip("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    joint = store.types["sensor_msgs/msg/JointState"]
    header, time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    plugin = rosbag2.StoragePlugin.MCAP if mcap else rosbag2.StoragePlugin.SQLITE3
    with rosbag2.Writer(path, version=9, storage_plugin=plugin) as writer:
        connections = [writer.add_connection(t, joint.__msgtype__, typestore=store) for t in topics]
        for k in range(len(REC)):
            stamp = time(sec=EPOCH * stamped, nanosec=k * 1_000_000 * stamped)
            order = np.roll(np.arange(3), k)  # joints may come in any order
            message = joint(
                header=header(stamp=stamp, frame_id=""),
                name=[names[i] for i in order],
                position=REC.q[k, order],
                velocity=np.zeros(0),
                effort=REC.tau[k, order] if effort else np.zeros(0),
            )
            data = store.serialize_cdr(message, joint.__msgtype__)
            for connection in connections:
                writer.write(connection, EPOCH * 10**9 + k * 1_000_000, data)
    return path


@pytest.mark.full
@pytest.mark.parametrize("mcap", [True, False])
def test_ros_joint_states(tmp_path: Path, mcap: bool) -> None:
    path = bag(tmp_path / "bag", mcap=mcap)
    rec = read_recording(path, robot_of("sipro-d3-1200"))
    close(rec.t, REC.t, rtol=0, atol=1e-12)
    assert_recording(rec, rtol=1e-15, atol=1e-12)
    assert rec.qd is None
    assert rec.provenance.reader == "ros"
    assert rec.provenance.start == "2023-11-14T22:13:20+00:00"  # EPOCH
    (file,) = path.glob("*.mcap" if mcap else "*.db3")
    alone = read_recording(file)
    assert_recording(alone, rtol=1e-15, atol=1e-12)
    assert [len(part) for part in iter_recording(path, rows=25)] == [25, 25, 10]


@pytest.mark.full
def test_ros_topics_and_names(tmp_path: Path) -> None:
    path = bag(tmp_path / "bag", topics=("/a", "/b"), names=("left", "right", "back"))
    with pytest.raises(
        RecordingFileError, match="has several topics of sensor_msgs/msg/JointState"
    ):
        read_recording(path)
    with pytest.raises(ValueError, match="topic is '/c'; allowed: one of '/a', '/b'"):
        read_recording(path, topic="/c")
    with pytest.raises(
        RecordingFileError, match=r"q1, q2, q3, .* no column; found: .*'left.position'"
    ):
        read_recording(path, topic="/a")
    columns = {f"{name}.position": f"q{i}" for i, name in enumerate(("left", "right", "back"), 1)}
    columns |= {f"{name}.effort": f"tau{i}" for i, name in enumerate(("left", "right", "back"), 1)}
    assert_recording(read_recording(path, topic="/a", columns=columns), rtol=1e-15, atol=1e-12)


@pytest.mark.full
def test_ros_without_effort_or_stamps(tmp_path: Path) -> None:
    bare = read_recording(bag(tmp_path / "a", effort=False))
    assert not bare.has_torque
    close(bare.q, REC.q, rtol=1e-15, atol=1e-12)
    rec = read_recording(bag(tmp_path / "b", stamped=False))
    assert_recording(rec, rtol=1e-15, atol=1e-12)
    assert any("timed by their arrival" in note for note in rec.provenance.notes)


@pytest.mark.full
def test_ros_that_cannot_be_read(tmp_path: Path) -> None:
    path = bag(tmp_path / "bag", mcap=True)
    (file,) = path.glob("*.mcap")
    short = tmp_path / "short.mcap"
    short.write_bytes(file.read_bytes()[:100])
    with pytest.raises(RecordingFileError, match=r"short\.mcap: file cannot be read: "):
        read_recording(short)


# TDMS.


def tdms(path: Path, groups: dict[str, dict[str, tuple[Array, dict[str, Any]]]]) -> Path:
    nptdms = pytest.importorskip("nptdms")
    with nptdms.TdmsWriter(path) as writer:
        objects = [
            nptdms.ChannelObject(group, name, data, properties=properties)
            for group, channels in groups.items()
            for name, (data, properties) in channels.items()
        ]
        writer.write_segment(objects)
    return path


@pytest.mark.full
def test_tdms_with_a_time_channel(tmp_path: Path) -> None:
    channels: dict[str, tuple[Any, dict[str, Any]]] = {"Time": (1e3 * REC.t, {"unit_string": "ms"})}
    for axis in range(3):
        channels[f"Position {axis + 1}"] = (np.degrees(REC.q[:, axis]), {"unit_string": "deg"})
        channels[f"Torque {axis + 1}"] = (REC.tau[:, axis], {"unit_string": "Nm"})
    rec = read_recording(tdms(tmp_path / "l.tdms", {"log": channels}))
    assert_recording(rec, rtol=1e-14)
    assert rec.provenance.reader == "tdms"
    assert rec.provenance.start is None
    began = np.datetime64("2026-05-03T02:00:00", "us")
    channels["Time"] = (began + np.round(1e6 * REC.t).astype("timedelta64[us]"), {})
    dated = read_recording(tdms(tmp_path / "d.tdms", {"log": channels}))
    close(dated.t, REC.t, rtol=0, atol=1e-6)
    assert dated.provenance.start == "2026-05-03T02:00:00+00:00"


@pytest.mark.full
def test_tdms_waveforms(tmp_path: Path) -> None:
    began = np.datetime64("2026-05-03T02:00:00", "us")
    wave = {"wf_increment": 1e-3, "wf_start_offset": 0.0, "wf_start_time": began}
    channels: dict[str, tuple[Array, dict[str, Any]]] = {}
    for axis in range(3):
        channels[f"q{axis + 1}_rad"] = (REC.q[:, axis], wave)
        channels[f"tau{axis + 1}_Nm"] = (REC.tau[:, axis], wave)
    rec = read_recording(tdms(tmp_path / "l.tdms", {"log": channels}))
    assert_recording(rec, rtol=1e-13)
    assert rec.provenance.start == "2026-05-03T02:00:00+00:00"
    slow = {"wf_increment": 2e-3, "wf_start_offset": 0.0}
    for axis in range(3):
        channels[f"tau{axis + 1}_Nm"] = (REC.tau[::2, axis], slow)
    path = tdms(tmp_path / "l.tdms", {"log": channels})
    with pytest.raises(RecordingFileError, match="has channels on different clocks"):
        read_recording(path)
    close(read_recording(path, interpolate=True).tau[::2], REC.tau[:-1:2])


@pytest.mark.full
def test_tdms_without_time(tmp_path: Path) -> None:
    path = tdms(tmp_path / "l.tdms", {"log": {"q1_rad": (REC.q[:, 0], {})}})
    with pytest.raises(RecordingFileError, match="time of channel 'q1_rad' is not in the file"):
        read_recording(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(RecordingFileError, match=r"l\.tdms: file "):
        read_recording(path)


@pytest.mark.full
def test_tdms_that_is_cut_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    channels: dict[str, tuple[Array, dict[str, Any]]] = {"t_s": (REC.t, {})}
    for axis in range(3):
        channels[f"q{axis + 1}_rad"] = (REC.q[:, axis], {})
        channels[f"tau{axis + 1}_Nm"] = (REC.tau[:, axis], {})
    path = tdms(tmp_path / "l.tdms", {"log": channels})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RecordingFileError, match="file is damaged: Last segment of file has less"):
        read_recording(path)
    rec = read_recording(path, bad_rows="skip")
    assert np.isnan(rec.tau[-1, 2])
    assert "Last segment of file has less data" in rec.provenance.notes[0]
    assert not caplog.records


# Extras that are not installed.


@pytest.mark.parametrize(
    ("library", "extra", "start"),
    [
        ("pyarrow", "parquet", b"PAR1"),
        ("h5py", "mat73", b"\x89HDF\r\n\x1a\n"),
        ("rosbags", "ros", b"\x89MCAP0\r\n"),
        ("nptdms", "tdms", b"TDSm"),
    ],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, extra: str, start: bytes
) -> None:
    whole = importlib.import_module

    def absent(name: str, package: str | None = None) -> Any:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return whole(name, package)

    monkeypatch.setattr(importlib, "import_module", absent)
    path = tmp_path / "file"
    path.write_bytes(start + bytes(200))
    with pytest.raises(MissingExtraError) as caught:
        read_recording(path)
    assert f"needs the library {library!r}, which is not installed" in str(caught.value)
    assert str(caught.value).endswith(f"pip install 'deltadyn[{extra}]'")
    assert isinstance(caught.value, builtins.ImportError)
    assert caught.value.extra == extra
    if extra == "parquet":
        with pytest.raises(MissingExtraError, match=r"pip install 'deltadyn\[parquet\]'"):
            REC.save(tmp_path / "x.parquet")
        assert not (tmp_path / "x.parquet").exists()
