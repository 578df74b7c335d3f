"""Settings of the force observer, and the numbers that do not change with the machine."""

from __future__ import annotations

from dataclasses import dataclass

from deltadyn.errors import InputError

# What friction may change by after the empty run without being a contact, see docs/force.md.
VISCOUS_SHARE = 0.25  # of the viscous friction: oil that warms up
COULOMB_SHARE = 0.10  # of the Coulomb friction
LOAD_SHARE = 0.02  # of the torque: torque constants, gear losses
AT_REST = 0.02  # rad/s: an axis slower than this may be held by its friction

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
