"""The account of a stream: every sample in one place, and nothing told as known that is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.payload.cases import D3, case
from tests.payload.streams import QUICK, SAMPLE_TIME, Sink, events_of, fed, notices_of

from deltadyn.errors import InputError
from deltadyn.payload.bank_estimator import BankEstimator
from deltadyn.payload.live import LiveEstimator, Reading
from deltadyn.streams.live import (
    Connection,
    Counts,
    Dropped,
    GaveUpError,
    Notice,
    Silence,
    persistent,
    watched,
)
from deltadyn.streams.order import Order
from deltadyn.streams.packing import Batch, batches_of
from deltadyn.streams.transports import Inbox, MqttStream

STEP, SIZE = SAMPLE_TIME, 4


def sent(numbers: list[int], sizes: list[int], numbered: bool) -> list[Batch]:
    """Batches of a sender whose `k`-th has `sizes[k]` samples; `numbers` are those that come."""
    begins = np.concatenate([[0], np.cumsum(sizes)])
    out = []
    for k in numbers:
        rows = np.full((sizes[k], 3), 1e-3 * k)
        t0 = 3.0 + STEP * float(begins[k])
        out.append(Batch(t0, STEP, rows, rows, sequence=k if numbered else None))
    return out


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Numbers of batches as they come, lost, repeated and out of order, and the sizes of all."""
    sizes = draw(st.lists(st.integers(2, 9), min_size=2, max_size=40))
    kept = [k for k in range(1, len(sizes)) if draw(st.integers(0, 3))]
    twice = [k for k in kept for _ in range(draw(st.integers(1, 2)))]
    delay = {k: k + draw(st.integers(0, 6)) for k in twice}
    again = [(delay[k] + draw(st.integers(0, 5)), k) for k in twice]
    return [0, *(k for _, k in sorted(again))], sizes


@given(arrivals(), st.booleans())
def test_every_sample_is_in_one_place(stream: tuple[list[int], list[int]], numbered: bool) -> None:
    numbers, sizes = stream
    live = Sink()
    fed(live, sent(numbers, sizes, numbered))  # type: ignore[arg-type]
    counts = live.counts
    received = sum(sizes[k] for k in numbers)
    assert counts.received == counts.accounted == received
    assert counts.duplicate_samples == received - sum(sizes[k] for k in set(numbers))
    assert counts.samples == len(live.times)
    assert (np.diff(live.times) > 0).all()  # nothing twice, nothing backwards
    last = max(numbers)
    assert counts.lost == sum(sizes[k] for k in range(last) if k not in numbers)
    assert counts.samples + counts.late_samples + counts.lost == sum(sizes[: last + 1])
    assert counts.missing == (len(set(range(last)) - set(numbers)) if numbered else 0)
    assert (counts.restarts, counts.jumps) == (0, 0)


def test_refused_batches_are_not_lost() -> None:
    live = Sink()
    batches = sent(list(range(6)), 6 * [SIZE], True)
    batches[2] = replace(batches[2], sample_time=1e-3)
    fed(live, batches)  # type: ignore[arg-type]
    assert (live.counts.refused_samples, live.counts.lost, live.counts.missing) == (SIZE, 0, 0)
    assert live.counts.received == live.counts.accounted == 6 * SIZE


@pytest.mark.parametrize("numbered", [True, False])
def test_a_clock_that_is_set_loses_no_samples(numbered: bool) -> None:
    """An hour ahead with the next number: nothing was lost, and nothing is invented."""
    batches = sent([0, 1, 2], 3 * [SIZE], numbered)
    batches[2] = replace(batches[2], t0=batches[2].t0 + 3600)
    live = Sink()
    said = notices_of(fed(live, batches))  # type: ignore[arg-type]
    text = "3600 s without samples before batch"
    assert said[0][0] == "jump"
    assert said[0][1].startswith(text)
    assert said[0][1].endswith(": a pause of the sender, or its clock was set")
    assert (live.counts.jumps, live.counts.gaps, live.counts.lost) == (1, 0, 0)
    # with numbers that are left out as well, those tell what is lost
    order = Order()
    order.used(batches[0])
    far = replace(batches[2], sequence=5)
    placed = order.place(far, live.rate)
    assert (placed.jump, placed.missing, placed.lost) == (
        (True, 4, 4 * SIZE) if numbered else (True, 0, 0)
    )


def test_memory_of_the_order_does_not_grow() -> None:
    live = Sink()
    fed(live, sent(list(range(0, 4000, 2)), 4001 * [2], True))  # type: ignore[arg-type]
    assert live.counts.gaps == 1999
    assert len(live._order._holes) == 256
    assert len(live._seen) == 256


def test_the_summary_says_all() -> None:
    counts = Counts(messages=3, received=40, samples=20, late_samples=20, lost=7, dropped=2)
    text, record = str(counts), counts.as_dict()
    assert "samples received 40: used 20, refused 0, duplicate 0, late 20; lost 7" in text
    assert "dropped here 2" in text
    assert {"received", "lost", "interpolated", "dropped", "jumps", "silences"} <= set(record)


# estimates over a gap


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Picks of six cycles in batches of 10 ms."""
    return list(batches_of(case(6).recording, 20))


def readings(updates: list[Any]) -> list[Reading]:
    return [update for update in updates if isinstance(update, Reading)]


@pytest.mark.full
def test_a_load_is_not_known_over_a_gap(batches: list[Batch]) -> None:
    """Held through the gap or not: no reading says empty before there is enough to know it."""
    whole = LiveEstimator(D3, every=0.01)
    before = readings(fed(whole, batches))
    held = [k for k, reading in enumerate(before) if reading.mass > 0]
    cut = held[len(held) // 2]  # within a pick
    t = before[cut].t
    first = [batch for batch in batches if batch.end < t]
    rest = [batch for batch in batches if batch.t0 > t + 0.03]
    live = LiveEstimator(D3, every=0.01)
    fed(live, first)
    assert live.estimator is not None
    assert live.estimator.loaded
    mass = live.estimator.mass
    updates = fed(live, rest)
    reset = events_of(updates)[0]
    assert (reset.event, reset.mass) == ("reset", mass)
    assert live.counts.events["reset"] == 1
    after = readings(updates)
    assert np.isinf(after[0].std)
    assert after[0].as_dict()["std"] is None
    assert "not sure yet" in str(after[0])
    truth = {round(reading.t, 3): reading.mass for reading in before}
    for reading in after[:40]:
        loaded = truth.get(round(reading.t, 3), 0.0) > 0.05
        assert not (loaded and reading.mass == 0 and np.isfinite(reading.std)), reading


def test_interpolated_samples_are_no_measurement() -> None:
    """A gap of eight samples: the bank counts no row that holds one of them."""
    live, whole = LiveEstimator(D3, rate=2000.0), LiveEstimator(D3, rate=2000.0)
    tiny = list(batches_of(case(6).recording, 4))
    for one, part in ((live, [*tiny[:200], *tiny[202:240]]), (whole, tiny[:240])):
        fed(one, part)
    assert live.counts.interpolated == 8
    less, all_rows = (one.estimator for one in (live, whole))
    assert isinstance(less, BankEstimator)
    assert isinstance(all_rows, BankEstimator)
    rows = (8 + less._reach) / (0.008 * 2000)
    assert rows - 1 <= all_rows._measured - less._measured <= rows + 1


# more than can be used, silence, no connection


def test_an_inbox_is_bounded_and_counts_what_it_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    live, inbox = Sink(), Inbox(10)
    batches = sent(list(range(200)), 200 * [SIZE], True)
    used: list[Batch] = []
    told: list[Any] = []
    for k, batch in enumerate(batches):  # ten times faster than they are used
        inbox.put_nowait(batch)
        assert inbox.qsize() <= 10
        if k % 10 == 9:
            used.append(inbox.get_nowait())
            for item in inbox.take_dropped():
                told += live.take(item)
            told += live.feed(used[-1])
    dropped = live.counts.dropped
    assert dropped > 100
    assert len(used) + dropped + inbox.qsize() == len(batches)
    assert "messages were dropped: they come faster than they are used" in told[0].text
    last = used[-1].sequence or 0
    assert live.counts.samples + live.counts.lost == SIZE * (last + 1 - (used[0].sequence or 0))
    monkeypatch.setattr("deltadyn.streams.transports.QUEUE_BYTES", 1000)
    for _ in range(20):
        inbox.put_nowait(b"x" * 300)
    assert inbox.waiting <= 1000
    while not inbox.empty():
        inbox.get_nowait()
    assert inbox.waiting == 0


def test_silence_is_said_once_and_again_after_samples() -> None:
    async def items(heard: asyncio.Event) -> AsyncGenerator[Any, None]:
        yield Connection(True, "there")
        await heard.wait()
        heard.clear()
        yield sent([0], [SIZE], True)[0]
        await heard.wait()
        yield Connection(False, "gone")
        await asyncio.sleep(0.1)  # no silence: that there is no connection is known

    async def run() -> list[Any]:
        heard, found = asyncio.Event(), []
        async for item in watched(items(heard), 0.02):
            found.append(item)
            if isinstance(item, Silence):
                heard.set()
        return found

    found = [type(item).__name__ for item in asyncio.run(run())]
    assert found == ["Connection", "Silence", "Batch", "Silence", "Connection"]
    (notice,) = Sink().take(Silence(2.0))
    assert isinstance(notice, Notice)
    assert "nothing came for 2 s" in notice.text
    (notice,) = Sink().take(Dropped(4))
    assert notice.count == 1


def test_reconnection_ends_where_it_is_limited() -> None:
    async def session() -> AsyncIterator[Any]:
        if QUICK.first:
            raise OSError("nobody there")
        yield

    async def run(limit: float) -> list[Any]:
        found: list[Any] = []
        try:
            async for item in persistent(session, (OSError,), QUICK, limit):
                found += [item]
        except GaveUpError as error:
            return [*found, str(error)]
        return found

    lost, said = asyncio.run(run(0.0))
    assert lost == Connection(False, "nobody there", 1)
    assert said == "no connection for 0 s, 1 attempts: given up; the last: nobody there"
    *_, said = asyncio.run(run(0.1))
    assert said.startswith("no connection for 0.1 s, ")
    with pytest.raises(InputError, match="limit of reconnection is -1; allowed: at least 0 s"):
        MqttStream("mqtt://host/topic", limit=-1)
