"""Charts of consistent bodies: free variables from parameters that may have any value.

A solid's pseudo-inertia is U'U e^(2 alpha), U upper triangular with exponentials on its diagonal:
its columns are (e^d1, 0, 0, 0), (s12, e^d2, 0, 0), (s13, s23, e^d3, 0), (t1, t2, t3, 1) [gnad2024]
eqs. 13-14. Eq. 14 as scanned lacks I_zz and has s12 in I_yy where s23 belongs, so the map here
comes from the factor. Thin and planar bodies, rotors and friction have charts of the same kind. All
values are scaled by the body's reference mass and lengths, which moves the paper's parameters by
constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.body import Body

# A chart is a smooth map from all of R^p onto the inside of a body's cone, so that a method without
# constraints never leaves it. Its parts are the map u(p), the derivative du/dp, and `start`, the
# inverse for a body inside. Every positive quantity is an exponential: e^(2 a) for a mass, and
# for a matrix [[S, h], [h, m]] >= 0 with det = m S - h^2 the form m = e^(2a), h = e^(a + s),
# S = e^(2s) + e^(2b), which has m S - h^2 = e^(2a + 2b) > 0 for any a, s, b. At the border of the
# cone a logarithm runs to minus infinity and the derivative with it to 0. Derivatives are written
# out by hand and checked against the complex step, so `map` also takes complex parameters.


LEAST = 1e-6  # of a body's size: a start closer to the border is moved inside

#: parameters (p,) -> variables (k,), and the derivative (k, p).
Map = Callable[[Any], tuple[Any, Any]]

_PLACES = {
    "m": (3, 3),
    "mcx": (0, 3),
    "mcy": (1, 3),
    "mcz": (2, 3),
    "Sxx": (0, 0),
    "Syy": (1, 1),
    "Szz": (2, 2),
    "Sxy": (0, 1),
    "Syz": (1, 2),
    "Sxz": (0, 2),
}
_SOLID = {
    "alpha": None,
    "d1": (0, 0),
    "d2": (1, 1),
    "d3": (2, 2),
    "s12": (0, 1),
    "s23": (1, 2),
    "s13": (0, 2),
    "t1": (0, 3),
    "t2": (1, 3),
    "t3": (2, 3),
}


@dataclass(frozen=True, eq=False)
class Chart:
    """One body's map from `names` (p,) to its scaled free variables (k,), and its inverse.

    `start(u, least)` moves variables inside that are closer to the border than `least` of the
    body's size.
    """

    body: str
    names: tuple[str, ...]
    map: Map
    start: Callable[[FloatArray, float], FloatArray]


def charts(bodies: Bodies, guess: FloatArray, reduction: bool) -> tuple[Chart, ...]:
    """The charts of all bodies; `guess` (k,) in scaled variables fixes what is not a parameter."""
    out, start = [], 0
    for body in bodies.bodies:
        own = slice(start, start + len(body.variables))
        start = own.stop
        out.append(_chart(body, guess[own], bodies, reduction))
    return tuple(out)


def _chart(body: Body, guess: FloatArray, bodies: Bodies, reduction: bool) -> Chart:
    paper = reduction and bodies.family == "reduced"
    if body.kind == "offset":
        return Chart(body.name, (body.name,), lambda p: (p, np.eye(1)), lambda u, _: u)
    if body.kind in ("rotor", "friction", "platform", "carriage"):
        spindle = bodies.robot.spindle is not None and body.name == "rotor4"
        carried = not spindle and not bodies.robot.linear
        if paper and body.kind == "rotor" and carried:
            fixed = guess.copy()  # the arm's own inertia carries it [gnad2024]
            empty = np.zeros((1, 0))
            return Chart(body.name, (), lambda p: (fixed + 0 * p.sum(), empty), lambda u, _: u[:0])
        return _scalar(body)
    if body.kind in ("arm", "effector", "bars"):
        return _split_planar(body) if paper and body.kind == "effector" else _planar(body)
    if bodies.family == "exact":
        return _thin_strut(body) if body.kind == "strut" else _thin_rod(body)
    return _solid(body)


def _scalar(body: Body) -> Chart:
    cone = body.cones[0]
    low = -float(cone.constant[0, 0]) / float(body.scale[0])

    def forward(p: Any) -> tuple[Any, Any]:
        value = np.exp(p)
        return low + value, value[:, None]

    return Chart(
        body.name,
        (f"log {body.name}",),
        forward,
        lambda u, least: np.log(np.maximum(u - low, least)),
    )


def _planar(body: Body) -> Chart:
    """m = e^(2 alpha), COM (t1, t2), I = m (t1^2 + t2^2 + e^(2 d)), beside what is known of it."""
    cone, s = body.cones[0], body.scale
    known = -cone.constant
    fixed = np.array([known[1, 1], known[0, 1], known[0, 2], known[0, 0]]) / s

    def forward(p: Any) -> tuple[Any, Any]:
        a, t1, t2, d = p
        m, q = np.exp(2 * a), np.exp(2 * d)
        I = m * (t1**2 + t2**2 + q)
        u = fixed + np.array([m, m * t1, m * t2, I])
        D = np.array(
            [
                [2 * m, 0, 0, 0],
                [2 * m * t1, m, 0, 0],
                [2 * m * t2, 0, m, 0],
                [2 * I, 2 * m * t1, 2 * m * t2, 2 * m * q],
            ]
        )
        return u, D

    def start(u: FloatArray, least: float) -> FloatArray:
        m, hx, hy, I = u - fixed
        m = max(m, least)
        t1, t2 = hx / m, hy / m
        return np.array([np.log(m) / 2, t1, t2, np.log(max(I / m - t1**2 - t2**2, least)) / 2])

    second = "t3" if body.kind == "arm" else "t2"  # arms turn about y, effectors about z
    return Chart(body.name, _names(body, "alpha", "t1", second, "d"), forward, start)


def _split_planar(body: Body) -> Chart:
    """The same with e^(2 d1) + e^(2 d2) for e^(2 d): the effector's five of [gnad2024] VI f.

    The paper's own five have no product of inertia about the joint, and its four of the arm (VI b)
    no mass below e^(2 alpha) either: both leave out bodies. These are about the COM and do not.
    """
    one = _planar(body)

    def forward(p: Any) -> tuple[Any, Any]:
        a, d1, d2, t1, t2 = p
        e1, e2 = np.exp(2 * d1), np.exp(2 * d2)
        u, D = one.map(np.array([a, t1, t2, np.log(e1 + e2) / 2]))
        share = e1 / (e1 + e2)
        return u, np.stack([D[:, 0], share * D[:, 3], (1 - share) * D[:, 3], D[:, 1], D[:, 2]], 1)

    def start(u: FloatArray, least: float) -> FloatArray:
        a, t1, t2, d = one.start(u, least)
        return np.array([a, d - np.log(2) / 2, d - np.log(2) / 2, t1, t2])

    return Chart(body.name, _names(body, "alpha", "d1", "d2", "t1", "t2"), forward, start)


def _thin_strut(body: Body) -> Chart:
    """m_e = e^(2a), m_x = e^(a+s), m_c = e^(2s) + e^(2b): mass between the two ball joints."""

    def forward(p: Any) -> tuple[Any, Any]:
        a, s, b = p
        me, mx, ms, mb = np.exp(2 * a), np.exp(a + s), np.exp(2 * s), np.exp(2 * b)
        mc = ms + mb
        u = np.array([me + 2 * mx + mc, mx + mc, mc])
        De, Dx, Dc = np.array([2 * me, 0, 0]), np.array([mx, mx, 0]), np.array([0, 2 * ms, 2 * mb])
        return u, np.array([De + 2 * Dx + Dc, Dx + Dc, Dc])

    def start(u: FloatArray, least: float) -> FloatArray:
        m, h, S = u
        mx = max(h - S, least)
        me = max(m - 2 * h + S, least)
        a = np.log(me) / 2
        s = np.log(mx) - a
        return np.array([a, s, np.log(max(S - np.exp(2 * s), least)) / 2])

    return Chart(body.name, _names(body, "a", "s", "b"), forward, start)


def _thin_rod(body: Body) -> Chart:
    """m = e^(2a), |m c| = e^(a+s), S_zz = e^(2s) + e^(2b), S_rr = e^(2c)."""
    side = 1.0 if body.kind == "upper" else -1.0

    def forward(p: Any) -> tuple[Any, Any]:
        a, s, b, c = p
        m, h, ms, mb, r = (np.exp(x) for x in (2 * a, a + s, 2 * s, 2 * b, 2 * c))
        u = np.array([m, side * h, ms + mb, r])
        D = np.array(
            [[2 * m, 0, 0, 0], [side * h, side * h, 0, 0], [0, 2 * ms, 2 * mb, 0], [0, 0, 0, 2 * r]]
        )
        return u, D

    def start(u: FloatArray, least: float) -> FloatArray:
        m, h, S, r = np.maximum(u * np.array([1, side, 1, 1]), least)
        a = np.log(m) / 2
        s = np.log(h) - a
        return np.array([a, s, np.log(max(S - np.exp(2 * s), least)) / 2, np.log(r) / 2])

    return Chart(body.name, _names(body, "a", "s", "b", "c"), forward, start)


def _solid(body: Body) -> Chart:
    """[gnad2024] eqs. 13-14; with five variables (a symmetric body) s is 0 and one t remains."""
    places = [_PLACES[entry] for entry in body.variables]
    if len(body.variables) == 10:
        used = tuple(_SOLID)
    else:
        used = ("alpha", "d1", "d2", "d3", "t1" if "mcx" in body.variables else "t3")
    rows, columns = (np.array(index) for index in zip(*places, strict=True))

    def forward(p: Any) -> tuple[Any, Any]:
        U = np.zeros((4, 4), dtype=np.asarray(p).dtype)
        U[3, 3] = 1.0
        for name, value in zip(used[1:], p[1:], strict=True):
            U[_SOLID[name]] = np.exp(value) if name[0] == "d" else value
        factor = np.exp(2 * p[0])
        M = factor * U.T @ U
        D = [2 * M]
        for name in used[1:]:
            dU = np.zeros_like(U)
            dU[_SOLID[name]] = U[_SOLID[name]] if name[0] == "d" else 1.0
            part = dU.T @ U
            D.append(factor * (part + part.T))
        return M[rows, columns], np.stack([item[rows, columns] for item in D], axis=1)

    def start(u: FloatArray, least: float) -> FloatArray:
        M = np.zeros((4, 4))
        M[rows, columns] = M[columns, rows] = u
        values, vectors = np.linalg.eigh(M)
        if values[0] < least:
            M = (vectors * np.maximum(values, least)) @ vectors.T
        U = np.linalg.cholesky(M).T  # M = U'U
        alpha = np.log(U[3, 3])
        U = U / U[3, 3]
        rest = [np.log(U[_SOLID[n]]) if n[0] == "d" else U[_SOLID[n]] for n in used[1:]]
        return np.array([alpha, *rest])

    return Chart(body.name, _names(body, *used), forward, start)


def _names(body: Body, *names: str) -> tuple[str, ...]:
    return tuple(f"{body.name}.{name}" for name in names)
