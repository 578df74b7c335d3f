"""Motions of the platform for logs: random and smooth, between via points, pick and place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .plant import Array

Path = Callable[[Array], Array]  # times (N,) to platform poses (N, 3) or (N, 4)


@dataclass(frozen=True)
class Room:
    """Where the platform may be and how fast it may move."""

    radius: float  # m, about the z axis
    z_min: float
    z_max: float
    speed: float  # m/s
    acceleration: float  # m/s^2
    turn: float = 0.0  # rad to both sides; 0 without a fourth axis
    turn_acceleration: float = 0.0  # rad/s^2

    @property
    def middle(self) -> Array:
        return np.array([0.0, 0.0, (self.z_min + self.z_max) / 2])


def multisine(room: Room, rng: np.random.Generator, seconds: float, fade: float) -> Path:
    """Sines of 0.5 to 5 Hz in each coordinate, whole periods in `seconds`.

    `fade` (s) lets the motion grow from rest and end in rest; 0 lets it run on.
    """
    low, high = max(1, round(0.5 * seconds)), max(4, round(5.0 * seconds))
    waves = np.arange(low, high + 1)
    rows = 4 if room.turn else 3
    count = min(8, len(waves))
    chosen = np.array([rng.choice(waves, count, replace=False) for _ in range(rows)])
    rate = 2 * np.pi * chosen / seconds  # (rows, count)
    # equal weight between the position and the acceleration of a wave
    weight = rng.uniform(0.3, 1.0, rate.shape) / rate**1.2
    phase = rng.uniform(0, 2 * np.pi, rate.shape)

    def waves_at(t: Array, order: int) -> Array:
        angle = rate * t[:, None, None] + phase + order * np.pi / 2
        summed: Array = np.sum(weight * rate**order * np.sin(angle), axis=2)
        return summed

    t = np.arange(0.0, seconds, 2e-3)
    x, v, a = (waves_at(t, order) for order in range(3))
    x = x - x.mean(axis=0)
    height = (room.z_max - room.z_min) / 2
    scale = np.ones(rows)
    scale[:2] = 0.9 * room.radius / np.max(np.hypot(x[:, 0], x[:, 1]))
    scale[2] = 0.9 * height / np.max(np.abs(x[:, 2]))
    fast = np.max(np.linalg.norm((v * scale)[:, :3], axis=1)) / room.speed
    hard = np.max(np.linalg.norm((a * scale)[:, :3], axis=1)) / room.acceleration
    scale[:3] /= max(1.0, fast, hard)
    if rows == 4:
        wide, quick = np.max(np.abs(x[:, 3])) / room.turn, np.max(np.abs(a[:, 3]))
        scale[3] = 1 / max(wide, quick / room.turn_acceleration)
    centre = np.append(room.middle, np.zeros(rows - 3))

    def path(t: Array) -> Array:
        moved = centre + waves_at(t, 0) * scale
        if fade <= 0:
            return moved
        grown = _rise(t / fade) * _rise((seconds - t) / fade)
        return centre + (moved - centre) * grown[:, None]

    return path


def via_points(room: Room, rng: np.random.Generator, seconds: float, dwell: float) -> Path:
    """Straight moves with quintic blends between random points, a rest of `dwell` s at each."""
    rows = 4 if room.turn else 3
    times, points = [0.0], [_point(room, rng, rows)]
    while times[-1] < seconds:
        target = _point(room, rng, rows)
        share = rng.uniform(0.5, 1.0)
        length = max(_move_time(room, target - points[-1]) / np.sqrt(share), 0.15)
        times += [times[-1] + length, times[-1] + length + dwell]
        points += [target, target]
    return _blended(np.array(times), np.array(points))


class Pick(NamedTuple):
    """One pick-and-place move: lift, across, down; then a rest."""

    start: Array
    end: Array
    turn: tuple[float, float]
    begin: float
    length: float
    lift: float


def picks(room: Room, rng: np.random.Generator, seconds: float, dwell: float) -> Path:
    """Cycles like Adept's 25 x 305 x 25 mm, scaled to the room, at places of their own."""
    span = min(0.305, 1.2 * room.radius)
    lift = min(0.025, 0.4 * (room.z_max - room.z_min))
    moves: list[Pick] = []
    begin, turn = 0.0, 0.0
    while begin < seconds:
        centre = _point(room, rng, 3) * [0.6, 0.6, 1.0]
        centre[2] = rng.uniform(room.z_min, room.z_max - lift)
        angle = rng.uniform(0, 2 * np.pi)
        half = span / 2 * np.array([np.cos(angle), np.sin(angle), 0.0])
        reach = np.hypot(*(np.abs(centre[:2]) + np.abs(half[:2])))
        if reach > room.radius:
            centre[:2] *= max(0.0, room.radius - span / 2) / np.hypot(*centre[:2])
        start, end = centre - half, centre + half
        if moves:  # get to the new place first
            gap = start - moves[-1].end
            length = max(1.15 * _move_time(room, gap), 0.2)
            moves.append(Pick(moves[-1].end, start, (turn, turn), begin, length, lift))
            begin += length + dwell
        for way in range(4):
            a, b = (start, end) if way % 2 == 0 else (end, start)
            after = float(rng.choice([-0.5, 0.0, 0.5])) * room.turn
            length = max(1.3 * _move_time(room, b - a), 0.22) * rng.uniform(1.0, 1.4)
            if room.turn:
                length = max(length, np.sqrt(5.8 * abs(after - turn) / room.turn_acceleration))
            moves.append(Pick(a, b, (turn, after), begin, length, lift))
            turn = after
            begin += length + dwell
    return _picked(moves, 4 if room.turn else 3)


def _picked(moves: list[Pick], rows: int) -> Path:
    begins = np.array([move.begin for move in moves])

    def path(t: Array) -> Array:
        out = np.empty((len(t), rows))
        which = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, len(moves) - 1)
        for k, move in enumerate(moves):
            at = which == k
            share = np.clip((t[at] - move.begin) / move.length, 0.0, 1.0)
            across = _rise((share - 0.12) / 0.76)
            lifted = _rise(share / 0.45) * _rise((1 - share) / 0.45)
            out[at, :3] = move.start + (move.end - move.start) * across[:, None]
            out[at, 2] += move.lift * lifted
            if rows == 4:
                out[at, 3] = move.turn[0] + (move.turn[1] - move.turn[0]) * _rise(share)
        return out

    return path


def _point(room: Room, rng: np.random.Generator, rows: int) -> Array:
    radius, angle = 0.9 * room.radius * np.sqrt(rng.random()), rng.uniform(0, 2 * np.pi)
    z = rng.uniform(room.z_min, room.z_max)
    turn = [rng.uniform(-room.turn, room.turn)] if rows == 4 else []
    return np.array([radius * np.cos(angle), radius * np.sin(angle), z, *turn])


def _move_time(room: Room, step: Array) -> float:
    """Time of a quintic blend over a step: peak rate 1.875 d/T, peak acceleration 5.774 d/T^2."""
    d = float(np.linalg.norm(step[:3]))
    length = max(1.875 * d / room.speed, np.sqrt(5.774 * d / room.acceleration))
    if len(step) == 4 and room.turn:
        length = max(length, np.sqrt(5.774 * abs(step[3]) / room.turn_acceleration))
    return float(length)


def _rise(s: Array) -> Array:
    """10 s^3 - 15 s^4 + 6 s^5 from 0 to 1, flat outside."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2)


def _blended(times: Array, points: Array) -> Path:
    def path(t: Array) -> Array:
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        length = np.maximum(times[k + 1] - times[k], 1e-9)
        share = _rise((t - times[k]) / length)[:, None]
        return points[k] + (points[k + 1] - points[k]) * share

    return path
