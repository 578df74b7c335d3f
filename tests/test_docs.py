"""The documentation: it builds without a warning, its code runs, its pages need no network."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.waits import BROWSER_WAIT

import deltadyn as dd

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("papers/*.md"), *DOCS.glob("reference/*.md")])
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
TOOLS = ("sphinx", "furo", "myst_parser", "sphinx_gallery", "latex2mathml", "matplotlib")

# Pages whose code another test runs, mostly with what it prints.
RUN_ELSEWHERE = {
    "control.md": "validation/test_control_docs.py",
    "export.md": "exports/test_c.py",
    "export-fmu.md": "exports/test_fmu.py",
    "payload.md": "payload/test_docs.py",
    "sizing.md": "sizing/test_docs.py",
    "validation.md": "validation/test_docs.py",
}
# Blocks that are fragments by design, by a piece of their text, and why.
FRAGMENTS = {
    'backend="dask"': "needs a dask cluster",
    "MqttStream(": "needs a broker; tests/payload/test_live_mqtt.py has one",
    "concatenate([first, second])": "a list of calls",
    '"Enc A": "q1_deg"': "a log with other columns; tests/recording has them",
    "rated_torque=2.39": "a drive's log; tests/recording has one",
    'iter_recording("long.csv"': "a log too long for a test",
    "run_benchmark()": "a minute of racing; tests/bench has its parts",
    "robot_numbers(robot": "inner names; tests/simulation has it",
    "find_contacts(robot, log, empty)": "needs two minutes of an empty run; tests/force has one",
}


def missing_tools() -> str:
    return ", ".join(name for name in TOOLS if importlib.util.find_spec(name) is None)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built HTML: every page and every example; a warning is an error.

    Entries of objects in the side bar are left out: they double the time and warn of nothing.
    """
    if missing_tools():
        pytest.skip(f"not installed: {missing_tools()}; pip install 'deltadyn[docs]'")
    folder = tmp_path_factory.mktemp("built")
    left_out = shutil.ignore_patterns("gallery", "_build", "__pycache__", "sg_execution_times.rst")
    shutil.copytree(DOCS, folder / "docs", ignore=left_out)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=left_out)
    call = [sys.executable, "-m", "sphinx", "-q", "-b", "html"]
    call += ["-W", "--keep-going", "-D", "toc_object_entries=0"]
    done = subprocess.run(
        [*call, str(folder / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(folder / "matplotlib")},
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return folder / "html"


class Page(HTMLParser):
    """What a built page loads, its title and language, its formulas and pictures."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.title, self.language, self.formulas = "", "", 0
        self.without_text: list[str] = []
        self._in_title = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.loads += [given["src"] or ""] if "src" in given else []
        elif tag == "link" and given.get("rel") not in ("canonical", "author", "license"):
            self.loads.append(given.get("href") or "")
        self.language = given.get("lang") or self.language if tag == "html" else self.language
        self.formulas += tag == "math"
        self._in_title |= tag == "title" and not self.title
        if tag == "img" and "alt" not in given:  # an empty one marks a decoration
            self.without_text.append(given.get("src") or "")

    def handle_endtag(self, tag: str) -> None:
        self._in_title &= tag != "title"

    def handle_data(self, data: str) -> None:
        self.title += data if self._in_title else ""


@pytest.mark.full
def test_documentation_builds_strictly(html: Path) -> None:
    """All pages are whole, in English, and fetch nothing; all examples are drawn."""
    written = sorted(html.rglob("*.html"))
    for path in written:
        page = Page(path)
        assert page.title.strip(), path
        assert page.language == "en", path
        outside = [item for item in page.loads if re.match(r"(https?:)?//", item)]
        assert not outside, f"{path.name} needs a network: {outside}"
        assert not page.without_text, (
            f"{path.name} has pictures without a text: {page.without_text}"
        )
    for style in html.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text("utf-8")), (
            style
        )
    assert Page(html / "exact-model.html").formulas > 50
    examples = {path.stem for path in (ROOT / "examples").glob("[0-9]*.py")}
    assert examples == {path.stem for path in (html / "gallery").glob("[0-9]*.html")}
    for name in examples:
        assert (html / "_images" / f"sphx_glr_{name}_001.png").stat().st_size > 5000, name
    told = (html / "command-line.html").read_text("utf-8")
    from deltadyn.cli import main

    for name in main.commands:
        assert f"Usage: deltadyn {name} [OPTIONS]" in told, name


@pytest.mark.full
@pytest.mark.browser
def test_pages_in_a_browser(chromium: str, html: Path) -> None:
    """Formulas have a size, text has contrast by day and by night, the keyboard gets to links."""
    from playwright.sync_api import sync_playwright

    pages = ("index.md", "exact-model.md", "models.md", "papers/kim2022.md")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], timeout=BROWSER_WAIT
        )
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, offline=True)
            context.set_default_timeout(BROWSER_WAIT)
            for name in pages:
                _check_page(context.new_page(), (html / name).with_suffix(".html"), scheme)
            context.close()
        browser.close()


def _check_page(page: Any, path: Path, scheme: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
    assert page.locator("h1").count() == 1, path
    seen, poor = page.evaluate(CONTRAST)
    assert seen > 20, path
    assert not poor, f"{path.name}, {scheme}: {poor[:5]}"
    if path.stem == "exact-model":
        for row in range(page.locator("math").count()):
            box = page.locator("math").nth(row).bounding_box()
            assert box is not None
            assert box["width"] > 3
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.tagName")
    assert focused in ("A", "INPUT", "BUTTON", "LABEL"), focused


# Texts whose contrast with what is behind them is below 4.5 (WCAG 2.1, level AA).
CONTRAST = """() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const poor = []; let seen = 0;
  for (const e of document.querySelectorAll('article *, .sidebar-tree a, .toc-tree a')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    seen += 1;
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([e.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return [seen, poor];
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name: logs, a robot file."""
    place = tmp_path_factory.mktemp("pages")
    robot = dd.load_robot("sipro-d3-1200")
    robot.save(place / "mine.yaml")
    (place / "logs").mkdir()
    law = dd.PDFeedforward(robot)
    motions = {"log": dd.motion.y2(robot), "held-out": dd.motion.y1(robot)}
    motions |= {f"logs/cell-{member}": motions["log"] for member in (1, 2, 3)}
    for seed, (name, motion) in enumerate(motions.items()):
        run = dd.simulate(robot, motion, law, preset="industrial", seed=seed)
        run.recording.save(place / f"{name}.csv")
    return place


@cache
def given_names() -> dict[str, Any]:
    """What the pages take as given; each page has a copy of its own."""
    robot = dd.load_robot("sipro-d3-1200")
    motion = dd.motion.y1(robot)
    row = 100
    q, qd, qdd = motion.q[row], motion.qd[row], motion.qdd[row]
    tau = dd.inverse_dynamics(robot, motion)[row]
    names = {"q": q, "qd": qd, "qdd": qdd, "tau": tau, "rec": dd.simulate(robot, motion).recording}
    return {"np": np, "dd": dd, "robot": robot, "motion": motion, **names}


# Pages whose code needs optional packages.
NEED_PACKAGES = {"gpu.md", "export-models.md"}
#: Pages whose code takes seconds: `make test-all` runs it.
SLOW_PAGES = (
    *("fleet", "force", "history", "how-to-choose", "identification", "machines", "report"),
    *("reference/fleet", "reference/identification", "reference/report", "reference/validation"),
    "simulation",
)
WITH_CODE = [
    pytest.param(
        page,
        id=name,
        marks=[pytest.mark.full] if page.name in NEED_PACKAGES or name in SLOW_PAGES else [],
    )
    for page in PAGES
    for name in [page.relative_to(DOCS).with_suffix("").as_posix()]
    if BLOCK.search(page.read_text("utf-8")) and str(page.relative_to(DOCS)) not in RUN_ELSEWHERE
]


@pytest.mark.parametrize("page", WITH_CODE)
def test_code_of_the_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block in one namespace, as a reader would; searches end after a few seconds."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(dd, "design_excitation", partial(dd.design_excitation, time_limit=5.0))
    names = dict(given_names())
    for number, code in enumerate(BLOCK.findall(page.read_text("utf-8"))):
        program = compile(code, f"{page.name}, block {number + 1}", "exec")
        if not any(piece in code for piece in FRAGMENTS):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(program, names)
    if "jax" in names:
        names["jax"].config.update("jax_enable_x64", False)  # the page on GPUs turns it on


def test_pages_that_run_elsewhere_do() -> None:
    for name, place in RUN_ELSEWHERE.items():
        assert f'"{name}"' in (ROOT / "tests" / place).read_text("utf-8"), f"{place}: {name}"


def test_every_fragment_is_still_there() -> None:
    code = "".join(block for page in PAGES for block in BLOCK.findall(page.read_text("utf-8")))
    assert not [piece for piece in FRAGMENTS if piece not in code]


def test_no_placeholder_is_left() -> None:
    for page in PAGES:
        found = re.findall(
            r"@[A-Z]+@|^BENCHMARK$|TODO|FIXME", page.read_text("utf-8"), re.MULTILINE
        )
        assert not found, f"{page.name}: {found}"


def test_modules_and_examples_that_the_pages_name_are_there() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        for name in re.findall(r"`(deltadyn\.[a-z_0-9.]+)`", text):
            if name == "deltadyn.toml":
                continue
            outer, _, inner = name.rpartition(".")
            there = importlib.util.find_spec(outer) is not None
            whole = there and hasattr(importlib.import_module(outer), inner)
            assert whole or importlib.util.find_spec(name), f"{page.name} names {name}"
        for path in re.findall(r"`((?:examples|tests|benchmarks|docs)/[\w./-]+)`", text):
            assert (ROOT / path).exists(), f"{page.name} names {path}"
