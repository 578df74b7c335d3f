"""The live estimator over a real broker: batches, faults, a restart, results sent back."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from tests.payload.cases import D3, case
from tests.payload.streams import QUICK, Broker, Sink, events_of, following, running_broker
from tests.waits import PATIENCE

from deltadyn.errors import InputError, MissingExtraError
from deltadyn.payload.live import Event, LiveEstimator
from deltadyn.streams.live import stop
from deltadyn.streams.packing import Batch, batches_of, pack
from deltadyn.streams.transports import MqttAddress, MqttStream

aiomqtt = pytest.importorskip("aiomqtt", reason="the extra mqtt is not installed")


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    return list(batches_of(case(4).recording, 100))


def expected(batches: list[Batch]) -> list[Event]:
    """The events without a broker between."""
    live = LiveEstimator(D3)
    return events_of([update for batch in batches for update in live.feed(batch)])


async def send(broker: Broker, messages: list[bytes]) -> None:
    """Publish messages so that the broker has them all."""
    async with aiomqtt.Client("127.0.0.1", broker.port) as client:
        for message in messages:
            await client.publish("cell/robot", message, qos=1)


def test_batches_and_garbage_over_a_broker(tmp_path: Path, batches: list[Batch]) -> None:
    async def run(broker: Broker) -> None:
        stream = MqttStream(broker.url, backoff=QUICK)
        async with following(LiveEstimator(D3), stream) as follower:
            await follower.connected()
            messages = [pack(batch) for batch in batches]
            messages[20:20] = [b"", b"garbage", b'{"t": 1}', messages[0][:-3], b"\xff" * 100]
            await send(broker, messages)
            await follower.samples(len(case(4).recording))
            counts = follower.live.counts
            assert counts.malformed == 5
            assert counts.messages == len(messages)
            assert (counts.gaps, counts.duplicates, counts.late, counts.reconnects) == (0, 0, 0, 0)
            assert follower.events() == expected(batches)
            assert follower.notices("malformed")[2] == "q is None; allowed: given in every message"
            shown = f"connected to mqtt://127.0.0.1:{broker.port}/cell/robot"
            assert follower.notices("connection") == [shown]

    with running_broker(tmp_path) as broker:
        asyncio.run(run(broker))


def test_the_broker_restarts(tmp_path: Path, batches: list[Batch]) -> None:
    """What was sent before and after is used, what was sent between is a gap."""
    first, last = batches[:30], batches[34:]

    async def run(broker: Broker) -> None:
        stream = MqttStream(broker.url, backoff=QUICK)
        async with following(LiveEstimator(D3), stream) as follower:
            await follower.connected()
            await send(broker, [pack(batch) for batch in first])
            await follower.samples(3000)
            await asyncio.to_thread(broker.stop)
            await follower.until(lambda: len(follower.notices("connection")) > 3, "attempts")
            await asyncio.to_thread(broker.start)
            await follower.connected(times=2)
            await send(broker, [pack(batch) for batch in last])
            await follower.samples(sum(len(batch) for batch in first + last))
            counts = follower.live.counts
            assert counts.reconnects == 1
            assert (counts.gaps, counts.missing, counts.malformed) == (1, 4, 0)
            assert counts.samples + counts.lost == len(case(4).recording)
            assert counts.received == counts.accounted
            assert follower.events() == expected(first + last)
            said = follower.notices("connection")
            assert said[-1].startswith("connected again mqtt://127.0.0.1")
            assert all(text.startswith("lost: ") for text in said[1:-1])

    with running_broker(tmp_path) as broker:
        asyncio.run(run(broker))


def test_a_broker_that_comes_later(tmp_path: Path, batches: list[Batch]) -> None:
    async def run(broker: Broker) -> None:
        stream = MqttStream(broker.url, backoff=QUICK)
        async with following(LiveEstimator(D3), stream) as follower:
            await follower.until(lambda: bool(follower.notices("connection")), "an attempt")
            assert "refused" in follower.notices("connection")[0]
            assert not await stream.publish("nobody hears it")
            assert stream.unpublished == 1
            await asyncio.to_thread(broker.start)
            await follower.connected()
            await send(broker, [pack(batches[0])])
            await follower.samples(100)
            assert follower.live.counts.reconnects == 0

    broker = Broker(tmp_path)
    try:
        asyncio.run(run(broker))
    finally:
        broker.stop()


def test_more_than_can_be_used(
    tmp_path: Path, batches: list[Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times faster than they are used: the queue is bounded, what it drops is counted."""
    monkeypatch.setattr("deltadyn.streams.transports.QUEUE", 16)
    live = Sink()

    async def slow(stream: MqttStream, ready: asyncio.Event) -> None:
        async for item in stream.items():
            live.take(item)
            ready.set()
            await asyncio.sleep(0.02)

    async def run(broker: Broker) -> None:
        ready = asyncio.Event()
        task = asyncio.create_task(slow(MqttStream(broker.url, backoff=QUICK), ready))
        await asyncio.wait_for(ready.wait(), PATIENCE)
        await send(broker, [pack(batch) for batch in batches])
        deadline = time.monotonic() + PATIENCE
        while live.counts.messages + live.counts.dropped < len(batches):
            assert time.monotonic() < deadline, str(live.counts)
            await asyncio.sleep(0.01)
        await stop(task)

    with running_broker(tmp_path) as broker:
        asyncio.run(run(broker))
    counts = live.counts
    assert counts.dropped > 0
    assert counts.messages + counts.dropped == len(batches)
    assert counts.received == counts.accounted == counts.samples
    first = round(live.times[0] / batches[0].sample_time)  # the last batch is never dropped
    assert first + counts.samples + counts.lost == len(case(4).recording)


def test_results_are_sent_back(tmp_path: Path) -> None:
    async def run(broker: Broker) -> None:
        stream = MqttStream(broker.url, backoff=QUICK)
        async with (
            following(LiveEstimator(D3), stream) as follower,
            aiomqtt.Client("127.0.0.1", broker.port) as client,
        ):
            await client.subscribe("cell/robot/payload")
            await follower.connected()
            event = Event(1.5, "pick", 0.25, float("inf"))
            assert await stream.publish(json.dumps(event.as_dict()))
            message = await asyncio.wait_for(anext(aiter(client.messages)), PATIENCE)
            record = json.loads(message.payload)
            assert record["event"] == "pick"
            assert record["std"] is None  # not known yet

    with running_broker(tmp_path) as broker:
        asyncio.run(run(broker))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://cell-4/line/robot", MqttAddress("cell-4", 1883, "line/robot")),
        ("mqtt://127.0.0.1:1885//odd%20topic", MqttAddress("127.0.0.1", 1885, "/odd topic")),
        (
            "mqtts://me:p%40ss@host/a",
            MqttAddress("host", 8883, "a", username="me", password="p@ss", tls=True),
        ),
    ],
)
def test_addresses(url: str, address: MqttAddress) -> None:
    assert MqttAddress.parse(url) == address


def test_an_address_keeps_its_password() -> None:
    address = MqttAddress.parse("mqtt://me:secret@host/a")
    assert str(address) == "mqtt://host:1883/a"
    assert "secret" not in repr(address)
    for wrong in ("mqtt://me:secret@host:99999/a", "mqtt://me:secret@host/a?b=1"):
        with pytest.raises(InputError) as caught:
            MqttAddress.parse(wrong)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://host/topic", "address is 'http://host/topic'; allowed: mqtt://"),
        ("mqtt:///topic", "address is 'mqtt:///topic'; allowed: mqtt://"),
        ("mqtt://host", "topic is ''; allowed: one topic, without . and #"),
        ("mqtt://host/cell/%23", "topic is 'cell/#'; allowed: one topic, without . and #"),
        ("mqtt://host:x/topic", "port is 'mqtt://host:x/topic'; allowed: 0 to 65535"),
    ],
)
def test_wrong_addresses(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MqttAddress.parse(url)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "aiomqtt", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'deltadyn\[mqtt\]'"):
        MqttStream("mqtt://host/topic")
