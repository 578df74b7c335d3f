"""Settings of the force observer, and the numbers that do not change with the machine."""

from __future__ import annotations

from dataclasses import dataclass

from deltadyn.errors import InputError

# Slow states of an axis: viscous friction, Coulomb friction, offset, scale of the torque. By how
# much (one deviation) they may be off when a log begins, and by how much they wander in a second of
# motion: shares of the viscous friction, the Coulomb friction (twice) and the torque.
CHANGE = (0.25, 0.10, 0.10, 0.02)  # oil and motors that warm up
WALK = (0.010, 0.003, 0.010, 0.001)  # per square root of a second
GATE = 3.0  # z above which the states learn nothing: it may be a contact
REVERSAL = 0.05  # rad/s: an axis slower than this may be held by its friction
SMOOTH = 0.02  # rad/s over which Coulomb friction turns its sign

SCALE = 0.03  # of a force: torque constants, losses of the gears
STAGES = 2  # of the filter, each with 2 K: together as late as one with K, see docs/force.md
ALONE = 0.12  # of the largest: other axes below it, and the push is on one arm
ALONE_DEVIATIONS = 3.0
LOOK = 0.06  # s after the alarm in which a pick is told from a contact
PICK_DEVIATIONS = 1.0  # of the force: what a pick leaves unexplained is below it
PICK_SHARE = 0.35  # or below this share of its force


@dataclass(frozen=True)
class ForceOptions:
    """What a user chooses about the observer, beside the robot and its empty run."""

    rate: float = 2000.0  # Hz of the samples
    bandwidth: float = 60.0  # 1/s: the force follows within 1/bandwidth
    false_alarms: float = 1.0  # per hour of motion
    delay: float = 0.0  # s by which the torque is logged after the angle it belongs to

    def __post_init__(self) -> None:
        for name in ("rate", "bandwidth", "false_alarms"):
            value = getattr(self, name)
            if not value > 0:
                raise InputError(name, value, "above 0")
        if self.bandwidth > self.rate / 4:
            raise InputError("bandwidth", self.bandwidth, f"at most a quarter of {self.rate:g} Hz")
        if not abs(self.delay) * self.rate <= 20:
            raise InputError("delay", self.delay, "at most 20 samples")

    @property
    def gain(self) -> float:
        """What a row moves a stage of the filter by: 2 K T / (1 + 2 K T)."""
        step = STAGES * self.bandwidth / self.rate
        return step / (1 + step)

    @property
    def every(self) -> int:
        """Rows from one step of the slow states to the next: 1 / K, as rows between are alike."""
        return max(1, round(self.rate / self.bandwidth))
