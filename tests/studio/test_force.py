"""The external force of a log in the studio: what is on at a time, its arrow and its channels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.studio.cases import PUSH, PUSHED, ROBOT, touched, touched_bytes

import deltadyn as dd
from deltadyn.force import ForceLog, find_contacts
from deltadyn.studio.drawing import PAYLOAD, thickness
from deltadyn.studio.force import FREE, LONGEST, TOUCHED, ForceTrack, contact_rows
from deltadyn.studio.motion import FROM_LOG, Track, log_track
from deltadyn.studio.plots import time_figure, track_channels
from deltadyn.studio.project import open_project, save_project
from deltadyn.studio.session import Session, Upload

DELTA = dd.load_robot(ROBOT)
NONE = (0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def log() -> ForceLog:
    return find_contacts(DELTA, touched(3.0, 6), touched(18.0, 5, NONE))


@pytest.fixture(scope="module")
def track(log: ForceLog) -> Track:
    return replace(log_track(DELTA, log.recording), force=ForceTrack(log, DELTA))


def test_the_force_at_a_time_with_its_colour(track: Track, log: ForceLog) -> None:
    start = float(track.motion.t[0])
    middle = track.push(0.5 * sum(PUSHED) - start)
    before = track.push(PUSHED[0] - 0.1 - start)
    assert middle is not None
    assert before is not None
    np.testing.assert_allclose(middle.force, PUSH, atol=0.5)  # N, noise of 0.02 N m
    assert middle.contact is log.contacts[0]
    assert (middle.colour, before.colour) == (TOUCHED, FREE)
    assert middle.text.endswith("size 32.4 N; contact at the platform")
    assert before.text.endswith("; no contact")
    picked = replace(middle, contact=replace(log.contacts[0], kind="pick"))
    assert picked.colour == PAYLOAD
    assert track.push(100.0) is None  # the log has ended


def test_the_arrow_has_a_round_scale_and_fits(track: Track) -> None:
    force = track.force
    assert force is not None
    push = track.push(0.5 * sum(PUSHED) - float(track.motion.t[0]))
    assert push is not None
    arrow = force.arrow(push)
    np.testing.assert_allclose(arrow / np.linalg.norm(arrow), np.array(PUSH) / 32.4, atol=0.02)
    assert 0.3 < np.linalg.norm(arrow) / (LONGEST * thickness(DELTA)) <= 1.0
    assert force.newtons == 20.0
    assert f"{force.newtons:g} N per 100 mm" in force.legend


def test_a_contact_is_on_until_the_robot_is_calm(log: ForceLog) -> None:
    on = contact_rows(log)
    times = log.t[on == 0]
    assert times[0] == log.contacts[0].time
    assert times[-1] == log.t[log.statistic > log.limit][-1]
    assert PUSHED[1] - 0.01 < times[-1] < PUSHED[1] + 0.15  # the filter's end
    assert np.all(on[(log.t >= times[0]) & (log.t <= times[-1])] == 0)  # no hole in it
    # calm for long, then over the limit again without another contact: off between
    again = log.statistic.copy()
    again[-5:] = log.limit + 1
    assert np.all(contact_rows(replace(log, statistic=again))[-5:] == -1)
    assert np.all(contact_rows(replace(log, contacts=())) == -1)


def test_channels_of_the_force(track: Track, log: ForceLog) -> None:
    channels = {each.key: each for each in track_channels(track, DELTA)}
    size = channels["external force/size"]
    assert size.first
    seen = size.curves["contact"]
    held = ~np.isnan(seen.y)
    np.testing.assert_array_equal(held, contact_rows(log) >= 0)
    np.testing.assert_array_equal(seen.y[held], size.curves["force"].y[held])
    np.testing.assert_array_equal(channels["external force/z"].curves["z"].y, log.force[:, 2])
    threshold = size.curves["threshold"].y
    assert np.all(
        size.curves["force"].y[log.statistic > log.limit] > threshold[log.statistic > log.limit]
    )
    limit = channels["alarm/statistic"].curves["limit"]
    np.testing.assert_array_equal(limit.y, log.limit)
    figure = json.loads(time_figure([size]).to_json())
    assert [trace["name"] for trace in figure["data"]] == ["force", "contact", "threshold"]
    assert None in figure["data"][1]["y"]  # a hole where there is no contact


@pytest.mark.full
def test_a_session_finds_the_force_by_an_empty_run(tmp_path: Path) -> None:
    session = Session(DELTA)
    session.upload_log(Upload("log.csv", touched_bytes(3.0, 6)))
    assert session.play(FROM_LOG).force is None
    session.upload_empty(Upload("empty.csv", touched_bytes(18.0, 5, NONE)))
    track = session.track
    assert track is not None
    assert track.force is not None  # what is shown follows at once
    assert track.force.log.contacts[0].time == pytest.approx(PUSHED[0], abs=0.01)
    assert session.play(FROM_LOG).force is track.force  # not computed again
    save_project(session, str(tmp_path / "mine"))
    opened = Session(dd.load_robot("sipro-d3-1200"))
    open_project(opened, str(tmp_path / "mine"))
    assert opened.track is not None
    assert opened.track.force is not None
    # an empty run that is too short is no error: the log is shown without a force
    assert session.empty is not None
    session.empty = replace(session.empty, recording=touched(3.0, 5, NONE))
    short = session.play(FROM_LOG)
    assert short.force is None
    assert short.notes[-1].startswith("no external force: empty run is '")
