"""Times of entries: one instant in UTC, the plant's zone beside it, and no guess in between."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from deltadyn.errors import InputError

EXAMPLE = "2026-05-03T02:00:00+02:00"
_AGE = re.compile(r"(\d{1,4})(y|mo|w|d|h)")


def zone_of(name: str) -> ZoneInfo:
    """The zone of an IANA name."""
    try:
        if not isinstance(name, str) or not name:
            raise ValueError
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # KeyError: ZoneInfoNotFoundError is one
        allowed = "a name of the IANA time zones, such as Europe/Berlin or UTC"
        raise InputError("zone", name, allowed) from None


def moment(given: datetime | str, zone: str | None = None, *, what: str = "time") -> datetime:
    """An instant in UTC: a time with its offset, or a local time of the zone.

    A local time that the zone's clocks skip, or show twice, is refused.
    """
    found = _parsed(given, what)
    if found.tzinfo is None:
        if zone is None:
            allowed = f"a time with its offset, such as {EXAMPLE}, or a zone beside it (--zone)"
            raise InputError(what, str(given), allowed)
        found = _in_zone(found, zone, what)
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise InputError(what, str(given), "a time of the years 2 to 9998") from None


def local(instant: datetime, zone: str) -> str:
    """An instant as the clocks of the plant show it, with their offset."""
    return instant.astimezone(zone_of(zone)).isoformat(sep=" ", timespec="seconds")


def stored(instant: datetime) -> str:
    """An instant as the store keeps it: texts of one length, so that they sort as times do."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def restored(text: str) -> datetime:
    """What `stored` was given."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise InputError("time in the history", text, f"a time such as {EXAMPLE}") from None
    if found.tzinfo is None:
        raise InputError("time in the history", text, f"a time with its offset: {EXAMPLE}")
    return found


def edge(given: datetime | date | str | None, zone: str | None, what: str) -> datetime | None:
    """An end of a period: an instant, or a date, which begins at midnight in the zone (or UTC)."""
    if given is None or isinstance(given, datetime):
        return None if given is None else moment(given, zone or "UTC", what=what)
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        return moment(str(given), zone or "UTC", what=what)
    return moment(datetime.combine(day, time()), zone or "UTC", what=what)


def before(age: str, now: datetime | None = None) -> datetime:
    """The instant that lies an age such as "2y", "18mo", "6w", "90d" or "12h" before now."""
    match = _AGE.fullmatch(age) if isinstance(age, str) else None
    if match is None:
        raise InputError("age", age, "a number and a unit: 2y, 18mo, 6w, 90d or 12h")
    instant, count, unit = now or datetime.now(UTC), int(match[1]), match[2]
    try:
        if unit in ("w", "d", "h"):
            days = {"w": 7.0, "d": 1.0, "h": 1 / 24}[unit]
            return instant - timedelta(days=count * days)
        return _months_before(instant, count * (12 if unit == "y" else 1))
    except (OverflowError, ValueError):
        raise InputError("age", age, "one that ends after the year 1") from None


def _months_before(instant: datetime, months: int) -> datetime:
    """The same day so many months before; the last of the month where it has no such day."""
    years, month = divmod(instant.year * 12 + instant.month - 1 - months, 12)
    for day in range(instant.day, 27, -1):
        try:
            return instant.replace(year=years, month=month + 1, day=day)
        except ValueError:
            continue
    return instant.replace(year=years, month=month + 1)


def _parsed(given: datetime | str, what: str) -> datetime:
    if isinstance(given, datetime):
        return given
    try:
        if "T" not in given and " " not in given.strip():
            raise ValueError  # a date has 24 hours
        return datetime.fromisoformat(given.strip())
    except (ValueError, TypeError):
        raise InputError(what, given, f"a date and time such as {EXAMPLE}") from None


def _in_zone(naive: datetime, zone: str, what: str) -> datetime:
    """A local time of a zone, which must exist there once."""
    place = zone_of(zone)
    first, second = (naive.replace(tzinfo=place, fold=fold) for fold in (0, 1))
    try:
        if first.utcoffset() == second.utcoffset():
            return first
        exists = first.astimezone(UTC).astimezone(place).replace(tzinfo=None, fold=0) == naive
    except OverflowError:
        raise InputError(what, str(naive), "a time of the years 2 to 9998") from None
    if exists:
        both = f"{first.isoformat()} or {second.isoformat()}"
        allowed = f"one of the two: {both}; the clocks of {zone} show it twice, when they go back"
    else:
        allowed = f"a time that exists: the clocks of {zone} go forward over it"
    raise InputError(what, naive.isoformat(sep=" "), allowed)
