"""Projects: a session saved and opened again is the same; other folders are left alone."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.studio.cases import ROBOT, foreign_bytes
from tests.studio.test_columns import form

import deltadyn as dd
from deltadyn.errors import DeltadynError, InputError
from deltadyn.studio.motion import FROM_LOG, UPLOADED
from deltadyn.studio.project import open_project, save_project
from deltadyn.studio.session import Session, Upload


@pytest.fixture
def session() -> Session:
    return Session(dd.load_robot(ROBOT), max_upload=5)


@pytest.mark.full
def test_a_session_comes_back(session: Session, tmp_path: Path) -> None:
    session.edit({"payload": 0.5})
    session.upload_log(Upload("my log.csv", foreign_bytes()), payload=0.25)
    assert session.draft is not None
    session.choose_columns(form(session.draft, sign_6="-1"))
    session.upload_log(Upload("other.csv", foreign_bytes(2)), held_out=True)
    rows = "".join(f"{k / 100},0,{0.001 * k},-0.6\n" for k in range(10))
    session.upload_motion(Upload("m.csv", f"t_s,x_m,y_m,z_m\n{rows}".encode()))
    session.play(FROM_LOG)
    session.move([0.02, 0.0, -0.62])
    folder = save_project(session, str(tmp_path / "mine"))

    other = Session(dd.load_robot("example-delta-4"), max_upload=5)
    lock = other.lock
    open_project(other, str(folder))
    assert other.lock is lock
    assert other.robot == session.robot
    assert other.reference == session.reference
    np.testing.assert_allclose(other.pose.p, session.pose.p)
    assert other.log is not None
    assert session.log is not None
    np.testing.assert_array_equal(other.log.recording.tau, session.log.recording.tau)
    assert other.log.recording.payload == 0.25
    assert other.draft is not None
    assert other.draft.upload.shown == "my log.csv"
    assert other.held_out is not None
    assert session.held_out is not None
    np.testing.assert_array_equal(other.held_out.recording.tau, session.held_out.recording.tau)
    assert other.track is not None
    assert other.track.name == FROM_LOG
    assert UPLOADED in other.motion_names()
    save_project(other, str(folder))  # and again, over itself


def test_the_command_line_reads_the_same(session: Session, tmp_path: Path) -> None:
    session.upload_log(Upload("log.csv", foreign_bytes()))
    assert session.draft is not None
    percent = form(session.draft, unit_5="percent", unit_6="percent", unit_7="percent")
    log = session.choose_columns({**percent, "asked.rated_torque": "50"})
    folder = save_project(session, str(tmp_path / "mine"))
    assert yaml.safe_load((folder / "columns.yaml").read_text())
    robot = dd.load_robot(folder / "robot.yaml")
    read = dd.read_recording(
        folder / "recordings" / "log.csv", robot=robot, columns=folder / "columns.yaml"
    )
    np.testing.assert_allclose(read.tau, log.recording.tau)
    toml = (folder / "deltadyn.toml").read_text()
    assert 'columns = "columns.yaml"' in toml
    assert "deltadyn identify . recordings/log.csv" in toml


def test_other_folders_are_left_alone(session: Session, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="a new or empty folder"):
        save_project(session, str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]
    with pytest.raises(InputError, match="a folder, not a file"):
        save_project(session, str(tmp_path / "notes.txt"))
    with pytest.raises(InputError, match="the path of a folder"):
        save_project(session, "  ")


def test_what_is_no_project_is_refused_and_changes_nothing(
    session: Session, tmp_path: Path
) -> None:
    before = session.robot
    with pytest.raises(InputError, match=r"a folder with studio\.json"):
        open_project(session, str(tmp_path))
    folder = save_project(session, str(tmp_path / "mine"))
    state = json.loads((folder / "studio.json").read_text())
    secret = tmp_path / "secret.csv"
    secret.write_bytes(foreign_bytes())
    state["log"] = {"file": "recordings/../../secret.csv", "name": "log.csv"}
    (folder / "studio.json").write_text(json.dumps(state))
    with pytest.raises(DeltadynError, match=r"a file in recordings/"):
        open_project(session, str(folder))
    (folder / "studio.json").write_text('{"version": 9}')
    with pytest.raises(DeltadynError, match="version is 9"):
        open_project(session, str(folder))
    (folder / "studio.json").write_text("{")
    with pytest.raises(DeltadynError, match="JSON that the studio wrote"):
        open_project(session, str(folder))
    assert session.robot is before


@pytest.mark.full
def test_a_studio_begins_with_a_project(session: Session, tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="the extra deltadyn[studio] is not installed")
    from deltadyn.studio.server import Studio

    session.move([0.02, 0.0, -0.62])
    folder = save_project(session, str(tmp_path / "mine"))
    server = Studio(session.robot, 0, 5, str(folder))
    try:
        np.testing.assert_allclose(server._session().pose.p, session.pose.p)
    finally:
        server.stop()
    with pytest.raises(InputError, match=r"studio\.json"):
        Studio(session.robot, 0, 5, str(tmp_path))
