"""What the bench asks of a plant, and what a plant tells at a tick."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from deltadyn.errors import DeltadynError
from deltadyn.robot import Robot
from deltadyn.simulation.plant.numerics import Floats


class Sample(NamedTuple):
    """The true state of the machine at a tick, each (dof,).

    q, qd, qdd are at the arms, the motor's beside them (the same where the gears are rigid).
    """

    q: Floats
    qd: Floats
    qdd: Floats
    q_motor: Floats
    qd_motor: Floats
    p: Floats
    tau: Floats  # N m, from the current, without ripple
    ripple: Floats  # N m
    friction: Floats  # N m, of the drives, with the gears' loss
    passive: Floats  # N m, what friction in the passive joints asks of the drives
    temperature: Floats  # degrees C
    work: Floats  # J so far, as in `Work`


class Work(NamedTuple):
    """Energy so far, in J: what went in, and what friction and gear damping took out."""

    drives: float
    ripple: float
    external: float
    friction: float
    damping: float


class PlantStoppedError(DeltadynError):
    """The plant cannot go on; the run ends with a status that says why."""


class Plant(Protocol):
    """A machine in motion; every tick has the same length.

    Torques are (dof,) in N m and go linearly from `start` to `end` within a tick, the external
    wrench (dof,) on the platform is constant.
    """

    @property
    def q_motor(self) -> Floats:
        """The angles that the encoders see (dof,), in rad."""

    def sample(self, torque: Floats, wrench: Floats) -> Sample:
        """The state now, under this torque."""

    def advance(self, start: Floats, end: Floats, wrench: Floats) -> Sample:
        """Go one tick further; the state at its beginning."""

    def carry(self, robot: Robot) -> None:
        """Go on with this robot: another payload, everything else the same."""
