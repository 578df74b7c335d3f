"""Files that try to run something, or to read another file: each is refused, or that part ignored.

A payload would leave the file `marker` behind.
"""

from __future__ import annotations

import gc
import pickle
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from tests.parsers.parsers import bag, log, saved_information

import deltadyn as dd
from deltadyn.errors import DeltadynError, FileError, RecordingFileError
from deltadyn.identification.information import load_information
from deltadyn.recording.read import read_recording


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.marker,))


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    path = tmp_path / "marker"
    pickle.loads(pickle.dumps(Payload(path)))
    assert path.exists()  # the payload works
    path.unlink()
    return path


def test_a_pickle_in_saved_information(tmp_path: Path, marker: Path) -> None:
    (tmp_path / "goods").mkdir()
    (good,) = (item["information.npz"] for item in saved_information(tmp_path / "goods").goods[:1])
    path = tmp_path / "information.npz"
    path.write_bytes(good)
    np.save(tmp_path / "names.npy", np.array([Payload(marker)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["names.npy"] = (tmp_path / "names.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(FileError, match=r"Information\.save wrote"):
        load_information(path)
    path.write_bytes(pickle.dumps(Payload(marker)))
    with pytest.raises(FileError, match=r"Information\.save wrote"):
        load_information(path)
    assert not marker.exists()


@pytest.mark.full
@pytest.mark.parametrize(
    "read",
    [
        dd.load_robot,
        lambda path: read_recording(path.with_name("log.csv"), columns=path),
        lambda path: read_recording(path.parent),  # as the metadata of a bag
    ],
)
def test_tags_in_yaml(tmp_path: Path, marker: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "metadata.yaml"
    path.write_text(f"a: !!python/object/apply:pathlib.Path.touch [!!python/name:{marker}]\n")
    (tmp_path / "log.csv").write_text("t_s,q1_rad,q2_rad,q3_rad\n0,1,1,1\n1,1,1,1\n")
    with pytest.raises(DeltadynError, match=r"tag|constructor"):
        read(path)
    assert not marker.exists()


def test_a_handle_of_a_function_in_a_matlab_file(tmp_path: Path) -> None:
    """It is no array of numbers, and is not looked at."""
    t, q, tau = log()
    path = tmp_path / "log.mat"
    scipy.io.savemat(path, {"f": {"code": "delete('*')"}, "t_s": t, "q_rad": q, "tau_Nm": tau})
    content = bytearray(path.read_bytes())
    assert content[144] == 2  # the class of the first variable: a structure
    content[144] = 16  # a handle
    path.write_bytes(content)
    try:
        found = read_recording(path)
    except RecordingFileError as error:
        assert "cannot be read" in str(error)  # noqa: PT017
    else:
        np.testing.assert_array_equal(found.q, q)


@pytest.mark.full
def test_types_of_arrow_that_are_pickles(tmp_path: Path, marker: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    t, q, tau = log()
    told = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Payload(marker)),
    }
    names = ["t_s", *(f"q{i}_rad" for i in (1, 2, 3)), *(f"tau{i}_Nm" for i in (1, 2, 3))]
    fields = [pyarrow.field(name, pyarrow.float64(), metadata=told) for name in names]
    columns = [pyarrow.array(values) for values in (t, *q.T, *tau.T)]
    table = pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields))
    parquet.write_table(table, tmp_path / "log.parquet")
    try:
        np.testing.assert_array_equal(read_recording(tmp_path / "log.parquet").q, q)
    except RecordingFileError as error:
        assert "log.parquet" in str(error)  # noqa: PT017
    assert not marker.exists()


@pytest.mark.full
def test_other_files_behind_a_matlab_file(tmp_path: Path) -> None:
    """Links, values and views of other files are no part of a log."""
    h5py = pytest.importorskip("h5py")
    t, q, tau = log()
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["tau_Nm"] = tau.T
    (tmp_path / "secret.bin").write_bytes(tau.T.tobytes())
    path = tmp_path / "log.mat"
    with h5py.File(path, "w") as file:
        file["t_s"], file["q_rad"] = t[None], q.T
        file["tau_Nm"] = h5py.ExternalLink("secret.h5", "/tau_Nm")
        shape = tau.T.shape
        file.create_dataset(
            "torque_Nm", shape, "f8", external=[(str(tmp_path / "secret.bin"), 0, tau.nbytes)]
        )
        view = h5py.VirtualLayout(shape, "f8")
        view[:] = h5py.VirtualSource(tmp_path / "secret.h5", "tau_Nm", shape)
        file.create_virtual_dataset("effort_Nm", view)
    found = read_recording(path)
    assert not found.has_torque
    assert found.provenance.ignored == ()


VIEWS = {
    "view": "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) "
    "SELECT x FROM n",
    "trigger": "CREATE TRIGGER again AFTER INSERT ON topics BEGIN DELETE FROM messages; END",
    "table": "CREATE TABLE huge(a, b GENERATED ALWAYS AS (zeroblob(2000000000)) VIRTUAL)",
}


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("rosbags.rosbag2")
    folder = tmp_path_factory.mktemp("bags")
    bag(folder / "bag", mcap=False)
    return folder / "bag"


def changed(good: Path, place: Path, *statements: str) -> Path:
    """A copy of a bag's database after some statements."""
    path = place / "bag.db3"
    path.write_bytes((good / "bag.db3").read_bytes())
    base = sqlite3.connect(path)
    for text in statements:
        base.execute(text)
    base.commit()
    base.close()
    return path


@pytest.mark.full
@pytest.mark.parametrize("kind", VIEWS)
def test_what_a_database_would_run(bags: Path, tmp_path: Path, kind: str) -> None:
    path = changed(bags, tmp_path, VIEWS[kind])
    with pytest.raises(RecordingFileError, match=f"it has the {kind} '"):
        read_recording(path)


@pytest.mark.full
def test_a_table_of_a_bag_that_never_ends(bags: Path, tmp_path: Path) -> None:
    endless = VIEWS["view"].replace("endless", "messages")
    path = changed(bags, tmp_path, "DROP TABLE messages", endless)
    with pytest.raises(RecordingFileError, match="it has the view 'messages'"):
        read_recording(path)


@pytest.mark.full
def test_the_definitions_of_a_bag_are_not_made_code(bags: Path, tmp_path: Path) -> None:
    """One line of them would else become a program of a thousand million lines."""
    _, q, _ = log()
    text = "string[2000000000] a"
    path = changed(
        bags, tmp_path, f"UPDATE message_definitions SET encoded_message_definition = '{text}'"
    )
    np.testing.assert_allclose(read_recording(path).q, q, rtol=1e-15)
    path = changed(bags, tmp_path, "UPDATE topics SET type_description_hash = 'RIHS01_00'")
    with pytest.raises(RecordingFileError, match="has another definition of sensor_msgs"):
        read_recording(path)


@pytest.mark.full
@pytest.mark.parametrize("packing", ["lz4", "zstd"])
def test_a_chunk_that_unpacks_to_all_memory(
    bags: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str
) -> None:
    """A chunk that says it is small, and is not."""
    from deltadyn.recording.readers import ros

    module = {"lz4": "lz4.frame", "zstd": "backports.zstd"}[packing]
    packed = pytest.importorskip(module).compress(bytes(10**7))
    name = packing.encode()
    chunk = bytes(16) + (100).to_bytes(8, "little") + bytes(4)
    chunk += len(name).to_bytes(4, "little") + name + len(packed).to_bytes(8, "little") + packed
    record = b"\x06" + len(chunk).to_bytes(8, "little") + chunk
    files = bag(tmp_path / "bag", mcap=True)
    good = files["bag/bag.mcap"]
    path = tmp_path / "bomb.mcap"
    path.write_bytes(good[:8] + record + good[8:])
    monkeypatch.setattr(ros, "MOST_CHUNK", 10**6)
    with pytest.raises(RecordingFileError, match="a chunk at byte 8 unpacks to more than 1000000"):
        read_recording(path)
    monkeypatch.setattr(ros, "MOST_CHUNK", 10**8)
    with pytest.raises(RecordingFileError, match="file cannot be read"):
        read_recording(path)
    path.write_bytes(good)
    assert len(read_recording(path)) == 16


@pytest.mark.full
@pytest.mark.parametrize("value", [2**40, 1.5, "'text'"])
def test_a_message_that_is_no_bytes(bags: Path, tmp_path: Path, value: object) -> None:
    """`bytes(2**40)` would be as many zeros."""
    path = changed(bags, tmp_path, f"UPDATE messages SET data = {value}")
    with pytest.raises(RecordingFileError, match=r"file cannot be read: (?!MemoryError)"):
        read_recording(path)


def packed_bag(place: Path, mode: str, *statements: str) -> Path:
    """A bag with its database, or each of its messages, packed by zstd."""
    zstd = pytest.importorskip("backports.zstd")
    bag(place / "bag", mcap=False)
    (file,) = (place / "bag").glob("*.db3")
    base = sqlite3.connect(file)
    if mode == "MESSAGE":
        base.create_function("packed", 1, zstd.compress)
        base.execute("UPDATE messages SET data = packed(data)")
    for text in statements:
        base.execute(text)
    base.commit()
    base.close()
    told = (place / "bag" / "metadata.yaml").read_text()
    told = told.replace("compression_format: ''", "compression_format: zstd")
    told = told.replace("compression_mode: ''", f"compression_mode: {mode}")
    if mode == "FILE":
        content = file.read_bytes()  # in two frames
        packed = zstd.compress(content[:5000]) + zstd.compress(content[5000:])
        file.with_name(f"{file.name}.zstd").write_bytes(packed)
        file.unlink()
        told = told.replace(f"- {file.name}", f"- {file.name}.zstd", 1)
    assert mode in told
    (place / "bag" / "metadata.yaml").write_text(told)
    return place / "bag"


@pytest.mark.full
@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_a_packed_bag_that_unpacks_to_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    from deltadyn.recording.readers import ros

    pytest.importorskip("rosbags.rosbag2")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = packed_bag(tmp_path, mode)
    np.testing.assert_allclose(read_recording(path).q, log()[1], rtol=1e-15)
    monkeypatch.setattr(ros, "MOST_BAG", 10_000)
    monkeypatch.setattr(ros, "MOST_CHUNK", 50)
    words = {"FILE": "its files unpack to more than", "MESSAGE": "message unpacks to more than 50"}
    with pytest.raises(RecordingFileError, match=words[mode]):
        read_recording(path)
    gc.collect()
    assert [item.name for item in tmp_path.iterdir()] == ["bag"]  # no copy is left


@pytest.mark.full
def test_what_a_packed_database_would_run(tmp_path: Path) -> None:
    pytest.importorskip("rosbags.rosbag2")
    path = packed_bag(tmp_path, "FILE", VIEWS["view"])
    with pytest.raises(RecordingFileError, match="it has the view 'endless'"):
        read_recording(path)
    (file,) = path.glob("*.zstd")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(RecordingFileError, match="ends within a frame"):
        read_recording(path)


@pytest.mark.full
@pytest.mark.parametrize("packing", ["bz2", "lz4"])
def test_a_chunk_of_ros_1_that_unpacks_to_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packing: str
) -> None:
    from deltadyn.recording.readers import ros

    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    joint, (t, q, tau) = "sensor_msgs/msg/JointState", log()
    path = tmp_path / "log.bag"
    writer = rosbag1.Writer(path)
    writer.set_compression(getattr(rosbag1.Writer.CompressionFormat, packing.upper()))
    with writer:
        connection = writer.add_connection("/joint_states", joint, typestore=store)
        for k, now in enumerate(t):
            stamp = store.types["builtin_interfaces/msg/Time"](1, int(1e9 * now))
            header = store.types["std_msgs/msg/Header"](k, stamp, "cell")
            names = [f"joint_{i}" for i in (1, 2, 3)]
            message = store.types[joint](header, names, q[k], np.zeros(0), tau[k])
            data = store.serialize_ros1(message, joint)
            writer.write(connection, 10**9 + int(1e9 * now), data)
    np.testing.assert_allclose(read_recording(path).q, q, rtol=1e-15)
    monkeypatch.setattr(ros, "MOST_CHUNK", 1000)
    with pytest.raises(RecordingFileError, match="message unpacks to more than 1000 bytes"):
        read_recording(path)


@pytest.mark.full
@pytest.mark.parametrize("alone", [True, False])
def test_a_chunk_that_an_index_alone_knows(tmp_path: Path, alone: bool) -> None:
    """It could lie in what is skipped, where nobody looks at what it unpacks to."""
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    bag(tmp_path / "bag", mcap=True)
    (file,) = (tmp_path / "bag").glob("*.mcap")
    path = file if alone else tmp_path / "bag"
    assert len(read_recording(path)) == 16
    with rosbag2.Reader(file) as reader:
        (chunk,) = reader.storage.chunks
    place = chunk.chunk_start_offset
    start, mark, end = file.read_bytes().rpartition(place.to_bytes(8, "little"))
    assert mark
    file.write_bytes(start + (place + 1).to_bytes(8, "little") + end)
    with pytest.raises(RecordingFileError, match=f"names a chunk at byte {place + 1}"):
        read_recording(path)
