"""The rows of a choice: base columns, candidates and torque of all parts, filtered alike.

Rows are kept per axis with the columns that move it, since most terms belong to one drive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.identification.information import IntArray
from deltadyn.identification.parametrisation import payload_direction
from deltadyn.identification.terms.library import Column, Sample, Term
from deltadyn.recording.prepare.band import decimated
from deltadyn.recording.prepare.data import Prepared
from deltadyn.recording.prepare.moving import at_rows, slowest_rates

SEGMENT = 1.0  # s: longer than residuals are correlated
LEAST_NOISE = 1e-4  # of an axis' RMS torque: what is smaller is no matter


class Axis(NamedTuple):
    """Rows X (M, c) of an axis, the columns' places (c,), torque y (M,) and what is used (M,)."""

    X: FloatArray
    places: IntArray
    y: FloatArray
    used: BoolArray


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows: k base columns, then m of terms with their prior `size` (m,).

    `segment` (M,) numbers stretches of time, `part` (M,) the parts of the log; `q`, `qd` and `qdd`
    (M, dof) are the motion at the rows, `slowest` the lowest |qd| within the filter's reach,
    `radian` (dof,) what stands for a rad on the axes.
    """

    axes: tuple[Axis, ...]
    base: int
    size: FloatArray
    segment: IntArray
    part: IntArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    slowest: FloatArray
    radian: FloatArray

    @property
    def width(self) -> int:
        """Columns of base and terms."""
        return self.base + len(self.size)

    def left(self, z: FloatArray) -> FloatArray:
        """Residuals (M, dof) of parameters z (k + m,), 0 at rows that are not used."""
        out = [np.where(a.used, a.y - a.X @ z[a.places], 0.0) for a in self.axes]
        return np.column_stack(out)

    def resting(self, rest: FloatArray) -> Rows:
        """The same rows with another rate (dof,) below which an axis is at rest."""
        axes = [
            axis._replace(used=self.slowest[:, a] >= rest[a]) for a, axis in enumerate(self.axes)
        ]
        return replace(self, axes=tuple(axes))

    @cached_property
    def squares(self) -> list[tuple[FloatArray, FloatArray]]:
        """X'X (k + m, k + m) and X'y (k + m,) of each axis, without weights."""
        found = []
        for axis in self.axes:
            X, y = axis.X[axis.used], axis.y[axis.used]
            both, right = np.zeros((self.width, self.width)), np.zeros(self.width)
            both[np.ix_(axis.places, axis.places)], right[axis.places] = X.T @ X, X.T @ y
            found.append((both, right))
        return found

    def counts(self) -> FloatArray:
        """Rows (dof,) that are used."""
        return np.array([float(a.used.sum()) for a in self.axes])


def stacked(
    samples: Sequence[Sample], terms: Sequence[Term], rest: FloatArray, kept: FloatArray
) -> Rows:
    """The rows of all samples; `rest` (dof,) is the rate below which an axis counts as at rest.

    `kept` (m,) are the terms' values that the samples' motion and torque are corrected for already:
    y = tau + J kept, so that estimates are the whole values.
    """
    dof, base = samples[0].robot.dof, len(samples[0].par.names)
    collected: list[list[FloatArray]] = [[] for _ in range(dof)]
    places: list[list[int]] = [[] for _ in range(dof)]
    segment, q, qd, qdd, slowest, count = [], [], [], [], [], 0
    payload = payload_direction(samples[0].robot, samples[0].par.source)
    part: list[IntArray] = []
    for number, sample in enumerate(samples):
        columns = _columns(sample, terms)
        tau = sample.measured - _known(sample, payload)
        for axis in range(dof):
            own = {j: v for j, column in enumerate(columns) if (v := column[axis]) is not None}
            places[axis] = list(own)
            raw = np.stack([*own.values(), tau[:, axis]])
            collected[axis].append(_filtered(sample.part, raw))
        times = sample.part.times
        seconds = (times - times[0]) // SEGMENT if len(times) else times
        segment.append(seconds.astype(np.int64) + count)
        count = int(segment[-1].max(initial=count - 1)) + 1
        part.append(np.full(len(times), number))
        q.append(at_rows(sample.part, sample.state.q))
        qd.append(at_rows(sample.part, sample.state.qd))
        qdd.append(at_rows(sample.part, sample.state.qdd))
        slowest.append(at_rows(sample.part, slowest_rates(sample.part, sample.reach)))
    slow = np.concatenate(slowest)
    axes = []
    for axis in range(dof):
        both = np.concatenate(collected[axis], axis=1)
        X, y = np.ascontiguousarray(both[:-1].T), both[-1]
        place = np.array(places[axis], dtype=np.int64)
        terms_of = place >= base
        y = y + X[:, terms_of] @ kept[place[terms_of] - base]
        axes.append(Axis(X, place, y, slow[:, axis] >= rest[axis]))
    size = np.array([p.size for term in terms for p in term.parameters])
    return Rows(
        tuple(axes),
        base,
        size,
        np.concatenate(segment),
        np.concatenate(part),
        np.concatenate(q),
        np.concatenate(qd),
        np.concatenate(qdd),
        slow,
        np.asarray(samples[0].robot.radian),
    )


def _columns(sample: Sample, terms: Sequence[Term]) -> list[Column]:
    """Base columns, then those of the terms, each per axis or None."""
    T = sample.par.T
    found: list[Column] = []
    for j in range(T.shape[1]):
        wide = np.flatnonzero(T[:, j])
        values = sample.wide[:, :, wide] @ T[wide, j]
        axes = (np.ascontiguousarray(values[:, axis]) for axis in range(values.shape[1]))
        found.append(tuple(own if own.any() else None for own in axes))
    for term in terms:
        found += list(sample.columns_of(term))
    return found


def _known(sample: Sample, payload: FloatArray) -> FloatArray:
    """Torque (N, dof) of what is known: held parameters and the declared payload."""
    known = sample.par.offset + sample.part.extra * payload
    if not known.any():
        return np.zeros_like(sample.part.tau)
    out: FloatArray = sample.wide @ known
    return out


def _filtered(part: Prepared, raw: FloatArray) -> FloatArray:
    even = raw if part.grid is None else part.grid(raw.T).T
    return decimated(part.filter, even)
