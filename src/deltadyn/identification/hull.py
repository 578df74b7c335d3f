"""The hull of a body: where its mass can be, as shares of the lengths in the robot file."""

from __future__ import annotations

from dataclasses import dataclass, fields

from deltadyn.errors import InputError


@dataclass(frozen=True)
class Hull:
    """Where mass can be, so that no fit gives a thin strut a gyration radius of 0.3 m.

    An arm's mass lies between `-arm_overhang` and `1 + arm_overhang` of its length and within
    `arm_height` of its length above and below its line; its COM lies between its joints where
    `arm_com` is set. A strut lies between its ball joints and within `strut_radius` of its length
    of its axis, a rod of the spindle between its joint and its length (where given) and within
    `rod_radius` of it. `effector_radius` is in metres; None knows nothing of the effector. No arm,
    strut or rod is heavier than `heaviest` times what the robot file says; None asks nothing.
    """

    arm_com: bool = True
    arm_overhang: float = 0.25
    arm_height: float = 0.25
    strut_radius: float = 0.03
    rod_radius: float = 0.05
    effector_radius: float | None = None
    heaviest: float | None = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.arm_com, bool):
            raise InputError("hull.arm_com", self.arm_com, "True or False")
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value is None and item.name in ("effector_radius", "heaviest"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InputError(f"hull.{item.name}", value, "a number above 0")
        if self.heaviest is not None and self.heaviest <= 1:
            raise InputError("hull.heaviest", self.heaviest, "a number above 1, or None")
