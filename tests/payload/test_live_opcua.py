"""The live estimator at a real OPC UA server: batches in one node, faults, a restart."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.payload.cases import D3, case
from tests.payload.streams import QUICK, events_of, following, free_port

from deltadyn.errors import InputError, MissingExtraError
from deltadyn.payload.live import LiveEstimator
from deltadyn.streams.packing import Batch, batches_of, pack
from deltadyn.streams.transports import OpcuaStream

asyncua = pytest.importorskip("asyncua", reason="the extra opcua is not installed")

NODE = "ns=2;s=Robot.Batches"
JSON = '{"t": 1.0, "sample_time": 0.0005, "q": [0.1, 0.2, 0.3], "tau": [0, 0, 0]}'


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    return list(batches_of(case(4).recording, 100))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A library that logs every lost connection."""
    logger = logging.getLogger("asyncua")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@asynccontextmanager
async def server(port: int, value: bytes = b"") -> AsyncIterator[Any]:
    """The node of a server that is gone afterwards; another node holds JSON."""
    own = asyncua.Server()
    await own.init()
    own.set_endpoint(f"opc.tcp://127.0.0.1:{port}")
    own.set_security_policy([asyncua.ua.SecurityPolicyType.NoSecurity])
    space = await own.register_namespace("cell")
    name = asyncua.ua.NodeId("Robot.Batches", space)
    node = await own.nodes.objects.add_variable(name, "Batches", value)
    await own.nodes.objects.add_variable(asyncua.ua.NodeId("Robot.Json", space), "Json", JSON)
    await own.start()
    try:
        yield node
    finally:
        await own.stop()


async def check_other_nodes(url: str) -> None:
    """A node with JSON is read as it is; one that does not exist is said."""
    text, nothing = (
        OpcuaStream(url, f"ns=2;s=Robot.{name}", backoff=QUICK) for name in ("Json", "Other")
    )
    async with following(LiveEstimator(D3), text) as follower:
        await follower.samples(1)
        assert follower.notices() == [f"connected to {url}, node ns=2;s=Robot.Json"]
    async with following(LiveEstimator(D3), nothing) as follower:
        await follower.until(lambda: bool(follower.notices("connection")), "an attempt")
        assert "node id" in follower.notices("connection")[0]


def test_batches_garbage_and_a_restart(batches: list[Batch]) -> None:
    """Batches before and after are used, garbage is counted, what was missed is a gap."""
    first, last, port = batches[:30], batches[34:], free_port()
    url = f"opc.tcp://127.0.0.1:{port}"

    async def run() -> None:
        stream = OpcuaStream(url, NODE, backoff=QUICK)
        async with following(LiveEstimator(D3), stream) as follower:
            async with server(port) as node:
                await follower.connected()
                for message in [*map(pack, first[:20]), b"garbage", b"", *map(pack, first[20:])]:
                    await node.write_value(message)
                await follower.samples(3000)
                assert follower.live.counts.malformed == 2
            said = len(follower.notices("connection"))
            await follower.until(lambda: len(follower.notices("connection")) > said, "the loss")
            async with server(port, pack(last[0])) as node:  # a value that is there already
                await follower.connected(times=2)
                for batch in last[1:]:
                    await node.write_value(pack(batch))
                await follower.samples(sum(len(batch) for batch in first + last))
                await check_other_nodes(url)
            counts = follower.live.counts
            assert counts.reconnects == 1
            assert (counts.gaps, counts.missing, counts.malformed) == (1, 4, 2)
            assert counts.samples + counts.lost == len(case(4).recording)
            assert counts.received == counts.accounted
            plain = LiveEstimator(D3)
            expected = [update for batch in first + last for update in plain.feed(batch)]
            assert follower.events() == events_of(expected)
            assert follower.notices("malformed")[0].startswith("length is 7; allowed: at least")

    asyncio.run(run())


def test_wrong_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="node is 'Batches'; allowed: a node id such as ns=2;s="):
        OpcuaStream("opc.tcp://plc:4840", "Batches")
    with pytest.raises(InputError, match=r"address is 'plc'; allowed: opc.tcp://host:port\[/path"):
        OpcuaStream("opc.tcp://me:secret@plc", NODE)
    monkeypatch.setitem(sys.modules, "asyncua", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'deltadyn\[opcua\]'"):
        OpcuaStream("opc.tcp://plc:4840", NODE)
