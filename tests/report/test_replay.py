"""The replay: which samples it shows, the poses of its pictures, the drawing for paper."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.cases import robot

from deltadyn.motion import Motion
from deltadyn.report.picture import (
    FRAMES,
    WINDOW,
    projected,
    replay_rows,
    replay_section,
    still_svg,
)
from deltadyn.reproduce.ladder import pick_and_place


def busy_at_the_end(seconds: float = 12.0, rate: float = 200.0) -> Motion:
    """Rest, then circles of 5 cm in the last 5 s."""
    t = np.arange(round(seconds * rate) + 1) / rate
    p = np.tile([0.0, 0.0, -0.6], (len(t), 1))
    late = np.maximum(t - (seconds - 5.0), 0.0)
    p[:, 0] += 0.05 * np.sin(2 * np.pi * late)
    p[:, 1] += 0.05 * (1 - np.cos(2 * np.pi * late))
    return Motion.from_platform(robot(), t, p)


def test_the_liveliest_part_of_a_long_motion_is_shown() -> None:
    motion = busy_at_the_end()
    rows = replay_rows(motion)
    shown = motion.t[rows]
    assert len(rows) == FRAMES
    # two samples of 5 ms: the ends are rounded to samples
    assert shown[-1] - shown[0] == pytest.approx(WINDOW, abs=0.01)
    assert shown[0] >= 7.0 - 0.05  # the window slides in steps of 20 ms
    steps = np.diff(shown)
    assert steps.max() <= WINDOW / (FRAMES - 1) + 0.005 + 1e-9  # even, up to a sample
    assert "The liveliest 4 s of the motion" in replay_section(robot(), motion).blocks[0]


def test_a_short_motion_is_shown_whole_and_slowed_down() -> None:
    motion = pick_and_place(robot(4))
    rows = replay_rows(motion)
    assert rows[0] == 0
    assert rows[-1] == len(motion.t) - 1
    section = replay_section(robot(4), motion)
    assert section.numbers["slowed_down"] == pytest.approx(4.0 / motion.duration)
    assert "The whole motion" in section.blocks[0]
    assert len(section.blocks[0]) < 3e6


def test_pictures_keep_the_lengths_of_the_robot() -> None:
    from deltadyn.report.picture import pose_lines, replay_figure

    motion = pick_and_place(robot(4))
    rows = replay_rows(motion)
    poses = [pose_lines(robot(4), point) for point in motion.p[rows]]
    figure = replay_figure(robot(4), motion, motion.t[rows], poses)
    assert len(figure.frames) == len(rows)
    assert [trace.name for trace in figure.data] == [
        "path", "base", "arms", "rods", "platform", "spindle", "direction of the effector",
    ]  # fmt: skip
    for frame in (figure.frames[0], figure.frames[-1]):
        arms, rods = frame.data[0], frame.data[1]
        for trace, length, count in (
            (arms, robot(4).rotary.arm_length[0], 3),
            (rods, robot(4).geometry.strut_length[0], 6),
        ):
            ends = np.array([[v for v in axis if v is not None] for axis in
                             (trace.x, trace.y, trace.z)]).T.reshape(count, 2, 3)  # fmt: skip
            lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
            # places are rounded to 0.1 mm
            np.testing.assert_allclose(lengths, length, atol=2e-4)
    pointer = figure.frames[-1].data[-1]
    turned = np.arctan2(pointer.y[1] - pointer.y[0], pointer.x[1] - pointer.x[0])
    assert turned == pytest.approx(motion.p[rows[-1], 3], abs=2e-3)


def test_the_drawing_is_an_orthographic_view() -> None:
    x, y, z = projected(np.eye(3))
    # columns of the projection of an orthonormal frame are orthonormal
    frame = np.stack([x, y, z])
    np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-12)
    assert z[1] > 0  # up is up
    assert z[0] == pytest.approx(0.0, abs=1e-12)


def test_the_drawing_is_sound_xml_within_its_frame() -> None:
    path = np.array([[0.0, 0.0, -0.6], [0.1, 0.0, -0.5]])
    pose = {"arm": [np.array([[0.1, 0.0, 0.0], [0.3, 0.0, -0.1]])]}
    root = ElementTree.fromstring(still_svg(path, [pose, pose, pose]))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    lines = [child for child in root if child.tag.endswith("polyline")]
    assert len(lines) == 4
    points = np.array([pair.split(",") for line in lines for pair in line.attrib["points"].split()])
    numbers = points.astype(float)
    assert (numbers >= 0).all()
    assert (numbers <= [width, height]).all()
    assert root.attrib["role"] == "img"
