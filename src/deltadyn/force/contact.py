"""Contacts: when one begins, where it acts, and whether it is a load that was picked up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.force.rows import ForceRows
from deltadyn.force.settings import ALONE, ALONE_DEVIATIONS, LOOK, PICK_DEVIATIONS, PICK_SHARE
from deltadyn.force.tare import Tare

CONTACT, PICK, UNSURE = "contact", "pick", "not known yet"


@dataclass(frozen=True, eq=False)
class Contact:
    """An alarm: its time, where it acts, the force then with its deviation, and its kind.

    `kind` is "contact", "pick" (a mass that hangs on the platform: `PayloadEstimator` weighs it)
    or, within 60 ms of the alarm, "not known yet". `where` is "platform" or "arm 1" to "arm 3".
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

    def step(self, t: float, row: ForceRows, joint: FloatArray, std: FloatArray) -> None:
        """Take a filtered row (of one sample), its joint residual and its deviation."""
        if self.contact is None:
            z = float(self.tare.statistic(joint, row).max())
            if z > self.limit:
                where = self._where(joint[0] - self.tare.offset)
                self.contact = Contact(t, where, row.force[0].copy(), std[0].copy(), z)
            return
        if self.contact.kind != UNSURE:
            return
        self._force.append(row.force[0])
        self._pull.append(row.pull[0])
        if len(self._force) >= self._look:
            self.contact = self._judged(self.contact, joint[0])

    def _where(self, joint: FloatArray) -> str:
        """One arm where the residual of all other axes is small, else the platform."""
        size = np.abs(joint)
        first = int(np.argmax(size))
        small = np.maximum(ALONE_DEVIATIONS * self.tare.sigma, ALONE * size[first])
        others = np.delete(size <= small, first)
        return f"arm {first + 1}" if first < 3 and others.all() else "platform"

    def _judged(self, contact: Contact, joint: FloatArray) -> Contact:
        """A pick is F = -m (pdd + g z) with m > 0, over the second half of what was seen."""
        half = len(self._force) // 2
        F, pull = np.array(self._force[half:]), np.array(self._pull[half:])
        mass = -float(np.sum(F[:, :3] * pull) / np.sum(pull * pull))
        left = np.sqrt(np.mean(np.sum((F[:, :3] + mass * pull) ** 2, axis=1)))
        size = np.sqrt(np.mean(np.sum(F[:, :3] ** 2, axis=1)))
        unsure = PICK_DEVIATIONS * float(np.linalg.norm(contact.std[:3]))
        pick = mass > 0 and left < max(unsure, PICK_SHARE * size)
        return replace(
            contact,
            where="platform" if pick else self._where(joint - self.tare.offset),
            force=F.mean(axis=0),
            kind=PICK if pick else CONTACT,
        )


def force_std(tare: Tare, rows: ForceRows) -> FloatArray:
    """Deviation of the force (N, dof): that of the empty run, and a third of what friction may do.

    cov F = J^-T S J^-1 + (|J^-T| (held + drift) / 3)^2: warm oil changes all axes alike.
    """
    inverse = np.linalg.inv(rows.jacobian)
    across = np.swapaxes(inverse, -1, -2)
    spread = np.diagonal(across @ tare.covariance @ inverse, axis1=-2, axis2=-1)
    rubbed = (np.abs(across) @ (rows.held + rows.drift)[..., None])[..., 0] / 3
    found: FloatArray = np.sqrt(spread + rubbed**2)
    return found
