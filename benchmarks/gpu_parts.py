"""States, timing and comparison that the parts of the benchmark on JAX share."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.components import packed_torque
from deltadyn.backends.packed import packed_parameters
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

jax: Any = import_module("jax")  # without its types: many of its functions have none
jnp: Any = import_module("jax.numpy")

ROBOTS = {3: "sipro-d3-1200", 4: "abb-irb360-6-1600"}
AGREES = {"float64": 1e-12, "float32": 2e-4}  # of the largest value, against NumPy in float64
CHECKED = 4096  # samples that are compared
SPEED, PUSH = 3.0, 60.0  # m/s, m/s^2
REPEATS = 7

Row = dict[str, Any]


def states(robot: Robot, count: int, dtype: Any) -> tuple[Any, ...]:
    """p, pd, pdd of random states in the working cylinder as 3 dof arrays (N,), on the device."""
    dof = robot.dof
    cylinder = working_cylinder(robot)

    def made(key: Any) -> tuple[Any, ...]:
        keys = jax.random.split(key, 3 * dof)
        u = [jax.random.uniform(k, (count,), dtype=dtype) for k in keys]
        radius, turn = 0.95 * cylinder.radius * jnp.sqrt(u[0]), 2 * jnp.pi * u[1]
        height = cylinder.z_min + (cylinder.z_max - cylinder.z_min) * u[2]
        p = [radius * jnp.cos(turn), radius * jnp.sin(turn), height]
        if dof == 4:
            p.append(2 * jnp.pi * (u[3] - 0.5))
        rest = [(2 * x - 1) * (SPEED if k < dof else PUSH) for k, x in enumerate(u[dof:])]
        return tuple(part.astype(dtype) for part in (*p, *rest))

    found: tuple[Any, ...] = jax.jit(made)(jax.random.key(dof))
    return found


def joint_states(robot: Robot, count: int) -> tuple[Any, Any, Any]:
    """q, qd, qdd (N, dof) of random states."""
    parts, dof = states(robot, count, jnp.dtype("float64")), robot.dof
    p, pd, pdd = (jnp.stack(parts[k * dof : (k + 1) * dof], axis=-1) for k in range(3))

    def made(p: Any, pd: Any, pdd: Any) -> Any:
        state = State.from_platform(robot, p, pd, pdd)
        return state.q, state.qd, state.qdd

    found: tuple[Any, Any, Any] = jax.jit(made)(p, pd, pdd)
    return found


def reference(robot: Robot, motion: tuple[Any, ...]) -> FloatArray:
    """NumPy's torques (CHECKED, dof) of the same numbers, in float64."""
    parts, dof = [np.asarray(x[:CHECKED], dtype=np.float64) for x in motion], robot.dof
    p, pd, pdd = (np.stack(parts[k * dof : (k + 1) * dof], axis=-1) for k in range(3))
    tau = packed_torque(packed_parameters(robot), p, pd, pdd, friction=False)
    if not np.isfinite(tau).all():
        raise SystemExit("the random states are not all within reach")
    return tau


def circle(robot: Robot) -> Motion:
    """Half a second on a circle, two turns a second, from its own rates."""
    cylinder = working_cylinder(robot)
    t, w, r = np.linspace(0.0, 0.5, 501), 4 * np.pi, 0.3 * cylinder.radius
    p, pd, pdd = (np.zeros((len(t), robot.dof)) for _ in range(3))
    p[:, 0], p[:, 1], p[:, 2] = (
        r * np.cos(w * t),
        r * np.sin(w * t),
        cylinder.z_min * 0.5 + cylinder.z_max * 0.5,
    )
    pd[:, 0], pd[:, 1] = -w * p[:, 1], w * p[:, 0]
    pdd[:, :2] = -(w**2) * p[:, :2]
    return Motion.from_platform(robot, t, p, pd, pdd)


def best(function: Callable[..., Any], given: Any, repeats: int = REPEATS) -> float:
    """Seconds of the shortest repeat; short calls are made several at a time."""
    jax.block_until_ready(function(*given))
    began = time.perf_counter()
    jax.block_until_ready(function(*given))
    inner = max(1, min(50, int(0.05 / max(time.perf_counter() - began, 1e-6))))
    shortest = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(inner):
            out = function(*given)
        jax.block_until_ready(out)
        shortest = min(shortest, (time.perf_counter() - began) / inner)
    return shortest


def worst(ours: Any, expected: Any) -> float:
    """Largest difference over the largest expected value; infinite where a value is missing."""
    difference = np.abs(np.asarray(ours, dtype=np.float64) - expected)
    return (
        float(difference.max() / np.abs(expected).max())
        if np.isfinite(difference).all()
        else float("inf")
    )


def made_row(
    what: str,
    dof: int,
    precision: str,
    count: int,
    seconds: float,
    moved: int,
    error: float | None,
    copy: float | None,
) -> Row:
    row: Row = {
        "what": what,
        "dof": dof,
        "precision": precision,
        "count": count,
        "seconds": seconds,
        "per_second": count / seconds,
        "error": error,
    }
    if moved:
        row["bytes_per_second"] = moved / seconds
    if copy is not None:
        row["share_of_copy"] = copy / seconds
    return row


def short(problem: Exception) -> str:
    return f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
