"""[gnad2024] again: the surrogate of section VII, the ABB robot and its spindle on the bench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.kinematics import WorkspaceBoundary, in_workspace, workspace
from deltadyn.motion import Motion, fourier_motion
from deltadyn.progress import Bar
from deltadyn.reproduce.gnad2024 import spindle, surrogate
from deltadyn.reproduce.gnad2024.spindle import (
    BOUNDED,
    BY_HAND,
    CHOLESKY,
    FREE,
    THIN,
    SpindleBench,
    spindle_bench,
    true_friction,
)
from deltadyn.reproduce.gnad2024.surrogate import (
    GEOMETRIC,
    NOMINAL,
    PAPER,
    REGULARISED,
    TABLE_1,
    WEIGHTS,
    Hemisphere,
    Surrogate,
    Twice,
    best_hemisphere,
    excitation,
    finely,
    identified_twice,
    largest_inside,
    own_values,
    run_surrogate,
    surrogate_robot,
)
from deltadyn.reproduce.result import Check, Reproduction, Table
from deltadyn.reproduce.trials import whole_number

ACCURACY, RMS = PAPER.numbers["accuracy"], PAPER.numbers["rms"]
HEIGHTS, POINTS = 121, 5000  # of the workspace's boundary; random points in a hemisphere
DEGREES = (30.0, 90.0, 175.0, 500.0, 1500.0, 2760.0)  # deg/s, at which friction is shown


@dataclass(frozen=True, eq=False)
class TaskSpace:
    """Figure 2: the workspace of the catalogue's robot, and hemispheres in its place."""

    boundary: WorkspaceBoundary
    best: Hemisphere
    inside: Hemisphere
    excitation: Motion
    reachable: float  # share of random points of `inside` that the robot can take

    @property
    def missed(self) -> float:
        """Percentage of the best hemisphere that the robot cannot reach."""
        return 100 - 100 * self.best.reachable


@dataclass(frozen=True, eq=False)
class Found:
    """What was found: the simulation study, the runs on the bench, table I and figure 2."""

    model: Surrogate
    bench: SpindleBench
    twice: Twice
    space: TaskSpace


def gnad2024(
    *,
    seed: int = 0,
    progress: bool = False,
    periods: int = 18,
    bench_periods: int = 2,
    bench_ramp: float | None = None,
) -> Reproduction:
    """Reproduce the surrogate, the inverse dynamics and the spindle's friction of [gnad2024].

    `periods` of 1.11 s are those of the surrogate's motion, `bench_periods` of 1.26 s those of the
    bench's training motion. `bench_ramp` (s) shortens the ramps of both motions on the bench, 2.5
    and 2.2 s by default. The defaults take about a minute.
    """
    whole_number("seed", seed, 0)
    whole_number("periods", periods, 1)
    whole_number("bench_periods", bench_periods, 1)
    with Bar(progress, PAPER.key, 4) as bar:
        model = run_surrogate(seed=seed, periods=periods)
        bar.step("surrogate")
        bench = spindle_bench(seed=seed, periods=bench_periods, ramp=bench_ramp, report=bar.step)
    twice = identified_twice(model.robot, model.motion)
    found = Found(model, bench, twice, task_space())
    return PAPER.reproduction(_tables(found), _statements(found), _checks(found), found)


def task_space() -> TaskSpace:
    """The workspace within the catalogue's limits, and the hemispheres for it."""
    robot = surrogate_robot()
    boundary = workspace(robot, heights=HEIGHTS)
    inside = largest_inside(boundary)
    points = np.column_stack([inside.points(POINTS, 0), np.zeros(POINTS)])
    motion = fourier_motion(robot, excitation(1), rate=200.0)
    share = float(in_workspace(robot, points).mean())
    finer = finely(boundary)
    best, inside = (
        Hemisphere.of(finer, half.z, half.radius) for half in (best_hemisphere(boundary), inside)
    )
    return TaskSpace(boundary, best, inside, motion, share)


def _tables(found: Found) -> tuple[Table, ...]:
    model, bench, rate = found.model, found.bench, np.radians(DEGREES)
    accuracy = [
        ("paper, both regularisations: below", ACCURACY, None),
        *((name, it.worst, 1e3 * it.least_eigenvalue) for name, it in model.fits.items()),
    ]
    chart, base = model.fits[GEOMETRIC].fit, model.fits[surrogate.BASE].fit
    evaluations = int(chart.solver_details["evaluations"])
    size = [
        (
            "variables of the log-Cholesky fit",
            PAPER.numbers["variables"],
            int(chart.solver_details["variables"]),
        ),
        ("base parameters by QR", PAPER.numbers["base"], len(base.names)),
        ("evaluations of the log-Cholesky fit", None, evaluations),
    ]
    curves = [("machine", true_friction(rate))]
    curves += [(name, bench.curve(name, rate)) for name in (CHOLESKY, BY_HAND, FREE, THIN)]
    band = "all frequencies" if bench.band is None else f"{bench.band:.0f} Hz"
    return (
        PAPER.table("accuracy", accuracy),
        PAPER.table("size", size),
        PAPER.table("friction", _friction(model)),
        PAPER.table("table_1", _table_1(model)),
        PAPER.table("twice", _twice(found.twice)),
        PAPER.table("space", _space(found.space)),
        PAPER.table("bench", _bench(bench), band=band),
        PAPER.table("spindle", _spindle(bench), bench=bench),
        PAPER.table("curve", curves),
    )


def _friction(model: Surrogate) -> list[Any]:
    fits, known = [model.fits[key] for key in (NOMINAL, GEOMETRIC)], model.standard
    return [
        (name, known[name], [it.fit[name] for it in fits], [it.friction[name] for it in fits])
        for name in fits[0].friction
    ]


def _table_1(model: Surrogate) -> list[Any]:
    found = [model.fits[key].fit.standard or {} for key in REGULARISED]
    rows = []
    for name, row in TABLE_1.items():
        values = [row[kind] for kind in ("ID geom", "RG geom", "ID simple", "RG simple")]
        values += [model.guesses[GEOMETRIC][name], *(item[name] for item in found)]
        rows.append((name, row["unit"], [f"{value:.4g}" for value in values]))
    return rows


def _twice(twice: Twice) -> list[Any]:
    return [
        ("RMS", twice.apart),
        ("largest", twice.peak),
        (f"RMS, effector {twice.effector:.2f} kg heavier with ID simple", twice.left),
        ("RMS error of the fit on the real robot, paper", RMS[CHOLESKY]),
    ]


def _space(space: TaskSpace) -> list[Any]:
    rows = []
    for name, half in (("best fit", space.best), ("largest inside", space.inside)):
        held = half.inside(space.excitation.p).mean()
        shares = 100 * np.array([half.covered, half.reachable, half.overlap, held])
        rows.append((name, half.z, half.radius, shares))
    return rows


def _bench(bench: SpindleBench) -> list[Any]:
    rows = []
    for name in (spindle.BASE, CHOLESKY, spindle.CONVEX):
        if name in RMS:
            rows.append((name, "paper, real robot", RMS[name]))
        own = bench.errors(name)
        rows += [(name, "ours", own.band), (name, "ours, all frequencies", own.all)]
    return rows


def _spindle(bench: SpindleBench) -> list[Any]:
    paper = {name: values[3] for name, values in RMS.items()} | {BY_HAND: PAPER.numbers["by_hand"]}
    rows = []
    for name in (spindle.BASE, CHOLESKY, BY_HAND, BOUNDED, FREE, THIN):
        own = bench.errors(name)
        rows.append((name, bench.coefficients(name), paper.get(name), own.band[3], own.all[3]))
    return rows


def _statements(found: Found) -> tuple[str, ...]:
    model, bench, twice, space = found.model, found.bench, found.twice, found.space
    axial = model.standard["strut.Ixx"]
    spun = bench.training.reference
    guessed = (GEOMETRIC, surrogate.PRINTED, surrogate.SIMPLE)
    return PAPER.statements(
        seconds=model.motion.t[-1],
        percent=100 * surrogate.NOISE,
        levels=model.noise,
        weights=[WEIGHTS[name] for name in (NOMINAL, *guessed)],
        axial=[axial / model.guesses[name]["strut.Ixx"] for name in guessed],
        shoulder=_behind_shoulder(model),
        PRESET=spindle.PRESET,
        speed=np.degrees(np.abs(spun.qd[:, 3]).max()),
        fast=np.degrees(np.abs(spun.qdd[:, 3]).max()),
        bench=bench,
        twice=twice,
        apart=twice.apart[:3],
        left=twice.left[:3],
        best=space.best,
        covered=100 * space.best.covered,
        missed=space.missed,
        inside=space.inside,
        kept=100 * space.inside.covered,
    )


def _behind_shoulder(model: Surrogate) -> str:
    """What the paper's criterion lets pass, where it happened."""
    moments = {name: (model.fits[name].fit.standard or {})["arm.mcx"] for name in REGULARISED}
    found = [name.partition(", ")[2] for name, moment in moments.items() if moment < 0]
    if not found:
        return ""
    return (
        f"Drawn to {' and to '.join(found)} the COM of the arm ends behind its shoulder: "
        "consistent by the paper's criterion, and outside the hull of an arm. The torques are "
        "right all the same; forces in the joints would not be."
    )


def _checks(found: Found) -> tuple[Check, ...]:
    model, bench, space = found.model, found.bench, found.space
    own = own_values(model.robot)
    apart = max(abs(own[name] - row["ID geom"]) for name, row in TABLE_1.items())
    checks = PAPER.checks(catalogue=apart)
    for name in REGULARISED:
        friction, diagonal, off_diagonal, *terms = model.fits[name].worst
        checks += PAPER.checks(
            friction={name: friction},
            diagonal={name: diagonal},
            off_diagonal={name: off_diagonal},
            terms={name: max(terms)},
        )
    ratio = bench.errors(CHOLESKY).band / bench.errors(spindle.BASE).band
    paper, free = (bench.errors(name).band[3] for name in (CHOLESKY, FREE))
    return checks + PAPER.checks(
        definite=min(model.fits[name].least_eigenvalue for name in REGULARISED),
        variables=model.fits[GEOMETRIC].fit.solver_details["variables"],
        base=len(model.fits[surrogate.BASE].fit.names),
        validation=ratio.max(),
        free=free / paper,
        slow=free,
        effector=found.twice.left.max(),
        reachable=space.reachable,
        overlap=space.best.overlap,
    )
