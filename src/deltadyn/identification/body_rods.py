"""Struts and rods of the spindle: thin with three or four variables, or solid with ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from deltadyn.identification.body import Body, line
from deltadyn.identification.cones import Cone, Form, matrix_cone
from deltadyn.identification.hull import Hull

ROD_LENGTH = 0.5  # m, reference of a rod whose length is not known

#: The inertia tensor's entries by a body's second moments.
_FORMS: dict[str, Form] = {
    "Sxx": {"Iyy": 1.0, "Izz": 1.0},
    "Syy": {"Ixx": 1.0, "Izz": 1.0},
    "Szz": {"Ixx": 1.0, "Iyy": 1.0},
    "Sxy": {"Ixy": -1.0},
    "Syz": {"Iyz": -1.0},
    "Sxz": {"Ixz": -1.0},
}
_FULL = ("m", "mcx", "mcy", "mcz", "Sxx", "Syy", "Szz", "Sxy", "Syz", "Sxz")


def strut_body(
    name: str, family: str, l2: float, m: float, index: Mapping[str, int], hull: Hull | None
) -> Body:
    """Frame at the elbow, x along the rod."""
    share = 0.03 if hull is None else hull.strut_radius
    r = share * l2
    between = line(
        name,
        f"the mass of {name} lies between its ball joints",
        index,
        {"mcx": l2, "Sxx": -1.0},
        m * l2**2,
        "inertia" if family == "exact" else "hull",
    )
    if family == "exact":
        cone = _thin(name, "x", l2, m, index)
        scale = np.array([m, m * l2, m * l2**2])
        inside = np.array([m, m * l2 / 2, 0.35 * m * l2**2])
        forms: tuple[Form, ...] = ({"m": 1.0}, {"mcx": 1.0}, _FORMS["Sxx"])
        return Body(name, "strut", ("m", "mcx", "Sxx"), forms, scale, inside, (cone, between))
    return _solid(name, "strut", family, "x", 1.0, l2, r, m, index, hull, between)


def rod_body(
    name: str,
    family: str,
    length: float | None,
    m: float,
    index: Mapping[str, int],
    hull: Hull | None,
) -> Body:
    """Frame at the rod's own joint, z down: the upper part lies at z > 0, the lower at z < 0."""
    kind: Literal["upper", "lower"] = "upper" if name == "upper" else "lower"
    side = 1.0 if kind == "upper" else -1.0
    L = ROD_LENGTH if length is None else length
    r = (0.05 if hull is None else hull.rod_radius) * L
    if length is None:
        where = line(
            name, f"the COM of {name} lies on its side of its joint", index, {"mcz": side}, m * L
        )
    else:
        words = f"the mass of {name} lies between its joint and its length of {L:g} m"
        where = line(name, words, index, {"mcz": side * L, "Szz": -1.0}, m * L**2)
    if family != "exact":
        return _solid(name, kind, family, "z", side, L, r, m, index, hull, where)
    on_side = line(
        name,
        f"the COM of {name} lies on its side of its joint",
        index,
        {"mcz": side},
        m * L,
        "inertia",
    )
    axial = line(
        name,
        f"the axial inertia of {name} is not negative",
        index,
        {"Izz": 1.0},
        m * r**2,
        "inertia",
    )
    cones = [_thin(name, "z", L, m, index), on_side, axial]
    if hull is not None:
        if length is not None:
            cones.append(where)
        words = f"the mass of {name} lies within {r:g} m of its axis"
        cones.append(line(name, words, index, {"m": 2 * r**2, "Izz": -1.0}, m * r**2))
    forms: tuple[Form, ...] = (
        {"m": 1.0},
        {"mcz": 1.0},
        _FORMS["Szz"],
        {"Ixx": 1.0, "Iyy": 1.0, "Izz": 2.0},
    )
    scale = np.array([m, m * L, m * L**2, m * r**2])
    inside = np.array([m, side * m * L / 2, 0.35 * m * L**2, m * r**2 / 4])
    return Body(name, kind, ("m", "mcz", "Szz", "Srr"), forms, scale, inside, tuple(cones))


def _thin(name: str, axis: str, L: float, m: float, index: Mapping[str, int]) -> Cone:
    rows = ((f"S{axis * 2}", f"mc{axis}"), (f"mc{axis}", "m"))
    root = np.sqrt(m)
    text = f"{name} is a body: second moment times mass >= first moment squared"
    return matrix_cone(name, "inertia", text, index, rows, (root * L, root))


def _solid(
    name: str,
    kind: Literal["strut", "upper", "lower"],
    family: str,
    axis: str,
    side: float,
    L: float,
    r: float,
    m: float,
    index: Mapping[str, int],
    hull: Hull | None,
    where: Cone,
) -> Body:
    """Ten variables, or those that a symmetric body has, and the 4x4 pseudo-inertia."""
    rows = (
        ("Sxx", "Sxy", "Sxz", "mcx"),
        ("Sxy", "Syy", "Syz", "mcy"),
        ("Sxz", "Syz", "Szz", "mcz"),
        ("mcx", "mcy", "mcz", "m"),
    )
    reach = {"x": r, "y": r, "z": r, axis: L}
    root = np.sqrt(m)
    size = (root * reach["x"], root * reach["y"], root * reach["z"], root)
    text = f"the pseudo-inertia of {name} is positive semidefinite"
    cones = [matrix_cone(name, "inertia", text, index, rows, size)]
    if hull is not None:
        cones.append(where)
        for other in "xyz".replace(axis, ""):
            words = f"the mass of {name} lies within {r:g} m of its axis along {other}"
            form = {"m": r**2, f"S{other * 2}": -1.0}
            cones.append(line(name, words, index, form, m * r**2))
    names: tuple[str, ...] = _FULL
    if family == "reduced":
        names = ("m", f"mc{axis}", "Sxx", "Syy", "Szz")
    forms: tuple[Form, ...] = tuple(_FORMS.get(entry, {entry: 1.0}) for entry in names)
    scale = m * np.array([_extent(entry, reach) for entry in names])
    inner = {"m": 1.0, f"mc{axis}": side * L / 2, "Sxx": r**2 / 4, "Syy": r**2 / 4, "Szz": r**2 / 4}
    inner[f"S{axis * 2}"] = 0.35 * L**2
    inside = m * np.array([inner.get(entry, 0.0) for entry in names])
    return Body(name, kind, names, forms, scale, inside, tuple(cones))


def _extent(entry: str, reach: Mapping[str, float]) -> float:
    """Reference of an entry per kg: 1, a length, or a product of two."""
    axes = entry.removeprefix("mc").removeprefix("S") if entry != "m" else ""
    return float(np.prod([reach[axis] for axis in axes]))
