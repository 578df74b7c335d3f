"""The page on control: its code runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn import simulation
from deltadyn.dynamics.models import MODELS
from deltadyn.simulation.controllers.state import SPECIAL_CASES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "control.md").read_text("utf-8")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
CODES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
SHOWN = re.findall(r"```\n((?:PD|the loop|expected).*?)```", TEXT, re.DOTALL)


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """The text without its numbers and its spacing, and the numbers."""
    return NUMBER.sub("#", text).split(), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.full
def test_code_runs_and_prints_what_the_page_shows() -> None:
    """Controllers, gains, picks (whose numbers belong to the estimator), the predicted benefit."""
    names: dict[str, Any] = {}
    said = []
    for code in CODES:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        said.append(out.getvalue())
    assert len(said) == 4
    assert len(SHOWN) == 3
    for printed, told in zip((said[0], said[1], said[3]), SHOWN, strict=True):
        words, values = words_and_numbers(printed)
        expected, numbers = words_and_numbers(told)
        assert words == expected
        # the last digits of a fit and of a simulation differ between processors
        assert values == pytest.approx(numbers, rel=0.05, abs=5e-3)
    check_half_half(said[0], names)
    loaded = [float(line.split()[0]) for line in said[2].splitlines()]
    assert loaded == [1.5, 0.0, 3.0, 0.0, 0.8, 0.0] * 3


def check_half_half(printed: str, names: dict[str, Any]) -> None:
    """Half-half errs less than the exact model at the arms, more at motors and on rigid gears."""
    rows = {line[:24].strip(): np.array(line[24:].split(), float) for line in printed.splitlines()}
    ratio = rows["feedforward, half-half"] / rows["feedforward, exact"]
    assert ratio[:3].max() < 1 < ratio[3:].min()
    sentence = re.search(r"arms and motors agree: ([\d., ]+) against ([\d., ]+)\.\n", TEXT)
    assert sentence is not None
    for model, text in zip(("half-half", "exact"), sentence.groups(), strict=True):
        controller = simulation.PDFeedforward(names["fit"].robot, model, **names["same"])
        run = simulation.simulate(
            names["robot"],
            names["motion"],
            controller,
            preset="industrial",
            gear_frequency=None,
        )
        error = 1e3 * np.sqrt(np.mean(run.tracking_error**2, axis=0))
        assert error == pytest.approx([float(x) for x in text.split(",")], rel=0.05)


def test_the_page_names_all_controllers_and_slow_models() -> None:
    for name in ("PD", "PDGravity", "PDFeedforward", "AugmentedPD", "ComputedTorque"):
        assert f"| `{name}(robot" in TEXT
        assert name in simulation.__all__
    assert "| `AdaptiveFeedforward(robot, estimator, model)`" in TEXT
    for model in MODELS:
        assert f'`"{model}"`' in TEXT
    slow = re.search(r'`"([a-z-]+)"` and `"([a-z-]+)"` go through NumPy', TEXT)
    assert slow is not None
    assert set(slow.groups()) == set(MODELS) - set(SPECIAL_CASES)
