"""What a recording can hold, and the units in which a file may give it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from deltadyn.arrays import FloatArray


@dataclass(frozen=True)
class Unit:
    """A unit: SI value = x * factor / divisor + shift, exact where both are 1."""

    name: str
    factor: float = 1.0
    divisor: float = 1.0
    shift: float = 0.0

    def to_si(self, x: FloatArray) -> FloatArray:
        """Values in SI; division keeps 5 ms the very float of 0.005 s."""
        if self.factor != 1.0:
            x = x * self.factor
        if self.divisor != 1.0:
            x = x / self.divisor
        return x + self.shift if self.shift else x


DEGREE = math.pi / 180
TURN = 2 * math.pi

_TIME = {
    Unit("s"): "s sec second seconds",
    Unit("ms", divisor=1e3): "ms msec millisecond milliseconds",
    Unit("us", divisor=1e6): "us µs μs usec microsecond microseconds",
    Unit("ns", divisor=1e9): "ns nsec nanosecond nanoseconds",
    Unit("min", factor=60.0): "min minute minutes",
}
_ANGLE = {
    Unit("rad"): "rad radian radians",
    Unit("mrad", divisor=1e3): "mrad",
    Unit("deg", factor=DEGREE): "deg ° degree degrees",
    Unit("mdeg", factor=DEGREE, divisor=1e3): "mdeg m°",
    Unit("rev", factor=TURN): "rev turn turns revolution revolutions U",
}
_RATE = {
    Unit("rad/s"): "rad/s radps rad_s rad_per_s",
    Unit("mrad/s", divisor=1e3): "mrad/s mrad_s",
    Unit("deg/s", factor=DEGREE): "deg/s °/s degps deg_s deg_per_s dps",
    Unit("rpm", factor=TURN, divisor=60.0): "rpm 1/min U/min rev/min min-1 rev_min",
    Unit("rev/s", factor=TURN): "rev/s rps rev_s",
}
_ACCELERATION = {
    Unit("rad/s^2"): "rad/s^2 rad/s2 rad_s2 rad/s/s",
    Unit("deg/s^2", factor=DEGREE): "deg/s^2 °/s^2 deg/s2 °/s2 deg_s2 deg/s/s",
}
_TORQUE = {
    Unit("Nm"): "Nm N*m N.m N-m",
    Unit("mNm", divisor=1e3): "mNm mN*m",
    Unit("Ncm", divisor=1e2): "Ncm N*cm cNm",
    Unit("kNm", factor=1e3): "kNm kN*m",
    Unit("percent", divisor=1e2): "% percent pct",
    Unit("permille", divisor=1e3): "‰ permille 0.1% 1/1000",
}
_CURRENT = {Unit("A"): "A amp ampere Arms Aeff", Unit("mA", divisor=1e3): "mA mAmp"}
_LENGTH = {
    Unit("m"): "m meter metre",
    Unit("mm", divisor=1e3): "mm",
    Unit("cm", divisor=1e2): "cm",
    Unit("um", divisor=1e6): "um µm μm",
}
_MASS = {Unit("kg"): "kg", Unit("g", divisor=1e3): "g gram grams"}
_TEMPERATURE = {
    Unit("degC"): "degC °C C celsius",
    Unit("K", shift=-273.15): "K kelvin",
    Unit("degF", factor=5.0, divisor=9.0, shift=-160 / 9): "degF °F fahrenheit",
}

#: Torque units that are shares of a rated torque.
RATED = ("percent", "permille")


@dataclass(frozen=True)
class Quantity:
    """A quantity of a recording: its field, its units (SI first) and whether each axis has one."""

    name: str
    units: dict[Unit, str]
    per_axis: bool
    words: str  # what it may be called in a header

    @property
    def si(self) -> Unit:
        """The unit inside."""
        return next(iter(self.units))

    def unit(self, text: str) -> Unit | None:
        """The unit of this spelling; capitals matter only where they make a difference."""
        wanted = _plain(text)
        for same in (_plain, lambda word: _plain(word).lower()):
            for unit, spellings in self.units.items():
                if same(wanted) in {same(word) for word in [unit.name, *spellings.split()]}:
                    return unit
        return None


_Q = "q theta th angle pos position phi winkel lage"
_TAU = "tau torque trq effort moment drehmoment mom"

QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("t", _TIME, False, "t time zeit timestamp clock"),
        Quantity("q", _ANGLE, True, _Q),
        Quantity("tau", _TORQUE, True, _TAU),
        Quantity("current", _CURRENT, True, "current cur i iq strom"),
        Quantity("q_command", _ANGLE, True, _Q),
        Quantity(
            "qd",
            _RATE,
            True,
            "qd dq qdot dqdt thetad dtheta thetadot omega vel velo velocity speed rate "
            "geschwindigkeit",
        ),
        Quantity(
            "qdd", _ACCELERATION, True, "qdd ddq qddot thetadd ddtheta acc acceleration alpha"
        ),
        Quantity("tau_command", _TORQUE, True, _TAU),
        Quantity("p", _LENGTH, True, "x y z"),
        Quantity("payload", _MASS, False, "payload load nutzlast"),
        Quantity("temperature", _TEMPERATURE, False, "temperature temp temperatur"),
    )
}

ANGLE = QUANTITIES["q"]  # psi of the platform is an angle among lengths


def unit_names(quantity: Quantity) -> str:
    """The units of a quantity for a message."""
    return ", ".join(unit.name for unit in quantity.units)


def _plain(text: str) -> str:
    """One spelling of a unit: no spaces, * for every multiplication sign, ^2 for ²."""
    text = re.sub(r"[·⋅∙×•]", "*", text.strip()).replace("²", "^2")
    return re.sub(r"\s+", "*" if re.search(r"N\s+c?m$", text) else "", text)
