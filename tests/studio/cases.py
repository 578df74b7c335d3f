"""Logs for tests of the studio, of a robot whose platform is heavier than its file says."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import deltadyn as dd
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording, write_recording
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform

ROBOT = "example-delta"
HEAVIER = 1.25  # times the platform's mass in the file
RATE = 1000.0


def sines(robot: Robot, seconds: float, seed: int) -> dd.Motion:
    """A quick motion of two sines on every coordinate inside the working cylinder."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE)) / RATE
    cylinder = working_cylinder(robot)
    half = (cylinder.z_max - cylinder.z_min) / 2
    size = np.array([cylinder.radius, cylinder.radius, half, 2.5])[: robot.dof] * 0.35
    centre = np.zeros(robot.dof)
    centre[2] = cylinder.z_min + half
    p, pd, pdd = (np.zeros((len(t), robot.dof)) for _ in range(3))
    for share in (0.7, 0.3):
        w = 2 * np.pi * rng.uniform(1.0, 2.5, robot.dof)
        phase = w * t[:, None] + rng.uniform(0, 2 * np.pi, robot.dof)
        p += share * size * np.sin(phase)
        pd += share * size * w * np.cos(phase)
        pdd -= share * size * w**2 * np.sin(phase)
    return dd.Motion.from_platform(robot, t, centre + p, pd, pdd)


@cache
def simulated(seed: int, seconds: float = 3.0, name: str = ROBOT) -> Recording:
    """What the drives of the heavier robot log while it follows its motion."""
    robot = dd.load_robot(name)
    heavy = robot.replace(platform=Platform(HEAVIER * robot.platform.mass))
    motion = sines(heavy, seconds, seed)
    return dd.simulate(heavy, motion, dd.PDFeedforward(heavy), rate=RATE, seed=seed).recording


def log_bytes(seed: int, seconds: float = 3.0, name: str = ROBOT) -> bytes:
    """The same as a CSV file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        write_recording(simulated(seed, seconds, name), path)
        return path.read_bytes()


def foreign_bytes(seed: int = 1, seconds: float = 3.0, *, reversed_axis: bool = False) -> bytes:
    """The same as a German drive exports it: degrees, milliseconds, semicolons, commas, cp1252.

    With `reversed_axis` axis 2 counts the other way and is homed 30 degrees off.
    """
    log = simulated(seed, seconds)
    q, tau = np.degrees(log.q), log.tau.copy()
    if reversed_axis:
        q[:, 1], tau[:, 1] = 30.0 - q[:, 1], -tau[:, 1]
    table = np.column_stack([1e3 * log.t, q, tau, np.full(len(log), 8.0)])
    head = ["Zeit [ms]", *(f"Achse{k}.Istwinkel [°]" for k in (1, 2, 3))]
    head += [*(f"Achse{k}.Drehmoment [Nm]" for k in (1, 2, 3)), "Status"]
    rows = [";".join(f"{value:.6f}".replace(".", ",") for value in row) for row in table]
    return "\r\n".join([";".join(head), *rows]).encode("cp1252")


PUSH = (-20.0, 5.0, 25.0)  # N
PUSHED = (0.8, 1.4)  # s


@cache
def touched(seconds: float, seed: int, force: tuple[float, ...] = PUSH) -> Recording:
    """The model's torque of a quick motion with noise, and a push: tau = ID - J^T F."""
    robot = dd.load_robot(ROBOT)
    motion = sines(robot, seconds, seed)
    noise = 0.02 * np.random.default_rng(seed).standard_normal(motion.q.shape)
    on = (motion.t >= PUSHED[0]) & (motion.t < PUSHED[1])
    F = on[:, None] * np.array(force)
    J = dd.jacobian(robot, motion.p)
    tau = dd.inverse_dynamics(robot, motion) - np.einsum("nij,ni->nj", J, F) + noise
    return Recording(t=motion.t, q=motion.q, tau=tau, name="touched")


def touched_bytes(seconds: float, seed: int, force: tuple[float, ...] = PUSH) -> bytes:
    """The same as a CSV file, short enough for an upload."""
    log = touched(seconds, seed, force)
    head = "t_s,q1_rad,q2_rad,q3_rad,tau1_Nm,tau2_Nm,tau3_Nm"
    rows = [
        ",".join([f"{t:.3f}", *(f"{x:.7f}" for x in q), *(f"{x:.4f}" for x in tau)])
        for t, q, tau in zip(log.t, log.q, log.tau, strict=True)
    ]
    return "\n".join([head, *rows, ""]).encode()
