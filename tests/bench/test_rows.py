"""Rows, targets and the table, with figures that nobody measured."""

from __future__ import annotations

import json

import pytest
from benchmarks.peers.rows import Benchmark, Row, Target, not_measured

from deltadyn.errors import InputError

FIFTEEN = Target("at least", 15, "ratio")
TEN = Target("at least", 10, "ratio")
FAST = Target("at least", 20e6, "rate")
SHORT = Target("below", 5e-6, "seconds")


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("g", "peer", 1.5e-6, 15.0, FIFTEEN), True),
        (Row("g", "peer", 1.49e-6, 14.9, FIFTEEN), False),
        (Row("g", "peer", 1e-6, None, FIFTEEN), None),
        (Row("g", "peer", 1e-6, float("nan"), FIFTEEN), False),
        (Row("g", "ours", 50e-9, target=FAST), True),
        (Row("g", "ours", 51e-9, target=FAST), False),
        (Row("g", "call", 4.9e-6, target=SHORT), True),
        (Row("g", "call", 5e-6, target=SHORT), False),
        (Row("g", "call", None, target=SHORT, note="not measured: no core"), None),
        (Row("g", "call", 1.0), None),
    ],
)
def test_a_target_is_met_missed_or_not_measured(row: Row, met: bool | None) -> None:
    assert row.met is met
    words = {True: "met", False: "NOT met", None: "" if row.target is None else "not measured"}
    assert row.verdict == words[met]


def test_one_missed_target_is_enough() -> None:
    good, bad = Row("g", "a", 1e-6, 20.0, FIFTEEN), Row("g", "b", 1e-6, 2.0, FIFTEEN)
    unknown = not_measured("g", ["c"], "no compiler", FIFTEEN)[0]
    assert Benchmark((good,)).passed
    assert Benchmark((good, unknown)).passed
    assert not Benchmark((good, bad, unknown)).passed
    assert Benchmark((Row("g", "no target", 1.0),)).passed


def test_the_table_shows_times_ratios_verdicts_and_notes() -> None:
    rows = (
        Row("3-DOF", "ours", 66e-9, 1.0),
        Row("3-DOF", "peer", 1.73e-6, 26.2, FIFTEEN),
        Row("3-DOF", "slow", 0.9e-6, 13.6, FIFTEEN),
        Row("3-DOF", "two threads", 25e-9, 0.38, FAST, cores=1.97),
        *not_measured(
            "4-DOF", ["peer", "peer, other way"], "no g++", Target("at least", 10, "ratio")
        ),
        Row("start", "import", 0.31),
    )
    lines = str(Benchmark(rows, {"name": "a processor, 2 cores"})).splitlines()
    assert lines[0] == "machine: a processor, 2 cores"
    found = {line.split("  ")[1].strip(): line.split() for line in lines if line.startswith("  ")}
    assert found["ours"] == ["ours", "66", "ns", "15.2", "M", "1"]
    text = "\n".join(" ".join(line.split()) for line in lines)
    assert "peer 1.73 us 578 k 26.2 at least 15 x: met" in text
    assert "slow 900 ns 1.11 M 13.6 at least 15 x: NOT met" in text
    assert "two threads 25 ns 40 M 0.38 1.97 at least 20 M/s: met" in text
    assert "*peer - - at least 10 x: not measured" in text
    assert "*peer, other way - -\n" in text  # one target, not two
    assert "import 310 ms 3.23" in text
    assert "peer: not measured: no g++" in text
    assert lines[-1] == "targets: 2 met, 1 NOT met, 1 not measured"


def test_the_units_of_targets() -> None:
    assert str(FIFTEEN) == "at least 15 x"
    assert str(FAST) == "at least 20 M/s"
    assert str(SHORT) == "below 5 us"


def test_json_has_every_row_with_its_target() -> None:
    rows = (
        Row("3-DOF", "peer", 1.73e-6, 26.2, FIFTEEN, measured=False, note="a reference figure"),
        *not_measured("3-DOF", ["other"], "no g++", SHORT),
    )
    text = json.dumps(Benchmark(rows, {"name": "a processor"}).as_dict(), allow_nan=False)
    found = json.loads(text)
    assert set(found) == {"machine", "rows", "targets", "passed"}
    assert found["targets"] == {"met": 1, "NOT met": 0, "not measured": 1}
    assert found["passed"] is True
    first, second = found["rows"]
    assert set(first) == set(second)
    assert first["ns_per_sample"] == pytest.approx(1730)
    assert first["samples_per_s"] == pytest.approx(1 / 1.73e-6)
    assert first["measured"] is False
    assert first["target"] == {
        "sense": "at least",
        "limit": 15,
        "quantity": "ratio",
        "unit": "times",
        "met": True,
    }
    assert second["ns_per_sample"] is None
    assert second["target"]["met"] is None
    assert second["note"] == "not measured: no g++"


def test_a_row_without_a_figure_says_why() -> None:
    with pytest.raises(InputError, match=r"note of a row is ''; allowed: why 'x' was not measured"):
        Row("g", "x", None)


def test_a_target_is_a_positive_number() -> None:
    with pytest.raises(InputError, match="limit of a target is 0; allowed: above 0"):
        Target("at least", 0, "ratio")
