"""Contacts: when one begins, where it acts, and whether it is a load that was picked up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.force.axes import Judged
from deltadyn.force.rows import ForceRows
from deltadyn.force.settings import (
    ALONE,
    ALONE_DEVIATIONS,
    LOOK,
    PICK_DEVIATIONS,
    PICK_SHARE,
    SCALE,
)
from deltadyn.force.tare import Tare

CONTACT, PICK, UNSURE = "contact", "pick", "not known yet"


@dataclass(frozen=True, eq=False)
class Contact:
    """An alarm: its time, where it acts, the force then with its deviation, and its kind.

    `kind` is "contact", "pick" (a mass that hangs on the platform: `PayloadEstimator` weighs it)
    or, within 60 ms of the alarm, "not known yet". `where` is "platform" or "arm 1" and so on.
    `statistic` is z of the axis that raised it.
    """

    time: float  # s
    where: str
    force: FloatArray  # (dof,) N; the moment about z in N m
    std: FloatArray  # (dof,)
    statistic: float
    kind: str = UNSURE

    @property
    def text(self) -> str:
        """The contact in words."""
        size = float(np.linalg.norm(self.force[:3]))
        return f"{self.time:.3f} s: {self.kind} at the {self.where}, {size:.0f} N"


@dataclass(frozen=True, eq=False)
class Force:
    """Force on the platform and its deviation, each (N, dof) in N; N m about z."""

    force: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, rows: ForceRows, judged: Judged) -> Force:
        """F = J^-T e, var F = J^-T S J^-1 + (|J^-T| held)^2 / 3.

        S is diagonal: the deviation of each axis, and a share of the residual for the scale of
        torques. What friction holds at rest lies anywhere between -held and held, and
        axes that come to rest together often hold alike.
        """
        across = np.linalg.inv(np.swapaxes(rows.jacobian, -1, -2))
        S = judged.std**2 + (SCALE * judged.residual) ** 2
        held = (np.abs(across) @ judged.held[..., None])[..., 0]
        force = (across @ judged.residual[..., None])[..., 0]
        return cls(force, np.sqrt((across**2 @ S[..., None])[..., 0] + held**2 / 3))


@dataclass(eq=False)
class Watch:
    """Raises an alarm, keeps it until it is reset, and says after 60 ms what it was."""

    tare: Tare
    contact: Contact | None = None
    _force: list[FloatArray] = field(default_factory=list)
    _pull: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limit = self.tare.limit()
        self._look = max(4, round(LOOK * self.tare.options.rate))

    def reset(self) -> None:
        """Forget the alarm."""
        self.contact = None
        self._force, self._pull = [], []

    @property
    def open(self) -> bool:
        """Whether an alarm waits for its kind."""
        return self.contact is not None and self.contact.kind == UNSURE

    def step(self, t: float, row: ForceRows, judged: Judged, seen: Force) -> None:
        """Take a filtered row (of one sample), its residuals and its force."""
        if self.contact is None:
            z = float(judged.z.max())
            if z > self.limit:
                force, std = seen.force[0].copy(), seen.std[0].copy()
                self.contact = Contact(t, _where(row, judged), force, std, z)
            return
        if self.contact.kind != UNSURE:
            return
        self._force.append(seen.force[0])
        self._pull.append(row.pull[0])
        if len(self._force) >= self._look:
            self.contact = self._named(self.contact, row, judged, seen)

    def follow(
        self, t: FloatArray, rows: ForceRows, judged: Judged, seen: Force
    ) -> list[tuple[int, Contact]]:
        """Take rows in order; those at which the alarm became another, with it."""
        found: list[tuple[int, Contact]] = []
        over, row = np.flatnonzero(judged.z.max(axis=1) > self.limit), 0
        while row < len(t):
            if self.contact is None:
                later = over[over >= row]
                if not len(later):
                    break
                row = int(later[0])
            elif not self.open:
                break
            before, one = self.contact, slice(row, row + 1)
            force = Force(seen.force[one], seen.std[one])
            self.step(float(t[row]), rows.at(one), judged.at(one), force)
            if self.contact is not None and self.contact is not before:
                found.append((row, self.contact))
            row += 1
        return found

    def _named(self, contact: Contact, row: ForceRows, judged: Judged, seen: Force) -> Contact:
        """A pick is F = -m (pdd + g z) with m > 0, over the second half of what was seen."""
        half = len(self._force) // 2
        F, pull = np.array(self._force[half:]), np.array(self._pull[half:])
        mass = -float(np.sum(F[:, :3] * pull) / np.sum(pull * pull))
        left = np.sqrt(np.mean(np.sum((F[:, :3] + mass * pull) ** 2, axis=1)))
        size = np.sqrt(np.mean(np.sum(F[:, :3] ** 2, axis=1)))
        unsure = PICK_DEVIATIONS * float(np.linalg.norm(seen.std[0, :3]))
        pick = mass > 0 and left < max(unsure, PICK_SHARE * size)
        return replace(
            contact,
            where="platform" if pick else _where(row, judged),
            force=F.mean(axis=0),
            std=seen.std[0].copy(),
            kind=PICK if pick else CONTACT,
        )


def _where(row: ForceRows, judged: Judged) -> str:
    """One arm where the residual of all other axes is small, else the platform.

    An axis at rest hides a push in its friction: half of what it may hold counts as small. A
    spindle, which moves the platform nowhere, is no arm.
    """
    size = np.abs(judged.residual[0])
    first = int(np.argmax(judged.z[0]))
    free = judged.held[0] / 2 + ALONE_DEVIATIONS * judged.std[0]
    others = np.delete(size <= np.maximum(free, ALONE * size[first]), first)
    moves = bool(row.jacobian[0, :3, first].any())
    return f"arm {first + 1}" if moves and others.all() else "platform"
