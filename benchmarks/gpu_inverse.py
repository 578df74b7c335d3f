"""Inverse and forward dynamics on JAX in several layouts, beside a copy of the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu_parts import (
    AGREES,
    CHECKED,
    ROBOTS,
    Row,
    best,
    jax,
    jnp,
    joint_states,
    made_row,
    reference,
    short,
    states,
    worst,
)
from deltadyn.backends.components import (
    packed_acceleration,
    packed_torque,
    torque_components,
)
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot


def inverse_rows(dof: int, precision: str, count: int, kernel: bool) -> list[Row]:
    """Inverse dynamics without friction from p, pd, pdd in every layout, beside the copy."""
    robot = load_robot(ROBOTS[dof])
    dtype = jnp.dtype(precision)
    par = jnp.asarray(packed_parameters(robot), dtype=dtype)
    motion = states(robot, count, dtype)  # 3 dof components (N,)
    expected = reference(robot, motion)
    bytes_moved = 4 * dof * count * dtype.itemsize
    copy = best(jax.jit(partial(_copy, dof)), motion)
    rows = [
        made_row(f"copy of {4 * dof} arrays", dof, precision, count, copy, bytes_moved, None, copy)
    ]
    for name, work in ways(robot, par, dof, count, kernel).items():
        prepare, function, unpack = work
        try:
            given = prepare(motion)
            error = worst(unpack(function(*given)), expected)
            seconds = best(function, given)
        except Exception as problem:
            rows.append(
                {"what": f"inverse dynamics, {name}", "dof": dof, "problem": short(problem)}
            )
            continue
        row = made_row(
            f"inverse dynamics, {name}", dof, precision, count, seconds, bytes_moved, error, copy
        )
        row["agrees"] = bool(error <= AGREES[precision])
        rows.append(row)
        del given
    return rows


def ways(robot: Robot, par: Any, dof: int, count: int, kernel: bool) -> dict[str, Any]:
    """Name of a layout -> how its inputs are made, the function, and a few of its outputs."""
    numbers = tuple(float(x) for x in packed_parameters(robot))

    def columns(p: Any, pd: Any, pdd: Any) -> Any:
        tau = torque_components(par, tuple(p), tuple(pd), tuple(pdd), friction=False)
        place, out = jnp.arange(dof)[:, None], tau[-1][None]
        for k in range(dof - 1):  # a selection: a concatenation computes the model for each axis
            out = jnp.where(place == k, tau[k][None], out)
        return out

    def public(p: Any, pd: Any, pdd: Any) -> Any:
        state = State.from_platform(robot, p, pd, pdd)
        return inverse_dynamics(robot, state, friction=False)

    def grouped(numbers: Any, *parts: Any) -> Any:
        p, pd, pdd = (parts[k * dof : (k + 1) * dof] for k in range(3))
        return torque_components(numbers, p, pd, pdd, friction=False)

    def stacked(axis: int) -> Callable[[Any], Any]:
        def make(motion: Any) -> Any:
            parts = [motion[k * dof : (k + 1) * dof] for k in range(3)]
            return [jnp.stack(part, axis=axis) for part in parts]

        return make

    def head(parts: Any) -> Any:
        return np.stack([np.asarray(part[:CHECKED]) for part in parts], axis=-1)

    found: dict[str, Any] = {
        "public": (stacked(-1), jax.jit(public), lambda tau: np.asarray(tau[:CHECKED])),
        "rows": (
            stacked(-1),
            jax.jit(lambda *motion: packed_torque(par, *motion, friction=False)),
            lambda tau: np.asarray(tau[:CHECKED]),
        ),
        "columns": (stacked(0), jax.jit(columns), lambda tau: np.asarray(tau[:, :CHECKED]).T),
        "components": (tuple, jax.jit(partial(grouped, par)), head),
        "constants": (tuple, jax.jit(partial(grouped, numbers)), head),
    }
    if kernel:
        for block, warps in ((128, 4), (256, 4), (256, 8)):
            if count % block == 0:
                fused = _fused(partial(grouped, numbers), dof, block, warps)
                found[f"kernel of {block} samples, {warps} warps"] = (tuple, fused, head)
    return found


def _fused(function: Callable[..., Any], dof: int, block: int, warps: int) -> Callable[..., Any]:
    """The function over blocks of samples as one Pallas kernel."""
    from jax.experimental import pallas as pl

    def body(*refs: Any) -> None:
        values = function(*(ref[...] for ref in refs[: 3 * dof]))
        for ref, value in zip(refs[3 * dof :], values, strict=True):
            ref[...] = value

    on_gpu = jax.default_backend() == "gpu"
    settings: Row = {"interpret": not on_gpu}
    if on_gpu:
        from jax.experimental.pallas import triton

        settings["compiler_params"] = triton.CompilerParams(num_warps=warps)

    def call(*motion: Any) -> Any:
        count, dtype = motion[0].shape[0], motion[0].dtype
        spec = pl.BlockSpec((block,), lambda i: (i,))
        return pl.pallas_call(
            body,
            out_shape=[jax.ShapeDtypeStruct((count,), dtype)] * dof,
            grid=(count // block,),
            in_specs=[spec] * (3 * dof),
            out_specs=[spec] * dof,
            **settings,
        )(*motion)

    compiled: Callable[..., Any] = jax.jit(call)
    return compiled


def forward_rows(dof: int, count: int) -> list[Row]:
    """Joint accelerations of given torques, without friction, from rows in float64."""
    robot = load_robot(ROBOTS[dof])
    par = jnp.asarray(packed_parameters(robot))
    q, qd, qdd = joint_states(robot, count)
    tau = jax.jit(partial(packed_torque, friction=False))(par, q=q, qd=qd, qdd=qdd)
    function = jax.jit(partial(packed_acceleration, friction=False))
    given = (par, q, qd, tau)
    numbers = packed_parameters(robot)
    few = [np.asarray(x[:CHECKED]) for x in (q, qd, tau)]
    error = worst(
        np.asarray(function(*given)[:CHECKED]), packed_acceleration(numbers, *few, friction=False)
    )
    seconds = best(function, given)
    row = made_row(
        "forward dynamics, rows", dof, "float64", count, seconds, 4 * dof * count * 8, error, None
    )
    return [row]


def _copy(dof: int, *motion: Any) -> tuple[Any, ...]:
    """As many bytes in and out, each output from three inputs."""
    return tuple(motion[k] + motion[k + dof] + motion[k + 2 * dof] for k in range(dof))
