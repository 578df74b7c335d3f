"""The demonstration: a catalogue robot from its file to a model that was checked and exported."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.dynamics.models import models_for
from deltadyn.excitation import Excitation, design_excitation
from deltadyn.exports import Export, export
from deltadyn.exports.common import identifier
from deltadyn.files import file_set
from deltadyn.identification import Fit
from deltadyn.kinematics import forward_kinematics, inverse_kinematics
from deltadyn.motion import Motion
from deltadyn.motion.scenarios import y1
from deltadyn.payload import NoiseModel, PickLog, find_picks
from deltadyn.payload.bench import PickPlan, pick_plan
from deltadyn.recording import Recording, write_recording
from deltadyn.report.fit import missed_truth, parameter_rows
from deltadyn.report.picture import torque_page
from deltadyn.report.study import Study, study
from deltadyn.reproduce.ladder import Ladder, ladder, pick_and_place, random_states
from deltadyn.robot import Robot
from deltadyn.simulation import PD, PDFeedforward, Run, simulate
from deltadyn.simulation.controllers.feedforward import Controller
from deltadyn.sizing import MotionLoads, motion_loads

POINTS = 10_000
RATE = 2000.0  # Hz, of the drive on the bench
SECONDS, PERIODS = 8.0, 4  # of excitation
METHODS = ("convex", "base", "l1")
CYCLES = 6  # picks
PAYLOADS = (0.3, 0.9)  # shares of the robot's limit
PER_MINUTE = (50.0, 80.0)
ASSUMED_PAYLOAD = 1.0  # kg, where a robot names no limit

#: What the demonstration does, in order.
STAGES = (
    "kinematics and models of a move",
    "design the excitation",
    "measure on the industrial bench",
    "identify and validate",
    "find payloads",
    "try the feedforward",
    "export to C",
    "write the report",
)


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demonstration found; `learned` is None where it ended after the models."""

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


@dataclass(frozen=True)
class Tracking:
    """RMS tracking error of the limbs on the held-out motion, in mrad (mm on rails)."""

    without: float  # PD alone
    file: float  # feedforward of the robot file
    identified: float


@dataclass(frozen=True)
class Weighed:
    """A pick: the true mass and what was found, in kg."""

    true: float
    found: float
    std: float


@dataclass(frozen=True, eq=False)
class Learned:
    """The path from excitation to export, with the files that hold its results."""

    excitation: Excitation
    study: Study
    picks: PickLog
    weighed: tuple[Weighed, ...]
    tracking: Tracking
    exported: Exported
    files: dict[str, Path]

    @property
    def fit(self) -> Fit:
        """The fit that was judged."""
        return replace(self.study.fit, judged=self.study.verdict)

    @property
    def truth(self) -> tuple[int, tuple[str, ...]]:
        """How many parameters of the simulated machine are known, and which ones the fit misses.

        A parameter is missed where its 95 % interval does not hold the true value.
        """
        return missed_truth(parameter_rows(self.study.fit, self.study.truth))


def run_demo(
    robot: Robot,
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    learn: bool = True,
    tell: Callable[[str], None] = lambda stage: None,
) -> Demo:
    """The whole path of a robot; `tell` hears each of `STAGES` as it begins."""
    place = Path(out)
    tell(STAGES[0])
    p = random_states(robot, POINTS, seed=seed).p
    back = forward_kinematics(robot, inverse_kinematics(robot, p))
    motion = pick_and_place(robot)
    torques = {name: inverse_dynamics(robot, motion, name) for name in models_for(robot)}
    picture = torque_page(robot, motion, torques, place / "picture.html")
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
        loads_page=loads.page(place / "loads.html"),
        learned=_learn(robot, place, seed, tell) if learn else None,
    )


def _learn(robot: Robot, place: Path, seed: int, tell: Callable[[str], None]) -> Learned:
    tell(STAGES[1])
    excitation = design_excitation(robot, SECONDS, periods=PERIODS, starts=1, seed=seed)
    tell(STAGES[2])
    bench = _Bench(robot, seed)
    held_out = y1(robot)
    first = bench.run(excitation.motion, 0)
    records = {
        "log": first.recording,
        "held-out": bench.recording(held_out, 1),
    }
    files = {name: place / f"{name}.csv" for name in ("excite", *records)}
    excitation.save(files["excite"])
    tell(STAGES[3])
    found = study(
        robot,
        records["log"],
        held_out=records["held-out"],
        methods=METHODS,
        excitation=excitation,
        seed=seed,
    )
    tell(STAGES[4])
    plan = _plan(robot, seed)
    picks, records["picks"] = bench.picks(found.fit, plan)
    files["picks"] = place / "picks.csv"
    found = replace(found, picks=picks, truth=first.truth.robot)
    tell(STAGES[5])
    tracking = bench.tracking(found.fit, held_out)
    tell(STAGES[6])
    exported = export_c(found.fit, place / "c")
    tell(STAGES[7])
    judged = replace(found.fit, judged=found.verdict)
    with file_set():
        for name, record in records.items():
            write_recording(record, files[name])
        files["robot"], files["record"] = judged.save(place / "identified")
        files["report"] = found.report(place / "report.html")
    weighed = tuple(
        Weighed(cycle.mass, pick.mass, pick.std)
        for cycle in plan.cycles
        for pick in picks.picks
        if cycle.pick < (pick.start + pick.end) / 2 < cycle.end
    )
    return Learned(excitation, found, picks, weighed, tracking, exported, files)


def _plan(robot: Robot, seed: int) -> PickPlan:
    most = robot.limits.payload or ASSUMED_PAYLOAD
    low, high = (share * most for share in PAYLOADS)
    return pick_plan(robot, CYCLES, seed=seed, per_minute=PER_MINUTE, masses=(low, high), rate=RATE)


@dataclass(frozen=True)
class _Bench:
    """The industrial machine of a robot; every run has its own seed."""

    robot: Robot
    seed: int

    def run(
        self,
        motion: Motion,
        number: int,
        law: Controller | None = None,
        payload: Sequence[tuple[float, float]] = (),
    ) -> Run:
        own = PDFeedforward(self.robot) if law is None else law
        seed = self.seed + number
        return simulate(
            self.robot, motion, own, preset="industrial", rate=RATE, seed=seed, payload=payload
        )

    def recording(self, motion: Motion, number: int) -> Recording:
        return self.run(motion, number).recording

    def picks(self, fit: Fit, plan: PickPlan) -> tuple[PickLog, Recording]:
        """Picks with the gripper's own signal, and the log that they are from."""
        empty = self.run(plan.empty.motion, 2)
        noise = NoiseModel.of(fit, empty.recording)
        run = self.run(plan.motion, 3, payload=plan.payload)
        loaded = np.interp(run.recording.t, run.truth.t, run.truth.payload > 0) > 0.5
        found = find_picks(fit, run.recording, noise=noise, holding=loaded.tolist())
        return found, run.recording

    def tracking(self, fit: Fit, motion: Motion) -> Tracking:
        laws = (PD(self.robot), PDFeedforward(self.robot), PDFeedforward(fit.robot))
        errors = [self.run(motion, 4, law).tracking_error[:, : self.robot.legs] for law in laws]
        return Tracking(*(1e3 * float(np.sqrt(np.mean(error**2))) for error in errors))


# The demonstration's export: C, compiled and run where there is a compiler.


FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")


@dataclass(frozen=True)
class Exported:
    """The files, and what the example program printed; None where there is no compiler."""

    files: Export
    compiler: str | None
    printed: str | None


def export_c(fit: Fit, folder: Path) -> Exported:
    """Write the model as C and try it."""
    written = export(fit, "c", folder, overwrite=True)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return Exported(written, None, None)
    program, source = folder / "example", f"{identifier(fit.robot)}_delta.c"
    command = [
        compiler,
        *FLAGS,
        "-o",
        str(program),
        str(folder / "example.c"),
        str(folder / source),
    ]
    subprocess.run([*command, "-lm"], check=True, capture_output=True)
    done = subprocess.run([str(program.resolve())], check=True, capture_output=True, text=True)
    return Exported(written, Path(compiler).name, done.stdout.strip())
