"""The pages of validation and comparison, as text and in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.validation.bench import log, robot
from tests.waits import BROWSER_WAIT

from deltadyn.report.plots import thinned
from deltadyn.validation import compare, validate


def test_thinning_keeps_the_extremes() -> None:
    t = np.arange(10_000) / 1000
    y = np.sin(t)
    y[5003], y[7001] = 9.0, -9.0
    few_t, few = thinned(t, y, 100)
    assert len(few) <= 100
    assert few.max() == 9.0
    assert few.min() == -9.0
    assert np.all(np.diff(few_t) > 0)
    assert thinned(t[:50], y[:50], 100)[1] is not few
    np.testing.assert_array_equal(thinned(t[:50], y[:50], 100)[1], y[:50])


@pytest.mark.full
@pytest.mark.browser
def test_pages_draw_in_a_browser_and_offline(chromium: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    recordings = [log(viscous=0.02, coulomb=0.06), log(1, viscous=0.02, coulomb=0.06)]
    one = validate(robot(), recordings, name="<own> model").page(tmp_path / "deep" / "one.html")
    models = {"first": robot(), "second": robot()}
    two = compare(models, recordings, dynamics={"second": "half-half"}).page(tmp_path / "two.html")
    errors: list[str] = []
    requests: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], timeout=BROWSER_WAIT
        )
        page = browser.new_page()
        page.set_default_timeout(BROWSER_WAIT)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        for path, curves, titles in ((one, 15, 11 + 2), (two, 15, 9 + 1)):
            page.goto(path.as_uri())
            page.wait_for_selector(".scatterlayer .trace", state="attached")
            assert page.locator(".scatterlayer .trace").count() >= curves
            assert page.locator(".annotation-text").count() == titles
        assert page.locator(".barlayer .trace").count() == 2 + 6
        page.goto(one.as_uri())
        assert page.locator("h1").text_content() == "Validation: <own> model"
        assert "friction: missing in the model" in (page.locator("pre").text_content() or "")
        assert "high speed" in (page.locator("pre").text_content() or "")
        browser.close()
    assert errors == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in requests)
