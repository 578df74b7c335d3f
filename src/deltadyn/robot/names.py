"""The field that a wrong name of a robot file was meant for.

Three things are compared: the letters (edit distance), the words of the name with what other
people call the same thing (`WORDS`), and the letters of papers and data sheets (`SYMBOLS`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from deltadyn.robot.fields import Field, sections
from deltadyn.units import KINDS

MOST = 3  # suggestions in a message
SPELLING = 0.85  # likeness of letters (0 to 1) that is a slip of the pen
LIKENESS = 0.6  # and that is still worth a suggestion
SHARED = 0.5  # least share of common words

_UNITS = sorted({unit.suffix for units in KINDS.values() for unit in units}, key=len, reverse=True)

#: Several words for one, put in before a name is cut into words.
PHRASES = {
    "lower_arm": "strut",
    "upper_arm": "arm",
    "connecting_rod": "strut",
    "end_effector": "effector",
    "center_of_mass": "com",
    "centre_of_mass": "com",
    "center_of_gravity": "com",
    "centre_of_gravity": "com",
    "moment_of_inertia": "inertia",
    "moving_platform": "platform",
    "travelling_plate": "platform",
    "degrees_of_freedom": "dof",
    "motor_inertia": "rotor_inertia",
    "motor_torque": "torque",
    "max_torque": "torque_peak",
}

#: What other people say, and our words for it.
WORDS: dict[str, tuple[str, ...]] = {
    "acc": ("acceleration",),
    "actuator": ("drives",),
    "actuators": ("drives",),
    "arms": ("arm",),
    "bars": ("bar",),
    "base": ("geometry",),
    "belt": ("pulley",),
    "bicep": ("arm",),
    "biceps": ("arm",),
    "cart": ("carriage",),
    "carriages": ("carriage",),
    "cog": ("com",),
    "column": ("rail",),
    "continuous": ("rms",),
    "crank": ("arm",),
    "cycle": ("cycles",),
    "damping": ("viscous",),
    "diagonal": ("strut",),
    "dimensions": ("geometry",),
    "direction": ("sign",),
    "directions": ("sign",),
    "drive": ("drives",),
    "dry": ("coulomb",),
    "encoder": ("sensors", "controller"),
    "encoders": ("sensors", "controller"),
    "flange": ("effector",),
    "forearm": ("strut",),
    "forearms": ("strut",),
    "gear": ("drives", "gear"),
    "gearbox": ("drives", "gear"),
    "gears": ("gear",),
    "gripper": ("effector",),
    "guide": ("rail",),
    "height": ("z_min", "z_max"),
    "halves": ("half",),
    "home": ("offset",),
    "homing": ("offset", "controller"),
    "j": ("inertia",),
    "kinematics": ("geometry",),
    "lever": ("arm",),
    "load": ("payload",),
    "masses": ("mass",),
    "max": ("peak",),
    "maximum": ("peak", "max"),
    "mean": ("rms",),
    "minimum": ("min",),
    "motor": ("rotor", "drives"),
    "motors": ("drives",),
    "nominal": ("rms",),
    "nut": ("carriage",),
    "orientation": ("azimuth",),
    "parallelogram": ("strut",),
    "pitch": ("lead", "pitch"),
    "plate": ("platform",),
    "q": ("angle",),
    "rated": ("rms",),
    "reduction": ("gear", "ratio"),
    "rod": ("strut",),
    "rods": ("strut",),
    "screw": ("lead",),
    "servo": ("drives",),
    "shaft": ("spindle", "rotor"),
    "side": ("rotor_side",),
    "slide": ("carriage",),
    "slider": ("carriage", "spindle"),
    "speed": ("rate",),
    "static": ("stribeck", "coulomb"),
    "sticking": ("stribeck",),
    "stiction": ("stribeck",),
    "struts": ("strut",),
    "stroke": ("position",),
    "tcp": ("platform",),
    "telescope": ("spindle",),
    "theta": ("angle",),
    "tool": ("effector",),
    "tower": ("rail",),
    "travel": ("position",),
    "transmission": ("gear", "drives"),
    "type": ("kind",),
    "velocity": ("rate", "speed"),
    "weight": ("mass",),
    "zero": ("offset",),
}

#: Letters of papers and data sheets, exactly as they are written; paths from the top of the file.
SYMBOLS: dict[str, tuple[str, ...]] = {
    "R": ("geometry.base_radius",),
    "r": ("geometry.platform_radius",),
    "ra": ("geometry.base_radius",),
    "rb": ("geometry.platform_radius",),
    "L": ("geometry.arm_length",),
    "l": ("geometry.strut_length",),
    "L1": ("geometry.arm_length",),
    "L2": ("geometry.strut_length",),
    "l1": ("geometry.arm_length",),
    "l2": ("geometry.strut_length",),
    "la": ("geometry.arm_length",),
    "lb": ("geometry.strut_length",),
    "alpha": ("geometry.azimuth",),
    "phi": ("geometry.azimuth",),
    "g": ("gravity",),
    "i": ("drives.gear_ratio",),
    "n": ("drives.gear_ratio",),
    "Fv": ("friction.viscous",),
    "Fc": ("friction.coulomb",),
    "inertia": ("drives.rotor_inertia", "arm.inertia", "strut.inertia"),
    "torque": ("limits.torque_peak", "limits.torque_rms", "friction.coulomb"),
    "rods": ("strut", "strut.rods"),
    "dof": ("spindle",),
    "workspace": ("limits.workspace",),
}


Sections = Mapping[str, tuple[Field, ...]]


def meant(
    key: str, path: str, fields: Sequence[Field], known_sections: Sections | None = None
) -> tuple[str, ...]:
    """What a key that no field of a section has may have been meant for, the likeliest first.

    `path` is the section's, "" for the whole file. A name of the section itself comes alone; one
    of another section comes with its path. `known_sections` are those of the robot's kind, those
    of arms by default.
    """
    places = known_sections or sections()
    keys = [name for field in fields for name in field.keys]
    near = difflib.get_close_matches(key, keys, n=1, cutoff=SPELLING)
    if near:
        return tuple(near)
    name, unit = _without_unit(key)
    inside = f"{path}." if path else ""
    symbol = next((text for text in (name, key, _joined(name)) if text in SYMBOLS), "")
    found_keys = (_keyed(place, unit, places) for place in SYMBOLS.get(symbol, ()))
    known = [found for found in found_keys if found]
    own = [place.removeprefix(inside) for place in known if place.startswith(inside)]
    own = [place for place in own if "." not in place]
    best = _most_shared(name, [f for f in fields if not (unit and f.shape == "section")])
    if own or best:
        found = own or [_written(field, unit) for field in best]
        return tuple(dict.fromkeys(found))[:MOST]
    if known:
        return tuple(known)[:MOST]
    near = difflib.get_close_matches(key, keys, n=1, cutoff=LIKENESS)
    return tuple(near or _elsewhere(key, name, unit, path, places))


def _most_shared(name: str, fields: Sequence[Field]) -> list[Field]:
    """The fields that share most words with a name, where that is enough."""
    asked = _words(name)
    shares = [(_share(asked, field.name), field) for field in fields]
    most = max((share for share, _ in shares), default=0.0)
    return [field for share, field in shares if share == most and most >= SHARED]


def _share(asked: Sequence[str], name: str) -> float:
    """Common words over all words of both (Jaccard), where a word stands for its synonyms too."""
    own = set(name.split("_"))
    common: set[str] = set()
    for word in asked:
        common |= {said for said in (word, *WORDS.get(word, ())) if said in own or said == name}
    size = len(asked) + len(own) - len(common)
    return len(common) / size if size > 0 else 1.0


def _joined(name: str) -> str:
    """A name in small letters, with one word for several that mean one thing."""
    lower = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    for several, one in PHRASES.items():
        lower = re.sub(rf"(^|_){several}(_|$)", rf"\g<1>{one}\g<2>", lower)
    return lower


def _words(name: str) -> list[str]:
    return [word for word in _joined(name).split("_") if word not in ("", "of", "the", "at", "in")]


def _elsewhere(
    key: str, name: str, unit: str, path: str, known_sections: Sections
) -> Iterator[str]:
    """The same field of another section, where just one section has it."""
    places = [
        f"{place}.{_written(field, unit)}"
        for place, fields in known_sections.items()
        if place not in ("", path)
        for field in fields
        if key in field.keys or name == field.name
    ]
    if len(places) == 1:
        yield places[0]


def _without_unit(key: str) -> tuple[str, str]:
    """A key as name and unit; the unit is empty where it has none."""
    for unit in _UNITS:
        if key.lower().endswith(f"_{unit.lower()}"):
            return key[: -len(unit) - 1], unit
    return key, ""


def _written(field: Field, unit: str) -> str:
    """A field's key, with the unit that was written where the field can have it."""
    wanted = f"{field.name}_{unit}"
    return wanted if wanted in field.keys else field.keys[0]


def _keyed(path: str, unit: str, known_sections: Sections) -> str:
    """The path of a field with its unit; empty where a robot of this kind has no such field."""
    section, _, name = path.rpartition(".")
    fields = known_sections.get(section, ())
    field = next((field for field in fields if field.name == name), None)
    if field is None:
        return ""
    key = _written(field, unit)
    return f"{section}.{key}" if section else key
