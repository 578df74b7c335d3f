"""Logs cut into picks: table, page, repeated picks of one product."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, case

from deltadyn.errors import InputError
from deltadyn.payload.events import Pick
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.offline import PickLog, find_picks, product_mass

FOUND = case(8, seed=12, masses=(0.8, 4.0), lost=0.5)


@pytest.fixture(scope="module")
def noise() -> NoiseModel:
    return NoiseModel.of(D3, case(12, seed=5, empty=True).recording)


@pytest.fixture(scope="module")
def log(noise: NoiseModel) -> PickLog:
    return find_picks(D3, FOUND.recording, noise=noise)


def test_every_pick_is_in_the_table(log: PickLog) -> None:
    cycles = FOUND.plan.cycles
    assert len(log.picks) == len(cycles)
    for pick, cycle in zip(log.picks, cycles, strict=True):
        assert pick.mass == pytest.approx(cycle.mass, abs=3.5 * pick.std)
        assert pick.ended == ("lost grip" if cycle.lost else "release")
    lines = log.table.splitlines()
    assert lines[0].split()[-6:] == ["std", "kg", "latency", "ms", "ended", "by"]
    assert len(lines) == 9
    lost = sum(cycle.lost for cycle in cycles)
    assert log.status == f"8 picks in {FOUND.recording.duration:.4g} s, {lost} of them lost"
    assert log.table in str(log)
    data = json.loads(json.dumps(log.as_dict(), allow_nan=False))
    assert len(data["picks"]) == 8
    assert data["events"][0]["event"] == "pick"


def test_the_page_has_figure_and_table(log: PickLog, tmp_path: Path) -> None:
    text = log.page(tmp_path / "picks.html").read_text("utf-8")
    assert "Payload over time" in text
    assert "<td>lost grip</td>" in text
    assert "Mass of every pick" in text
    assert text.count("Plotly.newPlot(") == 3


def test_a_load_that_is_still_held_is_filed(noise: NoiseModel) -> None:
    cycle = FOUND.plan.cycles[0]
    part = FOUND.recording.between(0.0, cycle.pick + 0.2)
    (pick,) = find_picks(D3, part, noise=noise).picks
    assert pick.ended == "end of the log"
    assert pick.mass == pytest.approx(cycle.mass, abs=3.5 * pick.std)


def test_the_grippers_signal_makes_light_loads_known_sooner(noise: NoiseModel) -> None:
    light = case(12, seed=14, masses=(0.1, 0.15))
    plain = find_picks(D3, light.recording, noise=noise)
    told = find_picks(D3, light.recording, noise=noise, holding=(light.payload > 0).tolist())
    assert len(told.picks) >= len(plain.picks)
    late = [[pick.detected for pick in log.picks if pick.mass > 0.05] for log in (told, plain)]
    assert np.mean(late[0]) < np.mean(late[1])
    for pick in told.picks:
        cycle = min(light.plan.cycles, key=lambda cycle: abs(cycle.pick - pick.start))
        assert pick.mass == pytest.approx(cycle.mass, abs=3 * pick.std)


def test_repeated_picks_of_one_product_know_it_better(noise: NoiseModel) -> None:
    same = case(12, seed=15, masses=(0.9, 0.9))
    log = find_picks(D3, same.recording, noise=noise, holding=(same.payload > 0).tolist())
    mass, std = log.product
    assert mass == pytest.approx(0.9, abs=3 * std)
    single = np.median([pick.std for pick in log.picks])
    assert log.noise.systematic(0.9) < std < single


def test_least_squares_know_a_product_better_by_a_quarter(noise: NoiseModel) -> None:
    """The bank's deviation of a pick is mostly what repeated picks have in common."""
    same = case(12, seed=15, masses=(0.9, 0.9))
    holding = (same.payload > 0).tolist()
    own: dict[str, Any] = {"noise": noise, "holding": holding, "estimator": "least-squares"}
    log = find_picks(D3, same.recording, **own)
    single = np.median([pick.std for pick in log.picks])
    assert log.noise.systematic(0.9) < log.product[1] < 0.75 * single


def test_picks_that_differ_widen_the_deviation(noise: NoiseModel) -> None:
    masses = (1.0, 2.0, 3.0)
    stds = [float(np.hypot(0.03, noise.systematic(mass))) for mass in masses]
    pairs = zip(masses, stds, strict=True)
    picks = [Pick(0.0, 0.1, 0.5, mass, std, "release") for mass, std in pairs]
    mass, std = product_mass(picks, noise)
    assert mass == pytest.approx(2.0)
    assert std == pytest.approx(np.hypot(1 / np.sqrt(3), noise.systematic(2.0)))


def test_wrong_calls(noise: NoiseModel) -> None:
    with pytest.raises(InputError, match="values of holding is 1; allowed: "):
        find_picks(D3, FOUND.recording, holding=[True])
    with pytest.raises(InputError, match="axes of the recording is 3; allowed: 4"):
        find_picks(FOUR, FOUND.recording)
    with pytest.raises(InputError, match="model is 'str'; allowed: a Robot"):
        find_picks("robot", FOUND.recording)
    with pytest.raises(InputError, match="picks is 0; allowed: at least one"):
        product_mass([], noise)
