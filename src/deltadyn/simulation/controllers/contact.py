"""Controllers that feel: one that stops when something is touched, one that a hand leads.

Both ask a force observer, any object with `update(q, tau)`, `force`, `std`, `contact` and
`reset()`, as `deltadyn.force.ForceObserver` is. They are no safety functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import jacobian
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.feedforward import PD, Law, TorqueLaw, check_axes
from deltadyn.simulation.controllers.gains import Feedback
from deltadyn.simulation.drive.reference import (
    Task,
    VelocityEstimator,
    joints_at,
    make_task,
    poses_near,
)
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import Preset, setting

BRAKES = (0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24)  # s: the shortest that fits
USUAL_BRAKE = 0.04  # s, where the robot names no torque limit
RETREAT = 0.05  # s of the path
SLOW = 0.05  # rad/s: a slower path has no direction
LONGEST_LAG = 0.1  # s that the robot may be behind its path
BAND = 3.0  # deviations of the force that lead nowhere
TORQUE_SHARE = 0.9  # of the peak torque that braking may take: feedback needs the rest


class ForceEstimate(Protocol):
    """What the controllers ask of an observer; angles and torques are (dof,), SI units."""

    @property
    def contact(self) -> Any:
        """None, or an alarm that stays."""

    def update(self, q: Any, tau: Any, *, t: float | None = None) -> Any:
        """Another sample; the force (dof,) on the platform in N."""

    def reset(self) -> None:
        """Forget all, before a run."""


class GuidingForce(ForceEstimate, Protocol):
    """An observer that tells the force, too."""

    @property
    def force(self) -> Any:
        """Force (dof,) on the platform, in N."""

    @property
    def std(self) -> Any:
        """Its deviation (dof,), infinite where nothing is known."""


def check_observer(observer: object, names: tuple[str, ...], rate: float | None = None) -> None:
    """Refuse an observer without these names, or one of another rate."""
    if not all(hasattr(observer, name) for name in ("update", "reset", *names)):
        allowed = f"an observer with update(q, tau), reset(), {', '.join(names)}"
        raise InputError("observer", type(observer).__name__, allowed)
    own = getattr(getattr(observer, "options", None), "rate", rate)
    if rate is not None and own is not None and abs(own / rate - 1) > 1e-6:
        raise InputError("rate of the observer", own, f"{rate:g} Hz, the drive's")


@dataclass(frozen=True)
class ContactStop:
    """A controller that brakes along its path when the observer raises an alarm, and then holds.

    From the alarm on the path is followed ever slower, for `brake` seconds, until it stands:

        q_ref(t) = q(s(t)),   s' = c (1 - 3 u^2 + 2 u^3),   u = (t - t_alarm) / brake

    with the same controller and its feedforward for the slower motion. It begins where the robot is
    on its path, and with the share c of the path's speed that it has: what has been touched holds
    it back, and feedback would go on pushing by the error that has grown. By default `brake` is the
    shortest of 10 to 240 ms whose torque stays below 90 % of the robot's peak torque, 40 ms of a
    robot without one. It then goes back along the path by `retreat` seconds of it, so that what was
    touched is let go, and holds there; with `retreat=0` it holds where it stands.
    """

    controller: Any
    observer: ForceEstimate
    brake: float | None = field(default=None, kw_only=True)  # s
    retreat: float = field(default=RETREAT, kw_only=True)  # s of the path

    def __post_init__(self) -> None:
        if not callable(getattr(self.controller, "prepare", None)):
            allowed = "a controller: PD, PDFeedforward or an object with their method prepare"
            raise InputError("controller", type(self.controller).__name__, allowed)
        if not isinstance(getattr(self.controller, "robot", None), Robot):
            raise InputError("controller", type(self.controller).__name__, "one with its `robot`")
        check_observer(self.observer, ("contact",))
        if self.brake is not None:
            setting("brake", self.brake, low=0.0, strict=True, unit="s")
        setting("retreat", self.retreat, low=0.0, unit="s")

    def for_drive(self, rate: float, preset: str | Preset = "ideal", **switches: Any) -> Self:
        """As `PD.for_drive`, of the controller within."""
        if not isinstance(self.controller, Feedback):
            return self
        inner = self.controller.for_drive(rate, preset, **switches)
        own: dict[str, Any] = {"brake": self.brake, "retreat": self.retreat}
        return type(self)(inner, self.observer, **own)

    def feedback(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """That of the controller within; none where it does not tell."""
        if isinstance(self.controller, Feedback):
            return self.controller.feedback(q)
        none = np.zeros((q.shape[1], q.shape[1]))
        return none, none

    def prepare(self, task: Task) -> Law:
        """The law of this task, with the observer as if new."""
        check_observer(self.observer, ("contact",), task.rate)
        self.observer.reset()
        return _StoppingLaw(self, task)


class _StoppingLaw:
    """The law of one run: the controller's own, and after an alarm that of the braked motion."""

    def __init__(self, stop: ContactStop, task: Task) -> None:
        self.stop, self.task = stop, task
        self.law = stop.controller.prepare(task)
        if isinstance(self.law, TorqueLaw):
            allowed = "one that asks for no torque: PD, PDFeedforward, PDGravity, AugmentedPD"
            raise InputError("controller", type(stop.controller).__name__, allowed)
        self.tau: Floats | None = None
        self.stopped = False
        self.t: list[float] = task.now.t.tolist()

    def measured(self, tau: Floats) -> None:
        """The torque of this tick, for the observer."""
        self.tau = tau

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        if self.tau is not None:
            self.stop.observer.update(q, self.tau, t=self.t[k])
            if self.stop.observer.contact is not None and not self.stopped:
                self.stopped = True
                place = Place.of(self.task, k, q, qd)
                self.law = self.stop.controller.prepare(braked_task(self.stop, self.task, k, place))
        command: Floats = self.law(k, q, qd)
        return command


class Place(NamedTuple):
    """Where the robot is on its path: `lag` seconds behind, at `share` of the path's speed."""

    lag: float = 0.0
    share: float = 1.0

    @classmethod
    def of(cls, task: Task, tick: int, q: Floats, qd: Floats) -> Place:
        """By the measured angles and rates, along the path's direction in the joints."""
        ahead = task.now.qd[tick]
        square = float(ahead @ ahead)
        if square < SLOW**2:
            return cls()
        behind = float((task.now.q[tick] - np.asarray(q)) @ ahead) / square
        share = float(np.asarray(qd) @ ahead) / square
        return cls(min(max(behind, 0.0), LONGEST_LAG), min(max(share, 0.0), 1.0))


def braked_task(stop: ContactStop, task: Task, tick: int, place: Place) -> Task:
    """The task with a path that is left ever slower from a tick on."""
    robot: Robot = stop.controller.robot
    peak = robot.limits.torque_peak
    seconds: tuple[float, ...] = BRAKES if peak is not None else (USUAL_BRAKE,)
    if stop.brake is not None:
        seconds = (stop.brake,)
    for brake in seconds:
        motion = braked(robot, task, tick, place, brake, stop.retreat)
        if peak is None or len(seconds) == 1:
            break
        needed = np.abs(inverse_dynamics(robot, motion))[tick : tick + round(brake * task.rate) + 1]
        if np.all(needed <= TORQUE_SHARE * np.asarray(peak)):
            break
    # the reference jumps to where the robot is, and what the drive sees of its rate must not
    found = make_task(robot, motion, task.rate, task.preset)
    cutoff = task.preset.velocity_filter
    seen = VelocityEstimator(task.rate, cutoff, motion.q[tick], motion.qd[tick])
    rates = np.concatenate([task.qd_seen[:tick], seen.course(motion.q[tick:])])
    return replace(found, qd_seen=rates)


def braked(
    robot: Robot, task: Task, tick: int, place: Place, seconds: float, retreat: float
) -> Motion:
    """The reference with another clock s(t) from a tick on: q(s), qd s', qdd s'^2 + qd s''."""
    t, now = task.now.t, task.now
    u = np.clip((t - t[tick]) / seconds, 0.0, 1.0)
    s = t[tick] - place.lag + place.share * seconds * (u - u**3 + u**4 / 2)
    rate = place.share * (1 - 3 * u**2 + 2 * u**3)
    change = place.share * (-6 * u + 6 * u**2) / seconds
    if retreat:
        # back by `retreat` seconds of the path, in twice that time, at rest at both ends
        v = np.clip((t - t[tick] - seconds) / (2 * retreat), 0.0, 1.0)
        s = s - retreat * (10 * v**3 - 15 * v**4 + 6 * v**5)
        rate = rate - (30 * v**2 - 60 * v**3 + 30 * v**4) / 2
        change = change - (60 * v - 180 * v**2 + 120 * v**3) / (4 * retreat)
    early = t < t[tick]
    s, rate, change = (np.where(early, a, b) for a, b in ((t, s), (1.0, rate), (0.0, change)))
    q, qd, qdd = joints_at(now, s)
    rate, change = rate[:, None], change[:, None]
    moved = q, qd * rate, qdd * rate**2 + qd * change
    return Motion.from_joints(robot, t, *moved, hint=poses_near(now, s))


# A robot that a hand leads.


@dataclass(frozen=True)
class HandGuiding(PD):
    """The estimated force moves the robot: an admittance in front of PD with feedforward.

    The reference is a mass with drag that the hand pushes, without the force that is not sure:

        mass v' + drag v = F (1 - band / |F|)  where |F| > band, else 0;    p_ref' = v

    It begins where the motion begins and stays in the robot's workspace, at `fastest` m/s at most;
    of the motion only the duration counts. `band` (N) is by default three times the observer's own
    deviation. At rest friction hides a push on top of that: `held(p)`.
    """

    observer: GuidingForce
    model: str = "exact"
    mass: float = field(default=4.0, kw_only=True)  # kg
    drag: float = field(default=60.0, kw_only=True)  # N s/m
    band: float | None = field(default=None, kw_only=True)  # N
    fastest: float = field(default=0.5, kw_only=True)  # m/s

    def __post_init__(self) -> None:
        super().__post_init__()
        model_by_name(self.model)
        check_observer(self.observer, ("force", "std"))
        setting("mass", self.mass, low=0.0, strict=True, unit="kg")
        setting("drag", self.drag, low=0.0, strict=True, unit="N s/m")
        setting("fastest", self.fastest, low=0.0, strict=True, unit="m/s")
        if self.band is not None:
            setting("band", self.band, low=0.0, unit="N")

    def held(self, p: Any) -> FloatArray:
        """What friction holds at rest: the push (3,) along x, y, z at which a first axis gives way.

        F = min over the axes of (Fc_i + Fs_i) / |J_i|, in N: friction over the lever of the arm. In
        a plane it is (2,) along x, z.
        """
        friction = self.robot.friction
        own = np.asarray(friction.coulomb)
        if friction.stribeck is not None:
            own = own + np.asarray(friction.stribeck)
        arms = self.robot.legs
        levers = np.abs(jacobian(self.robot, np.asarray(p, dtype=np.float64)))[:3, :arms]
        with np.errstate(divide="ignore"):
            found: FloatArray = np.min(own[:arms] / levers, axis=1)
        return found

    def prepare(self, task: Task) -> Law:
        """The law of this task, with the observer as if new."""
        check_axes(self.robot, task)
        check_observer(self.observer, ("force", "std"), task.rate)
        start = task.now.p[0]
        if np.linalg.norm(_inside(self.robot, start) - start) > 1e-6:
            cylinder = self.robot.limits.workspace
            raise InputError("begin of the motion", start.tolist(), f"within {cylinder}")
        self.observer.reset()
        return _GuidedLaw(self, task)


class _GuidedLaw:
    """The law of one run; it holds the place to which the hand has led."""

    def __init__(self, guiding: HandGuiding, task: Task) -> None:
        own = guiding.for_drive(task.rate, task.preset)
        self.guiding, self.dt = guiding, 1 / task.rate
        self.gains = np.asarray(own.stiffness), np.asarray(own.damping)
        self.p, self.v = task.now.p[0].copy(), np.zeros(task.now.p.shape[1])
        self.q = task.now.q[0]
        self.rates = VelocityEstimator(
            task.rate, task.preset.velocity_filter, self.q, np.zeros_like(self.q)
        )
        self.t: list[float] = task.now.t.tolist()
        self.tau: Floats | None = None

    def measured(self, tau: Floats) -> None:
        """The torque of this tick, for the observer."""
        self.tau = tau

    def __call__(self, k: int, q: Floats, qd: Floats) -> Floats:
        guiding = self.guiding
        if self.tau is not None:
            guiding.observer.update(q, self.tau, t=self.t[k])
        pdd = self._moved()
        state = State.from_platform(guiding.robot, self.p[None], self.v[None], pdd[None])
        forward = inverse_dynamics(guiding.robot, state, guiding.model)[0]
        seen = np.asarray(self.rates.update(tuple(state.q[0].tolist())))
        error, slip = state.q[0] - np.asarray(q), seen - np.asarray(qd)
        tau = forward + self.gains[0] * error + self.gains[1] * slip
        return tuple(tau.tolist())

    def _moved(self) -> FloatArray:
        """A tick of the reference; its acceleration (dof,)."""
        guiding, before = self.guiding, self.v.copy()
        pushed = self._sure_force()
        # implicit in the drag: v <- (v + dt F / m) / (1 + dt drag / m)
        share = self.dt / guiding.mass
        self.v[:3] = (self.v[:3] + share * pushed) / (1 + share * guiding.drag)
        speed = float(np.linalg.norm(self.v[:3]))
        if speed > guiding.fastest:
            self.v[:3] *= guiding.fastest / speed
        inside = _inside(guiding.robot, self.p + self.dt * self.v)
        self.v = (inside - self.p) / self.dt
        self.p = inside
        return (self.v - before) / self.dt

    def _sure_force(self) -> FloatArray:
        """The force (3,), (2,) in a plane, without its dead band, in N."""
        observer = self.guiding.observer
        force = np.asarray(observer.force, dtype=np.float64)[:3]
        std = np.asarray(observer.std, dtype=np.float64)[:3]
        size = float(np.linalg.norm(force))
        if not np.isfinite(std).all() or size == 0.0:
            return np.zeros(len(force))
        band = self.guiding.band
        if band is None:
            # the deviation in the direction of the force
            band = BAND * float(np.linalg.norm(std * force / size))
        share = max(0.0, 1 - band / size)
        return share * force


def _inside(robot: Robot, p: FloatArray) -> FloatArray:
    """The nearest place in the robot's working cylinder, where it names one."""
    cylinder = robot.limits.workspace
    if cylinder is None:
        return p
    found, height = p.copy(), robot.coordinates.index("z")
    found[height] = min(max(p[height], cylinder.z_min), cylinder.z_max)
    radius = math.hypot(*p[:height])
    if radius > cylinder.radius:
        found[:height] *= cylinder.radius / radius
    return found
