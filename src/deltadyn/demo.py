"""The demonstration: a catalogue robot from its file to a model that was identified and checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import MODELS, inverse_dynamics
from deltadyn.excitation import Excitation, design_excitation
from deltadyn.identification import Fit, identify
from deltadyn.kinematics import forward_kinematics, inverse_kinematics
from deltadyn.motion import Motion
from deltadyn.motion.scenarios import y1
from deltadyn.recording import write_recording
from deltadyn.report.picture import torque_page
from deltadyn.reproduce.ladder import Ladder, ladder, pick_and_place, random_states
from deltadyn.robot import Robot
from deltadyn.simulation import PDFeedforward, simulate
from deltadyn.sizing import MotionLoads, motion_loads
from deltadyn.validation import Comparison, compare
from deltadyn.validation.predictor import FitLike

POINTS = 10_000
RATE = 2000.0  # Hz, of the drive on the bench
SECONDS = 6.0  # of excitation
SEARCH = 8.0  # s, longest search for the excitation


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demonstration found."""

    robot: Robot
    motion: Motion
    points: int
    round_trip: float  # m, the largest |FK(IK(p)) - p|
    ladder: Ladder
    torque_peak: FloatArray  # (dof,), N m, exact model on the move
    loads: MotionLoads
    picture: Path
    loads_page: Path
    learned: Learned | None


@dataclass(frozen=True, eq=False)
class Learned:
    """Excitation, fit and the comparison on held-out motion, with the files that hold them."""

    excitation: Excitation
    fit: Fit
    comparison: Comparison
    files: dict[str, Path]


def run_demo(
    robot: Robot, out: str | os.PathLike[str], *, seed: int = 0, learn: bool = True
) -> Demo:
    """Kinematics, every model on one move, a picture; with `learn` the path from log to model."""
    p = random_states(robot, POINTS, seed=seed).p
    back = forward_kinematics(robot, inverse_kinematics(robot, p))
    motion = pick_and_place(robot)
    torques = {name: inverse_dynamics(robot, motion, name) for name in MODELS}
    picture = torque_page(robot, motion, torques, Path(out) / "picture.html")
    loads = motion_loads(robot, motion)
    return Demo(
        robot=robot,
        motion=motion,
        points=len(p),
        round_trip=float(np.abs(back - p).max()),
        ladder=ladder(robot, motion, name=f"pick-and-place move of {motion.duration:g} s"),
        torque_peak=np.abs(torques["exact"]).max(axis=0),
        loads=loads,
        picture=picture,
        loads_page=loads.page(Path(out) / "loads.html"),
        learned=_learn(robot, Path(out), seed) if learn else None,
    )


def _learn(robot: Robot, out: Path, seed: int) -> Learned:
    """Excite, log on the industrial bench, identify, and compare on a motion not seen before."""
    excitation = design_excitation(robot, SECONDS, seed=seed, time_limit=SEARCH)
    law = PDFeedforward(robot)
    log = simulate(robot, excitation.motion, law, preset="industrial", rate=RATE, seed=seed)
    held = simulate(robot, y1(robot), law, preset="industrial", rate=RATE, seed=seed + 1)
    files = {name: out / f"{name}.csv" for name in ("excite", "log", "held-out")}
    excitation.save(files["excite"])
    write_recording(log.recording, files["log"])
    write_recording(held.recording, files["held-out"])
    fit = identify(
        robot, log.recording, validation=held.recording, unidentifiable="hold", seed=seed
    )
    files["robot"], files["record"] = fit.save(out / "identified")
    files["report"] = fit.report(out / "report.html")
    models: dict[str, Robot | FitLike] = {"robot file": robot, "identified": fit}
    comparison = compare(models, held.recording, band=fit.band)
    files["comparison"] = comparison.page(out / "comparison.html")
    return Learned(excitation, fit, comparison, files)
