"""The live estimator at pyads' test server: symbols with the PLC's time, batches, faults."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import numpy as np
import pytest
from tests.payload.plc import BEGIN, Plc, own_address, running
from tests.payload.streams import QUICK, Sink, following

from deltadyn.errors import DeltadynError, InputError, MissingExtraError
from deltadyn.streams import ads
from deltadyn.streams.ads import AdsAddress, AdsStream
from deltadyn.streams.live import Broken, Connection, Dropped, Reset, Used
from deltadyn.streams.packing import Batch, pack, unpack

TICKS = 5000  # of 100 ns: 2 kHz
REAL3 = "ARRAY [0..2] OF LREAL"
SYMBOLS: dict[str, tuple[str, bytes]] = {
    "GVL.q": (REAL3, bytes(24)),
    "GVL.tau": (REAL3, bytes(24)),
    "GVL.q2": ("ARRAY [1..2] OF REAL", bytes(8)),
    "GVL.q3": ("REAL", bytes(4)),
    "GVL.closed": ("BOOL", bytes(1)),
    "GVL.reset": ("BOOL", bytes(1)),
    "GVL.batch": ("ARRAY [0..4831] OF BYTE", bytes(4832)),
    "GVL.count": ("DINT", bytes(4)),
    "GVL.wrong": (REAL3, bytes(24)),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses are seen sooner."""
    monkeypatch.setattr(ads, "WATCH", 0.2)
    monkeypatch.setattr(ads, "TIMEOUT", 0.3)
    monkeypatch.setattr(ads, "PARTING", 0.05)


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    rng = np.random.default_rng(4)
    made = []
    for k in range(20):
        q, tau = rng.uniform(-1, 1, (2, 100, 3))
        made.append(Batch(0.05 * k, 5e-4, q, tau, sequence=k))
    return made


def told(batch: Batch, first: int) -> list[tuple[int, dict[str, bytes]]]:
    """The samples of a batch as a PLC tells them; the first has this number."""
    return [
        (TICKS * (first + i), {"GVL.q": q.tobytes(), "GVL.tau": tau.tobytes()})
        for i, (q, tau) in enumerate(zip(batch.q, batch.tau, strict=True))
    ]


class Keeper(Sink):
    """Keeps the samples, too."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []

    def _use(self, batch: Batch) -> Used[Any]:
        self.batches.append(batch)
        return super()._use(batch)


def test_samples_with_the_plcs_time_and_a_restart(batches: list[Batch]) -> None:
    """All samples come bit by bit with their times; those of a PLC that was away are a gap."""
    ip = own_address()
    url = f"ads://{ip}.1.1:851/q=GVL.q,tau=GVL.tau?cycle_ms=0.5"
    first, last = batches[:8], batches[12:]
    handler = Plc(SYMBOLS)

    async def run() -> None:
        keeper = Keeper()
        async with following(keeper, AdsStream(url, backoff=QUICK)) as follower:
            counts, said = keeper.counts, follower.notices
            await follower.until(lambda: bool(said("connection")), "an attempt")
            assert said("connection")[0] == f"lost: no AMS router at {ip}:48898: Connection refused"
            with running(handler, ip) as plc:
                await follower.connected()
                assert handler.asked["GVL.q"] == (3, 5000)  # every cycle, 0.5 ms
                for number, batch in enumerate(first):
                    plc.notify(told(batch, 100 * number))
                await follower.samples(800)
            attempts = len(said("connection"))
            await follower.until(lambda: len(said("connection")) > attempts, "a loss")
            assert "does not tell its state: timeout" in said("connection")[attempts]
            with running(handler, ip) as plc:
                await follower.connected(times=2)
                for number, batch in enumerate(last, start=12):
                    plc.notify(told(batch, 100 * number))
                await follower.samples(sum(len(batch) for batch in first + last))
            assert (counts.reconnects, counts.gaps, counts.lost) == (1, 1, 400)
            assert (counts.malformed, counts.jumps, counts.restarts) == (0, 0, 0)
            assert counts.received == counts.accounted
        for name in ("q", "tau"):
            sent = np.concatenate([getattr(batch, name) for batch in first + last])
            came = np.concatenate([getattr(batch, name) for batch in keeper.batches])
            assert sent.tobytes() == came.tobytes()
        numbers = [*range(800), *range(1200, 2000)]
        np.testing.assert_allclose(keeper.times, np.array(numbers) * 5e-4, atol=1e-10)

    asyncio.run(run())


def test_values_that_make_no_sample_are_told() -> None:
    """A missing value, one that came twice, one that is no number, times that are never equal."""
    ip = own_address()
    url = f"ads://{ip}.1.1:851/q=GVL.q2+GVL.q3,tau=GVL.tau,holding=GVL.closed"
    one = {
        "GVL.q2": np.array([0.25, 0.5], "<f4").tobytes(),
        "GVL.q3": np.array([0.75], "<f4").tobytes(),
        "GVL.tau": np.zeros(3).tobytes(),
        "GVL.closed": b"\1",
    }
    lone = {name: data for name, data in one.items() if name != "GVL.tau"}
    nan = {**one, "GVL.tau": np.full(3, np.nan).tobytes()}

    async def run() -> None:
        sink = Sink()
        async with following(sink, AdsStream(url, backoff=QUICK)) as follower:
            with running(Plc(SYMBOLS), ip) as plc:
                await follower.connected()
                rows = [(TICKS * k, one) for k in range(100)]
                rows[20] = (TICKS * 20, lone)
                plc.notify([(-TICKS, lone), *rows])  # a subscription begins in the midst
                await follower.samples(99)
                assert follower.notices("malformed") == [
                    "GVL.tau did not come for one time: no sample"
                ]
                assert (sink.counts.gaps, sink.counts.lost) == (1, 1)
                assert sink.times[:2] == [0.0, TICKS / 1e7]
                assert sink.times[20] == 21 * TICKS / 1e7
                plc.notify([(TICKS * 100, lone), (TICKS * 100, {"GVL.q3": bytes(4)})])
                plc.notify([(TICKS * 100, {"GVL.tau": one["GVL.tau"]}), (TICKS * 101, one)])
                await follower.samples(101)
                assert follower.notices("malformed")[1:] == [
                    "GVL.q3 came twice for one time: the second is not used"
                ]
                plc.notify([(TICKS * k, nan) for k in range(102, 104)])
                await follower.until(lambda: len(follower.notices("malformed")) > 2, "NaN")
                assert "tau at row 0, axis 1 is nan; allowed:" in follower.notices("malformed")[2]
                assert sink.counts.received == sink.counts.accounted == 101
                plc.notify([(TICKS * 200 + k, lone if k % 2 else {}) for k in range(1200)])
                said = follower.notices
                await follower.until(lambda: len(said("connection")) > 1, "an error")
                assert "allowed: the same: symbols of one task" in said("connection")[1]

    asyncio.run(run())


def test_packed_batches_and_resets(batches: list[Batch]) -> None:
    """A symbol with bytes is a message; zeros at the begin, and a reset that is on, are none."""
    ip = own_address()
    stream = AdsStream(f"ads://{ip}.1.1:851/GVL.batch", reset="GVL.reset", backoff=QUICK)
    items: list[Any] = []

    async def run() -> None:
        handler = Plc(SYMBOLS)
        with running(handler, ip) as plc:
            async for item in stream.items():
                items.append(item)
                if isinstance(item, Connection):
                    assert handler.asked["GVL.batch"][0] == 4  # when it changes
                    values = [bytes(4832), pack(batches[0]), bytes(4832), pack(batches[1])]
                    plc.notify([(k, {"GVL.batch": value}) for k, value in enumerate(values)])
                    plc.notify([(9 + k, {"GVL.reset": bytes([k % 2])}) for k in (1, 2, 3)])
                if sum(isinstance(item, bytes | Reset) for item in items) == 4:
                    return

    asyncio.run(run())
    messages = [item for item in items if isinstance(item, bytes)]
    assert messages == [pack(batches[0]), bytes(4832), pack(batches[1])]
    assert sum(isinstance(item, Reset) for item in items) == 1  # the first was there already
    assert str(stream) == f"ads://{ip}.1.1:851/GVL.batch"


def said_by(url: str, handler: Plc, ip: str, reset: str | None = None) -> str:
    """The first reason why there is no stream."""

    async def run() -> str:
        stream = AdsStream(url, reset=reset, backoff=QUICK)
        async for item in stream.items():
            return item.detail if isinstance(item, Connection) else str(item)
        return ""

    with running(handler, ip):
        return asyncio.run(run())


def test_what_a_plc_does_not_have_is_said() -> None:
    ip = own_address()
    place = f"ads://{ip}.1.1:851"

    def said(path: str, reset: str | None = None, **changes: Any) -> str:
        handler = Plc(SYMBOLS)
        handler.sizes = {"GVL.wrong": 20}
        for name, value in changes.items():
            setattr(handler, name, value)
        return said_by(f"{place}/{path}", handler, ip, reset)

    both = "q=GVL.q,tau=GVL.tau"
    assert said("q=GVL.p,tau=GVL.tau") == (
        f"symbol for q at {ip}.1.1:851 is 'GVL.p'; allowed: a symbol of the PLC, with its path, "
        "as GVL.q or MAIN.q"
    )
    assert "type of GVL.count, for tau, is 'DINT'; allowed: LREAL or REAL" in said(
        "q=GVL.q,tau=GVL.count"
    )
    assert "type of GVL.q, for holding, is 'ARRAY [0..2] OF LREAL'; allowed: a BOOL" in said(
        f"{both},holding=GVL.q"
    )
    assert "type of GVL.count, for reset, is 'DINT'" in said(both, reset="GVL.count")
    assert "type of GVL.q, for batches, is" in said("GVL.q")
    assert "numbers of tau is 2; allowed: 3, as q has" in said("q=GVL.q,tau=GVL.q2")
    assert "numbers of q is 1; allowed: 2, 3 or 4" in said("q=GVL.q3,tau=GVL.q3")
    assert "size of GVL.wrong is 20; allowed: 24 bytes" in said("q=GVL.wrong,tau=GVL.tau")
    assert f"the PLC at {ip}.1.1:851 is in STOP, not in RUN" in said(both, state=6)
    config = said(both, ports_closed=True, system=15)
    assert config == f"TwinCAT at {ip}.1.1 is in CONFIG mode: set it to RUN"
    none = said(both, ports_closed=True, system=5)
    assert none == f"no PLC program at AMS port 851 of {ip}.1.1"


def test_a_plc_that_stops_or_is_configured_is_a_lost_connection() -> None:
    ip = own_address()

    async def run() -> None:
        handler = Plc(SYMBOLS)
        stream = AdsStream(f"ads://{ip}.1.1:851/q=GVL.q,tau=GVL.tau", backoff=QUICK)
        async with following(Sink(), stream) as follower:
            with running(handler, ip):
                await follower.connected()
                handler.state = 6
                await follower.until(lambda: len(follower.notices("connection")) > 1, "a loss")
                assert follower.notices("connection")[1].endswith("is in STOP, not in RUN")
                handler.state = 5
                await follower.connected(times=2)
                handler.ports_closed, handler.system = True, 15
                said = follower.notices
                await follower.until(lambda: "CONFIG mode" in said("connection")[-1], "CONFIG")
                handler.ports_closed = False
                await follower.connected(times=3)
                assert follower.live.counts.reconnects == 2

    asyncio.run(run())


def test_more_values_than_can_wait_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ads, "WAITING", 10)
    inlet = ads._Inlet()
    for stamp in range(14):
        inlet.put(ads._Value(0, stamp, b""))
    values, dropped = inlet.take()
    assert dropped == 5
    assert [value.stamp for value in values] == list(range(5, 14))
    assert inlet.take() == ([], 0)
    inlet.close()
    inlet.put(ads._Value(0, 1, b""))
    assert inlet.take() == ([], 0)
    assert Sink().take(Dropped(dropped))[0].text.startswith("5 messages were dropped")


def test_uneven_times_begin_new_batches() -> None:
    """Jitter is none of them; a step back, a pause and a drift are."""
    column = ads._Column("q", "GVL.q", "<f8", 3, 24, (0, 0))
    tau = ads._Column("tau", "GVL.tau", "<f8", 3, 24, (0, 1))
    rows = ads._Rows([column, tau], ads._Clock())
    ticks = [0, 5001, 9999, 15000, 20001, 30000, 35000, 20500, 25500, 28000, 33000]
    data = np.array([0.1, 0.2, 0.3]).tobytes()
    values = [ads._Value(i, BEGIN + t, data) for t in ticks for i in (0, 1)]
    short = ads._Value(1, BEGIN + 40000, bytes(8))
    broken, *messages = rows.take([short, *values])
    assert broken == Broken("GVL.tau came with 8 bytes; allowed: 24")
    made = [unpack(item) for item in messages]
    assert [len(batch) for batch in made] == [5, 2, 2, 2]
    assert [batch.t0 for batch in made] == pytest.approx([0.0, 3e-3, 2.05e-3, 2.8e-3])
    assert all(batch.sample_time == pytest.approx(5e-4) for batch in made)
    assert [batch.sequence for batch in made] == [0, 1, 2, 3]


def test_wrong_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, reason in (
        ("ads://5.1.2.3:851/GVL.b", "AMS Net ID is '5.1.2.3'; allowed: six numbers from 0 to 255"),
        ("ads://5.1.2.3.1.256:851/GVL.b", "AMS Net ID is '5.1.2.3.1.256'"),
        ("ads://5.1.2.3.1.1/GVL.b", "AMS port is None; allowed: 1 to 65535; 851 is the first PLC"),
        ("ads://5.1.2.3.1.1:99999/GVL.b", "address is .*; allowed: ads://AMSNETID:PORT/q=SYMBOL"),
        ("ads://5.1.2.3.1.1:851/", "symbols is ''"),
        ("ads://5.1.2.3.1.1:851/q=GVL.q", "symbols is 'q=GVL.q'; allowed: one for tau, as tau=GV"),
        ("ads://5.1.2.3.1.1:851/q=a,tau=b,qdd=c", "allowed: one for qd"),
        ("ads://5.1.2.3.1.1:851/q=a,q=b", "symbols is 'q=b'; allowed: q, qd, qdd, tau, holding"),
        ("ads://5.1.2.3.1.1:851/q=a+,tau=b", r"symbols is 'q=a\+'"),
        ("ads://5.1.2.3.1.1:851/b?cycle_ms=0", "cycle_ms is '0'; allowed: from 0.01 to 1000 ms"),
        ("ads://5.1.2.3.1.1:851/b?cycle_ms=fast", "cycle_ms is 'fast'"),
        ("ads://5.1.2.3.1.1:851/b?host=a", "option of the address is 'host'; allowed: ip or cyc"),
    ):
        with pytest.raises(InputError, match=reason):
            AdsStream(url)
    address = AdsAddress.parse("ads://5.1.2.3.1.1:851/tau=b,q=a[1]+a[2]+a[3]?ip=10.0.0.5")
    assert (address.ip, address.cycle) == ("10.0.0.5", 1.0)
    assert str(address) == "ads://5.1.2.3.1.1:851/q=a[1]+a[2]+a[3],tau=b"
    assert AdsAddress.parse("ads://5.1.2.3.1.1:851/b").ip == "5.1.2.3"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyads", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'deltadyn\[ads\]'"):
            AdsStream(address)

    def no_library(*_: object) -> Any:
        raise FileNotFoundError("TcAdsDll.dll")

    monkeypatch.setattr(ads, "extra_module", no_library)
    with pytest.raises(DeltadynError, match=r"needs TwinCAT's TcAdsDll\.dll beside pyads"):
        AdsStream(address)
