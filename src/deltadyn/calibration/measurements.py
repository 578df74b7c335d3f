"""What instruments measure of a robot at rest, each as rows of one least-squares problem.

A set of measurements holds the joint coordinates q (N, dof) of its poses, as the robot file's
convention has them, the measured values and their standard deviations, all in m and rad. Its
residuals depend on the platform points p(q, x) of the geometry x, and on a few numbers of its own:
the frame in which a tracker counts, the centre of a ball bar, the lag of a log.

    Positions    a tracker or a measuring machine, touched lattice points; a camera with rotations
    Heights      a probe or a dial gauge on one or more plates of known height
    Distances    between two poses each: gauge blocks, a tape, a ball bar set up twice
    BallBar      a bar about a fixed ball whose place is not known
    Commanded    commands and encoders of a log: the controller's own model, not the robot

A platform on three limbs does not turn, so that the tool's offset is one vector (m) in the base.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, as_float, contract
from deltadyn.errors import InputError

FRAMES = ("fit", "base")
LARGEST_LAG = 0.5  # s, of an encoder behind its command


class Rows(NamedTuple):
    """Residuals (m,) in standard deviations, with their slopes by x (m, n) and by own (m, k)."""

    residual: FloatArray
    by_x: FloatArray
    by_own: FloatArray


class Measured(Protocol):
    """A set of measurements of one instrument."""

    @property
    def q(self) -> FloatArray: ...

    @property
    def kind(self) -> str:
        """What a person calls these measurements."""

    @property
    def sigma(self) -> Any:
        """Standard deviations of the points' coordinates (m)."""

    @property
    def sigma_given(self) -> bool:
        """Whether they are known; else the residuals say them."""

    @property
    def names(self) -> tuple[str, ...]:
        """One per point: what a person calls it."""

    @property
    def per_point(self) -> int:
        """Rows of a point; all rows of a point come together."""

    @property
    def anchored(self) -> bool:
        """Whether it counts in a frame that the robot's own can be chosen by."""

    @property
    def unknowns(self) -> int:
        """Numbers of its own, fitted with the geometry."""

    @property
    def gauge(self) -> int:
        """The first of these that a complete geometry holds already: a choice of frame."""

    def places(self, p: FloatArray) -> FloatArray:
        """Where each point was measured (points, 3), for folds by place."""

    def start(self, p: FloatArray) -> Any:
        """Own numbers to begin with, from the nominal platform points."""

    def rows(self, p: FloatArray, slopes: FloatArray, own: Any) -> Rows: ...

    def moved(self, own: Any, step: FloatArray) -> Any:
        """Own numbers after a step (k,)."""


class Frame(NamedTuple):
    """y = turn (p - middle) + place: from the robot's base to an instrument."""

    turn: FloatArray
    place: FloatArray
    middle: FloatArray
    tool_turn: FloatArray  # of a camera's target on the platform

    def seen(self, p: FloatArray) -> FloatArray:
        """Points (N, 3) of the base as the instrument counts them."""
        out: FloatArray = (p - self.middle) @ self.turn.T + self.place
        return out

    def back(self, y: FloatArray) -> FloatArray:
        """Points (N, 3) of the instrument in the robot's base."""
        out: FloatArray = (y - self.place) @ self.turn + self.middle
        return out

    @property
    def origin(self) -> FloatArray:
        """The base's origin as the instrument counts it (m)."""
        out: FloatArray = self.seen(np.zeros((1, 3)))[0]
        return out

    @property
    def angle(self) -> float:
        """How far the instrument's axes are turned against the base's (rad)."""
        return float(np.arccos(np.clip((np.trace(self.turn) - 1) / 2, -1, 1)))


SAME = Frame(np.eye(3), np.zeros(3), np.zeros(3), np.eye(3))


def kabsch(p: FloatArray, y: FloatArray, *, mirrored: bool = False) -> Frame:
    """The frame in which p (N, 3) come nearest to y (N, 3): [kabsch1976].

    With the middles taken off, y' p = U S V^T gives turn = U diag(1, 1, det) V^T. `mirrored` asks
    for the best left-handed one, to see whether data are.
    """
    middle, place = p.mean(axis=0), y.mean(axis=0)
    u, _, vt = np.linalg.svd((y - place).T @ (p - middle))
    sign = np.sign(np.linalg.det(u @ vt)) * (-1.0 if mirrored else 1.0)
    return Frame(u @ np.diag([1.0, 1.0, sign]) @ vt, place, middle, np.eye(3))


def kabsch_of_most(p: FloatArray, y: FloatArray, *, mirrored: bool = False) -> Frame:
    """`kabsch` of the points that agree: those beyond three medians are left out, in rounds."""
    frame, kept = kabsch(p, y, mirrored=mirrored), np.ones(len(p), dtype=bool)
    for _ in range(6):
        off = np.linalg.norm(frame.seen(p) - y, axis=1)
        now = off <= 3 * np.median(off)
        if (now == kept).all() or now.sum() < 4:
            break
        kept, frame = now, kabsch(p[now], y[now], mirrored=mirrored)
    return frame


def turned(vector: FloatArray) -> FloatArray:
    """The rotation (3, 3) by a vector (3,), by Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-300:
        return np.eye(3)
    k = skew(vector / angle)
    out: FloatArray = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)
    return out


def turns_of(matrices: FloatArray) -> FloatArray:
    """Rotation vectors (N, 3) of small rotations (N, 3, 3), to the second order."""
    parts = matrices - np.swapaxes(matrices, -1, -2)
    return np.stack([parts[:, 2, 1], parts[:, 0, 2], parts[:, 1, 0]], axis=-1) / 2


def skew(v: FloatArray) -> FloatArray:
    """(..., 3, 3) with skew(v) w = v x w."""
    out = np.zeros((*v.shape[:-1], 3, 3))
    out[..., 0, 1], out[..., 0, 2] = -v[..., 2], v[..., 1]
    out[..., 1, 0], out[..., 1, 2] = v[..., 2], -v[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -v[..., 1], v[..., 0]
    return out


def numbered(names: Any, count: int) -> tuple[str, ...]:
    """Names of points: those that were given, else 1, 2, 3."""
    found = tuple(str(i + 1) for i in range(count)) if names is None else tuple(map(str, names))
    if len(found) != count:
        raise InputError("names of poses", len(found), f"{count}, one per pose")
    return found


def _table(value: npt.ArrayLike, quantity: str, wide: int | None = None) -> FloatArray:
    """A finite table (N, wide), or a column (N,)."""
    found = as_float(value, quantity)
    right = found.ndim == 1 if wide is None else found.ndim == 2 and found.shape[1] == wide
    if not right:
        shape = "(N,)" if wide is None else f"(N, {wide})"
        raise InputError(quantity, f"an array of shape {found.shape}", f"shape {shape}")
    bad = np.argwhere(~np.isfinite(found))
    if bad.size:
        raise InputError(
            quantity, found[tuple(bad[0])], "finite numbers", where=f"row {bad[0][0] + 1}"
        )
    return found


def _joints(value: npt.ArrayLike) -> FloatArray:
    q = as_float(value, "q")
    return _table(q, "q", q.shape[1] if q.ndim == 2 else 3)


def _spread(value: npt.ArrayLike, shape: tuple[int, ...], quantity: str) -> FloatArray:
    """Standard deviations of this shape: one for all, one per coordinate, or each its own."""
    given = as_float(value, quantity)
    if given.ndim == 1 and len(shape) == 2 and given.shape[0] == shape[0] != shape[1]:
        given = given[:, None]
    try:
        found = np.broadcast_to(given, shape).astype(float)
    except ValueError:
        raise InputError(quantity, f"an array of shape {given.shape}", f"shape {shape}") from None
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(quantity, float(found.min()), "finite numbers above 0 m")
    return found


def _same_length(q: FloatArray, values: FloatArray, quantity: str) -> None:
    if len(q) != len(values):
        raise InputError(f"rows of {quantity}", len(values), f"{len(q)}, as many as of q")


@dataclass(frozen=True, eq=False)
class Positions:
    """Points p (N, 3) in m of the tool at poses q (N, dof), with deviations sigma (m).

    frame="fit" finds the instrument's frame, "base" takes the points as of the robot's base. A
    camera also gives rotations (N, 3, 3) of its target, with `turn_sigma` in rad; they show
    unequal rods and nothing else, because the platform does not turn.
    """

    q: Any
    p: Any
    sigma: Any = 2e-5
    frame: str = "fit"
    tool: Any = (0.0, 0.0, 0.0)
    rotations: Any = None
    turn_sigma: float = 1e-3
    names: Any = None
    times: Any = None  # s, when each was measured
    sigma_given: bool = True
    kind: str = "positions"
    notes: tuple[str, ...] = ()  # what a reader has to say of them

    def __post_init__(self) -> None:
        q, p = _joints(self.q), _table(self.p, "p", 3)
        _same_length(q, p, "p")
        if self.frame not in FRAMES:
            raise InputError("frame", self.frame, " or ".join(map(repr, FRAMES)))
        turns = None if self.rotations is None else as_float(self.rotations, "rotations")
        if turns is not None:
            if turns.shape != (len(q), 3, 3):
                raise InputError("rotations", f"shape {turns.shape}", f"shape {(len(q), 3, 3)}")
            off = float(np.abs(turns @ np.swapaxes(turns, 1, 2) - np.eye(3)).max())
            if off > 1e-3 or (np.linalg.det(turns) < 0).any():
                raise InputError(
                    "rotations", f"off an orthonormal matrix by {off:.2g}", "rotations"
                )
        values: dict[str, Any] = {
            "q": q,
            "p": p,
            "sigma": _spread(self.sigma, p.shape, "sigma"),
            "tool": _table(self.tool, "tool"),
            "rotations": turns,
            "names": numbered(self.names, len(q)),
            "times": None if self.times is None else _table(self.times, "times"),
        }
        if values["tool"].shape != (3,):
            raise InputError("tool", values["tool"].tolist(), "three numbers in m")
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def per_point(self) -> int:
        return 3 if self.rotations is None else 6

    anchored = True

    @property
    def unknowns(self) -> int:
        return (6 if self.frame == "fit" else 0) + (0 if self.rotations is None else 3)

    @property
    def gauge(self) -> int:
        return 6 if self.frame == "fit" else 0

    def places(self, p: FloatArray) -> FloatArray:
        return p

    def start(self, p: FloatArray) -> Frame:
        own = SAME if self.frame == "base" else kabsch_of_most(p + self.tool, self.p)
        if self.rotations is None:
            return own
        u, _, vt = np.linalg.svd(self.rotations.mean(axis=0))  # nearest to the mean
        mean = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        return own._replace(tool_turn=own.turn.T @ mean)

    def rows(self, p: FloatArray, slopes: FloatArray, own: Frame) -> Rows:
        seen = own.seen(p + self.tool)
        by_x = contract("ij,njk->nik", own.turn, slopes)
        count, free = len(p), self.gauge
        by_own = np.zeros((count, 3, self.unknowns))
        if free:
            by_own[:, :, :3] = -skew(seen - own.place)
            by_own[:, :, 3:6] = np.eye(3)
        weight = 1 / self.sigma
        parts = [
            ((seen - self.p) * weight)[:, :, None],
            by_x * weight[:, :, None],
            by_own * weight[:, :, None],
        ]
        if self.rotations is not None:
            # turn tool_turn measured^T is a small turn; the frame's and the target's own move it
            both = own.turn @ own.tool_turn
            tilt = turns_of(both @ np.swapaxes(self.rotations, 1, 2))
            turning = np.zeros((count, 3, self.unknowns))
            turning[:, :, -3:] = own.turn
            if free:
                turning[:, :, :3] = np.eye(3)
            extra = [tilt[:, :, None], np.zeros_like(by_x), turning]
            parts = [
                np.concatenate([a, b / self.turn_sigma], axis=1)
                for a, b in zip(parts, extra, strict=True)
            ]
        residual, by_x, by_own = (
            part.reshape(part.shape[0] * part.shape[1], part.shape[2]) for part in parts
        )
        return Rows(residual[:, 0], by_x, by_own)

    def moved(self, own: Frame, step: FloatArray) -> Frame:
        if self.frame == "fit":
            own = own._replace(turn=turned(step[:3]) @ own.turn, place=own.place + step[3:6])
        if self.rotations is not None:
            own = own._replace(tool_turn=turned(step[-3:]) @ own.tool_turn)
        return own


@dataclass(frozen=True, eq=False)
class Heights:
    """Heights z (N,) in m of the tool above the base plane at poses q (N, dof).

    A probe that touches a plate gives the plate's height; `plate` (N,) names the plates, whose
    known heights define where the base plane is.
    """

    q: Any
    z: Any
    sigma: Any = 1e-5
    plate: Any = None
    tool: Any = (0.0, 0.0, 0.0)
    names: Any = None
    sigma_given: bool = True
    kind: str = "heights"

    per_point = 1
    anchored = True
    unknowns = 0
    gauge = 0

    def __post_init__(self) -> None:
        q, z = _joints(self.q), _table(self.z, "z")
        _same_length(q, z, "z")
        plate = ("1",) * len(z) if self.plate is None else tuple(map(str, self.plate))
        if len(plate) != len(z):
            raise InputError("plate", len(plate), f"{len(z)} names, one per height")
        values = {
            "q": q,
            "z": z,
            "sigma": _spread(self.sigma, z.shape, "sigma"),
            "plate": plate,
            "tool": _table(self.tool, "tool"),
            "names": numbered(self.names, len(z)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def places(self, p: FloatArray) -> FloatArray:
        return p

    def start(self, p: FloatArray) -> None:
        return None

    def rows(self, p: FloatArray, slopes: FloatArray, own: None) -> Rows:
        residual = (p[:, 2] + self.tool[2] - self.z) / self.sigma
        return Rows(residual, slopes[:, 2] / self.sigma[:, None], np.zeros((len(p), 0)))

    def moved(self, own: None, step: FloatArray) -> None:
        return None


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances (N,) in m between two poses each, q_from and q_to (N, dof).

    The tool's offset is the same at both and does not count.
    """

    q_from: Any
    q_to: Any
    distance: Any
    sigma: Any = 5e-5
    names: Any = None
    sigma_given: bool = True
    kind: str = "distances"

    per_point = 1
    anchored = False
    unknowns = 0
    gauge = 0

    def __post_init__(self) -> None:
        first, second = _joints(self.q_from), _joints(self.q_to)
        distance = _table(self.distance, "distance")
        _same_length(first, second, "q_to")
        _same_length(first, distance, "distance")
        if (distance <= 0).any():
            raise InputError("distance", float(distance.min()), "numbers above 0 m")
        values = {
            "q_from": first,
            "q_to": second,
            "distance": distance,
            "sigma": _spread(self.sigma, distance.shape, "sigma"),
            "names": numbered(self.names, len(distance)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def q(self) -> FloatArray:
        """Both ends, one after the other (2 N, dof)."""
        return np.concatenate([self.q_from, self.q_to])

    def places(self, p: FloatArray) -> FloatArray:
        half = len(p) // 2
        return (p[:half] + p[half:]) / 2

    def start(self, p: FloatArray) -> None:
        return None

    def rows(self, p: FloatArray, slopes: FloatArray, own: None) -> Rows:
        half = len(self.distance)
        apart, by = p[half:] - p[:half], slopes[half:] - slopes[:half]
        length = np.linalg.norm(apart, axis=1)
        by_x = contract("ni,nik->nk", apart / length[:, None], by)
        residual = (length - self.distance) / self.sigma
        return Rows(residual, by_x / self.sigma[:, None], np.zeros((half, 0)))

    def moved(self, own: None, step: FloatArray) -> None:
        return None


@dataclass(frozen=True, eq=False)
class BallBar:
    """Poses q (N, dof) at a distance `length` (m) from one ball, whose place is fitted."""

    q: Any
    length: Any
    sigma: Any = 5e-6
    names: Any = None
    sigma_given: bool = True
    kind: str = "ball bar"

    per_point = 1
    anchored = False
    unknowns = 3
    gauge = 0

    def __post_init__(self) -> None:
        q = _joints(self.q)
        length = np.broadcast_to(as_float(self.length, "length"), (len(q),)).astype(float)
        if len(q) < 4:
            raise InputError("poses of a ball bar", len(q), "at least 4: its centre is fitted")
        values = {
            "q": q,
            "length": length,
            "sigma": _spread(self.sigma, length.shape, "sigma"),
            "names": numbered(self.names, len(q)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def places(self, p: FloatArray) -> FloatArray:
        return p

    def start(self, p: FloatArray) -> FloatArray:
        """The centre c of |p|^2 - L^2 = 2 p.c - |c|^2, by least squares; from a flat ring below."""
        middle = p.mean(axis=0)
        from_middle = p - middle
        left = np.column_stack([2 * from_middle, -np.ones(len(p))])
        right = (from_middle**2).sum(axis=1) - self.length**2
        centre = np.linalg.lstsq(left, right, rcond=1e-4)[0][:3]
        away = float((self.length**2).mean()) - float(((from_middle - centre) ** 2).sum(1).mean())
        if away > 0:  # points of a nearly flat ring: the ball lies on its axis, below
            normal = np.linalg.svd(from_middle - centre)[2][2]
            centre = centre - np.sqrt(away) * normal * np.sign(normal[2])
        out: FloatArray = middle + centre
        return out

    def rows(self, p: FloatArray, slopes: FloatArray, own: FloatArray) -> Rows:
        away = p - own
        length = np.linalg.norm(away, axis=1)
        u = away / length[:, None] / self.sigma[:, None]
        return Rows((length - self.length) / self.sigma, contract("ni,nik->nk", u, slopes), -u)

    def moved(self, own: FloatArray, step: FloatArray) -> FloatArray:
        out: FloatArray = own + step
        return out


@dataclass(frozen=True, eq=False)
class Commanded:
    """A log of encoders q (N, dof) and commanded points p (N, 3) over time t (N,), in s and m.

    The encoders follow the command by one lag, which is fitted: q(t) belongs to p(t - lag). Such a
    log shows what the CONTROLLER takes for its geometry. `sigma` is only a scale: the residuals
    say how well the log can be met.
    """

    t: Any
    q: Any
    p: Any
    sigma: Any = 1e-3
    names: Any = None
    sigma_given: bool = False
    kind: str = "command log"

    per_point = 3
    anchored = True
    unknowns = 1
    gauge = 0

    def __post_init__(self) -> None:
        t, q, p = _table(self.t, "t"), _joints(self.q), _table(self.p, "p", 3)
        _same_length(q, p, "p")
        _same_length(q, t, "t")
        if len(t) < 20 or (np.diff(t) <= 0).any():
            raise InputError("t", f"{len(t)} samples", "at least 20 samples at growing times")
        values = {
            "t": t,
            "q": q,
            "p": p,
            "sigma": _spread(self.sigma, p.shape, "sigma"),
            "names": numbered(self.names, len(t)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def places(self, p: FloatArray) -> FloatArray:
        return p

    def start(self, p: FloatArray) -> float:
        """The lag at which the nominal points are nearest, on a grid."""
        grid = np.linspace(-0.1, LARGEST_LAG, 61)
        errors = [
            float(((p - self.commanded(lag)[0])[self.inside(lag)] ** 2).sum(axis=1).mean())
            for lag in grid
        ]
        return float(grid[int(np.argmin(errors))])

    def commanded(self, lag: float) -> tuple[FloatArray, FloatArray]:
        """Commanded points and their rates (N, 3) at t - lag."""
        when = self.t - lag
        points = np.column_stack([np.interp(when, self.t, column) for column in self.p.T])
        step = float(np.median(np.diff(self.t)))
        ahead, behind = (
            np.column_stack([np.interp(when + side * step, self.t, column) for column in self.p.T])
            for side in (0.5, -0.5)
        )
        return points, (ahead - behind) / step

    def inside(self, lag: float) -> BoolArray:
        """Mask (N,) of the samples whose command is in the log."""
        when = self.t - lag
        return np.asarray((when >= self.t[0]) & (when <= self.t[-1]))

    def rows(self, p: FloatArray, slopes: FloatArray, own: float) -> Rows:
        points, rate = self.commanded(own)
        weight = self.inside(own)[:, None] / self.sigma
        return Rows(
            ((p - points) * weight).reshape(-1),
            (slopes * weight[:, :, None]).reshape(-1, slopes.shape[2]),
            (rate * weight).reshape(-1, 1),
        )

    def moved(self, own: float, step: FloatArray) -> float:
        return float(np.clip(own + step[0], -0.1, LARGEST_LAG))
