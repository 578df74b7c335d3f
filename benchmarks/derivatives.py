"""Errors of rates and accelerations from noisy positions, for each method of `differentiate`.

Run: python -m benchmarks.derivatives [--bench NAME ...] [--seeds N] [--json]

Every bench is a motion of a catalogue robot with known derivatives, a vibration that belongs to the
motion, and what an encoder makes of it: white noise, then rounding. Errors are RMS over all
channels and samples, or over "inside", without the first and the last 0.3 s.

"tuned" is a zero-phase Butterworth filter (order 4, forward and backward, central differences)
whose bandwidth is chosen per channel to give the least error against the truth: once for all
samples, once for those inside. No filter of its kind that sees the data alone can beat it inside.

The last bench is a log of the simulated test bench. Another one is a function of a seed that
returns a `Bench`; add it to `BENCHES`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize_scalar
from scipy.signal import cont2discrete, lfilter, ss2tf

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion import gate_move
from deltadyn.motion.scenarios import y1
from deltadyn.recording.rates.differentiate import differentiate
from deltadyn.recording.rates.sampling import samples
from deltadyn.robot import Robot
from deltadyn.simulation import simulate

RATE = 2000.0  # Hz
DURATION = 10.0  # s
NOISE = 1e-5  # rad
QUANTUM = 2 * np.pi / 2**20  # rad
INSIDE = 0.3  # s from the ends
#: Name in the table, method, criterion of the bandwidth.
METHODS = (
    ("central", "central", None),
    ("zero-phase", "zero-phase", None),
    ("spline", "spline", None),
    ("fourier", "fourier", None),
    ("kalman, likelihood", "kalman", "likelihood"),
    ("kalman", "kalman", None),
)
Method = tuple[str, str, str | None]


@dataclass(frozen=True, eq=False)
class Bench:
    """A measured signal (N, k) at t (N,) in s and the truth x, xd, xdd behind it."""

    t: FloatArray
    measured: FloatArray
    x: FloatArray
    xd: FloatArray
    xdd: FloatArray


@dataclass(frozen=True)
class Row:
    """RMS errors of one method on one bench, with `tuned`, `inside_tuned` of the tuned filter."""

    bench: str
    method: str
    x: float
    xd: float
    xdd: float
    inside: float
    central: float
    tuned: float
    inside_tuned: float
    seconds: float
    status: str


def pick_and_place(
    robot: Robot, rng: np.random.Generator, rest: float, spread: float, z: float
) -> Bench:
    """Moves between random points of the workspace, with rests of 0.5 to 1.5 times `rest` (s)."""
    here = _point(robot, rng, spread, z)
    parts: list[list[FloatArray]] = [[], [], []]
    count, wanted = 0, round(DURATION * RATE)
    while count < wanted:
        there = _point(robot, rng, spread, z)
        move = gate_move(robot, here, there, duration=float(rng.uniform(0.35, 0.6)), rate=RATE)
        idle = round(rng.uniform(0.5, 1.5) * rest * RATE)
        for part, array in zip(parts, (move.q, move.qd, move.qdd), strict=True):
            still = array[-1:] if part is parts[0] else np.zeros_like(array[-1:])
            part += [array[:-1], np.repeat(still, idle + 1, axis=0)]
        count += len(move.q) + idle
        here = there
    q, qd, qdd = (np.concatenate(part)[:wanted] for part in parts)
    return _bench(np.arange(wanted) / RATE, q, qd, qdd)


def fourier_motion(robot: Robot, rng: np.random.Generator, period: float, z: float) -> Bench:
    """Five harmonics in the platform's coordinates, begun long before the record."""
    t = np.arange(round(DURATION * RATE)) / RATE
    w = 2 * np.pi / period * np.arange(1, 6)
    cosines, sines = rng.standard_normal((2, 5, robot.dof)) / np.arange(1, 6)[:, None]
    c, s = np.cos(np.multiply.outer(t, w)), np.sin(np.multiply.outer(t, w))
    p = c @ cosines + s @ sines
    pd = c @ (w[:, None] * sines) - s @ (w[:, None] * cosines)
    pdd = -c @ (w[:, None] ** 2 * cosines) - s @ (w[:, None] ** 2 * sines)
    size = np.array([0.2, 0.2, 0.06, 2.0])[: robot.dof] / np.abs(p).max(axis=0)
    centre = np.array([0.0, 0.0, z, 0.0])[: robot.dof]
    m = dd.Motion.from_platform(robot, t, centre + size * p, size * pd, size * pdd)
    return _bench(t, m.q, m.qd, m.qdd)


def ringing(bench: Bench, frequency: float, damping: float = 0.04, share: float = 0.02) -> Bench:
    """The same with a weak flexible mode that the acceleration excites, as part of the motion.

    v'' + 2 D w v' + w^2 v = -share xdd
    """
    w = 2 * np.pi * frequency
    A = np.array([[0.0, 1.0], [-w * w, -2 * damping * w]])
    B, D = np.array([[0.0], [1.0]]), np.array([[0.0], [0.0], [1.0]])
    system = cont2discrete((A, B, np.vstack([np.eye(2), A[1]]), D), 1 / RATE, method="foh")
    numerators, denominator = ss2tf(*system[:4])
    v, vd, vdd = (lfilter(row, denominator, -share * bench.xdd, axis=0) for row in numerators)
    return _bench(bench.t, bench.x + v, bench.xd + vd, bench.xdd + vdd)


def humming(bench: Bench, rng: np.random.Generator, frequency: float, amplitude: float) -> Bench:
    """The same with a steady vibration of this amplitude in rad."""
    w = 2 * np.pi * frequency
    angle = w * bench.t[:, None] + rng.uniform(0, 2 * np.pi, bench.x.shape[1])
    s, c = amplitude * np.sin(angle), amplitude * np.cos(angle)
    return _bench(bench.t, bench.x + s, bench.xd + w * c, bench.xdd - w * w * s)


def encoded(
    bench: Bench, rng: np.random.Generator, noise: float = NOISE, quantum: float = QUANTUM
) -> Bench:
    """The same with white noise and rounding on the measured position, both in rad."""
    noisy = bench.x + noise * rng.standard_normal(bench.x.shape)
    measured = quantum * np.round(noisy / quantum)
    return Bench(bench.t, measured, bench.x, bench.xd, bench.xdd)


def d3_pick_and_place(seed: int) -> Bench:
    """D3-1200, rests of 0.15 s, ringing at 35 Hz."""
    rng = np.random.default_rng(seed)
    motion = pick_and_place(dd.load_robot("sipro-d3-1200"), rng, 0.15, 0.4, -0.8)
    return encoded(ringing(motion, 35.0), rng)


def d3_long_rests(seed: int) -> Bench:
    """D3-1200, rests of 0.6 s, ringing at 35 Hz."""
    rng = np.random.default_rng(seed)
    motion = pick_and_place(dd.load_robot("sipro-d3-1200"), rng, 0.6, 0.4, -0.8)
    return encoded(ringing(motion, 35.0), rng)


def d3_fourier(seed: int) -> Bench:
    """D3-1200, five harmonics of 0.5 Hz, no vibration."""
    rng = np.random.default_rng(seed)
    return encoded(fourier_motion(dd.load_robot("sipro-d3-1200"), rng, 2.0, -0.8), rng)


def d3_fourier_humming(seed: int) -> Bench:
    """D3-1200, five harmonics of 0.5 Hz, 3e-6 rad at 47 Hz throughout: below the noise."""
    rng = np.random.default_rng(seed)
    motion = fourier_motion(dd.load_robot("sipro-d3-1200"), rng, 2.0, -0.8)
    return encoded(humming(motion, rng, 47.0, 3e-6), rng)


def abb_pick_and_place(seed: int) -> Bench:
    """IRB 360-6/1600 with its spindle, ringing at 28 Hz."""
    rng = np.random.default_rng(seed)
    motion = pick_and_place(dd.load_robot("abb-irb360-6-1600"), rng, 0.15, 0.4, -1.15)
    return encoded(ringing(motion, 28.0), rng)


def industrial(seed: int) -> Bench:
    """D3-1200 on the simulated test bench, preset "industrial": Y1 of falezza2022, rows missing.

    The encoders sit at the motors; the truth is theirs.
    """
    robot = dd.load_robot("sipro-d3-1200")
    run = simulate(robot, y1(robot, seed=seed), preset="industrial", seed=seed)
    truth, log = run.truth, run.recording
    xdd = make_interp_spline(truth.t, truth.qd_motor, k=5)(truth.t, 1)
    rows = truth.written
    return Bench(log.t, log.q, truth.q_motor[rows], truth.qd_motor[rows], xdd[rows])


def d3_coarse(seed: int) -> Bench:
    """D3-1200, rests of 0.15 s, an encoder of 2^17 steps and no noise to hide them."""
    rng = np.random.default_rng(seed)
    motion = pick_and_place(dd.load_robot("sipro-d3-1200"), rng, 0.15, 0.4, -0.8)
    return encoded(ringing(motion, 35.0), rng, noise=0.0, quantum=2 * np.pi / 2**17)


BENCHES: dict[str, Callable[[int], Bench]] = {
    "pick-and-place": d3_pick_and_place,
    "long rests": d3_long_rests,
    "Fourier": d3_fourier,
    "Fourier, humming": d3_fourier_humming,
    "pick-and-place, 4-DOF": abb_pick_and_place,
    "coarse encoder": d3_coarse,
    "industrial bench, Y1": industrial,
}


def measure(name: str, bench: Bench, methods: tuple[Method, ...] = METHODS) -> list[Row]:
    """Errors of all methods on one bench; a method that refuses the data is left out."""
    inside = (bench.t > bench.t[0] + INSIDE) & (bench.t < bench.t[-1] - INSIDE)
    everywhere = np.ones_like(inside)
    tuned, inside_tuned = tuned_error(bench, everywhere), tuned_error(bench, inside)
    central = rms(differentiate(bench.t, bench.measured, "central").xdd - bench.xdd)
    rows = []
    for label, method, criterion in methods:
        start = time.perf_counter()
        try:
            found = differentiate(bench.t, bench.measured, method, criterion=criterion)
        except InputError:
            continue
        seconds = time.perf_counter() - start
        e = found.xdd - bench.xdd
        row = Row(
            bench=name,
            method=label,
            x=rms(found.x - bench.x),
            xd=rms(found.xd - bench.xd),
            xdd=rms(e),
            inside=rms(e[inside]),
            central=central,
            tuned=tuned,
            inside_tuned=inside_tuned,
            seconds=seconds,
            status=found.status,
        )
        rows.append(row)
    return rows


def tuned_error(bench: Bench, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Acceleration error in these rows of the zero-phase filter tuned with the truth.

    Missing rows are filled in by a spline for it.
    """
    log = samples(bench.t, bench.measured, 2)
    whole, places = log.filled(), log.places
    squares = []
    for channel in range(bench.x.shape[1]):
        y, truth = whole.x[:, channel], bench.xdd[:, channel]

        def error(log_hz: float, y: FloatArray = y, truth: FloatArray = truth) -> float:
            found = differentiate(whole.t, y, "zero-phase", bandwidth=float(np.exp(log_hz)))
            return rms((found.xdd[places] - truth)[rows])

        grid = np.log(np.geomspace(4.0, min(400.0, 0.3 * whole.rate), 25))
        best = int(np.argmin([error(value) for value in grid]))
        bounds = (grid[max(best - 1, 0)], grid[min(best + 1, 24)])
        found = minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-3})
        squares.append(float(found.fun) ** 2)
    return float(np.sqrt(np.mean(squares)))


def rms(error: FloatArray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(error**2)))


def _bench(t: FloatArray, x: FloatArray, xd: FloatArray, xdd: FloatArray) -> Bench:
    return Bench(t, x, x, xd, xdd)


def _point(robot: Robot, rng: np.random.Generator, spread: float, z: float) -> FloatArray:
    radius, angle = spread * np.sqrt(rng.uniform(0.05, 1.0)), rng.uniform(0, 2 * np.pi)
    height = z + rng.uniform(-0.05, 0.05)
    point = np.array(
        [radius * np.cos(angle), radius * np.sin(angle), height, rng.uniform(-1.5, 1.5)]
    )
    return point[: robot.dof]


def _mean(rows: list[Row]) -> dict[str, float | str]:
    """One line of the table: quadratic means over the seeds."""

    def mean(name: str) -> float:
        return rms(np.array([getattr(row, name) for row in rows]))

    line: dict[str, float | str] = {"bench": rows[0].bench, "method": rows[0].method}
    line |= {name: mean(name) for name in ("x", "xd", "xdd", "inside", "seconds")}
    line["times_central"] = mean("central") / mean("xdd")
    line["of_tuned"] = mean("xdd") / mean("tuned")
    line["of_tuned_inside"] = mean("inside") / mean("inside_tuned")
    return line


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bench", nargs="+", choices=tuple(BENCHES), default=tuple(BENCHES))
    parser.add_argument("--seeds", type=int, default=3, help="signals per bench")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    differentiate(np.arange(64) / RATE, np.zeros(64))  # imports and caches are not timed
    lines = []
    for name in arguments.bench:
        rows = [
            row for seed in range(arguments.seeds) for row in measure(name, BENCHES[name](seed))
        ]
        for label, _, _ in METHODS:
            own = [row for row in rows if row.method == label]
            if own:
                lines.append(_mean(own))
    if arguments.json:
        print(json.dumps({"machine": machine_name(), "rows": lines}, indent=2))
        return
    print(f"machine: {machine_name()}")
    print(
        "RMS errors; acc. inside: without the first and last 0.3 s; tuned: zero-phase filter tuned"
    )
    print("with the truth. x central: times better than central differences (acceleration).")
    print(
        f"{'bench':<23}{'method':<20}{'rad':>9}{'rad/s':>10}{'rad/s^2':>10}{'inside':>9}"
        f"{'x central':>11}{'/ tuned':>9}{'inside':>10}{'s':>7}"
    )
    for line in lines:
        print(
            f"{line['bench']:<23}{line['method']:<20}{line['x']:>9.2e}{line['xd']:>10.2e}"
            f"{line['xdd']:>10.4f}{line['inside']:>9.4f}{line['times_central']:>11.0f}"
            f"{line['of_tuned']:>9.4g}{line['of_tuned_inside']:>10.4g}{line['seconds']:>7.2f}"
        )


if __name__ == "__main__":
    main()
