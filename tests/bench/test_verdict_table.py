"""The benchmark of the verdict: what it counts as wrong, and one machine of it."""

from __future__ import annotations

import json

import pytest
from benchmarks.verdict import Case, Judged, figure, measure, table, wrong
from tests.machines import compiler

from deltadyn.identification.verdict import BAD, CARE, GOOD

RIGHT = Judged("none/quick/0", "none", "quick", "r", 1.0, error=0.2, grade=GOOD, parameters=10)


def changed(**values: object) -> Judged:
    return Judged(**(vars(RIGHT) | values))


@pytest.mark.parametrize(
    ("item", "counts"),
    [
        (RIGHT, False),
        (changed(grade=BAD), True),
        (changed(grade=BAD, error=3.0), False),
        (changed(outside=["A"]), True),
        (changed(outside=["A"], grade=CARE), False),
        (changed(alarm="time"), True),
        (changed(residual_alarm="time"), True),
        (changed(residual_alarm="time", grade=CARE), False),
        (changed(broken="ValueError: x"), True),
        (changed(outside_alone=["A"]), False),  # one of twenty 95 % intervals misses
    ],
)
def test_what_is_a_wrong_verdict(item: Judged, counts: bool) -> None:
    assert bool(list(wrong([item]))) is counts
    assert figure([item])["reached"] is not counts


def test_the_table_counts_verdicts_beside_the_truth() -> None:
    rows = table([RIGHT, changed(cause="cable", alarm="time", grade=CARE, motions="dwells")])
    by_name = {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[1:]}
    assert by_name["nothing wrong"]["good"] == "1"
    assert by_name["a cause that no term names"]["alarm"] == "1"
    assert by_name["all"]["fits"] == "2"
    assert by_name["logs: dwells"]["with care"] == "1"
    assert figure([])["reached"] is False


@pytest.mark.full
@pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
def test_a_machine_with_a_cable_is_measured() -> None:
    found = measure(Case("cable", "quick", 0))
    assert not found.broken
    assert found.parameters >= 8
    assert found.grade == CARE
    assert found.alarm or found.residual_alarm or found.causes
    json.dumps(vars(found))
