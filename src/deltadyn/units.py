"""Units of a robot file: every field that has a unit carries it as a suffix of its name.

The units of an axis's quantities, which a carriage on a rail has in m and N; counts and shares in
per cent, for sentences and tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Unit:
    """A unit, written as the `suffix` of a field's name, and its way to SI."""

    suffix: str
    to_si: Callable[[float], float]


def _si(suffix: str) -> Unit:
    return Unit(suffix, float)


def _power(suffix: str, exponent: int) -> Unit:
    """10^exponent of the SI unit, in decimal arithmetic: 1106 mm is the very float of 1.106 m."""
    return Unit(suffix, lambda value: float(Decimal(repr(value)).scaleb(exponent)))


def _degree(suffix: str) -> Unit:
    return Unit(suffix, math.radians)


#: Units by the kind of the quantity, the SI unit first. A number without a unit has no suffix.
KINDS: dict[str, tuple[Unit, ...]] = {
    "number": (),
    "length": (_si("m"), _power("mm", -3), _power("cm", -2)),
    "angle": (_si("rad"), _degree("deg")),
    "mass": (_si("kg"), _power("g", -3)),
    "inertia": (_si("kgm2"), _power("kgcm2", -4), _power("gm2", -3)),
    "first moment": (_si("kgm"),),
    "torque": (_si("Nm"),),
    "force": (_si("N"),),
    "rate": (_si("rad_s"), _degree("deg_s"), Unit("rpm", lambda value: value * math.pi / 30)),
    "angular acceleration": (_si("rad_s2"), _degree("deg_s2")),
    "speed": (_si("m_s"), _power("mm_s", -3)),
    "acceleration": (_si("m_s2"), _power("mm_s2", -3)),
    "viscous friction": (_si("Nms_rad"),),
    "stiffness": (_si("Nm_rad"),),
    "linear viscous friction": (_si("Ns_m"),),
    "linear stiffness": (_si("N_m"), _power("N_mm", 3)),
    "repetition": (_si("per_min"),),
}

#: Units of an axis's quantities: of one that turns, and of a carriage on a rail.
AXIS_UNITS: dict[str, tuple[str, str]] = {
    "q": ("rad", "m"),
    "qd": ("rad/s", "m/s"),
    "qdd": ("rad/s^2", "m/s^2"),
    "tau": ("N m", "N"),
    "inertia": ("kg m^2", "kg"),
    "first moment": ("kg m", "kg"),
    "viscous": ("N m s/rad", "N s/m"),
    "stiffness": ("N m/rad", "N/m"),
}
_RAIL_UNITS = dict(AXIS_UNITS.values())
#: Numbers of the axes in results for JSON, by their quantity; their keys end in the unit.
AXIS_NUMBERS = {
    "tau": (
        "residual_rms", "held_out_rms", "torque_rms", "torque_peak", "torque_std", "rms",
        "noise_std",
    ),
    "qd": ("speed_peak",),
    "q": ("tracking_error_rms",),
}  # fmt: skip

_DIGITS = 9  # a degree with more decimals is no more readable than the radian


def keys(name: str, kind: str) -> tuple[str, ...]:
    """The ways to write a field in a file: its name with each unit of its kind."""
    return tuple(f"{name}_{unit.suffix}" for unit in KINDS[kind]) or (name,)


def unit_of(kind: str, suffix: str) -> Unit | None:
    """The unit with this suffix among those of the kind."""
    return next((unit for unit in KINDS[kind] if unit.suffix == suffix), None)


def written(kind: str, values: tuple[float, ...]) -> tuple[str, tuple[float, ...]]:
    """The key's suffix ("" or "_m") and the numbers that a file should show for SI values.

    Angles and their rates are shown in degrees where short degrees give exactly these radians;
    everything else is shown in SI, so that reading gives back the same floats.
    """
    units = KINDS[kind]
    if not units:
        return "", values
    degree = next((unit for unit in units if unit.to_si is math.radians), None)
    if degree is not None:
        short = tuple(_short_degrees(value) for value in values)
        if all(value is not None for value in short):
            return f"_{degree.suffix}", tuple(value for value in short if value is not None)
    return f"_{units[0].suffix}", values


def _short_degrees(radians: float) -> float | None:
    """The shortest decimal number of degrees that is exactly this many radians, if there is one."""
    degrees = math.degrees(radians)
    for digits in range(_DIGITS + 1):
        candidate = round(degrees, digits)
        same_sign = math.copysign(1.0, candidate) == math.copysign(1.0, radians)
        if same_sign and math.radians(candidate) == radians:
            return candidate
    return None


def on_axis(unit: str, linear: bool) -> str:
    """The unit of an axis's quantity: that of arms as it is, on rails "N m" becomes "N"."""
    return _RAIL_UNITS.get(unit, unit) if linear else unit


def together(units: Sequence[str]) -> str:
    """Units of some axes in a heading: "N m", or "N, N m" where they differ."""
    return ", ".join(dict.fromkeys(units))


def key_end(unit: str) -> str:
    """A unit as the end of a key of results: "Nm" of "N m", "rad_per_s" of "rad/s"."""
    return unit.replace(" ", "").replace("/", "_per_").replace("^", "")


_RAIL_KEYS = {
    f"{name}_{key_end(AXIS_UNITS[quantity][0])}": f"{name}_{key_end(AXIS_UNITS[quantity][1])}"
    for quantity, names in AXIS_NUMBERS.items()
    for name in names
}


def rail_keys(record: Any) -> Any:
    """Results with the keys of `AXIS_NUMBERS` as they are on rails: "torque_rms_N"."""
    if isinstance(record, Mapping):
        return {_RAIL_KEYS.get(key, key): rail_keys(value) for key, value in record.items()}
    return [rail_keys(item) for item in record] if isinstance(record, list) else record


def counted(number: int, word: str, many: str | None = None) -> str:
    """A number of things in words: 1 night, 2 nights; `many` where that is not the word with s."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def percent(share: float | None) -> str:
    """A share in percent with its unit; "-" where there is none."""
    if share is None or not math.isfinite(share):
        return "-"
    return f"{100 * share:.0f} %" if abs(share) >= 0.995 else f"{100 * share:.2g} %"
