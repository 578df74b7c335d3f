"""Rigid bodies held by joints, in Cartesian coordinates: torques of a mechanism with loops.

Every body has six velocities. Joints of any kind are rows of C V = 0, drives rows of D V = qd; then
V = G qd, and the drives' torques are the power of inertia and weight per rate: tau = G' f. Nothing
of this project is used, so that a file of bodies and joints can be weighed by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

Array = npt.NDArray[np.float64]
STEP = 1e-4  # s, of differences
FAR = 0.3  # rad or m in one step of the search


def cross(a: Array, b: Array) -> Array:
    """a x b of two vectors."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


@dataclass(frozen=True, eq=False)
class Part:
    """A body: pose in the world, mass, COM and inertia about it in its own axes."""

    R: Array
    p: Array
    mass: float
    com: Array
    inertia: Array
    weight: bool = True


@dataclass(frozen=True, eq=False)
class Tie:
    """A joint at a point of either body, with axes in either body.

    hinge: `axes[0]` in both; slide: likewise; universal: `axes[0]` in the parent, `axes[1]` in the
    child; ball and fixed: none. At `zero` of a drive's coordinate the bodies stand as given.
    """

    name: str
    kind: str
    parent: str  # "" is the world
    child: str
    at_parent: Array
    at_child: Array
    axes_parent: tuple[Array, ...] = ()
    axes_child: tuple[Array, ...] = ()


def tie(
    name: str,
    kind: str,
    parts: Mapping[str, Part],
    parent: str,
    child: str,
    points: tuple[Array, Array],
    axes: Sequence[Array] = (),
) -> Tie:
    """A joint by points in the bodies' own frames and by axes in the world, at the given pose."""
    up, down = (np.eye(3) if not body else parts[body].R for body in (parent, child))
    return Tie(
        name, kind, parent, child, *points,
        tuple(up.T @ a for a in axes), tuple(down.T @ a for a in axes),
    )  # fmt: skip


class Mechanism:
    """Bodies that move with their drives."""

    def __init__(
        self, parts: Mapping[str, Part], ties: Sequence[Tie], drives: Sequence[str],
        home: Sequence[float], gravity: float,
    ) -> None:  # fmt: skip
        self.parts, self.ties, self.gravity = dict(parts), ties, gravity
        self.names = list(parts)
        self.places = {name: 6 * k for k, name in enumerate(parts)}
        self.sides = {
            t.name: np.linalg.svd(t.axes_parent[0][None])[2][1:] for t in ties if t.axes_parent
        }
        self.drives = [next(item for item in ties if item.name == name) for name in drives]
        self.home = np.array(home, dtype=float)
        self.start = {name: (part.R, part.p) for name, part in parts.items()}
        self.pose = dict(self.start)
        both = [*ties]
        self.relative = {item.name: self._R(item.parent).T @ self._R(item.child) for item in both}
        self.zero = {item.name: self._gap(item) for item in both}

    def _R(self, name: str) -> Array:
        return self.pose[name][0] if name else np.eye(3)

    def place(self, name: str, point: Array) -> Array:
        return self.pose[name][0] @ point + self.pose[name][1] if name else point

    def _gap(self, item: Tie) -> Array:
        return self.place(item.child, item.at_child) - self.place(item.parent, item.at_parent)

    def largest_gap(self) -> float:
        """Distance of the two sides of a joint that holds a point (m)."""
        held = [item for item in self.ties if item.kind != "slide"]
        return max(float(np.linalg.norm(self._gap(item))) for item in held)

    def _rows(self) -> tuple[Array, Array, Array]:
        """C, D, and the residuals of all joints."""
        C: list[Array] = []
        rest: list[float] = []
        for item in self.ties:
            rows, values = self._held(item)
            C += rows
            rest += values
        return np.array(C), np.array([self._rate(item) for item in self.drives]), np.array(rest)

    def _row(self) -> Array:
        return np.zeros(6 * len(self.names))

    def _put(self, row: Array, name: str, v: Array, w: Array) -> None:
        if name:
            k = self.places[name]
            row[k : k + 3] += v
            row[k + 3 : k + 6] += w

    def _along(self, item: Tie, u: Array) -> Array:
        """The rate of the gap along u, which turns with the parent."""
        row, gap = self._row(), self._gap(item)
        child, parent = self._R(item.child) @ item.at_child, self._R(item.parent) @ item.at_parent
        self._put(row, item.child, u, cross(child, u))
        self._put(row, item.parent, -u, -cross(parent, u) + cross(u, gap))
        return row

    def _rate(self, item: Tie) -> Array:
        a = self._R(item.parent) @ item.axes_parent[0]
        if item.kind == "slide":
            return self._along(item, a)
        row = self._row()
        self._put(row, item.child, np.zeros(3), a)
        self._put(row, item.parent, np.zeros(3), -a)
        return row

    def _normal(self, item: Tie, a: Array, b: Array) -> tuple[Array, float]:
        """a of the parent stays normal to b of the child."""
        row, across = self._row(), cross(a, b)
        self._put(row, item.parent, np.zeros(3), across)
        self._put(row, item.child, np.zeros(3), -across)
        return row, float(a @ b)

    def _held(self, item: Tie) -> tuple[list[Array], list[float]]:
        up, down = self._R(item.parent), self._R(item.child)
        gap, world = self._gap(item), np.eye(3)
        rows: list[Array] = []
        rest: list[float] = []
        if item.kind != "slide":
            for e in world:
                row = self._along(item, e)
                self._put(row, item.parent, np.zeros(3), -cross(e, gap))
                rows.append(row)
                rest.append(float(e @ gap))
        if item.kind in ("hinge", "slide"):
            sides = [up @ side for side in self.sides[item.name]]
            if item.kind == "slide":
                rows += [self._along(item, u) for u in sides]
                rest += [float(u @ gap) for u in sides]
            else:
                found = [self._normal(item, u, down @ item.axes_child[0]) for u in sides]
                rows += [row for row, _ in found]
                rest += [value for _, value in found]
        if item.kind in ("slide", "fixed"):
            off = Rotation.from_matrix(down @ self.relative[item.name].T @ up.T).as_rotvec()
            for e, value in zip(world, off, strict=True):
                row = self._row()
                self._put(row, item.child, np.zeros(3), e)
                self._put(row, item.parent, np.zeros(3), -e)
                rows.append(row)
                rest.append(float(value))
        if item.kind == "universal":
            row, value = self._normal(item, up @ item.axes_parent[0], down @ item.axes_child[1])
            rows.append(row)
            rest.append(value)
        return rows, rest

    def coordinates(self) -> Array:
        """The drives' coordinates."""
        found = []
        for item in self.drives:
            up, down = self._R(item.parent), self._R(item.child)
            a = up @ item.axes_parent[0]
            if item.kind == "slide":
                found.append(a @ self._gap(item) - a @ self.zero[item.name])
                continue
            turned = Rotation.from_matrix(down @ self.relative[item.name].T @ up.T)
            found.append(turned.as_rotvec() @ a)
        return self.home + np.array(found)

    def go(self, q: Array) -> None:
        """Bring the drives to q from where they are, with closed loops."""
        now = self.coordinates()
        count = max(1, int(np.ceil(np.abs(q - now).max() / FAR)))
        for k in range(1, count + 1):
            self._close(now + (q - now) * k / count, 20 if k == count else 1)

    def _close(self, q: Array, most: int) -> None:
        for _ in range(most):
            C, D, rest = self._rows()
            off = np.concatenate([-rest, q - self.coordinates()])
            if np.abs(off).max() < 2e-12:
                return
            self.pose = self._moved(np.linalg.solve(np.concatenate([C, D]), off))
        assert most == 1 or np.abs(off).max() < 1e-10

    def _moved(self, dx: Array) -> dict[str, tuple[Array, Array]]:
        """Poses after small steps of all bodies."""
        turns = Rotation.from_rotvec(dx.reshape(-1, 6)[:, 3:]).as_matrix()
        return {
            name: (turns[k] @ self.pose[name][0], self.pose[name][1] + dx[6 * k : 6 * k + 3])
            for k, name in enumerate(self.names)
        }

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Torques of the drives (dof,) at a state: S A = [0, qdd] - Sd V with S = [C, D]."""
        self.go(q)
        C, D, _ = self._rows()
        S, none = np.concatenate([C, D]), np.zeros(len(C))
        assert S.shape[0] == S.shape[1]  # joints and drives fix all bodies, none of them twice
        right = np.concatenate([np.zeros((len(C), len(D))), np.eye(len(D))])
        G = np.linalg.solve(S, right)
        V = G @ qd
        drift, here = np.zeros(len(S)), self.pose
        for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            self.pose = here
            self.pose = self._moved(k * STEP * V)
            drift += weight * np.concatenate(self._rows()[:2]) @ V / (12 * STEP)
        self.pose = here
        A = np.linalg.solve(S, np.concatenate([none, qdd]) - drift)
        tau = np.zeros(len(q))
        for k, name in enumerate(self.names):
            part, R = self.parts[name], self.pose[name][0]
            own = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            (v, w), arm = own, R @ part.com
            I, rate = R @ part.inertia @ R.T, V[w]
            whole = A[v] + cross(A[w], arm) + cross(rate, cross(rate, arm))
            force = part.mass * (whole + np.array([0.0, 0.0, self.gravity * part.weight]))
            moment = I @ A[w] + cross(rate, I @ rate) + cross(arm, force)
            tau += G[v].T @ force + G[w].T @ moment
        return tau
