"""The studio in a real Chromium: load, move, drag, play, upload, identify, download, two windows.

One server and one browser serve all tests; each test, or class of tests that follow each other, has
a page, and so a session, of its own.
"""

import dataclasses
import io
import itertools
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studio.cases import PUSHED, ROBOT, foreign_bytes, touched_bytes
from tests.waits import BROWSER_WAIT

import deltadyn as dd
from deltadyn.robot.file import robot_from_text
from deltadyn.studio.drawing import ARM, PLATFORM
from deltadyn.studio.server import Studio

pytest.importorskip("viser", reason="the extra deltadyn[studio] is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.browser

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
)
SIZE = {"width": 800, "height": 520}
COARSE = 0.5  # pixels of the screen per pixel of the page
MAX_UPLOAD = 2  # MB
NOTICES = 200  # pixels from the top that notices may cover
X_ARROW = (255, 32, 96)
LIT_ARROW = (200, 90, 250)  # of a contact, in the light of the scene
ASIDE = (10.0, SIZE["height"] - 10.0)  # a place of the view where nothing is drawn
SETTLED = 10  # frames of the browser in which nothing changes
#: Ends when the browser has drawn so many frames: longer on a busy machine.
DRAWN = """frames => new Promise(done => {
  const count = () => frames-- > 0 ? requestAnimationFrame(count) : done();
  count();
})"""


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    server = Studio(dd.load_robot(ROBOT), 0, MAX_UPLOAD)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=chromium, args=list(FLAGS), timeout=BROWSER_WAIT
        )
        yield running
        running.close()


class Page:
    """A window of the studio, and what a user does in it."""

    def __init__(self, browser: Any, studio: Studio) -> None:
        # fewer pixels than the page is wide: software rendering takes most of the time
        self.page = browser.new_page(
            viewport=SIZE, device_scale_factor=COARSE, accept_downloads=True
        )
        self.page.set_default_timeout(BROWSER_WAIT)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        others = set(studio._windows)
        self.page.goto(studio.address)
        self.page.get_by_text("DOF.").wait_for()  # the tab Robot is filled
        self.page.get_by_text("strut length").wait_for()
        self.until(lambda: bool(set(studio._windows) - others), "a session of the page")
        (number,) = set(studio._windows) - others
        self.window = studio._windows[number]

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def upload(self, button: str, name: str, content: bytes) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.press(button)
        file = {"name": name, "mimeType": "text/plain", "buffer": content}
        chooser.value.set_files(file)

    def download(self, button: str) -> tuple[str, bytes]:
        with self.page.expect_download() as download:
            self.press(button)
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()

    def says(self, text: str | re.Pattern[str]) -> None:
        self.page.get_by_role("status").filter(has_text=text).first.wait_for()

    def row(self, name: str) -> str:
        """The text beside a name in a table that is shown."""
        row = self.page.locator("tr:visible").filter(has_text=re.compile(f"^{name}")).first
        return str(row.inner_text()).removeprefix(name).strip()

    def platform(self) -> np.ndarray:
        """x, y, z in mm, as the page shows them."""
        return np.array([float(x) for x in self.row("platform").removesuffix("mm").split(",")])

    def pull(self, start: tuple[float, ...], way: tuple[float, ...]) -> None:
        """Press the pointer at a place of the view, move it by so many pixels and let go.

        The view is drawn between the moves, as it is for a user, who is slower than a frame.
        """
        mouse = self.page.mouse
        mouse.move(*start)
        self.drawn(3)
        mouse.down()
        for step in range(1, 9):
            self.drawn(3)
            mouse.move(start[0] + way[0] * step / 8, start[1] + way[1] * step / 8)
        self.drawn(3)
        mouse.up()
        mouse.move(*ASIDE)  # what lies under a pointer that rests changes its colour

    def drawn(self, frames: int) -> None:
        """Wait until the browser has drawn so many frames."""
        self.page.evaluate(DRAWN, frames)

    def settled(self) -> np.ndarray:
        """The platform in mm when the page shows the session's pose and nothing moves any more."""
        shown = np.full(3, np.nan)

        def still() -> bool:
            nonlocal shown
            before, shown = shown, self.platform()
            there = 1e3 * self.window.session.pose.p[:3]
            self.drawn(SETTLED)
            return np.array_equal(before, shown) and bool(np.abs(shown - there).max() < 0.06)

        self.until(still, "the page shows the session's pose")
        return shown

    def until(self, test: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + BROWSER_WAIT / 1000
        while not test():
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {BROWSER_WAIT / 1000:g} s")
            self.drawn(1)


@pytest.fixture(scope="class")  # of a test that is in no class: for itself
def page(browser: Any, studio: Studio) -> Iterator[Page]:
    """A page; at its end nothing went wrong in it and nothing was asked of other machines."""
    opened = Page(browser, studio)
    yield opened
    opened.page.close()
    assert opened.errors == []
    outside = [
        url for url in opened.requests if not url.startswith((studio.address, "data:", "blob:"))
    ]
    assert outside == []  # it works offline, and nothing leaves the machine


def pixels(page: Page) -> np.ndarray:
    """The picture of the page (height, width, 3)."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.page.screenshot())).convert("RGB")
    size = (SIZE["width"], SIZE["height"])
    return np.asarray(picture.resize(size, Image.Resampling.NEAREST)).astype(int)


def hue(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Mask of the pixels of this hue, lit or in shade; greys and whites are none."""
    size = np.linalg.norm(picture, axis=-1) * np.linalg.norm(colour)
    cosine = picture @ np.asarray(colour) / np.maximum(size, 1)
    colourful = picture.max(axis=-1) - picture.min(axis=-1) > 60
    return np.asarray((cosine > 0.97) & colourful)


def spots(page: Page, colour: tuple[int, int, int]) -> np.ndarray:
    """x, y of the pixels of this hue, (n, 2); viser's notices are above them."""
    rows, columns = np.nonzero(hue(view(pixels(page))[NOTICES:], colour))
    return np.stack([columns, rows + NOTICES], axis=-1).astype(float)


def steady_spots(page: Page, colour: tuple[int, int, int]) -> np.ndarray:
    """The spots of a picture that no longer changes; there are more than 20.

    The pointer moves aside each time: what it lights up would have another colour, and a drag that
    ends late on a busy machine leaves it lit until the next move.
    """
    found, nudge = np.empty((0, 2)), 0

    def steady() -> bool:
        nonlocal found, nudge
        nudge = 1 - nudge
        page.page.mouse.move(ASIDE[0] + nudge, ASIDE[1])
        before, found = found, spots(page, colour)
        page.drawn(SETTLED)
        return len(found) > 20 and np.array_equal(before, found)

    page.until(steady, "a steady picture")
    return found


def over_the_arrow(page: Page) -> np.ndarray:
    """A point of the arrow along x, which changes its colour under the pointer."""
    red = steady_spots(page, X_ARROW)
    outer = red[red[:, 0] > red[:, 0].max() - 8]  # beyond the platform
    middle = np.linalg.norm(outer - np.median(outer, axis=0), axis=1)
    points = itertools.cycle(outer[middle.argsort()])
    point = outer[0]

    def lit() -> bool:
        nonlocal point
        point = next(points)
        page.page.mouse.move(*point)
        page.drawn(SETTLED)
        return len(spots(page, X_ARROW)) == 0

    page.until(lit, "the arrow lights up")
    return np.asarray(point)


def view(picture: np.ndarray) -> np.ndarray:
    """The part of the picture that shows the robot, without the page."""
    return picture[:, : SIZE["width"] - 445]


def measured_bytes(robot: Any) -> bytes:
    """Poses of a robot whose first arm is 1.5 mm longer than its file says, by a tracker."""
    plan = dd.plan_calibration(robot, "tracker", 20)
    arms = np.add(robot.geometry.arm_length, (0.0015, 0.0, 0.0))
    real = robot.replace(geometry=dataclasses.replace(robot.geometry, arm_length=tuple(arms)))
    p = dd.forward_kinematics(real, plan.q)[:, :3]
    p = p + np.random.default_rng(3).normal(0, 2e-5, p.shape)
    head = "pose,q1_deg,q2_deg,q3_deg,x_mm,y_mm,z_mm"
    q = np.degrees(np.asarray(robot.to_controller(plan.q)))[:, :3]
    rows = [
        ",".join(map(str, (k + 1, *angles, *point)))
        for k, (angles, point) in enumerate(zip(q.tolist(), (p * 1e3).tolist(), strict=True))
    ]
    return "\n".join([head, *rows]).encode()


class TestOneRobot:
    """In one page: what it shows, poses, and at last another geometry."""

    def test_the_page_shows_the_robot(self, page: Page) -> None:
        assert page.page.title() == "deltadyn studio"
        assert page.page.locator("canvas").count() >= 1
        page.until(lambda: hue(view(pixels(page)), ARM).sum() > 300, "the arms in the picture")
        page.until(lambda: len(spots(page, PLATFORM)) > 20, "the platform in the picture")
        name, content = page.download("Download the robot file")
        assert name == f"{ROBOT}.yaml"
        assert robot_from_text(content.decode()) == dd.load_robot(ROBOT)

    def test_sliders_and_drags_move_the_robot_where_it_can_go(self, page: Page) -> None:
        page.tab("Pose")
        start = page.platform()
        np.testing.assert_allclose(start, [0, 0, -600])
        slider = page.page.get_by_role("slider").first
        slider.focus()
        for _ in range(5):
            slider.press("ArrowRight")
        page.until(lambda: page.platform()[0] == 5.0, "x after five steps of the slider")
        robot = dd.load_robot(ROBOT)
        q = np.degrees(dd.inverse_kinematics(robot, [0.005, 0.0, -0.6]))
        page.until(lambda: page.row("1").split()[0] == f"{q[0]:.2f}", "the angle of arm 1")

        # the platform itself, with the pointer: its orange pixels tell where it is
        x, y = np.median(steady_spots(page, PLATFORM), axis=0)
        page.pull((x, y), (-40.0, 0.0))
        page.until(lambda: bool(np.abs(page.platform()[:2]).max() > 20), "a pose after the drag")
        dragged = page.settled()
        # in the plane of the view, which looks down a little: height stays within a part of the way
        assert abs(dragged[2] + 600) < 20

        # the arrow along x, by its red pixels: y and z stay
        centre = np.median(steady_spots(page, PLATFORM), axis=0)
        grip = over_the_arrow(page)
        page.pull(tuple(grip), tuple(40 * (grip - centre) / np.linalg.norm(grip - centre)))
        page.until(lambda: bool(page.platform()[0] > dragged[0] + 10), "a pose after pulling x")
        before = page.settled()
        np.testing.assert_allclose(before[1:], dragged[1:], atol=0.11)  # as shown

        # a target out of reach: the robot stays, and a message says why
        visible = page.page.locator("input:visible[type=text], input:visible[inputmode=decimal]")
        visible.nth(2).fill("-984")  # the lowest point, which is on the axis
        visible.nth(2).press("Enter")
        page.says("cannot be reached: a limb is too short or too long for it")
        np.testing.assert_allclose(page.settled(), before)

    def test_poses_are_planned_and_a_geometry_is_calibrated(self, page: Page) -> None:
        robot = page.window.session.robot
        page.tab("Calibrate")
        page.press("Plan the poses")
        page.page.get_by_text("expected over the workspace").wait_for()
        name, poses = page.download("Download the poses")
        assert name == "poses.csv"
        assert poses.decode().startswith("pose,q1_deg,q2_deg,q3_deg")
        assert len(poses.decode().splitlines()) == 31
        page.upload("Upload measured poses", "poses.csv", measured_bytes(robot))
        page.says("poses.csv")
        assert float(page.row("before").split()[0]) > 0.1  # mm
        assert float(page.row("after").split()[0]) < 0.05
        page.press("Use the calibrated robot")
        page.says("the calibrated robot is shown")
        found = page.window.session.robot.rotary.arm_length
        assert found[0] - found[1] == pytest.approx(0.0015, abs=4e-4)
        name, archive = page.download("Download robot, numbers and page")
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            assert {Path(item).suffix for item in file.namelist()} == {".yaml", ".json", ".html"}
        assert page.errors == []


class TestOtherRobots:
    """In one page: beside another window, and robots of other kinds."""

    def test_two_windows_do_not_disturb_each_other(
        self, browser: Any, studio: Studio, page: Page
    ) -> None:
        other = Page(browser, studio)
        try:
            page.choose("catalogue", "example-delta-4")
            page.page.get_by_text("example-delta-4: 4 DOF").wait_for()
            page.tab("Pose")
            psi = re.compile("^psi")
            page.page.locator("tr:visible").filter(has_text=psi).first.wait_for()
            # what the server answers to the other window comes after all that it sent before
            other.tab("Pose")
            slider = other.page.get_by_role("slider").first
            slider.focus()
            slider.press("ArrowRight")
            other.until(lambda: other.platform()[0] == 1.0, "x after a step of the slider")
            assert other.page.locator("tr:visible").filter(has_text=psi).count() == 0
            other.tab("Robot")
            other.page.get_by_text(f"{ROBOT}: 3 DOF").wait_for()
            assert page.window.session.robot != other.window.session.robot
            assert studio.windows >= 2
        finally:
            other.page.close()
        page.until(lambda: studio.windows == 1, "the session of the closed window is freed")

    def test_robots_of_other_kinds_are_shown_and_turned(self, page: Page) -> None:
        page.tab("Robot")
        page.choose("catalogue", "quattro-s650-like")
        page.tab("Pose")
        page.page.get_by_text("theta 4 (deg)").wait_for()
        turned = page.page.get_by_role("slider").nth(3)  # x, y, z, psi
        turned.focus()
        for _ in range(3):
            turned.press("ArrowRight")
        page.until(lambda: page.row("psi") == "0.3 deg", "psi after three steps of the slider")
        page.tab("Robot")
        page.choose("catalogue", "klipper-deltesian")
        page.tab("Pose")
        page.page.get_by_text("carriage 2 (mm)").wait_for()
        page.page.get_by_text("holding N", exact=True).wait_for()
        assert page.page.get_by_text("y (mm)").count() == 0
        page.tab("Volumes")
        page.choose("colour by", "singularity margin")
        page.page.get_by_text("m² in the plane").wait_for()


def test_volumes_motion_and_a_changed_robot(page: Page) -> None:
    page.tab("Volumes")
    page.choose("colour by", "limits")
    page.page.get_by_text("an arm passes its angle limit").wait_for()
    page.choose("colour by", "none")
    page.tab("Motion")
    page.choose("motion", "Adept cycle")
    shown = page.page.get_by_text(re.compile(r"^t = [\d.]+ of"))
    shown.wait_for()
    assert shown.inner_text().startswith("t = 0.000 of")
    plot = page.page.locator(".js-plotly-plot")
    plot.locator(".ytitle, .y2title, .y3title").nth(2).wait_for()
    assert page.page.get_by_role("button", name="Share").count() == 0  # nothing leaves the machine
    page.press("Play")
    seen: set[str] = set()

    def moved() -> bool:
        seen.add(shown.inner_text())
        return len(seen) >= 4

    page.until(moved, "time goes on")
    page.press("Pause")
    player = page.window.motion_tab
    page.until(lambda: player._thread is None, "the player stops")
    page.until(lambda: shown.inner_text() in player._numbers.content, "the last time is shown")
    still = shown.inner_text()
    page.drawn(SETTLED)
    assert shown.inner_text() == still
    assert not still.startswith("t = 0.000 of")

    # a zoom brings more samples, a click moves the robot, a ticked channel is drawn
    area = plot.locator(".nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    middle, height = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def zoomed() -> bool:  # again where the plot was drawn anew just then
        page.page.mouse.move(middle - 60, height)
        page.page.mouse.down()
        page.page.mouse.move(middle + 60, height, steps=4)
        page.page.mouse.up()
        page.drawn(SETTLED)
        return player._plot._span is not None

    page.until(zoomed, "the zoom is known")
    span, track = player._plot._span, page.window.session.track
    assert span is not None
    assert track is not None
    low, high = span
    assert high - low < 0.5 * track.duration
    page.page.mouse.move(middle, height)
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, -200)
    page.page.keyboard.up("Control")
    page.until(lambda: player._plot._span != span, "the wheel zooms")
    near = player._plot._span
    assert near is not None
    low, high = near
    assert high - low < span[1] - span[0]
    page.page.mouse.click(middle, height)
    page.until(lambda: shown.inner_text() != still, "the robot goes where the plot was clicked")
    assert low < float(shown.inner_text().split()[2]) < high
    page.page.get_by_text("Channels", exact=True).click()
    page.page.get_by_text("power (W)").click()
    page.page.get_by_label("all axes").check()
    plot.get_by_text("power all axes").wait_for()

    # edited, and compared on this motion
    page.tab("Robot")
    assert page.page.get_by_role("button", name="Apply the changes").is_disabled()
    page.page.get_by_text("Masses and centres of mass").click()
    field = page.page.get_by_label("payload (kg)", exact=True).first
    field.fill("1.5")
    field.press("Tab")
    page.press("Apply the changes")
    page.says("1 number changed")
    page.page.get_by_text("What differs").wait_for()
    assert "1.5" in page.row("payload")
    before, after, *_ = page.row("1").split()
    assert float(after) > float(before)
    name, content = page.download("Download the robot file")
    assert name == f"{ROBOT}.yaml"
    assert robot_from_text(content.decode()).payload.mass == 1.5


BAD = {
    "empty.csv": (b"", "is empty"),
    "binary.csv": (bytes(range(256)) * 20, "binary.csv"),
    "nan.csv": (
        b"t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm\n"
        + b"".join(b"%.3f,nan,0,0,1,1,1\n" % (k / 1000) for k in range(50)),
        "its checks found errors",
    ),
    "columns.csv": (b"a,b\n1,2\n", "columns.csv"),
    "large.csv": (b"0" * (3 * 1_000_000), "large.csv has 3.0 MB; allowed: up to 2 MB"),
}


def test_a_log_is_uploaded_identified_and_taken_away(
    page: Page, studio: Studio, tmp_path: Path
) -> None:
    page.tab("Log")
    identify = page.page.get_by_role("button", name="Identify", exact=True)
    assert identify.is_disabled()
    for name, (content, message) in BAD.items():
        page.upload("Upload a log", name, content)
        page.says(message)
    page.upload("Upload a log", "good.csv", foreign_bytes(1))
    page.says("good.csv was read and checked")
    plot = page.page.locator(".js-plotly-plot")
    plot.get_by_text("measured").first.wait_for()
    explained = page.page.locator("tr:visible").filter(has_text="robot file")
    assert explained.filter(has_text="nothing").count() == 0

    # a wrong sign is seen at once; its convention is found, or the choice is taken back
    take = page.page.get_by_role("button", name="Take these conventions")
    assert take.is_disabled()
    page.page.get_by_label("Achse2.Drehmoment [Nm]: sign").select_option("-1")
    explained.filter(has_text="nothing").first.wait_for()
    page.until(take.is_enabled, "conventions to take")
    identify.click()
    page.says("take the conventions of step 3 first")
    page.press("Take the guess again")
    explained.filter(has_text="nothing").first.wait_for(state="detached")
    name, content = page.download("Download the column map")
    assert name == "columns.yaml"
    assert b"Achse1.Istwinkel" in content
    page.upload("Upload a held-out log", "other.csv", foreign_bytes(2))
    page.says("other.csv was read and checked")
    assert page.page.get_by_role("button", name="Download the report").is_disabled()
    identify.click()
    page.says("Verdict: good")
    assert page.page.get_by_text("M_P").count() >= 1
    name, content = page.download("Download the report")
    assert name == f"{ROBOT}-report.html"
    assert b"Verdict: good" in content
    name, content = page.download("Download the identified robot")
    identified = robot_from_text(content.decode())
    assert identified != dd.load_robot(ROBOT)
    name, content = page.download("Download the exports (zip)")
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        assert robot_from_text(files.read("robot.yaml").decode()) == identified
        folders = {name.split("/")[0] for name in files.namelist()}
    assert {"c", "structured-text", "mjcf", "sheets"} <= folders
    page.tab("Motion")
    page.choose("motion", "log")
    page.page.get_by_text("identified N m").wait_for()

    # saved, put away, opened again
    page.tab("Project")
    assert page.page.get_by_role("button", name="Save the session").is_disabled()
    page.page.locator("input:visible").first.fill(str(tmp_path / "mine"))
    page.press("Save the session")
    page.says("saved in")
    assert (tmp_path / "mine" / "results" / "report.html").is_file()
    page.tab("Robot")
    page.choose("catalogue", "example-delta-4")
    page.page.get_by_text("example-delta-4: 4 DOF").wait_for()
    page.tab("Project")
    page.press("Open a project")
    page.says("opened")
    assert page.window.session.robot.name == ROBOT
    assert page.window.session.log is not None
    page.tab("Log")
    page.page.get_by_label("Achse2.Drehmoment [Nm]: sign").wait_for()


def test_the_force_of_a_log_is_an_arrow(page: Page) -> None:
    page.tab("Log")
    page.upload("Upload a log", "pushed.csv", touched_bytes(3.0, 6))
    page.says("pushed.csv was read and checked")
    page.tab("Motion")
    page.choose("motion", "log")
    page.page.get_by_text("Upload an empty run in the tab Log").wait_for()
    page.tab("Log")
    page.upload("Upload an empty run", "empty.csv", touched_bytes(18.0, 5, (0.0, 0.0, 0.0)))
    page.says("empty.csv was read and checked")
    page.tab("Motion")
    page.page.get_by_text("external force, 20 N per 100 mm").wait_for()
    plot = page.page.locator(".js-plotly-plot:visible")
    plot.get_by_text("external force").first.wait_for()
    plot.get_by_text("threshold").first.wait_for()
    track, tab = page.window.session.track, page.window.motion_tab
    assert track is not None

    def go(seconds: float) -> None:
        with page.window.session.lock:
            tab._clicked(seconds - float(track.motion.t[0]))

    go(0.5 * sum(PUSHED))
    page.page.get_by_text("contact at the platform").wait_for()
    page.until(lambda: len(spots(page, LIT_ARROW)) > 100, "an arrow in the colour of a contact")
    assert page.window.arrow._label.text == "32 N"
    go(PUSHED[0] - 0.05)
    page.page.get_by_text("; no contact").wait_for()
    page.until(lambda: len(spots(page, LIT_ARROW)) < 30, "no arrow in that colour")
    # a pose that is no part of the log has no force
    go(0.5 * sum(PUSHED))
    page.until(lambda: len(spots(page, LIT_ARROW)) > 100, "the arrow again")
    page.tab("Pose")
    slider = page.page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    page.until(lambda: len(spots(page, LIT_ARROW)) < 30, "no arrow at a pose by hand")
