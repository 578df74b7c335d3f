"""Pages of every kind with names that try to be markup: they stay text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.calibration import machines
from tests.force.cases import pushed, tare_of
from tests.history.drift_cases import history
from tests.markup import EVIL, dangers
from tests.payload.cases import case, robot_of
from tests.studio.cases import ROBOT, simulated, sines

import deltadyn as dd
from deltadyn.calibration import Positions
from deltadyn.doors import PAGES, write_page
from deltadyn.fleet import fleet
from deltadyn.force import find_contacts
from deltadyn.history.drift import drift
from deltadyn.identification.fit import Fit
from deltadyn.payload.offline import find_picks
from deltadyn.recording import write_recording
from deltadyn.report.comparison import compare_fits
from deltadyn.report.study import study_of
from deltadyn.robot import Robot
from deltadyn.sizing.table import sizing_table
from deltadyn.validation import compare, validate

OWN_WORDS = {"audit", "audit text", "reproduction"}  # of papers: they hold no name of a user
ELSEWHERE = {"excitation"}  # beside its design, which takes long: tests/excitation/test_design.py


@cache
def robot() -> Robot:
    return dd.load_robot(ROBOT).replace(name=EVIL, description=EVIL)


@cache
def log(seed: int) -> dd.Recording:
    return simulated(seed).replace(name=f"{EVIL} {seed}")


@cache
def fit() -> Fit:
    return dd.identify(robot(), log(1), "base", unidentifiable="hold", terms=False)


def calibration() -> Any:
    own, rng = robot(), np.random.default_rng(1)
    q = dd.inverse_kinematics(own, machines.cylinder(own, rng, 20))
    p = machines.points(own, machines.errors(own, rng), q)
    names = tuple(f"{EVIL} {k}" for k in range(len(q)))
    return dd.calibrate(own, Positions(q, p, names=names, notes=(EVIL,)))


def checked(folder: Path) -> Any:
    """A log in a file whose columns, name and robot have such names."""
    name = folder / (EVIL.replace("/", "_")[:40] + ".csv")
    write_recording(log(1), folder / "log.csv")
    head, sign, rows = (folder / "log.csv").read_text("utf-8").partition("\n0.0,")
    name.write_text(f"{head},{EVIL.replace(',', '')}\n" + "\n".join(
        f"{row},1" for row in f"0.0,{rows}".splitlines()
    ), "utf-8")  # fmt: skip
    assert sign
    return dd.check(robot(), name)


def made(kind: str, folder: Path) -> Any:
    """A result of each kind, full of such names."""
    d3 = robot_of().replace(name=EVIL, description=EVIL)
    every: dict[str, Any] = {
        "calibration": calibration,
        "check": lambda: checked(folder),
        "comparison": lambda: compare({EVIL: fit(), f"{EVIL} 2": robot()}, [log(2)]),
        "drift": lambda: replace(drift(history()), robot=EVIL, serial=EVIL),
        "fit": fit,
        "fits": lambda: compare_fits({EVIL: fit(), f"{EVIL} 2": fit()}),
        "fleet": lambda: fleet(robot(), {f"{EVIL} {k}": [log(k)] for k in (1, 2)}, terms=False),
        "force": lambda: find_contacts(d3, pushed().replace(name=EVIL), tare_of()),
        "loads": lambda: dd.motion_loads(robot(), sines(robot(), 1.0, 1)),
        "picks": lambda: find_picks(d3, case(2).recording.replace(name=EVIL)),
        "sizing table": lambda: sizing_table(robot(), [0.5], [30]),
        "study": lambda: study_of(robot(), {"base": fit()}, logs=[log(1)], held_out=log(2)),
        "validation": lambda: validate(fit(), [log(2)], name=EVIL),
    }
    return every[kind]()


@pytest.mark.full
@pytest.mark.parametrize("kind", sorted(set(PAGES) - OWN_WORDS - ELSEWHERE))
def test_names_are_text_on_every_page(kind: str, tmp_path: Path) -> None:
    text = write_page(kind, made(kind, tmp_path), tmp_path / "page.html").read_text("utf-8")
    assert "onerror" in text  # the names are on the page
    assert dangers(text) == []
    title = text.partition("<title>")[2].partition("</title>")[0]
    assert "<" not in title
