"""The free variables and cones of one body, by its kind and by the family of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.bodies.body import (
    Body,
    BodyKind,
    Cone,
    Form,
    Hull,
    line,
    line_cone,
    matrix_cone,
)
from deltadyn.robot import Robot

# Struts and rods of the spindle: thin with three or four variables, or solid with ten.


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


MASSLESS = 0.1  # kg, reference of a body whose mass is not known
EFFECTOR_SIZE = 0.1  # m
UNKNOWN_ROTOR = 3.0  # times the arm's inertia: a rotor that no file names takes what is found
FRICTION_SIZE = 1.0  # N m or N m s/rad, reference where nothing is known
PLANAR = {"arm": ("m", "mcx", "mcz", "Iyy"), "effector": ("m", "mcx", "mcy", "Izz")}


def body_of(
    robot: Robot,
    name: str,
    family: str,
    index: Mapping[str, int],
    known: Mapping[str, float],
    hull: Hull | None,
) -> Body:
    """The body of that name: "arm", "arm1", "strut2", "platform", "upper", "lower", "effector"."""
    kind = name.rstrip("123")
    limb = int(name[-1]) - 1 if name[-1] in "123" else 0
    mass = known[f"{name}.m"] if known[f"{name}.m"] > 0 else MASSLESS
    if kind == "arm":
        arm = _arm(name, robot.geometry.arm_length[limb], mass, index, hull)
        return _not_too_heavy(arm, known, index, hull)
    if kind == "strut":
        strut = strut_body(name, family, robot.geometry.strut_length[limb], mass, index, hull)
        return _not_too_heavy(strut, known, index, hull)
    if kind == "platform":
        return _platform(robot, name, mass, index)
    if kind == "effector":
        return _effector(robot, name, mass, index, hull)
    assert robot.spindle is not None
    length = getattr(robot.spindle, kind).length
    rod = rod_body(name, family, length, mass, index, hull)
    return _not_too_heavy(rod, known, index, hull)


def _not_too_heavy(
    body: Body, known: Mapping[str, float], index: Mapping[str, int], hull: Hull | None
) -> Body:
    """A body whose mass hardly reaches the torque must not run away with it."""
    mass = known[f"{body.name}.m"]
    if hull is None or hull.heaviest is None or mass <= 0:
        return body
    most = hull.heaviest * mass
    text = f"{body.name} is not heavier than {most:g} kg, {hull.heaviest:g} times the robot file's"
    cone = line_cone(body.name, "hull", text, index, {"m": -1.0}, mass, most)
    return replace(body, cones=(*body.cones, cone))


def scalar_of(
    robot: Robot, name: str, index: Mapping[str, int], known: Mapping[str, float]
) -> Body:
    """A rotor or a friction term: one number that is not negative; an offset may have any sign."""
    value, kind = known[name], _scalar_kind(name)
    if kind == "rotor":
        arm = known.get("arm.Iyy", known.get("arm1.Iyy", 0.0))
        size = (
            value if value > 0 else (UNKNOWN_ROTOR * arm if name != "rotor4" and arm > 0 else 1e-3)
        )
    else:
        size = abs(value) if value else FRICTION_SIZE
    if kind == "offset":
        cones: tuple[Cone, ...] = ()
    else:
        text = f"{name} is not negative"
        cones = (line_cone(name, "inertia", text, index, {"": 1.0}, size),)
        if name.startswith("mu"):
            share = f"{name} is at most 0.9 of the load"
            cones += (line_cone(name, "bound", share, index, {"": -1.0}, 0.9, 0.9),)
    inside = min(size, 0.5) if name.startswith("mu") else size
    return Body(name, kind, ("",), ({"": 1.0},), np.array([size]), np.array([inside]), cones)


def _scalar_kind(name: str) -> BodyKind:
    if name.startswith("rotor"):
        return "rotor"
    return "offset" if name.startswith("F0") else "friction"


def _arm(name: str, l1: float, m: float, index: Mapping[str, int], hull: Hull | None) -> Body:
    rows = (("Iyy", "mcx", "mcz"), ("mcx", "m", ""), ("mcz", "", "m"))
    root = np.sqrt(m)
    text = f"{name} is a body: Iyy m >= mcx^2 + mcz^2"
    cones = [matrix_cone(name, "inertia", text, index, rows, (root * l1, root, root))]
    if hull is not None:
        low, high, height = -hull.arm_overhang * l1, (1 + hull.arm_overhang) * l1, hull.arm_height
        if hull.arm_com:
            cones += [
                line(
                    name,
                    f"the COM of {name} is not behind its shoulder",
                    index,
                    {"mcx": 1.0},
                    m * l1,
                ),
                line(
                    name,
                    f"the COM of {name} is not past its elbow",
                    index,
                    {"m": l1, "mcx": -1.0},
                    m * l1,
                ),
            ]
        reach = {"mcx": low + high, "m": (height * l1) ** 2 - low * high, "Iyy": -1.0}
        words = (
            f"the mass of {name} lies between {low:g} and {high:g} m along its line and within "
            f"{height * l1:g} m of it"
        )
        cones.append(line(name, words, index, reach, m * l1**2))
    scale = np.array([m, m * l1, m * l1, m * l1**2])
    inside = np.array([m, m * l1 / 2, 0.0, 0.4 * m * l1**2])
    return _planar(name, "arm", scale, inside, tuple(cones))


def _effector(
    robot: Robot, name: str, m: float, index: Mapping[str, int], hull: Hull | None
) -> Body:
    """Effector and payload; what is left without the declared payload is a body."""
    payload = robot.payload
    px, py, _ = payload.offset
    known = payload.mass
    about = payload.inertia_zz + known * (px**2 + py**2)
    fixed = np.array(
        [[about, known * px, known * py], [known * px, known, 0.0], [known * py, 0.0, known]]
    )
    L = EFFECTOR_SIZE if hull is None or hull.effector_radius is None else hull.effector_radius
    rows = (("Izz", "mcx", "mcy"), ("mcx", "m", ""), ("mcy", "", "m"))
    root = np.sqrt(m)
    less = f", without the payload of {known:g} kg" if known else ""
    text = f"{name}{less} is a body: Izz m >= mcx^2 + mcy^2"
    cones = [matrix_cone(name, "inertia", text, index, rows, (root * L, root, root), -fixed)]
    if hull is not None and hull.effector_radius is not None:
        words = f"the mass of {name} lies within {L:g} m of axis 4"
        cones.append(line(name, words, index, {"m": L**2, "Izz": -1.0}, m * L**2))
    scale = np.array([m, m * L, m * L, m * L**2])
    inside = np.array([known + m, known * px, known * py, about + m * L**2 / 2])
    if hull is not None and hull.effector_radius is not None:
        inside[3] = min(inside[3], about + (m * L**2 + max(known * L**2 - about, 0.0)) / 2)
    return _planar(name, "effector", scale, inside, tuple(cones))


def _planar(
    name: str,
    kind: Literal["arm", "effector"],
    scale: FloatArray,
    inside: FloatArray,
    cones: tuple[Cone, ...],
) -> Body:
    names = PLANAR[kind]
    forms: tuple[Form, ...] = tuple({entry: 1.0} for entry in names)
    return Body(name, kind, names, forms, scale, inside, cones)


def _platform(robot: Robot, name: str, m: float, index: Mapping[str, int]) -> Body:
    """On a 3-DOF robot effector and payload ride on the platform and are known."""
    known = 0.0
    if robot.spindle is None:
        known = robot.effector.mass + robot.payload.mass
    text = f"{name}.m is not below the known {known:g} kg" if known else f"{name}.m is not negative"
    cone = line_cone(name, "inertia", text, index, {"m": 1.0}, m, -known)
    inside = np.array([max(known + MASSLESS, m)])
    return Body(name, "platform", ("m",), ({"m": 1.0},), np.array([m]), inside, (cone,))
