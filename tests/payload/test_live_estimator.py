"""The live estimator without a transport: same answers as off-line, whatever a stream does."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, case
from tests.payload.streams import events_of, fed, notices_of

from deltadyn.errors import InputError
from deltadyn.payload.bank_estimator import ASSUMED
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.live import Event, LiveEstimator, Reading, Update
from deltadyn.payload.offline import find_picks
from deltadyn.streams.live import Backoff, Connection, persistent, stop
from deltadyn.streams.packing import Batch, batches_of, pack


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Picks of six cycles in batches of 50 ms."""
    return list(batches_of(case(6).recording, 100))


def releases(events: list[Event]) -> list[Event]:
    """Those that end a pick."""
    return [event for event in events if event.event == "release"]


def test_a_stream_tells_what_a_log_tells(batches: list[Batch]) -> None:
    log = find_picks(D3, case(6).recording)
    live = LiveEstimator(D3)
    updates = [update for batch in batches for update in live.take(pack(batch))]
    events = events_of(updates)
    assert [event.event for event in events] == [what for _, what in log.events]
    # times are counted within a batch: a rounding of 5 s
    assert [event.t for event in events] == pytest.approx([t for t, _ in log.events], abs=1e-9)
    finished = [event.pick for event in events if event.pick is not None]
    assert len(finished) == len(releases(events)) >= 5
    for pick in finished:
        cycle = min(case(6).plan.cycles, key=lambda cycle: abs(cycle.pick - pick.start))
        assert pick.mass == pytest.approx(cycle.mass, abs=4 * pick.std)  # none is 4 deviations off
    assert live.counts.samples == len(case(6).recording)
    assert live.counts.events == Counter(event.event for event in events)
    assert notices_of(updates) == []


@pytest.mark.full
def test_float32_and_json_tell_nearly_the_same(batches: list[Batch]) -> None:
    recording = case(6, rates=True).recording
    parts = list(batches_of(recording, 100))
    plain, single, text = (LiveEstimator(D3) for _ in range(3))
    expected = events_of([update for part in parts for update in plain.take(pack(part))])
    rounded = events_of([u for part in parts for u in single.take(pack(part, single=True))])
    assert [e.event for e in rounded] == [e.event for e in expected]
    # 6e-8 of 10 N m and of rates is far below the noise of 0.3 N m
    assert [e.mass for e in rounded] == pytest.approx([e.mass for e in expected], abs=1e-3)
    told: list[Update] = []
    for part in parts:
        fields = {name: getattr(part, name).tolist() for name in ("q", "qd", "qdd", "tau")}
        record = {"t": part.t0, "sample_time": part.sample_time, **fields}
        told += text.take(json.dumps(record))
    assert events_of(told) == expected


def test_single_samples_need_a_rate(batches: list[Batch]) -> None:
    row = json.dumps({"t": 0.0, "q": [0.1, 0.2, 0.3], "tau": [1.0, 2.0, 3.0]})
    live = LiveEstimator(D3)
    (update,) = live.take(row)
    said = "sample_time is 0; allowed: given in the message, or a rate for the estimator"
    assert notices_of([update]) == [("refused", f"batch at 0.000000 s: {said}")]
    live = LiveEstimator(D3, rate=2000.0)
    assert live.take(row) == []
    assert live.counts.samples == 1


def test_readings_come_at_the_streams_pace(batches: list[Batch]) -> None:
    live = LiveEstimator(D3, every=0.5)
    readings = [x for x in fed(live, batches) if isinstance(x, Reading)]
    assert [reading.t for reading in readings] == pytest.approx(np.arange(0.5, 5.03, 0.5))
    assert readings[-1].status == ASSUMED
    assert readings[0].as_dict()["type"] == "reading"
    silent = LiveEstimator(D3, every=None)
    assert all(isinstance(update, Event) for update in fed(silent, batches))


def test_the_gripper_is_heard(batches: list[Batch]) -> None:
    payload = case(6).payload
    held = [
        replace(batch, holding=payload[100 * k : 100 * k + len(batch)] > 0)
        for k, batch in enumerate(batches)
    ]
    live = LiveEstimator(D3)
    events = events_of([update for batch in held for update in live.take(pack(batch))])
    expected = find_picks(D3, case(6).recording, holding=(payload > 0).tolist())
    assert [event.event for event in events] == [what for _, what in expected.events]
    assert [event.t for event in events] == pytest.approx([t for t, _ in expected.events], abs=1e-9)
    assert live.estimator is not None
    assert live.estimator.signal is not None
    assert min(live.estimator.signal.closing[1], live.estimator.signal.opening[1]) > 0.5


@pytest.mark.full
def test_the_controllers_convention_is_applied(batches: list[Batch]) -> None:
    robot = replace(D3, controller=replace(D3.controller, sign=(-1, 1, -1), offset=(0.1, 0.2, 0.3)))
    sign = np.array([-1, 1, -1])
    there = [replace(b, q=robot.to_controller(b.q), tau=b.tau * sign) for b in batches]
    expected = events_of(fed(LiveEstimator(D3), batches))
    found = events_of(fed(LiveEstimator(robot), there))
    assert [(e.event, e.t) for e in found] == [(e.event, e.t) for e in expected]
    own = events_of(fed(LiveEstimator(robot, convention="deltadyn"), batches))
    assert own == expected


def test_reconnections_are_counted() -> None:
    live = LiveEstimator(D3)
    items = [Connection(True, "there"), Connection(False, "gone", 1), Connection(True, "there")]
    updates = [update for item in items for update in live.take(item)]
    assert [text for _, text in notices_of(updates)] == [
        "connected to there",
        "lost: gone",
        "connected again there",
    ]
    assert live.counts.reconnects == 1
    assert live.counts.messages == 0


def test_sessions_follow_each_other_with_growing_waits() -> None:
    sessions: list[list[object]] = [
        [Connection(True, "x"), b"1"],
        [],
        [Connection(True, "x"), b"2"],
    ]

    async def session() -> AsyncIterator[object]:
        for item in sessions.pop(0):
            yield item
        raise OSError("away")

    async def collected() -> list[object]:
        found: list[object] = []
        async for item in persistent(session, (OSError,), Backoff(first=1e-4)):
            found.append(item)
            if item == b"2":
                return found
        return found

    assert asyncio.run(collected()) == [
        Connection(True, "x"),
        b"1",
        Connection(False, "away", 1),
        Connection(False, "away", 2),
        Connection(True, "x"),
        b"2",
    ]
    waits = [Backoff().delay(attempt) for attempt in (1, 2, 3, 6, 10_000)]
    assert waits == [0.2, 0.4, 0.8, 5.0, 5.0]


def test_a_task_that_drops_a_cancellation_is_stopped() -> None:
    dropped = 0

    async def deaf() -> None:
        nonlocal dropped
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if dropped == 1:
                    raise
                dropped += 1

    async def broken() -> None:
        raise ValueError("its own error")

    async def run() -> None:
        task = asyncio.create_task(deaf())
        await asyncio.sleep(0)
        await stop(task)
        assert task.cancelled()
        task = asyncio.create_task(broken())
        await asyncio.wait([task])
        with pytest.raises(ValueError, match="its own error"):
            await stop(task)

    asyncio.run(run())
    assert dropped == 1


def test_wrong_calls() -> None:
    with pytest.raises(InputError, match="robot is 'str'; allowed: a Robot, or a fit"):
        LiveEstimator("sipro-d3-1200")
    with pytest.raises(InputError, match="convention is 'mine'; allowed: one of 'controller'"):
        LiveEstimator(D3, convention="mine")
    with pytest.raises(InputError, match="every is 0; allowed: above 0 s, or None"):
        LiveEstimator(D3, every=0.0)
    with pytest.raises(InputError, match="axes of the estimator is 4; allowed: 3, as robot"):
        LiveEstimator(D3, PayloadEstimator(FOUR))
    with pytest.raises(InputError, match="false_alarms is -1"):
        LiveEstimator(D3, false_alarms=-1.0)  # at once, not with the first message
