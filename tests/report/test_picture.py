"""The demonstration's page, as text and in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make, waves
from tests.waits import BROWSER_WAIT

import deltadyn as dd
from deltadyn.report.picture import (
    PARTS,
    drawn_spacing,
    merged,
    pose_lines,
    replay_section,
    robot_lines,
    torque_page,
)
from deltadyn.report.sizing import coupling_page
from deltadyn.reproduce.ladder import pick_and_place
from deltadyn.robot.bodies import ArticulatedPlatform


def test_equal_curves_share_a_name() -> None:
    a = np.array([[1.0, 2.0, 3.0]])
    curves = merged({"one": a, "two": a + 1e-12, "three": a + 0.1})
    assert list(curves) == ["one, two", "three"]


@pytest.mark.parametrize("name", ["example-delta", "example-delta-4"])
def test_drawn_lengths_are_the_robots(name: str) -> None:
    robot = dd.load_robot(name)
    p = pick_and_place(robot).p[0]
    pose = dd.kinematics.skeleton(robot, p)
    lines = robot_lines(robot, pose, drawn_spacing(robot))
    lengths = {part: [np.linalg.norm(line[1] - line[0]) for line in lines[part]] for part in lines}
    # 1e-12 m: roundings of lengths of about 1 m
    np.testing.assert_allclose(lengths["arm"], robot.rotary.arm_length, atol=1e-12)
    pairs = np.repeat(robot.geometry.strut_length, 2)
    np.testing.assert_allclose(lengths["strut"], pairs, atol=1e-12)
    assert ("spindle" in lines) == (robot.dof == 4)


@pytest.mark.full
@pytest.mark.browser
def test_page_draws_in_a_browser(chromium: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    robot = dd.load_robot("example-delta-4")
    move = pick_and_place(robot)
    torques = {name: dd.inverse_dynamics(robot, move, name) for name in ("exact", "half-half")}
    page_path = torque_page(robot, move, torques, tmp_path / "picture.html")
    flags = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=flags, timeout=BROWSER_WAIT)
        page = browser.new_page()
        page.set_default_timeout(BROWSER_WAIT)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(page_path.as_uri())
        page.wait_for_selector(".gl-container canvas", state="attached")
        assert page.locator(".xy .scatterlayer .trace").count() >= 2
        assert page.locator(".legendtext").all_text_contents()[-2:] == ["exact", "half-half"]
        assert page.locator(".xaxislayer-above").count() + page.locator(".xtick").count() > 0
        browser.close()
    assert errors == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests)  # opens offline


def test_coupling_page_holds_every_pair_and_drive(tmp_path: Path) -> None:
    robot = dd.load_robot("example-delta-4")
    found = dd.dynamics.coupling_map(robot, resolution=9)
    text = coupling_page(robot, found, tmp_path / "maps" / "coupling.html").read_text()
    for title in ("|M12|", "|M23|", "|M34|", "M11 (kg m^2)", "M33 (kg m^2)"):
        assert title in text


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_lines_of_every_kind_join(kind: str) -> None:
    robot = make(kind)
    motion = waves(robot, 0.2, rate=50)
    for p in motion.p[[0, -1]]:
        lines = pose_lines(robot, p)
        assert set(lines) <= set(PARTS)
        rods = lines["strut"][: 2 * robot.legs]
        lengths = [float(np.linalg.norm(rod[1] - rod[0])) for rod in rods]
        np.testing.assert_allclose(lengths, np.repeat(robot.geometry.strut_length, 2), atol=1e-9)
        ends = {tuple(np.round(line[0], 9)) for line in lines.get("bar", [])}
        own = robot.platform
        if isinstance(own, ArticulatedPlatform):  # the bars end in corners of half 1
            corners = {tuple(x) for x in np.round(lines["platform"][0], 9)}
            assert len(ends) == 2
            assert ends <= corners
    section = replay_section(robot, motion)
    assert "replay-plot" in section.blocks[0]
