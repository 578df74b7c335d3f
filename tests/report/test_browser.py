"""The report in a real browser: drawn, zoomed, played, printed, reached by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.report.cases import four_study, whole_study
from tests.waits import BROWSER_WAIT

from deltadyn.report import write_report

pytestmark = pytest.mark.browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
#: Smallest contrast of any text with the nearest background behind it, and where it is.
CONTRAST = """() => {
  const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4
  ).reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0);
  let worst = [99, ""];
  const texts = "h1,h2,h3,p,li,td,th,a,figcaption,button,output";
  for (const e of document.body.querySelectorAll(texts)) {
    if (!e.innerText || !e.offsetParent) continue;
    let back = [255, 255, 255];
    for (let n = e; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] > 0) { back = c; break; }
    }
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.tagName + ": " + e.innerText.slice(0, 40)];
  }
  return worst;
}"""
SIZES = """() => Array.from(document.querySelectorAll(".js-plotly-plot")).map(
  plot => [plot._fullLayout.width, plot._fullLayout.height])"""
RANGES = """() => { const plot = document.querySelector("#torque .js-plotly-plot");
  return Object.keys(plot._fullLayout).filter(key => /^xaxis\\d*$/.test(key)).map(
    key => plot._fullLayout[key].range); }"""
FRAME = "Number(document.getElementById('replay-plot').dataset.frame || 0)"
CHOSEN = "Number(document.getElementById('replay-slider').value)"
#: Pauses the replay once it plays and is beyond its fifth picture; gives the curve of that picture.
#: A replay that came to its end meanwhile, on a busy machine, is begun again.
PAUSED = f"""() => new Promise(done => {{
  const play = document.getElementById('replay-play');
  const watch = () => {{
    const plays = play.textContent === "Pause";
    if (plays && {FRAME} > 5) {{
      const shown = document.getElementById('replay-plot').data[2].x;
      play.click();
      return done(shown);
    }}
    if (!plays) play.click();
    requestAnimationFrame(watch);
  }};
  watch();
}})"""
#: Ends when the browser has drawn 20 frames: a replay that plays goes on in each of them.
DRAWN = """() => new Promise(done => {
  let left = 20;
  const count = () => left-- > 0 ? requestAnimationFrame(count) : done();
  count();
})"""


class Opened:
    """A page of the report, and what the browser said of it."""

    def __init__(self, page: Any, uri: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(BROWSER_WAIT)
        page.goto(uri)
        page.wait_for_function(
            "document.querySelectorAll('.js-plotly-plot .main-svg').length > 0"
            " && document.querySelectorAll('#replay-plot canvas').length > 0",
        )

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=chromium, args=FLAGS, timeout=BROWSER_WAIT)
        yield started
        started.close()


@pytest.fixture(scope="module")
def opened(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    path = write_report(whole_study(), tmp_path_factory.mktemp("browser") / "three.html")
    return Opened(browser.new_page(viewport={"width": 1400, "height": 900}), path.as_uri())


@pytest.mark.full
def test_every_figure_is_drawn_without_errors(opened: Opened) -> None:
    page = opened.page
    plots = page.locator("figure .js-plotly-plot")
    assert plots.count() == page.locator("figure").count() >= 12
    assert page.evaluate(
        "Array.from(document.querySelectorAll('.js-plotly-plot')).every("
        "plot => plot.querySelector('.main-svg') && plot.clientWidth > 300)"
    )
    curves = page.locator("#torque .scatterlayer .trace").count()
    assert curves == 3 * (3 + 1)  # the robot file's residual is hidden at first
    assert page.locator("#torque .legendtext").count() == 5
    assert opened.errors == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in opened.requests)


@pytest.mark.full
def test_the_first_screen_is_enough(browser: Any, opened: Opened) -> None:
    """Verdict, three numbers, one figure and the next step, on a screen of 1366 x 768."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    Opened(page, opened.page.url)
    for part in ("#verdict", ".numbers", ".first figure .main-svg", ".first li"):
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 768, part
    assert page.locator(".numbers dd").count() == 3
    assert page.locator("#verdict p").count() == 1
    last = page.locator(".first figure .main-svg").first.bounding_box()
    contents = page.locator("nav").bounding_box()
    assert contents["y"] >= last["y"] + last["height"]  # the rest is below
    page.close()


@pytest.mark.full
def test_curves_have_colours_that_differ(opened: Opened) -> None:
    names = opened.page.evaluate(
        "document.querySelector('.first .js-plotly-plot').data.map("
        "trace => [trace.name, trace.line.color])"
    )
    inks = {name: [int(ink[k : k + 2], 16) for k in (1, 3, 5)] for name, ink in names}
    torques = [inks[name] for name in ("measured", "identified", "robot file")]
    for k, one in enumerate(torques):
        for other in torques[:k]:  # half of the way from black to white
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.5 * 255


@pytest.mark.full
def test_a_drag_zooms_all_axes_alike(opened: Opened) -> None:
    page = opened.page
    before = page.evaluate(RANGES)
    area = page.locator("#torque .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], middle, steps=5)
    page.mouse.up()
    first = f"{before[0][0]}"
    page.wait_for_function(
        "start => document.querySelector('#torque .js-plotly-plot')"
        "._fullLayout.xaxis.range[0] > Number(start)",
        arg=first,
    )
    after = page.evaluate(RANGES)
    span = before[0][1] - before[0][0]
    # 0.02: the border of the plot and whole pixels
    assert after[0][0] == pytest.approx(before[0][0] + 0.25 * span, abs=0.02 * span)
    assert after[0][1] == pytest.approx(before[0][0] + 0.5 * span, abs=0.02 * span)
    assert all(ends == after[0] for ends in after)


@pytest.mark.full
def test_the_replay_plays_pauses_and_obeys_the_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator("#replay-play").click()
    shown = page.evaluate(PAUSED)
    assert page.locator("#replay-play").inner_text() == "Play"
    page.wait_for_function(f"{FRAME} === {CHOSEN}")  # a picture was on its way
    held = page.evaluate(FRAME)
    page.evaluate(DRAWN)
    assert page.evaluate(FRAME) == page.evaluate(CHOSEN) == held
    page.locator("#replay-slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{FRAME} === 1")
    assert page.locator("#replay-slider").input_value() == "1"
    assert page.evaluate("document.getElementById('replay-plot').data[2].x") != shown


@pytest.mark.full
def test_the_contents_are_reached_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.locator("h1").click()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#contents"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#reasons"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#torque"


@pytest.mark.full
def test_headings_language_labels_and_contrast(opened: Opened) -> None:
    page = opened.page
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title() == "example-delta: report of the convex fit"
    unnamed = page.evaluate(
        "Array.from(document.querySelectorAll('figure')).filter("
        "f => !f.getAttribute('aria-label') || !f.querySelector('figcaption').innerText).length"
    )
    assert unnamed == 0
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where  # WCAG 2 AA


@pytest.mark.full
def test_it_prints_on_a_sane_number_of_pages(opened: Opened) -> None:
    page = opened.page
    before = page.evaluate(SIZES)
    pdf = page.pdf(format="A4", print_background=True)
    assert pdf.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))
    assert 8 <= pages <= 24
    assert page.evaluate(SIZES) == before  # as wide as it was
    page.emulate_media(media="print")
    assert not page.locator("#replay-plot").is_visible()
    assert page.locator("#replay .print-only svg").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("#verdict").is_visible()
    page.emulate_media(media="screen")
    assert page.locator("#replay-plot").is_visible()
    assert opened.errors == []


@pytest.mark.full
def test_a_four_axis_page_fits_a_narrow_window(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write_report(four_study(), tmp_path_factory.mktemp("narrow") / "four.html")
    found = Opened(browser.new_page(viewport={"width": 800, "height": 900}), path.as_uri())
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 800
    # a figure of four axes is higher than a sheet: it is set smaller, and back
    before = found.page.evaluate(SIZES)
    found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    on_paper = found.page.evaluate(SIZES)[:-1]  # the replay, the last, is not printed
    assert max(height for _, height in before) > 1000 > 900 > max(h for _, h in on_paper)
    assert max(width for width, _ in on_paper) <= 690
    found.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert found.page.evaluate(SIZES) == before
    parts = found.page.evaluate("document.getElementById('replay-plot').data.map(t => t.name)")
    assert parts[-2:] == ["spindle", "direction of the effector"]
    assert found.errors == []
