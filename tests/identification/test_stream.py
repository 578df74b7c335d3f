"""Logs that are read in pieces: the same information as in one piece, and what is refused."""

import gzip
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.identification.motions import recording_of
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.commands import common
from deltadyn.errors import InputError
from deltadyn.identification import identify, loading
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Loaded, in_memory
from deltadyn.identification.options import Preparation
from deltadyn.recording import ReadOptions, Recording, read_recording
from deltadyn.recording.prepare import stream
from deltadyn.recording.prepare.data import prepared_parts
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.4, coulomb=1.2, smoothing=0.02)


@pytest.fixture(scope="module")
def log(robot: Robot) -> Recording:
    """4000 samples, 8 s, with rates."""
    return recording_of(robot, noise=0.2, seed=3, name="log")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads and parts that are short beside the log."""
    monkeypatch.setattr(stream, "HEAD", 1200)
    monkeypatch.setattr(loading, "CHUNK", 900)


def cut(log: Recording, size: int) -> list[Recording]:
    return [log.rows(start, start + size) for start in range(0, len(log), size)]


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def bare(log: Recording) -> Recording:
    return log.replace(qd=None, qdd=None)


def assert_same(found: Information, want: Information, rtol: float = 1e-10) -> None:
    """Equal blocks; sums of squares are equal up to their rounding."""
    np.testing.assert_array_equal(found.rows, want.rows)
    np.testing.assert_allclose(found.seconds, want.seconds, rtol=1e-9)
    scale = np.abs(want.factors).max()
    np.testing.assert_allclose(np.abs(found.factors), np.abs(want.factors), atol=rtol * scale)


@pytest.mark.parametrize("size", [37, 500, 901, 3999, 4000])
@pytest.mark.parametrize("band", [None, 40.0])
def test_chunks_of_any_size_give_the_same_information(
    robot: Robot, log: Recording, size: int, band: float | None
) -> None:
    want = Loaded(robot, log, Preparation(band)).information("exact")
    found = Loaded(robot, Streamed(robot, cut(log, size)), Preparation(band)).information("exact")
    assert_same(found, want)
    assert found.recordings == ("log",)


@pytest.mark.parametrize("size", [60, 700, 4000])
def test_estimated_rates_lose_nothing_at_borders(robot: Robot, log: Recording, size: int) -> None:
    plain = bare(log)
    want = Loaded(robot, plain, Preparation(40.0, bandwidth=60.0)).information("exact")
    found = Loaded(robot, Streamed(robot, cut(plain, size)), Preparation(40.0, bandwidth=60.0))
    # a part's smoother starts twenty periods before it, at the same sample in both
    assert_same(found.information("exact"), want)


def test_parts_equal_those_of_one_smoother_run(robot: Robot, log: Recording) -> None:
    plain = bare(log)
    (whole,) = prepared_parts(robot, plain, bandwidth=60.0, size=None)
    parts = Streamed(robot, cut(plain, 333)).parts(bandwidth=60.0, size=700)
    joined = np.concatenate([make().state.qdd for make in parts])
    # the smoother has forgotten its start after twenty periods of its bandwidth
    np.testing.assert_allclose(joined, whole.state.qdd, atol=1e-9 * np.abs(joined).max())


@pytest.mark.parametrize("size", [37, 800, 1000])
def test_gaps_and_dropped_rows_are_met_alike(robot: Robot, log: Recording, size: int) -> None:
    keep = np.ones(len(log), dtype=bool)
    keep[np.random.default_rng(2).choice(len(log), 40, replace=False)] = False
    keep[1000:1100] = keep[2500:2600] = keep[2605:2700] = False  # five samples stand alone
    gappy = bare(log).take(np.flatnonzero(keep), "gaps")
    want = Loaded(robot, gappy, Preparation(40.0, bandwidth=60.0)).information("exact")
    chunks = Streamed(robot, cut(gappy, size))
    assert_same(Loaded(robot, chunks, Preparation(40.0, bandwidth=60.0)).information("exact"), want)


def test_band_and_bandwidth_do_not_depend_on_the_chunks(robot: Robot, log: Recording) -> None:
    plain = bare(log)
    found = [Loaded(robot, Streamed(robot, cut(plain, size))) for size in (37, 500, 4000)]
    want = found[0].information("exact")
    assert found[0].band is not None
    for other in found[1:]:
        assert other.band == found[0].band
        assert_same(other.information("exact"), want)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("head", [1200, 10_000])
def test_a_file_is_fitted_as_its_recording(
    robot: Robot,
    log: Recording,
    tmp_path: Path,
    ending: str,
    head: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "HEAD", head)
    path = tmp_path / f"log.{ending}"
    log.replace(payload=0.5).save(path)
    want = identify(robot, read_recording(path, robot), "base", band=40.0)
    plain = identify(robot, read_recording(path, robot), "base", band=40.0, terms="file")
    short = Streamed(robot, path, rows=700)
    assert (short.whole is not None) == (head > len(log))
    for given in (path, str(path), [path], short):
        same = identify(robot, given, "base", band=40.0, terms="file")
        np.testing.assert_allclose(same.values, plain.values, rtol=1e-9)
        np.testing.assert_allclose(same.std, plain.std, rtol=1e-6)
        fit = identify(robot, given, "base", band=40.0)
        # Terms' columns are differences over small steps: 1e-13 of the sample rate shows here.
        assert np.all(np.abs(fit.values - want.values) < 1e-3 * want.std)
        np.testing.assert_allclose(fit.std, want.std, rtol=1e-3)
        (source,) = fit.data
        assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (source.name, source.file, source.samples) == ("log", str(path), len(log))
        assert source.duration == pytest.approx(log.duration)
        assert source.payload == 0.5
        assert fit.excerpt is not None


def test_options_of_the_reader_are_passed_on(robot: Robot, log: Recording, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log.save(path)
    named = Streamed(robot, path, name="mine", payload=1.5, separator=",")
    assert (named.name, named.payload) == ("mine", 1.5)
    chunks = Streamed(robot, cut(log, 1000), name="mine", payload=1.5)
    assert (chunks.name, chunks.payload, chunks.source.name) == ("mine", 1.5, "mine")


def test_files_and_recordings_go_together(robot: Robot, log: Recording, tmp_path: Path) -> None:
    log.save(tmp_path / "a.csv")
    other = recording_of(robot, noise=0.2, seed=4, name="other")
    fit = identify(robot, [str(tmp_path / "a.csv"), other], "base", band=None)
    want = identify(robot, [log, other], "base", band=None)
    np.testing.assert_allclose(fit.values, want.values, rtol=1e-9)
    assert [source.name for source in fit.data] == ["log", "other"]


def test_the_checksum_of_chunks_is_that_of_their_rows(robot: Robot, log: Recording) -> None:
    sums = {Streamed(robot, cut(log, size)).source.sha256 for size in (100, 999, 4000)}
    assert len(sums) == 1


def test_an_iterator_is_read_once(robot: Robot, log: Recording) -> None:
    def pieces() -> Iterator[Recording]:
        yield from cut(log, 400)

    want = identify(robot, log, "base", band=None)
    fit = identify(robot, Streamed(robot, pieces()), "base", band=None)
    np.testing.assert_allclose(fit.values, want.values, rtol=1e-9)
    assert fit.data[0].samples == len(log)
    with pytest.raises(InputError, match=r"chunks of 'log' is 'read already'; allowed: a list, a"):
        identify(robot, Streamed(robot, pieces()), "robust", band=None)
    again = identify(robot, Streamed(robot, pieces), "robust", band=None)
    assert again.converged


def test_wrong_chunks_are_refused(robot: Robot, log: Recording) -> None:
    a, b, c, d = cut(log, 1000)

    def read(*chunks: object) -> None:
        for _ in Streamed(robot, list(chunks)).pieces():  # type: ignore[arg-type]
            pass

    with pytest.raises(InputError, match=r"t at 'log', row 2000 is 2; allowed: above its predec"):
        read(a, c.replace(t=c.t - 2.002), b, d)
    with pytest.raises(
        InputError, match=r"t at 'log', row 2000 is 2; .* 5\.998 s; repair='decreasing-time' sorts"
    ):
        read(a, c, b, d)
    with pytest.raises(InputError, match=r"t at 'log', row 1000 is 0; allowed: above .* 1\.998 s"):
        read(a, a)
    bad = c.tau.copy()
    bad[5, 2] = np.nan
    with pytest.raises(
        InputError, match=r"tau at 'log', row 2005 \(t 4\.01 s\), axis 3 is nan; .*repair"
    ):
        read(a, b, c.replace(tau=bad))
    with pytest.raises(InputError, match=r"channels at 'log', row 1000 is \['q', 't', 'tau'\]"):
        read(a, bare(b))
    with pytest.raises(InputError, match=r"payload at 'log', row 1000 is 2; allowed: None, as"):
        read(a, b.replace(payload=2.0))
    with pytest.raises(InputError, match=r"chunks is 'str'; allowed: recordings"):
        read("log.csv")
    with pytest.raises(InputError, match=r"chunks is 0; allowed: at least one recording with sam"):
        read()
    with pytest.raises(InputError, match=r"source is 'int'; allowed: a path, recordings, or"):
        Streamed(robot, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"options is \['separator'\]; allowed: none"):
        Streamed(robot, [log], separator=";")
    with pytest.raises(InputError, match=r"axes of the recording at 'log' is 3; allowed: 4, as"):
        Streamed(dd.load_robot("abb-irb360-6-1600"), [log])
    still = log.replace(q=np.broadcast_to(log.q[0], log.q.shape))
    with pytest.raises(InputError, match=r"travel of the axes \(rad\) at 'log' is \[0, 0, 0\]"):
        Loaded(robot, Streamed(robot, cut(still, 500)), Preparation(check=False))
    with pytest.raises(InputError, match=r"recording 'log' is 'torque sign'"):
        identify(robot, Streamed(robot, cut(log.replace(tau=-log.tau), 1500)))


def test_what_was_fitted_is_no_validation(robot: Robot, log: Recording, tmp_path: Path) -> None:
    path, other = tmp_path / "log.csv", tmp_path / "other.csv"
    log.save(path)
    recording_of(robot, noise=0.2, seed=5, name="other").save(other)
    read = read_recording(path, robot)
    chunks = Streamed(robot, cut(log, 700))
    identify(robot, path, "base", band=None, validation=[other, read_recording(other, robot)])
    for given, held_out in (
        (path, read),
        (path, path),
        (read, str(path)),
        (chunks, read),
        (chunks, Streamed(robot, cut(log, 400))),
    ):
        with pytest.raises(InputError, match=r"validation is '.*log.*'; .* these very samples"):
            identify(robot, given, "base", band=None, validation=held_out)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match=r"validation is '.*copy\.csv'; .* these very samples"):
        identify(robot, path, "base", band=None, validation=copy)


def test_methods_that_want_whole_recordings_get_them(tmp_path: Path) -> None:
    robot = dd.load_robot("telescopic-delta")
    legs = recording_of(robot, name="legs")
    legs.save(tmp_path / "legs.csv")
    whole = in_memory(robot, [tmp_path / "legs.csv", Streamed(robot, cut(legs, 900)), legs])
    assert [len(item) for item in whole] == [len(legs)] * 3
    np.testing.assert_array_equal(whole[0].q, legs.q)
    with pytest.raises(InputError, match=r"recordings is 1; allowed: two"):
        identify(robot, tmp_path / "legs.csv", "two-step")


def test_a_bar_shows_how_far_a_log_was_read(
    robot: Robot, log: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = Loaded(robot, Streamed(robot, cut(log, 1000)), Preparation(band=None), progress=True)
    loaded.information("exact")
    assert "reading log" in capsys.readouterr().err
    Loaded(robot, Streamed(robot, cut(log, 1000)), Preparation(band=None)).information("exact")
    assert capsys.readouterr().err == ""


def test_wrong_data_have_their_message(robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"recordings is 'none'; allowed: at least one"):
        identify(robot, [])
    with pytest.raises(InputError, match=r"recordings is 'int'; allowed: recordings"):
        identify(robot, [3])  # type: ignore[list-item]
    with pytest.raises(dd.DeltadynError, match=r"no\.csv"):
        identify(robot, str(tmp_path / "no.csv"))


def test_stretches_of_a_text_file_are_read_by_themselves(
    robot: Robot, log: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    plain = bare(log).replace(payload=0.5)
    plain.save(path)
    asked = Preparation(40.0, bandwidth=60.0)
    loaded = Loaded(robot, path, asked)
    monkeypatch.setattr(Streamed, "pieces", None)  # nothing but the stretches is read
    parts, share = loaded.stretches(samples=1200, length=300)
    assert len(parts) == 4
    assert share == pytest.approx(1200 / len(log), rel=0.03)  # rows have a few bytes more or less
    (whole,) = prepared_parts(robot, plain, bandwidth=60.0, size=None)
    starts = [int(np.searchsorted(plain.t, part.t[0] - 1e-9)) for part in parts]
    assert np.all(np.diff(starts) > 500)  # spread over the log
    for part, start in zip(parts, starts, strict=True):
        rows = slice(start, start + 300)
        assert (part.band, part.extra) == (40.0, whole.extra)
        np.testing.assert_allclose(part.t, plain.t[rows], atol=1e-12)
        np.testing.assert_allclose(part.tau, plain.tau[rows], atol=1e-12)
        want = whole.state.qdd[rows]
        # the smoother has forgotten its start after twenty periods of its bandwidth
        np.testing.assert_allclose(part.state.qdd, want, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("case", ["gzip", "gap", "hole", "chunks"])
def test_other_logs_are_read_once_for_their_stretches(
    robot: Robot, log: Recording, tmp_path: Path, case: str
) -> None:
    """Packed, with gaps in a stretch, with a value that is refused, or no file at all."""
    path = tmp_path / ("log.csv.gz" if case == "gzip" else "log.csv")
    plain = bare(log)
    if case == "gap":
        plain = plain.take(np.flatnonzero(np.arange(len(log)) % 250 > 20), "gaps")
    if case == "hole":
        tau = plain.tau.copy()
        tau[1500:1600] = np.nan
        plain = plain.replace(tau=tau)
    if case == "gzip":
        plain.save(tmp_path / "log.csv")
        path.write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    else:
        plain.save(path)
    if case == "chunks":
        given = Streamed(robot, cut(plain, 700))
    else:
        given = Streamed(robot, path, rows=700)
    loaded = Loaded(robot, given, Preparation(40.0, bandwidth=60.0))
    if case == "hole":  # the whole file is read, which names the row
        with pytest.raises(InputError, match="row 1500"):
            loaded.stretches(samples=1200, length=300)
        return
    parts, share = loaded.stretches(samples=1200, length=300)
    assert sum(map(len, parts)) <= 1200
    assert 0 < share < 0.6


def test_a_file_is_read_ahead_within_its_bound(log: Recording) -> None:
    """The thread stops at the bound, goes on as pieces are taken, and ends when nobody asks."""
    read: list[int] = []

    def pieces() -> Iterator[Recording]:
        for number, piece in enumerate(cut(log, 100)):
            read.append(number)
            yield piece

    before = threading.active_count()
    size = sum(array.nbytes for array in log.rows(0, 100).channels().values())
    ahead = stream.read_ahead(pieces(), 300, 4 * size)
    taken = [next(ahead) for _ in range(3)]
    wait_until(lambda: len(read) == 3 + 4)  # the head, and four pieces
    taken += [next(ahead) for _ in range(2)]
    wait_until(lambda: len(read) == 3 + 2 + 4)
    assert [float(piece.t[0]) for piece in taken] == log.t[:500:100].tolist()
    ahead.close()  # type: ignore[attr-defined]
    wait_until(lambda: threading.active_count() == before)
    assert len(read) == 3 + 2 + 4
    whole = list(stream.read_ahead(iter(cut(log, 100)), 300, 4 * size))
    np.testing.assert_array_equal(np.concatenate([piece.t for piece in whole]), log.t)


def test_an_error_far_in_a_file_is_raised_in_its_place(
    robot: Robot, log: Recording, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    bare(log).save(path)
    lines = path.read_text().splitlines()
    lines[-20] = lines[-20].replace(".", "x", 1)
    path.write_text("\n".join(lines) + "\n")
    streamed = Streamed(robot, path, rows=500)
    assert len(streamed.head) == 1200
    with pytest.raises(InputError, match=f"line {len(lines) - 19}"):
        list(streamed.pieces())


def test_the_checksum_of_a_file_of_whole_pieces_needs_no_second_reading(
    robot: Robot, log: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    bare(log).save(path)
    monkeypatch.setattr(stream, "file_digest", lambda path: pytest.fail("read again"))
    found = Streamed(robot, path, rows=500)
    assert found.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_commands_read_long_logs_in_pieces(
    robot: Robot, log: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(tmp_path / name) for name in ("short.csv", "long.csv")]
    log.rows(0, 100).save(paths[0])
    log.save(paths[1])
    monkeypatch.setattr(common, "LONG", Path(paths[0]).stat().st_size)
    short, long = common.logs_to_fit(robot, paths, 0.5, ReadOptions())
    assert isinstance(short, Recording)
    assert isinstance(long, Streamed)
    assert (short.payload, long.payload) == (0.5, 0.5)
    assert long.source.samples == len(log)
