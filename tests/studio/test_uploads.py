"""Uploads: bounded, named only in messages, read by the strict readers, nothing left behind."""

import re
import tempfile
from pathlib import Path

import pytest
from tests.studio.cases import log_bytes, simulated

import deltadyn as dd
from deltadyn.robot.write import robot_text
from deltadyn.studio.session import (
    MEGABYTE,
    Upload,
    UploadError,
    log_upload,
    motion_upload,
    parse_upload,
    robot_upload,
)

ROBOT = dd.load_robot("example-delta")
LIMIT = 5 * MEGABYTE
HEADER = b"t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm\n"
ROWS = b"".join(b"%.3f,0.1,0.1,0.1,1,1,1\n" % (k / 1000) for k in range(20))


@pytest.fixture
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("log.csv", "log.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\run 1.csv", "run 1.csv"),
        ("<img src=x onerror=alert(1)>.csv", "_img src_x onerror_alert(1)_.csv"),
        ("", "upload"),
        ("a" * 300 + ".csv", "a" * 60),
        ("nul\0l.csv", "nul_l.csv"),
    ],
)
def test_names_are_for_messages_only(name: str, shown: str) -> None:
    assert Upload(name, b"").shown == shown


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"log\.csv.*is empty"),
        (b"\x00\x01\x02\xff" * 400, r"log\.csv"),
        (HEADER + b"0.0,nan,0.1,0.1,1,1\n", r"log\.csv.*line 2"),
        (b"a,b,c\n1,2,3\n2,3,4\n", r"log\.csv"),
        (HEADER, r"log\.csv"),
        (b"PK\x03\x04" + b"0" * 100, r"log\.csv.*zip archive"),
        (HEADER.replace(b"tau3_Nm", b"tau3_Nm,q4_rad,tau4_Nm"), r"log\.csv"),
    ],
    ids=["empty", "binary", "short row", "columns", "no rows", "zip", "axes"],
)
def test_bad_logs_are_refused_by_name(own_temp: Path, content: bytes, message: str) -> None:
    with pytest.raises(UploadError, match=message) as caught:
        log_upload(Upload("/secret/log.csv", content), ROBOT, LIMIT)
    assert str(own_temp) not in str(caught.value)  # no path of this machine
    assert list(own_temp.iterdir()) == []


def test_too_large_is_said_with_both_sizes() -> None:
    message = re.escape("big.csv has 6.0 MB; allowed: up to 5 MB")
    with pytest.raises(UploadError, match=message):
        log_upload(Upload("big.csv", b"0" * (6 * MEGABYTE)), ROBOT, LIMIT)


def test_a_good_log_is_the_recording_that_was_written(own_temp: Path) -> None:
    log = log_upload(Upload("../../run.csv", log_bytes(1)), ROBOT, LIMIT, payload=1.5)
    original = simulated(1)
    assert (log.q == original.q).all()
    assert log.name == original.name or log.name == "run"
    assert log.provenance.file == "run.csv"
    assert log.payload == original.payload  # the file says it, so the page's number is not used
    assert list(own_temp.iterdir()) == []


def test_the_payload_of_the_page_fills_what_the_file_leaves_out() -> None:
    log = log_upload(Upload("a.csv", HEADER + ROWS), ROBOT, LIMIT, payload=1.5)
    assert log.payload == 1.5
    assert log_upload(Upload("a.csv", HEADER + ROWS), ROBOT, LIMIT).payload is None


def test_a_column_map_renames() -> None:
    content = HEADER.replace(b"q1_rad", b"axis_one") + ROWS
    with pytest.raises(UploadError):
        log_upload(Upload("a.csv", content), ROBOT, LIMIT)
    columns = Upload("map.yaml", b"axis_one: q1_rad\n")
    log = log_upload(Upload("a.csv", content), ROBOT, LIMIT, columns=columns)
    assert log.q[0, 0] == 0.1


def test_robots(own_temp: Path) -> None:
    text = robot_text(ROBOT).encode()
    assert robot_upload(Upload("mine.yaml", text), LIMIT) == ROBOT
    with pytest.raises(UploadError, match=r"mine\.yaml"):
        robot_upload(Upload("mine.yaml", text.replace(b"geometry", b"geometri")), LIMIT)
    with pytest.raises(UploadError, match=r"mine\.yaml.*UTF-8"):
        robot_upload(Upload("mine.yaml", b"\xff\x00bad"), LIMIT)
    assert list(own_temp.iterdir()) == []


def test_motions() -> None:
    rows = "".join(f"{k / 100},0,{0.001 * k},-0.6\n" for k in range(10))
    motion = motion_upload(Upload("m.csv", f"t_s,x_m,y_m,z_m\n{rows}".encode()), ROBOT, LIMIT)
    assert len(motion) == 10
    with pytest.raises(UploadError, match=r"m\.csv.*line 2"):
        motion_upload(Upload("m.csv", b"t_s,x_m,y_m,z_m\n0,a,0,0\n"), ROBOT, LIMIT)
    with pytest.raises(UploadError, match=r"m\.csv"):
        motion_upload(Upload("m.csv", b"\xff\xfe\xff"), ROBOT, LIMIT)


def test_the_file_is_gone_whatever_the_reader_does(own_temp: Path) -> None:
    seen: list[Path] = []

    def read(path: Path) -> None:
        seen.append(path)
        assert path.read_bytes() == b"x"
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError):
        parse_upload(Upload("a/b.csv", b"x"), LIMIT, ".csv", read)
    assert seen[0].name == "upload.csv"
    assert not seen[0].exists()
    assert list(own_temp.iterdir()) == []
