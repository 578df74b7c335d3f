"""The recording itself: shapes, slices, joins, summary, and files that give back the same."""

from __future__ import annotations

import dataclasses
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recording.recordings import clean, robot_of

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording import (
    Provenance,
    Recording,
    RecordingFileError,
    concatenate,
    read_recording,
    write_recording,
)
from deltadyn.recording.readers.text import parse_plain

N = 50
FORMATS = ("csv", "parquet")


def full(dof: int = 3, count: int = N, seed: int = 0) -> Recording:
    """A recording with every channel, of numbers with all their digits."""
    rng = np.random.default_rng(seed)

    def channel() -> npt.NDArray[np.float64]:
        return rng.standard_normal((count, dof))

    return Recording(
        t=0.1 + np.arange(count, dtype=np.float64) * 1e-3,
        q=channel(),
        tau=1e3 * channel(),
        current=channel(),
        q_command=channel(),
        qd=channel(),
        qdd=1e-7 * channel(),
        tau_command=channel(),
        p=channel(),
        temperature=25 + rng.standard_normal(count),
        payload=1.25,
        name="a run, with a comma",
        robot="sipro-d3-1200",
    )


def assert_same(one: Recording, two: Recording) -> None:
    assert list(one.channels()) == list(two.channels())
    for name, array in one.channels().items():
        np.testing.assert_array_equal(two.channels()[name], array, err_msg=name)
    assert (one.payload, one.name, one.robot) == (two.payload, two.name, two.robot)


def test_size_rate_and_duration() -> None:
    rec = full()
    assert len(rec) == N
    assert rec.dof == 3
    assert rec.sample_time == pytest.approx(1e-3)
    assert rec.duration == pytest.approx(0.049)
    assert repr(rec) == "Recording('a run, with a comma', 50 samples, dof 3)"
    assert math.isnan(full(count=1).sample_time)
    assert full(count=0).duration == 0


def test_the_sample_time_is_the_median() -> None:
    rec = full()
    t = rec.t.copy()
    t[10:] += 5.0
    assert rec.replace(t=t).sample_time == pytest.approx(1e-3)


def test_a_recording_cannot_be_changed() -> None:
    rec = full()
    with pytest.raises(dataclasses.FrozenInstanceError):
        rec.t = rec.t  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        rec.q[0, 0] = 1.0


def test_the_callers_array_stays_his_own() -> None:
    q = np.zeros((5, 3))
    Recording(np.arange(5.0), q, q)
    q[0, 0] = 1.0  # still writable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": np.zeros((5, 1))}, r"shape of t is \[5, 1\]; allowed: \(N,\)"),
        ({"q": np.zeros((N, 5))}, r"shape of q is \[50, 5\]; allowed: \(N, 2\), \(N, 3\) or"),
        ({"q": np.zeros(N)}, r"shape of q is \[50\]"),
        ({"tau": np.zeros((N, 4))}, r"shape of tau is \[50, 4\]; allowed: \(50, 3\)"),
        ({"qd": np.zeros((N - 1, 3))}, r"shape of qd is \[49, 3\]; allowed: \(50, 3\)"),
        ({"temperature": np.zeros(3)}, r"shape of temperature is \[3\]; allowed: \(50,\)"),
        ({"tau": [["a"] * 3] * N}, "tau is 'list'; allowed: an array of real numbers"),
        ({"payload": -1.0}, "payload is -1; allowed: a mass of at least 0 kg"),
        ({"payload": math.nan}, "payload is nan; allowed: a mass of at least 0 kg"),
        ({"payload": True}, "payload is True"),
        ({"name": 3}, "name is 3; allowed: a text"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        full().replace(**changes)


def test_rows_and_times() -> None:
    rec = full()
    part = rec.rows(10, 20)
    assert len(part) == 10
    assert part.t[0] == rec.t[10]
    assert part.temperature is not None
    assert len(part.temperature) == 10
    assert part.provenance.edits == ("rows 10 to 20 of 50, step 1",)
    assert len(rec.rows(-5)) == 5
    assert len(rec.rows(0, None, 10)) == 5
    inside = rec.between(0.1095, 0.1195)
    assert inside.t[0] == pytest.approx(0.110)
    assert inside.t[-1] == pytest.approx(0.119)
    assert len(rec.between(7.0, 8.0)) == 0
    with pytest.raises(InputError, match="stop is 1; allowed: above start, 2 s"):
        rec.between(2.0, 1.0)
    with pytest.raises(InputError, match="step is -1"):
        rec.rows(10, 0, -1)


def test_a_slice_is_a_view() -> None:
    rec = full()
    assert np.shares_memory(rec.rows(5, 20).q, rec.q)
    assert np.shares_memory(rec.between(0.11, 0.12).q, rec.q)


def test_between_finds_times_out_of_order() -> None:
    rec = full()
    shuffled = rec.take(np.random.default_rng(0).permutation(N), "shuffled")
    assert sorted(shuffled.between(0.11, 0.12).t) == list(rec.between(0.11, 0.12).t)


def test_concatenation_gives_back_the_whole() -> None:
    rec = full()
    whole = concatenate([rec.rows(0, 17), rec.rows(17, 18), rec.rows(18)])
    assert_same(rec, whole)
    assert "joined from" in whole.provenance.edits[-1]


def test_concatenation_refuses_what_does_not_fit() -> None:
    rec = full()
    with pytest.raises(InputError, match=r"t at recording 1, row 0 is 0\.11; allowed: above 0\.1"):
        concatenate([rec.rows(0, 20), rec.rows(10, 30)])
    with pytest.raises(InputError, match="they overlap"):
        concatenate([rec, rec])
    with pytest.raises(InputError, match="axes at recording 1 is 4; allowed: 3"):
        concatenate([rec, full(4)])
    later = rec.replace(t=rec.t + 1)
    with pytest.raises(InputError, match=r"channels at recording 1 is .*; allowed: .*as the first"):
        concatenate([rec, later.replace(qd=None)])
    with pytest.raises(InputError, match=r"payload at recording 1 is 2; allowed: 1\.25"):
        concatenate([rec, later.replace(payload=2.0)])
    with pytest.raises(InputError, match="robot at recording 1 is 'other'"):
        concatenate([rec, later.replace(robot="other")])
    with pytest.raises(InputError, match=r"recordings is .*; allowed: at least one recording"):
        concatenate([])


def test_summary_names_every_channel() -> None:
    text = full(4).summary()
    assert "50 samples, 0.049 s, 1000 Hz, 4 axes" in text
    assert "payload 1.25 kg" in text
    for word in ("q4", "tau4", "current1", "q1_command", "qdd3", "platform_psi", "temperature"):
        assert f"\n{word} " in text
    nan = full().replace(tau=np.full((N, 3), np.nan))
    assert "tau1            N m                 -           -          50" in nan.summary()
    assert "0 samples" in full(count=0).summary()


def test_provenance_text_lists_everything() -> None:
    origin = Provenance("log.csv", "ab12", "csv", notes=("a note",), repairs=("a repair",))
    text = origin.text()
    for word in ("log.csv", "ab12", "csv", "a note", "a repair"):
        assert word in text


def test_pickles() -> None:
    assert_same(full(), pickle.loads(pickle.dumps(full())))


# Files.


@pytest.mark.full
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("dof", [3, 4])
def test_a_file_gives_back_every_digit(tmp_path: Path, ending: str, dof: int) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    rec = full(dof)
    path = tmp_path / f"run.{ending}"
    rec.save(path)
    again = read_recording(path)
    assert_same(rec, again)
    assert again.provenance.sha256 is not None
    assert again.provenance.reader == ending
    assert again.provenance.ignored == ()


@pytest.mark.full
@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_gives_back_nan_and_infinity(tmp_path: Path, ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    tau = full().tau.copy()
    tau[3] = [np.nan, np.inf, -np.inf]
    tau[4] = [5e-324, 1.7976931348623157e308, -0.0]
    rec = full().replace(tau=tau)
    rec.save(tmp_path / f"run.{ending}")
    assert_same(rec, read_recording(tmp_path / f"run.{ending}"))


@pytest.mark.full
@pytest.mark.parametrize("ending", FORMATS)
def test_our_own_files_are_not_turned_twice(tmp_path: Path, ending: str) -> None:
    """They are in deltadyn's convention and say so; the controller's is not applied again."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    robot = robot_of("sipro-d3-1200")
    turned = robot.replace(controller=dataclasses.replace(robot.controller, sign=-1.0, offset=0.5))
    rec = full()
    rec.save(tmp_path / f"run.{ending}")
    assert_same(rec, read_recording(tmp_path / f"run.{ending}", robot=turned))
    asked = read_recording(tmp_path / f"run.{ending}", robot=turned, convention="controller")
    np.testing.assert_allclose(asked.q, turned.from_controller(rec.q))


def test_the_default_columns(tmp_path: Path) -> None:
    clean("example-delta-4").rows(0, 3).save(tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert lines[0] == "# convention: deltadyn"
    assert lines[3].startswith("t_s,q1_rad,q2_rad,q3_rad,psi_rad,tau1_Nm,tau2_Nm,tau3_Nm,tau4_Nm,")
    assert lines[3].endswith("qd4_rad_s,x_m,y_m,z_m,platform_psi_rad")


@pytest.mark.full
def test_units_stand_in_the_metadata_of_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    full().save(tmp_path / "run.parquet")
    schema = pyarrow.read_schema(tmp_path / "run.parquet")
    units = {field.name: field.metadata[b"unit"].decode() for field in schema}
    assert units["t_s"] == "s"
    assert units["q1_rad"] == "rad"
    assert units["tau3_Nm"] == "Nm"
    assert units["qd2_rad_s"] == "rad/s"
    assert units["qdd2_rad_s2"] == "rad/s^2"
    assert units["temperature_degC"] == "degC"
    assert schema.metadata[b"deltadyn.payload_kg"] == b"1.25"


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    full().save(path)
    before = path.read_bytes()
    broken = full()
    object.__setattr__(broken, "tau", np.zeros((3, 3)))  # fails while it is written
    with pytest.raises(ValueError, match="zip"):
        broken.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError, match="cannot be written: No such file or directory"):
        full().save(tmp_path / "no folder" / "run.csv")
    with pytest.raises(UnknownNameError, match="format is 'xlsx'; allowed: one of 'csv'"):
        write_recording(full(), tmp_path / "run.xlsx", format="xlsx")


# The fast parser reads exactly what Python reads, or leaves it.

CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e4, 1e4).map(lambda x: f"{x:.9g}"),
    st.floats(-1e4, 1e4).map(lambda x: f"{x:.6e}"),
    st.integers(-(10**18), 10**18).map(str),
    st.text("0123456789.eE+-", min_size=1, max_size=8),
)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6))
def test_the_fast_parser_is_exact_or_silent(rows: list[tuple[str, str, str]]) -> None:
    text = "".join(",".join(row) + "\n" for row in rows).encode()
    block = parse_plain(text, b",", 3, [0, 1, 2])
    if block is not None:
        wanted = [[float(cell) for cell in row] for row in rows]  # raises for what is no number
        np.testing.assert_array_equal(block.T, wanted)


@given(st.lists(st.tuples(CELL, CELL, CELL, CELL), min_size=1, max_size=6), st.data())
def test_the_fast_parser_takes_the_right_columns(
    rows: list[tuple[str, ...]], data: st.DataObject
) -> None:
    used = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True).map(sorted))
    text = "".join(";".join(row) + "\n" for row in rows).encode()
    block = parse_plain(text, b";", 4, used)
    if block is not None:
        wanted = [[float(row[index]) for index in used] for row in rows]
        np.testing.assert_array_equal(block.T, wanted)


@pytest.mark.parametrize(
    "cell",
    ["", "1-5", "1.2.3", "1e", "e5", "--1", "1e5e5", "0x1", "1 5", ".", "-", "1_0"],
)
def test_the_fast_parser_leaves_what_is_no_number(cell: str) -> None:
    assert parse_plain(f"1,2\n{cell},4\n".encode(), b",", 2, [0, 1]) is None


@pytest.mark.parametrize("cell", ["1.", ".5", "-.5", "1e5", "1E-5", "1.e+05", "007", "-0.0"])
def test_the_fast_parser_knows_every_plain_number(cell: str) -> None:
    block = parse_plain(f"1,2\n{cell},4\n".encode(), b",", 2, [0, 1])
    assert block is not None
    assert block[0, 1] == float(cell)


def test_the_fast_parser_refuses_ragged_lines() -> None:
    for text in (b"1,2\n3\n4,5,6\n", b"1,2,3\n4\n", b"1,2\n3,4,5,6\n", b"1\n2\n"):
        assert parse_plain(text, b",", 2, [0, 1]) is None
        assert parse_plain(text, b",", 2, [1]) is None
