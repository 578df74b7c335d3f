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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn import Recording

from . import motions
from .plant import (
    LIMBS,
    Array,
    Bodies,
    Drive,
    Loop,
    NoCompilerError,
    arm_angles,
    compiler,
    copied,
    dof_of,
    fresh_drive,
    inverse,
    run,
)

__all__ = ["CAUSES", "Machine", "NoCompilerError", "Run", "compiler", "make_machine"]

TICK = 1e-3  # s, of the controller and of the log
LEAD = 0.3  # s that run before a log begins
COUNTS = 2**20  # of the encoder per turn of the axis
ENCODER_NOISE = 2e-6  # rad
TORQUE_NOISE = 0.009  # of the RMS torque, white over the log's band
CONTROL = 12.0  # Hz, of the position loop


@dataclass(frozen=True, eq=False)
class Draft:
    """A machine in the making: a cause changes its bodies and drives and says what it did."""

    bodies: Bodies
    drives: list[Drive]
    scale: Array  # N m, RMS torque of each axis in a random motion
    strength: float
    rng: np.random.Generator
    inertia: Array  # kg m^2, of each axis with its load, without rotor
    offset: Array  # N m, of the reported torque
    terms: set[str] = field(default_factory=set)
    numbers: dict[str, Any] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)

    def around(self, spread: float = 0.3, size: int | None = None) -> Array:
        """Factors about 1 that give each axis its own strength."""
        n = len(self.drives) if size is None else size
        return self.strength * self.rng.uniform(1 - spread, 1 + spread, n)

    def signs(self) -> Array:
        """A sign per axis, not all the same."""
        signs = self.rng.choice([-1.0, 1.0], len(self.drives))
        signs[int(self.rng.integers(3))] = -signs[:3].sum() / abs(signs[:3].sum())
        return signs


def _none(draft: Draft) -> None:
    """Nothing wrong: rigid gears, equal limbs, Coulomb and viscous friction."""


def _friction(draft: Draft) -> None:
    """Coulomb friction that differs by direction, and a Stribeck peak of Gaussian shape."""
    _asymmetric(draft)
    _stribeck(draft, power=2.0)


def _tustin(draft: Draft) -> None:
    """The same with a Stribeck peak that falls exponentially."""
    _asymmetric(draft)
    _stribeck(draft, power=1.0)


def _asymmetric(draft: Draft) -> None:
    shares = 0.115 * draft.around() * draft.signs()
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.asymmetry = share
    draft.terms.add("offset")
    draft.numbers["asymmetry"] = shares


def _stribeck(draft: Draft, power: float) -> None:
    shares, rates = 0.35 * draft.around(), draft.rng.uniform(0.08, 0.3, len(draft.drives))
    for drive, share, rate in zip(draft.drives, shares, rates, strict=True):
        drive.stribeck, drive.stribeck_rate = share * drive.coulomb, rate
        drive.stribeck_power = power
    draft.terms.add("stribeck")
    draft.numbers.update({"stribeck": shares, "stribeck_rate": rates})


def _lugre(draft: Draft) -> None:
    """LuGre: bristles that bend before they slip, in place of set-valued friction."""
    _stribeck(draft, power=2.0)
    bend = draft.rng.uniform(3e-4, 1e-3, len(draft.drives))  # rad at the Coulomb level
    for drive, give, inertia in zip(draft.drives, bend, draft.inertia, strict=True):
        drive.bristle = drive.coulomb / give
        drive.bristle_damping = 0.5 * np.sqrt(drive.bristle * (inertia + drive.rotor))
    draft.numbers["bend"] = bend


def _thinning(draft: Draft) -> None:
    """Grease that thins under shear: an extra viscosity, halved at 1 to 2 rad/s."""
    share, rate = 2.0 * draft.around(), draft.rng.uniform(1.0, 2.0, len(draft.drives))
    for drive, extra, half in zip(draft.drives, share, rate, strict=True):
        drive.thinning, drive.thinning_rate = extra * drive.viscous, half
    draft.terms.add("thinning")
    draft.unclear.update(
        {f"{name}{i + 1}" for name in ("Fv", "Fc") for i in range(len(draft.drives))}
    )
    draft.numbers.update({"thinning": share, "thinning_rate": rate})


def _ripple(draft: Draft) -> None:
    """Cogging: two orders per turn, amplitude and phase of each axis its own."""
    order = int(draft.rng.integers(14, 45))
    orders = [order, 2 * order]
    for drive, scale, factor in zip(draft.drives, draft.scale, draft.around(), strict=True):
        for k, size in enumerate((0.03, 0.01)):
            drive.ripple[k] = size * factor * scale
            drive.ripple_order[k] = orders[k]
            drive.ripple_phase[k] = draft.rng.uniform(0, 2 * np.pi)
    draft.terms.update({f"ripple{n}" for n in orders})
    draft.numbers["orders"] = orders


def _load(draft: Draft) -> None:
    """A share of the torque through the gear is lost in it."""
    shares = 0.06 * draft.around(0.15)
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.loss_load = share
    draft.terms.add("load")
    draft.numbers["loss"] = shares


def _motor_load(draft: Draft) -> None:
    """A share of the motor's torque is lost."""
    shares = 0.06 * draft.around(0.15)
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.loss_motor = share
    draft.terms.add("load")
    draft.numbers["loss"] = shares


def _drift(draft: Draft) -> None:
    """Viscous friction that falls while the oil warms up: exponential in time.

    The range is set about its mean over the log when the log is made.
    """
    shares, time = 0.4 * draft.around(0.2), float(draft.rng.uniform(0.25, 0.6))
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.warm_range = share
    draft.terms.add("drift")
    draft.numbers.update({"drift": shares, "drift_time": time})


def _eccentric(draft: Draft) -> None:
    """Discs of the encoders that sit off their axes, at the motors' side of the gears."""
    sizes, turns = 0.1e-3 * draft.around(), int(draft.rng.integers(28, 65))
    for drive, size in zip(draft.drives, sizes, strict=True):
        drive.eccentricity, drive.encoder_ratio = size * turns, turns
        drive.eccentricity_phase = draft.rng.uniform(0, 2 * np.pi)
    draft.terms.add(f"ecc{turns}")
    draft.numbers.update({"eccentricity": sizes, "encoder_order": turns})


def _arms(draft: Draft) -> None:
    """Limbs that are not equal in mass and inertia."""
    b = draft.bodies
    for names, size in (
        (("arm_mass", "arm_inertia"), 0.06),
        (("arm_com",), 0.02),
        (("rod_mass", "rod_inertia"), 0.06),
    ):
        shares = size * draft.strength * _contrast(draft.rng, LIMBS)
        for name in names:
            values = getattr(b, name)
            for i in range(LIMBS):
                values[i] *= 1 + shares[i]
    rotors = 0.06 * draft.strength * _contrast(draft.rng, LIMBS)
    for drive, share in zip(draft.drives[:LIMBS], rotors, strict=True):
        drive.rotor *= 1 + share
    draft.terms.add("limbs")


def _constants(draft: Draft) -> None:
    """Torque constants that differ from the assumed one; the mean of their inverses is 1."""
    inverse_share = 1 + 0.015 * draft.strength * _contrast(draft.rng, LIMBS)
    for drive, share in zip(draft.drives[:LIMBS], inverse_share, strict=True):
        drive.torque_constant = 1 / share
    draft.terms.add("kt")
    draft.numbers["reported_over_true"] = inverse_share


def _delay(draft: Draft) -> None:
    """The angle is read later than the torque."""
    for drive in draft.drives:
        drive.delay = 1e-3 * draft.strength
    draft.terms.add("delay")
    draft.numbers["delay"] = 1e-3 * draft.strength


def _offset(draft: Draft) -> None:
    """The torque reported is off by a constant."""
    draft.offset[:] = 0.0145 * draft.scale * draft.around() * draft.signs()
    draft.terms.add("offset")
    draft.numbers["offset"] = draft.offset.copy()


def _geometry(draft: Draft) -> None:
    """Arms, rods, radii and azimuths that are not those of the drawing."""
    for name, size in (("arm", 4e-4), ("rod", 4e-4), ("base_radius", 4e-4), ("azimuth", 3e-3)):
        values, errors = getattr(draft.bodies, name), draft.rng.standard_normal(LIMBS)
        for i in range(LIMBS):
            values[i] += draft.strength * size * errors[i]
        draft.numbers[name] = draft.strength * size * errors
    draft.terms.add("geom")


def _payload(draft: Draft) -> None:
    """Something at the platform that the robot file does not know."""
    mass = 0.5 * draft.strength * draft.bodies.platform_mass * draft.rng.uniform(0.7, 1.3)
    draft.bodies.payload_mass += mass
    draft.numbers["payload"] = mass


def _elastic(draft: Draft) -> None:
    """Springs between rotors and arms; friction, ripple and losses stay at the rotors."""
    # one stiffness for the arms; with the rotor held they swing at 45 Hz where the strength is 1
    inertia = draft.inertia.copy()
    inertia[:LIMBS] = np.mean(inertia[:LIMBS])
    for drive, load in zip(draft.drives, inertia, strict=True):
        drive.stiffness = load * (2 * np.pi * 45.0) ** 2 / draft.strength
        both = load * drive.rotor / (load + drive.rotor)
        drive.damping = 2 * 0.05 * np.sqrt(drive.stiffness * both)
    draft.terms.add("elastic")
    draft.numbers["compliance"] = np.array([1 / drive.stiffness for drive in draft.drives])


def _belt(draft: Draft) -> None:
    """Belts: springs that grow stiffer with their wind-up and creep."""
    _elastic(draft)
    for drive, scale in zip(draft.drives, draft.scale, strict=True):
        drive.hardening = 4 * scale / drive.stiffness  # 25 % more at twice the RMS torque
        drive.creep_stiffness, drive.creep_time = 0.15 * drive.stiffness, 0.02


def _hysteresis(draft: Draft) -> None:
    """Part of the Coulomb friction builds up over an angle after each reversal."""
    share, bends = 0.25 * draft.around(0.2), (0.005, 0.015, 0.04, 0.1)
    for drive, part in zip(draft.drives, share, strict=True):
        slipping = min(part, 0.9) * drive.coulomb
        drive.coulomb -= slipping
        for k, bend in enumerate(bends):
            drive.slip_torque[k] = slipping / len(bends)
            drive.slip_stiffness[k] = drive.slip_torque[k] / bend
    draft.terms.add("hysteresis")
    draft.numbers["hysteresis"] = share


def _coloured(draft: Draft) -> None:
    """Noise of the torque with a correlation of 5 ms, beside the white one."""
    draft.numbers["coloured"] = 0.01 * draft.strength


Cause = Callable[[Draft], None]

SINGLE: dict[str, Cause] = {
    "none": _none,
    "friction": _friction,
    "tustin": _tustin,
    "lugre": _lugre,
    "thinning": _thinning,
    "ripple": _ripple,
    "load": _load,
    "motor-load": _motor_load,
    "drift": _drift,
    "ecc": _eccentric,
    "arms": _arms,
    "kt": _constants,
    "delay": _delay,
    "offset": _offset,
    "geom": _geometry,
    "payload": _payload,
    "elastic": _elastic,
    "belt": _belt,
    "hysteresis": _hysteresis,
    "coloured": _coloured,
}
ALL = ("friction", "ripple", "load", "drift", "ecc", "arms", "kt", "delay", "offset")
#: Every cause by name; "all" is those of `ALL` together.
CAUSES = (*SINGLE, "all")


def _contrast(rng: np.random.Generator, n: int) -> Array:
    """Numbers of sum 0 and RMS 1."""
    x = rng.standard_normal(n)
    x -= x.mean()
    return x / np.sqrt(np.mean(x**2))


class Run(NamedTuple):
    """A log and what was true while it was taken (rows as in the log)."""

    recording: Recording
    truth: Loop


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine: its robot file, its true bodies and drives, and what identification should find.

    `truth` maps the names of deltadyn's fit table to the true base parameters (a mean over the
    limbs where they differ, see `limbs`); a parameter that the machine does not define is left
    out. `causes` names the terms beyond the base model. `numbers` holds their sizes.
    """

    robot: Any
    cause: str
    strength: float
    seed: int
    bodies: Bodies
    drives: tuple[Drive, ...]
    nominal: Bodies  # of the robot file
    guess: Array  # (dof,): factors on the feedforward of each axis
    scale: Array  # (dof,) N m
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
        """Logs of random motions, one after the other on the machine's clock; as `runs`."""
        return [item.recording for item in self.runs(motions, seconds, **options)]

    def record_picks(self, seconds: float = 4.0, **options: Any) -> Recording:
        """A log of pick-and-place cycles, taken after the others; as `run_picks`."""
        return self.run_picks(seconds, **options).recording

    def runs(
        self,
        count: int = 4,
        seconds: float = 4.0,
        *,
        kind: str = "multisine",
        start: str = "moving",
        dwell: float = 0.1,
        temperature: bool = False,
        first: int = 0,
    ) -> list[Run]:
        """Random motions, and the truth beside each log.

        `kind` is "multisine" or "via" (rests of `dwell` s between moves); `start` is "moving" or
        "rest" (0.3 s at rest in the log before the motion). `first` chooses other motions of the
        same machine.
        """
        _one_of("kind", kind, ("multisine", "via"))
        _one_of("start", start, ("moving", "rest"))
        found = []
        for k in range(first, first + count):
            rng = np.random.default_rng([self.seed, 1, k])
            if kind == "via":
                path = motions.via_points(self.room, rng, seconds, dwell)
            else:
                fade = 0.5 if start == "rest" else 0.0
                path = motions.multisine(self.room, rng, seconds, fade)
            rest = 0.3 if start == "rest" else 0.0
            clock = (k - first) * seconds
            found.append(
                self._run(
                    path, seconds, rest, clock, count * seconds, rng, f"motion {k + 1}", temperature
                )
            )
        return found

    def run_picks(
        self,
        seconds: float = 4.0,
        *,
        dwell: float = 0.1,
        clock: float = 16.0,
        span: float = 16.0,
        temperature: bool = False,
        first: int = 0,
    ) -> Run:
        """Pick-and-place cycles with rests, and the truth beside the log.

        `clock` (s) is when it begins, `span` how long the logs before it took.
        """
        rng = np.random.default_rng([self.seed, 2, first])
        path = motions.picks(self.room, rng, seconds, dwell)
        return self._run(path, seconds, 0.0, clock, span, rng, "picks", temperature)

    def _run(
        self,
        path: motions.Path,
        seconds: float,
        rest: float,
        clock: float,
        span: float,
        rng: np.random.Generator,
        name: str,
        temperature: bool,
    ) -> Run:
        n, lead = round(seconds / TICK), round(LEAD / TICK)
        t = (np.arange(-lead, n) - rest / TICK) * TICK
        at = np.maximum(t, 0.0) if rest else t
        reference, rate, forward = self._reference(path, at)
        noise = ENCODER_NOISE * rng.standard_normal(reference.shape)
        drives = [copied(drive) for drive in self.drives]
        warm_time = self.numbers.get("drift_time", 1.0) * span
        for drive in drives:
            drive.warm_time = warm_time
            drive.warm_mean = warm_time / span * (1 - np.exp(-span / warm_time))
        loop = run(
            self.bodies,
            drives,
            reference,
            rate,
            forward,
            noise,
            tick=TICK,
            substeps=16 if any(drive.bristle > 0 for drive in drives) else 8,
            clock=clock - LEAD,
        )
        loop = Loop(*(rows[lead:] for rows in loop))
        clocks = clock + np.arange(n) * TICK
        tau = loop.reported + self.offset + self._torque_noise(rng, n)
        warmth = None
        if temperature:
            warmth = 25.0 + 20.0 * (1 - np.exp(-clocks / warm_time)) + 0.1 * rng.standard_normal(n)
        recording = Recording(
            clocks, loop.read, tau, temperature=warmth, name=name, robot=self.robot.name
        )
        return Run(recording, loop)

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
    names = ALL if cause == "all" else tuple(cause.split("+"))
    for name in names:
        _one_of("cause", name, CAUSES)
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
    b = copied(nominal)
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
    cols: dict[str, Array] = {
        name: np.array(getattr(b, name)[:])
        for name, kind in b._fields_
        if kind is not type(b).gravity and hasattr(getattr(b, name), "__len__")
    }
    f, k = cols["rod_com"] / cols["rod"], cols["rod_inertia"] / cols["rod"] ** 2
    m, l1 = 2 * cols["rod_mass"], cols["arm"]
    at_elbow, shared, at_platform = (
        m * (1 - f) ** 2 + 2 * k,
        m * f * (1 - f) - 2 * k,
        m * f**2 + 2 * k,
    )
    rotor = np.array([drive.rotor for drive in drives])
    away = cols["arm_com"] ** 2 + cols["arm_offset"] ** 2
    limbs = {
        "m_x": shared,
        "A": cols["arm_inertia"]
        + cols["arm_mass"] * away
        + (cols["elbow_mass"] + at_elbow) * l1**2
        + rotor[:LIMBS],
        "G": cols["arm_mass"] * cols["arm_com"] + (cols["elbow_mass"] + m * (1 - f)) * l1,
        "G_s": cols["arm_mass"] * cols["arm_offset"],
    }
    mass = b.platform_mass + b.payload_mass + float(at_platform.sum())
    truth = {"M_P": mass} | {name: float(values.mean()) for name, values in limbs.items()}
    if not np.any(limbs["G_s"]):
        del truth["G_s"]
    if b.spindle:
        truth |= _spindle_parameters(b, float(rotor[3]))
        truth["M_P"] += b.lower_mass + b.effector_mass
    for i, drive in enumerate(drives):
        truth[f"Fv{i + 1}"] = drive.viscous
        truth[f"Fc{i + 1}"] = drive.coulomb + sum(drive.slip_torque)
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
