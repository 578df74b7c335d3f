"""[telescopic2022] again: the telescopic rod in torques, identification and feedforward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics
from deltadyn.dynamics.lumped import projected_rod, rod_force
from deltadyn.identification.methods.two_step import TwoStepResult, without_rod
from deltadyn.kinematics import (
    SpindleSingularity,
    spindle_coordinates,
    spindle_jacobian,
    spindle_singularity,
)
from deltadyn.motion import Motion, telescopic_gate
from deltadyn.motion.profiles import quintic
from deltadyn.reproduce.ladder import rms
from deltadyn.reproduce.result import Cell, Check, Reproduction, Table
from deltadyn.reproduce.telescopic2022.bench import (
    ARM_LENGTH,
    BAND,
    TABLE_2,
    Bench,
    Fits,
    fitted_value,
    leg_inertia,
    machine_value,
    run_bench,
    table_2_split,
    upper_rod_by_projection,
)
from deltadyn.reproduce.telescopic2022.control import (
    Tracking,
    tracking,
    tracking_checks,
    tracking_statements,
    tracking_tables,
)
from deltadyn.robot.file import load_robot

PAPER = "telescopic2022"
TITLE = "the telescopic rod in the torques, its identification in two steps, its feedforward"
ARMS = ("joint 1", "joint 2", "joint 3")
#: Figure 6: ways in the plane, in m, as section 2.4 names one and as the figure shows one.
LINES = {
    "as the text names it": ((0.1, -0.1), (0.1, 0.1)),
    "through the axis, as figure 6 shows it": ((-0.1, -0.1), (0.1, 0.1)),
}
LINE_HEIGHT, LINE_SECONDS, LINE_SAMPLES = -0.8, 0.3, 600  # m, s
SPEEDS, LARGEST_ACCELERATION = (-0.5, 1.5), 20.0  # m/s, m/s^2: the axes of figure 7
RECOVERED = 0.02  # of a value: from derivatives, and tanh for sign in the bench's friction
BETTER = 0.5  # of the paper's model's error, where nothing but the model errs
LOWER_ROD = 0.1  # of the lower rod's mass, from an industrial log
#: Rows of table 2: our name, its words, unit.
ROWS = (
    ("platform.m", "mass of the platform", "kg"),
    ("arm.m", "mass of the upper arm", "kg"),
    ("strut.m", "mass of the lower arm (one rod)", "kg"),
    ("I_u", "I_u", "kg m^2"),
    ("rotor", "rotor by eq. 36", "kg m^2"),
    ("Fv", "f_v, mean of the arms", "N m s/rad"),
    ("Fc", "f_c, mean of the arms", "N m"),
    ("upper.m", "mass of the upper rod", "kg"),
    ("lower.m", "mass of the lower rod", "kg"),
    ("prismatic.Fv", "damping of the rod", "N s/m"),
)
FITTED = tuple(name for name, _, _ in ROWS if name not in ("I_u",))


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


@dataclass(frozen=True, eq=False)
class Line:
    """Figure 6: a straight way of 0.3 s, p (N, 4), in both coordinate systems of the rod."""

    t: FloatArray
    p: FloatArray
    found: SpindleSingularity


@dataclass(frozen=True, eq=False)
class Validated:
    """The motion of the validation: torque and its predictions (M, 3) below the band, in N m."""

    t: FloatArray
    tau: FloatArray
    predicted: dict[str, FloatArray]

    def error(self, name: str) -> FloatArray:
        """RMS error (3,) of a prediction."""
        return rms(self.tau - self.predicted[name])


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
    lines, simulated = straight_lines(), simulated_gate()
    runs = run_bench(seed=seed, rate=rate, periods=periods, progress=progress)
    validated = {preset: validation(runs, preset) for preset in runs.validation}
    followed = tracking(runs, seed=seed + 5, rate=rate, progress=progress)
    return Reproduction(
        PAPER,
        TITLE,
        tables=(
            _line_table(lines),
            _motion_table(simulated.motion),
            _gate_table(simulated),
            _measured_table(runs),
            _table_2(runs.fits),
            _ideal_table(runs.fits["ideal"]),
            _validation_table(validated),
            *tracking_tables(followed),
        ),
        statements=(
            _line_sentence(lines),
            _motion_sentence(simulated.motion),
            *_statements(runs),
            *tracking_statements(followed),
        ),
        checks=(
            *_line_checks(lines, simulated.motion),
            *_checks(simulated, runs, validated),
            *tracking_checks(followed),
        ),
        data=Found(lines, simulated, runs, validated, followed),
    )


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


def _line_table(lines: dict[str, Line]) -> Table:
    rows = []
    for name, line in lines.items():
        found, length = line.found, line.found.polar[:, 0]
        worst = [float(x.max()) for x in (found.polar_condition, found.projected_condition)]
        ends = (1e3 * float(length.min()), 1e3 * float(length.max()))
        rows.append((name, *ends, found.polar_step, worst[0], found.projected_step, worst[1]))
    return Table(
        "Figure 6: a straight way of 0.3 s at z = -800 mm, in both systems of the rod",
        (
            "way",
            "least l (mm)",
            "largest l",
            "system 1: step (rad)",
            "condition",
            "system 2: step (rad)",
            "condition",
        ),
        tuple(rows),
        "Step: the largest change of an angle between neighbouring samples of 0.5 ms. Condition: "
        "of the Jacobian (20) or (21) with its angle columns divided by l.",
        digits=4,
    )


def _line_sentence(lines: dict[str, Line]) -> str:
    printed, shown = (line.found for line in lines.values())
    return (
        "Figure 6: the text names a way from (100, -100, -800) to (100, 100, -800) mm, which does "
        f"not pass the axis: there phi of system 1 steps by {printed.polar_step:.3f} rad at most. "
        "The figure's rod has 800 mm in the middle of the way, so it passes the axis. On such a "
        f"way, from (-100, -100), phi of system 1 jumps by {shown.polar_step:.2f} rad and no angle "
        f"of system 2 steps by more than {shown.projected_step:.4f} rad. System 1 is bad before it "
        f"jumps: its condition is {printed.polar_condition.max():.1f} on the way of the text."
    )


def _motion_table(motion: Motion) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for k, name in enumerate("xyz"):
        parts = (motion.p[:, k], motion.pd[:, k], motion.pdd[:, k])
        rows.append((name, *(float(f(part)) for part in parts for f in (np.min, np.max))))
    heads = [f"{end} {what}" for what in ("m", "m/s", "m/s^2") for end in ("least", "largest")]
    return Table(
        "Figure 7: the motion of the platform on the gate of 0.6 s",
        ("", *heads),
        tuple(rows),
        "The paper shows curves; their axes run from -0.2 to 0.2 m and -0.8 to -0.77 m, from -0.5 "
        "to 1.5 m/s and from -20 to 20 m/s^2.",
        digits=3,
    )


def _motion_sentence(motion: Motion) -> str:
    largest = float(np.abs(motion.pdd[:, :3]).max())
    return (
        "Figure 7: places and speeds of our gate are those of the figure's axes. Its law of motion "
        f"is not given: our largest acceleration is {largest:.1f} m/s^2, the figure's axis ends at "
        "20, and how near its curve comes the bench cannot tell."
    )


def _line_checks(lines: dict[str, Line], motion: Motion) -> tuple[Check, ...]:
    printed, shown = (line.found for line in lines.values())
    low, high = SPEEDS
    beyond = max(float(motion.pd[:, :3].max()) - high, low - float(motion.pd[:, :3].min()))
    return (
        Check.at_least("figure 6: jump of phi in system 1", shown.polar_step, np.pi - 0.01, "rad"),
        Check.at_most(
            "figure 6: largest step of an angle in system 2", shown.projected_step, 0.01, "rad"
        ),
        Check.at_most(
            "figure 6: condition of system 2", float(shown.projected_condition.max()), 1.1
        ),
        Check.at_most(
            "figure 6: step of phi in system 1 on the way of the text",
            printed.polar_step,
            0.1,
            "rad",
        ),
        Check.at_most("figure 7: speed beyond the figure's axes", beyond, 0.1, "m/s"),
        Check.at_most(
            "figure 7: largest acceleration",
            float(np.abs(motion.pdd[:, :3]).max()),
            LARGEST_ACCELERATION,
            "m/s^2",
        ),
    )


def _gate_table(gate: Simulated) -> Table:
    rows = (
        ("without rod (figure 9)", gate.without),
        ("with rod, projected angles (figure 10)", gate.projected),
        ("with rod, exact", gate.exact),
    )
    return Table(
        "Simulated gate of 0.6 s, torque in N m",
        ("model", *(f"RMS {arm}" for arm in ARMS), *(f"peak {arm}" for arm in ARMS)),
        tuple((name, *rms(tau).tolist(), *np.abs(tau).max(axis=0).tolist()) for name, tau in rows),
        "The legs are those of the paper, half of the lower arms' mass at each end, but for the "
        "last row. The paper shows curves without numbers.",
        digits=3,
    )


def _measured_table(runs: Bench) -> Table:
    names = ("without rod", "with rod")
    rows = zip(names, runs.gates, strict=True)
    return Table(
        "Figure 12: measured torque on the gate, in N m",
        ("recording", *(f"RMS {arm}" for arm in ARMS)),
        tuple((name, *rms(run.recording.tau[:, :3]).tolist()) for name, run in rows),
        "Preset 'industrial' of the virtual bench; the paper shows curves without numbers.",
        digits=3,
    )


def _table_2(fits: dict[str, Fits]) -> Table:
    bumpy = fits["industrial"]
    rows = []
    for name, words, unit in ROWS:
        exact = _value(bumpy.exact, name)
        printed = TABLE_2.get(name)
        if name == "rotor":
            printed = TABLE_2["I_u"] - leg_inertia(TABLE_2["arm.m"], TABLE_2["strut.m"], 0.0)
        rows.append(
            (
                words,
                printed,
                _value(bumpy.paper, name, unbounded=True),
                exact,
                _std(bumpy.exact, name),
                _machine(bumpy, name),
                unit,
            )
        )
    return Table(
        "Table 2: identified parameters",
        ("parameter", "paper", "its equations", "exact model", "std", "machine", "unit"),
        tuple(rows),
        "'its equations': eqs. 39-45 with their slips mended, so without a platform and unbounded, "
        "on the bench's recordings; 'exact model': ours, bounded, with its standard deviation; "
        "'machine': the truth of the bench, mean over unequal limbs. Preset 'industrial'.",
        digits=4,
    )


def _ideal_table(fits: Fits) -> Table:
    rows = []
    for name, words, unit in ROWS:
        numbers = (_value(fits.mended, name, unbounded=True), _value(fits.exact, name))
        rows.append((words, *numbers, _machine(fits, name), unit))
    return Table(
        "The same from perfect sensors and drives (preset 'ideal')",
        ("parameter", "paper's model, platform given", "exact model", "machine", "unit"),
        tuple(rows),
        "What is left in the first column is the paper's model: lower arms as point masses, the "
        "rod's energy by projected angles. Unbounded.",
        digits=4,
    )


def _validation_table(validated: dict[str, Validated]) -> Table:
    names = {
        "exact": "exact model",
        "projected-rod": "paper's model, platform given",
        "legs alone": "legs of the exact model, no rod",
    }
    rows: list[tuple[str | float, ...]] = []
    for preset, given in validated.items():
        rows.append((preset, "measured torque", *rms(given.tau).tolist()))
        for key, text in names.items():
            rows.append((preset, f"error: {text}", *given.error(key).tolist()))
    return Table(
        f"Figure 13: torque on another motion of 6 s, RMS below {BAND:g} Hz in N m",
        ("bench", "", *ARMS),
        tuple(rows),
        "Identified and predicted on the same machine.",
        digits=3,
    )


def _value(result: TwoStepResult, name: str, *, unbounded: bool = False) -> float:
    if name != "I_u":
        return fitted_value(result, name, unbounded=unbounded)
    parts = [
        fitted_value(result, part, unbounded=unbounded) for part in ("arm.m", "strut.m", "rotor")
    ]
    return leg_inertia(*parts)


def _std(result: TwoStepResult, name: str) -> float | None:
    """The standard deviation; of a mean over the arms that of one arm, the largest."""
    if name == "I_u":
        return None
    names = [f"{name}{i}" for i in (1, 2, 3)] if name in ("Fv", "Fc") else [name]
    return max(result.step_of(item).std_of(item) for item in names)


def _machine(fits: Fits, name: str) -> float:
    if name != "I_u":
        return machine_value(fits.machine, name)
    return leg_inertia(*(machine_value(fits.machine, x) for x in ("arm.m", "strut.m", "rotor")))


def _checks(gate: Simulated, runs: Bench, validated: dict[str, Validated]) -> tuple[Check, ...]:
    simulated = rms(gate.projected) / rms(gate.without)
    without, with_rod = (rms(run.recording.tau[:, :3]) for run in runs.gates)
    ideal, bumpy = runs.fits["ideal"], runs.fits["industrial"]
    off = [abs(_value(ideal.exact, name) / _machine(ideal, name) - 1) for name in FITTED]
    lower = abs(_value(bumpy.exact, "lower.m") / _machine(bumpy, "lower.m") - 1)
    gain = validated["industrial"].error("exact") / validated["industrial"].error("legs alone")
    better = validated["ideal"].error("exact") / validated["ideal"].error("projected-rod")
    return (
        Check.at_least("simulated torque with over without rod, least joint", simulated.min(), 1.0),
        Check.at_least("measured torque with over without, least", (with_rod / without).min(), 1.0),
        Check.at_most(
            "ideal bench, exact model: largest relative error of a parameter", max(off), RECOVERED
        ),
        Check.at_most("industrial bench: relative error of the lower rod's mass", lower, LOWER_ROD),
        Check.at_most(
            "industrial bench: rotor by the paper's equations without platform",
            _value(bumpy.paper, "rotor", unbounded=True),
            0.0,
            "kg m^2",
        ),
        Check.at_most(
            "industrial bench, validation: error with over without the rod's model, worst joint",
            gain.max(),
            1.0,
        ),
        Check.at_most(
            "ideal bench, validation: error of the exact over the paper's model, worst joint",
            better.max(),
            BETTER,
        ),
    )


def _statements(runs: Bench) -> tuple[str, ...]:
    split = table_2_split(runs.robot.drives.output_inertia[0])
    rotor = TABLE_2["I_u"] - leg_inertia(TABLE_2["arm.m"], TABLE_2["strut.m"], 0.0)
    bumpy, ideal = runs.fits["industrial"], runs.fits["ideal"]
    upper = _value(ideal.mended, "upper.m", unbounded=True)
    return (
        "The paper names no platform mass; the one of the simulation, 0.6 kg, is our assumption.",
        f"Table 2 as printed makes the rotor {rotor:.4f} kg m^2 by eq. 36: eq. 37 has no platform, "
        "so a third of the platform's mass counts as lower arm. The bench's machine has the same "
        f"three sums M_P, G, A with arms of {ARM_LENGTH} m and the simulation's rotor: platform "
        f"{split['platform.m']:.3f}, upper arm {split['arm.m']:.3f}, lower arm "
        f"{split['strut.m']:.3f} kg. This split is an assumption. Platform and lower arm come out "
        "near those of the simulation, the upper arm is heavier (0.34 kg there).",
        "The paper's equations do the same on the bench: without a platform they find a rotor of "
        f"{_value(bumpy.paper, 'rotor', unbounded=True):.4f} kg m^2 on a machine that has "
        f"{_machine(bumpy, 'rotor'):.4f}. The two-step fit is bounded and says so in its status.",
        "Friction is f_v on the rate and f_c on its sign, as the names of table 2 say; eq. 42 has "
        "them the other way round.",
        "The rods' masses of table 2 are those of the paper's simulation to the last digit. On the "
        "bench the upper rod is the weakest parameter, and the paper's model cannot find it even "
        f"in perfect data: it asks for {upper:.2f} kg. Its lower arms as point masses are the main "
        "reason; on a machine that has such arms the projected angles alone leave "
        f"{upper_rod_by_projection(runs.robot):.3f} kg of {TABLE_2['upper.m']} kg.",
        "Standard deviations come from the scatter of blocks of time. An error that repeats with "
        "the periodic motion is not in them. On the industrial bench motor ripple, the gears' loss "
        "and unequal limbs are of this kind and in none of the models: the values are off by more.",
        "The bench does not know the real machine: friction, sensors, ripple and unequal limbs are "
        "those of its preset; its drives have no elastic gear, because the rotor is light. The "
        "lower arms are uniform rods there, and axis 4 stands still.",
        "The paper's excitation, gate and motion of the validation are not given in numbers: the "
        "Fourier series are ours, the gate is read off the axes of its figure 7.",
    )
