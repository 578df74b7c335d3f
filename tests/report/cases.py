"""What the tests of the report share: short runs of the bench, a study, and its page read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any

from tests.simulation.factory import excitation as wiggle

import deltadyn as dd
from deltadyn.excitation.result import Excitation
from deltadyn.payload.bench import pick_plan
from deltadyn.recording import Recording
from deltadyn.report import Study, study
from deltadyn.robot import Robot

RATE = 1000.0
MACHINE: dict[str, Any] = {
    "viscous": 0.02,
    "coulomb": 0.06,
    "rotor_inertia": 1.0,
    "current_noise": 0.005,
}


@cache
def robot(dof: int = 3) -> Robot:
    """The example robots of the catalogue."""
    return dd.load_robot("example-delta" if dof == 3 else "example-delta-4")


@cache
def log(seed: int, dof: int = 3, seconds: float = 2.0) -> Recording:
    """A run of the bench with friction, a rotor and noise."""
    motion = wiggle(robot(dof), seconds, rate=RATE, seed=seed)
    return dd.simulate(robot(dof), motion, rate=RATE, seed=seed, **MACHINE).recording


@cache
def picks_log() -> Recording:
    """Three picks of 0.3 to 1 kg."""
    plan = pick_plan(robot(), 3, seed=3, masses=(0.3, 1.0), rate=RATE)
    machine = {**MACHINE, "current_noise": 0.0}
    run = dd.simulate(robot(), plan.motion, rate=RATE, seed=4, payload=plan.payload, **machine)
    return run.recording


@cache
def design() -> Excitation:
    """A small design; what it is good for does not matter here."""
    return dd.design_excitation(robot(), 2.0, 2, periods=2, starts=1, jobs=1, time_limit=600.0)


@cache
def whole_study() -> Study:
    """A study of the 3-DOF robot with everything in it."""
    return study(
        robot(),
        log(1),
        held_out=log(2),
        methods=("convex", "base", "l1", "two-step"),
        excitation=design(),
        payload_log=picks_log(),
        seed=7,
    )


@cache
def four_study() -> Study:
    """A study of the 4-DOF robot with two methods."""
    return study(robot(4), log(1, 4), held_out=log(2, 4), methods=("convex", "base"))


@dataclass
class Table:
    """The cells of a table of a page, under the anchor of its section."""

    section: str
    label: str
    rows: list[list[str]] = field(default_factory=list)

    @property
    def head(self) -> list[str]:
        return self.rows[0]

    def column(self, name: str) -> list[str]:
        place = [text.replace("\u00a0", " ") for text in self.head].index(name)
        return [row[place] for row in self.rows[1:]]


class Page(HTMLParser):
    """A page read back: headings with their level, tables, anchors, links, what is fetched."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[tuple[int, str]] = []
        self.tables: list[Table] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.language = ""
        self.title = ""
        self.text = ""
        self._section = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "section":
            self._section = given["id"]
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        self.fetched += [
            value
            for key, value in given.items()
            if key in ("src", "srcset", "poster", "data") or (key == "href" and tag != "a")
        ]
        if tag == "table":
            self.tables.append(Table(self._section, given.get("aria-label", "")))
        if tag == "tr":
            self.tables[-1].rows.append([])
        if tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append((int(tag[1]), ""))
        if tag not in ("meta", "input", "br", "link", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "script" in self._open or "style" in self._open:
            return
        self.text += data
        inside = self._open[-1] if self._open else ""
        if inside in ("td", "th"):
            self.tables[-1].rows[-1][-1] += data
        if inside == "title":
            self.title += data
        if any(tag in self._open for tag in ("h1", "h2", "h3")):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def table(self, section: str, label: str) -> Table:
        """The first table of a section whose label begins so."""
        return next(
            item for item in self.tables if item.section == section and item.label.startswith(label)
        )
