"""The robots, motions and runs of the experiment of [telescopic2022] on the virtual bench.

Table 2 holds three sums of the legs' bodies, by eqs. 36-41 with arms of length a:

    M_P = 3 m_b,   G = (m_a/2 + m_b) a,   A = I_u

and no platform. With its three numbers eq. 36 makes the rotor negative. The same sums with the
rotor of the paper's simulation give a platform, arms and rods that a robot can have: the bench's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deltadyn.dynamics import inverse_dynamics
from deltadyn.identification.methods.two_step import (
    TwoStepResult,
    arms_alone,
    parameter,
    two_step,
    with_parameters,
    with_prismatic,
    without_rod,
)
from deltadyn.motion import FourierSeries, Motion, fourier_motion, telescopic_gate
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Platform, Strut
from deltadyn.robot.file import load_robot
from deltadyn.simulation import Run, simulate

#: Table 2 as printed, friction by the names that it uses.
TABLE_2 = {
    "arm.m": 0.524,
    "strut.m": 0.433,
    "I_u": 0.0886,
    "Fv": 0.451,
    "Fc": 0.832,
    "upper.m": 0.134,
    "lower.m": 0.416,
    "prismatic.Fv": 0.233,
}
ARM_LENGTH = 0.385  # m, table 1
AXIS_4 = (0.002, 0.005)  # N m s/rad and N m: the paper has none for it
BAND = 30.0  # Hz: regressor and torque are compared below it
#: Hz that rates are estimated with. Noise tells how much to smooth; perfect sensors have none.
BANDWIDTH = {"industrial": None, "ideal": 100.0}

#: Found by design_excitation(experiment_robot(), duration=8, harmonics=5, still=("psi",),
#: unidentifiable="drop", highest_frequency=6, seed=0) in half a minute, to 0.1 mm.
EXCITATION = FourierSeries(
    0.875,
    np.array([-0.2485, -0.0104, -0.7954, 0.0]),
    np.array(
        [
            [0.1159, -0.0343, 0.0055, 0.0098, -0.0030],
            [0.3319, 0.0246, 0.0187, 0.0009, -0.0096],
            [0.0132, -0.0804, 0.0044, 0.0296, -0.0053],
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
    np.array(
        [
            [-0.1719, -0.0005, 0.0080, 0.0185, 0.0066],
            [0.1091, 0.0126, -0.0281, 0.0065, 0.0048],
            [-0.0095, 0.0339, 0.0128, 0.0597, -0.0033],
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
)
#: Another motion, of 6 s with its ramps as in figure 13: two loops around the axis at two heights.
VALIDATION = FourierSeries(
    0.5,
    np.array([0.0, 0.0, -0.82, 0.0]),
    np.array([[0.25, 0.0, 0.03], [0.0, 0.08, 0.0], [0.0, 0.06, 0.0], [0.0, 0.0, 0.0]]),
    np.array([[0.0, 0.06, 0.0], [-0.25, 0.0, 0.03], [0.05, 0.0, 0.02], [0.0, 0.0, 0.0]]),
)


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
    return rotor + (arm / 3 + strut) * ARM_LENGTH**2


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


def machine_value(machine: Robot, name: str) -> float:
    """A parameter of the machine, the mean over its three limbs or axes."""
    if name in ("platform.m", "upper.m", "lower.m", "prismatic.Fv"):
        return parameter(machine, name)
    body, dot, rest = name.partition(".")
    return float(np.mean([parameter(machine, f"{body}{i}{dot}{rest}") for i in (1, 2, 3)]))


def fitted_value(result: TwoStepResult, name: str, *, unbounded: bool = False) -> float:
    """A parameter of a fit; friction is the mean of the three arms."""
    names = [f"{name}{i}" for i in (1, 2, 3)] if name in ("Fv", "Fc") else [name]
    if name in result.held:
        return parameter(result.robot, name)
    steps = [result.step_of(item) for item in names]
    pairs = zip(steps, names, strict=True)
    values = [
        float((step.unbounded if unbounded else step.values)[step.names.index(item)])
        for step, item in pairs
    ]
    return float(np.mean(values))
