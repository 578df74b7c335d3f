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


LEAST = 1e-6  # of a body's size: a start nearer to the border is moved inside

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
    """One body's map from `names` (p,) to its scaled free variables (k,), and a start inside.

    `logarithmic` marks the parameters that run to minus infinity at the border of consistency.
    """

    body: str
    names: tuple[str, ...]
    map: Map
    start: Callable[[FloatArray], FloatArray]
    logarithmic: tuple[bool, ...]


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
        return Chart(body.name, (body.name,), lambda p: (p, np.eye(1)), lambda u: u, (False,))
    if body.kind in ("rotor", "friction", "platform", "carriage"):
        spindle = bodies.robot.spindle is not None and body.name == "rotor4"
        carried = not spindle and not bodies.robot.linear
        if paper and body.kind == "rotor" and carried:
            fixed = guess.copy()  # the arm's own inertia carries it [gnad2024]
            empty = np.zeros((1, 0))
            return Chart(body.name, (), lambda p: (fixed + 0 * p.sum(), empty), lambda u: u[:0], ())
        return _scalar(body)
    if body.kind in ("arm", "effector", "bars"):
        if paper:
            return _paper_arm(body, guess) if body.kind == "arm" else _paper_effector(body)
        return _planar(body)
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
        lambda u: np.log(np.maximum(u - low, LEAST)),
        (True,),
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

    def start(u: FloatArray) -> FloatArray:
        m, hx, hy, I = u - fixed
        m = max(m, LEAST)
        t1, t2 = hx / m, hy / m
        return np.array([np.log(m) / 2, t1, t2, np.log(max(I / m - t1**2 - t2**2, LEAST)) / 2])

    return Chart(
        body.name,
        _names(body, "alpha", "t1", "t2", "d"),
        forward,
        start,
        (True, False, False, True),
    )


def _thin_strut(body: Body) -> Chart:
    """m_e = e^(2a), m_x = e^(a+s), m_c = e^(2s) + e^(2b): mass between the two ball joints."""

    def forward(p: Any) -> tuple[Any, Any]:
        a, s, b = p
        me, mx, ms, mb = np.exp(2 * a), np.exp(a + s), np.exp(2 * s), np.exp(2 * b)
        mc = ms + mb
        u = np.array([me + 2 * mx + mc, mx + mc, mc])
        De, Dx, Dc = np.array([2 * me, 0, 0]), np.array([mx, mx, 0]), np.array([0, 2 * ms, 2 * mb])
        return u, np.array([De + 2 * Dx + Dc, Dx + Dc, Dc])

    def start(u: FloatArray) -> FloatArray:
        m, h, S = u
        mx = max(h - S, LEAST)
        me = max(m - 2 * h + S, LEAST)
        a = np.log(me) / 2
        s = np.log(mx) - a
        return np.array([a, s, np.log(max(S - np.exp(2 * s), LEAST)) / 2])

    return Chart(body.name, _names(body, "a", "s", "b"), forward, start, (True, True, True))


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

    def start(u: FloatArray) -> FloatArray:
        m, h, S, r = np.maximum(u * np.array([1, side, 1, 1]), LEAST)
        a = np.log(m) / 2
        s = np.log(h) - a
        return np.array([a, s, np.log(max(S - np.exp(2 * s), LEAST)) / 2, np.log(r) / 2])

    return Chart(body.name, _names(body, "a", "s", "b", "c"), forward, start, (True,) * 4)


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

    def start(u: FloatArray) -> FloatArray:
        M = np.zeros((4, 4))
        M[rows, columns] = M[columns, rows] = u
        values, vectors = np.linalg.eigh(M)
        if values[0] < LEAST:
            M = (vectors * np.maximum(values, LEAST)) @ vectors.T
        U = np.linalg.cholesky(M).T  # M = U'U
        alpha = np.log(U[3, 3])
        U = U / U[3, 3]
        rest = [np.log(U[_SOLID[n]]) if n[0] == "d" else U[_SOLID[n]] for n in used[1:]]
        return np.array([alpha, *rest])

    flags = tuple(name == "alpha" or name[0] == "d" for name in used)
    return Chart(body.name, _names(body, *used), forward, start, flags)


def _paper_planar(fixed: FloatArray, p: Any) -> tuple[Any, Any]:
    """m = q (t1^2 + t2^2 + 1), m c = q t e^d, I = q (e^(2 d1) + e^(2 d2)), q = e^(2 alpha)."""
    a, d1, d2, t1, t2 = p
    q, e1, e2 = np.exp(2 * a), np.exp(d1), np.exp(d2)
    part = q * np.array([t1**2 + t2**2 + 1, t1 * e1, t2 * e2, e1**2 + e2**2])
    zero = 0 * a
    D = q * np.array(
        [
            [zero, zero, zero, 2 * t1, 2 * t2],
            [zero, t1 * e1, zero, e1, zero],
            [zero, zero, t2 * e2, zero, e2],
            [zero, 2 * e1**2, 2 * e2**2, zero, zero],
        ]
    )
    D[:, 0] = 2 * part
    return fixed + part, D


def _paper_start(u: FloatArray) -> FloatArray:
    """alpha, d1, d2, t1, t2 of a planar body whose principal axes are those of its frame."""
    m, hx, hy, I = u
    m, I = max(m, LEAST), max(I, LEAST)
    size = abs(hx) + abs(hy)
    share = min(max(abs(hx) / size, 0.05), 0.95) if size > 0 else 0.5
    q = max(m - (hx**2 / share + hy**2 / (1 - share)) / I, 0.05 * m)
    e1, e2 = np.sqrt(share * I / q), np.sqrt((1 - share) * I / q)
    return np.array([np.log(q) / 2, np.log(e1), np.log(e2), hx / (q * e1), hy / (q * e2)])


def _paper_arm(body: Body, guess: FloatArray) -> Chart:
    """[gnad2024] VI b: d1, d3, t1, t3; alpha stays, the arm's mass does not reach the torque."""
    alpha = float(_paper_start(guess)[0])

    def forward(p: Any) -> tuple[Any, Any]:
        u, D = _paper_planar(np.zeros(4), np.concatenate([[alpha], p]))
        return u, D[:, 1:]

    names = _names(body, "d1", "d3", "t1", "t3")
    return Chart(
        body.name, names, forward, lambda u: _paper_start(u)[1:], (True, True, False, False)
    )


def _paper_effector(body: Body) -> Chart:
    """[gnad2024] VI f: alpha, d1, d2, t1, t2, beside the declared payload."""
    known = -body.cones[0].constant
    fixed = np.array([known[1, 1], known[0, 1], known[0, 2], known[0, 0]]) / body.scale
    names = _names(body, "alpha", "d1", "d2", "t1", "t2")
    flags = (True, True, True, False, False)
    return Chart(
        body.name,
        names,
        lambda p: _paper_planar(fixed, p),
        lambda u: _paper_start(u - fixed),
        flags,
    )


def _names(body: Body, *names: str) -> tuple[str, ...]:
    return tuple(f"{body.name}.{name}" for name in names)
