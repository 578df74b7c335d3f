"""Whether what a fit calls identified is so: python -m benchmarks.determined --seeds 0-7.

Robots of every kind of the catalogue get random bodies, rotors and friction, and are then moved as
far as bodies can go along random null directions of the base map: into other machines that no log
tells from the first. Each is identified from a log of its own. A field that is said to be
identified must not have moved, and its 95 % interval must hold its true value.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import base_parameters, exact_base_map
from deltadyn.errors import DeltadynError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.realise import robot_from_standard
from deltadyn.identification.determined import body_fields
from deltadyn.identification.parametrisation import parametrise
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_from_text, robot_text

ROBOTS = (
    "sipro-d3-1200",
    "usach-delta",
    "telescopic-delta",
    "example-delta-4",
    "example-linear-delta",
    "kossel-2016",
    "codian-d2-like",
    "klipper-deltesian",
    "quattro-s650-like",
    "veloce-like",
)
WAYS = (("convex", "exact"), ("convex", "rigid"), ("base", "exact"))
RATE_HZ, SECONDS = 500.0, 8.0
TORQUE_NOISE = 0.01  # of the RMS torque of an axis, half of it correlated over some 20 ms
MOVED = 1e-6  # relative: a field that changed along a null direction
ROUNDING = 1e-12  # of a field that is 0, in SI units


@dataclass(frozen=True)
class Trial:
    """One machine and one fit: how many fields have each status, and what was wrong."""

    robot: str
    seed: int
    method: str
    model: str
    identified: int
    combination: int
    kept: int
    missed: list[str]  # identified, and the truth outside the interval
    arbitrary: list[str]  # identified, and changed along null directions
    bodies: list[str]  # identified fields that are no friction
    moved: int  # fields that changed along null directions
    far: int  # sentences on base parameters far from the file's
    base: int  # base parameters
    base_missed: int
    seconds: float
    failed: str = ""


def random_machine(robot: Robot, rng: np.random.Generator) -> Robot:
    """Bodies and rotors 15 % off, rotors where the file has none, and friction."""
    size = typical_torque(robot)
    for _ in range(50):
        other = robot.with_friction(
            viscous=tuple(size * 0.02 * rng.uniform(0.5, 1.5, robot.dof)),
            coulomb=tuple(size * 0.04 * rng.uniform(0.5, 1.5, robot.dof)),
        )
        tied = robot.equal_limbs
        inertia = parametrise(robot, "exact").prior[2]
        for field in body_fields(robot, tied):
            value = field.value(other) or 0.0
            if field.path.startswith("drives.rotor") and value == 0:
                value = 0.3 * abs(inertia)
            if field.unit in ("kg", "kg m^2") and field.path.startswith(
                ("drives.rotor", "arm", "car", "strut", "platform", "spindle", "effector")
            ):
                other = field.changed(other, value * float(np.exp(0.15 * rng.standard_normal())))
        try:
            return robot_from_text(robot_text(other))
        except DeltadynError:
            continue
    raise RuntimeError(f"no random machine like {robot.name}")


def machines_alike(machine: Robot, model: str, rng: np.random.Generator) -> tuple[Robot, Robot]:
    """Two machines with the same base parameters, far from each other.

    The first is the machine, some way to the inside of what bodies can be; the second as far as
    its bodies can exist, times 0.7, along twenty random null directions.
    """
    if model == "rigid":
        base = base_parameters(machine, "rigid", machine.equal_limbs, friction=True)
        names, K, family = base.standard, base.matrix, "rigid"
    else:
        par = parametrise(machine, "exact", com_offset=None if machine.linear else True)
        names = Bodies.of(machine, None, "exact").names
        K, family = exact_base_map(machine, par.names, names, par.tied), "exact"
    bodies = Bodies.of(machine, names, family, tied=machine.equal_limbs)
    A = K @ (bodies.T * bodies.scale)
    length = np.linalg.norm(A, axis=1, keepdims=True)
    _, values, vectors = np.linalg.svd(A / np.where(length > 0, length, 1.0))
    null = vectors[int((values > 1e-9 * values[0]).sum()) :].T
    u = bodies.prior_variables / bodies.scale
    u = u + 0.1 * (bodies.interior / bodies.scale - u)
    first = robot_from_standard(machine, bodies.standard(u * bodies.scale))
    for _ in range(20):
        way = null @ rng.standard_normal(null.shape[1])
        way /= np.linalg.norm(way)
        reach = _reach(bodies, u, way)
        u = u + 0.7 * reach * way
    return first, robot_from_standard(machine, bodies.standard(u * bodies.scale))


def _reach(bodies: Bodies, u: FloatArray, way: FloatArray) -> float:
    """How far along a way the cones hold, at most 3 scales."""
    low, high = 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        inside = bodies.margin(bodies.T @ ((u + middle * way) * bodies.scale)) >= 0
        low, high = (middle, high) if inside else (low, middle)
    return low


def typical_torque(robot: Robot) -> FloatArray:
    """RMS torque (dof,) of the motion."""
    motion = random_motion(robot, np.random.default_rng(0), 1.0)
    out: FloatArray = np.sqrt(np.mean(dd.inverse_dynamics(robot, motion) ** 2, axis=0))
    return np.asarray(np.maximum(out, 1e-3 * out.max()))


def random_motion(robot: Robot, rng: np.random.Generator, seconds: float = SECONDS) -> dd.Motion:
    """A few sines on every coordinate inside the working cylinder."""
    t = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    room = working_cylinder(robot)
    low_high = {"x": (-0.6, 0.6), "y": (-0.6, 0.6)}
    centre, size = np.zeros(robot.dof), np.zeros(robot.dof)
    for k, name in enumerate(robot.coordinates):
        if name in low_high:
            size[k] = 0.6 * room.radius
        elif name == "z":
            centre[k], size[k] = (room.z_min + room.z_max) / 2, 0.4 * (room.z_max - room.z_min)
        else:
            size[k] = 0.6
    p, pd, pdd = (np.zeros((len(t), robot.dof)) for _ in range(3))
    for share in (0.5, 0.3, 0.2):
        w = 2 * np.pi * rng.uniform(0.6, 3.0, robot.dof)
        phase = rng.uniform(0, 2 * np.pi, robot.dof)
        a = share * size
        p += a * np.sin(w * t[:, None] + phase)
        pd += a * w * np.cos(w * t[:, None] + phase)
        pdd -= a * w**2 * np.sin(w * t[:, None] + phase)
    return dd.Motion.from_platform(robot, t, centre + p, pd, pdd)


def record(machine: Robot, model: str, rng: np.random.Generator) -> Recording:
    """A log with white and correlated noise on the torque."""
    motion = random_motion(machine, rng)
    tau = dd.inverse_dynamics(machine, motion, model)
    white = rng.standard_normal(tau.shape)
    slow = np.zeros_like(white)
    for k in range(1, len(slow)):
        slow[k] = 0.9 * slow[k - 1] + np.sqrt(1 - 0.81) * white[k]
    noise = 0.7 * rng.standard_normal(tau.shape) + 0.7 * slow
    tau = tau + TORQUE_NOISE * np.sqrt(np.mean(tau**2, axis=0)) * noise
    return Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name="log")


def measure(name: str, seed: int, method: str, model: str) -> Trial:
    """One machine, identified."""
    rng = np.random.default_rng([seed, ROBOTS.index(name)])
    robot, begun = dd.load_robot(name), time.perf_counter()
    first, truth = machines_alike(random_machine(robot, rng), model, rng)
    log = record(truth, model, rng)
    failed = Trial(name, seed, method, model, 0, 0, 0, [], [], [], 0, 0, 0, 0, 0.0)
    try:
        fit = dd.identify(robot, log, method, model=model, unidentifiable="hold", check=False)
    except DeltadynError as error:
        return Trial(**{**asdict(failed), "failed": str(error)[:300]})
    fields = {field.path: field for field in fit.base_map.fields}
    changed = [
        path
        for path, field in fields.items()
        if (a := field.value(first)) is not None
        and (b := field.value(truth)) is not None
        and abs(a - b) > MOVED * max(abs(a), abs(b)) + ROUNDING
    ]
    alone = fit.determined.of("identified")
    missed = []
    for item in alone:
        value = fields[item.path].value(truth)
        assert item.interval is not None
        if value is not None and not item.interval[0] <= value <= item.interval[1]:
            missed.append(item.path)
    par = parametrise(
        truth, model, tied=False, com_offset=True if model == "exact" and not robot.linear else None
    )
    known = dict(zip(par.names, par.prior.tolist(), strict=True))
    ends = fit.interval()
    rows = [(j, known.get(n, known.get(f"{n}1"))) for j, n in enumerate(fit.names)]
    rows = [(j, value) for j, value in rows if value is not None and model == "exact"]
    outside = sum(not ends[j, 0] <= value <= ends[j, 1] for j, value in rows)
    friction = ("friction", "drives.ripple")
    return Trial(
        name, seed, method, model,
        len(alone), len(fit.determined.of("combination")), len(fit.determined.of("kept")),
        missed, [item.path for item in alone if item.path in changed],
        [item.path for item in alone if not item.path.startswith(friction)],
        len(changed), len(fit.far_from_file), len(rows), outside, time.perf_counter() - begun,
    )  # fmt: skip


def summarise(trials: Sequence[Trial]) -> str:
    """A table by robot and way, and the sums."""
    lines = [
        "| robot | fits | fields identified | truth inside | bodies' fields identified | arbitrary "
        "| base parameters inside |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(f"{trial.robot}, {trial.method} {trial.model}", []).append(trial)
    groups["all"] = list(trials)
    for name, own in groups.items():
        good = [trial for trial in own if not trial.failed]
        count = sum(trial.identified for trial in good)
        inside = count - sum(len(trial.missed) for trial in good)
        bodies = sorted({path for trial in good for path in trial.bodies})
        shown = ", ".join(bodies[:4]) + (f" and {len(bodies) - 4} more" if len(bodies) > 4 else "")
        base = sum(trial.base for trial in good)
        hit = base - sum(trial.base_missed for trial in good)
        share = f"{inside} ({100 * inside / max(count, 1):.1f} %)"
        wrong = sum(len(trial.arbitrary) for trial in good)
        lines.append(
            f"| {name} | {len(good)} of {len(own)} | {count} | {share} | "
            f"{shown if name != 'all' else ''} | {wrong} | {hit} of {base} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the trials."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="0-3", help="as 0-5")
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--ways", default=",".join(map("-".join, WAYS)), help="as convex-exact")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", default="build/determined.jsonl")
    given = parser.parse_args(arguments)
    low, _, high = given.seeds.partition("-")
    seeds = range(int(low), int(high or low) + 1)
    ways = [text.partition("-") for text in given.ways.split(",")]
    asked = [
        (name, seed, method, model)
        for seed in seeds
        for method, _, model in ways
        for name in given.robots.split(",")
    ]
    path = Path(given.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    trials = []
    with path.open("w", encoding="utf-8") as file:
        for trial in run(asked, given.workers):
            trials.append(trial)
            file.write(json.dumps(asdict(trial)) + "\n")
            file.flush()
            if trial.failed or trial.arbitrary:
                sys.stderr.write(f"{trial}\n")
    sys.stdout.write(summarise(trials) + "\n")


def run(asked: Sequence[tuple[str, int, str, str]], workers: int) -> Iterator[Trial]:
    """The trials, as they are done."""
    if workers == 1:
        yield from (measure(*item) for item in asked)
        return
    from joblib import Parallel, delayed  # of use only here

    yield from Parallel(workers, return_as="generator")(delayed(measure)(*item) for item in asked)


if __name__ == "__main__":
    main()
