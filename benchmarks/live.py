"""Samples per second through a real MQTT broker on the loopback, with and without the estimator.

Run: OMP_NUM_THREADS=1 python -m benchmarks.live [--repeat N] [--json]

A second process sends packed batches with quality of service 1; the broker is mosquitto. The peer
is the same stream without an estimator behind it: what unpacking alone would allow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.payload.cases import D3, case
from tests.payload.streams import QUICK, Broker, following, running_broker

from benchmarks.machine import machine_name
from deltadyn.payload.live import LiveEstimator, Update
from deltadyn.streams.packing import Batch, batches_of, pack
from deltadyn.streams.transports import MqttStream

SIZE = 100  # samples of a batch
TOPIC = "cell/robot"  # of the tests' broker address
LONGEST = 120.0  # s of a case


class Unpacked(LiveEstimator):
    """Counts samples and estimates nothing."""

    def feed(self, batch: Batch) -> list[Update]:
        self.counts.samples += len(batch)
        return []


def messages(repeat: int, rates: bool) -> list[bytes]:
    """The packed batches of a log that goes on `repeat` times."""
    log = case(6, rates=rates).recording
    batches = list(batches_of(log, SIZE))
    span = len(log) * log.sample_time
    return [
        pack(replace(batch, t0=batch.t0 + k * span, sequence=k * len(batches) + i))
        for k in range(repeat)
        for i, batch in enumerate(batches)
    ]


async def send(port: int, repeat: int, rates: bool) -> None:
    """Publish all batches as fast as the broker takes them."""
    import aiomqtt

    async with aiomqtt.Client("127.0.0.1", port) as client:
        for message in messages(repeat, rates):
            await client.publish(TOPIC, message, qos=1)


async def measured(broker: Broker, kind: type[LiveEstimator], repeat: int, rates: bool) -> float:
    """Samples per second that arrive behind the broker."""
    arguments = ["-m", "benchmarks.live", "--send", str(broker.port), "--repeat", str(repeat)]
    total = len(case(6, rates=rates).recording) * repeat
    async with following(kind(D3), MqttStream(broker.url, backoff=QUICK)) as follower:
        await follower.connected()
        sender = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, *(["--rates"] if rates else [])
        )
        counts = follower.live.counts
        await follower.until(lambda: counts.samples > 0, "the first samples")
        began, first = time.perf_counter(), counts.samples
        while counts.samples < total and time.perf_counter() - began < LONGEST:
            await asyncio.sleep(0.005)
        took = time.perf_counter() - began
        await sender.wait()
    return (counts.samples - first) / took


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=12, help="length of a case, in logs of 5 s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--send", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--rates", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.send is not None:
        asyncio.run(send(given.send, given.repeat, given.rates))
        return
    cases = {
        "with the estimator": (LiveEstimator, False),
        "with the estimator, qd and qdd sent": (LiveEstimator, True),
        "unpacking only": (Unpacked, False),
    }
    rates: dict[str, float] = {}
    with TemporaryDirectory() as folder, running_broker(Path(folder)) as broker:
        for name, (kind, sent) in cases.items():
            rates[name] = asyncio.run(measured(broker, kind, given.repeat, sent))
    if given.json:
        print(json.dumps({"machine": machine_name(), "samples_per_second": rates}, indent=2))
        return
    print(f"MQTT on the loopback, batches of {SIZE}, on {machine_name()}")
    for name, rate in rates.items():
        print(f"  {name:<38}{rate:>10.0f} samples/s, {rate / 2000:>6.0f} drives at 2 kHz")


if __name__ == "__main__":
    main()
