"""Faults of a stream: counted, said, and survived."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.payload.cases import D3, case
from tests.payload.streams import events_of, fed, notices_of

from deltadyn.payload.bank_estimator import ASSUMED
from deltadyn.payload.live import LiveEstimator, Update
from deltadyn.streams.live import Notice
from deltadyn.streams.packing import Batch, batches_of, pack


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Picks of six cycles in batches of 50 ms."""
    return list(batches_of(case(6).recording, 100))


def test_malformed_messages_are_counted_and_change_nothing(batches: list[Batch]) -> None:
    plain, live = LiveEstimator(D3), LiveEstimator(D3)
    expected = fed(plain, batches)
    updates: list[Update] = []
    for k, batch in enumerate(batches):
        if k % 10 == 0:
            updates += live.take(b"\0" * (k + 1))
        updates += live.take(pack(batch))
    said = notices_of(updates)
    assert len(said) == live.counts.malformed == 11
    assert said[0] == ("malformed", "length is 1; allowed: at least the header's 32 bytes")
    assert [update for update in updates if not isinstance(update, Notice)] == expected


def test_duplicates_are_not_used(batches: list[Batch]) -> None:
    plain, live = LiveEstimator(D3), LiveEstimator(D3)
    expected = fed(plain, batches)
    twice = [batch for k in range(0, len(batches), 2) for batch in 2 * batches[k : k + 2]]
    updates = fed(live, twice)
    assert live.counts.duplicates == len(batches)
    assert ("duplicate", "batch 0 at 0.000000 s came twice: not used") in notices_of(updates)
    assert [update for update in updates if not isinstance(update, Notice)] == expected


def test_a_late_batch_is_not_used(batches: list[Batch]) -> None:
    live = LiveEstimator(D3)
    updates = fed(live, [*batches[:5], batches[6], batches[5], *batches[7:]])
    assert notices_of(updates) == [
        ("gap", "0.0505 s without samples before batch 6 at 0.300000 s, 1 batches missing"),
        ("late", "batch 5 at 0.250000 s is not after 0.349500 s: not used"),
        # the late one has the number before: what follows is in order again
    ]
    assert (live.counts.gaps, live.counts.late, live.counts.late_samples) == (1, 1, 100)
    assert (live.counts.missing, live.counts.lost) == (0, 0)  # it came after all


def test_a_long_gap_begins_anew_and_a_short_one_does_not(batches: list[Batch]) -> None:
    def without(first: int, last: int) -> LiveEstimator:
        live = LiveEstimator(D3)
        fed(live, batches[:first])
        fed(live, batches[last : last + 1])
        return live

    live = without(10, 13)
    assert live.estimator is not None
    assert "a pause of 0.15 s before t = 0.65 s: begun anew" in live.estimator.status
    assert (live.counts.gaps, live.counts.missing, live.counts.lost) == (1, 3, 300)
    assert live.counts.interpolated == 0
    tiny = list(batches_of(case(6).recording, 4))
    live = LiveEstimator(D3)
    fed(live, [*tiny[:200], *tiny[202:400]])
    assert live.estimator is not None
    assert live.estimator.bridged == 8
    assert live.estimator.status == ASSUMED
    assert (live.counts.gaps, live.counts.missing, live.counts.lost) == (1, 2, 8)
    assert live.counts.interpolated == 8


def test_a_gap_costs_one_pick_and_no_other(batches: list[Batch]) -> None:
    whole = events_of(fed(LiveEstimator(D3), batches))
    events = events_of(fed(LiveEstimator(D3), batches[:26] + batches[29:]))
    # without the samples between 1.3 and 1.45 s, inside the second pick
    assert [e for e in events if e.t < 1.3] == [e for e in whole if e.t < 1.3]
    later = [e for e in whole if e.t > 2.0]
    found = [e for e in events if e.t > 2.0]
    assert [e.event for e in found] == [e.event for e in later]
    # residuals are taken every 4 ms, after the gap at other samples
    assert [e.t for e in found] == pytest.approx([e.t for e in later], abs=0.012)


def test_a_sender_that_restarts_is_followed(batches: list[Batch]) -> None:
    """Its numbers and its clock begin anew, with other samples."""
    live, other = LiveEstimator(D3), list(batches_of(case(6, seed=3).recording, 100))
    fed(live, batches[:60])
    updates = fed(live, other)
    kinds = [kind for kind, _ in notices_of(updates)]
    assert kinds == ["late", "late", "restart"]  # two batches are the price
    fresh = events_of(fed(LiveEstimator(D3), other[2:]))
    reset, *found = events_of(updates)
    assert reset.event == "reset"  # the load before is not known any more
    assert found == fresh
    assert live.counts.restarts == 1


def test_a_sender_that_counts_anew_but_keeps_its_clock(batches: list[Batch]) -> None:
    again = [replace(b, sequence=k) for k, b in enumerate(batches[50:])]
    live = LiveEstimator(D3)
    events = events_of(fed(live, batches[:50]) + fed(live, again))
    assert events == events_of(fed(LiveEstimator(D3), batches))
    assert (live.counts.restarts, live.counts.gaps, live.counts.late) == (1, 0, 0)


def test_numbers_wrap(batches: list[Batch]) -> None:
    near = [replace(b, sequence=(2**32 - 5 + k) % 2**32) for k, b in enumerate(batches)]
    assert notices_of(fed(LiveEstimator(D3), near)) == []


def test_other_robots_and_rates_are_refused(batches: list[Batch]) -> None:
    live = LiveEstimator(D3, rate=2000.0)
    four = np.zeros((2, 4))
    updates = live.feed(Batch(0.0, 5e-4, four, four, sequence=0))
    slow = [replace(batch, sample_time=1e-3) for batch in batches[:5]]
    updates += fed(live, slow)
    said = notices_of(updates)
    assert [kind for kind, _ in said] == ["refused"] * 6
    assert "dof is 4; allowed: 3, as robot 'sipro-d3-1200' has" in said[0][1]
    allowed = "sample_time is 0.001; allowed: 0.0005 s, the sample time of the estimator"
    assert allowed in said[1][1]
    assert live.counts.refused_samples == 502
    assert live.counts.samples == 0


def test_a_learnt_rate_is_learnt_again(batches: list[Batch]) -> None:
    live = LiveEstimator(D3)
    wrong = replace(batches[0], sample_time=1e-3, t0=-10.0)
    updates = live.feed(wrong) + fed(live, batches)
    assert [kind for kind, _ in notices_of(updates)] == ["refused", "refused", "restart"]
    assert live.estimator is not None
    assert live.estimator.grid.rate == 2000.0
    expected = events_of(fed(LiveEstimator(D3), batches[1:]))
    assert [event.event for event in events_of(updates)] == [event.event for event in expected]
    slow = LiveEstimator(D3)
    (notice,) = notices_of(slow.feed(replace(batches[0], sample_time=0.1)))
    assert "rate is 10; allowed: at least 250 Hz" in notice[1]
    assert slow.estimator is None


def test_angles_that_no_robot_takes_are_refused_and_the_rest_is_used(batches: list[Batch]) -> None:
    q = np.tile([0.725, -0.731, 3.124], (100, 1))  # elbows too far from each other
    wrong = replace(batches[5], q=q)
    live = LiveEstimator(D3)
    updates = fed(live, [*batches[:5], wrong, *batches[6:]])
    there, back = [text for kind, text in notices_of(updates) if kind == "refused"]
    assert "samples of batch 5 at 0.250000 s: q at axis 2" in there
    assert "within 0.5 rad of" in there
    assert "samples of batch 6 at 0.300000 s" in back  # believed once they stay
    assert 0 < live.counts.refused_samples <= 100
    assert live.counts.samples + live.counts.refused_samples == len(case(6).recording)
    last = events_of(fed(LiveEstimator(D3), batches))[-2:]  # seconds later all is as without them
    assert [e.event for e in events_of(updates)[-2:]] == [e.event for e in last]


def test_columns_may_change(batches: list[Batch]) -> None:
    rates = list(batches_of(case(6, rates=True).recording, 100))
    live = LiveEstimator(D3)
    updates = fed(live, batches[:20] + rates[20:])
    assert notices_of(updates) == [
        ("restart", "batch 20 at 1.000000 s has other columns: begun anew"),
    ]
    assert live.counts.samples == len(case(6).recording)
    after = [event for event in events_of(updates) if event.t > 1.0]
    assert after == events_of(fed(LiveEstimator(D3), rates[20:]))


VALUES = st.floats(-1e6, 1e6)
ROWS = st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=30)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(-2, 2), ROWS), max_size=6))
def test_no_batch_ends_it(stream: list[tuple[int, float, Any]]) -> None:
    live = LiveEstimator(D3, rate=2000.0)
    for sequence, t0, rows in stream:
        for update in live.feed(Batch(t0, 5e-4, rows, rows, sequence=sequence)):
            json.dumps(update.as_dict(), allow_nan=False)
            assert str(update)
    counts = live.counts
    total = sum(len(rows) for _, _, rows in stream)
    assert counts.received == counts.accounted == total


@given(st.lists(st.tuples(st.floats(5e-324, 1e300), ROWS), max_size=4))
def test_no_sample_time_ends_it(stream: list[tuple[float, Any]]) -> None:
    live = LiveEstimator(D3)
    for step, rows in stream:
        record = {"t": 0.0, "sample_time": step, "q": rows, "tau": rows}
        for update in live.take(json.dumps(record)):
            assert str(update)
    assert live.estimator is None or 250 <= live.estimator.grid.rate <= 1e5
