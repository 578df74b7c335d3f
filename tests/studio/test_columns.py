"""The table of columns: guesses, choices, what they ask for, and the column map to take away."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from tests.studio.cases import ROBOT, foreign_bytes, log_bytes, simulated

import deltadyn as dd
from deltadyn.errors import DeltadynError, InputError
from deltadyn.studio.columns import Draft, draft_html
from deltadyn.studio.forms import Values
from deltadyn.studio.log import (
    convention_rows,
    conventions_html,
    explained,
    overlay_html,
    overlay_rows,
    refuse_other_convention,
)
from deltadyn.studio.motion import FROM_LOG
from deltadyn.studio.project import open_project, save_project
from deltadyn.studio.session import Session, Upload, UploadError


@pytest.fixture
def session() -> Session:
    return Session(dd.load_robot(ROBOT), max_upload=5)


def form(draft: Draft, **changes: object) -> Values:
    """What the page sends: the values of all controls; `is_5` is the control "5.is"."""
    values: dict[str, object] = {}
    for number, use in draft.uses.items():
        if use is None:
            values[f"{number}.is"] = ""
            continue
        axis = "" if use.axis is None else f":{use.axis}"
        values[f"{number}.is"] = f"{use.quantity}{axis}"
        values[f"{number}.unit"] = use.unit
        values[f"{number}.sign"] = f"{use.sign:g}"
        values[f"{number}.offset"] = f"{use.offset:g}"
        values[f"{number}.side"] = use.side or "output"
    for key, value in changes.items():
        word, _, column = key.rpartition("_")
        values[f"{column}.{word}"] = value
    return values


@pytest.mark.full
def test_a_foreign_log_is_guessed_and_a_choice_is_read_at_once(session: Session) -> None:
    log = session.upload_log(Upload("log.csv", foreign_bytes()))
    truth = simulated(1)
    np.testing.assert_allclose(log.recording.q, truth.q, atol=1e-6)
    draft = session.draft
    assert draft is not None
    assert not draft.changed
    changed = session.choose_columns(form(draft, sign_6="-1"))
    np.testing.assert_allclose(changed.recording.tau[:, 1], -log.recording.tau[:, 1])
    assert session.draft is not None
    assert session.draft.changed
    again = session.guess_columns()
    np.testing.assert_allclose(again.recording.tau, log.recording.tau)
    assert not session.draft.changed


def test_a_channel_of_another_column_is_exchanged(session: Session) -> None:
    log = session.upload_log(Upload("log.csv", foreign_bytes()))
    assert session.draft is not None
    swapped = session.choose_columns(form(session.draft, is_6="tau:2"))
    np.testing.assert_allclose(swapped.recording.tau, log.recording.tau[:, [0, 2, 1]])


@pytest.mark.full
def test_units_sides_and_offsets_are_chosen(session: Session) -> None:
    log = session.upload_log(Upload("log.csv", foreign_bytes()))
    assert session.draft is not None
    other = session.choose_columns(form(session.draft, side_5="motor", unit_6="mNm", offset_2="3"))
    gear = session.robot.drives.gear_ratio[0]
    np.testing.assert_allclose(other.recording.tau[:, 0], gear * log.recording.tau[:, 0])
    np.testing.assert_allclose(other.recording.tau[:, 1], 1e-3 * log.recording.tau[:, 1])
    shift = other.recording.q[:, 0] - log.recording.q[:, 0]
    np.testing.assert_allclose(shift, np.radians(3.0))
    with pytest.raises(InputError, match="offset of"):
        session.choose_columns(form(session.draft, offset_2="inf"))


def test_what_a_unit_asks_for_is_said_and_a_number_answers_it(session: Session) -> None:
    log = session.upload_log(Upload("log.csv", foreign_bytes()))
    assert session.draft is not None
    percent = form(session.draft, unit_5="percent", unit_6="percent", unit_7="percent")
    with pytest.raises(UploadError, match="rated_torque"):
        session.choose_columns(percent)
    assert session.log is None
    assert session.draft is not None
    assert "rated torque (N m)" in draft_html(session.draft, 3)
    other = session.choose_columns({**percent, "asked.rated_torque": "50"})
    np.testing.assert_allclose(other.recording.tau, 0.5 * log.recording.tau)
    # the column map to take away needs no other option
    entry = yaml.safe_load(session.draft.text())["columns"]["Achse1.Drehmoment [Nm]"]
    assert (entry["unit"], entry["scale"]) == ("Nm", 0.5)


def test_a_log_whose_columns_are_unknown_stays_as_a_draft(session: Session) -> None:
    names = "a,b,c,d,e,f,g"
    rows = log_bytes(1).decode().splitlines()
    head = next(k for k, line in enumerate(rows) if line.startswith("t_s"))
    plain = "\n".join(",".join(line.split(",")[:7]) for line in rows[head + 1 :])
    with pytest.raises(UploadError, match=r"log\.csv.*have no column"):
        session.upload_log(Upload("log.csv", f"{names}\n{plain}\n".encode()))
    draft = session.draft
    assert draft is not None
    assert session.log is None
    keys = ["t", "q:0", "q:1", "q:2", "tau:0", "tau:1", "tau:2"]
    found = session.choose_columns({f"{k}.is": key for k, key in enumerate(keys, 1)})
    np.testing.assert_allclose(found.recording.q, simulated(1).q)


@pytest.mark.full
def test_a_held_out_log_is_read_like_the_log(session: Session) -> None:
    session.upload_log(Upload("log.csv", foreign_bytes()))
    assert session.draft is not None
    session.choose_columns(form(session.draft, sign_6="-1"))
    apart = session.upload_log(Upload("other.csv", foreign_bytes(2)), held_out=True)
    np.testing.assert_allclose(apart.recording.tau[:, 1], -simulated(2).tau[:, 1], atol=1e-4)


def test_the_table_marks_guesses_and_escapes_names(session: Session) -> None:
    content = foreign_bytes().replace(b"Status", b"<script>")
    session.upload_log(Upload("log.csv", content))
    assert session.draft is not None
    html = draft_html(session.draft, 3)
    assert "<script>" not in html
    assert '<option value="deg" selected>\N{BLACK STAR} deg</option>' in html
    assert "winkel" in html.lower()  # the reason


def test_a_reversed_axis_is_found_and_taken(session: Session) -> None:
    content = foreign_bytes(reversed_axis=True)
    wrong = session.upload_log(Upload("log.csv", content))
    assert not wrong.findings.ok
    assert explained(overlay_rows(session.overlay(), "123")[1]) < 50
    assert "explains little" in overlay_html(session.overlay(), session.robot)
    found = wrong.conventions
    assert found is not None
    assert found.clear
    with pytest.raises(DeltadynError, match=r"sign: \[1, -1, 1\]"):
        refuse_other_convention(wrong)
    told = conventions_html(wrong, "123")
    assert "angle sign" in told
    assert [row[1] for row in convention_rows(found, "123")] == ["+1", "-1", "+1"]
    right = session.take_conventions()
    refuse_other_convention(right)
    assert right.conventions is not None
    assert right.conventions.as_logged
    assert session.robot.controller.sign == (1, -1, 1)
    assert session.reference.controller == session.robot.controller
    assert explained(overlay_rows(session.overlay(), "123")[1]) > 90
    # its offset is known to a few degrees only
    np.testing.assert_allclose(right.recording.q, simulated(1).q, atol=np.radians(8.0))


@pytest.mark.full
def test_logs_beside_are_read_again_with_the_conventions_of_the_log(session: Session) -> None:
    """They were uploaded before the conventions were taken."""
    session.upload_log(Upload("log.csv", foreign_bytes(reversed_axis=True)))
    held = session.upload_log(Upload("o.csv", foreign_bytes(2, reversed_axis=True)), held_out=True)
    empty = session.upload_empty(Upload("e.csv", foreign_bytes(3, reversed_axis=True)))
    for wrong, seed in ((held, 2), (empty, 3)):
        assert np.abs(wrong.recording.tau[:, 1] + simulated(seed).tau[:, 1]).max() < 1e-3
    session.take_conventions()
    for right, seed in ((session.held_out, 2), (session.empty, 3)):
        assert right is not None
        np.testing.assert_allclose(right.recording.tau, simulated(seed).tau, atol=1e-4)
        np.testing.assert_allclose(right.recording.q, simulated(seed).q, atol=np.radians(8.0))
    assert session.notice == ""


def test_a_log_beside_that_cannot_be_read_any_more_is_put_away(session: Session) -> None:
    session.upload_log(Upload("log.csv", foreign_bytes()))
    other = foreign_bytes(2).replace(b"Drehmoment", b"Strom")
    session.upload_log(Upload("other.csv", foreign_bytes(2)), held_out=True)
    assert session.held_out_draft is not None
    draft = session.held_out_draft
    session.held_out_draft = replace(draft, upload=Upload("other.csv", other[:200]))
    assert session.draft is not None
    session.choose_columns(form(session.draft, sign_6="-1"))
    assert session.held_out is None
    assert session.notice.startswith("the held-out log was put away: ")
    assert session.log is not None


def test_a_log_with_holes_is_mended_and_cut(session: Session, tmp_path: Path) -> None:
    rows = foreign_bytes().split(b"\r\n")
    for line in range(501, 504):  # three torques are missing
        cells = rows[line].split(b";")
        cells[5] = b""
        rows[line] = b";".join(cells)
    log = session.upload_log(Upload("log.csv", b"\r\n".join(rows)))
    assert "not finite" in log.findings.kinds
    assert session.draft is not None
    html = draft_html(session.draft, 3)
    assert "fill NaN, up to 5 in a row" in html
    values = {**form(session.draft), "asked.repair": "1", "asked.stop": "2.5"}
    mended = session.choose_columns(values)
    assert "not finite" not in mended.findings.kinds
    assert len(mended.recording) == 2500
    assert "interpolated at 3 samples" in mended.recording.provenance.repairs[0]
    folder = save_project(session, str(tmp_path / "mine"))
    other = Session(dd.load_robot(ROBOT), max_upload=5)
    open_project(other, str(folder))
    assert other.log is not None
    np.testing.assert_array_equal(other.log.recording.tau, mended.recording.tau)
    reading = tomllib.loads((folder / "deltadyn.toml").read_text())["reading"]
    assert reading == {"stop": 2.5, "repair": ["nan"]}


def test_a_right_log_stands_as_logged(session: Session) -> None:
    log = session.upload_log(Upload("log.csv", foreign_bytes()))
    assert log.conventions is not None
    assert log.conventions.as_logged
    assert "as logged" in conventions_html(log, "123")


def test_an_order_is_taken_into_the_columns(session: Session) -> None:
    content = foreign_bytes()
    head, _, rest = content.partition(b"\r\n")
    head = head.replace(b"Achse1.D", b"Achse9.D").replace(b"Achse2.D", b"Achse1.D")
    session.upload_log(Upload("log.csv", head.replace(b"Achse9.D", b"Achse2.D") + b"\r\n" + rest))
    right = session.take_conventions()
    np.testing.assert_allclose(right.recording.tau, simulated(1).tau, atol=1e-4)


def test_a_log_without_torque_is_played(session: Session) -> None:
    rows = foreign_bytes().splitlines()
    content = b"\n".join(b";".join(row.split(b";")[:4]) for row in rows)
    log = session.upload_log(Upload("log.csv", content))
    assert not log.recording.has_torque
    track = session.play(FROM_LOG)
    assert list(track.curves) == ["robot file"]
    t, q = track.motion.t, simulated(1).q
    inside = np.interp(t, simulated(1).t, q[:, 0])
    np.testing.assert_allclose(track.motion.q[:, 0], inside, atol=1e-3)
    assert "no torque" in overlay_html(track, session.robot)
    assert "not looked for" in conventions_html(log, "123")
