"""Batches on JAX: rollouts of many robots, Monte Carlo, screening of excitation motions."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu_parts import AGREES, ROBOTS, Row, best, circle, jax, jnp, made_row, worst
from deltadyn.backends.components import FrictionTerms
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.dynamics.regressor import regressor
from deltadyn.excitation import screen_starts
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.simulation import rollout, traced_rollout
from deltadyn.simulation.controllers.feedforward import PDFeedforward
from deltadyn.validation.monte_carlo import torque_spread

MONTE_CARLO_TARGET = 2e9  # torques per second on an H200


def rollout_rows(robots: int, ticks: int) -> list[Row]:
    """Runge-Kutta steps per second of many different robots under PD and feedforward."""
    robot = load_robot(ROBOTS[3]).with_friction(viscous=0.2, coulomb=0.5, smoothing=0.1)
    motion, controller, rate = circle(robot), PDFeedforward(robot), 1000.0
    rng = np.random.default_rng(0)
    par = packed_parameters(robot) * (1 + 0.02 * rng.standard_normal((robots, 1)) * varied())
    few, on_jax = (
        rollout(
            robot,
            dt=1 / rate,
            motion=motion,
            controller=controller,
            numbers=par[:8],
            rates="true",
            substeps=1,
            every=1,
            backend=backend,
        )
        for backend in ("numpy", "jax")
    )
    error = worst(on_jax.course_q, few.course_q)
    rows = []
    for precision in ("float64", "float32"):
        course = course_of(robot, motion, controller, ticks, rate)
        arrays = [jnp.asarray(x, dtype=precision) for x in (par, *start_of(course, robots))]
        table = tuple(jnp.asarray(x, dtype=precision) for x in course)
        gains = jnp.asarray([controller.stiffness, controller.damping], dtype=precision)

        def run(par: Any, q: Any, qd: Any, table: Any = table, gains: Any = gains) -> Any:
            terms = FrictionTerms(True, *(False,) * 5)  # Coulomb friction, with a smooth sign
            step = gains.dtype.type(1 / rate)
            return traced_rollout(par, q, qd, table, gains, step, friction=terms)[:4]

        seconds = best(jax.jit(run), arrays, repeats=3)
        row = made_row(
            "rollout of different robots, steps",
            3,
            precision,
            robots * ticks,
            seconds,
            0,
            None,
            None,
        )
        row["robots"], row["ticks"] = robots, ticks
        if precision == "float64":
            row["error"], row["agrees"] = error, bool(error <= AGREES[precision])
        rows.append(row)
    return rows


def monte_carlo_rows(draws: int) -> list[Row]:
    """Spread of the torque along a motion of many drawn machines: whole calls, best of five.

    A call draws the machines on the processor, and gives mean, deviation and quantiles.
    """
    robot = load_robot(ROBOTS[3]).with_friction(viscous=0.2, coulomb=0.5)
    motion = circle(robot)
    found = regressor(robot, motion)
    covariance = np.diag((0.02 * np.abs(found.parameters)) ** 2)
    spread = partial(torque_spread, robot, motion, covariance=covariance)
    ours, theirs = (spread(draws=500, backend=name) for name in ("jax", "numpy"))
    error = max(worst(getattr(ours, n), getattr(theirs, n)) for n in ("mean", "std", "low", "high"))
    spread(draws=draws, backend="jax")
    times = []
    for _ in range(5):
        began = time.perf_counter()
        spread(draws=draws, backend="jax")
        times.append(time.perf_counter() - began)
    count, seconds = draws * len(motion), min(times)
    row = made_row("Monte Carlo of torque, torques", 3, "float64", count, seconds, 0, error, None)
    met = count / seconds >= MONTE_CARLO_TARGET
    target = {"target": MONTE_CARLO_TARGET, "met": bool(met)}
    return [{**row, **target, "draws": draws, "agrees": bool(error <= 1e-11)}]


def screening_rows(starts: int) -> list[Row]:
    """Random excitation motions judged and widened to the limits per second."""
    robot = load_robot(ROBOTS[3])
    screen = partial(screen_starts, robot, 4.0, 3, periods=3, keep=4)
    ours, theirs = (screen(starts=256, backend=name) for name in ("jax", "numpy"))
    error = max(abs(a.value - b.value) for a, b in zip(ours, theirs, strict=True))
    screen(starts=starts, backend="jax")
    began = time.perf_counter()
    screen(starts=starts, backend="jax")
    seconds = time.perf_counter() - began
    row = made_row("excitation starts screened", 3, "float64", starts, seconds, 0, error, None)
    return [{**row, "agrees": bool(error <= 1e-9)}]


def varied() -> Any:
    """1 at the places of the packed numbers that differ between the robots: masses and inertias."""
    mask = np.zeros(COUNT)
    for name in ("M_P", "m_x", "A", "G"):
        mask[PLACES[name]] = 1.0
    return mask


def course_of(robot: Robot, motion: Any, controller: Any, ticks: int, rate: float) -> Any:
    """Reference q, qd and torque of so many ticks; the motion is repeated where it is shorter."""
    index = np.arange(ticks) % (len(motion) - 1)
    return motion.q[index], motion.qd[index], inverse_dynamics(robot, motion)[index]


def start_of(course: Any, robots: int) -> list[Any]:
    return [np.broadcast_to(x[0], (robots, x.shape[1])) for x in course[:2]]
