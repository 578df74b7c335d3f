"""Messages: batches there and back, whatever a wire brings, and the layout in the documentation."""

from __future__ import annotations

import json
import math
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.payload.cases import case

from deltadyn.errors import InputError
from deltadyn.streams.packing import HEADER, KEYS, Batch, MalformedError, batches_of, pack, unpack

DOCS = Path(__file__).resolve().parents[2] / "docs" / "live.md"


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Any batch that is one."""
    shape = (draw(st.integers(1, 5)), draw(st.sampled_from([2, 3, 4])))
    values = arrays(np.float64, shape, elements=st.floats(-1e6, 1e6))
    rates = draw(st.integers(0, 2))
    return Batch(
        draw(st.floats(-1e9, 1e9)),
        draw(st.floats(1e-5, 1.0)),
        draw(values),
        draw(values),
        draw(values) if rates else None,
        draw(values) if rates == 2 else None,
        draw(st.none() | arrays(np.bool_, shape[:1])),
        draw(st.integers(0, 2**32 - 1)),
    )


def small(**changes: Any) -> Batch:
    """Two samples of a 3-DOF robot."""
    rows = np.arange(6.0).reshape(2, 3)
    return Batch(**{"t0": 1.5, "sample_time": 5e-4, "q": rows, "tau": -rows, **changes})


def same(a: Batch, b: Batch) -> None:
    """Both hold the same numbers."""
    for name in ("t0", "sample_time", "sequence"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("q", "qd", "qdd", "tau", "holding"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_array_equal(x, y)


@given(batches())
def test_packed_there_and_back(batch: Batch) -> None:
    same(unpack(pack(batch)), batch)


@given(batches())
def test_json_there_and_back(batch: Batch) -> None:
    record = {name: getattr(batch, name) for name in KEYS if name != "t"}
    record = {name: x.tolist() if hasattr(x, "tolist") else x for name, x in record.items()}
    same(unpack(json.dumps({"t": batch.t0, **record})), batch)


def test_float32_is_shorter_and_rounded() -> None:
    batch = small(q=np.full((2, 3), 0.1))
    found = unpack(pack(batch, single=True))
    assert len(pack(batch, single=True)) == 32 + 2 * 6 * 4
    np.testing.assert_array_equal(found.q, np.float32(0.1))
    assert found.sample_time == 5e-4  # the header is float64 in both


def test_layout() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    message = pack(small(qd=rows, qdd=rows, holding=[False, True], sequence=7))
    assert message[:32] == struct.pack("<4s4B2I2d", b"DDYN", 1, 3, 14, 0, 7, 2, 1.5, 5e-4)
    first = [0.0, 1.0, 2.0] * 3 + [-0.0, -1.0, -2.0, 0.0]
    assert message[32:136] == struct.pack("<13d", *first)
    assert HEADER.size == 32


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compile the documented struct")
def test_the_documented_struct_is_that_layout(tmp_path: Path) -> None:
    """The C code of docs/live.md, compiled, writes a batch that is read back."""
    code = DOCS.read_text("utf-8").partition("```c\n")[2].partition("```")[0]
    main = """
    #include <stdio.h>
    int main(void) {
        deltadyn_batch b = {{{'D', 'D', 'Y', 'N'}, 1, 3, 0, 0, 41, 100, 12.5, 0.0005}, {{{0}}}};
        for (int k = 0; k < 100; k++)
            for (int i = 0; i < 3; i++) { b.rows[k].q[i] = k + 0.25 * i; b.rows[k].tau[i] = -k; }
        return fwrite(&b, sizeof b, 1, stdout) != 1;
    }
    """
    (tmp_path / "send.c").write_text(code + main, "utf-8")
    program = tmp_path / "send"
    subprocess.run(["gcc", "-std=c11", "-o", program, tmp_path / "send.c"], check=True)
    batch = unpack(subprocess.run([program], capture_output=True, check=True).stdout)
    assert (batch.sequence, batch.t0, batch.sample_time, len(batch)) == (41, 12.5, 5e-4, 100)
    np.testing.assert_array_equal(batch.q, np.arange(100)[:, None] + 0.25 * np.arange(3))
    np.testing.assert_array_equal(batch.tau, -np.tile(np.arange(100.0)[:, None], (1, 3)))


# whatever comes


def malformed(message: object) -> str:
    """What is said of a message that is no batch."""
    with pytest.raises(MalformedError) as caught:
        unpack(message)
    assert "; allowed: " in str(caught.value)
    return str(caught.value)


def sound_or_malformed(message: object) -> None:
    """A message gives finite values and times, or a MalformedError; nothing else."""
    try:
        found = unpack(message)
    except MalformedError:
        return
    assert np.isfinite(np.column_stack([found.t, found.q, found.tau])).all()


@given(st.binary(max_size=200))
def test_random_bytes_are_malformed(data: bytes) -> None:
    malformed(data)  # none of them is a batch: the magic alone is one of 4e9


@given(st.binary(min_size=24, max_size=24), st.binary(max_size=120))
def test_random_bytes_after_the_magic_never_crash(head: bytes, rows: bytes) -> None:
    sound_or_malformed(b"DDYN\1\3" + head + rows)


@given(batches(), st.data())
def test_a_damaged_batch_never_crashes(batch: Batch, data: st.DataObject) -> None:
    message = bytearray(pack(batch))
    for _ in range(data.draw(st.integers(1, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    del message[data.draw(st.integers(1, len(message))) :]
    sound_or_malformed(bytes(message))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@pytest.mark.full
@given(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON)
def test_random_json_never_crashes(value: object) -> None:
    sound_or_malformed(json.dumps(value))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m[:20], "length is 20; allowed: at least the header's 32 bytes"),
        (lambda m: b"XDYN" + m[4:], "magic is b'XDYN'; allowed: b'DDYN', or JSON that begins"),
        (lambda m: m[:4] + b"\2" + m[5:], "version is 2; allowed: 1"),
        (lambda m: m[:5] + b"\6" + m[6:], "dof is 6; allowed: 2, 3 or 4"),
        (lambda m: m[:6] + b"\x10" + m[7:], "flags is 16; allowed: 0 to 15"),
        (lambda m: m[:7] + b"\1" + m[8:], "reserved is 1; allowed: 0"),
        (lambda m: m[:12] + bytes(4) + m[16:], "count is 0; allowed: 1 to 65536"),
        (lambda m: m + b"\0", "length is 129; allowed: 128 bytes for 2 samples of 6 float64"),
        (lambda m: m[:16] + struct.pack("<d", math.inf) + m[24:], "t is inf; allowed: a finite"),
        (lambda m: m[:24] + bytes(8) + m[32:], "sample_time is 0; allowed: above 0 s"),
        (
            lambda m: m[:40] + struct.pack("<d", math.nan) + m[48:],
            "q at row 0, axis 2 is nan; allowed: a number within 1e+06",
        ),
        (
            lambda m: m[:-8] + struct.pack("<d", 2e6),
            "tau at row 1, axis 3 is 2e+06; allowed: a number within 1e+06",
        ),
        (
            lambda m: m[:16] + struct.pack("<d", 1e15) + m[24:],
            "t is 1e+15; allowed: near enough to 0 to count steps of 0.0005 s",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_a_damaged_batch(edit: Any, message: str) -> None:
    assert message in malformed(edit(pack(small())))


def test_a_gripper_says_0_or_1() -> None:
    message = pack(small(holding=[True, False]))
    wrong = message[:-8] + struct.pack("<d", 0.5)
    assert malformed(wrong) == "holding at row 1 is 0.5; allowed: 0 or 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "message is '{'; allowed: JSON"),
        ("[1]", "message is 'list'; allowed: a JSON object with t, q and tau"),
        ('{"q": [1, 2, 3], "tau": [1, 2, 3]}', "t is None; allowed: given in every message"),
        ('{"t": 0, "q": [1, 2, 3], "torque": []}', "key is 'torque'; allowed: one of t, q, tau"),
        ('{"t": 0, "q": [1], "tau": [1]}', "shape of q is [1, 1]; allowed: samples of 2, 3 or"),
        (
            '{"t": 0, "q": [], "tau": []}',
            "shape of q is [1, 0]; allowed: samples of 2, 3 or 4 axes",
        ),
        (
            '{"t": 0, "q": [1, 2, 3], "tau": [1, 2, 3, 4]}',
            "shape of tau is [1, 4]; allowed: [1, 3], as q has",
        ),
        (
            '{"t": 0, "q": [1, "2", 3], "tau": [1, 2, 3]}',
            "q at row 0, axis 2 is '2'; allowed: a number",
        ),
        (
            '{"t": 0, "q": [[1, 2, 3], [1, 2]], "tau": 1}',
            "q at row 1 is [1, 2]; allowed: numbers, one per axis",
        ),
        ('{"t": "now", "q": [1, 2, 3], "tau": [1, 2, 3]}', "t is 'now'; allowed: a number of s"),
        (
            '{"t": 0, "q": [1, 2, 3], "tau": [1, 2, 3], "qdd": [1, 2, 3]}',
            "qd is None; allowed: the rates, where accelerations are given",
        ),
        (
            '{"t": 0, "q": [1, 2, 3], "tau": [1, 2, 3], "sequence": -1}',
            "sequence is -1; allowed: a whole number from 0 to 2**32 - 1",
        ),
        (
            '{"t": 0, "q": [1, 2, 3], "tau": [1, 2, 3], "holding": "yes"}',
            "holding at row 0 is 'yes'; allowed: true or false",
        ),
        (
            '{"t": 0, "q": [1, 2, 3], "tau": [1, 2, 3], "holding": [true, true]}',
            "holding is [2]; allowed: 1 values, one a sample",
        ),
        (
            '{"t": 0, "q": [[1, 2, 3], [1, 2, 3]], "tau": [[1, 2, 3], [1, 2, 3]]}',
            "sample_time is 0; allowed: above 0 s",
        ),
    ],
)
def test_what_is_said_of_wrong_json(text: str, message: str) -> None:
    assert message in malformed(text)
    if text.startswith("{"):  # as bytes, anything else is taken for a packed batch
        assert message in malformed(text.encode())


def test_other_things_are_no_messages() -> None:
    assert malformed(None) == "message is 'NoneType'; allowed: bytes, or text with JSON"
    assert "message is 'float'" in malformed(1.5)
    assert "length is 0" in malformed(b"")
    assert len(malformed("{" + "x" * 10_000)) < 300  # long messages are not printed whole


def test_a_recording_as_batches() -> None:
    recording = case(2, rates=True).recording
    parts = list(batches_of(recording, 300))
    assert [part.sequence for part in parts] == list(range(len(parts)))
    for name in ("t", "q", "qd", "qdd", "tau"):
        whole = np.concatenate([getattr(part, name) for part in parts])
        # times are counted within a batch: a rounding of 5 s
        np.testing.assert_allclose(whole, getattr(recording, name), rtol=0, atol=1e-12)
    with pytest.raises(InputError, match="size is 0; allowed: a whole number from 1 to 65536"):
        next(batches_of(recording, 0))
