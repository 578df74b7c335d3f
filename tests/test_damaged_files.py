"""Damaged files end in our own errors, each with a name and a place; no traceback, no hang."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.commands.project import defaults, read_project
from deltadyn.errors import DeltadynError, FileError, RecordingFileError
from deltadyn.recording.column_maps import read_column_map
from deltadyn.recording.columns import Column
from deltadyn.recording.read import read_recording
from deltadyn.recording.readers.bounded import (
    BoundedPath,
    refuse_many_values,
    unpacking_at_most,
)
from deltadyn.report import compare_fits
from deltadyn.studio.project import open_project, save_project
from deltadyn.studio.session import Session, Upload, UploadError, log_upload

TOML = b"""\
[project]
robot = "example-delta"
[reading]
rate = 1000.0
[identify]
method = "convex"
"""


def column_map(path: Path, data: bytes) -> object:
    path.write_bytes(data)
    names = [Column(name) for name in ("Enc A", "b", "c", "note")]
    return read_column_map(path, names, "log.csv")


def test_aliases_in_a_column_map_are_refused(tmp_path: Path) -> None:
    """A few hundred bytes of them would else become a thousand million values."""
    lines = ["a0: &a0 [1, 2]"] + [
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)
    ]
    with pytest.raises(RecordingFileError, match="is an alias"):
        column_map(tmp_path / "columns.yaml", "\n".join(lines).encode())


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "told"),
    [("[" * 2000, "deeply|not YAML"), ("a: 2020-99-99", "column"), ("a: " + "9" * 5000, "column")],
)
def test_odd_values_in_a_column_map(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DeltadynError, match=told):
        column_map(tmp_path / "columns.yaml", text.encode())


def test_project_files(tmp_path: Path) -> None:
    path = tmp_path / "deltadyn.toml"

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return read_project(tmp_path)

    read(TOML)
    odd = [TOML.decode().encode("utf-16"), b"a = " + b"[" * 5000, b"a = " + b"9" * 5000]
    for data in odd:
        with pytest.raises(FileError, match="project file"):
            read(data)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="can be read"):
        read_project(tmp_path)


def test_matlab_files_of_version_5(tmp_path: Path) -> None:
    """SciPy's reader is ended by some of these: the process that asked goes on."""
    rng = np.random.default_rng(5)
    path = tmp_path / "log.mat"
    t = np.arange(50) / 1000
    values = {"t_s": t, "q_rad": rng.uniform(-1, 1, (50, 3)), "tau_Nm": rng.uniform(-1, 1, (50, 3))}
    scipy.io.savemat(path, {**values, "log": {"name": "a name", "deep": {"x": t}}})
    good = path.read_bytes()

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return read_recording(path)

    assert len(read(good).t) == 50  # type: ignore[attr-defined]
    told = bytearray(good)
    told[144] = 5  # the kind of a matrix: ends SciPy's reader, and with it the process
    with pytest.raises(RecordingFileError, match="cannot be read: its reader broke off"):
        read(bytes(told))


@pytest.mark.full
def test_a_small_file_with_a_vast_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.mat"
    scipy.io.savemat(path, {"t_s": np.zeros(40_000_000)}, do_compression=True)
    monkeypatch.setattr("deltadyn.recording.readers.apart.LEAST_MEMORY", 500 * 2**20)
    with pytest.raises(RecordingFileError, match=r"needs more than 0\.5 GiB"):
        read_recording(path)


@pytest.mark.full
def test_a_parquet_file_with_a_name_twice(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ["t_s", *(f"q{i}_rad" for i in (1, 2, 3)), *(f"tau{i}_Nm" for i in (1, 2, 3)), "q1_rad"]
    columns = [pyarrow.array(np.arange(20) / 1000.0) for _ in names]
    parquet.write_table(pyarrow.Table.from_arrays(columns, names), tmp_path / "log.parquet")
    taken = {2: "q1_rad", 8: None}
    with pytest.raises(DeltadynError, match=r"q1_rad.*(2 times|twice|once)"):
        read_recording(tmp_path / "log.parquet", columns=taken)


def test_a_payload_with_an_underscore(tmp_path: Path) -> None:
    head = "t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm"
    rows = [f"{k / 1000},0.1,0.2,0.3,1,2,3" for k in range(20)]
    (tmp_path / "log.csv").write_text("\n".join(["# payload_kg: 1_0", head, *rows]))
    with pytest.raises(RecordingFileError, match="payload_kg"):
        read_recording(tmp_path / "log.csv")


MOTION = b"t_s,q1_rad,q2_rad,q3_rad\n" + b"".join(
    f"{k / 100},{0.1 + k / 1000},0.2,0.3\n".encode() for k in range(20)
)


def test_motion_tables(tmp_path: Path) -> None:
    path, robot = tmp_path / "motion.csv", dd.load_robot("example-delta")

    def read(data: bytes) -> object:
        path.write_bytes(data)
        return dd.motion.read_motion(path, robot)

    read(MOTION)
    for head in (b"t_s,q1_rad,q1_rad,q2_rad,q3_rad", b"t_s,q1_rad,q1_deg,q2_rad,q3_rad"):
        with pytest.raises(FileError, match="there is another"):
            read(head + b"\n0,0.1,0.1,0.2,0.3\n")
    for cell in (b"inf", b"1e999", b"nan", b"1_0"):
        with pytest.raises(FileError, match="line 3"):
            read(b"t_s,q1_rad,q2_rad,q3_rad\n0,0.1,0.2,0.3\n0.01,0.1," + cell + b",0.3\n")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (MOTION.replace(b"q1_rad", b"q1_m"), "q1_m.*in rad or deg"),
        (MOTION.replace(b"0.2", b"0.\xb5"), "UTF-8 text"),
        (MOTION.replace(b"0.2", b"0.\0"), "line 2"),
    ],
)
def test_motion_tables_of_another_kind(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "motion.csv").write_bytes(data)
    with pytest.raises(FileError, match=told):
        dd.motion.read_motion(tmp_path / "motion.csv", dd.load_robot("example-delta"))


def test_a_motion_that_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(FileError, match="cannot be read"):
            dd.motion.read_motion(path, dd.load_robot("example-delta"))


@pytest.mark.full
def test_a_tdms_file_that_claims_more_than_it_has(tmp_path: Path) -> None:
    nptdms = pytest.importorskip("nptdms")
    path = tmp_path / "log.tdms"
    with nptdms.TdmsWriter(path) as writer:
        writer.write_segment([nptdms.ChannelObject("log", "q1_rad", np.arange(33.0))])
    content = path.read_bytes()
    count = (33).to_bytes(8, "little")
    assert content.count(count) == 1
    path.write_bytes(content.replace(count, (2**40).to_bytes(8, "little")))
    with pytest.raises(RecordingFileError, match=r"cannot be read|damaged"):
        read_recording(path)


def test_a_file_gives_no_more_than_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc" * 50_000)
    with BoundedPath(path).open("rb") as file:
        assert file.read(2**62) == b"abc" * 50_000  # no machine has room for as much
        file.seek(3)
        assert file.read(100_000) == (b"abc" * 50_000)[3:100_003]
        assert file.read() == (b"abc" * 50_000)[100_003:]


def test_a_record_of_a_fit_that_is_none(tmp_path: Path) -> None:
    good = json.loads((Path(__file__).parent / "data_0_1" / "fit.json").read_text())
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(good))
    for change, told in (
        ({"parameters": 3}, "entry 'parameters' at .*second.json is 3; allowed: a list"),
        ({"parameters": [{**good["parameters"][0], "value": "1"}]}, "'value' of a parameter"),
        ({"residual_rms_Nm": []}, "a number per axis"),
        ({"provenance": None}, "entry 'provenance'"),
    ):
        second.write_text(json.dumps({**good, **change}))
        with pytest.raises(DeltadynError, match=told):
            compare_fits([first, second])
    second.write_bytes(b"\xff")
    with pytest.raises(FileError, match=r"second\.json"):
        compare_fits([first, second])
    with pytest.raises(FileError, match=r"none\.json"):
        compare_fits([first, tmp_path / "none.json"])


def test_a_mask_is_not_ignored() -> None:
    """Masked values are not known: NaN in a recording, refused in a pose."""
    t, q = np.arange(40) / 1000, np.ma.array(np.full((40, 3), 0.1), mask=False)
    q[3, 1] = np.ma.masked
    found = dd.Recording(t=t, q=q, tau=np.ones((40, 3)))
    assert np.isnan(found.q[3, 1])
    assert np.isfinite(found.q).sum() == 119
    with pytest.raises(DeltadynError, match=r"finite|nan"):
        dd.State.from_joints(dd.load_robot("example-delta"), q)


def test_a_file_of_one_line_is_no_log(tmp_path: Path) -> None:
    """Its cells are not looked at one by one."""
    (tmp_path / "log.csv").write_text("1.234," * 500_000)
    with pytest.raises(RecordingFileError, match=r"has \d+ columns; .* at most 4096"):
        read_recording(tmp_path / "log.csv")


@pytest.mark.parametrize("step", [5e-324, 1e-320, 1e-160, 1e-10, 1e7, 1e300])
def test_times_of_no_clock_are_refused(tmp_path: Path, step: float) -> None:
    head = "t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm"
    rows = [f"{k * step!r},{0.1 + k / 1000},0.2,0.3,1,2,3" for k in range(40)]
    (tmp_path / "log.csv").write_text("\n".join([head, *rows]))
    with pytest.raises(DeltadynError, match=r"sample time .*allowed: a median step of 1e-09 to"):
        read_recording(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("separator", 3),
        ("topic", [1]),
        ("sample_time", "nan"),
        ("sample_time", float("nan")),
        ("sample_time", [1.0]),
        ("interpolate", "yes"),
        ("columns", "a\0b"),
    ],
)
def test_reading_options_of_another_kind_are_refused(
    tmp_path: Path, option: str, value: Any
) -> None:
    (tmp_path / "log.csv").write_text("q1_rad,q2_rad,q3_rad\n0.1,0.2,0.3\n")
    with pytest.raises(DeltadynError, match=option.replace("columns", "column map")):
        read_recording(tmp_path / "log.csv", **{option: value})


@pytest.mark.parametrize(
    "text",
    [
        "[identify]\nseed = [1, 2]",
        "[identify]\nhold = 3",
        "[identify]\nmethod = {a = 1}",
        "[identify]\nseed = 1.5",
        '[identify]\nout = "a\\u0000"',
        "[calibrate]\ntool-mm = 3",
        "[calibrate]\nplate-mm = [[1]]",
        "[reading]\nsample_time = 2020-01-01",
    ],
)
def test_project_defaults_of_another_kind_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deltadyn.toml").write_text(text + "\n")
    command = "calibrate" if "calibrate" in text else "identify"
    found = CliRunner().invoke(main, [command, "example-delta", "log.csv"])
    assert found.exit_code == 2
    assert isinstance(found.exception, SystemExit), found.exception
    assert "deltadyn.toml" in found.stderr or "Invalid value" in found.stderr


def test_a_default_of_a_list_may_be_one_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deltadyn.toml").write_text('[identify]\nvalidate = "held-out.csv"\n')
    assert defaults(main)["identify"]["held_out"] == ["held-out.csv"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pose": None}, "pose is None; allowed: a list of numbers"),
        ({"pose": [1.0]}, "pose is .*; allowed: 3 numbers"),
        ({"pose": [0.0, "a", 0.0]}, "pose"),
        ({"motion": 3}, "motion is 3; allowed: the name of a motion"),
        ({"motion": "x" * 99_999}, "motion"),
        ({"payload": [1]}, "payload"),
        ({"reading": {"sample_time": "x"}}, "reading"),
        ({"log": "log.csv"}, "log is 'log.csv'; allowed: a table with file and name"),
        ({"log": {"file": "recordings/a\0", "name": "a"}}, "recording"),
        ({"log": {"file": "../../etc/passwd", "name": "a"}}, "a file in recordings/"),
        ({"held-out": {"file": "recordings/log.csv"}}, "held-out"),
        ({"version": {}}, "version"),
    ],
)
def test_studio_sessions(tmp_path: Path, change: dict[str, object], told: str) -> None:
    robot = dd.load_robot("example-delta")
    folder = save_project(Session(robot), str(tmp_path / "mine"))
    file = folder / "studio.json"
    session = Session(robot)
    open_project(session, str(folder))
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(DeltadynError, match=told) as caught:
        open_project(session, str(folder))
    assert len(str(caught.value)) <= 2000
    for text in ("[" * 100_000, "[]", '{"version": 1}', "9" * 5000):
        file.write_text(text)
        with pytest.raises(DeltadynError):
            open_project(session, str(folder))


def wide_rows(count: int) -> bytes:
    """A log that says the same all the time: it packs to a thousandth."""
    head = b"t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm\n"
    return head + b"".join(b"%d.001,0.1,0.1,0.1,0.1,0.1,0.1\n" % k for k in range(count))


def packed_log(folder: Path, kind: str, count: int) -> Path:
    """The same rows in a packed file."""
    path = folder / f"log.{kind}"
    if kind == "csv":
        path.write_bytes(gzip.compress(wide_rows(count), mtime=0))
        return path
    t, ones = np.arange(count) / 1000, np.full((count, 3), 0.1)
    if kind == "mat":
        values = {"t_s": t, "q_rad": ones, "tau_Nm": ones}
        scipy.io.savemat(path, values, do_compression=True)
        return path
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = ["t_s", *(f"q{i}_rad" for i in (1, 2, 3)), *(f"tau{i}_Nm" for i in (1, 2, 3))]
    columns = [t, *ones.T, *ones.T]
    parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "mat", "parquet"])
def test_what_is_unpacked_is_bounded(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed_log(tmp_path, kind, 30_000)  # some MB
    assert len(read_recording(path)) == 30_000
    monkeypatch.setattr("deltadyn.recording.readers.bounded.MIN_UNPACKED_BYTES", 300_000)
    monkeypatch.setattr("deltadyn.recording.readers.bounded.MAX_UNPACKING_RATIO", 0)
    with pytest.raises(RecordingFileError, match=r"(unpacks to|content is) more than 0 MB"):
        read_recording(path)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["csv", "mat", "parquet"])
def test_the_limit_of_uploads_bounds_what_they_unpack_to(tmp_path: Path, kind: str) -> None:
    content = packed_log(tmp_path, kind, 30_000).read_bytes()
    limit = 1_000_000
    assert len(content) < limit
    upload = Upload(f"my log.{kind}", content)
    robot = dd.load_robot("example-delta")
    with pytest.raises(UploadError, match="more than 1 MB") as caught:
        log_upload(upload, robot, limit)
    assert str(caught.value).startswith("my log")
    assert len(log_upload(upload, robot, 100 * limit)) == 30_000


def test_the_limit_of_uploads_bounds_their_numbers(tmp_path: Path) -> None:
    """A text of one digit a cell becomes eight bytes for each, and is still taken."""
    rows = b"".join(b"%d,1,1,1\n" % k for k in range(60_000))
    content = b"t,q1,q2,q3\n" + rows
    robot = dd.load_robot("example-delta")
    assert len(log_upload(Upload("a.csv", content), robot, len(content))) == 60_000
    with unpacking_at_most(1000):
        refuse_many_values("a.mcap", 500)
        with pytest.raises(RecordingFileError, match="unpacks to more than 0 MB"):
            refuse_many_values("a.mcap", 501)
    refuse_many_values("a.mcap", 10**6)  # of no upload
