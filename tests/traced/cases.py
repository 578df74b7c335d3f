"""Robots, motions and comparisons that the tests on JAX share."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from tests.dynamics.factory import full_friction, make_robot

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.kinematics import working_cylinder
from deltadyn.robot import Robot

# The bound. XLA fuses multiplications with additions and sums in another order; roundings
# grow by the condition of the three struts, which is below 1e3 in these states.
RELATIVE = 1e-12


def jax() -> Any:
    """The module, without types."""
    return import_module("jax")


def jnp(value: Any, dtype: Any = None) -> Any:
    """An array of JAX."""
    return import_module("jax.numpy").asarray(value, dtype=dtype)


def close(ours: Any, expected: FloatArray, relative: float = RELATIVE) -> None:
    """An array of JAX, equal to a share of the largest entry, with NaN in the same places."""
    assert isinstance(ours, jax().Array)
    values = np.asarray(ours, dtype=np.float64)
    assert values.shape == expected.shape
    np.testing.assert_array_equal(np.isnan(values), np.isnan(expected))
    scale = np.nanmax(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(values, expected, rtol=0, atol=relative * scale)


def rubbing(dof: int, smoothing: float | None = None) -> Robot:
    """A robot whose drives have every friction term, and whose limbs are not equal."""
    friction = replace(full_friction(dof), passive=(), smoothing=smoothing)
    return make_robot(dof, False, friction=friction)


def circle(robot: Robot, samples: int = 201, duration: float = 0.2) -> dd.Motion:
    """A part of a circle in the middle of the workspace, two turns a second, with rates."""
    cylinder = working_cylinder(robot)
    t, w, r = np.linspace(0.0, duration, samples), 4 * np.pi, 0.3 * cylinder.radius
    p, pd, pdd = (np.zeros((samples, robot.dof)) for _ in range(3))
    p[:, 0], p[:, 1] = r * np.cos(w * t), r * np.sin(w * t)
    p[:, 2] = (cylinder.z_min + cylinder.z_max) / 2
    pd[:, 0], pd[:, 1] = -w * p[:, 1], w * p[:, 0]
    pdd[:, :2] = -(w**2) * p[:, :2]
    return dd.Motion.from_platform(robot, t, p, pd, pdd)
