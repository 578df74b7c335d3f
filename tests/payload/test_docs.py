"""The page on payload: its code runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from deltadyn.payload import tare
from deltadyn.payload.events import AVERAGED, CONFIRM, SLACK, WINDOWS, threshold
from deltadyn.payload.front_end import CORNER, FIRST, NARROW, STAGES, Grid
from deltadyn.payload.noise import CORRELATION, FRICTION_SHARE, GAIN, LEVEL, REST
from deltadyn.payload.rows import FIRST as WINDOW
from deltadyn.payload.rows import SECOND, RowNumbers
from deltadyn.robot.file import load_robot

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "payload.md").read_text("utf-8")
NUMBER = re.compile(r"-?\d+\.?\d*")


@pytest.mark.full
def test_code_runs_and_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python)?\n(.*?)```", TEXT, re.DOTALL)
    codes = [code for kind, code in blocks if kind]
    shown = [text for kind, text in blocks if not kind]
    assert len(codes) == len(shown) == 2
    names: dict[str, object] = {}
    for code, text in zip(codes, shown, strict=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        assert NUMBER.sub("#", out.getvalue()).split() == NUMBER.sub("#", text).split()
        found, told = (list(map(float, NUMBER.findall(x))) for x in (out.getvalue(), text))
        # an event may fall into the next residual, and a latency is in ms
        assert found == pytest.approx(told, rel=0.1, abs=0.03)
    assert (tmp_path / "picks.html").stat().st_size > 1_000_000


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    text, grid = " ".join(TEXT.split()), Grid.of(2000.0)
    assert (STAGES, FIRST, NARROW, CORNER) == (4, 100.0, 4, 30.0)
    assert "(four stages at 100 Hz)" in text
    assert "(four stages at 30 Hz)" in text
    assert grid.interval == 1 / 250
    assert round(1e3 * grid.delay) == 21
    assert "together delay by 21 ms" in text
    assert FRICTION_SHARE == 0.25
    assert f"slower than {REST:g} rad/s is ignored" in text
    assert f"{100 * GAIN:g} % of the mass for elastic gears" in text
    assert f"takes {100 * LEVEL:g} % of the torque that 100 rad/s² need" in text
    assert f"need and a correlation time of {1e3 * CORRELATION:g} ms" in text
    assert f"over {len(WINDOWS)} windows from {4 * WINDOWS[0]} ms to 0.5 s" in text
    assert f"{threshold(0.1, grid.interval):.1f} standard deviations" in text
    assert f"within {1e3 * SLACK:g} ms of the" in text
    assert f"judged {4 * CONFIRM} ms after it began" in text


def test_the_numbers_of_the_bank_are_those_of_the_code() -> None:
    text, rows = " ".join(TEXT.split()), RowNumbers.of(load_robot("sipro-d3-1200"), 1000.0)
    assert f"a Hann window of {1e3 * WINDOW:g} ms to both sides" in text
    assert f"a second window of {1e3 * SECOND:g} ms and are taken at 125 Hz" in text
    assert rows.interval == 1 / 125
    assert f"({1e3 * rows.lateness:g} ms at 1 kHz)" in text
    assert f"the best {tare.KEEP} stay" in text
    assert f"lasts {1e3 * tare.SHORTEST:g} ms or longer" in text
    assert f"after {1e3 * tare.GAP:g} ms or more" in text
    assert f"mass is above {1e3 * tare.LIGHTEST:g} g" in text
    assert (tare.PICK_ODDS, tare.RELEASE_ODDS, tare.LOST_ODDS) == (6.0, 3.0, 3.0)
    assert f"{1e3 * tare.LAG:g} ms later the end is settled" in text
    assert f"widened by {AVERAGED:g} of the mass" in text
    assert f"({tare.GAIN:g}² + rho²) m²" in text
    changes = (tare.VISCOUS_CHANGE, tare.COULOMB_CHANGE)
    assert "by {:.0f} % (viscous) and {:.0f} %".format(*(100 * x for x in changes)) in text
    assert f"a zero of {1e3 * tare.ASSUMED_ZERO:g} g and {100 * tare.ASSUMED_GAIN:g} %" in text
