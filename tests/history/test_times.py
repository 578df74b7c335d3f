"""Times of a history: instants in UTC, local times of a zone, ages, and the dates of logs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from tests.history.samples import ROBOT, log

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.history.logs import Night
from deltadyn.history.times import before, edge, local, moment, restored, stored


def test_instants() -> None:
    two = datetime(2026, 5, 3, 0, 0, tzinfo=UTC)
    assert moment("2026-05-03T02:00:00+02:00") == two
    assert moment("2026-05-03 02:00", "Europe/Berlin") == two
    assert moment("2026-05-03T02:00:00+02:00", "Asia/Tokyo") == two  # its own offset holds
    assert local(two, "Asia/Tokyo") == "2026-05-03 09:00:00+09:00"
    assert restored(stored(two)) == two
    assert stored(two) < stored(two.replace(microsecond=1))
    assert edge("2026-05-03", "Europe/Berlin", "start") == datetime(2026, 5, 2, 22, tzinfo=UTC)
    assert edge(date(2026, 5, 3), None, "start") == two
    assert edge(None, None, "start") is None


def test_local_times_that_clocks_skip_or_show_twice_are_refused() -> None:
    with pytest.raises(InputError, match=r"2026-03-29 02:30:00'; allowed: a time that exists"):
        moment("2026-03-29T02:30:00", "Europe/Berlin")
    twice = r"one of the two: 2026-10-25T02:30:00\+02:00 or 2026-10-25T02:30:00\+01:00"
    with pytest.raises(InputError, match=twice):
        moment("2026-10-25T02:30:00", "Europe/Berlin")
    found = moment("2026-10-25T02:30:00+01:00", "Europe/Berlin")
    assert found == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-05-03T02:00:00", None),  # local to nobody knows where
        ("2026-05-03", "UTC"),  # a day has 24 hours
        ("tonight", "UTC"),
        ("2026-13-03T02:00:00", "UTC"),
        ("2026-05-03T02:00:00", "Europe/Nowhere"),
        ("2026-05-03T02:00:00", "../../etc/passwd"),
        ("2026-05-03T02:00:00", "Europe"),
        ("0001-01-01T00:00:00", "Asia/Tokyo"),
        ("0001-01-01T00:00:00+05:00", None),
    ],
)
def test_times_that_nobody_can_know(text: str, zone: str | None) -> None:
    with pytest.raises(InputError, match=r"(time|zone) is .*; allowed: "):
        moment(text, zone)


def test_ages() -> None:
    now = datetime(2028, 2, 29, 12, tzinfo=UTC)
    assert before("2y", now) == datetime(2026, 2, 28, 12, tzinfo=UTC)
    assert before("4y", now) == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert before("3mo", now) == datetime(2027, 11, 29, 12, tzinfo=UTC)
    assert before("2w", now) == datetime(2028, 2, 15, 12, tzinfo=UTC)
    assert before("36h", now) == datetime(2028, 2, 28, 0, tzinfo=UTC)
    for text in ("2", "y", "-2y", "2 years", "9999y", "1e3d"):
        with pytest.raises(InputError, match="age is "):
            before(text, now)


def with_times(path: Path, times: list[str]) -> Path:
    """A short log whose first column holds these texts."""
    own = log().rows(0, len(times))
    lines = ["time,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm"]
    for text, q, tau in zip(times, own.q, own.tau, strict=True):
        lines.append(",".join([text, *map(repr, [*q.tolist(), *tau.tolist()])]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_tells_when_it_was_recorded(tmp_path: Path) -> None:
    stamps = [f"2026-05-03T02:00:00.{k:03d}" for k in range(0, 40, 2)]
    plain = dd.read_recording(with_times(tmp_path / "plain.csv", stamps), ROBOT)
    assert plain.provenance.start == "2026-05-03T02:00:00"
    assert Night(plain).recorded == datetime(2026, 5, 3, 2)  # in whose zone, the file does not say
    assert Night(plain.rows(5)).recorded == datetime(2026, 5, 3, 2, 0, 0, 10_000)
    utc = with_times(tmp_path / "utc.csv", [f"{text}Z" for text in stamps])
    assert Night.of(ROBOT, utc).recorded == datetime(2026, 5, 3, 2, tzinfo=UTC)
    epoch = with_times(tmp_path / "epoch.csv", [repr(1_777_773_600 + k / 500) for k in range(20)])
    text = epoch.read_text().replace("time,", "t_s,")
    epoch.write_text(text)
    assert Night.of(ROBOT, epoch).recorded == datetime(2026, 5, 3, 2, tzinfo=UTC)
    of_day = [f"02:00:00.{k:03d}" for k in range(0, 40, 2)]
    for title, texts in (("time", of_day), ("t_s", [repr(k / 500) for k in range(20)])):
        path = with_times(tmp_path / "bare.csv", texts)
        path.write_text(path.read_text().replace("time,", f"{title},"))
        with pytest.raises(InputError, match="time at log 'bare' is None; allowed: given with"):
            _ = Night.of(ROBOT, path).recorded


def test_temperature_is_the_mean_of_what_is_known() -> None:
    warm = np.full(len(log()), 21.0)
    warm[::2] = np.nan
    assert Night(log().replace(temperature=warm)).temperature == 21.0
    assert Night(log().replace(temperature=None)).temperature is None
