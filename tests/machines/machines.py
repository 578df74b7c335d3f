"""Machines that differ from their robot file in a known way, for identification to find out.

A machine is the plant of `plant.c` with bodies and drives drawn from a seed. What is wrong with it
is its cause, one name of `CAUSES` or several joined by "+"; strength 1 is a usual machine.

    machine = make_machine(robot, cause="load", strength=1.0, seed=3)
    logs = machine.record(motions=4, seconds=4.0)
    held_out = machine.record_picks(seconds=4.0)
    machine.truth["A"], machine.causes
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn import Recording

from . import motions
from .causes import ALL, CAUSES, SINGLE, Draft
from .plant import (
    LIMBS,
    Array,
    Bodies,
    Drive,
    Loop,
    NoCompilerError,
    Touch,
    arm_angles,
    compiler,
    copied,
    dof_of,
    fresh_drive,
    inverse,
    run,
)

__all__ = ["CAUSES", "Machine", "NoCompilerError", "Run", "Touch", "compiler", "make_machine"]

TICK = 1e-3  # s, of the controller and of the log
LEAD = 0.3  # s that run before a log begins
COUNTS = 2**20  # of the encoder per turn of the axis
ENCODER_NOISE = 2e-6  # rad
TORQUE_NOISE = 0.009  # of the RMS torque, white over the log's band
CONTROL = 12.0  # Hz, of the position loop


class Run(NamedTuple):
    """A log, what was true while it was taken, and where the axes should have been, (N, dof).

    Rows are those of the log.
    """

    recording: Recording
    truth: Loop
    reference: Array


@dataclass(frozen=True)
class Conditions:
    """How a log is taken.

    `kind` is "multisine", "via" (moves between random points) or "picks", the last two with rests
    of `dwell` s; `start` is "moving" or "rest" (0.3 s at rest in the log before the motion).
    `first` chooses other motions of the same machine. `clock` (s) is when the first log begins and
    `span` how long the machine takes to run through the logs: oil warms up over a share of it.
    """

    kind: str = "multisine"
    start: str = "moving"
    dwell: float = 0.1
    first: int = 0
    clock: float = 0.0
    span: float | None = None  # s; all logs together where it is left out
    temperature: bool = False  # log it
    integral: bool = True  # PID, not PD
    feedforward: bool = True

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, ("multisine", "via", "picks"))
        _one_of("start", self.start, ("moving", "rest"))


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine: its robot file, its true bodies and drives, and what identification should find.

    `truth` maps the names of deltadyn's fit table to the true base parameters (a mean over the
    limbs where they differ, see `limbs`, and over the logs where friction warms up); a parameter
    that the machine does not define is left out. `causes` names the terms beyond the base model,
    `numbers` holds their sizes.
    """

    robot: Any
    cause: str
    strength: float
    seed: int
    bodies: Bodies
    drives: tuple[Drive, ...]
    nominal: Bodies  # of the robot file
    guess: Array  # (dof,): factors on the feedforward of each axis
    scale: Array  # (dof,) N m, RMS torque of a random motion
    offset: Array  # (dof,) N m, of the reported torque
    truth: dict[str, float]
    limbs: dict[str, Array]
    causes: frozenset[str]
    numbers: dict[str, Any]
    room: motions.Room

    @property
    def dof(self) -> int:
        return len(self.drives)

    def record(self, motions: int = 4, seconds: float = 4.0, **options: Any) -> list[Recording]:
        """Logs of random motions, one after the other on the machine's clock.

        The options are the fields of `Conditions`.
        """
        return [item.recording for item in self.runs(motions, seconds, **options)]

    def record_picks(self, seconds: float = 4.0, **options: Any) -> Recording:
        """A log of pick-and-place cycles that begins at rest, taken after 16 s of other logs."""
        return self.run_picks(seconds, **options).recording

    def runs(self, count: int = 4, seconds: float = 4.0, **options: Any) -> list[Run]:
        """As `record`, with the truth beside each log."""
        conditions = Conditions(**options)
        if conditions.span is None:
            conditions = replace(conditions, span=count * seconds)
        return [
            self._run(replace(conditions, clock=conditions.clock + k * seconds), k, seconds)
            for k in range(count)
        ]

    def run_picks(self, seconds: float = 4.0, **options: Any) -> Run:
        """As `record_picks`, with the truth beside the log."""
        usual = {"kind": "picks", "start": "rest", "clock": 16.0, "span": 16.0}
        (found,) = self.runs(1, seconds, **(usual | options))
        return found

    def run_touched(
        self, seconds: float, touch: Touch, path: motions.Path | None = None, **options: Any
    ) -> Run:
        """A log while something touches the machine, with the truth beside it.

        `touch` has a row per sample of the log; `path` takes the place of a random motion.
        """
        usual: dict[str, Any] = {"kind": "picks", "clock": 16.0, "span": 16.0}
        conditions = Conditions(**(usual | options))
        return self._run(conditions, 0, seconds, touch, path)

    def _run(
        self,
        conditions: Conditions,
        index: int,
        seconds: float,
        touch: Touch | None = None,
        path: motions.Path | None = None,
    ) -> Run:
        kinds = ("multisine", "via", "picks")
        chosen = conditions.first + index
        rng = np.random.default_rng([self.seed, 1, kinds.index(conditions.kind), chosen])
        n, lead = round(seconds / TICK), round(LEAD / TICK)
        if path is None:
            path = self._path(conditions, seconds, rng)
        reference, rate, forward = self._reference(path, np.arange(-lead, n, dtype=float) * TICK)
        if not conditions.feedforward:
            forward = np.zeros_like(forward)
        drives = self._warming(conditions)
        for drive in drives:
            drive.ki *= conditions.integral
        loop = run(
            self.bodies,
            drives,
            reference,
            rate,
            forward,
            ENCODER_NOISE * rng.standard_normal(reference.shape),
            tick=TICK,
            # bristles need smaller steps: their rate is |v| over the angle by which they bend
            substeps=16 if any(drive.bristle > 0 for drive in drives) else 8,
            clock=conditions.clock - LEAD,
            touch=None if touch is None else touch.after(lead),
        )
        loop = Loop(*(rows[lead:] for rows in loop))
        t = conditions.clock + np.arange(n, dtype=float) * TICK
        tau = loop.reported + self.offset + self._torque_noise(rng, n)
        warmth = None
        if conditions.temperature:
            risen = 1 - np.exp(-t / drives[0].warm_time)
            warmth = 25.0 + 20.0 * risen + 0.1 * rng.standard_normal(n)
        name = f"{conditions.kind} {chosen + 1}"
        recording = Recording(
            t, loop.read, tau, temperature=warmth, name=name, robot=self.robot.name
        )
        return Run(recording, loop, reference[lead:])

    def _path(
        self, conditions: Conditions, seconds: float, rng: np.random.Generator
    ) -> motions.Path:
        """The platform's path on the log's own time."""
        rest = conditions.start == "rest"
        if conditions.kind == "multisine":
            path = motions.multisine(self.room, rng, seconds, 0.5 if rest else 0.0)
            early = 0.0
        else:
            make = motions.via_points if conditions.kind == "via" else motions.picks
            path = make(self.room, rng, seconds + 1.0, conditions.dwell)
            early = float(rng.uniform(LEAD + 0.1, LEAD + 0.4))
        if rest:
            return lambda t: path(np.maximum(t - 0.3, 0.0))
        return lambda t: path(t + early)

    def _warming(self, conditions: Conditions) -> list[Drive]:
        """The drives, with the range of their warming set about its mean over the span."""
        assert conditions.span is not None
        drives = [copied(drive) for drive in self.drives]
        time = self.numbers.get("drift_time", 0.4) * conditions.span
        for drive in drives:
            drive.warm_time = time
            drive.warm_mean = time / conditions.span * (1 - np.exp(-conditions.span / time))
        return drives

    def _reference(self, path: motions.Path, t: Array) -> tuple[Array, Array, Array]:
        """Angles, rates and feedforward torque at the ticks, by the robot file's kinematics."""
        h = TICK / 2
        before, now, after = (self._angles(path(t + step)) for step in (-h, 0.0, h))
        rate, acceleration = (after - before) / (2 * h), (after - 2 * now + before) / h**2
        tau = inverse(self.nominal, now, rate, acceleration).torque
        for i, drive in enumerate(self.drives):
            slow = drive.coulomb * np.tanh(rate[:, i] / 0.1) + drive.viscous * rate[:, i]
            tau[:, i] += drive.rotor * acceleration[:, i] + slow
        return now, rate, tau * self.guess

    def _angles(self, p: Array) -> Array:
        return np.column_stack([arm_angles(self.nominal, p), p[:, 3:]])

    def _torque_noise(self, rng: np.random.Generator, n: int) -> Array:
        noise = TORQUE_NOISE * rng.standard_normal((n, self.dof))
        share = self.numbers.get("coloured", 0.0)
        if share:
            keep = np.exp(-TICK / 5e-3)
            white = rng.standard_normal((n, self.dof)) * share * np.sqrt(1 - keep**2)
            slow = np.empty_like(white)
            slow[0] = share * rng.standard_normal(self.dof)
            for k in range(1, n):
                slow[k] = keep * slow[k - 1] + white[k]
            noise += slow
        return noise * self.scale


def make_machine(
    robot: Any, cause: str = "none", strength: float | None = 1.0, seed: int = 0
) -> Machine:
    """A machine of this robot with a cause (or several, joined by "+").

    A strength of None is drawn from the seed, 0.5 to 1.5. Masses differ from the robot file by a
    few percent, and rotors and friction are drawn where the file has none.
    """
    names: list[str] = []
    for name in cause.split("+"):
        _one_of("cause", name, CAUSES)
        names += ALL if name == "all" else [name]
    rng = np.random.default_rng([seed, 0, zlib.crc32(cause.encode())])
    if strength is None:
        strength = float(rng.uniform(0.5, 1.5))
    nominal, room = bodies_of(robot), room_of(robot)
    bodies = _built(nominal, rng)
    inertia = _axis_inertia(bodies, room)
    drives = _drives(robot, inertia, rng)
    scale = _usual_torque(bodies, drives, room)
    draft = Draft(bodies, drives, scale, strength, rng, inertia, np.zeros(len(drives)))
    for name in names:
        alone = 1.0 if len(names) == 1 else float(rng.uniform(0.8, 1.2))
        SINGLE[name](replace(draft, strength=strength * alone))
    _close(drives, inertia)
    truth, limbs = true_parameters(bodies, drives)
    for name in draft.unclear:
        del truth[name]
    return Machine(
        robot=robot,
        cause=cause,
        strength=strength,
        seed=seed,
        bodies=bodies,
        drives=tuple(drives),
        nominal=nominal,
        guess=rng.uniform(0.9, 1.1, len(drives)),
        scale=scale,
        offset=draft.offset,
        truth=truth,
        limbs=limbs,
        causes=frozenset(draft.terms),
        numbers=draft.numbers,
        room=room,
    )


def bodies_of(robot: Any) -> Bodies:
    """The numbers of a robot object, read field by field."""
    g = robot.geometry
    b = Bodies(gravity=robot.gravity, platform_mass=robot.platform.mass)
    b.base_radius[:], b.platform_radius[:] = g.base_radius, g.platform_radius
    b.arm[:], b.rod[:], b.azimuth[:] = g.arm_length, g.strut_length, g.azimuth
    for i, (arm, strut) in enumerate(zip(robot.arms, robot.struts, strict=True)):
        if strut.rods != 2:
            raise ValueError(f"struts[{i}].rods is {strut.rods}; the plant has 2 rods per limb")
        b.arm_mass[i], b.arm_com[i], b.arm_inertia[i] = arm.mass, arm.com, arm.inertia
        b.arm_offset[i], b.elbow_mass[i] = arm.com_offset, arm.elbow_mass
        b.rod_mass[i], b.rod_com[i] = strut.mass, strut.com_fraction * g.strut_length[i]
        b.rod_inertia[i] = strut.inertia
    load = robot.payload
    b.payload_mass, b.payload_at[:], b.payload_turning = load.mass, load.offset, load.inertia_zz
    if robot.spindle is not None:
        upper, lower = robot.spindle.upper, robot.spindle.lower
        b.spindle, b.upper_z, b.lower_z = (
            1.0,
            robot.spindle.upper_joint_z,
            robot.spindle.lower_joint_z,
        )
        b.upper_mass, b.upper_com, b.upper_across, b.upper_along = _rod(upper)
        b.lower_mass, b.lower_com, b.lower_across, b.lower_along = _rod(lower)
        body = robot.effector
        b.effector_mass, b.effector_at[:] = body.mass, body.com
        b.effector_turning = body.inertia_zz
    for item in robot.friction.passive:
        if item.joint != "prismatic":
            raise ValueError(f"passive friction in {item.joint!r}; the plant has 'prismatic' only")
        b.slide_viscous, b.slide_coulomb = item.viscous, item.coulomb
    return b


def _rod(rod: Any) -> tuple[float, float, float, float]:
    return rod.mass, rod.com, rod.inertia, rod.axial_inertia


def room_of(robot: Any) -> motions.Room:
    """What of the robot's workspace and limits the motions use."""
    limits = robot.limits
    space = limits.workspace
    margin = 0.1 * (space.z_max - space.z_min)
    turn = {}
    if robot.spindle is not None:
        turn = {"turn": np.pi / 2, "turn_acceleration": 0.5 * limits.acceleration[3]}
    return motions.Room(
        radius=0.8 * space.radius,
        z_min=space.z_min + margin,
        z_max=space.z_max - margin,
        speed=0.7 * limits.platform_speed,
        acceleration=0.6 * limits.platform_acceleration,
        **turn,
    )


def _built(nominal: Bodies, rng: np.random.Generator) -> Bodies:
    """The machine as built: equal limbs, but masses a few percent from the file."""
    b: Bodies = copied(nominal)
    arm, rod, platform, turning = rng.uniform(0.95, 1.05, 4)
    for i in range(LIMBS):
        b.arm_mass[i], b.arm_inertia[i] = arm * b.arm_mass[i], arm * b.arm_inertia[i]
        b.rod_mass[i], b.rod_inertia[i] = rod * b.rod_mass[i], rod * b.rod_inertia[i]
    b.platform_mass *= platform
    b.effector_turning *= turning
    return b


def _axis_inertia(bodies: Bodies, room: motions.Room) -> Array:
    """Inertia of each axis with the platform in the middle, the other axes held (kg m^2)."""
    dof = dof_of(bodies)
    middle = arm_angles(bodies, room.middle[None])
    q = np.column_stack([middle, np.zeros((1, dof - 3))]).repeat(dof + 1, axis=0)
    qdd = np.vstack([np.zeros(dof), np.eye(dof)])
    tau = inverse(bodies, q, np.zeros_like(q), qdd).torque
    return np.diag(tau[1:] - tau[0]).copy()


def _drives(robot: Any, inertia: Array, rng: np.random.Generator) -> list[Drive]:
    """Drives with rotor, viscous and Coulomb friction; the file's own where it has some."""
    dof = len(inertia)
    rotor = np.array(robot.drives.output_inertia)
    rotor = np.where(rotor > 0, rotor, 0.35 * inertia) * rng.uniform(0.9, 1.1)
    usual = 100.0 * (inertia + rotor)  # N m, near the rated torque of a drive that fits
    viscous, coulomb = np.array(robot.friction.viscous), np.array(robot.friction.coulomb)
    viscous = np.where(viscous > 0, viscous, 0.015 * usual) * rng.uniform(0.85, 1.15, dof)
    coulomb = np.where(coulomb > 0, coulomb, 0.045 * usual) * rng.uniform(0.85, 1.15, dof)
    drives = [fresh_drive() for _ in range(dof)]
    for i, drive in enumerate(drives):
        drive.rotor, drive.viscous, drive.coulomb = rotor[i], viscous[i], coulomb[i]
        drive.step = 2 * np.pi / COUNTS
    return drives


def _usual_torque(bodies: Bodies, drives: list[Drive], room: motions.Room) -> Array:
    """RMS torque of each axis over some random motions; the three arms share their mean (N m)."""
    rows = []
    for k in range(3):
        path = motions.multisine(room, np.random.default_rng(k), 4.0, 0.0)
        t, h = np.arange(0.0, 4.0, 4e-3), 1e-3
        before, now, after = (
            np.column_stack([arm_angles(bodies, p), p[:, 3:]])
            for p in (path(t - h), path(t), path(t + h))
        )
        rate, acceleration = (after - before) / (2 * h), (after - 2 * now + before) / h**2
        tau = inverse(bodies, now, rate, acceleration).torque
        for i, drive in enumerate(drives):
            tau[:, i] += drive.rotor * acceleration[:, i] + drive.viscous * rate[:, i]
            tau[:, i] += drive.coulomb * np.sign(rate[:, i])
        rows.append(np.mean(tau**2, axis=0))
    mean: Array = np.mean(rows, axis=0)
    mean[:LIMBS] = np.mean(mean[:LIMBS])
    return np.sqrt(mean)


def _close(drives: list[Drive], inertia: Array) -> None:
    """The position loop of each axis, by its inertia: natural frequency CONTROL, damping 0.7."""
    w = 2 * np.pi * CONTROL
    for drive, load in zip(drives, inertia, strict=True):
        whole = load + drive.rotor
        drive.kp, drive.kd, drive.ki = whole * w**2, 1.4 * w * whole, 2.0 * whole * w**2
        drive.rate_filter = 5e-4
        drive.limit = 2000.0 * whole  # N m: no machine of ours gets there


def true_parameters(
    bodies: Bodies, drives: list[Drive]
) -> tuple[dict[str, float], dict[str, Array]]:
    """Base parameters by the names of deltadyn's fit table, and those of each limb.

    Sums over the particles of the bodies: with s the share of the way from elbow to platform,
    m_x = sum m s (1 - s), and so on. Friction that slips in springs counts as Coulomb friction.
    """
    b = bodies
    l1, l2, a, off, m_arm, I_arm, m_elbow, m_rod, c_rod, I_rod = (
        np.array(getattr(b, name)[:])
        for name in (
            *("arm", "rod", "arm_com", "arm_offset", "arm_mass", "arm_inertia"),
            *("elbow_mass", "rod_mass", "rod_com", "rod_inertia"),
        )
    )
    rotor = np.array([drive.rotor for drive in drives])
    # each of the two rods is two particles of half its mass at the shares s of its length
    spread = np.sqrt(I_rod / m_rod)
    s = np.array([(c_rod - spread) / l2, (c_rod + spread) / l2])
    elbow, shared, platform, first = (
        np.sum(m_rod * part, axis=0) for part in ((1 - s) ** 2, s * (1 - s), s**2, 1 - s)
    )
    limbs = {
        "m_x": shared,
        "A": I_arm + m_arm * (a**2 + off**2) + (m_elbow + elbow) * l1**2 + rotor[:LIMBS],
        "G": m_arm * a + (m_elbow + first) * l1,
        "G_s": m_arm * off,
    }
    mass = b.platform_mass + b.payload_mass + float(platform.sum())
    truth = {"M_P": mass} | {name: float(values.mean()) for name, values in limbs.items()}
    if not np.any(limbs["G_s"]):
        del truth["G_s"]
    if b.spindle:
        truth |= _spindle_parameters(b, float(rotor[3]))
        truth["M_P"] += b.lower_mass + b.effector_mass
    truth |= {f"Fv{i + 1}": drive.viscous for i, drive in enumerate(drives)}
    truth |= {
        f"Fc{i + 1}": drive.coulomb + sum(drive.slip_torque) for i, drive in enumerate(drives)
    }
    if b.slide_viscous or b.slide_coulomb:
        truth |= {"prismatic.Fv": b.slide_viscous, "prismatic.Fc": b.slide_coulomb}
    return truth, limbs


def _spindle_parameters(b: Bodies, rotor: float) -> dict[str, float]:
    upper, lower = b.upper_mass * b.upper_com, b.lower_mass * b.lower_com
    parts = ((b.effector_mass, b.effector_at), (b.payload_mass, b.payload_at))
    about = sum(mass * (at[0] ** 2 + at[1] ** 2) for mass, at in parts)
    return {
        "H": upper * b.upper_com + b.upper_across + lower * b.lower_com + b.lower_across,
        "kappa": lower,
        "mu": upper,
        "I_axial": b.upper_along + b.lower_along,
        "h_x": sum(mass * at[0] for mass, at in parts),
        "h_y": sum(mass * at[1] for mass, at in parts),
        "I_psi": b.effector_turning + b.payload_turning + about + rotor,
    }


def _one_of(quantity: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{quantity} is {value!r}; allowed: {', '.join(allowed)}")
