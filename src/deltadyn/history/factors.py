"""Factors of a history: which belong together, merged, and the robot to fit with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import InputError
from deltadyn.history.database import Database, Row
from deltadyn.history.rows import damaged, packed
from deltadyn.identification.information import MEMORY, Information, information_of, joined
from deltadyn.identification.parametrisation import widest
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_from_text

_FROM = "FROM history_entries e JOIN history_robots r ON r.number = e.robot"
STATES = 16  # at which robot files are compared
SAME = 1e-9  # relative difference of their regressors


def merged(
    database: Database, where: str, values: Mapping[str, Any], terms: str = "auto"
) -> Information:
    """The factors of the chosen entries in one, each log once, inside a transaction."""
    if terms not in ("auto", "file"):
        raise InputError("terms", terms, "'auto', those that the factors hold, or 'file'")
    chosen = _once(_chosen(database, where, values))
    key = _common_terms(chosen, terms)
    _refuse_other_geometry(database, chosen)
    parts = []
    for number in chosen:
        part = _archive(database, number, key)
        size = part.dof * (len(part.names) + 1) ** 2
        parts.append(joined(part, max(1, MEMORY // (size * len(chosen)))))
    return _together(list(zip(chosen, parts, strict=True)))


def last_robot(database: Database, where: str, values: Mapping[str, Any]) -> Robot:
    """The robot as it was given with the last of the chosen entries that has factors."""
    last = list(_chosen(database, where, values).values())[-1]
    if last["file"] is None:
        allowed = "given: the entries of the period have none"
        raise InputError("robot file", None, allowed, where=database.place)
    return _robot(database, last["file"])


def _chosen(database: Database, where: str, values: Mapping[str, Any]) -> dict[int, Row]:
    """Entries with factors, the oldest first: their log, time, robot file and keys of terms."""
    sql = (
        f"SELECT e.number, e.time, e.log, e.file, e.zone, r.type, r.serial, f.terms {_FROM} "
        f"JOIN history_factors f ON f.entry = e.number {where} ORDER BY e.time, e.number, f.terms"
    )
    found: dict[int, Row] = {}
    for row in database.rows(sql, **values):
        found.setdefault(row["number"], row | {"keys": set()})["keys"].add(row["terms"])
    if not found:
        allowed = "at least one with factors in the period, as fits and logs have them"
        raise InputError("entries", 0, allowed, where=database.place)
    types = sorted({row["type"] for row in found.values()})
    if len(types) > 1:
        first = next(iter(found.values()))
        allowed = f"one type beside the serial number {first['serial']!r}"
        raise InputError("types of robots", types, allowed)
    return found


def _once(entries: Mapping[int, Row]) -> dict[int, Row]:
    """Each log once, though several entries may come from it: a robot makes one at a time."""
    found: dict[int, Row] = {}
    logs: set[str] = set()
    times: set[str] = set()
    for number, row in entries.items():
        if row["time"] in times or (row["log"] and row["log"] in logs):
            continue
        found[number] = row
        times.add(row["time"])
        logs.add(row["log"])
    return found


def _common_terms(entries: Mapping[int, Row], terms: str) -> str:
    """The key of the terms that all entries have factors for; "" without terms."""
    keys: set[str] = set.intersection(*(row["keys"] for row in entries.values()))
    with_terms = sorted(keys - {""})
    if terms == "auto" and with_terms:
        return with_terms[0]
    if "" in keys:
        return ""
    other = next(number for number, row in entries.items() if "" not in row["keys"])
    allowed = (
        "the same in all entries, or factors without terms beside them, as `add_log` keeps them: "
        "choose a shorter period, or add the logs again"
    )
    raise InputError("terms of the factors", "of another search", allowed, where=f"entry {other}")


def _archive(database: Database, number: int, key: str) -> Information:
    sql = "SELECT archive FROM history_factors WHERE entry = :entry AND terms = :terms"
    (row,) = database.rows(sql, entry=number, terms=key)
    try:
        archive = packed(row, "archive")
    except TypeError as error:
        raise damaged(database.place, f"entry {number}: {error}") from error
    return information_of(archive, f"{database.place}, entry {number}")


def _together(parts: Sequence[tuple[int, Information]]) -> Information:
    """All parts in one, in pairs: each is copied as often as a tree is high."""
    level = list(parts)
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [(pair[0][0], _pair(pair)) for pair in pairs]
    return level[0][1]


def _pair(pair: Sequence[tuple[int, Information]]) -> Information:
    (first, one), *rest = pair
    if not rest:
        return one
    ((second, other),) = rest
    try:
        return one.merge(other)
    except InputError as error:
        where = f"entries {first} and {second}"
        raise InputError(error.quantity, error.value, error.allowed, where=where) from None


def _refuse_other_geometry(database: Database, entries: Mapping[int, Row]) -> None:
    """Factors belong to one geometry: masses may differ from file to file, lengths may not."""
    files = {row["file"]: number for number, row in entries.items() if row["file"] is not None}
    digests = list(files)
    if len(digests) < 2:
        return
    first = _robot(database, digests[0])
    state = exciting_states(first, STATES)
    own = widest(first, state, "exact").Y
    for digest in digests[1:]:
        robot = _robot(database, digest).with_friction(smoothing=first.friction.smoothing)
        motion = State.from_joints(robot, state.q, state.qd, state.qdd)
        Y = widest(robot, motion, "exact").Y
        if Y.shape != own.shape or not np.allclose(
            Y, own, rtol=SAME, atol=SAME * np.abs(own).max()
        ):
            allowed = "one with the same geometry and terms as the others of the period"
            where = f"entry {files[digest]}"
            raise InputError("robot file", robot.name, allowed, where=where)


def _robot(database: Database, digest: str) -> Robot:
    sql = "SELECT content FROM history_files WHERE digest = :digest"
    rows = database.rows(sql, digest=digest)
    if not rows:
        raise damaged(database.place, "a robot file is missing")
    return robot_from_text(rows[0]["content"], f"robot file in {database.place}")
