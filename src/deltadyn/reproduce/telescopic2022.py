"""[telescopic2022] again: the telescopic rod in torques, identification and feedforward.

Table 2 holds three sums of the legs' bodies, by eqs. 36-41 with arms of length a:

    M_P = 3 m_b,   G = (m_a/2 + m_b) a,   A = I_u

and no platform. With its three numbers eq. 36 makes the rotor negative. The same sums with the
rotor of the paper's simulation give a platform, arms and rods that a robot can have: the bench's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.dynamics.lumped import projected_rod, rod_force
from deltadyn.identification.methods.two_step import (
    TwoStepResult,
    arms_alone,
    parameter,
    two_step,
    with_parameters,
    with_prismatic,
    without_rod,
)
from deltadyn.kinematics import (
    SpindleSingularity,
    spindle_coordinates,
    spindle_jacobian,
    spindle_singularity,
)
from deltadyn.motion import FourierSeries, Motion, fourier_motion, telescopic_gate
from deltadyn.motion.profiles import quintic
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.reproduce.ladder import rms
from deltadyn.reproduce.result import Check, Paper, Reproduction, Table
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Platform, Strut
from deltadyn.robot.file import load_robot
from deltadyn.simulation import PD, PRESETS, Controller, PDFeedforward, Run, simulate

ARMS = ("joint 1", "joint 2", "joint 3")
#: Figure 6: ways in the plane, in m, as section 2.4 names one and as the figure shows one.
LINES = {
    "as the text names it": ((0.1, -0.1), (0.1, 0.1)),
    "through the axis, as figure 6 shows it": ((-0.1, -0.1), (0.1, 0.1)),
}
LINE_HEIGHT, LINE_SECONDS, LINE_SAMPLES = -0.8, 0.3, 600  # m, s
SPEEDS = (-0.5, 1.5)  # m/s: the axis of figure 7
AXIS_4 = (0.002, 0.005)  # N m s/rad and N m: the paper has none for it
BAND = 30.0  # Hz: regressor and torque are compared below it
#: Hz that rates are estimated with. Noise tells how much to smooth; perfect sensors have none.
BANDWIDTH = {"industrial": None, "ideal": 100.0}

PAPER = Paper("telescopic2022", BAND=BAND)
ARM_LENGTH, TABLE_2, ROWS = (PAPER.numbers[name] for name in ("arm_length", "table_2", "rows"))
EXCITATION, VALIDATION = (
    FourierSeries(item["frequency"], *(np.array(item[x]) for x in ("offset", "sine", "cosine")))
    for item in (PAPER.numbers["excitation"], PAPER.numbers["validation"])
)

ALONE, WITHOUT, WITH = "PD alone", "feedforward without rod", "feedforward with rod"
PROJECTED, OWN = "feedforward, the paper's rod", "feedforward, machine's own numbers"
HALF, NONE = "industrial, half of the ripple", "industrial, no ripple"
SOFT = "industrial, gains of 10 Hz"
#: Of each industrial bench: share of the preset's motor ripple, bandwidth of the gains (Hz).
INDUSTRIAL = {"industrial": (1.0, None), HALF: (0.5, None), NONE: (0.0, None), SOFT: (1.0, 10.0)}
BENCHES = ("ideal", *INDUSTRIAL)


@dataclass(frozen=True, eq=False)
class Found:
    """What was found: lines, simulation, runs on the bench, validation, tracking."""

    lines: dict[str, Line]
    simulated: Simulated
    runs: Bench
    validated: dict[str, Validated]  # by preset
    followed: Tracking


def telescopic2022(
    *, seed: int = 0, progress: bool = False, rate: float = 2000.0, periods: int = 5
) -> Reproduction:
    """Reproduce figures 6-10, 12, 13, 15 and table 2 of [telescopic2022] on the virtual bench.

    `rate` (Hz) is that of the drives, `periods` of 1.14 s those of the excitation; the defaults
    take half a minute.
    """
    runs = run_bench(seed=seed, rate=rate, periods=periods, progress=progress)
    validated = {preset: validation(runs, preset) for preset in runs.validation}
    followed = tracking(runs, seed=seed + 5, rate=rate, progress=progress)
    found = Found(straight_lines(), simulated_gate(), runs, validated, followed)
    return PAPER.reproduction(_tables(found), _statements(found), _checks(found), found)


# Figures 6 to 10, without a bench


@dataclass(frozen=True, eq=False)
class Line:
    """Figure 6: a straight way of 0.3 s, p (N, 4), in both coordinate systems of the rod."""

    t: FloatArray
    p: FloatArray
    found: SpindleSingularity


def straight_lines() -> dict[str, Line]:
    """Figure 6: the way that section 2.4 names and the one that its figure shows.

    The number of samples is even, so that none lies on the axis.
    """
    robot = load_robot("telescopic-delta")
    u = np.linspace(0.0, 1.0, LINE_SAMPLES)
    way, _, _ = quintic(u)
    out = {}
    for name, (start, end) in LINES.items():
        p = np.zeros((LINE_SAMPLES, 4))
        p[:, :2] = np.array(start) + way[:, None] * np.subtract(end, start)
        p[:, 2] = LINE_HEIGHT
        out[name] = Line(LINE_SECONDS * u, p, spindle_singularity(robot, p))
    return out


@dataclass(frozen=True, eq=False)
class Simulated:
    """The gate of section 4: the rod's coordinates and the torques (N, 3) of figures 8 to 10."""

    motion: Motion
    coordinates: FloatArray  # (N, 3): l, theta, phi
    rates: FloatArray
    accelerations: FloatArray
    forces: FloatArray  # (N, 3): along l (N), about theta and phi (N m)
    without: FloatArray
    projected: FloatArray
    exact: FloatArray

    @property
    def largest(self) -> float:
        """Largest acceleration of the platform along an axis, in m/s^2."""
        return float(np.abs(self.motion.pdd[:, :3]).max())


def simulated_gate() -> Simulated:
    """Section 4: the gate of 0.6 s without friction and damping."""
    robot = load_robot("telescopic-delta")
    bare = without_rod(robot)
    motion, alone = telescopic_gate(robot), telescopic_gate(bare)
    coordinates = spindle_coordinates(robot, motion.p)
    rod = projected_rod(robot, motion)
    speed = motion.pd[:, :3]
    accelerations = contract("nij,nj->ni", rod.B, motion.pdd[:, :3])
    accelerations += contract("nij,nj->ni", rod.Bd, speed)
    jacobian = spindle_jacobian(coordinates)
    return Simulated(
        motion,
        coordinates,
        contract("nij,nj->ni", rod.B, speed),
        accelerations,
        contract("nki,nk->ni", jacobian, rod_force(robot, motion)),
        inverse_dynamics(bare, alone, "projected-rod"),
        inverse_dynamics(robot, motion, "projected-rod")[:, :3],
        inverse_dynamics(robot, motion, "exact")[:, :3],
    )


# The robots, motions and runs of the experiment


def table_2_split(rotor: float) -> dict[str, float]:
    """Masses (kg) of platform, arm and one lower rod with table 2's three sums and this rotor."""
    sum_G = TABLE_2["arm.m"] / 2 + TABLE_2["strut.m"]  # m_a/2 + m_b
    strut = 3 * (TABLE_2["I_u"] - rotor) / ARM_LENGTH**2 - 2 * sum_G  # of A, with m_a by sum_G
    return {
        "platform.m": 3 * (TABLE_2["strut.m"] - strut),
        "arm.m": 2 * (sum_G - strut),
        "strut.m": strut,
    }


def leg_inertia(arm: float, strut: float, rotor: float) -> float:
    """I_u (kg m^2) of [telescopic2022] eq. 36, with arms of 0.385 m."""
    return float(rotor + (arm / 3 + strut) * ARM_LENGTH**2)


def printed_rotor() -> float:
    """The rotor (kg m^2) of table 2 as printed, by eq. 36."""
    return float(TABLE_2["I_u"] - leg_inertia(TABLE_2["arm.m"], TABLE_2["strut.m"], 0.0))


def experiment_robot() -> Robot:
    """The robot of the experiment: lengths of table 1, table 2's sums, friction and damping."""
    nominal = load_robot("telescopic-delta")
    masses = table_2_split(nominal.drives.output_inertia[0])
    arm, length = masses["arm.m"], nominal.geometry.strut_length[0]
    friction = {
        name: (TABLE_2[term],) * 3 + (fourth,)
        for name, term, fourth in zip(("viscous", "coulomb"), ("Fv", "Fc"), AXIS_4, strict=True)
    }
    robot = nominal.replace(
        name="telescopic-delta, experiment",
        geometry=replace(nominal.geometry, arm_length=ARM_LENGTH),
        arms=(Arm(arm, ARM_LENGTH / 2, arm * ARM_LENGTH**2 / 12),) * 3,
        struts=(Strut.uniform(masses["strut.m"], length),) * 3,
        platform=Platform(masses["platform.m"]),
    ).with_friction(**friction)
    return with_parameters(with_prismatic(robot), {"prismatic.Fv": TABLE_2["prismatic.Fv"]})


@dataclass(frozen=True, eq=False)
class Fits:
    """The fits of one pair of recordings, and the machine that made them."""

    machine: Robot
    exact: TwoStepResult
    paper: TwoStepResult  # eqs. 39-45 as they are: projected rod, no platform
    mended: TwoStepResult  # the paper's model with the platform's mass given


@dataclass(frozen=True, eq=False)
class Bench:
    """All runs of the experiment."""

    robot: Robot
    gates: tuple[Run, Run]  # without and with the rod
    validation: dict[str, Prepared]  # by preset
    fits: dict[str, Fits]  # by preset


def run_bench(*, seed: int, rate: float, periods: int, progress: bool) -> Bench:
    """Run the experiment: gates, excitation without and with the rod, another motion."""
    robot = experiment_robot()
    settings: dict[str, Any] = {"preset": "industrial", "rate": rate, "progress": progress}
    gates = (
        simulate(without_rod(robot), telescopic_gate(without_rod(robot)), seed=seed, **settings),
        simulate(robot, telescopic_gate(robot), seed=seed + 1, **settings),
    )
    ticks = {"industrial": rate, "ideal": rate / 2}  # a perfect drive is calm at any rate
    checks = {
        preset: _validation(robot, preset, hertz, seed + 2, progress)
        for preset, hertz in ticks.items()
    }
    fits = {
        preset: _fits(robot, preset, hertz, periods, seed + 3, progress)
        for preset, hertz in ticks.items()
    }
    return Bench(robot, gates, checks, fits)


def _validation(robot: Robot, preset: str, rate: float, seed: int, progress: bool) -> Prepared:
    """The recording of the motion of the validation, made ready."""
    motion = fourier_motion(robot, VALIDATION, periods=2, rate=rate, ramp=1.0)
    run = simulate(robot, motion, preset=preset, rate=rate, seed=seed, progress=progress)
    return prepare(robot, run.recording, band=BAND, bandwidth=BANDWIDTH[preset])


def _fits(robot: Robot, preset: str, rate: float, periods: int, seed: int, progress: bool) -> Fits:
    """Two recordings of the same motion, and the fits by both models."""
    bare = without_rod(robot)
    motion = fourier_motion(robot, EXCITATION, periods=periods, rate=rate)
    parts = (motion.p[:, :3], motion.pd[:, :3], motion.pdd[:, :3])
    settings: dict[str, Any] = {"preset": preset, "rate": rate, "progress": progress}
    first = simulate(bare, Motion.from_platform(bare, motion.t, *parts), seed=seed, **settings)
    second = simulate(robot, motion, seed=seed + 1, **settings)
    legs = prepare(bare, first.recording, band=BAND, bandwidth=BANDWIDTH[preset])
    rod = prepare(robot, second.recording, band=BAND, bandwidth=BANDWIDTH[preset])
    nothing = with_parameters(robot, {"platform.m": 0.0})
    return Fits(
        second.truth.robot,
        two_step(robot, legs, rod),
        two_step(nothing, legs, rod, model="projected-rod"),
        two_step(robot, legs, rod, model="projected-rod"),
    )


def upper_rod_by_projection(robot: Robot) -> float:
    """The upper rod (kg) that the paper's model finds where its legs are right.

    From exact torques of the excitation, on a machine whose lower arms are point masses at their
    ends: what errs then is the rod's energy by projected angles alone.
    """
    lengths = zip(robot.struts, robot.geometry.strut_length, strict=True)
    points = tuple(Strut(rod.mass, 0.5, rod.mass * length**2 / 4) for rod, length in lengths)
    machine = robot.replace(struts=points)
    bare = without_rod(machine)
    motion = fourier_motion(machine, EXCITATION, rate=500.0, ramp=0.0)
    alone = arms_alone(motion)
    legs = (alone, inverse_dynamics(bare, alone))
    rod = (motion, inverse_dynamics(machine, motion))
    result = two_step(machine, legs, rod, model="projected-rod")
    return float(result.rod.unbounded[0])


def fitted_value(result: TwoStepResult, name: str, *, unbounded: bool = False) -> float:
    """A parameter of a fit; friction is the mean of the three arms."""

    def value(item: str) -> float:
        if item in result.held:
            return parameter(result.robot, item)
        step = result.step_of(item)
        return float((step.unbounded if unbounded else step.values)[step.names.index(item)])

    return _combined(name, value, of_arms=("Fv", "Fc"))


def machine_value(machine: Robot, name: str) -> float:
    """A parameter of the machine, the mean over its three limbs or axes."""
    limbs = ("arm.m", "strut.m", "rotor", "Fv", "Fc")
    return _combined(name, lambda item: parameter(machine, item), of_arms=limbs)


def _combined(name: str, value: Callable[[str], float], of_arms: tuple[str, ...]) -> float:
    """A parameter, the mean over the arms, or I_u by eq. 36."""
    if name == "I_u":
        return leg_inertia(*(_combined(x, value, of_arms) for x in ("arm.m", "strut.m", "rotor")))
    return float(np.mean([value(item) for item in _each(name, of_arms)]))


def _each(name: str, of_arms: tuple[str, ...] = ("Fv", "Fc")) -> list[str]:
    """The parameter, or those of the three arms."""
    body, dot, rest = name.partition(".")
    return [f"{body}{i}{dot}{rest}" for i in (1, 2, 3)] if name in of_arms else [name]


@dataclass(frozen=True, eq=False)
class Validated:
    """The motion of the validation: torque and its predictions (M, 3) below the band, in N m."""

    t: FloatArray
    tau: FloatArray
    predicted: dict[str, FloatArray]

    def error(self, name: str) -> FloatArray:
        """RMS error (3,) of a prediction."""
        return rms(self.tau - self.predicted[name])


def validation(runs: Bench, preset: str) -> Validated:
    """Figure 13: torque that the fits predict on a motion that they have not seen."""
    given, fits = runs.validation[preset], runs.fits[preset]

    def predicted(result: TwoStepResult, model: str) -> FloatArray:
        return given.limited(inverse_dynamics(result.robot, given.state, model)[:, :3])

    massless = without_rod(fits.exact.robot, axes=4)
    return Validated(
        given.times,
        given.limited(given.tau[:, :3]),
        {
            "exact": predicted(fits.exact, "exact"),
            "projected-rod": predicted(fits.mended, "projected-rod"),
            "legs alone": given.limited(inverse_dynamics(massless, given.state)[:, :3]),
        },
    )


# Figures 14 and 15: PD with torque feedforward, with and without the rod. On one bench all
# controllers have the same gains. What differs is the torque for the reference: none, that of the
# legs alone (eq. 39), that of legs and rod (eq. 40).


@dataclass(frozen=True, eq=False)
class Tracking:
    """The runs of the gate by bench and controller."""

    runs: dict[tuple[str, str], Run]

    def error(self, bench: str, controller: str) -> FloatArray:
        """Tracking error of the arms (N, 3), in mrad."""
        return 1e3 * self.runs[bench, controller].tracking_error[:, :3]

    def rms(self, bench: str, controller: str) -> FloatArray:
        """Its RMS value (3,), in mrad."""
        return rms(self.error(bench, controller))

    def overall(self, bench: str, controller: str) -> float:
        """RMS over time and joints, in mrad."""
        return float(np.sqrt(np.mean(self.rms(bench, controller) ** 2)))

    def factor(self, bench: str, better: str = WITH, worse: str = WITHOUT) -> FloatArray:
        """How many times (3,) the error of one controller is that of another."""
        ratio: FloatArray = self.rms(bench, worse) / self.rms(bench, better)
        return ratio


def tracking(runs: Bench, *, seed: int, rate: float, progress: bool = False) -> Tracking:
    """Let every controller follow the gate on the ideal bench and on the industrial one.

    The industrial bench comes with all controllers, and with two of them for less ripple and for
    softer gains.
    """
    motion = telescopic_gate(runs.robot)
    settings: dict[str, Any] = {"rate": rate, "seed": seed, "progress": progress}
    found: dict[tuple[str, str], Run] = {}
    for name, law in controllers(runs.fits["ideal"], PD(runs.robot)).items():
        found["ideal", name] = simulate(runs.robot, motion, law, **settings)
    for bench, (share, bandwidth) in INDUSTRIAL.items():
        laws = controllers(runs.fits["industrial"], PD(runs.robot, bandwidth=bandwidth))
        ripple = share * PRESETS["industrial"].ripple
        for name in laws if bench == "industrial" else (WITHOUT, WITH):
            found[bench, name] = simulate(
                runs.robot, motion, laws[name], preset="industrial", ripple=ripple, **settings
            )
    return Tracking(found)


def controllers(fits: Fits, gains: PD) -> dict[str, Controller]:
    """The controllers by name, all with the same gains, their models from these fits."""

    def forward(robot: Robot, model: str = "exact") -> PDFeedforward:
        return PDFeedforward(robot, model, stiffness=gains.stiffness, damping=gains.damping)

    identified = fits.exact.robot
    return {
        ALONE: gains,
        WITHOUT: forward(without_rod(identified, axes=4)),
        WITH: forward(identified),
        PROJECTED: forward(fits.mended.robot, "projected-rod"),
        OWN: forward(fits.machine),
    }


# Tables, statements and checks


def _tables(found: Found) -> tuple[Table, ...]:
    gate, fits, followed = found.simulated, found.runs.fits, found.followed
    torques = {
        "without rod (figure 9)": gate.without,
        "with rod, projected angles (figure 10)": gate.projected,
        "with rod, exact": gate.exact,
    }
    recorded = zip(("without rod", "with rod"), found.runs.gates, strict=True)
    errors = []
    for bench, name in followed.runs:
        peak = np.abs(followed.error(bench, name)).max(axis=0)
        errors.append((bench, name, followed.rms(bench, name), peak))
    worth = [(bench, followed.factor(bench), _worth(followed, bench)) for bench in BENCHES]
    return (
        PAPER.table("lines", [_line(*item) for item in found.lines.items()]),
        PAPER.table("motion", _motion(gate.motion)),
        PAPER.table("gate", [(name, rms(x), np.abs(x).max(axis=0)) for name, x in torques.items()]),
        PAPER.table("measured", [(name, rms(run.recording.tau[:, :3])) for name, run in recorded]),
        PAPER.table("table_2", _table_2(fits["industrial"])),
        PAPER.table("ideal", _ideal(fits["ideal"])),
        PAPER.table("validation", _validation_rows(found.validated)),
        PAPER.table("tracking", errors),
        PAPER.table("worth", [("paper", None, None, None, PAPER.numbers["factor"]), *worth]),
    )


def _line(name: str, line: Line) -> tuple[Any, ...]:
    found, length = line.found, 1e3 * line.found.polar[:, 0]
    polar = (found.polar_step, found.polar_condition.max())
    projected = (found.projected_step, found.projected_condition.max())
    return (name, length.min(), length.max(), polar, projected)


def _motion(motion: Motion) -> list[Any]:
    parts = (motion.p, motion.pd, motion.pdd)
    return [
        (name, [end(part[:, k]) for part in parts for end in (np.min, np.max)])
        for k, name in enumerate("xyz")
    ]


def _table_2(fits: Fits) -> list[Any]:
    rows = []
    for name, (words, unit) in ROWS.items():
        paper = printed_rotor() if name == "rotor" else TABLE_2.get(name)
        theirs = fitted_value(fits.paper, name, unbounded=True)
        own = (fitted_value(fits.exact, name), _std(fits.exact, name))
        rows.append((words, paper, theirs, own, machine_value(fits.machine, name), unit))
    return rows


def _ideal(fits: Fits) -> list[Any]:
    rows = []
    for name, (words, unit) in ROWS.items():
        theirs = fitted_value(fits.mended, name, unbounded=True)
        own = fitted_value(fits.exact, name)
        rows.append((words, theirs, own, machine_value(fits.machine, name), unit))
    return rows


def _std(result: TwoStepResult, name: str) -> float | None:
    """The standard deviation; of a mean over the arms that of one arm, the largest."""
    if name == "I_u":
        return None
    return max(result.step_of(item).std_of(item) for item in _each(name))


def _validation_rows(validated: dict[str, Validated]) -> list[Any]:
    names = {
        "exact": "exact model",
        "projected-rod": "paper's model, platform given",
        "legs alone": "legs of the exact model, no rod",
    }
    rows: list[Any] = []
    for preset, given in validated.items():
        rows.append((preset, "measured torque", rms(given.tau)))
        rows += [(preset, f"error: {text}", given.error(key)) for key, text in names.items()]
    return rows


def _worth(found: Tracking, bench: str) -> float:
    """The error over all joints without the rod in the feedforward, over that with it."""
    return found.overall(bench, WITHOUT) / found.overall(bench, WITH)


def _statements(found: Found) -> tuple[str, ...]:
    printed, shown = (line.found for line in found.lines.values())
    runs, followed = found.runs, found.followed
    bumpy, ideal = runs.fits["industrial"], runs.fits["ideal"]
    # The paper's factor is not a property of the rod's model alone: it depends on what is left.
    factor = {bench: _worth(followed, bench) for bench in BENCHES}
    truth = followed.runs["industrial", WITH].truth
    ripple, needed = (np.sqrt(np.mean(x[:, :3] ** 2)) for x in (truth.ripple, truth.tau))
    between = factor["industrial"] < PAPER.numbers["factor"] < factor[NONE]
    return PAPER.statements(
        printed=printed,
        shown=shown,
        condition=printed.polar_condition.max(),
        largest=found.simulated.largest,
        rotor=printed_rotor(),
        ARM_LENGTH=ARM_LENGTH,
        split=table_2_split(runs.robot.drives.output_inertia[0]),
        paper_rotor=fitted_value(bumpy.paper, "rotor", unbounded=True),
        own_rotor=machine_value(bumpy.machine, "rotor"),
        upper=fitted_value(ideal.mended, "upper.m", unbounded=True),
        projected=upper_rod_by_projection(runs.robot),
        table_2=TABLE_2,
        soft=factor[SOFT],
        industrial=factor["industrial"],
        ideal=factor["ideal"],
        half=factor[HALF],
        none=factor[NONE],
        own=followed.overall("industrial", OWN),
        with_rod=followed.overall("industrial", WITH),
        without=followed.overall("industrial", WITHOUT),
        ripple=ripple,
        needed=needed,
        silent=followed.overall(NONE, WITH),
        between="lies between." if between else "does not lie between.",
    )


def _checks(found: Found) -> tuple[Check, ...]:
    printed, shown = (line.found for line in found.lines.values())
    gate, runs, followed = found.simulated, found.runs, found.followed
    low, high = SPEEDS
    speed = gate.motion.pd[:, :3]
    without, with_rod = (rms(run.recording.tau[:, :3]) for run in runs.gates)
    ideal, bumpy = runs.fits["ideal"], runs.fits["industrial"]

    def off(fits: Fits, name: str) -> float:
        return abs(fitted_value(fits.exact, name) / machine_value(fits.machine, name) - 1)

    given = found.validated
    alone = [followed.factor(bench, WITHOUT, ALONE) for bench in ("ideal", "industrial")]
    return PAPER.checks(
        jump=shown.polar_step,
        step=shown.projected_step,
        condition=shown.projected_condition.max(),
        text=printed.polar_step,
        speed=max(speed.max() - high, low - speed.min()),
        acceleration=gate.largest,
        simulated=min(rms(gate.projected) / rms(gate.without)),
        measured=min(with_rod / without),
        recovered=max(off(ideal, name) for name in ROWS if name != "I_u"),
        lower=off(bumpy, "lower.m"),
        rotor=fitted_value(bumpy.paper, "rotor", unbounded=True),
        gain=max(given["industrial"].error("exact") / given["industrial"].error("legs alone")),
        better=max(given["ideal"].error("exact") / given["ideal"].error("projected-rod")),
        ideal=min(followed.factor("ideal")),
        industrial=min(followed.factor("industrial")),
        own=max(followed.factor("industrial", OWN, WITH)),
        silent=min(followed.factor(NONE)),
        alone=np.min(alone),
        energy=max(run.energy.drift for run in followed.runs.values()),
    )
