"""The external force of a log: an arrow at the platform, its legend, and channels of the plots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.force import Contact, ForceLog
from deltadyn.force.contact import PICK
from deltadyn.force.offline import CALM
from deltadyn.robot import Robot
from deltadyn.studio.drawing import PAYLOAD, Colour, thickness
from deltadyn.studio.plots import Channel, Curve
from deltadyn.studio.volumes import Key, legend

if TYPE_CHECKING:
    import viser

FORCE, MOMENT, ALARM = "external force", "external moment", "alarm"
TOUCH, LIMIT, THRESHOLD = "contact", "limit", "threshold"  # curves
FREE: Colour = (70, 90, 120)
TOUCHED: Colour = (140, 20, 220)
LONGEST = 20.0  # of the size of details: the arrow of the largest force, most of an arm
ROUND = (1.0, 2.0, 5.0)
STRETCH = 0.1  # m of the legend
APART = 3.0  # sample times from a row at which nothing is known
SHORTEST = 1e-3  # m of an arrow that is drawn
HEAD = 3.6  # of the size of details: length of the tip


@dataclass(frozen=True, eq=False)
class Push:
    """The force on the platform at one time, and the contact that is on."""

    force: FloatArray  # (dof,) along the platform's coordinates, N; N m about z
    std: FloatArray  # (dof,)
    contact: Contact | None

    @property
    def size(self) -> float:
        """Of the force in N."""
        return float(np.linalg.norm(self.force[:3]))  # two components in a plane

    @property
    def colour(self) -> Colour:
        """What its arrow is drawn in."""
        if self.contact is None:
            return FREE
        return PAYLOAD if self.contact.kind == PICK else TOUCHED

    @property
    def text(self) -> str:
        """One line: components with deviations, size, and the contact."""
        each = [f"{x:.1f} ± {s:.1f}" for x, s in zip(self.force, self.std, strict=True)]
        told = f"external force {', '.join(each[:3])} N, size {self.size:.1f} N"
        if len(each) > 3:
            told += f", moment {each[3]} N m"
        on = self.contact
        return told + ("; no contact" if on is None else f"; {on.kind} at the {on.where}")


class ForceTrack:
    """The force of a log beside its motion."""

    def __init__(self, log: ForceLog, robot: Robot) -> None:
        self.log, self.newtons, self._robot = log, _newtons(log, robot), robot
        self._on = contact_rows(log)

    def at(self, time: float) -> Push | None:
        """What acts at a time of the log's clock (s); None where it is not known."""
        t = self.log.t
        row = int(np.clip(np.searchsorted(t, time), 0, len(t) - 1))
        if row > 0 and time - t[row - 1] < t[row] - time:
            row -= 1
        if abs(t[row] - time) * self.log.tare.options.rate > APART:
            return None
        number = int(self._on[row])
        contact = None if number < 0 else self.log.contacts[number]
        return Push(self.log.force[row], self.log.std[row], contact)

    def arrow(self, push: Push) -> FloatArray:
        """The arrow (3,) in m."""
        return self._robot.in_space(push.force) * (STRETCH / self.newtons)

    def channels(self, start: float) -> list[Channel]:
        """Size of the force beside its threshold, marked where there is a contact; components.

        Times are counted from `start` (s).
        """
        log, t = self.log, np.asarray(self.log.t - start)
        size = np.linalg.norm(log.force[:, :3], axis=1)
        on = np.where(self._on >= 0, size, np.nan)
        sizes = {
            "force": Curve(t, size),
            TOUCH: Curve(t, on),
            THRESHOLD: Curve(t, log.threshold),
        }
        found = [Channel(FORCE, "size", "N", sizes, first=True)]
        found += [
            Channel(FORCE, axis, "N", {axis: Curve(t, log.force[:, k])})
            for k, axis in enumerate(self._robot.coordinates[:3])
        ]
        if log.force.shape[1] > 3:
            found.append(Channel(MOMENT, "z", "N m", {"moment": Curve(t, log.force[:, 3])}))
        ends = Curve(t[[0, -1]], np.full(2, log.limit))
        curves = {"statistic": Curve(t, log.statistic), LIMIT: ends}
        found.append(Channel(ALARM, "statistic", "deviations", curves))
        return found

    @property
    def legend(self) -> str:
        """Length and colours of the arrow."""
        keys = [Key(FREE, "no contact"), Key(TOUCHED, "contact"), Key(PAYLOAD, "pick")]
        title = f"arrow at the platform: external force, {self.newtons:g} N per 100 mm"
        return legend(keys, title)


def contact_rows(log: ForceLog) -> npt.NDArray[np.int64]:
    """The number of the contact that is on in each row (N,), -1 where there is none.

    A contact is on until the statistic has been below the limit for 0.25 s.
    """
    found = np.full(len(log.t), -1, dtype=np.int64)
    over = log.t[log.statistic > log.limit]
    begins = [item.time for item in log.contacts]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else math.inf
        own = over[(over >= begin) & (over < end)]
        last = begin
        if len(own):
            calm = np.flatnonzero(np.diff(own) > CALM)
            last = float(own[calm[0]] if len(calm) else own[-1])
        found[(log.t >= begin) & (log.t <= last)] = number
    return found


def _newtons(log: ForceLog, robot: Robot) -> float:
    """Round number of N that is 100 mm long: the largest force is about as long as an arm."""
    largest = float(np.linalg.norm(log.force[:, :3], axis=1).max())
    least = largest * STRETCH / (LONGEST * thickness(robot))
    power = 10.0 ** math.floor(math.log10(max(least, 1e-3)))
    return next(x * power for x in (*ROUND, 10.0) if x * power >= least)


class ForceArrow:
    """The arrow in the 3-D view of one window, with its size in N at the tip."""

    def __init__(self, client: viser.ClientHandle, root: str) -> None:
        self._client, self._root = client, root
        self._arrow: Any = None
        self._label: Any = None

    def show(self, place: FloatArray, arrow: FloatArray, push: Push, unit: float) -> None:
        """Draw an arrow (3,) from a place (3,), in m; `unit` (m) is the size of details."""
        length = float(np.linalg.norm(arrow))
        if length < SHORTEST:
            self.hide()
            return
        if self._arrow is None:
            self._make(unit)
        with self._client.atomic():
            self._arrow.points = np.stack([place, place + arrow])[None].astype(np.float32)
            self._arrow.colors = np.array(push.colour, dtype=np.uint8)
            self._arrow.head_length = min(HEAD * unit, 0.6 * length)
            self._label.position = place + arrow * (1 + unit / length)
            self._label.text = f"{push.size:.0f} N"
            self._arrow.visible = self._label.visible = True

    def hide(self) -> None:
        """Take it away."""
        if self._arrow is not None:
            self._arrow.visible = self._label.visible = False

    def _make(self, unit: float) -> None:
        scene = self._client.scene
        self._arrow = scene.add_arrows(
            f"{self._root}/arrow",
            np.zeros((1, 2, 3), dtype=np.float32),
            FREE,
            shaft_radius=0.8 * unit,
            head_radius=1.9 * unit,
            head_length=HEAD * unit,
        )
        self._label = scene.add_label(
            f"{self._root}/size", "", font_screen_scale=1.2, anchor="bottom-center"
        )
