"""Recordings that several methods fit: read, searched for terms and gathered once.

What a log is made into before the method sees it depends on the options alone: the band, the terms
of the machine and the information. Methods that are compared on the same log share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from deltadyn.errors import InputError
from deltadyn.identification.information import Information
from deltadyn.identification.loading import Data, Loaded, several
from deltadyn.identification.methods.stribeck import Stribeck, settle_stribeck
from deltadyn.identification.options import FitOptions
from deltadyn.identification.terms.look import Looked, look
from deltadyn.robot import Robot

#: Options that change what is made ready, beside whether terms are looked for.
ASKED = (
    *("band", "rates", "bandwidth", "check", "model"),
    *("tied", "com_offset", "gains", "stribeck", "terms"),
)


@dataclass(eq=False)
class Ready:
    """Recordings made ready for one set of options, with the terms that were found in them."""

    loaded: Loaded
    stribeck: Stribeck | None
    looked: Looked | None
    _gathered: dict[str, Information] = field(default_factory=dict)

    @property
    def nominal(self) -> Robot:
        """The robot of the fit, with fields for the terms of the machine."""
        return self.loaded.robot if self.looked is None else self.looked.carried.nominal

    def information(self, source: str) -> Information:
        """The information for the widest regressor of a kind."""
        if source not in self._gathered:
            self._gathered[source] = self.loaded.information(source)
        return self._gathered[source]


class Shared:
    """Recordings of a robot for several calls of `identify`, in place of the recordings.

    Calls whose options ask for the same preparation and the same terms share one reading, one
    search for terms and one information:

        log = Shared(robot, "log.csv")
        fits = [identify(robot, log, method) for method in ("convex", "base", "l1")]
    """

    def __init__(self, robot: Robot, recordings: Data) -> None:
        self.robot = robot
        self.recordings = several(recordings)
        self._ready: dict[tuple[str, ...], Ready] = {}

    def ready(
        self, robot: Robot, asked: FitOptions, *, looks: bool, progress: bool = False
    ) -> Ready:
        """What these options ask for; `looks` says whether terms are looked for."""
        if robot is not self.robot:
            raise InputError("robot", robot.name, "the robot that the recordings are shared for")
        key = (repr(looks), *(repr(getattr(asked, name)) for name in ASKED))
        if key not in self._ready:
            self._ready[key] = _made_ready(robot, self.recordings, asked, looks, progress)
        return self._ready[key]


def _made_ready(
    robot: Robot, recordings: Data, asked: FitOptions, looks: bool, progress: bool
) -> Ready:
    loaded = Loaded(robot, recordings, asked, progress=progress)
    model = str(asked.model)
    found = settle_stribeck(loaded, model, asked.limbs) if asked.stribeck else None
    looked = look(loaded, asked) if looks else None
    if looked is not None:
        loaded.robot, loaded.extra = looked.carried.machine, looked.carried.extra
    return Ready(loaded, found, looked)
