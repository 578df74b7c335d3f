"""[telescopic2022] again, in the paper's order: the telescopic rod in torques, fits, feedforward.

Table 2 holds three sums of the legs' bodies, by eqs. 36-41 with arms of length a:

    M_P = 3 m_b,   G = (m_a/2 + m_b) a,   A = I_u

and no platform. With its three numbers eq. 36 makes the rotor negative. The same sums with the
rotor of the paper's simulation give a platform, arms and rods that a robot can have: the bench's.

Eqs. 39-45 are the model `projected-rod` of the library, their slips corrected. Its regressor gives
the columns H of eq. 43 and K of eq. 45, and the numbers are found as in the paper, by least squares
without bounds. `two_step` does the same with the exact model, bounds and standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics import inverse_dynamics, regressor
from deltadyn.identification import (
    Prepared,
    TwoStepResult,
    identify,
    prepare,
    two_step,
    without_rod,
)
from deltadyn.kinematics import (
    SpindleSingularity,
    State,
    jacobian,
    spindle_coordinates,
    spindle_jacobian,
    spindle_singularity,
)
from deltadyn.motion import PROFILES, FourierSeries, Motion, fourier_motion, telescopic_gate
from deltadyn.progress import Bar
from deltadyn.recording import Recording
from deltadyn.reproduce.claims import Claim
from deltadyn.reproduce.ladder import rms
from deltadyn.reproduce.result import Check, Paper, Reproduction, Table
from deltadyn.robot import Arm, PassiveFriction, Platform, Robot, Strut, load_robot
from deltadyn.simulation import (
    PD,
    PRESETS,
    Controller,
    Law,
    PDFeedforward,
    Run,
    Task,
    check_gains,
    simulate,
)

ARMS = ("joint 1", "joint 2", "joint 3")
#: Figure 6: paths in the plane, in m, as section 2.4 names one and as the figure shows one.
LINES = {
    "as the text names it": ((0.1, -0.1), (0.1, 0.1)),
    "through the axis, as figure 6 shows it": ((-0.1, -0.1), (0.1, 0.1)),
}
ANGLE_UNITS = "rad, rad/s, rad/s^2, N m"
LINE_HEIGHT_M, LINE_DURATION_S, LINE_SAMPLES = -0.8, 0.3, 600
SPEED_AXIS_M_S = (-0.5, 1.5)  # of figure 7
AXIS_4_FRICTION = (0.002, 0.005)  # N m s/rad and N m: the paper has none for it
BAND_HZ = 30.0  # regressor and torque are compared below it
GAINS_HZ, SOFT_GAINS_HZ = 20.0, 10.0  # critically damped; the paper's gains are not given
#: Hz that rates are estimated with. Noise tells how much to smooth; perfect sensors have none.
BANDWIDTH_HZ = {"industrial": None, "ideal": 100.0}

PAPER = Paper("telescopic2022", BAND_HZ=BAND_HZ, GAINS_HZ=GAINS_HZ, SOFT_GAINS_HZ=SOFT_GAINS_HZ)
ARM_LENGTH, TABLE_2, ROWS = (PAPER.numbers[name] for name in ("arm_length", "table_2", "rows"))
EXCITATION, ROD_EXCITATION, VALIDATION = (
    FourierSeries(item["frequency"], *(np.array(item[x]) for x in ("offset", "sine", "cosine")))
    for item in (PAPER.numbers[name] for name in ("excitation", "rod_excitation", "validation"))
)
LEG_NAMES = ("arm.m", "strut.m", "I_u", "Fv", "Fc")  # Pi of eq. 43
ROD_NAMES = ("upper.m", "lower.m", "prismatic.Fv")  # of eq. 45


@dataclass(frozen=True, eq=False)
class Section:
    """What a section, table or figure of the paper gives."""

    data: Any
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, eq=False)
class Experiment:
    """What the figures of the page are drawn from."""

    lines: dict[str, Line]
    gate: SimulatedGate
    gates: dict[str, Run]  # measured, without and with the rod
    fits: dict[str, Fits]  # by preset
    rod_fits: dict[str, Fits]  # the same on the motion made for the upper rod
    predictions: dict[str, Prediction]  # by preset
    tracking: Tracking
    sweep: Sweep


def telescopic2022(
    *,
    seed: int = 0,
    progress: bool = False,
    rate: float = 2000.0,
    periods: int = 5,
) -> Reproduction:
    """Reproduce eq. 2, figures 6-10, 12, 13, 15 and table 2 of [telescopic2022] on the bench.

    `rate` (Hz) is that of the drives, `periods` those of the excitation.
    """
    bench = VirtualBench(experiment_robot(), rate, seed)
    sections: list[Section] = []
    with Bar(progress, "telescopic2022", 10) as bar:

        def add(section: Section) -> Any:
            sections.append(section)
            bar.step()
            return section.data

        add(count_freedom())  # eq. 2
        lines = add(compare_coordinates())  # section 2.4, figure 6
        gate = add(simulate_gate())  # section 4, figures 7 to 10
        gates = add(measure_gates(bench))  # section 5.1, figure 12
        fits = add(identify_parameters(bench, periods))  # section 5.2, table 2
        rod_fits = add(identify_upper_rod(bench, fits))  # its weakest row
        predictions = add(predict_torque(bench, fits))  # figure 13
        tracking = add(follow_gate(bench, fits))  # section 5.3, figures 14 and 15
        sweep = add(sweep_ripple_and_friction(bench))  # what decides the factor
        add(compare_factors(tracking, sweep, predictions))  # the result and section 6
    data = Experiment(lines, gate, gates, fits, rod_fits, predictions, tracking, sweep)
    return PAPER.reproduction(
        (table for section in sections for table in section.tables),
        _statements(bench.robot, data),
        tuple(check for section in sections for check in section.checks),
        data,
        claims=[claim for section in sections for claim in section.claims],
        seed=seed,
    )


# Section 2.2: eq. 2


def count_freedom() -> Section:
    """Eq. 2: the degrees of freedom of the rod, by the formula and by the rank of its Jacobian."""
    robot = load_robot("telescopic-delta")
    coordinates = spindle_coordinates(robot, telescopic_gate(robot).p)
    rank = int(np.linalg.matrix_rank(spindle_jacobian(coordinates)).min())
    printed = mobility(3, 1, 1, (3,))
    # The base is a body, and the telescope joins two rods by a prismatic joint.
    spatial = mobility(6, 3, 2, (2, 1))
    ball = mobility(6, 3, 2, (3, 1))
    rows = [
        ("as printed: n = 3, N = 1, K = 1, a ball joint", 3, printed),
        ("in space with the base: n = 6, N = 2, K = 1, a ball joint", 3, mobility(6, 2, 1, (3,))),
        ("with the telescope: N = 3, K = 2, ball and prismatic joint", 3, ball),
        ("the same with a universal joint", 3, spatial),
        ("rank of the Jacobian J_t2 on the gate", 3, rank),
    ]
    claims = (
        PAPER.claim("freedom", 3, rank, rank=rank),
        PAPER.claim("mobility", 3, printed, printed=printed, spatial=spatial, ball=ball),
    )
    return Section(rank, (PAPER.table("freedom", rows),), claims, PAPER.checks(freedom=rank))


def mobility(per_body: int, bodies: int, joints: int, freedoms: tuple[int, ...]) -> int:
    """n (N - 1 - K) + sum f, [telescopic2022] eq. 2."""
    return per_body * (bodies - 1 - joints) + sum(freedoms)


# Section 2.4: figure 6


@dataclass(frozen=True, eq=False)
class Line:
    """Figure 6: a straight path of 0.3 s, p (N, 4), in both coordinate systems of the rod."""

    t: FloatArray
    p: FloatArray
    both: SpindleSingularity


def compare_coordinates() -> Section:
    """Figure 6: the path that section 2.4 names and the one that its figure shows."""
    lines = straight_lines()
    printed, shown = (line.both for line in lines.values())
    rows = [
        (
            name,
            1e3 * line.both.polar[:, 0].min(),
            1e3 * line.both.polar[:, 0].max(),
            (line.both.polar_step, line.both.polar_condition.max()),
            (line.both.projected_step, line.both.projected_condition.max()),
        )
        for name, line in lines.items()
    ]
    of_text, of_figure = (1e3 * np.hypot(*line.p[:, :2].T).min() for line in lines.values())
    determinant = float(np.abs(shown.projected_determinant).min())
    claims = (
        PAPER.claim(
            "system_1",
            "phi jumps on the axis, det J_t1 = 0",
            f"phi jumps by {shown.polar_step:.2f} rad",
            holds=shown.polar_step > np.pi - 0.01,
            step=shown.polar_step,
        ),
        PAPER.claim(
            "system_2",
            "no singularity",
            f"steps up to {shown.projected_step:.4f} rad, |det J_t2| from {determinant:.2f} m^2",
            holds=shown.projected_step < 0.01 and determinant > 0.1,
            determinant=determinant,
        ),
        PAPER.claim(
            "line_of_text",
            0.0,
            of_text,
            of_text=of_text,
            of_figure=of_figure,
            step=printed.polar_step,
        ),
    )
    checks = PAPER.checks(
        jump=shown.polar_step,
        step=shown.projected_step,
        condition=shown.projected_condition.max(),
        text=printed.polar_step,
    )
    return Section(lines, (PAPER.table("lines", rows),), claims, checks)


def straight_lines() -> dict[str, Line]:
    """Both paths of figure 6; an even number of samples, so that none lies on the axis."""
    robot = load_robot("telescopic-delta")
    u = np.linspace(0.0, 1.0, LINE_SAMPLES)
    share, _, _ = PROFILES["quintic"](u)
    out = {}
    for name, (start, end) in LINES.items():
        p = np.zeros((LINE_SAMPLES, 4))
        p[:, :2] = np.array(start) + share[:, None] * np.subtract(end, start)
        p[:, 2] = LINE_HEIGHT_M
        out[name] = Line(LINE_DURATION_S * u, p, spindle_singularity(robot, p))
    return out


# Section 4: figures 7 to 10


@dataclass(frozen=True, eq=False)
class SimulatedGate:
    """The gate of section 4: the rod's coordinates and the torques (N, 3) of figures 8 to 10."""

    motion: Motion
    coordinates: FloatArray  # (N, 3): l, theta, phi
    rates: FloatArray
    accelerations: FloatArray
    forces: FloatArray  # (N, 3): along l (N), about theta and phi (N m), zeta of eq. 32
    without: FloatArray
    projected: FloatArray
    exact: FloatArray


def simulate_gate() -> Section:
    """Section 4: the gate of 0.6 s without friction and damping."""
    gate = compute_gate()
    motion = gate.motion
    parts = (motion.p, motion.pd, motion.pdd)
    extremes = [
        (name, [end(part[:, k]) for part in parts for end in (np.min, np.max)])
        for k, name in enumerate("xyz")
    ]
    units = {"l": "m, m/s, m/s^2, N", "theta": ANGLE_UNITS, "phi": ANGLE_UNITS}
    rod = [(name, *_ranges(gate, k), text) for k, (name, text) in enumerate(units.items())]
    torques = {
        "without rod (figure 9)": gate.without,
        "with rod, projected angles (figure 10)": gate.projected,
        "with rod, exact": gate.exact,
    }
    ratio = rms(gate.projected) / rms(gate.without)
    peak = np.abs(gate.projected).max(axis=0) / np.abs(gate.without).max(axis=0)
    speed = motion.pd[:, :3]
    low, high = SPEED_AXIS_M_S
    largest = float(np.abs(motion.pdd[:, :3]).max())
    claims = (
        PAPER.claim(
            "gate_axes", (0.2, 1.5), (motion.p[:, 0].max(), speed.max()), speed=speed.max()
        ),
        PAPER.claim("gate_law", "axis to 20 m/s^2", f"{largest:.1f} m/s^2", largest=largest),
        PAPER.claim(
            "rod_curves",
            "curves",
            f"tilt up to {np.degrees(np.abs(gate.coordinates[:, 1:]).max()):.1f} deg",
            length=1e3 * gate.coordinates[:, 0],
            force=np.abs(gate.forces[:, 0]).max(),
        ),
        PAPER.claim(
            "simulated_torque",
            "larger with the rod",
            "RMS x " + ", ".join(f"{x:.2f}" for x in ratio),
            holds=bool(np.all(ratio > 1) and np.all(peak > 1)),
            ratio=ratio,
        ),
    )
    checks = PAPER.checks(
        speed=max(speed.max() - high, low - speed.min()),
        acceleration=largest,
        simulated=min(*ratio, *peak),
    )
    tables = (
        PAPER.table("motion", extremes),
        PAPER.table("rod", rod),
        PAPER.table("gate", [(name, rms(x), np.abs(x).max(axis=0)) for name, x in torques.items()]),
    )
    return Section(gate, tables, claims, checks)


def compute_gate() -> SimulatedGate:
    """The rod's coordinates on the gate, and the torques by eqs. 39 and 40 and by the exact model.

    The rod's torque is what eq. 40 adds to eq. 39; zeta = J_t2^T J^-T tau (eqs. 33, 34).
    """
    robot = load_robot("telescopic-delta")
    bare = without_rod(robot)
    motion = telescopic_gate(robot)
    without = inverse_dynamics(bare, telescopic_gate(bare), "projected-rod")
    projected = inverse_dynamics(robot, motion, "projected-rod")[:, :3]
    coordinates, rates = rod_rates(robot, motion)
    to_coordinates: FloatArray = np.linalg.inv(spindle_jacobian(coordinates)).astype(np.float64)
    # Of v = J_t2 rates its rate: a = J_t2 accelerations + Jd_t2 rates, Jd_t2 by a small step.
    step = 1e-6 * rates
    turning = spindle_jacobian(coordinates + step) - spindle_jacobian(coordinates - step)
    bend = contract("nij,nj->ni", turning, rates) / 2e-6
    accelerations = contract("nij,nj->ni", to_coordinates, motion.pdd[:, :3] - bend)
    forces = contract("nij,nj->ni", torque_to_rod(robot, motion), projected - without)
    exact = inverse_dynamics(robot, motion, "exact")[:, :3]
    return SimulatedGate(
        motion, coordinates, rates, accelerations, forces, without, projected, exact
    )


def rod_rates(robot: Robot, state: State) -> tuple[FloatArray, FloatArray]:
    """(l, theta, phi) and their rates (N, 3), by eqs. 16 and 21."""
    coordinates = spindle_coordinates(robot, state.p)
    rates = np.linalg.solve(spindle_jacobian(coordinates), state.pd[:, :3, None])[..., 0]
    return coordinates, np.asarray(rates)


def torque_to_rod(robot: Robot, state: State) -> FloatArray:
    """J_t2^T J^-T (N, 3, 3) of eq. 44, from the arms' torque to zeta along l, theta, phi."""
    J = jacobian(robot, state.p)[:, :3, :3]
    J_t2 = spindle_jacobian(spindle_coordinates(robot, state.p))
    return np.swapaxes(np.linalg.solve(J, J_t2), 1, 2)


def _ranges(gate: SimulatedGate, k: int) -> list[str]:
    """From the least to the largest value of a coordinate, rate, acceleration and force."""
    parts = (gate.coordinates, gate.rates, gate.accelerations, gate.forces)
    ends = [(part[:, k].min(), part[:, k].max()) for part in parts]
    return [f"{low:.3f} to {high:.3f}" for low, high in np.round(ends, 3) + 0.0]  # no -0.000


# Section 5: the robot of the experiment, and the bench that it stands on


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


def simulation_robot() -> Robot:
    """The robot of the paper's simulation with the arms of table 1: what a user's file holds."""
    robot = load_robot("telescopic-delta")
    return robot.replace(geometry=replace(robot.geometry, arm_length=ARM_LENGTH))


def experiment_robot() -> Robot:
    """The robot of the experiment: lengths of table 1, table 2's sums, friction and damping."""
    robot = simulation_robot()
    masses = table_2_split(robot.drives.output_inertia[0])
    arm, length = masses["arm.m"], robot.geometry.strut_length[0]
    viscous, coulomb = (
        (TABLE_2[term],) * 3 + (fourth,)
        for term, fourth in zip(("Fv", "Fc"), AXIS_4_FRICTION, strict=True)
    )
    damping = PassiveFriction("prismatic", viscous=TABLE_2["prismatic.Fv"])
    return robot.replace(
        name="telescopic-delta, experiment",
        arms=(Arm(arm, ARM_LENGTH / 2, arm * ARM_LENGTH**2 / 12),) * 3,
        struts=(Strut.uniform(masses["strut.m"], length),) * 3,
        platform=Platform(masses["platform.m"]),
    ).with_friction(viscous=viscous, coulomb=coulomb, passive=(damping,))


@dataclass(frozen=True, eq=False)
class Logs:
    """The recordings of one motion without and with the rod, prepared, and the machine."""

    legs: Prepared
    rod: Prepared
    recording: Recording  # with the rod
    machine: Robot


@dataclass(frozen=True, eq=False)
class VirtualBench:
    """The robot on the virtual bench: drives of `rate` Hz, noise by `seed`."""

    robot: Robot
    rate: float
    seed: int

    def ticks(self, preset: str) -> float:
        """Hz of the drives; a perfect drive is calm at any rate."""
        return self.rate / 2 if preset == "ideal" else self.rate

    def record(self, series: FourierSeries, preset: str, periods: int, **switches: Any) -> Logs:
        """Run a motion without and with the rod; rates are estimated from the logged angles."""
        bare, rate = without_rod(self.robot), self.ticks(preset)
        motion = fourier_motion(self.robot, series, periods=periods, rate=rate)
        parts = (motion.p[:, :3], motion.pd[:, :3], motion.pdd[:, :3])
        alone = Motion.from_platform(bare, motion.t, *parts)
        settings: dict[str, Any] = {"preset": preset, "rate": rate, **switches}
        first = simulate(bare, alone, seed=self.seed + 3, **settings)
        second = simulate(self.robot, motion, seed=self.seed + 4, **settings)
        hertz = BANDWIDTH_HZ[preset]
        return Logs(
            prepare(bare, first.recording, band=BAND_HZ, bandwidth=hertz),
            prepare(self.robot, second.recording, band=BAND_HZ, bandwidth=hertz),
            second.recording,
            second.truth.robot,
        )

    def follow(self, controller: Controller, preset: str, **switches: Any) -> Run:
        """Let a controller follow the gate."""
        gate = telescopic_gate(self.robot)
        settings: dict[str, Any] = {"rate": self.rate, "seed": self.seed + 5, **switches}
        return simulate(self.robot, gate, controller, preset=preset, **settings)


# Section 5.1: figure 12


def measure_gates(bench: VirtualBench) -> Section:
    """Figure 12: the gate on the industrial bench, without and with the rod."""
    bare = without_rod(bench.robot)
    settings: dict[str, Any] = {"preset": "industrial", "rate": bench.rate}
    gates = {
        "without rod": simulate(bare, telescopic_gate(bare), seed=bench.seed, **settings),
        "with rod": simulate(
            bench.robot, telescopic_gate(bench.robot), seed=bench.seed + 1, **settings
        ),
    }
    torque = {name: run.recording.tau[:, :3] for name, run in gates.items()}
    ratio = rms(torque["with rod"]) / rms(torque["without rod"])
    claims = (
        PAPER.claim(
            "measured_torque",
            "larger with the rod",
            "RMS x " + ", ".join(f"{x:.2f}" for x in ratio),
            holds=bool(np.all(ratio > 1)),
            ratio=ratio,
        ),
    )
    rows = [(name, rms(tau)) for name, tau in torque.items()]
    table = PAPER.table("measured", rows)
    return Section(gates, (table,), claims, PAPER.checks(measured=min(ratio)))


# Section 5.2: table 2


@dataclass(frozen=True, eq=False)
class PaperFit:
    """The numbers of eqs. 43 and 45, in the order of `LEG_NAMES` and `ROD_NAMES`."""

    legs: FloatArray  # (5,)
    rod: FloatArray  # (3,)

    @property
    def values(self) -> dict[str, float]:
        """The numbers by name, with the rotor that eq. 36 leaves, and no platform."""
        numbers = (*self.legs.tolist(), *self.rod.tolist())
        named: dict[str, float] = dict(zip(LEG_NAMES + ROD_NAMES, numbers, strict=True))
        rotor = named["I_u"] - leg_inertia(named["arm.m"], named["strut.m"], 0.0)
        return {**named, "rotor": rotor, "platform.m": 0.0}

    def with_platform(self, mass: float) -> dict[str, float]:
        """The same torque with a platform of this mass (kg), of which m_b had a third."""
        named = self.values
        arm, strut = named["arm.m"] + 2 * mass / 3, named["strut.m"] - mass / 3
        rotor = named["I_u"] - leg_inertia(arm, strut, 0.0)
        return {**named, "arm.m": arm, "strut.m": strut, "rotor": rotor, "platform.m": mass}

    def torque(
        self, robot: Robot, state: State, *, rod: bool = True, friction: bool = True
    ) -> FloatArray:
        """The arms' torque (N, 3) by eq. 40, or by eq. 39 without the rod, with eq. 42."""
        legs = self.legs * np.array([1, 1, 1, friction, friction])
        tau: FloatArray = leg_columns(robot, state) @ legs
        if rod:
            zeta = rod_columns(robot, state) @ self.rod
            tau += np.linalg.solve(torque_to_rod(robot, state), zeta[..., None])[..., 0]
        return tau


def leg_columns(robot: Robot, state: State) -> FloatArray:
    """H (N, 3, 5) of eq. 43: m_a, m_b, I_u, f_v, f_c."""
    Y = _columns(robot, state)
    of_mass = {"arm.m": ARM_LENGTH**2 / 3, "strut.m": ARM_LENGTH**2}  # in I_u, by eq. 36
    bodies = [Y[name] - inertia * Y["rotor"] for name, inertia in of_mass.items()]
    friction = [sum(Y[f"{term}{i}"] for i in (1, 2, 3)) for term in ("Fv", "Fc")]
    return np.stack([*bodies, Y["rotor"], *friction], axis=-1)


def rod_columns(robot: Robot, state: State) -> FloatArray:
    """K (N, 3, 3) of eq. 45: the upper rod, the lower rod, the damping c_d along l."""
    Y, through = _columns(robot, state), torque_to_rod(robot, state)
    K = np.zeros((len(state.p), 3, 3))
    for k, name in enumerate(("upper.m", "lower.m")):
        K[..., k] = contract("nij,nj->ni", through, Y[name])
    K[:, 0, 2] = rod_rates(robot, state)[1][:, 0]
    return K


def _columns(robot: Robot, state: State) -> dict[str, FloatArray]:
    """The arms' torque (N, 3) per unit of each number of the paper's model."""
    found = regressor(robot, state, "projected-rod")
    return dict(zip(found.names, np.moveaxis(found.Y[:, :3], 2, 0), strict=True))


def fit_paper(
    robot: Robot, legs: Prepared, rod: Prepared, *, same_motion: bool = False
) -> PaperFit:
    """Both least squares of section 5.2, eqs. 43 and 45.

    Eq. 44 takes the legs' torque from the first step's model. With `same_motion` it takes the
    torque that was measured without the rod at the same time of the same motion, moved by the
    model to the state there: what the legs' model misses is then in both and drops out.
    """
    bare = without_rod(robot)
    H = leg_columns(bare, legs.state)
    pi = _least_squares(legs, H, legs.tau[:, :3])
    alone = leg_columns(robot, rod.state) @ pi
    if same_motion:
        missed = legs.tau[:, :3] - H @ pi
        alone += np.stack([np.interp(rod.t, legs.t, column) for column in missed.T], axis=-1)
    zeta = contract("nij,nj->ni", torque_to_rod(robot, rod.state), rod.tau[:, :3] - alone)
    return PaperFit(pi, _least_squares(rod, rod_columns(robot, rod.state), zeta))


def _least_squares(log: Prepared, columns: FloatArray, values: FloatArray) -> FloatArray:
    """The unbounded least squares of eqs. 43 and 45, both sides below the band."""
    Y, b = log.limited(columns), log.limited(values)
    return np.asarray(np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), b.ravel(), rcond=None)[0])


def fit_point_masses(robot: Robot) -> PaperFit:
    """The paper's fit where its legs are right: exact torque, lower arms as two point masses."""
    lengths = zip(robot.struts, robot.geometry.strut_length, strict=True)
    points = tuple(Strut(rod.mass, 0.5, rod.mass * length**2 / 4) for rod, length in lengths)
    machine = robot.replace(struts=points)
    bare = without_rod(machine)
    motion = fourier_motion(machine, EXCITATION, rate=500.0, ramp=0.0)
    parts = (motion.p[:, :3], motion.pd[:, :3], motion.pdd[:, :3])
    alone = Motion.from_platform(bare, motion.t, *parts)
    return fit_paper(
        machine,
        Prepared("legs", motion.t, alone, inverse_dynamics(bare, alone), 500.0),
        Prepared("rod", motion.t, motion, inverse_dynamics(machine, motion), 500.0),
    )


@dataclass(frozen=True, eq=False)
class Fits:
    """The fits of one pair of recordings, and the machine that made them."""

    logs: Logs
    paper: PaperFit
    exact: TwoStepResult

    @property
    def machine(self) -> dict[str, float]:
        """The true numbers of the machine."""
        return machine_values(self.logs.machine)


def fit_logs(robot: Robot, logs: Logs) -> Fits:
    """The paper's fit and the two steps with the exact model."""
    return Fits(logs, fit_paper(robot, logs.legs, logs.rod), two_step(robot, logs.legs, logs.rod))


def machine_values(machine: Robot) -> dict[str, float]:
    """The numbers of table 2 that a robot has, the mean over its three limbs."""
    assert machine.spindle is not None
    values = {
        "platform.m": machine.platform.mass,
        "arm.m": np.mean([arm.mass for arm in machine.rotary_arms]),
        "strut.m": np.mean([strut.mass for strut in machine.struts]),
        "rotor": np.mean(machine.drives.output_inertia[:3]),
        "Fv": np.mean(machine.friction.viscous[:3]),
        "Fc": np.mean(machine.friction.coulomb[:3]),
        "upper.m": machine.spindle.upper.mass,
        "lower.m": machine.spindle.lower.mass,
        "prismatic.Fv": machine.friction.passive[0].viscous,
    }
    values["I_u"] = leg_inertia(values["arm.m"], values["strut.m"], values["rotor"])
    return {name: float(value) for name, value in values.items()}


def exact_values(result: TwoStepResult) -> tuple[dict[str, float], dict[str, float]]:
    """The numbers of table 2 by the exact model, and their standard deviations.

    Friction is the mean of the arms, its deviation the largest of one arm.
    """
    values, std = {}, {}
    for name in ROWS:
        if name != "I_u":
            each = [f"{name}{i}" for i in (1, 2, 3)] if name in ("Fv", "Fc") else [name]
            values[name] = float(np.mean([result.value(item) for item in each]))
            std[name] = max(result.step_of(item).std_of(item) for item in each)
    values["I_u"] = leg_inertia(values["arm.m"], values["strut.m"], values["rotor"])
    return values, std


def identify_parameters(bench: VirtualBench, periods: int) -> Section:
    """Table 2: the paper's equations and the exact model, on the same logs."""
    robot = bench.robot
    fits = {
        preset: fit_logs(robot, bench.record(EXCITATION, preset, periods))
        for preset in ("industrial", "ideal")
    }
    points = fit_point_masses(robot).values
    rough, perfect = fits["industrial"], fits["ideal"]
    theirs, machine = rough.paper.values, rough.machine
    ours, std = exact_values(rough.exact)
    paper = {**TABLE_2, "rotor": printed_rotor()}
    table_2 = [
        (
            words,
            paper.get(name),
            theirs[name],
            points[name],
            ours[name],
            std.get(name),
            machine[name],
            unit,
        )
        for name, (words, unit) in ROWS.items()
    ]
    given = perfect.paper.with_platform(robot.platform.mass)
    recovered, _ = exact_values(perfect.exact)
    ideal = [
        (words, given[name], recovered[name], perfect.machine[name], unit)
        for name, (words, unit) in ROWS.items()
    ]
    numbers: dict[str, Any] = {
        "points": points,
        "perfect": perfect.paper.values,
        "exact": ours,
        "std": std,
        "machine": machine,
    }
    claims = (
        PAPER.claim("arm", TABLE_2["arm.m"], theirs["arm.m"], **numbers),
        PAPER.claim("lower_arm", TABLE_2["strut.m"], theirs["strut.m"], **numbers),
        PAPER.claim("inertia", TABLE_2["I_u"], theirs["I_u"], **numbers),
        PAPER.claim(
            "rotor",
            f"{printed_rotor():.4f}",
            f"{theirs['rotor']:.4f}",
            holds=theirs["rotor"] < 0,
            **numbers,
        ),
        PAPER.claim("viscous", TABLE_2["Fv"], theirs["Fv"], **numbers),
        PAPER.claim("coulomb", TABLE_2["Fc"], theirs["Fc"], **numbers),
        PAPER.claim("lower_rod", TABLE_2["lower.m"], theirs["lower.m"], **numbers),
        PAPER.claim("damping", TABLE_2["prismatic.Fv"], theirs["prismatic.Fv"], **numbers),
    )
    checks = PAPER.checks(
        recovered=max(
            abs(recovered[name] / perfect.machine[name] - 1) for name in ROWS if name != "I_u"
        ),
        points=max(abs(points[name] / TABLE_2[name] - 1) for name in ("arm.m", "strut.m", "I_u")),
        lower=abs(ours["lower.m"] / machine["lower.m"] - 1),
        rotor=theirs["rotor"],
    )
    tables = (PAPER.table("table_2", table_2), PAPER.table("ideal", ideal))
    return Section(fits, tables, claims, checks)


def identify_upper_rod(bench: VirtualBench, fits: Mapping[str, Fits]) -> Section:
    """The upper rod of table 2: by the paper's excitation and by one that moves it more."""
    robot, paper, machine = bench.robot, TABLE_2["upper.m"], fits["ideal"].machine["upper.m"]
    strong = {
        preset: fit_logs(robot, bench.record(ROD_EXCITATION, preset, periods=8))
        for preset in ("industrial", "ideal")
    }
    rows, values = [], {}
    for motion, by_preset in (("as table 2", fits), ("made for the rod", strong)):
        for preset in ("ideal", "industrial"):
            one = by_preset[preset]
            same = fit_paper(robot, one.logs.legs, one.logs.rod, same_motion=True)
            value, std = one.exact.value("upper.m"), one.exact.rod.std_of("upper.m")
            cells = (one.paper.values["upper.m"], same.values["upper.m"], value)
            interval = _interval(one.exact, "upper.m")
            values[motion, preset] = (*cells, std)
            rows.append((motion, preset, paper, *cells, *interval, machine))
    theirs, by_same, ours, std = values["made for the rod", "industrial"]
    projected = fit_point_masses(robot).values["upper.m"]
    numbers: dict[str, Any] = {
        "perfect": values["as table 2", "ideal"][0],
        "strong": theirs,
        "same": by_same,
        "projected": projected,
        "std": std,
    }
    claims = (
        PAPER.claim("upper_rod", paper, values["as table 2", "industrial"][0], **numbers),
        PAPER.claim("upper_rod_exact", paper, ours, **numbers),
    )
    checks = PAPER.checks(
        upper=abs(ours - machine) / std,
        upper_std=std,
        upper_weak=values["as table 2", "industrial"][3] / std,
        upper_paper=values["as table 2", "ideal"][0],
    )
    return Section(strong, (PAPER.table("upper", rows),), claims, checks)


def _interval(result: TwoStepResult, name: str) -> tuple[float, float]:
    """Two standard deviations around a value."""
    value, std = result.value(name), result.step_of(name).std_of(name)
    return value - 2 * std, value + 2 * std


# Section 5.2: figure 13

EQ_39, EQ_40 = "eq. 39 with 42, no rod", "eq. 40 with 42"
EXACT_LEGS, EXACT = "exact model, rod removed", "exact model"


@dataclass(frozen=True, eq=False)
class Prediction:
    """Another motion: its torque and the predicted ones (M, 3) below the band, in N m."""

    t: FloatArray
    tau: FloatArray
    predicted: dict[str, FloatArray]

    def error(self, name: str) -> FloatArray:
        """RMS error (3,) of a prediction."""
        return rms(self.tau - self.predicted[name])


def predict_torque(bench: VirtualBench, fits: Mapping[str, Fits]) -> Section:
    """Figure 13: the torque of a motion that the fits have not seen."""
    predictions = {
        preset: predict_validation(bench, fits[preset], preset)
        for preset in ("industrial", "ideal")
    }
    rows: list[Any] = []
    for preset, found in predictions.items():
        rows.append((preset, "measured torque", rms(found.tau)))
        rows += [(preset, f"error: {name}", found.error(name)) for name in found.predicted]
    rough, perfect = predictions["industrial"], predictions["ideal"]
    share = float(np.max(rough.error(EQ_40) / rms(rough.tau)))
    claims = (
        PAPER.claim(
            "prediction",
            "curves that lie on each other",
            f"error {100 * share:.0f} % of the torque",
            holds=share < 0.25,
            share=100 * share,
        ),
    )
    checks = PAPER.checks(
        gain=max(rough.error(EXACT) / rough.error(EXACT_LEGS)),
        gain_paper=max(rough.error(EQ_40) / rough.error(EQ_39)),
        better=max(perfect.error(EXACT) / perfect.error(EQ_40)),
    )
    return Section(predictions, (PAPER.table("validation", rows),), claims, checks)


def predict_validation(bench: VirtualBench, fits: Fits, preset: str) -> Prediction:
    """Measure the motion of the validation and predict its torque."""
    robot, rate = bench.robot, bench.ticks(preset)
    motion = fourier_motion(robot, VALIDATION, periods=2, rate=rate, ramp=1.0)
    run = simulate(robot, motion, preset=preset, rate=rate, seed=bench.seed + 2)
    log = prepare(robot, run.recording, band=BAND_HZ, bandwidth=BANDWIDTH_HZ[preset])
    identified = fits.exact.robot
    predicted = {
        EXACT: inverse_dynamics(identified, log.state),
        EXACT_LEGS: inverse_dynamics(without_rod(identified, axes=4), log.state),
        EQ_40: fits.paper.torque(robot, log.state),
        EQ_39: fits.paper.torque(robot, log.state, rod=False),
    }
    return Prediction(
        log.times,
        log.limited(log.tau[:, :3]),
        {name: log.limited(tau[:, :3]) for name, tau in predicted.items()},
    )


# Section 5.3: figures 14 and 15. On one bench all controllers have the same gains. What differs
# is the torque for the reference: none, that of the legs (eq. 39), that of legs and rod (eq. 40).

ALONE, TRUTH = "PD alone", "machine's own numbers"
DRY_39, DRY_40 = "eq. 39 as printed, no friction", "eq. 40 as printed, no friction"
DEFAULT_LEGS, DEFAULT = "default identify, rod removed", "default identify"
#: Feedforward without and with the rod, from the same fit.
PAIRS = {
    "eqs. 39 and 40 with friction": (EQ_39, EQ_40),
    "the same as printed, no friction": (DRY_39, DRY_40),
    "exact model, two steps": (EXACT_LEGS, EXACT),
    "exact model, default identify": (DEFAULT_LEGS, DEFAULT),
}
THEIRS, TWO_STEPS = "eqs. 39 and 40 with friction", "exact model, two steps"
SOFT = f"industrial, gains of {SOFT_GAINS_HZ:g} Hz"


@dataclass(frozen=True, eq=False)
class PaperFeedforward:
    """Figure 14: PD and the torque of eq. 39 or 40, the reference's rates by differences."""

    feedback: PD
    torque: Callable[[State], FloatArray]

    def prepare(self, task: Task) -> Law:
        """The law with the torque of the instant at which it acts; axis 4 has feedback alone."""
        feedback, t, p = self.feedback.prepare(task), task.ahead.t, task.ahead.p
        pd = np.gradient(p, t, axis=0)
        pdd = np.gradient(pd, t, axis=0)
        forward = np.zeros_like(p)
        forward[:, :3] = self.torque(Motion.from_platform(self.feedback.robot, t, p, pd, pdd))
        table = forward.tolist()

        def law(k: int, q: tuple[float, ...], qd: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(a + b for a, b in zip(table[k], feedback(k, q, qd), strict=True))

        return law


def make_controllers(robot: Robot, fits: Fits, bandwidth: float) -> dict[str, Controller]:
    """The controllers by name, all with the gains of `bandwidth` Hz on the nominal robot.

    The gains are handed over as numbers, so a run leaves them as they are.
    """
    feedback = PD(robot, bandwidth=bandwidth)
    gains = {"stiffness": feedback.stiffness, "damping": feedback.damping}

    def paper(**parts: bool) -> PaperFeedforward:
        return PaperFeedforward(feedback, lambda state: fits.paper.torque(robot, state, **parts))

    identified = fits.exact.robot
    return {
        ALONE: feedback,
        EQ_39: paper(rod=False),
        EQ_40: paper(),
        DRY_39: paper(rod=False, friction=False),
        DRY_40: paper(friction=False),
        EXACT_LEGS: PDFeedforward(without_rod(identified, axes=4), **gains),
        EXACT: PDFeedforward(identified, **gains),
        TRUTH: PDFeedforward(fits.logs.machine, **gains),
    }


def default_controllers(robot: Robot, fits: Fits, bandwidth: float) -> dict[str, Controller]:
    """Feedforward of `identify` with its defaults, which also finds the ripple of the motors.

    It knows the simulation's robot with the arms of table 1, and one log: that with the rod.
    """
    fit = identify(simulation_robot(), fits.logs.recording, unidentifiable="hold")
    feedback = PD(robot, bandwidth=bandwidth)
    gains = {"stiffness": feedback.stiffness, "damping": feedback.damping}
    return {
        DEFAULT_LEGS: PDFeedforward(without_rod(fit.robot, axes=4), **gains),
        DEFAULT: PDFeedforward(fit.robot, **gains),
    }


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

    def factors(self, bench: str, pair: str) -> FloatArray:
        """How many times (3,) the error without the rod is that with it."""
        without, with_rod = PAIRS[pair]
        ratio: FloatArray = self.rms(bench, without) / self.rms(bench, with_rod)
        return ratio

    def factor(self, bench: str, pair: str) -> float:
        """The same over all joints."""
        without, with_rod = PAIRS[pair]
        return self.overall(bench, without) / self.overall(bench, with_rod)


def follow_gate(bench: VirtualBench, fits: Mapping[str, Fits]) -> Section:
    """Figure 15: every controller on the gate, on the ideal and on the industrial bench."""
    robot = bench.robot
    rough = make_controllers(robot, fits["industrial"], GAINS_HZ)
    rough |= default_controllers(robot, fits["industrial"], GAINS_HZ)
    soft = make_controllers(robot, fits["industrial"], SOFT_GAINS_HZ)
    benches: dict[str, tuple[str, dict[str, Controller]]] = {
        "ideal": ("ideal", make_controllers(robot, fits["ideal"], GAINS_HZ)),
        "industrial": ("industrial", rough),
        SOFT: (
            "industrial",
            {name: soft[name] for pair in (THEIRS, TWO_STEPS) for name in PAIRS[pair]},
        ),
    }
    tracking = Tracking(
        {
            (name, controller): bench.follow(law, preset)
            for name, (preset, controllers) in benches.items()
            for controller, law in controllers.items()
        }
    )
    errors = [
        (name, controller, tracking.rms(name, controller), _peak(tracking, name, controller))
        for name, controller in tracking.runs
    ]
    run = tracking.runs["industrial", EQ_40]
    stroke = 1e3 * np.ptp(run.reference.q[:, :3], axis=0)
    off = _peak(tracking, "industrial", EQ_40)
    claims = (
        PAPER.claim(
            "angles",
            "curves that lie on each other",
            f"{max(off):.2f} mrad apart at most, of {min(stroke):.0f} mrad",
            holds=bool(np.all(off < 0.01 * stroke)),
            share=100 * np.max(off / stroke),
        ),
    )
    loop = check_gains(robot, rough[ALONE], rate=bench.rate, preset="industrial")
    checks = PAPER.checks(
        radius=loop.radius,
        ideal=min(tracking.factors("ideal", TWO_STEPS)),
        industrial=min(tracking.factors("industrial", TWO_STEPS)),
        industrial_paper=tracking.factor("industrial", THEIRS),
        own=max(tracking.rms("industrial", EXACT) / tracking.rms("industrial", TRUTH)),
        alone=min(
            *(tracking.rms("ideal", ALONE) / tracking.rms("ideal", EQ_39)),
            *(tracking.rms("industrial", ALONE) / tracking.rms("industrial", EQ_39)),
        ),
        energy=max(run.energy.drift for run in tracking.runs.values()),
    )
    return Section(tracking, (PAPER.table("tracking", errors),), claims, checks)


def _peak(tracking: Tracking, bench: str, controller: str) -> FloatArray:
    peak: FloatArray = np.abs(tracking.error(bench, controller)).max(axis=0)
    return peak


# What decides the factor


RIPPLE_SHARES = (0.0, 0.25, 0.5, 1.0)  # of the industrial preset's motor ripple
FRICTION_SHARES = (0.0, 1.0, 2.0)  # of table 2's friction and of the preset's gear loss
LEAST_SHARE = 1e-9  # a scale of the bench is above 0
CALM = "industrial, no ripple"


@dataclass(frozen=True, eq=False)
class Sweep:
    """The factor (friction, ripple) of each pair of feedforwards, identified at each point."""

    factors: dict[str, FloatArray]
    calm: Tracking  # the runs without ripple, at the friction of table 2

    def crossing(self, pair: str, factor: float) -> float:
        """The share of the ripple at which the factor is this one, at the friction of table 2."""
        logs = np.log(self.factors[pair][FRICTION_SHARES.index(1.0)])
        return float(np.interp(-np.log(factor), -logs, RIPPLE_SHARES))

    def decides(self, pair: str) -> float:
        """How far friction moves the factor at most, over how far ripple does at least (logs)."""
        logs = np.log(self.factors[pair])
        return float(np.ptp(logs, axis=0).max() / np.ptp(logs, axis=1).min())


def sweep_ripple_and_friction(bench: VirtualBench) -> Section:
    """The factor over ripple and friction of the industrial bench, each point identified anew."""
    preset, robot = PRESETS["industrial"], bench.robot
    pairs = (THEIRS, TWO_STEPS)
    factors = {pair: np.empty((len(FRICTION_SHARES), len(RIPPLE_SHARES))) for pair in pairs}
    calm = {}
    for i, friction in enumerate(FRICTION_SHARES):
        scale = max(friction, LEAST_SHARE)
        for j, ripple in enumerate(RIPPLE_SHARES):
            switches: dict[str, Any] = {
                "ripple": ripple * preset.ripple,
                "friction_scale": tuple(scale * item for item in preset.friction_scale),
                "load": friction * preset.load,
            }
            logs = bench.record(EXCITATION, "industrial", periods=2, **switches)
            controllers = make_controllers(robot, fit_logs(robot, logs), GAINS_HZ)
            names = [name for pair in pairs for name in PAIRS[pair]]
            point = Tracking(
                {
                    (CALM, name): bench.follow(controllers[name], "industrial", **switches)
                    for name in names
                }
            )
            for pair in pairs:
                factors[pair][i, j] = point.factor(CALM, pair)
            if friction == 1.0 and ripple == 0.0:
                calm = point.runs
    sweep = Sweep(factors, Tracking(calm))
    rows = [
        (pair, f"{100 * friction:g} %", factors[pair][i])
        for pair in pairs
        for i, friction in enumerate(FRICTION_SHARES)
    ]
    table = PAPER.table("sweep", rows, shares=[100 * share for share in RIPPLE_SHARES])
    checks = PAPER.checks(
        falls={pair: (found[:, 1:] / found[:, :-1]).max() for pair, found in factors.items()},
        decides={pair: sweep.decides(pair) for pair in pairs},
        silent=factors[TWO_STEPS][:, 0].min(),
    )
    return Section(sweep, (table,), (), checks)


def compare_factors(
    tracking: Tracking, sweep: Sweep, predictions: Mapping[str, Prediction]
) -> Section:
    """The paper's result: the error is roughly halved; and its conclusion, section 6."""
    paper = PAPER.numbers["factor"]
    rows = [
        (bench, pair, tracking.factors(bench, pair), tracking.factor(bench, pair))
        for bench in ("ideal", "industrial", SOFT)
        for pair, (_, with_rod) in PAIRS.items()
        if (bench, with_rod) in tracking.runs
    ]
    rows += [
        (CALM, pair, sweep.calm.factors(CALM, pair), sweep.calm.factor(CALM, pair))
        for pair in (THEIRS, TWO_STEPS)
    ]
    truth = tracking.runs["industrial", EQ_40].truth
    ripple, needed = (np.sqrt(np.mean(x[:, :3] ** 2)) for x in (truth.ripple, truth.tau))
    quarter = sweep.factors[THEIRS][FRICTION_SHARES.index(1.0), RIPPLE_SHARES.index(0.25)]
    rough = predictions["industrial"]
    gain = rough.error(EQ_40) / rough.error(EQ_39)
    claims = (
        PAPER.claim(
            "halved_ideal",
            paper,
            tracking.factor("ideal", THEIRS),
            left=tracking.overall("ideal", EQ_40),
        ),
        PAPER.claim(
            "halved",
            paper,
            tracking.factor("industrial", THEIRS),
            ripple=ripple,
            needed=needed,
            quarter=quarter,
        ),
        PAPER.claim(
            "halved_dry",
            paper,
            tracking.factor("industrial", "the same as printed, no friction"),
            dry=tracking.overall("industrial", DRY_40),
            wet=tracking.overall("industrial", EQ_40),
        ),
        PAPER.claim(
            "conclusion",
            "more accurate with the rod",
            "error x " + ", ".join(f"{x:.2f}" for x in gain),
            holds=bool(np.all(gain < 1)),
            gain=gain,
        ),
    )
    checks = PAPER.checks(
        halved=abs(tracking.factor("ideal", THEIRS) / paper - 1),
        default=tracking.factor("industrial", "exact model, default identify"),
    )
    table = PAPER.table("worth", [("paper", "", None, None, None, paper), *rows])
    return Section(None, (table,), claims, checks)


def _statements(robot: Robot, data: Experiment) -> tuple[str, ...]:
    tracking, sweep = data.tracking, data.sweep
    truth = tracking.runs["industrial", EQ_40].truth
    ripple, needed = (np.sqrt(np.mean(x[:, :3] ** 2)) for x in (truth.ripple, truth.tau))
    upper, strong = (fits["industrial"].exact for fits in (data.fits, data.rod_fits))
    return PAPER.statements(
        upper=_interval(upper, "upper.m"),
        strong=_interval(strong, "upper.m"),
        ARM_LENGTH=ARM_LENGTH,
        split=table_2_split(robot.drives.output_inertia[0]),
        rotor=printed_rotor(),
        stiffness=PD(robot, bandwidth=GAINS_HZ).stiffness[0],
        theirs={bench: tracking.factor(bench, THEIRS) for bench in ("ideal", "industrial", SOFT)},
        soft=tracking.factor(SOFT, THEIRS),
        ours={bench: tracking.factor(bench, TWO_STEPS) for bench in ("ideal", "industrial")},
        default=tracking.factor("industrial", "exact model, default identify"),
        default_error=tracking.overall("industrial", DEFAULT),
        exact_error=tracking.overall("industrial", EXACT),
        truth_error=tracking.overall("industrial", TRUTH),
        ripple=ripple,
        needed=needed,
        crossing=100 * sweep.crossing(THEIRS, PAPER.numbers["factor"]),
        full=sweep.factors[THEIRS][:, -1],
        none=sweep.factors[THEIRS][:, 0],
        quarter=sweep.factors[THEIRS][:, RIPPLE_SHARES.index(0.25)],
        half=sweep.factors[THEIRS][:, RIPPLE_SHARES.index(0.5)],
    )
